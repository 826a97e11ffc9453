//! What a compiler refuses once the IR is whole. Its passes refuse operations that have no instruction; its front refuses
//! stores through constant pointers, which are easier to see in the whole of the IR.
//!
//! Passes drop what nothing uses before they look at it, so only live operations are asked about. Left out: what is refused
//! for a target's sake, for example by ptxas.

use std::collections::HashSet;

use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{Block, CastKind, Function, LocId, OpKind, Operation, ValueId};
use cerith_tile::rules::Rules;

use crate::gap::Gap;
use crate::semantic::promotion::shown;

/// The first live operation that a pass of the version refuses, as a diagnostic.
pub(super) fn refused(function: &Function, rules: Rules) -> Option<Diagnostic> {
    let mut search = Search {
        function,
        rules,
        live: vec![false; function.values.len()],
        found: None,
    };
    search.block(&function.body, true);
    search.found
}

/// The first store through one of these pointers, or through a pointer that is made of one, as a diagnostic. The front
/// refuses it, live or not. It refuses atomics too, but no compare-and-swap.
pub(super) fn stored(function: &Function, mut read_only: HashSet<ValueId>) -> Option<Diagnostic> {
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
        // A cast to a pointer type gives a pointer that is not constant.
        let stays = pointers.peek().is_some() && !matches!(operation.kind, OpKind::Cast { .. });
        let moved = stays && pointers.all(|operand| read_only.contains(operand));
        // What a loop carries comes last among its operands, its parameters and its results.
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

struct Search<'a> {
    function: &'a Function,
    rules: Rules,
    live: Vec<bool>,
    found: Option<Diagnostic>,
}

/// Whether an operation, or one inside of it, does something besides giving results.
fn acts(operation: &Operation) -> bool {
    match &operation.kind {
        OpKind::Store { .. }
        | OpKind::AtomicRmw { .. }
        | OpKind::AtomicCas { .. }
        | OpKind::AtomicPoll { .. }
        | OpKind::Assert { .. }
        | OpKind::Print { .. }
        | OpKind::Barrier => true,
        kind => kind.regions().any(|region| region.ops.iter().any(acts)),
    }
}

impl Search<'_> {
    /// Goes through a block from its end. `yields` says that what it yields is used.
    fn block(&mut self, block: &Block, yields: bool) {
        for operation in block.ops.iter().rev() {
            let is_yield = matches!(operation.kind, OpKind::Yield);
            let used = operation.results.iter().any(|result| self.is_live(*result));
            if !(used || acts(operation) || is_yield && yields) {
                continue;
            }
            for operand in &operation.operands {
                if let Some(live) = self.live.get_mut(operand.0 as usize) {
                    *live = true;
                }
            }
            if let Some(message) = self.refusal(operation) {
                let span = self.function.span(operation.loc);
                self.found = Some(Diagnostic::error("rejected", span, message));
            }
            for region in operation.kind.regions() {
                self.block(region, true);
            }
        }
    }

    fn is_live(&self, value: ValueId) -> bool {
        self.live.get(value.0 as usize).copied().unwrap_or(true)
    }

    fn dtype(&self, value: Option<&ValueId>) -> Option<DType> {
        self.function
            .values
            .get(value?.0 as usize)
            .and_then(|value| value.ty.elem.num())
    }

    fn refusal(&self, operation: &Operation) -> Option<String> {
        let operand = self.dtype(operation.operands.first())?;
        match &operation.kind {
            OpKind::Dot { .. } => {
                let result = self.dtype(operation.results.first())?;
                (operand.is_float() && result.is_int()).then(|| {
                    format!(
                        "dot of {} into {} has no instruction",
                        shown(operand),
                        shown(result)
                    )
                })
            }
            OpKind::Cast {
                kind: CastKind::Value,
                ..
            } => {
                let result = self.dtype(operation.results.first())?;
                let passes = |dtype| matches!(dtype, DType::F8E4NV | DType::F8E5);
                // Up to 3.2 the compiler aborts, and says that a conversion to an 8-bit float has to be told how to round.
                (operand != result && passes(operand) && passes(result)).then(|| {
                    format!(
                        "cast of {} to {}: a pass of the compiler fails",
                        shown(operand),
                        shown(result)
                    )
                })
            }
            OpKind::Histogram { .. } => (operand.bits() != 32
                && Gap::HistogramOfOtherWidths.holds(self.rules.version))
            .then(|| format!("histogram of {}: a pass of the compiler fails", shown(operand))),
            _ => None,
        }
    }
}
