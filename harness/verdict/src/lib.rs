//! Comparing outcomes: who agrees, who is to blame, and whether that was expected.
//!
//! - [`compare`] holds two memories against each other, byte for byte, guard zones included, NaNs and undefined bytes
//!   and accepted rounding apart.
//! - [`judge`] makes one [`Verdict`] of the outcomes of all engines.
//! - [`try_case`] runs a case through a [`Panel`] of engines, and judges it.
//! - [`try_sweep`] judges the variants of a case that one engine was asked about.
//! - [`assess`] holds the verdict against the case's expectations.
//!
//! Left out: how an engine runs a case (`conch-engine`), showing anything (`conch-report`). There is no tolerance anywhere: a
//! float is right when its bits are, or when the reference's own [`Bounds`] say that a conforming implementation may
//! give it.
//!
//! Invariants: knows no fuzzing engine and does no IO; a verdict is a function of outcomes, never of time or order.
#![warn(missing_docs)]

mod difference;
mod expectation;
mod panel;
mod sweep;
mod trial;

pub use difference::{
    Acceptance, BitForBit, Bounds, Comparison, Element, KEPT, Zone, compare, coordinates, guards_intact,
};
pub use expectation::{Assessment, Met, Testimony, assess};
pub use panel::{Failed, Panel, Record, Stopped, Trial, try_case};
pub use sweep::{
    Camp, Sample, Samples, SweepAssessment, SweepTrial, SweepVerdict, Unequal, assess_sweep, judge_sweep,
    try_sweep,
};
pub use trial::{Bench, Difference, Facts, Kind, Standing, Verdict, Witness, judge};
