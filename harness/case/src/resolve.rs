//! A case file at one point of its matrix, made into a [`Case`].
//! Left out: finding files and kernels (`corpus`), and what is wrong with a file at every point (`schema`).

mod compile;
mod given;
mod recorded;

use cerith_tile::fault::{Fault, is_planted};
use std::collections::HashSet;

use cerith_memory::{NamedTensor, Storage, StorageId, Storages, Tensor};
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::rules::Version;
use cerith_tile::source::Span;

use crate::case::{Arg, ArgValue, Case, Declared, Launch};
use crate::corpus::CaseFile;
use crate::descriptor::{Descriptor, Padding};
use crate::expectation::Expectation;
use crate::expr::{Names, Value};
use crate::fill::{Beside, Fill};
use crate::matrix::{Point, truth};
use crate::schema::{ArgumentSchema, DescriptorSchema, LaunchSchema, StorageSchema};
use crate::template::{Template, ValueTemplate};
use crate::variant::Layout;
use cerith_python::nearest::nearest;

/// CUDA's limits for a grid.
const MAX_GRID: [i128; 3] = [i32::MAX as i128, 65535, 65535];

/// More dimensions than torch has.
const MAX_DIMS: usize = 64;

/// Makes the case of a point, or says everything that is wrong with it. With a layout, the tensors of storages are laid
/// out that way, and all that follows from them.
pub(crate) fn resolve(
    file: &CaseFile,
    id: &str,
    point: Point,
    layout: Option<Layout>,
) -> Result<Case, Vec<Diagnostic>> {
    let schema = &file.schema;
    let mut state = Resolver {
        names: point.names,
        beside: file.beside(),
        layout,
        storages: Storages::new(),
        tensors: Vec::with_capacity(schema.storages.len() + schema.tensors.len()),
        declared: Vec::with_capacity(schema.storages.len()),
        failed: HashSet::new(),
        problems: Vec::new(),
    };
    let variables = state.names.len();
    let mut fills: Vec<&StorageSchema> = Vec::new();
    for storage in &schema.storages {
        match state.storage(storage) {
            Ok(()) => fills.push(storage),
            Err(problem) => state.fail(Some(&storage.key.name), problem),
        }
    }
    let named_storages = state.storages.len();
    state.fill(&mut fills, false);
    for (key, value) in &schema.tensors {
        match state.evaluate(value) {
            Ok(Value::Tensor(tensor)) => {
                state
                    .names
                    .insert(key.name.clone(), Value::Tensor(tensor.clone()));
                state.tensors.push(NamedTensor {
                    name: key.name.clone(),
                    tensor,
                });
                state.fill(&mut fills, false);
            }
            Ok(other) => {
                let problem = Diagnostic::error(
                    "wrong-type",
                    value.span(),
                    format!("tensor `{}` is {other}, of type {}", key.name, other.kind()),
                )
                .help("write an expression that gives a tensor");
                state.fail(Some(&key.name), problem);
            }
            Err(problem) => state.fail_with(Some(&key.name), value, problem),
        }
    }
    state.fill(&mut fills, true);
    let launches: Vec<Launch> = schema
        .launches
        .iter()
        .filter_map(|launch| state.launch(file, launch))
        .collect();
    // What it names is in the launches: with a launch missing, it cannot be looked at.
    let compile = match &schema.compile {
        Some(compile) if launches.len() == schema.launches.len() => state.compile(compile, &launches),
        _ => None,
    };
    // What a run left is of the layout that it had, and of no other.
    let recorded = match &schema.recorded {
        Some(recorded) if state.problems.is_empty() && layout.is_none() => {
            state.recorded(recorded, &schema.storages)
        }
        _ => None,
    };
    // Another layout has its elements elsewhere.
    let given = if state.problems.is_empty() && layout.is_none() {
        state.given(&schema.gives, &schema.storages)
    } else {
        Vec::new()
    };
    for (declared, (_, storage)) in state.declared.iter_mut().zip(state.storages.iter()) {
        if let Some((_, hash)) = &mut declared.recorded {
            *hash = without_addresses(storage);
        }
    }
    let only_variables: Names = state
        .names
        .iter()
        .take(variables)
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    let mut expectations = Vec::with_capacity(schema.expect.len());
    for expect in &schema.expect {
        match expect
            .when
            .as_ref()
            .map_or(Ok(true), |when| truth(when, &only_variables))
        {
            Ok(false) => {}
            Ok(true) => expectations.push(Expectation {
                engines: expect.engines.clone(),
                versions: expect.versions.clone(),
                axes: expect.axes.clone(),
                verdict: expect.verdict,
                outcome: expect.outcome,
                message: expect.message.clone(),
                quirks: expect.quirks,
                why: expect.why.clone(),
                link: expect.link.clone(),
                span: expect.span,
            }),
            Err(problem) => state.problems.push(problem),
        }
    }
    let module = match file.module(&only_variables) {
        Ok(module) => Some(module),
        Err(problem) => {
            state.problems.push(problem);
            None
        }
    };
    match module {
        Some(module) if state.problems.is_empty() => Ok(Case {
            id: id.to_owned(),
            about: schema.about.clone(),
            origin: schema.origin.clone(),
            found: schema.found.clone(),
            point: point.labels,
            module,
            storages: state.storages,
            named_storages,
            declared: state.declared,
            tensors: state.tensors,
            launches,
            compile,
            timeout: schema.timeout,
            inspectable: schema.inspectable,
            recorded,
            given,
            expectations,
            span: schema.span,
        }),
        _ => Err(state.problems),
    }
}

struct Resolver<'a> {
    names: Names,
    /// Where recorded bytes are found.
    beside: Beside<'a>,
    layout: Option<Layout>,
    storages: Storages,
    tensors: Vec<NamedTensor>,
    declared: Vec<Declared>,
    /// Names that could not be made: what mentions them is not reported again.
    failed: HashSet<String>,
    problems: Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn evaluate(&mut self, value: &ValueTemplate) -> Result<Value, Diagnostic> {
        value.evaluate(&self.names, &mut self.storages)
    }

    fn fail(&mut self, name: Option<&str>, problem: Diagnostic) {
        self.failed.extend(name.map(str::to_owned));
        self.problems.push(problem);
    }

    fn fail_with(&mut self, name: Option<&str>, value: &ValueTemplate, problem: Diagnostic) {
        let follows = value.mentions(&self.names, &self.failed);
        self.failed.extend(name.map(str::to_owned));
        if !follows {
            self.problems.push(problem);
        }
    }

    fn storage(&mut self, schema: &StorageSchema) -> Result<(), Diagnostic> {
        let dtype = dtype(&schema.dtype, &self.names)?;
        let value = self.evaluate(&schema.shape)?;
        let shape = shape(&value, schema.shape.span())?;
        // Storages are numbered in the order of their creation.
        let next = StorageId(u32::try_from(self.storages.len()).unwrap_or(u32::MAX));
        let laid_out = self.layout.and_then(|layout| layout.tensor(next, dtype, &shape));
        let extents = laid_out
            .as_ref()
            .map_or(&shape[..], |(_, elements)| std::slice::from_ref(elements));
        let bytes = extents
            .iter()
            .try_fold(dtype.size() as u64, |bytes, &size| {
                bytes.checked_mul(size.cast_unsigned())
            })
            .unwrap_or(if shape.contains(&0) { 0 } else { u64::MAX });
        let id = self
            .storages
            .add(schema.key.name.clone(), bytes)
            .map_err(|error| {
                Diagnostic::error("too-large", schema.shape.span(), error.to_string())
                    .help("make the shape smaller")
            })?;
        let fill = schema
            .fill
            .as_ref()
            .map_or_else(|| Ok("uninit".to_owned()), |fill| fill.describe(&self.names))?;
        let recorded = match &schema.fill {
            Some(Fill::Recorded(bytes)) => Some((bytes.source(&self.names, self.beside)?, [0; 32])),
            _ => None,
        };
        let tensor = laid_out.map_or_else(|| Tensor::contiguous(id, dtype, &shape), |(tensor, _)| tensor);
        self.names
            .insert(schema.key.name.clone(), Value::Tensor(tensor.clone()));
        self.tensors.push(NamedTensor {
            name: schema.key.name.clone(),
            tensor,
        });
        self.declared.push(Declared {
            dtype,
            shape,
            fill,
            recorded,
            span: schema.key.span,
        });
        Ok(())
    }

    /// Writes what can be written by now; `all` writes the rest, so that what is missing is reported.
    fn fill(&mut self, waiting: &mut Vec<&StorageSchema>, all: bool) {
        let mut later = Vec::new();
        for schema in waiting.drain(..) {
            let Some(fill) = &schema.fill else { continue };
            if !all && !fill.is_known(&self.names) {
                later.push(schema);
                continue;
            }
            let Some(Value::Tensor(tensor)) = self.names.get(&schema.key.name).cloned() else {
                continue;
            };
            let written = fill.write(&tensor, &self.names, &mut self.storages, self.beside);
            if let Err(problem) = written {
                let follows = fill.mentions(&self.names, &self.failed);
                if !follows {
                    self.problems.push(problem);
                }
            }
        }
        *waiting = later;
    }

    fn launch(&mut self, file: &CaseFile, schema: &LaunchSchema) -> Option<Launch> {
        let before = self.problems.len();
        let kernel = file
            .kernel(schema, &self.names)
            .map_err(|problem| self.problems.push(problem))
            .ok();
        let host = file
            .host(schema, &self.names)
            .map_err(|problem| self.problems.push(problem))
            .ok();
        let grid = match self
            .evaluate(&schema.grid)
            .and_then(|value| grid(&value, schema.grid.span()))
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
            .filter_map(|value| self.argument(value, schema.unchecked))
            .collect();
        let keyword = schema
            .keyword
            .iter()
            .filter_map(|(key, value)| Some((key.name.clone(), self.argument(value, schema.unchecked)?)))
            .collect();
        let options = schema
            .options
            .iter()
            .filter_map(|(key, value)| Some((key.name.clone(), self.arg(value)?.value)))
            .collect();
        let (kernel, host, (grid, grid_dims)) = (kernel?, host?, grid?);
        (self.problems.len() == before).then_some(Launch {
            kernel,
            grid,
            grid_dims,
            positional,
            keyword,
            options,
            host,
            unchecked: schema.unchecked,
            span: schema.span,
        })
    }

    fn argument(&mut self, schema: &ArgumentSchema, unchecked: bool) -> Option<Arg> {
        let descriptor = match schema {
            ArgumentSchema::Value(template) => return self.arg(template),
            ArgumentSchema::Global(template) => {
                let read = template
                    .render(&self.names)
                    .and_then(|name| global(&name, template.span));
                return read
                    .map_err(|problem| self.problems.push(problem))
                    .ok()
                    .map(|value| Arg {
                        value,
                        span: template.span,
                    });
            }
            ArgumentSchema::Constexpr(inner) => {
                let Arg { value, span } = self.argument(inner, unchecked)?;
                return Some(Arg {
                    value: ArgValue::Constexpr(Box::new(value)),
                    span,
                });
            }
            ArgumentSchema::Tuple(items, span) => {
                let read: Vec<_> = items.iter().map(|item| self.argument(item, unchecked)).collect();
                let items: Option<Vec<_>> = read.into_iter().map(|arg| Some(arg?.value)).collect();
                return Some(Arg {
                    value: ArgValue::Tuple(items?),
                    span: *span,
                });
            }
            ArgumentSchema::Descriptor(descriptor) => descriptor,
        };
        match self.descriptor(descriptor, unchecked) {
            Ok(value) => Some(Arg {
                value: ArgValue::Descriptor(Box::new(value)),
                span: descriptor.span,
            }),
            Err(problem) => {
                if !descriptor.mentions(&self.names, &self.failed) {
                    self.problems.push(problem);
                }
                None
            }
        }
    }

    fn descriptor(&mut self, schema: &DescriptorSchema, unchecked: bool) -> Result<Descriptor, Diagnostic> {
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
            integers(&value).ok_or_else(|| {
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
            Some(template) => padding(template, &self.names)?,
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
            name: schema.base.text(&self.names)?,
            shape: shape.unwrap_or_else(|| base.shape.to_vec()),
            strides: strides.unwrap_or_else(|| base.strides.to_vec()),
            base,
            block_shape,
            padding,
            round_f32_to_tf32,
        };
        match descriptor.fault(Version::NEWEST) {
            Some(fault) if !unchecked => Err(Diagnostic::error(
                "bad-descriptor",
                schema.span,
                format!("Triton makes no such descriptor: {fault}"),
            )
            .note("`unchecked: true` on the launch asks for it all the same")),
            _ => Ok(descriptor),
        }
    }

    fn arg(&mut self, template: &ValueTemplate) -> Option<Arg> {
        let read = self.evaluate(template).and_then(|value| {
            let tensors = matches!(value, Value::Tensor(_) | Value::Tuple(_) | Value::List(_));
            let name = if tensors {
                template.text(&self.names)?
            } else {
                String::new()
            };
            argument(value, &name, template.span())
        });
        match read {
            Ok(value) => Some(Arg {
                value,
                span: template.span(),
            }),
            Err(problem) => {
                self.fail_with(None, template, problem);
                None
            }
        }
    }
}

/// A name in the kernel's module.
fn global(name: &str, span: Span) -> Result<ArgValue, Diagnostic> {
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
            format!("`{name}` is no name in the kernel's module"),
        )
        .help("name a function of the kernel's file: `{ global: relu }`"))
    }
}

/// A hash of a storage's bytes that does not know where other storages are.
pub(crate) fn without_addresses(storage: &Storage) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut rest = 0;
    for pointer in storage.pointers() {
        hasher.update(storage.bytes().get(rest..pointer.offset).unwrap_or_default());
        hasher.update(&[0; 8]);
        rest = pointer.offset + 8;
    }
    hasher.update(storage.bytes().get(rest..).unwrap_or_default());
    *hasher.finalize().as_bytes()
}

fn argument(value: Value, name: &str, span: Span) -> Result<ArgValue, Diagnostic> {
    Ok(match value {
        Value::None => ArgValue::None,
        Value::Bool(value) => ArgValue::Bool(value),
        Value::Int(value) => ArgValue::Int(value),
        Value::Float(value) => ArgValue::Float(value),
        Value::Str(text) => ArgValue::Str(text),
        Value::DType(dtype) => ArgValue::DType(dtype),
        Value::Tensor(tensor) => ArgValue::Tensor {
            name: name.to_owned(),
            tensor: if is_planted(Fault::OffsetForgotten) {
                Tensor { offset: 0, ..tensor }
            } else {
                tensor
            },
        },
        Value::Tuple(items) | Value::List(items) => ArgValue::Tuple(
            items
                .into_iter()
                .map(|item| argument(item, name, span))
                .collect::<Result<_, _>>()?,
        ),
        Value::Address(_) => {
            return Err(Diagnostic::error("wrong-type", span, "an address as an argument")
                .help("pass the tensor itself, or a storage filled with `{ addresses: […] }`"));
        }
    })
}

/// Integers of any sign.
fn integers(value: &Value) -> Option<Vec<i64>> {
    items(value)?
        .iter()
        .map(|item| match item {
            Value::Int(number) => i64::try_from(*number).ok(),
            _ => None,
        })
        .collect()
}

/// A padding by its name at a point.
fn padding(template: &Template, names: &Names) -> Result<Padding, Diagnostic> {
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

/// A dtype by its name at a point.
fn dtype(template: &Template, names: &Names) -> Result<DType, Diagnostic> {
    let text = template.render(names)?;
    let text = text.trim();
    if let Some(name) = text.strip_prefix("torch.")
        && let Some(dtype) = DType::from_torch_name(name)
    {
        return Ok(dtype);
    }
    text.strip_prefix("tl.").unwrap_or(text).parse().map_err(|_| {
        let mut problem =
            Diagnostic::error("unknown-dtype", template.span, format!("unknown dtype `{text}`"));
        let known = DType::ALL
            .into_iter()
            .map(DType::name)
            .chain(DType::ALL.into_iter().map(DType::triton_name));
        problem.help = Some(match (DType::from_torch_name(text), nearest(text, known)) {
            (Some(torch), _) => format!("did you mean `{torch}`?"),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => format!(
                "there are {}",
                cerith_python::nearest::list(&DType::ALL.map(DType::name))
            ),
        });
        problem
    })
}

fn items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(items) | Value::Tuple(items) => Some(items),
        Value::Int(_) => Some(std::slice::from_ref(value)),
        _ => None,
    }
}

fn shape(value: &Value, span: Span) -> Result<Vec<i64>, Diagnostic> {
    let wrong = |message: String| {
        Diagnostic::error("bad-shape", span, message)
            .help("write a list of sizes, none of them negative: `[4, 6]`")
    };
    let sizes =
        items(value).ok_or_else(|| wrong(format!("a shape that is {value}, of type {}", value.kind())))?;
    if sizes.len() > MAX_DIMS {
        return Err(wrong(format!(
            "a shape of {} dimensions, more than {MAX_DIMS}",
            sizes.len()
        )));
    }
    sizes
        .iter()
        .map(|size| match size {
            Value::Int(size) => i64::try_from(*size).ok().filter(|&size| size >= 0),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or_else(|| wrong(format!("a shape that is {value}")))
}

fn grid(value: &Value, span: Span) -> Result<([u32; 3], u8), Diagnostic> {
    let wrong = |message: String| {
        Diagnostic::error("bad-grid", span, message)
            .help("write one to three numbers of programs: `[4]`, `[4, 2]`")
    };
    let sizes =
        items(value).ok_or_else(|| wrong(format!("a grid that is {value}, of type {}", value.kind())))?;
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
