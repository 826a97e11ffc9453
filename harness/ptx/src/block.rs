//! Runs the blocks of a launch, one after the other: schedules their warps, and resolves barriers.
//! The order of warps is ascending or descending: between two barriers, either one runs each pair of warps in another order.
//!
//! A block that waits for a later one runs out of fuel here.

use crate::kernel::{Kernel, Preset};
use crate::lanes::{ALL, LANES, Lanes};
use crate::machine::{Machine, Stop};
use crate::outcome::TrapKind;
use crate::syntax::{MaskOf, Special};
use crate::warp::{Group, Warp};

/// Steps of a warp before the next warp's turn.
const TURN: u64 = 1 << 16;

/// The order of turns of a block's warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOrder {
    Ascending,
    Descending,
}

/// The warps of a block, reused for the next block.
pub(crate) struct Block {
    warps: Vec<Warp>,
    threads: u32,
}

impl Block {
    pub(crate) fn new(kernel: &Kernel, threads: u32) -> Self {
        Self {
            warps: (0..threads.div_ceil(32))
                .map(|number| Warp::new(kernel, number))
                .collect(),
            threads,
        }
    }

    /// Resets the warps for the machine's current block. Uninitialised bytes are `fill`.
    fn begin(&mut self, machine: &Machine<'_>, fill: Option<u8>) {
        let warps = self.warps.len();
        for warp in &mut self.warps {
            if let Some(fill) = fill {
                let bits = u64::from_le_bytes([fill; 8]);
                warp.registers.fill([bits; LANES]);
                warp.flags.fill(u32::from_le_bytes([fill; 4]));
                warp.private.fill(fill);
            }
            warp.defined.fill(0);
            warp.flags_known.fill(0);
            warp.carry = 0;
            let before = warp.number * 32;
            warp.running = ALL >> (32 - (self.threads - before).min(32));
            warp.group = Group::new(0, warp.running);
            warp.other_groups.clear();
            warp.next = u32::MAX;
            warp.waiting = None;
            warp.loose.clear();
            warp.copies.clear();
            warp.clock.clear();
            warp.clock.resize(warps, 0);
            if let Some(own) = warp.clock.get_mut(warp.number as usize) {
                *own = 1;
            }
            for &(slot, preset) in &machine.kernel.presets {
                let value = match preset {
                    Preset::Constant(bits) => [bits; LANES],
                    Preset::Special(special) => machine.read_special(special, warp.number, warps as u32),
                };
                warp.put(slot, ALL, &value, ALL);
            }
            // Predicate 0 always holds.
            warp.put_flag(0, ALL, ALL, ALL);
        }
    }

    /// Runs the current block of the machine.
    pub(crate) fn run(
        &mut self,
        machine: &mut Machine<'_>,
        order: WarpOrder,
        fill: Option<u8>,
    ) -> Result<(), Stop> {
        self.begin(machine, fill);
        let count = self.warps.len();
        loop {
            let mut went = false;
            for nth in 0..count {
                let number = match order {
                    WarpOrder::Ascending => nth,
                    WarpOrder::Descending => count - 1 - nth,
                };
                let Some(warp) = self.warps.get_mut(number) else {
                    continue;
                };
                if warp.is_over() || warp.waiting.is_some() {
                    continue;
                }
                went = true;
                machine.run(warp, TURN)?;
            }
            if self.warps.iter().all(Warp::is_over) {
                return Ok(());
            }
            if !self.pass() && !went {
                let waiting = self.warps.iter_mut().find(|warp| warp.waiting.is_some());
                let Some(warp) = waiting else { return Ok(()) };
                if let Some(at) = warp.waiting {
                    warp.group.step = at.step;
                }
                return Err(machine.trap(warp, 0, TrapKind::Deadlock));
            }
        }
    }

    /// Releases the barriers that all threads have reached. Returns whether there was one.
    fn pass(&mut self) -> bool {
        let mut passed = false;
        for barrier in 0..16 {
            let mut came = 0;
            let mut wanted = None;
            let mut over = 0;
            for warp in &self.warps {
                let lanes = (self.threads - warp.number * 32).min(32);
                match warp.waiting {
                    Some(waiting) if waiting.barrier == barrier => {
                        came += lanes;
                        wanted = waiting.count.or(wanted);
                    }
                    _ if warp.is_over() => over += lanes,
                    _ => {}
                }
            }
            // A barrier doesn't wait for threads that have exited.
            let full = match wanted {
                Some(count) => came >= count,
                None => came + over >= self.threads,
            };
            if came == 0 || !full {
                continue;
            }
            passed = true;
            self.join_clocks(barrier);
        }
        passed
    }

    /// Merges the clocks of all warps at a barrier: each of them then knows what any of them knew.
    fn join_clocks(&mut self, barrier: u8) {
        let is_here = |warp: &Warp| warp.waiting.is_some_and(|waiting| waiting.barrier == barrier);
        let mut joined = vec![0; self.warps.len()];
        for warp in self.warps.iter().filter(|warp| is_here(warp)) {
            for (joined, &time) in joined.iter_mut().zip(&warp.clock) {
                *joined = time.max(*joined);
            }
        }
        for warp in self.warps.iter_mut().filter(|warp| is_here(warp)) {
            warp.waiting = None;
            warp.clock.copy_from_slice(&joined);
            if let Some(own) = warp.clock.get_mut(warp.number as usize) {
                *own += 1;
            }
        }
    }
}

impl Machine<'_> {
    fn read_special(&self, special: Special, warp: u32, warps: u32) -> Lanes {
        let [x, y, _] = self.launch.threads;
        let mut value = [0; LANES];
        for (lane, value) in value.iter_mut().enumerate() {
            let thread = warp * 32 + lane as u32;
            let axis = |of: [u32; 3], axis: u8| of.get(usize::from(axis)).copied().unwrap_or(0);
            let number = match special {
                Special::Thread(0) => thread % x.max(1),
                Special::Thread(1) => thread / x.max(1) % y.max(1),
                Special::Thread(_) => thread / x.max(1) / y.max(1),
                Special::Threads(at) => axis(self.launch.threads, at),
                Special::Block(at) => axis(self.block, at),
                Special::Blocks(at) => axis(self.launch.grid, at),
                Special::Lane => lane as u32,
                Special::Warp => warp,
                Special::Warps => warps,
                Special::Mask(MaskOf::Equal) => 1 << lane,
                Special::Mask(MaskOf::Less) => (1 << lane) - 1,
                Special::Mask(MaskOf::LessEqual) => u32::MAX >> (31 - lane),
                Special::Mask(MaskOf::Greater) => (u32::MAX << lane) << 1,
                Special::Mask(MaskOf::GreaterEqual) => u32::MAX << lane,
                Special::Clock | Special::Zero => 0,
                Special::One => 1,
                Special::DynamicShared => self.launch.shared,
                Special::TotalShared => self.shared.len() as u32,
            };
            *value = number.into();
        }
        value
    }
}
