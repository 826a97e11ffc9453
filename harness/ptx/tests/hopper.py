"""Launches that try the instructions of `sm_90a`: how `golden/hopper/launches.jsonl.gz` comes about.

    python hopper.py golden/hopper/launches.jsonl.gz

The first line of the file has the texts of the kernels and pools of bytes. Every other line is a launch of one block: its name,
the number of its text, its threads, its blocks if they are more than one, and its arguments:

    ["in", POOL, OFFSET, SIZE]   the address of a copy of these bytes; the pool from the offset on repeats
    ["out", POOL, OFFSET, SIZE]  the same; the bytes after the launch are a result
    ["u32", VALUE], ["u64", VALUE]
    ["map", SPEC, NUMBER]        a tensor map of the buffer with this number

`hopper_gpu.py` executes them on a GPU, and the test `hopper.rs` compares the results with the executor's.
"""

import base64
import gzip
import json
import random
import sys
from pathlib import Path

import instructions

DICE = random.Random(42)
HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n"
POOLS = {}
TEXTS = {}
LAUNCHES = []


def add_text(text):
    return TEXTS.setdefault(HEAD + text, len(TEXTS))


def add_launch(name, text, threads, arguments):
    LAUNCHES.append({"name": name, "text": add_text(text), "threads": threads, "arguments": arguments})


# Pools


def pack(values, size):
    return b"".join(value.to_bytes(size, "little") for value in values)


def random_float(exponent_bits, fraction_bits, low, high, special=0.0):
    """A float with a biased exponent in a range; sometimes a zero, an infinity, a NaN or a subnormal number."""
    sign = DICE.getrandbits(1) << (exponent_bits + fraction_bits)
    fraction = DICE.getrandbits(fraction_bits)
    if DICE.random() < special:
        top = (1 << exponent_bits) - 1
        exponent, fraction = DICE.choice(
            [(0, 0), (0, fraction), (0, fraction), (0, 1), (top, 0), (top, fraction | 1), (top - 1, fraction), (1, 0)]
        )
    else:
        exponent = DICE.randint(low, high)
    return sign | exponent << fraction_bits | fraction


def small_integer(exponent_bits, fraction_bits):
    """A whole number from -7 to 7, whose sums of products are exact."""
    value = DICE.randint(-7, 7)
    if value == 0:
        return 0
    top = abs(value).bit_length() - 1
    bias = (1 << (exponent_bits - 1)) - 1
    fraction = (abs(value) - (1 << top)) << fraction_bits >> top
    return (value < 0) << (exponent_bits + fraction_bits) | (bias + top) << fraction_bits | fraction


POOL_BYTES = 1 << 14


def make_pools():
    formats = {"f16": (5, 10), "bf16": (8, 7), "e4m3": (4, 3), "e5m2": (5, 2), "tf32": (8, 23), "f32": (8, 23)}
    for name, (exponent, fraction) in formats.items():
        size = (1 + exponent + fraction) // 8
        bias = (1 << (exponent - 1)) - 1
        top = (1 << exponent) - 2
        count = POOL_BYTES // size
        wide = min(bias - 1, 40)
        spreads = {"mild": (bias - min(4, wide), bias + min(4, wide)), "wide": (bias - wide, min(bias + wide, top))}
        # The products of these are beyond the largest number, or below the smallest.
        spreads["huge"] = (max(top - 8, bias), top)
        spreads["tiny"] = (0, min(8, bias))
        if exponent == 8:
            spreads["large"] = (bias + 55, bias + 64)
            spreads["little"] = (bias - 75, bias - 60)
        for kind, (low, high) in spreads.items():
            POOLS[f"{name}-{kind}"] = pack(
                [random_float(exponent, fraction, low, high) for _ in range(count)], size
            )
        POOLS[f"{name}-whole"] = pack([small_integer(exponent, fraction) for _ in range(count)], size)
        # Few special values: a row of the left operand has 8 to 32 elements.
        POOLS[f"{name}-special"] = pack(
            [random_float(exponent, fraction, bias - 3, bias + 3, 0.02) for _ in range(count)], size
        )
    POOLS["bytes"] = DICE.randbytes(1 << 15)
    POOLS["ones"] = bytes([0xAB]) * (1 << 14)
    POOLS["zeros"] = bytes(1 << 15)


# wgmma

IMAGE = 1 << 14
# Shared memory has the image several times, so that no descriptor leaves it.
SHARED = 5 << 13


def make_wgmma_text(shape, types, registers, from_registers, tail, adds):
    """One product: shared memory is a copy of an image, and the sums are read and written."""
    names = ", ".join(f"%s{at}" for at in range(registers))
    left = "{%a0, %a1, %a2, %a3}" if from_registers else "%da"
    flag = "%p0" if adds is None else str(adds)
    saturate = ""
    if types.endswith("-sat"):
        types, saturate = types[:-4], ".satfinite"
    opcode = f"wgmma.mma_async.sync.aligned.{shape}{saturate}.{types}"
    lines = [
        ".visible .entry one(.param .u64 pimage, .param .u64 pleft, .param .u64 psums, .param .u64 da, .param .u64 db, .param .u32 adds)",
        "{",
        f".reg .b32 %s<{registers}>, %a<4>, %r<8>; .reg .b64 %d<8>, %da, %db; .reg .pred %p<2>;",
        f".shared .align 1024 .b8 image[{SHARED}];",
        "ld.param.u64 %d0, [pimage]; ld.param.u64 %d1, [pleft]; ld.param.u64 %d2, [psums];",
        "ld.param.u64 %da, [da]; ld.param.u64 %db, [db]; ld.param.u32 %r7, [adds]; setp.ne.u32 %p0, %r7, 0;",
        "mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; mov.u32 %r2, image; add.u32 %r3, %r2, %r1;",
        "cvt.u64.u32 %d3, %r1; add.u64 %d4, %d0, %d3; add.u64 %d1, %d1, %d3;",
        "mov.u32 %r4, 0;",
        f"again: and.b32 %r5, %r4, {IMAGE - 1}; cvt.u64.u32 %d5, %r5; add.u64 %d5, %d5, %d4;",
        "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%d5]; st.shared.v4.b32 [%r3], {%a0, %a1, %a2, %a3};",
        "add.u32 %r3, %r3, 2048; add.u32 %r4, %r4, 2048;",
        f"setp.lt.u32 %p1, %r4, {SHARED}; @%p1 bra again;",
        "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%d1];",
        f"mul.wide.u32 %d3, %r0, {registers * 4}; add.u64 %d2, %d2, %d3;",
        *(f"ld.global.b32 %s{at}, [%d2+{at * 4}];" for at in range(registers)),
        "shr.u32 %r2, %r2, 4; and.b32 %r2, %r2, 0x3fff; cvt.u64.u32 %d3, %r2; add.u64 %da, %da, %d3; add.u64 %db, %db, %d3;",
        "fence.proxy.async.shared::cta; bar.sync 0;",
        "wgmma.fence.sync.aligned;",
        f"{opcode} {{{names}}}, {left}, %db, {flag}{tail};",
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        *(f"st.global.b32 [%d2+{at * 4}], %s{at};" for at in range(registers)),
        "ret;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def descriptor(start, leading, stride, swizzle, base=0):
    """A matrix descriptor: start and byte offsets, and the swizzle (0: none, 1: 128 bytes, 2: 64, 3: 32)."""
    return start >> 4 & 0x3FFF | (leading >> 4) << 16 | (stride >> 4) << 32 | base << 49 | swizzle << 62


def add_product(name, types, n, pools, a, b, *, left=None, adds=None, negate=(1, 1), transposed=(0, 0), offsets=(0, 0)):
    """A launch of `wgmma`: `a` and `b` are descriptors, `left` the offset of registers."""
    sums, first = types.split(".")[0], types.split(".")[1]
    size = {"f16": 2, "bf16": 2, "tf32": 4}.get(first, 1)
    k = 32 // size
    registers = n // 4 if sums == "f16" else n // 2
    tail = ""
    if sums != "s32":
        tail += f", {negate[0]}, {negate[1]}"
        if size == 2:
            tail += f", {transposed[1]}" if left is not None else f", {transposed[0]}, {transposed[1]}"
    image, accumulators = pools
    text = make_wgmma_text(f"m64n{n}k{k}", types, registers, left is not None, tail, adds if adds in (0, 1) else None)
    add_launch(
        f"wgmma {types} n{n} {name}",
        text,
        128,
        [
            ["in", image, 0, IMAGE],
            ["in", image, left or 0, 2048],
            ["out", accumulators, offsets[0], 128 * registers * 4],
            ["u64", a],
            ["u64", b],
            ["u32", 1 if adds is None else adds],
        ],
    )


def make_products():
    plain = {
        "f32.f16.f16": ("f16", "f32"),
        "f16.f16.f16": ("f16", "f16"),
        "f32.bf16.bf16": ("bf16", "f32"),
        "f32.tf32.tf32": ("tf32", "f32"),
        "f32.e4m3.e4m3": ("e4m3", "f32"),
        "f32.e5m2.e5m2": ("e5m2", "f32"),
        "f32.e4m3.e5m2": ("e4m3", "f32"),
        "f32.e5m2.e4m3": ("e5m2", "f32"),
        "f16.e4m3.e4m3": ("e4m3", "f16"),
        "f16.e5m2.e5m2": ("e5m2", "f16"),
    }
    # Sums: no swizzle, 8 rows of 16 bytes are contiguous. The left operand has 2 KiB, the right one of 8 columns 256 bytes.
    rows = lambda start: descriptor(start, 128, 256, 0)
    for types, (factors, sums) in plain.items():
        for kind in ("mild", "wide", "whole", "special"):
            for nth in range(4 if kind in ("mild", "wide") else 2):
                add_product(
                    f"{kind} {nth}", types, 8, (f"{factors}-{kind}", f"{sums}-{kind}"),
                    rows(2048 * nth), rows(8192 + 512 * nth), offsets=(nth * 2048, 0),
                )  # fmt: skip
        extremes = {
            "f16": [("huge", "huge"), ("tiny", "tiny")], "bf16": [("large", "huge"), ("little", "tiny"), ("huge", "huge"), ("tiny", "tiny")],
        }  # fmt: skip
        extremes["tf32"] = extremes["bf16"]
        for factor, summand in extremes.get(factors, extremes["f16"]):
            pools = (f"{factors}-{factor}", f"{sums}-{summand}")
            add_product(f"{factor} {summand}", types, 8, pools, rows(1024), rows(4096))
            add_product(f"{factor} mild", types, 8, (pools[0], f"{sums}-mild"), rows(1024), rows(4096))
            add_product(f"{factor} alone", types, 8, pools, rows(0), rows(4096), adds=0)
        add_product("zeros", types, 8, ("zeros", f"{sums}-special"), rows(0), rows(4096))
        add_product("zeros negated", types, 8, ("zeros", f"{sums}-special"), rows(0), rows(4096), negate=(-1, 1))
        mild = (f"{factors}-mild", f"{sums}-mild")
        wide = (f"{factors}-wide", f"{sums}-wide")
        add_product("zero", types, 8, wide, rows(0), rows(4096), adds=0)
        add_product("no sums", types, 16, mild, rows(0), rows(4096), adds=0)
        add_product("negated a", types, 8, mild, rows(0), rows(4096), negate=(-1, 1))
        add_product("negated both", types, 8, mild, rows(0), rows(4096), negate=(-1, -1))
        add_product("special negated", types, 8, (f"{factors}-special", f"{sums}-special"), rows(0), rows(4096), negate=(1, -1))
        add_product("registers", types, 16, mild, 0, rows(4096), left=2048)
        add_product("wide registers", types, 8, wide, 0, rows(4096), left=1024)
    for types in ("s32.s8.s8", "s32.u8.u8", "s32.s8.u8", "s32.u8.s8", "s32.s8.s8-sat", "s32.u8.s8-sat"):
        for nth in range(2):
            add_product(f"bytes {nth}", types, 8, ("bytes", "bytes"), rows(nth * 2048), rows(8192 + nth * 512))
        add_product("registers", types, 16, ("bytes", "bytes"), 0, rows(4096), left=64)
        add_product("no sums", types, 24, ("bytes", "bytes"), rows(0), rows(4096), adds=0)
    make_layouts()


def make_layouts():
    """Every swizzle with several starts and offsets; whole numbers, so that only the layout counts."""
    for types, factors, size in (
        ("f32.f16.f16", "f16", 2),
        ("f32.tf32.tf32", "tf32", 4),
        ("f32.e4m3.e4m3", "e4m3", 1),
        ("s32.s8.s8", "bytes", 1),
    ):
        pools = (f"{factors}-whole" if factors != "bytes" else "bytes", "f32-whole" if factors != "bytes" else "zeros")
        for swizzle, span in ((1, 128), (2, 64), (3, 32)):
            # K-major: 8 rows of `span` bytes are a tile; the leading offset does not count.
            tile = 8 * span
            for nth, (start, leading, stride) in enumerate(
                [(0, 16, tile), (32, 16, tile), (96 % span, 0, tile), (1024, 1024, tile), (1024, 64, 2 * tile if span < 128 else tile)]
            ):
                for n in (8, 32):
                    add_product(
                        f"k-major {span} {nth}", types, n, pools,
                        descriptor(start, leading, stride, swizzle), descriptor(8192 + start, leading, stride, swizzle),
                    )  # fmt: skip
            add_product(
                f"k-major {span} base", types, 8, pools,
                descriptor(128, 16, tile, swizzle, 1), descriptor(8192 + 256, 16, tile, swizzle, 2),
            )  # fmt: skip
        for nth, (leading, stride) in enumerate([(128, 256), (1024, 128), (256, 512), (2048, 128), (64, 32)]):
            add_product(
                f"k-major none {nth}", types, 16, pools,
                descriptor(0, leading, stride, 0), descriptor(8192 + 16, leading, stride, 0),
            )  # fmt: skip
        add_product(f"k-major none base", types, 16, pools, descriptor(16, 128, 256, 0, 3), descriptor(8192, 128, 256, 0, 1))
        for n in (64, 128, 256):
            if factors in ("f16", "bytes"):
                add_product(f"k-major 128 large", types, n, pools, descriptor(0, 16, 1024, 1), descriptor(32 if n == 256 else 64, 16, 512 if n == 256 else 1024, 1 if n < 256 else 2))
    # M-major and N-major operands.
    for types in ("f32.f16.f16", "f32.bf16.bf16"):
        pools = (f"{types.split('.')[1]}-whole", "f32-whole")
        for swizzle, span in ((0, 16), (1, 128), (2, 64), (3, 32)):
            for transposed in ((1, 0), (0, 1), (1, 1)):
                tile = 8 * span
                for nth, (start, leading, stride) in enumerate(
                    [(0, tile, 2 * tile), (0, 2 * tile, tile), (0, 1024, 2048), (0, 2048, 1024), (1024, 512, 256), (tile, 256, 1024)]
                ):
                    for n in (16, 64) if nth < 4 else (40,):
                        add_product(
                            f"m-major {span} {transposed} {nth}", types, n, pools,
                            descriptor(start, leading, stride, swizzle), descriptor(8192 + start, leading, stride, swizzle),
                            transposed=transposed,
                        )  # fmt: skip
        add_product("n-major registers", types, 64, pools, 0, descriptor(0, 1024, 2048, 1), left=0, transposed=(0, 1))
        add_product("n-major large", types, 256, pools, descriptor(0, 16, 1024, 1), descriptor(0, 2048, 1024, 1), transposed=(0, 1))


# Tensor maps and copies

ROOM = 1 << 13
# Types that Triton does not emit: `f32.ftz`, `tf32`, `tf32.ftz`.
UNSUPPORTED_TYPES = (8, 11, 12)
SIZES = [1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4]
WAIT = """
mov.u32 %r5, 0;
again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0;
@%p1 bra done;
add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 2000; @%p2 bra again;
done: selp.u32 %r6, 1, 0, %p1;
"""


def copy_room(to_shared):
    """Copies between the buffer `%d1` and the shared memory at `%r2`, by the whole warp."""
    first, second = ("ld.global.b32 %r9, [%d5]; st.shared.b32 [%r8], %r9;", "") if to_shared else ("ld.shared.b32 %r9, [%r8]; st.global.b32 [%d5], %r9;", "")
    label = "fill" if to_shared else "back"
    return f"""
shl.b32 %r7, %r0, 2; add.u32 %r8, %r2, %r7; cvt.u64.u32 %d4, %r7; add.u64 %d5, %d1, %d4; mov.u32 %r10, 0;
{label}: {first}{second}
add.u32 %r8, %r8, 128; add.u64 %d5, %d5, 128; add.u32 %r10, %r10, 128; setp.lt.u32 %p3, %r10, {ROOM}; @%p3 bra {label};
"""


def make_map_code(spec):
    """Builds a tensor map in shared memory, and copies it to global memory."""
    rank = len(spec["dims"])
    field = "tensormap.replace.tile.{}.shared::cta.b1024.b{} [map], {};".format
    lines = ["shl.b32 %r7, %r0, 2; mov.u32 %r8, map; add.u32 %r8, %r8, %r7; st.shared.b32 [%r8], 0; bar.warp.sync -1;"]
    lines.append("setp.ne.u32 %p4, %r0, 0; @%p4 bra made;")
    lines.append(field("global_address", 64, "%d0"))
    lines.append(field("rank", 32, rank - 1))
    for nth in range(rank):
        lines.append(f"mov.u32 %r7, {spec['box'][nth]}; " + field("box_dim", 32, f"{nth}, %r7"))
        lines.append(f"mov.u32 %r7, {spec['dims'][nth]}; " + field("global_dim", 32, f"{nth}, %r7"))
        lines.append(f"mov.u32 %r7, {spec['steps'][nth]}; " + field("element_stride", 32, f"{nth}, %r7"))
        if nth + 1 < rank:
            lines.append(f"mov.u64 %d6, {spec['strides'][nth]}; " + field("global_stride", 64, f"{nth}, %d6"))
    lines.append(field("elemtype", 32, spec["type"]))
    lines.append(field("swizzle_mode", 32, spec["swizzle"]))
    if spec["fill"]:
        lines.append(field("fill_mode", 32, spec["fill"]))
    lines.append("made: bar.warp.sync -1;")
    lines.append(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d7], [map], 128;"
    )
    lines.append("fence.proxy.tensormap::generic.acquire.gpu [%d7], 128;")
    return "\n".join(lines)


def make_tensor_text(spec, coordinates, action, on_device):
    """Copies a box from or to the tensor in the buffer `pdata`. Shared memory begins as, or ends in, the buffer `proom`."""
    rank = len(spec["dims"])
    place = ", ".join(f"%c{nth}" for nth in range(rank))
    size = SIZES[spec["type"]]
    for length, step in zip(spec["box"], spec["steps"]):
        size *= -(-length // step)
    parameter = ".param .u64 pmap" if on_device else ".param .align 64 .b8 pmap[128]"
    source = "ld.param.u64 %d7, [pmap];" if on_device else "mov.b64 %d7, pmap; cvta.param.u64 %d7, %d7;"
    where = ", ".join(f".param .u32 c{nth}" for nth in range(rank))
    loads = " ".join(f"ld.param.u32 %c{nth}, [c{nth}];" for nth in range(rank))
    lines = [
        f".visible .entry one(.param .u64 pdata, .param .u64 proom, .param .u64 pflag, {parameter}, {where})",
        "{",
        f".reg .b32 %r<16>, %c<5>; .reg .b64 %d<10>; .reg .pred %p<8>;",
        f".shared .align 1024 .b8 room[{ROOM}]; .shared .align 128 .b8 map[128]; .shared .align 8 .b64 barrier;",
        f"ld.param.u64 %d0, [pdata]; ld.param.u64 %d1, [proom]; ld.param.u64 %d2, [pflag]; {source} {loads}",
        "mov.u32 %r0, %tid.x; mov.u32 %r2, room; mov.u32 %r3, barrier;",
        copy_room(True),
        make_map_code(spec) if on_device else "",
        "setp.ne.u32 %p0, %r0, 0; mov.u32 %r6, 1;",
        "@%p0 bra start; mbarrier.init.shared::cta.b64 [%r3], 1; fence.mbarrier_init.release.cluster; start:",
        "fence.proxy.async; bar.sync 0; @%p0 bra over;",
    ]
    if action == "load":
        lines += [
            f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size};",
            f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d7, {{{place}}}], [%r3];",
            WAIT,
        ]
    else:
        opcode = "cp.async.bulk.tensor" if action == "store" else "cp.reduce.async.bulk.tensor"
        reduction = "" if action == "store" else f".{action}"
        lines += [
            f"{opcode}.{rank}d.global.shared::cta{reduction}.bulk_group [%d7, {{{place}}}], [%r2];",
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        ]
    lines += ["st.global.u32 [%d2], %r6;", "over: bar.sync 0;"]
    lines += [copy_room(False), "ret;", "}"]
    return "\n".join(lines) + "\n"


def add_tensor(name, action, kind, dims, box, where, *, swizzle=0, fill=0, steps=None, strides=None, pool="bytes", devices=(False, True)):
    size = SIZES[kind]
    if strides is None:
        strides, sum_of = [], size
        for length in dims[:-1]:
            sum_of = (sum_of * length + 15) // 16 * 16
            strides.append(sum_of)
    spec = {
        "type": kind, "dims": dims, "box": box, "strides": strides, "steps": steps or [1] * len(dims),
        "swizzle": swizzle, "fill": fill,
    }  # fmt: skip
    extent = (strides[-1] * dims[-1]) if strides else dims[0] * size
    assert extent <= 1 << 14, (name, extent)
    for on_device in devices:
        data = ["out" if action != "load" else "in", pool, 0, max(extent, 16)]
        room = ["out", "ones" if action == "load" else pool, 0 if action == "load" else 4096, ROOM]
        arguments = [data, room, ["out", "zeros", 0, 16]]
        arguments.append(["out", "zeros", 0, 128] if on_device else ["map", spec, 0])
        if on_device:
            arguments[3] = ["in", "zeros", 0, 128]
        arguments += [["u32", coordinate & 0xFFFFFFFF] for coordinate in where]
        add_launch(
            f"tensor {action} {kind} {name}{' made' if on_device else ''}",
            make_tensor_text(spec, where, action, on_device), 32, arguments,
        )  # fmt: skip


def make_tensors():
    # Every type, over the edges on both sides, with both fills. The first coordinate is a multiple of 16 bytes.
    for kind, size in enumerate(SIZES):
        row, unit = 64 // size, 16 // size
        if kind in UNSUPPORTED_TYPES:
            continue
        pool = {6: "f16-special", 7: "f32-special", 10: "bf16-special"}.get(kind, "bytes")
        pitch = {"pool": pool, "strides": [128]}
        add_tensor("inside", "load", kind, [row * 2, 12], [row, 4], [row // 2, 3], pool=pool)
        add_tensor("low edge", "load", kind, [row * 2 - 1, 12], [row, 4], [-unit, -1], **pitch)
        add_tensor("high edge", "load", kind, [row * 2 - 1, 11], [row, 4], [row + unit, 9], **pitch)
        add_tensor("outside", "load", kind, [row * 2 - 1, 11], [row, 4], [row * 8, 2], **pitch)
        add_tensor("store", "store", kind, [row * 2, 12], [row, 4], [unit, 2], pool=pool)
        add_tensor("store over edges", "store", kind, [row * 2 - 1, 11], [row, 4], [row + unit, 9], **pitch)
        add_tensor("store low edge", "store", kind, [row * 2 - 1, 11], [row, 4], [-unit, -2], **pitch)
        if kind in (6, 7, 9, 10):
            add_tensor("nan", "load", kind, [row * 2 - 1, 11], [row, 4], [row + unit, 9], fill=1, **pitch)
    # Swizzles, with several rows: the pattern repeats after 8.
    for swizzle, span in ((1, 32), (2, 64), (3, 128)):
        for kind in (0, 6, 7):
            width, unit = span // SIZES[kind], 16 // SIZES[kind]
            add_tensor(f"swizzle {span}", "load", kind, [width * 2, 24], [width, 20], [width // 2, 2], swizzle=swizzle)
            add_tensor(f"narrow {span}", "load", kind, [width * 2, 24], [width // 2, 20], [unit, 2], swizzle=swizzle)
            add_tensor(f"swizzle {span}", "store", kind, [width * 2, 24], [width, 20], [width // 2, 2], swizzle=swizzle)
        width = span // 2
        add_tensor(f"3d {span}", "load", 6, [width * 2, 6, 5], [width, 4, 3], [-8, 3, 3], swizzle=swizzle)
        add_tensor(f"edge {span}", "store", 6, [width * 2 - 3, 6, 5], [width, 4, 3], [width + 8, -1, 3], swizzle=swizzle)
        add_tensor(f"nan {span}", "load", 6, [width * 2 - 3, 20], [width, 16], [width + 8, -2], swizzle=swizzle, fill=1)
        add_tensor(f"narrow {span}", "store", 6, [width * 2, 24], [width // 2, 20], [8, 2], swizzle=swizzle)
        add_tensor(f"add {span}", "add", 2, [span // 2, 24], [span // 4, 20], [8, 2], swizzle=swizzle)
    # Ranks.
    add_tensor("1d", "load", 7, [100], [32], [80])
    add_tensor("1d low", "load", 7, [100], [32], [-8])
    add_tensor("1d", "store", 7, [100], [32], [80])
    add_tensor("1d low", "store", 7, [100], [32], [-8])
    for nth, (first, pool) in enumerate([(0, "f32-mild"), (80, "f32-mild"), (-8, "f32-mild"), (-4, "f32-mild")]):
        add_tensor(f"1d {nth}", "add", 7, [100], [32], [first], pool=pool)
    add_tensor("3d", "load", 7, [20, 6, 5], [8, 3, 2], [-4, 5, 4])
    add_tensor("4d", "load", 6, [12, 5, 4, 3], [8, 2, 3, 2], [8, -1, 3, 2])
    add_tensor("5d", "load", 1, [12, 4, 3, 3, 2], [8, 2, 2, 2, 2], [8, 3, -1, 2, 1])
    add_tensor("5d", "store", 1, [12, 4, 3, 3, 2], [8, 2, 2, 2, 2], [8, 3, -1, 2, 1])
    add_tensor("5d", "add", 2, [12, 4, 3, 3, 2], [8, 2, 2, 2, 2], [8, 3, -1, 2, 1])
    add_tensor("wide rows", "load", 0, [64, 9], [16, 3], [16, 8], strides=[192])
    add_tensor("long rows", "load", 6, [300, 6], [256, 3], [64, 4])
    # Steps over elements.
    add_tensor("steps", "load", 7, [40, 20], [8, 12], [4, 1], steps=[1, 3])
    add_tensor("steps of both", "load", 7, [40, 20], [8, 12], [4, 1], steps=[2, 3])
    add_tensor("steps over the edge", "load", 7, [40, 20], [8, 13], [36, 14], steps=[1, 4])
    add_tensor("steps from below", "load", 7, [40, 20], [8, 13], [36, -6], steps=[1, 4])
    add_tensor("steps", "store", 7, [40, 20], [8, 12], [4, 1], steps=[1, 3])
    add_tensor("steps of 3d", "load", 6, [24, 9, 10], [16, 5, 7], [8, 1, 2], steps=[1, 2, 3], swizzle=1)
    # A first coordinate that 16 bytes do not divide is an illegal instruction.
    for kind in (6, 7):
        for action in ("load", "store", "add"):
            add_tensor("between", action, kind, [40, 20], [8, 12], [2, 1], devices=(False,))
    # Reductions.
    names = {
        "add": (2, 3, 4, 6, 7, 9, 10), "min": (2, 3, 4, 5, 6, 10), "max": (2, 3, 4, 5, 6, 10), "inc": (2,), "dec": (2,),
        "and": (2, 3, 4, 5), "or": (2, 3, 4, 5), "xor": (2, 3, 4, 5),
    }  # fmt: skip
    for name, kinds in names.items():
        for kind in kinds:
            row = 64 // SIZES[kind]
            pools = {6: ("f16-special", "f16-wide"), 7: ("f32-special", "f32-wide"), 10: ("bf16-special", "bf16-wide")}.get(kind, ("bytes",))
            for nth, pool in enumerate(pools):
                add_tensor(f"{nth}", name, kind, [row * 2 - 1, 11], [row, 4], [row, 5], pool=pool, strides=[128], devices=(nth == 1,))


def make_bulk_copies():
    """`cp.async.bulk` and `cp.reduce.async.bulk`."""
    frame = lambda body: (
        ".visible .entry one(.param .u64 pdata, .param .u64 proom, .param .u64 pflag)\n{\n"
        ".reg .b32 %r<16>; .reg .b64 %d<10>; .reg .pred %p<8>;\n"
        f".shared .align 1024 .b8 room[{ROOM}]; .shared .align 8 .b64 barrier;\n"
        "ld.param.u64 %d0, [pdata]; ld.param.u64 %d1, [proom]; ld.param.u64 %d2, [pflag];\n"
        "mov.u32 %r0, %tid.x; mov.u32 %r2, room; mov.u32 %r3, barrier;\n"
        f"{copy_room(True)}"
        "setp.ne.u32 %p0, %r0, 0; mov.u32 %r6, 1;\n"
        "@%p0 bra start; mbarrier.init.shared::cta.b64 [%r3], 1; fence.mbarrier_init.release.cluster; start:\n"
        f"fence.proxy.async; bar.sync 0; @%p0 bra over;\n{body}\nst.global.u32 [%d2], %r6;\nover: bar.sync 0;\n{copy_room(False)}\nret;\n}}\n"
    )
    arguments = lambda pool, data: [["out", data, 0, 4096], ["out", pool, 4096, ROOM], ["out", "zeros", 0, 16]]
    for size in (16, 48, 1024, 2000):
        body = (
            f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size};\n"
            f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+32], [%d0+16], {size}, [%r3];\n{WAIT}"
        )
        add_launch(f"bulk load {size}", frame(body), 32, arguments("ones", "bytes"))
        LAUNCHES[-1]["arguments"][1][2] = 0
        body = f"cp.async.bulk.global.shared::cta.bulk_group [%d0+32], [%r2+16], {size};\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        add_launch(f"bulk store {size}", frame(body), 32, arguments("bytes", "bytes"))
    # Within a block these are an illegal instruction. `mapa` makes an address of the cluster.
    body = (
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;\nadd.u32 %r11, %r2, 4096; mapa.shared::cluster.u32 %r11, %r11, 0; mapa.shared::cluster.u32 %r12, %r3, 0;\n"
        f"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r11], [%r2+16], 256, [%r12];\n{WAIT}"
    )
    add_launch("bulk shared mapped", frame(body), 32, arguments("bytes", "bytes"))
    add_launch("bulk shared cluster", frame(body).replace("pflag)", "pflag) .reqnctapercluster 1"), 32, arguments("bytes", "bytes"))
    body = (
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;\nadd.u32 %r11, %r2, 4096;\n"
        f"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r11], [%r2+16], 256, [%r3];\n{WAIT}"
    )
    add_launch("bulk shared", frame(body), 32, arguments("bytes", "bytes"))
    kinds = {
        "add": ("noftz.f16", "noftz.bf16", "u32", "s32", "u64", "f32", "f64"),
        "min": ("f16", "bf16", "u32", "s32", "u64", "s64"), "max": ("f16", "bf16", "u32", "s32", "u64", "s64"),
        "inc": ("u32",), "dec": ("u32",), "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
    }  # fmt: skip
    for name, types in kinds.items():
        for kind in types:
            pool = {"f16": "f16-special", "bf16": "bf16-special", "f32": "f32-special"}.get(kind.split(".")[-1], "bytes")
            body = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{name}.{kind} [%d0+32], [%r2+16], 1024;\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
            add_launch(f"bulk reduce {name}.{kind}", frame(body), 32, arguments(pool, pool))
    for name, kind in (("add", "u32"), ("add", "s32"), ("add", "u64"), ("min", "s32"), ("max", "u32"), ("inc", "u32"), ("dec", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32")):
        body = (
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;\nadd.u32 %r11, %r2, 4096;\n"
            f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{name}.{kind} [%r11], [%r2+16], 256, [%r3];\n{WAIT}"
        )
        text = frame(body.replace("4096;", "4096; mapa.shared::cluster.u32 %r11, %r11, 0; mapa.shared::cluster.u32 %r12, %r3, 0;").replace("256, [%r3]", "256, [%r12]"))
        add_launch(f"bulk shared reduce {name}.{kind}", text.replace("pflag)", "pflag) .reqnctapercluster 1"), 32, arguments("bytes", "bytes"))


# Instructions from registers to registers, in the frame of `golden/kernel.ptx`

# The opcode, then the operand sets if they are not those of its type.
ARITHMETIC = """
cvt.bf16.f16 cvt.rn.bf16.f16 cvt.rz.bf16.f16 cvt.rm.bf16.f16 cvt.rp.bf16.f16 cvt.f16.bf16 cvt.rn.f16.bf16 cvt.rz.f16.bf16
cvt.f64.bf16 cvt.f32.bf16 cvt.rn.bf16.f64 cvt.rz.bf16.f64 cvt.rm.bf16.f32 cvt.rp.bf16.f32 cvt.rn.relu.bf16.f32
cvt.rz.relu.bf16.f32 cvt.rn.relu.f16.f32 cvt.rz.relu.f16.f32 cvt.rm.f16.f32 cvt.rp.f16.f32
cvt.rzi.s16.bf16 cvt.rzi.u16.bf16 cvt.rzi.s32.bf16 cvt.rzi.u32.bf16 cvt.rzi.s64.bf16 cvt.rzi.u64.bf16 cvt.rni.s32.bf16
cvt.rmi.s32.bf16 cvt.rpi.u32.bf16 cvt.rni.bf16.bf16 cvt.rzi.bf16.bf16 cvt.rmi.bf16.bf16 cvt.rpi.bf16.bf16
cvt.rn.bf16.s16 cvt.rn.bf16.u16 cvt.rn.bf16.s32 cvt.rn.bf16.u32 cvt.rn.bf16.s64 cvt.rn.bf16.u64 cvt.rz.bf16.s32
cvt.rm.bf16.s32 cvt.rp.bf16.u64 cvt.rz.bf16.u32 cvt.rn.tf32.f32 cvt.rz.tf32.f32 cvt.rna.tf32.f32 cvt.rn.relu.tf32.f32
cvt.rz.relu.tf32.f32 cvt.rn.relu.f16x2.f32 cvt.rn.relu.bf16x2.f32 cvt.rz.relu.bf16x2.f32 cvt.rn.bf16x2.f32
max.u16x2 min.u16x2 max.s16x2 min.s16x2 max.relu.s16x2 min.relu.s16x2 max.relu.s32 min.relu.s32 add.u16x2
add.s16x2 add.bf16 add.rn.bf16 sub.bf16 sub.rn.bf16 mul.bf16 mul.rn.bf16 add.bf16x2 sub.bf16x2 mul.bf16x2 mul.rn.bf16x2
add.rn.bf16x2 sub.rn.bf16x2 fma.rn.bf16 fma.rn.bf16x2 fma.rn.relu.bf16
fma.rn.relu.f16x2 max.bf16 min.NaN.bf16x2 abs.bf16 abs.bf16x2 neg.bf16 neg.bf16x2 ex2.approx.ftz.bf16 ex2.approx.ftz.bf16x2 tanh.approx.bf16
tanh.approx.bf16x2 tanh.approx.f16x2 ex2.approx.f16x2
""".split()

# Each thread has four bytes of eight bits for the conversions of 8-bit floats, and their complements.
BYTES = (
    "mov.u32 %r8, %tid.x; shl.b32 %r8, %r8, 2; "
    + " ".join(
        f"add.u32 %r9, %r8, {at}; shl.b32 %r10, %r9, 8; sub.u32 %r11, 65280, %r10; or.b32 %r9, %r9, %r11; cvt.u16.u32 %h{at}, %r9;"
        for at in range(4)
    )
)
# An mbarrier object for each thread.
OBJECT = "mbarrier.init.shared::cta.b64 [%at], {}; "
FLAG = "selp.b64 %d{0}, 1, 0, %p{0};"
ALL_FLAGS = " ".join(FLAG.format(at) for at in range(4))


def list_bodies():
    """The name, the body and the operand sets of each instruction that is not plain arithmetic."""
    for kind in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            opcode = f"cvt.rn{relu}.f16x2.{kind}"
            yield opcode, BYTES + " ".join(f"{opcode} %r{at}, %h{at}; cvt.u64.u32 %d{at}, %r{at};" for at in range(4)), ["any-b64"] * 3
            opcode = f"cvt.rn.satfinite{relu}.{kind}.f32"
            for name in ("f32/a", "near-f32", "near-f32-2", "wide-f32"):
                yield opcode, f"{opcode} %h0, %ra, %rb; cvt.u64.u16 %d0, %h0; {opcode} %h1, %rb, %rc; cvt.u64.u16 %d1, %h1;", [name, "near-f32-3", "f32/c"]
            opcode = f"cvt.rn.satfinite{relu}.{kind}.f16x2"
            for name in ("f16x2/a", "near-f16", "any-b32"):
                yield opcode, f"{opcode} %h0, %ra; cvt.u64.u16 %d0, %h0; {opcode} %h1, %rb; cvt.u64.u16 %d1, %h1;", [name, "near-f16-2", "any-b32"]
    for count in (1, 2, 4):
        registers = ", ".join(f"%r{at}" for at in range(count))
        for transposed in ("", ".trans"):
            opcode = f"stmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"
            # The rows of thread `t` are at another thread's room, in another order.
            body = (
                "mov.b64 {%r0, %r1}, %da; mov.b64 {%r2, %r3}, %db; st.shared.v2.b64 [%at], {%dc, %dc}; bar.sync 0; "
                "xor.b32 %r8, %at, 208; "
                f"{opcode} [%r8], {{{registers}}}; bar.sync 0; ld.shared.v2.b64 {{%d0, %d1}}, [%at];"
            )
            yield opcode, body, ["any-b64"] * 3
            opcode = f"ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared::cta.b16"
            pairs = " ".join(f"cvt.u64.u32 %d{at}, %r{at};" for at in range(count))
            body = f"st.shared.v2.b64 [%at], {{%da, %db}}; bar.sync 0; xor.b32 %r8, %at, 208; {opcode} {{{registers}}}, [%r8]; {pairs}"
            yield opcode, body, ["any-b64"] * 3
    yield "elect.sync", f"elect.sync %r0|%p0, -1; cvt.u64.u32 %d0, %r0; {FLAG.format(0).replace('%d0', '%d1')}", ["any-b32"] * 3
    body = (
        "and.b32 %r8, %own, 31; setp.ge.u32 %q0, %r8, 5; setp.eq.u32 %q1, %r8, 3; mov.u32 %r0, 99; mov.u32 %r1, 99; setp.eq.u32 %p0, %r8, 99; setp.eq.u32 %p1, %r8, 99; "
        "@%q0 elect.sync %r0|%p0, 0xffffffe0; @%q1 elect.sync %r1|%p1, 8; "
        "selp.b64 %d1, 1, 0, %p0; selp.b64 %d3, 1, 0, %p1; cvt.u64.u32 %d0, %r0; cvt.u64.u32 %d2, %r1;"
    )
    yield "elect.sync", body, ["any-b32"] * 3
    body = "mapa.shared::cluster.u32 %r0, %at, 0; st.shared.b64 [%at], %da; ld.shared::cluster.b64 %d0, [%r0]; getctarank.shared::cluster.u32 %r1, %r0; cvt.u64.u32 %d1, %r1;"
    yield "mapa.shared::cluster.u32", body, ["any-b64"] * 3
    body = "cvt.u64.u32 %d8, %at; cvta.shared.u64 %d8, %d8; mapa.u64 %d9, %d8, 0; st.shared.b64 [%at], %da; ld.b64 %d0, [%d9]; getctarank.u64 %r1, %d9; cvt.u64.u32 %d1, %r1;"
    yield "mapa.u64", body, ["any-b64"] * 3
    body = "st.shared.b64 [%at], %da; atom.shared::cluster.add.u32 %r0, [%at], %rb; ld.shared.b64 %d0, [%at]; red.shared::cluster.xor.b32 [%at+4], %rc; ld.shared::cluster.b64 %d1, [%at]; cvt.u64.u32 %d2, %r0;"
    yield "atom.shared::cluster.add.u32", body, ["any-b64"] * 3
    yield from list_barriers()


def list_barriers():
    """What the state of an mbarrier object shows: the phase, and the pending arrivals."""
    test = "mbarrier.test_wait.parity.shared::cta.b64 %p{}, [%at], {}; "
    arrive = "mbarrier.arrive.shared::cta.b64 %d8, [%at]{}; "
    pending = "mbarrier.pending_count.b64 %r{0}, %d8; cvt.u64.u32 %d{0}, %r{0}; "
    sets = ["any-b64"] * 3
    yield "mbarrier.pending_count", OBJECT.format(5) + arrive.format("") + pending.format(0) + arrive.format(", 2") + pending.format(1) + arrive.format("") + pending.format(2) + arrive.format("") + pending.format(3), sets
    yield "mbarrier.test_wait.parity", OBJECT.format(2) + test.format(0, 0) + arrive.format(", 2") + test.format(1, 0) + test.format(2, 1) + arrive.format(", 2") + test.format(3, 0) + ALL_FLAGS, sets
    yield "mbarrier.test_wait", OBJECT.format(2) + "mbarrier.arrive.shared::cta.b64 %d8, [%at]; mbarrier.test_wait.shared::cta.b64 %p0, [%at], %d8; mbarrier.arrive.shared::cta.b64 %d9, [%at]; mbarrier.test_wait.shared::cta.b64 %p1, [%at], %d8; mbarrier.test_wait.shared::cta.b64 %p2, [%at], %d9; mbarrier.arrive.shared::cta.b64 %d10, [%at]; mbarrier.try_wait.shared::cta.b64 %p3, [%at], %d9; " + ALL_FLAGS, sets
    yield "mbarrier.arrive_drop", OBJECT.format(3) + "mbarrier.arrive_drop.shared::cta.b64 %d8, [%at]; " + pending.format(0) + arrive.format(", 2") + arrive.format("") + pending.format(1) + arrive.format("") + arrive.format("") + pending.format(2), sets
    yield "mbarrier.arrive_drop", OBJECT.format(4) + "mbarrier.arrive_drop.shared::cta.b64 %d8, [%at], 2; " + pending.format(0) + "mbarrier.arrive_drop.noComplete.shared::cta.b64 %d8, [%at], 1; " + pending.format(1) + arrive.format("") + arrive.format("") + pending.format(2), sets
    yield "mbarrier.arrive.noComplete", OBJECT.format(6) + "mbarrier.arrive.noComplete.shared::cta.b64 %d8, [%at], 3; " + pending.format(0) + arrive.format("") + pending.format(1), sets
    yield "mbarrier.arrive.expect_tx", OBJECT.format(1) + "mbarrier.arrive.expect_tx.shared::cta.b64 %d8, [%at], 64; " + test.format(0, 0) + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%at], 48; " + test.format(1, 0) + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%at], 16; " + test.format(2, 0) + test.format(3, 1) + ALL_FLAGS, sets
    yield "mbarrier.expect_tx", OBJECT.format(2) + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%at], 32; " + arrive.format(", 2") + test.format(0, 0) + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%at], 32; " + test.format(1, 0) + arrive.format("") + pending.format(2) + "selp.b64 %d0, 1, 0, %p0; selp.b64 %d1, 1, 0, %p1;", sets
    yield "mbarrier.complete_tx", OBJECT.format(2) + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%at], 32; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%at], 32; " + test.format(0, 0) + arrive.format(", 2") + test.format(1, 0) + test.format(2, 1) + test.format(3, 0) + ALL_FLAGS, sets
    yield "cp.async.mbarrier.arrive", OBJECT.format(1) + "cp.async.ca.shared.global [%at+8], [%pa], 8; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%at]; again: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%at], 0; @!%p0 bra again; ld.shared.b64 %d0, [%at+8];", sets
    yield "cp.async.mbarrier.arrive", OBJECT.format(1) + "cp.async.mbarrier.arrive.shared::cta.b64 [%at]; " + arrive.format("") + pending.format(0) + arrive.format("") + pending.format(1), sets


def make_operands():
    sets = instructions.operand_table()
    dice = random.Random(7)

    def near(exponent_bits, fraction_bits, to_exponent, to_fraction):
        """A float around the middle between two numbers of a smaller type."""
        exponent = (1 << (exponent_bits - 1)) - 1 + dice.randint(-(1 << (to_exponent - 1)) - 3, (1 << (to_exponent - 1)) + 1)
        exponent = max(1, min(exponent, (1 << exponent_bits) - 2))
        fraction = dice.getrandbits(to_fraction + 1) << (fraction_bits - to_fraction - 1)
        fraction = (fraction + dice.choice([-1, 0, 0, 1])) % (1 << fraction_bits)
        return dice.getrandbits(1) << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction

    for name, kind in (("near-f32", (4, 3)), ("near-f32-2", (5, 2)), ("near-f32-3", (4, 3))):
        sets[name] = [near(8, 23, *kind) for _ in range(64)]
    sets["wide-f32"] = [dice.getrandbits(32) for _ in range(64)]
    for name, kind in (("near-f16", (4, 3)), ("near-f16-2", (5, 2))):
        sets[name] = [near(5, 10, *kind) | near(5, 10, *kind) << 16 for _ in range(64)]
    for name in ("u16x2", "s16x2"):
        for place in "abc":
            low = sets[f"{name[:3]}/{place}"]
            sets[f"{name}/{place}"] = [one & 0xFFFF | (two & 0xFFFF) << 16 for one, two in zip(low, low[7:] + low[:7])]
    return sets


def find_kinds(words):
    known = "u16x2 s16x2 bf16x2 f16x2 bf16 f16 f32 f64 tf32 s16 u16 s32 u32 s64 u64".split()
    return [word for word in words if word in known]


def make_instructions():
    sets = make_operands()
    frame = (Path(__file__).parent / "golden/kernel.ptx").read_text().split(".address_size 64\n")[1]
    bodies = []
    for opcode in ARITHMETIC:
        name, *words = opcode.split(".")
        body, names = instructions.make_arithmetic(name, words, find_kinds(words))
        if opcode.endswith("tf32.f32"):
            names = ["f32/a", "f32/b", "f32/c"]
        bodies.append((opcode, body, names))
    bodies += list_bodies()
    for opcode, body, names in bodies:
        for first, second in ((0, 0), (9, 23), (30, 17)):
            arguments = []
            for name, turn in zip(names, (0, first, second)):
                values = sets[name][turn:] + sets[name][:turn]
                pool = f"{name} {turn}"
                POOLS[pool] = pack(values, 8) + bytes(64)
                arguments.append(["in", pool, 0, 576])
            arguments.append(["out", "zeros", 0, 2048])
            add_launch(f"{opcode} {first}", frame.replace("// BODY", body), 64, arguments)


def make_clusters():
    """Two blocks of a cluster: copies, stores and atomics to the shared memory of the other."""
    frame = lambda first, second, both="": (
        ".visible .entry one(.param .u64 pdata, .param .u64 proom, .param .u64 pflag, .param .align 64 .b8 pmap[128])\n.reqnctapercluster 2, 1, 1\n{\n"
        ".reg .b32 %r<24>; .reg .b64 %d<12>; .reg .pred %p<8>;\n"
        f".shared .align 1024 .b8 room[{ROOM}]; .shared .align 8 .b64 barrier;\n"
        "ld.param.u64 %d0, [pdata]; ld.param.u64 %d1, [proom]; ld.param.u64 %d2, [pflag];\n"
        f"mov.u32 %r20, %cluster_ctarank; mul.wide.u32 %d8, %r20, {ROOM}; add.u64 %d1, %d1, %d8; mul.wide.u32 %d8, %r20, 4; add.u64 %d2, %d2, %d8;\n"
        "mov.u32 %r0, %tid.x; mov.u32 %r2, room; mov.u32 %r3, barrier; mov.b64 %d7, pmap; cvta.param.u64 %d7, %d7;\n"
        f"{copy_room(True)}"
        "setp.ne.u32 %p0, %r0, 0; setp.eq.u32 %p4, %r20, 0; mov.u32 %r6, 7;\n"
        "@%p0 bra start; mbarrier.init.shared::cta.b64 [%r3], 1; fence.mbarrier_init.release.cluster; start:\n"
        "xor.b32 %r21, %r20, 1; mapa.shared::cluster.u32 %r12, %r2, %r21; mapa.shared::cluster.u32 %r13, %r3, %r21;\n"
        "fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;\n"
        f"@%p0 bra over; {both}\n@!%p4 bra second;\n{first}\nbra over;\nsecond:\n{second}\n"
        "over: barrier.cluster.arrive; barrier.cluster.wait; @%p0 bra quiet; st.global.u32 [%d2], %r6; quiet: bar.sync 0;\n"
        f"{copy_room(False)}\nret;\n}}\n"
    )
    spec = {"type": 6, "dims": [64, 24], "box": [64, 8], "strides": [128], "steps": [1, 1], "swizzle": 3, "fill": 0}

    def add(name, first, second, both=""):
        arguments = [["in", "bytes", 0, 4096], ["out", "bytes", 4096, 2 * ROOM], ["out", "zeros", 0, 16], ["map", spec, 0]]
        add_launch(f"cluster {name}", frame(first, second, both), 32, arguments)
        LAUNCHES[-1]["blocks"] = 2

    expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {};".format
    wait = WAIT.strip()
    to = "add.u32 %r11, %r12, 4096;"
    add("bulk copy", f"{to} cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r11], [%r2+16], 256, [%r13];", f"{expect(256)} {wait}")
    for name, kind in (("add", "u32"), ("add", "s32"), ("add", "u64"), ("min", "s32"), ("max", "u32"), ("inc", "u32"), ("dec", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32")):
        add(f"bulk reduce {name}.{kind}", f"{to} cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{name}.{kind} [%r11], [%r2+16], 256, [%r13];", f"{expect(256)} {wait}")
    load = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2+1024], [%d7, {0, %r22}], [%r3], %h;"
    add("multicast", f"mov.u32 %r22, 3; {{ .reg .b16 %h; mov.u16 %h, 3; {load} }} {wait}", wait.replace("again", "more").replace("done", "end"), expect(1024))
    add("multicast to the other", f"mov.u32 %r22, 20; {{ .reg .b16 %h; mov.u16 %h, 2; {load} }}", f"{expect(1024)} {wait}")
    add("bulk multicast", f"{{ .reg .b16 %h; mov.u16 %h, 3; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2+64], [%d0+32], 512, [%r3], %h; }} {wait}", wait.replace("again", "more").replace("done", "end"), expect(512))
    add("st.async", f"{to} mov.u32 %r14, 0x1234567; mov.u32 %r15, 99; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r11], {{%r14, %r15}}, [%r13]; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r11+8], %d0, [%r13]; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r11+8], %r14, [%r13]; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r11+12], %r15, [%r13];".replace("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r11+8], %d0, [%r13]; ", ""), f"{expect(16)} {wait}")
    for name, kind in (("add", "u32"), ("max", "s32"), ("inc", "u32"), ("xor", "b32")):
        add(f"red.async {name}.{kind}", f"{to} mov.u32 %r14, 0x12345678; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{name}.{kind} [%r11], %r14, [%r13];", f"{expect(4)} {wait}")
    add("loads and atomics", "ld.shared::cluster.u32 %r14, [%r12+64]; st.shared.u32 [%r2], %r14; atom.shared::cluster.add.u32 %r15, [%r12+128], 5; st.shared.u32 [%r2+4], %r15; getctarank.shared::cluster.u32 %r16, %r12; st.shared.u32 [%r2+8], %r16; st.shared::cluster.v2.b32 [%r12+256], {%r14, %r15}; red.shared::cluster.max.s32 [%r12+512], 77;", "mov.u32 %r14, %cluster_nctarank; st.shared.u32 [%r2], %r14; mov.u32 %r14, %cluster_ctaid.x; st.shared.u32 [%r2+4], %r14; mov.u32 %r14, %nclusterid.x; st.shared.u32 [%r2+8], %r14;")
    add("remote arrival", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r13];", f"{wait}")
    add("remote expectation", "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r13], 64; mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r13], 64;", f"{wait}")


def main(path):
    make_instructions()
    make_pools()
    make_products()
    make_tensors()
    make_bulk_copies()
    make_clusters()
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        head = {"texts": list(TEXTS), "pools": {name: base64.b64encode(pool).decode() for name, pool in POOLS.items()}}
        for line in (head, *LAUNCHES):
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    print(f"{len(LAUNCHES)} launches, {len(TEXTS)} texts")


if __name__ == "__main__":
    main(sys.argv[1])
