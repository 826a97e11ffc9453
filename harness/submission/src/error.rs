//! Why a task, a submission or the judging of both fails. Each message is complete, with `error:` in front.

use std::io;
use std::path::PathBuf;

use cerith_runner::oracle::NoToolchain;
use cerith_runner::oracle::message::RequestError;
use cerith_tile::dtype::UnknownDType;
use cerith_toolchain::WorkerFailure;

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// A file cannot be read.
    #[error("error: failed to read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// There is no toolchain.
    #[error("error: {0}")]
    Toolchain(#[from] NoToolchain),
    /// There is no folder for a program.
    #[error("error: failed to make a temporary folder: {0}")]
    TemporaryFolder(io::Error),
    /// A text of a request cannot be written.
    #[error("error: failed to write a temporary file: {0}")]
    TemporaryFile(io::Error),
    /// A request has a name that is not that of a Python file.
    #[error("error: `{0}` is not the name of a Python file")]
    FileName(String),
    /// A request names an unknown dtype.
    #[error("error: `accumulate`: {0}")]
    Accumulate(UnknownDType),
    /// The task is wrong.
    #[error("error: {fault}\n --> {task}")]
    Task {
        /// The task's name for the user.
        task: String,
        /// The cause.
        fault: TaskFault,
    },
}

/// Why a task has no trials.
#[derive(Debug, thiserror::Error)]
pub enum TaskFault {
    /// Its process sent something that is not usable.
    #[error("the task cannot be judged: {0}")]
    Message(#[from] MessageError),
    /// Each of its inputs was skipped: the first reason.
    #[error("the task cannot be judged: {0}")]
    Skipped(String),
    /// It made no inputs.
    #[error("the task cannot be judged: it has no inputs")]
    NoInputs,
    /// Its process failed.
    #[error("failed to read the task: {0}")]
    Worker(WorkerFailure),
    /// It raised an exception.
    #[error("failed to read the task: {kind}: {message}")]
    Raised {
        /// The exception's class.
        kind: String,
        /// Its message.
        message: String,
    },
    /// Its process ended without a task.
    #[error("the task's process ended early")]
    Ended,
}

/// Why a message of a task's process is not usable.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// It has another form.
    #[error("its message is not a task's: {0}")]
    Form(serde_json::Error),
    /// The process reports a failure.
    #[error("{0}")]
    Failed(String),
    /// The bytes do not have the sizes of the files.
    #[error("its files and their sizes differ")]
    FileSizes,
    /// A tensor is larger than its storage.
    #[error("a tensor of a trial leaves its storage")]
    Storage,
    /// An output has an unknown dtype, or its launch has no values for it.
    #[error(transparent)]
    Output(#[from] RequestError),
    /// The file of an output is missing.
    #[error("an output of a trial has no file")]
    NoFile,
    /// The launch of an output was not made.
    #[error("an output names a launch that was not made")]
    NoLaunch,
    /// An output has no values.
    #[error("an output of a trial has neither a file nor a launch")]
    NoValues,
}
