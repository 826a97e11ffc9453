//! Known bugs in the evaluation of a kernel's Python: the IR of a kernel with each of them. See `cerith-quirk` for bugs
//! that rewrite IR. The corpus compares each with the bytes of the engines that have it.

use crate::common::{F32, I32, Program, build_program};
use cerith_frontend::RequestArg;
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::quirk::Quirk;

check!(
    a_loop_index_stays_a_python_int,
    build_program(
        "
for i in range(n):
    tl.store(p + i // 3, i % -3)
    tl.store(p, tl.load(p) + i)
"
    )
    .with_quirk(Quirk::LoopIndicesArePython)
);

check!(
    an_argument_of_one_is_a_tensor,
    Program::new(
        "
@triton.jit
def k(p, n):
    tl.store(p, n + n)
"
    )
    .with_args([I32, RequestArg::Int(1)])
    .with_quirk(Quirk::ArgumentsOfOneAreTensors)
);

check!(
    an_argument_of_33_bits_is_held_in_32,
    Program::new(
        "
@triton.jit
def k(p, n):
    tl.store(p, n + n)
"
    )
    .with_args([I32, RequestArg::Int(1 << 31)])
    .with_quirk(Quirk::WideArgumentsAreShort)
);

check!(
    a_bool_argument_is_held_in_32_bits,
    Program::new(
        "
@triton.jit
def k(p, n):
    tl.store(p, n + n)
"
    )
    .with_args([I32, RequestArg::Bool(true)])
    .with_quirk(Quirk::BoolArgumentsAreInts)
);

check!(
    a_block_is_true,
    build_program(
        "
i = tl.arange(0, 4)
tl.store(p + i, max(i, 3 - i))
tl.store(p + i, not i)
"
    )
    .with_quirk(Quirk::BlocksAreTrue)
);

check!(
    a_number_that_is_chosen_stays_one_of_python,
    build_program(
        "
h = tl.load(p + tl.arange(0, 4)).to(tl.float16)
tl.store(p + tl.arange(0, 4), h * (0.1 if n > 3 else 0.2))
c = 0.1 if n > 3 else 0.2
tl.store(p + tl.arange(0, 4), h * c)
"
    )
    .with_quirk(Quirk::NumbersStayPython)
);

check!(
    a_global_constexpr_is_an_instance_of_constexpr,
    Program::new(
        "
THREE = tl.constexpr(3)

@triton.jit
def k(p):
    tl.store(p, isinstance(THREE, int))
    tl.store(p, isinstance(THREE, tl.constexpr))
    tl.store(p, isinstance(3, int))
"
    )
    .with_args([I32])
    .with_quirk(Quirk::ConstexprsAreObjects)
);

check!(
    logic_picks_an_operand,
    build_program(
        "
i = tl.arange(0, 4)
tl.store(p + i, i and 3 - i)
tl.store(p + i, i or tl.load(p + i) or 7)
tl.store(p, n and 7)
tl.store(p, 0 or n)
"
    )
    .with_quirk(Quirk::LogicPicksOperands)
);

check!(
    a_scaled_dot_goes_by_parts,
    Program::new(
        "
@triton.jit
def k(p, x, s):
    i = tl.arange(0, 16)
    j = tl.arange(0, 32)
    a = tl.load(x + i[:, None] * 32 + j[None, :]).to(tl.bfloat16)
    b = tl.load(x + j[:, None] * 16 + i[None, :]).to(tl.float8e5)
    scales = tl.load(s + i[:, None] + tl.arange(0, 1)[None, :])
    tl.store(p + i[:, None] * 16 + i[None, :], tl.dot_scaled(a, None, 'bf16', b, scales, 'e5m2'))
"
    )
    .with_args([F32, F32, RequestArg::Pointer(Elem::Num(DType::U8))])
    .with_quirk(Quirk::ScaledDotsByParts)
);

check!(
    a_scan_along_a_negative_axis_forgets,
    Program::new(
        "
@triton.jit
def plus(a, b):
    return a + b

@triton.jit
def k(p):
    i = tl.arange(0, 4)
    tl.store(p + i, tl.associative_scan(tl.load(p + i), -1, plus))
    tl.store(p + i, tl.cumsum(tl.load(p + i), -1))
"
    )
    .with_args([F32])
    .with_quirk(Quirk::NegativeScansForget)
);

check!(
    a_block_pointer_is_checked_above,
    Program::new(
        "
@triton.jit
def k(p):
    block = tl.make_block_ptr(p, (8,), (1,), (-2,), (4,), (0,))
    tl.store(p + tl.arange(0, 4), tl.load(block, boundary_check=(0,)))
"
    )
    .with_args([F32])
    .with_version(2)
    .with_quirk(Quirk::BlockPointersCheckAbove)
);

check!(
    a_flip_multiplies,
    Program::new(
        "
@triton.jit
def k(p):
    i = tl.arange(0, 2)
    tl.store(p + i, tl.flip(tl.load(p + i)))
"
    )
    .with_args([F32])
    .with_version(2)
    .with_quirk(Quirk::FlipMultiplies)
);

check!(
    a_sort_adds_up,
    Program::new(
        "
@triton.jit
def k(p):
    i = tl.arange(0, 2)
    tl.store(p + i, tl.sort(tl.load(p + i)))
"
    )
    .with_args([F32])
    .with_version(2)
    .with_quirk(Quirk::SortAddsUp)
);
