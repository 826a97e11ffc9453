@triton.jit
def kernel(x, n: tl.constexpr = 1, *, flag=None):
    pass


def launch(kernel, grid, args):
    kernel[list(grid)](**args)


def make():
    return kernel
made = make()
