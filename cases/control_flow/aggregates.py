"""Classes of the user's own: fields that are tensors and constants, methods, copies with a change."""

import triton
import triton.language as tl


@triton.aggregate
class Complex:
    re: tl.tensor
    im: tl.tensor
    scale: tl.constexpr = 2

    @triton.jit
    def times(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    @triton.jit
    def norm(self):
        return (self.re * self.re + self.im * self.im) * self.scale


@triton.jit
def powers_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    base = Complex(tl.load(x + offsets), tl.load(x + BLOCK + offsets))
    power = Complex(tl.full((BLOCK,), 1, tl.int32), tl.zeros((BLOCK,), tl.int32))
    for _ in range(n):
        power = power.times(base)
    if n > 2:
        power = tl.aggregate_replace(power, re=power.re + 1)
    tl.store(out + offsets, power.re)
    tl.store(out + BLOCK + offsets, power.im)
    tl.store(out + 2 * BLOCK + offsets, power.norm())
