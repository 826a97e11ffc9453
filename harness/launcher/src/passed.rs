//! Sizes of blocks that functions of a module pass to its launchers: a test's `chunk_size = 5` is better than a guess. Other numbers
//! have to fit the tensors that the same function passes, which launches replace.

use std::collections::HashMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::name_hint::guess_number;
use super::plan::Scalar;

/// The largest size of a block.
const MAX_BLOCK: i64 = 256;

/// The first number that one of some functions passes for a parameter that is the size of a block, according to its name.
pub(super) fn find_passed_block<'a>(
    callers: impl Iterator<Item = &'a ast::StmtFunctionDef>,
    callee: &ast::StmtFunctionDef,
    parameter: &str,
) -> Option<i64> {
    if guess_number(parameter) != Scalar::Int(16) {
        return None;
    }
    let mut parameters = callee.parameters.iter_non_variadic_params();
    let position = parameters.position(|one| one.name().as_str() == parameter)?;
    let mut passed = callers.filter_map(|caller| {
        let mut finder = Finder {
            callee: callee.name.as_str(),
            argument: (parameter, position),
            numbers: HashMap::new(),
            number: None,
        };
        finder.visit_body(&caller.body);
        finder.number
    });
    passed.find(|number| (2..=MAX_BLOCK).contains(number))
}

/// Finds the number that a call passes for one parameter.
struct Finder<'a> {
    callee: &'a str,
    argument: (&'a str, usize),
    /// The numbers that names were assigned so far.
    numbers: HashMap<&'a str, i64>,
    number: Option<i64>,
}

impl Finder<'_> {
    fn read_number(&self, expr: &Expr) -> Option<i64> {
        match expr {
            Expr::NumberLiteral(literal) => literal.value.as_int()?.as_i64(),
            Expr::Name(name) => self.numbers.get(name.id.as_str()).copied(),
            _ => None,
        }
    }
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        visitor::walk_stmt(self, stmt);
        let Stmt::Assign(assign) = stmt else { return };
        let number = self.read_number(&assign.value);
        for target in &assign.targets {
            let Expr::Name(name) = target else { continue };
            match number {
                Some(number) => self.numbers.insert(name.id.as_str(), number),
                None => self.numbers.remove(name.id.as_str()),
            };
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && matches!(&*call.func, Expr::Name(name) if name.id.as_str() == self.callee)
            && let Some(value) = call
                .arguments
                .find_argument_value(self.argument.0, self.argument.1)
        {
            self.number = self.number.or_else(|| self.read_number(value));
        }
        visitor::walk_expr(self, expr);
    }
}
