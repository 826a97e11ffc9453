//! The past accesses of each byte that a later access may race with.
//!
//! Two accesses of different agents race if neither happened before the other ([`crate::clock`]) and one of them is a
//! write. Two writes of the same value don't race: Triton stores a value that several threads hold from all of them.
//! Lanes of one warp run in step, and atomics don't race with each other.
//!
//! Bytes with the same past share a state, and [`States`] numbers the states. An access maps the state before to the
//! state after it, so a copy of a tile looks at few states, not at each byte's past.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::clock::{Clock, Component};
use crate::outcome::FindingKind;

/// Number of states at which unused ones are dropped.
const MAX_STATES: usize = 1 << 15;

/// The agent of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Actor {
    /// A thread.
    Thread,
    /// An atomic, or an operation on an `mbarrier`.
    Atomic,
    /// The beginning or the end of an `mbarrier` object.
    Object,
    /// A bulk copy, by the asynchronous proxy.
    Copy,
    /// `st.async`, by the generic proxy.
    Store,
    /// A product of `wgmma`, by the asynchronous proxy.
    Product,
}

impl Actor {
    /// Whether it accesses memory through the asynchronous proxy.
    const fn is_asynchronous(self) -> bool {
        matches!(self, Self::Copy | Self::Product)
    }
}

/// A past access. Without one, the time is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    time: u32,
    pub(crate) step: u32,
    component: Component,
    actor: Actor,
}

const NONE: Mark = Mark {
    time: 0,
    step: 0,
    component: 0,
    actor: Actor::Thread,
};

impl Mark {
    /// Whether the access happened before everything that an agent does from now on.
    #[inline]
    fn is_before(&self, by: &Accessor<'_>) -> bool {
        by.ordered.knows(self.component, self.time)
    }

    /// Whether both are atomics.
    fn is_atomic_with(&self, by: &Accessor<'_>) -> bool {
        self.actor == Actor::Atomic && by.actor == Actor::Atomic
    }

    /// Whether a proxy fence is missing between this access, which happened before, and another one.
    fn lacks_fence(&self, by: &Accessor<'_>) -> bool {
        by.actor.is_asynchronous()
            && !self.actor.is_asynchronous()
            && self.time != 0
            && !by.fenced.knows(self.component, self.time)
    }
}

/// The content of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Content {
    Unwritten,
    Known,
    /// A value computed from uninitialised bytes.
    Unknown,
    /// The target of a `cp.async` that has not landed.
    InFlight,
}

/// The past of a byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    write: Mark,
    content: Content,
    /// Reads since the write, except reads that are ordered before another one in the list.
    reads: SmallVec<[Mark; 2]>,
}

/// An agent that accesses memory, and what it knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accessor<'w> {
    pub(crate) component: Component,
    pub(crate) time: u32,
    pub(crate) ordered: &'w Clock,
    pub(crate) fenced: &'w Clock,
    /// Identifies the two clocks.
    pub(crate) epoch: u32,
    pub(crate) step: u32,
    pub(crate) actor: Actor,
}

impl Accessor<'_> {
    #[inline]
    fn mark(&self) -> Mark {
        Mark {
            time: self.time,
            step: self.step,
            component: self.component,
            actor: self.actor,
        }
    }
}

/// A conflict with an earlier access.
#[derive(Clone, Copy, Debug)]
struct Conflict {
    kind: FindingKind,
    other_step: u32,
}

/// Two conflicting accesses of a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub(crate) kind: FindingKind,
    pub(crate) byte: u64,
    pub(crate) other_step: u32,
}

/// Keeps only the first conflict of an access.
#[cold]
fn note(met: &mut Option<Met>, conflict: Conflict, byte: usize) {
    met.get_or_insert(Met {
        kind: conflict.kind,
        byte: byte as u64,
        other_step: conflict.other_step,
    });
}

/// An access that changes states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Read,
    /// A write that leaves this content.
    Write(Content),
    /// The end of a `cp.async`, whose beginning was checked.
    Land,
}

/// The effect of an access on a state.
#[derive(Clone, Copy, Debug)]
struct Transition {
    from: u32,
    mark: Mark,
    epoch: u32,
    change: Change,
    to: u32,
    content: Content,
    /// A conflict, and one that counts only if the value of the byte changes.
    conflict: Option<Conflict>,
    conflict_if_changed: Option<Conflict>,
}

/// Number of recent transitions that are kept.
const RECENT: usize = 8;

/// The transition of no access: nothing accesses memory at time 0.
const NO_TRANSITION: Transition = Transition {
    from: 0,
    mark: NONE,
    epoch: 0,
    change: Change::Read,
    to: 0,
    content: Content::Unwritten,
    conflict: None,
    conflict_if_changed: None,
};

/// Changes the first cells, as far as they have one state. Returns their number.
#[inline]
fn advance_cells(cells: &mut [u32], from: u32, to: u32) -> usize {
    let mut count = 0;
    for cell in cells {
        if *cell != from {
            break;
        }
        *cell = to;
        count += 1;
    }
    count
}

/// The states of a memory's bytes. [`Self::FRESH`] is the state of a byte without a past.
#[derive(Debug)]
pub(crate) struct States {
    all: Vec<State>,
    numbers: FxHashMap<State, u32>,
    /// Recent transitions.
    recent: [Transition; RECENT],
}

impl Default for States {
    fn default() -> Self {
        let mut states = Self {
            all: Vec::new(),
            numbers: FxHashMap::default(),
            recent: [NO_TRANSITION; RECENT],
        };
        states.clear();
        states
    }
}

impl States {
    /// The state of a byte that nothing accessed.
    pub(crate) const FRESH: u32 = 0;

    fn fresh() -> State {
        State {
            write: NONE,
            content: Content::Unwritten,
            reads: SmallVec::new(),
        }
    }

    /// Removes all states.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.numbers.clear();
        self.recent = [NO_TRANSITION; RECENT];
        self.intern(Self::fresh());
    }

    fn intern(&mut self, state: State) -> u32 {
        if let Some(&number) = self.numbers.get(&state) {
            return number;
        }
        let number = self.all.len() as u32;
        self.all.push(state.clone());
        self.numbers.insert(state, number);
        number
    }

    /// Drops unused states if there are many. `cells` are the numbers in use.
    pub(crate) fn tidy<'c>(&mut self, cells: impl Iterator<Item = &'c mut u32>) {
        if self.all.len() < MAX_STATES {
            return;
        }
        let old = std::mem::take(&mut self.all);
        self.clear();
        let mut renumbered: FxHashMap<u32, u32> = FxHashMap::default();
        for cell in cells {
            *cell = *renumbered.entry(*cell).or_insert_with(|| {
                old.get(*cell as usize)
                    .map_or(0, |state| self.intern(state.clone()))
            });
        }
    }

    /// Reads cells. Returns whether all of them were written.
    #[inline]
    pub(crate) fn read(
        &mut self,
        cells: &mut [u32],
        at: usize,
        by: &Accessor<'_>,
        met: &mut Option<Met>,
    ) -> bool {
        let mut known = true;
        let mut nth = 0;
        while let Some(&from) = cells.get(nth) {
            let transition = self.find_transition(from, by, Change::Read);
            known &= !matches!(transition.content, Content::Unwritten | Content::Unknown);
            if let Some(conflict) = transition.conflict {
                note(met, conflict, at + nth);
            }
            nth += advance_cells(cells.get_mut(nth..).unwrap_or_default(), from, transition.to);
        }
        known
    }

    /// Writes cells. `changes`: whether the byte with this number gets another value.
    #[inline]
    pub(crate) fn write(
        &mut self,
        cells: &mut [u32],
        at: usize,
        content: Content,
        by: &Accessor<'_>,
        changes: impl Fn(usize) -> bool,
        met: &mut Option<Met>,
    ) {
        let mut nth = 0;
        while let Some(&from) = cells.get(nth) {
            let transition = self.find_transition(from, by, Change::Write(content));
            let (conflict, if_changed) = (transition.conflict, transition.conflict_if_changed);
            let count = advance_cells(cells.get_mut(nth..).unwrap_or_default(), from, transition.to);
            if let Some(conflict) = if_changed
                && let Some(changed) = (nth..nth + count).find(|&nth| changes(nth))
            {
                note(met, conflict, at + changed);
            }
            if let Some(conflict) = conflict {
                note(met, conflict, at + nth);
            }
            nth += count;
        }
    }

    /// Ends a `cp.async` to cells.
    pub(crate) fn land(&mut self, cells: &mut [u32], by: &Accessor<'_>) {
        let mut nth = 0;
        while let Some(&from) = cells.get(nth) {
            let to = self.find_transition(from, by, Change::Land).to;
            nth += advance_cells(cells.get_mut(nth..).unwrap_or_default(), from, to);
        }
    }

    #[inline]
    fn find_transition(&mut self, from: u32, by: &Accessor<'_>, change: Change) -> &Transition {
        let at = (from as usize ^ by.step as usize) % RECENT;
        let is_cached = self.recent.get(at).is_some_and(|last| {
            (last.from, last.epoch, last.change) == (from, by.epoch, change) && last.mark == by.mark()
        });
        if !is_cached {
            let transition = self.compute_transition(from, by, change);
            if let Some(slot) = self.recent.get_mut(at) {
                *slot = transition;
            }
        }
        &self.recent[at]
    }

    #[inline(never)]
    fn compute_transition(&mut self, from: u32, by: &Accessor<'_>, change: Change) -> Transition {
        let fresh = Self::fresh();
        let old = self.all.get(from as usize).unwrap_or(&fresh);
        let mark = by.mark();
        let (mut conflict, mut conflict_if_changed) = (None, None);
        let write = old.write;
        if write.time != 0 && !(write.is_before(by) || write.is_atomic_with(by)) {
            let found = Conflict {
                kind: match (write.actor, change) {
                    (Actor::Copy | Actor::Store, _) => FindingKind::InFlight,
                    (_, Change::Read) => FindingKind::ReadAfterWrite,
                    _ => FindingKind::WriteWrite,
                },
                other_step: write.step,
            };
            // The order of two writes is irrelevant if they write the same value. A copy that has not landed hides it.
            if change == Change::Read || matches!(write.actor, Actor::Copy | Actor::Store) {
                conflict = Some(found);
            } else {
                conflict_if_changed = Some(found);
            }
        } else if write.lacks_fence(by) {
            conflict = Some(Conflict {
                kind: FindingKind::ProxyFence,
                other_step: write.step,
            });
        }
        if old.content == Content::InFlight && change != Change::Land {
            conflict = Some(Conflict {
                kind: FindingKind::InFlight,
                other_step: write.step,
            });
            conflict_if_changed = None;
        }
        let state = match change {
            Change::Read => {
                let mut reads = old.reads.clone();
                // A plain read stays when an atomic follows it: other atomics race only with the plain one.
                reads.retain(|read| {
                    let is_replaceable = read.actor == mark.actor || mark.actor != Actor::Atomic;
                    !(is_replaceable && (read.component == mark.component || read.is_before(by)))
                });
                reads.push(mark);
                State { reads, ..*old }
            }
            Change::Write(content) => {
                let raced = old
                    .reads
                    .iter()
                    .find(|read| !(read.is_before(by) || read.is_atomic_with(by)));
                if let Some(read) = raced {
                    conflict.get_or_insert(Conflict {
                        kind: match read.actor {
                            Actor::Copy | Actor::Store => FindingKind::SourceInFlight,
                            Actor::Product => FindingKind::OperandInFlight,
                            Actor::Thread | Actor::Atomic | Actor::Object => FindingKind::WriteAfterRead,
                        },
                        other_step: read.step,
                    });
                } else if let Some(read) = old.reads.iter().find(|read| read.lacks_fence(by)) {
                    conflict.get_or_insert(Conflict {
                        kind: FindingKind::ProxyFenceAfterRead,
                        other_step: read.step,
                    });
                }
                State {
                    write: mark,
                    content,
                    reads: SmallVec::new(),
                }
            }
            Change::Land => {
                conflict = None;
                conflict_if_changed = None;
                State {
                    write: mark,
                    content: Content::Known,
                    reads: old.reads.clone(),
                }
            }
        };
        let content = old.content;
        Transition {
            from,
            mark,
            epoch: by.epoch,
            change,
            to: self.intern(state),
            content,
            conflict,
            conflict_if_changed,
        }
    }
}
