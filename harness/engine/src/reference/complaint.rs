//! Converts messages of our frontend and our interpreter to outcomes.

use cerith_case::{ArgValue, Launch};
use cerith_frontend::{Refusal, Refused};
use cerith_interp::InternalError;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::rules::Rules;
use cerith_tile::source::{Sources, Span};

use crate::engine::Failure;
use crate::{Complaint, Outcome, Position, SourceLines, Trap};

/// Converts an internal error to a failure: a stop, or a bug of ours.
pub(crate) fn to_failure(doing: String, error: InternalError) -> Failure {
    match error {
        InternalError::Stopped => Failure::Stopped,
        error => Failure::internal(doing, error),
    }
}

/// The outcome of a trap that occurs in one order of lanes, but not in another.
pub(super) fn in_an_order(mut complaint: Box<Complaint>) -> Outcome {
    complaint.message += ", in one of the orders of lanes that Triton leaves open";
    Outcome::Trapped(Trap::Undefined, complaint)
}

/// The location of a complaint, as text.
pub(super) fn place(complaint: &Complaint) -> String {
    complaint.position.as_ref().map_or_else(
        || "no line".to_owned(),
        |position| format!("{}:{}:{}", position.file, position.line, position.column),
    )
}

/// A tensor descriptor that Triton's class for them refuses to make.
pub(super) fn refused_descriptor(launch: &Launch, rules: Rules, nth: usize) -> Option<Outcome> {
    let fault = launch.arguments().find_map(|(_, arg)| match &arg.value {
        ArgValue::Descriptor(descriptor) => descriptor.find_rejection(rules.version),
        _ => None,
    })?;
    let mut complaint = Complaint::new("bad-descriptor", fault);
    complaint.launch = Some(nth);
    Some(Outcome::Rejected(Box::new(complaint)))
}

/// A kernel that is not traced.
pub(super) fn convert_refusal(refused: &Refused, launch: usize) -> Outcome {
    match &refused.refusal {
        Refusal::Rejected(diagnostic) => {
            Outcome::Rejected(Box::new(build_complaint(diagnostic, &refused.sources, launch)))
        }
        Refusal::Unsupported(diagnostic) => {
            Outcome::Unsupported(Box::new(build_complaint(diagnostic, &refused.sources, launch)))
        }
        Refusal::Exhausted(diagnostic) => {
            Outcome::Exhausted(Box::new(build_complaint(diagnostic, &refused.sources, launch)))
        }
    }
}

pub(crate) fn build_complaint(diagnostic: &Diagnostic, sources: &Sources, launch: usize) -> Complaint {
    Complaint {
        position: diagnostic.span().and_then(|span| find_position(sources, span)),
        detail: Some(diagnostic.render(sources, false)),
        launch: Some(launch),
        lines: diagnostic
            .labels
            .iter()
            .filter_map(|label| find_lines(sources, label.span))
            .collect(),
        storages: diagnostic.storages().to_vec(),
        is_by_pass: diagnostic.is_by_pass,
        misspelling: diagnostic
            .labels
            .first()
            .and_then(|label| label.misspelling.as_deref().cloned()),
        ..Complaint::new(diagnostic.code, diagnostic.message.clone())
    }
}

/// The lines of a span in the file that a user can open.
fn find_lines(sources: &Sources, span: Span) -> Option<SourceLines> {
    let file = sources.get(span.source)?;
    let (start, end) = (file.place(span.start), file.place(span.end.max(span.start)));
    let (first, _) = file.line_column(span.start);
    let (last, _) = file.line_column(span.end.max(span.start));
    let mut text = file.line(first).to_owned();
    if last > first {
        text = format!("{text}\n{}", file.line(last));
    }
    Some(SourceLines {
        file: start.file.to_owned(),
        first: start.line,
        last: if end.file == start.file {
            end.line
        } else {
            start.line
        },
        text,
    })
}

pub(crate) fn find_position(sources: &Sources, span: Span) -> Option<Position> {
    let file = sources.get(span.source)?;
    let (line, _) = file.line_column(span.start);
    let place = file.place(span.start);
    Some(Position {
        file: place.file.to_owned(),
        line: place.line,
        column: place.column,
        text: file.line(line).to_owned(),
    })
}
