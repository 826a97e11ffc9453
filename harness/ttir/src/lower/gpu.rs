//! Lowers the GPU dialects (`ttg`, `ttng`). Local memory is a value that writes replace, and that loops and conditions
//! carry. Asynchronous copies complete at once, and waiting for them does nothing, so a missing wait or barrier isn't
//! detected.
//!
//! Unsupported: descriptors that a kernel creates for the TMA unit, warps that run different code, tensor memory, and
//! views of memory that loops carry.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Elem, OpKind, Shape, Type, ValueId};

use super::shape::{int_attr, order};
use super::types::{checked_shape, elem_type};
use super::{Binding, Bundle, Lowered, Lowering, result_type, stop};
use crate::syntax::{self, Operand, Operation};

/// A view of a local memory.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// Index of the memory.
    memory: usize,
    /// The steps from the whole memory to the view.
    steps: Vec<Step>,
}

/// A step from a memory to a part of it.
#[derive(Clone, Debug)]
enum Step {
    /// An index of the first dimension: an `i32` scalar.
    Index(ValueId),
    /// Permuted dimensions.
    Trans(Shape),
    /// The same lanes in another shape.
    Reshape(Shape),
}

impl<'m> Lowering<'m> {
    pub(super) fn lower_gpu(&mut self, op: &'m Operation) -> Lowered<Option<Vec<Bundle>>> {
        let dialects = ["ttg.", "ttng.", "triton_gpu.", "triton_nvidia_gpu."];
        let Some(name) = dialects.iter().find_map(|dialect| op.name.strip_prefix(dialect)) else {
            return Ok(None);
        };
        Ok(Some(match name {
            // The same lanes in other threads.
            "convert_layout" => self.read_values(&op.operands)?,
            "fp4_to_fp" => {
                let [value] = self.single_operands(op)?;
                let Some(wide) = result_type(op)?.elem.num() else {
                    return stop("numbers of four bits as pointers");
                };
                let value = self.unpack_nibbles(value, wide, int_attr(op, "axis")?)?;
                vec![Bundle::from_slice(&[value])]
            }
            "local_alloc" => self.lower_alloc(op)?,
            "local_load" => {
                let view = self.view(op, 0)?;
                vec![Bundle::from_slice(&[self.held_by(&view)])]
            }
            "local_store" => {
                let (value, view) = (self.single_operand(op, 0)?, self.view(op, 1)?);
                self.put(&view, value)?;
                Vec::new()
            }
            "memdesc_trans" | "memdesc_index" | "memdesc_subview" | "memdesc_reshape" => {
                self.lower_view(op, name)?
            }
            "async_copy_global_to_local" => self.lower_async_copy(op)?,
            "async_tma_copy_global_to_local" => self.lower_tma_copy(op)?,
            "async_tma_copy_local_to_global" => {
                let Some(last) = op.operands.len().checked_sub(1) else {
                    return stop("a copy of nothing");
                };
                let view = self.view(op, last)?;
                let value = self.held_by(&view);
                let (_, (pointers, mask)) = self.descriptor_lanes(op, 0)?;
                self.builder
                    .add_effect(OpKind::Store { mask: true }, &[pointers, value, mask]);
                Vec::new()
            }
            "async_tma_reduce" => {
                let Some(last) = op.operands.len().checked_sub(1) else {
                    return stop("a reduction of nothing");
                };
                let view = self.view(op, last)?;
                let value = self.held_by(&view);
                let lanes = self.descriptor_lanes(op, 0)?.1;
                self.reduce_described(op, value, lanes)?;
                Vec::new()
            }
            "warp_group_dot" => self.lower_memory_dot(op)?,
            "warp_group_dot_wait" => return self.lower_passthrough(op).map(Some),
            // Tokens have no parts.
            "async_commit_group" | "async_wait" => vec![Bundle::new()],
            "local_dealloc"
            | "init_barrier"
            | "inval_barrier"
            | "barrier_expect"
            | "wait_barrier"
            | "arrive_barrier"
            | "fence_async_shared"
            | "async_tma_store_wait"
            | "tma_store_wait" => Vec::new(),
            _ => return Ok(None),
        }))
    }

    fn view_of(&self, operand: &Operand) -> Option<View> {
        match self.scope.values.get(&(operand.name.as_str(), operand.nth)) {
            Some(Binding::View(view)) => Some(view.clone()),
            _ => None,
        }
    }

    fn view(&self, op: &Operation, nth: usize) -> Lowered<View> {
        op.operands
            .get(nth)
            .and_then(|operand| self.view_of(operand))
            .map_or_else(
                || stop(format!("`{}` of a value that is not local memory", op.name)),
                Ok,
            )
    }

    /// Binds the result's name to a view. The operation then has no value.
    fn name_view(&mut self, op: &'m Operation, view: View) -> Vec<Bundle> {
        if let Some((name, _)) = op.results.first() {
            self.bind(name, 0, Binding::View(view));
        }
        Vec::new()
    }

    /// `ttg.local_alloc`: memory with a value, or uninitialised.
    fn lower_alloc(&mut self, op: &'m Operation) -> Lowered<Vec<Bundle>> {
        let value = if op.operands.is_empty() {
            let Some(syntax::Type::Memory(shape, element)) = op.result_types().last() else {
                return stop("local memory without a shape");
            };
            let ty = Type::block(elem_type(element)?, checked_shape(shape)?);
            self.push_op(OpKind::Poison, &[], ty)
        } else {
            self.single_operand(op, 0)?
        };
        self.memories.push(value);
        let view = View {
            memory: self.memories.len() - 1,
            steps: Vec::new(),
        };
        Ok(self.name_view(op, view))
    }

    fn lower_view(&mut self, op: &'m Operation, how: &str) -> Lowered<Vec<Bundle>> {
        let mut view = self.view(op, 0)?;
        match how {
            "memdesc_trans" => view.steps.push(Step::Trans(order(op)?)),
            "memdesc_reshape" => match op.result_types().first() {
                Some(syntax::Type::Memory(shape, _)) => view.steps.push(Step::Reshape(checked_shape(shape)?)),
                _ => return stop("`memdesc_reshape` without a shape"),
            },
            "memdesc_index" => view.steps.push(Step::Index(self.single_operand(op, 1)?)),
            // The first offset is the index, and the others are zero.
            _ => {
                let (from, to) = (op.types.first(), op.results_types.first());
                let (Some(syntax::Type::Memory(from, _)), Some(syntax::Type::Memory(to, _))) = (from, to)
                else {
                    return stop("`memdesc_subview` without shapes");
                };
                if from.get(1..) != Some(to) {
                    return stop("`memdesc_subview` of a part of a matrix is not supported yet");
                }
                view.steps.push(Step::Index(self.single_operand(op, 1)?));
            }
        }
        Ok(self.name_view(op, view))
    }

    /// Applies a step to a whole to extract a part.
    fn step(&mut self, step: &Step, whole: ValueId) -> ValueId {
        let ty = self.ty(whole);
        match step {
            Step::Index(at) => {
                let rest: Shape = ty.shape.iter().skip(1).copied().collect();
                let row: Shape = std::iter::once(1).chain(rest.iter().copied()).collect();
                let index = Type::block(Elem::Num(DType::I32), row.clone());
                let index = self.push_op(OpKind::Splat, &[*at], index);
                let picked = self.push_op(
                    OpKind::Gather { axis: 0 },
                    &[whole, index],
                    Type::block(ty.elem, row),
                );
                if rest.is_empty() {
                    return picked;
                }
                self.push_op(
                    OpKind::Reshape { reorder: false },
                    &[picked],
                    Type::block(ty.elem, rest),
                )
            }
            Step::Trans(order) => {
                let shape: Shape = order.iter().filter_map(|&at| ty.shape.get(at).copied()).collect();
                let kind = OpKind::Trans { order: order.clone() };
                self.push_op(kind, &[whole], Type::block(ty.elem, shape))
            }
            Step::Reshape(shape) => {
                let ty = Type::block(ty.elem, shape.clone());
                self.push_op(OpKind::Reshape { reorder: false }, &[whole], ty)
            }
        }
    }

    /// Returns the content of a view.
    fn held_by(&mut self, view: &View) -> ValueId {
        view.steps
            .iter()
            .fold(self.memories[view.memory], |whole, step| self.step(step, whole))
    }

    /// Writes to a view.
    fn put(&mut self, view: &View, value: ValueId) -> Lowered<()> {
        let mut wholes = vec![self.memories[view.memory]];
        for step in &view.steps {
            let whole = wholes[wholes.len() - 1];
            wholes.push(self.step(step, whole));
        }
        let mut value = value;
        for (step, &whole) in view.steps.iter().zip(&wholes).rev() {
            value = self.put_back(step, whole, value)?;
        }
        self.memories[view.memory] = value;
        Ok(())
    }

    /// Replaces a part of a whole.
    fn put_back(&mut self, step: &Step, whole: ValueId, part: ValueId) -> Lowered<ValueId> {
        let ty = self.ty(whole);
        Ok(match step {
            Step::Index(at) => {
                let Some(&count) = ty.shape.first() else {
                    return stop("a part of a scalar");
                };
                let row: Shape = std::iter::once(1)
                    .chain(ty.shape.iter().skip(1).copied())
                    .collect();
                let part = self.push_op(
                    OpKind::Reshape { reorder: false },
                    &[part],
                    Type::block(ty.elem, row),
                );
                let part = self.push_op(OpKind::Broadcast, &[part], ty.clone());
                let range = OpKind::Range {
                    start: 0,
                    end: i32::try_from(count).unwrap_or(i32::MAX),
                };
                let number = Elem::Num(DType::I32);
                let column = Type::block(number, [count].as_slice());
                let places = self.push_op(range, &[], column.clone());
                let at = self.push_op(OpKind::Splat, &[*at], column);
                let mut here = self.compare(CmpPredicate::Eq, places, at);
                let bools = Self::bool_type(&ty);
                let thin: Shape = std::iter::once(count)
                    .chain(ty.shape.iter().skip(1).map(|_| 1))
                    .collect();
                if thin.len() > 1 {
                    let thin = Type::block(bools.elem, thin);
                    here = self.push_op(OpKind::Reshape { reorder: false }, &[here], thin);
                }
                if *self.builder.ty(here) != bools {
                    here = self.push_op(OpKind::Broadcast, &[here], bools);
                }
                self.push_op(OpKind::Select, &[here, part, whole], ty)
            }
            Step::Trans(order) => {
                let mut back: Shape = order.iter().map(|_| 0).collect();
                for (to, &from) in order.iter().enumerate() {
                    match back.get_mut(from) {
                        Some(slot) => *slot = to,
                        None => return stop("an order of other dimensions"),
                    }
                }
                self.push_op(OpKind::Trans { order: back }, &[part], ty)
            }
            Step::Reshape(_) => self.push_op(OpKind::Reshape { reorder: false }, &[part], ty),
        })
    }

    /// `ttg.async_copy_global_to_local %pointers, %memory [mask %mask] [other %other]`.
    fn lower_async_copy(&mut self, op: &Operation) -> Lowered<Vec<Bundle>> {
        let view = self.view(op, 1)?;
        let pointers = self.single_operand(op, 0)?;
        let mut operands = vec![pointers];
        for nth in 2..op.operands.len() {
            operands.push(self.single_operand(op, nth)?);
        }
        let ty = self.ty(pointers);
        let Some(pointee) = ty.elem.pointee() else {
            return stop("a copy from no pointer");
        };
        let kind = OpKind::Load {
            mask: operands.len() > 1,
            has_other: operands.len() > 2,
            volatile: false,
        };
        let value = self.push_op(kind, &operands, ty.with_elem(pointee));
        self.put(&view, value)?;
        Ok(vec![Bundle::new()])
    }

    /// `ttng.async_tma_copy_global_to_local %descriptor[offsets] %memory, %barrier, %predicate`: copies if the
    /// predicate is true.
    fn lower_tma_copy(&mut self, op: &Operation) -> Lowered<Vec<Bundle>> {
        let Some(first) = op.brackets.first().map(|range| range.end) else {
            return stop("a copy without offsets");
        };
        let view = self.view(op, first)?;
        let predicate = self.single_operand(op, op.operands.len().saturating_sub(1))?;
        let (tile, (pointers, mask)) = self.descriptor_lanes(op, 0)?;
        let bools = self.ty(mask);
        let all = self.push_op(OpKind::Splat, &[predicate], bools);
        let inside = self.push_binary(BinaryOp::And, mask, all);
        let value = self.load_tile(&tile, (pointers, inside))?;
        let before = self.held_by(&view);
        let ty = self.ty(before);
        let value = if self.ty(value) == ty {
            value
        } else {
            self.push_op(OpKind::Reshape { reorder: false }, &[value], ty.clone())
        };
        let value = self.push_op(OpKind::Select, &[predicate, value, before], ty);
        self.put(&view, value)?;
        Ok(Vec::new())
    }

    /// `ttng.warp_group_dot %a, %b, %accumulator [, %whether]`: operands may be in local memory.
    fn lower_memory_dot(&mut self, op: &Operation) -> Lowered<Vec<Bundle>> {
        let mut sides = [ValueId(0); 3];
        for (nth, side) in sides.iter_mut().enumerate() {
            let view = op.operands.get(nth).and_then(|operand| self.view_of(operand));
            *side = match view {
                Some(view) => self.held_by(&view),
                None => self.single_operand(op, nth)?,
            };
        }
        if op.operands.len() > 3 {
            // Whether the result is added to the accumulator.
            let used = self.single_operand(op, 3)?;
            let ty = self.ty(sides[2]);
            let zero = self.push_number(0, ty.clone());
            sides[2] = self.push_op(OpKind::Select, &[used, sides[2], zero], ty);
        }
        Ok(vec![Bundle::from_slice(&[self.multiply_operands(op, sides)?])])
    }

    /// `ttng.warp_group_dot_wait`: returns its operands, local memory included.
    fn lower_passthrough(&mut self, op: &'m Operation) -> Lowered<Vec<Bundle>> {
        let names: Vec<(&'m str, usize)> = op
            .results
            .iter()
            .flat_map(|(name, count)| {
                (0..(*count).min(op.operands.len())).map(move |nth| (name.as_str(), nth))
            })
            .collect();
        for (operand, (name, nth)) in op.operands.iter().zip(names) {
            let named = match self.view_of(operand) {
                Some(view) => Binding::View(view),
                None => Binding::Parts(self.bundle(operand)?),
            };
            self.bind(name, nth, named);
        }
        Ok(Vec::new())
    }
}
