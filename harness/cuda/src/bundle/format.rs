//! The contents of a bundle: its sections and their fields. See `read` and `write` for reading and writing them.

use std::io;

use cerith_case::Variant;
use cerith_toolchain::compiled::Target;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::record::Record;
use crate::wire::{GpuHeader, JobHeader, KernelHeader, RanHeader};
use cerith_engine::EngineId;
use cerith_engine::job::{Job, Ran};

/// The first bytes of every bundle.
pub(super) const MAGIC: [u8; 8] = *b"\x89CERIT\r\n";

/// The first bytes of files from the time when the project was called Conch. They can still be read.
pub(super) const OLD_MAGIC: [u8; 8] = *b"\x89CONCH\r\n";

/// The version that is written, and the newest that is read.
pub const VERSION: u32 = 2;

/// The maximum size of a decompressed section: 1 GiB.
pub const MAX_SECTION: usize = 1 << 30;

/// The kind of a bundle's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Cases to be executed.
    Cases,
    /// Results of executed cases.
    Results,
}

impl Kind {
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Cases => 1,
            Self::Results => 2,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Cases => "cases",
            Self::Results => "results",
        })
    }
}

/// Identifies an entry: the case in a corpus, and the machine code compiled for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label {
    /// The case's id: `alias/same_twice:dtype=f32`.
    pub case: String,
    /// The variant of the case, in the bundle of a sweep; there the case as it is, is one too.
    #[serde(
        default,
        serialize_with = "write_variant",
        deserialize_with = "read_variant",
        skip_serializing_if = "Option::is_none"
    )]
    pub variant: Option<Variant>,
    /// The engine: `cuda@3.9.0`, `cuda@3.9.0:sm_80`.
    #[serde(with = "text")]
    pub engine: EngineId,
    /// The GPU that executes the machine code.
    pub target: Target,
    /// Digest of the kernel's source and its compilation inputs, as `compile` computes it.
    pub source: String,
    /// Digest of the storages, tensors and launches, as `compile` makes it.
    pub layout: String,
    /// Digests of the machine code ([`cerith_engine::job::digest`] of each cubin), in the order of the job's kernels.
    pub cubins: Vec<String>,
}

/// A case to be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseEntry {
    /// The case and its engine.
    pub label: Label,
    /// The job to run. Assembly and IR of its kernels are not stored, and are empty after reading.
    pub job: Job,
}

/// The result of executing a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultEntry {
    /// The case and its engine, as in the bundle of cases.
    pub label: Label,
    /// The result.
    pub ran: Ran,
}

/// A case that ended when it was compiled: a GPU has nothing left to do, and the case travels along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The case and its engine.
    pub label: Label,
    /// The record of its outcome.
    pub record: Record,
}

/// A variant that need not be executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The variant and its engine.
    pub label: Label,
    /// Why not.
    pub why: Unexecuted,
}

/// The reason why a variant need not be executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unexecuted {
    /// It is the same to a GPU as this variant of the case.
    Same(#[serde(with = "text")] Variant),
    /// It does not apply; why.
    NotApplicable(String),
}

/// Where, when and how a bundle was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Version of Cerith; under its old name in older files.
    #[serde(alias = "conch")]
    pub cerith: String,
    /// Seconds since 1970, UTC.
    pub seconds: u64,
    /// The origin of the results; `None` in a bundle of cases, or if nothing had to be executed.
    pub provenance: Option<Provenance>,
}

impl Opening {
    /// Made by this Cerith, now.
    pub fn new(provenance: Option<Provenance>) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            cerith: env!("CARGO_PKG_VERSION").to_owned(),
            seconds: since.map_or(0, |since| since.as_secs()),
            provenance,
        }
    }
}

/// The origin of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The GPU and its driver.
    pub gpu: GpuHeader,
    /// The number of times that each case ran.
    pub repetitions: u32,
    /// Time given to each, in milliseconds.
    pub time_limit: u64,
}

/// The reason why a bundle cannot be read or written. Fits after "failed to ".
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file cannot be read.
    #[error("read the bundle: {0}")]
    Read(#[source] io::Error),
    /// The file cannot be written.
    #[error("write the bundle: {0}")]
    Write(#[source] io::Error),
    /// The file is not a bundle.
    #[error("read the bundle: this is not a file that Cerith wrote (its first bytes are {0})")]
    Foreign(String),
    /// It is of a later format.
    #[error(
        "read the bundle: its format is version {0}, and this Cerith reads up to version {VERSION}; use the Cerith that wrote it, or a newer one"
    )]
    Newer(u32),
    /// It holds something else.
    #[error("read the bundle: it holds {actual}, and {expected} are wanted")]
    Kind {
        /// The kind that the file declares.
        actual: String,
        /// The expected kind.
        expected: Kind,
    },
    /// It ends too early.
    #[error("read the bundle: the file is cut short in section {section}, after {bytes} bytes")]
    Truncated {
        /// The section, from 0.
        section: u64,
        /// Bytes of the file that are there.
        bytes: u64,
    },
    /// Its bytes are not those that were written.
    #[error("read the bundle: section {section} is damaged: {reason}")]
    Damaged {
        /// The section, from 0.
        section: u64,
        /// The inconsistency.
        reason: String,
    },
    /// A section is larger than any that is written.
    #[error(
        "read the bundle: section {section} claims {bytes} bytes, and at most {MAX_SECTION} are possible"
    )]
    TooLarge {
        /// The section, from 0.
        section: u64,
        /// The size that it claims.
        bytes: u64,
    },
    /// One entry does not fit into a section.
    #[error("write the bundle: `{case}` has {bytes} bytes, and at most {MAX_SECTION} are possible")]
    EntryTooLarge {
        /// The case.
        case: String,
        /// Its bytes.
        bytes: usize,
    },
}

/// A section's header.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Section {
    Opening(Opening),
    Kernels(Vec<KernelHeader>),
    Cases(Vec<CaseHeader>),
    Results(Vec<ResultHeader>),
    Decided(Vec<Decided>),
    Notes(Vec<Note>),
    End { entries: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CaseHeader {
    pub label: Label,
    pub job: JobHeader,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ResultHeader {
    pub label: Label,
    pub ran: RanHeader,
}

/// The checksum of a section: a hash of its number and its stored bytes.
pub(super) fn hash_section(section: u64, stored: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&section.to_le_bytes());
    hasher.update(stored);
    hasher.finalize()
}

/// Serializes values as text, with `Display` and `FromStr`.
mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Writes a variant as it is printed, where there is one.
#[allow(clippy::ref_option, reason = "serde's signature")]
fn write_variant<S: Serializer>(variant: &Option<Variant>, serializer: S) -> Result<S::Ok, S::Error> {
    match variant {
        Some(variant) => text::serialize(variant, serializer),
        None => serializer.serialize_none(),
    }
}

fn read_variant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Variant>, D::Error> {
    text::deserialize(deserializer).map(Some)
}
