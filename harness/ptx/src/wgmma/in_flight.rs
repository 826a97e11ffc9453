//! The registers that the products of a warp use until it waits for them.

use rustc_hash::FxHashMap;

use crate::clock::Component;
use crate::op::Slot;

/// The use of a register by a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) step: u32,
    pub(crate) group: u32,
    /// Whether the product writes it.
    pub(crate) is_sum: bool,
    /// Whether it is a copy of the product's register, which another value may replace.
    pub(crate) is_copy: bool,
    /// The number of columns of the product.
    pub(crate) columns: usize,
}

/// The products of a warp.
#[derive(Debug, Default)]
pub(crate) struct Products {
    pub(crate) component: Option<Component>,
    /// Number of committed groups.
    pub(crate) committed: u32,
    pub(crate) uses: FxHashMap<Slot, Use>,
    /// Registers that threads wrote since the last `wgmma.fence`, with the step.
    pub(crate) written: FxHashMap<Slot, u32>,
}

impl Products {
    /// `wgmma.fence`.
    pub(crate) fn fence(&mut self) {
        self.written.clear();
    }

    /// `wgmma.commit_group`.
    pub(crate) fn commit(&mut self) {
        self.committed = self.committed.saturating_add(1);
    }
}
