//! The meaning of names, attributes, calls and indices. See [`cerith_python::walk`] for the walk over the tree.

use std::mem;
use std::ops::Range;

use cerith_memory::{Index, Storages, Tensor};
use cerith_python::operator::{get_item as item_of, slice as slice_of};
use cerith_python::parse::to_bytes;
use cerith_python::walk::{self, Scope};
use cerith_python::{Error, ErrorKind, Object as _, Reason};
use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprSlice, Operator, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use crate::arguments::{Argument, Arguments, to_int64};
use crate::builtin::{self, Module};
use crate::error::ExprError;
use crate::value::{Names, Value};
use crate::work::Work;
use crate::{method, operator};
use cerith_python::nearest::suggest_spelling;

pub(crate) struct Evaluator<'a> {
    names: &'a Names,
    /// Variables of comprehensions, innermost last.
    locals: Vec<(String, Value)>,
    /// How many of them are not the innermost comprehension's own.
    outer_count: usize,
    work: Work<'a>,
}

impl<'a> Evaluator<'a> {
    pub fn new(text: &'a str, names: &'a Names, storages: &'a mut Storages) -> Self {
        Self {
            names,
            locals: Vec::new(),
            outer_count: 0,
            work: Work::new(text, storages),
        }
    }

    /// Evaluates a node.
    pub fn evaluate(&mut self, expr: &Expr) -> Result<Value, ExprError> {
        walk::evaluate(self, expr)
    }

    fn find_value(&mut self, name: &str, range: &Range<usize>) -> Result<Value, ExprError> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(local, _)| local == name) {
            return Ok(value.clone());
        }
        if let Some(value) = builtin::value_of(name) {
            return Ok(value);
        }
        if builtin::is_reserved(name) {
            return Err(ExprError::new(range.clone(), format!("`{name}` is not a value")));
        }
        self.names.get(name).cloned().ok_or_else(|| {
            let locals = self.locals.iter().map(|(local, _)| local.as_str());
            let known = self.names.keys().map(String::as_str).chain(locals);
            ExprError::new(range.clone(), format!("unknown tensor or variable `{name}`"))
                .help(suggest_spelling(name, known))
        })
    }

    fn call(&mut self, call: &ExprCall) -> Result<Value, ExprError> {
        let range = to_bytes(call.range());
        let mut positional = Vec::new();
        for item in &call.arguments.args {
            if let Expr::Starred(starred) = item {
                let at = to_bytes(starred.range);
                let inner = self.evaluate(&starred.value)?;
                positional.extend(
                    self.iterate(&inner, starred.range)?
                        .into_iter()
                        .map(|value| Argument {
                            value,
                            range: at.clone(),
                        }),
                );
            } else {
                positional.push(Argument {
                    value: self.evaluate(item)?,
                    range: to_bytes(item.range()),
                });
            }
        }
        let mut keywords = Vec::new();
        for keyword in &call.arguments.keywords {
            let at = to_bytes(keyword.range);
            let Some(name) = &keyword.arg else {
                return Err(ExprError::new(at, "`**` cannot be used in a case"));
            };
            keywords.push((
                name.id.to_string(),
                Argument {
                    value: self.evaluate(&keyword.value)?,
                    range: at,
                },
            ));
        }
        let arguments = |callee: &str| Arguments {
            callee: callee.to_owned(),
            range,
            positional,
            keywords,
        };
        match &*call.func {
            Expr::Name(name) => builtin::call(
                &mut self.work,
                &name.id,
                &to_bytes(name.range),
                arguments(&name.id),
            ),
            Expr::Attribute(attribute) => {
                let (name, at) = (attribute.attr.id.as_str(), to_bytes(attribute.attr.range));
                if let Some(module) = find_module(&attribute.value) {
                    return builtin::module_call(&mut self.work, module, name, &at, arguments(name));
                }
                let arguments = arguments(name);
                let object = self.evaluate(&attribute.value)?;
                method::call(&mut self.work, &object, name, &at, arguments)
            }
            other => Err(ExprError::new(
                to_bytes(other.range()),
                "only functions and methods can be called",
            )),
        }
    }

    fn evaluate_subscript(
        &mut self,
        object: &Value,
        slice: &Expr,
        range: &Range<usize>,
    ) -> Result<Value, ExprError> {
        match object {
            Value::Tensor(tensor) => Ok(Value::Tensor(self.index_tensor(tensor, slice, range)?)),
            Value::List(_) | Value::Tuple(_) | Value::Str(_) => {
                if let Expr::Slice(slice) = slice {
                    let bounds = [
                        self.evaluate_bound(slice.lower.as_deref())?,
                        self.evaluate_bound(slice.upper.as_deref())?,
                        self.evaluate_bound(slice.step.as_deref())?,
                    ];
                    return slice_of(object, bounds).map_err(|error| operator::convert_error(error, range));
                }
                let index = self.evaluate(slice)?;
                item_of(object, &index).map_err(|error| match error.kind {
                    ErrorKind::Index => {
                        let items = match object {
                            Value::List(items) | Value::Tuple(items) => items.len(),
                            Value::Str(text) => text.chars().count(),
                            _ => 0,
                        };
                        ExprError::new(
                            range.clone(),
                            format!(
                                "index {index} is out of range for a {} of {items} items",
                                object.kind()
                            ),
                        )
                    }
                    _ => ExprError::new(
                        to_bytes(slice.range()),
                        format!(
                            "expected an integer, found {} `{}`",
                            index.kind(),
                            index.to_short_text()
                        ),
                    ),
                })
            }
            _ => Err(ExprError::new(
                range.clone(),
                format!("{} has no items", object.describe()),
            )),
        }
    }

    fn evaluate_bound(&mut self, expr: Option<&Expr>) -> Result<Option<Value>, ExprError> {
        expr.map(|expr| self.evaluate(expr)).transpose()
    }

    fn index_tensor(
        &mut self,
        tensor: &Tensor,
        slice: &Expr,
        range: &Range<usize>,
    ) -> Result<Tensor, ExprError> {
        let items = match slice {
            Expr::Tuple(tuple) => &tuple.elts[..],
            other => std::slice::from_ref(other),
        };
        let mut indices = Vec::with_capacity(items.len());
        for item in items {
            indices.push(match item {
                Expr::EllipsisLiteral(_) => Index::Ellipsis,
                Expr::Slice(slice) => {
                    let (start, end, step) = self.slice(slice)?;
                    Index::Slice { start, end, step }
                }
                other => match self.evaluate(other)? {
                    Value::None => Index::NewAxis,
                    Value::Int(at) => Index::At(to_int64(&Value::Int(at), &to_bytes(other.range()))?),
                    value => {
                        return Err(ExprError::new(
                            to_bytes(other.range()),
                            format!("{} is not an index of a view", value.describe()),
                        )
                        .help(Some(
                            "a tensor is indexed by integers, slices, `None` and `...`".to_owned(),
                        )));
                    }
                },
            });
        }
        tensor
            .index(&indices)
            .map_err(|error| ExprError::of_torch(range, &error))
    }

    #[expect(clippy::type_complexity, reason = "start, end and step of one slice")]
    fn slice(&mut self, slice: &ExprSlice) -> Result<(Option<i64>, Option<i64>, Option<i64>), ExprError> {
        let mut bound = |expr: &Option<Box<Expr>>| -> Result<Option<i64>, ExprError> {
            let Some(expr) = expr else { return Ok(None) };
            match self.evaluate(expr)? {
                Value::None => Ok(None),
                // Python clamps the bounds of slices to machine integers.
                Value::Int(int) => Ok(Some(i64::try_from(int).unwrap_or(if int < 0 {
                    i64::MIN
                } else {
                    i64::MAX
                }))),
                value => to_int64(&value, &to_bytes(expr.range())).map(Some),
            }
        };
        Ok((bound(&slice.lower)?, bound(&slice.upper)?, bound(&slice.step)?))
    }
}

impl Scope for Evaluator<'_> {
    type Value = Value;
    type Error = ExprError;
    type Outer = usize;

    fn locate_error(&mut self, error: Error, at: TextRange) -> ExprError {
        match error.reason {
            Reason::Complex => ExprError::new(to_bytes(at), "complex numbers cannot be used in a case"),
            _ => operator::convert_error(error, &to_bytes(at)),
        }
    }

    fn pay(&mut self, weight: usize, at: TextRange) -> Result<(), ExprError> {
        self.work.spend(weight, &to_bytes(at))
    }

    fn resolve_name(&mut self, name: &str, at: TextRange) -> Result<Value, ExprError> {
        self.find_value(name, &to_bytes(at))
    }

    fn open(&mut self) -> Result<usize, ExprError> {
        Ok(mem::replace(&mut self.outer_count, self.locals.len()))
    }

    fn bind(&mut self, name: &str, value: Value) {
        let mut own = self.locals.iter_mut().skip(self.outer_count);
        match own.find(|(local, _)| local == name) {
            Some((_, bound)) => *bound = value,
            None => self.locals.push((name.to_owned(), value)),
        }
    }

    fn close(&mut self, outer: usize) {
        self.locals.truncate(self.outer_count);
        self.outer_count = outer;
    }

    fn iterate(&mut self, value: &Value, at: TextRange) -> Result<Vec<Value>, ExprError> {
        let range = to_bytes(at);
        let items = value
            .items()
            .map_err(|error| operator::convert_value_error(error, value, &range))?;
        self.work.spend(items.len(), &range)?;
        Ok(items)
    }

    fn apply_unary(&mut self, op: UnaryOp, value: &Value, at: TextRange) -> Result<Value, ExprError> {
        operator::apply_unary(op, value, &to_bytes(at))
    }

    fn apply_binary(
        &mut self,
        op: Operator,
        left: &Value,
        right: &Value,
        at: TextRange,
    ) -> Result<Value, ExprError> {
        operator::apply_binary(op, left, right, &to_bytes(at))
    }

    fn compare(&mut self, op: CmpOp, left: &Value, right: &Value, at: TextRange) -> Result<bool, ExprError> {
        operator::compare(op, left, right, &to_bytes(at))
    }

    fn evaluate_other(&mut self, expr: &Expr) -> Result<Value, ExprError> {
        let range = to_bytes(expr.range());
        match expr {
            Expr::Attribute(attribute) => {
                if let Some(module) = find_module(&attribute.value) {
                    return builtin::find_constant(module, &attribute.attr.id, &range);
                }
                let object = self.evaluate(&attribute.value)?;
                method::read_attribute(
                    &object,
                    &attribute.attr.id,
                    &range,
                    &to_bytes(attribute.attr.range),
                )
            }
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) => {
                let object = self.evaluate(&subscript.value)?;
                self.evaluate_subscript(&object, &subscript.slice, &range)
            }
            _ => Err(ExprError::new(
                range,
                format!("{} cannot be used in a case", construct(expr)),
            )),
        }
    }
}

/// The module that an expression names, for example `triton` or `triton.language`.
fn find_module(expr: &Expr) -> Option<Module> {
    match expr {
        Expr::Name(name) => Module::from_name(&name.id),
        Expr::Attribute(attribute) => find_module(&attribute.value)?.find_submodule(&attribute.attr.id),
        _ => None,
    }
}

/// Python's name for a construct.
fn construct(expr: &Expr) -> &'static str {
    match expr {
        Expr::Named(_) => "an assignment",
        Expr::Lambda(_) => "a lambda",
        Expr::Dict(_) | Expr::DictComp(_) => "a dict",
        Expr::Set(_) | Expr::SetComp(_) => "a set",
        Expr::FString(_) | Expr::TString(_) => "an f-string",
        Expr::BytesLiteral(_) => "a bytes literal",
        Expr::EllipsisLiteral(_) => "`...` outside of an index",
        Expr::Slice(_) => "a slice outside of an index",
        Expr::Starred(_) => "`*`",
        _ => "this construct",
    }
}
