//! Triton's own decorators, and `triton.Config`: their parameters, by version.

use std::rc::Rc;

use cerith_tile::rules::{Rule, Version};
use cerith_tile::source::Span;

use cerith_language::lowering::Lowering;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::callable::{JitOptions, UserFunction};
use cerith_language::value::plain::{Arguments, Config, Decorator, Native, Plain};

/// A parameter: its name, the first version that has it, the first that does not, and whether it must be given.
struct Parameter {
    name: &'static str,
    since: Version,
    removed_in: Version,
    required: bool,
}

const FIRST: Version = Version::new(0, 0, 0);
const LAST: Version = Version::new(u16::MAX, 0, 0);

const fn parameter(name: &'static str) -> Parameter {
    Parameter {
        name,
        since: FIRST,
        removed_in: LAST,
        required: false,
    }
}

impl Parameter {
    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn since(mut self, major: u16, minor: u16) -> Self {
        self.since = Version::new(major, minor, 0);
        self
    }

    const fn removed_in(mut self, major: u16, minor: u16) -> Self {
        self.removed_in = Version::new(major, minor, 0);
        self
    }
}

/// Parameters of `triton.autotune` (runtime/autotuner.py of each wheel).
const AUTOTUNE: &[Parameter] = &[
    parameter("configs").required(),
    parameter("key").required(),
    parameter("prune_configs_by"),
    parameter("reset_to_zero"),
    parameter("restore_value"),
    parameter("pre_hook"),
    parameter("post_hook"),
    parameter("warmup"),
    parameter("rep"),
    parameter("use_cuda_graph"),
    parameter("do_bench").since(3, 2),
    parameter("cache_results").since(3, 4),
];

/// Parameters of `triton.Config`.
const CONFIG: &[Parameter] = &[
    parameter("kwargs").required(),
    parameter("num_warps"),
    parameter("num_stages"),
    parameter("num_ctas"),
    parameter("num_buffers_warp_spec").since(3, 2).removed_in(3, 4),
    parameter("num_consumer_groups").since(3, 2).removed_in(3, 4),
    parameter("reg_dec_producer").since(3, 2).removed_in(3, 4),
    parameter("reg_inc_consumer").since(3, 2).removed_in(3, 4),
    parameter("maxnreg"),
    parameter("pre_hook"),
    parameter("ir_override").since(3, 4),
];

/// Parameters of `triton.jit`: the function, then keyword-only ones.
const JIT: &[Parameter] = &[
    parameter("fn"),
    parameter("version"),
    parameter("repr"),
    parameter("launch_metadata"),
    parameter("do_not_specialize"),
    parameter("do_not_specialize_on_alignment").since(3, 2),
    parameter("debug"),
    parameter("noinline"),
];

/// Parameters of `triton.heuristics`.
const HEURISTICS: &[Parameter] = &[parameter("values").required()];

/// Refuses arguments that a decorator does not take in this version.
pub(super) fn check(lo: &mut Lowering, native: Native, arguments: &Arguments, span: Span) -> Traced<()> {
    if lo.library.contains(&span.source) {
        return Ok(());
    }
    let (function, parameters, places) = match native {
        Native::Autotune => ("autotune", AUTOTUNE, AUTOTUNE.len()),
        Native::Config => ("Config", CONFIG, CONFIG.len()),
        Native::Jit => ("jit", JIT, 1),
        Native::Heuristics => ("heuristics", HEURISTICS, 1),
        Native::ConstexprFunction if !lo.rules.holds(Rule::ConstexprFunctions) => {
            return Err(reject_unknown_name(lo, "constexpr_function", span));
        }
        _ => return Ok(()),
    };
    let version = lo.rules.version;
    let known: Vec<&Parameter> = filter_parameters(parameters, version).collect();
    let wrong = if arguments.positional.len() > places.min(known.len()) {
        Some(format!(
            "`triton.{function}` of Triton {version} takes at most {} positional arguments",
            places.min(known.len())
        ))
    } else {
        let stranger = arguments
            .keyword
            .iter()
            .find(|(name, _)| known.iter().all(|parameter| parameter.name != &**name));
        let missing = known
            .iter()
            .enumerate()
            .find(|(place, parameter)| parameter.required && arguments.get(*place, parameter.name).is_none());
        match (stranger, missing) {
            (Some((name, _)), _) => Some(format!(
                "`triton.{function}` of Triton {version} has no parameter `{name}`"
            )),
            (None, Some((_, parameter))) => Some(format!(
                "`triton.{function}` is missing the argument `{}`",
                parameter.name
            )),
            (None, None) => None,
        }
    };
    wrong.map_or(Ok(()), |message| {
        lo.span = span;
        Err(lo.reject_with("bad-arguments", message))
    })
}

/// The rejection of a name that `triton` does not have in this version.
pub(super) fn reject_unknown_name(lo: &mut Lowering, name: &str, span: Span) -> Stop {
    lo.span = span;
    let version = lo.rules.version;
    lo.reject_with(
        "unknown-attribute",
        format!("the module `triton` of Triton {version} has no attribute `{name}`"),
    )
}

fn filter_parameters(parameters: &[Parameter], version: Version) -> impl Iterator<Item = &Parameter> {
    parameters
        .iter()
        .filter(move |parameter| (parameter.since..parameter.removed_in).contains(&version))
}

/// Applies a decorator that already has its arguments to a value.
pub(super) fn apply_decorator(decorator: &Decorator, value: Option<&Plain>, span: Span) -> Plain {
    match (decorator, value) {
        (Decorator::Jit(options), Some(Plain::Function(function))) => {
            Plain::Jit(Rc::new(UserFunction::new(function, options.clone())))
        }
        (Decorator::Wrap(wrapper), Some(Plain::Jit(function))) => {
            Plain::Jit(Rc::new(function.with_wrapper(Rc::clone(wrapper))))
        }
        _ => Plain::new_unknown(span, "the result of the decorator"),
    }
}

/// Reads the options of `triton.jit`.
pub(super) fn jit_options(arguments: &Arguments) -> JitOptions {
    let keyword = |name: &str| {
        arguments
            .keyword
            .iter()
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| value)
    };
    let list = |name: &str| {
        keyword(name)
            .and_then(Plain::items)
            .map(|items| items.iter().filter_map(Plain::constant).cloned().collect())
            .unwrap_or_default()
    };
    JitOptions {
        noinline: keyword("noinline").and_then(Plain::truth).unwrap_or(false),
        debug: keyword("debug").and_then(Plain::truth),
        do_not_specialize: list("do_not_specialize"),
        do_not_specialize_on_alignment: list("do_not_specialize_on_alignment"),
    }
}

/// Evaluates `triton.Config(…)`.
pub(super) fn build_config(lo: &Lowering, arguments: &Arguments, span: Span) -> Plain {
    let Some(Plain::Dict(kwargs)) = arguments.get(0, "kwargs") else {
        return Plain::new_unknown(span, "the parameters of this configuration");
    };
    let mut named = Vec::with_capacity(kwargs.len());
    for (key, value) in kwargs.iter() {
        match key.as_str() {
            Some(key) => named.push((Rc::clone(key), value.clone())),
            None => return Plain::new_unknown(span, "the parameters of this configuration"),
        }
    }
    let mut options: Vec<(Rc<str>, Plain)> = Vec::new();
    for (place, parameter) in filter_parameters(CONFIG, lo.rules.version).enumerate().skip(1) {
        if let Some(value) = arguments.get(place, parameter.name) {
            options.push((parameter.name.into(), value.clone()));
        }
    }
    Plain::Config(Rc::new(Config {
        kwargs: named,
        options,
    }))
}

/// Applies `tl.constexpr` to a plain function.
pub(super) fn wrap_in_constexpr(function: Option<&Plain>) -> Plain {
    match function {
        Some(Plain::Function(function)) => Plain::HeldFunction(Rc::clone(function)),
        Some(other) => other.clone(),
        None => Plain::NONE,
    }
}
