//! The meaning of annotations of parameters and variables.

use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::Rule;
use ruff_python_ast::Expr;

use super::Runner;
use cerith_language::builtin;
use cerith_language::constant::{Constant, TypeValue};
use cerith_language::value::Value;
use cerith_language::value::plain::{Plain, ScopeId};

/// A parameter, according to its annotation.
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

impl Runner<'_, '_> {
    /// Whether an annotation is `constexpr`: `tl.constexpr`, a name for it, or a string.
    pub(super) fn names_constexpr(&mut self, scope: ScopeId, annotation: &Expr) -> bool {
        matches!(self.read_annotation(scope, annotation), Parameter::Constexpr)
    }

    /// Evaluates an annotation.
    pub fn read_annotation(&mut self, scope: ScopeId, annotation: &Expr) -> Parameter {
        let Ok(value) = self.eval_expression(scope, annotation) else {
            return Parameter::Plain;
        };
        match value {
            Plain::Constant(Constant::Str(text)) => self.annotated_type(&text),
            Plain::Constant(Constant::Type(value)) => self.annotated_value(&value),
            Plain::Symbol(module, name) if &*module == "tl" => {
                if &*name == "constexpr" {
                    return Parameter::Constexpr;
                }
                match builtin::find_symbol(self.lo.rules, &module, &name) {
                    Some(Value::Constant(Constant::Type(value))) => self.annotated_value(&value),
                    _ => Parameter::Plain,
                }
            }
            Plain::Builtin(name @ ("int" | "float" | "bool")) => self.annotated_type(name),
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
