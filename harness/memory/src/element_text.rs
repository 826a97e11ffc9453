//! Describes elements in messages: `x[3, 0]`, and bytes before or after a tensor. [`Tensor::index_of_byte`] finds the
//! element of a byte.

use crate::tensor::{Dims, Tensor};

/// An element as a user would write it: `x[3, 0]`; `x` alone if it has no dimensions.
pub fn describe_element(name: &str, index: &[i64]) -> String {
    if index.is_empty() {
        return name.to_owned();
    }
    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
    format!("{name}[{}]", index.join(", "))
}

/// Describes a byte of the storage outside of a tensor, as a continuation of "past the end of storage `x`": "where
/// `x[64]` would be", "3 elements before `x[0]`". `None` if no index of the tensor reaches it.
pub fn describe_beyond(name: &str, tensor: &Tensor, byte: i64) -> Option<String> {
    let size = tensor.element_size() as i64;
    let distance = byte.checked_sub(tensor.byte_offset())?;
    if distance % size != 0 {
        return None;
    }
    let distance = distance / size;
    if distance < 0 {
        let first = describe_element(name, &Dims::from_elem(0, tensor.dim()));
        let elements = if distance == -1 { "element" } else { "elements" };
        return Some(format!("{} {elements} before `{first}`", distance.unsigned_abs()));
    }
    let index = index_beyond(tensor, distance)?;
    Some(format!("where `{}` would be", describe_element(name, &index)))
}

/// Describes a tensor's last element; `None` if it has no elements.
pub fn describe_last(name: &str, tensor: &Tensor) -> Option<String> {
    let index: Dims = tensor.shape.iter().map(|size| size.saturating_sub(1)).collect();
    (!tensor.shape.contains(&0)).then(|| describe_element(name, &index))
}

/// Returns the index at a distance in elements after a tensor's first, using the largest strides first. `None` if it is
/// an element of the tensor, or no index reaches it.
fn index_beyond(tensor: &Tensor, distance: i64) -> Option<Dims> {
    let mut order: Vec<usize> = (0..tensor.dim())
        .filter(|&dim| tensor.strides.get(dim).is_some_and(|&stride| stride > 0))
        .collect();
    order.sort_by_key(|&dim| std::cmp::Reverse((tensor.strides.get(dim), tensor.shape.get(dim))));
    let mut index = Dims::from_elem(0, tensor.dim());
    let mut left = distance;
    for dim in order {
        if let (Some(to), Some(&stride)) = (index.get_mut(dim), tensor.strides.get(dim)) {
            *to = left / stride;
            left %= stride;
        }
    }
    let outside = index.iter().zip(&tensor.shape).any(|(at, size)| at >= size);
    (left == 0 && outside).then_some(index)
}

#[cfg(test)]
mod tests {
    use cerith_tile::DType;

    use super::{describe_beyond, describe_element, describe_last};
    use crate::storage::StorageId;
    use crate::tensor::{Dims, Tensor};

    fn tensor(shape: &[i64], strides: &[i64], offset: i64) -> Tensor {
        Tensor {
            strides: Dims::from_slice(strides),
            offset,
            ..Tensor::new_contiguous(StorageId(0), DType::F32, shape)
        }
    }

    /// The location of element `at` of the storage, relative to a tensor.
    #[track_caller]
    fn check((shape, strides, offset): (&[i64], &[i64], i64), at: i64, expected: Option<&str>) {
        let found = describe_beyond("x", &tensor(shape, strides, offset), at * 4);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn what_lies_outside_of_a_tensor() {
        check((&[64], &[1], 0), 64, Some("where `x[64]` would be"));
        check((&[64], &[1], 0), 63, None);
        check((&[8], &[1], 8), 20, Some("where `x[12]` would be"));
        check((&[8], &[1], 8), 7, Some("1 element before `x[0]`"));
        check((&[8], &[1], 8), 5, Some("3 elements before `x[0]`"));
        check((&[4, 16], &[16, 1], 0), 64, Some("where `x[4, 0]` would be"));
        check((&[1, 16], &[16, 1], 0), 16, Some("where `x[1, 0]` would be"));
        // A row followed by padding, and a column.
        check(
            (&[4, 48], &[64, 1], 0),
            3 * 64 + 50,
            Some("where `x[3, 50]` would be"),
        );
        check((&[16, 4], &[1, 16], 0), 65, Some("where `x[1, 4]` would be"));
        check((&[4], &[2], 0), 9, None);
        check((&[4], &[0], 0), 4, None);
        check((&[0], &[1], 0), 0, Some("where `x[0]` would be"));
        check((&[], &[], 0), 1, None);
        check((&[], &[], 2), 0, Some("2 elements before `x`"));
        assert_eq!(describe_beyond("x", &tensor(&[4], &[1], 0), 18), None);
        assert_eq!(
            describe_beyond("x", &tensor(&[4], &[1], i64::MAX), i64::MIN),
            None
        );
    }

    #[test]
    fn names_of_elements() {
        assert_eq!(describe_element("x", &[]), "x");
        assert_eq!(describe_element("x", &[3, 0]), "x[3, 0]");
        assert_eq!(
            describe_last("x", &tensor(&[4, 16], &[16, 1], 0)).as_deref(),
            Some("x[3, 15]")
        );
        assert_eq!(describe_last("x", &tensor(&[4, 0], &[1, 1], 0)), None);
        assert_eq!(describe_last("x", &tensor(&[], &[], 0)).as_deref(), Some("x"));
    }
}
