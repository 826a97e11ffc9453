//! The state that all warps of a launch share: memory, limits, findings. See [`crate::warp`] for warps and
//! [`crate::block`] for their order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cerith_memory::{Memory, ORIGIN};

use crate::agent::Flight;
use crate::barrier::ClusterBarrier;
use crate::clock::Components;
use crate::config::{Config, Launch, SCRATCH_WINDOW};
use crate::cta::Cta;
use crate::footprint::Footprints;
use crate::global::{Global, Race};
use crate::kernel::{Kernel, LOCAL_WINDOW, MODULE_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW};
use crate::meeting::Meetings;
use crate::op::{Address, StateSpace};
use crate::outcome::{
    Exhausted, Finding, FindingKind, InstructionLocation, LaunchOutcome, MOST_FINDINGS, Resource, Thread,
    Trap, TrapKind,
};
use crate::race::{Accessor, Met};
use crate::release::Releases;
use crate::schedule::Scheduler;
use crate::shared::Shared;
use crate::warp::Warp;

/// Steps between two checks of the clock and the stop flag.
const LOOK: u64 = 1 << 12;

/// A finding: its kind and its two steps.
pub(crate) type ReportKey = (FindingKind, u32, u32);

/// Why execution ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    Trap(Box<Trap>),
    Exhausted(Exhausted),
    Stopped,
}

impl From<Stop> for LaunchOutcome {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Trap(trap) => Self::Trapped(trap),
            Stop::Exhausted(exhausted) => Self::Exhausted(exhausted),
            Stop::Stopped => Self::Stopped,
        }
    }
}

/// The memory that an access resolves to, with the offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// In the arena of the storages.
    Arena(usize),
    Shared(usize),
    /// In the lane's own memory.
    Private(usize),
    Parameters(usize),
    Module(usize),
    Scratch(usize),
    /// In the shared memory of another block of the cluster.
    Cluster(u16, usize),
}

/// The state of a launch.
pub(crate) struct Machine<'l> {
    pub(crate) kernel: &'l Kernel,
    pub(crate) launch: &'l Launch<'l>,
    pub(crate) config: &'l Config<'l>,
    pub(crate) memory: &'l mut Memory,
    pub(crate) scratch: Vec<u8>,
    pub(crate) globals: Vec<u8>,
    pub(crate) shared: Shared,
    /// Accesses to the global memory, if races between warps are checked.
    pub(crate) global: Option<Global>,
    /// Accesses to the memory of all blocks, if other threads run other blocks of the launch.
    pub(crate) footprints: Option<Footprints>,
    /// Whether a variable of the module was written.
    pub(crate) has_written_module: bool,
    /// The current block, its rank in the cluster, and its state.
    pub(crate) block: [u32; 3],
    pub(crate) rank: u16,
    pub(crate) cta: Cta,
    /// The states of the other blocks of the cluster, by rank. The slot of the current block is unused.
    pub(crate) other_blocks: Vec<(Cta, Shared)>,
    pub(crate) cluster: ClusterBarrier,
    /// Bulk copies that have not completed.
    pub(crate) flights: Vec<Flight>,
    pub(crate) components: Components,
    pub(crate) releases: Releases,
    pub(crate) meetings: Meetings,
    pub(crate) scheduler: Scheduler,
    /// Whether a `test_wait` returns false instead of waiting.
    pub(crate) tests_fail: bool,
    pub(crate) epoch: u32,
    /// For every step of the kernel, whether it was executed.
    pub(crate) executed: Vec<bool>,
    /// Steps left, and steps until the next check.
    pub(crate) fuel: u64,
    pub(crate) look: u64,
    /// Set if another thread finds that the launch must run in one thread.
    pub(crate) abandoned: Option<&'l AtomicBool>,
    pub(crate) prints: Vec<String>,
    pub(crate) printed: usize,
    pub(crate) findings: Vec<Finding>,
    /// The findings so far, as pairs of steps.
    pub(crate) reported: Vec<ReportKey>,
    /// The first instruction and thread that may have stored an uninitialised value.
    pub(crate) suspect: Option<(u32, Thread)>,
}

impl Machine<'_> {
    pub(crate) fn locate_step(&self, step: u32) -> Option<InstructionLocation> {
        self.kernel.at_step(step)
    }

    pub(crate) fn thread(&self, warp: &Warp, lane: usize) -> Thread {
        Thread {
            block: self.block,
            thread: warp.number * 32 + lane as u32,
        }
    }

    #[cold]
    pub(crate) fn trap(&self, warp: &Warp, lane: usize, kind: TrapKind) -> Stop {
        Stop::Trap(Box::new(Trap {
            kind,
            instruction: self.locate_step(warp.group.step),
            thread: self.thread(warp, lane),
            cause: self.findings.first().cloned().map(Box::new),
        }))
    }

    #[cold]
    pub(crate) fn trap_at(&self, kind: TrapKind, step: u32, thread: Thread) -> Stop {
        Stop::Trap(Box::new(Trap {
            kind,
            instruction: self.locate_step(step),
            thread,
            cause: self.findings.first().cloned().map(Box::new),
        }))
    }

    /// Counts a step.
    #[inline]
    pub(crate) fn spend(&mut self) -> Result<(), Stop> {
        if self.look == 0 {
            self.refuel()?;
        }
        self.look -= 1;
        Ok(())
    }

    /// Brings the next check of the limits of time forward, after an operation that takes as long as many steps.
    pub(crate) fn charge(&mut self, steps: u64) {
        let taken = self.look.min(steps);
        self.look -= taken;
        self.fuel += taken;
    }

    /// Steps left.
    pub(crate) const fn count_left(&self) -> u64 {
        self.fuel.saturating_add(self.look)
    }

    /// Steps that all blocks took so far.
    pub(crate) const fn count_used(&self) -> u64 {
        self.config.fuel.saturating_sub(self.count_left())
    }

    /// Takes steps from those left.
    pub(crate) const fn deduct_steps(&mut self, steps: u64) {
        let missing = steps.saturating_sub(self.look);
        self.look = self.look.saturating_sub(steps);
        self.fuel = self.fuel.saturating_sub(missing);
    }

    /// Whether the order of blocks may matter for a reason other than their accesses to memory.
    pub(crate) const fn depends_on_order(&self) -> bool {
        self.has_written_module || self.suspect.is_some() || !self.prints.is_empty()
    }

    /// Records an access to memory that all blocks share, or to a variable of the module.
    #[inline]
    pub(crate) fn record_access(&self, target: Target, len: usize, writes: bool) {
        let Some(footprints) = &self.footprints else {
            return;
        };
        let (footprint, at) = match target {
            Target::Arena(at) => (&footprints.arena, at),
            Target::Scratch(at) => (&footprints.scratch, at),
            _ => return,
        };
        if writes {
            footprint.record_write(at, len);
        } else {
            footprint.record_read(at, len);
        }
    }

    /// Checks the limits, and allows the steps until the next check.
    #[cold]
    fn refuel(&mut self) -> Result<(), Stop> {
        let is_set = |flag: Option<&AtomicBool>| flag.is_some_and(|flag| flag.load(Ordering::Relaxed));
        if is_set(self.config.stop) || is_set(self.abandoned) {
            return Err(Stop::Stopped);
        }
        if let Some((until, given)) = self.config.deadline
            && Instant::now() >= until
        {
            return Err(Stop::Exhausted(Exhausted {
                resource: Resource::Time,
                limit: given.as_secs(),
            }));
        }
        if self.fuel == 0 {
            return Err(Stop::Exhausted(Exhausted {
                resource: Resource::Fuel,
                limit: self.config.fuel,
            }));
        }
        self.look = self.fuel.min(LOOK);
        self.fuel -= self.look;
        Ok(())
    }

    /// Returns the identity of a warp's knowledge after a change.
    pub(crate) fn new_epoch(&mut self) -> u32 {
        self.epoch = self.epoch.wrapping_add(1);
        self.epoch
    }

    /// Records a race.
    #[inline]
    pub(crate) fn note(&mut self, warp: &Warp, lane: usize, met: Option<Met>) {
        let Some(met) = met else { return };
        let (step, thread) = (warp.group.step, self.thread(warp, lane));
        self.report(met.kind, step, Some(met.other_step), thread, Some(met.byte));
    }

    /// Records a defect, once for each pair of instructions.
    #[cold]
    pub(crate) fn report(
        &mut self,
        kind: FindingKind,
        step: u32,
        other_step: Option<u32>,
        thread: Thread,
        byte: Option<u64>,
    ) {
        let key = (kind, step, other_step.unwrap_or(u32::MAX));
        if self.reported.len() >= MOST_FINDINGS || self.reported.contains(&key) {
            return;
        }
        let Some(at) = self.locate_step(step) else { return };
        self.reported.push(key);
        self.findings.push(Finding {
            kind,
            instruction: at,
            other_instruction: other_step.and_then(|step| self.locate_step(step)),
            thread,
            byte,
        });
    }

    /// Records that a lane reads the device's memory.
    #[inline]
    pub(crate) fn record_read(&mut self, warp: &Warp, lane: usize, at: usize, len: usize, atomic: bool) {
        let Some(global) = &mut self.global else { return };
        let met = global.read(at, len, &Accessor::from_warp(warp, atomic));
        self.record_race(warp, lane, met);
    }

    /// Records that a lane writes the device's memory, before it does.
    #[inline]
    pub(crate) fn record_write(&mut self, warp: &Warp, lane: usize, at: usize, new: &[u8], atomic: bool) {
        let Some(global) = &mut self.global else { return };
        let old = self.memory.arena().0.get(at..at + new.len()).unwrap_or_default();
        let met = global.write(at, old, new, &Accessor::from_warp(warp, atomic));
        self.record_race(warp, lane, met);
    }

    #[inline]
    pub(crate) fn record_race(&mut self, warp: &Warp, lane: usize, met: Option<Met>) {
        let Some(met) = met else { return };
        let thread = self.thread(warp, lane);
        // The end of a copy does not depend on the order of the warps.
        let kind = match met.kind {
            FindingKind::InFlight => Some(FindingKind::GlobalInFlight),
            FindingKind::SourceInFlight => Some(FindingKind::GlobalSourceInFlight),
            FindingKind::ProxyFence | FindingKind::ProxyFenceAfterRead => Some(FindingKind::GlobalProxyFence),
            _ => None,
        };
        if let Some(kind) = kind {
            self.report(kind, warp.group.step, Some(met.other_step), thread, None);
            return;
        }
        if let Some(global) = &mut self.global {
            global.race.get_or_insert(Race {
                kind: met.kind,
                step: warp.group.step,
                other_step: met.other_step,
                thread,
            });
        }
    }

    /// Records that an uninitialised value is passed on here.
    #[cold]
    pub(crate) fn record_suspect(&mut self, warp: &Warp, lane: usize) {
        if self.suspect.is_none() {
            self.suspect = Some((warp.group.step, self.thread(warp, lane)));
        }
    }

    /// Resolves an address of a lane.
    #[inline]
    pub(crate) fn locate(
        &self,
        warp: &Warp,
        address: &Address,
        lane: usize,
        bytes: usize,
    ) -> Result<Target, TrapKind> {
        let at = warp.registers[address.base as usize][lane].wrapping_add_signed(address.offset);
        match address.place {
            StateSpace::Global => self.resolve_global(at, bytes),
            // An address in shared memory has 32 bits.
            StateSpace::Shared => self.in_shared(self.strip_rank(at as u32), bytes),
            StateSpace::Cluster => self.in_cluster(u64::from(at as u32), bytes),
            // An address in a thread's own memory has 32 bits too. A parameter's address may be in a register.
            StateSpace::Private if !(PARAMETER_WINDOW..MODULE_WINDOW).contains(&at) => {
                self.in_private(u64::from(at as u32), bytes)
            }
            // The address of a parameter may be an offset in 32 bits.
            StateSpace::Parameters if u32::try_from(at).is_ok() => self.in_parameters(at, bytes),
            StateSpace::Private | StateSpace::Parameters => {
                self.in_parameters(at.wrapping_sub(PARAMETER_WINDOW), bytes)
            }
            StateSpace::Generic => self.resolve_generic(at, bytes),
        }
    }

    pub(crate) fn resolve_global(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        match self.memory.resolve_access(at, bytes) {
            Ok(_) => Ok(Target::Arena(at.wrapping_sub(ORIGIN) as usize)),
            Err(fault) => {
                let module = at.wrapping_sub(MODULE_WINDOW);
                let scratch = at.wrapping_sub(SCRATCH_WINDOW);
                if module < self.globals.len() as u64 {
                    check_bounds("the module's variables", module, bytes, self.globals.len())
                        .map(Target::Module)
                } else if scratch < self.scratch.len() as u64 {
                    check_bounds("the scratch memory", scratch, bytes, self.scratch.len())
                        .map(Target::Scratch)
                } else {
                    Err(TrapKind::OutOfBounds {
                        address: at,
                        bytes: bytes as u64,
                        fault,
                    })
                }
            }
        }
    }

    fn resolve_generic(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        match at {
            SHARED_WINDOW..LOCAL_WINDOW => self.in_cluster(at - SHARED_WINDOW, bytes),
            LOCAL_WINDOW..PARAMETER_WINDOW => self.in_private(at - LOCAL_WINDOW, bytes),
            PARAMETER_WINDOW..MODULE_WINDOW => self.in_parameters(at - PARAMETER_WINDOW, bytes),
            _ => self.resolve_global(at, bytes),
        }
    }

    /// Resolves a generic address, if it is valid.
    pub(crate) fn generic_target(&self, at: u64) -> Option<Target> {
        self.resolve_generic(at, 1).ok()
    }

    pub(crate) fn in_shared(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        check_bounds("the block's shared memory", at, bytes, self.shared.len()).map(Target::Shared)
    }

    fn in_private(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        check_bounds("the thread's own memory", at, bytes, self.kernel.private as usize).map(Target::Private)
    }

    fn in_parameters(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        check_bounds("the parameters", at, bytes, self.launch.parameters.len()).map(Target::Parameters)
    }
}

/// Checks that an access is within a memory. Returns its offset.
#[inline]
fn check_bounds(what: &'static str, at: u64, bytes: usize, size: usize) -> Result<usize, TrapKind> {
    if at.checked_add(bytes as u64).is_some_and(|end| end <= size as u64) {
        return Ok(at as usize);
    }
    Err(TrapKind::OutsideOf {
        memory: what,
        offset: at,
        bytes: bytes as u64,
        size: size as u64,
    })
}
