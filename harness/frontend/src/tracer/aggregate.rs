//! Classes decorated with `@triton.aggregate`: their fields and methods, and their instances, which are immutable values of
//! kernels.
//!
//! An `__init__` is plain Python that runs while the kernel is compiled. Its assignments to the instance's fields are
//! followed, alone and under known conditions. Properties are ignored, because Triton drops them too.

use std::rc::Rc;

use cerith_tile::quirk::signature::AGGREGATE_METHOD;
use cerith_tile::rules::Rule;

use super::Tracer;
use crate::plain::exchange::{default_value, kernel_value};
use cerith_language::semantic::types::type_text;
use cerith_language::stop::Traced;
use cerith_language::value::plain::{AggregateClass, Field, Plain, PlainBody, PlainFunction};
use cerith_language::value::{Aggregate, Value};

impl Tracer<'_> {
    /// Makes an instance, as `Class(…)` does.
    pub(super) fn instantiate(
        &mut self,
        class: &Rc<AggregateClass>,
        positional: &[Value],
        keyword: &[(Rc<str>, Value)],
    ) -> Traced<Value> {
        if let Some((init, is_constexpr)) = &class.init {
            return self.initialise(class, init, *is_constexpr, positional, keyword);
        }
        let name = &class.name;
        if positional.len() > class.fields.len() {
            return Err(self.lo.reject(format!(
                "{name}.__init__() takes {} positional arguments but {} were given",
                class.fields.len() + 1,
                positional.len() + 1
            )));
        }
        let mut items = Vec::with_capacity(class.fields.len());
        for (place, (field, kind)) in class.fields.iter().enumerate() {
            let named = keyword
                .iter()
                .find(|(key, _)| key == field)
                .map(|(_, value)| value);
            let value = match (positional.get(place), named) {
                (Some(_), Some(_)) => {
                    return Err(self.lo.reject(format!(
                        "{name}.__init__() got multiple values for argument '{field}'"
                    )));
                }
                (Some(value), None) | (None, Some(value)) => value.clone(),
                (None, None) => match class.defaults.iter().find(|(key, _)| key == field) {
                    Some((_, default)) => default_value(&self.lo, field, &default.clone())?,
                    None => {
                        return Err(self
                            .lo
                            .reject(format!("{name}.__init__() missing required argument: '{field}'")));
                    }
                },
            };
            self.check_field(class, field, kind, &value)?;
            items.push(value);
        }
        let unknown = |key: &str| !class.fields.iter().any(|(field, _)| &**field == key);
        if let Some((key, _)) = keyword.iter().find(|(key, _)| unknown(key)) {
            return Err(self.lo.reject(format!(
                "{name}.__init__() got an unexpected keyword argument '{key}'"
            )));
        }
        self.not_too_deep(Value::Aggregate(Rc::new(Aggregate {
            class: Rc::clone(class),
            items: items.into(),
        })))
    }

    fn check_field(&self, class: &AggregateClass, field: &str, kind: &Field, value: &Value) -> Traced<()> {
        if kind.can_hold(value) {
            return Ok(());
        }
        let text = type_text(&self.lo, value);
        Err(self.lo.reject(format!(
            "expected {} for the field `{field}` of {}, got {text}",
            kind.text(),
            class.name
        )))
    }

    /// Runs a class's own `__init__`.
    fn initialise(
        &mut self,
        class: &Rc<AggregateClass>,
        init: &Rc<PlainFunction>,
        is_constexpr: bool,
        positional: &[Value],
        keyword: &[(Rc<str>, Value)],
    ) -> Traced<Value> {
        let PlainBody::Def(def) = &init.body else {
            return Err(self.lo.report_unsupported("this `__init__`"));
        };
        // A `@constexpr_function` gets bare Python objects, a plain one gets constexprs.
        let given = |value: &Value| match value {
            Value::Constant(_) if is_constexpr => Plain::from_value(value),
            Value::Constant(_) => Plain::Constexpr(Box::new(value.clone())),
            _ => Plain::Traced(value.clone()),
        };
        let scope = self.modules.new_inner_scope(init.scope);
        let parameters: Vec<&str> = def
            .parameters
            .iter_non_variadic_params()
            .map(|parameter| parameter.name().as_str())
            .collect();
        let Some((this, names)) = parameters.split_first() else {
            return Err(self
                .lo
                .reject(format!("{}.__init__() takes no instance", class.name)));
        };
        let surplus = keyword.iter().find(|(key, _)| !names.contains(&&**key));
        if positional.len() > names.len() || surplus.is_some() {
            return Err(self
                .lo
                .reject(format!("{}.__init__() does not take these arguments", class.name)));
        }
        for (place, name) in names.iter().enumerate() {
            let named = keyword
                .iter()
                .find(|(key, _)| &**key == *name)
                .map(|(_, value)| value);
            let value = match positional.get(place).or(named) {
                Some(value) => given(value),
                None => match init.defaults.iter().find(|(key, _)| &**key == *name) {
                    Some((_, default)) => default.clone(),
                    None => {
                        return Err(self.lo.reject(format!(
                            "{}.__init__() missing 1 required positional argument: '{name}'",
                            class.name
                        )));
                    }
                },
            };
            self.modules.bind(scope, name, value);
        }
        let mut fields: Vec<(Rc<str>, Plain)> = Vec::new();
        let (def, this) = (Rc::clone(def), (*this).to_owned());
        self.plain().set_fields(scope, &def.body, &this, &mut fields)?;
        let mut items = Vec::with_capacity(class.fields.len());
        for (field, kind) in &class.fields {
            let Some((_, value_of)) = fields.iter().find(|(name, _)| name == field) else {
                return Err(self.lo.reject(format!(
                    "constructor for {} did not initialize attribute '{field}'",
                    class.name
                )));
            };
            items.push(self.initial_value(class, (field, kind), value_of)?);
        }
        if let Some((name, _)) = fields
            .iter()
            .find(|(name, _)| !class.fields.iter().any(|(field, _)| field == name))
        {
            return Err(self
                .lo
                .reject(format!("{} has no attribute '{name}'", class.name)));
        }
        self.not_too_deep(Value::Aggregate(Rc::new(Aggregate {
            class: Rc::clone(class),
            items: items.into(),
        })))
    }

    /// Converts the value that an `__init__` assigned to a field.
    fn initial_value(
        &self,
        class: &AggregateClass,
        (field, kind): (&str, &Field),
        value_of: &Plain,
    ) -> Traced<Value> {
        let bare = matches!(value_of, Plain::Constant(_) | Plain::Tuple(_) | Plain::List(_));
        let value = match (kernel_value(self.lo.rules, value_of), value_of) {
            (Some(value), _) => value,
            (None, Plain::Unknown(unknown)) => {
                let what = unknown.description.clone();
                return Err(self.lo.report_unsupported(what));
            }
            (None, _) => {
                return Err(self
                    .lo
                    .report_unsupported(format!("what the field `{field}` holds")));
            }
        };
        if matches!((value_of, &value), (Plain::Constexpr(_), Value::Tensor(_))) {
            return Err(self.lo.report_unsupported("`tl.constexpr` of a tensor"));
        }
        if bare || !kind.can_hold(&value) {
            let text = type_text(&self.lo, &value);
            return Err(self.lo.reject(format!(
                "expected {} for the field `{field}` of {}, got {}{text}",
                kind.text(),
                class.name,
                if bare { "a bare Python object: " } else { "" }
            )));
        }
        Ok(value)
    }

    /// `instance.name`.
    pub(super) fn aggregate_attribute(&mut self, value: &Rc<Aggregate>, name: &str) -> Traced<Value> {
        if let Some(field) = value.find_field(name) {
            return Ok(field.clone());
        }
        if name == "type" {
            return Err(self.lo.report_unsupported("the type of an aggregate as a value"));
        }
        match value.class.find_member(name).cloned() {
            Some(member) => {
                self.lo.record_use(AGGREGATE_METHOD);
                match kernel_value(self.lo.rules, &member) {
                    Some(callee) => Ok(Value::Bound(
                        Rc::new(Value::Aggregate(Rc::clone(value))),
                        Rc::new(callee),
                    )),
                    None => Err(self
                        .lo
                        .report_unsupported(format!("the method `{name}` of {}", value.class.name))),
                }
            }
            None => Err(self.lo.reject_with(
                "unknown-attribute",
                format!("'{}' object has no attribute '{name}'", value.class.name),
            )),
        }
    }

    /// `Class.name`.
    pub(super) fn class_attribute(&mut self, class: &Plain, name: &str) -> Traced<Value> {
        let Plain::Aggregate(class) = class else {
            return Err(self
                .lo
                .reject(format!("a Python object has no attribute `{name}`")));
        };
        let member = class.find_member(name).cloned();
        match member
            .as_ref()
            .and_then(|member| kernel_value(self.lo.rules, member))
        {
            Some(value) => Ok(value),
            None => Err(self.lo.reject_with(
                "unknown-attribute",
                format!("type object '{}' has no attribute '{name}'", class.name),
            )),
        }
    }

    /// An operator of an aggregate, if either operand has one.
    pub(super) fn aggregate_operator(
        &mut self,
        methods: (&str, &str),
        lhs: &Value,
        rhs: &Value,
    ) -> Option<Traced<Value>> {
        if !self.lo.rules.holds(Rule::AggregateOperators) {
            return None;
        }
        for (owner, method, other) in [(lhs, methods.0, rhs), (rhs, methods.1, lhs)] {
            if let Value::Aggregate(aggregate) = owner
                && aggregate.class.find_member(method).is_some()
            {
                let bound = self.aggregate_attribute(aggregate, method);
                return Some(bound.and_then(|bound| self.call(&bound, vec![other.clone()], Vec::new())));
            }
        }
        None
    }

    /// `tl.aggregate_replace(instance, field=value, …)`.
    pub(super) fn aggregate_replace(
        &mut self,
        positional: &[Value],
        keyword: &[(Rc<str>, Value)],
    ) -> Traced<Value> {
        let [Value::Aggregate(instance)] = positional else {
            return Err(self
                .lo
                .reject("aggregate_replace() expects an aggregate instance"));
        };
        let class = Rc::clone(&instance.class);
        for (name, _) in keyword {
            if instance.find_field(name).is_none() {
                return Err(self.lo.reject(format!("{} has no field '{name}'", class.name)));
            }
        }
        let mut arguments = Vec::with_capacity(class.fields.len());
        for ((field, _), item) in class.fields.iter().zip(instance.items.iter()) {
            let changed = keyword
                .iter()
                .find(|(key, _)| key == field)
                .map(|(_, value)| value);
            arguments.push((Rc::clone(field), changed.unwrap_or(item).clone()));
        }
        self.instantiate(&class, &[], &arguments)
    }
}
