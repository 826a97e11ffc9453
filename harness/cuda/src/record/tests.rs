use std::fs;
use std::sync::Arc;

use cerith_case::{Case, Corpus, Input};
use cerith_memory::StorageId;
use cerith_tile::quirk::Family;
use cerith_tile::quirk::signature::{FailureReport, find_raised_bug};
use cerith_tile::rules::Version;
use cerith_toolchain::compiled::{Kernel, Metadata, Target};

use super::*;
use cerith_engine::job::digest;
use cerith_engine::{Complaint, Finished, Outcome, Trap};

const KERNEL: &str = "import triton\n\n\n@triton.jit\ndef k(x):\n    pass\n";
const V: Version = Version::new(3, 9, 0);

fn case_of(kernel: &str, fill: &str) -> Case {
    let yaml = format!(
        "about: x\nkernel: k.py:k\nstorages: {{ x: {{ dtype: u8, shape: [100], fill: {fill} }} }}\nlaunches: [{{ grid: 1, \
         args: [x] }}]\n"
    );
    let input = |path: &str, text: &str| Input {
        path: path.to_owned(),
        name: path.to_owned(),
        content: Ok(text.as_bytes().to_vec()),
    };
    let corpus = Corpus::load([input("area/c.yaml", &yaml), input("area/k.py", kernel)]);
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    corpus
        .entries()
        .next()
        .expect("a case")
        .resolve()
        .expect("a case")
}

fn build_finished(case: &Case, change: impl Fn(&mut [u8]), other: Option<u8>) -> Outcome {
    let mut memory = case.memory();
    change(memory.parts_mut(StorageId(0)).0);
    let unsteady = other.map(|byte| {
        let mut other = memory.clone();
        other.parts_mut(StorageId(0)).0[3] = byte;
        Box::new(other)
    });
    Outcome::Finished(Box::new(Finished {
        memory,
        tracked: None,
        unsteady,
        printed: Vec::new(),
        remark: None,
        execution: None,
    }))
}

fn build_provenance() -> Provenance {
    Provenance {
        gpu: "NVIDIA H200".to_owned(),
        driver: "13.0".to_owned(),
        triton: "3.9.0".to_owned(),
        date: "2026-11-20".to_owned(),
        cerith: "0.1.0".to_owned(),
    }
}

fn accept(store: &RecordStore, case: &Case, outcome: &Outcome, replace: bool) -> Filed {
    let record = Record::from_outcome(case, "c0ffee", outcome, 3).expect("it says something");
    let answers = store
        .accept(
            V,
            Target::HOPPER,
            vec![(record, build_provenance())],
            std::slice::from_ref(&case.id),
            replace,
        )
        .expect("written");
    answers[0].1
}

fn find(store: &RecordStore, case: &Case) -> Result<Outcome, Missing> {
    // A store of its own, so that the file is read.
    RecordStore::new(&store.folder)
        .find(V, Target::HOPPER, case)
        .expect("a good file")
        .map(|(outcome, who)| {
            assert_eq!(who, build_provenance());
            outcome
        })
}

#[test]
fn what_is_accepted_is_found_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    assert_eq!(find(&store, &case), Err(Missing::Absent));
    let noise = |bytes: &mut [u8]| {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (at * at) as u8;
        }
    };
    for outcome in [
        build_finished(&case, |bytes| bytes[7] = 1, None),
        build_finished(&case, noise, Some(0xff)),
        build_finished(&case, |_| (), None),
        Outcome::Rejected(Box::new(Complaint::new(
            "CompilationError",
            "no \"such\" thing\n",
        ))),
        Outcome::Trapped(Trap::Assert, Box::new(Complaint::new("CUDA_ERROR_ASSERT", "it"))),
        Outcome::Trapped(
            Trap::Raised,
            Box::new(Complaint::new("CUDA_ERROR_ILLEGAL_ADDRESS", "it")),
        ),
        Outcome::Exhausted(Box::new(Complaint::new("time", "10 s"))),
        Outcome::Crashed(Box::new(Complaint::new("crash", "signal 11"))),
        Outcome::Unsupported(Box::new(Complaint::new(
            "CUDA_ERROR_INVALID_VALUE",
            "shared memory",
        ))),
    ] {
        accept(&store, &case, &outcome, true);
        assert_eq!(find(&store, &case).as_ref(), Ok(&outcome));
        assert_eq!(accept(&store, &case, &outcome, false), Filed::Same);
    }
    assert!(
        Record::from_outcome(
            &case,
            "",
            &Outcome::Unavailable(Box::new(Complaint::new("x", "y"))),
            3
        )
        .is_none()
    );
}

#[test]
fn messages_are_of_no_machine() {
    let check = |message: &str, expected: &str| assert_eq!(normalize_message(message), expected);
    check("no 'to' in a/b, 0x1 and /", "no 'to' in a/b, 0x1 and /");
    check(
        "Command '['/root/x/bin/ptxas', '--gpu-name=sm_90a', '/run/w-0l/tmphp0i6j51.ptx.o']' failed: é",
        "Command '['ptxas', '--gpu-name=sm_90a', 'tmp….ptx.o']' failed: é",
    );
    check("<function sum at 0x7f04ee7c6700>", "<function sum at 0x…>");
}

#[test]
fn nothing_accepted_is_overwritten_without_review() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    let (one, two) = (
        build_finished(&case, |bytes| bytes[0] = 1, None),
        build_finished(&case, |bytes| bytes[0] = 2, None),
    );
    assert_eq!(accept(&store, &case, &one, false), Filed::New);
    assert_eq!(accept(&store, &case, &two, false), Filed::Pending);
    assert_eq!(find(&store, &case).as_ref(), Ok(&one));
    let path = store.path(Target::HOPPER, &case.id);
    let pending = path.with_extension("snap.new");
    fs::rename(&pending, &path).expect("what `cargo insta accept` does");
    assert_eq!(find(&store, &case).as_ref(), Ok(&two));
}

/// A known bug of a compiler is recognised by the failed pass or the assertion, from a record too.
#[test]
fn a_record_of_a_compilers_failure_has_its_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    let crash = |detail: Option<&str>| {
        Outcome::Crashed(Box::new(Complaint {
            detail: detail.map(str::to_owned),
            ..Complaint::new("crash", "signal 6, aborted")
        }))
    };
    let assertion = "RewriteTensorPointer.cpp:520: run(): Assertion `x' failed.";
    let detail = format!(
        "python: /root/{assertion}\nFatal Python error: Aborted\n  File \"/t/compiler.py\", line 149 in make_ttir\n"
    );
    // A record without a cause takes it.
    assert_eq!(accept(&store, &case, &crash(None), false), Filed::New);
    assert_eq!(find(&store, &case), Ok(crash(None)));
    assert_eq!(accept(&store, &case, &crash(Some(&detail)), false), Filed::Same);
    let cause = format!("{assertion}\nmake_ttir");
    let outcome = find(&store, &case).expect("a record");
    assert_eq!(outcome, crash(Some(&cause)));
    let other = detail.replace("520", "521");
    assert_eq!(accept(&store, &case, &crash(Some(&other)), false), Filed::Pending);
    let failure = FailureReport {
        kind: "crash",
        message: "signal 6, aborted",
        detail: Some(&cause),
        by_host: false,
        line: None,
        uses: &["tl.advance".to_owned()],
    };
    let bug = find_raised_bug(Family::Compiler, Version::new(3, 1, 0), failure, true);
    assert_eq!(bug.map(|bug| bug.name), Some("block-pointers-carried"));
}

#[test]
fn a_record_of_something_else_is_stale() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    accept(&store, &case, &build_finished(&case, |_| (), None), false);
    let stale = |case: &Case| match find(&store, case) {
        Err(Missing::Stale(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        stale(&case_of(&KERNEL.replace("pass", "x + 1"), "zeros")),
        "recorded of another kernel source"
    );
    assert_eq!(stale(&case_of(KERNEL, "ones")), "recorded of another layout");
    let beside = format!("{KERNEL}\n\n@triton.jit\ndef unrelated(x):\n    pass\n");
    assert!(find(&store, &case_of(&beside, "zeros")).is_ok());
    let changed = case_of(KERNEL, "ones");
    let outcome = build_finished(&changed, |bytes| bytes[0] = 9, None);
    assert_eq!(accept(&store, &changed, &outcome, false), Filed::New);
    assert_eq!(find(&store, &changed).as_ref(), Ok(&outcome));
}

#[test]
fn versions_that_agree_share_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    let (one, two) = (
        build_finished(&case, |bytes| bytes[0] = 1, None),
        build_finished(&case, |bytes| bytes[0] = 2, None),
    );
    let lines = || {
        let text = fs::read_to_string(store.path(Target::HOPPER, &case.id)).expect("a file");
        let body = text.lines().filter(|line| line.starts_with("{\"case\""));
        body.map(|line| {
            line[line.find("\"of\"").expect("versions")..line.find("\"outcome\"").expect("an outcome")]
                .to_owned()
        })
        .collect::<Vec<_>>()
    };
    let accept = |minor: u16, cubin: &str, outcome: &Outcome, replace| {
        let version = Version::new(3, minor, 0);
        let by = Provenance {
            triton: version.to_string(),
            ..build_provenance()
        };
        let record = Record::from_outcome(&case, cubin, outcome, 3).expect("it says something");
        let cases = std::slice::from_ref(&case.id);
        let answers = store.accept(version, Target::HOPPER, vec![(record, by)], cases, replace);
        answers.expect("written")[0].1
    };
    assert_eq!(accept(8, "a", &one, false), Filed::New);
    assert_eq!(accept(9, "b", &one, false), Filed::New);
    assert_eq!(accept(7, "c", &two, false), Filed::New);
    assert_eq!(
        lines(),
        [
            r#""of":[["3.9.0","b",0],["3.8.0","a",0]],"#,
            r#""of":[["3.7.0","c",0]],"#
        ]
    );
    // Nothing of the others is touched when one version is replaced.
    assert_eq!(accept(8, "d", &two, false), Filed::Pending);
    assert_eq!(accept(8, "d", &two, true), Filed::New);
    assert_eq!(
        lines(),
        [
            r#""of":[["3.9.0","b",0]],"#,
            r#""of":[["3.8.0","d",0],["3.7.0","c",0]],"#
        ]
    );
    let again = RecordStore::new(folder.path());
    for (minor, outcome) in [(9, &one), (8, &two), (7, &two)] {
        let found = again.find(Version::new(3, minor, 0), Target::HOPPER, &case);
        let (found, who) = found.expect("a good file").expect("a record");
        assert_eq!((&found, who.triton), (outcome, format!("3.{minor}.0")));
        assert!(again.holds(Version::new(3, minor, 0), Target::HOPPER));
    }
    assert!(!again.holds(Version::new(3, 6, 0), Target::HOPPER));
    assert!(!again.holds(V, Target(80)));
}

/// Records from the time when the project was called Conch.
#[test]
fn releases_are_read_as_they_are_printed() {
    let check = |text: &str, expected: Option<Release>| {
        assert_eq!(text.parse().ok(), expected, "{text}");
        if let Some(release) = expected {
            assert_eq!(release.to_string(), text);
        }
    };
    check("3.9.0", Some(V.into()));
    let ampere = Release {
        triton: V,
        target: Some(Target(80)),
    };
    check("3.9.0:sm_80", Some(ampere));
    assert_eq!(Release::new(V, Some(Target(80)), Target::HOPPER), ampere);
    assert_eq!(Release::new(V, Some(Target::HOPPER), Target::HOPPER), V.into());
    for text in ["", ":sm_80", "3.9.0:", "3.9.0:80", "3.9.0:sm_80:sm_80"] {
        check(text, None);
    }
}

#[test]
fn what_is_compiled_for_another_gpu_is_a_release_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    let ampere = Release {
        triton: V,
        target: Some(Target(80)),
    };
    let native = build_finished(&case, |bytes| bytes[7] = 1, None);
    let other = build_finished(&case, |bytes| bytes[7] = 2, None);
    accept(&store, &case, &native, false);
    let put = |outcome: &Outcome| {
        let record = Record::from_outcome(&case, "ampere", outcome, 3).expect("it says something");
        let cases = std::slice::from_ref(&case.id);
        let answers = store.accept(
            ampere,
            Target::HOPPER,
            vec![(record, build_provenance())],
            cases,
            false,
        );
        answers.expect("written")[0].1
    };
    assert!(!store.holds(ampere, Target::HOPPER));
    assert_eq!(put(&other), Filed::New);
    assert!(store.holds(ampere, Target::HOPPER));
    assert_eq!(find(&store, &case).as_ref(), Ok(&native));
    let found = store.find(ampere, Target::HOPPER, &case).expect("a good file");
    assert_eq!(found.expect("a record").0, other);

    // Outcomes that agree share a line.
    let path = store.path(Target::HOPPER, &case.id);
    fs::remove_file(&path).expect("removed");
    let store = RecordStore::new(folder.path());
    accept(&store, &case, &native, false);
    let record = Record::from_outcome(&case, "ampere", &native, 3).expect("it says something");
    let cases = std::slice::from_ref(&case.id);
    store
        .accept(
            ampere,
            Target::HOPPER,
            vec![(record, build_provenance())],
            cases,
            false,
        )
        .expect("written");
    let text = fs::read_to_string(&path).expect("a file");
    assert!(
        text.contains(r#""of":[["3.9.0","c0ffee",0],["3.9.0:sm_80","ampere",0]]"#),
        "{text}"
    );
}

#[test]
fn a_file_of_the_old_name_is_read_and_written_under_the_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    let outcome = build_finished(&case, |bytes| bytes[0] = 1, None);
    assert_eq!(accept(&store, &case, &outcome, false), Filed::New);
    let path = store.path(Target::HOPPER, &case.id);
    let new = fs::read_to_string(&path).expect("a file");
    let old = new.replace("\"cerith\":", "\"conch\":");
    assert_ne!(old, new);
    fs::write(&path, &old).expect("a file");
    assert_eq!(find(&store, &case), Ok(outcome.clone()));
    let other = build_finished(&case, |bytes| bytes[0] = 2, None);
    assert_eq!(
        accept(&RecordStore::new(folder.path()), &case, &other, true),
        Filed::New
    );
    let again = fs::read_to_string(&path).expect("a file");
    assert!(
        !again.contains("\"conch\":") && again.contains("\"cerith\":"),
        "{again}"
    );
}

#[test]
fn files_of_one_release_each_are_read_until_newer_ones_replace_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    let outcome = build_finished(&case, |bytes| bytes[0] = 1, None);
    accept(&store, &case, &outcome, false);
    // The older format: the release is in the folder's name and in `by`, and each record names its provenance.
    let new = store.path(Target::HOPPER, &case.id);
    let old = folder.path().join("3.9.0-sm_90/area/c.snap");
    let text = fs::read_to_string(&new)
        .expect("a file")
        .replace("\"date\":", "\"triton\":\"3.9.0\",\"date\":")
        .replace(r#""of":[["3.9.0","c0ffee",0]]"#, r#""cubin":"c0ffee","by":0"#);
    assert!(text.contains(r#""cubin":"c0ffee","by":0"#), "{text}");
    fs::create_dir_all(old.parent().expect("a folder")).expect("a folder");
    fs::write(&old, &text).expect("a file");
    fs::remove_file(&new).expect("removed");

    assert_eq!(find(&store, &case), Ok(outcome.clone()));
    let store = RecordStore::new(folder.path());
    assert!(store.holds(V, Target::HOPPER));
    assert!(!store.holds(Version::new(3, 8, 0), Target::HOPPER));
    assert_eq!(accept(&store, &case, &outcome, false), Filed::Same);
    let other = build_finished(&case, |bytes| bytes[0] = 2, None);
    assert_eq!(accept(&store, &case, &other, false), Filed::Pending);
    assert_eq!(accept(&store, &case, &other, true), Filed::New);
    assert_eq!(find(&store, &case), Ok(other));
    assert_eq!(fs::read_to_string(&old).expect("a file"), text);

    let nobody = text.replace("\"by\":0", "\"by\":1");
    fs::write(&old, nobody).expect("a file");
    let error = RecordStore::new(folder.path()).find(V, Target::HOPPER, &case);
    assert!(
        matches!(error, Err(StoreError::Malformed { line: 6, .. })),
        "{error:?}"
    );
}

/// A kernel of this machine code.
fn build_kernel(byte: u8) -> Arc<Kernel> {
    Arc::new(Kernel {
        cubin: vec![byte; 300].into(),
        ptx: String::new(),
        ttir: String::new(),
        metadata: Metadata {
            name: "k".to_owned(),
            num_warps: 4,
            num_ctas: 1,
            cluster_dims: None,
            shared: 0,
            global_scratch: None,
            profile_scratch: None,
            cooperative: false,
            pdl: false,
        },
    })
}

#[test]
fn a_compiler_that_makes_the_same_machine_code_gets_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    let outcome = build_finished(&case, |bytes| bytes[0] = 1, None);
    let record =
        Record::from_outcome(&case, &digest(&build_kernel(1)), &outcome, 3).expect("it says something");
    let cases = std::slice::from_ref(&case.id);
    store
        .accept(
            V,
            Target::HOPPER,
            vec![(record, build_provenance())],
            cases,
            false,
        )
        .expect("written");
    let check = |target, case: &Case, kernels: &[Arc<Kernel>], expected: Option<&Outcome>| {
        let found = RecordStore::new(folder.path()).find_made(target, case, kernels);
        assert_eq!(found.expect("a good file").as_ref(), expected);
    };
    check(Target::HOPPER, &case, &[build_kernel(1)], Some(&outcome));
    check(Target::HOPPER, &case, &[build_kernel(2)], None);
    check(Target(80), &case, &[build_kernel(1)], None);
    // A record names the code of one kernel only.
    check(Target::HOPPER, &case, &[build_kernel(1), build_kernel(2)], None);
    check(Target::HOPPER, &case, &[], None);
    // The same code for other arguments.
    check(Target::HOPPER, &case_of(KERNEL, "ones"), &[build_kernel(1)], None);
}

#[test]
fn the_projects_records_are_written_as_they_would_be() {
    let mut folders = vec![std::path::PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../snapshots/cuda"
    ))];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a text");
            let target = text
                .lines()
                .nth(2)
                .and_then(|line| line.strip_prefix("expression: "));
            let book = book::Book::read(&text).expect("records");
            let written = book.render_text(target.expect("a target")).expect("a text");
            assert!(
                written == text,
                "{} is not as it would be written",
                path.display()
            );
            files += 1;
        }
    }
    assert!(files > 700, "{files} files");
}

/// A file with a record, and then another one of the same case and release.
fn build_duplicate(second: &str) -> String {
    let by = serde_json::json!({"by": build_provenance()});
    let of = r#""case":"area/c","source":"","layout":"","of":[["3.9.0","",0]]"#;
    format!("---\n---\n{by}\n{{{of},\"outcome\":\"finished\",\"times\":2}}\n{{{of},{second}}}\n")
}

#[test]
fn a_broken_file_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RecordStore::new(folder.path());
    let case = case_of(KERNEL, "zeros");
    let path = store.path(Target::HOPPER, &case.id);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    for (text, expected) in [
        ("", "line 1: not a snapshot"),
        ("---\nx: y\n---\n{\"case\":1}\n", "line 4: "),
        (
            "---\n---\n{\"case\":\"area/c\",\"source\":\"\",\"layout\":\"\",\"of\":[[\"3.9.0\",\"\",0]],\"outcome\":\"finished\",\"times\":1}\n",
            "line 3: the record has no provenance",
        ),
        (
            build_duplicate(r#""outcome":"finished","times":1"#).as_str(),
            "line 5: a second record of `area/c` under 3.9.0 contradicts that of line 4",
        ),
        (
            build_duplicate(r#""outcome":"crashed","kind":"","message":"x""#)
                .replace(r#"["3.9.0","",0]"#, r#"["3.8.0","",0],["3.9.0","",0]"#)
                .as_str(),
            "line 5: a second record of `area/c` under 3.8.0 contradicts that of line 4",
        ),
    ] {
        fs::write(&path, text).expect("written");
        let error = RecordStore::new(folder.path())
            .find(V, Target::HOPPER, &case)
            .expect_err("broken")
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_record_gives_each_byte_once_and_inside_of_memory() {
    let case = case_of(KERNEL, "zeros");
    for (changed, expected) in [
        (r#"[["x",0,"0102"],["x",2,"03"]]"#, None),
        (r#"[["x",0,"0102"],["x",1,"03"]]"#, Some("bytes of `x` twice")),
        (
            r#"[["x",4,"01"],["x",0,"0101010101"]]"#,
            Some("bytes of `x` twice"),
        ),
        (r#"[["x",9223372036854775807,"01"]]"#, Some("bytes before `x`")),
        (r#"[["x",4611686018427387904,"01"]]"#, Some("bytes after `x`")),
    ] {
        let changed: Vec<change::Change> = serde_json::from_str(changed).expect("changes");
        let applied = change::apply(&changed, &mut case.memory());
        let message = applied.err().map(|error| error.to_string());
        assert_eq!(message.as_deref(), expected);
    }
}
