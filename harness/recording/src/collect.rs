//! Makes a recording on disk from part files. See `case_text` for the text of a case file, and `archive` for the archives.

mod error;
pub(crate) mod launches;
pub(crate) mod verify;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::error::StorageError;
use self::launches::{Gathered, Kernel, RecordedLaunch};
use crate::archive::Archive;
use crate::case_text::Text;
use crate::part::{Process, Skipped};

/// The file that distinguishes a recording from other corpora.
pub const MANIFEST: &str = "recording.json";

/// The version of [`Collected`]'s form on disk.
const FORMAT: u32 = 1;

/// How to collect launches.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder with part files.
    pub parts: PathBuf,
    /// The folder to make: absent or empty, except for names that begin with a dot.
    pub out: PathBuf,
    /// The command that was recorded, for the text of case files. `None` if it is private; then the command lines of processes are
    /// not kept either.
    pub command: Option<Vec<String>>,
    /// The rule by which launches were kept, as [`crate::recorder::Rules::sample`]: launches of several processes are compared
    /// by it.
    pub sample: String,
    /// Whether files of the program are named without their folders.
    pub private: bool,
}

/// The results of collecting. Written as [`MANIFEST`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// The version of this form.
    pub format: u32,
    /// The command that was recorded.
    pub command: Option<Vec<String>>,
    /// The processes that launched anything.
    pub processes: Vec<Process>,
    /// How many Python processes began with a recorder; counted only under `cerith record`.
    pub pythons: u64,
    /// The versions of Triton that they imported.
    pub imported: Vec<String>,
    /// Launches that were running when their process ended.
    pub running: Vec<Unfinished>,
    /// Launches that did not run, because they are undefined.
    pub refused: Vec<Unfinished>,
    /// Launches that were judged before they ran.
    pub judged: u64,
    /// Launched kernels that the user did not request.
    pub filtered_kernels: Vec<String>,
    /// Launches that were seen.
    pub launches: u64,
    /// Launches that became cases.
    pub cases: u64,
    /// Distinct kernel texts.
    pub kernels: u64,
    /// Launches that were omitted because a similar one was recorded.
    pub repeated: u64,
    /// Launches of kernels that the user did not request.
    pub filtered: u64,
    /// Launches that could not become cases, by reason.
    pub skipped: Vec<Skipped>,
    /// Storages whose contents were not kept.
    pub without_data: u64,
    /// Bytes of storages in archives, unpacked.
    pub bytes: u64,
    /// Bytes of archives.
    pub packed: u64,
    /// Further remarks: damaged part files, processes that were killed.
    pub notes: Vec<String>,
}

/// A launch without an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// Its case.
    pub case: String,
    /// Its process.
    pub pid: u64,
}

/// The reason that nothing can be collected. Part files stay where they are.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The folder to make is not empty.
    #[error("{} is not empty", .0.display())]
    Occupied(PathBuf),
}

impl CollectError {
    pub(crate) fn io_error_at(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// Checks that a recording can be made in a folder: it is absent or empty, except for names that begin with a dot.
///
/// # Errors
/// There is something in it, or it cannot be read.
pub fn check_vacant(out: &Path) -> Result<(), CollectError> {
    let entries = match fs::read_dir(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(CollectError::io_error_at(out))?,
    };
    for entry in entries {
        let entry = entry.map_err(CollectError::io_error_at(out))?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            return Err(CollectError::Occupied(out.to_owned()));
        }
    }
    Ok(())
}

/// Makes a recording from part files.
///
/// # Errors
/// Something cannot be read or written; part files are not touched.
pub fn collect(options: &Options) -> Result<Collected, CollectError> {
    check_vacant(&options.out)?;
    let gathered = Gathered::read(options)?;
    cerith_files::create_folders(&options.out).map_err(CollectError::io_error_at(&options.out))?;
    let Gathered {
        contents,
        kernels,
        launches: found,
        mut skipped,
        mut collected,
    } = gathered;
    let mut by_kernel: Vec<Vec<RecordedLaunch>> = kernels.iter().map(|_| Vec::new()).collect();
    for launch in found {
        if let Some(launches) = by_kernel.get_mut(launch.kernel) {
            launches.push(launch);
        }
    }
    for (kernel, launches) in kernels.iter().zip(by_kernel) {
        let folder = options.out.join(&kernel.folder);
        cerith_files::create_folders(&folder).map_err(CollectError::io_error_at(&folder))?;
        for (name, text) in &kernel.files {
            write(&folder.join(name), text)?;
        }
        let mut archive = Archive::new(&contents, &folder);
        let mut cases = Vec::with_capacity(launches.len());
        for launch in &launches {
            if let Some(why) = launch.ended.as_ref().and_then(|ended| ended.left_out.clone()) {
                skip(&mut skipped, &kernel.function, why, 1);
                continue;
            }
            match write_case(kernel, launch, options, &mut archive)
                .map_err(CollectError::io_error_at(&folder))?
            {
                Ok(case) => {
                    collected.without_data += case.without_data;
                    cases.push(case);
                }
                Err(error) => skip(&mut skipped, &kernel.function, error.to_string(), 1),
            }
        }
        archive.close().map_err(CollectError::io_error_at(&folder))?;
        let (kept, refused) = verify::write(&folder, &mut cases)?;
        note_unfinished(&mut collected, kernel, &launches, &cases);
        for why in refused {
            skip(&mut skipped, &kernel.function, why, 1);
        }
        if kept == 0 {
            cerith_files::remove_folder_all(&folder).map_err(CollectError::io_error_at(&folder))?;
            continue;
        }
        collected.kernels += 1;
        collected.cases += kept;
        collected.bytes += archive.unpacked;
        collected.packed += archive.packed;
    }
    collected.skipped = skipped
        .into_iter()
        .map(|((kernel, why), count)| Skipped { kernel, why, count })
        .collect();
    collected
        .skipped
        .sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.kernel.cmp(&b.kernel)));
    let text = serde_json::to_string_pretty(&collected).unwrap_or_default() + "\n";
    write(&options.out.join(MANIFEST), &text)?;
    Ok(collected)
}

/// Notes cases whose launches have no end or were refused.
fn note_unfinished(
    collected: &mut Collected,
    kernel: &Kernel,
    launches: &[RecordedLaunch],
    cases: &[CaseFile<'_>],
) {
    for launch in launches {
        let name = file_name(launch);
        if !cases.iter().any(|case| case.name == name) {
            continue;
        }
        let one = Unfinished {
            case: format!("{}/{}", kernel.folder, name.trim_end_matches(".yaml")),
            pid: launch.pid,
        };
        if launch.ended.is_none() {
            collected.running.push(one);
        } else if launch.refused().is_some() {
            collected.refused.push(one);
        }
    }
}

/// The name of a launch's case file.
fn file_name(launch: &RecordedLaunch) -> String {
    format!("{:04}.yaml", launch.number)
}

/// Launches that could not become cases, by kernel and reason.
type Reasons = BTreeMap<(String, String), u64>;

fn skip(skipped: &mut Reasons, kernel: &str, why: String, count: u64) {
    *skipped.entry((kernel.to_owned(), why)).or_default() += count;
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), CollectError> {
    cerith_files::write(path, text).map_err(CollectError::io_error_at(path))
}

/// A case file, not written yet.
#[derive(Debug)]
pub(crate) struct CaseFile<'a> {
    name: String,
    text: Text<'a>,
    pub(crate) without_data: u64,
}

/// The case file of a launch, or the reason that there is none. Bytes go into the archive.
pub(crate) fn write_case<'a>(
    kernel: &Kernel,
    launch: &'a RecordedLaunch,
    options: &Options,
    archive: &mut Archive<'_>,
) -> io::Result<Result<CaseFile<'a>, StorageError>> {
    let storages = match launch.declare_storages(kernel, archive)? {
        Ok(storages) => storages,
        Err(error) => return Ok(Err(error)),
    };
    let made_up: Vec<String> = storages
        .iter()
        .zip(&launch.frame.storages)
        .filter(|(_, frame)| frame.before.is_none() && !frame.is_uninitialised() && frame.size > 0)
        .map(|(storage, frame)| {
            let why = frame.why.as_deref().unwrap_or("not kept");
            format!("`{}` ({} bytes, {why})", storage.name, frame.size)
        })
        .collect();
    let mut text = launch.to_case_text(kernel, options, storages);
    if !made_up.is_empty() {
        text.about = format!(
            "{} The contents of {} were not recorded: seeded values replace them.",
            text.about,
            made_up.join(" and in ")
        );
    }
    Ok(Ok(CaseFile {
        name: file_name(launch),
        text,
        without_data: made_up.len() as u64,
    }))
}
