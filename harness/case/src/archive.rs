//! Data archives: zip files beside case files, which hold the bytes of recorded storages.
//!
//! An archive is opened when the first case needs an entry of it, and is not kept open: an index of its entries stays, the
//! file is opened again for each entry. An archive's own figures are not trusted. Sizes are compared with those that the case
//! declares, and no more than that is ever unpacked. The bytes that are read for the index, and for an entry, are bounded.
//!
//! See `fill` for which storage gets which bytes. Nothing here writes archives.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;
use zip::read::{ArchiveOffset, Config, OwnedZipFileEntry};
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;
use zip::{CompressionMethod, ZipReadOptions};

use crate::input::{Missing, join};
use crate::recorded::Source;
use cerith_python::nearest::suggest_spelling;

/// Bytes of the largest archive that is read.
const MAX_BYTES: u64 = 4 << 30;

/// Entries of the largest archive that is read.
const MAX_ENTRIES: usize = 1 << 18;

/// Bytes that are read at most to make an index.
const MAX_INDEX: u64 = 64 << 20;

/// Bytes that are read of a file at a time.
const PAGE: usize = 64 << 10;

/// Bytes of a local header without its name and its extra field.
const LOCAL_HEADER: u64 = 30;

const COPY_HELP: &str = "copy the archive again from where it was recorded, or record again";

/// The archives of a corpus, by their paths.
#[derive(Debug, Default)]
pub(crate) struct Archives(HashMap<String, Archive>);

impl Archives {
    pub(crate) fn insert(&mut self, path: String, archive: Archive) {
        self.0.insert(path, archive);
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = String> + '_ {
        self.0.keys().cloned()
    }

    /// Finds `FILE.zip/ENTRY`, named at `span` by the case file at `from`. Nothing is opened.
    pub(crate) fn find(&self, from: &str, text: &str, span: Span) -> Result<ArchiveEntry<'_>, Diagnostic> {
        let parts = text.split_once(".zip/").filter(|(_, entry)| !entry.is_empty());
        let Some((file, entry)) = parts else {
            return Err(Diagnostic::error(
                "unknown-archive",
                span,
                format!("`{text}` names no entry of an archive"),
            )
            .help("name the archive and the entry: `data.zip/3fa9c2…`"));
        };
        let file = format!("{file}.zip");
        let Some(path) = join(from, &file) else {
            return Err(
                Diagnostic::error("path-outside", span, format!("`{file}` leads out of the corpus"))
                    .help("keep data archives beside the case files that name them, and name them by relative paths"),
            );
        };
        if let Some((path, archive)) = self.0.get_key_value(&path) {
            return Ok(ArchiveEntry {
                archive,
                path,
                entry: entry.to_owned(),
                span,
            });
        }
        let message = format!("data archive `{file}` is not there");
        let mut problem = Diagnostic::error("unknown-archive", span, message);
        let parts = |path: &str| {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            (folder.to_owned(), name.to_owned())
        };
        let (folder, name) = parts(&path);
        let beside = self.0.keys().map(|other| parts(other));
        let beside: Vec<String> = beside
            .filter_map(|(other, name)| (other == folder).then_some(name))
            .collect();
        problem.help = suggest_spelling(&name, beside.iter().map(String::as_str))
            .or_else(|| Some(format!("add the file `{path}` to the corpus, or record again")));
        Err(problem)
    }
}

/// An entry of an archive that is there, as a case file names it.
pub(crate) struct ArchiveEntry<'a> {
    archive: &'a Archive,
    /// The archive's path in the corpus.
    path: &'a str,
    entry: String,
    span: Span,
}

impl ArchiveEntry<'_> {
    pub(crate) fn into_source(self) -> Source {
        Source {
            archive: self.path.to_owned(),
            entry: self.entry,
        }
    }

    /// The bytes, exactly as many as the storage of this name has.
    pub(crate) fn read(&self, storage: &str, size: usize) -> Result<Vec<u8>, Diagnostic> {
        let archive = self.archive;
        let refused =
            |refusal: Refusal| Diagnostic::error(refusal.code, self.span, refusal.message).help(refusal.help);
        let index = match archive.index.get_or_init(|| archive.open().and_then(Index::new)) {
            Ok(index) => index,
            Err(refusal) => return Err(refused(refusal.clone())),
        };
        index
            .read(&mut archive.open().map_err(refused)?, &self.entry, storage, size)
            .map_err(|mut refusal| {
                refusal.message = format!("entry `{}` of {} {}", self.entry, archive.name, refusal.message);
                refused(refusal)
            })
    }
}

/// An archive of the corpus.
#[derive(Debug)]
pub(crate) struct Archive {
    /// As a user would write its path.
    name: String,
    place: Result<ArchiveSource, Missing>,
    index: OnceLock<Result<Index, Refusal>>,
}

/// The location of an archive's bytes.
#[derive(Clone, Debug)]
pub(crate) enum ArchiveSource {
    /// In a file.
    File(PathBuf),
    /// In memory.
    Memory(Arc<[u8]>),
}

/// The reason why an archive, or an entry of it, cannot be used.
#[derive(Clone, Debug)]
struct Refusal {
    code: &'static str,
    message: String,
    help: String,
}

impl Refusal {
    fn new(message: String, help: &str) -> Self {
        Self {
            code: "bad-archive",
            message,
            help: help.to_owned(),
        }
    }
}

impl Archive {
    pub(crate) fn new(name: String, place: Result<ArchiveSource, Missing>) -> Self {
        Self {
            name,
            place,
            index: OnceLock::new(),
        }
    }

    fn open(&self) -> Result<Opened<'_>, Refusal> {
        let unreadable = |why: &str| Refusal::new(format!("{} cannot be read: {why}", self.name), COPY_HELP);
        let (file, len) = match &self.place {
            Err(Missing::Outside) => {
                return Err(Refusal {
                    code: "path-outside",
                    message: format!("{} is a link that leads out of the corpus", self.name),
                    help: "put the archive itself there".to_owned(),
                });
            }
            Err(Missing::Unreadable(why) | Missing::Skipped(why)) => return Err(unreadable(why)),
            Ok(ArchiveSource::Memory(bytes)) => {
                (Bytes::Memory(Cursor::new(Arc::clone(bytes))), bytes.len() as u64)
            }
            Ok(ArchiveSource::File(path)) => {
                let opened = cerith_files::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
                let (len, file) = opened.map_err(|error| unreadable(&error.to_string()))?;
                (Bytes::File(file), len)
            }
        };
        if len > MAX_BYTES {
            let message = format!(
                "{} has {len} bytes, more than the {MAX_BYTES} that are read",
                self.name
            );
            return Err(Refusal::new(
                message,
                "record fewer launches of the kernel, or with a smaller `--max-bytes`",
            ));
        }
        Ok(Opened {
            archive: &self.name,
            file,
            len,
            position: 0,
            page: Vec::new(),
            page_at: 0,
            allowance: MAX_INDEX,
        })
    }
}

/// The positions of the entries of an archive.
#[derive(Debug)]
struct Index {
    entries: HashMap<Box<[u8]>, Slot>,
}

#[derive(Debug)]
struct Slot {
    entry: OwnedZipFileEntry,
    /// Offset of the next entry, or the end of the archive for the last one.
    end: u64,
}

impl Index {
    /// Reads the central directory, which must be one that no archive of ours could be mistaken for.
    fn new(mut opened: Opened<'_>) -> Result<Self, Refusal> {
        let name = opened.archive;
        let broken = |error: ZipError| {
            Refusal::new(
                format!(
                    "{name} is not a complete zip archive: {}",
                    describe_zip_error(error)
                ),
                COPY_HELP,
            )
        };
        let config = Config {
            archive_offset: ArchiveOffset::Known(0),
        };
        let len = opened.len;
        let mut directory = ZipIterable::try_new(&mut opened, config).map_err(broken)?;
        if directory.len() > MAX_ENTRIES {
            let message = format!(
                "{name} says that it has {} entries, more than the {MAX_ENTRIES} that are read",
                directory.len()
            );
            return Err(Refusal::new(message, COPY_HELP));
        }
        let mut entries: HashMap<Box<[u8]>, Slot> = HashMap::new();
        let mut ranges: Vec<(u64, u64, Box<[u8]>)> = Vec::new();
        for entry in directory.files().map_err(broken)? {
            let entry = OwnedZipFileEntry::from(entry.map_err(broken)?);
            let key: Box<[u8]> = entry.name_raw().into();
            let start = entry.header_start();
            let least = LOCAL_HEADER + key.len() as u64;
            let end = start
                .saturating_add(least)
                .saturating_add(entry.compressed_size());
            ranges.push((start, end, key.clone()));
            let slot = Slot { entry, end: len };
            if entries.insert(key.clone(), slot).is_some() {
                let message = format!("{name} has two entries `{}`", describe_name(&key));
                return Err(Refusal::new(message, COPY_HELP));
            }
        }
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            let [(_, end, first), (next, _, second)] = pair else {
                continue;
            };
            if end > next {
                let message = format!(
                    "entries `{}` and `{}` of {name} overlap",
                    describe_name(first),
                    describe_name(second)
                );
                return Err(Refusal::new(message, COPY_HELP));
            }
            if let Some(slot) = entries.get_mut(first) {
                slot.end = *next;
            }
        }
        Ok(Self { entries })
    }

    /// The bytes of an entry. The refusal's message follows the entry's name.
    fn read(
        &self,
        opened: &mut Opened<'_>,
        name: &str,
        storage: &str,
        size: usize,
    ) -> Result<Vec<u8>, Refusal> {
        let Some(slot) = self.entries.get(name.as_bytes()) else {
            let names = self
                .entries
                .keys()
                .filter_map(|name| std::str::from_utf8(name).ok());
            return Err(Refusal {
                code: "unknown-entry",
                message: "is not there".to_owned(),
                help: suggest_spelling(name, names).unwrap_or_else(|| {
                    format!(
                        "name one of the {} entries that it has, or record again",
                        self.entries.len()
                    )
                }),
            });
        };
        let entry = &slot.entry;
        if entry.encrypted() {
            return Err(Refusal::new(
                "is encrypted".to_owned(),
                "write it without a password",
            ));
        }
        let method = entry.compression();
        if !matches!(method, CompressionMethod::DEFLATE | CompressionMethod::STORE) {
            let message = format!("is compressed with {method:?}");
            return Err(Refusal::new(message, "write it with deflate, or stored as it is"));
        }
        // Deflate makes what it cannot compress longer by 5 bytes of 65535, and an honest writer by little more.
        let most = (size + size / 8 + 1024) as u64;
        if entry.compressed_size() > most {
            return Err(wrong_size(
                &format!("has {} compressed bytes", entry.compressed_size()),
                storage,
                size,
            ));
        }
        let damaged = |why: String| Refusal::new(format!("is damaged: {why}"), COPY_HELP);
        opened.allowance = most + 2 * PAGE as u64 + u64::from(u16::MAX) * 2;
        let declared = entry.size();
        let mut bytes = Vec::with_capacity(size);
        let read = entry
            .as_ref()
            .with_reader(opened, ZipReadOptions::new())
            .map_err(|error| damaged(describe_zip_error(error)))?;
        if read
            .data_start()
            .is_none_or(|start| start.saturating_add(entry.compressed_size()) > slot.end)
        {
            return Err(damaged("its bytes overlap the bytes after it".to_owned()));
        }
        let outcome = read.take(size as u64 + 1).read_to_end(&mut bytes);
        match bytes.len() {
            len if len > size => Err(wrong_size(
                &format!("holds more than {size} bytes (it says {declared})"),
                storage,
                size,
            )),
            len => match outcome {
                Err(error) => Err(damaged(error.to_string())),
                Ok(_) if len < size => Err(wrong_size(&format!("holds {len} bytes"), storage, size)),
                Ok(_) => Ok(bytes),
            },
        }
    }
}

fn wrong_size(what: &str, storage: &str, size: usize) -> Refusal {
    Refusal {
        code: "wrong-size",
        message: format!("{what}, and storage `{storage}` has {size}"),
        help: "give the storage the dtype and the shape that it was recorded with, or record again"
            .to_owned(),
    }
}

/// Describes a zip error, as a fragment of a message.
fn describe_zip_error(error: ZipError) -> String {
    match error {
        ZipError::Io(error) => error.to_string(),
        ZipError::InvalidArchive(why) => why.into_owned(),
        ZipError::UnsupportedArchive(why) => why.to_owned(),
        other => other.to_string(),
    }
}

/// A printable name for a message: names in hostile archives may be long or invalid UTF-8.
fn describe_name(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut short: String = text.chars().take(64).flat_map(char::escape_debug).collect();
    if text.chars().count() > 64 {
        short.push('…');
    }
    short
}

enum Bytes {
    File(File),
    Memory(Cursor<Arc<[u8]>>),
}

/// An open archive, read by pages: a central directory is many small pieces, between which the reader seeks.
struct Opened<'a> {
    archive: &'a str,
    file: Bytes,
    len: u64,
    position: u64,
    page: Vec<u8>,
    page_at: u64,
    /// Bytes that may still be read.
    allowance: u64,
}

impl Opened<'_> {
    /// Reads the page that `at` is in.
    fn turn(&mut self) -> io::Result<()> {
        let first = self.position - self.position % PAGE as u64;
        let len = (self.len - first).min(PAGE as u64);
        self.allowance = self.allowance.checked_sub(len).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "more has to be read than an honest archive needs",
            )
        })?;
        self.page.clear();
        self.page_at = first;
        let page = &mut self.page;
        match &mut self.file {
            Bytes::File(file) => {
                file.seek(SeekFrom::Start(first))?;
                file.take(len).read_to_end(page)?;
            }
            Bytes::Memory(bytes) => {
                bytes.set_position(first);
                bytes.take(len).read_to_end(page)?;
            }
        }
        Ok(())
    }
}

impl Read for Opened<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.len || to.is_empty() {
            return Ok(0);
        }
        let inside = |page: &[u8], page_at: u64, at: u64| at >= page_at && at - page_at < page.len() as u64;
        if !inside(&self.page, self.page_at, self.position) {
            self.turn()?;
        }
        let from = self
            .position
            .checked_sub(self.page_at)
            .and_then(|skip| self.page.get(skip as usize..))
            .unwrap_or_default();
        let len = from.len().min(to.len());
        if let (Some(to), Some(from)) = (to.get_mut(..len), from.get(..len)) {
            to.copy_from_slice(from);
        }
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for Opened<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}
