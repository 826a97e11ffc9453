//! Lowers constants. Those with different lanes are unsupported; Triton doesn't emit them.

use cerith_tile::ir::{Elem, OpKind, Rounding, Type, ValueId};
use cerith_tile::numeric;

use super::{Lowered, Lowering, result_type, stop};
use crate::syntax::{Attr, Operation};

impl Lowering<'_> {
    /// Lowers `arith.constant`, `ub.poison`, `llvm.mlir.undef`, ….
    pub(super) fn lower_constant(&mut self, op: &Operation) -> Lowered<ValueId> {
        let attr = op.words.first().or_else(|| op.find_attr("value"));
        let Some(attr) = attr else {
            return stop("a constant without a value");
        };
        // No type follows `true`.
        let ty = match (op.result_types().first(), attr) {
            (None, Attr::Bool(_)) => Type::num(cerith_tile::DType::I1),
            _ => result_type(op)?,
        };
        let bits = constant_bits(attr, ty.elem)?;
        let value = self.builder.add_constant(bits, ty);
        self.numbers.insert(value, bits);
        Ok(value)
    }

    pub(super) fn lower_poison(&mut self, op: &Operation) -> Lowered<ValueId> {
        let ty = result_type(op)?;
        Ok(self.push_op(OpKind::Poison, &[], ty))
    }
}

/// Returns the bits of the value that every lane has.
fn constant_bits(attr: &Attr, elem: Elem) -> Lowered<u64> {
    let dtype = elem.num();
    match (attr, dtype) {
        (Attr::Dense(inner), _) => match &**inner {
            Attr::List(items) => match items.as_slice() {
                [first, rest @ ..] if rest.iter().all(|item| item == first) => {
                    constant_bits(&Attr::Dense(Box::new(first.clone())), elem)
                }
                _ => stop("a constant whose lanes differ"),
            },
            inner => constant_bits(inner, elem),
        },
        (Attr::Bool(flag), Some(dtype)) if dtype.is_int() => Ok(u64::from(*flag)),
        (Attr::Int(number), Some(dtype)) if dtype.is_int() => Ok(numeric::encode_int(dtype, *number)),
        (Attr::Bits(bits), Some(_)) => Ok(*bits as u64),
        (Attr::Float(number), Some(dtype)) if dtype.is_float() => {
            Ok(numeric::encode(dtype, *number, Rounding::NearestEven))
        }
        _ => stop(format!("a constant {attr:?} of {elem}")),
    }
}
