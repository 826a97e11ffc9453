//! Outcomes of real GPUs on record: what a machine without a GPU answers with.
//!
//! A [`Shelf`] is a folder (`snapshots/cuda`) with a file for each version of Triton, each target and each case file:
//! `3.9.0-sm_90/alias/same_twice.snap`, in the form of an insta snapshot, so that `cargo insta review` shows what is
//! pending. Its body is one JSON object a line: first who ran it ([`Provenance`]), then a [`Record`] for each case.
//!
//! A record holds for the kernel source and the layout whose hashes it carries. With others it is stale, and is not used.
//! Of memory it keeps the runs of bytes that are not what they were before the first launch.
//!
//! Left out: executing anything, and whether a record is right (`conch-verdict` judges it as any other outcome).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use conch_case::Case;
use conch_memory::{Memory, ORIGIN};
use conch_tile::rules::Version;
use conch_toolchain::compiled::Target;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use crate::{Complaint, Finished, Outcome, Position, Trap};

/// Runs of bytes longer than this are kept compressed.
const PLAIN: usize = 48;

/// Changed bytes this close to each other are one run.
const GAP: usize = 8;

/// The most that a compressed run may unfold to.
const LONGEST: u64 = 1 << 30;

/// Which GPU, driver and Triton a record is of, and when.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Provenance {
    /// The GPU's name.
    pub gpu: String,
    /// The driver's version, as CUDA numbers it: `13.0`.
    pub driver: String,
    /// The Triton that compiled.
    pub triton: String,
    /// The day, `2026-11-20`.
    pub date: String,
    /// The Conch that executed.
    pub conch: String,
}

/// What one case came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The case's id.
    pub case: String,
    /// The beginning of [`Case::source_hash`].
    pub source: String,
    /// The beginning of [`Case::layout_hash`].
    pub layout: String,
    /// The beginning of the hash of all machine code; nothing where none was made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cubin: String,
    /// Who ran it: the position of a [`Provenance`] in the file.
    by: usize,
    /// What happened.
    #[serde(flatten)]
    said: Said,
}

/// An outcome on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Said {
    Finished {
        /// How often it was done.
        times: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<Change>,
        /// What was otherwise in the first repetition that was.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unsteady: Vec<Change>,
    },
    Rejected(Words),
    Asserted(Words),
    Trapped(Words),
    Unsupported(Words),
    Exhausted(Words),
    Crashed(Words),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Words {
    kind: String,
    message: String,
    /// The file, where it is not the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line, where known; not compared, because it moves with what is above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launch: Option<usize>,
}

/// A run of bytes: the storage's name, the first byte of the run counted from the storage's (a guard zone's are
/// negative, or past its end), and the bytes: in hexadecimal, or `z` and base64 of their deflation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Change(String, i64, String);

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
        /// `read` or `write`.
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

impl Record {
    /// The record of an outcome; none for one that says nothing (`unavailable`). `times` is how often it was done.
    pub fn of(case: &Case, cubin: &str, outcome: &Outcome, times: u32) -> Option<Self> {
        let words = |complaint: &Complaint| Words {
            kind: complaint.kind.clone(),
            message: everywhere(&complaint.message),
            file: complaint
                .position
                .as_ref()
                .map(|position| position.file.clone())
                .filter(|file| *file != case.module.file.name),
            line: complaint.position.as_ref().map(|position| position.line),
            launch: complaint.launch,
        };
        let said = match outcome {
            Outcome::Finished(finished) => Said::Finished {
                times,
                changed: changes(&case.memory(), &finished.memory),
                unsteady: finished
                    .unsteady
                    .as_ref()
                    .map_or_else(Vec::new, |other| changes(&finished.memory, other)),
            },
            Outcome::Rejected(complaint) => Said::Rejected(words(complaint)),
            Outcome::Trapped(Trap::Assert, complaint) => Said::Asserted(words(complaint)),
            Outcome::Trapped(_, complaint) => Said::Trapped(words(complaint)),
            Outcome::Unsupported(complaint) => Said::Unsupported(words(complaint)),
            Outcome::Exhausted(complaint) => Said::Exhausted(words(complaint)),
            Outcome::Crashed(complaint) => Said::Crashed(words(complaint)),
            Outcome::Unavailable(_) => return None,
        };
        Some(Self {
            case: case.id.clone(),
            source: short(case.source_hash()),
            layout: short(case.layout_hash()),
            cubin: cubin.chars().take(HASH).collect(),
            by: 0,
            said,
        })
    }

    /// The outcome in a word.
    pub const fn word(&self) -> &'static str {
        match self.said {
            Said::Finished { .. } => "finished",
            Said::Rejected(_) => "rejected",
            Said::Asserted(_) | Said::Trapped(_) => "trapped",
            Said::Unsupported(_) => "unsupported",
            Said::Exhausted(_) => "exhausted",
            Said::Crashed(_) => "crashed",
        }
    }

    /// The outcome, laid out for a case.
    fn outcome(&self, case: &Case) -> Result<Outcome, String> {
        let complaint = |words: &Words| {
            let kernels = &case.module.file;
            Box::new(Complaint {
                position: words.line.map(|line| Position {
                    file: words.file.clone().unwrap_or_else(|| kernels.name.clone()),
                    line,
                    column: 0,
                    text: match words.file {
                        None => kernels.line(line).to_owned(),
                        Some(_) => String::new(),
                    },
                }),
                launch: words.launch,
                ..Complaint::new(words.kind.clone(), words.message.clone())
            })
        };
        Ok(match &self.said {
            Said::Finished {
                changed, unsteady, ..
            } => {
                let mut memory = case.memory();
                apply(changed, &mut memory)?;
                let other = if unsteady.is_empty() {
                    None
                } else {
                    let mut other = memory.clone();
                    apply(unsteady, &mut other)?;
                    Some(Box::new(other))
                };
                Outcome::Finished(Box::new(Finished {
                    memory,
                    tracked: None,
                    unsteady: other,
                    printed: Vec::new(),
                }))
            }
            Said::Rejected(words) => Outcome::Rejected(complaint(words)),
            Said::Asserted(words) => Outcome::Trapped(Trap::Assert, complaint(words)),
            Said::Trapped(words) => Outcome::Trapped(Trap::Raised, complaint(words)),
            Said::Unsupported(words) => Outcome::Unsupported(complaint(words)),
            Said::Exhausted(words) => Outcome::Exhausted(complaint(words)),
            Said::Crashed(words) => Outcome::Crashed(complaint(words)),
        })
    }

    /// Whether two records of the same kernel and layout say the same. Lines of a file move, and do not count; nor does
    /// which thread of many was the first to fault.
    fn says_the_same(&self, other: &Self) -> bool {
        let still = |said: &Said| {
            let mut said = said.clone();
            match &mut said {
                Said::Finished { times, .. } => *times = 0,
                Said::Asserted(words) => (words.line, words.message) = (None, String::new()),
                Said::Rejected(words)
                | Said::Trapped(words)
                | Said::Unsupported(words)
                | Said::Exhausted(words)
                | Said::Crashed(words) => words.line = None,
            }
            said
        };
        still(&self.said) == still(&other.said)
    }
}

/// A message without what differs from machine to machine and from run to run: folders, names of temporary files, and
/// addresses of Python's objects.
fn everywhere(message: &str) -> String {
    let in_path = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(in_path) {
        let (before, word) = rest.split_at(start);
        let (word, behind) = word.split_at(word.find(|c| !in_path(c)).unwrap_or(word.len()));
        text.push_str(before);
        rest = behind;
        let name = if word.starts_with('/') && word.len() > 1 {
            word.rsplit('/').next().unwrap_or(word)
        } else {
            word
        };
        let made_up = name
            .strip_prefix("tmp")
            .filter(|made_up| made_up.len() >= RANDOM && made_up.is_char_boundary(RANDOM));
        if let Some(made_up) = made_up.filter(|_| word.starts_with('/')) {
            text.push_str("tmp…");
            text.push_str(made_up.get(RANDOM..).unwrap_or_default());
        } else if name.starts_with("0x") && name.len() > 2 + RANDOM {
            text.push_str("0x…");
        } else {
            text.push_str(name);
        }
    }
    text.push_str(rest);
    text
}

/// Characters that Python's `tempfile` makes up; addresses of objects have more digits.
const RANDOM: usize = 8;

/// Characters of a hash that are kept: 64 bits.
const HASH: usize = 16;

fn short(hash: impl std::fmt::Display) -> String {
    hash.to_string().chars().take(HASH).collect()
}

/// The runs of bytes of `after`, storages with their guard zones, that are not those of `before`.
fn changes(before: &Memory, after: &Memory) -> Vec<Change> {
    let mut found = Vec::new();
    for id in before.ids() {
        let front = before.guards(id).0.len();
        let whole = |memory: &Memory| -> Vec<u8> {
            let (front, back) = memory.guards(id);
            [front, memory.bytes(id), back].concat()
        };
        let (old, new) = (whole(before), whole(after));
        let differ: Vec<usize> = (0..new.len()).filter(|&at| old.get(at) != new.get(at)).collect();
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for at in differ {
            match runs.last_mut() {
                Some((_, end)) if at - *end < GAP => *end = at + 1,
                _ => runs.push((at, at + 1)),
            }
        }
        found.extend(runs.into_iter().map(|(start, end)| {
            Change(
                before.name(id).to_owned(),
                start as i64 - front as i64,
                written(new.get(start..end).unwrap_or_default()),
            )
        }));
    }
    found
}

fn written(bytes: &[u8]) -> String {
    if bytes.len() > PLAIN {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        if let Ok(packed) = encoder.write_all(bytes).and_then(|()| encoder.finish()) {
            return format!("z{}", BASE64.encode(packed));
        }
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn read_back(text: &str) -> Option<Vec<u8>> {
    if let Some(packed) = text.strip_prefix('z') {
        let packed = BASE64.decode(packed).ok()?;
        let mut bytes = Vec::new();
        DeflateDecoder::new(&packed[..])
            .take(LONGEST)
            .read_to_end(&mut bytes)
            .ok()?;
        return Some(bytes);
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}

fn apply(changed: &[Change], memory: &mut Memory) -> Result<(), String> {
    for Change(name, start, bytes) in changed {
        let id = memory
            .ids()
            .find(|&id| memory.name(id) == name)
            .ok_or_else(|| format!("no storage `{name}`"))?;
        let bytes = read_back(bytes).ok_or_else(|| format!("bytes of `{name}` that cannot be read"))?;
        let first = (memory.address(id) - ORIGIN) as i64 + start;
        let first = usize::try_from(first).map_err(|_| format!("bytes before `{name}`"))?;
        let (arena, _) = memory.arena_mut();
        arena
            .get_mut(first..first + bytes.len())
            .ok_or_else(|| format!("bytes behind `{name}`"))?
            .copy_from_slice(&bytes);
    }
    Ok(())
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
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |error: serde_json::Error| malformed(at + 1, error.to_string());
            if line.starts_with("{\"by\":{") {
                book.by.push(serde_json::from_str::<By>(line).map_err(wrong)?.by);
            } else {
                let record: Record = serde_json::from_str(line).map_err(wrong)?;
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
        for record in &self.records {
            text.push_str(&serde_json::to_string(record)?);
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
    folder: PathBuf,
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
    fn path(&self, version: Version, target: Target, case: &str) -> PathBuf {
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
        for (what, recorded, now) in [
            ("kernel source", &record.source, short(case.source_hash())),
            ("layout", &record.layout, short(case.layout_hash())),
        ] {
            if *recorded != now {
                return Ok(Err(Missing::Stale(format!("recorded of another {what}"))));
            }
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
        if wanted != sure {
            write_whole(&path.with_extension("snap.new"), &wanted, &engine)?;
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

#[cfg(test)]
mod tests {
    use conch_case::{Corpus, Input};
    use conch_memory::StorageId;

    use super::*;

    const KERNEL: &str = "import triton\n\n\n@triton.jit\ndef k(x):\n    pass\n";
    const V: Version = Version::new(3, 9, 0);

    fn case_of(kernel: &str, fill: &str) -> Case {
        let yaml = format!(
            "about: x\nkernel: k.py:k\nstorages: {{ x: {{ dtype: u8, shape: [100], fill: {fill} }} }}\nlaunches: [{{ grid: 1, \
             args: [x] }}]\n"
        );
        let input = |path: &str, text: &str| Input {
            path: path.to_owned(),
            name: path.to_owned(),
            content: Ok(text.as_bytes().to_vec()),
        };
        let corpus = Corpus::load([input("area/c.yaml", &yaml), input("area/k.py", kernel)]);
        assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
        corpus
            .entries()
            .next()
            .expect("a case")
            .resolve()
            .expect("a case")
    }

    fn finished(case: &Case, change: impl Fn(&mut [u8]), other: Option<u8>) -> Outcome {
        let mut memory = case.memory();
        change(memory.parts_mut(StorageId(0)).0);
        let unsteady = other.map(|byte| {
            let mut other = memory.clone();
            other.parts_mut(StorageId(0)).0[3] = byte;
            Box::new(other)
        });
        Outcome::Finished(Box::new(Finished {
            memory,
            tracked: None,
            unsteady,
            printed: Vec::new(),
        }))
    }

    fn by() -> Provenance {
        Provenance {
            gpu: "NVIDIA H200".to_owned(),
            driver: "13.0".to_owned(),
            triton: "3.9.0".to_owned(),
            date: "2026-11-20".to_owned(),
            conch: "0.1.0".to_owned(),
        }
    }

    fn accept(shelf: &Shelf, case: &Case, outcome: &Outcome, replace: bool) -> Acceptance {
        let record = Record::of(case, "c0ffee", outcome, 3).expect("it says something");
        let answers = shelf
            .accept(
                V,
                Target::HOPPER,
                vec![(record, by())],
                std::slice::from_ref(&case.id),
                replace,
            )
            .expect("written");
        answers[0].1
    }

    fn find(shelf: &Shelf, case: &Case) -> Result<Outcome, Missing> {
        // A shelf of its own, so that the file is read.
        Shelf::new(&shelf.folder)
            .find(V, Target::HOPPER, case)
            .expect("a good file")
            .map(|(outcome, who)| {
                assert_eq!(who, by());
                outcome
            })
    }

    #[test]
    fn what_is_accepted_is_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::new(folder.path());
        let case = case_of(KERNEL, "zeros");
        assert_eq!(find(&shelf, &case), Err(Missing::Absent));
        let noise = |bytes: &mut [u8]| {
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = (at * at) as u8;
            }
        };
        for outcome in [
            finished(&case, |bytes| bytes[7] = 1, None),
            finished(&case, noise, Some(0xff)),
            finished(&case, |_| (), None),
            Outcome::Rejected(Box::new(Complaint::new(
                "CompilationError",
                "no \"such\" thing\n",
            ))),
            Outcome::Trapped(Trap::Assert, Box::new(Complaint::new("CUDA_ERROR_ASSERT", "it"))),
            Outcome::Trapped(
                Trap::Raised,
                Box::new(Complaint::new("CUDA_ERROR_ILLEGAL_ADDRESS", "it")),
            ),
            Outcome::Exhausted(Box::new(Complaint::new("time", "10 s"))),
            Outcome::Crashed(Box::new(Complaint::new("crash", "signal 11"))),
            Outcome::Unsupported(Box::new(Complaint::new(
                "CUDA_ERROR_INVALID_VALUE",
                "shared memory",
            ))),
        ] {
            accept(&shelf, &case, &outcome, true);
            assert_eq!(find(&shelf, &case).as_ref(), Ok(&outcome));
            assert_eq!(accept(&shelf, &case, &outcome, false), Acceptance::Same);
        }
        assert!(
            Record::of(
                &case,
                "",
                &Outcome::Unavailable(Box::new(Complaint::new("x", "y"))),
                3
            )
            .is_none()
        );
    }

    #[test]
    fn messages_are_of_no_machine() {
        let check = |message: &str, expected: &str| assert_eq!(everywhere(message), expected);
        check("no 'to' in a/b, 0x1 and /", "no 'to' in a/b, 0x1 and /");
        check(
            "Command '['/root/x/bin/ptxas', '--gpu-name=sm_90a', '/run/w-0l/tmphp0i6j51.ptx.o']' failed: é",
            "Command '['ptxas', '--gpu-name=sm_90a', 'tmp….ptx.o']' failed: é",
        );
        check("<function sum at 0x7f04ee7c6700>", "<function sum at 0x…>");
    }

    #[test]
    fn nothing_accepted_is_overwritten_without_review() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::new(folder.path());
        let case = case_of(KERNEL, "zeros");
        let (one, two) = (
            finished(&case, |bytes| bytes[0] = 1, None),
            finished(&case, |bytes| bytes[0] = 2, None),
        );
        assert_eq!(accept(&shelf, &case, &one, false), Acceptance::New);
        assert_eq!(accept(&shelf, &case, &two, false), Acceptance::Pending);
        assert_eq!(find(&shelf, &case).as_ref(), Ok(&one));
        let path = shelf.path(V, Target::HOPPER, &case.id);
        let pending = path.with_extension("snap.new");
        fs::rename(&pending, &path).expect("what `cargo insta accept` does");
        assert_eq!(find(&shelf, &case).as_ref(), Ok(&two));
    }

    #[test]
    fn a_record_of_something_else_is_stale() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::new(folder.path());
        let case = case_of(KERNEL, "zeros");
        accept(&shelf, &case, &finished(&case, |_| (), None), false);
        let stale = |case: &Case| match find(&shelf, case) {
            Err(Missing::Stale(why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            stale(&case_of(&KERNEL.replace("pass", "x + 1"), "zeros")),
            "recorded of another kernel source"
        );
        assert_eq!(stale(&case_of(KERNEL, "ones")), "recorded of another layout");
        let beside = format!("{KERNEL}\n\n@triton.jit\ndef unrelated(x):\n    pass\n");
        assert!(find(&shelf, &case_of(&beside, "zeros")).is_ok());
        let changed = case_of(KERNEL, "ones");
        let outcome = finished(&changed, |bytes| bytes[0] = 9, None);
        assert_eq!(accept(&shelf, &changed, &outcome, false), Acceptance::New);
        assert_eq!(find(&shelf, &changed).as_ref(), Ok(&outcome));
    }

    #[test]
    fn a_broken_file_is_an_error_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::new(folder.path());
        let case = case_of(KERNEL, "zeros");
        let path = shelf.path(V, Target::HOPPER, &case.id);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        for (text, expected) in [
            ("", "line 1: not a snapshot"),
            ("---\nx: y\n---\n{\"case\":1}\n", "line 4: "),
            (
                "---\n---\n{\"case\":\"area/c\",\"source\":\"\",\"layout\":\"\",\"by\":0,\"outcome\":\"finished\",\"times\":1}\n",
                "line 3: nobody says who ran it",
            ),
        ] {
            fs::write(&path, text).expect("written");
            let error = Shelf::new(folder.path())
                .find(V, Target::HOPPER, &case)
                .expect_err("broken")
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
