//! Explains why a mask enabled a lane: its comparisons, with the compared numbers. Not explained: masks from memory, and
//! comparisons of anything except integers computed from program ids, ranges, parameters and loops.

use std::collections::HashMap;

use cerith_tile::ir::{BinaryOp, Block, CastKind, CmpPredicate, Function, OpKind, Operation, ValueId};
use cerith_tile::source::Span;

use crate::affine::RANK;
use crate::machine::Machine;
use crate::outcome::{Stop, TrapKind};
use crate::program::Slot;
use crate::value::Repr;

/// Maximum depth of the search through operands.
const MAX_DEPTH: usize = 32;

/// Maximum comparisons in a message.
const MAX_COMPARISONS: usize = 4;

impl Machine<'_> {
    /// Adds the numbers that the mask compared in the lane to the trap.
    #[cold]
    pub(crate) fn with_mask(&self, stop: Stop, mask: Option<Slot>) -> Stop {
        let mut trap = match stop {
            Stop::Trap(trap) if trap.kind == TrapKind::OutOfBounds => trap,
            other => return other,
        };
        let Some(mask) = mask else {
            return Stop::Trap(trap);
        };
        let mut definitions = HashMap::new();
        collect(&self.program.function.body, &mut definitions);
        let search = Search {
            machine: self,
            function: &self.program.function,
            definitions,
            program: trap.program,
        };
        let mut found = Vec::new();
        search.collect_comparisons(ValueId(mask), trap.lane.unwrap_or(0), 0, &mut found);
        for (span, compared) in found {
            let place = trap
                .lane
                .map_or_else(String::new, |lane| format!(" in lane {lane}"));
            trap.diagnostic.labels.push(cerith_tile::diagnostic::Label {
                span,
                text: format!("true{place}: {compared}"),
                storages: Vec::new(),
                misspelling: None,
            });
        }
        Stop::Trap(trap)
    }
}

fn collect<'f>(block: &'f Block, definitions: &mut HashMap<ValueId, &'f Operation>) {
    for op in &block.ops {
        definitions.extend(op.results.iter().map(|&result| (result, op)));
        for region in op.kind.regions() {
            collect(region, definitions);
        }
    }
}

struct Search<'m> {
    machine: &'m Machine<'m>,
    function: &'m Function,
    definitions: HashMap<ValueId, &'m Operation>,
    program: [u32; 3],
}

impl Search<'_> {
    /// The comparisons that have to be true for a lane to be, each with its place.
    fn collect_comparisons(
        &self,
        value: ValueId,
        lane: usize,
        depth: usize,
        found: &mut Vec<(Span, String)>,
    ) {
        let Some(op) = self.definitions.get(&value) else {
            return;
        };
        if depth > MAX_DEPTH || found.len() >= MAX_COMPARISONS {
            return;
        }
        match (&op.kind, op.operands.as_slice()) {
            (OpKind::Binary(BinaryOp::And), &[a, b]) => {
                self.collect_comparisons(a, lane, depth + 1, found);
                self.collect_comparisons(b, lane, depth + 1, found);
            }
            (OpKind::Splat | OpKind::Broadcast | OpKind::Reshape { reorder: false }, &[from]) => {
                if let Some(lane) = self.lane_of(op, from, lane) {
                    self.collect_comparisons(from, lane, depth + 1, found);
                }
            }
            (OpKind::Compare(predicate), &[a, b]) => {
                let (Some(a), Some(b)) = (
                    self.evaluate_integer(a, lane, 0),
                    self.evaluate_integer(b, lane, 0),
                ) else {
                    return;
                };
                let (sign, holds) = match predicate {
                    CmpPredicate::Eq => ("==", a == b),
                    CmpPredicate::Ne => ("!=", a != b),
                    CmpPredicate::Lt => ("<", a < b),
                    CmpPredicate::Le => ("<=", a <= b),
                    CmpPredicate::Gt => (">", a > b),
                    CmpPredicate::Ge => (">=", a >= b),
                };
                // Numbers that do not fit what happened were not the ones.
                if holds {
                    found.push((self.function.span(op.loc), format!("{a} {sign} {b}")));
                }
            }
            _ => {}
        }
    }

    /// The lane of an operand that a lane of the result comes from.
    fn lane_of(&self, op: &Operation, from: ValueId, lane: usize) -> Option<usize> {
        match op.kind {
            OpKind::Splat => Some(0),
            OpKind::Reshape { .. } => Some(lane),
            OpKind::Broadcast => {
                let to = self.machine.program.layouts.get(op.results.first()?.0 as usize)?;
                let from = self.machine.program.layouts.get(from.0 as usize)?;
                if !to.ruled || !from.ruled {
                    return None;
                }
                let index = to.index(lane);
                let mut at = 0;
                for dimension in 0..RANK {
                    let extent = from.extents[dimension];
                    let index = if extent == 1 { 0 } else { index[dimension] };
                    at = at * extent as usize + index as usize;
                }
                Some(at)
            }
            _ => None,
        }
    }

    /// The integer in a lane, computed again: by now its slot may hold something else.
    fn evaluate_integer(&self, value: ValueId, lane: usize, depth: usize) -> Option<i128> {
        if depth > MAX_DEPTH {
            return None;
        }
        let dtype = self
            .function
            .ty(value)
            .elem
            .num()
            .filter(|dtype| dtype.is_int())?;
        let read = |bits: u64| {
            let width = dtype.bits();
            if dtype.is_signed_int() && width < 64 && bits >> (width - 1) & 1 == 1 {
                i128::from(bits) - (1_i128 << width)
            } else if dtype.is_signed_int() {
                i128::from(bits as i64)
            } else {
                i128::from(bits)
            }
        };
        let Some(op) = self.definitions.get(&value) else {
            return self.read_live_bits(value, lane).map(read);
        };
        let operand = |nth: usize, lane: usize| {
            let from = *op.operands.get(nth)?;
            self.evaluate_integer(from, lane, depth + 1)
        };
        match &op.kind {
            OpKind::Constant(bits) => Some(read(*bits)),
            OpKind::ProgramId(axis) => self.program.get(usize::from(*axis)).map(|&id| i128::from(id)),
            OpKind::Range { start, .. } => Some(i128::from(*start) + lane as i128),
            OpKind::Binary(op) => {
                let (a, b) = (operand(0, lane)?, operand(1, lane)?);
                match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    _ => None,
                }
            }
            OpKind::Cast {
                kind: CastKind::Value,
                ..
            }
            | OpKind::Hint { .. } => operand(0, lane),
            OpKind::Splat | OpKind::Broadcast | OpKind::Reshape { reorder: false } => {
                operand(0, self.lane_of(op, *op.operands.first()?, lane)?)
            }
            _ => None,
        }
    }

    /// The bits of a parameter, or of a value that a loop passes to its body, if they still exist.
    fn read_live_bits(&self, value: ValueId, lane: usize) -> Option<u64> {
        let slot = value.0;
        let is_param = self.function.params.iter().any(|param| param.value == value);
        let held = self.machine.value(slot);
        // A freed slot holds zero.
        let there = is_param || held.buf.is_some() || !matches!(held.repr, Repr::Uniform(0) | Repr::Dense);
        let layout = self.machine.program.layouts.get(slot as usize)?;
        there.then(|| held.bits(lane, layout))
    }
}
