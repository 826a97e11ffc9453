//! No text, however wrong, makes the tracer panic, hang or exhaust the stack.

use crate::common::{I32, Program};
use cerith_frontend::RequestArg;
use proptest::prelude::*;

fn check_bounded(text: &str) {
    let refusal = Program::new(&format!("@triton.jit\ndef k(p, n):\n{text}\n"))
        .with_args([I32, RequestArg::Int(5)])
        .show();
    assert!(!refusal.is_empty());
}

#[test]
fn nesting_is_bounded() {
    for depth in [150, 1000, 10_000, 100_000] {
        let (open, close) = ("(".repeat(depth), ")".repeat(depth));
        check_bounded(&format!("    x = {open}n{close}"));
        check_bounded(&format!("    x = {}n", "-".repeat(depth)));
        check_bounded(&format!("    x = {}n", "not ".repeat(depth)));
        check_bounded(&format!("    x = n{}", " + n".repeat(depth)));
        check_bounded(&format!("    x = n{}", " ** n".repeat(depth)));
        check_bounded(&format!("    x = n{}", " if n else n".repeat(depth)));
        check_bounded(&format!("    x = n{}", ".T".repeat(depth)));
        check_bounded(&format!("    x = {}n{}", "f(".repeat(depth), ")".repeat(depth)));
        check_bounded(&format!("    x = n{}", "[0]".repeat(depth)));
        check_bounded(&format!("    x = {}n", "lambda: ".repeat(depth)));
        check_bounded(&format!(
            "    if n > 3:\n        x = 1\n{}",
            "    elif n > 4:\n        x = 2\n".repeat(depth.min(10_000))
        ));
        if depth <= 1000 {
            let nested: String = (0..depth)
                .map(|at| [&" ".repeat(4 + at), "if n > 3:\n"].concat())
                .collect();
            check_bounded(&format!("{nested}{}x = 1", " ".repeat(4 + depth)));
        }
    }
}

#[test]
fn work_is_bounded() {
    check_bounded(
        "    for a in tl.static_range(10000):\n        for b in tl.static_range(10000):\n            pass",
    );
    check_bounded(
        "    x = n\n    for a in tl.static_range(10000):\n        for b in tl.static_range(10000):\n            x += 1",
    );
    check_bounded("    t = (n,)\n    for a in tl.static_range(10000):\n        t = (t,)");
    check_bounded("    t = (n,)\n    for a in tl.static_range(60):\n        t = t + t");
    check_bounded("    t = (n, n)\n    for a in tl.static_range(30):\n        t = (t, t)");
    check_bounded("    t = (n, n)\n    for a in tl.static_range(30):\n        t = [u for u in (t, t)]");
    check_bounded("    t: tl.constexpr = 'ab' * 10 ** 30");
    check_bounded("    for a in tl.static_range(1000):\n        if n > a:\n            return");
    let nested: String = (0..60)
        .map(|at| [&" ".repeat(4 + at), "for i in range(n):\n"].concat())
        .collect();
    check_bounded(&format!("{nested}{}n += 1", " ".repeat(64)));
}

#[test]
fn module_level_work_is_bounded() {
    for text in [
        "x = [1]\nfor i in range(60):\n    x = x + x",
        "x = []\nfor i in range(16000):\n    x = [x]",
        "x = [[i for i in range(16000)] for j in range(16000)]",
        "f = lambda: 1\nfor i in range(16000):\n    f = lambda g=f: g",
        "def f(n):\n    return f(n + 1)\nx = f(0)",
        "f = lambda f: f(f)\nx = f(f)",
        "x = 'a'\nfor i in range(60):\n    x = x + x",
        "x = 3\nfor i in range(60):\n    x = x * x",
    ] {
        let program = Program::new(&format!("{text}\n@triton.jit\ndef k(p, n):\n    pass\n"));
        assert!(!program.with_args([I32, RequestArg::Int(5)]).show().is_empty());
    }
}

const WORDS: &[&str] = &[
    "n",
    "p",
    "x",
    "y",
    "tl",
    ".",
    ",",
    "(",
    ")",
    "[",
    "]",
    ":",
    "=",
    "==",
    "<",
    "+",
    "-",
    "*",
    "**",
    "/",
    "//",
    "%",
    "@",
    "if",
    "else",
    "elif",
    "for",
    "while",
    "in",
    "range",
    "return",
    "def",
    "lambda",
    "not",
    "and",
    "or",
    "is",
    "None",
    "True",
    "1",
    "0",
    "2.5",
    "'s'",
    "f'{n}'",
    "arange",
    "load",
    "store",
    "zeros",
    "static_range",
    "constexpr",
    "float32",
    "shape",
    "dtype",
    "to",
    "sum",
    "T",
    "\n    ",
    "\n        ",
    "import",
    "class",
    "assert",
    "pass",
    "+=",
    ":=",
    "...",
    "{",
    "}",
    "~",
    "<<",
    ">>",
    "&",
    "|",
    "^",
    "triton",
    "jit",
    "cdiv",
    "math",
    "int",
    "len",
    "isinstance",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn token_soup_never_panics(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        check_bounded(&format!("    {}", words.join(" ")));
    }

    #[test]
    fn module_soup_never_panics(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        let _ = Program::new(&words.join(" ").replace("\n        ", "\n    ").replace("\n    ", "\n")).show();
    }

    #[test]
    fn any_text_never_panics(text in "\\PC{0,200}") {
        let _ = Program::from_file(&text).show();
    }

    #[test]
    fn arithmetic_never_panics(
        a in any::<i64>(), b in any::<i64>(), c in any::<f64>(),
        op in prop::sample::select(&["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<", "=="][..]),
    ) {
        check_bounded(&format!("    x: tl.constexpr = ({a}) {op} ({b})\n    y: tl.constexpr = ({a}) {op} ({c:?})\n    tl.store(p, n {op} {b})"));
    }
}
