//! Hostile kernels, executed for real: each does no harm and is named in the outcome. The tests of workers that
//! interpret and compile also apply to those with torch, and run with them if a toolchain has it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    assert_goes_on, expect_finished, expect_raised, kernels_folder, open_pool, read_module, time_limit,
};
use cerith_needs::{NEWEST, Need, Tests, find_toolchain, named};
use cerith_toolchain::compiled::Target;
use cerith_toolchain::compiler::Tuning;
use cerith_toolchain::inductor::InductorRequest;
use cerith_toolchain::request::Device;
use cerith_toolchain::response::Raised;
use cerith_toolchain::{
    CompileRequest, Compilers, Exit, Home, Inductors, Limits, Pool, Request, Toolchain, WorkerFailure,
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The result of an attempt: Python's exception, the worker's end, or the printed text.
fn describe_result(result: Result<(Option<&Raised>, &str), &WorkerFailure>) -> String {
    match result {
        Ok((Some(raised), _)) => format!("{}: {}", raised.root().kind, raised.root().message),
        Ok((None, printed)) => format!("finished: {}", printed.trim_end()),
        Err(WorkerFailure::Crashed { exit: how, .. }) => how.to_string(),
        Err(failure) => failure.to_string(),
    }
}

/// A module that does this when it is imported.
fn request(code: &str) -> Request {
    let mut request = Request::import(read_module("behaviour.py"));
    let lines: Vec<String> = code
        .lines()
        .map(|line| format!("    {}", line.trim_end()))
        .collect();
    let lines = lines.join("\n");
    request.module.text = format!(
        "import ctypes, faulthandler, os, resource, signal, socket, subprocess, sys, threading, time\n\n\n\
         def attempt():\n{lines}\n\n\nattempt()\n"
    )
    .into();
    request
}

/// Workers of one toolchain, and a folder that is none of theirs.
struct Trial {
    toolchain: Toolchain,
    pool: Pool,
    compilers: Compilers,
    outside: TempDir,
}

impl Trial {
    fn new() -> Self {
        let toolchain = find_toolchain(NEWEST);
        let outside = tempfile::tempdir().expect("a folder");
        fs::create_dir(outside.path().join(".ssh")).expect("made");
        fs::write(outside.path().join(".ssh/id"), "secret").expect("written");
        let compilers = Compilers::new(toolchain.clone(), 1, None)
            .expect("compilers")
            .with_readable(&kernels_folder());
        Self {
            pool: open_pool(&toolchain),
            compilers,
            outside,
            toolchain,
        }
    }

    fn secret(&self) -> PathBuf {
        self.outside.path().join(".ssh/id")
    }

    fn with_paths(&self, code: &str) -> String {
        let paths = [
            ("SECRET", self.secret()),
            ("OUTSIDE", self.outside.path().to_owned()),
        ];
        // A worker's own parent may be a worker.
        let code = code.replace("STARTER", &std::process::id().to_string());
        paths.iter().fold(code, |code, (name, path)| {
            code.replace(name, &format!("{:?}", path.display().to_string()))
        })
    }

    fn run_interpreted(&self, code: &str, milliseconds: u64) -> String {
        let result = self
            .pool
            .request(&request(&self.with_paths(code)), time_limit(milliseconds));
        let answer = result.as_ref().map(|response| {
            (
                response.result.as_ref().err().map(AsRef::as_ref),
                response.stdout.as_str(),
            )
        });
        self.without_paths(&describe_result(answer))
    }

    fn run_compiled(&self, code: &str, milliseconds: u64) -> String {
        let asked = CompileRequest {
            module: request(&self.with_paths(code)).module,
            siblings: Vec::new(),
            storages: Vec::new(),
            launches: Vec::new(),
            target: Target::HOPPER,
            assembled: None,
            tuning: Tuning::default(),
            stage: None,
            lines: false,
            passes: false,
        };
        let result = self.compilers.compile(&asked, time_limit(milliseconds));
        let answer = result.as_ref().map(|compilation| {
            (
                compilation.result.as_ref().err().map(AsRef::as_ref),
                compilation.stdout.as_str(),
            )
        });
        self.without_paths(&describe_result(answer))
    }

    fn without_paths(&self, text: &str) -> String {
        text.replace(&self.outside.path().display().to_string(), "OUTSIDE")
    }

    /// Checks its results in an interpreter and in a compiler, and that both continue and nothing outside has changed.
    #[track_caller]
    fn check(&self, code: &str, expected: &str) {
        assert_eq!(
            self.run_interpreted(code, 30_000),
            expected,
            "interpreted: {code}"
        );
        assert_eq!(self.run_compiled(code, 30_000), expected, "compiled: {code}");
        self.is_well();
    }

    #[track_caller]
    fn is_well(&self) {
        assert_goes_on(&self.pool);
        assert_eq!(self.run_compiled("print('well')", 30_000), "finished: well");
        assert_eq!(fs::read_to_string(self.secret()).expect("there"), "secret");
        assert_eq!(fs::read_dir(self.outside.path()).expect("a list").count(), 1);
    }
}

fn files_of_others_are_not_read() {
    let trial = Trial::new();
    let denied = |path: &str| format!("PermissionError: [Errno 13] Permission denied: '{path}'");
    trial.check("print(open(SECRET).read())", &denied("OUTSIDE/.ssh/id"));
    trial.check("print(os.listdir(OUTSIDE))", &denied("OUTSIDE"));
    trial.check("print(open('/etc/shadow').read())", &denied("/etc/shadow"));
    trial.check("print(open('/etc/passwd').read())", &denied("/etc/passwd"));
    trial.check("print(os.listdir('/'))", &denied("/"));
    trial.check("print(os.listdir('/proc'))", &denied("/proc"));
    trial.check(
        "path = f'/proc/{STARTER}/environ'\nos.symlink(path, 'link')\nprint(open('link').read())",
        &denied("link"),
    );
    trial.check(
        "os.symlink(SECRET, 'link')\nprint(open('link').read())",
        &denied("link"),
    );
    trial.check(
        "os.symlink(OUTSIDE, 'link')\nprint(open('link/.ssh/id').read())",
        &denied("link/.ssh/id"),
    );
    trial.check(
        "os.link(SECRET, 'link')",
        "OSError: [Errno 18] Invalid cross-device link: 'OUTSIDE/.ssh/id' -> 'link'",
    );
    trial.check(
        "print(sorted(name for name in os.environ if 'CARGO' in name or 'CERITH_A' in name))",
        "finished: []",
    );
}

fn files_of_others_are_not_changed() {
    let trial = Trial::new();
    let check = |code: &str, expected: &str| trial.check(code, expected);
    let denied = "PermissionError: [Errno 13] Permission denied: 'OUTSIDE/.ssh/id'";
    check("open(SECRET, 'w')", denied);
    check("os.truncate(SECRET, 0)", denied);
    check("os.unlink(SECRET)", denied);
    check(
        "os.rename(SECRET, 'mine')",
        "PermissionError: [Errno 13] Permission denied: 'OUTSIDE/.ssh/id' -> 'mine'",
    );
    check(
        "os.mkdir(OUTSIDE + '/new')",
        "PermissionError: [Errno 13] Permission denied: 'OUTSIDE/new'",
    );
    check(
        "os.symlink(OUTSIDE, 'link')\nopen('link/new', 'w')",
        "PermissionError: [Errno 13] Permission denied: 'link/new'",
    );
    // Attempts that Landlock does not see.
    let refused = "PermissionError: [Errno 1] Operation not permitted: 'OUTSIDE/.ssh/id'";
    check("os.chmod(SECRET, 0o777)", refused);
    check("os.chown(SECRET, 1, 1)", refused);
    check(
        "os.utime(SECRET, (0, 0))",
        "PermissionError: [Errno 1] Operation not permitted",
    );
    check("os.setxattr(SECRET, 'user.x', b'')", refused);
    // Our own Python, which the next worker runs.
    check(
        "import cerith_worker\ntry:\n    open(cerith_worker.__file__, 'a')\nexcept OSError as error:\n    print(error.strerror)",
        "finished: Permission denied",
    );
    check(
        "import triton\ntry:\n    open(triton.__file__, 'a')\nexcept OSError as error:\n    print(error.strerror)",
        "finished: Permission denied",
    );
}

fn nobody_is_reached() {
    let trial = Trial::new();
    let refused = "PermissionError: [Errno 1] Operation not permitted";
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    trial.check(
        &format!("socket.create_connection(('127.0.0.1', {port}))"),
        refused,
    );
    trial.check(
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))",
        refused,
    );
    trial.check(
        "socket.socket(socket.AF_UNIX).connect('/run/docker.sock')",
        refused,
    );
    trial.check("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", refused);
    trial.check(
        "one, other = socket.socketpair()\none.send(b'x')\nprint(other.recv(1))",
        "finished: b'x'",
    );
    trial.check(
        "socket.getaddrinfo('example.org', 80)",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
    );
    trial.check("os.kill(STARTER, signal.SIGTERM)", refused);
    trial.check("os.kill(STARTER, 0)", refused);
    trial.check("os.setsid()", refused);
    let call = |name: &str, arguments: &str| {
        let code = format!(
            "libc = ctypes.CDLL(None, use_errno=True)\nlibc.{name}({arguments})\nprint(os.strerror(ctypes.get_errno()))"
        );
        trial.check(&code, "finished: Operation not permitted");
    };
    call("ptrace", "16, STARTER, 0, 0");
    call("unshare", "0x10000000");
    call("mount", "b'none', b'/tmp', b'tmpfs', 0, None");
    call("syscall", "425, 1, None");
    call("shmget", "1, 4096, 0o1600");
    // Segments of other processes could be reached by number, which is easy to guess.
    call("shmat", "0, None, 0");
    call("shmctl", "0, 0, None");
    call("semget", "1, 1, 0o1600");
    call("semctl", "0, 0, 0");
    call("semop", "0, None, 0");
    call("msgget", "1, 0o1600");
    call("msgsnd", "0, b'x', 1, 0");
    call("msgrcv", "0, b'x', 1, 0, 0");
    call("msgctl", "0, 0, None");
    // Calls that are newer than this was written: setxattrat, removexattrat, file_setattr.
    for number in [463, 466, 469] {
        call("syscall", &format!("{number}, -100, b'.', 0, b'user.x', None, 0"));
    }
}

/// A call with an unknown number fails, as in a kernel without it.
fn an_unknown_call_is_no_call() {
    let trial = Trial::new();
    for number in ["999", "600", "435", "0x40000000 + 39"] {
        let code = format!(
            "libc = ctypes.CDLL(None, use_errno=True)\nlibc.syscall({number}, 0, 0, 0)\nprint(os.strerror(ctypes.get_errno()))"
        );
        trial.check(&code, "finished: Function not implemented");
    }
}

/// A process may limit only itself: a neighbour's limits could end it.
fn nobody_else_is_limited_or_slowed_down() {
    let trial = Trial::new();
    let refused = "PermissionError: [Errno 1] Operation not permitted";
    trial.check("resource.prlimit(STARTER, resource.RLIMIT_CPU, (1, 1))", refused);
    trial.check("os.setpriority(os.PRIO_PROCESS, STARTER, 19)", refused);
    trial.check("os.setpriority(os.PRIO_USER, 0, 19)", refused);
    trial.check("os.sched_setaffinity(STARTER, {0})", refused);
    trial.check(
        "os.sched_setscheduler(STARTER, os.SCHED_IDLE, os.sched_param(0))",
        refused,
    );
    trial.check(
        "number = 251 if os.uname().machine == 'x86_64' else 30\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.syscall(number, 1, STARTER, 3 << 13)\nprint(os.strerror(ctypes.get_errno()))",
        "finished: Operation not permitted",
    );
    // Itself it may.
    trial.check(
        "os.setpriority(os.PRIO_PROCESS, 0, min(os.getpriority(os.PRIO_PROCESS, 0) + 1, 19))\nos.sched_setaffinity(0, os.sched_getaffinity(0))\nprint(os.getpriority(os.PRIO_PROCESS, 0))\nos._exit(0)",
        "exit code 0",
    );
}

/// No child has a parent other than its creator, and no open file is in transit.
fn nothing_is_hidden_from_who_looks() {
    let trial = Trial::new();
    let refused = "PermissionError: [Errno 1] Operation not permitted";
    trial.check(
        "number = 56 if os.uname().machine == 'x86_64' else 220\nlibc = ctypes.CDLL(None, use_errno=True)\nif libc.syscall(number, 0x8000 | 17, 0, 0, 0, 0) == 0:\n    os._exit(0)\nprint(os.strerror(ctypes.get_errno()))",
        "finished: Operation not permitted",
    );
    trial.check(
        "import array\none, other = socket.socketpair()\none.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])",
        refused,
    );
    trial.check("os.memfd_create('hidden')", refused);
    trial.check(
        "import fcntl\none, other = os.pipe()\nfcntl.fcntl(one, 1031, 1 << 20)",
        refused,
    );
}

/// Files that are open in Cerith are not open in a worker.
fn no_file_is_inherited() {
    let trial = Trial::new();
    let opened = fs::File::open(trial.secret()).expect("there");
    rustix::io::fcntl_setfd(&opened, rustix::io::FdFlags::empty()).expect("set");
    let fresh = Trial::new();
    let code = "for fd in range(3, 1024):\n    try:\n        print(os.pread(fd, 100, 0))\n    except OSError:\n        pass\nprint('nothing')";
    assert_eq!(fresh.run_interpreted(code, 30_000), "finished: nothing");
    assert_eq!(fresh.run_compiled(code, 30_000), "finished: nothing");
    drop(opened);
}

/// A file that has no name any more and is nowhere open is there as long as it is mapped.
fn what_is_mapped_counts_as_a_file() {
    let trial = Trial::new();
    trial.check(
        "import mmap\nkept = []\nfor n in range(6):\n    with open('big', 'w+b') as file:\n        os.unlink('big')\n        os.posix_fallocate(file.fileno(), 0, 250 << 20)\n        libc = ctypes.CDLL(None)\n        libc.mmap.restype = ctypes.c_void_p\n        kept.append(libc.mmap(None, 250 << 20, 1, 1, file.fileno(), ctypes.c_long(0)))\ntime.sleep(20)",
        "the worker had more than 1073741824 bytes of files",
    );
}

fn what_a_worker_starts_is_contained_and_ends_with_it() {
    let trial = Trial::new();
    let code = "answer = subprocess.run(['/bin/cat', SECRET], capture_output=True, text=True)\nprint(answer.stdout + answer.stderr)";
    trial.check(code, "finished: /bin/cat: OUTSIDE/.ssh/id: Permission denied");
    // Bounded, in case containment does not stop it.
    let bomb = "for _ in range(300):\n    if os.fork() == 0:\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)";
    trial.check(bomb, "the worker had more than 64 processes");
    // Also one whose parent is gone.
    let hidden = "if os.fork() == 0:\n    if os.fork() == 0:\n        os.execv('/bin/sleep', ['cerith-hostile', '61'])\n    os._exit(0)\nos.wait()\nprint('left')";
    trial.check(hidden, "finished: left");
    let alive = || {
        let processes = fs::read_dir("/proc").expect("a list").flatten();
        let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.starts_with(b"cerith-hostile")).count()
    };
    assert_eq!(alive(), 0);
}

fn nothing_is_used_up() {
    let trial = Trial::new();
    trial.check(
        "with open('big', 'wb') as file:\n    file.truncate(100 << 30)",
        "OSError: [Errno 27] File too large",
    );
    let files = "the worker had more than 1073741824 bytes of files";
    trial.check(
        "for n in range(6):\n    with open(f'big-{n}', 'wb') as file:\n        os.posix_fallocate(file.fileno(), 0, 250 << 20)\ntime.sleep(20)",
        files,
    );
    trial.check(
        "kept = []\nfor n in range(6):\n    file = open('big', 'wb')\n    os.unlink('big')\n    os.posix_fallocate(file.fileno(), 0, 250 << 20)\n    kept.append(file)\ntime.sleep(20)",
        files,
    );
    trial.check(
        "open('one', 'w').close()\nfor n in range(30000):\n    os.link('one', str(n))\ntime.sleep(20)",
        "the worker had more than 20000 files, or folders in each other without end",
    );
    trial.check(
        "threading.stack_size(1 << 16)\nfor n in range(600):\n    threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\ntime.sleep(20)",
        "the worker had more than 512 threads",
    );
    trial.check(
        "kept = []\nwhile True:\n    kept.append(os.dup(0))",
        "OSError: [Errno 24] Too many open files",
    );
    let memory = "the worker needed more than 2147483648 bytes of memory";
    trial.check(
        "kept = []\nwhile True:\n    kept.append(bytearray(1 << 26))",
        memory,
    );
    trial.check(
        "limit = resource.getrlimit(resource.RLIMIT_AS)[1]\nresource.setrlimit(resource.RLIMIT_AS, (limit + 1, limit + 1))",
        "ValueError: not allowed to raise maximum limit",
    );
    let time = "the worker did not answer within 700ms";
    let endless = "faulthandler.cancel_dump_traceback_later()\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True:\n    pass";
    for code in ["while True:\n    pass", endless] {
        assert_eq!(trial.run_interpreted(code, 700), time);
        assert_eq!(trial.run_compiled(code, 700), time);
    }
    trial.is_well();
}

fn the_pipe_is_no_way_out() {
    let trial = Trial::new();
    trial.check("os._exit(0)", &Exit::Code(0).to_string());
    trial.check(
        "os.kill(os.getpid(), signal.SIGKILL)",
        &Exit::Signal(9).to_string(),
    );
    // The first byte of an answer is for the process between the case's and this one.
    let everywhere = |text: &str| {
        format!(
            "for fd in range(64):\n    try:\n        os.write(fd, {text})\n    except OSError:\n        pass\nos._exit(3)"
        )
    };
    trial.check(
        &everywhere("b'\\x01' + b'garbage' * 100"),
        "the worker's answer is none: a frame with a header of 1651663207 bytes and 7017296932068747105 bytes more",
    );
    // A frame of 70 TB, for which no memory is allocated.
    trial.check(
        &everywhere("b'\\x01\\x02\\0\\0\\0' + (1 << 45).to_bytes(8, 'little') + b'{}'"),
        "the worker's answer is none: an answer of 35184372088846 bytes",
    );
    let empty = everywhere("b'\\x01\\x02\\0\\0\\0' + bytes(8) + b'{}'");
    for found in [
        trial.run_interpreted(&empty, 30_000),
        trial.run_compiled(&empty, 30_000),
    ] {
        assert!(
            found.starts_with("the worker's answer is none: its answer: missing field"),
            "{found}"
        );
    }
    let closed = "os.closerange(0, 64)";
    assert!(trial.run_interpreted(closed, 30_000).starts_with("exit code"));
    // A thread that stays alive answers instead of the worker, but its answer is not read.
    let late = "def answer():\n    time.sleep(0.05)\n    for fd in range(3, 64):\n        try:\n            os.write(fd, b'late')\n        except OSError:\n            pass\nthreading.Thread(target=answer, daemon=True).start()";
    assert_eq!(trial.run_interpreted(late, 30_000), "finished: ");
    for _ in 0..3 {
        assert_goes_on(&trial.pool);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    trial.is_well();
}

fn nothing_is_left_for_the_next_case() {
    let trial = Trial::new();
    let leave = "open('left', 'w').close()\nos.makedirs('a/b/c')\nos.symlink(OUTSIDE, 'link')\nos.mkdir('shut', 0)\nprint('left')";
    let look = "print(sorted(os.listdir()), sorted(os.listdir(os.environ['HOME'])))";
    for _ in 0..2 {
        assert_eq!(trial.run_interpreted(leave, 30_000), "finished: left");
        assert_eq!(trial.run_interpreted(look, 30_000), "finished: [] []");
        assert_eq!(trial.run_compiled(leave, 30_000), "finished: left");
        assert_eq!(trial.run_compiled(look, 30_000), "finished: [] []");
    }
    // Files that Triton and torch would look for there.
    let plant = "for name in ('.triton', 'inductor', 'cache'):\n    os.makedirs(os.path.join(os.environ['HOME'], name, 'planted'))\nprint('planted')";
    assert_eq!(trial.run_compiled(plant, 30_000), "finished: planted");
    assert_eq!(trial.run_compiled(look, 30_000), "finished: [] []");
    let deep = "for _ in range(3000):\n    os.mkdir('in')\n    os.chdir('in')\nos.chdir(os.environ['HOME'])\nprint('deep')";
    let found = trial.run_interpreted(deep, 30_000);
    assert!(
        [
            "finished: deep",
            "the worker had more than 20000 files, or folders in each other without end"
        ]
        .contains(&&*found),
        "{found}"
    );
    assert_eq!(trial.run_interpreted(look, 30_000), "finished: [] []");
    trial.is_well();
}

/// A file's changes to Triton affect only itself: the next file is compiled by Triton's own backend.
fn no_file_is_compiled_by_what_another_left_in_memory() {
    let trial = Trial::new();
    let poison = "from triton.backends.nvidia.compiler import CUDABackend\nCUDABackend.make_cubin = lambda *_: b'\\x7fELF poison'\nprint('patched')";
    assert_eq!(trial.run_compiled(poison, 30_000), "finished: patched");
    let good =
        "from triton.backends.nvidia.compiler import CUDABackend\nprint(CUDABackend.make_cubin.__name__)";
    assert_eq!(trial.run_compiled(good, 30_000), "finished: make_cubin");
    // Nor by threads that keep running, or by bytes after the answer.
    let stays = "def poison():\n    time.sleep(0.2)\n    os.write(1, b'poison')\nthreading.Thread(target=poison, daemon=True).start()\nif os.fork() == 0:\n    poison()\n    os._exit(0)";
    assert_eq!(trial.run_compiled(stays, 30_000), "finished: ");
    std::thread::sleep(std::time::Duration::from_millis(400));
    trial.is_well();
}

/// Reads of other users' files fail in every kind of worker; reads that their toolchains need do not.
fn workers_with_torch_are_contained_too() {
    let trial = Trial::new();
    let all = Home::discover().expect("a home").list().expect("a list");
    let torch = all
        .into_iter()
        .rfind(|one| one.contents.torch.is_some() && !one.is_adopted())
        .expect("a test that needs torch says so");
    let expected = "PermissionError: [Errno 13] Permission denied: 'OUTSIDE/.ssh/id'";
    let asked = Request {
        device: Device::Host,
        ..request(&trial.with_paths("import torch\nprint(open(SECRET).read())"))
    };
    let pool = Pool::with_torch(torch.clone(), 1, Device::Host).expect("a pool");
    let answer = pool.request(&asked, time_limit(60_000)).expect("an answer");
    let found = describe_result(Ok((answer.result.as_ref().err().map(AsRef::as_ref), "")));
    assert_eq!(trial.without_paths(&found), expected);
    let asked = InductorRequest {
        request: asked,
        modes: Vec::new(),
        runs: 1,
    };
    let inductors = Inductors::new(torch, 1).expect("a pool");
    let answer = inductors
        .request(&asked, Limits::INDUCTOR, &mut |_| None)
        .expect("an answer");
    let found = describe_result(Ok((answer.result.as_ref().err().map(AsRef::as_ref), "")));
    assert_eq!(trial.without_paths(&found), expected);
}

fn a_folder_is_read_if_it_is_told_of() {
    let trial = Trial::new();
    let reading = |folder: &Path| {
        Pool::new(trial.toolchain.clone(), 1)
            .expect("a pool")
            .with_readable(folder)
    };
    fs::create_dir(trial.outside.path().join("data")).expect("made");
    fs::write(trial.outside.path().join("data/table"), "plain").expect("written");
    let plain = request(&trial.with_paths("print(open(OUTSIDE + '/data/table').read())"));
    let answer = expect_finished(&reading(trial.outside.path()), &plain);
    assert_eq!(answer.stdout, "plain\n");
    // Hidden files are never among those of a folder.
    let secret = request(&trial.with_paths("print(open(SECRET).read())"));
    for (folder, asked) in [
        (trial.outside.path(), &secret),
        (&kernels_folder(), &secret),
        (&kernels_folder(), &plain),
    ] {
        let answer = expect_raised(&reading(folder), asked);
        assert_eq!(answer.root().kind, "PermissionError");
    }
}

/// Files are read one by one: neither the folder around them nor what else lies in it.
fn a_module_is_imported_if_its_file_is_told_of() {
    let trial = Trial::new();
    let own = kernels_folder();
    let files = ["behaviour.py", "sibling.py"].map(|name| own.join(name));
    let pool = Pool::new(trial.toolchain.clone(), 1)
        .expect("a pool")
        .with_readable_files(&own, &files);
    let answer = expect_finished(&pool, &request("import sibling\nprint(sibling.__name__)"));
    assert_eq!(answer.stdout, "sibling\n");
    for code in [
        "print(os.listdir(os.path.dirname(__file__)))",
        "print(open(os.path.join(os.path.dirname(__file__), 'hosts.py')).read())",
        "os.symlink(os.path.join(os.path.dirname(__file__), 'hosts.py'), 'link.py')\nprint(open('link.py').read())",
    ] {
        assert_eq!(
            expect_raised(&pool, &request(code)).root().kind,
            "PermissionError",
            "{code}"
        );
    }
    let missing = expect_raised(&pool, &request("import hosts"));
    assert_eq!(missing.root().kind, "ModuleNotFoundError");
}

/// A file that changes the interpreter, NumPy or the worker itself does it for itself.
fn no_file_is_interpreted_by_what_another_left_in_memory() {
    let trial = Trial::new();
    let poisons = [
        "import cerith_worker.serve as serve\nserve._memory = None",
        "import cerith_worker.wire as wire\nwire.write = None",
        "import numpy\nnumpy.frombuffer = None",
        "import triton.language as tl\ntl.load = tl.store = None",
        "from triton.runtime import interpreter\ninterpreter.InterpreterBuilder.create_fadd = None",
        "import builtins\nbuiltins.open = builtins.len = None",
        "sys.modules['triton'] = sys.modules['numpy'] = None",
        "sys.meta_path.clear()\nsys.path_hooks.clear()",
        "sys.path.insert(0, os.getcwd())\nopen('struct.py', 'w').close()",
        "import atexit\natexit.register(os._exit, 3)",
        "sys.settrace(lambda *_: os._exit(4))",
        "signal.signal(signal.SIGALRM, lambda *_: os._exit(5))\nsignal.setitimer(signal.ITIMER_REAL, 0.02)",
        "import gc\nfor one in gc.get_objects():\n    if type(one).__name__ == 'Worker':\n        one.modules = None",
        "os.close(0)\nos.chdir('/')\nos.umask(0o777)\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
        "def overwrite():\n    with open('/proc/self/mem', 'r+b') as memory:\n        memory.write(b'x')\ntry:\n    overwrite()\nexcept OSError as error:\n    print(error.strerror)",
        "if os.fork() == 0:\n    while True:\n        time.sleep(1)",
        "def later(*_):\n    if os.fork() == 0:\n        time.sleep(60)\nsignal.signal(signal.SIGALRM, later)\nsignal.setitimer(signal.ITIMER_REAL, 0.02)",
        "def stay():\n    while True:\n        time.sleep(0.001)\n        sys.modules.pop('triton', None)\nthreading.Thread(target=stay, daemon=True).start()",
    ];
    for poison in poisons {
        // Any outcome is allowed for the file itself.
        trial.run_interpreted(poison, 10_000);
        assert_goes_on(&trial.pool);
        std::thread::sleep(std::time::Duration::from_millis(40));
        assert_goes_on(&trial.pool);
    }
    let look = "import cerith_worker.serve as serve\nprint(serve._memory.__name__, os.umask(0o22) != 0o777)";
    assert_eq!(trial.run_interpreted(look, 30_000), "finished: _memory True");
    trial.is_well();
}

/// A file that changes Python gets a new process for its next request, as far as the change is noticed.
fn what_changes_python_is_not_left_for_the_same_file() {
    let trial = Trial::new();
    let count = "import builtins\nbuiltins.seen = getattr(builtins, 'seen', 0) + 1\nprint(builtins.seen)";
    for _ in 0..3 {
        assert_eq!(trial.run_interpreted(count, 30_000), "finished: 1");
    }
    // Files that were generated share a process.
    let pool = Pool::new(trial.toolchain.clone(), 1)
        .expect("a pool")
        .with_generated_files();
    let process = |code: &str| expect_finished(&pool, &request(code)).stdout;
    let (one, other) = (
        process("print(os.getpid())"),
        process("print(os.getpid(), end='\\n')"),
    );
    assert_eq!(one, other);
    let mut alone = request("print(os.getpid())");
    let processes: Vec<String> = [false, false, true, true]
        .map(|is_alone| {
            alone.isolated = is_alone;
            expect_finished(&trial.pool, &alone).stdout
        })
        .into();
    assert_eq!(processes[0], processes[1]);
    assert!(
        processes[1] != processes[2] && processes[2] != processes[3],
        "{processes:?}"
    );
}

/// A request whose worker is killed from outside is answered by a second worker.
fn a_worker_that_is_killed_is_replaced_once() {
    let trial = Trial::new();
    for signal in [Signal::KILL, Signal::TERM] {
        let parent = expect_finished(&trial.pool, &request("print(os.getppid())")).stdout;
        let worker = parent
            .trim()
            .parse()
            .ok()
            .and_then(Pid::from_raw)
            .expect("a number");
        let asked = request("time.sleep(1.5)\nprint('ended')");
        let answer = std::thread::scope(|scope| {
            let asked = scope.spawn(|| trial.pool.request(&asked, time_limit(30_000)));
            std::thread::sleep(std::time::Duration::from_millis(700));
            kill_process(worker, signal).expect("it runs");
            asked.join().expect("no panic")
        });
        assert_eq!(answer.expect("an answer").stdout, "ended\n");
    }
    trial.is_well();
}

pub fn tests() -> Tests {
    let contained = [Need::Toolchain(NEWEST), Need::Containment];
    Tests::new()
        .with_needs(
            &contained,
            &named![
                files_of_others_are_not_read,
                files_of_others_are_not_changed,
                nobody_is_reached,
                an_unknown_call_is_no_call,
                nobody_else_is_limited_or_slowed_down,
                nothing_is_hidden_from_who_looks,
                no_file_is_inherited,
                what_is_mapped_counts_as_a_file,
                what_a_worker_starts_is_contained_and_ends_with_it,
                nothing_is_used_up,
                the_pipe_is_no_way_out,
                nothing_is_left_for_the_next_case,
                no_file_is_compiled_by_what_another_left_in_memory,
                a_folder_is_read_if_it_is_told_of,
                a_module_is_imported_if_its_file_is_told_of,
                no_file_is_interpreted_by_what_another_left_in_memory,
                what_changes_python_is_not_left_for_the_same_file,
                a_worker_that_is_killed_is_replaced_once
            ],
        )
        .with_needs(
            &[&contained[..], &[Need::InstalledTorch]].concat(),
            &named![workers_with_torch_are_contained_too],
        )
}
