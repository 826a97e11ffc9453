//! Calls: of builtins, of `@triton.jit` functions, whose bodies are run in place, and of plain Python.

use std::rc::Rc;

use cerith_tile::ir::ValueId;
use cerith_tile::rules::Rule;
use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::Tracer;
use super::frame::{ActiveCall, Frame, Kind};
use crate::plain::exchange::{default_value, kernel_value};
use cerith_language::builtin::{python, signature};
use cerith_language::constant::{Constant, TypeValue};
use cerith_language::gap::Gap;
use cerith_language::semantic::types::{same_type, type_text};
use cerith_language::stop::Traced;
use cerith_language::value::Value;
use cerith_language::value::callable::{Builtin, Lower, UserFunction};
use cerith_language::value::plain::{Arguments, Plain};

/// Calls of `@triton.jit` functions inside of each other.
const MAX_CALLS: usize = 100;

impl Tracer<'_> {
    /// Calls a function, builtin or method, as `callee(*positional, **keyword)`.
    pub fn call(
        &mut self,
        callee: &Value,
        mut positional: Vec<Value>,
        keyword: Vec<(Rc<str>, Value)>,
    ) -> Traced<Value> {
        match callee {
            Value::Builtin(builtin) => self.call_builtin(builtin, false, positional, keyword),
            Value::Method(receiver, builtin) => {
                positional.insert(0, (**receiver).clone());
                self.call_builtin(builtin, true, positional, keyword)
            }
            Value::Function(function) => self.call_function(function, positional, keyword),
            Value::Bound(receiver, callee) => {
                positional.insert(0, (**receiver).clone());
                self.call(callee, positional, keyword)
            }
            Value::Python(python) => self.call_python(python, &positional, &keyword),
            Value::Constant(constant) => {
                let name = cerith_language::constant::type_name(constant);
                Err(self.lo.reject(format!("'{name}' object is not callable")))
            }
            _ => {
                let text = type_text(&self.lo, callee);
                Err(self.lo.reject(format!("{text} is not callable")))
            }
        }
    }

    fn call_builtin(
        &mut self,
        builtin: &'static Builtin,
        is_method: bool,
        positional: Vec<Value>,
        keyword: Vec<(Rc<str>, Value)>,
    ) -> Traced<Value> {
        let bound = signature::bind(builtin, &self.lo, positional, keyword)?;
        let result = match builtin.lower {
            Lower::Operations(lower) => lower(&mut self.lo, &bound)?,
            Lower::Calls(lower) => lower(self, &bound)?,
        };
        self.used_call(builtin, is_method, &bound, &result);
        Ok(result)
    }

    pub(super) fn call_node(&mut self, node: &ast::ExprCall) -> Traced<Value> {
        let callee = self.eval(&node.func)?;
        if let Value::Builtin(builtin) = &callee
            && std::ptr::eq(*builtin, &raw const python::STATIC_ASSERT)
        {
            return self.static_assert(node);
        }
        let replaces = matches!(&callee, Value::Builtin(builtin) if builtin.name() == "tl.aggregate_replace");
        let mut held = Vec::new();
        let mut positional = Vec::with_capacity(node.arguments.args.len());
        for argument in &node.arguments.args {
            if let Expr::Starred(starred) = argument {
                if !self.lo.has_rule(Rule::StarredArguments) {
                    return Err(self.not_in_triton("`*` in a call"));
                }
                match self.eval(&starred.value)? {
                    Value::Tuple { items, .. } | Value::List(items) => {
                        positional.extend(items.iter().cloned());
                    }
                    other => {
                        let text = type_text(&self.lo, &other);
                        return Err(self
                            .lo
                            .reject(format!("only a tuple can be unpacked with `*`, not {text}")));
                    }
                }
            } else {
                positional.push(self.eval_argument(argument, &mut held)?);
            }
        }
        let mut keyword: Vec<(Rc<str>, Value)> = Vec::with_capacity(node.arguments.keywords.len());
        for argument in &node.arguments.keywords {
            let Some(name) = &argument.arg else {
                return Err(self.not_in_triton("`**` in a call"));
            };
            let value = self.eval_argument(&argument.value, &mut held)?;
            if keyword.iter().any(|(key, _)| **key == *name.as_str()) {
                return Err(self
                    .lo
                    .reject(format!("keyword argument repeated: {}", name.as_str())));
            }
            keyword.push((name.as_str().into(), value));
        }
        if let (Value::Builtin(builtin), [value, class], Some(argument)) =
            (&callee, positional.as_slice(), node.arguments.args.first())
            && builtin.name() == "isinstance"
            && self.is_object(value, argument)
        {
            let of_constexprs = match class {
                Value::Builtin(class) => class.name() == "tl.constexpr",
                class => matches!(
                    class,
                    Value::Constant(Constant::Type(TypeValue::Named("constexpr")))
                ),
            };
            return Ok(Value::from_bool(of_constexprs));
        }
        if let Value::Builtin(builtin) = &callee
            && builtin.name() == "tl.inline_asm_elementwise"
        {
            self.check_assembled_dtype(&node.arguments)?;
        }
        if replaces {
            return self.aggregate_replace(&positional, &keyword);
        }
        let pointer = positional.first().or_else(|| {
            keyword
                .iter()
                .find(|(name, _)| &**name == "pointer")
                .map(|(_, value)| value)
        });
        if let (Value::Builtin(builtin), Some(Value::Tensor(pointer))) = (&callee, pointer)
            && held.contains(pointer)
            && builtin.takes_pointer()
        {
            return Err(self
                .lo
                .reject("a constexpr that holds a pointer is not a pointer"));
        }
        self.held_arguments = held;
        let result = self.call(&callee, positional, keyword);
        self.held_arguments.clear();
        result
    }

    /// `dtype` of `tl.inline_asm_elementwise` is taken as it is. A constexpr that holds one is refused, in every version.
    fn check_assembled_dtype(&self, arguments: &ast::Arguments) -> Traced<()> {
        let named = arguments
            .keywords
            .iter()
            .find(|keyword| keyword.arg.as_deref() == Some("dtype"))
            .map(|keyword| &keyword.value);
        match named.or_else(|| arguments.args.get(3)) {
            Some(dtype @ Expr::Name(_)) if self.is_annotated(dtype) => Err(self.lo.reject(
                "'constexpr' object has no attribute 'to_ir': `dtype` of assembly is a dtype itself",
            )),
            _ => Ok(()),
        }
    }

    /// An argument of a call. Tensors inside of constexprs are noted.
    fn eval_argument(&mut self, argument: &Expr, held: &mut Vec<ValueId>) -> Traced<Value> {
        let value = self.eval(argument)?;
        if let Value::Tensor(tensor) = value
            && self.is_held(argument)
        {
            held.push(tensor);
        }
        Ok(value)
    }

    /// `tl.static_assert(condition, message)`: the message is evaluated only if it is needed.
    fn static_assert(&mut self, node: &ast::ExprCall) -> Traced<Value> {
        let args = &node.arguments.args;
        let (1..=2, true) = (args.len(), node.arguments.keywords.is_empty()) else {
            return Err(self
                .lo
                .reject("`static_assert` requires one or two positional arguments only"));
        };
        self.used_call(&python::STATIC_ASSERT, false, &[], &Value::NONE);
        let condition = match args.first() {
            Some(condition) => self.eval(condition)?,
            None => Value::NONE,
        };
        match condition {
            Value::Constant(Constant::Bool(true)) => {
                if let Some(message) = args.get(1)
                    && !self.lo.has_rule(Rule::AssertMessagesWait)
                {
                    self.eval(message)?;
                }
                Ok(Value::NONE)
            }
            Value::Constant(Constant::Bool(false)) => {
                let message = match args.get(1).map(|message| self.eval(message)) {
                    None => String::new(),
                    Some(Ok(Value::Constant(message))) => cerith_language::constant::to_text(&message),
                    Some(Ok(value)) => type_text(&self.lo, &value),
                    Some(Err(_)) => "<failed to evaluate assertion message>".to_owned(),
                };
                let span = crate::text::span_of(self.frame.source, node.range());
                self.lo.span = span;
                let shown = if message.is_empty() {
                    "static assertion failed".to_owned()
                } else {
                    format!("static assertion failed: {message}")
                };
                Err(self.lo.reject_with("static-assert", shown))
            }
            _ => Err(self.lo.reject(
                "the condition of `static_assert` could not be determined at compile time: it has to be a bool that \
                 depends on constexprs only",
            )),
        }
    }

    /// Binds a call's arguments to a function's parameters, as Python would.
    fn bind_call(
        &mut self,
        function: &UserFunction,
        positional: Vec<Value>,
        mut keyword: Vec<(Rc<str>, Value)>,
    ) -> Traced<Vec<(Rc<str>, Value)>> {
        let parameters = &function.def.parameters;
        let mut positional = positional.into_iter();
        let mut bound: Vec<(Rc<str>, Value)> = Vec::new();
        let mut missing: Vec<&str> = Vec::new();
        let mut take = |name: &str| {
            keyword
                .iter()
                .position(|(key, _)| &**key == name)
                .map(|at| keyword.remove(at).1)
        };
        let places = parameters
            .posonlyargs
            .iter()
            .chain(&parameters.args)
            .map(|parameter| (parameter, true));
        for (parameter, by_place) in
            places.chain(parameters.kwonlyargs.iter().map(|parameter| (parameter, false)))
        {
            let name = parameter.name().as_str();
            let placed = if by_place { positional.next() } else { None };
            let named = take(name);
            let value = match (placed, named) {
                (Some(_), Some(_)) => {
                    return Err(self
                        .lo
                        .reject_with("bad-arguments", format!("multiple values for argument '{name}'")));
                }
                (Some(value), None) | (None, Some(value)) => Some(value),
                (None, None) => match function.default_of(name).cloned() {
                    Some(default) => Some(default_value(&self.lo, name, &default)?),
                    None => None,
                },
            };
            match value {
                Some(value) => bound.push((name.into(), value)),
                None => missing.push(name),
            }
            if by_place
                && parameters
                    .args
                    .last()
                    .is_some_and(|last| last.name().as_str() == name)
            {
                self.bind_rest(parameters, &mut positional, &mut bound);
            }
        }
        if parameters.args.is_empty() {
            self.bind_rest(parameters, &mut positional, &mut bound);
        }
        if let Some(name) = missing.first() {
            return Err(self.lo.reject_with(
                "bad-arguments",
                format!("`{}` is missing a required argument: '{name}'", function.name),
            ));
        }
        if positional.next().is_some() {
            return Err(self.lo.reject_with(
                "bad-arguments",
                format!("too many positional arguments for `{}`", function.name),
            ));
        }
        if parameters.kwarg.is_some() {
            return Err(self.lo.report_unsupported("`**kwargs` of a @triton.jit function"));
        }
        if let Some((name, _)) = keyword.first() {
            return Err(self.lo.reject_with(
                "bad-arguments",
                format!("`{}` got an unexpected keyword argument '{name}'", function.name),
            ));
        }
        Ok(bound)
    }

    #[expect(clippy::unused_self, reason = "a step of `bind_call`")]
    fn bind_rest(
        &self,
        parameters: &ast::Parameters,
        positional: &mut impl Iterator<Item = Value>,
        bound: &mut Vec<(Rc<str>, Value)>,
    ) {
        if let Some(rest) = &parameters.vararg
            && !bound.iter().any(|(name, _)| **name == *rest.name.as_str())
        {
            bound.push((rest.name.as_str().into(), Value::new_tuple(positional)));
        }
    }

    fn call_function(
        &mut self,
        function: &Rc<UserFunction>,
        positional: Vec<Value>,
        keyword: Vec<(Rc<str>, Value)>,
    ) -> Traced<Value> {
        let held = std::mem::take(&mut self.held_arguments);
        let bound = self.bind_call(function, positional, keyword)?;
        self.check_arguments(function, &bound)?;
        self.check_recursion(function, &bound)?;
        let kind = |value: &Value| match value {
            Value::Tensor(tensor) if held.contains(tensor) => Kind::Held,
            _ => Kind::Plain,
        };
        let bound = bound.into_iter().map(|(name, value)| {
            let kind = kind(&value);
            (name, value, kind)
        });
        let (span, loc) = (self.lo.span, self.lo.builder.loc());
        let caller = self.lo.caller.replace(loc);
        let value = self.run_body(function, span, bound.collect())?;
        self.lo.caller = caller;
        self.lo.leave((span, loc));
        Ok(value)
    }

    /// Refuses arguments that no call of this function may have.
    fn check_arguments(&mut self, function: &UserFunction, bound: &[(Rc<str>, Value)]) -> Traced<()> {
        for (name, value) in bound {
            let is_refused = match value {
                Value::Method(..) | Value::Bound(..) => true,
                Value::Builtin(_) => self.lo.has_gap(Gap::BuiltinArguments),
                _ => false,
            };
            if is_refused && !self.in_library(function) {
                let text = type_text(&self.lo, value);
                return Err(self
                    .lo
                    .reject(format!("{text} cannot be the argument `{name}` of a call")));
            }
        }
        self.check_specialised(function)?;
        if function.def.parameters.vararg.is_some() && !self.lo.has_rule(Rule::VariableArguments) {
            return Err(self
                .lo
                .reject(format!("`*` parameters of `{}` are not bound", function.name)));
        }
        if function.options.noinline {
            for (name, value) in bound {
                if let Value::Tensor(id) = value
                    && self.lo.is_block(*id)
                    && self.lo.ty(*id).numel() != 1
                {
                    return Err(self.lo.reject(format!(
                        "`{}` is marked noinline, but was called with the non-scalar argument `{name}`",
                        function.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// Refuses a call of a function that is being run with arguments of the same types, and one that is too deep.
    fn check_recursion(&self, function: &Rc<UserFunction>, bound: &[(Rc<str>, Value)]) -> Traced<()> {
        let is_same = |call: &ActiveCall| {
            let mut pairs = call.arguments.iter().zip(bound);
            Rc::ptr_eq(&call.function, function)
                && call.arguments.len() == bound.len()
                && pairs.all(|(before, (_, now))| same_type(&self.lo, before, now))
        };
        if self.calls.iter().any(is_same) {
            return Err(self
                .lo
                .reject_with("recursion", format!("`{}` calls itself", function.name)));
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(self.lo.report_exhausted(MAX_CALLS, "calls inside of each other"));
        }
        Ok(())
    }

    /// Runs a function's body in a frame of its own. `span` is where it is called; nothing in the text calls the kernel.
    pub(super) fn run_body(
        &mut self,
        function: &Rc<UserFunction>,
        span: Span,
        bound: Vec<(Rc<str>, Value, Kind)>,
    ) -> Traced<Value> {
        let frame = Frame {
            scope: function.scope,
            source: self.modules.source_of(function.scope),
            ..Frame::default()
        };
        let outer = std::mem::replace(&mut self.frame, frame);
        self.lo.calls.push(span);
        self.calls.push(ActiveCall {
            function: Rc::clone(function),
            arguments: bound.iter().map(|(_, value, _)| value.clone()).collect(),
        });
        for (name, value, kind) in bound {
            if self.is_defined(function, &name) {
                self.frame.set(&name, value, kind);
            }
        }
        self.check_annotations(function)?;
        let flow = self.run(&function.def.body, true)?;
        let value = self.result_of(flow)?;
        self.calls.pop();
        self.lo.calls.pop();
        self.frame = outer;
        Ok(value)
    }

    /// Whether a function is of the prelude.
    pub(super) fn in_library(&self, function: &UserFunction) -> bool {
        self.lo.library.contains(&self.modules.source_of(function.scope))
    }

    /// Whether a parameter's name is known inside of its function.
    fn is_defined(&self, function: &UserFunction, name: &str) -> bool {
        let named = |parameter: &ast::ParameterWithDefault| parameter.name().as_str() == name;
        self.lo.rules.holds(Rule::KeywordOnlyParameters)
            || !function.def.parameters.kwonlyargs.iter().any(named)
    }

    fn call_python(
        &mut self,
        callable: &Plain,
        positional: &[Value],
        keyword: &[(Rc<str>, Value)],
    ) -> Traced<Value> {
        if let Plain::NamedTuple(class) = callable {
            return self.construct(&class.name, &class.fields, &class.defaults, positional, keyword);
        }
        if let Plain::Aggregate(class) = callable {
            return self.instantiate(class, positional, keyword);
        }
        let tensors = positional.iter().chain(keyword.iter().map(|(_, value)| value));
        if tensors.clone().any(|value| {
            !matches!(value, Value::Aggregate(_)) && !super::frame::collect_leaves(value).is_empty()
        }) {
            return Err(self
                .lo
                .reject("a constexpr function takes compile-time values only"));
        }
        if let Plain::ConstexprFunction(function) | Plain::HeldFunction(function) = callable
            && let Some(parameters) = function.parameters()
        {
            let most = parameters.posonlyargs.len() + parameters.args.len();
            if positional.len() > most && parameters.vararg.is_none() {
                return Err(self.lo.reject(format!(
                    "{}() takes {most} positional arguments but {} were given",
                    function.name,
                    positional.len()
                )));
            }
        }
        let held = matches!(callable, Plain::HeldFunction(_));
        let given = |value: &Value| match value {
            Value::Constant(constant) if held && !matches!(constant, Constant::Type(_)) => {
                Plain::Constexpr(Box::new(value.clone()))
            }
            value => Plain::from_value(value),
        };
        let arguments = Arguments {
            positional: positional.iter().map(given).collect(),
            keyword: keyword
                .iter()
                .map(|(name, value)| (Rc::clone(name), given(value)))
                .collect(),
        };
        let span = self.lo.span;
        let result = self.plain().call(callable, arguments, span)?;
        match kernel_value(self.lo.rules, &result) {
            Some(value) => Ok(value),
            None => Err(match &result {
                Plain::Unknown(unknown) => self.lo.report_unsupported(&unknown.description),
                _ => self.lo.report_unsupported("what this function returns"),
            }),
        }
    }

    /// Makes a named tuple.
    fn construct(
        &mut self,
        class: &str,
        fields: &Rc<[Rc<str>]>,
        defaults: &[(Rc<str>, Plain)],
        positional: &[Value],
        keyword: &[(Rc<str>, Value)],
    ) -> Traced<Value> {
        let mut items = Vec::with_capacity(fields.len());
        for (place, field) in fields.iter().enumerate() {
            let named = keyword
                .iter()
                .find(|(key, _)| key == field)
                .map(|(_, value)| value.clone());
            let value = match (
                positional.get(place).cloned().or(named),
                defaults.iter().find(|(key, _)| key == field),
            ) {
                (Some(value), _) => value,
                (None, Some((_, default))) => default_value(&self.lo, field, default)?,
                (None, None) => {
                    return Err(self
                        .lo
                        .reject(format!("`{class}` is missing a required argument: '{field}'")));
                }
            };
            items.push(value);
        }
        let unknown = keyword.iter().find(|(key, _)| !fields.contains(key));
        if positional.len() > fields.len() || unknown.is_some() {
            return Err(self.lo.reject(format!("`{class}` does not take these arguments")));
        }
        self.not_too_deep(Value::Tuple {
            items: items.into(),
            names: Rc::clone(fields),
        })
    }
}
