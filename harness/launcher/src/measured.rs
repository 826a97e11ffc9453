//! Tensors whose sizes a launch passes to its kernel, perhaps as numbers of programs. The kernel can keep to these sizes, even if other inputs are assumed.

use std::collections::BTreeSet;

use super::launched::Bindings;
use super::machine::Machine;
use super::tensor::Tensor;
use super::value::{GUESSED, Number, Source, Value};
use cerith_module::usage::{TensorUse, Usage};

/// Maximum number of passed numbers that are multiplied in search of a size: each one doubles the number of products.
const MAX_FACTORS: usize = 10;

impl<'a> Machine<'a> {
    /// The storages whose sizes are all passed, one by one, as numbers of programs or as their product, and in which the kernel computes every address from its
    /// own indices. If the tensor is an input, the launcher reads all of its sizes: sizes that it does not read are inferred. A passed
    /// stride does not count as a size, and a number of programs only if other inputs are assumed.
    pub fn list_measured(&self, usage: &Usage, bindings: &Bindings<'a>, is_assumed: bool) -> BTreeSet<usize> {
        let numbers = bindings.values.iter().filter_map(|(_, value)| match value {
            Value::Int(number) if !matches!(number.source, Source::Stride { .. }) => Some(number),
            _ => None,
        });
        let passed: Vec<&Number> = numbers.collect();
        // A kernel that gets twice a size can compute the size.
        let is_passed = |size: &Number| {
            let is_known = |one: &&Number| {
                one.sizes == size.sizes
                    && (one.value == size.value || one.value == size.value.saturating_mul(2))
            };
            self.is_stated
                || size.value == 1
                || size.sizes != 0
                    && (passed.iter().any(is_known) || is_assumed && is_counted(bindings, size))
        };
        // The launcher computed the sizes of a tensor that it makes, and the kernel can compute them too.
        let passed_sizes = passed.iter().fold(0, |all, one| all | one.sizes) & !GUESSED;
        let is_derived = |size: &Number| size.sizes & !passed_sizes == 0 || is_counted(bindings, size);
        let is_product = |tensor: &Tensor| {
            let numel = tensor.numel();
            let factors = passed
                .iter()
                .filter(|one| one.sizes != 0 && one.sizes & !numel.sizes == 0);
            let factors = factors.map(|one| one.value).filter(|value| *value > 1);
            let factors: Vec<i64> = factors.take(MAX_FACTORS).collect();
            has_product(&factors, numel.value)
        };
        let tensors = bindings.values.iter().filter_map(|(name, value)| match value {
            Value::Tensor(tensor) => Some((name, tensor)),
            _ => None,
        });
        tensors
            .filter(|(name, tensor)| {
                let is_placed = |known: &TensorUse| known.name == **name && known.is_placed();
                let mut dims = 0..tensor.shape.len();
                let input = self
                    .storages
                    .get(tensor.storage)
                    .and_then(|storage| storage.input);
                let is_read = input.is_none_or(|input| dims.all(|dim| self.observed.contains(&(input, dim))));
                let is_known = |size: &Number| is_passed(size) || input.is_none() && is_derived(size);
                is_read
                    && !tensor.shape.is_empty()
                    && (tensor.shape.iter().all(is_known) || is_product(tensor))
                    && !usage.tensors.iter().any(is_placed)
            })
            .map(|(_, tensor)| tensor.storage)
            .collect()
    }
}

/// Whether an axis of the grid has a program for each element of a dimension, or one more or less: as many as there are segments between
/// these elements.
fn is_counted(bindings: &Bindings<'_>, size: &Number) -> bool {
    let mut grid = bindings.grid.iter();
    grid.any(|axis| {
        axis.sizes == size.sizes && axis.sizes & GUESSED == 0 && axis.value.abs_diff(size.value) <= 1
    })
}

/// Whether the product of some of these factors is a number.
fn has_product(factors: &[i64], number: i64) -> bool {
    let Some((first, others)) = factors.split_first() else {
        return number == 1;
    };
    number == 1 || has_product(others, number) || number % first == 0 && has_product(others, number / first)
}
