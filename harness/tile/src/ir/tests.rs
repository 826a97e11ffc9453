//! Tests of the printer, and of the verifier on malformed functions.

use smallvec::smallvec;

use super::*;
use crate::DType;
use crate::source::{SourceFile, SourceId, Sources, Span};

const TEXT: &str = "\
def add(x, y, n, B):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(y + i, tl.load(x + i, mask=m) + 1.0, mask=m)
";

fn new_builder() -> Builder {
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("add.py", TEXT));
    let mut builder = Builder::new("add", sources, Span::new(id, 0, 20));
    set_location(&mut builder, "i = tl");
    builder
}

fn set_location(builder: &mut Builder, text: &str) {
    let start = TEXT.find(text).expect("text of the sample") as u32;
    let loc = builder.add_loc(
        Span::new(SourceId::default(), start, start + text.len() as u32),
        None,
    );
    builder.set_loc(loc);
}

fn build_scalar(dtype: DType) -> Type {
    Type::num(dtype)
}

fn block(dtype: DType, extent: usize) -> Type {
    Type::block(Elem::Num(dtype), [extent].as_slice())
}

fn build_pointers(extent: usize) -> Type {
    Type::block(Elem::ptr_to(DType::F32), [extent].as_slice())
}

fn add() -> Function {
    let mut b = new_builder();
    let x = b.add_param("x", Type::scalar(Elem::ptr_to(DType::F32)));
    let y = b.add_param("y", Type::scalar(Elem::ptr_to(DType::F32)));
    let n = b.add_param("n", build_scalar(DType::I32));
    let pid = b.add_op(OpKind::ProgramId(0), &[], build_scalar(DType::I32));
    let size = b.add_constant(64, build_scalar(DType::I32));
    let start = b.add_op(
        OpKind::Binary(BinaryOp::Mul),
        &[pid, size],
        build_scalar(DType::I32),
    );
    let start = b.add_op(OpKind::Splat, &[start], block(DType::I32, 64));
    let range = b.add_op(OpKind::Range { start: 0, end: 64 }, &[], block(DType::I32, 64));
    let i = b.add_op(
        OpKind::Binary(BinaryOp::Add),
        &[start, range],
        block(DType::I32, 64),
    );
    b.name_value(i, "i");
    set_location(&mut b, "m = i < n");
    let limit = b.add_op(OpKind::Splat, &[n], block(DType::I32, 64));
    b.name_value(limit, "n");
    let m = b.add_op(
        OpKind::Compare(CmpPredicate::Lt),
        &[i, limit],
        block(DType::I1, 64),
    );
    b.name_value(m, "m");
    set_location(&mut b, "tl.load(x + i, mask=m)");
    let ptrs = b.add_op(OpKind::Splat, &[x], build_pointers(64));
    let ptrs = b.add_op(OpKind::AddPtr, &[ptrs, i], build_pointers(64));
    let inner = b.loc();
    let load = OpKind::Load {
        mask: true,
        has_other: false,
        volatile: false,
    };
    let value = b.add_op(load, &[ptrs, m], block(DType::F32, 64));
    let inlined = b.add_loc(Span::new(SourceId::default(), 4, 7), Some(inner));
    b.set_loc(inlined);
    let one = b.add_constant(1.0f32.to_bits().into(), block(DType::F32, 64));
    let sum = b.add_op(
        OpKind::Binary(BinaryOp::Add),
        &[value, one],
        block(DType::F32, 64),
    );
    let ptrs = b.add_op(OpKind::Splat, &[y], build_pointers(64));
    let ptrs = b.add_op(OpKind::AddPtr, &[ptrs, i], build_pointers(64));
    set_location(&mut b, "tl.store");
    b.add_effect(OpKind::Store { mask: true }, &[ptrs, sum, m]);
    b.finish()
}

/// A loop, a branch, a while and a reduction.
fn build_regions() -> Function {
    let mut b = new_builder();
    let n = b.add_param("n", build_scalar(DType::I32));
    let zero = b.add_constant(0, build_scalar(DType::I32));
    let one = b.add_constant(1, build_scalar(DType::I32));
    let (i, acc) = (
        b.add_value(build_scalar(DType::I32)),
        b.add_value(build_scalar(DType::I32)),
    );
    b.name_value(i, "i");
    b.name_value(acc, "acc");
    b.open_block(&[i, acc]);
    let odd = b.add_op(
        OpKind::Compare(CmpPredicate::Ne),
        &[i, acc],
        build_scalar(DType::I1),
    );
    b.open_block(&[]);
    let more = b.add_op(OpKind::Binary(BinaryOp::Add), &[acc, i], build_scalar(DType::I32));
    let then_block = b.close_block(&[more]);
    b.open_block(&[]);
    let else_block = b.close_block(&[acc]);
    let next = b.add_op(
        OpKind::If {
            then_block,
            else_block,
        },
        &[odd],
        build_scalar(DType::I32),
    );
    let body = b.close_block(&[next]);
    let total = b.add_op(
        OpKind::For { body },
        &[zero, n, one, zero],
        build_scalar(DType::I32),
    );
    b.name_value(total, "acc");

    let seen = b.add_value(build_scalar(DType::I32));
    b.open_block(&[seen]);
    let go = b.add_op(
        OpKind::Compare(CmpPredicate::Gt),
        &[seen, zero],
        build_scalar(DType::I1),
    );
    let before = b.close_block(&[go, seen]);
    let taken = b.add_value(build_scalar(DType::I32));
    b.open_block(&[taken]);
    let less = b.add_op(
        OpKind::Binary(BinaryOp::Sub),
        &[taken, one],
        build_scalar(DType::I32),
    );
    let after = b.close_block(&[less]);
    b.add_op(
        OpKind::While { before, after },
        &[total],
        build_scalar(DType::I32),
    );

    let range = b.add_op(OpKind::Range { start: -2, end: 6 }, &[], block(DType::I32, 8));
    let (left, right) = (
        b.add_value(build_scalar(DType::I32)),
        b.add_value(build_scalar(DType::I32)),
    );
    b.open_block(&[left, right]);
    let larger = b.add_op(
        OpKind::Binary(BinaryOp::Max),
        &[left, right],
        build_scalar(DType::I32),
    );
    let region = b.close_block(&[larger]);
    b.add_op(
        OpKind::Reduce {
            axis: 0,
            combine: Some(Combine::Max),
            region,
        },
        &[range],
        build_scalar(DType::I32),
    );
    b.finish()
}

#[test]
fn a_function_reads_like_ttir() {
    let function = add();
    assert_eq!(function.verify(), Ok(()));
    insta::assert_snapshot!(function.to_string(), @r"
    func @add(%x: *f32, %y: *f32, %n: i32) {
      %0 = program_id 0 : i32
      %1 = constant 64 : i32
      %2 = mul %0, %1 : i32
      %3 = splat %2 : i32 -> [64xi32]
      %4 = range 0 to 64 : [64xi32]
      %i = add %3, %4 : [64xi32]
      %n_1 = splat %n : i32 -> [64xi32]
      %m = cmp lt %i, %n_1 : [64xi32], [64xi32] -> [64xi1]
      %5 = splat %x : *f32 -> [64x*f32]
      %6 = addptr %5, %i : [64x*f32], [64xi32] -> [64x*f32]
      %7 = load %6, %m masked : [64x*f32], [64xi1] -> [64xf32]
      %8 = constant 1.0 : [64xf32]
      %9 = add %7, %8 : [64xf32]
      %10 = splat %y : *f32 -> [64x*f32]
      %11 = addptr %10, %i : [64x*f32], [64xi32] -> [64x*f32]
      store %11, %9, %m masked : [64x*f32], [64xf32], [64xi1]
    }
    ");
    insta::assert_snapshot!(function.display_with_locations().to_string(), @r"
    func @add(%x: *f32, %y: *f32, %n: i32) {
      %0 = program_id 0 : i32  // 2:5
      %1 = constant 64 : i32  // 2:5
      %2 = mul %0, %1 : i32  // 2:5
      %3 = splat %2 : i32 -> [64xi32]  // 2:5
      %4 = range 0 to 64 : [64xi32]  // 2:5
      %i = add %3, %4 : [64xi32]  // 2:5
      %n_1 = splat %n : i32 -> [64xi32]  // 3:5
      %m = cmp lt %i, %n_1 : [64xi32], [64xi32] -> [64xi1]  // 3:5
      %5 = splat %x : *f32 -> [64x*f32]  // 4:21
      %6 = addptr %5, %i : [64x*f32], [64xi32] -> [64x*f32]  // 4:21
      %7 = load %6, %m masked : [64x*f32], [64xi1] -> [64xf32]  // 4:21
      %8 = constant 1.0 : [64xf32]  // 1:5 from 4:21
      %9 = add %7, %8 : [64xf32]  // 1:5 from 4:21
      %10 = splat %y : *f32 -> [64x*f32]  // 1:5 from 4:21
      %11 = addptr %10, %i : [64x*f32], [64xi32] -> [64x*f32]  // 1:5 from 4:21
      store %11, %9, %m masked : [64x*f32], [64xf32], [64xi1]  // 4:5
    }
    ");
}

#[test]
fn regions_are_indented_and_their_arguments_named() {
    let function = build_regions();
    assert_eq!(function.verify(), Ok(()));
    insta::assert_snapshot!(function.to_string(), @r"
    func @add(%n: i32) {
      %0 = constant 0 : i32
      %1 = constant 1 : i32
      %acc = for %0, %n, %1, %0 : i32 (%i: i32, %acc_1: i32) {
        %2 = cmp ne %i, %acc_1 : i32, i32 -> i1
        %3 = if %2 : i1 -> i32 {
          %4 = add %acc_1, %i : i32
          yield %4 : i32
        } else {
          yield %acc_1 : i32
        }
        yield %3 : i32
      }
      %5 = while %acc : i32 (%6: i32) {
        %7 = cmp gt %6, %0 : i32, i32 -> i1
        yield %7, %6 : i1, i32
      } do (%8: i32) {
        %9 = sub %8, %1 : i32
        yield %9 : i32
      }
      %10 = range -2 to 6 : [8xi32]
      %11 = reduce %10 axis 0 max : [8xi32] -> i32 (%12: i32, %13: i32) {
        %14 = max %12, %13 : i32
        yield %14 : i32
      }
    }
    ");
}

/// Lists the verifier's errors for malformed functions, a line each.
fn collect_refusals(sample: fn() -> Function, spoils: &[fn(&mut Function)]) -> String {
    let mut said = String::new();
    for (nth, spoil) in spoils.iter().enumerate() {
        let mut function = sample();
        spoil(&mut function);
        let Err(error) = function.verify() else {
            panic!("spoilt function {nth} passes")
        };
        said.push_str(&error.to_string());
        said.push('\n');
        // Malformed functions can be shown as well.
        assert!(!function.to_string().is_empty());
        assert!(!function.display_with_locations().to_string().is_empty());
    }
    said
}

fn build_yield(operands: &[ValueId]) -> Operation {
    Operation {
        kind: OpKind::Yield,
        operands: operands.into(),
        results: smallvec![],
        loc: LocId(0),
    }
}

#[test]
fn malformed_functions_are_refused_with_the_operation_and_its_place() {
    let said = collect_refusals(
        add,
        &[
            |f| f.body.ops[2].operands[0] = ValueId(999),
            |f| f.body.ops.swap(3, 5),
            |f| f.body.ops[5].results[0] = ValueId(0),
            |f| f.values[9].ty = block(DType::F32, 64),
            |f| f.values[8].ty = block(DType::I32, 32),
            |f| f.body.ops[2].kind = OpKind::Unary(UnaryOp::Sin),
            |f| f.body.ops[2].kind = OpKind::Binary(BinaryOp::Div),
            |f| f.body.ops[1].kind = OpKind::Constant(1 << 32),
            |f| f.body.ops[0].kind = OpKind::ProgramId(3),
            |f| f.values[7].ty.shape = smallvec![1 << 11, 1 << 11],
            |f| f.values[7].ty.shape = smallvec![usize::MAX, 2],
            |f| f.values[7].ty.block = false,
            |f| f.locs[1].caller = Some(LocId(4)),
            |f| f.body.ops[0].loc = LocId(77),
            |f| f.params[0].value = ValueId(4),
            |f| f.body.args.push(ValueId(4)),
            |f| f.body.ops[15].operands.truncate(2),
            |f| {
                f.body.ops[9].kind = OpKind::Load {
                    mask: false,
                    has_other: true,
                    volatile: false,
                }
            },
            |f| f.body.ops.push(build_yield(&[])),
        ],
    );
    insta::assert_snapshot!(said, @r"
    malformed IR at add.py:2:5: there is no value 999, in `%#5 = mul %#999, %#4 : ?, i32 -> i32`
    malformed IR at add.py:2:5: value 6 is used before it is defined, in `%i#8 = add %#6, %#7 : [64xi32]`
    malformed IR at add.py:2:5: an operand is [64xi32], not *f32, in `%x#0 = add %#6, %#7 : [64xi32], [64xi32] -> *f32`
    malformed IR at add.py:3:5: the elements of i32 differ from those of the result, [64xf32], in `%n#9 = splat %n#2 : i32 -> [64xf32]`
    malformed IR at add.py:2:5: an operand is [64xi32], not [32xi32], in `%i#8 = add %#6, %#7 : [64xi32], [64xi32] -> [32xi32]`
    malformed IR at add.py:2:5: the number of operands is 2, not 1, in `%#5 = sin %#3, %#4 : i32`
    malformed IR at add.py:2:5: div is not defined for i32, in `%#5 = div %#3, %#4 : i32`
    malformed IR at add.py:2:5: 0x100000000 is too wide for i32, in `%#4 = constant 0 : i32`
    malformed IR at add.py:2:5: a grid has no axis 3, in `%#3 = program_id 3 : i32`
    malformed IR at add.py:1:1: value 7: [2048x2048xi32] does not have 1 to 1048576 lanes, in `func @add`
    malformed IR at add.py:1:1: value 7: [18446744073709551615x2xi32] does not have 1 to 1048576 lanes, in `func @add`
    malformed IR at add.py:1:1: value 7: the shape has an extent of 0, or a scalar has extents, in `func @add`
    malformed IR at add.py:1:1: location 1 has a caller that is defined after it, in `func @add`
    malformed IR at add.py:1:1: the operation has no source location, in `%#3 = program_id 0 : i32`
    malformed IR at add.py:2:5: value 4 is defined twice, in `%#4 = constant 64 : i32`
    malformed IR at add.py:1:1: the body takes arguments, in `func @add`
    malformed IR at add.py:4:5: the number of operands is 2, not 3, in `store %#17, %#15 masked : [64x*f32], [64xf32]`
    malformed IR at add.py:4:21: a load has `other` but no mask, in `%#12 = load %#11, %i#8 other : [64x*f32], [64xi32] -> [64x*f32]`
    malformed IR at add.py:1:1: the function's body yields, in `yield`
    ");
}

fn ops_of(function: &mut Function, at: usize) -> &mut Vec<Operation> {
    match &mut function.body.ops[at].kind {
        OpKind::For { body: region }
        | OpKind::Reduce { region, .. }
        | OpKind::While { before: region, .. } => &mut region.ops,
        other => panic!("{other:?} holds no region"),
    }
}

/// Branches within branches, 300 deep, in the loop.
fn bury(function: &mut Function) {
    let condition = ops_of(function, 2)[0].results[0];
    let mut inner = Block {
        args: smallvec![],
        ops: vec![build_yield(&[])],
    };
    for _ in 0..300 {
        let then_block = Block {
            args: smallvec![],
            ops: vec![build_yield(&[])],
        };
        let kind = OpKind::If {
            then_block,
            else_block: inner,
        };
        let branch = Operation {
            kind,
            operands: smallvec![condition],
            results: smallvec![],
            loc: LocId(0),
        };
        inner = Block {
            args: smallvec![],
            ops: vec![branch, build_yield(&[])],
        };
    }
    ops_of(function, 2).splice(1..1, inner.ops.into_iter().take(1));
}

#[test]
fn malformed_regions_are_refused() {
    let said = collect_refusals(
        build_regions,
        &[
            |f| ops_of(f, 2).truncate(2),
            |f| ops_of(f, 2)[2].operands.clear(),
            |f| f.body.ops[3].operands[0] = ValueId(4),
            |f| f.body.ops[2].operands[0] = ValueId(2000),
            |f| f.body.ops[2].operands.truncate(3),
            |f| f.body.ops[2].operands.truncate(2),
            |f| ops_of(f, 3)[1].operands.swap(0, 1),
            |f| ops_of(f, 5)[0].kind = OpKind::Barrier,
            |f| {
                let last = ops_of(f, 2)[2].clone();
                ops_of(f, 2).insert(2, last);
            },
            |f| {
                if let OpKind::Reduce { axis, .. } = &mut f.body.ops[5].kind {
                    *axis = 1;
                }
            },
            bury,
        ],
    );
    insta::assert_snapshot!(said, @r"
    malformed IR at add.py:2:5: a region does not end with a yield, in `%acc#8 = for %#1, %n#0, %#2, %#1 : i32 (%i#3: i32, %acc#4: i32) { … }`
    malformed IR at add.py:2:5: the number of yielded values is 0, not 1, in `%acc#8 = for %#1, %n#0, %#2, %#1 : i32 (%i#3: i32, %acc#4: i32) { … }`
    malformed IR at add.py:2:5: value 4 is used outside of its region, in `%#13 = while %acc#4 : i32 (%#9: i32) { … } do (%#11: i32) { … }`
    malformed IR at add.py:2:5: there is no value 2000, in `%acc#8 = for %#2000, %n#0, %#2, %#1 : ?, i32, i32, i32 -> i32 (%i#3: i32, %acc#4: i32) { … }`
    malformed IR at add.py:2:5: the number of region arguments is 2, not 1, in `%acc#8 = for %#1, %n#0, %#2 : i32 (%i#3: i32, %acc#4: i32) { … }`
    malformed IR at add.py:2:5: the number of operands is 2, not 3, in `%acc#8 = for %#1, %n#0 : i32 (%i#3: i32, %acc#4: i32) { … }`
    malformed IR at add.py:2:5: the condition is i32, not i1, in `%#13 = while %acc#8 : i32 (%#9: i32) { … } do (%#11: i32) { … }`
    malformed IR at add.py:2:5: a combine region accesses memory, in `%#18 = reduce %#14 axis 0 max : [8xi32] -> i32 (%#15: i32, %#16: i32) { … }`
    malformed IR at add.py:2:5: a yield is not the last of its region, in `yield %#7 : i32`
    malformed IR at add.py:2:5: [8xi32] has no axis 1, in `%#18 = reduce %#14 axis 1 max : [8xi32] -> i32 (%#15: i32, %#16: i32) { … }`
    malformed IR at add.py:1:1: regions are nested more than 200 deep, in `if %#5 : i1 { … } else { … }`
    ");
}

/// A function of the library has the symbol's dtypes, and is printed by its name.
#[test]
fn library_functions_are_checked_against_their_symbols() {
    let symbol = crate::numeric::library::find_symbol("ldexp", &[DType::F64, DType::I32]).expect("a symbol");
    let made = |exponent: DType| {
        let mut b = new_builder();
        let x = b.add_param("x", build_scalar(DType::F64));
        let n = b.add_param("n", build_scalar(exponent));
        let result = b.add_op(OpKind::Library(symbol), &[x, n], build_scalar(DType::F64));
        let print = OpKind::Print {
            prefix: String::new(),
            hex: false,
        };
        b.add_effect(print, &[result]);
        b.finish()
    };
    let text = made(DType::I32).to_string();
    assert!(
        text.contains("libdevice __nv_ldexp %x, %n : f64, i32 -> f64"),
        "{text}"
    );
    let error = made(DType::I64).verify().expect_err("an exponent of 64 bits");
    assert_eq!(error.violation.to_string(), "operand 1 is i64, not i32");
}

#[test]
fn what_is_executed_has_names_and_dtypes() {
    let executed = add().executed();
    let shown: Vec<String> = executed
        .iter()
        .map(|(name, dtype)| match dtype {
            Some(dtype) => format!("{name} {dtype}"),
            None => name.to_string(),
        })
        .collect();
    for name in [
        "add f32",
        "add i32",
        "cmp lt i32",
        "mul i32",
        "program_id i32",
        "range i32",
    ] {
        assert!(shown.iter().any(|one| one == name), "{name}: {shown:?}");
    }
}
