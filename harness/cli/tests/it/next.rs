//! The commands that Cerith prints after `next:` run as they are printed. A new one fails [`every_next_step_is_tested`]
//! until it is run here.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::command_output::CommandOutput;
use crate::place::{Place, reseal_stream};

/// A folder whose name needs quotes in a shell.
const CORPUS: &str = "it's a corpus";

/// The descriptions before the commands of `cerith_report`'s `human/next.rs`.
const STEPS: [&str; 6] = [
    "the first case in which the reference is wrong",
    "the first unexpected case",
    "a known difference",
    "review the differences and write expectations",
    "remove the expectation if the bug is fixed",
    "or remove all that no longer happen",
];

/// The files that print `next:`, with the number of texts. `promote.rs` asks for work without a command of Cerith's.
const PRINTERS: [(&str, usize); 4] = [
    ("campaign/src/promote.rs", 1),
    ("report/src/bump/text.rs", 1),
    ("report/src/human/next.rs", 1),
    ("runner/src/expect.rs", 1),
];

fn find_harness() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A shell in which `cerith` is the binary under test.
struct Shell {
    bin: TempDir,
    folder: PathBuf,
}

impl Shell {
    fn new(folder: PathBuf) -> Self {
        let bin = TempDir::new().expect("a folder");
        symlink(env!("CARGO_BIN_EXE_cerith"), bin.path().join("cerith")).expect("linked");
        Self { bin, folder }
    }

    fn run(&self, command: &str) -> CommandOutput {
        let mut path = OsString::from(self.bin.path());
        path.push(":");
        path.push(std::env::var_os("PATH").expect("a path"));
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("CERITH_HOME", self.bin.path().join("home"))
            .env("CI", "1")
            .output()
            .expect("a shell");
        CommandOutput::from_output(&output)
    }
}

/// The next steps of an output: the text before each command, and the command or location.
fn parse_steps(output: &CommandOutput) -> Vec<(String, String)> {
    let lines = output.out.lines().filter_map(|line| line.strip_prefix("next: "));
    lines
        .map(|line| {
            if let Some(at) = line.find("cerith ") {
                let what = line[..at].trim_end_matches(": ");
                return (what.to_owned(), line[at..].to_owned());
            }
            let (what, location) = line.split_once(": ").expect("a description");
            (what.to_owned(), location.to_owned())
        })
        .collect()
}

/// The steps that were run, by their descriptions.
#[derive(Default)]
struct StepsRun(BTreeSet<String>);

impl StepsRun {
    /// The command of a step, which the caller runs.
    #[track_caller]
    fn take(&mut self, output: &CommandOutput, what: &str) -> String {
        let steps = parse_steps(output);
        let found = steps.into_iter().find(|(one, _)| one == what);
        let (what, command) = found.unwrap_or_else(|| panic!("{what}:\n{}", output.out));
        self.0.insert(what);
        command
    }
}

/// A place with a corpus that the user has to name, in which three of eleven cases are not as expected.
fn create_named() -> (Place, Shell) {
    let place = Place::new_failing();
    fs::rename(place.join("cases"), place.join(CORPUS)).expect("moved");
    let shell = Shell::new(place.join("."));
    (place, shell)
}

#[test]
fn every_next_step_is_tested() {
    let text = fs::read_to_string(find_harness().join("report/src/human/next.rs")).expect("a file");
    for step in STEPS {
        assert!(text.contains(&format!("\"{step}\"")), "{step}");
    }
    let calls = text
        .lines()
        .filter(|line| line.trim_start().starts_with("line("))
        .count();
    // The first two steps share a call.
    assert_eq!(
        calls,
        STEPS.len() - 1,
        "each call of `line` has its step in `STEPS`"
    );
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = fs::read_dir(find_harness())
        .expect("crates")
        .map(|one| one.expect("a crate").path().join("src"))
        .collect();
    while let Some(folder) = folders.pop() {
        let Ok(files) = fs::read_dir(folder) else { continue };
        for file in files {
            let path = file.expect("a file").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).expect("text");
                let count = text.lines().filter(|line| prints_next(line)).count();
                if count > 0 {
                    let name = path.strip_prefix(find_harness()).expect("inside");
                    found.push((name.display().to_string(), count));
                }
            }
        }
    }
    found.sort();
    let known = PRINTERS.map(|(file, count)| (file.to_owned(), count));
    assert_eq!(
        found, known,
        "a text with `next:` needs a test here that runs its command"
    );
}

/// Whether a line of Rust has `next:` in a string.
fn prints_next(line: &str) -> bool {
    let code = line.trim_start();
    !code.starts_with("//")
        && code.match_indices("next:").any(|(at, text)| {
            let after = &code[at + text.len()..];
            // `{next:?}` prints a variable.
            code[..at].matches('"').count() % 2 == 1 && after.starts_with([' ', '"'])
        })
}

#[test]
fn every_next_step_of_a_run_is_run_as_it_is_printed() {
    let mut steps = StepsRun::default();
    follow_to_a_run_that_passes(&mut steps);
    explain_a_wrong_reference(&mut steps);
    explain_a_known_difference(&mut steps);
    assert_eq!(steps.0, STEPS.map(str::to_owned).into());
}

fn follow_to_a_run_that_passes(steps: &mut StepsRun) {
    let (place, shell) = create_named();
    let run = place
        .run(&["--cases", CORPUS])
        .assert_ends(1, &["3 unexpected"], &[]);
    shell
        .run(&steps.take(&run, "the first unexpected case"))
        .assert_ends(0, &["area/bad:n=3", "out-of-bounds"], &[]);
    let command = steps.take(&run, "review the differences and write expectations");
    shell.run(&command).assert_ends(0, &["1 to review"], &[]);
    let written = shell
        .run(&format!("{command} --accept --why past"))
        .assert_ends(0, &["1 written"], &[]);
    let after = parse_steps(&written);
    assert_eq!(after.len(), 1, "{}", written.out);
    shell
        .run(&format!("{} --engine reference", after[0].1))
        .assert_ends(0, &["11 cases", "as expected"], &[]);
    // The bug is fixed: the expectation no longer happens.
    let bad = place.read(&format!("{CORPUS}/area/bad.yaml"));
    let fixed = bad.replace("shape: [\"{n}\"]", "shape: [16]");
    place.write(&format!("{CORPUS}/area/bad.yaml"), &fixed);
    let run = place.run(&["--cases", CORPUS]).assert_ends(1, &[], &[]);
    let location = steps.take(&run, "remove the expectation if the bug is fixed");
    let (file, line) = location.rsplit_once(':').expect("a line");
    let line: usize = line.parse().expect("a number");
    let expectation = place.read(file).lines().nth(line - 1).map(str::to_owned);
    assert!(
        expectation
            .as_deref()
            .is_some_and(|text| text.contains("why: past")),
        "{location}: {expectation:?}"
    );
    shell
        .run(&steps.take(&run, "or remove all that no longer happen"))
        .assert_ends(0, &["0 written, 1 removed"], &[]);
    place
        .run(&["--cases", CORPUS])
        .assert_ends(0, &["as expected"], &[]);
}

fn explain_a_wrong_reference(steps: &mut StepsRun) {
    let (place, shell) = create_named();
    place
        .run(&["--cases", CORPUS, "--out", "r"])
        .assert_ends(1, &[], &[]);
    let mut events = place.read_events("r/events.jsonl");
    let event = events
        .iter_mut()
        .find(|event| event["case"] == "area/bad:n=5")
        .expect("a verdict");
    event["blame"] = serde_json::json!(["reference"]);
    let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
    place.write("r/events.jsonl", &reseal_stream(&lines.concat()));
    let report = place
        .run_cerith(&["report", "r/events.jsonl"])
        .assert_ends(1, &[], &[]);
    shell
        .run(&steps.take(&report, "the first case in which the reference is wrong"))
        .assert_ends(0, &["area/bad:n=5"], &[]);
}

/// A folder without a corpus, and the corpus of this repository as a word of a shell.
fn create_elsewhere() -> (TempDir, Shell, String) {
    let folder = TempDir::new().expect("a folder");
    let shell = Shell::new(folder.path().to_owned());
    let corpus = find_harness()
        .join("../cases")
        .canonicalize()
        .expect("the corpus");
    (folder, shell, format!("'{}'", corpus.display()))
}

/// Recorded results of a compiler have a known difference, so no toolchain is needed.
fn explain_a_known_difference(steps: &mut StepsRun) {
    let (_folder, shell, corpus) = create_elsewhere();
    let run = shell
        .run(&format!(
            "cerith run reduction/place_of_reshaped --cases {corpus} --engine reference --engine cuda@3.9.0 --offline --out r"
        ))
        .assert_ends(0, &[], &[]);
    shell.run(&steps.take(&run, "a known difference")).assert_ends(
        0,
        &["reduction/place_of_reshaped", "cuda@3.9.0"],
        &[],
    );
}

#[test]
fn the_next_step_of_a_bump_is_run_as_it_is_printed() {
    let (_folder, shell, corpus) = create_elsewhere();
    let bump = shell
        .run(&format!(
            "cerith bump 3.2.0 3.9.0 reduction/place_of_reshaped --cases {corpus} --engine cuda --offline --out b"
        ))
        .assert_ends(1, &["broke: "], &[]);
    let steps = parse_steps(&bump);
    assert_eq!(steps.len(), 1, "{}", bump.out);
    shell
        .run(&steps[0].1)
        .assert_ends(0, &["reduction/place_of_reshaped", "cuda@3.9.0"], &[]);
}
