//! The contents of bundles of a sweep's results, by case.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cerith_case::{Case, Entry, Shard, Variant};
use cerith_cuda::bundle::{BundleError, Label, Reader, Unexecuted};
use cerith_cuda::record::Record;
use cerith_engine::job::Ran;
use cerith_engine::{EngineId, Failure};
use cerith_report::event::{Problem, Severity};
use cerith_verdict::{Sample, Samples};

use super::{SweepError, Trouble, add_sample};
use crate::corpus::Selected;

/// Most ids that are named in one message.
const MAX_NAMED_IDS: usize = 5;

/// All results, by engine and case.
pub(super) struct Pile {
    engines: Vec<EngineId>,
    groups: HashMap<String, BTreeMap<usize, Group>>,
    axes: BTreeSet<String>,
    refused: BTreeMap<String, BTreeSet<String>>,
}

/// The results of one case and engine, in the order of the files.
#[derive(Default)]
struct Group {
    results: Vec<(Variant, Digests, VariantResult)>,
    /// Memory that several variants left, stored once.
    arenas: Vec<Arc<[u8]>>,
}

/// The digests of the kernel's source and of the layout.
type Digests = [String; 2];

enum VariantResult {
    Finished {
        arena: Arc<[u8]>,
        other_arena: Option<Arc<[u8]>>,
        repetitions: u32,
    },
    Ended(Ran),
    Decided(Box<Record>),
    Same(Variant),
    NotApplicable(String),
}

impl Group {
    fn keep(&mut self, arena: Vec<u8>) -> Arc<[u8]> {
        if let Some(known) = self.arenas.iter().find(|known| ***known == *arena) {
            return Arc::clone(known);
        }
        let arena: Arc<[u8]> = arena.into();
        self.arenas.push(Arc::clone(&arena));
        arena
    }

    /// Adds a variant's result. Results from several files must be equal; otherwise the variant is not deterministic.
    fn add(&mut self, variant: Variant, digests: Digests, said: VariantResult) {
        let Some((_, _, known)) = self.results.iter_mut().find(|(known, ..)| *known == variant) else {
            self.results.push((variant, digests, said));
            return;
        };
        if let (
            VariantResult::Finished {
                arena,
                other_arena: other,
                ..
            },
            VariantResult::Finished { arena: again, .. },
        ) = (known, said)
            && other.is_none()
            && *arena != again
        {
            *other = Some(again);
        }
    }
}

impl Pile {
    /// Reads files of results; of all engines, or of those that are wanted.
    pub(super) fn read(
        paths: &[PathBuf],
        wanted: &[EngineId],
        selected: &Selected,
    ) -> Result<Self, SweepError> {
        let known: HashSet<String> = selected.corpus.entries().map(|entry| entry.id).collect();
        let meant: HashSet<String> = selected.entries(Shard::ALL).map(|entry| entry.id).collect();
        let mut pile = Self {
            engines: Vec::new(),
            groups: HashMap::new(),
            axes: BTreeSet::new(),
            refused: BTreeMap::new(),
        };
        for path in paths {
            pile.read_file(path, wanted, &known, &meant)
                .map_err(|error| SweepError::Results {
                    path: path.clone(),
                    error,
                })?;
        }
        Ok(pile)
    }

    fn read_file(
        &mut self,
        path: &Path,
        wanted: &[EngineId],
        known: &HashSet<String>,
        meant: &HashSet<String>,
    ) -> Result<(), BundleError> {
        let file = File::open(path).map_err(BundleError::Read)?;
        let mut reader = Reader::begin_results(BufReader::new(file))?;
        let mut add = |label: Label, said: &mut dyn FnMut(&mut Group) -> Option<VariantResult>| {
            if let Some((variant, group)) = self.group(&label, wanted, known, meant)
                && let Some(said) = said(group)
            {
                group.add(variant, [label.source, label.layout], said);
            }
        };
        while let Some(result) = reader.next_result()? {
            let mut ran = Some(result.ran);
            add(result.label, &mut |group| {
                Some(match ran.take()? {
                    Ran::Finished {
                        arena,
                        different_arena: other,
                        repetitions,
                    } => VariantResult::Finished {
                        arena: group.keep(arena),
                        other_arena: other.map(|other| group.keep(other)),
                        repetitions,
                    },
                    ended => VariantResult::Ended(ended),
                })
            });
        }
        for decided in reader.take_decided() {
            let mut record = Some(Box::new(decided.record));
            add(decided.label, &mut |_| record.take().map(VariantResult::Decided));
        }
        for note in reader.take_notes() {
            let mut why = Some(note.why);
            add(note.label, &mut |_| {
                Some(match why.take()? {
                    Unexecuted::Same(other) => VariantResult::Same(other),
                    Unexecuted::NotApplicable(why) => VariantResult::NotApplicable(why),
                })
            });
        }
        Ok(())
    }

    /// The group that results under a label belong to.
    fn group(
        &mut self,
        label: &Label,
        wanted: &[EngineId],
        known: &HashSet<String>,
        meant: &HashSet<String>,
    ) -> Option<(Variant, &mut Group)> {
        let mut refuse = |why: &str| {
            let ids = self.refused.entry(why.to_owned()).or_default();
            ids.insert(label.case.clone());
        };
        let Some(variant) = label.variant else {
            refuse("these results are not of a sweep; `cerith accept` records them");
            return None;
        };
        if !known.contains(&label.case) {
            refuse("there is no such case in the corpus");
            return None;
        }
        if !meant.contains(&label.case) || !(wanted.is_empty() || wanted.contains(&label.engine)) {
            return None;
        }
        self.axes.extend(variant.axis().map(|axis| axis.to_string()));
        let known = self.engines.iter().position(|known| *known == label.engine);
        let at = known.unwrap_or_else(|| {
            self.engines.push(label.engine.clone());
            self.engines.len() - 1
        });
        let groups = self.groups.entry(label.case.clone()).or_default();
        Some((variant, groups.entry(at).or_default()))
    }

    pub(super) fn engines(&self) -> &[EngineId] {
        &self.engines
    }

    pub(super) fn engines_of(&self, case: &str) -> Vec<usize> {
        self.groups
            .get(case)
            .map_or_else(Vec::new, |groups| groups.keys().copied().collect())
    }

    /// The axes of the variants that are there.
    pub(super) fn axes(&self) -> Vec<String> {
        self.axes.iter().cloned().collect()
    }

    /// Messages about the rejected results.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let problem = |(why, ids): (&String, &BTreeSet<String>)| {
            let mut named: Vec<&str> = ids.iter().take(MAX_NAMED_IDS).map(String::as_str).collect();
            let more = format!("{} more", ids.len().saturating_sub(MAX_NAMED_IDS));
            if ids.len() > MAX_NAMED_IDS {
                named.push(&more);
            }
            build_problem(format!("refused, {why}: {}", named.join(", ")))
        };
        self.refused.iter().map(problem).collect()
    }

    /// Collects an engine's results for the variants of a case.
    pub(super) fn collect_samples(
        &self,
        entry: &Entry,
        case: &Case,
        engine: usize,
    ) -> Result<Samples, Trouble> {
        let mut samples = Samples::default();
        let Some(group) = self.groups.get(&case.id).and_then(|groups| groups.get(&engine)) else {
            return Ok(samples);
        };
        for (variant, [source, layout], said) in &group.results {
            let said = match said {
                VariantResult::Same(other) => {
                    samples.duplicates.push((*variant, *other));
                    continue;
                }
                VariantResult::NotApplicable(why) => {
                    samples.not_applicable.push((*variant, why.clone()));
                    continue;
                }
                said => said,
            };
            let changed = |what: &str| {
                let message = format!("`{}` with {variant}: {what} since it was bundled", case.id);
                Trouble::Given(Box::new(build_problem(message)))
            };
            let varied = entry
                .vary(case, *variant)
                .map_err(|_| changed("the case has changed"))?;
            if varied.source_hash().to_string() != *source {
                return Err(changed("the kernel has changed"));
            }
            if varied.layout_hash().to_string() != *layout {
                return Err(changed("the layout has changed"));
            }
            match said {
                VariantResult::Finished {
                    arena,
                    other_arena: other,
                    repetitions,
                } => {
                    let ran = Ran::Finished {
                        arena: arena.to_vec(),
                        different_arena: other.as_ref().map(|other| other.to_vec()),
                        repetitions: *repetitions,
                    };
                    add_sample(&mut samples, case, &varied, *variant, &ran)?;
                }
                VariantResult::Ended(ran) => add_sample(&mut samples, case, &varied, *variant, ran)?,
                VariantResult::Decided(record) => samples.samples.push(Sample {
                    variant: *variant,
                    outcome: record
                        .to_outcome(&varied)
                        .map_err(|why| Failure::internal("read what was decided", why))?,
                    touched: 0,
                }),
                VariantResult::Same(_) | VariantResult::NotApplicable(_) => {}
            }
        }
        // In whatever order they were executed, the case as it is comes first.
        samples.samples.sort_by_key(|sample| sample.variant);
        samples.duplicates.sort_unstable();
        samples.not_applicable.sort_unstable();
        Ok(samples)
    }
}

fn build_problem(message: String) -> Problem {
    Problem {
        severity: Severity::Error,
        code: "results".to_owned(),
        rendered: format!("error[results]: {message}"),
        message,
        position: None,
        help: None,
    }
}
