//! The conversion between float formats in Triton's interpreter: sign, exponent and significand separately
//! (`_convert_float` in `runtime/interpreter.py`, the same in 3.0.0 to 3.8.0; 3.9.0 fixes the zeros of two formats).

use crate::DType;

/// A format, as Triton's `dtype` describes it.
#[derive(Clone, Copy, Debug)]
struct Format {
    /// Bits in all.
    bits: u32,
    /// Bits of the fraction.
    fraction: u32,
    bias: i64,
    /// Whether the only zero is positive, and its negative is NaN.
    unsigned_zero: bool,
}

impl Format {
    fn from_dtype(dtype: DType) -> Option<Self> {
        let (fraction, bias) = dtype.float_format()?;
        Some(Self {
            bits: dtype.bits(),
            fraction,
            bias: i64::from(bias),
            unsigned_zero: matches!(dtype, DType::F8E4B8 | DType::F8E5B16),
        })
    }

    const fn largest_exponent(self) -> i64 {
        (1 << (self.bits - self.fraction - 1)) - 1
    }
}

/// The differences of the conversion between versions and callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Manner {
    /// Whether half a step is added where bits are cut off.
    pub rounds: bool,
    /// Whether formats without a negative zero get none.
    pub mends_zeros: bool,
}

/// `1 << count` and `value >> count` in NumPy: zero if the count is out of range.
fn one_shifted(count: i64) -> u64 {
    u32::try_from(count)
        .ok()
        .and_then(|count| 1u64.checked_shl(count))
        .unwrap_or(0)
}

fn shifted_down(value: u64, count: i64) -> u64 {
    u32::try_from(count)
        .ok()
        .and_then(|count| value.checked_shr(count))
        .unwrap_or(0)
}

/// Converts the bits of a number to another format; leaves the bits of a dtype other than a float.
pub fn convert(from: DType, to: DType, manner: Manner, input: u64) -> u64 {
    let (Some(from), Some(to)) = (Format::from_dtype(from), Format::from_dtype(to)) else {
        return input;
    };
    shift_fraction(from, to, manner, input).unwrap_or_else(|| by_parts(from, to, manner, input))
}

/// Converts a number whose exponent is not zero and stays, so that only fraction bits are added or removed.
fn shift_fraction(from: Format, to: Format, manner: Manner, input: u64) -> Option<u64> {
    let largest = from.largest_exponent();
    let alike = largest == to.largest_exponent() && from.bias == to.bias && from.bits <= 32 && to.bits <= 32;
    let above_zero = (input >> from.fraction) as i64 & largest != 0;
    (alike && above_zero && !manner.rounds).then(|| {
        let kept = (1u64 << to.bits) - 1;
        if from.bits > to.bits {
            input >> (from.bits - to.bits) & kept
        } else {
            input << (to.bits - from.bits) & kept
        }
    })
}

fn by_parts(from: Format, to: Format, manner: Manner, input: u64) -> u64 {
    let sign = (input >> (from.bits - 1)) & 1;
    let mask = (1u64 << from.fraction) - 1;
    let mut significand = input & mask;
    let raw = ((input >> from.fraction) as i64) & from.largest_exponent();
    let mut exponent = raw;
    if raw == 0 {
        // The place of the highest bit, counted from the top; 0 if there is none.
        let place = if significand == 0 {
            0
        } else {
            from.fraction - significand.ilog2()
        };
        exponent = if significand == 0 {
            from.bias - to.bias
        } else {
            1 - i64::from(place)
        };
        significand = (significand << place) & mask;
    }
    let exponent_out = (exponent - from.bias + to.bias).clamp(0, to.largest_exponent()) as u64;
    let kept = (1u64 << to.fraction) - 1;
    let mut significand_out = if from.bits > to.bits {
        let dropped = from.fraction - to.fraction;
        let half = 1u64 << (dropped - 1);
        // The carry out of the fraction is combined with the exponent's lowest bit with an `or`, and lost if that bit
        // is set.
        ((significand >> dropped) & kept) + u64::from(manner.rounds && significand & half != 0)
    } else {
        (significand << to.fraction.saturating_sub(from.fraction)) & kept
    };
    if exponent_out == 0 && raw != 0 {
        let shift = (1 - to.bias) - (raw - from.bias);
        significand_out = shifted_down(significand_out, shift) | one_shifted(i64::from(to.fraction) - shift);
    }
    let zero = exponent_out == 0 && significand_out == 0;
    let nan_of_its_kind = from.unsigned_zero && input == 0x80;
    let positive = manner.mends_zeros && to.unsigned_zero && zero && !nan_of_its_kind;
    let sign = if positive { 0 } else { sign };
    let whole = if to.bits == 64 {
        u64::MAX
    } else {
        (1 << to.bits) - 1
    };
    ((sign << (to.bits - 1)) | (exponent_out << to.fraction) | significand_out) & whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: Manner = Manner {
        rounds: false,
        mends_zeros: false,
    };
    const ROUNDED: Manner = Manner {
        rounds: true,
        mends_zeros: false,
    };

    fn check(from: DType, to: DType, manner: Manner, input: u64, expected: u64) {
        let got = convert(from, to, manner, input);
        assert_eq!(
            got, expected,
            "{from:?} {input:#x} to {to:?}: {got:#x}, not {expected:#x}"
        );
    }

    #[test]
    fn what_is_moved_is_what_its_parts_make() {
        let pairs = [
            (DType::BF16, DType::F32),
            (DType::F32, DType::BF16),
            (DType::F16, DType::F8E5),
        ];
        for (from, to) in pairs {
            let (from, to) = (
                Format::from_dtype(from).expect("a float"),
                Format::from_dtype(to).expect("a float"),
            );
            for high in 0..1u64 << 16 {
                let input = if from.bits == 32 {
                    high << 16 | high.wrapping_mul(0x9e37) & 0xffff
                } else {
                    high
                };
                if let Some(moved) = shift_fraction(from, to, CUT, input) {
                    assert_eq!(moved, by_parts(from, to, CUT, input), "{input:#x}");
                }
            }
        }
    }

    /// Results of `_convert_float` of the wheels 3.0.0 and 3.9.0.
    #[test]
    fn as_the_interpreter_converts() {
        check(DType::F32, DType::BF16, CUT, 0x3f80_8000, 0x3f80);
        check(DType::F32, DType::BF16, CUT, 0x7f80_0001, 0x7f80);
        check(DType::F32, DType::BF16, CUT, 0x8000_0000, 0x8000);
        check(DType::BF16, DType::F32, CUT, 0x0001, 0);
        check(DType::BF16, DType::F32, CUT, 0x3fc0, 0x3fc0_0000);
        check(DType::F16, DType::F8E4NV, ROUNDED, 0x3c00, 0x38);
        check(DType::F8E5, DType::F16, CUT, 0x7c, 0x7c00);
        check(DType::F8E4NV, DType::F32, CUT, 0x7f, 0x43f0_0000);
        check(DType::F16, DType::F8E4B8, ROUNDED, 0x8000, 0x80);
        let mended = Manner {
            mends_zeros: true,
            ..ROUNDED
        };
        check(DType::F16, DType::F8E4B8, mended, 0x8000, 0);
    }
}
