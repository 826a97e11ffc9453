//! Python's `float`: division as in `CPython`, powers, rounding to digits, and `repr`.

use crate::error::{Error, Reason};
use crate::int::Int;

/// `a // b` and `a % b` of `Objects/floatobject.c`: the remainder has the divisor's sign. The divisor is not 0.
pub fn floor_div_mod(a: f64, b: f64) -> (f64, f64) {
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
    let floor = if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    };
    (floor, rest)
}

/// `a ** b`.
pub fn pow(a: f64, b: f64) -> Result<f64, Error> {
    if a == 0.0 && b < 0.0 && b.is_finite() {
        return Err(Error::zero_division("0.0 cannot be raised to a negative power"));
    }
    if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 {
        return Err(Error::unsupported(Reason::Complex, "complex numbers"));
    }
    let power = a.powf(b);
    if power.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(Error::overflow("(34, 'Numerical result out of range')"));
    }
    Ok(power)
}

/// Truncates a float to an integer: `int(value)`.
pub fn to_int(value: f64) -> Result<Int, Error> {
    Int::from_float(value).ok_or_else(|| {
        if value.is_nan() {
            Error::of_value(Reason::Argument, "cannot convert float NaN to integer")
        } else {
            Error::overflow("cannot convert float infinity to integer")
        }
    })
}

/// `round(value, digits)`: the decimal that is nearest to the exact value, ties to even, as a float.
pub fn round_digits(value: f64, digits: &Int) -> Result<f64, Error> {
    if !value.is_finite() || value == 0.0 {
        return Ok(value);
    }
    let digits = digits.to_i128().unwrap_or(if digits.is_negative() {
        i128::MIN
    } else {
        i128::MAX
    });
    match digits {
        // Every float is an integer multiple of this unit.
        324.. => Ok(value),
        0..324 => Ok(format!("{value:.*}", digits as usize).parse().unwrap_or(value)),
        -308..0 => {
            let whole = to_int(value)?;
            let unit = Int::from(10).checked_pow(&Int::from(-digits))?;
            let fraction = value.fract() != 0.0;
            let rounded = round_to(&whole, &unit, fraction)?;
            let float = rounded
                .to_float()
                .map_err(|_| Error::overflow("rounded value too large to represent"))?;
            Ok(if float == 0.0 { 0f64.copysign(value) } else { float })
        }
        _ => Ok(0.0 * value),
    }
}

/// The multiple of `unit` that is nearest, ties to even. `beyond`: the exact value is slightly farther from 0.
pub(crate) fn round_to(value: &Int, unit: &Int, beyond: bool) -> Result<Int, Error> {
    let negative = value.is_negative();
    let Some((quotient, rest)) = value.magnitude()?.floor_div_mod(unit) else {
        return Ok(value.clone());
    };
    let twice = rest.checked_add(&rest)?;
    let odd = quotient.and(&Int::from(1))?.to_i128() == Some(1);
    let up = twice > *unit || (twice == *unit && (odd || beyond));
    let quotient = if up {
        quotient.checked_add(&Int::from(1))?
    } else {
        quotient
    };
    let rounded = quotient.checked_mul(unit)?;
    if negative { rounded.negated() } else { Ok(rounded) }
}

/// Parses a text like `float(text)`.
pub fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char == '_' && !(before.is_ascii_digit() && chars.peek().is_some_and(char::is_ascii_digit)) {
            return None;
        }
        before = char;
    }
    text.replace('_', "").parse().ok()
}

/// `repr(value)`: the shortest text that reads as the same float.
pub fn format_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format_shortest(value);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let digits = mantissa
        .trim_start_matches('-')
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len());
    // There is at least one digit after the point.
    let behind = (digits as i32 - exponent).max(1);
    format!("{value:.*}", behind as usize)
}

/// The shortest text in scientific notation that reads as the same float. Among several, it is the nearest, and in a
/// tie the even one.
fn format_shortest(value: f64) -> String {
    let found = format!("{value:e}");
    let digits = found
        .split_once('e')
        .and_then(|(mantissa, _)| mantissa.split_once('.'))
        .map_or(0, |(_, digits)| digits.len());
    // In a tie, Rust's shortest text is the greater one.
    let nearest = format!("{value:.digits$e}");
    if nearest.parse() == Ok(value) {
        nearest
    } else {
        found
    }
}
