//! Functions of Python, torch and Triton that launchers call.

use cerith_module::excerpt::is_elsewhere;

use super::arguments::Arguments;
use super::device;
use super::machine::{Eval, Machine};
use super::plan::to_scalar;
use super::plan::{Kind, Scalar};
use super::tensor::Fill;
use super::value::{Number, Source, Value};

/// Maximum number of tuples of `itertools.product`.
const MAX_TUPLES: usize = 4096;

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
pub(super) fn full(value: Option<&Value<'_>>) -> Fill {
    match value.and_then(to_scalar) {
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

/// Writes a float as an expression of a case file.
pub(super) fn write_float(float: f64) -> String {
    if float.is_nan() {
        "nan".to_owned()
    } else if float.is_infinite() {
        if float > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else {
        format!("{float:?}")
    }
}

impl<'a> Machine<'a> {
    pub fn call_path(&mut self, path: &str, args: &Arguments<'a>) -> Eval<'a> {
        let last = path.rsplit('.').next().unwrap_or(path);
        if let Some(found) = self.call_python(path, args)? {
            return Ok(found);
        }
        if let Some(found) = self.call_math(path, last, args)? {
            return Ok(found);
        }
        if path.starts_with("torch.nn.")
            && let Some(layer) = self.make_layer(last, args)
        {
            return Ok(layer);
        }
        let makes_array = || {
            let name = last.strip_suffix("_like").unwrap_or(last);
            path.starts_with("numpy.") && matches!(name, "empty" | "zeros" | "ones" | "full")
        };
        if (path.starts_with("torch.") || makes_array())
            && let Some(found) = self.call_torch(path, last, args)?
        {
            return Ok(self.write_out(found, args));
        }
        if let Some(found) = device::ask_device(last, self.plan.multiprocessors) {
            return Ok(found);
        }
        Ok(match last {
            "TensorDescriptor" | "from_tensor" | "make_tensor_descriptor" => self.descriptor(last, args),
            "get" | "getenv" if path.starts_with("os.") => {
                args.positional.get(1).cloned().unwrap_or(Value::NONE)
            }
            "product" if path == "itertools.product" => self.multiply_iterables(args)?,
            "reduce" if path == "functools.reduce" => {
                let (callee, items) = (args.positional.first().cloned(), args.positional.get(1).cloned());
                let (Some(callee), Some(items)) = (callee, items) else {
                    return Ok(Value::unknown("`reduce`"));
                };
                let mut items = match self.iterate(&items)? {
                    Ok(items) => items.into_iter(),
                    Err(error) => return Ok(Value::unknown(error.to_string())),
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
            "Config" if path.starts_with("triton") => self.config_of(args),
            // Another dtype over the same bytes.
            "reinterpret" if path.starts_with("triton") => {
                match (args.get(0, "tensor"), args.get(1, "dtype")) {
                    (Some(Value::Tensor(tensor)), Some(Value::Dtype(dtype, _))) => {
                        self.view_dtype(&tensor, &dtype)
                    }
                    _ => Value::unknown("`reinterpret` of an unknown tensor"),
                }
            }
            "autotune" if path.starts_with("triton") => {
                let configs = args.get(0, "configs").unwrap_or(Value::NONE);
                Value::Method(std::rc::Rc::new((configs, "autotune".to_owned())))
            }
            "get_active_torch_device" | "current_accelerator" => Value::Device,
            // Any number in the range is one that a run may draw.
            "randint" | "randrange" if path.starts_with("random.") || path.starts_with("numpy.random.") => {
                match args.positional.first() {
                    Some(Value::Int(least)) => Value::int(least.value),
                    _ => Value::unknown("a random number of an unknown range"),
                }
            }
            "cast" if args.positional.len() == 2 => args.positional.get(1).cloned().unwrap_or(Value::NONE),
            "constexpr" => args.positional.first().cloned().unwrap_or(Value::NONE),
            "dim_compress" => self.dim_compress(args),
            "calculate_settings" if args.positional.len() == 1 => self.calculate_settings(args),
            "is_hip"
            | "is_amd"
            | "is_xpu"
            | "is_npu"
            | "is_cpu"
            | "is_compiling"
            | "is_torchdynamo_compiling" => Value::bool(false),
            "is_available" | "is_cuda" | "is_hopper" => Value::bool(true),
            _ => {
                self.spoil(args);
                Value::unknown(format!("a call of `{path}`"))
            }
        })
    }

    /// `calculate_settings(n)` of several libraries: the least block that covers a row, and its warps.
    #[expect(clippy::unused_self, reason = "a function that is called, as others")]
    fn calculate_settings(&self, args: &Arguments<'a>) -> Value<'a> {
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

    fn call_python(&mut self, path: &str, args: &Arguments<'a>) -> Eval<'a, Option<Value<'a>>> {
        let first = args.positional.first().cloned();
        Ok(Some(match (path, first) {
            ("len", Some(value)) => match &value {
                Value::Tuple(values, from) => {
                    if let Some(input) = *from {
                        self.read_rank(input)?;
                    }
                    Value::Int(Number {
                        value: values.len() as i64,
                        source: from.map_or(Source::Computed, Source::Rank),
                        sizes: 0,
                    })
                }
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
                Value::Input(input) if self.is_used_as_tensor(*input) => match self.input_tensor(*input) {
                    Some(tensor) => Value::Int(tensor.shape.first().copied().unwrap_or(Number::plain(1))),
                    None => Value::unknown("an input of too many elements"),
                },
                other => match self.iterate(other)? {
                    Ok(values) => Value::int(values.len() as i64),
                    Err(error) => Value::unknown(error.to_string()),
                },
            },
            ("int" | "float" | "round" | "abs" | "bool", Some(value)) => {
                self.decide_number(&value)?;
                let value = match &value {
                    Value::Tensor(tensor) => match self.reduce_known(tensor, "item") {
                        Some(known) => known,
                        None => return Ok(Some(Value::unknown(super::view::ELEMENTS))),
                    },
                    _ => value,
                };
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
                        _ => Value::unknown("a float of something other than a number"),
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
            ("str", Some(Value::Device)) => Value::str("cuda:0"),
            ("str", Some(text @ Value::Str(..))) => text,
            ("str" | "repr", _) => Value::str("text"),
            ("print" | "super" | "id", _) => Value::NONE,
            ("min" | "max", Some(value)) => {
                let all = if args.positional.len() > 1 {
                    args.positional.clone()
                } else {
                    match self.iterate(&value)? {
                        Ok(values) => values,
                        Err(error) => return Ok(Some(Value::unknown(error.to_string()))),
                    }
                };
                for one in &all {
                    self.decide_number(one)?;
                }
                if path == "min" {
                    self.note_limit(&all);
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
                Err(error) => Value::unknown(error.to_string()),
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
                Err(error) => Value::unknown(error.to_string()),
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
            ("sorted", Some(_)) if args.keyword("key").is_some() => Value::unknown("`sorted` by a function"),
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
                                values.sort_by_key(|one| one.number().map_or(0, |number| number.value));
                            }
                            _ => {}
                        }
                        if path == "tuple" {
                            Value::tuple(values)
                        } else {
                            Value::list(values)
                        }
                    }
                    Err(error) => Value::unknown(error.to_string()),
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
                Err(error) => Value::unknown(error.to_string()),
            },
            ("zip", _) => {
                let mut columns = Vec::new();
                for one in &args.positional {
                    match self.iterate(one)? {
                        Ok(values) => columns.push(values),
                        Err(error) => return Ok(Some(Value::unknown(error.to_string()))),
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
                self.is_instance(&value, &classes.unwrap_or_default())?
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
                // The newest release has all functions that launchers look for.
                (Value::Module(path), Some(Value::Str(name, _))) if path.starts_with("triton") => {
                    Value::bool(!name.starts_with('_'))
                }
                // `torch.npu`, for example.
                (Value::Module(_), Some(Value::Str(name, _))) if is_elsewhere(name) => Value::bool(false),
                _ => Value::unknown("`hasattr`"),
            },
            ("callable", Some(value)) => Value::bool(matches!(value, Value::Closure(_) | Value::Kernel(_))),
            _ => return Ok(None),
        }))
    }

    /// The tuples of `itertools.product`, the last iterable the fastest.
    fn multiply_iterables(&mut self, args: &Arguments<'a>) -> Eval<'a> {
        let mut tuples: Vec<Vec<Value<'a>>> = vec![Vec::new()];
        for iterable in &args.positional {
            let items = match self.iterate(iterable)? {
                Ok(items) => items,
                Err(error) => return Ok(Value::unknown(error.to_string())),
            };
            if tuples.len().saturating_mul(items.len()) > MAX_TUPLES {
                return Ok(Value::unknown("too many combinations"));
            }
            let extend = |tuple: &Vec<Value<'a>>| {
                let with = |item: &Value<'a>| tuple.iter().chain([item]).cloned().collect();
                items.iter().map(with).collect::<Vec<Vec<Value<'a>>>>()
            };
            tuples = tuples.iter().flat_map(extend).collect();
        }
        Ok(Value::list(tuples.into_iter().map(Value::tuple).collect()))
    }

    fn is_instance(&mut self, value: &Value<'a>, classes: &[Value<'a>]) -> Eval<'a> {
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
        Ok(match value {
            Value::Input(input) => {
                if has(&["Tensor"]) && self.plan.kind(*input) == Some(&Kind::Undecided) {
                    return Ok(Value::bool(self.input_tensor(*input).is_some()));
                }
                if has(&["int", "float", "Number"]) {
                    self.decide_number(value)?;
                }
                if has(&["bool", "str"]) {
                    return Ok(Value::unknown("what a parameter is"));
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
        })
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
                        if b.is_constant() {
                            self.note_block(a, b.value);
                        }
                        let value = a.value / b.value + i64::from(a.value % b.value > 0);
                        Value::Int(Number::computed(value, a.sizes | b.sizes))
                    }
                    _ => {
                        let reason = a
                            .reason()
                            .or(b.reason())
                            .unwrap_or("a division of something other than integers");
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
            let first = args.positional.first().cloned().unwrap_or(Value::NONE);
            if let Value::Input(input) = &first {
                let change = self.make_items(*input, 1);
                return self.restart(change, "a product of an unknown parameter");
            }
            for one in first.elements().unwrap_or_default() {
                self.decide_number(&one)?;
            }
            let factors = first.numbers();
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
                reason.unwrap_or("mathematics of something other than numbers"),
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
            return Value::unknown(
                one.reason()
                    .unwrap_or("the least of something other than numbers"),
            );
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
