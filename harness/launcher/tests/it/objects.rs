//! Instances of classes that a file defines, parts of nested tensors, and orders of sizes.

use cerith_launcher::read_launches;

use super::launcher::read;

/// The plain launch has these lines.
#[track_caller]
fn check(kernel: &str, launcher: &str, wanted: &[&str]) {
    let launches = read(kernel, launcher);
    let plain = launches.first().expect("a launch");
    assert_eq!(plain.unknown, Vec::<String>::new());
    for line in wanted {
        assert!(
            plain.text.lines().any(|one| one == *line),
            "{line}\n{}",
            plain.text
        );
    }
}

#[test]
fn constructors_class_bodies_properties_and_methods_are_evaluated() {
    check(
        "add",
        "
class Base:
    margin: int = 8


class Limits(Base):
    def __init__(self, block):
        self._block = block

    @property
    def block(self):
        return self._block // 2

    def count(self, n):
        return triton.cdiv(n, self.block + self.margin)


def plus(x, y):
    assert x.shape == y.shape
    limits = Limits(112)
    out = torch.empty_like(x)
    add[(limits.count(out.numel()),)](x, y, out, out.numel(), BLOCK=limits.block + limits.margin)
    return out
",
        &["  - grid: [2]", "      BLOCK: 64"],
    );
    check(
        "add",
        "
@dataclass
class Config:
    block: int
    more: int = 32


def plus(x, y):
    assert x.shape == y.shape
    config = Config(32)
    out = torch.empty_like(x)
    add[(triton.cdiv(out.numel(), 64),)](x, y, out, out.numel(), BLOCK=config.block + config.more)
    return out
",
        &["      BLOCK: 64"],
    );
}

#[test]
fn out_is_written_and_a_target_is_like_its_input() {
    check(
        "add",
        "
def plus(x, target_x):
    first = torch.empty_like(x)
    torch.add(x, 1, out=first)
    out = torch.empty_like(x)
    add[(triton.cdiv(out.numel(), 64),)](first, target_x, out, out.numel(), BLOCK=64)
    return out
",
        &[
            "  first: { dtype: f32, shape: [97], fill: { random: { seed: 1, edges: false } } }",
            "  target_x: { dtype: f32, shape: [97], fill: { random: { seed: 2, edges: false } } }",
        ],
    );
}

#[test]
fn nested_tensors_have_values_and_offsets() {
    const SUM: &str = "
@triton.jit
def sums(values, offsets, out, M, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    first = tl.load(offsets + row)
    last = tl.load(offsets + row + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for one in range(first, last):
        total += tl.load(values + one * M + at, mask=at < M, other=0.0)
    tl.store(out + row * M + at, total, mask=at < M)


def sum_rows(x):
    B, M = x.shape[0], x.shape[2]
    out = torch.empty((B, M), device=x.device)
    sums[(len(x.offsets()) - 1,)](x.values(), x.offsets(), out, M, BLOCK=64)
    return out
";
    let text = format!("import torch\nimport triton\nimport triton.language as tl\n{SUM}");
    let launches = read_launches(&text, "k.py", "sums");
    let plain = launches.first().expect("a launch");
    assert_eq!(plain.unknown, Vec::<String>::new());
    insta::assert_snapshot!(plain.text);
}

#[test]
fn sizes_have_the_order_that_a_branch_asks_for() {
    let text = "
def rotate(x, cos):
    T, D = x.shape
    S, R = cos.shape
    out = torch.empty_like(x)
    if 2 * R < D:
        out.zero_()
    copy[(T,)](x, out, T, D, x.stride(0), BLOCK=256 + R - R)
    return out
";
    let launches = read("copy", text);
    let plain = launches.first().expect("a launch");
    let columns = plain
        .text
        .lines()
        .find_map(|line| line.trim().strip_prefix("cols: "));
    let columns: i64 = columns.expect("columns").parse().expect("a number");
    // `cos` is not passed: its sizes are those of the first plan, 37 columns.
    assert!(columns > 74, "{}", plain.text);
}
