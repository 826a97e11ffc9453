//! A child process from its parent's side: starting it, moving frames within a time limit, ending it. Left out: what it is asked
//! to do (`super::executor`).

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::wire;

/// Bytes of stderr that are kept, from the beginning: what failed first.
const STDERR_KEPT: usize = 4096;

/// Room made for every read of an answer: what a pipe holds.
const READ_AT_LEAST: usize = 64 * 1024;

/// How long a process whose pipe is closed gets to be gone by itself, so that its own exit status is seen.
const LAST_BREATH: Duration = Duration::from_secs(5);

/// How long a killed process may take to be gone: the driver takes its context apart.
const BURIAL: Duration = Duration::from_mins(1);

/// Why a frame did not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// The process closed its pipe.
    Gone,
    /// The clock ran out.
    Late,
    /// What came is no frame.
    Noise(String),
}

/// A running child. Killed and reaped when dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    incoming: Vec<u8>,
    said: Vec<u8>,
    stderr_open: bool,
}

impl Process {
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            // Ctrl-C is for the parent to answer.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("no pipes"));
        };
        let process = Self {
            child,
            stdin,
            stdout,
            stderr,
            incoming: Vec::new(),
            said: Vec::new(),
            stderr_open: true,
        };
        set_nonblocking(&process.stdin)?;
        set_nonblocking(&process.stdout)?;
        set_nonblocking(&process.stderr)?;
        Ok(process)
    }

    /// Sends a frame. Answers that come meanwhile are read, since the child may wait for that.
    pub(super) fn send(&mut self, frame: &[u8], deadline: Instant) -> Result<(), Silence> {
        let mut rest = frame;
        while !rest.is_empty() {
            match self.stdin.write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(true, deadline)?;
                    match self.fill() {
                        Ok(_) | Err(Silence::Gone) => {}
                        Err(silence) => return Err(silence),
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Silence::Gone),
            }
        }
        Ok(())
    }

    /// The next answer's header and blobs.
    pub(super) fn receive(&mut self, deadline: Instant) -> Result<(Vec<u8>, Vec<u8>), Silence> {
        loop {
            if let Some((head, blobs)) = wire::lengths(&self.incoming).map_err(Silence::Noise)? {
                let end = wire::LENGTHS + head + blobs;
                if self.incoming.len() >= end {
                    let rest = self.incoming.split_off(end);
                    let mut header = std::mem::replace(&mut self.incoming, rest);
                    let blobs = header.split_off(wire::LENGTHS + head);
                    header.drain(..wire::LENGTHS);
                    return Ok((header, blobs));
                }
                self.incoming.reserve(end - self.incoming.len());
            }
            if !self.fill()? {
                self.wait(false, deadline)?;
            }
        }
    }

    /// Reads what is there; whether anything was.
    fn fill(&mut self) -> Result<bool, Silence> {
        self.incoming.reserve(READ_AT_LEAST);
        match rustix::io::read(&self.stdout, spare_capacity(&mut self.incoming)) {
            Ok(0) => Err(Silence::Gone),
            Ok(_) | Err(Errno::INTR) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(_) => Err(Silence::Gone),
        }
    }

    /// Waits until something can be read (or written, if `writing`), reading stderr meanwhile.
    fn wait(&mut self, writing: bool, deadline: Instant) -> Result<(), Silence> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Silence::Late);
        }
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut watched = vec![PollFd::new(&self.stdout, PollFlags::IN)];
        if writing {
            watched.push(PollFd::new(&self.stdin, PollFlags::OUT));
        }
        if self.stderr_open {
            watched.push(PollFd::new(&self.stderr, PollFlags::IN));
        }
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Err(Silence::Gone),
        }
        self.drain_stderr();
        Ok(())
    }

    fn drain_stderr(&mut self) {
        let mut chunk = [0; 4096];
        while self.stderr_open {
            match self.stderr.read(&mut chunk) {
                Ok(0) => self.stderr_open = false,
                Ok(count) => {
                    let room = STDERR_KEPT.saturating_sub(self.said.len());
                    self.said
                        .extend_from_slice(chunk.get(..count.min(room)).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.stderr_open = false,
            }
        }
    }

    /// What it wrote to standard error, from the beginning.
    pub(super) fn said(&mut self) -> String {
        self.drain_stderr();
        String::from_utf8_lossy(&self.said).trim_end().to_owned()
    }

    /// Sees a process off that ended by itself, and says how it did.
    pub(super) fn end(&mut self) -> String {
        self.wait_gone(LAST_BREATH);
        let status = self.child.try_wait();
        self.kill();
        match status {
            Ok(Some(status)) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("signal {signal}"),
                (None, code) => format!("exit code {}", code.unwrap_or(-1)),
            },
            _ => "it closed its pipes".to_owned(),
        }
    }

    fn wait_gone(&mut self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            self.drain_stderr();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills and reaps it.
    pub(super) fn kill(&mut self) {
        // An error means that it is gone.
        let _ = self.child.kill();
        self.wait_gone(BURIAL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn set_nonblocking(pipe: &impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(pipe)?;
    Ok(fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?)
}
