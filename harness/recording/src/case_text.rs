//! A recorded launch as the text of a case file. See [`crate::archive`] for the bytes.

use std::fmt::Write as _;

use cerith_case::is_name;
use cerith_case::print::{
    quote_python, quote_yaml, render_address, render_float, render_named_tuple, render_view,
};
use cerith_memory::{Dims, StorageId, Tensor};
use cerith_tile::DType;
use cerith_toolchain::request::{self, Value};

use crate::part::Raised;

/// All that a case file says.
#[derive(Debug)]
pub struct Text<'a> {
    /// The description.
    pub about: String,
    /// Its origin.
    pub origin: String,
    /// `file.py:function`.
    pub kernel: String,
    /// Whether Triton's interpreter may see the kernel's text.
    pub inspectable: bool,
    /// The storages.
    pub storages: Vec<StorageText>,
    /// Programs along the axes.
    pub grid: &'a [i64],
    /// Every parameter.
    pub args: &'a [(String, Value)],
    /// Launch options.
    pub options: &'a [(String, Value)],
    /// Whether the launch is `unchecked`.
    pub unchecked: bool,
    /// Its outcome.
    pub recorded: Option<RecordedOutcome<'a>>,
}

/// The outcome of a launch.
#[derive(Debug)]
pub struct RecordedOutcome<'a> {
    /// The engine that executed it.
    pub engine: String,
    /// How it ended.
    pub ended: HowEnded<'a>,
}

/// How a launch ended.
#[derive(Debug)]
pub enum HowEnded<'a> {
    /// Its contents after the launch are not recorded.
    Unknown,
    /// With an exception.
    Raised(&'a Raised),
    /// It left what its storages say.
    Finished,
}

/// A storage of a case file.
#[derive(Debug)]
pub struct StorageText {
    /// Its name.
    pub name: String,
    /// The declared dtype.
    pub dtype: DType,
    /// The shape it is declared with.
    pub shape: Vec<i64>,
    /// Its size.
    pub bytes: usize,
    /// The contents before the launch.
    pub fill: FillText,
    /// `data.zip/…` with the contents after the launch, if they changed.
    pub after: Option<String>,
}

/// The contents of a storage.
#[derive(Debug)]
pub enum FillText {
    /// Zeros.
    Zeros,
    /// `data.zip/…`, and the elements that are addresses: element, storage, byte of it.
    Bytes(String, Vec<(u64, usize, i64)>),
    /// Nothing wrote to it before the launch.
    Uninitialised,
    /// The contents were not kept.
    Seeded(u32),
}

/// How a storage is declared: as the first argument that shows it, where that is all of it.
pub fn infer_declaration(args: &[(String, Value)], storage: usize, bytes: u64) -> (DType, Vec<i64>) {
    let mut shown = Vec::new();
    for (_, value) in args {
        collect_tensors(value, &mut shown);
    }
    let first = shown.into_iter().find(|tensor| tensor.storage == storage);
    if let Some(tensor) = first {
        let size = tensor.dtype.size() as u64;
        if as_tensor(tensor) == Tensor::new_contiguous(StorageId(storage as u32), tensor.dtype, &tensor.shape)
            && elements(&tensor.shape) == Some(bytes / size)
            && bytes.is_multiple_of(size)
        {
            return (tensor.dtype, tensor.shape.clone());
        }
        if bytes.is_multiple_of(size) {
            return (tensor.dtype, vec![(bytes / size) as i64]);
        }
    }
    (DType::U8, vec![bytes as i64])
}

/// The declaration of a storage that holds addresses, of 8 bytes each.
pub fn declared_for_addresses(bytes: u64) -> (DType, Vec<i64>) {
    (DType::I64, vec![(bytes / 8) as i64])
}

fn elements(shape: &[i64]) -> Option<u64> {
    shape
        .iter()
        .try_fold(1_u64, |count, &size| count.checked_mul(u64::try_from(size).ok()?))
}

/// The tensors in a value.
fn collect_tensors<'v>(value: &'v Value, found: &mut Vec<&'v request::Tensor>) {
    match value {
        Value::Tensor(tensor) => found.push(tensor),
        Value::Descriptor(descriptor) => found.push(&descriptor.base),
        Value::Constexpr(inner) => collect_tensors(inner, found),
        Value::Tuple(items) | Value::NamedTuple { items, .. } => {
            for item in items {
                collect_tensors(item, found);
            }
        }
        _ => {}
    }
}

fn as_tensor(tensor: &request::Tensor) -> Tensor {
    Tensor {
        storage: StorageId(tensor.storage as u32),
        dtype: tensor.dtype,
        shape: tensor.shape.iter().copied().collect::<Dims>(),
        strides: tensor.strides.iter().copied().collect::<Dims>(),
        offset: tensor.offset,
    }
}

/// A name for a storage that is shown as `wanted`, other than those that are taken.
pub fn choose_name(wanted: &str, taken: &[StorageText]) -> String {
    let mut name: String = wanted
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert_str(0, "storage_");
    }
    let plain = name.clone();
    let mut nth = 1;
    // `_` at the end is Python's own convention for names that are taken.
    while !is_name(&name) || taken.iter().any(|other| other.name == name) {
        nth += 1;
        name = if nth == 2 {
            format!("{plain}_")
        } else {
            format!("{plain}_{nth}")
        };
    }
    name
}

impl Text<'_> {
    /// The text.
    pub fn print(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "about: {}", quote_yaml(&self.about));
        let _ = writeln!(out, "origin: {}", quote_yaml(&self.origin));
        let _ = writeln!(out, "kernel: {}", quote_yaml(&self.kernel));
        if !self.inspectable {
            let _ = writeln!(out, "inspectable: false");
        }
        if !self.storages.is_empty() {
            let _ = writeln!(out, "storages:");
        }
        for storage in &self.storages {
            let _ = writeln!(
                out,
                "  {}: {{ dtype: {}, shape: {:?}, fill: {} }}",
                storage.name,
                storage.dtype,
                storage.shape,
                self.fill(storage)
            );
        }
        let _ = writeln!(out, "launches:\n  - grid: {:?}", self.grid);
        for (key, pairs) in [("args", self.args), ("options", self.options)] {
            if pairs.is_empty() {
                continue;
            }
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(name, value)| format!("{}: {}", quote_yaml(name), self.write_value(value, false)))
                .collect();
            let _ = writeln!(out, "    {key}: {{ {} }}", pairs.join(", "));
        }
        if self.unchecked {
            let _ = writeln!(out, "    unchecked: true");
        }
        if let Some(recorded) = &self.recorded {
            let _ = writeln!(out, "recorded:\n  engine: {}", recorded.engine);
            match recorded.ended {
                HowEnded::Unknown => {}
                HowEnded::Raised(raised) => {
                    let compiling = if raised.compiling { ", compiling: true" } else { "" };
                    let _ = writeln!(
                        out,
                        "  raised: {{ kind: {}, message: {}{compiling} }}",
                        quote_yaml(&raised.kind),
                        quote_yaml(&raised.message)
                    );
                }
                HowEnded::Finished => {
                    let pairs: Vec<_> = self
                        .storages
                        .iter()
                        .filter_map(|storage| Some((&storage.name, storage.after.as_ref()?)))
                        .map(|(name, entry)| format!("{name}: {entry}"))
                        .collect();
                    let _ = match pairs.as_slice() {
                        [] => writeln!(out, "  after: {{}}"),
                        pairs => writeln!(out, "  after: {{ {} }}", pairs.join(", ")),
                    };
                }
            }
        }
        out
    }

    fn fill(&self, storage: &StorageText) -> String {
        match &storage.fill {
            FillText::Zeros => "zeros".to_owned(),
            FillText::Uninitialised => "uninit".to_owned(),
            FillText::Seeded(seed) if storage.dtype.is_float() => {
                format!("{{ random: {{ seed: {seed}, edges: false }} }}")
            }
            // Zeros and ones are indices of whatever has more than one element, and masks.
            FillText::Seeded(seed) => format!("{{ random: {{ seed: {seed}, low: 0, high: 2 }} }}"),
            FillText::Bytes(entry, addresses) if addresses.is_empty() => format!("{{ bytes: {entry} }}"),
            FillText::Bytes(entry, addresses) => {
                let pairs: Vec<_> = addresses
                    .iter()
                    .map(|(element, target, offset)| {
                        let target = self.storages.get(*target).map_or("", |storage| &storage.name);
                        format!("{element}: \"{}\"", render_address(target, *offset))
                    })
                    .collect();
                format!("{{ bytes: {entry}, addresses: {{ {} }} }}", pairs.join(", "))
            }
        }
    }

    /// A value; `within` a tuple, or as an argument.
    fn write_value(&self, value: &Value, within: bool) -> String {
        match value {
            Value::None => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => render_float(*value),
            Value::Str(text) => quote_yaml(&quote_python(text)),
            Value::DType(dtype) => format!("tl.{}", dtype.triton_name()),
            Value::Constexpr(inner) if within => {
                format!("{{ constexpr: {} }}", self.write_value(inner, true))
            }
            // At its own place a parameter's annotation says it.
            Value::Constexpr(inner) => self.write_value(inner, false),
            Value::Tensor(tensor) => quote_yaml(&self.tensor(tensor)),
            Value::Tuple(items) => {
                let items: Vec<_> = items.iter().map(|item| self.write_value(item, true)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::NamedTuple { fields, items } => {
                render_named_tuple(fields, items.iter().map(|item| self.write_value(item, true)))
            }
            Value::Address { storage, offset } => {
                let storage = self.storages.get(*storage).map_or("", |storage| &storage.name);
                quote_yaml(&render_address(storage, *offset))
            }
            Value::Descriptor(descriptor) => {
                let mut text = format!(
                    "{{ descriptor: {}, block_shape: {:?}",
                    quote_yaml(&self.tensor(&descriptor.base)),
                    descriptor.block_shape
                );
                if (&descriptor.shape, &descriptor.strides)
                    != (&descriptor.base.shape, &descriptor.base.strides)
                {
                    let _ = write!(
                        text,
                        ", shape: {:?}, strides: {:?}",
                        descriptor.shape, descriptor.strides
                    );
                }
                if let Some(padding) = descriptor.padding.as_deref().filter(|&padding| padding != "zero") {
                    let _ = write!(text, ", padding: {}", quote_yaml(padding));
                }
                if descriptor.round_f32_to_tf32 {
                    text.push_str(", round_f32_to_tf32: true");
                }
                text.push_str(" }");
                text
            }
            Value::Global(function) => format!("{{ global: {} }}", quote_yaml(function)),
        }
    }

    fn tensor(&self, tensor: &request::Tensor) -> String {
        let Some(storage) = self.storages.get(tensor.storage) else {
            return String::new();
        };
        render_view(
            &storage.name,
            storage.dtype,
            &storage.shape,
            storage.bytes,
            &as_tensor(tensor),
        )
    }
}
