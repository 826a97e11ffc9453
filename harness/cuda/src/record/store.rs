//! The folder of records: a file for each kind of GPU and each case file, in the form of an insta snapshot. See [`Book`] for the
//! content of a file.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cerith_case::Case;
use cerith_files::MAX_FILE;
use cerith_tile::rules::Version;
use cerith_toolchain::compiled::{Kernel, Target};

use super::book::Book;
use super::change::ChangeError;
use super::entry::{Agreed, Provenance, Record, shorten_hash};
use super::release::Release;
use cerith_engine::job::digest;
use cerith_engine::{Outcome, Remembered};

/// How an outcome was recorded, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filed {
    /// It is recorded: there was no record, or a stale one.
    New,
    /// It was recorded before.
    Same,
    /// The record has a different outcome for the same kernel and layout: the new one is pending review.
    Pending,
}

/// The reason why there is no usable record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is none.
    Absent,
    /// It is of a different case; the text says how.
    Stale(String),
}

/// Failed to read or write records. Fits after "failed to ".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system's error.
    #[error("{doing} {path}: {source}")]
    Io {
        /// `read`, `write` or `remove`.
        doing: &'static str,
        /// The file.
        path: String,
        /// The underlying error.
        source: io::Error,
    },
    /// A file that is not one of records.
    #[error("read {path}: line {line}: {reason}")]
    Malformed {
        /// The file.
        path: String,
        /// From 1.
        line: usize,
        /// A description of the error.
        reason: String,
    },
}

/// The folder of records.
#[derive(Debug)]
pub struct RecordStore {
    pub(super) folder: PathBuf,
    books: Mutex<HashMap<PathBuf, Arc<Option<Book>>>>,
}

impl RecordStore {
    /// The records in a folder, which need not be there.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            books: Mutex::default(),
        }
    }

    /// Whether there is a record of a release on a kind of GPU. Unreadable files count as empty.
    pub fn holds(&self, release: impl Into<Release>, gpu: Target) -> bool {
        let release = release.into();
        let mut folders = self.list_older_folders(gpu);
        folders.push(self.gpu_folder(gpu));
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "snap")
                    && let Ok(Some(book)) = read(&path)
                    && book.holds(release)
                {
                    return true;
                }
            }
        }
        false
    }

    fn gpu_folder(&self, gpu: Target) -> PathBuf {
        self.folder.join(gpu.to_string())
    }

    /// The folders of records from before all releases shared a file: `3.9.0-sm_90` beside `sm_90`.
    fn list_older_folders(&self, gpu: Target) -> Vec<PathBuf> {
        let end = format!("-{gpu}");
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = folders
            .filter(|entry| {
                let name = entry.file_name();
                let triton = name.to_str().and_then(|name| name.strip_suffix(&end));
                triton.is_some_and(|triton| triton.parse::<Version>().is_ok())
            })
            .map(|entry| entry.path())
            .collect();
        folders.sort();
        folders
    }

    /// The path of the records of a case's file.
    pub(super) fn path(&self, gpu: Target, case: &str) -> PathBuf {
        self.gpu_folder(gpu).join(file_of(case))
    }

    fn load_book(&self, gpu: Target, case: &str) -> Result<Arc<Option<Book>>, StoreError> {
        let path = self.path(gpu, case);
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = books.get(&path) {
            return Ok(Arc::clone(book));
        }
        let book = Arc::new(self.read_book(gpu, case)?);
        books.insert(path, Arc::clone(&book));
        Ok(book)
    }

    /// The records of a case's file, with those of before that nothing replaced.
    fn read_book(&self, gpu: Target, case: &str) -> Result<Option<Book>, StoreError> {
        let mut book = read(&self.path(gpu, case))?;
        for folder in self.list_older_folders(gpu) {
            if let Some(older) = read(&folder.join(file_of(case)))? {
                book.get_or_insert_default().complete(&older);
            }
        }
        Ok(book)
    }

    /// The recorded outcome of a case, and its provenance.
    pub fn find(
        &self,
        release: impl Into<Release>,
        gpu: Target,
        case: &Case,
    ) -> Result<Result<(Outcome, Provenance), Missing>, StoreError> {
        let release = release.into();
        let path = self.path(gpu, &case.id);
        let book = self.load_book(gpu, &case.id)?;
        let Some(book) = book.as_ref() else {
            return Ok(Err(Missing::Absent));
        };
        let Some((record, by)) = book.find(release, &case.id) else {
            return Ok(Err(Missing::Absent));
        };
        if let Some(what) = record.find_mismatch(case) {
            return Ok(Err(Missing::Stale(format!("recorded of another {what}"))));
        }
        match record.to_outcome(case) {
            Ok(outcome) => Ok(Ok((outcome, by))),
            Err(error) => Err(report_malformed(&path, Some(book), release, case, &error)),
        }
    }

    /// Whether there is a record for a case of this id, even a stale one.
    pub fn has(&self, release: impl Into<Release>, gpu: Target, case: &str) -> bool {
        let release = release.into();
        let book = self.load_book(gpu, case);
        book.is_ok_and(|book| book.as_ref().as_ref().is_some_and(|book| book.has(release, case)))
    }

    /// A case's outcome under any release that made the same machine code from the same kernel and layout. Records keep the name
    /// of one kernel's code, so that a case that launches several has none.
    pub(crate) fn find_made(
        &self,
        gpu: Target,
        case: &Case,
        kernels: &[Arc<Kernel>],
    ) -> Result<Option<Outcome>, StoreError> {
        let [kernel] = kernels else {
            return Ok(None);
        };
        let path = self.path(gpu, &case.id);
        let book = self.load_book(gpu, &case.id)?;
        let Some((release, record)) = book
            .as_ref()
            .as_ref()
            .and_then(|book| book.find_by_cubin(&case.id, &shorten_hash(digest(kernel))))
        else {
            return Ok(None);
        };
        if record.find_mismatch(case).is_some() {
            return Ok(None);
        }
        let wrong =
            |error: ChangeError| report_malformed(&path, book.as_ref().as_ref(), release, case, &error);
        record.to_outcome(case).map(Some).map_err(wrong)
    }

    /// Whether there is a record of machine code of the same kernel and layout, for any release.
    pub(crate) fn has_executed(&self, gpu: Target, case: &Case) -> bool {
        let Ok(book) = self.load_book(gpu, &case.id) else {
            return false;
        };
        let mut records = book.as_ref().iter().flat_map(|book| book.list_executed(&case.id));
        records.any(|record| record.find_mismatch(case).is_none())
    }

    /// How the recorded outcome of a case compared with the reference when it was accepted, if known.
    pub fn recall_agreement(
        &self,
        release: impl Into<Release>,
        gpu: Target,
        case: &Case,
    ) -> Option<Remembered> {
        let release = release.into();
        let book = self.load_book(gpu, &case.id).ok()?;
        match book.as_ref().as_ref()?.find_agreement(release, &case.id)? {
            Agreed::Yes => Some(Remembered::Agreed),
            Agreed::Undecided => Some(Remembered::Undecided),
            Agreed::No => Some(Remembered::Differed),
            Agreed::Unknown => None,
        }
    }

    /// Stores records of one case file. `cases` are the ids that the file has now, in order. If the record of a case has a
    /// different outcome for the same kernel and layout, it stays as it is. The whole file with the new outcome is written beside
    /// it as `.snap.new`, for `cargo insta review`; unless `replace`.
    pub fn accept(
        &self,
        release: impl Into<Release>,
        gpu: Target,
        records: Vec<(Record, Provenance)>,
        cases: &[String],
        replace: bool,
    ) -> Result<Vec<(String, Filed)>, StoreError> {
        let release = release.into();
        let Some((first, _)) = records.first() else {
            return Ok(Vec::new());
        };
        let path = self.path(gpu, &first.case);
        let accepted = self.read_book(gpu, &first.case)?.unwrap_or_default();
        let (mut sure, mut wanted) = (accepted.clone(), accepted.clone());
        let mut answers = Vec::with_capacity(records.len());
        for (record, by) in records {
            let old = accepted.find(release, &record.case);
            let comparable = old
                .as_ref()
                .filter(|(old, _)| (&old.source, &old.layout) == (&record.source, &record.layout));
            let answer = match comparable {
                Some((old, _)) if old.says_the_same(&record) => Filed::Same,
                Some(_) if !replace => Filed::Pending,
                _ => Filed::New,
            };
            answers.push((record.case.clone(), answer));
            if answer == Filed::Same
                && let Some((mut old, by)) = old
            {
                let has_cause = old.add_cause(&record);
                // The mark is of the day on which it was accepted, unless there was none.
                let has_mark = record.agreed.is_some()
                    && (replace || matches!(old.agreed, None | Some(Agreed::Unknown)));
                if has_mark {
                    old.agreed = record.agreed;
                }
                if has_cause || has_mark {
                    for book in [&mut sure, &mut wanted] {
                        book.put(release, old.clone(), &by);
                    }
                }
            }
            if answer == Filed::New {
                sure.put(release, record.clone(), &by);
            }
            if answer != Filed::Same {
                wanted.put(release, record, &by);
            }
        }
        let engine = format!("cuda {gpu}");
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
            // With `replace`, the user has seen the pending file; a later review of it would bring the old records back.
            cerith_files::remove_file(&pending).map_err(|source| StoreError::Io {
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

/// The file of a case's records, inside of a folder of records.
fn file_of(case: &str) -> String {
    format!("{}.snap", case.split(':').next().unwrap_or_default())
}

/// Reports a record that can be read, but does not fit its case.
fn report_malformed(
    path: &Path,
    book: Option<&Book>,
    release: Release,
    case: &Case,
    error: &ChangeError,
) -> StoreError {
    let line = book.and_then(|book| book.place(release, &case.id));
    StoreError::Malformed {
        path: path.display().to_string(),
        line: line.unwrap_or_default(),
        reason: format!("the record of `{}`: {error}", case.id),
    }
}

fn read(path: &Path) -> Result<Option<Book>, StoreError> {
    match cerith_files::read_text(path, MAX_FILE) {
        Ok(text) => Book::read(&text)
            .map(Some)
            .map_err(|malformed| StoreError::Malformed {
                path: path.display().to_string(),
                line: malformed.line,
                reason: malformed.reason,
            }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Io {
            doing: "read",
            path: path.display().to_string(),
            source,
        }),
    }
}

fn write_whole(path: &Path, book: &Book, engine: &str) -> Result<(), StoreError> {
    let written = book
        .render_text(engine)
        .map_err(io::Error::other)
        .and_then(|text| {
            if let Some(folder) = path.parent() {
                cerith_files::create_folders(folder)?;
            }
            cerith_files::write(path, text)
        });
    written.map_err(|source| StoreError::Io {
        doing: "write",
        path: path.display().to_string(),
        source,
    })
}
