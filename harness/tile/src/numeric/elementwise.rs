//! The table of elementwise operations: what each does to an element of each dtype.
//!
//! A dispatch function finds the meaning of (operation, dtype) and hands it, as a closure over Rust types, to a
//! visitor. One visitor applies it to a lane, others loop over blocks, one only asks whether there is a meaning.

use super::computed::Computed;
use super::dispatch::with_element;
use super::element::{Element, Raw};
use super::float::Float;
use super::integer::{Bit, Int};
use super::math::Native as _;
use crate::DType;
use crate::fault::{Fault, is_planted};
use crate::ir::{BinaryOp, CmpPredicate, TernaryOp, UnaryOp};

/// Why a lane has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    Poison,
    DivisionByZero,
}

impl From<Flaw> for Computed {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Poison => Self::Poison,
            Flaw::DivisionByZero => Self::DivisionByZero,
        }
    }
}

/// Receives the meaning of an operation of one operand.
pub(super) trait Visit1 {
    type Out;
    fn visit_total<A: Element, R: Element>(self, f: impl Fn(A) -> R) -> Self::Out;
    fn visit_partial<A: Element, R: Element>(self, f: impl Fn(A) -> Result<R, Flaw>) -> Self::Out;
    fn visit_undefined(self) -> Self::Out;
}

/// Receives the meaning of an operation of two operands.
pub(super) trait Visit2 {
    type Out;
    fn visit_total<A: Element, R: Element>(self, f: impl Fn(A, A) -> R) -> Self::Out;
    fn visit_partial<A: Element>(self, f: impl Fn(A, A) -> Result<A, Flaw>) -> Self::Out;
    fn visit_undefined(self) -> Self::Out;
}

/// Receives the meaning of an operation of three operands.
pub(super) trait Visit3 {
    type Out;
    fn visit_total<A: Element>(self, f: impl Fn(A, A, A) -> A) -> Self::Out;
    fn visit_partial<A: Element>(self, f: impl Fn(A, A, A) -> Result<A, Flaw>) -> Self::Out;
    fn visit_undefined(self) -> Self::Out;
}

pub(super) fn visit_unary<V: Visit1>(op: UnaryOp, dtype: DType, visitor: V) -> V::Out {
    with_element!(dtype, T => int unary_int::<T, V>(op, visitor), float unary_float::<T, V>(op, visitor))
}

pub(super) fn visit_binary<V: Visit2>(op: BinaryOp, dtype: DType, visitor: V) -> V::Out {
    with_element!(dtype, T => int binary_int::<T, V>(op, visitor), float binary_float::<T, V>(op, visitor))
}

pub(super) fn visit_ternary<V: Visit3>(op: TernaryOp, dtype: DType, visitor: V) -> V::Out {
    with_element!(dtype, T => int ternary_int::<T, V>(op, visitor), float ternary_float::<T, V>(op, visitor))
}

pub(super) fn visit_compare<V: Visit2>(predicate: CmpPredicate, dtype: DType, visitor: V) -> V::Out {
    let signed = dtype == DType::U32 && is_planted(Fault::UnsignedComparesSigned);
    let dtype = if signed { DType::I32 } else { dtype };
    with_element!(dtype, T => int compare_of::<T, V>(predicate, visitor), float compare_of::<T, V>(predicate, visitor))
}

fn unary_int<T: Int, V: Visit1>(op: UnaryOp, visitor: V) -> V::Out {
    match op {
        UnaryOp::Neg => visitor.visit_total(|x: T| T::ZERO.sub(x)),
        UnaryOp::Not => visitor.visit_total(|x: T| x.xor(T::ALL_ONES)),
        // `math.absi`: the lowest value wraps to itself. Unsigned numbers and booleans are their own (`semantic.abs`).
        UnaryOp::Abs if T::SIGNED => visitor.visit_total(|x: T| if x < T::ZERO { T::ZERO.sub(x) } else { x }),
        UnaryOp::Abs => visitor.visit_total(|x: T| x),
        _ => visitor.visit_undefined(),
    }
}

fn unary_float<T: Float, V: Visit1>(op: UnaryOp, visitor: V) -> V::Out {
    macro_rules! wide {
        ($name:ident) => {
            visitor.visit_total(|x: T| T::narrow(x.widen().$name()))
        };
    }
    match op {
        UnaryOp::Neg => visitor.visit_total(T::flip_sign),
        UnaryOp::Abs => visitor.visit_total(T::clear_sign),
        UnaryOp::Not => visitor.visit_undefined(),
        UnaryOp::Floor => wide!(floor),
        UnaryOp::Ceil => wide!(ceil),
        UnaryOp::Rint if is_planted(Fault::RintTiesAway) => wide!(round),
        UnaryOp::Rint => wide!(rint),
        UnaryOp::Trunc => wide!(trunc),
        UnaryOp::Round => wide!(round),
        UnaryOp::Sqrt | UnaryOp::SqrtRn => wide!(sqrt),
        UnaryOp::Rsqrt => wide!(rsqrt),
        UnaryOp::Exp => wide!(exp),
        UnaryOp::Exp2 => wide!(exp2),
        UnaryOp::Expm1 => wide!(expm1),
        UnaryOp::Log => wide!(log),
        UnaryOp::Log2 => wide!(log2),
        UnaryOp::Log10 => wide!(log10),
        UnaryOp::Log1p => wide!(log1p),
        UnaryOp::Sin => wide!(sin),
        UnaryOp::Cos => wide!(cos),
        UnaryOp::Tan => wide!(tan),
        UnaryOp::Asin => wide!(asin),
        UnaryOp::Acos => wide!(acos),
        UnaryOp::Atan => wide!(atan),
        UnaryOp::Sinh => wide!(sinh),
        UnaryOp::Cosh => wide!(cosh),
        UnaryOp::Tanh => wide!(tanh),
        UnaryOp::Erf => wide!(erf),
        UnaryOp::IsNan => visitor.visit_total(|x: T| Bit::new(x.widen().is_nan())),
        UnaryOp::IsInf => visitor.visit_total(|x: T| Bit::new(x.widen().is_infinite())),
    }
}

fn binary_int<T: Int, V: Visit2>(op: BinaryOp, visitor: V) -> V::Out {
    fn count<T: Int>(y: T) -> Result<u32, Flaw> {
        y.count().ok_or(Flaw::Poison)
    }
    fn check_divisor<T: Int>(x: T, y: T) -> Result<(), Flaw> {
        if y == T::ZERO {
            Err(Flaw::DivisionByZero)
        } else if T::SIGNED && x == T::LOWEST && y == T::ALL_ONES {
            Err(Flaw::Poison)
        } else {
            Ok(())
        }
    }
    match op {
        BinaryOp::Add => visitor.visit_total(T::add),
        BinaryOp::Sub => visitor.visit_total(T::sub),
        BinaryOp::Mul => visitor.visit_total(T::mul),
        BinaryOp::IntDiv => visitor.visit_partial(|x: T, y: T| check_divisor(x, y).map(|()| x.divide(y))),
        BinaryOp::Rem => visitor.visit_partial(|x: T, y: T| check_divisor(x, y).map(|()| x.remainder(y))),
        BinaryOp::And => visitor.visit_total(T::and),
        BinaryOp::Or => visitor.visit_total(T::or),
        BinaryOp::Xor => visitor.visit_total(T::xor),
        BinaryOp::Shl => visitor.visit_partial(|x: T, y: T| count(y).map(|n| x.shl(n))),
        BinaryOp::Shr => visitor.visit_partial(|x: T, y: T| count(y).map(|n| x.shr(n))),
        BinaryOp::LShr => visitor.visit_partial(|x: T, y: T| count(y).map(|n| x.lshr(n))),
        BinaryOp::Min | BinaryOp::MinPropagateNan => {
            visitor.visit_total(|x: T, y: T| if y < x { y } else { x })
        }
        BinaryOp::Max | BinaryOp::MaxPropagateNan => {
            visitor.visit_total(|x: T, y: T| if y > x { y } else { x })
        }
        BinaryOp::MulHi if T::BITS > 1 => visitor.visit_total(T::mulhi),
        _ => visitor.visit_undefined(),
    }
}

fn binary_float<T: Float, V: Visit2>(op: BinaryOp, visitor: V) -> V::Out {
    macro_rules! wide {
        ($name:ident) => {
            visitor.visit_total(|x: T, y: T| T::narrow(x.widen().$name(y.widen())))
        };
    }
    match op {
        BinaryOp::Add => visitor.visit_total(|x: T, y: T| T::narrow(x.widen() + y.widen())),
        BinaryOp::Sub => visitor.visit_total(|x: T, y: T| T::narrow(x.widen() - y.widen())),
        BinaryOp::Mul => visitor.visit_total(|x: T, y: T| T::narrow(x.widen() * y.widen())),
        BinaryOp::Div | BinaryOp::DivRn if is_planted(Fault::QuotientDrifts) => {
            visitor.visit_total(|x: T, y: T| T::narrow_double(x.to_f64() / y.to_f64() * 1.000_002))
        }
        BinaryOp::Div | BinaryOp::DivRn => visitor.visit_total(|x: T, y: T| T::narrow(x.widen() / y.widen())),
        BinaryOp::Rem => wide!(fmod),
        BinaryOp::Min => wide!(min_number),
        BinaryOp::Max => wide!(max_number),
        BinaryOp::MinPropagateNan => wide!(minimum),
        BinaryOp::MaxPropagateNan => wide!(maximum),
        BinaryOp::Pow => wide!(pow),
        BinaryOp::Atan2 => wide!(atan2),
        BinaryOp::CopySign => visitor.visit_total(T::copy_sign),
        _ => visitor.visit_undefined(),
    }
}

fn ternary_int<T: Int, V: Visit3>(op: TernaryOp, visitor: V) -> V::Out {
    match op {
        // `semantic.fma` has no rule for integers; `clamp` is max, then min.
        TernaryOp::Fma => visitor.visit_undefined(),
        TernaryOp::Clamp | TernaryOp::ClampPropagateNan => visitor.visit_partial(|x: T, low: T, high: T| {
            let raised = if low > x { low } else { x };
            check_limits(low <= high, if high < raised { high } else { raised })
        }),
    }
}

fn ternary_float<T: Float, V: Visit3>(op: TernaryOp, visitor: V) -> V::Out {
    match op {
        TernaryOp::Fma => {
            visitor.visit_total(|x: T, y: T, z: T| T::narrow_fma(x.widen(), y.widen(), z.widen()))
        }
        TernaryOp::Clamp => visitor.visit_partial(|x: T, low: T, high: T| {
            if is_planted(Fault::ClampGivesNan) && x.widen().is_nan() {
                return Ok(x);
            }
            let value = T::narrow(x.widen().max_number(low.widen()).min_number(high.widen()));
            check_limits(low <= high, value)
        }),
        TernaryOp::ClampPropagateNan => visitor.visit_partial(|x: T, low: T, high: T| {
            let value = T::narrow(x.widen().maximum(low.widen()).minimum(high.widen()));
            check_limits(low <= high, value)
        }),
    }
}

/// A clamped value. It is undefined if a limit is NaN or the lower limit is above the upper one (docstring of
/// `triton.language.clamp`, 3.0.0 to 3.9.0).
fn check_limits<T>(ordered: bool, value: T) -> Result<T, Flaw> {
    if ordered { Ok(value) } else { Err(Flaw::Poison) }
}

fn compare_of<T: Element, V: Visit2>(predicate: CmpPredicate, visitor: V) -> V::Out {
    match predicate {
        CmpPredicate::Eq => visitor.visit_total(|x: T, y: T| Bit::new(x == y)),
        CmpPredicate::Ne => visitor.visit_total(|x: T, y: T| Bit::new(x != y)),
        CmpPredicate::Lt => visitor.visit_total(|x: T, y: T| Bit::new(x < y)),
        CmpPredicate::Le => visitor.visit_total(|x: T, y: T| Bit::new(x <= y)),
        CmpPredicate::Gt => visitor.visit_total(|x: T, y: T| Bit::new(x > y)),
        CmpPredicate::Ge => visitor.visit_total(|x: T, y: T| Bit::new(x >= y)),
    }
}

#[inline(always)]
fn of_bits<T: Element>(bits: u64) -> T {
    T::from_raw(T::Raw::from_u64(bits))
}

/// One lane.
pub(super) struct Lane<const N: usize>(pub(super) [u64; N]);

impl Visit1 for Lane<1> {
    type Out = Computed;
    fn visit_total<A: Element, R: Element>(self, f: impl Fn(A) -> R) -> Computed {
        Computed::Bits(f(of_bits(self.0[0])).raw().to_u64())
    }
    fn visit_partial<A: Element, R: Element>(self, f: impl Fn(A) -> Result<R, Flaw>) -> Computed {
        f(of_bits(self.0[0])).map_or_else(Into::into, |x| Computed::Bits(x.raw().to_u64()))
    }
    fn visit_undefined(self) -> Computed {
        Computed::Poison
    }
}

impl Visit2 for Lane<2> {
    type Out = Computed;
    fn visit_total<A: Element, R: Element>(self, f: impl Fn(A, A) -> R) -> Computed {
        Computed::Bits(f(of_bits(self.0[0]), of_bits(self.0[1])).raw().to_u64())
    }
    fn visit_partial<A: Element>(self, f: impl Fn(A, A) -> Result<A, Flaw>) -> Computed {
        f(of_bits(self.0[0]), of_bits(self.0[1]))
            .map_or_else(Into::into, |x| Computed::Bits(x.raw().to_u64()))
    }
    fn visit_undefined(self) -> Computed {
        Computed::Poison
    }
}

impl Visit3 for Lane<3> {
    type Out = Computed;
    fn visit_total<A: Element>(self, f: impl Fn(A, A, A) -> A) -> Computed {
        let [x, y, z] = self.0;
        Computed::Bits(f(of_bits(x), of_bits(y), of_bits(z)).raw().to_u64())
    }
    fn visit_partial<A: Element>(self, f: impl Fn(A, A, A) -> Result<A, Flaw>) -> Computed {
        let [x, y, z] = self.0;
        f(of_bits(x), of_bits(y), of_bits(z)).map_or_else(Into::into, |x| Computed::Bits(x.raw().to_u64()))
    }
    fn visit_undefined(self) -> Computed {
        Computed::Poison
    }
}

/// Whether there is a meaning at all.
struct Ask;

impl Visit1 for Ask {
    type Out = bool;
    fn visit_total<A: Element, R: Element>(self, _: impl Fn(A) -> R) -> bool {
        true
    }
    fn visit_partial<A: Element, R: Element>(self, _: impl Fn(A) -> Result<R, Flaw>) -> bool {
        true
    }
    fn visit_undefined(self) -> bool {
        false
    }
}

impl Visit2 for Ask {
    type Out = bool;
    fn visit_total<A: Element, R: Element>(self, _: impl Fn(A, A) -> R) -> bool {
        true
    }
    fn visit_partial<A: Element>(self, _: impl Fn(A, A) -> Result<A, Flaw>) -> bool {
        true
    }
    fn visit_undefined(self) -> bool {
        false
    }
}

impl Visit3 for Ask {
    type Out = bool;
    fn visit_total<A: Element>(self, _: impl Fn(A, A, A) -> A) -> bool {
        true
    }
    fn visit_partial<A: Element>(self, _: impl Fn(A, A, A) -> Result<A, Flaw>) -> bool {
        true
    }
    fn visit_undefined(self) -> bool {
        false
    }
}

/// An operation of one operand on one lane. The result is of [`unary_result`]'s dtype.
pub fn apply_unary(op: UnaryOp, dtype: DType, x: u64) -> Computed {
    visit_unary(op, dtype, Lane([x]))
}

/// An operation of two operands on one lane.
pub fn apply_binary(op: BinaryOp, dtype: DType, x: u64, y: u64) -> Computed {
    visit_binary(op, dtype, Lane([x, y]))
}

/// An operation of three operands on one lane.
pub fn apply_ternary(op: TernaryOp, dtype: DType, x: u64, y: u64, z: u64) -> Computed {
    visit_ternary(op, dtype, Lane([x, y, z]))
}

/// A comparison of one lane. Pointers compare as `u64`.
pub fn compare(predicate: CmpPredicate, dtype: DType, x: u64, y: u64) -> bool {
    visit_compare(predicate, dtype, Lane([x, y])) == Computed::Bits(1)
}

/// The result dtype of a unary operation: `i1` for the tests, otherwise the operand's.
pub const fn unary_result(op: UnaryOp, dtype: DType) -> DType {
    match op {
        UnaryOp::IsNan | UnaryOp::IsInf => DType::I1,
        _ => dtype,
    }
}

/// Whether a unary operation has a meaning for a dtype.
pub fn unary_defined(op: UnaryOp, dtype: DType) -> bool {
    visit_unary(op, dtype, Ask)
}

/// Whether a binary operation has a meaning for a dtype.
pub fn binary_defined(op: BinaryOp, dtype: DType) -> bool {
    visit_binary(op, dtype, Ask)
}

/// Whether a ternary operation has a meaning for a dtype.
pub fn ternary_defined(op: TernaryOp, dtype: DType) -> bool {
    visit_ternary(op, dtype, Ask)
}
