//! The walk over the tree of an expression: literals, operators, conditions and comprehensions.
//!
//! Left out: what a name, an attribute, a call and an index mean. A [`Scope`] says that, and how it tells of errors.

use ruff_python_ast::{BoolOp, CmpOp, Comprehension, Expr, Operator, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use crate::error::{Error, Reason};
use crate::object::{Object, Plain, Sequence};
use crate::{operator, parse};

/// What an expression stands in.
pub trait Scope {
    /// Its values.
    type Value: Object;
    /// Its errors.
    type Error;

    /// The names around those of a comprehension.
    type Outer;

    /// An error of Python's at a place.
    fn error(&mut self, error: Error, at: TextRange) -> Self::Error;

    /// Pays for a value that was made; an error ends the walk.
    fn pay(&mut self, weight: usize, at: TextRange) -> Result<(), Self::Error>;

    /// What a name stands for.
    fn name(&mut self, name: &str, at: TextRange) -> Result<Self::Value, Self::Error>;

    /// Begins names of a comprehension's own; gives what [`Self::close`] ends them with.
    fn open(&mut self) -> Result<Self::Outer, Self::Error>;

    /// Gives a name a value until [`Self::close`].
    fn bind(&mut self, name: &str, value: Self::Value);

    /// Forgets the names since [`Self::open`].
    fn close(&mut self, outer: Self::Outer);

    /// Evaluates a part of an expression; [`value`], unless a scope keeps watch over each of its nodes.
    fn value(&mut self, expr: &Expr) -> Result<Self::Value, Self::Error> {
        value(self, expr)
    }

    /// What any other node is: a call, an attribute, an index, or something that has no place here.
    fn other(&mut self, expr: &Expr) -> Result<Self::Value, Self::Error>;

    /// The items of what is iterated over.
    fn items(&mut self, value: &Self::Value, at: TextRange) -> Result<Vec<Self::Value>, Self::Error> {
        let items = value.items().map_err(|error| self.error(error, at))?;
        self.pay(items.len(), at)?;
        Ok(items)
    }

    /// Whether a value counts as true.
    fn truth(&mut self, value: &Self::Value, at: TextRange) -> Result<bool, Self::Error> {
        operator::truth(value).map_err(|error| self.error(error, at))
    }

    /// `op value`.
    fn unary(&mut self, op: UnaryOp, value: &Self::Value, at: TextRange) -> Result<Self::Value, Self::Error> {
        operator::unary(op, value).map_err(|error| self.error(error, at))
    }

    /// `left op right`.
    fn binary(
        &mut self,
        op: Operator,
        left: &Self::Value,
        right: &Self::Value,
        at: TextRange,
    ) -> Result<Self::Value, Self::Error> {
        operator::binary(op, left, right).map_err(|error| self.error(error, at))
    }

    /// `left op right` of a comparison.
    fn compare(
        &mut self,
        op: CmpOp,
        left: &Self::Value,
        right: &Self::Value,
        at: TextRange,
    ) -> Result<bool, Self::Error> {
        operator::compare(op, left, right).map_err(|error| self.error(error, at))
    }
}

/// Evaluates a node. Recursion is bounded by [`parse::Limits::depth`], and the stack grows with it.
pub fn value<S: Scope + ?Sized>(scope: &mut S, expr: &Expr) -> Result<S::Value, S::Error> {
    let value = stacker::maybe_grow(64 * 1024, 1024 * 1024, || node(scope, expr))?;
    scope.pay(value.weight(), expr.range())?;
    Ok(value)
}

fn plain<S: Scope + ?Sized>(scope: &mut S, value: Plain, at: TextRange) -> Result<S::Value, S::Error> {
    S::Value::plain(value).map_err(|error| scope.error(error, at))
}

fn sequence<S: Scope + ?Sized>(
    scope: &mut S,
    kind: Sequence,
    items: Vec<S::Value>,
    at: TextRange,
) -> Result<S::Value, S::Error> {
    S::Value::sequence(kind, items).map_err(|error| scope.error(error, at))
}

/// What a node gives, with its parts evaluated by [`Scope::value`].
pub fn node<S: Scope + ?Sized>(scope: &mut S, expr: &Expr) -> Result<S::Value, S::Error> {
    let at = expr.range();
    match expr {
        Expr::NumberLiteral(literal) => {
            let number = parse::number(&literal.value).map_err(|error| scope.error(error, at))?;
            plain(scope, number, at)
        }
        Expr::StringLiteral(literal) => plain(scope, Plain::Str(literal.value.to_str().to_owned()), at),
        Expr::BooleanLiteral(literal) => plain(scope, Plain::Bool(literal.value), at),
        Expr::NoneLiteral(_) => plain(scope, Plain::None, at),
        Expr::Name(name) => scope.name(&name.id, at),
        Expr::Tuple(tuple) => {
            let items = all(scope, &tuple.elts)?;
            sequence(scope, Sequence::Tuple, items, at)
        }
        Expr::List(list) => {
            let items = all(scope, &list.elts)?;
            sequence(scope, Sequence::List, items, at)
        }
        Expr::UnaryOp(unary) => {
            let operand = scope.value(&unary.operand)?;
            scope.unary(unary.op, &operand, at)
        }
        Expr::BinOp(binary) => {
            let (left, right) = (scope.value(&binary.left)?, scope.value(&binary.right)?);
            scope.binary(binary.op, &left, &right, at)
        }
        Expr::BoolOp(bool_op) => {
            let mut last = None;
            for operand in &bool_op.values {
                let found = scope.value(operand)?;
                let decided = scope.truth(&found, operand.range())? == (bool_op.op == BoolOp::Or);
                last = Some(found);
                if decided {
                    break;
                }
            }
            match last {
                Some(last) => Ok(last),
                None => plain(scope, Plain::None, at),
            }
        }
        Expr::Compare(compare) => {
            let mut left = scope.value(&compare.left)?;
            for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                let right = scope.value(right)?;
                if !scope.compare(*op, &left, &right, at)? {
                    return plain(scope, Plain::Bool(false), at);
                }
                left = right;
            }
            plain(scope, Plain::Bool(true), at)
        }
        Expr::If(choice) => {
            let test = scope.value(&choice.test)?;
            let taken = scope.truth(&test, choice.test.range())?;
            scope.value(if taken { &choice.body } else { &choice.orelse })
        }
        Expr::ListComp(list) => comprehension(scope, &list.generators, &list.elt, at),
        Expr::Generator(generator) => comprehension(scope, &generator.generators, &generator.elt, at),
        other => scope.other(other),
    }
}

/// The values of the items of a display, `*` unpacked.
pub fn all<S: Scope + ?Sized>(scope: &mut S, items: &[Expr]) -> Result<Vec<S::Value>, S::Error> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        if let Expr::Starred(starred) = item {
            let inner = scope.value(&starred.value)?;
            values.extend(scope.items(&inner, starred.range)?);
        } else {
            values.push(scope.value(item)?);
        }
    }
    Ok(values)
}

fn comprehension<S: Scope + ?Sized>(
    scope: &mut S,
    generators: &[Comprehension],
    element: &Expr,
    at: TextRange,
) -> Result<S::Value, S::Error> {
    let mut items = Vec::new();
    generate(scope, generators, element, &mut items)?;
    sequence(scope, Sequence::List, items, at)
}

fn generate<S: Scope + ?Sized>(
    scope: &mut S,
    generators: &[Comprehension],
    element: &Expr,
    out: &mut Vec<S::Value>,
) -> Result<(), S::Error> {
    let Some((first, rest)) = generators.split_first() else {
        out.push(scope.value(element)?);
        return Ok(());
    };
    let iterated = scope.value(&first.iter)?;
    let items = scope.items(&iterated, first.iter.range())?;
    let outer = scope.open()?;
    'items: for item in items {
        assign(scope, &first.target, item)?;
        for condition in &first.ifs {
            let test = scope.value(condition)?;
            if !scope.truth(&test, condition.range())? {
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
            let items = scope.items(&value, at)?;
            if items.len() != tuple.elts.len() {
                let text = format!("{} values for {} names", items.len(), tuple.elts.len());
                return Err(scope.error(Error::of_value(Reason::Other, text), at));
            }
            for (target, item) in tuple.elts.iter().zip(items) {
                assign(scope, target, item)?;
            }
        }
        _ => {
            let error = Error::unsupported(Reason::Other, "only names can be assigned to");
            return Err(scope.error(error, at));
        }
    }
    Ok(())
}
