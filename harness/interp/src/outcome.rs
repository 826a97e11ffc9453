//! The outcome of a launch. See [`crate::checks`] for the kinds of traps and their messages.

use cerith_memory::StorageId;
use std::fmt;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::LocId;
use cerith_tile::source::Span;

/// The outcome of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum LaunchOutcome {
    /// Every program ran to its end; the memory holds the result.
    Finished(Finished),
    /// A program had undefined behaviour, or a false assertion. The memory holds everything written until then.
    Trapped(Box<Trap>),
    /// A limit of [`crate::Config`] was reached.
    Exhausted(Exhausted),
    /// The program needs a construct that the reference does not support.
    Unsupported(Unsupported),
}

/// The results of a finished launch, apart from memory.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Finished {
    /// The lines of `tl.device_print`, by program and lane. A device prints them in any order.
    pub prints: Vec<String>,
    /// Execution counts.
    pub stats: Stats,
    /// Warnings about the program.
    pub remarks: Vec<Diagnostic>,
}

/// Counters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Programs run.
    pub programs: u64,
    /// Work done, in the unit of [`crate::Config::fuel`].
    pub fuel: u64,
    /// Bytes written by stores and atomics.
    pub bytes_stored: u64,
    /// Bytes of those that were written with no defined value.
    pub bytes_poisoned: u64,
    /// Bytes of those that an atomic wrote with a defined value; a later one may have taken it away.
    pub bytes_updated: u64,
    /// Whether programs met in an atomic whose result was used, or that does not commute: another order of programs,
    /// which an engine may well have, may give another result.
    pub order_dependent: bool,
    /// The storages that a hazard can reach: a load that the language does not order before a store of another lane. Every known
    /// compiler does, so their bytes are known.
    pub endangered: StorageSet,
}

/// A set of storages. Storages with a number from 63 on are in a set together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StorageSet(u64);

impl StorageSet {
    /// No storage.
    pub const NONE: Self = Self(0);
    /// Every storage.
    pub const ALL: Self = Self(u64::MAX);

    /// Adds a storage.
    pub fn insert(&mut self, storage: StorageId) {
        self.0 |= 1 << storage.0.min(63);
    }

    /// Whether a storage is in it.
    pub fn contains(self, storage: StorageId) -> bool {
        self.0 >> storage.0.min(63) & 1 == 1
    }

    /// Whether no storage is.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::BitOrAssign for StorageSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A program that stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Trap {
    /// The kind of error.
    pub kind: TrapKind,
    /// The program that did it.
    pub program: [u32; 3],
    /// Its lane, if the operation has lanes.
    pub lane: Option<usize>,
    /// The message for the user.
    pub diagnostic: Diagnostic,
}

/// The ways to stop that are the program's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrapKind {
    /// An access that is not inside of the storage its pointer was made from.
    OutOfBounds,
    /// An address that is not a multiple of the element's size.
    Misaligned,
    /// A read of bytes that nothing was written to.
    Uninitialised,
    /// A value that nothing defines decides what is accessed or executed.
    PoisonUse,
    /// Two programs of a launch accessed the same bytes, at least one of them writing, with no atomics between.
    Race,
    /// Two lanes of one store wrote different values to the same bytes.
    ConflictingLanes,
    /// A lane read what another lane of its program wrote, with no barrier between.
    UnorderedRead,
    /// A lane wrote what another lane of its program read or wrote, with no barrier between.
    UnorderedWrite,
    /// An integer divided by zero.
    DivisionByZero,
    /// `tl.assume` of something false.
    FalseAssume,
    /// A false `tl.multiple_of`, `tl.max_contiguous` or `tl.max_constancy`.
    FalsePromise,
    /// A tensor descriptor, or a use of one, that is not aligned as the language demands.
    DescriptorDemand,
    /// An index outside of a gather's source.
    IndexOutOfRange,
    /// A loop whose step is not positive.
    LoopStep,
    /// A loop that only another program's writes could end, while programs may run one after the other.
    EndlessWait,
    /// An overflow check (`sanitize_overflow`) that may fail or not.
    OverflowCheck,
    /// A failed `tl.device_assert`. This is a defined result.
    AssertionFailed,
}

impl TrapKind {
    /// Every kind.
    pub const ALL: [Self; 17] = [
        Self::OutOfBounds,
        Self::Misaligned,
        Self::Uninitialised,
        Self::PoisonUse,
        Self::Race,
        Self::ConflictingLanes,
        Self::UnorderedRead,
        Self::UnorderedWrite,
        Self::DivisionByZero,
        Self::FalseAssume,
        Self::FalsePromise,
        Self::DescriptorDemand,
        Self::IndexOutOfRange,
        Self::LoopStep,
        Self::EndlessWait,
        Self::OverflowCheck,
        Self::AssertionFailed,
    ];

    /// The diagnostic's code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out-of-bounds",
            Self::Misaligned => "misaligned",
            Self::Uninitialised => "uninitialised-read",
            Self::PoisonUse => "poison-use",
            Self::Race => "race",
            Self::ConflictingLanes => "conflicting-lanes",
            Self::UnorderedRead => "unordered-read",
            Self::UnorderedWrite => "unordered-write",
            Self::DivisionByZero => "division-by-zero",
            Self::FalseAssume => "false-assume",
            Self::FalsePromise => "false-promise",
            Self::DescriptorDemand => "descriptor-demand",
            Self::IndexOutOfRange => "index-out-of-range",
            Self::LoopStep => "loop-step",
            Self::EndlessWait => "endless-wait",
            Self::OverflowCheck => "overflow-check",
            Self::AssertionFailed => "assertion-failed",
        }
    }

    /// Whether the program has no defined meaning; only a failed assertion has one.
    pub const fn is_undefined(self) -> bool {
        !matches!(self, Self::AssertionFailed)
    }
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// The resource.
    pub resource: Resource,
    /// The limit, in the resource's unit.
    pub limit: u64,
    /// The operation that reached it; `None` before the first.
    pub span: Option<Span>,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the limit of {} {} was reached", self.limit, self.resource)
    }
}

/// A limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Operations and lanes.
    Fuel,
    /// Bytes of values.
    Memory,
    /// Bytes of printed text.
    Prints,
    /// Bytes of sparse storages.
    Pages,
    /// Seconds.
    Time,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fuel => "operations and lanes",
            Self::Memory => "bytes of values",
            Self::Prints => "bytes of printed text",
            Self::Pages => "bytes in touched pages of sparse storages",
            Self::Time => "seconds",
        })
    }
}

/// A construct that the reference does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// Its name.
    pub construct: String,
    /// The location of its use.
    pub span: Span,
}

/// The interpreter, or who called it, is wrong: never the kernel. A fragment that fits "failed to …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InternalError {
    /// The number of arguments is not the number of parameters.
    #[error("launch `{kernel}` with {actual} arguments for {expected} parameters")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Arguments given.
        actual: usize,
        /// Parameters.
        expected: usize,
    },
    /// A number for a pointer, or the other way round.
    #[error("launch `{kernel}`: parameter `{parameter}` is a {expected}")]
    ArgumentKind {
        /// The kernel.
        kernel: String,
        /// The parameter.
        parameter: String,
        /// `number` or `pointer`.
        expected: &'static str,
    },
    /// IR that the verifier would refuse.
    #[error("execute {0}: the IR is not well-formed")]
    MalformedIr(&'static str),
    /// The caller stopped the launch ([`crate::Watch::stop`]).
    #[error("finish: stopped")]
    Stopped,
}

/// A reason to leave a block early.
#[derive(Debug)]
pub enum Stop {
    /// The program did something undefined, or a check of its own failed.
    Trap(Box<Trap>),
    /// A limit was reached.
    Exhausted {
        /// The resource.
        resource: Resource,
        /// The limit.
        limit: u64,
        /// The operation, if one reached it.
        loc: Option<LocId>,
    },
    /// An operation is not supported.
    Unsupported {
        /// Its name, for messages.
        construct: String,
        /// The operation.
        loc: LocId,
    },
    /// A bug of Cerith, or a request to stop.
    Internal(InternalError),
}

impl Stop {
    pub(crate) const fn exhausted(what: Resource, limit: u64) -> Self {
        Self::Exhausted {
            resource: what,
            limit,
            loc: None,
        }
    }

    /// Values need more than `limit` bytes.
    pub const fn out_of_memory(limit: usize) -> Self {
        Self::exhausted(Resource::Memory, limit as u64)
    }

    /// Execution takes more than `limit` units of work.
    pub const fn out_of_fuel(limit: u64) -> Self {
        Self::exhausted(Resource::Fuel, limit)
    }

    /// Sets the location, if it is not known yet.
    #[must_use]
    pub fn with_loc(self, here: LocId) -> Self {
        match self {
            Self::Exhausted {
                resource: what,
                limit,
                loc: None,
            } => Self::Exhausted {
                resource: what,
                limit,
                loc: Some(here),
            },
            other => other,
        }
    }

    /// The IR is not what the verifier accepts.
    pub const fn malformed(what: &'static str) -> Self {
        Self::Internal(InternalError::MalformedIr(what))
    }
}
