//! Laws that hold of every kernel (`conch_gen::program::check`): launches are deterministic and never panic, and the
//! execution with intervals, which shares nothing with the fast one but the arithmetic of single lanes, accepts what the
//! fast one computes. `fuzz/` tries the same with many more kernels.

mod kernels;

use conch_gen::Ended;
use conch_gen::program::{Program, check_within};
use conch_interp::Config;
use conch_tile::DType;
use conch_tile::ir::{CastKind, Elem, OpKind, Rounding, Type};
use kernels::{Kernel, World};
use proptest::prelude::*;

/// Bytes of a program: seven for an operation.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..7 * 30)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(2000),
        // What was found becomes a test of its own.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_two_executions_agree(bytes in bytes()) {
        if let Err(fault) = check_within(&Program::of(&bytes), &Config::default()) {
            return Err(TestCaseError::fail(fault.0));
        }
    }
}

/// How many random kernels say anything: a test of the test.
#[test]
fn most_random_kernels_finish() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut finished = 0;
    for _ in 0..200 {
        let bytes = bytes().new_tree(&mut runner).expect("a tree").current();
        let ended = check_within(&Program::of(&bytes), &Config::default()).expect("no fault");
        finished += usize::from(ended == Ended::Finished);
    }
    assert!(finished > 80, "{finished} of 200");
}

#[test]
fn bitcasts_of_pointers_and_numbers() {
    let mut k = Kernel::new("kernel\n");
    let x = k.pointer("i", DType::I32);
    let bits = CastKind::Bits;
    let rounding = Rounding::NearestEven;
    let address =
        k.b.op(OpKind::Cast { kind: bits, rounding }, &[x], Type::num(DType::I64));
    let back = k.b.op(
        OpKind::Cast { kind: bits, rounding },
        &[address],
        Type::scalar(Elem::ptr_to(DType::I32)),
    );
    let value = k.load(back, None, None);
    let one = k.int(1);
    let value = k.add(value, one);
    k.store(x, value, None);
    let mut world = World::default();
    world.ints("i", &[41]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::ints(&memory, 0), [42]);
}
