//! Triton's Python surface to Cerith IR.
//!
//! [`trace`] runs a kernel's Python at compile time, as Triton's compiler does: values that are known are computed,
//! `if` on them is decided, loops over `static_range` are unrolled, calls of `@triton.jit` functions are inlined, and
//! what remains becomes typed IR with a source span on every operation. Parsing is ruff's; the meaning is ours and
//! follows Triton's documentation and its compiled semantics, never its interpreter.
//!
//! ```
//! use std::sync::Arc;
//!
//! use cerith_frontend::{Arg, Refusal, Request, trace};
//! use cerith_tile::DType;
//! use cerith_tile::ir::Elem;
//! use cerith_tile::rules::{Rules, Version};
//! use cerith_tile::source::SourceFile;
//!
//! let text = "
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def double(x, n, BLOCK: tl.constexpr):
//!     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
//!     tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
//! ";
//! let mut request = Request {
//!     file: Arc::new(SourceFile::new("double.py", text)),
//!     modules: Vec::new(),
//!     kernel: "double".to_owned(),
//!     positional: vec![Arg::Pointer(Elem::Num(DType::F32)), Arg::Int(1000)],
//!     keyword: vec![("BLOCK".to_owned(), Arg::Int(64))],
//!     options: Vec::new(),
//!     rules: Rules::of(Version::new(3, 6, 0)),
//! };
//! let traced = trace(&request).unwrap();
//! let parameters: Vec<&str> = traced.bindings.iter().map(|binding| binding.name.as_str()).collect();
//! assert_eq!(parameters, ["x", "n"], "`BLOCK` is known, and no parameter any more");
//! assert!(traced.function.to_string().contains("load"));
//!
//! // What Triton's compiler would reject is refused, with the place.
//! request.keyword[0].1 = Arg::Int(100);
//! let refused = trace(&request).unwrap_err();
//! let Refusal::Rejected(diagnostic) = &refused.refusal else { panic!("{refused:?}") };
//! assert!(diagnostic.render(&refused.sources, false).contains("double.py:7:"));
//! ```
//!
//! Left out: execution (`cerith-interp`), reading files (callers bring the text), and running arbitrary Python: module
//! level code is understood as far as kernels need it.
//!
//! This crate does no IO, knows no engine and never panics on any input.
#![warn(missing_docs)]

mod builtin;
mod constant;
pub mod coverage;
mod semantic;
mod tracer;
mod value;

use std::sync::Arc;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{Elem, Function};
use cerith_tile::rules::Rules;
use cerith_tile::source::{SourceFile, Sources};

/// What a launch passes for one parameter, as far as the compiler specialises on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A tensor: a pointer to elements of this type.
    Pointer(Elem),
    /// A Python int. `i32` if it fits, else `i64`, else `u64`; 1 is known at compile time.
    Int(i128),
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
    Constexpr(Box<Arg>),
    /// What the kernel's module has under a dotted name: a function.
    Global(String),
    /// A tensor descriptor that the host makes.
    Descriptor(Descriptor),
    /// A tuple of arguments.
    Tuple(Vec<Arg>),
}

/// A host's tensor descriptor, as far as the compiler specialises on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// Of what the tensor is.
    pub dtype: cerith_tile::DType,
    /// Extents of a block, one for each of the tensor's dimensions.
    pub block_shape: Vec<i64>,
    /// Whether lanes outside of the tensor hold NaN when they are loaded; else zero.
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
    pub positional: Vec<Arg>,
    /// Arguments given by name.
    pub keyword: Vec<(String, Arg)>,
    /// Launch options that a kernel can see or that change its meaning: `num_warps`, `num_stages`, `debug`.
    pub options: Vec<(String, Arg)>,
    /// Whose language it is.
    pub rules: Rules,
}

/// Where a launch-time parameter's value is in the request: a parameter's name, then positions inside of tuples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The Python parameter.
    pub name: String,
    /// Positions inside of nested tuples; empty for a plain argument.
    pub path: Vec<usize>,
    /// What of the argument it is.
    pub part: Part,
}

/// What of an argument a parameter takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// The pointer of a tensor descriptor.
    Base,
    /// An extent of a tensor descriptor, an `i32`.
    Extent(usize),
    /// A stride of a tensor descriptor in elements, an `i64`.
    Stride(usize),
}

/// A traced kernel.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The verified IR.
    pub function: Function,
    /// For each of the function's parameters, the argument that it takes.
    pub bindings: Vec<Binding>,
    /// Every argument that reached a parameter, by name, defaults and decided heuristics included.
    pub arguments: Vec<(String, Arg)>,
    /// What of Triton's language the kernel's own lines use, in order.
    pub uses: Vec<Use>,
}

/// A use of a name of Triton's language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Use {
    /// The function, as [`coverage::canonical`] has it; `tensor.exp` and `tensor.__add__` are methods and operators.
    pub name: String,
    /// On what; a pointer counts as what it points to. None where it is used on no tensor.
    pub dtype: Option<cerith_tile::DType>,
}

/// Why there is no IR.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// Triton's compiler (or launcher) rejects the program, for this reason.
    Rejected(Box<Diagnostic>),
    /// The reference does not know the construct yet.
    Unsupported(Box<Diagnostic>),
    /// Tracing it takes more than a limit of the reference's.
    Exhausted(Box<Diagnostic>),
}

/// A refusal with the files that its diagnostic points into.
#[derive(Clone, Debug)]
pub struct Refused {
    /// What and where.
    pub refusal: Refusal,
    /// The files.
    pub sources: Sources,
}

/// Traces a kernel for one specialisation. The IR is verified: IR that does not verify is our own bug and comes back
/// as an `Unsupported` refusal that says so.
pub fn trace(request: &Request) -> Result<Traced, Refused> {
    tracer::trace(request)
}
