//! Blocks of floats that need not be exact, an array for each part of a lane. Operations on many lanes are in [`super::chunk`].
//! Special lanes (infinities, NaNs, poison, subnormal quotients) go through the operations on single lanes, one by one.
//!
//! Invariant: results equal those of [`super::float`] to the bit.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, encode};

use super::cause::Cause;
use super::lane::Lane;
use cerith_interp::movement::Movement;

/// Floats of one of the dtypes whose products are exact in `f64`.
#[derive(Clone, Debug)]
pub(crate) struct Wide {
    pub dtype: DType,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub tags: Vec<Tag>,
    /// The factors of the lanes that are products.
    pub factors: Option<Box<[Vec<f64>; 2]>>,
}

/// The kind of a lane.
pub(crate) type Tag = u8;

/// [`Lane::Bits`], no NaN.
pub(crate) const BITS: Tag = 0;
/// [`Lane::Within`].
pub(crate) const INTERVAL: Tag = 1;
/// Beside [`INTERVAL`]: with NaN.
const NAN: Tag = 2;
/// [`Lane::Product`].
pub(crate) const PRODUCT: Tag = 4;
/// [`Lane::Poison`].
pub(crate) const POISON: Tag = 8;
const UNKNOWN: Tag = 16;
/// [`Lane::Bits`] of a NaN, and beside [`PRODUCT`] a [`Lane::Product`] with one: the bits of `low` and the factors are the lane's own.
const NUMBERLESS: Tag = 32;

/// A lane in parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub low: f64,
    pub high: f64,
    pub tag: Tag,
    pub factors: [f64; 2],
}

impl Parts {
    pub(crate) const fn from_exact(value: f64) -> Self {
        Self {
            low: value,
            high: value,
            tag: BITS,
            factors: [0.0; 2],
        }
    }

    /// Equal to [`super::interval::Interval::lane`]; `None` if an end is not finite.
    pub(crate) fn from_ends(low: f64, high: f64) -> Option<Self> {
        let tag = if low == high && low != 0.0 { BITS } else { INTERVAL };
        (low.is_finite() && high.is_finite()).then_some(Self {
            low,
            high,
            tag,
            factors: [0.0; 2],
        })
    }

    /// Whether there are finite numbers in it, and nothing else.
    fn plain(self) -> bool {
        self.tag & !(INTERVAL | PRODUCT) == 0 && self.low.is_finite() && self.high.is_finite()
    }

    /// Whether it has factors.
    pub(crate) const fn has_factors(self) -> bool {
        self.tag & PRODUCT != 0
    }

    /// As others see it, who do not add it to something.
    pub(crate) const fn without_factors(self) -> Self {
        Self {
            tag: self.tag & !PRODUCT,
            factors: [0.0; 2],
            ..self
        }
    }

    /// The bits of an exact lane.
    #[inline]
    pub(crate) fn bits_of(self, dtype: DType) -> Option<u64> {
        match self.tag {
            BITS | PRODUCT => Some(encode_nearest(dtype, self.low)),
            _ if self.tag & NUMBERLESS != 0 => Some(self.low.to_bits()),
            _ => None,
        }
    }

    /// The bits of a NaN.
    pub(crate) const fn from_nan(bits: u64) -> Self {
        Self {
            tag: NUMBERLESS,
            ..Self::from_exact(f64::from_bits(bits))
        }
    }

    const fn is_exact(self) -> bool {
        self.tag != INTERVAL
    }
}

/// Whether blocks of a dtype are kept like this.
pub(crate) const fn is_supported(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F16 | DType::BF16)
}

/// A number of `bf16`.
#[inline]
pub(super) fn decode_bf16(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// A number of `f16`.
#[inline]
pub(super) fn decode_f16(bits: u16) -> f64 {
    let magnitude = bits & 0x7fff;
    if magnitude >= 0x7c00 {
        return decode(DType::F16, u64::from(bits));
    }
    // The exponents of `f32` begin 112 lower. Subnormal numbers are exact as well.
    let value = f32::from_bits(u32::from(magnitude) << 13) * 2f32.powi(112);
    f64::from(if bits >> 15 == 1 { -value } else { value })
}

/// The bits of a number, rounded to nearest even.
#[inline]
pub(super) fn encode_nearest(dtype: DType, value: f64) -> u64 {
    let single = value as f32;
    match dtype {
        DType::F32 if !value.is_nan() => u64::from(single.to_bits()),
        // A number of the dtype has its bits of `f32`, except for the last ones.
        DType::BF16 if f64::from(single) == value && single.to_bits().trailing_zeros() >= 16 => {
            u64::from(single.to_bits() >> 16)
        }
        DType::F16 if f64::from(single) == value && single.abs() <= 65504.0 => {
            let bits = (single.abs() * 2f32.powi(-112)).to_bits();
            if bits & 0x1fff != 0 {
                return encode(dtype, value, Rounding::NearestEven);
            }
            u64::from(bits >> 13) | u64::from(single.is_sign_negative()) << 15
        }
        _ => encode(dtype, value, Rounding::NearestEven),
    }
}

impl Wide {
    pub(crate) fn with_capacity(dtype: DType, lanes: usize) -> Self {
        Self {
            dtype,
            low: Vec::with_capacity(lanes),
            high: Vec::with_capacity(lanes),
            tags: Vec::with_capacity(lanes),
            factors: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tags.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.len() * if self.factors.is_some() { 33 } else { 17 }
    }

    /// The lanes, if all of them have such parts.
    pub(crate) fn from_lanes(dtype: DType, lanes: &[Lane]) -> Option<Rc<Self>> {
        if !is_supported(dtype) {
            return None;
        }
        let mut wide = Self::with_capacity(dtype, lanes.len());
        for &lane in lanes {
            wide.push(to_parts(dtype, lane)?);
        }
        Some(Rc::new(wide))
    }

    pub(crate) fn push(&mut self, parts: Parts) {
        self.low.push(parts.low);
        self.high.push(parts.high);
        self.tags.push(parts.tag);
        if parts.has_factors() && self.factors.is_none() {
            let unused = vec![0.0; self.len() - 1];
            self.factors = Some(Box::new([unused.clone(), unused]));
        }
        if let Some(factors) = &mut self.factors {
            factors[0].push(parts.factors[0]);
            factors[1].push(parts.factors[1]);
        }
    }

    #[inline]
    pub(crate) fn parts(&self, lane: usize) -> Option<Parts> {
        let tag = *self.tags.get(lane)?;
        let factors = match &self.factors {
            Some(factors) if tag & PRODUCT != 0 => [*factors[0].get(lane)?, *factors[1].get(lane)?],
            _ => [0.0; 2],
        };
        Some(Parts {
            low: *self.low.get(lane)?,
            high: *self.high.get(lane)?,
            tag,
            factors,
        })
    }

    /// Lanes that cover both, if all are exact or intervals.
    pub(super) fn hull(&self, other: &Self) -> Option<Self> {
        let mut hull = Self::with_capacity(self.dtype, self.len());
        for lane in 0..self.len() {
            let (one, two) = (self.parts(lane)?, other.parts(lane)?);
            if (one.tag | two.tag) & !INTERVAL != BITS {
                return None;
            }
            let ends = |parts: Parts| (parts.low.to_bits(), parts.high.to_bits(), parts.tag);
            hull.push(if ends(one) == ends(two) {
                one
            } else {
                Parts {
                    low: one.low.min(two.low),
                    high: one.high.max(two.high),
                    tag: INTERVAL,
                    factors: [0.0; 2],
                }
            });
        }
        Some(hull)
    }

    pub(crate) fn lane_at(&self, lane: usize) -> Lane {
        self.parts(lane)
            .map_or(Lane::Unknown, |parts| to_lane(self.dtype, parts))
    }

    /// The lanes, moved.
    pub(super) fn move_lanes(&self, movement: &Movement, lanes: usize) -> Self {
        let copy = |from: &[f64]| {
            let mut to = vec![0.0; lanes];
            movement.copy_elements(from, &mut to);
            to
        };
        let mut tags = vec![BITS; lanes];
        movement.copy_elements(&self.tags, &mut tags);
        Self {
            dtype: self.dtype,
            low: copy(&self.low),
            high: copy(&self.high),
            tags,
            factors: self
                .factors
                .as_ref()
                .map(|factors| Box::new([copy(&factors[0]), copy(&factors[1])])),
        }
    }

    /// Whether all lanes are exact bits or poison.
    pub(super) fn is_exact(&self) -> bool {
        self.tags
            .iter()
            .all(|&tag| matches!(tag, BITS | POISON | NUMBERLESS))
    }
}

/// A lane of its parts.
pub(crate) fn to_lane(dtype: DType, parts: Parts) -> Lane {
    let bits = |value: f64| encode(dtype, value, Rounding::NearestEven);
    match parts.tag {
        BITS => Lane::Bits(bits(parts.low)),
        PRODUCT => Lane::Product {
            bits: bits(parts.low),
            x: bits(parts.factors[0]),
            y: bits(parts.factors[1]),
        },
        POISON => Lane::Poison,
        UNKNOWN => Lane::Unknown,
        NUMBERLESS => Lane::Bits(parts.low.to_bits()),
        tag if tag == NUMBERLESS | PRODUCT => Lane::Product {
            bits: parts.low.to_bits(),
            x: parts.factors[0].to_bits(),
            y: parts.factors[1].to_bits(),
        },
        tag => Lane::Within {
            low: parts.low,
            high: parts.high,
            nan: tag & NAN != 0,
            cause: Cause::default(),
        },
    }
}

/// The parts of a lane, if it has such.
pub(crate) fn to_parts(dtype: DType, lane: Lane) -> Option<Parts> {
    Some(match lane {
        Lane::Bits(bits) => {
            let value = decode(dtype, bits);
            if value.is_nan() {
                return Some(Parts::from_nan(bits));
            }
            Parts::from_exact(value)
        }
        Lane::Product { bits, x, y } => {
            let (value, factors) = (decode(dtype, bits), [decode(dtype, x), decode(dtype, y)]);
            if value.is_nan() || factors.iter().any(|factor| factor.is_nan()) {
                return Some(Parts {
                    tag: NUMBERLESS | PRODUCT,
                    factors: [x, y].map(f64::from_bits),
                    ..Parts::from_nan(bits)
                });
            }
            Parts {
                tag: PRODUCT,
                factors,
                ..Parts::from_exact(value)
            }
        }
        Lane::Within {
            low,
            high,
            nan,
            cause: _,
        } => Parts {
            low,
            high,
            tag: INTERVAL | if nan { NAN } else { 0 },
            factors: [0.0; 2],
        },
        Lane::Poison => Parts {
            tag: POISON,
            ..Parts::from_exact(0.0)
        },
        Lane::Unknown => Parts {
            tag: UNKNOWN,
            ..Parts::from_exact(0.0)
        },
        Lane::Apart { .. } | Lane::Guess(_) => return None,
    })
}

/// The greater or the less of two, where nothing is out of the ordinary.
#[inline]
pub(crate) fn pick(x: Parts, y: Parts, pick: impl Fn(f64, f64) -> f64) -> Option<Parts> {
    // Exact zeros of both signs count as equal here.
    if !x.plain() || !y.plain() || x.is_exact() && y.is_exact() && x.low == 0.0 && y.low == 0.0 {
        return None;
    }
    if x.is_exact() && y.is_exact() {
        return Some(Parts::from_exact(pick(x.low, y.low)));
    }
    Parts::from_ends(pick(x.low, y.low), pick(x.high, y.high))
}
