//! Writing a bundle, entry by entry, in memory for a few sections at most.

use std::collections::HashMap;
use std::io::Write;

use cerith_toolchain::compiled::Kernel;
use cerith_toolchain::conversation::frame;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

use super::format::{
    BundleError, CaseEntry, CaseHeader, Decided, Kind, MAGIC, MAX_SECTION, Note, Opening, ResultEntry,
    ResultHeader, Section, VERSION, hash_section,
};
use crate::wire::{JobHeader, KernelHeader, RanHeader};
use cerith_engine::job::Ran;

/// Bytes and entries after which a section is written.
const SECTION_BYTES: usize = 8 << 20;
const SECTION_ENTRIES: usize = 256;

/// Writes a bundle. Without [`Writer::finish`] the file is one that is cut short.
pub struct Writer<W> {
    to: W,
    kind: Kind,
    sections: u64,
    entries: u64,
    /// Numbers of the kernels written so far, by their content.
    kernel_numbers: HashMap<blake3::Hash, usize>,
    kernels: Vec<KernelHeader>,
    cubins: Vec<u8>,
    cases: Vec<CaseHeader>,
    results: Vec<ResultHeader>,
    decided: Vec<Decided>,
    notes: Vec<Note>,
    blobs: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a bundle of cases.
    pub fn begin_cases(to: W) -> Result<Self, BundleError> {
        Self::begin(to, Kind::Cases, Opening::new(None))
    }

    /// Begins a bundle of results.
    pub fn begin_results(to: W, provenance: super::Provenance) -> Result<Self, BundleError> {
        Self::begin(to, Kind::Results, Opening::new(Some(provenance)))
    }

    /// Begins a bundle of results to which no GPU was needed: all of its cases were decided when they were compiled.
    pub fn begin_unexecuted(to: W) -> Result<Self, BundleError> {
        Self::begin(to, Kind::Results, Opening::new(None))
    }

    pub(super) fn begin(to: W, kind: Kind, opening: Opening) -> Result<Self, BundleError> {
        let mut writer = Self {
            to,
            kind,
            sections: 0,
            entries: 0,
            kernel_numbers: HashMap::new(),
            kernels: Vec::new(),
            cubins: Vec::new(),
            cases: Vec::new(),
            results: Vec::new(),
            decided: Vec::new(),
            notes: Vec::new(),
            blobs: Vec::new(),
        };
        writer.write(&MAGIC)?;
        writer.write(&VERSION.to_le_bytes())?;
        writer.write(&kind.number().to_le_bytes())?;
        writer.write_section(&Section::Opening(opening), &[])?;
        Ok(writer)
    }

    /// Adds a case to a bundle of cases.
    pub fn add_case(&mut self, entry: &CaseEntry) -> Result<(), BundleError> {
        let kernels = &entry.job.compiled.kernels;
        let cubins: usize = kernels.iter().map(|kernel| kernel.cubin.len()).sum();
        self.make_room(&entry.label.case, entry.job.arena.len().saturating_add(cubins))?;
        let numbers = kernels.iter().map(|kernel| self.add_kernel(kernel)).collect();
        self.cases.push(CaseHeader {
            label: entry.label.clone(),
            job: JobHeader::from_job(&entry.job, numbers),
        });
        self.blobs.extend_from_slice(&entry.job.arena);
        Ok(())
    }

    /// Adds a result to a bundle of results.
    pub fn add_result(&mut self, entry: &ResultEntry) -> Result<(), BundleError> {
        let bytes = match &entry.ran {
            Ran::Finished {
                arena,
                different_arena: other,
                ..
            } => arena.len() * (1 + usize::from(other.is_some())),
            _ => 0,
        };
        self.make_room(&entry.label.case, bytes)?;
        let ran = RanHeader::from_ran(&entry.ran, &mut self.blobs);
        self.results.push(ResultHeader {
            label: entry.label.clone(),
            ran,
        });
        Ok(())
    }

    /// Adds a case that was decided when it was compiled, to a bundle of either kind.
    pub fn add_decided(&mut self, decided: &Decided) -> Result<(), BundleError> {
        self.make_room(&decided.label.case, 0)?;
        self.decided.push(decided.clone());
        Ok(())
    }

    /// Adds a variant that need not be executed, to a bundle of either kind.
    pub fn add_note(&mut self, note: &Note) -> Result<(), BundleError> {
        self.make_room(&note.label.case, 0)?;
        self.notes.push(note.clone());
        Ok(())
    }

    /// The kernel's number; a new one is written with the section.
    fn add_kernel(&mut self, kernel: &Kernel) -> usize {
        let mut hasher = blake3::Hasher::new();
        // Metadata are numbers and a name, and always become JSON.
        hasher.update(&serde_json::to_vec(&kernel.metadata).unwrap_or_default());
        hasher.update(&kernel.cubin);
        let next = self.kernel_numbers.len();
        *self.kernel_numbers.entry(hasher.finalize()).or_insert_with(|| {
            self.kernels.push(KernelHeader {
                cubin: kernel.cubin.len(),
                metadata: kernel.metadata.clone(),
            });
            self.cubins.extend_from_slice(&kernel.cubin);
            next
        })
    }

    /// Makes room for an entry.
    fn make_room(&mut self, case: &str, bytes: usize) -> Result<(), BundleError> {
        // Headers take their part.
        if bytes > MAX_SECTION / 2 {
            return Err(BundleError::EntryTooLarge {
                case: case.to_owned(),
                bytes,
            });
        }
        self.entries += 1;
        let entries = self.cases.len() + self.results.len() + self.decided.len() + self.notes.len();
        let full = self.blobs.len().max(self.cubins.len()) + bytes > SECTION_BYTES;
        if entries > 0 && (full || entries >= SECTION_ENTRIES) {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BundleError> {
        let kernels = std::mem::take(&mut self.kernels);
        let cubins = std::mem::take(&mut self.cubins);
        let blobs = std::mem::take(&mut self.blobs);
        let cases = std::mem::take(&mut self.cases);
        let results = std::mem::take(&mut self.results);
        if !kernels.is_empty() {
            self.write_section(&Section::Kernels(kernels), &cubins)?;
        }
        if !cases.is_empty() {
            self.write_section(&Section::Cases(cases), &blobs)?;
        } else if !results.is_empty() {
            self.write_section(&Section::Results(results), &blobs)?;
        }
        let decided = std::mem::take(&mut self.decided);
        if !decided.is_empty() {
            self.write_section(&Section::Decided(decided), &[])?;
        }
        let notes = std::mem::take(&mut self.notes);
        if !notes.is_empty() {
            self.write_section(&Section::Notes(notes), &[])?;
        }
        Ok(())
    }

    /// Ends the bundle, and returns the writer.
    pub fn finish(mut self) -> Result<W, BundleError> {
        self.flush()?;
        self.write_section(
            &Section::End {
                entries: self.entries,
            },
            &[],
        )?;
        self.to.flush().map_err(BundleError::Write)?;
        Ok(self.to)
    }

    fn write_section(&mut self, header: &impl Serialize, blobs: &[u8]) -> Result<(), BundleError> {
        let frame = frame::encode_frame(header, [blobs])
            .map_err(|error| BundleError::Write(std::io::Error::other(error)))?;
        // Cases are packed once and carried; results are written while a GPU waits.
        let level = match self.kind {
            Kind::Cases => Compression::default(),
            Kind::Results => Compression::fast(),
        };
        let mut packer = ZlibEncoder::new(Vec::new(), level);
        packer.write_all(&frame).map_err(BundleError::Write)?;
        let stored = packer.finish().map_err(BundleError::Write)?;
        let length = |bytes: usize| {
            let fits = bytes <= MAX_SECTION;
            u32::try_from(bytes).ok().filter(|_| fits).ok_or_else(|| {
                BundleError::Write(std::io::Error::other(format!("a section of {bytes} bytes")))
            })
        };
        let lengths = [length(stored.len())?, length(frame.len())?];
        let sum = hash_section(self.sections, &stored);
        self.write(&lengths[0].to_le_bytes())?;
        self.write(&lengths[1].to_le_bytes())?;
        self.write(sum.as_bytes())?;
        self.write(&stored)?;
        self.sections += 1;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        self.to.write_all(bytes).map_err(BundleError::Write)
    }
}
