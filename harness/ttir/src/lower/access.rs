//! Lowers loads, stores and atomics through pointers, and effects without values: asserts, prints, barriers. Cache
//! hints change no result. See `tiles` for block pointers and descriptors.

use cerith_tile::DType;
use cerith_tile::ir::{AssertedBy, AtomicOp, Elem, MemoryOrder, OpKind, ValueId};
use smallvec::SmallVec;

use super::{Bundle, Lowered, Lowering, stop};
use crate::syntax::{Attr, Operation};

impl<'m> Lowering<'m> {
    pub(super) fn lower_access(&mut self, op: &'m Operation) -> Lowered<Option<Vec<Bundle>>> {
        let value = match op.name.as_str() {
            "tt.addptr" => {
                let operands: [ValueId; 2] = self.single_operands(op)?;
                let ty = self.ty(operands[0]);
                self.push_op(OpKind::AddPtr, &operands, ty)
            }
            "tt.load" if self.is_one(op)? => {
                let volatile = op.find_attr("isVolatile") == Some(&Attr::Bool(true));
                self.lower_load(op, volatile)?
            }
            "tt.store" if self.is_one(op)? => {
                let operands = self.all_operands(op)?;
                let mask = operands.len() == 3;
                self.builder.add_effect(OpKind::Store { mask }, &operands);
                return Ok(Some(Vec::new()));
            }
            "tt.atomic_rmw" => self.lower_atomic(op)?,
            "tt.atomic_cas" => {
                let operands: [ValueId; 3] = self.single_operands(op)?;
                let ty = self.ty(operands[2]);
                let order = find_order(op, 0)?;
                self.push_op(OpKind::AtomicCas { order }, &operands, ty)
            }
            "tt.atomic_load" => {
                let order = find_order(op, 0)?;
                let loaded = self.lower_load(op, true)?;
                if order.acquires() {
                    self.builder.add_effect(OpKind::Acquire, &[]);
                }
                loaded
            }
            "tt.atomic_store" => {
                let operands = self.all_operands(op)?;
                let (order, mask) = (find_order(op, 0)?, operands.len() == 3);
                let Some(&value) = operands.get(1) else {
                    return stop("an atomic store without a value");
                };
                let ty = self.ty(value);
                let op = AtomicOp::Xchg;
                self.push_op(OpKind::AtomicRmw { op, mask, order }, &operands, ty);
                return Ok(Some(Vec::new()));
            }
            "tt.atomic_poll" => {
                let operands = self.all_operands(op)?;
                let timeout = operands.len() == 3;
                let Some(operands) = operands.get(..2) else {
                    return stop("an atomic poll without a value");
                };
                let ty = Self::bool_type(&self.ty(operands[1]));
                self.push_op(OpKind::AtomicPoll { timeout }, operands, ty)
            }
            _ => return self.lower_effect(op),
        };
        Ok(Some(vec![Bundle::from_slice(&[value])]))
    }

    /// Whether the first operand has one part.
    fn is_one(&self, op: &Operation) -> Lowered<bool> {
        match op.operands.first() {
            Some(operand) => Ok(self.bundle(operand)?.len() == 1),
            None => stop(format!("`{}` without operands", op.name)),
        }
    }

    /// Returns all operands, each with one part.
    pub(super) fn all_operands(&self, op: &Operation) -> Lowered<SmallVec<[ValueId; 4]>> {
        (0..op.operands.len())
            .map(|nth| self.single_operand(op, nth))
            .collect()
    }

    fn lower_load(&mut self, op: &Operation, volatile: bool) -> Lowered<ValueId> {
        let operands = self.all_operands(op)?;
        let Some(&pointer) = operands.first() else {
            return stop("a load of nothing");
        };
        let ty = self.ty(pointer);
        let Some(pointee) = ty.elem.pointee() else {
            return stop(format!("a load through {ty}"));
        };
        let kind = OpKind::Load {
            mask: operands.len() > 1,
            has_other: operands.len() > 2,
            volatile,
        };
        Ok(self.push_op(kind, &operands, ty.with_elem(pointee)))
    }

    fn lower_atomic(&mut self, op: &Operation) -> Lowered<ValueId> {
        let operands = self.all_operands(op)?;
        let (kind, is_unsigned) = match op.nth_word(0).unwrap_or_default() {
            "add" | "fadd" => (AtomicOp::Add, false),
            "and" => (AtomicOp::And, false),
            "or" => (AtomicOp::Or, false),
            "xor" => (AtomicOp::Xor, false),
            "max" => (AtomicOp::Max, false),
            "min" => (AtomicOp::Min, false),
            "umax" => (AtomicOp::Max, true),
            "umin" => (AtomicOp::Min, true),
            "exch" => (AtomicOp::Xchg, false),
            other => return stop(format!("the atomic `{other}` is not supported yet")),
        };
        let (&[pointer, value], rest) = operands.split_at(operands.len().min(2)) else {
            return stop("an atomic without a value");
        };
        let order = find_order(op, 1)?;
        self.exchange(kind, is_unsigned, (pointer, value, rest.first().copied()), order)
    }

    /// Emits an atomic whose result has the value's type.
    pub(super) fn exchange(
        &mut self,
        op: AtomicOp,
        is_unsigned: bool,
        (mut pointer, mut value, mask): (ValueId, ValueId, Option<ValueId>),
        order: MemoryOrder,
    ) -> Lowered<ValueId> {
        let given = self.ty(value);
        let bitwise = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
        let Some(mut dtype) = given.elem.num() else {
            return stop("an atomic on pointers");
        };
        if dtype.is_float() && bitwise {
            // On floats it exchanges bits.
            dtype = match dtype.bits() {
                16 => DType::I16,
                32 => DType::I32,
                _ => DType::I64,
            };
            value = self.bitcast(value, Elem::Num(dtype));
        }
        if is_unsigned {
            value = self.as_unsigned(value);
        }
        let elem = self.ty(value).elem;
        pointer = self.bitcast(pointer, elem.pointer());
        let operands: SmallVec<[ValueId; 3]> =
            [Some(pointer), Some(value), mask].into_iter().flatten().collect();
        let kind = OpKind::AtomicRmw {
            op,
            mask: mask.is_some(),
            order,
        };
        let ty = self.ty(value);
        let before = self.push_op(kind, &operands, ty);
        Ok(self.bitcast(before, given.elem))
    }

    /// Lowers operations without a result that access no tensor of the program.
    fn lower_effect(&mut self, op: &'m Operation) -> Lowered<Option<Vec<Bundle>>> {
        match op.name.as_str() {
            "ttg.barrier" | "gpu.barrier" | "tt.debug_barrier" => {
                self.builder.add_effect(OpKind::Barrier, &[]);
            }
            // These synchronise with the previous kernel; launches are sequential here.
            "tt.grid_dependency_wait" | "tt.grid_dependency_launch_dependents" => {}
            "llvm.intr.assume" | "tt.assume" => {
                let [condition] = self.single_operands(op)?;
                self.builder.add_effect(OpKind::Assume, &[condition]);
            }
            "tt.assert" => {
                let [mut condition] = self.single_operands(op)?;
                if self.dtype(condition) != Some(DType::I1) {
                    let zero = self.push_number(0, self.ty(condition));
                    condition = self.compare(cerith_tile::ir::CmpPredicate::Ne, condition, zero);
                }
                let message = op
                    .words
                    .iter()
                    .find_map(Attr::text)
                    .unwrap_or_default()
                    .to_owned();
                self.builder.add_effect(
                    OpKind::Assert {
                        message,
                        mask: false,
                        check: AssertedBy::Kernel,
                    },
                    &[condition],
                );
            }
            "tt.print" => {
                let prefix = op
                    .words
                    .iter()
                    .find_map(Attr::text)
                    .unwrap_or_default()
                    .to_owned();
                let hex = op.find_attr("hex") == Some(&Attr::Bool(true));
                let signs = op.find_attr("isSigned").and_then(Attr::ints).unwrap_or_default();
                let mut operands = self.all_operands(op)?;
                for (nth, operand) in operands.iter_mut().enumerate() {
                    if signs.get(nth) == Some(&0) {
                        *operand = self.as_unsigned(*operand);
                    }
                }
                self.builder.add_effect(OpKind::Print { prefix, hex }, &operands);
            }
            _ => return Ok(None),
        }
        Ok(Some(Vec::new()))
    }
}

/// Reads the memory order and the scope of an atomic, starting at the word `first`. An atomic with the scope of a
/// thread block orders nothing between programs.
fn find_order(op: &Operation, first: usize) -> Lowered<MemoryOrder> {
    let order = match op.nth_word(first) {
        Some("relaxed") => MemoryOrder::Relaxed,
        Some("acquire") => MemoryOrder::Acquire,
        Some("release") => MemoryOrder::Release,
        Some("acq_rel") => MemoryOrder::AcquireRelease,
        other => return stop(format!("the memory order {other:?} is not supported yet")),
    };
    match op.nth_word(first + 1) {
        Some("gpu" | "sys") => Ok(order),
        Some("cta") => Ok(MemoryOrder::Relaxed),
        other => stop(format!("the memory scope {other:?} is not supported yet")),
    }
}
