//! Plain Python around kernels: modules, factories, heuristics and configurations.
//!
//! This code binds the names that a kernel sees of its file. It runs in full if it is simple (constants, arithmetic,
//! conditions, calls). An unknown value becomes [`Plain::Unknown`] with the reason, poisons the values computed from it,
//! and is an error only if a kernel uses it. Nothing is guessed, and loops and calls cost the same fuel as a kernel's.
//!
//! [`Modules`] holds the names, and a [`Runner`] runs code. The tracer runs the kernels themselves.

pub(crate) mod annotation;
mod call;
mod class;
mod decorator;
mod evaluation;
pub(crate) mod exchange;
mod expression;
pub(crate) mod limits;
mod module;
pub(crate) mod names;
mod operator;
mod statement;
mod strings;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use cerith_tile::source::SourceId;

use crate::text::with_stack;
use cerith_language::lowering::Lowering;
use cerith_language::request::Request;
use cerith_language::stop::Traced;
use cerith_language::value::plain::{Plain, ScopeId};

/// A name table: of a module, or of one call of a function that defines kernels.
#[derive(Debug)]
pub(crate) struct Scope {
    /// The names and their values.
    pub names: HashMap<Rc<str>, Plain>,
    /// Names that were annotated `: tl.constexpr`.
    pub annotated: HashSet<Rc<str>>,
    /// The scope around.
    pub parent: Option<ScopeId>,
    /// The file.
    pub source: SourceId,
    /// The module's name.
    pub module: Rc<str>,
}

/// The modules of a trace, and the names that their code binds.
#[derive(Debug)]
pub(crate) struct Modules<'a> {
    request: &'a Request,
    scopes: Vec<Scope>,
    by_name: HashMap<Rc<str>, ScopeId>,
    /// The number of nested calls of plain functions.
    depth: usize,
}

/// Runs plain Python.
pub(crate) struct Runner<'m, 'a> {
    /// The diagnostics and limits.
    pub lo: &'m mut Lowering,
    /// The names of all modules.
    pub modules: &'m mut Modules<'a>,
}

impl<'a> Modules<'a> {
    /// None yet. The request has the files that may be imported.
    pub fn new(request: &'a Request) -> Self {
        Self {
            request,
            scopes: Vec::new(),
            by_name: HashMap::new(),
            depth: 0,
        }
    }

    /// A table of names.
    pub fn scope(&self, scope: ScopeId) -> Option<&Scope> {
        self.scopes.get(scope)
    }

    /// Makes a table without names; gives its place.
    pub fn new_scope(&mut self, parent: Option<ScopeId>, source: SourceId, module: &str) -> ScopeId {
        self.scopes.push(Scope {
            names: HashMap::new(),
            annotated: HashSet::new(),
            parent,
            source,
            module: module.into(),
        });
        self.scopes.len() - 1
    }

    /// Makes a table without names inside of another, as a call of a function does; gives its place.
    pub fn new_inner_scope(&mut self, outer: ScopeId) -> ScopeId {
        let module = match self.scopes.get(outer) {
            Some(outer) => Rc::clone(&outer.module),
            None => "".into(),
        };
        self.new_scope(Some(outer), self.source_of(outer), &module)
    }

    /// Binds a name.
    pub fn bind(&mut self, scope: ScopeId, name: &str, value: Plain) {
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.names.insert(name.into(), value);
        }
    }

    /// The file that a table of names is of.
    pub fn source_of(&self, scope: ScopeId) -> SourceId {
        self.scopes
            .get(scope)
            .map_or_else(SourceId::default, |scope| scope.source)
    }

    /// A name as code in `scope` sees it, Python's built-in names left out. Also says whether the name was annotated
    /// as `constexpr` where it is bound.
    pub fn find_global(&self, mut scope: ScopeId, name: &str) -> Option<(&Plain, bool)> {
        loop {
            let here = self.scopes.get(scope)?;
            if let Some(value) = here.names.get(name) {
                return Some((value, here.annotated.contains(name)));
            }
            scope = here.parent?;
        }
    }
}

impl Runner<'_, '_> {
    /// Runs `work` one level deeper, with stack enough.
    fn run_nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Traced<T>) -> Traced<T> {
        self.lo.descend()?;
        let result = with_stack(|| work(self));
        self.lo.ascend();
        result
    }
}
