//! `cerith record`: a program is recorded as it runs, and what was recorded runs. These need Triton
//! 3.9.0. There is no torch, so the program's tensors are the worker's stand-ins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cerith_needs::{NEWEST, Tests, find_toolchain, named};
use tempfile::TempDir;

/// Tensors for a program, a kernel with its requirements, and launches of it.
const PROGRAM: &str = r#"
import os, sys
sys.path.insert(0, WORKER)
os.environ["CERITH_TORCH"] = "hidden"
from cerith_worker.fake_driver import show_triton_a_torch
show_triton_a_torch()
import numpy as np
import triton
import triton.language as tl
from cerith_worker.memory import Session
from cerith_worker.tensor import tensor_of

FACTOR = tl.constexpr(3)


@triton.jit
def scaled(x):
    # A remark that stays.
    return x * FACTOR


@triton.jit
def secret_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, scaled(x), mask=offsets < n)


session = Session()
session.add("cpu", np.frombuffer(b"a secret of mine" * 2, np.uint8).copy(), 0, 0)
session.add("cpu", np.zeros(32, np.uint8), 0, 0)
x = tensor_of(session, [0, "int32", [8], [1], 0])
odd = tensor_of(session, [0, "int32", [4], [1], 1])
out = tensor_of(session, [1, "int32", [8], [1], 0])
secret_kernel[(2,)](x, out, 8, BLOCK=4)
secret_kernel[(2,)](x, out, 8, BLOCK=4)
secret_kernel[(1,)](odd, out, 4, BLOCK=4)
secret_kernel[(1,)](x, x, 4, BLOCK=4)
"#;

struct Place {
    folder: TempDir,
    python: PathBuf,
}

impl Place {
    /// A folder with the program and what is added to it.
    fn new(more: &str) -> Self {
        let python = find_toolchain(NEWEST).python();
        let folder = TempDir::new().expect("a folder");
        let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worker");
        let text = PROGRAM.replace("WORKER", &format!("{:?}", worker.display().to_string())) + more;
        fs::write(folder.path().join("program.py"), text).expect("a file");
        Self { folder, python }
    }

    fn run_cerith(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cerith"))
            .args(args)
            .current_dir(self.folder.path())
            .env("CI", "1")
            .env("TRITON_INTERPRET", "1")
            .env_remove("PYTHONPATH")
            .output()
            .expect("cerith starts")
    }

    /// Records the program; its exit code, its output and what Cerith says.
    fn record(&self, options: &[&str]) -> (Option<i32>, String, String) {
        let python = self.python.display().to_string();
        let done = self.run_cerith(&[&["record"], options, &["--", &python, "program.py"]].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    }

    fn list_files(&self, folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        let root = self.folder.path().join(folder);
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(&root).expect("below").display().to_string());
                }
            }
        }
        found.sort();
        found
    }
}

fn a_program_is_recorded_and_the_recording_runs() {
    let place = Place::new("print('done')\nsys.exit(7)\n");
    let (code, out, err) = place.record(&[]);
    assert_eq!((code, out.as_str()), (Some(7), "done\n"), "{err}");
    assert!(
        err.contains("recorded 4 launches: 3 cases of 1 kernel in recording")
            && err.contains("1 like one that is kept"),
        "{err}"
    );
    assert_eq!(
        place.list_files("recording"),
        [
            "recording.json",
            "secret_kernel/0001.yaml",
            "secret_kernel/0002.yaml",
            "secret_kernel/0003.yaml",
            "secret_kernel/data.zip",
            "secret_kernel/secret_kernel.py"
        ]
    );
    let kernel = fs::read_to_string(
        place
            .folder
            .path()
            .join("recording/secret_kernel/secret_kernel.py"),
    );
    let kernel = kernel.expect("a file");
    assert!(
        kernel.contains("FACTOR = tl.constexpr(3)") && kernel.contains("# A remark that stays."),
        "{kernel}"
    );
    assert!(
        !kernel.contains("cerith_worker") && !kernel.contains("numpy"),
        "{kernel}"
    );
    let done = place.run_cerith(&[
        "run",
        "recording",
        "--engine",
        "reference",
        "--engine",
        "recorded",
    ]);
    let shown = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{shown}");
    assert!(shown.contains("3 cases: 3 agree"), "{shown}");
}

fn what_is_private_stays_away() {
    let place = Place::new("");
    let (code, _, err) = place.record(&["--no-data", "--out", "layouts"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("storages without their bytes"), "{err}");
    let files = place.list_files("layouts");
    assert!(files.iter().all(|file| !file.contains(".zip")), "{files:?}");
    for file in files {
        let text = fs::read_to_string(place.folder.path().join("layouts").join(&file)).expect("text");
        assert!(
            !text.contains("program.py ") && !text.contains("a secret of"),
            "{file}: {text}"
        );
    }
    let done = place.run_cerith(&["run", "layouts", "--engine", "reference"]);
    assert_eq!(
        done.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&done.stdout)
    );
}

fn what_was_written_before_a_program_was_killed_counts() {
    let place = Place::new("import signal\nos.kill(os.getpid(), signal.SIGKILL)\n");
    let (code, _, err) = place.record(&["--filter", "secret*"]);
    assert_eq!(code, Some(137), "{err}");
    assert!(
        err.contains("3 cases of 1 kernel ")
            && err.contains("the process did not finish")
            // No launch of it is to blame for that.
            && !err.contains("was running"),
        "{err}"
    );
}

fn what_cannot_be_recorded_is_told() {
    let place = Place::new("");
    let check = |options: &[&str], code: i32, said: &str| {
        let (found, _, err) = place.record(options);
        assert!(found == Some(code) && err.contains(said), "{found:?}: {err}");
    };
    check(
        &["--filter", "other*", "--out", "none"],
        3,
        "recorded nothing: 4 launches, none of a kernel that `--filter` asks for; launched: secret_kernel",
    );
    assert!(!place.folder.path().join("none").exists());
    fs::create_dir(place.folder.path().join("full")).expect("a folder");
    fs::write(place.folder.path().join("full/mine"), "").expect("a file");
    check(&["--out", "full"], 2, "full is not empty");
    check(
        &["--sample", "some"],
        2,
        "write `layout`, `data`, `every`, or how many launches of each kernel",
    );
    check(&["--max-bytes", "1T"], 2, "write a number of bytes");
    let done = place.run_cerith(&["record", "--", "no-such-program"]);
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2));
    assert!(err.contains("failed to start `no-such-program`"), "{err}");
    assert!(!place.folder.path().join("recording").exists());
    let done = place.run_cerith(&["record", "--", "true"]);
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(3));
    assert!(
        err.contains("recorded nothing: no Python began with the recorder in it"),
        "{err}"
    );
    let python = place.python.display().to_string();
    for (program, said) in [
        (
            "pass",
            "recorded nothing: 1 Python ran, and none imported triton\n  = help: see which Python has Triton 3.0 or later",
        ),
        (
            "import triton",
            "was imported, and no kernel was launched\n  = help: name a program",
        ),
    ] {
        // The folder of the one before is not in the way.
        let done = place.run_cerith(&["record", "--out", "again", "--", &python, "-c", program]);
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(3) && err.contains(said), "{err}");
    }
}

/// A kernel that stores far past the end of its argument.
const WILD: &str = "

@triton.jit
def wild_kernel(x, BLOCK: tl.constexpr):
    far = x + (1 << 40)
    tl.store(far + tl.arange(0, BLOCK), 1.0)


try:
    wild_kernel[(1,)](x, BLOCK=4)
except RuntimeError as error:
    print(type(error).__name__, error)
";

fn a_launch_that_kills_its_program_is_on_record() {
    let place = Place::new(WILD);
    let line = fs::read_to_string(place.folder.path().join("program.py"))
        .expect("a file")
        .lines()
        .position(|line| line.starts_with("    tl.store(far"))
        .expect("it stores")
        + 1;
    let (code, _, err) = place.record(&[]);
    assert_eq!(code, Some(139), "{err}");
    let words = "  wild_kernel/0001 was running when the program died (SIGSEGV)\n    wild_kernel is undefined: out-of-bounds: ";
    assert!(
        err.contains(words) && err.contains(&format!("\n      at program.py:{line}:5\n")),
        "{err}"
    );
    let (code, out, err) = place.record(&["--preflight", "--out", "held"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("UndefinedLaunch wild_kernel is undefined: out-of-bounds: ")
            && out.contains(&format!("at program.py:{line}:5")),
        "{out}"
    );
    assert!(
        err.contains("  wild_kernel/0001 did not run\n    wild_kernel is undefined: ")
            && err.contains("judged before they ran"),
        "{err}"
    );
}

pub fn tests() -> Tests {
    Tests::new().with_toolchain(
        NEWEST,
        &named![
            a_program_is_recorded_and_the_recording_runs,
            what_is_private_stays_away,
            what_was_written_before_a_program_was_killed_counts,
            a_launch_that_kills_its_program_is_on_record,
            what_cannot_be_recorded_is_told
        ],
    )
}
