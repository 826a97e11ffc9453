//! Acceptance intervals: the values that a conforming implementation may store instead of the reference's.
//!
//! A second execution of a launch, slow and lane by lane, in which a float is an interval: the values that
//! implementations may compute that keep the language's promises. It runs only if bits differ.
//!
//! | operation | a conforming result |
//! |---|---|
//! | comparisons, selections, integers, shapes, memory | the reference's, from the intervals of the operands |
//! | `+ - *`, `fma`, casts, `sqrt_rn`, `div_rn` | rounded once, to nearest even |
//! | a product that is added to something | rounded once or twice (`contract`) |
//! | `/`, `sqrt`, `rsqrt` and transcendental functions | within the documented ULPs ([`cerith_tile::numeric::Accuracy`]) |
//! | these of an interval | all between its extremes (`image`) |
//! | sums, products, scans, dots, float atomics | any order, each step rounded: `n u` times the terms' magnitudes (`sum`) |
//! | other reductions that do not round | equal in several orders; unknown if they differ |
//! | other regions over floats | the hull of several orders, widened by `n` roundings; unknown if orders exclude each other (`combine_function`) |
//!
//! # Permitted compiler changes to floats
//!
//! This list is complete: any other difference is a wrong result. Its sources are Triton's passes, LLVM's flags, and the PTX
//! and machine code of Triton 3.0.0 to 3.9.0 for `sm_90`.
//!
//! - **Contract**: a product and a sum become one `fma`. Triton sets `FPOpFusion::Fast` (`enable_fp_fusion`, on by
//!   default), so that LLVM contracts without flags on the operations; `ptxas` is given `--fmad` with it. See
//!   `contract` for how far a product keeps its factors.
//! - **Combine**: `dot(a, b, 0) + d` becomes `dot(a, b, d)`, and `sum(x[:, :, None] * y[None, :, :], 1)` a dot, in Triton's
//!   own passes (`Combine.td`, `Combine.cpp`), whatever `enable_fp_fusion` says (`dot_addition`). Up to 3.7 the second is a
//!   dot with `tf32` operands. This is not accepted: 3.8 fixed it.
//! - **Narrow**: a result that is rounded to a dtype which the operands were widened from is computed in that dtype
//!   (LLVM, `visitFPTrunc`). The value is the same, except that a product may be fused there (`narrow`).
//! - **Order** reductions, scans, dots and atomics as it likes (`sum`, `region`). Nothing else is reassociated: no
//!   operation has `reassoc`.
//! - **Flush** subnormal operands and results of `f32` to the zero of their sign, where an instruction has `.ftz`: the
//!   approximate ones (`sqrt`, `rsqrt`, `exp2`, `floor`, `ceil`), functions of `libdevice`, which Triton links with
//!   `nvvm-reflect-ftz`, and up to 3.5 `sqrt_rn` and `div_rn`, which belonged to it. Flushing comes first: the root of a
//!   negative subnormal number is `-0`. `+ - *`, `fma`, `/`, casts, minima and comparisons do not flush.
//! - **Approximate** `/` (`div.full`, and from 3.9 by the inverse of a constant), `exp`, and what the tables of
//!   [`cerith_tile::numeric`] name.
//! - **Forget** which NaN it is, and which sign the zero has that an approximation gave. Nothing has `nnan`, `ninf`,
//!   `nsz` or `arcp`.
//!
//! # Unbounded results
//!
//! An interval of all numbers of the dtype proves no agreement: such an element is [`Accepted::Unknown`], as are a quotient
//! whose divisor may be zero, a function across its pole, and a function without documented accuracy.
//!
//! A comparison of intervals that overlap is unknown, and so is everything that depends on it as an address, a mask or a
//! condition (`doubt`). The result of an atomic that meets others is unknown as data; if it controls execution, other orders
//! of the programs are tried (`atomics`).
//!
//! The first execution finds undefined behaviour. See `cerith-verdict` for the comparison.
#![warn(missing_docs)]

mod accepted;
mod atomics;
mod attribution;
mod blocks;
mod cause;
mod chunk;
mod combine_function;
mod dot_addition;
mod dots;
mod doubt;
mod ends;
mod exact;
mod float;
mod formula;
mod fuse;
mod identity;
mod image;
mod interval;
mod lane;
mod lanes;
mod library;
mod machine;
mod map;
mod mergeable;
mod narrow;
mod operation;
mod precision;
mod product;
mod region;
mod remainder;
mod rounding;
mod source;
mod state;
mod sum;
mod touched;
mod transfer;
mod wide;

use cerith_interp::{Config, InternalError, ParamValue, Program};
use cerith_memory::Memory;

pub use self::accepted::{Acceptance, Accepted};
pub use self::attribution::find_operation;
pub use self::cause::Widening;
pub use self::identity::StoredElement;
pub use self::map::AcceptanceMap;

/// Runs a launch with intervals. `memory` is the state before the launch, and ends as the reference leaves it. `map` has
/// the elements that are not exact, before and after.
///
/// # Errors
/// As [`Program::launch`].
pub fn accept(
    program: &Program,
    grid: [u32; 3],
    args: &[ParamValue],
    memory: &mut Memory,
    map: &mut AcceptanceMap,
    config: &Config<'_>,
) -> Result<Acceptance, InternalError> {
    machine::accept(program, grid, args, memory, map, config)
}
