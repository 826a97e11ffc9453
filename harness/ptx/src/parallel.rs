//! Clusters of one launch in several threads, if none accesses memory that an earlier one writes.
//!
//! Each thread runs a sequence of clusters on its own copy of the memory, and records which bytes they read and write
//! ([`crate::footprint`]). If a sequence accesses bytes that an earlier one writes, or if anything else would depend on the order
//! (a trap, a limit, printed text, an uninitialised value, a written variable of the module), the results are discarded, and the
//! launch continues in one thread. So the result is that of one thread, with any number of threads.
//!
//! A copy costs time, so threads run only launches that execute much for each byte of memory. Kernels with local memory run in
//! one thread, because it keeps the values of earlier blocks.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cerith_memory::Memory;

use crate::config::{Config, Launch};
use crate::footprint::{Footprint, Footprints};
use crate::global::Race;
use crate::kernel::Kernel;
use crate::machine::{ReportKey, Stop};
use crate::outcome::{Finding, MOST_FINDINGS};
use crate::sequence::{Run, Sequence};

/// Bytes whose copy takes as long as an instruction of a warp.
const COPIED_PER_STEP: u64 = 64;

/// The result of one thread.
struct Part {
    memory: Memory,
    scratch: Vec<u8>,
    footprints: Footprints,
    findings: Vec<(ReportKey, Finding)>,
    executed: Vec<bool>,
    race: Option<Race>,
    has_shared_atomics: bool,
    used: u64,
}

impl Sequence<'_> {
    /// Runs all clusters of a launch.
    pub(crate) fn run_all(&mut self, clusters: u64) -> Result<(), Stop> {
        self.run_clusters(0..clusters.min(1))?;
        if self.is_worth_threads(clusters) && self.run_in_threads(1..clusters) {
            return Ok(());
        }
        self.run_clusters(clusters.min(1)..clusters)
    }

    /// As many threads as are allowed, have a cluster, and have room for their copies.
    fn count_threads(&self, clusters: u64) -> u64 {
        let machine = &self.machine;
        let copied = (machine.memory.arena().0.len() as u64)
            .saturating_mul(2)
            .saturating_add(machine.scratch.len() as u64)
            .saturating_add(self.bytes);
        let room = machine.config.memory_limit / copied.max(1);
        u64::from(machine.config.threads)
            .min(clusters.saturating_sub(1))
            .min(room)
    }

    /// Whether to run the other clusters of a launch in threads, after the first has run.
    fn is_worth_threads(&self, clusters: u64) -> bool {
        let machine = &self.machine;
        let threads = self.count_threads(clusters);
        let work = machine.count_used().saturating_mul(clusters.saturating_sub(1));
        let copied = (machine.memory.arena().0.len() as u64).saturating_mul(threads);
        let least = machine.config.share_work.max(copied / COPIED_PER_STEP);
        let can_share = machine.kernel.private == 0 && !self.run.clean && !machine.depends_on_order();
        threads > 1 && can_share && (machine.config.share_work == 0 || work > least)
    }

    /// Runs clusters in threads. Returns whether it did; if not, nothing has happened.
    fn run_in_threads(&mut self, clusters: Range<u64>) -> bool {
        let threads = self.count_threads(clusters.end);
        let count = clusters.end.saturating_sub(clusters.start);
        let share = count.div_ceil(threads.max(1)).max(1);
        let left = self.machine.count_left();
        let stopped = AtomicBool::new(false);
        let plan = Plan {
            kernel: self.machine.kernel,
            launch: self.machine.launch,
            config: self.machine.config,
            memory: self.machine.memory,
            scratch: &self.machine.scratch,
            globals: &self.machine.globals,
            run: self.run,
            left,
            stopped: &stopped,
        };
        let parts: Option<Vec<Part>> = thread::scope(|scope| {
            let started: Vec<_> = (0..threads)
                .map(|nth| {
                    let start = clusters.start.saturating_add(nth.saturating_mul(share));
                    let range = start.min(clusters.end)..start.saturating_add(share).min(clusters.end);
                    let handle = thread::Builder::new().spawn_scoped(scope, move || plan.run_part(range));
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
        match parts {
            Some(parts) if !have_conflicts(&parts, left) => {
                self.merge(parts);
                true
            }
            _ => false,
        }
    }

    /// Adds the results of all threads, in the order of the clusters.
    fn merge(&mut self, parts: Vec<Part>) {
        let machine = &mut self.machine;
        for part in parts {
            part.footprints.arena.copy_arena(&part.memory, machine.memory);
            part.footprints
                .scratch
                .copy_bytes(&part.scratch, &mut machine.scratch);
            for (key, finding) in part.findings {
                if machine.reported.len() < MOST_FINDINGS && !machine.reported.contains(&key) {
                    machine.reported.push(key);
                    machine.findings.push(finding);
                }
            }
            for (all, executed) in machine.executed.iter_mut().zip(part.executed) {
                *all |= executed;
            }
            if let Some(global) = &mut machine.global {
                global.race = global.race.or(part.race);
                global.has_shared_atomics |= part.has_shared_atomics;
            }
            machine.deduct_steps(part.used);
        }
    }
}

/// Whether one thread would have left another result: a sequence accesses what an earlier one writes, or all need more
/// instructions than are `left`.
fn have_conflicts(parts: &[Part], left: u64) -> bool {
    let used = parts.iter().map(|part| part.used).fold(0, u64::saturating_add);
    let mut pairs = parts.iter().enumerate().flat_map(|(nth, later)| {
        let earlier = parts.iter().take(nth);
        earlier.map(move |earlier| (&earlier.footprints, &later.footprints))
    });
    used > left
        || pairs.any(|(earlier, later)| {
            earlier.arena.conflicts_with(&later.arena) || earlier.scratch.conflicts_with(&later.scratch)
        })
}

/// The state of a launch in which all sequences begin.
#[derive(Clone, Copy)]
struct Plan<'a> {
    kernel: &'a Kernel,
    launch: &'a Launch<'a>,
    config: &'a Config<'a>,
    memory: &'a Memory,
    scratch: &'a [u8],
    globals: &'a [u8],
    run: Run,
    /// Instructions left.
    left: u64,
    /// Set if a sequence ends early.
    stopped: &'a AtomicBool,
}

impl Plan<'_> {
    /// Runs a sequence of clusters on a copy of the memory. `None` if its result would depend on the order.
    fn run_part(&self, clusters: Range<u64>) -> Option<Part> {
        let mut memory = self.memory.clone();
        let mut sequence = Sequence::new(self.kernel, self.launch, &mut memory, self.config, self.run);
        let machine = &mut sequence.machine;
        machine.scratch.copy_from_slice(self.scratch);
        machine.globals.copy_from_slice(self.globals);
        machine.fuel = self.left;
        machine.abandoned = Some(self.stopped);
        machine.footprints = Some(Footprints {
            arena: Footprint::new(machine.memory.arena().0.len()),
            scratch: Footprint::new(self.scratch.len()),
        });
        let ended = sequence.run_clusters(clusters);
        let machine = sequence.machine;
        if ended.is_err() || machine.depends_on_order() {
            self.stopped.store(true, Ordering::Relaxed);
            return None;
        }
        let used = self.left.saturating_sub(machine.count_left());
        let global = machine.global;
        Some(Part {
            scratch: machine.scratch,
            footprints: machine.footprints?,
            findings: machine.reported.into_iter().zip(machine.findings).collect(),
            executed: machine.executed,
            race: global.as_ref().and_then(|global| global.race),
            has_shared_atomics: global.is_some_and(|global| global.has_shared_atomics),
            used,
            memory,
        })
    }
}
