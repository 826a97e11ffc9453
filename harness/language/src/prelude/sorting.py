"""Sorting networks. A block is seen as a hypercube with two places along every dimension, so that a compare-and-swap
is between the two halves along one of them."""

import math

import triton.language as tl
import triton


@triton.constexpr_function
def log2(number):
    # Extents are powers of two, whose logarithms are exact.
    return int(math.log2(number))


@triton.constexpr_function
def is_power_of_two(number):
    return number > 0 and (number & (number - 1)) == 0


@triton.constexpr_function
def flipped_dim(dim, rank):
    if dim is None:
        return rank - 1
    return dim + rank if dim < 0 else dim


@triton.constexpr_function
def swapped_with_last(dim, rank):
    return [rank - 1 if d == dim else dim if d == rank - 1 else d for d in range(rank)]


@triton.jit
def _side(dimensions: tl.constexpr, inner: tl.constexpr):
    # 0 and 1 along the dimension that has `inner` dimensions inside of it.
    return tl.reshape(tl.arange(0, 2), (1,) * (dimensions - inner - 1) + (2,) + (1,) * inner)


@triton.jit
def _swapped(x, along: tl.constexpr):
    # Each element's partner along a dimension of extent 2. Triton swaps them by their bits, which pointers have none of.
    tl.static_assert(x.dtype.primitive_bitwidth > 0)
    order: tl.constexpr = swapped_with_last(along, len(x.shape))
    first, second = tl.split(tl.permute(x, order))
    return tl.permute(tl.join(second, first), order)


@triton.jit
def _swapped_by_products(x, along: tl.constexpr):
    # Each element of a pair is the sum of both, the other one times 1 and itself times 0.
    last: tl.constexpr = len(x.shape) - 1
    order: tl.constexpr = swapped_with_last(along, len(x.shape))
    pairs = tl.expand_dims(tl.permute(x, order), last)
    other = tl.reshape(tl.arange(0, 2)[:, None] != tl.arange(0, 2)[None, :], (1,) * last + (2, 2))
    return tl.permute(tl.sum(pairs * other, axis=last + 1), order)


@triton.jit
def _compare_and_swap_by_sums(x, descending, inner: tl.constexpr):
    # Each side of a pair is the sum of both, one of them times 0.
    dimensions: tl.constexpr = log2(x.numel)
    along: tl.constexpr = dimensions - 1 - inner
    second = _side(dimensions, inner)
    left = tl.broadcast_to(tl.expand_dims(tl.sum(x * (1 - second), axis=along), along), x.shape).to(x.dtype)
    right = tl.broadcast_to(tl.expand_dims(tl.sum(x * second, axis=along), along), x.shape).to(x.dtype)
    bits: tl.constexpr = tl.core.get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
    both = left.to(bits, bitcast=True) ^ right.to(bits, bitcast=True)
    swapped = x.to(bits, bitcast=True) ^ tl.where((left > right) != descending, both, 0)
    return swapped.to(x.dtype, bitcast=True)


@triton.jit
def _compare_and_swap(x, descending, inner: tl.constexpr):
    dimensions: tl.constexpr = log2(x.numel)
    partner = _swapped(x, dimensions - 1 - inner)
    second = _side(dimensions, inner)
    return tl.where((x > partner) != (descending ^ second).to(tl.int1), partner, x)


@triton.jit
def _merge(x, stage: tl.constexpr, order: tl.constexpr):
    # 0: ascending, 1: descending, 2: by turns, runs of 2**stage elements each.
    if order == 2:
        descending = _side(log2(x.numel), stage)
    else:
        descending = order
    for i in tl.static_range(stage):
        x = _compare_and_swap(x, descending, stage - 1 - i)
    return x


@triton.jit
def sort_some(x, k: tl.constexpr, dim: tl.constexpr, descending: tl.constexpr):
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last, "only minor dimension is currently supported")
    log_n: tl.constexpr = log2(x.shape[last])
    log_k: tl.constexpr = log_n if k is None else log2(k)
    direction: tl.constexpr = 1 if descending else 0
    if log_k == 0:
        if descending:
            return tl.max(x, axis=last, keep_dims=True)
        else:
            return tl.min(x, axis=last, keep_dims=True)
    else:
        cubed = tl.reshape(x, (2,) * log2(x.numel) if x.numel > 1 else (1,))
        for i in tl.static_range(1, log_k + 1):
            cubed = _merge(cubed, i, 2 if i < log_n else direction)
        # Each round keeps the better half of two sorted runs, which is bitonic, and sorts it again.
        for i in tl.static_range(log_k + 1, log_n + 1):
            if descending:
                cubed = tl.max(cubed, axis=log2(cubed.numel) - 1 - log_k)
            else:
                cubed = tl.min(cubed, axis=log2(cubed.numel) - 1 - log_k)
            cubed = _merge(cubed, log_k, 2 if i < log_n else direction)
        return tl.reshape(cubed, x.shape[:-1] + (2**log_k,))


@triton.jit
def _merge_by_sums(x, stage: tl.constexpr, order: tl.constexpr):
    if order == 2:
        descending = _side(log2(x.numel), stage)
    else:
        descending = order
    for i in tl.static_range(stage):
        x = _compare_and_swap_by_sums(x, descending, stage - 1 - i)
    return x


@triton.jit
def sort_by_sums(x, dim: tl.constexpr, descending: tl.constexpr):
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last, "only minor dimension is currently supported")
    log_n: tl.constexpr = log2(x.shape[last])
    direction: tl.constexpr = 1 if descending else 0
    cubed = tl.reshape(x, (2,) * log2(x.numel) if x.numel > 1 else (1,))
    for i in tl.static_range(1, log_n + 1):
        cubed = _merge_by_sums(cubed, i, 2 if i < log_n else direction)
    return tl.reshape(cubed, x.shape)


@triton.jit
def sort(x, dim: tl.constexpr, descending: tl.constexpr):
    return sort_some(x, None, dim, descending)


@triton.jit
def sort_wide(x, dim: tl.constexpr, descending: tl.constexpr):
    tl.static_assert(x.dtype.is_floating() or x.dtype.primitive_bitwidth >= 32, "sort: small integers change their type")
    return sort(x, dim, descending)


@triton.jit
def topk(x, k: tl.constexpr, dim: tl.constexpr, descending: tl.constexpr):
    tl.static_assert(is_power_of_two(k), "topk: k must be a power of two")
    tl.static_assert(k <= x.shape[len(x.shape) - 1], "topk: k must not exceed the size of the selected dimension")
    return sort_some(x, k, dim, descending)


@triton.jit
def topk_of_several(x, k: tl.constexpr, dim: tl.constexpr, descending: tl.constexpr):
    tl.static_assert(
        k > 1 or x.numel > x.shape[len(x.shape) - 1] or x.shape[len(x.shape) - 1] == 1,
        "topk: a single element is left as a scalar, which cannot be reshaped",
    )
    tl.static_assert(k <= x.shape[len(x.shape) - 1], "topk: k must not exceed the size of the selected dimension")
    return sort_some(x, k, dim, descending)


@triton.jit
def bitonic_merge(x, dim: tl.constexpr, descending: tl.constexpr):
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last, "only minor dimension is currently supported")
    direction: tl.constexpr = 1 if descending else 0
    cubed = tl.reshape(x, (2,) * log2(x.numel) if x.numel > 1 else (1,))
    return tl.reshape(_merge(cubed, log2(x.shape[last]), direction), x.shape)


@triton.jit
def flip(x, dim: tl.constexpr):
    # Without its only element's dimension, Triton's own code makes a scalar of the block, which has no shape.
    tl.static_assert(x.numel > 1 or len(x.shape) > 1, "flip: a single element is left as a scalar, which cannot be reshaped")
    along: tl.constexpr = flipped_dim(dim, len(x.shape))
    tl.static_assert(along >= 0 and along < len(x.shape) and x.dtype.primitive_bitwidth > 0, "flip: dim must be None or in [-rank, rank)")
    steps: tl.constexpr = log2(x.shape[along])
    cube: tl.constexpr = (2,) * steps if steps > 0 else (1,)
    y = tl.reshape(x, x.shape[:along] + cube + x.shape[along + 1:])
    for i in tl.static_range(steps):
        y = _swapped(y, along + i)
    return tl.reshape(y, x.shape)


@triton.jit
def flip_by_products(x, dim: tl.constexpr):
    steps: tl.constexpr = log2(x.shape[len(x.shape) - 1])
    y = tl.reshape(x, x.shape[:-1] + ((2,) * steps if steps > 0 else (1,)))
    for i in tl.static_range(steps):
        y = _swapped_by_products(y, len(x.shape) - 1 + i)
    return tl.reshape(y, x.shape)


@triton.jit
def flip_last(x, dim: tl.constexpr):
    # Without its only element's dimension, Triton's own code makes a scalar of the block, which has no shape.
    tl.static_assert(x.numel > 1, "flip: a single element is left as a scalar, which cannot be reshaped")
    tl.static_assert(dim is None or dim == len(x.shape) - 1, "Currently only support flipping the last dimension")
    return flip(x, None)


@triton.jit
def flip_along(x, dim: tl.constexpr):
    # Without its only element's dimension, Triton's own code makes a scalar of the block, which has no shape.
    tl.static_assert(x.numel > 1 or len(x.shape) > 1, "flip: a single element is left as a scalar, which cannot be reshaped")
    tl.static_assert(dim is not None, "flip: dim must be given")
    return flip(x, dim)


@triton.jit
def sort_impl(x, k: tl.constexpr, dim: tl.constexpr, descending: tl.constexpr):
    if k is None:
        return sort(x, dim, descending)
    else:
        return topk(x, k, dim, descending)
