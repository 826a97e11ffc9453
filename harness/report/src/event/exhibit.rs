//! The exhibit of a case in a report, besides its verdict: the program, its memory, and the location of the failure. A stream
//! has each text and each known bug once, with the first case that has it ([`super::Deduplicator`]).
//!
//! See [`crate::describe`] for making it from cases and outcomes.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::skip::is_default;

/// The exhibit of a case in a report. Older streams do not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exhibit {
    /// The description of the case. A verdict itself omits it if all engines finished and agree, as expected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The case file, as a user would write it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The line of the case in it, from 1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub line: u32,
    /// The origin of the case, in its file's words: a commit, an issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The launches in order. A case without any only imports its kernel's file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launches: Vec<Launch>,
    /// The storages in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storages: Vec<Storage>,
    /// The views of storages. A storage shown as declared is not a view.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<View>,
    /// The language features that the kernels use: a name, and after a space the dtype that it is used on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<String>,
    /// Lines of kernels that belong to a difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// The differences in memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Differs>,
    /// The final contents of the storages that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Contents>,
    /// How many more storages differ: `memory` of a case has limited room.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory_left_out: u64,
    /// The texts that this case has and no case before it in the stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
    /// The known bugs that this case's verdict names and no verdict before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownBug>,
}

/// One launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Its file, as a user would write it: one of the stream's [`Text`]s.
    pub file: String,
    /// The line of the kernel in it, from 1; left out where it is not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub line: u32,
    /// Programs along each dimension that is given.
    pub grid: Vec<u32>,
    /// Arguments as Python would write them, by the parameter's name where it is known, else by the place.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub args: IndexMap<String, String>,
    /// Launch options.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub options: IndexMap<String, String>,
    /// The host function that makes it: `file:name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// One storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Its name.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
    /// The dtype that it was declared with; empty for a copy that an expression made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dtype: String,
    /// The shape that it was declared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape: Vec<i64>,
    /// Its initial contents, in the case file's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fill: String,
}

/// A tensor that is a view of a storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its name.
    pub name: String,
    /// The storage's name.
    pub storage: String,
    /// Type of an element.
    pub dtype: String,
    /// Elements along each dimension.
    pub shape: Vec<i64>,
    /// Elements between neighbours along each dimension.
    pub strides: Vec<i64>,
    /// The element of the storage that the first one is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub offset: i64,
}

/// A line of a kernel that belongs to a difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The known bugs that change what the line does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bugs: Vec<String>,
    /// The storages that differ and that the line writes to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
}

/// The differences of a storage in two engines, as far as it was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    /// The engine that it is compared with.
    pub baseline: String,
    /// The engine that differs.
    pub engine: String,
    /// The storage's name.
    pub storage: String,
    /// The ranges of bytes that differ, `[from, to]`, in order.
    pub spans: Vec<[u64; 2]>,
    /// Whether there are more spans than these.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: bool,
}

/// The final contents of one storage in the engines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The storage's name.
    pub storage: String,
    /// The first byte that is here.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: u64,
    /// How many bytes the storage has.
    pub of: u64,
    /// The ranges of bytes that have no defined value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<[u64; 2]>,
    /// The ranges of bytes that no engine may write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwritten: Vec<[u64; 2]>,
    /// The final contents, each once.
    pub left: Vec<Left>,
}

/// One content of a storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The engines (of a sweep the variants) that left it.
    pub engines: Vec<String>,
    /// The bytes, in base64.
    pub bytes: String,
}

/// A file that kernels are in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// Its path, as a user would write it.
    pub file: String,
    /// All of it.
    pub text: String,
}

/// A known bug of the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownBug {
    /// The name that verdicts use.
    pub name: String,
    /// The family of engines that has it.
    pub family: String,
    /// The first version that has it.
    pub from: String,
    /// The first version that no longer has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The description of the bug.
    pub about: String,
    /// The location where it was seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
}
