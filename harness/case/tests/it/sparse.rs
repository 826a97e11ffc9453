//! Storages that are too large to be held as bytes: contents, hashes, copies, and printing.

use cerith_case::{Case, Corpus, Input};
use cerith_memory::{ByteState, MAX_BYTES, Storage, StorageId};

const KERNEL: &str = "\
import triton


@triton.jit
def kernel(x):
    pass
";

/// More elements than are held as bytes.
const LARGE: u64 = MAX_BYTES + 8;

/// The case of a storage `x` and what follows it in the file, or all that is wrong with it.
fn load(storage: &str, rest: &str) -> Result<Case, String> {
    let text = format!(
        "about: x\nkernel: k.py:kernel\nstorages:\n  x: {storage}\n{rest}launches: [{{ grid: 1, args: [x] }}]\n"
    );
    load_file(&text)
}

fn load_file(text: &str) -> Result<Case, String> {
    let input = |path: &str, text: &str| Input {
        path: path.to_owned(),
        name: path.to_owned(),
        content: Ok(text.as_bytes().to_vec()),
    };
    let corpus = Corpus::load([input("a/k.py", KERNEL), input("a/case.yaml", text)]);
    let problems: Vec<String> = corpus.problems().iter().map(|one| one.message.clone()).collect();
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let entry = corpus.entries().next().ok_or("no case")?;
    entry.resolve().map_err(|problems| {
        let messages: Vec<String> = problems.iter().map(|one| one.message.clone()).collect();
        messages.join("\n")
    })
}

fn find_x(case: &Case) -> &Storage {
    case.storages.get(StorageId(0)).expect("x")
}

/// Compares the bytes of a fill in a large storage with those in a small one, and what is printed of it with the text that was read.
fn check(dtype: &str, fill: &str) {
    let build = |elements: u64| {
        let storage = format!("{{ dtype: {dtype}, shape: [{elements}], fill: {fill} }}");
        load(&storage, "").unwrap_or_else(|problem| panic!("{dtype} {fill}: {problem}"))
    };
    let (small, large) = (build(1024), build(LARGE));
    let (dense, sparse) = (find_x(&small), find_x(&large));
    assert!(!dense.is_sparse() && sparse.is_sparse());
    let len = dense.size();
    for range in [0..len, 8..len - 16, 13..14, 1..len - 3, 5..5] {
        let (bytes, states) = sparse.read(range.clone()).expect("inside");
        if fill == "uninit" {
            assert!(states.iter().all(|&state| state == ByteState::Uninit));
            continue;
        }
        assert_eq!(*bytes, dense.bytes()[range.clone()], "{dtype} {fill} {range:?}");
        assert_eq!(*states, dense.states()[range]);
    }
    let text = large.to_case_file().expect("it can be written");
    let again = load_file(&text).unwrap_or_else(|problem| panic!("{text}\n{problem}"));
    assert_eq!(again.content_hash(), large.content_hash(), "{text}");
    assert_eq!(find_x(&again).content(), sparse.content(), "{text}");
}

#[test]
fn contents_are_the_same_as_in_small_storages() {
    for dtype in ["f32", "bf16", "f64", "i1", "i8", "u64", "i64", "fp8e4nv"] {
        for fill in [
            "zeros",
            "ones",
            "uninit",
            "arange",
            "random",
            "{ random: 7 }",
            "{ full: 1 }",
        ] {
            check(dtype, fill);
        }
    }
    check("i16", "{ arange: { start: -5, step: 3 } }");
    check("f32", "{ arange: { start: 0.1, step: 1e-3 } }");
    check("f32", "{ arange: { start: -inf } }");
    check("f32", "{ full: nan }");
    check("f32", "{ full: bits(0x7fc00001) }");
    check("i32", "{ random: { seed: 3, low: -4, high: 9 } }");
    check("u64", "{ random: { seed: 18446744073709551615, edges: false } }");
    check("f16", "{ random: { low: -0.5, high: 2.5, edges: true } }");
}

#[test]
fn each_content_has_its_own_hash() {
    let fills = [
        "zeros",
        "ones",
        "uninit",
        "arange",
        "{ arange: 1 }",
        "random",
        "{ random: 1 }",
    ];
    let mut hashes: Vec<_> = fills
        .iter()
        .flat_map(|fill| {
            [LARGE, LARGE + 1].map(|elements| {
                let storage = format!("{{ dtype: i8, shape: [{elements}], fill: {fill} }}");
                load(&storage, "").expect("a case").content_hash()
            })
        })
        .collect();
    let count = hashes.len();
    hashes.sort_unstable_by_key(ToString::to_string);
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn a_view_can_be_copied_if_the_copy_is_small() {
    let storage = "{ dtype: i32, shape: [4, 1000000000], fill: arange }";
    let case = load(storage, "tensors:\n  y: \"x[:, 5:7].contiguous()\"\n").expect("a case");
    let copy = case.storages.get(StorageId(1)).expect("the copy");
    let elements: Vec<i32> = copy
        .bytes()
        .chunks_exact(4)
        .map(|bytes| i32::from_le_bytes(bytes.try_into().expect("four")))
        .collect();
    let expected: Vec<i32> = (0..4i64)
        .flat_map(|row| [5, 6].map(|column| (row * 1_000_000_000 + column) as i32))
        .collect();
    assert_eq!(elements, expected);
    let problem = load(storage, "tensors:\n  y: x.t().contiguous()\n").expect_err("too large");
    assert!(
        problem.contains("of 16000000000 bytes brings the case to more than 268435456 bytes"),
        "{problem}"
    );
}

#[test]
fn elements_of_a_large_storage_cannot_be_given() {
    let problem = load(
        "{ dtype: i8, shape: [1000000000], fill: zeros }",
        "gives: { x: zeros }\n",
    );
    assert_eq!(
        problem.expect_err("too large"),
        "storage `x` of 1000000000 bytes is too large for `gives`, which needs a value for every element"
    );
}
