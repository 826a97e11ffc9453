//! The folder of a run's reports: the stream, and the pages made from it. Links in it are not followed.
//!
//! In a folder that the user did not name, a run that is interrupted, or that excludes cases, does not replace the reports of a
//! run of all cases: its own are in [`PARTIAL`], a folder beside them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use cerith_files::{Folder, FolderLock, Obstacle};
use cerith_report::event::Event;
use cerith_report::{
    Digest, Html, HtmlError, Junit, JunitError, ReadError, Writer, read, read_event, render_markdown,
};

/// The stream's file in a folder of reports.
pub const STREAM: &str = "events.jsonl";

/// The folder, in a folder of reports, of the later run that did not judge all cases.
pub const PARTIAL: &str = "partial";

/// The pages made from the stream.
const PAGES: [&str; 3] = ["report.html", "report.md", "junit.xml"];

/// Bytes in which a stream's summary is looked for.
const MAX_SUMMARY: u64 = 1 << 20;

/// The stream of the last run that wrote into a folder of reports.
pub fn find_latest_stream(folder: &Path) -> PathBuf {
    let partial = folder.join(PARTIAL).join(STREAM);
    if partial.is_file() {
        partial
    } else {
        folder.join(STREAM)
    }
}

/// The location of a run's reports.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// A folder of Cerith's own around it, which git ignores.
    pub cerith_folder: Option<&'a Path>,
    /// Whether the reports of a run of all cases stay until such a run is finished.
    pub keeps: bool,
    /// Whether the run excludes cases.
    pub partial: bool,
}

/// A run cannot start, because of something in its folder of reports.
#[derive(Debug, thiserror::Error)]
pub enum Blocked {
    /// Another run writes into the folder.
    #[error(
        "another run is writing its reports into {}\n  = help: wait for its end, or give this run a folder of its own: \
         `--out DIR`",
        .0.display()
    )]
    Taken(PathBuf),
    /// A link, or something else, is in the place of a file.
    #[error("no report is written: {0}")]
    Obstacle(Obstacle),
}

/// The reason why there is no stream on disk.
#[derive(Debug)]
pub enum NoStore {
    /// The run must not start.
    Blocked(Blocked),
    /// The place cannot be written.
    Io(io::Error),
}

impl From<io::Error> for NoStore {
    fn from(error: io::Error) -> Self {
        match Obstacle::from_error(&error) {
            Some(obstacle) if !obstacle.is_plain_file() => Self::Blocked(Blocked::Obstacle(obstacle.clone())),
            _ => Self::Io(error),
        }
    }
}

/// The reason why reports cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file cannot be read or moved.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The stream cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The stream is not whole.
    #[error("{STREAM} {0}")]
    Fault(String),
    /// The HTML page cannot be rendered.
    #[error(transparent)]
    Html(#[from] HtmlError),
    /// The `JUnit` report cannot be rendered.
    #[error(transparent)]
    Junit(#[from] JunitError),
    /// A page cannot be written.
    #[error("{name}: {error}")]
    Page {
        /// Its name.
        name: &'static str,
        /// The cause.
        error: io::Error,
    },
}

/// The stream on disk.
pub struct Store {
    /// The stream of the run.
    pub writer: Writer<File>,
    stream: File,
    /// The folder of reports, if it has those of a run of all cases, and the run writes into another one.
    full_run_folder: Option<Folder>,
    folder: Folder,
    partial: bool,
    _lock: FolderLock,
}

impl Store {
    /// Begins a stream. Removes files from the folder only once the stream can certainly be written.
    pub fn create(plan: &Plan<'_>) -> Result<Self, NoStore> {
        if let Some(own) = plan.cerith_folder {
            let own = Folder::create(own)?;
            if !own.has_file(".gitignore")? {
                own.write(".gitignore", "*\n")?;
            }
        }
        let outer = Folder::create(plan.folder)?;
        let Some(lock) = outer.lock()? else {
            return Err(NoStore::Blocked(Blocked::Taken(plan.folder.to_owned())));
        };
        for name in PAGES.into_iter().chain([STREAM]) {
            outer.has_file(name)?;
        }
        let (folder, kept) = if plan.keeps && has_all_cases(&outer)? {
            (outer.create_folder(PARTIAL)?, Some(outer))
        } else {
            remove_partial(&outer)?;
            (outer, None)
        };
        for name in PAGES {
            folder.has_file(name)?;
        }
        let stream = folder.begin(STREAM)?;
        // A run that is killed must not leave behind the pages of the run before it.
        for name in PAGES {
            folder.clear_file(name)?;
        }
        let stream = stream.keep()?;
        Ok(Self {
            writer: Writer::new(stream.try_clone()?),
            stream,
            full_run_folder: kept,
            folder,
            partial: plan.partial,
            _lock: lock,
        })
    }

    /// The folder that the run writes into.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the reports once the run is over; `whole` says whether it judged all of its cases.
    pub fn final_folder(&self, whole: bool) -> PathBuf {
        match &self.full_run_folder {
            Some(kept) if whole && !self.partial => kept.path().to_owned(),
            _ => self.folder().to_owned(),
        }
    }

    /// Leaves only whole lines in the stream.
    pub fn give_up(self) {
        let (file, whole) = self.writer.into_parts();
        // The first error is the one to report.
        let _ = file.set_len(whole);
    }

    /// Prints the stored stream as every other format.
    pub fn write_reports(&self) -> Result<(), ReportError> {
        let mut digest = Digest::default();
        let mut junit = Junit::default();
        let mut html = Html::default();
        let mut stream = &self.stream;
        stream.seek(SeekFrom::Start(0))?;
        let end = read(BufReader::new(stream), |event| {
            digest.add_event(&event);
            junit.add_event(&event);
            html.add_event(&event);
        })?;
        if let Some(fault) = end.fault() {
            return Err(ReportError::Fault(fault));
        }
        // One after the other: of a long run each is large.
        let digest = digest.finish();
        self.write_page("report.html", html.finish()?)?;
        self.write_page("report.md", render_markdown(&digest))?;
        self.write_page("junit.xml", junit.finish()?)
    }

    fn write_page(&self, name: &'static str, page: String) -> Result<(), ReportError> {
        self.folder
            .write(name, page)
            .map_err(|error| ReportError::Page { name, error })
    }

    /// Puts the reports into their final folder. Answers with the folder of the reports of an earlier run of all cases, if these
    /// are still there.
    pub fn finish(&self, whole: bool) -> Result<Option<PathBuf>, ReportError> {
        let Some(kept) = &self.full_run_folder else {
            return Ok(None);
        };
        if !whole || self.partial {
            return Ok(Some(kept.path().to_owned()));
        }
        let moved = || {
            for page in PAGES {
                kept.clear_file(page)?;
            }
            self.folder.move_file(STREAM, kept)?;
            for page in PAGES {
                self.folder.move_file(page, kept)?;
            }
            io::Result::Ok(())
        };
        moved()?;
        // Files that are not Cerith's may be in it.
        let _ = kept.remove_folder(PARTIAL);
        Ok(None)
    }
}

/// Removes the reports of an earlier run that did not judge all cases.
fn remove_partial(folder: &Folder) -> io::Result<()> {
    let partial = match folder.open_folder(PARTIAL) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        partial => partial?,
    };
    for name in PAGES.into_iter().chain([STREAM]) {
        partial.clear_file(name)?;
    }
    // Files that are not Cerith's may be in it.
    let _ = folder.remove_folder(PARTIAL);
    Ok(())
}

/// Whether a folder has the reports of a finished run of all cases.
fn has_all_cases(folder: &Folder) -> io::Result<bool> {
    let mut file = match folder.read(STREAM) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    let mut first = Vec::new();
    BufReader::new(&file)
        .take(MAX_SUMMARY)
        .read_until(b'\n', &mut first)?;
    let Ok(Event::Start(start)) = read_event(&first) else {
        return Ok(false);
    };
    let from = file.metadata()?.len().saturating_sub(MAX_SUMMARY);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let last = end.trim_ascii_end().rsplit(|&byte| byte == b'\n').next();
    let Some(Ok(Event::Summary(summary))) = last.map(read_event) else {
        return Ok(false);
    };
    let all = !start.partial && start.shard.is_none() && !start.last_failed;
    Ok(all && !summary.interrupted && summary.not_run == 0)
}
