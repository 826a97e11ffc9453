//! The names that a statement takes from its module: those that it mentions and that no enclosing function binds.
//! Scopes are distinguished, so that a kernel's parameter `x` is not the module's `x`.
//!
//! Too many names are safe here and too few are not: what a class's body binds, and what a comprehension binds for the
//! function around it, is taken for the module's.

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{
    self as ast, Comprehension, ExceptHandler, Expr, ExprContext, Parameters, Pattern, Stmt,
};

/// The names that a top-level statement takes from its module, sorted.
pub fn free_names(stmt: &Stmt) -> Vec<String> {
    let mut walk = Free::default();
    walk.visit_stmt(stmt);
    let mut names: Vec<String> = walk.names.into_iter().map(str::to_owned).collect();
    names.sort_unstable();
    names
}

#[derive(Default)]
struct Free<'a> {
    names: HashSet<&'a str>,
    /// The names that each enclosing function binds, the innermost last.
    scopes: Vec<HashSet<&'a str>>,
}

impl<'a> Free<'a> {
    fn add_name(&mut self, name: &'a str) {
        if !self.scopes.iter().any(|scope| scope.contains(name)) {
            self.names.insert(name);
        }
    }

    fn with_scope(&mut self, scope: HashSet<&'a str>, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        walk(self);
        self.scopes.pop();
    }

    /// Visits the expressions that Python evaluates when it defines the function.
    fn defined_with(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            for expr in parameter.default().into_iter().chain(parameter.annotation()) {
                self.visit_expr(expr);
            }
        }
    }

    fn walk_comprehension(&mut self, parts: &[&'a Expr], generators: &'a [Comprehension]) {
        let mut bound = Locals::default();
        for generator in generators {
            bound.visit_expr(&generator.target);
        }
        // The first iterable is evaluated in the enclosing scope.
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.with_scope(bound.names, |walk| {
            for part in parts {
                walk.visit_expr(part);
            }
            for (nth, generator) in generators.iter().enumerate() {
                if nth > 0 {
                    walk.visit_expr(&generator.iter);
                }
                walk.visit_expr(&generator.target);
                generator.ifs.iter().for_each(|test| walk.visit_expr(test));
            }
        });
    }
}

impl<'a> Visitor<'a> for Free<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let Stmt::FunctionDef(def) = stmt else {
            return walk_stmt(self, stmt);
        };
        for decorator in &def.decorator_list {
            self.visit_expr(&decorator.expression);
        }
        self.defined_with(&def.parameters);
        if let Some(returns) = &def.returns {
            self.visit_expr(returns);
        }
        let mut locals = Locals::from_parameters(&def.parameters);
        locals.visit_body(&def.body);
        self.with_scope(locals.finish(), |walk| walk.visit_body(&def.body));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => self.add_name(&name.id),
            Expr::Lambda(lambda) => {
                let mut locals = Locals::default();
                if let Some(parameters) = &lambda.parameters {
                    self.defined_with(parameters);
                    locals = Locals::from_parameters(parameters);
                }
                self.with_scope(locals.finish(), |walk| walk.visit_expr(&lambda.body));
            }
            Expr::ListComp(node) => self.walk_comprehension(&[&node.elt], &node.generators),
            Expr::SetComp(node) => self.walk_comprehension(&[&node.elt], &node.generators),
            Expr::Generator(node) => self.walk_comprehension(&[&node.elt], &node.generators),
            Expr::DictComp(node) => {
                let parts: Vec<&Expr> = node.key.iter().chain([&node.value]).map(|part| &**part).collect();
                self.walk_comprehension(&parts, &node.generators);
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// The names that a function binds: parameters, and names that statements of its own body bind.
#[derive(Default)]
struct Locals<'a> {
    names: HashSet<&'a str>,
    global: HashSet<&'a str>,
}

impl<'a> Locals<'a> {
    fn from_parameters(parameters: &'a Parameters) -> Self {
        Self {
            names: parameters
                .iter()
                .map(|parameter| parameter.name().as_str())
                .collect(),
            global: HashSet::new(),
        }
    }

    fn finish(self) -> HashSet<&'a str> {
        &self.names - &self.global
    }

    fn bind(&mut self, name: Option<&'a ast::Identifier>) {
        self.names.extend(name.map(ast::Identifier::as_str));
    }
}

impl<'a> Visitor<'a> for Locals<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => self.bind(Some(&def.name)),
            Stmt::ClassDef(def) => self.bind(Some(&def.name)),
            Stmt::Global(node) => self.global.extend(node.names.iter().map(ast::Identifier::as_str)),
            Stmt::Import(node) => {
                for alias in &node.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    self.names.insert(name.split('.').next().unwrap_or_default());
                }
            }
            Stmt::ImportFrom(node) => {
                for alias in &node.names {
                    self.bind(Some(alias.asname.as_ref().unwrap_or(&alias.name)));
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if !matches!(name.ctx, ExprContext::Load) => {
                self.names.insert(&name.id);
            }
            // These have scopes of their own.
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::Generator(_)
            | Expr::DictComp(_) => {}
            _ => walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        self.bind(node.name.as_ref());
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchAs(node) => self.bind(node.name.as_ref()),
            Pattern::MatchStar(node) => self.bind(node.name.as_ref()),
            Pattern::MatchMapping(node) => self.bind(node.rest.as_ref()),
            _ => {}
        }
        walk_pattern(self, pattern);
    }
}

#[cfg(test)]
mod tests {
    use ruff_python_ast::PySourceType;

    use super::*;

    fn check(text: &str, expected: &str) {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        assert!(parsed.errors().is_empty(), "{text}");
        let stmt = parsed.syntax().body.first().expect("a statement");
        assert_eq!(free_names(stmt).join(" "), expected, "{text}");
    }

    #[test]
    fn parameters_and_what_a_function_assigns_are_its_own() {
        check(
            "@jit\ndef k(x, n: tl.constexpr, y=START):\n  z = x + SIZE\n  for i in range(n): z += i\n  return z\n",
            "SIZE START jit range tl",
        );
        check("def f():\n  global A\n  A = B\n", "A B");
        check(
            "def f():\n  import a.b\n  from c import d as e\n  return a, e, d\n",
            "d",
        );
        check("def f():\n  try: pass\n  except E as e: print(e)\n", "E print");
        check(
            "def f(v):\n  match v:\n    case [a, *b]: return a, b\n    case C(x=y): return y\n",
            "C",
        );
    }

    #[test]
    fn what_a_function_inside_binds_is_no_name_of_the_one_around() {
        check("def f():\n  def g(): h = 1; return h\n  return h, g\n", "h");
        check("def f():\n  a = 1\n  def g(): return a + b\n  return g\n", "b");
        check("def f(): return lambda x=D: x + y\n", "D y");
    }

    #[test]
    fn comprehensions_bind_for_themselves() {
        check("def f(xs): return [x + G for x in xs if x], x\n", "G x");
        check("A = {k: v for k, v in B.items()}\n", "A B");
        check("A = [x for x in x]\n", "A x");
    }

    #[test]
    fn a_class_takes_what_its_body_mentions() {
        check(
            "class C(B):\n  a: T = D\n  def m(self): return self.a + E\n",
            "B D E T a",
        );
    }
}
