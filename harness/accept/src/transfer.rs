//! Loads and stores of lanes that need not be exact. Exact bits are in memory itself, all other lanes in the acceptance map.

use cerith_memory::{ByteState, StorageByte};
use cerith_tile::DType;

use super::lane::{Lane, merge_followed};
use super::lanes::Lanes;
use super::state::Machine;
use cerith_interp::program::{Slot, Step};
use cerith_interp::value::{read, write};

/// The target of a lane's access.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    /// The lane is masked off.
    Off,
    At(StorageByte),
    /// The lane may be masked off. If the current order of programs decides it: whether the lane accesses the address in this order.
    Maybe(StorageByte, Option<bool>),
    /// The address is unknown.
    Anywhere,
}

impl Machine<'_> {
    /// The target of a lane's access.
    pub(super) fn place(&self, (pointer, mask): (Slot, Option<Slot>), lane: usize, size: usize) -> Reach {
        let active = mask.map_or(Lane::Bits(1), |mask| self.read_lane(mask, lane).plain());
        let is_set = |bits: u64| bits & 1 == 1;
        if active.bits().is_some_and(|bits| !is_set(bits)) {
            return Reach::Off;
        }
        match self.read_lane(pointer, lane).plain() {
            Lane::Bits(address) => match self.plain.memory.resolve_access(address, size) {
                Ok(place) if active.bits().is_some() => Reach::At(place),
                // If a guess controls the access, the current order decides whether the address is touched.
                Ok(place) => Reach::Maybe(place, active.followed().map(is_set)),
                Err(_) => Reach::Anywhere,
            },
            _ => Reach::Anywhere,
        }
    }

    /// The lane that a load of an element returns.
    pub(super) fn get(&self, place: StorageByte, size: usize, dtype: Option<DType>) -> Lane {
        let range = place.offset..place.offset + size;
        let states = self
            .plain
            .memory
            .states(place.storage)
            .get(range.clone())
            .unwrap_or(&[]);
        if states.iter().any(|&state| state != ByteState::Init) {
            return Lane::Poison;
        }
        let bytes = self.plain.memory.bytes(place.storage).get(range).unwrap_or(&[]);
        let bits = match read(bytes, 0, size) {
            bits if dtype == Some(DType::I1) => u64::from(bits != 0),
            bits => bits,
        };
        if self.map.doubtful.contains(&place.storage) {
            return Lane::Unknown;
        }
        match self.map.get(place.storage, place.offset, size, dtype) {
            // The bits are those of the current order of programs.
            Some(Lane::Guess(_)) => Lane::Guess(bits),
            Some(lane) => lane,
            None => Lane::Bits(bits),
        }
    }

    /// Stores a lane in memory.
    pub(super) fn put(&mut self, place: StorageByte, size: usize, dtype: Option<DType>, lane: Lane) {
        self.note(place, size, dtype);
        if let Some(written) = &mut self.written {
            written.insert((place.storage, place.offset), (size, dtype));
        }
        let range = place.offset..place.offset + size;
        let (bytes, states) = self.plain.memory.parts_mut(place.storage);
        if let (Some(bytes), Some(states)) = (bytes.get_mut(range.clone()), states.get_mut(range)) {
            match lane {
                Lane::Guess(bits) => write(bytes, 0, size, bits),
                lane => {
                    if let Some(bits) = lane.bits() {
                        write(bytes, 0, size, bits);
                    }
                }
            }
            states.fill(if lane == Lane::Poison {
                ByteState::Poison
            } else {
                ByteState::Init
            });
        }
        self.map
            .set(place.storage, place.offset, size, dtype, lane.plain());
    }

    pub(super) fn load(&mut self, mask: bool, other: bool, step: &Step) {
        let out = step.outs[0];
        let layout = self.layout(out);
        let mask_slot = if mask { step.ins.get(1).copied() } else { None };
        let other = if other {
            step.ins.get(1 + usize::from(mask)).copied()
        } else {
            None
        };
        let unsaid = if self.config.masked_zero {
            Lane::Bits(0)
        } else {
            Lane::Poison
        };
        let mut lanes = Vec::with_capacity(layout.lanes);
        let dtype = layout.elem.num();
        for lane in 0..layout.lanes {
            let off = other.map_or(unsaid, |other| self.value(other).lane_at(lane));
            lanes.push(match self.place((step.ins[0], mask_slot), lane, layout.size) {
                Reach::At(place) => self.get(place, layout.size, dtype),
                Reach::Off => off,
                Reach::Maybe(place, loaded) => {
                    let held = self.get(place, layout.size, dtype);
                    merge_followed(loaded, held, off, dtype, self.map.sides)
                }
                Reach::Anywhere => Lane::Unknown,
            });
        }
        self.set(out, Lanes::Each(lanes));
    }

    pub(super) fn store(&mut self, mask: bool, step: &Step) {
        let layout = self.layout(step.ins[1]);
        let mask = if mask { step.ins.get(2).copied() } else { None };
        let dtype = layout.elem.num();
        for lane in 0..layout.lanes {
            let value = self.value(step.ins[1]).lane_at(lane).plain();
            match self.place((step.ins[0], mask), lane, layout.size) {
                Reach::Off => {}
                Reach::At(place) => {
                    self.forget_sums(place, layout.size);
                    self.put(place, layout.size, dtype, value);
                }
                Reach::Maybe(place, stored) => {
                    self.forget_sums(place, layout.size);
                    let held = self.get(place, layout.size, dtype);
                    let lane = merge_followed(stored, value, held, dtype, self.map.sides);
                    self.put(place, layout.size, dtype, lane);
                }
                Reach::Anywhere => self.doubt_behind(step.ins[0]),
            }
        }
    }

    /// Removes the sums of atomic adds at addresses that another operation writes.
    pub(super) fn forget_sums(&mut self, place: StorageByte, size: usize) {
        // Sums that overlap have elements of one size.
        let from = (place.storage, (place.offset + 1).saturating_sub(size));
        let to = (place.storage, place.offset + size);
        while let Some((&at, _)) = self.sums.range(from..to).next() {
            self.sums.remove(&at);
        }
    }
}
