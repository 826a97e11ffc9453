//! Program ids, and functions that create tensors.

use cerith_tile::DType;
use cerith_tile::ir::{OpKind, Type};

use super::argument::{block_shape, expect_dtype, expect_flag, expect_int, get_argument, to_tensor};
use super::row::{Row, row};
use crate::constant::{self, Constant, PyBinary, TypeValue};
use crate::lowering::Lowering;
use crate::semantic::arithmetic::{self, select};
use crate::semantic::cast::cast;
use crate::semantic::promotion::{Operand, number_constant, to_operand};
use crate::semantic::shape::{arange, splat};
use crate::semantic::types::as_items;
use crate::stop::Traced;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    // It is not public, but TorchInductor's kernels use it.
    row("tl.standard._log2(i)", |lo, args| {
        let number = expect_int(lo, get_argument(args, 0), "the number")?;
        Ok(Value::from_int(number.max(1).ilog2()))
    }),
    // `tl.core` has it, and `tl` has all that `tl.core` has here.
    row("tl.get_int_dtype(bitwidth, signed)", |lo, args| {
        let bits = expect_int(lo, get_argument(args, 0), "the number of bits")?;
        let signed = expect_flag(lo, get_argument(args, 1), "`signed`")?;
        let dtype = DType::ALL
            .into_iter()
            .find(|dtype| dtype.triton_name() == format!("{}int{bits}", if signed { "" } else { "u" }));
        match dtype {
            Some(dtype) => Ok(Value::Constant(dtype.into())),
            None => Err(lo.reject(format!("no integer has {bits} bits"))),
        }
    }),
    row("tl.program_id(axis)", |lo, args| lower_grid_op(lo, args, false)),
    row("tl.num_programs(axis)", |lo, args| lower_grid_op(lo, args, true)),
    row("tl.arange(start, end)", |lo, args| {
        let (start, end) = (
            expect_int(lo, get_argument(args, 0), "arange's start")?,
            expect_int(lo, get_argument(args, 1), "arange's end")?,
        );
        arange(lo, start, end).map(Value::Tensor)
    }),
    row("tl.full(shape, value, dtype)", lower_full),
    row("tl.to_tensor(x)", |lo, args| {
        to_tensor(lo, get_argument(args, 0)).map(Value::Tensor)
    })
    .since(3, 7, 1),
    // The prelude makes tensors with it in every version.
    row("tl._to_tensor(x)", |lo, args| {
        to_tensor(lo, get_argument(args, 0)).map(Value::Tensor)
    }),
    // The prelude's random numbers overflow on purpose.
    row("tl._wrapping_add(x, y)", |lo, args| {
        lower_wrapping(lo, PyBinary::Add, args)
    }),
    row("tl._wrapping_mul(x, y)", |lo, args| {
        lower_wrapping(lo, PyBinary::Mul, args)
    }),
    row("tl.where(condition, x, y)", |lo, args| {
        let condition = to_tensor(lo, get_argument(args, 0))?;
        let (x, y) = (
            to_operand(lo, get_argument(args, 1))?,
            to_operand(lo, get_argument(args, 2))?,
        );
        select(lo, condition, x, y).map(Value::Tensor)
    }),
    row("tl.expect_zero(x, mask)", expect_zero).since(3, 8, 0),
    row("tl.add(x, y, sanitize_overflow=True)", |lo, args| {
        lower_operator(lo, PyBinary::Add, args)
    })
    .since(3, 2, 0),
    row("tl.sub(x, y, sanitize_overflow=True)", |lo, args| {
        lower_operator(lo, PyBinary::Sub, args)
    })
    .since(3, 6, 0),
    row("tl.mul(x, y, sanitize_overflow=True)", |lo, args| {
        lower_operator(lo, PyBinary::Mul, args)
    })
    .since(3, 6, 0),
    row(
        "tl.pointer_type(element_ty, address_space='global', const=False)",
        |lo, args| {
            let elem = super::argument::expect_elem(lo, get_argument(args, 0), "element_ty")?;
            Ok(Value::Constant(Constant::Type(TypeValue::Elem(elem.pointer()))))
        },
    ),
    row("tl.block_type(element_ty, shape)", |lo, args| {
        let elem = super::argument::expect_elem(lo, get_argument(args, 0), "element_ty")?;
        let shape = block_shape(lo, as_items(get_argument(args, 1)))?;
        Ok(super::types::type_of(&Type::block(elem, shape)))
    }),
    row("tl.condition(arg1, disable_licm=False)", |_, args| {
        Ok(get_argument(args, 0).clone())
    })
    .since(3, 5, 1),
    // It takes the names of any fields, so the tracer handles its calls. This row makes the name known.
    row("tl.aggregate_replace(instance)", |_, args| {
        Ok(get_argument(args, 0).clone())
    })
    .since(3, 8, 0),
    row("tl.slice(start, stop, step)", |lo, _| {
        Err(lo.report_unsupported("`tl.slice`, an object of the compiler's,"))
    })
    .since(3, 3, 1),
    row("triton.cdiv(x, y)", |lo, args| {
        let (x, y) = (
            expect_int(lo, get_argument(args, 0), "cdiv's x")?,
            expect_int(lo, get_argument(args, 1), "cdiv's y")?,
        );
        let fold = |op, x: &Constant, y: i128| constant::apply_binary(op, x, &Constant::Int(y));
        fold(PyBinary::Add, &Constant::Int(x), y)
            .and_then(|sum| fold(PyBinary::Sub, &sum, 1))
            .and_then(|sum| fold(PyBinary::FloorDiv, &sum, y))
            .map(Value::Constant)
            .map_err(|failure| lo.report_failure(failure))
    }),
    row("triton.next_power_of_2(n)", |lo, args| {
        let n = expect_int(lo, get_argument(args, 0), "next_power_of_2's argument")?;
        match u64::try_from(n).ok().and_then(u64::checked_next_power_of_two) {
            Some(power) if n > 0 => Ok(Value::from_int(i128::from(power))),
            _ if n == 0 => Ok(Value::from_int(0)),
            _ => Err(lo.report_unsupported("next_power_of_2 of a number that is negative or past 2**63")),
        }
    }),
];

fn lower_grid_op(lo: &mut Lowering, args: &[Value], count: bool) -> Traced<Value> {
    let axis = expect_int(lo, get_argument(args, 0), "the axis of the grid")?;
    let axis = match axis {
        0..=2 => axis as u8,
        _ => return Err(lo.reject(format!("the axis of the grid must be 0, 1 or 2, not {axis}"))),
    };
    let kind = if count {
        OpKind::NumPrograms(axis)
    } else {
        OpKind::ProgramId(axis)
    };
    Ok(Value::Tensor(lo.emit_op(kind, &[], Type::num(DType::I32))))
}

fn lower_full(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    if !matches!(get_argument(args, 0), Value::Tuple { .. } | Value::List(_)) {
        let given = crate::semantic::types::describe(get_argument(args, 0));
        return Err(lo.reject(format!("a shape is a tuple or a list, not {given}")));
    }
    let shape = block_shape(lo, as_items(get_argument(args, 0)))?;
    let dtype = expect_dtype(lo, get_argument(args, 2), "dtype")?;
    let scalar = match to_operand(lo, get_argument(args, 1))? {
        Operand::Tensor(value) => {
            if lo.is_block(value) {
                return Err(lo.reject("full takes a scalar"));
            }
            cast(lo, value, dtype)?
        }
        Operand::Number(number) => {
            let like = Type::block(Type::num(dtype).elem, shape);
            return number_constant(lo, number, dtype, Some(like)).map(Value::Tensor);
        }
    };
    Ok(Value::Tensor(splat(lo, scalar, &shape)))
}

/// A value that is expected to be zero where the mask is true. If asserts are on, this is asserted.
fn expect_zero(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let mask = to_tensor(lo, get_argument(args, 1))?;
    if lo.asserts() {
        let x = to_operand(lo, get_argument(args, 0))?;
        let zero = Operand::Number(crate::semantic::promotion::Number::Int(0));
        let is_zero = arithmetic::compare(lo, cerith_tile::ir::CmpPredicate::Eq, x, zero)?;
        super::debug::assert_where(
            lo,
            is_zero,
            "expect_zero expected x == 0 where mask is true",
            Some(mask),
        )?;
    }
    Ok(get_argument(args, 0).clone())
}

fn lower_operator(lo: &mut Lowering, op: PyBinary, args: &[Value]) -> Traced<Value> {
    let checked = expect_flag(lo, get_argument(args, 2), "sanitize_overflow")?;
    if !checked {
        return lower_wrapping(lo, op, args);
    }
    let (lhs, rhs) = (
        to_operand(lo, get_argument(args, 0))?,
        to_operand(lo, get_argument(args, 1))?,
    );
    arithmetic::lower_binary(lo, op, lhs, rhs).map(Value::Tensor)
}

fn lower_wrapping(lo: &mut Lowering, op: PyBinary, args: &[Value]) -> Traced<Value> {
    let (lhs, rhs) = (
        to_operand(lo, get_argument(args, 0))?,
        to_operand(lo, get_argument(args, 1))?,
    );
    arithmetic::lower_wrapping(lo, op, lhs, rhs).map(Value::Tensor)
}
