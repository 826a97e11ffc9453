//! The content of a snippet's register, for every lane: values of the IR, from the low end of the register to the high
//! one.
//!
//! A register that was joined from parts (two halves of `f16x2`, four bytes) keeps them, so that splitting it returns
//! the same values. Each byte also records its elements of a pack ([`Word::from`]), because Triton doesn't define which
//! elements share a pack.

use cerith_tile::DType;
use cerith_tile::ir::ValueId;
use smallvec::{SmallVec, smallvec};

/// Elements of a pack, one bit each.
pub(crate) type Slots = u64;

/// The content of a register.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// Its width in bits: 1 (a predicate), 8, 16, 32 or 64.
    pub bits: u32,
    /// Its parts, all of one width, the low one first.
    pub parts: SmallVec<[ValueId; 4]>,
    /// The elements that each byte depends on, the low byte first.
    pub from: [Slots; 8],
    /// Its bits, if they are constant and the same in every lane.
    pub known_bits: Option<u64>,
}

impl Word {
    /// Creates a register with one value.
    pub fn from_value(value: ValueId, bits: u32, from: Slots) -> Self {
        let mut word = Self {
            bits,
            parts: smallvec![value],
            from: [0; 8],
            known_bits: None,
        };
        word.every_byte(from);
        word
    }

    /// Its size in bytes.
    pub const fn bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Makes every byte depend on these elements.
    pub fn every_byte(&mut self, from: Slots) {
        let bytes = self.bytes();
        self.from.iter_mut().take(bytes).for_each(|byte| *byte = from);
    }

    /// Returns all elements that it depends on.
    pub fn all(&self) -> Slots {
        self.from.iter().fold(0, |all, byte| all | byte)
    }
}

/// Returns the unsigned integer dtype of a width; `i1` for one bit.
pub(crate) const fn unsigned_dtype(bits: u32) -> DType {
    match bits {
        1 => DType::I1,
        8 => DType::U8,
        16 => DType::U16,
        64 => DType::U64,
        _ => DType::U32,
    }
}

/// Returns a mask of the low bits.
pub(crate) const fn low_mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
