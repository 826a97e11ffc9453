//! `cerith bump`: the bugs that a version of Triton fixed and introduced. See `cerith run` for finding the engine that is wrong,
//! and `cerith_report::bump` for grouping and printing changes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cerith_engine::EngineId;
use cerith_report::bump::{
    Bump, Change, Changes, Measure, Noise, render_github, render_human, render_markdown,
};
use cerith_report::event::{Event, Problem, Severity, Verdict};
use cerith_report::{Joined, ReadError, read};
use cerith_tile::rules::Version;
use cerith_toolchain::{AdoptError, Home, HomeError, ToolchainId};
use serde::Serialize;

use crate::corpus::{CorpusError, Selected};
use crate::engines;
use crate::exit::Exit;
use crate::host::Host;
use crate::judged;
use crate::mistyped::describe_read_error;
use crate::options::{Selection, TritonPart};
use crate::output::{Blocked, Output};
use crate::pipeline;
use crate::side::Side;

/// How changes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BumpFormat {
    /// Text for people.
    Human,
    /// For a pull request.
    Markdown,
    /// Annotations of a GitHub workflow.
    Github,
    /// One group per line.
    Jsonl,
}

/// Options for comparing two versions.
#[derive(Clone, Debug)]
pub struct BumpOptions {
    /// The old Triton: a version, the Python of an environment that has it, or the name of a build that was adopted.
    pub old: Side,
    /// The new Triton, named as the old one.
    pub new: Side,
    /// The selected cases.
    pub selection: Selection,
    /// The part of Triton to compare.
    pub engines: Vec<TritonPart>,
    /// How much the figures of compiled kernels may change by chance.
    pub noise: Noise,
    /// A stream that `cerith run`, `cerith bump` or `cerith matrix` wrote, with one side or both.
    pub against: Vec<PathBuf>,
    /// Show only these changes: `broke,fixed`.
    pub only: Vec<Change>,
    /// Exit with 1 if a case has one of these changes.
    pub fail_on: Vec<Change>,
    /// Output format.
    pub format: BumpFormat,
    /// The folder of the stream and the reports of the run.
    pub out: Option<PathBuf>,
    /// The number of cases to run at once.
    pub jobs: Option<u16>,
    /// Use only installed toolchains.
    pub offline: bool,
    /// Name all cases of each group.
    pub verbose: bool,
}

/// The reason why two versions cannot be compared.
#[derive(Debug, thiserror::Error)]
enum BumpError {
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error("error: failed to {0}")]
    Home(#[from] HomeError),
    #[error(transparent)]
    Side(#[from] SideError),
    #[error("error: {0} is the same on both sides; name two versions")]
    Same(ToolchainId),
    #[error("error: {0}")]
    Blocked(#[from] Blocked),
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// The reason why the toolchain of a side cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// The toolchains cannot be listed.
    #[error("error: failed to {0}")]
    Home(#[from] HomeError),
    /// The Python has no usable Triton.
    #[error("error: failed to {0}")]
    Adopt(#[from] AdoptError),
    /// There is no such build.
    #[error(
        "error: `{0}` is neither a version, nor a Python, nor a build that was adopted\n  = help: write a version ({newest}), the \
         path of a Python, or register one: `cerith toolchain adopt --name {0} PYTHON`",
        newest = Version::NEWEST
    )]
    NoBuild(String),
}

/// The reason why the stream of a stored run cannot be used.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error(
        "error: {}",
        describe_read_error(
            path,
            error,
            "name a stream that `cerith run` wrote, such as reports/run/events.jsonl"
        )
    )]
    Open { path: PathBuf, error: io::Error },
    #[error("error: {}: failed to {error}", path.display())]
    Read { path: PathBuf, error: ReadError },
    #[error("{}", .0.rendered)]
    Fault(Box<Problem>),
    #[error(
        "error: {} has no verdicts about {}\n  = help: it has verdicts about {}; `cerith run --engine reference --engine {}` writes \
         such a stream",
        path.display(),
        sides.join(" or "),
        engines.join(", "),
        sides.first().map_or("", String::as_str)
    )]
    OtherEngines {
        path: PathBuf,
        sides: Vec<String>,
        engines: Vec<String>,
    },
}

/// Runs both sides, and returns the exit code.
pub fn bump(options: &BumpOptions, host: Host<'_>) -> Exit {
    match run_bump(options, host) {
        Ok(exit) => exit,
        Err(error) => {
            host.console.note(&error.to_string());
            if host.is_stopped() {
                Exit::Interrupted
            } else {
                Exit::Wrong
            }
        }
    }
}

fn run_bump(options: &BumpOptions, host: Host<'_>) -> Result<Exit, BumpError> {
    let began = Instant::now();
    let selected = Selected::open(options.selection.cases.as_deref(), &options.selection.filters)?;
    let home = Home::discover()?;
    let [old, new] = [&options.old, &options.new].map(|side| resolve_toolchain(side, &home, host));
    let (old, new) = (old?, new?);
    if old == new {
        return Err(BumpError::Same(old));
    }
    let pairs = pair_engines(&old, &new, &options.engines);
    let told = read_verdicts(&options.against, &pairs)?;
    let sides = pairs.iter().flat_map(|(old, new)| [old, new]);
    let here = sides.filter(|id| !told.engines.contains(&id.to_string()));
    let wanted: Vec<EngineId> = std::iter::once(EngineId::Reference)
        .chain(here.cloned())
        .collect();
    let mut output = Output::new_quiet(
        options.out.as_deref(),
        &selected.report_folder("bump"),
        selected.is_partial(),
        host.console,
    )?;
    let jobs = pipeline::count_jobs(options.jobs);
    let compiling = options.engines.iter().any(|&kind| kind != TritonPart::Interpret);
    if compiling {
        install_compilers(&wanted, options.offline, host);
    }
    let (judged, problems) = judged::judge_all(
        &selected,
        &wanted,
        options.offline,
        jobs,
        compiling,
        &mut output,
        host,
    );
    let interrupted = host.is_stopped();
    let written = output.finish(began, interrupted);
    let console = host.console;
    let mut worse = false;
    let mut compared = 0;
    let fail_on = if options.fail_on.is_empty() {
        &[Change::Broke, Change::NewlyRejected][..]
    } else {
        &options.fail_on
    };
    for (old, new) in &pairs {
        let mut bump = Bump::new(old.to_string(), new.to_string())
            .with_corpus(selected.named_folder())
            .with_noise(options.noise)
            .with_other_run(&told.verdicts);
        for one in &judged {
            bump.add_verdict(&one.verdict, Arc::clone(&one.uses));
        }
        let changes = bump.finish();
        worse |= fail_on.iter().any(|&change| changes.count(change) > 0);
        compared += changes.cases - changes.count(Change::NotCompared);
        let text = match options.format {
            BumpFormat::Github => {
                console.print_commands(&render_github(&changes, &options.only));
                continue;
            }
            BumpFormat::Human => render_human(&changes, &options.only, console.palette(), options.verbose),
            BumpFormat::Markdown => render_markdown(&changes, &options.only),
            BumpFormat::Jsonl => render_jsonl(&changes, &options.only),
        };
        console.print(&text);
    }
    Ok(match () {
        () if interrupted => Exit::Interrupted,
        () if problems > 0 || written == Exit::Wrong => Exit::Wrong,
        () if worse => Exit::Unexpected,
        () if compared == 0 => Exit::Nothing,
        () => Exit::AsExpected,
    })
}

/// Installs the toolchains of compilers. Records need none, so a toolchain that cannot be installed is a warning and no error.
fn install_compilers(wanted: &[EngineId], offline: bool, host: Host<'_>) {
    for id in wanted {
        let EngineId::Cuda { toolchain, .. } = id else {
            continue;
        };
        if let Err(why) = engines::find_or_add_compiler(toolchain, offline, host) {
            host.console.note(&format!(
                "warning: {id} cannot compile, so launches, sizes and times are not compared: {why}"
            ));
        }
    }
}

/// The toolchain of a side: a version, a build that was adopted, or a Python that is adopted now.
pub fn resolve_toolchain(side: &Side, home: &Home, host: Host<'_>) -> Result<ToolchainId, SideError> {
    match side {
        Side::Toolchain(id) => Ok(id.clone()),
        Side::Python(python) => {
            let adopted = engines::adopt(home, python.as_os_str(), None, host)?;
            host.console
                .note(&format!("{} is {}", python.display(), adopted.id));
            Ok(adopted.id)
        }
        Side::Build(name) => {
            let all = home.list()?;
            let mut named = all.into_iter().filter(|one| one.id.build() == Some(name));
            named
                .next()
                .map(|one| one.id)
                .ok_or_else(|| SideError::NoBuild(name.clone()))
        }
    }
}

/// The engines that are compared.
fn pair_engines(old: &ToolchainId, new: &ToolchainId, kinds: &[TritonPart]) -> Vec<(EngineId, EngineId)> {
    let kinds = if kinds.is_empty() {
        &[TritonPart::Interpret]
    } else {
        kinds
    };
    kinds
        .iter()
        .map(|kind| (kind.to_engine_id(old), kind.to_engine_id(new)))
        .collect()
}

/// The verdicts of stored runs, and the engines that they asked.
#[derive(Default)]
struct StoredVerdicts {
    verdicts: Vec<Verdict>,
    engines: BTreeSet<String>,
}

/// The verdicts of stored runs. Each run must have at least one of the wanted engines.
fn read_verdicts(paths: &[PathBuf], pairs: &[(EngineId, EngineId)]) -> Result<StoredVerdicts, StreamError> {
    let sides: BTreeSet<String> = pairs
        .iter()
        .flat_map(|(old, new)| [old.to_string(), new.to_string()])
        .collect();
    let mut all = StoredVerdicts::default();
    for path in paths {
        let (verdicts, asked) = read_run(path)?;
        if !asked.iter().any(|id| sides.contains(id)) {
            return Err(StreamError::OtherEngines {
                path: path.clone(),
                sides: sides.into_iter().collect(),
                engines: asked,
            });
        }
        all.verdicts.extend(verdicts);
        all.engines.extend(asked);
    }
    Ok(all)
}

/// The verdicts of a stored run, and its engines.
fn read_run(path: &Path) -> Result<(Vec<Verdict>, Vec<String>), StreamError> {
    let file = cerith_files::open(path).map_err(|error| StreamError::Open {
        path: path.to_owned(),
        error,
    })?;
    let mut joined = Joined::default();
    joined.begin(path.display().to_string());
    let (mut verdicts, mut asked) = (Vec::new(), Vec::new());
    let mut keep = |event| match event {
        Event::Verdict(verdict) => verdicts.push(*verdict),
        Event::Start(start) => asked.extend(start.engines),
        _ => {}
    };
    let end = read(BufReader::new(file), |event| {
        joined.add_event(event).into_iter().for_each(&mut keep);
    })
    .map_err(|error| StreamError::Read {
        path: path.to_owned(),
        error,
    })?;
    joined.end(&end);
    let ended = joined.finish();
    match ended
        .faults
        .into_iter()
        .find(|fault| fault.severity == Severity::Error)
    {
        Some(fault) => Err(StreamError::Fault(Box::new(fault))),
        None => Ok((verdicts, asked)),
    }
}

/// The first line of `--format jsonl`: everything except the groups, which have a line each.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'c> {
    /// The changes in numbers.
    Changes {
        old: &'c str,
        new: &'c str,
        cases: u64,
        counts: &'c BTreeMap<Change, u64>,
        alone: &'c [Vec<String>; 2],
        silent: &'c BTreeMap<String, u64>,
        measures: &'c [Measure],
        noise: Noise,
    },
    /// One group.
    Group(&'c cerith_report::bump::Group),
}

fn render_jsonl(changes: &Changes, only: &[Change]) -> String {
    let head = Line::Changes {
        old: &changes.old,
        new: &changes.new,
        cases: changes.cases,
        counts: &changes.counts,
        alone: &changes.alone,
        silent: &changes.silent,
        measures: &changes.measures,
        noise: changes.noise,
    };
    let groups = changes
        .groups
        .iter()
        .filter(|group| only.is_empty() || only.contains(&group.change))
        .map(Line::Group);
    let mut text = String::new();
    for line in std::iter::once(head).chain(groups) {
        text.push_str(&serde_json::to_string(&line).unwrap_or_default());
        text.push('\n');
    }
    text
}
