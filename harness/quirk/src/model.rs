//! The walk over a kernel's operations, and what the models share. Left out: what each model does.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Block, Combine, Foreign, Function, LocId, OpKind, Operation, Type, ValueId};
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Version;
use smallvec::{SmallVec, smallvec};

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the kernel, or in a loop or branch of it.
    Code,
    /// In the function that a reduction combines elements with, which is a well-known one or not.
    Reduction(Option<Combine>),
    /// In the function that a scan combines elements with.
    Scan,
}

/// A kernel that is being rewritten.
pub(crate) struct Model {
    function: Function,
    quirks: Quirks,
    /// The quirks that were asked for.
    consulted_quirks: Cell<Quirks>,
    pub(crate) version: Version,
    changed: bool,
    /// The operation that makes a value and its operands, where a model wants to know.
    made_by: HashMap<ValueId, (OpKind, SmallVec<[ValueId; 4]>)>,
    /// Products of 8-bit integers.
    pub(crate) products: HashSet<ValueId>,
}

/// What becomes of an operation.
pub(crate) enum Rewritten {
    /// It stays.
    Same(Operation),
    /// These do it, which need not be the same.
    By(Vec<Operation>),
}

impl Model {
    pub(crate) fn new(function: Function, quirks: Quirks, version: Version) -> Self {
        Self {
            function,
            quirks,
            consulted_quirks: Cell::new(Quirks::NONE),
            version,
            changed: false,
            made_by: HashMap::new(),
            products: HashSet::new(),
        }
    }

    /// The kernel, if anything in it changed.
    pub(crate) fn follow(mut self) -> Option<Function> {
        self.walk();
        self.changed.then_some(self.function)
    }

    /// The quirks that decide anything: with or without the others, the walk comes to the same.
    pub(crate) fn find_quirks(mut self) -> Quirks {
        self.walk();
        self.consulted_quirks.get()
    }

    fn walk(&mut self) {
        let body = std::mem::take(&mut self.function.body);
        self.function.body = self.block(body, Place::Code);
    }

    fn block(&mut self, block: Block, place: Place) -> Block {
        let mut ops = Vec::with_capacity(block.ops.len());
        for op in block.ops {
            let op = self.rewrite_regions(op, place);
            match self.rewrite_operation(op, place) {
                Rewritten::Same(op) => ops.push(op),
                Rewritten::By(other) => {
                    self.changed = true;
                    ops.extend(other);
                }
            }
            if let Some(op) = ops.last()
                && let &[result] = op.results.as_slice()
                && matches!(
                    op.kind,
                    OpKind::Constant(_)
                        | OpKind::Cast { .. }
                        | OpKind::Binary(BinaryOp::Shr | BinaryOp::Mul)
                        | OpKind::Broadcast
                        | OpKind::Reshape { .. }
                )
            {
                let operands = op.operands.iter().copied().collect();
                self.made_by.insert(result, (op.kind.clone(), operands));
            }
        }
        Block { ops, ..block }
    }

    fn rewrite_regions(&mut self, mut op: Operation, place: Place) -> Operation {
        let inner = match &op.kind {
            OpKind::Reduce { combine, .. } => Place::Reduction(*combine),
            OpKind::Scan { .. } => Place::Scan,
            _ => place,
        };
        let before = self.changed;
        self.changed = false;
        for region in op.kind.regions_mut() {
            let block = std::mem::take(region);
            *region = self.block(block, inner);
        }
        if self.changed
            && let OpKind::Reduce { combine, .. } | OpKind::Scan { combine, .. } = &mut op.kind
        {
            // The function is no well-known one any more.
            *combine = None;
        }
        self.changed |= before;
        op
    }

    fn rewrite_operation(&mut self, op: Operation, place: Place) -> Rewritten {
        match op.kind {
            OpKind::Cast { .. } => self.cast(op),
            OpKind::Constant(bits) => self.rewrite_constant(op, bits),
            OpKind::Load { .. } => self.rewrite_padding(op),
            OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Ternary(_) | OpKind::Compare(_) => {
                self.rewrite_elementwise(op, place)
            }
            OpKind::Reduce { .. } => self.reduce(op),
            OpKind::Dot { .. } => self.dot(op),
            OpKind::For { .. } => self.loads_first(op),
            OpKind::Store { mask: true } | OpKind::AtomicRmw { mask: true, .. } => self.ignore_mask(op),
            _ => Rewritten::Same(op),
        }
    }

    /// Whether a quirk is to be followed.
    pub(crate) fn has(&self, quirk: Quirk) -> bool {
        self.consulted_quirks
            .set(self.consulted_quirks.get().with_quirk(quirk));
        self.quirks.has(quirk)
    }

    /// The type of a value.
    pub(crate) fn ty(&self, value: ValueId) -> &Type {
        self.function.ty(value)
    }

    /// The dtype of a value that is no pointer.
    pub(crate) fn dtype(&self, value: ValueId) -> Option<DType> {
        self.ty(value).elem.num()
    }

    /// What makes a value, if it is a constant, a cast, a shift to the right, a product or another shape, and its first
    /// operand.
    pub(crate) fn made_by(&self, value: ValueId) -> Option<(&OpKind, Option<ValueId>)> {
        self.made_by
            .get(&value)
            .map(|(kind, operands)| (kind, operands.first().copied()))
    }

    /// Both operands of a product.
    pub(crate) fn find_factors(&self, value: ValueId) -> Option<(ValueId, ValueId)> {
        match self.made_by.get(&value) {
            Some((OpKind::Binary(BinaryOp::Mul), operands)) => match operands.as_slice() {
                &[a, b] => Some((a, b)),
                _ => None,
            },
            _ => None,
        }
    }

    /// A new value.
    pub(crate) fn create_value(&mut self, ty: Type) -> ValueId {
        self.function.add_value(ty)
    }

    /// A constant of zero bits, a new value of this type.
    pub(crate) fn build_zero(&mut self, ty: Type, at: LocId) -> (ValueId, Operation) {
        let zero = self.create_value(ty);
        let constant = Operation {
            kind: OpKind::Constant(0),
            operands: smallvec![],
            results: smallvec![zero],
            loc: at,
        };
        (zero, constant)
    }

    /// A function of one operand whose result is a new value, for what stands at an operation's place.
    pub(crate) fn build_map(
        &mut self,
        of: ValueId,
        to: DType,
        at: &Operation,
        foreign: Foreign,
    ) -> Operation {
        let ty = self.ty(of).with_elem(cerith_tile::ir::Elem::Num(to));
        let result = self.create_value(ty);
        Operation {
            kind: OpKind::Foreign(foreign),
            operands: smallvec![of],
            results: smallvec![result],
            loc: at.loc,
        }
    }
}

/// The same operation, done by another function.
pub(crate) fn replace_by_foreign(op: Operation, foreign: Foreign) -> Rewritten {
    Rewritten::By(vec![Operation {
        kind: OpKind::Foreign(foreign),
        ..op
    }])
}
