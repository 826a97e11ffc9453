//! The pieces of a copy between global and shared memory: which bytes go where. See [`super::map`] for the layout of a
//! tensor.

use super::map::{Dimension, TENSOR_MAP_BYTES, TensorMap, TensorMapError};
use super::reduction::{ElementUpdate, find_update};
use crate::op::bulk::{TensorCopy, TensorDirection};

/// The global side of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The address of the first byte.
    Global(u64),
    /// Outside of the tensor: a load writes these bits, repeated. (A store has no such pieces.)
    Fill(u64),
}

/// Bytes that are contiguous in shared memory and in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The first byte in shared memory.
    pub(crate) shared: u32,
    pub(crate) side: Side,
    pub(crate) len: u32,
}

/// A copy. The pieces don't overlap in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) pieces: Vec<Piece>,
    /// Bytes that complete on the mbarrier object.
    pub(crate) bytes: u32,
    /// Bytes of an element, which every piece has a whole number of.
    pub(crate) element: u32,
    /// How a reduction combines the elements.
    pub(crate) update: Option<ElementUpdate>,
}

/// Finds the pieces of a tensor copy at coordinates, the innermost first.
pub(crate) fn expand_tensor(
    copy: &TensorCopy,
    map: &[u8; TENSOR_MAP_BYTES],
    coordinates: &[i32],
    shared: u32,
) -> Result<Transfer, TensorMapError> {
    let map = TensorMap::decode(map)?;
    if map.dimensions.len() != usize::from(copy.rank) || coordinates.len() != map.dimensions.len() {
        return Err(TensorMapError::Rank);
    }
    // An H200 reports an illegal instruction then.
    let size = i64::from(map.element.bytes());
    if coordinates
        .first()
        .is_none_or(|&first| i64::from(first) * size % 16 != 0)
    {
        return Err(TensorMapError::Coordinate);
    }
    let is_load = copy.direction == TensorDirection::Load;
    // So it does for a negative coordinate of a store.
    if !is_load && coordinates.iter().any(|&at| at < 0) {
        return Err(TensorMapError::Coordinate);
    }
    let update = match copy.direction {
        TensorDirection::Load | TensorDirection::Store => None,
        TensorDirection::Reduce(name) => {
            Some(find_update(name, map.element).ok_or(TensorMapError::Reduction)?)
        }
    };
    let mut writer = PieceWriter {
        map: &map,
        is_load,
        pieces: Vec::new(),
    };
    let row_bytes = map.row_bytes();
    let rows: u32 = map
        .dimensions
        .iter()
        .skip(1)
        .map(Dimension::box_elements)
        .product();
    let mut indices = [0u32; 5];
    for row in 0..rows {
        writer.add_row(coordinates, &indices, shared.wrapping_add(row * map.row_pitch()));
        for (index, of) in indices.iter_mut().zip(&map.dimensions).skip(1) {
            *index += 1;
            if *index < of.box_elements() {
                break;
            }
            *index = 0;
        }
    }
    Ok(Transfer {
        pieces: writer.pieces,
        bytes: rows * row_bytes,
        element: map.element.bytes(),
        update,
    })
}

/// Collects pieces row by row.
struct PieceWriter<'m> {
    map: &'m TensorMap,
    is_load: bool,
    pieces: Vec<Piece>,
}

impl PieceWriter<'_> {
    /// Adds the row of a box whose indices in the outer dimensions are given.
    fn add_row(&mut self, coordinates: &[i32], indices: &[u32; 5], shared: u32) {
        let map = self.map;
        let size = map.element.bytes();
        let mut address = map.address;
        let mut inside = true;
        for ((of, &first), &index) in map.dimensions.iter().zip(coordinates).zip(indices).skip(1) {
            let at = i64::from(first) + i64::from(index * of.step);
            inside &= (0..i64::from(of.size)).contains(&at);
            address = address.wrapping_add((at as u64).wrapping_mul(of.stride));
        }
        let (Some(inner), Some(&first)) = (map.dimensions.first(), coordinates.first()) else {
            return;
        };
        let first = i64::from(first);
        let last = i64::from(inner.box_size);
        // The elements of the row that are inside of the tensor.
        let from = (-first).clamp(0, last);
        // A load fills all elements outside of the tensor. A store writes whole chunks of 16 bytes: it writes the
        // elements after the last one too, up to the end of the chunk (found on an H200).
        let chunk = i64::from(16 / size);
        let size_along = if self.is_load {
            i64::from(inner.size)
        } else {
            (i64::from(inner.size) + chunk - 1) / chunk * chunk
        };
        let to = (size_along - first).clamp(from, last);
        let (from, to) = if inside { (from, to) } else { (0, 0) };
        let start = address.wrapping_add(((first + from) as u64).wrapping_mul(u64::from(size)));
        self.add_bytes(shared, from as u32 * size, Side::Fill(map.fill));
        self.add_bytes(
            shared.wrapping_add(from as u32 * size),
            (to - from) as u32 * size,
            Side::Global(start),
        );
        self.add_bytes(
            shared.wrapping_add(to as u32 * size),
            (last - to) as u32 * size,
            Side::Fill(map.fill),
        );
    }

    /// Adds bytes of a row: in shared memory, each chunk of 16 bytes is where the swizzle puts it.
    fn add_bytes(&mut self, shared: u32, len: u32, side: Side) {
        if !self.is_load && matches!(side, Side::Fill(_)) {
            return;
        }
        let mut done = 0;
        while done < len {
            let at = shared.wrapping_add(done);
            let chunk = match self.map.swizzle.span() {
                None => len - done,
                Some(_) => (16 - at % 16).min(len - done),
            };
            let side = match side {
                Side::Global(address) => Side::Global(address.wrapping_add(done.into())),
                fill @ Side::Fill(_) => fill,
            };
            self.push(Piece {
                shared: self.map.swizzle.permute(at),
                side,
                len: chunk,
            });
            done += chunk;
        }
    }

    /// Adds a piece, as part of the last one if it continues it.
    fn push(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.last_mut()
            && last.shared.wrapping_add(last.len) == piece.shared
        {
            let continues = match (last.side, piece.side) {
                (Side::Global(one), Side::Global(other)) => one.wrapping_add(last.len.into()) == other,
                (Side::Fill(one), Side::Fill(other)) => one == other,
                _ => false,
            };
            if continues {
                last.len += piece.len;
                return;
            }
        }
        self.pieces.push(piece);
    }
}
