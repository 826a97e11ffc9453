//! How kernels and workers fail, and that the pool goes on. Tests run with the toolchains that are installed.

use crate::common::{
    assert_goes_on, build_storage, expect_finished, expect_raised, launch, line_of, open_pool, read_module,
    request, simple_request, tensor, time_limit, tritons_since,
};
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cerith_needs::{NEWEST, Tests, find_toolchain, named};
use cerith_toolchain::request::{Device, Relocation, Value};
use cerith_toolchain::response::Phase;
use cerith_toolchain::{Exit, Limits, Pool, Request, Response, Toolchain, WorkerFailure};

/// Names the file that this process, started by a test, has a worker write into until it is killed.
const HANGS: &str = "CERITH_TEST_HANGS";

fn exceptions_come_with_type_text_and_line(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let request = simple_request("fail");
    let raised = expect_raised(&pool, &request);
    assert_eq!(raised.phase, Phase::Launch(0));
    assert!(raised.chain[0].kind.ends_with("InterpreterError"), "{raised:?}");
    assert_eq!(raised.root().kind, "AssertionError");
    assert_eq!(raised.root().message, "as asked");
    let location = raised.location.expect("a line");
    assert_eq!(
        (location.file, location.function.as_str()),
        (request.module.path.clone(), "inner")
    );
    assert_eq!(
        location.line,
        line_of(&request.module, r#"tl.static_assert(False, "as asked")"#)
    );
    assert!(
        !raised.traceback.contains("cerith_worker"),
        "{}",
        raised.traceback
    );
    assert_goes_on(&pool);
}

fn modules_that_do_not_import_say_where(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let check = |text: &str, kind: &str, message: &str, line: u32| {
        let mut request = simple_request("empty_kernel");
        request.module.text = text.into();
        let raised = expect_raised(&pool, &request);
        assert_eq!(raised.phase, Phase::Import);
        assert_eq!(
            (raised.root().kind.as_str(), raised.root().message.as_str()),
            (kind, message)
        );
        let location = raised.location.expect("a line");
        assert_eq!((location.file, location.line), (request.module.path, line));
    };
    check(
        "import torch",
        "ModuleNotFoundError",
        "No module named 'torch'",
        1,
    );
    check("\nraise KeyError(3)", "KeyError", "3", 2);
    check("x = 1\nimport sys\nsys.exit(3)", "SystemExit", "3", 3);
    let mut request = simple_request("empty_kernel");
    request.module.text = "x = 1\ny = (".into();
    let syntax = expect_raised(&pool, &request);
    assert_eq!(
        (
            syntax.root().kind.as_str(),
            syntax.location.as_ref().map(|at| at.line)
        ),
        ("SyntaxError", Some(2))
    );
    assert_goes_on(&pool);

    let raised = expect_raised(&pool, &simple_request("nonesuch"));
    assert_eq!(
        (raised.phase, raised.root().kind.as_str()),
        (Phase::Arguments(0), "AttributeError")
    );
}

fn a_worker_that_dies_costs_its_own_request(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let fails = |kernel: &str, milliseconds: u64| {
        let request = simple_request(kernel);
        pool.request(&request, time_limit(milliseconds))
            .expect_err("no answer")
    };
    let module = read_module("behaviour.py");

    match fails("fault", 30_000) {
        WorkerFailure::Crashed {
            exit: Exit::Signal(11),
            location: Some(location),
            ..
        } => {
            assert_eq!(location.line, line_of(&module, "ctypes.string_at(0)"));
        }
        other => panic!("{other:?}"),
    }
    assert_goes_on(&pool);

    match fails("leave", 30_000) {
        WorkerFailure::Crashed {
            exit: Exit::Code(7),
            location: None,
            ..
        } => {}
        other => panic!("{other:?}"),
    }
    assert_goes_on(&pool);

    let began = Instant::now();
    match fails("hang", 400) {
        WorkerFailure::TimedOut {
            location: Some(location),
            limit,
            ..
        } => {
            assert_eq!(limit, Duration::from_millis(400));
            let (first, last) = (
                line_of(&module, "while True:"),
                line_of(&module, "while True:") + 1,
            );
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

fn what_is_printed_comes_back_and_does_not_disturb_the_pipe(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let response = expect_finished(&pool, &simple_request("say"));
    let out = &response.stdout;
    assert!(
        out.contains("raw ") && out.contains("cooked\n") && out.contains('5'),
        "{out:?}"
    );
    let response = expect_finished(&pool, &simple_request("say_much"));
    assert!(response.stdout_cut && response.stdout.len() == Response::STDOUT_LIMIT);
    let response = expect_finished(&pool, &simple_request("empty_kernel"));
    assert_eq!((response.stdout.as_str(), response.stdout_cut), ("", false));
}

/// A write past the end of a storage is undefined, and the next request must not be the one to pay for it.
fn stray_writes_do_not_reach_other_requests(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    for device in [Device::Cuda, Device::Host] {
        let args = vec![tensor(0, &[2], &[1], 0), Value::Int(8192)];
        let launches = vec![launch("beyond", args)];
        let request = Request {
            device,
            ..request("behaviour.py", vec![build_storage(&[0; 2])], launches)
        };
        for _ in 0..50 {
            expect_finished(&pool, &request);
            assert_goes_on(&pool);
        }
    }
}

fn malformed_requests_are_our_mistake_and_cost_no_worker(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let check = |break_it: &dyn Fn(&mut Request), part: &str| {
        let mut request = simple_request("empty_kernel");
        break_it(&mut request);
        match pool.request(&request, Limits::default()) {
            Err(WorkerFailure::Protocol(problem)) => assert!(problem.contains(part), "{problem}"),
            other => panic!("{other:?}"),
        }
        assert_goes_on(&pool);
    };
    check(
        &|r| r.launches[0].args = vec![tensor(1, &[4], &[1], 0)],
        "no storage 1",
    );
    check(
        &|r| r.launches[0].args = vec![tensor(0, &[4], &[1], 1)],
        "outside of its storage of 16 bytes",
    );
    check(
        &|r| r.launches[0].args = vec![tensor(0, &[4], &[-1], 4)],
        "malformed",
    );
    check(
        &|r| r.launches[0].args = vec![tensor(0, &[i64::MAX, 9], &[i64::MAX, 1], 0)],
        "outside",
    );
    check(&|r| r.storages[0].front = 99, "smaller than its guard zones");
    let relocation = Relocation {
        offset: 4,
        storage: 0,
        addend: 0,
    };
    check(
        &|r| r.storages[0].relocations = vec![relocation],
        "malformed Relocation",
    );
}

fn many_threads_share_a_pool(toolchain: &Toolchain) {
    let pool = Pool::new(toolchain.clone(), 2).expect("a pool");
    let request = simple_request("empty_kernel");
    std::thread::scope(|scope| {
        for index in 0..6 {
            let (pool, request) = (&pool, &request);
            scope.spawn(move || {
                for _ in 0..5 {
                    if index == 0 {
                        let failure = pool.request(&simple_request("leave"), time_limit(30_000));
                        assert!(matches!(failure, Err(WorkerFailure::Crashed { .. })));
                    } else {
                        expect_finished(pool, request);
                    }
                }
            });
        }
    });
}

fn stopping_a_pool_ends_what_runs(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    assert_goes_on(&pool);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| pool.request(&simple_request("hang"), time_limit(60_000)));
        std::thread::sleep(Duration::from_millis(300));
        pool.stop();
        assert_eq!(running.join().expect("no panic"), Err(WorkerFailure::Stopped));
    });
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(
        pool.request(&simple_request("empty_kernel"), time_limit(1000)),
        Err(WorkerFailure::Stopped)
    );
}

/// The process that `killing_this_process_leaves_no_worker` kills: its worker writes into the file `ready`.
fn hang_worker(ready: &OsStr) {
    let pool = Pool::new(find_toolchain(NEWEST), 2).expect("a pool");
    let mut request = simple_request("hang");
    request.module.text = Arc::from(request.module.text.replace(
        "while True:",
        &format!("while open('{}', 'a').write('x'):", ready.display()),
    ));
    let _ = pool.request(&request, time_limit(60_000));
}

fn killing_this_process_leaves_no_worker(toolchain: &Toolchain) {
    // The worker writes in its own folder only, somewhere below this one.
    let run = toolchain.root().join("../../run");
    let signs = format!("signs-of-life-{}", std::process::id());
    let mut child = std::process::Command::new(std::env::current_exe().expect("this test"))
        .env(HANGS, &signs)
        .spawn()
        .expect("a child");
    let within = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let size = || {
        let workers = within(&run).into_iter().flat_map(|pool| within(&pool));
        let sizes = workers.filter_map(|worker| std::fs::metadata(worker.join(&signs)).ok());
        sizes.map(|data| data.len()).sum::<u64>()
    };
    let deadline = Instant::now() + Duration::from_mins(1);
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

/// Starts a worker that hangs if this process is the one to be killed; says whether it is.
pub fn hang_if_asked() -> bool {
    let Some(ready) = std::env::var_os(HANGS) else {
        return false;
    };
    hang_worker(&ready);
    true
}

pub fn tests() -> Tests {
    Tests::new()
        .with_each(
            &tritons_since(3, 0),
            &named![
                exceptions_come_with_type_text_and_line,
                what_is_printed_comes_back_and_does_not_disturb_the_pipe
            ],
        )
        .with_each(
            &["3.1.0", NEWEST],
            &named![
                modules_that_do_not_import_say_where,
                a_worker_that_dies_costs_its_own_request,
                stray_writes_do_not_reach_other_requests
            ],
        )
        .with_each(
            &[NEWEST],
            &named![
                malformed_requests_are_our_mistake_and_cost_no_worker,
                many_threads_share_a_pool,
                stopping_a_pool_ends_what_runs,
                killing_this_process_leaves_no_worker
            ],
        )
}
