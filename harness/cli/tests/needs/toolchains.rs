//! Runs with toolchains and compiled kernels that are not what they should be. Each has a home of its own, with a copy of an installed
//! toolchain of hard links.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use cerith_needs::{NEWEST, Tests, find_toolchain, named};
use tempfile::TempDir;

use crate::command_output::CommandOutput;

const ADD: &str = "
import triton
import triton.language as tl
from pkg.deep.middle import inc


@triton.jit
def add_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out_ptr + i, inc(tl.load(x_ptr + i, mask=m)), mask=m)
";

const CASE: &str = "about: One is added to each number.
kernel: add.py:add_one
storages:
  x: { dtype: f32, shape: [64], fill: arange }
  out: { dtype: f32, shape: [64], fill: zeros }
launches:
  - grid: [2]
    args: { x_ptr: x, out_ptr: out, n: 64, BLOCK: 32 }
";

const MIDDLE: &str = "import triton
import triton.language as tl
from . import last


@triton.jit
def inc(x):
    return x + 1
";

const BROKEN: &str = "
import os

if \"TRITON_INTERPRET\" not in os.environ:
    raise RuntimeError(\"this file is broken where it is compiled\")
";

const PTX: &[&str] = &["--engine", "reference", "--engine", "ptx@3.9.0"];
const INTERPRET: &[&str] = &["--engine", "reference", "--engine", "interpret@3.9.0"];

struct Place {
    folder: TempDir,
}

impl Place {
    /// A home with a copy of a toolchain.
    fn new() -> Self {
        let original = find_toolchain(NEWEST);
        let home = original.root().ancestors().nth(2).expect("a home");
        // On the same file system, for the links.
        let folder = tempfile::tempdir_in(home).expect("a folder");
        let toolchains = folder.path().join("home/toolchains");
        fs::create_dir_all(&toolchains).expect("a folder");
        let mut copy = Command::new("cp");
        copy.arg("-al").arg(original.root()).arg(&toolchains);
        assert!(is_done(&mut copy));
        Self { folder }
    }

    fn join(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn python(&self) -> PathBuf {
        self.join("home/toolchains/3.9.0/bin/python")
    }

    /// Puts a new file in the place of one of the toolchain's, so that the original stays; the old text.
    fn edit(&self, name: &str, edit: impl FnOnce(&str) -> String) -> String {
        let lib = self.join("home/toolchains/3.9.0/lib");
        let python = fs::read_dir(lib)
            .expect("a folder")
            .next()
            .expect("Python")
            .expect("an entry");
        let path = python.path().join("site-packages").join(name);
        let old = fs::read_to_string(&path).expect("Python");
        fs::remove_file(&path).expect("removed");
        fs::write(&path, edit(&old)).expect("written");
        old
    }

    /// A checkout whose kernel imports a module that imports this one.
    fn create_checkout(&self, name: &str, last: &str) {
        let cases = self.join(name).join("cases");
        let deep = cases.join("pkg/deep");
        fs::create_dir_all(&deep).expect("folders");
        fs::write(cases.join("pkg/__init__.py"), "").expect("a file");
        fs::write(deep.join("__init__.py"), "").expect("a file");
        fs::write(deep.join("middle.py"), MIDDLE).expect("a file");
        fs::write(deep.join("last.py"), last).expect("a file");
        fs::write(cases.join("add.py"), ADD).expect("a file");
        fs::write(cases.join("add.yaml"), CASE).expect("a file");
        // Times of files may be older than the clock's by a tick.
        std::thread::sleep(std::time::Duration::from_millis(60));
    }

    fn run(&self, checkout: &str, args: &[&str]) -> CommandOutput {
        self.run_cerith(
            checkout,
            &self.join("home"),
            &[&["run", "--offline", "--jobs", "1"], args].concat(),
        )
    }

    fn run_cerith(&self, folder: &str, home: &Path, args: &[&str]) -> CommandOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cerith"));
        command
            .args(args)
            .current_dir(self.join(folder))
            .env("CUDA_VISIBLE_DEVICES", "-1")
            .env("CI", "1")
            .env("CERITH_HOME", home);
        CommandOutput::from_output(&command.output().expect("cerith starts"))
    }

    fn count_cached(&self) -> usize {
        let cache = fs::read_dir(self.join("home/compiled/3.9.0"));
        cache.map_or(0, |folders| {
            folders
                .flatten()
                .filter_map(|one| fs::read_dir(one.path()).ok())
                .map(Iterator::count)
                .sum()
        })
    }
}

fn is_done(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

fn a_module_that_a_module_imports_decides_what_is_compiled() {
    let place = Place::new();
    place.create_checkout("a", "");
    place.run("a", PTX).assert_ends(0, &[], &[]);
    let kept = place.count_cached();
    assert!(kept >= 4, "{kept}");
    place.run("a", PTX).assert_ends(0, &[], &[]);
    assert_eq!(place.count_cached(), kept);
    place.create_checkout("a", BROKEN);
    place
        .run("a", PTX)
        .assert_ends(1, &["ptx@3.9.0", "this file is broken where it is compiled"], &[]);
    // The result comes from the cache, and the message names the file by its path in this checkout.
    let again = place
        .run("a", PTX)
        .assert_ends(1, &["cases/pkg/deep/last.py"], &[]);
    assert!(!again.out.contains("/b/"), "{}", again.out);
    place.create_checkout("b", BROKEN);
    let other = place
        .run("b", PTX)
        .assert_ends(1, &["cases/pkg/deep/last.py"], &[]);
    assert!(!other.out.contains("/a/cases"), "{}", other.out);
}

fn a_damaged_toolchain_is_no_fault_of_triton() {
    let place = Place::new();
    place.create_checkout("a", "");
    place.run("a", INTERPRET).assert_ends(0, &[], &[]);
    let whole = place.edit("triton/runtime/interpreter.py", |text| {
        text.replace("np.cos)", "np.sin)")
    });
    let damaged =
        "toolchain damaged: `triton/runtime/interpreter.py` was changed; run `cerith toolchain repair 3.9.0`";
    place.run("a", INTERPRET).assert_ends(2, &[damaged], &[]);
    let defaults = place.run("a", &[]);
    assert_ne!(defaults.code, Some(0));
    assert!(
        format!("{}{}", defaults.out, defaults.err).contains(damaged),
        "{}{}",
        defaults.out,
        defaults.err
    );
    place.edit("triton/runtime/interpreter.py", |_| whole);
    place.run("a", INTERPRET).assert_ends(0, &[], &[]);
}

fn compiled_kernels_do_not_outlive_their_toolchain() {
    let place = Place::new();
    place.create_checkout("a", "");
    // As an installation of a release that has this bug: the packages' records say the same.
    let compiler = "triton/backends/nvidia/compiler.py";
    let whole = place.edit(compiler, |text| {
        let (head, tail) = text.split_once("def make_ptx").expect("the stage");
        let tail = tail.replacen(
            "return ret\n",
            "return ret.replace('0f3F800000', '0f40000000')\n",
            1,
        );
        format!("{head}def make_ptx{tail}")
    });
    let manifest = place.join("home/toolchains/3.9.0/cerith-manifest.json");
    let _ = fs::remove_file(&manifest);
    let mut lines = String::new();
    place.edit("triton-3.9.0.dist-info/RECORD", |text| {
        lines.push_str(text);
        text.lines()
            .filter(|line| !line.starts_with(compiler))
            .fold(String::new(), |all, line| all + line + "\n")
    });
    // Without its line the file was added.
    place
        .run("a", PTX)
        .assert_ends(2, &["`triton/backends/nvidia/compiler.py` was added"], &[]);
    place.edit("triton-3.9.0.dist-info/RECORD", |_| {
        let sum = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "cd {}/lib/python*/site-packages && openssl dgst -sha256 -binary {compiler} | base64 | tr '+/' '-_' | tr -d '='",
                place.join("home/toolchains/3.9.0").display()
            ))
            .output()
            .expect("a shell");
        let sum = String::from_utf8_lossy(&sum.stdout).trim().to_owned();
        lines
            .lines()
            .map(|line| match line.strip_prefix(compiler) {
                Some(_) => format!("{compiler},sha256={sum},1\n"),
                None => format!("{line}\n"),
            })
            .collect()
    });
    place.run("a", PTX).assert_ends(1, &["ptx@3.9.0 is wrong"], &[]);
    // The whole one is installed in its place.
    place.edit(compiler, |_| whole);
    place.edit("triton-3.9.0.dist-info/RECORD", |_| lines.clone());
    fs::remove_file(&manifest).expect("a manifest");
    place.run("a", PTX).assert_ends(0, &[], &[]);
    place
        .run_cerith("a", &place.join("home"), &["toolchain", "remove", NEWEST])
        .assert_ends(0, &[], &[]);
    assert_eq!(place.count_cached(), 0);
}

fn an_environment_whose_python_is_gone_is_made_again() {
    let place = Place::new();
    place.create_checkout("a", "");
    for args in [&[][..], INTERPRET] {
        fs::remove_file(place.python()).expect("removed");
        symlink("nowhere/python", place.python()).expect("a link");
        place.run("a", args).assert_ends(
            0,
            &[],
            &["its Python was gone, and its environment was made again"],
        );
    }
    fs::remove_file(place.python()).expect("removed");
    symlink("nowhere/python", place.python()).expect("a link");
    let repair = ["toolchain", "repair", NEWEST];
    place.run_cerith("a", &place.join("home"), &repair).assert_ends(
        0,
        &["made its environment again: triton 3.9.0"],
        &[],
    );
    place
        .run_cerith("a", &place.join("home"), &repair)
        .assert_ends(0, &["not damaged: triton 3.9.0"], &[]);
}

fn a_toolchain_that_was_committed_is_not_executed() {
    let place = Place::new();
    place.create_checkout("repo", "");
    let home = place.join("repo/.cerith-home");
    let root = home.join("toolchains/3.9.0");
    fs::create_dir_all(root.join("bin")).expect("folders");
    let marker = r#"{"schema": 1, "id": "3.9.0", "triton": "3.9.0", "numpy": "2.3.5", "python": "3.11.7"}"#;
    fs::write(root.join("cerith-toolchain.json"), marker).expect("a file");
    let ran = place.join("ran");
    fs::write(
        root.join("bin/python"),
        format!("#!/bin/sh\ntouch {}\nexit 1\n", ran.display()),
    )
    .expect("a file");
    fs::set_permissions(root.join("bin/python"), fs::Permissions::from_mode(0o755)).expect("executable");
    let run = [&["run", "--offline"], INTERPRET].concat();
    // Nothing says what was installed of it.
    place.run_cerith("repo", &home, &run).assert_ends(
        2,
        &["toolchain damaged: its packages are gone; run `cerith toolchain repair 3.9.0`"],
        &[],
    );
    // In a repository, not even a whole one is used.
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(place.join("repo")).args(args);
        assert!(is_done(&mut command), "git {args:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "-f", "."]);
    place.run_cerith("repo", &home, &run).assert_ends(
        2,
        &[
            "a committed toolchain would be executed",
            "outside of the checkout",
        ],
        &[],
    );
    for args in [
        &["toolchain", "list"][..],
        &["toolchain", "add", "3.1.0"],
        &["run"],
    ] {
        let done = place.run_cerith("repo", &home, args);
        assert_ne!(done.code, Some(0), "{args:?}: {}", done.out);
    }
    assert!(!ran.exists());
}

pub fn tests() -> Tests {
    Tests::new().with_toolchain(
        NEWEST,
        &named![
            a_module_that_a_module_imports_decides_what_is_compiled,
            a_damaged_toolchain_is_no_fault_of_triton,
            compiled_kernels_do_not_outlive_their_toolchain,
            an_environment_whose_python_is_gone_is_made_again,
            a_toolchain_that_was_committed_is_not_executed
        ],
    )
}
