//! Dtypes: the list of them, the results of operations on two of them, and conversions of values that are defined
//! everywhere.

use arbitrary::{Result, Unstructured};
use cerith_tile::DType;

/// Dtypes for loads, computations and stores.
const INTS: [DType; 8] = [
    DType::I32,
    DType::I64,
    DType::I8,
    DType::I16,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];
const FLOATS: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::F64];

/// Some dtype; `f32` and `i32` are the most common.
pub(super) fn choose_dtype(u: &mut Unstructured<'_>) -> Result<DType> {
    Ok(match u.int_in_range(0..=9)? {
        0..=3 => choose_float(u)?,
        9 => DType::I1,
        _ => choose_int(u)?,
    })
}

/// Some dtype of integers.
pub(super) fn choose_int(u: &mut Unstructured<'_>) -> Result<DType> {
    if u.ratio(1, 3)? {
        Ok(DType::I32)
    } else {
        u.choose(&INTS).copied()
    }
}

/// Some dtype of floats.
pub(super) fn choose_float(u: &mut Unstructured<'_>) -> Result<DType> {
    if u.ratio(1, 2)? {
        Ok(DType::F32)
    } else {
        u.choose(&FLOATS).copied()
    }
}

/// As Triton's functions call it: `tl.float32`.
pub(super) fn render_dtype(dtype: DType) -> String {
    format!("tl.{}", dtype.triton_name())
}

/// The dtype of `+` and similar operators on tensors of two dtypes. `None` if there is none.
pub(super) fn promote(a: DType, b: DType) -> DType {
    if a == b {
        return a;
    }
    for float in [DType::F64, DType::F32, DType::F16] {
        if a == float || b == float {
            return float;
        }
    }
    if a == DType::BF16 || b == DType::BF16 {
        // With anything else, an integer too (`computation_type_impl`).
        return DType::F32;
    }
    let rank = |dtype: DType| if dtype == DType::I1 { 1 } else { dtype.bits() };
    if a.is_signed_int() == b.is_signed_int() {
        return if rank(a) > rank(b) { a } else { b };
    }
    let (unsigned, signed) = if a.is_signed_int() { (b, a) } else { (a, b) };
    if rank(unsigned) >= rank(signed) {
        unsigned
    } else {
        signed
    }
}

/// A value of one dtype as one of another, with a meaning for every value.
pub(super) fn convert(text: &str, from: DType, to: DType) -> String {
    if from == to {
        return text.to_owned();
    }
    let to_name = render_dtype(to);
    if to == DType::I1 {
        return if from.is_float() {
            format!("({text} > 0)")
        } else {
            format!("({text} != 0)")
        };
    }
    if from.is_float() && !to.is_float() {
        let low = if to.is_signed_int() { "-100.0" } else { "0.0" };
        return format!("tl.where(({text} > {low}) & ({text} < 100.0), {text}, 0.0).to({to_name})");
    }
    format!("{text}.to({to_name})")
}

/// A number as it is written beside a tensor of this dtype; never 0.
pub(super) fn choose_literal(dtype: DType, u: &mut Unstructured<'_>) -> Result<String> {
    if dtype == DType::I1 {
        return Ok("1".to_owned());
    }
    if dtype.is_float() {
        let numbers = [
            "2.0", "0.5", "1.0", "-1.0", "3", "0.1", "-2.5", "1e-3", "100.0", "1.5", "7", "-0.25",
        ];
        return Ok((*u.choose(&numbers)?).to_owned());
    }
    let mut numbers = vec!["3", "1", "2", "5", "7", "15", "16", "100", "127"];
    if dtype.is_signed_int() {
        numbers.extend(["-1", "-3", "-128"]);
    }
    if dtype.bits() >= 32 {
        numbers.extend(["0x7FFFFFFF", "65537", "1000003"]);
    }
    if dtype.bits() == 64 {
        numbers.extend(["0x123456789AB", "2**40"]);
    }
    Ok((*u.choose(&numbers)?).to_owned())
}
