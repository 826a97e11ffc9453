//! The result of a lane. See `elementwise` and `cast` for its computation.

/// The result of an operation for one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Computed {
    /// The result's bits.
    Bits(u64),
    /// Undefined: every value is allowed, and values computed from it are undefined too.
    Poison,
    /// An integer was divided by zero. LLVM calls that undefined behaviour of the program, not of the lane.
    DivisionByZero,
}

impl Computed {
    /// The bits, if there are any.
    pub const fn bits(self) -> Option<u64> {
        match self {
            Self::Bits(bits) => Some(bits),
            Self::Poison | Self::DivisionByZero => None,
        }
    }
}
