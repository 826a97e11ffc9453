//! Lowers block pointers and tensor descriptors to pointers and masks, as Triton rewrites them for hardware without a
//! tensor memory accelerator (`RewriteTensorPointer.cpp`, `RewriteTensorDescriptorToPointer.cpp`). The reference checks
//! the accelerator's alignment rules. Unsupported: `im2col`.

use cerith_tile::DType;
use cerith_tile::ir::{
    AtomicOp, BinaryOp, CmpPredicate, Elem, MemoryOrder, OpKind, Rounding, Shape, Type, ValueId,
};
use cerith_tile::numeric;

use super::types::{FLAGS, checked_shape};
use super::{Bundle, Lowered, Lowering, result_type, stop};
use crate::syntax::{self, Attr, Operation};

/// A block of a strided tensor.
pub(super) struct Tile {
    base: ValueId,
    /// Extents of the tensor, `i64`.
    shape: Bundle,
    /// Its strides in elements, `i64`.
    strides: Bundle,
    /// Extents of the block.
    block: Shape,
    /// The remaining parts: offsets of a block pointer, flags of a descriptor.
    trailing: Bundle,
}

/// The index of each lane along a dimension (`i64`, one dimension), and whether it is checked against the extent.
struct AxisLanes {
    positions: ValueId,
    checked: bool,
}

impl<'m> Lowering<'m> {
    pub(super) fn lower_tiles(&mut self, op: &'m Operation) -> Lowered<Option<Vec<Bundle>>> {
        Ok(Some(match op.name.as_str() {
            "tt.make_tensor_ptr" => vec![self.make_tile(op, 3)?],
            "tt.make_tensor_descriptor" | "tt.make_tensor_desc" => vec![self.make_tile(op, 2)?],
            "tt.advance" => vec![self.advance_tile(op)?],
            "tt.load" => vec![Bundle::from_slice(&[self.load_block(op)?])],
            "tt.store" => {
                self.store_block(op)?;
                Vec::new()
            }
            "tt.descriptor_load" | "tt.experimental_descriptor_load" => {
                let (tile, lanes) = self.descriptor_lanes(op, 0)?;
                vec![Bundle::from_slice(&[self.load_described(op, &tile, lanes)?])]
            }
            "tt.descriptor_gather" | "tt.experimental_descriptor_gather" => {
                let (tile, lanes) = self.row_lanes(op)?;
                vec![Bundle::from_slice(&[self.load_described(op, &tile, lanes)?])]
            }
            "tt.descriptor_store" | "tt.experimental_descriptor_store" => {
                let (tile, lanes) = self.descriptor_lanes(op, 0)?;
                self.store_described(op, &tile, lanes)?;
                Vec::new()
            }
            "tt.descriptor_scatter" | "tt.experimental_descriptor_scatter" => {
                let (tile, lanes) = self.row_lanes(op)?;
                self.store_described(op, &tile, lanes)?;
                Vec::new()
            }
            "tt.descriptor_reduce" => {
                let lanes = self.descriptor_lanes(op, 0)?.1;
                let value = self.stored_value(op, lanes.0)?;
                self.reduce_described(op, value, lanes)?;
                Vec::new()
            }
            _ => return Ok(None),
        }))
    }

    /// Lowers `base, [extents], [strides]` and, for a block pointer, `[offsets]`.
    fn make_tile(&mut self, op: &Operation, lists: usize) -> Lowered<Bundle> {
        let base = self.single_operand(op, 0)?;
        if op.brackets.len() != lists {
            return stop(format!("`{}` with {} lists", op.name, op.brackets.len()));
        }
        let mut parts = Bundle::from_slice(&[base]);
        for (nth, range) in op.brackets.iter().enumerate() {
            for at in range.clone() {
                let value = self.single_operand(op, at)?;
                parts.push(if nth < 2 { self.widen_index(value) } else { value });
            }
        }
        if lists == 2 {
            let nan = match op.find_attr("padding") {
                None => false,
                Some(Attr::Int(number)) => *number == 2,
                Some(other) => match other.text() {
                    Some(word) => word.contains("nan"),
                    None => return stop(format!("the padding {other:?} is not supported yet")),
                },
            };
            let bool = Type::num(DType::I1);
            parts.push(self.push_number(i64::from(nan), bool.clone()));
            parts.push(self.push_number(0, bool));
        }
        Ok(parts)
    }

    /// Lowers `tt.advance`, which moves the offsets.
    fn advance_tile(&mut self, op: &Operation) -> Lowered<Bundle> {
        let Some(operand) = op.operands.first() else {
            return stop("`tt.advance` of nothing");
        };
        let mut parts = self.bundle(operand)?;
        let rank = (parts.len() - 1) / 3;
        for nth in 0..rank {
            let delta = self.single_operand(op, nth + 1)?;
            let at = parts.len() - rank + nth;
            parts[at] = self.push_binary(BinaryOp::Add, parts[at], delta);
        }
        Ok(parts)
    }

    /// Splits the first operand into its parts.
    fn read_tile(&self, op: &Operation, block: Shape, is_pointer: bool) -> Lowered<Tile> {
        let Some(operand) = op.operands.first() else {
            return stop(format!("`{}` of nothing", op.name));
        };
        let parts = self.bundle(operand)?;
        let rank = if is_pointer {
            parts.len().saturating_sub(1) / 3
        } else {
            parts.len().saturating_sub(1 + FLAGS) / 2
        };
        if rank == 0 || rank != block.len() || parts.len() < 1 + 2 * rank {
            return stop(format!("`{}` of a tile with {} parts", op.name, parts.len()));
        }
        Ok(Tile {
            base: parts[0],
            shape: parts[1..=rank].into(),
            strides: parts[1 + rank..=2 * rank].into(),
            trailing: parts[1 + 2 * rank..].into(),
            block,
        })
    }

    /// Emits consecutive `i64` numbers from `first`.
    fn make_run(&mut self, first: ValueId, extent: usize) -> ValueId {
        let shape: Shape = smallvec::smallvec![extent];
        let range = OpKind::Range {
            start: 0,
            end: i32::try_from(extent).unwrap_or(i32::MAX),
        };
        let lanes = self.push_op(range, &[], Type::block(Elem::Num(DType::I32), shape.clone()));
        let lanes = self.widen_index(lanes);
        let first = self.push_op(OpKind::Splat, &[first], Type::block(Elem::Num(DType::I64), shape));
        self.push_binary(BinaryOp::Add, first, lanes)
    }

    /// Broadcasts a block of one dimension along dimension `at` of this shape.
    fn spread_along(&mut self, value: ValueId, at: usize, shape: &Shape) -> ValueId {
        let elem = self.ty(value).elem;
        let mut thin: Shape = shape.iter().map(|_| 1).collect();
        thin[at] = shape[at];
        let mut value = value;
        if shape.len() > 1 {
            let ty = Type::block(elem, thin.clone());
            value = self.push_op(OpKind::Reshape { reorder: false }, &[value], ty);
        }
        if thin == *shape {
            return value;
        }
        self.push_op(OpKind::Broadcast, &[value], Type::block(elem, shape.clone()))
    }

    /// Emits pointers to the lanes, and the mask of those in bounds; `None` if no dimension is checked.
    fn tile_lanes(&mut self, tile: &Tile, along: &[AxisLanes]) -> (ValueId, Option<ValueId>) {
        let shape: Shape = along
            .iter()
            .map(|along| self.builder.ty(along.positions).numel())
            .collect();
        let elem = self.ty(tile.base).elem;
        let mut pointers = self.push_op(OpKind::Splat, &[tile.base], Type::block(elem, shape.clone()));
        let mut inside: Option<ValueId> = None;
        for (nth, along) in along.iter().enumerate() {
            let ty = self.ty(along.positions);
            let stride = self.push_op(OpKind::Splat, &[tile.strides[nth]], ty.clone());
            let offset = self.push_binary(BinaryOp::Mul, along.positions, stride);
            let offset = self.spread_along(offset, nth, &shape);
            let moved = self.ty(pointers);
            pointers = self.push_op(OpKind::AddPtr, &[pointers, offset], moved);
            if along.checked {
                let limit = self.push_op(OpKind::Splat, &[tile.shape[nth]], ty.clone());
                let zero = self.push_number(0, ty);
                let above = self.compare(CmpPredicate::Ge, along.positions, zero);
                let below = self.compare(CmpPredicate::Lt, along.positions, limit);
                let valid = self.push_binary(BinaryOp::And, above, below);
                let valid = self.spread_along(valid, nth, &shape);
                inside = Some(match inside {
                    Some(inside) => self.push_binary(BinaryOp::And, inside, valid),
                    None => valid,
                });
            }
        }
        (pointers, inside)
    }

    /// Emits the lanes of a block pointer.
    fn block_lanes(&mut self, op: &Operation) -> Lowered<(ValueId, Option<ValueId>)> {
        let block = match op.types.first() {
            Some(syntax::Type::Ptr(inner)) => match &**inner {
                syntax::Type::Tensor(shape, _) => checked_shape(shape)?,
                _ => return stop(format!("`{}` of a value that is not a tile", op.name)),
            },
            _ => return stop(format!("`{}` of a value that is not a tile", op.name)),
        };
        let checked = op
            .find_attr("boundaryCheck")
            .and_then(Attr::ints)
            .unwrap_or_default();
        let tile = self.read_tile(op, block, true)?;
        let mut along = Vec::with_capacity(tile.block.len());
        for nth in 0..tile.block.len() {
            let first = self.widen_index(tile.trailing[nth]);
            along.push(AxisLanes {
                positions: self.make_run(first, tile.block[nth]),
                checked: checked.contains(&(nth as i128)),
            });
        }
        Ok(self.tile_lanes(&tile, &along))
    }

    fn load_block(&mut self, op: &Operation) -> Lowered<ValueId> {
        let (pointers, mask) = self.block_lanes(op)?;
        let ty = self.ty(pointers);
        let Some(pointee) = ty.elem.pointee() else {
            return stop("a load through no pointer");
        };
        let ty = ty.with_elem(pointee);
        // `PaddingOption`: 1 is zero, 2 is NaN. Without it, lanes out of bounds are undefined.
        let other = match (op.find_attr("padding"), mask) {
            (_, None) | (None, _) => None,
            (Some(Attr::Int(1)), _) => Some(self.push_number(0, ty.clone())),
            (Some(Attr::Int(2)), _) => Some(self.push_nan(ty.clone())?),
            (Some(other), _) => return stop(format!("the padding {other:?} is not supported yet")),
        };
        let operands: Bundle = [Some(pointers), mask, other].into_iter().flatten().collect();
        let kind = OpKind::Load {
            mask: mask.is_some(),
            has_other: other.is_some(),
            volatile: op.find_attr("isVolatile") == Some(&Attr::Bool(true)),
        };
        Ok(self.push_op(kind, &operands, ty))
    }

    fn store_block(&mut self, op: &Operation) -> Lowered<()> {
        let value = self.single_operand(op, 1)?;
        let (pointers, mask) = self.block_lanes(op)?;
        let operands: Bundle = [Some(pointers), Some(value), mask]
            .into_iter()
            .flatten()
            .collect();
        self.builder
            .add_effect(OpKind::Store { mask: mask.is_some() }, &operands);
        Ok(())
    }

    fn push_nan(&mut self, ty: Type) -> Lowered<ValueId> {
        match ty.elem.num().filter(|dtype| dtype.is_float()) {
            Some(dtype) => {
                let bits = numeric::encode(dtype, f64::NAN, Rounding::NearestEven);
                Ok(self.builder.add_constant(bits, ty))
            }
            None => stop(format!("padding of {ty} with NaN")),
        }
    }

    /// Reads the descriptor that is the first operand.
    fn read_descriptor(&self, op: &Operation) -> Lowered<Tile> {
        match op.types.first() {
            Some(syntax::Type::Descriptor(shape, _)) => self.read_tile(op, checked_shape(shape)?, false),
            other => stop(format!("`{}` of {other:?}", op.name)),
        }
    }

    /// Reads the descriptor that is the first operand, and emits the lanes of the block at the offsets in brackets.
    pub(super) fn descriptor_lanes(
        &mut self,
        op: &Operation,
        list: usize,
    ) -> Lowered<(Tile, (ValueId, ValueId))> {
        let tile = self.read_descriptor(op)?;
        let offsets = op.brackets.get(list).cloned().unwrap_or_default();
        if offsets.len() != tile.block.len() {
            return stop(format!("`{}` with {} offsets", op.name, offsets.len()));
        }
        let mut along = Vec::with_capacity(tile.block.len());
        for (at, &extent) in offsets.zip(&tile.block) {
            let first = self.single_operand(op, at)?;
            let first = self.widen_index(first);
            along.push(AxisLanes {
                positions: self.make_run(first, extent),
                checked: true,
            });
        }
        match self.tile_lanes(&tile, &along) {
            (pointers, Some(mask)) => Ok((tile, (pointers, mask))),
            _ => stop("a descriptor without dimensions"),
        }
    }

    /// Reads the descriptor, and emits the lanes of the rows and columns of a gather or scatter.
    fn row_lanes(&mut self, op: &Operation) -> Lowered<(Tile, (ValueId, ValueId))> {
        let tile = self.read_descriptor(op)?;
        let Some(range) = op.brackets.first().filter(|range| range.len() == 2) else {
            return stop(format!("`{}` without rows and a column", op.name));
        };
        let (rows, column) = (
            self.single_operand(op, range.start)?,
            self.single_operand(op, range.start + 1)?,
        );
        let (rows, column) = (self.widen_index(rows), self.widen_index(column));
        if tile.block.len() != 2 {
            return stop(format!("`{}` of {} dimensions", op.name, tile.block.len()));
        }
        let along = [
            AxisLanes {
                positions: rows,
                checked: true,
            },
            AxisLanes {
                positions: self.make_run(column, tile.block[1]),
                checked: true,
            },
        ];
        match self.tile_lanes(&tile, &along) {
            (pointers, Some(mask)) => Ok((tile, (pointers, mask))),
            _ => stop("a descriptor without dimensions"),
        }
    }

    fn load_described(&mut self, op: &Operation, tile: &Tile, lanes: (ValueId, ValueId)) -> Lowered<ValueId> {
        let value = self.load_tile(tile, lanes)?;
        // A load may drop dimensions of extent 1.
        let wanted = result_type(op)?;
        if *self.builder.ty(value) == wanted {
            return Ok(value);
        }
        Ok(self.push_op(OpKind::Reshape { reorder: false }, &[value], wanted))
    }

    /// Loads the lanes of a descriptor's block.
    pub(super) fn load_tile(&mut self, tile: &Tile, lanes: (ValueId, ValueId)) -> Lowered<ValueId> {
        let (pointers, mask) = lanes;
        let ty = self.ty(pointers);
        let Some(pointee) = ty.elem.pointee() else {
            return stop("a load through no pointer");
        };
        let ty = ty.with_elem(pointee);
        let zero = self.push_number(0, ty.clone());
        let (Some(&nan), Some(&rounds)) = (tile.trailing.first(), tile.trailing.get(1)) else {
            return stop("a descriptor without flags");
        };
        let float = pointee.num().is_some_and(DType::is_float);
        let other = if float {
            let filler = self.push_nan(ty.clone())?;
            self.push_op(OpKind::Select, &[nan, filler, zero], ty.clone())
        } else {
            zero
        };
        let kind = OpKind::Load {
            mask: true,
            has_other: true,
            volatile: false,
        };
        let mut value = self.push_op(kind, &[pointers, mask, other], ty.clone());
        if pointee == Elem::Num(DType::F32) {
            let rounded = self.rounded_to_tf32(value);
            value = self.push_op(OpKind::Select, &[rounds, rounded, value], ty);
        }
        Ok(value)
    }

    /// Rounds an `f32` to the 10 fraction bits of a tf32, to nearest even. Infinities and NaN stay.
    fn rounded_to_tf32(&mut self, value: ValueId) -> ValueId {
        const DROPPED: i64 = 13;
        let bits = self.bitcast(value, Elem::Num(DType::U32));
        let ty = self.ty(bits);
        let (dropped, one) = (
            self.push_number(DROPPED, ty.clone()),
            self.push_number(1, ty.clone()),
        );
        let below_half = self.push_number((1 << (DROPPED - 1)) - 1, ty.clone());
        let kept = self.push_number(0xFFFF_FFFF & !((1 << DROPPED) - 1), ty.clone());
        let exponent = self.push_number(0x7F80_0000, ty.clone());
        let odd = self.push_binary(BinaryOp::LShr, bits, dropped);
        let odd = self.push_binary(BinaryOp::And, odd, one);
        let bias = self.push_binary(BinaryOp::Add, odd, below_half);
        let rounded = self.push_binary(BinaryOp::Add, bits, bias);
        let rounded = self.push_binary(BinaryOp::And, rounded, kept);
        let special = self.push_binary(BinaryOp::And, bits, exponent);
        let special = self.compare(CmpPredicate::Eq, special, exponent);
        let chosen = self.push_op(OpKind::Select, &[special, bits, rounded], ty);
        self.bitcast(chosen, Elem::Num(DType::F32))
    }

    /// Returns the stored value, which is the last operand, in the shape of the lanes.
    fn stored_value(&mut self, op: &Operation, pointers: ValueId) -> Lowered<ValueId> {
        // A descriptor's offsets are in brackets before the value.
        let last = op.operands.len().saturating_sub(1);
        let value = self.single_operand(op, last)?;
        let shape = self.ty(pointers).shape;
        let ty = self.ty(value);
        if ty.shape == shape {
            return Ok(value);
        }
        Ok(self.push_op(
            OpKind::Reshape { reorder: false },
            &[value],
            Type::block(ty.elem, shape),
        ))
    }

    fn store_described(&mut self, op: &Operation, _: &Tile, lanes: (ValueId, ValueId)) -> Lowered<()> {
        let (pointers, mask) = lanes;
        let value = self.stored_value(op, pointers)?;
        self.builder
            .add_effect(OpKind::Store { mask: true }, &[pointers, value, mask]);
        Ok(())
    }

    /// `tt.descriptor_reduce`, `ttng.async_tma_reduce`: an atomic without an order or a result. The descriptor's
    /// element type has its signedness.
    pub(super) fn reduce_described(
        &mut self,
        op: &Operation,
        value: ValueId,
        (pointers, mask): (ValueId, ValueId),
    ) -> Lowered<()> {
        let kind = match op
            .nth_word(0)
            .or_else(|| op.find_attr("kind").and_then(Attr::text))
        {
            Some("add") => AtomicOp::Add,
            Some("min") => AtomicOp::Min,
            Some("max") => AtomicOp::Max,
            Some("and") => AtomicOp::And,
            Some("or") => AtomicOp::Or,
            Some("xor") => AtomicOp::Xor,
            other => return stop(format!("the reduction {other:?} is not supported yet")),
        };
        let is_unsigned = match op.types.first() {
            Some(syntax::Type::Descriptor(_, element)) => {
                matches!(&**element, syntax::Type::Signed(false, _))
            }
            _ => false,
        };
        let (op, order) = (kind, MemoryOrder::Relaxed);
        self.exchange(op, is_unsigned, (pointers, value, Some(mask)), order)
            .map(drop)
    }
}
