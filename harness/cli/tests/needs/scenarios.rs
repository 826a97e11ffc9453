//! Inputs that once got a wrong verdict or message: the commands of `scenarios/NAME/README.md` run in a copy of its folder, and
//! their output is compared with the page, as in `docs.rs`.
//!
//! A scenario needs the toolchains that its commands name. `CERITH_DOCS=write cargo test -p cerith --test needs NAME` writes
//! the output into the page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cerith_needs::{Need, Tests};
use tempfile::TempDir;

use crate::page::commands::{check_page, copy};
use crate::page::{Part, parse_parts};

/// The toolchains that the engines of a page's commands name, as `3.9.0` or `2.11.0`.
fn find_toolchains(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in parse_parts(page) {
        if let Part::Command { command, .. } = part {
            for (_, rest) in command.split_whitespace().filter_map(|word| word.split_once('@')) {
                let version = rest.split([':', '+']).next().expect("a first piece");
                found.insert(version.to_owned());
            }
        }
    }
    found
}

/// Runs the scenario in `folder`.
fn check(folder: &Path) {
    let copied = TempDir::new().expect("a folder");
    copy(folder, copied.path());
    check_page(&folder.join("README.md"), copied.path(), None);
}

pub fn tests() -> Tests {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut folders: Vec<_> = fs::read_dir(root)
        .expect("the scenarios")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    folders.sort();
    let mut tests = Tests::new();
    for folder in folders {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let page = fs::read_to_string(folder.join("README.md")).expect("a page");
        let needs: Vec<Need> = find_toolchains(&page)
            .into_iter()
            .map(|version| Need::Toolchain(version.leak()))
            .collect();
        tests = tests.with_test(name, &needs, move || check(&folder));
    }
    tests
}
