//! Attributes and methods, those of tensors above all.

use std::collections::BTreeMap;
use std::rc::Rc;

use ruff_python_ast::{Expr, Stmt};

use super::arguments::Arguments;
use super::machine::{Eval, Machine};
use super::plan::Kind;
use super::tensor::{Fill, Tensor};
use super::value::{Dtype, Number, Value};
use super::view::{ELEMENTS, kernel_attribute, stride_of};

/// Attributes and methods that only tensors have: a parameter with one of them is a tensor.
const OF_TENSORS: [&str; 62] = [
    "T",
    "amax",
    "bfloat16",
    "chunk",
    "clone",
    "contiguous",
    "copy_",
    "cpu",
    "cuda",
    "data",
    "data_ptr",
    "detach",
    "device",
    "dim",
    "dtype",
    "element_size",
    "expand",
    "fill_",
    "flatten",
    "float",
    "grad",
    "half",
    "is_contiguous",
    "is_cpu",
    "is_cuda",
    "is_floating_point",
    "is_sparse",
    "itemsize",
    "item",
    "long",
    "mT",
    "mean",
    "movedim",
    "nbytes",
    "ndim",
    "ndimension",
    "nelement",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "numel",
    "permute",
    "repeat",
    "requires_grad",
    "reshape",
    "shape",
    "size",
    "split",
    "squeeze",
    "storage_offset",
    "stride",
    "sum",
    "t",
    "to",
    "transpose",
    "type",
    "unbind",
    "unsqueeze",
    "view",
    "view_as",
    "zero_",
];

/// Methods that compute a tensor of the same shape.
const SAME_SHAPE: [&str; 40] = [
    "abs",
    "add",
    "bitwise_not",
    "ceil",
    "clamp",
    "clamp_min",
    "clone",
    "cos",
    "cumsum",
    "div",
    "eq",
    "exp",
    "floor",
    "ge",
    "gt",
    "le",
    "log",
    "logical_not",
    "lt",
    "masked_fill",
    "mul",
    "ne",
    "neg",
    "pow",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "sqrt",
    "square",
    "sub",
    "tanh",
    "tril",
    "triu",
    "nan_to_num",
];

impl<'a> Machine<'a> {
    pub fn attribute(&mut self, object: Value<'a>, name: &str) -> Eval<'a> {
        Ok(match &object {
            Value::Unknown(reason) => Value::Unknown(reason.clone()),
            Value::Module(path) => super::value::module_value(&format!("{path}.{name}")),
            Value::Device => match name {
                "type" => Value::str("cuda"),
                "index" => Value::int(0),
                _ => Value::unknown("an attribute of a device"),
            },
            Value::Dtype(dtype, _) => match name {
                "itemsize" => Value::int(dtype.bytes()),
                "is_floating_point" => Value::bool(dtype.is_float()),
                "primitive_bitwidth" => Value::int(dtype.bytes() * 8),
                _ => Value::unknown(format!("the attribute `{name}` of a dtype")),
            },
            Value::Input(input) => {
                if self.plan.kind(*input) == Some(&Kind::Undecided) && OF_TENSORS.contains(&name) {
                    return match self.input_tensor(*input) {
                        Some(tensor) => self.attribute(Value::Tensor(tensor), name),
                        None => Ok(Value::unknown("an input of too many elements")),
                    };
                }
                self.input_field(*input, name)?
            }
            Value::Object(fields) => {
                let known = fields.borrow().get(name).cloned();
                let known = match known {
                    Some(known) => Some(known),
                    None => self.instance_attribute(&object, name)?,
                };
                match (known, name) {
                    (Some(known), _) => known,
                    (None, "needs_input_grad") => Value::list(vec![Value::bool(true); 24]),
                    (None, "saved_tensors") => Value::unknown("tensors that were saved elsewhere"),
                    _ => Value::Method(Rc::new((object.clone(), name.to_owned()))),
                }
            }
            Value::Class(class) => {
                let is_name =
                    |target: &Expr| target.as_name_expr().is_some_and(|one| one.id.as_str() == name);
                let found = class.body.iter().find(|stmt| match stmt {
                    Stmt::FunctionDef(def) => def.name.as_str() == name,
                    Stmt::Assign(assign) => assign.targets.iter().any(is_name),
                    _ => false,
                });
                match found {
                    Some(Stmt::FunctionDef(def)) => self.function_value(def, None),
                    // A member of an enumeration, for example.
                    Some(Stmt::Assign(assign)) => {
                        let scope = self.enter(&class.name, None)?;
                        let value = self.eval(&assign.value, &scope);
                        self.leave();
                        value?
                    }
                    _ if name == "apply" => Value::Method(Rc::new((object.clone(), name.to_owned()))),
                    _ => Value::unknown(format!("the attribute `{name}` of a class")),
                }
            }
            Value::Tensor(tensor) => {
                let tensor = tensor.clone();
                if name == "ndim" {
                    return self.rank_of(&tensor);
                }
                self.property(&tensor, name)
            }
            Value::Kernel(_) => kernel_attribute(object, name),
            // The named results of `torch.sort` and others.
            Value::Tuple(values, None) if values.len() == 2 && matches!(name, "values" | "indices") => {
                let at = usize::from(name == "indices");
                values.get(at).cloned().unwrap_or(Value::NONE)
            }
            // The value of a `tl.constexpr`.
            Value::Int(_) | Value::Bool(..) | Value::Float(_) | Value::Str(..) if name == "value" => object,
            _ => Value::Method(Rc::new((object.clone(), name.to_owned()))),
        })
    }

    fn property(&mut self, tensor: &Tensor, name: &str) -> Value<'a> {
        match name {
            "shape" => self.shape_of(tensor),
            "dtype" => Value::Dtype(tensor.dtype.clone(), tensor.input),
            "device" => Value::Device,
            "is_cpu" | "is_sparse" | "is_xpu" | "is_quantized" | "is_meta" | "is_complex" => {
                Value::bool(false)
            }
            "is_cuda" | "requires_grad" | "is_leaf" => Value::bool(true),
            "grad" => Value::NONE,
            "itemsize" => Value::int(tensor.dtype.bytes()),
            "data" => Value::Tensor(tensor.clone()),
            "T" | "mT" | "H" | "mH" => {
                let rank = tensor.shape.len();
                let flipped = if name == "mT" || name == "mH" {
                    tensor.transpose(-1, -2)
                } else {
                    tensor.permute(&(0..rank).rev().collect::<Vec<_>>())
                };
                flipped.map_or_else(|| Value::unknown("a transposed vector"), Value::Tensor)
            }
            _ => Value::Method(Rc::new((Value::Tensor(tensor.clone()), name.to_owned()))),
        }
    }

    fn shape_of(&mut self, tensor: &Tensor) -> Value<'a> {
        if let (None, Some(base)) = (tensor.input, tensor.base) {
            let rank = tensor.shape.len();
            self.spread = Some((base, rank));
            self.observed.extend((0..rank).map(|dim| (base, dim)));
        }
        let sizes = tensor.shape.iter().map(|size| Value::Int(*size)).collect();
        Value::Tuple(Rc::new(sizes), tensor.input)
    }

    /// An attribute of an object that a caller passes: an input of its own.
    #[expect(clippy::unnecessary_wraps, reason = "as other attributes")]
    pub fn input_field(&mut self, input: usize, name: &str) -> Eval<'a> {
        if let Some(class) = self.class_of(input)
            && let Some(def) = class.body.iter().find_map(|stmt| match stmt {
                Stmt::FunctionDef(def) if def.name.as_str() == name => Some(def),
                _ => None,
            })
        {
            return Ok(match self.function_value(def, None) {
                closure @ Value::Closure(_) => Value::Method(Rc::new((
                    Value::tuple(vec![closure, Value::Input(input)]),
                    "bound".to_owned(),
                ))),
                other => other,
            });
        }
        let fields = match self.plan.kind(input) {
            Some(Kind::Object(fields)) => fields.clone(),
            Some(Kind::Undecided) => BTreeMap::new(),
            _ => return Ok(Value::unknown(format!("the attribute `{name}`"))),
        };
        let field = if let Some(field) = fields.get(name) {
            *field
        } else {
            let Some(field) = self.add_part(input, name) else {
                return Ok(Value::unknown("an object with too many attributes"));
            };
            let mut fields = fields;
            fields.insert(name.to_owned(), field);
            if let Some(one) = self.plan.inputs.get_mut(input) {
                one.kind = Kind::Object(fields);
            }
            field
        };
        Ok(self.input(field))
    }

    /// A method of a tensor.
    pub fn tensor_method(&mut self, tensor: &Tensor, name: &str, args: &Arguments<'a>) -> Eval<'a> {
        let found =
            |view: Option<Tensor>, what: &str| view.map_or_else(|| Value::unknown(what), Value::Tensor);
        let dim_at = |at: usize, or: i64| {
            args.get(at, "dim")
                .and_then(|dim| dim.number())
                .map_or(or, |dim| dim.value)
        };
        // Sizes one by one, or as a tuple.
        let sizes = || match args.positional.first() {
            Some(first) if args.positional.len() == 1 => first.numbers(),
            Some(_) => args.positional.iter().map(Value::number).collect(),
            None => args
                .keyword("size")
                .or(args.keyword("shape"))
                .or(args.keyword("dims"))
                .and_then(|all| all.numbers()),
        };
        if let Some(reason) = args.positional.iter().find_map(Value::reason) {
            return Ok(Value::unknown(reason));
        }
        let is_whole = args.positional.is_empty() && args.keywords.is_empty();
        if is_whole && let Some(known) = self.reduce_known(tensor, name) {
            return Ok(known);
        }
        if is_whole && let Some(part) = self.nested_part(tensor, name) {
            return Ok(part);
        }
        Ok(match name {
            "size" => match args.get(0, "dim") {
                None => self.shape_of(tensor),
                Some(dim) => {
                    let shape = self.shape_of(tensor);
                    self.subscript(&shape, dim)?
                }
            },
            "stride" => match args.get(0, "dim") {
                None => {
                    if let Some(base) = tensor.input.or(tensor.base) {
                        self.spread = Some((base, tensor.strides.len()));
                    }
                    Value::tuple(
                        (0..tensor.strides.len())
                            .map(|dim| stride_of(tensor, dim))
                            .collect(),
                    )
                }
                Some(Value::Int(dim)) => {
                    if let Some(input) = tensor.input {
                        let from_end = dim.value < 0;
                        let needed = if from_end {
                            dim.value.saturating_neg()
                        } else {
                            dim.value.saturating_add(1)
                        };
                        self.need_rank(input, needed, from_end)?;
                    }
                    tensor.dim(dim.value).map_or_else(
                        || Value::unknown("a stride past the last"),
                        |dim| stride_of(tensor, dim),
                    )
                }
                Some(_) => Value::unknown("a stride of an unknown dimension"),
            },
            "numel" | "nelement" => {
                if let Some(input) = tensor.input {
                    self.observed
                        .extend((0..tensor.shape.len()).map(|dim| (input, dim)));
                }
                Value::Int(tensor.numel())
            }
            "dim" | "ndimension" => self.rank_of(tensor)?,
            "element_size" => Value::int(tensor.dtype.bytes()),
            "storage_offset" => Value::int(tensor.offset),
            "is_floating_point" => Value::bool(tensor.dtype.is_float()),
            "is_contiguous" => Value::bool(tensor.is_contiguous()),
            "data_ptr" => Value::unknown("an address"),
            "get_device" => Value::int(0),
            "contiguous" => {
                if tensor.is_contiguous() {
                    Value::Tensor(tensor.clone())
                } else {
                    self.copy(tensor, None)
                }
            }
            "cuda" | "detach" | "requires_grad_" | "cpu" | "to_device" | "alias" => {
                Value::Tensor(tensor.clone())
            }
            "clone" => self.copy(tensor, None),
            "to" | "type" => {
                let dtype =
                    args.positional
                        .iter()
                        .chain(args.keyword_values())
                        .find_map(|value| match value {
                            Value::Dtype(dtype, _) => Some(dtype.clone()),
                            Value::Tensor(other) => Some(other.dtype.clone()),
                            _ => None,
                        });
                match dtype {
                    Some(dtype) if dtype.name != tensor.dtype.name => self.copy(tensor, Some(dtype)),
                    _ => Value::Tensor(tensor.clone()),
                }
            }
            "float" | "half" | "bfloat16" | "double" | "int" | "long" | "bool" | "short" => {
                match Dtype::find(name, false) {
                    Some(dtype) if dtype.name != tensor.dtype.name => self.copy(tensor, Some(dtype)),
                    _ => Value::Tensor(tensor.clone()),
                }
            }
            "view" | "reshape" | "view_as" | "reshape_as" => {
                if let Some(Value::Dtype(dtype, _)) = args.positional.first() {
                    return Ok(self.view_dtype(tensor, dtype));
                }
                let shape = match args.positional.first() {
                    Some(Value::Tensor(other)) => Some(other.shape.clone()),
                    _ => sizes(),
                };
                let Some(shape) = shape else {
                    return Ok(Value::unknown("a view of unknown sizes"));
                };
                let Some(shape) = tensor.complete(&shape) else {
                    self.fit_view(tensor, &shape)?;
                    return self.raise("a view of other elements");
                };
                match tensor.view(&shape) {
                    Some(view) => Value::Tensor(view),
                    None if name.starts_with("reshape") => match self.copy(tensor, None) {
                        Value::Tensor(copy) => found(copy.view(&shape), "a view"),
                        other => other,
                    },
                    None => return self.raise("a view that strides do not allow"),
                }
            }
            "flatten" | "ravel" => {
                let rank = tensor.shape.len() as i64;
                let (start, end) = (
                    dim_at(0, 0),
                    args.get(1, "end_dim")
                        .and_then(|end| end.number())
                        .map_or(-1, |end| end.value),
                );
                let (start, end) = (
                    if start < 0 { start + rank } else { start },
                    if end < 0 { end + rank } else { end },
                );
                let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else {
                    return Ok(Value::unknown("a flattened scalar"));
                };
                let merged = tensor.shape.get(start..=end.max(start)).unwrap_or_default();
                let part = Tensor {
                    shape: merged.to_vec(),
                    ..tensor.clone()
                };
                let mut shape: Vec<Number> = tensor.shape.iter().take(start).copied().collect();
                shape.push(part.numel());
                shape.extend(tensor.shape.iter().skip(end.max(start) + 1));
                match tensor.view(&shape) {
                    Some(view) => Value::Tensor(view),
                    None => match self.copy(tensor, None) {
                        Value::Tensor(copy) => found(copy.view(&shape), "a view"),
                        other => other,
                    },
                }
            }
            "t" => found(
                if tensor.shape.len() < 2 {
                    Some(tensor.clone())
                } else {
                    tensor.transpose(0, 1)
                },
                "t",
            ),
            "transpose" | "swapaxes" | "swapdims" => {
                let pair = (args.get(0, "dim0"), args.get(1, "dim1"));
                let (Some(Value::Int(a)), Some(Value::Int(b))) = pair else {
                    return Ok(Value::unknown("a transposed tensor"));
                };
                if let Some(input) = tensor.input {
                    let needed = [a.value, b.value].map(|dim| {
                        if dim < 0 {
                            dim.saturating_neg()
                        } else {
                            dim.saturating_add(1)
                        }
                    });
                    self.need_rank(input, needed.into_iter().max().unwrap_or(1), false)?;
                }
                found(
                    tensor.transpose(a.value, b.value),
                    "a dimension that a tensor does not have",
                )
            }
            "permute" => {
                let Some(order) = sizes() else {
                    return Ok(Value::unknown("a permuted tensor"));
                };
                if let Some(input) = tensor.input
                    && order.len() != tensor.shape.len()
                {
                    self.need_rank(input, order.len() as i64, false)?;
                }
                let order: Option<Vec<usize>> = order.iter().map(|dim| tensor.dim(dim.value)).collect();
                found(
                    order.and_then(|order| tensor.permute(&order)),
                    "a permuted tensor",
                )
            }
            "unsqueeze" => found(tensor.unsqueeze(dim_at(0, 0)), "unsqueeze"),
            "squeeze" => {
                let dim = args
                    .get(0, "dim")
                    .and_then(|dim| dim.number())
                    .map(|dim| dim.value);
                found(tensor.squeeze(dim), "squeeze")
            }
            "expand" | "broadcast_to" => found(sizes().and_then(|sizes| tensor.expand(&sizes)), "expand"),
            "expand_as" => match args.positional.first() {
                Some(Value::Tensor(other)) => found(tensor.expand(&other.shape), "expand_as"),
                _ => Value::unknown("expand_as"),
            },
            "chunk" | "split" | "unbind" => {
                let dim = args
                    .get(usize::from(name != "unbind"), "dim")
                    .and_then(|dim| dim.number());
                let dim = dim.map_or(0, |dim| dim.value);
                let count = args
                    .positional
                    .first()
                    .and_then(Value::number)
                    .map(|count| count.value);
                if let ("chunk", Some(count), Some(at)) = (name, count, tensor.dim(dim))
                    && let Some(size) = tensor.shape.get(at)
                {
                    // Parts of different sizes are not what callers mean.
                    self.divide_evenly(*size, Number::plain(count), true)?;
                }
                self.split(tensor, name, count, dim)
            }
            "narrow" => {
                let numbers: Option<Vec<Number>> = args.positional.iter().map(Value::number).collect();
                let Some([dim, start, length]) = numbers.as_deref() else {
                    return Ok(Value::unknown("narrow"));
                };
                let upper = Number::computed(
                    start.value.saturating_add(length.value),
                    start.sizes | length.sizes,
                );
                let slice = super::value::Slice {
                    lower: Some(*start),
                    upper: Some(upper),
                    step: 1,
                };
                found(
                    tensor.dim(dim.value).and_then(|dim| tensor.slice(dim, &slice)),
                    "narrow",
                )
            }
            "select" => {
                let index = args.get(1, "index").and_then(|index| index.number());
                let view = tensor.dim(dim_at(0, 0)).zip(index);
                found(
                    view.and_then(|(dim, index)| tensor.select(dim, index.value)),
                    "select",
                )
            }
            "as_strided" => match (args.get(0, "size"), args.get(1, "stride")) {
                (Some(size), Some(strides)) => match (size.numbers(), strides.numbers()) {
                    (Some(shape), Some(strides)) => Value::Tensor(Tensor {
                        shape,
                        strides: strides.iter().map(|stride| stride.value).collect(),
                        input: None,
                        ..tensor.clone()
                    }),
                    _ => Value::unknown("as_strided"),
                },
                _ => Value::unknown("as_strided"),
            },
            "new_empty" | "new_zeros" | "new_ones" | "new_full" | "new_tensor" => {
                let dtype = match args.keyword("dtype") {
                    Some(Value::Dtype(dtype, _)) => dtype,
                    _ => tensor.dtype.clone(),
                };
                let shape = match args.get(0, "size") {
                    Some(_) if args.positional.len() > 1 && name != "new_full" => {
                        args.positional.iter().map(Value::number).collect()
                    }
                    Some(size) => size.numbers(),
                    None => None,
                };
                let fill = match name {
                    "new_empty" => Fill::Uninit,
                    "new_zeros" => Fill::Zeros,
                    "new_ones" => Fill::Ones,
                    "new_full" => super::builtin::full(args.get(1, "fill_value").as_ref()),
                    _ => Fill::Computed,
                };
                match shape {
                    Some(shape) => self.allocate_fitting(shape, &dtype, fill)?,
                    None => Value::unknown("a tensor of unknown sizes"),
                }
            }
            "zero_" | "fill_" | "copy_" | "normal_" | "uniform_" | "add_" | "mul_" | "sub_" | "div_"
            | "clamp_" => {
                let fill = match name {
                    "zero_" => Fill::Zeros,
                    "fill_" => super::builtin::full(args.positional.first()),
                    _ => Fill::Computed,
                };
                let is_all = self.storages.get(tensor.storage).is_some_and(|storage| {
                    super::tensor::product(&storage.shape) == super::tensor::product(&tensor.sizes())
                });
                self.change(tensor.storage, if is_all { fill } else { Fill::Computed });
                Value::Tensor(tensor.clone())
            }
            "sum" | "mean" | "amax" | "amin" | "prod" | "any" | "all" | "norm" | "var" | "std"
            | "logsumexp" => self.reduce(tensor, args),
            "repeat" => {
                let counts = sizes().unwrap_or_default();
                let Some(more) = counts.len().checked_sub(tensor.shape.len()) else {
                    return Ok(Value::unknown("repeat"));
                };
                let shape = counts.iter().enumerate().map(|(at, count)| {
                    let own = at.checked_sub(more).and_then(|at| tensor.shape.get(at).copied());
                    own.map_or(*count, |own| {
                        Number::computed(own.value.saturating_mul(count.value), own.sizes | count.sizes)
                    })
                });
                let shape = shape.collect();
                self.allocate(shape, &tensor.dtype, Fill::Computed)
            }
            _ if SAME_SHAPE.contains(&name) => match args.positional.first() {
                Some(other @ Value::Tensor(_)) => {
                    self.elementwise(&Value::Tensor(tensor.clone()), &other.clone())?
                }
                _ => self.unary_of(Value::Tensor(tensor.clone())),
            },
            "item" | "tolist" => Value::unknown(ELEMENTS),
            _ => {
                let mut all = args.clone();
                all.positional.insert(0, Value::Tensor(tensor.clone()));
                if let Some(found) = self.compute(name, &all)? {
                    return Ok(found);
                }
                if name.ends_with('_') {
                    self.change(tensor.storage, Fill::Computed);
                    return Ok(Value::Tensor(tensor.clone()));
                }
                Value::unknown(format!("the tensor method `{name}`"))
            }
        })
    }
}
