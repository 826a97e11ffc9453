//! Resolves `compile` at one point of the matrix and checks it against the launches. See `schema` for reading it.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use super::state::{Resolver, as_items};
use crate::argument::ArgValue;
use crate::case::Launch;
use crate::compile::Compile;
use crate::schema::CompileSchema;
use crate::template::ValueTemplate;
use crate::yaml::Key;
use cerith_expression::Value;
use cerith_python::nearest::suggest_spelling;

impl Resolver<'_> {
    /// Resolves `compile`; `None` if there was a problem.
    pub(super) fn resolve_compile(&mut self, schema: &CompileSchema, launches: &[Launch]) -> Option<Compile> {
        let before = self.problems.len();
        if launches.is_empty() {
            self.problems.push(
                Diagnostic::error(
                    "conflicting-keys",
                    schema.span,
                    "`compile` in a case that launches nothing",
                )
                .help("leave it out: there is no call to compile"),
            );
            return None;
        }
        let dynamic = match &schema.dynamic {
            None => None,
            Some(template) => self.resolve_dynamic(template),
        };
        let mut marked = |marks: &[(Key, ValueTemplate)]| {
            marks
                .iter()
                .filter_map(|(key, value)| {
                    let rank = self.find_rank(key, launches)?;
                    Some((key.name.clone(), self.resolve_dimensions(key, value, rank)?))
                })
                .collect()
        };
        let (mark_dynamic, maybe_mark_dynamic) =
            (marked(&schema.mark_dynamic), marked(&schema.maybe_mark_dynamic));
        let calls = schema
            .before
            .iter()
            .map(|call| {
                call.iter()
                    .filter_map(|(key, value)| {
                        self.find_arguments(key, launches)?;
                        Some((key.name.clone(), self.evaluate_arg(value)?.value))
                    })
                    .collect()
            })
            .collect();
        (self.problems.len() == before).then_some(Compile {
            dynamic,
            mark_dynamic,
            maybe_mark_dynamic,
            before: calls,
        })
    }

    fn resolve_dynamic(&mut self, template: &ValueTemplate) -> Option<bool> {
        let problem = match self.evaluate(template) {
            Ok(Value::Bool(flag)) => return Some(flag),
            Ok(Value::None) => return None,
            Ok(other) => Diagnostic::error(
                "wrong-type",
                template.span(),
                format!("`dynamic` is {other}, of type {}", other.kind()),
            )
            .help("write `true`, `false`, or `null` for torch's own way"),
            Err(problem) => problem,
        };
        self.fail_with(None, template, problem);
        None
    }

    /// The arguments of this name, or none with a problem.
    fn find_arguments<'l>(&mut self, key: &Key, launches: &'l [Launch]) -> Option<Vec<&'l ArgValue>> {
        let named = || {
            launches.iter().flat_map(|launch| {
                launch
                    .arguments()
                    .filter_map(|(name, arg)| Some((name?, &arg.value)))
            })
        };
        let found: Vec<&ArgValue> = named()
            .filter(|(name, _)| *name == key.name)
            .map(|(_, value)| value)
            .collect();
        if found.is_empty() {
            let mut names: Vec<&str> = named().map(|(name, _)| name).collect();
            names.sort_unstable();
            names.dedup();
            let mut problem = Diagnostic::error(
                "unknown-argument",
                key.span,
                format!("no launch has an argument `{}`", key.name),
            );
            problem.help = suggest_spelling(&key.name, names);
            self.problems.push(problem);
            return None;
        }
        Some(found)
    }

    /// The number of dimensions of the tensors of this name, the least where they differ.
    fn find_rank(&mut self, key: &Key, launches: &[Launch]) -> Option<usize> {
        let mut least = usize::MAX;
        for value in self.find_arguments(key, launches)? {
            let ArgValue::Tensor { tensor, .. } = value else {
                let message = format!(
                    "argument `{}` is not a tensor, so it has no dimension to mark",
                    key.name
                );
                self.problems.push(
                    Diagnostic::error("wrong-type", key.span, message)
                        .help("mark an argument that is a tensor"),
                );
                return None;
            };
            least = least.min(tensor.shape.len());
        }
        Some(least)
    }

    fn resolve_dimensions(&mut self, key: &Key, template: &ValueTemplate, rank: usize) -> Option<Vec<usize>> {
        let value = match self.evaluate(template) {
            Ok(value) => value,
            Err(problem) => {
                self.fail_with(None, template, problem);
                return None;
            }
        };
        let dimensions = as_items(&value).and_then(|items| {
            let number = |item: &Value| match item {
                Value::Int(at) => usize::try_from(*at).ok().filter(|&at| at < rank),
                _ => None,
            };
            items.iter().map(number).collect()
        });
        if dimensions.is_none() {
            self.problems
                .push(wrong_dimensions(key, &value, template.span(), rank));
        }
        dimensions
    }
}

fn wrong_dimensions(key: &Key, value: &Value, span: Span, rank: usize) -> Diagnostic {
    Diagnostic::error(
        "bad-dimension",
        span,
        format!("`{}` of {rank} dimensions has no dimension {value}", key.name),
    )
    .help(match rank {
        0 => "it has none to mark: leave it out".to_owned(),
        1 => "write 0, the only one".to_owned(),
        _ => format!("write one from 0 to {}, or a list of them", rank - 1),
    })
}
