"""Kernels of one operation each, for a GPU to say what the arithmetic is: how `snapshots/tile/h200-*.txt` come about.

    python h200.py compile 3.9.0 kernels.zip      anywhere, with the Triton whose compiler is wanted; no GPU is needed
    python h200.py compile 3.2.0 old.zip floats   only what changed between versions: floats
    python3 h200.py run kernels.zip results.txt   where the GPU is: any Python, nothing else

Operands are those of `snapshots/tile/h200-3.9.0.txt`. A kernel loads them, does one thing and stores what it gives; for an
atomic, `a` lies in memory, `b` is what it is called with, and what is in memory afterwards is the result. What the compiler
refuses is listed with the reason, and what stops the GPU too. `compare FIRST SECOND` prints what differs between two files.
"""

import ctypes
import importlib.util
import json
import os
import struct
import sys
import tempfile
import zipfile
from pathlib import Path

TABLE = Path(__file__).resolve().parents[3] / "snapshots/tile/h200-3.9.0.txt"
# The dtypes: Cerith's name, Triton's in signatures and in `tl`, bytes of an element.
DTYPES = {
    "i1": ("i1", "int1", 1),
    "i8": ("i8", "int8", 1),
    "i16": ("i16", "int16", 2),
    "i32": ("i32", "int32", 4),
    "i64": ("i64", "int64", 8),
    "u8": ("u8", "uint8", 1),
    "u16": ("u16", "uint16", 2),
    "u32": ("u32", "uint32", 4),
    "u64": ("u64", "uint64", 8),
    "f16": ("fp16", "float16", 2),
    "bf16": ("bf16", "bfloat16", 2),
    "f32": ("fp32", "float32", 4),
    "f64": ("fp64", "float64", 8),
    "fp8e4nv": ("fp8e4nv", "float8e4nv", 1),
    "fp8e5": ("fp8e5", "float8e5", 1),
    "fp8e4b15": ("fp8e4b15", "float8e4b15", 1),
    "fp8e4b8": ("fp8e4b8", "float8e4b8", 1),
    "fp8e5b16": ("fp8e5b16", "float8e5b16", 1),
}
FLOATS = ("f16", "bf16", "f32", "f64", "fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16")
WIDE = ("f16", "bf16", "f32", "f64")
INTS = tuple(name for name in DTYPES if name not in FLOATS)


def list_operations():
    """Lists the operations: kind, operation, dtype of the operands, of the result, expression of `a`, `b` and `c`."""
    for of in DTYPES:
        for to in DTYPES:
            if of == to:
                continue
            yield "cast", "rtne", of, to, f"a.to(tl.{DTYPES[to][1]})"
            if of in FLOATS and to in FLOATS:
                yield "cast", "rtz", of, to, f"a.to(tl.{DTYPES[to][1]}, fp_downcast_rounding='rtz')"
    for of in ("f16", "bf16", "f32", "f64"):
        yield "unary", "neg", of, of, "-a"
        yield "unary", "abs", of, of, "tl.abs(a)"
        # Before 3.3 the remainder has the divisor's sign; since 3.9, narrow floats give `f32`.
        for to in {of, "f32"} if of in ("f16", "bf16") else {of}:
            yield "binary", "rem", of, to, "a % b"
            yield "binary", "div", of, to, "a / b"
        yield "binary", "min", of, of, "tl.minimum(a, b)"
        yield "binary", "max", of, of, "tl.maximum(a, b)"
        yield "binary", "min_nan", of, of, "tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)"
        yield "binary", "max_nan", of, of, "tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)"
        yield "ternary", "clamp", of, of, "tl.clamp(a, b, c)"
        yield "binary", "fdiv", of, of, "tl.fdiv(a, b)"
        yield "binary", "fdiv_rn", of, of, "tl.fdiv(a, b, ieee_rounding=True)"
        yield "binary", "fdiv_approx", of, of, "tl.fdiv(a, b, approx=True)"
        yield "binary", "add", of, of, "a + b"
        yield "binary", "mul", of, of, "a * b"
        yield "ternary", "mul_add", of, of, "a * b + c"
        yield "ternary", "fma", of, of, "tl.fma(a, b, c)"
    for of in ("f32", "f64"):
        yield "binary", "div_rn", of, of, "libdevice.div_rn(a, b)"
        yield "unary", "sqrt_rn", of, of, "libdevice.sqrt_rn(a)"
    for of in INTS:
        yield "binary", "int_div", of, of, "a // b"
        yield "binary", "rem", of, of, "a % b"
        yield "binary", "shr", of, of, "a >> b"
        yield "unary", "neg", of, of, "-a"
        yield "unary", "abs", of, of, "tl.abs(a)"
    for name in ("add", "min", "max", "and", "or", "xor", "xchg"):
        for of in ("i8", "i16", "i32", "i64", "u32", "u64", *WIDE):
            yield "atomic", name, of, of, f"tl.atomic_{name}(p + o, b)"


KERNEL = """import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def k(p, q, r, out, N: tl.constexpr):
    o = tl.arange(0, N)
"""


def kernel_text(kind, expression):
    loads = {"unary": "a", "cast": "a", "binary": "ab", "ternary": "abc", "atomic": "b"}[kind]
    body = "".join(f"    {name} = tl.load({'pqr'['abc'.index(name)]} + o)\n" for name in loads)
    body += f"    x = {expression}\n"
    return KERNEL + body + ("" if kind == "atomic" else "    tl.store(out + o, x)\n")


def read_operands():
    """The operands of each dtype: those of unary operations, and three of each lane."""
    table = {}
    for line in TABLE.read_text().splitlines():
        words = line.split(" ")
        if words[0] == "operands":
            table.setdefault(words[1], {})[words[2]] = words[3:]
    for name in FLOATS:
        if DTYPES[name][2] == 1:
            table.setdefault(name, {})["one"] = [f"{byte:x}" for byte in range(256)]
    return table


def operand_columns(table, kind, of):
    names = ("one",) if kind in ("unary", "cast") else ("a", "b", "c")
    return [table[of][name] for name in names if name in table[of]]


def compile_all(version, archive, only="all"):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    assert triton.__version__ == version, triton.__version__
    table = read_operands()
    done = []
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle, tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        for nth, (kind, name, of, to, expression) in enumerate(list_operations()):
            if only == "floats" and (kind == "atomic" or of not in FLOATS or to not in FLOATS):
                continue
            entry = {"kind": kind, "name": name, "of": of, "to": to}
            lanes = len(operand_columns(table, kind, of)[0])
            entry["block"] = 1 << (lanes - 1).bit_length()
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                # In a process of its own: some compilers abort where they should raise.
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                try:
                    path = Path(folder, f"k{nth}.py")
                    path.write_text(kernel_text(kind, expression))
                    spec = importlib.util.spec_from_file_location(f"k{nth}", path)
                    module = importlib.util.module_from_spec(spec)
                    spec.loader.exec_module(module)
                    signature = {part: "*" + DTYPES[of][0] for part in ("p", "q", "r")}
                    signature["out"] = "*" + DTYPES[to][0]
                    newer = tuple(int(part) for part in version.split(".")) >= (3, 3)
                    if newer:
                        source = ASTSource(module.k, {**signature, "N": "constexpr"}, {(4,): entry["block"]})
                    else:
                        source = ASTSource(module.k, signature, {"N": entry["block"]})
                    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
                    scratch = 2 if version >= "3.6" else 1 if newer else 0
                    shape = {"entry": kernel.metadata.name, "shared": kernel.metadata.shared, "scratch": scratch}
                    with open(Path(folder, f"{nth}.cubin"), "wb") as file:
                        file.write(kernel.asm["cubin"])
                    answer = json.dumps(shape)
                except BaseException as error:
                    while error.__cause__ is not None:
                        error = error.__cause__
                    answer = json.dumps({"refused": f"{type(error).__name__}: {error}".split("\n")[0][:160]})
                os.write(writer, answer.encode())
                os._exit(0)
            os.close(writer)
            with os.fdopen(reader) as pipe:
                answer = pipe.read()
            os.waitpid(child, 0)
            entry.update(json.loads(answer or '{"refused": "the compiler crashed"}'))
            if "entry" in entry:
                bundle.write(Path(folder, f"{nth}.cubin"), f"{nth}.cubin")
                entry["cubin"] = f"{nth}.cubin"
            done.append(entry)
        bundle.writestr("kernels.json", json.dumps({"version": version, "operands": table, "kernels": done}))
    print(f"{sum('cubin' in entry for entry in done)} of {len(done)} kernels compiled")


def check_status(code):
    if code:
        raise RuntimeError(f"CUDA error {code}")


def run_all(archive, results):
    cuda = ctypes.CDLL("libcuda.so.1")
    check_status(cuda.cuInit(0))
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check_status(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check_status(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check_status(cuda.cuCtxSetCurrent(context))
    memory = ctypes.c_uint64()
    size = 4 << 12
    check_status(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(size)))
    with zipfile.ZipFile(archive) as bundle, open(results, "w") as out:
        job = json.loads(bundle.read("kernels.json"))
        out.write(f"# What a GPU gave for kernels of one operation each, compiled by Triton {job['version']} (h200.py).\n")
        for kernel in job["kernels"]:
            head = f"{kernel['kind']} {kernel['name']} {kernel['of']} {kernel['to']}"
            if "cubin" not in kernel:
                out.write(f"refused {head} {kernel['refused']}\n")
                continue
            given = operand_columns(job["operands"], kernel["kind"], kernel["of"])
            width = DTYPES[kernel["of"]][2]
            image = bytearray(size)
            for nth, column in enumerate(given):
                for lane, bits in enumerate(column):
                    at = (nth << 12) + lane * width
                    image[at : at + width] = int(bits, 16).to_bytes(width, "little")
            check_status(cuda.cuMemcpyHtoD_v2(memory, bytes(image), ctypes.c_size_t(size)))
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            check_status(cuda.cuModuleLoadData(ctypes.byref(module), bundle.read(kernel["cubin"])))
            check_status(cuda.cuModuleGetFunction(ctypes.byref(function), module, kernel["entry"].encode()))
            places = [memory.value + (nth << 12) for nth in range(4)] + [0] * kernel["scratch"]
            values = [ctypes.c_uint64(place) for place in places]
            pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
            check_status(cuda.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, kernel["shared"], None, pointers, None))
            check_status(cuda.cuCtxSynchronize())
            image = ctypes.create_string_buffer(size)
            check_status(cuda.cuMemcpyDtoH_v2(image, memory, ctypes.c_size_t(size)))
            check_status(cuda.cuModuleUnload(module))
            start = 0 if kernel["kind"] == "atomic" else 3 << 12
            width = DTYPES[kernel["to"]][2]
            form = {1: "B", 2: "H", 4: "I", 8: "Q"}[width]
            lanes = struct.unpack_from(f"<{len(given[0])}{form}", image.raw, start)
            out.write(f"result {head} {' '.join(f'{bits:x}' for bits in lanes)}\n")


def compare(first, second):
    def read(path):
        lines = [line for line in Path(path).read_text().splitlines() if line.startswith(("result", "refused"))]
        return {tuple(line.split(" ")[1:5]): line.split(" ") for line in lines}

    first, second = read(first), read(second)
    for key in first:
        a, b = first[key], second.get(key)
        if b is not None and a != b:
            lanes = sum(x != y for x, y in zip(a[5:], b[5:])) if a[0] == b[0] == "result" else ""
            print(*key, a[0], b[0], lanes)


if __name__ == "__main__":
    {"compile": compile_all, "run": run_all, "compare": compare}[sys.argv[1]](*sys.argv[2:])
