//! The rules of the IR that a malformed function violates.

use super::printer::DEEPEST;
use super::verifier::MAX_NUMEL;
use super::{Elem, Type};

/// A violated rule of the IR. Types are boxed, because checks return it often and almost never fail.
#[allow(missing_docs, reason = "each message describes its variant")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    // Values and locations.
    #[error("there is no value {0}")]
    NoValue(u32),
    #[error("value {0} is defined twice")]
    DefinedTwice(u32),
    #[error("value {0} is used before it is defined")]
    UsedBefore(u32),
    #[error("value {0} is used outside of its region")]
    UsedOutside(u32),
    #[error("value {0}: {1}")]
    Value(usize, Box<Self>),
    #[error("location {0} has a caller that is defined after it")]
    CallOrder(usize),
    #[error("the operation has no source location")]
    NoLocation,

    // Regions.
    #[error("parameter `{0}` is a block")]
    BlockParameter(String),
    #[error("the body takes arguments")]
    BodyArguments,
    #[error("the function's body yields")]
    BodyYield,
    #[error("regions are nested more than {DEEPEST} deep")]
    Nested,
    #[error("a yield is not the last of its region")]
    EarlyYield,
    #[error("a region does not end with a yield")]
    NoYield,
    #[error("a branch takes arguments")]
    BranchArguments,
    #[error("the test of a loop does not yield one condition")]
    NoCondition,
    #[error("a combine region accesses memory")]
    ImpureCombine,
    #[error("the regions of the operation are not checked")]
    Regions,

    // Types by themselves.
    #[error("the shape has an extent of 0, or a scalar has extents")]
    Extents,
    #[error("{0} does not have 1 to {MAX_NUMEL} lanes")]
    Lanes(Box<Type>),
    #[error("a pointer has no pointee")]
    NoPointee,
    #[error("{0} is not a type of numbers")]
    NoNumbers(Box<Type>),
    #[error("{0} is not a type of pointers")]
    NoPointers(Box<Type>),

    // Operands and results.
    #[error("the number of {part}s is {actual}, not {expected}")]
    Count {
        part: &'static str,
        actual: usize,
        expected: usize,
    },
    #[error("{part} is {actual}, not {expected}")]
    Type {
        part: &'static str,
        actual: Box<Type>,
        expected: Box<Type>,
    },
    #[error("{part} {nth} is {actual}, not {expected}")]
    NthType {
        part: &'static str,
        nth: usize,
        actual: Box<Type>,
        expected: Box<Type>,
    },
    #[error("the {part} is {actual}, whose shape differs from {expected}")]
    Shape {
        part: &'static str,
        actual: Box<Type>,
        expected: Box<Type>,
    },
    #[error("{part} {actual}")]
    Integers {
        /// `the index is`.
        part: &'static str,
        actual: Box<Type>,
    },
    #[error("the operation has no operands")]
    NoOperands,

    // Rules of single operations.
    #[error("{operation} is not defined for {elem}")]
    Undefined { operation: &'static str, elem: Elem },
    #[error("{bits:#x} is too wide for {elem}")]
    Wide { bits: u64, elem: Elem },
    #[error("a grid has no axis {0}")]
    GridAxis(u8),
    #[error("the range is empty")]
    EmptyRange,
    #[error("there are {0} hints for {1}, and each dimension needs one")]
    Promises(usize, Box<Type>),
    #[error("there is no {kind} from {from} to {to}")]
    Cast {
        kind: &'static str,
        from: Box<Type>,
        to: Box<Type>,
    },
    #[error("the elements of {0} differ from those of the result, {1}")]
    Element(Box<Type>, Box<Type>),
    #[error("a splat takes a scalar and returns a block, not {0} and {1}")]
    Splat(Box<Type>, Box<Type>),
    #[error("{0} cannot be broadcast to {1}")]
    Broadcast(Box<Type>, Box<Type>),
    #[error("{0} and {1} have different numbers of lanes")]
    Reshape(Box<Type>, Box<Type>),
    #[error("{order:?} does not permute {operand}")]
    Order { order: Vec<usize>, operand: Box<Type> },
    #[error("a scalar cannot be split")]
    ScalarSplit,
    #[error("the last extent of {0} is not 2")]
    SplitExtent(Box<Type>),
    #[error("scalars cannot be concatenated")]
    ScalarCat,
    #[error("{0} and {1} differ in an axis other than {2}")]
    Gather(Box<Type>, Box<Type>, usize),
    #[error("{0} has no axis {1}")]
    NoAxis(Box<Type>, usize),
    #[error("the operands {0} and {1} have different shapes")]
    OperandLanes(Box<Type>, Box<Type>),
    #[error("bounds and step are {}, {} and {}, not scalar integers of one type", .0[0], .0[1], .0[2])]
    Bounds(Box<[Type; 3]>),
    #[error("the operation has no pointer")]
    NoPointer,
    #[error("the operation does not access memory")]
    NoMemory,
    #[error("a load has `other` but no mask")]
    UnmaskedOther,
    #[error("a poll compares integers, not {0}")]
    Poll(Elem),
    #[error("the product of {} and {} is not {}", .0[0], .0[1], .0[2])]
    Dot(Box<[Type; 3]>),
}

/// The result of a check of a rule.
pub(super) type Check<T = ()> = Result<T, Violation>;

/// Fails if a rule does not hold.
pub(super) fn ensure(holds: bool, violation: impl FnOnce() -> Violation) -> Check {
    if holds { Ok(()) } else { Err(violation()) }
}

/// A copy of a type, for a violation.
#[allow(clippy::unnecessary_box_returns, reason = "violations have boxed types")]
pub(super) fn copy(ty: &Type) -> Box<Type> {
    Box::new(ty.clone())
}
