//! Lanes that follow a rule, so that they need not be stored: integers and pointers that are an affine function of their
//! index, and masks that are a box of indices. See [`crate::value`] for stored lanes.
//!
//! An [`Affine`] is exact: the mathematical value of every lane is inside the range of its element type, so no lane
//! has wrapped and two affine values compare as integers do. Whatever would leave the range is not affine and the
//! caller computes lane by lane, with wrapping.

use cerith_tile::ir::{CmpPredicate, Elem};

/// The maximum dimensions of a rule. Blocks with more are always stored.
pub(crate) const RANK: usize = 4;

/// The extents of a block of at most [`RANK`] dimensions, padded with 1.
pub(crate) type Extents<const N: usize = RANK> = [u32; N];

/// Lane `i` holds `base + Σ strides[d] * i[d]`. There are more dimensions than [`RANK`] if program ids count as indices too
/// ([`crate::survey`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine<const N: usize = RANK> {
    pub base: i64,
    pub strides: [i64; N],
}

/// Lane `i` is true where `lo[d] <= i[d] < hi[d]` for every dimension. Never all lanes, never none: those are
/// uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxMask<const N: usize = RANK> {
    pub lo: Extents<N>,
    pub hi: Extents<N>,
}

/// A rule for `i1` lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaskRule<const N: usize = RANK> {
    /// One value for all lanes.
    Uniform(bool),
    /// A box.
    Box(BoxMask<N>),
}

/// The inclusive range of an element type, for integers and pointers; of the widest unsigned one, the lower half.
pub(crate) fn range_of(elem: Elem) -> Option<(i64, i64)> {
    match elem {
        Elem::Ptr { .. } => Some((0, i64::MAX)),
        Elem::Num(dtype) if dtype.is_float() || dtype.bits() == 1 => None,
        Elem::Num(dtype) if dtype.is_signed_int() => {
            let spare = 64 - dtype.bits();
            Some((i64::MIN >> spare, i64::MAX >> spare))
        }
        Elem::Num(dtype) => Some((
            0,
            if dtype.bits() == 64 {
                i64::MAX
            } else {
                (1 << dtype.bits()) - 1
            },
        )),
    }
}

/// Reads the bits of an integer or pointer as a number; `None` where it does not fit.
pub(crate) fn decode_integer(bits: u64, elem: Elem) -> Option<i64> {
    match elem {
        Elem::Ptr { .. } => i64::try_from(bits).ok(),
        Elem::Num(dtype) if dtype.is_float() || dtype.bits() == 1 => None,
        Elem::Num(dtype) => {
            let shift = 64 - dtype.bits();
            if dtype.is_signed_int() {
                Some((bits << shift) as i64 >> shift)
            } else {
                i64::try_from(bits << shift >> shift).ok()
            }
        }
    }
}

impl<const N: usize> Affine<N> {
    pub(crate) const fn constant(base: i64) -> Self {
        Self {
            base,
            strides: [0; N],
        }
    }

    /// Smallest and largest lane; `None` past 64 bits.
    pub(crate) fn bounds(&self, extents: &Extents<N>) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.base, self.base);
        for (&stride, &extent) in self.strides.iter().zip(extents) {
            if stride != 0 && extent > 1 {
                let reach = stride.checked_mul(i64::from(extent - 1))?;
                if reach < 0 {
                    low = low.checked_add(reach)?;
                } else {
                    high = high.checked_add(reach)?;
                }
            }
        }
        Some((low, high))
    }

    /// The rule itself, if every lane is inside the element's range.
    pub(crate) fn check_range(self, elem: Elem, extents: &Extents<N>) -> Option<Self> {
        let (least, most) = range_of(elem)?;
        let (low, high) = self.bounds(extents)?;
        (least <= low && high <= most).then_some(self)
    }

    fn zip(self, other: Self, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Self> {
        let mut strides = [0; N];
        for (to, (&a, &b)) in strides.iter_mut().zip(self.strides.iter().zip(&other.strides)) {
            *to = f(a, b)?;
        }
        Some(Self {
            base: f(self.base, other.base)?,
            strides,
        })
    }

    pub(crate) fn add(self, other: Self) -> Option<Self> {
        self.zip(other, i64::checked_add)
    }

    pub(crate) fn sub(self, other: Self) -> Option<Self> {
        self.zip(other, i64::checked_sub)
    }

    /// Every lane times a number.
    pub(crate) fn scale(self, by: i64) -> Option<Self> {
        self.zip(self, |a, _| a.checked_mul(by))
    }

    /// The only lane value, when all lanes are equal.
    pub(crate) fn as_uniform(&self, extents: &Extents<N>) -> Option<i64> {
        self.strides
            .iter()
            .zip(extents)
            .all(|(&stride, &extent)| stride == 0 || extent <= 1)
            .then_some(self.base)
    }

    /// The lanes in which `self <predicate> other` holds, if they follow a rule.
    pub(crate) fn compare(
        self,
        predicate: CmpPredicate,
        other: Self,
        extents: &Extents<N>,
    ) -> Option<MaskRule<N>> {
        let difference = self.sub(other)?;
        let (low, high) = difference.bounds(extents)?;
        let decided = match predicate {
            CmpPredicate::Lt => decide(high < 0, low >= 0),
            CmpPredicate::Le => decide(high <= 0, low > 0),
            CmpPredicate::Gt => decide(low > 0, high <= 0),
            CmpPredicate::Ge => decide(low >= 0, high < 0),
            CmpPredicate::Eq => decide(low == 0 && high == 0, low > 0 || high < 0),
            CmpPredicate::Ne => decide(low > 0 || high < 0, low == 0 && high == 0),
        };
        if let Some(decided) = decided {
            return Some(MaskRule::Uniform(decided));
        }
        let mut moving = difference
            .strides
            .iter()
            .zip(extents)
            .enumerate()
            .filter(|(_, (s, e))| **s != 0 && **e > 1);
        let (dim, (&stride, &extent)) = moving.next()?;
        if moving.next().is_some() {
            return None;
        }
        // Lanes 0..first_at_least(t) of a rising rule are below t; a falling rule is a rising one of the negation.
        let rising = stride > 0;
        let (base, stride) = if rising {
            (difference.base, stride)
        } else {
            (difference.base.checked_neg()?, stride.checked_neg()?)
        };
        let count = i64::from(extent);
        // The lane `t` or more is reached at; the bounds are within 64 bits, so that the rest of the sums are.
        let first_at_least = |t: i64| {
            let distance = t.saturating_sub(base);
            if distance <= 0 {
                0
            } else {
                ((distance - 1) / stride).saturating_add(1).clamp(0, count)
            }
        };
        let (lo, hi) = match (predicate, rising) {
            (CmpPredicate::Lt, true) | (CmpPredicate::Gt, false) => (0, first_at_least(0)),
            (CmpPredicate::Le, true) | (CmpPredicate::Ge, false) => (0, first_at_least(1)),
            (CmpPredicate::Gt, true) | (CmpPredicate::Lt, false) => (first_at_least(1), count),
            (CmpPredicate::Ge, true) | (CmpPredicate::Le, false) => (first_at_least(0), count),
            (CmpPredicate::Eq, _) => (first_at_least(0), first_at_least(1)),
            (CmpPredicate::Ne, _) => return None,
        };
        let mut mask = BoxMask {
            lo: [0; N],
            hi: *extents,
        };
        *mask.lo.get_mut(dim)? = lo as u32;
        *mask.hi.get_mut(dim)? = hi as u32;
        Some(mask.into_rule(extents))
    }
}

const fn decide(always: bool, never: bool) -> Option<bool> {
    if always {
        Some(true)
    } else if never {
        Some(false)
    } else {
        None
    }
}

impl<const N: usize> BoxMask<N> {
    /// Normalised: an empty or a full box is uniform.
    pub(crate) fn into_rule(self, extents: &Extents<N>) -> MaskRule<N> {
        if self.lo.iter().zip(&self.hi).any(|(lo, hi)| lo >= hi) {
            MaskRule::Uniform(false)
        } else if self.lo == [0; N] && self.hi == *extents {
            MaskRule::Uniform(true)
        } else {
            MaskRule::Box(self)
        }
    }

    /// Both.
    pub(crate) fn and(self, other: Self, extents: &Extents<N>) -> MaskRule<N> {
        let mut both = self;
        for (lo, &b) in both.lo.iter_mut().zip(&other.lo) {
            *lo = (*lo).max(b);
        }
        for (hi, &b) in both.hi.iter_mut().zip(&other.hi) {
            *hi = (*hi).min(b);
        }
        both.into_rule(extents)
    }

    /// The other lanes, where they are a box too.
    pub(crate) fn not(self, extents: &Extents<N>) -> Option<Self> {
        let mut cut = (0..N).filter(|&d| self.lo.get(d) != Some(&0) || self.hi.get(d) != extents.get(d));
        let dim = cut.next()?;
        if cut.next().is_some() {
            return None;
        }
        let mut rest = Self {
            lo: [0; N],
            hi: *extents,
        };
        let (lo, hi, extent) = (*self.lo.get(dim)?, *self.hi.get(dim)?, *extents.get(dim)?);
        if lo == 0 {
            *rest.lo.get_mut(dim)? = hi;
        } else if hi == extent {
            *rest.hi.get_mut(dim)? = lo;
        } else {
            return None;
        }
        Some(rest)
    }
}

/// Calls `f` with the first lane's number and the index of each run of lanes along the last dimension of the box
/// `lo..hi` inside of a block of these extents.
#[inline]
pub(crate) fn visit_rows<E>(
    extents: &Extents,
    lo: &Extents,
    hi: &Extents,
    mut f: impl FnMut(usize, [u32; RANK]) -> Result<(), E>,
) -> Result<(), E> {
    let [_, e1, e2, e3] = *extents;
    for i0 in lo[0]..hi[0] {
        for i1 in lo[1]..hi[1] {
            for i2 in lo[2]..hi[2] {
                let lane = ((i0 as usize * e1 as usize + i1 as usize) * e2 as usize + i2 as usize)
                    * e3 as usize
                    + lo[3] as usize;
                f(lane, [i0, i1, i2, lo[3]])?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXTENTS: Extents = [1, 1, 4, 8];

    fn list_lanes(affine: Affine) -> Vec<i64> {
        (0..32)
            .map(|l| affine.base + affine.strides[2] * (l / 8) + affine.strides[3] * (l % 8))
            .collect()
    }

    fn mask_lanes(rule: MaskRule) -> Vec<bool> {
        (0..32u32)
            .map(|l| match rule {
                MaskRule::Uniform(all) => all,
                MaskRule::Box(b) => {
                    (b.lo[2]..b.hi[2]).contains(&(l / 8)) && (b.lo[3]..b.hi[3]).contains(&(l % 8))
                }
            })
            .collect()
    }

    proptest! {
        #[test]
        fn a_compared_rule_is_what_its_lanes_say(
            base in -20i64..20, a in -3i64..4, b in -3i64..4, n in -20i64..20,
            predicate in proptest::sample::select(CmpPredicate::ALL),
        ) {
            let affine = Affine { base, strides: [0, 0, a, b] };
            if let Some(rule) = affine.compare(predicate, Affine::constant(n), &EXTENTS) {
                let expected: Vec<bool> = list_lanes(affine).into_iter().map(|x| {
                    match predicate {
                        CmpPredicate::Eq => x == n,
                        CmpPredicate::Ne => x != n,
                        CmpPredicate::Lt => x < n,
                        CmpPredicate::Le => x <= n,
                        CmpPredicate::Gt => x > n,
                        CmpPredicate::Ge => x >= n,
                    }
                }).collect();
                prop_assert_eq!(mask_lanes(rule), expected);
            } else {
                prop_assert!(a != 0 && b != 0 || predicate == CmpPredicate::Ne);
            }
        }

        #[test]
        fn bounds_are_the_extreme_lanes(base in -20i64..20, a in -3i64..4, b in -3i64..4) {
            let affine = Affine { base, strides: [0, 0, a, b] };
            let all = list_lanes(affine);
            prop_assert_eq!(affine.bounds(&EXTENTS), Some((*all.iter().min().unwrap(), *all.iter().max().unwrap())));
        }
    }
}
