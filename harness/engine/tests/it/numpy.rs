//! The reference's results with NumPy's arithmetic, as in Triton's interpreter.

use cerith_case::{Case, Corpus, Input};
use cerith_engine::Reference;
use cerith_memory::StorageId;
use cerith_tile::rules::Rules;

/// A case whose kernel computes `make` from four floats.
fn build_case(make: &str) -> Case {
    let file = "
about: Something is made of four numbers.
kernel: make.py:make
storages:
  x: { dtype: f32, shape: [4], fill: [1.0e+8, 1.0, -1.0e+8, 1.0] }
  out: { dtype: f32, shape: [1], fill: zeros }
launches:
  - { grid: [1], args: { x: x, out: out } }
";
    let kernel = format!(
        "
import triton
import triton.language as tl

@triton.jit
def make(x, out):
    a = tl.load(x + tl.arange(0, 4))
    tl.store(out, {make})
"
    );
    let corpus = Corpus::load([
        Input::from_text("make.yaml", file),
        Input::from_text("make.py", &kernel),
    ]);
    assert!(corpus.problems().is_empty(), "{:?}", corpus.problems());
    let entry = corpus.entries().next().expect("a case");
    entry.resolve().expect("it resolves")
}

#[track_caller]
fn check(make: &str, expected: Option<f32>) {
    let memory = Reference::default()
        .as_numpy(&build_case(make), Rules::default())
        .expect("no failure of ours");
    let left = memory.map(|memory| {
        let bytes = memory.bytes(StorageId(1)).first_chunk().copied();
        f32::from_le_bytes(bytes.expect("an element"))
    });
    assert_eq!(left, expected, "{make}");
}

#[test]
fn sums_and_functions_are_numpys() {
    // The four elements are added one after the other: the 1 beside 1e8 is lost.
    check("tl.sum(a)", Some(1.0));
    // The nearest float is 1.105171.
    check("tl.exp(tl.max(a) * 1e-9)", Some(1.105_170_8));
}

#[test]
fn a_kernel_without_any_is_not_executed_again() {
    check("tl.max(a)", None);
    check("tl.sum(a.to(tl.int32))", None);
    check("tl.exp2(tl.max(a) * 1e-9)", None);
}
