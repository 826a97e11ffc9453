//! The folder of records: a file for each version of Triton, each target and each case file, in the form of an insta
//! snapshot. Left out: what a record says ([`Record`]).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use conch_case::Case;
use conch_tile::rules::Version;
use conch_toolchain::compiled::Target;
use serde::{Deserialize, Serialize};

use super::{Agreed, Provenance, Record};
use crate::{Outcome, Remembered};

/// How an outcome on record was put there, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acceptance {
    /// It was not on record, or what was on record was stale.
    New,
    /// It was on record.
    Same,
    /// Another outcome was on record for the same kernel and layout: the new one is pending review.
    Pending,
}

/// Why a record cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is none.
    Absent,
    /// It is of something else, in words.
    Stale(String),
}

/// Failed to read or write records. Fits behind "failed to ".
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// The file system's error.
    #[error("{doing} {path}: {source}")]
    Io {
        /// `read`, `write` or `remove`.
        doing: &'static str,
        /// The file.
        path: String,
        /// What it said.
        source: io::Error,
    },
    /// A file that is not one of records.
    #[error("read {path}: line {line}: {reason}")]
    Malformed {
        /// The file.
        path: String,
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// The records of one case file under one version and target.
#[derive(Clone, Debug, Default, PartialEq)]
struct Book {
    by: Vec<Provenance>,
    records: Vec<Record>,
}

#[derive(Serialize, Deserialize)]
struct By {
    by: Provenance,
}

/// What the records of a file say that say nothing of whether the reference agreed.
#[derive(Serialize, Deserialize)]
struct Unsaid {
    agreed: bool,
}

impl Book {
    fn read(path: &Path) -> Result<Option<Self>, ShelfError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(ShelfError::Io {
                    doing: "read",
                    path: path.display().to_string(),
                    source,
                });
            }
        };
        let malformed = |line: usize, reason: String| ShelfError::Malformed {
            path: path.display().to_string(),
            line,
            reason,
        };
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line) != Some("---") || !lines.any(|(_, line)| line == "---") {
            return Err(malformed(
                1,
                "not a snapshot: it has no head between `---`".to_owned(),
            ));
        }
        let mut book = Self::default();
        let mut unsaid = Agreed::Unknown;
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |error: serde_json::Error| malformed(at + 1, error.to_string());
            if line.starts_with("{\"by\":{") {
                book.by.push(serde_json::from_str::<By>(line).map_err(wrong)?.by);
            } else if line.starts_with("{\"agreed\":") {
                if serde_json::from_str::<Unsaid>(line).map_err(wrong)?.agreed {
                    unsaid = Agreed::Yes;
                }
            } else {
                let mut record: Record = serde_json::from_str(line).map_err(wrong)?;
                record.agreed.get_or_insert(unsaid);
                if record.by >= book.by.len() {
                    return Err(malformed(at + 1, "nobody says who ran it".to_owned()));
                }
                book.records.push(record);
            }
        }
        Ok(Some(book))
    }

    fn text(&self, engine: &str) -> Result<String, serde_json::Error> {
        let mut text = format!("---\nsource: conch accept\nexpression: {engine}\n---\n");
        for by in &self.by {
            text.push_str(&serde_json::to_string(&By { by: by.clone() })?);
            text.push('\n');
        }
        let unsaid = if self
            .records
            .iter()
            .any(|record| record.agreed == Some(Agreed::Yes))
        {
            text.push_str(&serde_json::to_string(&Unsaid { agreed: true })?);
            text.push('\n');
            Agreed::Yes
        } else {
            Agreed::Unknown
        };
        for record in &self.records {
            let record = Record {
                agreed: Some(record.agreed.unwrap_or(Agreed::Unknown)).filter(|agreed| *agreed != unsaid),
                ..record.clone()
            };
            text.push_str(&serde_json::to_string(&record)?);
            text.push('\n');
        }
        Ok(text)
    }

    /// Puts a record in its case's place.
    fn put(&mut self, mut record: Record, by: &Provenance) {
        record.by = self.by.iter().position(|known| known == by).unwrap_or_else(|| {
            self.by.push(by.clone());
            self.by.len() - 1
        });
        match self.records.iter_mut().find(|old| old.case == record.case) {
            Some(old) => *old = record,
            None => self.records.push(record),
        }
    }

    /// Drops records of cases that are not there any more, and who nobody refers to; records in the order of `cases`.
    fn tidy(&mut self, cases: &[String]) {
        let place: HashMap<&str, usize> = cases.iter().map(String::as_str).zip(0..).collect();
        self.records
            .retain(|record| place.contains_key(record.case.as_str()));
        self.records
            .sort_by_key(|record| place.get(record.case.as_str()).copied());
        let mut used = Vec::new();
        for record in &mut self.records {
            let by = self.by.get(record.by).cloned();
            record.by = used
                .iter()
                .position(|known| Some(known) == by.as_ref())
                .unwrap_or_else(|| {
                    used.extend(by);
                    used.len() - 1
                });
        }
        self.by = used;
    }
}

/// The folder of records.
#[derive(Debug)]
pub struct Shelf {
    pub(super) folder: PathBuf,
    books: Mutex<HashMap<PathBuf, Arc<Option<Book>>>>,
}

impl Shelf {
    /// The records in a folder, which need not be there.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            books: Mutex::default(),
        }
    }

    /// Whether anything is on record of a version on a target.
    pub fn holds(&self, version: Version, target: Target) -> bool {
        self.part(version, target).is_dir()
    }

    fn part(&self, version: Version, target: Target) -> PathBuf {
        self.folder.join(format!("{version}-sm_{}", target.0))
    }

    /// Where the records of a case's file are.
    pub(super) fn path(&self, version: Version, target: Target, case: &str) -> PathBuf {
        let file = case.split(':').next().unwrap_or_default();
        self.part(version, target).join(format!("{file}.snap"))
    }

    fn book(&self, path: &Path) -> Result<Arc<Option<Book>>, ShelfError> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = books.get(path) {
            return Ok(Arc::clone(book));
        }
        let book = Arc::new(Book::read(path)?);
        books.insert(path.to_owned(), Arc::clone(&book));
        Ok(book)
    }

    /// The outcome on record for a case, with who ran it.
    pub fn find(
        &self,
        version: Version,
        target: Target,
        case: &Case,
    ) -> Result<Result<(Outcome, Provenance), Missing>, ShelfError> {
        let path = self.path(version, target, &case.id);
        let book = self.book(&path)?;
        let Some((book, record)) = book.as_ref().as_ref().and_then(|book| {
            let record = book.records.iter().find(|record| record.case == case.id)?;
            Some((book, record))
        }) else {
            return Ok(Err(Missing::Absent));
        };
        if let Some(what) = record.stale(case) {
            return Ok(Err(Missing::Stale(format!("recorded of another {what}"))));
        }
        let by = book.by.get(record.by).cloned();
        match (record.outcome(case), by) {
            (Ok(outcome), Some(by)) => Ok(Ok((outcome, by))),
            (outcome, _) => Err(ShelfError::Malformed {
                path: path.display().to_string(),
                line: book.by.len() + 5,
                reason: format!(
                    "the record of `{}`: {}",
                    case.id,
                    outcome.err().unwrap_or_default()
                ),
            }),
        }
    }

    /// How the outcome on record for a case stood to the reference when it was accepted, where that is known.
    pub fn remembered(&self, version: Version, target: Target, case: &Case) -> Option<Remembered> {
        let book = self.book(&self.path(version, target, &case.id)).ok()?;
        let record = book
            .as_ref()
            .as_ref()?
            .records
            .iter()
            .find(|record| record.case == case.id)?;
        match record.agreed? {
            Agreed::Yes => Some(Remembered::Agreed),
            Agreed::Undecided => Some(Remembered::Undecided),
            Agreed::No => Some(Remembered::Differed),
            Agreed::Unknown => None,
        }
    }

    /// Puts records of one case file on the shelf. `cases` are the ids that the file has now, in order. Where another
    /// outcome is on record for the same kernel and layout, nothing accepted is touched and the whole file, as it would
    /// be, is written beside it as `.snap.new`, for `cargo insta review`; unless `replace`.
    pub fn accept(
        &self,
        version: Version,
        target: Target,
        records: Vec<(Record, Provenance)>,
        cases: &[String],
        replace: bool,
    ) -> Result<Vec<(String, Acceptance)>, ShelfError> {
        let Some((first, _)) = records.first() else {
            return Ok(Vec::new());
        };
        let path = self.path(version, target, &first.case);
        let accepted = Book::read(&path)?.unwrap_or_default();
        let (mut sure, mut wanted) = (accepted.clone(), accepted.clone());
        let mut answers = Vec::with_capacity(records.len());
        for (record, by) in records {
            let old = accepted.records.iter().find(|old| old.case == record.case);
            let comparable = old.filter(|old| (&old.source, &old.layout) == (&record.source, &record.layout));
            let answer = match comparable {
                Some(old) if old.says_the_same(&record) => Acceptance::Same,
                Some(_) if !replace => Acceptance::Pending,
                _ => Acceptance::New,
            };
            answers.push((record.case.clone(), answer));
            if let Some(old) = old.filter(|_| answer == Acceptance::Same) {
                // The mark is of the day on which it was accepted, unless there was none.
                if record.agreed.is_some() && (replace || matches!(old.agreed, None | Some(Agreed::Unknown)))
                {
                    for book in [&mut sure, &mut wanted] {
                        let marked = book.records.iter_mut().find(|known| known.case == record.case);
                        if let Some(marked) = marked {
                            marked.agreed = record.agreed;
                        }
                    }
                }
            }
            if answer == Acceptance::New {
                sure.put(record.clone(), &by);
            }
            if answer != Acceptance::Same {
                wanted.put(record, &by);
            }
        }
        let engine = format!("cuda@{version} sm_{}", target.0);
        for book in [&mut sure, &mut wanted] {
            book.tidy(cases);
        }
        if sure != accepted {
            write_whole(&path, &sure, &engine)?;
        }
        let pending = path.with_extension("snap.new");
        if wanted != sure {
            write_whole(&pending, &wanted, &engine)?;
        } else if replace && pending.exists() {
            // Whoever replaces has seen it; reviewed later, it would bring the old ones back.
            fs::remove_file(&pending).map_err(|source| ShelfError::Io {
                doing: "remove",
                path: pending.display().to_string(),
                source,
            })?;
        }
        self.books
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&path);
        Ok(answers)
    }
}

/// Writes a file beside its place and moves it there, so that nobody finds half of it.
fn write_whole(path: &Path, book: &Book, engine: &str) -> Result<(), ShelfError> {
    let written = book.text(engine).map_err(io::Error::other).and_then(|text| {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let partial = path.with_extension("partial");
        fs::write(&partial, text)?;
        fs::rename(&partial, path)
    });
    written.map_err(|source| ShelfError::Io {
        doing: "write",
        path: path.display().to_string(),
        source,
    })
}
