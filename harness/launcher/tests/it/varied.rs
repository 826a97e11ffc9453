//! Which inputs are varied, and what a file states about them.

use super::launcher::{check, read};

/// The launches have variants of these names.
#[track_caller]
fn check_variants(kernel: &str, launcher: &str, wanted: &[&str]) {
    let launches = read(kernel, launcher);
    let variants: Vec<&str> = launches.iter().map(|launch| launch.variant.as_str()).collect();
    let missing: Vec<&&str> = wanted.iter().filter(|one| !variants.contains(*one)).collect();
    assert!(missing.is_empty(), "{missing:?} in {variants:?}");
}

#[test]
fn a_launcher_that_reads_the_rank_gets_inputs_of_other_ranks() {
    check_variants(
        "copy",
        "\
def pack(x, scale):
    rows = x.unsqueeze(0) if x.ndim == 1 else x.flatten(0, -2)
    out = torch.empty_like(rows)
    copy[(rows.shape[0],)](rows, out, rows.shape[0], rows.shape[1], rows.stride(0), BLOCK=64)
    return out
",
        &["x[49, 33]", "x of rank 1", "x of rank 3"],
    );
}

#[test]
fn texts_that_a_launcher_knows_are_passed() {
    check_variants(
        "add",
        "\
SCALES = {'none': 1, 'mean': 2}

def plus(x, y, reduction='mean', mode='fast'):
    n = x.numel() // SCALES[reduction]
    out = torch.empty_like(x)
    if mode == 'exact':
        n = n - 1
    add[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)
    return out
",
        &["reduction=none", "mode=exact"],
    );
}

#[test]
fn numbers_that_a_launcher_tests_for_are_passed() {
    let launcher = "\
def plus(x, y, dim, size):
    n = x.numel()
    out = torch.empty_like(x)
    if dim == 1:
        n = n - 1
    if size != 3:
        n = n - 1
    add[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)
    return out
";
    check_variants("add", launcher, &["dim=0", "size=2"]);
}

#[test]
fn a_size_is_made_larger_than_what_it_is_cut_off_at() {
    check_variants(
        "add",
        "\
def plus(x, y):
    n = x.numel()
    block = min(256, n)
    out = torch.empty_like(x)
    add[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block)
    return out
",
        &["x[385]"],
    );
}

#[test]
fn what_warmup_returns_is_launched_with_its_constants() {
    check(
        "add",
        "\
def plus(x, y):
    n = x.numel()
    out = torch.empty_like(x)
    kernel = add.warmup(x, y, out, n, BLOCK=64, grid=(1,))
    kernel._init_handles()
    kernel[(triton.cdiv(n, 64), 1, 1)](x, y, out, n)
    return out
",
        r#"storages:
  x: { dtype: f32, shape: [97], fill: { random: { seed: 1, edges: false } } }
  y: { dtype: f32, shape: [97], fill: { random: { seed: 2, edges: false } } }
  out: { dtype: f32, shape: [97], fill: uninit }
launches:
  - grid: [2, 1, 1]
    args:
      x: "x"
      y: "y"
      out: "out"
      n: 97
      BLOCK: 64"#,
    );
}

#[test]
fn the_first_size_of_an_input_stays_its_first() {
    check(
        "copy",
        "\
def product(a, b):
    assert a.shape[1] == b.shape[0]
    rows, inner = a.shape
    _, cols = b.shape
    out = torch.empty((rows, cols), dtype=a.dtype)
    copy[(inner,)](b, out, inner, cols, b.stride(0), BLOCK=64)
    return out
",
        r#"storages:
  b: { dtype: f32, shape: [49, 29], fill: { random: { seed: 1, edges: false } } }
  out: { dtype: f32, shape: [33, 29], fill: uninit }
launches:
  - grid: [49]
    args:
      x: "b"
      out: "out"
      rows: 49
      cols: 29
      stride: "(b).stride(0)"
      BLOCK: 64"#,
    );
}

#[test]
fn inputs_that_the_file_states_are_used_where_others_are_assumed() {
    let launches = read(
        "copy",
        "\
class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(8, features)
        self.weight = torch.nn.Parameter(torch.empty(features, features))

    def forward(self, x):
        hidden = self.linear(x)
        out = torch.empty_like(hidden)
        copy[(5,)](hidden, out, 5, 16, hidden.stride(0), BLOCK=16)
        return out

def get_init_inputs():
    return [16]

def get_inputs():
    return [torch.randn(5, 8, dtype=torch.float16)]
",
    );
    let stated = launches
        .iter()
        .find(|launch| launch.assumed.is_empty())
        .expect("a launch");
    let wanted = "hidden: { dtype: f16, shape: [5, 16], fill: ";
    assert!(stated.text.contains(wanted), "{}", stated.text);
}

#[test]
fn half_of_a_size_becomes_a_multiple() {
    check(
        "copy",
        "\
def halves(x, group=128):
    width = x.shape[1] // 2
    assert width % group == 0
    out = torch.empty((x.shape[0], width), dtype=x.dtype)
    copy[(x.shape[0],)](x, out, x.shape[0], width, x.stride(0), BLOCK=group)
    return out
",
        r#"storages:
  x: { dtype: f32, shape: [33, 256], fill: { random: { seed: 1, edges: false } } }
  out: { dtype: f32, shape: [33, 128], fill: uninit }
launches:
  - grid: [33]
    args:
      x: "x"
      out: "out"
      rows: 33
      cols: 128
      stride: "(x).stride(0)"
      BLOCK: 128"#,
    );
}
