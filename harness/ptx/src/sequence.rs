//! Clusters of a launch that run one after the other on one memory.

use std::ops::Range;

use cerith_memory::Memory;

use crate::barrier::ClusterBarrier;
use crate::block::{Block, Cluster, WarpOrder};
use crate::clock::Components;
use crate::config::{Config, Launch};
use crate::cta::Cta;
use crate::global::{Global, Race};
use crate::kernel::Kernel;
use crate::machine::{Machine, Stop};
use crate::meeting::Meetings;
use crate::outcome::{Finished, Thread};
use crate::release::Releases;
use crate::schedule::Scheduler;
use crate::shared::Shared;

/// The content of uninitialised bytes in the first run.
const FILL: u8 = 0xA9;

/// How the blocks of a launch are run.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// The content of uninitialised bytes.
    pub(crate) fill: u8,
    /// Whether each block begins with fresh registers.
    pub(crate) clean: bool,
    pub(crate) order: WarpOrder,
}

impl Run {
    pub(crate) const FIRST: Self = Self {
        fill: FILL,
        clean: false,
        order: WarpOrder::Ascending,
    };
}

/// The result of a run.
pub(crate) struct Ran {
    pub(crate) end: Result<Finished, Stop>,
    pub(crate) suspect: Option<(u32, Thread)>,
    pub(crate) race: Option<Race>,
}

/// A sequence of clusters, and the state that they share.
pub(crate) struct Sequence<'l> {
    pub(crate) machine: Machine<'l>,
    block: Block,
    pub(crate) run: Run,
    /// Clusters along each axis.
    clusters: [u32; 3],
    /// Whether no cluster has run yet.
    first: bool,
    /// Bytes of registers and of blocks' memory.
    pub(crate) bytes: u64,
}

impl<'l> Sequence<'l> {
    pub(crate) fn new(
        kernel: &'l Kernel,
        launch: &'l Launch<'l>,
        memory: &'l mut Memory,
        config: &'l Config<'l>,
        run: Run,
    ) -> Self {
        let threads: u32 = launch.threads.iter().product();
        let dims = launch.cluster;
        let count: u32 = dims.iter().product();
        // The lanes of a single warp run in step.
        let may_race = threads > 32 || count > 1 || kernel.is_asynchronous;
        let machine = Machine {
            kernel,
            launch,
            config,
            memory,
            scratch: vec![FILL; launch.scratch as usize],
            globals: kernel.globals.clone(),
            shared: Shared::default(),
            global: (may_race && !run.clean && run.order == WarpOrder::Ascending).then(Global::default),
            footprints: None,
            has_written_module: false,
            block: [0; 3],
            rank: 0,
            cta: Cta::new([0; 3], threads),
            other_blocks: Vec::new(),
            cluster: ClusterBarrier::new(threads),
            flights: Vec::new(),
            components: Components::default(),
            releases: Releases::default(),
            meetings: Meetings::default(),
            scheduler: Scheduler::new(config.schedule, 0),
            tests_fail: false,
            epoch: 0,
            executed: vec![false; kernel.steps.len()],
            fuel: config.fuel,
            look: 0,
            abandoned: None,
            prints: Vec::new(),
            printed: 0,
            findings: Vec::new(),
            reported: Vec::new(),
            suspect: None,
        };
        let shared = kernel.shared as usize + launch.shared as usize;
        Self {
            machine,
            block: Block::new(kernel, threads, count, shared),
            run,
            clusters: std::array::from_fn(|axis| launch.grid[axis].div_ceil(dims[axis].max(1))),
            first: true,
            bytes: kernel.count_bytes(launch),
        }
    }

    /// Runs the clusters with these numbers. The first axis of the grid comes first.
    pub(crate) fn run_clusters(&mut self, numbers: Range<u64>) -> Result<(), Stop> {
        let Run { fill, clean, order } = self.run;
        let dims = self.machine.launch.cluster;
        let [width, height, _] = self.clusters.map(|count| u64::from(count).max(1));
        for number in numbers {
            let at = [number % width, number / width % height, number / width / height];
            let origin = std::array::from_fn(|axis| (at[axis] as u32).saturating_mul(dims[axis]));
            self.machine.block = origin;
            // The choices of a cluster don't depend on the clusters before it.
            self.machine.scheduler = Scheduler::new(self.machine.config.schedule, number);
            self.machine.tests_fail = false;
            if let Some(global) = &mut self.machine.global {
                global.begin_block();
            }
            let cluster = Cluster { origin, dims };
            self.block
                .run(&mut self.machine, cluster, order, (fill, self.first || clean))?;
            self.first = false;
            if self.machine.footprints.is_some() && self.machine.depends_on_order() {
                return Err(Stop::Stopped);
            }
        }
        Ok(())
    }

    /// The number of clusters of the grid.
    pub(crate) fn count_clusters(&self) -> u64 {
        let counts = self.clusters.map(u64::from);
        counts.into_iter().fold(1, u64::saturating_mul)
    }

    /// The result, after the last cluster or an early end.
    pub(crate) fn finish(self, end: Result<(), Stop>) -> Ran {
        let machine = self.machine;
        let steps = machine.count_used();
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
                steps,
                executed: machine.kernel.describe_executed(&machine.executed),
            }),
        }
    }
}
