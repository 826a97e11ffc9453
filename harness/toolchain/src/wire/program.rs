//! The frames of a program: the request, its questions, and its end. The Python side is `cerith_worker/program.py`.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{BadAnswer, BadRequest, RaisedHeader, check_absolute, raised_by};
use crate::containment::ProgramRules;
use crate::conversation::frame;
use crate::pool::Limits;
use crate::program::{Ending, ProgramRequest, Question, Reply};
use crate::request::Module;

#[derive(Serialize)]
struct ProgramHeader<'a> {
    program: &'a str,
    arguments: &'a Json,
    path: String,
    time: f64,
    /// `None` if the program reads all that the worker may read.
    rules: Option<&'a ProgramRules>,
}

/// The frame of a request.
pub(crate) fn encode_request(
    request: &ProgramRequest,
    rules: Option<&ProgramRules>,
    limits: Limits,
) -> Result<Vec<u8>, BadRequest> {
    let header = ProgramHeader {
        program: &request.program,
        arguments: &request.arguments,
        path: check_absolute(&request.module.path)?,
        time: limits.time.as_secs_f64(),
        rules,
    };
    Ok(frame::encode_frame(&header, [])?)
}

/// The beginning of each question.
const QUESTION: &[u8] = b"{\"question\":";

/// Answers a question; `None` for other frames.
pub(crate) fn answer_between(
    header: &[u8],
    blobs: &[u8],
    answer: &mut dyn FnMut(Question<'_>) -> Reply,
) -> Result<Option<Vec<u8>>, BadAnswer> {
    if !header.starts_with(QUESTION) {
        return Ok(None);
    }
    let header = serde_json::from_slice(header).map_err(BadAnswer::Header)?;
    let reply = answer(Question { header, blobs });
    let blobs = reply.blobs.iter().map(Vec::as_slice);
    Ok(Some(frame::encode_frame(&reply.header, blobs)?))
}

#[derive(Deserialize)]
struct EndingHeader {
    raised: Option<RaisedHeader>,
    #[serde(default)]
    result: Json,
    stdout: String,
}

/// Reads the last frame. The worker forks another process for the next program.
pub(crate) fn decode_ending(header: &[u8], module: &Module) -> Result<(Ending, bool), BadAnswer> {
    let ending: EndingHeader = serde_json::from_slice(header).map_err(BadAnswer::Header)?;
    let result = match ending.raised {
        None => Ok(ending.result),
        Some(raised) => Err(Box::new(raised_by(raised, module, &[])?)),
    };
    let stdout = ending.stdout;
    Ok((Ending { result, stdout }, false))
}
