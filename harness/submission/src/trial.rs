//! Trials of a task: the inputs of a call, and the values of its reference.

use std::collections::HashSet;

use cerith_memory::{StorageId, Tensor};
use cerith_tile::DType;
use cerith_tile::numeric::decode;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::structure::Structure;
use cerith_runner::oracle::session::{ExpectedValues, lies_inside, read_element};

/// The trials: sizes, and a kind of data. Two trials of the same sizes come one after the other, so that a program that computes on the
/// host is found early.
pub(super) const TRIALS: [(usize, &str); 16] = [
    (0, "given"),
    (0, "normal"),
    (1, "integers"),
    (1, "normal"),
    (2, "given"),
    (2, "integers"),
    (2, "tiny"),
    (3, "normal"),
    (3, "distinct"),
    (4, "given"),
    (4, "normal"),
    (0, "integers"),
    (0, "cancelling"),
    (0, "large"),
    (1, "zeros"),
    (0, "huge"),
];

/// Further trials of a task whose results hardly vary in the others. See `variation`.
pub(super) const MORE_TRIALS: [(usize, &str); 10] = [
    (0, "one-hot"),
    (0, "distinct"),
    (0, "ties"),
    (0, "zeros"),
    (1, "large"),
    (1, "one-hot"),
    (1, "tiny"),
    (1, "cancelling"),
    (2, "ties"),
    (2, "normal"),
];

/// The interface of a task's submissions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Interface {
    /// `kernelbench`, `tritonbench` or `function`.
    pub form: String,
    /// The class or function that a submission defines.
    pub entry: String,
    /// The name of the task.
    #[serde(default)]
    pub name: String,
    /// The precision that the task asks for.
    #[serde(default)]
    pub contract: Option<ContractText>,
}

/// A contract as a task writes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ContractText {
    /// The dtype of sums.
    pub accumulate: String,
    /// Whether dots of `f32` may round to TF32.
    pub tf32: bool,
}

/// A call with its expected results.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// The kind of data.
    pub kind: String,
    /// The sizes, in words.
    pub sizes: String,
    /// `init`, `state`, `args` and `kwargs`.
    pub call: Json,
    /// The call without its data: calls with the same key must make the same launches.
    pub key: String,
    /// The storages of the inputs, by the names in `call`.
    pub storages: Vec<(String, Vec<u8>)>,
    /// The tensors of the inputs: the storage, and the view of it.
    pub views: Vec<(usize, Tensor)>,
    /// The results of the reference.
    pub outputs: Vec<Expected>,
    /// The structure that they are in.
    pub structure: Structure,
}

/// A result of the reference.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// Its name.
    pub name: String,
    /// The dtype that it has in the task's own precision.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<i64>,
    /// Its values.
    pub values: ExpectedValues,
    /// Whether it may depend on the data.
    pub depends: bool,
}

impl Expected {
    /// The number of its elements.
    pub fn count_elements(&self) -> usize {
        match &self.values {
            ExpectedValues::Numbers(bytes) => bytes.len() / size_of::<f64>(),
            ExpectedValues::Ranges(ranges) => ranges.len(),
        }
    }
}

/// A tensor of a call.
#[derive(Debug, Deserialize)]
struct TensorText {
    file: String,
    dtype: String,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
}

/// The tensors in a call: the names of their storages, and views with the storages' numbers. `None` if one names no storage, or
/// leaves it.
pub(super) fn list_views(call: &Json, storages: &[(String, Vec<u8>)]) -> Option<Vec<(usize, Tensor)>> {
    let mut found = Vec::new();
    collect_views(call, storages, &mut found).then_some(found)
}

fn collect_views(value: &Json, storages: &[(String, Vec<u8>)], found: &mut Vec<(usize, Tensor)>) -> bool {
    match value {
        Json::Array(items) => items.iter().all(|item| collect_views(item, storages, found)),
        Json::Object(fields) => {
            let Some(tensor) = fields.get("tensor").filter(|tensor| tensor.get("file").is_some()) else {
                return fields.values().all(|item| collect_views(item, storages, found));
            };
            let read = || {
                let text: TensorText = serde_json::from_value(tensor.clone()).ok()?;
                let at = storages.iter().position(|(name, _)| *name == text.file)?;
                let tensor = Tensor {
                    storage: StorageId(u32::try_from(at).ok()?),
                    dtype: DType::from_torch_name(&text.dtype)?,
                    shape: text.shape.as_slice().into(),
                    strides: text.strides.as_slice().into(),
                    offset: text.offset,
                };
                let size = storages.get(at)?.1.len();
                is_inside(&tensor, size).then_some((at, tensor))
            };
            read().map(|view| found.push(view)).is_some()
        }
        _ => true,
    }
}

/// Whether a view has a sound layout inside of so many bytes.
pub(super) fn is_inside(tensor: &Tensor, size: usize) -> bool {
    tensor.is_proper() && lies_inside(tensor, size)
}

/// A call without the names of its storages.
pub(super) fn make_key(call: &Json) -> String {
    let mut call = call.clone();
    remove_files(&mut call);
    call.to_string()
}

fn remove_files(value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(remove_files),
        Json::Object(fields) => {
            fields.remove("file");
            fields.values_mut().for_each(remove_files);
        }
        _ => {}
    }
}

impl Trial {
    /// The dtypes of the inputs and the results.
    pub fn list_dtypes(&self) -> impl Iterator<Item = DType> {
        let inputs = self.views.iter().map(|(_, tensor)| tensor.dtype);
        inputs.chain(self.outputs.iter().map(|output| output.dtype))
    }

    /// The values of the inputs, which have no error.
    pub fn list_exact(&self) -> HashSet<u64> {
        let mut exact = HashSet::new();
        for (at, tensor) in &self.views {
            let Some((_, bytes)) = self.storages.get(*at).filter(|_| tensor.dtype.is_float()) else {
                continue;
            };
            let size = tensor.dtype.size();
            let values = (0..bytes.len() / size)
                .map(|nth| decode(tensor.dtype, read_element(bytes, nth * size, tensor.dtype)).to_bits());
            exact.extend(values);
        }
        collect_numbers(&self.call, &mut exact);
        exact
    }
}

fn collect_numbers(value: &Json, exact: &mut HashSet<u64>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| collect_numbers(item, exact)),
        Json::Object(fields) => fields.values().for_each(|item| collect_numbers(item, exact)),
        Json::Number(number) => exact.extend(number.as_f64().map(f64::to_bits)),
        _ => {}
    }
}
