//! Streams of events on disk and in pipes: written line by line, read back even when the end is missing.
//! Left out: what to do when the disk is full (the caller decides; nothing computed is lost by it).

use std::io::{self, BufRead, Write};

use crate::event::Event;

/// Writes events, each as one whole line with one call, so that whatever ends the process leaves whole lines behind.
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

    /// What is written to, and how many bytes of it are whole lines: after an error there may be more.
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
    /// It is a stream of a later Conch.
    #[error(
        "read the stream: it has format {found}, and this conch knows formats up to {known}; use a newer conch"
    )]
    Format {
        /// The stream's.
        found: u32,
        /// Ours.
        known: u32,
    },
}

/// Reads a stream, calling `each` with every event. A last line without its line break, as a full disk leaves it, is
/// not an event and no error; the answer says whether there was one.
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
            match serde_json::from_slice(&line) {
                Ok(event) => each(event),
                Err(_) => return Ok(true),
            }
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event: Event = serde_json::from_slice(&line).map_err(|error| ReadError::Line {
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
