//! The form of a case: the stored values, the twin, the data, and the engines.

use cerith_tile::rules::{Rule, Rules, Version};

/// The values of a kernel that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Detail {
    /// Some of them, as the bytes say.
    #[default]
    Chosen,
    /// Those, and every other one that is not inside of a loop or branch.
    Every,
}

/// A change of a kernel that must not change what it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Twist {
    /// Values go through changes of shape that come back to where they began.
    Shapes,
    /// Values go through memory.
    Memory,
    /// Values change in a branch that is never taken.
    Branch,
    /// Loops are unrolled; those that were are not.
    Unrolled,
    /// Integers are added, multiplied and the like in another order.
    Operands,
    /// The last program is the first.
    Order,
    /// Each program is a launch of its own.
    Launches,
    /// Other warps, other stages.
    Options,
}

impl Twist {
    /// Every twist.
    pub const ALL: [Self; 8] = [
        Self::Shapes,
        Self::Memory,
        Self::Branch,
        Self::Unrolled,
        Self::Operands,
        Self::Order,
        Self::Launches,
        Self::Options,
    ];

    /// As reports name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shapes => "shapes",
            Self::Memory => "memory",
            Self::Branch => "branch",
            Self::Unrolled => "unrolled",
            Self::Operands => "operands",
            Self::Order => "order",
            Self::Launches => "launches",
            Self::Options => "options",
        }
    }
}

/// The language features that a kernel may use, by its engines. Each variant includes the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hardware {
    /// A GPU before `sm_89`: of the 8-bit floats, `fp8e5` and `fp8e4b15`.
    Ampere,
    /// A GPU from `sm_89` on, which has `fp8e4nv` too.
    Hopper,
    /// None: Triton's interpreter, which also has what no NVIDIA GPU has: the 8-bit floats `fp8e4b8` and `fp8e5b16`, and gathers of
    /// a descriptor on any of them.
    Emulated,
}

impl Hardware {
    /// Whether it has `fp8e4nv`.
    #[must_use]
    pub fn e4m3(self) -> bool {
        self >= Self::Hopper
    }

    /// Whether it has what Triton's interpreter alone has.
    #[must_use]
    pub fn emulated(self) -> bool {
        self == Self::Emulated
    }
}

/// The abilities of a case's engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many elements a kernel may have in operations that an engine does one by one: Triton's interpreter calls a
    /// Python function for each element of a reduction or scan with a function of its own, and of a sort.
    pub one_by_one: usize,
    /// The oldest version of Triton among them.
    pub oldest: Version,
    /// The newest one.
    pub newest: Version,
    /// The hardware with the fewest features among the engines' targets.
    pub hardware: Hardware,
    /// The number of small kernels among ten. Triton's interpreter takes some 50 microseconds for each operation, so that one
    /// large kernel costs as much as ten small ones, and shows less.
    pub small: u8,
    /// Whether there are tensor descriptors.
    pub descriptors: bool,
    /// Whether there are block pointers.
    pub block_pointers: bool,
}

impl Limits {
    /// Those of a version of Triton, compiled.
    pub fn from_compiler(version: Version) -> Self {
        let rules = Rules::from_version(version);
        Self {
            one_by_one: usize::MAX,
            oldest: version,
            newest: version,
            hardware: Hardware::Hopper,
            small: 7,
            descriptors: rules.holds(Rule::Descriptors),
            block_pointers: !rules.holds(Rule::NoBlockPointers),
        }
    }

    /// Those of a version of Triton, interpreted.
    pub fn from_interpreter(version: Version) -> Self {
        Self {
            one_by_one: 48,
            hardware: Hardware::Emulated,
            small: 9,
            ..Self::from_compiler(version)
        }
    }

    /// Those of a version of Triton, compiled for a GPU before `sm_89`.
    pub fn compiled_for_ampere(version: Version) -> Self {
        Self {
            hardware: Hardware::Ampere,
            ..Self::from_compiler(version)
        }
    }

    /// The common abilities of both.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        Self {
            one_by_one: self.one_by_one.min(other.one_by_one),
            oldest: self.oldest.min(other.oldest),
            newest: self.newest.max(other.newest),
            hardware: self.hardware.min(other.hardware),
            small: self.small.max(other.small),
            descriptors: self.descriptors && other.descriptors,
            block_pointers: self.block_pointers && other.block_pointers,
        }
    }

    /// Whether all of them have what came with this version.
    pub fn is_at_least(self, major: u16, minor: u16) -> bool {
        self.oldest >= Version::new(major, minor, 0)
    }

    /// Whether all of them have what came with this patch.
    pub fn hold_since(self, major: u16, minor: u16, patch: u16) -> bool {
        self.oldest >= Version::new(major, minor, patch)
    }

    /// Whether all of them go by this rule.
    pub fn hold(self, rule: Rule) -> bool {
        self.oldest >= rule.since()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::from_compiler(Version::NEWEST)
    }
}

/// How what a kernel is given lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Layout {
    /// Each in a storage of its own, except for views that the kernel's number chose.
    #[default]
    Tight,
    /// Inside of a larger storage, from a multiple of 16 bytes on: what is compiled is the same.
    Inside,
}

/// The purpose of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Form {
    /// The values to store.
    pub detail: Detail,
    /// The number of the twin.
    pub twist: Option<Twist>,
    /// The number of the data: the same kernel with another number has other data.
    pub data: u16,
    /// How its memory lies.
    pub layout: Layout,
    /// How many programs more than its own it is launched with. Its text may be another one for that.
    pub programs: u8,
    /// The number of the options: 0 for the options of the kernel, others for other warps and stages.
    pub options: u8,
    /// For whom.
    pub limits: Limits,
}

impl From<Detail> for Form {
    fn from(detail: Detail) -> Self {
        Self {
            detail,
            ..Self::default()
        }
    }
}
