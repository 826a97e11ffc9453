//! One case through all engines: outcomes, verdict, event. Left out: which cases and how many at once.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use conch_case::Case;
use conch_engine::{Complaint, Engine, EngineId, Failure, Outcome, Reference};
use conch_report::describe::{Judged, verdict as describe};
use conch_report::event::{Event, Internal};
use conch_tile::rules::{Rule, Rules};
use conch_tile::source::Sources;
use conch_verdict::{Assessment, Bench, BitForBit, Facts, Verdict, Witness, assess, judge};

/// The engines of a run, in the order of columns.
pub struct Panel {
    /// The reference, if it is asked.
    pub reference: Option<Arc<Reference>>,
    /// All others.
    pub others: Vec<Arc<dyn Engine>>,
    /// The order of columns.
    pub order: Vec<EngineId>,
}

impl Panel {
    /// Ends what runs.
    pub fn stop(&self) {
        for engine in &self.others {
            engine.stop();
        }
    }
}

/// What one engine did, under one set of rules.
#[derive(Clone, Debug)]
pub struct Record {
    /// Who.
    pub id: EngineId,
    /// Whose language it was.
    pub rules: Rules,
    /// What it did.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
}

/// Everything there is to say about one case.
pub struct Trial {
    /// The reference's outcomes, one per set of rules that makes a difference to the case.
    pub references: Vec<Record>,
    /// The other engines' outcomes.
    pub others: Vec<Record>,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict against what was expected.
    pub assessment: Assessment,
    /// Language rules that make a difference to the case.
    pub rules: Vec<Rule>,
    /// Engines that Conch failed to run.
    pub internal: Vec<Internal>,
}

/// A case was not judged because the run was stopped.
#[derive(Debug)]
pub struct Stopped;

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has panics remembered instead of printed, so that one case's panic is that case's event.
pub fn remember_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        let payload = info.payload();
        let what = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic".to_owned());
        PANIC.with_borrow_mut(|slot| *slot = Some(format!("{what}{place}")));
    }));
}

/// Runs something of ours that must not panic, and turns a panic into words.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        PANIC
            .with_borrow_mut(Option::take)
            .unwrap_or_else(|| "a panic without a message".to_owned())
    })
}

/// Runs a case and makes its events.
pub fn events(case: &Case, panel: &Panel, sources: &Sources) -> Result<Vec<Event>, Stopped> {
    let judged = guarded(|| {
        let trial = try_case(case, panel)?;
        let event = Event::Verdict(Box::new(event(case, &trial, panel, sources)));
        Ok(trial
            .internal
            .into_iter()
            .map(Event::Internal)
            .chain(std::iter::once(event))
            .collect())
    });
    judged.unwrap_or_else(|message| {
        Ok(vec![Event::Internal(Internal {
            case: Some(case.id.clone()),
            engine: None,
            message,
        })])
    })
}

/// The event of a judged case.
pub fn event(case: &Case, trial: &Trial, panel: &Panel, sources: &Sources) -> conch_report::event::Verdict {
    let mut columns: Vec<(Witness<'_>, f64)> = Vec::with_capacity(panel.order.len());
    for id in &panel.order {
        let records: Vec<&Record> = trial
            .references
            .iter()
            .chain(&trial.others)
            .filter(|record| record.id == *id)
            .collect();
        let seconds = records.iter().map(|record| record.seconds).sum();
        if let Some(first) = records.first() {
            columns.push((
                Witness {
                    id: &first.id,
                    outcome: &first.outcome,
                },
                seconds,
            ));
        }
    }
    let (witnesses, seconds): (Vec<Witness<'_>>, Vec<f64>) = columns.into_iter().unzip();
    describe(&Judged {
        case,
        verdict: &trial.verdict,
        assessment: &trial.assessment,
        witnesses: &witnesses,
        seconds: &seconds,
        rules: &trial.rules,
        sources,
    })
}

/// Runs a case through every engine and judges it.
pub fn try_case(case: &Case, panel: &Panel) -> Result<Trial, Stopped> {
    let mut internal = Vec::new();
    let mut others = Vec::with_capacity(panel.others.len());
    for engine in &panel.others {
        let rules = engine.id().version().map_or_else(Rules::default, Rules::of);
        others.push(record(engine.as_ref(), case, rules, &mut internal)?);
    }
    let (references, benches) = seat(panel.reference.as_deref(), case, &others, &mut internal)?;
    let acceptance = BitForBit;
    let seated: Vec<Bench<'_>> = benches
        .iter()
        .map(|seats| Bench {
            reference: seats
                .reference
                .and_then(|at| references.get(at))
                .map(Record::witness),
            others: seats
                .others
                .iter()
                .filter_map(|&at| others.get(at))
                .map(Record::witness)
                .collect(),
            acceptance: &acceptance,
        })
        .collect();
    let verdict = judge(
        &seated,
        Facts {
            has_launches: !case.is_import_only(),
        },
    );
    let witnesses: Vec<Witness<'_>> = references
        .iter()
        .take(1)
        .chain(&others)
        .map(Record::witness)
        .collect();
    let assessment = assess(&verdict, &witnesses, &case.expectations);
    let rules = changed(&references);
    Ok(Trial {
        references,
        others,
        verdict,
        assessment,
        rules,
        internal,
    })
}

impl Record {
    fn witness(&self) -> Witness<'_> {
        Witness {
            id: &self.id,
            outcome: &self.outcome,
        }
    }
}

/// Who sits on one bench, by position.
struct Seats {
    reference: Option<usize>,
    others: Vec<usize>,
}

/// Runs the reference under every set of rules that the other engines speak, and seats each engine beside the
/// reference of its rules. Rules that make no difference to the case share a bench.
fn seat(
    reference: Option<&Reference>,
    case: &Case,
    others: &[Record],
    internal: &mut Vec<Internal>,
) -> Result<(Vec<Record>, Vec<Seats>), Stopped> {
    let Some(reference) = reference else {
        return Ok((
            Vec::new(),
            vec![Seats {
                reference: None,
                others: (0..others.len()).collect(),
            }],
        ));
    };
    let mut references: Vec<Record> = Vec::new();
    let mut benches: Vec<Seats> = Vec::new();
    let mut known: Vec<(Rules, usize)> = Vec::new();
    let spoken = others.iter().map(|record| record.rules);
    for (at, rules) in spoken.enumerate().map(|(at, rules)| (Some(at), rules)).chain(
        // With nobody beside it, the reference speaks the newest language.
        others.is_empty().then(|| (None, Rules::default())),
    ) {
        let bench = known
            .iter()
            .find(|(other, _)| other.changed(rules).next().is_none())
            .map(|&(_, bench)| bench);
        let bench = match bench {
            Some(bench) => bench,
            None => {
                let fresh = record(reference, case, rules, internal)?;
                let same = references
                    .iter()
                    .position(|old| alike(&old.outcome, &fresh.outcome));
                let bench = same.unwrap_or_else(|| {
                    benches.push(Seats {
                        reference: Some(references.len()),
                        others: Vec::new(),
                    });
                    references.push(fresh);
                    references.len() - 1
                });
                known.push((rules, bench));
                bench
            }
        };
        if let (Some(seats), Some(at)) = (benches.get_mut(bench), at) {
            seats.others.push(at);
        }
    }
    Ok((references, benches))
}

/// Whether two outcomes of the reference mean the same for a trial.
fn alike(left: &Outcome, right: &Outcome) -> bool {
    match (left, right) {
        (Outcome::Finished(left), Outcome::Finished(right)) => left.memory == right.memory,
        (Outcome::Trapped(left, _), Outcome::Trapped(right, _)) => left == right,
        _ => left.kind() == right.kind(),
    }
}

/// The rules that are not the same on all benches.
fn changed(references: &[Record]) -> Vec<Rule> {
    let Some((first, rest)) = references.split_first() else {
        return Vec::new();
    };
    let mut rules: Vec<Rule> = rest
        .iter()
        .flat_map(|other| first.rules.changed(other.rules))
        .collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// Has an engine run a case. A failure or a panic of Conch is noted apart, and leaves an engine that says nothing.
fn record(
    engine: &dyn Engine,
    case: &Case,
    rules: Rules,
    internal: &mut Vec<Internal>,
) -> Result<Record, Stopped> {
    let id = engine.id().clone();
    let message = match guarded(|| engine.run(case, rules)) {
        Ok(Ok(run)) => {
            let seconds = run.total().as_secs_f64();
            return Ok(Record {
                id,
                rules,
                outcome: run.outcome,
                seconds,
            });
        }
        Ok(Err(Failure::Stopped)) => return Err(Stopped),
        Ok(Err(failure)) => format!("failed to {failure}"),
        Err(panic) => panic,
    };
    internal.push(Internal {
        case: Some(case.id.clone()),
        engine: Some(id.to_string()),
        message: message.clone(),
    });
    let outcome = Outcome::Unavailable(Box::new(Complaint::new("internal-error", message)));
    Ok(Record {
        id,
        rules,
        outcome,
        seconds: 0.0,
    })
}
