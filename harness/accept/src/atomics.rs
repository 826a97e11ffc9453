//! Atomics on lanes that need not be exact.
//!
//! Floats that are added up are bounded in every order, as the elements of a reduction are. Integers are exact in memory, as
//! long as one operation is done at an address, and its order does not matter. If programs or lanes meet, the returned value is a
//! guess, and so is the result of an exchange, or of a second kind of operation: see [`super::doubt`]. The addresses where they
//! meet are known after the launch has run once; if that matters, it runs a second time.
//!
//! An order of whole programs is not every order: two programs may run side by side. So a value computed from the
//! result of an atomic is never exact; only control flow is, if the orders agree on the memory that it leaves.
//! With many programs, not every order is tried. Then one element on which the orders disagree makes its whole storage unknown.

use cerith_memory::StorageByte;
use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, BinaryOp};

use super::float;
use super::interval::Interval;
use super::lane::{Lane, map_guesses, merge_followed};
use super::lanes::Lanes;
use super::precision::power_of_two;
use super::state::Machine;
use super::sum::Sum;
use super::touched::AccessKind;
use super::transfer::Reach;
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::program::Step;

/// A lane of an atomic sum, whose operands and result a GPU may make zeros of where they are subnormal: `atom.add.f32`
/// does so in global memory (PTX ISA, `atom`; seen on an H200 with Triton 3.9.0).
fn flush_subnormals(lane: Lane, dtype: DType) -> Lane {
    const SMALLEST: f64 = power_of_two(-126);
    let interval = lane.to_interval(dtype);
    let subnormal = interval.low < SMALLEST && interval.high > -SMALLEST && interval.magnitude() > 0.0;
    if dtype != DType::F32 || lane == Lane::Poison || !subnormal {
        return lane;
    }
    Interval {
        low: interval.low.min(0.0),
        high: interval.high.max(0.0),
        nan: interval.nan,
    }
    .to_lane(dtype)
}

impl Machine<'_> {
    /// Stores the possible results of an atomic.
    fn leave(
        &mut self,
        reach: Reach,
        kind: AccessKind,
        (old, new): (Lane, Lane),
        size: usize,
        dtype: Option<DType>,
    ) {
        let (place, new) = match reach {
            Reach::At(place) => (place, new),
            Reach::Maybe(place, done) => (place, merge_followed(done, new, old, dtype, self.map.sides)),
            Reach::Off | Reach::Anywhere => return,
        };
        let new = if self.touched.is_mixed(place, kind) {
            Lane::Unknown.or_guess(new)
        } else {
            new
        };
        self.put(place, size, dtype, new);
    }

    /// The value that an atomic returns. If others access the address, it depends on their order.
    fn guess_returned(&self, place: StorageByte, old: Lane) -> Lane {
        if old != Lane::Poison && self.touched.is_met(place) {
            return Lane::Unknown.or_guess(old);
        }
        old
    }

    pub(super) fn atomic_rmw(&mut self, op: AtomicOp, mask: bool, step: &Step) {
        let layout = self.layout(step.ins[1]);
        let (dtype, seen) = (compute_dtype(layout.elem), layout.elem.num());
        let mask = if mask { step.ins.get(2).copied() } else { None };
        let mut lanes = Vec::with_capacity(layout.lanes);
        self.touched.access += 1;
        for lane in 0..layout.lanes {
            let reach = self.place((step.ins[0], mask), lane, layout.size);
            let (Reach::At(place) | Reach::Maybe(place, _)) = reach else {
                if matches!(reach, Reach::Anywhere) {
                    self.doubt_behind(step.ins[0]);
                }
                lanes.push(if matches!(reach, Reach::Off) {
                    Lane::Poison
                } else {
                    Lane::Unknown
                });
                continue;
            };
            let kind = AccessKind::Rmw(op);
            self.touched.touch(place, kind);
            let value = self.value(step.ins[1]).lane_at(lane).plain();
            let old = self.get(place, layout.size, seen);
            let adds = op == AtomicOp::Add && dtype.is_float();
            // An atomic that may not run is not a term of a sum.
            let sure = matches!(reach, Reach::At(_)) && self.trying == 0;
            if !(adds && sure) {
                self.forget_sums(place, layout.size);
            }
            let function = match op {
                AtomicOp::Add if adds && !sure => {
                    let new = Lane::Unknown;
                    self.leave(reach, kind, (old, new), layout.size, seen);
                    lanes.push(Lane::Unknown);
                    continue;
                }
                AtomicOp::Add if adds => None,
                AtomicOp::Add => Some(BinaryOp::Add),
                AtomicOp::And => Some(BinaryOp::And),
                AtomicOp::Or => Some(BinaryOp::Or),
                AtomicOp::Xor => Some(BinaryOp::Xor),
                AtomicOp::Max => Some(BinaryOp::Max),
                AtomicOp::Min => Some(BinaryOp::Min),
                AtomicOp::Xchg => None,
            };
            let new = match function {
                Some(function) => map_guesses(&[old, value], &|x: &[Lane]| {
                    float::apply_binary(function, dtype, x[0], x[1]).plain()
                }),
                None if adds => {
                    let sum = self.sums.entry((place.storage, place.offset)).or_insert_with(|| {
                        let mut sum = Sum::default();
                        sum.add(flush_subnormals(old, dtype), dtype);
                        sum
                    });
                    sum.add(flush_subnormals(value, dtype), dtype);
                    flush_subnormals(sum.to_lane(dtype), dtype)
                }
                None => value,
            };
            let new = self.assign_cause(new, step, [old, value].into_iter());
            self.leave(reach, kind, (old, new), layout.size, seen);
            lanes.push(self.guess_returned(place, old));
        }
        self.set(step.outs[0], Lanes::Each(lanes));
    }

    pub(super) fn atomic_cas(&mut self, step: &Step) {
        let layout = self.layout(step.ins[2]);
        let dtype = layout.elem.num();
        let mut lanes = Vec::with_capacity(layout.lanes);
        self.touched.access += 1;
        for lane in 0..layout.lanes {
            let reach = self.place((step.ins[0], None), lane, layout.size);
            let Reach::At(place) = reach else {
                self.doubt_behind(step.ins[0]);
                lanes.push(Lane::Unknown);
                continue;
            };
            self.touched.touch(place, AccessKind::Swap);
            let (expected, new) = (
                self.value(step.ins[1]).lane_at(lane),
                self.value(step.ins[2]).lane_at(lane).plain(),
            );
            let old = self.get(place, layout.size, dtype);
            self.forget_sums(place, layout.size);
            let left = match (old.bits(), expected.bits()) {
                (Some(old), Some(expected)) if old == expected => new,
                (Some(_), Some(_)) => old,
                _ => {
                    let swaps = old
                        .followed()
                        .zip(expected.followed())
                        .map(|(old, expected)| old == expected);
                    merge_followed(swaps, new, old, dtype, self.map.sides)
                }
            };
            self.leave(reach, AccessKind::Swap, (old, left), layout.size, dtype);
            lanes.push(self.guess_returned(place, old));
        }
        self.set(step.outs[0], Lanes::Each(lanes));
    }

    pub(super) fn atomic_poll(&mut self, step: &Step) {
        let layout = self.layout(step.ins[1]);
        let alone = self.grid.iter().all(|&programs| programs <= 1);
        let mut lanes = Vec::with_capacity(layout.lanes);
        self.touched.access += 1;
        for lane in 0..layout.lanes {
            let Reach::At(place) = self.place((step.ins[0], None), lane, layout.size) else {
                lanes.push(Lane::Unknown);
                continue;
            };
            let old = self.get(place, layout.size, layout.elem.num());
            let expected = self.value(step.ins[1]).lane_at(lane);
            lanes.push(match (old.followed(), expected.followed()) {
                _ if old == Lane::Poison || expected == Lane::Poison => Lane::Poison,
                // It waits until that is so.
                (Some(old), Some(expected)) if old == expected => Lane::Bits(1),
                (Some(_), Some(_)) if alone => Lane::Bits(0),
                (Some(_), Some(_)) => Lane::Guess(0),
                _ => Lane::Unknown,
            });
        }
        self.set(step.outs[0], Lanes::Each(lanes));
    }
}
