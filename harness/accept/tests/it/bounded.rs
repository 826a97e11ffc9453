//! Functions of operands that are not exact have bounds: every possible value of the function is accepted, and no
//! deliberately wrong one.

use crate::kernels::{self, Kernel, World};
use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_interp::{Config, ParamValue, Program};
use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, OpKind, Rounding, Type, UnaryOp, ValueId};
use cerith_tile::numeric::{self, Computed, decode, encode, library};

/// An operand: a number, or what engines give for the exponential of one, with a sign.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Exact(u64),
    Exp { exponent: f64, negative: bool },
}

const LOOSE: [Operand; 8] = {
    const fn exp(of: f64, negative: bool) -> Operand {
        Operand::Exp {
            exponent: of,
            negative,
        }
    }
    [
        exp(-1.7, false),
        exp(-0.4, false),
        exp(0.3, false),
        exp(1.1, false),
        exp(-1.7, true),
        exp(-0.4, true),
        exp(0.3, true),
        exp(1.1, true),
    ]
};

fn build_operand(k: &mut Kernel, dtype: DType, operand: Operand) -> ValueId {
    match operand {
        Operand::Exact(bits) => k.add_full(dtype, bits, &[]),
        Operand::Exp {
            exponent: of,
            negative,
        } => {
            let x = k.add_full(dtype, encode(dtype, of, Rounding::NearestEven), &[]);
            let x = k.add_unary(UnaryOp::Exp, x);
            if negative { k.add_unary(UnaryOp::Neg, x) } else { x }
        }
    }
}

/// The accepted values of a function of these operands, and the reference's bits.
fn accept_function(kind: &OpKind, dtypes: &[DType], operands: &[Operand], result: DType) -> (Accepted, u64) {
    let mut k = Kernel::new("kernel\n");
    let out = k.add_pointer_param("out", result);
    let values: Vec<ValueId> = operands
        .iter()
        .zip(dtypes)
        .map(|(&operand, &dtype)| build_operand(&mut k, dtype, operand))
        .collect();
    let value = k.b.add_op(kind.clone(), &values, Type::scalar(Elem::Num(result)));
    k.store(out, value, None);
    let function = k.finish();
    let mut world = World::default();
    world.tensor("out", result, 1, Some(&vec![0; result.size()]));
    let (mut memory, args): (_, Vec<ParamValue>) = world.finish();
    let mut before = memory.clone();
    kernels::finish(&function, [1, 1, 1], &args, &mut memory);
    let program = Program::prepare(function).expect("verified");
    let mut map = AcceptanceMap::default();
    let end = cerith_accept::accept(
        &program,
        [1, 1, 1],
        &args,
        &mut before,
        &mut map,
        &Config::default(),
    );
    assert_eq!(end.expect("no bug of ours"), Acceptance::Known);
    let bytes = memory.bytes(StorageId(0));
    let bits = bytes
        .iter()
        .rev()
        .fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    (map.accepted_at(StorageId(0), 0).1, bits)
}

/// Numbers that engines may have in place of an operand.
fn collect_samples(dtype: DType, operand: Operand) -> Vec<u64> {
    let Operand::Exp { .. } = operand else {
        let Operand::Exact(bits) = operand else {
            unreachable!()
        };
        return vec![bits];
    };
    let (accepted, own) = accept_function(&OpKind::Unary(UnaryOp::Neg), &[dtype], &[operand], dtype);
    let Accepted::Within { low, high, .. } = accepted else {
        panic!("{operand:?} is exact")
    };
    let numbers = (0..=4).map(|part| low + (high - low) * f64::from(part) / 4.0);
    let bits = numbers.map(|number| encode(dtype, -number, Rounding::NearestEven));
    let own = numeric::apply_unary(UnaryOp::Neg, dtype, own).bits();
    bits.chain(own).collect()
}

fn spoil_bits(dtype: DType, bits: u64) -> u64 {
    let bytes = u64::MAX >> (64 - 8 * dtype.size());
    bits ^ (0x5555_5555_5555_5555 & bytes)
}

fn check_bits(accepted: Accepted, dtype: DType, own: u64, bits: u64) -> Option<bool> {
    let nan = |bits| dtype.is_float() && numeric::is_nan(dtype, bits);
    match accepted {
        Accepted::Exact => Some(bits == own || nan(bits) && nan(own)),
        within => within.check_bits(bits),
    }
}

/// Holds one function to the laws. Whether it has a bound.
fn check_bounded(
    name: &str,
    kind: &OpKind,
    dtypes: &[DType],
    operands: &[Operand],
    result: DType,
    of: impl Fn(&[u64]) -> Computed,
) -> bool {
    let (accepted, own) = accept_function(kind, dtypes, operands, result);
    let what = || format!("{name} of {operands:?}: {accepted:?}");
    assert_ne!(
        check_bits(accepted, result, own, own),
        Some(false),
        "{own:#x}: {}",
        what()
    );
    if !(dtypes.iter().any(|dtype| dtype.is_int()) && result.is_int()) && result != DType::I1 {
        assert_ne!(
            check_bits(accepted, result, own, spoil_bits(result, own)),
            Some(true),
            "spoiled: {}",
            what()
        );
    }
    let mut all: Vec<Vec<u64>> = vec![Vec::new()];
    for (&operand, &dtype) in operands.iter().zip(dtypes) {
        let samples = collect_samples(dtype, operand);
        let each = |so_far: &Vec<u64>| {
            let so_far = so_far.clone();
            samples
                .iter()
                .map(move |&bits| [so_far.as_slice(), &[bits]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(each).collect();
    }
    for operands in all {
        if let Computed::Bits(bits) = of(&operands) {
            assert_ne!(
                check_bits(accepted, result, own, bits),
                Some(false),
                "{operands:#x?} gives {}, {}",
                decode(result, bits),
                what()
            );
        }
    }
    accepted != Accepted::Unknown
}

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

#[test]
fn operations_of_one_operand() {
    for dtype in FLOATS {
        for &op in UnaryOp::ALL {
            if op == UnaryOp::Not {
                continue;
            }
            let result = numeric::unary_result(op, dtype);
            for operand in LOOSE {
                let kind = OpKind::Unary(op);
                let of = |bits: &[u64]| numeric::apply_unary(op, dtype, bits[0]);
                assert!(
                    check_bounded(op.name(), &kind, &[dtype], &[operand], result, of),
                    "{op:?} of {operand:?} in {dtype:?} has no bound"
                );
            }
        }
    }
}

#[test]
fn operations_of_two_operands() {
    for dtype in FLOATS {
        let exact =
            [-2.5, -2.0, 0.7, 2.0, 3.7].map(|x| Operand::Exact(encode(dtype, x, Rounding::NearestEven)));
        for &op in BinaryOp::ALL {
            if matches!(
                op,
                BinaryOp::IntDiv
                    | BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::Xor
                    | BinaryOp::Shl
                    | BinaryOp::Shr
                    | BinaryOp::LShr
            ) || op.name().starts_with("mulhi")
                || op.name().starts_with("umulhi")
            {
                continue;
            }
            for operand in LOOSE {
                for other in exact.into_iter().chain([LOOSE[1], LOOSE[6]]) {
                    for operands in [[operand, other], [other, operand]] {
                        let kind = OpKind::Binary(op);
                        let of = |bits: &[u64]| numeric::apply_binary(op, dtype, bits[0], bits[1]);
                        let is_bounded = check_bounded(op.name(), &kind, &[dtype; 2], &operands, dtype, of);
                        assert!(is_bounded, "{op:?} of {operands:?} in {dtype:?} has no bound");
                    }
                }
            }
        }
    }
}

/// Whether no documentation gives a figure for the error.
fn is_open(symbol: &library::Symbol, operands: &[Operand]) -> bool {
    let negative = matches!(operands.first(), Some(Operand::Exp { negative: true, .. }));
    match symbol.function {
        // "Larger inside."
        "lgamma" => negative,
        // Below 1.5 times the order.
        "yn" => symbol.result == DType::F64,
        // Only some bits of the number change.
        "double2loint" | "double2hiint" => true,
        _ => false,
    }
}

#[test]
fn functions_of_the_library() {
    let int = |dtype: DType, value: i64| Operand::Exact(value as u64 & (u64::MAX >> (64 - dtype.bits())));
    for symbol in library::symbols().chain(library::instructions()) {
        let Some(at) = symbol.operands.iter().position(|dtype| dtype.is_float()) else {
            continue;
        };
        for operand in LOOSE {
            for others in [[0.7, 1.9, 0.4], [-1.3, 2.6, -0.8], [2.0, 3.7, 5.0]] {
                let mut operands: Vec<Operand> = symbol
                    .operands
                    .iter()
                    .zip(others.iter().cycle())
                    .map(|(&dtype, &other)| {
                        if dtype.is_float() {
                            Operand::Exact(encode(dtype, other, Rounding::NearestEven))
                        } else {
                            int(dtype, other.round() as i64)
                        }
                    })
                    .collect();
                operands[at] = operand;
                let places: Vec<usize> = (at + 1..operands.len()).collect();
                let mut lists = vec![operands.clone()];
                for nth in places {
                    let mut list = operands.clone();
                    list.swap(at, nth);
                    if symbol.operands[nth].is_float() {
                        lists.push(list.clone());
                        list[at] = LOOSE[2];
                        lists.push(list);
                    }
                }
                for operands in lists {
                    let kind = OpKind::Library(symbol);
                    let of = |bits: &[u64]| symbol.evaluate(bits);
                    let is_bounded =
                        check_bounded(symbol.name, &kind, symbol.operands, &operands, symbol.result, of);
                    let decided = symbol.result.is_float() && !is_open(symbol, &operands);
                    assert!(
                        is_bounded || !decided,
                        "{} of {operands:?} has no bound",
                        symbol.name
                    );
                }
            }
        }
    }
}
