//! Maps the lanes of a block to the lanes of its source, a block of another shape. See `shape` for the operations that move
//! them.

use cerith_tile::ir::Shape;
use smallvec::SmallVec;

use crate::affine::RANK;
use crate::value::Layout;

/// The source of each lane of a block: lane `i` of a block of this shape is the source's lane
/// `offset + Σ strides[d] * i[d]`.
#[derive(Clone, Debug)]
pub struct Movement {
    /// Extents of the block.
    pub shape: SmallVec<[usize; 6]>,
    /// Lanes of the source between neighbours along each dimension.
    pub strides: SmallVec<[usize; 6]>,
    /// The source's lane of the first element.
    pub offset: usize,
}

impl Movement {
    /// Copies elements of `size` bytes.
    pub(crate) fn copy(&self, size: usize, from: &[u8], to: &mut [u8]) {
        match size {
            1 => self.copy_elements(from.as_chunks::<1>().0, to.as_chunks_mut::<1>().0),
            2 => self.copy_elements(from.as_chunks::<2>().0, to.as_chunks_mut::<2>().0),
            4 => self.copy_elements(from.as_chunks::<4>().0, to.as_chunks_mut::<4>().0),
            _ => self.copy_elements(from.as_chunks::<8>().0, to.as_chunks_mut::<8>().0),
        }
    }

    /// Copies elements.
    pub fn copy_elements<T: Copy>(&self, from: &[T], to: &mut [T]) {
        let (Some((&inner, outer)), Some((&step, steps))) =
            (self.shape.split_last(), self.strides.split_last())
        else {
            if let (Some(to), Some(&from)) = (to.first_mut(), from.get(self.offset)) {
                *to = from;
            }
            return;
        };
        if inner == 0 {
            return;
        }
        let mut index: SmallVec<[usize; 6]> = smallvec::smallvec![0; outer.len()];
        let mut start = self.offset;
        for row in to.chunks_mut(inner) {
            let Some(source) = from.get(start..) else { return };
            match step {
                0 => {
                    if let Some(&value) = source.first() {
                        row.fill(value);
                    }
                }
                1 => {
                    if let Some(source) = source.get(..row.len()) {
                        row.copy_from_slice(source);
                    }
                }
                _ => {
                    for (to, &value) in row.iter_mut().zip(source.iter().step_by(step)) {
                        *to = value;
                    }
                }
            }
            for d in (0..outer.len()).rev() {
                index[d] += 1;
                start += steps[d];
                if index[d] < outer[d] {
                    break;
                }
                start -= steps[d] * outer[d];
                index[d] = 0;
            }
        }
    }
}

/// Row-major strides in lanes.
pub fn row_major(shape: &[usize]) -> SmallVec<[usize; 6]> {
    let mut strides: SmallVec<[usize; 6]> = smallvec::smallvec![1; shape.len()];
    let mut stride = 1;
    for (to, &extent) in strides.iter_mut().zip(shape).rev() {
        *to = stride;
        stride *= extent;
    }
    strides
}

/// For each dimension of a permuted block, the dimension of the operand.
pub(crate) fn permute_dimensions(order: &Shape) -> [Option<usize>; RANK] {
    let pad = RANK.saturating_sub(order.len());
    let mut from = [None; RANK];
    for (d, &source) in order.iter().enumerate() {
        if let Some(to) = from.get_mut(pad + d) {
            *to = Some(pad + source);
        }
    }
    from
}

/// For each dimension of `target`, the dimension of `source`, if the two differ only by extents of 1.
pub(crate) fn same_extents(source: &Layout, target: &Layout) -> Option<[Option<usize>; RANK]> {
    if !source.ruled || !target.ruled {
        return None;
    }
    let mut from = [None; RANK];
    let mut rest = source
        .extents
        .iter()
        .enumerate()
        .filter(|&(_, &extent)| extent != 1);
    for (to, &extent) in from.iter_mut().zip(&target.extents) {
        if extent != 1 {
            let (d, &own) = rest.next()?;
            if own != extent {
                return None;
            }
            *to = Some(d);
        }
    }
    rest.next().is_none().then_some(from)
}
