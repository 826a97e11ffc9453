//! Every recorded view of torch 2.11: the expression must produce torch's result, or an error if torch raised.
//! `cerith-memory` keeps the recorded lines in `tests/golden`, with the script that recorded the second file.

use cerith_expression::{ExprError, Expression, Names, Value};
use cerith_memory::{Storages, Tensor};
use cerith_tile::DType;
use serde::Deserialize;

#[derive(Deserialize)]
struct Base {
    dtype: String,
    shape: Vec<i64>,
}

#[derive(Deserialize)]
struct Line {
    base: Base,
    expr: String,
    error: Option<String>,
    dtype: Option<String>,
    shape: Option<Vec<i64>>,
    strides: Option<Vec<i64>>,
    offset: Option<i64>,
    contiguous: Option<bool>,
    same_storage: Option<bool>,
    storage_bytes: Option<usize>,
}

fn evaluate(base: &Base, text: &str) -> Result<(Tensor, Tensor, Storages), ExprError> {
    let dtype = DType::from_torch_name(&base.dtype).expect("a torch dtype");
    let mut storages = Storages::new();
    let tensor = storages
        .allocate("base", dtype, &base.shape)
        .expect("a small storage");
    let names = Names::from_iter([("base".to_owned(), Value::Tensor(tensor.clone()))]);
    match Expression::parse(text)?.evaluate(&names, &mut storages)? {
        Value::Tensor(result) => Ok((tensor, result, storages)),
        other => panic!("{text} gave {other}"),
    }
}

#[test]
fn every_view_is_what_torch_made_of_it() {
    check(
        include_str!("../../../memory/tests/golden/torch_views.jsonl"),
        3000,
    );
}

#[test]
fn more_methods_and_wrong_arguments_are_what_torch_made_of_them() {
    check(
        include_str!("../../../memory/tests/golden/torch_views_more.jsonl"),
        4000,
    );
}

fn check(text: &str, expected_lines: usize) {
    let mut wrong = Vec::new();
    let mut lines = 0;
    for line in text.lines() {
        lines += 1;
        let line: Line = serde_json::from_str(line).expect("a line of the golden file");
        let found = match evaluate(&line.base, &line.expr) {
            Err(error) => format!("error: {}", error.message),
            Ok((base, x, storages)) => {
                x.check_bounds(storages.size(x.storage))
                    .expect("a view inside its storage");
                format!(
                    "{} {:?} {:?} {} {} {} {}",
                    x.dtype.torch_name().expect("a torch dtype"),
                    &x.shape[..],
                    &x.strides[..],
                    x.offset,
                    x.is_contiguous(),
                    x.storage == base.storage,
                    storages.size(x.storage)
                )
            }
        };
        let expected = match &line.error {
            Some(message) => {
                let message = message
                    .strip_prefix("unflatten got an unexpected error:\n")
                    .unwrap_or(message);
                format!("error: {message}")
            }
            None => format!(
                "{} {:?} {:?} {} {} {} {}",
                line.dtype.expect("dtype"),
                line.shape.expect("shape"),
                line.strides.expect("strides"),
                line.offset.expect("offset"),
                line.contiguous.expect("contiguous"),
                line.same_storage.expect("same_storage"),
                line.storage_bytes.expect("storage_bytes")
            ),
        };
        // Two of Cerith's messages contain more than torch's.
        let worded_otherwise = line.error.is_some()
            && (found.contains("negative dimension")
                || found.contains("isn't allowed in a leading")
                || found.contains("is out of range for a tuple of"));
        if found != expected && !worded_otherwise {
            wrong.push(format!(
                "{:?} {}\n  torch {expected}\n  found {found}",
                line.base.shape, line.expr
            ));
        }
    }
    assert_eq!(lines, expected_lines);
    assert!(
        wrong.is_empty(),
        "{} lines differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
