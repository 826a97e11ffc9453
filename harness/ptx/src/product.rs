//! The products of a warp group (`wgmma`) as agents, with their accesses from the start to the wait. They are
//! computed when they start.
//!
//! Each warp computes its 16 rows by itself, from registers and from shared memory. A product is not ordered with the
//! warp's other instructions until `wgmma.wait_group`, so its registers must not be accessed before. `mov` is an
//! exception: the assembler treats a copy of a register, or of its halves, as the register itself.

use std::slice;

use smallvec::SmallVec;

use crate::lanes::{ALL, Lanes};
use crate::machine::{Machine, Stop};
use crate::op::wgmma::LeftOperand;
use crate::op::{Op, Slot, Wgmma};
use crate::outcome::FindingKind;
use crate::race::{Accessor, Actor};
use crate::warp::Warp;
use crate::wgmma::in_flight::Use;
use crate::wgmma::{self, LeftValues};

/// Steps that take as long as a product.
const STEPS: u64 = 1 << 9;

impl Machine<'_> {
    /// `wgmma.mma_async` of a whole warp.
    pub(crate) fn start_product(&mut self, warp: &mut Warp, wgmma: &Wgmma) -> Result<(), Stop> {
        let component = match warp.products.component {
            Some(component) => component,
            None => *warp.products.component.insert(self.components.allocate()),
        };
        let group = warp.products.committed + 1;
        let first = |slot: Slot| warp.registers[slot as usize][0];
        let values;
        let left = match wgmma.a {
            LeftOperand::Registers(slots) => {
                values = slots.map(|slot| warp.registers[slot as usize]);
                LeftValues::Registers(&values)
            }
            LeftOperand::Descriptor(slot) => LeftValues::Descriptor(first(slot)),
        };
        let right_descriptor = first(wgmma.b);
        let a = match left {
            LeftValues::Registers(_) => None,
            LeftValues::Descriptor(descriptor) => Some(descriptor),
        };
        let ranges = wgmma::operand_ranges(wgmma, a, right_descriptor, warp.number % 4);
        let (mut met, mut known) = (None, true);
        let by = Accessor::from_agent(warp, Actor::Product, component, group);
        for (offset, len) in ranges {
            self.in_shared(offset.into(), len as usize)
                .map_err(|kind| self.trap(warp, 0, kind))?;
            known &= self
                .shared
                .record_read(offset as usize, len as usize, &by, &mut met);
        }
        self.note(warp, 0, met);
        self.check_operands(warp, wgmma);
        let known = known && Self::knows_left(warp, wgmma);
        mark_uses(warp, wgmma, group);
        self.charge(STEPS);
        // At once: another warp of the group may wait for the product, and let its operands change.
        self.compute_product(warp, wgmma, left, right_descriptor, known);
        self.meet(warp, component);
        Ok(())
    }

    fn knows_left(warp: &Warp, wgmma: &Wgmma) -> bool {
        match &wgmma.a {
            LeftOperand::Registers(slots) => slots.iter().all(|&slot| warp.defined[slot as usize] == ALL),
            LeftOperand::Descriptor(_) => true,
        }
    }

    /// Reports operands that threads wrote without a fence, or that another product uses.
    fn check_operands(&mut self, warp: &Warp, wgmma: &Wgmma) {
        let thread = self.thread(warp, 0);
        let step = warp.group.step;
        let products = &warp.products;
        let mut found = None;
        for (slot, is_sum) in list_operands(wgmma) {
            if let Some(&other) = products.written.get(&slot) {
                found.get_or_insert((FindingKind::AccumulatorFence, other));
            }
            let is_chained = |other: &Use| other.is_sum && is_sum && other.columns == wgmma.n;
            if let Some(other) = products.uses.get(&slot)
                && (other.is_sum || is_sum)
                && !is_chained(other)
            {
                found.get_or_insert((FindingKind::AccumulatorInFlight, other.step));
            }
        }
        if let Some((kind, other)) = found {
            self.report(kind, step, Some(other), thread, None);
        }
    }

    /// Checks the registers of an instruction against the products in flight. Called before it executes.
    pub(crate) fn check_registers(&mut self, warp: &mut Warp, op: &Op) {
        let kernel = self.kernel;
        let step = warp.group.step;
        let Some(registers) = kernel.registers_of(step) else {
            return;
        };
        let copy = find_copy(op);
        let mut copied: Option<Use> = None;
        let mut replaced: SmallVec<[Slot; 4]> = SmallVec::new();
        for &(slot, written) in registers {
            if written {
                warp.products.written.insert(slot, step);
            }
            let Some(&used) = warp.products.uses.get(&slot) else {
                continue;
            };
            if !(written || used.is_sum) {
                continue;
            }
            if written && used.is_copy {
                replaced.push(slot);
                continue;
            }
            if !written && copy.is_some_and(|(from, _)| from.contains(&slot)) {
                let is_later = copied.is_none_or(|other| used.group > other.group);
                copied = if is_later { Some(used) } else { copied };
                continue;
            }
            let thread = self.thread(warp, 0);
            self.report(
                FindingKind::AccumulatorInFlight,
                step,
                Some(used.step),
                thread,
                None,
            );
        }
        for slot in replaced {
            warp.products.uses.remove(&slot);
        }
        if let (Some(used), Some((_, targets))) = (copied, copy) {
            for &to in targets {
                warp.products.uses.insert(
                    to,
                    Use {
                        is_copy: true,
                        ..used
                    },
                );
                warp.products.written.remove(&to);
            }
        }
    }

    /// `wgmma.wait_group`.
    pub(crate) fn wait_products(&mut self, warp: &mut Warp, left: u32) {
        let last = warp.products.committed.saturating_sub(left);
        warp.products.uses.retain(|_, used| used.group > last);
        if let Some(component) = warp.products.component {
            warp.knowledge.ordered.advance_to(component, last);
            self.complete_meetings(warp, last);
            warp.epoch = self.new_epoch();
        }
    }

    /// Computes a warp's part of a product. `known`: whether its factors are initialised.
    fn compute_product(
        &self,
        warp: &mut Warp,
        wgmma: &Wgmma,
        left: LeftValues<'_>,
        right_descriptor: u64,
        known: bool,
    ) {
        let adds = warp.read_flag(wgmma.adds) & 1 == 1;
        let mut sums: Vec<Lanes> = wgmma
            .d
            .iter()
            .map(|&slot| warp.registers[slot as usize])
            .collect();
        wgmma::multiply(
            wgmma,
            warp.number % 4,
            &mut sums,
            adds,
            left,
            right_descriptor,
            self.shared.bytes(),
        );
        for (&slot, sum) in wgmma.d.iter().zip(&sums) {
            let was_known = !adds || warp.defined[slot as usize] == ALL;
            warp.put(slot, ALL, sum, if known && was_known { ALL } else { 0 });
        }
    }
}

/// The registers that an operation only copies, and those that it copies them to.
fn find_copy(op: &Op) -> Option<(&[Slot], &[Slot])> {
    match op {
        Op::Move { to, a } => Some((slice::from_ref(a), slice::from_ref(to))),
        Op::Pack { to, parts, count, .. } => Some((parts.get(..usize::from(*count))?, slice::from_ref(to))),
        Op::Unpack { parts, count, a, .. } => Some((slice::from_ref(a), parts.get(..usize::from(*count))?)),
        _ => None,
    }
}

/// The registers of a product, and whether it writes them.
fn list_operands(wgmma: &Wgmma) -> impl Iterator<Item = (Slot, bool)> {
    let left: &[Slot] = match &wgmma.a {
        LeftOperand::Registers(slots) => slots,
        LeftOperand::Descriptor(_) => &[],
    };
    let sums = wgmma.d.iter().map(|&slot| (slot, true));
    sums.chain(left.iter().map(|&slot| (slot, false)))
}

fn mark_uses(warp: &mut Warp, wgmma: &Wgmma, group: u32) {
    let step = warp.group.step;
    for (slot, is_sum) in list_operands(wgmma) {
        let used = Use {
            step,
            group,
            is_sum,
            is_copy: false,
            columns: wgmma.n,
        };
        warp.products.uses.insert(slot, used);
    }
}
