//! The order in which warps run, and the time at which copies complete.

use std::fmt;

/// One of the schedules that the synchronisation of a program allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Warps run in ascending order, and copies complete when a warp waits for them.
    #[default]
    Latest,
    /// Warps run in ascending order, and copies complete when they start.
    Earliest,
    /// Warps run in a random order with turns of random length, and copies complete at random times. The same seed gives
    /// the same schedule.
    Random(u64),
    /// Warps of one warp group run only if no other warp can. The number selects the group, modulo the number of groups. In
    /// a cluster with one group, it selects one of its warps. Copies complete when a warp waits for them.
    Starved(u32),
}

impl Schedule {
    /// One of the schedules other than the default, by its number from 1. It depends only on the number and the seed. The first
    /// completes copies at once; random and starved schedules follow in turn.
    pub const fn from_number(number: u32, seed: u64) -> Self {
        match number {
            0 => Self::Latest,
            1 => Self::Earliest,
            odd if odd % 2 == 1 => Self::Starved(odd / 2 - 1),
            even => Self::Random(seed ^ even as u64),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("copies complete late"),
            Self::Earliest => f.write_str("copies complete at once"),
            Self::Random(seed) => write!(f, "random order, seed {seed:#x}"),
            Self::Starved(group) => write!(f, "starved warps, number {group}"),
        }
    }
}

/// Makes the choices of a [`Schedule`].
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    schedule: Schedule,
    state: u64,
}

/// Steps of a warp before the next warp's turn.
const TURN: u64 = 1 << 16;
/// Maximum steps of a random turn.
const MAX_RANDOM_TURN: u64 = 256;
/// Warps of a warp group.
const GROUP: usize = 4;
/// Rounds after which starved warps run once, because other warps may poll memory for their result.
const MAX_STARVED_ROUNDS: u32 = 64;

impl Scheduler {
    /// The choices in a cluster, by its number in the grid.
    pub(crate) const fn new(schedule: Schedule, cluster: u64) -> Self {
        let state = match schedule {
            Schedule::Random(seed) => seed ^ cluster.wrapping_mul(0xa076_1d64_78bd_642f),
            Schedule::Latest | Schedule::Earliest | Schedule::Starved(_) => 0,
        };
        Self { schedule, state }
    }

    /// Whether a warp of a cluster with `count` warps does not run in a round in which another warp ran. `at` is its number in the
    /// cluster.
    pub(crate) const fn is_starved(&self, at: usize, count: usize, round: u32) -> bool {
        let Schedule::Starved(number) = self.schedule else {
            return false;
        };
        if round % MAX_STARVED_ROUNDS == MAX_STARVED_ROUNDS - 1 {
            return false;
        }
        let size = if count > GROUP { GROUP } else { 1 };
        let groups = count.div_ceil(size);
        groups > 1 && at / size == number as usize % groups
    }

    /// Steps of the next turn.
    pub(crate) fn choose_turn(&mut self) -> u64 {
        match self.schedule {
            Schedule::Random(_) => 1 + self.next() % MAX_RANDOM_TURN,
            Schedule::Latest | Schedule::Earliest | Schedule::Starved(_) => TURN,
        }
    }

    /// Reorders the warps of a round.
    pub(crate) fn shuffle(&mut self, order: &mut [usize]) {
        if !matches!(self.schedule, Schedule::Random(_)) {
            return;
        }
        for end in (1..order.len()).rev() {
            let at = (self.next() % (end as u64 + 1)) as usize;
            order.swap(at, end);
        }
    }

    /// Whether a copy that starts completes at once.
    pub(crate) fn completes_at_once(&mut self) -> bool {
        match self.schedule {
            Schedule::Latest | Schedule::Starved(_) => false,
            Schedule::Earliest => true,
            Schedule::Random(_) => self.next().is_multiple_of(4),
        }
    }

    /// Chooses which of `count` copies in flight completes before the next turn, if any.
    pub(crate) fn choose_completion(&mut self, count: usize) -> Option<usize> {
        if count == 0 || !matches!(self.schedule, Schedule::Random(_)) || self.next().is_multiple_of(2) {
            return None;
        }
        Some((self.next() % count as u64) as usize)
    }

    /// The next number of `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}
