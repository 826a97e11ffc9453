//! Functions of torch, and of libraries around it, that make tensors.

use super::arguments::Arguments;
use super::builtin::full;
use super::machine::{Eval, Machine};
use super::tensor::Fill;
use super::value::{Dtype, Number, Value};

impl<'a> Machine<'a> {
    /// `dim_compress(x, dims)` of `FlagGems`: a contiguous tensor with these dimensions last.
    pub fn dim_compress(&mut self, args: &Arguments<'a>) -> Value<'a> {
        let dims = args.positional.get(1).and_then(Value::numbers);
        let (Some(Value::Tensor(tensor)), Some(dims)) = (args.positional.first(), dims) else {
            return Value::unknown("`dim_compress` of an unknown tensor");
        };
        let last: Vec<usize> = dims.iter().filter_map(|dim| tensor.dim(dim.value)).collect();
        let mut order: Vec<usize> = (0..tensor.shape.len())
            .filter(|dim| !last.contains(dim))
            .collect();
        order.extend(last);
        match tensor.permute(&order) {
            Some(view) if view.is_contiguous() => Value::Tensor(view),
            Some(view) => self.copy(&view, None),
            None => Value::unknown("`dim_compress` of an unknown tensor"),
        }
    }

    /// The value of a call of torch's: the tensors that it was to write to, if it has `out=`.
    pub fn write_out(&mut self, found: Value<'a>, args: &Arguments<'a>) -> Value<'a> {
        let Some(out) = args.keyword("out") else {
            return found;
        };
        let values = match &out {
            Value::Tensor(_) => vec![out.clone()],
            _ => out.elements().unwrap_or_default(),
        };
        let tensors: Vec<usize> = values
            .iter()
            .filter_map(|value| match value {
                Value::Tensor(tensor) => Some(tensor.storage),
                _ => None,
            })
            .collect();
        if tensors.is_empty() {
            return found;
        }
        for storage in tensors {
            self.change(storage, Fill::Computed);
        }
        out
    }

    pub fn call_torch(
        &mut self,
        path: &str,
        last: &str,
        args: &Arguments<'a>,
    ) -> Eval<'a, Option<Value<'a>>> {
        let given = match args.keyword("dtype") {
            Some(Value::Dtype(dtype, _)) => Some(dtype),
            Some(Value::Unknown(reason)) => return Ok(Some(Value::Unknown(reason))),
            Some(Value::Input(input)) => {
                let float = Dtype::torch(self.plan.float);
                let change = self.plan.set_scalar(input, super::plan::Scalar::Dtype(float));
                return self.restart(change, "a dtype that nothing decides");
            }
            _ => None,
        };
        let fill = match last {
            "empty" | "empty_like" | "empty_strided" | "empty_permuted" => Fill::Uninit,
            "zeros" | "zeros_like" => Fill::Zeros,
            "ones" | "ones_like" => Fill::Ones,
            "full" | "full_like" => full(args.get(1, "fill_value").as_ref()),
            _ => Fill::Computed,
        };
        Ok(Some(match last {
            "empty_like" | "zeros_like" | "ones_like" | "full_like" | "rand_like" | "randn_like" => {
                match args.get(0, "input") {
                    Some(Value::Tensor(tensor)) => {
                        let dtype = given.unwrap_or_else(|| tensor.dtype.clone());
                        if args.keyword("memory_format").is_some() {
                            self.allocate(tensor.shape.clone(), &dtype, fill)
                        } else {
                            self.like(&tensor, &dtype, fill)
                        }
                    }
                    Some(Value::Input(input)) => match self.input_tensor(input) {
                        Some(tensor) => {
                            let dtype = given.unwrap_or_else(|| tensor.dtype.clone());
                            self.like(&tensor, &dtype, fill)
                        }
                        None => Value::unknown("an input of too many elements"),
                    },
                    Some(Value::Unknown(reason)) => Value::Unknown(reason),
                    _ => Value::unknown(format!("`{path}` of something other than a tensor")),
                }
            }
            "empty" | "zeros" | "ones" | "rand" | "randn" | "full" => {
                let sizes: Option<Vec<Number>> = if args.positional.len() > 1 && last != "full" {
                    for one in &args.positional {
                        self.decide_number(one)?;
                    }
                    args.positional.iter().map(Value::number).collect()
                } else {
                    let size = args.get(0, "size");
                    for one in size.as_ref().and_then(Value::elements).unwrap_or_default() {
                        self.decide_number(&one)?;
                    }
                    size.as_ref().and_then(Value::numbers)
                };
                if let Some(sizes) = sizes {
                    let default = if path.starts_with("numpy.") { "f64" } else { "f32" };
                    let dtype = given.unwrap_or(Dtype::torch(default));
                    self.allocate_fitting(sizes, &dtype, fill)?
                } else {
                    let size = args.get(0, "size");
                    let parts = size.as_ref().and_then(Value::elements).unwrap_or_default();
                    let mut all = args.positional.iter().chain(&parts);
                    let reason = all.find_map(Value::reason);
                    Value::unknown(reason.unwrap_or("a tensor of unknown sizes"))
                }
            }
            "empty_strided" => match (args.get(0, "size"), args.get(1, "stride")) {
                (Some(size), Some(strides)) => match (size.numbers(), strides.numbers()) {
                    (Some(shape), Some(strides)) => {
                        let dtype = given.unwrap_or(Dtype::torch("f32"));
                        let strides = strides.iter().map(|stride| stride.value).collect();
                        self.allocate_strided(shape, strides, &dtype, fill)
                    }
                    _ => Value::unknown("a tensor of unknown sizes"),
                },
                _ => Value::unknown("a tensor of unknown sizes"),
            },
            "arange" => {
                let numbers: Option<Vec<Number>> = args.positional.iter().map(Value::number).collect();
                let count = match numbers.as_deref() {
                    Some([end]) => *end,
                    Some([start, end]) => {
                        Number::computed(end.value.saturating_sub(start.value), start.sizes | end.sizes)
                    }
                    Some([start, end, step]) if step.value > 0 => {
                        let value = (end.value.saturating_sub(start.value)).max(0);
                        Number::computed(
                            value / step.value + i64::from(value % step.value != 0),
                            start.sizes | end.sizes,
                        )
                    }
                    _ => return Ok(Some(Value::unknown("`torch.arange` of unknown numbers"))),
                };
                let fill = if numbers.is_some_and(|numbers| numbers.len() == 1) {
                    Fill::Arange
                } else {
                    Fill::Computed
                };
                self.allocate(vec![count], &given.unwrap_or(Dtype::torch("i64")), fill)
            }
            "randint" => {
                let size = args.keyword("size").or_else(|| args.positional.last().cloned());
                match size.as_ref().and_then(Value::numbers) {
                    Some(sizes) => {
                        self.allocate(sizes, &given.unwrap_or(Dtype::torch("i64")), Fill::Computed)
                    }
                    None => Value::unknown("a tensor of unknown sizes"),
                }
            }
            "pad" => self.pad(args),
            "device" | "current_stream" | "get_default_device" => Value::Device,
            "Size" | "promote_types" | "result_type" => {
                args.positional.first().cloned().unwrap_or(Value::NONE)
            }
            "get_default_dtype" => Value::Dtype(Dtype::torch("f32"), None),
            "is_tensor" => Value::bool(matches!(args.positional.first(), Some(Value::Tensor(_)))),
            "is_grad_enabled" => Value::bool(true),
            "is_autocast_enabled" | "is_inference_mode_enabled" | "are_deterministic_algorithms_enabled" => {
                Value::bool(false)
            }
            "cat" | "concat" | "stack" => self.join(last, args),
            "broadcast_tensors" => {
                let mut all = args.positional.iter().cloned();
                let mut whole = all.next().unwrap_or(Value::NONE);
                for one in all {
                    whole = self.elementwise(&whole, &one)?;
                }
                let Value::Tensor(whole) = whole else {
                    return Ok(Some(whole));
                };
                let views = args.positional.iter().map(|one| match one {
                    Value::Tensor(tensor) => tensor
                        .expand(&whole.shape)
                        .map_or_else(|| Value::unknown("broadcast"), Value::Tensor),
                    other => other.clone(),
                });
                Value::list(views.collect())
            }
            "matmul" | "mm" | "bmm" => match (args.get(0, "input"), args.get(1, "other")) {
                (Some(Value::Tensor(a)), Some(Value::Tensor(b))) if a.shape.len() >= 2 => {
                    let mut shape = a.shape.clone();
                    if let (Some(last), Some(columns)) = (shape.last_mut(), b.shape.last()) {
                        *last = *columns;
                    }
                    self.allocate(shape, &a.dtype, Fill::Computed)
                }
                _ => Value::unknown(format!("a call of `{path}`")),
            },
            "log" if path.contains("_dynamo") => Value::NONE,
            "tensor" | "as_tensor" if !matches!(args.positional.first(), Some(Value::Tensor(_))) => {
                self.tensor_of_data(args, given)
            }
            "finfo" | "iinfo" => self.number_limits(args),
            _ if let Some(found) = self.compute(last, args)? => found,
            _ => match args.positional.first() {
                // A function that is a method too.
                Some(Value::Tensor(tensor)) => {
                    let tensor = tensor.clone();
                    let rest = Arguments {
                        positional: args.positional.get(1..).unwrap_or_default().to_vec(),
                        keywords: args.keywords.clone(),
                    };
                    match self.tensor_method(&tensor, last, &rest)? {
                        Value::Unknown(_) => return Ok(None),
                        found => found,
                    }
                }
                _ => return Ok(None),
            },
        }))
    }

    /// `torch.nn.functional.pad`: pairs of numbers, those of the last dimension first.
    pub fn pad(&mut self, args: &Arguments<'a>) -> Value<'a> {
        let pairs = args.get(1, "pad").as_ref().and_then(Value::numbers);
        let (Some(Value::Tensor(tensor)), Some(pairs)) = (args.get(0, "input"), pairs) else {
            return Value::unknown("`pad` of an unknown tensor");
        };
        let mut shape = tensor.shape.clone();
        for (size, pair) in shape.iter_mut().rev().zip(pairs.chunks(2)) {
            let value = pair
                .iter()
                .fold(size.value, |all, one| all.saturating_add(one.value));
            let sizes = pair.iter().fold(size.sizes, |all, one| all | one.sizes);
            if value != size.value {
                *size = Number::computed(value, sizes);
            }
        }
        self.allocate(shape, &tensor.dtype, Fill::Computed)
    }

    pub fn join(&mut self, name: &str, args: &Arguments<'a>) -> Value<'a> {
        let parts = args
            .positional
            .first()
            .and_then(Value::elements)
            .unwrap_or_default();
        let tensors: Vec<_> = parts
            .iter()
            .filter_map(|part| match part {
                Value::Tensor(tensor) => Some(tensor.clone()),
                _ => None,
            })
            .collect();
        let (Some(first), true) = (tensors.first().cloned(), tensors.len() == parts.len()) else {
            return Value::unknown(format!("`{name}` of something other than tensors"));
        };
        let dim = args
            .get(1, "dim")
            .and_then(|dim| dim.number())
            .map_or(0, |dim| dim.value);
        let mut shape = first.shape.clone();
        if name == "stack" {
            let at = if dim < 0 {
                dim + shape.len() as i64 + 1
            } else {
                dim
            };
            let at = usize::try_from(at).unwrap_or(0).min(shape.len());
            shape.insert(at, Number::plain(tensors.len() as i64));
        } else if let Some(at) = first.dim(dim) {
            let all = tensors.iter().filter_map(|tensor| tensor.shape.get(at));
            let sum = all.fold(Number::plain(0), |all, one| {
                Number::computed(all.value.saturating_add(one.value), all.sizes | one.sizes)
            });
            if let Some(size) = shape.get_mut(at) {
                *size = sum;
            }
        }
        self.allocate(shape, &first.dtype, Fill::Computed)
    }

    pub fn descriptor(&mut self, name: &str, args: &Arguments<'a>) -> Value<'a> {
        let tensor = match args.get(0, "tensor").or_else(|| args.keyword("base")) {
            Some(Value::Tensor(tensor)) => tensor,
            Some(Value::Input(input)) => match self.input_tensor(input) {
                Some(tensor) => tensor,
                None => return Value::unknown("an input of too many elements"),
            },
            _ => return Value::unknown("a descriptor of an unknown tensor"),
        };
        let block = if name == "from_tensor" {
            args.get(1, "block_shape")
        } else {
            args.get(3, "block_shape")
        };
        let numbers = block.as_ref().and_then(Value::numbers);
        match numbers {
            Some(numbers) => Value::Descriptor(
                tensor,
                std::rc::Rc::new(numbers.iter().map(|one| one.value).collect()),
            ),
            None => Value::unknown("a descriptor of an unknown block"),
        }
    }
}
