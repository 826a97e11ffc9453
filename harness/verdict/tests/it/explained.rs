//! Differences that a known bug explains, and differences that it does not: an engine with or without a bug, beside the
//! reference.

use std::sync::Arc;

use cerith_case::{Case, Corpus, Input, VerdictKind};
use cerith_engine::{
    Capabilities, Complaint, Engine, EngineId, Failure, Finished, Outcome, Preparation, Prepared, Reference,
    Trap,
};
use cerith_interp::Numerics;
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Rules;
use cerith_verdict::{Panel, Sample, Samples, Trial, try_case, try_sweep};

/// The behaviour of an engine under test.
#[derive(Clone, Copy)]
enum Does {
    /// The reference with these quirks, with one byte of the output changed by an amount.
    Follows(Quirks, u8),
    /// It raises.
    Raises(&'static str, &'static str),
    /// It finishes, and leaves everything unchanged.
    Ends,
}

struct Suspect {
    id: EngineId,
    reference: Arc<Reference>,
    does: Does,
}

impl Engine for Suspect {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        self.reference.capabilities()
    }

    fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure> {
        Ok(match &self.does {
            Does::Raises(kind, message) => {
                let complaint = Complaint::new(*kind, (*message).to_owned());
                Preparation::Ended(Outcome::Trapped(Trap::Raised, Box::new(complaint)))
            }
            Does::Ends => Preparation::Ended(Outcome::Finished(Box::new(Finished {
                memory: case.memory(),
                tracked: None,
                unsteady: None,
                execution: None,
                printed: Vec::new(),
                remark: None,
            }))),
            Does::Follows(quirks, turned) => {
                let following = self
                    .reference
                    .prepare_following(case, rules.with_quirks(*quirks))?;
                let followed = following
                    .expect("it is accepted")
                    .execute(None, Numerics::Numpy)?;
                let memory = followed.expect("it finishes").memory;
                match self.reference.prepare(case, rules)? {
                    Preparation::Ready(ready) => Preparation::Ready(Box::new(Leaves {
                        ready,
                        memory,
                        turned: *turned,
                    })),
                    ended @ Preparation::Ended(_) => ended,
                }
            }
        })
    }
}

struct Leaves {
    ready: Box<dyn Prepared>,
    memory: cerith_memory::Memory,
    turned: u8,
}

impl Prepared for Leaves {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let mut outcome = self.ready.launch(case)?;
        if let Outcome::Finished(finished) = &mut outcome {
            finished.memory = self.memory.clone();
            let out = finished.memory.ids().last().expect("an output");
            finished.memory.parts_mut(out).0[0] ^= self.turned;
        }
        Ok(outcome)
    }
}

const KERNEL: &str = "
import triton
import triton.language as tl

@triton.jit
def double(x, out, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, (a + a).to(tl.float32))
";

/// The only case of a file beside its kernel's.
fn only_case(yaml: &str, kernel: (&str, &str)) -> Case {
    let corpus = Corpus::load([
        Input::from_text("case.yaml", yaml),
        Input::from_text(kernel.0, kernel.1),
    ]);
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    let entry = corpus.entries().next().expect("a case");
    entry.resolve().expect("it resolves")
}

/// A case of bf16 numbers, which so many programs share.
fn build_doubling_case(expect: &str, programs: usize) -> Case {
    let each = 8 / programs;
    let file = format!(
        "
about: Numbers are doubled and widened.
kernel: double.py:double
storages:
  x: {{ dtype: bf16, shape: [8], fill: [0.0, 1.0, 2.5, -3.0, 1.0e-40, 100.0, -0.0, 7.0] }}
  out: {{ dtype: f32, shape: [8], fill: zeros }}
launches:
  - {{ grid: [{programs}], args: {{ x: x, out: out, N: {each} }} }}
{expect}"
    );
    only_case(&file, ("double.py", KERNEL))
}

/// The case beside an engine of Triton 3.9.0.
fn run_trial(expect: &str, does: Does, programs: usize) -> Trial {
    let case = build_doubling_case(expect, programs);
    let reference = Arc::new(Reference::default());
    let suspect = Suspect {
        id: "interpret@3.9.0".parse().expect("an engine"),
        reference: Arc::clone(&reference),
        does,
    };
    try_case(&case, &Panel::new(Some(reference), vec![Arc::new(suspect)])).expect("it is judged")
}

#[track_caller]
fn check(expect: &str, does: Does, explained: &[Quirk], expected: bool) {
    let quirks: Quirks = explained.iter().copied().collect();
    // One of several programs is executed alone first. Not all of them show both quirks.
    for programs in [1, 2, 8] {
        let trial = run_trial(expect, does, programs);
        assert_eq!(trial.verdict.kind, VerdictKind::Differ);
        assert_eq!(
            trial.verdict.differences[0].explained, quirks,
            "{programs} programs"
        );
        assert_eq!(trial.assessment.expected, expected, "{:?}", trial.assessment);
    }
}

const BITS: Quirk = Quirk::Bf16IsBits;
const SHORT: Quirk = Quirk::Bf16WidensShort;

fn follow_quirks(quirks: &[Quirk]) -> Does {
    Does::Follows(quirks.iter().copied().collect(), 0)
}

#[test]
fn bytes_that_a_model_leaves_are_explained_by_the_fewest() {
    check("", follow_quirks(&[BITS]), &[BITS], false);
    check("", follow_quirks(&[SHORT]), &[SHORT], false);
    check("", follow_quirks(&[BITS, SHORT]), &[BITS, SHORT], false);
}

/// The quirks that explain the difference between variants of a sweep: what each leaves, and which byte of it is turned.
#[track_caller]
fn check_sweep(variants: &[(&str, &[Quirk], u8)], explained: &[Quirk]) {
    let case = build_doubling_case("", 1);
    let reference = Arc::new(Reference::default());
    let id: EngineId = "interpret@3.9.0".parse().expect("an engine");
    let rules = Rules::from_version(id.version().expect("a version"));
    let tried = variants.iter().map(|(variant, quirks, turned)| {
        let suspect = Suspect {
            id: id.clone(),
            reference: Arc::clone(&reference),
            does: Does::Follows(quirks.iter().copied().collect(), *turned),
        };
        let Preparation::Ready(ready) = suspect.prepare(&case, rules).expect("it runs") else {
            panic!("it is accepted");
        };
        Sample {
            variant: variant.parse().expect("a variant"),
            outcome: ready.launch(&case).expect("it runs"),
            touched: 0,
        }
    });
    let samples = Samples {
        samples: tried.collect(),
        ..Samples::default()
    };
    let vary = |_| Some(case.clone());
    let trial = try_sweep(&case, &id, Some(&reference), &samples, &vary).expect("it is judged");
    assert_eq!(trial.verdict.kind, VerdictKind::Differ);
    let quirks: Quirks = explained.iter().copied().collect();
    assert_eq!(trial.verdict.differences[0].explained, quirks, "{variants:?}");
}

#[test]
fn variants_of_a_sweep_are_explained_if_each_wrong_one_is() {
    check_sweep(&[("as-is", &[], 0), ("num_warps=1", &[BITS], 0)], &[BITS]);
    check_sweep(&[("as-is", &[BITS], 0), ("num_warps=1", &[], 0)], &[BITS]);
    check_sweep(
        &[("as-is", &[BITS], 0), ("num_warps=1", &[SHORT], 0)],
        &[BITS, SHORT],
    );
    check_sweep(&[("as-is", &[], 0), ("num_warps=1", &[BITS], 1)], &[]);
    check_sweep(&[("as-is", &[], 1), ("num_warps=1", &[BITS], 0)], &[]);
}

#[test]
fn one_other_byte_is_news() {
    check("", Does::Follows(Quirks::NONE.with_quirk(BITS), 1), &[], false);
}

#[test]
fn an_expectation_is_met_by_its_quirk_alone() {
    let expect = |quirk: &str| format!("expect:\n  - {{ engine: interpret, quirk: {quirk} }}\n");
    check(&expect("bf16-is-bits"), follow_quirks(&[BITS]), &[BITS], true);
    check(
        &expect("[bf16-is-bits, bf16-widens-short]"),
        follow_quirks(&[BITS]),
        &[BITS],
        true,
    );
    check(&expect("bf16-is-bits"), follow_quirks(&[SHORT]), &[SHORT], false);
    check(
        &expect("bf16-is-bits"),
        follow_quirks(&[BITS, SHORT]),
        &[BITS, SHORT],
        false,
    );
    check(
        &expect("bf16-is-bits"),
        Does::Follows(Quirks::NONE.with_quirk(BITS), 1),
        &[],
        false,
    );
}

#[test]
fn an_exception_is_told_by_its_words() {
    let told = |kind, message| {
        let trial = run_trial("", Does::Raises(kind, message), 1);
        trial.verdict.differences[0].known_bug.map(|told| told.name)
    };
    let known = "'InterpreterBuilder' object has no attribute 'new_block'";
    assert_eq!(
        told("AttributeError", known),
        None,
        "no line says that it is that operation"
    );
    let data = "'InterpreterBuilder' object has no attribute 'get_int1_ty'";
    assert_eq!(told("AttributeError", data), None, "fixed in 3.4");
    let none = "cannot convert None of type <class 'NoneType'> to tensor";
    assert_eq!(told("TypeError", none), None, "the kernel calls no library");
    assert_eq!(told("ValueError", none), None);
    assert_eq!(
        told("AttributeError", "'Tensor' object has no attribute 'shape'"),
        None
    );
}

#[test]
fn each_version_is_told_by_what_the_reference_says_of_its_language() {
    let kernel = "\
import triton
import triton.language as tl


@triton.jit
def narrow(x, y, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.topk(tl.load(y + i), 4))
    a = tl.load(x + i)
    tl.store(x + i, a - a)
";
    let yaml = "about: x\nkernel: k.py:narrow\nstorages:\n  x: { dtype: fp8e5, shape: [4], fill: ones }\n  \
                y: { dtype: i32, shape: [4], fill: arange }\n  out: { dtype: i32, shape: [4], fill: zeros }\n\
                launches: [{ grid: 1, args: [x, y, out] }]\n";
    let case = only_case(yaml, ("k.py", kernel));
    let reference = Arc::new(Reference::default());
    let told = |versions: &[&str]| {
        let suspects = versions.iter().map(|version| {
            Arc::new(Suspect {
                id: version.parse().expect("an engine"),
                reference: Arc::clone(&reference),
                does: Does::Ends,
            }) as Arc<dyn Engine>
        });
        let panel = Panel::new(Some(Arc::clone(&reference)), suspects.collect());
        let trial = try_case(&case, &panel).expect("not stopped");
        let of_newest =
            trial.verdict.differences.iter().find(|one| {
                one.baseline == EngineId::Reference && one.engine.to_string() == "interpret@3.9.0"
            });
        of_newest.expect("it differs").known_bug.map(|told| told.name)
    };
    assert_eq!(told(&["interpret@3.9.0"]), Some("fp8-is-computed-in"));
    // 3.0 has no `topk`: another no, of the same kind.
    assert_eq!(
        told(&["interpret@3.0.0", "interpret@3.9.0"]),
        Some("fp8-is-computed-in")
    );
}

#[test]
fn bounds_alone_are_explained_without_quirks_that_change_nothing() {
    // A compiler looks at loops and stores for another of its bugs, which this kernel has no room for.
    let kernel = "\
import triton
import triton.language as tl


@triton.jit
def product(x, y, out, n):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    a, b = tl.load(x + i), tl.load(y + i)
    for _ in range(n):
        tl.store(out + i, tl.sum(a[:, :, None] * b[None, :, :], 1))
";
    // 1 and 2^-23: `f32` holds their sum, and the sums of a dot do not.
    let row = [1.0, 1.0 / f64::from(1 << 23)].into_iter().chain([0.0; 14]);
    let rows: Vec<String> = row.cycle().take(256).map(|value| format!("{value:?}")).collect();
    let yaml = format!(
        "about: x\nkernel: k.py:product\nstorages:\n  x: {{ dtype: f32, shape: [256], fill: [{}] }}\n  y: {{ dtype: f32, shape: \
         [256], fill: ones }}\n  out: {{ dtype: f32, shape: [256], fill: ones }}\nlaunches: [{{ grid: 1, args: {{ x: x, y: y, \
         out: out, n: 2 }} }}]\n",
        rows.join(", ")
    );
    let case = only_case(&yaml, ("k.py", kernel));
    let reference = Arc::new(Reference::default());
    // It leaves 1, as it was.
    let suspect = Suspect {
        id: "cuda@3.7.1".parse().expect("an engine"),
        reference: Arc::clone(&reference),
        does: Does::Ends,
    };
    let trial = try_case(&case, &Panel::new(Some(reference), vec![Arc::new(suspect)])).expect("it is judged");
    assert_eq!(trial.verdict.kind, VerdictKind::Differ);
    let expected = Quirks::NONE.with_quirk(Quirk::ProductSumsAreTf32);
    assert_eq!(trial.verdict.differences[0].explained, expected);
}
