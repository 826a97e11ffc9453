//! Loads of a loop that pass the stores before them, as a pipeline that starts them a stage early does. Not modelled: loads that
//! pass stores of an iteration before, and loops that are not pipelined, which the IR does not tell apart.

use std::collections::HashSet;

use cerith_tile::ir::{Block, OpKind, Operation, ValueId};
use cerith_tile::quirk::Quirk;

use crate::model::{Model, Rewritten};

impl Model {
    /// The loop, with its loads and the operations that they need moved to the front.
    pub(crate) fn loads_first(&self, mut op: Operation) -> Rewritten {
        if !self.has(Quirk::LoadsPassStores) {
            return Rewritten::Same(op);
        }
        let OpKind::For { body } = &mut op.kind else {
            return Rewritten::Same(op);
        };
        let Some(early) = find_early_loads(body) else {
            return Rewritten::Same(op);
        };
        let ops = std::mem::take(&mut body.ops);
        let (first, rest): (Vec<_>, Vec<_>) = ops
            .into_iter()
            .enumerate()
            .partition(|(place, _)| early.contains(place));
        body.ops = first.into_iter().chain(rest).map(|(_, op)| op).collect();
        Rewritten::By(vec![op])
    }
}

/// The places of the loads after a store, and of the operations that they need; `None` if there is no such load, or one needs an
/// operation that is not pure.
fn find_early_loads(body: &Block) -> Option<HashSet<usize>> {
    let store = body
        .ops
        .iter()
        .position(|op| matches!(op.kind, OpKind::Store { .. }))?;
    let mut needed: HashSet<ValueId> = HashSet::new();
    let mut early = HashSet::new();
    for (place, op) in body.ops.iter().enumerate().rev() {
        let load = matches!(op.kind, OpKind::Load { .. });
        let wanted = op.results.iter().any(|result| needed.contains(result));
        if !(wanted || load && place > store) {
            continue;
        }
        if !load && (op.kind.accesses_memory() || op.kind.regions().next().is_some()) {
            return None;
        }
        needed.extend(&op.operands);
        early.insert(place);
    }
    early.iter().any(|&place| place > store).then_some(early)
}
