//! `repro.py` of a finding: a script that needs torch and triton but not Cerith. It runs the kernel interpreted and compiled, and
//! prints each result next to the expected one.
//!
//! Data are written as a person would (`torch.arange(12)`), or as packed bytes where that would be long. The expected values are
//! the reference's, for the elements that differ.

use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cerith_case::{ArgValue, Case, Descriptor, Launch, Padding, print};
use cerith_engine::EngineId;
use cerith_memory::{GUARD, GUARD_BYTE, Storage, Tensor};
use cerith_tile::DType;
use cerith_tile::numeric;
use cerith_toolchain::compiled::Target;
use cerith_verdict::{Difference, Element, Kind, Trial, Zone};
use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The end of every script.
const FRAME: &str = include_str!("repro_frame.py");

/// The names that a script has beside the kernel's own.
const NAMES: [&str; 19] = [
    "memory_of",
    "packed",
    "view_of",
    "run_here",
    "run_in_child",
    "as_value",
    "is_right",
    "compare_all",
    "compile_only",
    "NoGpu",
    "CAPABILITY",
    "COMPILED",
    "REFUSED",
    "launches",
    "EXPECTED",
    "MEANT",
    "FINISHES",
    "GUARD",
    "MARK",
];

/// Storages of at most this many elements are written as numbers.
const LITERAL: usize = 32;

/// The script for a difference; `None` where a case cannot be written as one: its modules are several, its kernel is inside of a
/// function, nothing is launched, or its names are those of the script.
pub fn build_script(title: &str, case: &Case, trial: &Trial, news: &Difference) -> Option<String> {
    let module = &case.module;
    let plain = |launch: &Launch| {
        let host = launch.host.as_ref();
        let own = launch.kernel.module.path == module.path
            && host.is_none_or(|host| host.module.path == module.path && !host.name.contains('.'));
        own && !launch.kernel.name.contains('.')
    };
    let text = module.file.text.trim_end();
    let taken = |name: &&str| {
        let binds = |line: &str| {
            let line = line.strip_prefix("def ").unwrap_or(line);
            line.strip_prefix(*name)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        text.lines().any(binds)
    };
    if case.is_import_only()
        || !case.launches.iter().all(plain)
        || !module.imports.is_empty()
        || NAMES.iter().any(taken)
    {
        return None;
    }
    let writer = Writer::new(case);
    let mut script = format!(
        "\"\"\"{}\n\nNeeds torch and triton; without a GPU, it interprets and compiles. Exit code: 1 if an engine is wrong, 0 if \
         none is.\n\"\"\"\n",
        title.replace('\\', "\\\\").replace('"', "'")
    );
    let _ = writeln!(script, "{text}\n\n");
    script.push_str("import base64\nimport json\nimport math\nimport os\nimport subprocess\nimport sys\nimport traceback\nimport zlib\n\nimport torch\n");
    if writer.has_argument(|value| matches!(value, ArgValue::Descriptor(_))) {
        script.push_str("from triton.tools.tensor_descriptor import TensorDescriptor\n");
    }
    if writer.has_argument(|value| matches!(value, ArgValue::NamedTuple { .. })) {
        script.push_str("from collections import namedtuple\n");
    }
    for import in ["import triton", "import triton.language as tl"] {
        if !text.lines().any(|line| line.trim() == import) {
            let _ = writeln!(script, "{import}");
        }
    }
    script.push('\n');
    write_expectation(&mut script, trial, news);
    writer.write_launches(&mut script);
    script.push_str(FRAME);
    Some(script)
}

/// Writes the expectation: whether the launches finish, and elements.
fn write_expectation(script: &mut String, trial: &Trial, news: &Difference) {
    let baseline = trial
        .references
        .iter()
        .chain(&trial.other_records)
        .find(|record| record.id == news.baseline);
    let finishes = baseline.is_none_or(|record| record.outcome.finished().is_some());
    let meant = match baseline.and_then(|record| record.outcome.complaint()) {
        Some(complaint) if !finishes => format!("it is refused: {}", complaint.message),
        _ => "it finishes, and leaves these values".to_owned(),
    };
    let guard = if news.kind == Kind::Guard { GUARD } else { 0 };
    let _ = writeln!(
        script,
        "MEANT = {}\nFINISHES = {}\nGUARD, GUARD_BYTE = {guard}, {GUARD_BYTE}\nMARK = \"left in memory: \"\n\
         # Without a GPU, kernels are compiled for this one.\nCAPABILITY = {}\nCOMPILED, REFUSED = \"compiled\", 77",
        format_string(&meant),
        format_bool(finishes),
        choose_capability(&news.engine)
    );
    script.push_str("# Storage, first byte of the element, its bytes, its dtype, and the range that rounding leaves open.\n");
    let elements = news.comparison.iter().flat_map(|comparison| &comparison.first);
    let lines: Vec<String> = elements
        .filter(|element| guard > 0 || element.zone == Zone::Inside)
        .map(|element| format_element(element, trial))
        .collect();
    if lines.is_empty() {
        script.push_str("EXPECTED = []\n");
        return;
    }
    let _ = writeln!(script, "EXPECTED = [\n    {},\n]", lines.join(",\n    "));
}

/// The compute capability that an engine compiles for, as `nvcc` writes it.
fn choose_capability(engine: &EngineId) -> u32 {
    match engine {
        EngineId::Cuda {
            target: Some(target), ..
        }
        | EngineId::Ptx { target, .. } => target.0,
        _ => Target::HOPPER.0,
    }
}

/// Formats one element for the script.
fn format_element(element: &Element, trial: &Trial) -> String {
    let size = |trial: &Trial| {
        let record = trial
            .references
            .iter()
            .find_map(|record| record.outcome.finished());
        record.map_or(0, |finished| finished.memory.size(element.id))
    };
    let byte = match element.zone {
        Zone::Inside => element.byte as i64,
        Zone::Before => element.byte as i64 - GUARD as i64,
        Zone::Behind => (size(trial) + element.byte) as i64,
    };
    let bits = element.bits[0].to_le_bytes();
    let bytes: String = bits
        .iter()
        .take(element.size)
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
    let dtype = element
        .dtype
        .filter(|dtype| dtype.size() == element.size)
        .and_then(DType::torch_name)
        .map_or("None".to_owned(), format_string);
    let accepted = element.accepted.map_or("None".to_owned(), |[low, high]| {
        format!("({}, {})", format_float(low), format_float(high))
    });
    format!(
        "({}, {byte}, \"{bytes}\", {dtype}, {accepted})",
        format_string(&element.storage)
    )
}

/// Writes a case's launches.
struct Writer<'a> {
    case: &'a Case,
    /// The name of each storage in the script.
    names: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(case: &'a Case) -> Self {
        let own: Vec<&str> = case
            .module
            .functions
            .iter()
            .map(|function| function.name.as_str())
            .collect();
        let plain = |name: &str| {
            let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let reserved = ["torch", "triton", "tl", "device", "base64", "zlib"].contains(&name)
                || NAMES.contains(&name);
            letters
                && name.starts_with(|c: char| c.is_ascii_alphabetic())
                && !reserved
                && !own.contains(&name)
                && cerith_case::is_name(name)
        };
        let names = case
            .storages
            .iter()
            .map(|(id, storage)| match storage.name() {
                name if plain(name) => name.to_owned(),
                _ => format!("memory_{}", id.0),
            })
            .collect();
        Self { case, names }
    }

    fn storage_name(&self, storage: cerith_memory::StorageId) -> &str {
        self.names.get(storage.0 as usize).map_or("", String::as_str)
    }

    /// Whether an argument, or something inside of one, is like this.
    fn has_argument(&self, like: fn(&ArgValue) -> bool) -> bool {
        fn contains_match(value: &ArgValue, like: fn(&ArgValue) -> bool) -> bool {
            like(value)
                || match value {
                    ArgValue::Constexpr(inner) => contains_match(inner, like),
                    ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
                        items.iter().any(|item| contains_match(item, like))
                    }
                    _ => false,
                }
        }
        let mut arguments = self.case.launches.iter().flat_map(Launch::arguments);
        arguments.any(|(_, arg)| contains_match(&arg.value, like))
    }

    fn write_launches(&self, script: &mut String) {
        script.push_str("\n\ndef launches(device):\n    \"\"\"Makes the launches; answers with the memory that they leave.\"\"\"\n");
        for (at, (id, storage)) in self.case.storages.iter().enumerate() {
            let dtype = self
                .case
                .declared
                .get(at)
                .map_or(DType::U8, |declared| declared.dtype);
            let _ = writeln!(
                script,
                "    {} = memory_of({}, device)",
                self.storage_name(id),
                format_storage(storage, dtype)
            );
        }
        for (id, storage) in self.case.storages.iter() {
            for pointer in storage.pointers() {
                let _ = writeln!(
                    script,
                    "    view_of({}, torch.int64, (1,), (1,), {})[0] = {}.data_ptr() + {}",
                    self.storage_name(id),
                    pointer.offset / 8,
                    self.storage_name(pointer.target),
                    pointer.target_offset
                );
            }
        }
        for launch in &self.case.launches {
            let _ = writeln!(script, "    {}", self.launch(launch));
        }
        let names: Vec<String> = self
            .case
            .storages
            .iter()
            .map(|(id, storage)| format!("{}: {}", format_string(storage.name()), self.storage_name(id)))
            .collect();
        let _ = writeln!(script, "    return {{{}}}", names.join(", "));
    }

    fn launch(&self, launch: &Launch) -> String {
        let dims = usize::from(launch.grid_dims.clamp(1, 3));
        let grid: Vec<String> = launch.grid.iter().take(dims).map(u32::to_string).collect();
        let grid = format!("({},)", grid.join(", "));
        let positional = launch.positional.iter().map(|arg| self.format_value(&arg.value));
        let named = launch
            .keyword
            .iter()
            .map(|(name, arg)| (name, self.format_value(&arg.value)))
            .chain(
                launch
                    .options
                    .iter()
                    .map(|(name, value)| (name, self.format_value(value))),
            );
        if let Some(host) = &launch.host {
            let pairs: Vec<String> = named
                .map(|(name, value)| format!("{}: {value}", format_string(name)))
                .collect();
            return format!(
                "{}({}, {grid}, {{{}}})",
                host.name,
                launch.kernel.name,
                pairs.join(", ")
            );
        }
        let arguments: Vec<String> = positional
            .chain(named.map(|(name, value)| format!("{name}={value}")))
            .collect();
        format!("{}[{grid}]({})", launch.kernel.name, arguments.join(", "))
    }

    fn format_value(&self, value: &ArgValue) -> String {
        match value {
            ArgValue::None => "None".to_owned(),
            ArgValue::Bool(value) => format_bool(*value).to_owned(),
            ArgValue::Int(value) => value.to_string(),
            ArgValue::Float(value) => format_float(*value),
            ArgValue::Str(text) => format_string(text),
            ArgValue::DType(dtype) => format!("tl.{}", dtype.triton_name()),
            ArgValue::Constexpr(inner) => format!("tl.constexpr({})", self.format_value(inner)),
            ArgValue::Global(name) => name.clone(),
            ArgValue::Tensor { tensor, .. } => self.tensor(tensor),
            ArgValue::Descriptor(descriptor) => self.format_descriptor(descriptor),
            ArgValue::Address { address: at, .. } => {
                print::render_address(self.storage_name(at.storage), at.offset)
            }
            ArgValue::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|item| self.format_value(item) + ",").collect();
                format!("({})", items.join(" "))
            }
            ArgValue::NamedTuple { fields, items } => {
                let names: Vec<String> = fields.iter().map(|name| format_string(name)).collect();
                let items: Vec<String> = items.iter().map(|item| self.format_value(item)).collect();
                format!(
                    "namedtuple('Arguments', [{}])({})",
                    names.join(", "),
                    items.join(", ")
                )
            }
        }
    }

    fn tensor(&self, tensor: &Tensor) -> String {
        let name = self.storage_name(tensor.storage);
        let (dtype, outer) = match tensor.dtype.torch_name() {
            Some(dtype) => (dtype, None),
            None => ("uint8", Some(tensor.dtype)),
        };
        let shape = format_tuple(&tensor.shape);
        let whole = Tensor::new_contiguous(tensor.storage, tensor.dtype, &tensor.shape);
        let text = if *tensor == whole {
            format!("view_of({name}, torch.{dtype}, {shape})")
        } else {
            format!(
                "view_of({name}, torch.{dtype}, {shape}, {}, {})",
                format_tuple(&tensor.strides),
                tensor.offset
            )
        };
        match outer {
            Some(dtype) => format!("triton.reinterpret({text}, tl.{})", dtype.triton_name()),
            None => text,
        }
    }

    fn format_descriptor(&self, descriptor: &Descriptor) -> String {
        let list = |dims: &[i64]| format!("{dims:?}");
        let mut text = format!(
            "TensorDescriptor({}, {}, {}, {}",
            self.tensor(&descriptor.base),
            list(&descriptor.shape),
            list(&descriptor.strides),
            list(&descriptor.block_shape)
        );
        if descriptor.padding != Padding::Zero {
            let _ = write!(text, ", padding={}", format_string(descriptor.padding.name()));
        }
        if descriptor.round_f32_to_tf32 {
            text.push_str(", round_f32_to_tf32=True");
        }
        text.push(')');
        text
    }
}

/// A tensor of a storage's first bytes, as a reader would write it.
fn format_storage(storage: &Storage, dtype: DType) -> String {
    let bytes = storage.bytes();
    let count = bytes.len() / dtype.size();
    let whole = count * dtype.size() == bytes.len();
    if let Some(name) = dtype.torch_name().filter(|_| whole) {
        let elements: Vec<u64> = bytes
            .chunks_exact(dtype.size())
            .map(|chunk| {
                chunk
                    .iter()
                    .rev()
                    .fold(0, |bits, &byte| bits << 8 | u64::from(byte))
            })
            .collect();
        if elements.iter().all(|&bits| bits == 0) {
            return format!("torch.zeros({count}, dtype=torch.{name})");
        }
        if elements.len() > 1 && dtype.is_int() && dtype != DType::I1 {
            let ordered = (0..)
                .zip(&elements)
                .all(|(at, &bits)| bits == numeric::encode_int(dtype, at));
            if ordered && count <= 100 {
                return format!("torch.arange({count}, dtype=torch.{name})");
            }
        }
        if let (true, Some(numbers)) = (
            count <= LITERAL,
            elements
                .iter()
                .map(|&bits| format_number(dtype, bits))
                .collect::<Option<Vec<String>>>(),
        ) {
            return format!("torch.tensor([{}], dtype=torch.{name})", numbers.join(", "));
        }
    }
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let packed = packer.write_all(bytes).and_then(|()| packer.finish());
    format!("packed(\"{}\")", STANDARD.encode(packed.unwrap_or_default()))
}

/// Formats an element as a Python literal, if torch converts it to the same bits.
fn format_number(dtype: DType, bits: u64) -> Option<String> {
    if dtype == DType::I1 {
        return Some(format_bool(bits != 0).to_owned()).filter(|_| bits < 2);
    }
    if !dtype.is_float() {
        return Some(numeric::decode_int(dtype, bits).to_string());
    }
    let value = numeric::decode(dtype, bits);
    (!value.is_nan() && !dtype.is_fp8()).then(|| format_float(value))
}

fn format_tuple(dims: &[i64]) -> String {
    let dims: String = dims.iter().fold(String::new(), |mut text, dim| {
        let _ = write!(text, "{}{dim},", if text.is_empty() { "" } else { " " });
        text
    });
    format!("({dims})")
}

const fn format_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

fn format_float(value: f64) -> String {
    if value.is_finite() {
        format!("{value:?}")
    } else {
        format!("float(\"{value}\")")
    }
}

/// A string literal: what JSON has is one in Python too.
fn format_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
