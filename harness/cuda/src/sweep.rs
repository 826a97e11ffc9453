//! Compiles the variants of a case, and says which of them a sweep must execute.
//!
//! A variant with the same machine code, parameters and memory as another is not executed again. A variant that does not apply
//! has a reason: the kernel or the launch fixes what would be changed, the target has no room for it, or the kernel does not take
//! such a layout, as the reference says.
//!
//! See [`Axes`] for the axes, `Executor` and `bundle` for executing variants, and `cerith-verdict` for comparing them.

use cerith_case::{Axes, Axis, Case, Entry, Relayout, Variant};
use cerith_memory::Memory;
use cerith_tile::rules::Rules;
use cerith_toolchain::Tuning;

use cerith_engine::compile::{Compiler, Compiling, build_tuning};
use cerith_engine::job::{Job, Ran};
use cerith_engine::{Engine, Failure};
use cerith_engine::{Finished, Outcome, Reference, Trap};

/// A variant of a case, and what there is to be done for it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Which.
    pub variant: Variant,
    /// The case with it; the case as it is where it does not apply.
    pub case: Case,
    /// The result of compiling it.
    pub result: VariantResult,
}

/// The result of compiling a variant.
#[derive(Clone, Debug, PartialEq)]
pub enum VariantResult {
    /// It can be executed.
    Job(Box<Job>),
    /// The case ended when it was compiled.
    Ended(Outcome),
    /// It is the same as this other variant to a GPU.
    Same(Variant),
    /// It does not apply; why.
    NotApplicable(String),
}

/// Compiles a case and its variants along some axes; the case as it is comes first. `reference` is asked which layouts
/// the case's kernels take; without it none is tried.
///
/// # Errors
/// Cerith failed.
pub fn compile(
    entry: &Entry,
    as_is: &Case,
    axes: &Axes,
    compiler: &Compiler,
    reference: Option<&Reference>,
) -> Result<Vec<Compiled>, Failure> {
    let (compiling, configs) = compiler.tuned_job(as_is, Tuning::default())?;
    let first = Compiled {
        variant: Variant::AsIs,
        case: as_is.clone(),
        result: match compiling {
            Compiling::Ready(job) => VariantResult::Job(job),
            Compiling::Ended(outcome) => classify_outcome(Variant::AsIs, as_is, outcome),
        },
    };
    let mut all = vec![first];
    let layouts = LayoutFilter::new(as_is, compiler, reference);
    for variant in axes.list_variants(configs) {
        let (case, what) = match entry.vary(as_is, variant) {
            Ok(case) => {
                let what = compile_variant(variant, &case, &layouts, compiler, &all, configs)?;
                (case, what)
            }
            Err(why) => (as_is.clone(), VariantResult::NotApplicable(why.to_string())),
        };
        all.push(Compiled {
            variant,
            case,
            result: what,
        });
    }
    Ok(all)
}

fn compile_variant(
    variant: Variant,
    case: &Case,
    layouts: &LayoutFilter<'_>,
    compiler: &Compiler,
    before: &[Compiled],
    configs: usize,
) -> Result<VariantResult, Failure> {
    let refused = match variant {
        // Clusters came with compute capability 9.0 (CUDA C programming guide, thread block clusters).
        Variant::NumCtas(ctas) if ctas > 1 && compiler.target().0 < 90 => {
            Some("the target has no clusters".to_owned())
        }
        Variant::Config(config) if config >= configs => Some(format!("there are {configs} configurations")),
        Variant::Layout(_) => layouts.find_refusal(case)?,
        _ => None,
    };
    if let Some(why) = refused {
        return Ok(VariantResult::NotApplicable(why));
    }
    let (compiling, _) = compiler.tuned_job(case, build_tuning(variant))?;
    Ok(match compiling {
        Compiling::Ready(job) => {
            let same = before.iter().find(|other| match &other.result {
                VariantResult::Job(known) => is_same_job(known, &job),
                _ => false,
            });
            match same {
                Some(other) => VariantResult::Same(other.variant),
                None => VariantResult::Job(job),
            }
        }
        Compiling::Ended(outcome) => classify_outcome(variant, case, outcome),
    })
}

fn classify_outcome(variant: Variant, case: &Case, outcome: Outcome) -> VariantResult {
    match not_applicable(variant, case, &outcome) {
        Some(why) => VariantResult::NotApplicable(why),
        None => VariantResult::Ended(outcome),
    }
}

/// Whether two jobs are the same to a GPU. Assembly and IR, which are not executed, may differ.
fn is_same_job(left: &Job, right: &Job) -> bool {
    let kernels = |job: &Job| {
        job.compiled
            .kernels
            .iter()
            .map(|kernel| (kernel.cubin.clone(), kernel.metadata.clone()))
            .collect::<Vec<_>>()
    };
    left.compiled.invocations == right.compiled.invocations
        && left.storages == right.storages
        && left.addresses == right.addresses
        && left.arena == right.arena
        && kernels(left) == kernels(right)
}

/// The reason why a variant's outcome is not evidence about the compiler, if that is so.
fn not_applicable(variant: Variant, case: &Case, outcome: &Outcome) -> Option<String> {
    let complaint = outcome.complaint()?;
    let kind = complaint.kind.rsplit('.').next().unwrap_or_default();
    let message = complaint.message.as_str();
    let said = || {
        let line = message.lines().next().unwrap_or_default();
        format!("{kind}: {line}")
    };
    // Exceptions that Triton's autotuner takes for an invalid configuration (`Autotuner._bench`).
    let tuner = ["OutOfResources", "CompileTimeAssertionFailure", "PTXASError"];
    match outcome {
        // Out of time while it is compiled: a large tile in one warp takes long.
        Outcome::Unsupported(_) | Outcome::Unavailable(_) | Outcome::Exhausted(_) => Some(said()),
        // A case that compiles for one block is a valid program: the compiler cannot lay it out over several, and reports so in a
        // pass of its own (3.3 to 3.7 give up on most reductions, 3.9 on scans along the blocks).
        Outcome::Rejected(_) if matches!(variant, Variant::NumCtas(ctas) if ctas > 1) => Some(said()),
        _ if kind == "OutOfResources" || message.contains("out of resource") => Some(said()),
        Outcome::Rejected(_) | Outcome::Trapped(Trap::Raised, _)
            if matches!(variant, Variant::Config(_)) && tuner.contains(&kind) =>
        {
            Some(said())
        }
        Outcome::Trapped(Trap::Raised, _) => {
            // Messages of Python and Triton about an option that is set twice.
            let given = message.contains("multiple values for keyword argument")
                || message.contains("Conflicting meta-parameters");
            let hosted = case.launches.iter().any(|launch| launch.host.is_some());
            (variant.axis().is_some() && (given || hosted)).then(said)
        }
        _ => None,
    }
}

/// The reason to ignore a GPU's outcome of a variant in judging the compiler, if there is one.
pub fn not_executable(ran: &Ran) -> Option<String> {
    let resources = [
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
    ];
    match ran {
        Ran::Refused { name, message } => Some(format!("{name}: {message}")),
        Ran::Faulted { name, message } if resources.contains(&name.as_str()) => {
            Some(format!("{name}: {message}"))
        }
        _ => None,
    }
}

/// Which layouts the kernels of a case take: those in which the reference leaves the same in every tensor, and nothing
/// between the elements.
struct LayoutFilter<'a> {
    as_is: &'a Case,
    rules: Rules,
    /// The reference, and its result for the unchanged case, computed on first use.
    reference: Option<&'a Reference>,
    expected: std::cell::OnceCell<Result<Memory, NotExecuted>>,
}

impl<'a> LayoutFilter<'a> {
    fn new(as_is: &'a Case, compiler: &Compiler, reference: Option<&'a Reference>) -> Self {
        Self {
            as_is,
            rules: Rules::from_version(compiler.version()),
            reference,
            expected: std::cell::OnceCell::new(),
        }
    }

    /// The reason why the case's kernels do not take the layout of `case`, if they do not.
    fn find_refusal(&self, case: &Case) -> Result<Option<String>, Failure> {
        let Some(reference) = self.reference else {
            return Ok(Some(
                "the reference, which supports layouts, is not run".to_owned(),
            ));
        };
        let ask = |case: &Case| Ok::<_, Failure>(take_memory(reference.run(case, self.rules)?.outcome));
        let expected = if let Some(expected) = self.expected.get() {
            expected
        } else {
            let asked = ask(self.as_is)?;
            self.expected.get_or_init(|| asked)
        };
        let (expected, found) = match (expected, ask(case)?) {
            (Ok(expected), Ok(found)) => (expected, found),
            (Err(error), _) => return Ok(Some(error.to_string())),
            (_, Err(error)) => return Ok(Some(error.to_string())),
        };
        let Some(relayout) = Relayout::new(self.as_is, case) else {
            return Ok(Some("its storages are others".to_owned()));
        };
        let back = relayout.move_back(&found);
        Ok(if back.touched > 0 {
            Some("the kernel writes between the elements".to_owned())
        } else if back.memory != *expected {
            Some("the kernel has another result in such a layout".to_owned())
        } else {
            None
        })
    }
}

/// The reference left no memory: its message.
#[derive(Debug, thiserror::Error)]
#[error("the reference does not run it: {0}")]
struct NotExecuted(String);

/// The memory that the reference left.
fn take_memory(outcome: Outcome) -> Result<Memory, NotExecuted> {
    match outcome {
        Outcome::Finished(finished) => Ok(finished.memory),
        other => {
            let complaint = other.complaint();
            Err(NotExecuted(
                complaint.map_or_else(String::new, |complaint| complaint.message.clone()),
            ))
        }
    }
}

/// The outcome of a variant in the memory of the case as it is, and how many bytes between elements were touched.
///
/// # Errors
/// The memory is not the variant's.
pub fn as_is_outcome(
    as_is: &Case,
    case: &Case,
    variant: Variant,
    outcome: Outcome,
) -> Result<(Outcome, u64), Failure> {
    let finished = match outcome {
        Outcome::Finished(finished) if variant.axis() == Some(Axis::Layout) => finished,
        other => return Ok((other, 0)),
    };
    let relayout = Relayout::new(as_is, case)
        .ok_or_else(|| Failure::internal("move memory back", "the layouts are of different cases"))?;
    let back = relayout.move_back(&finished.memory);
    let other = finished.unsteady.as_ref().map(|other| relayout.move_back(other));
    let touched = back.touched.max(other.as_ref().map_or(0, |other| other.touched));
    let outcome = Outcome::Finished(Box::new(Finished {
        memory: back.memory,
        tracked: finished.tracked,
        unsteady: other.map(|other| Box::new(other.memory)),
        printed: finished.printed,
        remark: None,
        execution: finished.execution,
    }));
    Ok((outcome, touched))
}
