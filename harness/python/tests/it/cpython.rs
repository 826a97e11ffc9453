//! Compares every expression of `cpython.txt.gz`, which `make_table.py` wrote, with the value or error of `CPython`
//! 3.11.
//!
//! The kinds of errors always agree. The texts do too, except for these classes, which [`says_otherwise`] handles:
//! - complex numbers, which are unsupported, even if `CPython` reports that they are too large;
//! - calls with a wrong number of arguments, for which `CPython` has different texts in almost every function;
//! - `%` of a text, which formats and is unsupported;
//! - sequences that are longer than any memory.

use std::io::Read as _;

use cerith_python::builtin::Builtins;
use cerith_python::error::{Error, ErrorKind, Reason};
use cerith_python::math::{self, Math};
use cerith_python::parse::{self, Limits};
use cerith_python::walk::{self, Scope};
use cerith_python::{Value, operator, repr};
use ruff_python_ast::Expr;
use ruff_text_size::TextRange;

/// Python's builtins, `math`, `inf` and `nan`.
#[derive(Default)]
struct Names {
    locals: Vec<(String, Value)>,
}

fn unsupported_error(what: &str) -> Error {
    Error::unsupported(Reason::Other, what)
}

impl Names {
    fn slice(&mut self, bounds: &ruff_python_ast::ExprSlice) -> Result<[Option<Value>; 3], Error> {
        let mut bound =
            |expr: &Option<Box<Expr>>| expr.as_ref().map(|expr| walk::evaluate(self, expr)).transpose();
        Ok([bound(&bounds.lower)?, bound(&bounds.upper)?, bound(&bounds.step)?])
    }
}

impl Scope for Names {
    type Value = Value;
    type Error = Error;
    type Outer = usize;

    fn locate_error(&mut self, error: Error, _: TextRange) -> Error {
        error
    }

    fn pay(&mut self, _: usize, _: TextRange) -> Result<(), Error> {
        Ok(())
    }

    fn resolve_name(&mut self, name: &str, _: TextRange) -> Result<Value, Error> {
        let local = self.locals.iter().rev().find(|(local, _)| local == name);
        match (local, name) {
            (Some((_, value)), _) => Ok(value.clone()),
            (None, "inf") => Ok(Value::Float(f64::INFINITY)),
            (None, "nan") => Ok(Value::Float(f64::NAN)),
            _ => Err(unsupported_error("this name")),
        }
    }

    fn open(&mut self) -> Result<usize, Error> {
        Ok(self.locals.len())
    }

    fn bind(&mut self, name: &str, value: Value) {
        self.locals.push((name.to_owned(), value));
    }

    fn close(&mut self, outer: usize) {
        self.locals.truncate(outer);
    }

    fn evaluate_other(&mut self, expr: &Expr) -> Result<Value, Error> {
        match expr {
            Expr::Attribute(attribute) => math::find_constant(&attribute.attr)
                .map(Value::Float)
                .ok_or_else(|| unsupported_error("this attribute")),
            Expr::Call(call) => {
                let arguments = walk::evaluate_all(self, &call.arguments.args)?;
                let function = match &*call.func {
                    Expr::Name(name) => Builtins::find(&name.id),
                    Expr::Attribute(attribute) => Math::find(&attribute.attr),
                    _ => None,
                };
                function
                    .ok_or_else(|| unsupported_error("this function"))?
                    .call(&arguments, &mut |items| match items {
                        0..100_000 => Ok(()),
                        _ => Err(Error::too_many(items, 100_000, "items")),
                    })
            }
            Expr::Subscript(subscript) => {
                let container = walk::evaluate(self, &subscript.value)?;
                match &*subscript.slice {
                    Expr::Slice(bounds) => {
                        let bounds = self.slice(bounds)?;
                        operator::slice(&container, bounds)
                    }
                    index => operator::get_item(&container, &walk::evaluate(self, index)?),
                }
            }
            _ => Err(unsupported_error("this construct")),
        }
    }
}

const LIMITS: Limits = Limits {
    length: 4096,
    depth: 128,
};

fn evaluate(text: &str) -> Result<Value, Error> {
    let tree = parse::parse_expression(text, LIMITS).expect("an expression");
    walk::evaluate(&mut Names::default(), &tree.body)
}

fn render(text: &str) -> String {
    match evaluate(text) {
        Ok(value) => repr::repr_of(&value),
        Err(error) if error.reason == Reason::Complex => "!complex: ".to_owned(),
        Err(error) => match error.kind.exception() {
            Some(_) => format!("!{error}"),
            None => format!("?{:?}: {error}", error.kind),
        },
    }
}

/// Whether an error is of a class whose texts are not `CPython`'s, and its kind is.
fn says_otherwise(text: &str, expected: &str) -> bool {
    let kind = |kind: ErrorKind| {
        kind.exception().is_some_and(|name| {
            expected
                .strip_prefix('!')
                .is_some_and(|rest| rest.starts_with(name))
        })
    };
    match expected {
        "!OverflowError: complex exponentiation" => return render(text) == "!complex: ",
        "!MemoryError: " => return render(text).starts_with("?Limit: "),
        "!TypeError: not all arguments converted during string formatting" => {
            return render(text) == "?Unsupported: formatting with `%`";
        }
        _ => {}
    }
    matches!(evaluate(text), Err(Error { kind: found, reason: Reason::Arguments, .. }) if kind(found))
}

#[test]
fn values_and_errors_are_those_of_cpython() {
    let compressed = include_bytes!("../cpython.txt.gz");
    let mut table = String::new();
    flate2::read::GzDecoder::new(&compressed[..])
        .read_to_string(&mut table)
        .expect("a table");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in table.lines() {
        let (text, expected) = line.split_once('\t').expect("two columns");
        count += 1;
        let found = render(text);
        if found != expected && !says_otherwise(text, expected) {
            wrong.push(format!("{text}\n    here    {found}\n    CPython {expected}"));
        }
    }
    assert!(count > 30_000, "the table has {count} lines");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.iter().take(60).cloned().collect::<Vec<_>>().join("\n")
    );
}
