//! A module joined with the functions that it imports from its package, as one text, so that calls of them can be
//! evaluated. Modules imported as a whole, and imports inside of functions, are not joined.

use std::collections::BTreeSet;
use std::ops::Range;

use ruff_python_ast::PySourceType;

use super::imports::{ImportedItem, imports_of};
use super::{FOREIGN, Read, apply_edits, extract_functions};
use crate::module;
use crate::piece::{Role, read_pieces};

/// A joined text, whose last lines are those of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The text.
    pub text: String,
    /// The lines before the module.
    pub lines_before: u32,
}

/// Joins the module at `path` with the functions that it imports from its package. `kernels` is the module with the
/// kernels that it launches, and its text, if that is another module. Returns `None` if the module imports nothing
/// from the package, or has a syntax error.
pub fn join_modules(path: &str, kernels: Option<(&str, &str)>, read: &Read<'_>) -> Option<Joined> {
    let text = read(path)?;
    let names = list_names(&text)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let parts = extract_functions(path, "module", &names, read).ok()?;
    let is_kernels = |origin: &str| kernels.is_some_and(|(path, _)| path == origin);
    if !parts
        .iter()
        .skip(1)
        .any(|part| kernels.is_none() || is_kernels(&part.origin))
    {
        return None;
    }
    let others = parts.iter().skip(1).filter(|part| !is_kernels(&part.origin));
    let mut texts: Vec<&str> = others.map(|part| part.text.as_str()).collect();
    texts.extend(kernels.map(|(_, text)| text));
    let mut bound = BTreeSet::new();
    for text in &texts {
        bound.extend(list_names(text)?);
    }
    let mut joined = String::new();
    for text in texts {
        joined.push_str(&drop_imports(text, &bound));
        joined.push('\n');
    }
    let lines_before = joined.matches('\n').count() as u32;
    joined.push_str(&drop_imports(&text, &bound));
    Some(Joined {
        text: joined,
        lines_before,
    })
}

/// The names that a module binds, other than by imports. Returns `None` if it has a syntax error.
fn list_names(text: &str) -> Option<BTreeSet<String>> {
    module::parse(cerith_tile::source::SourceId(0), text).ok()?;
    module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let body = &parsed.syntax().body;
        let imported: BTreeSet<String> = imports_of(body)
            .into_iter()
            .flat_map(|import| import.aliases)
            .map(|alias| alias.bound)
            .collect();
        let pieces = read_pieces(body)
            .into_iter()
            .filter(|piece| piece.role != Role::Program);
        let names = pieces.flat_map(|piece| piece.binds);
        Some(names.filter(|name| !imported.contains(name)).collect())
    })
}

/// A text without the imports of names that the joined text binds.
fn drop_imports(text: &str, bound: &BTreeSet<String>) -> String {
    let edits = module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        for import in imports_of(&parsed.syntax().body) {
            let is_joined = |item: &ImportedItem| match item {
                ImportedItem::From { level, module, name } => {
                    let first = module.split('.').next().unwrap_or_default();
                    (*level > 0 || !FOREIGN.contains(&first)) && bound.contains(name)
                }
                ImportedItem::Module(_) => false,
            };
            if !import.aliases.iter().any(|alias| is_joined(&alias.item)) {
                continue;
            }
            let statements = import.aliases.iter().filter_map(|alias| match &alias.item {
                ImportedItem::From { name, .. } if is_joined(&alias.item) => {
                    (*name != alias.bound).then(|| format!("{} = {name}", alias.bound))
                }
                _ => Some(alias.render()),
            });
            let mut statements: Vec<String> = statements.collect();
            if statements.is_empty() {
                statements.push("pass".to_owned());
            }
            edits.push((import.range, statements.join("; ")));
        }
        edits
    });
    apply_edits(text, edits)
}
