//! Lanes as text, and back.

use super::cast::{decode, decode_int, encode, encode_int};
use crate::DType;
use crate::ir::Rounding;

/// The text is not a number of the dtype.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseNumberError {
    /// Not a number at all.
    #[error("`{text}` is not a number")]
    NotANumber {
        /// The text.
        text: String,
    },
    /// A number that an integer dtype cannot hold.
    #[error("`{text}` is out of range for {dtype}")]
    OutOfRange {
        /// The text.
        text: String,
        /// The dtype.
        dtype: DType,
    },
}

/// A short text that [`parse`] reads back as the same lane (the value itself, or the shortest that does), NaN payloads and signs aside: `0.1`, `-0.0`, `1e30`,
/// `inf`, `nan`; integers in decimal; `i1` as `true` and `false`.
pub fn format(dtype: DType, bits: u64) -> String {
    match dtype {
        DType::I1 => (if bits & 1 == 1 { "true" } else { "false" }).to_owned(),
        _ if dtype.is_int() => decode_int(dtype, bits).to_string(),
        _ => format_float(dtype, bits),
    }
}

/// A narrow float's value is shown in full up to so many digits.
const EXACT_DIGITS: usize = 8;

fn format_float(dtype: DType, bits: u64) -> String {
    let value = decode(dtype, bits);
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return (if value < 0.0 { "-inf" } else { "inf" }).to_owned();
    }
    // `Debug` of a float is the shortest text that reads back; a narrow type needs fewer digits still.
    if matches!(dtype, DType::F64) {
        return format!("{value:?}");
    }
    if matches!(dtype, DType::F32) {
        return format!("{:?}", value as f32);
    }
    // A value that takes few digits is shown as it is: 448, not the 450 that would read back as well.
    let digits = format!("{value:e}")
        .bytes()
        .take_while(|byte| *byte != b'e')
        .filter(u8::is_ascii_digit)
        .count();
    if digits <= EXACT_DIGITS {
        return format!("{value:?}");
    }
    let wanted = encode(dtype, value, Rounding::NearestEven);
    for digits in 0..9 {
        let text = format!("{value:.digits$e}");
        let Ok(short) = text.parse::<f64>() else { continue };
        if encode(dtype, short, Rounding::NearestEven) == wanted {
            return format!("{short:?}");
        }
    }
    format!("{value:?}")
}

/// Reads a number as a lane: what [`format()`] writes, and every decimal, exponent or hexadecimal integer that Rust or
/// Python reads. Floats are rounded to nearest even, past the range to what [`encode`] gives.
pub fn parse(dtype: DType, text: &str) -> Result<u64, ParseNumberError> {
    let not_a_number = || ParseNumberError::NotANumber {
        text: text.to_owned(),
    };
    let clean: String = text.trim().chars().filter(|&c| c != '_').collect();
    match clean.as_str() {
        "true" | "True" => return Ok(encode_int(dtype, 1)),
        "false" | "False" => return Ok(0),
        _ => {}
    }
    if dtype.is_float() {
        let value = match parse_integer(&clean) {
            // `-0` has a sign only as a float.
            Some(value) if value != 0 => return Ok(encode_int(dtype, value)),
            _ => clean.parse::<f64>().map_err(|_| not_a_number())?,
        };
        return Ok(encode(dtype, value, Rounding::NearestEven));
    }
    let value = parse_integer(&clean).ok_or_else(not_a_number)?;
    let bits = encode_int(dtype, value);
    if decode_int(dtype, bits) == value {
        Ok(bits)
    } else {
        Err(ParseNumberError::OutOfRange {
            text: text.to_owned(),
            dtype,
        })
    }
}

fn parse_integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..)?),
        Some("0b") => (2, lower.get(2..)?),
        Some("0o") => (8, lower.get(2..)?),
        _ => (10, lower.as_str()),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}
