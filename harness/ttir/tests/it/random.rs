//! Whatever a text is, it is refused or becomes IR that verifies: nothing panics, and nothing takes long.

use std::path::Path;

use cerith_ttir::{Origin, lower, parse};
use proptest::prelude::*;

fn read_modules() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/modules");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the modules")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| std::fs::read_to_string(path).expect("a text"))
        .collect()
}

fn holds(text: &str) {
    match parse(text) {
        Ok(module) => {
            if let Ok(function) = lower(&module, &Origin::from_text(text)) {
                assert!(function.verify().is_ok());
            }
        }
        Err(error) => assert!(error.offset <= text.len() && !error.message.is_empty()),
    }
}

/// A change of a text: what is cut, doubled or put in another place, by halves of the text.
#[derive(Clone, Debug)]
enum Change {
    Cut(f64, usize),
    Double(f64, usize),
    Copy(f64, usize, f64),
    Insert(f64, String),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0.0..1.0_f64;
    let token = prop::sample::select(vec![
        "%0",
        "^bb1",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        ",",
        ":",
        "->",
        "i32",
        "tensor<4xf32>",
        "-1",
        "99999999999999999999",
        "loc(",
        "\"",
        "#loc1",
        "dense<",
        "!tt.ptr<",
        "x",
        "=",
        "tt.return",
        "scf.yield",
        "\n",
        "\u{e9}",
        "@f",
        "0x",
    ]);
    prop_oneof![
        (place.clone(), 0..60_usize).prop_map(|(at, size)| Change::Cut(at, size)),
        (place.clone(), 0..200_usize).prop_map(|(at, size)| Change::Double(at, size)),
        (place.clone(), 0..60_usize, place.clone()).prop_map(|(from, size, to)| Change::Copy(from, size, to)),
        (place, token).prop_map(|(at, token)| Change::Insert(at, token.to_owned())),
    ]
}

/// A place in a text, between two characters.
fn place(text: &str, at: f64) -> usize {
    let mut at = (text.len() as f64 * at) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn choose_range(text: &str, at: f64, size: usize) -> std::ops::Range<usize> {
    let start = place(text, at);
    let mut end = (start + size).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    start..end.max(start)
}

fn apply_changes(mut text: String, changes: &[Change]) -> String {
    for change in changes {
        match change {
            Change::Cut(at, size) => {
                let range = choose_range(&text, *at, *size);
                text.replace_range(range, "");
            }
            Change::Double(at, size) => {
                let range = choose_range(&text, *at, *size);
                let copy = text[range.clone()].to_owned();
                text.insert_str(range.end, &copy);
            }
            Change::Copy(from, size, to) => {
                let copy = text[choose_range(&text, *from, *size)].to_owned();
                let to = place(&text, *to);
                text.insert_str(to, &copy);
            }
            Change::Insert(at, token) => {
                let at = place(&text, *at);
                text.insert_str(at, token);
            }
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn changed_modules_are_refused_or_lowered(
        nth in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let modules = read_modules();
        let text = apply_changes(nth.get(&modules).clone(), &changes);
        holds(&text);
    }

    #[test]
    fn any_text_is_refused_or_lowered(text in "[ -~\n]{0,200}") {
        holds(&text);
        holds(&format!("module {{\n  tt.func public @k(%0: i32) {{\n    {text}\n  }}\n}}\n"));
    }
}

#[test]
fn calls_that_double_are_stopped() {
    let mut text =
        "module {\n  tt.func public @k(%n: i32) {\n    tt.call @f0(%n) : (i32) -> ()\n    tt.return\n  }\n"
            .to_owned();
    for nth in 0..40 {
        let next = nth + 1;
        let body = "%a = arith.addi %n, %n : i32\n    tt.return";
        let call = format!("tt.call @f{next}(%n) : (i32) -> ()");
        text.push_str(
            &[
                "  tt.func private @f",
                &nth.to_string(),
                "(%n: i32) {\n    ",
                &call,
                "\n    ",
                &call,
                "\n    ",
                body,
                "\n  }\n",
            ]
            .concat(),
        );
    }
    text.push_str("  tt.func private @f40(%n: i32) {\n    tt.return\n  }\n}\n");
    let module = parse(&text).expect("a module");
    let refused = lower(&module, &Origin::from_text(&text)).expect_err("too much");
    assert!(refused.to_string().contains("operations"), "{refused}");
    let empty = text.replace("%a = arith.addi %n, %n : i32\n    ", "");
    let module = parse(&empty).expect("a module");
    assert!(lower(&module, &Origin::from_text(&empty)).is_err());
    let own =
        "module {\n  tt.func public @k(%n: i32) {\n    tt.call @k(%n) : (i32) -> ()\n    tt.return\n  }\n}\n";
    let module = parse(own).expect("a module");
    let refused = lower(&module, &Origin::from_text(own)).expect_err("no end");
    assert!(refused.to_string().contains("deep"), "{refused}");
}
