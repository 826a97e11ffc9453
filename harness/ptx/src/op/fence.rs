//! Orders and scopes of accesses, and fences. [`crate::decode`] fills them in; the semantics belong to the machine.

/// The memory order of an access, a fence or a barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// No order is written, or `.weak`.
    #[default]
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    Sequential,
}

/// The threads that an order covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    #[default]
    Block,
    Cluster,
    Device,
    System,
}

/// The memory that a proxy fence covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceSpace {
    All,
    Global,
    /// The block's own shared memory.
    Shared,
    /// The shared memory of the cluster.
    Cluster,
}

/// `fence` and `membar`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fence {
    /// Orders accesses of the generic proxy.
    Thread,
    /// `fence.….sync_restrict::…`: orders accesses of mbarrier objects only.
    Restricted,
    /// `fence.mbarrier_init.release.cluster`
    MbarrierInit,
    /// `fence.proxy.alias`
    Alias,
    /// `fence.proxy.async`: orders the generic and the async proxy.
    Async(FenceSpace),
    /// `fence.proxy.tensormap::generic.release`
    MapRelease,
    /// `fence.proxy.tensormap::generic.acquire [address], 128`
    MapAcquire,
}
