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

use crate::block::WarpOrder;
use crate::cluster::MAX_BLOCKS;
use crate::config::{Config, Launch};
use crate::global::Race;
use crate::kernel::Kernel;
use crate::machine::Stop;
use crate::outcome::{Exhausted, Finding, FindingKind, LaunchOutcome, Resource, Trap, TrapKind};
use crate::sequence::{Ran, Run, Sequence};

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
        let bytes = self.count_bytes(launch);
        let exceeds = threads > MOST_THREADS || blocks > MAX_BLOCKS.into() || bytes > config.memory_limit;
        exceeds.then_some(Exhausted {
            resource: Resource::Memory,
            limit: config.memory_limit,
        })
    }

    /// Bytes of the registers, the blocks' memory and the scratch memory that run at a time.
    pub(crate) fn count_bytes(&self, launch: &Launch<'_>) -> u64 {
        let product = |of: [u32; 3]| of.iter().fold(1u64, |all, &of| all.saturating_mul(of.into()));
        let warps = product(launch.threads).div_ceil(32);
        let each = (self.registers as u64 * 260)
            .saturating_add(self.predicates as u64 * 8)
            .saturating_add(self.private * 32);
        // Shared memory has the state of each byte's past.
        let shared = self.shared.saturating_add(launch.shared.into()).saturating_mul(8);
        warps
            .saturating_mul(each)
            .saturating_add(shared)
            .saturating_mul(product(launch.cluster))
            .saturating_add(launch.scratch)
    }

    /// Runs all blocks once.
    fn run_blocks(&self, launch: &Launch<'_>, memory: &mut Memory, config: &Config<'_>, run: Run) -> Ran {
        let mut sequence = Sequence::new(self, launch, memory, config, run);
        let end = sequence.run_all(sequence.count_clusters());
        sequence.finish(end)
    }
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
