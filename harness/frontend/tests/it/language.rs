//! Programs that Triton's compiler accepts, and the IR that they become.

use crate::common::{F32, I32, Program, build_caller, build_program};
use cerith_frontend::RequestArg;
use cerith_tile::DType;

check!(
    literals_become_tensors_on_assignment,
    build_program(
        "
a = 5
b = 1 << 31
c = 2.5
d = True
tl.store(p, a + n)
"
    )
);

check!(
    constexprs_stay_where_they_are_annotated,
    build_program(
        "
a: tl.constexpr = 7 // -2
b: tl.constexpr
b = a * 3
tl.store(p, n + b)
"
    )
);

check!(
    operators_are_methods_of_tensors,
    build_program(
        "
a = (n + 1).__lshift__(4).__and__(n)
tl.store(p, a.__mul__(2.0))
"
    )
);

#[test]
fn python_means_the_same_in_a_module_and_in_a_kernel() {
    let accepted = |program: &Program, text: &str| {
        if let Err(refused) = program.traced() {
            panic!("{text}: {refused}");
        }
    };
    let module = |left: &str, right: &str| {
        let text = format!(
            "HERE = tl.constexpr(({left}) == {right})\n\n@triton.jit\ndef k(p, n):\n    tl.static_assert(HERE)\n"
        );
        accepted(&Program::new(&text).with_args([I32, RequestArg::Int(5)]), left);
    };
    let everywhere = |left: &str, right: &str| {
        module(left, right);
        accepted(
            &build_program(&format!("\ntl.static_assert(({left}) == {right})\n")),
            left,
        );
    };
    everywhere("(2**60 + 1) / 3", "3.843071682022823e+17");
    everywhere("(2**53 + 1) / 2**60", "0.0078125");
    everywhere("'ab' * 2", "'abab'");
    everywhere("int('1_0')", "10");
    everywhere("float('1_0')", "10.0");
    everywhere("7.5 // -2", "-4.0");
    everywhere("2**63 > 9.223372036854775807e18", "False");
    module("round(2.675, 2)", "2.67");
    module("round(2.5)", "2");
    module("divmod(-7, 2)", "(-4, 1)");
    module("sorted([3, 1, 2])", "[1, 2, 3]");
    module("pow(2, 10, 1000)", "24");
    module("[1] * 3", "[1, 1, 1]");
    module("'abc'[1]", "'b'");
    module("(1, 2) < (1, 3)", "True");
    module("sum([[1], [2]], [])", "[1, 2]");
    module("enumerate(['a'], 2)", "[(2, 'a')]");
}

check!(
    an_if_on_a_constexpr_is_decided,
    Program::new(
        "
@triton.jit
def k(p, n, C: tl.constexpr):
    if C > 2 and not C == 5:
        tl.store(p, n)
    elif C is None:
        tl.store(p, 1)
    else:
        tl.store(p, 2)
"
    )
    .with_args([I32, RequestArg::Int(7), RequestArg::Int(5)])
);

check!(
    an_if_on_a_tensor_merges_what_both_sides_bind,
    build_program(
        "
x = 1
if n > 3:
    x = 2
    y = n
else:
    y = x + n
tl.store(p, x + y)
"
    )
);

check!(
    elif_nests,
    build_program(
        "
if n > 3:
    x = 1
elif n > 2:
    x = 2
else:
    x = 3
tl.store(p, x)
"
    )
);

check!(
    an_early_return_moves_the_rest_into_the_other_side,
    build_program(
        "
if n > 3:
    return
x = n * 2
tl.store(p, x)
"
    )
);

check!(
    returns_on_every_path_give_one_value,
    build_caller(
        "
@triton.jit
def f(a):
    if a > 3:
        return a + 1
    elif a > 1:
        return 7
    return a
"
    )
);

check!(
    a_path_that_returns_nothing_gives_poison,
    build_caller(
        "
@triton.jit
def f(a):
    if a > 3:
        return a + 1
"
    )
);

check!(
    a_return_inside_of_two_ifs_sets_a_flag,
    build_caller(
        "
@triton.jit
def f(a):
    b = a
    if a > 3:
        if a > 5:
            return a + 1
        b = a * 2
    return b
"
    )
);

check!(
    a_loop_carries_what_it_changes,
    build_program(
        "
s = 0
t = n
for i in range(n):
    s += i * t
tl.store(p, s)
"
    )
);

check!(
    a_loop_counts_down,
    build_program(
        "
s = 0
for i in range(10, n, -3):
    s += i
tl.store(p, s)
"
    )
);

check!(
    loop_bounds_take_the_wider_type,
    build_program(
        "
for i in range(0, n.to(tl.int64)):
    tl.store(p + i, 0)
"
    )
);

check!(
    a_loop_variable_has_no_value_after_its_loop,
    build_program(
        "
for i in range(n):
    tl.store(p + i, i)
tl.store(p, i)
"
    )
);

check!(
    a_static_range_is_unrolled,
    build_program(
        "
s = n
for i in tl.static_range(0, 6, 2):
    s += i
tl.store(p, s)
"
    )
);

check!(
    a_while_has_a_test_and_a_body,
    build_program(
        "
i = 0
while i < n:
    tl.store(p + i, i)
    i += 1
"
    )
);

check!(
    nested_loops_carry_tuples,
    build_program(
        "
t = (1, 2)
for i in range(n):
    for j in range(i):
        t = (t[1], t[0] + j)
tl.store(p, t[0])
"
    )
);

check!(
    a_conditional_expression_is_an_if,
    build_program(
        "
x = n + 1 if n > 3 else n
y = 1 if n is None else 2
tl.store(p, x + y)
"
    )
);

check!(
    a_function_is_inlined_with_defaults_and_keywords,
    Program::new(
        "
@triton.jit
def f(a, b, c: tl.constexpr = 4, *rest):
    x = a * c
    for i in tl.static_range(len(rest)):
        x += rest[i]
    return x, b
@triton.jit
def k(p, n):
    x, y = f(n, b=2)
    z, _ = f(n, 2, 3, x, y)
    tl.store(p, z)
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    a_function_may_recurse_on_a_constexpr,
    Program::new(
        "
@triton.jit
def f(a, N: tl.constexpr):
    if N == 0:
        return a
    else:
        return f(a + N, N - 1)
@triton.jit
def k(p, n):
    tl.store(p, f(n, 3))
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    functions_are_values,
    Program::new(
        "
@triton.jit
def twice(a):
    return a * 2
@triton.jit
def apply(f: tl.constexpr, a):
    return f(a)
@triton.jit
def k(p, n):
    tl.store(p, apply(twice, n))
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    a_factory_closes_over_its_constants,
    Program::new(
        "
def make(width=8):
    C = tl.constexpr(width * 2)
    @triton.jit
    def k(p, n):
        tl.store(p, n + C)
    return k
"
    )
    .with_kernel("make.k")
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    a_factory_may_be_called_by_the_module,
    Program::new(
        "
def make(width):
    C = tl.constexpr(width * 2)
    @triton.jit
    def kernel(p, n):
        tl.store(p, n + C)
    return kernel
k = make(4)
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    globals_are_modules_functions_dtypes_and_constexprs,
    Program::new(
        "
import math
C = tl.constexpr(3)
D = tl.float32
E = tl.constexpr(math.ceil(C.value / 2))
if E == 2:
    F = tl.constexpr(10)
else:
    F = tl.constexpr(20)
@triton.jit
def k(p, n):
    tl.store(p, (n + C + E + F).to(D).to(tl.int32))
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    a_sibling_module_is_imported,
    Program::new(
        "
import helpers as h
from helpers import twice
@triton.jit
def k(p, n):
    tl.store(p, twice(n) + h.THREE)
"
    )
    .with_module(
        "helpers",
        "
import triton
import triton.language as tl
THREE = tl.constexpr(3)
@triton.jit
def twice(a):
    return a * 2
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    an_argument_of_one_is_a_constant_but_for_its_attributes,
    build_program(
        "
tl.store(p, n.to(tl.int64))
tl.store(p, n + 1)
"
    )
    .with_args([I32, RequestArg::Int(1)])
);

check!(
    do_not_specialize_keeps_an_argument_of_one,
    Program::new(
        "
@triton.jit(do_not_specialize=['n'])
def k(p, n):
    tl.store(p, n)
"
    )
    .with_args([I32, RequestArg::Int(1)])
);

check!(
    arguments_have_the_launchers_types,
    Program::new(
        "
@triton.jit
def k(a, b, c, d, e, f, g: tl.int64, h: 'fp64', i, j: tl.constexpr, *, z=3):
    pass
"
    )
    .with_args([
        F32,
        RequestArg::Int(1 << 31),
        RequestArg::Int(1 << 63),
        RequestArg::Bool(true),
        RequestArg::Float(0.5),
        RequestArg::None,
        RequestArg::Int(1),
        RequestArg::Int(1),
        RequestArg::Tuple(vec![I32, RequestArg::Int(1), RequestArg::Int(7)]),
        RequestArg::DType(DType::F16),
    ])
);

check!(
    an_address_is_an_i64_and_a_named_tuple_has_fields,
    Program::new(
        "
@triton.jit
def k(address, rows, both):
    p = address.to(tl.pointer_type(tl.float32))
    tl.store(rows.out + rows.at, tl.load(p) + rows[1])
    tl.store(rows.out, tl.load(both[0].to(tl.pointer_type(tl.float32))))
"
    )
    .with_args([
        RequestArg::Address,
        RequestArg::NamedTuple {
            fields: vec!["out".into(), "at".into()],
            items: vec![F32, RequestArg::Int(3)],
        },
        RequestArg::Tuple(vec![RequestArg::Address]),
    ])
);

check!(
    an_autotuned_kernel_runs_with_its_first_configuration,
    Program::new(
        "
def bigger(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs['B'] > named_args['n']]
@triton.autotune(
    configs=[triton.Config({'B': b}, num_warps=w) for b in [2, 4, 8] for w in (1, 2)],
    key=['n'],
    prune_configs_by={'early_config_prune': bigger},
)
@triton.heuristics({'EVEN': lambda args: args['n'] % args['B'] == 0})
@triton.jit
def k(p, n, B: tl.constexpr, EVEN: tl.constexpr):
    if EVEN:
        tl.store(p, B)
    else:
        tl.store(p, n + B)
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    and_and_or_drop_constants,
    build_program(
        "
if n > 3 and True:
    tl.store(p, 1)
x = n > 3 and n < 7 or n == 9
tl.store(p, x)
"
    )
);

check!(
    comparisons_chain,
    build_program(
        "
if 0 < n < 10 < 20:
    tl.store(p, n)
"
    )
);

check!(
    named_tuples_are_tuples,
    Program::new(
        "
from typing import NamedTuple
class Pair(NamedTuple):
    x: tl.tensor
    y: tl.tensor = 4
@triton.jit
def k(p, n):
    a = Pair(n, y=n + 1)
    b = Pair(x=n)
    tl.store(p, a.x + a.y + b.y)
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    python_at_compile_time,
    Program::new(
        "
import math
@triton.constexpr_function
def log2(n):
    i = 0
    for _ in range(10):
        if n > 1:
            n //= 2
            i += 1
    return i
@triton.jit
def k(p, n, B: tl.constexpr):
    tl.static_assert(log2(B) == 6, f'B is {B}')
    tl.static_assert(isinstance(B, int) and not isinstance(n, tl.constexpr))
    shape: tl.constexpr = (B, B // 2)
    tl.static_assert(len(shape) == 2 and shape[-1] == 32 and math.log2(B) == 6.0)
    x: tl.constexpr = [s * 2 for s in shape if s > 32]
    tl.store(p, n + x[0])
"
    )
    .with_args([I32, RequestArg::Int(5), RequestArg::Int(64)])
);

check!(
    older_versions_return_tensors_and_know_annotated_globals,
    Program::new(
        "
X: tl.constexpr = 3
@triton.jit
def f():
    return X
@triton.jit
def k(p, n):
    tl.store(p, n + f())
"
    )
    .with_args([I32, RequestArg::Int(5)])
    .with_version(2)
);

check!(
    an_aggregate_is_its_fields,
    Program::new(
        "
@triton.aggregate
class Point:
    x: tl.tensor
    y: tl.tensor
    scale: tl.constexpr = 2

    @triton.jit
    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y, self.scale)

@triton.jit
def k(p, n):
    a = Point(n, n * 3)
    for i in range(n):
        a = a + Point(i, n)
    tl.store(p, tl.aggregate_replace(a, x=a.y * a.scale).x)
"
    )
    .with_args([I32, RequestArg::Int(5)])
);

check!(
    a_mapped_function_with_a_branch_is_a_loop_over_elements,
    Program::new(
        "
@triton.jit
def f(a):
    if a > 1:
        return a * 2
    return a - 1

@triton.jit
def k(p, n):
    o = tl.arange(0, 4)
    tl.store(p + o, tl.map_elementwise(f, o))
"
    )
    .with_args([I32, RequestArg::Int(5)])
);
