//! Origins of the bytes that a launch starts from. A submission may copy, permute, slice, concatenate and cast its inputs, and results of
//! its launches. Bytes of any other origin were computed by the program.

use cerith_memory::{ByteState, StorageId, Tensor};
use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, decode_int, encode};

use crate::trial::is_inside;
use cerith_runner::oracle::session::read_element;

/// The most dimensions whose orders are all tried.
const MAX_PERMUTED: usize = 4;

/// The most positions at which a slice may begin.
const MAX_STARTS: i64 = 4096;

/// The most parts of a concatenation.
const MAX_PARTS: usize = 16;

/// Bytes that a call may use.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    /// Its name, the same in calls with the same launches.
    pub key: SourceKey,
    /// The bytes.
    pub bytes: &'a [u8],
    /// The tensors that show them.
    pub views: Vec<Tensor>,
}

/// Names a source of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceKey {
    /// A storage of the inputs.
    Input(usize),
    /// A storage that a launch left, counted from the call's first.
    Left(usize, u32),
}

/// The origin of a storage's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recipe {
    /// Nothing wrote it.
    Uninitialised,
    /// Copies of sources, one after the other.
    Copies(Vec<Part>),
    /// One element, everywhere.
    Constant(u64),
    /// The program computed it.
    Computed(u64),
}

/// A copy of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    key: SourceKey,
    view: Option<ViewCopy>,
}

/// A contiguous copy of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ViewCopy {
    /// Which of the source's views.
    view: usize,
    /// The order of its dimensions.
    order: Vec<usize>,
    /// The part of a dimension: dimension, begin, length.
    slice: Option<(usize, i64, i64)>,
    /// The dtype of the copy.
    dtype: DType,
}

/// A storage at the beginning of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The states of its bytes.
    pub states: &'a [ByteState],
    /// The dtype of the launch's tensor.
    pub dtype: DType,
}

impl Recipe {
    /// The origin of a storage.
    pub fn find(content: Content<'_>, sources: &[Source<'_>]) -> Self {
        if content.states.iter().all(|state| *state == ByteState::Uninit) {
            return Self::Uninitialised;
        }
        let bytes = content.bytes;
        let whole = sources.iter().rev().find(|source| source.bytes == bytes);
        if let Some(source) = whole {
            return Self::Copies(vec![Part {
                key: source.key,
                view: None,
            }]);
        }
        let mut elements = bytes.chunks_exact(content.dtype.size());
        let first = elements.next();
        if elements.all(|element| Some(element) == first) {
            return Self::Constant(hash(bytes));
        }
        if let Some(part) = find_view_copy(content, sources) {
            return Self::Copies(vec![part]);
        }
        find_concatenation(content, sources).map_or_else(|| Self::Computed(hash(bytes)), Self::Copies)
    }

    /// Whether a storage of another call has the same origin.
    pub fn produces(&self, content: Content<'_>, sources: &[Source<'_>]) -> bool {
        match self {
            Self::Uninitialised => content.states.iter().all(|state| *state == ByteState::Uninit),
            Self::Constant(expected) | Self::Computed(expected) => hash(content.bytes) == *expected,
            Self::Copies(parts) => {
                let mut rest = content.bytes;
                for part in parts {
                    let source = sources.iter().find(|source| source.key == part.key);
                    let Some(length) = source.and_then(|source| part.match_start(source, rest)) else {
                        return false;
                    };
                    rest = rest.get(length..).unwrap_or(&[]);
                }
                rest.is_empty()
            }
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let digest = blake3::hash(bytes);
    u64::from_le_bytes(*digest.as_bytes().first_chunk().unwrap_or(&[0; 8]))
}

impl Part {
    /// How many bytes at the beginning of a storage are this copy.
    fn match_start(&self, source: &Source<'_>, bytes: &[u8]) -> Option<usize> {
        match &self.view {
            None => bytes.starts_with(source.bytes).then_some(source.bytes.len()),
            Some(copy) => copy.match_start(source, bytes),
        }
    }
}

impl ViewCopy {
    fn match_start(&self, source: &Source<'_>, bytes: &[u8]) -> Option<usize> {
        let from = source.views.get(self.view)?;
        let view = arrange(from, &self.order, self.slice)?;
        let length = usize::try_from(view.numel())
            .ok()?
            .checked_mul(self.dtype.size())?;
        let target = bytes.get(..length)?;
        matches_view(&view, source.bytes, target, self.dtype).then_some(length)
    }
}

/// A view with its dimensions in another order, and one of them sliced.
fn arrange(view: &Tensor, order: &[usize], slice: Option<(usize, i64, i64)>) -> Option<Tensor> {
    let mut offset = view.offset;
    let mut shape: Vec<i64> = view.shape.iter().copied().collect();
    if let Some((dim, begin, length)) = slice {
        offset += begin * view.strides.get(dim)?;
        *shape.get_mut(dim)? = length;
    }
    let shape = order
        .iter()
        .map(|&dim| shape.get(dim).copied())
        .collect::<Option<Vec<i64>>>()?;
    let strides = order
        .iter()
        .map(|&dim| view.strides.get(dim).copied())
        .collect::<Option<Vec<i64>>>()?;
    Some(Tensor {
        storage: StorageId(0),
        dtype: view.dtype,
        shape: shape.as_slice().into(),
        strides: strides.as_slice().into(),
        offset,
    })
}

/// Whether bytes are the elements of a view, converted to a dtype.
fn matches_view(view: &Tensor, bytes: &[u8], target: &[u8], dtype: DType) -> bool {
    if !is_inside(view, bytes.len()) {
        return false;
    }
    let size = view.dtype.size();
    let mut elements = target.chunks_exact(dtype.size());
    if view.dtype.size() == dtype.size() && view.dtype.is_float() == dtype.is_float() {
        return view
            .element_starts()
            .all(|start| elements.next() == bytes.get(start..start + size));
    }
    view.element_starts().all(|start| {
        let bits = convert_element(read_element(bytes, start, view.dtype), view.dtype, dtype);
        elements
            .next()
            .is_some_and(|element| read_element(element, 0, dtype) == bits)
    })
}

/// The bits of an element after a cast of the host's, from a float to a float or from an integer to an integer.
pub(super) fn convert_element(bits: u64, from: DType, to: DType) -> u64 {
    if from == to {
        bits
    } else if to.is_float() {
        encode(to, decode(from, bits), Rounding::NearestEven)
    } else {
        // A narrower integer has the low bits.
        decode_int(from, bits) as u64 & (u64::MAX >> (u64::BITS as usize - 8 * to.size()))
    }
}

/// The orders of dimensions that are tried.
fn list_orders(dims: usize) -> Vec<Vec<usize>> {
    let identity: Vec<usize> = (0..dims).collect();
    if dims > MAX_PERMUTED {
        return vec![identity];
    }
    let mut orders = vec![Vec::new()];
    for _ in 0..dims {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                let rest: Vec<usize> = identity
                    .iter()
                    .copied()
                    .filter(|dim| !order.contains(dim))
                    .collect();
                rest.into_iter()
                    .map(move |dim| order.iter().copied().chain([dim]).collect())
            })
            .collect();
    }
    orders
}

/// A contiguous copy of a view, in some order of its dimensions, and of a part of one.
fn find_view_copy(content: Content<'_>, sources: &[Source<'_>]) -> Option<Part> {
    let (target, dtype) = (content.bytes, content.dtype);
    let wanted = i64::try_from(target.len() / dtype.size()).ok()?;
    for source in sources.iter().rev() {
        for (at, view) in source.views.iter().enumerate() {
            if view.dtype.is_float() != dtype.is_float() {
                continue;
            }
            for slice in list_slices(view, wanted) {
                for order in list_orders(view.dim()) {
                    let copied = arrange(view, &order, slice)?;
                    if matches_view(&copied, source.bytes, target, dtype) {
                        return Some(Part {
                            key: source.key,
                            view: Some(ViewCopy {
                                view: at,
                                order,
                                slice,
                                dtype,
                            }),
                        });
                    }
                }
            }
        }
    }
    None
}

/// The view of a source that these elements are a copy of, without a conversion.
pub(super) fn find_copied_view(
    bits: &[u8],
    dtype: DType,
    sources: &[Source<'_>],
) -> Option<(SourceKey, Tensor)> {
    let whole = sources.iter().rev().find(|source| source.bytes == bits);
    if let Some(source) = whole {
        let elements = i64::try_from(bits.len() / dtype.size()).ok()?;
        return Some((
            source.key,
            Tensor::new_contiguous(StorageId(0), dtype, &[elements]),
        ));
    }
    let content = Content {
        bytes: bits,
        states: &[],
        dtype,
    };
    let part = find_view_copy(content, sources)?;
    let source = sources.iter().find(|source| source.key == part.key)?;
    let copy = part.view?;
    let from = source.views.get(copy.view).filter(|view| view.dtype == dtype)?;
    Some((source.key, arrange(from, &copy.order, copy.slice)?))
}

/// The slices of a view that have so many elements.
fn list_slices(view: &Tensor, wanted: i64) -> Vec<Option<(usize, i64, i64)>> {
    let numel = view.numel();
    if numel == wanted {
        return vec![None];
    }
    if numel < wanted || wanted == 0 {
        return Vec::new();
    }
    let mut slices = Vec::new();
    for (dim, &extent) in view.shape.iter().enumerate() {
        let others = numel / extent.max(1);
        if others > 0 && wanted % others == 0 {
            let length = wanted / others;
            let starts = (0..=extent - length).take(MAX_STARTS as usize);
            slices.extend(starts.map(|begin| Some((dim, begin, length))));
        }
    }
    slices
}

/// Whole sources, one after the other.
fn find_concatenation(content: Content<'_>, sources: &[Source<'_>]) -> Option<Vec<Part>> {
    let mut rest = content.bytes;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        if parts.len() == MAX_PARTS {
            return None;
        }
        let candidates = sources.iter().flat_map(|source| {
            let whole = Part {
                key: source.key,
                view: None,
            };
            let views = source
                .views
                .iter()
                .enumerate()
                .filter(|(_, view)| view.dtype == content.dtype);
            let copies = views.map(|(at, view)| Part {
                key: source.key,
                view: Some(ViewCopy {
                    view: at,
                    order: (0..view.dim()).collect(),
                    slice: None,
                    dtype: content.dtype,
                }),
            });
            [whole].into_iter().chain(copies).map(move |part| (source, part))
        });
        let (length, part) = candidates
            .filter_map(|(source, part)| Some((part.match_start(source, rest)?, part)))
            .max_by_key(|(length, _)| *length)
            .filter(|(length, _)| *length > 0)?;
        rest = rest.get(length..)?;
        parts.push(part);
    }
    (parts.len() > 1).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const F32: DType = DType::F32;

    fn to_bytes(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
        values.into_iter().flat_map(f32::to_le_bytes).collect()
    }

    /// The origin of bytes, by its name, if the call has a tensor of 3 rows and 4 columns and one of 2 elements.
    fn check(bytes: &[u8], states: ByteState, dtype: DType, expected: &str) {
        let (matrix, pair) = (to_bytes((0..12_u8).map(f32::from)), to_bytes([0.5, 0.1]));
        let source = |at, bytes, shape: &[i64]| Source {
            key: SourceKey::Input(at),
            bytes,
            views: vec![Tensor::new_contiguous(StorageId(0), F32, shape)],
        };
        let sources = [source(0, &matrix, &[3, 4]), source(1, &pair, &[2])];
        let states = vec![states; bytes.len()];
        let content = Content {
            bytes,
            states: &states,
            dtype,
        };
        let recipe = Recipe::find(content, &sources);
        let name = match &recipe {
            Recipe::Uninitialised => "uninitialised".to_owned(),
            Recipe::Constant(_) => "constant".to_owned(),
            Recipe::Computed(_) => "computed".to_owned(),
            Recipe::Copies(parts) => {
                let describe = |part: &Part| match (&part.key, &part.view) {
                    (SourceKey::Input(at), None) => format!("{at}"),
                    (SourceKey::Input(at), Some(copy)) => {
                        format!("{at} {:?} {:?} {}", copy.order, copy.slice, copy.dtype)
                    }
                    (SourceKey::Left(..), _) => "a launch's".to_owned(),
                };
                parts.iter().map(describe).collect::<Vec<_>>().join(", ")
            }
        };
        assert_eq!(name, expected);
        assert!(recipe.produces(content, &sources), "{recipe:?}");
        let other = to_bytes([7.0, 8.0, 9.0]);
        let other = Content {
            bytes: &other,
            states: &[ByteState::Init; 12],
            dtype: F32,
        };
        assert!(!recipe.produces(other, &sources), "{recipe:?}");
    }

    #[test]
    fn origins_of_bytes_are_found() {
        let matrix: Vec<f32> = (0..12_u8).map(f32::from).collect();
        let init = |values: Vec<f32>, expected| check(&to_bytes(values), ByteState::Init, F32, expected);
        init(matrix.clone(), "0");
        let transposed = (0..12).map(|at| matrix[at % 3 * 4 + at / 3]).collect();
        init(transposed, "0 [1, 0] None f32");
        let columns = (0..3)
            .flat_map(|row| [matrix[row * 4 + 1], matrix[row * 4 + 2]])
            .collect();
        init(columns, "0 [0, 1] Some((1, 1, 2)) f32");
        init(
            [matrix.clone(), vec![0.5, 0.1], matrix.clone()].concat(),
            "0 [0, 1] None f32, 1 [0] None f32, 0 [0, 1] None f32",
        );
        init(vec![2.5; 6], "constant");
        init([matrix.clone(), vec![0.5, 0.2]].concat(), "computed");
        let mut changed = matrix;
        changed[5] += 1.0;
        init(changed, "computed");
        check(&to_bytes([0.5, 0.2]), ByteState::Uninit, F32, "uninitialised");
        let halves = [0.5, 0.2].map(|value| encode(DType::F16, value, Rounding::NearestEven) as u16);
        let halves: Vec<u8> = halves.into_iter().flat_map(u16::to_le_bytes).collect();
        check(&halves, ByteState::Init, DType::F16, "computed");
        let rounded =
            [0.5_f32, 0.1].map(|value| encode(DType::F16, f64::from(value), Rounding::NearestEven) as u16);
        let rounded: Vec<u8> = rounded.into_iter().flat_map(u16::to_le_bytes).collect();
        check(&rounded, ByteState::Init, DType::F16, "1 [0] None f16");
    }
}
