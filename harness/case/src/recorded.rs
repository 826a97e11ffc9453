//! The recorded outcome of the run that a case was captured from. See the engine `recorded` of `cerith-engine` for
//! its use in a verdict.

use cerith_memory::{Pointer, StorageId};

/// The outcome of the run that a case was recorded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRun {
    /// The id of the engine that executed it: `interpret@3.6.0+host`.
    pub engine: String,
    /// How the run ended.
    pub ending: Ending,
}

/// How a recorded run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its outcome was not kept.
    Unknown,
    /// It finished and left these storages changed, and the others as they were.
    Finished(Vec<After>),
    /// It raised a Python exception.
    Raised {
        /// The exception's type, as a traceback shows it: `ValueError`.
        kind: String,
        /// The exception's message.
        message: String,
        /// Whether it came out of Triton's compiler.
        compiling: bool,
    },
}

/// A storage after a recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// The storage.
    pub storage: StorageId,
    /// Its bytes, as many as it has. Where an address is, they are those of the recorded process.
    pub bytes: Vec<u8>,
    /// The offsets of addresses, and their targets.
    pub pointers: Vec<Pointer>,
    /// The source of the bytes.
    pub source: Source,
}

/// An entry of a data archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The archive's path from the corpus root.
    pub archive: String,
    /// The entry's name.
    pub entry: String,
}
