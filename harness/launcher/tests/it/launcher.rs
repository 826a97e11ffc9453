//! Launches that the functions beside a kernel make, evaluated with stand-in tensors.

use cerith_case::{Corpus, Input};
use cerith_launcher::{Change, HostLaunch, Origin, read_launches};

/// A kernel that any launcher here can launch: it copies rows.
const KERNEL: &str = "\
import math
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, out, rows, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < cols)
    tl.store(out + row * cols + at, value, mask=at < cols)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


";

/// The launches of a kernel by a launcher. Each must be a case file that can be resolved.
pub fn read(kernel: &str, launcher: &str) -> Vec<HostLaunch> {
    let text = format!("{KERNEL}{launcher}");
    let mut launches = read_launches(&text, "k.py", kernel);
    for launch in launches.iter().filter(|launch| launch.unknown.is_empty()) {
        let corpus = Corpus::load([
            Input::from_text("k.yaml", launch.text.as_str()),
            Input::from_text("k.py", text.as_str()),
        ]);
        assert_eq!(corpus.problems(), [], "{}", launch.text);
        for entry in corpus.entries() {
            if let Err(problems) = entry.resolve() {
                panic!("{problems:#?}\n{}", launch.text);
            }
        }
    }
    launches.retain(|launch| launch.change != Change::AllSizes);
    launches
}

/// The plain launch has these lines, without `about` and `kernel`.
#[track_caller]
pub fn check(kernel: &str, launcher: &str, wanted: &str) {
    let launches = read(kernel, launcher);
    let plain = launches.first().expect("a launch");
    assert_eq!(plain.unknown, Vec::<String>::new());
    assert_eq!(plain.variant, "");
    let text: Vec<&str> = plain.text.lines().skip(2).collect();
    assert_eq!(text.join("\n"), wanted.trim_end());
}

/// No launch could be evaluated, for a reason with this text.
#[track_caller]
pub fn check_unknown(kernel: &str, launcher: &str, wanted: &str) {
    let launches = read(kernel, launcher);
    assert!(
        launches.iter().all(|launch| launch.text.is_empty()),
        "{launches:#?}"
    );
    let mut reasons = launches.iter().flat_map(|launch| &launch.unknown);
    assert!(reasons.any(|reason| reason.contains(wanted)), "{launches:#?}");
}

/// The variants of the launches.
fn variants(kernel: &str, launcher: &str) -> Vec<String> {
    read(kernel, launcher)
        .into_iter()
        .map(|launch| launch.variant)
        .collect()
}

const ADD: &str = "\
def plus(x, y):
    assert x.shape == y.shape
    out = torch.empty_like(x)
    n = out.numel()
    grid = lambda meta: (triton.cdiv(n, meta['BLOCK']),)
    add[grid](x, y, out, n, BLOCK=64)
    return out
";

#[test]
fn sizes_that_an_assertion_equates_are_one_and_fill_more_than_a_block() {
    check(
        "add",
        ADD,
        r#"storages:
  x: { dtype: f32, shape: [97], fill: { random: { seed: 1, edges: false } } }
  y: { dtype: f32, shape: [97], fill: { random: { seed: 2, edges: false } } }
  out: { dtype: f32, shape: [97], fill: uninit }
launches:
  - grid: [2]
    args:
      x: "x"
      y: "y"
      out: "out"
      n: 97
      BLOCK: 64"#,
    );
}

#[test]
fn storages_have_origins_and_returned_ones_are_marked() {
    let launches = read("add", ADD);
    let plain = launches.first().expect("a launch");
    let tensors: Vec<(&str, Origin, bool)> = plain
        .tensors
        .iter()
        .map(|tensor| (tensor.storage.as_str(), tensor.origin, tensor.is_returned))
        .collect();
    assert_eq!(
        tensors,
        [
            ("x", Origin::Input, false),
            ("y", Origin::Input, false),
            ("out", Origin::Empty, true)
        ]
    );
    assert_eq!((plain.host.as_str(), plain.line), ("plus", 27));
    assert_eq!(plain.assumed, Vec::<String>::new());
    assert!(
        plain
            .text
            .starts_with("about: \"plus, line 27: the plain launch\"\nkernel: k.py:add\n")
    );
}

#[test]
fn other_launches_only_show_relations_of_sizes() {
    let all = read_launches(&format!("{KERNEL}{ADD}"), "k.py", "add");
    let sized = all.iter().filter(|launch| launch.change == Change::AllSizes);
    let texts: std::collections::BTreeSet<&str> = sized.map(|launch| launch.text.as_str()).collect();
    assert_eq!(texts.len(), 6, "{texts:#?}");
}

#[test]
fn one_thing_is_varied_at_a_time() {
    assert_eq!(
        variants("add", ADD),
        ["", "x[199]", "float16", "x[1]", "bfloat16", "x[64]", "x[128]"]
    );
}

#[test]
fn rows_are_padded_or_transposed_unless_an_assertion_refuses_that() {
    let launcher = |line: &str| {
        format!(
            "\
def copied(x):
    rows, cols = x.shape
    {line}
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    copy[(rows,)](x, out, rows, cols, x.stride(0), BLOCK=triton.next_power_of_2(cols))
    return out
"
        )
    };
    let layouts = |line: &str| -> Vec<String> {
        let all = variants("copy", &launcher(line));
        all.into_iter().filter(|one| one.ends_with(" x")).collect()
    };
    assert_eq!(layouts("pass"), ["padded x", "transposed x"]);
    assert_eq!(layouts("assert x.stride(1) == 1"), ["padded x"]);
    assert_eq!(layouts("assert x.is_contiguous()"), Vec::<String>::new());
    // A copy is as the plain launch, which is there.
    assert_eq!(layouts("x = x.contiguous()"), Vec::<String>::new());
    let padded = read("copy", &launcher("pass"));
    let padded = padded
        .iter()
        .find(|launch| launch.variant == "padded x")
        .expect("padded");
    assert!(
        padded.text.contains("x: { dtype: f32, shape: [33, 54],"),
        "{}",
        padded.text
    );
    assert!(padded.text.contains("x: \"x[..., :49]\"\n"), "{}", padded.text);
    assert!(
        padded.text.contains("stride: \"(x[..., :49]).stride(0)\"\n"),
        "{}",
        padded.text
    );
}

#[test]
fn conditions_decide_sizes_ranks_dtypes_and_values() {
    check(
        "copy",
        "\
def copied(x, mode, strict=False):
    if x.dim() != 2:
        raise ValueError('two dimensions')
    assert x.dtype in (torch.float16, torch.bfloat16)
    assert x.shape[1] % 16 == 0 and x.size(0) <= 4
    if mode == 'none':
        raise ValueError(mode)
    elif not strict:
        raise ValueError('strict')
    out = x.new_zeros(x.shape)
    copy[(x.shape[0],)](x, out, *x.shape, x.stride(0), BLOCK=max(16, triton.next_power_of_2(x.shape[1])), num_warps=8)
",
        r#"storages:
  x: { dtype: f16, shape: [4, 64], fill: { random: { seed: 1, edges: false } } }
  out: { dtype: f16, shape: [4, 64], fill: zeros }
launches:
  - grid: [4]
    args:
      x: "x"
      out: "out"
      rows: 4
      cols: 64
      stride: "(x).stride(0)"
      BLOCK: 64
    options: { num_warps: 8 }"#,
    );
}

#[test]
fn a_name_for_two_sizes_says_that_they_are_equal() {
    check(
        "add",
        "\
def plus(a, b):
    M, K = a.shape
    K, N = b.shape
    out = torch.full((M, K), 2.0, device=a.device)
    add[(1,)](a, b.t(), out, M * K, 2048)
",
        r#"storages:
  a: { dtype: f32, shape: [33, 49], fill: { random: { seed: 1, edges: false } } }
  b: { dtype: f32, shape: [49, 37], fill: { random: { seed: 2, edges: false } } }
  out: { dtype: f32, shape: [33, 49], fill: { full: 2.0 } }
launches:
  - grid: [1]
    args:
      x: "a"
      y: "b.t()"
      out: "out"
      n: 1617
      BLOCK: 2048"#,
    );
}

#[test]
fn an_input_of_any_rank_has_rows_if_they_are_programs() {
    for (launcher, grid) in [
        (
            "\
def flatten(x):
    last = x.shape[-1]
    rows = x.reshape(-1, last)
    out = torch.empty_like(rows)
    copy[(rows.shape[0],)](rows, out, rows.shape[0], last, last, BLOCK=64)
",
            "  - grid: [33]\n",
        ),
        // Its dimensions are known.
        (
            "\
def flatten(x):
    assert x.ndim == 1
    last = x.shape[-1]
    rows = x.reshape(-1, last)
    out = torch.empty_like(rows)
    copy[(rows.shape[0],)](rows, out, rows.shape[0], last, last, BLOCK=64)
",
            "  - grid: [1]\n",
        ),
    ] {
        let launches = read("copy", launcher);
        let plain = launches.first().expect("a launch");
        assert!(plain.text.contains(grid), "{}", plain.text);
    }
}

#[test]
fn tensors_whose_sizes_the_launcher_does_not_read_are_as_large_as_the_kernel_needs() {
    let launches = read(
        "add",
        "\
def plus(x, bias):
    add[(1,)](x, bias, x, x.numel(), 64)
",
    );
    let plain = launches.first().expect("a launch");
    assert!(
        plain.text.contains("bias: { dtype: f32, shape: [49],"),
        "{}",
        plain.text
    );
    // The same tensor twice is one storage.
    assert!(
        plain
            .text
            .contains("x: \"x\"\n      y: \"bias\"\n      out: \"x\"\n"),
        "{}",
        plain.text
    );
}

#[test]
fn helpers_methods_and_autograd_functions_are_called() {
    let launcher = "\
def blocks(n, block):
    return (n + block - 1) // block


def launch(x, out):
    n = x.numel()
    add[(blocks(n, 32),)](x, x, out, n, BLOCK=32)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        launch(x, out)
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensors
        dx = torch.zeros_like(x)
        launch(dy, dx)
        return dx


def twice(x):
    return Twice.apply(x.contiguous())
";
    let launches = read("add", launcher);
    let hosts: Vec<(&str, u32)> = launches.iter().map(|one| (one.host.as_str(), one.line)).collect();
    assert!(hosts.iter().all(|host| *host == ("launch", 28)), "{hosts:?}");
    assert!(
        launches
            .iter()
            .any(|one| one.text.contains("dx: { dtype: f32, shape: [49], fill: zeros }"))
    );
    assert!(launches.iter().any(|one| {
        one.text
            .contains("out: { dtype: f32, shape: [49], fill: uninit }")
    }));
}

#[test]
fn the_second_launch_of_a_loop_finds_what_the_first_one_left() {
    let launches = read(
        "add",
        "\
def total(parts):
    out = torch.empty_like(parts[0])
    for part in parts:
        add[(1,)](part, out, out, part.numel(), BLOCK=64)
    return out
",
    );
    let origins = |nth: usize| {
        let launch = launches.get(nth).expect("a launch");
        let out = launch
            .tensors
            .iter()
            .find(|tensor| tensor.storage == "out")
            .expect("out");
        (launch.variant.clone(), out.origin)
    };
    assert_eq!(origins(0), (String::new(), Origin::Empty));
    assert_eq!(origins(1), ("launched again".to_owned(), Origin::Computed));
}

#[test]
fn configurations_and_heuristics_give_parameters() {
    let text = "\
@triton.autotune(configs=[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 32})], key=['n'])
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 0.0, mask=at < n)


def clear(x):
    tuned[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, x.numel())
";
    let all = read_launches(&format!("{KERNEL}{text}"), "k.py", "tuned");
    let plain = all.first().expect("a launch");
    assert!(
        plain
            .text
            .ends_with("  - grid: [2]\n    args:\n      x: \"x\"\n      n: 49\n      BLOCK: 32\n"),
        "{}",
        plain.text
    );
    let other = all
        .iter()
        .find(|one| one.variant == "configuration 1")
        .expect("the other one");
    assert!(
        other.text.contains("grid: [1]") && other.text.contains("BLOCK: 64"),
        "{}",
        other.text
    );
}

#[test]
fn a_branch_with_the_launch_is_taken() {
    let launches = read(
        "add",
        "\
def plus(x, y, fast=False):
    if not x.is_cuda or not fast:
        return x + y
    n = x.numel()
    if n < 1000:
        return None
    out = torch.empty_like(x)
    add[(triton.cdiv(n, 256),)](x, y, out, n, 256)
    return out
",
    );
    let plain = launches.first().expect("a launch");
    assert!(plain.unknown.is_empty(), "{plain:?}");
    assert!(plain.text.contains("n: 1000\n"), "{}", plain.text);
}

#[test]
fn descriptors_tuples_and_functions_are_arguments() {
    let launches = read_launches(
        &format!(
            "{KERNEL}\
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def moved(desc, shape, out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), 0.0)


def move(x):
    rows, cols = x.shape
    desc = TensorDescriptor.from_tensor(x, [16, 16])
    moved[(1,)](desc, (rows, cols), x, BLOCK=16)
"
        ),
        "k.py",
        "moved",
    );
    let plain = launches.first().expect("a launch");
    assert!(
        plain
            .text
            .contains("desc: { descriptor: \"x\", block_shape: [16, 16] }\n      shape: [33, 49]\n"),
        "{plain:?}"
    );
}

#[test]
fn what_is_not_evaluated_poisons_what_depends_on_it() {
    check_unknown(
        "add",
        "\
def plus(x, y):
    n = count(x)
    add[(1,)](x, y, x, n, 64)
",
        "`n`: `count` is not defined in the file",
    );
    check_unknown(
        "add",
        "\
def plus(x, lengths):
    add[(lengths.max().item(),)](x, x, x, x.numel(), 64)
",
        "the grid: ",
    );
    check_unknown(
        "add",
        "\
def plus(x):
    assert x.numel() > 5 and x.numel() < 3
    add[(1,)](x, x, x, x.numel(), 64)
",
        "the assertion of line 23",
    );
}

#[test]
fn hostile_launchers_end() {
    for launcher in [
        "def f(x):\n    while True:\n        x = x + x\n    add[(1,)](x, x, x, 1, 64)\n",
        "def f(x):\n    return f(x) + add[(1,)](x, x, x, 1, 64)\n",
        "def f(x):\n    add[(10 ** 30,)](x, x, x, 1 << 62, 64)\n",
        "def f(x):\n    y = torch.empty(1 << 40)\n    add[(1,)](x, y, y, 1, 64)\n",
        "a = b\nb = a\ndef f(x):\n    add[(a,)](x, x, x, 1, 64)\n",
        "def f(x):\n    l = []\n    l.append(l)\n    add[(1,)](x, x, x, l, 64)\n    return l\n",
        "def f(x):\n    add[(-5, 0)](x, x, x, x.shape[-9], x.stride(-9223372036854775808))\n",
        "def f(x):\n    add[(1,)](x[5:3:-2], x[..., None, 9:], x.view(-1, -1), 3 // 0, 3 % 0)\n",
        "def f(x):\n    f2 = lambda g: g(g)\n    add[(f2(f2),)](x, x, x, 1, 64)\n",
        "def f(*x, **y):\n    add[x](*x, **y)\n",
        "def f(x):\n    n = x.numel() * 9223372036854775807\n    add[(n,)](x, x, x, -n - n, 64 << n)\n",
        "def f(x):\n    y = x.chunk(9223372036854775807)\n    z = x.narrow(0, 9223372036854775807, 9)\n    add[(1,)](x, x, x, -9223372036854775807 % 3, x.flatten(-9, 9223372036854775806))\n",
        "def f(x):\n    add[(1,)](x.expand(-1, 10 ** 9), x.permute(5, 5), x.t().t(), 1, 64)\n",
    ] {
        drop(read("add", launcher));
    }
}

#[test]
fn what_an_earlier_turn_of_an_unknown_loop_may_write_is_written() {
    let launcher = |loops: &str| {
        format!(
            "def plus(x, y):\n    out = torch.empty_like(x)\n    {loops}:\n        \
             add[(1,)](out, y, x, x.numel(), BLOCK=64)\n        out[0].copy_(x[0])\n    return out\n"
        )
    };
    let fill = |loops: &str| {
        let launches = read("add", &launcher(loops));
        let plain = launches.first().expect("a launch").text.clone();
        let line = plain.lines().find(|line| line.starts_with("  out:"));
        line.is_some_and(|line| line.contains("uninit"))
    };
    assert!(fill("if True"));
    assert!(!fill("for i in range(int(x.sum().item()))"));
    assert!(!fill("if x.sum().item() > 2"));
}

#[test]
fn values_of_constexprs_and_names_of_devices_are_known() {
    let launcher = "WIDTH = tl.constexpr(64)\n\ndef plus(x, y):\n    assert 'cuda' in str(x.device)\n    \
                    out = torch.empty_like(x)\n    add[(1,)](x, y, out, x.numel(), BLOCK=WIDTH.value)\n    return out\n";
    let launches = read("add", launcher);
    let plain = launches.first().expect("a launch");
    assert!(plain.text.contains("BLOCK: 64"), "{plain:#?}");
}

/// The plain launch of `copy` has these rows, columns and shape of `out`.
#[track_caller]
fn check_sizes(launcher: &str, rows: u32, cols: u32, out: &str) {
    let launches = read("copy", launcher);
    let plain = launches.first().expect("a launch");
    assert_eq!(plain.unknown, Vec::<String>::new());
    for part in [
        format!("rows: {rows}\n"),
        format!("cols: {cols}\n"),
        format!("out: {{ dtype: f32, shape: {out}"),
    ] {
        assert!(plain.text.contains(&part), "{part} in {}", plain.text);
    }
}

#[test]
fn sizes_that_a_launcher_divides_by_others_are_multiples_of_them() {
    let launch =
        "    copy[(rows,)](x, out, rows, cols, cols, BLOCK=triton.next_power_of_2(cols))\n    return out\n";
    // `len(w)` columns a row.
    check_sizes(
        &format!(
            "def f(x, w):\n    assert x.dim() == 1 and w.shape[0] == 48\n    cols = w.shape[0]\n    rows = x.shape[0] // cols\n    \
             out = torch.empty_like(x)\n{launch}"
        ),
        2,
        48,
        "[96]",
    );
    // A block may leave a rest.
    let launches = read(
        "add",
        "def f(x, y):\n    assert x.shape == y.shape\n    out = torch.empty_like(x)\n    n = x.numel()\n    \
         add[(n // 64,)](x, y, out, n, BLOCK=64)\n    return out\n",
    );
    assert!(launches[0].text.contains("n: 97\n"), "{}", launches[0].text);
}

#[test]
fn chunks_have_one_size() {
    check_sizes(
        "def f(xy):\n    assert xy.dim() == 2\n    x, y = xy.chunk(2, dim=-1)\n    rows, cols = x.shape\n    \
         out = torch.empty(rows, y.shape[1])\n    \
         copy[(rows,)](x, out, rows, cols, x.stride(0), BLOCK=triton.next_power_of_2(cols))\n    return out\n",
        33,
        25,
        "[33, 25]",
    );
}

#[test]
fn lists_change_where_a_launcher_changes_them() {
    let launch = "    out = torch.empty(shape)\n    \
                  copy[(rows,)](x, out, rows, cols, x.stride(0), BLOCK=triton.next_power_of_2(cols))\n    return out\n";
    let head = "def f(x, at):\n    rows, cols = x.shape\n    shape = [rows, cols, 7]\n";
    check_sizes(&format!("{head}    del shape[-1]\n{launch}"), 33, 49, "[33, 49]");
    check_sizes(
        &format!("{head}    shape[-1] = 1\n{launch}"),
        33,
        49,
        "[33, 49, 1]",
    );
    check_unknown(
        "copy",
        &format!("{head}    shape[unknown()] = 1\n{launch}"),
        "an item of a list whose position is not known",
    );
}
