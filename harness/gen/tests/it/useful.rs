//! Tests of the generators: enough generated cases must be meaningful.

use arbitrary::Unstructured;
use cerith_gen::{Ended, case_file, program, text, view};

/// Bytes that are the same in every run.
fn generate_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// How many of some trials ended so.
fn count(how: Ended, trial: impl Fn(u64) -> Ended) -> usize {
    (0..200).filter(|&seed| trial(seed) == how).count()
}

#[test]
fn many_generated_kernels_are_traced() {
    let refused = count(Ended::Refused, |seed| {
        let bytes = generate_bytes(seed, 600);
        let text = text::generate(&mut Unstructured::new(&bytes)).expect("bytes enough");
        text::check(text.as_bytes()).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
    });
    assert!((20..180).contains(&refused), "{refused} of 200 are refused");
}

#[test]
fn a_change_leaves_some_kernels_valid() {
    let refused = count(Ended::Refused, |seed| {
        let bytes = generate_bytes(seed, 300);
        let kernel = "@triton.jit\ndef kernel(p, n):\n    x = tl.load(p + tl.arange(0, 16))\n    tl.store(p + n, tl.sum(x, 0))\n";
        let kernel = format!("import triton\nimport triton.language as tl\n{kernel}");
        let text = text::mutate(&kernel, None, &mut Unstructured::new(&bytes)).expect("bytes enough");
        text::check(text.as_bytes()).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
    });
    assert!(refused < 190, "{refused} of 200 are refused");
}

#[test]
fn any_text_can_be_changed() {
    for text in ["", "\n", " ", "é", "\n\n", "(", "x"] {
        for seed in 0..200 {
            let bytes = generate_bytes(seed, 200);
            let made = text::mutate(text, Some(text), &mut Unstructured::new(&bytes));
            let made = made.and_then(|text| text::mutate(&text, None, &mut Unstructured::new(&bytes)));
            assert!(made.is_ok());
            assert!(case_file::mutate(text, &mut Unstructured::new(&bytes)).is_ok());
        }
    }
}

#[test]
fn many_programs_finish() {
    let finished = count(Ended::Finished, |seed| {
        program::check(&generate_bytes(seed, 200)).unwrap_or_else(|fault| panic!("{fault}"))
    });
    assert!(finished > 80, "{finished} of 200 finish");
}

#[test]
fn chains_of_views_are_long() {
    let ops: usize = (0..200)
        .map(|seed| {
            let chain = view::Chain::from_bytes(&generate_bytes(seed, 160));
            let (mut storages, x) = chain.tensor();
            chain
                .ops
                .iter()
                .filter(|op| op.apply(&x, &mut storages).is_ok())
                .count()
        })
        .sum();
    assert!(ops > 400, "{ops} operations succeed in 200 chains");
}

#[test]
fn some_changed_case_files_are_whole() {
    let whole = count(Ended::Finished, |seed| {
        let bytes = generate_bytes(seed, 200);
        let seed = case_file::SEEDS[seed as usize % case_file::SEEDS.len()];
        let text = case_file::mutate(seed, &mut Unstructured::new(&bytes)).expect("bytes enough");
        case_file::check(text.as_bytes()).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
    });
    assert!(whole > 5, "{whole} of 200 are whole");
}

#[test]
fn seeds_are_whole() {
    let reads = case_file::SEEDS.map(|seed| {
        case_file::read(seed.as_bytes(), case_file::KERNEL.as_bytes(), case_file::ARCHIVE).expect("no fault")
    });
    for read in reads {
        assert!(read.problems.is_empty(), "{}", read.problems.join("\n"));
        assert!(read.good > 1);
    }
}
