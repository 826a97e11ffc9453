//! The result of tracing a kernel: its IR with the bindings of its parameters, or a refusal.

use cerith_tile::ir::Function;
use cerith_tile::quirk::Quirks;
use cerith_tile::source::Sources;

use cerith_language::clears::Clears;
use cerith_language::request::RequestArg;
use cerith_language::stop::Refusal;

/// The location of a launch-time parameter's value in the request: a parameter's name, then positions inside of tuples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The Python parameter.
    pub name: String,
    /// Positions inside of nested tuples; empty for a plain argument.
    pub path: Vec<usize>,
    /// The part of the argument.
    pub part: Part,
}

/// The part of an argument that a parameter takes.
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
    pub arguments: Vec<(String, RequestArg)>,
    /// The names of Triton's language that the kernel's own lines use, in order.
    pub uses: Vec<Use>,
    /// The tensors that the kernel's tuner sets to zero.
    pub clears: Clears,
    /// The quirks that the trace depends on. Any other quirk produces the same trace.
    pub consulted_quirks: Quirks,
}

/// A use of a name of Triton's language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Use {
    /// The function, named as by [`crate::coverage::canonicalize_name`]; `tensor.exp` and `tensor.__add__` are methods and
    /// operators.
    pub name: String,
    /// The dtype of its tensors; a pointer counts as its element's dtype. `None` if it isn't used on a tensor.
    pub dtype: Option<cerith_tile::DType>,
}

/// A refusal with the files that its diagnostic points into.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The reason and the location.
    pub refusal: Refusal,
    /// The files.
    pub sources: Sources,
    /// The quirks that the refusal depends on.
    pub consulted_quirks: Quirks,
}
