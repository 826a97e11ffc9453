//! Functions of integers and of the bits of floats, and conversions between the two.

use super::rounding::Direction;

/// `__nv_ffs`: the place of the lowest bit that is set, counted from 1; 0 if none is.
pub(super) const fn ffs(bits: u64) -> i32 {
    if bits == 0 {
        0
    } else {
        bits.trailing_zeros() as i32 + 1
    }
}

/// `__nv_byte_perm`: each of the four low digits of the selector (in base 16, without its highest bit) picks one of
/// the eight bytes of `y` and `x` (`prmt` of a selector that is masked with 0x7777).
pub(super) fn byte_perm(x: i32, y: i32, selector: i32) -> i32 {
    let bytes = u64::from(x as u32) | u64::from(y as u32) << 32;
    (0..4).fold(0u32, |word, place| {
        let nth = (selector as u32) >> (4 * place) & 7;
        word | u32::from((bytes >> (8 * nth)) as u8) << (8 * place)
    }) as i32
}

/// The low 24 bits, as a signed number.
pub(super) const fn low_24(x: i32) -> i32 {
    x << 8 >> 8
}

/// `__nv_sad`: `|x - y| + z`, wrapped.
pub(super) const fn abs_diff_add(x: i32, y: i32, z: u32) -> i32 {
    z.wrapping_add(x.abs_diff(y)) as i32
}

/// `cvt` of a float to an integer: out of range it returns the nearest limit. The PTX ISA defines the result for a NaN
/// (`cvt`, "Integer Notes"): 0 from `f32` to 32 bits, otherwise only the highest bit set.
pub(super) fn to_i32(value: f64, direction: Direction, nan: i32) -> i32 {
    if value.is_nan() {
        nan
    } else {
        direction.round_to_integral(value) as i32
    }
}

/// As [`to_i32`], to an unsigned number.
pub(super) fn to_u32(value: f64, direction: Direction, nan: u32) -> i32 {
    (if value.is_nan() {
        nan
    } else {
        direction.round_to_integral(value) as u32
    }) as i32
}

/// As [`to_i32`], of 64 bits.
pub(super) fn to_i64(value: f64, direction: Direction) -> i64 {
    if value.is_nan() {
        i64::MIN
    } else {
        direction.round_to_integral(value) as i64
    }
}

/// As [`to_i64`], to an unsigned number.
pub(super) fn to_u64(value: f64, direction: Direction) -> i64 {
    (if value.is_nan() {
        1 << 63
    } else {
        direction.round_to_integral(value) as u64
    }) as i64
}

/// `__nv_llround`: to nearest, ties away from zero.
pub(super) fn llround(value: f64) -> i64 {
    if value.is_nan() {
        i64::MIN
    } else {
        value.round() as i64
    }
}

/// `__nv_ilogb`: the exponent; of 0 and a NaN the least integer, of an infinity the greatest (`FP_ILOGB0`,
/// `FP_ILOGBNAN`).
pub(super) fn ilogb(value: f64) -> i32 {
    if value == 0.0 || value.is_nan() {
        i32::MIN
    } else if value.is_infinite() {
        i32::MAX
    } else {
        libm::ilogb(value)
    }
}

/// `__nv_logb`: the exponent as a float.
pub(super) fn logb(value: f64) -> f64 {
    if value == 0.0 {
        f64::NEG_INFINITY
    } else if value.is_finite() {
        f64::from(libm::ilogb(value))
    } else {
        value * value
    }
}

/// `__nv_nextafterf`, as Triton links it: subnormal operands are zeros, and the number after zero is normal. The number
/// before the smallest normal number is still subnormal.
pub(super) fn next_after_single(x: f32, y: f32) -> f32 {
    let flushed = |x: f32| {
        if x.is_subnormal() { 0f32.copysign(x) } else { x }
    };
    let (from, to) = (flushed(x), flushed(y));
    if from == 0.0 && to != 0.0 && !to.is_nan() {
        f32::MIN_POSITIVE.copysign(y)
    } else {
        libm::nextafterf(from, to)
    }
}

/// `__nv_fdim`: the difference if it is positive, otherwise 0; NaN if either is.
pub(super) fn fdim(x: f64, y: f64) -> f64 {
    if x <= y { 0.0 } else { x - y }
}

/// `__nv_saturatef`: limited to 0 and 1 (`cvt.sat`); of a NaN, 0.
pub(super) fn saturate(x: f32) -> f32 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// `__nv_remainder`: IEEE 754's, of the quotient rounded to nearest even.
pub(super) fn remainder(x: f64, y: f64) -> f64 {
    libm::remainder(x, y)
}

/// `__nv_powif` and `__nv_powi`: the power as the library computes it, by squaring, each product rounded. The bound of the
/// result counts these roundings, since no document has one.
pub(super) fn powi<T>(base: T, exponent: i32, one: T, invert: impl Fn(T) -> T) -> T
where
    T: Copy + std::ops::Mul<Output = T>,
{
    let (mut square, mut result, mut left) = (base, one, exponent.unsigned_abs());
    loop {
        if left & 1 == 1 {
            result = result * square;
        }
        left >>= 1;
        if left == 0 {
            break;
        }
        square = square * square;
    }
    if exponent < 0 { invert(result) } else { result }
}
