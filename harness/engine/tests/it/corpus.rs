//! The reference's outcome of every case of the corpus, the IR of a sample, and every way to stop, compared with the accepted
//! snapshots.
//!
//! A snapshot is a case file. A case in it is its outcome: for every changed storage its first elements, the number of bytes
//! without a defined value and a hash of all bytes; or the diagnostic as a user sees it. If the outcome is different under the
//! oldest rules, it follows. `cargo insta review` asks about each difference, `INSTA_UPDATE=always cargo test -p cerith-engine`
//! accepts the current outcomes. A snapshot whose case file is gone is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;

use cerith_case::{Case, Corpus, Entry, Filter, Shard};
use cerith_engine::{Engine, Finished, Outcome, Reference};
use cerith_interp::TrapKind;
use cerith_memory::{ByteState, Memory, Part, StorageId};
use cerith_tile::numeric;
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::{Rules, Version};

/// Elements of a storage that are shown.
const MAX_ELEMENTS: usize = 6;

/// Bytes of stack, as a job of the command line has: kernels are nested text, and walking them is recursive.
const STACK: usize = 64 << 20;

/// The oldest rules, beside the newest.
const OLDEST: Version = Version::new(3, 0, 0);

/// Case files whose first case is printed as IR.
const SAMPLE: [&str; 14] = [
    "alias/same_twice",
    "atomic/cas",
    "control_flow/nested_loops",
    "dot/matmul",
    "dtype/bf16_binary",
    "import/launch_tuned_heuristics",
    "launch/closure",
    "layout/split_columns",
    "mask/other",
    "math/fma",
    "pointer/load_through",
    "reduction/custom_pair",
    "scalar/while_counter",
    "shape/join_split",
];

static ALL: LazyLock<Filter> = LazyLock::new(Filter::default);

static CORPUS: LazyLock<Corpus> = LazyLock::new(|| open("../../cases"));

/// A corpus by its path from this crate, where cargo runs its tests.
fn open(folder: &str) -> Corpus {
    let corpus = Corpus::read(Path::new(folder)).expect("a folder");
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    corpus
}

fn resolve(entry: &Entry) -> Case {
    entry
        .resolve()
        .unwrap_or_else(|problems| panic!("{}: {problems:#?}", entry.id))
}

/// Holds each text against the snapshot of its name, and the folder against the names. Every difference is left for
/// `cargo insta review`, and only then the test fails.
fn accept(folder: &str, texts: &BTreeMap<String, String>) {
    let mut wrong = Vec::new();
    for (name, text) in texts {
        let path = format!("../../../../snapshots/{folder}");
        let held = catch_unwind(AssertUnwindSafe(|| {
            insta::with_settings!({snapshot_path => path, prepend_module_to_snapshot => false, omit_expression => true}, {
                insta::assert_snapshot!(name.as_str(), text);
            });
        }));
        if held.is_err() {
            wrong.push(format!("{name} differs"));
        }
    }
    for file in fs::read_dir(locate_snapshots().join(folder)).expect("a folder of snapshots") {
        let name = file.expect("a snapshot").file_name();
        let name = name.to_string_lossy();
        if let Some(stem) = name.strip_suffix(".snap")
            && !texts.contains_key(stem)
        {
            wrong.push(format!("{stem} is left over: remove snapshots/{folder}/{name}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn locate_snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots")
}

/// A case file's snapshot.
fn name_snapshot(entry: &Entry) -> String {
    entry.file().id.replace('/', "__")
}

#[test]
fn every_case_ends_as_accepted() {
    let reference = Reference::default();
    let entries: Vec<Entry> = CORPUS.select(&ALL, Shard::ALL).collect();
    let jobs = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut texts: Vec<(usize, String)> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs)
            .map(|job| {
                let (reference, entries) = (&reference, &entries);
                let work = move || -> Vec<(usize, String)> {
                    let own = entries.iter().enumerate().skip(job).step_by(jobs);
                    own.map(|(number, entry)| (number, describe_outcomes(reference, entry)))
                        .collect()
                };
                thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, work)
                    .expect("a thread")
            })
            .collect();
        jobs.into_iter()
            .flat_map(|job| job.join().expect("no case panics"))
            .collect()
    });
    texts.sort_unstable_by_key(|(number, _)| *number);
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (number, text) in texts {
        files
            .entry(name_snapshot(&entries[number]))
            .or_default()
            .push_str(&text);
    }
    accept("corpus", &files);
}

/// An expectation that names a quirk is met only by the engine's bytes, so a run compares the model with them.
#[test]
fn every_quirk_is_held_to_an_engine() {
    // A scenario of `cerith` (`library-function-is-none`) shows it.
    let mut named = Quirks::NONE.with_quirk(Quirk::LibraryGivesNone);
    for entry in CORPUS.entries() {
        let case = resolve(&entry);
        let quirks = case.expectations.iter().flat_map(|one| one.quirks.iter());
        named = quirks.fold(named, Quirks::with_quirk);
    }
    let unheld: Vec<Quirk> = Quirk::ALL
        .iter()
        .copied()
        .filter(|&quirk| !named.has(quirk))
        .collect();
    assert_eq!(unheld, []);
}

/// A trace that was made for other quirks is used only where it is the same.
#[test]
fn traces_that_sets_of_quirks_share_are_the_same() {
    const STEP: usize = 37;
    let shared = Reference::default();
    let rules = Rules::from_version(Version::NEWEST);
    for entry in CORPUS.entries().step_by(STEP) {
        let case = resolve(&entry);
        for launch in &case.launches {
            for &quirk in Quirk::ALL {
                let of = |reference: &Reference| {
                    let rules = rules.with_quirks(Quirks::NONE.with_quirk(quirk));
                    let kernel = reference.trace_kernel(launch, rules).expect("it can be traced");
                    kernel.ok().map(|kernel| kernel.traced.function.clone())
                };
                let (one, other) = (of(&shared), of(&Reference::default()));
                assert!(one == other, "{}: {quirk:?}", case.id);
            }
        }
    }
}

/// A case's text: its point, what the newest rules give, and what the oldest do where that is something else.
fn describe_outcomes(reference: &Reference, entry: &Entry) -> String {
    let case = resolve(entry);
    let run = |version| {
        let run = reference
            .run(&case, Rules::from_version(version))
            .unwrap_or_else(|error| panic!("{}: failed to {error}", case.id));
        describe(&case, &run.outcome)
    };
    let (newest, oldest) = (run(Version::NEWEST), run(OLDEST));
    let point = case.id.split_once(':').map_or("all", |(_, point)| point);
    let mut text = format!("{point}\n{newest}");
    if oldest != newest {
        let _ = write!(text, "  under the rules of {OLDEST}\n{oldest}");
    }
    text
}

fn describe(case: &Case, outcome: &Outcome) -> String {
    let lines = match outcome {
        Outcome::Finished(finished) => finished_lines(case, finished),
        other => {
            let complaint = other.complaint().expect("a complaint");
            let detail = complaint.detail.as_ref().unwrap_or(&complaint.message);
            // Paths begin at this crate; a reader's begin at the root.
            format!("{}\n{}", other.kind(), detail.replace("../../cases/", "cases/"))
        }
    };
    let mut text = String::new();
    for line in lines.lines() {
        let _ = writeln!(text, "{}", format!("    {line}").trim_end());
    }
    text
}

fn finished_lines(case: &Case, finished: &Finished) -> String {
    let before = case.memory();
    let mut text = "finished".to_owned();
    for id in before.ids() {
        let after = &finished.memory;
        if !before.has_same(after, id) {
            write_storage(&mut text, case, after, id);
        }
        if before.guards(id) != after.guards(id) {
            let _ = write!(text, "\nthe guard zones of {} changed", after.name(id));
        }
    }
    for line in &finished.printed {
        let _ = write!(text, "\nprinted {line}");
    }
    if let Some(remark) = &finished.remark {
        let detail = remark.detail.as_ref().unwrap_or(&remark.message);
        let _ = write!(text, "\n{}", detail.replace("../../cases/", "cases/"));
    }
    text
}

fn write_storage(text: &mut String, case: &Case, memory: &Memory, id: StorageId) {
    let _ = write!(text, "\n{} =", memory.name(id));
    for part in memory.parts(id) {
        if memory.is_sparse(id) {
            let _ = write!(text, "\n  from byte {}", part.offset);
        }
        write_part(text, case, id, &part);
    }
}

fn write_part(text: &mut String, case: &Case, id: StorageId, part: &Part<'_>) {
    let (bytes, states) = (&*part.bytes, &*part.states);
    // Copies that a tensor's expression made are declared nowhere.
    if let Some(declared) = case.declared.get(id.0 as usize) {
        let size = declared.dtype.size();
        let elements = bytes.chunks_exact(size).zip(states.chunks_exact(size));
        for (element, known) in elements.take(MAX_ELEMENTS) {
            let bits = element
                .iter()
                .rev()
                .fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
            let shown = if known.iter().all(|&state| state == ByteState::Init) {
                numeric::format(declared.dtype, bits)
            } else {
                "?".to_owned()
            };
            let _ = write!(text, " {shown}");
        }
        if bytes.len() > size * MAX_ELEMENTS {
            text.push_str(" …");
        }
    }
    let undefined = states.iter().filter(|&&state| state != ByteState::Init).count();
    if undefined > 0 {
        let _ = write!(text, ", {undefined} bytes undefined");
    }
    // FNV-1a. A byte without a value counts as its state, so that where it is matters and what is in it does not.
    let hash = bytes
        .iter()
        .zip(states)
        .map(|(&byte, &state)| match state {
            ByteState::Init => u64::from(byte),
            ByteState::Uninit => 0x100,
            ByteState::Poison => 0x200,
        })
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| {
            (hash ^ word).wrapping_mul(0x0100_0000_01b3)
        });
    let _ = write!(text, ", #{hash:016x}");
}

#[test]
fn a_change_of_any_byte_shows() {
    let reference = Reference::default();
    for file in ["layout/split_columns", "pointer/load_through", "alias/in_place"] {
        let entry = find_first(&CORPUS, file);
        let case = resolve(&entry);
        let run = reference.run(&case, Rules::default()).expect("no bug of ours");
        let Outcome::Finished(finished) = &run.outcome else {
            panic!("{}: {:?}", case.id, run.outcome);
        };
        let accepted = finished_lines(&case, finished);
        let mut changed = finished.clone();
        let mut shows = |change: &dyn Fn(&mut Memory), what: &str| {
            change(&mut changed.memory);
            assert_ne!(finished_lines(&case, &changed), accepted, "{}: {what}", case.id);
            changed.memory.clone_from(&finished.memory);
        };
        for id in finished.memory.ids() {
            for at in 0..finished.memory.size(id) {
                let what = format!("byte {at} of {}", finished.memory.name(id));
                if finished.memory.states(id)[at] == ByteState::Init {
                    shows(&|memory| memory.parts_mut(id).0[at] ^= 0x10, &what);
                    shows(&|memory| memory.parts_mut(id).1[at] = ByteState::Poison, &what);
                } else {
                    shows(&|memory| memory.parts_mut(id).1[at] = ByteState::Init, &what);
                }
            }
        }
        let arena = finished.memory.arena().0.len();
        for at in [0, arena - 1] {
            shows(&|memory| memory.arena_mut().0[at] ^= 1, "a guard zone");
        }
    }
}

#[test]
fn a_sample_is_traced_to_the_accepted_ir() {
    let reference = Reference::default();
    let texts = SAMPLE.map(|file| {
        let entry = find_first(&CORPUS, file);
        let case = resolve(&entry);
        let kernel = reference
            .trace_kernel(&case.launches[0], Rules::default())
            .expect("no bug of ours")
            .unwrap_or_else(|refused| panic!("{}: {refused:?}", case.id));
        (
            name_snapshot(&entry),
            format!("{}\n{}", case.id, kernel.traced.function),
        )
    });
    accept("ir", &texts.into());
}

fn find_first(corpus: &Corpus, file: &str) -> Entry {
    corpus
        .entries()
        .find(|entry| entry.file().id == file)
        .unwrap_or_else(|| panic!("no case file {file}"))
}

#[test]
fn every_way_to_stop_is_told_as_accepted() {
    let reference = Reference::default();
    let mut texts = BTreeMap::new();
    let mut kinds = BTreeSet::new();
    for entry in open("tests/traps").entries() {
        let case = resolve(&entry);
        let run = reference.run(&case, Rules::default()).expect("no bug of ours");
        let complaint = run.outcome.complaint().expect("it does not finish");
        kinds.insert(complaint.kind.clone());
        texts.insert(complaint.kind.replace('-', "_"), describe(&case, &run.outcome));
    }
    for kind in TrapKind::ALL {
        assert!(kinds.contains(kind.code()), "nothing ends with {kind}");
    }
    accept("traps", &texts);
}

/// The snapshots of every crate together show every diagnostic that the sources can give.
#[test]
fn every_diagnostic_is_in_a_snapshot() {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = Vec::new();
    for name in [
        "tile", "memory", "language", "frontend", "interp", "accept", "case",
    ] {
        collect_files(&harness.join(name).join("src"), "rs", &mut sources);
    }
    let mut held = Vec::new();
    collect_files(&locate_snapshots(), "snap", &mut held);
    let held: String = held.iter().map(|path| read(path)).collect();
    let mut codes = BTreeSet::new();
    for path in sources {
        if path.file_name().is_some_and(|name| name == "tests.rs") {
            continue;
        }
        let text = read(&path);
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for call in [
            "Diagnostic::error(",
            "Diagnostic::warning(",
            "reject_with(",
            ".diagnostic(",
        ] {
            for rest in text.split(call).skip(1) {
                let code = rest
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|rest| rest.split_once('"'));
                codes.extend(code.map(|(code, _)| code.to_owned()));
            }
        }
    }
    // A bug of ours; no input is known that leads to it.
    codes.remove("internal");
    assert!(codes.len() > 40, "{codes:?}");
    let missing: Vec<&String> = codes
        .iter()
        .filter(|code| !held.contains(&format!("[{code}]")))
        .collect();
    assert!(missing.is_empty(), "in no snapshot: {missing:?}");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn collect_files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect_files(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}
