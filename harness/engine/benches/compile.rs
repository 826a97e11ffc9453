//! The corpus through a compiler: the outcomes of its cases, and the cost in addition to Triton's own work.
//!
//! `cargo bench --bench compile -- 3.9.0 90 2 [FILTER…]`: version, target, processes; with `--cache FOLDER`, the kernels kept
//! there are used. Every case that did not compile
//! is listed. Numbers are for a machine with nothing else to do, so the load is printed with them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cerith_case::{Case, Corpus, Filter, Shard};
use cerith_engine::compile::{Compiler, Compiling};
use cerith_tile::rules::Version;
use cerith_toolchain::compiled::Target;
use cerith_toolchain::{Cache, Compilers, Home, Limits, ToolchainId};

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let cache = words.iter().position(|word| word == "--cache").map(|at| {
        let folder = words.drain(at..at + 2).next_back().expect("a folder");
        Cache::open_folder(folder, Cache::MAX_BYTES).expect("a cache")
    });
    let version = words
        .first()
        .map_or(Version::NEWEST, |word| word.parse().expect("a version"));
    let target = words
        .get(1)
        .map_or(Target::HOPPER, |word| Target(word.parse().expect("a target")));
    let processes = words.get(2).map_or(2, |word| word.parse().expect("a number"));
    let filters = words.get(3..).unwrap_or_default();
    let Some(toolchain) = Home::discover()
        .ok()
        .and_then(|home| home.find(&ToolchainId::from_triton(version)))
    else {
        println!("left out: `cerith toolchain add {version}` installs it");
        return;
    };
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let compilers = Compilers::new(toolchain, processes, cache)
        .expect("a folder for the workers")
        .with_readable(&corpus);
    let compiler = Compiler::new(compilers, target, Limits::COMPILER);
    let mut cases = resolve_cases(filters);
    // `cargo test --benches` runs this too: then it is enough that it works.
    if !std::env::args().any(|arg| arg == "--bench") {
        cases.truncate(3);
    }
    println!("{} cases, {processes} processes, load {}", cases.len(), load());
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..processes {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    let compiling = compiler.compile_job(case).expect("no failure of ours");
                    let took = began.elapsed();
                    rows.lock()
                        .expect("no panic")
                        .push((took, describe_compiling(case, &compiling)));
                }
            });
        }
    });
    let elapsed = start.elapsed();
    let mut rows = rows.into_inner().expect("no panic");
    rows.sort();
    let median = rows.get(rows.len() / 2).map_or(Duration::ZERO, |row| row.0);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (_, (kind, _)) in &rows {
        *kinds.entry(kind.clone()).or_default() += 1;
    }
    for (_, (_, line)) in rows.iter().filter(|(_, (_, line))| !line.is_empty()) {
        println!("{line}");
    }
    for (kind, count) in kinds {
        println!("{count:6} {kind}");
    }
    println!(
        "{:.1} s, median {:.1} ms a case",
        elapsed.as_secs_f64(),
        median.as_secs_f64() * 1e3
    );
}

/// The kind, and a line for those that did not compile.
fn describe_compiling(case: &Case, compiling: &Compiling) -> (String, String) {
    match compiling {
        Compiling::Ready(_) => ("compiled".to_owned(), String::new()),
        Compiling::Ended(outcome) => {
            let complaint = outcome.complaint().expect("it did not finish");
            let line = complaint.position.as_ref().map_or(0, |position| position.line);
            let kind = format!("{} {}", outcome.kind().name(), complaint.kind);
            let message = complaint.message.replace('\n', " | ");
            let text = format!("{} [{kind}] line {line}: {message}", case.id);
            (kind, text)
        }
    }
}

fn resolve_cases(filters: &[String]) -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let corpus = Corpus::read(&root).expect("the corpus");
    let filter = Filter::parse(filters, "cases").expect("filters");
    corpus
        .select(&filter, Shard::ALL)
        .map(|entry| entry.resolve().expect("a good case"))
        .collect()
}

fn load() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .unwrap_or_default()
        .trim()
        .to_owned()
}
