//! `cerith bundle`: cases compiled on this machine, in one file for a machine with a GPU.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cerith_case::{Axes, Case, Entry, Problems, Shard, Variant};
use cerith_cuda::bundle::{BundleError, CaseEntry, Decided, Label, Note, Unexecuted, Writer};
use cerith_cuda::record::Record;
use cerith_cuda::sweep::{Compiled, VariantResult, compile as compile_variants};
use cerith_engine::compile::{Compiler, Compiling};
use cerith_engine::job::digest;
use cerith_engine::{EngineId, Failure, Outcome, Reference, catch_panic};
use cerith_report::describe;
use cerith_tile::rules::Version;

use crate::corpus::Selected;
use crate::engines;
use crate::exit::Exit;
use crate::host::Host;
use crate::open_error::OpenError;
use crate::options::Selection;
use crate::part::{Part, PartError};
use crate::pipeline::{self, in_order};
use crate::sweep;
use cerith_toolchain::compiled::Target;

/// Options for compiling a bundle.
#[derive(Clone, Debug)]
pub struct BundleOptions {
    /// The selected cases.
    pub selection: Selection,
    /// A compiler: `cuda@3.9.0`.
    pub engines: Vec<EngineId>,
    /// The GPU that executes the bundle: `sm_80`, `sm_90`, or another that the compiler knows.
    pub target: Target,
    /// Bundle the variants of every case, for `cerith sweep --results`.
    pub sweep: bool,
    /// The axes of the variants.
    pub axes: Vec<String>,
    /// The path of the bundle.
    pub out: PathBuf,
    /// How many cases to compile at once.
    pub jobs: Option<u16>,
    /// Use only installed toolchains.
    pub offline: bool,
}

/// Compiles, and returns the exit code.
pub fn bundle(options: &BundleOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    match write_bundle(options, host) {
        Ok(exit) => exit,
        Err(error) => {
            console.end();
            console.note(&format!("error: failed to {error}"));
            Exit::Wrong
        }
    }
}

/// The reason why there is no bundle. Fits after "failed to ".
#[derive(Debug, thiserror::Error)]
enum BundleFailure {
    #[error(transparent)]
    Part(#[from] PartError),
    #[error("{error}\n  --> {}", path.display())]
    Bundle { path: PathBuf, error: BundleError },
    #[error("compile with {engine}: {error}")]
    Compiler { engine: EngineId, error: Box<OpenError> },
}

/// The result of compiling one case, or one variant of it.
pub enum CompileResult {
    /// It can be executed.
    Ready(Box<CaseEntry>),
    /// It ended when it was compiled, with the compiler's message.
    Decided(Box<Decided>, CompilerMessage),
    /// A variant that need not be executed.
    Note(Box<Note>),
    /// A program that is not swept: it has no defined answer, or launches nothing.
    Unswept,
    /// The case file is wrong.
    Wrong(String, Vec<cerith_tile::diagnostic::Diagnostic>),
    /// Nothing can be recorded: Cerith failed, or the compiler could not run.
    Failed(String),
}

/// The reason why a case ended when it was compiled, with the message of the compiler or of `ptxas`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompilerMessage {
    outcome: &'static str,
    kind: String,
    message: String,
}

impl Display for CompilerMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            outcome,
            kind,
            message,
        } = self;
        let message = message.trim_end().replace('\n', "\n  ");
        write!(f, "{outcome}: {kind}: {message}")
    }
}

#[derive(Default)]
struct Counts {
    compiled: u64,
    decided: BTreeMap<&'static str, u64>,
    /// The cases and variants with the same message.
    messages: BTreeMap<CompilerMessage, Vec<String>>,
    duplicates: u64,
    not_applicable: u64,
    unswept: u64,
    failed: u64,
}

fn write_bundle(options: &BundleOptions, host: Host<'_>) -> Result<Exit, BundleFailure> {
    let console = host.console;
    let selected = match Selected::open(options.selection.cases.as_deref(), &options.selection.filters) {
        Ok(selected) => selected,
        Err(error) => {
            console.note(&error.to_string());
            return Ok(Exit::Wrong);
        }
    };
    let mut exit = Exit::AsExpected;
    for problem in selected.problems().into_iter().chain(selected.unmatched()) {
        console.note(&problem.rendered);
        exit = Exit::Wrong;
    }
    let cases = selected.entries(Shard::ALL).count() as u64;
    if cases == 0 {
        console.note("nothing was bundled: no case is selected");
        return Ok(if exit == Exit::AsExpected {
            Exit::Nothing
        } else {
            exit
        });
    }
    let axes = match sweep::parse_axes(&options.axes) {
        Ok(axes) => options.sweep.then_some(axes),
        Err(error) => {
            console.note(&error.to_string());
            return Ok(Exit::Wrong);
        }
    };
    let reference = Reference::default();
    let jobs = pipeline::count_jobs(options.jobs);
    let newest = [EngineId::cuda(Version::NEWEST)];
    let wanted = if options.engines.is_empty() {
        &newest[..]
    } else {
        &options.engines
    };
    let failed = |error| BundleFailure::Bundle {
        path: options.out.clone(),
        error,
    };
    let part = Part::create(&options.out)?;
    let mut writer = Writer::begin_cases(BufWriter::new(part.file())).map_err(failed)?;
    for id in wanted {
        let compiler = engines::open_compiler(
            id,
            options.target,
            options.offline,
            jobs,
            selected.readable(),
            host,
        )
        .map_err(|error| BundleFailure::Compiler {
            engine: id.clone(),
            error: Box::new(error),
        })?;
        if let Some(warning) = engines::check_containment().filter(|_| Some(id) == wanted.first()) {
            console.note(&warning.rendered);
        }
        let began = Instant::now();
        console.begin(cases);
        let round = Round {
            selected: &selected,
            compiler: &compiler,
            id,
            sweep: axes.as_ref().map(|axes| (axes, &reference)),
            host,
            jobs,
        };
        let (counts, wrong) = round.run(&mut writer).map_err(failed)?;
        console.end();
        for problem in wrong.finish() {
            console.note(&describe::to_problem(&problem, selected.corpus.sources()).rendered);
            exit = Exit::Wrong;
        }
        if host.is_stopped() {
            console.note("interrupted; no bundle was written");
            return Ok(Exit::Interrupted);
        }
        if counts.failed > 0 {
            exit = exit.max(Exit::Unexpected);
        }
        for (said, cases) in &counts.messages {
            console.print(&format!("{said}\n    {}\n", cases.join("\n    ")));
        }
        console.print(&counts.describe(id, cases, began.elapsed().as_secs_f64()));
    }
    let written = writer.finish().map_err(failed)?;
    drop(written);
    let bytes = part.file().metadata().map_or(0, |metadata| metadata.len());
    part.keep()?;
    console.print(&format!(
        "{}, {:.1} MB; on a machine with a GPU: cerith exec {0} -o results.cerith{}\n",
        options.out.display(),
        bytes as f64 / 1e6,
        if options.sweep {
            "; then, back here: cerith sweep --results results.cerith"
        } else {
            ""
        }
    ));
    Ok(exit)
}

/// All cases through one compiler.
struct Round<'a> {
    selected: &'a Selected,
    compiler: &'a Compiler,
    id: &'a EngineId,
    /// The axes, if variants are compiled.
    sweep: Option<(&'a Axes, &'a Reference)>,
    host: Host<'a>,
    jobs: usize,
}

impl Round<'_> {
    fn run(&self, writer: &mut Writer<BufWriter<&File>>) -> Result<(Counts, Problems), BundleError> {
        let Self {
            selected,
            compiler,
            id,
            sweep,
            host,
            jobs,
        } = *self;
        let mut counts = Counts::default();
        let mut wrong = Problems::default();
        let mut unwritten = None;
        let full = AtomicBool::new(false);
        in_order(
            selected.entries(Shard::ALL),
            jobs,
            |entry| {
                (!host.is_stopped() && !full.load(Ordering::Relaxed)).then(|| match sweep {
                    None => vec![bundle_case(&entry, compiler, id)],
                    Some((axes, reference)) => bundle_variants(&entry, axes, compiler, reference, id),
                })
            },
            |all| {
                for done in all {
                    let written = match done {
                        CompileResult::Ready(entry) => {
                            counts.compiled += 1;
                            writer.add_case(&entry)
                        }
                        CompileResult::Decided(decided, said) => {
                            let Label { case, variant, .. } = &decided.label;
                            let variant = variant.map_or(String::new(), |variant| format!(" with {variant}"));
                            counts
                                .messages
                                .entry(said)
                                .or_default()
                                .push(format!("{case}{variant}"));
                            *counts.decided.entry(decided.record.word()).or_default() += 1;
                            writer.add_decided(&decided)
                        }
                        CompileResult::Note(note) => {
                            *match note.why {
                                Unexecuted::Same(_) => &mut counts.duplicates,
                                Unexecuted::NotApplicable(_) => &mut counts.not_applicable,
                            } += 1;
                            writer.add_note(&note)
                        }
                        CompileResult::Unswept => {
                            counts.unswept += 1;
                            Ok(())
                        }
                        CompileResult::Failed(why) => {
                            counts.failed += 1;
                            host.console.note(&format!("error: {why}"));
                            Ok(())
                        }
                        CompileResult::Wrong(id, problems) => {
                            wrong.add(&id, problems);
                            Ok(())
                        }
                    };
                    if let Err(error) = written {
                        unwritten.get_or_insert(error);
                        full.store(true, Ordering::Relaxed);
                    }
                }
                host.console.advance(counts.failed);
            },
        );
        compiler.stop();
        unwritten.map_or(Ok((counts, wrong)), Err)
    }
}

fn bundle_case(entry: &Entry, compiler: &Compiler, id: &EngineId) -> CompileResult {
    let case = match catch_panic(|| entry.resolve()) {
        Ok(Ok(case)) => case,
        Ok(Err(problems)) => return CompileResult::Wrong(entry.id.clone(), problems),
        Err(panic) => return CompileResult::Failed(format!("{}: {panic}", entry.id)),
    };
    compile_case(&case, compiler, id)
}

/// Compiles one case for a bundle.
pub fn compile_case(case: &Case, compiler: &Compiler, id: &EngineId) -> CompileResult {
    match catch_panic(|| compiler.compile_job(case)) {
        Ok(Ok(Compiling::Ready(job))) => {
            let cubins = job.compiled.kernels.iter().map(|kernel| digest(kernel)).collect();
            CompileResult::Ready(Box::new(CaseEntry {
                label: build_label(case, None, compiler, id, cubins),
                job: *job,
            }))
        }
        Ok(Ok(Compiling::Ended(outcome))) => record_outcome(case, None, compiler, id, &outcome),
        Ok(Err(Failure::Stopped)) => CompileResult::Failed(format!("{}: stopped", case.id)),
        Ok(Err(failure)) => CompileResult::Failed(format!("{}: failed to {failure}", case.id)),
        Err(panic) => CompileResult::Failed(format!("{}: {panic}", case.id)),
    }
}

/// Compiles the variants of a case.
fn bundle_variants(
    entry: &Entry,
    axes: &Axes,
    compiler: &Compiler,
    reference: &Reference,
    id: &EngineId,
) -> Vec<CompileResult> {
    let case = match catch_panic(|| entry.resolve()) {
        Ok(Ok(case)) => case,
        Ok(Err(problems)) => return vec![CompileResult::Wrong(entry.id.clone(), problems)],
        Err(panic) => return vec![CompileResult::Failed(format!("{}: {panic}", entry.id))],
    };
    let compiled = catch_panic(|| {
        if case.is_import_only() || sweep::is_undefined(&case, compiler.version(), reference)? {
            return Ok(None);
        }
        compile_variants(entry, &case, axes, compiler, Some(reference)).map(Some)
    });
    let compiled = match compiled {
        Ok(Ok(Some(compiled))) => compiled,
        Ok(Ok(None)) => return vec![CompileResult::Unswept],
        Ok(Err(Failure::Stopped)) => return vec![CompileResult::Failed(format!("{}: stopped", entry.id))],
        Ok(Err(failure)) => {
            return vec![CompileResult::Failed(format!(
                "{}: failed to {failure}",
                entry.id
            ))];
        }
        Err(panic) => return vec![CompileResult::Failed(format!("{}: {panic}", entry.id))],
    };
    let done = |Compiled {
                    variant,
                    case,
                    result: what,
                }: Compiled| {
        let note = |why| {
            CompileResult::Note(Box::new(Note {
                label: build_label(&case, Some(variant), compiler, id, Vec::new()),
                why,
            }))
        };
        match what {
            VariantResult::Job(job) => {
                let cubins = job.compiled.kernels.iter().map(|kernel| digest(kernel)).collect();
                CompileResult::Ready(Box::new(CaseEntry {
                    label: build_label(&case, Some(variant), compiler, id, cubins),
                    job: *job,
                }))
            }
            VariantResult::Ended(outcome) => record_outcome(&case, Some(variant), compiler, id, &outcome),
            VariantResult::Same(other) => note(Unexecuted::Same(other)),
            VariantResult::NotApplicable(why) => note(Unexecuted::NotApplicable(why)),
        }
    };
    compiled.into_iter().map(done).collect()
}

fn record_outcome(
    case: &Case,
    variant: Option<Variant>,
    compiler: &Compiler,
    id: &EngineId,
    outcome: &Outcome,
) -> CompileResult {
    match Record::from_outcome(case, "", outcome, 1) {
        Some(record) => {
            // As it is recorded: without the names of files that are gone.
            let kept = record.to_outcome(case).ok();
            let complaint = kept.as_ref().unwrap_or(outcome).complaint();
            let said = CompilerMessage {
                outcome: record.word(),
                kind: complaint.map_or_else(String::new, |complaint| complaint.kind.clone()),
                message: complaint.map_or_else(String::new, |complaint| complaint.message.clone()),
            };
            let decided = Decided {
                label: build_label(case, variant, compiler, id, Vec::new()),
                record,
            };
            CompileResult::Decided(Box::new(decided), said)
        }
        None => CompileResult::Failed(format!(
            "{}: {}",
            case.id,
            outcome
                .complaint()
                .map_or("no message", |complaint| &complaint.message)
        )),
    }
}

fn build_label(
    case: &Case,
    variant: Option<Variant>,
    compiler: &Compiler,
    id: &EngineId,
    cubins: Vec<String>,
) -> Label {
    Label {
        case: case.id.clone(),
        variant,
        engine: id.clone(),
        target: compiler.gpu(),
        source: case.source_hash().to_string(),
        layout: case.layout_hash().to_string(),
        cubins,
    }
}

impl Counts {
    fn describe(&self, id: &EngineId, cases: u64, seconds: f64) -> String {
        let mut parts = vec![format!("{} compiled", self.compiled)];
        parts.extend(self.decided.iter().map(|(word, count)| format!("{count} {word}")));
        for (count, what) in [
            (self.duplicates, "the same machine code as another variant"),
            (self.not_applicable, "not applicable"),
            (
                self.unswept,
                "cases not swept, because they have no defined answer or no launch",
            ),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        if self.failed > 0 {
            parts.push(format!("{} failed", self.failed));
        }
        format!("{id}: {cases} cases, {}; {seconds:.1} s\n", parts.join(", "))
    }
}
