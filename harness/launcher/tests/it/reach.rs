//! Launchers that are evaluated although a value, a module or a layer in them is not.

use super::launcher::{check, check_unknown, read};

/// The inputs that nothing decides, in the plain launch.
#[track_caller]
fn check_assumed(kernel: &str, launcher: &str, wanted: &[&str]) {
    let launches = read(kernel, launcher);
    let plain = launches.first().expect("a launch");
    assert_eq!(plain.unknown, Vec::<String>::new());
    assert_eq!(plain.assumed, wanted, "{}", plain.text);
}

/// The plain launch has these lines.
#[track_caller]
fn check_line(kernel: &str, launcher: &str, wanted: &str) {
    let launches = read(kernel, launcher);
    let plain = launches.first().expect("a launch");
    assert_eq!(plain.unknown, Vec::<String>::new());
    assert!(plain.text.contains(wanted), "{}", plain.text);
}

/// A kernel whose numbers reach values, an address, or both.
const SCALED: &str = "\
@triton.jit
def scaled(x, out, n, alpha, first, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + first + at, mask=at < n) * alpha
    tl.store(out + at, value, mask=at < n)


";

#[test]
fn a_number_of_elements_is_guessed_if_it_only_reaches_values() {
    let launcher = |alpha: &str, first: &str| {
        format!(
            "{SCALED}\
def scale(x, factor):
    out = torch.empty_like(x)
    scaled[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), {alpha}, {first}, BLOCK=64)
    return out
"
        )
    };
    check_line("scaled", &launcher("factor.item()", "0"), "alpha: 0.5\n");
    check_assumed("scaled", &launcher("factor.item()", "0"), &[]);
    check_unknown(
        "scaled",
        &launcher("2.0", "factor.item()"),
        "a value of a tensor's elements",
    );
    // A number that the caller passes is assumed if an address depends on it.
    check_assumed("scaled", &launcher("factor", "0"), &[]);
    check_assumed("scaled", &launcher("1.0", "factor"), &["factor"]);
}

#[test]
fn sizes_that_depend_on_a_passed_number_are_assumed() {
    check_assumed(
        "add",
        "\
def plus(x, count):
    out = torch.empty(x.shape[0] // count)
    add[(1,)](x, x, out, out.shape[0], 64)
    return out
",
        &["out"],
    );
}

#[test]
fn limits_of_dtypes_are_known() {
    check_line(
        "scaled",
        &format!(
            "{SCALED}\
def scale(x):
    out = torch.empty_like(x)
    scaled[(1,)](x, out, x.numel(), torch.finfo(torch.float8_e4m3fn).max, torch.iinfo(torch.int8).bits, BLOCK=64)
    return out
"
        ),
        "alpha: 448.0\n      first: 8\n",
    );
}

#[test]
fn sorted_tensors_have_shapes_and_are_assumed() {
    let launcher = "\
def ordered(x):
    values, indices = torch.sort(x)
    out = torch.empty_like(x)
    add[(1,)](values, indices, out, out.numel(), 64)
    return out
";
    check_line("add", launcher, "values: { dtype: f32, shape: [49], ");
    check_line("add", launcher, "indices: { dtype: i64, shape: [49], ");
    check_assumed("add", launcher, &["the elements of x", "the elements of y"]);
}

#[test]
fn shapes_of_torch_functions() {
    let check_shape = |expression: &str, shape: &str| {
        let launcher = format!(
            "\
def made(a, b):
    rows, cols = a.shape
    many, width = b.shape
    assert width == cols
    x = {expression}
    add[(1,)](x, x, x, 1, 64)
"
        );
        check_line("add", &launcher, &format!("x: {{ dtype: {shape}, fill"));
    };
    check_shape("torch.where(a > 0, a, 0)", "f32, shape: [33, 37]");
    check_shape("torch.maximum(a, a)", "f32, shape: [33, 37]");
    check_shape("a.max(dim=-1).values", "f32, shape: [33]");
    check_shape("a.argmax(dim=0)", "i64, shape: [37]");
    check_shape("torch.topk(a, 3, dim=1)[1]", "i64, shape: [33, 3]");
    check_shape("torch.nn.functional.linear(a, b)", "f32, shape: [33, 29]");
    check_shape("torch.prod(a, 1, keepdim=True)", "f32, shape: [33, 1]");
    check_shape("a.diff(dim=0)", "f32, shape: [32, 37]");
    check_shape("torch.tensor([[1.0, 2.0]])", "f32, shape: [1, 2]");
    check_shape("a.index_select(1, torch.arange(5))", "f32, shape: [33, 5]");
    check_shape("a.repeat_interleave(2, dim=0)", "f32, shape: [66, 37]");
}

#[test]
fn a_diagonal_is_a_view() {
    check_line(
        "copy",
        "\
def trace(x):
    rows, cols = x.shape
    out = torch.empty(cols)
    copy[(1,)](torch.diagonal(x), out, 1, rows, 0, BLOCK=64)
    return out
",
        "x: \"x.as_strided((33,), (50,))\"",
    );
}

#[test]
fn configurations_that_a_launcher_computes_are_used() {
    let configs = "[triton.Config({'BLOCK': size}, num_warps=4) for size in (256, 128)]";
    check_line(
        "add",
        &format!(
            "\
def plus(x):
    out = torch.empty_like(x)
    tuned = triton.autotune(configs={configs}, key=['n'])(add)
    n = out.numel()
    tuned[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, x, out, n)
    return out
"
        ),
        "- grid: [2]\n",
    );
    check_line(
        "add",
        &format!(
            "\
def plus(x):
    out = torch.empty_like(x)
    config = {configs}[0]
    n = out.numel()
    add[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, x, out, n, **config.kwargs)
    return out
"
        ),
        "BLOCK: 256",
    );
}

#[test]
fn a_compiled_kernel_is_launched() {
    check_line(
        "add",
        "\
def plus(x):
    out = torch.empty_like(x)
    kernel = add.warmup(x, x, out, 1, BLOCK=64, grid=(1,))
    programs = min(kernel.n_regs, 2)
    kernel[(programs, 1, 1)](x, x, out, out.numel(), 64)
    return out
",
        "- grid: [2, 1, 1]\n",
    );
}

#[test]
fn results_of_layers_are_inputs_that_are_assumed() {
    check_assumed(
        "add",
        "\
class Layer(torch.nn.Module):
    def __init__(self):
        super(Layer, self).__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        n = out.numel()
        add[(triton.cdiv(n, 64),)](y, y, out, n, 64)
        return out
",
        &["linear_output"],
    );
}

#[test]
fn a_module_is_not_called_by_its_own_super() {
    check_assumed(
        "add",
        "\
class Layer(torch.nn.Module):
    def __init__(self, size):
        super(Layer, self).__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        add[(1,)](x, x, out, out.numel(), 64)
        return out
",
        &[],
    );
}

#[test]
fn a_returned_launch_is_made() {
    check_line(
        "add",
        "\
def plus(self, x, device):
    assert x.device.type == device.type
    out = torch.empty_like(x)

    def launch():
        add[(1,)](x, x, out, out.numel(), 64)
        return out

    return launch
",
        "- grid: [1]\n",
    );
}

#[test]
fn strides_that_are_unpacked_show_the_rank() {
    check_line(
        "copy",
        "\
def pack(x):
    step, _ = x.stride()
    out = torch.empty_like(x)
    copy[(x.shape[0],)](x, out, x.shape[0], x.shape[1], step, BLOCK=64)
    return out
",
        "x: { dtype: f32, shape: [33, 49], ",
    );
}

#[test]
fn a_view_that_cuts_the_last_dimension_decides_its_size() {
    check(
        "add",
        "\
def grouped(x, y):
    groups = x.shape[1] // 8
    assert x.shape[1] % 8 == 0
    x = x.view(x.shape[0], groups, 8)
    y = y.view(y.shape[0], groups, 8)
    add[(1,)](x, y, x, 1, 64)
",
        r#"storages:
  x: { dtype: f32, shape: [33, 56], fill: { random: { seed: 1, edges: false } } }
  y: { dtype: f32, shape: [29, 56], fill: { random: { seed: 2, edges: false } } }
launches:
  - grid: [1]
    args:
      x: "x.view(33, 7, 8)"
      y: "y.view(29, 7, 8)"
      out: "x.view(33, 7, 8)"
      n: 1
      BLOCK: 64"#,
    );
}

#[test]
fn a_transposed_weight_is_as_large_as_the_kernel_needs() {
    check_line(
        "copy",
        "\
def turned(x, weight):
    rows, cols = x.shape
    assert weight.dim() == 2
    out = torch.empty(rows, cols)
    copy[(rows,)](weight.t(), out, rows, cols, weight.t().stride(0), BLOCK=64)
    return out
",
        "weight: { dtype: f32, shape: [49, 33], ",
    );
}

/// A launcher that computes indices with one kernel, and passes them to another one.
const TAKE: &str = "\
@triton.jit
def taken(x, indices, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + tl.load(indices + at)))


def take(x):
    indices = torch.empty(64, dtype=torch.int32)
    copy[(1,)](indices, indices, 1, 64, 64, BLOCK=64)
    out = torch.empty(64)
    taken[(1,)](x, indices, out, BLOCK=64)
    return out
";

#[test]
fn indices_that_another_kernel_computes_are_assumed() {
    check_assumed("taken", TAKE, &["the elements of indices"]);
}

#[test]
fn a_vector_whose_size_nothing_decides_has_room() {
    let launches = read("taken", TAKE);
    let plain = launches.first().expect("a launch");
    let sized: Vec<(&str, bool)> = plain
        .tensors
        .iter()
        .map(|tensor| (tensor.storage.as_str(), tensor.is_sized))
        .collect();
    assert_eq!(sized, [("x", false), ("indices", true), ("out", true)]);
}

#[test]
fn numbers_in_tensors_that_a_launcher_makes_are_known() {
    let check_rows = |expression: &str, rows: &str| {
        let launcher = format!(
            "\
def rows_of(x):
    *batch, cols = x.shape
    x = x.view(-1, cols)
    rows = {expression}
    out = torch.empty((rows, cols), device=x.device)
    copy[(rows,)](x, out, rows, cols, x.stride(0), BLOCK=64)
    return out
"
        );
        check_line("copy", &launcher, rows);
    };
    check_rows("int(torch.prod(torch.tensor([2, 3, 4])))", "rows: 24\n");
    check_rows(
        "torch.tensor([2, 3]).sum().item() if False else torch.tensor([7, 3]).max()",
        "rows: 7\n",
    );
    check_rows("torch.tensor(9).item()", "rows: 9\n");
    check_rows("torch.tensor([6, 5]).tolist()[1]", "rows: 5\n");
}

#[test]
fn a_comparison_of_elements_is_a_tensor() {
    let launcher = |count: &str| {
        format!(
            "{SCALED}\
def scale(x, target):
    kept = target != -100
    count = {count}
    out = torch.empty_like(x)
    scaled[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), count, 0, BLOCK=64)
    return out
"
        )
    };
    // Its sum only reaches values.
    check_line("scaled", &launcher("kept.sum().item()"), "alpha: 0.5\n");
    check_line("scaled", &launcher("kept.shape[0]"), "alpha: 49\n");
}

#[test]
fn generators_dtypes_and_names_are_known() {
    check_line(
        "add",
        "\
def parts(n, most):
    start = 0
    while start < n:
        yield start, min(start + most, n)
        start += most


def plus(x, name):
    out = torch.empty(x.shape, dtype=torch.get_default_dtype())
    if '_' in name:
        name = name.split('_')[0]
    whole = triton.reinterpret(x, tl.float32) if hasattr(tl, 'gather') else None
    for start, end in parts(x.numel(), 40):
        add[(1,)](whole, x, out, end, 64)
    return out
",
        "n: 40\n",
    );
}

#[test]
fn computed_values_of_configurations_are_used() {
    check_line(
        "tuned",
        "\
SIZES = list({64})


@triton.autotune(configs=[triton.Config({'BLOCK': size}) for size in SIZES], key=['n'])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 1.0, mask=at < n)


def fill(x):
    tuned[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, x.numel())
",
        "BLOCK: 64",
    );
}

/// A convolution without padding: its output is smaller than its input by the filter.
const CONVOLVE: &str = "\
@triton.jit
def convolve(x, weight, out, length, width, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for tap in range(width):
        total += tl.load(x + tl.program_id(1) * length + at + tap, mask=at < size) * tl.load(weight + tap)
    tl.store(out + tl.program_id(1) * size + at, total, mask=at < size)


def convolve_rows(x, weight):
    rows, length = x.shape
    width, = weight.shape
    size = length - width + 1
    out = torch.empty((rows, size), device=x.device)
    convolve[(triton.cdiv(size, 64), rows)](x, weight, out, length, width, size, BLOCK=64)
    return out
";

#[test]
fn a_filter_is_smaller_than_what_it_is_applied_to() {
    // Blocks make the input longer, and not the filter.
    check_line("convolve", CONVOLVE, "x: { dtype: f32, shape: [33, 97]");
    check_line("convolve", CONVOLVE, "weight: { dtype: f32, shape: [3]");
    let reversed = CONVOLVE.replace("length - width + 1", "length - 3 * width + 1");
    check_line("convolve", &reversed, "weight: { dtype: f32, shape: [3]");
}

#[test]
fn members_of_enumerations_are_known() {
    check_line(
        "copy",
        "\
class Rows(Enum):
    FEW = 3
    MANY = 9


def copy_some(x):
    rows, cols = x.shape
    out = torch.empty((Rows.MANY.value, cols), device=x.device)
    copy[(Rows.FEW.value,)](x, out, Rows.FEW.value, cols, x.stride(0), BLOCK=64)
    return out
",
        "out: { dtype: f32, shape: [9, 49]",
    );
}

#[test]
fn equal_parts_of_shapes_show_ranks() {
    check_line(
        "add",
        "\
def add_rows(x, y):
    rows, cols, depth = x.shape
    assert len(x) == len(y) and x.shape[1:] == y.shape[1:]
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out
",
        "y: { dtype: f32, shape: [3, 33, 49]",
    );
}
