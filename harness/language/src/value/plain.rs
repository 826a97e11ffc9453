//! Values of plain Python: what module-level code, factories, heuristics and configurations compute with.

use std::rc::Rc;

use cerith_tile::ir::Elem;
use cerith_tile::source::Span;
use ruff_python_ast as ast;

use super::Value;
use super::callable::{JitOptions, UserFunction, Wrapper};
use crate::constant::{self, Constant};

/// A table of names, by its place among those of a trace.
pub type ScopeId = usize;

/// A value of plain Python.
#[derive(Clone, Debug)]
pub enum Plain {
    /// A number, string and so on, not marked as `constexpr`.
    Constant(Constant),
    /// `tl.constexpr(value)`.
    Constexpr(Box<Value>),
    /// A tuple.
    Tuple(Rc<[Plain]>),
    /// A list.
    List(Rc<Vec<Plain>>),
    /// A dict, in order.
    Dict(Rc<Vec<(Plain, Plain)>>),
    /// An instance of a named tuple: its fields and items.
    Named(Rc<[Rc<str>]>, Rc<[Plain]>),
    /// A module known by name only.
    Module(Rc<str>),
    /// A module that is one of the request's files.
    File(ScopeId),
    /// A name in a module, not looked up yet.
    Symbol(Rc<str>, Rc<str>),
    /// A name that Python itself has.
    Builtin(&'static str),
    /// A `@triton.jit` function.
    Jit(Rc<UserFunction>),
    /// A `@triton.constexpr_function`.
    ConstexprFunction(Rc<PlainFunction>),
    /// A plain function that a `tl.constexpr` holds: a kernel calls it with constexprs.
    HeldFunction(Rc<PlainFunction>),
    /// A method of a string, with the string.
    Bound(Rc<Plain>, Rc<str>),
    /// A plain function or lambda.
    Function(Rc<PlainFunction>),
    /// The class of a named tuple.
    NamedTuple(Rc<NamedTupleClass>),
    /// A class of aggregates.
    Aggregate(Rc<AggregateClass>),
    /// A class that kernels cannot use: an enum, or one of plain Python.
    Class(Rc<str>),
    /// A value of a kernel that has no counterpart in plain Python.
    Traced(Value),
    /// A class of `enum`, and its members by name.
    Enum(Rc<EnumClass>),
    /// A member of one: its class, its name and its value.
    Member(Rc<EnumClass>, Rc<str>, Box<Plain>),
    /// The return value of `triton.jit(…)`, `triton.autotune(…)` and the like.
    Decorator(Rc<Decorator>),
    /// A `triton.Config`.
    Config(Rc<Config>),
    /// A tensor of the host with a known dtype.
    Tensor(Elem),
    /// Not known, and why.
    Unknown(Rc<Unknown>),
}

/// A value that is not known.
#[derive(Debug)]
pub struct Unknown {
    /// Its origin in the source.
    pub span: Span,
    /// Its description, after "the reference does not know …".
    pub description: String,
    /// Whether it is known not to be `None`.
    pub is_object: bool,
}

/// A plain function.
#[derive(Debug)]
pub struct PlainFunction {
    /// Its name; `<lambda>` of a lambda.
    pub name: Rc<str>,
    /// Its code.
    pub body: PlainBody,
    /// The names it sees.
    pub scope: ScopeId,
    /// Defaults of its parameters.
    pub defaults: Vec<(Rc<str>, Plain)>,
}

/// The code of a plain function.
#[derive(Debug)]
pub enum PlainBody {
    /// A `def`.
    Def(Rc<ast::StmtFunctionDef>),
    /// A lambda.
    Lambda(Box<ast::ExprLambda>),
}

/// The arguments of a call.
pub struct Arguments {
    /// By position.
    pub positional: Vec<Plain>,
    /// By name.
    pub keyword: Vec<(Rc<str>, Plain)>,
}

impl Arguments {
    /// The argument of a parameter, by its place and name.
    pub fn get(&self, place: usize, name: &str) -> Option<&Plain> {
        self.positional.get(place).or_else(|| {
            self.keyword
                .iter()
                .find(|(key, _)| &**key == name)
                .map(|(_, v)| v)
        })
    }
}

/// A class of `enum`.
#[derive(Debug)]
pub struct EnumClass {
    /// Its name.
    pub name: Rc<str>,
    /// Its members and their values, in order.
    pub members: Vec<(Rc<str>, Plain)>,
}

/// The class of a named tuple.
#[derive(Debug)]
pub struct NamedTupleClass {
    /// Its name.
    pub name: Rc<str>,
    /// Its fields.
    pub fields: Rc<[Rc<str>]>,
    /// Defaults of fields.
    pub defaults: Vec<(Rc<str>, Plain)>,
}

/// A class of aggregates.
#[derive(Debug)]
pub struct AggregateClass {
    /// Its name.
    pub name: Rc<str>,
    /// Its fields, those of its parents first.
    pub fields: Vec<(Rc<str>, Field)>,
    /// Defaults of fields.
    pub defaults: Vec<(Rc<str>, Plain)>,
    /// Its `__init__`, and whether it is a `@constexpr_function`.
    pub init: Option<(Rc<PlainFunction>, bool)>,
    /// Its methods, those of its parents included.
    pub members: Vec<(Rc<str>, Plain)>,
}

/// The values that a field may hold.
#[derive(Clone, Debug)]
pub enum Field {
    /// `tl.tensor`.
    Tensor,
    /// `tl.constexpr`.
    Constexpr,
    /// `tl.tuple`.
    Tuple,
    /// `tl.tensor_descriptor`.
    Descriptor,
    /// Another aggregate.
    Aggregate(Rc<AggregateClass>),
    /// Something that the reference cannot check.
    Other,
}

impl AggregateClass {
    /// A method.
    pub fn find_member(&self, name: &str) -> Option<&Plain> {
        self.members
            .iter()
            .rev()
            .find(|(member, _)| &**member == name)
            .map(|(_, value)| value)
    }
}

impl Field {
    /// The kind that an annotation in a class declares.
    pub fn from_annotation(annotation: &Plain) -> Self {
        match annotation {
            Plain::Symbol(module, name) if &**module == "tl" => match &**name {
                "tensor" => Self::Tensor,
                "constexpr" => Self::Constexpr,
                "tuple" => Self::Tuple,
                "tensor_descriptor" => Self::Descriptor,
                _ => Self::Other,
            },
            Plain::Aggregate(class) => Self::Aggregate(Rc::clone(class)),
            _ => Self::Other,
        }
    }

    /// Whether it may hold a value.
    pub fn can_hold(&self, value: &Value) -> bool {
        match self {
            Self::Tensor => matches!(value, Value::Tensor(_)),
            Self::Constexpr => !matches!(
                value,
                Value::Tensor(_) | Value::Tuple { .. } | Value::Aggregate(_) | Value::Descriptor(_)
            ),
            Self::Tuple => matches!(value, Value::Tuple { .. } | Value::List(_)),
            Self::Descriptor => matches!(value, Value::Descriptor(_)),
            Self::Aggregate(class) => matches!(value, Value::Aggregate(it) if Rc::ptr_eq(&it.class, class)),
            Self::Other => true,
        }
    }

    /// The annotation, in messages.
    pub fn text(&self) -> &str {
        match self {
            Self::Tensor => "tensor",
            Self::Constexpr => "constexpr",
            Self::Tuple => "tuple",
            Self::Descriptor => "tensor_descriptor",
            Self::Aggregate(class) => &class.name,
            Self::Other => "another type",
        }
    }
}

/// The result of a call that is then used as a decorator.
#[derive(Debug)]
pub enum Decorator {
    /// `triton.jit(…)`.
    Jit(JitOptions),
    /// `triton.autotune(…)`, `triton.heuristics(…)`.
    Wrap(Rc<Wrapper>),
}

/// A `triton.Config`.
#[derive(Debug)]
pub struct Config {
    /// Kernel parameters.
    pub kwargs: Vec<(Rc<str>, Plain)>,
    /// Launch options: `num_warps`, `num_stages`, …
    pub options: Vec<(Rc<str>, Plain)>,
}

/// Functions of Triton's and Python's libraries that module-level code may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// `triton.jit`.
    Jit,
    /// `triton.constexpr_function`.
    ConstexprFunction,
    /// `triton.autotune`.
    Autotune,
    /// `triton.heuristics`.
    Heuristics,
    /// `triton.Config`.
    Config,
    /// `tl.constexpr`.
    Constexpr,
    /// `triton.cdiv`.
    Cdiv,
    /// `triton.next_power_of_2`.
    NextPowerOf2,
    /// `triton.aggregate`.
    Aggregate,
    /// `collections.namedtuple`.
    NamedTuple,
}

impl Native {
    /// The function that a name of a module is.
    pub fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("triton" | "triton.runtime.jit" | "triton.runtime", "jit") => Self::Jit,
            ("triton" | "triton.runtime.jit", "constexpr_function") => Self::ConstexprFunction,
            ("triton" | "triton.runtime" | "triton.runtime.autotuner", "autotune") => Self::Autotune,
            ("triton" | "triton.runtime" | "triton.runtime.autotuner", "heuristics") => Self::Heuristics,
            ("triton" | "triton.runtime" | "triton.runtime.autotuner", "Config") => Self::Config,
            ("tl", "constexpr") => Self::Constexpr,
            ("triton", "cdiv") => Self::Cdiv,
            ("triton", "next_power_of_2") => Self::NextPowerOf2,
            ("triton", "aggregate") | ("tl", "_aggregate") => Self::Aggregate,
            ("collections", "namedtuple") => Self::NamedTuple,
            _ => return None,
        })
    }
}

impl PlainFunction {
    /// The function of a `def`.
    pub fn from_def(def: Rc<ast::StmtFunctionDef>, scope: ScopeId, defaults: Vec<(Rc<str>, Plain)>) -> Self {
        Self {
            name: def.name.as_str().into(),
            body: PlainBody::Def(def),
            scope,
            defaults,
        }
    }

    /// The parameters, if there are any.
    pub fn parameters(&self) -> Option<&ast::Parameters> {
        match &self.body {
            PlainBody::Def(def) => Some(&def.parameters),
            PlainBody::Lambda(lambda) => lambda.parameters.as_deref(),
        }
    }
}

impl Plain {
    /// Python's `None`.
    pub const NONE: Self = Self::Constant(Constant::None);

    /// A value that is not computed; messages call it `what`.
    pub fn new_unknown(span: Span, what: impl Into<String>) -> Self {
        Self::Unknown(Rc::new(Unknown {
            span,
            description: what.into(),
            is_object: false,
        }))
    }

    /// An unknown object other than `None`.
    pub fn new_object(what: impl Into<String>) -> Self {
        Self::Unknown(Rc::new(Unknown {
            span: Span::default(),
            description: what.into(),
            is_object: true,
        }))
    }

    /// A string.
    pub fn from_text(text: &str) -> Self {
        Self::Constant(Constant::Str(text.into()))
    }

    /// An int.
    pub const fn from_int(value: i128) -> Self {
        Self::Constant(Constant::Int(value))
    }

    /// A bool.
    pub const fn from_bool(value: bool) -> Self {
        Self::Constant(Constant::Bool(value))
    }

    /// A name of a module that is not evaluated, as `torch.float32`.
    pub fn new_symbol(module: &Rc<str>, name: &str) -> Self {
        Self::Symbol(Rc::clone(module), name.into())
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&Rc<str>> {
        match self {
            Self::Constant(Constant::Str(text)) => Some(text),
            _ => None,
        }
    }

    /// A kernel's compile-time value as plain Python sees it.
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Constant(constant) => Self::Constant(constant.clone()),
            Value::Tuple { items, names } if names.is_empty() => {
                Self::Tuple(items.iter().map(Self::from_value).collect())
            }
            Value::Tuple { items, names } => {
                Self::Named(Rc::clone(names), items.iter().map(Self::from_value).collect())
            }
            Value::List(items) => Self::List(Rc::new(items.iter().map(Self::from_value).collect())),
            Value::Function(function) => Self::Jit(Rc::clone(function)),
            Value::Aggregate(_) => Self::Traced(value.clone()),
            Value::Python(plain) => (**plain).clone(),
            _ => Self::new_unknown(Span::default(), "a value of a kernel"),
        }
    }

    /// The items of a sequence.
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::Tuple(items) | Self::Named(_, items) => Some(items),
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Whether Python counts it as true, where that is known.
    pub fn truth(&self) -> Option<bool> {
        Some(match self {
            Self::Constant(value) => constant::is_truthy(value),
            Self::Constexpr(value) => match &**value {
                Value::Constant(value) => constant::is_truthy(value),
                Value::Tuple { items, .. } | Value::List(items) => !items.is_empty(),
                _ => true,
            },
            Self::Tuple(items) | Self::Named(_, items) => !items.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Dict(items) => !items.is_empty(),
            Self::Unknown(_) | Self::Symbol(..) | Self::Traced(_) | Self::Tensor(_) => return None,
            _ => true,
        })
    }

    /// The constant that this is, `constexpr` or not.
    pub fn constant(&self) -> Option<&Constant> {
        match self {
            Self::Constant(value) => Some(value),
            Self::Constexpr(value) => match &**value {
                Value::Constant(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }
}
