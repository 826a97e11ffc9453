//! Programs that Triton's compiler or launcher rejects, or that the reference does not know, and what is said of them.

use crate::common::{F32, I32, Program, body, calling};
use cerith_frontend::RequestArg;
use cerith_tile::DType;
use cerith_tile::ir::Elem;

check!(syntax, Program::whole("def k(:\n    pass\n"));
check!(
    no_such_kernel,
    Program::new("@triton.jit\ndef kernel(p):\n    pass\n").kernel("kernle")
);
check!(not_a_kernel, Program::new("k = 3\n"));
check!(missing_argument, body("pass").args([I32]));
check!(unknown_argument, body("pass").arg("nn", RequestArg::Int(3)));
check!(
    address_in_too_few_bits,
    Program::new("@triton.jit\ndef k(p, address: tl.int32):\n    pass").args([I32, RequestArg::Address])
);
check!(
    no_such_field,
    Program::new("@triton.jit\ndef k(p, rows):\n    tl.store(p, rows.more)").args([
        I32,
        RequestArg::NamedTuple {
            fields: vec!["count".into()],
            items: vec![RequestArg::Int(3)],
        },
    ])
);
check!(argument_given_twice, body("pass").arg("n", RequestArg::Int(3)));
check!(too_many_arguments, body("pass").args([I32, I32, I32]));
check!(
    tensor_for_a_constexpr,
    Program::new("@triton.jit\ndef k(C: tl.constexpr):\n    pass\n").args([F32])
);
check!(
    constexpr_that_is_not_specialised_on,
    Program::new("@triton.jit(do_not_specialize=['C'])\ndef k(p, C: tl.constexpr):\n    pass\n")
        .args([I32, RequestArg::Int(4)])
);
check!(
    called_constexpr_that_is_not_specialised_on,
    Program::new(
        "@triton.jit(do_not_specialize_on_alignment=[0])\ndef f(C: tl.constexpr):\n    pass\n\
         @triton.jit\ndef k(p):\n    f(4)\n"
    )
    .kernel("k")
    .args([I32])
);
check!(
    string_for_a_plain_parameter,
    body("pass").args([I32, RequestArg::Str("a".into())])
);
check!(
    int_past_64_bits,
    body("pass").args([I32, RequestArg::Int(1 << 64)])
);
check!(undefined, body("tl.store(p, m)"));
check!(bound_on_one_path, body("if n > 3:\n    x = 1\ntl.store(p, x)"));
check!(
    plain_global,
    Program::new("G = 5\n@triton.jit\ndef k(p):\n    tl.store(p, G)\n").args([I32])
);
check!(
    annotated_global,
    Program::new("G: tl.constexpr = 5\n@triton.jit\ndef k(p):\n    tl.store(p, G)\n").args([I32])
);
check!(
    unknown_global,
    Program::new("G = open('x').read()\n@triton.jit\ndef k(p):\n    tl.store(p, G)\n").args([I32])
);
check!(unknown_function, body("tl.stroe(p, n)"));
check!(
    loop_changes_type,
    body("x = 0\nfor i in range(n):\n    x = x + 0.5\ntl.store(p, x)")
);
check!(
    loop_changes_a_specialised_argument,
    body("while n > 0:\n    n -= 1").args([I32, RequestArg::Int(1)])
);
check!(
    branch_changes_type,
    body("x = 0\nif n > 3:\n    x = 0.5\ntl.store(p, x)")
);
check!(
    sides_differ_in_type,
    body("if n > 3:\n    x = 0.5\nelse:\n    x = 1\ntl.store(p, x)")
);
check!(ternary_differs_in_type, body("x = 0.5 if n > 3 else 1"));
check!(
    return_in_a_loop,
    body("for i in range(n):\n    if i > 3:\n        return")
);
check!(kernel_returns, body("return n"));
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
    .args([I32, RequestArg::Int(5)])
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
    .args([I32, RequestArg::Int(5)])
);
check!(
    wrong_call,
    calling(
        "
@triton.jit
def f(a, b):
    return a
"
    )
);
check!(
    error_in_a_callee,
    calling(
        "
@triton.jit
def f(a):
    return a + 'b'
"
    )
);
check!(
    bound_inside_of_a_conditional_expression,
    body("x = (m := n) if n > 3 else (m := 2)\ntl.store(p, m)")
);
check!(string_variable, body("s = 'abc'"));
check!(
    float_condition,
    Program::new("@triton.jit\ndef k(C: tl.constexpr):\n    if C:\n        pass\n")
        .args([RequestArg::Float(0.5)])
);
check!(ambiguous_condition, body("if tl.arange(0, 4) > n:\n    pass"));
check!(while_true, body("while True:\n    n += 1"));
check!(break_, body("for i in range(n):\n    break"));
check!(loop_over_a_tuple, body("for i in (1, 2):\n    pass"));
check!(lambda, body("f = lambda x: x"));
check!(division_by_zero_at_compile_time, body("x: tl.constexpr = 1 // 0"));
check!(huge_constant, body("x: tl.constexpr = 2 ** 500"));
check!(static_assert, body("tl.static_assert(3 > 4, f'no: {3}')"));
check!(unpack_too_few, body("a, b, c = n, n"));
check!(chained_before_3_9, body("if 0 < n < 3:\n    pass").version(8));
check!(constexpr_twice, body("x: tl.constexpr = 1\nx: tl.constexpr = 2"));
check!(
    python_function,
    Program::new("def f(a):\n    return a\n@triton.jit\ndef k(p):\n    tl.store(p, f(1))\n").args([I32])
);
check!(
    unrolled_too_far,
    body("for i in tl.static_range(100000):\n    pass")
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
    .args([I32, RequestArg::Int(5)])
);
check!(with_block, body("with tl.constexpr(1):\n    pass"));
check!(matrix_multiply_operator, body("x = n @ n"));
check!(
    module_that_is_not_known,
    Program::new("import numpy as np\n@triton.jit\ndef k(p):\n    tl.store(p, np.sum(1))\n").args([I32])
);
check!(
    combine_function_with_a_barrier,
    Program::new(
        "@triton.jit\ndef add(a, b):\n    tl.debug_barrier()\n    return a + b\n\
         @triton.jit\ndef k(p):\n    tl.store(p, tl.reduce(tl.arange(0, 16), 0, add))\n"
    )
    .kernel("k")
    .args([I32])
);
check!(
    combine_function_with_a_load,
    Program::new(
        "@triton.jit\ndef add(a, b):\n    return a + b + tl.load((a * 0).to(tl.int64).to(tl.pointer_type(tl.int32)))\n\
         @triton.jit\ndef k(p):\n    tl.store(p, tl.reduce(tl.arange(0, 16), 0, add))\n"
    )
    .kernel("k")
    .args([I32])
);

check!(
    store_through_a_constant_pointer,
    Program::new("@triton.jit\ndef k(p: tl.const, n):\n    tl.store(p + tl.arange(0, 4), n)\n")
        .args([I32, I32])
);
check!(
    atomic_through_a_constant_pointer_of_a_loop,
    Program::new(
        "@triton.jit\ndef k(p: 'const *i32', n):\n    q = p\n    for i in range(n):\n        tl.atomic_add(q, 1)\n        q += 1\n"
    )
    .args([I32, RequestArg::Int(5)])
);
check!(
    store_through_a_pointer_made_of_a_constant_one,
    Program::new(
        "@triton.jit\ndef k(p: tl.const, q):\n    tl.store(q, tl.load(p))\n    tl.store(p.to(tl.pointer_type(tl.int32)), 1)\n"
    )
    .args([I32, I32])
);
check!(
    cast_between_8_bit_floats,
    Program::new("@triton.jit\ndef k(p, q):\n    tl.store(q, tl.load(p).to(tl.float8e5))\n").args([
        RequestArg::Pointer(Elem::Num(DType::F8E4NV)),
        RequestArg::Pointer(Elem::Num(DType::F8E5))
    ])
);
check!(
    cast_between_8_bit_floats_that_nothing_uses,
    Program::new("@triton.jit\ndef k(p):\n    x = tl.load(p).to(tl.float8e5)\n")
        .args([RequestArg::Pointer(Elem::Num(DType::F8E4NV))])
);
