use super::*;
use cerith_tile::DType;
use proptest::prelude::*;

/// The result of an expression over `x` (f32, 4 x 6), `v` (i64, 8), `scalar` (f16) and the variables `n`, `dtype`.
fn evaluate(text: &str) -> Result<String, ExprError> {
    let mut storages = Storages::new();
    let mut names = Names::new();
    for (name, dtype, shape) in [
        ("x", DType::F32, &[4, 6][..]),
        ("v", DType::I64, &[8]),
        ("scalar", DType::F16, &[]),
    ] {
        let tensor = storages.allocate(name, dtype, shape).expect("a small storage");
        names.insert(name.to_owned(), Value::Tensor(tensor));
    }
    names.insert("n".to_owned(), Value::Int(100));
    names.insert("dtype".to_owned(), Value::Str("f16".to_owned()));
    Expression::parse(text)?
        .evaluate(&names, &mut storages)
        .map(|value| value.to_string())
}

/// The value, or the error with the text it points at.
fn describe_result(text: &str) -> String {
    match evaluate(text) {
        Ok(value) => value,
        Err(ExprError { range, message, help }) => {
            let at = text.get(range).expect("a range of the text");
            let help = help.map(|help| format!("; {help}")).unwrap_or_default();
            format!("`{at}`: {message}{help}")
        }
    }
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(describe_result(text), *expected, "{text}");
    }
}

#[test]
fn numbers_are_python_s() {
    check(&[
        ("7 // 2, -7 // 2, 7 // -2, -7 % 3, 7 % -3", "(3, -4, -4, 2, -2)"),
        (
            "7.5 // 2, -7.5 % 2, -0.0 // 1, 5.0 % -3, -1e-20 % 3",
            "(3.0, 0.5, -0.0, -1.0, 3.0)",
        ),
        ("1 / 3, 6 / 3, -1 / 2", "(0.3333333333333333, 2.0, -0.5)"),
        (
            "(2**64 + 2**11) / 2, (2**64 + 3 * 2**10) / 2",
            "(9.223372036854776e+18, 9.223372036854778e+18)",
        ),
        (
            "(2**100 + 1) / (2**90 + 2**40), 10**25 / 3**40",
            "(1023.9999999999991, 822526.3339969959)",
        ),
        (
            "2**10, 2**-1, 0**0, (-1)**10**20, (-2)**3",
            "(1024, 0.5, 1, 1, -8)",
        ),
        (
            "2**31 - 1, -2**63, 2**64 - 1, 0xffff_ffff_ffff_ffff_f",
            "(2147483647, -9223372036854775808, 18446744073709551615, 295147905179352825855)",
        ),
        (
            "1 << 40, -1 >> 200, 6 & 3, 6 | 1, 6 ^ 2, ~5, True + True",
            "(1099511627776, -1, 2, 7, 4, -6, 2)",
        ),
        (
            "True & False, True | False, not 0, +True, -True",
            "(False, True, True, 1, -1)",
        ),
        (
            "1 < 2 < 3, 1 < 3 < 2, 1 == 1.0, 2**53 + 1 == 2.0**53, nan == nan, inf > 10**30",
            "(True, False, True, False, False, True)",
        ),
        ("1e400, -inf, nan, 1_000.5", "(inf, -inf, nan, 1000.5)"),
        ("3 if n > 50 else 1 // 0, n and 0 or 5, 0 and 1 // 0", "(3, 5, 0)"),
        (
            "(1, 2) < (1, 3), [1] == [True], 'a' in 'cat', 3 not in (1, 2), None is None",
            "(True, True, True, True, True)",
        ),
        (
            "(1,) + (2,), [0] * 3, 2 * (1,), 'a' + 'b', [] * 10**18, [1] * True",
            "((1, 2), [0, 0, 0], (1, 1), 'ab', [], [1])",
        ),
    ]);
}

#[test]
fn what_only_kernels_files_knew_is_known_here_too() {
    check(&[
        (
            "'ab' * 2, 'abc'[-1], [c for c in 'ab'], 'abc'[::-1]",
            "('abab', 'c', ['a', 'b'], 'cba')",
        ),
        (
            "round(2.675, 2), round(125, -1), int('ff', 16), math.log(8, 2)",
            "(2.67, 120, 255, 3.0)",
        ),
        ("int('1__0')", "`'1__0'`: str `'1__0'` is not an integer"),
        (
            "[] * 10**30",
            "`[] * 10**30`: cannot fit 'int' into an index-sized integer",
        ),
        (
            "str(1e16), str(1e-5), str('a'), [\"it's\"]",
            "('1e+16', '1e-05', 'a', [\"it's\"])",
        ),
    ]);
}

#[test]
fn builtins_are_python_s_and_triton_s() {
    check(&[
        (
            "min(3, 1, 2), max([1, 5]), len(x), len(x.shape), abs(-3), sum([1, 2.5])",
            "(1, 5, 4, 2, 3, 3.5)",
        ),
        (
            "cdiv(n, 32), triton.cdiv(x=64, y=32), tl.cdiv(-5, 4), cdiv(0, 4)",
            "(4, 2, -1, 0)",
        ),
        (
            "[next_power_of_2(k) for k in (1, 2, 3, 17, 64, 0, -4)]",
            "[1, 2, 4, 32, 64, 0, 0]",
        ),
        ("triton.next_power_of_2(n), triton.language.float16", "(128, f16)"),
        (
            "int(2.9), int(-2.9), int('12'), float(3), float('-inf'), bool(0), round(2.5), round(-3.7)",
            "(2, -2, 12, 3.0, -inf, False, 2, -4)",
        ),
        (
            "list(range(5)), list(range(4, 0, -2)), range(3, 1)",
            "([0, 1, 2, 3, 4], [4, 2], [])",
        ),
        (
            "[(i, j) for i in range(3) for j in range(i) if i + j != 2]",
            "[(1, 0), (2, 1)]",
        ),
        (
            "[a * b for a, b in zip([1, 2], [3, 4])], sum(k for k in range(4))",
            "([3, 8], 6)",
        ),
        (
            "enumerate(['a'], 2), sorted([3, 1, 2]), reversed([1, 2]), any([0, 1]), all([])",
            "([(2, 'a')], [1, 2, 3], [2, 1], True, True)",
        ),
        (
            "math.prod(x.shape), math.floor(2.7), math.ceil(2.1), math.gcd(12, 18), math.sqrt(2.25), math.log2(8)",
            "(24, 2, 3, 6, 1.5, 3.0)",
        ),
        (
            "math.inf, math.isnan(nan), math.copysign(1, -0.0), divmod(-7, 2), pow(2, 5)",
            "(inf, True, -1.0, (-4, 1), 32)",
        ),
        (
            "[1, 2, 3][-1], (1, 2, 3)[1:], [1, 2, 3][::-1], [*x.shape, 7], max(*x.shape)",
            "(3, (2, 3), [3, 2, 1], [4, 6, 7], 6)",
        ),
    ]);
}

#[test]
fn tensors_have_torch_s_methods_by_position_and_by_keyword() {
    check(&[
        (
            "x.split([2, 4], dim=1)[1].stride(0), x.stride(), x.shape, x.size(-1), x.size(dim=0)",
            "(6, (6, 1), (4, 6), 6, 4)",
        ),
        (
            "x.split(split_size=2)[1].storage_offset(), x.chunk(3, 1)[2].shape, x.unbind(1)[5].stride()",
            "(12, (4, 2), (6,))",
        ),
        (
            "x.view(24).shape, x.view((2, -1)).shape, x.view(size=[8, 3]).shape, x.reshape(shape=(-1,)).shape",
            "((24,), (2, 12), (8, 3), (24,))",
        ),
        (
            "x.view(torch.int32).dtype, x.view('f16').shape, x.view(dtype=dtype).shape, x.view(bf16).dtype",
            "(i32, (4, 12), (4, 12), bf16)",
        ),
        (
            "x.permute(1, 0).stride(), x.permute((1, 0)).stride(), x.T.shape, x.mT.shape, x.t().shape",
            "((1, 6), (1, 6), (6, 4), (6, 4), (6, 4))",
        ),
        (
            "x.transpose(dim0=0, dim1=1).is_contiguous(), x.swapaxes(axis0=0, axis1=1).shape, x.movedim(0, 1).shape",
            "(False, (6, 4), (6, 4))",
        ),
        (
            "x[1:, ::2].stride(), x[..., None].shape, x[-1].storage_offset(), x[1, 2].dim(), x[None].ndim",
            "((6, 2), (4, 6, 1), 18, 0, 3)",
        ),
        (
            "x.as_strided((2, 2), (1, 1), storage_offset=3).storage_offset(), x[1].as_strided([2], [1]).storage_offset()",
            "(3, 6)",
        ),
        (
            "x.numel(), x.nelement(), x.dim(), x.element_size(), x.itemsize, x.dtype.itemsize, x.is_floating_point()",
            "(24, 24, 2, 4, 4, 4, True)",
        ),
        (
            "v.expand(3, -1).stride(), v.broadcast_to((2, 8)).shape, scalar.expand(2, 2).stride(), v.unfold(0, 3, 2).shape",
            "((0, 1), (2, 8), (0, 0), (3, 3))",
        ),
        (
            "x.diagonal(offset=-1).shape, x.flatten().shape, x.unflatten(1, (2, -1)).shape, x.squeeze().shape",
            "((3,), (24,), (4, 2, 3), (4, 6))",
        ),
        (
            "x.unsqueeze(0).squeeze((0,)).shape, x.flip(0).shape, x.flip(dims=(0, 1)).shape, v.repeat(2, 1).shape",
            "((4, 6), (4, 6), (4, 6), (2, 8))",
        ),
        (
            "torch.narrow(x, 1, 0, 2).shape, torch.split(x, 2)[0].shape, torch.transpose(x, 0, 1).shape",
            "((4, 2), (2, 6), (6, 4))",
        ),
        (
            "x.tensor_split(3)[0].shape, x.tensor_split([1, 3], dim=1)[1].shape, [row.storage_offset() for row in x]",
            "((2, 6), (4, 2), [0, 6, 12, 18])",
        ),
        (
            "x.dtype == torch.float32, x.dtype == 'f32', torch.half, torch.float8_e4m3fn, tl.float8e4nv",
            "(True, True, f16, fp8e4nv, fp8e4nv)",
        ),
        (
            "x.data_ptr(), x[1:].data_ptr() - x.data_ptr(), x[0, 1:].data_ptr() % 16, x.data_ptr() + 4 - 8",
            "(address(storage 0 + 0), 24, 4, address(storage 0 + -4))",
        ),
    ]);
}

#[test]
fn errors_point_at_their_place_and_name_the_near_spelling() {
    let texts = [
        "y.T",
        "vv[0]",
        "x.slpit(2)",
        "x.shap",
        "x.numel",
        "x.T()",
        "x.narrow(0, 3, 4)",
        "x.narrow(0, 3)",
        "x.narrow(0, 3, lenght=1)",
        "x.narrow(0, 3, 1, start=2)",
        "x.select(0, 1, 2)",
        "x.view(torch.flaot32)",
        "x.view('f61')",
        "x.view(5, 5)",
        "x.view(2.0)",
        "x.view()",
        "x.expand(size=(1, 2), implicit=True)",
        "x[9]",
        "x[::-1]",
        "x[[0, 1]]",
        "x[v]",
        "x[1.5]",
        "x + 1",
        "x.data_ptr() * 2",
        "x.data_ptr() % 1024",
        "x.data_ptr() - v.data_ptr()",
        "not x",
        "n.T",
        "n[0]",
        "n()",
        "(lambda: 1)()",
        "{1: 2}",
        "f'{n}'",
        "x @ x",
        "1 // 0",
        "1.0 % 0",
        "2 ** 1000",
        "10.0 ** 400",
        "(-8) ** 0.5",
        "1 << 200",
        "1 << -1",
        "1j",
        "999999999999999999999999999999999999999999",
        "[1][5]",
        "min()",
        "sqrt(2)",
        "math.sqroot(2)",
        "math.sqrt(-1)",
        "torch.zeros(3)",
        "len(3)",
        "len(scalar)",
        "int('a')",
        "range(1, 2, 0)",
        "[k for k in 5]",
        "[a for a, b in [1]]",
        "[0 for k in range(10**9)]",
        "[0] * 10**9",
        "x.expand(10**12, 4, 6).clone()",
        "x.split(2, **n)",
        "torch",
        "...",
        "1 +",
        "x[0",
        "a b",
        "",
    ];
    let all: Vec<String> = texts
        .iter()
        .map(|text| format!("{text}\n    {}", describe_result(text)))
        .collect();
    insta::with_settings!({ snapshot_path => "../../../snapshots/expression", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("expression_errors", all.join("\n"));
    });
}

#[test]
fn free_names_are_those_that_a_case_must_define() {
    let check = |text: &str, expected: &[&str]| {
        let names = Expression::parse(text).expect("an expression").free_names();
        assert_eq!(
            names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            expected,
            "{text}"
        );
        assert!(names.iter().all(|(name, range)| &text[range.clone()] == name));
    };
    check("x.split(n, dim=dim)[0] + max(y, inf)", &["x", "n", "dim", "y"]);
    check("[k + a for k in b if k < c] + k", &["a", "b", "c", "k"]);
    check("sum(i * j for i in range(2) for j in i)", &[]);
    check("torch.float32, f32, triton.cdiv(n, 2), x.dtype", &["n", "x"]);
    check("x if cond else x", &["x", "cond", "x"]);
}

#[test]
fn copies_are_storages_named_after_their_text() {
    let mut storages = Storages::new();
    let x = storages.allocate("x", DType::F32, &[2, 3]).expect("small");
    let names = Names::from_iter([("x".to_owned(), Value::Tensor(x))]);
    let expression = Expression::parse("x.T.contiguous().view(6).clone()").expect("an expression");
    expression.evaluate(&names, &mut storages).expect("a copy");
    let made: Vec<&str> = storages.iter().map(|(_, storage)| storage.name()).collect();
    assert_eq!(
        made,
        ["x", "x.T.contiguous()", "x.T.contiguous().view(6).clone()"]
    );
}

#[test]
fn deep_and_long_text_is_refused_without_a_deep_stack() {
    let refused = |text: String| {
        // The default stack of a test thread, even if the harness runs this test on another thread.
        let run = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || evaluate(&text).is_err());
        assert!(run.expect("a thread").join().expect("no panic"));
    };
    let deep = Expression::MAX_LEN;
    refused("-".repeat(deep - 1) + "1");
    refused("(".repeat(deep));
    refused("(".repeat(deep / 2 - 1) + "1" + &")".repeat(deep / 2 - 1) + "[");
    refused("[".repeat(deep / 2) + &"]".repeat(deep / 2));
    refused("not ".repeat(deep / 4 - 1) + "1");
    refused("x".to_owned() + &".T".repeat((deep - 1) / 2));
    refused("x".to_owned() + &"[0]".repeat((deep - 1) / 3));
    refused("1".to_owned() + &"+1".repeat((deep - 1) / 2));
    refused("1 if ".repeat(deep / 5));
    refused("1".to_owned() + &"**1".repeat((deep - 1) / 3));
    refused("a.".repeat(deep));
    assert_eq!(
        describe_result(&("x".to_owned() + &".T".repeat(100) + ".dim()")),
        "2"
    );
}

#[test]
fn a_budget_ends_what_would_not_end() {
    for text in [
        "[0 for a in range(1000) for b in range(1000)]",
        "[x.split(1) for a in range(100000)]",
        "[[n] * 60000 for a in range(60000)]",
        "sum([[0] * 1000 for a in range(1000)], [])",
        "[[r for a in range(400)] for r in [list(range(400))]]",
        "'a' * 10**6",
    ] {
        assert!(evaluate(text).is_err(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn division_of_exact_floats_rounds_once(a in -(1i64 << 53)..1 << 53, b in 1i64..1 << 53) {
        prop_assert_eq!(describe_result(&format!("{a} / {b}")), Value::Float(a as f64 / b as f64).to_string());
    }

    #[test]
    fn no_text_panics(text in "[xvn0-9.,:()\\[\\]+*/%<>=' -]{0,40}|(x|v|n|1|\\.T|\\.view|\\(|\\)|\\[|\\]|,|:|\\.\\.\\.|None|\\*|-| if | else | for k in |k|range|split|stride|\\.){0,12}") {
        let _ = evaluate(&text);
    }
}
