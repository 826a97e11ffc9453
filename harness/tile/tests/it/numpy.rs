//! Compares the functions that follow NumPy with NumPy (`golden/by_numpy.py` writes the file).

use cerith_tile::DType;
use cerith_tile::ir::UnaryOp;
use cerith_tile::numeric::numpy::{find_function, has_sums, sum};
use cerith_tile::numeric::{decode, is_nan, unary_range};

const GOLDEN: &str = include_str!("../golden/by_numpy.txt");

fn parse_words(text: &str) -> Vec<u64> {
    text.split_whitespace()
        .map(|word| u64::from_str_radix(word, 16).expect("bits in base 16"))
        .collect()
}

fn is_same_lane(dtype: DType, left: u64, right: u64) -> bool {
    left == right || is_nan(dtype, left) && is_nan(dtype, right)
}

const FUNCTIONS: [(&str, UnaryOp); 3] = [
    ("exp", UnaryOp::Exp),
    ("log", UnaryOp::Log),
    ("rsqrt", UnaryOp::Rsqrt),
];

/// NumPy's function of `f32`, on bits.
fn call_numpy(op: UnaryOp, x: u64) -> u64 {
    let function = find_function(op).expect("NumPy's own");
    function(f32::from_bits(x as u32)).to_bits().into()
}

/// Whether a conforming implementation may give this.
fn is_conforming(op: UnaryOp, x: u64, result: u64) -> bool {
    let range = unary_range(op, DType::F32, x);
    let number = decode(DType::F32, result);
    number.is_nan() && range.nan || range.low <= number && number <= range.high
}

/// Computes the result for a line of the file, and compares it with NumPy's if a conforming implementation may return
/// that.
fn check(asked: &str, wanted: &[u64]) -> bool {
    let (name, rest) = asked.split_once(' ').expect("a function");
    let Some(&(_, op)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        let (dtype, got) = compute_sums(rest);
        assert_eq!(got.len(), wanted.len());
        assert!(
            got.iter().zip(wanted).all(|(&a, &b)| is_same_lane(dtype, a, b)),
            "{asked}: {got:x?} not {wanted:x?}"
        );
        return true;
    };
    let (x, wanted) = (parse_words(rest)[0], wanted[0]);
    let got = call_numpy(op, x);
    let fits = is_same_lane(DType::F32, got, wanted);
    assert!(
        fits || !is_conforming(op, x, wanted),
        "{asked}: {got:x} not {wanted:x}"
    );
    fits
}

fn compute_sums(asked: &str) -> (DType, Vec<u64>) {
    let (dtype, rest) = asked.split_once(' ').expect("a dtype");
    let (inner, elements) = rest.split_once(' ').expect("elements");
    let dtype: DType = dtype.parse().expect("a dtype");
    let inner: usize = inner.parse().expect("a number of columns");
    let elements = parse_words(elements);
    let bytes: Vec<u8> = elements
        .iter()
        .flat_map(|word| word.to_le_bytes().into_iter().take(dtype.size()))
        .collect();
    let mut sums = vec![0xff; inner * dtype.size()];
    sum(dtype, elements.len() / inner, inner, &bytes, &mut sums);
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte))
    };
    (dtype, sums.chunks(dtype.size()).map(word).collect())
}

#[test]
fn every_bit_is_numpys() {
    let lines = GOLDEN.lines().filter(|line| !line.starts_with('#'));
    let (mut tried, mut fit) = (0, 0);
    for line in lines {
        let (asked, wanted) = line.split_once(" -> ").expect("a result");
        fit += u32::from(check(asked, &parse_words(wanted)));
        tried += 1;
    }
    assert!(tried > 2000, "{tried} lines");
    // All but those too far off.
    assert!(fit * 100 > tried * 97, "{fit} of {tried}");
}

#[test]
fn a_conforming_implementation_may_give_it() {
    for bits in (0..=u32::MAX).step_by(49_999) {
        let x = u64::from(bits);
        for (name, op) in FUNCTIONS {
            let result = call_numpy(op, x);
            assert!(is_conforming(op, x, result), "{name} {x:x}: {result:x}");
        }
    }
}

#[test]
fn negative_zeros_add_up_to_one() {
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let zero = &(1_u64 << (dtype.bits() - 1)).to_le_bytes()[..dtype.size()];
        for (count, inner) in [(1, 1), (7, 1), (9, 1), (300, 1), (9, 2)] {
            let mut to = vec![7; inner * dtype.size()];
            sum(dtype, count, inner, &zero.repeat(count * inner), &mut to);
            assert_eq!(to, zero.repeat(inner), "{dtype} {count} {inner}");
        }
    }
}

#[test]
fn what_has_no_sums_is_left_alone() {
    for dtype in [DType::BF16, DType::F8E5, DType::I32] {
        let mut to = [7; 4];
        assert!(!has_sums(dtype));
        sum(dtype, 2, 1, &[0; 8], &mut to[..dtype.size()]);
        assert_eq!(to, [7; 4]);
    }
}
