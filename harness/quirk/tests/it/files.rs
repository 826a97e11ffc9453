//! Compares the files that the table of known bugs names with the sources: each row names the files of its model.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use cerith_tile::quirk::Quirk;

/// The crates with models.
const CRATES: [&str; 4] = ["quirk", "language", "frontend", "engine"];

/// Tests, and the selection of the bugs that an engine may have.
const EXCLUDED: [&str; 2] = ["tests.rs", "known_bugs.rs"];

/// Adds the files that use each quirk, by the quirk's identifier.
fn add_uses(harness: &Path, folder: &Path, uses: &mut BTreeMap<String, BTreeSet<String>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            add_uses(harness, &path, uses)?;
        } else if name.ends_with(".rs") && !EXCLUDED.contains(&name.as_ref()) {
            let text = fs::read_to_string(&path)?;
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let file = path.strip_prefix(harness).expect("a file of the folder");
            for rest in text.split("Quirk::").skip(1) {
                let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
                let files = uses.entry(rest[..end].to_owned()).or_default();
                files.insert(file.to_string_lossy().into_owned());
            }
        }
    }
    Ok(())
}

#[test]
fn each_row_names_the_files_of_its_model() {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a crate is in a folder");
    let mut uses = BTreeMap::new();
    for name in CRATES {
        add_uses(harness, &harness.join(name).join("src"), &mut uses).expect("the sources are readable");
    }
    for &quirk in Quirk::ALL {
        let named: BTreeSet<String> = quirk.models().iter().map(|&file| file.to_owned()).collect();
        let used = uses.remove(&format!("{quirk:?}")).unwrap_or_default();
        assert_eq!(named, used, "the files of the model of `{quirk}`");
    }
}
