//! Other names of `triton.jit`: `from triton import jit as j`, `j = triton.jit`. A text with such names is rewritten
//! to use `jit`, which every reader of kernels recognises. Names that a function binds, and names from other modules,
//! are not rewritten.

use std::borrow::Cow;
use std::ops::Range;

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{self as ast, Expr, PySourceType, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::decorators::is_jit;
use crate::module;

/// The text with `jit` in place of other names that the module has for `triton.jit`, each line where it was.
pub fn rename_jit(text: &str) -> Cow<'_, str> {
    if !text.contains("jit as ") && !text.contains(".jit\n") {
        return Cow::Borrowed(text);
    }
    if module::parse(cerith_tile::source::SourceId(0), text).is_err() {
        return Cow::Borrowed(text);
    }
    let edits = module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let mut renamer = Renamer::default();
        renamer.find_aliases(&parsed.syntax().body);
        if !renamer.aliases.is_empty() && !renamer.is_bound {
            renamer.visit_body(&parsed.syntax().body);
            renamer.edits
        } else {
            Vec::new()
        }
    });
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let edits = edits.into_iter().map(|range| (range, "jit".to_owned())).collect();
    Cow::Owned(super::apply_edits(text, edits))
}

#[derive(Default)]
struct Renamer<'a> {
    aliases: Vec<&'a str>,
    /// Whether the module has another `jit`.
    is_bound: bool,
    edits: Vec<Range<usize>>,
}

impl<'a> Renamer<'a> {
    fn find_aliases(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::ImportFrom(import) => {
                    let module = import.module.as_ref().map_or("", |module| module.as_str());
                    let is_triton = module == "triton" || module.starts_with("triton.");
                    for alias in &import.names {
                        match &alias.asname {
                            Some(bound)
                                if is_triton && alias.name.as_str() == "jit" && bound.as_str() != "jit" =>
                            {
                                self.aliases.push(bound.as_str());
                                self.edit(bound.range());
                            }
                            bound => {
                                let bound = bound.as_ref().unwrap_or(&alias.name);
                                self.is_bound |= bound.as_str() == "jit";
                            }
                        }
                    }
                }
                Stmt::Assign(assign) => {
                    let [Expr::Name(target)] = &assign.targets[..] else {
                        continue;
                    };
                    self.is_bound |= target.id.as_str() == "jit";
                    if matches!(&*assign.value, Expr::Attribute(_)) && is_jit(&assign.value) {
                        self.aliases.push(target.id.as_str());
                    }
                }
                Stmt::FunctionDef(def) => self.is_bound |= def.name.as_str() == "jit",
                _ => super::visit_bodies(stmt, &mut |body| self.find_aliases(body)),
            }
        }
    }

    fn edit(&mut self, range: TextRange) {
        self.edits.push(range.start().to_usize()..range.end().to_usize());
    }
}

impl<'a> Visitor<'a> for Renamer<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(ast::ExprName { id, .. }) = expr
            && self.aliases.contains(&id.as_str())
        {
            self.edit(expr.range());
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(rename_jit(text), expected);
    }

    #[test]
    fn other_names_of_jit_become_jit() {
        check(
            "from triton import jit as j\n@j\ndef f(x): pass\ng = j(f)\n",
            "from triton import jit as jit\n@jit\ndef f(x): pass\ng = jit(f)\n",
        );
        check(
            "import triton\nkernel = triton.jit\n@kernel\ndef f(x): pass\n",
            "import triton\njit = triton.jit\n@jit\ndef f(x): pass\n",
        );
        for kept in [
            "from numba import jit as j\n@j\ndef f(x): pass\n",
            "from triton import jit as j\nfrom numba import jit\n@j\ndef f(x): pass\n",
            "from triton import jit as j\ndef f(: pass\n",
        ] {
            check(kept, kept);
        }
    }
}
