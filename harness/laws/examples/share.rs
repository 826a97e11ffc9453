//! Runs generated cases in the reference: `share N [SEED [broken]]` tries the cases 0 to N of a seed and prints how many
//! finish, and the reasons why others do not, each with its first case. With `broken`, cases that break a rule on purpose,
//! and whether the reference notices. See `cerith fuzz` for other engines.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use arbitrary::Unstructured;
use cerith_engine::{Outcome, Reference};
use cerith_gen::case::breach::Broken;
use cerith_gen::case::{Detail, Generated};
use cerith_gen::seeded::generate_bytes;
use cerith_laws::broken::{check_foretold, is_whole};
use cerith_laws::case::{build_reference, read, run};
use cerith_tile::rules::{Rules, Version};

/// The number of cases with one result for one reason, and the first such case.
type Causes = BTreeMap<(&'static str, String), (u64, u64)>;

/// The result of a case, and the reason.
fn classify_case(bytes: &[u8], breaks: bool, reference: &Reference) -> (&'static str, String) {
    let mut u = Unstructured::new(bytes);
    let rules = Rules::from_version(Version::NEWEST);
    if breaks {
        let broken = Broken::new("kernel", Detail::Chosen, &mut u).expect("any bytes are a case");
        let name = broken.breach.name.to_owned();
        let told = read(&broken.case)
            .and_then(|case| run(reference, &case, rules))
            .and_then(|outcome| check_foretold(broken.breach.foretold, &outcome));
        return match told {
            Ok(()) => ("noticed", name),
            Err(_) if is_whole(&broken, reference, rules) == Ok(false) => ("not whole", String::new()),
            Err(fault) => ("not noticed", format!("{name}: {fault}")),
        };
    }
    let generated = Generated::new("kernel", Detail::Chosen, &mut u).expect("any bytes are a case");
    match read(&generated).and_then(|case| run(reference, &case, rules)) {
        Err(fault) => ("fault", fault.to_string()),
        Ok(Outcome::Finished(_)) => ("finished", String::new()),
        Ok(outcome) => {
            let words = outcome.complaint().map_or_else(String::new, |complaint| {
                format!("{}: {}", complaint.kind, complaint.message)
            });
            (outcome.kind().name(), words)
        }
    }
}

/// Words without what belongs to one kernel.
fn normalize_text(text: &str) -> String {
    let mut plain: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .take(200)
        .collect();
    while plain.contains("00") {
        plain = plain.replace("00", "0");
    }
    plain
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).map_or(Ok(0), |word| word.parse::<u64>());
    let (Ok(count @ 1..), Ok(seed)) = (number(0), number(1)) else {
        eprintln!("share N [SEED [broken]]");
        std::process::exit(2);
    };
    let breaks = words.get(2).is_some_and(|word| word == "broken");
    let begin = Instant::now();
    let next = AtomicU64::new(0);
    let found: Vec<Causes> = thread::scope(|scope| {
        let worker = || {
            let reference = build_reference();
            let mut found = Causes::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return found;
                }
                let (word, why) = classify_case(&generate_bytes(seed, number), breaks, &reference);
                found.entry((word, normalize_text(&why))).or_insert((0, number)).0 += 1;
            }
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    let mut all = Causes::new();
    for (key, (many, first)) in found.into_iter().flatten() {
        let entry = all.entry(key).or_insert((0, first));
        entry.0 += many;
        entry.1 = entry.1.min(first);
    }
    let mut words: BTreeMap<&str, u64> = BTreeMap::new();
    for ((word, _), (many, _)) in &all {
        *words.entry(word).or_default() += many;
    }
    for (word, many) in &words {
        println!("{many:>8} {:>7.3}%  {word}", *many as f64 * 100.0 / count as f64);
    }
    let mut causes: Vec<_> = all.into_iter().collect();
    causes.sort_by_key(|(_, (many, _))| std::cmp::Reverse(*many));
    for ((word, why), (many, first)) in causes
        .into_iter()
        .filter(|((word, _), _)| !matches!(*word, "finished" | "noticed" | "not whole"))
    {
        println!("{many:>8}  {word} {why} (case {first})");
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{count} cases in {seconds:.1} s, {:.0} a second",
        count as f64 / seconds
    );
}
