//! Functions of CUDA's math library, and of models of bugs, on lanes that are not exact.

use cerith_tile::DType;
use cerith_tile::ir::{Foreign, Rounding};
use cerith_tile::numeric::library::Symbol;
use cerith_tile::numeric::{self, Range, decode, encode};
use smallvec::SmallVec;

use super::image;
use super::interval::Interval;
use super::lane::{Lane, convert_computed, to_unrounded};

type Operands = SmallVec<[u64; 4]>;

/// Returns the results of conforming implementations for lanes of the operands.
pub(crate) fn apply_library(symbol: &Symbol, lanes: &[Lane]) -> Lane {
    if lanes.contains(&Lane::Poison) {
        return Lane::Poison;
    }
    // The library's functions are inlined. If a function adds to an operand that is a product, the product may be fused into
    // the sum. In the PTX of Triton 3.9.0, `acosh` and `normcdfinv` do, which begin with `x - 1` and `1 - x`.
    let unrounded = |(&lane, &dtype): (&Lane, &DType)| match lane {
        Lane::Product { .. } if !symbol.is_exact() => to_unrounded(dtype, lane).to_lane(dtype),
        _ => lane,
    };
    let lanes: SmallVec<[Lane; 4]> = lanes.iter().zip(symbol.operands).map(unrounded).collect();
    let lanes = lanes.as_slice();
    let exact: Option<Operands> = lanes.iter().map(|lane| lane.bits()).collect();
    if let Some(bits) = exact {
        // An integer result does not depend on which operands an engine flushes, because the library is linked in one mode.
        let settled = !symbol.result.is_float() || (symbol.is_exact() && !symbol.flushes());
        return if settled {
            convert_computed(symbol.evaluate(&bits))
        } else {
            let Range { low, high, nan } = symbol.evaluate_range(&bits);
            Interval { low, high, nan }.to_lane(symbol.result)
        };
    }
    if symbol.result.is_float() {
        let image = image::bound_library(symbol, lanes);
        image.map_or(Lane::Unknown, |image| image.to_lane(symbol.result))
    } else {
        image::library_integer(symbol, lanes).map_or(Lane::Unknown, Lane::Bits)
    }
}

/// If a lane may have more numbers than this, a model is not called with each of them.
const MAX_NUMBERS: usize = 64;
/// Maximum calls of a model for one lane of the result.
const MAX_CALLS: usize = 512;

/// The results of a known bug's model. If an operand is not exact, the model is called with each of its numbers, if they are few, or
/// with the two ends, if the model rises. Otherwise the result is unknown.
pub(crate) fn apply_foreign(
    foreign: &Foreign,
    lanes: &[Lane],
    from: &[Option<DType>],
    to: Option<DType>,
) -> Lane {
    if lanes.contains(&Lane::Poison) {
        return Lane::Poison;
    }
    if foreign.has_bounds() {
        return apply_bounds(foreign, lanes, from, to);
    }
    let exact: Option<Operands> = lanes.iter().map(|lane| lane.bits()).collect();
    let is_nan =
        |(&bits, dtype): (&u64, &Option<DType>)| dtype.is_some_and(|dtype| numeric::is_nan(dtype, bits));
    match exact {
        Some(bits) if !bits.iter().zip(from).any(is_nan) => Lane::Bits(foreign.evaluate(&bits)),
        _ => apply_each(foreign, lanes, from, to).unwrap_or(Lane::Unknown),
    }
}

/// The results of a model that computes its own bounds.
fn apply_bounds(foreign: &Foreign, lanes: &[Lane], from: &[Option<DType>], to: Option<DType>) -> Lane {
    let range = |(&lane, dtype): (&Lane, &Option<DType>)| {
        let Interval { low, high, nan } = to_unrounded((*dtype)?, lane);
        Some(Range { low, high, nan })
    };
    let ranges: Option<SmallVec<[Range; 3]>> = lanes.iter().zip(from).map(range).collect();
    let Some((bounds, to)) = ranges.and_then(|ranges| foreign.bound(&ranges)).zip(to) else {
        return Lane::Unknown;
    };
    let exact: Option<Operands> = lanes.iter().map(|lane| lane.bits()).collect();
    match exact {
        // A point keeps its bits, the sign of a zero included.
        Some(bits) if bounds.low == bounds.high && !bounds.nan => Lane::Bits(foreign.evaluate(&bits)),
        _ => Interval {
            low: bounds.low,
            high: bounds.high,
            nan: bounds.nan,
        }
        .to_lane(to),
    }
}

fn apply_each(foreign: &Foreign, lanes: &[Lane], from: &[Option<DType>], to: Option<DType>) -> Option<Lane> {
    if let (&[lane], &[dtype]) = (lanes, from) {
        let values = list_values(lane, dtype, foreign.rises())?;
        return join_results(values.iter().map(|&value| foreign.evaluate(&[value])), to);
    }
    let mut asked: Vec<Operands> = vec![Operands::new()];
    for (&lane, &dtype) in lanes.iter().zip(from) {
        let values = list_values(lane, dtype, false)?;
        if asked.len().checked_mul(values.len())? > MAX_CALLS {
            return None;
        }
        let with = |operands: &Operands| {
            let operands = operands.clone();
            values.clone().into_iter().map(move |value| {
                let mut operands = operands.clone();
                operands.push(value);
                operands
            })
        };
        asked = asked.iter().flat_map(with).collect();
    }
    join_results(asked.iter().map(|operands| foreign.evaluate(operands)), to)
}

/// The bits that an operand may have, or only the `ends`, which are enough for a function that rises.
fn list_values(lane: Lane, dtype: Option<DType>, ends: bool) -> Option<Operands> {
    let mut values = match lane {
        Lane::Within { low, high, .. } => {
            list_numbers(dtype.filter(|dtype| dtype.is_float())?, low, high, ends)?
        }
        lane => Operands::from_slice(&[lane.bits()?]),
    };
    if let Some(dtype) = dtype
        && (matches!(lane, Lane::Within { nan: true, .. })
            || values.iter().any(|&bits| numeric::is_nan(dtype, bits)))
    {
        // The NaN's bits are unspecified: an invalid operation returns a quiet NaN of either sign, with all bits of the
        // fraction (NVIDIA) or only the first one (x86).
        let fraction = dtype.float_format().map_or(1, |(fraction, _)| fraction);
        let all = (1u64 << (dtype.bits() - 1)) - 1;
        let first = all ^ ((1 << fraction.saturating_sub(1)) - 1);
        let quiet = [all, first, flip_sign(dtype, all), flip_sign(dtype, first)].into_iter();
        values.extend(quiet.filter(|&bits| numeric::is_nan(dtype, bits)));
    }
    Some(values)
}

/// Joins possible results: their common bits, or the range from the least to the greatest.
fn join_results(mut results: impl Iterator<Item = u64>, to: Option<DType>) -> Option<Lane> {
    let first = results.next()?;
    let mut others = results.filter(|&other| other != first).peekable();
    if others.peek().is_none() {
        return Some(Lane::Bits(first));
    }
    let to = to.filter(|to| to.is_float())?;
    let range = others
        .map(|bits| Interval::point(decode(to, bits)))
        .fold(Interval::point(decode(to, first)), Interval::hull);
    Some(range.to_lane(to))
}

/// The numbers of a dtype between two, with both zeros, or only the least and the largest. `None` if there are too many, or none.
fn list_numbers(dtype: DType, low: f64, high: f64, ends: bool) -> Option<Operands> {
    let inside = |value: f64| encode(dtype, value, Rounding::NearestEven);
    let mut bits = inside(low);
    if decode(dtype, bits) < low {
        bits = next(dtype, bits)?;
    }
    if ends {
        let mut last = flip_sign(dtype, inside(high));
        if decode(dtype, flip_sign(dtype, last)) > high {
            last = next(dtype, last)?;
        }
        let last = flip_sign(dtype, last);
        return (decode(dtype, bits) <= decode(dtype, last)).then(|| Operands::from_slice(&[bits, last]));
    }
    let mut all = Operands::new();
    while decode(dtype, bits) <= high {
        if all.len() >= MAX_NUMBERS {
            return None;
        }
        all.push(bits);
        if decode(dtype, bits) == 0.0 {
            all.push(flip_sign(dtype, bits));
        }
        match next(dtype, bits) {
            Some(larger) => bits = larger,
            None => break,
        }
    }
    (!all.is_empty()).then_some(all)
}

fn flip_sign(dtype: DType, bits: u64) -> u64 {
    bits ^ (1 << (dtype.bits() - 1))
}

/// The next larger number of a dtype: after a zero of either sign, the least positive number. `None` after the last.
fn next(dtype: DType, bits: u64) -> Option<u64> {
    let sign = 1u64 << (dtype.bits() - 1);
    let larger = match (bits & sign != 0, bits & (sign - 1)) {
        (_, 0) => 1,
        (true, _) => bits - 1,
        (false, _) => bits + 1,
    };
    let value = decode(dtype, larger);
    (!value.is_nan() && value > decode(dtype, bits)).then_some(larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_interval(low: f64, high: f64) -> Lane {
        Interval {
            low,
            high,
            nan: false,
        }
        .to_lane(DType::BF16)
    }

    fn ask(foreign: &Foreign, lanes: &[Lane]) -> Lane {
        let from = vec![Some(DType::BF16); lanes.len()];
        apply_foreign(foreign, lanes, &from, Some(DType::F32))
    }

    fn read_interval(lane: Lane) -> (f64, f64) {
        let interval = lane.to_interval(DType::F32);
        (interval.low, interval.high)
    }

    #[test]
    fn a_model_is_called_with_every_number_of_an_operand() {
        let bits = Foreign::new("bits as a number", |x| {
            encode(DType::F32, x[0] as f64, Rounding::NearestEven)
        });
        let two = ask(&bits, &[make_interval(1.0, 1.007_812_5)]);
        assert_eq!(read_interval(two), (f64::from(0x3f80), f64::from(0x3f81)));
        let zeros = ask(&bits, &[make_interval(-0.0, 0.0)]);
        assert_eq!(read_interval(zeros), (0.0, f64::from(0x8000)));
        assert_eq!(ask(&bits, &[make_interval(1.0, 4.0)]), Lane::Unknown, "too many");
        let pair = Foreign::new("sum of bits", |x| {
            encode(DType::F32, (x[0] + x[1]) as f64, Rounding::NearestEven)
        });
        let both = ask(
            &pair,
            &[make_interval(1.0, 1.007_812_5), make_interval(1.0, 1.007_812_5)],
        );
        assert_eq!(read_interval(both), (f64::from(0x7f00), f64::from(0x7f02)));
    }

    #[test]
    fn the_bits_of_a_nan_are_unspecified() {
        let bits = Foreign::new("bits as a number", |x| {
            encode(DType::F32, x[0] as f64, Rounding::NearestEven)
        });
        let nan = ask(&bits, &[Lane::Bits(0x7fc1)]);
        assert_eq!(read_interval(nan), (f64::from(0x7fc0), f64::from(0xffff)));
    }

    #[test]
    fn a_model_that_rises_is_called_with_the_ends() {
        let doubled = Foreign::new_rising("twice", |x| {
            encode(DType::F32, 2.0 * decode(DType::BF16, x[0]), Rounding::NearestEven)
        });
        assert_eq!(
            read_interval(ask(&doubled, &[make_interval(-3.0, 40.0)])),
            (-6.0, 80.0)
        );
        let (low, high) = read_interval(ask(&doubled, &[make_interval(1.001, 1.9999)]));
        assert_eq!((low, high), (2.0 * 1.007_812_5, 2.0 * 1.992_187_5));
    }
}
