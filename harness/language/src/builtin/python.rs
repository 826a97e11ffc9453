//! Python's own functions as kernels may use them, `math`, and the parts of `tl` that steer tracing itself.

use std::rc::Rc;

use cerith_python::builtin::Builtins;
use cerith_python::math::{self, Math};
use cerith_tile::rules::{Rule, Rules, Version};

use crate::constant::{Constant, Failure, TypeValue};
use crate::lowering::Lowering;
use crate::semantic::types::type_text;
use crate::stop::{Stop, Traced};
use crate::value::callable::{Builtin, Caller};
use crate::value::plain::Plain;
use crate::value::{RangeValue, Value};

/// `range(…)`.
static RANGE: Builtin = Builtin::of_operations("range(*args)", lower_range);
/// `tl.range(…)` of 3.0 and 3.1, of 3.2, of 3.3, of 3.4, and since 3.5.
static TL_RANGES: [(Version, Builtin); 5] = [
    (
        Version::new(3, 5, 0),
        Builtin::of_operations(
            "tl.range(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, \
                        disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False)",
            hinted_range,
        ),
    ),
    (
        Version::new(3, 4, 0),
        Builtin::of_operations(
            "tl.range(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, \
                        disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False)",
            hinted_range,
        ),
    ),
    (
        Version::new(3, 3, 0),
        Builtin::of_operations(
            "tl.range(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, \
                        disallow_acc_multi_buffer=False, flatten=False)",
            hinted_range,
        ),
    ),
    (
        Version::new(3, 2, 0),
        Builtin::of_operations(
            "tl.range(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None)",
            hinted_range,
        ),
    ),
    (
        Version::new(3, 0, 0),
        Builtin::of_operations(
            "tl.range(arg1, arg2=None, step=None, num_stages=None)",
            hinted_range,
        ),
    ),
];

fn hinted_range(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    for (hint, value) in ["num_stages", "loop_unroll_factor"]
        .iter()
        .zip(args.iter().skip(3))
    {
        if !matches!(
            value,
            Value::Constant(Constant::None | Constant::Bool(_) | Constant::Int(_))
        ) {
            let text = type_text(lo, value);
            return Err(lo.reject(format!(
                "`{hint}` of a loop is an int known at compile time, not {text}"
            )));
        }
    }
    two_sided(lo, args, false)
}

/// `tl.static_range(…)`.
static STATIC_RANGE: Builtin =
    Builtin::of_operations("tl.static_range(arg1, arg2=None, step=None)", |lo, args| {
        two_sided(lo, args, true)
    });
/// `tl.static_assert(…)`; its message is evaluated only when it is needed, so calls of it do not come here.
pub static STATIC_ASSERT: Builtin =
    Builtin::of_operations("tl.static_assert(cond, msg='')", |_, _| Ok(Value::NONE));
/// `tl.static_print(…)`; what it prints at compile time is not part of a kernel's meaning.
static STATIC_PRINT: Builtin = Builtin::of_operations(
    "tl.static_print(*values, sep=' ', end='', file=None, flush=False)",
    |_, _| Ok(Value::NONE),
);
/// `tl.constexpr(…)`.
static CONSTEXPR: Builtin = Builtin::of_operations("tl.constexpr(value)", lower_constexpr);
/// `tl.tuple(…)`, `tuple(…)`.
static TUPLE: Builtin = Builtin::of_operations("tl.tuple(args=())", lower_tuple);
/// `list(…)`.
static LIST: Builtin = Builtin::of_operations("list(iterable=())", lower_tuple);
/// `len(…)`.
static LEN: Builtin = Builtin::of_operations("len(obj)", len);
/// `int(…)`.
static INT: Builtin = Builtin::of_operations("int(x=0)", |lo, args| lower_conversion(lo, args, "int"));
/// `float(…)`.
static FLOAT: Builtin =
    Builtin::of_operations("float(x=0.0)", |lo, args| lower_conversion(lo, args, "float"));
/// `isinstance(…)`.
static ISINSTANCE: Builtin = Builtin::of_operations("isinstance(obj, class_or_tuple)", lower_isinstance);
/// `getattr(…)`.
static GETATTR: Builtin = Builtin::of_calls("getattr(*args)", lower_getattr);
/// `hasattr(…)`.
static HASATTR: Builtin = Builtin::of_calls("hasattr(obj, name)", lower_hasattr);

/// Python's own names that Triton's compiler knows.
pub fn find_builtin(name: &str) -> Option<Value> {
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

/// A name of `math` or `tl` that is defined here.
pub(crate) fn module_attribute(module: &str, name: &str, rules: Rules) -> Option<Value> {
    if module == "math" {
        return match math::find_constant(name) {
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

fn lower_range(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let Some(Value::Tuple { items, .. }) = args.first() else {
        return Err(lo.reject("range takes 1 to 3 arguments"));
    };
    let (start, stop, step) = match &**items {
        [stop] => (Value::from_int(0), stop.clone(), Value::from_int(1)),
        [start, stop] => (start.clone(), stop.clone(), Value::from_int(1)),
        [start, stop, step] => (start.clone(), stop.clone(), step.clone()),
        _ => return Err(lo.reject("range takes 1 to 3 arguments")),
    };
    Ok(Value::Range(Rc::new(RangeValue {
        is_static: false,
        is_python: true,
        start,
        stop,
        step,
    })))
}

fn two_sided(lo: &mut Lowering, args: &[Value], is_static: bool) -> Traced<Value> {
    let [first, second, step, ..] = args else {
        return Err(lo.reject("a range takes 1 to 3 arguments"));
    };
    let (start, stop) = if second.is_none() {
        (Value::from_int(0), first.clone())
    } else {
        (first.clone(), second.clone())
    };
    let step = if step.is_none() {
        Value::from_int(1)
    } else {
        step.clone()
    };
    if is_static
        && ![&start, &stop, &step]
            .iter()
            .all(|value| matches!(value, Value::Constant(_)))
    {
        return Err(lo.reject("the bounds and step of `tl.static_range` have to be constexprs"));
    }
    Ok(Value::Range(Rc::new(RangeValue {
        is_static,
        is_python: false,
        start,
        stop,
        step,
    })))
}

fn lower_constexpr(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    match args {
        [Value::Tensor(_)] => Err(lo.report_unsupported("`tl.constexpr` of a tensor")),
        [value] => Ok(value.clone()),
        _ => Err(lo.reject("`tl.constexpr` takes one argument")),
    }
}

fn lower_tuple(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    match args {
        [Value::Tuple { items, .. } | Value::List(items)] => Ok(Value::new_tuple(items.iter().cloned())),
        _ => Err(lo.reject("a tuple is made from a tuple or a list")),
    }
}

fn len(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    match args {
        [Value::Tuple { items, .. } | Value::List(items)] => Ok(Value::from_int(items.len() as i128)),
        [Value::Constant(Constant::Str(text))] => Ok(Value::from_int(text.chars().count() as i128)),
        [value] => {
            let text = type_text(lo, value);
            Err(lo.reject(format!("{text} has no len()")))
        }
        _ => Err(lo.reject("len takes one argument")),
    }
}

fn lower_conversion(lo: &mut Lowering, args: &[Value], to: &str) -> Traced<Value> {
    match args {
        [Value::Constant(value)] => convert(to, value)
            .map(Value::Constant)
            .map_err(|failure| lo.report_failure(failure)),
        [value] => {
            let text = type_text(lo, value);
            Err(lo.reject(format!(
                "{to}() takes a value that is known at compile time, not {text}"
            )))
        }
        _ => Err(lo.reject(format!("{to} takes one argument"))),
    }
}

/// `int(value)` and the like: a function of Python's of one value.
fn convert(to: &str, value: &Constant) -> Result<Constant, Failure> {
    match Builtins::find(to) {
        Some(builtin) => Ok(builtin.call(std::slice::from_ref(value), &mut |_| Ok(()))?),
        None => Err(Failure::Unsupported(format!("`{to}`"))),
    }
}

fn lower_isinstance(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let [value, class] = args else {
        return Err(lo.reject("isinstance takes two arguments"));
    };
    let classes = match class {
        Value::Tuple { .. } | Value::List(_) if lo.has_rule(Rule::TupleVariables) => {
            return Err(lo.reject("a tuple of classes is a tuple of Triton's, and no class"));
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
                // A constexpr is unwrapped before the test of its type.
                ("int" | "float" | "list" | "tl.tuple" | "tl.constexpr" | "tl.pointer_type", _) => false,
                (name, _) => return Err(lo.report_unsupported(format!("isinstance with `{name}`"))),
            },
            Value::Constant(Constant::Type(TypeValue::Named(name))) => match (*name, value) {
                ("tensor", _) => matches!(value, Value::Tensor(_)),
                ("tensor_descriptor", _) => matches!(value, Value::Descriptor(_)),
                ("dtype", Value::Constant(Constant::Type(_)))
                | ("block_type", Value::Constant(Constant::Type(TypeValue::Block(..)))) => true,
                ("dtype" | "block_type" | "constexpr", _) => false,
                _ => return Err(lo.report_unsupported(format!("isinstance with `{name}`"))),
            },
            Value::Python(class) => match (&**class, value) {
                (Plain::NamedTuple(class), Value::Tuple { names, .. }) => *class.fields == **names,
                (Plain::Aggregate(class), Value::Aggregate(value)) => Rc::ptr_eq(&value.class, class),
                (Plain::NamedTuple(_) | Plain::Aggregate(_), _) => false,
                _ => return Err(lo.report_unsupported("isinstance with this class")),
            },
            _ => return Err(lo.report_unsupported("isinstance with this class")),
        };
    }
    Ok(Value::from_bool(found))
}

fn lower_getattr(caller: &mut dyn Caller, args: &[Value]) -> Traced<Value> {
    let Some(Value::Tuple { items, .. }) = args.first() else {
        return Err(caller.lo().reject("getattr takes 2 or 3 arguments"));
    };
    let items = Rc::clone(items);
    match &*items {
        [value, Value::Constant(Constant::Str(name))] => caller.get_attribute(value, name),
        [value, Value::Constant(Constant::Str(name)), default] => match caller.get_attribute(value, name) {
            Err(Stop::Rejected(_)) => Ok(default.clone()),
            other => other,
        },
        _ => Err(caller
            .lo()
            .reject("getattr takes an object and a name that is known at compile time")),
    }
}

fn lower_hasattr(caller: &mut dyn Caller, args: &[Value]) -> Traced<Value> {
    match args {
        [value, Value::Constant(Constant::Str(name))] => match caller.get_attribute(value, name) {
            Ok(_) => Ok(Value::from_bool(true)),
            Err(Stop::Rejected(_)) => Ok(Value::from_bool(false)),
            Err(stop) => Err(stop),
        },
        _ => Err(caller
            .lo()
            .reject("hasattr takes an object and a name that is known at compile time")),
    }
}

macro_rules! math_table {
    ($($name:literal),+ $(,)?) => {
        /// The functions of Python's `math`, of compile-time values.
        static MATH: &[Builtin] = &[$( Builtin::of_operations(concat!("math.", $name, "(*args)"), |lo, args| math_call(lo, $name, args)) ),+];
    };
}

math_table![
    "ceil", "copysign", "exp", "exp2", "fabs", "floor", "gcd", "isinf", "isnan", "log", "log10", "log2",
    "pow", "sqrt", "trunc"
];

fn math_call(lo: &mut Lowering, name: &str, args: &[Value]) -> Traced<Value> {
    let Some(Value::Tuple { items, .. }) = args.first() else {
        return Err(lo.reject("too few arguments"));
    };
    let mut constants = Vec::with_capacity(items.len());
    for item in items.iter() {
        match item {
            Value::Constant(constant) => constants.push(constant.clone()),
            _ => {
                return Err(lo.reject(format!(
                    "`math.{name}` is Python's and takes values that are known at compile time; use `tl.{name}`"
                )));
            }
        }
    }
    match Math::find(name).map(|function| function.call(&constants, &mut |_| Ok(()))) {
        Some(Ok(value)) => Ok(Value::Constant(value)),
        Some(Err(error)) => Err(lo.report_failure(error.into())),
        None => Err(lo.reject(format!("`math.{name}` does not take these arguments"))),
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
