use cerith_interp::{Config, LaunchOutcome, ParamValue, Program, TrapKind};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::{CmpPredicate, Function, OpKind};

use super::trap;
use crate::kernels::{Kernel, World};

/// Every program spins while the flag is zero.
fn build_spinning() -> (Function, Memory, Vec<ParamValue>) {
    let mut k = Kernel::new("while tl.load(flag, volatile=True) == 0: pass\n");
    let flag = k.add_pointer_param("flag", DType::I32);
    k.set_location("while tl.load(flag, volatile=True) == 0: pass");
    k.b.open_block(&[]);
    let now = k.load(flag, None, None);
    let zero = k.add_int(0);
    let unset = k.compare(CmpPredicate::Eq, now, zero);
    let before = k.b.close_block(&[unset]);
    k.b.open_block(&[]);
    let after = k.b.close_block(&[]);
    k.b.add_effect(OpKind::While { before, after }, &[]);
    let mut world = World::default();
    world.add_ints("flag", &[0]);
    let (memory, args) = world.finish();
    (k.finish(), memory, args)
}

#[test]
fn a_program_that_waits_for_another() {
    let (function, mut memory, args) = build_spinning();
    insta::assert_snapshot!(trap(TrapKind::EndlessWait, &function, [2, 1, 1], &args, &mut memory), @r"
    error[endless-wait]: a loop that goes round for ever unless another program writes to memory
     --> kernel.py:1:1
      |
    1 | while tl.load(flag, volatile=True) == 0: pass
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: programs of a launch may run one after the other, in any order: none may wait for another
      = help: launch twice: what the first launch wrote is there when the second begins
    ");
}

#[test]
fn a_program_with_nobody_to_wait_for_is_exhausted() {
    let (function, mut memory, args) = build_spinning();
    let config = Config {
        fuel: 100_000,
        ..Config::default()
    };
    let outcome = Program::prepare(function)
        .expect("verified")
        .launch([1, 1, 1], &args, &mut memory, &config)
        .expect("no bug of ours");
    assert!(matches!(outcome, LaunchOutcome::Exhausted(_)), "{outcome:?}");
}
