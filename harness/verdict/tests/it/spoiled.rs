//! The whole corpus with every byte spoiled that another engine changed: none of it may be called right.
//!
//! An engine returns the reference's results, with bits flipped in every second byte that the launches wrote. The snapshot
//! `spoiled` has every case without a reported difference, file by file with the reason: programs without an answer, and
//! bytes whose value is not comparable. The same trials compute the intervals of every case, and the reference must be within
//! all of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use cerith_accept::Accepted;
use cerith_case::{Case, Corpus, Entry, Filter, Input, Shard, VerdictKind};
use cerith_engine::{
    Capabilities, Conforming, Engine, EngineId, Failure, Finished, Outcome, Preparation, Prepared, Reference,
};
use cerith_memory::{ByteState, Memory};
use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, encode};
use cerith_tile::rules::Rules;
use cerith_verdict::{Panel, try_case};

/// Bytes of stack, as a job of the command line has.
const STACK: usize = 64 << 20;

/// The bits that are flipped in each byte.
const SPOILED: u8 = 0x55;

struct Spoiling(EngineId, Arc<Reference>);

impl Engine for Spoiling {
    fn id(&self) -> &EngineId {
        &self.0
    }

    fn capabilities(&self) -> &Capabilities {
        self.1.capabilities()
    }

    fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure> {
        Ok(match self.1.prepare(case, rules)? {
            Preparation::Ready(ready) => Preparation::Ready(Box::new(Spoil(ready))),
            ended @ Preparation::Ended(_) => ended,
        })
    }
}

struct Spoil(Box<dyn Prepared>);

impl Prepared for Spoil {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let before = case.memory();
        let mut outcome = self.0.launch(case)?;
        if let Outcome::Finished(finished) = &mut outcome {
            finished.tracked = None;
            for id in before.ids() {
                let (old, was) = (before.bytes(id).to_vec(), before.states(id).to_vec());
                let (bytes, states) = finished.memory.parts_mut(id);
                for at in 0..bytes.len() {
                    let written =
                        states[at] != ByteState::Uninit && (was[at] != states[at] || old[at] != bytes[at]);
                    if written {
                        bytes[at] ^= SPOILED;
                    }
                    states[at] = ByteState::Init;
                }
            }
        }
        Ok(outcome)
    }
}

/// The result of a spoiled case: `None` if a difference is reported, or if there was nothing to spoil.
fn check_spoiled(entry: &Entry, panel: &Panel) -> Option<String> {
    let case = entry
        .resolve()
        .unwrap_or_else(|problems| panic!("{}: {problems:#?}", entry.id));
    let trial = try_case(&case, panel).expect("it is not interrupted");
    assert_eq!(trial.failed, [], "{}", entry.id);
    let own = trial.references.first()?.outcome.finished();
    let verdict = &trial.verdict;
    if own.is_none() || verdict.kind == VerdictKind::Differ {
        return None;
    }
    let before = case.memory();
    let written = own.is_some_and(|own| {
        before
            .ids()
            .any(|id| (before.bytes(id), before.states(id)) != (own.memory.bytes(id), own.memory.states(id)))
    });
    if !written {
        return None;
    }
    let why = match (&verdict.reason, verdict.vacuous) {
        // The line of a kernel moves.
        (Some(reason), _) => reason.split(", at ").next().unwrap_or_default().to_owned(),
        (None, true) => "vacuous: nothing that it wrote has a defined value".to_owned(),
        (None, false) => "every byte is undefined or accepted".to_owned(),
    };
    Some(format!("{}: {why}", verdict.kind))
}

#[test]
fn nothing_spoiled_is_called_right() {
    let corpus = Corpus::read(Path::new("../../cases")).expect("a folder");
    let all = Filter::default();
    let entries: Vec<Entry> = corpus.select(&all, Shard::ALL).collect();
    let jobs = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let found: Vec<(String, String)> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs)
            .map(|job| {
                let entries = &entries;
                let work = move || -> Vec<(String, String)> {
                    let reference = Arc::new(Reference::default());
                    let id = "interpret@3.9.0".parse().expect("an engine");
                    let spoiling = Spoiling(id, Arc::clone(&reference));
                    let panel = Panel::new(Some(reference), vec![Arc::new(spoiling)]);
                    let own = entries.iter().skip(job).step_by(jobs);
                    own.filter_map(|entry| Some((entry.file().id.clone(), check_spoiled(entry, &panel)?)))
                        .collect()
                };
                thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, work)
                    .expect("a thread")
            })
            .collect();
        jobs.into_iter()
            .flat_map(|job| job.join().expect("no panic"))
            .collect()
    });
    let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
    for one in found {
        *counts.entry(one).or_default() += 1;
    }
    let mut text = String::new();
    for ((file, what), count) in counts {
        let _ = writeln!(text, "{file}, {count} times {what}");
    }
    insta::with_settings!({snapshot_path => "../../../../snapshots/verdict", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("spoiled", text);
    });
}

/// Kernels of one operation each: a name, the dtype of `x` and `y`, the dtype and extent of `out`, and the lines of the kernel, which store
/// into `out`. `x` and `y` are blocks of 64 numbers, `a` and `b` of 16 by 16; `i`, `j` and `ij` are their places.
const ONE_OPERATION: &[(&str, &str, &str, usize, &str)] = &[
    ("sum", "f32", "f32", 64, "tl.store(out + i, x + y)"),
    ("difference", "f16", "f16", 64, "tl.store(out + i, x - y)"),
    ("product", "bf16", "bf16", 64, "tl.store(out + i, x * y)"),
    ("quotient", "f32", "f32", 64, "tl.store(out + i, x / y)"),
    ("fdiv", "f32", "f32", 64, "tl.store(out + i, tl.fdiv(x, y))"),
    ("div_rn", "f32", "f32", 64, "tl.store(out + i, tl.div_rn(x, y))"),
    ("fma", "f32", "f32", 64, "tl.store(out + i, tl.fma(x, y, x))"),
    ("contracted", "f32", "f32", 64, "tl.store(out + i, x * y + 1.5)"),
    ("exp", "f32", "f32", 64, "tl.store(out + i, tl.exp(x))"),
    ("log", "f32", "f32", 64, "tl.store(out + i, tl.log(x))"),
    ("sqrt", "f32", "f32", 64, "tl.store(out + i, tl.sqrt(x))"),
    ("sigmoid", "f32", "f32", 64, "tl.store(out + i, tl.sigmoid(x))"),
    ("minimum", "f16", "f16", 64, "tl.store(out + i, tl.minimum(x, y))"),
    (
        "clamp",
        "f32",
        "f32",
        64,
        "tl.store(out + i, tl.clamp(x, 0.5, 1.25))",
    ),
    (
        "where",
        "i32",
        "i32",
        64,
        "tl.store(out + i, tl.where(x > y, x, -y))",
    ),
    (
        "remainder",
        "i32",
        "i32",
        64,
        "tl.store(out + i, x % (y * y + 1))",
    ),
    (
        "narrowed",
        "f32",
        "f16",
        64,
        "tl.store(out + i, x.to(tl.float16))",
    ),
    (
        "to_bf16",
        "f32",
        "bf16",
        64,
        "tl.store(out + i, x.to(tl.bfloat16))",
    ),
    (
        "widened",
        "bf16",
        "f32",
        64,
        "tl.store(out + i, x.to(tl.float32))",
    ),
    (
        "to_int",
        "f32",
        "i32",
        64,
        "tl.store(out + i, (x * 8).to(tl.int32))",
    ),
    ("cumsum", "f32", "f32", 64, "tl.store(out + i, tl.cumsum(x, 0))"),
    (
        "cumsum_int",
        "i32",
        "i32",
        64,
        "tl.store(out + i, tl.cumsum(x, 0))",
    ),
    (
        "cumsum_back",
        "f32",
        "f32",
        64,
        "tl.store(out + i, tl.cumsum(x, 0, reverse=True))",
    ),
    (
        "cumsum_int_back",
        "i32",
        "i32",
        64,
        "tl.store(out + i, tl.cumsum(x, 0, reverse=True))",
    ),
    (
        "cumsum_rows",
        "f32",
        "f32",
        256,
        "tl.store(out + ij, tl.cumsum(a, 0))",
    ),
    ("cumprod", "f32", "f32", 64, "tl.store(out + i, tl.cumprod(x, 0))"),
    (
        "scan_product",
        "f32",
        "f32",
        64,
        "tl.store(out + i, tl.associative_scan(x, 0, mul))",
    ),
    (
        "scan_largest",
        "f32",
        "f32",
        64,
        "tl.store(out + i, tl.associative_scan(x, 0, larger))",
    ),
    (
        "scan_column",
        "i32",
        "i32",
        16,
        "c = tl.load(px + j)[:, None]\n    tl.store(out + j[:, None], tl.cumsum(c, 0))",
    ),
    (
        "scan_of_sums",
        "i32",
        "i32",
        16,
        "tl.store(out + j, tl.cumsum(tl.sum(a, 1), 0))",
    ),
    (
        "scan_spread",
        "i32",
        "i32",
        256,
        "c = tl.cumsum(tl.load(px + j)[:, None], 0)\n    tl.store(out + ij, tl.broadcast_to(c, (16, 16)))",
    ),
    (
        "scan_beside",
        "i32",
        "i32",
        64,
        "tl.store(py + i, tl.cumsum(x, 0))\n    tl.store(out + i, x * 2)",
    ),
    ("sum_rows", "f32", "f32", 16, "tl.store(out + j, tl.sum(a, 1))"),
    ("sum_columns", "i32", "i32", 16, "tl.store(out + j, tl.sum(a, 0))"),
    ("sum_of_all", "f32", "f32", 1, "tl.store(out, tl.sum(a))"),
    ("sum_of_all_ints", "i32", "i32", 1, "tl.store(out, tl.sum(a))"),
    (
        "sum_beside",
        "i32",
        "i32",
        256,
        "tl.store(py, tl.sum(a))\n    tl.store(out + ij, a * 2)",
    ),
    ("max_rows", "f32", "f32", 16, "tl.store(out + j, tl.max(a, 1))"),
    (
        "max_reshaped",
        "i32",
        "i32",
        32,
        "tl.store(out + tl.arange(0, 32), tl.max(tl.reshape(a, (32, 8)), 1))",
    ),
    (
        "sum_reshaped",
        "i32",
        "i32",
        8,
        "tl.store(out + tl.arange(0, 8), tl.sum(tl.reshape(a, (8, 32)), 1))",
    ),
    ("argmax", "f32", "i32", 16, "tl.store(out + j, tl.argmax(a, 1))"),
    (
        "argmin_of_all",
        "i32",
        "i32",
        1,
        "tl.store(out, tl.argmin(tl.reshape(a, (256,)), 0))",
    ),
    (
        "xor_rows",
        "i32",
        "i32",
        16,
        "tl.store(out + j, tl.xor_sum(a, 1))",
    ),
    (
        "reduce_larger",
        "f32",
        "f32",
        16,
        "tl.store(out + j, tl.reduce(a, 1, larger))",
    ),
    (
        "reduce_pair",
        "i32",
        "i32",
        16,
        "s, n = tl.reduce((a, b), 1, sum_of_pairs)\n    tl.store(out + j, s + n)",
    ),
    (
        "reduce_first",
        "i32",
        "i32",
        16,
        "s, n = tl.reduce((a, b), 1, pair_of_largest)\n    tl.store(out + j, n)",
    ),
    (
        "scan_pair",
        "i32",
        "i32",
        64,
        "s, n = tl.associative_scan((x, y), 0, sum_of_pairs)\n    tl.store(out + i, s - n)",
    ),
    ("dot", "f16", "f32", 256, "tl.store(out + ij, tl.dot(a, b))"),
    ("dot_bf16", "bf16", "f32", 256, "tl.store(out + ij, tl.dot(a, b))"),
    (
        "dot_ieee",
        "f32",
        "f32",
        256,
        "tl.store(out + ij, tl.dot(a, b, input_precision='ieee'))",
    ),
    (
        "dot_int",
        "i8",
        "i32",
        256,
        "tl.store(out + ij, tl.dot(tl.join(a, a).reshape(16, 32), tl.join(b, b).reshape(32, 16)))",
    ),
    (
        "product_sum",
        "f32",
        "f32",
        256,
        "tl.store(out + ij, tl.sum(a[:, :, None] * b[None, :, :], 1))",
    ),
    (
        "tuple",
        "bf16",
        "bf16",
        64,
        "t = (3, 1)\n    tl.store(out + i, x + t[0])",
    ),
    (
        "returned",
        "bf16",
        "bf16",
        64,
        "m, n = numbers()\n    tl.store(out + i, x * m + n)",
    ),
    ("sort", "i32", "i32", 64, "tl.store(out + i, tl.sort(x))"),
    ("flip", "f32", "f32", 64, "tl.store(out + i, tl.flip(x))"),
    ("transposed", "f16", "f16", 256, "tl.store(out + ij, tl.trans(a))"),
    (
        "gathered",
        "f32",
        "f32",
        64,
        "tl.store(out + i, tl.gather(x, (i * 5) % 64, 0))",
    ),
    (
        "histogram",
        "i32",
        "i32",
        16,
        "tl.store(out + j, tl.histogram(x & 15, 16))",
    ),
    (
        "masked",
        "f32",
        "f32",
        64,
        "tl.store(out + i, tl.load(px + i, mask=i < 40, other=2.5))",
    ),
    (
        "carried",
        "f32",
        "f32",
        64,
        "s = x\n    for _ in range(3):\n        s = s * 0.5 + y\n    tl.store(out + i, s)",
    ),
    ("added", "i32", "i32", 64, "tl.atomic_add(out + i, x)"),
];

const FUNCTIONS: &str = "
import triton
import triton.language as tl


@triton.jit
def mul(a, b):
    return a * b


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def sum_of_pairs(a, m, b, n):
    return a + b, m + n


@triton.jit
def pair_of_largest(a, m, b, n):
    left = (a > b) | ((a == b) & (m < n))
    return tl.where(left, a, b), tl.where(left, m, n)


@triton.jit
def numbers():
    return 3, 1


@triton.jit
def kernel(px, py, out):
    i = tl.arange(0, 64)
    j = tl.arange(0, 16)
    ij = j[:, None] * 16 + j[None, :]
    x = tl.load(px + i)
    y = tl.load(py + i)
    a = tl.load(px + ij)
    b = tl.load(py + ij)
";

/// The engines whose outputs are spoiled, two for each kernel. They have different known bugs.
const SPOILED_ENGINES: [&str; 6] = [
    "cuda@3.6.0",
    "interpret@3.9.0",
    "cuda@3.2.0",
    "interpret@3.2.0",
    "cuda@3.9.0",
    "ptx@3.6.0",
];

/// The replacement of an element.
#[derive(Clone, Copy, Debug)]
enum Spoiled {
    Zero,
    Sign,
    Nan,
    /// The next number after the greatest that is accepted.
    Beyond,
    Neighbour,
}

const SPOILED_BY: [Spoiled; 5] = [
    Spoiled::Zero,
    Spoiled::Sign,
    Spoiled::Nan,
    Spoiled::Beyond,
    Spoiled::Neighbour,
];

fn read_word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The bits in place of an element's; nothing if they are the same or may be right.
fn spoiled_bits(by: Spoiled, dtype: DType, own: u64, neighbour: u64, accepted: Accepted) -> Option<u64> {
    let sign = 1u64 << (dtype.bits() - 1);
    let bits = match by {
        Spoiled::Zero => 0,
        Spoiled::Sign if dtype.is_float() => own ^ sign,
        Spoiled::Sign => own.wrapping_neg() & (u64::MAX >> (64 - dtype.bits())),
        Spoiled::Nan if dtype.is_float() => encode(dtype, f64::NAN, Rounding::NearestEven),
        Spoiled::Nan => own ^ 1,
        Spoiled::Beyond => {
            let (last, high) = match accepted {
                Accepted::Within { high, .. } => (encode(dtype, high, Rounding::NearestEven), high),
                _ => (own, f64::INFINITY),
            };
            if decode(dtype, last) > high {
                last
            } else if dtype.is_float() && last & sign != 0 {
                last - 1
            } else {
                last + 1
            }
        }
        Spoiled::Neighbour => neighbour,
    };
    let is_same = bits == own || dtype.is_float() && (bits | own) & !sign == 0;
    let may_be_right = match accepted {
        Accepted::Exact => false,
        accepted => accepted.check_bits(bits) != Some(false),
    };
    (!is_same && !may_be_right).then_some(bits)
}

/// An engine that left this.
struct Left(EngineId, Arc<Reference>, Memory);

impl Engine for Left {
    fn id(&self) -> &EngineId {
        &self.0
    }

    fn capabilities(&self) -> &Capabilities {
        self.1.capabilities()
    }

    fn prepare(&self, _: &Case, _: Rules) -> Result<Preparation, Failure> {
        Ok(Preparation::Ended(Outcome::Finished(Box::new(Finished {
            memory: self.2.clone(),
            tracked: None,
            unsteady: None,
            execution: None,
            printed: Vec::new(),
            remark: None,
        }))))
    }
}

/// Counts a kernel's spoiled outputs, and lists those that are not a new difference.
fn spoil_kernel(nth: usize, reference: &Arc<Reference>) -> (usize, Vec<String>) {
    let (name, dtype, to, extent, body) = ONE_OPERATION[nth];
    let fill = |seed: usize| match dtype {
        "i32" | "i8" => format!("\"[(k * 37 + {seed}) % 101 - 20 for k in range(256)]\""),
        _ => format!("{{ random: {{ seed: {seed}, low: 0.6, high: 1.4, edges: false }} }}"),
    };
    let yaml = format!(
        "about: x\nkernel: k.py:kernel\nstorages:\n  px: {{ dtype: {dtype}, shape: [256], fill: {} }}\n  py: {{ dtype: {dtype}, \
         shape: [256], fill: {} }}\n  out: {{ dtype: {to}, shape: [{extent}], fill: zeros }}\nlaunches: [{{ grid: 1, args: [px, \
         py, out] }}]\n",
        fill(nth + 1),
        fill(nth + 2),
    );
    let kernel = format!("{FUNCTIONS}    {body}\n");
    let corpus = Corpus::load([
        Input::from_text("case.yaml", yaml),
        Input::from_text("k.py", kernel),
    ]);
    assert!(corpus.problems().is_empty(), "{name}: {:#?}", corpus.problems());
    let case = corpus
        .entries()
        .next()
        .expect("a case")
        .resolve()
        .expect("it resolves");
    let dtype: DType = to.parse().expect("a dtype");
    let (mut count, mut faults) = (0, Vec::new());
    for turn in 0..2 {
        let id: EngineId = SPOILED_ENGINES[(2 * nth + turn + nth / 3) % SPOILED_ENGINES.len()]
            .parse()
            .expect("an engine");
        let rules = Rules::from_version(id.version().expect("a version"));
        let Outcome::Finished(right) = reference.run(&case, rules).expect("it runs").outcome else {
            // The version lacks the operation.
            continue;
        };
        let Conforming::Known(map) = reference.find_conforming(&case, rules).expect("it runs") else {
            continue;
        };
        let out = right.memory.ids().last().expect("an output");
        let size = dtype.size();
        let at = |element: usize| element * size..(element + 1) * size;
        for element in [extent / 3, extent - 1] {
            for by in SPOILED_BY {
                let bytes = right.memory.bytes(out);
                let own = read_word(&bytes[at(element)]);
                let neighbour = read_word(&bytes[at((element + 1) % extent)]);
                let (_, accepted) = map.accepted_at(out, element * size);
                let Some(bits) = spoiled_bits(by, dtype, own, neighbour, accepted) else {
                    continue;
                };
                let mut memory = right.memory.clone();
                memory.parts_mut(out).0[at(element)].copy_from_slice(&bits.to_le_bytes()[..size]);
                let engine = Left(id.clone(), Arc::clone(reference), memory);
                let panel = Panel::new(Some(Arc::clone(reference)), vec![Arc::new(engine)]);
                let trial = try_case(&case, &panel).expect("it is not interrupted");
                let differences = &trial.verdict.differences;
                let is_news = trial.verdict.kind == VerdictKind::Differ
                    && differences
                        .iter()
                        .all(|one| one.explained.is_empty() && one.known_bug.is_none());
                count += 1;
                if !is_news {
                    let explained: Vec<_> = differences
                        .iter()
                        .map(|one| (one.explained, one.known_bug))
                        .collect();
                    faults.push(format!(
                        "{name}, {id}, element {element}, {by:?}: {:?} {explained:?}",
                        trial.verdict.kind
                    ));
                }
            }
        }
    }
    (count, faults)
}

#[test]
fn one_spoiled_element_is_a_difference_that_nothing_explains() {
    let jobs = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let results: Vec<(usize, Vec<String>)> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs)
            .map(|job| {
                let work = move || -> Vec<(usize, Vec<String>)> {
                    let reference = Arc::new(Reference::default());
                    let kernels = (job..ONE_OPERATION.len()).step_by(jobs);
                    kernels.map(|nth| spoil_kernel(nth, &reference)).collect()
                };
                thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, work)
                    .expect("a thread")
            })
            .collect();
        jobs.into_iter()
            .flat_map(|job| job.join().expect("no panic"))
            .collect()
    });
    let count: usize = results.iter().map(|(count, _)| count).sum();
    let faults: Vec<String> = results.into_iter().flat_map(|(_, faults)| faults).collect();
    assert!(
        faults.is_empty(),
        "{} of {count}:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(count >= 1000, "{count} spoiled outputs");
}
