//! A kernel that exceeds a limit of the reference is `exhausted` or refused, with the figure and the line: nothing hangs,
//! and memory use stays bounded.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::common::{I32, Program};
use cerith_frontend::{Refusal, RequestArg, trace};

/// The outcome of a kernel with a tensor and an int, and its location.
fn describe_outcome(name: &str, text: &str) -> String {
    let program = Program::from_file(text).with_args([I32, RequestArg::Int(5)]);
    let Err(refused) = trace(program.request()) else {
        return "accepted".to_owned();
    };
    let (kind, diagnostic) = match &refused.refusal {
        Refusal::Rejected(diagnostic) => ("rejected", diagnostic),
        Refusal::Unsupported(diagnostic) => ("unsupported", diagnostic),
        Refusal::Exhausted(diagnostic) => ("exhausted", diagnostic),
    };
    let place = refused.sources.describe_position(diagnostic.span().expect(name));
    assert!(
        place.starts_with("k.py:") && !diagnostic.message.is_empty(),
        "{name}: {place}"
    );
    format!("{kind} at {place}: {}", diagnostic.message)
}

fn build_kernel(body: &str) -> String {
    let lines: String = body.lines().map(|line| ["    ", line, "\n"].concat()).collect();
    format!("import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p, n):\n{lines}")
}

fn build_module(text: &str, used: &str) -> String {
    format!("import triton\nimport triton.language as tl\n{text}\n@triton.jit\ndef k(p, n):\n    {used}\n")
}

/// Compares the outcomes of a list of files with the snapshot.
fn check(name: &str, files: &[(&str, String)]) {
    let mut text = String::new();
    for (name, file) in files {
        let _ = writeln!(text, "{name}\n  {}", describe_outcome(name, file));
    }
    insta::with_settings!({
        snapshot_path => "../../../../snapshots/frontend",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn limits_of_tracing() {
    let deep = |what: &str| what.repeat(300);
    let file = "import triton\nimport triton.language as tl\n";
    check(
        "limits_of_tracing",
        &[
            (
                "a loop that is unrolled too far",
                build_kernel("for a in tl.static_range(100000):\n    pass"),
            ),
            (
                "loops that are unrolled too far together",
                build_kernel(
                    "for a in tl.static_range(10000):\n    for b in tl.static_range(10000):\n        pass",
                ),
            ),
            (
                "operations that a loop makes when it is unrolled",
                build_kernel(
                    "x = n\nfor a in tl.static_range(10000):\n    for b in tl.static_range(10000):\n        x += n * 3",
                ),
            ),
            (
                "a function that calls itself",
                format!(
                    "{file}@triton.jit\ndef f(a, N: tl.constexpr):\n    return f(a, N + 1)\n\n@triton.jit\ndef k(p, n):\n    tl.store(p, f(n, 0))\n"
                ),
            ),
            (
                "a tuple in a tuple in a tuple",
                build_kernel("t = (n,)\nfor a in tl.static_range(10000):\n    t = (t,)"),
            ),
            (
                "a tuple that doubles",
                build_kernel("t = (n,)\nfor a in tl.static_range(60):\n    t = t + t"),
            ),
            ("a tuple many times", build_kernel("t = (n,) * 1000000000")),
            (
                "brackets",
                build_kernel(&format!("x = n\nx = {}n{}", deep("("), deep(")"))),
            ),
            (
                "operators",
                build_kernel(&format!("x = n\nx = {}n", "-".repeat(500))),
            ),
            (
                "blocks",
                format!(
                    "{}{}x = 1\n",
                    build_kernel(""),
                    (0..120).fold(String::new(), |text, at| {
                        format!("{text}{}if n > 3:\n", " ".repeat(4 + at))
                    }) + &" ".repeat(124)
                ),
            ),
            (
                "branches that are not decided",
                format!(
                    "{file}@triton.jit\ndef f(a, N: tl.constexpr):\n    for i in range(a):\n        for j in range(a):\n            \
                     f(a, N + 1)\n\n@triton.jit\ndef k(p, n):\n    f(n, 0)\n"
                ),
            ),
            (
                "a power without end",
                build_kernel("x: tl.constexpr = 2 ** 10 ** 9"),
            ),
            ("a power of powers", build_kernel("x: tl.constexpr = 9 ** 9 ** 9")),
            ("a shift too far", build_kernel("x: tl.constexpr = 1 << 10 ** 9")),
            (
                "a text many times",
                build_kernel("x: tl.constexpr = \"a\" * 10 ** 9"),
            ),
            (
                "a text of many",
                build_kernel("tl.static_assert(len(\"ab\" * 10 ** 18) == 3)"),
            ),
            (
                "a block with too many elements",
                build_kernel("x = tl.zeros([1 << 21], tl.int8)"),
            ),
            (
                "a block of two dimensions with too many elements",
                build_kernel("x = tl.zeros([1 << 20, 1 << 20], tl.int8)"),
            ),
            (
                "a range with too many elements",
                build_kernel("x = tl.arange(0, 1 << 30)"),
            ),
            ("a range past 32 bits", build_kernel("x = tl.arange(0, 1 << 62)")),
            (
                "a product that grows",
                build_kernel(
                    "x = tl.arange(0, 1024)\ny = x[:, None] + x[None, :]\nz = y[:, :, None] + x[None, None, :]",
                ),
            ),
            (
                "a number past 128 bits",
                build_kernel("x: tl.constexpr = 999999999999999999999999999999999999999999"),
            ),
            (
                "a comprehension over a long range",
                build_kernel("t = [a for a in range(1000000000)]"),
            ),
        ],
    );
}

#[test]
fn python_outside_of_triton() {
    let in_kernel = [
        "class A:\n    pass",
        "x = lambda a: a",
        "x = yield n",
        "yield from n",
        "await n",
        "async with n:\n    pass",
        "async for a in n:\n    pass",
        "async def f():\n    pass",
        "with open('f'):\n    pass",
        "with n as m:\n    pass",
        "try:\n    pass\nexcept ValueError:\n    pass",
        "try:\n    pass\nfinally:\n    pass",
        "raise ValueError('no')",
        "import math",
        "from math import pi",
        "del n",
        "global n",
        "nonlocal n",
        "match n:\n    case 1:\n        pass",
        "x = (m := n) + 1",
        "x = {1: n}",
        "x = {n}",
        "x = {a: a for a in (1, 2)}",
        "x = {a for a in (1, 2)}",
        "x = sum(a for a in (1, 2))",
        "a, *b = (1, 2, 3)",
        "x = f(*p)",
        "x = f(**p)",
        "x = print(*(1, 2), sep='')",
        "def f(a):\n    return a",
        "@triton.jit\ndef f(a):\n    return a",
        "for a in n:\n    pass",
        "for a in [1, 2]:\n    pass",
        "for a in enumerate((1, 2)):\n    pass",
        "for a, b in zip((1, 2), (3, 4)):\n    pass",
        "for a in range(n):\n    break",
        "for a in range(n):\n    continue",
        "while n > 3:\n    break",
        "for a in range(n):\n    pass\nelse:\n    pass",
        "while n > 3:\n    n -= 1\nelse:\n    pass",
        "x = b'bytes'",
        "x = 1j",
        "x = n @ n",
        "n @= n",
        "x = n in (1, 2)",
        "x = 1 < n < 3",
        "x = n is n",
        "x = eval('1')",
        "x = open('f')",
        "x = getattr(n, 'dtype')",
        "x = super()",
        "x = n.nothing",
        "n.x = 3",
        "n[0] = 3",
        "x = n[0]",
        "x = p[0:3]",
        "x = 'a' + n",
        "x = f'{n}'",
        "x = ...",
        "x = __name__",
        "type X = int",
        "x: int",
        "return n",
        "x = y = z",
        "x = [n, n]",
        "x = [a for a in range(n)]",
        "assert n > 3, 'no', 3",
        "x = not_there",
        "if p:\n    pass",
        "x = n.to(tl.float32).to",
        "x = tl",
        "x = int('3')",
        "x = str(n)",
        "x = list((1, 2))",
        "x = dict(a=1)",
        "x = sorted((2, 1))",
        "x = n if n else p",
    ];
    let files: Vec<(String, String)> = in_kernel
        .iter()
        .map(|body| (body.replace('\n', "\\n"), build_kernel(body)))
        .collect();
    let files: Vec<(&str, String)> = files
        .iter()
        .map(|(name, file)| (name.as_str(), file.clone()))
        .collect();
    check("python_outside_of_triton", &files);
}

#[test]
fn limits_of_modules() {
    check(
        "limits_of_modules",
        &[
            (
                "a list that doubles",
                build_module("x = [1]\nfor i in range(60):\n    x = x + x", "tl.store(p, x[0])"),
            ),
            (
                "a list in a list",
                build_module("x = []\nfor i in range(16000):\n    x = [x]", "tl.store(p, x)"),
            ),
            (
                "lists of lists",
                build_module(
                    "x = [[i for i in range(16000)] for j in range(16000)]",
                    "tl.store(p, x[0])",
                ),
            ),
            (
                "a comprehension over a long range",
                build_module("x = [i for i in range(10 ** 9)]", "tl.store(p, x[0])"),
            ),
            (
                "a loop without end",
                build_module("x = 1\nwhile True:\n    x = x + 1", "tl.store(p, x)"),
            ),
            (
                "a long loop",
                build_module(
                    "x = 1\nfor i in range(10 ** 12):\n    x = x + 1",
                    "tl.store(p, x)",
                ),
            ),
            (
                "loops in loops",
                build_module(
                    "x = 1\nfor i in range(16000):\n    for j in range(16000):\n        x = x + j",
                    "tl.store(p, x)",
                ),
            ),
            (
                "a function that calls itself",
                build_module("def f(n):\n    return f(n + 1)\nx = f(0)", "tl.store(p, x)"),
            ),
            (
                "a function that is called without end",
                build_module("f = lambda f: f(f)\nx = f(f)", "tl.store(p, x)"),
            ),
            (
                "a text that doubles",
                build_module(
                    "x = 'a'\nfor i in range(60):\n    x = x + x",
                    "tl.static_assert(x == 3)",
                ),
            ),
            (
                "a text many times",
                build_module("x = 'a' * 10 ** 12", "tl.static_assert(x == 3)"),
            ),
            (
                "a number that squares itself",
                build_module("x = 3\nfor i in range(60):\n    x = x * x", "tl.store(p, x)"),
            ),
            (
                "a power without end",
                build_module("x = 2 ** 10 ** 9", "tl.store(p, x)"),
            ),
            (
                "a list many times",
                build_module("x = [0] * 10 ** 9", "tl.store(p, x[0])"),
            ),
        ],
    );
}

#[test]
fn lists_that_share_what_they_hold_are_looked_into_once() {
    let mut text = "a = [0]\nb = [1]\n".to_owned();
    for _ in 0..20 {
        text += "a = [a, a]\nb = [a, b]\n";
    }
    for used in [
        "sum([a] * 1000, [])",
        "[a for k in range(1000)]",
        "sorted([b, a] * 100)",
    ] {
        let start = Instant::now();
        describe_outcome(used, &build_module(&format!("{text}x = {used}\n"), "p + x"));
        assert!(start.elapsed() < Duration::from_secs(10), "{used}");
    }
}
