//! Values known while tracing, and their arithmetic, which is Python's own ([`cerith_python`]). See `semantic` for tensors.
//!
//! Integers have 128 bits. Python's integers have no bound, so a result that needs more bits is refused, never wrapped.

use std::fmt::Write as _;
use std::rc::Rc;

use cerith_python::{Error, Object, Plain, Reason, Sequence, View, operator};
use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{CmpPredicate, Elem, Shape};
use ruff_python_ast::{self as ast, Expr, Number};

/// A value that is known while tracing: what Triton calls a `constexpr`, or a bare Python object.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A Python int; beyond 128 bits is unsupported.
    Int(i128),
    /// A Python float.
    Float(f64),
    /// A string.
    Str(Rc<str>),
    /// `...`.
    Ellipsis,
    /// A type: `tl.float32`, `tl.pointer_type(tl.float32)`, `x.dtype`, `x.type`.
    Type(TypeValue),
}

/// A Triton type as a Python value.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeValue {
    /// `tl.float32`.
    Elem(Elem),
    /// `tl.block_type(elem, shape)`.
    Block(Elem, Shape),
    /// A pointer to a block: what a block pointer is until 3.7.
    BlockPointer(Elem, Shape),
    /// `tl.void`, `tl.constexpr` and other types that are only named, for example in annotations.
    Named(&'static str),
}

impl From<DType> for Constant {
    fn from(dtype: DType) -> Self {
        Self::Type(TypeValue::Elem(Elem::Num(dtype)))
    }
}

/// Python's binary operators, `@` left out: Triton has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyBinary {
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
    /// The operator of an AST operator; `None` for `@`.
    pub const fn from_ast(op: ast::Operator) -> Option<Self> {
        Some(match op {
            ast::Operator::Add => Self::Add,
            ast::Operator::Sub => Self::Sub,
            ast::Operator::Mult => Self::Mul,
            ast::Operator::Div => Self::Div,
            ast::Operator::FloorDiv => Self::FloorDiv,
            ast::Operator::Mod => Self::Mod,
            ast::Operator::Pow => Self::Pow,
            ast::Operator::LShift => Self::LShift,
            ast::Operator::RShift => Self::RShift,
            ast::Operator::BitAnd => Self::BitAnd,
            ast::Operator::BitOr => Self::BitOr,
            ast::Operator::BitXor => Self::BitXor,
            ast::Operator::MatMult => return None,
        })
    }

    /// The operator as it is written.
    pub const fn symbol(self) -> &'static str {
        self.as_ast().as_str()
    }

    const fn as_ast(self) -> ast::Operator {
        match self {
            Self::Add => ast::Operator::Add,
            Self::Sub => ast::Operator::Sub,
            Self::Mul => ast::Operator::Mult,
            Self::Div => ast::Operator::Div,
            Self::FloorDiv => ast::Operator::FloorDiv,
            Self::Mod => ast::Operator::Mod,
            Self::Pow => ast::Operator::Pow,
            Self::LShift => ast::Operator::LShift,
            Self::RShift => ast::Operator::RShift,
            Self::BitAnd => ast::Operator::BitAnd,
            Self::BitOr => ast::Operator::BitOr,
            Self::BitXor => ast::Operator::BitXor,
        }
    }
}

/// Python's unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyUnary {
    /// `+x`.
    Pos,
    /// `-x`.
    Neg,
    /// `~x`.
    Invert,
    /// `not x`.
    Not,
}

/// The reason why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Python raises an exception with this text.
    Raises(String),
    /// Python has an answer that is not held here.
    Unsupported(String),
    /// Python has an answer that takes more than so many of these.
    Exhausted(usize, &'static str),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match (error.kind.exception(), error.reason) {
            (Some(_), _) => Self::Raises(error.text),
            (
                None,
                Reason::Items {
                    limit: most,
                    unit: what,
                    ..
                },
            ) => Self::Exhausted(most, what),
            (None, Reason::WideInt) => Self::Unsupported("integers beyond 128 bits".to_owned()),
            (None, _) => Self::Unsupported(error.text),
        }
    }
}

type Outcome<T> = Result<T, Failure>;

impl Object for Constant {
    fn view(&self) -> View<'_, Self> {
        match self {
            Self::None => View::None,
            Self::Bool(value) => View::Bool(*value),
            Self::Int(value) => View::Int((*value).into()),
            Self::Float(value) => View::Float(*value),
            Self::Str(text) => View::Str(text),
            Self::Ellipsis | Self::Type(_) => View::Other,
        }
    }

    fn from_plain(value: Plain) -> Result<Self, Error> {
        Ok(match value {
            Plain::None => Self::None,
            Plain::Bool(value) => Self::Bool(value),
            Plain::Int(value) => Self::Int(value.to_i128().ok_or_else(|| Error::wide_int(128))?),
            Plain::Float(value) => Self::Float(value),
            Plain::Str(text) => Self::Str(text.into()),
        })
    }

    fn from_items(_: Sequence, _: Vec<Self>) -> Result<Self, Error> {
        Err(Error::unsupported(
            Reason::Other,
            "a sequence of compile-time values",
        ))
    }

    fn other_type(&self) -> &'static str {
        match self {
            Self::Ellipsis => "ellipsis",
            _ => "dtype",
        }
    }

    fn other_equal(&self, other: &Self) -> Result<bool, Error> {
        Ok(self == other)
    }

    fn other_repr(&self) -> String {
        match self {
            Self::Type(ty) => type_repr(ty),
            _ => "Ellipsis".to_owned(),
        }
    }
}

/// The constant that a literal is.
pub fn eval_literal(expression: &Expr) -> Option<Constant> {
    Some(match expression {
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(value) => Constant::Int(match value.as_u64() {
                Some(value) => i128::from(value),
                None => big_integer(&value.to_string())?,
            }),
            Number::Float(value) => Constant::Float(*value),
            Number::Complex { .. } => return None,
        },
        Expr::StringLiteral(text) => Constant::Str(text.value.to_str().into()),
        Expr::BooleanLiteral(truth) => Constant::Bool(truth.value),
        Expr::NoneLiteral(_) => Constant::None,
        Expr::EllipsisLiteral(_) => Constant::Ellipsis,
        _ => return None,
    })
}

/// An integer literal past 64 bits, in any of Python's bases.
fn big_integer(text: &str) -> Option<i128> {
    let text = text.replace('_', "").to_ascii_lowercase();
    for (prefix, base) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return i128::from_str_radix(digits, base).ok();
        }
    }
    text.parse().ok()
}

/// Python's name for the type of a constant.
pub fn type_name(constant: &Constant) -> &str {
    Object::type_name(constant)
}

/// Whether Python counts the constant as true.
pub fn is_truthy(constant: &Constant) -> bool {
    operator::truth(constant).unwrap_or(true)
}

/// The integer that a bool or an int is.
pub const fn as_int(constant: &Constant) -> Option<i128> {
    match constant {
        Constant::Bool(value) => Some(*value as i128),
        Constant::Int(value) => Some(*value),
        _ => None,
    }
}

/// `lhs op rhs`.
pub fn apply_binary(op: PyBinary, lhs: &Constant, rhs: &Constant) -> Outcome<Constant> {
    if let (Some(a), Some(b)) = (as_int(lhs), as_int(rhs))
        && let Some(value) = apply_planted_fault(op, a, b)
    {
        return Ok(Constant::Int(value));
    }
    Ok(operator::apply_binary(op.as_ast(), lhs, rhs)?)
}

/// A division with a planted fault.
fn apply_planted_fault(op: PyBinary, a: i128, b: i128) -> Option<i128> {
    match op {
        PyBinary::FloorDiv if is_planted(Fault::ConstantDivisionTruncates) => a.checked_div(b),
        PyBinary::Mod if is_planted(Fault::ConstantRemainderTruncates) => a.checked_rem(b),
        _ => None,
    }
}

/// `+x`, `-x`, `~x`, `not x`.
pub fn apply_unary(op: PyUnary, operand: &Constant) -> Outcome<Constant> {
    let op = match op {
        PyUnary::Pos => ast::UnaryOp::UAdd,
        PyUnary::Neg => ast::UnaryOp::USub,
        PyUnary::Invert => ast::UnaryOp::Invert,
        PyUnary::Not => ast::UnaryOp::Not,
    };
    Ok(operator::apply_unary(op, operand)?)
}

/// `lhs < rhs` and the like.
pub fn compare(predicate: CmpPredicate, lhs: &Constant, rhs: &Constant) -> Outcome<bool> {
    let op = match predicate {
        CmpPredicate::Eq => ast::CmpOp::Eq,
        CmpPredicate::Ne => ast::CmpOp::NotEq,
        CmpPredicate::Lt => ast::CmpOp::Lt,
        CmpPredicate::Le => ast::CmpOp::LtE,
        CmpPredicate::Gt => ast::CmpOp::Gt,
        CmpPredicate::Ge => ast::CmpOp::GtE,
    };
    Ok(operator::compare(op, lhs, rhs)?)
}

/// The predicate of a comparison; `None` for `is` and `in`.
pub const fn to_predicate(op: ast::CmpOp) -> Option<CmpPredicate> {
    Some(match op {
        ast::CmpOp::Eq => CmpPredicate::Eq,
        ast::CmpOp::NotEq => CmpPredicate::Ne,
        ast::CmpOp::Lt => CmpPredicate::Lt,
        ast::CmpOp::LtE => CmpPredicate::Le,
        ast::CmpOp::Gt => CmpPredicate::Gt,
        ast::CmpOp::GtE => CmpPredicate::Ge,
        ast::CmpOp::Is | ast::CmpOp::IsNot | ast::CmpOp::In | ast::CmpOp::NotIn => return None,
    })
}

/// A comparison as it is written.
pub const fn describe_predicate(predicate: CmpPredicate) -> &'static str {
    match predicate {
        CmpPredicate::Eq => "==",
        CmpPredicate::Ne => "!=",
        CmpPredicate::Lt => "<",
        CmpPredicate::Le => "<=",
        CmpPredicate::Gt => ">",
        CmpPredicate::Ge => ">=",
    }
}

/// `str(constant)`.
pub fn to_text(constant: &Constant) -> String {
    cerith_python::repr::str_of(constant)
}

/// `repr(constant)`.
pub fn repr(constant: &Constant) -> String {
    cerith_python::repr::repr_of(constant)
}

/// A type as Triton prints it: `fp32`, `<[16], fp32>`.
fn type_repr(ty: &TypeValue) -> String {
    match ty {
        TypeValue::Elem(elem) => elem_repr(*elem),
        TypeValue::Block(elem, shape) => {
            let mut out = String::from("<[");
            for (nth, extent) in shape.iter().enumerate() {
                let _ = write!(out, "{}{extent}", if nth == 0 { "" } else { ", " });
            }
            let _ = write!(out, "], {}>", elem_repr(*elem));
            out
        }
        TypeValue::BlockPointer(elem, shape) => {
            format!("pointer<{}>", type_repr(&TypeValue::Block(*elem, shape.clone())))
        }
        TypeValue::Named(name) => (*name).to_owned(),
    }
}

/// A type as Triton prints it: `fp32`, `int32`, `pointer<fp32>`.
fn elem_repr(elem: Elem) -> String {
    match elem.num() {
        Some(dtype) if dtype.is_float() => match dtype.triton_name().strip_prefix("float") {
            Some(rest) => format!("fp{rest}"),
            None => "bf16".to_owned(),
        },
        Some(dtype) => dtype.triton_name().to_owned(),
        None => format!("pointer<{}>", elem.pointee().map_or_else(String::new, elem_repr)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(op: PyBinary, (lhs, rhs): (Constant, Constant), expected: &str) {
        let shown = match apply_binary(op, &lhs, &rhs) {
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
        check(Div, (Int((1 << 60) + 1), Int(3)), "3.843071682022823e+17");
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
            "raises unsupported operand type(s) for -: 'str' and 'int'",
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
            assert_eq!(repr(&Constant::Float(value)), expected);
        }
    }

    proptest! {
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
                let _ = apply_binary(op, &Constant::Int(a), &Constant::Int(b));
                let _ = apply_binary(op, &Constant::Int(a), &Constant::Float(f));
                let _ = apply_binary(op, &Constant::Float(f), &Constant::Int(a));
            }
        }
    }
}
