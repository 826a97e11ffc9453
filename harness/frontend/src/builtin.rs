//! The table of what Triton offers a kernel: each function of `tl`, `tl.math`, `libdevice`, each tensor method, with
//! its Python signature, the versions that have it and how it is lowered. Adding one is adding one row.

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
