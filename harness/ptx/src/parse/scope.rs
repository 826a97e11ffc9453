//! Scopes of names: the module's, a function's, and those of the blocks in it.

use rustc_hash::FxHashMap;

use crate::syntax::VariableId;

/// The entity that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Entry {
    Register(u32),
    Predicate(u32),
    /// `%r<8>`: a range of registers, by the name without its number.
    Registers {
        first: u32,
        count: u32,
    },
    Predicates {
        first: u32,
        count: u32,
    },
    Variable(VariableId),
}

#[derive(Debug, Default)]
struct Scope<'t> {
    parent: usize,
    names: FxHashMap<&'t str, Entry>,
    /// The ranges of registers. A range and a single register may have the same name: `.reg .b32 sign, sign<2>`.
    runs: FxHashMap<&'t str, Entry>,
    labels: FxHashMap<&'t str, u32>,
}

/// All scopes of a function, open or closed, because a label may be used before its definition. The first is the
/// module's.
#[derive(Debug)]
pub(super) struct Scopes<'t> {
    all: Vec<Scope<'t>>,
    current: usize,
}

impl<'t> Scopes<'t> {
    pub(super) fn new() -> Self {
        Self {
            all: vec![Scope::default()],
            current: 0,
        }
    }

    /// Opens a scope inside the current one.
    pub(super) fn open(&mut self) {
        self.all.push(Scope {
            parent: self.current,
            ..Scope::default()
        });
        self.current = self.all.len() - 1;
    }

    /// Returns to the enclosing scope. Returns false at the module's scope.
    pub(super) fn close(&mut self) -> bool {
        self.current = self.all.get(self.current).map_or(0, |scope| scope.parent);
        self.current != 0
    }

    /// Closes all scopes except the module's.
    pub(super) fn close_all(&mut self) {
        self.all.truncate(1);
        self.current = 0;
    }

    /// The index of the current scope.
    pub(super) const fn current(&self) -> usize {
        self.current
    }

    pub(super) fn declare(&mut self, name: &'t str, entry: Entry) {
        if let Some(scope) = self.all.get_mut(self.current) {
            let names = match entry {
                Entry::Registers { .. } | Entry::Predicates { .. } => &mut scope.runs,
                _ => &mut scope.names,
            };
            names.insert(name, entry);
        }
    }

    pub(super) fn declare_global(&mut self, name: &'t str, entry: Entry) {
        if let Some(scope) = self.all.first_mut() {
            scope.names.insert(name, entry);
        }
    }

    /// Defines a label. Returns whether it is new.
    pub(super) fn label(&mut self, name: &'t str, at: u32) -> bool {
        self.all
            .get_mut(self.current)
            .is_some_and(|scope| scope.labels.insert(name, at).is_none())
    }

    /// Finds a label from a scope outwards.
    pub(super) fn find_label(&self, mut scope: usize, name: &str) -> Option<u32> {
        loop {
            let here = self.all.get(scope)?;
            if let Some(&at) = here.labels.get(name) {
                return Some(at);
            }
            if scope == 0 {
                return None;
            }
            scope = here.parent;
        }
    }

    /// Resolves a name in the current scope.
    pub(super) fn find(&self, name: &str) -> Option<Entry> {
        let family = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let number: Option<u32> = name.get(family.len()..).and_then(|digits| digits.parse().ok());
        let mut at = self.current;
        loop {
            let scope = self.all.get(at)?;
            if let Some(&entry) = scope.names.get(name) {
                return Some(entry);
            }
            if let Some(number) = number {
                match scope.runs.get(family) {
                    Some(&Entry::Registers { first, count }) if number < count => {
                        return Some(Entry::Register(first + number));
                    }
                    Some(&Entry::Predicates { first, count }) if number < count => {
                        return Some(Entry::Predicate(first + number));
                    }
                    _ => {}
                }
            }
            if at == 0 {
                return None;
            }
            at = scope.parent;
        }
    }
}
