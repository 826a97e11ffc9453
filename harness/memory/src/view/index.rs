//! Indexing by integers, slices, `None` and `...`. Indexing by tensors and lists copies, and is unsupported.

use crate::error::TorchError;
use crate::tensor::Tensor;

/// One item between the brackets of `x[…]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// An integer; negative ones count from the end.
    At(i64),
    /// `start:end:step`.
    Slice {
        /// First element; 0 when absent.
        start: Option<i64>,
        /// One past the last; the end when absent.
        end: Option<i64>,
        /// 1 when absent.
        step: Option<i64>,
    },
    /// `None`: a new dimension of one element.
    NewAxis,
    /// `...`: as many whole dimensions as the other items leave. A second one is not an error, as in torch, but stands
    /// for dimensions past the last unless the other items leave none.
    Ellipsis,
}

impl Tensor {
    /// `x[items]`.
    pub fn index(&self, items: &[Index]) -> Result<Self, TorchError> {
        let specified = items
            .iter()
            .filter(|item| matches!(item, Index::At(_) | Index::Slice { .. }))
            .count();
        if let ([Index::At(at)], []) = (items, &self.shape[..]) {
            return TorchError::raise_index(if *at == 0 {
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to \
                 convert a 0-dim tensor to a number"
                    .to_owned()
            } else {
                format!("index {at} is out of bounds for dimension 0 with size 0")
            });
        }
        if specified > self.dim() {
            return TorchError::raise_index(format!(
                "too many indices for tensor of dimension {}",
                self.dim()
            ));
        }
        let mut out = self.clone();
        let mut dim = 0usize;
        for (nth, item) in items.iter().enumerate() {
            match *item {
                Index::At(at) => {
                    let size = out.shape.get(dim).copied().unwrap_or(0);
                    if at < -size || at >= size {
                        return TorchError::raise_index(format!(
                            "index {at} is out of bounds for dimension {nth} with size {size}"
                        ));
                    }
                    out = out.take(dim, if at < 0 { at + size } else { at });
                }
                Index::Slice { start, end, step } => {
                    match step {
                        Some(0) => return TorchError::raise_value("slice step cannot be zero"),
                        Some(..0) => return TorchError::raise_value("step must be greater than zero"),
                        _ => {}
                    }
                    out = out.slice(dim as i64, start, end, step.unwrap_or(1))?;
                    dim += 1;
                }
                Index::NewAxis => {
                    out = out.unsqueeze(dim as i64)?;
                    dim += 1;
                }
                Index::Ellipsis => dim = dim.saturating_add(self.dim() - specified),
            }
        }
        Ok(out)
    }
}
