"""Counter-based random numbers: Philox of four words, with 32- or 64-bit words, and the functions that use them."""

import triton.language as tl
import triton


@triton.jit
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr):
    # The constants are those of the Philox paper (Salmon and others, 2011).
    if c0.dtype == tl.uint32:
        weyl_a: tl.constexpr = 0x9E3779B9
        weyl_b: tl.constexpr = 0xBB67AE85
        multiplier_a: tl.constexpr = 0xD2511F53
        multiplier_b: tl.constexpr = 0xCD9E8D57
    else:
        tl.static_assert(c0.dtype == tl.uint64, "dtype not supported in philox_impl")
        weyl_a: tl.constexpr = 0x9E3779B97F4A7C15
        weyl_b: tl.constexpr = 0xBB67AE8584CAA73B
        multiplier_a: tl.constexpr = 0xD2E7470EE14C6C93
        multiplier_b: tl.constexpr = 0xCA5A826395121157
    for _ in tl.static_range(n_rounds):
        old0 = c0
        old2 = c2
        c0 = tl.umulhi(multiplier_b, old2) ^ c1 ^ k0
        c2 = tl.umulhi(multiplier_a, old0) ^ c3 ^ k1
        c1 = tl._wrapping_mul(old2, multiplier_b)
        c3 = tl._wrapping_mul(old0, multiplier_a)
        k0 = tl._wrapping_add(k0, weyl_a)
        k1 = tl._wrapping_add(k1, weyl_b)
    return c0, c1, c2, c3


@triton.jit
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr):
    seed = tl._to_tensor(seed)
    tl.static_assert(seed.dtype.is_int())
    seed = seed.to(tl.uint64)
    c0 = tl._to_tensor(c0)
    c1 = tl._to_tensor(c1)
    c2 = tl._to_tensor(c2)
    c3 = tl._to_tensor(c3)
    if c0.dtype.primitive_bitwidth == 32:
        high = ((seed >> 32) & 0xFFFFFFFF).to(tl.uint32)
        low = (seed & 0xFFFFFFFF).to(tl.uint32)
        return philox_impl(c0.to(tl.uint32, bitcast=True), c1.to(tl.uint32, bitcast=True),
                           c2.to(tl.uint32, bitcast=True), c3.to(tl.uint32, bitcast=True), low, high, n_rounds)
    else:
        tl.static_assert(c0.dtype.primitive_bitwidth == 64, "bitwidth not supported in philox")
        high = tl.full((1,), 0, tl.uint64)
        return philox_impl(c0.to(tl.uint64, bitcast=True), c1.to(tl.uint64, bitcast=True),
                           c2.to(tl.uint64, bitcast=True), c3.to(tl.uint64, bitcast=True), seed, high, n_rounds)


@triton.jit
def randint4x(seed, offset, n_rounds: tl.constexpr):
    low = offset.to(tl.uint32)
    zero = low * 0
    if offset.dtype.primitive_bitwidth > 32:
        high = (offset >> 32).to(tl.uint32)
    else:
        high = zero
    return tl.philox(seed, low, high, zero, zero, n_rounds)


@triton.jit
def randint4x_whole_offset(seed, offset, n_rounds: tl.constexpr):
    zero = offset * 0
    return tl.philox(seed, offset, zero, zero, zero, n_rounds)


@triton.jit
def randint(seed, offset, n_rounds: tl.constexpr):
    first, _, _, _ = tl.randint4x(seed, offset, n_rounds)
    return first


@triton.jit
def uint_to_uniform_float(x):
    # The scale is the largest with which every integer stays below 1 after rounding.
    if x.dtype == tl.uint32 or x.dtype == tl.int32:
        signed = x.to(tl.int32, bitcast=True)
        scale: tl.constexpr = 4.6566127342e-10
    else:
        tl.static_assert(x.dtype == tl.uint64 or x.dtype == tl.int64)
        signed = x.to(tl.int64, bitcast=True)
        scale: tl.constexpr = 1.0842020432385337e-19
    return tl.where(signed < 0, ~signed, signed) * scale


@triton.jit
def rand(seed, offset, n_rounds: tl.constexpr):
    return uint_to_uniform_float(tl.randint(seed, offset, n_rounds))


@triton.jit
def rand4x(seed, offsets, n_rounds: tl.constexpr):
    a, b, c, d = tl.randint4x(seed, offsets, n_rounds)
    return uint_to_uniform_float(a), uint_to_uniform_float(b), uint_to_uniform_float(c), uint_to_uniform_float(d)


@triton.jit
def pair_uniform_to_normal(u1, u2):
    # The Box-Muller transform; the logarithm stays clear of zero.
    u1 = tl.maximum(1.0e-7, u1)
    angle = 6.283185307179586 * u2
    radius = tl.sqrt(-2.0 * tl.log(u1))
    return radius * tl.cos(angle), radius * tl.sin(angle)


@triton.jit
def randn(seed, offset, n_rounds: tl.constexpr):
    a, b, _, _ = tl.randint4x(seed, offset, n_rounds)
    normal, _ = pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))
    return normal


@triton.jit
def randn4x(seed, offset, n_rounds: tl.constexpr):
    a, b, c, d = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(a, b)
    n3, n4 = pair_uniform_to_normal(c, d)
    return n1, n2, n3, n4
