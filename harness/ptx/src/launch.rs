//! Launches a kernel.
//!
//! A register, a byte of shared memory or a byte that an earlier launch left uninitialised holds an arbitrary value. If such a
//! value may have reached the device's memory, the launch is repeated twice from the same memory, once with all such bits clear
//! and once with all set. Bytes that differ between the three runs are uninitialised: their state becomes
//! [`ByteState::Poison`], and a finding names the instruction that passed the value on. The caller decides whether
//! those bytes should have a value.

use cerith_memory::{ByteState, Memory};

use crate::block::Block;
use crate::config::{Config, Launch};
use crate::kernel::Kernel;
use crate::machine::{Machine, Stop};
use crate::outcome::{Exhausted, Finding, FindingKind, Finished, LaunchOutcome, Resource, Thread};
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
        let mut ran = match self.run_blocks(launch, memory, config, FILL, false) {
            Ok(ran) => ran,
            Err(stop) => return stop.into(),
        };
        let Some((step, thread)) = ran.suspect else {
            return LaunchOutcome::Finished(ran.finished);
        };
        let others = [0x00, 0xff].map(|fill| {
            let mut memory = before.clone();
            fill_uninitialised(&mut memory, fill);
            let ended = self.run_blocks(launch, &mut memory, config, fill, true).is_ok();
            ended.then_some(memory)
        });
        let kind = match &others {
            [Some(clear), Some(set)] => {
                mark_differing(memory, [clear, set]).then_some(FindingKind::Uninitialised)
            }
            _ => Some(FindingKind::UninitialisedEnd),
        };
        if let Some((kind, at)) = kind.zip(self.at_step(step)) {
            ran.finished.findings.push(Finding {
                kind,
                instruction: at,
                other_instruction: None,
                thread,
                byte: None,
            });
        }
        LaunchOutcome::Finished(ran.finished)
    }

    /// Returns the limit that the launch would exceed before it starts, if any.
    fn too_much(&self, launch: &Launch<'_>, config: &Config<'_>) -> Option<Exhausted> {
        let threads = launch
            .threads
            .iter()
            .fold(1u64, |all, &of| all.saturating_mul(of.into()));
        let warps = threads.div_ceil(32);
        let each = (self.registers as u64 * 260)
            .saturating_add(self.predicates as u64 * 8)
            .saturating_add(self.private * 32);
        // Shared memory has a record of accesses for each byte.
        let shared = self
            .shared
            .saturating_add(launch.shared.into())
            .saturating_mul(48);
        let bytes = warps
            .saturating_mul(each)
            .saturating_add(shared)
            .saturating_add(launch.scratch);
        (threads > MOST_THREADS || bytes > config.memory_limit).then_some(Exhausted {
            resource: Resource::Memory,
            limit: config.memory_limit,
        })
    }

    /// Runs all blocks once.
    fn run_blocks(
        &self,
        launch: &Launch<'_>,
        memory: &mut Memory,
        config: &Config<'_>,
        fill: u8,
        clean: bool,
    ) -> Result<Ran, Stop> {
        let mut machine = Machine {
            kernel: self,
            launch,
            config,
            memory,
            scratch: vec![FILL; launch.scratch as usize],
            globals: self.globals.clone(),
            shared: Shared::default(),
            block: [0; 3],
            fuel: config.fuel,
            look: 0,
            prints: Vec::new(),
            printed: 0,
            findings: Vec::new(),
            reported: Vec::new(),
            suspect: None,
        };
        let threads = launch.threads.iter().product();
        let mut block = Block::new(self, threads);
        let shared = self.shared as usize + launch.shared as usize;
        let mut first = true;
        for z in 0..launch.grid[2] {
            for y in 0..launch.grid[1] {
                for x in 0..launch.grid[0] {
                    machine.block = [x, y, z];
                    machine.shared.reset(shared, fill);
                    block.run(&mut machine, (first || clean).then_some(fill))?;
                    first = false;
                }
            }
        }
        let left = machine.fuel.saturating_add(machine.look);
        Ok(Ran {
            finished: Finished {
                prints: machine
                    .prints
                    .into_iter()
                    .map(|line| line.trim_end_matches('\n').to_owned())
                    .collect(),
                findings: machine.findings,
                steps: config.fuel.saturating_sub(left),
            },
            suspect: machine.suspect,
        })
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

/// The result of a run.
struct Ran {
    finished: Finished,
    suspect: Option<(u32, Thread)>,
}
