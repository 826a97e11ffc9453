//! Checks the operand and result types of each operation without regions.

use super::verifier::{Signature, count, is_int, same_types};
use super::violation::{Check, Violation, copy, ensure};
use super::{AtomicOp, CastKind, Elem, OpKind, Shape, Type};
use crate::DType;
use crate::numeric;

impl<'a> Signature<'a> {
    fn takes<const N: usize>(self) -> Check<[&'a Type; N]> {
        self.operands
            .try_into()
            .map_err(|_| count("operand", N, self.operands.len()))
    }

    fn makes<const N: usize>(self) -> Check<[&'a Type; N]> {
        self.results
            .try_into()
            .map_err(|_| count("result", N, self.results.len()))
    }

    /// Operands of one numeric type, which is also the result's.
    fn elementwise<const N: usize>(self) -> Check<DType> {
        let operands = self.takes::<N>()?;
        let [result] = self.makes()?;
        for ty in operands {
            is("an operand", ty, result)?;
        }
        expect_dtype(result)
    }
}

fn is(part: &'static str, got: &Type, wanted: &Type) -> Check {
    ensure(got == wanted, || Violation::Type {
        part,
        actual: copy(got),
        expected: copy(wanted),
    })
}

fn expect_dtype(ty: &Type) -> Check<DType> {
    ty.elem.num().ok_or_else(|| Violation::NoNumbers(copy(ty)))
}

fn same_shape(part: &'static str, got: &Type, wanted: &Type) -> Check {
    ensure(got.shape == wanted.shape, || Violation::Shape {
        part,
        actual: copy(got),
        expected: copy(wanted),
    })
}

/// Checks an element type that must be of integers. `part` is the beginning of the message: `the index is`.
fn expect_integers(part: &'static str, holds: bool, ty: &Type) -> Check {
    ensure(holds, || Violation::Integers {
        part,
        actual: copy(ty),
    })
}

fn is_mask(part: &'static str, got: &Type, lanes: &Type) -> Check {
    is(part, got, &lanes.with_elem(Elem::Num(DType::I1)))
}

fn check_defined(defined: bool, operation: &'static str, dtype: DType) -> Check {
    let elem = Elem::Num(dtype);
    ensure(defined, || Violation::Undefined { operation, elem })
}

fn expect_pointee(ty: &Type) -> Check<Elem> {
    ty.elem.pointee().ok_or_else(|| Violation::NoPointers(copy(ty)))
}

/// Checks operands and results; operations with regions are the verifier's.
pub(super) fn check(kind: &OpKind, signature: Signature<'_>) -> Check {
    match kind {
        OpKind::Unary(op) => {
            let [operand] = signature.takes()?;
            let [result] = signature.makes()?;
            let of = expect_dtype(operand)?;
            check_defined(numeric::unary_defined(*op, of), op.name(), of)?;
            is(
                "the result",
                result,
                &operand.with_elem(Elem::Num(numeric::unary_result(*op, of))),
            )
        }
        OpKind::Binary(op) => {
            let of = signature.elementwise::<2>()?;
            check_defined(numeric::binary_defined(*op, of), op.name(), of)
        }
        OpKind::Ternary(op) => {
            let of = signature.elementwise::<3>()?;
            check_defined(numeric::ternary_defined(*op, of), op.name(), of)
        }
        OpKind::Library(symbol) => {
            let [result] = signature.makes()?;
            let wanted: Vec<Type> = symbol
                .operands
                .iter()
                .map(|&dtype| result.with_elem(Elem::Num(dtype)))
                .collect();
            same_types("operand", signature.operands, &wanted)?;
            is("the result", result, &result.with_elem(Elem::Num(symbol.result)))
        }
        OpKind::Foreign(_) => {
            let [result] = signature.makes()?;
            let wanted: Vec<Type> = signature
                .operands
                .iter()
                .map(|operand| result.with_elem(operand.elem))
                .collect();
            same_types("operand", signature.operands, &wanted)
        }
        OpKind::Compare(_) => {
            let [left, right] = signature.takes()?;
            let [result] = signature.makes()?;
            is("the right side", right, left)?;
            is_mask("the result", result, left)
        }
        OpKind::Select => {
            let [condition, if_true, if_false] = signature.takes()?;
            let [result] = signature.makes()?;
            is("the value if true", if_true, result)?;
            is("the value if false", if_false, result)?;
            if condition.is_scalar() {
                return is("the condition", condition, &Type::num(DType::I1));
            }
            is_mask("the condition", condition, result)
        }
        OpKind::Cast { kind, .. } => cast(*kind, signature),
        OpKind::Constant(bits) => {
            let [] = signature.takes()?;
            let [result] = signature.makes()?;
            let width = result.elem.num().map_or(64, DType::bits);
            ensure(width == 64 || bits >> width == 0, || Violation::Wide {
                bits: *bits,
                elem: result.elem,
            })
        }
        OpKind::Poison => {
            let [] = signature.takes()?;
            signature.makes::<1>().map(drop)
        }
        OpKind::ProgramId(axis) | OpKind::NumPrograms(axis) => {
            let [] = signature.takes()?;
            let [result] = signature.makes()?;
            ensure(*axis < 3, || Violation::GridAxis(*axis))?;
            is("the result", result, &Type::num(DType::I32))
        }
        OpKind::Range { start, end } => {
            let [] = signature.takes()?;
            let [result] = signature.makes()?;
            let extent = usize::try_from(i64::from(*end) - i64::from(*start)).unwrap_or(0);
            ensure(extent > 0, || Violation::EmptyRange)?;
            is(
                "the result",
                result,
                &Type::block(Elem::Num(DType::I32), [extent].as_slice()),
            )
        }
        OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Reshape { .. }
        | OpKind::Trans { .. }
        | OpKind::Join
        | OpKind::Split
        | OpKind::Cat { .. }
        | OpKind::Gather { .. } => check_movement(kind, signature),
        OpKind::AddPtr
        | OpKind::Load { .. }
        | OpKind::Store { .. }
        | OpKind::AtomicRmw { .. }
        | OpKind::AtomicCas { .. }
        | OpKind::AtomicPoll { .. } => check_memory(kind, signature),
        OpKind::Dot { .. } => dot(signature),
        OpKind::Histogram { mask } => histogram(*mask, signature),
        OpKind::Yield | OpKind::Print { .. } => signature.makes::<0>().map(drop),
        OpKind::Assert { mask, .. } => {
            let [] = signature.makes()?;
            let condition = if *mask {
                let [condition, mask] = signature.takes()?;
                is_mask("the mask", mask, condition)?;
                condition
            } else {
                let [condition] = signature.takes()?;
                condition
            };
            is_mask("the condition", condition, condition)
        }
        OpKind::Assume | OpKind::Demand(_) => {
            let [] = signature.makes()?;
            let [condition] = signature.takes()?;
            is_mask("the condition", condition, condition)
        }
        OpKind::Barrier | OpKind::Acquire => {
            let [] = signature.takes()?;
            signature.makes::<0>().map(drop)
        }
        OpKind::Hint { values, .. } => {
            let [operand] = signature.takes()?;
            let [result] = signature.makes()?;
            is("the result", result, operand)?;
            ensure(values.len() == operand.shape.len().max(1), || {
                Violation::Promises(values.len(), copy(operand))
            })
        }
        OpKind::Unsupported(_) => Ok(()),
        // Those with regions.
        OpKind::Reduce { .. }
        | OpKind::Scan { .. }
        | OpKind::For { .. }
        | OpKind::If { .. }
        | OpKind::While { .. } => Err(Violation::Regions),
    }
}

fn cast(kind: CastKind, signature: Signature<'_>) -> Check {
    let [operand] = signature.takes()?;
    let [result] = signature.makes()?;
    same_shape("result", result, operand)?;
    let fits = match (kind, operand.elem, result.elem) {
        (CastKind::Value, Elem::Num(from), Elem::Num(to)) => numeric::cast_defined(from, to),
        (CastKind::Value, ..) => false,
        (CastKind::Bits, Elem::Num(from), Elem::Num(to)) => from.bits() == to.bits(),
        (CastKind::Bits, Elem::Ptr { .. }, Elem::Ptr { .. }) => true,
        (CastKind::Bits, Elem::Ptr { .. }, Elem::Num(number))
        | (CastKind::Bits, Elem::Num(number), Elem::Ptr { .. }) => {
            matches!(number, DType::I64 | DType::U64)
        }
    };
    ensure(fits, || Violation::Cast {
        kind: kind.name(),
        from: copy(operand),
        to: copy(result),
    })
}

fn check_movement(kind: &OpKind, signature: Signature<'_>) -> Check {
    if *kind == OpKind::Split {
        let [operand] = signature.takes()?;
        let (last, rest) = operand.shape.split_last().ok_or(Violation::ScalarSplit)?;
        ensure(*last == 2, || Violation::SplitExtent(copy(operand)))?;
        let half = Type::block(operand.elem, rest);
        return same_types("result", signature.results, &[half.clone(), half]);
    }
    let [result] = signature.makes()?;
    if matches!(kind, OpKind::Join | OpKind::Cat { .. } | OpKind::Gather { .. }) {
        let [left, right] = signature.takes()?;
        return if let OpKind::Gather { axis } = kind {
            gather(*axis, left, right, result)
        } else {
            is("the right side", right, left)?;
            let mut shape = left.shape.clone();
            match (kind, shape.first_mut()) {
                (OpKind::Join, _) => shape.push(2),
                (_, Some(first)) => *first = first.saturating_mul(2),
                (_, None) => return Err(Violation::ScalarCat),
            }
            is("the result", result, &Type::block(left.elem, shape))
        };
    }
    let [operand] = signature.takes()?;
    ensure(operand.elem == result.elem, || {
        Violation::Element(copy(operand), copy(result))
    })?;
    match kind {
        OpKind::Splat => ensure(operand.is_scalar() && !result.is_scalar(), || {
            Violation::Splat(copy(operand), copy(result))
        }),
        OpKind::Broadcast => {
            let fits = operand.shape.len() == result.shape.len()
                && operand
                    .shape
                    .iter()
                    .zip(&result.shape)
                    .all(|(from, to)| from == to || *from == 1);
            ensure(fits, || Violation::Broadcast(copy(operand), copy(result)))
        }
        OpKind::Trans { order } => {
            let mut seen = order.clone();
            seen.sort_unstable();
            let permutation = seen.iter().copied().eq(0..operand.shape.len());
            ensure(permutation, || Violation::Order {
                order: order.to_vec(),
                operand: copy(operand),
            })?;
            let shape: Shape = order
                .iter()
                .filter_map(|&from| operand.shape.get(from).copied())
                .collect();
            is("the result", result, &Type::block(operand.elem, shape))
        }
        _ => ensure(operand.numel() == result.numel(), || {
            Violation::Reshape(copy(operand), copy(result))
        }),
    }
}

fn gather(axis: usize, source: &Type, index: &Type, result: &Type) -> Check {
    expect_integers("the index is", is_int(index.elem), index)?;
    ensure(axis < source.shape.len(), || {
        Violation::NoAxis(copy(source), axis)
    })?;
    let others = source.shape.len() == index.shape.len()
        && source
            .shape
            .iter()
            .zip(&index.shape)
            .enumerate()
            .all(|(at, (from, to))| at == axis || from == to);
    ensure(others, || Violation::Gather(copy(source), copy(index), axis))?;
    is("the result", result, &index.with_elem(source.elem))
}

fn check_memory(kind: &OpKind, signature: Signature<'_>) -> Check {
    let Some(&pointer) = signature.operands.first() else {
        return Err(Violation::NoPointer);
    };
    let value = pointer.with_elem(expect_pointee(pointer)?);
    let mask = pointer.with_elem(Elem::Num(DType::I1));
    let mut wanted = vec![pointer.clone()];
    let result = match kind {
        OpKind::AddPtr => {
            let [_, offset] = signature.takes()?;
            same_shape("offset", offset, pointer)?;
            expect_integers("the offset is", is_int(offset.elem), offset)?;
            wanted.push(offset.clone());
            Some(pointer.clone())
        }
        OpKind::Load {
            mask: masked,
            has_other: other,
            ..
        } => {
            ensure(*masked || !*other, || Violation::UnmaskedOther)?;
            if *masked {
                wanted.push(mask);
            }
            if *other {
                wanted.push(value.clone());
            }
            Some(value)
        }
        OpKind::AtomicPoll { .. } => {
            ensure(is_int(value.elem), || Violation::Poll(value.elem))?;
            wanted.push(value);
            Some(mask)
        }
        OpKind::AtomicCas { .. } => {
            wanted.extend([value.clone(), value.clone()]);
            Some(value)
        }
        OpKind::Store { mask: masked } | OpKind::AtomicRmw { mask: masked, .. } => {
            wanted.push(value.clone());
            if *masked {
                wanted.push(mask);
            }
            match kind {
                OpKind::AtomicRmw { op, .. } => {
                    let bitwise = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
                    let fits =
                        *op == AtomicOp::Xchg || value.elem.num().is_some_and(|d| d.is_int() || !bitwise);
                    ensure(fits, || Violation::Undefined {
                        operation: op.name(),
                        elem: value.elem,
                    })?;
                    Some(value)
                }
                _ => None,
            }
        }
        _ => return Err(Violation::NoMemory),
    };
    same_types("operand", signature.operands, &wanted)?;
    same_types("result", signature.results, result.as_slice())
}

fn dot(signature: Signature<'_>) -> Check {
    let [a, b, accumulator] = signature.takes()?;
    let [result] = signature.makes()?;
    is("the result", result, accumulator)?;
    for ty in [a, b, accumulator] {
        expect_dtype(ty)?;
    }
    let fits = match (&a.shape[..], &b.shape[..], &accumulator.shape[..]) {
        ([m, k], [k2, n], [m2, n2]) => m == m2 && n == n2 && k == k2,
        ([p, m, k], [q, k2, n], [r, m2, n2]) => p == q && p == r && m == m2 && n == n2 && k == k2,
        _ => false,
    };
    ensure(fits, || {
        Violation::Dot(Box::new([a, b, accumulator].map(Type::clone)))
    })
}

fn histogram(mask: bool, signature: Signature<'_>) -> Check {
    let [result] = signature.makes()?;
    let values = if mask {
        let [values, mask] = signature.takes()?;
        is_mask("the mask", mask, values)?;
        values
    } else {
        let [values] = signature.takes()?;
        values
    };
    let is_row = |ty: &Type| is_int(ty.elem) && ty.shape.len() == 1;
    expect_integers("the values are", is_row(values), values)?;
    expect_integers("the counts are", is_row(result), result)
}
