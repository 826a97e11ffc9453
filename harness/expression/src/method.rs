//! Attributes and methods of tensors.

use std::ops::Range;

use cerith_memory::{Storages, Tensor, TorchError};

use crate::arguments::{Argument, Arguments, reject_unknown};
use crate::error::ExprError;
use crate::value::{Address, Value};
use crate::work::Work;

/// The attributes of a tensor.
const ATTRIBUTES: [&str; 9] = ["H", "T", "data", "dtype", "itemsize", "mH", "mT", "ndim", "shape"];

/// The methods of a tensor.
pub(crate) const METHODS: [&str; 48] = [
    "adjoint",
    "as_strided",
    "broadcast_to",
    "chunk",
    "clone",
    "contiguous",
    "cpu",
    "data_ptr",
    "detach",
    "diagonal",
    "dim",
    "element_size",
    "expand",
    "expand_as",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "is_contiguous",
    "is_floating_point",
    "is_signed",
    "moveaxis",
    "movedim",
    "narrow",
    "ndimension",
    "nelement",
    "numel",
    "permute",
    "ravel",
    "repeat",
    "reshape",
    "reshape_as",
    "select",
    "size",
    "split",
    "split_with_sizes",
    "squeeze",
    "storage_offset",
    "stride",
    "swapaxes",
    "swapdims",
    "t",
    "tensor_split",
    "transpose",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
];

/// `view` and `view_as` apart, since the first is two functions in one.
const VIEWS: [&str; 2] = ["view", "view_as"];

pub(crate) fn is_method(name: &str) -> bool {
    METHODS.contains(&name) || VIEWS.contains(&name)
}

fn to_tuple(items: &[i64]) -> Value {
    Value::Tuple(items.iter().map(|&item| to_int(item)).collect())
}

fn to_int(value: impl Into<i128>) -> Value {
    Value::Int(value.into())
}

/// `object.name`, for all but modules.
pub(crate) fn read_attribute(
    object: &Value,
    name: &str,
    range: &Range<usize>,
    at: &Range<usize>,
) -> Result<Value, ExprError> {
    let tensor = match object {
        Value::Tensor(tensor) => tensor,
        Value::DType(dtype) => {
            return match name {
                "itemsize" => Ok(to_int(dtype.size() as i64)),
                "is_floating_point" => Ok(Value::Bool(dtype.is_float())),
                "is_signed" => Ok(Value::Bool(!dtype.is_unsigned_int())),
                "primitive_bitwidth" => Ok(to_int(dtype.bits())),
                _ => Err(reject_unknown(
                    at.clone(),
                    format!("a dtype has no attribute `{name}`"),
                    name,
                    &["itemsize", "is_floating_point", "is_signed", "primitive_bitwidth"],
                )),
            };
        }
        other => {
            return Err(ExprError::new(
                at.clone(),
                format!("{} has no attribute `{name}`", other.describe()),
            ));
        }
    };
    let torch = |result: Result<Tensor, TorchError>| {
        result
            .map(Value::Tensor)
            .map_err(|error| ExprError::of_torch(range, &error))
    };
    match name {
        "T" => Ok(Value::Tensor(tensor.reversed())),
        "mT" | "mH" => torch(tensor.matrix_transpose(name)),
        "H" if tensor.dim() == 0 || tensor.dim() == 2 => Ok(Value::Tensor(tensor.reversed())),
        "H" => {
            let dims = tensor.dim();
            let batches = if dims == 1 {
                ""
            } else {
                " For batches of matrices, consider using tensor.mH"
            };
            torch(Err(TorchError::Runtime(format!(
                "tensor.H is only supported on matrices (2-D tensors). Got {dims}-D tensor.{batches}"
            ))))
        }
        "data" => Ok(object.clone()),
        "dtype" => Ok(Value::DType(tensor.dtype)),
        "itemsize" => Ok(to_int(tensor.element_size() as i64)),
        "ndim" => Ok(to_int(tensor.dim() as i64)),
        "shape" => Ok(to_tuple(&tensor.shape)),
        _ if is_method(name) => Err(ExprError::new(at.clone(), format!("`{name}` is a method"))
            .help(Some(format!("call it: `{name}()`")))),
        _ => {
            let known = [&ATTRIBUTES[..], &METHODS[..], &VIEWS[..]].concat();
            Err(reject_unknown(
                at.clone(),
                format!("a tensor has no attribute `{name}`"),
                name,
                &known,
            ))
        }
    }
}

/// Methods that ask something of a tensor.
const QUERIES: [&str; 12] = [
    "data_ptr",
    "dim",
    "element_size",
    "is_contiguous",
    "is_floating_point",
    "is_signed",
    "ndimension",
    "nelement",
    "numel",
    "size",
    "storage_offset",
    "stride",
];

/// The result of a query.
fn query(tensor: &Tensor, name: &str, arguments: Arguments) -> Result<Value, ExprError> {
    if name == "size" || name == "stride" {
        return read_extent(tensor, name, arguments);
    }
    let [] = arguments.bind([])?;
    Ok(match name {
        "dim" | "ndimension" => to_int(tensor.dim() as i64),
        "numel" | "nelement" => to_int(tensor.numel()),
        "storage_offset" => to_int(tensor.offset),
        "element_size" => to_int(tensor.element_size() as i64),
        "is_contiguous" => Value::Bool(tensor.is_contiguous()),
        "is_floating_point" => Value::Bool(tensor.dtype.is_float()),
        "is_signed" => Value::Bool(!tensor.dtype.is_unsigned_int()),
        _ => Value::Address(Address {
            storage: tensor.storage,
            offset: tensor.byte_offset(),
        }),
    })
}

/// `x.size()` and `x.stride()`, of all dimensions or of one.
fn read_extent(tensor: &Tensor, name: &str, arguments: Arguments) -> Result<Value, ExprError> {
    let range = arguments.range.clone();
    let [dim] = arguments.bind(["dim"])?;
    let of_all = if name == "size" {
        &tensor.shape
    } else {
        &tensor.strides
    };
    match dim.into_argument() {
        None
        | Some(Argument {
            value: Value::None, ..
        }) => Ok(to_tuple(of_all)),
        Some(dim) => {
            let dim = dim.int()?;
            if name == "size" {
                tensor.size(dim)
            } else {
                tensor.stride(dim)
            }
            .map(to_int)
            .map_err(|error| ExprError::of_torch(&range, &error))
        }
    }
}

/// `object.name(…)`, for all but modules.
pub(crate) fn call(
    work: &mut Work<'_>,
    object: &Value,
    name: &str,
    at: &Range<usize>,
    arguments: Arguments,
) -> Result<Value, ExprError> {
    let Value::Tensor(tensor) = object else {
        return Err(ExprError::new(
            at.clone(),
            format!("{} has no method `{name}`", object.describe()),
        ));
    };
    let range = arguments.range.clone();
    let fails = |error: TorchError| ExprError::of_torch(&range, &error);
    if QUERIES.contains(&name) {
        return query(tensor, name, arguments);
    }
    // Operations that give several tensors return; what is left gives one tensor.
    let result = match name {
        "split" | "split_with_sizes" | "chunk" | "unbind" | "tensor_split" => {
            let pieces = split_tensor(tensor, name, arguments)?.map_err(fails)?;
            work.spend(pieces.len(), &range)?;
            return Ok(Value::Tuple(pieces.into_iter().map(Value::Tensor).collect()));
        }
        "clone" | "contiguous" | "cpu" | "reshape" | "reshape_as" | "flatten" | "ravel" | "repeat"
        | "flip" | "fliplr" | "flipud" => {
            let text = work.name_of(&range);
            copy_tensor(work.storages(), tensor, name, arguments, &text)?
        }
        "detach" => {
            let [] = arguments.bind([])?;
            Ok(tensor.clone())
        }
        "t" => {
            let [] = arguments.bind([])?;
            tensor.t()
        }
        "adjoint" => {
            let [] = arguments.bind([])?;
            tensor.matrix_transpose("adjoint()")
        }
        "transpose" | "swapaxes" | "swapdims" => {
            let names = if name == "swapaxes" {
                ["axis0", "axis1"]
            } else {
                ["dim0", "dim1"]
            };
            let [dim0, dim1] = arguments.bind(names)?;
            tensor.transpose(dim0.int()?, dim1.int()?)
        }
        "permute" => tensor.permute(&arguments.into_sizes("dims")?),
        "movedim" | "moveaxis" => {
            let [source, destination] = arguments.bind(["source", "destination"])?;
            tensor.movedim(&source.required()?.ints()?, &destination.required()?.ints()?)
        }
        "expand" | "broadcast_to" => tensor.expand(&arguments.into_sizes("size")?),
        "expand_as" => {
            let [other] = arguments.bind(["other"])?;
            tensor.expand(&other.required()?.tensor()?.shape)
        }
        "squeeze" => {
            let [dim] = arguments.bind(["dim"])?;
            match dim.into_argument() {
                Some(dims) => tensor.squeeze_dims(&dims.ints()?),
                None => Ok(tensor.squeeze()),
            }
        }
        "unsqueeze" => {
            let [dim] = arguments.bind(["dim"])?;
            tensor.unsqueeze(dim.int()?)
        }
        "diagonal" => {
            let [offset, dim1, dim2] = arguments.bind(["offset", "dim1", "dim2"])?;
            tensor.diagonal(offset.int_or(0)?, dim1.int_or(0)?, dim2.int_or(1)?)
        }
        "narrow" => {
            let [dim, start, length] = arguments.bind(["dim", "start", "length"])?;
            tensor.narrow(dim.int()?, start.int()?, length.int()?)
        }
        "select" => {
            let [dim, index] = arguments.bind(["dim", "index"])?;
            tensor.select(dim.int()?, index.int()?)
        }
        "unfold" => {
            let [dimension, size, step] = arguments.bind(["dimension", "size", "step"])?;
            tensor.unfold(dimension.int()?, size.int()?, step.int()?)
        }
        "unflatten" => {
            let [dim, sizes] = arguments.bind(["dim", "sizes"])?;
            tensor.unflatten(dim.int()?, &sizes.required()?.ints()?)
        }
        "as_strided" => {
            let [size, stride, offset] = arguments.bind(["size", "stride", "storage_offset"])?;
            let (size, stride) = (size.required()?.ints()?, stride.required()?.ints()?);
            let offset = match offset.into_argument() {
                None
                | Some(Argument {
                    value: Value::None, ..
                }) => None,
                Some(offset) => Some(offset.int()?),
            };
            let bytes = work.storages().size(tensor.storage);
            tensor.as_strided(&size, &stride, offset, bytes)
        }
        "view" => view(tensor, arguments)?,
        "view_as" => {
            let [other] = arguments.bind(["other"])?;
            tensor.view(&other.required()?.tensor()?.shape)
        }
        _ if ATTRIBUTES.contains(&name) => {
            return Err(ExprError::new(
                at.clone(),
                format!("`{name}` is an attribute, not a method"),
            ));
        }
        _ => {
            let known = [&METHODS[..], &VIEWS[..]].concat();
            return Err(reject_unknown(
                at.clone(),
                format!("a tensor has no method `{name}`"),
                name,
                &known,
            ));
        }
    };
    result.map(Value::Tensor).map_err(fails)
}

/// `x.view(shape)` or `x.view(dtype)`.
fn view(tensor: &Tensor, arguments: Arguments) -> Result<Result<Tensor, TorchError>, ExprError> {
    let by_dtype = match (&arguments.positional[..], &arguments.keywords[..]) {
        ([only], []) => matches!(only.value, Value::DType(_) | Value::Str(_)),
        ([], [(keyword, _)]) => keyword == "dtype",
        _ => false,
    };
    if !by_dtype {
        return Ok(tensor.view(&arguments.into_sizes("size")?));
    }
    let [dtype] = arguments.bind(["dtype"])?;
    Ok(tensor.view_dtype(dtype.required()?.dtype()?))
}

/// The methods that give several tensors.
fn split_tensor(
    tensor: &Tensor,
    name: &str,
    arguments: Arguments,
) -> Result<Result<Vec<Tensor>, TorchError>, ExprError> {
    Ok(match name {
        "chunk" => {
            let [chunks, dim] = arguments.bind(["chunks", "dim"])?;
            tensor.chunk(chunks.int()?, dim.int_or(0)?)
        }
        "unbind" => {
            let [dim] = arguments.bind(["dim"])?;
            tensor.unbind(dim.int_or(0)?)
        }
        "tensor_split" => {
            let [by, dim] = arguments.bind(["indices_or_sections", "dim"])?;
            let (by, dim) = (by.required()?, dim.int_or(0)?);
            if by.is_sequence() {
                tensor.tensor_split_at(&by.ints()?, dim)
            } else {
                tensor.tensor_split(by.int()?, dim)
            }
        }
        _ => {
            let first = if name == "split" {
                "split_size"
            } else {
                "split_sizes"
            };
            let [by, dim] = arguments.bind([first, "dim"])?;
            let (by, dim) = (by.required()?, dim.int_or(0)?);
            if by.is_sequence() || name == "split_with_sizes" {
                tensor.split_with_sizes(&by.ints()?, dim)
            } else {
                tensor.split(by.int()?, dim)
            }
        }
    })
}

/// The methods that copy, or may. `text` names the copy.
fn copy_tensor(
    storages: &mut Storages,
    tensor: &Tensor,
    name: &str,
    arguments: Arguments,
    text: &str,
) -> Result<Result<Tensor, TorchError>, ExprError> {
    Ok(match name {
        "reshape" => storages.reshape(tensor, &arguments.into_sizes("shape")?, text),
        "reshape_as" => {
            let [other] = arguments.bind(["other"])?;
            storages.reshape(tensor, &other.required()?.tensor()?.shape, text)
        }
        "flatten" => {
            let [start, end] = arguments.bind(["start_dim", "end_dim"])?;
            storages.flatten(tensor, start.int_or(0)?, end.int_or(-1)?, text)
        }
        "repeat" => storages.repeat(tensor, &arguments.into_sizes("repeats")?, text),
        "flip" => storages.flip(tensor, &arguments.into_sizes("dims")?, text),
        _ => {
            let [] = arguments.bind([])?;
            match name {
                "clone" | "cpu" => storages.clone_tensor(tensor, text),
                "contiguous" => storages.contiguous(tensor, text),
                "fliplr" if tensor.dim() < 2 => Err(TorchError::Runtime("Input must be >= 2-d.".to_owned())),
                "flipud" if tensor.dim() < 1 => Err(TorchError::Runtime("Input must be >= 1-d.".to_owned())),
                "fliplr" => storages.flip(tensor, &[1], text),
                "flipud" => storages.flip(tensor, &[0], text),
                _ => storages.ravel(tensor, text),
            }
        }
    })
}
