//! The bytes of a memory that a launch changed, as a record stores them.

use std::fmt::Write as _;
use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use cerith_memory::{Memory, ORIGIN};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

/// Runs of bytes longer than this are kept compressed.
const PLAIN: usize = 48;

/// Changed bytes this close to each other are one run.
const GAP: usize = 8;

/// The maximum size of a decompressed run, in bytes.
const MAX_LENGTH: u64 = 1 << 30;

/// A run of bytes: the storage's name, the first byte of the run counted from the storage's (a guard zone's are
/// negative, or past its end), and the bytes: in hexadecimal, or `z` and base64 of their deflation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change(String, i64, String);

/// The runs of bytes of `after`, storages with their guard zones, that are not those of `before`.
pub(super) fn find_changes(before: &Memory, after: &Memory) -> Vec<Change> {
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
                encode_bytes(new.get(start..end).unwrap_or_default()),
            )
        }));
    }
    found
}

fn encode_bytes(bytes: &[u8]) -> String {
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
            .take(MAX_LENGTH)
            .read_to_end(&mut bytes)
            .ok()?;
        return Some(bytes);
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}

/// Why changes do not fit a memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such storage.
    #[error("no storage `{0}`")]
    NoStorage(String),
    /// The bytes are not in the form of changes.
    #[error("bytes of `{0}` that cannot be read")]
    Unreadable(String),
    /// The bytes begin before the memory.
    #[error("bytes before `{0}`")]
    Before(String),
    /// The bytes end after the memory.
    #[error("bytes after `{0}`")]
    After(String),
    /// Bytes change twice.
    #[error("bytes of `{0}` twice")]
    Twice(String),
}

pub(super) fn apply(changed: &[Change], memory: &mut Memory) -> Result<(), ChangeError> {
    let mut ranges = Vec::with_capacity(changed.len());
    for Change(name, start, bytes) in changed {
        let id = memory
            .ids()
            .find(|&id| memory.name(id) == name)
            .ok_or_else(|| ChangeError::NoStorage(name.clone()))?;
        let bytes = read_back(bytes).ok_or_else(|| ChangeError::Unreadable(name.clone()))?;
        let first = ((memory.address(id) - ORIGIN) as i64).checked_add(*start);
        let first = first.and_then(|first| usize::try_from(first).ok());
        let first = first.ok_or_else(|| ChangeError::Before(name.clone()))?;
        let range = first..first.saturating_add(bytes.len());
        let (arena, _) = memory.arena_mut();
        arena
            .get_mut(range.clone())
            .ok_or_else(|| ChangeError::After(name.clone()))?
            .copy_from_slice(&bytes);
        ranges.push((range.start, range.end, name));
    }
    ranges.sort_unstable();
    let twice = ranges
        .windows(2)
        .find(|pair| matches!(pair, [(_, end, _), (start, ..)] if start < end));
    match twice {
        Some([_, (_, _, name)]) => Err(ChangeError::Twice((*name).clone())),
        _ => Ok(()),
    }
}
