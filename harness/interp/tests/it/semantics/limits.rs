use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cerith_accept::AcceptanceMap;
use cerith_interp::{Config, Exhausted, InternalError, LaunchOutcome, ParamValue, Program, Resource, Watch};
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Combine, Function, OpKind, Type, UnaryOp};
use cerith_tile::source::SourceId;

use crate::kernels::{self, F32, I1, Kernel, World};

fn run(
    function: &Function,
    grid: [u32; 3],
    args: &[ParamValue],
    config: &Config<'_>,
) -> Result<LaunchOutcome, InternalError> {
    let (mut memory, _) = World::default().finish();
    Program::prepare(function.clone())
        .expect("verified")
        .launch(grid, args, &mut memory, config)
}

/// Checks that a launch reached this limit while it executed this part of the text.
fn check_exhausted(outcome: &Result<LaunchOutcome, InternalError>, of: &Function, limit: &str, part: &str) {
    let Ok(LaunchOutcome::Exhausted(exhausted)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(exhausted.to_string(), limit);
    let text = &of.sources.get(SourceId(0)).expect("the kernel's text").text;
    let span = exhausted.span.expect("a place");
    assert_eq!(&text[span.start as usize..span.end as usize], part);
}

#[test]
fn an_endless_loop_uses_its_fuel_up() {
    let function = build_endless();
    let config = Config {
        fuel: 100_000,
        ..Config::default()
    };
    let outcome = run(&function, [1, 1, 1], &[], &config);
    let limit = "the limit of 100000 operations and lanes was reached";
    check_exhausted(&outcome, &function, limit, "while True: pass\n");
    let config = Config {
        program_fuel: 5_000,
        ..Config::default()
    };
    let outcome = run(&function, [1, 1, 1], &[], &config);
    let limit = "the limit of 5000 operations and lanes was reached";
    check_exhausted(&outcome, &function, limit, "while True: pass\n");
}

#[test]
fn a_huge_grid_uses_its_fuel_up() {
    let function = Kernel::new("pass\n").finish();
    let config = Config {
        fuel: 1_000_000,
        ..Config::default()
    };
    // Between programs nothing is executed.
    let reached = Exhausted {
        resource: Resource::Fuel,
        limit: 1_000_000,
        span: None,
    };
    assert_eq!(
        run(&function, [u32::MAX; 3], &[], &config),
        Ok(LaunchOutcome::Exhausted(reached))
    );
    assert!(matches!(
        run(&function, [0, 5, 5], &[], &config),
        Ok(LaunchOutcome::Finished(_))
    ));
}

#[test]
fn a_program_that_does_nothing_costs_what_it_takes() {
    let function = Kernel::new("pass\n").finish();
    let Ok(LaunchOutcome::Finished(finished)) = run(&function, [1000, 1, 1], &[], &Config::default()) else {
        panic!("it does not finish");
    };
    assert!(finished.stats.fuel >= 16 * 1000, "{:?}", finished.stats);
}

/// A kernel whose programs go round a loop without end.
fn build_endless() -> Function {
    let mut k = Kernel::new("while True: pass\n");
    k.b.open_block(&[]);
    let always = k.b.add_constant(1, Type::scalar(I1));
    let before = k.b.close_block(&[always]);
    k.b.open_block(&[]);
    let after = k.b.close_block(&[]);
    k.b.add_effect(OpKind::While { before, after }, &[]);
    k.finish()
}

#[test]
fn a_launch_ends_when_it_is_told_to_and_when_its_time_is_over() {
    let many = Kernel::new("pass\n").finish();
    let stop = AtomicBool::new(false);
    let check = |function: &Function, grid: [u32; 3]| {
        let watched = |watch| Config {
            fuel: u64::MAX,
            watch,
            ..Config::default()
        };
        let over = (Instant::now(), Duration::from_secs(7));
        let late = watched(Watch {
            deadline: Some(over),
            ..Watch::default()
        });
        let Ok(LaunchOutcome::Exhausted(reached)) = run(function, grid, &[], &late) else {
            panic!("{function}: it has no end");
        };
        assert_eq!(reached.to_string(), "the limit of 7 seconds was reached");
        stop.store(false, Ordering::Relaxed);
        let told = watched(Watch {
            stop: Some(&stop),
            ..Watch::default()
        });
        // Told while it runs.
        let ended = std::thread::scope(|scope| {
            let launch = scope.spawn(|| run(function, grid, &[], &told));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!launch.is_finished());
            stop.store(true, Ordering::Relaxed);
            launch.join().expect("no panic")
        });
        assert_eq!(ended, Err(InternalError::Stopped));
    };
    check(&many, [u32::MAX; 3]);
    check(&build_endless(), [1, 1, 1]);
}

#[test]
fn an_execution_with_intervals_ends_when_it_is_told_to() {
    let stop = AtomicBool::new(true);
    let config = Config {
        fuel: u64::MAX,
        watch: Watch {
            stop: Some(&stop),
            ..Watch::default()
        },
        ..Config::default()
    };
    for (function, grid) in [
        (Kernel::new("pass\n").finish(), [u32::MAX; 3]),
        (build_endless(), [1, 1, 1]),
    ] {
        let (mut memory, _) = World::default().finish();
        let mut map = AcceptanceMap::default();
        let ended = cerith_accept::accept(
            &Program::prepare(function).expect("verified"),
            grid,
            &[],
            &mut memory,
            &mut map,
            &config,
        );
        assert_eq!(ended, Err(InternalError::Stopped));
    }
}

#[test]
fn large_blocks_use_their_memory_up() {
    let mut k = Kernel::new("x += y\nprint(x)\n");
    let mut x = k.add_full(DType::F32, 0, &[1 << 20]);
    let range = k.arange(1 << 20);
    k.set_location("x += y");
    for _ in 0..4 {
        let y = k.cast(range, DType::F32);
        x = k.add(x, y);
    }
    k.set_location("print(x)").b.add_effect(
        OpKind::Print {
            prefix: "x".into(),
            hex: false,
        },
        &[x],
    );
    let function = k.finish();
    let config = Config {
        memory_limit: 1 << 20,
        ..Config::default()
    };
    let outcome = run(&function, [1, 1, 1], &[], &config);
    let limit = "the limit of 1048576 bytes of values was reached";
    check_exhausted(&outcome, &function, limit, "x += y");
    let config = Config {
        print_limit: 1000,
        ..Config::default()
    };
    let outcome = run(&function, [1, 1, 1], &[], &config);
    let limit = "the limit of 1000 bytes of printed text was reached";
    check_exhausted(&outcome, &function, limit, "print(x)");
}

#[test]
fn what_earlier_launches_took_does_not_count() {
    let sum = |lanes: i32| {
        let mut k = Kernel::new("kernel\n");
        let range = k.arange(lanes);
        let x = k.cast(range, DType::F32);
        let y = k.add_unary(UnaryOp::Exp, x);
        let z = k.add(x, y);
        let prefix = String::new();
        let none = k.add_full(DType::I1, 0, &[lanes as usize]);
        let zero = k.add_full(DType::F32, 0, &[lanes as usize]);
        let z = k.select(none, z, zero);
        let z = k.reduce(z, 0, Combine::Add, BinaryOp::Add);
        k.b.add_effect(OpKind::Print { prefix, hex: false }, &[z]);
        k.finish()
    };
    let config = Config {
        memory_limit: 6 * (4 << 16),
        ..Config::default()
    };
    for _ in 0..3 {
        for lanes in [1 << 13, 1 << 14, 1 << 15, 1 << 16] {
            let outcome = run(&sum(lanes), [1, 1, 1], &[], &config);
            assert!(
                matches!(outcome, Ok(LaunchOutcome::Finished(_))),
                "{lanes}: {outcome:?}"
            );
        }
    }
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    let mut k = Kernel::new("x = tl.dot_scaled(a, b)\n");
    k.set_location("tl.dot_scaled(a, b)").b.add_op(
        OpKind::Unsupported("tl.dot_scaled".into()),
        &[],
        Type::scalar(F32),
    );
    let function = k.finish();
    let outcome = run(&function, [1, 1, 1], &[], &Config::default()).expect("no bug of ours");
    insta::assert_snapshot!(kernels::render_outcome(&function, &outcome), @r"
    unsupported: tl.dot_scaled at kernel.py:1:5
    ");
}

#[test]
fn wrong_arguments_are_the_callers_error() {
    let function = kernels::vector_add(16);
    let error = run(&function, [1, 1, 1], &[], &Config::default()).expect_err("no arguments");
    insta::assert_snapshot!(error, @r"
    launch `kernel` with 0 arguments for 4 parameters
    ");
    let args = vec![ParamValue::Number(0); 4];
    let error = run(&function, [1, 1, 1], &args, &Config::default()).expect_err("numbers for pointers");
    insta::assert_snapshot!(error, @r"
    launch `kernel`: parameter `x_ptr` is a pointer
    ");
}

#[test]
fn ir_that_the_verifier_refuses_is_refused() {
    let mut k = Kernel::new("kernel\n");
    let unbound = k.b.add_value(Type::scalar(F32));
    k.b.add_effect(
        OpKind::Print {
            prefix: String::new(),
            hex: false,
        },
        &[unbound],
    );
    let function = k.b.finish();
    assert!(function.verify().is_err());
    let error = Program::prepare(function).expect_err("not defined");
    insta::assert_snapshot!(error, @r"
    execute a value before it is defined: the IR is not well-formed
    ");
}

#[test]
fn blocks_may_be_nested_as_deep_as_the_verifier_lets_them() {
    let mut k = Kernel::new("if c: ...\n");
    let out = k.add_pointer_param("out", DType::I32);
    let always = k.b.add_constant(1, Type::scalar(I1));
    let depth = 199;
    for _ in 0..depth {
        k.b.open_block(&[]);
    }
    let seven = k.add_int(7);
    k.store(out, seven, None);
    for _ in 0..depth {
        let then_block = k.b.close_block(&[]);
        k.b.open_block(&[]);
        let else_block = k.b.close_block(&[]);
        k.b.add_effect(
            OpKind::If {
                then_block,
                else_block,
            },
            &[always],
        );
    }
    let mut world = World::default();
    world.add_ints("out", &[0]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 0), [7]);
}

#[test]
fn launches_run_in_many_threads_at_once() {
    let function = kernels::vector_add(64);
    let program = Program::prepare(function).expect("verified");
    std::thread::scope(|scope| {
        for thread in 0..4u16 {
            let program = &program;
            scope.spawn(move || {
                for _ in 0..50 {
                    let mut world = World::default();
                    world.add_floats("x", &[f32::from(thread); 100]);
                    world.add_floats("y", &[1.0; 100]);
                    world.tensor("out", DType::F32, 100, None);
                    let (mut memory, mut args) = world.finish();
                    args.push(ParamValue::Number(100));
                    let outcome = program.launch([2, 1, 1], &args, &mut memory, &Config::default());
                    assert!(matches!(outcome, Ok(LaunchOutcome::Finished(_))));
                    assert_eq!(kernels::read_floats(&memory, 2), [f32::from(thread) + 1.0; 100]);
                }
            });
        }
    });
}
