//! The table of what Triton offers a kernel: each function of `tl`, `tl.math`, `libdevice`, each tensor method, with
//! its Python signature, the versions that have it and how it is lowered. Adding one is adding one row.

use conch_tile::ir::ValueId;

use crate::tracer::{Traced, Tracer};
use crate::value::Value;

/// A function that the tracer knows by itself.
#[derive(Debug)]
pub(crate) struct Builtin {
    /// Its canonical name and Python signature: `tl.load(pointer, mask=None, other=None)`; methods are
    /// `tensor.to(self, dtype, …)`. Python's own are `range(…)`, `len(…)`.
    pub signature: &'static str,
    /// How it is lowered. Arguments are bound to the signature's parameters, in its order, defaults filled in; what
    /// `*args` collected is one tuple.
    pub lower: fn(&mut Tracer<'_>, &[Value]) -> Traced<Value>,
}

/// The prelude: Triton's standard library in Triton, a module's name (`standard`) and text each. The tracer parses it
/// once and finds functions through [`Tracer::prelude`].
pub(crate) const PRELUDE: &[(&str, &str)] = &[];

/// What `name` is in a module, by its canonical dotted name: `tl`, `tl.math`, `tl.extra.libdevice`, `triton`, …
/// Functions, constants, types (`tl.float32`), submodules. `None`: Triton (of these rules) has no such name.
pub(crate) fn lookup(tr: &mut Tracer<'_>, module: &str, name: &str) -> Option<Value> {
    let _ = (tr, module, name);
    None
}

/// `tensor.name`: `dtype`, `shape`, `type`, `T`, methods (as `Value::Method`). Unknown names are rejected with the
/// nearest spelling.
pub(crate) fn tensor_attribute(tr: &mut Tracer<'_>, tensor: ValueId, name: &str) -> Traced<Value> {
    let _ = tensor;
    Err(tr.unsupported(format!("the attribute `{name}` of a tensor")))
}

/// Python's own functions that work on tensors: `min`, `max`, `abs`. The tracer has `range`, `len`, `int`, `float`,
/// `isinstance`, `print` and the static ones.
pub(crate) fn python_builtin(name: &str) -> Option<Value> {
    let _ = name;
    None
}
