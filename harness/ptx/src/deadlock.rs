//! A deadlock: which warps wait for which barrier or phase, what it lacks, and what could bring it.

use std::fmt;

use crate::outcome::InstructionLocation;

/// A state in which no warp can continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The waits, by the warps' numbers.
    pub waits: Vec<Wait>,
}

/// Warps of a block that wait at the same instruction for the same thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The block.
    pub block: [u32; 3],
    /// The warps' numbers in the block, ascending.
    pub warps: Vec<u32>,
    /// The instruction.
    pub instruction: Option<InstructionLocation>,
    /// The barrier, phase or object that they wait for.
    pub target: WaitTarget,
}

/// The threads that arrived at a barrier, and the threads that it expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Threads that arrived.
    pub threads: u32,
    /// Threads that must arrive.
    pub expected: u32,
}

/// The object of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    /// A barrier of the block.
    Barrier {
        /// Its number.
        id: u32,
        /// Its arrivals.
        arrived: Arrived,
    },
    /// The barrier of the cluster.
    Cluster {
        /// Its arrivals.
        arrived: Arrived,
    },
    /// The other warps of the group, at a product of `wgmma`.
    Group {
        /// Their arrivals.
        arrived: Arrived,
    },
    /// A phase of an `mbarrier`.
    Phase(PhaseWait),
}

/// A wait for a phase of an `mbarrier`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseWait {
    /// The offset of the `mbarrier` in shared memory.
    pub offset: u32,
    /// The current phase.
    pub phase: u32,
    /// Arrivals that the phase lacks.
    pub pending: u32,
    /// Bytes that the phase lacks; negative if more were copied than expected.
    pub bytes: i64,
    /// Instructions that arrived before, with the warp that executed them.
    pub arrivals: Vec<(u32, InstructionLocation)>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadlock: ")?;
        for (nth, wait) in self.waits.iter().enumerate() {
            if nth > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{wait}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_warps(f, &self.warps)?;
        if self.block != [0; 3] {
            let [x, y, z] = self.block;
            write!(f, " of block ({x}, {y}, {z})")?;
        }
        f.write_str(if self.warps.len() == 1 {
            " waits for "
        } else {
            " wait for "
        })?;
        match &self.target {
            WaitTarget::Barrier { id, arrived } => write!(
                f,
                "barrier {id}, which {} of {} threads reached",
                arrived.threads, arrived.expected
            )?,
            WaitTarget::Cluster { arrived } => write!(
                f,
                "the barrier of the cluster, which {} of {} threads reached",
                arrived.threads, arrived.expected
            )?,
            WaitTarget::Group { arrived } => write!(
                f,
                "the product of its group, which {} of {} threads reached",
                arrived.threads, arrived.expected
            )?,
            WaitTarget::Phase(phase) => write!(f, "{phase}")?,
        }
        match &self.instruction {
            Some(at) => write!(f, " with {at}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for PhaseWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            phase,
            pending,
            bytes,
            arrivals,
        } = self;
        write!(f, "phase {phase} of the mbarrier at byte {offset}, which ")?;
        match (*pending, *bytes) {
            (0, bytes) if bytes > 0 => write!(f, "lacks {bytes} bytes")?,
            (0, 0) => f.write_str("has just begun")?,
            (0, bytes) => write!(f, "did not expect {} copied bytes", -bytes)?,
            (pending, 0) => write_arrivals(f, pending)?,
            (pending, bytes) => {
                write_arrivals(f, pending)?;
                write!(f, " and {bytes} bytes")?;
            }
        }
        if *pending > 0 {
            if arrivals.is_empty() {
                f.write_str(" (nothing has arrived at it)")?;
            }
            for (nth, (warp, at)) in arrivals.iter().enumerate() {
                let lead = if nth == 0 { " (earlier arrivals: " } else { ", " };
                write!(f, "{lead}{at} by warp {warp}")?;
            }
            if !arrivals.is_empty() {
                f.write_str(")")?;
            }
        }
        Ok(())
    }
}

fn write_arrivals(f: &mut fmt::Formatter<'_>, count: u32) -> fmt::Result {
    match count {
        1 => f.write_str("lacks 1 arrival"),
        count => write!(f, "lacks {count} arrivals"),
    }
}

/// `warp 4`, `warps 0-3`, `warps 0, 2, 5`.
fn write_warps(f: &mut fmt::Formatter<'_>, warps: &[u32]) -> fmt::Result {
    match warps {
        [] => f.write_str("no warp"),
        [only] => write!(f, "warp {only}"),
        [first, .., last] if (last - first) as usize == warps.len() - 1 => {
            write!(f, "warps {first}-{last}")
        }
        many => {
            f.write_str("warps ")?;
            for (nth, warp) in many.iter().enumerate() {
                write!(f, "{}{warp}", if nth == 0 { "" } else { ", " })?;
            }
            Ok(())
        }
    }
}
