//! The results of a launch.

use std::fmt;

use cerith_memory::{Fault, StorageId};

use crate::code::FindingCode;
use crate::deadlock::Deadlock;
use crate::fidelity::ExecutedInstructions;
use crate::located::Line;
use crate::syntax::Location;
use crate::tensor::map::TensorMapError;

/// The code of [`TrapKind::GlobalRace`].
pub const GLOBAL_RACE: &str = FindingCode::GlobalRace.name();

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
    /// The kinds of these instructions.
    pub executed: ExecutedInstructions,
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
    /// The affected byte of shared memory, or the offset of the `mbarrier`.
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
    /// A byte was accessed while a copy to it was in flight.
    InFlight,
    /// A byte was written while a bulk copy still read it.
    SourceInFlight,
    /// A byte was written while a product of `wgmma` still read it.
    OperandInFlight,
    /// The asynchronous proxy accessed a byte that a thread wrote, without a proxy fence between them.
    ProxyFence,
    /// The asynchronous proxy wrote a byte that a thread had read, without a proxy fence between them.
    ProxyFenceAfterRead,
    /// An `mbarrier` may complete two phases before a wait for the first of them returns.
    PhaseOverrun,
    /// An `mbarrier` completed a phase without the bytes of a copy that counts on it.
    PhaseTooEarly,
    /// A register was accessed while a product of `wgmma` was writing or reading it.
    AccumulatorInFlight,
    /// A product of `wgmma` used a register that a thread wrote, without `wgmma.fence` between them.
    AccumulatorFence,
    /// A byte of device memory was accessed while a bulk copy was writing it.
    GlobalInFlight,
    /// A byte of device memory was written while a bulk copy was reading it.
    GlobalSourceInFlight,
    /// A bulk copy accessed device memory that a thread wrote, without a proxy fence between them.
    GlobalProxyFence,
    /// A bulk copy used a tensor map that a thread changed, without a fence of tensor maps between them.
    MapFence,
    /// A block may exit while another block accesses its shared memory.
    ClusterExit,
    /// A thread exited before its bulk copy had accessed the block's shared memory.
    ExitInFlight,
    /// Device memory depends on an uninitialised register or byte. The memory's states mark the affected bytes
    /// ([`cerith_memory::ByteState::Poison`]).
    Uninitialised,
    /// Whether the launch finishes depends on an uninitialised register or byte.
    UninitialisedEnd,
}

impl FindingKind {
    /// A stable name.
    pub const fn code(self) -> &'static str {
        let code = match self {
            Self::WriteWrite | Self::ReadAfterWrite | Self::WriteAfterRead | Self::OperandInFlight => {
                FindingCode::SharedRace
            }
            Self::InFlight | Self::SourceInFlight | Self::PhaseTooEarly | Self::ExitInFlight => {
                FindingCode::CopyInFlight
            }
            Self::ProxyFence | Self::ProxyFenceAfterRead | Self::GlobalProxyFence | Self::MapFence => {
                FindingCode::ProxyFenceMissing
            }
            Self::PhaseOverrun => FindingCode::MbarrierReused,
            Self::AccumulatorInFlight | Self::AccumulatorFence => FindingCode::AccumulatorInFlight,
            Self::GlobalInFlight | Self::GlobalSourceInFlight => FindingCode::GlobalRace,
            Self::ClusterExit => FindingCode::ClusterExit,
            Self::Uninitialised | Self::UninitialisedEnd => FindingCode::UninitialisedRegister,
        };
        code.name()
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
            FindingKind::SourceInFlight => write!(
                f,
                "{thread} wrote {byte} with {at} while {other} still read it; `cp.async.bulk.wait_group.read` would wait for it"
            ),
            FindingKind::OperandInFlight => write!(
                f,
                "{thread} wrote {byte} with {at} while {other} still read it; `wgmma.wait_group` would wait for it"
            ),
            FindingKind::ProxyFence => write!(
                f,
                "{at} of {thread} accessed {byte} through the async proxy, which {other} wrote through the generic proxy; \
                 `fence.proxy.async` between them would order them"
            ),
            FindingKind::ProxyFenceAfterRead => write!(
                f,
                "{at} of {thread} wrote {byte} through the async proxy, which {other} had read through the generic proxy; \
                 `fence.proxy.async` between them would order them"
            ),
            FindingKind::PhaseOverrun => write!(
                f,
                "{at} of {thread} may complete the next phase of the mbarrier at {byte} before {other} returns, which then waits \
                 for the wrong phase; nothing orders the wait before it"
            ),
            FindingKind::PhaseTooEarly => write!(
                f,
                "{at} of {thread} completed a phase of the mbarrier at {byte} while {other} was in flight; `expect_tx` must count \
                 its bytes"
            ),
            FindingKind::AccumulatorInFlight => write!(
                f,
                "{thread} accessed a register with {at} while {other} was in flight; `wgmma.wait_group` would wait for it"
            ),
            FindingKind::AccumulatorFence => write!(
                f,
                "{at} of {thread} uses a register that {other} wrote; `wgmma.fence` between them would order them"
            ),
            FindingKind::GlobalInFlight => write!(
                f,
                "{thread} accessed device memory with {at} while {other} was writing it; `cp.async.bulk.wait_group` would wait for it"
            ),
            FindingKind::GlobalSourceInFlight => write!(
                f,
                "{thread} wrote device memory with {at} while {other} was reading it; a wait for the copy would order them"
            ),
            FindingKind::GlobalProxyFence => write!(
                f,
                "{at} of {thread} accessed device memory through the async proxy, which {other} wrote through the generic proxy; \
                 `fence.proxy.async` between them would order them"
            ),
            FindingKind::MapFence => write!(
                f,
                "{at} of {thread} uses a tensor map that {other} changed; `fence.proxy.tensormap::generic.acquire` between them \
                 would order them"
            ),
            FindingKind::ClusterExit => write!(
                f,
                "{thread} accessed shared memory of another block with {at}, and that block may exit before; \
                 `barrier.cluster` after the access would keep it"
            ),
            FindingKind::ExitInFlight => write!(
                f,
                "{thread} started {at} and the block may exit before the copy has accessed its shared memory; a wait for the copy \
                 would keep it"
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
    /// The first defect found before, which may be the cause.
    pub cause: Option<Box<Finding>>,
}

/// The kind of an error that stops a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrapKind {
    /// An access outside of all storages.
    OutOfBounds {
        /// The address.
        address: u64,
        /// The size in bytes.
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
    /// No thread can continue.
    Deadlock(Box<Deadlock>),
    /// An operation on an `mbarrier` that is not initialised.
    NoMbarrier {
        /// Its offset in shared memory.
        offset: u32,
    },
    /// An operation on an `mbarrier` that has no meaning.
    BadMbarrier {
        /// Its offset in shared memory.
        offset: u32,
        /// The reason.
        reason: &'static str,
    },
    /// An address in the shared memory of a block that the cluster lacks.
    NoBlock {
        /// The rank of the block.
        rank: u64,
    },
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
    /// A tensor copy with an invalid tensor map.
    TensorMap(TensorMapError),
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
        let code = match self {
            Self::OutOfBounds { .. } | Self::OutsideOf { .. } | Self::NoBlock { .. } => {
                FindingCode::OutOfBounds
            }
            Self::ReadOnly { .. } => FindingCode::ReadOnly,
            Self::Misaligned { .. } => FindingCode::Misaligned,
            Self::Assert { .. } => FindingCode::AssertionFailed,
            Self::Trap => FindingCode::Trap,
            Self::DivergentBarrier { .. } => FindingCode::DivergentBarrier,
            Self::Deadlock(_) => FindingCode::Deadlock,
            Self::NoMbarrier { .. } | Self::BadMbarrier { .. } => FindingCode::BadMbarrier,
            Self::Inactive { .. } => FindingCode::InactiveLanes,
            Self::BadBarrier => FindingCode::BadBarrier,
            Self::NoStep => FindingCode::NoInstruction,
            Self::TensorMap(_) => FindingCode::BadTensorMap,
            Self::GlobalRace { .. } => FindingCode::GlobalRace,
        };
        code.name()
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
            Self::Deadlock(deadlock) => deadlock.fmt(f),
            Self::NoMbarrier { offset } => {
                write!(
                    f,
                    "an operation on byte {offset} of shared memory, where no mbarrier is initialised"
                )
            }
            Self::BadMbarrier { offset, reason } => {
                write!(f, "the mbarrier at byte {offset} of shared memory: {reason}")
            }
            Self::NoBlock { rank } => write!(f, "the cluster has no block {rank}"),
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
            Self::TensorMap(error) => error.fmt(f),
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
