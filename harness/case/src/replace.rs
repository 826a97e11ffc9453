//! Edits of a kernel's text that follow from a mistake: another name, or a missing import.

use std::ops::Range;

use cerith_tile::source::SourceId;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{PySourceType, Stmt};
use ruff_text_size::Ranged as _;

use crate::comment::find_kernel_bytes;
use cerith_module::module;

/// Replaces a name (`tl.tanh`, `offsets`) by another one wherever a kernel uses it. `None` if the text has a syntax error, or the
/// kernel doesn't use it.
pub fn rename(text: &str, kernel: &str, old: &str, new: &str) -> Option<String> {
    module::parse(SourceId::default(), text).ok()?;
    module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let within = find_kernel_bytes(&parsed.syntax().body, kernel)?;
        let tokens: Vec<(TokenKind, Range<usize>)> = parsed
            .tokens()
            .iter()
            .map(|token| (token.kind(), token.start().to_usize()..token.end().to_usize()))
            .filter(|(_, range)| within.start <= range.start && range.end <= within.end)
            .collect();
        let parts: Vec<&str> = old.split('.').collect();
        let count = parts.len() * 2 - 1;
        let is_name = |window: &[(TokenKind, Range<usize>)]| {
            window.iter().enumerate().all(|(nth, (kind, range))| {
                let expected = if nth % 2 == 1 {
                    Some(&".")
                } else {
                    parts.get(nth / 2)
                };
                let is_kind = if nth % 2 == 1 {
                    *kind == TokenKind::Dot
                } else {
                    *kind == TokenKind::Name
                };
                is_kind && text.get(range.clone()) == expected.copied()
            })
        };
        let mut edited = String::new();
        let mut done = 0;
        let mut nth = 0;
        while let Some(window) = tokens.get(nth..nth + count) {
            let is_attribute = nth > 0
                && tokens
                    .get(nth - 1)
                    .is_some_and(|(kind, _)| *kind == TokenKind::Dot);
            // The keyword of a call is another name.
            let is_keyword = matches!(tokens.get(nth + count), Some((TokenKind::Equal, _)));
            if is_name(window) && !is_attribute && !is_keyword {
                let start = window.first()?.1.start;
                edited.push_str(text.get(done..start)?);
                edited.push_str(new);
                done = window.last()?.1.end;
                nth += count;
            } else {
                nth += 1;
            }
        }
        edited.push_str(text.get(done..)?);
        (done > 0).then_some(edited)
    })
}

/// Adds an import after the imports of a module. `None` if it has none, or a syntax error.
pub fn add_import(text: &str, import: &str) -> Option<String> {
    module::parse(SourceId::default(), text).ok()?;
    module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let is_import = |stmt: &&Stmt| matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_));
        let last = parsed.syntax().body.iter().rfind(is_import)?;
        let end = last.end().to_usize();
        let line = text.get(end..)?.find('\n').map_or(text.len(), |at| end + at + 1);
        let (before, after) = text.split_at_checked(line)?;
        let separator = if before.ends_with('\n') { "" } else { "\n" };
        Some(format!("{before}{separator}{import}\n{after}"))
    })
}

/// Whether a module binds a name at its top level by an import.
pub fn imports_name(text: &str, name: &str) -> bool {
    if module::parse(SourceId::default(), text).is_err() {
        return true;
    }
    module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        parsed.syntax().body.iter().any(|stmt| {
            let names = match stmt {
                Stmt::Import(import) => &import.names,
                Stmt::ImportFrom(import) => &import.names,
                _ => return false,
            };
            names.iter().any(|alias| {
                let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                bound.split('.').next() == Some(name)
            })
        })
    })
}
