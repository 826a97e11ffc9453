//! Builds the operations that move lanes and combine them, for models that execute an operation lane by lane.

use std::collections::HashMap;

use cerith_tile::DType;
use cerith_tile::ir::{Block, Elem, Foreign, Function, LocId, OpKind, Operation, Type, ValueId};

/// Appends operations to a block.
pub(crate) struct Builder<'a> {
    pub(crate) function: &'a mut Function,
    pub(crate) ops: &'a mut Vec<Operation>,
    pub(crate) loc: LocId,
}

impl Builder<'_> {
    pub(crate) fn push(&mut self, kind: OpKind, operands: &[ValueId], results: &[ValueId]) {
        self.ops.push(Operation {
            kind,
            operands: operands.into(),
            results: results.into(),
            loc: self.loc,
        });
    }

    pub(crate) fn make(&mut self, kind: OpKind, operands: &[ValueId], ty: Type) -> ValueId {
        let result = self.function.add_value(ty);
        self.push(kind, operands, &[result]);
        result
    }

    /// A block of these numbers.
    fn make_numbers(&mut self, dtype: DType, numbers: Vec<u64>) -> ValueId {
        let block = |dtype| Type::block(Elem::Num(dtype), [numbers.len()].as_slice());
        let (lanes, numbered) = (block(DType::I32), block(dtype));
        let range = OpKind::Range {
            start: 0,
            end: numbers.len() as i32,
        };
        let range = self.make(range, &[], lanes);
        // Functions of one name are taken for the same.
        let name = format!("table of {dtype} {numbers:?}");
        let lookup = Foreign::new(&name, move |x| numbers.get(x[0] as usize).copied().unwrap_or(0));
        self.make(OpKind::Foreign(lookup), &[range], numbered)
    }

    pub(crate) fn make_table(&mut self, numbers: &[u32]) -> ValueId {
        self.make_numbers(
            DType::I32,
            numbers.iter().map(|&number| u64::from(number)).collect(),
        )
    }

    pub(crate) fn make_mask(&mut self, on: &[bool]) -> ValueId {
        self.make_numbers(DType::I1, on.iter().map(|&on| u64::from(on)).collect())
    }

    pub(crate) fn reshape(&mut self, value: ValueId, shape: &[usize]) -> ValueId {
        let ty = Type::block(self.function.ty(value).elem, shape);
        self.make(OpKind::Reshape { reorder: false }, &[value], ty)
    }

    pub(crate) fn gather(&mut self, value: ValueId, places: ValueId) -> ValueId {
        let ty = self.function.ty(places).with_elem(self.function.ty(value).elem);
        self.make(OpKind::Gather { axis: 0 }, &[value, places], ty)
    }

    pub(crate) fn join(&mut self, pair: [ValueId; 2]) -> ValueId {
        let ty = self.function.ty(pair[0]);
        let ty = Type::block(ty.elem, [ty.numel(), 2].as_slice());
        self.make(OpKind::Join, &pair, ty)
    }

    pub(crate) fn select(&mut self, on: ValueId, value: ValueId, otherwise: ValueId) -> ValueId {
        let ty = self.function.ty(value).clone();
        self.make(OpKind::Select, &[on, value, otherwise], ty)
    }

    /// The region with values of its own.
    pub(crate) fn clone_region(&mut self, region: &Block) -> Block {
        self.clone_block(region, &mut HashMap::new())
    }

    fn clone_block(&mut self, block: &Block, names: &mut HashMap<ValueId, ValueId>) -> Block {
        let fresh = |function: &mut Function, value: ValueId, names: &mut HashMap<ValueId, ValueId>| {
            let copy = function.add_value(function.ty(value).clone());
            names.insert(value, copy);
            copy
        };
        let args = block
            .args
            .iter()
            .map(|&arg| fresh(self.function, arg, names))
            .collect();
        let mut ops = Vec::with_capacity(block.ops.len());
        for op in &block.ops {
            let mut op = op.clone();
            for operand in &mut op.operands {
                *operand = names.get(operand).copied().unwrap_or(*operand);
            }
            for inner in op.kind.regions_mut() {
                *inner = self.clone_block(inner, names);
            }
            for result in &mut op.results {
                *result = fresh(self.function, *result, names);
            }
            ops.push(op);
        }
        Block { args, ops }
    }
}
