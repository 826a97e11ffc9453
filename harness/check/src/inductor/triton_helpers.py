"""Functions of TorchInductor that its kernels call (`torch._inductor.runtime.triton_helpers`), for checks without torch."""

import triton
import triton.language as tl
from triton.language.extra import libdevice

math = tl.math


@triton.jit
def promote_to_tensor(x):
    return tl.full([1], 0, tl.int1) + x


@triton.jit
def is_floating(x):
    return promote_to_tensor(x).dtype.is_floating()


@triton.jit
def div_floor_integer(a, b):
    quotient = a // b
    remainder = a % b
    return tl.where((remainder != 0) & ((a < 0) != (b < 0)), quotient - 1, quotient)


@triton.jit
def remainder_integer(a, b):
    remainder = a % b
    return tl.where((remainder != 0) & ((a < 0) != (b < 0)), remainder + b, remainder)


@triton.jit
def minimum(a, b):
    return tl.where((a < b) | (a != a), a, b)


@triton.jit
def maximum(a, b):
    return tl.where((a > b) | (a != a), a, b)


@triton.jit
def min2(a, dim):
    return tl.reduce(a, dim, minimum)


@triton.jit
def max2(a, dim):
    return tl.reduce(a, dim, maximum)


@triton.jit
def _multiply(a, b):
    return a * b


@triton.jit
def prod(a, axis):
    return tl.reduce(a, axis, _multiply)


@triton.jit
def _either(a, b):
    return a | b


@triton.jit
def any(a, dim):
    return tl.reduce(a, dim, _either)


@triton.jit
def _goes_first(is_better, a_value, a_index, b_value, b_index):
    """A NaN goes before numbers, and of equal values the one with the lower index."""
    is_a_nan = a_value != a_value
    is_b_nan = b_value != b_value
    is_tie = (a_value == b_value) | (is_a_nan & is_b_nan)
    return is_better | (is_a_nan > is_b_nan) | (is_tie & (a_index < b_index))


@triton.jit
def minimum_with_index(a_value, a_index, b_value, b_index):
    first = _goes_first(a_value < b_value, a_value, a_index, b_value, b_index)
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


@triton.jit
def maximum_with_index(a_value, a_index, b_value, b_index):
    first = _goes_first(a_value > b_value, a_value, a_index, b_value, b_index)
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


@triton.jit
def min_with_index(value, index, dim):
    return tl.reduce((value, index), dim, minimum_with_index)


@triton.jit
def max_with_index(value, index, dim):
    return tl.reduce((value, index), dim, maximum_with_index)


@triton.jit
def welford_reduce(value, mean, m2, weight, first_iteration):
    """One more value for each lane."""
    if first_iteration:
        count = tl.full(weight.shape, 1, weight.dtype)
        center = value
        squares = tl.zeros_like(m2)
    else:
        count = weight + 1
        center = mean + (value - mean) / count
        squares = m2 + (value - mean) * (value - center)
    return center, squares, count


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    """Two groups of values as one; a group without values has weight 0."""
    count = weight_1 + weight_2
    share = tl.where(count == 0.0, 0.0, weight_2 / count)
    apart = mean_2 - mean_1
    return mean_1 + apart * share, m2_1 + m2_2 + apart * apart * weight_1 * share, count


@triton.jit
def welford(mean, m2, weight, dim):
    return tl.reduce((mean, m2, weight), dim, welford_combine)
