//! Functions of CUDA's math library on lanes that are not exact.

use conch_tile::ir::Rounding;
use conch_tile::numeric::library::Symbol;
use conch_tile::numeric::{Range, encode};
use smallvec::SmallVec;

use super::float::computed;
use super::lane::{Interval, Lane};

type Operands = SmallVec<[u64; 4]>;

/// What conforming implementations give for lanes of the operands.
pub(crate) fn library(symbol: &Symbol, lanes: &[Lane]) -> Lane {
    if lanes.contains(&Lane::Poison) {
        return Lane::Poison;
    }
    let exact: Option<Operands> = lanes.iter().map(|lane| lane.bits()).collect();
    if let Some(bits) = exact {
        // Integers do not depend on what an engine flushes: the library is linked one way.
        let settled = !symbol.result.is_float() || (symbol.is_exact() && !symbol.flushes());
        return if settled {
            computed(symbol.value(&bits))
        } else {
            lane(symbol, symbol.range(&bits))
        };
    }
    let corners = if symbol.is_monotone() {
        corners(symbol, lanes)
    } else {
        None
    };
    let Some((corners, nan)) = corners else {
        return unknown(symbol);
    };
    if symbol.result.is_float() {
        let ranges = corners.iter().map(|operands| symbol.range(operands));
        return match ranges.reduce(Range::hull) {
            // Where a corner has no number, there may be any around it.
            Some(range) if !range.nan => lane(symbol, Range { nan, ..range }),
            _ => unknown(symbol),
        };
    }
    let mut values = corners.iter().map(|operands| symbol.value(operands));
    match values.next() {
        Some(first) if !nan && values.all(|value| value == first) => computed(first),
        _ => Lane::Unknown,
    }
}

fn lane(symbol: &Symbol, range: Range) -> Lane {
    let Range { low, high, nan } = range;
    Interval { low, high, nan }.lane(symbol.result)
}

fn unknown(symbol: &Symbol) -> Lane {
    if symbol.result.is_float() {
        Interval::EVERYTHING.lane(symbol.result)
    } else {
        Lane::Unknown
    }
}

/// The operands at each combination of the ends of their intervals, and whether one may be a NaN; `None` where an operand
/// is not known, or no number.
fn corners(symbol: &Symbol, lanes: &[Lane]) -> Option<(Vec<Operands>, bool)> {
    let mut corners = vec![Operands::new()];
    let mut nan = false;
    for (lane, &dtype) in lanes.iter().zip(symbol.operands) {
        let ends = match lane.bits() {
            Some(bits) => [bits, bits],
            None if dtype.is_float() => {
                let interval = lane.interval(dtype);
                nan |= interval.nan;
                if interval.only_nan() {
                    return None;
                }
                [interval.low, interval.high].map(|end| encode(dtype, end, Rounding::NearestEven))
            }
            None => return None,
        };
        let both = |operands: &Operands| {
            ends.map(|end| {
                let mut operands = operands.clone();
                operands.push(end);
                operands
            })
        };
        corners = corners.iter().flat_map(both).collect();
    }
    Some((corners, nan))
}
