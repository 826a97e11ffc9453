//! Fewer statements: everything that one statement does not need may go, or any run of statements, and the body of a loop or
//! branch may replace it. Statements stay whole.

use std::collections::HashSet;

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::candidate::{Candidate, Change, Edit};
use super::tree::{Block, Names, Tree, find_callee};

/// For each statement of a function, from the last to the first: nothing but what it needs.
pub(super) fn slice_statements(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for def in tree.functions() {
        let body: Block<'_> = &def.body;
        if body.len() < 2 {
            continue;
        }
        // Stores first: they make most kernels' differences seen.
        let (stores, others): (Vec<usize>, Vec<usize>) = (0..body.len())
            .rev()
            .partition(|&at| matches!(body.get(at), Some(Stmt::Expr(_))));
        for at in stores.into_iter().chain(others) {
            let kept = find_dependencies(body, at);
            let gone: Vec<&Stmt> = body
                .iter()
                .enumerate()
                .filter(|(other, _)| !kept.contains(other))
                .map(|(_, stmt)| stmt)
                .collect();
            if !gone.is_empty() {
                changes.push(Change::from_edits(tree.remove_statements(&gone)));
            }
        }
    }
    changes
}

/// The statements of a block that one of them needs, found by bound names.
fn find_dependencies(body: Block<'_>, at: usize) -> HashSet<usize> {
    let names: Vec<Names<'_>> = body.iter().map(|stmt| Names::from_statements([stmt])).collect();
    let mut kept = HashSet::from([at]);
    let mut wanted: HashSet<&str> = names.get(at).map(Names::read).unwrap_or_default();
    loop {
        let before = kept.len();
        for (other, names) in names.iter().enumerate().rev() {
            if !kept.contains(&other) && names.binds.iter().any(|name| wanted.contains(name.id.as_str())) {
                kept.insert(other);
                wanted.extend(names.read());
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}

/// Without runs of statements: halves first, then quarters, down to single ones, each from the last to the first.
pub(super) fn remove_runs(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let all: Vec<&Stmt> = tree.inner().into_iter().map(|(stmt, _)| stmt).collect();
    let mut changes = Vec::new();
    let mut length = all.len() / 2;
    while length > 0 {
        for chunk in all.rchunks(length) {
            changes.push(Change::from_edits(tree.remove_statements(chunk)));
        }
        length /= 2;
    }
    changes
}

/// Loops as one turn, branches as one of their arms.
pub(super) fn flatten_flow(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (stmt, _) in tree.inner() {
        let mut put = |before: String, body: &[Stmt]| {
            if let Some(text) = dedent_body(tree, stmt, body)
                && let Some(lines) = tree.find_lines(stmt.range())
            {
                changes.push(Change::from_edits(vec![Edit::new(lines, before + &text)]));
            }
        };
        match stmt {
            Stmt::For(one) => {
                let target = tree.slice(one.target.range());
                let first = first_turn(tree, &one.iter);
                let line = format!("{}{target} = {first}\n", tree.indent(stmt));
                put(line, &one.body);
            }
            Stmt::While(one) => put(String::new(), &one.body),
            Stmt::With(one) => put(String::new(), &one.body),
            Stmt::If(one) => {
                put(String::new(), &one.body);
                for clause in &one.elif_else_clauses {
                    put(String::new(), &clause.body);
                }
            }
            _ => {}
        }
    }
    changes
}

/// The header of a loop.
fn first_turn(tree: &Tree<'_>, over: &Expr) -> String {
    let range = match over {
        Expr::Call(call) if matches!(find_callee(call), Some("range" | "static_range")) => call,
        Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
            return elts
                .first()
                .map_or("0".to_owned(), |first| tree.render_operand(first));
        }
        _ => return "0".to_owned(),
    };
    match &*range.arguments.args {
        [first, _, ..] => tree.slice(first.range()).to_owned(),
        _ => "0".to_owned(),
    }
}

/// The inner statements of a statement, indented to replace it.
fn dedent_body(tree: &Tree<'_>, outer: &Stmt, body: &[Stmt]) -> Option<String> {
    let (first, last) = (body.first()?, body.last()?);
    let range = tree.find_lines(TextRange::new(first.start(), last.end()))?;
    let (from, to) = (tree.indent(first), tree.indent(outer));
    let mut text = String::new();
    for line in tree.slice(range).lines() {
        let rest = line.strip_prefix(from).unwrap_or_else(|| line.trim_start());
        text.push_str(to);
        text.push_str(rest);
        text.push('\n');
    }
    Some(text)
}
