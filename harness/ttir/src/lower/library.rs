//! Lowers functions of CUDA's library, which Triton calls by symbol (`cerith_tile::numeric::library`).

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, OpKind, UnaryOp, ValueId};
use cerith_tile::numeric::library::symbols;
use cerith_tile::numeric::unary_result;

use super::{Lowered, Lowering, result_type, stop};
use crate::syntax::{Attr, Operation};

/// Finds the IR's operation for a function without its `__nv_`, and without the `f` of single precision.
fn find_unary(stem: &str) -> Option<UnaryOp> {
    use UnaryOp as U;
    Some(match stem {
        "rint" | "nearbyint" => U::Rint,
        "trunc" => U::Trunc,
        "round" => U::Round,
        "floor" => U::Floor,
        "ceil" => U::Ceil,
        "sqrt" => U::Sqrt,
        "rsqrt" => U::Rsqrt,
        "exp" => U::Exp,
        "exp2" => U::Exp2,
        "expm1" => U::Expm1,
        "log" => U::Log,
        "log2" => U::Log2,
        "log10" => U::Log10,
        "log1p" => U::Log1p,
        "sin" => U::Sin,
        "cos" => U::Cos,
        "tan" => U::Tan,
        "asin" => U::Asin,
        "acos" => U::Acos,
        "atan" => U::Atan,
        "sinh" => U::Sinh,
        "cosh" => U::Cosh,
        "tanh" => U::Tanh,
        "erf" => U::Erf,
        // `isnand` and `isinfd` take doubles.
        "isnan" | "isnand" => U::IsNan,
        "isinf" | "isinfd" => U::IsInf,
        _ => return None,
    })
}

fn find_binary(stem: &str) -> Option<BinaryOp> {
    Some(match stem {
        "atan2" => BinaryOp::Atan2,
        "copysign" => BinaryOp::CopySign,
        "pow" => BinaryOp::Pow,
        _ => return None,
    })
}

/// Functions that reinterpret bits.
const REINTERPRETED: [&str; 6] = [
    "int_as_float",
    "float_as_int",
    "uint_as_float",
    "float_as_uint",
    "longlong_as_double",
    "double_as_longlong",
];

impl Lowering<'_> {
    /// `tt.extern_elementwise`.
    pub(super) fn lower_library(&mut self, op: &Operation) -> Lowered<ValueId> {
        let symbol = op.find_attr("symbol").and_then(Attr::text).unwrap_or_default();
        let Some(name) = symbol.strip_prefix("__nv_") else {
            return stop(format!("a call of `{symbol}` is not supported yet"));
        };
        let ty = result_type(op)?;
        let mut operands = Vec::with_capacity(op.operands.len());
        for nth in 0..op.operands.len() {
            operands.push(self.single_operand(op, nth)?);
        }
        if REINTERPRETED.contains(&name)
            && let &[value] = operands.as_slice()
        {
            return Ok(self.bitcast(value, ty.elem));
        }
        if let Some(found) = symbols().find(|one| one.name == symbol) {
            if found.operands.len() != operands.len() {
                return stop(format!("a call of `{symbol}` with {} operands", operands.len()));
            }
            for (operand, &dtype) in operands.iter_mut().zip(found.operands) {
                *operand = self.bitcast(*operand, Elem::Num(dtype));
            }
            let result = ty.with_elem(Elem::Num(found.result));
            let value = self.push_op(OpKind::Library(found), &operands, result);
            return Ok(self.bitcast(value, ty.elem));
        }
        let first = operands.first().and_then(|&first| self.dtype(first));
        let stem = match first {
            Some(DType::F32) => name.strip_suffix('f').unwrap_or(name),
            _ => name,
        };
        if let (&[value], Some(kind), Some(dtype)) = (operands.as_slice(), find_unary(stem), first) {
            let result = ty.with_elem(Elem::Num(unary_result(kind, dtype)));
            let value = self.push_op(OpKind::Unary(kind), &[value], result);
            // A function with a boolean result returns a C int.
            return Ok(self.cast_value(value, ty, cerith_tile::ir::Rounding::NearestEven));
        }
        if let (&[left, right], Some(kind)) = (operands.as_slice(), find_binary(stem))
            && self.builder.ty(left) == self.builder.ty(right)
        {
            return Ok(self.push_op(OpKind::Binary(kind), &[left, right], ty));
        }
        stop(format!("a call of `{symbol}` is not supported yet"))
    }
}
