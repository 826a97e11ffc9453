//! Generated cases are cases: each reads, is traced and runs in the reference, and few are good for nothing.

use arbitrary::Unstructured;
use cerith_case::{Corpus, Input};
use cerith_engine::{Engine, Outcome, Reference};
use cerith_gen::case::{Detail, Generated};
use cerith_tile::rules::{Rules, Version};

/// splitmix64: any seed is good.
fn generate_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    std::iter::repeat_with(|| next().to_le_bytes())
        .take(count / 8 + 1)
        .flatten()
        .take(count)
        .collect()
}

fn generate_case(bytes: &[u8], detail: Detail) -> Generated {
    Generated::new("kernel", detail, &mut Unstructured::new(bytes)).expect("any bytes are a case")
}

/// The reference's outcome of a case; an invalid case file and an internal error fail here.
fn run(case: &Generated) -> Outcome {
    let files = [
        Input::from_text("k.py", case.module()),
        Input::from_text("c.yaml", case.case_file("k.py")),
    ];
    let corpus = Corpus::load(files);
    let shown = || format!("{}\n{}", case.module(), case.case_file("k.py"));
    let problems: Vec<String> = corpus
        .problems()
        .iter()
        .map(|problem| problem.render(corpus.sources(), false))
        .collect();
    assert!(problems.is_empty(), "{}\n{}", problems.join("\n"), shown());
    let entry = corpus.entries().next().expect("a case");
    let resolved = entry.resolve().unwrap_or_else(|problems| {
        let problems: Vec<String> = problems
            .iter()
            .map(|problem| problem.render(corpus.sources(), false))
            .collect();
        panic!("{}\n{}", problems.join("\n"), shown())
    });
    let run = Reference::default().run(&resolved, Rules::from_version(Version::new(3, 9, 0)));
    run.unwrap_or_else(|failure| panic!("{failure}\n{}", shown()))
        .outcome
}

const TRIALS: u64 = 300;

#[test]
fn most_of_them_finish() {
    let (mut rejected, mut stopped, mut other) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..TRIALS {
        match run(&generate_case(&generate_bytes(seed, 4096), Detail::Chosen)) {
            Outcome::Finished(..) => {}
            Outcome::Rejected(why) => rejected.push((seed, why.message)),
            Outcome::Trapped(_, why) => stopped.push((seed, why.message)),
            outcome => other.push((seed, format!("{outcome:?}"))),
        }
    }
    assert_eq!(other, [], "neither finished, rejected nor undefined");
    assert!(rejected.len() < TRIALS as usize / 20, "rejected: {rejected:#?}");
    assert!(stopped.len() < TRIALS as usize / 10, "undefined: {stopped:#?}");
}

#[test]
fn any_bytes_are_a_case() {
    for seed in 0..TRIALS {
        // Bytes that end early, and bytes that are all alike.
        let few = generate_bytes(seed, seed as usize);
        generate_case(&few, Detail::Chosen);
        run(&generate_case(&[seed as u8; 200], Detail::Chosen));
    }
}

#[test]
fn storing_every_value_changes_no_other_line() {
    for seed in 0..TRIALS {
        let bytes = generate_bytes(seed, 2048);
        let (chosen, every) = (
            generate_case(&bytes, Detail::Chosen),
            generate_case(&bytes, Detail::Every),
        );
        let lines = |case: &Generated| -> Vec<String> {
            let text = case.functions().lines();
            text.filter(|line| !line.contains("tl.store(t") && !line.starts_with("def kernel("))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(lines(&chosen), lines(&every));
        assert_eq!(generate_case(&bytes, Detail::Chosen), chosen);
    }
}
