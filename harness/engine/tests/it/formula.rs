//! Formulas of the corpus's kernels: with the roundings that a kernel itself has, its own values lie within the bounds.

use std::path::Path;
use std::thread;

use cerith_accept::{AcceptanceMap, Accepted};
use cerith_case::{Case, Corpus, Entry, Filter, Shard};
use cerith_engine::{Engine, FormulaMemory, FormulaRun, Outcome, Reference};
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_oracle::Contract;
use cerith_tile::DType;
use cerith_tile::numeric::decode;
use cerith_tile::rules::Rules;

/// Bytes of stack, as a job of the command line has.
const STACK: usize = 64 << 20;

/// Every operation may round as its own dtype does.
const OWN_DTYPES: Contract = Contract {
    accumulate: DType::F8E5,
    tf32: true,
    narrowest: None,
};

/// Cases whose kernels overflow on the way to a finite value, or ask for the sign of a NaN or of a zero.
const BEYOND: [&str; 5] = [
    "assembly/narrowed",
    "libdevice/classify:f=signbit",
    "operator/promotion:a=f16,b=i32,op=lt",
    "operator/promotion:a=f16,b=i64,op=lt",
    "dtype/fp8e4b15:values=beyond",
];

fn read_bits(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// The elements of a case that are outside of their bounds.
fn find_outside(case: &Case, kernel: &Memory, formula: &FormulaMemory) -> Vec<String> {
    let mut outside = Vec::new();
    for (nth, declared) in case.declared.iter().enumerate() {
        let (id, dtype) = (StorageId(nth as u32), declared.dtype);
        // Every cast to it saturates, so that its largest number becomes another one.
        if dtype == DType::F8E4B15 {
            continue;
        }
        let size = dtype.size();
        let (bytes, states) = (kernel.bytes(id), kernel.states(id));
        for place in (0..bytes.len().saturating_sub(size - 1)).step_by(size) {
            if states[place..place + size]
                .iter()
                .any(|state| *state != ByteState::Init)
            {
                continue;
            }
            let bits = read_bits(&bytes[place..place + size]);
            let own = read_bits(&formula.memory.bytes(id)[place..place + size]);
            let same = bits == own
                || dtype.is_float() && decode(dtype, bits).is_nan() && decode(dtype, own).is_nan();
            let accepted = formula.ranges.accepted_at(id, place).1;
            // A kernel that overflows on the way is outside of bounds that do not.
            let is_finite = |bits| !dtype.is_float() || decode(dtype, bits).is_finite();
            let within = !is_finite(bits)
                || !is_finite(own)
                || match accepted {
                    Accepted::Exact => {
                        // The sign of a zero is not known.
                        same || dtype.is_float() && decode(dtype, bits) == decode(dtype, own)
                    }
                    accepted => accepted.check_bits(bits) != Some(false),
                };
            if !within {
                let name = &case.tensors[nth].name;
                let value = if dtype.is_float() {
                    decode(dtype, bits)
                } else {
                    bits as f64
                };
                outside.push(format!(
                    "{name}[{}] is {value:e}, {accepted:?}, formula {own:#x}",
                    place / size
                ));
            }
        }
    }
    outside
}

/// The first elements of a case that are outside of their bounds, and whether it has bounds at all.
fn check(entry: &Entry, reference: &Reference) -> (String, bool) {
    if BEYOND.iter().any(|beyond| entry.id.starts_with(beyond)) {
        return (String::new(), false);
    }
    let case = entry
        .resolve()
        .unwrap_or_else(|problems| panic!("{}: {problems:#?}", entry.id));
    let rules = Rules::default();
    let Ok(run) = reference.run(&case, rules) else {
        return (String::new(), false);
    };
    let Outcome::Finished(finished) = run.outcome else {
        return (String::new(), false);
    };
    let start = FormulaMemory {
        memory: case.memory(),
        ranges: AcceptanceMap::default(),
    };
    match reference.run_formulas(&case, rules, OWN_DTYPES, start) {
        Ok(FormulaRun::Finished(formula)) => {
            let outside = find_outside(&case, &finished.memory, &formula);
            let first = outside.first().map_or_else(String::new, |first| {
                format!("{}: {} elements, {first}\n", entry.id, outside.len())
            });
            (first, true)
        }
        Ok(FormulaRun::Unbounded(_)) => (String::new(), false),
        Err(failure) => (format!("{}: {failure:?}\n", entry.id), false),
    }
}

#[test]
fn values_of_the_corpus_are_within_the_bounds_of_their_formulas() {
    let corpus = Corpus::read(Path::new("../../cases")).expect("a folder");
    let filter = Filter::default();
    let shard: Shard = std::env::var("CERITH_FORMULA_SHARD")
        .unwrap_or_else(|_| "1/8".to_owned())
        .parse()
        .expect("a shard");
    let entries: Vec<Entry> = corpus.select(&filter, shard).collect();
    let reference = Reference::default();
    let run = |entry: &Entry| {
        let work = || check(entry, &reference);
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
            thread
                .expect("a thread")
                .join()
                .unwrap_or_else(|_| (format!("{}: a panic\n", entry.id), false))
        })
    };
    let results: Vec<(String, bool)> = entries.iter().map(run).collect();
    let bounded = results.iter().filter(|(_, bounded)| *bounded).count();
    let outside: String = results.iter().map(|(outside, _)| outside.as_str()).collect();
    assert!(
        outside.is_empty(),
        "{bounded} of {} have bounds\n{outside}",
        results.len()
    );
    assert!(bounded * 2 > results.len(), "{bounded} of {}", results.len());
}
