//! Runs every command in the documentation's blocks of kind `console`, and compares its output with the block.
//!
//! A line of output may have `[..]` for text that changes, and a line `...` for omitted lines.
//! `CERITH_DOCS=write cargo test -p cerith --test needs docs` writes the output of commands into blocks that differ. Blocks of
//! kind `sh` are only parsed (`src/workflows.rs`): they need a GPU, a network, torch or hours.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cerith_needs::{NamedTest, Need, Tests, named};
use tempfile::TempDir;

use crate::page::commands::{check_page, copy};
use crate::page::{Part, fits, parse_parts, strip_volatile};

/// A folder of this repository, and where a chapter's commands find it in the folder in which they run.
type Placed = (&'static str, &'static str);

/// The parts of a checkout that `cerith run` reads.
const CHECKOUT: &[Placed] = &[
    ("cases", "cases"),
    ("snapshots", "snapshots"),
    ("docs/five-minutes", "docs/five-minutes"),
];

/// A package with kernels.
const ROWWISE: &[Placed] = &[("examples/rowwise/rowwise", "rowwise")];

fn find_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a chapter's commands in order, in one folder, and compares the output.
fn check(chapter: &str, placed: &[Placed], home: Option<&str>) {
    let folder = TempDir::new().expect("a folder");
    for (from, to) in placed {
        copy(&find_root().join(from), &folder.path().join(to));
    }
    check_page(&find_root().join(chapter), folder.path(), home);
}

/// The home of chapters that need no toolchain, and must not find one.
const EMPTY: Option<&str> = Some("home");

fn five_minutes() {
    check("docs/five-minutes.md", &[("docs/five-minutes", ".")], None);
}

fn check_gate_page() {
    check("docs/gate.md", ROWWISE, EMPTY);
}

fn check_check_page() {
    check("docs/check.md", ROWWISE, EMPTY);
}

fn check_expect_page() {
    check("docs/expect.md", ROWWISE, EMPTY);
}

fn check_explain_page() {
    check("docs/explain.md", CHECKOUT, None);
}

fn writing_cases() {
    check("docs/writing-cases.md", &[("docs/writing-cases", ".")], EMPTY);
}

fn install() {
    check("docs/install.md", &[], EMPTY);
}

fn check_readme() {
    check("README.md", CHECKOUT, None);
}

fn check_engines_page() {
    check("docs/engines.md", CHECKOUT, None);
}

fn check_fuzzing_page() {
    check("docs/fuzzing.md", &[], None);
}

fn check_bumps_page() {
    check("docs/bumps.md", CHECKOUT, None);
}

/// Every page with commands is one of the tests above.
fn every_page_is_held() {
    let mut pages = BTreeSet::from([PathBuf::from("README.md")]);
    for entry in fs::read_dir(find_root().join("docs")).expect("docs") {
        let path = entry.expect("an entry").path();
        pages.insert(Path::new("docs").join(path.file_name().expect("a name")));
    }
    let own = fs::read_to_string(find_root().join("harness/cli/tests/needs/docs.rs")).expect("this file");
    for page in pages {
        let Ok(text) = fs::read_to_string(find_root().join(&page)) else {
            continue;
        };
        let has_commands = parse_parts(&text)
            .iter()
            .any(|part| matches!(part, Part::Command { .. }));
        let is_held = own.contains(&format!("check(\"{}\"", page.display()));
        assert_eq!(has_commands, is_held, "{}", page.display());
    }
}

/// A page whose text differs from the output is detected.
fn another_output_is_noticed() {
    let page = "text\n\n```console\n$ one\n1 [..] s\n...\nend\n$ two\n```\nmore\n";
    let commands: Vec<_> = parse_parts(page)
        .into_iter()
        .filter_map(|part| match part {
            Part::Command { command, output, .. } => Some((command, output)),
            Part::Text(_) => None,
        })
        .collect();
    let &[("one", expected), ("two", "")] = &commands[..] else {
        panic!("{commands:?}");
    };
    for printed in ["1 2.5 s\nend\n", "1 3 s\nsome\nmore\nend\n"] {
        assert!(fits(expected, &strip_volatile(printed)), "{printed}");
    }
    for printed in [
        "",
        "1 2.5 m\nend\n",
        "2 2.5 s\nend\n",
        "1 2.5 s\n",
        "1 2.5 s\nend\nmore\n",
    ] {
        assert!(!fits(expected, &strip_volatile(printed)), "{printed}");
    }
    assert_eq!(
        strip_volatile("3/12 cases\nin 0.25 s, done\n"),
        "in [..] s, done\n"
    );
}

/// The names and targets of a page's link definitions.
fn read_links(page: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(find_root().join(page)).expect(page);
    let links = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    links
        .map(|(name, target)| (name.to_owned(), target.to_owned()))
        .collect()
}

/// The site's front page is the README's text, with links of its own.
fn both_front_pages_have_the_same_links() {
    let (here, site) = (read_links("README.md"), read_links("docs/README.md"));
    let names = |links: &[(String, String)]| links.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&here), names(&site));
    let repository = "https://github.com/cerith-harness/cerith/blob/main/";
    for ((_, here), (_, site)) in here.iter().zip(&site) {
        assert!(find_root().join(here).is_file(), "README.md: {here}");
        let file = match site.strip_prefix(repository) {
            Some(path) => find_root().join(path),
            None => find_root().join("docs").join(site),
        };
        assert!(file.is_file(), "docs/README.md: {site}");
    }
}

pub fn tests() -> Tests {
    let newest: &[NamedTest<fn()>] = &named![five_minutes, check_fuzzing_page, check_readme];
    Tests::new()
        .without_needs(&named![
            another_output_is_noticed,
            both_front_pages_have_the_same_links,
            every_page_is_held,
            check_check_page,
            check_expect_page,
            check_gate_page,
            install,
            writing_cases
        ])
        .with_toolchain("3.9.0", newest)
        .with_needs(
            &[Need::Toolchain("3.2.0"), Need::Toolchain("3.9.0")],
            &named![check_bumps_page, check_engines_page, check_explain_page],
        )
}
