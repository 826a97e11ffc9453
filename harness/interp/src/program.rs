//! A kernel made ready to run: operations with their slots, where each value is used last, and which parameter each
//! pointer comes from. Left out: making it ready ([`crate::compile`]) and running it ([`crate::machine`]).

use std::sync::{Arc, Mutex, OnceLock};

use cerith_tile::ir::{BinaryOp, Choice, Combine, Function, LocId, OpKind, UnaryOp};
use smallvec::SmallVec;

use crate::checks::divisions::Division;
use crate::checks::masked_loads::MaskedLoad;
use crate::dataflow::Text;
use crate::layouts::Classes;
use crate::origin::Origin;
use crate::value::Layout;

/// Where a value lives while a program runs: its number in the function.
pub(crate) type Slot = u32;

/// A kernel that can be launched any number of times, from several threads at once.
#[derive(Debug)]
pub struct Program {
    pub(crate) function: Arc<Function>,
    pub(crate) layouts: Vec<Layout>,
    /// What does not depend on the program id, run once a launch.
    pub(crate) prologue: Code,
    pub(crate) body: Code,
    /// Whether each value is a parameter or of the prologue: it outlives a program.
    pub(crate) persistent: Vec<bool>,
    /// The operations of the body that access memory.
    pub(crate) accesses: Vec<Accessed>,
    /// What its text says of its accesses, once that was asked.
    pub(crate) text: OnceLock<Text>,
    /// Whose threads hold the lanes of its accesses, by what is known of the arguments.
    pub(crate) classes: Mutex<Classes>,
    /// The integer divisions, by result.
    pub(crate) divisions: Vec<Division>,
    /// The masked loads without `other`, by result.
    pub(crate) masked_loads: Vec<MaskedLoad>,
    /// Whether programs print.
    pub(crate) prints: bool,
    /// Whether anything uses each value.
    pub(crate) used: Vec<bool>,
    /// The parameter that each pointer was derived from.
    pub(crate) origins: Vec<Origin>,
    /// Whether a value is too large to exist.
    pub(crate) oversized: bool,
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
pub(crate) struct Code {
    pub args: SmallVec<[Slot; 4]>,
    pub steps: Vec<Step>,
    pub yields: SmallVec<[Yielded; 4]>,
    /// Where the block ends.
    pub loc: Option<LocId>,
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
pub(crate) struct Yielded {
    pub slot: Slot,
    /// Whether the block is done with it, so that it may be moved out.
    pub moves: bool,
}

/// An operation.
#[derive(Debug)]
pub(crate) struct Step {
    pub op: Op,
    pub ins: SmallVec<[Slot; 4]>,
    pub outs: SmallVec<[Slot; 2]>,
    /// Values that nothing after this operation uses.
    pub frees: SmallVec<[Slot; 4]>,
    pub loc: LocId,
    /// Work, in units of fuel.
    pub cost: u64,
    /// Of an access to memory, its place among them in the kernel's text.
    pub access: u16,
}

/// How a region that combines two elements may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// Over many lanes at once: it has only elementwise operations on scalars.
    pub wide: bool,
    /// In a tree: it is made of operations that give the same result however they are associated.
    pub exact: bool,
    /// It chooses one of its elements by a float key.
    pub choice: Option<Choice>,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Op {
    /// An operation without blocks.
    Plain(OpKind),
    Binary(BinaryOp),
    Unary(UnaryOp),
    For(Code),
    If(Code, Code),
    While(Code, Code),
    Reduce {
        axis: usize,
        combine: Option<Combine>,
        region: Region,
        code: Code,
    },
    Scan {
        axis: usize,
        reverse: bool,
        combine: Option<Combine>,
        region: Region,
        code: Code,
    },
}

impl Program {
    /// The kernel.
    pub fn function(&self) -> &Function {
        &self.function
    }
}
