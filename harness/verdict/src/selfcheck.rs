//! Trials with known verdicts, which a run judges first, so that a judge who cannot be trusted gives no verdicts.
//!
//! Each is a small case, the reference, and two engines that are told how to change the reference's outcome: to leave
//! another byte, to write in a guard zone, to reject. A trial covers the whole path: case file, panel, comparison, blame,
//! expectations. It does not test engines, which is the corpus's purpose.

use std::sync::Arc;

use cerith_case::{Case, LoadError, VerdictKind, load_case};
use cerith_engine::{
    Capabilities, Complaint, Engine, EngineId, Failure, Outcome, Preparation, Prepared, Reference, Trap,
};
use cerith_memory::{Memory, ORIGIN, StorageId};
use cerith_tile::rules::Rules;

use crate::arithmetic;
use crate::panel::{Panel, try_case};

const KERNELS: &str = "\
import triton
import triton.language as tl

@triton.jit
def copy(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i))

@triton.jit
def powers(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.exp(tl.load(x + i)))

@triton.jit
def half(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i), mask=i < 2)

@triton.jit
def half_known(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i, mask=i < 2))

@triton.jit
def unknown(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i, mask=i < 0))

@triton.jit
def added(x, out):
    i = tl.arange(0, 4)
    tl.atomic_add(x, 1.0)
    tl.atomic_add(x, tl.sum(tl.load(out + i, mask=i < 0)))

@triton.jit
def outside(x, out):
    tl.store(out + 4, 1.0)
";

const STORAGES: &str = "\
about: A trial with a known end.
kernel: kernels.py:KERNEL
storages:
  x: { dtype: f32, shape: [4], fill: [0.5, 1.5, nan, 3.5] }
  out: { dtype: f32, shape: [4], fill: uninit }
launches:
  - { grid: [1], args: { x: x, out: out } }
";

/// How an engine changes the reference's outcome.
#[derive(Clone, Copy, Debug)]
enum OutcomeChange {
    /// Nothing.
    Same,
    /// Other bits in one element of `out`.
    Flip(usize, u32),
    /// One value in an element of `out`.
    Put(usize, f32),
    /// A byte after `out`.
    Guard,
    /// Its own launches differ.
    Unsteady,
    /// It rejects the program.
    Rejects,
    /// It raises, with these words.
    Raises(&'static str),
    /// It raises an exception of this kind, out of its own code.
    RaisesOwn(&'static str),
    /// Its interpreter or its passes fail.
    Breaks,
    /// It is unavailable.
    Silent,
}

/// The known end of a trial.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is one thing that a verdict says"
)]
struct KnownTrial {
    name: &'static str,
    kernel: &'static str,
    /// Additional text of the case file.
    says: &'static str,
    interpret: OutcomeChange,
    cuda: OutcomeChange,
    kind: VerdictKind,
    blame: &'static [&'static str],
    unconfirmed: bool,
    /// Whether all is as written down.
    expected: bool,
    /// Whether an expectation does not happen.
    stale: bool,
    vacuous: bool,
}

const INTERPRET: &str = "interpret@3.9.0";
const CUDA: &str = "cuda@3.9.0";

/// All agree, which needs no expectation; other trials change this one.
const AGREE: KnownTrial = KnownTrial {
    name: "three that agree",
    kernel: "copy",
    says: "",
    interpret: OutcomeChange::Same,
    cuda: OutcomeChange::Same,
    kind: VerdictKind::Agree,
    blame: &[],
    unconfirmed: false,
    expected: true,
    stale: false,
    vacuous: false,
};

/// The interpreter is wrong, and the other two say so.
const WRONG: KnownTrial = KnownTrial {
    kind: VerdictKind::Differ,
    blame: &[INTERPRET],
    expected: false,
    ..AGREE
};

const TRIALS: &[KnownTrial] = &[
    AGREE,
    KnownTrial {
        name: "one bit in the last element of the last storage",
        interpret: OutcomeChange::Flip(3, 1),
        ..WRONG
    },
    KnownTrial {
        name: "two others against the reference",
        interpret: OutcomeChange::Flip(1, 1),
        cuda: OutcomeChange::Flip(1, 1),
        blame: &["reference"],
        ..WRONG
    },
    KnownTrial {
        name: "one against the reference alone",
        interpret: OutcomeChange::Flip(1, 1),
        cuda: OutcomeChange::Silent,
        unconfirmed: true,
        ..WRONG
    },
    KnownTrial {
        name: "another NaN",
        interpret: OutcomeChange::Flip(2, 1),
        ..AGREE
    },
    KnownTrial {
        name: "a number where a NaN is",
        interpret: OutcomeChange::Put(2, 1.0),
        ..WRONG
    },
    KnownTrial {
        name: "a NaN where a number is",
        interpret: OutcomeChange::Put(1, f32::NAN),
        ..WRONG
    },
    KnownTrial {
        name: "a byte in a guard zone",
        interpret: OutcomeChange::Guard,
        ..WRONG
    },
    KnownTrial {
        name: "unwritten bytes",
        kernel: "half",
        interpret: OutcomeChange::Put(3, 1.0),
        ..WRONG
    },
    KnownTrial {
        name: "bytes whose value is not defined",
        kernel: "half_known",
        interpret: OutcomeChange::Put(3, 1.0),
        ..AGREE
    },
    KnownTrial {
        name: "nothing but bytes whose value is not defined",
        kernel: "unknown",
        vacuous: true,
        ..AGREE
    },
    KnownTrial {
        name: "a sum with an undefined value, added to the old value",
        kernel: "added",
        vacuous: true,
        ..AGREE
    },
    KnownTrial {
        name: "a value that rounding allows",
        kernel: "powers",
        interpret: OutcomeChange::Flip(0, 1),
        ..AGREE
    },
    KnownTrial {
        name: "a value that no rounding allows",
        kernel: "powers",
        interpret: OutcomeChange::Put(0, 1.75),
        ..WRONG
    },
    KnownTrial {
        name: "a rejection",
        interpret: OutcomeChange::Rejects,
        ..WRONG
    },
    KnownTrial {
        name: "one exception from two others",
        interpret: OutcomeChange::RaisesOwn("ValueError"),
        cuda: OutcomeChange::RaisesOwn("ValueError"),
        blame: &["reference"],
        ..WRONG
    },
    KnownTrial {
        name: "an interpreter and a pass that fail",
        interpret: OutcomeChange::Breaks,
        cuda: OutcomeChange::Breaks,
        blame: &[INTERPRET, CUDA],
        unconfirmed: true,
        ..WRONG
    },
    KnownTrial {
        name: "two exceptions from two others",
        interpret: OutcomeChange::RaisesOwn("ValueError"),
        cuda: OutcomeChange::RaisesOwn("TypeError"),
        blame: &[INTERPRET, CUDA],
        unconfirmed: true,
        ..WRONG
    },
    KnownTrial {
        name: "launches that differ among themselves",
        cuda: OutcomeChange::Unsteady,
        kind: VerdictKind::Nondeterministic,
        blame: &[CUDA],
        expected: false,
        ..AGREE
    },
    KnownTrial {
        name: "a difference that is written down",
        says: "expect: [{ engine: interpret, verdict: differ, why: known }]",
        interpret: OutcomeChange::Flip(1, 1),
        expected: true,
        ..WRONG
    },
    KnownTrial {
        name: "an expectation that does not happen",
        says: "expect: [{ engine: interpret, verdict: differ, why: known }]",
        expected: false,
        stale: true,
        ..AGREE
    },
    KnownTrial {
        name: "words that are written down",
        says: "expect: [{ engine: interpret, verdict: differ, message: dimension, why: known }]",
        interpret: OutcomeChange::Raises("wrong dimension"),
        expected: true,
        ..WRONG
    },
    KnownTrial {
        name: "a message other than the expected one",
        says: "expect: [{ engine: interpret, verdict: differ, message: dimension, why: known }]",
        interpret: OutcomeChange::Raises("wrong dtype"),
        stale: true,
        ..WRONG
    },
    KnownTrial {
        name: "a program without an answer",
        kernel: "outside",
        kind: VerdictKind::Undefined,
        expected: false,
        ..AGREE
    },
    KnownTrial {
        name: "a program without an answer, as it is written down",
        kernel: "outside",
        says: "expect: [{ engine: reference, verdict: undefined, message: out-of-bounds, why: known }]",
        kind: VerdictKind::Undefined,
        ..AGREE
    },
    KnownTrial {
        name: "an answer where the case file says that there is none",
        says: "expect: [{ engine: reference, verdict: undefined, why: known }]",
        expected: false,
        stale: true,
        ..AGREE
    },
    KnownTrial {
        name: "an answer although the case file expects none, and an engine differs",
        says: "expect: [{ engine: reference, verdict: undefined, why: known }]",
        interpret: OutcomeChange::Flip(1, 1),
        blame: &["reference"],
        stale: true,
        ..WRONG
    },
    KnownTrial {
        name: "no answer, with a message other than the case file's",
        kernel: "outside",
        says: "expect: [{ engine: reference, verdict: undefined, message: race, why: known }]",
        blame: &["reference"],
        stale: true,
        ..WRONG
    },
    KnownTrial {
        name: "what the case file gives",
        says: "gives: { out: [0.5, 1.5, nan, 3.5] }",
        ..AGREE
    },
    KnownTrial {
        name: "contents other than the case file gives, the same from all",
        says: "gives: { out: [0.5, 1.5, nan, 4.5] }",
        blame: &["reference"],
        ..WRONG
    },
];

/// Judges every trial with a known verdict, and runs the known arithmetic in the reference. Returns the problems.
pub fn run_selfcheck() -> Vec<String> {
    let record = cerith_cuda::record::check_records().err();
    let arithmetic = arithmetic::check_arithmetic(&Reference::default());
    let arithmetic = arithmetic.first().map(|first| match arithmetic.len() {
        1 => format!("arithmetic that is known: {first}"),
        all => format!("arithmetic that is known: {first}, and {} more", all - 1),
    });
    TRIALS
        .iter()
        .filter_map(|known| {
            let wrong = run(known).err()?;
            Some(format!("the verdict on {}: {wrong}", known.name))
        })
        .chain(record.map(|error| error.to_string()))
        .chain(arithmetic)
        .collect()
}

/// The reason why a trial with a known verdict fails: a bug of ours.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum TrialError {
    #[error(transparent)]
    Case(#[from] LoadError),
    #[error("`{0}` is not an engine")]
    Engine(&'static str),
    #[error("it was stopped")]
    Stopped,
    #[error("{engine} failed: {message}")]
    Failed { engine: EngineId, message: String },
    #[error("{actual} instead of {expected}")]
    Verdict { actual: String, expected: String },
}

fn run(known: &KnownTrial) -> Result<(), TrialError> {
    let file = format!("{}{}\n", STORAGES.replace("KERNEL", known.kernel), known.says);
    let case = load_case(&file, KERNELS)?;
    let reference = Arc::new(Reference::default());
    let others = [(INTERPRET, known.interpret), (CUDA, known.cuda)]
        .into_iter()
        .map(|(id, told)| {
            let id = id.parse().map_err(|_| TrialError::Engine(id))?;
            let reference = Arc::clone(&reference);
            Ok(Arc::new(AlteringEngine {
                id,
                outcome_change: told,
                reference,
            }) as Arc<dyn Engine>)
        })
        .collect::<Result<_, TrialError>>()?;
    let panel = Panel::new(Some(reference), others);
    let trial = try_case(&case, &panel).map_err(|_| TrialError::Stopped)?;
    if let Some(failed) = trial.failed.first() {
        return Err(TrialError::Failed {
            engine: failed.engine.clone(),
            message: failed.message.clone(),
        });
    }
    let verdict = &trial.verdict;
    let blame: Vec<String> = verdict.blame.iter().map(ToString::to_string).collect();
    let found = (
        verdict.kind,
        blame.iter().map(String::as_str).collect::<Vec<_>>(),
        verdict.unconfirmed,
        trial.assessment.expected,
        trial.assessment.has_stale(),
        verdict.vacuous,
    );
    let right = (
        known.kind,
        known.blame.to_vec(),
        known.unconfirmed,
        known.expected,
        known.stale,
        known.vacuous,
    );
    if found == right {
        Ok(())
    } else {
        Err(TrialError::Verdict {
            actual: describe_end(&found),
            expected: describe_end(&right),
        })
    }
}

type End<'a> = (VerdictKind, Vec<&'a str>, bool, bool, bool, bool);

fn describe_end((kind, blame, unconfirmed, expected, stale, vacuous): &End<'_>) -> String {
    let mut text = kind.to_string();
    if !blame.is_empty() {
        text = format!("{text} by {}", blame.join(" and "));
    }
    for (holds, word) in [
        (*unconfirmed, "unconfirmed"),
        (!expected, "not as expected"),
        (*stale, "with an expectation that does not happen"),
        (*vacuous, "vacuous"),
    ] {
        if holds {
            text = format!("{text}, {word}");
        }
    }
    text
}

/// An engine that changes the reference's outcome as it is told to.
struct AlteringEngine {
    id: EngineId,
    outcome_change: OutcomeChange,
    reference: Arc<Reference>,
}

impl Engine for AlteringEngine {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        self.reference.capabilities()
    }

    fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure> {
        let said = |words: &str| Box::new(Complaint::new("told", words));
        Ok(
            match (self.outcome_change, self.reference.prepare(case, rules)?) {
                (OutcomeChange::Rejects, _) => Preparation::Ended(Outcome::Rejected(said("no"))),
                (OutcomeChange::Raises(words), _) => {
                    Preparation::Ended(Outcome::Trapped(Trap::Raised, said(words)))
                }
                (OutcomeChange::RaisesOwn(kind), _) => {
                    let mut complaint = Complaint::new(kind, "no such thing");
                    let own = match self.id {
                        // A line of the kernel, which only the interpreter executes.
                        EngineId::Interpret { .. } => "",
                        _ => "triton/compiler/code_generator.py",
                    };
                    complaint.raised = Some(own.to_owned());
                    complaint.launch = Some(0);
                    Preparation::Ended(Outcome::Trapped(Trap::Raised, Box::new(complaint)))
                }
                (OutcomeChange::Breaks, _) => {
                    let mut complaint = Complaint::new("ValueError", "no such thing");
                    let own = match self.id {
                        EngineId::Interpret { .. } => "triton/runtime/interpreter.py",
                        _ => "triton/backends/nvidia/compiler.py",
                    };
                    complaint.raised = Some(own.to_owned());
                    complaint.launch = Some(0);
                    Preparation::Ended(Outcome::Trapped(Trap::Raised, Box::new(complaint)))
                }
                (OutcomeChange::Silent, _) => Preparation::Ended(Outcome::Unavailable(said("nobody"))),
                (told, Preparation::Ready(ready)) => Preparation::Ready(Box::new(AlteringPrepared {
                    outcome_change: told,
                    ready,
                })),
                (_, ended) => ended,
            },
        )
    }
}

struct AlteringPrepared {
    outcome_change: OutcomeChange,
    ready: Box<dyn Prepared>,
}

impl Prepared for AlteringPrepared {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let Outcome::Finished(mut finished) = self.ready.launch(case)? else {
            // A program without an answer has some outcome in other engines.
            return Ok(Outcome::Trapped(
                Trap::Raised,
                Box::new(Complaint::new("told", "outside")),
            ));
        };
        finished.tracked = None;
        let memory = &mut finished.memory;
        match self.outcome_change {
            OutcomeChange::Flip(at, bits) => change(memory, at, |old| old ^ bits),
            OutcomeChange::Put(at, value) => change(memory, at, |_| value.to_bits()),
            OutcomeChange::Guard => {
                if let Some(out) = find_output(memory) {
                    let end = memory.address(out).wrapping_sub(ORIGIN) as usize + memory.size(out);
                    if let Some(byte) = memory.arena_mut().0.get_mut(end) {
                        *byte ^= 1;
                    }
                }
            }
            OutcomeChange::Unsteady => {
                let mut other = memory.clone();
                change(&mut other, 0, |old| old ^ 1);
                finished.unsteady = Some(Box::new(other));
            }
            OutcomeChange::Same
            | OutcomeChange::Rejects
            | OutcomeChange::Raises(_)
            | OutcomeChange::RaisesOwn(_)
            | OutcomeChange::Breaks
            | OutcomeChange::Silent => {}
        }
        Ok(Outcome::Finished(finished))
    }
}

fn find_output(memory: &Memory) -> Option<StorageId> {
    memory.ids().find(|&id| memory.name(id) == "out")
}

/// Changes one element of `out`.
fn change(memory: &mut Memory, at: usize, new: impl Fn(u32) -> u32) {
    let Some(out) = find_output(memory) else { return };
    let (bytes, _) = memory.parts_mut(out);
    if let Some(element) = bytes
        .get_mut(at * 4..)
        .and_then(|rest| rest.first_chunk_mut::<4>())
    {
        *element = new(u32::from_le_bytes(*element)).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trial_ends_as_is_known() {
        assert_eq!(run_selfcheck(), Vec::<String>::new());
    }

    #[test]
    fn another_end_is_told() {
        let wrong = KnownTrial {
            name: "a slip",
            interpret: OutcomeChange::Flip(0, 1),
            ..AGREE
        };
        assert_eq!(
            run(&wrong),
            Err(TrialError::Verdict {
                actual: "differ by interpret@3.9.0, not as expected".to_owned(),
                expected: "agree".to_owned(),
            })
        );
    }
}
