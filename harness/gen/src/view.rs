//! Random tensors: a storage of numbered bytes, and a chain of torch's operations with arbitrary arguments, huge and
//! negative ones included.
//!
//! See `model` for the elements of a result.

mod model;

use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Unstructured};
use cerith_memory::{Index, Storages, Tensor, TorchError, overlap};
use cerith_tile::DType;

use self::model::Expected;
use crate::{Ended, Fault, TrialResult, ensure};

/// The maximum number of elements of a tensor that is checked element by element.
pub const MAX_ELEMENTS: i64 = 4096;
/// The maximum number of operations in a chain.
const MAX_LENGTH: usize = 12;

/// An operation with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `x.transpose(dim0, dim1)`.
    Transpose(i64, i64),
    /// `x.permute(dims)`.
    Permute(Vec<i64>),
    /// `x.expand(sizes)`.
    Expand(Vec<i64>),
    /// `x.view(shape)`.
    View(Vec<i64>),
    /// `x.reshape(shape)`.
    Reshape(Vec<i64>),
    /// `x.flatten(start, end)`.
    Flatten(i64, i64),
    /// `x.unflatten(dim, sizes)`.
    Unflatten(i64, Vec<i64>),
    /// `x.narrow(dim, start, length)`.
    Narrow(i64, i64, i64),
    /// `x.select(dim, index)`.
    Select(i64, i64),
    /// `x[…]`.
    Index(Vec<Index>),
    /// `x.unfold(dim, size, step)`.
    Unfold(i64, i64, i64),
    /// `x.diagonal(offset, dim1, dim2)`.
    Diagonal(i64, i64, i64),
    /// `x.as_strided(size, stride, offset)`.
    AsStrided(Vec<i64>, Vec<i64>, Option<i64>),
    /// `x.view(dtype)`.
    Dtype(DType),
    /// `x.squeeze()`, of all or of some dimensions.
    Squeeze(Option<Vec<i64>>),
    /// `x.unsqueeze(dim)`.
    Unsqueeze(i64),
    /// `x.movedim(source, destination)`.
    Movedim(Vec<i64>, Vec<i64>),
    /// The last of `x.split(size, dim)`.
    Split(i64, i64),
    /// The last of `x.chunk(chunks, dim)`.
    Chunk(i64, i64),
    /// The last of `x.tensor_split(sections, dim)`.
    TensorSplit(i64, i64),
    /// `x.clone()`.
    Clone,
    /// `x.contiguous()`.
    Contiguous,
    /// `x.flip(dims)`.
    Flip(Vec<i64>),
    /// `x.repeat(sizes)`.
    Repeat(Vec<i64>),
}

impl Op {
    /// The operation applied to a tensor.
    pub fn apply(&self, x: &Tensor, storages: &mut Storages) -> Result<Tensor, TorchError> {
        let last = |pieces: Vec<Tensor>| pieces.into_iter().next_back().unwrap_or_else(|| x.clone());
        match self {
            Self::Transpose(a, b) => x.transpose(*a, *b),
            Self::Permute(dims) => x.permute(dims),
            Self::Expand(sizes) => x.expand(sizes),
            Self::View(shape) => x.view(shape),
            Self::Reshape(shape) => storages.reshape(x, shape, "copy"),
            Self::Flatten(a, b) => storages.flatten(x, *a, *b, "copy"),
            Self::Unflatten(dim, sizes) => x.unflatten(*dim, sizes),
            Self::Narrow(dim, start, length) => x.narrow(*dim, *start, *length),
            Self::Select(dim, index) => x.select(*dim, *index),
            Self::Index(items) => x.index(items),
            Self::Unfold(dim, size, step) => x.unfold(*dim, *size, *step),
            Self::Diagonal(offset, a, b) => x.diagonal(*offset, *a, *b),
            Self::AsStrided(size, stride, offset) => {
                x.as_strided(size, stride, *offset, storages.size(x.storage))
            }
            Self::Dtype(dtype) => x.view_dtype(*dtype),
            Self::Squeeze(None) => Ok(x.squeeze()),
            Self::Squeeze(Some(dims)) => x.squeeze_dims(dims),
            Self::Unsqueeze(dim) => x.unsqueeze(*dim),
            Self::Movedim(source, destination) => x.movedim(source, destination),
            Self::Split(size, dim) => x.split(*size, *dim).map(last),
            Self::Chunk(chunks, dim) => x.chunk(*chunks, *dim).map(last),
            Self::TensorSplit(sections, dim) => x.tensor_split(*sections, *dim).map(last),
            Self::Clone => storages.clone_tensor(x, "copy"),
            Self::Contiguous => storages.contiguous(x, "copy"),
            Self::Flip(dims) => storages.flip(x, dims, "copy"),
            Self::Repeat(sizes) => storages.repeat(x, sizes, "copy"),
        }
    }
}

/// Mostly small numbers, and those where arithmetic overflows.
fn choose_number(u: &mut Unstructured<'_>) -> arbitrary::Result<i64> {
    Ok(match u.int_in_range(0..=15u8)? {
        0 => *u.choose(&[i64::MIN, i64::MAX, 1 << 40, i64::MAX / 8])?,
        1 => u.arbitrary()?,
        _ => u.int_in_range(-4..=6)?,
    })
}

fn choose_numbers(u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<i64>> {
    let count = u.int_in_range(0..=4u8)?;
    (0..count).map(|_| choose_number(u)).collect()
}

fn choose_bound(u: &mut Unstructured<'_>) -> arbitrary::Result<Option<i64>> {
    Ok(if u.arbitrary()? {
        Some(choose_number(u)?)
    } else {
        None
    })
}

fn index(u: &mut Unstructured<'_>) -> arbitrary::Result<Index> {
    Ok(match u.int_in_range(0..=5u8)? {
        0 | 1 => Index::At(choose_number(u)?),
        2 => Index::NewAxis,
        3 => Index::Ellipsis,
        _ => Index::Slice {
            start: choose_bound(u)?,
            end: choose_bound(u)?,
            step: choose_bound(u)?,
        },
    })
}

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match u.int_in_range(0..=23u8)? {
            0 => Self::Transpose(choose_number(u)?, choose_number(u)?),
            1 => Self::Permute(choose_numbers(u)?),
            2 => Self::Expand(choose_numbers(u)?),
            3 => Self::View(choose_numbers(u)?),
            4 => Self::Reshape(choose_numbers(u)?),
            5 => Self::Flatten(choose_number(u)?, choose_number(u)?),
            6 => Self::Unflatten(choose_number(u)?, choose_numbers(u)?),
            7 => Self::Narrow(choose_number(u)?, choose_number(u)?, choose_number(u)?),
            8 => Self::Select(choose_number(u)?, choose_number(u)?),
            9 => {
                let count = u.int_in_range(0..=4u8)?;
                Self::Index((0..count).map(|_| index(u)).collect::<arbitrary::Result<_>>()?)
            }
            10 => Self::Unfold(choose_number(u)?, choose_number(u)?, choose_number(u)?),
            11 => Self::Diagonal(choose_number(u)?, choose_number(u)?, choose_number(u)?),
            12 => Self::AsStrided(choose_numbers(u)?, choose_numbers(u)?, choose_bound(u)?),
            13 => Self::Dtype(*u.choose(&DType::ALL)?),
            14 => Self::Squeeze(if u.arbitrary()? {
                Some(choose_numbers(u)?)
            } else {
                None
            }),
            15 => Self::Unsqueeze(choose_number(u)?),
            16 => Self::Movedim(choose_numbers(u)?, choose_numbers(u)?),
            17 => Self::Split(choose_number(u)?, choose_number(u)?),
            18 => Self::Chunk(choose_number(u)?, choose_number(u)?),
            19 => Self::TensorSplit(choose_number(u)?, choose_number(u)?),
            20 => Self::Clone,
            21 => Self::Contiguous,
            22 => Self::Flip(choose_numbers(u)?),
            _ => Self::Repeat(choose_numbers(u)?),
        })
    }
}

/// A tensor of numbered bytes, and operations for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The dtype of the tensor.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<i64>,
    /// The operations on it, in order.
    pub ops: Vec<Op>,
}

impl<'a> Arbitrary<'a> for Chain {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let dtype = *u.choose(&DType::ALL)?;
        let rank = u.int_in_range(0..=3u8)?;
        let shape = (0..rank)
            .map(|_| u.int_in_range(0..=4))
            .collect::<arbitrary::Result<_>>()?;
        let mut ops = Vec::new();
        while ops.len() < MAX_LENGTH && !u.is_empty() {
            ops.push(u.arbitrary()?);
        }
        Ok(Self { dtype, shape, ops })
    }
}

impl Chain {
    /// The chain of some bytes: any bytes are one.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Unstructured::new(bytes).arbitrary().unwrap_or(Self {
            dtype: DType::F32,
            shape: vec![2, 3],
            ops: Vec::new(),
        })
    }

    /// The tensor at the end of the chain, without the operations that fail or that make more than [`MAX_ELEMENTS`] elements.
    pub fn tensor(&self) -> (Storages, Tensor) {
        let (mut storages, mut x) = self.base();
        for op in &self.ops {
            if !is_long(op, &x)
                && let Ok(next) = op.apply(&x, &mut storages)
                && next.numel() <= MAX_ELEMENTS
            {
                x = next;
            }
        }
        (storages, x)
    }

    fn base(&self) -> (Storages, Tensor) {
        let mut storages = Storages::new();
        let x = storages
            .allocate("base", self.dtype, &self.shape)
            .unwrap_or_else(|error| panic!("a small storage: {error}"));
        let bytes: Vec<u8> = (0..storages.size(x.storage)).map(|at| at as u8).collect();
        storages.write(x.storage, 0, &bytes);
        (storages, x)
    }
}

/// Checks the laws of each operation of a chain: the result lies inside its storage, with elements at the places where the model
/// has them; an operation that the model calls impossible is an error with a message.
pub fn check(bytes: &[u8]) -> TrialResult {
    let chain = Chain::from_bytes(bytes);
    let (mut storages, mut x) = chain.base();
    let mut ended = Ended::Finished;
    for op in &chain.ops {
        if is_long(op, &x) {
            continue;
        }
        let expected = model::predict_result(op, &x);
        let y = match op.apply(&x, &mut storages) {
            Ok(y) => y,
            Err(error) => {
                ensure(!error.to_string().is_empty(), || {
                    format!("no message: {op:?} of {x:?}")
                })?;
                ensure(!matches!(expected, Expected::Is(..)), || {
                    format!("{op:?} of {x:?} means something, and is refused: {error}")
                })?;
                ended = Ended::Stopped;
                continue;
            }
        };
        let broken = |law: &str| Fault(format!("{law}: {op:?} of {x:?} is {y:?}"));
        if !y.is_proper() || y.check_bounds(storages.size(y.storage)).is_err() {
            return Err(broken("it is outside of its storage"));
        }
        match expected {
            Expected::Fails => return Err(broken("it means nothing")),
            Expected::Is(shape, from) | Expected::IfAny(shape, from) => {
                if y.shape.as_slice() != shape {
                    return Err(broken(&format!("its shape is {shape:?}")));
                }
                model::same_elements(&storages, &x, &y, &from).map_err(|error| broken(&error.to_string()))?;
            }
            Expected::Unknown => {}
        }
        if y.numel() <= MAX_ELEMENTS {
            check_overlap(&x, &y)?;
            x = y;
        }
    }
    Ok(ended)
}

/// Whether the operation makes a copy that a storage has room for and a trial has no time for.
fn is_long(op: &Op, x: &Tensor) -> bool {
    let Op::Repeat(sizes) = op else { return false };
    let elements = sizes.iter().fold(x.numel(), |all, &n| all.saturating_mul(n));
    (MAX_ELEMENTS..1 << 32).contains(&elements)
}

/// Compares what [`overlap`] says of two tensors with a comparison byte by byte.
fn check_overlap(x: &Tensor, y: &Tensor) -> Result<(), Fault> {
    let bytes = |t: &Tensor| -> BTreeSet<usize> {
        t.element_starts()
            .flat_map(|start| start..start + t.element_size())
            .collect()
    };
    let (of_x, of_y) = (bytes(x), bytes(y));
    let meet = x.storage == y.storage && of_x.intersection(&of_y).next().is_some();
    ensure(overlap::overlaps(x, y).is_none_or(|said| said == meet), || {
        format!("whether {x:?} and {y:?} overlap is {meet}")
    })?;
    let covered = overlap::find_covered_bytes(y).map_or(of_y.len() as u64, |ranges| ranges.len());
    ensure(covered == of_y.len() as u64, || {
        format!("{y:?} covers {} bytes, not {covered}", of_y.len())
    })
}
