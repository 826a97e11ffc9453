//! The precision of float dtypes.

use cerith_tile::DType;

/// Bits of a float's significand, the hidden one included.
pub(crate) const fn count_bits(dtype: DType) -> i32 {
    match dtype {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F8E4NV | DType::F8E4B8 | DType::F8E4B15 => 4,
        _ => 3,
    }
}

/// The exponent of the least bit that a number of a dtype may have, which subnormal numbers have.
pub(crate) const fn least_bit(dtype: DType) -> i32 {
    match dtype {
        DType::F64 => -1074,
        DType::F16 => -24,
        DType::BF16 => -133,
        _ => -149,
    }
}

/// 2 to an integer power, subnormal ones included; 0 and infinity past the range.
pub(crate) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(match exponent {
        ..-1074 => 0,
        -1074..-1022 => 1 << (exponent + 1074),
        -1022..1024 => ((exponent + 1023) as u64) << 52,
        1024.. => 0x7ff << 52,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_over_the_whole_range() {
        for exponent in -1080..1030 {
            assert_eq!(power_of_two(exponent), f64::from(exponent).exp2(), "{exponent}");
        }
    }
}
