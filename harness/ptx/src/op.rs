//! Decoded instructions: registers as slots, functions selected. See [`crate::execute`] for execution.

pub(crate) mod address;
pub(crate) mod bulk;
pub(crate) mod fence;
pub(crate) mod mbarrier;
pub(crate) mod wgmma;

use smallvec::SmallVec;

use crate::alu::integer::Carry;
use crate::lanes::{Binary, Quaternary, Ternary, Test, Unary};
use crate::syntax::Type;

pub(crate) use address::{Access, Address, Flag, Slot, StateSpace};
pub(crate) use bulk::{AsyncStore, BulkCopy, MapCopy, MapReplacement, TensorCopy};
pub(crate) use fence::{Fence, Order, Scope};
pub(crate) use mbarrier::Mbarrier;
pub(crate) use wgmma::{MatrixStore, Wgmma};

/// An operator on two predicates.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    pub(crate) const fn combine(self, a: u32, b: u32) -> u32 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// Computes the new value of an atomic from the old value and the operands.
pub(crate) type Update = fn(u64, u64, u64) -> u64;

/// An atomic, or a `red` if the old value is unused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) address: Address,
    pub(crate) bytes: u8,
    pub(crate) update: Update,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    pub(crate) to: Option<Slot>,
    pub(crate) b: Slot,
    pub(crate) c: Slot,
}

/// `cp.async`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: u8,
    /// Number of bytes to read; the remaining ones become zero.
    pub(crate) read: Slot,
}

/// How `shfl` selects a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `shfl.sync`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    pub(crate) mode: ShuffleMode,
    pub(crate) to: Slot,
    pub(crate) valid: Option<Slot>,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) c: Slot,
    pub(crate) members: Slot,
}

/// The function of `vote.sync`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

/// The types of `mma.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MmaKind {
    /// `f16` operands, `f16` sums.
    HalfHalf,
    /// `f16` operands, `f32` sums.
    Half,
    /// `bf16` operands, `f32` sums.
    Brain,
    /// `tf32` operands, `f32` sums.
    Tensor,
    /// `s8` or `u8` operands, `s32` sums.
    Byte {
        a_signed: bool,
        b_signed: bool,
        saturate: bool,
    },
    /// `f64`.
    Double,
}

/// `mma.sync`.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    pub(crate) kind: MmaKind,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) d: SmallVec<[Slot; 4]>,
    pub(crate) a: SmallVec<[Slot; 4]>,
    pub(crate) b: SmallVec<[Slot; 4]>,
    pub(crate) c: SmallVec<[Slot; 4]>,
}

/// `ldmatrix`.
#[derive(Clone, Debug)]
pub(crate) struct MatrixLoad {
    pub(crate) address: Address,
    pub(crate) transposed: bool,
    pub(crate) to: SmallVec<[Slot; 4]>,
}

/// Bytes in a thread's own memory that a call copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedBytes {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u32,
}

/// An external function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// `vprintf(format, arguments)`
    Print,
    /// `__assertfail(message, file, line, function, char_size)`
    Assert,
}

/// An operation.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Nothing,
    Move {
        to: Slot,
        a: Slot,
    },
    Unary {
        f: Unary,
        to: Slot,
        a: Slot,
    },
    Binary {
        f: Binary,
        to: Slot,
        a: Slot,
        b: Slot,
    },
    Ternary {
        f: Ternary,
        to: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    Quaternary {
        f: Quaternary,
        to: Slot,
        from: [Slot; 4],
    },
    /// Parts of equal width, the lowest first.
    Pack {
        to: Slot,
        parts: [Slot; 4],
        count: u8,
        width: u8,
    },
    Unpack {
        parts: [Slot; 4],
        count: u8,
        width: u8,
        a: Slot,
    },
    Carry {
        op: Carry,
        ty: Type,
        takes: bool,
        gives: bool,
        to: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    Select {
        to: Slot,
        a: Slot,
        b: Slot,
        flag: Flag,
    },
    /// `setp`: `to` becomes the comparison, `complement` its negation, each combined with `operand`.
    Test {
        f: Test,
        to: Slot,
        complement: Option<Slot>,
        a: Slot,
        b: Slot,
        logic: Logic,
        operand: Flag,
    },
    /// `setp` of pairs: the comparison of the lower and of the upper halves.
    TestPair {
        low: Test,
        high: Test,
        to: Slot,
        high_to: Slot,
        a: Slot,
        b: Slot,
        logic: Logic,
        operand: Flag,
    },
    /// `set`: `truth` if the comparison holds, in each half if there is a second one.
    Set {
        low: Test,
        high: Option<Test>,
        to: Slot,
        a: Slot,
        b: Slot,
        truth: u64,
    },
    Flags {
        logic: Logic,
        to: Slot,
        a: Flag,
        b: Flag,
    },
    FlagSelect {
        to: Slot,
        a: Flag,
        b: Flag,
        condition: Flag,
    },
    Load(Access),
    Store(Access),
    Atomic(Atomic),
    Copy(Copy),
    CommitCopies,
    /// Waits for all but the given number of groups.
    WaitCopies(u32),
    /// Waits for all copies, committed or not.
    WaitAllCopies,
    MatrixLoad(Box<MatrixLoad>),
    Mma(Box<Mma>),
    Shuffle(Box<Shuffle>),
    Vote {
        mode: VoteMode,
        to: Slot,
        a: Flag,
        members: Slot,
    },
    Match {
        to: Slot,
        a: Slot,
        bits: u32,
        members: Slot,
    },
    /// `redux.sync`
    Reduce {
        f: Binary,
        to: Slot,
        a: Slot,
        members: Slot,
    },
    ActiveMask {
        to: Slot,
    },
    SyncWarp {
        members: Slot,
    },
    /// `bar.sync`, `barrier.sync`; all threads if there is no count.
    Barrier {
        id: Slot,
        count: Option<Slot>,
        waits: bool,
    },
    Branch {
        to: u32,
    },
    /// `brx.idx`: branches to the target at an index, from 0.
    BranchTo {
        index: Slot,
        targets: Box<[u32]>,
    },
    Call {
        to: u32,
        back: Slot,
        arguments: Box<[PassedBytes]>,
    },
    /// Copies the results of a call, after it.
    Back {
        results: Box<[PassedBytes]>,
    },
    Foreign {
        function: Foreign,
        arguments: [u32; 5],
        result: Option<u32>,
    },
    Return {
        back: Slot,
    },
    Exit,
    Trap,
    Fence(Box<Fence>),
    Mbarrier(Box<Mbarrier>),
    BulkCopy(Box<BulkCopy>),
    TensorCopy(Box<TensorCopy>),
    /// `cp.async.bulk.commit_group`
    CommitBulk,
    /// `cp.async.bulk.wait_group`: waits for all but the `left` youngest groups.
    WaitBulk {
        left: u32,
        /// `.read`: waits only until the sources have been read.
        reads: bool,
    },
    #[allow(
        dead_code,
        reason = "the linker rejects it: the machine does not execute it yet"
    )]
    AsyncStore(Box<AsyncStore>),
    ReplaceMap(Box<MapReplacement>),
    CopyMap(Box<MapCopy>),
    Wgmma(Box<Wgmma>),
    /// `wgmma.fence`
    FenceWgmma,
    /// `wgmma.commit_group`
    CommitWgmma,
    /// `wgmma.wait_group`: waits for all but the given number of groups.
    WaitWgmma(u32),
    MatrixStore(Box<MatrixStore>),
    /// `barrier.cluster.arrive` (`waits` is false) and `barrier.cluster.wait`.
    ClusterBarrier {
        waits: bool,
        order: Order,
    },
    /// `mapa`: the address of the same variable in another block of the cluster.
    MapShared {
        to: Slot,
        a: Slot,
        rank: Slot,
        /// Whether the addresses are generic.
        generic: bool,
    },
    /// `getctarank`: the block that an address belongs to.
    FindRank {
        to: Slot,
        a: Slot,
        generic: bool,
    },
    /// `setmaxnreg`
    SetMaxRegisters,
    /// `elect.sync`
    Elect {
        to: Slot,
        flag: Slot,
        members: Slot,
    },
    /// `griddepcontrol`: waits for the grids that this one depends on, or lets dependent grids start.
    GridDependency,
}

// A step of the interpreter reads one operation: larger payloads are boxed.
const _: () = assert!(size_of::<Op>() <= 64);

/// An operation with its predicate.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) guard: Flag,
    pub(crate) op: Op,
}
