import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def far_store(out, distance):
    tl.store(out + distance, 1.0)


@triton.jit
def endless(flag):
    while tl.load(flag, volatile=True) == 0:
        pass


@triton.jit
def trap(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.device_assert(tl.load(x + at) >= 0, "negative")


@triton.jit
def follow(table, out):
    pointer = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(pointer) + 1)
    tl.store(table + 1, (pointer + 1).to(tl.int64))


@triton.jit
def order(out, n):
    seen = tl.load(out)
    ticket = tl.atomic_add(out + 1, 1)
    tl.store(out + 2 + ticket, tl.program_id(0) + seen)


@triton.jit
def matmul(a, b, c, N: tl.constexpr):
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def described(desc, out, N: tl.constexpr):
    r = tl.arange(0, N)
    tl.store(out + r[:, None] * N + r[None, :], desc.load([0, 0]))


@triton.jit
def described_here(x, out, m, n, N: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [m, n], [n, 1], [N, N])
    r = tl.arange(0, N)
    tl.store(out + r[:, None] * N + r[None, :], desc.load([0, 0]))
