//! How a tensor lies in its storage, and which tensors can stand for each other.

use std::collections::BTreeSet;

use crate::usage::{Bound, Stride, TensorUse};

/// Elements between the rows of a padded tensor, and before the first of one with an offset.
const APART: i64 = 5;

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

/// What is declared for a tensor of this shape, and the expression that is the tensor.
pub(super) fn placed(name: &str, shape: &[i64], layout: Layout) -> (Vec<i64>, String) {
    let wider = |more: i64| {
        let mut declared = shape.to_vec();
        if let Some(last) = declared.last_mut() {
            *last += more;
        }
        declared
    };
    let width = shape.last().copied().unwrap_or(1);
    match layout {
        Layout::Tight => (shape.to_vec(), name.to_owned()),
        Layout::Padded => (wider(APART), format!("{name}[..., :{width}]")),
        Layout::Transposed => {
            let declared: Vec<i64> = shape.iter().rev().copied().collect();
            (declared, format!("{name}.t()"))
        }
        Layout::Split => (wider(width), format!("{name}[..., {width}:]")),
        Layout::Stepped => (wider(width), format!("{name}[::2]")),
        Layout::Offset => {
            let elements: i64 = shape.iter().product();
            let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
            (
                vec![elements + APART],
                format!("{name}[{APART}:].view({})", sizes.join(", ")),
            )
        }
    }
}

/// The parameters that are strides of a tensor.
pub(super) fn strides(tensor: &TensorUse) -> BTreeSet<&str> {
    let dimensions = tensor.dimensions.iter();
    dimensions
        .filter_map(|dimension| match &dimension.stride {
            Stride::Param(name) => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

/// Whether two tensors have the same bounds, so that one can be passed for the other.
pub(super) fn alike(a: &TensorUse, b: &TensorUse) -> bool {
    let bounds = |tensor: &TensorUse| -> Vec<Bound> {
        tensor
            .dimensions
            .iter()
            .map(|dimension| dimension.bound.clone())
            .collect()
    };
    a.certain && b.certain && bounds(a) == bounds(b)
}

/// Whether two case files say the same but in `about`.
pub(super) fn same_but_about(a: &str, b: &str) -> bool {
    let rest = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
    rest(a) == rest(b)
}
