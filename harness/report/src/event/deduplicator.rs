//! Texts and known bugs that a stream has once, with the first case that has them.

use std::collections::HashSet;

use super::Event;

/// Keeps in every event only the texts and known bugs that no event before it had.
#[derive(Clone, Debug, Default)]
pub struct Deduplicator {
    texts: HashSet<String>,
    known_bugs: HashSet<String>,
}

impl Deduplicator {
    /// Removes from an event the texts and known bugs that an earlier one had.
    pub fn remove_repeats(&mut self, event: &mut Event) {
        let (Event::Verdict(verdict) | Event::Sweep(verdict)) = event else {
            return;
        };
        let Some(exhibit) = &mut verdict.exhibit else {
            return;
        };
        exhibit.texts.retain(|text| self.texts.insert(text.file.clone()));
        exhibit
            .known
            .retain(|bug| self.known_bugs.insert(bug.name.clone()));
    }
}
