//! Registers, addresses and accesses that instructions name.

use super::fence::{Order, Scope};

/// The number of a register in a warp.
pub(crate) type Slot = u32;

/// A predicate that an instruction reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    pub(crate) slot: Slot,
    pub(crate) negated: bool,
}

impl Flag {
    /// The predicate that always holds.
    pub(crate) const TRUE: Self = Self {
        slot: 0,
        negated: false,
    };
    /// The predicate that never holds.
    pub(crate) const FALSE: Self = Self {
        slot: 0,
        negated: true,
    };
}

/// The memory of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateSpace {
    /// Determined by the address.
    Generic,
    Global,
    /// The block's.
    Shared,
    /// The cluster's: `.shared::cluster`.
    Cluster,
    /// A thread's own.
    Private,
    /// The parameters of the launch.
    Parameters,
}

/// The address of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) place: StateSpace,
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

/// A load or a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) address: Address,
    /// Bytes of one element.
    pub(crate) bytes: u8,
    /// Number of elements: 1, 2, 4 or 8.
    pub(crate) count: u8,
    /// Whether a loaded element is sign-extended.
    pub(crate) signed: bool,
    /// Whether the access may cover the word around the element (`.relaxed`, or at the address of an atomic).
    pub(crate) whole_word: bool,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    pub(crate) registers: [Slot; 8],
}
