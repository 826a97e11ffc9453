//! Installs a toolchain. See [`crate::home`] for the installed ones.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cerith_tile::rules::Version;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::explain::{self, AddError, about_size};
use crate::home::Home;
use crate::id::ToolchainId;
use crate::installed::{Contents, MARKER, SCHEMA, Toolchain, size_of};
use crate::manifest;
use crate::pool::Pool;
use crate::probe::probe;
use crate::{compatibility, uncontained};

/// The oldest Triton whose language is known: one before would be judged by rules that are not its own.
const OLDEST: Version = Version::new(3, 0, 0);

/// Something that happened while a toolchain is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A step began; a short phrase for a user (`installing triton 3.9.0 and numpy 2.3.5 with uv`).
    Step(String),
    /// Bytes on disk so far, and about how many there will be.
    Bytes {
        /// So far.
        received: u64,
        /// In the end, roughly; `None` if unknown.
        total: Option<u64>,
    },
    /// A line that the installer printed.
    Line(String),
}

/// Receives the progress of an installation. All methods are called on the installing thread.
pub trait Observer {
    /// Something happened.
    fn report_event(&self, event: Event);

    /// Whether to give up; called several times a second. The unfinished installation is then removed.
    fn cancelled(&self) -> bool {
        false
    }
}

/// An observer that looks away.
impl Observer for () {
    fn report_event(&self, _event: Event) {}
}

impl Home {
    /// Installs a toolchain from PyPI with uv or pip, or returns it if it is already there.
    ///
    /// # Errors
    /// No Python that fits, no network, no such version, a full disk and the like; nothing half-made is left.
    pub fn add(&self, id: &ToolchainId, observer: &dyn Observer) -> Result<Toolchain, AddError> {
        let path = std::env::var_os("PATH");
        add(self, id, observer, path.as_deref(), Present::Kept)
    }

    /// Installs a toolchain in place of one that is there and damaged.
    ///
    /// # Errors
    /// As with [`Self::add`]; the one that is there is left alone then.
    pub(crate) fn replace(&self, id: &ToolchainId, observer: &dyn Observer) -> Result<Toolchain, AddError> {
        let path = std::env::var_os("PATH");
        add(self, id, observer, path.as_deref(), Present::Replaced)
    }
}

/// The treatment of an existing toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Present {
    Kept,
    Replaced,
}

/// Makes a toolchain with the programs found along `path`, the value of PATH.
fn add(
    home: &Home,
    id: &ToolchainId,
    observer: &dyn Observer,
    path: Option<&OsStr>,
    present: Present,
) -> Result<Toolchain, AddError> {
    let find = || home.find(id).filter(|_| present == Present::Kept);
    if let Some(there) = find() {
        return Ok(there);
    }
    if let Some(build) = id.build() {
        return Err(AddError::NoSuchVersion {
            package: "triton",
            version: id.to_string(),
            hint: format!(
                "a build is not in it; `cerith toolchain adopt --name {build} PYTHON` registers the Python that has it"
            ),
        });
    }
    if id.triton() < OLDEST {
        return Err(AddError::NoSuchVersion {
            package: "triton",
            version: id.triton().to_string(),
            hint: format!(
                "Cerith knows the language from {OLDEST} on, and would judge it by rules that are not its own; name {OLDEST} or later"
            ),
        });
    }
    let folder = home.toolchains_folder();
    // Installers start in another folder.
    let folder = std::path::absolute(&folder).map_err(|source| unwritable_error(&folder, source))?;
    fs::create_dir_all(&folder).map_err(|source| unwritable_error(&folder, source))?;
    observer.report_event(Event::Step(format!("waiting for other installations of {id}")));
    let Some(lock) = home.lock(id, || observer.cancelled())? else {
        return Err(AddError::Cancelled { id: id.clone() });
    };
    if let Some(there) = find() {
        return Ok(there);
    }
    // Only the holder of the lock makes these, so whatever is there is of an installation that was interrupted.
    let partial = folder.join(format!(".partial-{id}"));
    remove(&partial)?;
    let made = Attempt {
        id,
        observer,
        lock: &lock,
        path,
        partial: &partial,
    }
    .make();
    let contents = match made {
        Ok(contents) => contents,
        Err(error) => {
            // The first error is the one that matters; the next installation sweeps up what is left.
            let _ = remove(&partial);
            return Err(error);
        }
    };
    let root = folder.join(id.to_string());
    // Something without a valid marker: not an installation of ours.
    remove(&root)?;
    fs::rename(&partial, &root).map_err(|source| unwritable_error(&root, source))?;
    for folder in [&partial, &root] {
        manifest::forget(folder);
    }
    Ok(Toolchain::new(id.clone(), contents, root))
}

fn remove(folder: &Path) -> Result<(), AddError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable_error(folder, error)),
        _ => Ok(()),
    }
}

fn unwritable_error(path: &Path, source: io::Error) -> AddError {
    let path = path.to_owned();
    if source.kind() == io::ErrorKind::StorageFull {
        return AddError::DiskFull {
            path,
            needed_megabytes: about_size(&ToolchainId::from_triton(Version::NEWEST)) >> 20,
        };
    }
    AddError::Unwritable { path, source }
}

/// One installation, in a folder of its own.
struct Attempt<'a> {
    id: &'a ToolchainId,
    observer: &'a dyn Observer,
    lock: &'a File,
    path: Option<&'a OsStr>,
    partial: &'a Path,
}

/// The program that puts packages into an environment.
enum Installer {
    Uv(PathBuf),
    /// A Python that has pip.
    Pip(PathBuf),
}

/// Whether a step of the installation fills the disk.
#[derive(Clone, Copy)]
enum Growth {
    /// Too small to mention.
    Small,
    /// Yes, up to about so many bytes if that is known.
    Watched { total: Option<u64> },
}

impl Attempt<'_> {
    fn make(&self) -> Result<Contents, AddError> {
        let uv = self
            .path
            .and_then(|path| uncontained::on_path("uv".as_ref(), Some(path)).next());
        let minors = compatibility::suitable_pythons(self.id);
        self.step(format!(
            "looking for Python {}",
            compatibility::describe_range(&minors)
        ));
        let found = compatibility::find(&minors, self.path);
        let scratch = self.partial.join("tmp");
        fs::create_dir_all(&scratch).map_err(|source| unwritable_error(&scratch, source))?;

        let (minor, installer) = match (&found.fit, uv, minors.first()) {
            (Some(python), uv, _) => {
                self.step(format!("making an environment with Python 3.{}", python.minor));
                let mut venv = uncontained::python_command(&python.path);
                venv.args(["-m", "venv", "--without-pip"]).arg(self.partial);
                self.run(venv, "venv", Growth::Small)?;
                let installer = match uv {
                    Some(uv) => Installer::Uv(uv),
                    None => Installer::Pip(self.find_pip(&python.path)?),
                };
                (python.minor, installer)
            }
            (None, Some(uv), Some(&minor)) => {
                self.step(format!(
                    "making an environment with Python 3.{minor}, fetched by uv"
                ));
                let mut venv = uncontained::new_command(&uv);
                venv.args(["venv", "--allow-existing", "--python", &format!("3.{minor}")])
                    .arg(self.partial);
                self.run(venv, "uv", Growth::Small)?;
                (minor, Installer::Uv(uv))
            }
            (None, None, _) if found.rejected.is_empty() => {
                return Err(AddError::NoPython {
                    suitable: compatibility::describe_range(&minors),
                });
            }
            _ => {
                return Err(AddError::WrongPython {
                    id: self.id.clone(),
                    suitable: compatibility::describe_range(&minors),
                    present: found.phrase(),
                });
            }
        };
        let numpy = compatibility::numpy_for(self.id, minor).unwrap_or_default();
        self.install(&installer, &numpy)?;
        let contents = self.verify()?;
        fs::remove_dir_all(&scratch).map_err(|source| unwritable_error(&scratch, source))?;
        let _ = fs::remove_file(self.log());
        Ok(contents)
    }

    fn step(&self, text: String) {
        self.observer.report_event(Event::Step(text));
    }

    fn log(&self) -> PathBuf {
        self.partial.join("install.log")
    }

    fn environment_python(&self) -> PathBuf {
        self.partial.join("bin").join("python")
    }

    /// A Python whose pip can install into the environment: the one that the environment was made with, if its pip is
    /// there and new enough to install for another (22.3), or else the environment's own with the pip that Python
    /// carries.
    fn find_pip(&self, base: &Path) -> Result<PathBuf, AddError> {
        let mut ask = uncontained::python_command(base);
        ask.args(["-m", "pip", "--python"])
            .arg(self.environment_python())
            .arg("--version");
        let able = ask.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if able.is_ok_and(|status| status.success()) {
            return Ok(base.to_owned());
        }
        let own = self.environment_python();
        let mut ensure = uncontained::python_command(&own);
        ensure.args(["-m", "ensurepip"]);
        self.run(ensure, "pip", Growth::Small)
            .map_err(|error| match error {
                AddError::Installer { id, .. } => AddError::Installer {
                    id,
                    installer: "pip",
                    reason: format!(
                        "{} has neither pip nor ensurepip; install uv, or Python's pip",
                        base.display()
                    ),
                },
                other => other,
            })?;
        Ok(own)
    }

    fn install(&self, installer: &Installer, numpy: &str) -> Result<(), AddError> {
        let triton = self.id.triton();
        let (mut command, name) = match installer {
            Installer::Uv(uv) => {
                let mut command = uncontained::new_command(uv);
                // Bytecode now, or every worker would compile Triton for itself.
                command
                    .args(["pip", "install", "--compile-bytecode", "--python"])
                    .arg(self.environment_python());
                (command, "uv")
            }
            Installer::Pip(python) => {
                let mut command = uncontained::python_command(python);
                command.args([
                    "-m",
                    "pip",
                    "--disable-pip-version-check",
                    "--no-input",
                    "--retries",
                    "2",
                ]);
                if *python != self.environment_python() {
                    command.arg("--python").arg(self.environment_python());
                }
                command.args(["install", "--progress-bar", "off"]);
                (command, "pip")
            }
        };
        // A torch pins its own Triton.
        let (package, version) = match self.id.torch() {
            Some(torch) => ("torch", torch),
            None => ("triton", triton),
        };
        self.step(format!(
            "installing {package} {version} and numpy {numpy} with {name}"
        ));
        command.args([
            "--only-binary",
            ":all:",
            &format!("{package}=={version}"),
            &format!("numpy=={numpy}"),
        ]);
        if triton < Version::new(3, 3, 0) {
            // They import it and do not say so. Later ones say so or do without.
            command.arg("setuptools<81");
        }
        // uv downloads into its cache, so what it will write here says little about how far it is.
        let total = matches!(installer, Installer::Pip(_)).then(|| about_size(self.id));
        self.run(command, name, Growth::Watched { total })
    }

    /// Runs a program of the installation to its end, reporting what it prints and how much is on disk.
    fn run(&self, mut command: Command, installer: &'static str, growth: Growth) -> Result<(), AddError> {
        let failed = |reason: String| AddError::Installer {
            id: self.id.clone(),
            installer,
            reason,
        };
        let log = self.log();
        let output = File::create(&log).map_err(|source| unwritable_error(&log, source))?;
        // Nothing is ever in it to be read. With it, the lock is the installer's too.
        let lock = self
            .lock
            .try_clone()
            .map_err(|source| unwritable_error(&log, source))?;
        let errors = output
            .try_clone()
            .map_err(|source| unwritable_error(&log, source))?;
        command
            .env("TMPDIR", self.partial.join("tmp"))
            .env_remove("PIP_TARGET")
            .env_remove("PIP_USER")
            .env_remove("PIP_PREFIX")
            .stdin(lock)
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        let program = command.get_program().to_owned();
        let mut child = Running(
            command
                .spawn()
                .map_err(|e| failed(format!("{}: {e}", program.display())))?,
        );
        let mut seen = 0;
        for tick in 0u32.. {
            let status = child.0.try_wait().map_err(|error| failed(error.to_string()))?;
            let text = fs::read(&log)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default();
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            for line in text.get(seen..whole).unwrap_or_default().lines() {
                self.observer.report_event(Event::Line(line.to_owned()));
            }
            seen = whole.max(seen);
            if let (Growth::Watched { total }, 0) = (growth, tick % 5) {
                self.observer.report_event(Event::Bytes {
                    received: size_of(self.partial),
                    total,
                });
            }
            match status {
                Some(status) if status.success() => return Ok(()),
                Some(_) => return Err(explain::explain_output(self.id, installer, &text, self.partial)),
                None if self.observer.cancelled() => return Err(AddError::Cancelled { id: self.id.clone() }),
                None => std::thread::sleep(Duration::from_millis(if tick < 5 { 20 } else { 100 })),
            }
        }
        Ok(())
    }

    /// Queries the new toolchain for its contents, and runs a kernel in one of its workers.
    fn verify(&self) -> Result<Contents, AddError> {
        self.step("trying it".to_owned());
        let broken = |reason: String| AddError::Broken {
            id: self.id.clone(),
            reason,
        };
        let ask = "import json, platform, sys, numpy, triton\nif sys.argv[1:]: import torch\nprint(json.dumps([\
             triton.__version__, numpy.__version__, platform.python_version(), \
             torch.__version__ if sys.argv[1:] else None]))";
        let output = uncontained::python_command(&self.environment_python())
            .args(["-c", ask])
            .args(self.id.torch().map(|_| "torch"))
            .env("TRITON_INTERPRET", "1")
            .output()
            .map_err(|error| broken(error.to_string()))?;
        let answer: Option<(String, String, String, Option<String>)> =
            serde_json::from_slice(&output.stdout).ok();
        let Some((triton, numpy, python, torch)) = answer else {
            return Err(broken(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        };
        if triton != self.id.triton().to_string() {
            let of = self
                .id
                .torch()
                .map_or("", |_| ", which is not what this torch is known to bring");
            return Err(broken(format!("it says that it is triton {triton}{of}")));
        }
        // A build's name, for example `+cu130`, comes after the version.
        let release = |torch: &String| torch.split('+').next().unwrap_or_default().to_owned();
        if torch.as_ref().map(release) != self.id.torch().map(|torch| torch.to_string()) {
            return Err(broken(format!(
                "it says that it is torch {}",
                torch.unwrap_or_default()
            )));
        }
        let contents = Contents {
            schema: SCHEMA,
            id: self.id.to_string(),
            triton,
            numpy,
            python,
            torch,
            adopted: None,
        };
        let toolchain = Toolchain::new(self.id.clone(), contents.clone(), self.partial.to_owned());
        // Against the wheels' records; this writes the manifest.
        toolchain.check().map_err(|damage| broken(damage.description))?;
        let pool = Pool::new(toolchain, 1).map_err(|error| broken(error.to_string()))?;
        probe(&pool).map_err(|error| broken(error.to_string()))?;
        let marker = self.partial.join(MARKER);
        let text = serde_json::to_vec_pretty(&contents).map_err(|error| broken(error.to_string()))?;
        fs::write(&marker, text).map_err(|source| unwritable_error(&marker, source))?;
        Ok(contents)
    }
}

/// A program that ends, with everything it started, when it is no longer waited for.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
                // An error means that the group is empty.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A home, and a folder of programs with one that says it is Python 3.11 and otherwise does what `script` does.
    fn with_python(script: &str) -> (tempfile::TempDir, Home, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = folder.path().join("programs");
        fs::create_dir(&programs).expect("made");
        let python = programs.join("python3.11");
        let text = format!("#!/bin/sh\ncase \"$2\" in -c) echo 3 11 cpython 0;; *) {script};; esac\n");
        fs::write(&python, text).expect("written");
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("executable");
        // Another test that starts a program meanwhile holds the file open for writing, until that program runs.
        let starts = || Command::new(&python).args(["-I", "-c"]).output().is_ok();
        assert!((0..100).any(|_| {
            let started = starts();
            if !started {
                std::thread::sleep(Duration::from_millis(20));
            }
            started
        }));
        let home = Home::new(folder.path().join("home"));
        (folder, home, programs)
    }

    /// The entries in the folder of toolchains, without locks.
    fn list_leftovers(home: &Home) -> Vec<String> {
        let Ok(entries) = fs::read_dir(home.toolchains_folder()) else {
            return Vec::new();
        };
        let names = entries.map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        });
        names.filter(|name| !name.starts_with(".lock-")).collect()
    }

    #[test]
    fn what_fails_leaves_nothing_and_says_why() {
        let check = |id: &str, script: &str, expected: &str| {
            let (_folder, home, programs) = with_python(script);
            let id = id.parse().expect("a toolchain");
            let error =
                add(&home, &id, &(), Some(programs.as_os_str()), Present::Kept).expect_err("it fails");
            assert_eq!(error.to_string(), expected);
            assert_eq!(list_leftovers(&home), [""; 0]);
        };
        check(
            "3.9.0",
            "echo no such module >&2; exit 1",
            "install 3.9.0 with venv: no such module",
        );
        check(
            "2.1.0",
            "true",
            "find triton 2.1.0 in the package index: Cerith knows the language from 3.0.0 on, and would judge it by rules that are \
             not its own; name 3.0.0 or later",
        );
    }

    /// Gives up once an installer runs.
    #[derive(Default)]
    struct Impatient {
        interrupt_requested: Cell<bool>,
        steps: RefCell<Vec<String>>,
    }

    impl Observer for Impatient {
        fn report_event(&self, event: Event) {
            if let Event::Step(step) = event {
                self.interrupt_requested.set(step.starts_with("making"));
                self.steps.borrow_mut().push(step);
            }
        }

        fn cancelled(&self) -> bool {
            self.interrupt_requested.get()
        }
    }

    #[test]
    fn cancelling_kills_the_installer_and_leaves_nothing() {
        let (_folder, home, programs) = with_python("sleep 100");
        let observer = Impatient::default();
        let id = "3.1.0".parse().expect("a toolchain");
        let began = std::time::Instant::now();
        let error =
            add(&home, &id, &observer, Some(programs.as_os_str()), Present::Kept).expect_err("cancelled");
        assert!(matches!(error, AddError::Cancelled { .. }), "{error}");
        assert!(began.elapsed() < Duration::from_secs(50));
        assert_eq!(list_leftovers(&home), [""; 0]);
        assert_eq!(
            observer.steps.borrow().last().map(String::as_str),
            Some("making an environment with Python 3.11")
        );
    }

    #[test]
    fn leftovers_of_a_killed_installation_are_swept_up() {
        let (_folder, home, programs) = with_python("exit 1");
        let partial = home.toolchains_folder().join(".partial-3.1.0");
        fs::create_dir_all(partial.join("lib")).expect("made");
        let id = "3.1.0".parse().expect("a toolchain");
        add(&home, &id, &(), Some(programs.as_os_str()), Present::Kept).expect_err("it fails");
        assert_eq!(list_leftovers(&home), [""; 0]);
    }
}
