//! Tests that the command line accepts every call of `cerith` in this repository's workflows and documentation. Calls whose output
//! the documentation shows are run (`tests/needs/docs.rs`); these here need a GPU, a network, torch or hours.
//!
//! Also checks what workflows, the action and the GitLab template run: only actions of a known commit, and no package by its name.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use serde_yaml::Value;

use crate::args::Cli;

fn find_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files_in(folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(find_root().join(folder)).expect("a folder");
    files.map(|file| file.expect("a file").path()).collect()
}

fn find_workflows() -> Vec<PathBuf> {
    files_in(".github/workflows")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The scripts of a workflow's steps.
fn find_scripts(workflow: &Value) -> Vec<&str> {
    let jobs = workflow["jobs"].as_mapping().expect("jobs");
    jobs.values()
        .flat_map(|job| job["steps"].as_sequence().expect("steps"))
        .filter_map(|step| step["run"].as_str())
        .collect()
}

/// The words of every call of `cerith` in a script. Variables are replaced by a version, except the filter and the seed.
fn find_calls(script: &str) -> Vec<Vec<String>> {
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
    for path in find_workflows() {
        let text = fs::read_to_string(&path).expect("a workflow");
        let workflow: Value = serde_yaml::from_str(&text).expect("YAML");
        for call in find_scripts(&workflow).into_iter().flat_map(find_calls) {
            if let Err(error) = Cli::try_parse_from(&call) {
                panic!("{}: {call:?}: {error}", path.display());
            }
            count += 1;
        }
    }
    assert_eq!(count, 4, "calls of cerith in workflows");
}

/// The lines of blocks of kind `sh`.
fn shell_lines(page: &str) -> String {
    let mut is_shell = false;
    let mut lines = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_shell = !is_shell && line == "```sh";
        } else if is_shell {
            // Text after two spaces and a `#` is a comment.
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
        .chain([root.join("README.md"), root.join("skills/cerith/SKILL.md")]);
    let mut count = 0;
    for path in pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let page = fs::read_to_string(&path).expect("a page");
        for call in find_calls(&shell_lines(&page)) {
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

/// The calls of a skill between backquotes, and in its blocks.
#[test]
fn every_call_of_cerith_in_the_skill_is_one_that_it_takes() {
    let page = read(&find_root().join("skills/cerith/SKILL.md"));
    assert!(
        page.starts_with("---\nname: cerith\ndescription: "),
        "front matter"
    );
    assert!(page.lines().count() < 120, "a skill is short");
    let quoted = page.split('`').skip(1).step_by(2);
    let quoted: Vec<Vec<String>> = quoted
        .filter(|code| code.starts_with("cerith ") && !code.contains('\n'))
        .flat_map(find_calls)
        .collect();
    let shown = find_calls(&shell_lines(&page));
    assert!(shown.len() >= 8 && !quoted.is_empty(), "{shown:?} {quoted:?}");
    for call in shown.iter().chain(&quoted) {
        if let Err(error) = Cli::try_parse_from(call) {
            panic!("SKILL.md: {call:?}: {error}");
        }
    }
}

#[test]
fn a_call_that_cerith_does_not_take_would_be_noticed() {
    let [ref call] = find_calls("x=$(cerith toolchain newst)")[..] else {
        panic!("one call");
    };
    assert_eq!(call, &["cerith", "toolchain", "newst"]);
    assert!(Cli::try_parse_from(call).is_err());
    assert!(find_calls("echo \"Cerith reads cerithology\"").is_empty());
}

/// A line that asks for a GPU would end a job that has none.
#[test]
fn the_scheduled_job_needs_no_gpu_and_runs_by_itself() {
    let text = include_str!("../../../.github/workflows/newest-triton.yml");
    let workflow: Value = serde_yaml::from_str(text).expect("YAML");
    let on = &workflow["on"];
    assert!(on["schedule"][0]["cron"].is_string() && on.get("workflow_dispatch").is_some());
    for script in find_scripts(&workflow) {
        assert!(!script.contains("cuda@") && !script.contains("jit"), "{script}");
        // An expression may put untrusted text into a script.
        assert!(!script.contains("${{"), "{script}");
    }
}

/// Whether this is `owner/name@COMMIT # vX.Y.Z`.
fn is_pinned(used: &str) -> bool {
    let Some((commit, version)) = used.split_once('@').and_then(|(_, rest)| rest.split_once(" # v")) else {
        return false;
    };
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    commit.len() == 40
        && commit.bytes().all(is_hex)
        && version.split('.').count() == 3
        && version.split('.').all(|part| part.parse::<u32>().is_ok())
}

/// A tag or a branch can be moved to other code after it was read. The commit of this repository's own action is not known before its
/// version is tagged.
#[test]
fn every_action_is_pinned_to_a_commit() {
    let mut paths = find_workflows();
    paths.extend(files_in("ci-templates"));
    paths.extend(files_in("examples/rowwise/.github/workflows"));
    paths.extend(
        ["action.yml", "docs/gate.md", "examples/rowwise/README.md"].map(|path| find_root().join(path)),
    );
    let (mut count, mut wrong) = (0, Vec::new());
    for path in paths {
        for (line, text) in read(&path).lines().enumerate() {
            let text = text.trim_start().trim_start_matches("- ");
            let Some(used) = text.strip_prefix("uses:").map(str::trim) else {
                continue;
            };
            count += 1;
            if !is_pinned(used) && !used.starts_with("cerith-harness/cerith@v") {
                wrong.push(format!("{}:{}: {used}", path.display(), line + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 20, "{count} uses of actions");
    assert!(is_pinned("a/b@0123456789abcdef0123456789abcdef01234567 # v1.2.3"));
    for used in [
        "a/b@v4",
        "a/b@release/v1",
        "a/b@0123456789abcdef0123456789abcdef01234567",
        "a/b@0123456 # v1.2.3",
        "a/b@0123456789abcdef0123456789abcdef01234567 # main",
    ] {
        assert!(!is_pinned(used), "{used}");
    }
}

/// A job that may publish in this project's name runs no script: only the actions that upload.
#[test]
fn a_job_that_may_publish_only_uploads() {
    const UPLOADS: [&str; 3] = [
        "actions/download-artifact",
        "actions/deploy-pages",
        "pypa/gh-action-pypi-publish",
    ];
    let mut count = 0;
    for path in find_workflows() {
        let workflow: Value = serde_yaml::from_str(&read(&path)).expect("YAML");
        assert!(
            workflow["permissions"]["id-token"].is_null(),
            "{}",
            path.display()
        );
        for (name, job) in workflow["jobs"].as_mapping().expect("jobs") {
            if job["permissions"]["id-token"].is_null() {
                continue;
            }
            count += 1;
            for step in job["steps"].as_sequence().expect("steps") {
                let used = step["uses"].as_str().unwrap_or_default();
                let used = used.split('@').next().unwrap_or_default();
                assert!(UPLOADS.contains(&used), "{} {name:?}: {step:?}", path.display());
            }
        }
    }
    assert_eq!(count, 2, "jobs that publish: the site and the wheels");
}

/// The package is not on `PyPI`: a stranger who registers its name there must not run in the CI of users. Python does not import modules
/// of a checkout, and no toolchain is executed that a checkout holds.
#[test]
fn the_action_and_the_template_run_nothing_of_a_checkout_or_of_an_unknown_package() {
    for path in ["action.yml", "ci-templates/gitlab.yml"] {
        let text = read(&find_root().join(path));
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
            .collect();
        for line in &lines {
            if line.contains("python ") && !line.starts_with("description:") {
                assert!(
                    line.contains("python -I -m pip install")
                        && line.contains("--requirement requirements.txt"),
                    "{line}"
                );
            }
            assert!(!line.contains("CI_PROJECT_DIR"), "{line}");
        }
        let count = lines.iter().filter(|line| line.contains("python -I ")).count();
        assert_eq!(count, 1, "{path}");
    }
    let action: Value = serde_yaml::from_str(&read(&find_root().join("action.yml"))).expect("YAML");
    assert_eq!(action["inputs"]["requirement"]["default"], "");
    let template: Value =
        serde_yaml::from_str(&read(&find_root().join("ci-templates/gitlab.yml"))).expect("YAML");
    assert_eq!(template[".cerith"]["variables"]["CERITH_REQUIREMENT"], "");
}

/// A toolchain in the checkout would be one that a merge request committed. GitLab keeps as a `cache` only folders of the checkout, so
/// the template has none.
#[test]
fn the_template_rejects_toolchains_in_the_checkout() {
    let template: Value =
        serde_yaml::from_str(&read(&find_root().join("ci-templates/gitlab.yml"))).expect("YAML");
    assert!(template[".cerith"]["cache"].is_null());
    let steps = template[".cerith"]["script"].as_sequence().expect("a script");
    // The steps after these install the package.
    let steps: Vec<&str> = steps
        .iter()
        .map(|step| step.as_str().expect("a step"))
        .take_while(|step| !step.contains("mktemp"))
        .collect();
    let folder = tempfile::TempDir::new().expect("a folder");
    let checkout = folder.path().join("checkout");
    fs::create_dir_all(checkout.join("committed")).expect("folders");
    std::os::unix::fs::symlink(checkout.join("committed"), folder.path().join("link")).expect("linked");
    let run = |home: &str, user: &Path, requirement: &str| {
        let output = std::process::Command::new("bash")
            .args([
                "--noprofile",
                "--norc",
                "-eo",
                "pipefail",
                "-c",
                &steps.join("\n"),
            ])
            .current_dir(&checkout)
            .env("CERITH_HOME", home)
            .env("HOME", user)
            .env("CERITH_REQUIREMENT", requirement)
            .output()
            .expect("bash starts");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        )
    };
    let outside = folder.path().join("checkout-home").display().to_string();
    let pinned = "cerith-triton==0.1.0 --hash=sha256:00";
    let rejected = (Some(2), "CERITH_HOME must not be in the checkout".to_owned());
    let inside = checkout.join("committed").display().to_string();
    for home in [
        inside.as_str(),
        ".",
        "committed",
        "not/there",
        "../checkout/committed",
        "../link",
        "../link/toolchains",
    ] {
        assert_eq!(run(home, folder.path(), pinned), rejected, "{home}");
    }
    // The default is in the home of the user.
    assert_eq!(run("", &checkout, pinned), rejected);
    for home in ["", outside.as_str(), "../home"] {
        assert_eq!(
            run(home, folder.path(), pinned),
            (Some(0), String::new()),
            "{home}"
        );
    }
    let (code, text) = run("", folder.path(), "cerith-triton");
    assert!(
        code == Some(2) && text.contains("a version with its hash"),
        "{text}"
    );
}

/// Every step of `.ci/nightly` is in one job, and every job runs steps that exist.
#[test]
fn every_nightly_step_is_a_job() {
    let script = read(&find_root().join(".ci/nightly"));
    let mut steps: Vec<&str> = script
        .lines()
        .filter_map(|line| Some(line.strip_prefix("step_")?.split_once("()")?.0))
        .collect();
    let workflow: Value =
        serde_yaml::from_str(&read(&find_root().join(".github/workflows/nightly.yml"))).expect("YAML");
    let jobs = workflow["jobs"]["step"]["strategy"]["matrix"]["include"]
        .as_sequence()
        .expect("a matrix");
    let mut in_jobs: Vec<&str> = jobs
        .iter()
        .flat_map(|job| job["step"].as_str().expect("steps").split(' '))
        .collect();
    steps.sort_unstable();
    in_jobs.sort_unstable();
    assert_eq!(in_jobs, steps);
}
