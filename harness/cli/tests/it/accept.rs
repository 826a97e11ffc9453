//! `cerith accept` on the command line: recorded results, rejected results, and results that wait for a review.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cerith_case::{Case, Corpus};
use cerith_cuda::GpuHeader;
use cerith_cuda::bundle::{Decided, Label, Provenance, ResultEntry, Writer};
use cerith_cuda::record::Record;
use cerith_engine::job::Ran;
use cerith_engine::{Complaint, Outcome};
use cerith_toolchain::compiled::Target;
use tempfile::TempDir;

const KERNEL: &str = "import triton\n\n\n@triton.jit\ndef k(x):\n    pass\n";
const CASE: &str = "about: Nothing is done.
kernel: k.py:k
storages: { x: { dtype: u8, shape: [8], fill: zeros } }
launches: [{ grid: 1, args: [x] }]
";

/// A folder with a corpus of one case.
fn create_corpus() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let area = folder.path().join("cases/area");
    fs::create_dir_all(&area).expect("a folder");
    fs::write(area.join("c.yaml"), CASE).expect("a file");
    fs::write(area.join("k.py"), KERNEL).expect("a file");
    folder
}

fn read_case(folder: &Path) -> Case {
    let corpus = Corpus::read(&folder.join("cases")).expect("a corpus");
    corpus
        .entries()
        .next()
        .expect("a case")
        .resolve()
        .expect("a case")
}

fn label(case: &Case) -> Label {
    Label {
        case: case.id.clone(),
        variant: None,
        engine: "cuda@3.9.0".parse().expect("an engine"),
        target: Target::HOPPER,
        source: case.source_hash().to_string(),
        layout: case.layout_hash().to_string(),
        cubins: vec!["c0ffee".to_owned()],
    }
}

fn build_provenance() -> Provenance {
    Provenance {
        gpu: GpuHeader {
            name: "NVIDIA H200".to_owned(),
            driver: "580.159.04".to_owned(),
            cuda: 13000,
            capability: 90,
            count: 1,
        },
        repetitions: 3,
        time_limit: 10_000,
    }
}

/// Results of launches that left `byte` in the first byte of the storage.
fn write_results(folder: &Path, labels: &[Label], byte: u8) {
    let case = read_case(folder);
    let mut memory = case.memory();
    let id = memory.ids().next().expect("a storage");
    memory.parts_mut(id).0[0] = byte;
    let mut writer = Writer::begin_results(Vec::new(), build_provenance()).expect("it is memory");
    for label in labels {
        let entry = ResultEntry {
            label: label.clone(),
            ran: Ran::Finished {
                arena: memory.arena().0.to_vec(),
                different_arena: None,
                repetitions: 3,
            },
        };
        writer.add_result(&entry).expect("it is memory");
    }
    let bytes = writer.finish().expect("it is memory");
    fs::write(folder.join("results.cerith"), bytes).expect("a file");
}

fn accept(folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(["accept", "results.cerith"])
        .args(more)
        .current_dir(folder)
        .output()
        .expect("cerith starts")
}

#[track_caller]
fn check(folder: &Path, more: &[&str], exit: i32, wanted: &str) {
    let output = accept(folder, more);
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(exit), "{said}");
    assert!(said.contains(wanted), "{said}");
}

fn record(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join("snapshots/cuda/sm_90/area/c.snap")).ok()
}

/// A case that ended during compilation is already a record, and has a name in addition to its label's.
#[test]
fn a_record_of_something_else_than_its_label_is_refused_and_written_nowhere() {
    let folder = create_corpus();
    let outside = folder.path().join("outside");
    let folder = folder.path();
    let case = read_case(folder);
    let rejected = Outcome::Rejected(Box::new(Complaint::new("CompilationError", "no")));
    let good = Record::from_outcome(&case, "", &rejected, 1).expect("it says something");
    let decided = |record: Record| {
        let mut writer = Writer::begin_results(Vec::new(), build_provenance()).expect("it is memory");
        writer
            .add_decided(&Decided {
                label: label(&case),
                record,
            })
            .expect("it is memory");
        fs::write(
            folder.join("results.cerith"),
            writer.finish().expect("it is memory"),
        )
        .expect("a file");
    };
    let another = "its record does not belong to its label: area/c";
    for name in ["../../../outside/c", "/tmp/outside/c", "area/d"] {
        let mut record = good.clone();
        record.case = name.to_owned();
        decided(record);
        check(folder, &[], 2, another);
    }
    let mut other = good.clone();
    other.layout = "0".repeat(16);
    decided(other);
    check(folder, &[], 2, another);
    assert!(!outside.exists());
    assert_eq!(record(folder), None);
    decided(good);
    check(folder, &[], 0, "records: ");
}

#[test]
fn a_result_of_something_else_is_refused_and_the_others_are_not() {
    let folder = create_corpus();
    let folder = folder.path();
    let good = label(&read_case(folder));
    let stranger = Label {
        case: "area/stranger".to_owned(),
        ..good.clone()
    };
    write_results(folder, std::slice::from_ref(&stranger), 1);
    check(
        folder,
        &[],
        2,
        "refused, there is no such case in the corpus: area/stranger",
    );
    assert_eq!(record(folder), None);

    let edited = Label {
        source: "0".repeat(64),
        ..good.clone()
    };
    write_results(folder, &[edited], 1);
    check(
        folder,
        &[],
        2,
        "refused, the kernel has changed since it was bundled: area/c",
    );
    let moved = Label {
        layout: "0".repeat(64),
        ..good.clone()
    };
    write_results(folder, &[moved], 1);
    check(
        folder,
        &[],
        2,
        "refused, the layout has changed since it was bundled: area/c",
    );
    let interpreted = Label {
        engine: "interpret@3.9.0".parse().expect("an engine"),
        ..good.clone()
    };
    write_results(folder, &[interpreted], 1);
    check(
        folder,
        &[],
        2,
        "refused, outcomes of interpret@3.9.0 are not recorded: area/c",
    );
    assert_eq!(record(folder), None);

    write_results(folder, &[stranger, good], 1);
    check(folder, &[], 2, "1 recorded");
    assert!(record(folder).is_some());
}

#[test]
fn what_is_on_record_waits_for_a_review() {
    let folder = create_corpus();
    let folder = folder.path();
    let labels = [label(&read_case(folder))];
    write_results(folder, &labels, 1);
    check(
        folder,
        &[],
        0,
        "cuda@3.9.0 sm_90: 1 recorded, 0 unchanged, 0 that differ",
    );
    let first = record(folder);
    check(folder, &[], 0, "0 recorded, 1 unchanged");

    write_results(folder, &labels, 2);
    check(folder, &[], 1, "not overwritten: area/c");
    assert_eq!(record(folder), first);
    let pending = folder.join("snapshots/cuda/sm_90/area/c.snap.new");
    assert!(pending.is_file());
    check(folder, &["--replace"], 0, "1 recorded");
    assert_ne!(record(folder), first);
    assert!(!pending.exists());
}

#[test]
fn of_a_damaged_file_nothing_is_put_on_record() {
    let folder = create_corpus();
    let folder = folder.path();
    write_results(folder, &[label(&read_case(folder))], 1);
    let path = folder.join("results.cerith");
    let mut bytes = fs::read(&path).expect("a file");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).expect("a file");
    check(folder, &[], 2, "is damaged");
    bytes[8] = 9;
    fs::write(&path, &bytes).expect("a file");
    check(folder, &[], 2, "its format is version 9");
    fs::write(&path, b"PK\x03\x04").expect("a file");
    check(folder, &[], 2, "this is not a file that Cerith wrote");
    assert_eq!(record(folder), None);
}
