//! A warp: its registers, which of its lanes are where, and what it waits for. Left out: what instructions do
//! ([`crate::execute`]).
//!
//! Lanes that take other ways are groups. The group that is furthest behind goes on, and groups that come to one place are
//! one again: lanes meet where their ways do. The order of instructions is that of the text, and LLVM puts what is seldom executed
//! behind everything else: a group that comes to an instruction for lanes that are not there is held, until they come or nobody
//! else goes on.

use std::collections::VecDeque;

use crate::kernel::Kernel;
use crate::lanes::{ALL, LANES, Lanes, lanes_of};
use crate::op::{Flag, Slot};

/// Lanes that go together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) step: u32,
    pub(crate) lanes: u32,
    /// The lanes that must come to its step before it goes on; none if it is not held.
    pub(crate) awaits: u32,
}

impl Group {
    /// Lanes that go on at a step.
    pub(crate) const fn new(step: u32, lanes: u32) -> Self {
        Self {
            step,
            lanes,
            awaits: 0,
        }
    }
}

/// A `cp.async` of one lane that is on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) lane: u8,
    pub(crate) bytes: u8,
    /// Where it goes in shared memory.
    pub(crate) to: u64,
    pub(crate) content: [u8; 16],
    pub(crate) step: u32,
}

/// A barrier that a warp is at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) barrier: u8,
    /// Threads that must come; `None`: all of the block.
    pub(crate) count: Option<u32>,
    pub(crate) step: u32,
}

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Its number in the block.
    pub(crate) number: u32,
    pub(crate) registers: Vec<Lanes>,
    /// In which lanes a register holds what something was written to.
    pub(crate) defined: Vec<u32>,
    /// Predicates, a bit for each lane.
    pub(crate) flags: Vec<u32>,
    pub(crate) flags_known: Vec<u32>,
    /// The carry of each lane.
    pub(crate) carry: u32,
    /// Lanes that have not ended.
    pub(crate) running: u32,
    /// The group that goes on.
    pub(crate) group: Group,
    /// The other groups.
    pub(crate) other_groups: Vec<Group>,
    /// The least step of those.
    pub(crate) next: u32,
    /// Memory of each lane's own, one lane behind the other.
    pub(crate) private: Vec<u8>,
    pub(crate) waiting: Option<Waiting>,
    /// Copies that no group has yet.
    pub(crate) loose: Vec<Pending>,
    /// Groups of copies, the oldest first, with the lanes that made them.
    pub(crate) copies: VecDeque<(u32, Vec<Pending>)>,
    /// What the warp knows of every warp's time.
    pub(crate) clock: Vec<u32>,
}

impl Warp {
    pub(crate) fn new(kernel: &Kernel, number: u32) -> Self {
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
            clock: Vec::new(),
        }
    }

    /// The lanes in which a predicate holds.
    #[inline]
    pub(crate) fn read_flag(&self, flag: Flag) -> u32 {
        let set = self.flags[flag.slot as usize];
        if flag.negated { !set } else { set }
    }

    /// The lanes in which it is known.
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

    /// Some lanes go elsewhere.
    pub(crate) fn split_off(&mut self, step: u32, lanes: u32) {
        self.put_aside(Group::new(step, lanes));
    }

    fn put_aside(&mut self, other: Group) {
        match self.other_groups.iter_mut().find(|group| group.step == other.step) {
            Some(group) => {
                group.lanes |= other.lanes;
                group.awaits |= other.awaits;
            }
            None => self.other_groups.push(other),
        }
        self.next = self.next.min(other.step);
    }

    /// The lanes that must come to the step of the group that goes on: those that it has waited for, which should have come even if
    /// they ended meanwhile, or these if it was not held.
    pub(crate) const fn expected_lanes(&self, these: u32) -> u32 {
        match self.group.awaits {
            0 => these,
            awaited => awaited,
        }
    }

    /// Has lanes of the group that goes on wait at their step until others have come there. Its other lanes go on behind it. False
    /// if they have waited before: nobody else comes.
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

    /// Goes on with the group that is furthest behind and not held; with one that is held if there is no other. False where no group
    /// is left.
    pub(crate) fn turn(&mut self) -> bool {
        if self.group.lanes != 0 {
            self.put_aside(self.group);
        }
        let is_held = |group: &Group| group.awaits & self.running & !group.lanes != 0;
        let groups = self.other_groups.iter().enumerate();
        let least = groups.min_by_key(|(_, group)| (is_held(group), group.step));
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

    /// Some lanes end.
    pub(crate) fn end(&mut self, lanes: u32) {
        self.running &= !lanes;
        self.group.lanes &= !lanes;
    }

    /// Whether all lanes have ended.
    pub(crate) const fn is_over(&self) -> bool {
        self.running == 0
    }
}
