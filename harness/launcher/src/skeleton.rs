//! A first case file for a kernel that has none: its parameters are found, its layouts guessed, every guess marked.
//!
//! [`cerith_module::usage`] reads the use of parameters from the kernel's text. Names decide if the text does not.
//! See `cerith import` for a trial of the guess.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceId, Span};

use cerith_expression::is_reserved;
use cerith_module::kernel::{Function, Parameter, ParameterKind};
use cerith_module::module;
use cerith_module::usage::{Stride, Usage, usage_of};
use cerith_python::nearest::suggest_spelling;

/// Extent of every dimension of a tensor whose strides are passed; also the size of a block then.
const SIDE: i64 = 64;

/// The size that a kernel without strides gets as an argument: not a multiple of a block, so that masks matter.
const LENGTH: i64 = 1000;

/// Elements of a tensor of a kernel without strides.
const FLAT: i64 = 1024;

/// Size of a block of a kernel without strides.
const BLOCK: i64 = 128;

/// Writes a case file for the kernel `name` of a module. `path` is the module's path in the case file.
///
/// # Errors
/// The module has a syntax error, or no such kernel.
pub fn write_skeleton(
    source: SourceId,
    text: &str,
    path: &str,
    name: &str,
) -> Result<String, Vec<Diagnostic>> {
    let contents = module::parse(source, text)?;
    let Some(function) = contents.functions.iter().find(|function| function.name == name) else {
        let kernels = contents
            .functions
            .iter()
            .filter(|function| function.jit)
            .map(|function| function.name.as_str());
        let help = suggest_spelling(name, kernels)
            .unwrap_or_else(|| "name a function with `@triton.jit` of this file".to_owned());
        let message = format!("no kernel `{name}` in {path}");
        return Err(vec![
            Diagnostic::error("unknown-kernel", Span::new(source, 0, 0), message).help(help),
        ]);
    };
    let usage = usage_of(text, name).unwrap_or_default();
    Ok(write(function, &Uses::new(&usage), path))
}

/// The use of a kernel's parameters, by name.
#[derive(Debug, Default)]
struct Uses {
    read: HashSet<String>,
    written: HashSet<String>,
    /// Tensors, and their strides that are parameters. The outermost dimension comes first.
    strides: Vec<(String, Vec<String>)>,
    /// Descriptors, and the number of dimensions that they are indexed with.
    descriptors: HashMap<String, usize>,
    /// Names that `tl.arange` counts to.
    ranges: HashSet<String>,
    /// Names that decide an `if` by themselves.
    flags: HashSet<String>,
    /// Names that are compared with a string.
    texts: HashMap<String, String>,
    /// Names that are given to `.to(…)` or `dtype=`.
    dtypes: HashSet<String>,
    /// One more than the last axis of `tl.program_id`.
    axes: usize,
}

impl Uses {
    fn new(usage: &Usage) -> Self {
        let tensors = || usage.tensors.iter();
        let descriptors = || usage.descriptors.iter();
        let read = tensors().filter(|one| one.read).map(|one| &one.name);
        let written = tensors().filter(|one| one.written).map(|one| &one.name);
        let strides = tensors().map(|tensor| {
            let strides = tensor.dimensions.iter().filter_map(|one| match &one.stride {
                Stride::Param(name) => Some(name.clone()),
                _ => None,
            });
            (tensor.name.clone(), strides.collect::<Vec<_>>())
        });
        Self {
            read: read
                .chain(descriptors().filter(|(_, one)| one.read).map(|(name, _)| name))
                .cloned()
                .collect(),
            written: written
                .chain(descriptors().filter(|(_, one)| one.written).map(|(name, _)| name))
                .cloned()
                .collect(),
            strides: strides.filter(|(_, strides)| !strides.is_empty()).collect(),
            descriptors: descriptors()
                .map(|(name, one)| (name.clone(), one.dimensions))
                .collect(),
            ranges: usage.blocks.iter().cloned().collect(),
            flags: usage.flags.iter().cloned().collect(),
            // The first one that a parameter is compared with: others may need more arguments.
            texts: usage.texts.iter().rev().cloned().collect(),
            dtypes: usage.dtypes.iter().cloned().collect(),
            axes: usage.axes.len(),
        }
    }
}

/// Writes the case file.
fn write(function: &Function, uses: &Uses, path: &str) -> String {
    let strided = !uses.strides.is_empty() || !uses.descriptors.is_empty();
    let mut storages = String::new();
    let (mut by_position, mut by_name) = (String::new(), String::new());
    let mut block = None;
    // Writing to a string does not fail.
    let mut pass = |parameter: &Parameter, value: &str, guessed: bool| {
        let mark = if guessed { "  # guessed" } else { "" };
        let _ = if parameter.kind == ParameterKind::PositionalOnly {
            writeln!(by_position, "      - {value}{mark}")
        } else {
            writeln!(by_name, "{}: {value}{mark}", parameter.name)
        };
    };
    for (nth, parameter) in required_parameters(function).enumerate() {
        let name = &parameter.name;
        if is_tensor(parameter, uses) {
            let storage = storage_name(name);
            let shape = choose_shape(name, uses, strided);
            let (read, written) = (uses.read.contains(name), uses.written.contains(name));
            let fill = if read || !written {
                format!("{{ random: {{ seed: {}, edges: false }} }}", nth + 1)
            } else {
                "zeros".to_owned()
            };
            let how = match (read, written) {
                (true, true) => "read and written",
                (true, false) => "read",
                (false, true) => "written",
                (false, false) => "a tensor by its name",
            };
            let _ = writeln!(
                storages,
                "  {storage}: {{ dtype: f32, shape: {shape:?}, fill: {fill} }}  # {how}"
            );
            if uses.descriptors.contains_key(name) {
                let extents = vec![SIDE / 2; shape.len()];
                let descriptor = format!("{{ descriptor: {storage}, block_shape: {extents:?} }}");
                pass(parameter, &descriptor, true);
            } else {
                pass(parameter, &storage, false);
            }
        } else if let Some((tensor, dimension)) = stride_of(name, uses) {
            let stride = format!("{}.stride({dimension})", storage_name(tensor));
            pass(parameter, &stride, false);
        } else {
            let value = guess(parameter, uses, strided);
            if uses.ranges.contains(name) {
                block.get_or_insert(value.clone());
            }
            pass(parameter, &value, true);
        }
    }
    let grid = match (&block, strided, uses.axes) {
        (Some(block), false, 1) => format!("[\"cdiv({LENGTH}, {block})\"]"),
        (_, true, 1) => "[2]".to_owned(),
        (_, _, axes) => format!("{:?}", vec![1; axes.max(1)]),
    };
    let mut text = format!(
        "# Written by `cerith import`: replace the values that are marked as guessed, and write `about`.\n\
         about: {name} as `cerith import` found it.\n\
         kernel: {path}:{name}\n",
        name = function.name
    );
    if !storages.is_empty() {
        let _ = write!(text, "storages:\n{storages}");
    }
    let _ = write!(text, "launches:\n  - grid: {grid}  # guessed\n");
    let named: Vec<&str> = by_name.lines().collect();
    match (by_position.is_empty(), named.is_empty()) {
        (true, true) => text.push_str("    args: {}\n"),
        (true, false) => {
            let _ = writeln!(text, "    args:\n      {}", named.join("\n      "));
        }
        (false, true) => {
            let _ = write!(text, "    args:\n{by_position}");
        }
        (false, false) => {
            let _ = write!(
                text,
                "    args:\n{by_position}      - {}\n",
                named.join("\n        ")
            );
        }
    }
    let given = list_omitted_parameters(function);
    if !given.is_empty() {
        let _ = writeln!(
            text,
            "    # Left to the kernel's defaults and decorators: {}.",
            given.join(", ")
        );
    }
    text
}

/// The shape of a tensor: as many dimensions as it has strides, or as its descriptor is indexed with.
fn choose_shape(name: &str, uses: &Uses, strided: bool) -> Vec<i64> {
    let strides = || {
        let (_, strides) = uses.strides.iter().find(|(tensor, _)| tensor == name)?;
        Some(strides.len().max(2))
    };
    match uses.descriptors.get(name).copied().or_else(strides) {
        Some(dimensions) => vec![SIDE; dimensions],
        None if strided => vec![SIDE * SIDE],
        None => vec![FLAT],
    }
}

/// Parameters that a launch must give.
pub fn required_parameters(function: &Function) -> impl Iterator<Item = &Parameter> {
    function.parameters.iter().filter(|parameter| {
        !matches!(
            parameter.kind,
            ParameterKind::VarPositional | ParameterKind::VarKeyword
        ) && parameter.default.is_none()
            && !function.given_by_decorators.contains(&parameter.name)
    })
}

fn list_omitted_parameters(function: &Function) -> Vec<&str> {
    let wanted: HashSet<&str> = required_parameters(function)
        .map(|parameter| parameter.name.as_str())
        .collect();
    function
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .filter(|name| !wanted.contains(name))
        .collect()
}

fn is_tensor(parameter: &Parameter, uses: &Uses) -> bool {
    let name = &parameter.name;
    !parameter.constexpr
        && (uses.read.contains(name)
            || uses.written.contains(name)
            || name
                .to_lowercase()
                .split('_')
                .any(|word| word == "ptr" || word == "pointer"))
}

/// A name for a storage: the parameter's, where expressions leave it free.
pub fn storage_name(parameter: &str) -> String {
    if is_reserved(parameter) {
        format!("{parameter}_tensor")
    } else {
        parameter.to_owned()
    }
}

fn stride_of<'a>(name: &str, uses: &'a Uses) -> Option<(&'a str, usize)> {
    uses.strides.iter().find_map(|(tensor, strides)| {
        let at = strides.iter().position(|stride| stride == name)?;
        Some((tensor.as_str(), at))
    })
}

/// Words of names that floats have.
const FLOATS: [&str; 10] = [
    "eps", "scale", "alpha", "beta", "gamma", "p", "prob", "lr", "momentum", "slope",
];

/// Guesses a value for a parameter that is neither a tensor nor a stride.
fn guess(parameter: &Parameter, uses: &Uses, strided: bool) -> String {
    let name = &parameter.name;
    let lower = name.to_lowercase();
    let word = |wanted: &str| lower.split('_').any(|word| word == wanted);
    let length = if strided { SIDE } else { LENGTH };
    if let Some(text) = uses.texts.get(name) {
        return quote_literal(text);
    }
    if uses.flags.contains(name) || ["is", "has", "use", "even", "causal"].into_iter().any(word) {
        return "true".to_owned();
    }
    // The largest number of a dtype is none.
    let is_dtype = word("dtype") && !["max", "min", "bits", "bytes", "size"].into_iter().any(word);
    if parameter.constexpr {
        return if uses.dtypes.contains(name) || is_dtype {
            "tl.float32".to_owned()
        } else if uses.ranges.contains(name) || lower.contains("block") || lower.contains("tile") {
            if strided { SIDE } else { BLOCK }.to_string()
        } else if word("num") || word("group") {
            "2".to_owned()
        } else {
            SIDE.to_string()
        };
    }
    if lower.contains("stride") {
        return length.to_string();
    }
    if word("seed") {
        return "7".to_owned();
    }
    if FLOATS.into_iter().any(word) || parameter.annotation.as_deref() == Some("float") {
        return if word("eps") { "1e-5" } else { "0.5" }.to_owned();
    }
    length.to_string()
}

/// A value for a parameter that is neither a tensor, a stride, a size nor a block.
pub fn guess_of(parameter: &Parameter, usage: &Usage) -> String {
    let uses = Uses {
        ranges: HashSet::new(),
        ..Uses::new(usage)
    };
    guess(parameter, &uses, true)
}

/// Quotes a string for an expression of a case file: Python's quotes, no placeholders, YAML's quotes.
pub fn quote_literal(text: &str) -> String {
    let mut python = String::new();
    for c in text.chars() {
        match c {
            '\\' | '\'' => python.extend(['\\', c]),
            c if c.is_ascii_control() => {
                // Writing to a string does not fail.
                let _ = write!(python, "\\x{:02x}", c as u32);
            }
            c => python.push(c),
        }
    }
    let plain = python.replace('{', "{{").replace('}', "}}");
    format!("\"'{}'\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}
