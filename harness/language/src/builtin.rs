//! The table of what Triton offers a kernel: each function of `tl`, `tl.math`, `libdevice`, each tensor method, with
//! its Python signature, the versions that have it and how it is lowered. A new function is a new row.
//!
//! Rows are in the module of their kind. A function of Triton's standard library that Triton writes in Triton is a
//! row too; it is lowered to a call of the prelude. What steers tracing (`range`, `static_assert`, `constexpr`) is in
//! [`python`], beside Python's own functions.

mod argument;
mod assembly;
pub mod attribute;
mod create;
mod debug;
mod descriptor;
mod libdevice;
mod math;
mod memory;
mod movement;
pub mod python;
mod reduction;
mod row;
pub mod signature;
mod standard;
mod target;
pub mod types;

use std::collections::HashMap;
use std::sync::LazyLock;

use cerith_tile::rules::{Rule, Rules, Version};

use self::row::Row;
use crate::constant::{Constant, TypeValue};
use crate::value::Value;
use crate::value::callable::Builtin;

/// Every table.
static TABLES: &[&[Row]] = &[
    create::ROWS,
    movement::ROWS,
    math::ROWS,
    memory::ROWS,
    descriptor::ROWS,
    reduction::ROWS,
    assembly::ROWS,
    debug::ROWS,
    standard::ROWS,
    target::ROWS,
    libdevice::ROWS,
    libdevice::SYMBOLS,
    libdevice::ABSENT,
];

/// Names of `tl` that the reference does not support: parts of its own machinery and of aggregates, and classes of
/// descriptors.
pub const UNKNOWN_OF_TL: [&str; 7] = [
    "T",
    "constexpr_type",
    "core",
    "str_to_ty",
    "tensor_descriptor_base",
    "tensor_descriptor_type",
    "tuple_type",
];

/// The modules whose functions `tl` offers under their short names.
const OF_TL: [&str; 4] = ["tl", "tl.math", "tl.standard", "tl.random"];

/// The rows by the name after the last dot.
static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static Row>>> = LazyLock::new(|| {
    let mut map: HashMap<&str, Vec<&Row>> = HashMap::new();
    for row in TABLES.iter().copied().flatten() {
        map.entry(row.builtin.short_name()).or_default().push(row);
    }
    map
});

/// The prelude: Triton's standard library in Triton, a module's name (`standard`) and text each. The tracer parses it
/// once.
pub const PRELUDE: &[(&str, &str)] = &[
    ("standard", include_str!("prelude/standard.py")),
    ("sorting", include_str!("prelude/sorting.py")),
    ("random", include_str!("prelude/random.py")),
];

/// Looks up `name` in a module, by its canonical dotted name: `tl`, `tl.math`, `tl.extra.libdevice`, `triton`, … Finds
/// functions, constants, types (`tl.float32`) and submodules. `None` if Triton (by these rules) has no such name.
pub fn lookup(rules: Rules, module: &str, name: &str) -> Option<Value> {
    let module = canonicalize_module(module);
    if let Some(value) = types::find_constant(module, name) {
        return Some(value);
    }
    if (module, name) == ("tl", "tensor_descriptor") && rules.holds(Rule::Descriptors) {
        return Some(Value::Constant(Constant::Type(TypeValue::Named(
            "tensor_descriptor",
        ))));
    }
    let submodule = match (module, name) {
        ("triton", "language") | ("tl", "core") => Some("tl"),
        ("tl", "math") => Some("tl.math"),
        ("tl", "standard") => Some("tl.standard"),
        ("tl", "random") => Some("tl.random"),
        ("tl", "extra") => Some("tl.extra"),
        ("tl", "target_info") if rules.version >= Version::new(3, 5, 1) => Some("tl.target_info"),
        ("tl.extra", "cuda") => Some("tl.extra.cuda"),
        ("tl.extra" | "tl.extra.cuda", "libdevice") => Some("tl.extra.libdevice"),
        _ => None,
    };
    if let Some(submodule) = submodule {
        return Some(Value::Module(submodule.into()));
    }
    let modules: &[&str] = match module {
        "tl" => &OF_TL,
        _ => std::slice::from_ref(&module),
    };
    BY_NAME
        .get(name)?
        .iter()
        .find(|row| row.holds(rules) && modules.contains(&find_home(&row.builtin)))
        .map(|row| Value::Builtin(&row.builtin))
}

/// Looks up `name` in a known module, Python's own modules included.
pub fn find_symbol(rules: Rules, module: &str, name: &str) -> Option<Value> {
    python::module_attribute(module, name, rules).or_else(|| lookup(rules, module, name))
}

/// The functions that a module has, by their short names.
pub fn list_names(module: &str, rules: Rules) -> impl Iterator<Item = &'static str> {
    let module = canonicalize_module(module);
    let is_tl = module == "tl";
    let own = module.to_owned();
    TABLES
        .iter()
        .copied()
        .flatten()
        .filter(move |row| {
            let home = find_home(&row.builtin);
            row.holds(rules) && (home == own || is_tl && OF_TL.contains(&home))
        })
        .map(|row| row.builtin.short_name())
}

/// The row of a public name: `tl.exp`, `tensor.sum`, `tl.extra.libdevice.acos`.
fn find_row(name: &str, rules: Rules) -> Option<&'static Row> {
    let (module, short) = name.rsplit_once('.')?;
    let mut rows = BY_NAME.get(short)?.iter().copied().filter(|row| row.holds(rules));
    match module {
        "tl" => rows.find(|row| OF_TL.contains(&find_home(&row.builtin))),
        "tensor" => rows.find(|row| row.method || find_home(&row.builtin) == "tensor"),
        _ => rows.find(|row| find_home(&row.builtin) == module),
    }
}

/// The number of arguments that a function needs, counting `*args` as one. `None` if there is no such function.
pub fn count_parameters(name: &str, rules: Rules) -> Option<usize> {
    find_row(name, rules).map(|row| signature::count_required(&row.builtin))
}

/// The full name of the function that a public name of a function is.
pub fn canonical_name(name: &str, rules: Rules) -> Option<&'static str> {
    if name.starts_with("tensor.") {
        return None;
    }
    find_row(name, rules).map(|row| row.builtin.name())
}

/// Other spellings of a module's name.
fn canonicalize_module(module: &str) -> &str {
    match module {
        "triton.language" | "triton.language.core" | "tl.core" => "tl",
        "tl.extra.cuda.libdevice"
        | "triton.language.extra.libdevice"
        | "triton.language.extra.cuda.libdevice" => "tl.extra.libdevice",
        other => other,
    }
}

/// The module a builtin is of.
fn find_home(builtin: &Builtin) -> &'static str {
    builtin.name().rsplit_once('.').map_or("", |(module, _)| module)
}

/// The methods of tensors.
fn list_methods(rules: Rules) -> impl Iterator<Item = &'static Builtin> {
    let rows = TABLES.iter().copied().flatten();
    rows.filter(move |row| is_method(row, rules))
        .map(|row| &row.builtin)
}

/// The method of tensors of this name.
fn find_method(rules: Rules, name: &str) -> Option<&'static Builtin> {
    let mut rows = BY_NAME.get(name)?.iter().copied();
    rows.find(|row| is_method(row, rules)).map(|row| &row.builtin)
}

fn is_method(row: &Row, rules: Rules) -> bool {
    row.method && row.holds(rules) && (rules.holds(Rule::LibraryMethods) || is_not_jitted(row, rules))
}

/// Whether a method is none of the library's jitted functions. `xor_sum` was written in Python like those, but not jitted.
fn is_not_jitted(row: &Row, rules: Rules) -> bool {
    let builtin = &row.builtin;
    find_home(builtin) != "tl.standard"
        || builtin.short_name() == "xor_sum" && !rules.holds(Rule::XorSumIsJitted)
}

/// Python's own functions that work on tensors: `min` and `max`.
pub fn python_builtin(name: &str) -> Option<Value> {
    let rows = math::PYTHON;
    rows.iter()
        .find(|row| row.builtin.name() == name)
        .map(|row| Value::Builtin(&row.builtin))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row is named as its table says, and no version has two rows of one name in one module.
    #[test]
    fn rows_do_not_overlap() {
        for versions in [
            [3, 0, 0],
            [3, 2, 0],
            [3, 3, 1],
            [3, 4, 0],
            [3, 5, 1],
            [3, 6, 0],
            [3, 7, 1],
            [3, 8, 0],
            [3, 9, 0],
        ] {
            let [major, minor, patch] = versions;
            let rules = Rules::from_version(Version::new(major, minor, patch));
            let mut seen = std::collections::HashSet::new();
            for row in TABLES.iter().copied().flatten().filter(|row| row.holds(rules)) {
                assert!(
                    seen.insert(row.builtin.name()),
                    "{} twice in {}",
                    row.builtin.name(),
                    rules.version
                );
            }
        }
    }
}
