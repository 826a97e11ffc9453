//! Many trials without a fuzzing engine: `soak TARGET TRIALS [SEED]`. Inputs are made by the generators and by changing
//! the corpus's kernels and case files; nothing is learned from one trial for the next. A fault or a panic is written to
//! `soak-TARGET-N`, and the run goes on.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use arbitrary::Unstructured;
use cerith_gen::{TrialResult, case_file, program, text, view};

/// splitmix64: any seed is good, and it needs nothing.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn generate_bytes(&mut self, most: usize) -> Vec<u8> {
        let count = self.next() as usize % most;
        let words = std::iter::repeat_with(|| self.next().to_le_bytes()).take(count / 8 + 1);
        words.flatten().collect()
    }
}

/// The Python files below a folder.
fn collect_python_files(folder: &Path, found: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            collect_python_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            found.extend(fs::read_to_string(&path));
        }
    }
}

fn generate_source(random: &mut Random, corpus: &[String]) -> Vec<u8> {
    let bytes = random.generate_bytes(2000);
    let mut u = Unstructured::new(&bytes);
    let pick = |n: u64| {
        corpus
            .get(n as usize % corpus.len().max(1))
            .map_or("", String::as_str)
    };
    let made = match random.next() % 4 {
        0 => text::generate(&mut u),
        1 => text::generate(&mut u).and_then(|text| text::mutate(&text, None, &mut u)),
        2 => text::mutate(pick(random.next()), Some(pick(random.next())), &mut u),
        _ => text::generate(&mut u)
            .and_then(|text| text::mutate(&text, Some(pick(random.next())), &mut u))
            .and_then(|text| text::mutate(&text, None, &mut u)),
    };
    made.unwrap_or_default().into_bytes()
}

fn generate_case(random: &mut Random) -> Vec<u8> {
    let bytes = random.generate_bytes(300);
    let mut u = Unstructured::new(&bytes);
    let seed = case_file::SEEDS[random.next() as usize % case_file::SEEDS.len()];
    case_file::mutate(seed, &mut u).unwrap_or_default().into_bytes()
}

fn main() {
    let mut words = std::env::args().skip(1);
    let target = words.next().unwrap_or_default();
    let trials: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1000);
    let mut random = Random(words.next().and_then(|word| word.parse().ok()).unwrap_or(0));
    let mut corpus = Vec::new();
    collect_python_files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases"),
        &mut corpus,
    );
    let check: fn(&[u8]) -> TrialResult = match target.as_str() {
        "frontend_text" => text::check,
        "interp_program" => program::check,
        "memory_views" => view::check,
        "case_file" => case_file::check,
        _ => panic!("soak frontend_text|interp_program|memory_views|case_file TRIALS [SEED]"),
    };
    let mut ended = BTreeMap::new();
    let (mut faults, mut slowest) = (0, Duration::ZERO);
    let begin = Instant::now();
    for _ in 0..trials {
        let input = match target.as_str() {
            "frontend_text" => generate_source(&mut random, &corpus),
            "case_file" => generate_case(&mut random),
            "memory_views" => random.generate_bytes(160),
            _ => random.generate_bytes(7 * 40),
        };
        let start = Instant::now();
        let trial = catch_unwind(AssertUnwindSafe(|| check(&input)));
        let keep = |name: String| {
            fs::write(&name, &input).unwrap_or_else(|error| panic!("{name}: {error}"));
            name
        };
        match trial {
            Ok(Ok(how)) => *ended.entry(how).or_insert(0u64) += 1,
            other => {
                faults += 1;
                let why = other.map_or_else(|_| "a panic".to_owned(), |trial| format!("{trial:?}"));
                println!("{}: {why}", keep(format!("soak-{target}-{faults}")));
            }
        }
        let took = start.elapsed();
        if took > slowest {
            slowest = took;
            if took > Duration::from_millis(500) {
                println!(
                    "{}: {took:?}",
                    keep(format!("soak-{target}-slow-{}", took.as_millis()))
                );
            }
        }
    }
    let took = begin.elapsed();
    println!(
        "{trials} trials in {took:?} ({:.0} a second), {ended:?}, {faults} faults, slowest {slowest:?}",
        trials as f64 / took.as_secs_f64()
    );
}
