//! Rounding errors as operations of the IR: each returns its first operand, and a run with intervals widens it.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Foreign, Rounding, UnaryOp};
use cerith_tile::numeric::{Accuracy, Range, decode, encode};
use smallvec::SmallVec;

/// More than 1, for the rounding of a bound's own computation.
const SLACK: f64 = 1.0 + 1.0 / (1u64 << 40) as f64;

/// Bits of a float's significand, with the hidden one.
pub(crate) fn count_bits(dtype: DType) -> i32 {
    dtype
        .float_format()
        .map_or(53, |(fraction, _)| fraction as i32 + 1)
}

/// Whether every number of a dtype is one of another.
pub(crate) fn is_wider(from: DType, to: DType) -> bool {
    let exponents = |dtype: DType| dtype.float_format().map_or(0, |(_, bias)| bias);
    count_bits(to) >= count_bits(from) && exponents(to) >= exponents(from)
}

/// The exponent of the least number of a dtype above zero.
fn least_exponent(dtype: DType) -> i32 {
    dtype
        .float_format()
        .map_or(-1074, |(fraction, bias)| 1 - bias as i32 - fraction as i32)
}

/// 2 to an integer power, subnormal ones included.
fn power_of_two(exponent: i32) -> f64 {
    f64::from(exponent).exp2()
}

/// Whether a number has no more than so many significant bits.
pub(crate) fn has_bits(value: f64, bits: i32) -> bool {
    value == 0.0 || !value.is_finite() || value.to_bits().trailing_zeros() as i32 >= 53 - bits
}

/// The largest number of a dtype.
pub(crate) fn find_largest(dtype: DType) -> f64 {
    decode(dtype, encode(dtype, f64::MAX, Rounding::TowardZero))
}

/// Whether a number is one of a dtype.
fn is_number_of(value: f64, dtype: DType) -> bool {
    let bits = count_bits(dtype);
    has_bits(value, bits)
        && (value == 0.0
            || !value.is_finite()
            || value.abs() <= find_largest(dtype)
                && find_lowest_bit(value) >= power_of_two(least_exponent(dtype)))
}

/// The value of the lowest bit that is set; infinity of zero, so that it does not count in a minimum.
fn find_lowest_bit(value: f64) -> f64 {
    if value == 0.0 {
        return f64::INFINITY;
    }
    if !value.is_finite() {
        return 0.0;
    }
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32).max(1) - 1075;
    let significand = value.to_bits() & ((1 << 52) - 1) | u64::from(value.abs() >= f64::MIN_POSITIVE) << 52;
    power_of_two(exponent + significand.trailing_zeros() as i32)
}

/// The value of a number's last place in a dtype.
pub(crate) fn last_place(value: f64, dtype: DType) -> f64 {
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-1022);
    power_of_two((exponent - count_bits(dtype) + 1).max(least_exponent(dtype)))
}

/// A function that returns its first operand, with bounds.
fn bounded(name: &str, bounds: impl Fn(&[Range]) -> Range + Send + Sync + 'static) -> Foreign {
    let first = |operands: &[u64]| operands.first().copied().unwrap_or(0);
    Foreign::new(name, first).with_bounds(move |operands| {
        let operands: SmallVec<[Range; 3]> = operands.iter().map(|&range| snap_zero(range)).collect();
        bounds(&operands)
    })
}

/// Zero for a range that is zero up to the rounding of `f64`: a sum of zeros is widened by the least number.
fn snap_zero(range: Range) -> Range {
    let nothing = f64::from_bits(1 << 16);
    if -nothing < range.low && range.low < 0.0 && 0.0 < range.high && range.high < nothing && !range.nan {
        Range::from_value(0.0)
    } else {
        range
    }
}

fn is_point(range: Range) -> bool {
    range.low == range.high && !range.nan
}

/// The range, and so much more on either side.
fn widen(range: Range, below: f64, above: f64) -> Range {
    let end = |end: f64, by: f64| {
        if end.is_finite() && !by.is_nan() {
            end + by
        } else {
            end
        }
    };
    Range {
        low: end(range.low, -below * SLACK),
        high: end(range.high, above * SLACK),
        nan: range.nan,
    }
}

/// A range after its widening, in a dtype: a number that rounds to an infinity may be one, and any other is at most the largest.
fn admit_overflow(range: Range, widened: Range, dtype: DType) -> Range {
    let largest = find_largest(dtype);
    let limit = (largest + last_place(largest, dtype) / 2.0) * SLACK * SLACK;
    Range {
        low: if range.low < -limit {
            f64::NEG_INFINITY
        } else {
            widened.low.max(-largest)
        },
        high: if range.high > limit {
            f64::INFINITY
        } else {
            widened.high.min(largest)
        },
        nan: range.nan,
    }
}

fn widen_by_units(range: Range, dtype: DType, units: f64) -> Range {
    let widened = widen(
        range,
        units * last_place(range.low, dtype),
        units * last_place(range.high, dtype),
    );
    admit_overflow(range, widened, dtype)
}

/// The first operand, rounded to a dtype so many times, to nearest or toward zero.
pub(crate) fn round_to(dtype: DType, rounding: Rounding, times: usize) -> Foreign {
    let units = times as f64
        * if rounding == Rounding::NearestEven {
            0.5
        } else {
            1.0
        };
    bounded(&format!("rounded to {dtype}"), move |operands| match *operands {
        [value, ..] if is_point(value) && is_number_of(value.low, dtype) => value,
        [value, ..] => widen_by_units(value, dtype, units),
        [] => Range::FULL,
    })
}

/// The number of a dtype that is nearest to an `f64`.
pub(crate) fn to_dtype(dtype: DType) -> Foreign {
    Foreign::new_rising(&format!("to {dtype}"), find_nearest(dtype))
}

/// The bits of the number of a dtype that is nearest to an `f64`.
fn find_nearest(dtype: DType) -> impl Fn(&[u64]) -> u64 + Send + Sync + 'static {
    move |operands| {
        let value = operands.first().map_or(0.0, |&bits| decode(DType::F64, bits));
        encode(dtype, value, Rounding::NearestEven)
    }
}

/// The number of a dtype that is nearest to an `f64`, with the bounds of the `f64`: the error of this rounding is not permitted.
pub(crate) fn keep_bounds(dtype: DType) -> Foreign {
    let stored = Foreign::new(&format!("stored as {dtype}"), find_nearest(dtype));
    stored.with_bounds(move |operands| match *operands {
        [value, ..] if is_point(value) && is_number_of(value.low, dtype) => value,
        // The bounds of one number would be taken for the bits.
        [value, ..] if is_point(value) => Range {
            low: value.low.next_down(),
            high: value.high.next_up(),
            nan: false,
        },
        [value, ..] => value,
        [] => Range::FULL,
    })
}

/// The first operand, a constant that stands for a number which the dtype may lack. One of few bits is meant as it is.
pub(crate) fn stand_for(dtype: DType, short: i32) -> Foreign {
    let short = short.min(count_bits(dtype) / 2);
    bounded(&format!("meant as {dtype}"), move |operands| match *operands {
        [value, ..] if is_point(value) && has_bits(value.low, short) => value,
        [value, ..] => {
            let unit = last_place(value.high, dtype);
            widen(value, unit / 2.0, unit / 2.0)
        }
        [] => Range::FULL,
    })
}

/// The first operand, with an operand of a dot rounded to 11 bits, either way.
pub(crate) fn round_to_tf32() -> Foreign {
    bounded("rounded to tf32", |operands| match *operands {
        [value, ..]
            if is_point(value)
                && has_bits(value.low, 11)
                && find_lowest_bit(value.low) >= power_of_two(-136) =>
        {
            value
        }
        // A subnormal `f32` loses its last 13 bits.
        [value, ..] => {
            let error = |end: f64| (end.abs() * power_of_two(-10)).max(power_of_two(-136));
            widen(value, error(value.low), error(value.high))
        }
        [] => Range::FULL,
    })
}

/// The first operand with a relative error.
pub(crate) fn err_relatively(part: f64) -> Foreign {
    bounded("split", move |operands| match *operands {
        [value, ..] => widen(value, value.low.abs() * part, value.high.abs() * part),
        [] => Range::FULL,
    })
}

/// Flushes subnormal numbers of `f32`.
fn flush(range: Range) -> Range {
    let normal = power_of_two(-126);
    if range.low < normal && range.high > -normal {
        Range {
            low: range.low.min(0.0),
            high: range.high.max(0.0),
            ..range
        }
    } else {
        range
    }
}

fn widen_by_accuracy(accuracy: Accuracy, dtype: DType, operands: &[Range]) -> Range {
    let [value, arguments @ ..] = operands else {
        return Range::FULL;
    };
    let largest = |range: &Range| range.low.abs().max(range.high.abs());
    let magnitude = arguments
        .iter()
        .map(largest)
        .filter(|x| x.is_finite())
        .fold(0.0, f64::max);
    let units = accuracy.count_units(dtype, magnitude).unwrap_or(0.0).max(0.5);
    if units == 0.5 && is_point(*value) && is_number_of(value.low, dtype) {
        return *value;
    }
    let range = widen_by_units(*value, dtype, units);
    if accuracy.flushes() { flush(range) } else { range }
}

/// The first operand, the result of a function of the second, with the function's documented error.
pub(crate) fn err_unary(op: UnaryOp, dtype: DType) -> Foreign {
    let accuracy = Accuracy::of_unary(op, dtype);
    bounded(&format!("{} of {dtype}", op.name()), move |operands| {
        let range = widen_by_accuracy(accuracy, dtype, operands);
        // No implementation leaves the range of the function by its error.
        match op {
            UnaryOp::Exp | UnaryOp::Exp2 | UnaryOp::Sqrt | UnaryOp::SqrtRn | UnaryOp::Rsqrt => Range {
                low: range.low.max(0.0),
                ..range
            },
            _ => range,
        }
    })
}

/// The first operand, the result of an operation on the others, with its documented error.
pub(crate) fn err_binary(op: BinaryOp, dtype: DType) -> Foreign {
    let accuracy = Accuracy::of_binary(op, dtype);
    bounded(&format!("{} of {dtype}", op.name()), move |operands| {
        widen_by_accuracy(accuracy, dtype, operands)
    })
}

/// The first operand, a sum of `count` terms, each step rounded to `dtype` in any order. The second is the sum of the terms'
/// magnitudes, the third the least bit of all terms: if every partial sum is a number of the dtype, every order is exact.
pub(crate) fn err_sum(dtype: DType, count: usize) -> Foreign {
    let unit = count as f64 * power_of_two(-count_bits(dtype)) * 1.01;
    let least = count as f64 * power_of_two(least_exponent(dtype));
    let largest = power_of_two(count_bits(dtype));
    bounded(
        &format!("sum of {count} {dtype}"),
        move |operands| match *operands {
            [sum, magnitude, lowest] => {
                let exact = is_point(sum) && is_point(magnitude) && is_point(lowest);
                if exact
                    && magnitude.high <= find_largest(dtype)
                    && magnitude.high <= largest * lowest.low
                    && lowest.low >= power_of_two(least_exponent(dtype))
                {
                    return sum;
                }
                let error = magnitude.high * unit + least;
                admit_overflow(sum, widen(sum, error, error), dtype)
            }
            _ => Range::FULL,
        },
    )
}

/// The value of the lowest set bit of a number that is known exactly, and otherwise zero.
pub(crate) fn lowest_bit() -> Foreign {
    let of = |bits: u64| {
        let bit = find_lowest_bit(decode(DType::F64, bits));
        encode(DType::F64, bit, Rounding::NearestEven)
    };
    let lowest = Foreign::new("lowest bit", move |operands| {
        operands.first().map_or(0, |&bits| of(bits))
    });
    lowest.with_bounds(|operands| match *operands {
        [value, ..] if is_point(value) => Range::from_value(find_lowest_bit(value.low)),
        _ => Range::from_value(0.0),
    })
}
