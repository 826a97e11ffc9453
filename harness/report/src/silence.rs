//! Engines that had to answer in a run and did not: the first cases in full, the rest in numbers. Verdicts list the engines
//! that had to answer.

use indexmap::IndexMap;

use crate::event::{NO_RECORDING, OTHER_CODE, STALE_RECORDING, Verdict};

/// For how many cases the message is printed.
const MAX_SHOWN: u64 = 5;

/// Who was silent, why, how often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence {
    cases: u64,
    engines: IndexMap<String, IndexMap<String, u64>>,
}

impl Silence {
    /// Counts a case; whether it is one of the first.
    pub(crate) fn count(&mut self, verdict: &Verdict) -> bool {
        if verdict.silent.is_empty() {
            return true;
        }
        self.cases += 1;
        for engine in &verdict.silent {
            let why = verdict
                .outcomes
                .get(engine)
                .map_or("", |outcome| outcome.error.as_str());
            let counts = self.engines.entry(engine.clone()).or_default();
            *counts.entry(why.to_owned()).or_default() += 1;
        }
        self.cases <= MAX_SHOWN
    }

    /// The lines at the end of a run: one for every engine, and the fix.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .engines
            .iter()
            .map(|(engine, counts)| {
                let why: Vec<String> = counts
                    .iter()
                    .map(|(why, count)| format!("{count} {why}"))
                    .collect();
                let total: u64 = counts.values().sum();
                let cases = if total == 1 { "case" } else { "cases" };
                format!("{engine} has no outcome for {total} {cases} ({})", why.join(", "))
            })
            .collect();
        if self.is_about_records() {
            lines.push(
                "`cerith bundle`, `cerith exec` on a machine with a GPU, and `cerith accept` make records"
                    .to_owned(),
            );
        }
        if !lines.is_empty() {
            lines.push("`--allow-unavailable` lets it pass; -v names every case".to_owned());
        }
        lines
    }

    fn is_about_records(&self) -> bool {
        let mut reasons = self.engines.values().flat_map(IndexMap::keys);
        reasons.any(|why| [STALE_RECORDING, NO_RECORDING, OTHER_CODE].contains(&why.as_str()))
    }
}
