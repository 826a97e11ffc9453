//! The launches of a part file that is still being written, each as a recording of its own, before it runs. It does not
//! judge them.

use std::path::{Path, PathBuf};

use crate::archive::Archive;
use crate::collect::launches::{Reader, Reading};
use crate::collect::{CollectError, Options, verify, write, write_case};
use crate::part::LaunchFrame;

/// Follows one part file.
#[derive(Debug)]
pub struct Follower {
    options: Options,
    reader: Reader,
    reading: Reading,
    /// How many launches there were.
    seen_launches: usize,
}

impl Follower {
    /// Follows a part file; recordings are made in a folder beside it.
    pub fn new(part: &Path) -> Self {
        let options = Options {
            parts: part.parent().unwrap_or(Path::new(".")).to_owned(),
            out: part.with_extension("next"),
            command: None,
            sample: "every".to_owned(),
            private: false,
        };
        let mut reader = Reader::new(&options);
        let reading = Reading::new(&mut reader, part);
        Self {
            options,
            reader,
            reading,
            seen_launches: 0,
        }
    }

    /// The frame of the launch that was written last.
    pub fn latest_frame(&self) -> Option<&LaunchFrame> {
        self.reader.gathered.launches.last().map(|launch| &*launch.frame)
    }

    /// The launch written since the last call, as a recording: its folder, which the next call removes. `None` if there is
    /// no new launch, or if it is not a case.
    ///
    /// # Errors
    /// The part file cannot be read, or the folder cannot be written.
    pub fn latest(&mut self) -> Result<Option<PathBuf>, CollectError> {
        self.reader.read_frames(&mut self.reading)?;
        let gathered = &self.reader.gathered;
        let new = gathered.launches.len() > self.seen_launches;
        self.seen_launches = gathered.launches.len();
        let Some(launch) = gathered.launches.last().filter(|_| new) else {
            return Ok(None);
        };
        let Some(kernel) = gathered.kernels.get(launch.kernel) else {
            return Ok(None);
        };
        let out = &self.options.out;
        if out.exists() {
            cerith_files::remove_folder_all(out).map_err(CollectError::io_error_at(out))?;
        }
        let folder = out.join(&kernel.folder);
        cerith_files::create_folders(&folder).map_err(CollectError::io_error_at(&folder))?;
        for (name, text) in &kernel.files {
            write(&folder.join(name), text)?;
        }
        let mut archive = Archive::new(&gathered.contents, &folder);
        let made = write_case(kernel, launch, &self.options, &mut archive)
            .map_err(CollectError::io_error_at(&folder))?;
        archive.close().map_err(CollectError::io_error_at(&folder))?;
        let Ok(made) = made else {
            return Ok(None);
        };
        // Made-up contents prove nothing about the launch.
        let known = made.without_data == 0;
        let (kept, _) = verify::write(&folder, &mut [made])?;
        Ok((known && kept == 1).then(|| out.clone()))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = cerith_files::remove_folder_all(&self.options.out);
    }
}
