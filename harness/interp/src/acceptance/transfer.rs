//! Memory of lanes that need not be exact: exact bits are in memory itself, everything else in the map beside it.

use conch_memory::{ByteState, Place};
use conch_tile::DType;
use conch_tile::ir::{AtomicOp, BinaryOp, Elem, LocId};

use super::float;
use super::lane::{Interval, Lane, Lanes};
use super::machine::{Halt, Machine, decisive};
use super::precision::power_of_two;
use super::sum::Sum;
use crate::elementwise::arithmetic;
use crate::program::{Slot, Step};
use crate::value::{read, write};

/// A lane of an atomic sum, whose operands and result a GPU may make zeros of where they are subnormal: `atom.add.f32`
/// does so in global memory (PTX ISA, `atom`; seen on an H200 with Triton 3.9.0).
fn flushed(lane: Lane, dtype: DType) -> Lane {
    const SMALLEST: f64 = power_of_two(-126);
    let interval = lane.interval(dtype);
    let subnormal = interval.low < SMALLEST && interval.high > -SMALLEST && interval.magnitude() > 0.0;
    if dtype != DType::F32 || lane == Lane::Poison || !subnormal {
        return lane;
    }
    Interval {
        low: interval.low.min(0.0),
        high: interval.high.max(0.0),
        nan: interval.nan,
    }
    .lane(dtype)
}

impl Machine<'_> {
    /// The lane's place, if it is active. A mask or address that is not known ends the execution.
    fn place(
        &self,
        (pointer, mask): (Slot, Option<Slot>),
        lane: usize,
        size: usize,
        loc: LocId,
    ) -> Result<Option<Place>, Halt> {
        if let Some(mask) = mask
            && decisive(self.value(mask).at(lane), loc, "the mask of a memory access")? & 1 == 0
        {
            return Ok(None);
        }
        let address = decisive(
            self.value(pointer).at(lane),
            loc,
            "the address of a memory access",
        )?;
        match self.memory.access(address, size) {
            Ok(place) => Ok(Some(place)),
            Err(_) => Err(Halt::Inconclusive {
                what: "the address of a memory access",
                loc,
            }),
        }
    }

    /// What is known of an element of memory.
    fn get(&self, place: Place, size: usize, dtype: Option<DType>) -> Lane {
        let range = place.offset..place.offset + size;
        let states = self
            .memory
            .states(place.storage)
            .get(range.clone())
            .unwrap_or(&[]);
        if states.iter().any(|&state| state != ByteState::Init) {
            return Lane::Poison;
        }
        if let Some(lane) = self.map.get(place.storage, place.offset, size, dtype) {
            return lane;
        }
        let bytes = self.memory.bytes(place.storage).get(range).unwrap_or(&[]);
        let bits = read(bytes, 0, size);
        Lane::Bits(if dtype == Some(DType::I1) {
            u64::from(bits != 0)
        } else {
            bits
        })
    }

    /// Leaves a lane in memory.
    fn put(&mut self, place: Place, size: usize, dtype: Option<DType>, lane: Lane) {
        let range = place.offset..place.offset + size;
        let (bytes, states) = self.memory.parts_mut(place.storage);
        if let (Some(bytes), Some(states)) = (bytes.get_mut(range.clone()), states.get_mut(range)) {
            if let Some(bits) = lane.bits() {
                write(bytes, 0, size, bits);
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

    pub(super) fn load(&mut self, mask: bool, other: bool, step: &Step) -> Result<(), Halt> {
        let out = step.outs[0];
        let layout = self.layout(out);
        let mask_slot = if mask { step.ins.get(1).copied() } else { None };
        let other = if other {
            step.ins.get(1 + usize::from(mask)).copied()
        } else {
            None
        };
        let mut lanes = Vec::with_capacity(layout.lanes);
        for lane in 0..layout.lanes {
            let place = self.place((step.ins[0], mask_slot), lane, layout.size, step.loc)?;
            lanes.push(match place {
                Some(place) => self.get(place, layout.size, layout.elem.num()),
                None => other.map_or(Lane::Poison, |other| self.value(other).at(lane)),
            });
        }
        self.set(out, Lanes::Each(lanes));
        Ok(())
    }

    pub(super) fn store(&mut self, mask: bool, step: &Step) -> Result<(), Halt> {
        let layout = self.layout(step.ins[1]);
        let mask = if mask { step.ins.get(2).copied() } else { None };
        for lane in 0..layout.lanes {
            if let Some(place) = self.place((step.ins[0], mask), lane, layout.size, step.loc)? {
                let value = self.value(step.ins[1]).at(lane);
                self.forget_sums(place, layout.size);
                self.put(place, layout.size, layout.elem.num(), value);
            }
        }
        Ok(())
    }

    pub(super) fn atomic_rmw(&mut self, op: AtomicOp, mask: bool, step: &Step) -> Result<(), Halt> {
        let layout = self.layout(step.ins[1]);
        let dtype = arithmetic(layout.elem);
        let mask = if mask { step.ins.get(2).copied() } else { None };
        let mut lanes = Vec::with_capacity(layout.lanes);
        for lane in 0..layout.lanes {
            let Some(place) = self.place((step.ins[0], mask), lane, layout.size, step.loc)? else {
                lanes.push(Lane::Poison);
                continue;
            };
            let value = self.value(step.ins[1]).at(lane).plain();
            let old = self.get(place, layout.size, layout.elem.num());
            let adds = op == AtomicOp::Add && dtype.is_float();
            if !adds {
                self.forget_sums(place, layout.size);
            }
            let new = match op {
                AtomicOp::Add if adds => {
                    let sum = self.sums.entry((place.storage, place.offset)).or_insert_with(|| {
                        let mut sum = Sum::default();
                        sum.add(flushed(old, dtype), dtype);
                        sum
                    });
                    sum.add(flushed(value, dtype), dtype);
                    flushed(sum.of(dtype), dtype)
                }
                AtomicOp::Add => float::binary(BinaryOp::Add, dtype, old, value),
                AtomicOp::And => float::binary(BinaryOp::And, dtype, old, value),
                AtomicOp::Or => float::binary(BinaryOp::Or, dtype, old, value),
                AtomicOp::Xor => float::binary(BinaryOp::Xor, dtype, old, value),
                AtomicOp::Max => float::binary(BinaryOp::Max, dtype, old, value),
                AtomicOp::Min => float::binary(BinaryOp::Min, dtype, old, value),
                AtomicOp::Xchg => value,
            };
            let new = self.caused(new, step, [old, value].into_iter());
            self.put(place, layout.size, layout.elem.num(), new);
            lanes.push(self.returned(old, layout.elem));
        }
        self.set(step.outs[0], Lanes::Each(lanes));
        Ok(())
    }

    /// Drops the sums of atomic adds that lie where something else is written.
    fn forget_sums(&mut self, place: Place, size: usize) {
        // Elements of one place are of one size.
        let from = (place.storage, (place.offset + 1).saturating_sub(size));
        let to = (place.storage, place.offset + size);
        while let Some((&at, _)) = self.sums.range(from..to).next() {
            self.sums.remove(&at);
        }
    }

    /// What an atomic returns: with other programs about, what was there before is not known.
    fn returned(&self, old: Lane, elem: Elem) -> Lane {
        let alone = self.grid.iter().all(|&programs| programs == 1);
        match old {
            Lane::Poison => old,
            _ if alone => old,
            _ if elem.num().is_some() => Lane::Unknown,
            _ => old,
        }
    }

    pub(super) fn atomic_cas(&mut self, step: &Step) -> Result<(), Halt> {
        let layout = self.layout(step.ins[2]);
        let dtype = layout.elem.num();
        let mut lanes = Vec::with_capacity(layout.lanes);
        for lane in 0..layout.lanes {
            let Some(place) = self.place((step.ins[0], None), lane, layout.size, step.loc)? else {
                continue;
            };
            let (expected, new) = (
                self.value(step.ins[1]).at(lane),
                self.value(step.ins[2]).at(lane).plain(),
            );
            let old = self.get(place, layout.size, dtype);
            self.forget_sums(place, layout.size);
            match (old.bits(), expected.bits()) {
                (Some(old), Some(expected)) if old == expected => self.put(place, layout.size, dtype, new),
                (Some(_), Some(_)) => {}
                _ => self.put(place, layout.size, dtype, old.hull(new, dtype)),
            }
            lanes.push(self.returned(old, layout.elem));
        }
        self.set(step.outs[0], Lanes::Each(lanes));
        Ok(())
    }

    pub(super) fn atomic_poll(&mut self, step: &Step) -> Result<(), Halt> {
        let layout = self.layout(step.ins[1]);
        let alone = self.grid.iter().all(|&programs| programs <= 1);
        let mut lanes = Vec::with_capacity(layout.lanes);
        for lane in 0..layout.lanes {
            let Some(place) = self.place((step.ins[0], None), lane, layout.size, step.loc)? else {
                continue;
            };
            let old = self.get(place, layout.size, layout.elem.num());
            let expected = self.value(step.ins[1]).at(lane);
            lanes.push(match (old.bits(), expected.bits()) {
                _ if old == Lane::Poison || expected == Lane::Poison => Lane::Poison,
                (Some(old), Some(expected)) if old == expected || alone => {
                    Lane::Bits(u64::from(old == expected))
                }
                _ => Lane::Unknown,
            });
        }
        self.set(step.outs[0], Lanes::Each(lanes));
        Ok(())
    }
}
