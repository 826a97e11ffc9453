//! Engines whose own launches differ: in other schedules, or from one launch to the next.

use cerith_case::VerdictKind;
use cerith_tile::quirk::Quirks;

use crate::difference::Element;
use crate::trial::{Hearing, Pair};
use crate::verdict::{Difference, Standing};
use crate::witness::Witness;

impl Hearing<'_, '_> {
    /// Compares the launches of one engine.
    fn compare_launches(&self, witness: Witness<'_>) -> Pair {
        let reference = self
            .bench
            .reference
            .and_then(|reference| reference.outcome.finished());
        let known = reference
            .filter(|reference| reference.tracked.is_some())
            .map(|reference| &reference.memory);
        witness.outcome.finished().map_or(Pair::Same, |finished| {
            Pair::of_launches(finished, known, self.bench.tolerance)
        })
    }

    /// Notes the first element of each engine's result that depends on its schedule.
    pub(crate) fn note_schedules(&mut self) {
        for &witness in &self.bench.other_witnesses {
            let execution = witness
                .outcome
                .finished()
                .and_then(|finished| finished.execution.as_deref());
            let Some([first, other]) = execution.and_then(|execution| execution.schedules.as_ref()) else {
                continue;
            };
            let Pair::Different(_, Some(comparison)) = self.compare_launches(witness) else {
                continue;
            };
            let Some(element) = comparison.first.first() else {
                continue;
            };
            let [value, other_value] = &element.values;
            let note = format!(
                "{}: {} is {value} in {first}, and {other_value} in {other}",
                witness.id,
                describe_place(element)
            );
            if !self.verdict.notes.contains(&note) {
                self.verdict.notes.push(note);
            }
        }
    }

    /// Judges the only engine with an outcome by its own launches. `None` if they agree.
    pub(crate) fn judge_alone(&mut self, only: Witness<'_>) -> Option<VerdictKind> {
        let Pair::Different(kind, comparison) = self.compare_launches(only) else {
            return None;
        };
        self.verdict.differences.push(Difference {
            baseline: only.id.clone(),
            engine: only.id.clone(),
            kind,
            comparison,
            explained: Quirks::NONE,
            known_bug: None,
        });
        self.verdict.blame.push(only.id.clone());
        self.verdict.unconfirmed = true;
        self.set_standings(|id| {
            if id == only.id {
                Standing::Nondeterministic
            } else {
                Standing::Silent
            }
        });
        Some(VerdictKind::Nondeterministic)
    }
}

/// `out[1, 2]`, or a byte of a storage that no tensor shows.
fn describe_place(element: &Element) -> String {
    match &element.tensor {
        Some((name, index)) => {
            let index: Vec<String> = index.iter().map(ToString::to_string).collect();
            format!("`{name}[{}]`", index.join(", "))
        }
        None => format!("byte {} of storage `{}`", element.byte, element.storage),
    }
}
