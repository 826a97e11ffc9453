//! The whole corpus with every byte spoiled that another engine changed: none of it may be called right.
//!
//! An engine gives what the reference gives, with all bits of every second place turned over in what the launches wrote. What
//! is then not called a difference is in the snapshot `spoiled`, file by file with the reason: programs that have no answer,
//! and bytes whose value nobody can hold anybody to. The same trials ask for the intervals of every case, and the reference
//! must hold to all of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use cerith_case::{Case, Corpus, Entry, Filter, Shard, VerdictKind};
use cerith_engine::{Capabilities, Engine, EngineId, Failure, Outcome, Preparation, Prepared, Reference};
use cerith_memory::ByteState;
use cerith_tile::rules::Rules;
use cerith_verdict::{Panel, try_case};

/// Bytes of stack, as a job of the command line has.
const STACK: usize = 64 << 20;

/// What is turned over in each byte.
const SPOILED: u8 = 0x55;

struct Spoiling(EngineId, Arc<Reference>);

impl Engine for Spoiling {
    fn id(&self) -> &EngineId {
        &self.0
    }

    fn capabilities(&self) -> &Capabilities {
        self.1.capabilities()
    }

    fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure> {
        Ok(match self.1.prepare(case, rules)? {
            Preparation::Ready(ready) => Preparation::Ready(Box::new(Spoil(ready))),
            ended @ Preparation::Ended(_) => ended,
        })
    }
}

struct Spoil(Box<dyn Prepared>);

impl Prepared for Spoil {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let before = case.memory();
        let mut outcome = self.0.launch(case)?;
        if let Outcome::Finished(finished) = &mut outcome {
            finished.tracked = None;
            for id in before.ids() {
                let (old, was) = (before.bytes(id).to_vec(), before.states(id).to_vec());
                let (bytes, states) = finished.memory.parts_mut(id);
                for at in 0..bytes.len() {
                    let written =
                        states[at] != ByteState::Uninit && (was[at] != states[at] || old[at] != bytes[at]);
                    if written {
                        bytes[at] ^= SPOILED;
                    }
                    states[at] = ByteState::Init;
                }
            }
        }
        Ok(outcome)
    }
}

/// What became of a spoiled case: nothing where it is called a difference, or where nothing was there to spoil.
fn spared(entry: &Entry, panel: &Panel) -> Option<String> {
    let case = entry
        .resolve()
        .unwrap_or_else(|problems| panic!("{}: {problems:#?}", entry.id));
    let trial = try_case(&case, panel).expect("nobody stops it");
    assert_eq!(trial.failed, [], "{}", entry.id);
    let own = trial.references.first()?.outcome.finished();
    let verdict = &trial.verdict;
    if own.is_none() || verdict.kind == VerdictKind::Differ {
        return None;
    }
    let before = case.memory();
    let written = own.is_some_and(|own| {
        before
            .ids()
            .any(|id| (before.bytes(id), before.states(id)) != (own.memory.bytes(id), own.memory.states(id)))
    });
    if !written {
        return None;
    }
    let why = match (&verdict.reason, verdict.vacuous) {
        // The line of a kernel moves.
        (Some(reason), _) => reason.split(", at ").next().unwrap_or_default().to_owned(),
        (None, true) => "vacuous: nothing that it wrote has a defined value".to_owned(),
        (None, false) => "every byte is undefined or accepted".to_owned(),
    };
    Some(format!("{}: {why}", verdict.kind))
}

#[test]
fn nothing_spoiled_is_called_right() {
    let corpus = Corpus::read(Path::new("../../cases")).expect("a folder");
    let all = Filter::default();
    let entries: Vec<Entry> = corpus.select(&all, Shard::ALL).collect();
    let jobs = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let found: Vec<(String, String)> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs)
            .map(|job| {
                let entries = &entries;
                let work = move || -> Vec<(String, String)> {
                    let reference = Arc::new(Reference::default());
                    let id = "interpret@3.9.0".parse().expect("an engine");
                    let spoiling = Spoiling(id, Arc::clone(&reference));
                    let panel = Panel::new(Some(reference), vec![Arc::new(spoiling)]);
                    let own = entries.iter().skip(job).step_by(jobs);
                    own.filter_map(|entry| Some((entry.file().id.clone(), spared(entry, &panel)?)))
                        .collect()
                };
                thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, work)
                    .expect("a thread")
            })
            .collect();
        jobs.into_iter()
            .flat_map(|job| job.join().expect("no panic"))
            .collect()
    });
    let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
    for one in found {
        *counts.entry(one).or_default() += 1;
    }
    let mut text = String::new();
    for ((file, what), count) in counts {
        let _ = writeln!(text, "{file}, {count} times {what}");
    }
    insta::with_settings!({snapshot_path => "../../../../snapshots/verdict", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("spoiled", text);
    });
}
