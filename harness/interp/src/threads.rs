//! Runs programs of one launch in several threads, if the survey shows that no two of them share a byte of memory.
//!
//! Each thread runs a sequence of programs on its own copy of the memory, and the changes of all copies are merged in the
//! end; so nothing is shared while programs run. The result is the same as in one thread: if anything stops (a trap, a
//! limit), the results are discarded, and the launch continues in one thread from its earlier state. A copy costs time too,
//! so threads run only launches that compute much for each byte that they may access ([`Machine::is_worth_threads`]).
//!
//! Launches whose programs print run in one thread, because their lines have an order. So do launches with sparse storages,
//! because the copies would have different pages.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cerith_memory::Memory;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::LocId;

use crate::checks::divisions::Divisions;
use crate::config::{Config, ParamValue};
use crate::machine::{Machine, bind};
use crate::outcome::Stats;
use crate::program::Program;
use crate::state::State;

/// Work that takes as long as copying a byte and its state, and comparing them.
const PER_BYTE: u64 = 8;

/// Bytes of stack, as a job of the command line has: a kernel's blocks nest.
const STACK: usize = 64 << 20;

/// The result of one thread.
struct Part {
    memory: Memory,
    stats: Stats,
    used: u64,
    divisions: Divisions,
    remarks: Vec<(LocId, Diagnostic)>,
}

/// The input of all threads.
#[derive(Clone, Copy)]
struct Launch<'a> {
    program: &'a Program,
    grid: [u32; 3],
    args: &'a [ParamValue],
    memory: &'a Memory,
    config: &'a Config<'a>,
    programs: u64,
    /// The total fuel; `prologue` is the part that every thread spends again on the prologue.
    fuel: u64,
    prologue: u64,
    stopped: &'a AtomicBool,
}

impl Machine<'_> {
    /// As many as are allowed, have a program, and whose copies of the memory stay within the limit of values.
    fn thread_count(&self, programs: u64) -> u64 {
        let copy = self.memory.arena().0.len().saturating_mul(2).max(1);
        let room = (self.config.memory_limit / copy) as u64;
        u64::from(self.config.threads)
            .min(programs.saturating_sub(1))
            .min(room)
    }

    /// Whether to run the other programs of a launch in threads, now that one has run.
    pub(crate) fn is_worth_threads(&self, programs: u64) -> bool {
        let threads = self.thread_count(programs);
        let work = self.used().saturating_mul(programs);
        let copied = (self.memory.arena().0.len() as u64).saturating_mul(threads);
        let least = self.config.share_work.max(copied.saturating_mul(PER_BYTE));
        // A launch that would exhaust its fuel does so in one thread.
        let ends = work <= self.fuel_left();
        let shareable = !self.program.prints && !self.memory.has_sparse();
        threads > 1 && ends && shareable && (self.config.share_work == 0 || work > least)
    }

    /// Runs the programs from the `from`th on in threads. Whether it did; if not, nothing has happened.
    pub(crate) fn in_threads(&mut self, from: u64, programs: u64) -> bool {
        let threads = self.thread_count(programs);
        let share = programs.saturating_sub(from).div_ceil(threads.max(1)).max(1);
        let stopped = AtomicBool::new(false);
        let left = self.fuel_left();
        let launch = Launch {
            program: self.program,
            grid: self.grid,
            args: self.args,
            memory: self.memory,
            config: self.config,
            programs,
            fuel: left,
            prologue: self.prologue,
            stopped: &stopped,
        };
        let parts: Option<Vec<Part>> = thread::scope(|scope| {
            let started: Vec<_> = (0..threads)
                .map(|nth| {
                    let start = from + nth * share;
                    let range = start.min(programs)..start.saturating_add(share).min(programs);
                    let thread = thread::Builder::new().stack_size(STACK);
                    let handle = thread.spawn_scoped(scope, move || launch.run_part(range));
                    stopped.fetch_or(handle.is_err(), Ordering::Relaxed);
                    handle
                })
                .collect();
            // All of them are waited for.
            let ended: Vec<_> = started
                .into_iter()
                .map(|handle| handle.ok()?.join().ok()?)
                .collect();
            ended.into_iter().collect()
        });
        let Some(parts) = parts else { return false };
        let used = parts.iter().map(|part| part.used).fold(0, u64::saturating_add);
        // One after the other they would have run out.
        if used > left {
            return false;
        }
        for part in &parts {
            self.stats.programs += part.stats.programs;
            self.stats.bytes_stored += part.stats.bytes_stored;
            self.stats.bytes_poisoned += part.stats.bytes_poisoned;
            self.stats.bytes_updated += part.stats.bytes_updated;
            self.stats.order_dependent |= part.stats.order_dependent;
            self.stats.endangered |= part.stats.endangered;
            self.divisions.join(&part.divisions);
            for (loc, said) in &part.remarks {
                self.add_remark(*loc, said.clone());
            }
        }
        self.deduct_fuel(used);
        let mut memories = parts.into_iter().map(|part| part.memory);
        if let Some(mut whole) = memories.next() {
            for other in memories {
                put_together(&mut whole, &other, self.memory);
            }
            *self.memory = whole;
        }
        true
    }
}

impl Launch<'_> {
    fn run_part(self, range: Range<u64>) -> Option<Part> {
        let mut memory = self.memory.clone();
        let homes = bind(self.program, self.args, &memory).ok()?;
        let mut state = State::take();
        let mut machine = Machine::new(
            self.program,
            &mut state,
            self.grid,
            self.args,
            &mut memory,
            self.config,
            homes,
        );
        let given = self.fuel.saturating_add(self.prologue);
        machine.launch_fuel = given;
        let ended = machine.run_programs(range, self.programs, Some(self.stopped));
        let used = given
            .saturating_sub(machine.fuel_left())
            .saturating_sub(self.prologue);
        let (stats, divisions) = (machine.stats, std::mem::take(&mut machine.divisions));
        let remarks = std::mem::take(&mut machine.remarks);
        state.empty();
        state.give();
        if ended.is_err() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        (!self.stopped.load(Ordering::Relaxed)).then_some(Part {
            memory,
            stats,
            used,
            divisions,
            remarks,
        })
    }
}

/// Bytes that are compared at a time.
const CHUNK: usize = 4096;

/// Copies the bytes of `other` that differ from `original` into `whole`. Threads change different bytes.
fn put_together(whole: &mut Memory, other: &Memory, original: &Memory) {
    let (bytes, states) = whole.arena_mut();
    let ((other_bytes, other_states), (old_bytes, old_states)) = (other.arena(), original.arena());
    copy_changed(bytes, other_bytes, old_bytes);
    copy_changed(states, other_states, old_states);
}

fn copy_changed<T: Copy + PartialEq>(whole: &mut [T], other: &[T], original: &[T]) {
    let chunks = whole
        .chunks_mut(CHUNK)
        .zip(other.chunks(CHUNK).zip(original.chunks(CHUNK)));
    for (whole, (other, original)) in chunks {
        if other == original {
            continue;
        }
        for (to, (new, old)) in whole.iter_mut().zip(other.iter().zip(original)) {
            if new != old {
                *to = *new;
            }
        }
    }
}
