

def memory_of(values, device):
    """Memory of its own that holds the bytes of these values."""
    data = values.reshape(values.numel()).view(torch.uint8)
    whole = torch.full((data.numel() + 2 * GUARD,), GUARD_BYTE, dtype=torch.uint8)
    whole[GUARD : GUARD + data.numel()] = data
    return whole.to(device)[GUARD : GUARD + data.numel()]


def packed(text):
    """The bytes that a text stands for."""
    return torch.frombuffer(bytearray(zlib.decompress(base64.b64decode(text))), dtype=torch.uint8)


def view_of(memory, dtype, shape, strides=None, offset=0):
    """A tensor in this memory; strides and offset count elements."""
    if strides is None:
        strides, step = [], 1
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= max(extent, 1)
    size = torch.empty(0, dtype=dtype).element_size()
    typed = memory[: memory.numel() // size * size].view(dtype)
    return typed.as_strided(shape, tuple(strides), typed.storage_offset() + offset)


class NoGpu:
    """What a compiler asks about the GPU that is not there."""

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", CAPABILITY, 32)

    def get_device_capability(self, device=0):
        return divmod(CAPABILITY, 10)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=0):
        return 0

    def get_active_torch_device(self):
        return torch.device("cpu")


def compile_only():
    """From now on kernels are compiled, and not launched. If the compiler fails, the process ends with REFUSED."""
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction

    driver.set_active(NoGpu())
    real = JITFunction.run

    def run(self, *args, grid, warmup=False, **options):
        try:
            return real(self, *args, grid=grid, warmup=True, **options)
        except Exception:
            traceback.print_exc()
            os._exit(REFUSED)

    JITFunction.run = run


def run_here():
    """Makes the launches and prints what they leave in memory."""
    if "TRITON_INTERPRET" not in os.environ and not torch.cuda.is_available():
        compile_only()
        launches("cpu")
        print(COMPILED)
        return
    left = {}
    for name, memory in launches("cuda" if torch.cuda.is_available() else "cpu").items():
        whole = memory.as_strided((memory.numel() + 2 * GUARD,), (1,), memory.storage_offset() - GUARD)
        left[name] = base64.b64encode(bytes(whole.cpu().tolist())).decode()
    print(MARK + json.dumps(left))


def run_in_child(way):
    """Returns the memory after the launches, interpreted or compiled; or the reason why there is none."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    if way == "interpreted":
        environment["TRITON_INTERPRET"] = "1"
    command = [sys.executable, os.path.abspath(__file__), "--run"]
    try:
        child = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return None, "it had not ended after 300 s"
    found = [line for line in child.stdout.splitlines() if line.startswith(MARK)]
    if child.returncode == 0 and found:
        left = json.loads(found[-1][len(MARK) :])
        return {name: base64.b64decode(text) for name, text in left.items()}, None
    if COMPILED in child.stdout.splitlines():
        return {}, None
    last = "\n".join(child.stderr.strip().splitlines()[-12:])
    # A signal ends a compiler that crashes.
    if way == "compiled" and not torch.cuda.is_available() and child.returncode not in (REFUSED, *range(-64, 0)):
        return {}, None
    return None, f"it ended with {child.returncode}\n{last}"


def as_value(data, dtype):
    """The element that these bytes are; the bytes themselves where no tensor shows them."""
    if dtype is None:
        return data.hex()
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(getattr(torch, dtype))[0].item()


def is_right(data, wanted, dtype, accepted):
    """Whether an element is what is expected, or in the range that rounding leaves open."""
    value, other = as_value(data, dtype), as_value(wanted, dtype)
    if data == wanted or not isinstance(value, float):
        return data == wanted
    if math.isnan(value) or math.isnan(other):
        return math.isnan(value) and math.isnan(other)
    return accepted is not None and accepted[0] <= value <= accepted[1]


def compare_all():
    """Runs the kernel both ways and says which of them is wrong."""
    has_gpu = torch.cuda.is_available()
    gpu = torch.cuda.get_device_name() if has_gpu else "none"
    print(f"Triton {triton.__version__}, torch {torch.__version__}, GPU: {gpu}")
    print(f"expected: {MEANT}")
    wrong, memories = False, []
    for way in ("interpreted", "compiled"):
        left, failure = run_in_child(way)
        if way == "compiled" and not has_gpu and (failure is None or not FINISHES):
            print("compiled: not known, there is no GPU to run it; the compiler does not fail")
            continue
        bad = failure is not None if FINISHES else failure is None
        lines = [] if failure is None else failure.splitlines()
        if left is not None:
            memories.append(left)
            for name, byte, wanted, dtype, accepted in EXPECTED:
                wanted = bytes.fromhex(wanted)
                got = left[name][GUARD + byte : GUARD + byte + len(wanted)]
                right = is_right(got, wanted, dtype, accepted)
                bad = bad or not right
                at = f"{name}[{byte // len(wanted)}]" if dtype else f"{name} at byte {byte}"
                lines.append(f"{at}: {as_value(got, dtype)}, expected {as_value(wanted, dtype)}")
        print(f"{way}: {'WRONG' if bad else 'as expected'}")
        for line in lines:
            print(f"    {line}")
        wrong = wrong or bad
    if len(memories) == 2:
        same = memories[0] == memories[1]
        print(f"interpreted and compiled leave {'the same' if same else 'different'} memory")
    return 1 if wrong else 0


if __name__ == "__main__":
    if "--run" in sys.argv:
        run_here()
    else:
        sys.exit(compare_all())
