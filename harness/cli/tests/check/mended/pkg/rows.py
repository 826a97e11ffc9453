import torch
import triton
import triton.language as tl

from . import addresses
from .addresses import HEADS as MANY
from .decorators import counted
from .device import DEVICE

SPACE = torch.empty(DEVICE.total_memory // 1024)


@counted
@triton.jit
def scale_rows(x_ptr, out_ptr, stride_x, stride_out, rows, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(addresses.element(x_ptr, row, stride_x, at), mask=at < n, other=0.0)
    tl.store(addresses.element(out_ptr, row, stride_out, at), x * MANY, mask=at < n)
