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
//! use cerith_frontend::{RequestArg, Refusal, Request, trace};
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
//!     positional: vec![RequestArg::Pointer(Elem::Num(DType::F32)), RequestArg::Int(1000)],
//!     keyword: vec![("BLOCK".to_owned(), RequestArg::Int(64))],
//!     options: Vec::new(),
//!     rules: Rules::from_version(Version::new(3, 6, 0)),
//! };
//! let traced = trace(&request).unwrap();
//! let parameters: Vec<&str> = traced.bindings.iter().map(|binding| binding.name.as_str()).collect();
//! assert_eq!(parameters, ["x", "n"], "`BLOCK` is known, and no parameter any more");
//! assert!(traced.function.to_string().contains("load"));
//!
//! // Code that Triton's compiler would reject is refused, with its location.
//! request.keyword[0].1 = RequestArg::Int(100);
//! let refused = trace(&request).unwrap_err();
//! let Refusal::Rejected(diagnostic) = &refused.refusal else { panic!("{refused:?}") };
//! assert!(diagnostic.render(&refused.sources, false).contains("double.py:7:"));
//! ```
//!
//! From the bottom up: `plain` evaluates the Python around kernels, `tracer` the kernels themselves, and [`coverage`] lists
//! the names that they use. Types, operators and functions of `tl` are in `cerith-language`.
//!
//! See `cerith-interp` for execution. Callers read the files and pass their text. Module-level code is evaluated only as
//! far as kernels need it.
//!
//! This crate does no IO, knows no engine and never panics on any input.
#![warn(missing_docs)]

pub mod coverage;
mod plain;
mod probe;
mod text;
mod traced;
mod tracer;

pub use cerith_language::clears::Clears;
pub use cerith_language::request::{Descriptor, Request, RequestArg};
pub use cerith_language::stop::Refusal;

pub use self::traced::{Binding, Part, Refused, Traced, Use};

/// Traces a kernel for one specialisation. The IR is verified: IR that does not verify is our own bug and comes back
/// as an `Unsupported` refusal that says so.
pub fn trace(request: &Request) -> Result<Traced, Refused> {
    tracer::launch::trace(request)
}
