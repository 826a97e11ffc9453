//! Facts about the parameters and the grid of a kernel, from its text.

use std::collections::{BTreeMap, BTreeSet};

use super::contract::Contract;
use super::polynomial::Extent;

/// How a kernel uses its parameters, according to its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Its tensors, in the order of the parameters.
    pub tensors: Vec<TensorUse>,
    /// The use of each axis of the grid.
    pub axes: Vec<AxisUse>,
    /// Sizes that one block of lanes must cover, with the block: no program has more of them.
    pub covered_sizes: Vec<(String, Extent)>,
    /// Sizes that loops cut into blocks, with the blocks.
    pub cut_sizes: Vec<(String, Extent)>,
    /// Names that decide an `if` by themselves.
    pub flags: BTreeSet<String>,
    /// Parameters that are given to `.to(…)` or `dtype=`.
    pub dtypes: BTreeSet<String>,
    /// Parameters that are compared with a string, and the string.
    pub texts: Vec<(String, String)>,
    /// Parameters that are compared with a number, and the number.
    pub numbers: Vec<(String, i64)>,
    /// Parameters with one value only: the kernel begins by assigning a number to them, as `TorchInductor`'s kernels do with sizes that
    /// are known, or promises it by `tl.assume`.
    pub assigned: BTreeMap<String, i64>,
    /// Parameters that ranges of lanes end at.
    pub blocks: BTreeSet<String>,
    /// Parameters that such an end is a multiple of.
    pub factors: BTreeSet<String>,
    /// Parameters by which an integer is divided.
    pub divisors: BTreeSet<String>,
    /// Parameters that the text names nowhere.
    pub unused: BTreeSet<String>,
    /// Names that the kernel's module binds anywhere.
    pub bound: BTreeSet<String>,
    /// Names that an address, a mask, a condition, a loop or a shape may depend on. Others only reach values.
    pub control: BTreeSet<String>,
    /// Whether the kernel has matrix products, which need blocks of 16 or more.
    pub has_dots: bool,
    /// Parameters that are compared with `None`.
    pub optional: BTreeSet<String>,
    /// Parameters with a method `load` or `store`: tensor descriptors that the host makes.
    pub descriptors: BTreeMap<String, DescriptorUse>,
    /// How many accesses are through addresses whose tensor the text does not show.
    pub lost: usize,
    /// Conditions on its launches that the text states.
    pub contracts: Vec<Contract>,
}

/// A tensor descriptor that the host makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DescriptorUse {
    /// How many dimensions it is indexed with.
    pub dimensions: usize,
    /// Whether it is loaded from.
    pub read: bool,
    /// Whether it is stored to.
    pub written: bool,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub struct TensorUse {
    /// Its parameter.
    pub name: String,
    /// Its dimensions, the one with the largest stride first if that is known.
    pub dimensions: Vec<Dimension>,
    /// Whether it is loaded from.
    pub read: bool,
    /// Whether it is stored to.
    pub written: bool,
    /// Whether values of it are indices into another tensor.
    pub indexes: bool,
    /// Whether values of it are used as only integers can be.
    pub is_whole: bool,
    /// Tensors that are loaded from at the very indices at which this one is stored to: it may be meant to take their place.
    pub mirrors: BTreeSet<String>,
    /// Whether the text determines its number of elements. If so, an access out of bounds is the kernel's fault.
    pub certain: bool,
    /// Whether other accesses determine its number of elements, and one that is moved or bounded in another way does
    /// not fit them.
    pub stated: bool,
    /// The tensors whose loaded values an address in it depends on.
    pub placed_by: BTreeSet<String>,
    /// Whether the kernel loads neighbours of it by one index, and uses them as indices: each is the end of a segment of other
    /// tensors, and the start of the next.
    pub is_segmented: bool,
    /// Whether `tl.atomic_cas` replaces its elements, as those of a lock. No program holds it before the launch.
    pub is_lock: bool,
    /// Values that are not indices, if the kernel compares its values with them: those of elements that it ignores.
    pub sentinels: BTreeSet<Sentinel>,
    /// The first store to it in the module, in bytes.
    pub stored_at: Option<u32>,
    /// The first access that nothing but the grid and this block bounds, and where it is in the module, in bytes: the block must
    /// divide the number of elements.
    pub unmasked: Option<(Extent, u32)>,
}

impl TensorUse {
    /// Whether the contents of other tensors place the elements that are accessed.
    pub fn is_placed(&self) -> bool {
        !self.placed_by.is_empty()
    }

    /// The values that are none of its indices, although the kernel compares its values with them. `find_sentinel` returns that of a
    /// parameter.
    pub fn list_sentinels(&self, find_sentinel: impl Fn(&str) -> Option<i64>) -> Vec<i64> {
        let sentinels = self.sentinels.iter().filter(|_| self.indexes);
        let values = sentinels.filter_map(|sentinel| match sentinel {
            Sentinel::Number(number) => Some(*number),
            Sentinel::Param(name) => find_sentinel(name),
        });
        values.collect()
    }
}

/// A value with which a kernel compares values that it loads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sentinel {
    /// A negative number.
    Number(i64),
    /// The value of a parameter. It is a sentinel if it is negative, or the size that indices are below.
    Param(String),
}

/// A dimension of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The factor of an index.
    pub stride: Stride,
    /// How large indices get.
    pub bound: Bound,
}

/// How far apart the elements of a dimension are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stride {
    /// So many elements.
    Number(i64),
    /// The value of a parameter, which is called a stride or bounds nothing.
    Param(String),
    /// As many as the product of these parameters, which are sizes of further dimensions, and of this number.
    Sizes(Vec<String>, i64),
}

/// The bound of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A parameter that it is compared with.
    Size(String),
    /// Nothing but the grid: there are as many as programs on this axis.
    Programs(u8),
    /// Only the grid, on an axis that other dimensions share: the extent is the number of programs on this axis that
    /// agree in the other dimensions.
    Quotient(u8),
    /// Nothing but the block: there are as many as lanes.
    Lanes(Extent),
    /// Nothing but the grid and the block: as many as lanes of all programs on this axis.
    Blocks(u8, Extent),
    /// Unknown from the text.
    Unknown,
}

/// The use of an axis of the grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AxisUse {
    /// Sizes that are cut into blocks, with the blocks: there are as many programs as the product of the numbers of blocks.
    pub blocks: Vec<(String, Extent)>,
    /// Sizes that have one program for each element.
    pub sizes: Vec<String>,
    /// Whether what is left of a program's number without those sizes is an index too.
    pub quotient: bool,
    /// Whether programs go on in steps of their number, so that any number will do.
    pub persistent: bool,
}

/// Flags of a kernel, and what they are set to.
pub type Flags = BTreeMap<String, bool>;
