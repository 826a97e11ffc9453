//! What a kernel does, for bugs that are known only by that ([`Form`]). Left out: how a compiler lays out its lanes.

use std::collections::HashSet;

use cerith_tile::ir::{Block, Function, OpKind, ValueId};
use cerith_tile::quirk::told::Form;

/// Whether a kernel that so many lanes execute does this.
pub fn has_form(function: &Function, form: Form, lanes: usize) -> bool {
    match form {
        Form::ScanOfFewLanes => any(&function.body, &mut |kind, operands| {
            let few = |&value: &ValueId| function.ty(value).numel() < lanes;
            matches!(kind, OpKind::Scan { .. }) && operands.iter().any(few)
        }),
        Form::ReductionOfReshaped => {
            let mut reshaped = HashSet::new();
            shapes(&function.body, &mut reshaped);
            any(&function.body, &mut |kind, operands| {
                matches!(kind, OpKind::Reduce { .. }) && operands.iter().any(|value| reshaped.contains(value))
            })
        }
    }
}

fn any(block: &Block, test: &mut impl FnMut(&OpKind, &[ValueId]) -> bool) -> bool {
    block
        .ops
        .iter()
        .any(|op| test(&op.kind, &op.operands) || op.kind.regions().any(|region| any(region, test)))
}

/// Values that were given another shape, and values that are moved or computed lane by lane from them.
fn shapes(block: &Block, reshaped: &mut HashSet<ValueId>) {
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
        op.kind.regions().for_each(|region| shapes(region, reshaped));
    }
}
