//! Number arguments that an engine holds in a different width than their dtype's: ints that need 33 bits, in 32
//! ([`Quirk::WideArgumentsAreShort`]), and bools, as ints ([`Quirk::BoolArgumentsAreInts`]). The front end declares
//! them as parameters of the dtype that holds them, and casts them at once. A value computed only from such arguments
//! has that width too, and a store writes all of it. Blocks are not affected: they have the dtype's own width.

use std::collections::HashMap;

use cerith_tile::DType;
use cerith_tile::ir::{Block, CastKind, Elem, Function, OpKind, Operation, Type, ValueId};
use cerith_tile::quirk::{Quirk, Quirks};

use crate::wide::cast;

/// The dtype that holds an argument, and the one that it has.
const PAIRS: [(Quirk, DType, DType); 2] = [
    (Quirk::WideArgumentsAreShort, DType::U32, DType::I64),
    (Quirk::BoolArgumentsAreInts, DType::I32, DType::I1),
];

/// The quirks that a parameter of a kernel may be held by.
pub(crate) fn find_quirks(function: &Function) -> impl Iterator<Item = Quirk> {
    let held = |dtype| {
        let mut params = function.params.iter();
        params.any(|param| function.ty(param.value).elem == Elem::Num(dtype))
    };
    PAIRS
        .into_iter()
        .filter(move |&(_, holds, _)| held(holds))
        .map(|(quirk, ..)| quirk)
}

/// Rewrites a kernel with such arguments; `None` if nothing changes.
pub(crate) fn follow(function: &Function, quirks: Quirks) -> Option<Function> {
    let pairs: Vec<_> = PAIRS
        .into_iter()
        .filter(|(quirk, ..)| quirks.has(*quirk))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let mut holding = Holding {
        pairs,
        function: function.clone(),
        holders: HashMap::new(),
        changed: false,
    };
    let body = std::mem::take(&mut holding.function.body);
    holding.function.body = holding.block(body);
    holding.changed.then_some(holding.function)
}

struct Holding {
    /// The dtype that holds an argument, and the one that it has.
    pairs: Vec<(Quirk, DType, DType)>,
    function: Function,
    /// The value that holds another's bits.
    holders: HashMap<ValueId, ValueId>,
    changed: bool,
}

impl Holding {
    fn block(&mut self, block: Block) -> Block {
        let mut ops = Vec::with_capacity(block.ops.len());
        for mut op in block.ops {
            for region in op.kind.regions_mut() {
                let inner = std::mem::take(region);
                *region = self.block(inner);
            }
            self.rewrite_operation(op, &mut ops);
        }
        Block { ops, ..block }
    }

    fn rewrite_operation(&mut self, op: Operation, ops: &mut Vec<Operation>) {
        match &op.kind {
            OpKind::Cast {
                kind: CastKind::Value,
                ..
            } => self.cast(op, ops),
            OpKind::Binary(_) => self.rewrite_binary(op, ops),
            OpKind::Store { .. } => self.store(op, ops),
            _ => ops.push(op),
        }
    }

    fn elem(&self, value: ValueId) -> Elem {
        self.function.ty(value).elem
    }

    /// Whether a cast is the one that an argument comes with.
    fn is_argument(&self, from: ValueId, to: ValueId) -> bool {
        let (from_elem, to_elem) = (self.elem(from), self.elem(to));
        self.function.params.iter().any(|param| param.value == from)
            && self
                .pairs
                .iter()
                .any(|&(_, holds, has)| from_elem == Elem::Num(holds) && to_elem == Elem::Num(has))
    }

    fn cast(&mut self, mut op: Operation, ops: &mut Vec<Operation>) {
        let from = op.operands[0];
        if self.is_argument(from, op.results[0]) {
            self.holders.insert(op.results[0], from);
        } else if let Some(&held) = self.holders.get(&from) {
            op.operands[0] = held;
            self.changed = true;
        }
        ops.push(op);
    }

    fn rewrite_binary(&mut self, mut op: Operation, ops: &mut Vec<Operation>) {
        let held = op
            .operands
            .iter()
            .map(|operand| self.holders.get(operand).copied());
        let Some(held) = held.collect::<Option<Vec<ValueId>>>() else {
            ops.push(op);
            return;
        };
        let Some(&first) = held.first() else {
            ops.push(op);
            return;
        };
        let result = op.results[0];
        let computed = self.function.add_value(Type::scalar(self.elem(first)));
        op.operands = held.into();
        op.results[0] = computed;
        let back = cast(CastKind::Value, computed, result, op.loc);
        ops.extend([op, back]);
        self.holders.insert(result, computed);
        self.changed = true;
    }

    fn store(&mut self, mut op: Operation, ops: &mut Vec<Operation>) {
        let Some(&held) = self.holders.get(&op.operands[1]) else {
            ops.push(op);
            return;
        };
        let Some(dtype) = self.elem(held).num() else {
            ops.push(op);
            return;
        };
        for elem in [Elem::Num(DType::I64), Elem::ptr_to(dtype)] {
            let from = op.operands[0];
            let to = self.function.add_value(Type::scalar(elem));
            ops.push(cast(CastKind::Bits, from, to, op.loc));
            op.operands[0] = to;
        }
        op.operands[1] = held;
        ops.push(op);
        self.changed = true;
    }
}
