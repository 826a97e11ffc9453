//! Small changes of a case file: its lines and values moved, left out, doubled, or replaced by others of the format.

use arbitrary::{Result, Unstructured};

use super::SEEDS;

/// Values that some key takes, and some that none does.
const VALUES: &[&str] = &[
    "x",
    "left",
    "\"{dtype}\"",
    "\"{n}\"",
    "\"{n + 1}\"",
    "{",
    "}",
    "null",
    "true",
    ".nan",
    ".inf",
    "-0.0",
    "1e400",
    "0x1F",
    "0",
    "1",
    "-1",
    "16",
    "4096",
    "2**64",
    "9223372036854775807",
    "99999999999999999999999999999999999999999",
    "\"x[1:]\"",
    "x.T",
    "x.view(-1)",
    "\"x[:, None]\"",
    "x.data_ptr()",
    "x.stride(0)",
    "\"x.expand(2**40, 4, 6)\"",
    "\"x.as_strided((2,), (3,))\"",
    "\"[0] * 10**10\"",
    "\"'y' * 10**9\"",
    "9**9**9",
    "[1, 2]",
    "[]",
    "{}",
    "[[1]]",
    "{ a: 1 }",
    "[4, 6]",
    "[n]",
    "bits(0x1)",
    "arange",
    "uninit",
    "zeros",
    "f32",
    "f16",
    "i1",
    "u64",
    "fp8e5",
    "float32",
    "tl.float32",
    "\"'relu'\"",
    "[x for x in x]",
    "lambda",
    "cdiv(n, 4)",
    "data.zip/kept",
    "data.zip/nothing",
    "k.py:kernel",
    "k.py:launch",
    "k.py:nothing",
    "{ random: { seed: 3, low: -1, high: 5 } }",
    "{ full: 3 }",
    "{ addresses: [x] }",
    "{ bytes: data.zip/kept }",
    "{ global: make }",
    "{ constexpr: 4 }",
    "{ descriptor: x, block_shape: [4, 4] }",
    "interpret@3.6.0+host",
    "reference",
    "\">=3.0,<3.3\"",
    "differ",
    "trapped",
    "num_warps",
    "é",
    "\"\\u0000\"",
    "'a''b'",
    "&a [1]",
    "*a",
    "!!binary aGk=",
    "|\n  text",
    ">-\n  text",
    "# comment",
    "? a",
    "- a",
    "---",
    "...",
];

/// Lines that may be anywhere.
const LINES: &[&str] = &[
    "about: another",
    "kernel: k.py:kernel",
    "import: k.py",
    "origin: by hand",
    "matrix: { n: [1, 2] }",
    "  n: [1, 2, 3]",
    "  m: { a: 1, b: 2 }",
    "  include: [{ n: 1 }]",
    "  exclude: [n > 1]",
    "storages:",
    "  y: { dtype: f32, shape: [4], fill: arange }",
    "  z: { dtype: i64, shape: [2], fill: [1, 2] }",
    "tensors:",
    "  t: x[0]",
    "  u: x.T.contiguous()",
    "launches:",
    "  - { grid: [1], args: [x] }",
    "  - { grid: [1, 2, 3], args: { x: x, n: 2 } }",
    "  - grid: [1]",
    "    args: { x: left }",
    "    unchecked: true",
    "    options: { num_warps: 8, debug: true }",
    "    host: k.py:launch",
    "    kernel: kernel",
    "compile: { dynamic: true }",
    "recorded: { engine: cuda@3.6.0 }",
    "expect:",
    "  - { engine: interpret, verdict: differ, why: a bug }",
    "nothing: 3",
    "<<: { about: x }",
];

/// Texts with more bytes are not changed further.
const MAX_LENGTH: usize = 1 << 13;

/// A piece of text that YAML, Python or placeholders care about.
pub fn choose_fragment(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=3u8)? {
        0 => {
            const SIGNS: &[u8] = b"[]{}:,'\"#&*!|>%@`\\ \n\t-?";
            let count = u.int_in_range(1..=4u8)?;
            let signs = (0..count).map(|_| u.choose(SIGNS).map(|&sign| char::from(sign)));
            signs.collect::<Result<String>>()?
        }
        1 => u.arbitrary::<char>()?.to_string(),
        _ => (*u.choose(VALUES)?).to_owned(),
    })
}

fn choose_index(u: &mut Unstructured<'_>, count: usize) -> Result<usize> {
    u.int_in_range(0..=count.saturating_sub(1) as u32)
        .map(|at| at as usize)
}

/// A case file with one to three small changes.
pub fn mutate(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let mut text = if text.is_empty() || text.len() > MAX_LENGTH {
        (*u.choose(&SEEDS)?).to_owned()
    } else {
        text.to_owned()
    };
    for _ in 0..u.int_in_range(1..=3)? {
        text = match u.int_in_range(0..=8u8)? {
            0..3 => of_numbers(&text, u)?,
            3..5 => of_lines(&text, u)?,
            _ => of_values(&text, u)?,
        };
    }
    Ok(text)
}

fn of_lines(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return Ok((*u.choose(&SEEDS)?).to_owned());
    }
    let (here, there) = (choose_index(u, lines.len())?, choose_index(u, lines.len())?);
    match u.int_in_range(0..=6u8)? {
        0 => {
            lines.remove(here);
        }
        1 => lines.insert(there, lines[here].clone()),
        2 => lines.swap(here, there),
        3 => lines[here].insert_str(0, "  "),
        4 => {
            let line = lines[here].strip_prefix("  ").map(str::to_owned);
            lines[here] = line.unwrap_or_default();
        }
        _ => lines.insert(here, (*u.choose(LINES)?).to_owned()),
    }
    Ok(lines.join("\n") + "\n")
}

/// A number by another one.
fn of_numbers(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    const NUMBERS: &[&str] = &[
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "16",
        "24",
        "-1",
        "64",
        "1.5",
        "4294967296",
    ];
    let digit = |c: char| c.is_ascii_digit();
    let starts: Vec<usize> = text
        .match_indices(digit)
        .map(|(start, _)| start)
        .filter(|&start| !text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '.'))
        .collect();
    let Some(&start) = starts.get(choose_index(u, starts.len())?) else {
        return Ok(text.to_owned());
    };
    let length = text[start..].find(|c| !digit(c)).unwrap_or(text.len() - start);
    Ok([&text[..start], u.choose(NUMBERS)?, &text[start + length..]].concat())
}

/// The boundaries of values and keys: signs of YAML's flow style separate them.
fn of_values(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let parts: Vec<&str> = text
        .split_inclusive([' ', ',', '\n', '[', ']', '{', '}', ':'])
        .collect();
    let here = choose_index(u, parts.len())?;
    let mut made: Vec<&str> = parts.clone();
    let with = choose_fragment(u)?;
    let other = choose_index(u, parts.len())?;
    let last = |part: &str| part.len() - part.chars().next_back().map_or(0, char::len_utf8);
    let replaced = parts.get(here).map(|part| [&with, &part[last(part)..]].concat());
    if let (Some(replaced), Some(slot)) = (&replaced, made.get_mut(here)) {
        match u.int_in_range(0..=4u8)? {
            0 => *slot = "",
            1 => *slot = parts[other],
            2 => made.insert(here, parts[other]),
            _ => *slot = replaced,
        }
    }
    Ok(made.concat())
}
