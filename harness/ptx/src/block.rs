//! Runs the blocks of a launch, cluster after cluster: schedules their warps, and detects deadlocks.
//! The order of warps is ascending or descending: between two barriers, either one runs each pair of warps in another order.
//!
//! A block that waits for one of a later cluster runs out of fuel here.

use crate::barrier::ClusterBarrier;
use crate::clock::Components;
use crate::cluster::RANK_SHIFT;
use crate::cta::Cta;
use crate::deadlock::{Deadlock, PhaseWait, Wait, WaitTarget};
use crate::execute::Pause;
use crate::kernel::{Kernel, Preset};
use crate::lanes::{ALL, LANES, Lanes};
use crate::machine::{Machine, Stop};
use crate::outcome::TrapKind;
use crate::shared::Shared;
use crate::syntax::{MaskOf, Special};
use crate::warp::{Group, Waiting, Warp};
use crate::wgmma::in_flight::Products;

/// Rounds in which nothing but failing `test_wait` runs, before that counts as a deadlock.
const MAX_IDLE_ROUNDS: u32 = 64;

/// The order of turns of a block's warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOrder {
    Ascending,
    Descending,
}

/// The blocks of a cluster that run together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cluster {
    /// The first of its blocks.
    pub(crate) origin: [u32; 3],
    pub(crate) dims: [u32; 3],
}

impl Cluster {
    /// The blocks, in the order of their ranks.
    fn blocks(self) -> impl Iterator<Item = [u32; 3]> {
        let Self { origin, dims } = self;
        list_blocks(dims).map(move |at| std::array::from_fn(|axis| origin[axis].saturating_add(at[axis])))
    }
}

/// The blocks of a grid, the first axis first.
fn list_blocks(grid: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [width, height, depth] = grid;
    (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
}

/// The warps of a cluster, reused for the next one.
pub(crate) struct Block {
    warps: Vec<Warp>,
    /// Threads of one block.
    threads: u32,
    /// Bytes of shared memory of one block.
    shared: usize,
}

impl Block {
    pub(crate) fn new(kernel: &Kernel, threads: u32, blocks: u32, shared: usize) -> Self {
        let warps = threads.div_ceil(32);
        let numbers = (0..blocks).flat_map(|rank| (0..warps).map(move |number| (rank, number)));
        Self {
            warps: numbers
                .map(|(rank, number)| {
                    let component = (rank * warps + number) as u16;
                    let lanes = (threads - number * 32).min(32);
                    Warp::new(kernel, number, (rank as u16, component), lanes)
                })
                .collect(),
            threads,
            shared,
        }
    }

    /// Resets the warps for a cluster. Uninitialised bytes are `fill`; registers only if `cleans`.
    fn begin(&mut self, machine: &mut Machine<'_>, cluster: Cluster, fill: u8, cleans: bool) {
        let blocks: Vec<[u32; 3]> = cluster.blocks().collect();
        machine.rank = 0;
        if blocks.len() > 1 {
            // The first block is the current one; its slot is unused.
            machine
                .other_blocks
                .resize_with(blocks.len(), || (Cta::new([0; 3], 0), Shared::default()));
            for (&block, (cta, shared)) in blocks.iter().zip(&mut machine.other_blocks).skip(1) {
                *cta = Cta::new(block, self.threads);
                shared.reset(self.shared, fill);
            }
        }
        machine.cta = Cta::new(cluster.origin, self.threads);
        machine.shared.reset(self.shared, fill);
        machine.cluster = ClusterBarrier::new(self.threads.saturating_mul(blocks.len() as u32));
        machine.flights.clear();
        machine.releases.clear();
        machine.meetings.clear();
        machine.components = Components::new(self.warps.len());
        let warps = self.threads.div_ceil(32);
        for warp in &mut self.warps {
            machine.block = blocks.get(usize::from(warp.rank)).copied().unwrap_or_default();
            if cleans {
                let bits = u64::from_le_bytes([fill; 8]);
                warp.registers.fill([bits; LANES]);
                warp.flags.fill(u32::from_le_bytes([fill; 4]));
                warp.private.fill(fill);
            }
            warp.defined.fill(0);
            warp.flags_known.fill(0);
            warp.carry = 0;
            warp.running = ALL >> (32 - warp.threads);
            warp.group = Group::new(0, warp.running);
            warp.other_groups.clear();
            warp.next = u32::MAX;
            warp.waiting = None;
            warp.awaited = None;
            warp.loose.clear();
            warp.copies.clear();
            warp.bulk.clear();
            warp.products = Products::default();
            warp.cluster_phase = 0;
            let epoch = machine.new_epoch();
            warp.reset_clock(epoch);
            for &(slot, preset) in &machine.kernel.presets {
                let value = match preset {
                    Preset::Constant(bits) => [bits; LANES],
                    Preset::Shared(offset) => [u64::from(warp.rank) << RANK_SHIFT | offset; LANES],
                    Preset::Special(special) => machine.read_special(special, warp, warps),
                };
                warp.put(slot, ALL, &value, ALL);
            }
            // Predicate 0 always holds.
            warp.put_flag(0, ALL, ALL, ALL);
        }
        machine.block = cluster.origin;
    }

    /// Runs the blocks of a cluster.
    pub(crate) fn run(
        &mut self,
        machine: &mut Machine<'_>,
        cluster: Cluster,
        order: WarpOrder,
        (fill, cleans): (u8, bool),
    ) -> Result<(), Stop> {
        self.begin(machine, cluster, fill, cleans);
        let mut turns: Vec<usize> = (0..self.warps.len()).collect();
        if order == WarpOrder::Descending {
            turns.reverse();
        }
        let count = self.warps.len();
        // Starved warps come last, so that they run only if no other warp did.
        turns.sort_by_key(|&number| machine.scheduler.is_starved(number, count, 0));
        let mut idle_rounds = 0;
        let mut round = 0u32;
        loop {
            machine.scheduler.shuffle(&mut turns);
            let mut went = false;
            for &number in &turns {
                if went && machine.scheduler.is_starved(number, count, round) {
                    continue;
                }
                let Some(warp) = self.warps.get_mut(number) else {
                    continue;
                };
                went |= machine.take_turn(warp)?;
            }
            round = round.wrapping_add(1);
            machine.tidy();
            if self.warps.iter().all(Warp::is_over) {
                return machine.finish_flights();
            }
            if went {
                idle_rounds = 0;
                machine.tests_fail = false;
            } else if !machine.complete_next(0)? {
                let may_fail = |warp: &Warp| warp.awaited.is_some_and(|awaited| awaited.may_fail);
                if idle_rounds >= MAX_IDLE_ROUNDS || !self.warps.iter().any(may_fail) {
                    return Err(self.stop_deadlock(machine));
                }
                idle_rounds += 1;
                machine.tests_fail = true;
            }
        }
    }

    /// Describes the waits of all warps.
    fn stop_deadlock(&mut self, machine: &mut Machine<'_>) -> Stop {
        let mut waits: Vec<Wait> = Vec::new();
        let warps = self.threads.div_ceil(32).max(1);
        for warp in &self.warps {
            machine.enter(warp.rank);
            let Some((step, target)) = machine.describe_wait(warp, warps) else {
                continue;
            };
            let wait = Wait {
                block: machine.block,
                warps: vec![warp.number],
                instruction: machine.locate_step(step),
                target,
            };
            let same = waits.iter_mut().find(|other| {
                (&other.block, &other.instruction, &other.target)
                    == (&wait.block, &wait.instruction, &wait.target)
            });
            match same {
                Some(same) => same.warps.push(warp.number),
                None => waits.push(wait),
            }
        }
        let kind = TrapKind::Deadlock(Box::new(Deadlock { waits }));
        let first = self.warps.iter().find(|warp| !warp.is_over());
        let Some(warp) = first else {
            return machine.trap_at(
                kind,
                u32::MAX,
                crate::outcome::Thread {
                    block: machine.block,
                    thread: 0,
                },
            );
        };
        machine.enter(warp.rank);
        let step = machine
            .describe_wait(warp, warps)
            .map_or(warp.group.step, |(step, _)| step);
        let thread = machine.thread(warp, 0);
        machine.trap_at(kind, step, thread)
    }
}

impl Machine<'_> {
    /// Runs a warp that can continue. Returns whether it did something.
    fn take_turn(&mut self, warp: &mut Warp) -> Result<bool, Stop> {
        if warp.is_over() {
            return Ok(false);
        }
        self.enter(warp.rank);
        if !self.resume(warp) {
            return Ok(false);
        }
        let chosen = self.scheduler.choose_completion(self.flights.len());
        let completed = match chosen {
            Some(nth) => self.complete_next(nth)?,
            None => false,
        };
        if warp.awaited.is_some() {
            warp.awaited = None;
            warp.unpark();
        }
        let turn = self.scheduler.choose_turn();
        let pause = self.run(warp, turn)?;
        if warp.is_over() {
            self.exit_warp(warp);
        }
        Ok(completed || pause != Pause::Blocked { idle: true })
    }

    /// Describes what a warp waits for, and with which step.
    fn describe_wait(&mut self, warp: &Warp, warps: u32) -> Option<(u32, WaitTarget)> {
        if warp.is_over() {
            return None;
        }
        if let Some(waiting) = warp.waiting {
            let target = match waiting {
                Waiting::Barrier { id, .. } => WaitTarget::Barrier {
                    id,
                    arrived: self.cta.barriers.describe(id),
                },
                Waiting::Meeting { .. } => WaitTarget::Group {
                    arrived: self.describe_meeting(warp),
                },
                Waiting::Cluster { .. } => WaitTarget::Cluster {
                    arrived: self.cluster.describe(),
                },
            };
            return Some((waiting.step(), target));
        }
        let awaited = warp.awaited?;
        let kernel = self.kernel;
        let object = self.object(warp.rank, awaited.offset)?;
        let arrivals = object
            .arrivals
            .iter()
            .filter_map(|event| Some((u32::from(event.warp) % warps, kernel.at_step(event.step)?)))
            .collect();
        let wait = PhaseWait {
            offset: awaited.offset,
            phase: object.phase,
            pending: object.pending,
            bytes: object.bytes,
            arrivals,
        };
        Some((awaited.step, WaitTarget::Phase(wait)))
    }

    /// Drops records of pasts that no byte has any more.
    fn tidy(&mut self) {
        self.shared.tidy();
        for (_, shared) in &mut self.other_blocks {
            shared.tidy();
        }
        if let Some(global) = &mut self.global {
            global.tidy();
        }
    }
}

impl Machine<'_> {
    fn read_special(&self, special: Special, warp: &Warp, warps: u32) -> Lanes {
        let [x, y, _] = self.launch.threads;
        let cluster = self.launch.cluster;
        let in_cluster = |axis: u8| {
            let at = usize::from(axis);
            let of = |all: [u32; 3]| all.get(at).copied().unwrap_or(0);
            (of(self.block), of(cluster).max(1))
        };
        let mut value = [0; LANES];
        for (lane, value) in value.iter_mut().enumerate() {
            let thread = warp.number * 32 + lane as u32;
            let axis = |of: [u32; 3], axis: u8| of.get(usize::from(axis)).copied().unwrap_or(0);
            let number = match special {
                Special::Thread(0) => thread % x.max(1),
                Special::Thread(1) => thread / x.max(1) % y.max(1),
                Special::Thread(_) => thread / x.max(1) / y.max(1),
                Special::Threads(at) => axis(self.launch.threads, at),
                Special::Block(at) => axis(self.block, at),
                Special::Blocks(at) => axis(self.launch.grid, at),
                Special::Lane => lane as u32,
                Special::Warp => warp.number,
                Special::Warps => warps,
                Special::Mask(MaskOf::Equal) => 1 << lane,
                Special::Mask(MaskOf::Less) => (1 << lane) - 1,
                Special::Mask(MaskOf::LessEqual) => u32::MAX >> (31 - lane),
                Special::Mask(MaskOf::Greater) => (u32::MAX << lane) << 1,
                Special::Mask(MaskOf::GreaterEqual) => u32::MAX << lane,
                Special::Clock | Special::Zero => 0,
                Special::One => 1,
                Special::ClusterRank => warp.rank.into(),
                Special::ClusterBlocks => self.blocks(),
                Special::ClusterBlock(at) => {
                    let (block, dims) = in_cluster(at);
                    block % dims
                }
                Special::ClusterBlocksAlong(at) => in_cluster(at).1,
                Special::Cluster(at) => {
                    let (block, dims) = in_cluster(at);
                    block / dims
                }
                Special::Clusters(at) => axis(self.launch.grid, at) / in_cluster(at).1,
                Special::DynamicShared => self.launch.shared,
                Special::TotalShared => self.shared.len() as u32,
            };
            *value = number.into();
        }
        value
    }
}
