//! Messages about files that cannot be read, with the nearest existing name as a suggestion.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

use cerith_python::nearest::find_nearest;

/// The message about a file that could not be read, with a suggestion. `otherwise` is used if no file next to it has a similar
/// name.
pub fn describe_read_error(path: &Path, error: &Error, otherwise: &str) -> String {
    let near = (error.kind() == ErrorKind::NotFound)
        .then(|| find_similar(path))
        .flatten();
    let help = near.map_or_else(|| otherwise.to_owned(), |near| format!("did you mean `{near}`?"));
    format!("failed to read {}: {error}\n  = help: {help}", path.display())
}

/// The file in the same folder whose name is nearest.
pub fn find_similar(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut names: Vec<String> = fs::read_dir(folder.unwrap_or(Path::new(".")))
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name != wanted)
        .collect();
    names.sort();
    let near = find_nearest(wanted, names.iter().map(String::as_str))?;
    Some(folder.map_or_else(
        || near.to_owned(),
        |folder| folder.join(near).display().to_string(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &str, expected: Option<&str>) {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["softmax.py", "scan.py", "softmax.yaml"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let found = find_similar(&folder.path().join(wanted));
        let expected = expected.map(|name| folder.path().join(name).display().to_string());
        assert_eq!(found, expected);
    }

    #[test]
    fn the_nearest_file_is_found() {
        check("sotfmax.py", Some("softmax.py"));
        check("softmax.yml", Some("softmax.yaml"));
        check("attention.py", None);
        check("nowhere/softmax.py", None);
    }
}
