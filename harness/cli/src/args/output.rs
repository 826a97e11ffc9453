//! Names of files to write.

use std::ffi::OsStr;
use std::path::PathBuf;

/// Reads the name of an output. Refuses that of a kernel or a case: most often the name of the output was forgotten.
pub(super) fn output_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(OsStr::to_str) {
        Some(end @ ("py" | "yaml" | "yml")) => Err(format!(
            "a file that ends in `.{end}` is read, and is not replaced; name the file to write"
        )),
        _ => Ok(path),
    }
}
