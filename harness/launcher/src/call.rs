//! Calls of functions, methods and kernels.

use std::rc::Rc;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::arguments::Arguments;
use super::machine::Flow;
use super::machine::{Eval, Machine};
use super::module::{Global, is_guarded};
use super::value::{Body, Closure, Value};
use cerith_module::module;

impl<'a> Machine<'a> {
    pub fn call(&mut self, call: &'a ast::ExprCall, scope: &super::value::Scope<'a>) -> Eval<'a> {
        let callee = self.eval(&call.func, scope)?;
        let mut args = Arguments::default();
        for one in &call.arguments.args {
            let value = self.eval(one, scope)?;
            if one.is_starred_expr() {
                match self.iterate(&value)? {
                    Ok(values) => args.positional.extend(values),
                    Err(error) => args.positional.push(Value::unknown(error.to_string())),
                }
            } else {
                args.positional.push(value);
            }
        }
        for keyword in &call.arguments.keywords {
            let value = self.eval(&keyword.value, scope)?;
            match &keyword.arg {
                Some(name) => args.keywords.push((name.to_string(), value)),
                None => {
                    if let Value::Dict(items) = value {
                        for (key, value) in items.borrow().iter() {
                            if let Value::Str(key, _) = key {
                                args.keywords.push((key.to_string(), value.clone()));
                            }
                        }
                    }
                }
            }
        }
        if let Value::Launcher(def, grid) = &callee {
            return self.launch(def, grid, &args, self.module.line_of(call));
        }
        self.apply(&callee, &args)
    }

    pub fn apply(&mut self, callee: &Value<'a>, args: &Arguments<'a>) -> Eval<'a> {
        // A decorator: what it returns launches the same kernel.
        if let ([kernel @ Value::Kernel(_)], Value::Unknown(_) | Value::Module(_) | Value::Closure(_)) =
            (&args.positional[..], callee)
        {
            return Ok(kernel.clone());
        }
        Ok(match callee {
            Value::Closure(closure) => self.call_closure(closure, args)?,
            Value::Module(path) => {
                let path = path.to_string();
                self.call_path(&path, args)?
            }
            Value::Method(method) => {
                let (object, name) = &**method;
                if let ("autotune", [kernel @ Value::Kernel(def)]) = (name.as_str(), &args.positional[..]) {
                    self.tune(def, object);
                    return Ok(kernel.clone());
                }
                self.call_method(object, name, args)?
            }
            Value::Class(class) => self.make_instance(class, args)?,
            Value::Dtype(..) => args.positional.first().cloned().unwrap_or(Value::NONE),
            Value::Unknown(reason) => {
                self.spoil(args);
                Value::Unknown(reason.clone())
            }
            Value::Kernel(def) => {
                Value::unknown(format!("a call of the kernel `{}` without a grid", def.name))
            }
            // A layer that the caller passes, or that `self` has: its result is an input like others.
            Value::Input(input)
                if args
                    .positional
                    .iter()
                    .any(|one| matches!(one, Value::Tensor(_) | Value::Input(_))) =>
            {
                let result = self.input_field(*input, "output")?;
                if let Value::Input(result) = &result
                    && let Some(result) = self.plan.inputs.get_mut(*result)
                {
                    result.is_result = true;
                }
                result
            }
            other => {
                if let Value::Object(fields) = other {
                    let fields = fields.borrow().clone();
                    if let Some(result) = self.call_layer(&fields, args) {
                        return Ok(result);
                    }
                    if let Some(result) = self.call_instance(other, args)? {
                        return Ok(result);
                    }
                }
                self.spoil(args);
                Value::unknown(format!("a call of {}", other.kind()))
            }
        })
    }

    /// Marks the elements of tensors that a call may change as unknown. Inputs stay as they are: most functions only
    /// read them.
    pub fn spoil(&mut self, args: &Arguments<'a>) {
        let all = args.positional.iter().chain(args.keyword_values());
        let tensors: Vec<usize> = all
            .filter_map(|value| match value {
                Value::Tensor(tensor) => Some(tensor.storage),
                _ => None,
            })
            .collect();
        for storage in tensors {
            if self
                .storages
                .get(storage)
                .is_some_and(|storage| storage.input.is_none())
            {
                self.change(storage, super::tensor::Fill::Computed);
            }
        }
    }

    fn call_method(&mut self, object: &Value<'a>, name: &str, args: &Arguments<'a>) -> Eval<'a> {
        Ok(match object {
            Value::Tensor(tensor) => self.tensor_method(&tensor.clone(), name, args)?,
            // A method of the class, bound to `self`.
            Value::Tuple(bound, _) if name == "bound" => {
                let mut all = args.clone();
                let mut parts = bound.iter().cloned();
                let callee = parts.next().unwrap_or(Value::NONE);
                all.positional.splice(0..0, parts);
                self.apply(&callee, &all)?
            }
            Value::Tuple(values, from) => match name {
                "numel" => {
                    if let Some(input) = from {
                        self.observed.extend((0..values.len()).map(|dim| (*input, dim)));
                    }
                    let numbers = object.numbers().unwrap_or_default();
                    let value = numbers
                        .iter()
                        .fold(1_i64, |all, one| all.saturating_mul(one.value));
                    let sizes = numbers.iter().fold(0, |all, one| all | one.sizes);
                    match numbers[..] {
                        [one] => Value::Int(one),
                        _ => Value::Int(super::value::Number::computed(value, sizes)),
                    }
                }
                "index" | "count" => Value::unknown(format!("`{name}` of a tuple")),
                _ => Value::unknown(format!("the method `{name}` of a tuple")),
            },
            Value::List(values) => match name {
                "append" => {
                    if let Some(value) = args.positional.first() {
                        values.borrow_mut().push(value.clone());
                    }
                    Value::NONE
                }
                "extend" => {
                    if let Some(more) = args.positional.first()
                        && let Ok(more) = self.iterate(more)?
                    {
                        values.borrow_mut().extend(more);
                    }
                    Value::NONE
                }
                "pop" => {
                    let at = args.positional.first().map(|at| at.number().map(|at| at.value));
                    let count = values.borrow().len();
                    let at = match at {
                        None => count.checked_sub(1),
                        Some(Some(at)) if at < 0 => usize::try_from(at + count as i64).ok(),
                        Some(at) => at.and_then(|at| usize::try_from(at).ok()),
                    };
                    match at.filter(|at| *at < count) {
                        Some(at) => values.borrow_mut().remove(at),
                        None => Value::unknown("`pop` of an unknown element"),
                    }
                }
                "insert" => {
                    if let [at, value] = &args.positional[..] {
                        let count = values.borrow().len();
                        match at.number().map(|at| usize::try_from(at.value).unwrap_or(0)) {
                            Some(at) => values.borrow_mut().insert(at.min(count), value.clone()),
                            None => return Ok(Value::unknown("`insert` at an unknown place")),
                        }
                    }
                    Value::NONE
                }
                "reverse" => {
                    values.borrow_mut().reverse();
                    Value::NONE
                }
                "index" => {
                    let wanted = args.positional.first().cloned().unwrap_or(Value::NONE);
                    let values = values.borrow();
                    let mut all = values.iter();
                    match all.position(|one| super::value::is_equal(one, &wanted) == Some(true)) {
                        Some(at) => Value::int(at as i64),
                        None => Value::unknown("`index` of a value that a list does not have"),
                    }
                }
                "copy" => Value::list(values.borrow().clone()),
                _ => Value::unknown(format!("the method `{name}` of a list")),
            },
            Value::Dict(items) => {
                let all = items.borrow().clone();
                match name {
                    "get" | "pop" | "setdefault" => {
                        let key = args.positional.first().cloned().unwrap_or(Value::NONE);
                        let found = all
                            .iter()
                            .find(|(one, _)| super::value::is_equal(one, &key) == Some(true));
                        match found {
                            Some((_, value)) => value.clone(),
                            None => args.positional.get(1).cloned().unwrap_or(Value::NONE),
                        }
                    }
                    "keys" => Value::list(all.into_iter().map(|(key, _)| key).collect()),
                    "values" => Value::list(all.into_iter().map(|(_, value)| value).collect()),
                    "items" => Value::list(
                        all.into_iter()
                            .map(|(key, value)| Value::tuple(vec![key, value]))
                            .collect(),
                    ),
                    "copy" => Value::dict(all),
                    "update" => {
                        let mut more: Vec<(Value<'a>, Value<'a>)> = Vec::new();
                        if let Some(Value::Dict(other)) = args.positional.first() {
                            more.extend(other.borrow().iter().cloned());
                        }
                        more.extend(
                            args.keywords
                                .iter()
                                .map(|(key, value)| (Value::str(key), value.clone())),
                        );
                        items.borrow_mut().extend(more);
                        Value::NONE
                    }
                    _ => Value::unknown(format!("the method `{name}` of a dict")),
                }
            }
            Value::Str(text, _) => match (name, args.positional.first()) {
                ("lower", _) => Value::str(&text.to_lowercase()),
                ("upper", _) => Value::str(&text.to_uppercase()),
                ("startswith", Some(Value::Str(start, _))) => Value::bool(text.starts_with(&**start)),
                ("endswith", Some(Value::Str(end, _))) => Value::bool(text.ends_with(&**end)),
                _ => Value::str("text"),
            },
            Value::Object(fields) if matches!(name, "register_buffer" | "register_parameter") => {
                if let [Value::Str(field, _), value, ..] = &args.positional[..] {
                    fields.borrow_mut().insert(field.to_string(), value.clone());
                }
                Value::NONE
            }
            Value::Object(fields) => {
                if name == "save_for_backward" {
                    fields
                        .borrow_mut()
                        .insert("saved_tensors".to_owned(), Value::tuple(args.positional.clone()));
                }
                Value::NONE
            }
            Value::Class(class) if name == "apply" => {
                let forward = class.body.iter().find_map(|stmt| match stmt {
                    Stmt::FunctionDef(def) if def.name.as_str() == "forward" => Some(def),
                    _ => None,
                });
                match forward {
                    Some(def) => {
                        let mut all = args.clone();
                        all.positional.insert(0, new_object());
                        let closure = self.function_value(def, None);
                        self.class_names.push(class.name.to_string());
                        let result = self.apply(&closure, &all);
                        self.class_names.pop();
                        result?
                    }
                    None => Value::unknown("a class without `forward`"),
                }
            }
            Value::Float(float) => match name {
                "is_integer" => Value::bool(float.fract() == 0.0),
                _ => Value::unknown(format!("the method `{name}` of a float")),
            },
            Value::Int(number) => match name {
                "bit_length" => Value::int(i64::from(64 - number.value.unsigned_abs().leading_zeros())),
                _ => Value::unknown(format!("the method `{name}` of an integer")),
            },
            Value::Kernel(def) if name == "warmup" => {
                self.warmed
                    .insert(std::ptr::from_ref(*def) as usize, args.clone());
                object.clone()
            }
            Value::Kernel(_) | Value::Launcher(..) => Value::unknown(format!("`{name}` of a kernel")),
            Value::Unknown(reason) => Value::Unknown(reason.clone()),
            other => Value::unknown(format!("the method `{name}` of {}", other.kind())),
        })
    }

    pub fn call_closure(&mut self, closure: &Rc<Closure<'a>>, args: &Arguments<'a>) -> Eval<'a> {
        let name = match closure.body {
            Body::Function(def) => match self.class_names.last() {
                Some(class) if matches!(def.name.as_str(), "forward" | "backward") => {
                    format!("{class}.{}", def.name)
                }
                _ => def.name.to_string(),
            },
            Body::Expr(_) => self.functions.last().cloned().unwrap_or_default(),
        };
        let guarded = match closure.body {
            Body::Function(def) if is_guarded(def) => Some(self.make_contiguous(args)?),
            _ => None,
        };
        let scope = self.enter(&name, closure.scope.clone())?;
        let leads = matches!(closure.body, Body::Function(def) if self.module.leads_to_launch(def));
        let bound = self.bind_arguments(
            closure.parameters,
            guarded.as_ref().unwrap_or(args),
            &scope,
            leads,
        );
        let is_generator = matches!(closure.body, Body::Function(def) if yields(&def.body));
        if is_generator {
            self.yielded.push(Vec::new());
        }
        let bytes = self.module.text.len();
        let result = match bound {
            Ok(()) => module::with_stack_of(bytes, || match closure.body {
                Body::Expr(expr) => self.eval(expr, &scope),
                Body::Function(def) => self.run(&def.body, &scope).map(|flow| match flow {
                    Flow::Return(value) => value,
                    _ => Value::NONE,
                }),
            }),
            Err(halt) => Err(halt),
        };
        self.leave();
        if is_generator {
            let values = self.yielded.pop().unwrap_or_default();
            return result.map(|_| Value::list(values));
        }
        result
    }

    /// Arguments whose tensors are contiguous.
    fn make_contiguous(&mut self, args: &Arguments<'a>) -> Eval<'a, Arguments<'a>> {
        let mut dense = args.clone();
        let values = dense.positional.iter_mut();
        for value in values.chain(dense.keywords.iter_mut().map(|(_, value)| value)) {
            if let Value::Tensor(tensor) = value {
                *value = self.tensor_method(&tensor.clone(), "contiguous", &Arguments::default())?;
            }
        }
        Ok(dense)
    }

    fn bind_arguments(
        &mut self,
        parameters: Option<&'a ast::Parameters>,
        args: &Arguments<'a>,
        scope: &super::value::Scope<'a>,
        leads: bool,
    ) -> Eval<'a, ()> {
        let Some(parameters) = parameters else {
            return Ok(());
        };
        let mut positional = args.positional.iter();
        let mut taken = Vec::new();
        let defaults = scope.outer.clone();
        let by_position = parameters.posonlyargs.iter().chain(&parameters.args);
        for (parameter, is_positional) in by_position
            .map(|one| (one, true))
            .chain(parameters.kwonlyargs.iter().map(|one| (one, false)))
        {
            let name = parameter.parameter.name.as_str();
            let by_position = if is_positional {
                positional.next().cloned()
            } else {
                None
            };
            let value = match by_position.or_else(|| args.keyword(name)) {
                Some(value) => value,
                None => match &parameter.default {
                    Some(default) => match (&**default, &defaults) {
                        (Expr::BooleanLiteral(flag), _) if leads && !self.module.is_passed(name) => {
                            Value::bool(self.default_flag(name, flag))
                        }
                        (default, Some(defaults)) => self.eval(default, defaults)?,
                        (default, None) => self.eval(default, scope)?,
                    },
                    None => Value::unknown(format!("`{name}` is not passed")),
                },
            };
            taken.push(name);
            scope.bind(name, value);
        }
        if let Some(rest) = &parameters.vararg {
            scope.bind(rest.name.as_str(), Value::tuple(positional.cloned().collect()));
        }
        if let Some(rest) = &parameters.kwarg {
            let more = args
                .keywords
                .iter()
                .filter(|(name, _)| !taken.contains(&name.as_str()));
            let items = more.map(|(name, value)| (Value::str(name), value.clone()));
            scope.bind(rest.name.as_str(), Value::dict(items.collect()));
        }
        Ok(())
    }

    /// The value of a flag that the callers in this module leave to its default. Others may turn it.
    fn default_flag(&mut self, name: &str, flag: &ast::ExprBooleanLiteral) -> bool {
        let at = flag.range().start().to_usize();
        self.flags.insert(at, (name.to_owned(), flag.value));
        flag.value != (self.plan.turned == Some(at))
    }

    /// The class of `self`, if an input is it.
    pub fn class_of(&self, input: usize) -> Option<&'a ruff_python_ast::StmtClassDef> {
        let name = self.plan.inputs.get(input)?.name.as_str();
        let class = name.strip_prefix("self of ")?;
        match self.module.globals.get(class) {
            Some(Global::Class(class)) => Some(class),
            _ => None,
        }
    }
}

/// Whether a function with these statements is a generator.
fn yields(body: &[Stmt]) -> bool {
    struct Yields(bool);
    impl<'v> Visitor<'v> for Yields {
        fn visit_stmt(&mut self, stmt: &'v Stmt) {
            // Functions inside yield for themselves.
            if !self.0 && !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
                visitor::walk_stmt(self, stmt);
            }
        }

        fn visit_expr(&mut self, expr: &'v Expr) {
            self.0 |= matches!(expr, Expr::Yield(_) | Expr::YieldFrom(_));
            if !self.0 && !expr.is_lambda_expr() {
                visitor::walk_expr(self, expr);
            }
        }
    }
    let mut found = Yields(false);
    found.visit_body(body);
    found.0
}

pub(super) fn new_object<'a>() -> Value<'a> {
    Value::Object(Rc::default())
}

/// Whether an expression is a literal that a default can be.
pub(super) fn is_simple(expr: &Expr) -> bool {
    expr.is_literal_expr() || matches!(expr, Expr::UnaryOp(operation) if operation.operand.is_literal_expr())
}
