//! The masked loads without `other` of a kernel. See [`super::poison`] for stores of their lanes.

use cerith_tile::ir::{Block, Function, LocId, OpKind};

use crate::program::Slot;

/// A load with a mask and without `other`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaskedLoad {
    pub out: Slot,
    pub loc: LocId,
}

/// Finds the masked loads without `other` of a kernel, sorted by result.
pub(crate) fn find_masked_loads(function: &Function) -> Vec<MaskedLoad> {
    fn visit(block: &Block, to: &mut Vec<MaskedLoad>) {
        for op in &block.ops {
            if let (
                OpKind::Load {
                    mask: true,
                    has_other: false,
                    ..
                },
                &[out],
            ) = (&op.kind, op.results.as_slice())
            {
                to.push(MaskedLoad {
                    out: out.0,
                    loc: op.loc,
                });
            }
            op.kind.regions().for_each(|region| visit(region, to));
        }
    }
    let mut found = Vec::new();
    visit(&function.body, &mut found);
    found.sort_by_key(|load| load.out);
    found
}
