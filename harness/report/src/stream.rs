//! Streams of events on disk and in pipes: written line by line, read back even when the end is missing.
//! Left out: what to do when the disk is full (the caller decides; nothing computed is lost by it).

use std::io::{self, BufRead, Write};

use crate::event::Event;

/// Writes events, each as one whole line with one call, so that only whole lines remain, however the process ends.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    line: Vec<u8>,
    /// Bytes of the lines that are whole.
    whole: u64,
}

impl<W: Write> Writer<W> {
    /// Writes to `out`, which should not buffer.
    pub const fn new(out: W) -> Self {
        Self {
            out,
            line: Vec::new(),
            whole: 0,
        }
    }

    /// The output, and how many bytes of it are whole lines: after an error it may hold more.
    pub fn into_parts(self) -> (W, u64) {
        (self.out, self.whole)
    }

    /// Writes one event.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, event).map_err(io::Error::other)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.out.flush()?;
        self.whole += self.line.len() as u64;
        Ok(())
    }
}

/// A stream cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("read the stream: {0}")]
    Io(#[from] io::Error),
    /// A line is no event.
    #[error("read line {line} of the stream: {reason}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// Why not.
        reason: String,
    },
    /// It is a stream of a later Cerith.
    #[error(
        "read the stream: it has format {found}, and this cerith knows formats up to {known}; use a newer cerith"
    )]
    Format {
        /// The stream's.
        found: u32,
        /// The newest version that this Cerith knows.
        known: u32,
    },
}

/// Reads one event from its line.
///
/// # Errors
/// The line is no event.
pub fn event(line: &[u8]) -> serde_json::Result<Event> {
    // Before serde looks at the tag of an event it keeps all of it in a form of its own, which takes longer than everything else.
    // A verdict, of which there are many, is known by how its line begins.
    if line.starts_with(br#"{"event":"verdict",""#) {
        return Ok(Event::Verdict(serde_json::from_slice(line)?));
    }
    serde_json::from_slice(line)
}

/// An event without its exhibit, which makes up most of a line.
pub(crate) struct Bare {
    pub(crate) event: Event,
    /// The texts and known bugs in the line, by name.
    pub(crate) said: Vec<String>,
}

/// Reads an event from its line, and keeps of its exhibit only what it says first in its stream.
pub(crate) fn bare(line: &[u8]) -> serde_json::Result<Bare> {
    let mut event = event(line)?;
    let mut said = Vec::new();
    if let Event::Verdict(verdict) | Event::Sweep(verdict) = &mut event
        && let Some(exhibit) = verdict.exhibit.take()
    {
        said.extend(exhibit.texts.into_iter().map(|text| text.file));
        said.extend(exhibit.known.into_iter().map(|bug| bug.name));
    }
    Ok(Bare { event, said })
}

/// Reads a stream, calling `each` with every event. A last line without its line break, as a full disk leaves it, is neither an
/// event nor an error; the answer says whether there was one.
pub fn read(mut input: impl BufRead, mut each: impl FnMut(Event)) -> Result<bool, ReadError> {
    // Bytes, because a line may be cut inside of a character.
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        number += 1;
        if !line.ends_with(b"\n") {
            match event(&line) {
                Ok(event) => each(event),
                Err(_) => return Ok(true),
            }
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = event(&line).map_err(|error| ReadError::Line {
            line: number,
            reason: error.to_string(),
        })?;
        if let Event::Start(start) = &event
            && start.format > crate::event::SWEEPS
        {
            return Err(ReadError::Format {
                found: start.format,
                known: crate::event::SWEEPS,
            });
        }
        each(event);
    }
}
