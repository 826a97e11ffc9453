//! Images of intervals: the least and the greatest result of a function that engines may compute for operands in them.
//!
//! | function | extremes |
//! |---|---|
//! | rising or falling in each operand, wherever the others are | at the ends |
//! | of the magnitude of its operands: `hypot`, `cyl_bessel_i0`, `logb` | at the ends of the magnitudes |
//! | with a pole: `rcp`, `div_*`, `rcbrt`, `tan` | at the ends, where the pole is not between |
//! | `sinpi`, `cospi`, `fast_sinf`, `j0`, `y0` and theirs | as far from the middle as the slope lets them go |
//! | `tgamma`, `lgamma` | at the ends, and the one minimum between two poles |
//! | `fmod`, `remainder`, `%` | if the whole quotient is one number, the dividend less that; otherwise the divisor's magnitude |
//! | `pow` of a base that is not negative | at the ends; of another by the parity of a known exponent |
//!
//! `None` means no bound: across a pole, outside of the documented range, or for unknown integers.

mod wave;

use std::f64::consts::PI;

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Rounding};
use cerith_tile::numeric::library::Symbol;
use cerith_tile::numeric::{self, Range, decode, encode};
use smallvec::{SmallVec, smallvec};

use self::wave::{bound_neumann, bound_wave, gamma_minimum};
use super::interval::Interval;
use super::lane::Lane;
use super::precision::power_of_two;
use super::remainder;

/// Bits of every number that an extreme may be at.
type Points = SmallVec<[u64; 4]>;

/// The least normal number of `f32`.
const NORMAL: f64 = power_of_two(-126);

/// An operand: exact, or a float somewhere in an interval.
#[derive(Clone, Copy)]
struct Operand {
    dtype: DType,
    lane: Lane,
}

impl Operand {
    fn interval(self) -> Interval {
        self.lane.to_interval(self.dtype)
    }

    fn exact(self) -> Option<f64> {
        let bits = self.lane.bits()?;
        Some(if self.dtype.is_float() {
            decode(self.dtype, bits)
        } else {
            numeric::decode_int(self.dtype, bits) as f64
        })
    }

    /// The ends; of an operand that may be a NaN, that too. `None` for an integer that is not known.
    fn ends(self) -> Option<Points> {
        if let Some(bits) = self.lane.bits() {
            return Some(smallvec![bits]);
        }
        if !self.dtype.is_float() {
            return None;
        }
        Some(self.collect_points(self.interval(), &[]))
    }

    /// The ends of an interval of this operand's, and those of other numbers that lie in it.
    fn collect_points(self, interval: Interval, others: &[f64]) -> Points {
        let mut points = Points::new();
        if !interval.only_nan() {
            points.push(round_outward(self.dtype, interval.low, false));
            points.push(round_outward(self.dtype, interval.high, true));
            let inside = others.iter().filter(|&&other| interval.holds(other));
            points.extend(inside.map(|&other| encode(self.dtype, other, Rounding::NearestEven)));
        }
        if interval.nan {
            points.push(encode(self.dtype, f64::NAN, Rounding::NearestEven));
        }
        points
    }
}

/// The number of a dtype at or beyond a value.
fn round_outward(dtype: DType, value: f64, up: bool) -> u64 {
    let bits = encode(dtype, value, Rounding::NearestEven);
    let near = decode(dtype, bits);
    let short = if up { near < value } else { near > value };
    if !short || near == 0.0 && value == 0.0 {
        return bits;
    }
    let negative = near.is_sign_negative();
    let least = 1 | u64::from(!up) << (dtype.bits() - 1);
    if near == 0.0 {
        least
    } else if negative == up {
        bits - 1
    } else {
        bits + 1
    }
}

/// The results that engines may compute at every combination of points. `None` if some combination has no number as its result,
/// or no bound: its neighbours may have any.
fn bound_combinations(
    points: &[Points],
    result: DType,
    range: impl Fn(&[u64]) -> Range,
    dtypes: &[DType],
) -> Option<Interval> {
    let mut all: Vec<Points> = vec![Points::new()];
    for points in points {
        let each = |so_far: &Points| {
            let so_far = so_far.clone();
            points.iter().map(move |&bits| {
                let mut so_far = so_far.clone();
                so_far.push(bits);
                so_far
            })
        };
        all = all.iter().flat_map(each).collect();
    }
    let mut hull: Option<Range> = None;
    for operands in &all {
        let range = range(operands);
        let nan = operands
            .iter()
            .zip(dtypes)
            .any(|(&bits, &dtype)| dtype.is_float() && numeric::is_nan(dtype, bits));
        if range.nan && !nan {
            return None;
        }
        hull = Some(hull.map_or(range, |hull| hull.hull_with(range)));
    }
    let Range { low, high, nan } = hull?;
    // A bound that grows by steps may be one unit more between the ends.
    let Range { low, high, .. } = Range { low, high, nan }.widen(result, 1.0, false);
    Some(Interval { low, high, nan })
}

/// The domain of a function's operand, by the operand's number.
fn find_domain(stem: &str, nth: usize) -> (f64, f64) {
    match (stem, nth) {
        ("sqrt" | "rsqrt_rn" | "fast_logf" | "fast_log2f" | "fast_log10f" | "fast_powf" | "y0" | "y1", 0)
        | ("yn", 1) => (0.0, f64::INFINITY),
        ("acosh", 0) => (1.0, f64::INFINITY),
        ("atanh" | "erfinv", 0) => (-1.0, 1.0),
        ("erfcinv", 0) => (0.0, 2.0),
        ("normcdfinv", 0) => (0.0, 1.0),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// Bounds the result of a library function. The result is a float.
pub(super) fn bound_library(symbol: &Symbol, lanes: &[Lane]) -> Option<Interval> {
    let stem = symbol.stem();
    let mut outside = false;
    let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
    for (nth, (&lane, &dtype)) in lanes.iter().zip(symbol.operands).enumerate() {
        let mut operand = Operand { dtype, lane };
        if dtype.is_float() && lane.bits().is_none() {
            let interval = operand.interval();
            let (least, most) = find_domain(stem, nth);
            outside |= interval.low < least || interval.high > most;
            let mut inside = Interval {
                low: interval.low.max(least),
                high: interval.high.min(most),
                nan: interval.nan,
            };
            // A negative subnormal number may be taken for a zero.
            if inside.only_nan() && symbol.flushes() && interval.high > -NORMAL && least == 0.0 {
                (inside.low, inside.high) = (0.0, 0.0);
            }
            if inside.only_nan() {
                return Some(Interval::NAN);
            }
            operand.lane = Lane::Within {
                low: inside.low,
                high: inside.high,
                nan: inside.nan,
                cause: super::cause::Cause::default(),
            };
        }
        operands.push(operand);
    }
    let image = of_library(symbol, stem, &operands)?;
    Some(image.with_nan(outside))
}

fn of_library(symbol: &Symbol, stem: &str, operands: &[Operand]) -> Option<Interval> {
    let at_points = |points: &[Points]| {
        bound_combinations(
            points,
            symbol.result,
            |bits| symbol.evaluate_range(bits),
            symbol.operands,
        )
    };
    let at_ends = || {
        let points: Option<Vec<Points>> = operands.iter().map(|operand| operand.ends()).collect();
        at_points(&points?)
    };
    let whole = |nth: usize| operands.get(nth).and_then(|operand| operand.exact());
    let first = operands.first().copied()?;
    match stem {
        "hypot" | "norm3d" | "norm4d" | "rhypot" | "rnorm3d" | "rnorm4d" | "cyl_bessel_i0" | "logb"
        | "abs" => {
            let points: Vec<Points> = operands
                .iter()
                .map(|operand| operand.collect_points(to_magnitudes(operand.interval()), &[]))
                .collect();
            at_points(&points)
        }
        "rcp" | "rcbrt" => {
            require_nonzero(first, symbol.flushes())?;
            at_ends()
        }
        "div" | "fast_dividef" => {
            require_nonzero(*operands.get(1)?, symbol.flushes())?;
            at_ends()
        }
        "cbrt" => {
            // Triton's PTX returns NaN for a subnormal number.
            let torn = has_subnormal(first.interval()) && symbol.result == DType::F32;
            let points = if torn {
                first.collect_points(extend_to_normal(first.interval()), &[])
            } else {
                first.ends()?
            };
            at_points(&[points]).map(|image| image.with_nan(torn))
        }
        "ldexp" | "scalbn" => {
            whole(1)?;
            // Triton's PTX returns twice the result for a subnormal number.
            let torn = has_subnormal(first.interval()) && symbol.result == DType::F32;
            let points = if torn {
                first.collect_points(extend_to_normal(first.interval()), &[])
            } else {
                first.ends()?
            };
            at_points(&[points, operands.get(1)?.ends()?])
        }
        "fast_logf" | "fast_log2f" | "fast_log10f" => {
            at_points(&[first.collect_points(first.interval(), &[0.5, 1.0, 2.0])])
        }
        "fast_powf" => at_points(&[
            first.collect_points(first.interval(), &[0.5, 1.0, 2.0]),
            operands.get(1)?.ends()?,
        ]),
        "sinpi" | "cospi" => bound_wave(symbol, first, &[], PI, PI, 1.0),
        "fast_sinf" | "fast_cosf" => bound_wave(symbol, first, &[], 1.0, 1.0, 1.0),
        "fast_tanf" => {
            let interval = first.interval();
            whole_of_tangent(interval)?;
            let steps = [PI, 2.0 * PI, 100.0 * PI].map(f64::next_up);
            let others: Vec<f64> = steps.iter().flat_map(|&x| [x, -x]).collect();
            at_points(&[first.collect_points(interval, &others)])
        }
        "j0" | "j1" => bound_wave(symbol, first, &[], 0.6, f64::INFINITY, 1.0),
        "jn" => {
            let order = operands.first()?;
            if order.exact()? < 0.0 {
                return Some(Interval::NAN);
            }
            bound_wave(
                symbol,
                *operands.get(1)?,
                &[order.lane.bits()?],
                1.0,
                f64::INFINITY,
                1.0,
            )
        }
        "y0" | "y1" => bound_neumann(symbol, first, &[], if stem == "y0" { 0.0 } else { 1.0 }),
        "yn" => {
            let order = operands.first()?;
            if order.exact()? < 0.0 {
                return Some(Interval::NAN);
            }
            bound_neumann(
                symbol,
                *operands.get(1)?,
                &[order.lane.bits()?],
                order.exact()?.abs(),
            )
        }
        "tgamma" | "lgamma" => {
            let interval = first.interval();
            let bottom = gamma_minimum(interval)?;
            at_points(&[first.collect_points(interval, &[bottom])])
        }
        "fmod" => remainder::modulo(
            first.interval(),
            operands.get(1)?.interval(),
            symbol,
            f64::trunc,
            1.0,
        ),
        "remainder" => remainder::modulo(
            first.interval(),
            operands.get(1)?.interval(),
            symbol,
            f64::round_ties_even,
            0.5,
        ),
        "pow" => {
            let exponent = *operands.get(1)?;
            bound_power(first, exponent, whole(1)?, |points| at_points(points))
        }
        _ if is_monotone(symbol, stem) => at_ends(),
        _ => None,
    }
}

/// The integer result of a library function, if only one is possible.
pub(super) fn library_integer(symbol: &Symbol, lanes: &[Lane]) -> Option<u64> {
    let mut points: Vec<Points> = Vec::with_capacity(lanes.len());
    for (&lane, &dtype) in lanes.iter().zip(symbol.operands) {
        let operand = Operand { dtype, lane };
        if lane.bits().is_none() {
            let interval = operand.interval();
            let decides = match symbol.stem() {
                // `ilogb` falls below zero and rises above it.
                "signbit" | "ilogb" => interval.low > 0.0 || interval.high < 0.0,
                "finitef" | "isfinited" => interval.magnitude().is_finite(),
                stem => is_monotone(symbol, stem),
            };
            if !dtype.is_float() || interval.nan || !decides {
                return None;
            }
        }
        points.push(operand.ends()?);
    }
    let mut all: Vec<Points> = vec![Points::new()];
    for points in &points {
        let mut next = Vec::new();
        for so_far in &all {
            for &bits in points {
                let mut so_far = so_far.clone();
                so_far.push(bits);
                next.push(so_far);
            }
        }
        all = next;
    }
    let mut values = all.iter().map(|operands| symbol.evaluate(operands).bits());
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

/// Whether a function rises or falls all along in each operand, wherever the others are.
fn is_monotone(symbol: &Symbol, stem: &str) -> bool {
    let rises = matches!(
        stem,
        "add"
            | "sub"
            | "mul"
            | "fma"
            | "sqrt"
            | "rsqrt_rn"
            | "acosh"
            | "asinh"
            | "atanh"
            | "erfc"
            | "erfcinv"
            | "erfcx"
            | "erfinv"
            | "exp10"
            | "normcdf"
            | "normcdfinv"
            | "cyl_bessel_i1"
            | "saturatef"
            | "fdim"
            | "nextafter"
            | "llrint"
            | "llround"
            | "fast_expf"
            | "fast_exp10f"
            | "tanh_approx"
    );
    let is_part = stem.ends_with("hiint") || stem.ends_with("loint");
    let converts = symbol.operands.len() == 1 && stem.contains('2') && !stem.starts_with("fast_") && !is_part;
    rises || converts
}

/// The magnitudes of the numbers in an interval.
fn to_magnitudes(interval: Interval) -> Interval {
    if interval.only_nan() {
        return interval;
    }
    Interval {
        low: interval.least_magnitude(),
        high: interval.magnitude(),
        nan: interval.nan,
    }
}

/// Whether there may be a subnormal number of `f32` in it.
fn has_subnormal(interval: Interval) -> bool {
    interval.low < NORMAL && interval.high > -NORMAL
}

/// An interval, and the numbers up to twice the least normal one.
fn extend_to_normal(interval: Interval) -> Interval {
    Interval {
        low: interval.low.min(-2.0 * NORMAL),
        high: interval.high.max(2.0 * NORMAL),
        nan: interval.nan,
    }
}

/// Nothing, unless a divisor is not zero, nor taken for it. An exact zero has a sign, and so a quotient.
fn require_nonzero(divisor: Operand, flushes: bool) -> Option<()> {
    let interval = divisor.interval();
    let least = if flushes && divisor.dtype == DType::F32 {
        NORMAL
    } else {
        0.0
    };
    let away = interval.low > 0.0 && interval.low >= least || interval.high < 0.0 && interval.high <= -least;
    (divisor.lane.bits().is_some() || away || interval.only_nan()).then_some(())
}

/// Nothing, unless the tangent has no pole in an interval.
fn whole_of_tangent(interval: Interval) -> Option<()> {
    let narrow = interval.high - interval.low < PI / 2.0 && interval.magnitude() < 1e9;
    let (low, high) = (libm::cos(interval.low), libm::cos(interval.high));
    (narrow && low * high > 0.0).then_some(())
}

/// The tangent of an interval, as engines give it that are so many units off; no bound across a pole.
pub(super) fn bound_tangent(dtype: DType, x: Interval) -> Option<Interval> {
    whole_of_tangent(x)?;
    let operand = Operand {
        dtype,
        lane: x.to_lane(dtype),
    };
    let range = |bits: &[u64]| match bits {
        &[bits] => numeric::unary_range(cerith_tile::ir::UnaryOp::Tan, dtype, bits),
        _ => Range::FULL,
    };
    bound_combinations(&[operand.ends()?], dtype, range, &[dtype])
}

/// `pow` of an exponent that is exact, or of a base that is not negative.
fn bound_power(
    base: Operand,
    exponent: Operand,
    known: f64,
    at_points: impl Fn(&[Points]) -> Option<Interval>,
) -> Option<Interval> {
    let x = base.interval();
    let ends = exponent.ends()?;
    // A pole, on a side that is not known.
    if known < 0.0 && x.holds(0.0) {
        return None;
    }
    let is_odd = known % 2.0 != 0.0;
    if x.low >= 0.0 || (is_odd && known > 0.0) || x.high <= 0.0 {
        return at_points(&[base.ends()?, ends]);
    }
    at_points(&[base.collect_points(to_magnitudes(x), &[]), ends])
}

/// `pow` and `atan2` if an operand is not exact.
pub(super) fn bound_binary(op: BinaryOp, dtype: DType, x: Lane, y: Lane) -> Option<Interval> {
    let [x, y] = [x, y].map(|lane| Operand {
        dtype,
        lane: lane.plain(),
    });
    let at_points = |points: &[Points]| {
        let range = |bits: &[u64]| match bits {
            &[x, y] => numeric::binary_range(op, dtype, x, y),
            _ => Range::FULL,
        };
        bound_combinations(points, dtype, range, &[dtype, dtype])
    };
    let (a, b) = (x.interval(), y.interval());
    match op {
        BinaryOp::Atan2 => {
            let above = a.low > 0.0 || a.high < 0.0;
            let exact = x.lane.bits().is_some() && !b.holds(0.0);
            if b.low > 0.0 || above || exact {
                return at_points(&[x.ends()?, y.ends()?]);
            }
            let nan = a.nan || b.nan;
            let half = Interval {
                low: -PI,
                high: PI,
                nan,
            }
            .outward();
            Some(half.round_to(dtype, Rounding::NearestEven))
        }
        BinaryOp::Pow => {
            // The base that is subnormal has no power ([`numeric::binary_range`]).
            if dtype == DType::F32 && x.lane.bits().is_none() && has_subnormal(a) {
                return None;
            }
            if let Some(known) = y.exact().filter(|known| known.fract() == 0.0) {
                return bound_power(x, y, known, at_points);
            }
            if a.low > 0.0 || a.low >= 0.0 && b.low > 0.0 {
                return at_points(&[x.ends()?, y.ends()?]);
            }
            if a.holds(0.0) && b.low <= 0.0 {
                return None;
            }
            // A negative number has whole powers only.
            let (least, most) = (b.low.ceil(), b.high.floor());
            let powers = if least > most {
                Interval::NAN
            } else if least == most {
                let whole = encode(dtype, least, Rounding::NearestEven);
                let negative = Interval {
                    high: a.high.min(0.0),
                    ..a
                };
                at_points(&[x.collect_points(negative, &[]), smallvec![whole]])?
            } else {
                let image = at_points(&[x.collect_points(to_magnitudes(a), &[]), y.ends()?])?;
                Interval {
                    low: -image.high,
                    ..image
                }
            };
            if a.high < 0.0 {
                return Some(powers.with_nan(true));
            }
            let positive = Interval {
                low: a.low.max(0.0),
                ..a
            };
            let image = at_points(&[x.collect_points(positive, &[]), y.ends()?])?;
            Some(image.hull(powers).with_nan(true))
        }
        _ => None,
    }
}
