//! Operations on rules, so that no lane is stored.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem};

use crate::affine::{Affine, BoxMask, MaskRule, RANK, decode_integer};
use crate::value::{Layout, Repr, Value};

/// An integer or pointer value as a rule.
pub(super) fn to_affine(value: &Value, elem: Elem) -> Option<Affine> {
    match value.repr {
        Repr::Affine(affine) => Some(affine),
        Repr::Uniform(bits) => decode_integer(bits, elem).map(Affine::constant),
        _ => None,
    }
}

/// A rule as a representation; equal lanes become uniform.
pub(super) fn affine_repr(affine: Affine, layout: &Layout) -> Option<Repr> {
    if !layout.ruled {
        return None;
    }
    let affine = affine.check_range(layout.elem, &layout.extents)?;
    Some(match affine.as_uniform(&layout.extents) {
        Some(all) => Repr::Uniform(all as u64 & layout.element_mask()),
        None => Repr::Affine(affine),
    })
}

pub(super) fn mask_repr(rule: MaskRule) -> Repr {
    match rule {
        MaskRule::Uniform(all) => Repr::Uniform(u64::from(all)),
        MaskRule::Box(mask) => Repr::Mask(mask),
    }
}

pub(super) fn binary_rule(op: BinaryOp, a: &Value, b: &Value, layout: &Layout) -> Option<Repr> {
    if layout.elem == Elem::Num(DType::I1) {
        return mask_rule(op, &a.repr, &b.repr, layout);
    }
    if !matches!(a.repr, Repr::Affine(_)) && !matches!(b.repr, Repr::Affine(_)) {
        return None;
    }
    let (x, y) = (to_affine(a, layout.elem)?, to_affine(b, layout.elem)?);
    let constant = |affine: &Affine| (affine.strides == [0; RANK]).then_some(affine.base);
    let result = match op {
        BinaryOp::Add => x.add(y)?,
        BinaryOp::Sub => x.sub(y)?,
        BinaryOp::Mul => match (constant(&x), constant(&y)) {
            (_, Some(by)) => x.scale(by)?,
            (Some(by), _) => y.scale(by)?,
            _ => return None,
        },
        BinaryOp::Shl => {
            let by = constant(&y).filter(|by| (0..31).contains(by))?;
            x.scale(1 << by)?
        }
        _ => return None,
    };
    affine_repr(result, layout)
}

pub(super) fn mask_rule(op: BinaryOp, a: &Repr, b: &Repr, layout: &Layout) -> Option<Repr> {
    match (op, a, b) {
        (BinaryOp::And, Repr::Mask(x), Repr::Mask(y)) => Some(mask_repr(x.and(*y, &layout.extents))),
        (BinaryOp::And, Repr::Mask(x), Repr::Uniform(all))
        | (BinaryOp::And, Repr::Uniform(all), Repr::Mask(x)) => Some(if all & 1 == 1 {
            Repr::Mask(*x)
        } else {
            Repr::Uniform(0)
        }),
        (BinaryOp::Or, Repr::Mask(x), Repr::Uniform(all))
        | (BinaryOp::Or, Repr::Uniform(all), Repr::Mask(x)) => Some(if all & 1 == 1 {
            Repr::Uniform(1)
        } else {
            Repr::Mask(*x)
        }),
        (BinaryOp::Xor, Repr::Mask(x), Repr::Uniform(all))
        | (BinaryOp::Xor, Repr::Uniform(all), Repr::Mask(x)) => {
            if all & 1 == 1 {
                Some(Repr::Mask(x.not(&layout.extents)?))
            } else {
                Some(Repr::Mask(*x))
            }
        }
        _ => None,
    }
}

/// A rule seen through other extents: broadcast, reshape and the like. `from[d]` is the source's dimension of result
/// dimension `d`, where it has one.
pub(crate) fn remap_rule(repr: Repr, from: [Option<usize>; RANK], layout: &Layout) -> Option<Repr> {
    match repr {
        Repr::Uniform(_) => Some(repr),
        Repr::Dense => None,
        Repr::Affine(rule) => {
            let mut strides = [0; RANK];
            for (to, source) in strides.iter_mut().zip(from) {
                *to = source.and_then(|d| rule.strides.get(d)).copied().unwrap_or(0);
            }
            affine_repr(
                Affine {
                    base: rule.base,
                    strides,
                },
                layout,
            )
        }
        Repr::Mask(mask) => {
            let mut seen = BoxMask {
                lo: [0; RANK],
                hi: layout.extents,
            };
            for (d, source) in from.into_iter().enumerate() {
                if let Some(s) = source {
                    *seen.lo.get_mut(d)? = *mask.lo.get(s)?;
                    *seen.hi.get_mut(d)? = *mask.hi.get(s)?;
                }
            }
            Some(mask_repr(seen.into_rule(&layout.extents)))
        }
    }
}
