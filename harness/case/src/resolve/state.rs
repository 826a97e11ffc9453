//! State of resolving a case, and evaluation of expressions with it. See the sibling modules for the parts of a case.

use std::collections::HashSet;

use cerith_memory::{NamedTensor, Storages, Tensor};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::fault::{Fault, is_planted};

use crate::argument::{Arg, ArgValue};
use crate::case::Declared;
use crate::fill::ArchiveLookup;
use crate::template::ValueTemplate;
use crate::variant::Layout;
use cerith_expression::{Names, Value};

/// The parts resolved so far, and their problems.
pub(super) struct Resolver<'a> {
    pub(super) names: Names,
    /// The location of recorded bytes.
    pub(super) archive_lookup: ArchiveLookup<'a>,
    pub(super) layout: Option<Layout>,
    pub(super) storages: Storages,
    pub(super) tensors: Vec<NamedTensor>,
    pub(super) declared: Vec<Declared>,
    /// Names that could not be made: what mentions them is not reported again.
    pub(super) failed: HashSet<String>,
    pub(super) problems: Vec<Diagnostic>,
}

impl Resolver<'_> {
    pub(super) fn evaluate(&mut self, value: &ValueTemplate) -> Result<Value, Diagnostic> {
        value.evaluate(&self.names, &mut self.storages)
    }

    pub(super) fn fail(&mut self, name: Option<&str>, problem: Diagnostic) {
        self.failed.extend(name.map(str::to_owned));
        self.problems.push(problem);
    }

    pub(super) fn fail_with(&mut self, name: Option<&str>, value: &ValueTemplate, problem: Diagnostic) {
        let follows = value.mentions_any(&self.names, &self.failed);
        self.failed.extend(name.map(str::to_owned));
        if !follows {
            self.problems.push(problem);
        }
    }

    pub(super) fn evaluate_arg(&mut self, template: &ValueTemplate) -> Option<Arg> {
        let read = self.evaluate(template).and_then(|value| {
            let placed = matches!(
                value,
                Value::Tensor(_) | Value::Address(_) | Value::Tuple(_) | Value::List(_)
            );
            let name = if placed {
                template.render_text(&self.names)?
            } else {
                String::new()
            };
            Ok(to_arg_value(value, &name))
        });
        match read {
            Ok(value) => Some(Arg {
                value,
                span: template.span(),
            }),
            Err(problem) => {
                self.fail_with(None, template, problem);
                None
            }
        }
    }
}

fn to_arg_value(value: Value, name: &str) -> ArgValue {
    match value {
        Value::None => ArgValue::None,
        Value::Bool(value) => ArgValue::Bool(value),
        Value::Int(value) => ArgValue::Int(value),
        Value::Float(value) => ArgValue::Float(value),
        Value::Str(text) => ArgValue::Str(text),
        Value::DType(dtype) => ArgValue::DType(dtype),
        Value::Tensor(tensor) => ArgValue::Tensor {
            name: name.to_owned(),
            tensor: if is_planted(Fault::OffsetForgotten) {
                Tensor { offset: 0, ..tensor }
            } else {
                tensor
            },
        },
        Value::Tuple(items) | Value::List(items) => {
            ArgValue::Tuple(items.into_iter().map(|item| to_arg_value(item, name)).collect())
        }
        Value::Address(at) => ArgValue::Address {
            name: name.to_owned(),
            address: at,
        },
    }
}

/// The items of a list; a number alone is one.
pub(super) fn as_items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(items) | Value::Tuple(items) => Some(items),
        Value::Int(_) => Some(std::slice::from_ref(value)),
        _ => None,
    }
}
