//! Whether a kernel computes a given function: its formula with bounds of its rounding, compared with values that are nearly exact.
//!
//! 1. [`rewrite`] makes a kernel's *formula*: the same operations on `f64`, each followed by the error that the contract allows it.
//!    Executed with intervals (`cerith-accept`), every element that the kernel stores becomes a range. The range has the exact value of
//!    the formula in it, and everything that an implementation of the [`Contract`] may compute, in any order.
//! 2. [`compare`] takes these ranges, the kernel's own values, and the values of the reference function in `f64`.
//!
//! | the reference's value | the kernel's own value | [`Finding`] |
//! |---|---|---|
//! | within the range | within the range | none: the kernel computes the function |
//! | outside | | wrong: no order of the contracted computation has this value |
//! | within | outside | inaccurate: the formula is right, and the kernel rounds more than the contract allows |
//! | the range has no bounds | | undecided |
//!
//! There is no tolerance, unless the caller gives one. The method is running error analysis (Higham, *Accuracy and Stability of
//! Numerical Algorithms*, 3.3) with intervals.
//!
//! Invariants: does no IO, knows no engine and never panics on any IR that verifies. The formula verifies too.
#![warn(missing_docs)]

mod compare;
mod contract;
mod formula;
mod rounding;

pub use self::compare::{Comparison, Element, Finding, Terms, Tolerance, Worst, compare};
pub use self::contract::Contract;
pub use self::formula::rewrite;
