//! Names of files and words of cases that hold line breaks, escape sequences, marks that reverse text, or commands of a workflow:
//! no command, in no format, prints them as they are.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::place::{BAD, Place};

/// Names of files, without their ends.
const NAMES: [&str; 6] = [
    "a\n::warning file=x::said by a name",
    "b\r::error::said",
    "c\u{1b}[2J\u{1b}]0;title\u{7}",
    "d\u{202e}lmay",
    "e ##[error]said",
    "f\n  ::add-mask::said",
];

/// A corpus with a case file for each name, a kernel that writes past the end, and a folder with such a name.
fn place() -> Place {
    let place = Place::new();
    for name in NAMES {
        let about = "A store past the end: \"a\\n::error::about\\e[2J ##[error]about\"";
        let text = BAD.replace("about: A store past the end.", &format!("about: {about}"));
        place.write(
            &format!("cases/area/{name}.yaml"),
            &text.replace("about: A store past the end: ", "about: "),
        );
    }
    place.write("cases/g\n::error::folder/k.py", &place.read("cases/area/k.py"));
    place.write("cases/g\n::error::folder/bad.yaml", BAD);
    place.write("cases/g\n::error::folder/wrong\n::error::file.yaml", "about: [\n");
    place
}

/// Checks that a text moves no cursor and gives no command.
#[track_caller]
fn is_harmless(what: &str, text: &str) {
    for line in text.lines() {
        assert!(
            !line.trim_start().starts_with("::"),
            "{what} prints a command:\n{line}"
        );
        assert!(!line.contains("##["), "{what} prints a command:\n{line}");
    }
    let unsafe_ones = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}';
    assert!(!text.contains(unsafe_ones), "{what}:\n{text:?}");
}

#[test]
fn no_command_prints_names_as_they_are() {
    let place = place();
    let stream = "reports/run/events.jsonl";
    let kernel = "cases/g\n::error::folder/k.py";
    let commands: &[&[&str]] = &[
        &["list"],
        &["run", "--engine", "reference"],
        &["run", "--engine", "reference", "--verbose"],
        &[
            "run",
            "--engine",
            "reference",
            "--out",
            "other",
            "--format",
            "jsonl",
        ],
        &["run", "nowhere\n::error::x"],
        &[
            "run",
            "g*",
            "--engine",
            "reference",
            "--shard",
            "1/2",
            "--out",
            "shard",
        ],
        &["run", "--last-failed", "--engine", "reference", "--fail-fast"],
        &["report", stream],
        &["report", stream, "--format", "junit"],
        &["report", stream, "--format", "markdown"],
        &["report", stream, "--format", "html"],
        &["report", stream, "--format", "sarif"],
        &["report", "merge", stream],
        &["report", "merge", "shard/events.jsonl", stream],
        &["report", "baseline", stream],
        &["report", "no\n::error::stream"],
        &["explain", "area/a*", "--engine", "reference", "--offline"],
        &["explain", "g*", "--engine", "reference", "--offline"],
        &["explain", "g*", "--engine", "reference", "--offline", "--html"],
        &["explain", "area/c*", "--engine", "reference", "--offline", "--ir"],
        &["expect", "--list"],
        &["coverage", "--offline"],
        &["coverage"],
        &["check", kernel, "--offline"],
        &["check", kernel, "--offline", "--format", "github"],
        &["check", kernel, "--offline", "--format", "jsonl"],
        &["import", &format!("{kernel}:add_one")],
        &["import", &format!("{kernel}:none")],
        &["sweep", "--engine", "interpret@3.9.0", "--offline"],
        &["reduce", "g*", "--offline"],
        &["accept", "nowhere\n::error::x"],
        &["compare", "area/a*", "--offline"],
        &[
            "fuzz",
            "--out",
            "no\n::error::x/\n::y",
            "--engine",
            "reference",
            "--count",
            "1",
        ],
    ];
    for args in commands {
        let what = args.join(" ");
        let done = place.run_cerith(args);
        assert!(!done.err.contains("panicked"), "{what}: {}", done.err);
        let is_page = args.contains(&"html") || args.contains(&"--html");
        is_harmless(&what, &done.err);
        if !is_page && !args.contains(&"github") {
            is_harmless(&what, &done.out);
        }
        // A page has lines of its own that begin so, in its style sheet.
        assert!(!done.out.contains("\n::error"), "{what}: {}", done.out);
        assert!(!done.out.contains("\n::warning file=x"), "{what}: {}", done.out);
    }
    for page in ["report.md", "junit.xml"] {
        is_harmless(page, &place.read(&format!("reports/run/{page}")));
    }
}

#[test]
fn case_files_that_cannot_be_read_are_errors() {
    let place = Place::new();
    let area = place.join("cases/area");
    for name in [&b"A.YAML"[..], b"b.Yml", b"g\xff.yaml", b"k\xff.py"] {
        fs::write(area.join(OsStr::from_bytes(name)), BAD).expect("a file");
    }
    let odd = place.join("cases").join(OsStr::from_bytes(b"dir\xfe"));
    fs::create_dir(&odd).expect("a folder");
    fs::write(odd.join("bad.yaml"), BAD).expect("a file");
    let wanted = [
        "cases/area/A.YAML",
        "rename it to `A.yaml`",
        "cases/area/b.Yml",
        "g\\xff.yaml",
        "k\\xff.py",
        "dir\\xfe",
    ];
    place.run(&[]).assert_ends(
        2,
        &[&wanted[..], &["NOT as expected: 5 errors in the input"]].concat(),
        &[],
    );
    place
        .run_cerith(&["list"])
        .assert_ends(2, &["area/good:"], &wanted);
    place.run(&["area/good"]).assert_ends(2, &[], &[]);
}
