//! Comparing outcomes: who agrees, who is to blame, and whether that was expected.
//!
//! - [`compare`] holds two memories against each other, byte for byte, guard zones included, NaNs and undefined bytes
//!   and accepted rounding apart.
//! - [`judge`] makes one [`Verdict`] of the outcomes of all engines.
//! - [`assess`] holds the verdict against the case's expectations.
//!
//! Left out: running anything (`conch-engine`), showing anything (`conch-report`). There is no tolerance anywhere: a
//! float is right when its bits are, or when the reference's own [`Bounds`] say that a conforming implementation may
//! give it.
//!
//! Invariants: knows no fuzzing engine, does no IO, and is a function of its arguments.
#![warn(missing_docs)]

mod difference;
mod expectation;
mod trial;

pub use difference::{
    Acceptance, BitForBit, Bounds, Comparison, Element, KEPT, Zone, compare, coordinates, guards_intact,
};
pub use expectation::{Assessment, Met, assess};
pub use trial::{Bench, Difference, Facts, Kind, Standing, Verdict, Witness, judge};
