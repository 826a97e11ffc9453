//! Splits blocks into packs and joins them again.

use cerith_tile::ir::{Builder, OpKind, Shape, Type, ValueId};

use crate::refusal::{Assembled, Refusal};

/// The division of a block into packs of neighbours. Missing elements of the last one are poison.
pub(crate) struct Packs {
    /// The shape of the block; `None` for a scalar.
    block_shape: Option<Shape>,
    pack: usize,
}

impl Packs {
    pub fn new(whole: Option<&Shape>, pack: usize) -> Self {
        Self {
            block_shape: whole.cloned(),
            pack,
        }
    }

    /// The number of packs; `None` if the only pack is not full.
    fn rows(&self) -> Option<usize> {
        let lanes: usize = self.block_shape.as_ref()?.iter().product();
        (self.pack > 1 && lanes >= self.pack).then(|| lanes / self.pack)
    }

    /// The shape of one instance's argument.
    pub fn shape(&self) -> Option<Shape> {
        match self.rows() {
            Some(rows) => Some(smallvec::smallvec![rows]),
            None => self.block_shape.clone(),
        }
    }

    /// Splits a block into the elements at each position of a pack.
    pub fn split_block(&self, builder: &mut Builder, value: ValueId) -> Assembled<Vec<ValueId>> {
        let Some(rows) = self.rows() else {
            return Ok(vec![value]);
        };
        let mut parts = vec![reshape(builder, value, &[rows * self.pack])];
        let mut width = self.pack;
        // Each step halves by the lowest remaining bit of the position.
        while width > 1 {
            let mut halves = (Vec::new(), Vec::new());
            for part in parts {
                let pairs = reshape(builder, part, &[rows * width / 2, 2]);
                let (even, odd) = split(builder, pairs, rows * width / 2)?;
                halves.0.push(even);
                halves.1.push(odd);
            }
            parts = halves.0;
            parts.append(&mut halves.1);
            width /= 2;
        }
        Ok(parts)
    }

    /// Joins the elements at each position of a pack into a block.
    pub fn join_block(&self, builder: &mut Builder, mut elements: Vec<ValueId>) -> Assembled<ValueId> {
        let (Some(rows), Some(whole)) = (self.rows(), &self.block_shape) else {
            return match elements.first() {
                Some(&element) => Ok(element),
                None => Err(Refusal::unknown("nothing that results")),
            };
        };
        let mut width = 1;
        while elements.len() > 1 {
            let odd = elements.split_off(elements.len() / 2);
            let mut joined = Vec::with_capacity(odd.len());
            for (even, odd) in elements.into_iter().zip(odd) {
                let pairs = join(builder, even, odd);
                joined.push(reshape(builder, pairs, &[rows * width * 2]));
            }
            elements = joined;
            width *= 2;
        }
        match elements.first() {
            Some(&element) => Ok(reshape(builder, element, whole)),
            None => Err(Refusal::unknown("nothing that results")),
        }
    }
}

/// Reshapes a block.
fn reshape(builder: &mut Builder, value: ValueId, shape: &[usize]) -> ValueId {
    let ty = Type::block(builder.ty(value).elem, Shape::from_slice(shape));
    builder.add_op(OpKind::Reshape { reorder: false }, &[value], ty)
}

/// Splits pairs into their even and odd lanes.
fn split(builder: &mut Builder, pairs: ValueId, rows: usize) -> Assembled<(ValueId, ValueId)> {
    let ty = Type::block(builder.ty(pairs).elem, [rows].as_slice());
    match *builder
        .op_multi(OpKind::Split, &[pairs], &[ty.clone(), ty])
        .as_slice()
    {
        [even, odd] => Ok((even, odd)),
        _ => Err(Refusal::unknown("a split without halves")),
    }
}

/// Joins the lanes of two blocks to pairs.
fn join(builder: &mut Builder, even: ValueId, odd: ValueId) -> ValueId {
    let mut shape = builder.ty(even).shape.clone();
    shape.push(2);
    let ty = Type::block(builder.ty(even).elem, shape);
    builder.add_op(OpKind::Join, &[even, odd], ty)
}
