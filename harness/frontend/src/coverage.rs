//! Coverage of Triton's language: each public name is put into a kernel of its own, once for each dtype, and that kernel is
//! traced. The names of a Triton version are listed by its wheel, not here.
//!
//! `coverage/probes.txt` contains the kernels.

use std::fmt::Write as _;
use std::sync::Arc;

use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::Rules;
use cerith_tile::source::SourceFile;

use crate::probe::{Probe, probe};
use crate::tracer::find_refusal_if_used;
use crate::{Refusal, Request, RequestArg, trace};
use cerith_language::builtin;

/// The reference's answer about a name and a dtype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It is traced.
    Supported,
    /// It is rejected, as the compiler does, for this reason.
    Rejected(String),
    /// The reference does not know it, for this reason.
    Unsupported(String),
    /// The reference has no such name: a hole.
    Missing,
    /// No kernel writes it, for this reason.
    NotForKernels(&'static str),
}

/// Variables that a probe may use, and the lines that define them.
const NAMES: [(&str, &str); 12] = [
    ("i", "i = tl.arange(0, 16)"),
    ("c", "c = tl.arange(0, 16) < 8"),
    ("h", "h = tl.program_id(0)"),
    ("x", "x = tl.load(p + tl.arange(0, 16))"),
    ("y", "y = tl.load(p + 16 + tl.arange(0, 16))"),
    ("s", "s = tl.load(p)"),
    (
        "m",
        "m = tl.load(p + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])",
    ),
    (
        "k",
        "k = tl.load(p + tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :])",
    ),
    (
        "d",
        "d = tl.make_tensor_descriptor(p, [64, 64], [64, 1], [16, 32])",
    ),
    (
        "r",
        "r = tl.make_tensor_descriptor(p, [64, 64], [64, 1], [1, 32])",
    ),
    ("b", "b = tl.make_block_ptr(p, [64], [1], [0], [16], [0])"),
    ("scale", "scale = tl.full([32, 1], 127, tl.uint8)"),
];

/// The variables that have the dtype under test.
const OF_DTYPE: [&str; 9] = ["p", "x", "y", "s", "m", "k", "d", "r", "b"];

/// The text to insert before a probe's kernel, by the word that needs it.
const BEFORE: [(&str, &str); 3] = [
    ("libdevice", "from triton.language.extra.cuda import libdevice\n"),
    ("cuda", "import triton.language.extra.cuda as cuda\n"),
    ("pair", "\n\n@triton.jit\ndef pair(a, b):\n    return a + b\n"),
];

/// Whether a line of Python mentions a name.
fn has_name(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
        .any(|word| word.split('.').next() == Some(name))
}

/// Whether the probe of a name takes values of a dtype. For the others, one dtype is enough.
pub fn has_dtypes(name: &str, rules: Rules) -> bool {
    build_body(name, rules).is_some_and(|body| OF_DTYPE.iter().any(|variable| has_name(&body, variable)))
}

/// The line of a kernel that uses a name.
fn build_body(name: &str, rules: Rules) -> Option<String> {
    let spelled = name
        .replace("tl.extra.libdevice", "libdevice")
        .replace("tl.extra.cuda", "cuda");
    match probe(name) {
        Some(Probe::Text(text)) => Some(text.replace('$', &spelled)),
        Some(Probe::Call(args)) => {
            let args: Vec<&str> = args.split(';').map(str::trim).collect();
            match (spelled.strip_prefix("tensor."), args.as_slice()) {
                (Some(method), [receiver, rest @ ..]) => {
                    Some(format!("({receiver}).{method}({})", rest.join(", ")))
                }
                _ => Some(format!("{spelled}({})", args.join(", "))),
            }
        }
        Some(Probe::Never(_)) => None,
        None => {
            let parameters = builtin::count_parameters(name, rules)?;
            Some(format!("{spelled}({})", vec!["x"; parameters].join(", ")))
        }
    }
}

/// Returns the kernel that tests a name, as a file that Triton can compile too; the pointer `p` is its only parameter.
/// `None` if kernels don't use the name, or if it is unknown.
pub fn build_kernel(name: &str, rules: Rules) -> Option<String> {
    let body = build_body(name, rules)?;
    let mut text = "import triton\nimport triton.language as tl\n".to_owned();
    for (word, before) in BEFORE {
        if has_name(&body, word) {
            text += before;
        }
    }
    text += "\n\n@triton.jit\ndef probe(p):\n";
    for (name, line) in NAMES {
        if has_name(&body, name) {
            let _ = writeln!(text, "    {line}");
        }
    }
    let _ = writeln!(text, "    {body}");
    Some(text)
}

/// The reference's answer about a name (`tl.exp`, `tensor.sum`, `tl.extra.libdevice.acos`) with values of a dtype.
pub fn check_support(name: &str, dtype: DType, rules: Rules) -> Support {
    if let Some(Probe::Never(why)) = probe(name) {
        return Support::NotForKernels(why);
    }
    let Some(text) = build_kernel(name, rules) else {
        return Support::Missing;
    };
    let request = Request {
        file: Arc::new(SourceFile::new("probe.py", text)),
        modules: Vec::new(),
        kernel: "probe".to_owned(),
        positional: vec![RequestArg::Pointer(Elem::Num(dtype))],
        keyword: Vec::new(),
        options: Vec::new(),
        rules,
    };
    match trace(&request) {
        // Nothing uses the probe's result, but a kernel that is worth writing does.
        Ok(traced) => match find_refusal_if_used(&traced.function, rules) {
            Some(message) => Support::Rejected(message),
            None => Support::Supported,
        },
        Err(refused) => match refused.refusal {
            Refusal::Rejected(diagnostic) if diagnostic.code == "unknown-attribute" => Support::Missing,
            Refusal::Rejected(diagnostic) => Support::Rejected(diagnostic.message),
            Refusal::Unsupported(diagnostic) | Refusal::Exhausted(diagnostic) => {
                Support::Unsupported(diagnostic.message)
            }
        },
    }
}

/// Returns the name that [`crate::Traced::uses`] reports for a name: the canonical name of the function.
pub fn canonicalize_name(name: &str, rules: Rules) -> String {
    builtin::canonical_name(name, rules).map_or_else(|| name.to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_what_its_line_needs() {
        let kernel = build_kernel("tensor.reduce", Rules::default()).unwrap_or_default();
        let expected = "
import triton
import triton.language as tl


@triton.jit
def pair(a, b):
    return a + b


@triton.jit
def probe(p):
    x = tl.load(p + tl.arange(0, 16))
    (x).reduce(0, pair)
";
        assert_eq!(kernel, expected.trim_start());
    }

    #[test]
    fn a_name_is_asked_about() {
        let rules = Rules::default();
        assert_eq!(check_support("tl.exp", DType::F32, rules), Support::Supported);
        assert!(matches!(
            check_support("tl.exp", DType::I32, rules),
            Support::Rejected(_)
        ));
        let dead_sum = check_support("tl.sum", DType::F8E5, rules);
        assert!(matches!(dead_sum, Support::Rejected(_)), "{dead_sum:?}");
        let assembly = check_support("tl.inline_asm_elementwise", DType::I32, rules);
        assert_eq!(assembly, Support::Supported);
        assert_eq!(
            check_support("tl.no_such_name", DType::I32, rules),
            Support::Missing
        );
        assert_eq!(canonicalize_name("tl.exp", rules), "tl.math.exp");
    }
}
