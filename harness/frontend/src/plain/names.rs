//! Names of modules: how each goes by in tables, and which names are modules.

use std::rc::Rc;

/// The name a module goes by in tables: `tl` for `triton.language`.
pub(crate) fn canonicalize_module(path: &str) -> String {
    let path = match path.strip_prefix("triton.language") {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("tl{rest}"),
        _ => path.to_owned(),
    };
    match path.as_str() {
        "tl.core" => "tl".to_owned(),
        "tl.extra.cuda.libdevice" | "tl.extra.libdevice" | "tl.libdevice" | "tl.extra.hip.libdevice" => {
            "tl.extra.libdevice".to_owned()
        }
        _ => path,
    }
}

/// Whether the content of a module is unknown. It may contain kernels: it is neither Triton's nor one of the modules of
/// plain values.
pub(crate) fn is_foreign(path: &str) -> bool {
    let root = path.split('.').next().unwrap_or_default();
    !matches!(
        root,
        "tl" | "triton"
            | "torch"
            | "numpy"
            | "builtins"
            | "collections"
            | "dataclasses"
            | "enum"
            | "functools"
            | "itertools"
            | "math"
            | "operator"
            | "os"
            | "packaging"
            | "random"
            | "string"
            | "struct"
            | "sys"
            | "time"
            | "typing"
    )
}

/// Whether a path names a module, not something that a module holds.
pub(crate) fn is_module(path: &str) -> bool {
    matches!(
        path,
        "triton.language"
            | "triton.testing"
            | "triton.runtime"
            | "triton.runtime.autotuner"
            | "triton.runtime.jit"
            | "triton.compiler"
            | "triton.tools"
            | "tl.math"
            | "tl.random"
            | "tl.standard"
            | "tl.core"
            | "tl.extra"
            | "tl.extra.cuda"
            | "tl.extra.cuda.libdevice"
            | "tl.extra.hip"
            | "tl.extra.hip.libdevice"
            | "tl.extra.libdevice"
            | "torch.nn"
            | "torch.cuda"
            | "os.path"
            | "packaging.version"
    )
}

/// The canonical name of the module that is the attribute `name` of `module`, if it is one.
pub(crate) fn find_submodule(module: &str, name: &str) -> Option<Rc<str>> {
    let path = format!("{module}.{name}");
    is_module(&path).then(|| canonicalize_module(&path).into())
}
