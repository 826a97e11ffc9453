//! Binds a launch's arguments to a kernel's parameters, with the arguments that an autotuner and heuristics add.

use std::collections::HashMap;
use std::rc::Rc;

use cerith_python::nearest::find_nearest;
use cerith_tile::ir::Elem;
use cerith_tile::rules::Rule;
use cerith_tile::source::Span;

use super::{Tracer, hook};
use crate::plain::exchange::default_value;
use cerith_language::constant::{Constant, TypeValue};
use cerith_language::gap::Gap;
use cerith_language::request::RequestArg;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::Value;
use cerith_language::value::callable::{Autotuner, UserFunction, Wrapper};
use cerith_language::value::plain::{Arguments, Config, Plain};

/// Keywords of a launch that are options, not parameters.
const OPTIONS: [&str; 22] = [
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "debug",
    "sanitize_overflow",
    "enable_fp_fusion",
    "launch_cooperative_grid",
    "launch_pdl",
    "cluster_dims",
    "ptx_version",
    "ptx_options",
    "ir_override",
    "extern_libs",
    "default_dot_input_precision",
    "allowed_dot_input_precisions",
    "max_num_imprecise_acc_default",
    "supported_fp8_dtypes",
    "deprecated_fp8_dtypes",
    "allow_fp8e4nv",
    "allow_fp8e4b15",
    "arch",
];

impl Tracer<'_> {
    /// Every parameter's argument, in the order of the signature.
    pub(super) fn collect_arguments(
        &mut self,
        function: &Rc<UserFunction>,
    ) -> Traced<Vec<(Rc<str>, RequestArg)>> {
        let request = self.request;
        let parameters = &function.def.parameters;
        if !parameters.posonlyargs.is_empty() {
            return Err(self.lo.report_unsupported("positional-only parameters"));
        }
        if parameters.vararg.is_some() && !self.lo.has_rule(Rule::VariableArguments) {
            return Err(self.lo.reject_with(
                "bad-arguments",
                "Triton has no `*` parameters of kernels before 3.8",
            ));
        }
        if parameters.kwarg.is_some() {
            return Err(self.lo.report_unsupported("`**kwargs` of a kernel"));
        }
        let names: Vec<Rc<str>> = parameters
            .args
            .iter()
            .map(|parameter| parameter.name().as_str().into())
            .collect();
        let mut given: HashMap<Rc<str>, RequestArg> = HashMap::new();
        let mut positional = request.positional.iter().cloned();
        for (name, arg) in names.iter().zip(positional.by_ref()) {
            given.insert(Rc::clone(name), arg);
        }
        let rest: Vec<RequestArg> = positional.collect();
        if let Some(vararg) = &parameters.vararg {
            given.insert(vararg.name.as_str().into(), RequestArg::Tuple(rest));
        } else if !rest.is_empty() {
            let (takes, got) = (names.len(), request.positional.len());
            return Err(self.lo.reject_with(
                "bad-arguments",
                format!(
                    "`{}` takes {takes} positional arguments but {got} were given",
                    function.name
                ),
            ));
        }
        let all: Vec<Rc<str>> = names
            .iter()
            .cloned()
            .chain(
                parameters
                    .vararg
                    .iter()
                    .map(|parameter| parameter.name.as_str().into()),
            )
            .chain(
                parameters
                    .kwonlyargs
                    .iter()
                    .map(|parameter| parameter.name().as_str().into()),
            )
            .collect();
        for (name, arg) in &request.keyword {
            let name: Rc<str> = name.as_str().into();
            self.pass(function, &all, &mut given, &name, arg.clone())?;
        }
        for wrapper in &function.wrappers {
            self.wrap(function, wrapper, &all, &names, &mut given)?;
        }
        let mut ordered = Vec::with_capacity(all.len());
        let mut missing = Vec::new();
        for name in all {
            match given.remove(&name) {
                Some(value) => ordered.push((name, value)),
                None => match function.default_of(&name).cloned() {
                    Some(default) => {
                        let arg = self.arg_of(&name, &default)?;
                        ordered.push((name, arg));
                    }
                    None => missing.push(format!("`{name}`")),
                },
            }
        }
        if !missing.is_empty() {
            return Err(self.lo.reject_with(
                "bad-arguments",
                format!("`{}` is missing {}", function.name, missing.join(", ")),
            ));
        }
        Ok(ordered)
    }

    /// Passes one argument by name.
    fn pass(
        &mut self,
        function: &UserFunction,
        all: &[Rc<str>],
        given: &mut HashMap<Rc<str>, RequestArg>,
        name: &Rc<str>,
        value: RequestArg,
    ) -> Traced<()> {
        if all.contains(name) {
            if given.insert(Rc::clone(name), value).is_some() {
                return Err(self.lo.reject_with(
                    "bad-arguments",
                    format!("`{}` got multiple values for argument `{name}`", function.name),
                ));
            }
            return Ok(());
        }
        if OPTIONS.contains(&&**name) {
            self.lo.options.push((Rc::clone(name), value));
            return Ok(());
        }
        let mut diagnostic = self.lo.build_diagnostic(
            "bad-arguments",
            format!(
                "`{}` has no parameter `{name}`, and no launch option has that name",
                function.name
            ),
        );
        if let Some(near) = find_nearest(name, all.iter().map(AsRef::as_ref).chain(OPTIONS)) {
            diagnostic.help = Some(format!("did you mean `{near}`?"));
        }
        Err(Stop::Rejected(Box::new(diagnostic)))
    }

    /// Applies `@triton.autotune` or `@triton.heuristics` to the arguments.
    fn wrap(
        &mut self,
        function: &Rc<UserFunction>,
        wrapper: &Wrapper,
        all: &[Rc<str>],
        names: &[Rc<str>],
        given: &mut HashMap<Rc<str>, RequestArg>,
    ) -> Traced<()> {
        match wrapper {
            Wrapper::Autotune(tuner) => {
                let Autotuner {
                    configs,
                    prune,
                    key,
                    reset,
                    hooks,
                    span,
                } = &**tuner;
                if self.lo.has_gap(Gap::StrayKeys) || self.lo.has_gap(Gap::MissingKeys) {
                    let stray = key
                        .items()
                        .into_iter()
                        .flatten()
                        .find(|key| key.as_str().is_some_and(|key| !all.contains(key)));
                    if let Some(stray) = stray.and_then(Plain::as_str) {
                        self.lo.span = *span;
                        return Err(self.lo.reject_with(
                            "bad-arguments",
                            format!("the key `{stray}` is not a parameter of `{}`", function.name),
                        ));
                    }
                }
                let (config, measures) = self.choose_config(configs, prune, names, given, *span)?;
                if measures {
                    self.reset_when_tuning(reset, hooks, key, given, *span)?;
                }
                let Some(config) = config else {
                    return Ok(());
                };
                for (name, value) in &config.kwargs {
                    if given.contains_key(name) {
                        return Err(self.lo.reject_with(
                            "bad-arguments",
                            format!("`{name}` is given by the launch and by the autotuner's configuration"),
                        ));
                    }
                    let arg = self.arg_of(name, value)?;
                    self.pass(function, all, given, name, arg)?;
                }
                for (name, value) in &config.options {
                    match value {
                        Plain::Constant(Constant::None) => {}
                        _ if &**name == "pre_hook" => self.clear_before_launch(value, given, *span)?,
                        Plain::Constant(_) => {
                            let arg = self.arg_of(name, value)?;
                            self.lo.options.push((Rc::clone(name), arg));
                        }
                        _ => {
                            self.lo.span = *span;
                            return Err(self.lo.report_unsupported(format!("`{name}` of a configuration")));
                        }
                    }
                }
            }
            Wrapper::Heuristics(values) => {
                for (name, heuristic) in values.iter() {
                    let Some(name) = name.as_str().cloned() else {
                        continue;
                    };
                    let nargs = named_arguments(given);
                    let arguments = Arguments {
                        positional: vec![nargs],
                        keyword: Vec::new(),
                    };
                    let span = self.lo.span;
                    let value = self.plain().call(heuristic, arguments, span)?;
                    if !all.contains(&name) && !OPTIONS.contains(&&*name) {
                        return Err(self.lo.reject_with(
                            "bad-arguments",
                            format!(
                                "`{}` has no parameter `{name}`, which a heuristic is for",
                                function.name
                            ),
                        ));
                    }
                    let arg = self.arg_of(&name, &value)?;
                    given.insert(name, arg);
                }
            }
        }
        Ok(())
    }

    /// Records the tensors that a measuring tuner sets to zero: `Autotuner.run` calls the tuner's `pre_hook` with
    /// `reset_only` after measuring, which sets the tensors of `reset_to_zero` to zero unless the user passes another hook.
    /// `restore_value` leaves its tensors unchanged.
    fn reset_when_tuning(
        &mut self,
        reset: &Plain,
        hooks: &[(&'static str, Plain)],
        key: &Plain,
        given: &HashMap<Rc<str>, RequestArg>,
        span: Span,
    ) -> Traced<()> {
        let is_none = |value: &Plain| matches!(value, Plain::Constant(Constant::None));
        if let Some((name, _)) = hooks.iter().find(|(_, hook)| !is_none(hook)) {
            self.lo.span = span;
            return Err(self
                .lo
                .report_unsupported(format!("the `{name}` of an autotuner")));
        }
        if is_none(reset) {
            return Ok(());
        }
        let names = read_strings(reset).zip(read_strings(key));
        let Some((reset, key)) = names else {
            self.lo.span = span;
            return Err(self.lo.report_unsupported("this `reset_to_zero` of an autotuner"));
        };
        for name in &reset {
            self.check_clearable(name, given, span)?;
        }
        self.lo.clears.when_tuning = reset;
        self.lo.clears.key = key;
        Ok(())
    }

    /// Notes what the `pre_hook` of a configuration sets to zero before every launch.
    fn clear_before_launch(
        &mut self,
        hook: &Plain,
        given: &HashMap<Rc<str>, RequestArg>,
        span: Span,
    ) -> Traced<()> {
        let names = match hook {
            Plain::Function(function) => hook::find_cleared(function),
            _ => None,
        };
        let Some(names) = names else {
            self.lo.span = span;
            return Err(self.lo.report_unsupported("this `pre_hook` of a configuration"));
        };
        for name in &names {
            self.check_clearable(name, given, span)?;
        }
        self.lo.clears.always = names;
        Ok(())
    }

    /// Refuses to clear what the launch does not pass as a tensor.
    fn check_clearable(
        &mut self,
        name: &str,
        given: &HashMap<Rc<str>, RequestArg>,
        span: Span,
    ) -> Traced<()> {
        if matches!(given.get(name), Some(RequestArg::Pointer(_))) {
            return Ok(());
        }
        self.lo.span = span;
        Err(self.lo.report_unsupported(format!(
            "an autotuner that sets `{name}` to zero, which is not a tensor of the launch,"
        )))
    }

    /// Chooses the configuration of a launch: the first one after pruning. A correct kernel has the same result with any of
    /// them. Also returns whether the tuner measures any.
    fn choose_config(
        &mut self,
        configs: &Plain,
        prune: &Plain,
        names: &[Rc<str>],
        given: &HashMap<Rc<str>, RequestArg>,
        span: Span,
    ) -> Traced<(Option<Rc<Config>>, bool)> {
        let mut configs = configs.clone();
        let several = |configs: &Plain| configs.items().is_some_and(|items| items.len() > 1);
        let all_are_several = several(&configs);
        if let (Plain::Dict(prune), Some(2..)) = (prune, configs.items().map(<[Plain]>::len))
            && let Some((_, early)) = prune
                .iter()
                .find(|(key, _)| key.as_str().is_some_and(|key| &**key == "early_config_prune"))
            && !matches!(early, Plain::Constant(Constant::None))
        {
            let positional = named_arguments(
                &given
                    .iter()
                    .filter(|(name, _)| names.contains(name))
                    .map(|(name, given)| (Rc::clone(name), given.clone()))
                    .collect(),
            );
            let keyword = given
                .iter()
                .map(|(name, given)| (Rc::clone(name), host_of(given)))
                .collect();
            let arguments = Arguments {
                positional: vec![configs, positional],
                keyword,
            };
            configs = self.plain().call(early, arguments, span)?;
        }
        let measures = all_are_several
            && (several(&configs) || !self.lo.rules.holds(Rule::OneConfigurationIsNotMeasured));
        match configs.items().map(<[Plain]>::first) {
            Some(Some(Plain::Config(config))) => Ok((Some(Rc::clone(config)), measures)),
            Some(None) => Ok((None, false)),
            _ => {
                if let Plain::Unknown(unknown) = &configs {
                    self.lo.span = unknown.span;
                    return Err(self
                        .lo
                        .report_unsupported(format!("these configurations: {}", unknown.description)));
                }
                self.lo.span = span;
                Err(self.lo.report_unsupported("these configurations of an autotuner"))
            }
        }
    }

    /// A plain value as a launch argument.
    fn arg_of(&mut self, name: &str, value: &Plain) -> Traced<RequestArg> {
        let value = match value {
            Plain::Unknown(unknown) => return Err(self.report_unknown_name(name, unknown)),
            _ => default_value(&self.lo, name, value)?,
        };
        self.value_arg(name, &value)
    }

    fn value_arg(&mut self, name: &str, value: &Value) -> Traced<RequestArg> {
        Ok(match value {
            Value::Constant(Constant::None) => RequestArg::None,
            Value::Constant(Constant::Bool(value)) => RequestArg::Bool(*value),
            Value::Constant(Constant::Int(value)) => RequestArg::Int(*value),
            Value::Constant(Constant::Float(value)) => RequestArg::Float(*value),
            Value::Constant(Constant::Str(value)) => RequestArg::Str(value.to_string()),
            Value::Constant(Constant::Type(TypeValue::Elem(Elem::Num(dtype)))) => RequestArg::DType(*dtype),
            Value::Tuple { items, names } if !names.is_empty() => RequestArg::NamedTuple {
                fields: names.iter().map(ToString::to_string).collect(),
                items: self.value_args(name, items)?,
            },
            Value::Tuple { items, .. } | Value::List(items) => {
                RequestArg::Tuple(self.value_args(name, items)?)
            }
            _ => {
                return Err(self
                    .lo
                    .report_unsupported(format!("this value of the parameter `{name}`")));
            }
        })
    }

    fn value_args(&mut self, name: &str, items: &[Value]) -> Traced<Vec<RequestArg>> {
        items.iter().map(|item| self.value_arg(name, item)).collect()
    }
}

/// An argument as a heuristic sees it.
fn host_of(arg: &RequestArg) -> Plain {
    match arg {
        RequestArg::Pointer(elem) => Plain::Tensor(*elem),
        RequestArg::Descriptor(_) => Plain::new_object("a tensor descriptor"),
        RequestArg::Address => Plain::new_unknown(Span::default(), "an address, which depends on the engine"),
        RequestArg::Tuple(items) => Plain::Tuple(items.iter().map(host_of).collect()),
        RequestArg::NamedTuple { fields, items } => Plain::Named(
            fields.iter().map(|name| name.as_str().into()).collect(),
            items.iter().map(host_of).collect(),
        ),
        RequestArg::Global(_) => Plain::new_object("a function"),
        RequestArg::Constexpr(inner) => host_of(inner),
        RequestArg::DType(dtype) => Plain::Constant((*dtype).into()),
        RequestArg::Int(value) => Plain::Constant(Constant::Int(*value)),
        RequestArg::Float(value) => Plain::Constant(Constant::Float(*value)),
        RequestArg::Bool(value) => Plain::Constant(Constant::Bool(*value)),
        RequestArg::Str(value) => Plain::Constant(Constant::Str(value.as_str().into())),
        RequestArg::None => Plain::Constant(Constant::None),
    }
}

fn named_arguments(given: &HashMap<Rc<str>, RequestArg>) -> Plain {
    let mut items: Vec<(Plain, Plain)> = given
        .iter()
        .map(|(name, given)| (Plain::from_text(name), host_of(given)))
        .collect();
    items.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
    Plain::Dict(Rc::new(items))
}

/// The strings of a list or a tuple.
fn read_strings(list: &Plain) -> Option<Vec<String>> {
    let items = list.items()?.iter();
    items.map(|item| item.as_str().map(ToString::to_string)).collect()
}
