//! Functions of Python, torch and Triton that launchers call.

use super::call::Arguments;
use super::eval::to_scalar;
use super::machine::{Eval, Machine};
use super::plan::{Kind, Scalar};
use super::tensor::Fill;
use super::value::{Dtype, Number, Source, Value};

const BUILTINS: [&str; 32] = [
    "abs",
    "all",
    "any",
    "bool",
    "dict",
    "enumerate",
    "float",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "print",
    "range",
    "reversed",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
    "id",
    "callable",
    "repr",
    "map",
    "super",
    "divmod",
];

pub(super) fn builtin<'a>(name: &str) -> Option<Value<'a>> {
    BUILTINS.contains(&name).then(|| Value::module(name))
}

/// The content of a tensor that is full of a value.
pub(super) fn full(value: Option<Value<'_>>) -> Fill {
    match value.as_ref().and_then(to_scalar) {
        Some(Scalar::Int(0)) => Fill::Zeros,
        Some(Scalar::Int(number)) => Fill::Full(number.to_string()),
        Some(Scalar::Bool(value)) => {
            if value {
                Fill::Ones
            } else {
                Fill::Zeros
            }
        }
        Some(Scalar::Float(float)) => Fill::Full(write_float(float)),
        _ => Fill::Computed,
    }
}

/// A float as an expression has it.
pub(super) fn write_float(float: f64) -> String {
    if float.is_nan() {
        "nan".to_owned()
    } else if float.is_infinite() {
        if float > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else {
        format!("{float:?}")
    }
}

/// Multiprocessors of the stand-in GPU: few, so that persistent programs have more than one block each.
const MULTIPROCESSORS: i64 = 3;

impl<'a> Machine<'a> {
    pub fn call_path(&mut self, path: &str, args: &Arguments<'a>) -> Eval<'a> {
        let last = path.rsplit('.').next().unwrap_or(path);
        if let Some(found) = self.call_python(path, args)? {
            return Ok(found);
        }
        if let Some(found) = self.call_math(path, last, args)? {
            return Ok(found);
        }
        if path.starts_with("torch.") {
            if let Some(found) = self.call_torch(path, last, args)? {
                return Ok(found);
            }
        }
        Ok(match last {
            "TensorDescriptor" | "from_tensor" | "make_tensor_descriptor" => self.descriptor(last, args),
            "get_device_properties" => {
                let fields = [
                    ("multi_processor_count", MULTIPROCESSORS),
                    ("multiprocessor_count", MULTIPROCESSORS),
                    ("max_shared_mem", 232_448),
                    ("max_num_regs", 65_536),
                    ("warpSize", 32),
                    ("warp_size", 32),
                    ("num_sms", MULTIPROCESSORS),
                    ("major", 9),
                    ("minor", 0),
                    ("total_memory", 80 << 30),
                    ("L2_cache_size", 50 << 20),
                ];
                let fields = fields.map(|(name, value)| (name.to_owned(), Value::int(value)));
                Value::Object(std::rc::Rc::new(std::cell::RefCell::new(
                    fields.into_iter().collect(),
                )))
            }
            "get_device_capability" => Value::tuple(vec![Value::int(9), Value::int(0)]),
            "num_sms"
            | "get_num_sms"
            | "get_sm_count"
            | "get_device_core_count"
            | "get_npu_core_count"
            | "get_multiprocessor_count"
            | "get_device_sm_count" => Value::int(MULTIPROCESSORS),
            "current_device" | "device_count" => Value::int(i64::from(last == "device_count")),
            "get" | "getenv" if path.starts_with("os.") => {
                args.positional.get(1).cloned().unwrap_or(Value::NONE)
            }
            "reduce" if path == "functools.reduce" => {
                let (callee, items) = (args.positional.first().cloned(), args.positional.get(1).cloned());
                let (Some(callee), Some(items)) = (callee, items) else {
                    return Ok(Value::unknown("`reduce`"));
                };
                let mut items = match self.iterate(&items)? {
                    Ok(items) => items.into_iter(),
                    Err(reason) => return Ok(Value::unknown(reason)),
                };
                let first = args.positional.get(2).cloned().or_else(|| items.next());
                let mut all = first.unwrap_or_else(|| Value::unknown("`reduce` of nothing"));
                for one in items {
                    all = match &callee {
                        Value::Module(name) if name.ends_with("mul") => {
                            self.binary(&all, ruff_python_ast::Operator::Mult, &one)?
                        }
                        Value::Module(name) if name.ends_with("add") => {
                            self.binary(&all, ruff_python_ast::Operator::Add, &one)?
                        }
                        callee => self.apply(callee, &Arguments::of(vec![all, one]))?,
                    };
                }
                all
            }
            "cast" if args.positional.len() == 2 => args.positional.get(1).cloned().unwrap_or(Value::NONE),
            "constexpr" => args.positional.first().cloned().unwrap_or(Value::NONE),
            "dim_compress" => self.dim_compress(args),
            "calculate_settings" if args.positional.len() == 1 => self.calculate_settings(args),
            "is_available" => Value::bool(true),
            "is_hip"
            | "is_amd"
            | "is_xpu"
            | "is_npu"
            | "is_cpu"
            | "is_compiling"
            | "is_torchdynamo_compiling" => Value::bool(false),
            "is_cuda" | "is_hopper" => Value::bool(true),
            _ => {
                self.spoil(args);
                Value::unknown(format!("a call of `{path}`"))
            }
        })
    }

    /// `calculate_settings(n)` of several libraries: the least block that covers a row, and its warps.
    fn calculate_settings(&mut self, args: &Arguments<'a>) -> Value<'a> {
        match args.positional.first().and_then(Value::number) {
            Some(size) => {
                let block = next_power_of_2(size.value);
                let warps = if block >= 32768 {
                    32
                } else if block >= 8192 {
                    16
                } else if block >= 2048 {
                    8
                } else {
                    4
                };
                Value::tuple(vec![
                    Value::Int(Number::computed(block, size.sizes)),
                    Value::int(warps),
                ])
            }
            None => Value::unknown("`calculate_settings` of an unknown size"),
        }
    }

    /// `dim_compress(x, dims)` of `FlagGems`: a contiguous tensor with these dimensions last.
    fn dim_compress(&mut self, args: &Arguments<'a>) -> Value<'a> {
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

    fn call_python(&mut self, path: &str, args: &Arguments<'a>) -> Eval<'a, Option<Value<'a>>> {
        let first = args.positional.first().cloned();
        Ok(Some(match (path, first) {
            ("len", Some(value)) => match &value {
                Value::Tuple(values, from) => Value::Int(Number {
                    value: values.len() as i64,
                    source: from.map_or(Source::Computed, Source::Rank),
                    sizes: 0,
                }),
                Value::Tensor(tensor) => match tensor.shape.first() {
                    Some(size) => {
                        if let Some(input) = tensor.input {
                            self.observed.insert((input, 0));
                        }
                        Value::Int(*size)
                    }
                    None => Value::unknown("the length of a scalar"),
                },
                Value::Str(text, _) => Value::int(text.len() as i64),
                other => match self.iterate(other)? {
                    Ok(values) => Value::int(values.len() as i64),
                    Err(reason) => Value::unknown(reason),
                },
            },
            ("int" | "float" | "round" | "abs" | "bool", Some(value)) => {
                self.decide_number(&value)?;
                match (path, &value) {
                    (_, Value::Unknown(_)) => value,
                    ("bool", value) => match self.truth(value)? {
                        Some(is_true) => Value::bool(is_true),
                        None => Value::unknown("whether it is true"),
                    },
                    ("float", value) => match (value, value.float()) {
                        (Value::Str(text, _), _) => text
                            .parse()
                            .map_or_else(|_| Value::unknown("a float of a text"), Value::Float),
                        (_, Some(float)) => Value::Float(float),
                        _ => Value::unknown("a float of something else than a number"),
                    },
                    ("abs", Value::Int(number)) => {
                        Value::Int(Number::computed(number.value.saturating_abs(), number.sizes))
                    }
                    (_, Value::Int(number)) => Value::Int(*number),
                    (_, Value::Bool(value, _)) => Value::int(i64::from(*value)),
                    ("abs", Value::Float(float)) => Value::Float(float.abs()),
                    ("round", Value::Float(float)) => Value::int(float.round() as i64),
                    ("int", Value::Float(float)) => Value::int(*float as i64),
                    _ => Value::unknown(format!("`{path}` of {}", value.kind())),
                }
            }
            ("str" | "repr", _) => Value::str("text"),
            ("print" | "super" | "id", _) => Value::NONE,
            ("min" | "max", Some(value)) => {
                let all = if args.positional.len() > 1 {
                    args.positional.clone()
                } else {
                    match self.iterate(&value)? {
                        Ok(values) => values,
                        Err(reason) => return Ok(Some(Value::unknown(reason))),
                    }
                };
                for one in &all {
                    self.decide_number(one)?;
                }
                choose(&all, path == "min")
            }
            ("sum", Some(value)) => match self.iterate(&value)? {
                Ok(values) => {
                    let mut all = Value::int(0);
                    for one in &values {
                        all = self.binary(&all, ruff_python_ast::Operator::Add, one)?;
                    }
                    all
                }
                Err(reason) => Value::unknown(reason),
            },
            ("all" | "any", Some(value)) => match self.iterate(&value)? {
                Ok(values) => {
                    let mut result = Value::bool(path == "all");
                    for one in &values {
                        match self.truth(one)? {
                            Some(is_true) if is_true != (path == "all") => {
                                return Ok(Some(Value::bool(is_true)));
                            }
                            Some(_) => {}
                            None => result = Value::unknown("a condition on unknown values"),
                        }
                    }
                    result
                }
                Err(reason) => Value::unknown(reason),
            },
            ("divmod", Some(a)) => {
                let b = args.positional.get(1).cloned().unwrap_or(Value::NONE);
                let quotient = self.binary(&a, ruff_python_ast::Operator::FloorDiv, &b)?;
                let rest = self.binary(&a, ruff_python_ast::Operator::Mod, &b)?;
                Value::tuple(vec![quotient, rest])
            }
            ("range", _) => {
                for one in &args.positional {
                    self.decide_number(one)?;
                }
                let numbers: Option<Vec<Number>> = args.positional.iter().map(Value::number).collect();
                let (start, stop, step) = match numbers.as_deref() {
                    Some([stop]) => (0, stop.value, 1),
                    Some([start, stop]) => (start.value, stop.value, 1),
                    Some([start, stop, step]) if step.value != 0 => (start.value, stop.value, step.value),
                    _ => return Ok(Some(Value::unknown("a range of unknown numbers"))),
                };
                let mut all = Vec::new();
                let mut at = start;
                while (if step > 0 { at < stop } else { at > stop }) && all.len() < 1024 {
                    all.push(Value::int(at));
                    at = at.saturating_add(step);
                }
                Value::list(all)
            }
            ("tuple" | "list" | "sorted" | "set" | "reversed", first) => match first {
                None => {
                    if path == "tuple" {
                        Value::tuple(Vec::new())
                    } else {
                        Value::list(Vec::new())
                    }
                }
                Some(shape @ Value::Tuple(..)) if path == "tuple" => shape,
                Some(value) => match self.iterate(&value)? {
                    Ok(mut values) => {
                        match path {
                            "reversed" => values.reverse(),
                            "sorted" => {
                                values.sort_by_key(|one| one.number().map_or(0, |number| number.value))
                            }
                            _ => {}
                        }
                        if path == "tuple" {
                            Value::tuple(values)
                        } else {
                            Value::list(values)
                        }
                    }
                    Err(reason) => Value::unknown(reason),
                },
            },
            ("dict", _) => {
                let items = args
                    .keywords
                    .iter()
                    .map(|(name, value)| (Value::str(name), value.clone()));
                Value::dict(items.collect())
            }
            ("enumerate", Some(value)) => match self.iterate(&value)? {
                Ok(values) => {
                    let pairs = values.into_iter().enumerate();
                    Value::list(
                        pairs
                            .map(|(at, value)| Value::tuple(vec![Value::int(at as i64), value]))
                            .collect(),
                    )
                }
                Err(reason) => Value::unknown(reason),
            },
            ("zip", _) => {
                let mut columns = Vec::new();
                for one in &args.positional {
                    match self.iterate(one)? {
                        Ok(values) => columns.push(values),
                        Err(reason) => return Ok(Some(Value::unknown(reason))),
                    }
                }
                let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
                let row = |at: usize| {
                    Value::tuple(
                        columns
                            .iter()
                            .filter_map(|column| column.get(at).cloned())
                            .collect(),
                    )
                };
                Value::list((0..rows).map(row).collect())
            }
            ("isinstance", Some(value)) => {
                let classes = args
                    .positional
                    .get(1)
                    .map(|classes| classes.elements().unwrap_or_else(|| vec![classes.clone()]));
                self.is_instance(&value, &classes.unwrap_or_default())
            }
            ("getattr", Some(value)) => match args.positional.get(1) {
                Some(Value::Str(name, _)) => {
                    let found = self.attribute(value, name)?;
                    match (&found, args.positional.get(2)) {
                        (Value::Unknown(_) | Value::Method(_), Some(default)) => default.clone(),
                        _ => found,
                    }
                }
                _ => Value::unknown("`getattr` of an unknown name"),
            },
            ("hasattr", Some(value)) => match (&value, args.positional.get(1)) {
                (Value::Tensor(_), Some(Value::Str(name, _))) => Value::bool(!name.starts_with('_')),
                _ => Value::unknown("`hasattr`"),
            },
            ("callable", Some(value)) => Value::bool(matches!(value, Value::Closure(_) | Value::Kernel(_))),
            _ => return Ok(None),
        }))
    }

    fn is_instance(&mut self, value: &Value<'a>, classes: &[Value<'a>]) -> Value<'a> {
        let names: Vec<String> = classes
            .iter()
            .map(|class| match class {
                Value::Module(path) => path.rsplit('.').next().unwrap_or_default().to_owned(),
                Value::Class(class) => class.name.to_string(),
                Value::Dtype(dtype, _) => dtype.name.to_owned(),
                _ => String::new(),
            })
            .collect();
        let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
        match value {
            Value::Input(input) => {
                if has(&["Tensor"]) && self.plan.kind(*input) == Some(&Kind::Undecided) {
                    return Value::bool(self.input_tensor(*input).is_some());
                }
                if has(&["bool", "str", "int", "float"]) {
                    return Value::unknown("what a parameter is");
                }
                Value::bool(false)
            }
            Value::Tensor(_) => Value::bool(has(&["Tensor"])),
            Value::Bool(..) => Value::bool(has(&["bool", "int"])),
            Value::Int(_) => Value::bool(has(&["int", "Number", "Integral"])),
            Value::Float(_) => Value::bool(has(&["float", "Number"])),
            Value::Str(..) => Value::bool(has(&["str"])),
            Value::Tuple(..) => Value::bool(has(&["tuple", "Sequence", "Size"])),
            Value::List(_) => Value::bool(has(&["list", "Sequence", "tuple"])),
            Value::Dict(_) => Value::bool(has(&["dict"])),
            Value::None(_) => Value::bool(false),
            Value::Unknown(reason) => Value::Unknown(reason.clone()),
            _ => Value::unknown("what a value is"),
        }
    }

    fn call_math(&mut self, path: &str, last: &str, args: &Arguments<'a>) -> Eval<'a, Option<Value<'a>>> {
        let is_triton = path.starts_with("triton") || path.starts_with("tl.") || !path.starts_with("torch");
        match last {
            "cdiv" | "ceil_div" | "ceildiv" | "div_ceil" if is_triton && args.positional.len() == 2 => {
                let [a, b] = &args.positional[..] else {
                    return Ok(None);
                };
                self.decide_number(a)?;
                self.decide_number(b)?;
                return Ok(Some(match (a.number(), b.number()) {
                    (Some(a), Some(b)) if b.value > 0 => {
                        if b.sizes == 0 {
                            self.note_block(a, b.value);
                        }
                        let value = a.value / b.value + i64::from(a.value % b.value > 0);
                        Value::Int(Number::computed(value, a.sizes | b.sizes))
                    }
                    _ => {
                        let reason = a
                            .reason()
                            .or(b.reason())
                            .unwrap_or("a division of something else than integers");
                        Value::unknown(reason)
                    }
                }));
            }
            "next_power_of_2" | "next_power_of_two" | "next_pow2" if is_triton => {
                let value = args.positional.first().cloned().unwrap_or(Value::NONE);
                self.decide_number(&value)?;
                return Ok(Some(match value.number() {
                    Some(number) => Value::Int(Number::computed(next_power_of_2(number.value), number.sizes)),
                    None => Value::unknown(value.reason().unwrap_or("a power of two of an unknown number")),
                }));
            }
            _ => {}
        }
        if last == "prod" && !path.starts_with("torch.") && args.positional.len() == 1 {
            let factors = args.positional.first().and_then(Value::numbers);
            return Ok(Some(match factors {
                Some(factors) => product_of(&factors),
                None => Value::unknown("a product of unknown numbers"),
            }));
        }
        let Some(name) = path.strip_prefix("math.") else {
            return Ok(None);
        };
        for one in &args.positional {
            self.decide_number(one)?;
        }
        let sizes = args.positional.iter().fold(0, |all, one| all | one.sizes());
        let numbers: Option<Vec<f64>> = args.positional.iter().map(Value::float).collect();
        let Some(numbers) = numbers else {
            let reason = args.positional.iter().find_map(Value::reason);
            return Ok(Some(Value::unknown(
                reason.unwrap_or("mathematics of something else than numbers"),
            )));
        };
        Ok(Some(match (name, &numbers[..]) {
            ("ceil", [a]) => Value::Int(Number::computed(a.ceil() as i64, sizes)),
            ("floor" | "trunc", [a]) => Value::Int(Number::computed(a.floor() as i64, sizes)),
            ("sqrt" | "isqrt", [a]) if name == "sqrt" => Value::Float(a.sqrt()),
            ("isqrt", [a]) => Value::Int(Number::computed(a.sqrt() as i64, sizes)),
            ("log2", [a]) => Value::Float(a.log2()),
            ("log", [a]) => Value::Float(a.ln()),
            ("exp", [a]) => Value::Float(a.exp()),
            ("pow", [a, b]) => Value::Float(a.powf(*b)),
            _ => Value::unknown(format!("a call of `{path}`")),
        }))
    }

    fn call_torch(&mut self, path: &str, last: &str, args: &Arguments<'a>) -> Eval<'a, Option<Value<'a>>> {
        let given = match args.keyword("dtype") {
            Some(Value::Dtype(dtype, _)) => Some(dtype),
            Some(Value::Unknown(reason)) => return Ok(Some(Value::Unknown(reason))),
            _ => None,
        };
        let fill = match last {
            "empty" | "empty_like" | "empty_strided" | "empty_permuted" => Fill::Uninit,
            "zeros" | "zeros_like" => Fill::Zeros,
            "ones" | "ones_like" => Fill::Ones,
            "full" | "full_like" => full(args.get(1, "fill_value")),
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
                    _ => Value::unknown(format!("`{path}` of something else than a tensor")),
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
                match sizes {
                    Some(sizes) => {
                        let dtype = given.unwrap_or_else(|| self.default_dtype());
                        self.allocate(sizes, &dtype, fill)
                    }
                    None => {
                        let size = args.get(0, "size");
                        let parts = size.as_ref().and_then(Value::elements).unwrap_or_default();
                        let mut all = args.positional.iter().chain(&parts);
                        let reason = all.find_map(Value::reason);
                        Value::unknown(reason.unwrap_or("a tensor of unknown sizes"))
                    }
                }
            }
            "empty_strided" => match (args.get(0, "size"), args.get(1, "stride")) {
                (Some(size), Some(strides)) => match (size.numbers(), strides.numbers()) {
                    (Some(shape), Some(strides)) => {
                        let dtype = given.unwrap_or_else(|| self.default_dtype());
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
                    Some([start, end]) => Number::computed(end.value - start.value, start.sizes | end.sizes),
                    Some([start, end, step]) if step.value > 0 => {
                        let value = (end.value - start.value).max(0);
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
            "Size" => args.positional.first().cloned().unwrap_or(Value::NONE),
            "promote_types" | "result_type" => args.positional.first().cloned().unwrap_or(Value::NONE),
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
    fn pad(&mut self, args: &Arguments<'a>) -> Value<'a> {
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

    fn join(&mut self, name: &str, args: &Arguments<'a>) -> Value<'a> {
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
            return Value::unknown(format!("`{name}` of something else than tensors"));
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

    fn descriptor(&mut self, name: &str, args: &Arguments<'a>) -> Value<'a> {
        let tensor = match args.positional.first() {
            Some(Value::Tensor(tensor)) => tensor.clone(),
            Some(Value::Input(input)) => match self.input_tensor(*input) {
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

/// The product of sizes; of one size, the size itself.
fn product_of<'a>(factors: &[Number]) -> Value<'a> {
    if let [only] = factors {
        return Value::Int(*only);
    }
    let all = factors.iter().fold((1_i64, 0), |(all, sizes), one| {
        (all.saturating_mul(one.value), sizes | one.sizes)
    });
    Value::Int(Number::computed(all.0, all.1))
}

fn choose<'a>(all: &[Value<'a>], is_min: bool) -> Value<'a> {
    let sizes = all.iter().fold(0, |sizes, one| sizes | one.sizes());
    let mut best: Option<Value<'a>> = None;
    for one in all {
        let Some(float) = one.float() else {
            return Value::unknown(one.reason().unwrap_or("the least of something else than numbers"));
        };
        let known = best.as_ref().and_then(Value::float);
        if known.is_none_or(|known| if is_min { float < known } else { float > known }) {
            best = Some(one.clone());
        }
    }
    match best {
        Some(Value::Int(number)) => Value::Int(Number { sizes, ..number }),
        Some(other) => other,
        None => Value::unknown("the least of nothing"),
    }
}

pub(super) fn next_power_of_2(number: i64) -> i64 {
    if number < 1 {
        return 1;
    }
    (number as u64)
        .checked_next_power_of_two()
        .and_then(|power| i64::try_from(power).ok())
        .unwrap_or(i64::MAX)
}
