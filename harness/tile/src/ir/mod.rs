//! The typed kernel IR: what the frontend traces a kernel to and the interpreter executes.
//!
//! It is in SSA form with structured control flow, close to Triton's TTIR with `scf`: a [`Function`] owns a table of
//! values and one body [`Block`]; operations that hold code (`for`, `if`, `while`, `reduce`, `scan`) hold blocks.
//! Each operation knows where in the Python source it came from, through inlined calls ([`Loc`]).
//!
//! The frontend resolves tuples, `constexpr`s and calls of `@triton.jit` functions away.

mod choice;
mod executed;
mod foreign;
mod function;
mod lane_order;
mod op;
mod operator;
mod printer;
mod signature;
mod types;
mod verifier;
mod violation;

pub use choice::Choice;
pub use foreign::Foreign;
pub use function::{Block, Builder, Function, Loc, LocId, Operation, Param, ValueId, ValueInfo};
pub use lane_order::LaneOrder;
pub use op::OpKind;
pub use operator::{
    AssertedBy, AtomicOp, BinaryOp, CastKind, CmpPredicate, Combine, Demand, InputPrecision, MemoryOrder,
    Promise, Rounding, TernaryOp, UnaryOp,
};
pub use types::{Elem, Shape, Type};
pub use verifier::{MAX_NUMEL, VerifyError};
pub use violation::Violation;

#[cfg(test)]
mod tests;
