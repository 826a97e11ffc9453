//! What a compiler's passes refuse of IR that its front makes: operations that they have no instruction for.
//!
//! Passes drop what nothing uses before they look at it, so only what is live is asked about. Left out: what is refused
//! for a target's sake, by ptxas say.

use conch_tile::DType;
use conch_tile::diagnostic::Diagnostic;
use conch_tile::ir::{Block, Function, OpKind, Operation, ValueId};
use conch_tile::rules::Rules;

use super::gap::Gap;
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

struct Search<'a> {
    function: &'a Function,
    rules: Rules,
    live: Vec<bool>,
    found: Option<Diagnostic>,
}

/// Whether an operation does something besides having results, itself or inside of it.
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
            OpKind::Histogram { .. } => (operand.bits() != 32
                && Gap::HistogramOfOtherWidths.holds(self.rules.version))
            .then(|| format!("histogram of {}: a pass of the compiler fails", shown(operand))),
            _ => None,
        }
    }
}
