//! A process that judges submissions for another one that may start none: `cerith mcp`. Files come as text, so that it reads no files of the
//! user's. Its workers stay warm from one request to the next.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use cerith_files::write_new;
use cerith_tile::DType;
use cerith_toolchain::conversation::frame::{self, FrameLimits, encode_frame};
use cerith_toolchain::conversation::{Conversation, Silence, StderrPart};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::bench::{Bench, Judge, SourceFile, Terms, make_seed, start_programs};
use crate::error::JudgeError;
use crate::judgement::Judgement;
use cerith_runner::exit::Exit;
use cerith_runner::host::{Host, SilentConsole};
use cerith_runner::interrupt::Interrupt;

/// The hidden command that runs [`serve`].
pub const COMMAND: &str = "judge-service";

/// The interval of checks whether a request was cancelled.
const LOOKED_EVERY: Duration = Duration::from_millis(50);

/// How long the process has to answer a cancelled request.
const GRACE: Duration = Duration::from_secs(10);

/// Bytes of standard error that are kept.
const STDERR_KEPT: usize = 4 << 10;

const LIMITS: FrameLimits = FrameLimits {
    header: 16 << 20,
    blobs: 1,
};

/// A file by its name and text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceText {
    /// Its name: a path. The last part is the file's name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A submission to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeRequest {
    /// The task.
    pub task: SourceText,
    /// The submission.
    pub kernel: SourceText,
    /// The seed of the data. Without it, a fresh one.
    pub seed: Option<u64>,
    /// The name of the dtype of sums, in place of the task's.
    pub accumulate: Option<String>,
    /// Whether dots of `f32` may not round to TF32.
    pub no_tf32: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    Judge(Box<JudgeRequest>),
    /// Stops the judging.
    Cancel,
    /// Ends the process, which the other side may not be allowed to kill.
    End,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    /// Calls that are done, and their number.
    Progress(usize, usize),
    Judged(Box<Judgement>),
    /// The message for the user.
    Failed(String),
}

/// Why there is no judgement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The request cannot be judged: the message for the user.
    #[error("{0}")]
    Failed(String),
    /// It was cancelled, or took too long.
    #[error("cancelled")]
    Cancelled,
    /// The process has ended.
    #[error("error: the process that judges has ended{0}\n  = help: start the server again")]
    Ended(String),
}

/// The process, for many threads. It ends when this is dropped.
#[derive(Debug)]
pub struct JudgeService {
    /// `None` once the process does not answer.
    process: Mutex<Option<ServiceProcess>>,
}

/// The process's pipes.
#[derive(Debug)]
struct ServiceProcess(Conversation);

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        // Landlock keeps a confined process from signals to those that were started before.
        let _ = send(&mut self.0, &Order::End);
    }
}

impl JudgeService {
    /// Starts the process: the command [`COMMAND`] of a program.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(COMMAND);
        let kept = StderrPart::Last(STDERR_KEPT);
        let conversation = Conversation::start(command, kept, LIMITS, |mut command| command.spawn())?;
        Ok(Self {
            process: Mutex::new(Some(ServiceProcess(conversation))),
        })
    }

    /// Judges a submission, after those of other threads. `report` hears how many calls are done, and how many there are.
    ///
    /// # Errors
    /// There is no judgement.
    pub fn judge(
        &self,
        request: JudgeRequest,
        is_stopped: &dyn Fn() -> bool,
        report: &dyn Fn(usize, usize),
    ) -> Result<Judgement, ServiceError> {
        let mut place = loop {
            match self.process.try_lock() {
                Ok(place) => break place,
                Err(TryLockError::Poisoned(place)) => break place.into_inner(),
                Err(TryLockError::WouldBlock) if is_stopped() => return Err(ServiceError::Cancelled),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOKED_EVERY),
            }
        };
        let Some(ServiceProcess(conversation)) = place.as_mut() else {
            return Err(ServiceError::Ended(String::new()));
        };
        let answered = exchange(conversation, request, is_stopped, report);
        if let Err(ServiceError::Ended(_)) = answered {
            // Later frames do not answer the next request.
            *place = None;
        }
        answered
    }
}

fn exchange(
    conversation: &mut Conversation,
    request: JudgeRequest,
    is_stopped: &dyn Fn() -> bool,
    report: &dyn Fn(usize, usize),
) -> Result<Judgement, ServiceError> {
    send(conversation, &Order::Judge(Box::new(request)))?;
    let mut cancelled: Option<Instant> = None;
    loop {
        match conversation.receive(LIMITS.header as u64, Instant::now() + LOOKED_EVERY) {
            Ok((header, _)) => match serde_json::from_slice(&header) {
                Ok(Answer::Progress(done, total)) => report(done, total),
                Ok(_) if cancelled.is_some() => return Err(ServiceError::Cancelled),
                Ok(Answer::Judged(judgement)) => return Ok(*judgement),
                Ok(Answer::Failed(message)) => return Err(ServiceError::Failed(message)),
                Err(error) => return Err(ServiceError::Ended(format!(": {error}"))),
            },
            Err(Silence::Late) => {}
            Err(Silence::Gone | Silence::Noise(_)) => return Err(describe_end(conversation)),
        }
        match cancelled {
            None if is_stopped() => {
                send(conversation, &Order::Cancel)?;
                cancelled = Some(Instant::now());
            }
            Some(since) if since.elapsed() > GRACE => return Err(describe_end(conversation)),
            _ => {}
        }
    }
}

fn send(conversation: &mut Conversation, order: &Order) -> Result<(), ServiceError> {
    let frame = encode_frame(order, []).map_err(|error| ServiceError::Failed(format!("error: {error}")))?;
    let mut rest = frame.as_slice();
    let deadline = Instant::now() + GRACE;
    let sent = conversation.send(&mut rest, LIMITS.header as u64, deadline);
    sent.map_err(|_| describe_end(conversation))
}

fn describe_end(conversation: &mut Conversation) -> ServiceError {
    let text = conversation.stderr_text();
    let last = text.lines().last().unwrap_or_default();
    ServiceError::Ended(if last.is_empty() {
        String::new()
    } else {
        format!(": {last}")
    })
}

/// Judges submissions until the input ends.
pub fn serve(input: impl Read + Send, output: impl Write + Send, host: Host<'_>) -> Exit {
    let output = Mutex::new(output);
    let answer = |answer: &Answer| {
        if let Ok(frame) = encode_frame(answer, []) {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            // If the other side is gone, the input ends too.
            let _ = output.write_all(&frame).and_then(|()| output.flush());
        }
    };
    let mut server = match Server::new() {
        Ok(server) => server,
        Err(error) => {
            host.console
                .note(&format!("error: failed to make a temporary folder: {error}"));
            return Exit::Wrong;
        }
    };
    std::thread::scope(|scope| {
        let (sender, orders) = mpsc::channel();
        scope.spawn(move || read_orders(input, &sender));
        for (request, interrupt) in orders {
            let host = Host {
                console: &SilentConsole,
                interrupt: &interrupt,
            };
            let progress = |done, total| answer(&Answer::Progress(done, total));
            answer(&match server.judge(&request, host, &progress) {
                Ok(judgement) => Answer::Judged(Box::new(judgement)),
                Err(error) => Answer::Failed(error.to_string()),
            });
        }
    });
    Exit::AsExpected
}

/// A request, and the way to stop it.
type Ordered = (Box<JudgeRequest>, Arc<Interrupt>);

/// Reads orders until the input ends, which stops the last one.
fn read_orders(mut input: impl Read, sender: &mpsc::Sender<Ordered>) {
    let mut running: Option<Arc<Interrupt>> = None;
    while let Some(order) = read_frame::<Order>(&mut input) {
        match order {
            Order::Judge(request) => {
                let interrupt = Arc::new(Interrupt::new());
                running = Some(Arc::clone(&interrupt));
                if sender.send((request, interrupt)).is_err() {
                    return;
                }
            }
            Order::Cancel => {
                if let Some(interrupt) = &running {
                    interrupt.request();
                }
            }
            Order::End => break,
        }
    }
    if let Some(interrupt) = running {
        interrupt.request();
    }
}

/// The header of the next frame. `None` if there is none.
fn read_frame<T: DeserializeOwned>(input: &mut impl Read) -> Option<T> {
    let mut lengths = [0; frame::LENGTHS];
    input.read_exact(&mut lengths).ok()?;
    let (header, _) = frame::read_lengths(&lengths, LIMITS).ok()??;
    let mut bytes = vec![0; header];
    input.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The state from one request to the next.
struct Server {
    /// The texts of the current request, which are all that programs read of a user's.
    folder: TempDir,
    bench: Option<Bench>,
    /// Requests so far.
    count: u64,
}

impl Server {
    fn new() -> io::Result<Self> {
        Ok(Self {
            folder: tempfile::Builder::new().prefix("cerith-judge-").tempdir()?,
            bench: None,
            count: 0,
        })
    }

    fn judge(
        &mut self,
        request: &JudgeRequest,
        host: Host<'_>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Judgement, JudgeError> {
        self.count += 1;
        let bench = match self.bench.take() {
            Some(bench) => bench,
            None => Bench::new(start_programs(None)?.with_readable(self.folder.path())),
        };
        let bench = self.bench.insert(bench);
        let accumulate = request.accumulate.as_deref().map(str::parse::<DType>);
        let terms = Terms {
            accumulate: accumulate.transpose().map_err(JudgeError::Accumulate)?,
            no_tf32: request.no_tf32,
        };
        // Each request has paths of its own, so that no program meets the text of an earlier one.
        let folder = self.folder.path().join(self.count.to_string());
        let failed = JudgeError::TemporaryFile;
        let write = |kind: &str, source: &SourceText| -> Result<SourceFile, JudgeError> {
            let own = folder.join(kind);
            std::fs::create_dir_all(&own).map_err(failed)?;
            let path = own.join(find_file_name(&source.name)?);
            write_new(&path, &source.text).map_err(failed)?;
            Ok(SourceFile {
                name: source.name.clone(),
                path: path.canonicalize().map_err(failed)?,
                text: source.text.clone(),
            })
        };
        let judged = write("task", &request.task).and_then(|task_file| {
            let kernel = write("kernel", &request.kernel)?;
            let seed = request.seed.unwrap_or_else(make_seed);
            let task = bench.read_task(&task_file, seed, terms, host)?;
            let judge = Judge {
                bench,
                task: &task,
                name: task_file.name,
                seed,
                host,
                progress,
            };
            Ok(judge.judge_submission(&kernel))
        });
        // A folder that stays is removed with its parent.
        let _ = std::fs::remove_dir_all(&folder);
        judged
    }
}

/// The last part of a file's name.
fn find_file_name(name: &str) -> Result<&str, JudgeError> {
    let path = Path::new(name);
    let last = path.file_name().and_then(|last| last.to_str());
    last.filter(|last| path.extension().is_some_and(|extension| extension == "py") && !last.starts_with('.'))
        .ok_or_else(|| JudgeError::FileName(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(find_file_name(name).ok(), expected, "{name}");
    }

    #[test]
    fn only_the_last_part_of_a_name_is_a_path() {
        check("kernels/softmax.py", Some("softmax.py"));
        check("../../etc/softmax.py", Some("softmax.py"));
        check("..", None);
        check("softmax", None);
        check(".py", None);
        check("", None);
    }

    #[test]
    fn orders_are_frames() {
        let orders = [Order::Cancel, Order::Cancel];
        let bytes: Vec<u8> = orders
            .iter()
            .flat_map(|order| encode_frame(order, []).expect("a frame"))
            .collect();
        let mut input = bytes.as_slice();
        assert!(matches!(read_frame::<Order>(&mut input), Some(Order::Cancel)));
        assert!(read_frame::<Order>(&mut input).is_some());
        assert!(read_frame::<Order>(&mut input).is_none());
        assert!(read_frame::<Order>(&mut [255; 12].as_slice()).is_none());
    }
}
