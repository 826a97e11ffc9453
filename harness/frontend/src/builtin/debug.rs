//! Asserts, prints, barriers and promises to the compiler.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, OpKind, Promise, Shape, UnaryOp, ValueId};
use cerith_tile::rules::Rule;

use super::argument::{at, flag, int, items, optional_tensor, tensor, text, to_tensor};
use super::{Row, row};
use crate::Arg;
use crate::semantic::cast::cast;
use crate::semantic::shape::broadcast;
use crate::tracer::{Traced, Tracer};
use crate::value::{Constant, Value};

pub(super) const ROWS: &[Row] = &[
    row("tl.debug_barrier()", |tr, _| {
        tr.builder.effect(OpKind::Barrier, &[]);
        Ok(Value::NONE)
    }),
    row("tl.multiple_of(input, values)", |tr, args| {
        promise(tr, Promise::MultipleOf, args)
    }),
    row("tl.max_contiguous(input, values)", |tr, args| {
        promise(tr, Promise::MaxContiguous, args)
    }),
    row("tl.max_constancy(input, values)", |tr, args| {
        promise(tr, Promise::MaxConstancy, args)
    }),
    row("tl.assume(cond)", |tr, args| {
        let condition = to_tensor(tr, at(args, 0))?;
        if tr.ty(condition).elem != Elem::Num(DType::I1) {
            return Err(tr.reject("assume takes a boolean condition"));
        }
        if tr.is_block(condition) {
            return Err(tr.reject("assume takes a scalar condition, not a block"));
        }
        tr.builder.effect(OpKind::Assume, &[condition]);
        Ok(Value::NONE)
    })
    .since(3, 2, 0),
    row("tl.device_print(prefix, *args, hex=False)", print),
    row("tl.device_assert(cond, msg='')", assert).until(3, 5, 1),
    row("tl.device_assert(cond, msg='', mask=None)", |tr, args| {
        assert(tr, args)
    })
    .since(3, 5, 1),
];

/// Whether device asserts are compiled in: the launch option `debug`.
pub(super) fn asserts(tr: &Tracer<'_>) -> bool {
    matches!(tr.option("debug"), Some(Arg::Bool(true)))
}

fn assert(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    if asserts(tr) {
        let message = text(tr, at(args, 1), "the message of an assert")?
            .unwrap_or("")
            .to_owned();
        let mask = optional_tensor(tr, at(args, 2))?;
        let condition = to_tensor(tr, at(args, 0))?;
        assert_where(tr, condition, &message, mask)?;
    } else if tr.rules.holds(Rule::DebugIsAnOption) {
        to_tensor(tr, at(args, 0))?;
    }
    Ok(Value::NONE)
}

/// An assert that holds where the mask is false.
pub(super) fn assert_where(
    tr: &mut Tracer<'_>,
    condition: ValueId,
    message: &str,
    mask: Option<ValueId>,
) -> Traced<()> {
    let mut condition = condition;
    if tr.ty(condition).elem != Elem::Num(DType::I1) {
        condition = cast(tr, condition, DType::I1)?;
    }
    if let Some(mask) = mask {
        if tr.ty(mask).elem != Elem::Num(DType::I1) {
            return Err(tr.reject("the mask of an assert must be boolean"));
        }
        let (wide, mask) = broadcast(tr, condition, mask)?;
        let ty = tr.ty(mask).clone();
        let off = tr.op(OpKind::Unary(UnaryOp::Not), &[mask], ty.clone());
        condition = tr.op(OpKind::Binary(BinaryOp::Or), &[wide, off], ty);
    }
    tr.builder.effect(
        OpKind::Assert {
            message: message.to_owned(),
            mask: false,
        },
        &[condition],
    );
    Ok(())
}

fn print(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let Value::Constant(Constant::Str(prefix)) = at(args, 0) else {
        return Err(tr.reject("the prefix of device_print must be a string"));
    };
    let printable = |c: char| c.is_ascii_graphic() || matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
    if !prefix.chars().all(printable) {
        return Err(tr.reject(format!(
            "the prefix `{prefix}` of device_print is not an ASCII string"
        )));
    }
    let prefix = prefix.to_string();
    let hex = flag(tr, at(args, 2), "hex")?;
    let mut operands = Vec::new();
    for value in items(at(args, 1)) {
        operands.push(to_tensor(tr, value)?);
    }
    tr.builder.effect(OpKind::Print { prefix, hex }, &operands);
    Ok(Value::NONE)
}

fn promise(tr: &mut Tracer<'_>, promise: Promise, args: &[Value]) -> Traced<Value> {
    let input = tensor(tr, at(args, 0), "the input of a promise")?;
    let mut values = Shape::new();
    for value in items(at(args, 1)) {
        let number = int(tr, value, promise.name())?;
        match usize::try_from(number) {
            Ok(number) if number > 0 => values.push(number),
            _ => return Err(tr.reject(format!("{} takes positive numbers, not {number}", promise.name()))),
        }
    }
    let rank = tr.ty(input).shape.len();
    let wanted = if promise == Promise::MultipleOf {
        rank.max(1)
    } else {
        rank
    };
    if values.len() != wanted {
        return Err(tr.reject(format!(
            "{} takes one number for each of the {wanted} dimensions of its input, got {}",
            promise.name(),
            values.len()
        )));
    }
    if rank == 0 && promise != Promise::MultipleOf {
        return Ok(Value::Tensor(input));
    }
    let ty = tr.ty(input).clone();
    Ok(Value::Tensor(tr.op(
        OpKind::Hint { promise, values },
        &[input],
        ty,
    )))
}
