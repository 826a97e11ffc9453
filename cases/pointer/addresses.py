"""Addresses that a launch passes as integers."""

import triton
import triton.language as tl


@triton.jit
def load_at_kernel(address, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = address.to(tl.pointer_type(tl.float32))
    tl.store(out + offsets, tl.load(x + offsets))


@triton.jit
def store_at_kernel(address, value, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out = address.to(tl.pointer_type(tl.int32))
    tl.store(out + offsets, offsets + value, mask=offsets < n)


@triton.jit
def moved_address_kernel(address, step, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for i in tl.static_range(2):
        x = (address + i * step).to(tl.pointer_type(tl.int64))
        tl.store(out + i * BLOCK + offsets, tl.load(x + offsets))


@triton.jit
def number_kernel(address, number, out):
    x = address.to(tl.pointer_type(tl.int64))
    tl.store(out, tl.load(x))
    tl.store(out + 1, number)


@triton.jit
def kept_address_kernel(address, table, out, BLOCK: tl.constexpr):
    tl.store(table, address)
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(address.to(tl.pointer_type(tl.float32)) + offsets))


@triton.jit
def tuple_of_addresses_kernel(both, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = both[0].to(tl.pointer_type(tl.float32))
    y = both[1].to(tl.pointer_type(tl.float32))
    tl.store(out + offsets, tl.load(x + offsets) - tl.load(y + offsets))
