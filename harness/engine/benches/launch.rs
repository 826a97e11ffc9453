//! The reference against Triton's interpreter: the same launches, in the same run, on the same machine. A
//! prepared case is launched repeatedly; the time includes setting up memory and (for the interpreter) the exchange with its worker.
//! Each time is the median, which varies little on a busy machine.
//!
//! Then the corpus: how long the reference takes for all of it, from text, and how many of its small cases one worker
//! answers in a second. Numbers are for a machine with nothing else to do, so the load is printed with them.

use std::path::Path;
use std::time::{Duration, Instant};

use cerith_case::{Case, Corpus, Filter, Shard};
use cerith_engine::{Engine, Interpret, Outcome, Preparation, Reference};
use cerith_memory::ByteState;
use cerith_tile::rules::{Rules, Version};
use cerith_toolchain::{Home, Limits, Pool, ToolchainId};

/// Time for one row of one engine.
const BUDGET: Duration = Duration::from_secs(2);

/// The launches of the target. The 1024 programs are of 128 elements.
const HEADLINE: [&str; 5] = [
    "1_vector_add:programs=1,block=1024",
    "1_vector_add:programs=64,block=1024",
    "1_vector_add:programs=1024,block=128",
    "2_add_one",
    "3_softmax",
];

/// Bytes of storages up to which a case is small, if each of its launches is of one program too.
const SMALL: usize = 4096;

fn main() {
    // `cargo test --benches` runs this too: then it is enough that every launch works once.
    let test = !std::env::args().any(|arg| arg == "--bench");
    let budget = if test { Duration::ZERO } else { BUDGET };
    let reference = Reference::default();
    let interpreter = find_interpreter();
    match &interpreter {
        Some(engine) => println!("{} in one worker, load {}", engine.id(), load()),
        None => println!(
            "interpret@{newest} is left out: `cerith toolchain add {newest}` installs it",
            newest = Version::NEWEST
        ),
    }
    compare(&reference, interpreter.as_ref(), budget);
    if !test {
        measure_corpus(&reference, interpreter.as_ref());
    }
}

fn find_interpreter() -> Option<Interpret> {
    let toolchain = Home::discover()
        .ok()?
        .find(&ToolchainId::from_triton(Version::NEWEST))?;
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let pool = Pool::new(toolchain, 1)
        .expect("a folder for the workers")
        .with_readable(&cases);
    let limits = Limits {
        time: Duration::from_mins(1),
        ..Limits::default()
    };
    Some(Interpret::new(pool, false, limits))
}

fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").map_or_else(
        |_| "unknown".to_owned(),
        |text| text.split(' ').next().unwrap_or_default().to_owned(),
    )
}

fn open(folder: &str) -> Corpus {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let corpus = Corpus::read(&root).expect("a folder");
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    corpus
}

fn resolve_cases(corpus: &Corpus) -> Vec<Case> {
    corpus
        .select(&Filter::default(), Shard::ALL)
        .map(|entry| entry.resolve().expect("a case without problems"))
        .collect()
}

fn compare(reference: &Reference, interpreter: Option<&Interpret>, budget: Duration) {
    println!(
        "{:<40} {:>12} {:>12} {:>8}",
        "launch", "reference", "interpret", "ratio"
    );
    let mut ratios = Vec::new();
    for case in resolve_cases(&open("benches/launches")) {
        let (ours, expected) = measure(reference, &case, budget);
        let Some(interpreter) = interpreter else {
            println!("{:<40} {ours:>12.2?}", case.id);
            continue;
        };
        let (theirs, outcome) = measure(interpreter, &case, budget);
        assert_close(&case, &expected, &outcome);
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
        println!("{:<40} {ours:>12.2?} {theirs:>12.2?} {ratio:>8.0}", case.id);
        if HEADLINE.contains(&case.id.as_str()) {
            ratios.push(ratio);
        }
    }
    if interpreter.is_some() {
        assert_eq!(ratios.len(), HEADLINE.len());
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        println!("geometric mean of {}: {mean:.0}", HEADLINE.join(", "));
    }
}

/// Measures the median time of a launch, and returns the last outcome.
fn measure(engine: &dyn Engine, case: &Case, budget: Duration) -> (Duration, Outcome) {
    let prepared = match engine.prepare(case, Rules::default()).expect("no bug of ours") {
        Preparation::Ready(prepared) => prepared,
        Preparation::Ended(outcome) => panic!("{}: {outcome:?}", case.id),
    };
    // The first launch imports the kernel and starts the worker.
    let mut outcome = prepared.launch(case).expect("no bug of ours");
    let began = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || began.elapsed() < budget {
        let start = Instant::now();
        outcome = prepared.launch(case).expect("no bug of ours");
        times.push(start.elapsed());
    }
    times.sort_unstable();
    (times[times.len() / 2], outcome)
}

/// Both did the work. How far floats may differ is `cerith-verdict`'s question; here it is enough that they are close.
fn assert_close(case: &Case, ours: &Outcome, theirs: &Outcome) {
    let (Outcome::Finished(ours), Outcome::Finished(theirs)) = (ours, theirs) else {
        panic!("{}: {ours:?} and {theirs:?}", case.id);
    };
    for id in ours.memory.ids() {
        assert!(
            ours.memory
                .states(id)
                .iter()
                .all(|&state| state == ByteState::Init)
        );
        let floats = |bytes: &[u8]| -> Vec<f32> {
            bytes
                .chunks_exact(4)
                .map(|chunk| f32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]))
                .collect()
        };
        for (ours, theirs) in floats(ours.memory.bytes(id))
            .into_iter()
            .zip(floats(theirs.memory.bytes(id)))
        {
            assert!(
                (ours - theirs).abs() <= 1e-3 * ours.abs().max(1.0),
                "{}: {ours} and {theirs}",
                case.id
            );
        }
    }
}

fn measure_corpus(reference: &Reference, interpreter: Option<&Interpret>) {
    let began = Instant::now();
    let corpus = open("../../cases");
    let cases = resolve_cases(&corpus);
    let parsed = began.elapsed();
    for case in &cases {
        reference.run(case, Rules::default()).expect("no bug of ours");
    }
    println!(
        "the corpus in the reference, one thread: {} cases in {:.2?}, {parsed:.2?} of it parsing",
        cases.len(),
        began.elapsed()
    );
    let Some(interpreter) = interpreter else { return };
    let small: Vec<&Case> = cases
        .iter()
        .filter(|case| {
            let memory = case.memory();
            memory.ids().map(|id| memory.size(id)).sum::<usize>() <= SMALL
                && case.launches.iter().all(|launch| launch.grid == [1, 1, 1])
        })
        .collect();
    // Once for the imports, as in a run over the same kernels day after day; both are shown.
    for round in ["first", "second"] {
        let began = Instant::now();
        for case in &small {
            interpreter.run(case, Rules::default()).expect("no bug of ours");
        }
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{}, one worker, {round} round: {} of {} cases have at most {SMALL} bytes and one program a launch; {:.0} of them a second",
            interpreter.id(),
            small.len(),
            cases.len(),
            small.len() as f64 / seconds
        );
    }
}
