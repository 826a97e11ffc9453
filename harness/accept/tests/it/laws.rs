//! Laws that hold of every kernel (`cerith_gen::program::check`): launches are deterministic and never panic, and the
//! execution with intervals, which shares nothing with the fast one but the arithmetic of single lanes, accepts what the
//! fast one computes. `fuzz/` tries the same with many more kernels.

use crate::kernels::{self, Kernel, World};
use cerith_accept::AcceptanceMap;
use cerith_gen::Ended;
use cerith_gen::program::{self, check_within};
use cerith_interp::{Config, Program};
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CastKind, Combine, Elem, OpKind, Rounding, Type};
use proptest::prelude::*;

/// Bytes of a program: seven for an operation.
fn generate_bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..7 * 30)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(2000),
        // Failures are kept as separate tests instead.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_two_executions_agree(bytes in generate_bytes()) {
        if let Err(fault) = check_within(&program::Program::from_bytes(&bytes), &Config::default()) {
            return Err(TestCaseError::fail(fault.0));
        }
    }
}

/// Checks the test: enough random kernels finish.
#[test]
fn most_random_kernels_finish() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut finished = 0;
    for _ in 0..200 {
        let bytes = generate_bytes().new_tree(&mut runner).expect("a tree").current();
        let ended =
            check_within(&program::Program::from_bytes(&bytes), &Config::default()).expect("no fault");
        finished += usize::from(ended == Ended::Finished);
    }
    assert!(finished > 80, "{finished} of 200");
}

/// The ends of a sum lie between numbers of its dtype. A block's cast to the same dtype rounded them, a lane's did not.
#[test]
fn a_cast_to_the_same_dtype_leaves_the_ends_of_a_sum() {
    let mut k = Kernel::new("kernel\n");
    let (x, out) = (
        k.add_pointer_param("x", DType::F32),
        k.add_pointer_param("out", DType::F32),
    );
    let (all, row) = (k.arange(128), k.arange(32));
    let addresses = k.offset_pointer(x, all);
    let lanes = k.load(addresses, None, None);
    let rows = k.reshape(lanes, &[4, 32]);
    let sums = k.reduce(rows, 0, Combine::Add, BinaryOp::Add);
    let cast = k.cast(sums, DType::F32);
    let places = k.offset_pointer(out, row);
    k.store(places, cast, None);
    let program = Program::prepare(k.finish()).expect("verified");
    let mut world = World::default();
    world.add_floats("x", &(0..128).map(|i| 11.84 / (i + 4) as f32).collect::<Vec<_>>());
    world.add_floats("out", &[0.0; 32]);
    let (memory, args) = world.finish();
    let accepted = |mut map: AcceptanceMap| {
        let mut memory = memory.clone();
        cerith_accept::accept(
            &program,
            [1, 1, 1],
            &args,
            &mut memory,
            &mut map,
            &Config::default(),
        )
        .expect("no bug of ours");
        map.iter().collect::<Vec<_>>()
    };
    let blocks = accepted(AcceptanceMap::default());
    assert_eq!(blocks.len(), 32, "every sum has an interval");
    assert_eq!(blocks, accepted(AcceptanceMap::with_book()));
}

#[test]
fn bitcasts_of_pointers_and_numbers() {
    let mut k = Kernel::new("kernel\n");
    let x = k.add_pointer_param("i", DType::I32);
    let bits = CastKind::Bits;
    let rounding = Rounding::NearestEven;
    let address =
        k.b.add_op(OpKind::Cast { kind: bits, rounding }, &[x], Type::num(DType::I64));
    let back = k.b.add_op(
        OpKind::Cast { kind: bits, rounding },
        &[address],
        Type::scalar(Elem::ptr_to(DType::I32)),
    );
    let value = k.load(back, None, None);
    let one = k.add_int(1);
    let value = k.add(value, one);
    k.store(x, value, None);
    let mut world = World::default();
    world.add_ints("i", &[41]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 0), [42]);
}
