//! Corpora on disk: which files are read, and the errors for files that can't be read.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cerith_case::Corpus;

const CASE: &str = "about: x\nkernel: k.py:kernel\nlaunches: [{ grid: 1, args: [1] }]\n";
const KERNEL: &str = "def kernel(x): pass\n";

fn write(root: &Path, path: &str, text: &[u8]) {
    let place = root.join(path);
    fs::create_dir_all(place.parent().expect("a folder")).expect("create a folder");
    fs::write(place, text).expect("write a file");
}

/// The ids of all cases, and all problems, with the folder's name as `ROOT`.
fn report(root: &Path) -> (Vec<String>, String) {
    let corpus = Corpus::read(root).expect("read the corpus");
    let ids = corpus.entries().map(|entry| entry.id).collect();
    let problems: Vec<_> = corpus
        .problems()
        .iter()
        .map(|problem| problem.render(corpus.sources(), false))
        .collect();
    (
        ids,
        problems.join("\n").replace(&root.display().to_string(), "ROOT"),
    )
}

#[test]
fn only_case_files_and_kernels_are_read() {
    let root = tempfile::tempdir().expect("a folder");
    write(root.path(), "b/case.yaml", CASE.as_bytes());
    write(root.path(), "b/k.py", KERNEL.as_bytes());
    write(
        root.path(),
        "a/deep/er/case.yml",
        CASE.replace("k.py", "../../../b/k.py").as_bytes(),
    );
    write(root.path(), "top.yaml", CASE.replace("k.py", "b/k.py").as_bytes());
    write(root.path(), "b/README.md", b"about: no case");
    write(root.path(), ".hidden/case.yaml", b"not: a case");
    write(root.path(), "b/.hidden.yaml", b"not: a case");
    write(root.path(), "b/__pycache__/k.cpython-311.pyc", b"no text");
    write(
        root.path(),
        "folder.yaml/k.py",
        b"syntax error, but no case names it",
    );
    let (ids, problems) = report(root.path());
    assert_eq!(problems, "");
    assert_eq!(ids, ["a/deep/er/case", "b/case", "top"]);
}

#[test]
fn links_stay_in_the_corpus() {
    let outside = tempfile::tempdir().expect("a folder");
    write(outside.path(), "k.py", KERNEL.as_bytes());
    write(outside.path(), "more/case.yaml", CASE.as_bytes());
    let root = tempfile::tempdir().expect("a folder");
    write(root.path(), "a/case.yaml", CASE.as_bytes());
    write(root.path(), "b/k.py", KERNEL.as_bytes());
    write(root.path(), "b/case.yaml", CASE.as_bytes());
    symlink(outside.path().join("k.py"), root.path().join("a/k.py")).expect("link");
    symlink(outside.path().join("more"), root.path().join("more")).expect("link");
    symlink(root.path().join("b"), root.path().join("same_as_b")).expect("link");
    symlink(root.path(), root.path().join("b/circle")).expect("link");
    symlink("case.yaml", root.path().join("b/linked.yaml")).expect("link");
    symlink("nowhere.yaml", root.path().join("dangling.yaml")).expect("link");
    let (ids, problems) = report(root.path());
    assert_eq!(ids, ["b/case", "b/linked"]);
    insta::assert_snapshot!(problems, @r"
    error[skipped-file]: the folder is skipped, because it is a link that leads out of the corpus
     --> ROOT/more:1:1
      |
    1 |
      | ^
      |
      = help: rename it, or remove it from the corpus
    error[path-outside]: the file is a link that leads out of the corpus
     --> ROOT/a/k.py:1:1
      |
    1 |
      | ^
      |
      = note: left out for it: `a/case.yaml`
      = help: fix the file, or remove it from the corpus
    error[unreadable]: the file cannot be read: the link leads nowhere
     --> ROOT/dangling.yaml:1:1
      |
    1 |
      | ^
      |
      = help: fix the file, or remove it from the corpus
    ");
}

#[test]
fn a_missing_folder_is_an_error() {
    let root = tempfile::tempdir().expect("a folder");
    let error = Corpus::read(&root.path().join("nowhere")).expect_err("there is no such folder");
    assert!(error.to_string().starts_with("read the corpus at "), "{error}");
    write(root.path(), "file.yaml", CASE.as_bytes());
    assert!(Corpus::read(&root.path().join("file.yaml")).is_err());
}

#[test]
fn what_looks_like_a_case_file_is_one_or_is_an_error() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let root = tempfile::tempdir().expect("a folder");
    write(root.path(), "a/case.yaml", CASE.as_bytes());
    write(root.path(), "a/k.py", KERNEL.as_bytes());
    for name in [
        &b"a/A.YAML"[..],
        b"a/b.Yml",
        b"a/x\xff.yaml",
        b"a/x\xff.Py",
        b"a/c.yaml ",
        "a/e.yaml\u{200b}".as_bytes(),
        b"a/x.yaml\xff",
        b"a/x\xff.txt",
        b"a/.x\xff.yaml",
    ] {
        fs::write(root.path().join(OsStr::from_bytes(name)), CASE).expect("a file");
    }
    fs::create_dir(root.path().join(OsStr::from_bytes(b"a/d\xfe"))).expect("a folder");
    let deep = (0..40).map(|_| "d").collect::<Vec<_>>().join("/");
    write(root.path(), &format!("{deep}/case.yaml"), CASE.as_bytes());
    let (ids, problems) = report(root.path());
    assert_eq!(ids, ["a/case"]);
    let mut messages: Vec<&str> = problems
        .lines()
        .filter(|line| line.starts_with("error"))
        .collect();
    messages.sort_unstable();
    insta::assert_snapshot!(messages.join("\n"), @r"
    error[skipped-file]: the case file is skipped, because its name does not end with just `.yaml` or `.yml` in lower case; rename it to `A.yaml`
    error[skipped-file]: the case file is skipped, because its name does not end with just `.yaml` or `.yml` in lower case; rename it to `b.yaml`
    error[skipped-file]: the case file is skipped, because its name does not end with just `.yaml` or `.yml` in lower case; rename it to `c.yaml`
    error[skipped-file]: the case file is skipped, because its name does not end with just `.yaml` or `.yml` in lower case; rename it to `e.yaml`
    error[skipped-file]: the file is skipped, because its name is not UTF-8: `x.yaml\xff`
    error[skipped-file]: the file is skipped, because its name is not UTF-8: `x\xff.Py`
    error[skipped-file]: the file is skipped, because its name is not UTF-8: `x\xff.yaml`
    error[skipped-file]: the folder is skipped, because it is nested more than 32 folders deep
    error[skipped-file]: the folder is skipped, because its name is not UTF-8: `d\xfe`
    ");
}

#[test]
fn control_characters_of_names_are_numbers_in_ids() {
    let root = tempfile::tempdir().expect("a folder");
    write(root.path(), "a\nb/case\u{1b}.yaml", CASE.as_bytes());
    write(root.path(), "a\nb/k.py", KERNEL.as_bytes());
    write(root.path(), "a\nb/wrong\n.yaml", b"about: [");
    let (ids, problems) = report(root.path());
    assert_eq!(ids, ["a\\u{a}b/case\\u{1b}"]);
    assert!(
        problems.contains("--> ROOT/a\\u{a}b/wrong\\u{a}.yaml:1:"),
        "{problems}"
    );
    // Two files whose ids would be the same are not both cases.
    write(root.path(), "a\nb/case\\u{1b}.yaml", CASE.as_bytes());
    let (_, problems) = report(root.path());
    assert!(problems.contains("a second case file with the id"), "{problems}");
}
