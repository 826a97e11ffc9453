//! Tests that `cerith run` cannot pass without a real comparison: its output, and its exit code.

use std::fs;
use std::path::Path;
use std::process::Command;

use cerith_case::Corpus;
use tempfile::TempDir;

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def one(x):
    tl.store(x, 1)


@triton.jit
def refused(x):
    tl.store(x, nothing)


@triton.jit
def gathered(x):
    i = tl.arange(0, 8)
    tl.store(x + i, tl.gather(tl.load(x + i), i, axis=0))


@triton.jit
def asserted(x):
    tl.device_assert(tl.load(x) == 1, \"a one\")
    tl.store(x, 1)
";

/// A GPU's record of launches that wrote a one to the first byte.
const FINISHED: &str = "\"outcome\":\"finished\",\"times\":3,\"changed\":[[\"x\",0,\"01\"]]";

/// A record of a kernel that the compiler rejected.
const REFUSED: &str =
    "\"outcome\":\"rejected\",\"kind\":\"NameError\",\"message\":\"nothing is not defined\",\"line\":12";

/// A folder with a corpus, and no toolchains.
struct Place(TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self(TempDir::new().expect("a folder"));
        place.write("cases/area/k.py", KERNEL);
        for (path, text) in files {
            place.write(path, text);
        }
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    /// Records outcomes of these cases: a one in the first byte. `stale` cases get records of another kernel.
    fn record(&self, ids: &[&str], stale: &[&str]) {
        self.record_as(ids, stale, FINISHED);
    }

    fn record_as(&self, ids: &[&str], stale: &[&str], outcome: &str) {
        let corpus = Corpus::read(&self.path().join("cases")).expect("a corpus");
        for entry in corpus.entries().filter(|entry| ids.contains(&&*entry.id)) {
            let case = entry.resolve().expect("a case");
            let source = if stale.contains(&&*case.id) {
                "0123456789abcdef".to_owned()
            } else {
                shorten_hash(case.source_hash())
            };
            let book = case.id.split(':').next().unwrap_or_default();
            self.write(
                &format!("snapshots/cuda/sm_90/{book}.snap"),
                &format!(
                    "---\nsource: cerith accept\nexpression: cuda sm_90\n---\n\
                     {{\"by\":{{\"gpu\":\"NVIDIA H200\",\"driver\":\"580\",\"date\":\"2026-11-20\",\
                     \"cerith\":\"0.1.0\"}}}}\n{{\"agreed\":true}}\n\
                     {{\"case\":\"{}\",\"source\":\"{source}\",\"layout\":\"{}\",\"of\":[[\"3.9.0\",\"00\",0]],\
                     {outcome}}}\n",
                    case.id,
                    shorten_hash(case.layout_hash()),
                ),
            );
        }
    }

    /// Runs `cerith run` with these arguments, without a GPU, and checks the exit code and the output.
    #[track_caller]
    fn assert_run(&self, args: &[&str], code: i32, parts: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
            .arg("run")
            .args(args)
            .current_dir(self.path())
            .env("CERITH_HOME", self.path().join("home"))
            .env("CUDA_VISIBLE_DEVICES", "")
            .env("NO_COLOR", "1")
            .env("CI", "1")
            .output()
            .expect("cerith starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let shown = format!("{text}\n--- err\n{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{shown}");
        for part in parts {
            assert!(text.contains(part), "no {part:?} in\n{shown}");
        }
        text
    }
}

/// As much of a hash as a record keeps.
fn shorten_hash(hash: impl std::fmt::Display) -> String {
    hash.to_string().chars().take(16).collect()
}

/// How `.ci/strict` ends on the run that was last.
fn clean(place: &Place) -> (Option<i32>, String) {
    let output = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/strict"))
        .arg(place.path().join("reports/run/events.jsonl"))
        .output()
        .expect("python3 starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

/// A case of the kernel `one`, with more lines after it.
fn build_case(more: &str) -> String {
    case_of("one", more)
}

/// A case of a kernel, with more lines after it.
fn case_of(kernel: &str, more: &str) -> String {
    format!(
        "about: A one is written.\nkernel: k.py:{kernel}\nstorages: {{ x: {{ dtype: u8, shape: [8], fill: zeros }} }}\n\
         launches: [{{ grid: [1], args: {{ x: x }} }}]\n{more}"
    )
}

const CUDA: [&str; 4] = ["--engine", "reference", "--engine", "cuda@3.9.0"];

#[test]
fn a_named_engine_that_says_nothing_fails_the_run() {
    let good = build_case("");
    let place = Place::new(&[("cases/area/a.yaml", &good), ("cases/area/b.yaml", &good)]);
    place.record(&["area/a"], &[]);
    place.assert_run(
        &CUDA,
        1,
        &[
            "SILENT area/b  cuda@3.9.0 has no outcome",
            "no recorded outcome of cuda@3.9.0 for `area/b`",
            "silent: cuda@3.9.0 has no outcome for 1 case (1 no-recording)",
            "`--allow-unavailable` lets it pass",
            "NOT as expected: 1 with an engine without an outcome",
        ],
    );
    let junit = fs::read_to_string(place.path().join("reports/run/junit.xml")).expect("a report");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    let allowed = [&CUDA[..], &["--allow-unavailable"]].concat();
    place.assert_run(&allowed, 0, &["1 agree, 1 inconclusive", "as expected"]);
    // The engine was not named, but it has a record of one of the cases, and that case is compared.
    place.assert_run(&["--offline"], 0, &["1 agree, 1 inconclusive"]);
}

#[test]
fn many_silences_are_counted_and_five_are_shown() {
    let many = build_case("matrix: { n: [0, 1, 2, 3, 4, 5, 6, 7, 8] }\n");
    let place = Place::new(&[("cases/area/a.yaml", &many)]);
    let text = place.assert_run(
        &CUDA,
        1,
        &["cuda@3.9.0 has no outcome for 9 cases (9 no-recording)"],
    );
    assert_eq!(text.matches("SILENT").count(), 5, "{text}");
    let verbose = [&CUDA[..], &["-v"]].concat();
    let text = place.assert_run(&verbose, 1, &[]);
    assert_eq!(text.matches("SILENT").count(), 9, "{text}");
}

#[test]
fn a_stale_record_fails_the_run_whoever_asked() {
    let good = build_case("");
    let place = Place::new(&[("cases/area/a.yaml", &good), ("cases/area/b.yaml", &good)]);
    place.record(&["area/a", "area/b"], &["area/b"]);
    for args in [&CUDA[..], &["--offline"]] {
        place.assert_run(
            args,
            1,
            &[
                "SILENT area/b",
                "stale-recording",
                "stale: 1 recorded outcome not used",
                "NOT as expected: 1 with an engine without an outcome",
            ],
        );
    }
    place.assert_run(
        &["--offline", "--allow-unavailable"],
        0,
        &["stale: 1 recorded outcome not used"],
    );
    place.record(&["area/a", "area/b"], &[]);
    place.assert_run(&["--offline"], 0, &["2 agree"]);
}

#[test]
fn a_case_may_foresee_that_an_engine_says_nothing() {
    let foreseen =
        build_case("expect: [{ engine: cuda, outcome: unavailable, why: no GPU of the lab takes it }]\n");
    let good = build_case("");
    let place = Place::new(&[("cases/area/a.yaml", &good), ("cases/area/b.yaml", &foreseen)]);
    place.record(&["area/a"], &[]);
    place.assert_run(&CUDA, 0, &["1 agree, 1 inconclusive", "as expected"]);
    // Now it has an outcome, so the expectation is stale.
    place.record(&["area/a", "area/b"], &[]);
    place.assert_run(&CUDA, 1, &["STALE area/b"]);
}

#[test]
fn an_engine_that_cannot_be_set_up_may_be_allowed() {
    let good = build_case("");
    let place = Place::new(&[("cases/area/a.yaml", &good)]);
    place.record(&["area/a"], &[]);
    let args = [&CUDA[..], &["--engine", "interpret@3.2.0", "--offline"]].concat();
    place.assert_run(
        &args,
        2,
        &["engine interpret@3.2.0 cannot run: Triton 3.2.0 is not installed"],
    );
    let allowed = [&args[..], &["--allow-unavailable"]].concat();
    place.assert_run(
        &allowed,
        0,
        &[
            "left out interpret@3.2.0: Triton 3.2.0 is not installed",
            "1 agree",
        ],
    );
}

#[test]
fn default_engines_with_nothing_to_compare_have_an_exit_code_of_their_own() {
    let good = build_case("");
    let place = Place::new(&[("cases/area/a.yaml", &good)]);
    place.assert_run(
        &["--offline"],
        3,
        &[
            "nothing to compare with: no second engine has an outcome",
            "`cerith toolchain add 3.9.0` installs one; `--engine reference` asks for the reference alone",
        ],
    );
    place.assert_run(&["--engine", "reference"], 0, &["1 inconclusive", "as expected"]);
    // One that has something to say is enough.
    place.record(&["area/a"], &[]);
    place.assert_run(&["--offline"], 0, &["1 agree"]);
}

#[test]
fn a_clean_run_of_the_corpus_has_a_record_of_every_case() {
    let good = build_case("");
    let place = Place::new(&[("cases/area/a.yaml", &good), ("cases/area/b.yaml", &good)]);
    place.record(&["area/a"], &[]);
    place.assert_run(&["--offline"], 0, &["as expected"]);
    let (code, text) = clean(&place);
    assert_eq!(code, Some(1), "{text}");
    for part in [
        "area/b: cuda@3.9.0 is unavailable",
        "interpret@3.9.0 was left out",
        "2 cases, 2 problems",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    place.record(&["area/a", "area/b"], &[]);
    place.assert_run(&CUDA, 0, &["2 agree"]);
    let (code, text) = clean(&place);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_kernel_that_the_reference_rejects_is_red_where_it_runs_alone() {
    let place = Place::new(&[("cases/area/a.yaml", &case_of("refused", ""))]);
    place.assert_run(
        &["--engine", "reference"],
        1,
        &[
            "REJECTED area/a  its launches do not finish, and its file does not foresee that",
            "reference rejected: undefined-name: `nothing` is not defined",
            "at cases/area/k.py:12:17",
            "expect: [{engine: reference, outcome: rejected, why: …}]",
            "NOT as expected: 1 unexpected",
        ],
    );
    let junit = fs::read_to_string(place.path().join("reports/run/junit.xml")).expect("a report");
    assert!(junit.contains("`nothing` is not defined"), "{junit}");
}

#[test]
fn a_kernel_that_every_engine_rejects_is_red_unless_its_file_foresees_it() {
    let place = Place::new(&[("cases/area/a.yaml", &case_of("refused", ""))]);
    place.record_as(&["area/a"], &[], REFUSED);
    place.assert_run(
        &CUDA,
        1,
        &[
            "REJECTED area/a",
            "reference rejected: undefined-name: `nothing` is not defined",
            "cuda@3.9.0 rejected: NameError: nothing is not defined",
            "1 agree",
            "NOT as expected: 1 unexpected",
        ],
    );
    // The result is the same without the reference.
    place.assert_run(
        &["--engine", "cuda@3.9.0"],
        1,
        &["REJECTED area/a", "NOT as expected: 1 unexpected"],
    );
    // An expectation about the compiler does not apply to the language.
    let of_cuda = "expect: [{ engine: cuda, outcome: rejected, why: it is not defined }]\n";
    place.write("cases/area/a.yaml", &case_of("refused", of_cuda));
    place.assert_run(&CUDA, 1, &["REJECTED area/a"]);
    let foreseen = "expect: [{ engine: reference, outcome: rejected, why: it is not defined }]\n";
    place.write("cases/area/a.yaml", &case_of("refused", foreseen));
    for args in [&CUDA[..], &["--engine", "reference"]] {
        place.assert_run(args, 0, &["as expected"]);
    }
    // One engine alone behaves as the case expects of all engines, but there is nothing to compare it with.
    let text = place.assert_run(
        &["--engine", "cuda@3.9.0"],
        1,
        &["NOT as expected: nothing was compared"],
    );
    assert!(!text.contains("REJECTED"), "{text}");
    // The expectation is stale if the kernel finishes.
    place.write("cases/area/a.yaml", &case_of("one", foreseen));
    place.assert_run(
        &["--engine", "reference"],
        1,
        &["STALE area/a", "an expectation that no longer happens"],
    );
}

#[test]
fn a_rejection_by_an_older_versions_rules_has_to_be_foreseen_for_those() {
    let older = [
        "--engine",
        "reference",
        "--engine",
        "cuda@3.2.0",
        "--allow-unavailable",
    ];
    let place = Place::new(&[("cases/area/a.yaml", &case_of("gathered", ""))]);
    place.assert_run(
        &older,
        1,
        &[
            "REJECTED area/a",
            "reference rejected",
            "Triton 3.2.0 has no attribute `gather`",
        ],
    );
    let foreseen =
        "expect: [{ engine: reference, versions: \"<3.3\", outcome: rejected, why: it came in 3.3 }]\n";
    place.write("cases/area/a.yaml", &case_of("gathered", foreseen));
    let text = place.assert_run(&older, 1, &["nothing was compared"]);
    assert!(!text.contains("REJECTED"), "{text}");
    place.assert_run(&["--engine", "reference"], 0, &["as expected"]);
}

#[test]
fn an_assertion_that_does_not_hold_is_red_unless_it_is_foreseen() {
    let args = ["--engine", "reference"];
    let debug = "options: { debug: true }";
    let asserted =
        |more: &str| case_of("asserted", more).replace("x: x } }]", &format!("x: x }}, {debug} }}]"));
    let place = Place::new(&[("cases/area/a.yaml", &asserted(""))]);
    place.assert_run(
        &args,
        1,
        &[
            "TRAPPED area/a",
            "device assertion failed: a one",
            "outcome: trapped, why",
        ],
    );
    let foreseen = "expect: [{ engine: reference, outcome: trapped, why: a zero is given }]\n";
    place.write("cases/area/a.yaml", &asserted(foreseen));
    place.assert_run(&args, 0, &["as expected"]);
}

#[test]
fn a_recorded_run_that_raised_needs_no_other_word() {
    let raised =
        "recorded: { engine: interpret@3.9.0+host, raised: { kind: NameError, message: nothing } }\n";
    let engines = ["--engine", "reference", "--engine", "recorded"];
    let place = Place::new(&[("cases/area/a.yaml", &case_of("refused", raised))]);
    place.assert_run(&engines, 0, &["1 agree", "as expected"]);
    // A recording of a run that finished does not expect the reference to reject the kernel.
    let finished = "recorded: { engine: interpret@3.9.0+host, after: {} }\n";
    place.write("cases/area/a.yaml", &case_of("refused", finished));
    place.assert_run(&engines, 1, &["reference rejected: undefined-name"]);
}
