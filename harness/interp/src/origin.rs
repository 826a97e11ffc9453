//! Finds the parameter that each pointer was derived from. An access through it may reach only that argument's storage.

use cerith_tile::ir::{Block, Elem, Function, OpKind, Operation, ValueId, ValueInfo};

/// The origin of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Not a pointer, or never reached.
    None,
    /// Derived from this parameter only.
    Param(u32),
    /// From several, from memory, or from an integer.
    Any,
}

/// Finds where each pointer comes from, following values through blocks until nothing changes.
pub(crate) fn find_origins(function: &Function) -> Vec<Origin> {
    let mut origins = Origins {
        function,
        by_value: vec![Origin::None; function.values.len()],
        changed: true,
    };
    for (nth, param) in function.params.iter().enumerate() {
        origins.join(param.value, Origin::Param(nth as u32));
    }
    while std::mem::take(&mut origins.changed) {
        origins.block(&function.body);
    }
    origins.by_value
}

struct Origins<'a> {
    function: &'a Function,
    by_value: Vec<Origin>,
    changed: bool,
}

impl Origins<'_> {
    fn get(&self, value: ValueId) -> Origin {
        self.by_value
            .get(value.0 as usize)
            .copied()
            .unwrap_or(Origin::Any)
    }

    fn join(&mut self, value: ValueId, from: Origin) {
        let pointer = |info: &ValueInfo| matches!(info.ty.elem, Elem::Ptr { .. });
        if !self.function.values.get(value.0 as usize).is_some_and(pointer) {
            return;
        }
        let Some(to) = self.by_value.get_mut(value.0 as usize) else {
            return;
        };
        let joined = match (*to, from) {
            (Origin::None, other) | (other, Origin::None) => other,
            (a, b) if a == b => a,
            _ => Origin::Any,
        };
        if *to != joined {
            *to = joined;
            self.changed = true;
        }
    }

    fn join_all(&mut self, to: &[ValueId], from: &[ValueId]) {
        for (&to, &from) in to.iter().zip(from) {
            self.join(to, self.get(from));
        }
    }

    fn find_yields(block: &Block) -> &[ValueId] {
        block
            .ops
            .last()
            .filter(|op| matches!(op.kind, OpKind::Yield))
            .map_or(&[], |op| &op.operands)
    }

    fn block(&mut self, block: &Block) {
        for op in &block.ops {
            self.follow_operation(op);
        }
    }

    fn follow_operation(&mut self, op: &Operation) {
        match &op.kind {
            OpKind::For { body } => {
                let initial = op.operands.get(3..).unwrap_or(&[]);
                let carried = body.args.get(1..).unwrap_or(&[]);
                self.join_all(carried, initial);
                self.block(body);
                self.join_all(carried, Self::find_yields(body));
                self.join_all(&op.results, initial);
                self.join_all(&op.results, Self::find_yields(body));
            }
            OpKind::If {
                then_block,
                else_block,
            } => {
                self.block(then_block);
                self.block(else_block);
                self.join_all(&op.results, Self::find_yields(then_block));
                self.join_all(&op.results, Self::find_yields(else_block));
            }
            OpKind::While { before, after } => {
                self.join_all(&before.args, &op.operands);
                self.block(before);
                let passed = Self::find_yields(before).get(1..).unwrap_or(&[]);
                self.join_all(&after.args, passed);
                self.join_all(&op.results, passed);
                self.block(after);
                self.join_all(&before.args, Self::find_yields(after));
            }
            OpKind::Reduce { region, .. } | OpKind::Scan { region, .. } => {
                for args in region.args.chunks(op.operands.len().max(1)) {
                    self.join_all(args, &op.operands);
                }
                self.block(region);
                self.join_all(&op.results, &op.operands);
                self.join_all(&op.results, Self::find_yields(region));
            }
            OpKind::Load { .. } | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => {
                for &result in &op.results {
                    self.join(result, Origin::Any);
                }
            }
            OpKind::AddPtr => {
                for &result in &op.results {
                    self.join_all(&[result], &op.operands);
                }
            }
            _ => {
                for &result in &op.results {
                    let mut pointers = 0;
                    for &operand in &op.operands {
                        let from = self.get(operand);
                        pointers += usize::from(from != Origin::None);
                        self.join(result, from);
                    }
                    if pointers == 0
                        && !op.operands.is_empty()
                        && !op.operands.iter().any(|&v| self.is_pointer(v))
                    {
                        self.join(result, Origin::Any);
                    }
                }
            }
        }
    }

    fn is_pointer(&self, value: ValueId) -> bool {
        self.function
            .values
            .get(value.0 as usize)
            .is_some_and(|info| info.ty.elem.is_ptr())
    }
}
