//! A warp: its registers, the position of its lanes, and what it waits for. [`crate::execute`] executes its
//! instructions.
//!
//! Diverged lanes form groups. The group with the smallest step runs, and groups that reach the same step merge, so
//! lanes reconverge where their paths join. Steps have the order of the text, and LLVM moves rarely executed code to
//! the end. Therefore a group that reaches a collective instruction before all lanes that it names is held, until they
//! arrive or no other group can run.

use std::collections::VecDeque;

use crate::clock::{Clock, Component, Knowledge};
use crate::kernel::Kernel;
use crate::lanes::{ALL, LANES, Lanes, lanes_of};
use crate::mbarrier::Event;
use crate::op::{Flag, Slot};
use crate::wgmma::in_flight::Products;

/// Lanes that execute together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) step: u32,
    pub(crate) lanes: u32,
    /// Mask of the lanes that must arrive before it continues; 0 if it isn't held.
    pub(crate) awaits: u32,
    /// Whether it waits for a phase, so that other groups run first.
    pub(crate) parked: bool,
}

impl Group {
    /// Creates a group of lanes that continue at a step.
    pub(crate) const fn new(step: u32, lanes: u32) -> Self {
        Self {
            step,
            lanes,
            awaits: 0,
            parked: false,
        }
    }
}

/// A `cp.async` of one lane in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) lane: u8,
    pub(crate) bytes: u8,
    /// Its destination in shared memory.
    pub(crate) to: u64,
    pub(crate) content: [u8; 16],
    pub(crate) step: u32,
}

/// A barrier that a warp waits at, until it is released.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiting {
    /// A barrier of the block.
    Barrier { id: u32, step: u32 },
    /// The barrier of the cluster.
    Cluster { step: u32 },
    /// The other warps of its group, at a product.
    Meeting { step: u32 },
}

impl Waiting {
    pub(crate) const fn step(self) -> u32 {
        match self {
            Self::Barrier { step, .. } | Self::Cluster { step } | Self::Meeting { step } => step,
        }
    }
}

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Its number in the block.
    pub(crate) number: u32,
    pub(crate) registers: Vec<Lanes>,
    /// Masks of the lanes in which each register is initialised.
    pub(crate) defined: Vec<u32>,
    /// Predicates, a bit for each lane.
    pub(crate) flags: Vec<u32>,
    pub(crate) flags_known: Vec<u32>,
    /// Mask of the lanes with a carry.
    pub(crate) carry: u32,
    /// Mask of the lanes that haven't exited.
    pub(crate) running: u32,
    /// The current group.
    pub(crate) group: Group,
    /// The other groups.
    pub(crate) other_groups: Vec<Group>,
    /// The smallest step of the other groups.
    pub(crate) next: u32,
    /// The private memory of the lanes, lane after lane.
    pub(crate) private: Vec<u8>,
    pub(crate) waiting: Option<Waiting>,
    /// Copies that aren't committed to a group yet.
    pub(crate) loose: Vec<Pending>,
    /// Groups of copies, the oldest first, with their lanes.
    pub(crate) copies: VecDeque<(u32, Vec<Pending>)>,
    /// Number of its threads.
    pub(crate) threads: u32,
    /// The rank of its block in the cluster.
    pub(crate) rank: u16,
    /// Its number among the warps of the cluster, which is its component in clocks.
    pub(crate) component: Component,
    /// Its own time. It advances when others may synchronise with the warp.
    pub(crate) time: u32,
    pub(crate) knowledge: Knowledge,
    /// Identifies `knowledge`.
    pub(crate) epoch: u32,
    /// The knowledge that its fences released, so that relaxed operations publish it.
    pub(crate) released: Knowledge,
    /// The knowledge that relaxed waits received. The next fence acquires it.
    pub(crate) unacquired: Knowledge,
    /// The component of the `mbarrier` objects that it initialised, and their number.
    pub(crate) inits: Option<(Component, u32)>,
    /// The component of its waits for phases, and their number.
    pub(crate) waits: Option<(Component, u32)>,
    /// Number of products that it arrived at.
    pub(crate) met: u32,
    /// The phase of the cluster's barrier that it arrived at.
    pub(crate) cluster_phase: u32,
    /// The phase of an `mbarrier` that a group waits for.
    pub(crate) awaited: Option<Awaited>,
    /// The groups of bulk copies of each lane that has some.
    pub(crate) bulk: Vec<(u8, BulkGroups)>,
    /// Its products, if the kernel has any.
    pub(crate) products: Products,
}

/// A phase of an `mbarrier` that a warp waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) offset: u32,
    pub(crate) step: u32,
    /// Whether the instruction returns false if the phase has not completed.
    pub(crate) may_fail: bool,
}

/// The groups of bulk copies of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkGroups {
    /// The number of the group that is not committed, from 1.
    pub(crate) open: u32,
    /// The components of the reads of its copies, and of their writes. A time is the number of a group.
    pub(crate) reads: Component,
    pub(crate) writes: Component,
    /// The group of the last copy, 0 without one, and its step.
    pub(crate) last: u32,
    pub(crate) last_step: u32,
}

impl Warp {
    pub(crate) fn new(
        kernel: &Kernel,
        number: u32,
        (rank, component): (u16, Component),
        threads: u32,
    ) -> Self {
        Self {
            number,
            registers: vec![[0; LANES]; kernel.registers],
            defined: vec![0; kernel.registers],
            flags: vec![0; kernel.predicates],
            flags_known: vec![0; kernel.predicates],
            carry: 0,
            running: 0,
            group: Group::new(0, 0),
            other_groups: Vec::new(),
            next: u32::MAX,
            private: vec![0; kernel.private as usize * LANES],
            waiting: None,
            loose: Vec::new(),
            copies: VecDeque::new(),
            threads,
            rank,
            component,
            time: 1,
            knowledge: Knowledge::default(),
            epoch: 0,
            released: Knowledge::default(),
            unacquired: Knowledge::default(),
            inits: None,
            waits: None,
            met: 0,
            cluster_phase: 0,
            awaited: None,
            bulk: Vec::new(),
            products: Products::default(),
        }
    }

    /// Returns the lanes in which a predicate holds.
    #[inline]
    pub(crate) fn read_flag(&self, flag: Flag) -> u32 {
        let set = self.flags[flag.slot as usize];
        if flag.negated { !set } else { set }
    }

    /// Returns the lanes in which a predicate is initialised.
    #[inline]
    pub(crate) fn flag_known(&self, flag: Flag) -> u32 {
        self.flags_known[flag.slot as usize]
    }

    /// Writes a register in some lanes.
    #[inline]
    pub(crate) fn put(&mut self, to: Slot, lanes: u32, values: &Lanes, known: u32) {
        let register = &mut self.registers[to as usize];
        if lanes == ALL {
            *register = *values;
        } else {
            for lane in lanes_of(lanes) {
                register[lane] = values[lane];
            }
        }
        let of = &mut self.defined[to as usize];
        *of = (*of & !lanes) | (known & lanes);
    }

    /// Writes a predicate in some lanes.
    #[inline]
    pub(crate) fn put_flag(&mut self, to: Slot, lanes: u32, values: u32, known: u32) {
        let flag = &mut self.flags[to as usize];
        *flag = (*flag & !lanes) | (values & lanes);
        let of = &mut self.flags_known[to as usize];
        *of = (*of & !lanes) | (known & lanes);
    }

    /// Moves some lanes to another step.
    pub(crate) fn split_off(&mut self, step: u32, lanes: u32) {
        self.put_aside(Group::new(step, lanes));
    }

    fn put_aside(&mut self, other: Group) {
        match self
            .other_groups
            .iter_mut()
            .find(|group| group.step == other.step)
        {
            Some(group) => {
                group.lanes |= other.lanes;
                group.awaits |= other.awaits;
                group.parked &= other.parked;
            }
            None => self.other_groups.push(other),
        }
        self.next = self.next.min(other.step);
    }

    /// Returns the lanes that must reach the current group's step: if it was held, the lanes that it waited for, even
    /// if they exited meanwhile; otherwise `these`.
    pub(crate) const fn expected_lanes(&self, these: u32) -> u32 {
        match self.group.awaits {
            0 => these,
            awaited => awaited,
        }
    }

    /// Holds lanes of the current group at their step until others arrive; its other lanes continue. Returns false if
    /// the group was held before: no other lane can arrive.
    pub(crate) fn hold(&mut self, lanes: u32, awaits: u32) -> bool {
        if self.group.awaits != 0 {
            return false;
        }
        let rest = self.group.lanes & !lanes;
        if rest != 0 {
            self.split_off(self.group.step + 1, rest);
        }
        self.group.lanes = lanes;
        self.group.awaits = awaits;
        self.turn()
    }

    /// Switches to the group with the smallest step that isn't held, or to a held one if all are held. Returns false if
    /// no group is left.
    pub(crate) fn turn(&mut self) -> bool {
        if self.group.lanes != 0 {
            self.put_aside(self.group);
        }
        let is_held = |group: &Group| group.awaits & self.running & !group.lanes != 0;
        let groups = self.other_groups.iter().enumerate();
        let least = groups.min_by_key(|(_, group)| (is_held(group), group.parked, group.step));
        let Some((at, _)) = least else {
            self.group.lanes = 0;
            self.next = u32::MAX;
            return false;
        };
        self.group = self.other_groups.swap_remove(at);
        self.next = self
            .other_groups
            .iter()
            .map(|group| group.step)
            .min()
            .unwrap_or(u32::MAX);
        true
    }

    /// Lets other groups run while the current one waits for a phase. Returns false if all wait.
    pub(crate) fn park(&mut self) -> bool {
        self.group.parked = true;
        self.turn() && !self.group.parked
    }

    /// Lets all groups run that wait for a phase.
    pub(crate) fn unpark(&mut self) {
        self.group.parked = false;
        for group in &mut self.other_groups {
            group.parked = false;
        }
    }

    /// Resets the clocks of a warp that has not accessed memory.
    pub(crate) fn reset_clock(&mut self, epoch: u32) {
        self.time = 1;
        self.epoch = epoch;
        self.released = Knowledge::default();
        self.unacquired = Knowledge::default();
        self.inits = None;
        self.waits = None;
        self.met = 0;
        self.knowledge = Knowledge {
            ordered: Clock::of_warp(self.component),
            ..Knowledge::default()
        };
    }

    /// Advances its time, to separate its earlier accesses from its later ones.
    pub(crate) fn advance(&mut self, epoch: u32) {
        self.time = self.time.saturating_add(1);
        self.knowledge.ordered.advance_to(self.component, self.time);
        self.epoch = epoch;
    }

    /// Learns what another agent knew, and advances.
    pub(crate) fn learn(&mut self, knowledge: &Knowledge, epoch: u32) {
        self.knowledge.join(knowledge);
        self.advance(epoch);
    }

    /// The waiting instruction and its time, for `mbarrier` objects.
    pub(crate) const fn event(&self) -> Event {
        Event {
            step: self.group.step,
            warp: self.component,
            time: self.time,
        }
    }

    /// Removes lanes that exit.
    pub(crate) fn end(&mut self, lanes: u32) {
        self.running &= !lanes;
        self.group.lanes &= !lanes;
    }

    /// Whether all lanes have exited.
    pub(crate) const fn is_over(&self) -> bool {
        self.running == 0
    }
}
