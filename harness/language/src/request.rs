//! The input of a trace: a kernel, and the arguments of its launch as the compiler sees them.

use std::sync::Arc;

use cerith_tile::ir::Elem;
use cerith_tile::rules::Rules;
use cerith_tile::source::SourceFile;

/// The argument of a launch for one parameter, as far as the compiler specialises on it.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestArg {
    /// A tensor: a pointer to elements of this type.
    Pointer(Elem),
    /// A Python int. `i32` if it fits, else `i64`, else `u64`; 1 is known at compile time.
    Int(i128),
    /// An address as a Python int: `i64` at run time, as addresses on GPUs are. Which number it is depends on the engine.
    Address,
    /// A Python float: `f32` at run time.
    Float(f64),
    /// A Python bool: `i1` at run time.
    Bool(bool),
    /// `None`: known at compile time.
    None,
    /// A string; only for `constexpr` parameters.
    Str(String),
    /// `tl.float32` and the like; only for `constexpr` parameters.
    DType(cerith_tile::DType),
    /// `tl.constexpr(…)`: known at compile time whatever the parameter is.
    Constexpr(Box<RequestArg>),
    /// A function of the kernel's module, by its dotted name.
    Global(String),
    /// A tensor descriptor that the host makes.
    Descriptor(Descriptor),
    /// A tuple of arguments.
    Tuple(Vec<RequestArg>),
    /// A named tuple of arguments.
    NamedTuple {
        /// The names of its fields.
        fields: Vec<String>,
        /// As many items.
        items: Vec<RequestArg>,
    },
}

impl RequestArg {
    /// The argument at these positions inside of nested tuples.
    pub fn get_nested(&self, path: &[usize]) -> Option<&Self> {
        path.iter().try_fold(self, |arg, &at| match arg {
            Self::Tuple(items) | Self::NamedTuple { items, .. } => items.get(at),
            _ => None,
        })
    }
}

/// A host's tensor descriptor, as far as the compiler specialises on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// The tensor's dtype.
    pub dtype: cerith_tile::DType,
    /// Extents of a block, one for each of the tensor's dimensions.
    pub block_shape: Vec<i64>,
    /// Whether loaded lanes outside of the tensor hold NaN instead of zero.
    pub nan: bool,
    /// Whether loads round to tf32.
    pub round_f32_to_tf32: bool,
}

/// A kernel to trace and what its launch passes.
#[derive(Clone, Debug)]
pub struct Request {
    /// The file that defines the kernel.
    pub file: Arc<SourceFile>,
    /// Other files of the corpus that it may import, by module name (`helpers` for `helpers.py` beside it).
    pub modules: Vec<(String, Arc<SourceFile>)>,
    /// The kernel's name; `make.kernel` for `kernel` defined inside the function `make`.
    pub kernel: String,
    /// Arguments given by position.
    pub positional: Vec<RequestArg>,
    /// Arguments given by name.
    pub keyword: Vec<(String, RequestArg)>,
    /// Launch options that a kernel can see or that change its meaning: `num_warps`, `num_stages`, `debug`.
    pub options: Vec<(String, RequestArg)>,
    /// The rules of the language.
    pub rules: Rules,
}
