//! The needed part of a module: the statements that some names lead to, and nothing else.
//!
//! A library's own file has imports that its kernels do not need (torch, other files), tests, and a program at its end. Only
//! the part that the kernel needs is loaded: its definition, the functions and globals that it uses, and those that these use.
//! Statements that bind no name, loops and branches are loaded if they may change one of these values, or use nothing else.
//! All others become blank lines, so that every line keeps its number.
//!
//! See [`crate::piece`] for the kernels that a change of the file may affect, which is decided with more caution.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::kernel::Module;
use crate::piece::{Piece, Role};

/// After this many rounds of looking for statements that change what is kept, all statements are kept.
const ROUNDS: usize = 64;

/// Code that uses one of these may use any name.
const DYNAMIC_NAMES: [&str; 6] = ["__import__", "eval", "exec", "globals", "locals", "vars"];

impl Module {
    /// The text with only the statements that these names lead to (a dotted name by its first part) on their lines, and
    /// nothing on all other lines.
    pub fn text_for<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Arc<str> {
        let text = &self.file.text;
        let kept = find_needed_pieces(&self.pieces, text, names);
        if kept.iter().all(|&kept| kept) {
            return Arc::clone(text);
        }
        blank_lines(&lines_of(&self.pieces, text), text, &kept).into()
    }
}

/// Which statements of a text these names lead to.
pub fn find_needed_pieces<'n>(
    pieces: &[Piece],
    text: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Vec<bool> {
    DependencyFinder::new(pieces, &lines_of(pieces, text)).find(names)
}

/// The text with nothing on the lines of statements that are not kept. `lines` are those of each statement.
pub fn blank_lines(lines: &[(usize, usize)], text: &str, kept: &[bool]) -> String {
    let mut blank = Vec::new();
    for ((first, last), &kept) in lines.iter().zip(kept) {
        if !kept {
            blank.extend(*first..=*last);
        }
    }
    let mut blank = blank.into_iter().peekable();
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        while blank.next_if(|&next| next < number).is_some() {}
        if blank.peek() == Some(&number) {
            let end = line.trim_end_matches(['\n', '\r']).len();
            out.push_str(line.get(end..).unwrap_or_default());
        } else {
            out.push_str(line);
        }
    }
    out
}

/// The first and the last line of each statement, from 0.
pub fn lines_of(pieces: &[Piece], text: &str) -> Vec<(usize, usize)> {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect();
    let line = |byte: usize| starts.partition_point(|&start| start <= byte).saturating_sub(1);
    pieces
        .iter()
        .map(|piece| (line(piece.range.start), line(piece.range.end.saturating_sub(1))))
        .collect()
}

/// For each statement, those that share lines with it, itself among them.
fn groups_of(lines: &[(usize, usize)]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::with_capacity(lines.len());
    let (mut first, mut end) = (0, None);
    let mut flush = |range: Range<usize>| groups.extend(range.clone().map(|_| range.clone()));
    for (at, &(from, to)) in lines.iter().enumerate() {
        if end.is_some_and(|end| from > end) {
            flush(first..at);
            first = at;
        }
        end = Some(to);
    }
    flush(first..lines.len());
    groups
}

struct DependencyFinder<'p> {
    pieces: &'p [Piece],
    groups: Vec<Range<usize>>,
    binders: HashMap<&'p str, Vec<usize>>,
    kept_pieces: Vec<bool>,
    /// Names that what is kept binds.
    bound: HashSet<&'p str>,
    /// Of these, the names of values.
    values: HashSet<&'p str>,
    visited_names: HashSet<&'p str>,
    pending_names: Vec<&'p str>,
}

impl<'p> DependencyFinder<'p> {
    fn new(pieces: &'p [Piece], lines: &[(usize, usize)]) -> Self {
        let mut binders: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, piece) in pieces.iter().enumerate() {
            for name in &piece.binds {
                binders.entry(name).or_default().push(at);
            }
        }
        Self {
            pieces,
            groups: groups_of(lines),
            binders,
            kept_pieces: vec![false; pieces.len()],
            bound: HashSet::new(),
            values: HashSet::new(),
            visited_names: HashSet::new(),
            pending_names: Vec::new(),
        }
    }

    /// Which statements the names lead to.
    fn find<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Vec<bool> {
        for (at, piece) in self.pieces.iter().enumerate() {
            if piece.role == Role::Preamble {
                self.keep(at);
            }
        }
        for name in names {
            let first = name.split('.').next().unwrap_or_default();
            for at in self.binders.get(first).cloned().unwrap_or_default() {
                self.keep(at);
            }
            if first == name {
                continue;
            }
            // Code that uses a function's result refers to it by the name that the module binds, so code that takes
            // this name is kept.
            for (at, piece) in self.pieces.iter().enumerate() {
                if is_code(piece) && piece.takes.iter().any(|taken| taken == first) {
                    self.keep(at);
                }
            }
        }
        self.follow();
        self.add_changes();
        self.kept_pieces
    }

    /// Keeps a statement, and those that share a line with it.
    fn keep(&mut self, at: usize) {
        for at in self.groups.get(at).cloned().unwrap_or_default() {
            let (Some(piece), Some(kept)) = (self.pieces.get(at), self.kept_pieces.get_mut(at)) else {
                continue;
            };
            if std::mem::replace(kept, true) {
                continue;
            }
            let binds = piece.binds.iter().map(String::as_str);
            self.bound.extend(binds.clone());
            if is_code(piece) {
                self.values.extend(binds);
            }
            self.pending_names.extend(piece.takes.iter().map(String::as_str));
        }
    }

    fn follow(&mut self) {
        while let Some(name) = self.pending_names.pop() {
            if !self.visited_names.insert(name) {
                continue;
            }
            let leads_to = if DYNAMIC_NAMES.contains(&name) {
                (0..self.pieces.len()).collect()
            } else {
                self.binders.get(name).cloned().unwrap_or_default()
            };
            for at in leads_to {
                if self
                    .pieces
                    .get(at)
                    .is_some_and(|piece| piece.role != Role::Program)
                {
                    self.keep(at);
                }
            }
        }
    }

    /// Keeps statements that may change what is kept, and what they take, until there are no more. A plain assignment
    /// changes only what it binds.
    fn add_changes(&mut self) {
        for round in 0.. {
            let changes = |piece: &Piece| {
                let known = |name: &String| {
                    self.bound.contains(&**name)
                        || !self.binders.contains_key(&**name)
                        || piece.binds.contains(name)
                };
                piece.takes.iter().any(|name| self.values.contains(&**name))
                    || (piece.takes.iter().all(known)
                        && piece.takes.iter().any(|name| self.bound.contains(&**name)))
            };
            let counts = |at: usize, piece: &Piece| {
                let assigns = piece.role == Role::Statement && !piece.binds.is_empty();
                is_code(piece)
                    && !assigns
                    && self.kept_pieces.get(at) == Some(&false)
                    && (round >= ROUNDS || changes(piece))
            };
            let found: Vec<usize> = (self.pieces.iter().enumerate())
                .filter(|&(at, piece)| counts(at, piece))
                .map(|(at, _)| at)
                .collect();
            if found.is_empty() {
                return;
            }
            for at in found {
                self.keep(at);
            }
            self.follow();
        }
    }
}

/// Whether the statement does anything other than define a name.
const fn is_code(piece: &Piece) -> bool {
    matches!(piece.role, Role::Statement | Role::Block)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the statements that are kept for a name; every kept line must be at its original line number.
    fn check(text: &str, name: &str, expected: &[&str]) {
        let module = Module::from_text("k.py", text).expect("Python");
        let left = module.text_for([name]);
        let before: Vec<&str> = text.lines().collect();
        let after: Vec<&str> = left.lines().collect();
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            assert!(after.is_empty() || before == after, "{after}");
        }
        let after: Vec<&str> = after.into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(after, expected, "{name} of {text}");
    }

    const LIBRARY: &str = "\
import torch
import triton
import triton.language as tl
from .neighbour import something
DEVICE = torch.device('cuda')
SIZE = tl.constexpr(4)
@triton.jit
def helper(x): return x + SIZE
@triton.jit
def k(x, out): tl.store(out, helper(tl.load(x)))
def run(x: torch.Tensor): k[(1,)](x, something(x))
x = torch.ones(4, device=DEVICE)
torch.manual_seed(0)
run(x)
if __name__ == '__main__':
    out = run(x)
";

    #[test]
    fn of_a_library_that_is_left_which_the_kernel_needs() {
        check(
            LIBRARY,
            "k",
            &[
                "import triton",
                "import triton.language as tl",
                "SIZE = tl.constexpr(4)",
                "@triton.jit",
                "def helper(x): return x + SIZE",
                "@triton.jit",
                "def k(x, out): tl.store(out, helper(tl.load(x)))",
            ],
        );
        check(
            "import torch\nA = torch.inf\ndef k(): return A\n",
            "k",
            &["import torch", "A = torch.inf", "def k(): return A"],
        );
    }

    #[test]
    fn what_changes_a_value_that_is_needed_is_needed() {
        check(
            "import os\nT = {}\ndef make(): return 1\nT['a'] = make()\nos.environ['A'] = '1'\ndef k(): return T\n",
            "k",
            &[
                "T = {}",
                "def make(): return 1",
                "T['a'] = make()",
                "def k(): return T",
            ],
        );
        check(
            "import tl\nimport torch\nif not hasattr(tl, 'f'): tl.f = 1\nassert torch.ok\nprint(1)\ndef k(): return tl.f\n",
            "k",
            &[
                "import tl",
                "if not hasattr(tl, 'f'): tl.f = 1",
                "def k(): return tl.f",
            ],
        );
    }

    #[test]
    fn a_loop_that_fills_a_table_is_needed_and_one_that_only_tests_is_not() {
        check(
            "import torch\nT = {}\nfor i in range(4):\n  T[i] = i\nfor n in (1, 2):\n  print(torch.ones(n))\n\
             def k(): return T\n",
            "k",
            &["T = {}", "for i in range(4):", "  T[i] = i", "def k(): return T"],
        );
    }

    #[test]
    fn what_shares_a_line_is_kept_with_it() {
        check(
            "import torch; A = 1\nB = 2; C = 3;\ndef k(): return A\n",
            "k",
            &["import torch; A = 1", "def k(): return A"],
        );
    }

    #[test]
    fn a_function_that_makes_kernels_is_kept_with_what_it_made() {
        check(
            "import torch\ndef make():\n  def k(): pass\n  return k\nkernel = make()\n",
            "make.k",
            &["def make():", "  def k(): pass", "  return k", "kernel = make()"],
        );
    }

    #[test]
    fn who_may_take_anything_is_given_everything() {
        let text = "import torch\nA = 1\ndef k(): return globals()['A']\n";
        check(text, "k", &text.lines().collect::<Vec<_>>());
    }

    #[test]
    fn line_ends_of_every_kind_stay() {
        let module = Module::from_text("k.py", "import torch\r\ndef k(): pass\r\nA = 1").expect("Python");
        assert_eq!(&*module.text_for(["k"]), "\r\ndef k(): pass\r\n");
    }
}
