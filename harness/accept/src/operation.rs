//! Operations that compute or move lanes one by one. See `float` and `library` for their arithmetic.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CastKind, CmpPredicate, Elem, OpKind, Rounding, Type};
use cerith_tile::numeric;

use super::lane::Lane;
use super::lanes::Lanes;
use super::state::{Halt, Machine};
use super::{float, library};
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::movement::{Movement, row_major};
use cerith_interp::outcome::Stop;
use cerith_interp::program::{Slot, Step};

impl Machine<'_> {
    pub(super) fn execute_binary(&mut self, op: BinaryOp, step: &Step) -> Result<(), Halt> {
        let dtype = self.dtype(step.outs[0]);
        self.map_lanes(step.outs[0], &step.ins, |x| {
            float::apply_binary(op, dtype, x[0], x[1])
        });
        if matches!(op, BinaryOp::Add | BinaryOp::Sub) && dtype.is_float() {
            self.narrowed_sum(op, step);
        }
        if op == BinaryOp::Add && dtype.is_float() {
            self.merge(step)?;
        }
        Ok(())
    }

    pub(super) fn execute_plain(&mut self, kind: &OpKind, step: &Step) -> Result<(), Halt> {
        let exact = |bits: u64| Lanes::Uniform(Lane::Bits(bits));
        match kind {
            OpKind::Constant(bits) => self.set(step.outs[0], exact(*bits)),
            OpKind::ProgramId(axis) => {
                let id = self.plain.id.get(*axis as usize).copied().unwrap_or(0);
                self.set(step.outs[0], exact(u64::from(id)));
            }
            OpKind::NumPrograms(axis) => {
                let count = self.grid.get(*axis as usize).copied().unwrap_or(1);
                self.set(step.outs[0], exact(u64::from(count)));
            }
            OpKind::Poison => self.set(step.outs[0], Lanes::Uniform(Lane::Poison)),
            OpKind::Barrier
            | OpKind::Acquire
            | OpKind::Print { .. }
            | OpKind::Assume
            | OpKind::Demand(_)
            | OpKind::Assert { .. } => {}
            OpKind::Range { start, .. } => {
                let lanes = self.layout(step.outs[0]).lanes as i64;
                let value = |lane: i64| Lane::Bits(u64::from((i64::from(*start) + lane) as u32));
                self.set(step.outs[0], Lanes::Each((0..lanes).map(value).collect()));
            }
            OpKind::Ternary(op) => {
                let dtype = self.dtype(step.outs[0]);
                self.map_lanes(step.outs[0], &step.ins, |x| {
                    float::apply_ternary(*op, dtype, x[0], x[1], x[2])
                });
            }
            OpKind::Library(symbol) => {
                self.map_lanes(step.outs[0], &step.ins, |x| library::apply_library(symbol, x));
            }
            OpKind::Foreign(foreign) => {
                let number = |&slot: &Slot| self.layout(slot).elem.num();
                let from: smallvec::SmallVec<[Option<DType>; 3]> = step.ins.iter().map(number).collect();
                let to = number(&step.outs[0]);
                self.map_lanes(step.outs[0], &step.ins, |x| {
                    library::apply_foreign(foreign, x, &from, to)
                });
            }
            OpKind::Compare(predicate) => self.compare(*predicate, step),
            OpKind::Select => {
                let dtype = self.layout(step.outs[0]).elem.num();
                let sides = self.map.sides;
                self.map_lanes(step.outs[0], &step.ins, |x| {
                    float::select([x[0], x[1], x[2]], dtype, sides)
                });
            }
            OpKind::Cast { kind, rounding } => self.cast(*kind, *rounding, step),
            OpKind::AddPtr => self.add_ptr(step),
            OpKind::Splat => {
                let lane = self.value(step.ins[0]).lane_at(0);
                self.set(step.outs[0], Lanes::Uniform(lane));
            }
            OpKind::Reshape { .. } | OpKind::Hint { .. } => {
                let value = self.value(step.ins[0]).clone();
                self.set(step.outs[0], value);
            }
            OpKind::Broadcast | OpKind::Trans { .. } | OpKind::Join | OpKind::Cat { .. } | OpKind::Split => {
                self.execute_movement(kind, step);
            }
            OpKind::Gather { axis } => self.gather(*axis, step)?,
            OpKind::Load {
                mask,
                has_other: other,
                volatile: _,
            } => self.load(*mask, *other, step),
            OpKind::Store { mask } => self.store(*mask, step),
            OpKind::AtomicRmw { op, mask, .. } => self.atomic_rmw(*op, *mask, step),
            OpKind::AtomicCas { .. } => self.atomic_cas(step),
            OpKind::AtomicPoll { .. } => self.atomic_poll(step),
            OpKind::Dot {
                precision,
                max_imprecise,
            } => self.dot(*precision, *max_imprecise, step)?,
            OpKind::Histogram { mask } => self.histogram(*mask, step),
            OpKind::Unsupported(construct) => {
                return Err(Stop::Unsupported {
                    construct: construct.clone(),
                    loc: step.loc,
                }
                .into());
            }
            OpKind::Yield
            | OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::For { .. }
            | OpKind::If { .. }
            | OpKind::While { .. }
            | OpKind::Reduce { .. }
            | OpKind::Scan { .. } => return Err(Stop::malformed("an operation out of place").into()),
        }
        Ok(())
    }

    fn compare(&mut self, predicate: CmpPredicate, step: &Step) {
        let dtype = self.dtype(step.ins[0]);
        self.map_lanes(step.outs[0], &step.ins, |x| {
            float::compare(predicate, dtype, x[0], x[1])
        });
    }

    fn cast(&mut self, kind: CastKind, rounding: Rounding, step: &Step) {
        let (from, to) = (self.layout(step.ins[0]).elem, self.layout(step.outs[0]).elem);
        let bits = takes_bits(kind, from, to);
        self.map_lanes(step.outs[0], &step.ins, |x| {
            cast_lane(kind, rounding, from, to, x[0])
        });
        if !bits {
            self.keep_narrow(step);
            if rounding == Rounding::NearestEven {
                self.narrowed_cast(step);
            }
        }
    }

    fn add_ptr(&mut self, step: &Step) {
        let layout = self.layout(step.outs[0]);
        let dtype = self.dtype(step.ins[1]);
        let size = layout.elem.pointee().map_or(1, Elem::size) as u64;
        self.map_lanes(step.outs[0], &step.ins, |x| match (x[0].bits(), x[1].bits()) {
            (Some(pointer), Some(offset)) => {
                let offset = numeric::decode_int(dtype, offset) as u64;
                Lane::Bits(pointer.wrapping_add(offset.wrapping_mul(size)))
            }
            _ if x.contains(&Lane::Poison) => Lane::Poison,
            _ => Lane::Unknown,
        });
    }

    fn execute_movement(&mut self, kind: &OpKind, step: &Step) {
        let count = self.layout(step.ins[0]).lanes;
        if let Lanes::Uniform(all) = *self.value(step.ins[0])
            && !matches!(kind, OpKind::Join | OpKind::Cat { .. })
        {
            for &out in &step.outs {
                self.set(out, Lanes::Uniform(all));
            }
            return;
        }
        match kind {
            OpKind::Join | OpKind::Cat { .. } => {
                let from = self.value(step.ins[0]).to_vec(count);
                let other = self.value(step.ins[1]).to_vec(count);
                let both = if matches!(kind, OpKind::Join) {
                    from.into_iter().zip(other).flat_map(|(x, y)| [x, y]).collect()
                } else {
                    from.into_iter().chain(other).collect()
                };
                self.set(step.outs[0], Lanes::Each(both));
            }
            OpKind::Split => {
                let from = self.value(step.ins[0]).to_vec(count);
                for (nth, &out) in step.outs.iter().take(2).enumerate() {
                    let half = from.iter().skip(nth).step_by(2).copied().collect();
                    self.set(out, Lanes::Each(half));
                }
            }
            _ => {
                let movement = movement_of(kind, self.ty(step.ins[0]), self.ty(step.outs[0]));
                let lanes = self.layout(step.outs[0]).lanes;
                let moved = if let Lanes::Wide(wide) = self.value(step.ins[0]) {
                    Lanes::Wide(Rc::new(wide.move_lanes(&movement, lanes)))
                } else {
                    let from = self.value(step.ins[0]).to_vec(count);
                    let mut to = vec![Lane::Unknown; lanes];
                    movement.copy_elements(&from, &mut to);
                    Lanes::Each(to)
                };
                self.set(step.outs[0], moved);
            }
        }
    }

    fn gather(&mut self, axis: usize, step: &Step) -> Result<(), Halt> {
        let (a, i, out) = (step.ins[0], step.ins[1], step.outs[0]);
        let (from, shape) = (&self.ty(a).shape, &self.ty(out).shape);
        let (strides, own) = (row_major(from), row_major(shape));
        let extent = from.get(axis).copied().ok_or(Stop::malformed("a gather"))?;
        let dtype = self.dtype(i);
        let mut lanes = Vec::with_capacity(self.layout(out).lanes);
        for lane in 0..self.layout(out).lanes {
            let index = self
                .value(i)
                .lane_at(lane)
                .bits()
                .map(|bits| numeric::decode_int(dtype, bits));
            let index = index
                .and_then(|index| usize::try_from(index).ok())
                .filter(|&index| index < extent);
            lanes.push(index.map_or(Lane::Unknown, |index| {
                let place = strides.iter().zip(&own).zip(shape).enumerate();
                let place = place.map(|(d, ((&stride, &own), &extent))| {
                    stride
                        * if d == axis {
                            index
                        } else {
                            lane / own % extent.max(1)
                        }
                });
                self.value(a).lane_at(place.sum())
            }));
        }
        self.set(out, Lanes::Each(lanes));
        Ok(())
    }
}

/// Whether a cast keeps the bits.
fn takes_bits(kind: CastKind, from: Elem, to: Elem) -> bool {
    kind == CastKind::Bits || from.is_ptr() || to.is_ptr()
}

/// Casts a lane.
pub(super) fn cast_lane(kind: CastKind, rounding: Rounding, from: Elem, to: Elem, x: Lane) -> Lane {
    match x.plain() {
        _ if !takes_bits(kind, from, to) => float::cast(compute_dtype(from), compute_dtype(to), rounding, x),
        Lane::Within { .. } | Lane::Apart { .. } if from != to => Lane::Unknown,
        // The NaN's payload is unspecified.
        Lane::Bits(bits) if from != to && from.num().is_some_and(|from| numeric::is_nan(from, bits)) => {
            Lane::Unknown
        }
        lane => lane,
    }
}

/// The origins of the lanes of a transposed or broadcast block.
pub(super) fn movement_of(kind: &OpKind, source: &Type, target: &Type) -> Movement {
    let source = &source.shape;
    let mut strides = row_major(source);
    if let OpKind::Trans { order } = kind {
        let pick = |from: &[usize]| order.iter().map(|&d| from.get(d).copied().unwrap_or(1)).collect();
        return Movement {
            shape: pick(source),
            strides: pick(&strides),
            offset: 0,
        };
    }
    for (stride, &extent) in strides.iter_mut().zip(source) {
        *stride *= usize::from(extent != 1);
    }
    Movement {
        shape: target.shape.as_slice().into(),
        strides,
        offset: 0,
    }
}
