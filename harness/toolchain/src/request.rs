//! A request to a worker. See `wire` for its encoding, and [`crate::response`] for the answer.

use std::path::PathBuf;
use std::sync::Arc;

use cerith_tile::DType;

/// A Python module: the kernel's file.
///
/// Tracebacks name `path`. The worker runs the file itself when its text on disk is `text`, and otherwise a private
/// copy (a generated or edited kernel). Either way `path`'s folder is where sibling modules are imported from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// The path of the file, which need not exist. Made absolute before it is sent.
    pub path: PathBuf,
    /// The file's text.
    pub text: Arc<str>,
}

/// The device of fake tensors, which changes the behaviour of Triton's interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Device {
    /// `cuda:0`: the interpreter copies to the host and back. Addresses are never mapped in the worker, so that
    /// dereferencing one is a segmentation fault, as it is with a real GPU's.
    #[default]
    Cuda,
    /// `cpu` (`+host`): the interpreter works in the tensors' own memory.
    Host,
}

/// Whether Triton finds a GPU driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Driver {
    /// None, as on a machine without a GPU: what a user would see. Triton finds a torch that sees no GPU (some
    /// versions look for one while a module is imported); the module itself finds no torch.
    #[default]
    Absent,
    /// One that answers for a CUDA device of compute capability 9.0 and benchmarks every configuration as equal.
    Fake,
}

/// An address kept in memory: the 8 bytes at `at` hold the address of byte `addend` of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Relocation {
    /// Byte within the storage that holds the address (guard zones not counted). A multiple of 8.
    pub offset: usize,
    /// Index of the storage pointed into.
    pub storage: usize,
    /// Byte within that storage; may lie outside of it.
    pub addend: i64,
}

/// A storage with the guard zones around it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Storage {
    /// Front guard zone, storage, back guard zone, in one run.
    pub bytes: Arc<[u8]>,
    /// Bytes of the guard zone before the storage.
    pub front: usize,
    /// Bytes of the guard zone after the storage.
    pub back: usize,
    /// Addresses to be written into the storage (over `bytes`) before the first launch.
    pub relocations: Vec<Relocation>,
    /// Whether every aligned 8 bytes of the storage are to be looked through for addresses afterwards. Addresses
    /// found are reported as [`Relocation`]s and their bytes as zeros.
    pub holds_addresses: bool,
}

impl Storage {
    /// Bytes of the storage itself.
    pub fn len(&self) -> usize {
        self.bytes
            .len()
            .saturating_sub(self.front)
            .saturating_sub(self.back)
    }

    /// Whether the storage itself has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Index into [`Request::storages`].
    pub storage: usize,
    /// Element type. `fp8e4b15`, which torch lacks, is passed as torch users do: `triton.reinterpret` of `uint8`.
    pub dtype: DType,
    /// Elements of each dimension.
    pub shape: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
    /// Offset of the first element in elements.
    pub offset: i64,
}

/// The value of an argument, or of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// A Python int.
    Int(i128),
    /// An address as a Python int.
    Address {
        /// Index into [`Request::storages`].
        storage: usize,
        /// Byte within that storage; may lie outside of it.
        offset: i64,
    },
    /// A Python float, bit for bit.
    Float(f64),
    /// A Python bool.
    Bool(bool),
    /// `None`.
    None,
    /// A Python str.
    Str(String),
    /// `tl.float32` and the like.
    DType(DType),
    /// `tl.constexpr(value)`.
    Constexpr(Box<Self>),
    /// A tuple.
    Tuple(Vec<Self>),
    /// A named tuple.
    NamedTuple {
        /// The names of its fields.
        fields: Vec<String>,
        /// As many items.
        items: Vec<Self>,
    },
    /// Something the kernel's module defines, by dotted name: another kernel, a function, a constant.
    Global(String),
    /// A host-side `TensorDescriptor` (Triton 3.4 and later).
    Descriptor(Box<Descriptor>),
}

impl Value {
    /// Reads a value as it is written for a worker: JSON's own `null`, booleans, integers and strings, or a list of a letter
    /// and its contents (`["i", "123"]`, `["f", bits]`, `["t", storage, dtype, shape, strides, offset]`, …). `None` if the
    /// JSON is not a value.
    pub fn from_json(json: &serde_json::Value) -> Option<Self> {
        crate::wire::value::read(json)
    }
}

/// A `TensorDescriptor`: what is passed to its class.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// The tensor.
    pub base: Tensor,
    /// Elements along each dimension.
    pub shape: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
    /// Elements of a block.
    pub block_shape: Vec<i64>,
    /// The padding, where one is passed (Triton 3.5 and later).
    pub padding: Option<String>,
    /// Whether loads round to tf32; passed only when true (Triton 3.7 and later).
    pub round_f32_to_tf32: bool,
}

/// How many programs are launched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Grid {
    /// So many along each axis; 1 to 3 axes (what Triton says to other lengths is what the user would see).
    Fixed(Vec<i64>),
    /// A function of the kernel's module, by dotted name, called by Triton with the launch's arguments.
    Global(String),
}

/// A Python function that makes a launch, called as `function(kernel, grid, args)`: the kernel object, the grid as a
/// tuple, and a dict of the keyword arguments, options included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// The file that defines it. With the path of [`Request::module`], it is that module and not another of its text.
    pub module: Module,
    /// The function's name in the module.
    pub function: String,
}

/// One launch: `kernel[grid](*args, **kwargs, **options)`, or a call of `host`.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel's dotted name in the module (`add_one_kernel`, `Kernels.add`).
    pub kernel: String,
    /// The grid.
    pub grid: Grid,
    /// Positional arguments.
    pub args: Vec<Value>,
    /// Keyword arguments.
    pub kwargs: Vec<(String, Value)>,
    /// `num_warps` and the like; sent as keyword arguments after `kwargs`.
    pub options: Vec<(String, Value)>,
    /// A function that makes the launch instead; it gets no positional arguments.
    pub host: Option<Host>,
}

/// A module to import and launches to do with it, in order, on the same storages. With no launches, the module is
/// only imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The kernel's file.
    pub module: Module,
    /// The storages.
    pub storages: Vec<Storage>,
    /// The launches.
    pub launches: Vec<Launch>,
    /// The device that the tensors report.
    pub device: Device,
    /// Whether Triton finds a driver.
    pub driver: Driver,
    /// Whether an interpreter can see the text of the module. One that cannot does not rewrite the kernels' syntax trees. A
    /// compiler can in any case.
    pub inspectable: bool,
    /// Whether the request needs a process of its own: its files may change what other requests of the same files get, because
    /// they import modules or have host functions.
    pub isolated: bool,
}

impl Request {
    /// A request to import a module, faithful to a machine without a GPU.
    pub fn import(module: Module) -> Self {
        Self {
            module,
            storages: Vec::new(),
            launches: Vec::new(),
            device: Device::default(),
            driver: Driver::default(),
            inspectable: true,
            isolated: false,
        }
    }
}
