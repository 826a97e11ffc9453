//! Bundles, as [`cerith_cuda::bundle`] specifies them.
//!
//! An input begins with a byte that says what the rest is:
//!
//! | byte | the rest |
//! |---|---|
//! | even | the file as it is |
//! | odd | sections before they are packed, so that changes reach past checksum and compression: first a byte for the kind of bundle; then for each section a `u16` with the length of the header, a `u16` with that of the blobs, both little endian, header, blobs |

use std::io::{Read as _, Write as _};

use cerith_cuda::bundle::{BundleError, CaseEntry, Decided, Note, Reader, ResultEntry, Writer};
use cerith_gen::{Ended, Fault, TrialResult};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::ensure;

/// The first bytes of every bundle.
const MAGIC: [u8; 8] = *b"\x89CERIT\r\n";

/// The version whose sections are packed.
const VERSION: u32 = 2;

/// Checks the laws of the reader of bundles on these bytes.
pub fn check(bytes: &[u8]) -> TrialResult {
    let Some((how, rest)) = bytes.split_first() else {
        return Ok(Ended::Refused);
    };
    let file = if how % 2 == 0 {
        rest.to_vec()
    } else {
        pack_sections(rest)
    };
    let (cases, results) = (check_cases(&file)?, check_results(&file)?);
    Ok(if cases || results {
        Ended::Finished
    } else {
        Ended::Refused
    })
}

/// The contents of a bundle.
type BundleContents<T> = (Vec<T>, Vec<Decided>, Vec<Note>);

/// Whether a file is a bundle of cases.
fn check_cases(file: &[u8]) -> Result<bool, Fault> {
    let read = |file: &[u8]| -> Result<BundleContents<CaseEntry>, BundleError> {
        let mut reader = Reader::begin_cases(file)?;
        let mut entries = Vec::new();
        while let Some(entry) = reader.next_case()? {
            entries.push(entry);
        }
        Ok((entries, reader.take_decided(), reader.take_notes()))
    };
    let Some(held) = allow_refusal(read(file))? else {
        return Ok(false);
    };
    let write = || -> Result<Vec<u8>, BundleError> {
        let mut writer = Writer::begin_cases(Vec::new())?;
        for entry in &held.0 {
            writer.add_case(entry)?;
        }
        write_extras(&mut writer, &held)?;
        writer.finish()
    };
    check_same(&held, write().and_then(|file| read(&file)))?;
    Ok(true)
}

/// Whether a file is a bundle of results.
fn check_results(file: &[u8]) -> Result<bool, Fault> {
    let read = |file: &[u8]| -> Result<(BundleContents<ResultEntry>, _), BundleError> {
        let mut reader = Reader::begin_results(file)?;
        let mut entries = Vec::new();
        while let Some(entry) = reader.next_result()? {
            entries.push(entry);
        }
        let held = (entries, reader.take_decided(), reader.take_notes());
        Ok((held, reader.opening().provenance.clone()))
    };
    let Some((held, provenance)) = allow_refusal(read(file))? else {
        return Ok(false);
    };
    let write = || -> Result<Vec<u8>, BundleError> {
        let mut writer = match &provenance {
            Some(provenance) => Writer::begin_results(Vec::new(), provenance.clone())?,
            None => Writer::begin_unexecuted(Vec::new())?,
        };
        for entry in &held.0 {
            writer.add_result(entry)?;
        }
        write_extras(&mut writer, &held)?;
        writer.finish()
    };
    check_same(&held, write().and_then(|file| read(&file)).map(|(held, _)| held))?;
    Ok(true)
}

fn write_extras<T>(
    writer: &mut Writer<Vec<u8>>,
    (_, decided, notes): &BundleContents<T>,
) -> Result<(), BundleError> {
    decided.iter().try_for_each(|one| writer.add_decided(one))?;
    notes.iter().try_for_each(|one| writer.add_note(one))
}

/// The contents that were read, or nothing if the input is rejected with an error.
fn allow_refusal<T>(read: Result<T, BundleError>) -> Result<Option<T>, Fault> {
    match read {
        Ok(held) => Ok(Some(held)),
        Err(error) => {
            crate::check_message(&error)?;
            Ok(None)
        }
    }
}

fn check_same<T: PartialEq + std::fmt::Debug>(
    first: &BundleContents<T>,
    again: Result<BundleContents<T>, BundleError>,
) -> Result<(), Fault> {
    match again {
        Ok(again) => ensure(*first == again, || {
            format!("what was written is read as something else:\n{first:?}\n{again:?}")
        }),
        Err(error) => Err(Fault(format!("what was written cannot be read: {error}"))),
    }
}

/// Packs the sections of an input, after its first byte, into a bundle.
pub fn pack_sections(plain: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let (kind, mut rest) = plain
        .split_first()
        .map_or((0, plain), |(kind, rest)| (*kind, rest));
    file.extend(VERSION.to_le_bytes());
    file.extend(u32::from(kind).to_le_bytes());
    let mut section = 0u64;
    while let Some((lengths, behind)) = rest.split_at_checked(4) {
        let length = |at: usize| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
        let (header, blobs) = (length(0).min(behind.len()), length(2));
        let (header, behind) = behind.split_at(header);
        let (blobs, behind) = behind.split_at(blobs.min(behind.len()));
        rest = behind;
        let mut frame = (header.len() as u32).to_le_bytes().to_vec();
        frame.extend((blobs.len() as u64).to_le_bytes());
        frame.extend_from_slice(header);
        frame.extend_from_slice(blobs);
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
        let stored = packer
            .write_all(&frame)
            .and_then(|()| packer.finish())
            .unwrap_or_default();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&section.to_le_bytes());
        hasher.update(&stored);
        file.extend((stored.len() as u32).to_le_bytes());
        file.extend((frame.len() as u32).to_le_bytes());
        file.extend(hasher.finalize().as_bytes());
        file.extend(stored);
        section += 1;
    }
    file
}

/// The sections of an input, to be packed: headers with their blobs.
pub fn encode_sections(kind: u8, sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![1, kind];
    for (header, blobs) in sections {
        let length = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes();
        bytes.extend(length(header.len()));
        bytes.extend(length(blobs.len()));
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(blobs);
    }
    bytes
}

/// The input from which [`pack_sections`] makes this bundle. None for a file that is not a bundle.
pub fn unpack_sections(file: &[u8]) -> Option<Vec<u8>> {
    let mut rest = file.strip_prefix(&MAGIC)?.get(4..)?;
    let (kind, behind) = rest.split_first_chunk::<4>()?;
    rest = behind;
    let mut bytes = vec![1, u8::try_from(u32::from_le_bytes(*kind)).ok()?];
    while !rest.is_empty() {
        let (stored, behind) = rest.split_first_chunk::<4>()?;
        let stored = u32::from_le_bytes(*stored) as usize;
        let (packed, behind) = behind.get(36..)?.split_at_checked(stored)?;
        rest = behind;
        let mut frame = Vec::new();
        ZlibDecoder::new(packed).read_to_end(&mut frame).ok()?;
        let (header, behind) = frame.split_first_chunk::<4>()?;
        let (header, blobs) = behind
            .get(8..)?
            .split_at_checked(u32::from_le_bytes(*header) as usize)?;
        bytes.extend(u16::try_from(header.len()).ok()?.to_le_bytes());
        bytes.extend(u16::try_from(blobs.len()).ok()?.to_le_bytes());
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(blobs);
    }
    Some(bytes)
}
