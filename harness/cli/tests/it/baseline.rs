//! The criteria of a run in addition to its cases' expectations: `--baseline`, `--last-failed`, `--fail-fast` and
//! `--max-failures`.

use crate::place::{self, Place, remove_times};

const BASE: &str = "base.jsonl";

/// A folder with eleven cases, and a baseline with the three that are not as expected.
fn with_baseline() -> Place {
    let place = Place::new_failing();
    place.run(&["--out", "r"]).assert_ends(1, &["3 unexpected"], &[]);
    place
        .run_cerith(&["report", "baseline", "r/events.jsonl", "-o", BASE])
        .assert_ends(0, &["base.jsonl: 3 cases"], &[]);
    place
}

/// Makes what `area/bad` does defined for some of its sizes.
fn fix_sizes(place: &Place, sizes: &str) {
    let bad = place.read("cases/area/bad.yaml");
    place.write("cases/area/bad.yaml", &bad.replace("[3, 5, 7]", sizes));
}

#[test]
fn a_baseline_is_a_line_for_each_case() {
    let place = with_baseline();
    assert_eq!(
        place.read(BASE),
        "{\"baseline\":2,\"engines\":[\"reference\"],\"cases\":3}\n\
         {\"case\":\"area/bad:n=3\",\"wrong\":[\"reference: undefined trapped out-of-bounds of x at `tl.store(x + offsets, offsets)`\"]}\n\
         {\"case\":\"area/bad:n=5\",\"wrong\":[\"reference: undefined trapped out-of-bounds of x at `tl.store(x + offsets, offsets)`\"]}\n\
         {\"case\":\"area/bad:n=7\",\"wrong\":[\"reference: undefined trapped out-of-bounds of x at `tl.store(x + offsets, offsets)`\"]}\n"
    );
    let printed = place
        .run_cerith(&["report", "baseline", "r/events.jsonl"])
        .assert_ends(0, &[], &[]);
    assert_eq!(printed.out, place.read(BASE));
}

#[test]
fn what_is_in_the_baseline_passes_and_what_is_new_fails() {
    let place = with_baseline();
    for baseline in [BASE, "r/events.jsonl"] {
        place
            .run(&["--baseline", baseline, "--out", "again"])
            .assert_ends(
                0,
                &["11 cases: ", "as expected, except 3 cases as in the baseline"],
                &[],
            );
    }
    let junit = place.read("again/junit.xml");
    assert!(
        junit.contains("failures=\"0\"") && junit.contains("as in the baseline: reference: undefined"),
        "{junit}"
    );
    let page = place.read("again/report.md");
    assert!(
        page.contains("## Not as expected, as in the baseline\n\n| case | what |"),
        "{page}"
    );
    assert!(
        page.contains("| `area/bad:n=3` | reference: undefined trapped out-of-bounds of x at "),
        "{page}"
    );
    place
        .run_cerith(&["report", "again/events.jsonl", "-v"])
        .assert_ends(
            0,
            &["area/bad:n=5  as in the baseline: reference: undefined"],
            &[],
        );
    let summary = place.read_events("again/events.jsonl").pop().expect("a summary");
    assert_eq!(
        (&summary["in_baseline"], &summary["unexpected"]),
        (&3.into(), &0.into())
    );
    // A new case.
    fix_sizes(&place, "[3, 5, 7, 9]");
    place.run(&["--baseline", BASE, "--out", "again"]).assert_ends(
        1,
        &["area/bad:n=9", "NOT as expected: 1 unexpected"],
        &[],
    );
    // A known case that is wrong in another way.
    place.write("cases/area/bad.yaml", place::BAD);
    let known = place.read(BASE).replacen("out-of-bounds", "race", 1);
    place.write(BASE, &known);
    place.run(&["--baseline", BASE, "--out", "again"]).assert_ends(
        1,
        &["area/bad:n=3", "NOT as expected: 1 unexpected"],
        &[],
    );
    // The report of the stream is as the run was.
    place.run_cerith(&["report", "again/events.jsonl"]).assert_ends(
        1,
        &["NOT as expected: 1 unexpected"],
        &[],
    );
}

#[test]
fn what_is_mended_is_told_and_can_be_pruned() {
    let place = with_baseline();
    let bad = place.read("cases/area/bad.yaml");
    place.write(
        "cases/area/bad.yaml",
        &bad.replace("shape: [\"{n}\"]", "shape: [\"{16 if n == 5 else n}\"]"),
    );
    place.run(&["--baseline", BASE, "--out", "again"]).assert_ends(
        0,
        &[
            "warning[mended]: 1 case of the baseline base.jsonl is fixed, at least in part: area/bad:n=5",
            "`cerith report baseline again/events.jsonl --prune base.jsonl -o base.jsonl`",
        ],
        &[],
    );
    place
        .run_cerith(&[
            "report",
            "baseline",
            "again/events.jsonl",
            "--prune",
            BASE,
            "-o",
            BASE,
        ])
        .assert_ends(0, &["base.jsonl: 2 cases"], &[]);
    assert!(!place.read(BASE).contains("n=5"));
    // Cases that were not run are not pruned.
    place
        .run(&["--baseline", BASE, "--out", "again", "area/good"])
        .assert_ends(0, &["8 cases"], &[]);
    place
        .run_cerith(&[
            "report",
            "baseline",
            "again/events.jsonl",
            "--prune",
            BASE,
            "-o",
            BASE,
        ])
        .assert_ends(0, &["base.jsonl: 2 cases"], &[]);
    // A case that is gone is reported.
    fix_sizes(&place, "[5, 7]");
    place.run(&["--baseline", BASE, "--out", "again"]).assert_ends(
        0,
        &["warning[baseline]: 1 case of the baseline base.jsonl is not in the corpus: area/bad:n=3"],
        &[],
    );
}

#[test]
fn a_damaged_baseline_is_an_error_that_loses_nothing() {
    let place = with_baseline();
    let (base, stream) = (place.read(BASE), place.read("r/events.jsonl"));
    let check = |text: &str, wanted: &str| {
        place.write("damaged", text);
        place.run(&["--baseline", "damaged", "--out", "r"]).assert_ends(
            2,
            &[],
            &["error: damaged: failed to read ", wanted, "= help: "],
        );
        assert_eq!(place.read("r/events.jsonl"), stream, "the run before");
        assert!(place.join("r/report.html").is_file());
        place
            .run_cerith(&[
                "report",
                "baseline",
                "r/events.jsonl",
                "--prune",
                "damaged",
                "-o",
                "damaged",
            ])
            .assert_ends(2, &[], &[wanted]);
        assert_eq!(place.read("damaged"), text);
    };
    check("", "it is empty");
    check(&base[..base.len() - 20], "read line 4 of the baseline");
    check(
        &base.replacen("\"cases\":3", "\"cases\":4", 1),
        "counts 4 cases, and 3 are there",
    );
    check(
        &base.replacen("{\"case\"", "{\"cXse\"", 1),
        "read line 2 of the baseline",
    );
    let lines: Vec<&str> = stream.lines().collect();
    check(
        &format!("{}\n", lines[..4].join("\n")),
        "the stream ends without its summary",
    );
    check(
        &stream.replacen("{\"event\":\"verdict\"", "{\"event\":\"vXrdict\"", 1),
        "read line 2 of the baseline",
    );
    check(
        &format!("{}\n{stream}", lines[..lines.len() - 1].join("\n")),
        "a run has no summary",
    );
    check(&lines[1..].join("\n"), "it begins neither a stream");
    place
        .run(&["--baseline", "nowhere", "--out", "r"])
        .assert_ends(2, &[], &["error: nowhere: "]);
    // The stream that the run would overwrite is rejected as its baseline.
    place
        .run(&["--baseline", "r/events.jsonl", "--out", "r"])
        .assert_ends(
            2,
            &[],
            &["is the stream that this run writes, so it would be overwritten"],
        );
    assert_eq!(place.read("r/events.jsonl"), stream);
}

#[test]
fn a_run_ends_when_enough_has_failed_and_says_what_was_not_run() {
    let place = Place::new_failing();
    for jobs in ["1", "4"] {
        place.run(&["--out", "r", "--max-failures", "2", "--jobs", jobs]).assert_ends(
            1,
            &[
                "warning[stopped]: the run ended with 2 cases that are not as expected: 9 of 11 cases were not run",
                "2 cases: ",
                "NOT as expected: 2 unexpected",
            ],
            &[],
        );
        for page in ["report.html", "report.md", "junit.xml"] {
            assert!(place.join("r").join(page).is_file(), "{page}");
        }
        assert!(place.read("r/report.md").contains("9 of 11 cases were not run"));
        let summary = place.read_events("r/events.jsonl").pop().expect("a summary");
        assert_eq!((&summary["not_run"], &summary["cases"]), (&9.into(), &2.into()));
    }
    place.run(&["--out", "r", "--fail-fast"]).assert_ends(
        1,
        &["the run ended with the first case that is not as expected: 10 of 11 cases were not run"],
        &[],
    );
    // With enough to spare all are run.
    place
        .run(&["--out", "r", "--max-failures", "4"])
        .assert_ends(1, &["11 cases: ", "3 unexpected"], &[]);
    place
        .run(&["--fail-fast", "--max-failures", "2"])
        .assert_ends(2, &[], &["cannot be used with"]);
    // A difference in the baseline is not a failure.
    place
        .run(&["--baseline", "r/events.jsonl", "--fail-fast", "--out", "s"])
        .assert_ends(0, &["11 cases: "], &[]);
}

#[test]
fn shards_that_ended_early_are_merged_with_what_they_did_not_run() {
    let place = Place::new_failing();
    for shard in ["1", "2", "3"] {
        let shard_of = format!("{shard}/3");
        place
            .run(&["--out", shard, "--shard", &shard_of, "--fail-fast"])
            .assert_ends(1, &["were not run"], &[]);
    }
    let streams = ["1/events.jsonl", "2/events.jsonl", "3/events.jsonl"];
    let merge = [&["report", "merge", "-o", "all.jsonl"], &streams[..]].concat();
    place
        .run_cerith(&merge)
        .assert_ends(1, &["3 cases: ", "NOT as expected: 3 unexpected"], &[]);
    let events = place.read_events("all.jsonl");
    assert_eq!(events.last().expect("a summary")["not_run"], 8);
    let told = events.iter().filter(|event| event["code"] == "stopped").count();
    assert_eq!(told, 3, "each says what it did not run");
    place
        .run_cerith(&["report", "all.jsonl"])
        .assert_ends(1, &["2 of 3 cases were not run"], &[]);
}

#[test]
fn the_last_failures_are_run_again_and_nothing_else() {
    let place = Place::new_failing();
    place.run(&["--last-failed", "--out", "r"]).assert_ends(
        2,
        &[],
        &["error: there is no run before this one in r"],
    );
    place.run(&["--out", "r"]).assert_ends(1, &["11 cases: "], &[]);
    place
        .run(&["--last-failed", "--out", "r"])
        .assert_ends(1, &["3 cases: ", "3 unexpected"], &[]);
    // Filters narrow it.
    place.run(&["--out", "r"]).assert_ends(1, &[], &[]);
    place
        .run(&["--last-failed", "--out", "r", "area/bad:n=7"])
        .assert_ends(1, &["1 case: "], &[]);
    // A fixed failure is not reported the next time.
    place.run(&["--out", "r"]).assert_ends(1, &[], &[]);
    let bad = place.read("cases/area/bad.yaml");
    let mended = bad.replace("shape: [\"{n}\"]", "shape: [\"{16 if n == 5 else n}\"]");
    place.write("cases/area/bad.yaml", &mended);
    place
        .run(&["--last-failed", "--out", "r"])
        .assert_ends(1, &["3 cases: ", "2 unexpected"], &[]);
    place
        .run(&["--last-failed", "--out", "r"])
        .assert_ends(1, &["2 cases: "], &[]);
    // Nothing failed: nothing is run, and the reports stay.
    place.run(&["--out", "r", "area/good"]).assert_ends(0, &[], &[]);
    let before = place.read("r/events.jsonl");
    place.run(&["--last-failed", "--out", "r"]).assert_ends(
        3,
        &[],
        &["nothing was run: every selected case was as expected in the run before"],
    );
    assert_eq!(place.read("r/events.jsonl"), before);
    // A folder of its own beside the corpus, as without `--out`.
    place.run(&[]).assert_ends(1, &["11 cases: "], &[]);
    place.run(&["--last-failed"]).assert_ends(1, &["2 cases: "], &[]);
}

#[test]
fn the_last_failures_of_a_run_that_did_not_end_are_honest() {
    let place = Place::new_failing();
    place
        .run(&["--out", "r", "--max-failures", "2"])
        .assert_ends(1, &[], &[]);
    place.run(&["--last-failed", "--out", "r"]).assert_ends(
        1,
        &[
            "warning[last-failed]: the run before ended early: 9 of its 11 cases were not judged, so it is not known",
            "2 cases: ",
        ],
        &[],
    );
    place.run(&["--out", "r"]).assert_ends(1, &[], &[]);
    let text = place.read("r/events.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    place.write("r/events.jsonl", &format!("{}\n", lines[..3].join("\n")));
    place.run(&["--last-failed", "--out", "r"]).assert_ends(
        1,
        &[
            "the run before was killed: 9 of its 11 cases were not judged",
            "2 cases: ",
        ],
        &[],
    );
    place.write("r/events.jsonl", &text.replacen("\"verdict\"", "\"vXrdict\"", 1));
    let damaged = place.read("r/events.jsonl");
    place.run(&["--last-failed", "--out", "r"]).assert_ends(
        2,
        &[],
        &["r/events.jsonl: failed to read line 2 of the stream"],
    );
    assert_eq!(place.read("r/events.jsonl"), damaged);
    // A run of the failures is not a shard of a run of all cases.
    place
        .run(&["--out", "1", "--shard", "1/2"])
        .assert_ends(1, &[], &[]);
    place
        .run(&["--out", "2", "--shard", "2/2"])
        .assert_ends(1, &[], &[]);
    place
        .run(&["--out", "2", "--shard", "2/2", "--last-failed"])
        .assert_ends(1, &["1 case: "], &[]);
    place
        .run_cerith(&[
            "report",
            "merge",
            "1/events.jsonl",
            "2/events.jsonl",
            "-o",
            "all.jsonl",
        ])
        .assert_ends(
            2,
            &[],
            &[
                "error[foreign-stream]: 2/events.jsonl",
                "last-failed true in place of false",
            ],
        );
}

#[test]
fn a_run_with_a_baseline_is_one_without_but_for_what_it_says_of_it() {
    let place = with_baseline();
    place
        .run(&["--baseline", BASE, "--out", "again"])
        .assert_ends(0, &[], &[]);
    let mut with = remove_times(place.read_events("again/events.jsonl"));
    let mut without = remove_times(place.read_events("r/events.jsonl"));
    for events in [&mut with, &mut without] {
        // The summary counts them elsewhere.
        events.pop();
        for event in events {
            let event = event.as_object_mut().expect("an object");
            event.remove("against");
            event.remove("baseline");
        }
    }
    assert_eq!(with, without);
}
