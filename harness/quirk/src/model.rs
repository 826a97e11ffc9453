//! The walk over a kernel's operations, and the models' common parts.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Block, Combine, Foreign, Function, LocId, OpKind, Operation, Type, ValueId};
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Version;
use smallvec::{SmallVec, smallvec};

/// The location of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpContext {
    /// In the kernel, or in one of its loops or branches.
    Code,
    /// In the function that combines elements of a reduction, which may be a well-known one.
    Reduction(Option<Combine>),
    /// In the function that combines elements of a scan.
    Scan,
}

/// A kernel that is being rewritten.
pub(crate) struct Model {
    function: Function,
    quirks: Quirks,
    /// The quirks that the walk has queried.
    consulted_quirks: Cell<Quirks>,
    pub(crate) version: Version,
    changed: bool,
    /// The kind and operands of the operation that defines a value, if a model needs it.
    made_by: HashMap<ValueId, (OpKind, SmallVec<[ValueId; 4]>)>,
    /// Products of 8-bit integers.
    pub(crate) products: HashSet<ValueId>,
}

/// The result of rewriting an operation.
pub(crate) enum Rewritten {
    /// The operation is unchanged.
    Same(Operation),
    /// These operations replace it.
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

    /// Returns the quirks that affect anything: the walk has the same result with or without the others.
    pub(crate) fn find_quirks(mut self) -> Quirks {
        self.walk();
        self.consulted_quirks.get()
    }

    fn walk(&mut self) {
        let body = std::mem::take(&mut self.function.body);
        self.function.body = self.block(body, OpContext::Code);
    }

    fn block(&mut self, block: Block, place: OpContext) -> Block {
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

    fn rewrite_regions(&mut self, mut op: Operation, place: OpContext) -> Operation {
        let inner = match &op.kind {
            OpKind::Reduce { combine, .. } => OpContext::Reduction(*combine),
            OpKind::Scan { .. } => OpContext::Scan,
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
            // The function is no longer the well-known one.
            *combine = None;
        }
        self.changed |= before;
        op
    }

    fn rewrite_operation(&mut self, op: Operation, place: OpContext) -> Rewritten {
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

    /// Whether a quirk is modelled.
    pub(crate) fn has(&self, quirk: Quirk) -> bool {
        self.consulted_quirks
            .set(self.consulted_quirks.get().with_quirk(quirk));
        self.quirks.has(quirk)
    }

    /// The type of a value.
    pub(crate) fn ty(&self, value: ValueId) -> &Type {
        self.function.ty(value)
    }

    /// Returns the dtype of a value, or `None` for a pointer.
    pub(crate) fn dtype(&self, value: ValueId) -> Option<DType> {
        self.ty(value).elem.num()
    }

    /// Returns the operation that defines a value and its first operand, if it is a constant, a cast, a right shift, a
    /// product or a reshape.
    pub(crate) fn made_by(&self, value: ValueId) -> Option<(&OpKind, Option<ValueId>)> {
        self.made_by
            .get(&value)
            .map(|(kind, operands)| (kind, operands.first().copied()))
    }

    /// Returns both operands of a product.
    pub(crate) fn find_factors(&self, value: ValueId) -> Option<(ValueId, ValueId)> {
        match self.made_by.get(&value) {
            Some((OpKind::Binary(BinaryOp::Mul), operands)) => match operands.as_slice() {
                &[a, b] => Some((a, b)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Creates a value.
    pub(crate) fn create_value(&mut self, ty: Type) -> ValueId {
        self.function.add_value(ty)
    }

    /// Emits a constant with zero bits.
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

    /// Emits a function of one operand in place of an operation.
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

/// Replaces the function of an operation.
pub(crate) fn replace_by_foreign(op: Operation, foreign: Foreign) -> Rewritten {
    Rewritten::By(vec![Operation {
        kind: OpKind::Foreign(foreign),
        ..op
    }])
}
