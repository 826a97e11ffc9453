//! `cerith report merge`: shards become the run that they are of, and no stream that is anything else is merged without a word.

use crate::command_output::CommandOutput;
use crate::place::{self, Place, parse_events, remove_times};

const SHARDS: [&str; 3] = ["1/events.jsonl", "2/events.jsonl", "3/events.jsonl"];

/// A place with three shards of a run.
fn run_shards() -> Place {
    let place = Place::new();
    for shard in ["1", "2", "3"] {
        place
            .run(&["--shard", &format!("{shard}/3"), "--out", shard])
            .assert_ends(0, &["as expected"], &[]);
    }
    place
}

fn merge(place: &Place, streams: &[&str]) -> CommandOutput {
    place.run_cerith(&[&["report", "merge", "-o", "all.jsonl"], streams].concat())
}

/// The number of verdicts in the merged stream.
fn count_verdicts(place: &Place) -> usize {
    let events = place.read_events("all.jsonl");
    events.iter().filter(|event| event["event"] == "verdict").count()
}

#[test]
fn shards_make_the_run_that_they_are_of() {
    let place = Place::new_failing();
    place
        .run(&["--out", "whole"])
        .assert_ends(1, &["NOT as expected"], &[]);
    for shard in ["1", "2", "3"] {
        place.run(&["--shard", &format!("{shard}/3"), "--out", shard]);
    }
    let whole = remove_times(place.read_events("whole/events.jsonl"));
    // In whatever order they are given.
    merge(&place, &[SHARDS[2], SHARDS[0], SHARDS[1]]).assert_ends(
        1,
        &["11 cases: ", "NOT as expected", "stream: all.jsonl"],
        &[],
    );
    assert_eq!(remove_times(place.read_events("all.jsonl")), whole);
    // On standard output, and into a folder with its reports.
    let printed = place
        .run_cerith(&[&["report", "merge"], &SHARDS[..]].concat())
        .assert_ends(1, &[], &[]);
    assert_eq!(remove_times(parse_events(&printed.out)), whole);
    place
        .run_cerith(&[&["report", "merge", "--out", "all"], &SHARDS[..]].concat())
        .assert_ends(1, &["area/bad:n=3", "11 cases: ", "reports: all"], &[]);
    assert_eq!(remove_times(place.read_events("all/events.jsonl")), whole);
    for page in ["report.html", "report.md", "junit.xml"] {
        assert!(place.join("all").join(page).is_file(), "{page}");
    }
    // A run without shards is its own only one.
    merge(&place, &["whole/events.jsonl"]).assert_ends(1, &["11 cases: "], &[]);
    assert_eq!(remove_times(place.read_events("all.jsonl")), whole);
}

#[test]
fn missing_shards_are_said_with_what_runs_them() {
    let place = run_shards();
    merge(&place, &[SHARDS[0], SHARDS[2]]).assert_ends(
        2,
        &["NOT as expected: 1 error"],
        &[
            "error[shards]: shard 2/3 is missing: its cases are not judged",
            "`cerith run --engine reference --shard 2/3 --out DIR`",
        ],
    );
    assert_eq!(count_verdicts(&place), 5, "what there is stays");
    // The merged stream says it too.
    place
        .run_cerith(&["report", "all.jsonl"])
        .assert_ends(2, &["shard 2/3 is missing"], &[]);
    merge(&place, &[SHARDS[1]]).assert_ends(2, &[], &["shards 1/3, 3/3 are missing"]);
    merge(&place, &[SHARDS[0], SHARDS[1], "nowhere.jsonl"]).assert_ends(
        2,
        &[],
        &[
            "error[unreadable-stream]: nowhere.jsonl cannot be read",
            "shard 3/3 is missing",
        ],
    );
}

#[test]
fn a_shard_that_is_there_twice_counts_once() {
    let place = run_shards();
    place.run(&["--shard", "2/3", "--out", "again"]);
    merge(&place, &[SHARDS[0], SHARDS[1], SHARDS[2], "again/events.jsonl"]).assert_ends(
        2,
        &["8 cases: "],
        &[
            "error[shards]: shard 2/3 is given twice: 2/events.jsonl is used, and again/events.jsonl is left out",
            "--> again/events.jsonl:1",
        ],
    );
    assert_eq!(count_verdicts(&place), 8);
}

#[test]
fn streams_of_another_run_are_left_out_and_said() {
    let check = |args: &[&str], change: &dyn Fn(&Place), wanted: &str| {
        let place = run_shards();
        change(&place);
        place.run(&[&["--shard", "2/3", "--out", "other"], args].concat());
        merge(&place, &[SHARDS[0], "other/events.jsonl", SHARDS[2]]).assert_ends(
            2,
            &[],
            &[
                "error[foreign-stream]: other/events.jsonl belongs to a different run than 1/events.jsonl, and is left out: ",
                wanted,
                "--> other/events.jsonl:1",
                "shard 2/3 is missing",
            ],
        );
        assert_eq!(count_verdicts(&place), 5, "{wanted}");
    };
    let nothing = |_: &Place| {};
    check(&["--checks", "fast"], &nothing, "checks fast in place of full");
    check(
        &["--masked", "zero"],
        &nothing,
        "masked zero in place of undefined",
    );
    check(&["--schedules", "1"], &nothing, "schedules 1 in place of 0");
    check(&["--allow-unavailable"], &nothing, "allow-unavailable true");
    check(
        &["area/good:dtype=f*"],
        &nothing,
        "filters `area/good:dtype=f*` in place of none",
    );
    // The same cases with a kernel that was edited between the runs.
    let edited = |place: &Place| {
        let kernel = place.read("cases/area/k.py");
        place.write("cases/area/k.py", &kernel.replace("+ 1", "+ 2"));
    };
    check(&[], &edited, "a corpus of hash ");
    let more = |place: &Place| place.write("cases/area/bad.yaml", place::BAD);
    check(&[], &more, "a corpus of hash ");
    let renamed = |place: &Place| place.write("cases/area/new.py", "");
    check(&[], &renamed, "a corpus of hash ");
}

#[test]
fn streams_of_another_cerith_format_or_engine_are_left_out() {
    let check = |from: &str, to: &str, wanted: &str| {
        let place = run_shards();
        let text = place.read(SHARDS[1]);
        assert!(text.contains(from), "{text}");
        place.write(SHARDS[1], &text.replacen(from, to, 1));
        merge(&place, &SHARDS).assert_ends(
            2,
            &[],
            &["error[foreign-stream]", wanted, "--> 2/events.jsonl:1"],
        );
        assert_eq!(count_verdicts(&place), 5, "{wanted}");
    };
    check(
        "\"cerith\":\"0.1.0\"",
        "\"cerith\":\"0.0.9\"",
        "cerith 0.0.9 in place of 0.1.0",
    );
    check("\"format\":5", "\"format\":2", "format 2 in place of 5");
    check(
        "\"format\":5",
        "\"format\":99",
        "has format 99, and this cerith knows",
    );
    check(
        "[\"reference\"]",
        "[\"cuda@3.9.0\"]",
        "engines cuda@3.9.0 in place of reference",
    );
}

#[test]
fn damaged_and_truncated_streams_keep_what_is_sound() {
    let check = |damage: &dyn Fn(&str) -> String, left: usize, wanted: &[&str]| {
        let place = run_shards();
        place.write(SHARDS[1], &damage(&place.read(SHARDS[1])));
        let all = [
            wanted,
            &["run it again (`cerith run --engine reference --shard 2/3 --out DIR`)"],
        ]
        .concat();
        merge(&place, &SHARDS).assert_ends(2, &["NOT as expected"], &all);
        assert_eq!(count_verdicts(&place), left, "{wanted:?}");
        place
            .run_cerith(&["report", "all.jsonl"])
            .assert_ends(2, &["NOT as expected"], &[]);
    };
    // A start, three verdicts and a summary.
    let lines = |text: &str, keep: &[usize]| {
        let all: Vec<&str> = text.lines().collect();
        let kept: Vec<&str> = keep.iter().map(|&at| all[at]).collect();
        format!("{}\n", kept.join("\n"))
    };
    check(
        &|text| lines(text, &[0, 1, 2]),
        7,
        &[
            "error[cut-stream]: 2/events.jsonl ends without its summary",
            "with 2 of 3 cases judged",
            "--> 2/events.jsonl:3",
        ],
    );
    check(
        &|text| text[..text.len() - 20].to_owned(),
        8,
        &[
            "error[cut-stream]: 2/events.jsonl ends in the middle of a line, without its summary: 3 of 3",
            "--> 2/events.jsonl:5",
        ],
    );
    check(
        &|text| lines(text, &[0, 1, 3, 4]),
        7,
        &[
            "error[damaged-stream]: 2/events.jsonl is not whole: its summary counts 3 cases, and 2 in its lines",
        ],
    );
    check(
        &|text| text.replacen("{\"event\":\"verdict\"", "{\"evXnt\":\"verdict\"", 1),
        7,
        &[
            "error[damaged-stream]: line 2 of 2/events.jsonl is not an event, and is skipped",
            "--> 2/events.jsonl:2",
        ],
    );
    check(
        &|text| {
            text.replacen(
                "\"engines\":[\"reference\"],\"verdict\"",
                "\"engines\":[\"refer\u{0}",
                1,
            )
        },
        7,
        &["line 2 of 2/events.jsonl is not an event"],
    );
    check(
        &|text| format!("{text}{text}"),
        8,
        &[
            "has a second run in it, which is left out",
            "--> 2/events.jsonl:6",
        ],
    );
    check(
        &|text| format!("{text}{}", lines(text, &[1])),
        8,
        &["goes on after its summary; that part is left out"],
    );
    // One that was interrupted makes one that was.
    let place = run_shards();
    let text = place.read(SHARDS[1]);
    place.write(
        SHARDS[1],
        &text.replacen(
            "\"cases\":3,\"agree\"",
            "\"interrupted\":true,\"cases\":3,\"agree\"",
            1,
        ),
    );
    merge(&place, &SHARDS).assert_ends(
        130,
        &["PARTIAL interrupted"],
        &["is of a run that was interrupted: 3 of 3 cases were judged"],
    );
}

#[test]
fn a_stream_without_a_beginning_is_left_out() {
    let check = |text: &dyn Fn(&str) -> String, wanted: &str| {
        let place = run_shards();
        place.write(SHARDS[1], &text(&place.read(SHARDS[1])));
        merge(&place, &SHARDS).assert_ends(2, &[], &[wanted, "its run is not known", "shard 2/3 is missing"]);
        assert_eq!(count_verdicts(&place), 5, "{wanted}");
    };
    check(
        &|_| String::new(),
        "error[cut-stream]: 2/events.jsonl holds no run",
    );
    check(
        &|text| text[..20].to_owned(),
        "ends in the middle of its first line",
    );
    check(
        &|text| text[1..].to_owned(),
        "begins with a line that is not an event",
    );
    check(
        &|text| text.split_once('\n').expect("lines").1.to_owned(),
        "error[damaged-stream]: 2/events.jsonl has no beginning",
    );
    let place = run_shards();
    place.write("a", "");
    place
        .run_cerith(&["report", "merge", "a", "-o", "all.jsonl"])
        .assert_ends(2, &[], &["a holds no run", "there is nothing to merge"]);
    assert!(!place.join("all.jsonl").exists());
}

#[test]
fn cases_that_two_shards_have_count_once() {
    let place = run_shards();
    // Relabel the first shard as shard 2.
    let text = place
        .read(SHARDS[0])
        .replace("\"shard\":\"1/3\"", "\"shard\":\"2/3\"");
    place.write(SHARDS[1], &text);
    merge(&place, &SHARDS).assert_ends(
        2,
        &[],
        &[
            "error[overlap]: 3 cases are in more than one shard, and used from the first only: area/good:",
            "--> 2/events.jsonl:2",
        ],
    );
    assert_eq!(count_verdicts(&place), 5);
}

#[test]
fn older_streams_are_merged_with_a_warning() {
    let place = run_shards();
    for shard in SHARDS {
        let mut start = place.read_events(shard).remove(0);
        let fields = start.as_object_mut().expect("an object");
        assert!(fields.remove("corpus_hash").is_some() && fields.remove("total").is_some());
        let text = place.read(shard);
        let rest = text.split_once('\n').expect("lines").1;
        place.write(shard, &place::reseal_stream(&format!("{start}\n{rest}")));
    }
    merge(&place, &SHARDS).assert_ends(
        0,
        &["8 cases: ", "as expected"],
        &["warning[older-stream]: 1/events.jsonl does not name its corpus"],
    );
    assert_eq!(place.read_events("all.jsonl")[0]["cases"], 8);
}

#[test]
fn no_stream_is_written_over() {
    let place = run_shards();
    let before = place.read(SHARDS[0]);
    let wanted = "error: 1/events.jsonl is one of the streams, and would be overwritten";
    for into in [["-o", SHARDS[0]], ["--out", "1"]] {
        place
            .run_cerith(&[&["report", "merge"], &SHARDS[..], &into].concat())
            .assert_ends(2, &[], &[wanted]);
        assert_eq!(place.read(SHARDS[0]), before);
    }
}

#[test]
fn words_of_a_stream_do_not_reach_the_terminal_as_they_are() {
    let place = run_shards();
    let text = place.read(SHARDS[1]);
    place.write(
        SHARDS[1],
        &text.replacen("[\"reference\"]", "[\"\\u001b[2J\\u202e\"]", 1),
    );
    let done = merge(&place, &SHARDS).assert_ends(2, &[], &["error[foreign-stream]"]);
    assert!(
        !done.err.contains('\u{1b}') && !done.err.contains('\u{202e}'),
        "{:?}",
        done.err
    );
}
