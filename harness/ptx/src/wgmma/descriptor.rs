//! Matrix descriptors: where the rows of an operand of `wgmma` are in shared memory.
//!
//! The unit reads chunks of 16 bytes. Without a swizzle, 8 chunks of neighbouring rows are contiguous. With one, 8 rows
//! of the swizzle's span are. Two offsets lead to further tiles in each direction (PTX ISA, "Matrix Descriptor Format").

use crate::tensor::map::Swizzle;

/// Bytes of a row of an operand along K.
pub(crate) const ROW_BYTES: usize = 32;
/// Bytes that the unit reads at once.
pub(crate) const CHUNK_BYTES: u32 = 16;

/// A decoded matrix descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    /// The phase of the swizzle at the start of a tile, if its address is not a multiple of the pattern.
    base: u32,
    swizzle: Swizzle,
}

/// 16 bytes of an operand: of one row along K, or of 8 rows at one K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The address in shared memory.
    pub(crate) address: u32,
    /// The first row.
    pub(crate) row: usize,
    /// The first byte along K, or the element along K.
    pub(crate) k: usize,
}

impl Descriptor {
    pub(crate) fn decode(bits: u64) -> Self {
        let field = |shift: u32| ((bits >> shift & 0x3fff) as u32) << 4;
        Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: (bits >> 49 & 7) as u32,
            swizzle: match bits >> 62 {
                0 => Swizzle::None,
                1 => Swizzle::Bytes128,
                2 => Swizzle::Bytes64,
                _ => Swizzle::Bytes32,
            },
        }
    }

    /// Permutes an address. The pattern begins where the base offset is the address's phase.
    const fn permute(&self, address: u32) -> u32 {
        let shifted = address.wrapping_sub(self.base << 7);
        address ^ shifted ^ self.swizzle.permute(shifted)
    }

    /// Returns the chunks of rows whose elements are contiguous along K.
    pub(crate) fn row_chunks(self, rows: std::ops::Range<usize>) -> impl Iterator<Item = Chunk> {
        let chunks = ROW_BYTES as u32 / CHUNK_BYTES;
        rows.flat_map(move |row| {
            let (group, inner) = ((row / 8) as u32, (row % 8) as u32);
            (0..chunks).map(move |half| {
                let offset = match self.swizzle.span() {
                    None => inner * CHUNK_BYTES + half * self.leading,
                    Some(span) => inner * span + half * CHUNK_BYTES,
                };
                let address = self.start.wrapping_add(group * self.stride).wrapping_add(offset);
                Chunk {
                    address: self.permute(address),
                    row,
                    k: (half * CHUNK_BYTES) as usize,
                }
            })
        })
    }

    /// Returns the chunks of elements of two bytes that are contiguous along the rows, 8 at a time.
    pub(crate) fn column_chunks(self, rows: std::ops::Range<usize>, k: usize) -> impl Iterator<Item = Chunk> {
        rows.step_by(8).flat_map(move |row| {
            let group = (row / 8) as u32;
            (0..k).map(move |k| {
                let (outer, inner) = ((k / 8) as u32, (k % 8) as u32);
                let offset = match self.swizzle.span() {
                    None => group * self.stride + inner * CHUNK_BYTES + outer * self.leading,
                    Some(span) => {
                        let chunks = span / CHUNK_BYTES;
                        group / chunks * self.leading
                            + group % chunks * CHUNK_BYTES
                            + inner * span
                            + outer * self.stride
                    }
                };
                Chunk {
                    address: self.permute(self.start.wrapping_add(offset)),
                    row,
                    k,
                }
            })
        })
    }
}
