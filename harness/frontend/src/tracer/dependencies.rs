//! Checks that a launch makes before compiling: the Triton names that a kernel mentions, also in code that is not taken.
//!
//! Triton hashes a kernel with all its dependencies, and walks its text for that. Until 3.4, it looks up every name of a
//! module on the way, so a name of a later version is an error anywhere in the text.

use std::collections::HashSet;
use std::rc::Rc;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::Tracer;
use crate::plain::limits;
use crate::plain::names::find_submodule;
use crate::text::span_of;
use cerith_language::builtin;
use cerith_language::gap::Gap;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::callable::UserFunction;
use cerith_language::value::plain::{Plain, ScopeId};

/// The names that a text mentions: paths into modules, called or not, with their locations.
#[derive(Default)]
struct Mentions<'a> {
    locals: HashSet<&'a str>,
    called: Vec<(Vec<&'a str>, TextRange)>,
    paths: Vec<(Vec<&'a str>, TextRange)>,
}

/// The names of `a.b.c`.
fn split_path(expression: &Expr) -> Option<Vec<&str>> {
    match expression {
        Expr::Name(name) => Some(vec![name.id.as_str()]),
        Expr::Attribute(node) => {
            let mut names = split_path(&node.value)?;
            names.push(node.attr.as_str());
            Some(names)
        }
        _ => None,
    }
}

impl<'a> Mentions<'a> {
    fn add_locals(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) => {
                self.locals.insert(name.id.as_str());
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|target| self.add_locals(target)),
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Mentions<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(node) => node.targets.iter().for_each(|target| self.add_locals(target)),
            Stmt::AnnAssign(node) => self.add_locals(&node.target),
            Stmt::For(node) => self.add_locals(&node.target),
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && let Some(names) = split_path(&call.func)
            && names.first().is_some_and(|name| !self.locals.contains(name))
        {
            self.called.push((names, call.func.range()));
        }
        match split_path(expression) {
            Some(names) => {
                if names.first().is_some_and(|name| !self.locals.contains(name)) {
                    self.paths.push((names, expression.range()));
                }
            }
            None => walk_expr(self, expression),
        }
    }
}

impl Tracer<'_> {
    /// Refuses a kernel that mentions, directly or through its calls, a name that Triton does not have.
    pub(super) fn check_dependencies(&mut self, kernel: &Rc<UserFunction>) -> Traced<()> {
        if !self.lo.has_gap(Gap::PythonModules) {
            return Ok(());
        }
        let looks_up = self.lo.has_gap(Gap::NamesNotTaken);
        let mut seen: Vec<Rc<ast::StmtFunctionDef>> = Vec::new();
        let mut wanted = vec![(Rc::clone(&kernel.def), kernel.scope)];
        while let Some((def, scope)) = wanted.pop() {
            if seen.iter().any(|known| Rc::ptr_eq(known, &def)) {
                continue;
            }
            let mut mentions = Mentions::default();
            mentions.locals.extend(
                def.parameters
                    .args
                    .iter()
                    .map(|parameter| parameter.name().as_str()),
            );
            for statement in &def.body {
                mentions.visit_stmt(statement);
            }
            for (names, range) in mentions.called {
                let Some((Plain::Module(module), _)) = names
                    .first()
                    .and_then(|name| self.modules.find_global(scope, name))
                else {
                    continue;
                };
                let is_class = names.get(1).is_some_and(|name| limits::is_class(module, name));
                if &**module == "math" && names.len() > 1 || is_class && self.lo.has_gap(Gap::PythonClasses) {
                    self.lo.span = span_of(self.modules.source_of(scope), range);
                    let name = names.join(".");
                    return Err(self
                        .lo
                        .reject(format!("`{name}` is called and is not a Triton function itself")));
                }
            }
            for (names, range) in mentions.paths {
                self.lo.burn()?;
                if !looks_up && names.len() > 1 {
                    continue;
                }
                if let Some(callee) = self.find_mentioned(scope, &names, range)? {
                    if looks_up && Rc::ptr_eq(&callee.def, &def) {
                        self.lo.span = span_of(self.modules.source_of(scope), range);
                        let message = format!("`{}` mentions itself", callee.name);
                        return Err(self.lo.reject_with("recursion", message));
                    }
                    wanted.push((Rc::clone(&callee.def), callee.scope));
                }
            }
            seen.push(def);
        }
        Ok(())
    }

    /// The `@triton.jit` function that a dotted name is, if it is one.
    fn find_mentioned(
        &mut self,
        scope: ScopeId,
        names: &[&str],
        range: TextRange,
    ) -> Traced<Option<Rc<UserFunction>>> {
        let Some((first, rest)) = names.split_first() else {
            return Ok(None);
        };
        let mut module = match self.modules.find_global(scope, first).map(|(value, _)| value) {
            Some(Plain::Jit(function)) => return Ok(Some(Rc::clone(function))),
            Some(Plain::Module(module)) if &**module == "tl" || module.starts_with("tl.") => {
                Rc::clone(module)
            }
            _ => return Ok(None),
        };
        for name in rest {
            if let Some(inner) = find_submodule(&module, name) {
                module = inner;
            } else if builtin::find_symbol(self.lo.rules, &module, name).is_some() {
                return Ok(None);
            } else {
                self.lo.span = span_of(self.modules.source_of(scope), range);
                return match self.get_attribute(&cerith_language::value::Value::Module(module), name) {
                    Err(stop @ Stop::Rejected(_)) => Err(stop),
                    _ => Ok(None),
                };
            }
        }
        Ok(None)
    }
}
