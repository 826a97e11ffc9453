//! `cerith record`: runs an unchanged program with a recorder attached to its Triton, and converts its launches into cases. See
//! `words` for the final messages.

mod words;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;
use std::{env, io};

use cerith_recording::collect::{self, check_vacant};
use cerith_recording::recorder::{self, Rules};
use cerith_recording::{CollectError, Collected, Options};
use rustix::process::{Pid, Signal, kill_process};

use crate::exit::Exit;
use crate::host::Host;

/// Options for recording a program.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The folder for the recording.
    pub out: PathBuf,
    /// Only kernels whose names match this pattern (`attn_*`).
    pub filter: Vec<String>,
    /// The largest storage whose bytes are kept (`64K`, `16M`, `1G`).
    pub max_bytes: u64,
    /// The most that each process writes, compressed.
    pub max_size: u64,
    /// The launches of a kernel to keep.
    pub sample: String,
    /// The configuration that an autotuner uses if there is no GPU to measure them.
    pub config: u32,
    /// Judge each launch that is kept before it runs.
    pub preflight: bool,
    /// Keep layouts and seeds only: no bytes, no command line.
    pub no_data: bool,
    /// Make the recording from part files that an interrupted `cerith record`, or the Python package, left behind.
    pub collect: Option<PathBuf>,
    /// The program and its arguments, after `--`.
    pub command: Vec<OsString>,
}

/// The folder of part files while the program runs, in the folder that becomes the recording. Its name begins with a dot, so that
/// it is not part of a corpus.
const PARTS: &str = ".parts";

/// The reason why a program cannot be recorded.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error("error: failed to make a recording: {error}{}", describe_collect_help(error))]
    Collect {
        #[from]
        error: CollectError,
    },
    #[error(
        "error: {parts} exists: an earlier recording was interrupted, or is still running\n  = help: save what it has with `cerith record \
         --collect {parts} --out DIR`, or remove it",
        parts = .0.display()
    )]
    Occupied(PathBuf),
    #[error("error: failed to write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("error: no program to record")]
    NoProgram,
    #[error("error: {0}")]
    Rules(#[from] serde_json::Error),
    #[error("error: failed to find cerith itself: {0}")]
    Itself(io::Error),
    #[error("error: failed to start `{}`: {error}{}", program.display(), describe_start_help(error))]
    Start { program: OsString, error: io::Error },
    #[error("error: failed to wait for the program: {0}")]
    Wait(io::Error),
}

fn describe_collect_help(error: &CollectError) -> &'static str {
    match error {
        CollectError::Occupied(_) => "\n  = help: name a new folder with `--out`",
        CollectError::Io { .. } => "",
    }
}

fn describe_start_help(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::NotFound {
        "\n  = help: write the program as a shell would find it: `cerith record -- python train.py`"
    } else {
        ""
    }
}

/// Records, and returns the exit code: the program's own, if it is not 0.
pub fn record(options: &RecordOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    let fail = |error: &RecordError| {
        console.note(&error.to_string());
        Exit::Wrong
    };
    if let Some(parts) = &options.collect {
        return match make_recording(options, parts) {
            Ok(collected) => {
                console.note(&words::describe_recording(options, &collected, None));
                remove_empty(&collected, &options.out);
                Exit::AsExpected
            }
            Err(error) => fail(&error),
        };
    }
    let parts = match create_parts(&options.out) {
        Ok(parts) => parts,
        Err(error) => return fail(&error),
    };
    let status = match run_program(options, &parts, host) {
        Ok(status) => status,
        Err(error) => {
            remove_parts(&options.out, &parts);
            return fail(&error);
        }
    };
    let collected = match make_recording(options, &parts) {
        Ok(collected) => collected,
        Err(error) => {
            console.note(&format!(
                "{error}\n  = note: what the program launched is kept: `cerith record --collect {} --out DIR`",
                parts.display()
            ));
            return Exit::Wrong;
        }
    };
    remove_parts(&options.out, &parts);
    console.note(&words::describe_recording(options, &collected, Some(status)));
    remove_empty(&collected, &options.out);
    match convert_status(status) {
        Exit::Program(0) if collected.cases == 0 => Exit::Nothing,
        code => code,
    }
}

/// Makes the folder for part files, with the recorder in it.
fn create_parts(out: &Path) -> Result<PathBuf, RecordError> {
    check_vacant(out)?;
    let parts = out.join(PARTS);
    let failed = |error| RecordError::Write {
        path: parts.clone(),
        error,
    };
    if parts.exists() {
        return Err(RecordError::Occupied(parts));
    }
    cerith_files::create_folders(&parts).map_err(failed)?;
    recorder::install(&parts.join("python")).map_err(failed)?;
    // The program may go to another folder.
    std::path::absolute(&parts).map_err(failed)
}

/// Runs the program to its end.
fn run_program(options: &RecordOptions, parts: &Path, host: Host<'_>) -> Result<ExitStatus, RecordError> {
    let (program, rest) = options.command.split_first().ok_or(RecordError::NoProgram)?;
    let rules = Rules {
        filter: options.filter.clone(),
        max_bytes: options.max_bytes,
        max_size: options.max_size,
        sample: options.sample.clone(),
        data: !options.no_data,
        config: options.config - 1,
    };
    let rules = serde_json::to_string(&rules)?;
    let mut path = OsString::from(parts.join("python"));
    if let Some(others) = env::var_os("PYTHONPATH").filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("PYTHONPATH", path)
        .env(recorder::FOLDER, parts)
        .env(recorder::RULES, rules);
    if options.preflight {
        let own = env::current_exe().map_err(RecordError::Itself)?;
        command.env(recorder::PREFLIGHT, own);
    }
    let mut child = command.spawn().map_err(|error| RecordError::Start {
        program: program.clone(),
        error,
    })?;
    wait_for_program(&mut child, host).map_err(RecordError::Wait)
}

/// Waits for the program. On a terminal, Ctrl-C reaches both it and Cerith, and the program decides what to do. Other signals that
/// would end Cerith are passed on to it.
fn wait_for_program(child: &mut Child, host: Host<'_>) -> io::Result<ExitStatus> {
    let mut passed_on = io::stdin().is_terminal();
    // The pause grows, so that a short program is not delayed, and a long one is polled rarely.
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if host.is_stopped() && !passed_on {
            passed_on = true;
            if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                kill_process(pid, Signal::TERM)?;
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Converts the program's exit status as a shell does.
fn convert_status(status: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    Exit::Program(u8::try_from(code).unwrap_or(1))
}

/// Makes the recording.
fn make_recording(options: &RecordOptions, parts: &Path) -> Result<Collected, RecordError> {
    let command: Vec<String> = options
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let options = Options {
        parts: parts.to_owned(),
        out: options.out.clone(),
        command: (!options.no_data && !command.is_empty()).then_some(command),
        sample: options.sample.clone(),
        private: options.no_data,
    };
    Ok(collect::collect(&options)?)
}

/// Removes a recording without a case: its messages were printed already, and its folder would be in the way of the next
/// recording.
fn remove_empty(collected: &Collected, out: &Path) {
    if collected.cases == 0 {
        let _ = cerith_files::remove_file(out.join(collect::MANIFEST));
        let _ = cerith_files::remove_folder(out);
    }
}

/// Removes part files, and the folder if it is empty. Remaining files are harmless.
fn remove_parts(out: &Path, parts: &Path) {
    let _ = cerith_files::remove_folder_all(parts);
    let _ = cerith_files::remove_folder(out);
}
