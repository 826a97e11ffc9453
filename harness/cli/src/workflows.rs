//! Tests that the command line accepts every call of `cerith` in this repository's workflows and documentation. Calls whose output
//! the documentation shows are run (`tests/needs/docs.rs`); these here need a GPU, a network, torch or hours.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use serde_yaml::Value;

use crate::args::Cli;

fn workflows() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/workflows");
    let files = fs::read_dir(&folder).expect("workflows");
    files.map(|file| file.expect("a file").path()).collect()
}

/// The scripts of a workflow's steps.
fn scripts(workflow: &Value) -> Vec<&str> {
    let jobs = workflow["jobs"].as_mapping().expect("jobs");
    jobs.values()
        .flat_map(|job| job["steps"].as_sequence().expect("steps"))
        .filter_map(|step| step["run"].as_str())
        .collect()
}

/// The words of every call of `cerith` in a script. What a variable holds is a version, but for the filter and the seed.
fn calls(script: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    for line in script.lines() {
        for (at, _) in line.match_indices("cerith ") {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| !c.is_whitespace() && !"/(".contains(c)) {
                continue;
            }
            let call = line[at..].split(['>', '|', ')', ';']).next().unwrap_or_default();
            let words = call.split_whitespace().map(|word| {
                let word = word.trim_matches('"');
                match word {
                    "$FILTER" => "alias".to_owned(),
                    "$SEED" => "1".to_owned(),
                    _ if word.starts_with('$') => "3.9.0".to_owned(),
                    _ => word.to_owned(),
                }
            });
            calls.push(words.collect());
        }
    }
    calls
}

#[test]
fn every_call_of_cerith_in_a_workflow_is_one_that_it_takes() {
    let mut count = 0;
    for path in workflows() {
        let text = fs::read_to_string(&path).expect("a workflow");
        let workflow: Value = serde_yaml::from_str(&text).expect("YAML");
        for call in scripts(&workflow).into_iter().flat_map(calls) {
            if let Err(error) = Cli::try_parse_from(&call) {
                panic!("{}: {call:?}: {error}", path.display());
            }
            count += 1;
        }
    }
    assert_eq!(count, 5, "calls of cerith in workflows");
}

/// The lines of blocks of kind `sh`.
fn shell_lines(page: &str) -> String {
    let mut is_shell = false;
    let mut lines = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_shell = !is_shell && line == "```sh";
        } else if is_shell {
            // What follows two spaces and a `#` is a comment.
            lines.push_str(line.split("  #").next().unwrap_or_default());
            lines.push('\n');
        }
    }
    lines
}

#[test]
fn every_call_of_cerith_in_the_documentation_is_one_that_it_takes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).expect("docs");
    let pages = docs
        .map(|page| page.expect("a page").path())
        .chain([root.join("README.md")]);
    let mut count = 0;
    for path in pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let page = fs::read_to_string(&path).expect("a page");
        for call in calls(&shell_lines(&page)) {
            // A shell takes the quotes away. A Python must be there to be named.
            let words = call.iter().map(|word| match word.trim_matches('\'') {
                "../triton/.venv/bin/python" => "/bin/sh",
                word => word,
            });
            if let Err(error) = Cli::try_parse_from(words) {
                panic!("{}: {call:?}: {error}", path.display());
            }
            count += 1;
        }
    }
    assert!(count > 40, "{count} calls of cerith in the documentation");
}

#[test]
fn a_call_that_cerith_does_not_take_would_be_noticed() {
    let [ref call] = calls("x=$(cerith toolchain newst)")[..] else {
        panic!("one call");
    };
    assert_eq!(call, &["cerith", "toolchain", "newst"]);
    assert!(Cli::try_parse_from(call).is_err());
    assert!(calls("echo \"Cerith reads cerithology\"").is_empty());
}

/// A line that asks for a GPU would end a job that has none.
#[test]
fn the_scheduled_job_needs_no_gpu_and_runs_by_itself() {
    let text = include_str!("../../../.github/workflows/newest-triton.yml");
    let workflow: Value = serde_yaml::from_str(text).expect("YAML");
    let on = &workflow["on"];
    assert!(on["schedule"][0]["cron"].is_string() && on.get("workflow_dispatch").is_some());
    for script in scripts(&workflow) {
        assert!(!script.contains("cuda@") && !script.contains("jit"), "{script}");
        // What an expression puts into a script may be anybody's words.
        assert!(!script.contains("${{"), "{script}");
    }
}
