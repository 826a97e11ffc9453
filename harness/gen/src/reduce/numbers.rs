//! Smaller numbers and fewer dimensions: a literal everywhere, or at one location; an axis removed from every index. See
//! `data` for numbers among the arguments.

use std::collections::BTreeMap;

use ruff_python_ast::{self as ast, Expr, Number};
use ruff_text_size::Ranged;

use super::candidate::{Candidate, Change, Edit};
use super::tree::{Tree, find_callee};

/// Calls whose second argument is an axis.
const AXIS_FUNCTIONS: [&str; 22] = [
    "sum",
    "max",
    "min",
    "argmax",
    "argmin",
    "xor_sum",
    "reduce_or",
    "reduce",
    "cumsum",
    "cumprod",
    "associative_scan",
    "sort",
    "topk",
    "bitonic_merge",
    "flip",
    "softmax",
    "expand_dims",
    "gather",
    "scan",
    "squeeze",
    "unsqueeze",
    "any",
];

/// The integers below one that are tried in its place, the smallest first.
pub(super) fn shrink_int(value: i128) -> Vec<i128> {
    let mut tried = vec![0, 1];
    let mut power = 2;
    while power < value && tried.len() < 12 {
        tried.push(power);
        power *= 2;
    }
    tried.push(value / 2);
    tried.retain(|&other| other < value || value < 0);
    tried.dedup();
    tried
}

/// The floats that are rounder than one.
pub(super) fn shrink_float(value: f64) -> Vec<f64> {
    let mut tried = vec![0.0, 1.0, 2.0, value.trunc()];
    let rank = |value: f64| (format!("{value:?}").len(), value.abs());
    tried.retain(|&other| {
        other.is_finite()
            && (!value.is_finite() || rank(other) < rank(value))
            && other.to_bits() != value.to_bits()
    });
    tried.dedup();
    tried
}

/// Literals as smaller ones: one value everywhere, and each literal by itself.
pub(super) fn shrink_literals(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut by_value: BTreeMap<String, Vec<&ast::ExprNumberLiteral>> = BTreeMap::new();
    for expr in tree.all_expressions() {
        if let Expr::NumberLiteral(number) = expr {
            by_value
                .entry(tree.slice(number.range()).to_owned())
                .or_default()
                .push(number);
        }
    }
    let mut together = Vec::new();
    let mut apart = Vec::new();
    for numbers in by_value.values() {
        let Some(first) = numbers.first() else { continue };
        for text in shrink_number(&first.value) {
            let edit = |number: &&ast::ExprNumberLiteral| Edit::new(number.range(), text.clone());
            together.push(Change::from_edits(numbers.iter().map(edit).collect()));
            if numbers.len() > 1 {
                apart.extend(
                    numbers
                        .iter()
                        .map(|number| Change::from_edits(vec![edit(number)])),
                );
            }
        }
    }
    together.extend(apart);
    together
}

fn shrink_number(number: &Number) -> Vec<String> {
    match number {
        Number::Int(value) => {
            let value = value.as_i64().unwrap_or(i64::MAX);
            shrink_int(value.into()).iter().map(ToString::to_string).collect()
        }
        Number::Float(value) => shrink_float(*value)
            .iter()
            .map(|value| format!("{value:?}"))
            .collect(),
        Number::Complex { .. } => Vec::new(),
    }
}

/// Every index without one of its dimensions.
pub(super) fn remove_axes(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let all = tree.all_expressions();
    let mut indices = Vec::new();
    let mut numbers = Vec::new();
    for expr in &all {
        match expr {
            Expr::Subscript(subscript) => {
                if let Some(dims) = find_dimensions(&subscript.slice) {
                    indices.push((subscript, dims));
                }
            }
            Expr::Call(call) => numbers.extend(find_axis(call)),
            _ => {}
        }
    }
    let mut changes = Vec::new();
    let rank = indices.iter().map(|(_, dims)| dims.len()).max().unwrap_or(0);
    for dim in 0..rank {
        let edits: Vec<Edit> = indices
            .iter()
            .filter(|(_, dims)| dims.len() == rank)
            .map(|(subscript, dims)| {
                let value = tree.render_operand(&subscript.value);
                let text = match dims.get(dim) {
                    // The lanes lie along this dimension alone.
                    Some(true) if dims.iter().filter(|&&kept| kept).count() == 1 => "0".to_owned(),
                    _ => {
                        let mut rest = dims.clone();
                        rest.remove(dim);
                        if rest.iter().all(|&kept| kept) {
                            value
                        } else {
                            let rest: Vec<&str> =
                                rest.iter().map(|&kept| if kept { ":" } else { "None" }).collect();
                            format!("{value}[{}]", rest.join(", "))
                        }
                    }
                };
                Edit::new(subscript.range(), text)
            })
            .collect();
        let moved: Vec<Edit> = numbers
            .iter()
            .filter(|(_, axis)| *axis > dim as i64)
            .map(|(number, axis)| Edit::new(number.range(), (axis - 1).to_string()))
            .collect();
        if !moved.is_empty() {
            changes.push(Change::from_edits(edits.iter().chain(&moved).cloned().collect()));
        }
        changes.push(Change::from_edits(edits));
    }
    changes
}

/// The dimensions of an index like `[:, None]` that are not new.
fn find_dimensions(slice: &Expr) -> Option<Vec<bool>> {
    let Expr::Tuple(tuple) = slice else { return None };
    tuple
        .elts
        .iter()
        .map(|elt| match elt {
            Expr::Slice(slice) if slice.lower.is_none() && slice.upper.is_none() && slice.step.is_none() => {
                Some(true)
            }
            Expr::NoneLiteral(_) => Some(false),
            _ => None,
        })
        .collect()
}

/// The axis that a call names, if it is a number.
fn find_axis(call: &ast::ExprCall) -> Option<(&ast::ExprNumberLiteral, i64)> {
    let named = ["axis", "dim"]
        .iter()
        .find_map(|name| call.arguments.find_keyword(name))
        .map(|keyword| &keyword.value);
    let known = find_callee(call).is_some_and(|name| AXIS_FUNCTIONS.contains(&name));
    let second = || call.arguments.args.get(1).filter(|_| known);
    match named.or_else(second)? {
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(value) => Some((number, value.as_i64()?)),
            _ => None,
        },
        _ => None,
    }
}
