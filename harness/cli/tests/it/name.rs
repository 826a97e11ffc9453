//! The project once had another name, which must not occur except in code that reads files of that time.

use std::path::Path;
use std::process::Command;

/// The old name, which must not be in this file either.
const OLD: &str = concat!("con", "ch");

/// Files that may contain the name, with the number of lines: code that reads bundles, records and streams of that time, and its
/// tests.
const ALLOWED: &[(&str, usize)] = &[
    // A library on GitHub has the word in its name.
    (".ci/plants/collect.py", 1),
    (".ci/plants/equivalent.jsonl", 1),
    (".ci/plants/fixed.jsonl", 2),
    (".ci/plants/read.jsonl", 3),
    ("CHANGELOG.md", 2),
    ("harness/case/src/canonical.rs", 1),
    ("harness/cuda/src/bundle/format.rs", 3),
    ("harness/cuda/src/bundle/tests.rs", 2),
    ("harness/cuda/src/record/entry.rs", 1),
    ("harness/cuda/src/record/tests.rs", 3),
    // A library on PyPI has the word in its name.
    ("harness/recording/drivers/inference.py", 17),
    ("harness/report/src/event.rs", 1),
    ("harness/report/tests/stream.jsonl", 1),
    ("reports/check.md", 4),
    ("reports/libraries.json", 18),
    ("reports/libraries.md", 5),
    ("reports/recordings.md", 9),
];

#[test]
fn nothing_of_the_old_name_is_left() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output();
        let output = output.expect("git");
        // 1 is that `git grep` found nothing.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let files = git(&["ls-files", "--cached", "--others", "--exclude-standard"]);
    let named: Vec<&str> = files
        .lines()
        .filter(|file| file.to_lowercase().contains(OLD))
        .collect();
    assert_eq!(named, Vec::<&str>::new());
    let counted = git(&["grep", "--untracked", "--count", "--ignore-case", OLD]);
    let found: Vec<(&str, usize)> = counted
        .lines()
        .filter_map(|line| line.rsplit_once(':'))
        .filter_map(|(file, count)| Some((file, count.parse().ok()?)))
        .collect();
    assert_eq!(found, ALLOWED);
}
