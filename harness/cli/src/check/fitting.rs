//! Which of the launches that a kernel's text allows it can be judged by: the plain launch is made with one reading after the other
//! until it gets through. Left out: what readings there are ([`cerith_case::Draft`]).
//!
//! A launch that gets through stores something. From one that does not, another is made that differs in one thing, and is kept if
//! the kernel gets further with it. So a kernel that wants several things gets one after the other.

use cerith_case::{Corpus, Draft, Reading, Survey};
use cerith_engine::{Complaint, Engine, Outcome, Reference, catch_panic};
use cerith_interp::Config;
use cerith_tile::rules::Rules;

use super::subject::Subject;

/// Steps of a launch that is only to see how far it gets.
const FUEL: u64 = 1 << 23;

/// The most launches that are made to find one that gets through.
const TRIALS_MOST: usize = 400;

/// Launches that are read at once.
const AT_ONCE: usize = 12;

/// How well a kernel takes what is passed to it, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// It does not compile.
    Rejected,
    /// It compiles, and does what is not defined or takes too long.
    Stopped,
    /// It runs to its end, and stores nothing.
    Idle,
    /// It runs to its end.
    Good,
}

/// How far a launch gets.
#[derive(Clone, Debug)]
struct Fit {
    stage: Stage,
    /// The last line of the kernel that what stopped it is about.
    line: u32,
    /// What stopped it.
    message: String,
}

impl Fit {
    const fn order(&self) -> (Stage, u32) {
        (self.stage, self.line)
    }
}

/// The launches of each kernel, with tensors and flags as its plain launch likes them.
pub fn find_likely_launches(subject: &Subject, drafts: &[Draft]) -> Vec<Survey> {
    let reference = build_reference();
    let mut surveys = Vec::new();
    for draft in drafts {
        let plain = draft.survey(&Reading::ALL[0]);
        if plain.attempts.is_empty() {
            surveys.push(plain);
            continue;
        }
        let mut best: Option<(Stage, Reading)> = None;
        for reading in Reading::ALL {
            let Some(fit) = fits(subject, draft, std::slice::from_ref(&reading), &reference).pop() else {
                continue;
            };
            if best.as_ref().is_none_or(|(known, _)| fit.stage > *known) {
                best = Some((fit.stage, reading));
            }
            if fit.stage == Stage::Good {
                break;
            }
        }
        surveys.push(best.map_or(plain, |(_, reading)| draft.survey(&reading)));
    }
    surveys
}

/// The launches of a kernel that is not judged by the likeliest, around a plain one that gets through; none if none was found.
pub fn find_other_launches(subject: &Subject, draft: &Draft) -> Option<Survey> {
    let reference = build_reference();
    let starts = Reading::ALL;
    let mut trials = starts.len();
    let mut best: Option<(Fit, Reading)> = None;
    for (fit, reading) in fits(subject, draft, &starts, &reference).into_iter().zip(starts) {
        if best.as_ref().is_none_or(|(known, _)| fit.order() > known.order()) {
            best = Some((fit, reading));
        }
    }
    let (mut fit, mut reading) = best?;
    while fit.stage != Stage::Good && trials < TRIALS_MOST {
        let changes = draft.list_changes(&reading, &fit.message);
        let mut further = None;
        for some in changes.chunks(AT_ONCE) {
            trials += some.len();
            let fits = fits(subject, draft, some, &reference);
            let better = fits
                .into_iter()
                .zip(some)
                .filter(|(one, _)| one.order() > fit.order());
            // The first of the best.
            further = better.reduce(|known, one| {
                if one.0.order() > known.0.order() {
                    one
                } else {
                    known
                }
            });
            if further.is_some() || trials >= TRIALS_MOST {
                break;
            }
        }
        let Some((one, changed)) = further else { break };
        (fit, reading) = (one, changed.clone());
    }
    (fit.stage == Stage::Good).then(|| draft.survey(&reading))
}

fn build_reference() -> Reference {
    Reference::new(Config {
        fuel: FUEL,
        program_fuel: FUEL,
        ..Config::default()
    })
}

/// How far a kernel gets with each of some readings.
fn fits(subject: &Subject, draft: &Draft, readings: &[Reading], reference: &Reference) -> Vec<Fit> {
    let attempts = readings.iter().enumerate().map(|(nth, reading)| {
        let text = draft
            .attempt(reading)
            .map_or_else(String::new, |attempt| attempt.text);
        (format!("reading-{nth:02}"), text)
    });
    let corpus = subject.build_corpus(attempts);
    let of = |nth: usize| {
        let id = format!("reading-{nth:02}");
        fit_of(&corpus, &id, subject, draft, reference)
    };
    (0..readings.len()).map(of).collect()
}

fn fit_of(corpus: &Corpus, id: &str, subject: &Subject, draft: &Draft, reference: &Reference) -> Fit {
    let nothing = Fit {
        stage: Stage::Rejected,
        line: 0,
        message: String::new(),
    };
    let entry = corpus.entries().find(|entry| entry.id == id);
    let Some(Ok(Ok(case))) = entry.map(|entry| catch_panic(|| entry.resolve())) else {
        return nothing;
    };
    let stopped = |stage, complaint: &Complaint| {
        let said = complaint
            .detail
            .clone()
            .unwrap_or_else(|| complaint.message.clone());
        Fit {
            stage,
            line: subject.last_line(draft.kernel(), &said),
            message: said,
        }
    };
    match catch_panic(|| reference.run(&case, Rules::default())) {
        Ok(Ok(run)) => match run.outcome {
            Outcome::Finished(finished) => {
                let stores = finished.tracked.is_none_or(|tracked| tracked.stored > 0);
                Fit {
                    stage: if stores { Stage::Good } else { Stage::Idle },
                    ..nothing
                }
            }
            Outcome::Rejected(complaint) | Outcome::Unsupported(complaint) => {
                stopped(Stage::Rejected, &complaint)
            }
            Outcome::Trapped(_, complaint)
            | Outcome::Exhausted(complaint)
            | Outcome::Crashed(complaint)
            | Outcome::Unavailable(complaint) => stopped(Stage::Stopped, &complaint),
        },
        _ => nothing,
    }
}
