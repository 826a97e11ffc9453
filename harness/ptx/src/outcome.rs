//! The results of a launch.

use std::fmt;

use cerith_memory::{Fault, StorageId};

use crate::located::Line;
use crate::syntax::Location;

/// The code of [`TrapKind::GlobalRace`].
pub const GLOBAL_RACE: &str = "global-race";

/// Maximum findings of a launch.
pub const MOST_FINDINGS: usize = 16;

/// An instruction of the module, for messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstructionLocation {
    /// The opcode with its modifiers.
    pub instruction: String,
    /// Its location in the PTX.
    pub place: Location,
    /// The line that it was compiled from, and those of the calls that it was inlined at; empty if unknown.
    pub lines: Vec<Line>,
}

impl fmt::Display for InstructionLocation {
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

/// A thread of the launch.
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
    /// All threads finished; the memory holds the result.
    Finished(Finished),
    /// A thread did something that the hardware traps, or that has no meaning. The memory holds everything written
    /// until then.
    Trapped(Box<Trap>),
    /// A limit of [`crate::Config`] was reached.
    Exhausted(Exhausted),
    /// The caller stopped it.
    Stopped,
}

/// The output of a finished launch, besides memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    /// The lines that threads printed, in the order of blocks and warps. On a GPU the order is undefined.
    pub prints: Vec<String>,
    /// Defects that a GPU would hide: at most [`MOST_FINDINGS`], one for each pair of instructions.
    pub findings: Vec<Finding>,
    /// Instructions executed, counted per warp.
    pub steps: u64,
}

/// A defect of a program that finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The kind of the defect.
    pub kind: FindingKind,
    /// The instruction that exposed it.
    pub instruction: InstructionLocation,
    /// The other instruction involved.
    pub other_instruction: Option<InstructionLocation>,
    /// The thread that exposed it.
    pub thread: Thread,
    /// The affected byte of shared memory.
    pub byte: Option<u64>,
}

/// The kind of a defect that a GPU hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// Two warps wrote different values to a byte without a barrier between them.
    WriteWrite,
    /// A warp read a byte that another warp wrote, without a barrier between them.
    ReadAfterWrite,
    /// A warp wrote a byte that another warp had read, without a barrier between them.
    WriteAfterRead,
    /// A byte was accessed while a `cp.async` to it was in flight.
    InFlight,
    /// Device memory depends on an uninitialised register or byte. The memory's states mark the affected bytes
    /// ([`cerith_memory::ByteState::Poison`]).
    Uninitialised,
    /// Whether the launch finishes depends on an uninitialised register or byte.
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
        let Self {
            instruction: at,
            thread,
            byte,
            ..
        } = self;
        let byte = byte.map_or(String::new(), |byte| format!("byte {byte} of shared memory"));
        let other = self
            .other_instruction
            .as_ref()
            .map_or(String::new(), ToString::to_string);
        match self.kind {
            FindingKind::WriteWrite => write!(
                f,
                "{thread} wrote {byte} with {at}, to which another warp wrote a different value with {other}, with no barrier \
                 between them"
            ),
            FindingKind::ReadAfterWrite => write!(
                f,
                "{thread} read {byte} with {at}, which another warp wrote with {other}, with no barrier between them"
            ),
            FindingKind::WriteAfterRead => write!(
                f,
                "{thread} wrote {byte} with {at}, which another warp read with {other}, with no barrier between them"
            ),
            FindingKind::InFlight => write!(
                f,
                "{thread} accessed {byte} with {at} while {other} to it had not been waited for"
            ),
            FindingKind::Uninitialised => write!(
                f,
                "{thread} passed on an uninitialised value with {at}, and the result depends on it"
            ),
            FindingKind::UninitialisedEnd => write!(
                f,
                "{thread} passed on an uninitialised value with {at}, and whether the launch finishes depends on it"
            ),
        }
    }
}

/// An error that stopped the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Trap {
    /// The kind of the error.
    pub kind: TrapKind,
    /// The instruction; `None` at the end of a function without one.
    pub instruction: Option<InstructionLocation>,
    /// The thread, or the first of several.
    pub thread: Thread,
}

/// The kind of an error that stops a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrapKind {
    /// An access outside of all storages.
    OutOfBounds {
        /// The address.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// The nearest storage.
        fault: Fault,
    },
    /// An access outside of the memory of a block, of a thread, or of the module.
    OutsideOf {
        /// The name of the memory.
        memory: &'static str,
        /// The offset of the access.
        offset: u64,
        /// Bytes of the access.
        bytes: u64,
        /// Bytes of the memory.
        size: u64,
    },
    /// A write to read-only memory.
    ReadOnly {
        /// The name of the memory.
        memory: &'static str,
    },
    /// A misaligned access.
    Misaligned {
        /// The address.
        address: u64,
        /// The required alignment.
        align: u64,
    },
    /// An assertion of the program.
    Assert {
        /// The message.
        message: String,
        /// The file in the assertion.
        file: String,
        /// The line in the assertion.
        line: u32,
    },
    /// The instruction `trap`.
    Trap,
    /// A barrier that only some of a warp's threads reached.
    DivergentBarrier {
        /// Mask of the lanes that reached it.
        arrived: u32,
        /// Mask of the running lanes.
        running: u32,
    },
    /// Some threads never reach the barrier that the others wait for.
    Deadlock,
    /// A collective instruction that not all its lanes reached.
    Inactive {
        /// Mask of the lanes that it names.
        members: u32,
        /// Mask of the lanes that reached it.
        arrived: u32,
    },
    /// A barrier with an invalid number or thread count.
    BadBarrier,
    /// A jump to a target that is not an instruction.
    NoStep,
    /// Warps of a block access the device's memory without a barrier between them, and the result depends on their order.
    GlobalRace {
        /// The kind of the access ([`FindingKind::WriteWrite`], [`FindingKind::ReadAfterWrite`] or
        /// [`FindingKind::WriteAfterRead`]).
        access: FindingKind,
        /// The other warp's instruction.
        other_instruction: Option<InstructionLocation>,
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

    /// The nearest storage of an out-of-bounds access.
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
                memory,
                offset,
                bytes,
                size,
            } => write!(
                f,
                "an access of {bytes} bytes at byte {offset} of {memory}, which has {size}"
            ),
            Self::ReadOnly { memory } => write!(f, "a write to {memory}"),
            Self::Misaligned { address, align } => {
                write!(f, "an access at {address:#x}, which is not a multiple of {align}")
            }
            Self::Assert { message, file, line } => write!(f, "{file}:{line}: assertion failed: {message}"),
            Self::Trap => f.write_str("the program stopped itself"),
            Self::DivergentBarrier { arrived, running } => write!(
                f,
                "a barrier that only lanes {arrived:#010x} of a warp reach, while lanes {running:#010x} run"
            ),
            Self::Deadlock => f.write_str("deadlock: some threads never reach the barrier"),
            Self::Inactive { members, arrived } => {
                write!(
                    f,
                    "an instruction for lanes {members:#010x} that only lanes {arrived:#010x} reach"
                )
            }
            Self::BadBarrier => f.write_str(
                "a barrier that does not exist, or for a number of threads that is not a multiple of 32",
            ),
            Self::NoStep => f.write_str("the jump target is not an instruction"),
            Self::GlobalRace {
                access,
                other_instruction: other,
            } => {
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
    /// The resource.
    pub resource: Resource,
    /// The limit, in the resource's unit.
    pub limit: u64,
}

/// A limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Instructions of warps.
    Fuel,
    /// Bytes of registers, of shared memory and of threads' own memory.
    Memory,
    /// Bytes of printed text.
    Prints,
    /// Seconds.
    Time,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.resource {
            Resource::Fuel => "instructions of warps",
            Resource::Memory => "bytes of registers and of blocks' memory",
            Resource::Prints => "bytes of printed text",
            Resource::Time => "seconds",
        };
        write!(f, "the limit of {} {what} was reached", self.limit)
    }
}
