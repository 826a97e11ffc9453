//! The state of an execution with intervals: values, memory, and the intervals of both. See `machine` for control flow.

use std::collections::BTreeMap;
use std::rc::Rc;

use cerith_memory::{ByteState, StorageByte, StorageId};
use cerith_tile::DType;
use cerith_tile::ir::{LocId, Type};
use smallvec::SmallVec;

use super::identity::Tracking;
use super::lane::{Lane, map_guesses};
use super::lanes::Lanes;
use super::map::{AcceptanceMap, Entry};
use super::mergeable::Dots;
use super::sum::Sum;
use super::touched::Touched;
use super::wide::Wide;
use cerith_interp::checks::Home;
use cerith_interp::config::Config;
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::machine::Machine as PlainMachine;
use cerith_interp::outcome::Stop;
use cerith_interp::program::{Program, Slot};
use cerith_interp::value::Layout;
use cerith_interp::watch;

/// The reason why execution leaves a block early.
#[derive(Debug)]
pub(super) enum Halt {
    Stop(Stop),
    /// Conforming implementations may differ in control flow from here on.
    Inconclusive {
        decision: &'static str,
        loc: LocId,
    },
    /// The programs cannot run in this order: one waits for a later one.
    Waits,
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// An element of memory as it was before it was written.
#[derive(Debug)]
pub(super) struct Undo {
    pub place: StorageByte,
    pub size: usize,
    pub dtype: Option<DType>,
    pub bytes: SmallVec<[u8; 8]>,
    pub states: SmallVec<[ByteState; 8]>,
    pub entries: SmallVec<[(usize, Entry); 2]>,
}

/// Written elements, each with its size and the dtype of the store.
pub(super) type Written = BTreeMap<(StorageId, usize), (usize, Option<DType>)>;

/// For each slot, its value in a narrower dtype, if that value contains products. See `narrow`.
#[derive(Debug, Default)]
pub(super) struct Narrow(pub(super) BTreeMap<Slot, (DType, Lanes)>);

impl Narrow {
    /// Removes the narrow value of a slot.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.0.remove(&slot);
    }

    /// Whether one of these slots has a narrow value.
    pub(super) fn has_any<'a>(&self, slots: impl IntoIterator<Item = &'a Slot>) -> bool {
        !self.0.is_empty() && slots.into_iter().any(|slot| self.0.contains_key(slot))
    }
}

/// Maximum number of unused blocks that are kept for reuse.
const SPARE: usize = 4;

/// One execution of a launch.
pub(super) struct Machine<'a> {
    pub program: &'a Program,
    pub config: &'a Config<'a>,
    /// The plain machine's configuration, with elements combined in two other orders.
    pub orders: &'a [Config<'a>; 2],
    /// The machine that executes exact operations. It has the memory.
    pub plain: PlainMachine<'a>,
    pub map: &'a mut AcceptanceMap,
    pub grid: [u32; 3],
    pub fuel: u64,
    /// The watch is checked again when the fuel falls below this.
    pub look_at: u64,
    /// The size in bytes of the lanes in `slots`.
    pub live: usize,
    pub slots: Vec<Lanes>,
    /// Blocks to reuse.
    pub spare: Vec<Wide>,
    /// For each slot, whether the plain machine has its value.
    pub exact: Vec<bool>,
    /// The sums of floats that atomics of this launch add in no defined order, by address.
    pub sums: BTreeMap<(StorageId, usize), Sum>,
    /// Dots that may be merged with a sum.
    pub dots: Dots,
    /// The values in a narrower dtype.
    pub narrow: Narrow,
    /// For each parameter, the storage that it points into.
    pub homes: Vec<Option<Rc<Home>>>,
    /// The number of active constructs whose effects may be reverted.
    pub trying: usize,
    /// The memory that these constructs overwrote.
    pub undo: Vec<Undo>,
    /// The addresses that atomics of this launch access.
    pub touched: Touched,
    /// Whether the control flow depended on an atomic's result that another order of programs may change.
    pub followed: bool,
    /// The elements that were written, if other orders may be tried.
    pub written: Option<Written>,
    /// The identities of values, if one may be stored more than once.
    pub tracking: Option<Tracking>,
}

impl<'a> Machine<'a> {
    /// Whether the map records which operations widen intervals.
    pub(super) const fn explains(&self) -> bool {
        self.map.book.is_some()
    }

    pub(super) fn spend(&mut self, cost: u64) -> Result<(), Halt> {
        self.fuel = self
            .fuel
            .checked_sub(cost)
            .ok_or(Stop::out_of_fuel(self.config.fuel))?;
        if self.fuel < self.look_at {
            self.config.watch.look()?;
            self.look_at = self.fuel.saturating_sub(watch::FUEL);
        }
        Ok(())
    }

    pub(super) fn layout(&self, slot: Slot) -> Layout {
        self.program.layouts[slot as usize]
    }

    pub(super) fn ty(&self, slot: Slot) -> &'a Type {
        &self.program.function.values[slot as usize].ty
    }

    pub(super) fn value(&self, slot: Slot) -> &Lanes {
        &self.slots[slot as usize]
    }

    /// Puts lanes in a slot, and frees the plain machine's value of the slot.
    pub(super) fn set(&mut self, slot: Slot, value: Lanes) {
        if std::mem::take(&mut self.exact[slot as usize]) {
            self.plain.free(&[slot]);
        }
        self.replace(slot, value);
    }

    /// Puts lanes in a slot, and keeps the plain machine's value of the slot.
    pub(super) fn replace(&mut self, slot: Slot, value: Lanes) {
        let to = &mut self.slots[slot as usize];
        self.live = (self.live + value.bytes()).saturating_sub(to.bytes());
        let old = std::mem::replace(to, value);
        if let Lanes::Wide(wide) = old
            && self.spare.len() < SPARE
            && let Ok(wide) = Rc::try_unwrap(wide)
        {
            self.spare.push(wide);
        }
    }

    pub(super) fn set_all(&mut self, slots: &[Slot], values: Vec<Lanes>) {
        for (&slot, value) in slots.iter().zip(values) {
            self.set(slot, value);
        }
    }

    pub(super) fn dtype(&self, slot: Slot) -> DType {
        compute_dtype(self.layout(slot).elem)
    }

    /// Computes each lane of the result from the same lane of the operands.
    pub(super) fn map_lanes(&mut self, out: Slot, ins: &[Slot], f: impl Fn(&[Lane]) -> Lane) {
        let uniform = ins
            .iter()
            .all(|&slot| matches!(self.value(slot), Lanes::Uniform(_)));
        let at = |machine: &Self, lane: usize| {
            let lanes: SmallVec<[Lane; 3]> = ins
                .iter()
                .map(|&slot| machine.value(slot).lane_at(lane))
                .collect();
            map_guesses(&lanes, &f)
        };
        let value = if uniform {
            Lanes::Uniform(at(self, 0))
        } else {
            Lanes::Each((0..self.layout(out).lanes).map(|lane| at(self, lane)).collect())
        };
        self.set(out, value);
    }
}
