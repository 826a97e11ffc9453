//! Interrupted runs, incomplete sets of streams, and concurrent writers of a folder: none of them may look like a complete run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::command_output::CommandOutput;
use serde_json::Value;
use tempfile::TempDir;

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) + 1, mask=mask)
";

const GOOD: &str = "\
about: One is added.
kernel: k.py:add_one
matrix:
  dtype: [f32, i32, f16, i16]
storages:
  x: { dtype: \"{dtype}\", shape: [10], fill: arange }
launches:
  - grid: [1]
    args: { x: x, n: 10, BLOCK: 16 }
";

const PAGES: [&str; 3] = ["report.html", "report.md", "junit.xml"];

/// A folder with a corpus of four good cases, and no toolchains.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            folder: TempDir::new().expect("a folder"),
        };
        place.write("cases/area/k.py", KERNEL);
        place.write("cases/area/good.yaml", GOOD);
        place
    }

    /// A corpus whose run takes so long that it can be disturbed.
    fn new_long() -> Self {
        let place = Self::new();
        let many = format!("{:?}", (0..150).collect::<Vec<_>>());
        let matrix = format!("matrix:\n  a: {many}\n  b: {many}");
        place.write("cases/area/good.yaml", &GOOD.replace("matrix:", &matrix));
        place
    }

    fn join(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.join(path)).expect(path)
    }

    fn build_command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("CERITH_HOME", self.join("home"))
            .env("CI", "1");
        command
    }

    fn run_cerith(&self, args: &[&str]) -> CommandOutput {
        let output = self.build_command(CERITH, args).output().expect("cerith starts");
        CommandOutput::from_output(&output)
    }

    /// A run into `out` that ends well.
    fn run_successfully(&self, out: &str, more: &[&str]) {
        let args = ["run", "--engine", "reference", "--out", out];
        self.run_cerith(&[&args[..], more].concat())
            .assert_ends(0, &["as expected"], &[]);
    }

    /// A run into `out`, under way.
    fn under_way(&self, out: &str) -> Child {
        let child = self
            .build_command(CERITH, &["run", "--engine", "reference", "--out", out])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("cerith starts");
        let stream = self.join(out).join("events.jsonl");
        let began = Instant::now();
        while fs::metadata(&stream).map_or(0, |file| file.len()) < 20_000 {
            assert!(began.elapsed() < Duration::from_mins(1), "the run does not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        child
    }
}

const CERITH: &str = env!("CARGO_BIN_EXE_cerith");

fn kill(mut child: Child) {
    child.kill().expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), None, "it ended by itself");
}

#[test]
fn a_killed_runs_stream_is_an_error_in_every_format() {
    let place = Place::new_long();
    kill(place.under_way("r"));
    let stream = "r/events.jsonl";
    let wanted = "ends without its summary: its run was killed or is still running, with ";
    let of = " of 90000 cases judged";
    place.run_cerith(&["report", stream]).assert_ends(
        2,
        &[
            "error[cut-stream]: r/events.jsonl ",
            wanted,
            of,
            "NOT as expected: 1 error",
        ],
        &[],
    );
    place
        .run_cerith(&["report", stream, "--format", "junit"])
        .assert_ends(2, &["<error ", wanted, of], &[wanted]);
    place
        .run_cerith(&["report", stream, "--format", "html"])
        .assert_ends(2, &["cut short", wanted], &[wanted]);
    place
        .run_cerith(&["report", stream, "--format", "markdown"])
        .assert_ends(2, &["# Cerith: cut short", wanted], &[wanted]);
    // Beside one that is whole it is no better.
    place.write("cases/area/good.yaml", GOOD);
    place.run_successfully("whole", &[]);
    place
        .run_cerith(&["report", "whole/events.jsonl", stream, "--format", "junit"])
        .assert_ends(2, &["<error ", wanted], &[wanted]);
}

#[test]
fn a_stream_that_lacks_any_part_is_an_error() {
    let place = Place::new();
    place.run_successfully("r", &[]);
    let text = place.read("r/events.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "a start, four verdicts, a summary");
    let check = |stream: &str, wanted: &str| {
        place.write("s.jsonl", stream);
        place.run_cerith(&["report", "s.jsonl"]).assert_ends(
            2,
            &["error[cut-stream]: s.jsonl ", wanted, "NOT as expected"],
            &[],
        );
        place
            .run_cerith(&["report", "s.jsonl", "--format", "junit"])
            .assert_ends(2, &["<error ", wanted], &[wanted]);
    };
    let in_a_line = "ends in the middle of a line, without its summary: its run was killed or is still running, with 4 of 4 cases";
    check(&text[..text.len() - 30], in_a_line);
    check(
        &format!("{}\n", lines[..3].join("\n")),
        "with 2 of 4 cases judged",
    );
    check("", "holds no run");
    check(&format!("{}\n", lines[1..].join("\n")), "holds no run");
    check(
        &format!("{text}{}\n", lines[2]),
        "has events that belong to no run",
    );
    check(&format!("{}\n{text}", lines[0]), "with 0 of 4 cases judged");
}

#[test]
fn a_run_that_is_killed_leaves_no_report_of_the_day_before() {
    let place = Place::new();
    place.run_successfully("r", &[]);
    for page in PAGES {
        assert!(place.join("r").join(page).is_file(), "{page}");
    }
    let long = Place::new_long();
    place.write("cases/area/good.yaml", &long.read("cases/area/good.yaml"));
    kill(place.under_way("r"));
    for page in PAGES {
        assert!(!place.join("r").join(page).exists(), "{page} of the run before");
    }
}

#[test]
fn shards_that_are_missing_or_doubled_are_said() {
    let place = Place::new();
    for shard in ["1", "2", "3"] {
        place.run_successfully(shard, &["--shard", &format!("{shard}/3")]);
    }
    let report = |shards: &[&str], format: &str| {
        let files: Vec<String> = shards
            .iter()
            .map(|shard| format!("{shard}/events.jsonl"))
            .collect();
        let mut args = vec!["report", "--format", format];
        args.extend(files.iter().map(String::as_str));
        place.run_cerith(&args)
    };
    report(&["1", "2", "3"], "human").assert_ends(0, &["4 cases: ", "as expected"], &[]);
    report(&["3", "1", "2"], "junit").assert_ends(0, &["tests=\"4\"", "errors=\"0\""], &[]);
    let missing = "shard 2/3 is missing";
    report(&["1", "3"], "human").assert_ends(
        2,
        &["error[shards]: shard 2/3 is missing", "NOT as expected: 1 error"],
        &[],
    );
    report(&["1", "3"], "junit").assert_ends(2, &["<error ", missing], &[missing]);
    report(&["1", "3"], "html").assert_ends(2, &["errors in the input", "is missing"], &[missing]);
    let doubled = "shard 1/3 is there 2 times, and its cases count as often: 1/events.jsonl, 1/events.jsonl";
    report(&["1", "2", "3", "1"], "human").assert_ends(2, &[doubled], &[]);
    report(&["1", "1"], "human").assert_ends(2, &[doubled, "shards 2/3, 3/3 are missing"], &[]);
    // Shards of another run do not stand in for those of this one.
    place.run_successfully("other", &["--shard", "2/3", "area/good:dtype=f*"]);
    report(&["1", "other", "3"], "human").assert_ends(
        2,
        &[
            "shard 2/3 is missing",
            "shards 1/3, 3/3 of the run of `area/good:dtype=f*` are missing",
        ],
        &[],
    );
    // A shard's own job prints its own report.
    report(&["2"], "human").assert_ends(
        0,
        &["warning[shards]: shards 1/3, 3/3 are missing", "as expected"],
        &[],
    );
    report(&["2"], "junit").assert_ends(0, &["errors=\"0\""], &["shards 1/3, 3/3 are missing"]);
}

#[test]
fn two_runs_into_one_folder_are_refused_and_a_killed_one_leaves_no_lock() {
    let place = Place::new_long();
    let first = place.under_way("r");
    place
        .run_cerith(&["run", "--engine", "reference", "--out", "r", "area/good:a=1,b=1"])
        .assert_ends(
            2,
            &[],
            &["error: another run is writing its reports into r", "`--out DIR`"],
        );
    let begun = place.read("r/events.jsonl");
    assert!(
        begun.contains("\"cases\":90000"),
        "the second run wrote over the first one's stream"
    );
    place.run_successfully("other", &["area/good:a=1,b=1"]);
    kill(first);
    place.run_successfully("r", &["area/good:a=1,b=1"]);
    assert_eq!(place.read("r/events.jsonl").lines().count(), 6);
}

#[test]
fn a_filter_that_means_nothing_is_an_error_even_beside_others() {
    let place = Place::new();
    let wanted = [
        "error[filter]: no case matches `aera/good`",
        "did you mean `area/good`?",
    ];
    let alone = ["--engine", "reference"];
    place
        .run_cerith(&[&["run", "area", "aera/good"], &alone[..]].concat())
        .assert_ends(
            2,
            &[
                wanted[0],
                wanted[1],
                "4 cases: ",
                "NOT as expected: 1 error in the input",
            ],
            &[],
        );
    let junit = place.read("reports/run/junit.xml");
    assert!(
        junit.contains("<error ") && junit.contains("no case matches"),
        "{junit}"
    );
    for command in [
        &["list", "area", "aera/good"][..],
        &[
            "explain",
            "area/good:dtype=f32",
            "aera/good",
            "--engine",
            "reference",
        ],
        &["compare", "reference", "cuda@3.9.0", "area", "aera/good"],
    ] {
        place.run_cerith(command).assert_ends(2, &[], &wanted);
    }
    for (filter, wanted) in [
        ("area/good:dtype=f23", "did you mean `dtype=f32`?"),
        ("cases/aera", "did you mean `area`?"),
        ("area/good:dtyp=f32,dtype=f32", "did you mean `dtype=f32`?"),
        (
            "area/good:dtype=f32,dtype=i32",
            "each condition is met by a case, and no case meets all",
        ),
    ] {
        place
            .run_cerith(&["list", "area", filter])
            .assert_ends(2, &[], &["error[filter]", wanted]);
    }
    place
        .run_cerith(&[
            "run",
            "area/good:dtype=f*",
            "area/good:dtype=i32",
            "--engine",
            "reference",
        ])
        .assert_ends(0, &["3 cases: "], &[]);
}

/// Runs with a limit of so many bytes to a file, writes beyond which fail.
#[cfg(target_os = "linux")]
fn run_limited(place: &Place, bytes: usize, args: &[&str]) -> CommandOutput {
    let script = "trap '' XFSZ; limit=$1; shift; exec prlimit --fsize=\"$limit\" -- \"$@\"";
    let limit = bytes.to_string();
    let all = [&["-c", script, "sh", limit.as_str(), CERITH][..], args].concat();
    CommandOutput::from_output(&place.build_command("sh", &all).output().expect("sh starts"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_at_the_end_of_a_run_is_told_instead_of_as_expected() {
    let place = Place::new();
    place.run_successfully("r", &[]);
    let stream = place.read("r/events.jsonl").len();
    let page = place.read("r/report.html").len();
    assert!(stream < page, "the page has room where the stream has none");
    let out = ["run", "--engine", "reference", "--out", "r"];
    let own = ["run", "--engine", "reference"];
    for args in [&out[..], &own] {
        // The last line does not fit, by little: seconds are written with more digits or fewer.
        let done = run_limited(&place, stream - 100, args).assert_ends(
            2,
            &["4 cases: ", "NOT as expected: the reports could not be written"],
            &["error: write ", "events.jsonl: File too large"],
        );
        assert!(!done.out.contains("\nas expected"), "{}", done.out);
        // All events do, but the reports from them do not.
        let done = run_limited(&place, stream + 100, args).assert_ends(
            2,
            &["4 cases: ", "NOT as expected: the reports could not be written"],
            &[
                "error: write the reports in ",
                "report.html: File too large",
                "prints them again",
            ],
        );
        assert!(!done.out.contains("\nas expected"), "{}", done.out);
    }
    // The stream on disk is whole then.
    place
        .run_cerith(&["report", "r/events.jsonl"])
        .assert_ends(0, &["as expected"], &[]);
    assert!(!Path::new(&place.join("r/junit.xml")).exists());
    // A program that reads the stream finds the error in the summary.
    let done = run_limited(&place, stream + 100, &[&out[..], &["--format", "jsonl"]].concat()).assert_ends(
        2,
        &[],
        &[],
    );
    let last: Value = serde_json::from_str(done.out.lines().last().expect("a line")).expect("an event");
    assert_eq!((&last["unwritten"], &last["exit"]), (&1.into(), &2.into()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_first_case_file_that_does_not_fit_is_told_and_not_left_by_half() {
    let place = Place::new();
    let import = ["import", "cases/area/k.py:add_one", "-o", "cases/area/new.yaml"];
    run_limited(&place, 20, &import).assert_ends(
        2,
        &[],
        &["failed to write cases/area/new.yaml: File too large"],
    );
    assert!(!place.join("cases/area/new.yaml").exists());
    place.run_cerith(&import).assert_ends(0, &[], &[]);
}

/// The filters and the verdicts of a stored run.
fn read_stored_run(place: &Place, path: &str) -> (String, usize) {
    let text = place.read(path);
    let start: Value = serde_json::from_str(text.lines().next().expect("a start")).expect("JSON");
    let verdicts = text
        .lines()
        .filter(|line| line.starts_with("{\"event\":\"verdict\""))
        .count();
    (start["filters"].to_string(), verdicts)
}

const ALL: &str = "reports/run/events.jsonl";
const PARTIAL_STREAM: &str = "reports/run/partial/events.jsonl";

#[test]
fn a_run_of_some_cases_keeps_the_reports_of_all() {
    let place = Place::new();
    let run = |args: &[&str]| place.run_cerith(&[&["run", "--engine", "reference"], args].concat());
    // There is nothing to keep yet.
    run(&["area/good:dtype=f32"]).assert_ends(0, &["reports: reports/run/report.html"], &[]);
    assert_eq!(
        read_stored_run(&place, ALL),
        ("[\"area/good:dtype=f32\"]".to_owned(), 1)
    );
    run(&[]).assert_ends(0, &["reports: reports/run/report.html"], &[]);
    assert_eq!(read_stored_run(&place, ALL), ("null".to_owned(), 4));
    let page = place.read("reports/run/report.html");
    for (args, verdicts) in [(&["area/good:dtype=f*"][..], 2), (&["--shard", "1/3"], 2)] {
        run(args).assert_ends(
            0,
            &[
                "reports: reports/run/partial/report.html, report.md, junit.xml, events.jsonl",
                "the reports of the last run of all cases are still in reports/run",
            ],
            &[],
        );
        assert_eq!(read_stored_run(&place, ALL).1, 4);
        assert_eq!(place.read("reports/run/report.html"), page);
        assert_eq!(read_stored_run(&place, PARTIAL_STREAM).1, verdicts);
        for page in PAGES {
            assert!(place.join("reports/run/partial").join(page).is_file());
        }
    }
    // A filter that all cases match leaves nothing out.
    run(&["area"]).assert_ends(0, &["reports: reports/run/report.html"], &[]);
    assert_eq!(read_stored_run(&place, ALL), ("[\"area\"]".to_owned(), 4));
    assert!(!place.join("reports/run/partial").exists());
    // A folder that the user names is the run's own.
    run(&["area/good:dtype=f32", "--out", "reports/run"]).assert_ends(0, &[], &[]);
    assert_eq!(read_stored_run(&place, ALL).1, 1);
}

#[test]
fn a_killed_run_keeps_the_reports_of_all_cases() {
    let place = Place::new();
    place
        .run_cerith(&["run", "--engine", "reference"])
        .assert_ends(0, &[], &[]);
    let before = place.read(ALL);
    let long = Place::new_long();
    place.write("cases/area/good.yaml", &long.read("cases/area/good.yaml"));
    for signal in ["-KILL", "-INT"] {
        let mut command = place.build_command(CERITH, &["run", "--engine", "reference"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let began = Instant::now();
        while fs::metadata(place.join(PARTIAL_STREAM)).map_or(0, |file| file.len()) < 100_000 {
            assert!(began.elapsed() < Duration::from_mins(1), "the run does not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill").success());
        let code = child.wait().expect("it ends").code();
        assert_eq!(code, if signal == "-INT" { Some(130) } else { None });
        assert_eq!(place.read(ALL), before);
        assert_eq!(
            place.join("reports/run/partial/report.html").exists(),
            signal == "-INT"
        );
        let printed = place.run_cerith(&["report", PARTIAL_STREAM]);
        assert_eq!(
            printed.code,
            Some(if signal == "-INT" { 130 } else { 2 }),
            "{}",
            printed.out
        );
        fs::remove_file(place.join(PARTIAL_STREAM)).expect("removed");
    }
    place.write("cases/area/good.yaml", GOOD);
    place
        .run_cerith(&["run", "--engine", "reference"])
        .assert_ends(0, &[], &[]);
    assert!(!place.join("reports/run/partial").exists());
}

#[test]
fn failures_of_all_cases_stay_known_after_a_run_of_some() {
    let place = Place::new();
    let bad = GOOD.replace("{ x: x, n: 10, BLOCK: 16 }", "{ x: x, n: 16, BLOCK: 16 }");
    place.write(
        "cases/area/bad.yaml",
        &bad.replace("[f32, i32, f16, i16]", "[f32, i32]"),
    );
    let run = |args: &[&str]| place.run_cerith(&[&["run", "--engine", "reference"], args].concat());
    run(&[]).assert_ends(1, &["2 unexpected"], &[]);
    run(&["area/good"]).assert_ends(0, &["reports/run/partial/"], &[]);
    // `expect` reviews the latest run, `--last-failed` uses both.
    place
        .run_cerith(&["expect", "--list"])
        .assert_ends(0, &["0 to review"], &[]);
    run(&["--last-failed"]).assert_ends(1, &["2 cases: ", "2 unexpected"], &[]);
    place
        .run_cerith(&["expect", "--list"])
        .assert_ends(0, &["1 to review"], &[]);
    assert_eq!(read_stored_run(&place, ALL).1, 6);
    run(&["area/bad:dtype=f32"]).assert_ends(1, &[], &[]);
    run(&["--last-failed"]).assert_ends(1, &["2 cases: "], &[]);
}

#[test]
fn streams_that_lost_a_line_are_red_for_every_reader() {
    let place = Place::new();
    let bad = GOOD.replace("{ x: x, n: 10, BLOCK: 16 }", "{ x: x, n: 16, BLOCK: 16 }");
    place.write(
        "cases/area/bad.yaml",
        &bad.replace("[f32, i32, f16, i16]", "[f32]"),
    );
    let run =
        |args: &[&str]| place.run_cerith(&[&["run", "--engine", "reference", "--out", "r"], args].concat());
    run(&[]).assert_ends(1, &[], &[]);
    let text = place.read("r/events.jsonl");
    let cut: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("\"expected\":false"))
        .collect();
    assert_eq!(cut.len(), 6);
    place.write("cut/events.jsonl", &format!("{}\n", cut.join("\n")));
    let stream = "cut/events.jsonl";
    let wanted = "is not whole: its summary counts 5 cases, and 4 in its lines";
    for format in ["human", "junit", "github", "sarif", "markdown", "html"] {
        let done = place.run_cerith(&["report", stream, "--format", format]);
        let said = format!("{}{}", done.out, done.err);
        assert!(said.contains(wanted), "{format}: {said}");
        assert_eq!(done.code, Some(2), "{format}: {said}");
    }
    place
        .run_cerith(&["report", "merge", stream])
        .assert_ends(2, &[], &[wanted]);
    place
        .run_cerith(&["report", "merge", stream, "--out", "all"])
        .assert_ends(2, &[wanted], &[]);
    place
        .run_cerith(&["report", "baseline", stream])
        .assert_ends(2, &[], &[wanted]);
    place
        .run_cerith(&["report", "baseline", "r/events.jsonl", "--prune", stream])
        .assert_ends(2, &[], &[wanted]);
    place
        .run_cerith(&["expect", "--list", "--out", "cut"])
        .assert_ends(2, &[], &[wanted]);
    place
        .run_cerith(&["bump", "3.8.0", "3.9.0", "--against", stream])
        .assert_ends(2, &[], &[wanted]);
    place
        .run_cerith(&["run", "--engine", "reference", "--baseline", stream])
        .assert_ends(2, &[], &[wanted]);
    place
        .run_cerith(&["run", "--engine", "reference", "--last-failed", "--out", "cut"])
        .assert_ends(2, &[], &[wanted]);
    // Shards: the shard with the missing line is reported.
    for shard in ["1", "2"] {
        let done = place.run_cerith(&[
            "run",
            "--engine",
            "reference",
            "--shard",
            &format!("{shard}/2"),
            "--out",
            shard,
        ]);
        assert!(done.code.is_some_and(|code| code < 2));
    }
    let text = place.read("2/events.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    place.write(
        "2/events.jsonl",
        &format!("{}\n{}\n", lines[0], lines[2..].join("\n")),
    );
    for command in [&["report"][..], &["report", "merge"]] {
        let done = place.run_cerith(&[command, &["1/events.jsonl", "2/events.jsonl"]].concat());
        assert_eq!(done.code, Some(2));
        assert!(format!("{}{}", done.out, done.err).contains("2/events.jsonl is not whole"));
    }
}

#[test]
fn what_is_printed_is_sealed_as_what_is_stored() {
    let place = Place::new();
    place.write(
        "cases/area/##[error] odd.yaml",
        &GOOD.replace("One is added.", "\"\\u202e ##[error] is in it\""),
    );
    let done = place.run_cerith(&["run", "--engine", "reference", "--format", "jsonl", "--out", "r"]);
    place.write("printed.jsonl", &done.out);
    assert!(!done.out.contains("##["), "{}", done.out);
    place
        .run_cerith(&["report", "printed.jsonl"])
        .assert_ends(0, &["8 cases: "], &[]);
    place
        .run_cerith(&["report", "merge", "printed.jsonl", "-o", "merged.jsonl"])
        .assert_ends(0, &[], &[]);
    let merged = place.run_cerith(&["report", "merge", "merged.jsonl"]);
    place.write("again.jsonl", &merged.out);
    place
        .run_cerith(&["report", "again.jsonl"])
        .assert_ends(0, &["8 cases: "], &[]);
}
