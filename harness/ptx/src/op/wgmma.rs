//! Products of a warp group, and `stmatrix`.

use smallvec::SmallVec;

use super::address::{Address, Flag, Slot};

/// A type of the operands of `wgmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactorType {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    S8,
    U8,
}

impl FactorType {
    /// Bytes of an element in shared memory.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 4,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 1,
        }
    }
}

/// A type of the sums of `wgmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumType {
    F16,
    F32,
    S32 { saturate: bool },
}

/// The left operand of `wgmma`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeftOperand {
    Registers([Slot; 4]),
    Descriptor(Slot),
}

/// `wgmma.mma_async`. Each warp computes 16 of the 64 rows.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "they are the instruction's constants"
)]
pub(crate) struct Wgmma {
    pub(crate) a_type: FactorType,
    pub(crate) b_type: FactorType,
    pub(crate) sum_type: SumType,
    /// Columns of the right operand.
    pub(crate) n: usize,
    /// Columns of the left operand.
    pub(crate) k: usize,
    pub(crate) d: Box<[Slot]>,
    pub(crate) a: LeftOperand,
    /// The descriptor of the right operand.
    pub(crate) b: Slot,
    /// Whether the product is added to `d`; otherwise `d` is overwritten.
    pub(crate) adds: Flag,
    pub(crate) negate_a: bool,
    pub(crate) negate_b: bool,
    /// Whether the rows of `a` are contiguous in shared memory along M, not K.
    pub(crate) transpose_a: bool,
    /// Whether the columns of `b` are contiguous in shared memory along N, not K.
    pub(crate) transpose_b: bool,
}

/// `stmatrix`.
#[derive(Clone, Debug)]
pub(crate) struct MatrixStore {
    pub(crate) address: Address,
    pub(crate) transposed: bool,
    pub(crate) from: SmallVec<[Slot; 4]>,
}
