//! Workers of real toolchains. A test runs with those that are installed and says which it missed; with
//! `CONCH_TEST_TOOLCHAINS=3.1.0,3.9.0` a missing one is an error (CI has it so).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conch_tile::DType;
use conch_tile::rules::Version;
use conch_toolchain::request::{Device, Driver, Grid, Launch, Module, Relocation, Storage, Tensor, Value};
use conch_toolchain::response::{Phase, Raised};
use conch_toolchain::{Exit, Home, Limits, Pool, Request, Response, Toolchain, ToolchainId, WorkerFailure};

/// The installed ones of these.
fn toolchains(wanted: &[&str]) -> Vec<Toolchain> {
    let required = std::env::var("CONCH_TEST_TOOLCHAINS").unwrap_or_default();
    let home = Home::discover().expect("a home");
    let mut found = Vec::new();
    for name in wanted {
        let id: ToolchainId = name.parse().expect("a toolchain");
        match home.find(&id) {
            Some(toolchain) => found.push(toolchain),
            None if required.split(',').any(|one| one == *name) => panic!("the toolchain {name} is not installed"),
            None => eprintln!("NOT RUN with {name}: it is not installed"),
        }
    }
    found
}

const NEWEST: &str = "3.9.0";
const ALL: &[&str] =
    &["3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0"];

fn kernels(name: &str) -> Module {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "kernels", name].iter().collect();
    let text = std::fs::read_to_string(&path).expect("a kernel file");
    Module { path, text: text.into() }
}

/// The 1-based line that a kernel file's text is on.
fn line_of(module: &Module, text: &str) -> u32 {
    module.text.lines().position(|line| line.trim() == text).expect("in the file") as u32 + 1
}

const GUARD: usize = 16;

fn storage(words: &[i32]) -> Storage {
    let guard = [0xA5; GUARD];
    let body = words.iter().flat_map(|word| word.to_le_bytes());
    Storage {
        bytes: guard.into_iter().chain(body).chain(guard).collect(),
        front: GUARD,
        back: GUARD,
        ..Storage::default()
    }
}

fn words(bytes: &[u8]) -> Vec<i32> {
    let body = &bytes[GUARD..bytes.len() - GUARD];
    body.chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().expect("4"))).collect()
}

fn tensor(storage: usize, shape: &[i64], strides: &[i64], offset: i64) -> Value {
    typed(DType::I32, storage, shape, strides, offset)
}

fn typed(dtype: DType, storage: usize, shape: &[i64], strides: &[i64], offset: i64) -> Value {
    Value::Tensor(Tensor { storage, dtype, shape: shape.to_vec(), strides: strides.to_vec(), offset })
}

fn launch(kernel: &str, args: Vec<Value>) -> Launch {
    Launch { kernel: kernel.to_owned(), grid: Grid::Fixed(vec![1]), args, kwargs: vec![], options: vec![] }
}

fn request(module: &str, storages: Vec<Storage>, launches: Vec<Launch>) -> Request {
    Request { storages, launches, ..Request::import(kernels(module)) }
}

/// A request for one of the kernels that take one tensor.
fn simple(kernel: &str) -> Request {
    request("behaviour.py", vec![storage(&[5; 4])], vec![launch(kernel, vec![tensor(0, &[4], &[1], 0)])])
}

fn pool(toolchain: &Toolchain) -> Pool {
    Pool::new(toolchain.clone(), 1).expect("a pool")
}

fn limits(milliseconds: u64) -> Limits {
    Limits { time: Duration::from_millis(milliseconds), ..Limits::default() }
}

#[track_caller]
fn finished(pool: &Pool, request: &Request) -> Response {
    let response = pool.request(request, limits(30_000)).expect("an answer");
    assert_eq!(response.result, Ok(()), "{}", pool.toolchain().id);
    response
}

#[track_caller]
fn raised(pool: &Pool, request: &Request) -> Raised {
    *pool.request(request, limits(30_000)).expect("an answer").result.expect_err("it raises")
}

/// The pool still works.
#[track_caller]
fn assert_goes_on(pool: &Pool) {
    assert_eq!(words(&finished(pool, &simple("nothing")).storages[0].bytes), [5; 4]);
}

/// What the project began with: split columns, and the same tensor twice. As CUDA tensors they go wrong up to 3.2,
/// as CPU tensors never.
#[test]
fn strided_and_aliased_cuda_tensors_go_wrong_up_to_3_2() {
    for toolchain in toolchains(ALL) {
        let pool = pool(&toolchain);
        let original: Vec<i32> = (0..24).collect();
        let columns = |offset: i64, width: i64| {
            let part = tensor(0, &[4, width], &[6, 1], offset);
            let args = vec![part, Value::Int(6), Value::Int(1), Value::Int(4), Value::Int(width.into())];
            launch("add_one", args)
        };
        let mut split =
            request("behaviour.py", vec![storage(&original)], vec![columns(0, 2), columns(2, 4)]);
        let same = tensor(0, &[4], &[1], 0);
        let twice = launch("copy_then_double", vec![same.clone(), same, Value::Int(4)]);
        let mut twice = request("behaviour.py", vec![storage(&[1, 2, 3, 4])], vec![twice]);

        let right: Vec<i32> = (1..25).collect();
        let works = toolchain.triton() >= Version::new(3, 3, 0);
        let id = &toolchain.id;
        assert_eq!(words(&finished(&pool, &split).storages[0].bytes) == right, works, "split, {id}");
        let doubled = words(&finished(&pool, &twice).storages[0].bytes);
        assert_eq!(doubled, if works { [2, 4, 6, 8] } else { [1, 2, 3, 4] }, "twice, {id}");

        split.device = Device::Host;
        twice.device = Device::Host;
        assert_eq!(words(&finished(&pool, &split).storages[0].bytes), right, "split, {id}+host");
        assert_eq!(words(&finished(&pool, &twice).storages[0].bytes), [2, 4, 6, 8], "twice, {id}+host");
    }
}

#[test]
fn writing_back_to_expanded_cuda_tensors_raises_what_torch_raises() {
    for toolchain in toolchains(&["3.2.0"]) {
        let request = request(
            "behaviour.py",
            vec![storage(&[1, 2])],
            vec![launch("nothing", vec![tensor(0, &[3, 2], &[0, 1], 0)])],
        );
        let raised = raised(&pool(&toolchain), &request);
        assert_eq!((raised.root().kind.as_str(), raised.phase), ("RuntimeError", Phase::Launch(0)));
        assert!(raised.root().message.starts_with("unsupported operation: more than one element"));
    }
}

/// A device address is not to be followed on the host, a host address is.
#[test]
fn pointers_in_memory_point_where_the_device_says() {
    for toolchain in toolchains(ALL) {
        let pool = pool(&toolchain);
        let mut table = storage(&[0; 4]);
        table.relocations = vec![Relocation { at: 0, storage: 1, addend: 4 }];
        let storages = vec![table, storage(&[1, 2, 3, 4, 5]), storage(&[0; 4])];
        let follow = launch(
            "follow",
            vec![typed(DType::I64, 0, &[2], &[1], 0), tensor(2, &[4], &[1], 0), Value::Int(4)],
        );
        let mut request = request("behaviour.py", storages, vec![follow]);
        match pool.request(&request, limits(30_000)) {
            Err(WorkerFailure::Crashed { how: Exit::Signal(11), stderr, location }) => {
                assert!(stderr.contains("Segmentation fault"), "{stderr}");
                let location = location.expect("a line");
                assert_eq!(location.file, request.module.path);
                assert_eq!(location.line, line_of(&request.module, "tl.store(out + at, tl.load(x + at))"));
            }
            other => panic!("{}: {other:?}", toolchain.id),
        }
        request.device = Device::Host;
        let response = finished(&pool, &request);
        assert_eq!(words(&response.storages[2].bytes), [2, 3, 4, 5]);
        assert_eq!(response.storages[0].relocations, [Relocation { at: 0, storage: 1, addend: 4 }]);
    }
}

#[test]
fn addresses_that_a_kernel_writes_come_back_as_relocations() {
    for toolchain in toolchains(ALL) {
        for device in [Device::Cuda, Device::Host] {
            let table = Storage { holds_addresses: true, ..storage(&[9; 4]) };
            let args = vec![typed(DType::I64, 0, &[2], &[1], 0), tensor(1, &[4], &[1], 0)];
            let storages = vec![table, storage(&[0; 4])];
            let request = Request {
                device,
                ..request("behaviour.py", storages, vec![launch("put_address", args)])
            };
            let response = finished(&pool(&toolchain), &request);
            assert_eq!(words(&response.storages[0].bytes), [9, 9, 0, 0], "{}", toolchain.id);
            let expected = [Relocation { at: 8, storage: 1, addend: 12 }];
            assert_eq!(response.storages[0].relocations, expected, "{} {device:?}", toolchain.id);
        }
    }
}

#[test]
fn stray_writes_show_in_the_guard_zones() {
    for toolchain in toolchains(ALL) {
        for device in [Device::Cuda, Device::Host] {
            let args = vec![tensor(0, &[2], &[1], 0), Value::Int(4)];
            let request = Request {
                device,
                ..request("behaviour.py", vec![storage(&[0; 2])], vec![launch("beyond", args)])
            };
            let bytes = finished(&pool(&toolchain), &request).storages.remove(0).bytes;
            assert_eq!(words(&bytes), [7, 7]);
            assert_eq!(bytes[..GUARD], [0xA5; GUARD]);
            let back = &bytes[bytes.len() - GUARD..];
            assert_eq!(back[..8], [7, 0, 0, 0, 7, 0, 0, 0], "{} {device:?}", toolchain.id);
            assert_eq!(back[8..], [0xA5; 8]);
        }
    }
}

#[test]
fn exceptions_come_with_type_text_and_line() {
    for toolchain in toolchains(ALL) {
        let pool = pool(&toolchain);
        let request = simple("fail");
        let raised = raised(&pool, &request);
        assert_eq!(raised.phase, Phase::Launch(0));
        assert!(raised.chain[0].kind.ends_with("InterpreterError"), "{raised:?}");
        assert_eq!(raised.root().kind, "AssertionError");
        assert_eq!(raised.root().message, "as asked");
        let location = raised.location.expect("a line");
        assert_eq!((location.file, location.function.as_str()), (request.module.path.clone(), "inner"));
        assert_eq!(location.line, line_of(&request.module, r#"tl.static_assert(False, "as asked")"#));
        assert!(!raised.traceback.contains("conch_worker"), "{}", raised.traceback);
        assert_goes_on(&pool);
    }
}

#[test]
fn modules_that_do_not_import_say_where() {
    for toolchain in toolchains(&["3.1.0", NEWEST]) {
        let pool = pool(&toolchain);
        let check = |text: &str, kind: &str, message: &str, line: u32| {
            let mut request = simple("nothing");
            request.module.text = text.into();
            let raised = raised(&pool, &request);
            assert_eq!(raised.phase, Phase::Import);
            assert_eq!((raised.root().kind.as_str(), raised.root().message.as_str()), (kind, message));
            let location = raised.location.expect("a line");
            assert_eq!((location.file, location.line), (request.module.path, line));
        };
        check("import torch", "ModuleNotFoundError", "No module named 'torch'", 1);
        check("\nraise KeyError(3)", "KeyError", "3", 2);
        check("x = 1\nimport sys\nsys.exit(3)", "SystemExit", "3", 3);
        let mut request = simple("nothing");
        request.module.text = "x = 1\ny = (".into();
        let syntax = raised(&pool, &request);
        assert_eq!((syntax.root().kind.as_str(), syntax.location.as_ref().map(|at| at.line)), ("SyntaxError", Some(2)));
        assert_goes_on(&pool);

        let raised = raised(&pool, &simple("nonesuch"));
        assert_eq!((raised.phase, raised.root().kind.as_str()), (Phase::Arguments(0), "AttributeError"));
    }
}

#[test]
fn a_worker_that_dies_costs_its_own_request() {
    for toolchain in toolchains(&["3.1.0", NEWEST]) {
        let pool = pool(&toolchain);
        let fails = |kernel: &str, milliseconds: u64| {
            let request = simple(kernel);
            pool.request(&request, limits(milliseconds)).expect_err("no answer")
        };
        let module = kernels("behaviour.py");

        match fails("fault", 30_000) {
            WorkerFailure::Crashed { how: Exit::Signal(11), location: Some(location), .. } => {
                assert_eq!(location.line, line_of(&module, "ctypes.string_at(0)"));
            }
            other => panic!("{other:?}"),
        }
        assert_goes_on(&pool);

        match fails("leave", 30_000) {
            WorkerFailure::Crashed { how: Exit::Code(7), location: None, .. } => {}
            other => panic!("{other:?}"),
        }
        assert_goes_on(&pool);

        let began = Instant::now();
        match fails("hang", 400) {
            WorkerFailure::TimedOut { location: Some(location), limit, .. } => {
                assert_eq!(limit, Duration::from_millis(400));
                let (first, last) = (line_of(&module, "while True:"), line_of(&module, "while True:") + 1);
                assert!((first..=last).contains(&location.line), "{location:?}");
            }
            other => panic!("{other:?}"),
        }
        assert!(began.elapsed() < Duration::from_secs(20));
        assert_goes_on(&pool);

        match fails("eat", 30_000) {
            WorkerFailure::OutOfMemory { limit, .. } => assert_eq!(limit, Limits::default().memory),
            other => panic!("{other:?}"),
        }
        assert_goes_on(&pool);
    }
}

#[test]
fn what_is_printed_comes_back_and_does_not_disturb_the_pipe() {
    for toolchain in toolchains(ALL) {
        let pool = pool(&toolchain);
        let response = finished(&pool, &simple("say"));
        let out = &response.stdout;
        assert!(out.contains("raw ") && out.contains("cooked\n") && out.contains('5'), "{out:?}");
        let response = finished(&pool, &simple("say_much"));
        assert!(response.stdout_cut && response.stdout.len() == Response::STDOUT_LIMIT);
        let response = finished(&pool, &simple("nothing"));
        assert_eq!((response.stdout.as_str(), response.stdout_cut), ("", false));
    }
}

#[test]
fn requests_do_not_see_each_other() {
    for toolchain in toolchains(ALL) {
        let pool = pool(&toolchain);
        let count = launch("count", vec![tensor(0, &[1], &[1], 0)]);
        let once = request("remembers.py", vec![storage(&[0])], vec![count.clone()]);
        let twice = request("remembers.py", vec![storage(&[0])], vec![count.clone(), count]);
        assert_eq!(words(&finished(&pool, &once).storages[0].bytes), [101], "{}", toolchain.id);
        assert_eq!(words(&finished(&pool, &once).storages[0].bytes), [101]);
        assert_eq!(words(&finished(&pool, &twice).storages[0].bytes), [202]);
        // The same names in another folder are other modules.
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("sibling.py"), "counted = 40\n").expect("written");
        let mut elsewhere = once.clone();
        elsewhere.module.path = folder.path().join("remembers.py");
        assert_eq!(words(&finished(&pool, &elsewhere).storages[0].bytes), [141]);
        // And another text at the same path is another module.
        let mut edited = once;
        edited.module.text = edited.module.text.replace("* 100", "* 1000").into();
        assert_eq!(words(&finished(&pool, &edited).storages[0].bytes), [1001]);
    }
}

/// `@triton.autotune` on a machine without a GPU, as a user of each version finds it.
#[test]
fn autotuned_modules_do_what_each_version_does_without_a_gpu() {
    for toolchain in toolchains(ALL) {
        let pool = pool(&toolchain);
        let import = Request::import(kernels("tuned.py"));
        let mut launched = request(
            "tuned.py",
            vec![storage(&[1; 8])],
            vec![launch("add_one", vec![tensor(0, &[8], &[1], 0), Value::Int(8)])],
        );
        launched.launches[0].grid = Grid::Global("grid".to_owned());
        let version = toolchain.triton();
        let outcome = |request: &Request| match pool.request(request, limits(30_000)).expect("an answer").result {
            Ok(()) => "ok".to_owned(),
            Err(raised) => format!("{}: {}", raised.root().kind, raised.root().message),
        };
        let none_active = "RuntimeError: 0 active drivers ([]). There should only be one.";
        let expected = match (version.major, version.minor) {
            (3, 2 | 3) => none_active,
            _ => "ok",
        };
        assert_eq!(outcome(&import), expected, "{}", toolchain.id);
        let launching = match (version.major, version.minor) {
            (3, 0 | 1) => "RuntimeError: Found no NVIDIA driver on your system.",
            _ => none_active,
        };
        assert!(outcome(&launched).starts_with(launching), "{}: {}", toolchain.id, outcome(&launched));
        launched.driver = Driver::Fake;
        if version >= Version::new(3, 3, 0) {
            // Benchmarking runs the kernel too, and this one is not idempotent: up to the autotuner's own choice,
            // every element has been added to at least once, and all of them as often.
            let after = words(&finished(&pool, &launched).storages[0].bytes);
            assert!(after[0] > 1 && after.iter().all(|&word| word == after[0]), "{after:?}");
        }
        launched.driver = Driver::Absent;
        assert_eq!(outcome(&import), expected, "the fake driver is gone again, {}", toolchain.id);
    }
}

#[test]
fn arguments_of_every_kind_arrive() {
    let text = r#"
import triton
import triton.language as tl


def same(found, wanted):
    assert type(found) is type(wanted) and repr(found) == repr(wanted), f"{found!r} is not {wanted!r}"


CONSTANT = (1, "two")


@triton.jit
def kernel(a: tl.constexpr, b: tl.constexpr, c: tl.constexpr, d: tl.constexpr, e: tl.constexpr, f: tl.constexpr,
           g: tl.constexpr, h: tl.constexpr, fp8, b15):
    same(a, 170141183460469231731687303715884105727)
    same(b, float("-inf"))
    same(c, True)
    same(d, None)
    same(e, "text with \" and \u00e9")
    same(f, tl.bfloat16)
    same(g, (1, (2.5, None)))
    same(h, CONSTANT)
    same(str(fp8.dtype.element_ty), "fp8e4nv")
    same(str(b15.dtype.element_ty), "fp8e4b15")
"#;
    for toolchain in toolchains(ALL) {
        let values = [
            Value::Int(i128::MAX),
            Value::Float(f64::NEG_INFINITY),
            Value::Bool(true),
            Value::None,
            Value::Str("text with \" and é".to_owned()),
            Value::DType(DType::BF16),
            Value::Tuple(vec![Value::Int(1), Value::Tuple(vec![Value::Float(2.5), Value::None])]),
            Value::Global("CONSTANT".to_owned()),
        ];
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let mut arguments = launch("kernel", values[..3].to_vec());
        arguments.kwargs = names[3..].iter().map(|&name| name.to_owned()).zip(values[3..].to_vec()).collect();
        arguments.kwargs.push(("fp8".to_owned(), typed(DType::F8E4NV, 0, &[4], &[1], 0)));
        arguments.kwargs.push(("b15".to_owned(), typed(DType::F8E4B15, 0, &[4], &[1], 0)));
        arguments.options = vec![("num_warps".to_owned(), Value::Int(4))];
        let module = Module { path: Path::new("/nowhere/at/all/kernels.py").to_owned(), text: text.into() };
        let request = Request {
            storages: vec![storage(&[0])],
            launches: vec![arguments],
            ..Request::import(module)
        };
        finished(&pool(&toolchain), &request);
    }
}

#[test]
fn impossible_requests_are_our_mistake_and_cost_no_worker() {
    for toolchain in toolchains(&[NEWEST]) {
        let pool = pool(&toolchain);
        let check = |break_it: &dyn Fn(&mut Request), part: &str| {
            let mut request = simple("nothing");
            break_it(&mut request);
            match pool.request(&request, Limits::default()) {
                Err(WorkerFailure::Protocol(problem)) => assert!(problem.contains(part), "{problem}"),
                other => panic!("{other:?}"),
            }
            assert_goes_on(&pool);
        };
        check(&|r| r.launches[0].args = vec![tensor(1, &[4], &[1], 0)], "no storage 1");
        check(&|r| r.launches[0].args = vec![tensor(0, &[4], &[1], 1)], "outside of its storage of 16 bytes");
        check(&|r| r.launches[0].args = vec![tensor(0, &[4], &[-1], 4)], "impossible");
        check(&|r| r.launches[0].args = vec![tensor(0, &[i64::MAX, 9], &[i64::MAX, 1], 0)], "outside");
        check(&|r| r.storages[0].front = 99, "smaller than its guard zones");
        let relocation = Relocation { at: 4, storage: 0, addend: 0 };
        check(&|r| r.storages[0].relocations = vec![relocation], "impossible Relocation");
    }
}

#[test]
fn many_threads_share_a_pool() {
    for toolchain in toolchains(&[NEWEST]) {
        let pool = Pool::new(toolchain, 2).expect("a pool");
        let request = simple("nothing");
        std::thread::scope(|scope| {
            for index in 0..6 {
                let (pool, request) = (&pool, &request);
                scope.spawn(move || {
                    for _ in 0..5 {
                        if index == 0 {
                            let failure = pool.request(&simple("leave"), limits(30_000));
                            assert!(matches!(failure, Err(WorkerFailure::Crashed { .. })));
                        } else {
                            finished(pool, request);
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn stopping_a_pool_ends_what_runs() {
    for toolchain in toolchains(&[NEWEST]) {
        let pool = pool(&toolchain);
        assert_goes_on(&pool);
        let began = Instant::now();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| pool.request(&simple("hang"), limits(60_000)));
            std::thread::sleep(Duration::from_millis(300));
            pool.stop();
            assert_eq!(running.join().expect("no panic"), Err(WorkerFailure::Stopped));
        });
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!(pool.request(&simple("nothing"), limits(1000)), Err(WorkerFailure::Stopped));
    }
}

/// Not a test of its own: the process that `killing_this_process_leaves_no_worker` kills.
#[test]
fn child_that_is_killed() {
    let Some(ready) = std::env::var_os("CONCH_TEST_CHILD") else { return };
    let toolchain = toolchains(&[NEWEST]).remove(0);
    let pool = Pool::new(toolchain, 2).expect("a pool");
    let mut request = simple("hang");
    request.module.text = Arc::from(request.module.text.replace("while True:", "while open(WHERE, 'a').write('x'):"));
    request.module.text = format!("WHERE = {ready:?}\n{}", request.module.text).into();
    let _ = pool.request(&request, limits(60_000));
}

#[test]
fn killing_this_process_leaves_no_worker() {
    if toolchains(&[NEWEST]).is_empty() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let signs = folder.path().join("signs-of-life");
    let mut child = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "child_that_is_killed", "--nocapture"])
        .env("CONCH_TEST_CHILD", &signs)
        .spawn()
        .expect("a child");
    let size = || std::fs::metadata(&signs).map_or(0, |data| data.len());
    let deadline = Instant::now() + Duration::from_secs(60);
    while size() == 0 {
        assert!(Instant::now() < deadline, "the worker never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("killed with SIGKILL");
    child.wait().expect("reaped");
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut last = size();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = size();
        if now == last {
            break;
        }
        assert!(Instant::now() < deadline, "the worker lives on");
        last = now;
    }
}
