//! Calls in plain Python: of the functions that module-level code defines, of the few of Python's and Triton's that
//! configure kernels, and of classes of named tuples.

use std::rc::Rc;

use cerith_python::builtin::{self as python, Builtins};
use cerith_python::math::Math;
use cerith_python::{Error, Object};
use cerith_tile::rules::Rule;
use cerith_tile::source::Span;
use ruff_python_ast as ast;

use super::class::{construct, named_tuple};
use super::exchange::kernel_value;
use super::names::is_module;
use super::operator::{apply_binary, measure_depth, unwrap_or_unknown};
use super::statement::Flow;
use super::{Runner, decorator, limits, strings};
use cerith_language::builtin::signature;
use cerith_language::constant;
use cerith_language::stop::Traced;
use cerith_language::value::Value;
use cerith_language::value::callable::{Autotuner, Builtin, Lower, UserFunction, Wrapper};
use cerith_language::value::object::MAX_RANGE;
use cerith_language::value::plain::{Arguments, Decorator, Native, Plain, PlainBody, PlainFunction, ScopeId};

/// Calls of plain functions inside of each other.
const MAX_CALLS: usize = 64;
/// Items that one function of Python's looks at and makes.
const MAX_WORK: usize = 1 << 20;

/// Why arguments do not fit the parameters of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum BindError {
    #[error("a call with too many arguments")]
    TooMany,
    #[error("a call with an unexpected argument")]
    Unexpected,
}

impl Runner<'_, '_> {
    /// Calls a value of plain Python.
    pub fn call(&mut self, callee: &Plain, arguments: Arguments, span: Span) -> Traced<Plain> {
        self.lo.burn()?;
        match callee {
            Plain::Unknown(_) => Ok(callee.clone()),
            Plain::Symbol(module, name) => Ok(match Native::find(module, name) {
                Some(native) => return self.call_native(native, &arguments, span),
                None if &**module == "math" => apply_math(name, &arguments, span),
                None if limits::is_class(module, name) => {
                    limits::build_dtype_info(module, name, &arguments, span)
                }
                None if &**module == "packaging.version" => parse_version(name, &arguments, span),
                None if &**module == "tl" => return self.of_language(name, &arguments, span),
                None => Plain::new_unknown(span, format!("what `{module}.{name}(…)` returns")),
            }),
            Plain::Bound(text, method) => {
                self.lo.charge(estimate_work(method, &arguments))?;
                let text = text.as_str().map_or("", |text| &**text);
                self.lo.charge(text.len())?;
                let made = strings::call(text, method, &arguments);
                Ok(made.unwrap_or_else(|| {
                    Plain::new_unknown(span, format!("what the method `{method}` returns"))
                }))
            }
            Plain::Builtin(name @ ("hasattr" | "getattr")) => Ok(self.has_attribute(name, &arguments, span)),
            Plain::Builtin(name) => {
                self.lo.charge(estimate_work(name, &arguments))?;
                Ok(apply_builtin(name, &arguments, span))
            }
            Plain::Traced(Value::Method(receiver, asked)) => {
                let mut arguments = arguments;
                arguments.positional.insert(0, Plain::from_value(receiver));
                self.call_builtin(asked, &arguments, span)
            }
            Plain::Decorator(decorator) => Ok(decorator::apply_decorator(
                decorator,
                arguments.positional.first(),
                span,
            )),
            Plain::NamedTuple(class) => Ok(construct(class, arguments, span)),
            Plain::Function(function)
            | Plain::ConstexprFunction(function)
            | Plain::HeldFunction(function) => Ok(self.call_function(function, arguments, span)?.0),
            _ => Ok(Plain::new_unknown(span, "what this call returns")),
        }
    }

    /// `hasattr` and `getattr` of Triton's modules, whose names a version has or has not.
    fn has_attribute(&mut self, function: &str, arguments: &Arguments, span: Span) -> Plain {
        let unknown = || Plain::new_unknown(span, format!("what `{function}(…)` returns"));
        let [Plain::Module(module), name, default @ ..] = arguments.positional.as_slice() else {
            return unknown();
        };
        let (Some(name), true) = (name.as_str(), &**module == "tl" || module.starts_with("triton")) else {
            return unknown();
        };
        let has = match Native::find(module, name) {
            Some(Native::ConstexprFunction) => self.lo.rules.holds(Rule::ConstexprFunctions),
            Some(Native::Aggregate) => self.lo.rules.holds(Rule::Aggregates),
            Some(_) => true,
            None if is_module(&format!("{module}.{name}")) => true,
            None if cerith_language::builtin::find_symbol(self.lo.rules, module, name).is_some() => true,
            // Other modules and private names may have attributes that the reference doesn't know about.
            None if &**module == "tl"
                && !name.starts_with('_')
                && !cerith_language::builtin::UNKNOWN_OF_TL.contains(&&**name) =>
            {
                false
            }
            None => return unknown(),
        };
        match (function, default) {
            ("hasattr", []) => Plain::from_bool(has),
            ("getattr", _) if has => {
                let module = Plain::Module(Rc::clone(module));
                self.get_attribute(&module, name, span)
            }
            ("getattr", [default]) => default.clone(),
            _ => unknown(),
        }
    }

    /// Calls a function of `tl` from plain Python: one that unwraps a constexpr, or finds a dtype.
    fn of_language(&mut self, name: &str, arguments: &Arguments, span: Span) -> Traced<Plain> {
        match (name, arguments.positional.as_slice()) {
            ("_unwrap_if_constexpr" | "_constexpr_to_value", [value]) => Ok(match value {
                Plain::Constexpr(inner) => Plain::from_value(inner),
                value => value.clone(),
            }),
            ("get_int_dtype", _) => match cerith_language::builtin::find_symbol(self.lo.rules, "tl", name) {
                Some(Value::Builtin(asked)) => self.call_builtin(asked, arguments, span),
                _ => Ok(Plain::new_unknown(span, format!("what `tl.{name}(…)` returns"))),
            },
            _ => Ok(Plain::new_unknown(span, format!("what `tl.{name}(…)` returns"))),
        }
    }

    /// Calls a builtin whose arguments and result are known.
    fn call_builtin(&mut self, asked: &'static Builtin, arguments: &Arguments, span: Span) -> Traced<Plain> {
        let rules = self.lo.rules;
        let known = |value: &Plain| match kernel_value(rules, value) {
            Some(value @ Value::Constant(_)) => Some(value),
            _ => None,
        };
        let positional: Option<Vec<Value>> = arguments.positional.iter().map(known).collect();
        let (Some(positional), true, Lower::Operations(lower)) =
            (positional, arguments.keyword.is_empty(), asked.lower)
        else {
            return Ok(Plain::new_unknown(
                span,
                format!("what `{}(…)` returns", asked.name()),
            ));
        };
        let bound = signature::bind(asked, self.lo, positional, Vec::new())?;
        let value = lower(self.lo, &bound)?;
        Ok(Plain::from_value(&value))
    }

    /// Runs a plain function. Also returns the scope of its names.
    pub fn call_function(
        &mut self,
        function: &Rc<PlainFunction>,
        arguments: Arguments,
        span: Span,
    ) -> Traced<(Plain, Option<ScopeId>)> {
        if self.modules.depth >= MAX_CALLS {
            return Ok((
                Plain::new_unknown(
                    span,
                    format!("what more than {MAX_CALLS} calls inside of each other return"),
                ),
                None,
            ));
        }
        self.lo.charge(16)?;
        let scope = self.modules.new_inner_scope(function.scope);
        if let Some(parameters) = function.parameters()
            && let Err(error) = self.bind_arguments(scope, function, parameters, arguments, span)
        {
            return Ok((Plain::new_unknown(span, error.to_string()), None));
        }
        self.modules.depth += 1;
        let result = match &function.body {
            PlainBody::Lambda(lambda) => self.eval_expression(scope, &lambda.body),
            PlainBody::Def(def) => self.run_body(scope, &def.body).map(|flow| match flow {
                Flow::Return(value) => value,
                _ => Plain::NONE,
            }),
        };
        self.modules.depth -= 1;
        Ok((result?, Some(scope)))
    }

    fn bind_arguments(
        &mut self,
        scope: ScopeId,
        function: &PlainFunction,
        parameters: &ast::Parameters,
        arguments: Arguments,
        span: Span,
    ) -> Result<(), BindError> {
        let mut positional = arguments.positional.into_iter();
        let mut keyword = arguments.keyword;
        let mut take = |name: &str| {
            keyword
                .iter()
                .position(|(key, _)| &**key == name)
                .map(|at| keyword.remove(at).1)
        };
        for parameter in parameters.posonlyargs.iter().chain(&parameters.args) {
            let name = parameter.name().as_str();
            let value = positional
                .next()
                .or_else(|| take(name))
                .or_else(|| default_of(function, name));
            self.modules.bind(
                scope,
                name,
                value.unwrap_or_else(|| Plain::new_unknown(span, format!("the argument `{name}`"))),
            );
        }
        match &parameters.vararg {
            Some(rest) => self
                .modules
                .bind(scope, rest.name.as_str(), Plain::Tuple(positional.collect())),
            None if positional.next().is_some() => return Err(BindError::TooMany),
            None => {}
        }
        for parameter in &parameters.kwonlyargs {
            let name = parameter.name().as_str();
            let value = take(name).or_else(|| default_of(function, name));
            self.modules.bind(
                scope,
                name,
                value.unwrap_or_else(|| Plain::new_unknown(span, format!("the argument `{name}`"))),
            );
        }
        match &parameters.kwarg {
            Some(rest) => {
                let items = keyword
                    .into_iter()
                    .map(|(key, value)| (Plain::from_text(&key), value))
                    .collect();
                self.modules
                    .bind(scope, rest.name.as_str(), Plain::Dict(Rc::new(items)));
            }
            None if !keyword.is_empty() => return Err(BindError::Unexpected),
            None => {}
        }
        Ok(())
    }

    fn call_native(&mut self, native: Native, arguments: &Arguments, span: Span) -> Traced<Plain> {
        decorator::check(self.lo, native, arguments, span)?;
        Ok(match native {
            Native::Jit => {
                let options = decorator::jit_options(arguments);
                match arguments.positional.first() {
                    Some(Plain::Function(function)) => {
                        Plain::Jit(Rc::new(UserFunction::new(function, options)))
                    }
                    _ => Plain::Decorator(Rc::new(Decorator::Jit(options))),
                }
            }
            Native::ConstexprFunction => match arguments.positional.first() {
                Some(Plain::Function(function)) => Plain::ConstexprFunction(Rc::clone(function)),
                // A function of Triton's own: kernels call it as it is.
                Some(symbol @ Plain::Symbol(module, _)) if &**module == "tl" => symbol.clone(),
                _ => Plain::new_unknown(span, "the result of `triton.constexpr_function`"),
            },
            Native::Autotune => Plain::Decorator(Rc::new(Decorator::Wrap(Rc::new(Wrapper::Autotune(
                Box::new(Autotuner {
                    configs: arguments.get(0, "configs").cloned().unwrap_or(Plain::NONE),
                    key: arguments.get(1, "key").cloned().unwrap_or(Plain::NONE),
                    prune: arguments
                        .get(2, "prune_configs_by")
                        .cloned()
                        .unwrap_or(Plain::NONE),
                    reset: arguments.get(3, "reset_to_zero").cloned().unwrap_or(Plain::NONE),
                    hooks: [(5, "pre_hook"), (6, "post_hook")].map(|(place, name)| {
                        (name, arguments.get(place, name).cloned().unwrap_or(Plain::NONE))
                    }),
                    span,
                }),
            ))))),
            Native::Heuristics => match arguments.get(0, "values") {
                Some(Plain::Dict(values)) => Plain::Decorator(Rc::new(Decorator::Wrap(Rc::new(
                    Wrapper::Heuristics(Rc::clone(values)),
                )))),
                _ => Plain::new_unknown(span, "the values of these heuristics"),
            },
            Native::Config => decorator::build_config(self.lo, arguments, span),
            Native::Constexpr if matches!(arguments.positional.first(), Some(Plain::Function(_))) => {
                decorator::wrap_in_constexpr(arguments.positional.first())
            }
            Native::Constexpr => match arguments
                .get(0, "value")
                .map(|value| kernel_value(self.lo.rules, value))
            {
                Some(Some(value)) => Plain::Constexpr(Box::new(value)),
                _ => Plain::new_unknown(span, "the value of this constexpr"),
            },
            Native::Cdiv => match (arguments.get(0, "x"), arguments.get(1, "y")) {
                (Some(x), Some(y)) => {
                    let sum = apply_binary(ast::Operator::Add, x, y, span);
                    let sum = apply_binary(ast::Operator::Sub, &sum, &Plain::from_int(1), span);
                    apply_binary(ast::Operator::FloorDiv, &sum, y, span)
                }
                _ => Plain::new_unknown(span, "what this call returns"),
            },
            Native::NextPowerOf2 => match arguments
                .get(0, "n")
                .and_then(Plain::constant)
                .and_then(constant::as_int)
            {
                Some(n) if n <= 1 << 64 => Plain::from_int(i128::from(u64::from(n == 0)).max(next_power(n))),
                _ => Plain::new_unknown(span, "what this call returns"),
            },
            Native::Aggregate => Plain::new_unknown(span, "the result of `triton.aggregate`"),
            Native::NamedTuple => named_tuple(arguments, span),
        })
    }
}

fn default_of(function: &PlainFunction, name: &str) -> Option<Plain> {
    function
        .defaults
        .iter()
        .find(|(key, _)| &**key == name)
        .map(|(_, value)| value.clone())
}

fn next_power(n: i128) -> i128 {
    let mut power = 1;
    while power < n {
        power *= 2;
    }
    if n <= 0 { 0 } else { power }
}

/// `packaging.version.parse(…)` of a release: its numbers, without zeros at the end, which compare as versions do.
fn parse_version(name: &str, arguments: &Arguments, span: Span) -> Plain {
    let text = arguments.get(0, "version").and_then(Plain::as_str);
    let numbers: Option<Vec<i128>> = text
        .filter(|_| matches!(name, "parse" | "Version"))
        .and_then(|text| text.split('.').map(|part| part.parse().ok()).collect());
    let Some(mut numbers) = numbers else {
        return Plain::new_unknown(span, format!("what `packaging.version.{name}(…)` returns"));
    };
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    Plain::Tuple(numbers.into_iter().map(Plain::from_int).collect())
}

fn apply_math(name: &str, arguments: &Arguments, span: Span) -> Plain {
    apply(
        Math::find(name),
        &format!("what `math.{name}(…)` returns"),
        arguments,
        span,
    )
}

/// Python's own functions, of plain values.
fn apply_builtin(name: &str, arguments: &Arguments, span: Span) -> Plain {
    let what = format!("what `{name}(…)` returns");
    if name == "dict" && arguments.positional.is_empty() {
        let items = arguments.keyword.iter();
        return Plain::Dict(Rc::new(
            items
                .map(|(key, value)| (Plain::from_text(key), value.clone()))
                .collect(),
        ));
    }
    // A value that shares its parts may have an exponentially long text.
    if name == "str"
        && arguments
            .positional
            .iter()
            .any(|value| value.constant().is_none())
    {
        return Plain::new_unknown(span, what);
    }
    apply(Builtins::find(name), &what, arguments, span)
}

/// The number of items that a Python function processes, counting long texts by length.
fn estimate_work(name: &str, arguments: &Arguments) -> usize {
    let items: usize = arguments
        .positional
        .iter()
        .map(|argument| match argument.items() {
            Some(items) => items.iter().map(Object::weight).sum(),
            None => argument.weight(),
        })
        .sum();
    // Each item is compared with so many at most.
    let times = if name == "sorted" { items.max(1).ilog2() } else { 0 };
    items.saturating_mul(times as usize + 1)
}

/// Functions that compare items. Nested items are not compared: shared parts make that exponentially slow.
const COMPARE: [&str; 3] = ["max", "min", "sorted"];

/// Calls a Python function. If an argument is unknown, so is the result; messages call it `what`.
fn apply(function: Option<&python::Builtin<Plain>>, what: &str, arguments: &Arguments, span: Span) -> Plain {
    let Some(function) = function.filter(|_| arguments.keyword.is_empty()) else {
        return Plain::new_unknown(span, what);
    };
    let nested = |value: &Plain| measure_depth(value, 3) > 2;
    if !arguments.positional.iter().all(Plain::is_known)
        || (COMPARE.contains(&function.name) && arguments.positional.iter().any(nested))
    {
        return Plain::new_unknown(span, what);
    }
    let mut left = MAX_WORK;
    let found = function.call(&arguments.positional, &mut |items| {
        left = left.saturating_sub(items);
        if items > MAX_RANGE || left == 0 {
            return Err(Error::too_many(items, MAX_RANGE, "items of a sequence"));
        }
        Ok(())
    });
    unwrap_or_unknown(found, what, span)
}
