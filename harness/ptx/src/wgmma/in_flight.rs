//! The products of a warp that it has not waited for, and the registers that they use.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::clock::Component;
use crate::lanes::Lanes;
use crate::op::Slot;

/// A product that has not completed.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) step: u32,
    pub(crate) group: u32,
    /// The left operand, as it was when the product started.
    pub(crate) left: Option<Box<[Lanes; 4]>>,
    pub(crate) left_descriptor: u64,
    pub(crate) right_descriptor: u64,
    /// Whether the product is added to the sums.
    pub(crate) adds: bool,
    pub(crate) known: bool,
}

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
    pub(crate) pending: VecDeque<Product>,
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
