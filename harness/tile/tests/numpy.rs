//! What NumPy computes, against NumPy (`golden/by_numpy.py` writes the file).

use cerith_tile::DType;
use cerith_tile::ir::UnaryOp;
use cerith_tile::numeric::is_nan;
use cerith_tile::numeric::numpy::{function, has_sums, sum};

const GOLDEN: &str = include_str!("golden/by_numpy.txt");

fn words(text: &str) -> Vec<u64> {
    text.split_whitespace()
        .map(|word| u64::from_str_radix(word, 16).expect("bits in base 16"))
        .collect()
}

fn same(dtype: DType, left: u64, right: u64) -> bool {
    left == right || is_nan(dtype, left) && is_nan(dtype, right)
}

/// What is computed for a line of the file.
fn computed(asked: &str) -> (DType, Vec<u64>) {
    let (name, rest) = asked.split_once(' ').expect("a function");
    let op = match name {
        "exp" => UnaryOp::Exp,
        "log" => UnaryOp::Log,
        "rsqrt" => UnaryOp::Rsqrt,
        _ => return summed(rest),
    };
    let function = function(op).expect("NumPy's own");
    let x = f32::from_bits(words(rest)[0] as u32);
    (DType::F32, vec![function(x).to_bits().into()])
}

fn summed(asked: &str) -> (DType, Vec<u64>) {
    let (dtype, rest) = asked.split_once(' ').expect("a dtype");
    let (inner, elements) = rest.split_once(' ').expect("elements");
    let dtype: DType = dtype.parse().expect("a dtype");
    let inner: usize = inner.parse().expect("a number of columns");
    let elements = words(elements);
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
    let mut tried = 0;
    for line in lines {
        let (asked, wanted) = line.split_once(" -> ").expect("a result");
        let (dtype, got) = computed(asked);
        let wanted = words(wanted);
        let fits = got.len() == wanted.len() && got.iter().zip(&wanted).all(|(&a, &b)| same(dtype, a, b));
        assert!(fits, "{asked}: {got:x?} not {wanted:x?}");
        tried += 1;
    }
    assert!(tried > 2000, "{tried} lines");
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
