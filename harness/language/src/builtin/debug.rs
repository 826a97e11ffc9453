//! Asserts, prints, barriers and promises to the compiler.

use cerith_tile::DType;
use cerith_tile::ir::{AssertedBy, BinaryOp, Elem, OpKind, Promise, Shape, UnaryOp, ValueId};
use cerith_tile::rules::Rule;

use super::argument::{expect_flag, expect_int, expect_text, get_argument, optional_tensor, to_tensor};
use super::row::{Row, row};
use crate::constant::Constant;
use crate::lowering::Lowering;
use crate::semantic::cast::cast;
use crate::semantic::shape::broadcast;
use crate::semantic::types::{as_items, expect_tensor};
use crate::stop::Traced;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row("tl.debug_barrier()", |lo, _| {
        lo.builder.add_effect(OpKind::Barrier, &[]);
        Ok(Value::NONE)
    }),
    row("tl.multiple_of(input, values)", |lo, args| {
        promise(lo, Promise::MultipleOf, args)
    }),
    row("tl.max_contiguous(input, values)", |lo, args| {
        promise(lo, Promise::MaxContiguous, args)
    }),
    row("tl.max_constancy(input, values)", |lo, args| {
        promise(lo, Promise::MaxConstancy, args)
    }),
    row("tl.assume(cond)", |lo, args| {
        let condition = to_tensor(lo, get_argument(args, 0))?;
        if lo.ty(condition).elem != Elem::Num(DType::I1) {
            return Err(lo.reject("assume takes a boolean condition"));
        }
        if lo.is_block(condition) {
            return Err(lo.reject("assume takes a scalar condition, not a block"));
        }
        lo.builder.add_effect(OpKind::Assume, &[condition]);
        Ok(Value::NONE)
    })
    .since(3, 2, 0),
    row("tl.device_print(prefix, *args, hex=False)", print),
    row("tl.device_assert(cond, msg='')", assert).removed_in(3, 5, 1),
    row("tl.device_assert(cond, msg='', mask=None)", |lo, args| {
        assert(lo, args)
    })
    .since(3, 5, 1),
];

fn assert(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    if lo.asserts() {
        let message = expect_text(lo, get_argument(args, 1), "the message of an assert")?
            .unwrap_or("")
            .to_owned();
        let mask = optional_tensor(lo, get_argument(args, 2))?;
        let condition = to_tensor(lo, get_argument(args, 0))?;
        assert_where(lo, condition, &message, mask)?;
    } else if lo.rules.holds(Rule::DebugIsAnOption) {
        to_tensor(lo, get_argument(args, 0))?;
    }
    Ok(Value::NONE)
}

/// An assert that holds where the mask is false.
pub(super) fn assert_where(
    lo: &mut Lowering,
    condition: ValueId,
    message: &str,
    mask: Option<ValueId>,
) -> Traced<()> {
    let mut condition = condition;
    if lo.ty(condition).elem != Elem::Num(DType::I1) {
        condition = cast(lo, condition, DType::I1)?;
    }
    if let Some(mask) = mask {
        if lo.ty(mask).elem != Elem::Num(DType::I1) {
            return Err(lo.reject("the mask of an assert must be boolean"));
        }
        let (wide, mask) = broadcast(lo, condition, mask)?;
        let ty = lo.ty(mask).clone();
        let off = lo.emit_op(OpKind::Unary(UnaryOp::Not), &[mask], ty.clone());
        condition = lo.emit_op(OpKind::Binary(BinaryOp::Or), &[wide, off], ty);
    }
    lo.builder.add_effect(
        OpKind::Assert {
            message: message.to_owned(),
            mask: false,
            check: AssertedBy::Kernel,
        },
        &[condition],
    );
    Ok(())
}

fn print(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let Value::Constant(Constant::Str(prefix)) = get_argument(args, 0) else {
        return Err(lo.reject("the prefix of device_print must be a string"));
    };
    let printable = |c: char| c.is_ascii_graphic() || matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
    if !prefix.chars().all(printable) {
        return Err(lo.reject(format!(
            "the prefix `{prefix}` of device_print is not an ASCII string"
        )));
    }
    let prefix = prefix.to_string();
    let hex = expect_flag(lo, get_argument(args, 2), "hex")?;
    let mut operands = Vec::new();
    for value in as_items(get_argument(args, 1)) {
        operands.push(to_tensor(lo, value)?);
    }
    lo.builder.add_effect(OpKind::Print { prefix, hex }, &operands);
    Ok(Value::NONE)
}

fn promise(lo: &mut Lowering, promise: Promise, args: &[Value]) -> Traced<Value> {
    let input = expect_tensor(lo, get_argument(args, 0), "the input of a promise")?;
    let mut values = Shape::new();
    for value in as_items(get_argument(args, 1)) {
        let number = expect_int(lo, value, promise.name())?;
        match usize::try_from(number) {
            Ok(number) if number > 0 => values.push(number),
            _ => return Err(lo.reject(format!("{} takes positive numbers, not {number}", promise.name()))),
        }
    }
    let rank = lo.ty(input).shape.len();
    let wanted = if promise == Promise::MultipleOf {
        rank.max(1)
    } else {
        rank
    };
    if values.len() != wanted {
        return Err(lo.reject(format!(
            "{} takes one number for each of the {wanted} dimensions of its input, got {}",
            promise.name(),
            values.len()
        )));
    }
    if rank == 0 && promise != Promise::MultipleOf {
        return Ok(Value::Tensor(input));
    }
    let ty = lo.ty(input).clone();
    Ok(Value::Tensor(lo.emit_op(
        OpKind::Hint { promise, values },
        &[input],
        ty,
    )))
}
