//! Part files: what a recorder writes while a program runs, one file for each process. **This page is the specification of
//! the format.** The other side is `python/cerith_triton/parts.py`. See [`mod@crate::collect`] for making a recording from
//! them.
//!
//! A part file is a run of frames: the length of a header (`u32`), the length of a payload (`u64`, both little endian), the
//! header (JSON), the payload. A process that is killed leaves a last frame cut short; the frames before it count.
//!
//! | `frame` | says | payload |
//! |---|---|---|
//! | `python` | [`PythonFrame`]: a Python began, or imported Triton; only below `cerith record` | |
//! | `process` | [`Process`]: which Python with which Triton | |
//! | `kernel` | [`KernelFrame`]: a kernel's text, the first time it is launched | |
//! | `bytes` | [`BytesFrame`]: contents of a storage, the first time they are seen | `zlib` of them |
//! | `launch` | [`LaunchFrame`]: a launch that comes next. The frame is written before the launch runs | |
//! | `ended` | [`EndedFrame`]: its result | |
//! | `skipped` | [`Skipped`]: launches that could not become cases | |
//! | `end` | [`End`]: the process finished, with figures | |
//!
//! A launch without its `ended` was running when the process died.
//!
//! Frames of other kinds are skipped. Values are [`cerith_toolchain::request::Value`]'s JSON.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The version of the format.
pub const FORMAT: u32 = 2;

/// More than any header has.
const MAX_HEADER: u32 = 64 << 20;

/// More than a storage's compressed bytes can be.
const MAX_PAYLOAD: u64 = 1 << 30;

/// A Python that began with a recorder in it, or imported Triton.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PythonFrame {
    /// Its process.
    pub pid: u64,
    /// Triton's version, once it is imported.
    pub triton: Option<String>,
}

/// A process that recorded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Process {
    /// [`FORMAT`].
    pub format: u32,
    /// Its id.
    pub pid: u64,
    /// Its command line, as in `sys.argv`.
    pub argv: Vec<String>,
    /// Python's version.
    pub python: String,
    /// Triton's version.
    pub triton: String,
    /// torch's version, if it was imported.
    pub torch: Option<String>,
    /// NumPy's version, if it was imported.
    pub numpy: Option<String>,
    /// System and processor.
    pub platform: String,
}

/// A kernel with all that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KernelFrame {
    /// Its number in this process, from 0.
    pub kernel: u64,
    /// The function's name in the first file.
    pub function: String,
    /// The kernel's file, then the siblings that it imports.
    pub files: Vec<KernelFile>,
    /// Whether Triton's interpreter could see the text.
    pub inspectable: bool,
    /// File and line of the program.
    pub origin: String,
}

/// A Python file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KernelFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Contents of a storage.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BytesFrame {
    /// `BLAKE2b` of the bytes, 32 hexadecimal digits.
    pub hash: String,
    /// How many bytes they are.
    pub size: u64,
}

/// A launch, as far as it is known before it runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LaunchFrame {
    /// Its number in this process, from 0.
    pub launch: u64,
    /// The kernel's number in this process.
    pub kernel: u64,
    /// The engine that executed it: `interpret` (the interpreter, with CUDA tensors), `interpret+host` (with CPU
    /// tensors), `cuda`.
    pub engine: String,
    /// The GPU's compute capability (90), if there was one.
    pub target: Option<u32>,
    /// Programs along the axes that were given.
    pub grid: Vec<i64>,
    /// The storages of the arguments, and those that they hold addresses of.
    pub storages: Vec<StorageFrame>,
    /// Every parameter with its value.
    pub args: Vec<(String, Json)>,
    /// Launch options.
    pub options: Vec<(String, Json)>,
    /// The test that launched it, as pytest names it.
    #[serde(default)]
    pub test: Option<String>,
}

/// The result of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct EndedFrame {
    /// Its number.
    pub launch: u64,
    /// The hashes of its storages' contents after the launch, in order; `None` if the contents were not kept.
    #[serde(default)]
    pub after: Vec<Option<String>>,
    /// The exception that the launch ended with.
    pub raised: Option<Raised>,
    /// The reason why it cannot become a case after all.
    pub left_out: Option<String>,
    /// The undefined behaviour, if the launch was judged before it ran, and therefore did not run.
    pub refused: Option<String>,
}

/// A storage at a launch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StorageFrame {
    /// Its bytes.
    pub size: u64,
    /// The first parameter that shows it.
    pub name: String,
    /// The hash of its contents before the launch; `None` if they were not kept.
    pub before: Option<String>,
    /// Why bytes were not kept: `max-bytes`, `max-size`, `no-data`, `cuda-graph`; `uninitialised` if nothing wrote to it before.
    pub why: Option<String>,
    /// Addresses that it holds: byte, storage, byte of that storage.
    #[serde(default)]
    pub addresses: Vec<(u64, usize, i64)>,
}

impl StorageFrame {
    /// Whether nothing wrote to it before the launch.
    pub fn is_uninitialised(&self) -> bool {
        self.before.is_none() && self.why.as_deref() == Some("uninitialised")
    }
}

/// An exception: the root cause, as Cerith's workers report it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Raised {
    /// Its type, with its module if that is not `builtins`.
    pub kind: String,
    /// Its message.
    pub message: String,
    /// Whether Triton's compiler raised it.
    #[serde(default)]
    pub compiling: bool,
}

/// Launches that could not become cases.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Skipped {
    /// The kernel's name.
    pub kernel: String,
    /// The reason, in words.
    pub why: String,
    /// How many launches.
    pub count: u64,
}

/// Figures of a process that ended.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct End {
    /// Launches that were seen.
    pub launches: u64,
    /// Launches that were written.
    pub kept: u64,
    /// Launches that were left out because one like them was already written.
    pub repeated: u64,
    /// Launches of kernels that the filter excludes.
    pub filtered: u64,
    /// The names of those kernels.
    #[serde(default)]
    pub filtered_kernels: Vec<String>,
    /// Launches that could not become cases.
    pub skipped: u64,
    /// Launches that were judged before they ran.
    #[serde(default)]
    pub judged: u64,
    /// The times.
    pub seconds: Seconds,
}

/// Seconds of a process.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Seconds {
    /// In launches, recording included.
    pub run: f64,
    /// In recording.
    pub recording: f64,
}

/// The location of a payload in a part file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Its first byte.
    pub offset: u64,
    /// How many bytes it has.
    pub len: u64,
}

/// One frame. Payloads stay in the file: they are far larger than all else.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// A Python began, or imported Triton.
    Python(PythonFrame),
    /// The process that records.
    Process(Process),
    /// A kernel.
    Kernel(KernelFrame),
    /// Contents, and where in the file their `zlib` stream is.
    Bytes(BytesFrame, Payload),
    /// A launch.
    Launch(Box<LaunchFrame>),
    /// The end of a launch.
    Ended(EndedFrame),
    /// Launches that could not be recorded.
    Skipped(Skipped),
    /// The end.
    End(End),
    /// A kind that this version does not know.
    Other,
}

/// A problem of a part file.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// There is no frame.
    #[error("at byte {offset}: {reason}")]
    Damaged {
        /// The offset of the frame.
        offset: u64,
        /// The problem.
        reason: String,
    },
}

#[derive(Deserialize)]
struct FrameKind {
    frame: String,
}

/// Reads frames one after the other.
#[derive(Debug)]
pub struct Part<R> {
    from: R,
    offset: u64,
    whole_frames_end: u64,
    ended: bool,
}

impl<R: Read> Part<R> {
    /// A part file from its beginning.
    pub fn new(from: R) -> Self {
        Self::resume_at(from, 0)
    }

    /// A part file of which `from` has the rest, from byte `offset` on, where a frame begins.
    pub fn resume_at(from: R, at: u64) -> Self {
        Self {
            from,
            offset: at,
            whole_frames_end: at,
            ended: false,
        }
    }

    /// The end of the last whole frame.
    pub const fn whole_frames_end(&self) -> u64 {
        self.whole_frames_end
    }

    fn frame(&mut self) -> Result<Option<Frame>, PartError> {
        let damaged = |at, reason: String| PartError::Damaged { offset: at, reason };
        let begin = self.offset;
        let Some(lengths) = self.take(12)? else {
            return Ok(None);
        };
        let (header, payload) = lengths.split_at(4);
        let header = u32::from_le_bytes(header.try_into().unwrap_or_default());
        let payload = u64::from_le_bytes(payload.try_into().unwrap_or_default());
        if header > MAX_HEADER || payload > MAX_PAYLOAD {
            let reason = format!("a frame of {header} and {payload} bytes is longer than any");
            return Err(damaged(begin, reason));
        }
        let Some(header) = self.take(header.into())? else {
            return Ok(None);
        };
        let payload = Payload {
            offset: self.offset,
            len: payload,
        };
        let passed = io::copy(&mut self.from.by_ref().take(payload.len), &mut io::sink())?;
        self.offset += passed;
        if passed < payload.len {
            return Ok(None);
        }
        let wrong =
            |error: serde_json::Error| damaged(begin, format!("a header that cannot be read: {error}"));
        let kind: FrameKind = serde_json::from_slice(&header).map_err(wrong)?;
        let frame = match kind.frame.as_str() {
            "process" => Frame::Process(serde_json::from_slice(&header).map_err(wrong)?),
            "kernel" => Frame::Kernel(serde_json::from_slice(&header).map_err(wrong)?),
            "bytes" => Frame::Bytes(serde_json::from_slice(&header).map_err(wrong)?, payload),
            "python" => Frame::Python(serde_json::from_slice(&header).map_err(wrong)?),
            "ended" => Frame::Ended(serde_json::from_slice(&header).map_err(wrong)?),
            "launch" => Frame::Launch(serde_json::from_slice(&header).map_err(wrong)?),
            "skipped" => Frame::Skipped(serde_json::from_slice(&header).map_err(wrong)?),
            "end" => Frame::End(serde_json::from_slice(&header).map_err(wrong)?),
            _ => Frame::Other,
        };
        Ok(Some(frame))
    }

    /// The next `count` bytes, or `None` if the file ends before.
    fn take(&mut self, count: u64) -> Result<Option<Vec<u8>>, PartError> {
        let mut bytes = Vec::new();
        // The claimed length is untrusted: the buffer grows as bytes arrive.
        let read = self.from.by_ref().take(count).read_to_end(&mut bytes)? as u64;
        self.offset += read;
        Ok((read == count).then_some(bytes))
    }
}

impl<R: Read> Iterator for Part<R> {
    type Item = Result<Frame, PartError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let frame = self.frame().transpose();
        // Behind damage nothing says where the next frame begins.
        self.ended = !matches!(frame, Some(Ok(_)));
        if !self.ended {
            self.whole_frames_end = self.offset;
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode_frame(header: &str, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u32).to_le_bytes().to_vec();
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(payload);
        bytes
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &[&str]) {
        let found: Vec<String> = Part::new(bytes)
            .map(|frame| match frame {
                Ok(Frame::Bytes(header, payload)) => format!("{} of {}", payload.len, header.hash),
                Ok(Frame::Skipped(skipped)) => format!("{} {}", skipped.count, skipped.why),
                Ok(other) => format!("{other:?}"),
                Err(error) => error.to_string(),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn frames_are_read_until_one_is_cut_short_or_damaged() {
        let skipped = encode_frame(r#"{"frame":"skipped","kernel":"k","why":"odd","count":2}"#, b"");
        let bytes = encode_frame(r#"{"frame":"bytes","hash":"ab","size":9}"#, b"zlib");
        let whole = [
            skipped.clone(),
            bytes.clone(),
            encode_frame(r#"{"frame":"new"}"#, b"?"),
        ]
        .concat();
        check(&whole, &["2 odd", "4 of ab", "Other"]);
        // Wherever it is cut, what lies before counts.
        for cut in 1..bytes.len() {
            check(&[skipped.as_slice(), &bytes[..cut]].concat(), &["2 odd"]);
        }
        check(&[], &[]);
        check(
            &[encode_frame("7", b""), skipped.clone()].concat(),
            &[
                "at byte 0: a header that cannot be read: invalid type: integer `7`, expected struct FrameKind at line 1 column 1",
            ],
        );
        check(
            &[skipped, vec![255; 40]].concat(),
            &[
                "2 odd",
                "at byte 66: a frame of 4294967295 and 18446744073709551615 bytes is longer than any",
            ],
        );
    }
}
