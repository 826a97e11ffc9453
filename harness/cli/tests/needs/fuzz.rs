//! `cerith fuzz`: the same cases from the same seed, findings in folders of their own, and error messages. Campaigns need Triton
//! 3.9.0.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command_output::CommandOutput;
use cerith_needs::{NEWEST, Tests, named};
use tempfile::TempDir;

const ENGINE: [&str; 3] = ["--offline", "--engine", "interpret@3.9.0"];

fn run_fuzz(out: &Path, args: &[&str]) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .arg("fuzz")
        .args(args)
        .arg("--out")
        .arg(out)
        .output()
        .expect("cerith runs");
    CommandOutput::from_output(&output)
}

fn create_folder() -> TempDir {
    TempDir::new().expect("a folder")
}

fn read_campaign(out: &Path) -> String {
    fs::read_to_string(out.join("campaign.json")).expect("a campaign")
}

fn a_seed_makes_the_same_campaign_in_one_go_and_in_two() {
    let (whole, parts) = (create_folder(), create_folder());
    let seed = ["--no-reduce", "--seed", "3", "--count"];
    let run = |out: &TempDir, args: &[&str]| run_fuzz(out.path(), args);
    let one = run(&whole, &[&ENGINE[..], &seed, &["300", "--jobs", "2"]].concat());
    run(&parts, &[&ENGINE[..], &seed, &["120"]].concat());
    let two = run(
        &parts,
        &[
            "--offline",
            "--no-reduce",
            "--resume",
            "--count",
            "180",
            "--jobs",
            "1",
        ],
    );
    let read = |out: &TempDir| -> serde_json::Value {
        serde_json::from_str(&read_campaign(out.path())).expect("a campaign is JSON")
    };
    let (all, both) = (read(&whole), read(&parts));
    for key in ["seed", "engines", "done", "failed", "seen"] {
        assert_eq!(all[key], both[key], "{key}");
    }
    // An engine that gives now this and now that, on a machine with too much to do say, says so.
    let steady = |one: &serde_json::Value| one["verdicts"].get("unrepeated").is_none();
    let steady = steady(&all) && steady(&both);
    if steady {
        assert_eq!(all, both);
        assert_eq!(one.code, two.code);
    }
    let found = |out: &TempDir| {
        let entries = fs::read_dir(out.path().join("findings")).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    if steady {
        assert_eq!(found(&whole), found(&parts));
    }
    assert!(one.out.contains("bf16-"), "{}", one.out);
    // The report lists covered and uncovered features.
    let coverage = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
            .args(["coverage", "--campaign"])
            .arg(whole.path())
            .args(args)
            .output();
        CommandOutput::from_output(&output.expect("cerith runs"))
    };
    coverage(&[]).assert_ends(0, &["operation ", "\nload "], &["features in 300 cases"]);
    coverage(&["--holes"]).assert_ends(0, &["never: "], &[]);
    coverage(&["--format", "json"]).assert_ends(0, &["\"covered\"", "op load "], &[]);
}

fn findings_are_cases_that_explain_reads() {
    let out = create_folder();
    let done = run_fuzz(
        out.path(),
        &[&ENGINE[..], &["--seed", "3", "--count", "300"]].concat(),
    );
    let findings = out.path().join("findings");
    let Some(first) = fs::read_dir(&findings).expect("a folder").next() else {
        // A bug that is fixed or explained is not found again.
        return drop(done.assert_ends(0, &["0 findings"], &[]));
    };
    let name = first.expect("an entry").file_name();
    let done = done.assert_ends(1, &["findings, in", name.to_str().expect("text")], &["new: "]);
    assert!(done.err.contains("reduced: "), "{}", done.err);
    for file in ["case.yaml", "kernel.py", "repro.py", "report.md", "finding.json"] {
        assert!(findings.join(&name).join(file).is_file(), "{file}");
    }
    let explained = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(["list", "--cases"])
        .arg(&findings)
        .output()
        .expect("cerith runs");
    CommandOutput::from_output(&explained).assert_ends(0, &["/case"], &[]);
}

fn a_folder_that_is_no_campaigns_is_refused() {
    let out = create_folder();
    run_fuzz(out.path(), &["--resume"]).assert_ends(2, &[], &["has no campaign", "leave `--resume` out"]);
    fs::write(out.path().join("notes.txt"), "mine").expect("it is written");
    run_fuzz(out.path(), &["--count", "1"]).assert_ends(
        2,
        &[],
        &["contains something other than a campaign"],
    );
    assert_eq!(
        fs::read_to_string(out.path().join("notes.txt")).expect("it is there"),
        "mine"
    );
    fs::write(out.path().join("campaign.json"), "{").expect("it is written");
    run_fuzz(out.path(), &["--count", "1"]).assert_ends(
        2,
        &[],
        &["already has a campaign", "`--resume` goes on"],
    );
    run_fuzz(out.path(), &["--resume"]).assert_ends(2, &[], &["cannot be read"]);
}

fn another_seed_or_engine_is_another_campaign() {
    let out = create_folder();
    let text = r#"{"format":1,"seed":5,"engines":["reference","interpret@3.9.0"],"done":7,"verdicts":{},"explained":{},"findings":{},"failed":0}"#;
    fs::write(out.path().join("campaign.json"), text).expect("it is written");
    run_fuzz(out.path(), &["--resume", "--seed", "6"]).assert_ends(2, &[], &["has seed 5, not 6"]);
    let other = ["--resume", "--engine", "interpret@3.2.0"];
    run_fuzz(out.path(), &other).assert_ends(
        2,
        &[],
        &["has reference, interpret@3.9.0, not reference, interpret@3.2.0"],
    );
    assert_eq!(read_campaign(out.path()), text);
}

fn bad_words_are_told() {
    let out = create_folder();
    let campaign = out.path().join("campaign");
    run_fuzz(&campaign, &["--seed", "many"]).assert_ends(2, &[], &["invalid value 'many' for '--seed <S>'"]);
    run_fuzz(&campaign, &["--engine", "interpert@3.9.0"]).assert_ends(2, &[], &["interpert@3.9.0"]);
    let empty = out.path().join("nothing");
    let covered = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(["coverage", "--campaign"])
        .arg(&empty)
        .output();
    CommandOutput::from_output(&covered.expect("cerith runs")).assert_ends(2, &[], &["has no campaign"]);
    run_fuzz(
        &campaign,
        &["--offline", "--engine", "interpret@3.3.0", "--count", "1"],
    )
    .assert_ends(3, &[], &["no engine to compare the reference with"]);
}

fn broken_cases_are_noticed_by_the_reference_alone() {
    let out = create_folder();
    let done = run_fuzz(
        out.path(),
        &["--offline", "--engine", "reference", "--broken", "--count", "120"],
    );
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    assert!(
        done.out.contains("rejected as foretold") && done.out.contains("undefined as foretold"),
        "{}",
        done.out
    );
    assert!(!done.out.contains("not noticed"), "{}", done.out);
    // It stays unchanged.
    let more = run_fuzz(out.path(), &["--offline", "--resume", "--count", "20"]);
    assert_eq!(more.code, Some(0), "{}{}", more.out, more.err);
    assert!(read_campaign(out.path()).contains("\"broken\": true"));
    assert!(more.out.contains("140 cases"), "{}", more.out);
}

fn without_another_engine_kernels_are_held_to_their_twins() {
    let folder = create_folder();
    let out = folder.path().join("campaign");
    run_fuzz(&out, &["--engine", "reference", "--count", "30"]).assert_ends(0, &["30 cases"], &[]);
}

fn without_a_gpu_a_compiler_gets_a_bundle() {
    let folder = create_folder();
    let out = folder.path().join("campaign");
    let done = run_fuzz(&out, &["--offline", "--engine", "cuda@3.9.0", "--count", "4"]);
    if done.out.contains(" a second") {
        // There is a GPU, and the campaign is a live one.
        return;
    }
    done.assert_ends(0, &["cerith exec", "--results"], &[]);
    let bundle = out.join("bundles/from-0000000.cerith");
    assert!(bundle.exists());
    // A bundle without results is rejected.
    let bundle = bundle.to_str().expect("text");
    run_fuzz(&out, &["--resume", "--results", bundle]).assert_ends(2, &[], &["from-0000000.cerith"]);
    run_fuzz(&out, &["--resume", "--results", "nowhere.cerith"]).assert_ends(2, &[], &["nowhere.cerith"]);
    // The campaign resumes after the last bundle.
    run_fuzz(&out, &["--offline", "--resume", "--count", "4"]).assert_ends(0, &["cases 4 to 7"], &[]);
    assert!(out.join("bundles/from-0000004.cerith").exists());
}

pub fn tests() -> Tests {
    Tests::new()
        .without_needs(&named![
            a_folder_that_is_no_campaigns_is_refused,
            another_seed_or_engine_is_another_campaign,
            bad_words_are_told,
            broken_cases_are_noticed_by_the_reference_alone,
            without_another_engine_kernels_are_held_to_their_twins
        ])
        .with_toolchain(
            NEWEST,
            &named![
                a_seed_makes_the_same_campaign_in_one_go_and_in_two,
                findings_are_cases_that_explain_reads,
                without_a_gpu_a_compiler_gets_a_bundle
            ],
        )
}
