//! `tl.inline_asm_elementwise`: the IR of snippets, and the messages about unsupported ones.

use std::fmt::Write as _;

use crate::common::Program;
use cerith_frontend::RequestArg;
use cerith_tile::DType;
use cerith_tile::ir::Elem;

/// A kernel `k` of a tensor of this dtype that hands 16 of its elements to a snippet.
fn build_program(of: DType, asm: &str, constraints: &str, to: &str, pack: usize) -> Program {
    let text = format!(
        "@triton.jit\ndef k(p, out):\n    i = tl.arange(0, 16)\n    x = tl.load(p + i)\n    tl.store(out + i, \
         tl.inline_asm_elementwise({asm:?}, {constraints:?}, [x], {to}, True, {pack}))\n"
    );
    let pointer = |dtype| RequestArg::Pointer(Elem::Num(dtype));
    Program::new(&text).with_args([pointer(of), pointer(of)])
}

check!(
    assembly_with_a_rounding,
    build_program(
        DType::F32,
        "mul.f32 $0, $1, 2.0; add.rn.f32 $0, $0, 0f3F800000; ex2.approx.ftz.f32 $0, $0;",
        "=f,f",
        "tl.float32",
        1
    )
);

check!(
    assembly_under_a_predicate,
    build_program(
        DType::I32,
        "{ .reg .pred p; setp.gt.s32 p, $1, 3; mov.b32 $0, 7; @!p add.s32 $0, $1, 1; }",
        "=r,r",
        "tl.int32",
        1
    )
);

check!(
    assembly_of_two_halves,
    build_program(
        DType::F16,
        "{ .reg .b16 low, high; mov.b32 {low, high}, $1; neg.f16 high, high; mov.b32 $0, {low, high}; }",
        "=r,r",
        "tl.float16",
        2
    )
);

check!(
    assembly_of_bytes,
    build_program(DType::U8, "and.b32 $0, $1, 0x0f0f0f0f;", "=r,r", "tl.uint8", 4)
);

/// The first line of the outcome.
fn describe_outcome(program: &Program) -> String {
    let said = match program.traced() {
        Ok(_) => "traced".to_owned(),
        Err(said) => said,
    };
    said.lines().nth(1).unwrap_or(&said).to_owned()
}

#[test]
fn what_is_not_known_is_named() {
    let of = |asm: &str, constraints: &str| {
        describe_outcome(&build_program(DType::I32, asm, constraints, "tl.int32", 1))
    };
    let mut text = String::new();
    for (asm, constraints) in [
        ("mov.u32 $0, %tid.x;", "=r,r"),
        ("ld.global.b32 $0, [$1];", "=r,l"),
        ("again: bra again;", "=r,r"),
        ("shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "=r,r"),
        ("v_mul_f32 $0, $1, $1", "=v,v"),
        ("mov.b32 $0, $1", "=r,r"),
        ("add.b16 $0, $1, 1;", "=r,r"),
        ("add.sat.s32 $0, $1, 1;", "=r,r"),
        ("cvt.rs.f16x2.f32 $0, $1, $1, $1;", "=r,r"),
        ("lop3.b32 $0, $1, $1, $1, $1;", "=r,r"),
        ("mov.b32 $0, $7;", "=r,r"),
        ("}", "=r,r"),
        ("add.u32 $0, $1, 1;", "=h,r"),
        ("add.u32 $0, $1, $2;", "=r,r,r"),
        ("add.u32 $0, $1, $2;", "=r,=r,r"),
        ("add.u32 $0, $1, 1;", "=r,n"),
    ] {
        let _ = writeln!(text, "{asm}  {constraints}\n    {}", of(asm, constraints));
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../snapshots/frontend");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("assembly_not_known", text));
}

#[test]
fn an_element_must_not_depend_on_others_of_its_pack() {
    let of = |asm: &str| describe_outcome(&build_program(DType::I32, asm, "=r,=r,r,r", "tl.int32", 2));
    let apart = "mov.b32 $0, $2; add.s32 $1, $3, 1;";
    assert_eq!(of(apart), "traced");
    let swapped = of("mov.b32 $0, $3; mov.b32 $1, $2;");
    assert!(swapped.contains("depends on others of its pack"), "{swapped}");
    let masked = "{ .reg .b32 t; prmt.b32 t, $2, $3, 0x5410; and.b32 $0, t, 0xffff; shr.u32 $1, t, 16; }";
    assert_eq!(of(masked), "traced");
    let carried = of("{ .reg .b32 t; prmt.b32 t, $2, $3, 0x5410; mov.b32 $0, t; mov.b32 $1, $3; }");
    assert!(carried.contains("depends on others of its pack"), "{carried}");
}

#[test]
fn the_dtype_of_a_result_is_no_constexpr() {
    let held = "@triton.jit\ndef k(p, TO: tl.constexpr):\n    x = tl.load(p)\n    tl.store(p, \
                tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [x], dtype=TO, is_pure=True, pack=1))\n";
    let int = RequestArg::Pointer(Elem::Num(DType::I32));
    let program = Program::new(held).with_args([int, RequestArg::DType(DType::I32)]);
    let said = describe_outcome(&program);
    assert!(
        said.contains("'constexpr' object has no attribute 'to_ir'"),
        "{said}"
    );
}
