//! Expressions of plain Python. Left out: operators on values ([`super::operator`]), and calls ([`super::call`]).

use std::rc::Rc;

use cerith_python::builtin::NAMES;
use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::Runner;
use super::operator::{binary, compare, depth, length, subscript, unary};
use crate::constant;
use crate::stop::Traced;
use crate::text::span_of;
use crate::value::plain::{Arguments, Plain, PlainBody, PlainFunction, ScopeId};

/// Values inside of each other.
const MAX_DEPTH: usize = 24;

/// Python's own names that are understood beside those of its builtins ([`NAMES`]).
const OTHER_NAMES: [&str; 4] = ["dict", "getattr", "hasattr", "isinstance"];

impl Runner<'_, '_> {
    /// Evaluates an expression of plain Python.
    pub fn expression(&mut self, scope: ScopeId, expression: &Expr) -> Traced<Plain> {
        self.lo.burn()?;
        let value = self.deeper(|runner| runner.expression_inner(scope, expression))?;
        let makes = matches!(
            expression,
            Expr::Tuple(_)
                | Expr::List(_)
                | Expr::Dict(_)
                | Expr::ListComp(_)
                | Expr::Lambda(_)
                | Expr::Call(_)
        );
        if makes && depth(&value, MAX_DEPTH + 1) > MAX_DEPTH {
            let span = span_of(self.modules.source_of(scope), expression.range());
            return Ok(Plain::unknown(
                span,
                format!("a value that is more than {MAX_DEPTH} deep"),
            ));
        }
        self.lo.charge(length(&value))?;
        Ok(value)
    }

    fn expression_inner(&mut self, scope: ScopeId, expression: &Expr) -> Traced<Plain> {
        let span = span_of(self.modules.source_of(scope), expression.range());
        Ok(match expression {
            Expr::Name(name) => self.name(scope, name.id.as_str(), span),
            Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => match constant::literal(expression) {
                Some(constant) => Plain::Constant(constant),
                None => Plain::unknown(span, "this literal"),
            },
            Expr::FString(node) => self.fstring(scope, node, span)?,
            Expr::Tuple(node) => match self.items(scope, &node.elts)? {
                Some(items) => Plain::Tuple(items.into()),
                None => Plain::unknown(span, "this tuple"),
            },
            Expr::List(node) => match self.items(scope, &node.elts)? {
                Some(items) => Plain::List(Rc::new(items)),
                None => Plain::unknown(span, "this list"),
            },
            Expr::Dict(node) => self.dict(scope, node, span)?,
            Expr::Attribute(node) => {
                let value = self.expression(scope, &node.value)?;
                self.attribute(&value, node.attr.as_str(), span)
            }
            Expr::BinOp(node) => {
                let lhs = self.expression(scope, &node.left)?;
                let rhs = self.expression(scope, &node.right)?;
                binary(node.op, &lhs, &rhs, span)
            }
            Expr::UnaryOp(node) => {
                let operand = self.expression(scope, &node.operand)?;
                unary(node.op, &operand, span)
            }
            Expr::BoolOp(node) => self.logical(scope, node, span)?,
            Expr::Compare(node) => self.comparison(scope, node, span)?,
            Expr::If(node) => match self.expression(scope, &node.test)?.truth() {
                Some(true) => self.expression(scope, &node.body)?,
                Some(false) => self.expression(scope, &node.orelse)?,
                None => Plain::unknown(span, "what depends on this condition"),
            },
            Expr::Lambda(node) => {
                let defaults = match &node.parameters {
                    Some(parameters) => self.defaults(scope, parameters)?,
                    None => Vec::new(),
                };
                Plain::Function(Rc::new(PlainFunction {
                    name: "<lambda>".into(),
                    body: PlainBody::Lambda(Box::new(node.clone())),
                    scope,
                    defaults,
                }))
            }
            Expr::ListComp(node) => {
                self.comprehension(scope, (&node.elt, &node.generators), span, "this comprehension")?
            }
            Expr::Generator(node) => {
                self.comprehension(scope, (&node.elt, &node.generators), span, "this generator")?
            }
            Expr::Subscript(node) => self.subscript(scope, node, span)?,
            Expr::Call(node) => {
                let callee = self.expression(scope, &node.func)?;
                let arguments = self.arguments(scope, &node.arguments)?;
                match arguments {
                    Some(arguments) => self.call(&callee, arguments, span)?,
                    None => Plain::unknown(span, "this call"),
                }
            }
            _ => Plain::unknown(span, "this expression"),
        })
    }

    fn dict(&mut self, scope: ScopeId, node: &ast::ExprDict, span: Span) -> Traced<Plain> {
        let mut items = Vec::with_capacity(node.items.len());
        for item in &node.items {
            let value = self.expression(scope, &item.value)?;
            match (&item.key, value) {
                (Some(key), value) => items.push((self.expression(scope, key)?, value)),
                (None, Plain::Dict(more)) => items.extend(more.iter().cloned()),
                (None, _) => return Ok(Plain::unknown(span, "this dict")),
            }
        }
        Ok(Plain::Dict(Rc::new(items)))
    }

    /// `and` and `or`.
    fn logical(&mut self, scope: ScopeId, node: &ast::ExprBoolOp, span: Span) -> Traced<Plain> {
        let mut value = Plain::NONE;
        for operand in &node.values {
            value = self.expression(scope, operand)?;
            match value.truth() {
                Some(truth) if truth == (node.op == ast::BoolOp::Or) => break,
                Some(_) => {}
                None => return Ok(Plain::unknown(span, "this condition")),
            }
        }
        Ok(value)
    }

    fn subscript(&mut self, scope: ScopeId, node: &ast::ExprSubscript, span: Span) -> Traced<Plain> {
        let container = self.expression(scope, &node.value)?;
        let index = self.expression(scope, &node.slice)?;
        let known = |items: &[(Plain, Plain)]| items.iter().all(|(key, _)| key.constant().is_some());
        match (subscript(&container, &index, span), &container, index.constant()) {
            (Plain::Unknown(_), Plain::Dict(items), Some(key))
                if known(items) && !self.lo.calls.is_empty() =>
            {
                Err(self.lo.reject(format!("KeyError: {}", constant::repr(key))))
            }
            (found, ..) => Ok(found),
        }
    }

    /// `[item for … in …]`; `what` it is, where something in it is not known.
    fn comprehension(
        &mut self,
        scope: ScopeId,
        (item, generators): (&Expr, &[ast::Comprehension]),
        span: Span,
        what: &str,
    ) -> Traced<Plain> {
        let mut items = Vec::new();
        let known = self.comprehend(scope, generators, &mut |runner, scope| {
            items.push(runner.expression(scope, item)?);
            Ok(())
        })?;
        Ok(if known {
            Plain::List(Rc::new(items))
        } else {
            Plain::unknown(span, what)
        })
    }

    fn name(&self, scope: ScopeId, name: &str, span: Span) -> Plain {
        if let Some((value, _)) = self.modules.global(scope, name) {
            return value.clone();
        }
        match name {
            "__name__" => self
                .modules
                .scopes
                .get(scope)
                .map_or(Plain::NONE, |scope| Plain::str(&scope.module)),
            _ => match NAMES.iter().chain(&OTHER_NAMES).find(|known| **known == name) {
                Some(known) => Plain::Builtin(known),
                None => Plain::unknown(span, format!("the name `{name}`")),
            },
        }
    }

    fn items(&mut self, scope: ScopeId, elements: &[Expr]) -> Traced<Option<Vec<Plain>>> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            if let Expr::Starred(starred) = element {
                match self.expression(scope, &starred.value)?.items() {
                    Some(more) => items.extend(more.iter().cloned()),
                    None => return Ok(None),
                }
            } else {
                items.push(self.expression(scope, element)?);
            }
        }
        Ok(Some(items))
    }

    fn fstring(&mut self, scope: ScopeId, node: &ast::ExprFString, span: Span) -> Traced<Plain> {
        let mut text = String::new();
        for part in &node.value {
            match part {
                ast::FStringPart::Literal(literal) => text.push_str(literal.as_str()),
                ast::FStringPart::FString(fstring) => {
                    for element in &fstring.elements {
                        match element {
                            ast::InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                            ast::InterpolatedStringElement::Interpolation(inner) => {
                                let value = self.expression(scope, &inner.expression)?;
                                match value.constant() {
                                    Some(value) if inner.format_spec.is_none() => {
                                        text.push_str(&constant::text(value));
                                    }
                                    _ => return Ok(Plain::unknown(span, "this string")),
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(Plain::str(&text))
    }

    fn comparison(&mut self, scope: ScopeId, node: &ast::ExprCompare, span: Span) -> Traced<Plain> {
        let mut lhs = self.expression(scope, &node.left)?;
        for (op, comparator) in node.ops.iter().zip(&node.comparators) {
            let rhs = self.expression(scope, comparator)?;
            match compare(*op, &lhs, &rhs) {
                Some(true) => lhs = rhs,
                Some(false) => return Ok(Plain::bool(false)),
                None => return Ok(Plain::unknown(span, "this comparison")),
            }
        }
        Ok(Plain::bool(true))
    }

    /// Runs `each` for every combination that the clauses of a comprehension give. False: something is not known.
    fn comprehend(
        &mut self,
        scope: ScopeId,
        generators: &[ast::Comprehension],
        each: &mut dyn FnMut(&mut Self, ScopeId) -> Traced<()>,
    ) -> Traced<bool> {
        let Some((first, rest)) = generators.split_first() else {
            each(self, scope)?;
            return Ok(true);
        };
        let Some(items) = self
            .expression(scope, &first.iter)?
            .items()
            .map(<[Plain]>::to_vec)
        else {
            return Ok(false);
        };
        self.lo.charge(16)?;
        let inner = self.modules.inside(scope);
        'items: for item in items {
            self.lo.burn()?;
            self.assign(inner, &first.target, &item);
            for condition in &first.ifs {
                match self.expression(inner, condition)?.truth() {
                    Some(true) => {}
                    Some(false) => continue 'items,
                    None => return Ok(false),
                }
            }
            if !self.comprehend(inner, rest, each)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The arguments of a call; `None` when what is unpacked is not known.
    fn arguments(&mut self, scope: ScopeId, arguments: &ast::Arguments) -> Traced<Option<Arguments>> {
        let Some(positional) = self.items(scope, &arguments.args)? else {
            return Ok(None);
        };
        let mut keyword = Vec::with_capacity(arguments.keywords.len());
        for argument in &arguments.keywords {
            let value = self.expression(scope, &argument.value)?;
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
