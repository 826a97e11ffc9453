//! Compares a launcher with a reference function. A contained program of a toolchain executes both, on arguments that the evaluation
//! of the launcher found. The program is `cerith_triton/launchers.py`.
//!
//! Python starts only with the user's `--oracle`. Without it, an entry is reported as not compared.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use cerith_case::like::{BadLike, Like, LikeSource};
use cerith_engine::Engine as _;
pub use cerith_launcher::HostArgument;
use cerith_launcher::{HostCall, Layout, NoCalls, read_calls};
use cerith_module::excerpt::join_modules;
use cerith_recording::recorder::{PACKAGE, program_files};
use cerith_runner::Host;
use cerith_runner::oracle::{OracleAnswers, find_dtype};
use cerith_survey::list_kernels;
use cerith_tile::DType;
use cerith_tile::source::{SourceFile, Sources};
use cerith_toolchain::program::{Ending, Question, Reply};
use cerith_toolchain::request::Module;
use cerith_toolchain::{Limits, ProgramRequest, Programs, Toolchain, WorkerFailure};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::error::ConformanceError;
use crate::target::home_by_imports;

/// The maximum time for one launcher. No call begins after half of it.
const LIMITS: Limits = Limits {
    time: Duration::from_mins(2),
    ..Limits::PROGRAM
};

/// How long the reference may execute a launch after the program's time is over.
const GRACE: Duration = Duration::from_secs(5);

/// The rules of a comparison. See `cerith_triton.check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rules {
    /// The dtype to which sums, products and functions may round.
    pub accumulate: String,
    /// Whether a `tl.dot` of `float32` may round to TF32.
    pub tf32: bool,
    /// A relative tolerance, in place of bounds.
    pub rtol: Option<f64>,
    /// An absolute tolerance, in place of bounds.
    pub atol: Option<f64>,
    /// The seed of the data; `None` for a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            accumulate: "float32".to_owned(),
            tf32: true,
            rtol: None,
            atol: None,
            seed: None,
        }
    }
}

/// An invalid rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// The text is not a number from 0 on.
    #[error("`{0}` is not a tolerance: write a number from 0 on")]
    Tolerance(String),
    /// There is no such contract.
    #[error("there is no contract `{0}`: accumulate in float16, bfloat16, float32 or float64")]
    Contract(String),
}

/// Parses a tolerance.
///
/// # Errors
/// It is not a finite number from 0 on.
pub fn read_tolerance(text: &str) -> Result<f64, BadRule> {
    let number = text
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| BadRule::Tolerance(text.to_owned()))
}

/// Parses an accumulation contract: torch's name of a dtype.
///
/// # Errors
/// There is no such contract.
pub fn read_contract(text: &str) -> Result<String, BadRule> {
    let known = ["float16", "bfloat16", "float32", "float64"];
    let found = known.into_iter().find(|name| *name == text);
    found
        .map(str::to_owned)
        .ok_or_else(|| BadRule::Contract(text.to_owned()))
}

/// A launcher, with its reference function.
#[derive(Clone, Debug, PartialEq)]
pub struct LauncherEntry {
    /// The launcher's name in its file.
    pub launcher: String,
    /// The reference function.
    pub like: Like,
    /// The rules.
    pub rules: Rules,
    /// The arguments of the only call; empty to find calls.
    pub arguments: Vec<(String, HostArgument)>,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConformanceVerdict {
    /// The launcher computes the reference function, within the bounds of its operations.
    Agree,
    /// The bounds do not decide, or an output was not compared.
    #[serde(alias = "undecided")]
    Undecided,
    /// It computes the function, but less accurately than the contract requires.
    Inaccurate,
    /// No launch wrote an output.
    Unwritten,
    /// It computes something else.
    Wrong,
    /// Triton rejects the kernel.
    Rejected,
    /// The result of a launch is undefined.
    Undefined,
    /// It was not executed.
    #[serde(alias = "not judged")]
    NotJudged,
}

/// The report of a launcher.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConformanceReport {
    /// The launcher's file, as the user names it.
    pub file: String,
    /// The launcher.
    pub launcher: String,
    /// The reference function.
    pub like: String,
    /// The result.
    pub verdict: ConformanceVerdict,
    /// The text for the user: at most 80 columns and 2 KB, if the program keeps to these limits.
    pub text: String,
    /// A test that repeats a failure; empty without one.
    pub test: String,
    /// Calls that were not compared.
    pub left: usize,
    /// Whether a comparison was requested.
    pub is_requested: bool,
}

/// The answer of the program. The program runs the user's code, so its answer is untrusted.
#[derive(Deserialize)]
struct Answer {
    verdict: ConformanceVerdict,
    text: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    left: usize,
}

impl ConformanceReport {
    fn new(file: &Path, entry: &LauncherEntry, verdict: ConformanceVerdict, text: String) -> Self {
        Self {
            file: file.display().to_string(),
            launcher: entry.launcher.clone(),
            like: entry.like.to_string(),
            verdict,
            text,
            test: String::new(),
            left: 0,
            is_requested: true,
        }
    }

    /// Whether the check fails: a requested comparison found a fault, or compared nothing.
    pub fn is_failure(&self) -> bool {
        match self.verdict {
            ConformanceVerdict::Agree => false,
            ConformanceVerdict::NotJudged => self.is_requested,
            _ => true,
        }
    }

    /// Whether something was not compared.
    pub fn is_partial(&self) -> bool {
        self.left > 0
            || matches!(
                self.verdict,
                ConformanceVerdict::NotJudged | ConformanceVerdict::Undecided
            )
    }

    /// The report of a launcher that is not executed.
    pub fn without_oracle(file: &Path, entry: &LauncherEntry) -> Self {
        let text = format!(
            "{} was not compared with its reference function {}\n  = help: `--oracle` executes both, contained",
            entry.launcher, entry.like
        );
        Self {
            is_requested: false,
            ..Self::new(file, entry, ConformanceVerdict::NotJudged, text)
        }
    }

    /// A line of JSON.
    pub fn line(&self) -> String {
        // Every field has a form in JSON, so this does not fail.
        serde_json::to_string(self).map_or_else(|_| String::new(), |line| line + "\n")
    }

    fn not_judged(file: &Path, entry: &LauncherEntry, why: &str) -> Self {
        let text = format!("{} was not compared with {}: {why}", entry.launcher, entry.like);
        Self::new(file, entry, ConformanceVerdict::NotJudged, text)
    }
}

/// Compares a launcher of a file with its reference function.
///
/// # Errors
/// A file cannot be read, or Python does not start.
pub fn compare_launcher(
    file: &Path,
    entry: &LauncherEntry,
    toolchain: &Toolchain,
    host: Host<'_>,
) -> Result<ConformanceReport, ConformanceError> {
    let text = cerith_files::read_text(file, cerith_case::MAX_TEXT as u64).map_err(|error| {
        ConformanceError::Read {
            path: file.to_owned(),
            error,
        }
    })?;
    let calls = if entry.arguments.is_empty() {
        match find_calls(file, &text, &entry.launcher) {
            Ok(calls) => calls,
            Err(reason @ NoCalls::NoFunction(_)) => {
                return Err(ConformanceError::Calls {
                    path: file.to_owned(),
                    reason,
                });
            }
            Err(why) => {
                let why = format!(
                    "no arguments for it were found: {why}\n  = help: give them: `--arg x=float32[33,49] --arg eps=1e-5`"
                );
                return Ok(ConformanceReport::not_judged(file, entry, &why));
            }
        }
    } else {
        vec![HostCall {
            variant: String::new(),
            arguments: entry.arguments.clone(),
        }]
    };
    let (root, path) =
        home_by_imports(file, &text).ok_or_else(|| ConformanceError::NotUtf8(file.to_owned()))?;
    let own = make_absolute(file)?;
    let own = own.parent().unwrap_or(Path::new("/"));
    let imports_from = find_readable(file, &root)?;
    let mut programs = Programs::new(toolchain.clone(), 1, (PACKAGE, &program_files()))
        .map_err(ConformanceError::TemporaryFolder)?
        .with_readable(imports_from.as_deref().unwrap_or(own));
    let source = match &entry.like.source {
        LikeSource::File(like) => {
            let like = make_absolute(like)?;
            if !like.is_file() {
                return Err(ConformanceError::NoReference(like));
            }
            programs = programs.with_readable(like.parent().unwrap_or(Path::new("/")));
            like.display().to_string()
        }
        LikeSource::Module(module) => module.clone(),
    };
    let arguments = json!({
        "launcher": entry.launcher,
        "module": imports_from.as_ref().and_then(|_| {
            let module = path.strip_suffix(".py").filter(|path| path.contains('/'))?;
            Some(module.replace('/', "."))
        }),
        "root": imports_from.as_ref().map(|root| root.display().to_string()),
        "like": [source, entry.like.function],
        "calls": calls.iter().map(write_call).collect::<Vec<_>>(),
        "settings": entry.rules,
        "seconds": LIMITS.time.as_secs_f64() / 2.0,
    });
    let request = ProgramRequest {
        module: Module {
            path: file.to_owned(),
            text: text.into(),
        },
        program: "check".to_owned(),
        arguments,
        readable: None,
    };
    let mut oracle = OracleAnswers::new().map_err(ConformanceError::TemporaryFolder)?;
    let reference = oracle.reference();
    let ended = host.run_stoppable(
        Some(LIMITS.time + GRACE),
        || {
            programs.stop();
            reference.stop();
        },
        || {
            programs.run(&request, LIMITS, &mut |question: Question<'_>| -> Reply {
                oracle.answer(&question)
            })
        },
    );
    report_ending(file, entry, toolchain, ended)
}

/// The folder that imports start from. `None` if it is outside of the current folder: a file of a checkout may import from folders
/// further up, which a program must not read.
fn find_readable(file: &Path, root: &Path) -> Result<Option<PathBuf>, ConformanceError> {
    let real = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        path.canonicalize().map_err(|error| ConformanceError::Path {
            path: path.to_owned(),
            error,
        })
    };
    let own = file.parent().unwrap_or(Path::new("."));
    let (root, own) = (real(root)?, real(own)?);
    let is_inside = root == own || root.starts_with(real(Path::new("."))?);
    Ok(is_inside.then_some(root))
}

fn make_absolute(path: &Path) -> Result<PathBuf, ConformanceError> {
    std::path::absolute(path).map_err(|error| ConformanceError::Path {
        path: path.to_owned(),
        error,
    })
}

/// Finds calls of a function by evaluating it, in its file or with the modules that it imports from.
fn find_calls(file: &Path, text: &str, function: &str) -> Result<Vec<HostCall>, NoCalls> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(file.display().to_string(), text));
    let missing = || NoCalls::Unreached;
    let Some((root, path)) = home_by_imports(file, text) else {
        return Err(missing());
    };
    let read = |other: &str| {
        if other == path {
            return Some(text.to_owned());
        }
        cerith_files::read_text(root.join(other), cerith_case::MAX_TEXT as u64).ok()
    };
    let joined = join_modules(&path, None, &read).map(|joined| joined.text);
    let mut problems = Vec::new();
    for text in std::iter::once(text).chain(joined.as_deref()) {
        for kernel in list_kernels(source, text).unwrap_or_default() {
            match read_calls(text, &path, &kernel, function) {
                Ok(calls) if !calls.is_empty() => return Ok(calls),
                Ok(_) => {}
                Err(why) => problems.push(why),
            }
        }
    }
    // Prefer another reason: an unreached launch may be of a kernel that the function does not launch.
    let at = problems
        .iter()
        .position(|why| *why != NoCalls::Unreached)
        .unwrap_or(0);
    Err(problems.into_iter().nth(at).unwrap_or_else(missing))
}

fn write_call(call: &HostCall) -> Json {
    let arguments = call.arguments.iter().map(|(name, argument)| match argument {
        HostArgument::Tensor { dtype, shape, layout } => json!({
            "name": name,
            "dtype": dtype,
            "shape": shape,
            "layout": match layout {
                Layout::Dense => "dense",
                Layout::Padded => "padded",
                Layout::Transposed => "transposed",
            },
        }),
        other => json!({"name": name, "value": write_value(other)}),
    });
    let name = if call.variant.is_empty() {
        describe_call(call)
    } else {
        call.variant.clone()
    };
    json!({"name": name, "arguments": arguments.collect::<Vec<_>>()})
}

/// Tensors in lists have a dtype and a shape, from which the program makes them.
fn write_value(argument: &HostArgument) -> Json {
    match argument {
        HostArgument::None => Json::Null,
        HostArgument::Bool(value) => json!(value),
        HostArgument::Int(value) => json!(value),
        HostArgument::Float(value) if value.is_finite() => json!(value),
        HostArgument::Float(value) => json!({"float": value.to_string()}),
        HostArgument::Text(value) => json!(value),
        HostArgument::Dtype(name) => json!({"dtype": name}),
        HostArgument::Items(items) => json!(items.iter().map(write_value).collect::<Vec<_>>()),
        HostArgument::Tensor { dtype, shape, .. } => json!({"tensor": {"dtype": dtype, "shape": shape}}),
    }
}

/// The tensors of a call: `x[33, 49], weight[49]`.
fn describe_call(call: &HostCall) -> String {
    let tensors = call
        .arguments
        .iter()
        .filter_map(|(name, argument)| match argument {
            HostArgument::Tensor { shape, .. } => {
                let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
                Some(format!("{name}[{}]", sizes.join(", ")))
            }
            _ => None,
        });
    tensors.collect::<Vec<_>>().join(", ")
}

fn report_ending(
    file: &Path,
    entry: &LauncherEntry,
    toolchain: &Toolchain,
    ended: Result<Ending, WorkerFailure>,
) -> Result<ConformanceReport, ConformanceError> {
    let answer = match ended {
        Ok(Ending {
            result: Ok(answer), ..
        }) => answer,
        Ok(Ending {
            result: Err(raised), ..
        }) => {
            let root = raised.root();
            // Writing to a string does not fail.
            let mut why = format!("{}: {}", root.kind, root.message);
            if let Some(at) = &raised.location {
                let _ = write!(why, "\n --> {}:{}", at.file.display(), at.line);
            }
            if root.kind == "ModuleNotFoundError" && root.message.contains("torch") {
                let _ = write!(
                    why,
                    "\n  = help: the toolchain {} has no torch; adopt an environment that has: `cerith toolchain adopt .venv`",
                    toolchain.id
                );
            }
            return Ok(ConformanceReport::not_judged(file, entry, &why));
        }
        Err(failure @ (WorkerFailure::Start { .. } | WorkerFailure::Protocol(_))) => {
            return Err(ConformanceError::Worker(failure));
        }
        Err(failure) => return Ok(ConformanceReport::not_judged(file, entry, &failure.to_string())),
    };
    match Answer::deserialize(answer) {
        Ok(answer) => Ok(ConformanceReport {
            test: answer.test,
            left: answer.left,
            ..ConformanceReport::new(file, entry, answer.verdict, answer.text)
        }),
        Err(error) => Ok(ConformanceReport::not_judged(
            file,
            entry,
            &format!("the program sent an invalid answer: {error}"),
        )),
    }
}

/// A text that looks like a tensor but is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tensor: write a dtype and sizes, `float32[33,49]`")]
pub struct BadArgument(String);

/// Parses an argument of `--arg`: `float32[33,49]`, `1e-5`, `True`, `None`, or a text.
///
/// # Errors
/// A tensor of an unknown dtype, or with sizes that are not numbers.
pub fn read_argument(text: &str) -> Result<HostArgument, BadArgument> {
    let text = text.trim();
    if let Some((dtype, sizes)) = text.split_once('[')
        && let Some(sizes) = sizes.strip_suffix(']')
    {
        let shape: Option<Vec<i64>> = sizes
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            .map(|size| size.parse().ok().filter(|size| *size >= 0))
            .collect();
        let dtype = find_dtype(dtype.trim()).ok().and_then(DType::torch_name);
        return match (dtype, shape) {
            (Some(dtype), Some(shape)) => Ok(HostArgument::Tensor {
                dtype: dtype.to_owned(),
                shape,
                layout: Layout::Dense,
            }),
            _ => Err(BadArgument(text.to_owned())),
        };
    }
    Ok(read_scalar(text))
}

fn read_scalar(text: &str) -> HostArgument {
    match text {
        "None" => return HostArgument::None,
        "True" => return HostArgument::Bool(true),
        "False" => return HostArgument::Bool(false),
        _ => {}
    }
    if let Ok(number) = text.parse() {
        return HostArgument::Int(number);
    }
    if let Ok(number) = text.parse() {
        return HostArgument::Float(number);
    }
    HostArgument::Text(text.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dtype: &str, shape: &[i64]) -> HostArgument {
        HostArgument::Tensor {
            dtype: dtype.to_owned(),
            shape: shape.to_vec(),
            layout: Layout::Dense,
        }
    }

    #[test]
    fn arguments_are_tensors_numbers_or_texts() {
        for (text, expected) in [
            ("float32[33,49]", tensor("float32", &[33, 49])),
            ("f16[ 3 ]", tensor("float16", &[3])),
            ("int64[]", tensor("int64", &[])),
            ("1e-5", HostArgument::Float(1e-5)),
            ("-1", HostArgument::Int(-1)),
            ("True", HostArgument::Bool(true)),
            ("None", HostArgument::None),
            ("\"gelu\"", HostArgument::Text("gelu".to_owned())),
        ] {
            assert_eq!(read_argument(text), Ok(expected), "{text}");
        }
        for text in ["float32[-1]", "float33[3]", "float32[a]"] {
            assert_eq!(read_argument(text), Err(BadArgument(text.to_owned())));
        }
    }
}
