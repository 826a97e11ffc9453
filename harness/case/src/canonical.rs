//! A resolved case as plain data, for snapshots, `cerith explain` and everything that stores cases; and its hash.
//!
//! The form is for reading: elements are written as numbers, one line per storage. It is stable: two cases that do
//! the same have the same [`Canonical::hash`], even if their ids, texts and expectations differ.
//!
//! It can't be read back. Cases are read from case files.

use std::fmt::{self, Write as _};

use cerith_memory::{ByteState, Storage, Storages, Tensor};
use cerith_tile::numeric;
use serde::Serialize;

use crate::argument::ArgValue;
use crate::case::{Case, Declared, Launch};
use crate::compile::Compile;
use crate::descriptor::{Descriptor, Padding};
use crate::print::render_address;
use cerith_module::kernel::{Kernel, Module};

/// A storage of more elements than this is written as its first elements and a hash of all bytes.
const MAX_SHOWN: usize = 64;

/// A case as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Canonical {
    /// The case's id.
    pub id: String,
    /// A sentence about the case.
    pub about: String,
    /// The module's path in the corpus.
    pub module: String,
    /// The storages, copies that expressions made included.
    pub storages: Vec<CanonicalStorage>,
    /// The named tensors that are not whole storages, as `name = dtype storage[offset] shape strides`.
    pub tensors: Vec<String>,
    /// The launches.
    pub launches: Vec<CanonicalLaunch>,
    /// Whether Triton's interpreter can see the kernels' text.
    #[serde(skip_serializing_if = "is_true")]
    pub inspectable: bool,
    /// How they are compiled under `torch.compile`, a line for each key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compile: Vec<String>,
    /// Expectations, one line each.
    pub expectations: Vec<String>,
    /// [`Case::content_hash`].
    pub hash: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_true(flag: &bool) -> bool {
    *flag
}

/// A storage as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CanonicalStorage {
    /// Its name.
    pub name: String,
    /// The dtype it was declared with; none for a copy.
    pub dtype: Option<String>,
    /// The shape it was declared with.
    pub shape: Vec<i64>,
    /// How many bytes it has.
    pub bytes: usize,
    /// The file's content.
    pub content: String,
}

/// A launch as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CanonicalLaunch {
    /// `file.py:function`.
    pub kernel: String,
    /// Programs along x, y and z.
    pub grid: [u32; 3],
    /// Arguments in order, `name = value`, without a name for those whose parameter is not known.
    pub args: Vec<String>,
    /// Launch options, `name = value`.
    pub options: Vec<String>,
    /// `file.py:function` of the host function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// 256 bits that differ when what runs differs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The bytes.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Case {
    /// The case as plain data.
    pub fn canonical(&self) -> Canonical {
        let tensors = self
            .tensors
            .iter()
            .filter(|named| {
                self.storages
                    .get(named.tensor.storage)
                    .is_none_or(|storage| storage.name() != named.name)
            })
            .map(|named| {
                format!(
                    "{} = {}",
                    named.name,
                    describe_tensor(&named.tensor, &self.storages)
                )
            })
            .collect();
        let storages = self
            .storages
            .iter()
            .enumerate()
            .map(|(at, (_, storage))| canonical_storage(storage, self.declared.get(at), &self.storages))
            .collect();
        Canonical {
            id: self.id.clone(),
            about: self.summary.clone(),
            module: self.module.path.clone(),
            storages,
            tensors,
            launches: self
                .launches
                .iter()
                .map(|launch| canonical_launch(launch, &self.storages))
                .collect(),
            inspectable: self.inspectable,
            compile: self
                .compile
                .as_ref()
                .map_or_else(Vec::new, |compile| compile_lines(compile, &self.storages)),
            expectations: self.expectations.iter().map(ToString::to_string).collect(),
            hash: self.content_hash().to_string(),
        }
    }

    /// A hash of everything that decides what the case does: kernels and host functions with their dependencies,
    /// storages, grids, arguments and options, whether the kernels can be inspected, and how the case is compiled
    /// under `torch.compile`. Ids, descriptions, expectations and recorded outcomes don't count.
    pub fn content_hash(&self) -> ContentHash {
        let mut feed = Feed(blake3::Hasher::new());
        feed.hash_text(&format!("{OLD_NAME} case 2"));
        for half in [self.source_hash(), self.layout_hash()] {
            feed.hash_bytes(half.bytes());
        }
        if let Some(compile) = &self.compile {
            feed.hash_compile(compile);
        }
        if !self.inspectable {
            feed.hash_text("not inspectable");
        }
        feed.finish()
    }

    /// The part of [`Case::content_hash`] that covers kernels: their text and the text of their dependencies.
    pub fn source_hash(&self) -> ContentHash {
        let mut feed = Feed(blake3::Hasher::new());
        feed.hash_text(&format!("{OLD_NAME} source 1"));
        if self.is_import_only() {
            feed.hash_module(&self.module);
        }
        feed.hash_number(self.launches.len() as u64);
        for launch in &self.launches {
            feed.hash_kernel(&launch.kernel);
            for (_, arg) in launch.arguments() {
                feed.hash_globals(&launch.kernel, &arg.value);
            }
        }
        feed.finish()
    }

    /// The half of [`Case::content_hash`] that is about everything else: storages, grids, arguments and options.
    pub fn layout_hash(&self) -> ContentHash {
        let mut feed = Feed(blake3::Hasher::new());
        feed.hash_text(&format!("{OLD_NAME} layout 1"));
        feed.hash_number(self.storages.len() as u64);
        for (_, storage) in self.storages.iter() {
            feed.hash_storage(storage);
        }
        feed.hash_number(self.launches.len() as u64);
        for launch in &self.launches {
            feed.hash_launch(launch);
        }
        feed.finish()
    }
}

/// Prefix of every hash: the project's name when the first records were made. It stays, so that those records remain
/// valid.
const OLD_NAME: &str = "conch";

/// Hashes with lengths in front, so that no two values run into each other.
struct Feed(blake3::Hasher);

impl Feed {
    fn finish(self) -> ContentHash {
        ContentHash(*self.0.finalize().as_bytes())
    }

    fn hash_number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn hash_bytes(&mut self, bytes: &[u8]) {
        self.hash_number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn hash_text(&mut self, text: &str) {
        self.hash_bytes(text.as_bytes());
    }

    fn hash_module(&mut self, module: &Module) {
        self.hash_text(&module.file.text);
        self.hash_imports(module);
    }

    fn hash_imports(&mut self, module: &Module) {
        self.hash_number(module.imports.len() as u64);
        for (name, file) in &module.imports {
            self.hash_text(name);
            self.hash_text(&file.text);
        }
    }

    fn hash_kernel(&mut self, kernel: &Kernel) {
        self.hash_text(&kernel.name);
        for piece in kernel.pieces() {
            self.hash_text(piece);
        }
        self.hash_imports(&kernel.module);
    }

    fn hash_storage(&mut self, storage: &Storage) {
        if let Some(content) = storage.content() {
            // No storage has so many addresses.
            self.hash_number(u64::MAX);
            self.hash_number(storage.size() as u64);
            return self.hash_text(&content.to_string());
        }
        self.hash_number(storage.pointers().len() as u64);
        let mut bytes = storage.bytes().to_vec();
        for pointer in storage.pointers() {
            for number in [
                pointer.offset as u64,
                pointer.target.0.into(),
                pointer.target_offset as u64,
            ] {
                self.hash_number(number);
            }
            // The address itself is of this process' making.
            if let Some(address) = bytes.get_mut(pointer.offset..pointer.offset + 8) {
                address.fill(0);
            }
        }
        self.hash_bytes(&bytes);
        let states: Vec<u8> = storage.states().iter().map(|&state| state as u8).collect();
        self.hash_bytes(&states);
    }

    /// Hashes the statements that define globals of the kernel's file among the arguments.
    fn hash_globals(&mut self, kernel: &Kernel, value: &ArgValue) {
        match value {
            ArgValue::Global(name) => kernel.pieces_of(name).for_each(|piece| self.hash_text(piece)),
            ArgValue::Constexpr(inner) => self.hash_globals(kernel, inner),
            ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
                for item in items {
                    self.hash_globals(kernel, item);
                }
            }
            _ => {}
        }
    }

    /// All of a launch but its kernel.
    fn hash_launch(&mut self, launch: &Launch) {
        launch.grid.iter().for_each(|&size| self.hash_number(size.into()));
        self.hash_number(launch.positional.len() as u64);
        for arg in &launch.positional {
            self.hash_value(&arg.value);
        }
        self.hash_number(launch.keyword.len() as u64);
        for (name, arg) in &launch.keyword {
            self.hash_text(name);
            self.hash_value(&arg.value);
        }
        self.hash_number(launch.options.len() as u64);
        for (name, value) in &launch.options {
            self.hash_text(name);
            self.hash_value(value);
        }
        if let Some(host) = &launch.host {
            // No text has this length, so the hash can't be that of another launch.
            self.hash_number(u64::MAX);
            self.hash_kernel(host);
        }
    }

    fn hash_compile(&mut self, compile: &Compile) {
        let Compile {
            dynamic,
            mark_dynamic,
            maybe_mark_dynamic,
            before,
        } = compile;
        self.hash_text("compile");
        self.hash_text(dynamic_word(*dynamic));
        for marks in [mark_dynamic, maybe_mark_dynamic] {
            self.hash_number(marks.len() as u64);
            for (name, dimensions) in marks {
                self.hash_text(name);
                self.hash_number(dimensions.len() as u64);
                for &at in dimensions {
                    self.hash_number(at as u64);
                }
            }
        }
        self.hash_number(before.len() as u64);
        for call in before {
            self.hash_number(call.len() as u64);
            for (name, value) in call {
                self.hash_text(name);
                self.hash_value(value);
            }
        }
    }

    fn hash_dims(&mut self, dims: &[i64]) {
        self.hash_number(dims.len() as u64);
        for &size in dims {
            self.hash_number(size as u64);
        }
    }

    fn hash_tensor(&mut self, tensor: &Tensor) {
        self.hash_text(tensor.dtype.name());
        self.hash_number(tensor.storage.0.into());
        self.hash_number(tensor.offset as u64);
        self.hash_dims(&tensor.shape);
        self.hash_dims(&tensor.strides);
    }

    fn hash_value(&mut self, value: &ArgValue) {
        match value {
            ArgValue::None => self.hash_text("none"),
            ArgValue::Bool(value) => self.hash_text(if *value { "true" } else { "false" }),
            ArgValue::Int(value) => {
                self.hash_text("int");
                self.hash_bytes(&value.to_le_bytes());
            }
            ArgValue::Float(value) => {
                self.hash_text("float");
                self.hash_number(value.to_bits());
            }
            ArgValue::Str(text) => {
                self.hash_text("str");
                self.hash_text(text);
            }
            ArgValue::Constexpr(inner) => {
                self.hash_text("constexpr");
                self.hash_value(inner);
            }
            ArgValue::Global(name) => {
                self.hash_text("global");
                self.hash_text(name);
            }
            ArgValue::DType(dtype) => {
                self.hash_text("dtype");
                self.hash_text(dtype.name());
            }
            ArgValue::Tensor { tensor, .. } => {
                self.hash_text("tensor");
                self.hash_tensor(tensor);
            }
            ArgValue::Descriptor(descriptor) => {
                let Descriptor {
                    name: _,
                    base,
                    shape,
                    strides,
                    block_shape,
                    padding,
                    round_f32_to_tf32,
                } = &**descriptor;
                self.hash_text("descriptor");
                self.hash_tensor(base);
                for dims in [shape, strides, block_shape] {
                    self.hash_dims(dims);
                }
                self.hash_text(padding.name());
                self.hash_number((*round_f32_to_tf32).into());
            }
            ArgValue::Address { address: at, .. } => {
                self.hash_text("address");
                self.hash_number(at.storage.0.into());
                self.hash_number(at.offset as u64);
            }
            ArgValue::Tuple(items) => {
                self.hash_text("tuple");
                self.hash_number(items.len() as u64);
                for item in items {
                    self.hash_value(item);
                }
            }
            ArgValue::NamedTuple { fields, items } => {
                self.hash_text("namedtuple");
                self.hash_number(items.len() as u64);
                for (name, item) in fields.iter().zip(items) {
                    self.hash_text(name);
                    self.hash_value(item);
                }
            }
        }
    }
}

fn describe_tensor(tensor: &Tensor, storages: &Storages) -> String {
    let name = storages.get(tensor.storage).map_or("?", Storage::name);
    format!(
        "{} {name}[{}] {:?} {:?}",
        tensor.dtype,
        tensor.offset,
        &tensor.shape[..],
        &tensor.strides[..]
    )
}

fn canonical_storage(
    storage: &Storage,
    declared: Option<&Declared>,
    storages: &Storages,
) -> CanonicalStorage {
    let content = match declared {
        _ if let Some(content) = storage.content() => format!("sparse {content}"),
        Some(declared) => describe_elements(storage, declared, storages),
        None => format!("blake3 {}", blake3::hash(storage.bytes()).to_hex()),
    };
    CanonicalStorage {
        name: storage.name().to_owned(),
        dtype: declared.map(|declared| declared.dtype.to_string()),
        shape: declared.map_or_else(Vec::new, |declared| declared.shape.clone()),
        bytes: storage.size(),
        content,
    }
}

/// The elements as numbers, `uninit`, or `&storage+bytes`.
fn describe_elements(storage: &Storage, declared: &Declared, storages: &Storages) -> String {
    let size = declared.dtype.size();
    let count = storage.bytes().len() / size;
    let mut shown: Vec<String> = Vec::with_capacity(count.min(MAX_SHOWN));
    for (at, (bytes, states)) in storage
        .bytes()
        .chunks_exact(size)
        .zip(storage.states().chunks_exact(size))
        .take(MAX_SHOWN)
        .enumerate()
    {
        if let Some(pointer) = storage
            .pointers()
            .iter()
            .find(|pointer| pointer.offset == at * size)
        {
            let target = storages.get(pointer.target).map_or("?", Storage::name);
            shown.push(format!("&{target}{:+}", pointer.target_offset));
        } else if states.iter().all(|&state| state == ByteState::Init) {
            let mut bits = [0; 8];
            bits.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            let bits = u64::from_le_bytes(bits);
            let text = numeric::format(declared.dtype, bits);
            // The number alone does not show which NaN it is.
            shown.push(if text == "nan" {
                format!("bits({bits:#x})")
            } else {
                text
            });
        } else {
            shown.push("uninit".to_owned());
        }
    }
    let mut text = shown.join(" ");
    if count > MAX_SHOWN {
        text.push_str(" … blake3 ");
        text.push_str(&blake3::hash(storage.bytes()).to_hex());
    }
    text
}

fn canonical_launch(launch: &Launch, storages: &Storages) -> CanonicalLaunch {
    let named = |name: Option<&str>, value: &ArgValue| {
        let value = describe_argument(value, storages);
        name.map_or_else(|| value.clone(), |name| format!("{name} = {value}"))
    };
    let function = |kernel: &Kernel| format!("{}:{}", kernel.module.path, kernel.name);
    CanonicalLaunch {
        kernel: function(&launch.kernel),
        grid: launch.grid,
        args: launch
            .arguments()
            .map(|(name, arg)| named(name, &arg.value))
            .collect(),
        options: launch
            .options
            .iter()
            .map(|(name, value)| named(Some(name), value))
            .collect(),
        host: launch.host.as_ref().map(function),
    }
}

/// `dynamic=` as Python writes its value.
fn dynamic_word(dynamic: Option<bool>) -> &'static str {
    match dynamic {
        None => "None",
        Some(true) => "True",
        Some(false) => "False",
    }
}

fn compile_lines(compile: &Compile, storages: &Storages) -> Vec<String> {
    let mut lines = vec![format!("dynamic = {}", dynamic_word(compile.dynamic))];
    for (key, marks) in [
        ("mark_dynamic", &compile.mark_dynamic),
        ("maybe_mark_dynamic", &compile.maybe_mark_dynamic),
    ] {
        lines.extend(
            marks
                .iter()
                .map(|(name, dimensions)| format!("{key} {name} {dimensions:?}")),
        );
    }
    for call in &compile.before {
        let args: Vec<String> = call
            .iter()
            .map(|(name, value)| format!("{name} = {}", describe_argument(value, storages)))
            .collect();
        lines.push(format!("before ({})", args.join(", ")));
    }
    lines
}

/// A value as Python prints it; a tensor by its layout.
fn describe_argument(value: &ArgValue, storages: &Storages) -> String {
    match value {
        ArgValue::None => "None".to_owned(),
        ArgValue::Bool(true) => "True".to_owned(),
        ArgValue::Bool(false) => "False".to_owned(),
        ArgValue::Int(value) => value.to_string(),
        ArgValue::Float(value) if value.is_nan() => "nan".to_owned(),
        ArgValue::Float(value) => format!("{value:?}"),
        ArgValue::Str(text) => format!("'{}'", text.escape_debug()),
        ArgValue::DType(dtype) => format!("tl.{}", dtype.triton_name()),
        ArgValue::Constexpr(inner) => format!("tl.constexpr({})", describe_argument(inner, storages)),
        ArgValue::Global(name) => name.clone(),
        ArgValue::Tensor { tensor: view, .. } => describe_tensor(view, storages),
        ArgValue::Descriptor(descriptor) => {
            let mut text = format!(
                "TensorDescriptor({}, {:?}, {:?}, {:?}",
                describe_tensor(&descriptor.base, storages),
                descriptor.shape,
                descriptor.strides,
                descriptor.block_shape
            );
            if descriptor.padding != Padding::Zero {
                let _ = write!(text, ", padding='{}'", descriptor.padding);
            }
            if descriptor.round_f32_to_tf32 {
                text.push_str(", round_f32_to_tf32=True");
            }
            text.push(')');
            text
        }
        ArgValue::Address { address: at, .. } => {
            let name = storages.get(at.storage).map_or("?", Storage::name);
            render_address(name, at.offset)
        }
        ArgValue::NamedTuple { fields, items } => {
            let items: Vec<_> = fields
                .iter()
                .zip(items)
                .map(|(name, item)| format!("{name}={}", describe_argument(item, storages)))
                .collect();
            format!("namedtuple({})", items.join(", "))
        }
        ArgValue::Tuple(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| describe_argument(item, storages))
                .collect();
            format!(
                "({}{})",
                items.join(", "),
                if items.len() == 1 { "," } else { "" }
            )
        }
    }
}
