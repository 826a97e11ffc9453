//! `@triton.jit` functions: what a `def` and its decorators say, and what annotations mean.

use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::Rule;
use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::Tracer;
use crate::constant::{Constant, TypeValue};
use crate::stop::{Stop, Traced};
use crate::text::span_of;
use crate::value::Value;
use crate::value::callable::{UserFunction, lists};
use crate::value::host::{Host, ScopeId};

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
        if lists_none || !self.lo.rules.holds(Rule::ConstexprsAreSpecialised) {
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
                self.lo.span = span_of(self.source_of(function.scope), parameter.range());
                return Err(self.lo.reject(format!(
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
                if let Err(stop @ Stop::Rejected(_)) = self.lookup(name.id.as_str()) {
                    return Err(stop);
                }
                self.lo.leave(before);
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
                if !self.lo.rules.holds(Rule::FloatAnnotationsAreTypes)
                    && (text == "int" || text == "float") =>
            {
                Parameter::Plain
            }
            Some(dtype) if dtype.is_float() && !self.lo.rules.holds(Rule::FloatAnnotationsAreTypes) => {
                Parameter::Plain
            }
            Some(dtype) => Parameter::Typed(dtype),
            None => Parameter::Plain,
        }
    }
}
