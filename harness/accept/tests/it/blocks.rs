//! Whole blocks and single lanes accept the same values: an execution with intervals works on blocks if possible, and lane
//! by lane if it records causes. Both run the kernels of the benchmark, on ordinary numbers and on others.

#[path = "../../benches/kernels/mod.rs"]
mod kernels;

use cerith_accept::AcceptanceMap;
use cerith_interp::{Config, LaunchOutcome};
use cerith_tile::ir::Rounding;
use cerith_tile::{DType, numeric};

/// Elements of each tensor.
const COUNT: usize = 1 << 14;

/// Numbers that are out of the ordinary.
const SPECIAL: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    3e38,
    -3e38,
    1e-40,
    -1e-40,
    65_504.0,
];

#[derive(Clone, Copy, Debug)]
enum Fill {
    Ordinary,
    /// Small integers, whose sums are exact.
    Whole,
    /// One in so many is of [`SPECIAL`].
    Special(usize),
}

impl Fill {
    fn generate_value(self, i: usize, tensor: usize) -> f64 {
        let number = (i * 7919 + tensor * 104_729) % 65_521;
        match self {
            Self::Whole => (number % 9) as f64 - 4.0,
            Self::Special(every) if number.is_multiple_of(every) => SPECIAL[number / every % SPECIAL.len()],
            Self::Ordinary | Self::Special(_) => number as f64 / 16_380.0 - 2.0,
        }
    }
}

#[track_caller]
fn check(kernel: &str, dtype: DType, block: usize, grid: [u32; 3]) {
    let program = kernels::build_program(kernel, dtype, COUNT, block);
    for fill in [Fill::Ordinary, Fill::Whole, Fill::Special(300), Fill::Special(7)] {
        let (memory, args) = kernels::build_tensors(dtype, COUNT, |i, nth| {
            numeric::encode(dtype, fill.generate_value(i, nth), Rounding::NearestEven)
        });
        let config = Config::default();
        let mut plain = memory.clone();
        let outcome = program.launch(grid, &args, &mut plain, &config);
        assert!(
            matches!(outcome, Ok(LaunchOutcome::Finished(_))),
            "{kernel}: {outcome:?}"
        );
        let run = |mut map: AcceptanceMap| {
            let mut memory = memory.clone();
            let end = cerith_accept::accept(&program, grid, &args, &mut memory, &mut map, &config)
                .expect("no bug of ours");
            (end, memory, map)
        };
        let (end, blocks, map) = run(AcceptanceMap::default());
        let (singly, lanes, other) = run(AcceptanceMap::with_book());
        assert_eq!(end, singly, "{kernel} {dtype:?} {fill:?}");
        for (one, two) in map.iter().zip(other.iter()) {
            assert_eq!(one, two, "{kernel} {dtype:?} {fill:?}");
        }
        assert_eq!(
            map.iter().count(),
            other.iter().count(),
            "{kernel} {dtype:?} {fill:?}"
        );
        assert_eq!(blocks, lanes, "{kernel} {dtype:?} {fill:?}");
    }
}

#[test]
fn integers_and_random_numbers() {
    check("integers", DType::I32, 64, [2, 1, 1]);
    check("dropout", DType::F32, 64, [5, 1, 1]);
    check("dropout", DType::F16, 64, [2, 1, 1]);
}

#[test]
fn elementwise_kernels_match_lanes() {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
        check("add", dtype, 256, [5, 1, 1]);
        check("chain", dtype, 128, [2, 1, 1]);
        check("swiglu", dtype, 128, [2, 1, 1]);
    }
    check("geglu", DType::F32, 256, [4, 1, 1]);
    check("rope", DType::F32, 128, [4, 1, 1]);
}

#[test]
fn row_kernels_match_lanes() {
    for dtype in [DType::F32, DType::F16] {
        check("cumulative", dtype, 64, [2, 1, 1]);
        check("argmax", dtype, 64, [2, 1, 1]);
        check("rms_norm", dtype, 128, [4, 1, 1]);
    }
    check("softmax", DType::F32, 128, [4, 1, 1]);
    check("log_mixture", DType::F32, 128, [4, 1, 1]);
    check("softmax_loop", DType::F32, 128, [2, 1, 1]);
    check("layer_norm", DType::F32, 128, [4, 1, 1]);
    check("cross_entropy", DType::F32, 128, [2, 1, 1]);
}

#[test]
fn dot_kernels_match_lanes() {
    check("matmul", DType::F16, 64, [1, 1, 1]);
    check("matmul", DType::F32, 64, [1, 1, 1]);
    check("attention", DType::F16, 64, [1, 1, 1]);
}
