//! Measures the checks of shared memory in `cerith-ptx`: `barriers [VERSION [KERNELS]] > reports/barriers.md`.
//!
//! Takes kernels of the corpus that Triton compiles for `sm_80` with barriers, of each area in turn, each of another case file. Each
//! `bar.sync` and each `cp.async.wait_group` is removed from the PTX in turn, and each wait is also made to wait for one group less.
//! The page says how many of these changes `ptx@V` reports.
//!
//! A [`trace`] decides whether there is a race: the whole kernel prints every access, which shows the accesses that no barrier
//! separates. A changed kernel without a report also runs with its warps in the opposite order.
//!
//! Skipped: kernels that print, that call functions with shared memory, or whose trace is too long. No GPU is used.

mod edit;
mod page;
mod step;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use cerith_case::{Case, Corpus, Entry};
use cerith_engine::compile::{Compiler, Compiling};
use cerith_engine::{Finished, Outcome, Ptx};
use cerith_toolchain::compiled::{Compiled, Kernel, Target};
use cerith_toolchain::{Cache, Compilers, Home, Limits};

use edit::{Edit, Text};
use trace::{Meeting, MeetingKind, Passed, Trace};

/// Areas of the corpus whose kernels have to do with shared memory.
const AREAS: [&str; 13] = [
    "dot",
    "reduction",
    "scan",
    "sort",
    "atomic",
    "control_flow",
    "contraction",
    "pairs",
    "shape",
    "given",
    "block_pointer",
    "order",
    "alias",
];

/// The kinds that the checks of `cerith-ptx` report.
const REPORTED_KINDS: [&str; 4] = [
    "shared-race",
    "global-race",
    "copy-in-flight",
    "uninitialised-register",
];

/// The maximum number of cases of a file.
const OF_A_FILE: usize = 3;

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// The outcome has this kind.
    Told(String),
    /// No report, and the bytes changed.
    Differs,
    /// No report, and the bytes changed with the last warp first.
    DiffersReversed,
    /// No report, and the bytes are the same.
    Same,
    /// No report, and the outcome of the other order has this kind.
    Alone(String),
}

/// The race that a change creates, according to the trace; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Race {
    /// Two warps access a byte of shared memory without a barrier.
    Shared,
    /// Two warps access a byte of the device's memory without a barrier.
    Global,
    /// Only lanes of one warp access a byte without a barrier.
    Lanes,
    /// None.
    No,
}

/// A change, and its result.
pub struct EditReport {
    pub edit: Edit,
    pub result: CheckResult,
    pub race: Race,
    /// Two lines with unordered accesses to one byte.
    pub example: Option<Meeting>,
    pub passed: Passed,
}

/// A kernel with all its changes.
pub struct KernelEdits {
    pub case: String,
    pub name: String,
    pub ptx: String,
    pub warps: u32,
    pub steps: usize,
    /// The unordered accesses to shared memory in the unchanged kernel.
    pub meetings: Vec<Meeting>,
    pub edits: Vec<EditReport>,
}

/// A compilation where one kernel has another text.
fn replace_ptx(compiled: &Compiled, kernel: usize, ptx: String) -> Compiled {
    let mut compiled = compiled.clone();
    if let Some(old) = compiled.kernels.get_mut(kernel) {
        *old = Arc::new(Kernel {
            ptx,
            ..Kernel::clone(old)
        });
    }
    compiled
}

/// Runs a case, and returns its result if it finishes.
fn execute_case(case: &Case, compiled: Compiled) -> Result<Box<Finished>, String> {
    match Ptx::execute(case, compiled) {
        Ok(Outcome::Finished(finished)) => Ok(finished),
        Ok(other) => Err(other
            .complaint()
            .map_or(String::new(), |complaint| complaint.kind.clone())),
        Err(failure) => Err(failure.to_string()),
    }
}

fn bytes(finished: &Finished) -> &[u8] {
    finished.memory.arena().0
}

/// Looks into one kernel of a case; why not, if it is not one to take.
fn look(case: &Case, compiled: &Compiled, number: usize, whole: &Finished) -> Result<KernelEdits, String> {
    let kernel = compiled.kernels.get(number).ok_or("no kernel")?;
    let name = &kernel.metadata.name;
    let text = Text::new(&kernel.ptx, name).ok_or("not only the kernel has shared memory")?;
    let traced = text.traced().ok_or("a line that is not understood")?;
    let traced = execute_case(case, replace_ptx(compiled, number, traced))?;
    if bytes(&traced) != bytes(whole) {
        return Err("the traced kernel leaves something else".to_owned());
    }
    let trace = Trace::read(&text, &traced.printed).ok_or("too many steps")?;
    let before = trace.find_meetings(None);
    let tried = text.edits().into_iter().map(|edit| {
        let after = trace.find_meetings(Some(edit));
        let new: Vec<Meeting> = after.difference(&before).copied().collect();
        let (race, example) = find_worst(&new);
        let seen = match execute_case(case, replace_ptx(compiled, number, text.apply_edit(edit))) {
            Err(kind) => CheckResult::Told(kind),
            Ok(left) if bytes(&left) != bytes(whole) => CheckResult::Differs,
            Ok(_) => {
                let reversed = text.reverse_warps(edit, kernel.metadata.num_warps);
                match execute_case(case, replace_ptx(compiled, number, reversed)) {
                    Ok(left) if bytes(&left) == bytes(whole) => CheckResult::Same,
                    Ok(_) => CheckResult::DiffersReversed,
                    Err(kind) => CheckResult::Alone(kind),
                }
            }
        };
        EditReport {
            edit,
            result: seen,
            race,
            example,
            passed: trace.count_passes(edit),
        }
    });
    Ok(KernelEdits {
        case: case.id.clone(),
        name: name.clone(),
        ptx: kernel.ptx.clone(),
        warps: kernel.metadata.num_warps,
        steps: trace.len(),
        edits: tried.collect(),
        meetings: before.into_iter().filter(|meeting| meeting.shared).collect(),
    })
}

/// The worst of the races.
fn find_worst(new: &[Meeting]) -> (Race, Option<Meeting>) {
    let race = |meeting: &Meeting| match (meeting.kind, meeting.shared) {
        (MeetingKind::Lanes, _) => Race::Lanes,
        (_, true) => Race::Shared,
        (_, false) => Race::Global,
    };
    let worst = new.iter().min_by_key(|meeting| race(meeting)).copied();
    (worst.as_ref().map_or(Race::No, race), worst)
}

/// The cases of each file, the files of each area.
fn group_by_area(corpus: &Corpus) -> BTreeMap<usize, Vec<Vec<Entry>>> {
    let mut files: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in corpus.entries() {
        let file = entry.id.split(':').next().unwrap_or_default().to_owned();
        files.entry(file).or_default().push(entry);
    }
    let mut areas: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for (file, entries) in files {
        let area = file.split('/').next().unwrap_or_default();
        if let Some(place) = AREAS.iter().position(|of| *of == area) {
            areas.entry(place).or_default().push(entries);
        }
    }
    areas
}

/// Picks a kernel with barriers from a file's first cases, and skips those of `taken`. Prefers one that waits for copies. Adds cases
/// with a report for the unchanged kernel to `told`.
fn pick(
    entries: &[Entry],
    compiler: &Compiler,
    taken: &mut BTreeSet<String>,
    told: &mut Vec<String>,
) -> Option<KernelEdits> {
    let mut found = Vec::new();
    for entry in entries.iter().take(OF_A_FILE) {
        let Ok(case) = entry.resolve() else { continue };
        let Ok(Compiling::Ready(job)) = compiler.compile_job(&case) else {
            continue;
        };
        for (nth, kernel) in job.compiled.kernels.iter().enumerate() {
            if kernel.ptx.contains("bar.sync") && !taken.contains(&kernel.ptx) {
                let waits = kernel.ptx.contains("cp.async.wait_group");
                found.push((!waits, case.clone(), job.compiled.clone(), nth));
            }
        }
    }
    found.sort_by_key(|(is_later, ..)| *is_later);
    found.into_iter().find_map(|(_, case, compiled, nth)| {
        let why = match execute_case(&case, compiled.clone()) {
            Err(kind) => {
                if REPORTED_KINDS.contains(&kind.as_str()) {
                    told.push(format!("`{}`: {kind}", case.id));
                }
                kind
            }
            Ok(whole) if !whole.printed.is_empty() => "it prints".to_owned(),
            Ok(whole) => match look(&case, &compiled, nth, &whole) {
                Ok(looked) => {
                    taken.insert(looked.ptx.clone());
                    return Some(looked);
                }
                Err(why) => why,
            },
        };
        eprintln!("{}: not taken: {why}", case.id);
        None
    })
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let version = words.next().unwrap_or_else(|| "3.9.0".to_owned());
    let most: usize = words.next().map_or(Ok(50), |word| word.parse())?;
    let home = Home::discover()?;
    let id = version.parse()?;
    let toolchain = home
        .resolve_compiler(&id)
        .ok_or("the toolchain is not installed")?;
    let root = Path::new("cases");
    let compilers = Compilers::new(toolchain, 1, Cache::open(&home).ok())?.with_readable(root);
    let compiler = Compiler::new(compilers, Target::HOPPER, Limits::COMPILER).with_target(Ptx::TARGET);
    let corpus = Corpus::read(root)?;
    let mut areas: Vec<_> = group_by_area(&corpus).into_values().map(Vec::into_iter).collect();
    let (mut looked, mut taken, mut told) = (Vec::new(), BTreeSet::new(), Vec::new());
    while looked.len() < most && !areas.is_empty() {
        areas.retain_mut(|files| {
            if looked.len() >= most {
                return false;
            }
            let found = files.find_map(|entries| pick(&entries, &compiler, &mut taken, &mut told));
            let Some(found) = found else { return false };
            let noticed = found
                .edits
                .iter()
                .filter(|tried| matches!(tried.result, CheckResult::Told(_)));
            eprintln!(
                "{} {}: {} steps, {} of {} told",
                looked.len() + 1,
                found.case,
                found.steps,
                noticed.count(),
                found.edits.len()
            );
            looked.push(found);
            true
        });
    }
    print!("{}", page::render_page(&version, &looked, &told));
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("barriers: {error}");
            ExitCode::FAILURE
        }
    }
}
