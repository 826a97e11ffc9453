//! Records the addresses that atomics of several programs or lanes access, with their operations. See `atomics` for their
//! effects.

use std::collections::{BTreeMap, BTreeSet};

use cerith_memory::{StorageByte, StorageId};
use cerith_tile::ir::{AtomicOp, OpKind};

use cerith_interp::program::{Code, Op, Program};

/// The kind of an atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    Rmw(AtomicOp),
    Swap,
}

/// The last access to an address.
#[derive(Clone, Copy, Debug)]
struct Touch {
    program: u64,
    access: u64,
    kind: AccessKind,
}

/// The addresses that atomics of a launch accessed.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    program: u64,
    /// The number of the current atomic operation. Lanes of one operation have the same number.
    pub(super) access: u64,
    places: BTreeMap<(StorageId, usize), Touch>,
    /// The addresses that several programs, or several lanes of one operation, access.
    met: BTreeSet<(StorageId, usize)>,
    /// The addresses with more than one kind of access.
    mixed: BTreeSet<(StorageId, usize)>,
    /// The size of `met` and `mixed` at the start of the execution.
    known_count: usize,
}

impl Touched {
    /// Starts the accesses of a program.
    pub(super) const fn enter(&mut self, program: u64) {
        self.program = program;
    }

    /// Whether this execution found shared or mixed addresses that were not known at its start.
    pub(super) fn found_new_addresses(&self) -> bool {
        self.met.len() + self.mixed.len() > self.known_count
    }

    /// A record without accesses for another execution, with the shared and mixed addresses of this one.
    pub(super) fn clone_places(&self) -> Self {
        Self {
            met: self.met.clone(),
            mixed: self.mixed.clone(),
            known_count: self.met.len() + self.mixed.len(),
            ..Self::default()
        }
    }

    /// Records an access.
    pub(super) fn touch(&mut self, place: StorageByte, kind: AccessKind) {
        let at = (place.storage, place.offset);
        let (program, access) = (self.program, self.access);
        let touch = Touch {
            program,
            access,
            kind,
        };
        let Some(before) = self.places.insert(at, touch) else {
            return;
        };
        if before.program != program || before.access == access {
            self.met.insert(at);
        }
        if before.kind != kind {
            self.mixed.insert(at);
        }
    }

    /// Whether the value that an atomic reads here depends on the order of programs or lanes.
    pub(super) fn is_met(&self, place: StorageByte) -> bool {
        self.met.contains(&(place.storage, place.offset))
    }

    /// Whether the final value here depends on the order of programs or lanes.
    pub(super) fn is_mixed(&self, place: StorageByte, kind: AccessKind) -> bool {
        let commutes = !matches!(kind, AccessKind::Swap | AccessKind::Rmw(AtomicOp::Xchg));
        self.is_met(place) && (!commutes || self.mixed.contains(&(place.storage, place.offset)))
    }
}

/// Whether the order of a launch's atomics may affect more than the rounding of a sum.
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
