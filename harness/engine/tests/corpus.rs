//! The reference's outcome of every case of the corpus, and the IR of a sample, held against what was accepted.
//!
//! A case is a line: its outcome, and for every storage that changed its first elements, how many bytes have no
//! defined value, and a hash of all defined ones. `INSTA_UPDATE=always cargo test -p conch-engine` accepts what is
//! there now; `cargo insta review` asks one by one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use conch_case::{Case, Corpus, Entry, Filter, Shard};
use conch_engine::{Engine, Outcome, Reference};
use conch_memory::{ByteState, Memory, StorageId};
use conch_tile::numeric;
use conch_tile::rules::Rules;

/// Elements of a storage that a line shows.
const SHOWN: usize = 6;

fn corpus() -> Corpus {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let corpus = Corpus::read(&root).expect("the corpus");
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    corpus
}

fn cases(corpus: &Corpus) -> impl Iterator<Item = (Entry, Case)> {
    corpus.select(&ALL, Shard::ALL).map(|entry| {
        let case = entry
            .resolve()
            .unwrap_or_else(|problems| panic!("{}: {problems:#?}", entry.id));
        (entry, case)
    })
}

static ALL: std::sync::LazyLock<Filter> = std::sync::LazyLock::new(Filter::default);

fn accept(folder: &str, name: &str, text: &str) {
    let path = format!("../../../snapshots/{folder}");
    insta::with_settings!({snapshot_path => path, prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn every_case_ends_as_accepted() {
    let corpus = corpus();
    let reference = Reference::default();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (entry, case) in cases(&corpus) {
        let run = reference
            .run(&case, Rules::default())
            .unwrap_or_else(|error| panic!("{}: failed to {error}", case.id));
        let text = files.entry(entry.file().id.replace('/', "__")).or_default();
        let point = case.id.split_once(':').map_or("all", |(_, point)| point);
        let _ = writeln!(text, "{point}\n    {}", outcome(&case, &run.outcome));
    }
    assert!(files.len() >= 60, "only {} case files", files.len());
    for (name, text) in files {
        accept("corpus", &name, &text);
    }
}

fn outcome(case: &Case, outcome: &Outcome) -> String {
    let Outcome::Finished(finished) = outcome else {
        let complaint = outcome.complaint().expect("a complaint");
        let place = complaint
            .position
            .as_ref()
            .map_or(String::new(), |at| format!(" at {}:{}", at.line, at.column));
        return format!(
            "{}, {}: {}{place}",
            outcome.kind(),
            complaint.kind,
            complaint.message
        );
    };
    let before = case.memory();
    let mut text = "finished".to_owned();
    for id in before.ids() {
        let changed =
            before.bytes(id) != finished.memory.bytes(id) || before.states(id) != finished.memory.states(id);
        if changed {
            text.push_str(&storage(case, &finished.memory, id));
        }
    }
    for line in finished.printed.iter().take(4) {
        let _ = write!(text, "\n    printed {line}");
    }
    text
}

fn storage(case: &Case, memory: &Memory, id: StorageId) -> String {
    let (bytes, states) = (memory.bytes(id), memory.states(id));
    let mut text = format!("\n    {} =", memory.name(id));
    if let Some(declared) = case.declared.get(id.0 as usize) {
        let size = declared.dtype.size();
        for (element, known) in bytes
            .chunks_exact(size)
            .zip(states.chunks_exact(size))
            .take(SHOWN)
        {
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
        if bytes.len() > size * SHOWN {
            text.push_str(" …");
        }
    }
    let undefined = states.iter().filter(|&&state| state != ByteState::Init).count();
    if undefined > 0 {
        let _ = write!(text, ", {undefined} bytes undefined");
    }
    // FNV-1a, over what is defined.
    let hash = bytes
        .iter()
        .zip(states)
        .filter(|(_, state)| **state == ByteState::Init)
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, (&byte, _)| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let _ = write!(text, ", #{hash:016x}");
    text
}

#[test]
fn a_sample_is_traced_to_the_accepted_ir() {
    let corpus = corpus();
    let reference = Reference::default();
    let mut seen: Vec<String> = Vec::new();
    for (entry, case) in cases(&corpus) {
        // The first case of every area that launches something.
        let Some(launch) = case.launches.first() else {
            continue;
        };
        if seen.iter().any(|area| area == case.area()) {
            continue;
        }
        seen.push(case.area().to_owned());
        let kernel = reference
            .kernel(launch, Rules::default())
            .expect("no bug of ours");
        if let Ok(kernel) = kernel {
            let text = format!("{}\n{}", case.id, kernel.traced.function);
            accept("ir", &entry.file().id.replace('/', "__"), &text);
        }
    }
    assert!(seen.len() >= 9, "{seen:?}");
}
