//! Parts of a `torch.nested` tensor of jagged layout: the rows of all sequences, and where each sequence begins. The input itself has the
//! logical shape (sequences, rows of the longest, …); every second sequence is one row shorter.

use super::machine::Machine;
use super::tensor::{Fill, Tensor};
use super::value::{Dtype, Number, Slice, Value};

/// Maximum number of sequences.
const MAX_SEQUENCES: i64 = 1024;

impl<'a> Machine<'a> {
    /// `values()` or `offsets()` of a jagged tensor. `None` if it has no rows or too many sequences, or for another part.
    pub fn nested_part(&mut self, tensor: &Tensor, name: &str) -> Option<Value<'a>> {
        let [sequences, rows, columns @ ..] = &tensor.shape[..] else {
            return None;
        };
        if sequences.value > MAX_SEQUENCES {
            return None;
        }
        let sizes = sequences.sizes | rows.sizes;
        let mut ends = vec![0_i64];
        for sequence in 0..sequences.value {
            let length = (rows.value - sequence % 2).max(0);
            ends.push(ends.last()?.checked_add(length)?);
        }
        match name {
            "values" => {
                let all = Number::computed(sequences.value.checked_mul(rows.value)?, sizes);
                let shape: Vec<Number> = std::iter::once(all).chain(columns.iter().copied()).collect();
                let used = Slice {
                    lower: None,
                    upper: Some(Number::computed(*ends.last()?, sizes)),
                    step: 1,
                };
                let dense = self.copy(tensor, None);
                let Value::Tensor(dense) = dense else {
                    return Some(dense);
                };
                dense.view(&shape)?.slice(0, &used).map(Value::Tensor)
            }
            "offsets" => {
                let count = Number::computed(sequences.value.checked_add(1)?, sequences.sizes);
                let value = self.allocate(vec![count], &Dtype::torch("i64"), Fill::Elements(ends.clone()));
                if let Value::Tensor(offsets) = &value {
                    let ends = ends.into_iter().map(|end| Number::computed(end, sizes));
                    self.known_elements.insert(offsets.storage, ends.collect());
                }
                Some(value)
            }
            _ => None,
        }
    }
}
