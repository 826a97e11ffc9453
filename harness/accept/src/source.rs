//! Operands of operations on whole blocks, and the resulting blocks: chunk by chunk if possible, otherwise lane by lane.
//! See `blocks` for the operations.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::numeric::decode;

use super::chunk::{self, Chunk, Factors, LANES, Out, UniformChunk};
use super::wide::{self, BITS, POISON, Parts, Wide};
use cerith_interp::value::{Poison, Repr, Value, read};

/// An operand of an operation on blocks.
pub(super) enum Source {
    /// One value for all lanes.
    One(Parts),
    Many(Rc<Wide>),
}

impl Source {
    /// The lanes of a chunk, if all lanes have one value.
    pub(super) fn uniform_chunk(&self) -> Option<UniformChunk> {
        match self {
            Self::One(parts) => Some(UniformChunk::new(parts.low, parts.high, parts.tag, parts.factors)),
            Self::Many(_) => None,
        }
    }

    /// The `nth` chunk. `apart` is the result of [`Source::uniform_chunk`].
    #[inline]
    pub(super) fn chunk<'a>(&'a self, apart: Option<&'a UniformChunk>, nth: usize) -> Option<Chunk<'a>> {
        match self {
            Self::One(_) => apart.map(UniformChunk::chunk),
            Self::Many(wide) => wide.chunk(nth),
        }
    }

    #[inline]
    pub(super) fn parts_at(&self, lane: usize) -> Option<Parts> {
        match self {
            Self::One(parts) => Some(*parts),
            Self::Many(wide) => wide.parts(lane),
        }
    }
}

/// Converts exact lanes to a block. `None` if the value has no stored lanes.
pub(super) fn pack_exact(dtype: DType, lanes: usize, value: &Value) -> Option<Wide> {
    let mut low = Vec::with_capacity(lanes);
    let mut tags = vec![BITS; lanes];
    match (value.repr, value.lanes()) {
        (Repr::Uniform(bits), _) => low.resize(lanes, decode(dtype, bits)),
        (_, Some(bytes)) if dtype == DType::F32 => {
            let elements = bytes.as_chunks::<4>().0.iter();
            low.extend(elements.map(|bytes| f64::from(f32::from_le_bytes(*bytes))));
        }
        (_, Some(bytes)) if dtype == DType::BF16 => {
            let elements = bytes.as_chunks::<2>().0.iter();
            low.extend(elements.map(|&bytes| wide::decode_bf16(u16::from_le_bytes(bytes))));
        }
        (_, Some(bytes)) if dtype == DType::F16 => {
            let elements = bytes.as_chunks::<2>().0.iter();
            low.extend(elements.map(|&bytes| wide::decode_f16(u16::from_le_bytes(bytes))));
        }
        (_, Some(bytes)) => {
            let size = dtype.size();
            low.extend((0..lanes).map(|lane| decode(dtype, read(bytes, lane, size))));
        }
        (_, None) => return None,
    }
    if let Poison::Lanes(marks) = &value.poison {
        for ((tag, low), _) in tags
            .iter_mut()
            .zip(&mut low)
            .zip(marks.iter())
            .filter(|(_, mark)| **mark != 0)
        {
            *tag = POISON;
            *low = 0.0;
        }
    }
    for (lane, (tag, low)) in tags.iter_mut().zip(&mut low).enumerate() {
        if low.is_nan() {
            let bits = match (value.repr, value.lanes()) {
                (Repr::Uniform(bits), _) => bits,
                (_, bytes) => read(bytes?, lane, dtype.size()),
            };
            let parts = Parts::from_nan(bits);
            (*tag, *low) = (parts.tag, parts.low);
        }
    }
    Some(Wide {
        dtype,
        high: low.clone(),
        low,
        tags,
        factors: None,
    })
}

/// Computes a block: each chunk with `at_once`, and each lane that `at_once` does not compute with `each`. `None` if `each`
/// returns `None`. `room` is a block to reuse.
#[inline]
pub(super) fn collect_wide(
    dtype: DType,
    lanes: usize,
    room: Option<Wide>,
    at_once: impl Fn(usize, &mut Out<'_>) -> bool,
    each: impl Fn(usize) -> Option<Parts>,
) -> Option<Wide> {
    let mut room = room.unwrap_or_else(|| Wide::with_capacity(dtype, lanes));
    let mut spare = room.factors.take().filter(|factors| factors[0].len() == lanes);
    room.low.resize(lanes, 0.0);
    room.high.resize(lanes, 0.0);
    room.tags.resize(lanes, BITS);
    let mut wide = Wide { dtype, ..room };
    for first in (0..lanes).step_by(LANES) {
        let end = (first + LANES).min(lanes);
        let chunk = first / LANES;
        // Not zero for lanes that `each` must compute.
        let mut odd = [1; LANES];
        if let (Some(low), Some(high), Some(tags)) = (
            wide.low.as_chunks_mut().0.get_mut(chunk),
            wide.high.as_chunks_mut().0.get_mut(chunk),
            wide.tags.as_chunks_mut().0.get_mut(chunk),
        ) {
            let mut here = [0; LANES];
            let mut out = Out {
                low,
                high,
                tags,
                factors: Factors {
                    to: &mut wide.factors,
                    spare: &mut spare,
                    first,
                    lanes,
                },
                odd: &mut here,
            };
            if at_once(chunk, &mut out) {
                if here == [0; LANES] {
                    continue;
                }
                odd = here;
            }
        }
        for (lane, _) in (first..end).zip(odd).filter(|&(_, odd)| odd != 0) {
            let parts = each(lane)?;
            (wide.low[lane], wide.high[lane], wide.tags[lane]) = (parts.low, parts.high, parts.tag);
            if parts.has_factors() {
                let factors = chunk::ensure_factors(&mut wide.factors, &mut spare, lanes);
                for (all, factor) in factors.iter_mut().zip(parts.factors) {
                    if let Some(to) = all.get_mut(lane) {
                        *to = factor;
                    }
                }
            }
        }
    }
    Some(wide)
}

/// Two operands of an operation.
pub(super) struct OperandPair {
    pub(super) dtype: DType,
    pub(super) lanes: usize,
    /// A block to reuse.
    pub(super) room: Option<Wide>,
    pub(super) x: Source,
    pub(super) y: Source,
}

impl OperandPair {
    #[inline]
    pub(super) fn zip_lanes(
        mut self,
        at_once: impl Fn(Chunk<'_>, Chunk<'_>, &mut Out<'_>) -> bool,
        slow: impl Fn(Parts, Parts) -> Option<Parts>,
    ) -> Option<Wide> {
        let room = self.room.take();
        let (one, other) = (self.x.uniform_chunk(), self.y.uniform_chunk());
        let at_once = |nth: usize, out: &mut Out<'_>| {
            let pair = self
                .x
                .chunk(one.as_ref(), nth)
                .zip(self.y.chunk(other.as_ref(), nth));
            pair.is_some_and(|(x, y)| at_once(x, y, out))
        };
        collect_wide(self.dtype, self.lanes, room, at_once, |lane| {
            let (x, y) = (self.x.parts_at(lane)?, self.y.parts_at(lane)?);
            slow(x, y)
        })
    }
}
