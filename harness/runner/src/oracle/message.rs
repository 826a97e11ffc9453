//! The requests and answers of checks, which both ways of asking share.

use std::path::PathBuf;

use cerith_engine::Complaint;
use cerith_memory::Tensor;
use cerith_oracle::Finding;
use cerith_tile::DType;
use serde::{Deserialize, Serialize};

/// The most outputs of a request.
pub const MAX_OUTPUTS: usize = 4096;

/// A request of a check.
#[derive(Debug, Deserialize)]
#[serde(tag = "request", rename_all = "lowercase")]
pub enum Request {
    /// The values of the check's arguments, which are exact.
    Arguments {
        /// Files of `f64`.
        values: Vec<PathBuf>,
        /// Their dtypes.
        #[serde(default)]
        data: Vec<String>,
    },
    /// Execute the launch that was written last.
    Launch,
    /// Compare outputs.
    Compare(Compare),
}

#[derive(Debug, Deserialize)]
pub struct Compare {
    pub accumulate: String,
    pub tf32: bool,
    pub rtol: Option<f64>,
    pub atol: Option<f64>,
    /// The dtypes of the arguments and the outputs.
    #[serde(default)]
    pub data: Vec<String>,
    pub outputs: Vec<Output>,
}

/// An output of the program: a view of a storage of a launch.
#[derive(Clone, Debug, Deserialize)]
pub struct Output {
    pub name: String,
    pub launch: u64,
    pub storage: u32,
    pub dtype: String,
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    pub offset: i64,
    /// A file of `f64`, or of `i64` for integers. It is empty if the values are given otherwise.
    #[serde(default)]
    pub expected: PathBuf,
}

impl Output {
    /// A view of a storage that a launch left.
    pub fn from_view(name: String, launch: u64, view: &Tensor) -> Self {
        Self {
            name,
            launch,
            storage: view.storage.0,
            dtype: view.dtype.to_string(),
            shape: view.shape.to_vec(),
            strides: view.strides.to_vec(),
            offset: view.offset,
            expected: PathBuf::new(),
        }
    }
}

/// An answer about a launch.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum LaunchAnswer {
    Finished {
        changed: Vec<Changed>,
        warnings: Vec<String>,
    },
    Undefined(Failed),
    Rejected(Failed),
    Unsupported(Failed),
    Exhausted(Failed),
    Failed(Failed),
}

/// A storage whose bytes follow the answer.
#[derive(Debug, Serialize)]
pub struct Changed {
    pub storage: u32,
    pub bytes: usize,
}

/// Why a launch has no result.
#[derive(Debug, Default, Serialize)]
pub struct Failed {
    pub text: String,
    pub code: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl Failed {
    pub fn from_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    pub fn from_complaint(text: String, complaint: &Complaint) -> Self {
        let at = complaint.position.as_ref();
        Self {
            text,
            code: Some(complaint.kind.clone()),
            file: at.map(|at| at.file.clone()),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
        }
    }
}

/// A verdict about outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Agree,
    Undecided,
    Inaccurate,
    Wrong,
}

impl From<Option<Finding>> for Verdict {
    fn from(finding: Option<Finding>) -> Self {
        match finding {
            None => Self::Agree,
            Some(Finding::Undecided) => Self::Undecided,
            Some(Finding::Inaccurate) => Self::Inaccurate,
            Some(Finding::Wrong) => Self::Wrong,
        }
    }
}

#[derive(Debug, Serialize)]
pub struct CompareAnswer {
    pub verdict: Verdict,
    pub outputs: Vec<OutputAnswer>,
    pub operation: Option<Operation>,
    pub text: String,
}

#[derive(Debug, Serialize)]
pub struct OutputAnswer {
    pub name: String,
    pub verdict: Verdict,
    pub elements: usize,
    pub wrong: usize,
    pub inaccurate: usize,
    pub undecided: usize,
    /// Undecided elements that are far from the reference's.
    pub distant: usize,
    /// Elements that no launch wrote.
    pub unwritten: usize,
    pub worst_ulps: f64,
    pub allowed_ulps: f64,
    pub example: Option<Example>,
    /// Why the output has no bounds.
    pub reason: Option<String>,
}

impl OutputAnswer {
    /// An output that cannot be the reference function's result.
    pub fn with_problem(name: String, problem: String) -> Self {
        Self {
            name,
            verdict: Verdict::Wrong,
            elements: 0,
            wrong: 0,
            inaccurate: 0,
            undecided: 0,
            distant: 0,
            unwritten: 0,
            worst_ulps: 0.0,
            allowed_ulps: 0.0,
            example: None,
            reason: Some(problem),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct Example {
    pub index: Vec<i64>,
    pub kernel: String,
    pub expected: String,
    pub low: Option<String>,
    pub high: Option<String>,
}

/// The operation whose error is the largest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    pub name: String,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// A request that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("the request is not one of the oracle's: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("failed to read {path}: {source}")]
    Unreadable { path: String, source: std::io::Error },
    #[error("the bytes of {0} were not sent")]
    NotSent(String),
    #[error("a request compares at most {MAX_OUTPUTS} outputs")]
    TooMany,
    #[error("output `{0}` is not in a storage of launch {1}")]
    NoStorage(String, u64),
    #[error("output `{0}` leaves its storage")]
    Outside(String),
    #[error("`{0}` is not a dtype of torch")]
    NoDType(String),
    #[error("output `{name}` has {elements} elements, and its reference {expected}")]
    Count {
        name: String,
        elements: i64,
        expected: usize,
    },
    #[error("{0}")]
    Engine(String),
}

/// Describes undecided elements that are far from the reference's.
pub fn describe_distant(distant: usize, elements: usize) -> String {
    format!(
        "{distant} of {elements} elements are far from the reference's values, and their bounds exclude nothing"
    )
}

/// A dtype by torch's name, or by Triton's.
///
/// # Errors
/// There is no such dtype.
pub fn find_dtype(name: &str) -> Result<DType, RequestError> {
    let named = || DType::ALL.into_iter().find(|dtype| dtype.to_string() == name);
    DType::from_torch_name(name)
        .or_else(named)
        .ok_or_else(|| RequestError::NoDType(name.to_owned()))
}
