//! The top-level statements of a module, and which of them a kernel depends on.
//!
//! A file holds many kernels, and a change to one of them need not change the others. A kernel depends on the
//! statements that its name leads to, through every name that they mention, at any depth. Including too many
//! statements is safe, and too few is not. So scopes are not distinguished, a statement that binds no name belongs to
//! every kernel, and a loop or a branch belongs to the kernels that use a name that it mentions.
//!
//! Statements of other files are taken whole, see [`crate::kernel::Module::imports`].

use std::collections::HashSet;
use std::ops::Range;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{CmpOp, Expr, ExprContext, Stmt};
use ruff_text_size::Ranged;

use crate::free::free_names;

/// A top-level statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The bytes of the file that it is.
    pub range: Range<usize>,
    /// Names that it binds at the top level.
    pub binds: Vec<String>,
    /// Names that it mentions anywhere, sorted.
    pub mentions: Vec<String>,
    /// Of these, the names that it takes from the module, sorted: what functions bind for themselves is not among them.
    pub takes: Vec<String>,
    /// Its role in the module.
    pub role: Role,
}

/// The role of a top-level statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It defines a function or a class, or imports something: nothing happens but that a name is bound.
    Definition,
    /// It decides how the rest is read, or binds unknown names: `from __future__ import …`, `from … import *`.
    Preamble,
    /// It is for a file that is run as a program: `if __name__ == "__main__":`.
    Program,
    /// A loop, a branch, a `with` or a `try`: besides binding names, it may change values.
    Block,
    /// Anything else.
    Statement,
}

impl Role {
    fn from_statement(stmt: &Stmt) -> Self {
        match stmt {
            Stmt::ImportFrom(import)
                if import
                    .module
                    .as_ref()
                    .is_some_and(|module| module == "__future__")
                    || import.names.iter().any(|alias| &alias.name == "*") =>
            {
                Self::Preamble
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Import(_) | Stmt::ImportFrom(_) => {
                Self::Definition
            }
            Stmt::If(branch) if branch.elif_else_clauses.is_empty() && is_program(&branch.test) => {
                Self::Program
            }
            Stmt::For(_) | Stmt::While(_) | Stmt::If(_) | Stmt::With(_) | Stmt::Try(_) | Stmt::Match(_) => {
                Self::Block
            }
            _ => Self::Statement,
        }
    }
}

/// Whether a condition is `__name__ == "__main__"`.
fn is_program(test: &Expr) -> bool {
    let Expr::Compare(compare) = test else {
        return false;
    };
    let sides = || std::iter::once(&*compare.left).chain(&compare.comparators);
    matches!(&compare.ops[..], [CmpOp::Eq])
        && sides().any(|side| matches!(side, Expr::Name(name) if &name.id == "__name__"))
        && sides().any(|side| matches!(side, Expr::StringLiteral(text) if text.value.to_str() == "__main__"))
}

/// The statements of a module, without strings that are statements by themselves: those are documentation.
pub fn read_pieces(body: &[Stmt]) -> Vec<Piece> {
    body.iter()
        .filter(|stmt| !matches!(stmt, Stmt::Expr(expr) if expr.value.is_string_literal_expr()))
        .map(|stmt| {
            let mut walk = Walk::default();
            walk.visit_stmt(stmt);
            walk.mentions.sort_unstable();
            walk.mentions.dedup();
            Piece {
                range: stmt.range().start().to_usize()..stmt.range().end().to_usize(),
                binds: walk.binds,
                mentions: walk.mentions,
                takes: free_names(stmt),
                role: Role::from_statement(stmt),
            }
        })
        .collect()
}

/// The statements that a name leads to, in the order of the file, by position in `pieces`.
pub fn find_reachable(pieces: &[Piece], name: &str) -> Vec<usize> {
    let mut reached: Vec<bool> = pieces.iter().map(|piece| piece.binds.is_empty()).collect();
    let mut wanted = vec![name];
    for (piece, _) in pieces.iter().zip(&reached).filter(|(_, reached)| **reached) {
        wanted.extend(piece.mentions.iter().map(String::as_str));
    }
    let mut names: HashSet<&str> = HashSet::new();
    loop {
        while let Some(name) = wanted.pop() {
            for (piece, reached) in pieces.iter().zip(&mut reached) {
                if !*reached && piece.binds.iter().any(|bound| bound == name) {
                    *reached = true;
                    wanted.extend(piece.mentions.iter().map(String::as_str));
                }
            }
        }
        names.extend(
            pieces
                .iter()
                .zip(&reached)
                .filter(|(_, reached)| **reached)
                .flat_map(|(piece, _)| piece.binds.iter().map(String::as_str)),
        );
        // A loop may change what it does not bind.
        let changing = |piece: &Piece| piece.mentions.iter().any(|name| names.contains(&**name));
        for (piece, reached) in pieces.iter().zip(&mut reached) {
            if !*reached && piece.role == Role::Block && changing(piece) {
                *reached = true;
                wanted.extend(piece.mentions.iter().map(String::as_str));
            }
        }
        if wanted.is_empty() {
            break;
        }
    }
    reached
        .iter()
        .enumerate()
        .filter_map(|(at, &reached)| reached.then_some(at))
        .collect()
}

#[derive(Default)]
struct Walk {
    binds: Vec<String>,
    mentions: Vec<String>,
    /// How many functions and classes the walk is inside of.
    inside: usize,
}

impl Walk {
    fn bind(&mut self, name: &str) {
        if self.inside == 0 {
            self.binds.push(name.to_owned());
        }
    }
}

impl<'a> Visitor<'a> for Walk {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => self.bind(&def.name),
            Stmt::ClassDef(def) => self.bind(&def.name),
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.bind(name.split('.').next().unwrap_or_default());
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name));
                }
            }
            _ => {}
        }
        let scope = matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        self.inside += usize::from(scope);
        walk_stmt(self, stmt);
        self.inside -= usize::from(scope);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            if name.ctx == ExprContext::Store {
                self.bind(&name.id);
            }
            self.mentions.push(name.id.to_string());
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use ruff_python_ast::PySourceType;

    use super::*;

    fn check(text: &str, kernel: &str, expected: &[&str]) {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let pieces = read_pieces(&parsed.syntax().body);
        let found: Vec<&str> = find_reachable(&pieces, kernel)
            .into_iter()
            .map(|at| text[pieces[at].range.clone()].lines().next().unwrap_or_default())
            .collect();
        assert_eq!(found, expected);
    }

    const FILE: &str = "\
'''Kernels.'''
import triton
import triton.language as tl
import os
SIZE: tl.constexpr = 4
OTHER = 5
@triton.jit
def add(x):
    return x + SIZE
@triton.jit
def twice(x):
    return add(add(x))
@triton.jit
def unrelated(x):
    return x * OTHER
";

    #[test]
    fn a_kernel_is_what_its_name_leads_to() {
        let expected = [
            "import triton",
            "import triton.language as tl",
            "SIZE: tl.constexpr = 4",
            "@triton.jit",
            "@triton.jit",
        ];
        check(FILE, "twice", &expected);
        check(FILE, "add", &expected[..4]);
        check(FILE, "nobody", &[]);
    }

    #[test]
    fn what_binds_no_name_belongs_to_every_kernel() {
        check(
            "import os\nos.environ['A'] = '1'\ndef k(): pass\nx = 1\n",
            "k",
            &["import os", "os.environ['A'] = '1'", "def k(): pass"],
        );
    }

    #[test]
    fn a_loop_that_may_change_what_a_kernel_takes_belongs_to_it() {
        check(
            "T = {}\nfor i in r: T[i] = f(i)\ndef f(i): pass\nfor j in q: pass\ndef k(): return T\n",
            "k",
            &[
                "T = {}",
                "for i in r: T[i] = f(i)",
                "def f(i): pass",
                "def k(): return T",
            ],
        );
    }

    #[test]
    fn names_bound_in_branches_and_by_several_statements_count() {
        check(
            "try:\n    A = 1\nexcept E:\n    A = 2\nA += 1\nfor i in r: B = i\ndef k(): return A\n",
            "k",
            &["try:", "A += 1", "def k(): return A"],
        );
    }
}
