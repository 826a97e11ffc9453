//! `cerith expect`: what a run found goes into case files and what no longer happens out of them, nothing else in them changes, and what
//! Cerith itself did wrong is not written down.

use std::io::Write as _;
use std::process::Stdio;

use crate::command_output::CommandOutput;
use crate::place::{Place, reseal_stream};
use serde_json::{Value, json};

const BAD: &str = "cases/area/bad.yaml";
const STREAM: &str = "reports/run/events.jsonl";

/// A case file with comments in it, whose cases are not as expected, except one.
const COMMENTED: &str = "\
# The head.
about: 'A store past the end.'   # beside
kernel: k.py:past_the_end

matrix:
  n: [3, 5, 16]
storages: { x: { dtype: i32, shape: [\"{n}\"], fill: zeros } }
launches:
  # Above.
  - grid: [1]
    args: { x: x, n: \"{n}\", BLOCK: 16 }
# The tail: é.
";

const WRITTEN: &str = "\
expect:
  - { engine: reference, when: \"n in (3, 5)\", verdict: undefined, outcome: trapped, message: \"out-of-bounds\", why: past }
";

/// A place whose cases of `area/bad` are those of [`COMMENTED`], and which was run.
fn create_commented() -> Place {
    let place = Place::new();
    place.write(BAD, COMMENTED);
    place
        .run(&[])
        .assert_ends(1, &["NOT as expected: 2 unexpected"], &[]);
    place
}

fn expect(place: &Place, args: &[&str]) -> CommandOutput {
    place.run_cerith(&[&["expect"], args].concat())
}

/// A review with these answers.
fn review(place: &Place, answers: &str) -> CommandOutput {
    let mut child = place
        .build_command(&["expect", "--review", "--why", "past"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cerith starts");
    // A review that is over reads no more.
    let _ = child.stdin.take().expect("a pipe").write_all(answers.as_bytes());
    CommandOutput::from_output(&child.wait_with_output().expect("it ends"))
}

/// Changes the event of a case in the last run's stream.
fn change(place: &Place, case: &str, change: impl Fn(&mut Value)) {
    let mut events = place.read_events(STREAM);
    let event = events
        .iter_mut()
        .find(|event| event["event"] == "verdict" && event["case"] == case);
    change(event.expect(case));
    let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
    place.write(STREAM, &reseal_stream(&lines.concat()));
}

#[test]
fn what_is_accepted_is_written_for_the_cases_that_it_is_of_and_nothing_else_changes() {
    let place = create_commented();
    expect(&place, &["--accept", "--why", "past"]).assert_ends(
        0,
        &[
            "UNDEFINED area/bad:n=3",
            "and 1 more case of the file",
            "+   13 expect:",
            "1 written, 0 removed",
        ],
        &[],
    );
    assert_eq!(place.read(BAD), format!("{COMMENTED}{WRITTEN}"));
    place.run(&[]).assert_ends(0, &["as expected"], &[]);
    expect(&place, &["--check"]).assert_ends(0, &["0 to review"], &[]);
    // A second one goes below.
    place.write(BAD, &place.read(BAD).replace("[3, 5, 16]", "[3, 5, 7, 16]"));
    place.run(&[]).assert_ends(1, &["1 unexpected"], &[]);
    expect(&place, &["--accept", "--why", "more"]).assert_ends(0, &["1 written"], &[]);
    let second = WRITTEN
        .replace("expect:\n", "")
        .replace("n in (3, 5)", "n == 7")
        .replace("past", "more");
    assert_eq!(
        place.read(BAD),
        format!(
            "{}{WRITTEN}{second}",
            COMMENTED.replace("[3, 5, 16]", "[3, 5, 7, 16]")
        )
    );
    place.run(&[]).assert_ends(0, &["as expected"], &[]);
}

#[test]
fn showing_changes_nothing() {
    let place = create_commented();
    expect(&place, &["--list"]).assert_ends(0, &["+   13 expect:", "1 to review"], &[]);
    expect(&place, &["--check"]).assert_ends(1, &["1 to review"], &[]);
    expect(&place, &["--check", "area/good"]).assert_ends(0, &["0 to review"], &[]);
    expect(&place, &["--accept", "area/good"]).assert_ends(0, &["0 written"], &[]);
    expect(&place, &[]).assert_ends(
        0,
        &["+   13 expect:", "1 to review"],
        &["a review needs a terminal: nothing is written"],
    );
    expect(&place, &["--accept", "--list"]).assert_ends(2, &[], &["cannot be used with"]);
    expect(&place, &["--list", "area/god"]).assert_ends(2, &[], &["no case matches `area/god`"]);
    assert_eq!(place.read(BAD), COMMENTED);
}

#[test]
fn a_review_takes_a_letter_for_each() {
    let files = [
        "cases/area/bad.yaml",
        "cases/area/bad2.yaml",
        "cases/area/bad3.yaml",
    ];
    let check = |answers: &str, written: [bool; 3], told: &str| {
        let place = Place::new();
        for file in files {
            place.write(file, COMMENTED);
        }
        place.run(&[]).assert_ends(1, &["6 unexpected"], &[]);
        review(&place, answers).assert_ends(0, &["(a)ccept, (r)eject, (s)kip, (q)uit?", told], &[]);
        for (file, written) in files.iter().zip(written) {
            let more = if written { WRITTEN } else { "" };
            assert_eq!(
                place.read(file),
                format!("{COMMENTED}{more}"),
                "{answers:?} {file}"
            );
        }
    };
    check(
        "a\nr\ns\n",
        [true, false, false],
        "1 written, 0 removed, 1 rejected, 1 skipped",
    );
    check("a\nq\n", [true, false, false], "1 written");
    check(
        "what\n\na\na\na\n",
        [true, true, true],
        "r: it is a bug and stays a failure",
    );
    check("r\n", [false, false, false], "0 written, 0 removed, 1 rejected");
}

#[test]
fn what_no_longer_happens_is_taken_out() {
    let place = create_commented();
    expect(&place, &["--accept", "--why", "past"]).assert_ends(0, &[], &[]);
    let text = place.read(BAD).replace("shape: [\"{n}\"]", "shape: [16]");
    place.write(BAD, &text);
    place
        .run(&[])
        .assert_ends(1, &["2 with an expectation that no longer happens"], &[]);
    expect(&place, &["--check"]).assert_ends(1, &["-   13 expect:", "1 to review"], &[]);
    // Accepting removes nothing.
    expect(&place, &["--accept"]).assert_ends(0, &["0 written, 0 removed"], &[]);
    expect(&place, &["--prune"]).assert_ends(0, &["0 written, 1 removed"], &[]);
    assert_eq!(
        place.read(BAD),
        COMMENTED.replace("shape: [\"{n}\"]", "shape: [16]")
    );
    place.run(&[]).assert_ends(0, &["as expected"], &[]);
}

#[test]
fn what_still_happens_somewhere_stays() {
    let check = |edit: &dyn Fn(&Place), run: &[&str], wanted: &str| {
        let place = create_commented();
        expect(&place, &["--accept", "--why", "past"]).assert_ends(0, &[], &[]);
        edit(&place);
        let before = place.read(BAD);
        place.run(run).assert_ends(1, &["that no longer happens"], &[]);
        expect(&place, &["--prune"]).assert_ends(0, &["0 written, 0 removed", wanted], &[]);
        assert_eq!(place.read(BAD), before);
    };
    let replace = |from: &'static str, to: &'static str| {
        move |place: &Place| place.write(BAD, &place.read(BAD).replace(from, to))
    };
    check(
        &replace("shape: [\"{n}\"]", "shape: [\"{16 if n == 5 else n}\"]"),
        &[],
        "cases/area/bad.yaml:14: no longer happens in 1 cases, and still happens in 1; narrow its `when`",
    );
    check(
        &replace("shape: [\"{n}\"]", "shape: [16]"),
        &["area/bad:n=3"],
        "no longer happens, but only 1 of the file's 3 cases were run; run all of them",
    );
    let versions = |place: &Place| {
        let text = place.read(BAD).replace("shape: [\"{n}\"]", "shape: [16]");
        place.write(
            BAD,
            &text.replace("engine: reference,", "engine: reference, versions: \">=3.8\","),
        );
    };
    check(
        &versions,
        &[],
        "also covers versions that were not run (3.8); run them, or narrow its `versions`",
    );
}

#[test]
fn what_an_engine_does_is_written_as_case_files_have_it() {
    let check = |event: &dyn Fn(&mut Value), line: &str| {
        let place = Place::new();
        place.write(BAD, &COMMENTED.replace("[3, 5, 16]", "[16, 17]"));
        place.run(&[]).assert_ends(0, &[], &[]);
        change(&place, "area/bad:n=16", |verdict| {
            *verdict = json!({
                "event": "verdict", "case": "area/bad:n=16", "bytes": { "compared": 4 },
                "engines": ["reference", "interpret@3.8.0", "interpret@3.9.0"], "verdict": "differ",
                "blame": ["interpret@3.8.0", "interpret@3.9.0"], "expected": false,
                "unexpected": ["interpret@3.8.0", "interpret@3.9.0"],
                "differences": [
                    { "baseline": "reference", "engine": "interpret@3.8.0", "kind": "memory" },
                    { "baseline": "reference", "engine": "interpret@3.9.0", "kind": "memory" },
                ],
            });
            event(verdict);
        });
        expect(&place, &["--accept"]).assert_ends(0, &[line], &[]);
        assert!(
            place.read(BAD).ends_with(&format!("expect:\n{line}\n")),
            "{}",
            place.read(BAD)
        );
        place
            .run_cerith(&["list", "area/bad"])
            .assert_ends(0, &["area/bad:n=16"], &[]);
    };
    check(
        &|_| {},
        "  - { engine: interpret, versions: \"3.8.0 or 3.9.0\", when: \"n == 16\", verdict: differ, why: \"seen, and not looked into: differ\" }",
    );
    let known = |verdict: &mut Value| {
        for at in [0, 1] {
            verdict["differences"][at]["explained"] = json!(["bf16-is-bits"]);
        }
    };
    check(
        &known,
        "  - { engine: interpret, versions: \"3.8.0 or 3.9.0\", when: \"n == 16\", verdict: differ, quirk: bf16-is-bits }",
    );
    let compiler = |verdict: &mut Value| {
        verdict["engines"] = json!(["reference", "cuda@3.2.0"]);
        verdict["blame"] = json!(["cuda@3.2.0"]);
        verdict["unexpected"] = json!(["cuda@3.2.0"]);
        verdict["differences"] =
            json!([{ "baseline": "reference", "engine": "cuda@3.2.0", "kind": "crash" }]);
        verdict["outcomes"] = json!({ "cuda@3.2.0": { "outcome": "crashed", "error": "aborted", "message": "it \"died\"\nof it" } });
    };
    check(
        &compiler,
        "  - { engine: cuda, versions: \"3.2.0\", when: \"n == 16\", verdict: differ, outcome: crashed, message: aborted, why: \"seen, and not looked into: it \\\"died\\\"\" }",
    );
}

#[test]
fn what_cerith_did_wrong_is_never_written_down() {
    let check = |what: &dyn Fn(&mut Value), wanted: &str| {
        let place = create_commented();
        for case in ["area/bad:n=3", "area/bad:n=5"] {
            change(&place, case, what);
        }
        for how in ["--accept", "--list"] {
            let exit = i32::from(how == "--accept");
            expect(&place, &[how]).assert_ends(exit, &["refused area/bad:n=3: ", wanted, "2 refused"], &[]);
        }
        assert_eq!(place.read(BAD), COMMENTED, "{wanted}");
    };
    check(
        &|verdict| verdict["blame"] = json!(["reference"]),
        "the reference is to blame: that is a bug in Cerith",
    );
    check(
        &|verdict| verdict["suspected"] = json!("two agree"),
        "the reference is to blame",
    );
    check(
        &|verdict| verdict["vacuous"] = json!(true),
        "nothing that the program computed was compared",
    );
    check(
        &|verdict| verdict["outcomes"]["reference"]["outcome"] = json!("unsupported"),
        "the reference has no outcome: unsupported",
    );
    check(
        &|verdict| {
            verdict["differences"] = json!([{ "baseline": "given", "engine": "reference", "kind": "given" }]);
        },
        "the reference's result differs from the case file's",
    );
    // A failure of Cerith in a case that was judged, and in one that was not.
    let place = create_commented();
    let mut lines: Vec<String> = place.read(STREAM).lines().map(str::to_owned).collect();
    lines.retain(|line| !line.contains("area/bad:n=5"));
    for case in ["area/bad:n=3", "area/bad:n=5"] {
        lines.insert(
            1,
            json!({ "event": "internal", "case": case, "message": "oh" }).to_string(),
        );
    }
    place.write(STREAM, &reseal_stream(&format!("{}\n", lines.join("\n"))));
    expect(&place, &["--accept"]).assert_ends(
        1,
        &[
            "refused area/bad:n=3: Cerith itself failed here",
            "refused area/bad:n=5: Cerith itself failed here",
        ],
        &[],
    );
    assert_eq!(place.read(BAD), COMMENTED);
}

#[test]
fn a_run_that_is_not_of_these_files_is_refused() {
    let place = create_commented();
    let check = |wanted: &str| {
        expect(&place, &["--accept"]).assert_ends(2, &[], &["error: ", wanted]);
    };
    let stream = place.read(STREAM);
    place.write(BAD, &format!("{COMMENTED}# more\n"));
    check("case files or kernels have changed since");
    place.write(BAD, COMMENTED);
    let lines: Vec<&str> = stream.lines().collect();
    place.write(STREAM, &format!("{}\n", lines[..lines.len() - 1].join("\n")));
    check("has no end: its run was killed or is still running");
    place.write(
        STREAM,
        &stream.replacen("{\"event\":\"verdict\"", "{\"event\":\"vXrdict\"", 1),
    );
    check("failed to read line 2");
    place.run(&["--checks", "fast"]).assert_ends(1, &[], &[]);
    check("was made with `--checks fast`");
    std::fs::remove_file(place.join(STREAM)).expect("a file");
    check("there is no run in ");
    assert_eq!(place.read(BAD), COMMENTED);
}

#[test]
fn a_file_that_is_written_otherwise_is_left_alone() {
    let place = Place::new();
    let flow = format!("{COMMENTED}expect: [{{ engine: cuda, verdict: differ, why: x }}]\n");
    place.write(BAD, &flow);
    place.run(&[]).assert_ends(1, &[], &[]);
    expect(&place, &["--accept"]).assert_ends(
        1,
        &["refused area/bad:n=3: `expect:` is not written as a list with a line for each expectation"],
        &[],
    );
    assert_eq!(place.read(BAD), flow);
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_without_room_loses_nothing() {
    let place = create_commented();
    let cerith = place.build_command(&[]);
    let program = cerith.get_program().to_str().expect("a path").to_owned();
    let script = "trap '' XFSZ; exec prlimit --fsize=100 -- \"$@\"";
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", script, "sh", &program, "expect", "--accept"])
        .current_dir(place.join(""))
        .env("CERITH_HOME", place.join("home"));
    let done = CommandOutput::from_output(&command.output().expect("sh starts"));
    done.assert_ends(
        2,
        &["0 written"],
        &[
            "error: failed to write ",
            "File too large",
            "the file is unchanged",
        ],
    );
    assert_eq!(place.read(BAD), COMMENTED);
    assert!(!place.join("cases/area/bad.yaml.part").exists());
}
