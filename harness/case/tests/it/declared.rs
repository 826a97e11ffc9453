//! Messages about wrong comments beside a kernel, blessed under `snapshots/case`.

use cerith_case::read_declarations;
use cerith_tile::source::{SourceFile, Sources};

/// Each line has another mistake, and all of them are reported.
#[test]
fn wrong_declarations_are_reported_at_their_lines() {
    let text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, n, B: tl.constexpr):\n    \
                # cerith: require n % B == 0\n    # cerith: requires m % B == 0\n    # cerith: requires n %\n    \
                # cerith: requires print(n)\n    at = tl.arange(0, B)\n    tl.store(x + at, 1)  # cerith: ignore[race]\n    \
                tl.store(x + at, 1)  # cerith: ignore races are fine\n";
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("k.py", text));
    let problems = read_declarations(id, text).expect_err("mistakes");
    let shown: Vec<String> = problems.iter().map(|one| one.render(&sources, false)).collect();
    insta::with_settings!({snapshot_path => "../../../../snapshots/case", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("wrong_declarations", shown.join("\n\n"));
    });
}
