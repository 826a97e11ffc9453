//! How far a conforming engine may be from the exact result, per operation and dtype.

/// How far a conforming engine may be from the exact result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// The result is exact; every engine gives the same bits.
    Exact,
    /// The exact result, rounded once to nearest even.
    CorrectlyRounded,
}
