//! Classes that plain Python defines: of named tuples, of aggregates (`@triton.aggregate`), and others, which kernels cannot
//! use.
//!
//! An `__init__` is plain Python that runs while the kernel is compiled. Its assignments to the instance's fields are
//! followed, alone and under known conditions. Properties are ignored, because Triton drops them too.

use std::rc::Rc;

use cerith_tile::rules::Rule;
use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::{Runner, decorator};
use crate::text::span_of;
use cerith_language::constant::Constant;
use cerith_language::stop::Traced;
use cerith_language::value::plain::{
    AggregateClass, Arguments, EnumClass, Field, NamedTupleClass, Native, Plain, ScopeId,
};
use cerith_language::value::{Aggregate, Value};

impl Runner<'_, '_> {
    /// The value of a `class` statement. Its static kernels are bound beside it by their dotted names, which no other name is.
    pub(super) fn define_class(&mut self, scope: ScopeId, def: &ast::StmtClassDef) -> Traced<Plain> {
        let value = self.class_value(scope, def)?;
        if matches!(value, Plain::Class(_) | Plain::Unknown(_)) {
            for stmt in &def.body {
                let Stmt::FunctionDef(method) = stmt else {
                    continue;
                };
                let is_static = |decorator: &ast::Decorator| matches!(&decorator.expression, Expr::Name(name) if name.id == "staticmethod");
                let mut function = method.clone();
                function.decorator_list.retain(|one| !is_static(one));
                if function.decorator_list.is_empty() {
                    continue;
                }
                let kernel = self.define(scope, &Rc::new(function))?;
                if matches!(kernel, Plain::Jit(_)) {
                    self.modules
                        .bind(scope, &format!("{}.{}", def.name, method.name), kernel);
                }
            }
        }
        Ok(value)
    }

    fn class_value(&mut self, scope: ScopeId, def: &ast::StmtClassDef) -> Traced<Plain> {
        let span = span_of(self.modules.source_of(scope), def.name.range());
        let mut is_tuple = false;
        let mut is_plain = true;
        let mut is_enum = false;
        let mut is_aggregate = false;
        for decorator in &def.decorator_list {
            let applied = self.eval_expression(scope, &decorator.expression)?;
            is_aggregate |= matches!(&applied, Plain::Symbol(module, name)
                if Native::find(module, name) == Some(Native::Aggregate));
        }
        if is_aggregate && !self.lo.rules.holds(Rule::Aggregates) {
            return Err(decorator::reject_unknown_name(self.lo, "aggregate", span));
        }
        if is_aggregate && self.lo.rules.holds(Rule::Aggregates) && def.decorator_list.len() == 1 {
            return self.aggregate_class(scope, def);
        }
        for base in def.arguments.iter().flat_map(|arguments| arguments.args.iter()) {
            let base = self.eval_expression(scope, base)?;
            is_tuple |= matches!(&base, Plain::Symbol(module, name) if &**module == "typing" && &**name == "NamedTuple");
            is_enum |=
                matches!(&base, Plain::Symbol(module, name) if &**module == "enum" && &**name == "Enum");
            is_plain &= matches!(&base, Plain::Symbol(module, _) if &**module == "enum")
                || matches!(&base, Plain::Class(_));
        }
        if is_enum && def.decorator_list.is_empty() {
            return self.define_enum(scope, def);
        }
        if is_plain && def.decorator_list.is_empty() {
            return Ok(Plain::Class(def.name.as_str().into()));
        }
        if !is_tuple || !def.decorator_list.is_empty() {
            return Ok(Plain::new_unknown(
                span,
                format!("the class `{}`", def.name.as_str()),
            ));
        }
        let mut fields: Vec<Rc<str>> = Vec::new();
        let mut defaults = Vec::new();
        for statement in &def.body {
            let Stmt::AnnAssign(field) = statement else {
                continue;
            };
            let Expr::Name(name) = &*field.target else {
                continue;
            };
            let name: Rc<str> = name.id.as_str().into();
            fields.push(Rc::clone(&name));
            if let Some(value) = &field.value {
                defaults.push((name, self.eval_expression(scope, value)?));
            }
        }
        let class = NamedTupleClass {
            name: def.name.as_str().into(),
            fields: fields.into(),
            defaults,
        };
        Ok(Plain::NamedTuple(Rc::new(class)))
    }

    /// A class of `enum`: what its body assigns are its members. `auto()` counts on.
    fn define_enum(&mut self, scope: ScopeId, def: &ast::StmtClassDef) -> Traced<Plain> {
        let mut members: Vec<(Rc<str>, Plain)> = Vec::new();
        for statement in &def.body {
            let Stmt::Assign(node) = statement else {
                continue;
            };
            let [Expr::Name(name)] = node.targets.as_slice() else {
                continue;
            };
            let counts = match &*node.value {
                Expr::Call(call) => matches!(self.eval_expression(scope, &call.func)?,
                    Plain::Symbol(module, name) if &*module == "enum" && &*name == "auto"),
                _ => false,
            };
            let value = if counts {
                match members.last().map(|(_, value)| value) {
                    None => Plain::from_int(1),
                    Some(Plain::Constant(Constant::Int(last))) => Plain::from_int(last.saturating_add(1)),
                    Some(_) => Plain::new_unknown(Span::default(), "what `enum.auto()` returns"),
                }
            } else {
                self.eval_expression(scope, &node.value)?
            };
            members.push((name.id.as_str().into(), value));
        }
        let name = def.name.as_str().into();
        Ok(Plain::Enum(Rc::new(EnumClass { name, members })))
    }

    /// The class that a decorated `class` statement makes.
    pub(super) fn aggregate_class(&mut self, scope: ScopeId, def: &ast::StmtClassDef) -> Traced<Plain> {
        let span = span_of(self.modules.source_of(scope), def.name.range());
        let name: Rc<str> = def.name.as_str().into();
        let mut class = AggregateClass {
            name: Rc::clone(&name),
            fields: Vec::new(),
            defaults: Vec::new(),
            init: None,
            members: Vec::new(),
        };
        let mut parents: Vec<Rc<AggregateClass>> = Vec::new();
        for base in def.arguments.iter().flat_map(|arguments| arguments.args.iter()) {
            let Plain::Aggregate(parent) = self.eval_expression(scope, base)? else {
                let what = format!("the class `{name}`, which extends something other than an aggregate");
                return Ok(Plain::new_unknown(span, what));
            };
            parents.push(parent);
        }
        for parent in &parents {
            for (field, kind) in &parent.fields {
                set(&mut class.fields, field, kind.clone());
            }
            for (field, value) in &parent.defaults {
                set(&mut class.defaults, field, value.clone());
            }
            class.members.extend(parent.members.iter().cloned());
        }
        for statement in &def.body {
            match statement {
                Stmt::AnnAssign(node) => {
                    let Expr::Name(target) = &*node.target else {
                        continue;
                    };
                    let field: Rc<str> = target.id.as_str().into();
                    let annotation = self.eval_expression(scope, &node.annotation)?;
                    set(&mut class.fields, &field, Field::from_annotation(&annotation));
                    if let Some(value) = &node.value {
                        let value = self.eval_expression(scope, value)?;
                        set(&mut class.defaults, &field, value);
                    }
                }
                Stmt::FunctionDef(def) => {
                    let mut def = def.clone();
                    def.decorator_list
                        .retain(|decorator| !matches!(&decorator.expression, Expr::Name(name) if &*name.id == "staticmethod"));
                    let def = Rc::new(def);
                    match (def.name.as_str(), self.define(scope, &def)?) {
                        ("__init__", Plain::Function(init)) => class.init = Some((init, false)),
                        ("__init__", Plain::ConstexprFunction(init)) => class.init = Some((init, true)),
                        (member, value) => class.members.push((member.into(), value)),
                    }
                }
                _ => {}
            }
        }
        Ok(Plain::Aggregate(Rc::new(class)))
    }

    /// Runs statements of an `__init__`, and collects the values that they assign to fields.
    pub fn set_fields(
        &mut self,
        scope: ScopeId,
        body: &[Stmt],
        this: &str,
        fields: &mut Vec<(Rc<str>, Plain)>,
    ) -> Traced<()> {
        for statement in body {
            match statement {
                Stmt::Assign(node) => {
                    let value = self.eval_expression(scope, &node.value)?;
                    for target in &node.targets {
                        match target {
                            Expr::Attribute(field) if matches!(&*field.value, Expr::Name(name) if &*name.id == this) =>
                            {
                                set(fields, &field.attr.as_str().into(), value.clone());
                            }
                            _ => self.assign(scope, target, &value),
                        }
                    }
                }
                Stmt::If(node) => {
                    let tests = std::iter::once((Some(&*node.test), &node.body)).chain(
                        node.elif_else_clauses
                            .iter()
                            .map(|clause| (clause.test.as_ref(), &clause.body)),
                    );
                    for (test, body) in tests {
                        let holds = match test {
                            Some(test) => self.eval_expression(scope, test)?.truth(),
                            None => Some(true),
                        };
                        match holds {
                            Some(true) => {
                                self.set_fields(scope, body, this, fields)?;
                                break;
                            }
                            Some(false) => {}
                            None => {
                                return Err(self.lo.report_unsupported("this condition in an `__init__`"));
                            }
                        }
                    }
                }
                _ => {
                    self.run_statement(scope, statement)?;
                }
            }
        }
        Ok(())
    }
}

/// The value of an instance's field in plain Python.
pub(super) fn field_of(instance: &Aggregate, name: &str, span: Span) -> Plain {
    match instance.find_field(name) {
        Some(value @ Value::Constant(Constant::Int(_) | Constant::Float(_) | Constant::Bool(_))) => {
            Plain::Constexpr(Box::new(value.clone()))
        }
        Some(value @ Value::Constant(_)) => Plain::from_value(value),
        Some(value) => Plain::Traced(value.clone()),
        None => Plain::new_unknown(span, format!("the attribute `{name}`")),
    }
}

/// Evaluates `collections.namedtuple(…)`.
pub(super) fn named_tuple(arguments: &Arguments, span: Span) -> Plain {
    let fields: Option<Vec<Rc<str>>> = match arguments.get(1, "field_names") {
        Some(Plain::Constant(Constant::Str(text))) => Some(
            text.split([',', ' '])
                .filter(|part| !part.is_empty())
                .map(Rc::from)
                .collect(),
        ),
        Some(list) => list
            .items()
            .and_then(|items| items.iter().map(|item| item.as_str().cloned()).collect()),
        None => None,
    };
    match (arguments.get(0, "typename").and_then(Plain::as_str), fields) {
        (Some(name), Some(fields)) => {
            let class = NamedTupleClass {
                name: Rc::clone(name),
                fields: fields.into(),
                defaults: Vec::new(),
            };
            Plain::NamedTuple(Rc::new(class))
        }
        _ => Plain::new_unknown(span, "this named tuple"),
    }
}

/// An instance of a named tuple.
pub(super) fn construct(class: &NamedTupleClass, arguments: Arguments, span: Span) -> Plain {
    let mut positional = arguments.positional.into_iter();
    let mut items = Vec::with_capacity(class.fields.len());
    for field in class.fields.iter() {
        let named = || {
            arguments
                .keyword
                .iter()
                .find(|(key, _)| key == field)
                .map(|(_, value)| value.clone())
        };
        let default = || {
            class
                .defaults
                .iter()
                .find(|(key, _)| key == field)
                .map(|(_, value)| value.clone())
        };
        match positional.next().or_else(named).or_else(default) {
            Some(value) => items.push(value),
            None => return Plain::new_unknown(span, format!("a `{}` without `{field}`", class.name)),
        }
    }
    Plain::Named(Rc::clone(&class.fields), items.into())
}

fn set<T>(list: &mut Vec<(Rc<str>, T)>, name: &Rc<str>, value: T) {
    match list.iter_mut().find(|(key, _)| key == name) {
        Some(slot) => slot.1 = value,
        None => list.push((Rc::clone(name), value)),
    }
}
