//! Values that library modules compute for their kernels: limits of dtypes, functions inside constexprs, enums, texts,
//! versions, heuristics.

use crate::common::{F32, I32, Program};
use cerith_frontend::RequestArg;

#[test]
fn limits_of_dtypes_are_known_to_modules_and_kernels() {
    let holds = |condition: &str| {
        let text = format!(
            "import numpy as np\nimport torch\nimport triton\nimport triton.language as tl\n\nHERE = \
             tl.constexpr({condition})\n\n@triton.jit\ndef k(p, n):\n    tl.static_assert(HERE)\n    \
             tl.static_assert({condition})\n"
        );
        if let Err(refused) = Program::from_file(&text)
            .with_args([I32, RequestArg::Int(5)])
            .traced()
        {
            panic!("{condition}: {refused}");
        }
    };
    holds("torch.finfo(torch.float32).max == 3.4028234663852886e+38");
    holds("torch.finfo().eps == 1.1920928955078125e-07");
    holds("torch.finfo(torch.float16).tiny == 6.103515625e-05");
    holds("torch.finfo(torch.bfloat16).min == -3.3895313892515355e+38");
    holds("torch.finfo(torch.float8_e4m3fn).max == 448.0");
    holds("torch.finfo(dtype=torch.float8_e5m2).smallest_normal == 6.103515625e-05");
    holds("torch.finfo(torch.double).bits == 64");
    holds("torch.iinfo(torch.int64).min == -(2**63)");
    holds("torch.iinfo(torch.uint8).max == 255");
    holds("np.iinfo(np.uint32).max == 2**32 - 1");
    let kernel = "import torch\nimport triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p, n):\n    \
                  tl.store(p, torch.iinfo(torch.int8).max)\n";
    let kernel = Program::from_file(kernel).with_args([I32, RequestArg::Int(5)]);
    let refused = kernel
        .with_version(1)
        .traced()
        .expect_err("3.1 has no classes of modules");
    assert!(refused.contains("is not a Triton function itself"), "{refused}");
}

#[test]
fn constexpr_may_hold_a_function() {
    let of = |function: &str, call: &str| {
        let text = format!(
            "@tl.constexpr\ndef f(n):\n    {function}\n\ng = tl.constexpr(lambda n: n + 1)\n\n@triton.jit\ndef k(p, \
             n):\n    tl.static_assert({call})\n"
        );
        Program::new(&text)
            .with_args([I32, RequestArg::Int(5)])
            .traced()
            .map(|_| ())
    };
    assert_eq!(of("return 2 * n - n // 3", "f(6) == 10"), Ok(()));
    assert_eq!(of("return 2**n", "f(4) == 16 and g(f(2)) == 5"), Ok(()));
    assert_eq!(of("return n.value if n > 2 else -n", "f(1) == -1"), Ok(()));
    // A constexpr has no such operator on the right of a number.
    let shifted = of("return 1 << n", "f(4) == 16").expect_err("a TypeError");
    assert!(
        shifted.contains("unsupported operand type(s) for <<: 'int' and 'constexpr'"),
        "{shifted}"
    );
}

#[test]
fn modules_of_libraries_are_understood() {
    let holds = |module: &str, condition: &str| {
        let text = format!(
            "import enum\nfrom enum import Enum\nimport math\n\nimport torch\nimport triton\nimport triton.language as \
             tl\nfrom packaging import version\nfrom triton.language import core\n\n{module}\n\n@triton.jit\ndef k(p, \
             n):\n    tl.static_assert({condition})\n"
        );
        if let Err(refused) = Program::from_file(&text)
            .with_args([I32, RequestArg::Int(5)])
            .traced()
        {
            panic!("{module}: {refused}");
        }
    };
    let kinds =
        "class Kind(Enum):\n    PLAIN = 0\n    TURNED = 'turned'\n    NEXT = 7\n    LAST = enum.auto()\n";
    holds(
        &format!("{kinds}\nV = tl.constexpr(Kind.TURNED.value)"),
        "V == 'turned'",
    );
    holds(&format!("{kinds}\nV = tl.constexpr(Kind.LAST.value)"), "V == 8");
    holds(
        &format!("{kinds}\nV = tl.constexpr(1 if Kind.PLAIN != Kind.NEXT else 0)"),
        "V == 1",
    );
    holds(
        "def make(n):\n    text = ''\n    for i in range(n):\n        text += '{{${at} {{{0}}}'.format(i, at=i + 1) + '\\n'\n    \
         return ' '.join(text.split('\\n'))\n\nV = tl.constexpr(make(2))",
        "V == '{$1 {0} {$2 {1} '",
    );
    holds("V = tl.constexpr(math.sqrt(2.0 / math.pi))", "V > 0.79");
    holds(
        "V = tl.constexpr(version.parse(triton.__version__) >= version.parse('3.3.0'))",
        "V",
    );
    holds(
        "V = tl.constexpr(hasattr(tl, 'gather') and not hasattr(tl, 'gather_all'))",
        "V",
    );
    holds(
        "made = getattr(triton.runtime.jit, 'constexpr_function', None)\nif made is None:\n    dtype_of = \
         core.get_int_dtype\nelse:\n    dtype_of = made(core.get_int_dtype)\n",
        "dtype_of(bitwidth=16, signed=True) == tl.int16",
    );
}

#[test]
fn a_heuristic_knows_that_a_tensor_is_there() {
    let text = "import torch\nimport triton\nimport triton.language as tl\n\n@triton.heuristics({'HAS': lambda args: \
                args['bias'] is not None, 'HALF': lambda args: args['p'].dtype == torch.float16})\n@triton.jit\ndef k(p, bias, \
                HAS: tl.constexpr, HALF: tl.constexpr):\n    tl.static_assert(HAS)\n    tl.static_assert(not HALF)\n";
    let there = Program::from_file(text).with_args([F32, F32]);
    assert_eq!(there.traced().map(|_| ()), Ok(()));
    let missing = Program::from_file(text).with_args([F32, RequestArg::None]);
    let refused = missing.traced().expect_err("HAS is false");
    assert!(refused.contains("static assertion failed"), "{refused}");
}
