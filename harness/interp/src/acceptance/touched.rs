//! Where atomics of a launch meet: which places several programs or lanes touch, and with what. Left out: what atomics do
//! there (`atomics`).

use std::collections::{BTreeMap, BTreeSet};

use cerith_memory::{Place, StorageId};
use cerith_tile::ir::{AtomicOp, OpKind};

use crate::program::{Code, Op, Program};

/// What is done to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Rmw(AtomicOp),
    Swap,
}

/// Who did what to a place last.
#[derive(Clone, Copy, Debug)]
struct Touch {
    program: u64,
    access: u64,
    deed: Deed,
}

/// What atomics of a launch touched.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    program: u64,
    /// Counts the operations, so that the lanes of one are known.
    pub(super) access: u64,
    places: BTreeMap<(StorageId, usize), Touch>,
    /// Where programs or lanes meet, and which of those places see more than one kind of operation.
    met: BTreeSet<(StorageId, usize)>,
    mixed: BTreeSet<(StorageId, usize)>,
    known: usize,
}

impl Touched {
    /// A program begins.
    pub(super) const fn enter(&mut self, program: u64) {
        self.program = program;
    }

    /// Whether more places are met at than was known from the start.
    pub(super) fn surprised(&self) -> bool {
        self.met.len() + self.mixed.len() > self.known
    }

    /// The places, for another execution.
    pub(super) fn known(&self) -> Self {
        Self {
            met: self.met.clone(),
            mixed: self.mixed.clone(),
            known: self.met.len() + self.mixed.len(),
            ..Self::default()
        }
    }

    /// Notes an access.
    pub(super) fn touch(&mut self, place: Place, deed: Deed) {
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
    pub(super) fn meets(&self, place: Place) -> bool {
        self.met.contains(&(place.storage, place.offset))
    }

    /// Whether what is left there depends on the order.
    pub(super) fn mixes(&self, place: Place, deed: Deed) -> bool {
        let commutes = !matches!(deed, Deed::Swap | Deed::Rmw(AtomicOp::Xchg));
        self.meets(place) && (!commutes || self.mixed.contains(&(place.storage, place.offset)))
    }
}

/// Whether a launch has atomics whose order may show in anything but the rounding of a sum.
pub(super) fn matter(program: &Program) -> bool {
    fn code(program: &Program, block: &Code) -> bool {
        block.steps.iter().any(|step| match &step.op {
            Op::Plain(OpKind::AtomicRmw { op, .. }) => {
                *op == AtomicOp::Xchg || step.outs.iter().any(|&out| program.used[out as usize])
            }
            Op::Plain(OpKind::AtomicCas { .. } | OpKind::AtomicPoll { .. }) => true,
            Op::For(inner) | Op::Reduce { code: inner, .. } | Op::Scan { code: inner, .. } => {
                code(program, inner)
            }
            Op::If(one, other) | Op::While(one, other) => code(program, one) || code(program, other),
            Op::Plain(_) | Op::Binary(_) | Op::Unary(_) => false,
        })
    }
    code(program, &program.prologue) || code(program, &program.body)
}
