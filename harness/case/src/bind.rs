//! Binds arguments to a kernel's signature, as Python would, and checks host functions. Values are not checked
//! against Triton's rules.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use crate::schema::LaunchSchema;
use crate::yaml::Key;
use cerith_module::kernel::{Function, Kernel, Parameter, ParameterKind};
use cerith_python::nearest::{list, suggest_spelling};

/// Number of arguments that a host function is called with.
const HOST_ARGUMENTS: usize = 3;

const ON_PURPOSE: &str = "`unchecked: true` on the launch passes it anyway";

/// The parameters that a positional argument can go to.
fn by_position(function: &Function) -> Vec<&Parameter> {
    let takes = |parameter: &&Parameter| {
        matches!(
            parameter.kind,
            ParameterKind::PositionalOnly | ParameterKind::PositionalOrKeyword
        )
    };
    function.parameters.iter().filter(takes).collect()
}

/// Whether a keyword can go to a parameter.
const fn by_keyword(parameter: &Parameter) -> bool {
    matches!(
        parameter.kind,
        ParameterKind::PositionalOrKeyword | ParameterKind::KeywordOnly
    )
}

fn has(function: &Function, kind: ParameterKind) -> bool {
    function.parameters.iter().any(|parameter| parameter.kind == kind)
}

/// Checks an argument by name: reports an unknown parameter, or one that a positional argument already set.
fn check_keyword(
    kernel: &Kernel,
    function: &Function,
    launch: &LaunchSchema,
    key: &Key,
) -> Option<Diagnostic> {
    let named = |parameter: &&Parameter| by_keyword(parameter);
    let parameters = || function.parameters.iter().filter(named);
    if parameters().any(|parameter| parameter.name == key.name) {
        let position = by_position(function)
            .iter()
            .position(|parameter| parameter.name == key.name);
        let first = position.and_then(|at| launch.positional.get(at))?;
        let message = format!("two arguments for `{}`", key.name);
        return Some(
            Diagnostic::error("duplicate-argument", key.span, message)
                .label(first.span(), "by position")
                .help("remove one"),
        );
    }
    if has(function, ParameterKind::VarKeyword) {
        return None;
    }
    let mut problem = Diagnostic::error(
        "unknown-argument",
        key.span,
        format!("`{}` has no parameter `{}`", kernel.name, key.name),
    );
    problem.help = suggest_spelling(&key.name, parameters().map(|parameter| parameter.name.as_str()));
    Some(problem)
}

/// Adds a problem for every argument that has no parameter, and for parameters that have no argument.
pub(crate) fn check(kernel: &Kernel, launch: &LaunchSchema, problems: &mut Vec<Diagnostic>) {
    let Some(function) = kernel.function() else { return };
    let parameters = &function.parameters;
    let by_position = by_position(function);
    let start = Span {
        end: launch.span.start,
        ..launch.span
    };
    let definition = |problem: Diagnostic| problem.label(function.span, "the kernel").note(ON_PURPOSE);
    if let Some(extra) = launch.positional.get(by_position.len())
        && !has(function, ParameterKind::VarPositional)
    {
        problems.push(definition(
            Diagnostic::error(
                "unknown-argument",
                extra.span(),
                format!(
                    "{} positional arguments for the {} positional parameters of `{}`",
                    launch.positional.len(),
                    by_position.len(),
                    kernel.name
                ),
            )
            .help("remove it, or pass keyword-only parameters by name"),
        ));
    }
    for (key, _) in &launch.keyword {
        if let Some(problem) = check_keyword(kernel, function, launch, key) {
            problems.push(definition(problem));
        }
    }
    if !function.decorators_are_literal {
        return;
    }
    let missing: Vec<&str> = parameters
        .iter()
        .filter(|parameter| {
            let variadic = matches!(
                parameter.kind,
                ParameterKind::VarPositional | ParameterKind::VarKeyword
            );
            let position = by_position.iter().position(|other| other.name == parameter.name);
            !variadic
                && parameter.default.is_none()
                && position.is_none_or(|at| at >= launch.positional.len())
                && !launch.keyword.iter().any(|(key, _)| key.name == parameter.name)
                && !function.given_by_decorators.contains(&parameter.name)
        })
        .map(|parameter| parameter.name.as_str())
        .collect();
    if !missing.is_empty() {
        let what = if missing.len() == 1 {
            "an argument"
        } else {
            "arguments"
        };
        problems.push(definition(
            Diagnostic::error(
                "missing-argument",
                start,
                format!(
                    "launch of `{}` without {what} for {}",
                    kernel.name,
                    list(&missing)
                ),
            )
            .help(format!("add `{}: …` to `args`", missing.join(": …, "))),
        ));
    }
}

/// Checks whether a function can be the host function named at `span`; returns a diagnostic if it can't.
pub(crate) fn check_host(function: &Function, span: Span) -> Option<Diagnostic> {
    let name = &function.name;
    let wrong = |message: String| {
        Diagnostic::error("unknown-host", span, message)
            .label(function.span, "the function")
            .help("a host function is a plain function of the module: `def launch(kernel, grid, args): …`")
    };
    if function.jit {
        return Some(wrong(format!("`{name}` is a kernel, not a host function")));
    }
    if name.contains('.') {
        return Some(wrong(format!("`{name}` is not at its module's level")));
    }
    let parameters = &function.parameters;
    let by_position = |parameter: &&Parameter| {
        matches!(
            parameter.kind,
            ParameterKind::PositionalOnly | ParameterKind::PositionalOrKeyword
        )
    };
    let needed = parameters.iter().filter(by_position);
    let needed = needed.filter(|parameter| parameter.default.is_none()).count();
    let variadic = (parameters.iter()).any(|parameter| parameter.kind == ParameterKind::VarPositional);
    let taken = if variadic {
        usize::MAX
    } else {
        parameters.iter().filter(by_position).count()
    };
    let more = parameters
        .iter()
        .any(|parameter| parameter.kind == ParameterKind::KeywordOnly && parameter.default.is_none());
    (more || !(needed..=taken).contains(&HOST_ARGUMENTS)).then(|| {
        wrong(format!(
            "`{name}` cannot be called as `{name}(kernel, grid, args)`"
        ))
    })
}
