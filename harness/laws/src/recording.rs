//! Part files of a recorder, and the archives of bytes that recordings have.
//!
//! An input begins with a byte that says what the rest is:
//!
//! | byte | the rest |
//! |---|---|
//! | `z` | a data archive, beside a case file that takes bytes from it |
//! | any other | a part file in which the lengths before a frame are two `u16`, little endian, because no input is longer; the last frame may be cut short |

use std::fs;

use cerith_case::Corpus;
use cerith_gen::{Ended, Fault, TrialResult, case_file};
use cerith_recording::part::Part;
use cerith_recording::{Options, collect};

use crate::ensure;

/// Checks the laws of the reader of part files, of the collector and of the reader of archives on these bytes.
pub fn check(bytes: &[u8]) -> TrialResult {
    let Some((how, rest)) = bytes.split_first() else {
        return Ok(Ended::Refused);
    };
    if *how == b'z' {
        return check_archive(rest);
    }
    let file = encode_part(rest);
    let mut damaged = false;
    for frame in Part::new(file.as_slice()) {
        if let Err(error) = frame {
            crate::check_message(&error)?;
            ensure(error.to_string().contains("at byte"), || {
                format!("an error without a place: {error}")
            })?;
            damaged = true;
        }
    }
    let cases = collect_cases(&file)?;
    Ok(if damaged {
        Ended::Refused
    } else if cases == 0 {
        Ended::Stopped
    } else {
        Ended::Finished
    })
}

/// The case file takes bytes from an archive.
fn check_archive(bytes: &[u8]) -> TrialResult {
    let case = case_file::SEEDS[0].as_bytes();
    let read = case_file::read(case, case_file::KERNEL.as_bytes(), bytes)?;
    Ok(if read.problems.is_empty() {
        Ended::Finished
    } else {
        Ended::Refused
    })
}

/// Counts the cases that a part file yields, and checks that none has a problem.
fn collect_cases(file: &[u8]) -> Result<u64, Fault> {
    let io = |error: std::io::Error| Fault(format!("a folder cannot be used: {error}"));
    let folder = tempfile::tempdir().map_err(io)?;
    let (parts, out) = (folder.path().join("parts"), folder.path().join("out"));
    fs::create_dir(&parts).map_err(io)?;
    fs::write(parts.join("1-0.part"), file).map_err(io)?;
    let options = Options {
        parts,
        out: out.clone(),
        command: None,
        sample: "layout".to_owned(),
        private: false,
    };
    let collected = match collect(&options) {
        Ok(collected) => collected,
        Err(error) => return Err(Fault(format!("nothing is collected: {error}"))),
    };
    let corpus = Corpus::read(&out)
        .map_err(|error| Fault(format!("the collected folder is not a corpus: {error}")))?;
    if let Some(problem) = corpus.problems().first() {
        return Err(Fault(problem.render(corpus.sources(), false)));
    }
    let mut cases = 0;
    for entry in corpus.entries() {
        cases += 1;
        entry.resolve().map_err(|problems| {
            let shown = problems
                .iter()
                .map(|problem| problem.render(corpus.sources(), false));
            Fault(shown.collect::<Vec<_>>().join("\n"))
        })?;
    }
    ensure(cases == collected.cases, || {
        format!(
            "the manifest has {} cases, and the folder {cases}",
            collected.cases
        )
    })?;
    Ok(cases)
}

/// A part file of frames whose lengths are short.
pub fn encode_part(plain: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut rest = plain;
    while let Some((lengths, behind)) = rest.split_at_checked(4) {
        let length = |at: usize| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
        let (header, payload) = (length(0), length(2));
        let (frame, behind) = behind.split_at((header + payload).min(behind.len()));
        file.extend((header as u32).to_le_bytes());
        file.extend((payload as u64).to_le_bytes());
        file.extend_from_slice(frame);
        rest = behind;
    }
    file.extend_from_slice(rest);
    file
}

/// The frames of an input.
pub fn encode_frames(frames: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![b'p'];
    for (header, payload) in frames {
        let length = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes();
        bytes.extend(length(header.len()));
        bytes.extend(length(payload.len()));
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(payload);
    }
    bytes
}
