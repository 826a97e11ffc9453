//! Stable names of the kinds of findings and traps.

macro_rules! codes {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $name:literal, )+) => {
        /// The name of a kind of finding or trap. Several kinds may have one name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FindingCode { $( $(#[doc = $doc])+ $variant, )+ }

        impl FindingCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];

            /// The text of the code.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }
        }
    };
}

codes! {
    /// A race in shared memory.
    SharedRace = "shared-race",
    /// A race in global memory.
    GlobalRace = "global-race",
    /// An access to bytes of a copy that has not completed.
    CopyInFlight = "copy-in-flight",
    /// Accesses by two proxies without a fence between them.
    ProxyFenceMissing = "proxy-fence-missing",
    /// A phase of an `mbarrier` that may complete before a wait for the one before it returns.
    MbarrierReused = "mbarrier-reused",
    /// An access to registers of a `wgmma` that has not completed.
    AccumulatorInFlight = "accumulator-in-flight",
    /// A block that may exit while another block accesses its shared memory.
    ClusterExit = "cluster-exit",
    /// A result that depends on an uninitialised register.
    UninitialisedRegister = "uninitialised-register",
    /// An access outside of all memory.
    OutOfBounds = "out-of-bounds",
    /// A write to read-only memory.
    ReadOnly = "read-only",
    /// A misaligned access.
    Misaligned = "misaligned",
    /// An assertion of the program.
    AssertionFailed = "assertion-failed",
    /// The instruction `trap`.
    Trap = "trap",
    /// A barrier that only some lanes of a warp reach.
    DivergentBarrier = "divergent-barrier",
    /// No warp can continue.
    Deadlock = "deadlock",
    /// An invalid operation on an `mbarrier`.
    BadMbarrier = "bad-mbarrier",
    /// A collective instruction that not all its lanes reach.
    InactiveLanes = "inactive-lanes",
    /// A barrier with an invalid number or thread count.
    BadBarrier = "bad-barrier",
    /// A jump to a target that is not an instruction.
    NoInstruction = "no-instruction",
    /// An invalid tensor map.
    BadTensorMap = "bad-tensor-map",
}

impl FindingCode {
    /// Whether it is about unordered accesses or waits, so that results on a GPU may depend on timing.
    pub const fn is_race(self) -> bool {
        matches!(
            self,
            Self::SharedRace
                | Self::GlobalRace
                | Self::CopyInFlight
                | Self::ProxyFenceMissing
                | Self::MbarrierReused
                | Self::AccumulatorInFlight
                | Self::ClusterExit
        )
    }
}
