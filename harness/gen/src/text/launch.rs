//! The launch of a text: a kernel, its arguments, and the version of the language.
//!
//! A first line `# launch: …` says it in words: `*f32` is a tensor, `5`, `2.5`, `True`, `None`, `'text'` and `f16` are
//! themselves, `:name` is what the module has under a name, `!5` is a constexpr, `(5,*f32)` is a tuple, `%f32[16,16]` is a
//! descriptor; `N=16` is by name, `--num_warps=4` an option, `@kernel` the kernel and `v3.4` the version. Without the
//! line, the last `@triton.jit` function is launched, and its parameters' names say what they get.

use std::sync::Arc;

use cerith_frontend::{Descriptor, Request, RequestArg};
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::{Rules, Version};
use cerith_tile::source::SourceFile;

/// The prefix of the first line.
pub(super) const HEAD: &str = "# launch:";
/// The maximum number of arguments that are read.
const MAX_ARGUMENTS: usize = 64;

/// The request for a text's kernel.
pub fn request(text: &str) -> Request {
    let first = text.lines().next().unwrap_or_default();
    let head = first.strip_prefix(HEAD);
    let (name, parameters) = last_kernel(text);
    let mut request = Request {
        file: Arc::new(SourceFile::new("k.py", text)),
        modules: Vec::new(),
        kernel: name.to_owned(),
        positional: Vec::new(),
        keyword: Vec::new(),
        options: Vec::new(),
        rules: Rules::default(),
    };
    match head {
        Some(words) => parse_header(&mut request, words),
        None => guess_arguments(&mut request, parameters),
    }
    request
}

/// The name of the last function that is decorated with a `jit`, and its parameters.
fn last_kernel(text: &str) -> (&str, &str) {
    let found = text.match_indices("def ").filter(|&(at, _)| {
        let before = text[..at].trim_end();
        before
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.trim_start().starts_with('@'))
    });
    let Some((at, word)) = found.last() else {
        return ("k", "");
    };
    let rest = &text[at + word.len()..];
    let name = rest.split('(').next().unwrap_or_default().trim();
    let from = rest.find('(').map_or("", |at| &rest[at + 1..]);
    let mut depth = 0;
    let end = from.find(|c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    (name, end.map_or("", |end| &from[..end]))
}

fn parse_header(request: &mut Request, words: &str) {
    for word in words.split_whitespace().take(MAX_ARGUMENTS) {
        if let Some(kernel) = word.strip_prefix('@') {
            kernel.clone_into(&mut request.kernel);
        } else if let Some(version) = word.strip_prefix('v').and_then(parse_version) {
            request.rules = Rules::from_version(version);
        } else if let Some((name, value)) = word.strip_prefix("--").and_then(|word| word.split_once('=')) {
            request.options.push((name.to_owned(), parse_argument(value)));
        } else if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) {
            request.keyword.push((name.to_owned(), parse_argument(value)));
        } else {
            request.positional.push(parse_argument(word));
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn parse_version(text: &str) -> Option<Version> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let (major, minor) = (parts.next()??, parts.next()??);
    Some(Version::new(major, minor, parts.next().flatten().unwrap_or(0)))
}

fn parse_argument(word: &str) -> RequestArg {
    let numbers = |text: &str| -> Vec<i64> { text.split(',').filter_map(|n| n.parse().ok()).collect() };
    let quoted = word.strip_prefix('\'').map(|word| word.trim_end_matches('\''));
    match word {
        "None" => return RequestArg::None,
        "True" => return RequestArg::Bool(true),
        "False" => return RequestArg::Bool(false),
        _ => {}
    }
    if let Some(text) = quoted {
        RequestArg::Str(text.to_owned())
    } else if let Some(pointee) = word.strip_prefix('*') {
        let (deeper, pointee) = pointee
            .strip_prefix('*')
            .map_or((false, pointee), |inner| (true, inner));
        let pointer = Elem::Num(pointee.parse().unwrap_or(DType::F32));
        RequestArg::Pointer(if deeper { pointer.pointer() } else { pointer })
    } else if let Some(global) = word.strip_prefix(':') {
        RequestArg::Global(global.to_owned())
    } else if let Some(inner) = word.strip_prefix('!') {
        // Only one deep, so that a line of exclamation marks causes no deep recursion.
        RequestArg::Constexpr(Box::new(parse_argument(inner.trim_start_matches('!'))))
    } else if let Some(items) = word.strip_prefix('(') {
        let items = items.trim_end_matches(')').split(',');
        // None inside of another, so that a line of brackets causes no deep recursion.
        let items = items
            .map(|item| item.trim_start_matches(['(', '!']))
            .filter(|item| !item.is_empty());
        RequestArg::Tuple(items.take(MAX_ARGUMENTS).map(parse_argument).collect())
    } else if let Some(descriptor) = word.strip_prefix('%') {
        let (dtype, block) = descriptor.split_once('[').unwrap_or((descriptor, ""));
        RequestArg::Descriptor(Descriptor {
            dtype: dtype.parse().unwrap_or(DType::F32),
            block_shape: numbers(block.trim_end_matches(']')),
            nan: false,
            round_f32_to_tf32: false,
        })
    } else {
        let int = word.parse().ok().map(RequestArg::Int);
        int.or_else(|| word.parse().ok().map(RequestArg::DType))
            .or_else(|| word.parse().ok().map(RequestArg::Float))
            .unwrap_or_else(|| RequestArg::Str(word.to_owned()))
    }
}

/// Arguments by the names of parameters: what has no default gets something that such a name often stands for.
fn guess_arguments(request: &mut Request, parameters: &str) {
    const POINTEES: [DType; 3] = [DType::F32, DType::I32, DType::F16];
    let mut depth = 0;
    let parted = parameters.split(|c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    for (nth, parameter) in parted.take(MAX_ARGUMENTS).enumerate() {
        let name = parameter.split([':', '=']).next().unwrap_or_default().trim();
        if !is_name(name) || parameter.contains('=') {
            continue;
        }
        let lower = name.to_ascii_lowercase();
        let arg = if parameter.contains("constexpr") || name.chars().all(|c| !c.is_lowercase()) {
            if lower.contains("dtype") || lower.contains("type") {
                RequestArg::DType(DType::F32)
            } else {
                RequestArg::Int(16)
            }
        } else if lower.contains("stride") || lower.starts_with('n') || lower.contains("size") {
            RequestArg::Int(5)
        } else if lower.contains("eps") || lower.contains("scale") {
            RequestArg::Float(0.5)
        } else {
            RequestArg::Pointer(Elem::Num(POINTEES[nth % POINTEES.len()]))
        };
        request.keyword.push((name.to_owned(), arg));
    }
}
