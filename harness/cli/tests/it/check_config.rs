//! `cerith check`: comments, configuration, baselines, edits and output formats. Files of a checkout are hostile.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use cerith_engine::{BAD_INSTRUCTION, BAD_SYNTAX, FindingCode};

use crate::command_output::CommandOutput;
use tempfile::TempDir;

const HEAD: &str = "import triton\nimport triton.language as tl\n\n\n";

/// A kernel without a mask: `BLOCK` must divide `n`.
const UNMASKED: &str = "@triton.jit\ndef double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    \
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    \
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2.0)\n";

/// A kernel with `<=` for `<`.
const TOO_FAR: &str = "@triton.jit\ndef copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    \
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    \
    x = tl.load(x_ptr + at, mask=at <= n, other=0.0)\n    \
    tl.store(out_ptr + at, x, mask=at < n)\n";

/// A kernel that loads whole blocks of columns only.
const LOOP: &str = "@triton.jit\ndef sums(x_ptr, out_ptr, stride, K, BLOCK_K: tl.constexpr):\n    \
    row = tl.program_id(0)\n    total = tl.zeros([BLOCK_K], tl.float32)\n    \
    for start in range(0, K, BLOCK_K):\n        total += tl.load(x_ptr + row * stride + start + tl.arange(0, BLOCK_K))\n    \
    tl.store(out_ptr + row, tl.sum(total))\n";

fn place(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }
    folder
}

fn with_head(kernel: &str) -> String {
    format!("{HEAD}{kernel}")
}

fn run(folder: &Path, args: &[&str]) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("it starts");
    CommandOutput::from_output(&output)
}

fn check(folder: &TempDir, args: &[&str]) -> CommandOutput {
    let mut all = vec!["check", "--engine", "reference"];
    all.extend(args);
    run(folder.path(), &all)
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).expect("a file")
}

#[test]
fn a_declared_precondition_is_not_reported() {
    let unmasked = with_head(UNMASKED);
    let folder = place(&[("k.py", &unmasked)]);
    check(&folder, &["k.py"]).assert_ends(1, &["precondition[unmasked]"], &[]);
    for declared in [
        unmasked.replace("@triton.jit", "# cerith: requires n % BLOCK == 0\n@triton.jit"),
        unmasked.replace(
            "BLOCK: tl.constexpr):",
            "BLOCK: tl.constexpr):  # cerith: requires n % BLOCK == 0",
        ),
        unmasked.replace(
            "    at =",
            "    # cerith: requires n > 0 and n % BLOCK == 0\n    at =",
        ),
    ] {
        let folder = place(&[("k.py", &declared)]);
        check(&folder, &["k.py"]).assert_ends(0, &["nothing found", "= declared: `n"], &[]);
    }
    // Another promise is not this one.
    let other = unmasked.replace(
        "@triton.jit",
        "# cerith: requires n % BLOCK == 0 or n > 4\n@triton.jit",
    );
    let folder = place(&[("k.py", &other)]);
    check(&folder, &["k.py"]).assert_ends(1, &["precondition[unmasked]"], &[]);
}

/// Launches keep a declared precondition, and still find other bugs.
#[test]
fn launches_keep_declared_preconditions() {
    let text = with_head(LOOP);
    let folder = place(&[("k.py", &text)]);
    check(&folder, &["k.py"]).assert_ends(1, &["error[out-of-bounds]"], &[]);
    let declared = text.replace("@triton.jit", "# cerith: requires K % BLOCK_K == 0\n@triton.jit");
    let folder = place(&[("k.py", &declared)]);
    let done = check(&folder, &["k.py", "-v"]).assert_ends(0, &["nothing found"], &[]);
    let sizes: Vec<u32> = done
        .out
        .split(" K=")
        .skip(1)
        .filter_map(|rest| rest.split(',').next()?.parse().ok())
        .collect();
    assert!(sizes.iter().any(|size| *size > 0), "{}", done.out);
    assert!(sizes.iter().all(|size| size % 16 == 0), "{}", done.out);
    let wrong = declared.replace("out_ptr + row", "out_ptr");
    let folder = place(&[("k.py", &wrong)]);
    check(&folder, &["k.py"]).assert_ends(1, &["error[race]: store", "= launch: x_ptr: f32["], &[]);
}

#[test]
fn wrong_comments_are_errors_with_their_line() {
    for (comment, expected, help) in [
        (
            "requires m % BLOCK == 0",
            "the kernel has no parameter `m`",
            "there are `x_ptr`",
        ),
        (
            "requires n %% BLOCK",
            "`requires` needs a Python expression",
            "write a condition",
        ),
        (
            "requires",
            "`requires` needs a Python expression",
            "write a condition",
        ),
        ("requires 4 > 2", "names no parameter", "write a condition"),
        (
            "require n > 2",
            "unknown comment `cerith: require`",
            "did you mean `requires`?",
        ),
        (
            "ignore race",
            "needs the code of a finding",
            "ignore[CODE] REASON",
        ),
        ("ignore[race]", "`ignore` needs a reason", "ignore[CODE] REASON"),
        (
            "ignore[rase] it is fine",
            "no finding has the code `rase`",
            "did you mean `race`?",
        ),
    ] {
        let text = with_head(UNMASKED).replace("    at =", &format!("    # cerith: {comment}\n    at ="));
        let folder = place(&[("k.py", &text)]);
        check(&folder, &["k.py"]).assert_ends(2, &[], &["error[bad-declaration]", expected, "k.py:7:", help]);
    }
    let text = format!("# cerith: requires n > 2\nn = 4\n\n{}", with_head(UNMASKED));
    let folder = place(&[("k.py", &text)]);
    check(&folder, &["k.py"]).assert_ends(2, &[], &["`requires` belongs to no kernel", "k.py:1:"]);
    // In a string it is not a comment.
    let text = format!("{}\nNOTE = \"# cerith: nonsense\"\n", with_head(UNMASKED));
    let folder = place(&[("k.py", &text)]);
    check(&folder, &["k.py"]).assert_ends(1, &["precondition[unmasked]"], &[]);
}

#[test]
fn ignored_findings_are_counted() {
    let text = with_head(TOO_FAR);
    let comment = "  # cerith: ignore[out-of-bounds] the caller pads x";
    for ignored in [
        text.replace("other=0.0)", &format!("other=0.0){comment}")),
        // A comment belongs to its whole statement.
        text.replace(
            "x_ptr + at, mask=at <= n",
            &format!("\n        x_ptr + at,{comment}\n        mask=at <= n"),
        ),
        text.replace("    x = ", &format!("  {comment}\n    x = ")),
        text.replace("@triton.jit", &format!("{}\n@triton.jit", comment.trim())),
    ] {
        let folder = place(&[("k.py", &ignored)]);
        check(&folder, &["k.py"]).assert_ends(
            0,
            &["nothing new found, 1 hidden"],
            &["hidden: 1 by comments"],
        );
        check(&folder, &["k.py", "-v"]).assert_ends(
            0,
            &[
                "= hidden by comments: out-of-bounds at k.py:",
                "the caller pads x",
            ],
            &[],
        );
    }
    // Another code, and another line.
    let other = text.replace("other=0.0)", "other=0.0)  # cerith: ignore[race] one program");
    let folder = place(&[("k.py", &other)]);
    check(&folder, &["k.py"]).assert_ends(
        1,
        &["error[out-of-bounds]"],
        &["`# cerith: ignore[race]` hides nothing"],
    );
    let other = text.replace(
        "mask=at < n)",
        "mask=at < n)  # cerith: ignore[out-of-bounds] padded",
    );
    let folder = place(&[("k.py", &other)]);
    check(&folder, &["k.py"]).assert_ends(1, &["error[out-of-bounds]"], &["hides nothing"]);
}

#[test]
fn the_configuration_chooses_files_and_hides_findings() {
    let text = with_head(TOO_FAR);
    let unmasked = with_head(UNMASKED);
    let config = "paths = [\"src\"]\nexclude = [\"src/old\"]\nengines = [\"reference\"]\n\n\
        [[kernel]]\nname = \"src/double.py:double\"\nrequires = [\"n % BLOCK == 0\"]\n\n\
        [[ignore]]\nfile = \"src/*.py\"\nkernel = \"copy\"\ncode = \"out-of-bounds\"\nreason = \"x is padded\"\n";
    let project = format!(
        "[project]\nname = \"x\"\n\n{}",
        config
            .replace("[[", "[[tool.cerith.")
            .replace("paths", "[tool.cerith]\npaths")
    );
    for (name, config) in [("cerith.toml", config), ("pyproject.toml", project.as_str())] {
        let folder = place(&[
            (name, config),
            ("src/copy.py", &text),
            ("src/double.py", &unmasked),
            ("src/old/copy.py", &text),
        ]);
        let excluded = format!("excluded by {name}: 1");
        let hidden = format!("hidden: 1 by {name}");
        run(folder.path(), &["check"]).assert_ends(
            0,
            &["src/double.py:double  6 launches: nothing found"],
            &["2 kernels: 0 with findings", &hidden, &excluded],
        );
        run(
            folder.path(),
            &["check", "--no-config", "src", "--engine", "reference"],
        )
        .assert_ends(
            1,
            &["src/old/copy.py:copy", "precondition[unmasked]"],
            &["3 kernels: 3 with findings"],
        );
        // Another commit's configuration.
        fs::write(
            folder.path().join("other.toml"),
            "paths = [\"src/copy.py\"]\nengines = [\"reference\"]\n",
        )
        .expect("written");
        run(folder.path(), &["check", "--config", "other.toml"]).assert_ends(
            1,
            &["src/copy.py:copy", "error[out-of-bounds]"],
            &[],
        );
        // Folders of a repository have its configuration.
        run(
            &folder.path().join("src"),
            &["check", "copy.py", "--engine", "reference"],
        )
        .assert_ends(1, &[], &[]);
        fs::create_dir(folder.path().join(".git")).expect("a folder");
        run(&folder.path().join("src"), &["check", "copy.py"]).assert_ends(0, &[], &["hidden: 1 by"]);
    }
}

#[test]
fn launchers_are_not_executed_without_a_request() {
    let config = "engines = [\"reference\"]\n\n[[launcher]]\nname = \"k.py:run\"\nlike = \"ref.py:run\"\n";
    let text = with_head(UNMASKED).replace("@triton.jit", "# cerith: requires n % BLOCK == 0\n@triton.jit");
    let folder = place(&[("k.py", &text), ("cerith.toml", config)]);
    let expected = "run was not compared with its reference function ref.py:run\n  = help: `--oracle` executes both, contained\n";
    check(&folder, &["k.py"]).assert_ends(0, &[expected], &[]);
    check(&folder, &["k.py", "--strict"]).assert_ends(1, &[expected], &[]);
    check(&folder, &["k.py", "--launcher", "run"]).assert_ends(2, &[], &["--like"]);
    check(&folder, &["k.py", "--launcher", "run", "--like", "run"]).assert_ends(
        2,
        &[],
        &["`run` names no function", "ref.py:softmax"],
    );
}

#[test]
fn the_configuration_of_a_checkout_is_not_trusted() {
    let text = with_head(TOO_FAR);
    for (config, expected) in [
        ("paths = [\"/etc\"]", "`/etc` is not a path inside of this folder"),
        ("paths = [\"src/../..\"]", "is not a path inside of this folder"),
        ("paths = [\"out\"]", "`out` leads through a link"),
        ("paths = [\"out/k.py\"]", "leads through a link"),
        (
            "baseline = \"../known.toml\"",
            "is not a path inside of this folder",
        ),
        ("baseline = \"out/known.toml\"", "leads through a link"),
        (
            "engines = [\"interpret@3.9.0\"]",
            "can't start `interpret@3.9.0`, only `reference`",
        ),
        ("engines = [\"cuda@3.9.0\"]", "can't start `cuda@3.9.0`"),
        ("exlude = []", "did you mean `exclude`?"),
        ("containment = \"off\"", "unknown key `containment`"),
        ("python = \"./python\"", "unknown key `python`"),
        ("timeout = 0", "at least 1 second"),
        ("strict = 1", "expected a boolean"),
        ("paths = [", "cerith.toml:1"),
        (
            "[[ignore]]\nfile = \"k.py\"\ncode = \"race\"",
            "missing field `reason`",
        ),
        (
            "[[ignore]]\nfile = \"k.py\"\ncode = \"race\"\nreason = \" \"",
            "`reason` is empty",
        ),
        (
            "[[ignore]]\nfile = \"k.py\"\ncode = \"rase\"\nreason = \"x\"",
            "did you mean `race`?",
        ),
        (
            "[[ignore]]\nfile = \"k.py\"\ncod = \"race\"\nreason = \"x\"",
            "did you mean `code`?",
        ),
        (
            "[[kernel]]\nname = \"copy\"\nrequires = []",
            "is not the name of a kernel",
        ),
        (
            "[[kernel]]\nname = \"k.py:cpy\"\nrequires = []",
            "did you mean `copy`?",
        ),
        (
            "[[launcher]]\nname = \"run\"\nlike = \"ref.py:run\"",
            "is not the name of a launcher",
        ),
        (
            "[[launcher]]\nname = \"k.py:run\"\nlike = \"ref.py:run\"\nargs = { x = \"float33[3]\" }",
            "`float33[3]` is not a tensor",
        ),
        (
            "[[launcher]]\nname = \"k.py:run\"\nlike = \"out/ref.py:run\"",
            "leads through a link",
        ),
        (
            "[[launcher]]\nname = \"k.py:run\"\nlike = \"../ref.py:run\"",
            "is not a path inside of this folder",
        ),
        (
            "[[launcher]]\nname = \"k.py:run\"\nlike = \"run\"",
            "`run` names no function",
        ),
        (
            "[[launcher]]\nname = \"k.py:run\"\nlik = \"ref.py:run\"",
            "did you mean `like`?",
        ),
        (
            "[[kernel]]\nname = \"k.py:copy\"\nrequires = [\"m > 2\"]",
            "the kernel has no parameter `m`",
        ),
    ] {
        let folder = place(&[("k.py", &text), ("cerith.toml", config)]);
        symlink("/tmp", folder.path().join("out")).expect("a link");
        check(&folder, &["k.py"]).assert_ends(2, &[], &[expected]);
    }
    let folder = place(&[("k.py", &text)]);
    symlink("/etc/passwd", folder.path().join("cerith.toml")).expect("a link");
    check(&folder, &["k.py"]).assert_ends(2, &[], &["failed to read cerith.toml"]);
    // The user's own file may choose engines.
    let folder = place(&[
        ("k.py", &text),
        ("mine.toml", "engines = [\"reference\", \"reference\"]\n"),
    ]);
    check(&folder, &["k.py", "--config", "mine.toml"]).assert_ends(1, &["error[out-of-bounds]"], &[]);
    let folder = place(&[("k.py", &text), ("pyproject.toml", "not toml at all")]);
    check(&folder, &["k.py"]).assert_ends(1, &["error[out-of-bounds]"], &[]);
}

#[test]
fn a_baseline_hides_known_findings_only() {
    let (text, unmasked) = (with_head(TOO_FAR), with_head(UNMASKED));
    let folder = place(&[("src/copy.py", &text), ("src/double.py", &unmasked)]);
    check(&folder, &["src", "--write-baseline", "known.toml"]).assert_ends(
        0,
        &[],
        &["wrote 2 findings to known.toml"],
    );
    let known = read(&folder, "known.toml");
    for part in [
        "[[finding]]",
        "[[precondition]]",
        "code = \"out-of-bounds\"",
        "code = \"unmasked\"",
        "reason = \"\"",
    ] {
        assert!(known.contains(part), "{known}");
    }
    check(&folder, &["src", "--baseline", "known.toml"]).assert_ends(
        0,
        &["nothing new found, 1 hidden"],
        &["hidden: 2 by the baseline (2 without a reason)"],
    );
    // Ids survive moved lines, and a new finding in the same file is reported.
    let moved = text.replace(HEAD, &format!("{HEAD}# A line.\n\n"));
    let second = TOO_FAR
        .replace("copy", "second")
        .replace("tl.load(x_ptr", "tl.load(out_ptr");
    fs::write(folder.path().join("src/copy.py"), format!("{moved}\n\n{second}")).expect("written");
    check(&folder, &["src", "--baseline", "known.toml"]).assert_ends(
        1,
        &[
            "src/copy.py:copy  13 launches: nothing new found, 1 hidden",
            "src/copy.py:second",
        ],
        &["hidden: 2 by the baseline"],
    );
    // Reasons stay, and fixed findings go.
    let reasoned = known.replacen("reason = \"\"", "reason = \"x is padded\"", 1);
    fs::write(folder.path().join("known.toml"), reasoned).expect("written");
    fs::write(folder.path().join("src/copy.py"), &text).expect("written");
    let fixed = unmasked.replace(
        "tl.load(x_ptr + at)",
        "tl.load(x_ptr + at, mask=at < n, other=0.0)",
    );
    let fixed = fixed.replace("* 2.0)", "* 2.0, mask=at < n)");
    fs::write(folder.path().join("src/double.py"), fixed).expect("written");
    check(&folder, &["src", "--baseline", "known.toml"]).assert_ends(
        0,
        &[],
        &["1 findings of the baseline are gone"],
    );
    check(&folder, &["src", "--write-baseline", "known.toml"]).assert_ends(0, &[], &["wrote 1 findings"]);
    let known = read(&folder, "known.toml");
    assert!(
        known.contains("reason = \"x is padded\"") && !known.contains("precondition"),
        "{known}"
    );
    // Entries of other kernels stay as long as their files exist.
    check(&folder, &["src/double.py", "--write-baseline", "known.toml"]).assert_ends(
        0,
        &[],
        &["wrote 1 findings"],
    );
    let broken = "import triton\n@triton.jit\ndef f(:\n";
    fs::write(folder.path().join("src/broken.py"), broken).expect("written");
    check(&folder, &["src", "--write-baseline", "known.toml"]).assert_ends(
        2,
        &[],
        &["did not write known.toml"],
    );
    assert_eq!(read(&folder, "known.toml"), known);
    fs::remove_file(folder.path().join("src/broken.py")).expect("removed");
    fs::remove_file(folder.path().join("src/copy.py")).expect("removed");
    check(&folder, &["src", "--write-baseline", "known.toml"]).assert_ends(0, &[], &["wrote 0 findings"]);
}

#[test]
fn a_baseline_replaces_no_other_file_and_follows_no_link() {
    let text = with_head(TOO_FAR);
    let folder = place(&[
        ("copy.py", &text),
        ("notes.toml", "title = \"mine\"\n"),
        ("outside", "mine"),
    ]);
    check(&folder, &["copy.py", "--write-baseline", "notes.toml"]).assert_ends(
        2,
        &[],
        &["failed to read the baseline notes.toml"],
    );
    assert_eq!(read(&folder, "notes.toml"), "title = \"mine\"\n");
    check(&folder, &["copy.py", "--write-baseline", "copy.py"]).assert_ends(2, &[], &["is not replaced"]);
    symlink("outside", folder.path().join("link.toml")).expect("a link");
    check(&folder, &["copy.py", "--write-baseline", "link.toml"]).assert_ends(2, &[], &["link.toml"]);
    symlink("missing", folder.path().join("dangling.toml")).expect("a link");
    check(&folder, &["copy.py", "--write-baseline", "dangling.toml"]).assert_ends(2, &[], &["dangling.toml"]);
    assert_eq!(read(&folder, "outside"), "mine");
    assert!(!folder.path().join("missing").exists());
    check(&folder, &["copy.py", "--baseline", "missing.toml"]).assert_ends(
        2,
        &[],
        &["failed to read the baseline missing.toml"],
    );
}

/// A kernel, the same with its edit, and a part of the diff.
fn list_edits() -> [(String, String); 5] {
    let copy = with_head(&TOO_FAR.replace("<=", "<"));
    let tanh = copy.replace("out_ptr + at, x,", "out_ptr + at, tl.tanh(x),");
    let fixed = tanh
        .replace("tl.tanh", "libdevice.tanh")
        .replace("as tl\n", "as tl\nfrom triton.language.extra import libdevice\n");
    let exp = copy.replace("out_ptr + at, x,", "out_ptr + at, tl.maximm(x, x),");
    let summed = with_head(
        "@triton.jit\ndef sums(x_ptr, out_ptr, n, B: tl.constexpr):\n    row = tl.program_id(0)\n    at = tl.arange(0, B)\n    \
         x = tl.load(x_ptr + row * n + at, mask=at < n)\n    tl.store(out_ptr + row, tl.sum(x, axis=0))\n",
    );
    [
        (tanh, fixed),
        (copy.replace("x_ptr + at,", "x_ptr + att,"), copy.clone()),
        (exp.clone(), exp.replace("maximm", "maximum")),
        // The second error shows when the first one is gone.
        (
            exp.replace("x_ptr + at,", "x_ptr + att,"),
            exp.replace("maximm", "maximum"),
        ),
        (
            summed.clone(),
            summed.replace("mask=at < n)\n    tl", "mask=at < n, other=0.0)\n    tl"),
        ),
    ]
}

#[test]
fn certain_edits_are_printed_or_applied() {
    for (text, fixed) in list_edits() {
        let folder = place(&[("copy.py", &text)]);
        check(&folder, &["copy.py"]).assert_ends(
            1,
            &["suggested edit, applied with `--fix`", "--- copy.py"],
            &[],
        );
        assert_eq!(read(&folder, "copy.py"), text);
        check(&folder, &["copy.py", "--fix"]).assert_ends(1, &["--- copy.py"], &["edited copy.py"]);
        assert_eq!(read(&folder, "copy.py"), fixed);
        check(&folder, &["copy.py"]).assert_ends(0, &["nothing found"], &[]);
    }
    // A link is not written through.
    let [(text, _), ..] = list_edits();
    let folder = place(&[("real/copy.py", &text)]);
    symlink("real/copy.py", folder.path().join("copy.py")).expect("a link");
    check(&folder, &["copy.py", "--fix"]).assert_ends(2, &[], &["failed to edit copy.py"]);
    assert_eq!(read(&folder, "real/copy.py"), text);
    // Without a certain edit there is none.
    let unknown = text.replace("tl.tanh", "tl.no_such_function_at_all");
    let folder = place(&[("copy.py", &unknown)]);
    let done = check(&folder, &["copy.py", "--fix"]).assert_ends(1, &["unknown-attribute"], &[]);
    assert!(!done.out.contains("--- copy.py"), "{}", done.out);
    assert_eq!(read(&folder, "copy.py"), unknown);
}

#[test]
fn findings_have_formats_for_ci() {
    let folder = place(&[("copy.py", &with_head(TOO_FAR))]);
    let check = |format: &str| check(&folder, &["copy.py", "--format", format]);
    check("github").assert_ends(
        1,
        &["::error file=copy.py,line=8,col=9,title=copy.py%3Acopy::"],
        &[],
    );
    check("junit").assert_ends(
        1,
        &["<testcase name=\"copy\" classname=\"copy.py\"", "<failure"],
        &[],
    );
    let sarif = check("sarif").assert_ends(1, &[], &[]);
    let log: serde_json::Value = serde_json::from_str(&sarif.out).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "check/out-of-bounds");
    let line = check("jsonl").assert_ends(1, &[], &[]);
    let line: serde_json::Value = serde_json::from_str(&line.out).expect("JSON");
    let finding = &line["findings"][0];
    assert_eq!(finding["code"], "out-of-bounds");
    assert_eq!(finding["id"], result["partialFingerprints"]["finding/v1"]);
    let launch = finding["launch"].as_str().expect("a launch");
    assert!(
        launch.starts_with("x_ptr: f32[") && launch.contains("grid ["),
        "{launch}"
    );
}

#[test]
fn strict_fails_if_a_kernel_is_not_judged() {
    let helper = with_head("@triton.jit\ndef twice(x):\n    return x + x\n");
    let folder = place(&[("helper.py", &helper), ("none.py", "x = 1\n")]);
    check(&folder, &["helper.py"]).assert_ends(3, &["not tried"], &[]);
    check(&folder, &["helper.py", "--strict"]).assert_ends(1, &["not tried"], &[]);
    check(&folder, &[]).assert_ends(2, &[], &["there is nothing to check", "cerith check softmax.py"]);
}

/// Loops of many operations, so that a second is not enough for all launches.
#[test]
fn a_time_limit_lists_the_launches_that_were_not_made() {
    let slow = TOO_FAR.replace("<=", "<").replace(
        "    tl.store",
        "    for _ in range(200000):\n        x = x * 1.0 + 0.0\n    tl.store",
    );
    let folder = place(&[("copy.py", &with_head(&slow))]);
    let done = check(&folder, &["copy.py", "--timeout", "1", "--jobs", "1"]);
    assert!(
        done.out.contains("not tried, because no time was left: "),
        "{}{}",
        done.out,
        done.err
    );
    check(&folder, &["copy.py", "--timeout", "1", "--jobs", "1", "--strict"]).assert_ends(1, &[], &[]);
}

#[test]
fn every_code_has_a_page() {
    let folder = place(&[]);
    let explain = |code: &str| run(folder.path(), &["explain", code]);
    let kinds = cerith_interp::TrapKind::ALL.map(cerith_interp::TrapKind::code);
    // Codes that only `check` reports.
    let own = [
        "block-dependent",
        "layout-dependent",
        "never-written",
        "overlapping-blocks",
        "repeated-axis",
        "unmasked",
        "unused-stride",
    ];
    let executed = FindingCode::ALL.iter().map(|code| code.name());
    let unread = [BAD_SYNTAX, BAD_INSTRUCTION];
    for code in kinds.into_iter().chain(own).chain(executed).chain(unread) {
        explain(code).assert_ends(0, &[code, "Fix: "], &[]);
    }
    // Codes in the text of the crates that report on kernels.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut codes = Vec::new();
    for name in ["frontend", "language", "interp"] {
        collect_codes(&crates.join(name).join("src"), &mut codes);
    }
    assert!(
        codes.iter().any(|code| code == "undefined-name") && codes.len() > 8,
        "{codes:?}"
    );
    let pages = fs::read_to_string(crates.join("../docs/findings.md")).expect("a page");
    for code in &codes {
        assert!(
            pages.contains(&format!("\n### `{code}`\n")),
            "`{code}` has no page in docs/findings.md"
        );
    }
    for section in pages.split("\n### `").skip(1) {
        let (code, text) = section.split_once("`\n").expect("a heading");
        assert!(text.contains("\nFix: "), "{code}");
    }
    explain("out-of-bound").assert_ends(2, &[], &["did you mean `out-of-bounds`?"]);
}

fn collect_codes(folder: &Path, codes: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect_codes(&path, codes);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for call in [
            "reject_with(",
            "build_diagnostic(",
            "Diagnostic::error(",
            "Diagnostic::warning(",
        ] {
            for rest in text.split(call).skip(1) {
                let code = rest
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next());
                codes.extend(code.map(str::to_owned));
            }
        }
    }
    codes.sort();
    codes.dedup();
}
