//! A kernel prepared to run: operations with their slots, the last use of each value, and the parameter that each pointer
//! comes from. See `compile` for its construction and [`crate::machine`] for running it.

use std::sync::{Arc, Mutex, OnceLock};

use cerith_tile::ir::{BinaryOp, Choice, Combine, Function, LocId, OpKind, UnaryOp};
use smallvec::SmallVec;

use crate::checks::divisions::Division;
use crate::checks::masked_loads::MaskedLoad;
use crate::dataflow::Text;
use crate::layouts::Classes;
use crate::origin::Origin;
use crate::value::Layout;

/// The slot of a value while a program runs: its number in the function.
pub type Slot = u32;

/// A kernel that can be launched any number of times, from several threads at once.
#[derive(Debug)]
pub struct Program {
    /// The verified IR.
    pub function: Arc<Function>,
    /// The layout of each slot.
    pub layouts: Vec<Layout>,
    /// Operations that do not depend on the program id, run once a launch.
    pub prologue: Code,
    /// The rest, run for each program.
    pub body: Code,
    /// Whether each value is a parameter or of the prologue: it outlives a program.
    pub persistent: Vec<bool>,
    /// The operations of the body that access memory.
    pub(crate) accesses: Vec<Accessed>,
    /// The dataflow of its accesses, computed on demand.
    pub(crate) text: OnceLock<Text>,
    /// The threads that hold the lanes of its accesses, by known properties of the arguments.
    pub(crate) classes: Mutex<Classes>,
    /// The integer divisions, by result.
    pub(crate) divisions: Vec<Division>,
    /// The masked loads without `other`, by result.
    pub(crate) masked_loads: Vec<MaskedLoad>,
    /// Whether programs print.
    pub(crate) prints: bool,
    /// Whether anything uses each value.
    pub used: Vec<bool>,
    /// The parameter that each pointer was derived from.
    pub origins: Vec<Origin>,
    /// Whether a value is too large to exist.
    pub oversized: bool,
}

/// An operation that accesses memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accessed {
    pub pointer: Slot,
    /// Bytes of an element.
    pub size: usize,
    pub writes: bool,
    pub atomic: bool,
    /// Whether it is in a loop.
    pub looped: bool,
}

/// A block.
#[derive(Debug, Default)]
pub struct Code {
    /// Slots of its arguments.
    pub args: SmallVec<[Slot; 4]>,
    /// Its operations, in order.
    pub steps: Vec<Step>,
    /// The values that leave it.
    pub yields: SmallVec<[Yielded; 4]>,
    /// The location of the block's end.
    pub(crate) loc: Option<LocId>,
}

impl Code {
    /// Whether anything in it reads memory.
    pub(crate) fn reads(&self) -> bool {
        self.steps.iter().any(|step| match &step.op {
            Op::Plain(kind) => matches!(
                kind,
                OpKind::Load { .. } | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. }
            ),
            Op::For(code) => code.reads(),
            Op::If(one, other) | Op::While(one, other) => one.reads() || other.reads(),
            Op::Binary(_) | Op::Unary(_) | Op::Reduce { .. } | Op::Scan { .. } => false,
        })
    }
}

/// A value that leaves a block.
#[derive(Clone, Copy, Debug)]
pub struct Yielded {
    /// The slot.
    pub slot: Slot,
    /// Whether the block is done with it, so that it may be moved out.
    pub moves: bool,
}

/// An operation.
#[derive(Debug)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub ins: SmallVec<[Slot; 4]>,
    /// Its results.
    pub outs: SmallVec<[Slot; 2]>,
    /// Values that nothing after this operation uses.
    pub frees: SmallVec<[Slot; 4]>,
    /// Its location in the source.
    pub loc: LocId,
    /// Work, in units of fuel.
    pub cost: u64,
    /// The index of an access to memory among all in the kernel's text.
    pub(crate) access: u16,
}

/// Permitted orders of evaluation of a region that combines two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Over many lanes at once: it has only elementwise operations on scalars.
    pub wide: bool,
    /// In a tree: its operations have the same result for every association.
    pub exact: bool,
    /// It chooses one of its elements by a float key.
    pub(crate) choice: Option<Choice>,
}

/// The operation of a step.
#[derive(Debug)]
pub enum Op {
    /// An operation without blocks.
    Plain(OpKind),
    /// Two operands, lane by lane.
    Binary(BinaryOp),
    /// One operand, lane by lane.
    Unary(UnaryOp),
    /// A loop over a range.
    For(Code),
    /// Two branches.
    If(Code, Code),
    /// A condition, and the body.
    While(Code, Code),
    /// A reduction along an axis.
    Reduce {
        /// The axis.
        axis: usize,
        /// The combination, if the region is one that has a name.
        combine: Option<Combine>,
        /// The permitted orders of evaluation.
        region: Region,
        /// The region, which combines two elements.
        code: Code,
    },
    /// A scan along an axis.
    Scan {
        /// The axis.
        axis: usize,
        /// Whether it starts at the last element.
        reverse: bool,
        /// The combination, if the region is one that has a name.
        combine: Option<Combine>,
        /// The permitted orders of evaluation.
        region: Region,
        /// The region, which combines two elements.
        code: Code,
    },
}

impl Program {
    /// The kernel.
    pub fn function(&self) -> &Function {
        &self.function
    }
}
