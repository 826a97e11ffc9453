//! Why the value of an argument cannot be read.

use cerith_check::conformance::BadArgument;
use cerith_engine::BadEngineId;

/// Why the value of an argument cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BadValue {
    /// An output is named like a kernel or a case.
    #[error("a file that ends in `.{0}` is read, and is not replaced; name the file to write")]
    OutputName(String),
    /// It is not a number of seconds.
    #[error("write a number of seconds, such as 10 or 0.5")]
    Seconds,
    /// The time is too short or too long.
    #[error("write from 0.001 to 86400 seconds")]
    SecondsRange,
    /// It is not a number of bytes.
    #[error("write a number of bytes, such as `4096`, `64K`, `16M` or `1G`")]
    Bytes,
    /// It is not a rule for keeping launches.
    #[error("write `layout`, `data`, `every`, or how many launches of each kernel")]
    Sample,
    /// It is not the name of a build.
    #[error("write letters, digits, `.`, `_` and `-`, with a digit or a hyphen among them, such as pr-1234")]
    Build,
    /// It is not a change between versions.
    #[error("the changes are {0}")]
    Change(String),
    /// It is not the state of a bug.
    #[error("write `unreported`, `reported` or `fixed`")]
    FoundState,
    /// It is not an argument of a launcher.
    #[error("write a name and a value: `x=float32[33,49]`")]
    Launcher,
    /// It is not the value of a launcher's argument.
    #[error(transparent)]
    Argument(#[from] BadArgument),
    /// No toolchain has torch.
    #[error(
        "no toolchain here holds torch; `cerith toolchain adopt PYTHON` registers an environment that does"
    )]
    NoTorch,
    /// It is not an engine.
    #[error("{}{}", .0.reason, describe_suggestion(.0))]
    Engine(#[from] BadEngineId),
}

fn describe_suggestion(error: &BadEngineId) -> String {
    error.suggestion.as_ref().map_or_else(String::new, |suggestion| {
        format!("\n  did you mean `{suggestion}`?")
    })
}
