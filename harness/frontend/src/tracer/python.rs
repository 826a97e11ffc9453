//! Python's own functions as kernels may use them, `math`, and the parts of `tl` that steer tracing itself.

use std::rc::Rc;

use cerith_python::builtin::Builtins;
use cerith_python::math::{self, Math};
use cerith_tile::rules::{Rule, Rules, Version};

use super::{Host, Traced, Tracer};
use crate::builtin::Builtin;
use crate::constant::Failure;
use crate::value::{Constant, RangeValue, TypeValue, Value};

/// `range(…)`.
static RANGE: Builtin = Builtin {
    signature: "range(*args)",
    lower: range,
};
/// `tl.range(…)` of 3.0 and 3.1, of 3.2, of 3.3, of 3.4, and since 3.5.
static TL_RANGES: [(Version, Builtin); 5] = [
    (
        Version::new(3, 5, 0),
        Builtin {
            signature: "tl.range(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, \
                        disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False)",
            lower: hinted_range,
        },
    ),
    (
        Version::new(3, 4, 0),
        Builtin {
            signature: "tl.range(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, \
                        disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False)",
            lower: hinted_range,
        },
    ),
    (
        Version::new(3, 3, 0),
        Builtin {
            signature: "tl.range(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, \
                        disallow_acc_multi_buffer=False, flatten=False)",
            lower: hinted_range,
        },
    ),
    (
        Version::new(3, 2, 0),
        Builtin {
            signature: "tl.range(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None)",
            lower: hinted_range,
        },
    ),
    (
        Version::new(3, 0, 0),
        Builtin {
            signature: "tl.range(arg1, arg2=None, step=None, num_stages=None)",
            lower: hinted_range,
        },
    ),
];

fn hinted_range(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    for (hint, value) in ["num_stages", "loop_unroll_factor"]
        .iter()
        .zip(args.iter().skip(3))
    {
        if !matches!(
            value,
            Value::Constant(Constant::None | Constant::Bool(_) | Constant::Int(_))
        ) {
            let text = tr.type_text(value);
            return Err(tr.reject(format!(
                "`{hint}` of a loop is an int known at compile time, not {text}"
            )));
        }
    }
    two_sided(tr, args, false)
}

/// `tl.static_range(…)`.
static STATIC_RANGE: Builtin = Builtin {
    signature: "tl.static_range(arg1, arg2=None, step=None)",
    lower: |tr, args| two_sided(tr, args, true),
};
/// `tl.static_assert(…)`; its message is evaluated only when it is needed, so calls of it do not come here.
pub(super) static STATIC_ASSERT: Builtin = Builtin {
    signature: "tl.static_assert(cond, msg='')",
    lower: |_, _| Ok(Value::NONE),
};
/// `tl.static_print(…)`; what it prints at compile time is not part of a kernel's meaning.
static STATIC_PRINT: Builtin = Builtin {
    signature: "tl.static_print(*values, sep=' ', end='', file=None, flush=False)",
    lower: |_, _| Ok(Value::NONE),
};
/// `tl.constexpr(…)`.
static CONSTEXPR: Builtin = Builtin {
    signature: "tl.constexpr(value)",
    lower: constexpr,
};
/// `tl.tuple(…)`, `tuple(…)`.
static TUPLE: Builtin = Builtin {
    signature: "tl.tuple(args=())",
    lower: tuple,
};
/// `list(…)`.
static LIST: Builtin = Builtin {
    signature: "list(iterable=())",
    lower: tuple,
};
/// `len(…)`.
static LEN: Builtin = Builtin {
    signature: "len(obj)",
    lower: len,
};
/// `int(…)`.
static INT: Builtin = Builtin {
    signature: "int(x=0)",
    lower: |tr, args| converted(tr, args, "int"),
};
/// `float(…)`.
static FLOAT: Builtin = Builtin {
    signature: "float(x=0.0)",
    lower: |tr, args| converted(tr, args, "float"),
};
/// `isinstance(…)`.
static ISINSTANCE: Builtin = Builtin {
    signature: "isinstance(obj, class_or_tuple)",
    lower: isinstance,
};
/// `getattr(…)`.
static GETATTR: Builtin = Builtin {
    signature: "getattr(*args)",
    lower: getattr,
};
/// `hasattr(…)`.
static HASATTR: Builtin = Builtin {
    signature: "hasattr(obj, name)",
    lower: hasattr,
};

/// Python's own names that Triton's compiler knows.
pub(super) fn builtin(name: &str) -> Option<Value> {
    Some(Value::Builtin(match name {
        "range" => &RANGE,
        "len" => &LEN,
        "int" => &INT,
        "float" => &FLOAT,
        "list" => &LIST,
        "isinstance" => &ISINSTANCE,
        "getattr" => &GETATTR,
        "hasattr" => &HASATTR,
        _ => return None,
    }))
}

/// What the tracer itself answers for in modules known by name.
pub(super) fn module_attribute(module: &str, name: &str, rules: Rules) -> Option<Value> {
    if module == "math" {
        return match math::constant(name) {
            Some(value) => Some(Value::Constant(Constant::Float(value))),
            None => MATH
                .iter()
                .find(|function| function.short_name() == name)
                .map(Value::Builtin),
        };
    }
    if module != "tl" {
        return None;
    }
    Some(Value::Builtin(match name {
        "range" => {
            let (_, range) = TL_RANGES.iter().find(|(since, _)| rules.version >= *since)?;
            range
        }
        "static_range" => &STATIC_RANGE,
        "static_assert" => &STATIC_ASSERT,
        "static_print" => &STATIC_PRINT,
        "constexpr" => &CONSTEXPR,
        "tuple" if rules.version >= Version::new(3, 3, 0) => &TUPLE,
        _ => return None,
    }))
}

fn range(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let Some(Value::Tuple { items, .. }) = args.first() else {
        return Err(tr.reject("range takes 1 to 3 arguments"));
    };
    let (start, stop, step) = match &**items {
        [stop] => (Value::int(0), stop.clone(), Value::int(1)),
        [start, stop] => (start.clone(), stop.clone(), Value::int(1)),
        [start, stop, step] => (start.clone(), stop.clone(), step.clone()),
        _ => return Err(tr.reject("range takes 1 to 3 arguments")),
    };
    Ok(Value::Range(Rc::new(RangeValue {
        is_static: false,
        is_python: true,
        start,
        stop,
        step,
    })))
}

fn two_sided(tr: &mut Tracer<'_>, args: &[Value], is_static: bool) -> Traced<Value> {
    let [first, second, step, ..] = args else {
        return Err(tr.reject("a range takes 1 to 3 arguments"));
    };
    let (start, stop) = if second.is_none() {
        (Value::int(0), first.clone())
    } else {
        (first.clone(), second.clone())
    };
    let step = if step.is_none() {
        Value::int(1)
    } else {
        step.clone()
    };
    if is_static
        && ![&start, &stop, &step]
            .iter()
            .all(|value| matches!(value, Value::Constant(_)))
    {
        return Err(tr.reject("the bounds and step of `tl.static_range` have to be constexprs"));
    }
    Ok(Value::Range(Rc::new(RangeValue {
        is_static,
        is_python: false,
        start,
        stop,
        step,
    })))
}

fn constexpr(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    match args {
        [Value::Tensor(_)] => Err(tr.unsupported("`tl.constexpr` of a tensor")),
        [value] => Ok(value.clone()),
        _ => Err(tr.reject("`tl.constexpr` takes one argument")),
    }
}

fn tuple(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    match args {
        [Value::Tuple { items, .. } | Value::List(items)] => Ok(Value::tuple(items.iter().cloned())),
        _ => Err(tr.reject("a tuple is made from a tuple or a list")),
    }
}

fn len(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    match args {
        [Value::Tuple { items, .. } | Value::List(items)] => Ok(Value::int(items.len() as i128)),
        [Value::Constant(Constant::Str(text))] => Ok(Value::int(text.chars().count() as i128)),
        [value] => {
            let text = tr.type_text(value);
            Err(tr.reject(format!("{text} has no len()")))
        }
        _ => Err(tr.reject("len takes one argument")),
    }
}

fn converted(tr: &mut Tracer<'_>, args: &[Value], to: &str) -> Traced<Value> {
    match args {
        [Value::Constant(value)] => convert(to, value)
            .map(Value::Constant)
            .map_err(|failure| tr.failure(failure)),
        [value] => {
            let text = tr.type_text(value);
            Err(tr.reject(format!(
                "{to}() takes a value that is known at compile time, not {text}"
            )))
        }
        _ => Err(tr.reject(format!("{to} takes one argument"))),
    }
}

/// `int(value)` and the like: a function of Python's of one value.
fn convert(to: &str, value: &Constant) -> Result<Constant, Failure> {
    match Builtins::find(to) {
        Some(builtin) => Ok(builtin.call(std::slice::from_ref(value), &mut |_| Ok(()))?),
        None => Err(Failure::Unsupported(format!("`{to}`"))),
    }
}

fn isinstance(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let [value, class] = args else {
        return Err(tr.reject("isinstance takes two arguments"));
    };
    let classes = match class {
        Value::Tuple { .. } | Value::List(_) if tr.speaks(Rule::TupleVariables) => {
            return Err(tr.reject("a tuple of classes is a tuple of Triton's, and no class"));
        }
        Value::Tuple { items, .. } | Value::List(items) => items.to_vec(),
        other => vec![other.clone()],
    };
    let mut found = false;
    for class in &classes {
        found |= match class {
            Value::Builtin(class) => match (class.name(), value) {
                ("int", Value::Constant(Constant::Int(_) | Constant::Bool(_)))
                | ("float", Value::Constant(Constant::Float(_)))
                | ("tl.tuple", Value::Tuple { .. } | Value::List(_)) => true,
                ("tl.pointer_type", Value::Constant(Constant::Type(TypeValue::Elem(elem)))) => elem.is_ptr(),
                // A constexpr is unwrapped before it is asked what it is.
                ("int" | "float" | "list" | "tl.tuple" | "tl.constexpr" | "tl.pointer_type", _) => false,
                (name, _) => return Err(tr.unsupported(format!("isinstance with `{name}`"))),
            },
            Value::Constant(Constant::Type(TypeValue::Named(name))) => match (*name, value) {
                ("tensor", _) => matches!(value, Value::Tensor(_)),
                ("tensor_descriptor", _) => matches!(value, Value::Descriptor(_)),
                ("dtype", Value::Constant(Constant::Type(_)))
                | ("block_type", Value::Constant(Constant::Type(TypeValue::Block(..)))) => true,
                ("dtype" | "block_type" | "constexpr", _) => false,
                _ => return Err(tr.unsupported(format!("isinstance with `{name}`"))),
            },
            Value::Python(class) => match (&class.callable, value) {
                (Host::NamedTuple(class), Value::Tuple { names, .. }) => *class.fields == **names,
                (Host::Aggregate(class), Value::Aggregate(value)) => Rc::ptr_eq(&value.class, class),
                (Host::NamedTuple(_) | Host::Aggregate(_), _) => false,
                _ => return Err(tr.unsupported("isinstance with this class")),
            },
            _ => return Err(tr.unsupported("isinstance with this class")),
        };
    }
    Ok(Value::bool(found))
}

fn getattr(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let Some(Value::Tuple { items, .. }) = args.first() else {
        return Err(tr.reject("getattr takes 2 or 3 arguments"));
    };
    let items = Rc::clone(items);
    match &*items {
        [value, Value::Constant(Constant::Str(name))] => tr.attribute(value, name),
        [value, Value::Constant(Constant::Str(name)), default] => match tr.attribute(value, name) {
            Err(super::Stop::Rejected(_)) => Ok(default.clone()),
            other => other,
        },
        _ => Err(tr.reject("getattr takes an object and a name that is known at compile time")),
    }
}

fn hasattr(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    match args {
        [value, Value::Constant(Constant::Str(name))] => match tr.attribute(value, name) {
            Ok(_) => Ok(Value::bool(true)),
            Err(super::Stop::Rejected(_)) => Ok(Value::bool(false)),
            Err(stop) => Err(stop),
        },
        _ => Err(tr.reject("hasattr takes an object and a name that is known at compile time")),
    }
}

macro_rules! math_table {
    ($($name:literal),+ $(,)?) => {
        /// The functions of Python's `math`, of compile-time values.
        static MATH: &[Builtin] = &[$( Builtin {
            signature: concat!("math.", $name, "(*args)"),
            lower: |tr, args| math_call(tr, $name, args),
        } ),+];
    };
}

math_table![
    "ceil", "copysign", "exp", "exp2", "fabs", "floor", "gcd", "isinf", "isnan", "log", "log10", "log2",
    "pow", "sqrt", "trunc"
];

fn math_call(tr: &mut Tracer<'_>, name: &str, args: &[Value]) -> Traced<Value> {
    let Some(Value::Tuple { items, .. }) = args.first() else {
        return Err(tr.reject("too few arguments"));
    };
    let mut constants = Vec::with_capacity(items.len());
    for item in items.iter() {
        match item {
            Value::Constant(constant) => constants.push(constant.clone()),
            _ => {
                return Err(tr.reject(format!(
                    "`math.{name}` is Python's and takes values that are known at compile time; use `tl.{name}`"
                )));
            }
        }
    }
    match Math::find(name).map(|function| function.call(&constants, &mut |_| Ok(()))) {
        Some(Ok(value)) => Ok(Value::Constant(value)),
        Some(Err(error)) => Err(tr.failure(error.into())),
        None => Err(tr.reject(format!("`math.{name}` does not take these arguments"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_numbers_is_known_to_kernels() {
        let known: Vec<&str> = MATH.iter().map(Builtin::short_name).collect();
        let all: Vec<&str> = Math::<Constant>::TABLE
            .iter()
            .map(|function| function.name)
            .filter(|name| *name != "prod")
            .collect();
        assert_eq!(known, all);
    }
}
