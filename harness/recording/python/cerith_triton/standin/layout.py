"""How torch lays tensors out. Rules of torch's `_to_copy`, `is_contiguous` and `has_internal_overlap`; the
golden file `cpu_copies.jsonl`, made on a GPU, checks them."""

from __future__ import annotations

from typing import Sequence, Union


def numel(sizes: Sequence[int]) -> int:
    """Elements of a shape."""
    count = 1
    for size in sizes:
        count *= size
    return count


def contiguous_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides; a dimension of no elements counts as one."""
    strides = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_contiguous(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements lie one after the other in row-major order. Strides of one-element dimensions are
    free."""
    if numel(sizes) == 0:
        return True
    step = 1
    for size, stride in zip(reversed(sizes), reversed(strides)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def is_dense(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements fill a run of memory, each place once, in some order of the dimensions
    (torch: `is_non_overlapping_and_dense`). No elements do so whatever the strides."""
    if numel(sizes) == 0:
        return True
    if len(sizes) == 1:
        return sizes[0] < 2 or strides[0] == 1
    step = 1
    for size, stride in sorted(
        ((size, stride) for size, stride in zip(sizes, strides) if size >= 2), key=lambda pair: pair[1]
    ):
        if stride != step:
            return False
        step *= size
    return True


def overlaps_itself(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether torch sees that two elements share memory: a dimension of stride 0. It does not look
    further."""
    if is_dense(sizes, strides):
        return False
    return any(stride == 0 and size > 1 for size, stride in zip(sizes, strides))


def copy_strides(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides of a copy to another device (`memory_format=torch.preserve_format`): the same where they are
    dense, else dense in the order that the strides have."""
    if is_dense(sizes, strides):
        return tuple(strides)
    if len(sizes) <= 1:
        return (1,) * len(sizes)

    def order(left: int, right: int) -> int:
        """Negative: left is the inner one. Zero: unknown, and they stay in their order."""
        if strides[left] == 0 or strides[right] == 0:
            return 0
        if strides[left] != strides[right]:
            return strides[left] - strides[right]
        return 1 if sizes[left] > sizes[right] else 0

    # An insertion sort that skips pairs without an order, as torch's does. Such pairs make the result depend
    # on the algorithm.
    inner_first = list(reversed(range(len(sizes))))
    for start in range(1, len(inner_first)):
        at = start
        for before in range(start - 1, -1, -1):
            verdict = order(inner_first[before], inner_first[at])
            if verdict > 0:
                inner_first[before], inner_first[at] = inner_first[at], inner_first[before]
                at = before
            elif verdict < 0:
                break

    out = [0] * len(sizes)
    step = 1
    for dim in inner_first:
        out[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(out)


# The parts of an index for each dimension, in order: None adds one.
Part = Union[int, slice, None]


def spelled_out(key: tuple[object, ...], rank: int) -> list[Part] | None:
    """An index with slices instead of `...` and of omitted parts, or None if it has other parts."""
    parts: list[Part] = []
    taken = sum(part is not None and part is not Ellipsis for part in key)
    for part in key:
        if part is Ellipsis:
            parts += [slice(None)] * (rank - taken)
            taken = rank
        elif (
            part is None or isinstance(part, slice) or (isinstance(part, int) and not isinstance(part, bool))
        ):
            parts.append(part)
        else:
            return None
    return parts + [slice(None)] * (rank - taken)


def index_view(
    parts: Sequence[Part], sizes: Sequence[int], strides: Sequence[int], offset: int
) -> tuple[list[int], list[int], int]:
    """Sizes, strides and offset of an index's view, as in torch."""
    shape, steps = [], []
    dimension = 0
    for part in parts:
        if part is None:
            shape.append(1)
            # torch: the stride of the next dimension times its size.
            inner = dimension < len(sizes)
            steps.append(sizes[dimension] * strides[dimension] if inner else 1)
            continue
        if dimension == len(sizes):
            raise IndexError(f"too many indices for tensor of dimension {len(sizes)}")
        size, stride = sizes[dimension], strides[dimension]
        if isinstance(part, int):
            if not -size <= part < size:
                raise IndexError(f"index {part} is out of bounds for dimension {dimension} with size {size}")
            offset += part % size * stride
        else:
            start, stop, step = part.indices(size)
            if step < 0:
                raise ValueError("step must be greater than zero")
            shape.append(len(range(start, stop, step)))
            steps.append(stride * step)
            offset += start * stride
        dimension += 1
    return shape, steps, offset


def index_dimension(dim: int, rank: int, part: Part) -> tuple[Part, ...]:
    """The index that is `part` in one dimension and all of the others."""
    return (slice(None),) * (dim % rank) + (part,)
