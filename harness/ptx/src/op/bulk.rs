//! Bulk copies, tensor copies, and changes of tensor maps.

use smallvec::SmallVec;

use super::address::{Access, Address, Slot};
use crate::syntax::Type;

/// How a bulk operation reports that it has completed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completion {
    /// `.mbarrier::complete_tx::bytes`
    Mbarrier(Address),
    /// `.bulk_group`
    Group,
}

/// `cp.async.bulk` and `cp.reduce.async.bulk` without a tensor map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkCopy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: Slot,
    pub(crate) completion: Completion,
    /// The blocks of the cluster that receive the bytes.
    pub(crate) multicast: Option<Slot>,
    pub(crate) reduction: Option<Reduction>,
}

/// The direction of a tensor copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorDirection {
    /// From global to shared memory.
    Load,
    /// From shared to global memory.
    Store,
    /// From shared to global memory, combined with the elements there. The tensor map has their type.
    Reduce(ReductionName),
}

/// The name of a reduction; the tensor map has the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReductionName {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}

/// A reduction of elements of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) name: ReductionName,
    pub(crate) ty: Type,
}

/// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
#[derive(Clone, Debug)]
pub(crate) struct TensorCopy {
    pub(crate) direction: TensorDirection,
    /// The number in `.2d`.
    pub(crate) rank: u8,
    /// The tensor map.
    pub(crate) map: Address,
    /// The innermost coordinate first.
    pub(crate) coordinates: SmallVec<[Slot; 5]>,
    pub(crate) shared: Address,
    pub(crate) completion: Completion,
    pub(crate) multicast: Option<Slot>,
}

/// A field of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapField {
    GlobalAddress,
    Rank,
    BoxDim(u8),
    GlobalDim(u8),
    GlobalStride(u8),
    ElementStride(u8),
    ElementType,
    Interleave,
    Swizzle,
    Fill,
}

/// `tensormap.replace`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapReplacement {
    pub(crate) field: MapField,
    pub(crate) address: Address,
    pub(crate) value: Slot,
}

/// `tensormap.cp_fenceproxy`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapCopy {
    pub(crate) to: Address,
    pub(crate) from: Address,
}

/// `st.async`, `red.async`: a store to the shared memory of the cluster that completes bytes of an mbarrier object there.
#[derive(Clone, Copy, Debug)]
#[allow(
    dead_code,
    reason = "the linker rejects it: the machine does not execute it yet"
)]
pub(crate) struct AsyncStore {
    pub(crate) access: Access,
    pub(crate) mbarrier: Address,
    /// The function of `red.async`.
    pub(crate) reduction: Option<Reduction>,
}
