//! Kernels in IR, and their builder. See `verifier` for checks and `printer` for their text.

use smallvec::SmallVec;

use super::{BinaryOp, Combine, OpKind, Type};
use crate::source::{Sources, Span};

/// A value of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A location of a [`Function`]: the origin of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocId(pub u32);

/// The origin of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loc {
    /// The source text.
    pub span: Span,
    /// The call that the text was inlined at, if it was.
    pub caller: Option<LocId>,
}

/// The type and name of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueInfo {
    /// Its type.
    pub ty: Type,
    /// The Python variable it was first bound to, for messages and printed IR.
    pub name: Option<String>,
}

/// A kernel parameter that is passed at launch. Parameters with compile-time values are resolved away.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The Python name; parts of tuples are `name.0`, `name.1` and so on.
    pub name: String,
    /// The value that holds it; a scalar or a pointer.
    pub value: ValueId,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The operation.
    pub kind: OpKind,
    /// The values that it reads.
    pub operands: SmallVec<[ValueId; 4]>,
    /// The values that it defines.
    pub results: SmallVec<[ValueId; 2]>,
    /// Its location.
    pub loc: LocId,
}

/// A sequence of operations with arguments. Every block except a function's body ends with a `Yield`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Block {
    /// Its arguments.
    pub args: SmallVec<[ValueId; 4]>,
    /// The operations in order.
    pub ops: Vec<Operation>,
}

impl Block {
    /// Visits every operation, those in regions too.
    pub fn visit_operations(&self, visit: &mut dyn FnMut(&Operation)) {
        for op in &self.ops {
            visit(op);
            for region in op.kind.regions() {
                region.visit_operations(visit);
            }
        }
    }

    /// The well-known operation of a combine region, if the region consists of it: applied to the two arguments, in
    /// either order.
    pub fn combine(&self) -> Option<Combine> {
        let ([operation, end], &[left, right]) = (&self.ops[..], &self.args[..]) else {
            return None;
        };
        let in_order = operation.operands[..] == [left, right] || operation.operands[..] == [right, left];
        if !in_order || operation.results[..] != end.operands[..] {
            return None;
        }
        let OpKind::Binary(op) = operation.kind else {
            return None;
        };
        match op {
            BinaryOp::Add => Some(Combine::Add),
            BinaryOp::Mul => Some(Combine::Mul),
            BinaryOp::Min => Some(Combine::Min),
            BinaryOp::Max => Some(Combine::Max),
            BinaryOp::And => Some(Combine::And),
            BinaryOp::Or => Some(Combine::Or),
            BinaryOp::Xor => Some(Combine::Xor),
            _ => None,
        }
    }
}

/// A kernel, traced for one specialisation.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The kernel's name.
    pub name: String,
    /// The parameters passed at launch, in the order of the signature.
    pub params: Vec<Param>,
    /// The type and name of each value.
    pub values: Vec<ValueInfo>,
    /// The locations.
    pub locs: Vec<Loc>,
    /// The code.
    pub body: Block,
    /// The files that spans point into.
    pub sources: Sources,
}

impl Function {
    /// The type of a value.
    ///
    /// # Panics
    /// If the value is of another function.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self.values[value.0 as usize].ty
    }

    /// Creates a value without a definition yet.
    pub fn add_value(&mut self, ty: Type) -> ValueId {
        self.values.push(ValueInfo { ty, name: None });
        ValueId(self.values.len() as u32 - 1)
    }

    /// The text that a place stands for.
    pub fn span(&self, loc: LocId) -> Span {
        self.locs
            .get(loc.0 as usize)
            .map_or_else(Span::default, |loc| loc.span)
    }

    /// A place, the call it was inlined at, that call's own, and so on outward.
    pub fn call_stack(&self, loc: LocId) -> impl Iterator<Item = Span> {
        std::iter::successors(self.locs.get(loc.0 as usize), |loc| {
            self.locs.get(loc.caller?.0 as usize)
        })
        .map(|loc| loc.span)
    }
}

/// Makes a [`Function`], one operation after the other.
#[derive(Clone, Debug)]
pub struct Builder {
    function: Function,
    open: Vec<Block>,
    loc: LocId,
    work: usize,
}

impl Builder {
    /// Starts a kernel. The first place is `span`.
    pub fn new(name: impl Into<String>, sources: Sources, span: Span) -> Self {
        Self {
            function: Function {
                name: name.into(),
                params: Vec::new(),
                values: Vec::new(),
                locs: vec![Loc { span, caller: None }],
                body: Block::default(),
                sources,
            },
            open: vec![Block::default()],
            loc: LocId(0),
            work: 0,
        }
    }

    /// Adds a parameter.
    pub fn add_param(&mut self, name: impl Into<String>, ty: Type) -> ValueId {
        let name = name.into();
        let value = self.add_value(ty);
        self.name_value(value, &name);
        self.function.params.push(Param { name, value });
        value
    }

    /// Creates a value without a definition: a block argument.
    pub fn add_value(&mut self, ty: Type) -> ValueId {
        self.function.add_value(ty)
    }

    /// Names a value after a variable, if it has no name yet.
    pub fn name_value(&mut self, value: ValueId, name: &str) {
        if let Some(info) = self.function.values.get_mut(value.0 as usize) {
            info.name.get_or_insert_with(|| name.to_owned());
        }
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        self.function.ty(value)
    }

    /// The files that spans point into; more can be added while building.
    pub fn sources(&mut self) -> &mut Sources {
        &mut self.function.sources
    }

    /// Sets the location of the next operations. Returns the previous one.
    pub fn set_loc(&mut self, loc: LocId) -> LocId {
        std::mem::replace(&mut self.loc, loc)
    }

    /// The source location of the next operations.
    pub const fn loc(&self) -> LocId {
        self.loc
    }

    /// Registers a place. The same place twice in a row is one.
    pub fn add_loc(&mut self, span: Span, caller: Option<LocId>) -> LocId {
        let loc = Loc { span, caller };
        if self.function.locs.last() != Some(&loc) {
            self.function.locs.push(loc);
        }
        LocId(self.function.locs.len() as u32 - 1)
    }

    /// Appends an operation with any number of results.
    pub fn op_multi(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        results: &[Type],
    ) -> SmallVec<[ValueId; 2]> {
        let results: SmallVec<[ValueId; 2]> = results.iter().map(|ty| self.add_value(ty.clone())).collect();
        let operation = Operation {
            kind,
            operands: operands.into(),
            results: results.clone(),
            loc: self.loc,
        };
        self.work += 1;
        if let Some(block) = self.open.last_mut() {
            block.ops.push(operation);
        }
        results
    }

    /// Appends an operation with one result.
    pub fn add_op(&mut self, kind: OpKind, operands: &[ValueId], result: Type) -> ValueId {
        self.op_multi(kind, operands, &[result])[0]
    }

    /// Appends an operation with no result.
    pub fn add_effect(&mut self, kind: OpKind, operands: &[ValueId]) {
        self.op_multi(kind, operands, &[]);
    }

    /// Appends a constant, the same in every lane. Bits above the width are cut off.
    pub fn add_constant(&mut self, bits: u64, ty: Type) -> ValueId {
        let width = ty.elem.num().map_or(64, crate::DType::bits);
        let bits = if width == 64 {
            bits
        } else {
            bits & ((1 << width) - 1)
        };
        self.add_op(OpKind::Constant(bits), &[], ty)
    }

    /// Starts a block; operations go there until it is closed.
    pub fn open_block(&mut self, args: &[ValueId]) {
        self.open.push(Block {
            args: args.into(),
            ops: Vec::new(),
        });
    }

    /// Ends the block with a yield, and removes it for use in an operation.
    pub fn close_block(&mut self, yields: &[ValueId]) -> Block {
        self.add_effect(OpKind::Yield, yields);
        if self.open.len() > 1 {
            self.open.pop().unwrap_or_default()
        } else {
            Block::default()
        }
    }

    /// Removes the innermost open block unfinished, to be resumed when its results are known.
    pub fn suspend_block(&mut self) -> Block {
        if self.open.len() > 1 {
            self.open.pop().unwrap_or_default()
        } else {
            Block::default()
        }
    }

    /// Makes a suspended block the innermost open one again.
    pub fn resume_block(&mut self, block: Block) {
        self.open.push(block);
    }

    /// Number of operations created, including those of discarded blocks: a measure of work for limits.
    pub const fn work(&self) -> usize {
        self.work
    }

    /// Drops the innermost open block and all that is in it (a trial that is thrown away).
    pub fn discard_block(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// Ends the kernel.
    pub fn finish(mut self) -> Function {
        self.open.truncate(1);
        self.function.body = self.open.pop().unwrap_or_default();
        self.function
    }
}
