//! Functions of torch that compute tensors of other ones: shape rules of sorts, reductions, selections and products.

use super::arguments::Arguments;
use super::machine::{Eval, Machine};
use super::tensor::{Fill, Tensor};
use super::value::{Dtype, Number, Value};

/// Functions whose results have an order, or are positions in their argument.
const ORDERING: [&str; 9] = [
    "sort", "argsort", "topk", "kthvalue", "cummax", "cummin", "argmax", "argmin", "diff",
];

/// Maximum depth of the lists that a tensor is made from.
const MAX_NESTING: usize = 4;

impl<'a> Machine<'a> {
    /// Evaluates a function, or a method with its tensor as the first argument; `None` if it is not one of these.
    pub fn compute(&mut self, name: &str, args: &Arguments<'a>) -> Eval<'a, Option<Value<'a>>> {
        let tensor = match args.get(0, "input") {
            Some(Value::Tensor(tensor)) => tensor,
            // `torch.sort(x)`: only tensors are sorted.
            Some(Value::Input(input)) if ORDERING.contains(&name) => match self.input_tensor(input) {
                Some(tensor) => tensor,
                None => return Ok(None),
            },
            // The shape of the result does not depend on an unknown condition.
            Some(Value::Unknown(_)) if name == "where" => {
                match (args.get(1, "input"), args.get(2, "other")) {
                    (Some(a @ Value::Tensor(_)), Some(b)) | (Some(b), Some(a @ Value::Tensor(_))) => {
                        return self.elementwise(&a, &b).map(Some);
                    }
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let is_whole = args.positional.len() == 1 && args.keywords.is_empty();
        if let Some(known) = self.reduce_known(&tensor, name).filter(|_| is_whole) {
            return Ok(Some(known));
        }
        let first = Value::Tensor(tensor.clone());
        let second = args.get(1, "other");
        let whole = Dtype::torch("i64");
        let found = self.compute_tensor(name, args, &tensor, (first, second, whole))?;
        if ORDERING.contains(&name) {
            for one in found.iter().flat_map(|found| match found {
                Value::Tuple(values, _) => values.to_vec(),
                one => vec![one.clone()],
            }) {
                if let Value::Tensor(tensor) = one {
                    self.ordered.insert(tensor.storage);
                }
            }
        }
        Ok(found)
    }

    fn compute_tensor(
        &mut self,
        name: &str,
        args: &Arguments<'a>,
        tensor: &Tensor,
        (first, second, whole): (Value<'a>, Option<Value<'a>>, Dtype),
    ) -> Eval<'a, Option<Value<'a>>> {
        Ok(Some(match name {
            "sort" | "cummax" | "cummin" => {
                let values = self.unary_of(first);
                let indices = self.allocate(tensor.shape.clone(), &whole, Fill::Computed);
                Value::tuple(vec![values, indices])
            }
            "argsort" => self.allocate(tensor.shape.clone(), &whole, Fill::Computed),
            "topk" | "kthvalue" => {
                let count = match args.get(1, "k") {
                    _ if name == "kthvalue" => Some(Number::plain(1)),
                    Some(count) => count.number(),
                    None => None,
                };
                let dim = number_of(args.get(2, "dim"), -1);
                let (Some(count), Some(dim)) = (count, tensor.dim(dim)) else {
                    return Ok(Some(Value::unknown("`topk` of an unknown number")));
                };
                let mut shape = tensor.shape.clone();
                if let Some(size) = shape.get_mut(dim) {
                    *size = count;
                }
                if name == "kthvalue" && !is_kept(args) {
                    shape.remove(dim);
                }
                let values = self.allocate(shape.clone(), &tensor.dtype, Fill::Computed);
                let indices = self.allocate(shape, &whole, Fill::Computed);
                Value::tuple(vec![values, indices])
            }
            "max" | "min" | "median" | "mode" => match second.or(args.keyword("dim")) {
                None => self.allocate(Vec::new(), &tensor.dtype, Fill::Computed),
                Some(other @ Value::Tensor(_)) => self.elementwise(&first, &other)?,
                Some(_) => {
                    let values = self.fold(tensor, args);
                    let indices = match &values {
                        Value::Tensor(values) => self.allocate(values.shape.clone(), &whole, Fill::Computed),
                        other => other.clone(),
                    };
                    Value::tuple(vec![values, indices])
                }
            },
            "argmax" | "argmin" | "count_nonzero" => match self.fold(tensor, args) {
                Value::Tensor(values) => self.allocate(values.shape, &whole, Fill::Computed),
                other => other,
            },
            "prod" | "std" | "var" | "logsumexp" | "aminmax" | "nansum" => self.fold(tensor, args),
            "any" | "all" => match self.fold(tensor, args) {
                Value::Tensor(values) => self.allocate(values.shape, &Dtype::torch("i1"), Fill::Computed),
                other => other,
            },
            "where" => match (args.get(1, "input"), args.get(2, "other")) {
                (Some(a), Some(b)) => {
                    let values = match (&a, &b) {
                        (Value::Tensor(_), _) | (_, Value::Tensor(_)) => self.elementwise(&a, &b)?,
                        _ => self.allocate(Vec::new(), &Dtype::torch("f32"), Fill::Computed),
                    };
                    let Value::Tensor(values) = values else {
                        return Ok(Some(values));
                    };
                    match self.elementwise(&Value::Tensor(values.clone()), &first)? {
                        Value::Tensor(shape) => self.allocate(shape.shape, &values.dtype, Fill::Computed),
                        other => other,
                    }
                }
                _ => return Ok(None),
            },
            "maximum" | "minimum" | "fmax" | "fmin" | "remainder" | "fmod" | "atan2" | "true_divide"
            | "floor_divide" | "bitwise_and" | "bitwise_or" | "logical_and" | "logical_or" => match second {
                Some(other) => self.elementwise(&first, &other)?,
                None => return Ok(None),
            },
            "linear" => match args.get(1, "weight") {
                Some(Value::Tensor(weight)) if !tensor.shape.is_empty() => {
                    let mut shape = tensor.shape.clone();
                    if let (Some(last), Some(rows)) = (shape.last_mut(), weight.shape.first()) {
                        *last = *rows;
                    }
                    self.allocate(shape, &tensor.dtype, Fill::Computed)
                }
                _ => return Ok(None),
            },
            "diff" => {
                let dim = number_of(args.get(2, "dim"), -1);
                let mut shape = tensor.shape.clone();
                if let Some(size) = tensor.dim(dim).and_then(|at| shape.get_mut(at)) {
                    *size = Number::computed((size.value - 1).max(0), size.sizes);
                }
                self.allocate(shape, &tensor.dtype, Fill::Computed)
            }
            "diagonal" => {
                let dims = (
                    number_of(args.get(2, "dim1"), 0),
                    number_of(args.get(3, "dim2"), 1),
                );
                if number_of(args.get(1, "offset"), 0) != 0 {
                    return Ok(None);
                }
                let view = take_diagonal(tensor, dims.0, dims.1);
                view.map_or_else(|| Value::unknown("a diagonal"), Value::Tensor)
            }
            "index_select" => match (args.get(1, "dim"), args.get(2, "index")) {
                (Some(dim), Some(Value::Tensor(index))) => {
                    let mut shape = tensor.shape.clone();
                    let at = tensor.dim(number_of(Some(dim), 0));
                    if let (Some(size), Some(count)) =
                        (at.and_then(|at| shape.get_mut(at)), index.shape.first())
                    {
                        *size = *count;
                    }
                    self.allocate(shape, &tensor.dtype, Fill::Computed)
                }
                _ => return Ok(None),
            },
            "gather" | "take_along_dim" => match args.positional.iter().skip(1).find_map(tensor_of) {
                Some(index) => self.allocate(index.shape, &tensor.dtype, Fill::Computed),
                None => return Ok(None),
            },
            "repeat_interleave" => {
                let count = args.get(1, "repeats").and_then(|count| count.number());
                let dim = args.get(2, "dim").and_then(|dim| dim.number());
                let at = dim.and_then(|dim| tensor.dim(dim.value));
                let (Some(count), Some(at)) = (count, at) else {
                    return Ok(None);
                };
                let mut shape = tensor.shape.clone();
                if let Some(size) = shape.get_mut(at) {
                    let value = size.value.saturating_mul(count.value);
                    *size = Number::computed(value, size.sizes | count.sizes);
                }
                self.allocate(shape, &tensor.dtype, Fill::Computed)
            }
            "atleast_1d" | "atleast_2d" => {
                let least = if name == "atleast_1d" { 1 } else { 2 };
                let mut view = tensor.clone();
                while view.shape.len() < least {
                    match view.unsqueeze(0) {
                        Some(wider) => view = wider,
                        None => return Ok(None),
                    }
                }
                Value::Tensor(view)
            }
            "unflatten" => {
                let sizes = args.get(2, "sizes").and_then(|sizes| sizes.numbers());
                let at = tensor.dim(number_of(args.get(1, "dim"), 0));
                let (Some(sizes), Some(at)) = (sizes, at) else {
                    return Ok(None);
                };
                let mut shape = tensor.shape.clone();
                shape.splice(at..=at, sizes);
                let Some(shape) = tensor.complete(&shape) else {
                    self.fit_view(tensor, &shape)?;
                    return self.raise("a view of other elements");
                };
                tensor
                    .view(&shape)
                    .map_or_else(|| Value::unknown("a view"), Value::Tensor)
            }
            _ => return Ok(None),
        }))
    }

    /// The number that a tensor of known elements has, or that they have together.
    pub fn reduce_known(&self, tensor: &Tensor, name: &str) -> Option<Value<'a>> {
        let elements = self.known_elements.get(&tensor.storage)?;
        let sizes = elements.iter().fold(0, |all, one| all | one.sizes);
        let mut values = elements.iter().map(|one| one.value);
        let value = match name {
            "prod" => values.try_fold(1_i64, i64::checked_mul)?,
            "sum" => values.try_fold(0_i64, i64::checked_add)?,
            "max" | "amax" => values.max()?,
            "min" | "amin" => values.min()?,
            "item" if elements.len() == 1 => return elements.first().copied().map(Value::Int),
            "tolist" => return Some(Value::list(elements.iter().copied().map(Value::Int).collect())),
            _ => return None,
        };
        Some(Value::Int(Number::computed(value, sizes)))
    }

    /// A reduction over the dimension of the second argument.
    fn fold(&mut self, tensor: &Tensor, args: &Arguments<'a>) -> Value<'a> {
        let rest = Arguments {
            positional: args.positional.get(1..).unwrap_or_default().to_vec(),
            keywords: args.keywords.clone(),
        };
        self.reduce(tensor, &rest)
    }

    /// `torch.tensor(…)`: the shape of nested lists, or of nothing for a number.
    pub fn tensor_of_data(&mut self, args: &Arguments<'a>, dtype: Option<Dtype>) -> Value<'a> {
        let Some(data) = args.get(0, "data") else {
            return Value::unknown("a tensor of nothing");
        };
        let mut shape = Vec::new();
        let numbers = data.numbers();
        let mut one = data;
        while let Some(elements) = one.elements() {
            shape.push(Number::plain(elements.len() as i64));
            match elements.into_iter().next() {
                Some(first) if shape.len() < MAX_NESTING => one = first,
                _ => return Value::unknown("a tensor of an empty or deep list"),
            }
        }
        let dtype = dtype.or(match &one {
            Value::Float(_) => Some(Dtype::torch("f32")),
            Value::Bool(..) => Some(Dtype::torch("i1")),
            Value::Int(_) => Some(Dtype::torch("i64")),
            Value::Tensor(tensor) => Some(tensor.dtype.clone()),
            _ => None,
        });
        // Addresses are not written to case files.
        let is_plain = matches!(
            one,
            Value::Float(_) | Value::Bool(..) | Value::Int(_) | Value::Tensor(_)
        );
        match dtype {
            Some(dtype) if is_plain => {
                let fill = match &numbers {
                    _ if shape.is_empty() => super::builtin::full(Some(&one)),
                    Some(numbers) => Fill::Elements(numbers.iter().map(|one| one.value).collect()),
                    None => Fill::Computed,
                };
                let value = self.allocate(shape, &dtype, fill);
                if let (Value::Tensor(tensor), Some(numbers)) = (&value, numbers) {
                    self.known_elements.insert(tensor.storage, numbers);
                }
                value
            }
            _ => Value::unknown(one.reason().unwrap_or("a tensor of values that are not numbers")),
        }
    }

    /// `torch.finfo` and `torch.iinfo`.
    #[expect(clippy::unused_self, reason = "a function that is called, as others")]
    pub fn number_limits(&self, args: &Arguments<'a>) -> Value<'a> {
        let dtype = match args.positional.first() {
            Some(Value::Dtype(dtype, _)) => dtype,
            Some(Value::Unknown(reason)) => return Value::Unknown(reason.clone()),
            _ => return Value::unknown("the limits of an unknown dtype"),
        };
        let floats = |max: f64, eps: f64, tiny: f64| {
            vec![
                ("max", Value::Float(max)),
                ("min", Value::Float(-max)),
                ("eps", Value::Float(eps)),
                ("tiny", Value::Float(tiny)),
                ("smallest_normal", Value::Float(tiny)),
            ]
        };
        let integers = |min: i64, max: i64| vec![("max", Value::int(max)), ("min", Value::int(min))];
        let mut fields = match dtype.name {
            "f64" => floats(f64::MAX, f64::EPSILON, f64::MIN_POSITIVE),
            "f32" => floats(
                f64::from(f32::MAX),
                f64::from(f32::EPSILON),
                f64::from(f32::MIN_POSITIVE),
            ),
            "f16" => floats(65504.0, 2f64.powi(-10), 2f64.powi(-14)),
            "bf16" => floats(
                2f64.powi(127) * (2.0 - 2f64.powi(-7)),
                2f64.powi(-7),
                2f64.powi(-126),
            ),
            "fp8e4nv" => floats(448.0, 0.125, 2f64.powi(-6)),
            "fp8e4b8" => floats(240.0, 0.125, 2f64.powi(-7)),
            "fp8e5" | "fp8e5b16" => floats(57344.0, 0.25, 2f64.powi(-14)),
            "i8" => integers(i64::from(i8::MIN), i64::from(i8::MAX)),
            "u8" => integers(0, i64::from(u8::MAX)),
            "i16" => integers(i64::from(i16::MIN), i64::from(i16::MAX)),
            "u16" => integers(0, i64::from(u16::MAX)),
            "i32" => integers(i64::from(i32::MIN), i64::from(i32::MAX)),
            "u32" => integers(0, i64::from(u32::MAX)),
            "i64" => integers(i64::MIN, i64::MAX),
            _ => return Value::unknown("the limits of a dtype"),
        };
        fields.push(("bits", Value::int(dtype.bytes() * 8)));
        Value::build_object(fields)
    }
}

fn tensor_of(value: &Value<'_>) -> Option<Tensor> {
    match value {
        Value::Tensor(tensor) => Some(tensor.clone()),
        _ => None,
    }
}

fn number_of(value: Option<Value<'_>>, or: i64) -> i64 {
    value
        .and_then(|value| value.number())
        .map_or(or, |number| number.value)
}

fn is_kept(args: &Arguments<'_>) -> bool {
    matches!(args.keyword("keepdim"), Some(Value::Bool(true, _)))
}

/// The view of a tensor's elements with equal indices in two dimensions.
fn take_diagonal(tensor: &Tensor, one: i64, other: i64) -> Option<Tensor> {
    let (one, other) = (tensor.dim(one)?, tensor.dim(other)?);
    let kept: Vec<usize> = (0..tensor.shape.len())
        .filter(|at| *at != one && *at != other)
        .collect();
    let mut view = tensor.permute(&kept)?;
    let (a, b) = (*tensor.shape.get(one)?, *tensor.shape.get(other)?);
    view.shape.push(if a.value <= b.value { a } else { b });
    view.strides.push(
        tensor
            .strides
            .get(one)?
            .checked_add(*tensor.strides.get(other)?)?,
    );
    view.input = None;
    view.base = None;
    Some(view)
}
