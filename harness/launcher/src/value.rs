//! Values of a launcher's evaluation. See `tensor` for stand-in tensors.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use ruff_python_ast as ast;

use super::tensor::Tensor;

/// The parameter of the launcher that a value was passed as, unchanged.
pub(super) type From = Option<usize>;

/// The names of a function's call, and those around it.
pub(super) struct Frame<'a> {
    pub names: RefCell<HashMap<String, Value<'a>>>,
    pub outer: Option<Scope<'a>>,
}

pub(super) type Scope<'a> = Rc<Frame<'a>>;

impl<'a> Frame<'a> {
    pub fn find(&self, name: &str) -> Option<Value<'a>> {
        let found = self.names.borrow().get(name).cloned();
        found.or_else(|| self.outer.as_ref()?.find(name))
    }

    pub fn bind(&self, name: &str, value: Value<'a>) {
        self.names.borrow_mut().insert(name.to_owned(), value);
    }
}

/// The origin of a number, if it was not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Computed,
    /// A size that inputs have.
    Size(usize),
    /// The number of dimensions of an input.
    Rank(usize),
    /// The stride of a storage's view.
    Stride {
        storage: usize,
        dim: usize,
    },
    /// A parameter.
    Param(usize),
}

/// An integer, with the sizes that it depends on: a set of bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub value: i64,
    pub source: Source,
    pub sizes: u64,
}

impl Number {
    pub const fn plain(value: i64) -> Self {
        Self::computed(value, 0)
    }

    pub const fn computed(value: i64, sizes: u64) -> Self {
        Self {
            value,
            source: Source::Computed,
            sizes,
        }
    }

    /// Whether it is the same for all sizes of the inputs.
    pub const fn is_constant(&self) -> bool {
        self.sizes & !GUESSED == 0
    }

    pub const fn of_size(value: i64, size: usize) -> Self {
        Self {
            value,
            source: Source::Size(size),
            sizes: bit(size),
        }
    }
}

/// The mark of numbers that depend on one that a caller passes, and that nothing decides.
pub(super) const GUESSED: u64 = 1 << 62;

/// The set of one size. Sizes past the first 62 share a bit.
pub(super) const fn bit(size: usize) -> u64 {
    1 << if size < 62 { size } else { 63 }
}

/// An element type, in a case file's short form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dtype {
    pub name: &'static str,
    /// Whether it is one of `triton.language`.
    pub is_triton: bool,
}

/// Element types: torch's and Triton's names, and a case file's.
const DTYPES: [(&str, &str); 26] = [
    ("float32", "f32"),
    ("float", "f32"),
    ("float16", "f16"),
    ("half", "f16"),
    ("bfloat16", "bf16"),
    ("float64", "f64"),
    ("double", "f64"),
    ("int8", "i8"),
    ("uint8", "u8"),
    ("int16", "i16"),
    ("short", "i16"),
    ("int32", "i32"),
    ("int", "i32"),
    ("int64", "i64"),
    ("long", "i64"),
    ("uint16", "u16"),
    ("uint32", "u32"),
    ("uint64", "u64"),
    ("bool", "i1"),
    ("int1", "i1"),
    ("float8_e4m3fn", "fp8e4nv"),
    ("float8e4nv", "fp8e4nv"),
    ("float8_e5m2", "fp8e5"),
    ("float8e5", "fp8e5"),
    ("float8_e4m3fnuz", "fp8e4b8"),
    ("float8_e5m2fnuz", "fp8e5b16"),
];

impl Dtype {
    pub const fn torch(name: &'static str) -> Self {
        Self {
            name,
            is_triton: false,
        }
    }

    /// Finds a dtype by its name in torch or Triton.
    pub fn find(name: &str, is_triton: bool) -> Option<Self> {
        let found = DTYPES.iter().find(|(long, _)| *long == name)?;
        Some(Self {
            name: found.1,
            is_triton,
        })
    }

    /// The dtype's name in Triton, or in torch.
    pub fn long(&self) -> String {
        let mut known = DTYPES.iter().filter(|(_, short)| *short == self.name);
        let long = if self.name == "i1" && self.is_triton {
            "int1"
        } else if self.is_triton && self.name.starts_with("fp8") {
            known.next_back().map_or("float32", |(long, _)| long)
        } else {
            known.next().map_or("float32", |(long, _)| long)
        };
        let module = if self.is_triton { "tl" } else { "torch" };
        format!("{module}.{long}")
    }

    pub fn is_float(&self) -> bool {
        self.name.starts_with('f') || self.name == "bf16"
    }

    pub fn bytes(&self) -> i64 {
        match self.name {
            "f64" | "i64" | "u64" => 8,
            "f32" | "i32" | "u32" => 4,
            "f16" | "bf16" | "i16" | "u16" => 2,
            _ => 1,
        }
    }
}

/// A function with the names around it.
pub(super) struct Closure<'a> {
    pub parameters: Option<&'a ast::Parameters>,
    pub body: Body<'a>,
    pub scope: Option<Scope<'a>>,
}

#[derive(Clone, Copy)]
pub(super) enum Body<'a> {
    Expr(&'a ast::Expr),
    Function(&'a ast::StmtFunctionDef),
}

/// The bounds of a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub lower: Option<Number>,
    pub upper: Option<Number>,
    pub step: i64,
}

/// A value of Python.
#[derive(Clone)]
pub(super) enum Value<'a> {
    None(From),
    Bool(bool, From),
    Int(Number),
    Float(f64),
    Str(Rc<str>, From),
    Dtype(Dtype, From),
    /// A tuple; of the shape of an input, with the input.
    Tuple(Rc<Vec<Value<'a>>>, From),
    List(Rc<RefCell<Vec<Value<'a>>>>),
    Dict(Rc<RefCell<Vec<(Value<'a>, Value<'a>)>>>),
    Slice(Slice),
    Ellipsis,
    Tensor(Tensor),
    /// A parameter whose type is still unknown.
    Input(usize),
    Closure(Rc<Closure<'a>>),
    Class(&'a ast::StmtClassDef),
    Kernel(&'a ast::StmtFunctionDef),
    /// `kernel[grid]`.
    Launcher(&'a ast::StmtFunctionDef, Rc<Value<'a>>),
    Object(Rc<RefCell<BTreeMap<String, Value<'a>>>>),
    /// A method of a value, before it is called.
    Method(Rc<(Value<'a>, String)>),
    /// A module, or something in it, by its dotted path.
    Module(Rc<str>),
    Device,
    /// A tensor descriptor with its block.
    Descriptor(Tensor, Rc<Vec<i64>>),
    Unknown(Rc<str>),
}

impl Value<'_> {
    pub const NONE: Self = Self::None(None);

    pub fn unknown(reason: impl Into<String>) -> Self {
        let mut reason: String = reason.into();
        if reason.len() > 200 {
            let end = (0..=200).rev().find(|at| reason.is_char_boundary(*at));
            reason.truncate(end.unwrap_or(0));
        }
        Self::Unknown(reason.into())
    }

    pub const fn bool(value: bool) -> Self {
        Self::Bool(value, None)
    }

    pub const fn int(value: i64) -> Self {
        Self::Int(Number::plain(value))
    }

    pub fn str(text: &str) -> Self {
        Self::Str(text.into(), None)
    }

    pub fn tuple(values: Vec<Self>) -> Self {
        Self::Tuple(Rc::new(values), None)
    }

    pub fn list(values: Vec<Self>) -> Self {
        Self::List(Rc::new(RefCell::new(values)))
    }

    pub fn dict(items: Vec<(Self, Self)>) -> Self {
        Self::Dict(Rc::new(RefCell::new(items)))
    }

    pub fn build_object(fields: Vec<(&str, Self)>) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        Self::Object(Rc::new(RefCell::new(fields.collect())))
    }

    pub fn module(path: &str) -> Self {
        Self::Module(path.into())
    }

    /// The number of an integer or a truth value.
    pub const fn number(&self) -> Option<Number> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Bool(value, _) => Some(Number::plain(if *value { 1 } else { 0 })),
            _ => None,
        }
    }

    pub const fn float(&self) -> Option<f64> {
        match self {
            Self::Float(float) => Some(*float),
            other => match other.number() {
                Some(number) => Some(number.value as f64),
                None => None,
            },
        }
    }

    /// The elements of a tuple or list.
    pub fn elements(&self) -> Option<Vec<Self>> {
        match self {
            Self::Tuple(values, _) => Some(values.to_vec()),
            Self::List(values) => Some(values.borrow().clone()),
            _ => None,
        }
    }

    /// The numbers of a tuple or list, or of a number.
    pub fn numbers(&self) -> Option<Vec<Number>> {
        match self {
            Self::Int(number) => Some(vec![*number]),
            other => other.elements()?.iter().map(Self::number).collect(),
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Unknown(reason) => Some(reason),
            _ => None,
        }
    }

    /// The sizes that a value depends on.
    pub fn sizes(&self) -> u64 {
        match self {
            Self::Int(number) => number.sizes,
            Self::Tuple(values, _) => values.iter().fold(0, |all, one| all | one.sizes()),
            Self::Tensor(tensor) => tensor.shape.iter().fold(0, |all, one| all | one.sizes),
            _ => 0,
        }
    }

    /// The parameter that a value was passed as.
    pub const fn from(&self) -> From {
        match self {
            Self::None(from) | Self::Bool(_, from) | Self::Str(_, from) | Self::Dtype(_, from) => *from,
            Self::Int(Number {
                source: Source::Param(at),
                ..
            })
            | Self::Input(at) => Some(*at),
            Self::Tensor(tensor) => tensor.input,
            _ => None,
        }
    }

    /// A word for the kind of value.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::None(_) => "None",
            Self::Bool(..) => "a truth value",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(..) => "a string",
            Self::Dtype(..) => "a dtype",
            Self::Tuple(..) => "a tuple",
            Self::List(_) => "a list",
            Self::Dict(_) => "a dict",
            Self::Slice(_) | Self::Ellipsis => "a slice",
            Self::Tensor(_) => "a tensor",
            Self::Input(_) => "a parameter",
            Self::Closure(_) | Self::Method(_) => "a function",
            Self::Class(_) => "a class",
            Self::Kernel(_) | Self::Launcher(..) => "a kernel",
            Self::Object(_) => "an object",
            Self::Module(_) => "a module",
            Self::Device => "a device",
            Self::Descriptor(..) => "a tensor descriptor",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// Compares two values; `None` if the result is unknown.
pub(super) fn is_equal(a: &Value<'_>, b: &Value<'_>) -> Option<bool> {
    if let (Some(a), Some(b)) = (a.number(), b.number()) {
        return Some(a.value == b.value);
    }
    if let (Some(a), Some(b)) = (a.float(), b.float()) {
        return Some(a == b);
    }
    if let (Some(a), Some(b)) = (a.elements(), b.elements()) {
        if a.len() != b.len() {
            return Some(false);
        }
        let mut all = Some(true);
        for (a, b) in a.iter().zip(&b) {
            match is_equal(a, b) {
                Some(false) => return Some(false),
                None => all = None,
                Some(true) => {}
            }
        }
        return all;
    }
    match (a, b) {
        (Value::None(_), Value::None(_)) | (Value::Device, Value::Device) => Some(true),
        (Value::Str(a, _), Value::Str(b, _)) => Some(a == b),
        (Value::Dtype(a, _), Value::Dtype(b, _)) => Some(a.name == b.name),
        (Value::Module(a), Value::Module(b)) => (a == b).then_some(true),
        // A device is compared with others, with names, and with the devices of modules.
        (Value::Unknown(_) | Value::Input(_), _)
        | (_, Value::Unknown(_) | Value::Input(_))
        | (Value::Device, Value::Module(_) | Value::Str(..))
        | (Value::Module(_) | Value::Str(..), Value::Device)
        | (Value::Tensor(_), Value::Tensor(_)) => None,
        (Value::Kernel(a), Value::Kernel(b)) => Some(std::ptr::eq(*a, *b)),
        (a, b)
            if a.kind() != b.kind() && !matches!((a, b), (Value::Module(_), _) | (_, Value::Module(_))) =>
        {
            Some(false)
        }
        _ => None,
    }
}

/// A module, or something in it. Names of torch's and Triton's are the same however they are imported.
pub(super) fn module_value<'a>(path: &str) -> Value<'a> {
    let path = path
        .strip_prefix("triton.language")
        .map_or_else(|| path.to_owned(), |rest| format!("tl{rest}"));
    let array = path
        .strip_prefix("torch.")
        .or_else(|| path.strip_prefix("numpy."));
    let member = array.map(|name| (name, false));
    let member = member.or_else(|| path.strip_prefix("tl.").map(|name| (name, true)));
    if let Some((name, is_triton)) = member
        && let Some(dtype) = Dtype::find(name, is_triton)
    {
        return Value::Dtype(dtype, None);
    }
    match path.as_str() {
        "math.inf" | "torch.inf" => Value::Float(f64::INFINITY),
        "math.pi" | "torch.pi" => Value::Float(std::f64::consts::PI),
        "math.e" => Value::Float(std::f64::consts::E),
        "torch.version.hip" => Value::NONE,
        "torch.version.cuda" => Value::str("12.8"),
        "triton.__version__" => Value::str("3.6.0"),
        "torch.__version__" => Value::str("2.9.0"),
        _ => Value::module(&path),
    }
}
