//! Executes modules where MLIR and the reference's IR differ: integers without a sign, bools that are -1, comparisons
//! that hold for NaN, branches between blocks.

use cerith_interp::{Config, LaunchOutcome, ParamValue, Program};
use cerith_memory::{Memory, Storages};
use cerith_tile::DType;
use cerith_ttir::{Origin, lower, parse};

/// Runs one program that is given a pointer to `i32` and `arguments`; what it stored there, or how it ended.
fn run(body: &str, arguments: &[i32]) -> Result<i32, String> {
    let names: Vec<String> = (0..arguments.len())
        .map(|nth| format!(", %n{nth}: i32"))
        .collect();
    let names = names.concat();
    let text = format!(
        "module {{\n  tt.func public @k(%out: !tt.ptr<i32>{names}) {{\n{body}\n    tt.return\n  }}\n}}\n"
    );
    let module = parse(&text).map_err(|error| error.to_string())?;
    let function = lower(&module, &Origin::from_text(&text)).map_err(|refused| refused.to_string())?;
    let program = Program::prepare(function).map_err(|error| error.to_string())?;
    let mut storages = Storages::new();
    let out = storages.allocate("out", DType::I32, &[1]).expect("a storage");
    let mut memory = Memory::new(&storages, Vec::new());
    let mut args = vec![ParamValue::tensor(&memory, &out, "out")];
    args.extend(
        arguments
            .iter()
            .map(|&number| ParamValue::Number(u64::from(number as u32))),
    );
    let outcome = program
        .launch([1, 1, 1], &args, &mut memory, &Config::default())
        .map_err(|error| error.to_string())?;
    match outcome {
        LaunchOutcome::Finished(_) => {
            let bytes = memory.bytes(out.storage);
            Ok(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        }
        LaunchOutcome::Trapped(trap) => Err(trap.diagnostic.message),
        other => Err(format!("{other:?}")),
    }
}

#[track_caller]
fn check(body: &str, arguments: &[i32], expected: i32) {
    let body = format!("    {}\n    tt.store %out, %r : !tt.ptr<i32>", body.trim());
    assert_eq!(run(&body, arguments), Ok(expected), "{body}");
}

#[test]
fn operations_say_whether_integers_have_a_sign() {
    check("%r = arith.divsi %n0, %n1 : i32", &[-7, 2], -3);
    check("%r = arith.divui %n0, %n1 : i32", &[-7, 2], 0x7fff_fffc);
    check("%r = arith.remsi %n0, %n1 : i32", &[-7, 4], -3);
    check("%r = arith.remui %n0, %n1 : i32", &[-7, 4], 1);
    check("%r = arith.shrsi %n0, %n1 : i32", &[-8, 1], -4);
    check("%r = arith.shrui %n0, %n1 : i32", &[-8, 1], 0x7fff_fffc);
    check("%r = arith.maxui %n0, %n1 : i32", &[-1, 1], -1);
    check("%r = arith.minui %n0, %n1 : i32", &[-1, 1], 1);
    check("%r = arith.maxsi %n0, %n1 : i32", &[-1, 1], 1);
    check("%r = tt.mulhiui %n0, %n1 : i32", &[-1, 2], 1);
}

#[test]
fn a_true_that_is_extended_with_its_sign_is_minus_one() {
    let bit = "%b = arith.cmpi sgt, %n0, %n1 : i32\n    ";
    let check = |rest: &str, arguments: &[i32], expected| check(&format!("{bit}{rest}"), arguments, expected);
    check("%r = arith.extsi %b : i1 to i32", &[2, 1], -1);
    check("%r = arith.extui %b : i1 to i32", &[2, 1], 1);
    check(
        "%f = arith.sitofp %b : i1 to f32\n    %r = arith.fptosi %f : f32 to i32",
        &[2, 1],
        -1,
    );
    check(
        "%f = arith.uitofp %b : i1 to f32\n    %r = arith.fptosi %f : f32 to i32",
        &[2, 1],
        1,
    );
    // The lowest bit, not whether it is zero.
    check(
        "%c = arith.trunci %n0 : i32 to i1\n    %r = arith.extui %c : i1 to i32",
        &[2, 1],
        0,
    );
    check(
        "%c = arith.trunci %n0 : i32 to i1\n    %r = arith.extui %c : i1 to i32",
        &[3, 1],
        1,
    );
    let no = "%no = arith.constant false\n    ";
    for (predicate, expected) in [
        ("slt", 1),
        ("ult", 0),
        ("sge", 0),
        ("uge", 1),
        ("eq", 0),
        ("ne", 1),
    ] {
        let rest =
            format!("{no}%c = arith.cmpi {predicate}, %b, %no : i1\n    %r = arith.extui %c : i1 to i32");
        check(&rest, &[2, 1], expected);
    }
    for (kind, expected) in [
        ("maxsi", 0),
        ("minsi", 1),
        ("maxui", 1),
        ("minui", 0),
        ("addi", 1),
        ("muli", 0),
    ] {
        let rest = format!("{no}%c = arith.{kind} %b, %no : i1\n    %r = arith.extui %c : i1 to i32");
        check(&rest, &[2, 1], expected);
    }
}

#[test]
fn a_nan_passes_unordered_comparisons_alone() {
    let compared = |predicate: &str, left: &str, expected| {
        let body = format!(
            "%a = arith.constant {left} : f32\n    %b = arith.constant 1.0 : f32\n    %c = arith.cmpf {predicate}, %a, %b : f32\n    \
             %r = arith.extui %c : i1 to i32"
        );
        check(&body, &[], expected);
    };
    for (predicate, nan, below, same) in [
        ("oeq", 0, 0, 1),
        ("ogt", 0, 0, 0),
        ("oge", 0, 0, 1),
        ("olt", 0, 1, 0),
        ("ole", 0, 1, 1),
        ("one", 0, 1, 0),
        ("ord", 0, 1, 1),
        ("ueq", 1, 0, 1),
        ("ugt", 1, 0, 0),
        ("uge", 1, 0, 1),
        ("ult", 1, 1, 0),
        ("ule", 1, 1, 1),
        ("une", 1, 1, 0),
        ("uno", 1, 0, 0),
    ] {
        compared(predicate, "0x7FC00000", nan);
        compared(predicate, "-2.5e-01", below);
        compared(predicate, "1.0", same);
    }
}

#[test]
fn blocks_with_branches_become_conditions() {
    let body = "
    %c0 = arith.constant 0 : i32
    %c10 = arith.constant 10 : i32
    %a = arith.cmpi slt, %n0, %c0 : i32
    cf.cond_br %a, ^bb1, ^bb2
  ^bb1:
    tt.store %out, %c10 : !tt.ptr<i32>
    tt.return
  ^bb2:
    %b = arith.cmpi slt, %n1, %c0 : i32
    cf.cond_br %b, ^bb3(%n0 : i32), ^bb4
  ^bb4:
    %d = arith.addi %n0, %n1 : i32
    cf.br ^bb3(%d : i32)
  ^bb3(%e: i32):
    tt.store %out, %e : !tt.ptr<i32>";
    for (arguments, expected) in [([-1, 5], 10), ([3, -5], 3), ([3, 5], 8)] {
        assert_eq!(run(body, &arguments), Ok(expected));
    }
    let back = "
    cf.br ^bb1
  ^bb1:
    cf.br ^bb1
  ^bb2:";
    assert_eq!(
        run(back, &[]),
        Err("branches that go back are not supported yet".to_owned())
    );
}

#[test]
fn what_is_undefined_stays_so() {
    let outside = "
    %one = arith.constant 1 : i32
    %p = tt.addptr %out, %one : !tt.ptr<i32>, i32
    tt.store %p, %one : !tt.ptr<i32>";
    assert!(
        run(outside, &[]).is_err_and(|why| why.contains("out")),
        "{:?}",
        run(outside, &[])
    );
    let divided = "
    %r = arith.divsi %n0, %n1 : i32
    tt.store %out, %r : !tt.ptr<i32>";
    assert!(run(divided, &[1, 0]).is_err());
}

#[test]
fn assembly_is_executed() {
    let assembly = |asm: &str, constraints: &str, operands: &str, results: &str| {
        format!(
            "tt.elementwise_inline_asm \"{asm}\" {{constraints = \"{constraints}\", packed_element = 1 : i32, pure = true}} \
             {operands} -> {results}"
        )
    };
    let sum = assembly("add.s32 $0, $1, $2;", "=r,r,r", "%n0, %n1 : i32, i32", "i32");
    check(&format!("%r = {sum}"), &[2, 3], 5);
    let halves = assembly(
        "{ .reg .b32 t; mov.b32 t, $2; mov.b32 {$0, $1}, t; }",
        "=h,=h,r",
        "%n0 : i32",
        "i16, i16",
    );
    check(
        &format!("%p:2 = {halves}\n    %r = arith.extui %p#1 : i16 to i32"),
        &[0x0007_0001],
        7,
    );
    // The table of `lop3` has to be a number that is known.
    let and = assembly(
        "lop3.b32 $0, $1, $2, 0, $3;",
        "=r,r,r,n",
        "%n0, %n1, %t : i32, i32, i32",
        "i32",
    );
    check(
        &format!("%t = arith.constant 192 : i32\n    %r = {and}"),
        &[12, 10],
        8,
    );
    let spread = assembly(
        "add.s32 $0, $1, $2;",
        "=r,r,n",
        "%b, %k : tensor<2xi32>, tensor<2xi32>",
        "tensor<2xi32>",
    );
    let body = format!(
        "%c = arith.constant 40 : i32\n    %k = tt.splat %c : i32 -> tensor<2xi32>\n    %b = tt.splat %n0 : i32 -> tensor<2xi32>\n    \
         %s = {spread}\n    %z = tt.make_range {{start = 0 : i32, end = 1 : i32}} : tensor<1xi32>\n    \
         %g = tt.gather %s[%z] {{axis = 0 : i32}} : (tensor<2xi32>, tensor<1xi32>) -> tensor<1xi32>\n    \
         %r = tt.unsplat %g : tensor<1xi32>"
    );
    check(&body, &[2], 42);
    let unknown = |asm: &str, constraints: &str, expected: &str| {
        let line = assembly(asm, constraints, "%n0 : i32", "i32");
        let body = format!("    %r = {line}\n    tt.store %out, %r : !tt.ptr<i32>");
        assert_eq!(run(&body, &[1]), Err(expected.to_owned()));
    };
    unknown(
        "shfl.sync.idx.b32 $0, $1, 0, 31, -1;",
        "=r,r",
        "`shfl.sync.idx.b32 $0, $1, 0, 31, -1` in assembly is not supported yet",
    );
    unknown(
        "add.s32 $0, $1, $2;",
        "=r,r,n",
        "the constraints of the assembly do not fit its arguments and results",
    );
}

#[test]
fn four_bits_are_floats_along_an_axis() {
    // 0x2d: -3 below, 1 above, in the low half first.
    let unpacked = |axis: usize, shape: &str, at: usize| {
        format!(
            "%b = arith.trunci %n0 : i32 to i8\n    %t = tt.splat %b : i8 -> tensor<2x2xi8>\n    \
             %f = ttg.fp4_to_fp %t {{axis = {axis} : i32}} : tensor<2x2xi8> -> tensor<{shape}xbf16>\n    \
             %v = tt.reshape %f : tensor<{shape}xbf16> -> tensor<8xbf16>\n    \
             %z = arith.constant dense<{at}> : tensor<1xi32>\n    \
             %g = tt.gather %v[%z] {{axis = 0 : i32}} : (tensor<8xbf16>, tensor<1xi32>) -> tensor<1xbf16>\n    \
             %s = tt.unsplat %g : tensor<1xbf16>\n    %r = arith.fptosi %s : bf16 to i32"
        )
    };
    for (axis, shape, at, expected) in [
        (1, "2x4", 0, -3),
        (1, "2x4", 1, 1),
        (1, "2x4", 2, -3),
        (0, "4x2", 0, -3),
        (0, "4x2", 1, -3),
        (0, "4x2", 2, 1),
    ] {
        check(&unpacked(axis, shape, at), &[0x2d], expected);
    }
    let outside = format!("{}\n    tt.store %out, %r : !tt.ptr<i32>", unpacked(2, "2x4", 0));
    assert_eq!(
        run(&outside, &[0]),
        Err("numbers of four bits along an axis that is not there".to_owned())
    );
}

#[test]
fn functions_are_called_with_what_they_return() {
    let text = "
module {
  tt.func public @k(%out: !tt.ptr<i32>, %n: i32) {
    %a:2 = tt.call @twice(%n) : (i32) -> (i32, i32)
    %b = arith.addi %a#0, %a#1 : i32
    tt.store %out, %b : !tt.ptr<i32>
    tt.return
  }
  tt.func private @twice(%n: i32) -> (i32, i32) attributes {noinline = true} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c = arith.cmpi sgt, %n, %c0 : i32
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    tt.return %n, %n : i32, i32
  ^bb2:
    tt.return %c0, %c1 : i32, i32
  }
}
";
    let module = parse(text).expect("a module");
    let function = lower(&module, &Origin::from_text(text)).expect("a kernel");
    insta::assert_snapshot!(function);
}
