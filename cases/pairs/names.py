"""Names without values: types, constants and keywords."""

import triton
import triton.language as tl


@triton.jit
def types(x, out, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    if OP == "int8":
        r = a.to(tl.int8)
    elif OP == "uint8":
        r = a.to(tl.uint8)
    elif OP == "uint16":
        r = a.to(tl.uint16)
    elif OP == "uint32":
        r = a.to(tl.uint32)
    elif OP == "uint64":
        r = a.to(tl.uint64)
    elif OP == "bfloat16":
        r = a.to(tl.bfloat16)
    elif OP == "float8e4nv":
        r = a.to(tl.float32).to(tl.float8e4nv).to(tl.float32)
    elif OP == "float8e5":
        r = a.to(tl.float32).to(tl.float8e5).to(tl.float32)
    elif OP == "pi32_t":
        r = tl.load((x + i).to(tl.pi32_t))
    elif OP == "block_type":
        tl.static_assert(a.type == tl.block_type(tl.int32, [16]))
        r = a
    elif OP == "dtype":
        tl.static_assert(isinstance(tl.float32, tl.dtype))
        r = a
    elif OP == "tensor":
        tl.static_assert(isinstance(a, tl.tensor))
        r = a
    elif OP == "tensor_descriptor":
        tl.static_assert(not isinstance(a, tl.tensor_descriptor))
        r = a
    elif OP == "float8e4b8":
        tl.static_assert(tl.float8e4b8 != tl.float8e5b16)
        r = a
    elif OP == "float8e4b15":
        tl.static_assert(tl.float8e4b15 != tl.float8e4nv)
        r = a
    elif OP == "void":
        tl.static_assert(tl.void != tl.int32)
        r = a
    elif OP == "constexpr":
        r = a + tl.constexpr(3)
    elif OP == "tuple":
        both = tl.tuple((a, a + 1))
        r = both[0] + both[1]
    elif OP == "TRITON_MAX_TENSOR_NUMEL":
        r = a + tl.TRITON_MAX_TENSOR_NUMEL
    elif OP == "N_ROUNDS_DEFAULT":
        r = a + tl.random.N_ROUNDS_DEFAULT
    elif OP == "static_print":
        tl.static_print("sixteen lanes")
        r = a
    elif OP == "condition":
        h = tl.load(x)
        while tl.condition(h < 100):
            h += 7
        r = a + h
    elif OP == "num_threads":
        r = a + tl.extra.cuda.num_threads()
    elif OP == "num_warps":
        r = a + tl.extra.cuda.num_warps()
    elif OP == "gdc":
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
        r = a
    tl.store(out + i, r)
