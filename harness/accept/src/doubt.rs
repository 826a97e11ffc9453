//! Unknown values that control something: a mask, an address, a branch, the iterations of a loop. Only the bytes that they
//! can reach become unknown.
//!
//! | unknown | what follows |
//! |---|---|
//! | the mask of an access | the element holds the old value or the new one; a load may return either |
//! | the address of a load | the lane is unknown |
//! | the address of a store | the storage that the pointer was made from is unknown; all of them if that is not known |
//! | the condition of `if` | both branches are run, each from the same memory; the results of either are accepted |
//! | the range of a loop, or the condition of `while` | the body may run or not, again and again, until nothing changes; what goes on changing is unknown |
//!
//! If an atomic meets others, its result depends on their order. Such a lane is a guess ([`Lane::Guess`]): control flow uses the
//! bits of the current order of programs, but as data it is unknown. If a guess controls something, the launch is repeated with
//! other orders ([`orders`]): a byte is known if all of them leave the same value.

use std::collections::BTreeSet;

use cerith_memory::{Memory, StorageByte, StorageId};
use cerith_tile::DType;

use super::lane::{Lane, merge_either};
use super::lanes::Lanes;
use super::map::AcceptanceMap;
use super::state::{Halt, Machine, Undo, Written};
use cerith_interp::order::Order;
use cerith_interp::origin::Origin;
use cerith_interp::program::{Code, Slot, Step};

/// Rounds of a loop that may run any number of times: from the second on, what changes becomes unknown.
const ROUNDS: usize = 6;

/// Up to so many programs, each of them is tried in every place of the order.
const EVERY_PLACE: u64 = 16;

/// Elements of memory, as the storage, the first byte, the size, and what was written.
type Element = (StorageId, usize, usize, Option<DType>);

impl AcceptanceMap {
    /// Makes a storage unknown.
    pub(super) fn doubt_storage(&mut self, storage: StorageId) {
        self.doubtful.insert(storage);
    }
}

impl<'a> Machine<'a> {
    /// Notes an element that is about to be written, where that may have to be taken back.
    pub(super) fn note(&mut self, place: StorageByte, size: usize, dtype: Option<DType>) {
        if self.trying == 0 {
            return;
        }
        let range = place.offset..place.offset + size;
        self.undo.push(Undo {
            place,
            size,
            dtype,
            bytes: self
                .plain
                .memory
                .bytes(place.storage)
                .get(range.clone())
                .unwrap_or(&[])
                .into(),
            states: self
                .plain
                .memory
                .states(place.storage)
                .get(range)
                .unwrap_or(&[])
                .into(),
            entries: self.map.find_overlapping(place.storage, place.offset, size),
        });
    }

    /// Reverts the writes since then. Returns the written elements, with the values that they had before the revert.
    fn take_back(&mut self, since: usize) -> Vec<(Element, Lane)> {
        let elements: BTreeSet<Element> = self
            .undo
            .get(since..)
            .unwrap_or(&[])
            .iter()
            .map(|undo| (undo.place.storage, undo.place.offset, undo.size, undo.dtype))
            .collect();
        let held = elements
            .into_iter()
            .map(|element| (element, self.load_element(element)))
            .collect();
        while self.undo.len() > since {
            let Some(undo) = self.undo.pop() else { break };
            let StorageByte { storage, offset } = undo.place;
            let (bytes, states) = self.plain.memory.parts_mut(storage);
            let range = offset..offset + undo.size;
            if let (Some(bytes), Some(states)) = (bytes.get_mut(range.clone()), states.get_mut(range)) {
                bytes.copy_from_slice(&undo.bytes);
                states.copy_from_slice(&undo.states);
            }
            for (start, entry) in self.map.find_overlapping(storage, offset, undo.size) {
                self.map.take(storage, start, entry);
            }
            for &(start, entry) in &undo.entries {
                // Parts of it outside of this range were split off.
                for (part, other) in self.map.find_overlapping(storage, start, entry.size) {
                    self.map.take(storage, part, other);
                }
            }
            for (start, entry) in undo.entries {
                self.map.restore(storage, start, entry);
            }
        }
        held
    }

    fn load_element(&self, (storage, offset, size, dtype): Element) -> Lane {
        self.get(StorageByte { storage, offset }, size, dtype)
    }

    /// Leaves what either of two courses left. Gives whether that is not what is there.
    fn leave_either(&mut self, one: &[(Element, Lane)], other: &[(Element, Lane)], widen: bool) -> bool {
        let mut changed = false;
        let find = |all: &[(Element, Lane)], element: Element| {
            all.binary_search_by_key(&element, |&(element, _)| element)
                .ok()
                .and_then(|at| all.get(at))
                .map(|&(_, lane)| lane)
        };
        let elements: BTreeSet<Element> = one.iter().chain(other).map(|&(element, _)| element).collect();
        for &element in &elements {
            let (storage, offset, size, dtype) = element;
            let base = self.load_element(element);
            let split = elements.iter().any(|&(id, at, len, seen)| {
                id == storage
                    && at < offset + size
                    && offset < at + len
                    && (at, len, seen) != (offset, size, dtype)
            });
            let lane = if split || self.sums.contains_key(&(storage, offset)) {
                Lane::Unknown
            } else {
                merge_either(
                    find(one, element).unwrap_or(base),
                    find(other, element).unwrap_or(base),
                    dtype,
                    self.map.sides,
                )
            };
            if lane.is_equivalent(base) {
                continue;
            }
            changed = true;
            let lane = if widen { Lane::Unknown } else { lane };
            let place = StorageByte { storage, offset };
            self.forget_sums(place, size);
            self.put(place, size, dtype, lane);
        }
        changed
    }

    /// Runs both branches of an `if` whose condition is not known.
    pub(super) fn run_both(&mut self, one: &'a Code, other: &'a Code, step: &'a Step) -> Result<(), Halt> {
        self.trying += 1;
        let ended = self.run_branches(one, other, step);
        self.settle();
        ended
    }

    fn run_branches(&mut self, one: &'a Code, other: &'a Code, step: &'a Step) -> Result<(), Halt> {
        let since = self.undo.len();
        self.block(one)?;
        let mut values = self.collect_yields(one)?;
        let first = self.take_back(since);
        self.block(other)?;
        let others = self.collect_yields(other)?;
        let second = self.take_back(since);
        self.leave_either(&first, &second, false);
        for ((value, other), &out) in values.iter_mut().zip(others).zip(&step.outs) {
            *value = self.either_lanes(value, &other, out);
        }
        self.set_all(&step.outs, values);
        Ok(())
    }

    /// Forgets what need not be taken back any more.
    fn settle(&mut self) {
        self.trying -= 1;
        if self.trying == 0 {
            self.undo.clear();
        }
    }

    fn either_lanes(&self, one: &Lanes, other: &Lanes, slot: Slot) -> Lanes {
        let layout = self.layout(slot);
        let dtype = layout.elem.num();
        if let (Lanes::Uniform(one), Lanes::Uniform(other)) = (one, other) {
            return Lanes::Uniform(merge_either(*one, *other, dtype, self.map.sides));
        }
        Lanes::Each(
            (0..layout.lanes)
                .map(|lane| merge_either(one.lane_at(lane), other.lane_at(lane), dtype, self.map.sides))
                .collect(),
        )
    }

    /// Runs a loop that may go round any number of times. `before` is the part of a `while` that ends in its condition.
    pub(super) fn any_times(
        &mut self,
        before: Option<&'a Code>,
        body: &'a Code,
        carried: Vec<Lanes>,
        step: &'a Step,
    ) -> Result<(), Halt> {
        self.trying += 1;
        let ended = self.run_rounds(before, body, carried, step);
        self.settle();
        ended
    }

    fn run_rounds(
        &mut self,
        before: Option<&'a Code>,
        body: &'a Code,
        mut carried: Vec<Lanes>,
        step: &'a Step,
    ) -> Result<(), Halt> {
        // The index of a `for` comes before the carried values.
        let args = body.args.get(usize::from(before.is_none())..).unwrap_or(&[]);
        for round in 0..ROUNDS {
            let since = self.undo.len();
            let mut passed = None;
            if let Some(before) = before {
                self.set_all(&before.args, carried.clone());
                self.block(before)?;
                let mut yielded = self.collect_yields(before)?;
                if yielded.is_empty() {
                    return Err(cerith_interp::outcome::Stop::malformed("a loop without a condition").into());
                }
                yielded.remove(0);
                self.set_all(args, yielded.clone());
                passed = Some(yielded);
            } else {
                self.set_all(
                    body.args.get(..1).unwrap_or(&[]),
                    vec![Lanes::Uniform(Lane::Unknown)],
                );
                self.set_all(args, carried.clone());
            }
            self.block(body)?;
            let next = self.collect_yields(body)?;
            let left = self.take_back(since);
            let mut changed = self.leave_either(&left, &[], round > 0);
            let slots = before.map_or(args, |before| before.args.as_slice());
            for ((now, next), &slot) in carried.iter_mut().zip(next).zip(slots) {
                let lanes = self.layout(slot).lanes;
                let both = self.either_lanes(now, &next, slot);
                if (0..lanes).any(|lane| !both.lane_at(lane).is_equivalent(now.lane_at(lane))) {
                    changed = true;
                    *now = if round > 0 {
                        Lanes::Uniform(Lane::Unknown)
                    } else {
                        both
                    };
                }
            }
            if !changed {
                self.set_all(&step.outs, passed.unwrap_or(carried));
                return Ok(());
            }
        }
        Err(Halt::Inconclusive {
            decision: "how often a loop runs",
            loc: step.loc,
        })
    }

    /// Makes the storages unknown that a pointer may point into.
    pub(super) fn doubt_behind(&mut self, pointer: Slot) {
        let home = match self.program.origins.get(pointer as usize) {
            Some(Origin::Param(param)) => self.homes.get(*param as usize).and_then(Option::as_ref),
            _ => None,
        };
        if let Some(storage) = home.map(|home| home.storage) {
            self.map.doubt_storage(storage);
            return;
        }
        let all: Vec<StorageId> = self.plain.memory.ids().collect();
        for storage in all {
            self.map.doubt_storage(storage);
        }
    }
}

/// The orders of so many programs that are tried where one decided something, besides that of their numbers. With few
/// programs each is tried in every place; with many, in some.
pub(super) fn list_orders(programs: u64) -> Vec<Order> {
    let turned: Vec<u64> = if programs <= EVERY_PLACE {
        (1..programs).collect()
    } else {
        vec![1, programs / 2, programs - 1]
    };
    let mut all = vec![Order::Descending];
    all.extend(turned.into_iter().map(Order::Turned));
    all.extend([1, 2, 3].map(Order::Shuffled));
    all
}

/// Leaves in `map` what two orders of programs agree on. With more programs than were tried in every place, one storage in
/// which they do not agree is unknown as a whole: other orders may leave something elsewhere in it.
pub(super) fn agree(
    programs: u64,
    written: &Written,
    (memory, map): (&Memory, &mut AcceptanceMap),
    (other, seen): (&Memory, &AcceptanceMap),
) {
    for &storage in &seen.doubtful {
        map.doubt_storage(storage);
    }
    for storage in memory.ids() {
        let mut differing: Vec<(usize, usize, Option<DType>)> = Vec::new();
        let keys = |map: &AcceptanceMap| map.entries(storage).collect::<Vec<_>>();
        let (mine, theirs) = (keys(map), keys(seen));
        for (one, two) in [(&mine, &theirs), (&theirs, &mine)] {
            for &(start, entry) in one {
                let same = two
                    .binary_search_by_key(&start, |&(start, _)| start)
                    .ok()
                    .and_then(|at| two.get(at))
                    .is_some_and(|&(_, other)| other.is_equivalent(entry));
                if !same {
                    differing.push((start, entry.size, entry.dtype));
                }
            }
        }
        let bytes = memory.bytes(storage).iter().zip(other.bytes(storage));
        let states = memory.states(storage).iter().zip(other.states(storage));
        for (at, ((a, b), (known, now))) in bytes.zip(states).enumerate() {
            if (a != b || known != now) && map.accepted_at(storage, at).1 == super::Accepted::Exact {
                let element = written.range((storage, 0)..=(storage, at)).next_back();
                let whole = element.filter(|&(&(_, start), &(size, _))| start + size > at);
                differing.push(whole.map_or((at, 1, None), |(&(_, start), &(size, dtype))| {
                    (start, size, dtype)
                }));
            }
        }
        if differing.is_empty() {
            continue;
        }
        differing.dedup();
        if programs > EVERY_PLACE {
            map.doubt_storage(storage);
            continue;
        }
        for (start, size, dtype) in differing {
            map.set(storage, start, size, dtype, Lane::Unknown);
        }
    }
}
