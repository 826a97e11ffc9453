//! The table of symbols. Adding one is adding one row: what Triton and the library call it, its operands and result,
//! whether it flushes subnormal numbers, how close engines are, and its value.

use super::bound::{self, Bound};
use super::integer::{self, to_i32, to_i64, to_u32, to_u64};
use super::rounding::{self, Direction};
use super::word::Word;
use super::{Symbol, bessel, gamma, special};

/// Its PTX has no `.ftz`, or it never has subnormal numbers.
const UNFLUSHED: bool = false;
/// Its PTX has `.ftz`.
const FLUSHED: bool = true;

macro_rules! symbol {
    ($function:expr, $name:expr, fn($($ty:ident),+) -> $result:ident, $flushes:ident, $bound:expr, $value:expr) => {
        Symbol {
            function: $function,
            name: $name,
            operands: &[$(<$ty as Word>::DTYPE),+],
            result: <$result as Word>::DTYPE,
            value: |operands| {
                let value: fn($($ty),+) -> $result = $value;
                let mut bits = operands.iter().copied();
                // In the order of the operands.
                value($(<$ty as Word>::from_lane_bits(bits.next().unwrap_or(0))),+).bits()
            },
            bound: $bound,
            flushes: $flushes,
        }
    };
}

/// A conversion in four directions, under one stem.
macro_rules! converted {
    ($stem:literal, fn($from:ident) -> $to:ident, $flushes:ident, $value:expr) => {
        [
            converted!(@one $stem, "_rd", Down, $from, $to, $flushes, $value),
            converted!(@one $stem, "_rn", Nearest, $from, $to, $flushes, $value),
            converted!(@one $stem, "_ru", Up, $from, $to, $flushes, $value),
            converted!(@one $stem, "_rz", Zero, $from, $to, $flushes, $value),
        ]
    };
    (@one $stem:literal, $suffix:literal, $direction:ident, $from:ident, $to:ident, $flushes:ident, $value:expr) => {
        symbol!(
            concat!($stem, $suffix), concat!("__nv_", $stem, $suffix),
            fn($from) -> $to, $flushes, Bound::Exact,
            |x| { let value: fn($from, Direction) -> $to = $value; value(x, Direction::$direction) }
        )
    };
}

/// An operation in four directions, for both types.
macro_rules! directed {
    ($stem:literal, $value:ident, $single:literal($($f:ident),+), $double:literal($($d:ident),+), $x:tt) => {
        [
            directed!(@one $stem, $single, "_rd", Down, f32($($f),+), FLUSHED, $value, $x),
            directed!(@one $stem, $single, "_rn", Nearest, f32($($f),+), FLUSHED, $value, $x),
            directed!(@one $stem, $single, "_ru", Up, f32($($f),+), FLUSHED, $value, $x),
            directed!(@one $stem, $single, "_rz", Zero, f32($($f),+), FLUSHED, $value, $x),
            directed!(@one $stem, $double, "_rd", Down, f64($($d),+), UNFLUSHED, $value, $x),
            directed!(@one $stem, $double, "_rn", Nearest, f64($($d),+), UNFLUSHED, $value, $x),
            directed!(@one $stem, $double, "_ru", Up, f64($($d),+), UNFLUSHED, $value, $x),
            directed!(@one $stem, $double, "_rz", Zero, f64($($d),+), UNFLUSHED, $value, $x),
        ]
    };
    (@one $stem:literal, $name:literal, $suffix:literal, $direction:ident, $result:ident($($ty:ident),+),
        $flushes:ident, $value:ident, ($($x:ident),+)) => {
        symbol!(
            concat!($stem, $suffix), concat!($name, $suffix),
            fn($($ty),+) -> $result, $flushes, Bound::Exact,
            |$($x),+| rounding::$value($($x,)+ Direction::$direction)
        )
    };
}

/// A function of one number for both types, with its bounds in units of the last place.
macro_rules! special {
    ($function:literal, $value:path, $single:expr, $double:expr) => {
        special!(
            $function,
            concat!("__nv_", $function, "f"),
            concat!("__nv_", $function),
            $value,
            $single,
            $double
        )
    };
    ($function:literal, $single_name:expr, $double_name:expr, $value:path, $single:expr, $double:expr) => {
        [
            symbol!($function, $single_name, fn(f32) -> f32, FLUSHED, $single, |x| {
                $value(f64::from(x)).single()
            }),
            symbol!($function, $double_name, fn(f64) -> f64, UNFLUSHED, $double, |x| {
                $value(x).high
            }),
        ]
    };
}

/// Integers and bits, and functions of floats that are exact.
static EXACT: &[Symbol] = &[
    symbol! { "clz", "__nv_clz", fn(i32) -> i32, UNFLUSHED, Bound::Exact, |x| x.leading_zeros() as i32 },
    symbol! { "clz", "__nv_clzll", fn(i64) -> i32, UNFLUSHED, Bound::Exact, |x| x.leading_zeros() as i32 },
    symbol! { "popc", "__nv_popc", fn(i32) -> i32, UNFLUSHED, Bound::Exact, |x| x.count_ones() as i32 },
    symbol! { "popc", "__nv_popcll", fn(i64) -> i32, UNFLUSHED, Bound::Exact, |x| x.count_ones() as i32 },
    symbol! { "brev", "__nv_brev", fn(i32) -> i32, UNFLUSHED, Bound::Exact, i32::reverse_bits },
    symbol! { "brev", "__nv_brevll", fn(i64) -> i64, UNFLUSHED, Bound::Exact, i64::reverse_bits },
    symbol! { "ffs", "__nv_ffs", fn(i32) -> i32, UNFLUSHED, Bound::Exact, |x| integer::ffs(u64::from(x as u32)) },
    symbol! { "ffs", "__nv_ffsll", fn(i64) -> i32, UNFLUSHED, Bound::Exact, |x| integer::ffs(x as u64) },
    symbol! { "byte_perm", "__nv_byte_perm", fn(i32, i32, i32) -> i32, UNFLUSHED, Bound::Exact,
    integer::byte_perm },
    symbol! { "mulhi", "__nv_mulhi", fn(i32, i32) -> i32, UNFLUSHED, Bound::Exact,
    |x, y| ((i64::from(x) * i64::from(y)) >> 32) as i32 },
    symbol! { "mulhi", "__nv_umulhi", fn(u32, u32) -> u32, UNFLUSHED, Bound::Exact,
    |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32 },
    symbol! { "mulhi", "__nv_mul64hi", fn(i64, i64) -> i64, UNFLUSHED, Bound::Exact,
    |x, y| ((i128::from(x) * i128::from(y)) >> 64) as i64 },
    symbol! { "mulhi", "__nv_umul64hi", fn(u64, u64) -> u64, UNFLUSHED, Bound::Exact,
    |x, y| ((u128::from(x) * u128::from(y)) >> 64) as u64 },
    symbol! { "mul24", "__nv_mul24", fn(i32, i32) -> i32, UNFLUSHED, Bound::Exact,
    |x, y| integer::low_24(x).wrapping_mul(integer::low_24(y)) },
    symbol! { "mul24", "__nv_umul24", fn(u32, u32) -> u32, UNFLUSHED, Bound::Exact,
    |x, y| (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff) },
    symbol! { "hadd", "__nv_hadd", fn(i32, i32) -> i32, UNFLUSHED, Bound::Exact,
    |x, y| ((i64::from(x) + i64::from(y)) >> 1) as i32 },
    symbol! { "hadd", "__nv_uhadd", fn(u32, u32) -> u32, UNFLUSHED, Bound::Exact,
    |x, y| ((u64::from(x) + u64::from(y)) >> 1) as u32 },
    symbol! { "rhadd", "__nv_rhadd", fn(i32, i32) -> i32, UNFLUSHED, Bound::Exact,
    |x, y| ((i64::from(x) + i64::from(y) + 1) >> 1) as i32 },
    symbol! { "rhadd", "__nv_urhadd", fn(u32, u32) -> u32, UNFLUSHED, Bound::Exact,
    |x, y| ((u64::from(x) + u64::from(y) + 1) >> 1) as u32 },
    symbol! { "sad", "__nv_sad", fn(i32, i32, u32) -> i32, UNFLUSHED, Bound::Exact, integer::abs_diff_add },
    symbol! { "sad", "__nv_usad", fn(u32, u32, u32) -> u32, UNFLUSHED, Bound::Exact,
    |x, y, z| z.wrapping_add(x.abs_diff(y)) },
    symbol! { "abs", "__nv_abs", fn(i32) -> i32, UNFLUSHED, Bound::Exact, i32::wrapping_abs },
    symbol! { "abs", "__nv_llabs", fn(i64) -> i64, UNFLUSHED, Bound::Exact, i64::wrapping_abs },
    symbol! { "abs", "__nv_fabsf", fn(f32) -> f32, FLUSHED, Bound::Exact, f32::abs },
    symbol! { "abs", "__nv_fabs", fn(f64) -> f64, UNFLUSHED, Bound::Exact, f64::abs },
    symbol! { "signbit", "__nv_signbitf", fn(f32) -> i32, UNFLUSHED, Bound::Exact,
    |x| x.is_sign_negative().into() },
    symbol! { "signbit", "__nv_signbitd", fn(f64) -> i32, UNFLUSHED, Bound::Exact,
    |x| x.is_sign_negative().into() },
    symbol! { "finitef", "__nv_finitef", fn(f32) -> i32, UNFLUSHED, Bound::Exact, |x| x.is_finite().into() },
    symbol! { "isfinited", "__nv_isfinited", fn(f64) -> i32, UNFLUSHED, Bound::Exact, |x| x.is_finite().into() },
    symbol! { "nextafter", "__nv_nextafterf", fn(f32, f32) -> f32, UNFLUSHED, Bound::Own(bound::next_after),
    integer::next_after_single },
    symbol! { "nextafter", "__nv_nextafter", fn(f64, f64) -> f64, UNFLUSHED, Bound::Exact, libm::nextafter },
    symbol! { "fdim", "__nv_fdimf", fn(f32, f32) -> f32, FLUSHED, Bound::Exact,
    |x, y| { if x <= y { 0.0 } else { x - y } } },
    symbol! { "fdim", "__nv_fdim", fn(f64, f64) -> f64, UNFLUSHED, Bound::Exact, integer::fdim },
    symbol! { "saturatef", "__nv_saturatef", fn(f32) -> f32, FLUSHED, Bound::Exact, integer::saturate },
    symbol! { "fmod", "__nv_fmodf", fn(f32, f32) -> f32, FLUSHED, Bound::Exact, |x, y| x % y },
    symbol! { "fmod", "__nv_fmod", fn(f64, f64) -> f64, UNFLUSHED, Bound::Exact, |x, y| x % y },
    symbol! { "remainder", "__nv_remainderf", fn(f32, f32) -> f32, FLUSHED, Bound::Exact,
    |x, y| libm::remainderf(x, y) },
    symbol! { "remainder", "__nv_remainder", fn(f64, f64) -> f64, UNFLUSHED, Bound::Exact, integer::remainder },
    symbol! { "ilogb", "__nv_ilogbf", fn(f32) -> i32, FLUSHED, Bound::Exact,
    |x| integer::ilogb(f64::from(x)) },
    symbol! { "ilogb", "__nv_ilogb", fn(f64) -> i32, UNFLUSHED, Bound::Exact, integer::ilogb },
    symbol! { "logb", "__nv_logbf", fn(f32) -> f32, FLUSHED, Bound::Exact,
    |x| integer::logb(f64::from(x)) as f32 },
    symbol! { "logb", "__nv_logb", fn(f64) -> f64, UNFLUSHED, Bound::Exact, integer::logb },
    symbol! { "ldexp", "__nv_ldexpf", fn(f32, i32) -> f32, FLUSHED, Bound::Own(bound::scaled_single), libm::ldexpf },
    symbol! { "ldexp", "__nv_ldexp", fn(f64, i32) -> f64, UNFLUSHED, Bound::Exact, libm::ldexp },
    symbol! { "scalbn", "__nv_scalbnf", fn(f32, i32) -> f32, FLUSHED, Bound::Own(bound::scaled_single), libm::scalbnf },
    symbol! { "scalbn", "__nv_scalbn", fn(f64, i32) -> f64, UNFLUSHED, Bound::Exact, libm::scalbn },
    symbol! { "fma", "__nv_fmaf", fn(f32, f32, f32) -> f32, FLUSHED, Bound::Exact,
    |x, y, z| rounding::fma(x, y, z, Direction::Nearest) },
    symbol! { "fma", "__nv_fma", fn(f64, f64, f64) -> f64, UNFLUSHED, Bound::Exact,
    |x, y, z| rounding::fma(x, y, z, Direction::Nearest) },
    symbol! { "rsqrt_rn", "__nv_frsqrt_rn", fn(f32) -> f32, FLUSHED, Bound::Exact,
    |x| special::rsqrt(f64::from(x)).single() },
    symbol! { "double2hiint", "__nv_double2hiint", fn(f64) -> i32, UNFLUSHED, Bound::Exact,
    |x| (x.to_bits() >> 32) as i32 },
    symbol! { "double2loint", "__nv_double2loint", fn(f64) -> i32, UNFLUSHED, Bound::Exact,
    |x| x.to_bits() as i32 },
    symbol! { "hiloint2double", "__nv_hiloint2double", fn(i32, i32) -> f64, UNFLUSHED, Bound::Exact,
    |high, low| f64::from_bits(u64::from(high as u32) << 32 | u64::from(low as u32)) },
    symbol! { "llrint", "__nv_llrintf", fn(f32) -> i64, FLUSHED, Bound::Exact,
    |x| to_i64(f64::from(x), Direction::Nearest) },
    symbol! { "llrint", "__nv_llrint", fn(f64) -> i64, UNFLUSHED, Bound::Exact,
    |x| to_i64(x, Direction::Nearest) },
    symbol! { "llround", "__nv_llroundf", fn(f32) -> i64, FLUSHED, Bound::Exact,
    |x| integer::llround(f64::from(x)) },
    symbol! { "llround", "__nv_llround", fn(f64) -> i64, UNFLUSHED, Bound::Exact, integer::llround },
    symbol! { "int2double_rn", "__nv_int2double_rn", fn(i32) -> f64, UNFLUSHED, Bound::Exact, f64::from },
    symbol! { "uint2double_rn", "__nv_uint2double_rn", fn(u32) -> f64, UNFLUSHED, Bound::Exact, f64::from },
];

/// Functions with an error.
static INEXACT: &[Symbol] = &[
    symbol! { "pow", "__nv_powif", fn(f32, i32) -> f32, FLUSHED, Bound::Own(bound::powi_single),
    |x, n| integer::powi(x, n, 1.0, f32::recip) },
    symbol! { "pow", "__nv_powi", fn(f64, i32) -> f64, UNFLUSHED, Bound::Own(bound::powi_double),
    |x, n| integer::powi(x, n, 1.0, f64::recip) },
    symbol! { "hypot", "__nv_hypotf", fn(f32, f32) -> f32, FLUSHED, Bound::Ulps(3.0),
    |x, y| special::compute_norm(&[x.into(), y.into()]).single() },
    symbol! { "hypot", "__nv_hypot", fn(f64, f64) -> f64, UNFLUSHED, Bound::Ulps(2.0),
    |x, y| special::compute_norm(&[x, y]).high },
    symbol! { "rhypot", "__nv_rhypotf", fn(f32, f32) -> f32, FLUSHED, Bound::Ulps(2.0),
    |x, y| special::inverse_length(&[x.into(), y.into()]).single() },
    symbol! { "rhypot", "__nv_rhypot", fn(f64, f64) -> f64, UNFLUSHED, Bound::Ulps(1.0),
    |x, y| special::inverse_length(&[x, y]).high },
    symbol! { "norm3d", "__nv_norm3df", fn(f32, f32, f32) -> f32, FLUSHED, Bound::Ulps(3.0),
    |x, y, z| special::compute_norm(&[x.into(), y.into(), z.into()]).single() },
    symbol! { "norm3d", "__nv_norm3d", fn(f64, f64, f64) -> f64, UNFLUSHED, Bound::Ulps(2.0),
    |x, y, z| special::compute_norm(&[x, y, z]).high },
    symbol! { "rnorm3d", "__nv_rnorm3df", fn(f32, f32, f32) -> f32, FLUSHED, Bound::Ulps(2.0),
    |x, y, z| special::inverse_length(&[x.into(), y.into(), z.into()]).single() },
    symbol! { "rnorm3d", "__nv_rnorm3d", fn(f64, f64, f64) -> f64, UNFLUSHED, Bound::Ulps(1.0),
    |x, y, z| special::inverse_length(&[x, y, z]).high },
    symbol! { "norm4d", "__nv_norm4df", fn(f32, f32, f32, f32) -> f32, FLUSHED, Bound::Ulps(3.0),
    |x, y, z, w| special::compute_norm(&[x.into(), y.into(), z.into(), w.into()]).single() },
    symbol! { "norm4d", "__nv_norm4d", fn(f64, f64, f64, f64) -> f64, UNFLUSHED, Bound::Ulps(2.0),
    |x, y, z, w| special::compute_norm(&[x, y, z, w]).high },
    symbol! { "rnorm4d", "__nv_rnorm4df", fn(f32, f32, f32, f32) -> f32, FLUSHED, Bound::Ulps(2.0),
    |x, y, z, w| special::inverse_length(&[x.into(), y.into(), z.into(), w.into()]).single() },
    symbol! { "rnorm4d", "__nv_rnorm4d", fn(f64, f64, f64, f64) -> f64, UNFLUSHED, Bound::Ulps(1.0),
    |x, y, z, w| special::inverse_length(&[x, y, z, w]).high },
    symbol! { "jn", "__nv_jnf", fn(i32, f32) -> f32, FLUSHED, Bound::Own(bound::jn_single),
    |n, x| bessel::jn(n, x.into()).single() },
    symbol! { "jn", "__nv_jn", fn(i32, f64) -> f64, UNFLUSHED, Bound::Own(bound::jn_double),
    |n, x| bessel::jn(n, x).high },
    symbol! { "yn", "__nv_ynf", fn(i32, f32) -> f32, FLUSHED, Bound::Own(bound::yn_single),
    |n, x| bessel::yn(n, x.into()).single() },
    symbol! { "yn", "__nv_yn", fn(i32, f64) -> f64, UNFLUSHED, Bound::Own(bound::yn_double),
    |n, x| bessel::yn(n, x).high },
];

/// The fast functions of `f32`.
static FAST: &[Symbol] = &[
    symbol! { "fast_dividef", "__nv_fast_fdividef", fn(f32, f32) -> f32, FLUSHED, Bound::Own(bound::fast_divide),
    |x, y| x / y },
    symbol! { "fast_expf", "__nv_fast_expf", fn(f32) -> f32, FLUSHED, Bound::Own(bound::fast_exp),
    special::exp_single },
    symbol! { "fast_exp10f", "__nv_fast_exp10f", fn(f32) -> f32, FLUSHED, Bound::Own(bound::fast_exp10),
    |x| special::exp10(x.into()).single() },
    symbol! { "fast_logf", "__nv_fast_logf", fn(f32) -> f32, FLUSHED, Bound::Own(bound::fast_log),
    |x| libm::log(x.into()) as f32 },
    symbol! { "fast_log2f", "__nv_fast_log2f", fn(f32) -> f32, FLUSHED, Bound::Own(bound::fast_log2),
    |x| libm::log2(x.into()) as f32 },
    symbol! { "fast_log10f", "__nv_fast_log10f", fn(f32) -> f32, FLUSHED, Bound::Own(bound::fast_log10),
    |x| libm::log10(x.into()) as f32 },
    symbol! { "fast_sinf", "__nv_fast_sinf", fn(f32) -> f32, FLUSHED, Bound::Own(bound::fast_sin),
    |x| libm::sin(x.into()) as f32 },
    symbol! { "fast_cosf", "__nv_fast_cosf", fn(f32) -> f32, FLUSHED, Bound::Own(bound::fast_cos),
    |x| libm::cos(x.into()) as f32 },
    symbol! { "fast_tanf", "__nv_fast_tanf", fn(f32) -> f32, FLUSHED, Bound::Own(bound::fast_tan),
    |x| libm::tan(x.into()) as f32 },
    // As the guide defines it: NaN for a negative base, with any exponent.
    symbol! { "fast_powf", "__nv_fast_powf", fn(f32, f32) -> f32, FLUSHED, Bound::Own(bound::fast_pow),
    |x, y| libm::exp2(f64::from(y) * libm::log2(f64::from(x))) as f32 },
];

/// Every table.
pub(super) static TABLES: &[&[Symbol]] = &[
    EXACT,
    INEXACT,
    FAST,
    &directed!("add", add, "__nv_fadd"(f32, f32), "__nv_dadd"(f64, f64), (x, y)),
    &directed!("sub", sub, "__nv_fsub"(f32, f32), "__nv_dsub"(f64, f64), (x, y)),
    &directed!("mul", mul, "__nv_fmul"(f32, f32), "__nv_dmul"(f64, f64), (x, y)),
    &directed!("div", div, "__nv_fdiv"(f32, f32), "__nv_ddiv"(f64, f64), (x, y)),
    &directed!(
        "fma",
        fma,
        "__nv_fmaf"(f32, f32, f32),
        "__nv_fma"(f64, f64, f64),
        (x, y, z)
    ),
    &directed!("sqrt", sqrt, "__nv_fsqrt"(f32), "__nv_dsqrt"(f64), (x)),
    &directed!("rcp", rcp, "__nv_frcp"(f32), "__nv_drcp"(f64), (x)),
    &converted!("float2int", fn(f32) -> i32, FLUSHED, |x, way| to_i32(
        x.into(),
        way,
        0
    )),
    &converted!("float2uint", fn(f32) -> i32, FLUSHED, |x, way| to_u32(
        x.into(),
        way,
        0
    )),
    &converted!("float2ll", fn(f32) -> i64, FLUSHED, |x, way| to_i64(
        x.into(),
        way
    )),
    &converted!("float2ull", fn(f32) -> i64, FLUSHED, |x, way| to_u64(
        x.into(),
        way
    )),
    &converted!("double2int", fn(f64) -> i32, UNFLUSHED, |x, way| to_i32(
        x,
        way,
        i32::MIN
    )),
    &converted!("double2uint", fn(f64) -> i32, UNFLUSHED, |x, way| to_u32(
        x,
        way,
        1 << 31
    )),
    &converted!("double2ll", fn(f64) -> i64, UNFLUSHED, to_i64),
    &converted!("double2ull", fn(f64) -> i64, UNFLUSHED, to_u64),
    &converted!("double2float", fn(f64) -> f32, FLUSHED, rounding::narrow),
    &converted!("int2float", fn(i32) -> f32, UNFLUSHED, |x, way| {
        rounding::from_int(x.into(), way)
    }),
    &converted!("uint2float", fn(u32) -> f32, UNFLUSHED, |x, way| {
        rounding::from_int(x.into(), way)
    }),
    &converted!(
        "ll2float",
        fn(i64) -> f32,
        UNFLUSHED,
        |x, way| rounding::from_int(x.into(), way)
    ),
    &converted!("ull2float", fn(u64) -> f32, UNFLUSHED, |x, way| {
        rounding::from_int(x.into(), way)
    }),
    &converted!("ll2double", fn(i64) -> f64, UNFLUSHED, |x, way| {
        rounding::from_int(x.into(), way)
    }),
    &converted!("ull2double", fn(u64) -> f64, UNFLUSHED, |x, way| {
        rounding::from_int(x.into(), way)
    }),
    &special!("acosh", special::acosh, Bound::Ulps(4.0), Bound::Ulps(3.0)),
    &special!("asinh", special::asinh, Bound::Ulps(3.0), Bound::Ulps(3.0)),
    &special!("atanh", special::atanh, Bound::Ulps(3.0), Bound::Ulps(2.0)),
    &special!(
        "cbrt",
        special::cbrt,
        Bound::Own(bound::cube_root_single),
        Bound::Ulps(1.0)
    ),
    &special!(
        "rcbrt",
        special::rcbrt,
        Bound::Own(bound::cube_root_single),
        Bound::Ulps(1.0)
    ),
    &special!("sinpi", special::sinpi, Bound::Ulps(2.0), Bound::Ulps(2.0)),
    &special!("cospi", special::cospi, Bound::Ulps(2.0), Bound::Ulps(2.0)),
    &special!("exp10", special::exp10, Bound::Ulps(2.0), Bound::Ulps(1.0)),
    &special!("erfc", special::erfc, Bound::Ulps(6.0), Bound::Ulps(5.0)),
    &special!("erfcx", special::erfcx, Bound::Ulps(6.0), Bound::Ulps(4.0)),
    &special!("erfinv", special::erfinv, Bound::Ulps(3.0), Bound::Ulps(8.0)),
    &special!("erfcinv", special::erfcinv, Bound::Ulps(7.0), Bound::Ulps(8.0)),
    &special!("normcdf", special::normcdf, Bound::Ulps(6.0), Bound::Ulps(5.0)),
    &special!(
        "normcdfinv",
        special::normcdfinv,
        Bound::Ulps(5.0),
        Bound::Ulps(8.0)
    ),
    &special!("tgamma", gamma::tgamma, Bound::Ulps(11.0), Bound::Ulps(10.0)),
    &special!(
        "lgamma",
        gamma::lgamma,
        Bound::Own(bound::lgamma_single),
        Bound::Own(bound::lgamma_double)
    ),
    &special!(
        "j0",
        bessel::j0,
        Bound::Own(bound::bessel_single),
        Bound::Own(bound::bessel_double)
    ),
    &special!(
        "j1",
        bessel::j1,
        Bound::Own(bound::bessel_single),
        Bound::Own(bound::bessel_double)
    ),
    &special!(
        "y0",
        bessel::y0,
        Bound::Own(bound::bessel_single),
        Bound::Own(bound::bessel_double)
    ),
    &special!(
        "y1",
        bessel::y1,
        Bound::Own(bound::bessel_single),
        Bound::Own(bound::bessel_double)
    ),
    &special!(
        "cyl_bessel_i0",
        bessel::bessel_i0,
        Bound::Ulps(6.0),
        Bound::Ulps(6.0)
    ),
    &special!(
        "cyl_bessel_i1",
        bessel::bessel_i1,
        Bound::Ulps(6.0),
        Bound::Ulps(6.0)
    ),
];
