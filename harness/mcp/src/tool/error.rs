//! Why a call of a tool has no result. Each message is complete, for the client.

use std::io;
use std::path::PathBuf;

use cerith_campaign::reduce::Unreduced;
use cerith_check::error::{BaselineError, ConfigError, SubjectError};
use cerith_runner::corpus::CorpusError;
use cerith_runner::kernels::KernelError;
use cerith_submission::service::ServiceError;

use crate::confinement::PathError;

/// The reason why a call of a tool has no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A text of the arguments is long.
    #[error("error: `{name}` has more than {limit} bytes\n  = help: name a file with `path`")]
    LongArgument {
        /// The argument.
        name: String,
        /// The maximum number of bytes.
        limit: usize,
    },
    /// The arguments do not fit the schema.
    #[error("error: bad arguments: {0}\n  = help: `tools/list` has their schema")]
    BadArguments(serde_json::Error),
    /// Arguments exclude each other, or all of them are missing.
    #[error("error: {0}")]
    Choice(Choice),
    /// A file may not be named.
    #[error("error: {0}")]
    Path(#[from] PathError),
    /// The folder of a corpus may not be named.
    #[error("error: {0}\n  = help: `cases` names a folder with case files; `check` needs none")]
    CorpusPath(PathError),
    /// A kernel of a folder is named.
    #[error(
        "error: `kernel` names a kernel of a file, and {} is a folder\n  = help: name the file with `path`",
        .0.display()
    )]
    Folder(PathBuf),
    /// A file cannot be read.
    #[error("error: failed to read {file}: {error}")]
    Read {
        /// The file.
        file: String,
        /// The cause.
        error: io::Error,
    },
    /// A file or a case is wrong: messages about it.
    #[error("{0}")]
    Broken(String),
    /// A case file launches no kernel.
    #[error(transparent)]
    Kernels(#[from] KernelError),
    /// There is no corpus.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The configuration cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The baseline cannot be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// A file cannot be checked.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The code is not that of a finding.
    #[error("error: no finding has the code `{code}`\n  = help: {help}")]
    UnknownCode {
        /// The code.
        code: String,
        /// Codes that exist.
        help: String,
    },
    /// No case is selected.
    #[error("error: no case matches `{0}`\n  = help: `list` shows all cases")]
    NoCase(String),
    /// Several cases are selected.
    #[error(
        "error: `{filter}` selects more than one case\n  = help: name one of them by its id: {first}, {second}, …"
    )]
    SeveralCases {
        /// The text that selects them.
        filter: String,
        /// The id of a case.
        first: String,
        /// The id of another.
        second: String,
    },
    /// No finding of this id or code has a launch.
    #[error(
        "error: `check` has no finding `{0}` that a launch shows\n  = help: `check` reports ids and codes"
    )]
    NoFinding(String),
    /// There are only preconditions.
    #[error(
        "error: `check` reports preconditions alone, which no single launch shows\n  = help: guard the kernel, or declare them: \
         `# cerith: requires …`"
    )]
    OnlyPreconditions,
    /// There is no finding.
    #[error("error: `check` finds nothing to reduce\n  = help: name the file and the kernel of a finding")]
    NothingFound,
    /// There is no smaller case.
    #[error("error: {case}: {error}")]
    Reduce {
        /// The case.
        case: String,
        /// The cause.
        error: Unreduced,
    },
    /// The server judges nothing.
    #[error(
        "error: `judge` executes files, and this server starts no processes\n  = help: start the server with `cerith mcp --judge`"
    )]
    JudgeOff,
    /// The judging was stopped.
    #[error(
        "error: `judge` was stopped\n  = help: start the server with a higher `--timeout` if it took too long"
    )]
    JudgeStopped,
    /// There is no judgement.
    #[error(transparent)]
    Judge(ServiceError),
    /// The client calls too often.
    #[error("error: {0} calls run or wait already\n  = help: wait for an answer before the next call")]
    Queue(usize),
    /// The client cancelled the call.
    #[error("cancelled")]
    Cancelled,
    /// The call takes too long.
    #[error(
        "error: `{tool}` took more than {seconds} s\n  = help: name a file or one kernel, or start the server with a higher `--timeout`"
    )]
    Late {
        /// The tool.
        tool: &'static str,
        /// The maximum number of seconds.
        seconds: u64,
    },
    /// There is no thread for the call.
    #[error("error: failed to start a thread: {0}")]
    Thread(io::Error),
    /// The server has ended.
    #[error(transparent)]
    Closed(#[from] tokio::sync::AcquireError),
    /// The thread of the call ended without a result.
    #[error("internal error: the call has no result")]
    NoResult,
    /// The tool panicked, with the message of the panic.
    #[error("internal error: {0}\nThis is a bug in Cerith.")]
    Panic(String),
}

/// A choice between arguments: a call has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Choice {
    /// The kernels for `check` and `reduce`.
    #[error(
        "name the kernels with either `path` or `text`\n  = help: `path` is a file or a folder, `text` is Python"
    )]
    Kernels,
    /// The submission for `judge`.
    #[error("name the submission with either `path` or `text`\n  = help: `path` is a file, `text` is Python")]
    Submission,
    /// The names for `list`.
    #[error("name either `path` or `cases`\n  = help: `path` lists kernels, `cases` lists cases")]
    List,
    /// The subject of `explain`.
    #[error("name either `code` or `case`\n  = help: `check` reports codes, `list` shows cases")]
    Explain,
    /// The finding or case for `reduce`.
    #[error("name either a finding or `case`\n  = help: `path` and `text` name the kernels of a finding")]
    Reduce,
}
