//! The operation that widened an interval most, which explains a verdict on floats.
//!
//! The spread of a lane is its width divided by its magnitude. An operation widens a lane by its spread, less the spread of
//! the widest operand. A lane names the operation that widened most among all that it was computed from; a term of a sum
//! counts by its part of the sum. Causes are recorded only on request. See `attribution` for finding them, and the table in
//! [`super`] for the reasons why an operation widens.

/// The operation that widened a lane most, and the growth of the spread there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cause {
    /// Its number in the case, from 1; 0 if it was not recorded.
    pub(super) step: u32,
    /// The growth of the spread.
    pub(super) growth: f32,
}

/// The numbering of the values in a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Book {
    /// For each launch, the number of values of all earlier launches.
    pub(super) bases: Vec<u32>,
    /// The number of values of all launches so far.
    pub(super) end: u32,
}

/// The operation that widened an element most.
#[derive(Clone, Debug, PartialEq)]
pub struct Widening {
    /// The launch, from 0.
    pub launch: usize,
    /// The number of its result in the launch's function, for [`crate::find_operation`].
    pub value: u32,
    /// The growth of the spread: the width divided by the magnitude, less that of the widest operand. Infinite if the operation
    /// introduced a NaN or an infinity.
    pub growth: f32,
}
