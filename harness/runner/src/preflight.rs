//! Judges launches by the reference alone: launches that a recorder asks about before they run (`cerith preflight`), and launches
//! that were running when their process crashed. See `cerith-recording` for the recorder's side.

use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::path::Path;

use cerith_case::{Case, Corpus};
use cerith_engine::{Complaint, Engine, Outcome, Reference, Trap, catch_panic, infer_rules};
use cerith_recording::Follower;
use serde::Serialize;

use crate::exit::Exit;

/// The answer about a launch.
#[derive(Debug, Default, Serialize)]
struct Answer {
    /// Whether the reference could run it.
    judged: bool,
    /// The description of its undefined behaviour.
    undefined: Option<String>,
}

/// Answers about the launches of a part file: for each line of the requests, about the one that was written last.
pub fn answer_requests(part: &Path, requests: impl BufRead, mut answers: impl Write) -> Exit {
    let reference = Reference::default();
    let mut follower = Follower::new(part);
    for line in requests.lines() {
        if line.is_err() {
            break;
        }
        let answer = answer_request(&reference, &mut follower);
        let text = serde_json::to_string(&answer).unwrap_or_else(|_| "{}".to_owned());
        if writeln!(answers, "{text}")
            .and_then(|()| answers.flush())
            .is_err()
        {
            break;
        }
    }
    Exit::AsExpected
}

fn answer_request(reference: &Reference, follower: &mut Follower) -> Answer {
    // A launch that cannot be made a case runs as it would without us; `cerith record` says why it is none.
    let Ok(Some(folder)) = follower.latest() else {
        return Answer::default();
    };
    let Ok(corpus) = Corpus::read(&folder) else {
        return Answer::default();
    };
    let case = corpus.entries().next().and_then(|entry| entry.resolve().ok());
    case.map_or_else(Answer::default, |case| match judge_case(reference, &case) {
        Judged::Undefined(complaint) => Answer {
            judged: true,
            undefined: Some(describe_undefined(&find_kernel_name(&case), &complaint)),
        },
        Judged::Defined => Answer {
            judged: true,
            undefined: None,
        },
        Judged::Silent(_) => Answer::default(),
    })
}

/// The reference's judgement of a case.
pub enum Judged {
    /// The case is undefined, for this reason.
    Undefined(Box<Complaint>),
    /// The case is defined.
    Defined,
    /// The reference has no outcome, for this reason.
    Silent(String),
}

/// Asks the reference about a case, by the rules of the Triton that it was recorded with.
pub fn judge_case(reference: &Reference, case: &Case) -> Judged {
    match catch_panic(|| reference.run(case, infer_rules(case))) {
        Ok(Ok(run)) => match run.outcome {
            Outcome::Trapped(Trap::Undefined, complaint) => Judged::Undefined(complaint),
            Outcome::Finished(_) | Outcome::Rejected(_) | Outcome::Trapped(..) => Judged::Defined,
            other => Judged::Silent(other.complaint().map_or_else(
                || other.kind().to_string(),
                |complaint| format!("{}: {}", other.kind(), complaint.message),
            )),
        },
        Ok(Err(failure)) => Judged::Silent(format!("failed to {failure}")),
        Err(panic) => Judged::Silent(panic),
    }
}

/// The name of a case's kernel.
pub fn find_kernel_name(case: &Case) -> String {
    let launch = case.launches.first();
    launch.map_or_else(String::new, |launch| launch.kernel.name.clone())
}

/// Describes undefined behaviour: its kind, its location, and the line.
pub fn describe_undefined(kernel: &str, complaint: &Complaint) -> String {
    let mut text = format!("{kernel} is undefined: {}: {}", complaint.kind, complaint.message);
    if let Some(at) = &complaint.position {
        let _ = write!(text, "\n  at {}:{}:{}", at.file, at.line, at.column);
        let line = at.text.trim();
        if !line.is_empty() {
            let _ = write!(text, "\n    {} | {line}", at.line);
        }
    }
    text
}
