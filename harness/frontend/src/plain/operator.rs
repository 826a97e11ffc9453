//! Operators of plain Python. Unknown results become [`Plain::Unknown`]; nothing is guessed.
//!
//! See [`super::expression`] for names and calls, [`cerith_language::constant`] for arithmetic on two constants, and
//! [`cerith_python`] for the operators themselves.

use std::rc::Rc;

use cerith_python::{Error, ErrorKind, operator};
use cerith_tile::DType;
use cerith_tile::ir::CmpPredicate;
use cerith_tile::source::Span;
use ruff_python_ast as ast;
use rustc_hash::FxHashMap;

use super::limits;
use cerith_language::constant::{self, Constant, Failure, PyBinary, PyUnary};
use cerith_language::value::Value;
use cerith_language::value::object::new_unknown_error;
use cerith_language::value::plain::Plain;

/// Values inside of a value, counted no further than `limit`.
pub(super) fn measure_depth(value: &Plain, limit: usize) -> usize {
    depth_of(value, limit, &mut FxHashMap::default())
}

/// Lists that share what they hold are looked into once: `known` has the depth of items by their address.
fn depth_of(value: &Plain, limit: usize, known: &mut FxHashMap<*const Plain, usize>) -> usize {
    if limit == 0 {
        return 0;
    }
    let place = value.items().map(<[Plain]>::as_ptr);
    if let Some(&depth) = place.and_then(|place| known.get(&place)) {
        return depth.min(limit);
    }
    let mut deepest = |values: &mut dyn Iterator<Item = &Plain>| {
        let mut deepest = 0;
        for value in values {
            deepest = deepest.max(depth_of(value, limit - 1, known));
            if deepest == limit - 1 {
                break;
            }
        }
        deepest
    };
    let depth = 1 + match value {
        Plain::Dict(items) => deepest(&mut items.iter().flat_map(|(key, value)| [key, value])),
        Plain::Function(function) => deepest(&mut function.defaults.iter().map(|(_, value)| value)),
        Plain::Jit(function) => deepest(&mut function.defaults.iter().map(|(_, value)| value)),
        Plain::Config(config) => deepest(
            &mut config
                .kwargs
                .iter()
                .chain(&config.options)
                .map(|(_, value)| value),
        ),
        _ => deepest(&mut value.items().unwrap_or_default().iter()),
    };
    // A count that stopped at the limit isn't the depth.
    if let Some(place) = place.filter(|_| depth < limit) {
        known.insert(place, depth);
    }
    depth
}

/// The value of a failed computation.
pub(super) fn unknown_from_failure(failure: &Failure, span: Span) -> Plain {
    match failure {
        Failure::Raises(text) => {
            Plain::new_unknown(span, format!("a value whose computation raises ({text})"))
        }
        Failure::Unsupported(what) => Plain::new_unknown(span, what.clone()),
        Failure::Exhausted(limit, what) => Plain::new_unknown(span, format!("more than {limit} {what}")),
    }
}

/// `lhs op rhs`.
pub(super) fn apply_binary(op: ast::Operator, lhs: &Plain, rhs: &Plain, span: Span) -> Plain {
    match (op, lhs, rhs) {
        (_, Plain::Unknown(_), _) => return lhs.clone(),
        (_, _, Plain::Unknown(_)) => return rhs.clone(),
        _ => {}
    }
    if let (Plain::Constant(left), Plain::Constexpr(_)) = (lhs, rhs)
        && !matches!(left, Constant::Str(_))
        && has_no_reflection(op)
    {
        let raises = format!(
            "unsupported operand type(s) for {}: '{}' and 'constexpr'",
            op.as_str(),
            constant::type_name(left)
        );
        return unknown_from_failure(&Failure::Raises(raises), span);
    }
    let constants = PyBinary::from_ast(op).zip(lhs.constant().zip(rhs.constant()));
    let Some((op, (a, b))) = constants else {
        return unwrap_or_unknown(operator::apply_binary(op, lhs, rhs), "this computation", span);
    };
    match constant::apply_binary(op, a, b) {
        Ok(value) if matches!((lhs, rhs), (Plain::Constexpr(_), _) | (_, Plain::Constexpr(_))) => {
            Plain::Constexpr(Box::new(Value::Constant(value)))
        }
        Ok(value) => Plain::Constant(value),
        Err(failure) => unknown_from_failure(&failure, span),
    }
}

/// Whether a constexpr lacks the reflected operator, for a constexpr on the right (`class constexpr` in
/// `triton/language/core.py`, all versions).
const fn has_no_reflection(op: ast::Operator) -> bool {
    matches!(
        op,
        ast::Operator::Mod
            | ast::Operator::LShift
            | ast::Operator::RShift
            | ast::Operator::BitAnd
            | ast::Operator::BitOr
            | ast::Operator::BitXor
    )
}

/// `-operand`, `~operand`, `+operand` and `not operand`.
pub(super) fn apply_unary(op: ast::UnaryOp, operand: &Plain, span: Span) -> Plain {
    if op == ast::UnaryOp::Not {
        return operand.truth().map_or_else(
            || Plain::new_unknown(span, "this condition"),
            |truth| Plain::from_bool(!truth),
        );
    }
    let op = match op {
        ast::UnaryOp::Invert => PyUnary::Invert,
        ast::UnaryOp::Not => PyUnary::Not,
        ast::UnaryOp::UAdd => PyUnary::Pos,
        ast::UnaryOp::USub => PyUnary::Neg,
    };
    match operand.constant().map(|value| constant::apply_unary(op, value)) {
        Some(Ok(value)) if matches!(operand, Plain::Constexpr(_)) => {
            Plain::Constexpr(Box::new(Value::Constant(value)))
        }
        Some(Ok(value)) => Plain::Constant(value),
        Some(Err(failure)) => unknown_from_failure(&failure, span),
        None => Plain::new_unknown(span, "this computation"),
    }
}

/// A comparison of plain values.
pub(super) fn compare(op: ast::CmpOp, lhs: &Plain, rhs: &Plain) -> Result<bool, Error> {
    let none = |value: &Plain| matches!(value, Plain::Constant(Constant::None));
    match op {
        // An object is never `None`, even if its content is unknown.
        ast::CmpOp::Is | ast::CmpOp::IsNot
            if none(lhs) && rhs.is_object() || none(rhs) && lhs.is_object() =>
        {
            return Ok(op == ast::CmpOp::IsNot);
        }
        ast::CmpOp::Is | ast::CmpOp::IsNot | ast::CmpOp::Eq | ast::CmpOp::NotEq => {
            if let (Some(one), Some(other)) = (host_dtype(lhs), host_dtype(rhs)) {
                let equal = matches!(op, ast::CmpOp::Is | ast::CmpOp::Eq);
                return Ok((one == other) == equal);
            }
        }
        _ => {}
    }
    if let (Plain::Member(one, name, _), Plain::Member(other, second, _)) = (lhs, rhs) {
        let same = Rc::ptr_eq(one, other) && name == second;
        return match op {
            ast::CmpOp::Is | ast::CmpOp::Eq => Ok(same),
            ast::CmpOp::IsNot | ast::CmpOp::NotEq => Ok(!same),
            _ => Err(new_unknown_error()),
        };
    }
    operator::compare(op, lhs, rhs)
}

/// The dtype of torch's or NumPy's that a value is, with whose it is.
fn host_dtype(value: &Plain) -> Option<(&str, DType)> {
    match value {
        Plain::Symbol(module, name) => limits::dtype_of(module, name).map(|dtype| (&**module, dtype)),
        _ => None,
    }
}

/// The result of an operation; messages call it `what` where it is not known.
pub(super) fn unwrap_or_unknown(found: Result<Plain, Error>, what: &str, span: Span) -> Plain {
    match found {
        Ok(value) => value,
        Err(error) if error.kind == ErrorKind::Unknown => Plain::new_unknown(span, what),
        Err(error) => unknown_from_failure(&error.into(), span),
    }
}

/// `container[index]`.
pub(super) fn apply_subscript(container: &Plain, index: &Plain, span: Span) -> Plain {
    let found = match container {
        Plain::Unknown(_) => return container.clone(),
        Plain::Dict(items) => items
            .iter()
            .rev()
            .find(|(key, _)| {
                matches!((key.constant(), index.constant()), (Some(a), Some(b))
                    if constant::compare(CmpPredicate::Eq, a, b) == Ok(true))
            })
            .map(|(_, value)| value.clone()),
        _ => operator::get_item(container, index).ok(),
    };
    found.unwrap_or_else(|| Plain::new_unknown(span, "this item"))
}
