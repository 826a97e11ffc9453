//! Evaluates names, attributes and items in a kernel: `x`, `x.y` and `x[y]`.

use std::rc::Rc;

use cerith_python::nearest::find_nearest;
use cerith_tile::rules::Rule;
use ruff_python_ast::{self as ast, Expr};

use super::Tracer;
use super::frame::Kind;
use crate::plain::exchange::{self, file_scope, kernel_value};
use crate::plain::{limits, names};
use cerith_language::builtin::{self, attribute, python, types};
use cerith_language::constant::{self, Constant};
use cerith_language::semantic;
use cerith_language::semantic::types::type_text;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::Value;
use cerith_language::value::plain::{Plain, ScopeId, Unknown};

/// String methods that Triton accepts in kernels, but the reference does not support.
const STRING_METHODS: [&str; 12] = [
    "count",
    "endswith",
    "find",
    "format",
    "join",
    "lower",
    "replace",
    "split",
    "startswith",
    "strip",
    "title",
    "upper",
];

impl Tracer<'_> {
    /// Resolves a name: a local, a global that kernels may use, or a Python builtin that Triton supports.
    pub(super) fn lookup(&mut self, name: &str) -> Traced<Value> {
        if let Some(slot) = self.frame.names.get(name) {
            return Ok(slot.value.clone());
        }
        let annotated = !self.lo.rules.holds(Rule::AnnotatedGlobalsAreNotConstexprs);
        if let Some((value, is_annotated)) = self.modules.find_global(self.frame.scope, name) {
            let value = value.clone();
            return self.global_value(name, &value, annotated && is_annotated);
        }
        if let Some(value) = python::find_builtin(name)
            && (name != "hasattr" || self.lo.has_rule(Rule::HasAttribute))
        {
            return Ok(value);
        }
        match name {
            "print" => {
                if let Some(value) = builtin::lookup(self.lo.rules, "tl", "device_print") {
                    return Ok(value);
                }
            }
            "min" | "max" => {
                if let Some(value) = builtin::python_builtin(name) {
                    return Ok(value);
                }
            }
            _ => {}
        }
        Err(self.reject_undefined_name(name))
    }

    fn reject_undefined_name(&self, name: &str) -> Stop {
        let mut diagnostic = self
            .lo
            .build_diagnostic("undefined-name", format!("`{name}` is not defined"));
        if let Some(&span) = self.frame.partial.get(name) {
            diagnostic = diagnostic
                .label(span, "bound here, on one path only")
                .help(format!("bind `{name}` before the branch"));
        } else {
            let scope = self.modules.scope(self.frame.scope);
            let globals = scope
                .into_iter()
                .flat_map(|scope| scope.names.keys())
                .map(AsRef::as_ref);
            let known = self.frame.names.keys().map(AsRef::as_ref).chain(globals);
            let near = find_nearest(name, known).map(str::to_owned);
            if let Some(near) = &near {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            diagnostic = diagnostic.misspelling(name, near);
        }
        Stop::Rejected(Box::new(diagnostic))
    }

    /// The error for a name with a value that the reference does not know.
    pub(super) fn report_unknown_name(&self, name: &str, unknown: &Unknown) -> Stop {
        let message = format!(
            "the reference does not know `{name}`: it is {}",
            unknown.description
        );
        let diagnostic = self.lo.build_diagnostic("unsupported", message);
        Stop::Unsupported(Box::new(diagnostic.label(unknown.span, "comes from here")))
    }

    /// The value of a global, or the error if kernels may not use it.
    fn global_value(&mut self, name: &str, value: &Plain, annotated: bool) -> Traced<Value> {
        let plain = match value {
            Plain::Unknown(unknown) => return Err(self.report_unknown_name(name, unknown)),
            Plain::Symbol(module, _) if names::is_foreign(module) => {
                let message = format!(
                    "the reference does not know `{name}`: it comes from the module `{module}`, which is not a file beside the \
                     kernel's"
                );
                return Err(Stop::Unsupported(Box::new(
                    self.lo.build_diagnostic("unsupported", message),
                )));
            }
            Plain::Constant(Constant::None) => !annotated && !self.lo.has_rule(Rule::NoneGlobals),
            Plain::Constant(Constant::Type(_))
            | Plain::Constexpr(_)
            | Plain::Module(_)
            | Plain::File(_)
            | Plain::Jit(_)
            | Plain::ConstexprFunction(_)
            | Plain::HeldFunction(_)
            | Plain::NamedTuple(_)
            | Plain::Aggregate(_)
            | Plain::Traced(_) => false,
            Plain::Symbol(module, _) => {
                !(&**module == "tl" || module.starts_with("tl.") || &**module == "triton")
            }
            _ => !annotated,
        };
        if plain {
            let mut diagnostic = self.lo.build_diagnostic(
                "non-constexpr-global",
                format!("cannot access global variable `{name}` from within a @jit function"),
            );
            diagnostic.help = exchange::suggest_fix(name, value);
            return Err(Stop::Rejected(Box::new(diagnostic)));
        }
        match kernel_value(self.lo.rules, value) {
            Some(value) => Ok(value),
            None => Err(self.lo.report_unsupported(format!("the global `{name}`"))),
        }
    }

    /// Resolves a dotted name in a module, as an argument of a launch: any value that kernels may use.
    pub(super) fn named_global(&mut self, scope: ScopeId, path: &str) -> Traced<Value> {
        let mut names = path.split('.');
        let first = names.next().unwrap_or_default();
        let Some(found) = self
            .modules
            .find_global(scope, first)
            .map(|(value, _)| value.clone())
        else {
            return Err(self
                .lo
                .reject_with("undefined-name", format!("`{first}` is not defined")));
        };
        let mut value = self.global_value(first, &found, true)?;
        for name in names {
            value = self.get_attribute(&value, name)?;
        }
        Ok(value)
    }

    pub(super) fn attribute_node(&mut self, node: &ast::ExprAttribute) -> Traced<Value> {
        let value = self.eval(&node.value)?;
        let name = node.attr.as_str();
        if name == "value" && self.is_constexpr(&node.value, &value)? {
            return Ok(value);
        }
        if name == "value"
            && matches!(&*node.value, Expr::Attribute(_))
            && matches!(value, Value::Constant(Constant::Type(_)))
        {
            return Err(self.lo.reject("'dtype' object has no attribute `value`"));
        }
        let held = self.is_held(&node.value) || self.is_held_tuple(&node.value);
        if held && !self.lo.has_rule(Rule::HeldAttributes) {
            return Err(self
                .lo
                .reject(format!("'constexpr' object has no attribute `{name}`")));
        }
        // Deviation from Triton's compiler (triton#2939): an int that is 1, which the launcher makes a constant, keeps the
        // attributes that every other int has.
        if let (Expr::Name(variable), Value::Constant(constant)) = (&*node.value, &value)
            && self
                .frame
                .names
                .get(variable.id.as_str())
                .is_some_and(|slot| slot.kind == Kind::Specialised)
            && *constant != Constant::None
            && name != "value"
        {
            let tensor = semantic::to_tensor(&mut self.lo, &value)?;
            return attribute::of_tensor(&mut self.lo, tensor, name);
        }
        self.get_attribute(&value, name)
    }

    /// Whether an expression that is not a number is a constexpr: a call of `tl.constexpr`, or a name with that annotation.
    fn is_constexpr(&mut self, expression: &Expr, value: &Value) -> Traced<bool> {
        Ok(match expression {
            Expr::Call(call) => matches!(self.eval(&call.func)?,
                Value::Builtin(builtin) if builtin.name() == "tl.constexpr"),
            Expr::Name(name) => match self.frame.names.get(name.id.as_str()) {
                Some(slot) => slot.kind == Kind::Held,
                None => {
                    matches!(
                        self.modules.find_global(self.frame.scope, name.id.as_str()),
                        Some((Plain::Constexpr(_), _))
                    ) && !matches!(value, Value::Module(_))
                }
            },
            _ => false,
        })
    }

    fn unknown_attribute(&self, path: &str, name: &str) -> Stop {
        let shown = path.replacen("tl", "triton.language", 1);
        let message = format!(
            "the module `{shown}` of Triton {} has no attribute `{name}`",
            self.lo.rules.version
        );
        let near = find_nearest(name, builtin::list_names(path, self.lo.rules));
        self.lo.unknown_attribute(message, Some(path), name, near)
    }

    /// Evaluates `value.name`, and counts the use of the attribute.
    pub(super) fn get_attribute(&mut self, value: &Value, name: &str) -> Traced<Value> {
        let found = self.attribute_of(value, name)?;
        // The use of a function is counted at its call, with the dtypes of its arguments.
        if !matches!(found, Value::Builtin(_) | Value::Method(..)) {
            self.used_attribute(value, name);
        }
        Ok(found)
    }

    /// Evaluates `module.name` for a module that the reference reads from a file.
    fn attribute_of_file(&mut self, scope: ScopeId, name: &str) -> Traced<Value> {
        let names = self.modules.scope(scope).map(|scope| &scope.names);
        let Some(found) = names.and_then(|names| names.get(name)).cloned() else {
            return Err(self.lo.reject(format!("the module has no attribute `{name}`")));
        };
        match kernel_value(self.lo.rules, &found) {
            Some(value) => Ok(value),
            None => self.global_value(name, &found, false),
        }
    }

    fn attribute_of(&mut self, value: &Value, name: &str) -> Traced<Value> {
        match value {
            Value::Tensor(tensor) => attribute::of_tensor(&mut self.lo, *tensor, name),
            Value::Module(path) => {
                if let Some(scope) = file_scope(path) {
                    return self.attribute_of_file(scope, name);
                }
                if let Some(module) = names::find_submodule(path, name) {
                    return Ok(Value::Module(module));
                }
                if let Some(found) = builtin::find_symbol(self.lo.rules, path, name) {
                    return Ok(found);
                }
                if limits::is_known(path, name) {
                    return Ok(Value::Python(Rc::new(Plain::Symbol(
                        Rc::clone(path),
                        name.into(),
                    ))));
                }
                if matches!(
                    &**path,
                    "tl" | "tl.math" | "tl.standard" | "tl.random" | "tl.extra.libdevice"
                ) && !builtin::UNKNOWN_OF_TL.contains(&name)
                {
                    return Err(self.unknown_attribute(path, name));
                }
                Err(self.lo.report_unsupported(format!("`{path}.{name}`")))
            }
            Value::Aggregate(aggregate) => self.aggregate_attribute(aggregate, name),
            Value::Python(class) => self.class_attribute(class, name),
            Value::BlockPointer(pointer) => attribute::of_block_pointer(&mut self.lo, pointer, name),
            Value::Descriptor(descriptor) => attribute::of_descriptor(&self.lo, descriptor, name),
            Value::Constant(Constant::Str(_)) if STRING_METHODS.contains(&name) => Err(self
                .lo
                .report_unsupported(format!("the method `{name}` of strings"))),
            Value::Constant(_) if name == "value" => Ok(value.clone()),
            Value::Constant(Constant::Type(ty)) => {
                let ty = ty.clone();
                types::type_attribute(&mut self.lo, &ty, name)
            }
            Value::Tuple { items, names } => match names.iter().position(|field| &**field == name) {
                Some(at) => Ok(items.get(at).cloned().unwrap_or(Value::NONE)),
                None => Err(self.lo.reject(format!("a tuple has no attribute `{name}`"))),
            },
            _ => {
                let text = match value {
                    Value::Constant(value) => format!("'{}' object", constant::type_name(value)),
                    _ => type_text(&self.lo, value),
                };
                Err(self.lo.reject(format!("{text} has no attribute `{name}`")))
            }
        }
    }

    pub(super) fn eval_subscript(&mut self, container: &Value, index: &Value) -> Traced<Value> {
        match container {
            Value::Constant(Constant::Str(_)) if matches!(index, Value::Slice(_)) => {
                Err(self.lo.reject("string indices must be integers, not 'slice'"))
            }
            Value::Constant(Constant::Str(text)) => {
                let letters: Vec<Value> = text
                    .chars()
                    .map(|letter| Value::from_text(&letter.to_string()))
                    .collect();
                let part = self.eval_subscript(&Value::new_tuple(letters), index)?;
                let Value::Tuple { items, .. } = part else {
                    return Ok(part);
                };
                let text: String = items
                    .iter()
                    .filter_map(|item| match item {
                        Value::Constant(letter) => Some(constant::to_text(letter)),
                        _ => None,
                    })
                    .collect();
                Ok(Value::from_text(&text))
            }
            Value::Tensor(tensor) => {
                self.used_attribute(container, "__getitem__");
                semantic::lower_subscript(&mut self.lo, *tensor, index)
            }
            Value::Tuple { items, .. } | Value::List(items) => match index {
                Value::Constant(at) => {
                    let Some(at) = constant::as_int(at) else {
                        return Err(self.lo.reject("tuple indices have to be integers or slices"));
                    };
                    let place = if at < 0 { at + items.len() as i128 } else { at };
                    usize::try_from(place)
                        .ok()
                        .and_then(|place| items.get(place).cloned())
                        .ok_or_else(|| self.lo.reject(format!("tuple index {at} is out of range")))
                }
                Value::Slice(slice) => self.slice_tuple(items, slice),
                _ => Err(self.lo.reject("tuple indices have to be known at compile time")),
            },
            _ => {
                let text = type_text(&self.lo, container);
                Err(self.lo.reject(format!("{text} cannot be subscripted")))
            }
        }
    }

    fn slice_tuple(&mut self, items: &[Value], slice: &[Value; 3]) -> Traced<Value> {
        let length = items.len() as i128;
        let mut bounds = [None; 3];
        for (bound, value) in bounds.iter_mut().zip(slice) {
            *bound = match value {
                Value::Constant(Constant::None) => None,
                Value::Constant(value) if constant::as_int(value).is_some() => constant::as_int(value),
                _ => {
                    return Err(self
                        .lo
                        .reject("slice bounds have to be integers known at compile time"));
                }
            };
        }
        let step = bounds[2].unwrap_or(1);
        if step == 0 {
            return Err(self.lo.reject("slice step cannot be zero"));
        }
        let clamp = |bound: i128| {
            (if bound < 0 { bound + length } else { bound }).clamp(
                if step < 0 { -1 } else { 0 },
                if step < 0 { length - 1 } else { length },
            )
        };
        let (first, last) = if step > 0 { (0, length) } else { (length - 1, -1) };
        let (start, stop) = (bounds[0].map_or(first, clamp), bounds[1].map_or(last, clamp));
        let mut taken = Vec::new();
        let mut at = start;
        while (step > 0 && at < stop) || (step < 0 && at > stop) {
            taken.extend(usize::try_from(at).ok().and_then(|at| items.get(at).cloned()));
            at = at.saturating_add(step);
        }
        Ok(Value::new_tuple(taken))
    }
}
