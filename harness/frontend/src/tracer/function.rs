//! `@triton.jit` functions: what a `def` and its decorators say, and what annotations mean.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::Rule;
use cerith_tile::source::Span;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::host::{Host, HostBody, HostFunction};
use super::module::{ScopeId, span_of};
use super::{Traced, Tracer};
use crate::constant;
use crate::value::{Constant, TypeValue, Value};

/// Options of `@triton.jit(…)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct JitOptions {
    /// Whether calls stay calls; such a function takes no blocks.
    pub noinline: bool,
    /// Whether device asserts are on, if said.
    pub debug: Option<bool>,
    /// Parameters, by place or name, whose values are never made constants.
    pub do_not_specialize: Vec<Constant>,
    /// Parameters, by place or name, whose alignment is never looked at. No IR says anything of alignment, so this
    /// decides only what is accepted.
    pub do_not_specialize_on_alignment: Vec<Constant>,
}

/// Whether a parameter is in a list of places and names.
pub(crate) fn lists(list: &[Constant], place: usize, name: &str) -> bool {
    list.iter().any(|entry| match entry {
        Constant::Str(entry) => **entry == *name,
        _ => constant::as_int(entry) == Some(place as i128),
    })
}

/// What stands around a kernel and adds arguments at launch.
#[derive(Debug)]
pub(crate) enum Wrapper {
    /// `@triton.autotune`.
    Autotune {
        /// Its configurations.
        configs: Host,
        /// The parameters that tell its runs apart.
        key: Host,
        /// `prune_configs_by`.
        prune: Host,
        /// Where it is.
        span: Span,
    },
    /// `@triton.heuristics`: functions of the arguments, by parameter.
    Heuristics(Rc<Vec<(Host, Host)>>),
}

/// A `@triton.jit` function of the user or of the prelude.
#[derive(Debug)]
pub(crate) struct UserFunction {
    /// Its name.
    pub name: Rc<str>,
    /// Its text.
    pub def: Rc<ast::StmtFunctionDef>,
    /// The names it sees.
    pub scope: ScopeId,
    /// Defaults of its parameters.
    pub defaults: Vec<(Rc<str>, Host)>,
    /// What its decorator says.
    pub options: JitOptions,
    /// What stands around it, outermost first.
    pub wrappers: Vec<Rc<Wrapper>>,
}

impl UserFunction {
    /// The jitted function of a plain one. (A lambda has no body to compile; it becomes a function without statements.)
    pub fn new(function: &HostFunction, options: JitOptions) -> Self {
        let def = match &function.body {
            HostBody::Def(def) => Rc::clone(def),
            HostBody::Lambda(lambda) => Rc::new(ast::StmtFunctionDef {
                node_index: ast::AtomicNodeIndex::default(),
                range: lambda.range,
                is_async: false,
                decorator_list: Vec::new().into(),
                name: ast::Identifier::new("lambda", lambda.range),
                type_params: None,
                parameters: lambda.parameters.clone().unwrap_or_default(),
                returns: None,
                body: Vec::new().into(),
            }),
        };
        Self {
            name: Rc::clone(&function.name),
            def,
            scope: function.scope,
            defaults: function.defaults.clone(),
            options,
            wrappers: Vec::new(),
        }
    }

    /// The same with one more wrapper around it.
    pub fn wrapped(&self, wrapper: Rc<Wrapper>) -> Self {
        let wrappers = std::iter::once(wrapper)
            .chain(self.wrappers.iter().cloned())
            .collect();
        Self {
            name: Rc::clone(&self.name),
            def: Rc::clone(&self.def),
            scope: self.scope,
            defaults: self.defaults.clone(),
            options: self.options.clone(),
            wrappers,
        }
    }

    /// The default of a parameter.
    pub fn default_of(&self, name: &str) -> Option<&Host> {
        self.defaults
            .iter()
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| value)
    }
}

/// What a parameter's annotation makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// Nothing: the argument decides.
    Plain,
    /// A compile-time constant.
    Constexpr,
    /// A scalar of this type, whatever the argument.
    Typed(DType),
    /// A pointer.
    Pointer,
    /// A pointer that nothing is stored through (`tl.const`).
    ReadOnly,
}

impl Tracer<'_> {
    /// Refuses a function that asks of a constexpr parameter not to be specialised on.
    pub(super) fn check_specialised(&mut self, function: &UserFunction) -> Traced<()> {
        let options = &function.options;
        let lists_none =
            options.do_not_specialize.is_empty() && options.do_not_specialize_on_alignment.is_empty();
        if lists_none || !self.rules.holds(Rule::ConstexprsAreSpecialised) {
            return Ok(());
        }
        for (place, parameter) in function.def.parameters.iter().enumerate() {
            let name = parameter.name().as_str();
            let listed = lists(&options.do_not_specialize, place, name)
                || lists(&options.do_not_specialize_on_alignment, place, name);
            let Some(annotation) = parameter.as_parameter().annotation.as_deref().filter(|_| listed) else {
                continue;
            };
            if self.annotation(function.scope, annotation) == Parameter::Constexpr {
                self.span = span_of(self.source_of(function.scope), parameter.range());
                return Err(self.reject(format!(
                    "`{name}` is a constexpr and listed in do_not_specialize or do_not_specialize_on_alignment"
                )));
            }
        }
        Ok(())
    }

    /// Refuses a parameter that is annotated with a name that a kernel cannot use.
    pub(super) fn check_annotations(&mut self, function: &UserFunction) -> Traced<()> {
        for parameter in &*function.def.parameters {
            if let Some(Expr::Name(name)) = parameter.annotation() {
                let before = self.enter(name.range());
                if let Err(stop @ super::Stop::Rejected(_)) = self.lookup(name.id.as_str()) {
                    return Err(stop);
                }
                self.leave(before);
            }
        }
        Ok(())
    }

    /// What an annotation says.
    pub(super) fn annotation(&mut self, scope: ScopeId, annotation: &Expr) -> Parameter {
        let Ok(value) = self.host_expression(scope, annotation) else {
            return Parameter::Plain;
        };
        match value {
            Host::Constant(Constant::Str(text)) => self.annotated_type(&text),
            Host::Constant(Constant::Type(value)) => self.annotated_value(&value),
            Host::Symbol(module, name) if &*module == "tl" => {
                if &*name == "constexpr" {
                    return Parameter::Constexpr;
                }
                match self.symbol(&module, &name) {
                    Some(Value::Constant(Constant::Type(value))) => self.annotated_value(&value),
                    _ => Parameter::Plain,
                }
            }
            Host::Builtin(name @ ("int" | "float" | "bool")) => self.annotated_type(name),
            _ => Parameter::Plain,
        }
    }

    fn annotated_value(&self, value: &TypeValue) -> Parameter {
        match value {
            TypeValue::Elem(Elem::Num(dtype)) => self.annotated_type(dtype.triton_name()),
            TypeValue::Elem(Elem::Ptr { .. }) => Parameter::Pointer,
            TypeValue::Named("const") => Parameter::ReadOnly,
            _ => Parameter::Plain,
        }
    }

    /// An annotation by its text: `tl.int64`, `i64`, `*fp32`, `const *fp32`.
    fn annotated_type(&self, text: &str) -> Parameter {
        let text = text.trim();
        if text.contains("constexpr") {
            return Parameter::Constexpr;
        }
        if text.contains("const") || text.starts_with("*k") {
            return Parameter::ReadOnly;
        }
        if text.starts_with('*') || text.ends_with('*') {
            return Parameter::Pointer;
        }
        let text = text.rsplit('.').next().unwrap_or(text).trim_end_matches("_t");
        let dtype = match text {
            "u1" | "uint1" | "bool" => Some(DType::I1),
            "int" => Some(DType::I32),
            "float" => Some(DType::F32),
            "half" => Some(DType::F16),
            "double" => Some(DType::F64),
            _ => text.parse().ok().or_else(|| DType::from_torch_name(text)),
        };
        match dtype {
            // Before, only integer widths were read off annotations.
            Some(_)
                if !self.rules.holds(Rule::FloatAnnotationsAreTypes)
                    && (text == "int" || text == "float") =>
            {
                Parameter::Plain
            }
            Some(dtype) if dtype.is_float() && !self.rules.holds(Rule::FloatAnnotationsAreTypes) => {
                Parameter::Plain
            }
            Some(dtype) => Parameter::Typed(dtype),
            None => Parameter::Plain,
        }
    }
}
