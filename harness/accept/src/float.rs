//! Elementwise operations on lanes that are not exact. Exact lanes go through [`cerith_tile::numeric`].

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Rounding, TernaryOp, UnaryOp};
use cerith_tile::numeric::{self, Accuracy, Computed, Range, decode};

use super::ends::is_ordinary;
use super::interval::{Interval, combine_corners, multiply_intervals};
use super::lane::{Lane, Sides, convert_computed, to_unrounded};
use super::precision::power_of_two;
use super::{fuse, image, remainder};

/// The reference's result of an operation on an exact number.
fn evaluate_unary(op: UnaryOp, dtype: DType, x: f64) -> f64 {
    // For numbers that are neither subnormal nor near the largest one, this form is faster, and as exact except in `f64`.
    let fast = if dtype == DType::F64 {
        None
    } else {
        numeric::evaluate_single(op, x).filter(|&value| is_ordinary(value))
    };
    if let Some(value) = fast {
        return value;
    }
    numeric::apply_unary(op, DType::F64, x.to_bits())
        .bits()
        .map_or(f64::NAN, f64::from_bits)
}

/// The values of the dtype that an engine may return instead of an exact number.
fn widen_value(value: f64, units: f64, dtype: DType) -> Interval {
    if value.is_nan() || value.is_infinite() {
        return Interval::point(value);
    }
    let Range { low, high, nan } = Range::from_value(value).widen(dtype, units, false);
    Interval { low, high, nan }.round_to(dtype, Rounding::NearestEven)
}

/// The smallest normal number of `f32`. Only instructions for `f32` flush subnormal numbers to zero.
const NORMAL: f64 = power_of_two(-126);

fn is_subnormal(value: f64) -> bool {
    value != 0.0 && value.abs() < NORMAL
}

/// Whether an interval contains subnormal numbers with the sign of `zero`, which may be flushed to it.
fn flushed_to(interval: Interval, zero: f64) -> bool {
    if zero.is_sign_negative() {
        interval.low < 0.0 && interval.high > -NORMAL
    } else {
        interval.high > 0.0 && interval.low < NORMAL
    }
}

/// Whether an operand or the result of a rounded operation is subnormal.
fn has_subnormal(op: BinaryOp, dtype: DType, x: u64, y: u64) -> bool {
    let result = numeric::apply_binary(op, dtype, x, y).bits();
    [Some(x), Some(y), result]
        .into_iter()
        .flatten()
        .any(|bits| is_subnormal(decode(dtype, bits)))
}

/// The shape of a function's graph.
enum Course {
    Rising,
    Falling,
    /// Falling up to 0, rising from there.
    Even,
    /// No steeper than 1, between -1 and 1.
    Wave,
    Other,
}

const fn find_course(op: UnaryOp) -> Course {
    match op {
        UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Rint
        | UnaryOp::Trunc
        | UnaryOp::Round
        | UnaryOp::Sqrt
        | UnaryOp::SqrtRn
        | UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Log1p
        | UnaryOp::Asin
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Tanh
        | UnaryOp::Erf => Course::Rising,
        UnaryOp::Neg | UnaryOp::Rsqrt | UnaryOp::Acos => Course::Falling,
        UnaryOp::Abs | UnaryOp::Cosh => Course::Even,
        UnaryOp::Sin | UnaryOp::Cos => Course::Wave,
        UnaryOp::Tan | UnaryOp::Not | UnaryOp::IsNan | UnaryOp::IsInf => Course::Other,
    }
}

/// The domain of a function.
const fn find_domain(op: UnaryOp) -> (f64, f64) {
    match op {
        UnaryOp::Sqrt | UnaryOp::SqrtRn | UnaryOp::Rsqrt | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log10 => {
            (0.0, f64::INFINITY)
        }
        UnaryOp::Log1p => (-1.0, f64::INFINITY),
        UnaryOp::Asin | UnaryOp::Acos => (-1.0, 1.0),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// Applies an operation of one operand. A number that is rounded to one of two integers is a decision.
pub(crate) fn apply_unary(op: UnaryOp, dtype: DType, x: Lane, sides: Sides) -> Lane {
    let result = compute_unary(op, dtype, x);
    let to_integer = matches!(
        op,
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Rint | UnaryOp::Trunc | UnaryOp::Round
    );
    match result {
        Lane::Within { low, high, .. } if to_integer && sides == Sides::Separate && low != high => {
            Lane::Unknown
        }
        _ => result,
    }
}

fn compute_unary(op: UnaryOp, dtype: DType, x: Lane) -> Lane {
    if op == UnaryOp::Neg
        && dtype.is_float()
        && let Some(lane) = fuse::negate_lane(dtype, x)
    {
        return lane;
    }
    let x = x.plain();
    if x == Lane::Poison {
        return x;
    }
    if !dtype.is_float() {
        return x.bits().map_or(Lane::Unknown, |bits| {
            convert_computed(numeric::apply_unary(op, dtype, bits))
        });
    }
    let interval = x.to_interval(dtype);
    let accuracy = Accuracy::of_unary(op, dtype);
    if let (Lane::Bits(bits), true) = (x, accuracy.is_exact()) {
        return convert_computed(numeric::apply_unary(op, dtype, bits));
    }
    if let (Lane::Bits(bits), true) = (x, accuracy.rounds_once()) {
        let result = numeric::apply_unary(op, dtype, bits);
        let small = |bits: u64| is_subnormal(decode(dtype, bits));
        if !small(bits) && !result.bits().is_some_and(small) {
            return convert_computed(result);
        }
    }
    if interval.only_nan() {
        return match op {
            UnaryOp::IsNan => Lane::Bits(1),
            UnaryOp::IsInf => Lane::Bits(0),
            _ => Interval::NAN.to_lane(dtype),
        };
    }
    match op {
        UnaryOp::IsNan => {
            return if interval.nan {
                Lane::Unknown
            } else {
                Lane::Bits(0)
            };
        }
        UnaryOp::IsInf => {
            let finite = interval.low.is_finite() && interval.high.is_finite();
            return if finite { Lane::Bits(0) } else { Lane::Unknown };
        }
        _ => {}
    }
    let (least, most) = find_domain(op);
    let outside = interval.low < least || interval.high > most;
    let (low, high) = (interval.low.max(least), interval.high.min(most));
    // If the function is exact or correctly rounded, so are the ends, and rounding keeps the order of values in between.
    let units = |magnitude: f64| accuracy.count_units(dtype, magnitude).unwrap_or(0.0);
    let at = |x: f64| widen_value(evaluate_unary(op, dtype, x), units(x.abs()), dtype);
    // Subnormal operands and results may be flushed to zero. Flushing comes first: the root of a negative
    // subnormal number is that of the zero of its sign.
    let zeros = if accuracy.flushes() {
        [-0.0, 0.0].map(|zero: f64| flushed_to(interval, zero).then(|| at(zero)))
    } else {
        [None, None]
    };
    let of_zeros = zeros.into_iter().flatten().reduce(Interval::hull);
    if low > high {
        return of_zeros.unwrap_or(Interval::NAN).with_nan(true).to_lane(dtype);
    }
    let result = match find_course(op) {
        _ if low == high => at(low),
        Course::Rising | Course::Falling => at(low).hull(at(high)),
        Course::Even => {
            let ends = at(low).hull(at(high));
            if low <= 0.0 && 0.0 <= high {
                ends.hull(at(0.0))
            } else {
                ends
            }
        }
        Course::Wave if low.is_finite() && high.is_finite() => {
            let half = (high - low) / 2.0;
            let middle = evaluate_unary(op, dtype, low + half);
            let wide = Interval {
                low: middle - half,
                high: middle + half,
                nan: false,
            }
            .outward();
            let limits = Interval {
                low: wide.low.max(-1.0),
                high: wide.high.min(1.0),
                nan: false,
            };
            let units = units(interval.magnitude());
            widen_value(limits.low, units, dtype).hull(widen_value(limits.high, units, dtype))
        }
        Course::Wave => Interval {
            low: -1.0,
            high: 1.0,
            nan: true,
        },
        Course::Other => image::bound_tangent(
            dtype,
            Interval {
                low,
                high,
                nan: false,
            },
        )
        .unwrap_or(Interval::ENTIRE),
    };
    let mut result = result;
    if let Some(of_zeros) = of_zeros {
        result = result.hull(of_zeros);
    }
    if accuracy.flushes() && (flushed_to(result, 0.0) || flushed_to(result, -0.0)) {
        result = result.hull(Interval::point(0.0));
    }
    // `rsqrt` of a zero is an infinity with the zero's sign, and an interval does not record that sign.
    if op == UnaryOp::Rsqrt && interval.holds(0.0) && x.bits().is_none() {
        result = Interval {
            nan: false,
            ..Interval::ENTIRE
        };
    }
    // An engine's error never leads out of the range of the function.
    let result = match op {
        UnaryOp::Exp | UnaryOp::Exp2 | UnaryOp::Sqrt | UnaryOp::Cosh => Interval {
            low: result.low.max(0.0),
            ..result
        },
        _ => result,
    };
    result.with_nan(interval.nan || outside).to_lane(dtype)
}

pub(crate) fn sum(a: Interval, b: Interval) -> Interval {
    let (low, high) = (a.low + b.low, a.high + b.high);
    // Opposite infinities.
    let meet = |x: f64, y: f64| x.is_infinite() && y == -x;
    let nan = a.nan || b.nan || meet(a.low, b.high) || meet(a.high, b.low);
    Interval {
        low: if low.is_nan() { f64::NEG_INFINITY } else { low },
        high: if high.is_nan() { f64::INFINITY } else { high },
        nan,
    }
    .outward()
}

fn negate_interval(a: Interval) -> Interval {
    Interval {
        low: -a.high,
        high: -a.low,
        nan: a.nan,
    }
}

pub(crate) fn apply_binary(op: BinaryOp, dtype: DType, x: Lane, y: Lane) -> Lane {
    if x == Lane::Poison || y == Lane::Poison {
        return resolve_poison(op, dtype, x, y);
    }
    if !dtype.is_float() {
        return apply_integer(op, dtype, x, y);
    }
    let accuracy = Accuracy::of_binary(op, dtype);
    if let (Some(xb), Some(yb), false) = (x.bits(), y.bits(), accuracy.is_exact()) {
        if accuracy.rounds_once() && !has_subnormal(op, dtype, xb, yb) {
            return convert_computed(numeric::apply_binary(op, dtype, xb, yb));
        }
        let Range { low, high, nan } = numeric::binary_range(op, dtype, xb, yb);
        let result = Interval { low, high, nan };
        let result = if op == BinaryOp::Rem {
            fuse::remainder(dtype, x, result)
        } else {
            result
        };
        return result.to_lane(dtype);
    }
    if let (Some(xb), Some(yb)) = (x.bits(), y.bits()) {
        return match op {
            BinaryOp::Add | BinaryOp::Sub => fuse::fuse_sum(op, dtype, x, y, xb, yb),
            BinaryOp::Mul => fuse::multiply_exact(dtype, x, y, xb, yb),
            BinaryOp::Min | BinaryOp::Max | BinaryOp::MinPropagateNan | BinaryOp::MaxPropagateNan
                if xb != yb && decode(dtype, xb) == 0.0 && decode(dtype, yb) == 0.0 =>
            {
                Interval {
                    low: 0.0,
                    high: 0.0,
                    nan: false,
                }
                .to_lane(dtype)
            }
            BinaryOp::CopySign if numeric::is_nan(dtype, yb) => binary_intervals(op, dtype, x, y, accuracy),
            _ => convert_computed(numeric::apply_binary(op, dtype, xb, yb)),
        };
    }
    binary_intervals(op, dtype, x, y, accuracy)
}

fn binary_intervals(op: BinaryOp, dtype: DType, x: Lane, y: Lane, accuracy: Accuracy) -> Lane {
    let (a, b) = (x.to_interval(dtype), y.to_interval(dtype));
    let nan = a.nan || b.nan;
    let numbers = !a.only_nan() && !b.only_nan();
    let near = Rounding::NearestEven;
    let result = match op {
        BinaryOp::Min | BinaryOp::Max => {
            let pick = if op == BinaryOp::Min { f64::min } else { f64::max };
            if !numbers {
                return if a.only_nan() { y.plain() } else { x.plain() };
            }
            let both = Interval {
                low: pick(a.low, b.low),
                high: pick(a.high, b.high),
                nan: a.nan && b.nan,
            };
            let both = if a.nan {
                both.hull(Interval { nan: false, ..b })
            } else {
                both
            };
            if b.nan {
                both.hull(Interval { nan: false, ..a })
            } else {
                both
            }
        }
        BinaryOp::CopySign if !a.only_nan() => {
            // The sign of a NaN is not specified.
            let low = if a.holds(0.0) {
                0.0
            } else {
                a.low.abs().min(a.high.abs())
            };
            let positive = Interval {
                low,
                high: a.magnitude(),
                nan: a.nan,
            };
            let signed = if b.low > 0.0 && !b.nan {
                positive
            } else if b.high < 0.0 && !b.nan {
                negate_interval(positive)
            } else {
                positive.hull(negate_interval(positive))
            };
            return signed.to_lane(dtype);
        }
        // IEEE 754, 9.2.1: any number to the power of zero is 1, NaN included, and so is 1 to any power.
        BinaryOp::Pow if !numbers && (b.holds(0.0) || a.holds(1.0)) => Interval::point(1.0),
        _ if !numbers => Interval::NAN,
        BinaryOp::MinPropagateNan => Interval {
            low: a.low.min(b.low),
            high: a.high.min(b.high),
            nan,
        },
        BinaryOp::MaxPropagateNan => Interval {
            low: a.low.max(b.low),
            high: a.high.max(b.high),
            nan,
        },
        BinaryOp::Add | BinaryOp::Sub => {
            let (a, b) = (to_unrounded(dtype, x), to_unrounded(dtype, y));
            sum(
                a,
                if op == BinaryOp::Add {
                    b
                } else {
                    negate_interval(b)
                },
            )
            .round_to(dtype, near)
        }
        BinaryOp::Mul => {
            // A product that is fused into a sum is not rounded.
            let exact = multiply_intervals(a, b);
            exact.round_to(dtype, near).hull(exact)
        }
        BinaryOp::Div | BinaryOp::DivRn => {
            let (a, b) = if accuracy.flushes() {
                (a.flushed(), b.flushed())
            } else {
                (a, b)
            };
            let result = divide_intervals(a, b, accuracy.count_units(dtype, 0.0), dtype);
            if accuracy.flushes() {
                result.flushed()
            } else {
                result
            }
        }
        BinaryOp::Rem => {
            return remainder::of_floats(dtype, a, b).map_or(Lane::Unknown, |image| image.to_lane(dtype));
        }
        BinaryOp::Atan2 | BinaryOp::Pow => {
            return image::bound_binary(op, dtype, x, y).map_or(Lane::Unknown, |image| image.to_lane(dtype));
        }
        _ => Interval::ENTIRE,
    };
    result
        .with_nan(nan && !matches!(op, BinaryOp::Min | BinaryOp::Max))
        .to_lane(dtype)
}

fn divide_intervals(a: Interval, b: Interval, units: Option<f64>, dtype: DType) -> Interval {
    if b.holds(0.0) {
        if b.low == b.high && a.low == a.high && !a.nan && !b.nan {
            // An interval does not record the sign of a zero, so the result is an infinity of either sign.
            let nan = a.low == 0.0;
            return if nan {
                Interval::NAN
            } else {
                Interval {
                    nan: false,
                    ..Interval::ENTIRE
                }
            };
        }
        return Interval::ENTIRE;
    }
    let exact = combine_corners(a, b, |x, y| x / y).outward();
    let Some(units) = units else {
        return exact.round_to(dtype, Rounding::NearestEven);
    };
    widen_value(exact.low, units, dtype)
        .hull(widen_value(exact.high, units, dtype))
        .with_nan(exact.nan)
}

/// The result of an operation with a poison operand. It is defined if the other operand alone determines it.
fn resolve_poison(op: BinaryOp, dtype: DType, x: Lane, y: Lane) -> Lane {
    let other = if x == Lane::Poison { y } else { x };
    let ones = if dtype.bits() == 64 {
        u64::MAX
    } else {
        (1 << dtype.bits()) - 1
    };
    match (op, other.bits()) {
        (BinaryOp::And | BinaryOp::Mul, Some(0)) if dtype.is_int() => Lane::Bits(0),
        (BinaryOp::Or, Some(bits)) if bits == ones => Lane::Bits(ones),
        _ => Lane::Poison,
    }
}

fn apply_integer(op: BinaryOp, dtype: DType, x: Lane, y: Lane) -> Lane {
    match (x.bits(), y.bits()) {
        (Some(x), Some(y)) => convert_computed(numeric::apply_binary(op, dtype, x, y)),
        (Some(_), None) => decide_alone(op, dtype, x),
        _ => decide_alone(op, dtype, y),
    }
}

/// The result of an operation with an unknown value.
fn decide_alone(op: BinaryOp, dtype: DType, other: Lane) -> Lane {
    match resolve_poison(op, dtype, Lane::Poison, other) {
        Lane::Poison => Lane::Unknown,
        decided => decided,
    }
}

pub(crate) fn apply_ternary(op: TernaryOp, dtype: DType, x: Lane, y: Lane, z: Lane) -> Lane {
    if [x, y, z].contains(&Lane::Poison) {
        return Lane::Poison;
    }
    if op == TernaryOp::Fma
        && dtype.is_float()
        && let Some(lane) = fuse::simplify_fma(dtype, x, y, z)
    {
        return lane;
    }
    let extrema = dtype.is_float() && op != TernaryOp::Fma;
    if let (Some(x), Some(y), Some(z), false) = (x.bits(), y.bits(), z.bits(), extrema) {
        return convert_computed(numeric::apply_ternary(op, dtype, x, y, z));
    }
    if !dtype.is_float() {
        return Lane::Unknown;
    }
    match op {
        TernaryOp::Fma => {
            let exact = sum(
                multiply_intervals(x.to_interval(dtype), y.to_interval(dtype)),
                z.to_interval(dtype),
            );
            exact.round_to(dtype, Rounding::NearestEven).to_lane(dtype)
        }
        TernaryOp::Clamp | TernaryOp::ClampPropagateNan => clamp(op, dtype, x.plain(), y.plain(), z.plain()),
    }
}

/// A clamped number. Without `propagate_nan`, a NaN becomes a number between the limits, and which one is not specified: the
/// general lowering leaves the lower limit, `min.xorsign.abs` (`sm_90`, limits `-a` and `a`) the limit with the NaN's sign
/// (`ClampFOpConversion` of Triton's common lowering and of its NVIDIA backend). See [`numeric::apply_ternary`] for undefined
/// limits.
fn clamp(op: TernaryOp, dtype: DType, x: Lane, low: Lane, high: Lane) -> Lane {
    if let (Some(low), Some(high)) = (low.bits(), high.bits())
        && numeric::apply_ternary(op, dtype, low, low, high).bits().is_none()
    {
        return Lane::Poison;
    }
    if op == TernaryOp::ClampPropagateNan {
        let raised = apply_binary(BinaryOp::MaxPropagateNan, dtype, x, low);
        return apply_binary(BinaryOp::MinPropagateNan, dtype, raised, high);
    }
    let (value, least, most) = (
        x.to_interval(dtype),
        low.to_interval(dtype),
        high.to_interval(dtype),
    );
    let of_nan = Interval {
        low: least.low,
        high: most.high,
        nan: least.nan || most.nan,
    };
    if value.only_nan() {
        return of_nan.to_lane(dtype);
    }
    let clamped = apply_binary(
        BinaryOp::Min,
        dtype,
        apply_binary(BinaryOp::Max, dtype, x, low),
        high,
    );
    if value.nan {
        clamped.hull(of_nan.to_lane(dtype), Some(dtype))
    } else {
        clamped
    }
}

pub(crate) fn compare(predicate: CmpPredicate, dtype: DType, x: Lane, y: Lane) -> Lane {
    if x == Lane::Poison || y == Lane::Poison {
        return Lane::Poison;
    }
    if let (Some(x), Some(y)) = (x.bits(), y.bits()) {
        return Lane::Bits(u64::from(numeric::compare(predicate, dtype, x, y)));
    }
    if !dtype.is_float() {
        return Lane::Unknown;
    }
    let (a, b) = (x.to_interval(dtype), y.to_interval(dtype));
    if a.only_nan() || b.only_nan() {
        return Lane::Bits(u64::from(predicate == CmpPredicate::Ne));
    }
    let (below, above) = (a.high < b.low, a.low > b.high);
    let equal = a.low == a.high && b.low == b.high && a.low == b.low;
    let apart = below || above;
    let decided = match predicate {
        CmpPredicate::Eq if equal => Some(true),
        CmpPredicate::Eq if apart => Some(false),
        CmpPredicate::Ne if apart => Some(true),
        CmpPredicate::Ne if equal => Some(false),
        CmpPredicate::Lt if below => Some(true),
        CmpPredicate::Lt if a.low >= b.high => Some(false),
        CmpPredicate::Le if a.high <= b.low => Some(true),
        CmpPredicate::Le if above => Some(false),
        CmpPredicate::Gt if above => Some(true),
        CmpPredicate::Gt if a.high <= b.low => Some(false),
        CmpPredicate::Ge if a.low >= b.high => Some(true),
        CmpPredicate::Ge if below => Some(false),
        _ => None,
    };
    // A NaN makes every comparison false, except `!=`.
    let with_nan = predicate == CmpPredicate::Ne;
    match decided {
        Some(holds) if !(a.nan || b.nan) || holds == with_nan => Lane::Bits(u64::from(holds)),
        _ => Lane::Unknown,
    }
}

/// Casts an interval to an fp8 dtype. Such casts saturate and round by rules of their own, but they are monotonic, so the
/// ends of the result are the cast ends of the interval.
fn to_fp8(from: DType, to: DType, rounding: Rounding, interval: Interval) -> Lane {
    let cast = |value: f64| {
        let bits = numeric::encode(from, value, Rounding::NearestEven);
        let bits = numeric::cast(from, to, rounding, bits).bits();
        bits.map_or(f64::NAN, |bits| decode(to, bits))
    };
    let ends = [interval.low, interval.high].map(|end| {
        if interval.only_nan() {
            Interval::NAN
        } else {
            Interval::point(cast(end))
        }
    });
    let nan = interval.nan.then(|| Interval::point(cast(f64::NAN)));
    let all = ends.into_iter().chain(nan);
    all.reduce(Interval::hull).unwrap_or(Interval::NAN).to_lane(to)
}

pub(crate) fn cast(from: DType, to: DType, rounding: Rounding, x: Lane) -> Lane {
    if x == Lane::Poison || from == to {
        return x;
    }
    if let Some(bits) = x.bits() {
        let cast = numeric::cast(from, to, rounding, bits);
        let product = cast
            .bits()
            .and_then(|bits| fuse::narrow_product(from, to, rounding, x, bits));
        return product.unwrap_or_else(|| convert_computed(cast));
    }
    if !from.is_float() {
        return if to.is_float() {
            Interval::ENTIRE.to_lane(to)
        } else {
            Lane::Unknown
        };
    }
    let interval = x.to_interval(from);
    if to.is_fp8() {
        return to_fp8(from, to, rounding, interval);
    }
    if to.is_float() {
        return interval.round_to(to, rounding).to_lane(to);
    }
    if interval.nan || interval.only_nan() {
        return Lane::Unknown;
    }
    if to == DType::I1 {
        let zero = interval.low == 0.0 && interval.high == 0.0;
        return if zero {
            Lane::Bits(0)
        } else if interval.holds(0.0) {
            Lane::Unknown
        } else {
            Lane::Bits(1)
        };
    }
    let whole = |value: f64| numeric::cast(DType::F64, to, rounding, value.to_bits());
    match (whole(interval.low), whole(interval.high)) {
        (Computed::Bits(low), Computed::Bits(high)) if low == high => Lane::Bits(low),
        _ => Lane::Unknown,
    }
}

/// `x` if the condition is true, otherwise `y`.
pub(crate) fn select([condition, x, y]: [Lane; 3], dtype: Option<DType>, sides: Sides) -> Lane {
    match condition.bits() {
        Some(bits) if bits & 1 == 1 => x,
        Some(_) => y,
        None if condition == Lane::Poison => Lane::Poison,
        None => sides.merge(x, y, dtype),
    }
}
