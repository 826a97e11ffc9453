//! Operations that move lanes and compute nothing. Poison moves with its lane.

use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{Shape, Type};

use crate::affine::RANK;
use crate::checks::promise;
use crate::elementwise::{compute_dtype, remap_rule};
use crate::machine::Machine;
use crate::movement::{Movement, permute_dimensions, row_major, same_extents};
use crate::outcome::Stop;
use crate::program::{Slot, Step};
use crate::value::{Buf, Poison, Repr, Value, read};

impl<'a> Machine<'a> {
    pub(crate) fn ty(&self, slot: Slot) -> &'a Type {
        &self.program.function.values[slot as usize].ty
    }

    /// A slot's lanes, moved.
    pub(crate) fn move_lanes(
        &mut self,
        slot: Slot,
        movement: &Movement,
        lanes: usize,
    ) -> Result<Value, Stop> {
        let size = self.layout(slot).size;
        self.write_out(slot)?;
        let pool = &mut self.state.pool;
        let value = &self.state.slots[slot as usize];
        let poison = match &value.poison {
            Poison::None => Poison::None,
            Poison::All(mark) => Poison::All(*mark),
            Poison::Lanes(from) => {
                let mut to = pool.take(lanes)?;
                movement.copy(1, from, &mut to);
                Poison::Lanes(to)
            }
        };
        if let Repr::Uniform(bits) = value.repr {
            return Ok(Value::uniform(bits).with_poison(poison));
        }
        let mut to = pool.take(lanes * size)?;
        movement.copy(size, value.lanes().unwrap_or(&[]), &mut to);
        Ok(Value::dense(to).with_poison(poison))
    }

    pub(crate) fn splat(&mut self, step: &Step) {
        let value = self.value(step.ins[0]);
        let bits = value.bits(0, &self.layout(step.ins[0]));
        if value.poison.is_poison(0) {
            let poison = Poison::from_mark(value.poison.mark(0));
            self.set(step.outs[0], Value::uniform(0).with_poison(poison));
        } else {
            self.set_rule(step.outs[0], Repr::Uniform(bits));
        }
    }

    /// The lanes of `a` unchanged if a rule applies, otherwise moved.
    fn remap(
        &mut self,
        step: &Step,
        from: [Option<usize>; RANK],
        movement: impl FnOnce(&Self) -> Movement,
    ) -> Result<(), Stop> {
        let (a, out) = (step.ins[0], step.outs[0]);
        let (source, layout) = (self.layout(a), self.layout(out));
        let value = self.value(a);
        if value.poison.is_none()
            && source.ruled
            && layout.ruled
            && let Some(repr) = remap_rule(value.repr, from, &layout)
        {
            self.set_rule(out, repr);
            return Ok(());
        }
        let movement = movement(self);
        let value = self.move_lanes(a, &movement, layout.lanes)?;
        self.set_lanes(out, value);
        Ok(())
    }

    pub(crate) fn broadcast(&mut self, step: &Step) -> Result<(), Stop> {
        let (a, out) = (step.ins[0], step.outs[0]);
        let extents = self.layout(a).extents;
        let mut from = [None; RANK];
        for (d, (to, &extent)) in from.iter_mut().zip(&extents).enumerate() {
            *to = (extent != 1).then_some(d);
        }
        self.remap(step, from, |machine| {
            let (source, target) = (&machine.ty(a).shape, &machine.ty(out).shape);
            let mut strides = row_major(source);
            for (stride, &extent) in strides.iter_mut().zip(source) {
                if extent == 1 {
                    *stride = 0;
                }
            }
            Movement {
                shape: target.as_slice().into(),
                strides,
                offset: 0,
            }
        })
    }

    pub(crate) fn reshape(&mut self, step: &Step) -> Result<(), Stop> {
        let (a, out) = (step.ins[0], step.outs[0]);
        let (source, layout) = (self.layout(a), self.layout(out));
        let value = self.value(a);
        if !matches!(value.repr, Repr::Dense)
            && value.poison.is_none()
            && let Some(from) = same_extents(&source, &layout)
            && let Some(repr) = remap_rule(value.repr, from, &layout)
        {
            self.set_rule(out, repr);
            return Ok(());
        }
        self.write_out(a)?;
        // The operand's buffers become the result's where this is their last use.
        let value = if step.frees.contains(&a) {
            let mut value = std::mem::take(&mut self.state.slots[a as usize]);
            if !matches!(value.repr, Repr::Uniform(_)) {
                value.repr = Repr::Dense;
            }
            value
        } else {
            let mut value = self.copy(a)?;
            if matches!(value.repr, Repr::Affine(_) | Repr::Mask(_)) {
                value.buf = Some(self.copy_lanes(a)?);
                value.repr = Repr::Dense;
            }
            value
        };
        self.set_lanes(out, value);
        Ok(())
    }

    pub(crate) fn trans(&mut self, order: &Shape, step: &Step) -> Result<(), Stop> {
        let a = step.ins[0];
        self.remap(step, permute_dimensions(order), |machine| {
            let source = &machine.ty(a).shape;
            let strides = row_major(source);
            let pick = |from: &[usize]| order.iter().map(|&d| from.get(d).copied().unwrap_or(1)).collect();
            Movement {
                shape: pick(source),
                strides: pick(&strides),
                offset: 0,
            }
        })
    }

    /// Interleaves blocks: `place` returns, for each operand and lane, the lane of the result.
    fn interleave_blocks(&mut self, step: &Step, place: impl Fn(usize, usize) -> usize) -> Result<(), Stop> {
        let (a, b, out) = (step.ins[0], step.ins[1], step.outs[0]);
        let (layout, lanes) = (self.layout(out), self.layout(a).lanes);
        let size = layout.size;
        let (x, y) = (self.copy_lanes(a)?, self.copy_lanes(b)?);
        let mut buf = self.state.pool.take(layout.lanes * size)?;
        for (nth, from) in [&x, &y].into_iter().enumerate() {
            for (lane, bytes) in from.chunks_exact(size).enumerate() {
                let at = place(lane, nth) * size;
                if let Some(to) = buf.get_mut(at..at + size) {
                    to.copy_from_slice(bytes);
                }
            }
        }
        self.state.pool.give(x);
        self.state.pool.give(y);
        let clean = self.value(a).poison.is_none() && self.value(b).poison.is_none();
        let poison = if clean {
            Poison::None
        } else {
            let mut marks = self.state.pool.zeros(layout.lanes)?;
            for (nth, slot) in [a, b].into_iter().enumerate() {
                for lane in 0..lanes {
                    if let Some(to) = marks.get_mut(place(lane, nth)) {
                        *to = self.value(slot).poison.mark(lane);
                    }
                }
            }
            Poison::Lanes(marks)
        };
        self.set_lanes(out, Value::dense(buf).with_poison(poison));
        Ok(())
    }

    pub(crate) fn join(&mut self, step: &Step) -> Result<(), Stop> {
        let flip = usize::from(is_planted(Fault::JoinTakesRightFirst));
        self.interleave_blocks(step, |lane, nth| lane * 2 + (nth ^ flip))
    }

    pub(crate) fn cat(&mut self, step: &Step) -> Result<(), Stop> {
        let lanes = self.layout(step.ins[0]).lanes;
        let flip = usize::from(is_planted(Fault::CatTakesRightFirst));
        self.interleave_blocks(step, |lane, nth| (nth ^ flip) * lanes + lane)
    }

    pub(crate) fn split(&mut self, step: &Step) -> Result<(), Stop> {
        let a = step.ins[0];
        for (nth, &out) in step.outs.iter().take(2).enumerate() {
            let lanes = self.layout(out).lanes;
            let movement = Movement {
                shape: smallvec::smallvec![lanes],
                strides: smallvec::smallvec![2],
                offset: nth,
            };
            let value = self.move_lanes(a, &movement, lanes)?;
            self.set_lanes(out, value);
        }
        Ok(())
    }

    pub(crate) fn gather(&mut self, axis: usize, step: &Step) -> Result<(), Stop> {
        let (a, i, out) = (step.ins[0], step.ins[1], step.outs[0]);
        let (source, indices) = (self.layout(a), self.layout(i));
        let layout = self.layout(out);
        let dtype = compute_dtype(indices.elem);
        let from = &self.ty(a).shape;
        let shape = &self.ty(out).shape;
        let square = from.len() == 2 && from[0] == from[1];
        let axis = if square && is_planted(Fault::GatherTakesRows) {
            1
        } else {
            axis
        };
        let extent = from.get(axis).copied().ok_or(Stop::malformed("a gather"))?;
        let (strides, own) = (row_major(from), row_major(shape));
        self.write_out(a)?;
        self.write_out(i)?;
        let size = layout.size;
        let mut buf: Buf = self.state.pool.take(layout.lanes * size)?;
        let mut marks = None;
        for lane in 0..layout.lanes {
            let index = self.value(i);
            if index.poison.is_poison(lane) {
                let site = self.site(step.loc);
                return Err(self.trap_undefined(
                    site,
                    Some(lane),
                    index.poison.mark(lane),
                    "the index of a gather",
                ));
            }
            let at = cerith_tile::numeric::decode_int(dtype, index.bits(lane, &indices));
            let Some(at) = usize::try_from(at).ok().filter(|&at| at < extent) else {
                return Err(promise::index(self.site(step.loc), lane, at as i64, extent));
            };
            let mut place = 0;
            for (d, ((&stride, &own), &extent)) in strides.iter().zip(&own).zip(shape).enumerate() {
                place += stride * if d == axis { at } else { lane / own % extent.max(1) };
            }
            let value = &self.state.slots[a as usize];
            let bits = match value.repr {
                Repr::Uniform(bits) => bits,
                _ => read(value.lanes().unwrap_or(&[]), place.min(source.lanes), size),
            };
            if value.poison.is_poison(place) {
                if marks.is_none() {
                    marks = Some(self.state.pool.zeros(layout.lanes)?);
                }
                if let Some(to) = marks.as_mut().and_then(|marks| marks.get_mut(lane)) {
                    *to = value.poison.mark(place);
                }
            }
            crate::value::write(&mut buf, lane, size, bits);
        }
        let poison = marks.map_or(Poison::None, Poison::Lanes);
        self.set_lanes(out, Value::dense(buf).with_poison(poison));
        Ok(())
    }
}
