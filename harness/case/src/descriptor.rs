//! Tensor descriptors as arguments: `triton.tools.tensor_descriptor.TensorDescriptor`, made in Python before the launch.
//!
//! [`Descriptor::find_rejection`] checks values as each version of that class does. See `cerith-frontend` for a
//! descriptor's use in a kernel. Descriptors that a kernel creates are not covered.

use std::fmt;

use cerith_memory::Tensor;
use cerith_tile::rules::Version;

/// Dimensions that a descriptor may have.
pub const MAX_RANK: usize = 5;

/// Maximum number of elements of a block (`TRITON_MAX_TENSOR_NUMEL`).
const MAX_NUMEL: i64 = 1 << 20;

/// The alignment of descriptors, in bytes.
const ALIGNMENT: i128 = 16;

/// The version that brought the class.
const FIRST: Version = Version::new(3, 4, 0);

/// The value that lanes outside of the described tensor load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Padding {
    /// Zero.
    #[default]
    Zero,
    /// NaN.
    Nan,
}

impl Padding {
    /// The name that Triton has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Nan => "nan",
        }
    }
}

impl fmt::Display for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A descriptor of memory that blocks are loaded from and stored to.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// The expression of the tensor, often just its name.
    pub name: String,
    /// A tensor with the address of the first element and the dtype.
    pub base: Tensor,
    /// Elements along each dimension; by default those of the tensor.
    pub shape: Vec<i64>,
    /// Strides in elements; by default those of the tensor.
    pub strides: Vec<i64>,
    /// Elements of a block.
    pub block_shape: Vec<i64>,
    /// The value that lanes outside of the shape load.
    pub padding: Padding,
    /// Whether loads round to tf32.
    pub round_f32_to_tf32: bool,
}

impl Descriptor {
    /// The reason for which a version's `TensorDescriptor` rejects these values, if it does.
    pub fn find_rejection(&self, version: Version) -> Option<String> {
        let bytes = self.base.dtype.size() as i128;
        let aligned = |elements: i64| i128::from(elements) * bytes % ALIGNMENT == 0;
        let rank = self.shape.len();
        if version < FIRST {
            return Some(format!("there are no tensor descriptors before {FIRST}"));
        }
        if self.padding != Padding::Zero && version < Version::new(3, 5, 0) {
            return Some("a descriptor's padding can be chosen since 3.5.0".to_owned());
        }
        if self.round_f32_to_tf32 && version < Version::new(3, 7, 0) {
            return Some("descriptors round to tf32 since 3.7.0".to_owned());
        }
        for (what, dims) in [("strides", &self.strides), ("block shape", &self.block_shape)] {
            if dims.len() != rank {
                return Some(format!(
                    "the {what} has {} dimensions, the shape {rank}",
                    dims.len()
                ));
            }
        }
        if rank == 0 || rank > MAX_RANK {
            return Some(format!("a descriptor has 1 to {MAX_RANK} dimensions, not {rank}"));
        }
        if !aligned(self.base.offset) {
            return Some(format!(
                "the base must be 16-byte aligned, but begins {} bytes into its storage",
                i128::from(self.base.offset) * bytes
            ));
        }
        let power = |extent: &i64| u64::try_from(*extent).is_ok_and(u64::is_power_of_two);
        if let Some(extent) = self.block_shape.iter().find(|extent| !power(extent)) {
            return Some(format!("a block's extent must be a power of 2, not {extent}"));
        }
        let numel = self
            .block_shape
            .iter()
            .try_fold(1i64, |numel, &extent| numel.checked_mul(extent));
        if numel.is_none_or(|numel| numel > MAX_NUMEL) {
            return Some(format!("a block has at most {MAX_NUMEL} elements"));
        }
        let (last, leading) = self.strides.split_last()?;
        if let Some(stride) = leading.iter().find(|&&stride| !aligned(stride)) {
            return Some(format!(
                "strides must be multiples of 16 bytes, but {stride} elements are {} bytes",
                i128::from(*stride) * bytes
            ));
        }
        if let Some(extent) = self.shape.iter().find(|&&extent| extent <= 0)
            && version >= Version::new(3, 6, 0)
        {
            return Some(format!(
                "the shape must be positive, but has an extent of {extent}"
            ));
        }
        if *last != 1 {
            return Some(format!(
                "the last dimension must be contiguous, but has a stride of {last}"
            ));
        }
        if self.padding == Padding::Nan && !self.base.dtype.is_float() {
            return Some(format!("`nan` is not a padding for {}", self.base.dtype));
        }
        if self.round_f32_to_tf32 && self.base.dtype != cerith_tile::DType::F32 {
            return Some(format!("only f32 rounds to tf32, not {}", self.base.dtype));
        }
        None
    }

    /// Whether shape and strides are the tensor's own.
    pub fn is_whole(&self) -> bool {
        self.shape[..] == self.base.shape[..] && self.strides[..] == self.base.strides[..]
    }
}
