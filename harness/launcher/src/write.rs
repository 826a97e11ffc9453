//! Writes the case file of a launch.

use std::fmt::Write as _;

use super::builtin::write_float;
use super::launched::{Bindings, Written, list_sentinels};
use super::machine::Machine;
use super::tensor::{Fill, Storage, Tensor, product};
use super::value::{Source, Value};
use crate::skeleton::{quote_literal, storage_name};
use cerith_module::kernel::Function;
use cerith_module::usage::{TensorUse, Usage};

/// Maximum number of elements of all storages of a launch.
const MAX_ELEMENTS: i64 = 1 << 20;

/// Launch options that a case file can set.
const OPTIONS: [&str; 3] = ["num_warps", "num_stages", "num_ctas"];

/// Writes a launch, or returns the reason why it can't be written. or returns the reason why it can't be written.
pub(super) fn write(
    machine: &Machine<'_>,
    function: &Function,
    usage: &Usage,
    bindings: &Bindings<'_>,
) -> Result<Written, Vec<String>> {
    let mut storages: Vec<(String, usize, Storage)> = Vec::new();
    let mut problems = Vec::new();
    let mut elements = 0_i64;
    let mut tensors: Vec<(&str, &Tensor)> = Vec::new();
    for parameter in &function.parameters {
        if let Some(value) = bindings.get(&parameter.name) {
            find_tensors(&parameter.name, value, &mut tensors, 0);
        }
    }
    for (parameter, tensor) in &tensors {
        let Some(storage) = machine.storages.get(tensor.storage) else {
            continue;
        };
        if storage.dtype.name != tensor.dtype.name {
            problems.push(format!("`{parameter}`: a view with another dtype"));
        }
        if storages.iter().any(|(_, at, _)| *at == tensor.storage) {
            continue;
        }
        let name = free_name(&storage.name, parameter, &storages);
        elements = elements.saturating_add(product(&storage.shape).unwrap_or(i64::MAX));
        let storage = Storage {
            name: name.clone(),
            ..storage.clone()
        };
        storages.push((name, tensor.storage, storage));
    }
    if elements > MAX_ELEMENTS {
        problems.push("tensors of too many elements".to_owned());
    }
    if storages.is_empty() {
        problems.push("no tensor among the arguments".to_owned());
    }
    let named = |tensor: &Tensor| {
        let found = storages.iter().find(|(_, at, _)| *at == tensor.storage);
        found.map(|(_, _, storage)| tensor.expression(storage))
    };
    let mut args = String::new();
    for parameter in &function.parameters {
        let name = &parameter.name;
        if bindings.given.contains(name) {
            continue;
        }
        let Some(value) = bindings.get(name) else { continue };
        let words = match value {
            Value::Int(number) => match number.source {
                Source::Stride { storage, dim } => {
                    let mut of = tensors.iter().filter(|(_, tensor)| tensor.storage == storage);
                    let same = of.find(|(_, tensor)| tensor.strides.get(dim) == Some(&number.value));
                    match same.and_then(|(_, tensor)| named(tensor)) {
                        Some(expression) => Ok(format!("\"({expression}).stride({dim})\"")),
                        None => Ok(number.value.to_string()),
                    }
                }
                _ => Ok(number.value.to_string()),
            },
            other => write_value(other, &named, 0),
        };
        match words {
            // Writing to a string does not fail.
            Ok(words) => drop(write!(args, "\n      {name}: {words}")),
            Err(problem) => problems.push(format!("`{name}`: {problem}")),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut lines = Vec::new();
    let mut divided = Vec::new();
    for (nth, (name, at, storage)) in storages.iter().enumerate() {
        let segments = list_segments((*at, storage), &tensors, usage);
        if segments.is_some() {
            divided.extend(list_divided(*at, &tensors, usage));
        }
        let elements = segments.or_else(|| {
            let is_scattered = machine.module.choice.is_scattered;
            let sentinels = list_sentinels_of(*at, &tensors, usage, bindings);
            let high = find_high(&tensors, usage, is_scattered);
            (machine.plan.has_sentinels).then(|| list_ignored(storage, &sentinels, high))?
        });
        let is_lock = |(name, tensor): &(&str, &Tensor)| {
            let is_own = |one: &TensorUse| one.name == *name && one.is_lock;
            tensor.storage == *at && usage.tensors.iter().any(is_own)
        };
        let is_free = storage.fill == Fill::Given && tensors.iter().any(is_lock);
        let storage = &Storage {
            fill: if is_free {
                Fill::Zeros
            } else {
                storage.fill.clone()
            },
            ..storage.clone()
        };
        let fill = elements.map_or_else(
            || write_fill(storage, nth, &tensors, usage, machine.module.choice.is_scattered),
            |elements| list(&elements),
        );
        let shape = list(&storage.shape);
        let dtype = storage.dtype.name;
        lines.push(format!(
            "  {name}: {{ dtype: {dtype}, shape: {shape}, fill: {fill} }}\n"
        ));
    }
    let grid: Vec<i64> = bindings.grid.iter().map(|one| one.value).collect();
    let mut launch = format!("grid: {}\n    args:{args}\n", list(&grid));
    let options = bindings.options.iter().filter_map(|(name, value)| {
        let number = value.number()?.value;
        let is_power = (1..=32).contains(&number) && (name == "num_stages" || number.count_ones() == 1);
        (OPTIONS.contains(&name.as_str()) && is_power).then(|| format!("{name}: {number}"))
    });
    let options: Vec<String> = options.collect();
    if !options.is_empty() {
        let _ = writeln!(launch, "    options: {{ {} }}", options.join(", "));
    }
    Ok(Written {
        lines,
        launch,
        storages: storages.into_iter().map(|(name, at, _)| (name, at)).collect(),
        divided,
    })
}

fn find_tensors<'v>(
    parameter: &'v str,
    value: &'v Value<'_>,
    found: &mut Vec<(&'v str, &'v Tensor)>,
    depth: usize,
) {
    match value {
        Value::Tensor(tensor) | Value::Descriptor(tensor, _) => found.push((parameter, tensor)),
        Value::Tuple(values, _) if depth < 4 => {
            for one in values.iter() {
                find_tensors(parameter, one, found, depth + 1);
            }
        }
        _ => {}
    }
}

/// A name for a storage: its variable's, or the parameter's.
fn free_name(variable: &str, parameter: &str, taken: &[(String, usize, Storage)]) -> String {
    let is_good = |name: &str| {
        name.chars()
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let variable: String = variable
        .chars()
        .map(|c| if c == '.' || c == ' ' { '_' } else { c })
        .collect();
    let name = storage_name(if is_good(&variable) { &variable } else { parameter });
    let is_taken = |name: &str| taken.iter().any(|(one, _, _)| one == name);
    if !is_taken(&name) {
        return name;
    }
    let mut numbered = (2..).map(|number| format!("{name}_{number}"));
    numbered.find(|name| !is_taken(name)).unwrap_or(name)
}

fn list(numbers: &[i64]) -> String {
    let words: Vec<String> = numbers.iter().map(i64::to_string).collect();
    format!("[{}]", words.join(", "))
}

/// The most elements that a case file lists.
const MAX_LISTED: i64 = 1024;

/// The lengths of segments, relative to each other, again and again. One is empty, and no two neighbours are equal.
const SEGMENTS: [i64; 4] = [2, 0, 1, 3];

/// The ends of segments in a storage that has such: from 0 to the rows of the tensors whose elements they place.
fn list_segments(
    (at, storage): (usize, &Storage),
    tensors: &[(&str, &Tensor)],
    usage: &Usage,
) -> Option<Vec<i64>> {
    let find_use = |name: &str| usage.tensors.iter().find(|one| one.name == name);
    let mut own = tensors.iter().filter(|(_, tensor)| tensor.storage == at);
    let is_segmented = own.any(|(name, _)| find_use(name).is_some_and(|one| one.is_segmented));
    let count = product(&storage.shape)?;
    if !is_segmented || !(2..=MAX_LISTED).contains(&count) {
        return None;
    }
    let rows = find_rows(at, tensors, usage)?;
    match &storage.fill {
        Fill::Given => {}
        // The launcher computes them, as those of a jagged tensor.
        Fill::Elements(ends) => return (ends.last() == Some(&rows)).then(|| ends.clone()),
        _ => return None,
    }
    let mut ends = vec![0_i64];
    for length in SEGMENTS
        .into_iter()
        .cycle()
        .take(usize::try_from(count - 1).ok()?)
    {
        ends.push(ends.last()? + length);
    }
    let all = (*ends.last()?).max(1);
    ends.iter()
        .map(|end| Some(end.checked_mul(rows)? / all))
        .collect()
}

/// The tensors that the contents of others place, other than this storage's.
fn list_placed<'t>(
    at: usize,
    tensors: &'t [(&str, &'t Tensor)],
    usage: &'t Usage,
) -> impl Iterator<Item = &'t Tensor> {
    let is_placed = |name: &str| {
        usage
            .tensors
            .iter()
            .any(|one| one.name == name && one.is_placed())
    };
    let placed = tensors
        .iter()
        .filter(move |(name, tensor)| tensor.storage != at && is_placed(name));
    placed.map(|(_, tensor)| *tensor)
}

/// The number of rows that the segments of a storage divide.
fn find_rows(at: usize, tensors: &[(&str, &Tensor)], usage: &Usage) -> Option<i64> {
    let rows = list_placed(at, tensors, usage);
    rows.filter_map(|tensor| Some(tensor.shape.first()?.value)).min()
}

/// The storages of tensors whose rows the segments of a storage divide.
fn list_divided(at: usize, tensors: &[(&str, &Tensor)], usage: &Usage) -> Vec<usize> {
    let rows = find_rows(at, tensors, usage);
    let divided =
        list_placed(at, tensors, usage).filter(|tensor| tensor.shape.first().map(|size| size.value) == rows);
    divided.map(|tensor| tensor.storage).collect()
}

/// The values that are none of a storage's indices, although the kernel compares its values with them.
fn list_sentinels_of(
    storage: usize,
    tensors: &[(&str, &Tensor)],
    usage: &Usage,
    bindings: &Bindings<'_>,
) -> Vec<i64> {
    let own = tensors.iter().filter(|(_, tensor)| tensor.storage == storage);
    let uses = own.filter_map(|(name, _)| usage.tensors.iter().find(|one| one.name == *name));
    uses.flat_map(|tensor_use| list_sentinels(tensor_use, bindings))
        .collect()
}

/// Indices below a number, with these sentinels among the first elements and among the last ones: an access by them leaves the tensor.
fn list_ignored(storage: &Storage, sentinels: &[i64], high: Option<i64>) -> Option<Vec<i64>> {
    let count = product(&storage.shape)?;
    if sentinels.is_empty() || storage.fill != Fill::Given || !(2..=MAX_LISTED).contains(&count) {
        return None;
    }
    let high = high.unwrap_or(count).max(1);
    let mut elements: Vec<i64> = (0..count).map(|at| at % high).collect();
    for (nth, sentinel) in sentinels.iter().enumerate() {
        let last = elements.len().checked_sub(nth + 1)?;
        *elements.get_mut(nth)? = *sentinel;
        *elements.get_mut(last)? = *sentinel;
    }
    Some(elements)
}

/// The number that indices into all other tensors are below.
fn find_high(tensors: &[(&str, &Tensor)], usage: &Usage, is_scattered: bool) -> Option<i64> {
    let others = tensors.iter().filter(|(name, tensor)| {
        let known = usage.tensors.iter().find(|one| one.name == *name);
        tensor.dtype.is_float() || !known.is_some_and(|known| known.indexes)
    });
    let dims = if is_scattered { 1 } else { usize::MAX };
    let sizes = others
        .flat_map(|(_, tensor)| tensor.shape.iter().take(dims))
        .map(|size| size.value);
    sizes.filter(|size| *size > 0).min()
}

fn write_fill(
    storage: &Storage,
    nth: usize,
    tensors: &[(&str, &Tensor)],
    usage: &Usage,
    is_scattered: bool,
) -> String {
    let seed = nth + 1;
    match &storage.fill {
        Fill::Uninit => "uninit".to_owned(),
        Fill::Zeros => "zeros".to_owned(),
        Fill::Ones => "ones".to_owned(),
        Fill::Full(value) => format!("{{ full: {value} }}"),
        Fill::Arange => "arange".to_owned(),
        Fill::Elements(values) => list(values),
        Fill::Given | Fill::Computed if storage.dtype.is_float() || storage.dtype.name.starts_with("fp8") => {
            format!("{{ random: {{ seed: {seed}, edges: false }} }}")
        }
        Fill::Given | Fill::Computed => {
            let elements = product(&storage.shape).unwrap_or(0);
            let high = if storage.dtype.name == "i1" {
                2
            } else {
                find_high(tensors, usage, is_scattered).unwrap_or(elements).max(1)
            };
            if elements <= high {
                "arange".to_owned()
            } else {
                format!("{{ random: {{ seed: {seed}, low: 0, high: {high}, edges: false }} }}")
            }
        }
    }
}

/// The reason why a value cannot be written in a case file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum ValueError {
    #[error("a tensor without a storage")]
    NoStorage,
    #[error("{0} cannot be a kernel argument")]
    Kind(&'static str),
    /// The value is unknown, for this reason.
    #[error("{0}")]
    Unknown(String),
}

fn write_value(
    value: &Value<'_>,
    named: &impl Fn(&Tensor) -> Option<String>,
    depth: usize,
) -> Result<String, ValueError> {
    Ok(match value {
        Value::None(_) => "null".to_owned(),
        Value::Bool(value, _) => value.to_string(),
        Value::Int(number) => number.value.to_string(),
        Value::Float(float) => write_float(*float),
        Value::Str(text, _) if text.len() <= 200 => quote_literal(text),
        Value::Dtype(dtype, _) => dtype.long(),
        Value::Tensor(tensor) => format!("\"{}\"", named(tensor).ok_or(ValueError::NoStorage)?),
        Value::Descriptor(tensor, block) => format!(
            "{{ descriptor: \"{}\", block_shape: {} }}",
            named(tensor).ok_or(ValueError::NoStorage)?,
            list(block)
        ),
        Value::Tuple(values, _) if depth < 4 => {
            let words: Result<Vec<String>, ValueError> = values
                .iter()
                .map(|one| write_value(one, named, depth + 1))
                .collect();
            format!("[{}]", words?.join(", "))
        }
        Value::Kernel(def) => format!("{{ global: {} }}", def.name),
        Value::Unknown(reason) => return Err(ValueError::Unknown(reason.to_string())),
        other => return Err(ValueError::Kind(other.kind())),
    })
}
