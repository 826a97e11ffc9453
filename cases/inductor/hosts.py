"""Where programs take what they launch kernels with. Sizes and strides are numbers, or what torch.compile has in
place of a number that it does not know."""

import triton


def size(kernel, grid, args):
    kernel[grid](**{**args, "N": args["x"].shape[0]})


def size_call(kernel, grid, args):
    kernel[grid](**{**args, "N": args["x"].size(0)})


def numel(kernel, grid, args):
    kernel[grid](**{**args, "N": args["x"].numel()})


def stride(kernel, grid, args):
    kernel[grid](**{**args, "S": args["x"].stride(0)})


def product(kernel, grid, args):
    rows, columns = args["x"].shape
    kernel[grid](**{**args, "N": rows * columns})


def difference(kernel, grid, args):
    kernel[grid](**{**args, "N": args["x"].shape[0] - 1})


def half(kernel, grid, args):
    kernel[grid](**{**args, "N": args["x"].shape[0] // 2})


def ceiling(kernel, grid, args):
    kernel[grid](**{**args, "N": triton.cdiv(args["x"].shape[0], 2)})


def smaller(kernel, grid, args):
    kernel[grid](**{**args, "N": min(args["x"].shape[0], args["out"].shape[0])})


def power_of_2(kernel, grid, args):
    kernel[grid](**{**args, "BLOCK": triton.next_power_of_2(args["x"].shape[0])})


def number(kernel, grid, args):
    """A number of the caller's that is an argument as well."""
    kernel[grid](**{**args, "N": args["n"]})


def number_plus(kernel, grid, args):
    kernel[grid](**{**args, "N": args["n"] + 1})


def compared(kernel, grid, args):
    """A comparison of a size is decided while the function is captured."""
    kernel[grid](**{**args, "HAS_Y": args["y"].shape[0] == args["x"].shape[0]})


def rows_and_columns(kernel, grid, args):
    x, y, out = args["x"], args["y"], args["out"]
    strides = {"x_row": x.stride(0), "y_row": y.stride(0), "out_row": out.stride(0)}
    kernel[(x.shape[0],)](**{**args, **strides, "ROWS": x.shape[0], "COLUMNS": x.shape[1]})


def row_strides(kernel, grid, args):
    x, y, out = args["x"], args["y"], args["out"]
    strides = {"x_row": x.stride(0), "y_row": y.stride(0), "out_row": out.stride(0)}
    kernel[(x.shape[0],)](**{**args, **strides})


def grid_of_size(kernel, grid, args):
    kernel[(triton.cdiv(args["x"].shape[0], args["BLOCK"]),)](**args)


def grid_of_shape(kernel, grid, args):
    kernel[tuple(args["out"].shape[:3])](**args)


def grid_function(kernel, grid, args):
    n = args["x"].shape[0]
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](**args)


def tuned_size(kernel, grid, args):
    n = args["x"].shape[0]
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](**{**args, "N": n})


def tuned(kernel, grid, args):
    n = args["n"]
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](**args)


def delta(kernel, grid, args):
    """Sizes of the delta rule as its callers take them from their tensors."""
    batch, heads, time, width = args["q"].shape
    height = args["v"].shape[-1]
    sizes = {"T": time, "K": width, "V": height}
    kernel[(triton.cdiv(height, args["BV"]), batch * heads)](**{**args, **sizes})


def delta_powers(kernel, grid, args):
    """As above, and the blocks of the sizes as well."""
    batch, heads, time, width = args["q"].shape
    height = args["v"].shape[-1]
    blocks = {"BK": triton.next_power_of_2(width), "BV": min(triton.next_power_of_2(height), 4)}
    sizes = {"T": time, "K": width, "V": height, **blocks}
    kernel[(triton.cdiv(height, blocks["BV"]), batch * heads)](**{**args, **sizes})


def delta_time(kernel, grid, args):
    """Only what is no constexpr."""
    batch, heads, time, _ = args["q"].shape
    kernel[(triton.cdiv(args["V"], args["BV"]), batch * heads)](**{**args, "T": time})


def delta_tuned(kernel, grid, args):
    batch, heads, time, width = args["q"].shape
    height = args["v"].shape[-1]
    sizes = {"T": time, "K": width, "V": height}
    kernel[lambda meta: (triton.cdiv(height, meta["BV"]), batch * heads)](**{**args, **sizes})


def delta_strides(kernel, grid, args):
    """Strides of every tensor but the contiguous output."""
    strides = {}
    for name in ("q", "k", "v", "beta"):
        batch, head, time = args[name].stride()[:3]
        strides.update({f"{name}_batch": batch, f"{name}_head": head, f"{name}_time": time})
    kernel[grid](**{**args, **strides})


def delta_fixed_stride(kernel, grid, args):
    kernel[grid](**{**args, "TIME": args["q"].stride(0)})
