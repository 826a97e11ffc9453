//! A model of operations on tensors, by enumeration: for each element of the result, the element of the operand.
//!
//! It knows no strides, only shapes and indices, as in torch's documentation. So it shares nothing with the arithmetic that
//! it checks. `view(dtype)` and `as_strided`, which are about strides and bytes, have no model, and neither has the question
//! which views a tensor's strides allow.

use cerith_memory::{Index, Storages, Tensor};

use super::{MAX_ELEMENTS, Op};

/// The model's prediction for an operation.
pub(super) enum Expected {
    /// It has this shape, and these elements of the operand, in row-major order.
    Is(Vec<i64>, Vec<usize>),
    /// If it succeeds, which depends on strides.
    IfAny(Vec<i64>, Vec<usize>),
    /// It is an error.
    Fails,
    /// The model has no answer.
    Unknown,
}

impl Expected {
    fn unknown_if(self, unknown: bool) -> Self {
        if unknown { Self::Unknown } else { self }
    }
}

/// A dimension by a number that may count from the end.
fn resolve_dimension(dim: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let at = if dim < 0 { dim.checked_add(rank)? } else { dim };
    (0..rank).contains(&at).then_some(at as usize)
}

fn resolve_dimensions(dims: &[i64], rank: usize) -> Option<Vec<usize>> {
    let found: Option<Vec<usize>> = dims.iter().map(|&dim| resolve_dimension(dim, rank)).collect();
    let found = found?;
    let mut seen = found.clone();
    seen.sort_unstable();
    seen.dedup();
    (seen.len() == found.len()).then_some(found)
}

/// The number of elements, if it is not too large to enumerate.
fn count(shape: &[i64]) -> Option<i64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1i64, |product, &extent| {
        product
            .checked_mul(extent)
            .filter(|n| (0..=MAX_ELEMENTS).contains(n))
    })
}

/// A result whose element at an index is the operand's at another one.
fn map_elements(x: &[i64], shape: Vec<i64>, of: impl Fn(&[i64]) -> Vec<i64>) -> Expected {
    let Some(elements) = count(&shape) else {
        return Expected::Unknown;
    };
    let mut index = vec![0; shape.len()];
    let mut from = Vec::with_capacity(elements as usize);
    for _ in 0..elements {
        let flat = of(&index)
            .iter()
            .zip(x)
            .fold(0, |flat, (at, extent)| flat * extent + at);
        from.push(flat as usize);
        for (slot, &extent) in index.iter_mut().zip(&shape).rev() {
            *slot += 1;
            if *slot < extent {
                break;
            }
            *slot = 0;
        }
    }
    Expected::Is(shape, from)
}

/// A result whose dimension `i` is the operand's `order[i]`; those left out have one element.
fn permute_dimensions(x: &[i64], order: &[usize]) -> Expected {
    let shape = order.iter().map(|&at| x[at]).collect();
    map_elements(x, shape, |index| {
        let mut of = vec![0; x.len()];
        for (&at, &i) in order.iter().zip(index) {
            of[at] = i;
        }
        of
    })
}

/// A part of one dimension.
fn narrow_dimension(x: &[i64], dim: usize, start: i64, length: i64) -> Expected {
    let mut shape = x.to_vec();
    shape[dim] = length;
    map_elements(x, shape, |index| {
        let mut of = index.to_vec();
        of[dim] += start;
        of
    })
}

/// A shape for the same elements in the same order; one extent may be -1.
fn resolve_shape(x: &[i64], wanted: &[i64]) -> Option<Vec<i64>> {
    let elements = count(x)?;
    let mut shape = wanted.to_vec();
    if let Some(at) = wanted.iter().position(|&extent| extent == -1) {
        let mut rest = wanted.to_vec();
        rest.remove(at);
        let rest = count(&rest).filter(|&n| n > 0)?;
        shape[at] = (elements % rest == 0).then_some(elements / rest)?;
    }
    let fits = shape.iter().all(|&extent| extent >= 0) && count(&shape) == Some(elements);
    fits.then_some(shape)
}

fn same_order(x: &[i64], shape: Option<Vec<i64>>) -> Expected {
    match (shape, count(x)) {
        (Some(shape), Some(n)) => Expected::Is(shape, (0..n as usize).collect()),
        _ => Expected::Unknown,
    }
}

fn or_fails(expected: Option<Expected>) -> Expected {
    expected.unwrap_or(Expected::Fails)
}

/// The expected result of an operation on a tensor of [`MAX_ELEMENTS`](super::MAX_ELEMENTS) elements or fewer.
pub(super) fn predict_result(op: &Op, x: &Tensor) -> Expected {
    let (shape, rank) = (&x.shape[..], x.shape.len());
    // Extents this large are only there where another one is 0.
    if shape.iter().any(|&extent| extent > MAX_ELEMENTS) {
        return Expected::Unknown;
    }
    // Dimension 0 of a scalar is a matter of its own.
    let without_dimensions = matches!(
        op,
        Op::Clone | Op::Contiguous | Op::Repeat(_) | Op::Expand(_) | Op::Index(_) | Op::Reshape(_)
    );
    if rank == 0 && !without_dimensions {
        return Expected::Unknown;
    }
    match op {
        Op::Transpose(a, b) => or_fails(resolve_dimension(*a, rank).zip(resolve_dimension(*b, rank)).map(
            |(a, b)| {
                let mut order: Vec<usize> = (0..rank).collect();
                order.swap(a, b);
                permute_dimensions(shape, &order)
            },
        )),
        Op::Permute(dims) => or_fails(
            resolve_dimensions(dims, rank)
                .filter(|order| order.len() == rank)
                .map(|order| permute_dimensions(shape, &order)),
        ),
        Op::Movedim(source, destination) => move_dimensions(shape, source, destination),
        Op::Expand(sizes) => expand_dimensions(shape, sizes),
        Op::View(wanted) => match same_order(shape, resolve_shape(shape, wanted)) {
            Expected::Is(shape, from) => Expected::IfAny(shape, from),
            other => other,
        },
        Op::Reshape(wanted) => same_order(shape, resolve_shape(shape, wanted)),
        Op::Flatten(a, b) => match (resolve_dimension(*a, rank), resolve_dimension(*b, rank)) {
            (Some(a), Some(b)) if a <= b => {
                // More than can be enumerated, where another extent is 0.
                let merged = shape[a..=b]
                    .iter()
                    .try_fold(1i64, |product, &extent| product.checked_mul(extent));
                let flat = merged.map(|merged| [&shape[..a], &[merged], &shape[b + 1..]].concat());
                same_order(shape, flat)
            }
            _ => Expected::Fails,
        },
        Op::Unflatten(dim, sizes) => {
            let split = resolve_dimension(*dim, rank).and_then(|at| {
                let sizes = resolve_shape(&shape[at..=at], sizes).filter(|sizes| !sizes.is_empty())?;
                Some([&shape[..at], &sizes, &shape[at + 1..]].concat())
            });
            same_order(shape, split)
        }
        Op::Narrow(dim, start, length) => or_fails(resolve_dimension(*dim, rank).and_then(|at| {
            let extent = shape[at];
            let start = if *start < 0 {
                start.checked_add(extent)?
            } else {
                *start
            };
            let end = start.checked_add(*length)?;
            (start >= 0 && *length >= 0 && end <= extent).then(|| narrow_dimension(shape, at, start, *length))
        })),
        Op::Select(dim, index) => or_fails(resolve_dimension(*dim, rank).and_then(|at| {
            let index = resolve_dimension(*index, shape[at] as usize)? as i64;
            let rest = [&shape[..at], &shape[at + 1..]].concat();
            Some(map_elements(shape, rest, |of| {
                [&of[..at], &[index], &of[at..]].concat()
            }))
        })),
        Op::Index(items) => apply_index(shape, items),
        Op::Unfold(dim, size, step) => or_fails(resolve_dimension(*dim, rank).and_then(|at| {
            (0 <= *size && *size <= shape[at] && *step > 0).then_some(())?;
            let mut unfolded = shape.to_vec();
            unfolded[at] = (shape[at] - size) / step + 1;
            unfolded.push(*size);
            Some(map_elements(shape, unfolded, |index| {
                let mut of = index[..rank].to_vec();
                of[at] = of[at] * step + index[rank];
                of
            }))
        })),
        Op::Diagonal(offset, a, b) => or_fails(
            resolve_dimension(*a, rank)
                .zip(resolve_dimension(*b, rank))
                .filter(|(a, b)| a != b)
                .map(|(a, b)| take_diagonal(shape, i128::from(*offset), a, b)),
        ),
        Op::Squeeze(dims) => {
            let chosen = dims.as_ref().map_or_else(
                || Some((0..rank).collect()),
                |dims| resolve_dimensions(dims, rank),
            );
            or_fails(chosen.map(|chosen: Vec<usize>| {
                let kept: Vec<usize> = (0..rank)
                    .filter(|at| shape[*at] != 1 || !chosen.contains(at))
                    .collect();
                permute_dimensions(shape, &kept)
            }))
        }
        Op::Unsqueeze(dim) => or_fails(resolve_dimension(*dim, rank + 1).map(|at| {
            let longer = [&shape[..at], &[1], &shape[at..]].concat();
            map_elements(shape, longer, |of| [&of[..at], &of[at + 1..]].concat())
        })),
        Op::Split(size, dim) => or_fails(resolve_dimension(*dim, rank).and_then(|at| {
            (*size > 0).then_some(())?;
            let start = (shape[at] - 1).max(0) / size * size;
            Some(narrow_dimension(shape, at, start, shape[at] - start))
        }))
        // Nothing may be split into pieces of nothing.
        .unknown_if(*size == 0),
        Op::Chunk(chunks, dim) => or_fails(resolve_dimension(*dim, rank).and_then(|at| {
            (*chunks > 0).then_some(())?;
            let size = (shape[at] / chunks + i64::from(shape[at] % chunks != 0)).max(1);
            let start = (shape[at] - 1).max(0) / size * size;
            Some(narrow_dimension(shape, at, start, shape[at] - start))
        }))
        // So many pieces are not made.
        .unknown_if(*chunks > MAX_ELEMENTS),
        Op::TensorSplit(sections, dim) => or_fails(resolve_dimension(*dim, rank).and_then(|at| {
            (*sections > 0).then_some(())?;
            let length = shape[at] / sections;
            Some(narrow_dimension(shape, at, shape[at] - length, length))
        }))
        // So many pieces are not made.
        .unknown_if(*sections > MAX_ELEMENTS),
        Op::Clone | Op::Contiguous => same_order(shape, Some(shape.to_vec())),
        Op::Flip(dims) => or_fails(resolve_dimensions(dims, rank).map(|dims| {
            map_elements(shape, shape.to_vec(), |index| {
                let mut of = index.to_vec();
                for &at in &dims {
                    of[at] = shape[at] - 1 - of[at];
                }
                of
            })
        })),
        Op::Repeat(sizes) => repeat_dimensions(shape, sizes),
        Op::AsStrided(..) | Op::Dtype(_) => Expected::Unknown,
    }
}

fn move_dimensions(x: &[i64], source: &[i64], destination: &[i64]) -> Expected {
    match (
        resolve_dimensions(source, x.len()),
        resolve_dimensions(destination, x.len()),
    ) {
        (Some(from), Some(to)) if from.len() == to.len() => {
            let mut order = vec![usize::MAX; x.len()];
            for (&from, &to) in from.iter().zip(&to) {
                order[to] = from;
            }
            let mut rest = (0..x.len()).filter(|at| !from.contains(at));
            for slot in order.iter_mut().filter(|slot| **slot == usize::MAX) {
                *slot = rest.next().unwrap_or_default();
            }
            permute_dimensions(x, &order)
        }
        _ => Expected::Fails,
    }
}

fn expand_dimensions(x: &[i64], sizes: &[i64]) -> Expected {
    let Some(new) = sizes.len().checked_sub(x.len()) else {
        return Expected::Fails;
    };
    let mut shape = Vec::with_capacity(sizes.len());
    for (at, &size) in sizes.iter().enumerate() {
        let own = at.checked_sub(new).and_then(|at| x.get(at)).copied();
        shape.push(match own {
            None | Some(1) if size >= 0 => size,
            Some(own) if size == -1 || size == own => own,
            _ => return Expected::Fails,
        });
    }
    map_elements(x, shape, |index| {
        let own = index[new..].iter().zip(x);
        own.map(|(&at, &extent)| if extent == 1 { 0 } else { at })
            .collect()
    })
}

fn repeat_dimensions(x: &[i64], sizes: &[i64]) -> Expected {
    let Some(new) = sizes.len().checked_sub(x.len()) else {
        return Expected::Fails;
    };
    let extents = sizes.iter().enumerate().map(|(at, &size)| {
        let own = at.checked_sub(new).map_or(1, |at| x[at]);
        size.checked_mul(own)
    });
    match extents.collect::<Option<Vec<i64>>>() {
        // Zero elements, repeated a negative number of times, stay zero elements.
        Some(shape) if shape.iter().any(|&extent| extent < 0) => Expected::Fails,
        Some(shape) => map_elements(x, shape, |index| {
            let own = index[new..].iter().zip(x);
            own.map(|(at, extent)| at % extent).collect()
        }),
        None => Expected::Unknown,
    }
}

fn take_diagonal(x: &[i64], offset: i128, a: usize, b: usize) -> Expected {
    let (down, right) = (i128::from(x[a]), i128::from(x[b]));
    let length = if offset >= 0 {
        down.min(right - offset)
    } else {
        right.min(down + offset)
    };
    let others: Vec<usize> = (0..x.len()).filter(|&at| at != a && at != b).collect();
    let mut shape: Vec<i64> = others.iter().map(|&at| x[at]).collect();
    shape.push(length.max(0) as i64);
    let (first_down, first_right) = ((-offset).max(0) as i64, offset.max(0) as i64);
    map_elements(x, shape, |index| {
        let mut of = vec![0; x.len()];
        for (&at, &i) in others.iter().zip(index) {
            of[at] = i;
        }
        let nth = index[others.len()];
        of[a] = first_down + nth;
        of[b] = first_right + nth;
        of
    })
}

/// For each dimension of the operand, where an index begins in it, and along which dimension of the result it goes on,
/// by which step.
struct Indexed<'a> {
    x: &'a [i64],
    sources: Vec<(i64, Option<(usize, i64)>)>,
    shape: Vec<i64>,
}

impl Indexed<'_> {
    /// Keeps the next dimensions whole.
    fn keep(&mut self, times: usize) {
        for _ in 0..times {
            let extent = self.x[self.sources.len()];
            self.sources.push((0, Some((self.shape.len(), 1))));
            self.shape.push(extent);
        }
    }
}

fn apply_index(x: &[i64], items: &[Index]) -> Expected {
    let ellipses = items.iter().filter(|item| matches!(item, Index::Ellipsis));
    if ellipses.count() > 1 {
        return Expected::Unknown;
    }
    let named = items
        .iter()
        .filter(|item| matches!(item, Index::At(_) | Index::Slice { .. }));
    let Some(rest) = x.len().checked_sub(named.count()) else {
        return Expected::Fails;
    };
    let mut made = Indexed {
        x,
        sources: Vec::new(),
        shape: Vec::new(),
    };
    for item in items {
        match *item {
            Index::NewAxis => made.shape.push(1),
            Index::Ellipsis => made.keep(rest),
            Index::At(at) => match resolve_dimension(at, x[made.sources.len()] as usize) {
                Some(at) => made.sources.push((at as i64, None)),
                None => return Expected::Fails,
            },
            Index::Slice { start, end, step } => {
                let (extent, step) = (x[made.sources.len()], step.unwrap_or(1));
                if step <= 0 {
                    return Expected::Fails;
                }
                let bound = |at: i64| {
                    let at = if at < 0 { at.saturating_add(extent) } else { at };
                    at.clamp(0, extent)
                };
                let (start, end) = (bound(start.unwrap_or(0)), bound(end.unwrap_or(extent)));
                let length = (end - start).max(0);
                made.sources.push((start, Some((made.shape.len(), step))));
                made.shape.push(length / step + i64::from(length % step != 0));
            }
        }
    }
    made.keep(x.len() - made.sources.len());
    let Indexed {
        sources: of, shape, ..
    } = made;
    map_elements(x, shape, |index| {
        of.iter()
            .map(|&(start, along)| along.map_or(start, |(at, step)| start + index[at] * step))
            .collect()
    })
}

/// The reason why the elements of a tensor differ from the model's.
#[derive(Debug, thiserror::Error)]
pub(super) enum OtherElements {
    #[error("{actual} elements, not {expected}")]
    Count { actual: usize, expected: usize },
    #[error("element {0} is of nothing")]
    Outside(usize),
    #[error("element {element} is not the operand's {expected}")]
    Element { element: usize, expected: usize },
}

/// Whether the elements of `y` are these ones of `x`: the same places of one storage, or the same bytes in another.
pub(super) fn same_elements(
    storages: &Storages,
    x: &Tensor,
    y: &Tensor,
    from: &[usize],
) -> Result<(), OtherElements> {
    let starts: Vec<usize> = x.element_starts().collect();
    let found: Vec<usize> = y.element_starts().collect();
    if found.len() != from.len() {
        return Err(OtherElements::Count {
            actual: found.len(),
            expected: from.len(),
        });
    }
    let bytes = |t: &Tensor, start: usize| {
        let all = storages.get(t.storage)?.bytes();
        all.get(start..start + t.element_size())
    };
    for (nth, (&found, &from)) in found.iter().zip(from).enumerate() {
        let Some(&wanted) = starts.get(from) else {
            return Err(OtherElements::Outside(nth));
        };
        let same = if x.storage == y.storage {
            found == wanted
        } else {
            bytes(y, found) == bytes(x, wanted)
        };
        if !same {
            return Err(OtherElements::Element {
                element: nth,
                expected: from,
            });
        }
    }
    Ok(())
}
