//! Operators of plain Python on values whose value is known. What is not known is told, never guessed.
//!
//! Left out: what names and calls mean ([`super::evaluate`]), arithmetic on two constants ([`crate::constant`]).

use cerith_tile::ir::CmpPredicate;
use cerith_tile::source::Span;
use ruff_python_ast as ast;

use super::host::Host;
use crate::constant::{self, Failure};
use crate::semantic::PyUnary;
use crate::value::{Constant, Value};

/// Values inside of a value, counted no further than `limit`.
pub(super) fn depth(value: &Host, limit: usize) -> usize {
    if limit == 0 {
        return 0;
    }
    let deepest = |values: &mut dyn Iterator<Item = &Host>| {
        values
            .map(|value| depth(value, limit - 1))
            .max()
            .unwrap_or_default()
    };
    1 + match value {
        Host::Dict(items) => deepest(&mut items.iter().flat_map(|(key, value)| [key, value])),
        Host::Function(function) => deepest(&mut function.defaults.iter().map(|(_, value)| value)),
        Host::Jit(function) => deepest(&mut function.defaults.iter().map(|(_, value)| value)),
        Host::Config(config) => deepest(
            &mut config
                .kwargs
                .iter()
                .chain(&config.options)
                .map(|(_, value)| value),
        ),
        _ => deepest(&mut value.items().unwrap_or_default().iter()),
    }
}

/// How many items a sequence has; 0 for anything else.
pub(super) fn length(value: &Host) -> usize {
    value.items().map_or(0, <[Host]>::len)
}

/// What failed arithmetic leaves.
pub(super) fn failed(failure: &Failure, span: Span) -> Host {
    match failure {
        Failure::Raises(text) => Host::unknown(span, format!("a value whose computation raises ({text})")),
        Failure::Unsupported(what) => Host::unknown(span, what.clone()),
        Failure::Exhausted(limit, what) => Host::unknown(span, format!("more than {limit} {what}")),
    }
}

/// `-operand`, `~operand`, `+operand` and `not operand`.
pub(super) fn unary(op: ast::UnaryOp, operand: &Host, span: Span) -> Host {
    if op == ast::UnaryOp::Not {
        return operand.truth().map_or_else(
            || Host::unknown(span, "this condition"),
            |truth| Host::bool(!truth),
        );
    }
    let op = match op {
        ast::UnaryOp::Invert => PyUnary::Invert,
        ast::UnaryOp::Not => PyUnary::Not,
        ast::UnaryOp::UAdd => PyUnary::Pos,
        ast::UnaryOp::USub => PyUnary::Neg,
    };
    match operand.constant().map(|value| constant::unary(op, value)) {
        Some(Ok(value)) if matches!(operand, Host::Constexpr(_)) => {
            Host::Constexpr(Box::new(Value::Constant(value)))
        }
        Some(Ok(value)) => Host::Constant(value),
        Some(Err(failure)) => failed(&failure, span),
        None => Host::unknown(span, "this computation"),
    }
}

/// A comparison of plain values; `None` when it is not known.
pub(super) fn compare(op: ast::CmpOp, lhs: &Host, rhs: &Host) -> Option<bool> {
    match op {
        ast::CmpOp::Is | ast::CmpOp::IsNot => {
            let same = match (lhs.constant()?, rhs.constant()?) {
                (Constant::None, Constant::None) => true,
                (Constant::Bool(a), Constant::Bool(b)) => a == b,
                (Constant::None | Constant::Bool(_), _) | (_, Constant::None | Constant::Bool(_)) => false,
                _ => return None,
            };
            Some(same == (op == ast::CmpOp::Is))
        }
        ast::CmpOp::In | ast::CmpOp::NotIn => {
            let found = match rhs {
                Host::Dict(items) => any_equal(lhs, items.iter().map(|(key, _)| key))?,
                _ => match (lhs.as_str(), rhs.as_str()) {
                    (Some(part), Some(whole)) => whole.contains(&**part),
                    _ => any_equal(lhs, rhs.items()?.iter())?,
                },
            };
            Some(found == (op == ast::CmpOp::In))
        }
        _ => {
            if let (Some(a), Some(b)) = (lhs.items(), rhs.items()) {
                let equal = a.len() == b.len()
                    && a.iter()
                        .zip(b)
                        .try_fold(true, |all, (a, b)| Some(all && compare(ast::CmpOp::Eq, a, b)?))?;
                return match op {
                    ast::CmpOp::Eq => Some(equal),
                    ast::CmpOp::NotEq => Some(!equal),
                    _ => None,
                };
            }
            constant::compare(
                super::expression::predicate(op)?,
                lhs.constant()?,
                rhs.constant()?,
            )
            .ok()
        }
    }
}

fn any_equal<'a>(value: &Host, mut items: impl Iterator<Item = &'a Host>) -> Option<bool> {
    items.try_fold(false, |found, item| {
        Some(found || compare(ast::CmpOp::Eq, value, item)?)
    })
}

/// `container[index]`.
pub(super) fn subscript(container: &Host, index: &Host, span: Span) -> Host {
    let found = match container {
        Host::Unknown(_) => return container.clone(),
        Host::Dict(items) => items
            .iter()
            .rev()
            .find(|(key, _)| {
                matches!((key.constant(), index.constant()), (Some(a), Some(b))
                    if constant::compare(CmpPredicate::Eq, a, b) == Ok(true))
            })
            .map(|(_, value)| value.clone()),
        _ => container.items().and_then(|items| {
            let at = constant::as_int(index.constant()?)?;
            let at = if at < 0 { at + items.len() as i128 } else { at };
            items.get(usize::try_from(at).ok()?).cloned()
        }),
    };
    found.unwrap_or_else(|| Host::unknown(span, "this item"))
}
