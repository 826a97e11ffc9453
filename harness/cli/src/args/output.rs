//! Names of files to write.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::bad_value::BadValue;

/// Reads the name of an output. Refuses that of a kernel or a case: most often the name of the output was forgotten.
pub(super) fn output_file(text: &str) -> Result<PathBuf, BadValue> {
    let path = PathBuf::from(text);
    match path.extension().and_then(OsStr::to_str) {
        Some(end @ ("py" | "yaml" | "yml")) => Err(BadValue::OutputName(end.to_owned())),
        _ => Ok(path),
    }
}
