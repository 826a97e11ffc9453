//! Which names of a kernel decide where it accesses memory and what it executes. A number that only reaches stored
//! values may be any.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};

/// Functions whose arguments reach nothing but their result.
const OF_VALUES: [&str; 30] = [
    "abs",
    "ceil",
    "clamp",
    "cos",
    "div_rn",
    "dot",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "max",
    "maximum",
    "min",
    "minimum",
    "pow",
    "rsqrt",
    "sigmoid",
    "sin",
    "softmax",
    "sqrt",
    "sqrt_rn",
    "sum",
    "tanh",
    "to",
    "where",
    "zeros_like",
];

/// Finds the names that an address, a mask, a condition, a loop or a shape may depend on. It may return too many.
pub(super) fn find_control(body: &[Stmt]) -> BTreeSet<String> {
    let mut finder = Finder::default();
    finder.visit_body(body);
    let mut control = finder.control;
    // A name depends on those that it is computed from.
    loop {
        let before = control.len();
        for (target, sources) in &finder.assigned {
            if control.contains(target) {
                control.extend(sources.iter().cloned());
            }
        }
        if control.len() == before {
            return control;
        }
    }
}

#[derive(Default)]
struct Finder {
    control: BTreeSet<String>,
    /// Variables, and the names in their assigned values.
    assigned: Vec<(String, BTreeSet<String>)>,
    /// Variables that are loaded values.
    loaded: BTreeSet<String>,
}

impl Finder {
    fn add(&mut self, expr: &Expr) {
        self.control.extend(find_names(expr));
    }

    /// Adds the names of a condition, but not that of a number that a loaded value is compared with (`if label == ignore_index`):
    /// a caller may pass any, because the data has what it is equal to or not.
    fn add_test(&mut self, test: &Expr) {
        if let Expr::Compare(compare) = test
            && let ([CmpOp::Eq | CmpOp::NotEq], [Expr::Name(other)]) = (&*compare.ops, &*compare.comparators)
            && let Expr::Name(own) = &*compare.left
        {
            match (
                self.loaded.contains(own.id.as_str()),
                self.loaded.contains(other.id.as_str()),
            ) {
                (true, false) => return self.add(&compare.left),
                (false, true) => return self.add(&compare.comparators[0]),
                _ => {}
            }
        }
        self.add(test);
    }

    fn assign(&mut self, target: &Expr, value: &Expr) {
        if let (Expr::Name(name), true) = (target, is_load(value)) {
            self.loaded.insert(name.id.to_string());
        }
        let sources = find_names(value);
        for name in find_names(target) {
            self.assigned.push((name, sources.clone()));
        }
    }
}

impl<'a> Visitor<'a> for Finder {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assign(target, &assign.value);
                }
            }
            Stmt::AnnAssign(ast::StmtAnnAssign {
                target,
                value: Some(value),
                ..
            }) => self.assign(target, value),
            Stmt::AugAssign(assign) => self.assign(&assign.target, &assign.value),
            Stmt::For(each) => {
                self.add(&each.iter);
                self.assign(&each.target, &each.iter);
            }
            Stmt::While(each) => self.add(&each.test),
            Stmt::If(branch) => {
                self.add_test(&branch.test);
                let tests = branch.elif_else_clauses.iter();
                tests
                    .filter_map(|clause| clause.test.as_ref())
                    .for_each(|test| self.add_test(test));
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::If(choice) => self.add(&choice.test),
            Expr::Subscript(subscript) => self.add(&subscript.slice),
            Expr::Call(call) => {
                let name = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    _ => "",
                };
                // The value of a store, and what a load gives for lanes that are off, are values.
                let is_value = |keyword: Option<&str>, at: usize| match name {
                    "store" => keyword == Some("value") || keyword.is_none() && at == 1,
                    "load" => keyword == Some("other") || keyword.is_none() && at == 2,
                    name => OF_VALUES.contains(&name),
                };
                for (at, argument) in call.arguments.args.iter().enumerate() {
                    if !is_value(None, at) {
                        self.add(argument);
                    }
                }
                for keyword in &call.arguments.keywords {
                    if !is_value(keyword.arg.as_deref(), usize::MAX) {
                        self.add(&keyword.value);
                    }
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// Whether an expression is a load, perhaps with a cast.
fn is_load(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    match &*call.func {
        Expr::Attribute(method) if method.attr.as_str() == "to" => is_load(&method.value),
        Expr::Attribute(function) => function.attr.as_str() == "load",
        _ => false,
    }
}

/// Every name in an expression.
fn find_names(expr: &Expr) -> BTreeSet<String> {
    let mut names = super::Names::default();
    names.visit_expr(expr);
    names.0
}
