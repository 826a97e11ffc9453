//! The lines of one stream as events, read ahead by a thread of their own. See `source` for their meaning in the stream.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::completeness::Check;
use crate::event::Event;
use crate::stream::{self, Bare};

/// Lines that a thread hands over at once.
const BATCH: usize = 128;

/// The content of a line.
#[derive(Debug)]
pub enum Read {
    /// An event.
    Event(Box<Event>, Line),
    /// None, for this reason.
    Damaged(String),
    /// It is not whole, and the last one.
    Cut,
    /// There is none.
    End,
    /// It cannot be read, for this reason.
    Failed(String),
}

/// The line of an event.
#[derive(Debug)]
pub struct Line {
    /// All of it.
    pub text: Vec<u8>,
    /// The texts and known bugs in it, by name.
    pub exhibit_names: Vec<String>,
    /// For a summary: the differences between the lines before it and its counts.
    pub gaps: Vec<String>,
}

/// The lines of a stream, each with its number, from 1.
#[derive(Debug)]
pub enum Lines<R> {
    /// Read on first use.
    Here(R, Box<Progress>),
    /// Read by a thread.
    Ahead(Receiver<Vec<(usize, Read)>>, VecDeque<(usize, Read)>),
}

/// How far a stream is read.
#[derive(Debug, Default)]
pub struct Progress {
    /// Lines.
    number: usize,
    check: Check,
}

impl<R: BufRead> Lines<R> {
    /// The lines of an input.
    pub fn new(input: R) -> Self {
        Self::Here(input, Box::default())
    }

    /// The next line that is not empty, or the end.
    pub fn next(&mut self) -> (usize, Read) {
        match self {
            Self::Here(input, progress) => {
                let read = read(input, progress).unwrap_or_else(|error| Read::Failed(error.to_string()));
                (progress.number, read)
            }
            Self::Ahead(receiver, waiting) => {
                if waiting.is_empty() {
                    // A thread that is gone without an end has failed.
                    let gone = || vec![(0, Read::Failed("its reader ended early".to_owned()))];
                    waiting.extend(receiver.recv().unwrap_or_else(|_| gone()));
                }
                waiting.pop_front().unwrap_or((0, Read::End))
            }
        }
    }
}

impl<R: BufRead + Send + 'static> Lines<R> {
    /// Has a thread read from here on, if the system has one to give.
    pub fn ahead(self) -> Self {
        let Self::Here(mut input, mut progress) = self else {
            return self;
        };
        let (sender, receiver) = mpsc::sync_channel(2);
        // A closure that no thread runs drops its input, so the input goes through a channel.
        let (give, given) = mpsc::sync_channel::<(R, Box<Progress>)>(1);
        let spawned = thread::Builder::new().spawn(move || {
            let Ok((mut input, mut progress)) = given.recv() else {
                return;
            };
            loop {
                let mut batch = Vec::with_capacity(BATCH);
                let mut more = true;
                while more && batch.len() < BATCH {
                    let read = read(&mut input, &mut progress)
                        .unwrap_or_else(|error| Read::Failed(error.to_string()));
                    more = matches!(read, Read::Event(..) | Read::Damaged(_));
                    batch.push((progress.number, read));
                }
                if sender.send(batch).is_err() || !more {
                    return;
                }
            }
        });
        if spawned.is_err() {
            return Self::Here(input, progress);
        }
        match give.send((input, progress)) {
            Ok(()) => Self::Ahead(receiver, VecDeque::new()),
            Err(mpsc::SendError(back)) => {
                (input, progress) = back;
                Self::Here(input, progress)
            }
        }
    }
}

fn read(input: &mut impl BufRead, progress: &mut Progress) -> io::Result<Read> {
    loop {
        // Bytes, because a line may be cut inside of a character.
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(Read::End);
        }
        progress.number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        return Ok(match stream::read_bare_event(&line) {
            Ok(Bare {
                event,
                exhibit_names: said,
            }) => {
                if !line.ends_with(b"\n") {
                    line.push(b'\n');
                }
                let gaps = progress.check.check_event(&event, &line).to_vec();
                Read::Event(
                    Box::new(event),
                    Line {
                        text: line,
                        exhibit_names: said,
                        gaps,
                    },
                )
            }
            Err(_) if !line.ends_with(b"\n") => Read::Cut,
            Err(error) => Read::Damaged(error.to_string()),
        });
    }
}
