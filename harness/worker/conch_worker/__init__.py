"""The Python that runs inside a toolchain: it answers one request after the other over a pipe.

Tensors here behave as torch's do wherever Triton's interpreter looks at them, and need neither torch nor a
GPU. The other side of the pipe is the Rust crate `conch-toolchain`; both say what they speak with
`wire.PROTOCOL`.
"""
