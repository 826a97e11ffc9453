"""Triton's standard library: reductions, scans and the small things. There are several forms of one function
if versions of Triton differ; the table of builtins says which version has which."""

import triton.language as tl
import triton


@triton.jit
def cdiv(x, div):
    return (x + (div - 1)) // div


@triton.jit
def cdiv_left_to_right(x, div):
    return (x + div - 1) // div


@triton.jit
def sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def softmax(x, dim, ieee_rounding):
    if dim is None:
        along: tl.constexpr = 0
    else:
        along: tl.constexpr = dim
    powers = tl.exp(x - tl.max(x, along, keep_dims=True))
    return tl.fdiv(powers, tl.sum(powers, along, keep_dims=True), ieee_rounding)


@triton.jit
def softmax_keep_dims(x, dim, keep_dims, ieee_rounding):
    if dim is None:
        along: tl.constexpr = 0
    else:
        along: tl.constexpr = dim
    powers = tl.exp(x - tl.max(x, along, keep_dims=keep_dims))
    return tl.fdiv(powers, tl.sum(powers, along, keep_dims=keep_dims), ieee_rounding)


@triton.jit
def ravel(x, can_reorder):
    return tl.reshape(x, [x.numel], can_reorder=can_reorder)


@triton.jit
def swizzle2d(i, j, size_i, size_j, size_g):
    # The place in row-major order, then: which group of rows, and where in that group.
    place = i * size_j + j
    in_group = size_g * size_j
    group = place // in_group
    first_row = group * size_g
    # The last group may be cut short.
    rows = tl.minimum(size_i - first_row, size_g)
    place = place % in_group
    return first_row + place % rows, place // rows


@triton.jit
def swizzle2d_whole_groups(i, j, size_i, size_j, size_g):
    place = i * size_j + j
    in_group = size_g * size_j
    group = place // in_group
    first_row = group * size_g
    rows = tl.minimum(size_i - first_row, size_g)
    return first_row + (place % rows), (place % in_group) // rows


@triton.jit
def zeros(shape, dtype):
    return tl.full(shape, 0, dtype)


@triton.jit
def zeros_like(input):
    return tl.full(input.shape, 0, input.dtype)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def _first_larger(value1, index1, value2, index2):
    keep = value1 > value2 or (value1 == value2 and index1 < index2)
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)


@triton.jit
def _any_larger(value1, index1, value2, index2):
    keep = value1 > value2
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)


@triton.jit
def _first_smaller(value1, index1, value2, index2):
    keep = value1 < value2 or (value1 == value2 and index1 < index2)
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)


@triton.jit
def _any_smaller(value1, index1, value2, index2):
    keep = value1 < value2
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)


@triton.jit
def _bfloat16_as_float32(x):
    if x.dtype.is_bf16():
        return x.to(tl.float32)
    else:
        return x


@triton.jit
def _at_least_32_bits(x):
    if x.dtype.primitive_bitwidth < 32:
        if x.dtype.is_floating():
            return x.to(tl.float32)
        else:
            tl.static_assert(x.dtype.is_int(), "Expecting input to be integer type")
            return x.to(tl.int32)
    else:
        return x


@triton.jit
def max(input, axis, return_indices, return_indices_tie_break_left, keep_dims):
    if return_indices:
        if return_indices_tie_break_left:
            return tl._reduce_with_indices(input, axis, _first_larger, keep_dims=keep_dims)
        else:
            return tl._reduce_with_indices(input, axis, _any_larger, keep_dims=keep_dims)
    else:
        return tl.reduce(_at_least_32_bits(input), axis, _larger, keep_dims=keep_dims)


@triton.jit
def min(input, axis, return_indices, return_indices_tie_break_left, keep_dims):
    if return_indices:
        if return_indices_tie_break_left:
            return tl._reduce_with_indices(input, axis, _first_smaller, keep_dims=keep_dims)
        else:
            return tl._reduce_with_indices(input, axis, _any_smaller, keep_dims=keep_dims)
    else:
        return tl.reduce(_at_least_32_bits(input), axis, _smaller, keep_dims=keep_dims)


@triton.jit
def max_bf16_in_f32(input, axis, return_indices, return_indices_tie_break_left, keep_dims):
    return max(_bfloat16_as_float32(input), axis, return_indices, return_indices_tie_break_left, keep_dims)


@triton.jit
def min_bf16_in_f32(input, axis, return_indices, return_indices_tie_break_left, keep_dims):
    return min(_bfloat16_as_float32(input), axis, return_indices, return_indices_tie_break_left, keep_dims)


@triton.jit
def argmax(input, axis, tie_break_left, keep_dims):
    _, index = tl.max(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left,
                      keep_dims=keep_dims)
    return index


@triton.jit
def argmin(input, axis, tie_break_left, keep_dims):
    _, index = tl.min(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left,
                      keep_dims=keep_dims)
    return index


@triton.jit
def _plus(a, b):
    return a + b


@triton.jit
def _times(a, b):
    return a * b


@triton.jit
def _xor(a, b):
    return a ^ b


@triton.jit
def _or(a, b):
    return a | b


@triton.jit
def _summable(input, dtype):
    if dtype is not None:
        return input.to(dtype)
    elif input.dtype.is_int_signed() and input.dtype.int_bitwidth < 32:
        return input.to(tl.int32)
    elif input.dtype.is_int_unsigned() and input.dtype.int_bitwidth < 32:
        return input.to(tl.uint32)
    else:
        return input


@triton.jit
def sum(input, axis, keep_dims, dtype):
    return tl.reduce(_summable(input, dtype), axis, _plus, keep_dims=keep_dims)


@triton.jit
def sum_as_it_is(input, axis, keep_dims):
    return tl.reduce(_bfloat16_as_float32(input), axis, _plus, keep_dims=keep_dims)


@triton.jit
def xor_sum(input, axis, keep_dims):
    tl.static_assert(input.dtype.is_int(), "xor_sum only supported for integers")
    return tl.reduce(input, axis, _xor, keep_dims=keep_dims)


@triton.jit
def reduce_or(input, axis, keep_dims):
    tl.static_assert(input.dtype.is_int(), "reduce_or only supported for integers")
    return tl.reduce(input, axis, _or, keep_dims=keep_dims)


@triton.jit
def cumsum(input, axis, reverse, dtype):
    return tl.associative_scan(_summable(input, dtype), axis, _plus, reverse)


@triton.jit
def cumsum_bf16_in_f32(input, axis, reverse, dtype):
    return tl.associative_scan(_summable(_bfloat16_as_float32(input), dtype), axis, _plus, reverse)


@triton.jit
def cumsum_as_it_is(input, axis, reverse):
    return tl.associative_scan(_bfloat16_as_float32(input), axis, _plus, reverse)


@triton.jit
def cumprod(input, axis, reverse, dtype):
    return tl.associative_scan(_summable(input, dtype), axis, _times, reverse)


@triton.jit
def cumprod_as_it_is(input, axis, reverse):
    return tl.associative_scan(_bfloat16_as_float32(input), axis, _times, reverse)


@triton.jit
def interleave(a, b):
    pairs = tl.join(a, b)
    if len(pairs.shape) == 1:
        return pairs
    else:
        return tl.reshape(pairs, pairs.shape[:-2] + (2 * pairs.shape[-2],))


@triton.jit
def squeeze(x, dim):
    along: tl.constexpr = dim + len(x.shape) if dim < 0 else dim
    tl.static_assert(along >= 0 and along < len(x.shape), "squeeze: no such dimension")
    tl.static_assert(x.shape[along] == 1, "squeeze: the dimension has more than one element")
    return tl.reshape(x, x.shape[:along] + x.shape[along + 1:])


@triton.jit
def unsqueeze(x, dim):
    along: tl.constexpr = dim + len(x.shape) + 1 if dim < 0 else dim
    tl.static_assert(along >= 0 and along <= len(x.shape), "unsqueeze: no such dimension")
    return tl.reshape(x, x.shape[:along] + (1,) + x.shape[along:])


@triton.jit
def squeeze_as_sliced(x, dim):
    tl.static_assert(x.shape[dim] == 1, "squeeze: the dimension has more than one element")
    return tl.reshape(x, x.shape[:dim] + x.shape[dim + 1:])


@triton.jit
def unsqueeze_as_sliced(x, dim):
    return tl.reshape(x, x.shape[:dim] + (1,) + x.shape[dim:])
