//! The archive of a kernel's bytes, `data.zip`: an entry for each content, named by its hash. An archive that grows too
//! large continues in `data-2.zip`. `cerith_case` reads it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::part::Payload;

/// Entries and bytes that one file gets; a reader takes more, but not many times more.
const MAX_ENTRIES: usize = 100_000;
const MAX_BYTES: u64 = 1 << 30;

/// The locations of contents in part files.
#[derive(Debug, Default)]
pub struct Contents {
    files: Vec<PathBuf>,
    contents: HashMap<String, ContentLocation>,
}

#[derive(Clone, Copy, Debug)]
struct ContentLocation {
    file: usize,
    payload: Payload,
    size: u64,
}

/// The kind of a content, once it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing but zeros: no entry is needed.
    Zeros,
    /// It is in an archive: `data.zip/0123…`.
    Entry(String),
    /// It is not available.
    Lost(ContentError),
}

/// The reason why the bytes of a hash are not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// They were not recorded.
    #[error("its bytes are not in the part file")]
    NotRecorded,
    /// There is no such part file.
    #[error("its part file is gone")]
    NoFile,
    /// There are more or fewer than recorded.
    #[error("its bytes are not as many as they say")]
    Length,
    /// They are damaged: the message of the decoder.
    #[error("its bytes cannot be unpacked: {0}")]
    Damaged(String),
}

impl Contents {
    /// A further part file; its number.
    pub fn add_file(&mut self, path: &Path) -> usize {
        self.files.push(path.to_owned());
        self.files.len() - 1
    }

    /// Contents of a hash, `size` bytes when unpacked, lie in a file.
    pub fn add(&mut self, hash: String, file: usize, payload: Payload, size: u64) {
        self.contents
            .entry(hash)
            .or_insert(ContentLocation { file, payload, size });
    }

    /// The bytes of a hash, or why there are none.
    fn read(&self, hash: &str) -> io::Result<Result<Vec<u8>, ContentError>> {
        let Some(place) = self.contents.get(hash) else {
            return Ok(Err(ContentError::NotRecorded));
        };
        let Some(path) = self.files.get(place.file) else {
            return Ok(Err(ContentError::NoFile));
        };
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(place.payload.offset))?;
        let packed = BufReader::new(file).take(place.payload.len);
        let mut bytes = Vec::new();
        // One byte more than it says shows that there are more.
        let unpacked = ZlibDecoder::new(packed)
            .take(place.size.saturating_add(1))
            .read_to_end(&mut bytes);
        Ok(match unpacked {
            Ok(_) if bytes.len() as u64 == place.size => Ok(bytes),
            Ok(_) => Err(ContentError::Length),
            Err(error) => Err(ContentError::Damaged(error.to_string())),
        })
    }
}

/// An archive that is being written.
#[derive(Debug)]
pub struct Archive<'c> {
    contents: &'c Contents,
    folder: PathBuf,
    open: Option<Open>,
    files: usize,
    written: HashMap<String, Content>,
    /// Bytes of all entries, unpacked.
    pub unpacked: u64,
    /// Bytes on disk.
    pub packed: u64,
}

/// A file of it, made with its first entry.
#[derive(Debug)]
struct Open {
    name: String,
    entries: usize,
    unpacked: u64,
    writer: ZipWriter<BufWriter<File>>,
}

impl<'c> Archive<'c> {
    /// The archive of a folder.
    pub fn new(contents: &'c Contents, folder: &Path) -> Self {
        Self {
            contents,
            folder: folder.to_owned(),
            open: None,
            files: 0,
            written: HashMap::new(),
            unpacked: 0,
            packed: 0,
        }
    }

    /// Makes sure that the contents of a hash are in the archive. With `zeros`, contents that are all zeros need no entry.
    pub fn put(&mut self, hash: &str, zeros: bool) -> io::Result<Content> {
        if let Some(content) = self.written.get(hash)
            && (zeros || *content != Content::Zeros)
        {
            return Ok(content.clone());
        }
        let content = match self.contents.read(hash)? {
            Ok(bytes) if zeros && bytes.iter().all(|&byte| byte == 0) => Content::Zeros,
            Ok(bytes) => Content::Entry(self.write(hash, &bytes)?),
            Err(error) => Content::Lost(error),
        };
        self.written.insert(hash.to_owned(), content.clone());
        Ok(content)
    }

    /// How many bytes the contents of a hash say they have.
    pub fn size(&self, hash: &str) -> Option<u64> {
        self.contents.contents.get(hash).map(|place| place.size)
    }

    fn write(&mut self, hash: &str, bytes: &[u8]) -> io::Result<String> {
        let full = |open: &Open| open.entries >= MAX_ENTRIES || open.unpacked >= MAX_BYTES;
        if self.open.as_ref().is_some_and(full) {
            self.close()?;
        }
        let open = if let Some(open) = &mut self.open {
            open
        } else {
            self.files += 1;
            let name = match self.files {
                1 => "data.zip".to_owned(),
                nth => format!("data-{nth}.zip"),
            };
            let file = BufWriter::new(cerith_files::create_new(self.folder.join(&name))?);
            self.open.insert(Open {
                name,
                entries: 0,
                unpacked: 0,
                writer: ZipWriter::new(file),
            })
        };
        // The same bytes give the same archive: no time of day in it.
        let options = SimpleFileOptions::DEFAULT
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::DEFAULT);
        open.writer.start_file(hash, options)?;
        open.writer.write_all(bytes)?;
        open.entries += 1;
        open.unpacked += bytes.len() as u64;
        self.unpacked += bytes.len() as u64;
        Ok(format!("{}/{hash}", open.name))
    }

    /// Ends the file that is being written.
    pub fn close(&mut self) -> io::Result<()> {
        if let Some(open) = self.open.take() {
            let file = open
                .writer
                .finish()?
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            self.packed += file.metadata()?.len();
        }
        Ok(())
    }
}
