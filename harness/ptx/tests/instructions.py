"""One instruction at a time: how `golden/instructions.jsonl` comes about.

    python instructions.py golden/instructions.jsonl

Every instruction of `golden/opcodes.txt` (what Triton 3.9.0 and 3.2.0 emit for sm_80) is put into `golden/kernel.ptx`, which
gives it operands of its type, one for each of 64 threads, and stores up to four results of each. The first line of the file has
the operands; every other line is an instruction: its body and the names of its operands. Control flow and the parameters of
calls are left out: `semantics.rs` has them.
"""

import json
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[2] / "snapshots/tile/h200-3.9.0.txt"
THREADS = 64
SIZES = {"8": "h", "16": "h", "32": "r", "64": "d"}
UNARY = {
    "neg",
    "abs",
    "not",
    "popc",
    "clz",
    "brev",
    "bfind",
    "rcp",
    "sqrt",
    "rsqrt",
    "ex2",
    "lg2",
    "sin",
    "cos",
    "tanh",
    "mov",
}
BINARY = {"add", "sub", "mul", "div", "rem", "min", "max", "and", "or", "xor", "shl", "shr", "copysign"}
TERNARY = {"fma", "mad", "sad", "bfe", "prmt", "shf"}
COUNTED = {"popc", "clz", "bfind"}


def operand_table():
    """Operands by type and by place: from the table of whole operations, edge cases first."""
    rows = {}
    for line in TABLE.read_text().splitlines():
        words = line.split(" ")
        if words[0] == "operands":
            rows[words[1], words[2]] = [int(word, 16) for word in words[3:]]
    names = {
        "b8": "u8", "s8": "i8", "u8": "u8", "b16": "u16", "u16": "u16", "s16": "i16", "b32": "u32", "u32": "u32",
        "s32": "i32", "b64": "u64", "u64": "u64", "s64": "i64", "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64",
    }  # fmt: skip
    sets = {}
    for name, of in names.items():
        # The operands of unary operations begin with the edges of the dtype.
        edges = rows[of, "one"]
        sets[f"{name}/a"] = (edges[:32] + rows[of, "a"])[:THREADS]
        sets[f"{name}/b"] = (rows[of, "b"][:24] + edges[8:32] + rows[of, "b"][24:])[:THREADS]
        sets[f"{name}/c"] = (rows[of, "c"][:40] + edges)[:THREADS]
        # Comparisons need equal operands.
        for at in range(3, THREADS, 8):
            sets[f"{name}/b"][at] = sets[f"{name}/a"][at]
    for name in ("f16", "bf16"):
        for place in "abc":
            low = sets[f"{name}/{place}"]
            sets[f"{name}x2/{place}"] = [
                one | two << 16 for one, two in zip(low, low[7:] + low[:7], strict=True)
            ]
    sets["tf32/a"] = sets["f32/a"]
    dice = random.Random(19)
    sets["small/b"] = [dice.randrange(72) for _ in range(THREADS)]
    sets["small/c"] = [dice.randrange(72) for _ in range(THREADS)]
    for name, bits in (("b8", 8), ("b32", 32), ("b64", 64)):
        sets[f"any-{name}"] = [dice.getrandbits(bits) for _ in range(THREADS)]
    # Matrices: four registers for each lane of a warp are made of these.
    for name, make in MATRICES.items():
        for place in "abc":
            sets[f"{name}/{place}"] = [make(dice, place) for _ in range(THREADS)]
    return sets


def random_f32(dice, spread):
    return (
        dice.getrandbits(1) << 31 | (127 + dice.randrange(-spread, spread + 1)) << 23 | dice.getrandbits(23)
    )


def random_f16(dice, spread):
    return dice.getrandbits(1) << 15 | (15 + dice.randrange(-spread, spread + 1)) << 10 | dice.getrandbits(10)


def random_bf16(dice, spread):
    return random_f32(dice, spread) >> 16


def random_f64(dice):
    return dice.getrandbits(1) << 63 | (1023 + dice.randrange(-3, 4)) << 52 | dice.getrandbits(52)


MATRICES = {
    "matrix-f16": lambda dice, place: (
        random_f32(dice, 5) if place == "c" else random_f16(dice, 4) | random_f16(dice, 4) << 16
    ),
    "matrix-f16-wide": lambda dice, place: (
        random_f32(dice, 20) if place == "c" else random_f16(dice, 14) | random_f16(dice, 14) << 16
    ),
    "matrix-f16-f16": lambda dice, _place: random_f16(dice, 3) | random_f16(dice, 3) << 16,
    "matrix-bf16": lambda dice, place: (
        random_f32(dice, 5) if place == "c" else random_bf16(dice, 4) | random_bf16(dice, 4) << 16
    ),
    "matrix-bf16-wide": lambda dice, place: (
        random_f32(dice, 90) if place == "c" else random_bf16(dice, 60) | random_bf16(dice, 60) << 16
    ),
    "matrix-tf32": lambda dice, place: random_f32(dice, 5 if place == "c" else 4),
    "matrix-tf32-wide": lambda dice, place: random_f32(dice, 90 if place == "c" else 60),
    "matrix-s8": lambda dice, _place: dice.getrandbits(32),
    "matrix-f64": lambda dice, _place: random_f64(dice),
}


def register_kind(kind):
    """Which registers hold a type."""
    if kind.endswith("x2") or kind == "tf32":
        return "r"
    return SIZES[kind.lstrip("abcdefghijklmnopqrstuvwxyz")]


def find_types(words):
    known = [
        word
        for word in words
        if word.rstrip("x2").lstrip("bfust").isdigit() or word in ("pred", "f16x2", "bf16x2", "tf32")
    ]
    return [
        word for word in known if word in ("pred", "tf32") or word.replace("x2", "").lstrip("bfust") in SIZES
    ]


def store_result(kind, register="0"):
    """Puts a result into `%d0`."""
    return {"h": f"cvt.u64.u16 %d0, %h{register};", "r": f"cvt.u64.u32 %d0, %r{register};", "d": ""}[kind]


def result_register(kind):
    return f"%{kind}0"


def make_arithmetic(name, words, kinds):
    """An instruction from registers to registers: its body and operands."""
    kind = kinds[0]
    held = register_kind(kind)
    sets = [f"{kind}/a", f"{kind}/b", f"{kind}/c"]
    opcode = ".".join([name, *words])
    if name == "cvt":
        to, source = kinds
        if to.endswith("x2"):
            return f"{opcode} %r0, %ra, %rb; {store_result('r')}", ["f32/a", "f32/b", "f32/c"]
        return (
            f"{opcode} {result_register(register_kind(to))}, %{register_kind(source)}a; {store_result(register_kind(to))}",
            [f"{source}/a", "any-b64", "any-b64"],
        )
    if name in UNARY:
        out = "r" if name in COUNTED else held
        return f"{opcode} {result_register(out)}, %{held}a; {store_result(out)}", sets
    if name in BINARY:
        out = {"h": "r", "r": "d"}[held] if "wide" in words else held
        second = "r" if name in ("shl", "shr") else held
        if name in ("shl", "shr"):
            sets[1] = "small/b"
        return f"{opcode} {result_register(out)}, %{held}a, %{second}b; {store_result(out)}", sets
    if name in TERNARY:
        out = {"h": "r", "r": "d"}[held] if "wide" in words else held
        b, c = held, out if "wide" in words else held
        if name == "bfe":
            b, c, sets = "r", "r", [sets[0], "small/b", "small/c"]
        if name == "shf":
            sets[2] = "small/c"
        if "wide" in words:
            sets[2] = {"r": "b32/c", "d": "b64/c"}[out]
        return f"{opcode} {result_register(out)}, %{held}a, %{b}b, %{c}c; {store_result(out)}", sets
    return None


def store_flags(count):
    """Puts predicates into `%d0`."""
    parts = [
        f"selp.b64 %d{at + 4}, {1 << at}, 0, %p{at}; or.b64 %d0, %d0, %d{at + 4};" for at in range(count)
    ]
    return " ".join(parts)


def make_special(name, words, kinds):
    """Everything else that computes."""
    opcode = ".".join([name, *words])
    odd = "and.b32 %r8, %ra, 1; setp.eq.b32 %q0, %r8, 1; and.b32 %r9, %rb, 1; setp.eq.b32 %q1, %r9, 1; "
    if name == "setp":
        held = register_kind(kinds[0])
        to = "%p0|%p1" if kinds[0].endswith("x2") else "%p0"
        sets = [f"{kinds[0]}/a", f"{kinds[0]}/b", "any-b64"]
        return f"{opcode} {to}, %{held}a, %{held}b; {store_flags(2 if '|' in to else 1)}", sets
    if name == "set":
        return f"{opcode} %r0, %ra, %rb; {store_result('r')}", ["f16x2/a", "f16x2/b", "any-b64"]
    if name == "testp":
        return f"{opcode} %p0, %{register_kind(kinds[0])}a; {store_flags(1)}", [
            f"{kinds[0]}/a",
            "any-b64",
            "any-b64",
        ]
    if name == "selp":
        held = register_kind(kinds[0])
        return f"{odd}{opcode} {result_register(held)}, %{held}a, %{held}b, %q0; {store_result(held)}", [
            "any-b64",
            "any-b64",
            "any-b64",
        ]
    if kinds == ["pred"]:
        second = "" if name in ("not", "mov") else ", %q1"
        return f"{odd}{opcode} %p0, %q0{second}; {store_flags(1)}", ["any-b64", "any-b32", "any-b64"]
    if name == "lop3":
        tables = (0x96, 0xE8, 0x1B, 0xFE)
        body = " ".join(
            f"{opcode} %r{at}, %ra, %rb, %rc, {table}; cvt.u64.u32 %d{at}, %r{at};"
            for at, table in enumerate(tables)
        )
        return body, ["any-b32", "b32/b", "b32/c"]
    if name in ("addc", "subc", "madc") or "cc" in words:
        return make_carry(name, words, opcode), ["b32/a", "b32/b", "any-b32"]
    if name == "cvta":
        space = words[0]
        if space == "local":
            return (
                "mov.u64 %d4, room; st.local.b32 [%d4+4], %ra; cvta.local.u64 %d5, %d4; ld.b32 %r0, [%d5+4]; cvt.u64.u32 %d0, %r0;",
                ["any-b32", "any-b32", "any-b32"],
            )
        return f"{opcode} %d4, %pa; ld.b64 %d0, [%d4];", ["any-b64", "any-b64", "any-b64"]
    if name == "createpolicy":
        return f"{opcode} %policy, 1.0; ld.global.L2::cache_hint.b64 %d0, [%pa], %policy;", ["any-b64"] * 3
    return None


def make_carry(name, words, opcode):
    """A sum of 64 bits in two parts, or a product."""
    base = {"addc": "add", "subc": "sub", "madc": "mad"}.get(name, name)
    third = ", %rc" if base == "mad" else ""
    low = f"{base}{'.lo' if base == 'mad' else ''}.cc.u32 %r0, %ra, %rb{third};"
    this = f"{opcode} %r1, %rb, %rc{third};"
    last = f"{base if base != 'mad' else 'add'}c.u32 %r2, %rc, %ra;"
    if name == base:
        this = f"{opcode} %r1, %ra, %rb{third};"
        low = "mov.b32 %r0, 0;"
    gives = "cc" in words
    tail = last if gives else "mov.b32 %r2, 0;"
    return f"{low} {this} {tail} mov.b64 %d0, {{%r0, %r1}}; cvt.u64.u32 %d1, %r2;"


def make_collective(name, words, _kinds):
    """Instructions in which lanes meet."""
    opcode = ".".join([name, *words])
    if name == "shfl":
        clamp = {"up": 0}.get(words[1], 31)
        lines = []
        for at, (by, mask) in enumerate([("1", clamp), ("5", clamp), ("%r8", clamp), ("3", clamp | 0x1800)]):
            lines.append(f"{opcode} %r{at}|%p{at}, %ra, {by}, {mask}, -1;")
            lines.append(f"selp.b32 %r{at + 4}, 1, 0, %p{at}; mov.b64 %d{at}, {{%r{at}, %r{at + 4}}};")
        return "and.b32 %r8, %rb, 31; " + " ".join(lines), ["any-b32"] * 3
    if name == "vote":
        return (
            f"and.b32 %r8, %ra, 1; setp.eq.b32 %q0, %r8, 1; {opcode} %r0, %q0, -1; cvt.u64.u32 %d0, %r0;",
            ["any-b32"] * 3,
        )
    if name == "redux":
        return f"{opcode} %r0, %ra, -1; cvt.u64.u32 %d0, %r0;", ["b32/a"] * 3
    if opcode == "bar.sync":
        body = "st.shared.b32 [%at], %ra; bar.sync 0; xor.b32 %r8, %r0, 512; mov.u32 %r9, buffer; add.u32 %r9, %r9, %r8; "
        return body + "ld.shared.b32 %r1, [%r9]; cvt.u64.u32 %d0, %r1;", ["any-b32"] * 3
    if opcode == "bar.warp.sync":
        return "bar.warp.sync -1; mov.b64 %d0, %da;", ["any-b64"] * 3
    return None


def make_memory(name, words, kinds):
    """Loads, stores, atomics."""
    opcode = ".".join([name, *words])
    if name == "cp":
        if "commit_group" in words or "wait_group" in words:
            opcode = "cp.async.ca.shared.global"
        size_of = 16 if "cg" in words else 8
        where = "%pa" if size_of == 8 else "%d4"
        body = "and.b64 %d4, %pa, -16; " if size_of == 16 else ""
        body += f"{opcode} [%at], [{where}], {size_of}; cp.async.commit_group; cp.async.wait_group 0; ld.shared.b64 %d0, [%at];"
        return body, ["any-b64"] * 3
    if name in ("atom", "red"):
        return make_atomic(name, words, kinds, opcode)
    if name not in ("ld", "st"):
        return None
    kind = kinds[0]
    held = register_kind(kind)
    count = next((int(word[1]) for word in words if word in ("v2", "v4")), 1)
    hint = ", %policy" if "L2::cache_hint" in words else ""
    policy = "createpolicy.fractional.L2::evict_first.b64 %policy, 1.0; " if hint else ""
    space = next(
        (word for word in words if word in ("global", "shared", "shared::cta", "local", "param")), "generic"
    )
    if space == "param":
        place = "[pa]" if name == "ld" else None
    else:
        place = {
            "global": "[%d8]",
            "shared": "[%at]",
            "shared::cta": "[%at]",
            "local": "[room]",
            "generic": "[%d8]",
        }[space]
    if place is None:
        # The parameters of a call, which has no other way to be seen.
        return None
    aligned = "and.b64 %d8, %pa, -16; "
    fill = "st.shared.v2.b64 [%at], {%da, %db}; st.local.v2.b64 [room], {%da, %db}; "
    names = [f"%{held}{at}" for at in range(count)]
    listed = names[0] if count == 1 else "{" + ", ".join(names) + "}"
    if name == "ld":
        widen = [
            {"h": f"cvt.u64.u16 %d{at}, %h{at};", "r": f"cvt.u64.u32 %d{at}, %r{at};", "d": ""}[held]
            for at in range(count)
        ]
        body = f"{aligned}{fill}{policy}{opcode} {listed}, {place}{hint}; {' '.join(widen)}"
        return (body if space != "param" else f"{opcode} {listed}, {place}; mov.b64 %d0, 0;"), ["any-b64"] * 3
    # The stored value is loaded again. In global memory each thread has its own address.
    sources = [f"%{held}{'abca'[at]}" for at in range(count)]
    listed = sources[0] if count == 1 else "{" + ", ".join(sources) + "}"
    back = {"[%d8]": "ld.global.v2.b64 {%d0, %d1}, [%po];", "[%at]": "ld.shared.v2.b64 {%d0, %d1}, [%at];"}
    back["[room]"] = "ld.local.v2.b64 {%d0, %d1}, [room];"
    zero = "st.global.v2.b64 [%po], {%dc, %dc}; " if place == "[%d8]" else ""
    body = f"mov.b64 %d8, %po; {zero}{fill}{policy}{opcode} {place}, {listed}{hint}; {back[place]}"
    return body, ["any-b64"] * 3


def make_atomic(name, words, kinds, opcode):
    kind = kinds[0]
    held = register_kind(kind)
    shared = "shared" in words
    place = "[%at]" if shared else "[%po]"
    store = "st.shared.b64" if shared else "st.global.b64"
    load = "ld.shared.b64" if shared else "ld.global.b64"
    operands = f"%{held}b, %{held}c" if "cas" in words else f"%{held}b"
    sets = [f"{kind}/a", f"{kind}/b", f"{kind}/c"]
    if "cas" in words:
        # Half of them hold what is compared with.
        sets[1] = f"{kind}/b"
    fetched = f"%{held}0, " if name == "atom" else ""
    widen = (
        {"h": "cvt.u64.u16 %d0, %h0;", "r": "cvt.u64.u32 %d0, %r0;", "d": ""}[held] if name == "atom" else ""
    )
    if held == "d" and name == "atom":
        fetched, widen = "%d0, ", ""
    return f"{store} {place}, %da; {opcode} {fetched}{place}, {operands}; {widen} {load} %d1, {place};", sets


def make_matrix(name, words, _kinds):
    """Products: the registers of a lane are made of its operands and of those of other lanes."""
    opcode = ".".join([name, *words])
    if name == "ldmatrix":
        count = next(int(word[1]) for word in words if word in ("x1", "x2", "x4"))
        names = ", ".join(f"%r{at}" for at in range(count))
        pairs = " ".join(f"cvt.u64.u32 %d{at}, %r{at};" for at in range(count))
        return f"st.shared.v2.b64 [%at], {{%da, %db}}; bar.sync 0; {opcode} {{{names}}}, [%at]; {pairs}", [
            "any-b64"
        ] * 3
    if name != "mma":
        return None
    spread = "".join(
        f"shfl.sync.bfly.b32 %r{8 + at}, %ra, {at * 5}, 31, -1; shfl.sync.bfly.b32 %r{12 + at}, %rb, {at * 3}, 31, -1; "
        f"shfl.sync.bfly.b32 %r{16 + at}, %rc, {at * 7}, 31, -1; "
        for at in range(4)
    )
    kinds = {
        "f32.f16.f16.f32": ("matrix-f16", 4, 2, 4),
        "f16.f16.f16.f16": ("matrix-f16-f16", 4, 2, 2),
        "f32.bf16.bf16.f32": ("matrix-bf16", 4, 2, 4),
        "f32.tf32.tf32.f32": ("matrix-tf32", 4, 2, 4),
        "s32.s8.s8.s32": ("matrix-s8", 4, 2, 4),
    }
    for tail, (sets, a, b, c) in kinds.items():
        if opcode.endswith(tail):
            of = lambda first, count: "{" + ", ".join(f"%r{first + at}" for at in range(count)) + "}"
            out = " ".join(f"cvt.u64.u32 %d{at}, %r{at};" for at in range(c))
            return f"{spread}{opcode} {of(0, c)}, {of(8, a)}, {of(12, b)}, {of(16, c)}; {out}", [
                f"{sets}/{place}" for place in "abc"
            ]
    return f"{opcode} {{%d0, %d1}}, {{%da}}, {{%db}}, {{%dc, %da}};", [
        f"matrix-f64/{place}" for place in "abc"
    ]


def make_kernels():
    for line in (HERE / "golden/opcodes.txt").read_text().splitlines():
        name, *words = line.split(".")
        kinds = find_types(words)
        for make in (make_matrix, make_collective, make_memory, make_special, make_arithmetic):
            if (kinds or make in (make_collective, make_memory)) and (made := make(name, words, kinds)):
                body, sets = made
                yield line, body, sets
                if name == "mma" and f"{sets[0][:-2]}-wide" in MATRICES:
                    yield line, body, [f"{one[:-2]}-wide{one[-2:]}" for one in sets]
                break
        else:
            print(f"{line}: not tried", file=sys.stderr)


def make(path):
    sets = operand_table()
    with Path(path).open("w") as file:
        file.write(
            json.dumps(
                {"operands": {name: [f"{value:x}" for value in values] for name, values in sets.items()}}
            )
            + "\n"
        )
        file.writelines(
            json.dumps({"opcode": opcode, "body": body, "operands": names}) + "\n"
            for opcode, body, names in make_kernels()
        )


if __name__ == "__main__":
    make(sys.argv[1])
