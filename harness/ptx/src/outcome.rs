//! How a launch ends. Left out: what follows from it ([`crate::launch`] says how it gets there).

use std::fmt;

use cerith_memory::{Fault, StorageId};

use crate::located::Line;
use crate::syntax::Place;

/// The code of [`TrapKind::GlobalRace`].
pub const GLOBAL_RACE: &str = "global-race";

/// The most findings of a launch.
pub const MOST_FINDINGS: usize = 16;

/// An instruction of the module, for messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// The opcode with its modifiers.
    pub instruction: String,
    /// Where it is in the PTX.
    pub place: Place,
    /// The line that it was compiled from, and those of the calls that it was inlined by; none where it is not known.
    pub lines: Vec<Line>,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in line {} of the PTX", self.instruction, self.place.line)?;
        let mut calls = self.lines.iter();
        let Some(own) = calls.next() else {
            return Ok(());
        };
        write!(f, " ({own}")?;
        for call in calls {
            write!(f, ", called at {call}")?;
        }
        f.write_str(")")
    }
}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// The block.
    pub block: [u32; 3],
    /// The thread's number in it.
    pub thread: u32,
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(f, "thread {} of block ({x}, {y}, {z})", self.thread)
    }
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq)]
pub enum LaunchOutcome {
    /// All threads ran to their end; the memory holds the result.
    Finished(Finished),
    /// A thread did what the hardware stops at, or what has no meaning. The memory holds what was written until then.
    Trapped(Box<Trap>),
    /// A limit of [`crate::Config`] was reached.
    Exhausted(Exhausted),
    /// The caller had it stopped.
    Stopped,
}

/// What a finished launch left besides memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    /// The lines that threads printed, in the order of blocks and warps. A device gives no order.
    pub prints: Vec<String>,
    /// What a GPU would not show: at most [`MOST_FINDINGS`], one for each pair of instructions.
    pub findings: Vec<Finding>,
    /// Instructions executed, one for each warp.
    pub steps: u64,
}

/// Something that is wrong with a program that ran to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// The instruction that it was noticed at.
    pub at: At,
    /// The other one that is involved.
    pub other: Option<At>,
    /// The thread that it was noticed in.
    pub thread: Thread,
    /// The byte of shared memory that it is about.
    pub byte: Option<u64>,
}

/// What a GPU does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// Two warps wrote other values to a byte, and no barrier was between.
    WriteWrite,
    /// A warp read a byte that another wrote, and no barrier was between.
    ReadAfterWrite,
    /// A warp wrote a byte that another had read, and no barrier was between.
    WriteAfterRead,
    /// A byte was accessed while a `cp.async` to it was on its way.
    InFlight,
    /// The device's memory depends on a register or a byte that nothing was written to. The memory's states say which bytes
    /// do ([`cerith_memory::ByteState::Poison`]).
    Uninitialised,
    /// Whether the launch finishes depends on a register or a byte that nothing was written to.
    UninitialisedEnd,
}

impl FindingKind {
    /// A stable name.
    pub const fn code(self) -> &'static str {
        match self {
            Self::WriteWrite | Self::ReadAfterWrite | Self::WriteAfterRead => "shared-race",
            Self::InFlight => "copy-in-flight",
            Self::Uninitialised | Self::UninitialisedEnd => "uninitialised-register",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, thread, byte, .. } = self;
        let byte = byte.map_or(String::new(), |byte| format!("byte {byte} of shared memory"));
        let other = self.other.as_ref().map_or(String::new(), ToString::to_string);
        match self.kind {
            FindingKind::WriteWrite => write!(
                f,
                "{thread} wrote {byte} with {at}, which another warp wrote otherwise with {other}, and no barrier \
                 was between"
            ),
            FindingKind::ReadAfterWrite => write!(
                f,
                "{thread} read {byte} with {at}, which another warp wrote with {other}, and no barrier was between"
            ),
            FindingKind::WriteAfterRead => write!(
                f,
                "{thread} wrote {byte} with {at}, which another warp read with {other}, and no barrier was between"
            ),
            FindingKind::InFlight => write!(
                f,
                "{thread} accessed {byte} with {at} while {other} to it had not been waited for"
            ),
            FindingKind::Uninitialised => write!(
                f,
                "{thread} handed on with {at} what nothing was written to, and the result depends on it"
            ),
            FindingKind::UninitialisedEnd => write!(
                f,
                "{thread} handed on with {at} what nothing was written to, and whether the launch finishes depends on it"
            ),
        }
    }
}

/// A thread that stopped the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Trap {
    /// Why.
    pub kind: TrapKind,
    /// The instruction; `None` at the end of a function without one.
    pub at: Option<At>,
    /// The thread, the first of several.
    pub thread: Thread,
}

/// Why a thread stopped the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrapKind {
    /// An access outside of all storages.
    OutOfBounds {
        /// The address.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// What is there instead.
        fault: Fault,
    },
    /// An access outside of the memory of a block, of a thread, or of the module.
    OutsideOf {
        /// Which.
        what: &'static str,
        /// Where in it.
        offset: u64,
        /// Bytes of the access.
        bytes: u64,
        /// Bytes that there are.
        size: u64,
    },
    /// A write to what cannot be written.
    ReadOnly {
        /// What.
        what: &'static str,
    },
    /// An address that is no multiple of what is accessed.
    Misaligned {
        /// The address.
        address: u64,
        /// Of what it must be a multiple.
        align: u64,
    },
    /// An assertion of the program.
    Assert {
        /// Its text.
        message: String,
        /// The file that it names.
        file: String,
        /// The line.
        line: u32,
    },
    /// The instruction `trap`.
    Trap,
    /// A barrier that only some of a warp's threads came to.
    DivergentBarrier {
        /// Lanes that came.
        came: u32,
        /// Lanes that run.
        running: u32,
    },
    /// Threads that wait for each other at barriers.
    Deadlock,
    /// An instruction for lanes of which some are elsewhere.
    Inactive {
        /// Lanes that it names.
        members: u32,
        /// Lanes that came.
        came: u32,
    },
    /// A barrier with a number or a count that there is not.
    BadBarrier,
    /// A step that is not there.
    NoStep,
    /// Warps of a block access the device's memory without a barrier between them, and the result depends on their order.
    GlobalRace {
        /// What the instruction did ([`FindingKind::WriteWrite`], [`FindingKind::ReadAfterWrite`] or
        /// [`FindingKind::WriteAfterRead`]).
        access: FindingKind,
        /// The other warp's instruction.
        other: Option<At>,
    },
}

impl TrapKind {
    /// A stable name.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::OutOfBounds { .. } | Self::OutsideOf { .. } => "out-of-bounds",
            Self::ReadOnly { .. } => "read-only",
            Self::Misaligned { .. } => "misaligned",
            Self::Assert { .. } => "assertion-failed",
            Self::Trap => "trap",
            Self::DivergentBarrier { .. } => "divergent-barrier",
            Self::Deadlock => "deadlock",
            Self::Inactive { .. } => "inactive-lanes",
            Self::BadBarrier => "bad-barrier",
            Self::NoStep => "no-instruction",
            Self::GlobalRace { .. } => GLOBAL_RACE,
        }
    }

    /// The storage that an access missed, where there is one near.
    pub const fn storage(&self) -> Option<StorageId> {
        match self {
            Self::OutOfBounds {
                fault:
                    Fault::Before { storage, .. }
                    | Fault::Behind { storage, .. }
                    | Fault::Straddles { storage, .. },
                ..
            } => Some(*storage),
            _ => None,
        }
    }
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { address, bytes, .. } => {
                write!(
                    f,
                    "an access of {bytes} bytes at {address:#x}, outside of all storages"
                )
            }
            Self::OutsideOf {
                what,
                offset,
                bytes,
                size,
            } => write!(
                f,
                "an access of {bytes} bytes at byte {offset} of {what}, which has {size}"
            ),
            Self::ReadOnly { what } => write!(f, "a write to {what}"),
            Self::Misaligned { address, align } => {
                write!(f, "an access at {address:#x}, which is no multiple of {align}")
            }
            Self::Assert { message, file, line } => write!(f, "{file}:{line}: assertion failed: {message}"),
            Self::Trap => f.write_str("the program stopped itself"),
            Self::DivergentBarrier { came, running } => write!(
                f,
                "a barrier that lanes {came:#010x} of a warp came to, while lanes {running:#010x} run"
            ),
            Self::Deadlock => f.write_str("threads wait at barriers that nobody else comes to"),
            Self::Inactive { members, came } => {
                write!(
                    f,
                    "an instruction for lanes {members:#010x} that lanes {came:#010x} came to"
                )
            }
            Self::BadBarrier => f.write_str(
                "a barrier that does not exist, or for a number of threads that is no multiple of 32",
            ),
            Self::NoStep => f.write_str("a jump to where no instruction is"),
            Self::GlobalRace { access, other } => {
                let (did, did_before) = match access {
                    FindingKind::ReadAfterWrite => ("a read", "wrote"),
                    FindingKind::WriteAfterRead => ("a write", "read"),
                    _ => ("a write", "wrote"),
                };
                let with = other
                    .as_ref()
                    .map_or(String::new(), |other| format!(" with {other}"));
                write!(
                    f,
                    "a data race: {did} of bytes in global memory that another warp {did_before}{with}, without a barrier \
                     between them; the result depends on the order of the warps"
                )
            }
        }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Of what.
    pub what: Resource,
    /// The limit, in the resource's unit.
    pub limit: u64,
}

/// What can run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Instructions of warps.
    Fuel,
    /// Bytes of registers, shared and own memory.
    Memory,
    /// Bytes of printed text.
    Prints,
    /// Seconds.
    Time,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Resource::Fuel => "instructions of warps",
            Resource::Memory => "bytes of registers and of blocks' memory",
            Resource::Prints => "bytes of printed text",
            Resource::Time => "seconds",
        };
        write!(f, "the limit of {} {what} was reached", self.limit)
    }
}
