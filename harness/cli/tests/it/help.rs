//! Help on the command line: `help`, `completions`, `man`, `schema`, and colours.

use std::fs;

use crate::command_output::CommandOutput;
use crate::place::Place;

/// Runs `cerith` with these words, in this environment.
fn check(words: &[&str], environment: &[(&str, &str)]) -> CommandOutput {
    let place = Place::new();
    let mut command = place.build_command(words);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied());
    CommandOutput::from_output(&command.output().expect("cerith starts"))
}

#[test]
fn help_is_about_a_command_or_the_case_format() {
    check(&["help"], &[]).assert_ends(0, &["Usage: cerith", "check", "Exit codes:"], &[]);
    check(&["help", "run"], &[]).assert_ends(0, &["Usage: cerith run", "--schedules"], &[]);
    check(&["help", "toolchain", "add"], &[]).assert_ends(
        0,
        &["Usage: cerith toolchain add", "CERITH_HOME"],
        &[],
    );
    let done = check(&["help", "cases"], &[]).assert_ends(
        0,
        &[
            "The case format\n",
            "    about: The columns of a split tensor",
            "  `about`\n      what the case shows, in a sentence. Required\n",
            "  `{ full: 2.5 }`\n      one value everywhere\n",
        ],
        &[],
    );
    assert!(!done.out.contains("|---") && !done.out.contains('\u{1b}'));
}

#[test]
fn a_topic_that_is_none_names_the_nearest() {
    check(&["help", "case"], &[]).assert_ends(
        2,
        &[],
        &["no help about `case`", "did you mean `cerith help cases`?"],
    );
    check(&["help", "rnu"], &[]).assert_ends(2, &[], &["did you mean `cerith help run`?"]);
    check(&["help", "xyzzyx"], &[]).assert_ends(2, &[], &["`cerith help` lists the commands"]);
    check(&["man", "chekc"], &[]).assert_ends(2, &[], &["did you mean `cerith help check`?"]);
}

#[test]
fn shells_complete_commands_options_and_their_values() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = check(&["completions", shell], &[]).assert_ends(0, &["toolchain", "schedules"], &[]);
        assert!(
            !done.out.contains("cuda-child"),
            "{shell}: a command of Cerith's own is offered"
        );
    }
    check(&["completions", "bash"], &[]).assert_ends(0, &["complete -F _cerith", "auto always never"], &[]);
    check(&["completions", "tcsh"], &[]).assert_ends(2, &[], &["possible values: bash"]);
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    check(&["man"], &[]).assert_ends(0, &[".TH cerith 1", "cerith\\-run(1)"], &[]);
    check(&["man", "toolchain", "add"], &[]).assert_ends(0, &["Install a Triton from PyPI"], &[]);
    let place = Place::new();
    place
        .run_cerith(&["man", "--out", "pages"])
        .assert_ends(0, &["pages in pages"], &[]);
    let mut pages: Vec<String> = fs::read_dir(place.join("pages"))
        .expect("pages")
        .map(|page| page.expect("a page").file_name().into_string().expect("a name"))
        .collect();
    pages.sort();
    for page in [
        "cerith.1",
        "cerith-check.1",
        "cerith-fuzz-promote.1",
        "cerith-run.1",
        "cerith-toolchain-add.1",
    ] {
        assert!(pages.iter().any(|name| name == page), "no {page} in {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("cuda")), "{pages:?}");
}

#[test]
fn the_schema_is_json() {
    let done = check(&["schema"], &[]).assert_ends(0, &[], &[]);
    let schema: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(schema["title"], "A case file of Cerith");
}

#[test]
fn colours_are_there_when_they_are_asked_for() {
    let has_colours = |words: &[&str], environment: &[(&str, &str)]| {
        let done = check(words, environment).assert_ends(0, &["area/good:dtype=f32,n=10"], &[]);
        done.out.contains('\u{1b}')
    };
    // In a pipe there are none.
    assert!(!has_colours(&["list"], &[]));
    assert!(!has_colours(&["list", "--color", "auto"], &[]));
    assert!(has_colours(&["list", "--color", "always"], &[]));
    assert!(has_colours(&["--color=always", "list"], &[("NO_COLOR", "1")]));
    assert!(has_colours(&["list"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colours(
        &["list"],
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
    ));
    assert!(!has_colours(
        &["list", "--color", "never"],
        &[("CLICOLOR_FORCE", "1")]
    ));
    check(&["list", "--color", "sometimes"], &[]).assert_ends(2, &[], &["auto, always, never"]);
}
