//! `repr` and `str`.

use std::fmt::Write as _;

use crate::float;
use crate::object::{Object, View};

/// `str(value)`.
pub fn str_of<V: Object>(value: &V) -> String {
    match value.view() {
        View::Str(text) => text.to_owned(),
        _ => repr_of(value),
    }
}

/// `repr(value)`.
pub fn repr_of<V: Object>(value: &V) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write<V: Object>(out: &mut String, value: &V) {
    match value.view() {
        View::None => out.push_str("None"),
        View::Bool(true) => out.push_str("True"),
        View::Bool(false) => out.push_str("False"),
        View::Int(value) => {
            let _ = write!(out, "{value}");
        }
        View::Float(value) => out.push_str(&float::format_repr(value)),
        View::Str(text) => write_quoted(out, text),
        View::Tuple(items) => {
            out.push('(');
            write_items(out, items);
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
        }
        View::List(items) => {
            out.push('[');
            write_items(out, items);
            out.push(']');
        }
        View::Dict(items) => {
            out.push('{');
            for (nth, (key, value)) in items.iter().enumerate() {
                if nth > 0 {
                    out.push_str(", ");
                }
                write(out, key);
                out.push_str(": ");
                write(out, value);
            }
            out.push('}');
        }
        View::Other => out.push_str(&value.other_repr()),
    }
}

fn write_items<V: Object>(out: &mut String, items: &[V]) {
    for (nth, item) in items.iter().enumerate() {
        if nth > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

/// `repr(text)`.
pub fn quote(text: &str) -> String {
    let mut out = String::new();
    write_quoted(&mut out, text);
    out
}

fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            char if char == quote => {
                out.push('\\');
                out.push(char);
            }
            char if is_printable(char) => out.push(char),
            char => {
                let code = u32::from(char);
                let _ = match code {
                    0..0x100 => write!(out, "\\x{code:02x}"),
                    0x100..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

fn is_printable(char: char) -> bool {
    match u32::from(char) {
        0x20..0x7f => true,
        0..0xa1 | 0xad => false,
        // Python escapes the characters that Rust's `Debug` escapes inside of a text.
        _ => {
            let text: String = ['a', char].into_iter().collect();
            text.escape_debug().count() == 2
        }
    }
}
