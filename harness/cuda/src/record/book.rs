//! The records of one case file, and their text. See [`super::RecordStore`] for the file's path, and [`Record`] for one record.

use std::cmp::Reverse;
use std::collections::HashMap;

use cerith_tile::rules::{BadVersion, Version};
use serde::{Deserialize, Serialize};

use super::entry::{Agreed, Provenance, Record, StoredOutcome};
use super::release::{BadRelease, Release};

/// The records of one case file on one kind of GPU, of every release.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Book {
    provenances: Vec<Provenance>,
    lines: Vec<Line>,
}

/// A case's recorded outcome, and the releases that agree about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    case: String,
    source: String,
    layout: String,
    /// Newest first. Empty in an older file, where each record names its provenance, which has the release.
    #[serde(default, rename = "of")]
    origins: Vec<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agreed: Option<Agreed>,
    #[serde(flatten)]
    stored: StoredOutcome,
}

/// A release with the outcome of a line: `["3.9.0", "30dd6a663ab8356f", 0]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(String, String, usize)", into = "(String, String, usize)")]
struct Origin {
    release: Release,
    /// The beginning of the hash of all machine code; empty if there is none.
    cubin: String,
    /// The position of its [`Provenance`] in the file.
    provenance: usize,
}

impl TryFrom<(String, String, usize)> for Origin {
    type Error = BadRelease;

    fn try_from((release, cubin, by): (String, String, usize)) -> Result<Self, BadRelease> {
        Ok(Self {
            release: release.parse()?,
            cubin,
            provenance: by,
        })
    }
}

impl From<Origin> for (String, String, usize) {
    fn from(origin: Origin) -> Self {
        (origin.release.to_string(), origin.cubin, origin.provenance)
    }
}

#[derive(Serialize, Deserialize)]
struct ProvenanceLine {
    #[serde(rename = "by")]
    provenance: Provenance,
}

/// The value of `agreed` for lines without one.
#[derive(Serialize, Deserialize)]
struct DefaultAgreement {
    agreed: bool,
}

/// An error in a file of records.
#[derive(Debug)]
pub(super) struct Malformed {
    /// From 1.
    pub line: usize,
    pub reason: String,
}

/// The reason why a record of an older format has no release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum OriginError {
    #[error("the record has no provenance")]
    NoProvenance,
    #[error(transparent)]
    Version(#[from] BadVersion),
}

impl Line {
    fn has(&self, release: Release) -> Option<&Origin> {
        self.origins.iter().find(|origin| origin.release == release)
    }

    /// The record of one of its releases.
    fn record(&self, origin: &Origin) -> Record {
        Record {
            case: self.case.clone(),
            source: self.source.clone(),
            layout: self.layout.clone(),
            cubin: origin.cubin.clone(),
            provenance: 0,
            agreed: self.agreed,
            stored: self.stored.clone(),
        }
    }

    /// Whether a record of another release may share the line.
    fn can_hold(&self, record: &Record) -> bool {
        (&self.case, &self.source, &self.layout) == (&record.case, &record.source, &record.layout)
            && self.agreed == record.agreed
            && self.stored == record.stored
    }
}

impl Book {
    pub(super) fn read(text: &str) -> Result<Self, Malformed> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line) != Some("---") || !lines.any(|(_, line)| line == "---") {
            return Err(Malformed {
                line: 1,
                reason: "not a snapshot: it has no head between `---`".to_owned(),
            });
        }
        let mut book = Self::default();
        // By case and release, the number of the line in the file and in the book.
        let mut known: HashMap<(String, Release), (usize, usize)> = HashMap::new();
        let mut default = Agreed::Unknown;
        for (at, text) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let malformed = |reason: String| Malformed { line: at + 1, reason };
            let wrong = |error: serde_json::Error| malformed(error.to_string());
            if text.starts_with("{\"by\":{") {
                book.provenances.push(
                    serde_json::from_str::<ProvenanceLine>(text)
                        .map_err(wrong)?
                        .provenance,
                );
            } else if text.starts_with("{\"agreed\":") {
                if serde_json::from_str::<DefaultAgreement>(text)
                    .map_err(wrong)?
                    .agreed
                {
                    default = Agreed::Yes;
                }
            } else {
                let mut line: Line = serde_json::from_str(text).map_err(wrong)?;
                line.agreed.get_or_insert(default);
                if line.origins.is_empty() {
                    let record: Record = serde_json::from_str(text).map_err(wrong)?;
                    line.origins.push(
                        book.only_release(record)
                            .map_err(|error| malformed(error.to_string()))?,
                    );
                }
                if line
                    .origins
                    .iter()
                    .any(|origin| origin.provenance >= book.provenances.len())
                {
                    return Err(malformed(OriginError::NoProvenance.to_string()));
                }
                let mut of = Vec::with_capacity(line.origins.len());
                for origin in std::mem::take(&mut line.origins) {
                    let here = (at + 1, book.lines.len());
                    let (first, earlier) = *known.entry((line.case.clone(), origin.release)).or_insert(here);
                    let earlier = book.lines.get(earlier);
                    let same = match earlier.and_then(|earlier| Some((earlier, earlier.has(origin.release)?)))
                    {
                        Some((earlier, other)) => earlier.record(other) == line.record(&origin),
                        None => of.iter().all(|other: &Origin| {
                            other.release != origin.release || other.cubin == origin.cubin
                        }),
                    };
                    if !same {
                        return Err(malformed(format!(
                            "a second record of `{}` under {} contradicts that of line {first}: remove one of them",
                            line.case, origin.release
                        )));
                    }
                    of.push(origin);
                }
                line.origins = of;
                book.lines.push(line);
            }
        }
        Ok(book)
    }

    /// The release of a record in a file that holds one release: the Triton version of its provenance.
    fn only_release(&self, record: Record) -> Result<Origin, OriginError> {
        let by = self
            .provenances
            .get(record.provenance)
            .ok_or(OriginError::NoProvenance)?;
        let triton: Version = by.triton.parse()?;
        Ok(Origin {
            release: triton.into(),
            cubin: record.cubin,
            provenance: record.provenance,
        })
    }

    /// Takes over the records of cases and releases that it has none of.
    pub(super) fn complete(&mut self, older: &Self) {
        for line in &older.lines {
            for origin in &line.origins {
                if self.find_line(origin.release, &line.case).is_none()
                    && let Some(by) = older.provenances.get(origin.provenance)
                {
                    self.put(origin.release, line.record(origin), by);
                }
            }
        }
    }

    pub(super) fn render_text(&self, target: &str) -> Result<String, serde_json::Error> {
        let mut text = format!("---\nsource: cerith accept\nexpression: {target}\n---\n");
        for by in &self.provenances {
            text.push_str(&serde_json::to_string(&ProvenanceLine {
                provenance: by.clone(),
            })?);
            text.push('\n');
        }
        let default = if self.lines.iter().any(|line| line.agreed == Some(Agreed::Yes)) {
            text.push_str(&serde_json::to_string(&DefaultAgreement { agreed: true })?);
            text.push('\n');
            Agreed::Yes
        } else {
            Agreed::Unknown
        };
        for line in &self.lines {
            let line = Line {
                agreed: line.agreed.filter(|agreed| *agreed != default),
                ..line.clone()
            };
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
        }
        Ok(text)
    }

    /// Whether anything of a release is in it.
    pub(super) fn holds(&self, release: Release) -> bool {
        self.lines.iter().any(|line| line.has(release).is_some())
    }

    /// Finds a case's line under a release: the line's index, the line, and its origin.
    fn find_line(&self, release: Release, case: &str) -> Option<(usize, &Line, &Origin)> {
        let lines = self.lines.iter().enumerate();
        lines
            .filter(|(_, line)| line.case == case)
            .find_map(|(at, line)| Some((at, line, line.has(release)?)))
    }

    /// A case's record under a release, and who ran it.
    pub(super) fn find(&self, release: Release, case: &str) -> Option<(Record, Provenance)> {
        let (_, line, origin) = self.find_line(release, case)?;
        let record = line.record(origin);
        let by = Provenance {
            triton: release.triton.to_string(),
            ..self.provenances.get(origin.provenance)?.clone()
        };
        Some((record, by))
    }

    /// Whether a case has a record of a release.
    pub(super) fn has(&self, release: Release, case: &str) -> bool {
        self.find_line(release, case).is_some()
    }

    /// A case's record under the newest release that made this machine code of it, with that release.
    pub(super) fn find_by_cubin(&self, case: &str, cubin: &str) -> Option<(Release, Record)> {
        let lines = self.lines.iter().filter(|line| line.case == case);
        let origins = lines.flat_map(|line| line.origins.iter().map(move |origin| (line, origin)));
        origins
            .filter(|(_, origin)| origin.cubin == cubin)
            .max_by_key(|(_, origin)| Reverse(origin.release.order()))
            .map(|(line, origin)| (origin.release, line.record(origin)))
    }

    /// A case's records with machine code.
    pub(super) fn list_executed<'b>(&'b self, case: &'b str) -> impl Iterator<Item = Record> + 'b {
        let lines = self.lines.iter().filter(move |line| line.case == case);
        lines.flat_map(|line| {
            let origins = line.origins.iter().filter(|origin| !origin.cubin.is_empty());
            origins.map(|origin| line.record(origin))
        })
    }

    /// The line of the file, from 1, that holds a case's record under a release.
    pub(super) fn place(&self, release: Release, case: &str) -> Option<usize> {
        let (at, ..) = self.find_line(release, case)?;
        let default = self.lines.iter().any(|line| line.agreed == Some(Agreed::Yes));
        // The head, who ran it, and the line of `agreed`.
        Some(4 + self.provenances.len() + usize::from(default) + at + 1)
    }

    /// Whether the reference agreed with a case's outcome under a release when it was accepted.
    pub(super) fn find_agreement(&self, release: Release, case: &str) -> Option<Agreed> {
        let (_, line, _) = self.find_line(release, case)?;
        line.agreed
    }

    /// Stores a record of a release, in place of an earlier one of that release.
    pub(super) fn put(&mut self, release: Release, mut record: Record, by: &Provenance) {
        // Each record has Triton's version beside it.
        let by = Provenance {
            triton: String::new(),
            ..by.clone()
        };
        let by = self
            .provenances
            .iter()
            .position(|known| *known == by)
            .unwrap_or_else(|| {
                self.provenances.push(by);
                self.provenances.len() - 1
            });
        record.agreed.get_or_insert(Agreed::Unknown);
        for line in &mut self.lines {
            if line.case == record.case {
                line.origins.retain(|origin| origin.release != release);
            }
        }
        let origin = Origin {
            release,
            cubin: record.cubin.clone(),
            provenance: by,
        };
        match self.lines.iter_mut().find(|line| line.can_hold(&record)) {
            Some(line) => line.origins.push(origin),
            None => self.lines.push(Line {
                case: record.case,
                source: record.source,
                layout: record.layout,
                origins: vec![origin],
                agreed: record.agreed,
                stored: record.stored,
            }),
        }
    }

    /// Drops records of cases that no longer exist, and provenances that no record refers to; lines in the order of `cases`, the
    /// newest release's first.
    pub(super) fn tidy(&mut self, cases: &[String]) {
        let place: HashMap<&str, usize> = cases.iter().map(String::as_str).zip(0..).collect();
        self.lines
            .retain(|line| !line.origins.is_empty() && place.contains_key(line.case.as_str()));
        for line in &mut self.lines {
            line.origins.sort_by_key(|origin| origin.release.order());
        }
        self.lines.sort_by_key(|line| {
            let newest = line.origins.first().map(|origin| origin.release.order());
            (place.get(line.case.as_str()).copied(), newest)
        });
        let mut used = Vec::new();
        for origin in self.lines.iter_mut().flat_map(|line| &mut line.origins) {
            let by = self.provenances.get(origin.provenance).cloned();
            origin.provenance = used
                .iter()
                .position(|known| Some(known) == by.as_ref())
                .unwrap_or_else(|| {
                    used.extend(by);
                    used.len() - 1
                });
        }
        self.provenances = used;
    }
}
