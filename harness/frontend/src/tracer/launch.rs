//! From a launch's arguments to a kernel's parameters: binding, what autotuning and heuristics add, and what the
//! launcher specialises on.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use cerith_python::nearest::nearest;
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{Elem, Type};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;
use cerith_tile::source::Span;
use ruff_text_size::Ranged;

use super::Tracer;
use super::frame::{Frame, Kind};
use crate::constant::{Constant, TypeValue};
use crate::gap::Gap;
use crate::lowering::Lowering;
use crate::plain::Modules;
use crate::plain::annotation::Parameter;
use crate::plain::exchange::default_value;
use crate::request::{self, Arg, Request};
use crate::semantic;
use crate::stop::{Stop, Traced};
use crate::text::span_of;
use crate::traced::{self, Binding, Part, Refusal, Refused};
use crate::value::callable::{UserFunction, Wrapper, lists};
use crate::value::plain::{Arguments, Config, Plain, ScopeId};
use crate::value::{Descriptor, Value};

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

/// A traced kernel's bindings, and every argument by name.
type Launched = (Vec<Binding>, Vec<(String, Arg)>);
/// Each parameter's value and how it came to be.
type BoundParameters = Vec<(Rc<str>, Value, Kind)>;

/// Traces a kernel for one specialisation.
pub(crate) fn trace(request: &Request) -> Result<traced::Traced, Refused> {
    crate::text::with_stack(|| {
        let mut tracer = Tracer::new(request);
        let launched = tracer.launch();
        match launched.and_then(|launched| tracer.lo.check_sizes().map(|()| launched)) {
            Ok((bindings, arguments)) => {
                let function = tracer.lo.builder.finish();
                match function.verify() {
                    Ok(())
                        if let Some(diagnostic) = super::passes::refused(&function, request.rules)
                            .or_else(|| super::passes::stored(&function, tracer.lo.read_only)) =>
                    {
                        Err(Refused {
                            refusal: Refusal::Rejected(Box::new(diagnostic)),
                            sources: function.sources,
                        })
                    }
                    Ok(()) => Ok(traced::Traced {
                        function,
                        bindings,
                        arguments,
                        uses: super::uses::told(&tracer.lo.uses),
                    }),
                    Err(error) => {
                        let message = format!("the reference made IR of this kernel that is wrong: {error}");
                        let span = function.locs.first().map_or_else(Span::default, |loc| loc.span);
                        let diagnostic = Diagnostic::error("internal", span, message);
                        Err(Refused {
                            refusal: Refusal::Unsupported(Box::new(diagnostic)),
                            sources: function.sources,
                        })
                    }
                }
            }
            Err(stop) => {
                let sources = std::mem::take(tracer.lo.builder.sources());
                Err(Refused {
                    refusal: stop.into_refusal(),
                    sources,
                })
            }
        }
    })
}

impl<'a> Tracer<'a> {
    fn new(request: &'a Request) -> Self {
        Self {
            lo: Lowering::new(request),
            modules: Modules::new(request),
            request,
            frame: Frame::default(),
            calls: Vec::new(),
            regions: 0,
            held_arguments: Vec::new(),
            discovering: 0,
        }
    }

    fn launch(&mut self) -> Traced<Launched> {
        let request = self.request;
        let module = request.file.name.rsplit(['/', '\\']).next().unwrap_or("kernel");
        let module = module.strip_suffix(".py").unwrap_or(module);
        let scope = self.plain().load(module, &request.file)?;
        let function = self.find_kernel(scope)?;
        let source = self.modules.source_of(function.scope);
        self.lo.span = span_of(source, function.def.name.range());
        if !self.lo.rules.holds(Rule::DebugIsAnOption) {
            self.lo.options.retain(|(name, _)| &**name != "debug");
        }
        if let Some(debug) = function.options.debug
            && (self.lo.rules.holds(Rule::DebugHasADefault) || !self.lo.rules.holds(Rule::DebugIsAnOption))
        {
            self.lo.options.insert(0, ("debug".into(), Arg::Bool(debug)));
        }
        let loc = self.lo.builder.add_loc(self.lo.span, None);
        self.lo.builder.set_loc(loc);
        let given = self.arguments(&function)?;
        self.check_warps()?;
        self.check_dependencies(&function)?;
        let (bound, bindings) = self.specialise(&function, &given)?;
        let result = self.run_kernel(&function, bound)?;
        if !super::frame::leaves(&result).is_empty() {
            self.lo.span = span_of(source, function.def.name.range());
            return Err(self.lo.reject("a kernel cannot return a value"));
        }
        let arguments = given
            .into_iter()
            .map(|(name, given)| (name.to_string(), given))
            .collect();
        Ok((bindings, arguments))
    }

    /// Refuses numbers of warps that no GPU has.
    fn check_warps(&self) -> Traced<()> {
        match self.lo.option("num_warps") {
            Some(Arg::Int(warps)) if *warps <= 0 || warps.count_ones() != 1 => Err(self.lo.reject_with(
                "bad-arguments",
                format!("num_warps must be a power of 2, not {warps}"),
            )),
            _ => Ok(()),
        }
    }

    /// The kernel that the request names.
    fn find_kernel(&mut self, module: usize) -> Traced<Rc<UserFunction>> {
        let request = self.request;
        let mut scope = module;
        let mut parts = request.kernel.split('.').peekable();
        while let Some(part) = parts.next() {
            let found = self
                .modules
                .scope(scope)
                .and_then(|scope| scope.names.get(part))
                .cloned();
            match found {
                Some(Plain::Jit(function)) if parts.peek().is_none() => return Ok(function),
                Some(Plain::Function(function)) if parts.peek().is_some() => {
                    let source = self.modules.source_of(scope);
                    let span = function
                        .parameters()
                        .map_or_else(Span::default, |parameters| span_of(source, parameters.range()));
                    let none = Arguments {
                        positional: Vec::new(),
                        keyword: Vec::new(),
                    };
                    match self.plain().call_function(&function, none, span)? {
                        (_, Some(inner)) => scope = inner,
                        (Plain::Unknown(unknown), None) => {
                            self.lo.span = unknown.span;
                            return Err(self.lo.unsupported(&unknown.what));
                        }
                        _ => return Err(self.lo.unsupported(format!("running `{part}`"))),
                    }
                }
                Some(Plain::Unknown(unknown)) => {
                    self.lo.span = unknown.span;
                    return Err(self.lo.unsupported(format!("`{part}`: it is {}", unknown.what)));
                }
                Some(_) => {
                    self.lo.span = Span::new(self.modules.source_of(scope), 0, 0);
                    return Err(self.lo.reject_with(
                        "no-kernel",
                        format!("`{}` is not a @triton.jit function", request.kernel),
                    ));
                }
                None => {
                    self.lo.span = Span::new(self.modules.source_of(scope), 0, 0);
                    let mut diagnostic = self.lo.diagnostic(
                        "no-kernel",
                        format!("the file defines no kernel `{}`", request.kernel),
                    );
                    let kernels: BTreeSet<String> =
                        self.modules.scope(scope).map_or_else(BTreeSet::new, |scope| {
                            let jitted = scope
                                .names
                                .iter()
                                .filter(|(_, value)| matches!(value, Plain::Jit(_)));
                            jitted.map(|(name, _)| name.to_string()).collect()
                        });
                    if let Some(near) = nearest(part, kernels.iter().map(String::as_str)) {
                        diagnostic.help = Some(format!("did you mean `{near}`?"));
                    } else if !kernels.is_empty() {
                        let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
                        diagnostic
                            .notes
                            .push(format!("its kernels are {}", kernels.join(", ")));
                    }
                    return Err(Stop::Rejected(Box::new(diagnostic)));
                }
            }
        }
        Err(self.lo.reject_with("no-kernel", "no kernel is named"))
    }

    /// Every parameter's argument, in the order of the signature.
    fn arguments(&mut self, function: &Rc<UserFunction>) -> Traced<Vec<(Rc<str>, Arg)>> {
        let request = self.request;
        let parameters = &function.def.parameters;
        if !parameters.posonlyargs.is_empty() {
            return Err(self.lo.unsupported("positional-only parameters"));
        }
        if parameters.vararg.is_some() && !self.lo.speaks(Rule::VariableArguments) {
            return Err(self.lo.reject_with(
                "bad-arguments",
                "Triton has no `*` parameters of kernels before 3.8",
            ));
        }
        if parameters.kwarg.is_some() {
            return Err(self.lo.unsupported("`**kwargs` of a kernel"));
        }
        let names: Vec<Rc<str>> = parameters
            .args
            .iter()
            .map(|parameter| parameter.name().as_str().into())
            .collect();
        let mut given: HashMap<Rc<str>, Arg> = HashMap::new();
        let mut positional = request.positional.iter().cloned();
        for (name, arg) in names.iter().zip(positional.by_ref()) {
            given.insert(Rc::clone(name), arg);
        }
        let rest: Vec<Arg> = positional.collect();
        if let Some(vararg) = &parameters.vararg {
            given.insert(vararg.name.as_str().into(), Arg::Tuple(rest));
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
        given: &mut HashMap<Rc<str>, Arg>,
        name: &Rc<str>,
        value: Arg,
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
        let mut diagnostic = self.lo.diagnostic(
            "bad-arguments",
            format!(
                "`{}` has no parameter `{name}`, and no launch option has that name",
                function.name
            ),
        );
        if let Some(near) = nearest(name, all.iter().map(AsRef::as_ref).chain(OPTIONS)) {
            diagnostic.help = Some(format!("did you mean `{near}`?"));
        }
        Err(Stop::Rejected(Box::new(diagnostic)))
    }

    /// What `@triton.autotune` or `@triton.heuristics` adds.
    fn wrap(
        &mut self,
        function: &Rc<UserFunction>,
        wrapper: &Wrapper,
        all: &[Rc<str>],
        names: &[Rc<str>],
        given: &mut HashMap<Rc<str>, Arg>,
    ) -> Traced<()> {
        match wrapper {
            Wrapper::Autotune {
                configs,
                prune,
                key,
                span,
            } => {
                if self.lo.refuses(Gap::StrayKeys) || self.lo.refuses(Gap::MissingKeys) {
                    let stray = key
                        .items()
                        .into_iter()
                        .flatten()
                        .find(|key| key.as_str().is_some_and(|key| !all.contains(key)));
                    if let Some(stray) = stray.and_then(Plain::as_str) {
                        self.lo.span = *span;
                        return Err(self.lo.reject_with(
                            "bad-arguments",
                            format!("the key `{stray}` is no parameter of `{}`", function.name),
                        ));
                    }
                }
                let Some(config) = self.config(configs, prune, names, given, *span)? else {
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
                        Plain::Constant(_) => {
                            let arg = self.arg_of(name, value)?;
                            self.lo.options.push((Rc::clone(name), arg));
                        }
                        _ => {
                            self.lo.span = *span;
                            return Err(self.lo.unsupported(format!("`{name}` of a configuration")));
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

    /// The configuration that a launch runs with: the first that is left after pruning. A correct kernel gives the
    /// same result with any of them.
    fn config(
        &mut self,
        configs: &Plain,
        prune: &Plain,
        names: &[Rc<str>],
        given: &HashMap<Rc<str>, Arg>,
        span: Span,
    ) -> Traced<Option<Rc<Config>>> {
        let mut configs = configs.clone();
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
        match configs.items().map(<[Plain]>::first) {
            Some(Some(Plain::Config(config))) => Ok(Some(Rc::clone(config))),
            Some(None) => Ok(None),
            _ => {
                if let Plain::Unknown(unknown) = &configs {
                    self.lo.span = unknown.span;
                    return Err(self
                        .lo
                        .unsupported(format!("these configurations: {}", unknown.what)));
                }
                self.lo.span = span;
                Err(self.lo.unsupported("these configurations of an autotuner"))
            }
        }
    }

    /// A plain value as a launch argument.
    fn arg_of(&mut self, name: &str, value: &Plain) -> Traced<Arg> {
        let value = match value {
            Plain::Unknown(unknown) => {
                let diagnostic = self
                    .lo
                    .diagnostic(
                        "unsupported",
                        format!("the reference does not know `{name}`: it is {}", unknown.what),
                    )
                    .label(unknown.span, "comes from here");
                return Err(Stop::Unsupported(Box::new(diagnostic)));
            }
            _ => default_value(&self.lo, name, value)?,
        };
        self.value_arg(name, &value)
    }

    fn value_arg(&mut self, name: &str, value: &Value) -> Traced<Arg> {
        Ok(match value {
            Value::Constant(Constant::None) => Arg::None,
            Value::Constant(Constant::Bool(value)) => Arg::Bool(*value),
            Value::Constant(Constant::Int(value)) => Arg::Int(*value),
            Value::Constant(Constant::Float(value)) => Arg::Float(*value),
            Value::Constant(Constant::Str(value)) => Arg::Str(value.to_string()),
            Value::Constant(Constant::Type(TypeValue::Elem(Elem::Num(dtype)))) => Arg::DType(*dtype),
            Value::Tuple { items, .. } | Value::List(items) => Arg::Tuple(
                items
                    .iter()
                    .map(|item| self.value_arg(name, item))
                    .collect::<Traced<_>>()?,
            ),
            _ => {
                return Err(self
                    .lo
                    .unsupported(format!("this value of the parameter `{name}`")));
            }
        })
    }

    /// Makes each argument a parameter of the IR or a compile-time value.
    fn specialise(
        &mut self,
        function: &Rc<UserFunction>,
        given: &[(Rc<str>, Arg)],
    ) -> Traced<(BoundParameters, Vec<Binding>)> {
        self.check_specialised(function)?;
        let parameters = &function.def.parameters;
        let places = parameters
            .args
            .iter()
            .map(|parameter| &parameter.parameter)
            .chain(parameters.vararg.iter().map(|parameter| &**parameter))
            .chain(parameters.kwonlyargs.iter().map(|parameter| &parameter.parameter));
        let mut bound = Vec::with_capacity(given.len());
        let mut bindings = Vec::new();
        for (nth, (parameter, (name, given))) in places.zip(given).enumerate() {
            let annotation = match &parameter.annotation {
                Some(annotation) => self.plain().annotation(function.scope, annotation),
                None => Parameter::Plain,
            };
            self.lo.span = span_of(self.modules.source_of(function.scope), parameter.range());
            if holds_function(given) && !self.lo.rules.holds(Rule::FunctionArguments) {
                return Err(self.lo.reject_with(
                    "bad-arguments",
                    format!("`{name}` is a function, which no argument can be"),
                ));
            }
            if annotation == Parameter::Constexpr {
                if !is_constant(given) {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` is a constexpr and cannot take a tensor"),
                    ));
                }
                let value = constant_of(given, &mut |path| self.named_global(function.scope, path))?;
                bound.push((Rc::clone(name), value, Kind::Plain));
                continue;
            }
            let specialised = !lists(&function.options.do_not_specialize, nth, name);
            let mut path = Vec::new();
            let place = Place {
                scope: function.scope,
                name,
            };
            let (value, kind) =
                self.parameter(place, given, annotation, specialised, &mut path, &mut bindings)?;
            bound.push((Rc::clone(name), value, kind));
        }
        Ok((bound, bindings))
    }

    fn parameter(
        &mut self,
        place: Place<'_>,
        arg: &Arg,
        annotation: Parameter,
        specialised: bool,
        path: &mut Vec<usize>,
        bindings: &mut Vec<Binding>,
    ) -> Traced<(Value, Kind)> {
        let Place { scope, name } = place;
        let typed = match annotation {
            Parameter::Typed(dtype) if !self.lo.rules.follows(Quirk::AnnotationsAreIgnored) => Some(dtype),
            _ => None,
        };
        let elem = match arg {
            Arg::None => return Ok((Value::NONE, Kind::Specialised)),
            Arg::Int(1)
                if specialised
                    && typed.is_none()
                    && !self.lo.rules.follows(Quirk::ArgumentsOfOneAreTensors) =>
            {
                return Ok((Value::int(1), Kind::Specialised));
            }
            Arg::Tuple(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (nth, item) in items.iter().enumerate() {
                    path.push(nth);
                    values.push(
                        self.parameter(place, item, Parameter::Plain, true, path, bindings)?
                            .0,
                    );
                    path.pop();
                }
                return Ok((Value::tuple(values), Kind::Plain));
            }
            Arg::Descriptor(descriptor) => {
                if typed.is_some() {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` is a scalar and cannot take a tensor descriptor"),
                    ));
                }
                let value = self.descriptor(name, descriptor, path, bindings)?;
                return Ok((value, Kind::Plain));
            }
            Arg::Global(_) | Arg::Constexpr(_) if is_constant(arg) => {
                let value = constant_of(arg, &mut |path| self.named_global(scope, path))?;
                return Ok((value, Kind::Specialised));
            }
            Arg::Str(_) | Arg::DType(_) | Arg::Global(_) | Arg::Constexpr(_) => {
                return Err(self.lo.reject_with(
                    "bad-arguments",
                    format!("`{name}` is no constexpr and cannot take {}", describe(arg)),
                ));
            }
            Arg::Pointer(elem) => {
                if typed.is_some() {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` is a scalar and cannot take a tensor"),
                    ));
                }
                elem.pointer()
            }
            Arg::Int(_) | Arg::Bool(_) | Arg::Float(_) => Elem::Num(match (typed, scalar_type(arg)) {
                (Some(dtype), _) if dtype.is_int() && matches!(arg, Arg::Float(_)) => {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` is an integer and cannot take a float"),
                    ));
                }
                (Some(dtype), _) => {
                    if let Arg::Int(value) = arg
                        && !fits(*value, dtype)
                    {
                        return Err(self.lo.reject_with(
                            "bad-arguments",
                            format!("`{name}` is annotated as {dtype}, which cannot hold {value}"),
                        ));
                    }
                    dtype
                }
                (None, Some(dtype)) => self.held_as(arg).unwrap_or(dtype),
                (None, None) => {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` takes an int of at most 64 bits"),
                    ));
                }
            }),
        };
        let shown = path
            .iter()
            .fold(name.to_string(), |shown, place| format!("{shown}.{place}"));
        let value = self.lo.builder.param(shown, Type::scalar(elem));
        bindings.push(Binding {
            name: name.to_string(),
            path: path.clone(),
            part: Part::Whole,
        });
        if annotation == Parameter::ReadOnly && elem.pointee().is_some() {
            self.lo.read_only.insert(value);
        }
        let value = match (typed, scalar_type(arg)) {
            (None, Some(dtype)) if self.held_as(arg).is_some() => semantic::cast(&mut self.lo, value, dtype)?,
            _ => value,
        };
        Ok((Value::Tensor(value), Kind::Plain))
    }

    /// The dtype that holds a number whose own is another one.
    fn held_as(&self, arg: &Arg) -> Option<DType> {
        let short = (1 << 31)..(1 << 32);
        match arg {
            Arg::Int(value)
                if short.contains(value) && self.lo.rules.follows(Quirk::WideArgumentsAreShort) =>
            {
                Some(DType::U32)
            }
            Arg::Bool(_) if self.lo.rules.follows(Quirk::BoolArgumentsAreInts) => Some(DType::I32),
            _ => None,
        }
    }

    /// The parameters that a host's descriptor becomes.
    fn descriptor(
        &mut self,
        name: &Rc<str>,
        given: &request::Descriptor,
        path: &[usize],
        bindings: &mut Vec<Binding>,
    ) -> Traced<Value> {
        if !self.lo.rules.holds(Rule::Descriptors) {
            return Err(self.lo.reject_with(
                "bad-arguments",
                format!("Triton {} has no tensor descriptors", self.lo.rules.version),
            ));
        }
        let extents: Vec<i128> = given.block_shape.iter().map(|&extent| extent.into()).collect();
        let block_shape = semantic::shape::block_shape(&self.lo, &extents)?;
        let last = extents.last().copied().unwrap_or(0);
        semantic::descriptor::wide_enough(&self.lo, given.dtype, last)?;
        let name = path
            .iter()
            .fold(name.to_string(), |shown, place| format!("{shown}.{place}"));
        let mut parameter = |tracer: &mut Self, part: Part, shown: String, ty: Type| {
            bindings.push(Binding {
                name: name.split('.').next().unwrap_or_default().to_owned(),
                path: path.to_vec(),
                part,
            });
            tracer.lo.builder.param(shown, ty)
        };
        let ty = Type::scalar(Elem::ptr_to(given.dtype));
        let base = parameter(self, Part::Base, name.clone(), ty);
        let rank = block_shape.len();
        let shape = (0..rank)
            .map(|at| {
                let shown = format!("{name}.shape.{at}");
                parameter(self, Part::Extent(at), shown, Type::num(DType::I32))
            })
            .collect();
        let strides = (0..rank)
            .map(|at| {
                let shown = format!("{name}.stride.{at}");
                parameter(self, Part::Stride(at), shown, Type::num(DType::I64))
            })
            .collect();
        Ok(Value::Descriptor(Rc::new(Descriptor {
            base,
            shape,
            strides,
            block_shape,
            nan: given.nan,
            round: given.round_f32_to_tf32,
        })))
    }
}

/// The type that a scalar argument has at run time.
fn scalar_type(arg: &Arg) -> Option<DType> {
    match arg {
        Arg::Bool(_) => Some(DType::I1),
        Arg::Float(_) => Some(DType::F32),
        Arg::Int(value) if i32::try_from(*value).is_ok() => Some(DType::I32),
        Arg::Int(value) if i64::try_from(*value).is_ok() => Some(DType::I64),
        Arg::Int(value) if u64::try_from(*value).is_ok() => Some(DType::U64),
        _ => None,
    }
}

/// Whether the launcher can pass an int as this type.
fn fits(value: i128, dtype: DType) -> bool {
    if dtype.is_float() || dtype == DType::I1 {
        return true;
    }
    let bits = dtype.bits();
    if dtype.is_signed_int() {
        (-(1i128 << (bits - 1))..1i128 << (bits - 1)).contains(&value)
    } else {
        (0..1i128 << bits).contains(&value)
    }
}

/// A parameter: the scope of its function, and its name.
#[derive(Clone, Copy)]
struct Place<'a> {
    scope: ScopeId,
    name: &'a Rc<str>,
}

fn holds_function(arg: &Arg) -> bool {
    match arg {
        Arg::Global(_) => true,
        Arg::Tuple(items) => items.iter().any(holds_function),
        Arg::Constexpr(inner) => holds_function(inner),
        _ => false,
    }
}

fn is_constant(arg: &Arg) -> bool {
    match arg {
        Arg::Pointer(_) | Arg::Descriptor(_) => false,
        Arg::Tuple(items) => items.iter().all(is_constant),
        Arg::Constexpr(inner) => is_constant(inner),
        _ => true,
    }
}

/// The compile-time value of an argument; `global` looks up what the kernel's module has under a name.
fn constant_of(arg: &Arg, global: &mut dyn FnMut(&str) -> Traced<Value>) -> Traced<Value> {
    Ok(Value::Constant(match arg {
        Arg::Int(value) => Constant::Int(*value),
        Arg::Float(value) => Constant::Float(*value),
        Arg::Bool(value) => Constant::Bool(*value),
        Arg::None => Constant::None,
        Arg::Str(value) => Constant::Str(value.as_str().into()),
        Arg::DType(dtype) => (*dtype).into(),
        Arg::Pointer(elem) => Constant::Type(TypeValue::Elem(elem.pointer())),
        Arg::Descriptor(_) => return Ok(Value::NONE),
        Arg::Global(path) => return global(path),
        Arg::Constexpr(inner) => return constant_of(inner, global),
        Arg::Tuple(items) => {
            let items: Vec<Value> = items
                .iter()
                .map(|item| constant_of(item, global))
                .collect::<Traced<_>>()?;
            return Ok(Value::tuple(items));
        }
    }))
}

const fn describe(arg: &Arg) -> &'static str {
    match arg {
        Arg::Str(_) => "a string",
        Arg::DType(_) => "a dtype",
        Arg::Global(_) => "a function",
        Arg::Constexpr(_) => "this constexpr",
        _ => "this",
    }
}

/// An argument as a heuristic sees it.
fn host_of(arg: &Arg) -> Plain {
    match arg {
        Arg::Pointer(_) => Plain::unknown(Span::default(), "a tensor"),
        Arg::Descriptor(_) => Plain::unknown(Span::default(), "a tensor descriptor"),
        Arg::Tuple(items) => Plain::Tuple(items.iter().map(host_of).collect()),
        Arg::Global(_) => Plain::unknown(Span::default(), "a function"),
        Arg::Constexpr(inner) => host_of(inner),
        Arg::DType(dtype) => Plain::Constant((*dtype).into()),
        Arg::Int(value) => Plain::Constant(Constant::Int(*value)),
        Arg::Float(value) => Plain::Constant(Constant::Float(*value)),
        Arg::Bool(value) => Plain::Constant(Constant::Bool(*value)),
        Arg::Str(value) => Plain::Constant(Constant::Str(value.as_str().into())),
        Arg::None => Plain::Constant(Constant::None),
    }
}

fn named_arguments(given: &HashMap<Rc<str>, Arg>) -> Plain {
    let mut items: Vec<(Plain, Plain)> = given
        .iter()
        .map(|(name, given)| (Plain::str(name), host_of(given)))
        .collect();
    items.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
    Plain::Dict(Rc::new(items))
}
