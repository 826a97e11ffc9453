//! Exact arithmetic of every dtype, on raw bits.
//!
//! A lane is the bits of one element in the low bits of a `u64`; `i1` is 0 or 1. The functions here take one lane,
//! those of [`lanes`] whole blocks; both go through one table of operations ([`elementwise`](self)), so they cannot differ.
//!
//! Results:
//!
//! - Integers wrap. Shifts by the width or more, and the quotient and remainder of the lowest signed integer and -1,
//!   are poison; division by zero is reported apart, because it makes the whole program undefined.
//! - Floats are computed as if exactly and rounded once to the dtype, to nearest, ties to even, subnormals kept.
//!   Transcendental functions are within an ULP or better of that; how far an engine may be off is in [`Accuracy`], and
//!   which results that admits in [`unary_range`] and its like.
//! - Functions of CUDA's math library that are not operations of the IR are in [`library`].
//! - The payload and sign of a NaN that arithmetic makes are unspecified, as in IEEE 754 and PTX.
//! - An operation that has no meaning for a dtype (the sine of an `i32`) gives poison; the IR verifier refuses it
//!   before, through [`unary_defined`] and its like.
//!
//! The frontend maps Python expressions to operations, and `cerith-verdict` decides which other results are accepted.

#![allow(
    clippy::inline_always,
    reason = "an element's functions must become part of the loops over blocks for these to vectorise, at every level"
)]

mod accuracy;
mod cast;
mod computed;
mod dispatch;
mod element;
mod elementwise;
mod float;
mod integer;
pub mod lanes;
pub mod library;
mod math;
mod narrow;
pub mod numpy;
pub mod single;
mod text;

pub use accuracy::{Accuracy, Range, binary_range, ternary_range, unary_range};
pub use cast::{cast, cast_defined, decode, decode_int, encode, encode_int, is_infinite, is_nan};
pub use computed::Computed;
pub use elementwise::{
    apply_binary, apply_ternary, apply_unary, binary_defined, compare, ternary_defined, unary_defined,
    unary_result,
};
pub use single::evaluate_single;
pub use text::{ParseNumberError, format, parse};

#[cfg(test)]
mod tests;
