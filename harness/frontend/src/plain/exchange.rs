//! Converts plain Python values to kernel values. [`Plain::from_value`] is the reverse.

use std::rc::Rc;

use cerith_tile::rules::Rules;

use super::limits;
use cerith_language::lowering::Lowering;
use cerith_language::stop::Traced;
use cerith_language::value::Value;
use cerith_language::value::plain::{Plain, ScopeId};
use cerith_language::{builtin, constant};

/// The prefix of a file's name in [`Value::Module`]; the scope follows.
const FILE_PREFIX: &str = "file ";

/// The scope of a file, by its name in [`Value::Module`].
pub(crate) fn file_scope(module: &str) -> Option<ScopeId> {
    module
        .strip_prefix(FILE_PREFIX)
        .and_then(|scope| scope.parse().ok())
}

/// Converts a value of plain Python to a kernel value, which is also the content of its `constexpr`. `None` if kernels
/// can't use it.
pub(crate) fn kernel_value(rules: Rules, value: &Plain) -> Option<Value> {
    Some(match value {
        Plain::Constant(constant) => Value::Constant(constant.clone()),
        Plain::Constexpr(value) => (**value).clone(),
        Plain::Tuple(items) => Value::new_tuple(
            items
                .iter()
                .map(|item| kernel_value(rules, item))
                .collect::<Option<Vec<_>>>()?,
        ),
        Plain::List(items) => Value::List(
            items
                .iter()
                .map(|item| kernel_value(rules, item))
                .collect::<Option<Rc<[_]>>>()?,
        ),
        Plain::Named(fields, items) => Value::Tuple {
            items: items
                .iter()
                .map(|item| kernel_value(rules, item))
                .collect::<Option<Rc<[_]>>>()?,
            names: Rc::clone(fields),
        },
        Plain::Jit(function) => Value::Function(Rc::clone(function)),
        Plain::Traced(value) => value.clone(),
        Plain::ConstexprFunction(_) | Plain::HeldFunction(_) | Plain::NamedTuple(_) | Plain::Aggregate(_) => {
            Value::Python(Rc::new(value.clone()))
        }
        Plain::Symbol(module, name) if limits::is_known(module, name) => {
            Value::Python(Rc::new(value.clone()))
        }
        Plain::Symbol(module, name) => builtin::find_symbol(rules, module, name)?,
        Plain::Module(name) => Value::Module(Rc::clone(name)),
        Plain::File(scope) => Value::Module(format!("{FILE_PREFIX}{scope}").into()),
        _ => return None,
    })
}

/// A parameter's default as a compile-time value.
pub(crate) fn default_value(lo: &Lowering, name: &str, default: &Plain) -> Traced<Value> {
    match kernel_value(lo.rules, default) {
        Some(value) => Ok(value),
        None => Err(lo.report_unsupported(format!("the default of the parameter `{name}`"))),
    }
}

/// Suggests how to change a plain global so that kernels may use it.
pub(crate) fn suggest_fix(name: &str, value: &Plain) -> Option<String> {
    match value {
        Plain::Constant(value) => Some(format!(
            "make it `{name} = tl.constexpr({})`",
            constant::repr(value)
        )),
        Plain::Tuple(_) | Plain::List(_) => Some(format!("make it `{name} = tl.constexpr(…)`")),
        Plain::Class(class) => Some(of_class(class)),
        Plain::Enum(class) | Plain::Member(class, ..) => Some(of_class(&class.name)),
        Plain::Function(_) => Some(format!("decorate `{name}` with `@triton.jit`")),
        _ => None,
    }
}

fn of_class(class: &str) -> String {
    format!("take what the kernel needs out of the class `{class}`, as a `tl.constexpr` of its own")
}
