//! PTX instructions that are neither an operation of the IR nor a function of the library, for assembly in kernels
//! (`tl.inline_asm_elementwise`). Adding one is adding one row.
//!
//! A row is a [`Symbol`], so that everything that works on library functions works on it. Its `function` is the name of
//! a library function with the same result, if there is one. Instructions have the meaning of the PTX ISA. Instructions
//! with `.ftz` are the library's functions as Triton links them.

use super::Symbol;
use super::bound::{self, Bound};
use super::integer::{to_i32, to_i64, to_u32, to_u64};
use super::rounding::{self, Direction};
use super::word::Word;

macro_rules! instruction {
    ($name:expr, $function:expr, fn($($ty:ident),+) -> $result:ident, $bound:expr, $value:expr) => {
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
            flushes: false,
        }
    };
}

/// An operation of `f32` in four directions.
macro_rules! directed {
    ($stem:literal, $value:ident($($ty:ident),+), ($($x:ident),+)) => {
        [
            directed!(@one $stem, ".rn.f32", "_rn", Nearest, $value($($ty),+), ($($x),+)),
            directed!(@one $stem, ".rz.f32", "_rz", Zero, $value($($ty),+), ($($x),+)),
            directed!(@one $stem, ".rm.f32", "_rd", Down, $value($($ty),+), ($($x),+)),
            directed!(@one $stem, ".rp.f32", "_ru", Up, $value($($ty),+), ($($x),+)),
        ]
    };
    (@one $stem:literal, $suffix:literal, $way:literal, $direction:ident, $value:ident($($ty:ident),+), ($($x:ident),+)) => {
        instruction!(
            concat!($stem, $suffix), concat!($stem, $way), fn($($ty),+) -> f32, Bound::Exact,
            |$($x),+| rounding::$value($($x,)+ Direction::$direction)
        )
    };
}

/// A conversion of `f32` to an integer in four directions.
macro_rules! converted {
    ($suffix:literal, $function:literal, $to:ident, $value:expr) => {
        [
            converted!(@one "cvt.rni", $suffix, $function, "_rn", Nearest, $to, $value),
            converted!(@one "cvt.rzi", $suffix, $function, "_rz", Zero, $to, $value),
            converted!(@one "cvt.rmi", $suffix, $function, "_rd", Down, $to, $value),
            converted!(@one "cvt.rpi", $suffix, $function, "_ru", Up, $to, $value),
        ]
    };
    (@one $stem:literal, $suffix:literal, $function:literal, $way:literal, $direction:ident, $to:ident, $value:expr) => {
        instruction!(
            concat!($stem, $suffix), concat!($function, $way), fn(f32) -> $to, Bound::Exact,
            |x| { let value: fn(f64, Direction) -> $to = $value; value(x.into(), Direction::$direction) }
        )
    };
}

static WORDS: &[Symbol] = &[
    instruction! { "prmt.b32", "prmt", fn(u32, u32, u32) -> u32, Bound::Exact, permute_bytes },
    instruction! { "bfe.u32", "bfe.u32", fn(u32, u32, u32) -> u32, Bound::Exact,
    |x, at, length| extract_bits(x.into(), 32, at, length, false) as u32 },
    instruction! { "bfe.s32", "bfe.s32", fn(u32, u32, u32) -> u32, Bound::Exact,
    |x, at, length| extract_bits(x.into(), 32, at, length, true) as u32 },
    instruction! { "bfe.u64", "bfe.u64", fn(u64, u32, u32) -> u64, Bound::Exact,
    |x, at, length| extract_bits(x, 64, at, length, false) },
    instruction! { "bfe.s64", "bfe.s64", fn(u64, u32, u32) -> u64, Bound::Exact,
    |x, at, length| extract_bits(x, 64, at, length, true) },
    instruction! { "bfi.b32", "bfi.b32", fn(u32, u32, u32, u32) -> u32, Bound::Exact,
    |part, x, at, length| insert_bits(part.into(), x.into(), 32, at, length) as u32 },
    instruction! { "bfi.b64", "bfi.b64", fn(u64, u64, u32, u32) -> u64, Bound::Exact,
    |part, x, at, length| insert_bits(part, x, 64, at, length) },
    instruction! { "shf.l.wrap.b32", "shf.l.wrap", fn(u32, u32, u32) -> u32, Bound::Exact,
    |low, high, by| ((join_words(low, high) << (by & 31)) >> 32) as u32 },
    instruction! { "shf.l.clamp.b32", "shf.l.clamp", fn(u32, u32, u32) -> u32, Bound::Exact,
    |low, high, by| ((join_words(low, high) << by.min(32)) >> 32) as u32 },
    instruction! { "shf.r.wrap.b32", "shf.r.wrap", fn(u32, u32, u32) -> u32, Bound::Exact,
    |low, high, by| (join_words(low, high) >> (by & 31)) as u32 },
    instruction! { "shf.r.clamp.b32", "shf.r.clamp", fn(u32, u32, u32) -> u32, Bound::Exact,
    |low, high, by| (join_words(low, high) >> by.min(32)) as u32 },
    instruction! { "cvt.rna.tf32.f32", "cvt.rna.tf32", fn(f32) -> u32, Bound::Exact, to_tf32 },
    // PTX: 1 ULP over the whole range.
    instruction! { "rcp.approx.f32", "rcp", fn(f32) -> f32, Bound::Own(bound::approximate_reciprocal), |x| 1.0 / x },
    // PTX: a relative error of 2^-11.
    instruction! { "tanh.approx.f32", "tanh_approx", fn(f32) -> f32, Bound::Own(bound::approximate_tanh),
    |x| libm::tanh(x.into()) as f32 },
];

/// Every table.
static TABLES: &[&[Symbol]] = &[
    WORDS,
    &directed!("add", add(f32, f32), (x, y)),
    &directed!("sub", sub(f32, f32), (x, y)),
    &directed!("mul", mul(f32, f32), (x, y)),
    &directed!("div", div(f32, f32), (x, y)),
    &directed!("fma", fma(f32, f32, f32), (x, y, z)),
    &directed!("sqrt", sqrt(f32), (x)),
    &directed!("rcp", rcp(f32), (x)),
    &converted!(".s32.f32", "float2int", i32, |x, way| to_i32(x, way, 0)),
    &converted!(".u32.f32", "float2uint", i32, |x, way| to_u32(x, way, 0)),
    &converted!(".s64.f32", "float2ll", i64, to_i64),
    &converted!(".u64.f32", "float2ull", i64, to_u64),
];

/// Every instruction.
pub fn instructions() -> impl Iterator<Item = &'static Symbol> {
    TABLES.iter().copied().flatten()
}

/// The instruction of a name: `bfe.u32`.
pub fn find_instruction(name: &str) -> Option<&'static Symbol> {
    instructions().find(|symbol| symbol.name == name)
}

fn join_words(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Rounds to the 10 fraction bits of `tf32`, ties away from zero. A number that is too large becomes infinite.
const fn to_tf32(x: f32) -> u32 {
    if x.is_nan() {
        return 0x7fff_ffff;
    }
    // Half of the last bit that stays; a carry goes on into the exponent.
    x.to_bits().wrapping_add(0x1000) & 0xffff_e000
}

/// `prmt` in its default mode: each of the four low digits of the selector (in base 16) picks one of the eight bytes of `y` and
/// `x`, or, with its highest bit, eight copies of that byte's sign.
fn permute_bytes(x: u32, y: u32, selector: u32) -> u32 {
    let bytes = join_words(x, y);
    (0..4).fold(0, |word, place| {
        let digit = selector >> (4 * place) & 15;
        let byte = (bytes >> (8 * (digit & 7))) as u8;
        let byte = if digit & 8 == 0 {
            byte
        } else {
            ((byte as i8) >> 7) as u8
        };
        word | u32::from(byte) << (8 * place)
    })
}

/// `bfe`: so many bits from a place on, or none. A signed field is filled with its highest bit; where the field reaches beyond the
/// word or is empty, that is the word's highest bit, and of an empty one 0. Place and length are the low bytes of their operands.
fn extract_bits(x: u64, width: u32, at: u32, length: u32, signed: bool) -> u64 {
    let (at, length) = (at & 0xff, length & 0xff);
    let field = |at: u32| x.checked_shr(at).unwrap_or(0);
    let last = at.saturating_add(length).saturating_sub(1).min(width - 1);
    let negative = signed && length != 0 && field(last) & 1 == 1;
    let ones = |count: u32| 1u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1);
    // A field ends where the word does.
    let inside = length.min(width.saturating_sub(at));
    let value = field(at) & ones(inside);
    if negative {
        (value | !ones(inside)) & ones(width)
    } else {
        value
    }
}

/// `bfi`: the low bits of one word in the place of so many bits of another. Place and length are the low bytes of their operands.
fn insert_bits(part: u64, x: u64, width: u32, at: u32, length: u32) -> u64 {
    let (at, length) = (at & 0xff, length & 0xff);
    let ones = |count: u32| 1u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1);
    let mask = ones(length).checked_shl(at).unwrap_or(0) & ones(width);
    let part = part.checked_shl(at).unwrap_or(0);
    x & !mask | part & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, operands: &[u64], expected: u64) {
        let symbol = find_instruction(name).unwrap_or_else(|| panic!("there is no `{name}`"));
        let value = symbol.evaluate(operands).bits();
        assert_eq!(value, Some(expected), "{name} of {operands:#x?}");
    }

    #[test]
    fn words_are_taken_apart_as_ptx_does() {
        check("prmt.b32", &[0x4433_2211, 0x8877_6655, 0x7531], 0x8866_4422);
        check("prmt.b32", &[0x4433_2211, 0x8877_6655, 0xf8e0], 0xff00_0011);
        check("bfe.u32", &[0x1234_5678, 8, 8], 0x56);
        check("bfe.s32", &[0x1234_8678, 8, 8], 0xffff_ff86);
        check("bfe.s32", &[0x8000_0000, 28, 16], 0xffff_fff8);
        check("bfe.u32", &[0x1234_5678, 40, 8], 0);
        check("bfe.s32", &[0x8000_0000, 40, 8], 0xffff_ffff);
        check("bfe.s32", &[0x8000_0000, 31, 0], 0);
        check("bfe.u64", &[u64::MAX, 4, 64], u64::MAX >> 4);
        check("bfi.b32", &[0xff, 0x1234_5678, 4, 8], 0x1234_5ff8);
        check("bfi.b32", &[0xff, 0x1234_5678, 28, 8], 0xf234_5678);
        check("bfi.b32", &[0xff, 0x1234_5678, 32, 8], 0x1234_5678);
        check("shf.l.wrap.b32", &[0x8000_0000, 1, 33], 3);
        check("shf.l.clamp.b32", &[0x8000_0001, 1, 40], 0x8000_0001);
        check("shf.r.clamp.b32", &[0x8000_0001, 1, 40], 1);
        check("shf.r.wrap.b32", &[2, 1, 1], 0x8000_0001);
    }

    #[test]
    fn names_are_of_one_instruction() {
        let mut names: Vec<&str> = instructions().map(|symbol| symbol.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
