//! Tensor maps. The 128 bytes of CUDA's `CUtensorMap` are opaque, so this crate has an encoding of its own, in which
//! zeros are the defaults. Interleaved layouts and im2col are unsupported: Triton doesn't emit them.

use crate::op::bulk::MapField;

/// Bytes of a tensor map.
pub const TENSOR_MAP_BYTES: usize = 128;
/// Maximum dimensions.
const MAX_RANK: usize = 5;
/// Maximum elements of a box along a dimension.
const MAX_BOX: u32 = 256;
/// Maximum bytes of a box: no block has more shared memory.
const MAX_BOX_BYTES: u64 = 1 << 18;

/// Positions in the encoding.
const ADDRESS_AT: usize = 0;
const RANK_AT: usize = 8;
const ELEMENT_AT: usize = 12;
const INTERLEAVE_AT: usize = 16;
const SWIZZLE_AT: usize = 20;
const FILL_AT: usize = 24;
const DIMS_AT: usize = 28;
const BOX_AT: usize = 48;
const STEPS_AT: usize = 68;
const STRIDES_AT: usize = 88;

/// The type of a tensor's elements, with the numbers of `tensormap.replace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementType {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
}

impl ElementType {
    /// The types by the numbers of `tensormap.replace`. `f32.ftz`, `tf32` and `tf32.ftz` change the elements, and are
    /// unsupported: Triton doesn't emit them.
    const ALL: [Option<Self>; 11] = [
        Some(Self::U8),
        Some(Self::U16),
        Some(Self::U32),
        Some(Self::S32),
        Some(Self::U64),
        Some(Self::S64),
        Some(Self::F16),
        Some(Self::F32),
        None,
        Some(Self::F64),
        Some(Self::Bf16),
    ];

    /// The numbers of `CUtensorMapDataType`, as numbers of `tensormap.replace`.
    const FROM_CUDA: [u32; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10];

    /// Bytes of an element.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64 | Self::Bf16)
    }
}

/// The NaN that fills elements outside of the tensor: the same 16 bits, repeated, for every type on an H200.
const NAN_FILL: u64 = 0x7ff7_7ff7_7ff7_7ff7;

/// How a box is permuted in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Swizzle {
    #[default]
    None,
    Bytes32,
    Bytes64,
    Bytes128,
}

impl Swizzle {
    /// Maximum bytes of a row of the box.
    pub(crate) const fn span(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }

    /// Permutes an address in shared memory: chunks of 16 bytes, by the address's bits from 128 on.
    pub(crate) const fn permute(self, address: u32) -> u32 {
        let mask = match self {
            Self::None => 0,
            Self::Bytes32 => 1,
            Self::Bytes64 => 3,
            Self::Bytes128 => 7,
        };
        address ^ (address >> 7 & mask) << 4
    }
}

/// The reason why bytes are not a tensor map that a copy can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TensorMapError {
    /// The number of dimensions is not 1 to 5, or differs from the instruction's.
    #[error("the tensor map's rank is not the instruction's")]
    Rank,
    /// An unknown or unsupported element type.
    #[error("the tensor map's element type is unsupported")]
    ElementType,
    /// Unknown swizzle, or a box whose rows are longer than the swizzle's span.
    #[error("the box of the tensor map is wider than its swizzle")]
    Swizzle,
    /// An interleaved layout.
    #[error("interleaved tensor maps are unsupported")]
    Interleave,
    /// NaN as fill of integers, or an unknown fill.
    #[error("the tensor map's fill does not fit its element type")]
    Fill,
    /// A dimension of zero elements.
    #[error("a dimension of the tensor map has no elements")]
    Dimension,
    /// A box that has no elements, more than 256 along a dimension, or rows of a size that 16 does not divide.
    #[error("the box of the tensor map is empty, too large, or not a multiple of 16 bytes wide")]
    Box,
    /// An element stride that is not 1 to 8.
    #[error("an element stride of the tensor map is not 1 to 8")]
    Step,
    /// An address or a stride that 16 does not divide, or too large a stride.
    #[error("the address or a stride of the tensor map is not a multiple of 16 bytes")]
    Alignment,
    /// A first coordinate that is not a multiple of 16 bytes, or a negative coordinate of a store.
    #[error("the first coordinate is not a multiple of 16 bytes, or a store has a negative coordinate")]
    Coordinate,
    /// A reduction that the element type doesn't have.
    #[error("the tensor map's element type does not have this reduction")]
    Reduction,
}

/// A dimension of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dimension {
    /// Elements.
    pub(crate) size: u32,
    /// Bytes between neighbours.
    pub(crate) stride: u64,
    /// Elements that a box covers.
    pub(crate) box_size: u32,
    /// The box has every `step`-th of the elements that it covers.
    pub(crate) step: u32,
}

impl Dimension {
    /// Elements of a box in shared memory.
    pub(crate) const fn box_elements(&self) -> u32 {
        self.box_size.div_ceil(self.step)
    }
}

/// A valid tensor map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TensorMap {
    pub(crate) address: u64,
    pub(crate) element: ElementType,
    pub(crate) swizzle: Swizzle,
    /// The bits of elements outside of the tensor.
    pub(crate) fill: u64,
    /// The innermost dimension first.
    pub(crate) dimensions: smallvec::SmallVec<[Dimension; MAX_RANK]>,
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    for (to, from) in word.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u32::from_le_bytes(word)
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(read_u32(bytes, at)) | u64::from(read_u32(bytes, at + 4)) << 32
}

/// Returns the position and the length of a field.
pub(crate) fn field_range(field: MapField) -> (usize, usize) {
    let nth = |at: usize, nth: u8, each: usize| (at + usize::from(nth) * each, each);
    match field {
        MapField::GlobalAddress => (ADDRESS_AT, 8),
        MapField::Rank => (RANK_AT, 4),
        MapField::BoxDim(dimension) => nth(BOX_AT, dimension, 4),
        MapField::GlobalDim(dimension) => nth(DIMS_AT, dimension, 4),
        MapField::GlobalStride(dimension) => nth(STRIDES_AT, dimension, 8),
        MapField::ElementStride(dimension) => nth(STEPS_AT, dimension, 4),
        MapField::ElementType => (ELEMENT_AT, 4),
        MapField::Interleave => (INTERLEAVE_AT, 4),
        MapField::Swizzle => (SWIZZLE_AT, 4),
        MapField::Fill => (FILL_AT, 4),
    }
}

/// Writes one field of a tensor map.
fn replace_field(map: &mut [u8; TENSOR_MAP_BYTES], field: MapField, value: u64) {
    let (at, len) = field_range(field);
    let bytes = value.to_le_bytes();
    for (to, from) in map.iter_mut().skip(at).take(len).zip(bytes) {
        *to = from;
    }
}

impl TensorMap {
    /// Decodes a tensor map, and checks what the unit requires of it.
    pub(crate) fn decode(map: &[u8; TENSOR_MAP_BYTES]) -> Result<Self, TensorMapError> {
        let rank = (read_u32(map, RANK_AT) as usize).saturating_add(1);
        if rank > MAX_RANK {
            return Err(TensorMapError::Rank);
        }
        let element = ElementType::ALL
            .get(read_u32(map, ELEMENT_AT) as usize)
            .copied()
            .flatten()
            .ok_or(TensorMapError::ElementType)?;
        let swizzle = match read_u32(map, SWIZZLE_AT) {
            0 => Swizzle::None,
            1 => Swizzle::Bytes32,
            2 => Swizzle::Bytes64,
            3 => Swizzle::Bytes128,
            _ => return Err(TensorMapError::Swizzle),
        };
        if read_u32(map, INTERLEAVE_AT) != 0 {
            return Err(TensorMapError::Interleave);
        }
        let fill = match read_u32(map, FILL_AT) {
            0 => 0,
            1 if element.is_float() => NAN_FILL,
            _ => return Err(TensorMapError::Fill),
        };
        let address = read_u64(map, ADDRESS_AT);
        let size = element.bytes();
        let mut dimensions = smallvec::SmallVec::new();
        for nth in 0..rank {
            let stride = match nth.checked_sub(1) {
                None => u64::from(size),
                Some(nth) => read_u64(map, STRIDES_AT + nth * 8),
            };
            dimensions.push(Dimension {
                size: read_u32(map, DIMS_AT + nth * 4),
                stride,
                box_size: read_u32(map, BOX_AT + nth * 4),
                step: read_u32(map, STEPS_AT + nth * 4),
            });
        }
        let map = Self {
            address,
            element,
            swizzle,
            fill,
            dimensions,
        };
        map.check()?;
        Ok(map)
    }

    fn check(&self) -> Result<(), TensorMapError> {
        let outer = self.dimensions.iter().skip(1);
        let aligned = |bytes: u64| bytes.is_multiple_of(16);
        if !aligned(self.address) || !outer.clone().all(|of| aligned(of.stride) && of.stride < 1 << 40) {
            return Err(TensorMapError::Alignment);
        }
        for of in &self.dimensions {
            if of.size == 0 {
                return Err(TensorMapError::Dimension);
            }
            if of.box_size == 0 || of.box_size > MAX_BOX {
                return Err(TensorMapError::Box);
            }
            if !(1..=8).contains(&of.step) {
                return Err(TensorMapError::Step);
            }
        }
        let row = self.row_bytes();
        if row == 0 || !row.is_multiple_of(16) {
            return Err(TensorMapError::Box);
        }
        let bytes = outer.fold(u64::from(row), |bytes, of| bytes * u64::from(of.box_elements()));
        if bytes > MAX_BOX_BYTES {
            return Err(TensorMapError::Box);
        }
        if self.swizzle.span().is_some_and(|span| row > span) {
            return Err(TensorMapError::Swizzle);
        }
        Ok(())
    }

    /// Bytes between two rows of the box in shared memory. With a swizzle, each row takes the whole span.
    pub(crate) fn row_pitch(&self) -> u32 {
        self.swizzle.span().unwrap_or_else(|| self.row_bytes())
    }

    /// Bytes of a row of the box.
    pub(crate) fn row_bytes(&self) -> u32 {
        self.dimensions.first().map_or(0, |of| of.box_size) * self.element.bytes()
    }
}

/// A tensor map of the host, as `cuTensorMapEncodeTiled` takes it. The innermost dimension is the first.
#[derive(Clone, Debug)]
pub struct HostTensorMap<'a> {
    /// The address of the tensor.
    pub address: u64,
    /// The number of `CUtensorMapDataType`.
    pub data_type: u32,
    /// Elements along each dimension.
    pub sizes: &'a [u64],
    /// Strides in bytes of all dimensions but the innermost.
    pub strides: &'a [u64],
    /// Elements that a box covers along each dimension.
    pub box_sizes: &'a [u32],
    /// Element strides; 1 if missing.
    pub steps: &'a [u32],
    /// The number of `CUtensorMapInterleave`.
    pub interleave: u32,
    /// The number of `CUtensorMapSwizzle`.
    pub swizzle: u32,
    /// The number of `CUtensorMapFloatOOBfill`.
    pub fill: u32,
}

impl HostTensorMap<'_> {
    /// Encodes the tensor map for a kernel's parameter.
    ///
    /// # Errors
    /// CUDA rejects such a tensor map, or it is unsupported.
    pub fn encode(&self) -> Result<[u8; TENSOR_MAP_BYTES], TensorMapError> {
        let rank = self.sizes.len();
        if !(1..=MAX_RANK).contains(&rank) || self.strides.len() + 1 != rank || self.box_sizes.len() != rank {
            return Err(TensorMapError::Rank);
        }
        let element = *ElementType::FROM_CUDA
            .get(self.data_type as usize)
            .ok_or(TensorMapError::ElementType)?;
        let mut map = [0; TENSOR_MAP_BYTES];
        let mut put = |field, value| replace_field(&mut map, field, value);
        put(MapField::GlobalAddress, self.address);
        put(MapField::Rank, rank as u64 - 1);
        put(MapField::ElementType, element.into());
        put(MapField::Interleave, self.interleave.into());
        put(MapField::Swizzle, self.swizzle.into());
        put(MapField::Fill, self.fill.into());
        for nth in 0..rank as u8 {
            let at = usize::from(nth);
            let size = self.sizes.get(at).copied().unwrap_or(0);
            // CUDA accepts 2^32 elements too. No storage here is that large.
            put(MapField::GlobalDim(nth), size.min(u64::from(u32::MAX)));
            put(
                MapField::BoxDim(nth),
                self.box_sizes.get(at).map_or(0, |&of| of.into()),
            );
            put(
                MapField::ElementStride(nth),
                self.steps.get(at).map_or(1, |&of| of.into()),
            );
            if let Some(&stride) = self.strides.get(at) {
                put(MapField::GlobalStride(nth), stride);
            }
        }
        TensorMap::decode(&map)?;
        Ok(map)
    }
}
