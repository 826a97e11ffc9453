"""Compiles the kernels of this folder for sm_90 with the Triton of this Python: `NAME.cubin` and `NAME.json`.

`TRITON_DISABLE_LINE_INFO=1` keeps the machine's paths out of them.
"""

import json
import pathlib

import kernels
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = pathlib.Path(__file__).parent
FLOATS = "*fp32"


def emit(name, function, signature, constants, options=None, aligned=()):
    """Compiles a function, its parameters in the order of its source."""
    source = ASTSource(
        fn=function,
        signature={arg: signature.get(arg, "constexpr") for arg in function.arg_names},
        constexprs={(function.arg_names.index(arg),): value for arg, value in constants.items()},
        attrs={(function.arg_names.index(arg),): [["tt.divisibility", 16]] for arg in aligned},
    )
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options or {})
    meta = compiled.metadata
    metadata = {
        "name": meta.name,
        "num_warps": meta.num_warps,
        "num_ctas": meta.num_ctas,
        "shared": meta.shared,
        "global_scratch": {"size": meta.global_scratch_size, "align": meta.global_scratch_align},
        "profile_scratch": {"size": meta.profile_scratch_size, "align": meta.profile_scratch_align},
        "cooperative": bool(meta.launch_cooperative_grid),
        "pdl": bool(meta.launch_pdl),
    }
    (HERE / f"{name}.cubin").write_bytes(compiled.asm["cubin"])
    (HERE / f"{name}.json").write_text(json.dumps(metadata, indent=1) + "\n")


three = {"x": FLOATS, "y": FLOATS, "out": FLOATS, "n": "i32"}
emit("add", kernels.add, three, {"BLOCK": 128}, aligned=("x", "y", "out"))
emit("far_store", kernels.far_store, {"out": FLOATS, "distance": "i64"}, {})
emit("endless", kernels.endless, {"flag": "*i32"}, {})
emit("trap", kernels.trap, {"x": "*i32"}, {"BLOCK": 32}, {"debug": True})
emit("follow", kernels.follow, {"table": "*i64", "out": FLOATS}, {})
emit("order", kernels.order, {"out": "*i32", "n": "i32"}, {})
product = {"a": FLOATS, "b": FLOATS, "c": FLOATS}
emit("matmul", kernels.matmul, product, {"N": 128}, {"num_warps": 8}, aligned=("a", "b", "c"))
emit("matmul_clusters", kernels.matmul, product, {"N": 64}, {"num_ctas": 2}, aligned=("a", "b", "c"))
resident = {"launch_cooperative_grid": True}
emit("cooperative", kernels.add, three, {"BLOCK": 64}, resident, aligned=("x", "y", "out"))
here = {"x": FLOATS, "out": FLOATS, "m": "i32", "n": "i32"}
emit("described_here", kernels.described_here, here, {"N": 32}, aligned=("x", "out", "n"))
given = {"desc": "tensordesc<fp32[32,32]>", "out": FLOATS}
emit("described", kernels.described, given, {"N": 32}, aligned=("out",))
