//! Calls in plain Python: of the functions that module-level code defines, of the few of Python's and Triton's that
//! configure kernels, and of classes of named tuples.

use std::rc::Rc;

use cerith_python::builtin::{Builtin, Builtins};
use cerith_python::math::Math;
use cerith_python::{Error, Object};
use cerith_tile::rules::Rule;
use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::evaluate::HostFlow;
use super::function::Parameter;
use super::host_operator::{depth, made};
use super::{Tracer, decorator};
use crate::constant::{self, Constant};
use crate::stop::Traced;
use crate::text::span_of;
use crate::value::Value;
use crate::value::callable::{UserFunction, Wrapper};
use crate::value::host::{
    Decorator, Host, HostArguments, HostBody, HostFunction, NamedTupleClass, Native, ScopeId,
};

/// Calls of plain functions inside of each other.
const MAX_CALLS: usize = 64;
/// Items that a sequence may have.
pub(super) const MAX_RANGE: usize = 1 << 14;
/// Items that one function of Python's looks at and makes.
const MAX_WORK: usize = 1 << 20;

impl Tracer<'_> {
    /// Calls a value of plain Python.
    pub(super) fn host_call(&mut self, callee: &Host, arguments: HostArguments, span: Span) -> Traced<Host> {
        self.lo.burn()?;
        match callee {
            Host::Unknown(_) => Ok(callee.clone()),
            Host::Symbol(module, name) => Ok(match Native::find(module, name) {
                Some(native) => return self.native(native, &arguments, span),
                None if &**module == "math" => math(name, &arguments, span),
                None => Host::unknown(span, format!("what `{module}.{name}(…)` returns")),
            }),
            Host::Builtin(name) => {
                self.lo.charge(work(name, &arguments))?;
                Ok(builtin(name, &arguments, span))
            }
            Host::Decorator(decorator) => match (&**decorator, arguments.positional.first()) {
                (Decorator::Jit(options), Some(Host::Function(function))) => {
                    Ok(Host::Jit(Rc::new(UserFunction::new(function, options.clone()))))
                }
                (Decorator::Wrap(wrapper), Some(Host::Jit(function))) => {
                    Ok(Host::Jit(Rc::new(function.wrapped(Rc::clone(wrapper)))))
                }
                _ => Ok(Host::unknown(span, "what the decorator makes of it")),
            },
            Host::NamedTuple(class) => Ok(construct(class, arguments, span)),
            Host::Function(function) | Host::ConstexprFunction(function) => {
                Ok(self.call_host_function(function, arguments, span)?.0)
            }
            _ => Ok(Host::unknown(span, "what this call returns")),
        }
    }

    /// Runs a plain function; also gives the scope of its names.
    pub(super) fn call_host_function(
        &mut self,
        function: &Rc<HostFunction>,
        arguments: HostArguments,
        span: Span,
    ) -> Traced<(Host, Option<ScopeId>)> {
        if self.host_depth >= MAX_CALLS {
            return Ok((
                Host::unknown(
                    span,
                    format!("what more than {MAX_CALLS} calls inside of each other return"),
                ),
                None,
            ));
        }
        let source = self.source_of(function.scope);
        let module = self
            .scopes
            .get(function.scope)
            .map_or_else(|| "".into(), |scope| Rc::clone(&scope.module));
        self.lo.charge(16)?;
        let scope = self.new_scope(Some(function.scope), source, &module);
        if let Some(parameters) = function.parameters()
            && let Err(what) = self.bind_host(scope, function, parameters, arguments, span)
        {
            return Ok((Host::unknown(span, what), None));
        }
        self.host_depth += 1;
        let result = match &function.body {
            HostBody::Lambda(lambda) => self.host_expression(scope, &lambda.body),
            HostBody::Def(def) => self.host_body(scope, &def.body).map(|flow| match flow {
                HostFlow::Return(value) => value,
                _ => Host::NONE,
            }),
        };
        self.host_depth -= 1;
        Ok((result?, Some(scope)))
    }

    fn bind_host(
        &mut self,
        scope: ScopeId,
        function: &HostFunction,
        parameters: &ast::Parameters,
        arguments: HostArguments,
        span: Span,
    ) -> Result<(), String> {
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
            self.bind(
                scope,
                name,
                value.unwrap_or_else(|| Host::unknown(span, format!("the argument `{name}`"))),
            );
        }
        match &parameters.vararg {
            Some(rest) => self.bind(scope, rest.name.as_str(), Host::Tuple(positional.collect())),
            None if positional.next().is_some() => return Err("a call with too many arguments".to_owned()),
            None => {}
        }
        for parameter in &parameters.kwonlyargs {
            let name = parameter.name().as_str();
            let value = take(name).or_else(|| default_of(function, name));
            self.bind(
                scope,
                name,
                value.unwrap_or_else(|| Host::unknown(span, format!("the argument `{name}`"))),
            );
        }
        match &parameters.kwarg {
            Some(rest) => {
                let items = keyword
                    .into_iter()
                    .map(|(key, value)| (Host::str(&key), value))
                    .collect();
                self.bind(scope, rest.name.as_str(), Host::Dict(Rc::new(items)));
            }
            None if !keyword.is_empty() => return Err("a call with an unexpected argument".to_owned()),
            None => {}
        }
        Ok(())
    }

    fn native(&mut self, native: Native, arguments: &HostArguments, span: Span) -> Traced<Host> {
        decorator::check(self, native, arguments, span)?;
        Ok(match native {
            Native::Jit => {
                let options = decorator::jit_options(arguments);
                match arguments.positional.first() {
                    Some(Host::Function(function)) => {
                        Host::Jit(Rc::new(UserFunction::new(function, options)))
                    }
                    _ => Host::Decorator(Rc::new(Decorator::Jit(options))),
                }
            }
            Native::ConstexprFunction => match arguments.positional.first() {
                Some(Host::Function(function)) => Host::ConstexprFunction(Rc::clone(function)),
                _ => Host::unknown(span, "what `triton.constexpr_function` makes of this"),
            },
            Native::Autotune => Host::Decorator(Rc::new(Decorator::Wrap(Rc::new(Wrapper::Autotune {
                configs: arguments.get(0, "configs").cloned().unwrap_or(Host::NONE),
                key: arguments.get(1, "key").cloned().unwrap_or(Host::NONE),
                prune: arguments
                    .get(2, "prune_configs_by")
                    .cloned()
                    .unwrap_or(Host::NONE),
                span,
            })))),
            Native::Heuristics => match arguments.get(0, "values") {
                Some(Host::Dict(values)) => Host::Decorator(Rc::new(Decorator::Wrap(Rc::new(
                    Wrapper::Heuristics(Rc::clone(values)),
                )))),
                _ => Host::unknown(span, "the values of these heuristics"),
            },
            Native::Config => decorator::config(self, arguments, span),
            Native::Constexpr => match arguments.get(0, "value").map(|value| self.kernel_value(value)) {
                Some(Some(value)) => Host::Constexpr(Box::new(value)),
                _ => Host::unknown(span, "the value of this constexpr"),
            },
            Native::Cdiv => match (arguments.get(0, "x"), arguments.get(1, "y")) {
                (Some(x), Some(y)) => {
                    let sum = self.host_binary(ast::Operator::Add, x, y, span);
                    let sum = self.host_binary(ast::Operator::Sub, &sum, &Host::int(1), span);
                    self.host_binary(ast::Operator::FloorDiv, &sum, y, span)
                }
                _ => Host::unknown(span, "what this call returns"),
            },
            Native::NextPowerOf2 => match arguments
                .get(0, "n")
                .and_then(Host::constant)
                .and_then(constant::as_int)
            {
                Some(n) if n <= 1 << 64 => Host::int(i128::from(u64::from(n == 0)).max(next_power(n))),
                _ => Host::unknown(span, "what this call returns"),
            },
            Native::Aggregate => Host::unknown(span, "what `triton.aggregate` makes of this"),
            Native::NamedTuple => named_tuple(arguments, span),
        })
    }

    /// What a `constexpr` of this holds.
    pub(super) fn kernel_value(&mut self, value: &Host) -> Option<Value> {
        Some(match value {
            Host::Constant(constant) => Value::Constant(constant.clone()),
            Host::Constexpr(value) => (**value).clone(),
            Host::Tuple(items) => Value::tuple(
                items
                    .iter()
                    .map(|item| self.kernel_value(item))
                    .collect::<Option<Vec<_>>>()?,
            ),
            Host::List(items) => Value::List(
                items
                    .iter()
                    .map(|item| self.kernel_value(item))
                    .collect::<Option<Rc<[_]>>>()?,
            ),
            Host::Named(fields, items) => Value::Tuple {
                items: items
                    .iter()
                    .map(|item| self.kernel_value(item))
                    .collect::<Option<Rc<[_]>>>()?,
                names: Rc::clone(fields),
            },
            Host::Jit(function) => Value::Function(Rc::clone(function)),
            Host::Traced(value) => value.clone(),
            Host::ConstexprFunction(_) | Host::NamedTuple(_) | Host::Aggregate(_) => {
                Value::Python(Rc::new(value.clone()))
            }
            Host::Symbol(module, name) => self.symbol(module, name)?,
            Host::Module(name) => Value::Module(Rc::clone(name)),
            Host::File(scope) => Value::Module(format!("{}{scope}", super::FILE_PREFIX).into()),
            _ => return None,
        })
    }

    /// A `class`: of a named tuple, of aggregates, one that kernels cannot use, or one that is not known.
    pub(super) fn class(&mut self, scope: ScopeId, def: &ast::StmtClassDef) -> Traced<Host> {
        let span = span_of(self.source_of(scope), def.name.range());
        let mut is_tuple = false;
        let mut is_plain = true;
        let mut is_aggregate = false;
        for decorator in &def.decorator_list {
            let applied = self.host_expression(scope, &decorator.expression)?;
            is_aggregate |= matches!(&applied, Host::Symbol(module, name)
                if Native::find(module, name) == Some(Native::Aggregate));
        }
        if is_aggregate && !self.lo.rules.holds(Rule::Aggregates) {
            return Err(decorator::absent(self, "aggregate", span));
        }
        if is_aggregate && self.lo.rules.holds(Rule::Aggregates) && def.decorator_list.len() == 1 {
            return self.aggregate_class(scope, def);
        }
        for base in def.arguments.iter().flat_map(|arguments| arguments.args.iter()) {
            let base = self.host_expression(scope, base)?;
            is_tuple |= matches!(&base, Host::Symbol(module, name) if &**module == "typing" && &**name == "NamedTuple");
            is_plain &= matches!(&base, Host::Symbol(module, _) if &**module == "enum")
                || matches!(&base, Host::Class(_));
        }
        if is_plain && def.decorator_list.is_empty() {
            return Ok(Host::Class(def.name.as_str().into()));
        }
        if !is_tuple || !def.decorator_list.is_empty() {
            return Ok(Host::unknown(span, format!("the class `{}`", def.name.as_str())));
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
                defaults.push((name, self.host_expression(scope, value)?));
            }
        }
        let class = NamedTupleClass {
            name: def.name.as_str().into(),
            fields: fields.into(),
            defaults,
        };
        Ok(Host::NamedTuple(Rc::new(class)))
    }

    /// Whether an annotation is `constexpr`: `tl.constexpr`, a name for it, or a string.
    pub(super) fn names_constexpr(&mut self, scope: ScopeId, annotation: &Expr) -> bool {
        matches!(self.annotation(scope, annotation), Parameter::Constexpr)
    }
}

fn default_of(function: &HostFunction, name: &str) -> Option<Host> {
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

fn named_tuple(arguments: &HostArguments, span: Span) -> Host {
    let fields: Option<Vec<Rc<str>>> = match arguments.get(1, "field_names") {
        Some(Host::Constant(Constant::Str(text))) => Some(
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
    match (arguments.get(0, "typename").and_then(Host::as_str), fields) {
        (Some(name), Some(fields)) => {
            let class = NamedTupleClass {
                name: Rc::clone(name),
                fields: fields.into(),
                defaults: Vec::new(),
            };
            Host::NamedTuple(Rc::new(class))
        }
        _ => Host::unknown(span, "this named tuple"),
    }
}

fn construct(class: &NamedTupleClass, arguments: HostArguments, span: Span) -> Host {
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
            None => return Host::unknown(span, format!("a `{}` without `{field}`", class.name)),
        }
    }
    Host::Named(Rc::clone(&class.fields), items.into())
}

fn math(name: &str, arguments: &HostArguments, span: Span) -> Host {
    apply(
        Math::find(name),
        &format!("what `math.{name}(…)` returns"),
        arguments,
        span,
    )
}

/// Python's own functions, of plain values.
fn builtin(name: &str, arguments: &HostArguments, span: Span) -> Host {
    let what = format!("what `{name}(…)` returns");
    if name == "dict" && arguments.positional.is_empty() {
        let items = arguments.keyword.iter();
        return Host::Dict(Rc::new(
            items
                .map(|(key, value)| (Host::str(key), value.clone()))
                .collect(),
        ));
    }
    // The text of what is shared inside of itself may have no end.
    if name == "str"
        && arguments
            .positional
            .iter()
            .any(|value| value.constant().is_none())
    {
        return Host::unknown(span, what);
    }
    apply(Builtins::find(name), &what, arguments, span)
}

/// How much a function of Python's looks at: items, and long texts in them.
fn work(name: &str, arguments: &HostArguments) -> usize {
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

/// Functions that compare items, which are not looked into: what they share inside may have no end.
const COMPARE: [&str; 3] = ["max", "min", "sorted"];

/// Calls a function of Python's. `what` it returns is not known where an argument is not.
fn apply(function: Option<&Builtin<Host>>, what: &str, arguments: &HostArguments, span: Span) -> Host {
    let Some(function) = function.filter(|_| arguments.keyword.is_empty()) else {
        return Host::unknown(span, what);
    };
    let nested = |value: &Host| depth(value, 3) > 2;
    if !arguments.positional.iter().all(Host::is_known)
        || (COMPARE.contains(&function.name) && arguments.positional.iter().any(nested))
    {
        return Host::unknown(span, what);
    }
    let mut left = MAX_WORK;
    let found = function.call(&arguments.positional, &mut |items| {
        left = left.saturating_sub(items);
        if items > MAX_RANGE || left == 0 {
            return Err(Error::items(items, MAX_RANGE, "items of a sequence"));
        }
        Ok(())
    });
    made(found, what, span)
}
