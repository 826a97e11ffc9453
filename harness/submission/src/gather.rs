//! Storages that hold elements of the inputs in an arrangement of their own, such as a padded copy or a concatenation of columns.
//!
//! Calls that differ only in their data show it: an element is a copy if one element of a source has the same values in all of these
//! calls. A value that the program computes from the data has other values.

use std::collections::HashMap;

use cerith_tile::DType;

use crate::provenance::{Content, Source, convert_element};
use cerith_runner::oracle::session::read_element;

/// The most elements that are looked at.
const MAX_ELEMENTS: usize = 1 << 22;

/// A storage at the beginning of a launch, and the sources of its call.
#[derive(Clone, Copy)]
pub(super) struct Arranged<'a> {
    pub content: Content<'a>,
    pub sources: &'a [Source<'a>],
}

/// The values of an element in each call.
type Values = Vec<u64>;

/// Whether the storages of calls hold the same elements of the same sources, and otherwise constants.
pub(super) fn is_gathered(calls: &[Arranged<'_>]) -> bool {
    let Some(first) = calls.first() else {
        return false;
    };
    // A storage that a kernel reaches by an address in a table has no dtype of its own.
    let mut dtypes = vec![first.content.dtype];
    let views = first.sources.iter().flat_map(|source| &source.views);
    for dtype in views.map(|view| view.dtype) {
        if !dtypes.contains(&dtype) {
            dtypes.push(dtype);
        }
    }
    dtypes
        .into_iter()
        .any(|dtype| is_gathered_as(calls, first, dtype))
}

fn is_gathered_as(calls: &[Arranged<'_>], first: &Arranged<'_>, dtype: DType) -> bool {
    let targets: Vec<&[u8]> = calls.iter().map(|call| call.content.bytes).collect();
    let Some(mut unexplained) = list_values(&targets, dtype) else {
        return false;
    };
    unexplained.retain(|values| values.iter().any(|value| Some(value) != values.first()));
    for source in first.sources {
        if unexplained.is_empty() {
            break;
        }
        let same = calls.iter().map(|call| {
            let found = call.sources.iter().find(|other| other.key == source.key);
            found.map(|found| found.bytes)
        });
        let Some(bytes) = same.collect::<Option<Vec<&[u8]>>>() else {
            continue;
        };
        for from in list_dtypes(source, dtype) {
            let mut counts: HashMap<Values, usize> = HashMap::new();
            for mut values in list_values(&bytes, from).unwrap_or_default() {
                for value in &mut values {
                    *value = convert_element(*value, from, dtype);
                }
                *counts.entry(values).or_default() += 1;
            }
            // Equal values of several elements, such as small integers, may be chance.
            unexplained.retain(|values| counts.get(values) != Some(&1));
        }
    }
    unexplained.is_empty()
}

/// The dtypes of a source's views that an element of a dtype may be a cast of.
fn list_dtypes(source: &Source<'_>, to: DType) -> Vec<DType> {
    let mut found = Vec::new();
    for view in &source.views {
        if view.dtype.is_float() == to.is_float() && !found.contains(&view.dtype) {
            found.push(view.dtype);
        }
    }
    found
}

/// The values of each element. `None` if the calls have other numbers of elements, or too many.
fn list_values(calls: &[&[u8]], dtype: DType) -> Option<Vec<Values>> {
    let (size, length) = (dtype.size(), calls.first()?.len());
    let fits = calls.iter().all(|bytes| bytes.len() == length);
    if !fits || !length.is_multiple_of(size) || length / size > MAX_ELEMENTS {
        return None;
    }
    let read = |at: usize| {
        calls
            .iter()
            .map(|bytes| read_element(bytes, at * size, dtype))
            .collect()
    };
    Some((0..length / size).map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::SourceKey;
    use cerith_memory::{StorageId, Tensor};

    /// Whether a function's result for some inputs is an arrangement of them.
    #[track_caller]
    fn check<const N: usize>(arrange: impl Fn(&[f32]) -> Vec<f32>, inputs: [[f32; 4]; N], expected: bool) {
        let encode = |values: &[f32]| {
            values
                .iter()
                .copied()
                .flat_map(f32::to_le_bytes)
                .collect::<Vec<u8>>()
        };
        let inputs = inputs.map(|input| (encode(&input), encode(&arrange(&input))));
        let sources = inputs.each_ref().map(|(bytes, _)| {
            [Source {
                key: SourceKey::Input(0),
                bytes,
                views: vec![Tensor::new_contiguous(StorageId(0), DType::F32, &[4])],
            }]
        });
        let calls = inputs.iter().zip(&sources).map(|((_, bytes), sources)| Arranged {
            content: Content {
                bytes,
                states: &[],
                dtype: DType::F32,
            },
            sources,
        });
        assert_eq!(is_gathered(&calls.collect::<Vec<_>>()), expected);
    }

    #[test]
    fn copies_have_the_values_of_their_sources() {
        let inputs = [[1.0, 2.0, -3.0, 4.0], [0.5, -0.25, 8.0, 7.0]];
        check(|x| vec![x[0], x[1], 0.0, x[2], x[3], 0.0], inputs, true);
        check(|x| vec![x[3], x[3], 1.5], inputs, true);
        check(|x| vec![x[0], x[1], x[0].max(x[2])], inputs, false);
        check(|x| x.iter().map(|x| x.max(0.0)).collect(), inputs, false);
        check(|x| vec![x[0] + 1.0], inputs, false);
        // A product of zeros and ones may be any of them, and so may a copy, unless another call has other numbers.
        let small = [[1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]];
        check(|x| vec![x[0] * x[1]], small, false);
        check(|x| vec![x[0]], small, false);
        check(|x| vec![x[0], 0.0], [small[0], small[1], inputs[0]], true);
    }
}
