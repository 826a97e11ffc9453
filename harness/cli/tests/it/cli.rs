//! The `cerith` binary from a user's view: its output, its files, its exit codes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

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


@triton.jit
def past_the_end(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets + 1))
";

pub const GOOD: &str = "\
about: One is added.
kernel: k.py:add_one
matrix:
  dtype: [f32, i32]
storages:
  x: { dtype: \"{dtype}\", shape: [10], fill: arange }
launches:
  - grid: [1]
    args: { x: x, n: 10, BLOCK: 16 }
";

const UNDEFINED: &str = "\
about: A load past the end.
kernel: k.py:past_the_end
storages:
  x: { dtype: f32, shape: [16], fill: arange }
launches:
  - grid: [1]
    args: { x: x, BLOCK: 16 }
";

/// A folder with a corpus, and no toolchains.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let place = Self { folder };
        place.write("cases/area/k.py", KERNEL);
        for (path, text) in files {
            place.write(path, text);
        }
        place
    }

    pub fn join(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    pub fn build_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cerith"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("CERITH_HOME", self.join("home"))
            .env_remove("NO_COLOR")
            .env("CI", "1");
        command
    }

    pub fn run(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::from_output(&self.build_command(args).output().expect("cerith starts"))
    }

    pub fn stream(&self, path: &str) -> Vec<Value> {
        parse_lines(&fs::read_to_string(self.join(path)).expect("a stream"))
    }
}

fn parse_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

pub fn filter_events<'a>(stream: &'a [Value], name: &str) -> Vec<&'a Value> {
    stream.iter().filter(|event| event["event"] == name).collect()
}

pub const RUN_REFERENCE: [&str; 3] = ["run", "--engine", "reference"];

#[test]
fn a_good_corpus_ends_with_zero_and_leaves_reports() {
    let place = Place::new(&[("cases/area/good.yaml", GOOD)]);
    let done = place.run(&RUN_REFERENCE).assert_ends(
        0,
        &["2 cases through reference", "as expected", "reports: "],
        &[],
    );
    assert!(!done.out.contains('\u{1b}'), "colours in a pipe");
    let stream = place.stream("reports/run/events.jsonl");
    assert_eq!(
        stream.first().map(|event| &event["event"]),
        Some(&Value::from("start"))
    );
    let ids: Vec<_> = filter_events(&stream, "verdict")
        .iter()
        .map(|event| event["case"].clone())
        .collect();
    assert_eq!(ids, ["area/good:dtype=f32", "area/good:dtype=i32"]);
    let summary = stream.last().expect("a summary");
    assert_eq!(
        (&summary["event"], &summary["cases"], &summary["exit"]),
        (&"summary".into(), &2.into(), &0.into())
    );
    for name in ["report.html", "report.md", "junit.xml"] {
        assert!(place.join("reports/run").join(name).is_file(), "{name}");
    }
}

#[test]
fn the_stream_is_the_same_for_any_number_of_jobs() {
    let many = GOOD.replace("dtype: [f32, i32]", "dtype: [f32, i32]\n  n: \"range(200)\"");
    let many = many.replace(
        "n: \"range(200)\"",
        &format!("n: {:?}", (0..200).collect::<Vec<_>>()),
    );
    let place = Place::new(&[("cases/area/good.yaml", &many)]);
    let stream = |jobs: &str| {
        let done = place
            .run(&[
                "run",
                "--engine",
                "reference",
                "--format",
                "jsonl",
                "--jobs",
                jobs,
            ])
            .assert_ends(0, &[], &[]);
        let mut all = parse_lines(&done.out);
        for event in &mut all {
            event
                .as_object_mut()
                .expect("an object")
                .retain(|key, _| !["seconds", "judging", "engines", "seal"].contains(&key.as_str()));
        }
        all
    };
    let one = stream("1");
    assert_eq!(one.len(), 402);
    assert_eq!(one, stream("7"));
}

#[test]
fn undefined_behaviour_that_nobody_wrote_down_fails_and_a_stale_expectation_too() {
    let place = Place::new(&[("cases/area/undefined.yaml", UNDEFINED)]);
    place.run(&RUN_REFERENCE).assert_ends(
        1,
        &[
            "UNDEFINED area/undefined",
            "k.py:15",
            "NOT as expected: 1 unexpected",
        ],
        &[],
    );
    let expect = "expect:\n  - { engine: reference, verdict: undefined, why: it is the point }\n";
    place.write("cases/area/undefined.yaml", &format!("{UNDEFINED}{expect}"));
    place.run(&RUN_REFERENCE).assert_ends(0, &["1 undefined"], &[]);
    place.write("cases/area/good.yaml", &format!("{GOOD}{expect}"));
    place.run(&RUN_REFERENCE).assert_ends(
        1,
        &[
            "STALE area/good:dtype=f32",
            "no longer happens",
            "it is the point",
        ],
        &[],
    );
}

const RACE: &str = "\
about: Every program writes the same element.
kernel: k.py:meet
storages:
  x: { dtype: i32, shape: [4], fill: zeros }
launches:
  - grid: [4]
    args: { x: x }
";

#[test]
fn other_orders_of_programs_are_tried_where_the_checks_would_find_what_they_change() {
    let place = Place::new(&[("cases/area/good.yaml", &GOOD.replace("grid: [1]", "grid: [1, 3]"))]);
    // Three programs add one to the same elements: the reference calls it undefined, and has no other order to try.
    let schedules = ["run", "--engine", "reference", "--schedules", "3"];
    place
        .run(&schedules)
        .assert_ends(1, &["UNDEFINED area/good:dtype=f32", "schedules 3: "], &[]);
    place.write("cases/area/good.yaml", GOOD);
    place
        .run(&schedules)
        .assert_ends(0, &["2 cases through reference"], &[]);
    let stream = place.stream("reports/run/events.jsonl");
    assert_eq!(stream[0]["schedules"], 3);
    place
        .run(&[
            "run",
            "--engine",
            "reference",
            "--schedules",
            "3",
            "--checks",
            "fast",
        ])
        .assert_ends(2, &[], &["`--schedules` needs `--checks full`"]);
}

#[test]
fn fast_checks_do_not_see_races_and_say_so() {
    let place = Place::new(&[("cases/area/race.yaml", RACE)]);
    place.write(
        "cases/area/k.py",
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef meet(x):\n    tl.store(x, tl.program_id(0))\n",
    );
    place
        .run(&RUN_REFERENCE)
        .assert_ends(1, &["UNDEFINED area/race"], &[]);
    let done = place
        .run(&["run", "--engine", "reference", "--checks", "fast"])
        .assert_ends(
            0,
            &["checks fast: races, conflicting lanes and false promises are not looked for"],
            &[],
        );
    assert!(!done.out.contains("UNDEFINED"), "{}", done.out);
    assert_eq!(place.stream("reports/run/events.jsonl")[0]["checks"], "fast");
}

#[test]
fn masked_lanes_may_be_read_as_zero_and_what_is_left_out_is_said() {
    const TAIL: &str = "about: a\nkernel: k.py:tail\nstorages: { x: { dtype: f32, shape: [8], fill: arange }, out: { dtype: f32, \
                        shape: [8], fill: uninit } }\nlaunches: [{ grid: 1, args: { x: x, out: out } }]\n";
    let place = Place::new(&[("cases/area/tail.yaml", TAIL)]);
    place.write(
        "cases/area/k.py",
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef tail(x, out):\n    i = tl.arange(0, 8)\n    \
         tl.store(out + i, tl.load(x + i, mask=i < 5))\n",
    );
    let line = "left out of `out`: 12 of 32 bytes, which have no defined value";
    let explain = ["explain", "area/tail", "--engine", "reference", "--offline"];
    place.run(&explain).assert_ends(0, &[line], &[]);
    place.run(&RUN_REFERENCE);
    assert_eq!(
        place.stream("reports/run/events.jsonl")[1]["left_out"][0]["bytes"],
        12
    );
    let zero = ["run", "--engine", "reference", "--masked", "zero"];
    place
        .run(&zero)
        .assert_ends(0, &["masked zero: lanes that a load masks off"], &[]);
    let stream = place.stream("reports/run/events.jsonl");
    assert_eq!(stream[0]["masked"], "zero");
    assert!(stream[1].get("left_out").is_none(), "{stream:?}");
}

#[test]
fn all_problems_are_shown_and_good_cases_still_run() {
    let place = Place::new(&[
        ("cases/area/good.yaml", GOOD),
        ("cases/area/bad_key.yaml", &GOOD.replace("storages:", "storage:")),
        ("cases/area/bad_dtype.yaml", &GOOD.replace("[f32, i32]", "[f23]")),
        (
            "cases/area/bad_kernel.yaml",
            &GOOD.replace("k.py:add_one", "k.py:add_two"),
        ),
        (
            "cases/area/bad_view.yaml",
            &GOOD.replace("args: { x: x,", "args: { x: \"x[11]\","),
        ),
    ]);
    let done = place.run(&RUN_REFERENCE).assert_ends(
        2,
        &[
            "bad_key.yaml:5:1",
            "bad_dtype.yaml",
            "f23",
            "bad_kernel.yaml:2",
            "add_two",
            "bad_view.yaml:9",
            "2 cases: ",
        ],
        &[],
    );
    assert!(done.out.contains("in the input"), "{}", done.out);
    let stream = place.stream("reports/run/events.jsonl");
    assert!(filter_events(&stream, "problem").len() >= 4);
    assert_eq!(filter_events(&stream, "verdict").len(), 2);
}

#[test]
fn a_run_of_nothing_says_so() {
    let place = Place::new(&[("cases/area/good.yaml", GOOD)]);
    place.run(&["run", "aera", "--engine", "reference"]).assert_ends(
        2,
        &["error[filter]: no case matches `aera`", "did you mean `area`?"],
        &[],
    );
    place
        .run(&["list", "aera"])
        .assert_ends(2, &[], &["no case matches `aera`"]);
    place
        .run(&["run", "--engine", "reference", "--shard", "3/3"])
        .assert_ends(3, &["nothing was run"], &[]);
    place
        .run(&["run", "--engine", "reference", "a["])
        .assert_ends(2, &[], &["is not a pattern"]);
}

#[test]
fn the_corpus_is_found_from_below() {
    let place = Place::new(&[("cases/area/good.yaml", GOOD)]);
    let done = CommandOutput::from_output(
        &place
            .build_command(&["list"])
            .current_dir(place.join("cases/area"))
            .output()
            .expect("starts"),
    );
    done.assert_ends(0, &["area/good:dtype=f32\n", "# One is added."], &["2 cases"]);
}

#[test]
fn a_case_is_explained() {
    let place = Place::new(&[
        ("cases/area/good.yaml", GOOD),
        ("cases/area/undefined.yaml", UNDEFINED),
    ]);
    place
        .run(&["explain", "area/good:dtype=f32", "--engine", "reference"])
        .assert_ends(
            0,
            &[
                "storage x",
                "40 bytes, f32 [10]",
                "##########",
                "add_one[1](x=x, n=10, BLOCK=16)",
                "finished",
            ],
            &[],
        );
    let good = ["explain", "area/good:dtype=f32", "--engine", "reference"];
    place.run(&[&good[..], &["--ir"]].concat()).assert_ends(
        0,
        &["IR of launch 1, by the rules of Triton", "func @add_one"],
        &[],
    );
    place.run(&[&good[..], &["--html"]].concat()).assert_ends(
        0,
        &[
            "<!doctype html>",
            "<h2>area&#x2f;good:dtype=f32</h2>",
            "<code>add_one[1](x=x, n=10, BLOCK=16)</code>",
            "func @add_one",
        ],
        &[],
    );
    place
        .run(&["explain", "area/undefined", "--engine", "reference"])
        .assert_ends(0, &["error[out-of-bounds]", "undefined"], &[]);
    place
        .run(&["explain", "area/god", "--engine", "reference"])
        .assert_ends(2, &[], &["no case matches"]);
}

#[test]
fn a_stored_stream_is_printed_again() {
    let place = Place::new(&[
        ("cases/area/good.yaml", GOOD),
        ("cases/area/undefined.yaml", UNDEFINED),
    ]);
    let run = place.run(&RUN_REFERENCE).assert_ends(1, &[], &[]);
    let stored = "reports/run/events.jsonl";
    let again = place
        .run(&["report", stored])
        .assert_ends(1, &["UNDEFINED area/undefined"], &[]);
    assert!(run.out.starts_with(&again.out), "{}\n---\n{}", run.out, again.out);
    place.run(&["report", stored, "--format", "html"]).assert_ends(
        1,
        &["<!doctype html>", "not as expected"],
        &[],
    );
    place.run(&["report", stored, "--format", "junit"]).assert_ends(
        1,
        &["<testsuites", "failures=\"1\""],
        &[],
    );
    place.run(&["report", stored, "--format", "github"]).assert_ends(
        1,
        &["::error file=", "title=area/undefined::"],
        &[],
    );
    place.run(&["report", stored, "--format", "sarif"]).assert_ends(
        1,
        &["\"version\": \"2.1.0\"", "\"verdict/undefined\""],
        &[],
    );
    place
        .run(&["report", stored, "--format", "markdown"])
        .assert_ends(1, &["# Cerith: not as expected"], &[]);
    place
        .run(&["report", stored, stored])
        .assert_ends(1, &["6 cases: ", "2 unexpected"], &[]);
    place
        .run(&["report", "nowhere.jsonl"])
        .assert_ends(2, &[], &["nowhere.jsonl"]);
    let text = fs::read_to_string(place.join(stored)).expect("a stream");
    place.write("cut.jsonl", &text[..text.len() - 30]);
    place.run(&["report", "cut.jsonl"]).assert_ends(
        2,
        &["UNDEFINED", "middle of a line", "without its summary"],
        &[],
    );
    place.write("bad.jsonl", "{}\n");
    place
        .run(&["report", "bad.jsonl"])
        .assert_ends(2, &[], &["line 1"]);
}

/// Workers read the corpus: all of a home would be theirs.
#[cfg(target_os = "linux")]
#[test]
fn a_corpus_that_is_or_holds_the_home_is_refused() {
    let place = Place::new(&[("cases/area/good.yaml", GOOD)]);
    let wanted = [
        "run",
        "--cases",
        "cases",
        "--offline",
        "--engine",
        "interpret@3.9.0",
    ];
    for home in ["cases", "cases/area"] {
        let mut command = place.build_command(&wanted);
        command.env("HOME", place.join(home));
        CommandOutput::from_output(&command.output().expect("starts")).assert_ends(
            2,
            &[
                "which is your home or holds it",
                "put the cases into a folder of their own",
            ],
            &[],
        );
        // A folder that the user names explicitly is accepted.
        command.env("CERITH_ALLOW_READ", place.join("cases"));
        let done = CommandOutput::from_output(&command.output().expect("starts"));
        assert!(!done.out.contains("your home"), "{}", done.out);
    }
}

#[test]
fn help_teaches_with_examples() {
    let place = Place::new(&[]);
    for (args, parts) in [
        (
            &["--help"][..],
            &["Examples:", "Exit codes:", "cerith toolchain add"][..],
        ),
        (
            &["run", "--help"],
            &["Examples:", "--shard", "interpret@3.0.0+numpy2"],
        ),
        (&["list", "--help"], &["Examples:"]),
        (&["explain", "--help"], &["Examples:"]),
        (&["report", "--help"], &["Examples:", "junit"]),
        (&["toolchain", "add", "--help"], &["Examples:", "CERITH_HOME"]),
        (
            &["toolchain", "adopt", "--help"],
            &["Examples:", "3.6.0+numpy2.3.5"],
        ),
        (&["compare", "--help"], &["Examples:", "Exit codes:", "jit@3.6.0"]),
    ] {
        place.run(args).assert_ends(0, parts, &[]);
    }
    place
        .run(&["toolchain", "list"])
        .assert_ends(0, &["nothing is installed", "cerith toolchain add"], &[]);
    place
        .run(&["toolchain", "remove", "3.9.0"])
        .assert_ends(2, &[], &["not installed"]);
    place.run(&["toolchain", "adopt", "no-such-python"]).assert_ends(
        2,
        &[],
        &["start no-such-python", "name a Python by its path"],
    );
    place.run(&["run", "--engine", "jit"]).assert_ends(
        2,
        &[],
        &["no toolchain here holds torch", "cerith toolchain adopt"],
    );
    let good = Place::new(&[("cases/area/good.yaml", GOOD)]);
    good.run(&["run", "--engine", "interpret@3.6.0+torch"])
        .assert_ends(2, &["no toolchain holds torch beside Triton 3.6.0"], &[]);
    place
        .run(&["toolchain", "add", "latest"])
        .assert_ends(2, &[], &["latest"]);
}

#[test]
fn a_kernel_gets_its_first_case_file_and_no_file_is_lost() {
    let place = Place::new(&[]);
    let import = |args: &[&str], code: i32, err: &str| {
        place
            .run(&[&["import"], args].concat())
            .assert_ends(code, &[], &[err]);
    };
    import(&["cases/area/k.py:add_one"], 0, "the reference finishes");
    place
        .run(&["run", "area/add_one", "--engine", "reference"])
        .assert_ends(0, &[" cases: "], &[]);
    import(&["cases/area/k.py:add_one"], 2, "already exists");
    import(
        &["cases/area/k.py:past_the_end", "-o", "cases/wild.yaml"],
        0,
        "just past the end of storage `x`",
    );
    import(&["cases/area/k.py:ad_one"], 2, "did you mean `add_one`?");
    import(&["cases/area/k.py"], 2, "name one: `cases/area/k.py:add_one`");
    import(&["cases/none.py:k"], 2, "failed to read cases/none.py");
    import(
        &["cases/area/k.py:add_one", "-o", "elsewhere/x.yaml"],
        2,
        "nor below it",
    );
    import(
        &["cases/area/k.py:add_one", "-o", "cases/x.txt"],
        2,
        "it ends in `.yaml`",
    );
}

/// Characters in a case file that move a cursor or change the text direction are printed escaped.
#[test]
fn no_word_of_a_case_file_reaches_a_reader_raw() {
    let place = Place::new(&[]);
    let hostile = "\\e[2J\\e]0;x\\a\\u202E\\x9B\\r";
    place.write(
        "cases/area/k.py",
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, S: tl.constexpr):\n    tl.static_assert(False, S)\n",
    );
    place.write(
        "cases/area/hostile.yaml",
        &format!(
            "about: \"About {hostile} it.\"\nkernel: k.py:k\nmatrix:\n  word: [\"{hostile}\"]\nstorages:\n  x: {{ dtype: f32, shape: [4], fill: arange }}\n\
             launches:\n  - grid: [1]\n    args: {{ x: x, S: \"{{word}}\" }}\nexpect:\n  - {{ engine: cuda, verdict: differ, why: \"It {hostile} does.\" }}\n"
        ),
    );
    place.write(
        "cases/area/wrong.yaml",
        &format!("about: \"About {hostile} it.\"\nkernel: \"{hostile}.py:k\"\n\"{hostile}\": 1\n"),
    );
    let check = |name: &str, text: &str| {
        let raw = |c: &char| c.is_control() && !"\n\t".contains(*c) || *c == '\u{202e}';
        assert_eq!(text.chars().find(raw), None, "{name}: {text:?}");
    };
    let runs: [&[&str]; 8] = [
        &["run", "--engine", "reference"],
        &["run", "--engine", "reference", "--format", "jsonl"],
        &["list"],
        &["explain", "area/hostile*", "--offline"],
        &["coverage"],
        &["coverage", "--format", "json"],
        &["expect", "--dry-run"],
        &["report", "reports/run/events.jsonl"],
    ];
    let mut shown = String::new();
    for args in runs {
        let done = place.run(args);
        check(&format!("{args:?}, out"), &done.out);
        check(&format!("{args:?}, err"), &done.err);
        shown += &(done.out + &done.err);
    }
    assert!(shown.contains("202e"), "{shown}");
    for name in ["report.md", "junit.xml"] {
        let text = fs::read_to_string(place.join(&format!("reports/run/{name}"))).expect("a report");
        check(name, &text);
    }
}
