//! Links and other files that a checkout puts in the way of what Cerith writes: each is an error that names it, and its target
//! stays as it was.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::command_output::CommandOutput;
use crate::place::Place;

/// A place with a file of the user's outside of it.
struct Guarded {
    place: Place,
    outside: tempfile::TempDir,
}

impl Guarded {
    fn new() -> Self {
        let outside = tempfile::TempDir::new().expect("a folder");
        fs::write(outside.path().join("settings"), "the user's").expect("a file");
        fs::create_dir(outside.path().join("folder")).expect("a folder");
        Self {
            place: Place::new_failing(),
            outside,
        }
    }

    /// A link in the place; `target` is in the folder outside.
    fn link(&self, link: &str, target: &str) {
        let link = self.place.join(link);
        fs::create_dir_all(link.parent().expect("a folder")).expect("folders");
        symlink(self.outside.path().join(target), link).expect("a link");
    }

    #[track_caller]
    fn is_untouched(&self) {
        let mut names: Vec<_> = fs::read_dir(self.outside.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        assert_eq!(names, [OsStr::new("folder"), OsStr::new("settings")]);
        let settings = fs::read_to_string(self.outside.path().join("settings"));
        assert_eq!(settings.expect("it stays"), "the user's");
        assert_eq!(
            fs::read_dir(self.outside.path().join("folder"))
                .expect("a folder")
                .count(),
            0
        );
    }
}

/// Runs a command with one link in the way, which must be named.
#[track_caller]
fn assert_refuses(args: &[&str], link: &str, target: &str) {
    let guarded = Guarded::new();
    guarded
        .place
        .run_cerith(&["run", "--engine", "reference", "--out", "earlier"]);
    guarded.link(link, target);
    let done = guarded.place.run_cerith(args);
    let shown = format!(
        "{args:?}, {link} -> {target}\n--- out\n{}\n--- err\n{}",
        done.out, done.err
    );
    assert_eq!(done.code, Some(2), "{shown}");
    assert!(done.err.contains(&format!("`{link}` is a link to `")), "{shown}");
    guarded.is_untouched();
    assert!(guarded.place.join(link).is_symlink(), "{shown}");
}

#[test]
fn reports_do_not_follow_links() {
    let run = ["run", "--engine", "reference"];
    for file in ["events.jsonl", "report.html", "report.md", "junit.xml"] {
        let link = format!("reports/run/{file}");
        assert_refuses(&run, &link, "settings");
        assert_refuses(&run, &link, "missing");
    }
    for folder in ["reports", "reports/run", "reports/run/partial"] {
        assert_refuses(&run, folder, "folder");
        assert_refuses(&run, folder, "missing");
    }
    assert_refuses(&["run", "--engine", "reference", "--out", "out"], "out", "folder");
    assert_refuses(
        &["run", "--engine", "reference", "--out", "a/b/c"],
        "a/b",
        "folder",
    );
    assert_refuses(
        &["run", "--engine", "reference", "--out", "./out"],
        "out",
        "folder",
    );
    let named = ["run", "cases", "--engine", "reference"];
    let own = ["run", "--cases", "elsewhere", "--engine", "reference"];
    assert_refuses(&named, "reports/run", "folder");
    let guarded = Guarded::new();
    fs::rename(guarded.place.join("cases"), guarded.place.join("elsewhere")).expect("renamed");
    guarded.link("reports/run/events.jsonl", "settings");
    guarded
        .place
        .run_cerith(&own)
        .assert_ends(2, &[], &["is a link to"]);
    guarded.is_untouched();
}

#[test]
fn a_folder_of_cerith_s_own_does_not_follow_links() {
    for (link, target) in [
        ("cerith-reports", "folder"),
        ("cerith-reports/.gitignore", "missing"),
        ("cerith-reports/.gitignore", "settings"),
        ("cerith-reports/elsewhere", "folder"),
        ("cerith-reports/elsewhere/run/junit.xml", "missing"),
    ] {
        let guarded = Guarded::new();
        fs::rename(guarded.place.join("cases"), guarded.place.join("elsewhere")).expect("renamed");
        guarded.link(link, target);
        let wanted = format!("`{link}` is a link to `");
        guarded
            .place
            .run_cerith(&["run", "elsewhere", "--engine", "reference"])
            .assert_ends(2, &[], &["error: no report is written", &wanted]);
        guarded.is_untouched();
    }
}

#[test]
fn no_other_command_follows_links() {
    let stream = "earlier/events.jsonl";
    assert_refuses(
        &["report", "merge", stream, "-o", "all.jsonl"],
        "all.jsonl",
        "settings",
    );
    assert_refuses(
        &["report", "merge", stream, "-o", "sub/all.jsonl"],
        "sub",
        "folder",
    );
    assert_refuses(
        &["report", "merge", stream, "--out", "all"],
        "all/report.md",
        "missing",
    );
    assert_refuses(
        &["report", "baseline", stream, "-o", "base.jsonl"],
        "base.jsonl",
        "missing",
    );
    assert_refuses(&["man", "--out", "pages"], "pages", "folder");
    assert_refuses(&["man", "--out", "pages"], "pages/cerith-run.1", "settings");
    assert_refuses(
        &["check", "cases/area/k.py", "--offline", "--keep", "kept"],
        "kept",
        "folder",
    );
    assert_refuses(
        &["fuzz", "--engine", "reference", "--count", "1", "--out", "found"],
        "found",
        "missing",
    );
    assert_refuses(&["record", "--out", "rec", "--", "true"], "rec", "missing");
    assert_refuses(&["record", "--out", "rec/cases", "--", "true"], "rec", "folder");
}

#[test]
fn a_new_case_file_replaces_no_link() {
    let guarded = Guarded::new();
    guarded.link("cases/area/new.yaml", "missing");
    guarded
        .place
        .run_cerith(&["import", "cases/area/k.py:add_one", "-o", "cases/area/new.yaml"])
        .assert_ends(2, &[], &["new.yaml already exists"]);
    guarded.is_untouched();
}

#[test]
fn expectations_are_not_written_through_links() {
    let guarded = Guarded::new();
    let place = &guarded.place;
    place.run(&[]).assert_ends(1, &[], &[]);
    let text = place.read("cases/area/bad.yaml");
    // Between reading the corpus and writing, the file becomes a link: here it is one within the corpus all along.
    fs::rename(
        place.join("cases/area/bad.yaml"),
        place.join("cases/area/real.txt"),
    )
    .expect("renamed");
    symlink("real.txt", place.join("cases/area/bad.yaml")).expect("a link");
    place.run_cerith(&["expect", "--accept"]).assert_ends(
        2,
        &[],
        &[
            "`cases/area/bad.yaml` is a link to `real.txt`",
            "the file is unchanged",
        ],
    );
    assert_eq!(place.read("cases/area/real.txt"), text);
}

#[test]
fn pipes_devices_and_folders_in_the_way_are_named() {
    let place = Place::new();
    for file in ["events.jsonl", "junit.xml"] {
        let path = place.join("reports/run").join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        let wanted = format!("`reports/run/{file}` is a pipe");
        place
            .run(&[])
            .assert_ends(2, &[], &["error: no report is written", &wanted]);
        assert!(fs::metadata(&path).expect("it stays").file_type().is_fifo());
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("a folder");
        let wanted = format!("`reports/run/{file}` is a folder");
        place.run(&[]).assert_ends(2, &[], &[&wanted]);
        fs::remove_dir(&path).expect("removed");
    }
}

#[test]
fn a_hard_link_is_replaced_and_its_other_name_stays() {
    let place = Place::new();
    place.write("settings", "the user's");
    fs::create_dir_all(place.join("reports/run")).expect("folders");
    for file in ["events.jsonl", "report.md"] {
        fs::hard_link(place.join("settings"), place.join("reports/run").join(file)).expect("a link");
    }
    place.run(&[]).assert_ends(0, &["as expected"], &[]);
    assert_eq!(place.read("settings"), "the user's");
}

#[test]
fn partial_files_have_names_that_nobody_can_foresee() {
    let guarded = Guarded::new();
    for name in [
        "report.partial",
        "junit.partial",
        "events.jsonl.part",
        "events.partial",
    ] {
        guarded.link(&format!("reports/run/{name}"), "settings");
    }
    guarded.place.run(&[]).assert_ends(1, &["NOT as expected"], &[]);
    guarded.is_untouched();
    let left = fs::read_dir(guarded.place.join("reports/run")).expect("a folder");
    let left = left.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().starts_with(".cerith-")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn a_folder_above_the_current_one_can_be_named() {
    let place = Place::new();
    let inner = place.join("inner/most");
    fs::create_dir_all(&inner).expect("folders");
    let run = |out: &str, folder: &Path| -> CommandOutput {
        let mut command = place.build_command(&["run", "--engine", "reference", "--out", out]);
        CommandOutput::from_output(&command.current_dir(folder).output().expect("it starts"))
    };
    run("..", &inner).assert_ends(0, &["reports: ../report.html"], &[]);
    assert!(place.join("inner/report.html").is_file());
    run("../../beside", &inner).assert_ends(0, &[], &[]);
    let absolute = place.join("absolute/out");
    run(absolute.to_str().expect("a path"), &inner).assert_ends(0, &[], &[]);
    assert!(absolute.join("junit.xml").is_file());
    // A link above the current folder is the user's own.
    let outside = tempfile::TempDir::new().expect("a folder");
    symlink(place.join(""), outside.path().join("link")).expect("a link");
    let through = outside.path().join("link/inner/out");
    let elsewhere = tempfile::TempDir::new().expect("a folder");
    for folder in [outside.path(), elsewhere.path()] {
        fs::create_dir(folder.join("cases")).expect("a folder");
        fs::write(folder.join("cases/a.yaml"), place.read("cases/area/good.yaml")).expect("a file");
        fs::write(folder.join("cases/k.py"), place.read("cases/area/k.py")).expect("a file");
    }
    run(through.to_str().expect("a path"), outside.path()).assert_ends(2, &[], &["is a link to"]);
    run(through.to_str().expect("a path"), elsewhere.path()).assert_ends(0, &[], &[]);
}

#[test]
fn a_folder_that_is_read_only_keeps_its_reports() {
    let place = Place::new();
    place.run(&["--out", "r"]).assert_ends(0, &[], &[]);
    let before = place.read("r/events.jsonl");
    let set =
        |mode| fs::set_permissions(place.join("r"), fs::Permissions::from_mode(mode)).expect("permissions");
    set(0o555);
    let done = place.run(&["--out", "r"]);
    set(0o755);
    // The administrator may write everywhere.
    if done.code == Some(2) {
        done.assert_ends(
            2,
            &["NOT as expected: the reports could not be written"],
            &["error: no report is written"],
        );
        assert_eq!(place.read("r/events.jsonl"), before);
        assert!(place.join("r/report.html").is_file());
    }
}
