//! Integers that are wider than their dtype says. The interpreter keeps the 64-bit results of `np.sum`, `np.cumsum` and `np.argmax` up
//! to 3.2, and of `np.histogram` up to 3.5. Values that are computed from them have 64 bits too, and a store writes eight bytes for each
//! lane, over the bytes after it. Not modelled: values that a loop or a branch carries.

use std::collections::{HashMap, HashSet};

use cerith_tile::DType;
use cerith_tile::ir::{
    Block, CastKind, Combine, Elem, Foreign, Function, LocId, OpKind, Operation, Rounding, Type, UnaryOp,
    ValueId,
};
use cerith_tile::quirk::{Quirk, Quirks};
use smallvec::{SmallVec, smallvec};

/// The quirks of this model.
pub(crate) const QUIRKS: [Quirk; 3] = [Quirk::IntegersWiden, Quirk::CountsWiden, Quirk::AbsOfFp8Widens];

/// The kernel with its wide integers, if it has any.
pub(crate) fn follow(function: &Function, quirks: Quirks) -> Option<Function> {
    if !QUIRKS.into_iter().any(|quirk| quirks.has(quirk)) {
        return None;
    }
    let mut widening = Widening {
        quirks,
        function: function.clone(),
        wide: HashMap::new(),
        kept_scalars: HashSet::new(),
    };
    widening.find_kept(&function.body);
    let body = std::mem::take(&mut widening.function.body);
    widening.function.body = widening.block(body);
    (!widening.wide.is_empty()).then_some(widening.function)
}

struct Widening {
    quirks: Quirks,
    function: Function,
    /// Wide values, with the values that hold their 64 bits.
    wide: HashMap<ValueId, ValueId>,
    /// Scalars that become blocks of one: results of reductions over everything that keep the dimensions.
    kept_scalars: HashSet<ValueId>,
}

/// The dtype of 64 bits that NumPy makes of integers.
const fn widen_dtype(dtype: DType) -> DType {
    match dtype {
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => DType::U64,
        _ => DType::I64,
    }
}

pub(crate) fn cast(kind: CastKind, from: ValueId, to: ValueId, loc: LocId) -> Operation {
    Operation {
        kind: OpKind::Cast {
            kind,
            rounding: Rounding::NearestEven,
        },
        operands: smallvec![from],
        results: smallvec![to],
        loc,
    }
}

impl Widening {
    fn find_kept(&mut self, block: &Block) {
        for op in &block.ops {
            if matches!(op.kind, OpKind::Splat) && self.function.ty(op.results[0]).numel() == 1 {
                self.kept_scalars.insert(op.operands[0]);
            }
            for region in op.kind.regions() {
                self.find_kept(region);
            }
        }
    }

    fn narrow_int(&self, value: ValueId) -> Option<DType> {
        let ty = self.function.ty(value);
        ty.elem.num().filter(|dtype| dtype.is_int() && dtype.bits() < 64)
    }

    fn block(&mut self, block: Block) -> Block {
        let mut ops = Vec::with_capacity(block.ops.len());
        for mut op in block.ops {
            if !matches!(op.kind, OpKind::Reduce { .. } | OpKind::Scan { .. }) {
                for region in op.kind.regions_mut() {
                    let inner = std::mem::take(region);
                    *region = self.block(inner);
                }
            }
            self.rewrite_operation(op, &mut ops);
        }
        Block { ops, ..block }
    }

    fn rewrite_operation(&mut self, op: Operation, ops: &mut Vec<Operation>) {
        match &op.kind {
            OpKind::Reduce { .. } | OpKind::Scan { .. } | OpKind::Histogram { .. } => {
                self.widen_origin(op, ops);
            }
            OpKind::Binary(_)
            | OpKind::Reshape { .. }
            | OpKind::Broadcast
            | OpKind::Splat
            | OpKind::Select
            | OpKind::Trans { .. }
            | OpKind::Compare(_)
            | OpKind::Hint { .. } => self.spread(op, ops),
            OpKind::Cast {
                kind: CastKind::Value,
                ..
            } => {
                let mut cast = op;
                cast.operands[0] = self.find_holder(cast.operands[0]);
                ops.push(cast);
            }
            OpKind::Store { .. } => self.store(op, ops),
            OpKind::Unary(UnaryOp::Abs) if self.quirks.has(Quirk::AbsOfFp8Widens) => self.fp8_abs(op, ops),
            _ => ops.push(op),
        }
    }

    /// The absolute value of an 8-bit float in 16 bits.
    fn fp8_abs(&mut self, op: Operation, ops: &mut Vec<Operation>) {
        let result = op.results[0];
        let ty = self.function.ty(result);
        if ty.elem == Elem::Num(DType::F8E4B15) {
            let held = self.function.add_value(ty.with_elem(Elem::Num(DType::I16)));
            ops.push(Operation {
                kind: OpKind::Foreign(Foreign::new("abs of 8 bits in 16", |x| x[0] & 0x7f)),
                operands: op.operands.clone(),
                results: smallvec![held],
                loc: op.loc,
            });
            self.wide.insert(result, held);
        }
        ops.push(op);
    }

    /// Widens an operation whose result the engine computes in 64 bits, although its operands are narrower.
    fn widen_origin(&mut self, op: Operation, ops: &mut Vec<Operation>) {
        let results = op.results.clone();
        let of = op.operands.clone();
        let shaped = |widening: &Self, value: ValueId| {
            !widening.function.ty(value).shape.is_empty() || widening.kept_scalars.contains(&value)
        };
        let sums = self.quirks.has(Quirk::IntegersWiden);
        match &op.kind {
            // A sum of one tensor: in 64 bits from the start.
            OpKind::Reduce {
                combine: Some(Combine::Add),
                ..
            }
            | OpKind::Scan {
                combine: Some(Combine::Add | Combine::Mul),
                ..
            } if of.len() == 1 && sums => {
                let result = results[0];
                let (Some(dtype), true) = (self.narrow_int(of[0]), shaped(self, result)) else {
                    ops.push(op);
                    return;
                };
                let to = widen_dtype(dtype);
                let operand = self.extend_value(of[0], to, &op, ops);
                let sum = self
                    .function
                    .add_value(self.function.ty(result).with_elem(Elem::Num(to)));
                let mut wide = op.clone();
                wide.operands[0] = operand;
                wide.results[0] = sum;
                for region in wide.kind.regions_mut() {
                    *region = self.retype_region(region, to);
                }
                ops.push(wide);
                self.keep(result, sum, &op, ops);
            }
            // The index of an extremum.
            OpKind::Reduce { combine: None, .. } if of.len() == 2 && sums => {
                let index = results[1];
                let wide = self.narrow_int(index).is_some() && shaped(self, index);
                ops.push(op.clone());
                if wide {
                    let operand = self.extend_value(index, DType::I64, &op, ops);
                    self.wide.insert(index, operand);
                }
            }
            OpKind::Histogram { .. } if self.quirks.has(Quirk::CountsWiden) => {
                ops.push(op.clone());
                let operand = self.extend_value(results[0], DType::I64, &op, ops);
                self.wide.insert(results[0], operand);
            }
            _ => ops.push(op),
        }
    }

    /// The same region on elements of another dtype.
    fn retype_region(&mut self, region: &Block, to: DType) -> Block {
        let mut renamed: HashMap<ValueId, ValueId> = HashMap::new();
        let mut block = region.clone();
        let args: SmallVec<[ValueId; 4]> = block
            .args
            .iter()
            .map(|&arg| {
                let new = self.function.add_value(Type::num(to));
                renamed.insert(arg, new);
                new
            })
            .collect();
        block.args = args;
        for op in &mut block.ops {
            for operand in &mut op.operands {
                *operand = renamed.get(operand).copied().unwrap_or(*operand);
            }
            for result in &mut op.results {
                let new = self.function.add_value(Type::num(to));
                renamed.insert(*result, new);
                *result = new;
            }
        }
        block
    }

    /// Returns the value that holds all bits of another: 64 if it is wide.
    fn find_holder(&self, value: ValueId) -> ValueId {
        self.wide.get(&value).copied().unwrap_or(value)
    }

    /// A value in another dtype: the value that already holds its bits, or a cast.
    fn extend_value(
        &mut self,
        value: ValueId,
        to: DType,
        at: &Operation,
        ops: &mut Vec<Operation>,
    ) -> ValueId {
        let value = self.find_holder(value);
        if self.function.ty(value).elem == Elem::Num(to) {
            return value;
        }
        let result = self
            .function
            .add_value(self.function.ty(value).with_elem(Elem::Num(to)));
        ops.push(cast(CastKind::Value, value, result, at.loc));
        result
    }

    /// Marks a value as wide. Operations that do not know this use it cut off.
    fn keep(&mut self, value: ValueId, wide: ValueId, at: &Operation, ops: &mut Vec<Operation>) {
        ops.push(cast(CastKind::Value, wide, value, at.loc));
        self.wide.insert(value, wide);
    }

    /// A value that is computed from a wide value is wide.
    fn spread(&mut self, op: Operation, ops: &mut Vec<Operation>) {
        let Some(&first) = op.operands.iter().find_map(|operand| self.wide.get(operand)) else {
            ops.push(op);
            return;
        };
        let to = self.function.ty(first).elem.num().unwrap_or(DType::I64);
        let mut other = op.clone();
        let condition = usize::from(matches!(op.kind, OpKind::Select));
        for (nth, &operand) in op.operands.iter().enumerate().skip(condition) {
            other.operands[nth] = self.extend_value(operand, to, &op, ops);
        }
        if matches!(op.kind, OpKind::Compare(_)) {
            ops.push(other);
            return;
        }
        let result = op.results[0];
        if self.narrow_int(result).is_none() {
            ops.push(op);
            return;
        }
        let new = self
            .function
            .add_value(self.function.ty(result).with_elem(Elem::Num(to)));
        other.results[0] = new;
        ops.push(other);
        self.keep(result, new, &op, ops);
    }

    /// A store writes eight bytes for each lane.
    fn store(&mut self, op: Operation, ops: &mut Vec<Operation>) {
        let Some(&wide) = self.wide.get(&op.operands[1]) else {
            ops.push(op);
            return;
        };
        let to = self.function.ty(wide).elem.num().unwrap_or(DType::I64);
        let mut store = op;
        let (pointer, loc) = (store.operands[0], store.loc);
        for elem in [Elem::Num(DType::I64), Elem::ptr_to(to)] {
            let from = store.operands[0];
            let ty = self.function.ty(pointer).with_elem(elem);
            let to = self.function.add_value(ty);
            ops.push(cast(CastKind::Bits, from, to, loc));
            store.operands[0] = to;
        }
        store.operands[1] = wide;
        ops.push(store);
    }
}
