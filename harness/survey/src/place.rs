//! The layout of a tensor in its storage, and which tensors can replace each other.

use std::collections::BTreeSet;

use super::formula::Amount;
use cerith_module::usage::{Bound, Stride, TensorUse};

/// Elements between the rows of a padded tensor, and before the first of one with an offset.
pub(super) const ROW_PADDING: i64 = 5;

/// How a tensor lies in its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Tight,
    Padded,
    Transposed,
    Split,
    Stepped,
    Offset,
}

impl Layout {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Tight => "tight",
            Self::Padded => "with padded rows",
            Self::Transposed => "transposed",
            Self::Split => "split off a wider tensor",
            Self::Stepped => "every second element",
            Self::Offset => "with an offset",
        }
    }
}

/// The declared shape for a tensor of this shape, and the expression of the tensor. `apart` is the number of elements
/// between padded rows, and before a tensor with an offset.
pub(super) fn place_tensor(
    name: &str,
    shape: &[Amount],
    layout: Layout,
    apart: &Amount,
) -> (Vec<Amount>, String) {
    let wider = |more: &Amount| {
        let mut declared = shape.to_vec();
        if let Some(last) = declared.last_mut() {
            *last = last.plus(more);
        }
        declared
    };
    let width = shape.last().cloned().unwrap_or_else(|| Amount::from_number(1));
    match layout {
        Layout::Tight => (shape.to_vec(), name.to_owned()),
        Layout::Padded => (wider(apart), format!("{name}[..., :{}]", width.text())),
        Layout::Transposed => {
            let declared = shape.iter().rev().cloned().collect();
            (declared, format!("{name}.t()"))
        }
        Layout::Split => (wider(&width), format!("{name}[..., {}:]", width.text())),
        Layout::Stepped => (wider(&width), format!("{name}[::2]")),
        Layout::Offset => {
            let elements = (shape.iter()).fold(Amount::from_number(1), |all, one| all.times(one));
            let sizes: Vec<String> = shape.iter().map(Amount::text).collect();
            (
                vec![elements.plus(apart)],
                format!("{name}[{}:].view({})", apart.text(), sizes.join(", ")),
            )
        }
    }
}

/// The parameters that are strides of a tensor.
pub(super) fn collect_strides(tensor: &TensorUse) -> BTreeSet<&str> {
    let dimensions = tensor.dimensions.iter();
    dimensions
        .filter_map(|dimension| match &dimension.stride {
            Stride::Param(name) => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

/// Whether two tensors have the same bounds, so that one can be passed for the other.
pub(super) fn has_same_bounds(a: &TensorUse, b: &TensorUse) -> bool {
    let bounds = |tensor: &TensorUse| -> Vec<Bound> {
        tensor
            .dimensions
            .iter()
            .map(|dimension| dimension.bound.clone())
            .collect()
    };
    a.certain && b.certain && bounds(a) == bounds(b)
}
