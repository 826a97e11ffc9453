//! `cerith check --watch`: a round for each change of a file that decides the result.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::command_output::CommandOutput;

/// No round takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, x * 2, mask=offs < n)
";

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).expect("written");
}

fn build_command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cerith"));
    command
        .args(["check", "--engine", "reference", "--watch"])
        .args(args)
        .current_dir(folder)
        .env("CI", "1");
    command
}

/// A running watch, with the lines that it prints.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(folder: &TempDir, args: &[&str]) -> Self {
        let mut child = build_command(folder.path(), args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (sender, lines) = mpsc::channel();
        forward_lines(child.stdout.take().expect("a pipe"), sender.clone());
        forward_lines(child.stderr.take().expect("a pipe"), sender);
        Self { child, lines }
    }

    /// Waits for a line with this beginning, and returns everything before it.
    #[track_caller]
    fn wait_for(&self, beginning: &str) -> String {
        let mut text = String::new();
        loop {
            let line = self
                .lines
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("no {beginning:?} after\n{text}"));
            text.push_str(&line);
            text.push('\n');
            if line.starts_with(beginning) {
                // Standard output may be a little later than standard error.
                thread::sleep(Duration::from_millis(100));
                text.extend(self.lines.try_iter().map(|line| line + "\n"));
                return text;
            }
        }
    }

    #[track_caller]
    fn interrupt(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("a process");
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("a process") {
                assert_eq!(status.code(), Some(130));
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward_lines(from: impl Read + Send + 'static, to: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}

#[test]
fn each_edit_of_a_file_starts_a_round() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, "k.py", KERNEL);
    let watch = Watch::start(&folder, &["k.py"]);
    let text = watch.wait_for("round 1 at ");
    assert!(
        text.contains("k.py:double  ") && text.contains("nothing found"),
        "{text}"
    );
    assert!(
        !text.contains('\u{1b}'),
        "nothing is cleared outside of a terminal: {text:?}"
    );
    // The same size, and perhaps the same time.
    write(
        &folder,
        "k.py",
        &KERNEL.replace("mask=offs < n)\n", "mask=offs <=n)\n"),
    );
    let text = watch.wait_for("round 2 at ");
    assert!(text.contains("changed: k.py"), "{text}");
    assert!(text.contains("error[out-of-bounds]"), "{text}");
    write(&folder, "k.py", "def\n");
    let text = watch.wait_for("round 3 at ");
    assert!(text.contains("error[syntax]") || text.contains("error"), "{text}");
    fs::remove_file(folder.path().join("k.py")).expect("removed");
    let text = watch.wait_for("round 4 at ");
    assert!(text.contains("error: "), "{text}");
    write(&folder, "k.py", KERNEL);
    let text = watch.wait_for("round 5 at ");
    assert!(text.contains("nothing found"), "{text}");
    watch.interrupt();
}

#[test]
fn imported_modules_and_the_configuration_are_watched() {
    let folder = TempDir::new().expect("a folder");
    let import = "from helpers import scale\n";
    write(
        &folder,
        "k.py",
        &format!("{import}{}", KERNEL.replace("x * 2", "scale(x)")),
    );
    let helper = "import triton\n\n\n@triton.jit\ndef scale(x):\n    return x * 2\n";
    write(&folder, "helpers.py", helper);
    let watch = Watch::start(&folder, &["k.py"]);
    watch.wait_for("round 1 at ");
    write(&folder, "helpers.py", &helper.replace("x * 2", "y * 2"));
    let text = watch.wait_for("round 2 at ");
    assert!(text.contains("changed: "), "{text}");
    assert!(text.contains("helpers.py"), "{text}");
    assert!(text.contains("1 thing found"), "{text}");
    write(&folder, "cerith.toml", "timeout = \"soon\"\n");
    let text = watch.wait_for("round 3 at ");
    assert!(text.contains("changed: cerith.toml"), "{text}");
    fs::remove_file(folder.path().join("cerith.toml")).expect("removed");
    watch.wait_for("round 4 at ");
    watch.interrupt();
}

#[test]
fn new_files_of_a_folder_are_checked() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join("kernels")).expect("a folder");
    write(&folder, "kernels/a.py", KERNEL);
    let watch = Watch::start(&folder, &["kernels"]);
    let text = watch.wait_for("round 1 at ");
    assert!(text.contains("1 kernels: "), "{text}");
    write(&folder, "kernels/b.py", &KERNEL.replace("double", "twice"));
    let text = watch.wait_for("round 2 at ");
    assert!(text.contains("kernels/b.py:twice"), "{text}");
    // Other files decide nothing.
    write(&folder, "notes.txt", "x");
    thread::sleep(Duration::from_millis(1500));
    let later: Vec<String> = watch.lines.try_iter().collect();
    assert!(later.is_empty(), "{later:?}");
    watch.interrupt();
}

#[track_caller]
fn refuse(args: &[&str], message: &str) {
    let folder = TempDir::new().expect("a folder");
    write(&folder, "k.py", KERNEL);
    let output = build_command(folder.path(), args)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    CommandOutput::from_output(&output).assert_ends(2, &[], &[message]);
}

#[test]
fn some_arguments_cannot_be_watched() {
    refuse(&["-"], "standard input cannot be watched");
    refuse(&["k.py", "--write-baseline", "b.toml"], "cannot be used with");
}
