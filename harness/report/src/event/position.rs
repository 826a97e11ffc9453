//! Places in files that events show.

use serde::{Deserialize, Serialize};

use super::skip::is_default;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The path, as a user would write it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1; left out where only the line is known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub column: u32,
    /// The line's text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}
