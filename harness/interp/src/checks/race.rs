//! Data races between the programs of a launch, exact to the byte.
//!
//! Programs run one after the other, in the order of their ids unless another order is requested. For every byte, the
//! shadow records the last program that wrote it and the first one that read it. That is enough, because a later program is
//! later than both. Two programs race if one changes a byte that the other reads, or both write it with different values.
//! Atomics race with plain accesses, but not with each other. [`super::happens_before`] determines which programs are ordered, by
//! locks and by counters of arrivals.
//!
//! Storages in which programs can't meet according to the survey aren't checked ([`crate::survey`]).
//!
//! Known misses: a program that writes a byte twice, one of the values being another program's; an order that holds only
//! because programs run in the order of their ids.

mod shadow;

use cerith_memory::Memory;
use cerith_tile::ir::{Function, LocId, OpKind, Operation};

pub(crate) use shadow::{Conflict, Shadow};

use super::{Access, Site, place_at, program_id, storage_at_index};
use crate::outcome::{Stop, TrapKind};

/// The trap for two programs that raced. `lane` of this program did it.
#[cold]
pub(crate) fn trap(
    site: Site<'_>,
    memory: &Memory,
    access: Access,
    lane: usize,
    conflict: Conflict,
    grid: [u32; 3],
) -> Stop {
    let kind = TrapKind::Race;
    let other = conflict.other_program.map_or_else(
        || "another program".to_owned(),
        |number| {
            let (x, y) = (grid[0].max(1), grid[1].max(1));
            format!(
                "program {}",
                program_id([number % x, number / x % y, number / x / y])
            )
        },
    );
    let did = match conflict.did {
        Access::Load => "reads",
        Access::Store if access == Access::Store => "writes another value to",
        Access::Store => "writes",
        Access::Atomic => "atomically updates",
    };
    let diagnostic = site
        .build_diagnostic(
            kind,
            Some(lane),
            format!("{} of bytes that {other} {did}", access.name()),
        )
        .about_storages(storage_at_index(memory, conflict.index))
        .note(format!("they are at {}", place_at(memory, conflict.index)))
        .note("programs of a launch run in any order, or at once");
    let diagnostic = match find_weak_lock(site.function) {
        Some(WeakLock { loc, help }) => diagnostic
            .label(site.function.span(loc), "the lock does not order this access")
            .help(help),
        None => diagnostic.help("let each program own what it writes, or use atomics"),
    };
    site.trap(kind, Some(lane), diagnostic)
}

/// A lock whose atomics are too weak to order what it protects.
struct WeakLock {
    loc: LocId,
    help: &'static str,
}

/// Finds a lock, which a scalar `atomic_cas` takes, that is taken without acquiring or given back without releasing
/// ([`super::happens_before`] has the rules).
fn find_weak_lock(function: &Function) -> Option<WeakLock> {
    let (mut lock, mut taken, mut given) = (None, None, None);
    let is_scalar = |op: &Operation| {
        op.results
            .first()
            .is_some_and(|&out| function.ty(out).is_scalar())
    };
    function.body.visit_operations(&mut |op| match op.kind {
        OpKind::AtomicCas { order } if is_scalar(op) => {
            lock = lock.or(Some(op.loc));
            if !order.acquires() {
                taken = taken.or(Some(op.loc));
            }
        }
        OpKind::AtomicRmw { order, .. } if is_scalar(op) && !order.releases() => {
            given = given.or(Some(op.loc));
        }
        _ => {}
    });
    lock?;
    let taken = taken.map(|loc| WeakLock {
        loc,
        help: "take the lock with `sem=\"acquire\"` or `sem=\"acq_rel\"`",
    });
    taken.or_else(|| {
        given.map(|loc| WeakLock {
            loc,
            help: "give the lock back with `sem=\"release\"` or `sem=\"acq_rel\"`",
        })
    })
}
