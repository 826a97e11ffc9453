//! Finds errors in a `@triton.jit` function before its body runs: its options and its annotations.

use cerith_tile::rules::Rule;
use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::Tracer;
use crate::plain::annotation::Parameter;
use crate::text::span_of;
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::callable::{UserFunction, is_listed};

impl Tracer<'_> {
    /// Refuses a function whose options exclude a constexpr parameter from specialisation.
    pub(super) fn check_specialised(&mut self, function: &UserFunction) -> Traced<()> {
        let options = &function.options;
        let lists_none =
            options.do_not_specialize.is_empty() && options.do_not_specialize_on_alignment.is_empty();
        if lists_none || !self.lo.rules.holds(Rule::ConstexprsAreSpecialised) {
            return Ok(());
        }
        for (place, parameter) in function.def.parameters.iter().enumerate() {
            let name = parameter.name().as_str();
            let listed = is_listed(&options.do_not_specialize, place, name)
                || is_listed(&options.do_not_specialize_on_alignment, place, name);
            let Some(annotation) = parameter.as_parameter().annotation.as_deref().filter(|_| listed) else {
                continue;
            };
            if self.plain().read_annotation(function.scope, annotation) == Parameter::Constexpr {
                self.lo.span = span_of(self.modules.source_of(function.scope), parameter.range());
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
}
