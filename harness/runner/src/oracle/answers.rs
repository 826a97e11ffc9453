//! The questions of a contained program about its launches. It sends bytes in place of files: nothing that it names is opened.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use cerith_engine::Reference;
use cerith_toolchain::program::{Question, Reply, split_blobs};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::answer_request;
use super::message::RequestError;
use super::session::Session;

/// The most bytes of all part files of a program.
const MAX_PARTS: usize = 4 << 30;

/// A question about a part file, whose blobs are the part file's new bytes, and the files that the request names.
#[derive(Debug, Deserialize)]
struct OracleQuestion {
    part: u64,
    request: Json,
    /// The files' names in the request.
    files: Vec<String>,
    /// Bytes of each blob.
    sizes: Vec<usize>,
}

/// Answers the questions of one program.
pub struct OracleAnswers {
    folder: TempDir,
    reference: Arc<Reference>,
    current: Option<(u64, Session)>,
    written: usize,
}

/// A question that is not one of the oracle's.
#[derive(Debug, thiserror::Error)]
enum BadQuestion {
    #[error("the question is not the oracle's: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the question's sizes and bytes differ")]
    Sizes,
    #[error("the launches have more than {MAX_PARTS} bytes together")]
    TooLarge,
    #[error("failed to write a temporary file: {0}")]
    Unwritable(#[from] io::Error),
}

impl OracleAnswers {
    /// Answers for a program that has made no launch.
    ///
    /// # Errors
    /// No temporary folder can be made.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            folder: tempfile::Builder::new().prefix("cerith-").tempdir()?,
            reference: Arc::default(),
            current: None,
            written: 0,
        })
    }

    /// The reference that executes the launches, which another thread may stop.
    pub fn reference(&self) -> Arc<Reference> {
        Arc::clone(&self.reference)
    }

    /// Answers a question `oracle`.
    pub fn answer(&mut self, question: &Question<'_>) -> Reply {
        self.try_answer(question)
            .unwrap_or_else(|error| Reply::from(json!({"outcome": "failed", "text": error.to_string()})))
    }

    fn try_answer(&mut self, question: &Question<'_>) -> Result<Reply, BadQuestion> {
        let OracleQuestion {
            part,
            request,
            files,
            sizes,
        } = OracleQuestion::deserialize(&question.header)?;
        let blobs = split_blobs(question.blobs, &sizes).ok_or(BadQuestion::Sizes)?;
        let [new, contents @ ..] = &blobs[..] else {
            return Err(BadQuestion::Sizes);
        };
        if contents.len() != files.len() {
            return Err(BadQuestion::Sizes);
        }
        self.written = self.written.saturating_add(new.len());
        if self.written > MAX_PARTS {
            return Err(BadQuestion::TooLarge);
        }
        let path = self.folder.path().join("launches.part");
        if self.current.as_ref().is_none_or(|(number, _)| *number != part) {
            std::fs::write(&path, [])?;
            let session = Session::with_reference(&path, Arc::clone(&self.reference));
            self.current = Some((part, session));
        }
        OpenOptions::new().append(true).open(&path)?.write_all(new)?;
        let Some((_, session)) = &mut self.current else {
            return Err(BadQuestion::Sizes);
        };
        let given: HashMap<&Path, &[u8]> = files
            .iter()
            .map(Path::new)
            .zip(contents.iter().copied())
            .collect();
        let read = |path: &Path| {
            let found = given.get(path).copied().map(Cow::Borrowed);
            found.ok_or_else(|| RequestError::NotSent(path.display().to_string()))
        };
        let (line, payload) = answer_request(session, request.to_string().as_bytes(), &read);
        Ok(Reply {
            header: serde_json::from_str(&line)?,
            blobs: payload,
        })
    }
}
