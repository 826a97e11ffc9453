//! Expressions of plain Python. See [`super::operator`] for operators on values and [`super::call`] for calls.

use std::rc::Rc;

use cerith_python::builtin::NAMES;
use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::Runner;
use super::operator::{apply_subscript, measure_depth};
use crate::text::span_of;
use cerith_language::constant::{self, Constant};
use cerith_language::stop::Traced;
use cerith_language::value::object::count_items;
use cerith_language::value::plain::{Arguments, Plain, PlainBody, PlainFunction, ScopeId};

/// Values inside of each other.
const MAX_DEPTH: usize = 24;

/// Python's own names that are understood beside those of its builtins ([`NAMES`]).
const OTHER_NAMES: [&str; 4] = ["dict", "getattr", "hasattr", "isinstance"];

impl Runner<'_, '_> {
    /// Evaluates an expression of plain Python.
    pub fn eval_expression(&mut self, scope: ScopeId, expression: &Expr) -> Traced<Plain> {
        self.lo.burn()?;
        let span = span_of(self.modules.source_of(scope), expression.range());
        let value = self.run_nested(|runner| runner.eval_node(scope, expression, span))?;
        let makes = matches!(
            expression,
            Expr::Tuple(_)
                | Expr::List(_)
                | Expr::Dict(_)
                | Expr::ListComp(_)
                | Expr::Lambda(_)
                | Expr::Call(_)
        );
        if makes && measure_depth(&value, MAX_DEPTH + 1) > MAX_DEPTH {
            return Ok(Plain::new_unknown(
                span,
                format!("a value that is more than {MAX_DEPTH} deep"),
            ));
        }
        self.lo.charge(count_items(&value))?;
        Ok(value)
    }

    /// Evaluates a node that [`cerith_python::walk`] does not support.
    pub(super) fn eval_other_node(&mut self, scope: ScopeId, expression: &Expr) -> Traced<Plain> {
        let span = span_of(self.modules.source_of(scope), expression.range());
        Ok(match expression {
            Expr::EllipsisLiteral(_) => Plain::Constant(Constant::Ellipsis),
            Expr::FString(node) => self.eval_fstring(scope, node, span)?,
            Expr::Dict(node) => self.eval_dict(scope, node, span)?,
            Expr::Attribute(node) => {
                let value = self.eval_expression(scope, &node.value)?;
                self.get_attribute(&value, node.attr.as_str(), span)
            }
            Expr::Lambda(node) => {
                let defaults = match &node.parameters {
                    Some(parameters) => self.eval_defaults(scope, parameters)?,
                    None => Vec::new(),
                };
                Plain::Function(Rc::new(PlainFunction {
                    name: "<lambda>".into(),
                    body: PlainBody::Lambda(Box::new(node.clone())),
                    scope,
                    defaults,
                }))
            }
            Expr::Subscript(node) => self.eval_subscript(scope, node, span)?,
            Expr::Call(node) => {
                let callee = self.eval_expression(scope, &node.func)?;
                match self.eval_arguments(scope, &node.arguments)? {
                    Some(arguments) => self.call(&callee, arguments, span)?,
                    None => Plain::new_unknown(span, "this call"),
                }
            }
            _ => Plain::new_unknown(span, "this expression"),
        })
    }

    fn eval_dict(&mut self, scope: ScopeId, node: &ast::ExprDict, span: Span) -> Traced<Plain> {
        let mut items = Vec::with_capacity(node.items.len());
        for item in &node.items {
            let value = self.eval_expression(scope, &item.value)?;
            match (&item.key, value) {
                (Some(key), value) => items.push((self.eval_expression(scope, key)?, value)),
                (None, Plain::Dict(more)) => items.extend(more.iter().cloned()),
                (None, _) => return Ok(Plain::new_unknown(span, "this dict")),
            }
        }
        Ok(Plain::Dict(Rc::new(items)))
    }

    fn eval_subscript(&mut self, scope: ScopeId, node: &ast::ExprSubscript, span: Span) -> Traced<Plain> {
        let container = self.eval_expression(scope, &node.value)?;
        let index = self.eval_expression(scope, &node.slice)?;
        let known = |items: &[(Plain, Plain)]| items.iter().all(|(key, _)| key.constant().is_some());
        match (
            apply_subscript(&container, &index, span),
            &container,
            index.constant(),
        ) {
            (Plain::Unknown(_), Plain::Dict(items), Some(key))
                if known(items) && !self.lo.calls.is_empty() =>
            {
                Err(self.lo.reject(format!("KeyError: {}", constant::repr(key))))
            }
            (found, ..) => Ok(found),
        }
    }

    pub(super) fn eval_name(&self, scope: ScopeId, name: &str, span: Span) -> Plain {
        if let Some((value, _)) = self.modules.find_global(scope, name) {
            return value.clone();
        }
        match name {
            "__name__" => self
                .modules
                .scopes
                .get(scope)
                .map_or(Plain::NONE, |scope| Plain::from_text(&scope.module)),
            _ => match NAMES.iter().chain(&OTHER_NAMES).find(|known| **known == name) {
                Some(known) => Plain::Builtin(known),
                None => Plain::new_unknown(span, format!("the name `{name}`")),
            },
        }
    }

    fn eval_fstring(&mut self, scope: ScopeId, node: &ast::ExprFString, span: Span) -> Traced<Plain> {
        let mut text = String::new();
        for part in &node.value {
            match part {
                ast::FStringPart::Literal(literal) => text.push_str(literal.as_str()),
                ast::FStringPart::FString(fstring) => {
                    for element in &fstring.elements {
                        match element {
                            ast::InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                            ast::InterpolatedStringElement::Interpolation(inner) => {
                                let value = self.eval_expression(scope, &inner.expression)?;
                                match value.constant() {
                                    Some(value) if inner.format_spec.is_none() => {
                                        text.push_str(&constant::to_text(value));
                                    }
                                    _ => return Ok(Plain::new_unknown(span, "this string")),
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(Plain::from_text(&text))
    }

    /// The arguments of a call; `None` when what is unpacked is not known.
    fn eval_arguments(&mut self, scope: ScopeId, arguments: &ast::Arguments) -> Traced<Option<Arguments>> {
        let Some(positional) = self.eval_items(scope, &arguments.args)? else {
            return Ok(None);
        };
        let mut keyword = Vec::with_capacity(arguments.keywords.len());
        for argument in &arguments.keywords {
            let value = self.eval_expression(scope, &argument.value)?;
            match (&argument.arg, value) {
                (Some(name), value) => keyword.push((Rc::from(name.as_str()), value)),
                (None, Plain::Dict(items)) => {
                    for (key, value) in items.iter() {
                        let Some(key) = key.as_str() else { return Ok(None) };
                        keyword.push((Rc::clone(key), value.clone()));
                    }
                }
                (None, _) => return Ok(None),
            }
        }
        Ok(Some(Arguments { positional, keyword }))
    }
}
