//! Toolchains that are not what was installed. Each test damages a copy, made of hard links beside the installed ones.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cerith_needs::{NEWEST, Tests, named};
use cerith_toolchain::{Home, Pool, Toolchain, WorkerFailure};

use crate::common::{assert_goes_on, kernels_folder, simple_request, time_limit};

/// A home with a copy of a toolchain.
struct Copy {
    folder: tempfile::TempDir,
    toolchain: Toolchain,
}

impl Copy {
    fn new(original: &Toolchain) -> Self {
        // On the same file system, for the links.
        let home = original.root().ancestors().nth(2).expect("a home");
        let folder = tempfile::tempdir_in(home).expect("a folder");
        let toolchains = folder.path().join("toolchains");
        fs::create_dir(&toolchains).expect("a folder");
        let copied = Command::new("cp")
            .arg("-al")
            .arg(original.root())
            .arg(&toolchains)
            .output()
            .expect("cp");
        assert!(copied.status.success(), "{copied:?}");
        let toolchain = Home::new(folder.path()).find(&original.id).expect("a copy");
        Self { folder, toolchain }
    }

    fn home(&self) -> Home {
        Home::new(self.folder.path())
    }

    fn package_path(&self, name: &str) -> PathBuf {
        let lib = self.toolchain.root().join("lib");
        let python = fs::read_dir(lib)
            .expect("a folder")
            .next()
            .expect("Python")
            .expect("an entry");
        python.path().join("site-packages").join(name)
    }

    fn pool(&self) -> Pool {
        Pool::new(self.toolchain.clone(), 1)
            .expect("a pool")
            .with_readable(&kernels_folder())
    }

    /// Puts a new file in the place of one, so that the original stays.
    fn edit(&self, name: &str, edit: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let path = self.package_path(name);
        let bytes = edit(fs::read(&path).unwrap_or_default());
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, bytes).expect("written");
    }
}

/// The reason why no worker starts.
#[track_caller]
fn find_reason(pool: &Pool) -> String {
    match pool.request(&simple_request("empty_kernel"), time_limit(30_000)) {
        Err(WorkerFailure::Start { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

fn replace(from: &'static str, to: &'static str) -> impl FnOnce(Vec<u8>) -> Vec<u8> {
    move |bytes| {
        let text = String::from_utf8(bytes).expect("Python");
        assert!(text.contains(from));
        text.replace(from, to).into_bytes()
    }
}

fn damage_is_found_before_a_worker_starts(toolchain: &Toolchain) {
    let check = |name: &str, edit: &dyn Fn(Vec<u8>) -> Vec<u8>, how: &str| {
        let copy = Copy::new(toolchain);
        copy.toolchain.check().expect("as installed");
        copy.edit(name, edit);
        copy.toolchain.check_again().expect_err("damaged");
        let expected = format!(
            "toolchain damaged: `{name}` was {how}; run `cerith toolchain repair {}`",
            toolchain.id
        );
        assert_eq!(find_reason(&copy.pool()), expected);
    };
    let interpreter = "triton/runtime/interpreter.py";
    check(
        interpreter,
        &|bytes| replace("np.cos)", "np.sin)")(bytes),
        "changed",
    );
    check("sitecustomize.py", &|_| b"print('here')\n".to_vec(), "added");
    check("triton/runtime/interpreter/__init__.py", &|_| Vec::new(), "added");
    let openblas = fs::read_dir(Copy::new(toolchain).package_path("numpy.libs"))
        .expect("libraries")
        .flatten()
        .map(|entry| format!("numpy.libs/{}", entry.file_name().to_string_lossy()))
        .min()
        .expect("a library");
    let flip = |mut bytes: Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        bytes
    };
    check(&openblas, &flip, "changed");
}

/// A toolchain that an earlier version installed has no manifest: it is compared with the records of its wheels.
fn damage_is_found_without_a_manifest(toolchain: &Toolchain) {
    let copy = Copy::new(toolchain);
    let _ = fs::remove_file(copy.toolchain.root().join("cerith-manifest.json"));
    copy.edit("triton/runtime/interpreter.py", replace("np.cos)", "np.sin)"));
    assert!(
        find_reason(&copy.pool())
            .starts_with("toolchain damaged: `triton/runtime/interpreter.py` was changed")
    );
}

/// Bytecode is made from sources, and one that is wrong is not used.
fn damaged_bytecode_is_removed(toolchain: &Toolchain) {
    let copy = Copy::new(toolchain);
    copy.toolchain.check().expect("as installed");
    let cached = copy.package_path("triton/runtime/__pycache__");
    let name = fs::read_dir(&cached)
        .expect("bytecode")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| name.starts_with("interpreter."))
        .expect("the interpreter's");
    copy.edit(&format!("triton/runtime/__pycache__/{name}"), |mut bytes| {
        let last = bytes.len() - 100;
        bytes[last] ^= 1;
        bytes
    });
    copy.toolchain.check_again().expect("as installed");
    assert!(!cached.join(name).exists());
    assert_goes_on(&copy.pool());
}

/// A pool gives up after three failures in a row. One that damage explains has that reason.
fn a_worker_that_never_starts_is_not_tried_without_end(toolchain: &Toolchain) {
    let copy = Copy::new(toolchain);
    let python = copy.toolchain.python();
    let tries = copy.folder.path().join("tries");
    fs::remove_file(&python).expect("removed");
    let script = format!(
        "#!/bin/sh\necho >> {}\necho no luck >&2\nexit 1\n",
        tries.display()
    );
    fs::write(&python, script).expect("written");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("executable");
    let pool = copy.pool();
    let first = find_reason(&pool);
    assert!(first.contains("no luck"), "{first}");
    for _ in 0..20 {
        assert_eq!(find_reason(&pool), first);
    }
    assert_eq!(count_lines(&tries), 3);
}

fn count_lines(path: &Path) -> usize {
    fs::read_to_string(path).expect("a file").lines().count()
}

fn removing_a_toolchain_removes_what_it_compiled(toolchain: &Toolchain) {
    let copy = Copy::new(toolchain);
    let compiled = copy.folder.path().join("compiled");
    for id in [toolchain.id.to_string(), "3.0.0".to_owned()] {
        fs::create_dir_all(compiled.join(id).join("ab")).expect("folders");
    }
    copy.home().remove(&toolchain.id).expect("removed");
    assert!(!compiled.join(toolchain.id.to_string()).exists());
    assert!(compiled.join("3.0.0").exists());
}

pub fn tests() -> Tests {
    Tests::new().with_each(
        &[NEWEST],
        &named![
            damage_is_found_before_a_worker_starts,
            damage_is_found_without_a_manifest,
            damaged_bytecode_is_removed,
            a_worker_that_never_starts_is_not_tried_without_end,
            removing_a_toolchain_removes_what_it_compiled
        ],
    )
}
