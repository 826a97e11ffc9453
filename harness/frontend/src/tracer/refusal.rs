//! Errors that a compiler finds in the complete IR. Its passes refuse operations that have no instruction; its frontend
//! refuses stores through constant pointers, which are easier to find in the complete IR.
//!
//! Passes drop unused operations first, so only live operations are checked. Errors that depend on the target, for example
//! from ptxas, are not modelled.

use std::collections::HashSet;

use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{
    BinaryOp, Block, CastKind, Function, LocId, OpKind, Operation, TernaryOp, UnaryOp, ValueId,
};
use cerith_tile::rules::Rules;
use cerith_tile::source::{SourceId, Span};

use cerith_language::gap::Gap;
use cerith_language::lowering::diagnostic_at;
use cerith_language::semantic::promotion::describe_dtype;

use super::liveness::live_operations;

/// The first live operation that a pass of the version refuses, as a diagnostic. `library` has the files of Triton's own.
pub(super) fn find_refusal(
    function: &Function,
    rules: Rules,
    library: &HashSet<SourceId>,
) -> Option<Diagnostic> {
    let operations = live_operations(function, rules);
    operations.into_iter().find_map(|operation| {
        let message = refuse(function, operation, rules)?;
        let mut places: Vec<Span> = function.call_stack(operation.loc).collect();
        places.reverse();
        Some(diagnostic_at(places, library, "rejected", message).by_pass())
    })
}

/// The reason why a pass of the version refuses an operation of a function if its result is used.
pub(crate) fn find_refusal_if_used(function: &Function, rules: Rules) -> Option<String> {
    let mut refused = None;
    function.body.visit_operations(&mut |operation| {
        refused = refused.take().or_else(|| refuse(function, operation, rules));
    });
    refused
}

/// The first store through one of these pointers, or through a pointer computed from one, as a diagnostic. The compiler's
/// frontend refuses it, live or not. It refuses atomics too, except compare-and-swap.
pub(super) fn find_constant_store(
    function: &Function,
    mut read_only: HashSet<ValueId>,
) -> Option<Diagnostic> {
    if read_only.is_empty() {
        return None;
    }
    let at = first_store(function, &function.body, &mut read_only)?;
    Some(Diagnostic::error(
        "rejected",
        function.span(at),
        "Cannot store to a constant pointer",
    ))
}

fn first_store(function: &Function, block: &Block, read_only: &mut HashSet<ValueId>) -> Option<LocId> {
    for operation in &block.ops {
        let stores = matches!(operation.kind, OpKind::Store { .. } | OpKind::AtomicRmw { .. });
        if stores
            && operation
                .operands
                .first()
                .is_some_and(|pointer| read_only.contains(pointer))
        {
            return Some(operation.loc);
        }
        let pointer = |value: &ValueId| {
            let value = function.values.get(value.0 as usize);
            value.is_some_and(|value| value.ty.elem.pointee().is_some())
        };
        let mut pointers = operation
            .operands
            .iter()
            .filter(|&operand| pointer(operand))
            .peekable();
        // A pointer from a cast is not constant.
        let stays = pointers.peek().is_some() && !matches!(operation.kind, OpKind::Cast { .. });
        let moved = stays && pointers.all(|operand| read_only.contains(operand));
        // The values that a loop carries come last among its operands, its parameters and its results.
        for region in operation.kind.regions() {
            for (operand, arg) in operation.operands.iter().rev().zip(region.args.iter().rev()) {
                if pointer(arg) && read_only.contains(operand) {
                    read_only.insert(*arg);
                }
            }
            if let Some(at) = first_store(function, region, read_only) {
                return Some(at);
            }
        }
        if moved {
            read_only.extend(operation.results.iter().filter(|&result| pointer(result)));
        }
    }
    None
}

/// The reason why a pass of the version refuses an operation whose result is used.
fn refuse(function: &Function, operation: &Operation, rules: Rules) -> Option<String> {
    let dtype = |value: Option<&ValueId>| {
        let value = function.values.get(value?.0 as usize)?;
        value.ty.elem.num()
    };
    let operand = dtype(operation.operands.first())?;
    match &operation.kind {
        OpKind::Dot { .. } => {
            let result = dtype(operation.results.first())?;
            (operand.is_float() && result.is_int()).then(|| {
                format!(
                    "dot of {} into {} has no instruction",
                    describe_dtype(operand),
                    describe_dtype(result)
                )
            })
        }
        OpKind::Cast {
            kind: CastKind::Value,
            ..
        } => {
            let result = dtype(operation.results.first())?;
            let passes = |dtype| matches!(dtype, DType::F8E4NV | DType::F8E5);
            // Up to 3.2 the compiler aborts, because a conversion to an 8-bit float needs a rounding mode.
            (operand != result && passes(operand) && passes(result)).then(|| {
                format!(
                    "cast of {} to {}: a pass of the compiler fails",
                    describe_dtype(operand),
                    describe_dtype(result)
                )
            })
        }
        OpKind::Histogram { .. } => {
            (operand.bits() != 32 && Gap::HistogramOfOtherWidths.holds(rules.version)).then(|| {
                format!(
                    "histogram of {}: a pass of the compiler fails",
                    describe_dtype(operand)
                )
            })
        }
        OpKind::Binary(_) | OpKind::Ternary(_) | OpKind::Compare(_) | OpKind::Unary(UnaryOp::Neg) => {
            operand.is_fp8().then(|| {
                format!(
                    "{} of {operand}: it can only be moved and converted",
                    describe_op(&operation.kind)
                )
            })
        }
        _ => None,
    }
}

/// An operation that the passes do not lower for 8-bit floats, in the language's words (compile-only runs of 3.0.0 to 3.9.0
/// for NVIDIA's GPUs; `fadd` of `fp8e4b8` and `fp8e5b16` by 3.9.0 for AMD's).
const fn describe_op(kind: &OpKind) -> &'static str {
    match kind {
        OpKind::Binary(BinaryOp::Add) => "+",
        OpKind::Binary(BinaryOp::Sub) | OpKind::Unary(_) => "-",
        OpKind::Binary(BinaryOp::Mul) => "*",
        OpKind::Binary(BinaryOp::Div) => "/",
        OpKind::Binary(BinaryOp::DivRn) => "fdiv",
        OpKind::Binary(BinaryOp::Max | BinaryOp::MaxPropagateNan) => "maximum",
        OpKind::Binary(BinaryOp::Min | BinaryOp::MinPropagateNan) => "minimum",
        OpKind::Ternary(TernaryOp::Fma) => "fma",
        OpKind::Ternary(_) => "clamp",
        OpKind::Compare(_) => "a comparison",
        _ => "arithmetic",
    }
}
