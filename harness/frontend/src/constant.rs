//! Arithmetic of values that are known while tracing, with Python's meaning. Left out: tensors (`semantic`).
//!
//! Integers are held in 128 bits. Python's have no bound, so whatever leaves 128 bits is refused, never wrapped.

use cerith_tile::fault::{Fault, is_planted};
use std::cmp::Ordering;
use std::fmt::Write as _;

use cerith_tile::ir::CmpPredicate;

use crate::semantic::PyUnary;
use crate::value::{Constant, TypeValue};

/// Python's binary operators, `@` left out: Triton has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PyBinary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`
    Pow,
    /// `<<`
    LShift,
    /// `>>`
    RShift,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
}

impl PyBinary {
    /// The operator as it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::FloorDiv => "//",
            Self::Mod => "%",
            Self::Pow => "**",
            Self::LShift => "<<",
            Self::RShift => ">>",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
        }
    }
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Python raises an exception with this text.
    Raises(String),
    /// Python has an answer that is not held here.
    Unsupported(String),
    /// Python has an answer that takes more than so many of these.
    Exhausted(usize, &'static str),
}

type Outcome<T> = Result<T, Failure>;

/// Bytes of a string that is computed.
const MAX_TEXT: usize = 1 << 16;

fn raises<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure::Raises(text.into()))
}

fn too_big<T>() -> Outcome<T> {
    Err(Failure::Unsupported("integers beyond 128 bits".to_owned()))
}

/// What Python calls the type of a constant.
pub(crate) const fn type_name(constant: &Constant) -> &'static str {
    match constant {
        Constant::None => "NoneType",
        Constant::Bool(_) => "bool",
        Constant::Int(_) => "int",
        Constant::Float(_) => "float",
        Constant::Str(_) => "str",
        Constant::Ellipsis => "ellipsis",
        Constant::Type(_) => "dtype",
    }
}

/// Whether Python counts the constant as true.
pub(crate) fn truth(constant: &Constant) -> bool {
    match constant {
        Constant::None => false,
        Constant::Bool(value) => *value,
        Constant::Int(value) => *value != 0,
        Constant::Float(value) => *value != 0.0,
        Constant::Str(value) => !value.is_empty(),
        Constant::Ellipsis | Constant::Type(_) => true,
    }
}

/// The integer that a bool or an int is.
pub(crate) const fn as_int(constant: &Constant) -> Option<i128> {
    match constant {
        Constant::Bool(value) => Some(*value as i128),
        Constant::Int(value) => Some(*value),
        _ => None,
    }
}

/// The float that a number is converted to, rounded to nearest.
pub(crate) fn as_float(constant: &Constant) -> Option<f64> {
    match constant {
        Constant::Float(value) => Some(*value),
        _ => as_int(constant).map(|value| value as f64),
    }
}

/// `lhs op rhs`.
pub(crate) fn binary(op: PyBinary, lhs: &Constant, rhs: &Constant) -> Outcome<Constant> {
    use PyBinary::{Add, BitAnd, BitOr, BitXor, Mul};
    match (op, lhs, rhs) {
        (BitAnd, Constant::Bool(a), Constant::Bool(b)) => return Ok(Constant::Bool(a & b)),
        (BitOr, Constant::Bool(a), Constant::Bool(b)) => return Ok(Constant::Bool(a | b)),
        (BitXor, Constant::Bool(a), Constant::Bool(b)) => return Ok(Constant::Bool(a ^ b)),
        (Add, Constant::Str(a), Constant::Str(b)) if a.len().saturating_add(b.len()) > MAX_TEXT => {
            return Err(Failure::Exhausted(MAX_TEXT, "bytes of a string"));
        }
        (Add, Constant::Str(a), Constant::Str(b)) => return Ok(Constant::Str(format!("{a}{b}").into())),
        (PyBinary::Mod, Constant::Str(_), _) => {
            return Err(Failure::Unsupported("formatting with `%`".to_owned()));
        }
        (Mul, Constant::Str(text), times) | (Mul, times, Constant::Str(text)) if as_int(times).is_some() => {
            let times = as_int(times).unwrap_or(0).max(0) as usize;
            if text.len().saturating_mul(times) > MAX_TEXT {
                return Err(Failure::Exhausted(MAX_TEXT, "bytes of a string"));
            }
            return Ok(Constant::Str(text.repeat(times).into()));
        }
        _ => {}
    }
    if let (Some(a), Some(b)) = (as_int(lhs), as_int(rhs)) {
        return integers(op, a, b);
    }
    match (as_float(lhs), as_float(rhs)) {
        (Some(a), Some(b)) => floats(op, a, b),
        _ => unfit(op, lhs, rhs),
    }
}

fn unfit<T>(op: PyBinary, lhs: &Constant, rhs: &Constant) -> Outcome<T> {
    raises(format!(
        "unsupported operand types for {}: '{}' and '{}'",
        op.symbol(),
        type_name(lhs),
        type_name(rhs)
    ))
}

fn integers(op: PyBinary, a: i128, b: i128) -> Outcome<Constant> {
    let checked = |value: Option<i128>| value.map_or_else(too_big, |value| Ok(Constant::Int(value)));
    match op {
        PyBinary::Add => checked(a.checked_add(b)),
        PyBinary::Sub => checked(a.checked_sub(b)),
        PyBinary::Mul => checked(a.checked_mul(b)),
        PyBinary::Div => {
            if b == 0 {
                return raises("division by zero");
            }
            let exact = |value: i128| value.unsigned_abs() <= 1 << 53;
            if exact(a) && exact(b) {
                return Ok(Constant::Float(a as f64 / b as f64));
            }
            match a.checked_rem(b) {
                Some(0) => Ok(Constant::Float((a / b) as f64)),
                _ => Err(Failure::Unsupported("`/` of integers past 2**53".to_owned())),
            }
        }
        PyBinary::FloorDiv | PyBinary::Mod if b == 0 => raises("integer division or modulo by zero"),
        PyBinary::FloorDiv => checked(a.checked_div(b).map(|q| {
            if a % b != 0 && (a < 0) != (b < 0) && !is_planted(Fault::ConstantDivisionTruncates) {
                q - 1
            } else {
                q
            }
        })),
        PyBinary::Mod => checked(a.checked_rem(b).map(|r| {
            if r != 0 && (r < 0) != (b < 0) && !is_planted(Fault::ConstantRemainderTruncates) {
                r + b
            } else {
                r
            }
        })),
        PyBinary::Pow if b < 0 => floats(op, a as f64, b as f64),
        PyBinary::Pow => match (a, u32::try_from(b)) {
            (0 | 1, _) => Ok(Constant::Int(if b == 0 { 1 } else { a })),
            (-1, _) => Ok(Constant::Int(if b % 2 == 0 { 1 } else { -1 })),
            (_, Ok(exponent)) => checked(a.checked_pow(exponent)),
            (_, Err(_)) => too_big(),
        },
        PyBinary::LShift | PyBinary::RShift if b < 0 => raises("negative shift count"),
        PyBinary::LShift => {
            if a == 0 {
                return Ok(Constant::Int(0));
            }
            let shifted = u32::try_from(b)
                .ok()
                .and_then(|b| a.checked_shl(b).filter(|shifted| shifted >> b == a));
            checked(shifted)
        }
        PyBinary::RShift => Ok(Constant::Int(a >> b.min(127))),
        PyBinary::BitAnd => Ok(Constant::Int(a & b)),
        PyBinary::BitOr => Ok(Constant::Int(a | b)),
        PyBinary::BitXor => Ok(Constant::Int(a ^ b)),
    }
}

fn floats(op: PyBinary, a: f64, b: f64) -> Outcome<Constant> {
    let value = match op {
        PyBinary::Add => a + b,
        PyBinary::Sub => a - b,
        PyBinary::Mul => a * b,
        PyBinary::Div | PyBinary::FloorDiv | PyBinary::Mod if b == 0.0 => {
            return raises("float division by zero");
        }
        PyBinary::Div => a / b,
        PyBinary::FloorDiv => floored(a, b).0,
        PyBinary::Mod => floored(a, b).1,
        PyBinary::Pow => {
            if a == 0.0 && b < 0.0 {
                return raises("0.0 cannot be raised to a negative power");
            }
            if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 {
                return Err(Failure::Unsupported("complex numbers".to_owned()));
            }
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return raises("numerical result out of range");
            }
            power
        }
        _ => return unfit(op, &Constant::Float(a), &Constant::Float(b)),
    };
    Ok(Constant::Float(value))
}

/// Quotient rounded down and the remainder with the divisor's sign, as `CPython` computes them for floats.
fn floored(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0f64.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    (
        if quotient - floor > 0.5 {
            floor + 1.0
        } else {
            floor
        },
        rest,
    )
}

/// `+x`, `-x`, `~x`, `not x`.
pub(crate) fn unary(op: PyUnary, operand: &Constant) -> Outcome<Constant> {
    match (op, operand) {
        (PyUnary::Not, _) => Ok(Constant::Bool(!truth(operand))),
        (PyUnary::Pos, Constant::Float(value)) => Ok(Constant::Float(*value)),
        (PyUnary::Neg, Constant::Float(value)) => Ok(Constant::Float(-value)),
        (_, Constant::Bool(_) | Constant::Int(_)) => {
            let value = as_int(operand).unwrap_or_default();
            match op {
                PyUnary::Neg => value
                    .checked_neg()
                    .map_or_else(too_big, |value| Ok(Constant::Int(value))),
                PyUnary::Invert => Ok(Constant::Int(!value)),
                PyUnary::Pos | PyUnary::Not => Ok(Constant::Int(value)),
            }
        }
        _ => {
            let symbol = match op {
                PyUnary::Pos => "+",
                PyUnary::Neg => "-",
                PyUnary::Invert => "~",
                PyUnary::Not => "not",
            };
            raises(format!(
                "bad operand type for unary {symbol}: '{}'",
                type_name(operand)
            ))
        }
    }
}

/// `lhs < rhs` and the like.
pub(crate) fn compare(predicate: CmpPredicate, lhs: &Constant, rhs: &Constant) -> Outcome<bool> {
    let ordering = match (lhs, rhs) {
        (Constant::Str(a), Constant::Str(b)) => Some(a.cmp(b)),
        (Constant::Float(a), Constant::Float(b)) => a.partial_cmp(b),
        (Constant::Float(a), b) if as_int(b).is_some() => order(*a, as_int(b).unwrap_or_default()),
        (a, Constant::Float(b)) if as_int(a).is_some() => {
            order(*b, as_int(a).unwrap_or_default()).map(Ordering::reverse)
        }
        _ => match (as_int(lhs), as_int(rhs)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => match predicate {
                CmpPredicate::Eq => return Ok(lhs == rhs),
                CmpPredicate::Ne => return Ok(lhs != rhs),
                _ => {
                    return raises(format!(
                        "'{}' not supported between instances of '{}' and '{}'",
                        symbol(predicate),
                        type_name(lhs),
                        type_name(rhs)
                    ));
                }
            },
        },
    };
    Ok(match predicate {
        CmpPredicate::Eq => ordering == Some(Ordering::Equal),
        CmpPredicate::Ne => ordering != Some(Ordering::Equal),
        CmpPredicate::Lt => ordering == Some(Ordering::Less),
        CmpPredicate::Le => ordering.is_some_and(Ordering::is_le),
        CmpPredicate::Gt => ordering == Some(Ordering::Greater),
        CmpPredicate::Ge => ordering.is_some_and(Ordering::is_ge),
    })
}

/// A comparison as it is written.
pub(crate) const fn symbol(predicate: CmpPredicate) -> &'static str {
    match predicate {
        CmpPredicate::Eq => "==",
        CmpPredicate::Ne => "!=",
        CmpPredicate::Lt => "<",
        CmpPredicate::Le => "<=",
        CmpPredicate::Gt => ">",
        CmpPredicate::Ge => ">=",
    }
}

/// A float against an integer, exactly.
fn order(float: f64, int: i128) -> Option<Ordering> {
    const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float.is_nan() {
        return None;
    }
    if float >= LIMIT {
        return Some(Ordering::Greater);
    }
    if float < -LIMIT {
        return Some(Ordering::Less);
    }
    let whole = float.trunc();
    Some(
        (whole as i128)
            .cmp(&int)
            .then_with(|| (float - whole).partial_cmp(&0.0).unwrap_or(Ordering::Equal)),
    )
}

/// `str(constant)`.
pub(crate) fn text(constant: &Constant) -> String {
    match constant {
        Constant::Str(value) => value.to_string(),
        _ => repr(constant),
    }
}

/// `repr(constant)`.
pub(crate) fn repr(constant: &Constant) -> String {
    match constant {
        Constant::None => "None".to_owned(),
        Constant::Bool(true) => "True".to_owned(),
        Constant::Bool(false) => "False".to_owned(),
        Constant::Int(value) => value.to_string(),
        Constant::Float(value) => float_repr(*value),
        Constant::Str(value) => {
            let quote = if value.contains('\'') && !value.contains('"') {
                '"'
            } else {
                '\''
            };
            let mut out = String::from(quote);
            for c in value.chars() {
                match c {
                    '\n' => out.push_str("\\n"),
                    '\t' => out.push_str("\\t"),
                    '\\' => out.push_str("\\\\"),
                    c if c == quote => {
                        out.push('\\');
                        out.push(c);
                    }
                    c => out.push(c),
                }
            }
            out.push(quote);
            out
        }
        Constant::Ellipsis => "Ellipsis".to_owned(),
        Constant::Type(TypeValue::Elem(elem)) => elem_repr(*elem),
        Constant::Type(TypeValue::Block(elem, shape)) => {
            let mut out = String::from("<[");
            for (nth, extent) in shape.iter().enumerate() {
                let _ = write!(out, "{}{extent}", if nth == 0 { "" } else { ", " });
            }
            let _ = write!(out, "], {}>", elem_repr(*elem));
            out
        }
        Constant::Type(TypeValue::BlockPointer(elem, shape)) => {
            let block = Constant::Type(TypeValue::Block(*elem, shape.clone()));
            format!("pointer<{}>", repr(&block))
        }
        Constant::Type(TypeValue::Named(name)) => (*name).to_owned(),
    }
}

/// A type as Triton prints it: `fp32`, `int32`, `pointer<fp32>`.
fn elem_repr(elem: cerith_tile::ir::Elem) -> String {
    match elem.num() {
        Some(dtype) if dtype.is_float() => match dtype.triton_name().strip_prefix("float") {
            Some(rest) => format!("fp{rest}"),
            None => "bf16".to_owned(),
        },
        Some(dtype) => dtype.triton_name().to_owned(),
        None => format!("pointer<{}>", elem.pointee().map_or_else(String::new, elem_repr)),
    }
}

fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 {
            "inf".to_owned()
        } else {
            "-inf".to_owned()
        };
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(op: PyBinary, (lhs, rhs): (Constant, Constant), expected: &str) {
        let shown = match binary(op, &lhs, &rhs) {
            Ok(value) => repr(&value),
            Err(Failure::Raises(text)) => format!("raises {text}"),
            Err(Failure::Unsupported(text)) => format!("unsupported {text}"),
            Err(Failure::Exhausted(limit, what)) => format!("more than {limit} {what}"),
        };
        assert_eq!(shown, expected, "{lhs:?} {op:?} {rhs:?}");
    }

    #[test]
    fn operators_mean_what_python_means() {
        use Constant::{Bool, Float, Int};
        use PyBinary::{Add, BitAnd, BitXor, Div, FloorDiv, LShift, Mod, Mul, Pow, RShift, Sub};
        check(FloorDiv, (Int(-7), Int(3)), "-3");
        check(FloorDiv, (Int(7), Int(-3)), "-3");
        check(FloorDiv, (Int(-6), Int(3)), "-2");
        check(Mod, (Int(-7), Int(3)), "2");
        check(Mod, (Int(7), Int(-3)), "-2");
        check(FloorDiv, (Float(-7.5), Int(2)), "-4.0");
        check(Mod, (Float(-7.5), Int(2)), "0.5");
        check(Mod, (Float(-0.0), Float(3.0)), "0.0");
        check(FloorDiv, (Float(-0.0), Float(3.0)), "-0.0");
        check(Div, (Int(7), Int(2)), "3.5");
        check(Div, (Int(1), Int(0)), "raises division by zero");
        check(Div, (Float(1.0), Float(0.0)), "raises float division by zero");
        check(Pow, (Int(2), Int(100)), "1267650600228229401496703205376");
        check(Pow, (Int(2), Int(200)), "unsupported integers beyond 128 bits");
        check(Pow, (Int(2), Int(-1)), "0.5");
        check(
            Pow,
            (Float(0.0), Int(-1)),
            "raises 0.0 cannot be raised to a negative power",
        );
        check(Pow, (Int(-1), Int(1 << 100)), "1");
        check(LShift, (Int(1), Int(40)), "1099511627776");
        check(LShift, (Int(1), Int(-1)), "raises negative shift count");
        check(
            LShift,
            (Int(-1), Int(127)),
            "-170141183460469231731687303715884105728",
        );
        check(RShift, (Int(-5), Int(1 << 90)), "-1");
        check(BitAnd, (Bool(true), Bool(false)), "False");
        check(BitXor, (Bool(true), Int(3)), "2");
        check(Add, (Bool(true), Bool(true)), "2");
        check(Mul, (Constant::Str("ab".into()), Int(2)), "'abab'");
        check(
            Sub,
            (Constant::Str("ab".into()), Int(2)),
            "raises unsupported operand types for -: 'str' and 'int'",
        );
        check(
            Mul,
            (Int(i128::MAX), Int(2)),
            "unsupported integers beyond 128 bits",
        );
        check(
            FloorDiv,
            (Int(i128::MIN), Int(-1)),
            "unsupported integers beyond 128 bits",
        );
    }

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (value, expected) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (9_007_199_254_740_992.0, "9007199254740992.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (f64::INFINITY, "inf"),
            (0.1, "0.1"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(float_repr(value), expected);
        }
    }

    proptest! {
        #[test]
        fn floor_division_and_remainder_belong_together(a in -1_000_000i128..1_000_000, b in -1000i128..1000) {
            prop_assume!(b != 0);
            let (Ok(Constant::Int(q)), Ok(Constant::Int(r))) =
                (integers(PyBinary::FloorDiv, a, b), integers(PyBinary::Mod, a, b)) else {
                return Err(TestCaseError::fail("no integer"));
            };
            prop_assert_eq!(q * b + r, a);
            prop_assert!(r == 0 || (r < 0) == (b < 0));
            prop_assert!(r.abs() < b.abs());
        }

        #[test]
        fn an_integer_orders_against_a_float_as_itself(a in any::<i64>(), b in any::<f64>()) {
            let exact = compare(CmpPredicate::Lt, &Constant::Int(i128::from(a)), &Constant::Float(b));
            if a.unsigned_abs() < 1 << 53 {
                prop_assert_eq!(exact, Ok((a as f64) < b));
            }
        }

        #[test]
        fn no_operator_panics(a in any::<i128>(), b in any::<i128>(), f in any::<f64>()) {
            use PyBinary::{Add, BitAnd, BitOr, BitXor, Div, FloorDiv, LShift, Mod, Mul, Pow, RShift, Sub};
            for op in [Add, Sub, Mul, Div, FloorDiv, Mod, Pow, LShift, RShift, BitAnd, BitOr, BitXor] {
                let _ = binary(op, &Constant::Int(a), &Constant::Int(b));
                let _ = binary(op, &Constant::Int(a), &Constant::Float(f));
                let _ = binary(op, &Constant::Float(f), &Constant::Int(a));
            }
        }
    }
}
