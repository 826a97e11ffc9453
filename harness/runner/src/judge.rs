//! One case, judged and made into events.

use std::time::{Duration, Instant};

use cerith_case::Case;
use cerith_engine::catch_panic;
use cerith_report::describe;
use cerith_report::event::{Event, Internal};
use cerith_tile::source::Sources;
use cerith_verdict::{Panel, Stopped, Trial, try_case};

use crate::stages::Blaming;

/// Runs a case, which took so long to read, and makes its events. With `blaming`, the stages of compilers that are to blame are
/// asked.
pub fn judge_case(
    case: &Case,
    reading: Duration,
    panel: &Panel,
    sources: &Sources,
    blaming: Option<&Blaming<'_>>,
) -> Result<Vec<Event>, Stopped> {
    let judged = catch_panic(|| {
        let trial = try_case(case, panel)?;
        let began = Instant::now();
        let mut verdict = describe::to_verdict(case, &trial, panel, sources);
        let exhibit = describe::of_trial(case, &trial, panel.reference().map(AsRef::as_ref), sources);
        verdict.exhibit = Some(Box::new(exhibit));
        if let Some(blaming) = blaming {
            blaming.add(case, &trial, &mut verdict)?;
        }
        verdict.judging.reading = describe::round_seconds(reading);
        verdict.judging.showing = describe::round_seconds(began.elapsed());
        let verdict = Event::Verdict(Box::new(verdict));
        Ok(collect_internal_errors(case, &trial)
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

/// What Cerith itself failed at.
pub fn collect_internal_errors<'a>(case: &'a Case, trial: &'a Trial) -> impl Iterator<Item = Internal> + 'a {
    trial.failed.iter().map(|failed| Internal {
        case: Some(case.id.clone()),
        engine: Some(failed.engine.to_string()),
        message: failed.message.clone(),
    })
}
