//! What a lane comes to. Left out: how (`ops`, `cast`).

/// What an operation gave for one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Computed {
    /// The result's bits.
    Bits(u64),
    /// Nothing defined: every value is allowed, and what is computed from it is as undefined.
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
