//! Kernels by a grammar: phrases that use Triton's functions as intended (`phrases.txt`, one expression per line), put into each
//! other and into statements. Most of the kernels are valid, and enough are not.

use std::fmt::Write as _;
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};

use super::launch::HEAD;

/// Expressions over the names that [`NAMES`] binds.
static PHRASES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let lines = include_str!("phrases.txt").lines();
    lines.filter(|line| !line.is_empty()).collect()
});

/// The meanings of names in phrases.
const NAMES: [(&str, &str); 13] = [
    ("i", "tl.arange(0, 16)"),
    ("c", "tl.arange(0, 16) < 8"),
    ("h", "tl.program_id(0)"),
    ("x", "tl.load(p + tl.arange(0, 16))"),
    ("y", "tl.load(p + 16 + tl.arange(0, 16))"),
    ("s", "tl.load(p)"),
    (
        "m",
        "tl.load(p + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])",
    ),
    (
        "k",
        "tl.load(p + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])",
    ),
    ("w", "tl.zeros([16, 16], tl.float32)"),
    ("d", "tl.make_tensor_descriptor(p, [16, 16], [16, 1], [8, 16])"),
    ("r", "tl.make_tensor_descriptor(p, [16, 16], [16, 1], [1, 16])"),
    ("b", "tl.make_block_ptr(p, [64], [1], [0], [16], [0])"),
    ("scale", "tl.full([16, 1], 127, tl.uint8)"),
];

/// How many of them are numbers: blocks and scalars.
const NUMBERS: usize = 9;

/// Functions that phrases call.
const MODULE: &str = "\
import triton
import triton.language as tl
from triton.language.extra import libdevice

K: tl.constexpr = 3
names = [1, 2]


@triton.jit
def pair(a, b):
    return a + b


@triton.jit
def two(a, i, b, j):
    more = a > b
    return tl.where(more, a, b), tl.where(more, i, j)


@triton.jit
def many(a, n, *rest, scale: tl.constexpr = 2):
    if n > 3:
        return a * scale
    return a


@triton.jit
def deep(a, n: tl.constexpr):
    if n == 0:
        return a
    return deep(a + n, n - 1)

";

const POINTEES: [&str; 16] = [
    "f32", "i32", "f16", "f32", "bf16", "i1", "i8", "i64", "u8", "u32", "f64", "i16", "fp8e5", "fp8e4nv",
    "u64", "u16",
];

/// The word that can stand for a value, and whether it is one.
pub(super) fn is_value(word: &str) -> bool {
    word == "n" || word == "N" || NAMES.iter().any(|(name, _)| *name == word)
}

/// Some phrase, as it is in the list.
pub(super) fn choose_phrase(u: &mut Unstructured<'_>) -> Result<&'static str> {
    u.choose(&PHRASES).copied()
}

/// Some name of a number or of a block of them.
pub(super) fn choose_name(u: &mut Unstructured<'_>) -> Result<&'static str> {
    Ok(u.choose(&NAMES[..NUMBERS])?.0)
}

/// A phrase, some of whose names are phrases themselves or other names.
pub(super) fn build_expression(u: &mut Unstructured<'_>, depth: usize) -> Result<String> {
    let phrase = choose_phrase(u)?;
    if depth == 0 || u.ratio(1, 3)? {
        return Ok(phrase.to_owned());
    }
    let mut made = String::new();
    let mut rest = phrase;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (first, after) = rest.split_at(word.max(rest.chars().next().map_or(1, char::len_utf8)));
        // `x` of `tl.x` and of `x=` is not a value.
        let free = is_value(first) && !made.ends_with('.') && !after.starts_with('=');
        if free && u.ratio(1, 4)? {
            if u.ratio(1, 2)? {
                made.push('(');
                made.push_str(&build_expression(u, depth - 1)?);
                made.push(')');
            } else {
                made.push_str(choose_name(u)?);
            }
        } else {
            made.push_str(first);
        }
        rest = after;
    }
    Ok(made)
}

struct Body<'u, 'b> {
    u: &'u mut Unstructured<'b>,
    text: String,
    left: usize,
}

impl Body<'_, '_> {
    fn emit_line(&mut self, depth: usize, text: &str) {
        self.text.push_str(&"    ".repeat(depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn block(&mut self, depth: usize) -> Result<()> {
        let count = self.u.int_in_range(1..=3)?;
        for _ in 0..count {
            self.emit_statement(depth)?;
        }
        Ok(())
    }

    fn emit_statement(&mut self, depth: usize) -> Result<()> {
        self.left = self.left.saturating_sub(1);
        let nests = depth < 4 && self.left > 0;
        let depth_of_value = usize::from(self.u.ratio(1, 2)?);
        let value = build_expression(self.u, depth_of_value)?;
        let variable = choose_name(self.u)?;
        match self.u.int_in_range(0..=29u8)? {
            0 if nests => {
                self.emit_line(depth, &format!("if {value}:"));
                self.block(depth + 1)?;
                if self.u.arbitrary()? {
                    self.emit_line(depth, "else:");
                    self.block(depth + 1)?;
                }
            }
            1 | 2 if nests => {
                let condition = *self
                    .u
                    .choose(&["n > 3", "h == 0", "N == 16", "s > 0", "c", "K > 3"])?;
                self.emit_line(depth, &format!("if {condition}:"));
                self.block(depth + 1)?;
                if self.u.arbitrary()? {
                    self.emit_line(depth, "else:");
                    self.block(depth + 1)?;
                }
            }
            3 | 4 if nests => {
                let range = *self.u.choose(&[
                    "range(n)",
                    "range(0, n, 2)",
                    "range(3)",
                    "tl.range(0, n, num_stages=2)",
                    "tl.static_range(3)",
                    "tl.static_range(N)",
                    "tl.range(n, 0, -1)",
                    "(x, y)",
                ])?;
                self.emit_line(depth, &format!("for j in {range}:"));
                self.block(depth + 1)?;
            }
            5 if nests => {
                let condition = *self.u.choose(&["h < 4", "n > 0", "s < 3", "N > 20", "True"])?;
                self.emit_line(depth, &format!("while {condition}:"));
                self.block(depth + 1)?;
                self.emit_line(depth + 1, "h += 1");
            }
            6 if self.u.ratio(1, 4)? => {
                let odd = *self.u.choose(&[
                    "pass",
                    "return",
                    "break",
                    "continue",
                    "del x",
                    "global K",
                    "import math",
                    "assert n > 0, \"no\"",
                    "raise ValueError",
                    "x: tl.constexpr = 5",
                    "N = 3",
                    "x, y = y, x",
                    "a, *rest = x, y, s",
                    "x.y = 3",
                    "x[0] = 3",
                    "class A: pass",
                    "with tl.async_task([0]): x += 1",
                    "try: pass\n    except: pass",
                    "def inner(a): return a + 1",
                    "nonlocal x",
                    "match n:\n        case 1: pass",
                ])?;
                self.emit_line(depth, odd);
            }
            7 => {
                let value = if self.u.arbitrary()? { value } else { String::new() };
                self.emit_line(depth, &format!("return {value}"));
            }
            8 | 9 => self.emit_line(depth, &value),
            10..=12 => {
                let op = *self.u.choose(&[
                    "+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@",
                ])?;
                self.emit_line(depth, &format!("{variable} {op}= {value}"));
            }
            13 | 14 => {
                let other = choose_name(self.u)?;
                self.emit_line(depth, &format!("{variable}, {other} = {value}"));
            }
            15..=17 => self.emit_line(depth, &format!("tl.store(p + i, {value})")),
            _ => self.emit_line(depth, &format!("{variable} = {value}")),
        }
        Ok(())
    }
}

/// A file with a kernel.
pub fn generate(u: &mut Unstructured<'_>) -> Result<String> {
    let pointee = *u.choose(&POINTEES)?;
    let minor = if u.ratio(1, 4)? {
        u.int_in_range(0..=9)?
    } else {
        9u8
    };
    let n = *u.choose(&["5", "5", "5", "1", "0", "-3", "2147483648", "True", "2.5", "*i32"])?;
    let mut body = Body {
        left: u.int_in_range(1..=8)?,
        u,
        text: String::new(),
    };
    while body.left > 0 && !body.u.is_empty() {
        body.emit_statement(1)?;
    }
    let body = body.text;
    let mentions = |name: &str| {
        body.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == name)
    };
    let mut text = format!("{HEAD} @kernel v3.{minor} *{pointee} *f32 {n} N=16\n{MODULE}\n");
    text.push_str("@triton.jit\ndef kernel(p, q, n, N: tl.constexpr):\n");
    for (name, value) in NAMES {
        if mentions(name) || name == "i" {
            let _ = writeln!(text, "    {name} = {value}");
        }
    }
    text.push_str(&body);
    Ok(text)
}
