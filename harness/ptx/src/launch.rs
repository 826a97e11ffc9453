//! Launches of a kernel. Left out: what the kernel is compiled from, and who is right.
//!
//! What nothing was written to (registers, shared memory) holds some value. Where such a value may have reached the device's
//! memory, the launch is made twice more from the memory that it had, once with all such bits clear and once with all set. If
//! the two leave different memory, the program depends on it, and a finding says so.

use cerith_memory::Memory;

use crate::block::Block;
use crate::config::{Config, Launch};
use crate::kernel::Kernel;
use crate::machine::{Machine, Stop};
use crate::outcome::{Exhausted, Finding, FindingKind, Finished, LaunchOutcome, Resource, Thread};
use crate::shared::Shared;

/// What is in bytes that nothing was written to, unless that is looked into.
const FILL: u8 = 0xA9;

/// The most threads of a block.
const MOST_THREADS: u64 = 1024;

impl Kernel {
    /// Launches the kernel. The memory holds what it leaves, or what there was when it stopped.
    pub fn launch(&self, launch: &Launch<'_>, memory: &mut Memory, config: &Config<'_>) -> LaunchOutcome {
        if let Some(exhausted) = self.too_much(launch, config) {
            return LaunchOutcome::Exhausted(exhausted);
        }
        let before = memory.clone();
        let mut ran = match self.once(launch, memory, config, FILL, false) {
            Ok(ran) => ran,
            Err(stop) => return stop.into(),
        };
        let Some((step, thread)) = ran.suspect else {
            return LaunchOutcome::Finished(ran.finished);
        };
        // Another fill is another run; whether both end the same way is what is asked.
        let mut other = [0x00, 0xff].map(|fill| {
            let mut memory = before.clone();
            let ended = self.once(launch, &mut memory, config, fill, true).is_ok();
            (ended, memory)
        });
        let [(first_ended, first), (second_ended, second)] = &mut other;
        if (*first_ended, first.arena().0) != (*second_ended, second.arena().0) {
            let at = self.at_step(step);
            if let Some(at) = at {
                ran.finished.findings.push(Finding {
                    kind: FindingKind::Uninitialised,
                    at,
                    other: None,
                    thread,
                    byte: None,
                });
            }
        }
        LaunchOutcome::Finished(ran.finished)
    }

    /// A limit that the launch would exceed before it begins.
    fn too_much(&self, launch: &Launch<'_>, config: &Config<'_>) -> Option<Exhausted> {
        let threads = launch
            .threads
            .iter()
            .fold(1u64, |all, &of| all.saturating_mul(of.into()));
        let warps = threads.div_ceil(32);
        let each = (self.registers as u64 * 260)
            .saturating_add(self.predicates as u64 * 8)
            .saturating_add(self.private * 32);
        // Of each byte of shared memory it is known who accessed it.
        let shared = self
            .shared
            .saturating_add(launch.shared.into())
            .saturating_mul(48);
        let bytes = warps
            .saturating_mul(each)
            .saturating_add(shared)
            .saturating_add(launch.scratch);
        (threads > MOST_THREADS || bytes > config.memory_limit).then_some(Exhausted {
            what: Resource::Memory,
            limit: config.memory_limit,
        })
    }

    /// One run of all blocks.
    fn once(
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
            found: Vec::new(),
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

/// What a run was.
struct Ran {
    finished: Finished,
    suspect: Option<(u32, Thread)>,
}
