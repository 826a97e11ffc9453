//! Which operations of a kernel have a [`Form`]. Models are in [`crate::lanes`].

use std::collections::HashSet;

use cerith_tile::ir::{Block, Function, OpKind, Operation, ValueId};
use cerith_tile::quirk::signature::Form;

/// The operations of a kernel that have a form.
pub(crate) struct OperationForms {
    /// Their operands.
    operands: HashSet<ValueId>,
    form: Form,
}

impl OperationForms {
    /// The operations of a kernel that this many lanes execute.
    pub(crate) fn new(function: &Function, form: Form, lanes: usize) -> Self {
        let mut operands = HashSet::new();
        match form {
            Form::ScanOfFewLanes => function.body.visit_operations(&mut |op| {
                let few = |&&value: &&ValueId| function.ty(value).numel() < lanes;
                operands.extend(op.operands.iter().filter(few));
            }),
            Form::ReductionOfReshaped => find_reshaped(&function.body, &mut operands),
        }
        Self { operands, form }
    }

    /// Whether an operation is one of them.
    pub(crate) fn has(&self, op: &Operation) -> bool {
        let is_kind = match self.form {
            Form::ScanOfFewLanes => matches!(op.kind, OpKind::Scan { .. }),
            Form::ReductionOfReshaped => matches!(op.kind, OpKind::Reduce { .. }),
        };
        is_kind && op.operands.iter().any(|operand| self.operands.contains(operand))
    }
}

/// Finds values that were given another shape, and values that are moved or computed lane by lane from them.
fn find_reshaped(block: &Block, reshaped: &mut HashSet<ValueId>) {
    for op in &block.ops {
        let carries = matches!(
            op.kind,
            OpKind::Unary(_)
                | OpKind::Binary(_)
                | OpKind::Cast { .. }
                | OpKind::Select
                | OpKind::Trans { .. }
        );
        let from_reshaped = carries && op.operands.iter().any(|value| reshaped.contains(value));
        if matches!(op.kind, OpKind::Reshape { .. }) || from_reshaped {
            reshaped.extend(&op.results);
        }
        op.kind
            .regions()
            .for_each(|region| find_reshaped(region, reshaped));
    }
}
