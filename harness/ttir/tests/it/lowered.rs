//! Lowers modules that Triton printed. `modules` names them by feature and version; `many` has a bit of everything, at
//! three stages.

use cerith_ttir::{Origin, lower, parse};

/// The IR of a module, or what is not known in it.
fn render_module(text: &str, name: &str) -> String {
    let origin = Origin {
        descriptor_flags: 2,
        name,
        ..Origin::from_text(text)
    };
    let refused = match parse(text) {
        Ok(module) => match lower(&module, &origin) {
            Ok(function) => return function.to_string(),
            Err(refused) => refused,
        },
        Err(error) => error.to_refused(&origin),
    };
    refused.diagnostic.render(&refused.sources, false)
}

#[test]
fn modules_of_every_version_become_ir() {
    insta::glob!("..", "modules/*.mlir", |path| {
        let text = std::fs::read_to_string(path).expect("the module");
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        insta::assert_snapshot!(render_module(&text, name));
    });
}

#[test]
fn what_is_not_known_is_said_with_its_line() {
    let check = |line: &str, expected: &str| {
        let text = format!(
            "module {{\n  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {{\n    {line}\n    tt.return\n  }}\n}}\n"
        );
        let shown = render_module(&text, "k.mlir");
        assert!(shown.contains(expected), "{line}\n{shown}");
        assert!(shown.contains("k.mlir:3:"), "{line}\n{shown}");
    };
    check("%a = tt.no_such %n : i32", "`tt.no_such` is not supported yet");
    check("%a = arith.addi %n, %m : i32", "`%m` is not defined");
    check("%a = arith.addi %n : i32", "`arith.addi` with 1 operands");
    check("%a = arith.addi %n, %x : i32", "an operand is *f32, not i32");
    check(
        "%a = tt.call @f(%n) : (i32) -> i32",
        "a call of `f`, which is not defined",
    );
    check("cf.br ^bb7\n  ^bb1:", "there is no block `^bb7`");
    check(
        "%a = arith.constant dense<[1, 2]> : tensor<2xi32>",
        "a constant whose lanes differ",
    );
    check(
        "%a = arith.cmpi slow, %n, %n : i32",
        "the comparison `slow` is not supported yet",
    );
    check(
        "%a = tt.splat %n : i32 -> tensor<4x9999999999xi32>",
        "an extent of 9999999999",
    );
    check("%a:3 = arith.addi %n, %n : i32", "has 1 results, and 3 are named");
    check(
        "%a = \"tt.reduce\"(%n) <{axis = 0 : i32 : i32",
        "a word is missing",
    );
}
