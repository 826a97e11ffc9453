//! Launches a kernel.
//!
//! A register, a byte of shared memory or a byte that an earlier launch left uninitialised holds an arbitrary value. If such a
//! value may have reached the device's memory, the launch is repeated twice from the same memory, once with all such bits clear
//! and once with all set. Bytes that differ between the three runs are uninitialised: their state becomes
//! [`ByteState::Poison`], and a finding names the instruction that passed the value on. The caller decides whether those
//! bytes should have a value.
//!
//! Warps of a block that access the device's memory without a barrier between them may race. Most such races don't matter, because
//! no thread uses what it read too early or too late. So a launch with a race is repeated from the same memory with its warps in
//! descending order, which reverses each race. If the memory or the end is different then, the launch is trapped by the race.
//! Races are not looked for between blocks, and not in kernels whose warps use atomics in different orders.

use cerith_memory::{ByteState, Memory};

use crate::barrier::ClusterBarrier;
use crate::block::{Block, Cluster, WarpOrder};
use crate::clock::Components;
use crate::cluster::MAX_BLOCKS;
use crate::config::{Config, Launch};
use crate::cta::Cta;
use crate::global::{Global, Race};
use crate::kernel::Kernel;
use crate::machine::{Machine, Stop};
use crate::meeting::Meetings;
use crate::outcome::{
    Exhausted, Finding, FindingKind, Finished, LaunchOutcome, Resource, Thread, Trap, TrapKind,
};
use crate::release::Releases;
use crate::schedule::Scheduler;
use crate::shared::Shared;

/// The content of uninitialised bytes in the first run.
const FILL: u8 = 0xA9;

/// Maximum threads of a block.
const MOST_THREADS: u64 = 1024;

impl Kernel {
    /// Launches the kernel. Afterwards the memory holds its result, or the state at the trap.
    pub fn launch(&self, launch: &Launch<'_>, memory: &mut Memory, config: &Config<'_>) -> LaunchOutcome {
        if let Some(exhausted) = self.too_much(launch, config) {
            return LaunchOutcome::Exhausted(exhausted);
        }
        let before = memory.clone();
        let ran = self.run_blocks(launch, memory, config, Run::FIRST);
        if let Some(race) = ran.race
            && ran
                .end
                .as_ref()
                .map_or(true, |finished| finished.findings.is_empty())
            && self.depends_on_order(launch, (&before, memory), config, &ran)
        {
            return LaunchOutcome::Trapped(Box::new(self.describe_race(race)));
        }
        let mut finished = match ran.end {
            Ok(finished) => finished,
            Err(stop) => return stop.into(),
        };
        let Some((step, thread)) = ran.suspect else {
            return LaunchOutcome::Finished(finished);
        };
        let others = [0x00, 0xff].map(|fill| {
            let mut memory = before.clone();
            fill_uninitialised(&mut memory, fill);
            let run = Run {
                fill,
                clean: true,
                order: WarpOrder::Ascending,
            };
            let ended = self.run_blocks(launch, &mut memory, config, run).end.is_ok();
            ended.then_some(memory)
        });
        let kind = match &others {
            [Some(clear), Some(set)] => {
                mark_differing(memory, [clear, set]).then_some(FindingKind::Uninitialised)
            }
            _ => Some(FindingKind::UninitialisedEnd),
        };
        if let Some((kind, at)) = kind.zip(self.at_step(step)) {
            finished.findings.push(Finding {
                kind,
                instruction: at,
                other_instruction: None,
                thread,
                byte: None,
            });
        }
        LaunchOutcome::Finished(finished)
    }

    /// Whether a launch ends otherwise, or leaves other bytes, if its warps run in descending order. A run without a
    /// result, because a limit was reached, shows nothing.
    fn depends_on_order(
        &self,
        launch: &Launch<'_>,
        (before, after): (&Memory, &Memory),
        config: &Config<'_>,
        ran: &Ran,
    ) -> bool {
        let mut memory = before.clone();
        let run = Run {
            order: WarpOrder::Descending,
            ..Run::FIRST
        };
        let reversed = self.run_blocks(launch, &mut memory, config, run);
        match (&ran.end, &reversed.end) {
            (Ok(_), Ok(_)) => memory.arena().0 != after.arena().0,
            (Err(Stop::Trap(_)), Ok(_)) | (Ok(_), Err(Stop::Trap(_))) => true,
            (Err(Stop::Trap(first)), Err(Stop::Trap(second))) => first.instruction != second.instruction,
            _ => false,
        }
    }

    fn describe_race(&self, race: Race) -> Trap {
        Trap {
            kind: TrapKind::GlobalRace {
                access: race.kind,
                other_instruction: self.at_step(race.other_step),
            },
            instruction: self.at_step(race.step),
            thread: race.thread,
            cause: None,
        }
    }

    /// Returns the limit that the launch would exceed before it starts, if any.
    fn too_much(&self, launch: &Launch<'_>, config: &Config<'_>) -> Option<Exhausted> {
        let product = |of: [u32; 3]| of.iter().fold(1u64, |all, &of| all.saturating_mul(of.into()));
        let (threads, blocks) = (product(launch.threads), product(launch.cluster));
        let warps = threads.div_ceil(32);
        let each = (self.registers as u64 * 260)
            .saturating_add(self.predicates as u64 * 8)
            .saturating_add(self.private * 32);
        // Shared memory has the state of each byte's past.
        let shared = self.shared.saturating_add(launch.shared.into()).saturating_mul(8);
        let bytes = warps
            .saturating_mul(each)
            .saturating_add(shared)
            .saturating_mul(blocks)
            .saturating_add(launch.scratch);
        let exceeds = threads > MOST_THREADS || blocks > MAX_BLOCKS.into() || bytes > config.memory_limit;
        exceeds.then_some(Exhausted {
            resource: Resource::Memory,
            limit: config.memory_limit,
        })
    }

    /// Runs all blocks once.
    fn run_blocks(&self, launch: &Launch<'_>, memory: &mut Memory, config: &Config<'_>, run: Run) -> Ran {
        let Run { fill, clean, order } = run;
        let threads: u32 = launch.threads.iter().product();
        let dims = launch.cluster;
        let count: u32 = dims.iter().product();
        let mut machine = Machine {
            kernel: self,
            launch,
            config,
            memory,
            scratch: vec![FILL; launch.scratch as usize],
            globals: self.globals.clone(),
            shared: Shared::default(),
            // The lanes of a single warp run in step.
            global: ((threads > 32 || count > 1 || self.is_asynchronous)
                && !clean
                && order == WarpOrder::Ascending)
                .then(Global::default),
            block: [0; 3],
            rank: 0,
            cta: Cta::new([0; 3], threads),
            others: Vec::new(),
            cluster: ClusterBarrier::new(threads),
            flights: Vec::new(),
            components: Components::default(),
            releases: Releases::default(),
            meetings: Meetings::default(),
            scheduler: Scheduler::new(config.schedule),
            tests_fail: false,
            epoch: 0,
            executed: vec![false; self.steps.len()],
            fuel: config.fuel,
            look: 0,
            prints: Vec::new(),
            printed: 0,
            findings: Vec::new(),
            reported: Vec::new(),
            suspect: None,
        };
        let shared = self.shared as usize + launch.shared as usize;
        let mut block = Block::new(self, threads, count, shared);
        let mut end = Ok(());
        let mut first = true;
        let clusters = std::array::from_fn(|axis| launch.grid[axis].div_ceil(dims[axis].max(1)));
        for at in blocks(clusters) {
            let origin = std::array::from_fn(|axis| at[axis].saturating_mul(dims[axis]));
            machine.block = origin;
            if let Some(global) = &mut machine.global {
                global.begin_block();
            }
            let cluster = Cluster { origin, dims };
            end = block.run(&mut machine, cluster, order, (fill, first || clean));
            if end.is_err() {
                break;
            }
            first = false;
        }
        let left = machine.fuel.saturating_add(machine.look);
        Ran {
            race: machine
                .global
                .filter(|global| !global.has_shared_atomics)
                .and_then(|global| global.race),
            suspect: machine.suspect,
            end: end.map(|()| Finished {
                prints: machine
                    .prints
                    .into_iter()
                    .map(|line| line.trim_end_matches('\n').to_owned())
                    .collect(),
                findings: machine.findings,
                steps: config.fuel.saturating_sub(left),
                executed: self.describe_executed(&machine.executed),
            }),
        }
    }
}

/// The blocks of a grid, the first axis first.
pub(crate) fn blocks(grid: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [width, height, depth] = grid;
    (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
}

/// Sets all bytes that an earlier launch left uninitialised.
fn fill_uninitialised(memory: &mut Memory, fill: u8) {
    let (bytes, states) = memory.arena_mut();
    for (byte, state) in bytes.iter_mut().zip(states) {
        if *state == ByteState::Poison {
            *byte = fill;
        }
    }
}

/// Marks the bytes that differ between the runs as uninitialised. Returns whether there are any.
fn mark_differing(memory: &mut Memory, others: [&Memory; 2]) -> bool {
    let [clear, set] = others.map(|other| other.arena().0);
    let (bytes, states) = memory.arena_mut();
    let mut any = false;
    for (((byte, state), clear), set) in bytes.iter().zip(states).zip(clear).zip(set) {
        if byte != clear || byte != set {
            *state = ByteState::Poison;
            any = true;
        }
    }
    any
}

/// How the blocks of a launch are run.
#[derive(Clone, Copy)]
struct Run {
    /// The content of uninitialised bytes.
    fill: u8,
    /// Whether each block begins with fresh registers.
    clean: bool,
    order: WarpOrder,
}

impl Run {
    const FIRST: Self = Self {
        fill: FILL,
        clean: false,
        order: WarpOrder::Ascending,
    };
}

/// The result of a run.
struct Ran {
    end: Result<Finished, Stop>,
    suspect: Option<(u32, Thread)>,
    race: Option<Race>,
}
