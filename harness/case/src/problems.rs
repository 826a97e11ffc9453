//! Problems of many cases, each reported once. See [`Entry::resolve`](crate::Entry::resolve) for finding them.

use std::collections::HashMap;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

/// Problems of many cases: equal problems at one location are kept once.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    entries: Vec<(Diagnostic, String, usize)>,
    places: HashMap<(&'static str, Option<Span>), usize>,
}

impl Problems {
    /// Adds the problems that [`Entry::resolve`](crate::Entry::resolve) returned for a case.
    pub fn add(&mut self, id: &str, problems: Vec<Diagnostic>) {
        for problem in problems {
            let at = *self
                .places
                .entry((problem.code, problem.span()))
                .or_insert(self.entries.len());
            if let Some((_, _, more)) = self.entries.get_mut(at) {
                *more += 1;
            } else {
                self.entries.push((problem, id.to_owned(), 0));
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The problems in the order in which they were found, each with the cases that have it.
    pub fn finish(self) -> Vec<Diagnostic> {
        self.entries
            .into_iter()
            .map(|(problem, id, more)| match more {
                0 => problem.note(format!("in case `{id}`")),
                1 => problem.note(format!("in case `{id}` and in one more")),
                _ => problem.note(format!("in case `{id}` and in {more} more")),
            })
            .collect()
    }
}
