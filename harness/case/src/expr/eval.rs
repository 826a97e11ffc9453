//! The walk over the tree.

use std::ops::Range;

use cerith_memory::{Index, Storages, Tensor, TorchError};
use ruff_python_ast::{BoolOp, Comprehension, Expr, ExprCall, ExprSlice, Number, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::arguments::{Argument, Arguments, int64};
use super::builtin::{self, Module};
use super::{ExprError, Names, Value, method, operator};
use crate::nearest::suggestion;

/// How much work an expression may be: values made, items of lists counted one by one.
const BUDGET: usize = 200_000;

/// A text range as bytes.
pub(super) fn bytes(range: TextRange) -> Range<usize> {
    range.start().to_usize()..range.end().to_usize()
}

/// An error of torch, where it happened.
pub(super) fn raised(range: &Range<usize>, error: &TorchError) -> ExprError {
    ExprError::new(range.clone(), error.to_string())
}

pub(super) struct Evaluator<'a> {
    text: &'a str,
    names: &'a Names,
    storages: &'a mut Storages,
    /// Variables of comprehensions, innermost last.
    locals: Vec<(String, Value)>,
    budget: usize,
}

impl<'a> Evaluator<'a> {
    pub fn new(text: &'a str, names: &'a Names, storages: &'a mut Storages) -> Self {
        Self {
            text,
            names,
            storages,
            locals: Vec::new(),
            budget: BUDGET,
        }
    }

    pub fn storages(&mut self) -> &mut Storages {
        self.storages
    }

    /// The expression's own text, as the name of what it makes.
    pub fn name_of(&self, range: &Range<usize>) -> String {
        self.text.get(range.clone()).unwrap_or_default().to_owned()
    }

    /// Takes from the budget.
    pub fn spend(&mut self, amount: usize, range: &Range<usize>) -> Result<(), ExprError> {
        match self.budget.checked_sub(amount) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(ExprError::new(
                range.clone(),
                "the expression makes too many values",
            )),
        }
    }

    /// Evaluates a node. Recursion is bounded by [`super::Expression::MAX_DEPTH`].
    pub fn value(&mut self, expr: &Expr) -> Result<Value, ExprError> {
        let value = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.step(expr))?;
        self.spend(value.weight(), &bytes(expr.range()))?;
        Ok(value)
    }

    fn step(&mut self, expr: &Expr) -> Result<Value, ExprError> {
        let range = bytes(expr.range());
        Ok(match expr {
            Expr::NumberLiteral(literal) => number(&literal.value, &range)?,
            Expr::StringLiteral(literal) => Value::Str(literal.value.to_str().to_owned()),
            Expr::BooleanLiteral(literal) => Value::Bool(literal.value),
            Expr::NoneLiteral(_) => Value::None,
            Expr::Name(name) => self.name(&name.id, &range)?,
            Expr::Tuple(tuple) => Value::Tuple(self.all(&tuple.elts)?),
            Expr::List(list) => Value::List(self.all(&list.elts)?),
            Expr::UnaryOp(unary) => {
                let operand = self.value(&unary.operand)?;
                match unary.op {
                    UnaryOp::Not => Value::Bool(!operator::truth(&operand, &range)?),
                    op => operator::unary(op, &operand, &range)?,
                }
            }
            Expr::BinOp(binary) => {
                let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
                operator::binary(binary.op, &left, &right, &range)?
            }
            Expr::BoolOp(bool_op) => {
                let mut last = Value::None;
                for operand in &bool_op.values {
                    last = self.value(operand)?;
                    if operator::truth(&last, &bytes(operand.range()))? == (bool_op.op == BoolOp::Or) {
                        break;
                    }
                }
                last
            }
            Expr::Compare(compare) => {
                let mut left = self.value(&compare.left)?;
                for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                    let right = self.value(right)?;
                    if !operator::compare(*op, &left, &right, &range)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Value::Bool(true)
            }
            Expr::If(choice) => {
                let test = self.value(&choice.test)?;
                let taken = operator::truth(&test, &bytes(choice.test.range()))?;
                self.value(if taken { &choice.body } else { &choice.orelse })?
            }
            Expr::Attribute(attribute) => {
                if let Some(module) = module(&attribute.value) {
                    return builtin::constant(module, &attribute.attr.id, &range);
                }
                let object = self.value(&attribute.value)?;
                method::attribute(&object, &attribute.attr.id, &range, &bytes(attribute.attr.range))?
            }
            Expr::Call(call) => self.call(call)?,
            Expr::Subscript(subscript) => {
                let object = self.value(&subscript.value)?;
                self.subscript(&object, &subscript.slice, &range)?
            }
            Expr::ListComp(list) => Value::List(self.comprehension(&list.generators, &list.elt)?),
            Expr::Generator(generator) => {
                Value::List(self.comprehension(&generator.generators, &generator.elt)?)
            }
            _ => {
                return Err(ExprError::new(
                    range,
                    format!("{} cannot stand in a case", construct(expr)),
                ));
            }
        })
    }

    fn all(&mut self, items: &[Expr]) -> Result<Vec<Value>, ExprError> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            if let Expr::Starred(starred) = item {
                let inner = self.value(&starred.value)?;
                values.extend(self.items(&inner, &bytes(starred.range))?);
            } else {
                values.push(self.value(item)?);
            }
        }
        Ok(values)
    }

    fn name(&mut self, name: &str, range: &Range<usize>) -> Result<Value, ExprError> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(local, _)| local == name) {
            return Ok(value.clone());
        }
        if let Some(value) = builtin::value_of(name) {
            return Ok(value);
        }
        if builtin::is_reserved(name) {
            return Err(ExprError::new(range.clone(), format!("`{name}` is no value")));
        }
        self.names.get(name).cloned().ok_or_else(|| {
            let locals = self.locals.iter().map(|(local, _)| local.as_str());
            let known = self.names.keys().map(String::as_str).chain(locals);
            ExprError::new(range.clone(), format!("unknown tensor or variable `{name}`"))
                .help(suggestion(name, known))
        })
    }

    fn call(&mut self, call: &ExprCall) -> Result<Value, ExprError> {
        let range = bytes(call.range());
        let mut positional = Vec::new();
        for item in &call.arguments.args {
            if let Expr::Starred(starred) = item {
                let at = bytes(starred.range);
                let inner = self.value(&starred.value)?;
                positional.extend(self.items(&inner, &at)?.into_iter().map(|value| Argument {
                    value,
                    range: at.clone(),
                }));
            } else {
                positional.push(Argument {
                    value: self.value(item)?,
                    range: bytes(item.range()),
                });
            }
        }
        let mut keywords = Vec::new();
        for keyword in &call.arguments.keywords {
            let at = bytes(keyword.range);
            let Some(name) = &keyword.arg else {
                return Err(ExprError::new(at, "`**` cannot stand in a case"));
            };
            keywords.push((
                name.id.to_string(),
                Argument {
                    value: self.value(&keyword.value)?,
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
            Expr::Name(name) => builtin::call(self, &name.id, &bytes(name.range), arguments(&name.id)),
            Expr::Attribute(attribute) => {
                let (name, at) = (attribute.attr.id.as_str(), bytes(attribute.attr.range));
                if let Some(module) = module(&attribute.value) {
                    return builtin::module_call(self, module, name, &at, arguments(name));
                }
                let arguments = arguments(name);
                let object = self.value(&attribute.value)?;
                method::call(self, &object, name, &at, arguments)
            }
            other => Err(ExprError::new(
                bytes(other.range()),
                "only functions and methods can be called",
            )),
        }
    }

    /// The items of what can be iterated over.
    pub fn items(&mut self, value: &Value, range: &Range<usize>) -> Result<Vec<Value>, ExprError> {
        let items = match value {
            Value::List(items) | Value::Tuple(items) => items.clone(),
            Value::Tensor(tensor) => {
                let rows = tensor.unbind(0).map_err(|error| raised(range, &error))?;
                rows.into_iter().map(Value::Tensor).collect()
            }
            _ => {
                return Err(ExprError::new(
                    range.clone(),
                    format!("cannot iterate over {}", value.described()),
                ));
            }
        };
        self.spend(items.len(), range)?;
        Ok(items)
    }

    fn comprehension(
        &mut self,
        generators: &[Comprehension],
        element: &Expr,
    ) -> Result<Vec<Value>, ExprError> {
        let mut out = Vec::new();
        self.generate(generators, element, &mut out)?;
        Ok(out)
    }

    fn generate(
        &mut self,
        generators: &[Comprehension],
        element: &Expr,
        out: &mut Vec<Value>,
    ) -> Result<(), ExprError> {
        let Some((first, rest)) = generators.split_first() else {
            out.push(self.value(element)?);
            return Ok(());
        };
        let iterated = self.value(&first.iter)?;
        let outer = self.locals.len();
        'items: for item in self.items(&iterated, &bytes(first.iter.range()))? {
            self.assign(&first.target, item)?;
            for condition in &first.ifs {
                let test = self.value(condition)?;
                if !operator::truth(&test, &bytes(condition.range()))? {
                    self.locals.truncate(outer);
                    continue 'items;
                }
            }
            self.generate(rest, element, out)?;
            self.locals.truncate(outer);
        }
        Ok(())
    }

    fn assign(&mut self, target: &Expr, value: Value) -> Result<(), ExprError> {
        let range = bytes(target.range());
        match target {
            Expr::Name(name) => self.locals.push((name.id.to_string(), value)),
            Expr::Tuple(tuple) => {
                let items = self.items(&value, &range)?;
                if items.len() != tuple.elts.len() {
                    return Err(ExprError::new(
                        range,
                        format!("{} values for {} names", items.len(), tuple.elts.len()),
                    ));
                }
                for (target, item) in tuple.elts.iter().zip(items) {
                    self.assign(target, item)?;
                }
            }
            _ => return Err(ExprError::new(range, "only names can be assigned to")),
        }
        Ok(())
    }

    fn subscript(&mut self, object: &Value, slice: &Expr, range: &Range<usize>) -> Result<Value, ExprError> {
        match object {
            Value::Tensor(tensor) => Ok(Value::Tensor(self.index_tensor(tensor, slice, range)?)),
            Value::List(items) | Value::Tuple(items) => {
                let is_list = matches!(object, Value::List(_));
                if let Expr::Slice(slice) = slice {
                    let (start, end, step) = self.slice(slice)?;
                    let part = slice_items(items, start, end, step)
                        .ok_or_else(|| ExprError::new(range.clone(), "slice step cannot be zero"))?;
                    return Ok(if is_list {
                        Value::List(part)
                    } else {
                        Value::Tuple(part)
                    });
                }
                let at = self.value(slice)?;
                let at = int64(&at, &bytes(slice.range()))?;
                let wrapped = if at < 0 {
                    at.saturating_add(items.len() as i64)
                } else {
                    at
                };
                usize::try_from(wrapped)
                    .ok()
                    .and_then(|at| items.get(at))
                    .cloned()
                    .ok_or_else(|| {
                        let kind = object.kind();
                        ExprError::new(
                            range.clone(),
                            format!("index {at} is out of range for a {kind} of {} items", items.len()),
                        )
                    })
            }
            _ => Err(ExprError::new(
                range.clone(),
                format!("{} has no items", object.described()),
            )),
        }
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
                other => match self.value(other)? {
                    Value::None => Index::NewAxis,
                    Value::Int(at) => Index::At(int64(&Value::Int(at), &bytes(other.range()))?),
                    value => {
                        return Err(ExprError::new(
                            bytes(other.range()),
                            format!("{} is no index of a view", value.described()),
                        )
                        .help(Some(
                            "a tensor is indexed by integers, slices, `None` and `...`".to_owned(),
                        )));
                    }
                },
            });
        }
        tensor.index(&indices).map_err(|error| raised(range, &error))
    }

    #[expect(clippy::type_complexity, reason = "start, end and step of one slice")]
    fn slice(&mut self, slice: &ExprSlice) -> Result<(Option<i64>, Option<i64>, Option<i64>), ExprError> {
        let mut bound = |expr: &Option<Box<Expr>>| -> Result<Option<i64>, ExprError> {
            let Some(expr) = expr else { return Ok(None) };
            match self.value(expr)? {
                Value::None => Ok(None),
                // Python clamps the bounds of slices to what a machine holds.
                Value::Int(int) => Ok(Some(i64::try_from(int).unwrap_or(if int < 0 {
                    i64::MIN
                } else {
                    i64::MAX
                }))),
                value => int64(&value, &bytes(expr.range())).map(Some),
            }
        };
        Ok((bound(&slice.lower)?, bound(&slice.upper)?, bound(&slice.step)?))
    }
}

/// The module that an expression names, `triton` or `triton.language` say.
fn module(expr: &Expr) -> Option<Module> {
    match expr {
        Expr::Name(name) => Module::named(&name.id),
        Expr::Attribute(attribute) => module(&attribute.value)?.submodule(&attribute.attr.id),
        _ => None,
    }
}

fn number(number: &Number, range: &Range<usize>) -> Result<Value, ExprError> {
    match number {
        Number::Int(int) => {
            if let Some(int) = int.as_u64() {
                return Ok(Value::Int(int.into()));
            }
            let text = int.to_string().replace('_', "").to_lowercase();
            let parsed = match text.split_at_checked(2) {
                Some(("0x", digits)) => i128::from_str_radix(digits, 16),
                Some(("0o", digits)) => i128::from_str_radix(digits, 8),
                Some(("0b", digits)) => i128::from_str_radix(digits, 2),
                _ => text.parse(),
            };
            parsed.map(Value::Int).map_err(|_| operator::too_wide(range))
        }
        Number::Float(float) => Ok(Value::Float(*float)),
        Number::Complex { .. } => Err(ExprError::new(
            range.clone(),
            "complex numbers cannot stand in a case",
        )),
    }
}

/// `items[start:end:step]` of a Python sequence; `None` for step 0.
fn slice_items(
    items: &[Value],
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
) -> Option<Vec<Value>> {
    let (len, step) = (items.len() as i64, step.unwrap_or(1));
    if step == 0 {
        return None;
    }
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let clamp = |bound: Option<i64>, default: i64| match bound {
        Some(bound) => (if bound < 0 {
            bound.saturating_add(len)
        } else {
            bound
        })
        .clamp(low, high),
        None => default,
    };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let (mut at, end) = (clamp(start, first), clamp(end, last));
    let mut out = Vec::new();
    while if step > 0 { at < end } else { at > end } {
        out.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at = at.saturating_add(step);
    }
    Some(out)
}

/// What Python calls a construct.
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
