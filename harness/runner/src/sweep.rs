//! `cerith sweep`: the variants of every case must produce the same result. They are compiled and executed here, on a GPU or as
//! PTX, or judged from the results that `cerith exec` produced from a bundle of variants.

mod results;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use cerith_case::{Axes, BadVariant, Case, Entry, Shard, Variant};
use cerith_cuda::bundle::BundleError;
use cerith_cuda::sweep::{self, Compiled, VariantResult};
use cerith_cuda::{Executor, Options, Unavailable, build_outcome};
use cerith_engine::compile::Compiler;
use cerith_engine::job::{Job, Ran};
use cerith_engine::{Engine, EngineId, Failure, Outcome, Ptx, Reference, catch_panic};
use cerith_report::event::{Event, Internal, Problem, Start};
use cerith_report::{SWEEPS, describe};
use cerith_tile::rules::Version;
use cerith_tile::source::Sources;
use cerith_toolchain::compiled::Target;
use cerith_verdict::{Sample, Samples, Stopped, try_sweep};

use self::results::Pile;
use crate::corpus::Selected;
use crate::engines;
use crate::exit::Exit;
use crate::host::Host;
use crate::judge::CaseResult;
use crate::open_error::OpenError;
use crate::options::{ReportOptions, Selection};
use crate::output::Output;
use crate::pipeline;

/// Options of a sweep.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// The cases to sweep.
    pub selection: Selection,
    /// A compiler: `cuda@3.9.0`, or `ptx@3.9.0`, which needs no GPU.
    pub engines: Vec<EngineId>,
    /// The axes of the variants, such as `num_warps`.
    pub axes: Vec<String>,
    /// Files that `cerith exec` wrote for a bundle of `cerith bundle --sweep`. They are judged, and nothing is executed.
    pub results: Vec<PathBuf>,
    /// The number of cases to process at once.
    pub jobs: Option<u16>,
    /// Use only installed toolchains.
    pub offline: bool,
    /// Output format, and the folder of reports.
    pub reports: ReportOptions,
}

/// Runs the sweep, and returns the exit code.
pub fn sweep(options: &SweepOptions, host: Host<'_>) -> Exit {
    let began = Instant::now();
    let console = host.console;
    let axes = match parse_axes(&options.axes) {
        Ok(axes) => axes,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let selected = match Selected::open(options.selection.cases.as_deref(), &options.selection.filters) {
        Ok(selected) => selected,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let partial = selected.is_partial();
    let mut output = match Output::new(
        &options.reports,
        &selected.report_folder("sweep"),
        partial,
        host.console,
    ) {
        Ok(output) => output,
        Err(blocked) => {
            host.console.note(&format!("error: {blocked}"));
            return Exit::Wrong;
        }
    };
    let source = if options.results.is_empty() {
        open_compilers(options, axes.clone(), &selected, host)
    } else {
        Pile::read(&options.results, &options.engines, &selected).map(Source::Results)
    };
    let source = match source {
        Ok(source) => source,
        Err(error) => {
            output.console.note(&error.to_string());
            return error.exit();
        }
    };
    let reference = Reference::default();
    let jobs = pipeline::count_jobs(options.jobs);
    let tasks: Vec<(Entry, usize)> = selected
        .entries(Shard::ALL)
        .flat_map(|entry| {
            let engines = source.engines_of(&entry.id);
            engines.into_iter().map(move |engine| (entry.clone(), engine))
        })
        .collect();
    output.emit_event(&Event::Start(Start {
        format: SWEEPS,
        partial,
        cerith: env!("CARGO_PKG_VERSION").to_owned(),
        engines: source.engines().iter().map(ToString::to_string).collect(),
        axes: match &source {
            Source::Live { axes, .. } => axes.to_string().split(' ').map(str::to_owned).collect(),
            Source::Results(pile) => pile.axes(),
        },
        cases: tasks.len() as u64,
        corpus: selected.named_folder(),
        corpus_hash: selected.corpus.hash().to_owned(),
        filters: options.selection.filters.clone(),
        ..Start::default()
    }));
    for problem in selected.problems().into_iter().chain(source.problems()) {
        output.emit_event(&Event::Problem(problem));
    }
    for unmatched in selected.unmatched() {
        output.emit_event(&Event::Problem(unmatched));
    }
    output.console.begin(tasks.len() as u64);
    let sources = selected.corpus.sources();
    let total = tasks.len() as u64;
    output.follow(
        (tasks.into_iter(), total),
        jobs,
        host,
        sources,
        |(entry, engine)| judge_entry(&entry, engine, &source, &reference, sources),
    );
    output.console.end();
    let exit = output.finish(began, host.is_stopped());
    source.stop();
    exit
}

/// Parses the requested axes.
pub fn parse_axes(axes: &[String]) -> Result<Axes, AxesError> {
    Ok(Axes::parse(axes)?)
}

/// The axes cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("error: --axis: {0}")]
pub struct AxesError(#[from] BadVariant);

/// The reason why there is nothing to sweep.
#[derive(Debug, thiserror::Error)]
enum SweepError {
    #[error(
        "nothing was swept: {0}\n  = help: `cerith sweep --engine ptx@{newest}` executes the compiler's PTX here\n  \
         = help: `cerith bundle --sweep … -o sweep.cerith` compiles here, `cerith exec sweep.cerith -o results.cerith` \
         executes on a machine with a GPU, and `cerith sweep --results results.cerith` judges here",
        newest = Version::NEWEST
    )]
    NoGpu(Unavailable),
    #[error("error: failed to compile with {engine}: {error}")]
    Compiler { engine: EngineId, error: Box<OpenError> },
    #[error("error: failed to {error}\n  --> {}", path.display())]
    Results { path: PathBuf, error: BundleError },
}

impl SweepError {
    const fn exit(&self) -> Exit {
        match self {
            Self::NoGpu(_) => Exit::Nothing,
            Self::Compiler { .. } | Self::Results { .. } => Exit::Wrong,
        }
    }
}

/// The source of outcomes.
enum Source {
    /// Compilers of this machine.
    Live { axes: Axes, makers: Vec<Maker> },
    /// Files of results.
    Results(Pile),
}

/// A compiler, with the executor of its code.
enum Maker {
    /// Executes machine code on the GPUs of this machine.
    Gpu(EngineId, Box<Compiler>, Arc<Executor>),
    /// Executes PTX, without a GPU.
    Here(Ptx),
}

impl Maker {
    fn id(&self) -> &EngineId {
        match self {
            Self::Gpu(id, ..) => id,
            Self::Here(ptx) => ptx.id(),
        }
    }

    fn compiler(&self) -> &Compiler {
        match self {
            Self::Gpu(_, compiler, _) => compiler,
            Self::Here(ptx) => ptx.compiler(),
        }
    }

    fn execute(&self, case: &Case, compiled: Vec<Compiled>) -> Result<Samples, Failure> {
        match self {
            Self::Gpu(_, _, executor) => execute_on_gpu(case, compiled, executor),
            Self::Here(ptx) => execute_ptx(case, compiled, ptx),
        }
    }

    fn stop(&self) {
        match self {
            Self::Gpu(_, compiler, executor) => {
                compiler.stop();
                executor.stop();
            }
            Self::Here(ptx) => ptx.stop(),
        }
    }
}

/// Starts the executor for the GPUs of this machine.
fn start_executor() -> Result<Arc<Executor>, SweepError> {
    Executor::start(Options::default())
        .map(Arc::new)
        .map_err(SweepError::NoGpu)
}

fn open_compilers(
    options: &SweepOptions,
    axes: Axes,
    selected: &Selected,
    host: Host<'_>,
) -> Result<Source, SweepError> {
    let newest = [EngineId::cuda(Version::NEWEST)];
    let wanted = if options.engines.is_empty() {
        &newest[..]
    } else {
        &options.engines
    };
    let needs_gpu = wanted.iter().any(|id| !matches!(id, EngineId::Ptx { .. }));
    let executor = needs_gpu.then(start_executor).transpose()?;
    let gpu = executor.as_ref().and_then(|executor| executor.gpus().first());
    let gpu = gpu.map_or(Target::HOPPER, |gpu| Target(gpu.capability));
    let mut makers: Vec<Maker> = Vec::new();
    for id in wanted {
        if makers.iter().any(|known| known.id() == id) {
            continue;
        }
        let jobs = pipeline::count_jobs(options.jobs);
        let compiler = engines::open_compiler(id, gpu, options.offline, jobs, selected.readable(), host)
            .map_err(|error| SweepError::Compiler {
                engine: id.clone(),
                error: Box::new(error),
            })?;
        makers.push(match &executor {
            Some(executor) if !matches!(id, EngineId::Ptx { .. }) => {
                Maker::Gpu(id.clone(), Box::new(compiler), Arc::clone(executor))
            }
            _ => Maker::Here(Ptx::new(compiler)),
        });
    }
    Ok(Source::Live { axes, makers })
}

impl Source {
    fn engines(&self) -> Vec<EngineId> {
        match self {
            Self::Live { makers, .. } => makers.iter().map(|maker| maker.id().clone()).collect(),
            Self::Results(pile) => pile.engines().to_vec(),
        }
    }

    /// The numbers of the engines that have results of a case.
    fn engines_of(&self, case: &str) -> Vec<usize> {
        match self {
            Self::Live { makers, .. } => (0..makers.len()).collect(),
            Self::Results(pile) => pile.engines_of(case),
        }
    }

    fn problems(&self) -> Vec<Problem> {
        match self {
            Self::Live { .. } => engines::check_containment().into_iter().collect(),
            Self::Results(pile) => pile.problems(),
        }
    }

    fn stop(&self) {
        if let Self::Live { makers, .. } = self {
            makers.iter().for_each(Maker::stop);
        }
    }

    /// Collects an engine's results for the variants of a case.
    fn collect_samples(
        &self,
        entry: &Entry,
        case: &Case,
        engine: usize,
        reference: &Reference,
    ) -> Result<Samples, Trouble> {
        match self {
            Self::Results(pile) => pile.collect_samples(entry, case, engine),
            Self::Live { axes, makers } => {
                let Some(maker) = makers.get(engine) else {
                    return Ok(Samples::default());
                };
                let compiler = maker.compiler();
                if case.is_import_only() || is_undefined(case, compiler.version(), reference)? {
                    return Ok(Samples::default());
                }
                let compiled = sweep::compile(entry, case, axes, compiler, Some(reference))?;
                Ok(maker.execute(case, compiled)?)
            }
        }
    }
}

/// Whether a case has undefined behaviour, so that its variants may differ.
pub fn is_undefined(case: &Case, version: Version, reference: &Reference) -> Result<bool, Failure> {
    use cerith_engine::Trap;
    let run = reference.run(case, cerith_tile::rules::Rules::from_version(version))?;
    Ok(matches!(run.outcome, Outcome::Trapped(Trap::Undefined, _)))
}

/// The reason why the variants of a case cannot be judged.
enum Trouble {
    /// The input does not fit.
    Given(Box<Problem>),
    /// Cerith failed.
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Executes the variants that compiled.
fn execute_on_gpu(case: &Case, compiled: Vec<Compiled>, executor: &Executor) -> Result<Samples, Failure> {
    let jobs: Vec<Arc<Job>> = compiled
        .iter()
        .filter_map(|one| match &one.result {
            VariantResult::Job(job) => Some(Arc::new((**job).clone())),
            _ => None,
        })
        .collect();
    let mut ran = executor.run(&jobs)?.into_iter();
    let mut samples = Samples::default();
    for Compiled {
        variant,
        case: varied,
        result: what,
    } in compiled
    {
        match what {
            VariantResult::Same(other) => samples.duplicates.push((variant, other)),
            VariantResult::NotApplicable(why) => samples.not_applicable.push((variant, why)),
            VariantResult::Ended(outcome) => samples.samples.push(Sample {
                variant,
                outcome,
                touched: 0,
            }),
            VariantResult::Job(_) => {
                let ran = ran
                    .next()
                    .ok_or_else(|| Failure::internal("execute variants", "an answer is missing"))?;
                add_sample(&mut samples, case, &varied, variant, &ran)?;
            }
        }
    }
    Ok(samples)
}

/// Executes the PTX of the variants that compiled.
fn execute_ptx(case: &Case, compiled: Vec<Compiled>, ptx: &Ptx) -> Result<Samples, Failure> {
    let mut samples = Samples::default();
    for Compiled {
        variant,
        case: varied,
        result: what,
    } in compiled
    {
        let job = match what {
            VariantResult::Same(other) => {
                samples.duplicates.push((variant, other));
                continue;
            }
            VariantResult::NotApplicable(why) => {
                samples.not_applicable.push((variant, why));
                continue;
            }
            VariantResult::Ended(outcome) => {
                samples.samples.push(Sample {
                    variant,
                    outcome,
                    touched: 0,
                });
                continue;
            }
            VariantResult::Job(job) => job,
        };
        let outcome = ptx.execute_varied(&varied, variant, job.compiled)?;
        if let Outcome::Unsupported(complaint) | Outcome::Exhausted(complaint) = &outcome {
            // It may still run on a GPU.
            let why = format!("not executed here: {}", complaint.message);
            samples.not_applicable.push((variant, why));
            continue;
        }
        let (outcome, touched) = sweep::as_is_outcome(case, &varied, variant, outcome)?;
        samples.samples.push(Sample {
            variant,
            outcome,
            touched,
        });
    }
    Ok(samples)
}

/// Adds the result of executing a variant.
fn add_sample(
    samples: &mut Samples,
    case: &Case,
    varied: &Case,
    variant: Variant,
    ran: &Ran,
) -> Result<(), Failure> {
    if let Some(why) = sweep::not_executable(ran) {
        samples.not_applicable.push((variant, why));
        return Ok(());
    }
    let outcome = build_outcome(varied, ran)?;
    let (outcome, touched) = sweep::as_is_outcome(case, varied, variant, outcome)?;
    samples.samples.push(Sample {
        variant,
        outcome,
        touched,
    });
    Ok(())
}

/// Judges a case; `None` if the run was stopped.
fn judge_entry(
    entry: &Entry,
    engine: usize,
    source: &Source,
    reference: &Reference,
    sources: &Sources,
) -> Option<CaseResult> {
    let internal = |message: String| {
        Some(CaseResult::Events(vec![Event::Internal(Internal {
            case: Some(entry.id.clone()),
            engine: source.engines().get(engine).map(ToString::to_string),
            message,
        })]))
    };
    let case = match catch_panic(|| entry.resolve()) {
        Ok(Ok(case)) => case,
        Ok(Err(problems)) => return Some(CaseResult::Wrong(entry.id.clone(), problems)),
        Err(panic) => return internal(panic),
    };
    let id = source.engines().get(engine)?.clone();
    let samples = match catch_panic(|| source.collect_samples(entry, &case, engine, reference)) {
        Ok(Ok(samples)) => samples,
        Ok(Err(Trouble::Given(problem))) => return Some(CaseResult::Events(vec![Event::Problem(*problem)])),
        Ok(Err(Trouble::Failed(Failure::Stopped))) => return None,
        Ok(Err(Trouble::Failed(failure))) => return internal(format!("failed to {failure}")),
        Err(panic) => return internal(panic),
    };
    // The memory of a layout variant is converted back to the layout of the case.
    let vary = |variant| match variant {
        Variant::Layout(_) => Some(case.clone()),
        variant => entry.vary(&case, variant).ok(),
    };
    match catch_panic(|| try_sweep(&case, &id, Some(reference), &samples, &vary)) {
        Ok(Ok(trial)) => {
            let failed = trial.failed.iter().map(|failed| {
                Event::Internal(Internal {
                    case: Some(case.id.clone()),
                    engine: Some(failed.engine.to_string()),
                    message: failed.message.clone(),
                })
            });
            let mut judged = describe::to_sweep_verdict(&case, &id, &samples, &trial, sources);
            let exhibit = describe::of_sweep(&case, &samples, &trial, sources);
            judged.exhibit = Some(Box::new(exhibit));
            Some(CaseResult::Events(
                failed.chain([Event::Sweep(Box::new(judged))]).collect(),
            ))
        }
        Ok(Err(Stopped)) => None,
        Err(panic) => internal(panic),
    }
}
