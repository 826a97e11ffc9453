//! Small changes of a Python file: its lines and tokens are moved, left out, doubled, or replaced by others of Python or Triton.

use arbitrary::{Result, Unstructured};

use super::grammar;

/// Words and signs that a parser, a tracer or a user's hand may trip over.
const WORDS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ".",
    ";",
    "=",
    "==",
    "!=",
    "<",
    ">",
    "<=",
    ">=",
    "+",
    "-",
    "*",
    "**",
    "/",
    "//",
    "%",
    "@",
    "~",
    "<<",
    ">>",
    "&",
    "|",
    "^",
    ":=",
    "->",
    "...",
    "+=",
    "//=",
    "**=",
    "\\",
    "#",
    "\"",
    "'",
    "\"\"\"",
    "f\"{",
    "}\"",
    "b''",
    "if",
    "else",
    "elif",
    "for",
    "while",
    "in",
    "not",
    "and",
    "or",
    "is",
    "return",
    "def",
    "lambda",
    "class",
    "with",
    "try:",
    "except:",
    "finally:",
    "raise",
    "yield",
    "async",
    "await",
    "del",
    "global",
    "nonlocal",
    "match",
    "case",
    "import",
    "from",
    "as",
    "assert",
    "pass",
    "break",
    "continue",
    "None",
    "True",
    "False",
    "range",
    "len",
    "int",
    "float",
    "bool",
    "str",
    "min",
    "max",
    "abs",
    "print",
    "isinstance",
    "tuple",
    "list",
    "type",
    "enumerate",
    "zip",
    "super",
    "self",
    "object",
    "getattr",
    "eval",
    "tl",
    "triton",
    "tl.constexpr",
    "tl.float32",
    "tl.int1",
    "tl.float8e5",
    "tl.uint64",
    "tl.static_range",
    "tl.range",
    "tl.load",
    "tl.store",
    "@triton.jit",
    "@triton.jit(noinline=True)",
    "@triton.autotune(configs=[triton.Config({'N': 32})], key=[])",
    "@triton.heuristics({'N': lambda args: 32})",
    "@tl.constexpr_function",
    "tl.constexpr_function",
    "triton.cdiv",
    "tl.tensor",
    "T",
    "shape",
    "dtype",
    "to",
    "[:, None]",
    "[None]",
    "*args",
    "**kwargs",
    "x",
    "y",
    "i",
    "p",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "127",
    "128",
    "255",
    "256",
    "1024",
    "65536",
    "1048576",
    "1048577",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "170141183460469231731687303715884105728",
    "99999999999999999999999999999999999999999999",
    "0x1F",
    "0b1",
    "0o7",
    "1_000",
    "0.0",
    "1.5",
    "1e10",
    "1e308",
    "1e400",
    "1e-400",
    ".5",
    "2j",
    "-1",
    "-0.0",
];

/// Texts with more bytes are not changed further.
const MAX_LENGTH: usize = 1 << 14;

/// A piece of a line: a word or number, white space, or one sign.
fn split_tokens(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        ' ' => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut last = 2;
    for (at, c) in text.char_indices() {
        let now = kind(c);
        if at > start && (now != last || now == 2) {
            tokens.push(&text[start..at]);
            start = at;
        }
        last = now;
    }
    if start < text.len() {
        tokens.push(&text[start..]);
    }
    tokens
}

fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
}

/// A text with one or two small changes; lines may come out of another text.
pub fn mutate(text: &str, other: Option<&str>, u: &mut Unstructured<'_>) -> Result<String> {
    if text.is_empty() || text.len() > MAX_LENGTH {
        return grammar::generate(u);
    }
    let mut text = text.to_owned();
    for _ in 0..=usize::from(u.ratio(1, 3)?) {
        text = if u.ratio(1, 3)? {
            of_lines(&text, other, u)?
        } else {
            of_tokens(&text, u)?
        };
    }
    Ok(text)
}

fn choose_index(u: &mut Unstructured<'_>, count: usize) -> Result<usize> {
    u.int_in_range(0..=count.saturating_sub(1) as u32)
        .map(|at| at as usize)
}

fn of_lines(text: &str, other: Option<&str>, u: &mut Unstructured<'_>) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return Ok(text.to_owned());
    }
    let (here, there) = (choose_index(u, lines.len())?, choose_index(u, lines.len())?);
    let indent = |line: &str| line[..line.len() - line.trim_start_matches(' ').len()].to_owned();
    match u.int_in_range(0..=8u8)? {
        0 => {
            lines.remove(here);
        }
        1 => {
            let line = lines[here].clone();
            lines.insert(there, line);
        }
        2 => lines.swap(here, there),
        3 => {
            let line = format!("    {}", lines[here]);
            lines[here] = line;
        }
        4 => {
            let line = lines[here].strip_prefix("    ").map(str::to_owned);
            lines[here] = line.unwrap_or_default();
        }
        5 | 6 => {
            let made = grammar::build_expression(u, 2)?;
            let name = grammar::choose_name(u)?;
            let line = format!("{}{name} = {made}", indent(&lines[here]));
            lines.insert(here, line);
        }
        7 => {
            let line = lines[here].trim_start().to_owned();
            let before = indent(&lines[here]);
            let head = *u.choose(&[
                "if n > 3:",
                "for j in range(n):",
                "while h < 4:",
                "if N == 16:",
                "for j in tl.static_range(3):",
            ])?;
            lines.splice(
                here..=here,
                [format!("{before}{head}"), format!("{before}    {line}")],
            );
        }
        _ => {
            let others: Vec<&str> = other.unwrap_or(text).lines().collect();
            if !others.is_empty() {
                let from = choose_index(u, others.len())?;
                let count = u.int_in_range(1..=6)?;
                let part = others[from..].iter().take(count).map(|line| (*line).to_owned());
                let part: Vec<String> = part.collect();
                lines.splice(here..here, part);
            }
        }
    }
    Ok(lines.join("\n") + "\n")
}

fn of_tokens(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let mut tokens = split_tokens(text);
    if tokens.is_empty() {
        // Changes before this one left nothing.
        return grammar::generate(u);
    }
    let (here, there) = (choose_index(u, tokens.len())?, choose_index(u, tokens.len())?);
    let made;
    match u.int_in_range(0..=9u8)? {
        0 => {
            tokens.remove(here);
        }
        1 => tokens.insert(here, tokens[there]),
        2 => tokens.swap(here, there),
        3 => tokens[here] = u.choose(WORDS)?,
        4 => tokens.insert(here, u.choose(WORDS)?),
        5 | 6 => {
            // A value by another one, from here on.
            let value = |token: &&str| grammar::is_value(token);
            let near = tokens[here..].iter().position(value).map(|at| here + at);
            if let Some(near) = near {
                tokens[near] = grammar::choose_name(u)?;
            }
        }
        7 => {
            let near = tokens[here..]
                .iter()
                .position(|token| is_number(token))
                .map(|at| here + at);
            if let Some(near) = near {
                tokens[near] = u.choose(NUMBERS)?;
            }
        }
        8 => {
            let near = tokens[here..].iter().position(|token| grammar::is_value(token));
            made = format!("({})", grammar::build_expression(u, 1)?);
            if let Some(near) = near {
                tokens[here + near] = &made;
            }
        }
        _ => {
            let end = (here + 1 + choose_index(u, 12)?).min(tokens.len());
            tokens.drain(here..end);
        }
    }
    Ok(tokens.concat())
}
