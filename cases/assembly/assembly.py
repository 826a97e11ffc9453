"""tl.inline_asm_elementwise: PTX in kernels, as libraries use it."""

import triton
import triton.language as tl


@triton.jit
def one_kernel(x, out, ASM: tl.constexpr, REGISTERS: tl.constexpr, BLOCK: tl.constexpr):
    """One operand, one result."""
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets)
    result = tl.inline_asm_elementwise(
        ASM, REGISTERS, [value], dtype=out.dtype.element_ty, is_pure=True, pack=1
    )
    tl.store(out + offsets, result)


@triton.jit
def two_kernel(x, y, out, ASM: tl.constexpr, REGISTERS: tl.constexpr, BLOCK: tl.constexpr):
    """Two operands, one result."""
    offsets = tl.arange(0, BLOCK)
    a, b = tl.load(x + offsets), tl.load(y + offsets)
    result = tl.inline_asm_elementwise(
        ASM, REGISTERS, [a, b], dtype=out.dtype.element_ty, is_pure=True, pack=1
    )
    tl.store(out + offsets, result)


@triton.jit
def packed_kernel(x, y, out, ASM: tl.constexpr, BLOCK: tl.constexpr):
    """Two operands of 16 bits, two elements to a register."""
    offsets = tl.arange(0, BLOCK)
    a, b = tl.load(x + offsets), tl.load(y + offsets)
    result = tl.inline_asm_elementwise(
        ASM, "=r,r,r", [a, b], dtype=out.dtype.element_ty, is_pure=True, pack=2
    )
    tl.store(out + offsets, result)


@triton.jit
def narrowed_kernel(x, out, ASM: tl.constexpr, BLOCK: tl.constexpr):
    """Two floats narrowed into one register; the second operand of `cvt` is the low half."""
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets)
    result = tl.inline_asm_elementwise(
        ASM, "=r,r,r", [value], dtype=out.dtype.element_ty, is_pure=True, pack=2
    )
    tl.store(out + offsets, result)


@triton.jit
def softplus_kernel(x, out, BLOCK: tl.constexpr):
    """Instructions under a predicate, and approximations one after the other."""
    offsets = tl.arange(0, BLOCK)
    result = tl.inline_asm_elementwise(
        """
        {
            .reg .pred p;
            setp.gt.f32  p, $1, 20.;
            @p  mov.f32  $0, $1;
            @!p mul.f32            $0, $1, 1.4426950408889634;
            @!p ex2.approx.ftz.f32 $0, $0;
            @!p add.f32            $0, $0, 1.0;
            @!p lg2.approx.ftz.f32 $0, $0;
            @!p mul.f32            $0, $0, 0.6931471805599453;
        }
        """,
        "=r,r",
        [tl.load(x + offsets)],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + offsets, result)


@triton.jit
def four_bits_kernel(x, low, high, BLOCK: tl.constexpr):
    """Integers of 4 bits as halves: `lop3` makes them fractions of 1024, and two results come out of one register."""
    offsets = tl.arange(0, BLOCK)
    one, other = tl.inline_asm_elementwise(
        """
        {
            .reg .b32 t;
            lop3.b32 t, $2, $3, $4, $5;
            sub.f16x2 t, t, $6;
            mov.b32 {$0, $1}, t;
        }
        """,
        "=h,=h,r,n,n,n,r",
        [tl.load(x + offsets), 0x000F000F, 0x64006400, 0xEA, 0x64006400],
        dtype=(tl.float16, tl.float16),
        is_pure=True,
        pack=1,
    )
    tl.store(low + offsets, one)
    tl.store(high + offsets, other)


@triton.jit
def bytes_kernel(x, y, out, larger, BLOCK: tl.constexpr):
    """Four bytes to a register, beside four registers of floats."""
    offsets = tl.arange(0, BLOCK)
    number, most = tl.inline_asm_elementwise(
        """
        {
            .reg .b8 part<4>;
            mov.b32 {part0, part1, part2, part3}, $8;
            cvt.u32.u8 $0, part0;
            cvt.u32.u8 $1, part1;
            cvt.u32.u8 $2, part2;
            cvt.u32.u8 $3, part3;
            cvt.rn.f32.s32 $4, $0;
            cvt.rn.f32.s32 $5, $1;
            cvt.rn.f32.s32 $6, $2;
            cvt.rn.f32.s32 $7, $3;
            max.f32 $4, $4, $9;
            max.f32 $5, $5, $10;
            max.f32 $6, $6, $11;
            max.f32 $7, $7, $12;
        }
        """,
        "=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r",
        [tl.load(x + offsets), tl.load(y + offsets)],
        dtype=(tl.int32, tl.float32),
        is_pure=True,
        pack=4,
    )
    tl.store(out + offsets, number)
    tl.store(larger + offsets, most)


@triton.jit
def scalar_kernel(x, out):
    """A scalar is the first element of a pack; nothing defines the others."""
    value = tl.load(x)
    result = tl.inline_asm_elementwise(
        "add.f16x2 $0, $1, $1;", "=r,r", [value], dtype=tl.float16, is_pure=True, pack=2
    )
    tl.store(out, result)


@triton.jit
def address_kernel(x, out, BLOCK: tl.constexpr):
    """An address is a number of 64 bits."""
    offsets = tl.arange(0, BLOCK)
    low = tl.inline_asm_elementwise(
        "{ .reg .b32 unused; mov.b64 {$0, unused}, $1; and.b32 $0, $0, 15; }",
        "=r,l",
        [x + offsets],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + offsets, low)


@triton.jit
def barrier_kernel(x, out, BLOCK: tl.constexpr):
    """A barrier, and a hint to the launcher: nothing is computed."""
    offsets = tl.arange(0, BLOCK)
    tl.inline_asm_elementwise(
        "griddepcontrol.wait; // dummy $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(out + offsets, tl.load(x + offsets) + 1)
    tl.inline_asm_elementwise("bar.sync 0;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(x + offsets, tl.load(out + BLOCK - 1 - offsets))


@triton.jit
def thread_kernel(out, BLOCK: tl.constexpr):
    """Which thread it is, is not the language's."""
    thread = tl.inline_asm_elementwise("mov.u32 $0, %tid.x;", "=r", [], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + tl.arange(0, BLOCK), thread)


@triton.jit
def neighbours_kernel(x, out, BLOCK: tl.constexpr):
    """Which elements make a pack is not defined."""
    offsets = tl.arange(0, BLOCK)
    swapped = tl.inline_asm_elementwise(
        "mov.b32 $0, $3; mov.b32 $1, $2;",
        "=r,=r,r,r",
        [tl.load(x + offsets)],
        dtype=tl.int32,
        is_pure=True,
        pack=2,
    )
    tl.store(out + offsets, swapped)


@triton.jit
def held_kernel(x, out, TO: tl.constexpr, BLOCK: tl.constexpr):
    """The dtype of a result is taken as it is: a constexpr that holds one is none."""
    offsets = tl.arange(0, BLOCK)
    same = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [tl.load(x + offsets)], dtype=TO, is_pure=True, pack=1
    )
    tl.store(out + offsets, same)
