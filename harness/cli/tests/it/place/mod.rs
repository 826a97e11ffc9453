//! A folder with a small corpus and no toolchains, and cerith started in it.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::command_output::CommandOutput;

const CERITH: &str = env!("CARGO_BIN_EXE_cerith");

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) + 1, mask=mask)


@triton.jit
def past_the_end(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, offsets)
";

const GOOD: &str = "\
about: One is added.
kernel: k.py:add_one
matrix:
  dtype: [f32, i32, f16, i16]
  n: [10, 12]
storages:
  x: { dtype: \"{dtype}\", shape: [16], fill: arange }
launches:
  - grid: [1]
    args: { x: x, n: \"{n}\", BLOCK: 16 }
";

/// Cases with unexpected results: a store past the end of a storage has no defined answer.
pub const BAD: &str = "\
about: A store past the end.
kernel: k.py:past_the_end
matrix:
  n: [3, 5, 7]
storages:
  x: { dtype: i32, shape: [\"{n}\"], fill: zeros }
launches:
  - grid: [1]
    args: { x: x, n: \"{n}\", BLOCK: 16 }
";

pub struct Place {
    folder: TempDir,
}

impl Place {
    /// Eight good cases.
    pub fn new() -> Self {
        let place = Self {
            folder: TempDir::new().expect("a folder"),
        };
        place.write("cases/area/k.py", KERNEL);
        place.write("cases/area/good.yaml", GOOD);
        place
    }

    /// Creates the same corpus with three unexpected cases before the others.
    pub fn new_failing() -> Self {
        let place = Self::new();
        place.write("cases/area/bad.yaml", BAD);
        place
    }

    pub fn join(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.join(path)).expect(path)
    }

    pub fn build_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(CERITH);
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("CERITH_HOME", self.join("home"))
            .env("CI", "1");
        command
    }

    pub fn run_cerith(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::from_output(&self.build_command(args).output().expect("cerith starts"))
    }

    /// `cerith run` of the reference alone.
    pub fn run(&self, args: &[&str]) -> CommandOutput {
        self.run_cerith(&[&["run", "--engine", "reference"], args].concat())
    }

    /// The events of a stream.
    pub fn read_events(&self, path: &str) -> Vec<Value> {
        parse_events(&self.read(path))
    }
}

pub fn parse_events(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}

/// The events without what is another time another time.
pub fn remove_times(mut events: Vec<Value>) -> Vec<Value> {
    for event in &mut events {
        let event = event.as_object_mut().expect("an object");
        event.remove("seconds");
        event.remove("judging");
        event.remove("seal");
        let engines = event.get_mut("engines").and_then(Value::as_object_mut);
        for (_, tally) in engines.into_iter().flatten() {
            tally.as_object_mut().expect("a tally").remove("seconds");
        }
    }
    events
}

/// A stream whose lines a test changed, with the counts and the seal of a run that wrote them so.
pub fn reseal_stream(stream: &str) -> String {
    use cerith_report::{Event, Summary, Writer, read_event};

    let mut writer = Writer::new(Vec::new());
    let mut counted = Summary::default();
    for line in stream.lines() {
        let mut event = read_event(line.as_bytes()).expect("an event");
        if let Event::Summary(summary) = &mut event {
            let (seconds, interrupted) = (summary.seconds, summary.interrupted);
            *summary = std::mem::take(&mut counted);
            (summary.seconds, summary.interrupted) = (seconds, interrupted);
            summary.exit = summary.exit_code();
        }
        counted.count(&event);
        writer.write_event(&event).expect("written");
    }
    String::from_utf8(writer.take()).expect("text")
}
