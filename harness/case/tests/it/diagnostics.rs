//! Diagnostics for every kind of bad input: one blessed diagnostic each, under `snapshots/case`.

use crate::common;
use cerith_case::{Corpus, Input, Missing};

const KERNEL: &str = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef add_one_kernel(x, out, n, \
                      BLOCK: tl.constexpr, SCALE: tl.constexpr = 1):\n    pass\n\n\n@triton.jit\n\
                      def keyword_kernel(x, *, n):\n    pass\n\n\n\
                      def list_grid(kernel, grid, args):\n    kernel[list(grid)](**args)\n\n\n\
                      def two(kernel, grid):\n    pass\n\n\n\
                      def outer():\n    def inner(kernel, grid, args):\n        pass\n";

fn build_input(path: &str, content: Result<&[u8], Missing>) -> Input {
    Input {
        path: path.to_owned(),
        name: format!("cases/{path}"),
        content: content.map(<[u8]>::to_vec),
    }
}

/// These files and `area/add_one.py`.
fn load_corpus(files: &[Input]) -> Corpus {
    let kernel = build_input("area/add_one.py", Ok(KERNEL.as_bytes()));
    Corpus::load(files.iter().cloned().chain([kernel]))
}

fn report(files: &[Input]) -> String {
    common::report(&load_corpus(files))
}

fn bless(name: &str, files: &[Input]) {
    common::bless(name, &load_corpus(files));
}

/// One file that is wrong in one way.
fn check(name: &str, text: &str) {
    bless(name, &[build_input("area/wrong.yaml", Ok(text.as_bytes()))]);
}

/// A good file in which one part was changed.
fn change(name: &str, from: &str, to: &str) {
    assert!(GOOD.contains(from), "{from}");
    check(name, &GOOD.replacen(from, to, 1));
}

const GOOD: &str = "\
about: Adds one.
origin: written by hand
kernel: add_one.py:add_one_kernel
matrix:
  dtype: [f32, f16]
  n: [16, 100]
storages:
  x: { dtype: \"{dtype}\", shape: [4, 6], fill: arange }
  out: { dtype: \"{dtype}\", shape: [24], fill: zeros }
tensors:
  left: x[:, :2]
launches:
  - grid: [1]
    args: { x: left, out: out, n: n, BLOCK: 4 }
    options: { num_warps: 4 }
expect:
  - { engine: interpret, versions: \"<3.3\", verdict: differ, when: dtype == 'f16', why: a bug, link: triton#1 }
";

#[test]
fn the_good_file_is_good() {
    assert_eq!(
        report(&[build_input("area/good.yaml", Ok(GOOD.as_bytes()))]),
        "good cases: 4"
    );
}

#[test]
fn malformed_yaml() {
    check("yaml_unclosed", "about: x\nkernel: [a\n");
    check("yaml_indentation", "about: x\n  kernel: y\n");
    check("yaml_tab", "about: x\nmatrix:\n\tn: [1]\n");
    check("yaml_control_character", "about: a\u{0}b\n");
    check("yaml_empty", "# only a comment\n");
    check("yaml_two_documents", "about: x\n---\nabout: y\n");
    check("yaml_anchor", "about: &a x\norigin: *a\n");
    check(
        "yaml_billion_laughs",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\ne: [*d, *d]\n",
    );
    check("yaml_tag", "about: !!str x\n");
    check("yaml_deep", &format!("about: {}\n", "[".repeat(100_000)));
    check("yaml_not_a_mapping", "- about\n");
    check("yaml_complex_key", "? [a]\n: b\n");
    check(
        "yaml_huge_number",
        &GOOD.replacen("n: n", &format!("n: 1{}", "0".repeat(40)), 1),
    );
    change(
        "yaml_duplicate_key",
        "about: Adds one.\n",
        "about: Adds one.\nabout: Adds two.\n",
    );
}

#[test]
fn words_of_who_found_it() {
    let found = |text: &str| format!("about: Adds one.\nfound: {text}\n");
    let wrong = |name, text| change(name, "about: Adds one.\n", &found(text));
    wrong("found_by_nobody", "{ by: chance, upstream: new, state: fixed }");
    wrong("found_in_no_state", "{ by: fuzz, upstream: new, state: open }");
    wrong("found_upstream_left_out", "{ by: fuzz, state: fixed }");
}

#[test]
fn unreadable_files() {
    bless(
        "not_utf8",
        &[build_input("area/wrong.yaml", Ok(b"about: caf\xe9\n"))],
    );
    let unreadable = Missing::Unreadable("Permission denied (os error 13)".to_owned());
    bless("unreadable", &[build_input("area/wrong.yaml", Err(unreadable))]);
    bless(
        "link_outside",
        &[build_input("area/wrong.yaml", Err(Missing::Outside))],
    );
    let text = GOOD.replacen("add_one.py", "broken.py", 1);
    let kernel = build_input("area/broken.py", Ok(b"x = '\xff'\n"));
    bless(
        "kernel_not_utf8",
        &[build_input("area/wrong.yaml", Ok(text.as_bytes())), kernel],
    );
}

#[test]
fn unknown_and_missing_keys() {
    change("unknown_key", "storages:", "storage:");
    change("unknown_key_of_storage", "fill: arange", "filled: arange");
    change("unknown_key_of_launch", "  options:", "  option:");
    change("unknown_key_of_expectation", "versions:", "version:");
    change("missing_about", "about: Adds one.\n", "");
    change("missing_kernel", "kernel: add_one.py:add_one_kernel\n", "");
    change("missing_grid", "- grid: [1]\n    args", "- args");
    change("missing_why", ", why: a bug", "");
    change("missing_verdict", ", verdict: differ", "");
    change("kernel_and_import", "kernel:", "import: add_one.py\nkernel:");
    check(
        "missing_launches",
        "about: x\nkernel: add_one.py:add_one_kernel\n",
    );
    check(
        "no_launches",
        "about: x\nkernel: add_one.py:add_one_kernel\nlaunches: []\n",
    );
    check(
        "import_without_kernel",
        "about: x\nimport: add_one.py\nlaunches:\n  - { grid: [1] }\n",
    );
}

#[test]
fn wrong_types() {
    change("wrong_type_of_about", "about: Adds one.", "about: [Adds one.]");
    check(
        "wrong_type_of_storages",
        "about: x\nkernel: add_one.py:keyword_kernel\nstorages: [x]\nlaunches:\n  - { grid: [1], args: [1, n: 2] }\n",
    );
    change("wrong_type_of_tensor", "left: x[:, :2]", "left: [1, 2]");
    change("tensor_that_is_a_number", "left: x[:, :2]", "left: x.numel()");
    change("wrong_type_of_argument", "BLOCK: 4", "BLOCK: { a: 1 }");
    change(
        "named_tuple_fields",
        "x: left",
        "x: { namedtuple: { 2nd: left, _low: 1, class: 2 } }",
    );
    change(
        "named_tuple_without_fields",
        "x: left",
        "x: { namedtuple: [left] }",
    );
    change("address_as_constexpr", "BLOCK: 4", "BLOCK: left.data_ptr()");
    change(
        "positional_behind_keyword",
        "args: { x: left, out: out, n: n, BLOCK: 4 }",
        "args: [{ n: n }, left]",
    );
}

#[test]
fn reports_bad_names() {
    change("unknown_tensor", "x: left", "x: lfet");
    change("unknown_tensor_in_tensor", "left: x[:, :2]", "left: y[:, :2]");
    change(
        "unknown_variable",
        "\"{dtype}\", shape: [4, 6]",
        "\"{dtyp}\", shape: [4, 6]",
    );
    change("text_without_quotes", "BLOCK: 4", "BLOCK: relu");
    change("duplicate_name", "left: x[:, :2]", "x: x[:, :2]");
    change("bad_name", "left: x[:, :2]", "le-ft: x[:, :2]");
    change("reserved_name", "left: x[:, :2]", "range: x[:, :2]");
    change(
        "bad_placeholder",
        "\"{dtype}\", shape: [4, 6]",
        "\"{dtype\", shape: [4, 6]",
    );
    change("bad_expression", "left: x[:, :2]", "left: x[:, :2");
}

#[test]
fn reports_bad_storages() {
    change(
        "unknown_dtype",
        "\"{dtype}\", shape: [4, 6]",
        "f61, shape: [4, 6]",
    );
    change(
        "unknown_dtype_from_matrix",
        "dtype: [f32, f16]",
        "dtype: [f32, f16, float]",
    );
    change("bad_shape", "[4, 6]", "[4, -6]");
    change("too_large", "[4, 6]", "[400000000, 600000]");
    change(
        "too_large_by_values",
        "shape: [4, 6], fill: arange",
        "shape: [400000, 600000], fill: [1, 2]",
    );
    change(
        "too_large_by_address",
        "dtype: \"{dtype}\", shape: [4, 6], fill: arange",
        "dtype: i64, shape: [400000, 600000], fill: { full: x.data_ptr() }",
    );
    change("too_large_to_count", "[4, 6]", "[\"2**62\", \"2**62\", 4]");
    change("view_out_of_range", "x[:, :2]", "x.narrow(1, 4, 3)");
    change("view_past_storage", "x[:, :2]", "x.as_strided((4, 6), (6, 1), 3)");
    change("view_of_wrong_size", "x[:, :2]", "x.view(5, 5)");
    change("unknown_method", "x[:, :2]", "x.transpos(0, 1)");
    change("no_such_dimension", "x[:, :2]", "x.select(2, 0)");
}

#[test]
fn host_functions() {
    let host = |name: &str, host: &str| {
        let launch = format!("  - grid: [1]\n    host: {host}\n");
        change(name, "  - grid: [1]\n", &launch);
    };
    host("host_unknown_function", "add_one.py:list_gird");
    host("host_unknown_file", "add_two.py:list_grid");
    host("host_outside", "../../add_one.py:list_grid");
    host("host_names_no_function", "\"add_one.py:\"");
    host("host_is_a_kernel", "add_one_kernel");
    host("host_of_other_parameters", "two");
    host("host_inside_of_a_function", "outer.inner");
    host("host_unknown_variable", "\"{how}\"");
    host("host_of_wrong_type", "[list_grid]");
    change(
        "host_with_arguments_by_position",
        "args: { x: left, out: out, n: n, BLOCK: 4 }",
        "args: [left, { out: out, n: n, BLOCK: 4 }]\n    host: list_grid",
    );
}

#[test]
fn reports_bad_fills() {
    change("unknown_fill", "fill: arange", "fill: arrange");
    change("fill_without_value", "fill: arange", "fill: full");
    change("fill_with_value", "fill: arange", "fill: { zeros: 1 }");
    change(
        "fill_with_two_keys",
        "fill: arange",
        "fill: { full: 1, random: 2 }",
    );
    change("wrong_count", "fill: arange", "fill: [1, 2, 3]");
    change(
        "value_out_of_range",
        "\"{dtype}\", shape: [24], fill: zeros",
        "i8, shape: [2], fill: [127, 128]",
    );
    change(
        "fraction_in_integer",
        "\"{dtype}\", shape: [24], fill: zeros",
        "i8, shape: [2], fill: { full: 0.5 }",
    );
    change(
        "bits_out_of_range",
        "\"{dtype}\", shape: [24], fill: zeros",
        "f16, shape: [1], fill: [bits(0x10000)]",
    );
    change(
        "addresses_in_floats",
        "fill: arange",
        "fill: { addresses: [out] }",
    );
    change(
        "address_of_nothing",
        "\"{dtype}\", shape: [24], fill: zeros",
        "i64, shape: [1], fill: { addresses: [3] }",
    );
    change(
        "random_out_of_range",
        "\"{dtype}\", shape: [24], fill: zeros",
        "u8, shape: [2], fill: { random: { low: -1 } }",
    );
    change("random_seed", "fill: arange", "fill: { random: -1 }");
}

#[test]
fn reports_bad_matrices() {
    change("empty_variable", "dtype: [f32, f16]", "dtype: []");
    change("empty_matrix", "  dtype: [f32, f16]\n  n: [16, 100]\n", "  {}\n");
    change(
        "exclude_everything",
        "  n: [16, 100]\n",
        "  n: [16, 100]\n  exclude: [\"n > 1\"]\n",
    );
    change(
        "exclude_unknown_variable",
        "  n: [16, 100]\n",
        "  n: [16, 100]\n  exclude: [{ m: 16 }]\n",
    );
    change(
        "exclude_unknown_value",
        "  n: [16, 100]\n",
        "  n: [16, 100]\n  exclude: [{ n: 17 }]\n",
    );
    change(
        "exclude_no_condition",
        "  n: [16, 100]\n",
        "  n: [16, 100]\n  exclude: [\"n\"]\n",
    );
    change(
        "include_incomplete",
        "  n: [16, 100]\n",
        "  n: [16, 100]\n  include: [{ dtype: f64 }]\n",
    );
    change(
        "include_duplicate",
        "  n: [16, 100]\n",
        "  n: [16, 100]\n  include: [{ n: 16, dtype: f16 }]\n",
    );
    change("duplicate_value", "n: [16, 100]", "n: [16, 100, 16]");
    change("value_without_name", "n: [16, 100]", "n: [16, \"==\"]");
    change(
        "named_values_differ",
        "n: [16, 100]",
        "n: { a: { m: 1 }, b: { k: 2 } }",
    );
    change("matrix_too_large", "n: [16, 100]", &big_matrix());
}

fn big_matrix() -> String {
    let values: Vec<String> = (0..1001).map(|value| value.to_string()).collect();
    format!("n: [16, 100]\n  a: [{0}]\n  b: [{0}]", values.join(", "))
}

#[test]
fn reports_bad_kernels() {
    change("kernel_file_missing", "add_one.py:add", "add_two.py:add");
    change("kernel_function_missing", ":add_one_kernel", ":add_on_kernel");
    change(
        "kernel_without_function",
        "add_one.py:add_one_kernel",
        "add_one.py",
    );
    change("path_outside", "kernel: add_one.py", "kernel: ../../add_one.py");
    change("path_absolute", "kernel: add_one.py", "kernel: /etc/add_one.py");
    let text = GOOD.replacen("add_one.py", "broken.py", 1);
    let kernel = build_input("area/broken.py", Ok(b"def add_one_kernel(x:\n    return x +\n"));
    bless(
        "kernel_syntax",
        &[build_input("area/wrong.yaml", Ok(text.as_bytes())), kernel],
    );
}

#[test]
fn reports_bad_arguments() {
    change("missing_argument", ", BLOCK: 4", "");
    change(
        "missing_arguments",
        "args: { x: left, out: out, n: n, BLOCK: 4 }",
        "args: [left]",
    );
    change("unknown_argument", "BLOCK: 4", "BLOCK: 4, SCAL: 2");
    change(
        "duplicate_argument",
        "args: { x: left, out: out, n: n, BLOCK: 4 }",
        "args: [left, out, n, { n: 3, BLOCK: 4 }]",
    );
    change(
        "too_many_arguments",
        "args: { x: left, out: out, n: n, BLOCK: 4 }",
        "args: [left, out, n, 4, 1, 2]",
    );
    let text = GOOD.replacen(":add_one_kernel", ":keyword_kernel", 1);
    check(
        "keyword_only",
        &text.replacen(
            "args: { x: left, out: out, n: n, BLOCK: 4 }",
            "args: [left, n]",
            1,
        ),
    );
    change("unknown_option", "num_warps", "num_wraps");
    change("bad_grid", "grid: [1]", "grid: [1, 2, 3, 4]");
    change("grid_too_large", "grid: [1]", "grid: [1, 70000]");
    change("grid_of_floats", "grid: [1]", "grid: [\"n / 2\"]");
}

#[test]
fn tensor_descriptors() {
    let with = |descriptor: &str| GOOD.replacen("x: left", &format!("x: {descriptor}"), 1);
    let wrong = |name: &str, descriptor: &str| check(name, &with(descriptor));
    wrong("descriptor_without_block", "{ descriptor: x }");
    wrong("descriptor_key", "{ descriptor: x, block: [4, 4] }");
    wrong("descriptor_of_nothing", "{ descriptors: x }");
    wrong("descriptor_of_number", "{ descriptor: n, block_shape: [4, 4] }");
    wrong(
        "descriptor_block_of_floats",
        "{ descriptor: x, block_shape: [4.5] }",
    );
    wrong(
        "descriptor_padding",
        "{ descriptor: x, block_shape: [4, 4], padding: one }",
    );
    wrong(
        "descriptor_rounding",
        "{ descriptor: x, block_shape: [4, 4], round_f32_to_tf32: 1 }",
    );
    let wide = |descriptor: &str| {
        let text = GOOD.replacen("shape: [4, 6]", "shape: [4, 8]", 1);
        text.replacen("x: left", &format!("x: {descriptor}"), 1)
    };
    for (name, descriptor) in [
        ("rank", "{ descriptor: x, block_shape: [8] }"),
        ("alignment", "{ descriptor: 'x[:, 1:]', block_shape: [4, 4] }"),
        ("power", "{ descriptor: x, block_shape: [3, 4] }"),
        (
            "strides",
            "{ descriptor: x, block_shape: [4, 8], strides: [9, 1] }",
        ),
        (
            "last_stride",
            "{ descriptor: x, block_shape: [4, 8], strides: [8, 2] }",
        ),
        ("shape", "{ descriptor: x, block_shape: [4, 8], shape: [4, 0] }"),
        (
            "rounded",
            "{ descriptor: x, block_shape: [4, 8], round_f32_to_tf32: true }",
        ),
    ] {
        check(&format!("descriptor_refused_{name}"), &wide(descriptor));
    }
    let good = "{ descriptor: x, block_shape: [4, 8], padding: nan }";
    assert_eq!(
        report(&[build_input("area/good.yaml", Ok(wide(good).as_bytes()))]),
        "good cases: 4"
    );
    let asked = wide("{ descriptor: x, block_shape: [3, 4] }").replacen(
        "    options:",
        "    unchecked: true\n    options:",
        1,
    );
    assert_eq!(
        report(&[build_input("area/good.yaml", Ok(asked.as_bytes()))]),
        "good cases: 4"
    );
}

#[test]
fn reports_bad_compile_settings() {
    let compiled = |name: &str, compile: &str| {
        change(name, "expect:\n", &format!("compile: {compile}\nexpect:\n"));
    };
    compiled("compile_key", "{ dynamics: true }");
    compiled("compile_of_wrong_type", "true");
    compiled("compile_dynamic", "{ dynamic: 1 }");
    compiled("compile_dynamic_of_the_matrix", "{ dynamic: \"{n}\" }");
    compiled("compile_unknown_argument", "{ mark_dynamic: { xx: 0 } }");
    compiled("compile_no_tensor", "{ maybe_mark_dynamic: { n: 0 } }");
    compiled("compile_no_dimension", "{ mark_dynamic: { x: 0, out: [0, 1] } }");
    compiled("compile_before", "{ before: { n: 4 } }");
    compiled("compile_before_of_nothing", "{ before: [{ m: 4 }, 5] }");
    compiled("compile_before_unknown_tensor", "{ before: [{ x: lfet }] }");
    check(
        "compile_of_nothing",
        "about: x\nimport: add_one.py\ncompile: { dynamic: true }\n",
    );
    let text = GOOD.replacen(
        "engine: interpret, versions: \"<3.3\"",
        "engine: inductor, versions: \"<2.6\"",
        1,
    );
    assert_eq!(
        report(&[build_input("area/good.yaml", Ok(text.as_bytes()))]),
        "good cases: 4"
    );
    change(
        "no_version_of_torch",
        "engine: interpret, versions: \"<3.3\"",
        "engine: inductor, versions: \"3.6\"",
    );
}

#[test]
fn on_purpose_nothing_is_checked() {
    let text = GOOD.replacen(
        "options: { num_warps: 4 }",
        "options: { num_wraps: 4 }\n    unchecked: true",
        1,
    );
    let text = text.replacen("BLOCK: 4", "BLOK: 4", 1);
    assert_eq!(
        report(&[build_input("area/good.yaml", Ok(text.as_bytes()))]),
        "good cases: 4"
    );
}

#[test]
fn reports_bad_expectations() {
    change("unknown_engine", "engine: interpret", "engine: interpreter");
    change("bad_engine", "engine: interpret", "engine: interpret+gpu");
    change("bad_versions", "\"<3.3\"", "\"~3.3\"");
    change("no_version", "\"<3.3\"", "\">=3.6,<3.4\"");
    change("unknown_verdict", "verdict: differ", "verdict: differs");
    change("unknown_quirk", "verdict: differ", "quirk: bf16-is-bit");
    change(
        "quirk_of_no_version",
        "verdict: differ",
        "quirk: padding-nan-is-a-number",
    );
    change("outcome_as_verdict", "verdict: differ", "verdict: rejected");
    change("unknown_outcome", "verdict: differ", "outcome: reject");
    change(
        "unknown_axis",
        "verdict: differ",
        "axis: [num_warps, stages], verdict: differ",
    );
    change("verdict_as_outcome", "verdict: differ", "outcome: differ");
    change("empty_engines", "engine: interpret", "engine: []");
    change("empty_quirks", "verdict: differ", "quirk: []");
    change("empty_axes", "verdict: differ", "axis: [], verdict: differ");
    change("condition_of_no_point", "dtype == 'f16'", "dtype == 'bf16'");
    change("condition_over_tensors", "dtype == 'f16'", "left.numel() == 8");
}

#[test]
fn given_results() {
    change("given_unknown", "expect:\n", "gives: { oud: [1] }\nexpect:\n");
    change("given_nothing", "expect:\n", "gives: { out: uninit }\nexpect:\n");
    change("given_too_few", "expect:\n", "gives: { out: [1, 2] }\nexpect:\n");
    change("given_list", "expect:\n", "gives: [1, 2]\nexpect:\n");
}

#[test]
fn reference_functions() {
    change("like_no_function", "expect:\n", "like: softmax\nexpect:\n");
    change(
        "like_unknown",
        "expect:\n",
        "like: add_one.py:add_one_kernl\nexpect:\n",
    );
    change("like_missing", "expect:\n", "like: ref.py:add_one\nexpect:\n");
    change(
        "like_outside",
        "expect:\n",
        "like: ../../ref.py:add_one\nexpect:\n",
    );
}

#[test]
fn what_is_given_is_of_the_storage_and_is_written_out() {
    let text = GOOD.replacen("expect:\n", "gives: { out: \"[n] + [None] * 23\" }\nexpect:\n", 1);
    let corpus = load_corpus(&[build_input("area/good.yaml", Ok(text.as_bytes()))]);
    let case = corpus
        .entries()
        .nth(1)
        .expect("four cases")
        .resolve()
        .expect("a case");
    let [given] = &case.expected_contents[..] else {
        panic!("one storage is given: {:?}", case.expected_contents);
    };
    assert_eq!(given.content.name(), "out");
    assert_eq!(given.content.bytes()[..4], 100f32.to_le_bytes());
    let known = given
        .content
        .states()
        .iter()
        .filter(|&&state| state == cerith_memory::ByteState::Init);
    assert_eq!(known.count(), 4);
    let written = case.to_case_file().expect("a case file");
    assert!(written.contains("gives:\n  out: "), "{written}");
}

#[test]
fn all_problems_come_together_and_good_files_still_run() {
    let wrong = GOOD
        .replacen("fill: arange", "fill: arrange", 1)
        .replacen("storages:", "storage:", 1);
    let also = GOOD
        .replacen("\"<3.3\"", "\"~3.3\"", 1)
        .replacen("BLOCK: 4", "BLOK: 4", 1);
    let files = [
        build_input("area/wrong.yaml", Ok(wrong.as_bytes())),
        build_input("area/also_wrong.yaml", Ok(also.as_bytes())),
        build_input("area/good.yaml", Ok(GOOD.as_bytes())),
        build_input("area/good.yml", Ok(GOOD.as_bytes())),
        build_input(
            "area/later.yaml",
            Ok(GOOD.replacen("x[:, :2]", "x[n]", 1).as_bytes()),
        ),
    ];
    bless("several_files", &files);
}
