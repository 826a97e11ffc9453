//! The resolved case: storages with their bytes, tensors, launches, expectations. This is what engines run. See the
//! crate's documentation for the case file's format.

use std::sync::Arc;
use std::time::Duration;

use cerith_memory::{Memory, NamedTensor, Storages, Tensor};
use cerith_tile::DType;
use cerith_tile::source::Span;

use crate::argument::{Arg, ArgValue};
use crate::compile::Compile;
use crate::discovery::Discovery;
use crate::expectation::Expectation;
use crate::expected_content::ExpectedContent;
use crate::like::CaseLike;
use crate::recorded::{RecordedRun, Source};
use cerith_module::kernel::{Kernel, Module};

/// One case: everything that an engine needs, and what is expected of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// `area/name:variable=value,…`, stable and unique in its corpus.
    pub id: String,
    /// A sentence about the case.
    pub summary: String,
    /// The source of the case: a commit, an issue, a catalogue entry.
    pub origin: Option<String>,
    /// Who found what it shows, where Cerith did.
    pub discovery: Option<Discovery>,
    /// The matrix point, in the order of the file.
    pub point: Vec<(String, String)>,
    /// The module that every launch's kernel is in, and all there is of an import-only case.
    pub module: Arc<Module>,
    /// The storages with their first contents. Copies that tensor expressions made (`x.contiguous()`) come last.
    pub storages: Storages,
    /// How many of `storages` the case file names itself; the others are copies.
    pub named_storages: usize,
    /// The declarations of the storages that the file names, in the order of `storages`.
    pub declared: Vec<Declared>,
    /// The named tensors. Storages come first, each as a tensor of its own name.
    pub tensors: Vec<NamedTensor>,
    /// The launches, which run one after the other over the same memory. Empty for an import-only case.
    pub launches: Vec<Launch>,
    /// How it is compiled under `torch.compile`, if the case file has `compile`.
    pub compile: Option<Compile>,
    /// The time limit of an engine, if the case file has one.
    pub timeout: Option<Duration>,
    /// Whether Triton's interpreter can see the text of the kernels' file. It cannot see that of a kernel
    /// made with `exec`, and then does not rewrite the kernel's syntax tree.
    pub inspectable: bool,
    /// The result of the run that it was recorded from.
    pub recorded: Option<RecordedRun>,
    /// The contents that the file expects storages to have after the last launch.
    pub expected_contents: Vec<ExpectedContent>,
    /// The function that its launches compute together, by the case file.
    pub like: Option<CaseLike>,
    /// The written-down exceptions whose `when` holds at this point.
    pub expectations: Vec<Expectation>,
    /// Where the case file is, for messages: the whole `about`.
    pub span: Span,
}

impl Case {
    /// The memory that the first launch starts from, guard zones included.
    pub fn memory(&self) -> Memory {
        Memory::new(&self.storages, self.tensors.clone())
    }

    /// The tensor of a name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors
            .iter()
            .find(|named| named.name == name)
            .map(|named| &named.tensor)
    }

    /// The text of one of its modules, reduced to what the launches need ([`Module::text_for`]): their kernels, the
    /// functions among the arguments, and host functions. A case that only imports a module needs all of it.
    pub fn text_of(&self, module: &Module) -> Arc<str> {
        if self.is_import_only() {
            return Arc::clone(&module.file.text);
        }
        let mut names = Vec::new();
        for launch in &self.launches {
            if launch.kernel.module.path == module.path {
                names.push(launch.kernel.name.as_str());
                let arguments = launch.arguments().map(|(_, arg)| &arg.value);
                let options = launch.options.iter().map(|(_, value)| value);
                arguments
                    .chain(options)
                    .for_each(|value| collect_globals(value, &mut names));
            }
            let host = launch
                .host
                .as_ref()
                .filter(|host| host.module.path == module.path);
            names.extend(host.map(|host| host.name.as_str()));
        }
        module.text_for(names)
    }

    /// Whether the case only imports a module.
    pub fn is_import_only(&self) -> bool {
        self.launches.is_empty()
    }

    /// Whether a launch passes an address as an int.
    pub fn passes_addresses(&self) -> bool {
        let mut arguments = self.launches.iter().flat_map(Launch::arguments);
        arguments.any(|(_, arg)| arg.value.holds_address())
    }

    /// The area, the first part of the id: `layout` of `layout/split_columns:dtype=f16`.
    pub fn area(&self) -> &str {
        self.id.split(['/', ':']).next().unwrap_or_default()
    }
}

/// Adds the names in the kernel's module that an argument takes.
fn collect_globals<'a>(value: &'a ArgValue, names: &mut Vec<&'a str>) {
    match value {
        ArgValue::Global(name) => names.push(name),
        ArgValue::Constexpr(inner) => collect_globals(inner, names),
        ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
            for item in items {
                collect_globals(item, names);
            }
        }
        _ => {}
    }
}

/// The declaration of a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its dtype.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<i64>,
    /// Its fill, as written in the case file.
    pub fill: String,
    /// The source of recorded bytes, if any, and a hash of them that ignores addresses.
    pub recorded: Option<(Source, [u8; 32])>,
    /// The location of its declaration.
    pub span: Span,
}

/// A grid, and a value for every kernel parameter.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel to launch.
    pub kernel: Kernel,
    /// Programs along x, y and z. Dimensions that the file does not give are 1. A dimension may be 0 (nothing runs).
    pub grid: [u32; 3],
    /// How many dimensions the file gives, 1 to 3.
    pub grid_dims: u8,
    /// Arguments by position.
    pub positional: Vec<Arg>,
    /// Arguments by name, in the order of the file.
    pub keyword: Vec<(String, Arg)>,
    /// Launch options, in the order of the file: `num_warps`, `num_stages`, …
    pub options: Vec<(String, ArgValue)>,
    /// The Python function that makes the launch, called with the kernel, the grid, and arguments and options by
    /// name. `None` for a plain `kernel[grid](…)`. The result must be that of the plain launch either way.
    pub host: Option<Kernel>,
    /// Whether arguments and options were deliberately not checked against the kernel's signature.
    pub unchecked: bool,
    /// The location of the launch.
    pub span: Span,
}

impl Launch {
    /// Every argument with its parameter's name where that is known: positional ones first.
    pub fn arguments(&self) -> impl Iterator<Item = (Option<&str>, &Arg)> {
        let parameters = self
            .kernel
            .function()
            .map_or(&[][..], |function| &function.parameters);
        self.positional
            .iter()
            .enumerate()
            .map(|(at, arg)| (parameters.get(at).map(|parameter| parameter.name.as_str()), arg))
            .chain(self.keyword.iter().map(|(name, arg)| (Some(name.as_str()), arg)))
    }

    /// An integer option, for example `num_warps`.
    pub fn int_option(&self, name: &str) -> Option<i128> {
        self.options
            .iter()
            .find(|(key, _)| key == name)
            .and_then(|(_, value)| match value {
                ArgValue::Int(value) => Some(*value),
                _ => None,
            })
    }
}
