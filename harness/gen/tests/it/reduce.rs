//! Reduction without an engine: what a made-up oracle keeps, and that whatever it keeps is a case that reads back.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use arbitrary::Unstructured;
use cerith_case::{Case, Corpus, Filter, Input, Shard};
use cerith_engine::{Engine as _, Outcome, Reference};
use cerith_gen::case::{Detail, Generated};
use cerith_gen::reduce::{Candidate, Ended, Oracle, Reduced, reduce};
use cerith_gen::seeded;
use cerith_tile::rules::Rules;

/// Keeps what the reference finishes and what a test wants of it.
struct FilterOracle<F>(Reference, F);

impl<F: Fn(&Candidate) -> bool> Oracle for FilterOracle<F> {
    fn find_first(&mut self, candidates: &[Candidate]) -> Result<Option<usize>, Ended> {
        let finishes = |case: &Case| {
            let run = self.0.run(case, Rules::default());
            matches!(run, Ok(run) if matches!(run.outcome, Outcome::Finished(_)))
        };
        let kept = |candidate: &&Candidate| {
            (self.1)(candidate) && candidate.case().is_some_and(|case| finishes(&case))
        };
        Ok(candidates.iter().position(|candidate| kept(&candidate)))
    }
}

#[track_caller]
fn of_texts(kernel: &str, yaml: &str) -> Case {
    let corpus = Corpus::load([
        Input::from_text("case.yaml", yaml),
        Input::from_text("kernel.py", kernel),
    ]);
    assert_eq!(corpus.problems(), []);
    let entry = corpus.entries().next().expect("a case");
    entry.resolve().expect("a case that is right")
}

fn generate_case(number: u64) -> Case {
    let bytes = seeded::generate_bytes(11, number);
    let name = format!("k{number}");
    let made = Generated::new(&name, Detail::Chosen, &mut Unstructured::new(&bytes)).expect("a case");
    of_texts(&made.module(), &made.case_file("kernel.py"))
}

/// The first case of a folder's that a filter means.
fn of_folder(folder: &str, filter: &[&str]) -> Case {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let corpus = Corpus::read(&root).expect("a corpus");
    let filter = Filter::parse(filter, &root.to_string_lossy()).expect("a filter");
    let entry = corpus.select(&filter, Shard::ALL).next().expect("a case");
    entry.resolve().expect("a case that is right")
}

/// Reduces a case to a kernel that calls these functions, and returns its texts.
#[track_caller]
fn reduce_to_calls(case: &Case, functions: &[&str]) -> String {
    let start = Candidate::from_case(case).expect("a kernel");
    let mut oracle = FilterOracle(Reference::default(), |candidate: &Candidate| {
        functions.iter().all(|name| candidate.has_call(name))
    });
    let Reduced {
        candidate, complete, ..
    } = reduce(start, &mut oracle);
    assert!(complete);
    reads_back(&candidate);
    let yaml = candidate.case_file().expect("a case file");
    format!("{}\n{yaml}", candidate.kernel())
}

/// A candidate is a case, and the same one as its texts are.
#[track_caller]
fn reads_back(candidate: &Candidate) {
    let case = candidate.case().expect("a case");
    let read = candidate.read_back().unwrap_or_else(|why| {
        let yaml = candidate.case_file().unwrap_or_default();
        panic!("{why}\n{}\n{yaml}", candidate.kernel())
    });
    assert_eq!(case.content_hash(), read.content_hash(), "{}", candidate.kernel());
}

const SAMPLE_KERNEL: &str = "import triton
import triton.language as tl

LIMIT = 4

@triton.jit
def add(a, b):
    c = a + b
    return c

@triton.jit
def kernel(x, y, out, n, step: tl.constexpr, BLOCK: tl.constexpr):
    # What is loaded.
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i * step, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    total = tl.zeros([BLOCK], tl.float32)
    for j in range(0, n, 16):
        if j % 2 == 0:
            total += add(a, b) * 2.5
        else:
            total += a
    ordered = tl.sort(total.to(tl.float16))
    tl.store(out + i, tl.cumsum(ordered, 0), mask=i < n)
";

const SAMPLE_CASE: &str = "about: Several things in one kernel.
kernel: kernel.py:kernel
storages:
  data: { dtype: f16, shape: [4, 32], fill: random }
  other: { dtype: f32, shape: [64], fill: { arange: 3 } }
  out: { dtype: f32, shape: [64], fill: zeros }
launches:
  - grid: [4]
    args: { x: 'data[1:].t()', y: other, out: out, n: 37, step: 1, BLOCK: 16 }
    options: { num_warps: 8 }
  - grid: [2]
    args: { x: data, y: 'other[8:]', out: out, n: 21, step: 2, BLOCK: 16 }
";

#[test]
fn what_is_not_wanted_goes() {
    let case = of_texts(SAMPLE_KERNEL, SAMPLE_CASE);
    insta::assert_snapshot!("sort", reduce_to_calls(&case, &["sort"]));
    insta::assert_snapshot!(
        "sort_of_a_load_stored",
        reduce_to_calls(&case, &["sort", "load", "store"])
    );
    insta::assert_snapshot!("call_of_a_function", reduce_to_calls(&case, &["add", "store"]));
}

#[test]
fn a_case_of_the_corpus_loses_its_matrix() {
    let case = of_folder("cases", &["layout/split_columns:dtype=f16"]);
    insta::assert_snapshot!("split_columns", reduce_to_calls(&case, &["load", "store"]));
}

#[test]
fn a_descriptor_describes_less() {
    let case = of_folder("cases", &["descriptor/store_edge"]);
    insta::assert_snapshot!("store_edge", reduce_to_calls(&case, &["store"]));
}

#[test]
fn a_recorded_case_needs_its_archive_no_more() {
    let case = of_folder("harness/cli/tests/recordings/bf16", &[]);
    let left = reduce_to_calls(&case, &["load", "store"]);
    assert!(!left.contains("bytes:"), "{left}");
}

#[test]
fn an_expression_of_a_generated_kernel_is_left() {
    for number in 0..40 {
        let case = generate_case(number);
        if Candidate::from_case(&case).is_some_and(|start| start.has_call("cumsum")) {
            let left = reduce_to_calls(&case, &["cumsum"]);
            let body = left.lines().filter(|line| line.starts_with("    ")).count();
            assert!(body <= 4, "{left}");
            return;
        }
    }
    panic!("no generated kernel calls `tl.cumsum`");
}

#[test]
fn every_candidate_that_is_kept_reads_back() {
    // Which ones are kept is as good as random, so that steps are taken that no engine would ask for.
    for number in 0..12 {
        let case = generate_case(number);
        let asked = AtomicUsize::new(0);
        let start = Candidate::from_case(&case).expect("a kernel");
        reads_back(&start);
        let mut oracle = FilterOracle(Reference::default(), |candidate: &Candidate| {
            let nth = asked.fetch_add(1, Ordering::Relaxed);
            let kept = (nth + number as usize).is_multiple_of(3);
            if kept && candidate.case().is_some() {
                reads_back(candidate);
            }
            kept
        });
        let left = reduce(start, &mut oracle);
        assert!(left.steps > 0);
        reads_back(&left.candidate);
    }
}

#[test]
fn a_search_that_is_ended_has_the_smallest_so_far() {
    struct OneStepOracle(bool);
    impl Oracle for OneStepOracle {
        fn find_first(&mut self, candidates: &[Candidate]) -> Result<Option<usize>, Ended> {
            if std::mem::replace(&mut self.0, true) {
                return Err(Ended);
            }
            Ok((!candidates.is_empty()).then_some(0))
        }
    }
    let case = of_texts(SAMPLE_KERNEL, SAMPLE_CASE);
    let start = Candidate::from_case(&case).expect("a kernel");
    let left = reduce(start, &mut OneStepOracle(false));
    assert!(!left.complete);
    assert_eq!(left.steps, 1);
    assert_eq!(left.candidate.case().expect("a case").launches.len(), 1);
}
