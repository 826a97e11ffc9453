//! Resolves storages and named tensors at one point of the matrix, with their first contents. See `fill` for the
//! contents themselves.

use cerith_memory::{NamedTensor, Storage, StorageId, Tensor};
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use super::state::{Resolver, as_items};
use crate::case::Declared;
use crate::fill::Fill;
use crate::schema::StorageSchema;
use crate::template::{Template, ValueTemplate};
use crate::yaml::Key;
use cerith_expression::{Names, Value};
use cerith_python::nearest::find_nearest;

/// More dimensions than torch has.
const MAX_DIMS: usize = 64;

impl Resolver<'_> {
    pub(super) fn resolve_storage(&mut self, schema: &StorageSchema) -> Result<(), Diagnostic> {
        let dtype = parse_dtype(&schema.dtype, &self.names)?;
        let value = self.evaluate(&schema.shape)?;
        let shape = parse_shape(&value, schema.shape.span())?;
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
        let name = schema.key.name.clone();
        let added = if self.storages.fits(bytes) {
            self.storages.add(name, bytes)
        } else {
            self.storages.add_sparse(name, bytes)
        };
        let id = added.map_err(|error| {
            Diagnostic::error("too-large", schema.shape.span(), error.to_string())
                .help("make the shape smaller")
        })?;
        let fill = schema
            .fill
            .as_ref()
            .map_or_else(|| Ok("uninit".to_owned()), |fill| fill.describe(&self.names))?;
        let recorded = match &schema.fill {
            Some(Fill::RecordedRun(bytes)) => {
                Some((bytes.find_source(&self.names, self.archive_lookup)?, [0; 32]))
            }
            _ => None,
        };
        let tensor = laid_out.map_or_else(|| Tensor::new_contiguous(id, dtype, &shape), |(tensor, _)| tensor);
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

    /// Makes a tensor of a name; false with a problem when there is none.
    pub(super) fn resolve_tensor(&mut self, key: &Key, value: &ValueTemplate) -> bool {
        match self.evaluate(value) {
            Ok(Value::Tensor(tensor)) => {
                self.names.insert(key.name.clone(), Value::Tensor(tensor.clone()));
                self.tensors.push(NamedTensor {
                    name: key.name.clone(),
                    tensor,
                });
                return true;
            }
            Ok(other) => {
                let problem = Diagnostic::error(
                    "wrong-type",
                    value.span(),
                    format!("tensor `{}` is {other}, of type {}", key.name, other.kind()),
                )
                .help("write an expression that gives a tensor");
                self.fail(Some(&key.name), problem);
            }
            Err(problem) => self.fail_with(Some(&key.name), value, problem),
        }
        false
    }

    /// Writes what can be written by now; `all` writes the rest, so that what is missing is reported.
    pub(super) fn write_fills(&mut self, waiting: &mut Vec<&StorageSchema>, all: bool) {
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
            let written = if self.storages.get(tensor.storage).is_some_and(Storage::is_sparse) {
                fill.write_sparse(&tensor, &self.names, &mut self.storages, schema.key.span)
            } else {
                fill.write(&tensor, &self.names, &mut self.storages, self.archive_lookup)
            };
            if let Err(problem) = written {
                let follows = fill.mentions_any(&self.names, &self.failed);
                if !follows {
                    self.problems.push(problem);
                }
            }
        }
        *waiting = later;
    }
}

/// A hash of a storage's bytes that does not depend on the addresses of other storages.
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

/// A dtype by its name at a point.
fn parse_dtype(template: &Template, names: &Names) -> Result<DType, Diagnostic> {
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
        problem.help = Some(match (DType::from_torch_name(text), find_nearest(text, known)) {
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

fn parse_shape(value: &Value, span: Span) -> Result<Vec<i64>, Diagnostic> {
    let wrong = |message: String| {
        Diagnostic::error("bad-shape", span, message)
            .help("write a list of sizes, none of them negative: `[4, 6]`")
    };
    let sizes =
        as_items(value).ok_or_else(|| wrong(format!("a shape that is {value}, of type {}", value.kind())))?;
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
