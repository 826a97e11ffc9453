//! No text panics, hangs or takes memory without bounds: files of arbitrary text, and good files with a part replaced.

use cerith_gen::case_file::{self, ARCHIVE, KERNEL, SEEDS};
use proptest::prelude::*;

/// A case file that uses much of the format.
const CASE: &str = SEEDS[0];

/// The numbers of good cases and problems of a case file. [`case_file::read`] checks what the format must do with any
/// text.
fn swallow(case: &[u8], kernel: &[u8]) -> (usize, usize) {
    swallow_with(case, kernel, ARCHIVE)
}

fn swallow_with(case: &[u8], kernel: &[u8], archive: &[u8]) -> (usize, usize) {
    let read = case_file::read(case, kernel, archive).unwrap_or_else(|fault| panic!("{fault}"));
    (read.good, read.problems.len())
}

#[test]
fn the_seed_of_these_tests_is_good() {
    assert_eq!(swallow(CASE.as_bytes(), KERNEL.as_bytes()), (7, 0));
}

#[test]
fn what_once_looked_dangerous() {
    for text in [
        "",
        "\0",
        "\u{feff}about: x",
        "about: \u{2028}x",
        "about: 'a\n  b'",
        "about: |\n  a\n",
        "about: >-\n  a\n  b\n",
        "about: \"\\u0000\"",
        "? a\n: b",
        "[",
        "{",
        "- - - -",
        "a: b: c",
        "about:\r\nkernel:\r\n",
        "about: é\nkernel: ü:ö",
        "%YAML 1.1\n---\nabout: x",
        "about: x\n...\nkernel: y",
        "<<: {about: x}",
        "about: !!binary aGk=",
        "about: 1_000",
        "about: 0o17",
        "about: 0x",
        "about: 12e03",
        "about: ~",
        "matrix: {a: {b: {}}}",
        "true: 1",
        "1: 2",
        "1.0: 2",
    ] {
        swallow(text.as_bytes(), KERNEL.as_bytes());
    }
    for (from, to) in [
        ("[4, 6]", "[0, 0]"),
        ("[4, 6]", "[]"),
        ("[4, 6]", "[9223372036854775807, 2]"),
        ("[4, 6]", "[-1]"),
        ("[4, 6]", "[\"2**200\"]"),
        ("x[:, :2]", "x[:, :2**100]"),
        ("x[:, :2]", "x.expand(2**40, 4, 6)"),
        ("x[:, :2]", "x.as_strided((2**31, 2**31), (0, 0))"),
        ("x[:, :2]", "'y' * 1000000000"),
        ("x[:, :2]", "[0] * 10**10"),
        ("x[:, :2]", "9**9**9"),
        ("\"{dtype}\"", "\"{dtype * 10**9}\""),
        ("{ random: { seed: 3", "{ random: { seed: -3"),
        ("low: -1", "low: 1e308"),
        ("high: 5", "high: .inf"),
        ("num_warps: 4", "num_warps: [[[[[[1]]]]]]"),
        ("n: n", "n: n, n: n"),
        ("[1, \"cdiv(n, 4)\"]", "[4294967296]"),
        ("data.zip/kept", "../data.zip/kept"),
        ("data.zip/kept", "/data.zip/kept"),
        ("data.zip/kept", "data.zip/"),
        ("data.zip/kept", ".zip/kept"),
        ("data.zip/kept", "k.py"),
        ("data.zip/kept", "\"{n}\""),
        ("{ 1: x.data_ptr() }", "{ 99999999999999999999: x }"),
        ("{ 1: x.data_ptr() }", "{ 2305843009213693952: x }"),
        ("{ 1: x.data_ptr() }", "{ 1: \"x.data_ptr() + 2**62 + 2**62\" }"),
        ("{ kept: data.zip/kept }", "{ left: data.zip/kept }"),
        (
            "{ kept: data.zip/kept }",
            "{ kept: { bytes: data.zip/other, addresses: { 0: left } } }",
        ),
        ("{ kept: data.zip/kept }", "null"),
        ("k.py:launch", ":"),
        ("k.py:launch", "k.py:"),
        ("k.py:launch", ":launch"),
        ("k.py:launch", "../k.py:launch"),
        ("k.py:launch", "c.yaml:launch"),
        ("k.py:launch", "k.py:kernel"),
        ("k.py:launch", "k.py:made"),
        ("\"{host}\"", "\"{n}\""),
        ("\"{host}\"", "[launch]"),
        ("\"{host}\"", "null"),
        ("args: { x: left, n: n }", "args: [left]"),
        ("k.py:kernel", ":"),
        ("k.py:kernel", "k.py:"),
        ("k.py:kernel", ":kernel"),
        ("k.py:kernel", "'{n}:{n}'"),
        ("k.py:kernel", ".:kernel"),
        ("k.py:kernel", "c.yaml:kernel"),
        (">=3.0,<3.3", "<70000"),
        ("'f16'\"]", "\"]"),
    ] {
        assert!(CASE.contains(from), "{from}");
        swallow(CASE.replacen(from, to, 1).as_bytes(), KERNEL.as_bytes());
    }
}

/// Keywords of the format, and characters that are special in YAML, Python and placeholders.
fn build_fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,6}",
        "[\\[\\]{}:,'\"#&*!|>%@`\\\\ \\n\\t-]{1,8}",
        prop::sample::select(vec![
            "x",
            "left",
            "{dtype}",
            "{n}",
            "{",
            "}",
            "null",
            "true",
            ".nan",
            "-0.0",
            "1e400",
            "0x1F",
            "2**64",
            "x[1:]",
            "x.T",
            "[1, 2]",
            "{ a: 1 }",
            "- a",
            "\n  ",
            "\n",
            "x.data_ptr()",
            "bits(0x1)",
            "arange",
            "uninit",
            "[]",
            "tl.float32",
            "f32",
            "fp8e5",
            "99999999999999999999999999999999999999999",
            "'relu'",
            "[x for x in x]",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_an_error_at_worst(text in "\\PC{0,200}", kernel in "\\PC{0,100}") {
        swallow(text.as_bytes(), kernel.as_bytes());
    }

    #[test]
    fn arbitrary_bytes_are_an_error_at_worst(text in prop::collection::vec(any::<u8>(), 0..100)) {
        swallow(&text, &text);
    }

    #[test]
    fn a_good_file_with_a_part_replaced(
        start in 0..CASE.len(), len in 0..24usize, with in prop::collection::vec(build_fragment(), 0..3)
    ) {
        let end = (start + len).min(CASE.len());
        let text = format!("{}{}{}", &CASE[..start], with.concat(), &CASE[end..]);
        swallow(text.as_bytes(), KERNEL.as_bytes());
    }

    #[test]
    fn a_good_file_with_lines_removed_and_swapped(order in prop::collection::vec(0..24usize, 0..24)) {
        let lines: Vec<&str> = CASE.lines().collect();
        let text: Vec<&str> = order.iter().filter_map(|&at| lines.get(at).copied()).collect();
        swallow(text.join("\n").as_bytes(), KERNEL.as_bytes());
    }

    #[test]
    fn a_data_archive_with_bytes_replaced(
        at in 0..ARCHIVE.len(), with in prop::collection::vec(any::<u8>(), 0..12), cut in 0..ARCHIVE.len() * 4
    ) {
        let mut archive = ARCHIVE.to_vec();
        archive.splice(at..(at + with.len()).min(ARCHIVE.len()), with);
        archive.truncate(cut);
        swallow_with(CASE.as_bytes(), KERNEL.as_bytes(), &archive);
    }

    #[test]
    fn a_kernel_with_a_part_replaced(
        start in 0..KERNEL.len(), len in 0..12usize, with in prop::collection::vec(build_fragment(), 0..3)
    ) {
        let end = (start + len).min(KERNEL.len());
        let kernel = format!("{}{}{}", &KERNEL[..start], with.concat(), &KERNEL[end..]);
        swallow(CASE.as_bytes(), kernel.as_bytes());
    }
}
