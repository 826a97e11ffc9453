//! A launch in several threads ends as it does in one: same memory, same outcome, same work.

use cerith_interp::{Config, LaunchOutcome, Order, ParamValue, Program, Watch};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Function, OpKind};

use crate::kernels::{self, Kernel, World};

/// Shares every launch out that can be.
const SHARED: Config<'static> = Config {
    checks: cerith_interp::Checks::Full,
    order: Order::Ascending,
    combining: cerith_interp::Combining::Own,
    numerics: cerith_interp::Numerics::Own,
    masked_zero: false,
    only_program: None,
    leaving: cerith_interp::Leaving::Silent,
    out_of_bounds: cerith_interp::OutOfBounds::Trapped,
    unaligned: false,
    device_asserts: true,
    fuel: 1 << 33,
    program_fuel: u64::MAX,
    memory_limit: 1 << 30,
    print_limit: 16 << 20,
    threads: 3,
    share_work: 0,
    watch: Watch {
        stop: None,
        deadline: None,
    },
};

/// Checks that a launch in several threads equals one in a single thread, and returns the result.
#[track_caller]
fn check_threads(
    function: &Function,
    grid: [u32; 3],
    args: &[ParamValue],
    memory: &Memory,
    config: Config<'static>,
) -> (LaunchOutcome, Memory) {
    let program = Program::prepare(function.clone()).expect("verified");
    let run = |config: &Config<'_>| {
        let mut memory = memory.clone();
        let outcome = program
            .launch(grid, args, &mut memory, config)
            .expect("no bug of ours");
        (outcome, memory)
    };
    let alone = run(&Config { threads: 1, ..config });
    let shared = run(&config);
    assert_eq!(alone.0, shared.0);
    assert!(alone.1 == shared.1, "other memory");
    alone
}

/// The sum of two vectors, in programs of 64.
fn sum(count: usize) -> (Function, Memory, Vec<ParamValue>) {
    let mut world = World::default();
    let values: Vec<f32> = (0..count as u16).map(f32::from).collect();
    world.add_floats("x", &values);
    world.add_floats("y", &values);
    world.tensor("out", DType::F32, count, None);
    let (memory, mut args) = world.finish();
    args.push(ParamValue::Number(count as u64));
    (kernels::vector_add(64), memory, args)
}

#[test]
fn programs_that_cannot_meet() {
    let (function, memory, args) = sum(1000);
    for order in [Order::Ascending, Order::Descending, Order::Shuffled(7)] {
        for threads in [2, 3, 100] {
            let config = Config {
                order,
                threads,
                ..SHARED
            };
            let (outcome, after) = check_threads(&function, [16, 1, 1], &args, &memory, config);
            assert!(matches!(outcome, LaunchOutcome::Finished(_)));
            assert_eq!(kernels::read_floats(&after, 2)[999], 1998.0);
        }
    }
}

#[test]
fn a_product_of_matrices() {
    let values: Vec<f32> = (0..64u16 * 64).map(|n| f32::from(n % 97) / 8.0).collect();
    let mut world = World::default();
    world.add_floats("a", &values);
    world.add_floats("b", &values);
    world.tensor("c", DType::F32, 64 * 64, None);
    let (memory, args) = world.finish();
    let function = kernels::matmul(64, 16, DType::F32);
    let (outcome, _) = check_threads(&function, [4, 4, 1], &args, &memory, SHARED);
    assert!(matches!(outcome, LaunchOutcome::Finished(_)));
}

#[test]
fn a_limit_that_some_program_reaches() {
    let (function, memory, args) = sum(1000);
    let (outcome, _) = check_threads(&function, [16, 1, 1], &args, &memory, SHARED);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    let used = finished.stats.fuel;
    for fuel in [used, used - 1, used / 2, used / 16 + 1] {
        let (outcome, _) = check_threads(&function, [16, 1, 1], &args, &memory, Config { fuel, ..SHARED });
        assert_eq!(
            matches!(outcome, LaunchOutcome::Finished(_)),
            fuel == used,
            "{fuel} of {used}"
        );
    }
}

/// `out[pid] = pid`, and a program that divides by zero.
#[test]
fn a_program_that_traps() {
    let text = "tl.store(out + pid, pid // (pid - bad))\n";
    for bad in [0, 5, 15, 99] {
        let mut k = Kernel::new(text);
        let out = k.add_pointer_param("out", DType::I32);
        let pid = k.program_id(0);
        let number = k.add_int(bad);
        let difference = k.add_binary(BinaryOp::Sub, pid, number);
        let quotient = k.add_binary(BinaryOp::IntDiv, pid, difference);
        let place = k.offset_pointer(out, pid);
        k.store(place, quotient, None);
        let mut world = World::default();
        world.tensor("out", DType::I32, 16, None);
        let (memory, args) = world.finish();
        let (outcome, _) = check_threads(&k.finish(), [16, 1, 1], &args, &memory, SHARED);
        assert_eq!(
            matches!(outcome, LaunchOutcome::Trapped(_)),
            bad < 16,
            "{bad}: {outcome:?}"
        );
    }
}

#[test]
fn lines_that_programs_print_keep_their_order() {
    let mut k = Kernel::new("tl.device_print('pid', pid)\n");
    let out = k.add_pointer_param("out", DType::I32);
    let pid = k.program_id(0);
    let place = k.offset_pointer(out, pid);
    k.store(place, pid, None);
    let prefix = "pid".to_owned();
    k.b.add_effect(OpKind::Print { prefix, hex: false }, &[pid]);
    let mut world = World::default();
    world.tensor("out", DType::I32, 16, None);
    let (memory, args) = world.finish();
    let (outcome, _) = check_threads(&k.finish(), [16, 1, 1], &args, &memory, SHARED);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(finished.prints.len(), 16);
}

/// Every program writes to the same place: a race, which threads would not see.
#[test]
fn programs_that_meet() {
    let mut k = Kernel::new("tl.store(out, pid)\n");
    let out = k.add_pointer_param("out", DType::I32);
    let pid = k.program_id(0);
    k.store(out, pid, None);
    let mut world = World::default();
    world.tensor("out", DType::I32, 1, None);
    let (memory, args) = world.finish();
    let (outcome, _) = check_threads(&k.finish(), [16, 1, 1], &args, &memory, SHARED);
    assert!(matches!(outcome, LaunchOutcome::Trapped(_)), "{outcome:?}");
}
