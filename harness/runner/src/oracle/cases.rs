//! Cases with a reference function (`like:`): a contained program calls the function on the case's tensors, and the reference's
//! execution of the launches is compared with the results.

use std::path::Path;
use std::sync::Arc;

use cerith_case::{ArgValue, Case};
use cerith_engine::{Engine as _, Reference};
use cerith_memory::{StorageId, Tensor};
use cerith_oracle::Contract;
use cerith_recording::recorder::{PACKAGE, program_files};
use cerith_report::event::{LikeResult, LikeVerdict, Verdict as VerdictEvent};
use cerith_toolchain::program::{Question, Reply, split_blobs};
use cerith_toolchain::request::Module;
use cerith_toolchain::{Limits, ProgramRequest, Programs, Toolchain, WorkerFailure};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::message::{Failed, LaunchAnswer, Output, OutputAnswer, RequestError, Verdict};
use super::session::{Session, Values};
use super::text;
use crate::worker_files::Readable;

/// Compares cases with their reference functions.
pub struct CaseOracle {
    programs: Programs,
    reference: Arc<Reference>,
}

/// A case that cannot be compared, and why.
#[derive(Debug, thiserror::Error)]
enum NotCompared {
    /// The launches do not finish, which the case's verdict also reports.
    #[error("{0}")]
    Launch(String),
    /// The reference does not execute the launches.
    #[error("{0}")]
    Unexecuted(String),
    #[error("{0}")]
    Program(#[from] WorkerFailure),
    #[error("it raised {0}")]
    Raised(String),
    #[error("the program sent an invalid answer: {0}")]
    Answer(#[from] serde_json::Error),
    #[error("the program sent no results")]
    NoResults,
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// The message of the program with the function's results.
#[derive(Deserialize)]
struct Results {
    outputs: Vec<ResultHeader>,
    sizes: Vec<usize>,
}

#[derive(Deserialize)]
struct ResultHeader {
    name: String,
    /// The reason why it does not fit its tensor; empty if it fits.
    problem: String,
}

/// A result: its name, and its values or the reason why they do not fit its tensor.
type ResultValues = (String, Result<Vec<u8>, String>);

impl CaseOracle {
    /// Creates an oracle that calls at most `jobs` functions at once. They may read the files of the corpus.
    ///
    /// # Errors
    /// The folder for their private files cannot be created.
    pub fn new(toolchain: Toolchain, jobs: usize, corpus: &Readable) -> std::io::Result<Self> {
        let programs = Programs::new(toolchain, jobs, (PACKAGE, &program_files()))?;
        Ok(Self {
            programs: programs.with_readable_files(corpus.root(), corpus.files()),
            reference: Arc::default(),
        })
    }

    /// Stops the functions that are running.
    pub fn stop(&self) {
        self.programs.stop();
        self.reference.stop();
    }

    /// Adds the comparison to a case's verdict.
    pub fn add(&self, case: &Case, verdict: &mut VerdictEvent) {
        let Some(like) = &case.like else { return };
        let function = like.written.to_string();
        let result = self.compare(case).unwrap_or_else(|why| LikeResult {
            function: function.clone(),
            verdict: match why {
                NotCompared::Launch(_) | NotCompared::Program(WorkerFailure::Stopped) => {
                    LikeVerdict::NotCompared
                }
                _ => LikeVerdict::Failed,
            },
            text: format!("it was not compared with {function}: {why}"),
        });
        verdict.expected &= !result.verdict.is_failure();
        verdict.like = Some(Box::new(result));
    }

    fn compare(&self, case: &Case) -> Result<LikeResult, NotCompared> {
        let mut session =
            Session::of_case(case, Arc::clone(&self.reference)).map_err(|answer| match *answer {
                // The expectations of the case cover these outcomes.
                LaunchAnswer::Undefined(_) | LaunchAnswer::Rejected(_) => {
                    NotCompared::Launch(describe(*answer))
                }
                other => NotCompared::Unexecuted(describe(other)),
            })?;
        let changed = list_changed(case, &session);
        let results = self.call(case, &changed)?;
        let contract = Contract::default();
        session.use_contract(contract);
        let mut answers: Vec<OutputAnswer> = Vec::new();
        let mut operation = None;
        let tensors = list_tensors(case);
        for (name, values) in results {
            let Some((_, tensor)) = tensors.iter().find(|(own, _)| *own == name) else {
                return Err(NotCompared::NoResults);
            };
            let values = match values {
                Ok(values) => values,
                Err(problem) => {
                    answers.push(OutputAnswer::with_problem(name, problem));
                    continue;
                }
            };
            let output = Output::from_view(name, 0, tensor);
            let values = Values::Numbers(&values);
            let answer = session.compare_output(&output, values, None)?;
            if answer.verdict == Verdict::Inaccurate {
                operation = operation.or(session.find_lossy(&output, values)?);
            }
            answers.push(answer);
        }
        let worst = answers.iter().map(|answer| answer.verdict).max();
        let function = case
            .like
            .as_ref()
            .map_or_else(String::new, |like| like.written.to_string());
        Ok(LikeResult {
            verdict: match worst {
                None => LikeVerdict::Failed,
                Some(Verdict::Agree) => LikeVerdict::Agree,
                Some(Verdict::Undecided) => LikeVerdict::Undecided,
                Some(Verdict::Inaccurate) => LikeVerdict::Inaccurate,
                Some(Verdict::Wrong) => LikeVerdict::Wrong,
            },
            text: match worst {
                None => format!("it was not compared with {function}, which returns nothing"),
                Some(Verdict::Agree) => format!("it computes {function}"),
                Some(worst) => {
                    let problem = match worst {
                        Verdict::Inaccurate => {
                            format!("it computes {function}, less accurately than the contract permits")
                        }
                        Verdict::Undecided => format!("it is not decided whether it computes {function}"),
                        Verdict::Wrong | Verdict::Agree => format!("it does not compute {function}"),
                    };
                    let detail = text::describe(&answers, operation.as_ref(), contract, None);
                    format!("{problem}:\n{detail}")
                }
            },
            function,
        })
    }

    /// Calls the reference function.
    fn call(&self, case: &Case, changed: &[String]) -> Result<Vec<ResultValues>, NotCompared> {
        let like = case.like.as_ref().ok_or(NotCompared::NoResults)?;
        let module = like.module.as_ref().unwrap_or(&case.module);
        let installed = match &like.written.source {
            cerith_case::like::LikeSource::Module(name) => Some(name),
            cerith_case::like::LikeSource::File(_) => None,
        };
        let tensors: Vec<Json> = list_tensors(case)
            .into_iter()
            .filter_map(|(name, tensor)| {
                Some(json!({
                    "name": name,
                    "storage": tensor.storage.0,
                    "dtype": tensor.dtype.torch_name()?,
                    "shape": tensor.shape.to_vec(),
                    "strides": tensor.strides.to_vec(),
                    "offset": tensor.offset,
                }))
            })
            .collect();
        let own = case
            .tensors
            .iter()
            .take(case.named_storages)
            .map(|named| &named.name);
        let memory = case.memory();
        let storages = (0..case.storages.len() as u32).map(StorageId);
        let contents: Vec<&[u8]> = storages.map(|storage| memory.bytes(storage)).collect();
        let request = ProgramRequest {
            module: Module {
                path: Path::new(&module.file.name).to_owned(),
                text: Arc::clone(&module.file.text),
            },
            program: "reference".to_owned(),
            arguments: json!({
                "module": installed,
                "like": like.written.function,
                "tensors": tensors,
                "sizes": contents.iter().map(|content| content.len()).collect::<Vec<_>>(),
                "numbers": list_numbers(case),
                "changed": changed,
                "unchanged": own.filter(|name| !changed.contains(name)).collect::<Vec<_>>(),
            }),
            readable: None,
        };
        let mut results: Option<Result<Vec<ResultValues>, NotCompared>> = None;
        let mut answer = |question: Question<'_>| -> Reply {
            if question.header.get("question").and_then(Json::as_str) == Some("storages") {
                return Reply {
                    header: json!({}),
                    blobs: contents.iter().map(|content| content.to_vec()).collect(),
                };
            }
            results = Some(read_results(&question));
            Reply::from(json!({}))
        };
        let ending = self.programs.run(&request, Limits::PROGRAM, &mut answer)?;
        if let Err(raised) = ending.result {
            let root = raised.root();
            return Err(NotCompared::Raised(format!("{}: {}", root.kind, root.message)));
        }
        results.unwrap_or(Err(NotCompared::NoResults))
    }
}

/// The result of a case with a reference function, in a run without `--oracle`.
pub fn without_oracle(case: &Case) -> Option<LikeResult> {
    let function = case.like.as_ref()?.written.to_string();
    Some(LikeResult {
        verdict: LikeVerdict::NotCompared,
        text: format!("not compared with its reference function {function}: `--oracle` calls it, contained"),
        function,
    })
}

fn read_results(question: &Question<'_>) -> Result<Vec<ResultValues>, NotCompared> {
    let Results { outputs, sizes } = Results::deserialize(&question.header)?;
    let blobs = split_blobs(question.blobs, &sizes).ok_or(NotCompared::NoResults)?;
    let results = outputs.into_iter().zip(blobs).map(|(output, blob)| {
        let values = if output.problem.is_empty() {
            Ok(blob.to_vec())
        } else {
            Err(output.problem)
        };
        (output.name, values)
    });
    Ok(results.collect())
}

/// The tensors by name: those of the case, then those of the kernels' parameters.
fn list_tensors(case: &Case) -> Vec<(String, Tensor)> {
    let named = case
        .tensors
        .iter()
        .map(|named| (named.name.clone(), named.tensor.clone()));
    let mut found: Vec<(String, Tensor)> = named.collect();
    for launch in &case.launches {
        for (name, arg) in launch.arguments() {
            if let Some(name) = name
                && let ArgValue::Tensor { tensor, .. } = &arg.value
                && found.iter().all(|(own, _)| own != name)
            {
                found.push((name.to_owned(), tensor.clone()));
            }
        }
    }
    found
}

/// The numbers among the arguments, by their parameters' names.
fn list_numbers(case: &Case) -> serde_json::Map<String, Json> {
    let mut found = serde_json::Map::new();
    for launch in &case.launches {
        for (name, arg) in launch.arguments() {
            let Some(name) = name else { continue };
            let value = match &arg.value {
                ArgValue::None => Json::Null,
                ArgValue::Bool(value) => json!(value),
                ArgValue::Int(value) => match i64::try_from(*value) {
                    Ok(value) => json!(value),
                    Err(_) => continue,
                },
                ArgValue::Float(value) if value.is_finite() => json!(value),
                ArgValue::Str(value) => json!(value),
                _ => continue,
            };
            found.entry(name.to_owned()).or_insert(value);
        }
    }
    found
}

/// The names of the storages' tensors that the launches change, in the order of the case file.
fn list_changed(case: &Case, session: &Session) -> Vec<String> {
    let before = case.memory();
    let Some(after) = session.memory_after(0) else {
        return Vec::new();
    };
    let is_changed = |storage: StorageId| {
        before.bytes(storage) != after.bytes(storage) || before.states(storage) != after.states(storage)
    };
    let own = case.tensors.iter().take(case.named_storages);
    own.filter(|named| is_changed(named.tensor.storage))
        .map(|named| named.name.clone())
        .collect()
}

fn describe(answer: LaunchAnswer) -> String {
    match answer {
        LaunchAnswer::Finished { .. } => String::new(),
        LaunchAnswer::Undefined(Failed { text, .. })
        | LaunchAnswer::Rejected(Failed { text, .. })
        | LaunchAnswer::Unsupported(Failed { text, .. })
        | LaunchAnswer::Exhausted(Failed { text, .. })
        | LaunchAnswer::Failed(Failed { text, .. }) => text.lines().next().unwrap_or_default().to_owned(),
    }
}
