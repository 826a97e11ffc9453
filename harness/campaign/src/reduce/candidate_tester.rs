//! Tests whether a smaller candidate still differs: first with the reference, which is quick, then with the engines, for as many
//! candidates at once as there are jobs. See `cerith_gen::reduce` for generating candidates.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cerith_case::Case;
use cerith_engine::{Engine as _, EngineId, Outcome, Reference, catch_panic};
use cerith_gen::reduce::{Candidate, Ended, Oracle};
use cerith_interp::Config;
use cerith_tile::rules::Rules;
use cerith_verdict::{Panel, Trial, try_case};

use super::Bounds;
use super::invariant::{Invariant, normalise_complaint};
use cerith_runner::host::Host;

/// Bytes of stack of a job: kernels are nested text, and walking them is recursive.
const STACK: usize = 64 << 20;

/// The fuel for a candidate: the first of these that is enough for the case itself.
const FUEL: [u64; 3] = [1 << 22, 1 << 26, 1 << 30];

/// The number of candidates that run at once, if an engine takes a batch.
const BATCH_SIZE: usize = 16;

/// The work that was done, and its time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Candidates that the reference ran.
    pub filtered: u64,
    /// How many candidates went on to the engines.
    pub passed: u64,
    /// Time of the reference, over all jobs.
    pub filter: Duration,
    /// Time of the engines, over all jobs.
    pub engines: Duration,
}

/// The outcome that the reference must have for a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    /// It finishes with a result.
    Finished,
    /// It rejects the case with this message.
    Rejected(String),
}

/// Runs the reference and the engines on candidates.
pub struct CandidateTester<'a> {
    panel: &'a Panel,
    invariants: &'a [Invariant],
    /// A function that candidates call.
    keeps: Option<&'a str>,
    filter: Option<(Reference, Vec<(Rules, Expected)>)>,
    jobs: usize,
    host: Host<'a>,
    end: Instant,
    filtered: AtomicU64,
    passed: AtomicU64,
    filter_time: AtomicU64,
    engine_time: AtomicU64,
}

impl<'a> CandidateTester<'a> {
    /// Asks whether these invariants stay in candidates of a case. `trial` is that of the case itself.
    pub fn new(
        case: &Case,
        trial: &Trial,
        panel: &'a Panel,
        invariants: &'a [Invariant],
        bounds: Bounds<'a>,
    ) -> Self {
        let batches = panel
            .order()
            .iter()
            .any(|id| matches!(id, EngineId::Cuda { .. } | EngineId::Jit { .. }));
        Self {
            panel,
            invariants,
            keeps: bounds.keeps,
            filter: build_filter(case, trial, invariants),
            jobs: bounds.jobs.max(if batches { BATCH_SIZE } else { 1 }),
            host: bounds.host,
            end: Instant::now() + bounds.time,
            filtered: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            filter_time: AtomicU64::new(0),
            engine_time: AtomicU64::new(0),
        }
    }

    /// The work that was done so far.
    pub fn tally(&self) -> Tally {
        let time = |of: &AtomicU64| Duration::from_nanos(of.load(Ordering::Relaxed));
        Tally {
            filtered: self.filtered.load(Ordering::Relaxed),
            passed: self.passed.load(Ordering::Relaxed),
            filter: time(&self.filter_time),
            engines: time(&self.engine_time),
        }
    }

    fn is_over(&self) -> bool {
        self.host.is_stopped() || Instant::now() >= self.end
    }

    /// Whether a candidate still differs as the case did; an error where the engines were stopped.
    pub fn holds(&self, candidate: &Candidate) -> Result<bool, Ended> {
        let began = Instant::now();
        let keeps = || self.keeps.is_none_or(|name| candidate.has_call(name));
        let case = catch_panic(|| {
            candidate
                .case()
                .filter(|case| keeps() && self.passes_filter(case))
        });
        let spent = began.elapsed().as_nanos() as u64;
        self.filter_time.fetch_add(spent, Ordering::Relaxed);
        self.filtered.fetch_add(1, Ordering::Relaxed);
        // A case that makes Cerith itself fail is not a smaller case.
        let Ok(Some(case)) = case else {
            return Ok(false);
        };
        self.passed.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        let held = self
            .differs(&case)
            .map(|held| held && can_read_back(candidate, &case));
        let spent = began.elapsed().as_nanos() as u64;
        self.engine_time.fetch_add(spent, Ordering::Relaxed);
        held
    }

    /// Whether a case differs as the first one did.
    pub fn differs(&self, case: &Case) -> Result<bool, Ended> {
        match catch_panic(|| try_case(case, self.panel)) {
            Ok(Ok(trial)) => Ok(self.invariants.iter().all(|invariant| invariant.is_in(&trial))),
            Ok(Err(_)) => Err(Ended),
            Err(_) => Ok(false),
        }
    }

    /// Whether the reference says what it must.
    fn passes_filter(&self, case: &Case) -> bool {
        let Some((reference, expected)) = &self.filter else {
            return true;
        };
        expected
            .iter()
            .all(|(rules, expected)| run_reference(reference, case, *rules).as_ref() == Some(expected))
    }
}

/// Whether the files of a candidate describe the case that was tested.
fn can_read_back(candidate: &Candidate, case: &Case) -> bool {
    let read = catch_panic(|| candidate.read_back());
    matches!(read, Ok(Ok(read)) if read.content_hash() == case.content_hash())
}

/// The reference that filters candidates, with the outcome that it must have by each of the rules. `None` if it has no outcome
/// for the case itself.
fn build_filter(
    case: &Case,
    trial: &Trial,
    invariants: &[Invariant],
) -> Option<(Reference, Vec<(Rules, Expected)>)> {
    if trial.references.is_empty() {
        return None;
    }
    let mut rules: Vec<Rules> = Vec::new();
    for record in &trial.other_records {
        if invariants.iter().any(|invariant| invariant.engine == record.id) && !rules.contains(&record.rules)
        {
            rules.push(record.rules);
        }
    }
    FUEL.iter().find_map(|&fuel| {
        let reference = Reference::new(Config {
            fuel,
            program_fuel: fuel,
            ..Config::default()
        });
        let expected = rules
            .iter()
            .map(|&rules| Some((rules, run_reference(&reference, case, rules)?)))
            .collect::<Option<Vec<_>>>()?;
        Some((reference, expected))
    })
}

/// Runs the reference on a case; `None` if the outcome is not a defined result.
fn run_reference(reference: &Reference, case: &Case, rules: Rules) -> Option<Expected> {
    match reference.run(case, rules).ok()?.outcome {
        Outcome::Finished(finished) if finished.tracked.is_none_or(|tracked| !tracked.vacuous) => {
            Some(Expected::Finished)
        }
        Outcome::Rejected(complaint) => Some(Expected::Rejected(format!(
            "{} {}",
            complaint.kind,
            normalise_complaint(&complaint)
        ))),
        _ => None,
    }
}

impl Oracle for CandidateTester<'_> {
    fn find_first(&mut self, candidates: &[Candidate]) -> Result<Option<usize>, Ended> {
        let next = AtomicUsize::new(0);
        let found = AtomicUsize::new(usize::MAX);
        let ended = AtomicBool::new(false);
        let failed = Mutex::new(None);
        let this = &*self;
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(candidate) = candidates.get(at) else {
                    return;
                };
                if at > found.load(Ordering::Relaxed) || ended.load(Ordering::Relaxed) {
                    return;
                }
                if this.is_over() {
                    ended.store(true, Ordering::Relaxed);
                    return;
                }
                match catch_panic(|| this.holds(candidate)) {
                    Ok(Ok(true)) => {
                        found.fetch_min(at, Ordering::Relaxed);
                    }
                    Ok(Ok(false)) => {}
                    Ok(Err(Ended)) => ended.store(true, Ordering::Relaxed),
                    Err(panic) => {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..this.jobs.min(candidates.len()) {
                let job = thread::Builder::new().stack_size(STACK);
                if job.spawn_scoped(scope, work).is_err() {
                    // The system cannot start more threads: the existing jobs do the work.
                    break;
                }
            }
        });
        let found = found.into_inner();
        if found < candidates.len() {
            return Ok(Some(found));
        }
        if ended.into_inner() {
            return Err(Ended);
        }
        Ok(None)
    }
}
