//! Streams of events on disk and in pipes: written line by line, read back even when the end is missing. If the disk is
//! full, the caller decides; no result is lost by it.

use std::io::{self, BufRead, Read as _, Write};

use crate::completeness::{Check, Sealer, StreamEnd};
use crate::event::Event;
use crate::safe;

/// The maximum number of bytes of a line. An event holds a case's texts and a few of its bytes.
const MAX_LINE: u64 = 1 << 28;

/// Writes events, each as one whole line with one call, so that only whole lines remain, however the process ends. The summary
/// gets the seal of the lines since the start.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    line: Vec<u8>,
    sealer: Sealer,
    /// Bytes of the lines that are whole.
    complete_bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Writes to `out`, which should not buffer.
    pub fn new(out: W) -> Self {
        Self {
            out,
            line: Vec::new(),
            sealer: Sealer::default(),
            complete_bytes: 0,
        }
    }

    /// The output, and how many bytes of it are whole lines: after an error it may hold more.
    pub fn into_parts(self) -> (W, u64) {
        (self.out, self.complete_bytes)
    }

    /// Writes one event.
    pub fn write_event(&mut self, event: &Event) -> io::Result<()> {
        self.line.clear();
        match event {
            Event::Start(_) => self.sealer = Sealer::default(),
            Event::Summary(summary) => {
                let mut summary = summary.clone();
                summary.seal = Some(self.sealer.seal());
                serde_json::to_writer(&mut self.line, &Event::Summary(summary)).map_err(io::Error::other)?;
                return self.write();
            }
            _ => {}
        }
        serde_json::to_writer(&mut self.line, event).map_err(io::Error::other)?;
        self.write()
    }

    /// Writes a line that another stream has for an event that is neither its start nor its summary.
    pub fn copy(&mut self, line: &[u8]) -> io::Result<()> {
        self.line.clear();
        self.line
            .extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        // A terminal shows exactly the bytes of the seal.
        if !safe::is_plain_json(&self.line) {
            let text = String::from_utf8(std::mem::take(&mut self.line)).map_err(io::Error::other)?;
            self.line = safe::escape_log(&text, false).into_owned().into_bytes();
        }
        self.sealer.add_line(&self.line);
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.out.flush()?;
        self.complete_bytes += self.line.len() as u64;
        Ok(())
    }
}

impl Writer<Vec<u8>> {
    /// How many bytes [`Self::take`] returns.
    pub const fn waiting(&self) -> usize {
        self.out.len()
    }

    /// Takes the lines that were written since the last time.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

/// A stream cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("read the stream: {0}")]
    Io(#[from] io::Error),
    /// A line is not an event.
    #[error("read line {line} of the stream: {reason}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// Why not.
        reason: String,
    },
    /// It is a stream of a later Cerith.
    #[error(
        "read the stream: it has format {stream_version}, and this cerith knows formats up to {newest_version}; use a newer cerith"
    )]
    Format {
        /// The stream's.
        stream_version: u32,
        /// The newest version that this Cerith knows.
        newest_version: u32,
    },
}

/// Reads one event from its line.
///
/// # Errors
/// The line is not an event.
pub fn read_event(line: &[u8]) -> serde_json::Result<Event> {
    // To find the tag of an event, serde buffers the whole event, which takes longer than everything else. Verdicts are
    // frequent, and are recognised by the beginning of their line.
    if line.starts_with(br#"{"event":"verdict",""#) {
        return Ok(Event::Verdict(serde_json::from_slice(line)?));
    }
    serde_json::from_slice(line)
}

/// An event without its exhibit, which makes up most of a line.
pub(crate) struct Bare {
    pub(crate) event: Event,
    /// The texts and known bugs in the line, by name.
    pub(crate) exhibit_names: Vec<String>,
}

/// Reads an event from its line, and keeps of its exhibit only what it says first in its stream.
pub(crate) fn read_bare_event(line: &[u8]) -> serde_json::Result<Bare> {
    let mut event = read_event(line)?;
    let mut said = Vec::new();
    if let Event::Verdict(verdict) | Event::Sweep(verdict) = &mut event
        && let Some(exhibit) = verdict.exhibit.take()
    {
        said.extend(exhibit.texts.into_iter().map(|text| text.file));
        said.extend(exhibit.known.into_iter().map(|bug| bug.name));
    }
    Ok(Bare {
        event,
        exhibit_names: said,
    })
}

/// Reads a stream, calling `each` with every event. A last line without its line break, as a full disk leaves it, is neither an
/// event nor an error. The caller must look at the [`StreamEnd`], which says whether the stream is whole.
pub fn read(mut input: impl BufRead, mut each: impl FnMut(Event)) -> Result<StreamEnd, ReadError> {
    let mut check = Check::default();
    // Bytes, because a line may be cut inside of a character.
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(check.finish(false));
        }
        number += 1;
        if line.len() as u64 == MAX_LINE {
            let reason = format!("the line has more than {MAX_LINE} bytes");
            return Err(ReadError::Line { line: number, reason });
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = match read_event(&line) {
            Ok(event) => event,
            Err(_) if !line.ends_with(b"\n") => return Ok(check.finish(true)),
            Err(error) => {
                return Err(ReadError::Line {
                    line: number,
                    reason: error.to_string(),
                });
            }
        };
        if let Event::Start(start) = &event
            && start.format > crate::event::SWEEPS
        {
            return Err(ReadError::Format {
                stream_version: start.format,
                newest_version: crate::event::SWEEPS,
            });
        }
        check.check_event(&event, &line);
        each(event);
    }
}
