//! A conversation with a child process: starting it, moving frames within a time limit, noticing its end, keeping its standard
//! error, ending it. The callers know the meaning of frames and of its end.

pub mod frame;

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use self::frame::{BadFrame, FrameLimits};
use crate::failure::Exit;

/// Room made for every read: what a pipe holds.
const READ_AT_LEAST: usize = 64 * 1024;

/// Room made at once for a frame that says that it is so large.
const READ_AT_MOST: usize = 64 << 20;

/// Pieces of stderr that are read at once, 4 KiB each: twice what a pipe holds.
const CHUNKS_AT_ONCE: usize = 32;

/// How long a killed process may take to be gone: a GPU's driver takes its context apart.
const BURIAL: Duration = Duration::from_mins(1);

/// The interval of checks whether a process is gone.
const LOOKED_EVERY: Duration = Duration::from_millis(2);

/// The part of standard error that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StderrPart {
    /// So many from the beginning: what failed first.
    First(usize),
    /// So many from the end.
    Last(usize),
}

/// The reason why a frame did not come, or could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The process closed its pipe.
    Gone,
    /// The clock ran out.
    Late,
    /// The received bytes are not a frame.
    Noise(BadFrame),
}

/// A running child and the pipes to it. Its whole process group is killed, and it is reaped, when this is dropped.
#[derive(Debug)]
pub struct Conversation {
    child: Child,
    /// How it ended, once it is reaped: its number may then be another process's.
    ended: Option<ExitStatus>,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stdout_open: bool,
    stderr: ChildStderr,
    stderr_open: bool,
    limits: FrameLimits,
    /// Bytes from stdout that are not yet a whole frame.
    incoming: Vec<u8>,
    stderr_part: StderrPart,
    stderr_bytes: Vec<u8>,
}

impl Conversation {
    /// Starts a child in a process group of its own, so that Ctrl-C is for this process to answer. `spawn` is what starts it;
    /// `most` is what its frames may have.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        mut command: Command,
        kept: StderrPart,
        most: FrameLimits,
        spawn: impl FnOnce(Command) -> io::Result<Child>,
    ) -> io::Result<Self> {
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawn(command)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("no pipes"));
        };
        let conversation = Self {
            child,
            ended: None,
            stdin,
            stdout,
            stdout_open: true,
            stderr,
            stderr_open: true,
            limits: most,
            incoming: Vec::new(),
            stderr_part: kept,
            stderr_bytes: Vec::new(),
        };
        set_nonblocking(&conversation.stdin)?;
        set_nonblocking(&conversation.stdout)?;
        set_nonblocking(&conversation.stderr)?;
        Ok(conversation)
    }

    /// The process group's id, which is the child's.
    pub fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Sends bytes, and removes sent ones from the front of `rest`, so that a late call can be continued. Meanwhile it reads
    /// from the child, which may block otherwise, but keeps at most `read_most` unread bytes.
    ///
    /// # Errors
    /// The child is gone, or does not read in time.
    pub fn send(&mut self, rest: &mut &[u8], read_most: u64, deadline: Instant) -> Result<(), Silence> {
        while !rest.is_empty() {
            match self.stdin.write(rest) {
                Ok(count) => *rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let reading = self.stdout_open && (self.incoming.len() as u64) < read_most;
                    self.wait(reading, true, deadline)?;
                    if reading {
                        // A child that has closed its stdout may still read.
                        let _ = self.fill();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Silence::Gone),
            }
        }
        Ok(())
    }

    /// The next frame's header and blobs, of no more than `most` bytes together.
    ///
    /// # Errors
    /// The child is gone, sends nothing in time, or sends bytes that are not such a frame.
    pub fn receive(&mut self, most: u64, deadline: Instant) -> Result<(Vec<u8>, Vec<u8>), Silence> {
        loop {
            if let Some((head, blobs)) =
                frame::read_lengths(&self.incoming, self.limits).map_err(Silence::Noise)?
            {
                let end = frame::LENGTHS + head + blobs;
                if end as u64 > most {
                    return Err(Silence::Noise(BadFrame::Large(end)));
                }
                if self.incoming.len() >= end {
                    let rest = self.incoming.split_off(end);
                    let mut header = std::mem::replace(&mut self.incoming, rest);
                    let blobs = header.split_off(frame::LENGTHS + head);
                    header.drain(..frame::LENGTHS);
                    return Ok((header, blobs));
                }
                // The buffer grows as bytes arrive: the announced length is untrusted.
                self.incoming
                    .reserve((end - self.incoming.len()).min(READ_AT_MOST));
            }
            if !self.fill()? {
                self.wait(true, false, deadline)?;
            }
        }
    }

    /// Whether bytes have come after the last frame that was received.
    pub fn has_more(&self) -> bool {
        !self.incoming.is_empty()
    }

    /// Whether it runs and all its bytes were received. If not, its bytes are of no more use.
    pub fn is_quiet(&self) -> bool {
        !self.has_more() && matches!(rustix::io::read(&self.stdout, &mut [0]), Err(Errno::AGAIN))
    }

    /// Whether it may not have read all that was sent.
    pub fn has_unread_input(&self) -> bool {
        !matches!(rustix::io::ioctl_fionread(&self.stdin), Ok(0))
    }

    /// Reads what is there; whether anything was.
    fn fill(&mut self) -> Result<bool, Silence> {
        self.incoming.reserve(READ_AT_LEAST);
        match rustix::io::read(&self.stdout, spare_capacity(&mut self.incoming)) {
            Ok(1..) | Err(Errno::INTR) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Ok(0) | Err(_) => {
                self.stdout_open = false;
                Err(Silence::Gone)
            }
        }
    }

    /// Waits until something can be read (if `reading`) or written (if `writing`), reading stderr meanwhile.
    fn wait(&mut self, reading: bool, writing: bool, deadline: Instant) -> Result<(), Silence> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Silence::Late);
        }
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut watched = Vec::with_capacity(3);
        if reading {
            watched.push(PollFd::new(&self.stdout, PollFlags::IN));
        }
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

    /// Reads what is there, but of a child that writes as fast as this reads no more than a part: the deadline is looked at in
    /// between.
    fn drain_stderr(&mut self) {
        let mut chunk = [0; 4096];
        for _ in 0..CHUNKS_AT_ONCE {
            if !self.stderr_open {
                break;
            }
            match self.stderr.read(&mut chunk) {
                Ok(0) => self.stderr_open = false,
                Ok(count) => self.keep(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.stderr_open = false,
            }
        }
        if let StderrPart::Last(most) = self.stderr_part {
            self.stderr_bytes
                .drain(..self.stderr_bytes.len().saturating_sub(most));
        }
    }

    fn keep(&mut self, said: &[u8]) {
        match self.stderr_part {
            StderrPart::First(most) => {
                let room = most.saturating_sub(self.stderr_bytes.len());
                self.stderr_bytes
                    .extend_from_slice(said.get(..said.len().min(room)).unwrap_or_default());
            }
            StderrPart::Last(most) => {
                self.stderr_bytes.extend_from_slice(said);
                if self.stderr_bytes.len() > 4 * most {
                    self.stderr_bytes.drain(..self.stderr_bytes.len() - most);
                }
            }
        }
    }

    /// Its standard error so far, or since it was forgotten; only the kept part if there is much.
    pub fn stderr_text(&mut self) -> String {
        self.drain_stderr();
        String::from_utf8_lossy(&self.stderr_bytes).into_owned()
    }

    /// Forgets what it wrote to standard error.
    pub fn forget_said(&mut self) {
        self.stderr_bytes.clear();
    }

    /// Sees the process off once its pipe is closed: gives it this long to end by itself, kills what is left of its group, and
    /// reaps it. How it ended by itself, if it did.
    pub fn end(&mut self, breath: Duration) -> Option<Exit> {
        let by_itself = self.wait_gone(breath);
        self.kill();
        self.ended.filter(|_| by_itself).map(exit_of)
    }

    /// Kills the whole process group and reaps the child. Nothing happens where that is done already.
    pub fn kill(&mut self) {
        if self.ended.is_some() {
            return;
        }
        if let Some(group) = self.group() {
            // An error means that the group is empty.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if self.wait_gone(BURIAL) {
            self.ended = self.child.wait().ok();
        }
    }

    /// Waits this long for the process to be gone, and reads stderr meanwhile; whether it is. It is not reaped: until then its
    /// number is its own, and its group can be killed by it.
    fn wait_gone(&mut self, limit: Duration) -> bool {
        let Some(pid) = self.group().filter(|_| self.ended.is_none()) else {
            return true;
        };
        let deadline = Instant::now() + limit;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            self.drain_stderr();
            match waitid(WaitId::Pid(pid), options) {
                Ok(Some(_)) | Err(Errno::CHILD) => break true,
                _ if Instant::now() >= deadline => break false,
                _ => std::thread::sleep(LOOKED_EVERY),
            }
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.kill();
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.signal(), status.code()) {
        (Some(signal), _) => Exit::Signal(signal),
        (None, code) => Exit::Code(code.unwrap_or(-1)),
    }
}

fn set_nonblocking(pipe: &impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(pipe)?;
    Ok(fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: FrameLimits = FrameLimits {
        header: 1 << 20,
        blobs: 1 << 20,
    };

    fn start_shell(script: &str, kept: StderrPart) -> Conversation {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Conversation::start(command, kept, LIMITS, |mut command| command.spawn()).expect("a shell")
    }

    fn deadline_soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    fn encode_frame(blob: &[u8]) -> Vec<u8> {
        frame::encode_frame(&"h", [blob]).expect("a frame")
    }

    #[test]
    fn frames_come_back_one_by_one() {
        let mut child = start_shell("cat", StderrPart::First(100));
        let both = [encode_frame(b"one"), encode_frame(b"two")].concat();
        child
            .send(&mut &both[..], u64::MAX, deadline_soon())
            .expect("sent");
        let mut next = || child.receive(1 << 20, deadline_soon()).expect("a frame").1;
        assert_eq!([next(), next()], [b"one", b"two"]);
        assert!(child.is_quiet());
        let now = Instant::now();
        assert_eq!(child.receive(1 << 20, now), Err(Silence::Late));
    }

    /// More than both pipes hold.
    #[test]
    fn a_child_that_answers_before_it_has_heard_all_is_heard() {
        let mut child = start_shell("cat", StderrPart::First(100));
        let long = encode_frame(&vec![7; 900_000]);
        child
            .send(&mut &long[..], u64::MAX, deadline_soon())
            .expect("sent");
        assert_eq!(
            child
                .receive(1 << 20, deadline_soon())
                .map(|(_, blobs)| blobs.len()),
            Ok(900_000)
        );
    }

    #[test]
    fn unread_input_is_seen() {
        let mut child = start_shell("head -c 40; sleep 60", StderrPart::First(100));
        assert!(!child.has_unread_input());
        let frame = encode_frame(&[7; 100]);
        child
            .send(&mut &frame[..], u64::MAX, deadline_soon())
            .expect("sent");
        let mut answered = 0;
        while answered < 40 {
            answered += child.stdout.read(&mut [0; 40]).unwrap_or_default();
        }
        assert!(child.has_unread_input());
    }

    #[test]
    fn no_more_is_read_meanwhile_than_is_wanted() {
        let mut child = start_shell("cat", StderrPart::First(100));
        let long = encode_frame(&vec![7; 900_000]);
        let mut rest = &long[..];
        let slice = Instant::now() + Duration::from_millis(200);
        assert_eq!(child.send(&mut rest, 1, slice), Err(Silence::Late));
        assert!(!rest.is_empty() && child.incoming.len() < 300_000);
        // The rest can be sent later.
        child.send(&mut rest, u64::MAX, deadline_soon()).expect("sent");
        assert!(child.receive(1 << 20, deadline_soon()).is_ok());
    }

    #[test]
    fn what_is_no_frame_is_noise() {
        let mut child = start_shell(
            "echo this is not a frame at all; sleep 60",
            StderrPart::First(100),
        );
        assert!(matches!(
            child.receive(1 << 20, deadline_soon()),
            Err(Silence::Noise(BadFrame::Lengths { .. }))
        ));
        let mut child = start_shell("cat", StderrPart::First(100));
        child
            .send(&mut &encode_frame(b"one")[..], 100, deadline_soon())
            .expect("sent");
        assert_eq!(
            child.receive(17, deadline_soon()),
            Err(Silence::Noise(BadFrame::Large(18)))
        );
    }

    #[test]
    fn its_end_is_noticed() {
        let check = |script: &str, breath: u64, expected: Option<Exit>| {
            let mut child = start_shell(script, StderrPart::First(100));
            assert_eq!(
                child.receive(100, deadline_soon()),
                Err(Silence::Gone),
                "{script}"
            );
            assert_eq!(child.end(Duration::from_millis(breath)), expected, "{script}");
            child.kill();
        };
        check("exit 3", 20_000, Some(Exit::Code(3)));
        check("kill -11 $$", 20_000, Some(Exit::Signal(11)));
        check("exec >&-; sleep 60", 10, None);
    }

    #[test]
    fn its_group_ends_with_it() {
        let mut child = start_shell(
            "sleep 60 >/dev/null & echo $! >&2; exec >&-; wait",
            StderrPart::First(100),
        );
        assert_eq!(child.receive(100, deadline_soon()), Err(Silence::Gone));
        let other: i32 = child.stderr_text().trim().parse().expect("a number");
        child.kill();
        let state = || std::fs::read_to_string(format!("/proc/{other}/stat")).unwrap_or_default();
        let deadline = deadline_soon();
        // A killed process may be reparented and not yet reaped.
        while cfg!(target_os = "linux") && !state().is_empty() && !state().contains(") Z ") {
            assert!(Instant::now() < deadline, "{}", state());
            std::thread::sleep(LOOKED_EVERY);
        }
    }

    /// Each read has a limit, so that the deadline is checked even if there is always more.
    #[test]
    fn a_child_that_writes_without_end_is_late() {
        let mut child = start_shell("exec yes 3>&1 >&2", StderrPart::Last(40));
        let slice = Instant::now() + Duration::from_millis(300);
        assert_eq!(child.receive(100, slice), Err(Silence::Late));
        assert_eq!(child.stderr_text().len(), 40);
        child.kill();
    }

    #[test]
    fn as_much_of_standard_error_is_kept_as_was_wanted() {
        let check = |kept: StderrPart, expected: &str| {
            let mut child = start_shell("printf 0123456789 >&2", kept);
            assert_eq!(child.end(Duration::from_secs(20)), Some(Exit::Code(0)));
            assert_eq!(child.stderr_text(), expected);
            child.forget_said();
            assert_eq!(child.stderr_text(), "");
        };
        check(StderrPart::First(4), "0123");
        check(StderrPart::Last(4), "6789");
        check(StderrPart::Last(40), "0123456789");
    }
}
