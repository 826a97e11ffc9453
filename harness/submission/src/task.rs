//! The trials of a task, made by its own contained process, which never has a submission.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use cerith_oracle::Contract;
use cerith_tile::DType;
use cerith_toolchain::program::{Question, Reply, split_blobs};
use cerith_toolchain::request::Module;
use cerith_toolchain::{Limits, ProgramRequest, Programs};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::error::{JudgeError, MessageError, TaskFault};
use crate::structure::Structure;
use crate::trial::{Expected, Interface, MORE_TRIALS, TRIALS, Trial, list_views, make_key};
use crate::variation::ReferenceVariation;
use cerith_runner::oracle::message::{Output, find_dtype};
use cerith_runner::oracle::session::{ExpectedValues, Session};

/// The time for a task.
const LIMITS: Limits = Limits {
    time: std::time::Duration::from_mins(1),
    ..Limits::PROGRAM
};

/// The trials of a task.
#[derive(Debug)]
pub(super) struct Task {
    /// Its interface.
    pub interface: Interface,
    /// Its trials.
    pub trials: Vec<Trial>,
    /// How their results vary.
    pub variation: ReferenceVariation,
    /// The precision that it asks for.
    pub contract: Contract,
}

/// A message of a task's process.
#[derive(Debug, Deserialize)]
struct TaskQuestion {
    message: TaskMessage,
    #[serde(default)]
    files: Vec<FileText>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TaskMessage {
    Task(Interface),
    Trial(TrialText),
    Skipped(String),
    Failed(String),
}

#[derive(Debug, Deserialize)]
struct FileText {
    name: String,
    bytes: usize,
}

#[derive(Debug, Deserialize)]
struct TrialText {
    init: Json,
    state: Json,
    args: Json,
    kwargs: Json,
    outputs: Vec<ExpectedText>,
    structure: Structure,
    #[serde(default)]
    sizes: String,
}

#[derive(Debug, Deserialize)]
struct ExpectedText {
    name: String,
    dtype: String,
    shape: Vec<i64>,
    file: Option<String>,
    launch: Option<u64>,
    storage: Option<u32>,
    #[serde(default)]
    strides: Vec<i64>,
    #[serde(default)]
    offset: i64,
    #[serde(default = "default_depends")]
    depends: bool,
}

const fn default_depends() -> bool {
    true
}

/// The launches of a reference that is itself a kernel.
struct ReferenceLaunches {
    session: Session,
    path: PathBuf,
    number: u64,
}

/// The conversation with a task's process.
struct Conversation<'a> {
    folder: &'a Path,
    seed: u64,
    remaining: VecDeque<(usize, &'static str)>,
    has_more: bool,
    current: (usize, &'static str),
    interface: Option<Interface>,
    trials: Vec<Trial>,
    skipped: Vec<String>,
    failed: Option<MessageError>,
    launches: Option<ReferenceLaunches>,
}

/// Makes the trials of a task.
///
/// # Errors
/// The task cannot be judged.
pub(super) fn read_task(
    name: &str,
    module: Module,
    programs: &Programs,
    seed: u64,
    contract: &dyn Fn(Contract) -> Contract,
) -> Result<Task, JudgeError> {
    let folder = tempfile::Builder::new()
        .prefix("cerith-")
        .tempdir()
        .map_err(JudgeError::TemporaryFolder)?;
    let readable = Some(vec![module.path.clone()]);
    let request = ProgramRequest {
        module,
        program: "task".to_owned(),
        arguments: json!({}),
        readable,
    };
    let mut conversation = Conversation {
        folder: folder.path(),
        seed,
        remaining: TRIALS.into(),
        has_more: false,
        current: (0, "given"),
        interface: None,
        trials: Vec::new(),
        skipped: Vec::new(),
        failed: None,
        launches: None,
    };
    let ended = programs.run(&request, LIMITS, &mut |question| conversation.answer(&question));
    let Conversation {
        interface,
        trials,
        skipped,
        failed,
        ..
    } = conversation;
    let wrong = |fault| JudgeError::Task {
        task: name.to_owned(),
        fault,
    };
    if let Some(error) = failed {
        return Err(wrong(error.into()));
    }
    let ending = ended.map_err(|failure| wrong(TaskFault::Worker(failure)))?;
    if let Err(raised) = ending.result {
        let raised = raised.root();
        return Err(wrong(TaskFault::Raised {
            kind: raised.kind.clone(),
            message: raised.message.clone(),
        }));
    }
    let interface = interface.ok_or_else(|| wrong(TaskFault::Ended))?;
    if trials.is_empty() {
        let first = skipped.into_iter().next();
        return Err(wrong(first.map_or(TaskFault::NoInputs, TaskFault::Skipped)));
    }
    let own = interface.contract.as_ref().and_then(|own| {
        Some(Contract {
            accumulate: find_dtype(&own.accumulate).ok()?,
            tf32: own.tf32,
            ..Contract::default()
        })
    });
    let data = trials.iter().flat_map(Trial::list_dtypes);
    Ok(Task {
        contract: contract(own.unwrap_or_default()).with_data(data),
        interface,
        variation: ReferenceVariation::new(&trials),
        trials,
    })
}

impl Conversation<'_> {
    fn answer(&mut self, question: &Question<'_>) -> Reply {
        let kind = question.header.get("question").and_then(Json::as_str);
        if kind == Some("oracle") {
            return self.launch(question);
        }
        if let Err(error) = self.take(question) {
            self.failed.get_or_insert(error);
        }
        if self.remaining.is_empty() && !self.has_more {
            self.has_more = true;
            if ReferenceVariation::new(&self.trials).needs_more() {
                self.remaining.extend(MORE_TRIALS);
            }
        }
        let next = self.remaining.pop_front().filter(|_| self.failed.is_none());
        let Some((sizes, kind)) = next else {
            return Reply::from(json!({"end": true}));
        };
        self.current = (sizes, kind);
        // Each trial has data of its own.
        let round = if self.has_more { TRIALS.len() } else { 0 };
        let seed = self.seed.wrapping_add((self.remaining.len() + round) as u64) & u64::from(u32::MAX);
        Reply::from(json!({"make": {"kind": kind, "seed": seed, "sizes": sizes}}))
    }

    fn take(&mut self, question: &Question<'_>) -> Result<(), MessageError> {
        let TaskQuestion { message, files } =
            TaskQuestion::deserialize(&question.header).map_err(MessageError::Form)?;
        match message {
            TaskMessage::Task(interface) => self.interface = Some(interface),
            TaskMessage::Failed(reason) => return Err(MessageError::Failed(reason)),
            TaskMessage::Skipped(reason) => self.skipped.push(reason),
            TaskMessage::Trial(text) => {
                let sizes: Vec<usize> = files.iter().map(|file| file.bytes).collect();
                let blobs = split_blobs(question.blobs, &sizes).ok_or(MessageError::FileSizes)?;
                let names = files.into_iter().map(|file| file.name);
                let files: Vec<(String, Vec<u8>)> =
                    names.zip(blobs.iter().map(|blob| blob.to_vec())).collect();
                if let Some(trial) = self.read_trial(text, files)? {
                    self.trials.push(trial);
                }
            }
        }
        Ok(())
    }

    /// A trial. `None` if its reference has no bounds.
    fn read_trial(
        &mut self,
        text: TrialText,
        files: Vec<(String, Vec<u8>)>,
    ) -> Result<Option<Trial>, MessageError> {
        let mut outputs = Vec::with_capacity(text.outputs.len());
        let expected: HashSet<String> = text
            .outputs
            .iter()
            .filter_map(|output| output.file.clone())
            .collect();
        for output in text.outputs {
            match self.read_expected(output, &files)? {
                Some(output) => outputs.push(output),
                None => return Ok(None),
            }
        }
        let call = json!({"init": text.init, "state": text.state, "args": text.args, "kwargs": text.kwargs});
        let storages: Vec<(String, Vec<u8>)> = files
            .into_iter()
            .filter(|(name, _)| !expected.contains(name))
            .collect();
        let views = list_views(&call, &storages).ok_or(MessageError::Storage)?;
        Ok(Some(Trial {
            kind: self.current.1.to_owned(),
            sizes: text.sizes,
            key: make_key(&call),
            call,
            storages,
            views,
            outputs,
            structure: text.structure,
        }))
    }

    fn read_expected(
        &self,
        output: ExpectedText,
        files: &[(String, Vec<u8>)],
    ) -> Result<Option<Expected>, MessageError> {
        let dtype: DType = find_dtype(&output.dtype)?;
        let values = match (&output.file, output.launch, output.storage) {
            (Some(name), ..) => {
                let found = files.iter().find(|(file, _)| file == name);
                let (_, bytes) = found.ok_or(MessageError::NoFile)?;
                ExpectedValues::Numbers(bytes.clone())
            }
            (None, Some(launch), Some(storage)) => {
                let view = Output {
                    name: output.name.clone(),
                    launch,
                    storage,
                    dtype: output.dtype.clone(),
                    shape: output.shape.clone(),
                    strides: output.strides,
                    offset: output.offset,
                    expected: PathBuf::new(),
                };
                let launches = self.launches.as_ref().ok_or(MessageError::NoLaunch)?;
                match launches.session.read_formula(&view)? {
                    Some(values) => values,
                    None => return Ok(None),
                }
            }
            _ => return Err(MessageError::NoValues),
        };
        Ok(Some(Expected {
            name: output.name,
            dtype,
            shape: output.shape,
            values,
            depends: output.depends,
        }))
    }

    /// Executes a launch of the reference.
    fn launch(&mut self, question: &Question<'_>) -> Reply {
        let refuse = |text: &str| Reply::from(json!({"outcome": "failed", "text": text}));
        let field = |name: &str| question.header.get(name);
        let Some(part) = field("part").and_then(Json::as_u64) else {
            return refuse("the question names no part file");
        };
        if field("request")
            .and_then(|request| request.get("request"))
            .and_then(Json::as_str)
            != Some("launch")
        {
            return refuse("a task may only ask for launches");
        }
        if self
            .launches
            .as_ref()
            .is_none_or(|launches| launches.number != part)
        {
            let path = self.folder.join(format!("{part}.part"));
            self.launches = Some(ReferenceLaunches {
                session: Session::new(&path),
                path,
                number: part,
            });
        }
        let Some(launches) = self.launches.as_mut() else {
            return refuse("no launch was made");
        };
        if let Err(error) = append(&launches.path, question.blobs) {
            return refuse(&format!("failed to write a temporary file: {error}"));
        }
        match cerith_engine::catch_panic(|| launches.session.launch()) {
            Ok((answer, blobs)) => Reply {
                header: serde_json::to_value(&answer).unwrap_or_default(),
                blobs,
            },
            Err(panic) => refuse(&format!("internal error: {panic}")),
        }
    }
}

fn append(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(bytes)
}
