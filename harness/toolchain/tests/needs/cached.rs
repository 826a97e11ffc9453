//! A cached compilation is used only while every file that its worker read is unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cerith_needs::{NEWEST, Tests, named};
use cerith_toolchain::compiled::Target;
use cerith_toolchain::request::Module;
use cerith_toolchain::{
    Cache, Compilation, CompileRequest, Compilers, Limits, Toolchain, Tuning, WorkerFailure,
};

use crate::common::{launch, tensor};

/// The files of a checkout, besides the kernel's.
const FILES: &[(&str, &str)] = &[
    ("package/__init__.py", ""),
    ("package/deep/__init__.py", ""),
    (
        "package/deep/middle.py",
        "from . import last\nfrom .last import X\n",
    ),
    ("package/deep/last.py", "X = 1\n"),
    ("space/inner.py", "X = 1\n"),
    ("code.txt", "X = 1\n"),
    ("data.bin", "1234"),
    ("library/extra.py", "X = 1\n"),
    (
        "patch.py",
        "from triton.backends import backends\nbackend = backends['nvidia'].compiler\n\
         declared, make = vars(backend)['make_ptx'], backend.make_ptx\n\
         patched = lambda *args: make(*args).replace(', 1;', ', 2;')\n\
         backend.make_ptx = staticmethod(patched) if isinstance(declared, staticmethod) else patched\n",
    ),
];

const KERNEL: &str = "
import triton
import triton.language as tl

@triton.jit
def add(x):
    at = tl.arange(0, 64)
    tl.store(x + at, tl.load(x + at) + 1)
";

const FOLDER_PRELUDE: &str = "import os\nHERE = os.path.dirname(__file__)\n";

/// A compilation of a kernel whose file begins with some Python.
fn request(root: &Path, head: &str) -> CompileRequest {
    CompileRequest {
        module: Module {
            path: root.join("kernel.py"),
            text: format!("{FOLDER_PRELUDE}{head}\n{KERNEL}").into(),
        },
        siblings: Vec::new(),
        storages: vec![256],
        launches: vec![launch("add", vec![tensor(0, &[64], &[1], 0)])],
        target: Target::HOPPER,
        assembled: None,
        tuning: Tuning::default(),
        stage: None,
        lines: false,
        passes: false,
    }
}

/// A folder with checkouts and a cache.
struct Place<'a> {
    toolchain: &'a Toolchain,
    folder: tempfile::TempDir,
    compilers: Compilers,
}

impl<'a> Place<'a> {
    fn new(toolchain: &'a Toolchain) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let compilers = Self::open_compilers(toolchain, folder.path());
        Self {
            toolchain,
            folder,
            compilers,
        }
    }

    fn open_compilers(toolchain: &Toolchain, folder: &Path) -> Compilers {
        let cache = Cache::open_folder(folder.join("cache"), Cache::MAX_BYTES).expect("a cache");
        Compilers::new(toolchain.clone(), 1, Some(cache))
            .expect("compilers")
            .with_readable(folder)
    }

    /// A checkout with all files.
    fn add_checkout(&self, name: &str) -> PathBuf {
        let root = self.folder.path().join(name);
        for (file, text) in FILES {
            write(&root.join(file), text);
        }
        root
    }

    fn compile(&self, request: &CompileRequest) -> Compilation {
        self.compilers
            .compile(request, Limits::COMPILER)
            .expect("an answer")
    }

    /// Whether the cache has the compilation: stopped compilers can return only cached ones.
    fn is_kept(&self, request: &CompileRequest) -> bool {
        let stopped = Self::open_compilers(self.toolchain, self.folder.path());
        stopped.stop();
        match stopped.compile(request, Limits::COMPILER) {
            Ok(_) => true,
            Err(WorkerFailure::Stopped) => false,
            Err(other) => panic!("{other}"),
        }
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, text).expect("written");
}

/// Waits, because times of files may be older than the clock's by a tick.
fn wait() {
    std::thread::sleep(Duration::from_millis(60));
}

type Change = (&'static str, &'static str);

/// Python at the head of a kernel's file, and a change of a file that it depends on.
const READS: &[(&str, Change)] = &[
    (
        "from package.deep.middle import X",
        ("package/deep/last.py", "X = 2\n"),
    ),
    (
        "from package.deep.middle import X",
        ("package/deep/last.py", "raise RuntimeError\n"),
    ),
    (
        "from package.deep.middle import X",
        ("package/deep/middle/__init__.py", "X = 2\n"),
    ),
    ("import package.deep.last", ("package/__init__.py", "X = 2\n")),
    (
        "exec(open(os.path.join(HERE, 'code.txt')).read())",
        ("code.txt", "X = 2\n"),
    ),
    (
        "import importlib.util\nspec = importlib.util.spec_from_file_location('m', os.path.join(HERE, 'library/extra.py'))\n\
         m = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(m)",
        ("library/extra.py", "X = 2\n"),
    ),
    (
        "import importlib\nimportlib.import_module('package.deep.last')",
        ("package/deep/last.py", "X = 2\n"),
    ),
    ("import space.inner", ("space/inner.py", "X = 2\n")),
    ("import space.inner", ("space/__init__.py", "")),
    (
        "import pathlib\nDATA = (pathlib.Path(HERE) / 'data.bin').read_bytes()",
        ("data.bin", "4321"),
    ),
    (
        "import numpy as np\nDATA = np.fromfile(os.path.join(HERE, 'data.bin'), dtype=np.uint8)",
        ("data.bin", "4321"),
    ),
    (
        "fd = os.open(HERE, os.O_RDONLY)\nDATA = os.read(os.open('data.bin', os.O_RDONLY, dir_fd=fd), 9)",
        ("data.bin", "4321"),
    ),
    (
        "import sys\nsys.path.insert(0, os.path.join(HERE, 'library'))\nimport extra",
        ("library/extra.py", "X = 2\n"),
    ),
    ("FAST = os.path.exists(os.path.join(HERE, 'fast'))", ("fast", "")),
    (
        "try:\n    DATA = os.readlink(os.path.join(HERE, 'link'))\nexcept FileNotFoundError:\n    pass\nexcept OSError:\n    DATA = ''",
        ("link", ""),
    ),
    (
        "try:\n    DATA = os.statvfs(os.path.join(HERE, 'fast'))\nexcept OSError:\n    pass",
        ("fast", ""),
    ),
    (
        "try:\n    os.rename(os.path.join(HERE, 'fast'), os.path.join(HERE, 'slow'))\nexcept OSError:\n    pass",
        ("slow", ""),
    ),
    (
        "try:\n    os.listxattr(path=os.path.join(HERE, 'fast'))\nexcept OSError:\n    pass",
        ("fast", ""),
    ),
    (
        "import glob\nFILES = glob.glob(os.path.join(HERE, '*.txt'))",
        ("more.txt", ""),
    ),
    (
        "FILES = list(os.scandir(os.path.join(HERE, 'library')))",
        ("library/more.txt", ""),
    ),
    (
        "try:\n    import absent\nexcept ImportError:\n    pass",
        ("absent.py", ""),
    ),
    // Python imports the file beside the kernel instead of its own module.
    ("import colorsys", ("colorsys.py", "")),
    ("import patch", ("patch.py", "")),
];

/// All checkouts are made first, because a compilation is not cached if it reads a file that is newer than its process.
fn a_change_of_any_file_that_was_read_is_noticed(toolchain: &Toolchain) {
    let place = Place::new(toolchain);
    let roots: Vec<PathBuf> = (0..READS.len())
        .map(|at| place.add_checkout(&at.to_string()))
        .collect();
    wait();
    for ((head, (file, text)), root) in READS.iter().zip(&roots) {
        let request = request(root, head);
        let compilation = place.compile(&request);
        assert!(compilation.result.is_ok(), "{head}: {compilation:?}");
        assert!(place.is_kept(&request), "{head}");
        write(&root.join("package/unrelated.py"), "X = 2\n");
        fs::File::open(root.join("code.txt"))
            .and_then(|file| file.set_modified(std::time::SystemTime::now()))
            .expect("touched");
        assert!(place.is_kept(&request), "{head}: nothing that it read changed");
        write(&root.join(file), text);
        assert!(!place.is_kept(&request), "{head}: {file} changed");
    }
}

/// Code that reads files without Python's own functions, and reads of files that change each time.
const UNTRACKED: &[&str] = &[
    "import ctypes\nctypes.CDLL(None)",
    "import ctypes\nctypes.pythonapi.Py_GetVersion",
    "import subprocess\nsubprocess.run(['/bin/true'])",
    "os.system('true')",
    "DATA = open('/proc/self/stat').read()",
    "DATA = open('/dev/urandom', 'rb').read(1)",
    // Modules that tamper with the reports are not trusted.
    "os.write = lambda *args: 0",
    "os.closerange(3, 100)",
];

fn what_is_not_tracked_is_not_kept(toolchain: &Toolchain) {
    let place = Place::new(toolchain);
    let root = place.add_checkout("a");
    wait();
    for head in UNTRACKED {
        let request = request(&root, head);
        // Containment makes some of it fail.
        let _ = place.compilers.compile(&request, Limits::COMPILER);
        assert!(!place.is_kept(&request), "{head}");
    }
}

/// A compilation with a module that patches the compiler is not used for checkouts without that module.
fn a_checkout_does_not_answer_for_another(toolchain: &Toolchain) {
    let place = Place::new(toolchain);
    let [fork, mine, same] = ["fork", "mine", "same"].map(|name| place.add_checkout(name));
    write(&mine.join("patch.py"), "");
    wait();
    let ptx = |root: &Path| {
        let compiled = place
            .compile(&request(root, "import patch"))
            .result
            .expect("it compiles");
        compiled.kernels[0].ptx.clone()
    };
    let patched = ptx(&fork);
    assert!(!place.is_kept(&request(&mine, "import patch")));
    assert!(
        !place.is_kept(&request(&same, "import patch")),
        "equal files elsewhere"
    );
    assert_ne!(ptx(&mine), patched);
    assert_eq!(ptx(&same), patched);

    // The same checkout, without the patch.
    write(&fork.join("patch.py"), "");
    wait();
    assert_ne!(ptx(&fork), patched);
}

/// If a file changes after the process started, it is unknown which contents were read.
fn what_changes_meanwhile_is_not_kept(toolchain: &Toolchain) {
    let place = Place::new(toolchain);
    let root = place.add_checkout("a");
    wait();
    let request = request(&root, "from package.deep.middle import X");
    write(
        &root.join("package/deep/last.py"),
        "import time\ntime.sleep(2)\nX = 1\n",
    );
    std::thread::scope(|scope| {
        let compiling = scope.spawn(|| place.compile(&request));
        std::thread::sleep(Duration::from_millis(100));
        while !compiling.is_finished() {
            write(&root.join("package/deep/last.py"), "X = 3\n");
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(!place.is_kept(&request));
}

/// The worker runs the source, as the frontend reads it, even if there is newer bytecode.
fn bytecode_beside_a_source_is_ignored(toolchain: &Toolchain) {
    let place = Place::new(toolchain);
    let root = place.add_checkout("a");
    let make = "import py_compile, sys\n\
                py_compile.compile(sys.argv[1], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)";
    let source = root.join("package/deep/last.py");
    write(&source, "raise RuntimeError('old')\n");
    let made = Command::new(toolchain.python())
        .args(["-I", "-c", make])
        .arg(&source)
        .output()
        .expect("Python");
    assert!(made.status.success(), "{made:?}");
    assert!(root.join("package/deep/__pycache__").is_dir());
    write(&source, "X = 1\n");
    wait();
    let request = request(&root, "from package.deep.middle import X");
    let compilation = place.compile(&request);
    assert!(compilation.result.is_ok(), "{compilation:?}");
    assert!(place.is_kept(&request));
    fs::remove_dir_all(root.join("package/deep/__pycache__")).expect("removed");
    assert!(place.is_kept(&request));
}

/// A cached compilation of an earlier run can be dropped, once.
fn what_was_kept_is_dropped_on_request(toolchain: &Toolchain) {
    let place = Place::new(toolchain);
    let root = place.add_checkout("a");
    wait();
    let request = request(&root, "");
    place.compile(&request);
    assert_eq!(
        place.compilers.forget(&request),
        Ok(false),
        "compiled in this run"
    );
    let later = Place::open_compilers(toolchain, place.folder.path());
    later.compile(&request, Limits::COMPILER).expect("kept");
    assert_eq!(later.forget(&request), Ok(true));
    assert!(!place.is_kept(&request));
    assert_eq!(later.forget(&request), Ok(false));
}

pub fn tests() -> Tests {
    Tests::new()
        .with_each(
            &["3.1.0", NEWEST],
            &named![
                a_change_of_any_file_that_was_read_is_noticed,
                a_checkout_does_not_answer_for_another
            ],
        )
        .with_each(
            &[NEWEST],
            &named![
                what_is_not_tracked_is_not_kept,
                what_changes_meanwhile_is_not_kept,
                bytecode_beside_a_source_is_ignored,
                what_was_kept_is_dropped_on_request
            ],
        )
}
