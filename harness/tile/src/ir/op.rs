//! The operations of the IR. [`crate::numeric`] computes the arithmetic ones, and `cerith-interp` executes memory
//! accesses and lane movement. `operator` has the tables of operators.

use super::foreign::Foreign;
use super::function::Block;
use super::operator::{
    AssertedBy, AtomicOp, BinaryOp, CastKind, CmpPredicate, Combine, Demand, InputPrecision, MemoryOrder,
    Promise, Rounding, TernaryOp, UnaryOp,
};
use super::types::Shape;
use crate::numeric::library::Symbol;

/// An operation of the IR. Operands are listed in the order of [`super::Operation::operands`].
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// The same bits in every lane of the result. Bits above the element's width are zero.
    Constant(u64),
    /// `tl.program_id(axis)`: an `i32` scalar.
    ProgramId(u8),
    /// `tl.num_programs(axis)`: an `i32` scalar.
    NumPrograms(u8),
    /// `tl.arange(start, end)`: an `i32` block.
    Range {
        /// First value.
        start: i32,
        /// One past the last.
        end: i32,
    },
    /// One operand.
    Unary(UnaryOp),
    /// Two operands of one type.
    Binary(BinaryOp),
    /// Three operands of one type.
    Ternary(TernaryOp),
    /// A function of CUDA's math library (`tl.extra.libdevice`); operands and result of the dtypes that the symbol has.
    Library(&'static Symbol),
    /// A function of a bug's model, on lanes of any dtypes and the result's shape.
    Foreign(Foreign),
    /// Two operands of one type; `i1` lanes. Pointers compare as unsigned addresses.
    Compare(CmpPredicate),
    /// `condition, if_true, if_false`; the condition is `i1` with the same shape, or a scalar.
    Select,
    /// One operand, converted to the result's element type.
    Cast {
        /// Value or bits.
        kind: CastKind,
        /// How floats are narrowed.
        rounding: Rounding,
    },
    /// A scalar operand in every lane of the result.
    Splat,
    /// A block operand with extents of 1 repeated to the result's shape (same number of dimensions).
    Broadcast,
    /// A block operand with the same lanes in the same row-major order and another shape. Also `expand_dims`.
    Reshape {
        /// Whether the order of lanes is unspecified (`can_reorder`).
        reorder: bool,
    },
    /// A block operand with its dimensions permuted: result dimension `i` is operand dimension `order[i]`.
    Trans {
        /// The permutation.
        order: Shape,
    },
    /// Two blocks of one type; the result has a new last dimension of 2.
    Join,
    /// A block with a last dimension of 2; two results without it.
    Split,
    /// Two blocks of one type, one after the other along dimension 0.
    Cat {
        /// Whether the order of lanes is unspecified (`can_reorder=True`).
        reorder: bool,
    },
    /// `source, index`: along an axis, `source` at `index`; the result has `index`'s shape.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// `pointer, offset`: the pointer moved by `offset` elements (sign-extended, or zero-extended when unsigned).
    AddPtr,
    /// `pointer [, mask [, other]]`. The result's element is the pointer's pointee.
    Load {
        /// Whether operand 1 is a mask.
        mask: bool,
        /// Whether operand 2 is the value of masked-off lanes; otherwise they are poison.
        has_other: bool,
        /// Whether the load is volatile, for readers of other programs' writes.
        volatile: bool,
    },
    /// `pointer, value [, mask]`; no result.
    Store {
        /// Whether operand 2 is a mask.
        mask: bool,
    },
    /// `pointer, value [, mask]`; the result is the old value.
    AtomicRmw {
        /// The operator.
        op: AtomicOp,
        /// Whether operand 2 is a mask.
        mask: bool,
        /// The memory order.
        order: MemoryOrder,
    },
    /// `pointer, compare, value`; the result is the old value.
    AtomicCas {
        /// The memory order.
        order: MemoryOrder,
    },
    /// `pointer, expected`: waits until memory holds the expected value; `i1` lanes, false after a timeout.
    AtomicPoll {
        /// Whether the wait can time out. The limit isn't modelled.
        timeout: bool,
    },
    /// Blocks of one shape; each result lacks the axis. The region takes two of each operand's elements, the
    /// accumulated ones first, and yields one of each.
    Reduce {
        /// The axis.
        axis: usize,
        /// The region, when it is a well-known one.
        combine: Option<Combine>,
        /// The region.
        region: Block,
    },
    /// Blocks of one shape; results of the operands' types. The region is as in `Reduce`.
    Scan {
        /// The axis.
        axis: usize,
        /// Whether it runs from the end.
        reverse: bool,
        /// The region, when it is a well-known one.
        combine: Option<Combine>,
        /// The region.
        region: Block,
    },
    /// `a, b, accumulator`: a matrix product, of 2 dimensions or batched in 3.
    Dot {
        /// How `f32` operands are rounded.
        precision: InputPrecision,
        /// `max_num_imprecise_acc` for fp8 operands.
        max_imprecise: u32,
    },
    /// `values [, mask]`: the number of lanes with each value from 0 to the result's extent.
    Histogram {
        /// Whether operand 1 is a mask.
        mask: bool,
    },
    /// `lower, upper, step, initial…`: the region takes the induction variable and the carried values and yields the
    /// carried values. Results are the last carried values.
    For {
        /// The region.
        body: Block,
    },
    /// `condition`, an `i1` scalar. Each region yields the results.
    If {
        /// Taken when true.
        then_block: Block,
        /// Taken when false.
        else_block: Block,
    },
    /// `initial…`: `before` takes the carried values and yields an `i1` scalar and the values that `after` takes
    /// and the operation results in; `after` yields the carried values.
    While {
        /// The test.
        before: Block,
        /// The body.
        after: Block,
    },
    /// Ends a region with the region's results.
    Yield,
    /// `condition [, mask]`: `tl.device_assert`; a false lane traps when device asserts are on.
    Assert {
        /// The message.
        message: String,
        /// Whether operand 1 is a mask.
        mask: bool,
        /// The origin of the assertion.
        check: AssertedBy,
    },
    /// `tl.device_print(prefix, …)`.
    Print {
        /// The prefix.
        prefix: String,
        /// Whether numbers are printed in base 16.
        hex: bool,
    },
    /// `condition`: `tl.assume`; a false lane makes the program undefined.
    Assume,
    /// `condition`: a requirement of a tensor descriptor; a false lane makes the program undefined.
    Demand(Demand),
    /// `tl.debug_barrier()`: lanes see each other's earlier writes.
    Barrier,
    /// Acquires everything that volatile loads just before it read: an atomic load acquires.
    Acquire,
    /// One operand, returned as it is, with promises (`multiple_of`, `max_contiguous`, `max_constancy`), one number a
    /// dimension; a false promise is undefined.
    Hint {
        /// The kind of promise.
        promise: Promise,
        /// The numbers.
        values: Shape,
    },
    /// An undefined value: a variable on a path that does not bind it, or `tl.load` past a mask.
    Poison,
    /// The result cannot be computed by the reference yet; running it is `unsupported` with this name.
    Unsupported(String),
}

impl OpKind {
    /// Whether the operation itself reads or writes memory; its regions don't count.
    pub const fn accesses_memory(&self) -> bool {
        matches!(
            self,
            Self::Load { .. }
                | Self::Store { .. }
                | Self::AtomicRmw { .. }
                | Self::AtomicCas { .. }
                | Self::AtomicPoll { .. }
        )
    }

    /// The regions, in order.
    pub fn regions(&self) -> impl Iterator<Item = &Block> {
        let (first, second) = match self {
            Self::Reduce { region, .. } | Self::Scan { region, .. } => (Some(region), None),
            Self::For { body } => (Some(body), None),
            Self::If {
                then_block,
                else_block,
            } => (Some(then_block), Some(else_block)),
            Self::While { before, after } => (Some(before), Some(after)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The regions, in order, to be changed.
    pub fn regions_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let (first, second) = match self {
            Self::Reduce { region, .. } | Self::Scan { region, .. } => (Some(region), None),
            Self::For { body } => (Some(body), None),
            Self::If {
                then_block,
                else_block,
            } => (Some(then_block), Some(else_block)),
            Self::While { before, after } => (Some(before), Some(after)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}
