//! Runs that end early or can't write: signals, a reader that goes away, a full disk. Results stay.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{GOOD, Place, RUN_REFERENCE, filter_events};
use crate::command_output::CommandOutput;

#[test]
fn a_place_that_cannot_be_written_costs_the_reports_only() {
    let place = Place::new(&[
        ("cases/area/good.yaml", GOOD),
        ("reports", "a file, not a folder"),
    ]);
    place.run(&RUN_REFERENCE).assert_ends(
        0,
        &["as expected"],
        &["warning: no report is written", "--out DIR"],
    );
    // Asked for, it is an error.
    place
        .run(&["run", "--engine", "reference", "--out", "reports/x"])
        .assert_ends(
            2,
            &["NOT as expected: the reports could not be written"],
            &["error: no report"],
        );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_nothing_computed_is_lost() {
    let place = Place::new(&[("cases/area/good.yaml", GOOD)]);
    // The shell sets a limit, which stands for a full disk: 1 block is 512 or 1,024 bytes.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 1; exec '{}' \"$@\"",
        env!("CARGO_BIN_EXE_cerith")
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &limited, "sh"])
        .args(RUN_REFERENCE)
        .current_dir(place.join(""));
    let done = command
        .env("CERITH_HOME", place.join("home"))
        .output()
        .expect("starts");
    CommandOutput::from_output(&done).assert_ends(
        2,
        &["2 cases: ", "NOT as expected: the reports could not be written"],
        &["error: write ", "File too large", "the run goes on"],
    );
    let left = fs::read_to_string(place.join("reports/run/events.jsonl")).expect("a stream");
    assert!(left.is_empty() || left.ends_with('\n'), "whole lines: {left}");
    let full = fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let out = place.join("elsewhere");
    let done = place
        .build_command(&[
            "run",
            "--engine",
            "reference",
            "--format",
            "jsonl",
            "--out",
            out.to_str().expect("a path"),
        ])
        .stdout(full)
        .output()
        .expect("starts");
    CommandOutput::from_output(&done).assert_ends(2, &[], &["write to standard output", "No space left"]);
    assert_eq!(
        filter_events(&place.stream("elsewhere/events.jsonl"), "verdict").len(),
        2
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new(&[("cases/area/good.yaml", GOOD)]);
    let mut child = place
        .build_command(&RUN_REFERENCE)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(0));
}

/// A run over so many cases that it can be interrupted.
fn long_run(place: &Place) -> Child {
    let long = GOOD.replace(
        "dtype: [f32, i32]",
        "dtype: [f32, i32]\n  a: \"[*range(400)]\"\n  b: \"[*range(400)]\"",
    );
    let numbers = format!("{:?}", (0..400).collect::<Vec<_>>());
    place.write(
        "cases/area/good.yaml",
        &long.replace("\"[*range(400)]\"", &numbers),
    );
    let child = place
        .build_command(&RUN_REFERENCE)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let stream = place.join("reports/run/events.jsonl");
    let began = Instant::now();
    while fs::metadata(&stream).map_or(0, |file| file.len()) < 10_000 {
        assert!(began.elapsed() < Duration::from_mins(1), "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn send_signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_a_valid_partial_report() {
    let place = Place::new(&[]);
    let mut child = long_run(&place);
    send_signal(&child, "-INT");
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    let stream = place.stream("reports/run/events.jsonl");
    let summary = stream.last().expect("a summary");
    assert_eq!(
        (&summary["event"], &summary["interrupted"]),
        (&"summary".into(), &true.into())
    );
    assert_eq!(summary["cases"], filter_events(&stream, "verdict").len());
    let page = fs::read_to_string(place.join("reports/run/report.html")).expect("a page");
    assert!(page.contains("<p>The run was interrupted"));
}

/// An interrupt does not wait for a long launch.
#[cfg(target_os = "linux")]
#[test]
fn the_first_interrupt_is_heard_inside_of_a_launch() {
    let place = Place::new(&[]);
    place.write(
        "cases/area/idle.py",
        "import triton\n\n\n@triton.jit\ndef idle():\n    pass\n",
    );
    place.write(
        "cases/area/good.yaml",
        "about: Many programs that do nothing.\nkernel: idle.py:idle\nlaunches:\n  - { grid: [1000000000], args: {} }\n",
    );
    let mut child = place
        .build_command(&RUN_REFERENCE)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    // Time of the processor, so that it doesn't matter what else runs here. The start takes a tenth of it, the launch four times.
    let is_inside = |child: &Child| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        let ticks = stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(12));
        ticks.is_some_and(|ticks| ticks.parse::<u64>().is_ok_and(|ticks| ticks >= 50))
    };
    while child.try_wait().expect("ours").is_none() && !is_inside(&child) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(child.try_wait().expect("ours"), None, "the launch is short");
    send_signal(&child, "-INT");
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) && child.try_wait().expect("ours").is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    assert_eq!(child.wait().expect("ours").code(), Some(130));
}

/// The child that executes machine code keeps nothing open that it was started with but its pipes.
#[cfg(target_os = "linux")]
#[test]
fn a_child_of_a_gpu_inherits_no_files() {
    use rustix::io::{FdFlags, fcntl_setfd};
    let place = Place::new(&[]);
    place.write("secret", "secret");
    let secret = fs::File::open(place.join("secret")).expect("there");
    // The pipe has no room for its answer, so the process stays while the test inspects it.
    let (reading, writing) = rustix::pipe::pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&writing, true).expect("set");
    while rustix::io::write(&writing, &[0; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&writing, false).expect("set");
    fcntl_setfd(&secret, FdFlags::empty()).expect("set");
    let mut child = place
        .build_command(&["__cuda-child", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::from(writing))
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let links = || {
        let entries = fs::read_dir(format!("/proc/{}/fd", child.id())).expect("it runs");
        entries
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .collect::<Vec<_>>()
    };
    let wanted = place.join("secret").canonicalize().expect("there");
    let began = Instant::now();
    while links().contains(&wanted) && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = links();
    assert_eq!(child.try_wait().expect("ours"), None, "it waits to answer");
    let _ = child.kill();
    let _ = child.wait();
    drop((reading, secret));
    assert!(!left.contains(&wanted), "{left:?}");
}
