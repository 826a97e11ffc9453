//! What names mean where: a module's names, a function's, those of the blocks in it. Left out: what is declared.

use rustc_hash::FxHashMap;

use crate::syntax::VariableId;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Entry {
    Register(u32),
    Predicate(u32),
    /// `%r<8>`: a run of registers, the name without its number.
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
    /// The runs of registers. One may be called as a single register is: `.reg .b32 sign, sign<2>`.
    runs: FxHashMap<&'t str, Entry>,
    labels: FxHashMap<&'t str, u32>,
}

/// All scopes of a function, open or not: a label may be used before it stands there. The first is the module's.
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

    /// A scope inside of the current one.
    pub(super) fn open(&mut self) {
        self.all.push(Scope {
            parent: self.current,
            ..Scope::default()
        });
        self.current = self.all.len() - 1;
    }

    /// Back to the scope around; whether there is one besides the module's.
    pub(super) fn close(&mut self) -> bool {
        self.current = self.all.get(self.current).map_or(0, |scope| scope.parent);
        self.current != 0
    }

    /// Forgets all but the module's.
    pub(super) fn close_all(&mut self) {
        self.all.truncate(1);
        self.current = 0;
    }

    /// The number of the current scope.
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

    /// Notes a label; whether it is new.
    pub(super) fn label(&mut self, name: &'t str, at: u32) -> bool {
        self.all
            .get_mut(self.current)
            .is_some_and(|scope| scope.labels.insert(name, at).is_none())
    }

    /// Where a label stands that is used in a scope.
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

    /// What a name means here.
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
