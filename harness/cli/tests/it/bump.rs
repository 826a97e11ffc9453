//! `cerith bump`, `cerith matrix` and `cerith bisect`, over recorded GPU results of compilers of ten versions: no toolchain is
//! needed, and none is found.

use std::path::Path;
use std::process::Command;

use crate::command_output::CommandOutput;
use serde_json::Value;
use tempfile::TempDir;

/// Case files with records of all ten versions.
const CASES: [&str; 3] = [
    "atomic/extrema_of_zero",
    "reduction/place_of_reshaped",
    "pointer/unsigned_offset",
];

struct Run {
    folder: TempDir,
}

impl Run {
    fn new() -> Self {
        Self {
            folder: TempDir::new().expect("a folder"),
        }
    }

    fn run_cerith(&self, words: &[&str]) -> CommandOutput {
        let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .args(words)
            .env("CERITH_HOME", self.folder.path().join("home"))
            .env("CI", "1")
            .output()
            .expect("cerith starts");
        CommandOutput::from_output(&output)
    }

    /// A command over the cases, with its reports in a folder.
    fn run_over_cases(&self, words: &[&str], reports: &str) -> CommandOutput {
        let out = self.folder.path().join(reports).display().to_string();
        let mut all = words.to_vec();
        all.extend(CASES);
        all.extend(["--engine", "cuda", "--offline", "--out", &out]);
        self.run_cerith(&all)
    }
}

#[test]
fn a_bump_says_what_was_fixed_and_what_broke() {
    let run = Run::new();
    run.run_over_cases(&["bump", "3.2.0", "3.9.0"], "a").assert_ends(
        1,
        &[
            "broke: 4 cases by 1 cause",
            "each executes ",
            "2 that are right do too",
            "fixed: 6 cases by 2 causes",
            "4  atomic-extrema-by-comparison",
            "2  offsets-sign-extend",
            "next: cerith explain 'reduction/place_of_reshaped",
        ],
        &[],
    );
    // The other way around as much is fixed.
    run.run_over_cases(&["bump", "3.9.0", "3.2.0", "--only", "fixed"], "b")
        .assert_ends(1, &["fixed: 4 cases by 1 cause"], &[]);
    run.run_over_cases(&["bump", "3.2.0", "3.9.0", "--fail-on", "rule-changed"], "c")
        .assert_ends(0, &["broke: 4 cases"], &[]);
}

#[test]
fn a_bump_prints_for_programs_pull_requests_and_workflows() {
    let run = Run::new();
    let lines = run.run_over_cases(&["bump", "3.2.0", "3.9.0", "--format", "jsonl"], "a");
    let events: Vec<Value> = lines
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(events[0]["counts"]["fixed"], 6);
    assert_eq!(events[1]["change"], "broke");
    assert_eq!(events[1]["cases"].as_array().map(Vec::len), Some(4));
    run.run_over_cases(&["bump", "3.2.0", "3.9.0", "--format", "markdown"], "b")
        .assert_ends(
            1,
            &[
                "# `cuda@3.2.0` → `cuda@3.9.0`",
                "## broke (4)",
                "| 2 | offsets-sign-extend<br>",
            ],
            &[],
        );
    run.run_over_cases(&["bump", "3.2.0", "3.9.0", "--format", "github"], "c")
        .assert_ends(
            1,
            &[
                "::error title=cuda@3.2.0 → cuda@3.9.0%3A 4 broke::",
                "::notice title=",
            ],
            &[],
        );
}

/// Two machines can each run one side.
#[test]
fn a_bump_goes_on_from_a_stored_stream() {
    let run = Run::new();
    let old = run.folder.path().join("old");
    let mut words = vec![
        "run",
        "--allow-unavailable",
        "--offline",
        "--engine",
        "reference",
        "--engine",
        "cuda@3.2.0",
    ];
    words.extend(CASES);
    let out = old.display().to_string();
    words.extend(["--out", &out]);
    run.run_cerith(&words);
    let stream = old.join("events.jsonl").display().to_string();
    run.run_over_cases(&["bump", "3.2.0", "3.9.0", "--against", &stream], "a")
        .assert_ends(
            1,
            &["broke: 4 cases by 1 cause", "fixed: 6 cases by 2 causes"],
            &[],
        );
    // The new side is also found in a stream that has another version.
    let both = run.folder.path().join("both");
    let out = both.display().to_string();
    let mut words = vec!["run", "--engine", "reference", "--offline"];
    for engine in ["cuda@3.2.0", "cuda@3.6.0", "cuda@3.9.0"] {
        words.extend(["--engine", engine]);
    }
    words.extend(CASES);
    words.extend(["--out", &out]);
    run.run_cerith(&words);
    let all = both.join("events.jsonl").display().to_string();
    run.run_over_cases(&["bump", "3.2.0", "3.9.0", "--against", &all], "e")
        .assert_ends(
            1,
            &["broke: 4 cases by 1 cause", "fixed: 6 cases by 2 causes"],
            &[],
        );
    // A stream of another version, half a stream, and a missing stream.
    run.run_over_cases(&["bump", "3.6.0", "3.9.0", "--against", &stream], "b")
        .assert_ends(
            2,
            &[],
            &[
                "has no verdicts about cuda@3.6.0",
                "it has verdicts about reference, cuda@3.2.0",
            ],
        );
    let text = std::fs::read_to_string(&stream).expect("a stream");
    std::fs::write(&stream, &text[..text.len() / 2]).expect("written");
    run.run_over_cases(&["bump", "3.2.0", "3.9.0", "--against", &stream], "c")
        .assert_ends(2, &[], &["without its summary"]);
    run.run_over_cases(&["bump", "3.2.0", "3.9.0", "--against", "nowhere.jsonl"], "d")
        .assert_ends(2, &[], &["read nowhere.jsonl"]);
}

#[test]
fn mistakes_are_told() {
    let run = Run::new();
    let check = |words: &[&str], code: i32, err: &str| {
        run.run_cerith(words).assert_ends(code, &[], &[err]);
    };
    check(&["bump", "3.9.0", "3.9.0"], 2, "3.9.0 is the same on both sides");
    check(
        &["bump", "3.9.0", "latest"],
        2,
        "`latest` is not a Triton version",
    );
    check(&["bump", "3.9.0", "pr-77"], 2, "nor a build that was adopted");
    check(
        &["bump", "3.9.0", "no/such/python"],
        2,
        "there is no Python at no/such/python",
    );
    check(&["bump", "3.9.0", "2.3.1"], 2, "from Triton 3.0.0 on");
    check(
        &["bump", "3.8.0", "3.9.0", "--only", "worse"],
        2,
        "the changes are broke",
    );
    check(
        &["bump", "3.8.0", "3.9.0", "alais", "--offline"],
        2,
        "no case matches `alais`",
    );
    check(&["bisect", "alias"], 2, "selects several cases");
    check(
        &["bisect", "alias/same_twice:dtype=f32", "3.9.0", "3.2.0"],
        2,
        "fewer than two releases",
    );
    check(&["matrix", "3.9.0", "alias"], 2, "at least two versions");
}

#[test]
fn a_matrix_says_since_when_and_until_when() {
    let run = Run::new();
    let versions = ["matrix", "3.0.0", "3.2.0", "3.6.0", "3.9.0", "-v"];
    run.run_over_cases(&versions, "a").assert_ends(
        0,
        &[
            "4     4     .     .  up to 3.2.0",
            "reduction/place_of_reshaped (memory)                 .     .     4     4  since 3.6.0",
            "XX..  pointer/unsigned_offset:dtype=u8",
        ],
        &[],
    );
    run.run_over_cases(&["matrix", "3.2.0", "3.9.0", "--format", "markdown"], "b")
        .assert_ends(0, &["| `offsets-sign-extend` | 2 |  | up to 3.2.0 |"], &[]);
}

#[test]
fn a_bisection_finds_the_release() {
    let run = Run::new();
    let bisect = |case: &str, more: &[&str]| {
        let mut words = vec!["bisect", case, "--engine", "cuda", "--offline"];
        words.extend(more);
        run.run_cerith(&words)
    };
    bisect("pointer/unsigned_offset:dtype=u8", &[]).assert_ends(
        0,
        &["is the first that gets pointer/unsigned_offset:dtype=u8 right; up to cuda@3.2.0: offsets-sign-extend"],
        &[],
    );
    bisect("reduction/place_of_reshaped:f=least,shape=16x16", &[]).assert_ends(
        0,
        &["cuda@3.3.1 is the first that gets"],
        &[],
    );
    bisect("pointer/unsigned_offset:dtype=u8", &["3.6.0", "3.9.0"]).assert_ends(
        1,
        &["produce the same result"],
        &[],
    );
    // There are no records of 3.3.0.
    bisect("pointer/unsigned_offset:dtype=u8", &["3.3.0", "3.9.0"]).assert_ends(
        3,
        &["cuda@3.3.0 has no outcome for"],
        &[],
    );
}
