//! What a register of a snippet holds, for every lane: values of the IR, from the low end of the register to the high one.
//!
//! A register that was put together of parts (two halves of `f16x2`, four bytes) keeps them, so that taking it apart again gives
//! the same values. Each byte also knows which elements of a pack it came from ([`Word::from`]), because which elements share a
//! pack is not defined.

use cerith_tile::DType;
use cerith_tile::ir::ValueId;
use smallvec::{SmallVec, smallvec};

/// Elements of a pack, one bit each.
pub(crate) type Slots = u64;

/// What a register holds.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// Its width in bits: 1 (a predicate), 8, 16, 32 or 64.
    pub bits: u32,
    /// Its parts, all of one width, the low one first.
    pub parts: SmallVec<[ValueId; 4]>,
    /// The elements that each byte depends on, the low byte first.
    pub from: [Slots; 8],
    /// Its bits where they are the same in every lane and known.
    pub known_bits: Option<u64>,
}

impl Word {
    /// A register that is one value.
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

    /// How many bytes it has.
    pub const fn bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Makes every byte depend on these elements.
    pub fn every_byte(&mut self, from: Slots) {
        let bytes = self.bytes();
        self.from.iter_mut().take(bytes).for_each(|byte| *byte = from);
    }

    /// All elements that it depends on.
    pub fn all(&self) -> Slots {
        self.from.iter().fold(0, |all, byte| all | byte)
    }
}

/// The unsigned integer of a width; `i1` of one bit.
pub(crate) const fn unsigned_dtype(bits: u32) -> DType {
    match bits {
        1 => DType::I1,
        8 => DType::U8,
        16 => DType::U16,
        64 => DType::U64,
        _ => DType::U32,
    }
}

/// The low bits that a width has.
pub(crate) const fn low_mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
