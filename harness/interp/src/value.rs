//! The content of slots at run time: lanes by rule or in a buffer, and the poison ones. [`crate::program`] has the types of
//! values.

use cerith_tile::DType;
use cerith_tile::ir::{Elem, Type};

use crate::affine::{Affine, BoxMask, Extents, RANK};
use crate::outcome::Stop;

/// A run of bytes from a [`Pool`], aligned for every element. Only the first `len` bytes are meant.
#[derive(Debug, Default)]
pub struct Buf {
    data: Box<[u64]>,
    len: usize,
}

impl std::ops::Deref for Buf {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.data).get(..self.len).unwrap_or(&[])
    }
}

impl std::ops::DerefMut for Buf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.data)
            .get_mut(..self.len)
            .unwrap_or(&mut [])
    }
}

impl Buf {
    /// Means only the first `len` bytes from now on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

/// Buffers for reuse, by size class. A taken buffer holds arbitrary bytes, so its user writes all of them.
#[derive(Debug)]
pub struct Pool {
    free: Vec<Vec<Box<[u64]>>>,
    /// Bytes of the buffers in use. Buffers of earlier launches don't count, so that a launch reaches its limit
    /// independently of them.
    live: usize,
    /// Bytes of the free ones.
    free_bytes: usize,
    /// The maximum number of bytes that may be taken at a time.
    limit: usize,
}

const CLASSES: usize = 48;
const SMALLEST: usize = 64;

impl Default for Pool {
    fn default() -> Self {
        Self {
            free: (0..CLASSES).map(|_| Vec::new()).collect(),
            live: 0,
            free_bytes: 0,
            limit: usize::MAX,
        }
    }
}

impl Pool {
    /// Starts a launch. A launch that stopped early did not give everything back; what it kept is gone.
    pub(crate) fn begin(&mut self, limit: usize) {
        self.live = 0;
        self.limit = limit;
    }

    /// A buffer of `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<Buf, Stop> {
        let size = len
            .max(SMALLEST)
            .checked_next_power_of_two()
            .ok_or(Stop::out_of_memory(self.limit))?;
        let live = self.live.saturating_add(size);
        if live > self.limit {
            return Err(Stop::out_of_memory(self.limit));
        }
        self.live = live;
        let class = size.trailing_zeros() as usize;
        if let Some(data) = self.free.get_mut(class).and_then(Vec::pop) {
            self.free_bytes = self.free_bytes.saturating_sub(size);
            return Ok(Buf { data, len });
        }
        if live.saturating_add(self.free_bytes) > self.limit {
            self.shrink(0);
        }
        Ok(Buf {
            data: vec![0; size / 8].into_boxed_slice(),
            len,
        })
    }

    /// A buffer of zeros.
    pub(crate) fn zeros(&mut self, len: usize) -> Result<Buf, Stop> {
        let mut buf = self.take(len)?;
        buf.fill(0);
        Ok(buf)
    }

    /// A copy of bytes.
    pub(crate) fn copy(&mut self, from: &[u8]) -> Result<Buf, Stop> {
        let mut buf = self.take(from.len())?;
        buf.copy_from_slice(from);
        Ok(buf)
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buf: Buf) {
        let class = (buf.data.len() * 8).trailing_zeros() as usize;
        if buf.data.is_empty() {
            return;
        }
        let size = buf.data.len() * 8;
        self.live = self.live.saturating_sub(size);
        if let Some(free) = self.free.get_mut(class) {
            self.free_bytes = self.free_bytes.saturating_add(size);
            free.push(buf.data);
        }
    }

    /// Takes a value's buffers back.
    pub(crate) fn recycle(&mut self, value: Value) {
        if let Some(buf) = value.buf {
            self.give(buf);
        }
        if let Poison::Lanes(buf) = value.poison {
            self.give(buf);
        }
    }

    /// Drops what has piled up, when a launch needed much more than usual.
    pub(crate) fn shrink(&mut self, keep: usize) {
        if self.free_bytes > keep {
            self.free.iter_mut().for_each(Vec::clear);
            self.free_bytes = 0;
        }
    }
}

/// The representation of lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repr {
    /// The same bits in every lane.
    Uniform(u64),
    /// Integers or pointers by a rule.
    Affine(Affine),
    /// `i1` lanes by a rule.
    Mask(BoxMask),
    /// In the value's buffer, little-endian, one after the other in row-major order.
    Dense,
}

/// The reason why a lane is undefined. 0: it is defined. [`POISON`]: any other reason. Up to [`MAX_STORABLE`]: a masked
/// load without `other` ([`crate::checks::poison`]). More: an undefined division ([`crate::checks::division`]). If two are
/// combined, the greater one stays.
pub(crate) type Mark = u8;

/// The mark of a lane that has no defined value, and may be stored.
pub(crate) const POISON: Mark = 1;

/// Masked loads that have marks of their own; further ones share the last one's.
pub(crate) const NAMED_LOADS: usize = 64;

/// The greatest mark of a lane that may be stored.
pub(crate) const MAX_STORABLE: Mark = POISON + NAMED_LOADS as Mark;

/// The lanes without a defined value. The bits of a poison lane are arbitrary and control nothing.
#[derive(Debug, Default)]
pub enum Poison {
    /// None.
    #[default]
    None,
    /// All, with one mark.
    All(Mark),
    /// Those whose byte, a mark, is not 0.
    Lanes(Buf),
}

impl Poison {
    /// Whether every lane is defined.
    #[inline]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether a lane is poison.
    #[inline]
    pub fn is_poison(&self, lane: usize) -> bool {
        match self {
            Self::None => false,
            Self::All(_) => true,
            Self::Lanes(buf) => buf.get(lane).is_some_and(|&p| p != 0),
        }
    }

    /// The mark of a lane.
    #[inline]
    pub(crate) fn mark(&self, lane: usize) -> Mark {
        match self {
            Self::None => 0,
            Self::All(mark) => *mark,
            Self::Lanes(buf) => buf.get(lane).copied().unwrap_or(0),
        }
    }

    /// The same mark in all lanes; 0 means that all are defined.
    pub(crate) const fn from_mark(mark: Mark) -> Self {
        if mark == 0 { Self::None } else { Self::All(mark) }
    }

    /// The greatest mark.
    pub(crate) fn worst(&self) -> Mark {
        match self {
            Self::None => 0,
            Self::All(mark) => *mark,
            Self::Lanes(buf) => buf.iter().copied().max().unwrap_or(0),
        }
    }
}

/// The content of a slot.
#[derive(Debug)]
pub struct Value {
    /// The representation of its lanes.
    pub repr: Repr,
    /// The lanes if `repr` is `Dense`; otherwise optionally the lanes written out.
    pub(crate) buf: Option<Buf>,
    /// The lanes without a defined value.
    pub poison: Poison,
}

impl Default for Value {
    fn default() -> Self {
        Self::uniform(0)
    }
}

impl Value {
    /// The same bits in every lane.
    pub const fn uniform(bits: u64) -> Self {
        Self {
            repr: Repr::Uniform(bits),
            buf: None,
            poison: Poison::None,
        }
    }

    /// Lanes of a buffer.
    pub const fn dense(buf: Buf) -> Self {
        Self {
            repr: Repr::Dense,
            buf: Some(buf),
            poison: Poison::None,
        }
    }

    /// No defined lane.
    pub const fn poison() -> Self {
        Self {
            repr: Repr::Uniform(0),
            buf: None,
            poison: Poison::All(POISON),
        }
    }

    /// Replaces the undefined lanes.
    #[must_use]
    pub fn with_poison(mut self, poison: Poison) -> Self {
        self.poison = poison;
        self
    }

    /// The written-out lanes, if they are.
    pub fn lanes(&self) -> Option<&[u8]> {
        self.buf.as_deref()
    }

    /// The bits of one lane.
    pub fn bits(&self, lane: usize, layout: &Layout) -> u64 {
        match self.repr {
            Repr::Uniform(bits) => bits,
            Repr::Dense => self.buf.as_deref().map_or(0, |buf| read(buf, lane, layout.size)),
            Repr::Affine(affine) => {
                let index = layout.index(lane);
                let value = affine
                    .strides
                    .iter()
                    .zip(index)
                    .fold(affine.base, |sum, (&stride, i)| {
                        sum.wrapping_add(stride.wrapping_mul(i64::from(i)))
                    });
                value as u64 & layout.element_mask()
            }
            Repr::Mask(mask) => u64::from(
                layout
                    .index(lane)
                    .iter()
                    .zip(mask.lo.iter().zip(&mask.hi))
                    .all(|(i, (lo, hi))| lo <= i && i < hi),
            ),
        }
    }
}

/// The layout of a slot's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The type of a lane.
    pub elem: Elem,
    /// Bytes of a lane.
    pub size: usize,
    /// Lanes; 1 for a scalar.
    pub lanes: usize,
    pub(crate) scalar: bool,
    /// The extents, aligned to the end (a 1-D block is `[1, 1, 1, n]`). If there are more dimensions than [`RANK`], the
    /// outer ones are folded and no rule applies.
    pub(crate) extents: Extents,
    /// Whether lanes may be known by rule.
    pub(crate) ruled: bool,
}

impl Layout {
    /// The layout of a type that is too large to exist.
    pub(crate) const EMPTY: Self = Self {
        elem: Elem::Num(DType::I1),
        size: 1,
        lanes: 0,
        scalar: true,
        extents: [0; RANK],
        ruled: false,
    };

    pub(crate) fn from_type(ty: &Type) -> Option<Self> {
        let lanes = ty.shape.iter().try_fold(1usize, |n, &e| n.checked_mul(e))?;
        u32::try_from(lanes).ok()?;
        let mut extents = [1; RANK];
        let ruled = ty.shape.len() <= RANK;
        if ruled {
            for (to, &from) in extents.iter_mut().rev().zip(ty.shape.iter().rev()) {
                *to = from as u32;
            }
        } else {
            extents[RANK - 1] = lanes as u32;
        }
        Some(Self {
            elem: ty.elem,
            size: ty.elem.size(),
            lanes,
            scalar: ty.is_scalar(),
            extents,
            ruled,
        })
    }

    /// The same type with `lanes` lanes in one dimension, to run a scalar of a region over many lanes at once.
    pub(crate) fn with_lanes(self, lanes: usize) -> Self {
        Self {
            lanes,
            extents: [1, 1, 1, lanes as u32],
            ..self
        }
    }

    /// The index of a lane.
    pub(crate) fn index(&self, lane: usize) -> Extents {
        let mut rest = lane as u32;
        let mut index = [0; RANK];
        for (to, &extent) in index.iter_mut().zip(&self.extents).rev() {
            let extent = extent.max(1);
            *to = rest % extent;
            rest /= extent;
        }
        index
    }

    /// A mask of the element's bits in memory.
    pub const fn element_mask(&self) -> u64 {
        if self.size >= 8 {
            u64::MAX
        } else {
            (1 << (self.size * 8)) - 1
        }
    }
}

/// The bits of lane `lane`.
#[inline]
pub fn read(bytes: &[u8], lane: usize, size: usize) -> u64 {
    let at = lane * size;
    match (size, bytes.get(at..at + size)) {
        (1, Some(&[b])) => u64::from(b),
        (2, Some(&[a, b])) => u64::from(u16::from_le_bytes([a, b])),
        (4, Some(&[a, b, c, d])) => u64::from(u32::from_le_bytes([a, b, c, d])),
        (8, Some(&[a, b, c, d, e, f, g, h])) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// Sets the bits of lane `lane`.
#[inline]
pub fn write(bytes: &mut [u8], lane: usize, size: usize, bits: u64) {
    let at = lane * size;
    if let (Some(to), Some(from)) = (bytes.get_mut(at..at + size), bits.to_le_bytes().get(..size)) {
        to.copy_from_slice(from);
    }
}

/// The same bits in every lane.
pub(crate) fn fill(out: &mut [u8], size: usize, bits: u64) {
    let bytes = bits.to_le_bytes();
    match size {
        1 => out.fill(bytes[0]),
        2 => out.as_chunks_mut::<2>().0.fill([bytes[0], bytes[1]]),
        4 => out
            .as_chunks_mut::<4>()
            .0
            .fill([bytes[0], bytes[1], bytes[2], bytes[3]]),
        _ => out.as_chunks_mut::<8>().0.fill(bytes),
    }
}

/// Writes lanes that are known by rule out.
pub(crate) fn materialise(repr: &Repr, layout: &Layout, out: &mut [u8]) {
    match repr {
        Repr::Dense => {}
        Repr::Uniform(bits) => fill(out, layout.size, *bits),
        Repr::Affine(affine) => match layout.size {
            1 => affine_lanes(affine, &layout.extents, out.as_chunks_mut::<1>().0, |v| {
                (v as u8).to_le_bytes()
            }),
            2 => affine_lanes(affine, &layout.extents, out.as_chunks_mut::<2>().0, |v| {
                (v as u16).to_le_bytes()
            }),
            4 => affine_lanes(affine, &layout.extents, out.as_chunks_mut::<4>().0, |v| {
                (v as u32).to_le_bytes()
            }),
            _ => affine_lanes(
                affine,
                &layout.extents,
                out.as_chunks_mut::<8>().0,
                i64::to_le_bytes,
            ),
        },
        Repr::Mask(mask) => {
            out.fill(0);
            box_lanes(mask, &layout.extents, out, 1);
        }
    }
}

/// Writes `byte` to the lanes of a box, one byte a lane.
pub(crate) fn box_lanes(mask: &BoxMask, extents: &Extents, out: &mut [u8], byte: u8) {
    let width = mask.hi[RANK - 1].saturating_sub(mask.lo[RANK - 1]) as usize;
    let _: Result<(), ()> = crate::affine::visit_rows(extents, &mask.lo, &mask.hi, |lane, _| {
        if let Some(row) = out.get_mut(lane..lane + width) {
            row.fill(byte);
        }
        Ok(())
    });
}

fn affine_lanes<const N: usize>(
    affine: &Affine,
    extents: &Extents,
    out: &mut [[u8; N]],
    bytes: impl Fn(i64) -> [u8; N],
) {
    let width = extents[RANK - 1] as usize;
    let step = affine.strides[RANK - 1];
    let _: Result<(), ()> = crate::affine::visit_rows(extents, &[0; RANK], extents, |lane, index| {
        let start = affine
            .strides
            .iter()
            .zip(index)
            .fold(affine.base, |sum, (&stride, i)| {
                sum.wrapping_add(stride.wrapping_mul(i64::from(i)))
            });
        if let Some(row) = out.get_mut(lane..lane + width) {
            for (i, to) in row.iter_mut().enumerate() {
                *to = bytes(start.wrapping_add(step.wrapping_mul(i as i64)));
            }
        }
        Ok(())
    });
}
