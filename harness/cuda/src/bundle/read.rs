//! Reading a bundle, section by section. Nothing in the file is believed before it is checked.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use cerith_toolchain::compiled::Kernel;
use cerith_toolchain::conversation::frame;
use flate2::read::ZlibDecoder;

use super::format::{
    BundleError, CaseEntry, Decided, Kind, MAGIC, MAX_SECTION, Note, OLD_MAGIC, Opening, ResultEntry,
    Section, VERSION, hash_section,
};
use crate::wire;

/// Reads a bundle. After an error there is no more to be had.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    kind: Kind,
    opening: Opening,
    /// Bytes of the file so far.
    bytes: u64,
    /// The next section.
    section: u64,
    kernels: Vec<Arc<Kernel>>,
    cases: VecDeque<CaseEntry>,
    results: VecDeque<ResultEntry>,
    decided: Vec<Decided>,
    notes: Vec<Note>,
    entries: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Begins to read a bundle of cases.
    pub fn begin_cases(from: R) -> Result<Self, BundleError> {
        Self::begin(from, Kind::Cases)
    }

    /// Begins to read a bundle of results.
    pub fn begin_results(from: R) -> Result<Self, BundleError> {
        Self::begin(from, Kind::Results)
    }

    fn begin(from: R, kind: Kind) -> Result<Self, BundleError> {
        let mut reader = Self {
            from,
            kind,
            opening: Opening {
                cerith: String::new(),
                seconds: 0,
                provenance: None,
            },
            bytes: 0,
            section: 0,
            kernels: Vec::new(),
            cases: VecDeque::new(),
            results: VecDeque::new(),
            decided: Vec::new(),
            notes: Vec::new(),
            entries: 0,
            ended: false,
        };
        let start = reader.read_up_to(16)?;
        let (magic, numbers) = start.split_at(start.len().min(8));
        if magic != MAGIC && magic != OLD_MAGIC {
            return Err(BundleError::Foreign(if magic.is_empty() {
                "none, it is empty".to_owned()
            } else {
                format!("`{}`", magic.escape_ascii())
            }));
        }
        let (Some(version), Some(found)) = (read_u32(numbers, 0), read_u32(numbers, 4)) else {
            return Err(reader.cut());
        };
        if version > VERSION {
            return Err(BundleError::Newer(version));
        }
        if version == 0 {
            return Err(BundleError::Foreign("a bundle's, of a version 0".to_owned()));
        }
        if found != kind.number() {
            let found = [Kind::Cases, Kind::Results]
                .into_iter()
                .find(|kind| kind.number() == found)
                .map_or_else(|| format!("something unknown ({found})"), |kind| kind.to_string());
            return Err(BundleError::Kind {
                actual: found,
                expected: kind,
            });
        }
        match reader.next_section()? {
            (Section::Opening(opening), _) => reader.opening = opening,
            _ => return Err(reader.report_damage("the first section does not say what made the file")),
        }
        Ok(reader)
    }

    /// The Cerith that made the file, and the time.
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// The next case; none at the end.
    pub fn next_case(&mut self) -> Result<Option<CaseEntry>, BundleError> {
        while self.cases.is_empty() && !self.ended {
            self.advance()?;
        }
        Ok(self.cases.pop_front())
    }

    /// The next result; none at the end.
    pub fn next_result(&mut self) -> Result<Option<ResultEntry>, BundleError> {
        while self.results.is_empty() && !self.ended {
            self.advance()?;
        }
        Ok(self.results.pop_front())
    }

    /// The cases so far that were decided when they were compiled; after the last case or result, all of them. They are
    /// given once.
    pub fn take_decided(&mut self) -> Vec<Decided> {
        std::mem::take(&mut self.decided)
    }

    /// The variants so far that need not be executed; after the last case or result, all of them. They are given once.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Reads a section and stores its content.
    fn advance(&mut self) -> Result<(), BundleError> {
        let (header, blobs) = match self.next_section() {
            Ok(section) => section,
            Err(error) => {
                self.ended = true;
                return Err(error);
            }
        };
        let done = self.take_in(header, &blobs);
        self.ended |= done.is_err();
        done
    }

    fn take_in(&mut self, header: Section, mut blobs: &[u8]) -> Result<(), BundleError> {
        let blobs = &mut blobs;
        match (header, self.kind) {
            (Section::Kernels(headers), Kind::Cases) => {
                for header in headers {
                    let cubin = wire::take(blobs, header.cubin)
                        .ok_or_else(|| self.report_damage("a kernel is cut short"))?;
                    self.kernels.push(Arc::new(Kernel {
                        cubin: cubin.into(),
                        ptx: String::new(),
                        ttir: String::new(),
                        metadata: header.metadata,
                    }));
                }
            }
            (Section::Cases(headers), Kind::Cases) => {
                for header in headers {
                    let arena = wire::take(blobs, header.job.arena)
                        .ok_or_else(|| self.report_damage("an arena is cut short"))?
                        .to_vec();
                    let job = header
                        .job
                        .into_job(arena, &self.kernels)
                        .map_err(|what| self.report_damage(&format!("`{}`: {what}", header.label.case)))?;
                    self.cases.push_back(CaseEntry {
                        label: header.label,
                        job,
                    });
                    self.entries += 1;
                }
            }
            (Section::Results(_), Kind::Results) if self.opening.provenance.is_none() => {
                return Err(self.report_damage("nothing says where the results come from"));
            }
            (Section::Results(headers), Kind::Results) => {
                for header in headers {
                    let ran = header
                        .ran
                        .into_ran(blobs)
                        .ok_or_else(|| self.report_damage("a result is cut short"))?;
                    self.results.push_back(ResultEntry {
                        label: header.label,
                        ran,
                    });
                    self.entries += 1;
                }
            }
            (Section::Decided(decided), _) => {
                self.entries += decided.len() as u64;
                self.decided.extend(decided);
            }
            (Section::Notes(notes), _) => {
                self.entries += notes.len() as u64;
                self.notes.extend(notes);
            }
            (Section::End { entries }, _) => {
                if entries != self.entries {
                    return Err(self.report_damage(&format!(
                        "it ends with {} entries, and {entries} were written",
                        self.entries
                    )));
                }
                if !self.read_up_to(1)?.is_empty() {
                    return Err(self.report_damage("there is more data after the end"));
                }
                self.ended = true;
            }
            _ => return Err(self.report_damage("a section that has no place there")),
        }
        if blobs.is_empty() {
            Ok(())
        } else {
            Err(self.report_damage("bytes that nothing names"))
        }
    }

    /// Reads, checks and unpacks a section.
    fn next_section(&mut self) -> Result<(Section, Vec<u8>), BundleError> {
        let prefix = self.read_exactly(40)?;
        let (Some(stored), Some(unpacked)) = (read_u32(&prefix, 0), read_u32(&prefix, 4)) else {
            return Err(self.cut());
        };
        for bytes in [stored, unpacked] {
            if bytes as usize > MAX_SECTION {
                return Err(BundleError::TooLarge {
                    section: self.section,
                    bytes: bytes.into(),
                });
            }
        }
        let stored = self.read_exactly(stored as usize)?;
        let sum = hash_section(self.section, &stored);
        // Equality of `Hash` takes the same time whatever differs, which is of no use here and no harm.
        if prefix.get(8..).is_none_or(|bytes| bytes != sum.as_bytes()) {
            return Err(self.report_damage("its checksum does not match"));
        }
        let mut frame = Vec::new();
        let wanted = u64::from(unpacked);
        ZlibDecoder::new(stored.as_slice())
            .take(wanted + 1)
            .read_to_end(&mut frame)
            .map_err(|error| self.report_damage(&format!("it cannot be unpacked: {error}")))?;
        if frame.len() as u64 != wanted {
            return Err(self.report_damage("it unpacks to another length"));
        }
        let lengths = frame::read_lengths(&frame, wire::MAX_FRAME)
            .map_err(|bad| self.report_damage(&bad.to_string()))?;
        let Some((head, blobs)) = lengths else {
            return Err(self.report_damage("it has no header"));
        };
        let body = frame.get(frame::LENGTHS..).unwrap_or_default();
        if head.checked_add(blobs) != Some(body.len()) {
            return Err(self.report_damage("its lengths do not add up"));
        }
        let (head, blobs) = body.split_at(head);
        let header = serde_json::from_slice(head)
            .map_err(|error| self.report_damage(&format!("its header is not understood: {error}")))?;
        self.section += 1;
        Ok((header, blobs.to_vec()))
    }

    fn read_exactly(&mut self, len: usize) -> Result<Vec<u8>, BundleError> {
        let bytes = self.read_up_to(len)?;
        if bytes.len() == len {
            Ok(bytes)
        } else {
            Err(self.cut())
        }
    }

    /// Reads at most `len` bytes, or fewer if there are no more.
    fn read_up_to(&mut self, len: usize) -> Result<Vec<u8>, BundleError> {
        let mut bytes = Vec::new();
        self.from
            .by_ref()
            .take(len as u64)
            .read_to_end(&mut bytes)
            .map_err(BundleError::Read)?;
        self.bytes += bytes.len() as u64;
        Ok(bytes)
    }

    fn cut(&self) -> BundleError {
        BundleError::Truncated {
            section: self.section,
            bytes: self.bytes,
        }
    }

    fn report_damage(&self, what: &str) -> BundleError {
        BundleError::Damaged {
            section: self.section,
            reason: what.to_owned(),
        }
    }
}

/// The number at a byte.
fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
