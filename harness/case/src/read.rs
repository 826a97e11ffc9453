//! Reads a corpus from a folder on disk: finds files and reads their bytes. Data archives are only found here, and
//! read when a case needs them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::archive::{Archive, ArchiveSource, Archives};
use crate::corpus::Corpus;
use crate::input::{Input, MAX_TEXT, Missing};

/// Folders may nest this deep.
const MAX_DEPTH: usize = 32;

/// The reason why a folder is not a corpus.
#[derive(Debug, thiserror::Error)]
#[error("read the corpus at {path}: {source}", path = path.display())]
pub struct ReadError {
    /// The folder.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl Corpus {
    /// Reads every case file and kernel under `root`, and notes where data archives are. Names that begin with a dot
    /// and links to folders of the corpus are skipped. Everything else that looks like a part of the corpus and cannot be read
    /// becomes a problem of the corpus: case files with names such as `A.YAML`, names that are not UTF-8, links that lead
    /// outside, folders that are nested too deeply. Only `root` itself is an error.
    pub fn read(root: &Path) -> Result<Self, ReadError> {
        let error = |source| ReadError {
            path: root.to_owned(),
            source,
        };
        let real = root.canonicalize().map_err(error)?;
        fs::read_dir(&real).map_err(error)?;
        let mut found = CorpusFiles::default();
        read_folder(&real, root, "", 0, &mut found);
        Ok(Self::with_archives(found.inputs, found.archives))
    }
}

/// The files of a corpus.
#[derive(Default)]
struct CorpusFiles {
    inputs: Vec<Input>,
    archives: Archives,
}

fn read_folder(real_root: &Path, at: &Path, prefix: &str, depth: usize, found: &mut CorpusFiles) {
    let missing = |name: String, content: Missing, found: &mut CorpusFiles| {
        found.inputs.push(Input {
            // No file has this path: names that begin with a dot are skipped.
            path: format!("{prefix}/.{}.yaml", found.inputs.len()),
            name,
            content: Err(content),
        });
    };
    let failed = |error: &io::Error, found: &mut CorpusFiles| {
        missing(
            at.display().to_string(),
            Missing::Unreadable(error.to_string()),
            found,
        );
    };
    let entries = match fs::read_dir(at) {
        Ok(entries) => entries,
        Err(error) => return failed(&error, found),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                failed(&error, found);
                continue;
            }
        };
        let file_name = entry.file_name();
        if file_name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let skip = |why: String, found: &mut CorpusFiles| {
            let name = format!("{}/{}", at.display(), escape_name(&file_name));
            missing(name, Missing::Skipped(why), found);
        };
        let Some(file_name) = file_name.to_str() else {
            let is_folder = at.join(&file_name).is_dir();
            if is_folder || is_input(&file_name) {
                let kind = if is_folder { "folder" } else { "file" };
                skip(
                    format!(
                        "the {kind} is skipped, because its name is not UTF-8: `{}`",
                        escape_name(&file_name)
                    ),
                    found,
                );
            }
            continue;
        };
        let path = if prefix.is_empty() {
            file_name.to_owned()
        } else {
            format!("{prefix}/{file_name}")
        };
        let place = at.join(file_name);
        let archive = place.extension().is_some_and(|end| end == "zip");
        let wanted = archive
            || place
                .extension()
                .is_some_and(|end| end == "yaml" || end == "yml" || end == "py");
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let inside = !is_link
            || place
                .canonicalize()
                .is_ok_and(|target| target.starts_with(real_root));
        if place.is_dir() {
            // Through links, a folder could be reached in as many ways as there are paths.
            if is_link && !inside {
                skip(
                    "the folder is skipped, because it is a link that leads out of the corpus".to_owned(),
                    found,
                );
            } else if !is_link && depth < MAX_DEPTH {
                read_folder(real_root, &place, &path, depth + 1, found);
            } else if !is_link {
                let why =
                    format!("the folder is skipped, because it is nested more than {MAX_DEPTH} folders deep");
                skip(why, found);
            }
            continue;
        }
        if !wanted {
            if is_case_file(file_name.as_ref()) {
                let right = place.with_extension("yaml");
                let right = right.file_name().unwrap_or_default().to_string_lossy();
                skip(
                    format!(
                        "the case file is skipped, because its name does not end with just `.yaml` or `.yml` in lower \
                         case; rename it to `{right}`"
                    ),
                    found,
                );
            }
            continue;
        }
        let there = match place.metadata() {
            Err(_) if is_link => Err(Missing::Unreadable("the link leads nowhere".to_owned())),
            Err(error) => Err(Missing::Unreadable(error.to_string())),
            Ok(_) if !inside => Err(Missing::Outside),
            // A pipe has no end, and a device may have none.
            Ok(data) if !data.is_file() => Err(Missing::Unreadable("it is not a regular file".to_owned())),
            Ok(_) => Ok(()),
        };
        let name = place.display().to_string();
        if archive {
            let there = there.map(|()| ArchiveSource::File(place));
            found.archives.insert(path, Archive::new(name, there));
            continue;
        }
        let content =
            there.and_then(|()| read_content(&place).map_err(|error| Missing::Unreadable(error.to_string())));
        found.inputs.push(Input { path, name, content });
    }
}

/// Whether a name resembles that of a case file: its ending may be in upper case, or be followed by spaces or
/// invisible characters.
fn is_case_file(name: &OsStr) -> bool {
    ends_with(name, &["yaml", "yml"])
}

/// Whether a name ends as that of any file of a corpus, as [`is_case_file`] reads it.
fn is_input(name: &OsStr) -> bool {
    is_case_file(name) || ends_with(name, &["py", "zip"])
}

fn ends_with(name: &OsStr, ends: &[&str]) -> bool {
    let end = Path::new(name).extension().unwrap_or_default().to_string_lossy();
    let seen: String = end.chars().filter(char::is_ascii_graphic).collect();
    ends.iter().any(|one| seen.eq_ignore_ascii_case(one))
}

/// A name that is not UTF-8, with the bytes that are not as numbers.
fn escape_name(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// A file's content, up to one byte more than a corpus reads: enough to see that the file is too long.
fn read_content(place: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = cerith_files::open(place)?;
    file.take(MAX_TEXT as u64 + 1).read_to_end(&mut content)?;
    Ok(content)
}
