//! Judges cases, and makes events of the verdicts.

use std::time::{Duration, Instant};

use cerith_case::{Case, Entry};
use cerith_engine::catch_panic;
use cerith_report::describe;
use cerith_report::event::{Event, Internal};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Sources;
use cerith_verdict::{Panel, Stopped, Trial, try_case};

use crate::oracle::{CaseOracle, without_oracle};
use crate::pipeline::in_order;
use crate::stages::Blaming;

/// The result of one case.
pub enum CaseResult {
    /// It was judged.
    Events(Vec<Event>),
    /// There is no such case: its file is wrong at this point of the matrix.
    Wrong(String, Vec<Diagnostic>),
}

/// Judges cases: every command that judges uses this.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    /// The engines.
    pub panel: &'a Panel,
    /// The texts of the corpus.
    pub sources: &'a Sources,
    /// Asks the stages of compilers that are to blame.
    pub blaming: Option<&'a Blaming<'a>>,
    /// Compares cases with their reference functions.
    pub oracle: Option<&'a CaseOracle>,
}

impl Judge<'_> {
    /// Reads a case and judges it; `None` if the user stopped the engines.
    pub fn judge_entry(&self, entry: &Entry) -> Option<CaseResult> {
        self.judge_entry_with(entry, |_, _| Some(()))
    }

    /// Reads a case and judges it, and lets `extend` add to its events; `None` if the user stopped either.
    pub fn judge_entry_with(
        &self,
        entry: &Entry,
        extend: impl FnOnce(&Case, &mut Vec<Event>) -> Option<()>,
    ) -> Option<CaseResult> {
        let began = Instant::now();
        let case = match catch_panic(|| entry.resolve()) {
            Ok(Ok(case)) => case,
            Ok(Err(problems)) => return Some(CaseResult::Wrong(entry.id.clone(), problems)),
            Err(message) => {
                return Some(CaseResult::Events(vec![Event::Internal(Internal {
                    case: Some(entry.id.clone()),
                    engine: None,
                    message,
                })]));
            }
        };
        let mut events = self.judge_case(&case, began.elapsed()).ok()?;
        extend(&case, &mut events)?;
        Some(CaseResult::Events(events))
    }

    /// Judges every entry with so many jobs, and hands the results over in order, until `is_over`.
    pub fn judge_entries(
        &self,
        entries: impl Iterator<Item = Entry> + Send,
        jobs: usize,
        is_over: impl Fn() -> bool + Sync,
        mut emit: impl FnMut(&Entry, CaseResult),
    ) {
        in_order(
            entries,
            jobs,
            |entry| {
                if is_over() {
                    return None;
                }
                let result = self.judge_entry(&entry)?;
                Some((entry, result))
            },
            |(entry, result)| emit(&entry, result),
        );
    }

    /// Judges a case, which took so long to read.
    fn judge_case(&self, case: &Case, reading: Duration) -> Result<Vec<Event>, Stopped> {
        let panel = self.panel;
        let judged = catch_panic(|| {
            let trial = try_case(case, panel)?;
            let began = Instant::now();
            let mut verdict = describe::to_verdict(case, &trial, panel, self.sources);
            let exhibit =
                describe::of_trial(case, &trial, panel.reference().map(AsRef::as_ref), self.sources);
            verdict.exhibit = Some(Box::new(exhibit));
            if let Some(blaming) = self.blaming {
                blaming.add(case, &trial, &mut verdict)?;
            }
            match self.oracle {
                Some(oracle) => oracle.add(case, &mut verdict),
                None => verdict.like = without_oracle(case).map(Box::new),
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
}

/// Failures of Cerith itself.
pub fn collect_internal_errors<'a>(case: &'a Case, trial: &'a Trial) -> impl Iterator<Item = Internal> + 'a {
    trial.failed.iter().map(|failed| Internal {
        case: Some(case.id.clone()),
        engine: Some(failed.engine.to_string()),
        message: failed.message.clone(),
    })
}
