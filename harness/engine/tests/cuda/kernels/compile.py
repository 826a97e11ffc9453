"""Compiles the kernels of this folder for sm_90 with the Triton of this Python, and writes `NAME.cubin` and `NAME.json`."""
import json, os, pathlib, sys
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here))
import kernels as k

def emit(name, fn, signature, constexprs, options=None, aligned=()):
    sig = {n: signature.get(n, "constexpr") for n in fn.arg_names}
    const = {(fn.arg_names.index(n),): v for n, v in constexprs.items()}
    attrs = {(fn.arg_names.index(n),): [["tt.divisibility", 16]] for n in aligned}
    src = ASTSource(fn=fn, signature=sig, constexprs=const, attrs=attrs)
    c = triton.compile(src, target=GPUTarget("cuda", 90, 32), options=options or {})
    m = c.metadata
    out = {"name": m.name, "num_warps": m.num_warps, "num_ctas": m.num_ctas, "shared": m.shared,
      "global_scratch": {"size": m.global_scratch_size, "align": m.global_scratch_align},
      "profile_scratch": {"size": m.profile_scratch_size, "align": m.profile_scratch_align} if hasattr(m, "profile_scratch_size") else None,
      "cooperative": bool(m.launch_cooperative_grid), "pdl": bool(getattr(m, "launch_pdl", False))}
    (here / f"{name}.cubin").write_bytes(c.asm["cubin"])
    (here / f"{name}.json").write_text(json.dumps(out, indent=1) + "\n")
    print(name, len(c.asm["cubin"]), out, getattr(m, "tensordesc_meta", None))

f = "*fp32"
emit("add", k.add, dict(x=f, y=f, out=f, n="i32"), dict(BLOCK=128), aligned=("x", "y", "out"))
emit("far_store", k.far_store, dict(out=f, distance="i64"), {})
emit("endless", k.endless, dict(flag="*i32"), {})
emit("trap", k.trap, dict(x="*i32"), dict(BLOCK=32), dict(debug=True))
emit("follow", k.follow, dict(table="*i64", out=f), {})
emit("order", k.order, dict(out="*i32", n="i32"), {})
emit("matmul", k.matmul, dict(a=f, b=f, c=f), dict(N=128), dict(num_warps=8), aligned=("a", "b", "c"))
emit("matmul_clusters", k.matmul, dict(a=f, b=f, c=f), dict(N=64), dict(num_ctas=2), aligned=("a", "b", "c"))
emit("cooperative", k.add, dict(x=f, y=f, out=f, n="i32"), dict(BLOCK=64), dict(launch_cooperative_grid=True), aligned=("x", "y", "out"))
emit("described_here", k.described_here, dict(x=f, out=f, m="i32", n="i32"), dict(N=32), aligned=("x", "out", "n"))
try:
    emit("described", k.described, dict(desc="tensordesc<fp32[32,32]>", out=f), dict(N=32), aligned=("out",))
except Exception as e:
    print("described", type(e), e)
