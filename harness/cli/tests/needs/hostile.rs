//! A hostile recording as a whole: paths that leave its folder, archives that are more than they say, a storage of a
//! terabyte, code at import. Each is named, nothing outside is read or changed, and the case beside them is still judged.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use cerith_needs::{NEWEST, Need, Tests, named};
use cerith_toolchain::Home;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A module that attacks as soon as it is imported, and prints the result of each attempt. The kernel uses it, so that it is
/// loaded.
const KERNEL: &str = "\
import os
import socket

import triton
import triton.language as tl

DONE = []
for attempt in (
    lambda: open('SECRET').read(),
    lambda: open('OUTSIDE/harm', 'w'),
    lambda: open(os.path.join(os.path.dirname(__file__), 'harm'), 'w'),
    lambda: open(os.path.expanduser('~/.bashrc')).read(),
    lambda: socket.create_connection(('127.0.0.1', 9), timeout=1),
    lambda: os.kill(os.getppid(), 15),
):
    try:
        attempt()
        DONE.append('done')
    except OSError as error:
        DONE.append(error.strerror)
print(*DONE, sep='; ')


@triton.jit
def kernel(x):
    if 1 == 2:
        tl.static_print(DONE)
    tl.store(x, 0.0)
";

/// A case with one storage.
fn build_case(kernel: &str, shape: &str, fill: &str) -> String {
    format!(
        "about: Launch 1 of kernel.\nkernel: {kernel}\nstorages:\n  x: {{ dtype: f32, shape: [{shape}], fill: {fill} }}\n\
         launches:\n  - {{ grid: [1], args: {{ x: x }} }}\nrecorded:\n  engine: interpret@3.9.0+host\n  after: {{}}\n"
    )
}

/// A folder with a secret, and a recording in `rec`.
fn create_recording() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let rec = folder.path().join("rec/kernel");
    fs::create_dir_all(&rec).expect("folders");
    let secret = folder.path().join("secret.py");
    fs::write(&secret, "SECRET = 1\n").expect("a file");
    let outside = folder.path().display().to_string();
    let kernel = KERNEL
        .replace("SECRET'", &format!("{outside}/secret.py'"))
        .replace("OUTSIDE", &outside);
    let write = |name: &str, text: &str| fs::write(rec.join(name), text).expect("a file");
    write("kernel.py", &kernel);
    write("../recording.json", "{}");
    symlink(&secret, rec.join("linked.py")).expect("a link");
    symlink(folder.path().join("away.zip"), rec.join("linked.zip")).expect("a link");
    let archive = |path: &Path, entries: &[(&str, usize)]| {
        let mut zip = ZipWriter::new(File::create(path).expect("a file"));
        for (name, zeros) in entries {
            zip.start_file(*name, SimpleFileOptions::default())
                .expect("a new entry");
            zip.write_all(&vec![0; *zeros]).expect("a file");
        }
        zip.finish().expect("a file");
    };
    archive(&folder.path().join("away.zip"), &[("x", 16)]);
    // A quarter of a MiB in the file expands to 256 MiB. A name with `..` is only a name: nothing is ever unpacked.
    archive(
        &rec.join("data.zip"),
        &[("x", 16), ("bomb", 256 << 20), ("../../harm", 16)],
    );
    let sixteen = "{ bytes: data.zip/x }";
    write("good.yaml", &build_case("kernel.py:kernel", "4", sixteen));
    write(
        "bomb.yaml",
        &build_case("kernel.py:kernel", "4", "{ bytes: data.zip/bomb }"),
    );
    write(
        "terabyte.yaml",
        &build_case("kernel.py:kernel", "274877906944", sixteen),
    );
    write(
        "petabyte-of-zeros.yaml",
        &build_case("kernel.py:kernel", "281474976710656", "zeros"),
    );
    write("path.yaml", &build_case("../../secret.py:kernel", "4", sixteen));
    write("absolute.yaml", &build_case("/etc/passwd:kernel", "4", sixteen));
    write("link.yaml", &build_case("linked.py:kernel", "4", sixteen));
    write(
        "bytes-path.yaml",
        &build_case("kernel.py:kernel", "4", "{ bytes: ../../away.zip/x }"),
    );
    write(
        "bytes-link.yaml",
        &build_case("kernel.py:kernel", "4", "{ bytes: linked.zip/x }"),
    );
    write(
        "bytes-entry.yaml",
        &build_case("kernel.py:kernel", "4", "{ bytes: data.zip/../../harm }"),
    );
    folder
}

/// The output of a run, without the parts that differ from run to run.
fn run(folder: &Path, home: &Path, args: &[&str]) -> (Option<i32>, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(["run", "rec", "--offline"])
        .args(args)
        .current_dir(folder)
        .env("CERITH_HOME", home)
        .env("CI", "1")
        .output()
        .expect("cerith starts");
    let shown = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    let has_time =
        |line: &str| line.contains(" s, ") || line.ends_with(" s") || line.starts_with("  judging took ");
    let lines = shown.lines().filter(|line| !has_time(line));
    (done.status.code(), lines.collect::<Vec<_>>().join("\n"))
}

fn nothing_was_done(folder: &Path) {
    assert!(!folder.join("harm").exists() && !folder.join("rec/kernel/harm").exists());
}

fn everything_that_is_wrong_with_a_recording_is_named_and_nothing_of_it_is_run() {
    let folder = create_recording();
    let here = folder.path();
    let (code, shown) = run(
        here,
        &here.join("home"),
        &["--engine", "reference", "--engine", "recorded"],
    );
    assert_eq!(code, Some(2), "{shown}");
    insta::with_settings!({snapshot_path => "../../../../snapshots/cli", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("hostile_recording", shown);
    });
    nothing_was_done(here);
}

fn code_at_import_is_contained() {
    let home = Home::discover().expect("a home");
    let folder = create_recording();
    let here = folder.path();
    run(
        here,
        home.root(),
        &["kernel/good", "--engine", "interpret@3.9.0", "--out", "out"],
    );
    nothing_was_done(here);
    let events = fs::read_to_string(here.join("out/events.jsonl")).expect("a stream");
    let denied = "Permission denied; Permission denied; Permission denied; No such file or directory; Operation not \
                  permitted; Operation not permitted";
    assert!(events.contains(denied), "{events}");
}

pub fn tests() -> Tests {
    Tests::new()
        .without_needs(&named![
            everything_that_is_wrong_with_a_recording_is_named_and_nothing_of_it_is_run
        ])
        .with_needs(
            &[Need::Toolchain(NEWEST), Need::Containment],
            &named![code_at_import_is_contained],
        )
}
