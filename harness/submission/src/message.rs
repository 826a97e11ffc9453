//! The questions of a submission's process. They are untrusted: an accepted result follows only from launches that Cerith executed.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::judgement::{Failure, Verdict};
use crate::structure::Structure;

/// A question. See `cerith_triton/submission.py`.
#[derive(Debug, Deserialize)]
#[serde(tag = "question", rename_all = "lowercase")]
pub(super) enum Message {
    /// The process that forks waits for a run.
    Next,
    /// The process of a run waits for a call.
    Call,
    /// A request about launches, with new bytes of the part file.
    Oracle {
        /// The part file's number.
        part: u64,
        /// The request.
        request: Json,
        /// The sizes of the part's bytes and of files.
        sizes: Vec<usize>,
    },
    /// The result of a call.
    Result {
        /// Its fields.
        result: CallResult,
        /// The sizes of the bits of host outputs, which follow.
        sizes: Vec<usize>,
    },
    /// An exception ended a call.
    Raised(RaisedException),
    /// A run's process ended.
    Ended {
        /// The status that `wait` returns.
        status: i32,
        /// Whether it took too long.
        late: bool,
    },
}

/// The result of a call.
#[derive(Debug, Deserialize)]
pub(super) struct CallResult {
    pub outputs: Vec<ReturnedOutput>,
    /// The numbers of values in it are those of `outputs`.
    pub structure: Structure,
    pub changed_inputs: Vec<String>,
    #[serde(default)]
    pub suspicions: Vec<Suspicion>,
}

/// A value that a call returned.
#[derive(Debug, Deserialize)]
pub(super) struct ReturnedOutput {
    pub dtype: Option<String>,
    pub shape: Option<Vec<i64>>,
    pub launch: Option<u64>,
    pub storage: Option<u32>,
    #[serde(default)]
    pub strides: Vec<i64>,
    #[serde(default)]
    pub offset: i64,
    /// Why no launch left it.
    pub host: Option<String>,
    /// Whether it is an argument.
    #[serde(default)]
    pub argument: bool,
    /// Which of the blobs has its bits.
    pub bits: Option<usize>,
}

/// An exception of a call.
#[derive(Debug, Deserialize)]
pub(super) struct RaisedException {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
    pub line: Option<u32>,
    /// Whether the task's parameters do not fit the submission's model.
    pub unfit: bool,
    #[serde(default)]
    pub suspicions: Vec<Suspicion>,
}

/// A sign of an attack.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Suspicion {
    pub kind: String,
    pub text: String,
    pub line: Option<u32>,
    pub certain: bool,
}

impl Suspicion {
    /// The verdict that it suggests.
    pub fn to_failure(&self) -> Failure {
        let verdict = match self.kind.as_str() {
            "tampering" => Verdict::Tampering,
            "library-call" => Verdict::LibraryCall,
            _ => Verdict::ReferenceRead,
        };
        Failure::new(verdict, &self.text).with_place(None, self.line)
    }
}
