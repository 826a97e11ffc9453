//! Walks the tree of an expression: literals, operators, conditions and comprehensions.
//!
//! A [`Scope`] defines names, attributes, calls and subscripts, and reports errors.

use ruff_python_ast::{BoolOp, CmpOp, Comprehension, Expr, Operator, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use crate::error::{Error, Reason};
use crate::object::{Object, Plain, Sequence};
use crate::{operator, parse};

/// The context of an expression.
pub trait Scope {
    /// Its values.
    type Value: Object;
    /// Its errors.
    type Error;

    /// The saved names outside of a comprehension.
    type Outer;

    /// Adds a location to an error of Python.
    fn locate_error(&mut self, error: Error, at: TextRange) -> Self::Error;

    /// Charges the cost of a new value; an error ends the walk.
    fn pay(&mut self, weight: usize, at: TextRange) -> Result<(), Self::Error>;

    /// Returns the value of a name.
    fn resolve_name(&mut self, name: &str, at: TextRange) -> Result<Self::Value, Self::Error>;

    /// Opens the scope of a comprehension. Returns the state for [`Self::close`].
    fn open(&mut self) -> Result<Self::Outer, Self::Error>;

    /// Binds a name until [`Self::close`].
    fn bind(&mut self, name: &str, value: Self::Value);

    /// Removes the names since [`Self::open`].
    fn close(&mut self, outer: Self::Outer);

    /// Evaluates a part of an expression with [`evaluate`]. A scope may override it to observe every node.
    fn evaluate(&mut self, expr: &Expr) -> Result<Self::Value, Self::Error> {
        evaluate(self, expr)
    }

    /// Evaluates any other node: a call, an attribute, a subscript, or an unsupported one.
    fn evaluate_other(&mut self, expr: &Expr) -> Result<Self::Value, Self::Error>;

    /// Returns the items of an iterable.
    fn iterate(&mut self, value: &Self::Value, at: TextRange) -> Result<Vec<Self::Value>, Self::Error> {
        let items = value.items().map_err(|error| self.locate_error(error, at))?;
        self.pay(items.len(), at)?;
        Ok(items)
    }

    /// Returns the truth value.
    fn test_truth(&mut self, value: &Self::Value, at: TextRange) -> Result<bool, Self::Error> {
        operator::truth(value).map_err(|error| self.locate_error(error, at))
    }

    /// `op value`.
    fn apply_unary(
        &mut self,
        op: UnaryOp,
        value: &Self::Value,
        at: TextRange,
    ) -> Result<Self::Value, Self::Error> {
        operator::apply_unary(op, value).map_err(|error| self.locate_error(error, at))
    }

    /// `left op right`.
    fn apply_binary(
        &mut self,
        op: Operator,
        left: &Self::Value,
        right: &Self::Value,
        at: TextRange,
    ) -> Result<Self::Value, Self::Error> {
        operator::apply_binary(op, left, right).map_err(|error| self.locate_error(error, at))
    }

    /// `left op right` of a comparison.
    fn compare(
        &mut self,
        op: CmpOp,
        left: &Self::Value,
        right: &Self::Value,
        at: TextRange,
    ) -> Result<bool, Self::Error> {
        operator::compare(op, left, right).map_err(|error| self.locate_error(error, at))
    }
}

/// Evaluates a node. Recursion is bounded by [`parse::Limits::depth`], and the stack grows with it.
pub fn evaluate<S: Scope + ?Sized>(scope: &mut S, expr: &Expr) -> Result<S::Value, S::Error> {
    let value = stacker::maybe_grow(64 * 1024, 1024 * 1024, || evaluate_node(scope, expr))?;
    scope.pay(value.weight(), expr.range())?;
    Ok(value)
}

fn from_plain<S: Scope + ?Sized>(scope: &mut S, value: Plain, at: TextRange) -> Result<S::Value, S::Error> {
    S::Value::from_plain(value).map_err(|error| scope.locate_error(error, at))
}

fn from_items<S: Scope + ?Sized>(
    scope: &mut S,
    kind: Sequence,
    items: Vec<S::Value>,
    at: TextRange,
) -> Result<S::Value, S::Error> {
    S::Value::from_items(kind, items).map_err(|error| scope.locate_error(error, at))
}

/// Evaluates a node. [`Scope::evaluate`] evaluates its parts.
pub fn evaluate_node<S: Scope + ?Sized>(scope: &mut S, expr: &Expr) -> Result<S::Value, S::Error> {
    let at = expr.range();
    match expr {
        Expr::NumberLiteral(literal) => {
            let number =
                parse::parse_number(&literal.value).map_err(|error| scope.locate_error(error, at))?;
            from_plain(scope, number, at)
        }
        Expr::StringLiteral(literal) => from_plain(scope, Plain::Str(literal.value.to_str().to_owned()), at),
        Expr::BooleanLiteral(literal) => from_plain(scope, Plain::Bool(literal.value), at),
        Expr::NoneLiteral(_) => from_plain(scope, Plain::None, at),
        Expr::Name(name) => scope.resolve_name(&name.id, at),
        Expr::Tuple(tuple) => {
            let items = evaluate_all(scope, &tuple.elts)?;
            from_items(scope, Sequence::Tuple, items, at)
        }
        Expr::List(list) => {
            let items = evaluate_all(scope, &list.elts)?;
            from_items(scope, Sequence::List, items, at)
        }
        Expr::UnaryOp(unary) => {
            let operand = scope.evaluate(&unary.operand)?;
            scope.apply_unary(unary.op, &operand, at)
        }
        Expr::BinOp(binary) => {
            let (left, right) = (scope.evaluate(&binary.left)?, scope.evaluate(&binary.right)?);
            scope.apply_binary(binary.op, &left, &right, at)
        }
        Expr::BoolOp(bool_op) => {
            let mut last = None;
            for operand in &bool_op.values {
                let found = scope.evaluate(operand)?;
                let decided = scope.test_truth(&found, operand.range())? == (bool_op.op == BoolOp::Or);
                last = Some(found);
                if decided {
                    break;
                }
            }
            match last {
                Some(last) => Ok(last),
                None => from_plain(scope, Plain::None, at),
            }
        }
        Expr::Compare(compare) => {
            let mut left = scope.evaluate(&compare.left)?;
            for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                let right = scope.evaluate(right)?;
                if !scope.compare(*op, &left, &right, at)? {
                    return from_plain(scope, Plain::Bool(false), at);
                }
                left = right;
            }
            from_plain(scope, Plain::Bool(true), at)
        }
        Expr::If(choice) => {
            let test = scope.evaluate(&choice.test)?;
            let taken = scope.test_truth(&test, choice.test.range())?;
            scope.evaluate(if taken { &choice.body } else { &choice.orelse })
        }
        Expr::ListComp(list) => evaluate_comprehension(scope, &list.generators, &list.elt, at),
        Expr::Generator(generator) => {
            evaluate_comprehension(scope, &generator.generators, &generator.elt, at)
        }
        other => scope.evaluate_other(other),
    }
}

/// Evaluates the items of a display, with `*` unpacked.
pub fn evaluate_all<S: Scope + ?Sized>(scope: &mut S, items: &[Expr]) -> Result<Vec<S::Value>, S::Error> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        if let Expr::Starred(starred) = item {
            let inner = scope.evaluate(&starred.value)?;
            values.extend(scope.iterate(&inner, starred.range)?);
        } else {
            values.push(scope.evaluate(item)?);
        }
    }
    Ok(values)
}

fn evaluate_comprehension<S: Scope + ?Sized>(
    scope: &mut S,
    generators: &[Comprehension],
    element: &Expr,
    at: TextRange,
) -> Result<S::Value, S::Error> {
    let mut items = Vec::new();
    generate(scope, generators, element, &mut items)?;
    from_items(scope, Sequence::List, items, at)
}

fn generate<S: Scope + ?Sized>(
    scope: &mut S,
    generators: &[Comprehension],
    element: &Expr,
    out: &mut Vec<S::Value>,
) -> Result<(), S::Error> {
    let Some((first, rest)) = generators.split_first() else {
        out.push(scope.evaluate(element)?);
        return Ok(());
    };
    let iterated = scope.evaluate(&first.iter)?;
    let items = scope.iterate(&iterated, first.iter.range())?;
    let outer = scope.open()?;
    'items: for item in items {
        assign(scope, &first.target, item)?;
        for condition in &first.ifs {
            let test = scope.evaluate(condition)?;
            if !scope.test_truth(&test, condition.range())? {
                continue 'items;
            }
        }
        generate(scope, rest, element, out)?;
    }
    scope.close(outer);
    Ok(())
}

fn assign<S: Scope + ?Sized>(scope: &mut S, target: &Expr, value: S::Value) -> Result<(), S::Error> {
    let at = target.range();
    match target {
        Expr::Name(name) => scope.bind(&name.id, value),
        Expr::Tuple(tuple) => {
            let items = scope.iterate(&value, at)?;
            if items.len() != tuple.elts.len() {
                let text = format!("{} values for {} names", items.len(), tuple.elts.len());
                return Err(scope.locate_error(Error::of_value(Reason::Other, text), at));
            }
            for (target, item) in tuple.elts.iter().zip(items) {
                assign(scope, target, item)?;
            }
        }
        _ => {
            let error = Error::unsupported(Reason::Other, "only names can be assigned to");
            return Err(scope.locate_error(error, at));
        }
    }
    Ok(())
}
