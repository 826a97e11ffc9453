//! CUDA's math library, `libdevice`, as Triton links it: the functions that are not operations of the IR.
//!
//! A [`Symbol`] is a function of the library for operands of certain dtypes, with its value and the admitted results of
//! engines. The PTX that Triton 3.9.0 emits for a kernel that calls it determines the function: most are one
//! instruction (`add.rm`, `cvt.rni.s32.f64`); the others follow the CUDA Math API. Triton links the library with
//! `__CUDA_FTZ` set: if [`Symbol::flushes`], functions of `f32` read subnormal operands as zeros and flush subnormal
//! results. The launch option `enable_reflect_ftz` undoes that, so both are admitted.
//!
//! Not here: the functions that are unary or binary operations of the IR too (`exp`, `atan2`), and `rcp64h`, whose
//! accuracy is undocumented.

mod bessel;
mod bound;
mod gamma;
mod instruction;
mod integer;
mod pair;
pub mod rounding;
mod special;
mod table;
mod word;

use std::fmt;

use self::bound::Bound;
pub use self::instruction::{find_instruction, instructions};
use super::accuracy::{Range, is_subnormal};
use super::cast::decode;
use super::computed::Computed;
use crate::DType;

/// The greatest order of a Bessel function that has a value here. No document says how close the library is beyond 128,
/// and the work grows with the order.
const GREATEST_ORDER: i32 = 65_536;

/// A function of the library for operands of certain dtypes.
#[derive(Clone, Copy)]
pub struct Symbol {
    /// Triton's name: `clz`. Several symbols share it, one for each list of dtypes.
    pub function: &'static str,
    /// The library's name: `__nv_clzll`.
    pub name: &'static str,
    /// The dtypes that it takes, exactly these.
    pub operands: &'static [DType],
    /// The dtype of its result.
    pub result: DType,
    value: fn(&[u64]) -> u64,
    bound: Bound,
    flushes: bool,
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A name is of one symbol.
impl PartialEq for Symbol {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Symbol {}

/// Every symbol.
pub fn symbols() -> impl Iterator<Item = &'static Symbol> {
    table::TABLES.iter().copied().flatten()
}

/// The symbols of a function of Triton's.
pub fn symbols_of(function: &str) -> impl Iterator<Item = &'static Symbol> {
    symbols().filter(move |symbol| symbol.function == function)
}

/// The symbol of a function for operands of these dtypes.
pub fn find_symbol(function: &str, operands: &[DType]) -> Option<&'static Symbol> {
    symbols_of(function).find(|symbol| symbol.operands == operands)
}

impl Symbol {
    /// The result for one lane, as Triton links the function. Poison for a wrong number of operands, and for unbounded
    /// orders of Bessel functions.
    pub fn evaluate(&self, operands: &[u64]) -> Computed {
        if operands.len() != self.operands.len() || self.is_endless(operands) {
            return Computed::Poison;
        }
        if !self.flushes {
            return Computed::Bits((self.value)(operands));
        }
        let operands: smallvec::SmallVec<[u64; 4]> = operands
            .iter()
            .zip(self.operands)
            .map(|(&bits, &dtype)| flush(dtype, bits))
            .collect();
        Computed::Bits(flush(self.result, (self.value)(&operands)))
    }

    fn is_endless(&self, operands: &[u64]) -> bool {
        matches!(self.function, "jn" | "yn")
            && operands
                .first()
                .is_some_and(|&order| order as i32 > GREATEST_ORDER)
    }

    /// The admitted results of engines for one lane.
    pub fn evaluate_range(&self, operands: &[u64]) -> Range {
        let Computed::Bits(bits) = self.evaluate(operands) else {
            return Range::FULL;
        };
        let around = |operands: &[u64]| {
            let numbers: smallvec::SmallVec<[f64; 4]> = operands
                .iter()
                .zip(self.operands)
                .map(|(&bits, &dtype)| decode(dtype, bits))
                .collect();
            let exact = Range::from_value(decode(self.result, (self.value)(operands)));
            self.bound.widen_range(&numbers, exact, self.result)
        };
        let mut range = Range::from_value(decode(self.result, bits)).hull_with(around(operands));
        if !self.flushes {
            return range;
        }
        // An engine may flush any of the operands.
        let subnormal = |nth: usize| {
            let pair = operands.get(nth).zip(self.operands.get(nth));
            pair.is_some_and(|(&bits, &dtype)| dtype == DType::F32 && is_subnormal(dtype, bits))
        };
        for choice in 1..1u32 << operands.len() {
            let chosen = |nth: usize| choice >> nth & 1 == 1;
            if (0..operands.len()).all(|nth| !chosen(nth) || subnormal(nth)) {
                let mut some = operands.to_vec();
                for (nth, bits) in some.iter_mut().enumerate().filter(|&(nth, _)| chosen(nth)) {
                    *bits = flush(self.operands.get(nth).copied().unwrap_or(DType::F32), *bits);
                }
                range = range.hull_with(around(&some));
            }
        }
        if self.result == DType::F32 {
            range.widen(DType::F32, 0.0, true)
        } else {
            range
        }
    }

    /// The admitted results if the exact value is somewhere in a range, with the accuracy for these operands.
    pub fn widen_range(&self, operands: &[f64], exact: Range) -> Range {
        let range = self.bound.widen_range(operands, exact, self.result);
        if self.flushes && self.result == DType::F32 {
            range.widen(DType::F32, 0.0, true)
        } else {
            range
        }
    }

    /// Whether every engine returns the same bits, except for the flushing of subnormal numbers.
    pub const fn is_exact(&self) -> bool {
        matches!(self.bound, Bound::Exact)
    }

    /// Whether it takes subnormal numbers of `f32` for zeros.
    pub const fn flushes(&self) -> bool {
        self.flushes
    }

    /// Triton's name without the rounding direction: `add` for `add_rd`.
    pub fn stem(&self) -> &'static str {
        match self.function.rsplit_once('_') {
            Some((stem, "rd" | "rn" | "ru" | "rz")) if stem != "rsqrt" => stem,
            _ => self.function,
        }
    }
}

/// A subnormal number of `f32` as the zero of its sign.
fn flush(dtype: DType, bits: u64) -> u64 {
    if dtype == DType::F32 && is_subnormal(dtype, bits) {
        bits & 0x8000_0000
    } else {
        bits
    }
}
