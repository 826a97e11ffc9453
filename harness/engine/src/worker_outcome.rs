//! Outcomes of workers' answers without a result: exceptions of Python and of Triton's compiler, and workers that end without an answer.

use std::path::PathBuf;
use std::sync::Arc;

use cerith_case::Case;
use cerith_tile::source::SourceFile;
use cerith_toolchain::WorkerFailure;
use cerith_toolchain::response::{Location, Phase, PythonError, Raised};

use crate::engine::Failure;
use crate::worker_request::list_modules;
use crate::{Complaint, NO_WORKER, Outcome, Position, Trap, loading, missing_feature};

/// CUDA's name for a failed `device_assert`.
pub const ASSERT_FAILED: &str = "CUDA_ERROR_ASSERT";

/// A Python exception. One of Triton's compiler is a rejection, every other a trap. `stderr` is what the compiler or the
/// GPU said there.
pub(crate) fn translate_exception(case: &Case, raised: &Raised, stderr: &str) -> Outcome {
    if let Some(complaint) = loading::explain_load_failure(case, raised) {
        return Outcome::Unavailable(Box::new(complaint));
    }
    let root = raised.root();
    let complained = parse_mlir_error(stderr).filter(|_| raised.compiling && root.kind == "RuntimeError");
    // A CUDA error is reported after the last launch, even if an earlier launch caused it.
    let faulted = root.kind.starts_with("CUDA_ERROR_");
    let message = match &complained {
        _ if faulted => format!("{}\n{stderr}", root.message).trim_end().to_owned(),
        // It says which command failed, and not what that said.
        _ if root.kind == "subprocess.CalledProcessError" => {
            find_assembler_error(&raised.chain).unwrap_or_else(|| root.message.clone())
        }
        Some((_, said)) => format!("{}: {said}", root.message.trim_end()),
        None => without_source(&root.message).to_owned(),
    };
    let location = raised
        .location
        .clone()
        .or_else(|| complained.and_then(|(location, _)| location));
    let kind = root.kind.rsplit('.').next().unwrap_or_default();
    let unsupported = root.kind.starts_with("cerith_worker.") && ["Unsupported", "Lacking"].contains(&kind);
    let rejected = raised.compiling
        || raised.chain.iter().any(|error| {
            error.kind.starts_with("triton.compiler.errors.")
                || [
                    "CompilationError",
                    "CompileTimeAssertionFailure",
                    "UnsupportedLanguageConstruct",
                ]
                .contains(&error.kind.as_str())
        });
    // A launch's options are checked before anything is compiled.
    let by_backend = raised
        .origin
        .as_deref()
        .is_some_and(|file| file.starts_with("triton/backends/"));
    // A dtype becomes one of the IR in a function of the language, which the interpreter has a copy of.
    let by_language = root.kind == "ValueError"
        && raised
            .origin
            .as_deref()
            .is_some_and(|file| ["triton/language/core.py", "triton/runtime/interpreter.py"].contains(&file));
    let complaint = Box::new(Complaint {
        position: location.as_ref().map(|location| find_position(case, location)),
        detail: Some(raised.traceback.clone() + stderr).filter(|text| !text.is_empty()),
        launch: match raised.phase {
            _ if faulted => None,
            Phase::Import => None,
            Phase::Arguments(launch) | Phase::Launch(launch) => Some(launch),
        },
        raised: raised.origin.clone().filter(|_| !faulted),
        frame: raised.frame,
        ..Complaint::new(
            if unsupported {
                "launch".to_owned()
            } else {
                root.kind.clone()
            },
            message,
        )
    });
    let lacking = raised
        .chain
        .iter()
        .map(|error| error.message.as_str())
        .chain([stderr])
        .find_map(missing_feature::find_missing_feature)
        .filter(|_| rejected || by_backend || by_language);
    if let Some(what) = lacking {
        return Outcome::Unsupported(Box::new(Complaint {
            message: what.to_owned(),
            ..*complaint
        }));
    }
    if unsupported {
        Outcome::Unsupported(complaint)
    } else if root.kind == ASSERT_FAILED {
        Outcome::Trapped(Trap::Assert, complaint)
    } else if rejected {
        Outcome::Rejected(complaint)
    } else {
        Outcome::Trapped(Trap::Raised, complaint)
    }
}

/// The part of a message of Triton's compiler after the source with a caret under it, if there is one.
fn without_source(message: &str) -> &str {
    let mut rest = message;
    let mut after = None;
    while let Some((line, others)) = rest.split_once('\n') {
        if line.trim() == "^" {
            after = Some(others);
        }
        rest = others;
    }
    after
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .unwrap_or(message)
}

/// Errors of `ptxas`, if Triton reports its failure: their lines, or else its exit status.
fn find_assembler_error(chain: &[PythonError]) -> Option<String> {
    let said = chain
        .iter()
        .map(|error| error.message.as_str())
        .find(|message| message.contains("`ptxas`") || message.contains("PTX codegen"))?;
    let of = |word: &str| {
        let lines: Vec<&str> = said
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("ptxas") && line.contains(word))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    of(" error ").or_else(|| of(" fatal ")).or_else(|| {
        let ended = said.lines().find(|line| !line.trim().is_empty())?;
        Some(ended.trim().to_owned())
    })
}

/// MLIR's first complaint on stderr, `file:line:column: error: message`, with its place if that is a file's.
fn parse_mlir_error(stderr: &str) -> Option<(Option<Location>, String)> {
    let (place, said) = stderr.lines().find_map(|line| {
        line.split_once(": error: ")
            .or_else(|| line.strip_prefix("error: ").map(|said| ("", said)))
    })?;
    let mut parts = place.trim_end_matches(')').rsplitn(3, ':');
    let column = parts.next().and_then(|column| column.parse::<u32>().ok());
    let line = parts.next().and_then(|line| line.parse().ok());
    let location = match (parts.next(), line, column) {
        (Some(file), Some(line), Some(_)) => Some(Location {
            file: PathBuf::from(file.trim_start_matches("loc(\"").trim_matches('"')),
            line,
            function: String::new(),
        }),
        _ => None,
    };
    Some((location, said.to_owned()))
}

/// A worker that could not answer.
pub(crate) fn translate_failure(case: &Case, failure: WorkerFailure) -> Result<Outcome, Failure> {
    let complaint = |kind: &str, message: String, stderr: String, location: Option<&Location>| {
        Box::new(Complaint {
            position: location.map(|location| find_position(case, location)),
            detail: Some(stderr).filter(|text| !text.is_empty()),
            ..Complaint::new(kind, message)
        })
    };
    let message = failure.to_string();
    Ok(match failure {
        WorkerFailure::Crashed {
            exit: how,
            stderr,
            location,
        } => Outcome::Crashed(complaint("crash", how.to_string(), stderr, location.as_ref())),
        WorkerFailure::TimedOut { stderr, location, .. } => {
            Outcome::Exhausted(complaint("time", message, stderr, location.as_ref()))
        }
        WorkerFailure::OutOfMemory { stderr, .. } => {
            Outcome::Exhausted(complaint("memory", message, stderr, None))
        }
        WorkerFailure::Excess { stderr, .. } => {
            Outcome::Exhausted(complaint("excess", message, stderr, None))
        }
        WorkerFailure::Garbled { stderr, .. } => {
            Outcome::Crashed(complaint("garbled", message, stderr, None))
        }
        WorkerFailure::Start { toolchain, reason } => Outcome::Unavailable(Box::new(Complaint::new(
            NO_WORKER,
            format!("no worker of {toolchain} starts: {reason}"),
        ))),
        WorkerFailure::Protocol(reason) => return Err(Failure::internal("talk to the worker", reason)),
        WorkerFailure::Stopped => return Err(Failure::Stopped),
    })
}

pub(crate) fn find_position(case: &Case, location: &Location) -> Position {
    let path = location.file.to_string_lossy();
    let same = |file: &&Arc<SourceFile>| file.name == path || path.ends_with(&file.name);
    let file = list_modules(case)
        .flat_map(|module| std::iter::once(&module.file).chain(module.imports.iter().map(|(_, file)| file)))
        .find(same);
    let place = file.map(|file| file.place_of(location.line, 0));
    Position {
        line: place.map_or(location.line, |place| place.line),
        file: place.map_or_else(|| path.into_owned(), |place| place.file.to_owned()),
        column: 0,
        text: file.map_or_else(String::new, |file| file.line(location.line).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptxas_has_its_own_words() {
        let check = |said: &str, expected: Option<&str>| {
            let error = |kind: &str, message: &str| PythonError {
                kind: kind.to_owned(),
                message: message.to_owned(),
            };
            let chain = [
                error("triton.runtime.errors.PTXASError", said),
                error(
                    "subprocess.CalledProcessError",
                    "Command '[...]' returned non-zero exit status 255.",
                ),
            ];
            assert_eq!(find_assembler_error(&chain).as_deref(), expected, "{said}");
        };
        check(
            "PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas info    : 0 bytes gmem\nptxas /tmp/a.ptx, line 30; \
             error   : Not a name of any known instruction: 'no'\nptxas fatal   : Ptx assembly aborted due to errors\n\nRepro \
             command: ptxas -v",
            Some("ptxas /tmp/a.ptx, line 30; error   : Not a name of any known instruction: 'no'"),
        );
        check(
            "`ptxas` failed with error code 1: \nptxas fatal   : Memory allocation failure\n",
            Some("ptxas fatal   : Memory allocation failure"),
        );
        check(
            "PTXAS error: `ptxas` raised SIGSEGV\n`ptxas` stderr:\n\nRepro command: ptxas",
            Some("PTXAS error: `ptxas` raised SIGSEGV"),
        );
        check(
            "Internal Triton PTX codegen error: \nptxas /tmp/a.ptx, line 3; error   : Unknown modifier '.such'",
            Some("ptxas /tmp/a.ptx, line 3; error   : Unknown modifier '.such'"),
        );
        check("something else", None);
    }

    #[test]
    fn of_a_compilers_message_its_sentence_is_kept() {
        let check =
            |message: &str, expected: &str| assert_eq!(without_source(message), expected, "{message}");
        check(
            "at 2:4:\ndef f(x):\n    g(x)\n    ^\nno such thing\n",
            "no such thing",
        );
        check(
            "at 1:0:\na\n^\nat 2:4:\n    b\n    ^\nthe innermost one",
            "the innermost one",
        );
        check("at 2:4:\n    g(x)\n    ^", "at 2:4:\n    g(x)\n    ^");
        check(
            "'int' object has no attribute 'to'",
            "'int' object has no attribute 'to'",
        );
    }

    #[test]
    fn mlirs_first_complaint_has_a_place_if_it_says_one() {
        let check = |stderr: &str, expected: Option<(Option<u32>, &str)>| {
            let found = parse_mlir_error(stderr);
            let told = found
                .as_ref()
                .map(|(at, said)| (at.as_ref().map(|at| at.line), said.as_str()));
            assert_eq!(told, expected, "{stderr}");
        };
        check(
            "warning\n/a/k.py:12:34: error: too wide\n/a/k.py:13:1: error: later\n",
            Some((Some(12), "too wide")),
        );
        check("loc(\"/a/k.py\":7:8): error: no\n", Some((Some(7), "no")));
        check("error: no place\n", Some((None, "no place")));
        check("LLVM ERROR\n", None);
    }
}
