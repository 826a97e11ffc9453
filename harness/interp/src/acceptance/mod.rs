//! What a conforming implementation may give, where it may give something else than the reference.
//!
//! A second execution of a launch, slow and lane by lane, in which a float is an interval: the values that any
//! implementation may have there that keeps the language's promises. It is run only when bits differ.
//!
//! | operation | a conforming result |
//! |---|---|
//! | comparisons, selections, integers, shapes, memory | the reference's, from the intervals of the operands |
//! | `+ - *`, `fma`, casts, `sqrt_rn`, `div_rn` | rounded once, to nearest even |
//! | a product that is added to something | rounded once or twice (`contract`) |
//! | `/`, `sqrt`, `rsqrt` and transcendental functions | within the documented ULPs ([`cerith_tile::numeric::Accuracy`]) |
//! | the same of an interval | what lies between its extremes (`image`) |
//! | sums, products, scans, dots, float atomics | any order, each step rounded: `n u` times the terms' magnitudes (`sum`) |
//! | other reductions that do not round | the same in several orders; unknown where they differ |
//! | other regions over floats | any order: unknown, unless the region does not round |
//!
//! # What a compiler may do to floats
//!
//! This is the whole list; what is not on it is a wrong result. It was read off Triton's passes, LLVM's flags and the PTX
//! and machine code that Triton 3.0.0 to 3.9.0 make for `sm_90`.
//!
//! - **Contract**: a product and a sum become one `fma`. Triton sets `FPOpFusion::Fast` (`enable_fp_fusion`, on by
//!   default), so that LLVM contracts without flags on the operations; `ptxas` is given `--fmad` with it. How far a product
//!   keeps its factors is told in `contract`.
//! - **Combine**: `dot(a, b, 0) + d` becomes `dot(a, b, d)`, and `sum(x[:, :, None] * y[None, :, :], 1)` a dot, in Triton's
//!   own passes (`Combine.td`, `Combine.cpp`), whatever `enable_fp_fusion` says (`combine`). That the second is a dot with
//!   `tf32` operands up to 3.7 is not admitted: 3.8 mended it.
//! - **Narrow**: a result that is rounded to a dtype which the operands were widened from is computed in that dtype
//!   (LLVM, `visitFPTrunc`). The value is the same, but that a product may be fused there (`narrow`).
//! - **Order** reductions, scans, dots and atomics as it likes (`sum`, `region`). Nothing else is reassociated: no
//!   operation has `reassoc`.
//! - **Flush** subnormal operands and results of `f32` to the zero of their sign, where an instruction has `.ftz`: the
//!   approximate ones (`sqrt`, `rsqrt`, `exp2`, `floor`, `ceil`), functions of `libdevice`, which Triton links with
//!   `nvvm-reflect-ftz`, and up to 3.5 `sqrt_rn` and `div_rn`, which were of it. Flushing comes first: the root of a
//!   negative subnormal number is `-0`. `+ - *`, `fma`, `/`, casts, minima and comparisons do not flush.
//! - **Approximate** `/` (`div.full`, and from 3.9 by the inverse of a constant), `exp`, and what the tables of
//!   [`cerith_tile::numeric`] name.
//! - **Forget** which NaN it is, and which sign the zero has that an approximation gave. Nothing has `nnan`, `ninf`,
//!   `nsz` or `arcp`.
//!
//! # What has no bound
//!
//! An interval that every number of the dtype lies in says nothing, and is no agreement: such an element is
//! [`Accepted::Unknown`], as are a quotient by what may be zero, a function across its pole, and one that no document has a
//! figure for.
//!
//! A comparison of intervals that overlap is unknown, and what depends on it with it, be it as an address, a mask or a
//! condition ([`doubt`]). What an atomic returns that meets others is unknown as data; where it decides what is executed,
//! other orders of the programs are tried ([`atomics`]).
//!
//! Left out: undefined behaviour (the first execution has found it) and the comparison itself (`cerith-verdict`).

mod atomics;
mod blocks;
mod cause;
mod chunk;
mod combine;
mod contract;
mod dots;
mod doubt;
mod exact;
mod float;
mod image;
mod lane;
mod library;
mod machine;
mod map;
mod narrow;
pub(crate) mod precision;
mod product;
mod region;
mod remainder;
mod sum;
mod transfer;
mod wide;

use cerith_memory::Memory;
use cerith_tile::ir::Rounding;
use cerith_tile::source::Span;
use cerith_tile::{DType, numeric};

use crate::config::{Arg, Config};
use crate::outcome::{InternalError, Outcome};
use crate::program::Program;
pub use cause::Widening;
use lane::Lane;
pub use map::AcceptanceMap;
use map::Entry;

/// What a conforming implementation may leave in an element of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accepted {
    /// The reference's bits, or any NaN for a NaN.
    Exact,
    /// A value of the dtype between the two, inclusive, or one beside them; signs of zeros do not count.
    Within {
        /// What was stored.
        dtype: DType,
        /// The least value.
        low: f64,
        /// The greatest value. Where it is below the least, there is no value between.
        high: f64,
        /// Whether minus infinity and infinity are as good.
        infinities: [bool; 2],
        /// Whether a NaN is as good.
        nan: bool,
    },
    /// Nobody can say: it depends on what a conforming implementation may decide either way, or nothing bounds it.
    Unknown,
}

impl Accepted {
    /// Whether bits other than the reference's are accepted; nothing where they may or may not be.
    pub fn admits(self, bits: u64) -> Option<bool> {
        match self {
            Self::Exact => Some(false),
            Self::Unknown => None,
            Self::Within {
                dtype,
                low,
                high,
                infinities: [below, above],
                nan,
            } => {
                let value = numeric::decode(dtype, bits);
                let beside = value == f64::NEG_INFINITY && below || value == f64::INFINITY && above;
                Some(value.is_nan() && nan || low <= value && value <= high || beside)
            }
        }
    }
}

impl Entry {
    pub(super) fn accepted(&self) -> Accepted {
        match (self.lane, self.dtype) {
            // What every number is accepted in is bounded by nothing.
            (Lane::Within { low, high, .. }, Some(dtype)) if is_everything(dtype, low, high) => {
                Accepted::Unknown
            }
            (Lane::Within { low, high, nan, .. }, Some(dtype)) => Accepted::Within {
                dtype,
                low,
                high,
                infinities: [false; 2],
                nan,
            },
            (
                Lane::Apart {
                    low,
                    high,
                    below,
                    above,
                    nan,
                    ..
                },
                Some(dtype),
            ) => Accepted::Within {
                dtype,
                low,
                high,
                infinities: [below, above],
                nan,
            },
            (Lane::Bits(_) | Lane::Product { .. } | Lane::Poison, _) => Accepted::Exact,
            (Lane::Within { .. } | Lane::Apart { .. } | Lane::Guess(_) | Lane::Unknown, _) => {
                Accepted::Unknown
            }
        }
    }
}

/// Whether every number of a dtype is between two.
fn is_everything(dtype: DType, low: f64, high: f64) -> bool {
    let end = |end: f64| numeric::decode(dtype, numeric::encode(dtype, end, Rounding::NearestEven));
    let (least, most) = (end(f64::NEG_INFINITY), end(f64::INFINITY));
    if least.is_nan() {
        let most = numeric::decode(dtype, numeric::encode(dtype, f64::MAX, Rounding::TowardZero));
        return low <= -most && high >= most;
    }
    low <= least && high >= most
}

/// How an execution with intervals ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Acceptance {
    /// The map holds what is accepted.
    Known,
    /// A conforming implementation may do something else altogether, because `what` depends on what may be decided either
    /// way, and cannot be followed.
    Inconclusive {
        /// What depends on it.
        what: &'static str,
        /// Where.
        span: Span,
    },
    /// It did not finish; see [`Outcome`] for why.
    Stopped(Outcome),
}

impl Program {
    /// Runs a launch with intervals. `memory` is as before the launch and ends as the reference leaves it, `map` says
    /// what is not exact, before and after.
    ///
    /// # Errors
    /// As [`Program::launch`].
    pub fn accept(
        &self,
        grid: [u32; 3],
        args: &[Arg],
        memory: &mut Memory,
        map: &mut AcceptanceMap,
        config: &Config<'_>,
    ) -> Result<Acceptance, InternalError> {
        machine::accept(self, grid, args, memory, map, config)
    }
}
