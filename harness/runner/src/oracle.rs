//! Executes the launches of a program that is compared with a reference function (`cerith oracle`): one after the other, as the
//! program makes them. Then it compares outputs. `cerith_triton.check` is the other side.
//!
//! A request is a line of JSON; so is an answer, which may name bytes that follow it. See `session` for the state.

mod answers;
mod cases;
pub(crate) mod session;
mod text;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use cerith_engine::{Complaint, catch_panic};
use cerith_oracle::{Contract, Finding, Tolerance};
use cerith_tile::DType;
use cerith_toolchain::{BadId, Home, HomeError, Toolchain, ToolchainId};
use serde::{Deserialize, Serialize};

pub use self::answers::OracleAnswers;
pub use self::cases::{CaseOracle, without_oracle};
use self::session::{Session, Values, read_file};
use crate::exit::Exit;

/// The longest request.
const MAX_REQUEST: u64 = 16 << 20;

/// A request of a check.
#[derive(Debug, Deserialize)]
#[serde(tag = "request", rename_all = "lowercase")]
enum Request {
    /// The values of the check's arguments, which are exact.
    Arguments {
        /// Files of `f64`.
        values: Vec<PathBuf>,
    },
    /// Execute the launch that was written last.
    Launch,
    /// Compare outputs.
    Compare(Compare),
}

#[derive(Debug, Deserialize)]
struct Compare {
    accumulate: String,
    tf32: bool,
    rtol: Option<f64>,
    atol: Option<f64>,
    outputs: Vec<Output>,
}

/// An output of the program: a view of a storage of a launch.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) launch: u64,
    pub(crate) storage: u32,
    pub(crate) dtype: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) offset: i64,
    /// A file of `f64`, or of `i64` for integers. It is empty if the values are given otherwise.
    #[serde(default)]
    pub(crate) expected: PathBuf,
}

/// An answer about a launch.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub(crate) enum LaunchAnswer {
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
pub(crate) struct Changed {
    storage: u32,
    bytes: usize,
}

/// Why a launch has no result.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Failed {
    pub(crate) text: String,
    pub(crate) code: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
}

impl Failed {
    fn from_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    fn from_complaint(text: String, complaint: &Complaint) -> Self {
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
pub(crate) enum Verdict {
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
struct CompareAnswer {
    verdict: Verdict,
    outputs: Vec<OutputAnswer>,
    operation: Option<Operation>,
    text: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct OutputAnswer {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    pub(crate) elements: usize,
    pub(crate) wrong: usize,
    pub(crate) inaccurate: usize,
    pub(crate) undecided: usize,
    /// Elements that no launch wrote.
    pub(crate) unwritten: usize,
    pub(crate) worst_ulps: f64,
    pub(crate) allowed_ulps: f64,
    pub(crate) example: Option<Example>,
    /// Why the output has no bounds.
    pub(crate) reason: Option<String>,
}

impl OutputAnswer {
    /// An output that cannot be the reference function's result.
    fn with_problem(name: String, problem: String) -> Self {
        Self {
            name,
            verdict: Verdict::Wrong,
            elements: 0,
            wrong: 0,
            inaccurate: 0,
            undecided: 0,
            unwritten: 0,
            worst_ulps: 0.0,
            allowed_ulps: 0.0,
            example: None,
            reason: Some(problem),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Example {
    pub(crate) index: Vec<i64>,
    pub(crate) kernel: String,
    pub(crate) expected: String,
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
}

/// The operation whose error is the largest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

/// A request that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("the request is not one of the oracle's: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("failed to read {path}: {source}")]
    Unreadable { path: String, source: std::io::Error },
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

/// Answers the requests of a check about the launches of a part file.
pub fn answer_requests(part: &Path, mut requests: impl BufRead, mut answers: impl Write) -> Exit {
    let mut session = Session::new(part);
    loop {
        let mut line = Vec::new();
        let read = std::io::Read::take(&mut requests, MAX_REQUEST).read_until(b'\n', &mut line);
        if !read.is_ok_and(|bytes| bytes > 0) {
            return Exit::AsExpected;
        }
        let (answer, payload) = answer_request(&mut session, &line);
        let written = writeln!(answers, "{answer}")
            .and_then(|()| payload.iter().try_for_each(|bytes| answers.write_all(bytes)))
            .and_then(|()| answers.flush());
        if written.is_err() {
            return Exit::AsExpected;
        }
    }
}

/// The answer's line, and the bytes that follow it.
fn answer_request(session: &mut Session, line: &[u8]) -> (String, Vec<Vec<u8>>) {
    let answered = catch_panic(|| match serde_json::from_slice(line)? {
        Request::Arguments { values } => {
            session.add_exact(&values)?;
            Ok((serde_json::json!({}).to_string(), Vec::new()))
        }
        Request::Launch => {
            let (answer, payload) = session.launch();
            Ok((serde_json::to_string(&answer)?, payload))
        }
        Request::Compare(request) => {
            let answer = compare(session, &request)?;
            Ok((serde_json::to_string(&answer)?, Vec::new()))
        }
    });
    let failed = |text: String| {
        let answer = LaunchAnswer::Failed(Failed::from_text(text));
        (serde_json::to_string(&answer).unwrap_or_default(), Vec::new())
    };
    match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            let error: RequestError = error;
            failed(error.to_string())
        }
        Err(panic) => failed(format!("internal error: {panic}")),
    }
}

fn compare(session: &mut Session, request: &Compare) -> Result<CompareAnswer, RequestError> {
    let accumulate = find_dtype(&request.accumulate)?;
    let contract = Contract {
        accumulate,
        tf32: request.tf32,
    };
    let tolerance = (request.rtol.is_some() || request.atol.is_some()).then(|| Tolerance {
        relative: request.rtol.unwrap_or(0.0),
        absolute: request.atol.unwrap_or(0.0),
    });
    session.use_contract(contract);
    let mut outputs = Vec::with_capacity(request.outputs.len());
    let mut operations = BTreeMap::new();
    for output in &request.outputs {
        let bytes = read_file(&output.expected)?;
        let values = Values::Numbers(&bytes);
        let answer = session.compare_output(output, values, tolerance)?;
        if answer.verdict == Verdict::Inaccurate
            && let Some(operation) = session.find_lossy(output, values)?
        {
            operations.insert(output.name.clone(), operation);
        }
        outputs.push(answer);
    }
    let verdict = outputs
        .iter()
        .map(|output| output.verdict)
        .max()
        .unwrap_or(Verdict::Agree);
    let operation = outputs
        .iter()
        .filter(|output| output.verdict == verdict)
        .find_map(|output| operations.get(&output.name))
        .cloned();
    let text = text::describe(&outputs, operation.as_ref(), contract, tolerance);
    Ok(CompareAnswer {
        verdict,
        outputs,
        operation,
        text,
    })
}

/// A dtype by torch's name, or by Triton's.
pub(crate) fn find_dtype(name: &str) -> Result<DType, RequestError> {
    let named = || DType::ALL.into_iter().find(|dtype| dtype.to_string() == name);
    DType::from_torch_name(name)
        .or_else(named)
        .ok_or_else(|| RequestError::NoDType(name.to_owned()))
}

/// No toolchain for a reference function.
#[derive(Debug, thiserror::Error)]
pub enum NoToolchain {
    /// The folder of toolchains is not known, or not readable.
    #[error("failed to {0}")]
    Home(#[from] HomeError),
    /// It is not a toolchain's name.
    #[error(transparent)]
    BadName(#[from] BadId),
    /// There is none of this name.
    #[error("Triton {0} is not installed\n  = help: `cerith toolchain add {0}` installs it")]
    NotInstalled(ToolchainId),
    /// There is none.
    #[error(
        "no toolchain is installed\n  = help: adopt an environment with Triton and torch, `cerith toolchain adopt .venv`, or \
         install one without torch, `cerith toolchain add 3.9.0`"
    )]
    None,
}

/// The toolchain of this name for reference functions and launchers; without a name, the newest one with torch, or else the newest.
///
/// # Errors
/// It is not installed.
pub fn find_toolchain(name: &str) -> Result<Toolchain, NoToolchain> {
    let home = Home::discover()?;
    if !name.is_empty() {
        let id: ToolchainId = name.parse()?;
        let found = home.find(&id).or_else(|| home.resolve(&id));
        return found.ok_or(NoToolchain::NotInstalled(id));
    }
    let all = home.list()?;
    let with_torch = all.iter().find(|one| one.contents.torch.is_some());
    with_torch
        .or_else(|| all.first())
        .cloned()
        .ok_or(NoToolchain::None)
}
