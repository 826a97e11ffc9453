//! Resolves a launch at one point of the matrix: its kernel, its grid, its arguments and options. See `schema` for
//! reading it.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::rules::Version;
use cerith_tile::source::Span;

use super::state::{Resolver, as_items};
use crate::argument::{Arg, ArgValue};
use crate::case::Launch;
use crate::case_file::CaseFile;
use crate::descriptor::{Descriptor, Padding};
use crate::schema::{ArgumentSchema, DescriptorSchema, LaunchSchema};
use crate::template::{Template, ValueTemplate};
use cerith_expression::{Names, Value};

/// CUDA's limits for a grid.
const MAX_GRID: [i128; 3] = [i32::MAX as i128, 65535, 65535];

impl Resolver<'_> {
    pub(super) fn resolve_launch(&mut self, file: &CaseFile, schema: &LaunchSchema) -> Option<Launch> {
        let before = self.problems.len();
        let kernel = file
            .find_kernel(schema, &self.names)
            .map_err(|problem| self.problems.push(problem))
            .ok();
        let host = file
            .find_host(schema, &self.names)
            .map_err(|problem| self.problems.push(problem))
            .ok();
        let grid = match self
            .evaluate(&schema.grid)
            .and_then(|value| parse_grid(&value, schema.grid.span()))
        {
            Ok(grid) => Some(grid),
            Err(problem) => {
                self.fail_with(None, &schema.grid, problem);
                None
            }
        };
        let positional = schema
            .positional
            .iter()
            .filter_map(|value| self.resolve_argument(value, schema.unchecked))
            .collect();
        let keyword = schema
            .keyword
            .iter()
            .filter_map(|(key, value)| {
                Some((key.name.clone(), self.resolve_argument(value, schema.unchecked)?))
            })
            .collect();
        let options = schema
            .options
            .iter()
            .filter_map(|(key, value)| Some((key.name.clone(), self.evaluate_arg(value)?.value)))
            .collect();
        let (kernel, host, (grid, grid_dims)) = (kernel?, host?, grid?);
        let launch = Launch {
            kernel,
            grid,
            grid_dims,
            positional,
            keyword,
            options,
            host,
            unchecked: schema.unchecked,
            span: schema.span,
        };
        self.problems.extend(constant_addresses(&launch));
        (self.problems.len() == before).then_some(launch)
    }

    fn resolve_argument(&mut self, schema: &ArgumentSchema, unchecked: bool) -> Option<Arg> {
        let descriptor = match schema {
            ArgumentSchema::Value(template) => return self.evaluate_arg(template),
            ArgumentSchema::Global(template) => {
                let read = template
                    .render(&self.names)
                    .and_then(|name| parse_global(&name, template.span));
                return read
                    .map_err(|problem| self.problems.push(problem))
                    .ok()
                    .map(|value| Arg {
                        value,
                        span: template.span,
                    });
            }
            ArgumentSchema::Constexpr(inner) => {
                let Arg { value, span } = self.resolve_argument(inner, unchecked)?;
                return Some(Arg {
                    value: ArgValue::Constexpr(Box::new(value)),
                    span,
                });
            }
            ArgumentSchema::Tuple(items, span) => {
                let read: Vec<_> = items
                    .iter()
                    .map(|item| self.resolve_argument(item, unchecked))
                    .collect();
                let items: Option<Vec<_>> = read.into_iter().map(|arg| Some(arg?.value)).collect();
                return Some(Arg {
                    value: ArgValue::Tuple(items?),
                    span: *span,
                });
            }
            ArgumentSchema::NamedTuple(fields, span) => {
                let read: Vec<_> = fields
                    .iter()
                    .map(|(_, item)| self.resolve_argument(item, unchecked))
                    .collect();
                let items: Option<Vec<_>> = read.into_iter().map(|arg| Some(arg?.value)).collect();
                return Some(Arg {
                    value: ArgValue::NamedTuple {
                        fields: fields.iter().map(|(name, _)| name.clone()).collect(),
                        items: items?,
                    },
                    span: *span,
                });
            }
            ArgumentSchema::Descriptor(descriptor) => descriptor,
        };
        match self.resolve_descriptor(descriptor, unchecked) {
            Ok(value) => Some(Arg {
                value: ArgValue::Descriptor(Box::new(value)),
                span: descriptor.span,
            }),
            Err(problem) => {
                if !descriptor.mentions_any(&self.names, &self.failed) {
                    self.problems.push(problem);
                }
                None
            }
        }
    }

    fn resolve_descriptor(
        &mut self,
        schema: &DescriptorSchema,
        unchecked: bool,
    ) -> Result<Descriptor, Diagnostic> {
        let base = match self.evaluate(&schema.base)? {
            Value::Tensor(base) => base,
            other => {
                let message = format!("a descriptor of {other}, of type {}", other.kind());
                return Err(Diagnostic::error("wrong-type", schema.base.span(), message)
                    .help("write an expression that gives a tensor"));
            }
        };
        let mut dims = |template: &ValueTemplate| {
            let value = self.evaluate(template)?;
            to_integers(&value).ok_or_else(|| {
                let message = format!(
                    "{value}, of type {}, where a descriptor has integers",
                    value.kind()
                );
                Diagnostic::error("wrong-type", template.span(), message)
                    .help("write one number a dimension: `[16, 16]`")
            })
        };
        let block_shape = dims(&schema.block_shape)?;
        let shape = schema.shape.as_ref().map(&mut dims).transpose()?;
        let strides = schema.strides.as_ref().map(&mut dims).transpose()?;
        let padding = match &schema.padding {
            None => Padding::Zero,
            Some(template) => parse_padding(template, &self.names)?,
        };
        let round_f32_to_tf32 = match &schema.round_f32_to_tf32 {
            None => false,
            Some(template) => match self.evaluate(template)? {
                Value::Bool(flag) => flag,
                other => {
                    let message = format!("`round_f32_to_tf32` is {other}, of type {}", other.kind());
                    return Err(Diagnostic::error("wrong-type", template.span(), message)
                        .help("write `true` or `false`"));
                }
            },
        };
        let descriptor = Descriptor {
            name: schema.base.render_text(&self.names)?,
            shape: shape.unwrap_or_else(|| base.shape.to_vec()),
            strides: strides.unwrap_or_else(|| base.strides.to_vec()),
            base,
            block_shape,
            padding,
            round_f32_to_tf32,
        };
        match descriptor.find_rejection(Version::NEWEST) {
            Some(fault) if !unchecked => Err(Diagnostic::error(
                "bad-descriptor",
                schema.span,
                format!("Triton makes no such descriptor: {fault}"),
            )
            .note("`unchecked: true` on the launch allows it anyway")),
            _ => Ok(descriptor),
        }
    }
}

/// Addresses that would be compiled into a kernel. Every engine has its own, so it would be another kernel.
fn constant_addresses(launch: &Launch) -> Vec<Diagnostic> {
    let annotated = |name: Option<&str>| {
        let parameters = launch.kernel.function().map(|function| &function.parameters);
        let mut parameters = parameters.into_iter().flatten();
        name.is_some_and(|name| parameters.any(|parameter| parameter.name == name && parameter.constexpr))
    };
    let constant = launch.arguments().filter(|(name, arg)| {
        has_constant_address(&arg.value) || annotated(*name) && arg.value.holds_address()
    });
    let options = launch.options.iter().filter(|(_, value)| value.holds_address());
    let spans = constant
        .map(|(_, arg)| arg.span)
        .chain(options.map(|_| launch.span));
    spans
        .map(|span| {
            Diagnostic::error("wrong-type", span, "an address as a constant of a kernel")
                .note("every engine has other addresses, and would compile another kernel")
                .help("pass it for a parameter that is not a `tl.constexpr`")
        })
        .collect()
}

/// Whether an address is inside of `tl.constexpr(…)`.
fn has_constant_address(value: &ArgValue) -> bool {
    match value {
        ArgValue::Constexpr(inner) => inner.holds_address(),
        ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => items.iter().any(has_constant_address),
        _ => false,
    }
}

/// A name in the kernel's module.
fn parse_global(name: &str, span: Span) -> Result<ArgValue, Diagnostic> {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if name.split('.').all(is_word) {
        Ok(ArgValue::Global(name.to_owned()))
    } else {
        Err(Diagnostic::error(
            "bad-name",
            span,
            format!("`{name}` is not a name in the kernel's module"),
        )
        .help("name a function of the kernel's file: `{ global: relu }`"))
    }
}

/// Integers of any sign.
fn to_integers(value: &Value) -> Option<Vec<i64>> {
    as_items(value)?
        .iter()
        .map(|item| match item {
            Value::Int(number) => i64::try_from(*number).ok(),
            _ => None,
        })
        .collect()
}

/// A padding by its name at a point.
fn parse_padding(template: &Template, names: &Names) -> Result<Padding, Diagnostic> {
    let known = [Padding::Zero, Padding::Nan];
    let text = template.render(names)?;
    known
        .into_iter()
        .find(|padding| padding.name() == text.trim())
        .ok_or_else(|| {
            let mut problem = Diagnostic::error(
                "bad-descriptor",
                template.span,
                format!("unknown padding `{text}`"),
            );
            problem.help = Some(format!(
                "there are {}",
                cerith_python::nearest::list(&known.map(Padding::name))
            ));
            problem
        })
}

fn parse_grid(value: &Value, span: Span) -> Result<([u32; 3], u8), Diagnostic> {
    let wrong = |message: String| {
        Diagnostic::error("bad-grid", span, message)
            .help("write one to three numbers of programs: `[4]`, `[4, 2]`")
    };
    let sizes =
        as_items(value).ok_or_else(|| wrong(format!("a grid that is {value}, of type {}", value.kind())))?;
    if sizes.is_empty() || sizes.len() > 3 {
        return Err(wrong(format!("a grid of {} dimensions", sizes.len())));
    }
    let mut grid = [1; 3];
    for ((slot, size), limit) in grid.iter_mut().zip(sizes).zip(MAX_GRID) {
        let Value::Int(size) = size else {
            return Err(wrong(format!("a grid of {size}, of type {}", size.kind())));
        };
        *slot = u32::try_from(*size)
            .ok()
            .filter(|_| *size <= limit)
            .ok_or_else(|| {
                wrong(format!(
                    "{size} programs along a dimension that takes 0 to {limit}"
                ))
            })?;
    }
    Ok((grid, sizes.len() as u8))
}
