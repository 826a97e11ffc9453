//! The questions of a contained program about its launches. It sends bytes in place of files: nothing in its folder is read here.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;

use cerith_toolchain::program::{Question, Reply};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::answer_request;
use super::session::Session;

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
    current: Option<(u64, Session)>,
}

/// A question that is not one of the oracle's.
#[derive(Debug, thiserror::Error)]
enum BadQuestion {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("its sizes and its bytes differ")]
    Sizes,
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
            current: None,
        })
    }

    /// Answers a question `oracle`.
    pub fn answer(&mut self, question: &Question<'_>) -> Reply {
        self.try_answer(question).unwrap_or_else(|error| {
            Reply::from(
                json!({"outcome": "failed", "text": format!("the question is not the oracle's: {error}")}),
            )
        })
    }

    fn try_answer(&mut self, question: &Question<'_>) -> Result<Reply, BadQuestion> {
        let OracleQuestion {
            part,
            mut request,
            files,
            sizes,
        } = OracleQuestion::deserialize(&question.header)?;
        let mut blobs = Vec::with_capacity(sizes.len());
        let mut rest = question.blobs;
        for size in sizes {
            let (blob, others) = rest.split_at_checked(size).ok_or(BadQuestion::Sizes)?;
            blobs.push(blob);
            rest = others;
        }
        if !rest.is_empty() || blobs.len() != files.len() + 1 {
            return Err(BadQuestion::Sizes);
        }
        let path = self.folder.path().join("launches.part");
        if self.current.as_ref().is_none_or(|(number, _)| *number != part) {
            std::fs::write(&path, [])?;
            self.current = Some((part, Session::new(&path)));
        }
        if let Some(new) = blobs.first() {
            OpenOptions::new().append(true).open(&path)?.write_all(new)?;
        }
        for (nth, (name, blob)) in files.iter().zip(blobs.iter().skip(1)).enumerate() {
            let file = self.folder.path().join(format!("values-{nth}"));
            std::fs::write(&file, blob)?;
            rename_file(&mut request, name, &file);
        }
        let Some((_, session)) = &mut self.current else {
            return Err(BadQuestion::Sizes);
        };
        if !has_own_files(&request, self.folder.path()) {
            return Err(BadQuestion::Sizes);
        }
        let (line, payload) = answer_request(session, request.to_string().as_bytes());
        Ok(Reply {
            header: serde_json::from_str(&line)?,
            blobs: payload,
        })
    }
}

/// The places of a request that name files.
fn list_files(request: &mut Json) -> Vec<&mut Json> {
    let Some(fields) = request.as_object_mut() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("values", Json::Array(values)) => found.extend(values),
            ("outputs", Json::Array(outputs)) => {
                found.extend(outputs.iter_mut().filter_map(|output| output.get_mut("expected")));
            }
            _ => {}
        }
    }
    found
}

fn rename_file(request: &mut Json, name: &str, file: &std::path::Path) {
    for place in list_files(request) {
        if place.as_str() == Some(name) {
            *place = Json::String(file.display().to_string());
        }
    }
}

/// Whether all files of a request are ours: a hostile program would have others read.
fn has_own_files(request: &Json, folder: &std::path::Path) -> bool {
    let mut request = request.clone();
    list_files(&mut request).into_iter().all(|place| {
        place
            .as_str()
            .is_some_and(|name| PathBuf::from(name).parent() == Some(folder))
    })
}
