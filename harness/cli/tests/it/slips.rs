//! Slips of the hand and files in the wrong place: an output where an input is, a corpus as its own filter, names that mean
//! something to a shell or a glob, devices and pipes in place of files, a full disk. None of them loses anything or looks like
//! success.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::place::{BAD, Place};

#[test]
fn no_output_replaces_an_input() {
    let place = Place::new_failing();
    let kernel = "cases/area/k.py";
    let before = place.read(kernel);
    for option in ["--junit", "--github"] {
        place.run_cerith(&["check", kernel, option, kernel]).assert_ends(
            2,
            &[],
            &["a file that ends in `.py` is read, and is not replaced"],
        );
    }
    assert_eq!(place.read(kernel), before);
    place.run(&["--out", "r"]).assert_ends(1, &[], &[]);
    let stream = place.read("r/events.jsonl");
    place
        .run_cerith(&[
            "report",
            "baseline",
            "r/events.jsonl",
            "-o",
            "r/../r/events.jsonl",
        ])
        .assert_ends(
            2,
            &[],
            &["is the stream of the run, and the baseline would replace it"],
        );
    assert_eq!(place.read("r/events.jsonl"), stream);
}

#[test]
fn kept_files_replace_no_others() {
    let place = Place::new_failing();
    place.write("mine/k.py", "# not this one\n");
    let keep = ["check", "cases/area/k.py", "--engine", "reference", "--keep"];
    place.run_cerith(&[&keep[..], &["mine"]].concat()).assert_ends(
        2,
        &[],
        &["mine/k.py exists with other content"],
    );
    assert_eq!(place.read("mine/k.py"), "# not this one\n");
    for _ in 0..2 {
        let kept = place.run_cerith(&[&keep[..], &["kept"]].concat());
        assert_ne!(kept.code, Some(2), "the same files may be there: {}", kept.err);
    }
}

#[test]
fn the_corpus_is_no_filter() {
    let place = Place::new_failing();
    place.run(&["cases/"]).assert_ends(1, &["11 cases"], &[]);
    place
        .run(&["cases", "area/good"])
        .assert_ends(0, &["8 cases"], &[]);
    place.run(&["cases/area/good"]).assert_ends(0, &["8 cases"], &[]);
}

#[test]
fn a_printed_id_selects_its_case() {
    let place = Place::new();
    for name in [
        "a:b",
        "[x]",
        "br{a,b}",
        "back\\slash",
        "-dash",
        "st*r",
        "qu?",
        "a b",
    ] {
        place.write(&format!("cases/area/{name}.yaml"), BAD);
        place.write(&format!("cases/{name}.yaml"), &BAD.replace("k.py", "area/k.py"));
    }
    let list = place.run_cerith(&["list"]).assert_ends(0, &[], &[]);
    for id in list.out.lines().filter(|line| !line.starts_with('#')) {
        // As it is printed after `next:`.
        let id = if id.starts_with('-') {
            format!("./{id}")
        } else {
            id.to_owned()
        };
        let selected = place.run_cerith(&["list", &id]).assert_ends(0, &[], &[]);
        let ids: Vec<_> = selected
            .out
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect();
        assert!(ids.contains(&id.trim_start_matches("./")), "{id}: {ids:?}");
        place
            .run_cerith(&["explain", &id, "--engine", "reference"])
            .assert_ends(0, &[], &[]);
    }
    place.run(&[]).assert_ends(1, &[], &[]);
    let all = place.run_cerith(&["expect", "--accept", "--why", "because of this test"]);
    assert!(
        place.read("cases/area/a:b.yaml").contains("expect:"),
        "{}",
        all.err
    );
}

#[test]
fn a_device_or_a_pipe_is_read_as_nothing() {
    let place = Place::new();
    place.run(&[]).assert_ends(0, &[], &[]);
    fs::remove_file(place.join("reports/run/events.jsonl")).expect("removed");
    symlink("/dev/zero", place.join("reports/run/events.jsonl")).expect("linked");
    place
        .run_cerith(&["expect"])
        .assert_ends(2, &[], &["it is not a regular file"]);
    place
        .run_cerith(&["report", "reports/run/events.jsonl"])
        .assert_ends(2, &[], &["it is a device"]);
    symlink("/dev/zero", place.join("zero.py")).expect("linked");
    place
        .run_cerith(&["check", "zero.py"])
        .assert_ends(2, &[], &["it is not a regular file"]);
    File::create(place.join("large.py"))
        .and_then(|file| file.set_len(1 << 34))
        .expect("a sparse file");
    place
        .run_cerith(&["check", "large.py"])
        .assert_ends(2, &[], &["it has more than 16777216 bytes"]);
    place.run(&["--baseline", "/dev/zero"]).assert_ends(2, &[], &[]);
}

#[test]
fn a_full_disk_is_no_success() {
    let place = Place::new();
    for args in [
        &["list"][..],
        &["explain", "area/good:dtype=f32,n=10", "--engine", "reference"],
        &["run", "--engine", "reference"],
        &["help", "cases"],
        &["schema"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("a device");
        let ended = place
            .build_command(args)
            .stdout(full)
            .stderr(Stdio::null())
            .status();
        assert_eq!(ended.expect("it starts").code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_file_of_a_folder_that_cannot_be_read_fails_the_check() {
    let place = Place::new();
    let good = place
        .read("cases/area/k.py")
        .replace("past_the_end", "not_a_kernel");
    let (good, _) = good.split_at(good.find("\n\n\n@triton.jit\ndef not_a").expect("two kernels"));
    place.write("package/good.py", good);
    let check = || place.run_cerith(&["check", "package", "--engine", "reference"]);
    let alone = check();
    assert_eq!(alone.code, Some(0), "{}\n{}", alone.out, alone.err);
    place.write("package/broken.py", "import triton\n\n\n@triton.jit\ndef f(:\n");
    check().assert_ends(2, &[], &["broken.py:5"]);
    fs::write(
        place.join("package/broken.py"),
        b"# caf\xe9\n@triton.jit\ndef f():\n    pass\n",
    )
    .expect("written");
    check().assert_ends(2, &[], &["broken.py"]);
    // Files without Triton are skipped, whatever their encoding.
    fs::write(place.join("package/broken.py"), b"# caf\xe9\n").expect("written");
    check().assert_ends(0, &[], &[]);
}

#[test]
fn what_case_files_say_is_text_on_the_page_of_findings() {
    let place = Place::new();
    let found = "found: { by: fuzz, upstream: \"u\\e[2J <b>\", state: unreported }\n";
    let expect = "expect: [{ engine: reference, verdict: undefined, why: k }]\n";
    let about = "about: \"x\\e[2J\\u202e <img src=x onerror=y> [l](javascript:x)\"";
    let text = BAD.replace("about: A store past the end.", about);
    place.write("cases/area/e (x).yaml", &format!("{text}{found}{expect}"));
    place.run_cerith(&["fuzz", "trophies"]).assert_ends(0, &[], &[]);
    let page = place.read("reports/findings.md");
    for part in ["\u{1b}", "\u{202e}", "<img", "<b>", "[l](", "(x).yaml)"] {
        assert!(!page.contains(part), "{part:?} in\n{page}");
    }
    assert!(page.contains("e%20%28x%29.yaml"), "{page}");
}
