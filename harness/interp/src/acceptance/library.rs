//! Functions of CUDA's math library, and of models of bugs, on lanes that are not exact.

use conch_tile::DType;
use conch_tile::ir::Foreign;
use conch_tile::numeric::Range;
use conch_tile::numeric::library::Symbol;
use smallvec::SmallVec;

use super::float::computed;
use super::lane::{Interval, Lane};
use super::{contract, image};

type Operands = SmallVec<[u64; 4]>;

/// What conforming implementations give for lanes of the operands.
pub(crate) fn library(symbol: &Symbol, lanes: &[Lane]) -> Lane {
    if lanes.contains(&Lane::Poison) {
        return Lane::Poison;
    }
    // The library is compiled in: where it adds to an operand that is a product, that may be fused into the sum. In the PTX
    // of Triton 3.9.0: `acosh` and `normcdfinv`, which begin with `x - 1` and `1 - x`.
    let unrounded = |(&lane, &dtype): (&Lane, &DType)| match lane {
        Lane::Product { .. } if !symbol.is_exact() => contract::unrounded(dtype, lane).lane(dtype),
        _ => lane,
    };
    let lanes: SmallVec<[Lane; 4]> = lanes.iter().zip(symbol.operands).map(unrounded).collect();
    let lanes = lanes.as_slice();
    let exact: Option<Operands> = lanes.iter().map(|lane| lane.bits()).collect();
    if let Some(bits) = exact {
        // Integers do not depend on what an engine flushes: the library is linked one way.
        let settled = !symbol.result.is_float() || (symbol.is_exact() && !symbol.flushes());
        return if settled {
            computed(symbol.value(&bits))
        } else {
            let Range { low, high, nan } = symbol.range(&bits);
            Interval { low, high, nan }.lane(symbol.result)
        };
    }
    if symbol.result.is_float() {
        let image = image::library(symbol, lanes);
        image.map_or(Lane::Unknown, |image| image.lane(symbol.result))
    } else {
        image::library_integer(symbol, lanes).map_or(Lane::Unknown, Lane::Bits)
    }
}

/// What a function of a model of somebody's bug gives: nothing is known of it but where every operand is exact.
pub(crate) fn foreign(foreign: &Foreign, lanes: &[Lane]) -> Lane {
    if lanes.contains(&Lane::Poison) {
        return Lane::Poison;
    }
    let exact: Option<Operands> = lanes.iter().map(|lane| lane.bits()).collect();
    exact.map_or(Lane::Unknown, |bits| Lane::Bits(foreign.value(&bits)))
}
