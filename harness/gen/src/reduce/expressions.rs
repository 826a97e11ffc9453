//! Smaller expressions: an operand replaces an expression, indices replace loads, calls lose arguments, variables that
//! are used only once disappear. See `numbers` for literals.

use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::candidate::{Candidate, Change, Edit};
use super::tree::{Names, Tree, collect_descendants, find_callee, parenthesize};

/// How far down operands are looked for.
const DEPTH: usize = 3;

/// A line does not become longer than this by a variable's value.
const LINE: usize = 110;

/// Expressions as something that is inside of them, outer ones first.
pub(super) fn replace_by_operands(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for expr in tree.all_expressions() {
        for inner in collect_descendants(expr, DEPTH) {
            let text = tree.render_operand(inner);
            if inner.range() != expr.range() {
                changes.push(Change::from_edits(vec![Edit::new(expr.range(), text)]));
            }
        }
    }
    changes
}

/// Replaces a load by its index, in the load's dtype.
pub(super) fn replace_loads(candidate: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for expr in tree.all_expressions() {
        let Expr::Call(call) = expr else { continue };
        if find_callee(call) != Some("load") {
            continue;
        }
        let Some(address) = call.arguments.args.first() else {
            continue;
        };
        let mut leftmost = address;
        while let Expr::BinOp(ast::ExprBinOp {
            left,
            op: Operator::Add,
            ..
        }) = leftmost
        {
            leftmost = left;
        }
        let Expr::Name(pointer) = leftmost else { continue };
        let Some(dtype) = candidate.find_pointee(pointer.id.as_str()) else {
            continue;
        };
        let rest = tree.slice(TextRange::new(pointer.end(), address.end()));
        let Some((_, index)) = rest.split_once('+') else {
            continue;
        };
        let text = format!("({}).to(tl.{})", index.trim(), dtype.triton_name());
        changes.push(Change::from_edits(vec![Edit::new(call.range(), text)]));
    }
    changes
}

/// Calls without keywords, and without their last arguments.
pub(super) fn call_arguments(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for expr in tree.all_expressions() {
        let Expr::Call(call) = expr else { continue };
        let args: Vec<&str> = call
            .arguments
            .args
            .iter()
            .map(|arg| tree.slice(arg.range()))
            .collect();
        let keywords: Vec<&str> = call
            .arguments
            .keywords
            .iter()
            .map(|keyword| tree.slice(keyword.range()))
            .collect();
        let mut with = |args: &[&str], keywords: &[&str]| {
            let all = [args, keywords].concat().join(", ");
            changes.push(Change::from_edits(vec![Edit::new(
                call.arguments.range(),
                format!("({all})"),
            )]));
        };
        if keywords.len() > 1 {
            with(&args, &[]);
        }
        for at in 0..keywords.len() {
            let mut fewer = keywords.clone();
            fewer.remove(at);
            with(&args, &fewer);
        }
        if args.len() > 1 {
            with(&args[..args.len() - 1], &keywords);
        }
    }
    changes
}

/// Values in place of variables that are used once, or that are names or numbers.
pub(super) fn inline_variables(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for def in tree.functions() {
        let names = Names::from_statements(&def.body);
        for (stmt, _) in tree.inner() {
            let Stmt::Assign(assign) = stmt else { continue };
            let [Expr::Name(target)] = &assign.targets[..] else {
                continue;
            };
            if !def.range().contains_range(stmt.range()) {
                continue;
            }
            let of_name = |other: &&&ast::ExprName| other.id == target.id;
            if names.binds.iter().filter(of_name).count() != 1 {
                continue;
            }
            let reads: Vec<_> = names.reads.iter().filter(of_name).collect();
            let simple = matches!(
                &*assign.value,
                Expr::Name(_) | Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_)
            );
            if reads.is_empty() || reads.len() > 1 && !simple {
                continue;
            }
            let text = parenthesize(&assign.value, tree.slice(assign.value.range()));
            let fits = reads.iter().all(|read| {
                let before = tree.text.get(..read.start().to_usize()).unwrap_or_default();
                let behind = tree.text.get(read.end().to_usize()..).unwrap_or_default();
                let line = before.rsplit('\n').next().map_or(0, str::len)
                    + behind.split('\n').next().map_or(0, str::len);
                line + text.len() <= LINE
            });
            if !fits {
                continue;
            }
            let mut edits = tree.remove_statements(&[stmt]);
            edits.extend(reads.iter().map(|read| Edit::new(read.range(), text.clone())));
            changes.push(Change::from_edits(edits));
        }
    }
    changes
}
