//! Checks the operand and result types of each operation without regions.

use super::verifier::{Signature, count, is_int, same_types};
use super::{AtomicOp, CastKind, Elem, OpKind, Shape, Type};
use crate::DType;
use crate::numeric;

type Check = Result<(), String>;

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(message()) }
}

impl<'a> Signature<'a> {
    fn takes<const N: usize>(self) -> Result<[&'a Type; N], String> {
        self.operands
            .try_into()
            .map_err(|_| count("operand", N, self.operands.len()))
    }

    fn makes<const N: usize>(self) -> Result<[&'a Type; N], String> {
        self.results
            .try_into()
            .map_err(|_| count("result", N, self.results.len()))
    }

    /// Operands of one numeric type, which is also the result's.
    fn elementwise<const N: usize>(self) -> Result<DType, String> {
        let operands = self.takes::<N>()?;
        let [result] = self.makes()?;
        for ty in operands {
            is("an operand", ty, result)?;
        }
        expect_dtype(result)
    }
}

fn is(what: &str, got: &Type, wanted: &Type) -> Check {
    ensure(got == wanted, || format!("{what} is {got}, not {wanted}"))
}

fn expect_dtype(ty: &Type) -> Result<DType, String> {
    ty.elem.num().ok_or_else(|| format!("{ty} holds no numbers"))
}

fn same_shape(what: &str, got: &Type, wanted: &Type) -> Check {
    ensure(got.shape == wanted.shape, || {
        format!("the {what} is {got}, whose shape differs from {wanted}")
    })
}

fn is_mask(what: &str, got: &Type, lanes: &Type) -> Check {
    is(what, got, &lanes.with_elem(Elem::Num(DType::I1)))
}

fn check_defined(defined: bool, name: &str, dtype: DType) -> Check {
    ensure(defined, || format!("{name} means nothing for {dtype}"))
}

fn expect_pointee(ty: &Type) -> Result<Elem, String> {
    ty.elem.pointee().ok_or_else(|| format!("{ty} holds no pointers"))
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
            ensure(width == 64 || bits >> width == 0, || {
                format!("{bits:#x} is too wide for {}", result.elem)
            })
        }
        OpKind::Poison => {
            let [] = signature.takes()?;
            signature.makes::<1>().map(drop)
        }
        OpKind::ProgramId(axis) | OpKind::NumPrograms(axis) => {
            let [] = signature.takes()?;
            let [result] = signature.makes()?;
            ensure(*axis < 3, || format!("a grid has no axis {axis}"))?;
            is("the result", result, &Type::num(DType::I32))
        }
        OpKind::Range { start, end } => {
            let [] = signature.takes()?;
            let [result] = signature.makes()?;
            let extent = usize::try_from(i64::from(*end) - i64::from(*start)).unwrap_or(0);
            ensure(extent > 0, || "the range is empty".to_owned())?;
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
                format!("{} promises for {operand}", values.len())
            })
        }
        OpKind::Unsupported(_) => Ok(()),
        // Those with regions.
        OpKind::Reduce { .. }
        | OpKind::Scan { .. }
        | OpKind::For { .. }
        | OpKind::If { .. }
        | OpKind::While { .. } => Err("its regions were not looked at".to_owned()),
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
    ensure(fits, || {
        format!("there is no {} from {operand} to {result}", kind.name())
    })
}

fn check_movement(kind: &OpKind, signature: Signature<'_>) -> Check {
    if *kind == OpKind::Split {
        let [operand] = signature.takes()?;
        let (last, rest) = operand.shape.split_last().ok_or("a scalar cannot be split")?;
        ensure(*last == 2, || format!("the last extent of {operand} is not 2"))?;
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
                (_, None) => return Err("scalars cannot be put one after the other".to_owned()),
            }
            is("the result", result, &Type::block(left.elem, shape))
        };
    }
    let [operand] = signature.takes()?;
    ensure(operand.elem == result.elem, || {
        format!("{operand} becomes {result}")
    })?;
    match kind {
        OpKind::Splat => ensure(operand.is_scalar() && !result.is_scalar(), || {
            format!("a splat makes {result} of {operand}")
        }),
        OpKind::Broadcast => {
            let fits = operand.shape.len() == result.shape.len()
                && operand
                    .shape
                    .iter()
                    .zip(&result.shape)
                    .all(|(from, to)| from == to || *from == 1);
            ensure(fits, || format!("{operand} cannot be broadcast to {result}"))
        }
        OpKind::Trans { order } => {
            let mut seen = order.clone();
            seen.sort_unstable();
            let permutation = seen.iter().copied().eq(0..operand.shape.len());
            ensure(permutation, || {
                format!("{:?} does not permute {operand}", order.as_slice())
            })?;
            let shape: Shape = order
                .iter()
                .filter_map(|&from| operand.shape.get(from).copied())
                .collect();
            is("the result", result, &Type::block(operand.elem, shape))
        }
        _ => ensure(operand.numel() == result.numel(), || {
            format!("{operand} and {result} have different numbers of lanes")
        }),
    }
}

fn gather(axis: usize, source: &Type, index: &Type, result: &Type) -> Check {
    ensure(is_int(index.elem), || format!("the index is {index}"))?;
    ensure(axis < source.shape.len(), || {
        format!("{source} has no axis {axis}")
    })?;
    let others = source.shape.len() == index.shape.len()
        && source
            .shape
            .iter()
            .zip(&index.shape)
            .enumerate()
            .all(|(at, (from, to))| at == axis || from == to);
    ensure(others, || format!("{source} and {index} differ off axis {axis}"))?;
    is("the result", result, &index.with_elem(source.elem))
}

fn check_memory(kind: &OpKind, signature: Signature<'_>) -> Check {
    let Some(&pointer) = signature.operands.first() else {
        return Err("it has no pointer".to_owned());
    };
    let value = pointer.with_elem(expect_pointee(pointer)?);
    let mask = pointer.with_elem(Elem::Num(DType::I1));
    let mut wanted = vec![pointer.clone()];
    let result = match kind {
        OpKind::AddPtr => {
            let [_, offset] = signature.takes()?;
            same_shape("offset", offset, pointer)?;
            ensure(is_int(offset.elem), || format!("the offset is {offset}"))?;
            wanted.push(offset.clone());
            Some(pointer.clone())
        }
        OpKind::Load {
            mask: masked,
            has_other: other,
            ..
        } => {
            ensure(*masked || !*other, || {
                "a load without a mask has another value".to_owned()
            })?;
            if *masked {
                wanted.push(mask);
            }
            if *other {
                wanted.push(value.clone());
            }
            Some(value)
        }
        OpKind::AtomicPoll { .. } => {
            ensure(is_int(value.elem), || format!("it waits for {}", value.elem))?;
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
                    ensure(fits, || format!("{} means nothing for {}", op.name(), value.elem))?;
                    Some(value)
                }
                _ => None,
            }
        }
        _ => return Err("it does not touch memory".to_owned()),
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
    ensure(fits, || format!("{a} times {b} is not {accumulator}"))
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
    ensure(is_int(values.elem) && values.shape.len() == 1, || {
        format!("the values are {values}")
    })?;
    ensure(is_int(result.elem) && result.shape.len() == 1, || {
        format!("the counts are {result}")
    })
}
