//! Chooses the dtype that an operation computes in, and converts Python numbers to tensors.
//!
//! All functions follow `computation_type_impl`, `to_tensor_type` and `scalar_constant` of Triton's typed semantics.

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{OpKind, Rounding, Type, ValueId};
use cerith_tile::numeric::{decode, encode, encode_int};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::{Rule, Rules};

use super::types::describe;
use crate::constant::{self, Constant};
use crate::lowering::Lowering;
use crate::stop::Traced;
use crate::value::Value;

/// A Python number: what `constexpr`s and literals are to an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i128),
    /// A float.
    Float(f64),
}

impl Number {
    /// The number that a constant is; bools count.
    pub const fn from_constant(constant: &Constant) -> Option<Self> {
        match constant {
            Constant::Bool(value) => Some(Self::Bool(*value)),
            Constant::Int(value) => Some(Self::Int(*value)),
            Constant::Float(value) => Some(Self::Float(*value)),
            _ => None,
        }
    }

    /// As an int, unless it is a float.
    const fn int(self) -> Option<i128> {
        match self {
            Self::Bool(value) => Some(value as i128),
            Self::Int(value) => Some(value),
            Self::Float(_) => None,
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Float(value) => value == 0.0,
            _ => self.int() == Some(0),
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Self::Float(value) => value < 0.0,
            _ => self.int().is_some_and(|value| value < 0),
        }
    }

    fn text(self) -> String {
        constant::repr(&match self {
            Self::Bool(value) => Constant::Bool(value),
            Self::Int(value) => Constant::Int(value),
            Self::Float(value) => Constant::Float(value),
        })
    }

    /// The dtype it has when it must become a tensor by itself; `None` when no integer type holds it.
    pub fn dtype(self) -> Option<DType> {
        const I32: std::ops::Range<i128> = -(1 << 31)..1 << 31;
        const U32: std::ops::Range<i128> = 1 << 31..1 << 32;
        const I64: std::ops::Range<i128> = -(1 << 63)..1 << 63;
        const U64: std::ops::Range<i128> = 1 << 63..1 << 64;
        match self {
            Self::Bool(_) => Some(DType::I1),
            Self::Int(value) => [
                (I32, DType::I32),
                (U32, DType::U32),
                (I64, DType::I64),
                (U64, DType::U64),
            ]
            .into_iter()
            .find_map(|(range, dtype)| range.contains(&value).then_some(dtype)),
            Self::Float(value) => {
                let size = value.abs();
                let normal = (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&size);
                let single = normal || size == 0.0 || !size.is_finite();
                Some(if single { DType::F32 } else { DType::F64 })
            }
        }
    }
}

/// An operand of an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A tensor, whose type counts in full.
    Tensor(ValueId),
    /// A Python number, whose type counts only where its kind is higher.
    Number(Number),
}

/// The operand that a value is; values other than tensors and numbers are rejected.
pub(crate) fn to_operand(lo: &Lowering, value: &Value) -> Traced<Operand> {
    match value {
        Value::Tensor(id) => Ok(Operand::Tensor(*id)),
        Value::Constant(constant) => match Number::from_constant(constant) {
            Some(number) => Ok(Operand::Number(number)),
            None => Err(lo.reject(format!(
                "cannot convert `{}` of type {} to a tensor",
                constant::repr(constant),
                constant::type_name(constant)
            ))),
        },
        other => Err(lo.reject(format!("cannot convert {} to a tensor", describe(other)))),
    }
}

/// Triton's name for a dtype in messages: `fp32`, `int32`.
pub fn describe_dtype(dtype: DType) -> String {
    constant::repr(&Constant::from(dtype))
}

/// Whether Triton counts the dtype as a signed integer. `i1` is unsigned.
pub(crate) const fn is_signed(dtype: DType) -> bool {
    dtype.is_signed_int() && !matches!(dtype, DType::I1)
}

/// Booleans below integers below floats.
const fn rank_dtype(dtype: DType) -> u8 {
    match dtype {
        DType::I1 => 0,
        _ if dtype.is_int() => 1,
        _ => 2,
    }
}

/// The integer dtype that two integer dtypes promote to: C's usual arithmetic conversions, without those to `int`.
pub fn integer_promote(lhs: DType, rhs: DType) -> DType {
    match (is_signed(lhs), is_signed(rhs)) {
        (a, b) if a == b => {
            if lhs.bits() > rhs.bits() {
                lhs
            } else {
                rhs
            }
        }
        (false, _) => {
            if lhs.bits() > rhs.bits() || lhs.bits() == rhs.bits() && !is_planted(Fault::SignsPromoteToSigned)
            {
                lhs
            } else {
                rhs
            }
        }
        (true, _) => {
            if rhs.bits() > lhs.bits() || rhs.bits() == lhs.bits() && !is_planted(Fault::SignsPromoteToSigned)
            {
                rhs
            } else {
                lhs
            }
        }
    }
}

/// The reason why two operands of an arithmetic operator have no common dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PromotionError {
    /// Floats without a common dtype.
    #[error("no common type of {} and {}", describe_dtype(*.0), describe_dtype(*.1))]
    NoCommonType(DType, DType),
    /// A division of a signed and an unsigned integer.
    #[error(
        "cannot use /, // or % with {} and {} because they have different signedness; cast them to the same signedness",
        describe_dtype(*.0),
        describe_dtype(*.1)
    )]
    Signedness(DType, DType),
}

/// The dtype in which an arithmetic operator computes. A scalar is a Python number, not a
/// tensor without dimensions.
pub(crate) fn computation_type(
    rules: Rules,
    (mut a, a_is_scalar): (DType, bool),
    (mut b, b_is_scalar): (DType, bool),
    div_or_mod: bool,
) -> Result<DType, PromotionError> {
    let division_first = rules.holds(Rule::NarrowDivisionIsF32);
    let weak = rules.holds(Rule::WeakPythonScalars) && !is_planted(Fault::NumbersAreStrong);
    if a_is_scalar != b_is_scalar && weak {
        let (scalar, tensor) = if a_is_scalar { (a, b) } else { (b, a) };
        if rank_dtype(scalar) <= rank_dtype(tensor) {
            if !division_first {
                let half = matches!(tensor, DType::F16 | DType::BF16);
                return Ok(if div_or_mod && half { DType::F32 } else { tensor });
            }
            (a, b) = (tensor, tensor);
        }
    }
    let either = |dtype: DType| a == dtype || b == dtype;
    if either(DType::F64) {
        return Ok(DType::F64);
    }
    if division_first && div_or_mod && (a.is_float() || b.is_float()) {
        return Ok(DType::F32);
    }
    if either(DType::F32) {
        return Ok(DType::F32);
    }
    if either(DType::F16) {
        return Ok(if div_or_mod { DType::F32 } else { DType::F16 });
    }
    if either(DType::BF16) {
        return Ok(if (a == b || is_planted(Fault::Bf16StaysNarrow)) && !div_or_mod {
            DType::BF16
        } else {
            DType::F32
        });
    }
    if a.is_fp8() && b.is_fp8() && rules.holds(Rule::Fp8PairsPromote) {
        return Ok(if a == b { a } else { DType::F16 });
    }
    if a.is_float() || b.is_float() {
        return Err(PromotionError::NoCommonType(a, b));
    }
    if div_or_mod && is_signed(a) != is_signed(b) {
        return Err(PromotionError::Signedness(a, b));
    }
    Ok(integer_promote(a, b))
}

/// A constant of exactly this dtype, the same in every lane of a block type, or a scalar.
pub(crate) fn number_constant(
    lo: &mut Lowering,
    number: Number,
    dtype: DType,
    ty: Option<Type>,
) -> Traced<ValueId> {
    let bits = match (dtype.is_float(), number) {
        (true, _) if number.is_zero() && !lo.rules.holds(Rule::NegativeZeroLiteral) => 0,
        (true, _) if dtype.is_fp8() && !lo.rules.holds(Rule::Fp8Constants) && !number.is_zero() => {
            return Err(lo.reject(format!(
                "the number {} cannot become {}",
                number.text(),
                describe_dtype(dtype)
            )));
        }
        (true, _) => {
            let value = match number {
                Number::Float(value) => value,
                Number::Bool(_) | Number::Int(_) => number.int().unwrap_or_default() as f64,
            };
            let bits = if dtype == DType::BF16 && lo.has_quirk(Quirk::Bf16Truncates) {
                u64::from((value as f32).to_bits() >> 16)
            } else if dtype == DType::F16 && lo.has_quirk(Quirk::HalvesRoundOnce) {
                encode(dtype, value, Rounding::NearestEven)
            } else {
                encode_float(dtype, value)
            };
            let held = decode(dtype, bits);
            if dtype.is_fp8()
                && dtype != DType::F8E4B15
                && held != value
                && !(held.is_nan() && value.is_nan())
            {
                // The compiler writes such a number as an `f32` that is cut down to 8 bits, and its backend does not
                // lower that: nothing says what the number becomes.
                let what = format!(
                    "the number {} as {}, which does not hold it",
                    number.text(),
                    describe_dtype(dtype)
                );
                return Ok(lo.emit_op(
                    OpKind::Unsupported(what),
                    &[],
                    ty.unwrap_or_else(|| Type::num(dtype)),
                ));
            }
            bits
        }
        (false, Number::Float(value)) if value != 0.0 => {
            return Err(lo.reject(format!(
                "the float {} is not a value of {}",
                number.text(),
                describe_dtype(dtype)
            )));
        }
        (false, Number::Float(_)) => 0,
        (false, _) if dtype != DType::I1 && !fits_in_64_bits(number, dtype) => {
            return Err(lo.reject(format!(
                "the number {} is not a value of {}",
                number.text(),
                describe_dtype(dtype)
            )));
        }
        (false, Number::Bool(_) | Number::Int(_)) => encode_int(dtype, number.int().unwrap_or_default()),
    };
    Ok(lo.emit_constant(bits, ty.unwrap_or_else(|| Type::num(dtype))))
}

/// Whether the compiler's 64-bit integers, of the dtype's signedness, hold a number; narrower dtypes wrap it.
fn fits_in_64_bits(number: Number, dtype: DType) -> bool {
    number.int().is_none_or(|value| {
        if is_signed(dtype) {
            i64::try_from(value).is_ok()
        } else {
            u64::try_from(value).is_ok()
        }
    })
}

/// A Python float as the compiler writes it into IR: narrower floats go through `f32`.
fn encode_float(dtype: DType, value: f64) -> u64 {
    let value = if dtype == DType::F64 && !is_planted(Fault::DoubleNumbersAreSingle) {
        value
    } else {
        f64::from(value as f32)
    };
    encode(dtype, value, Rounding::NearestEven)
}

/// The scalar tensor that a number becomes where one is needed.
pub(crate) fn number_tensor(lo: &mut Lowering, number: Number) -> Traced<ValueId> {
    let Some(dtype) = number.dtype() else {
        return Err(lo.reject(format!("the integer {} fits in no integer type", number.text())));
    };
    number_constant(lo, number, dtype, None)
}

/// The tensor that an operand is or becomes.
pub(crate) fn operand_tensor(lo: &mut Lowering, operand: Operand) -> Traced<ValueId> {
    match operand {
        Operand::Tensor(id) => Ok(id),
        Operand::Number(number) => number_tensor(lo, number),
    }
}

/// A number where an operator computes in `dtype`: it must fit, since 3.3.1.
pub(crate) fn fitting_constant(
    lo: &mut Lowering,
    number: Number,
    dtype: DType,
    ty: Option<Type>,
) -> Traced<ValueId> {
    if dtype.is_int() && !is_signed(dtype) && number.is_negative() {
        return Err(lo.reject(
            "cannot perform a binary operation between an unsigned tensor and a negative scalar; cast one of them",
        ));
    }
    if dtype.is_int() && lo.rules.holds(Rule::ScalarsMustFit) {
        let (low, high) = int_range(dtype);
        if number.int().is_some_and(|value| value < low || value > high) {
            return Err(lo.reject(format!(
                "scalar {} is out of range for type {}",
                number.text(),
                describe_dtype(dtype)
            )));
        }
    }
    number_constant(lo, number, dtype, ty)
}

const fn int_range(dtype: DType) -> (i128, i128) {
    let bits = dtype.bits();
    if is_signed(dtype) {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}
