//! One case, judged and made into events.

use conch_case::Case;
use conch_engine::guarded;
use conch_report::describe::{self, Judged};
use conch_report::event::{self, Event, Internal};
use conch_tile::source::Sources;
use conch_verdict::{Panel, Record, Stopped, Trial, Witness, try_case};

/// Runs a case and makes its events.
pub fn events(case: &Case, panel: &Panel, sources: &Sources) -> Result<Vec<Event>, Stopped> {
    let judged = guarded(|| {
        let trial = try_case(case, panel)?;
        let verdict = Event::Verdict(Box::new(verdict(case, &trial, panel, sources)));
        Ok(internal(case, &trial)
            .map(Event::Internal)
            .chain(std::iter::once(verdict))
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

/// What Conch itself failed at.
pub fn internal<'a>(case: &'a Case, trial: &'a Trial) -> impl Iterator<Item = Internal> + 'a {
    trial.failed.iter().map(|failed| Internal {
        case: Some(case.id.clone()),
        engine: Some(failed.engine.to_string()),
        message: failed.message.clone(),
    })
}

/// The event of a judged case.
pub fn verdict(case: &Case, trial: &Trial, panel: &Panel, sources: &Sources) -> event::Verdict {
    let mut witnesses: Vec<Witness<'_>> = Vec::with_capacity(panel.order.len());
    let mut seconds = Vec::with_capacity(panel.order.len());
    for id in &panel.order {
        let records: Vec<&Record> = trial
            .references
            .iter()
            .chain(&trial.others)
            .filter(|record| record.id == *id)
            .collect();
        if let Some(first) = records.first() {
            witnesses.push(Witness {
                id: &first.id,
                outcome: &first.outcome,
            });
            seconds.push(records.iter().map(|record| record.seconds).sum());
        }
    }
    describe::verdict(&Judged {
        case,
        verdict: &trial.verdict,
        assessment: &trial.assessment,
        witnesses: &witnesses,
        seconds: &seconds,
        rules: &trial.rules,
        sources,
    })
}
