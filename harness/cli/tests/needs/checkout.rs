//! Hostile checkouts: their files run nothing outside of workers, read no other files, and change no outcome of other cases.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use cerith_needs::{NEWEST, Need, Tests, find_toolchain, named};
use cerith_toolchain::Home;
use tempfile::TempDir;

use crate::command_output::CommandOutput;

const ADD: &str = "\
import triton
import triton.language as tl


@triton.jit
def add_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=m) + 1, mask=m)
";

/// One case of a kernel like that, in the file `NAME.py`.
fn format_case(kernel: &str, host: &str) -> String {
    format!(
        "about: One is added to each number.\nkernel: {kernel}\nstorages:\n  x: {{ dtype: f32, shape: [64], fill: arange }}\n  \
         out: {{ dtype: f32, shape: [64], fill: zeros }}\nlaunches:\n  - grid: [2]\n{host}    args: {{ x_ptr: x, out_ptr: out, \
         n: 64, BLOCK: 32 }}\n"
    )
}

/// Squares of numbers in bf16, which Triton's interpreter gets wrong.
const BUG: &str = "\
import triton
import triton.language as tl


@triton.jit
def square(x, out):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    tl.store(out + i, a * a)
";

const BUG_CASE: &str = "\
about: The squares of numbers in bf16.
kernel: bug.py:square
storages:
  x: { dtype: bf16, shape: [16], fill: arange }
  out: { dtype: bf16, shape: [16], fill: zeros }
launches:
  - { grid: [1], args: { x: x, out: out } }
";

/// Names that Python itself looks for besides those of its library.
const PACKAGES: &[&str] = &[
    "pip",
    "numpy",
    "triton",
    "torch",
    "setuptools",
    "sitecustomize",
    "usercustomize",
    "ensurepip",
    "cerith_worker",
    "cerith_triton",
];

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

/// Runs Cerith in a folder.
fn call_cerith(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cerith"));
    command
        .args(args)
        .current_dir(folder)
        .env("CERITH_HOME", Home::discover().expect("a home").root())
        .env("CI", "1");
    command
}

fn run_to_end(mut command: Command) -> CommandOutput {
    CommandOutput::from_output(&command.output().expect("cerith starts"))
}

const ENGINES: [&str; 5] = [
    "--engine",
    "reference",
    "--engine",
    "interpret@3.9.0",
    "--offline",
];

fn with_engines(folder: &Path, args: &[&str]) -> CommandOutput {
    run_to_end(call_cerith(folder, &[args, &ENGINES].concat()))
}

/// A checkout with a module in the way of every module that a Python of ours imports, and the file that each of them writes to.
fn make_shadowed_checkout(python: &Path) -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let ran = folder.path().join("ran");
    let asked = Command::new(python)
        .args(["-I", "-c", "import sys; print(*sys.stdlib_module_names)"])
        .output()
        .expect("Python starts");
    let names = String::from_utf8(asked.stdout).expect("names");
    let text = format!(
        "open({:?}, 'a').write(__name__ + '\\n')\n",
        ran.display().to_string()
    );
    for name in names.split_whitespace().chain(PACKAGES.iter().copied()) {
        write(folder.path(), &format!("{name}.py"), &text);
    }
    write(folder.path(), ".git/config", "");
    write(folder.path(), "uv.toml", "index-url = \"http://127.0.0.1:9/\"\n");
    write(folder.path(), "cases/add.py", ADD);
    write(
        folder.path(),
        "cases/add.yaml",
        &format_case("add.py:add_one", ""),
    );
    (folder, ran)
}

fn no_module_of_a_checkout_is_imported() {
    let python = find_toolchain(NEWEST).python();
    let (folder, ran) = make_shadowed_checkout(&python);
    let here = folder.path();
    let check = |args: &[&str], code: i32| {
        let mut command = call_cerith(here, args);
        command.env("PYTHONPATH", ".");
        let path = std::env::var("PATH").expect("a path");
        command.env("PATH", format!(".:{path}:"));
        let done = run_to_end(command).assert_ends(code, &[], &[]);
        let seen = fs::read_to_string(&ran).unwrap_or_default();
        assert_eq!(seen, "", "{args:?}\n{}{}", done.out, done.err);
    };
    check(&[&["run"][..], &ENGINES].concat(), 0);
    check(
        &[
            "check",
            "cases/add.py",
            "--engine",
            "interpret@3.9.0",
            "--offline",
        ],
        0,
    );
    check(
        &["import", "cases/add.py:add_one", "--out", "cases/other.yaml"],
        0,
    );
    check(
        &[
            "fuzz",
            "--count",
            "2",
            "--engine",
            "interpret@3.9.0",
            "--offline",
            "--out",
            "fuzzed",
        ],
        0,
    );
}

/// An installation fails here, without an index; what it starts before that imports nothing either.
fn no_module_of_a_checkout_is_imported_by_an_installation() {
    let python = find_toolchain(NEWEST).python();
    let (folder, ran) = make_shadowed_checkout(&python);
    let home = TempDir::new().expect("a folder");
    let mut command = call_cerith(folder.path(), &["toolchain", "add", "3.9.0"]);
    let real = python.canonicalize().expect("a real Python");
    let path = format!("{}:/usr/bin:/bin", real.parent().expect("a folder").display());
    command
        .env("CERITH_HOME", home.path())
        .env("PATH", path)
        .env("PYTHONPATH", ".")
        .env("PIP_NO_INDEX", "1");
    let done = run_to_end(command);
    let seen = fs::read_to_string(&ran).unwrap_or_default();
    assert_eq!(seen, "", "{}{}", done.out, done.err);
    assert_ne!(done.code, Some(0), "{}{}", done.out, done.err);
}

/// A program that is recorded imports what it likes; what Cerith puts into it comes from its own folder.
fn no_module_of_a_checkout_is_imported_by_a_recording() {
    let python = find_toolchain(NEWEST).python();
    let (folder, ran) = make_shadowed_checkout(&python);
    write(folder.path(), "tool/program.py", "print('ran')\n");
    let program = python.display().to_string();
    let args = ["record", "--out", "rec", "--", &program, "tool/program.py"];
    run_to_end(call_cerith(folder.path(), &args));
    assert_eq!(fs::read_to_string(&ran).unwrap_or_default(), "");
}

/// A case that imports a module that changes the worker, before a case with a bug.
fn make_poisoned_corpus() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let here = folder.path();
    let poison = "\
import triton.language as tl
import numpy as np
import cerith_worker.serve as serve

ONE = tl.constexpr(1)
memory = serve._memory


def right(session, addresses, originals):
    for storage in session.storages:
        if storage.body().size == 32:
            wide = session.storages[0].body().view(np.uint16).astype(np.uint32) << 16
            squares = wide.view(np.float32) ** 2
            storage.body().view(np.uint16)[:] = squares.view(np.uint32) >> 16
    return memory(session, addresses, originals)


serve._memory = right
np.float32 = None
";
    write(here, "cases/poison.py", poison);
    write(
        here,
        "cases/a_first.py",
        &ADD.replace("+ 1,", "+ poison.ONE,")
            .replace("\n\n\n@", "\nimport poison\n\n\n@"),
    );
    write(here, "cases/a_first.yaml", &format_case("a_first.py:add_one", ""));
    write(here, "cases/bug.py", BUG);
    write(here, "cases/bug.yaml", BUG_CASE);
    // Host functions of the same file: each has a process of its own.
    let hosts = "\
import triton.language as tl


def changes(kernel, grid, args):
    kernel[grid](**args)
    tl.store = None
    __builtins__['sum'] = None


def sees(kernel, grid, args):
    assert sum([1]) == 1 and tl.store is not None
    kernel[grid](**args)
";
    write(here, "cases/hosts.py", hosts);
    write(here, "cases/add.py", ADD);
    for (name, function) in [("h_changes", "changes"), ("h_sees", "sees")] {
        let host = format!("    host: hosts.py:{function}\n");
        write(
            here,
            &format!("cases/{name}.yaml"),
            &format_case("add.py:add_one", &host),
        );
    }
    folder
}

/// The verdicts of a run, case by case.
fn read_verdicts(folder: &Path) -> Vec<String> {
    let events = fs::read_to_string(folder.join("reports/run/events.jsonl")).expect("a stream");
    let parsed = events
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an event"));
    parsed
        .filter(|event| event["event"] == "verdict")
        .map(|event| format!("{} {}", event["case"], event["verdict"]))
        .collect()
}

fn a_case_changes_no_other_case() {
    let folder = make_poisoned_corpus();
    let here = folder.path();
    let alone = with_engines(here, &["run", "bug", "--jobs", "1"]);
    assert!(alone.out.contains("differ"), "{}{}", alone.out, alone.err);
    let mut all = Vec::new();
    for jobs in ["1", "3"] {
        let done = with_engines(here, &["run", "--jobs", jobs]);
        assert_eq!(done.code, alone.code, "{}{}", done.out, done.err);
        all.push(read_verdicts(here));
    }
    assert_eq!(all[0], all[1]);
    let shown = all[0].join("\n");
    assert!(shown.contains("\"bug\" \"differ\""), "{shown}");
    assert!(shown.contains("\"h_sees\" \"agree\""), "{shown}");
}

/// A host function that raises what it reads.
fn format_reading_host(path: &str) -> String {
    format!(
        "import os\n\n\ndef reads(kernel, grid, args):\n    here = os.path.dirname(os.path.abspath(__file__))\n    raise \
         RuntimeError('read: ' + open(os.path.join(here, {path:?})).read())\n"
    )
}

#[track_caller]
fn assert_nothing_read(done: &CommandOutput, folder: &Path) {
    let events = fs::read_to_string(folder.join("out/events.jsonl")).unwrap_or_default();
    let shown = format!("{}{}{events}", done.out, done.err);
    assert!(!shown.contains("a secret"), "{shown}");
    let refused = ["Permission denied", "which is your home or holds it"];
    assert!(refused.iter().any(|words| shown.contains(words)), "{shown}");
}

fn only_what_a_case_imports_is_read() {
    let secrets = [
        ".ssh/id",
        ".env",
        ".git/config",
        ".config/tokens",
        ".netrc",
        "settings.json",
        // It is neither imported nor named as a program (`"other.py"`).
        "./other.py",
        "sub/.env",
        "../beside/.env",
    ];
    for (nth, secret) in secrets.into_iter().enumerate() {
        let folder = TempDir::new().expect("a folder");
        let corpus = folder.path().join("home");
        write(&corpus, secret, "a secret");
        write(&corpus, "add.py", ADD);
        write(&corpus, "hosts.py", &format_reading_host(secret));
        let host = "    host: hosts.py:reads\n";
        write(&corpus, "add.yaml", &format_case("add.py:add_one", host));
        let args = [&["run", "--cases", "home", "--out", "out"][..], &ENGINES].concat();
        let mut command = call_cerith(folder.path(), &args);
        match nth % 3 {
            0 => command.env_remove("HOME"),
            1 => command.env("HOME", folder.path().join("elsewhere")),
            _ => command.env("HOME", &corpus),
        };
        assert_nothing_read(&run_to_end(command), folder.path());
    }
}

fn a_checked_file_reads_nothing_of_its_project() {
    for secret in [".git/config", ".env", "settings.json", "pkg/.env"] {
        let folder = TempDir::new().expect("a folder");
        let here = folder.path();
        write(here, secret, "a secret");
        let kernel = format!(
            "import os\nimport triton\nimport triton.language as tl\n\ntry:\n    SAID = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), \
             {secret:?})).read()\nexcept OSError as error:\n    SAID = error.strerror\nprint(SAID)\n\n\n@triton.jit\ndef add_one(x_ptr, \
             out_ptr, n, BLOCK: tl.constexpr):\n    tl.static_assert(len(SAID) == 0, SAID)\n    tl.store(out_ptr, 1)\n"
        );
        write(here, "k.py", &kernel);
        let done = run_to_end(call_cerith(
            here,
            &["check", "k.py", "--engine", "interpret@3.9.0", "--offline"],
        ));
        let shown = format!("{}{}", done.out, done.err);
        assert!(!shown.contains("a secret"), "{shown}");
    }
}

fn modules_beside_a_kernel_are_imported() {
    let folder = TempDir::new().expect("a folder");
    let here = folder.path();
    let kernel = ADD
        .replace("+ 1,", "+ ONE,")
        .replace("\n\n\n@", "\nfrom parts.numbers import ONE\n\n\n@");
    write(here, "cases/add.py", &kernel);
    write(here, "cases/parts/__init__.py", "");
    write(here, "cases/parts/numbers.py", "from .deep import ONE\n");
    write(
        here,
        "cases/parts/deep.py",
        "import triton.language as tl\nimport beside\n\nONE = tl.constexpr(beside.VALUE)\n",
    );
    write(here, "cases/beside.py", "VALUE = 1\n");
    write(here, "cases/add.yaml", &format_case("add.py:add_one", ""));
    let done = with_engines(here, &["run", "--engine", "interpret@3.9.0+host"]);
    let events = fs::read_to_string(here.join("reports/run/events.jsonl")).expect("a stream");
    assert!(
        !events.contains("PermissionError") && !events.contains("ModuleNotFoundError"),
        "{events}\n{}",
        done.err
    );
}

fn the_default_corpus_is_no_link_out_of_the_checkout() {
    let folder = TempDir::new().expect("a folder");
    let here = folder.path();
    write(here, "neighbour/.env", "a secret");
    write(here, "repo/real/add.py", ADD);
    write(
        here,
        "repo/real/hosts.py",
        &format_reading_host("../../neighbour/.env"),
    );
    write(
        here,
        "repo/real/add.yaml",
        &format_case("add.py:add_one", "    host: hosts.py:reads\n"),
    );
    symlink("..", here.join("repo/cases")).expect("a link");
    let repo = here.join("repo");
    let help = "outside of the checkout\n  = help: name the folder if you trust it: `--cases ";
    with_engines(&repo, &["run"]).assert_ends(2, &[], &[help]);
    run_to_end(call_cerith(&repo, &["list"])).assert_ends(2, &[], &[help]);
    // A link that the user names is followed, but files beside its cases stay hidden.
    let done = with_engines(&repo, &["run", "--cases", "cases", "--out", "out"]);
    assert_nothing_read(&done, &repo);
    // A link to another folder of the checkout is followed.
    fs::remove_file(here.join("repo/cases")).expect("removed");
    symlink("real", here.join("repo/cases")).expect("a link");
    let done = with_engines(&repo, &["run", "--out", "out"]);
    assert!(!done.err.contains("outside of the checkout"), "{}", done.err);
    fs::remove_file(here.join("repo/cases")).expect("removed");
    fs::create_dir_all(here.join(".git")).expect("made");
    fs::rename(here.join("repo/real"), here.join("real")).expect("moved");
    symlink("../real", here.join("repo/cases")).expect("a link");
    let done = with_engines(&repo, &["run", "--out", "out"]);
    assert!(!done.err.contains("outside of the checkout"), "{}", done.err);
}

pub fn tests() -> Tests {
    Tests::new().with_needs(
        &[Need::Toolchain(NEWEST), Need::Containment],
        &named![
            no_module_of_a_checkout_is_imported,
            no_module_of_a_checkout_is_imported_by_an_installation,
            no_module_of_a_checkout_is_imported_by_a_recording,
            a_case_changes_no_other_case,
            only_what_a_case_imports_is_read,
            a_checked_file_reads_nothing_of_its_project,
            modules_beside_a_kernel_are_imported,
            the_default_corpus_is_no_link_out_of_the_checkout
        ],
    )
}
