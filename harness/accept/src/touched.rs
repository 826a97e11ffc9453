//! Records the addresses that atomics of several programs or lanes access, with their operations. See `atomics` for their
//! effects.

use std::collections::{BTreeMap, BTreeSet};

use cerith_memory::{StorageByte, StorageId};
use cerith_tile::ir::{AtomicOp, OpKind};

use cerith_interp::program::{Code, Op, Program};

/// An access to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Rmw(AtomicOp),
    Swap,
}

/// The last access to an address.
#[derive(Clone, Copy, Debug)]
struct Touch {
    program: u64,
    access: u64,
    deed: Deed,
}

/// The addresses that atomics of a launch accessed.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    program: u64,
    /// Counts the operations, so that the lanes of one are known.
    pub(super) access: u64,
    places: BTreeMap<(StorageId, usize), Touch>,
    /// The addresses where programs or lanes meet, and which of those see more than one kind of operation.
    met: BTreeSet<(StorageId, usize)>,
    mixed: BTreeSet<(StorageId, usize)>,
    known_count: usize,
}

impl Touched {
    /// A program begins.
    pub(super) const fn enter(&mut self, program: u64) {
        self.program = program;
    }

    /// Whether more places are met at than was known from the start.
    pub(super) fn surprised(&self) -> bool {
        self.met.len() + self.mixed.len() > self.known_count
    }

    /// The places, for another execution.
    pub(super) fn clone_places(&self) -> Self {
        Self {
            met: self.met.clone(),
            mixed: self.mixed.clone(),
            known_count: self.met.len() + self.mixed.len(),
            ..Self::default()
        }
    }

    /// Notes an access.
    pub(super) fn touch(&mut self, place: StorageByte, deed: Deed) {
        let at = (place.storage, place.offset);
        let (program, access) = (self.program, self.access);
        let touch = Touch {
            program,
            access,
            deed,
        };
        let Some(before) = self.places.insert(at, touch) else {
            return;
        };
        if before.program != program || before.access == access {
            self.met.insert(at);
        }
        if before.deed != deed {
            self.mixed.insert(at);
        }
    }

    /// Whether what is read there depends on the order.
    pub(super) fn is_met(&self, place: StorageByte) -> bool {
        self.met.contains(&(place.storage, place.offset))
    }

    /// Whether what is left there depends on the order.
    pub(super) fn is_mixed(&self, place: StorageByte, deed: Deed) -> bool {
        let commutes = !matches!(deed, Deed::Swap | Deed::Rmw(AtomicOp::Xchg));
        self.is_met(place) && (!commutes || self.mixed.contains(&(place.storage, place.offset)))
    }
}

/// Whether a launch has atomics whose order may show in anything but the rounding of a sum.
pub(super) fn has_ordered_atomics(program: &Program) -> bool {
    fn has_atomics(program: &Program, block: &Code) -> bool {
        block.steps.iter().any(|step| match &step.op {
            Op::Plain(OpKind::AtomicRmw { op, .. }) => {
                *op == AtomicOp::Xchg || step.outs.iter().any(|&out| program.used[out as usize])
            }
            Op::Plain(OpKind::AtomicCas { .. } | OpKind::AtomicPoll { .. }) => true,
            Op::For(inner) | Op::Reduce { code: inner, .. } | Op::Scan { code: inner, .. } => {
                has_atomics(program, inner)
            }
            Op::If(one, other) | Op::While(one, other) => {
                has_atomics(program, one) || has_atomics(program, other)
            }
            Op::Plain(_) | Op::Binary(_) | Op::Unary(_) => false,
        })
    }
    has_atomics(program, &program.prologue) || has_atomics(program, &program.body)
}
