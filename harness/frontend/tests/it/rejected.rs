//! Programs that Triton's compiler or launcher rejects, or that the reference does not support, and the messages about
//! them.

use crate::common::{F32, I32, Program, build_caller, build_program};
use cerith_frontend::RequestArg;
use cerith_tile::DType;
use cerith_tile::ir::Elem;

check!(syntax, Program::from_file("def k(:\n    pass\n"));
check!(
    no_such_kernel,
    Program::new("@triton.jit\ndef kernel(p):\n    pass\n").with_kernel("kernle")
);
check!(not_a_kernel, Program::new("k = 3\n"));
check!(missing_argument, build_program("pass").with_args([I32]));
check!(
    unknown_argument,
    build_program("pass").with_arg("nn", RequestArg::Int(3))
);
check!(
    address_in_too_few_bits,
    Program::new("@triton.jit\ndef k(p, address: tl.int32):\n    pass").with_args([I32, RequestArg::Address])
);
check!(
    no_such_field,
    Program::new("@triton.jit\ndef k(p, rows):\n    tl.store(p, rows.more)").with_args([
        I32,
        RequestArg::NamedTuple {
            fields: vec!["count".into()],
            items: vec![RequestArg::Int(3)],
        },
    ])
);
check!(
    argument_given_twice,
    build_program("pass").with_arg("n", RequestArg::Int(3))
);
check!(
    too_many_arguments,
    build_program("pass").with_args([I32, I32, I32])
);
check!(
    tensor_for_a_constexpr,
    Program::new("@triton.jit\ndef k(C: tl.constexpr):\n    pass\n").with_args([F32])
);
check!(
    constexpr_that_is_not_specialised_on,
    Program::new("@triton.jit(do_not_specialize=['C'])\ndef k(p, C: tl.constexpr):\n    pass\n")
        .with_args([I32, RequestArg::Int(4)])
);
check!(
    called_constexpr_that_is_not_specialised_on,
    Program::new(
        "@triton.jit(do_not_specialize_on_alignment=[0])\ndef f(C: tl.constexpr):\n    pass\n\
         @triton.jit\ndef k(p):\n    f(4)\n"
    )
    .with_kernel("k")
    .with_args([I32])
);
check!(
    string_for_a_plain_parameter,
    build_program("pass").with_args([I32, RequestArg::Str("a".into())])
);
check!(
    int_past_64_bits,
    build_program("pass").with_args([I32, RequestArg::Int(1 << 64)])
);
check!(undefined, build_program("tl.store(p, m)"));
check!(
    bound_on_one_path,
    build_program("if n > 3:\n    x = 1\ntl.store(p, x)")
);
check!(
    plain_global,
    Program::new("G = 5\n@triton.jit\ndef k(p):\n    tl.store(p, G)\n").with_args([I32])
);
check!(
    annotated_global,
    Program::new("G: tl.constexpr = 5\n@triton.jit\ndef k(p):\n    tl.store(p, G)\n").with_args([I32])
);
check!(
    unknown_global,
    Program::new("G = open('x').read()\n@triton.jit\ndef k(p):\n    tl.store(p, G)\n").with_args([I32])
);
check!(unknown_function, build_program("tl.stroe(p, n)"));
check!(
    loop_changes_type,
    build_program("x = 0\nfor i in range(n):\n    x = x + 0.5\ntl.store(p, x)")
);
check!(
    loop_changes_a_specialised_argument,
    build_program("while n > 0:\n    n -= 1").with_args([I32, RequestArg::Int(1)])
);
check!(
    branch_changes_type,
    build_program("x = 0\nif n > 3:\n    x = 0.5\ntl.store(p, x)")
);
check!(
    sides_differ_in_type,
    build_program("if n > 3:\n    x = 0.5\nelse:\n    x = 1\ntl.store(p, x)")
);
check!(ternary_differs_in_type, build_program("x = 0.5 if n > 3 else 1"));
check!(
    return_in_a_loop,
    build_program("for i in range(n):\n    if i > 3:\n        return")
);
check!(kernel_returns, build_program("return n"));
check!(
    returns_differ,
    Program::new(
        "
@triton.jit
def f(a, C: tl.constexpr):
    if C:
        return a
    return 0.5
@triton.jit
def k(p, n):
    tl.store(p, f(n, True))
"
    )
    .with_args([I32, RequestArg::Int(5)])
);
check!(
    recursion,
    Program::new(
        "
@triton.jit
def f(a):
    return f(a + 1)
@triton.jit
def k(p, n):
    tl.store(p, f(n))
"
    )
    .with_args([I32, RequestArg::Int(5)])
);
check!(
    wrong_call,
    build_caller(
        "
@triton.jit
def f(a, b):
    return a
"
    )
);
check!(
    error_in_a_callee,
    build_caller(
        "
@triton.jit
def f(a):
    return a + 'b'
"
    )
);
check!(
    bound_inside_of_a_conditional_expression,
    build_program("x = (m := n) if n > 3 else (m := 2)\ntl.store(p, m)")
);
check!(string_variable, build_program("s = 'abc'"));
check!(
    float_condition,
    Program::new("@triton.jit\ndef k(C: tl.constexpr):\n    if C:\n        pass\n")
        .with_args([RequestArg::Float(0.5)])
);
check!(
    ambiguous_condition,
    build_program("if tl.arange(0, 4) > n:\n    pass")
);
check!(while_true, build_program("while True:\n    n += 1"));
check!(break_, build_program("for i in range(n):\n    break"));
check!(loop_over_a_tuple, build_program("for i in (1, 2):\n    pass"));
check!(lambda, build_program("f = lambda x: x"));
check!(
    division_by_zero_at_compile_time,
    build_program("x: tl.constexpr = 1 // 0")
);
check!(huge_constant, build_program("x: tl.constexpr = 2 ** 500"));
check!(
    static_assert,
    build_program("tl.static_assert(3 > 4, f'no: {3}')")
);
check!(unpack_too_few, build_program("a, b, c = n, n"));
check!(
    chained_before_3_9,
    build_program("if 0 < n < 3:\n    pass").with_version(8)
);
check!(
    constexpr_twice,
    build_program("x: tl.constexpr = 1\nx: tl.constexpr = 2")
);
check!(
    python_function,
    Program::new("def f(a):\n    return a\n@triton.jit\ndef k(p):\n    tl.store(p, f(1))\n").with_args([I32])
);
check!(
    unrolled_too_far,
    build_program("for i in tl.static_range(100000):\n    pass")
);
check!(
    endless_recursion_on_constexprs,
    Program::new(
        "
@triton.jit
def f(N: tl.constexpr):
    return f(N + 1)
@triton.jit
def k(p, n):
    f(0)
"
    )
    .with_args([I32, RequestArg::Int(5)])
);
check!(with_block, build_program("with tl.constexpr(1):\n    pass"));
check!(matrix_multiply_operator, build_program("x = n @ n"));
check!(
    module_that_is_not_known,
    Program::new("import numpy as np\n@triton.jit\ndef k(p):\n    tl.store(p, np.sum(1))\n").with_args([I32])
);
check!(
    combine_function_with_a_barrier,
    Program::new(
        "@triton.jit\ndef add(a, b):\n    tl.debug_barrier()\n    return a + b\n\
         @triton.jit\ndef k(p):\n    tl.store(p, tl.reduce(tl.arange(0, 16), 0, add))\n"
    )
    .with_kernel("k")
    .with_args([I32])
);
check!(
    combine_function_with_a_load,
    Program::new(
        "@triton.jit\ndef add(a, b):\n    return a + b + tl.load((a * 0).to(tl.int64).to(tl.pointer_type(tl.int32)))\n\
         @triton.jit\ndef k(p):\n    tl.store(p, tl.reduce(tl.arange(0, 16), 0, add))\n"
    )
    .with_kernel("k")
    .with_args([I32])
);

check!(
    store_through_a_constant_pointer,
    Program::new("@triton.jit\ndef k(p: tl.const, n):\n    tl.store(p + tl.arange(0, 4), n)\n")
        .with_args([I32, I32])
);
check!(
    atomic_through_a_constant_pointer_of_a_loop,
    Program::new(
        "@triton.jit\ndef k(p: 'const *i32', n):\n    q = p\n    for i in range(n):\n        tl.atomic_add(q, 1)\n        q += 1\n"
    )
    .with_args([I32, RequestArg::Int(5)])
);
check!(
    store_through_a_pointer_made_of_a_constant_one,
    Program::new(
        "@triton.jit\ndef k(p: tl.const, q):\n    tl.store(q, tl.load(p))\n    tl.store(p.to(tl.pointer_type(tl.int32)), 1)\n"
    )
    .with_args([I32, I32])
);
check!(
    cast_between_8_bit_floats,
    Program::new("@triton.jit\ndef k(p, q):\n    tl.store(q, tl.load(p).to(tl.float8e5))\n").with_args([
        RequestArg::Pointer(Elem::Num(DType::F8E4NV)),
        RequestArg::Pointer(Elem::Num(DType::F8E5))
    ])
);
check!(
    cast_between_8_bit_floats_that_nothing_uses,
    Program::new("@triton.jit\ndef k(p):\n    x = tl.load(p).to(tl.float8e5)\n")
        .with_args([RequestArg::Pointer(Elem::Num(DType::F8E4NV))])
);
