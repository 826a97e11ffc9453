//! The law of sparse storages: the reference's outcome of a case is the same if all of its storages are sparse. And every check
//! on storages that are too large to be anything else.

use std::path::Path;
use std::thread;

use cerith_case::{Case, Corpus, Entry, Filter, Shard};
use cerith_engine::{Complaint, Engine, Finished, Outcome, Reference};
use cerith_memory::StorageId;
use cerith_tile::rules::Rules;

/// Bytes of stack, as a job of the command line has.
const STACK: usize = 64 << 20;

/// The difference of two outcomes, if there is one.
fn find_difference(dense: &Outcome, sparse: &Outcome) -> Option<String> {
    let message = |complaint: &Complaint| complaint.detail.as_ref().unwrap_or(&complaint.message).clone();
    match (dense, sparse) {
        (Outcome::Finished(dense), Outcome::Finished(sparse)) => find_difference_in(dense, sparse),
        (dense, sparse) if dense.kind() != sparse.kind() => {
            Some(format!("{} and {}", dense.kind(), sparse.kind()))
        }
        (dense, sparse) => {
            let [dense, sparse] = [dense, sparse].map(|outcome| outcome.complaint().map(message));
            (dense != sparse).then(|| format!("{dense:?} and {sparse:?}"))
        }
    }
}

fn find_difference_in(dense: &Finished, sparse: &Finished) -> Option<String> {
    let storages = dense
        .memory
        .ids()
        .filter(|&id| !dense.memory.has_same(&sparse.memory, id));
    let differing: Vec<&str> = storages.map(|id| dense.memory.name(id)).collect();
    if !differing.is_empty() {
        return Some(format!("the contents of {}", differing.join(", ")));
    }
    if dense.printed != sparse.printed {
        return Some(format!("{:?} and {:?}", dense.printed, sparse.printed));
    }
    let remark = |finished: &Finished| finished.remark.as_ref().map(|one| one.message.clone());
    if remark(dense) != remark(sparse) {
        return Some(format!("{:?} and {:?}", remark(dense), remark(sparse)));
    }
    (dense.tracked != sparse.tracked).then(|| format!("{:?} and {:?}", dense.tracked, sparse.tracked))
}

/// The difference of one case, and whether it has storages at all.
fn check(entry: &Entry, reference: &Reference) -> (Option<String>, bool) {
    let case = entry
        .resolve()
        .unwrap_or_else(|problems| panic!("{}: {problems:#?}", entry.id));
    let other = Case {
        storages: case.storages.to_sparse(),
        ..case.clone()
    };
    let run = |case: &Case| {
        reference
            .run(case, Rules::default())
            .unwrap_or_else(|error| panic!("{}: failed to {error}", case.id))
            .outcome
    };
    let dense = run(&case);
    // An order that Triton leaves open is compared within intervals, which sparse storages have none of.
    let is_open = |outcome: &Outcome| {
        let text = outcome.finished().and_then(|finished| finished.remark.as_deref());
        text.or(outcome.complaint())
            .is_some_and(|complaint| ["lane-order", "combine-order"].contains(&complaint.kind.as_str()))
    };
    let sparse = run(&other);
    if is_open(&dense) || is_open(&sparse) {
        return (None, false);
    }
    let difference = find_difference(&dense, &sparse);
    (
        difference.map(|one| format!("{}: {one}", case.id)),
        !case.storages.is_empty(),
    )
}

#[test]
fn outcomes_with_sparse_storages_are_the_same() {
    // `CERITH_SPARSE_SHARD=2/8` picks another eighth, and `1/1` the whole corpus.
    let shard = std::env::var("CERITH_SPARSE_SHARD").unwrap_or_else(|_| "1/8".to_owned());
    let shard: Shard = shard.parse().expect("a shard");
    let corpus = Corpus::read(Path::new("../../cases")).expect("a folder");
    let entries: Vec<Entry> = corpus.select(&Filter::default(), shard).collect();
    let jobs = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let results: Vec<(Option<String>, bool)> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs)
            .map(|job| {
                let entries = &entries;
                let work = move || {
                    let reference = Reference::default();
                    let own = entries.iter().skip(job).step_by(jobs);
                    own.map(|entry| check(entry, &reference)).collect::<Vec<_>>()
                };
                thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, work)
                    .expect("a thread")
            })
            .collect();
        jobs.into_iter()
            .flat_map(|job| job.join().expect("no case panics"))
            .collect()
    });
    let compared = results.iter().filter(|(_, compared)| *compared).count();
    assert!(
        compared * 10 > entries.len() * 8,
        "only {compared} of {}",
        entries.len()
    );
    let wrong: Vec<&String> = results.iter().filter_map(|(wrong, _)| wrong.as_ref()).collect();
    assert!(wrong.is_empty(), "{} of {compared}: {wrong:#?}", wrong.len());
}

/// Runs a kernel on a storage `x` of 2^34 elements and 64 integers `out`. Its outcome in words: the beginning of `out`, or the
/// message.
fn run_large(storage: &str, body: &str, launch: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = body.replace('\n', "\n    ");
    let kernel = format!(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, out, n):\n    pid = tl.program_id(0)\n    \
         far = pid.to(tl.int64) * 0 + 8589934592\n    lanes = tl.arange(0, 64)\n    {lines}\n"
    );
    std::fs::write(folder.path().join("kernel.py"), kernel).expect("a file");
    let case = format!(
        "about: x\nkernel: kernel.py:kernel\nstorages:\n  x: {{ {storage} }}\n  out: {{ dtype: i64, shape: [64], fill: zeros }}\n\
         launches:\n  - {launch}\n"
    );
    std::fs::write(folder.path().join("large.yaml"), case).expect("a file");
    let corpus = Corpus::read(folder.path()).expect("a folder");
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    let case = corpus
        .entries()
        .next()
        .expect("a case")
        .resolve()
        .expect("a good case");
    let run = Reference::default().with_views(true).run(&case, Rules::default());
    match run.unwrap_or_else(|error| panic!("failed to {error}")).outcome {
        Outcome::Finished(finished) => {
            let bytes = finished.memory.bytes(StorageId(1));
            let mut elements: Vec<i64> = bytes
                .chunks_exact(8)
                .map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight")))
                .collect();
            while elements.last() == Some(&0) {
                elements.pop();
            }
            format!("{elements:?}")
        }
        other => {
            let complaint = other.complaint().expect("a complaint");
            complaint
                .detail
                .clone()
                .unwrap_or_else(|| complaint.message.clone())
        }
    }
}

const SHORTS: &str = "dtype: i16, shape: [17179869184], fill: arange";
const ONE_PROGRAM: &str = "{ grid: [1], args: { x: x, out: out, n: 1 } }";
const FOUR_PROGRAMS: &str = "{ grid: [4], args: { x: x, out: out, n: 1 } }";

/// Checks that a kernel's outcome has these words.
#[track_caller]
fn check_large((storage, launch): (&str, &str), body: &str, expected: &[&str]) {
    let outcome = run_large(storage, body, launch);
    for words in expected {
        assert!(outcome.contains(words), "{body}\n{outcome}\nlacks {words}");
    }
}

#[test]
fn elements_far_away_are_read_and_written() {
    let shorts = (SHORTS, ONE_PROGRAM);
    // Over the border of two pages, in rising and falling order, with gaps, and a mask.
    check_large(
        shorts,
        "tl.store(out + lanes, tl.load(x + far + 2040 + lanes))",
        &["[2040, 2041,", ", 2103]"],
    );
    check_large(
        shorts,
        "tl.store(out + lanes, tl.load(x + far + 2050 - lanes))",
        &["[2050, 2049,", ", 1987]"],
    );
    check_large(
        shorts,
        "tl.store(out + lanes, tl.load(x + far + lanes.to(tl.int64) * 1000, mask=lanes % 2 == 1, other=-1))",
        &["[-1, 1000, -1, 3000, -1,"],
    );
    check_large(
        shorts,
        "tl.store(out + lanes, tl.load(x + far + (lanes * lanes) % 7 * 4096))",
        &["[0, 4096, 16384, 8192, 8192, 16384, 4096, 0,"],
    );
    check_large(
        shorts,
        "tl.store(x + far + 2040 + lanes, lanes.to(tl.int16))\ntl.debug_barrier()\ntl.store(out + lanes, tl.load(x + far + 2050 + \
         lanes))",
        &["[10, 11, ", "62, 63, 2104, 2105,"],
    );
    check_large(
        shorts,
        "square = tl.make_tensor_descriptor(x, [4, 2147483647], [4294967296, 1], [4, 16])\ntl.store(out + lanes, \
         tl.reshape(square.load([0, 2040]), [64]))",
        &["[2040, 2041,", ", 2055, 2040, 2041,"],
    );
    check_large(
        ("dtype: i64, shape: [1073741824], fill: zeros", FOUR_PROGRAMS),
        "old = tl.atomic_add(x + 1000000000, 5)\ntl.store(out + pid, old)",
        &["[0, 5, 10, 15]"],
    );
}

#[test]
fn checks_hold_far_away() {
    let (one, four) = ((SHORTS, ONE_PROGRAM), (SHORTS, FOUR_PROGRAMS));
    check_large(
        one,
        "tl.store(x + far * 2 + lanes, lanes.to(tl.int16))",
        &["store of 2 bytes just past the end of storage `x`, where `x[17179869184]` would be"],
    );
    check_large(
        one,
        "tl.store(out + lanes, tl.load(x - 1 - lanes))",
        &["load of 2 bytes that starts 2 bytes before storage `x`, 1 element before `x[0]`"],
    );
    check_large(
        one,
        "last = (x + far * 2 - 1).to(tl.pointer_type(tl.int32))\ntl.store(out, tl.load(last))",
        &["load of 4 bytes with only 2 bytes inside of storage `x`"],
    );
    check_large(
        one,
        "odd = (x + far + 2047).to(tl.pointer_type(tl.int32))\ntl.store(out + lanes, tl.load(odd + lanes))",
        &[
            "at an address that is not a multiple of 4",
            "byte 17179873278 of storage `x`",
        ],
    );
    check_large(
        four,
        "tl.store(x + far + 2047, pid.to(tl.int16))",
        &[
            "store of bytes that program (",
            "they are at byte 17179873278 of storage `x`, in `x[8589936639]`",
        ],
    );
    check_large(
        one,
        "tl.store(x + far + lanes * 0, lanes.to(tl.int16))",
        &[
            "lanes 0 and 1 of one store write different values",
            "byte 17179869184 of storage `x`, in `x[8589934592]`",
        ],
    );
    check_large(
        one,
        "tl.store(x + far + lanes, lanes.to(tl.int16) + 1)\ntl.store(out + lanes, tl.load(x + far + 63 - lanes))",
        &["with no barrier between", "of storage `x`, in `x[85899346"],
    );
    check_large(
        ("dtype: i16, shape: [17179869184], fill: uninit", ONE_PROGRAM),
        "tl.store(x + far + lanes, lanes.to(tl.int16), mask=lanes != 5)\ntl.debug_barrier()\ntl.store(out + lanes, tl.load(x + far + \
         lanes))",
        &[
            "load of 2 bytes that nothing was written to",
            "byte 17179869194 of storage `x`, in `x[8589934597]`",
        ],
    );
    let slice = "{ grid: [1], args: { x: \"x[:8589934592]\", out: out, n: 1 } }";
    check_large(
        (SHORTS, slice),
        "tl.store(out + lanes, tl.load(x + far + lanes))",
        &["[0, 1, 2"],
    );
}

#[test]
fn touched_pages_have_a_limit() {
    check_large(
        ("dtype: i8, shape: [1099511627776], fill: zeros", ONE_PROGRAM),
        "many = tl.arange(0, 131072).to(tl.int64)\ntl.store(x + many * 8388608, many.to(tl.int8))",
        &["the limit of 268435456 bytes in touched pages of sparse storages was reached"],
    );
}
