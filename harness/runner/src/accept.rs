//! `cerith accept`: records a GPU's outcomes for machines without one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cerith_case::{Case, Entry, Shard};
use cerith_cuda::build_outcome;
use cerith_cuda::bundle::{BundleError, Label, Opening, Reader};
use cerith_cuda::record::{Filed, Provenance, Record, RecordStore, Release};
use cerith_engine::{
    Capabilities, Engine, EngineId, Failure, Needs, Outcome, Preparation, Reference, Remembered, catch_panic,
};
use cerith_tile::rules::{Rules, Version};
use cerith_toolchain::compiled::Target;
use cerith_verdict::{Panel, Standing, try_case};

use crate::corpus::Selected;
use crate::exit::Exit;
use crate::host::Console;

/// Options for recording results.
#[derive(Clone, Debug)]
pub struct AcceptOptions {
    /// Bundles that `cerith exec` wrote.
    pub results: Vec<PathBuf>,
    /// The folder of case files.
    pub cases: Option<PathBuf>,
    /// Overwrite records.
    pub replace: bool,
}

/// Most ids that are named in one message.
const MAX_NAMED_IDS: usize = 10;

/// Accepts, and returns the exit code.
pub fn accept(options: &AcceptOptions, console: &dyn Console) -> Exit {
    let selected = match Selected::open(options.cases.as_deref(), &[]) {
        Ok(selected) => selected,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let entries: HashMap<String, Entry> = selected
        .entries(Shard::ALL)
        .map(|entry| (entry.id.clone(), entry))
        .collect();
    let mut pile = Pile::default();
    let mut exit = Exit::AsExpected;
    for path in &options.results {
        if let Err(error) = pile.read(path, &entries) {
            console.note(&format!("error: failed to {error}\n  --> {}", path.display()));
            exit = Exit::Wrong;
        }
    }
    // A truncated bundle may lack anything in its missing part, so nothing of it is recorded.
    if exit != Exit::AsExpected {
        return exit;
    }
    for (why, ids) in &pile.refused {
        exit = Exit::Wrong;
        console.note(&format!("refused, {why}: {}", join_ids(ids)));
    }
    let mut files: HashMap<&str, Vec<String>> = HashMap::new();
    for entry in selected.entries(Shard::ALL) {
        let id = entry.id;
        if let Some(ids) = pile.files.get(find_case_file(&id)) {
            files.entry(ids).or_default().push(id);
        }
    }
    let folder = selected.records_folder();
    let store = RecordStore::new(&folder);
    let mut counts: BTreeMap<String, [Vec<String>; 3]> = BTreeMap::new();
    for ((release, gpu, file), records) in pile.records {
        let cases = files.get(file.as_str()).map_or(&[][..], Vec::as_slice);
        match store.accept(release, gpu, records, cases, options.replace) {
            Ok(answers) => {
                let counts = counts.entry(format!("cuda@{release} {gpu}")).or_default();
                for (case, answer) in answers {
                    let at = match answer {
                        Filed::New => 0,
                        Filed::Same => 1,
                        Filed::Pending => 2,
                    };
                    if let Some(ids) = counts.get_mut(at) {
                        ids.push(case);
                    }
                }
            }
            Err(error) => {
                console.note(&format!("error: failed to {error}"));
                exit = Exit::Wrong;
            }
        }
    }
    for (engine, [new, same, pending]) in &counts {
        console.print(&format!(
            "{engine}: {} recorded, {} unchanged, {} that differ from the record\n",
            new.len(),
            same.len(),
            pending.len()
        ));
        if !pending.is_empty() {
            exit = exit.max(Exit::Unexpected);
            console.note(&format!(
                "not overwritten: {}\n  = help: `cargo insta review` shows both and takes one; `cerith accept --replace` takes \
                 the new ones",
                join_ids(pending)
            ));
        }
    }
    if counts.is_empty() && exit == Exit::AsExpected {
        console.note("nothing was recorded: there are no results");
        return Exit::Nothing;
    }
    console.print(&format!("records: {}\n", folder.display()));
    exit
}

fn join_ids(ids: &[String]) -> String {
    let mut text = ids
        .iter()
        .take(MAX_NAMED_IDS)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if ids.len() > MAX_NAMED_IDS {
        // Writing to a string does not fail.
        let _ = write!(text, " and {} more", ids.len() - MAX_NAMED_IDS);
    }
    text
}

/// The case file of an id.
fn find_case_file(id: &str) -> &str {
    id.split(':').next().unwrap_or_default()
}

type RecordKey = (Release, Target, String);

/// The contents of all bundles.
#[derive(Default)]
struct Pile {
    records: BTreeMap<RecordKey, Vec<(Record, Provenance)>>,
    /// The case files that have records.
    files: HashSet<String>,
    refused: BTreeMap<String, Vec<String>>,
}

impl Pile {
    fn read(&mut self, path: &Path, entries: &HashMap<String, Entry>) -> Result<(), BundleError> {
        let file = File::open(path).map_err(BundleError::Read)?;
        let mut reader = Reader::begin_results(BufReader::new(file))?;
        while let Some(result) = reader.next_result()? {
            let Some((case, release)) = self.resolve_case(&result.label, entries) else {
                continue;
            };
            let cubin = result.label.cubins.join("");
            let times = reader
                .opening()
                .provenance
                .as_ref()
                .map_or(1, |provenance| provenance.repetitions);
            let found = catch_panic(|| build_outcome(&case, &result.ran));
            let stood = match &found {
                Ok(Ok(outcome)) => judge_outcome(&case, &result.label.engine, outcome),
                _ => None,
            };
            match found.map(|found| found.map(|outcome| Record::from_outcome(&case, &cubin, &outcome, times)))
            {
                Ok(Ok(Some(record))) => {
                    let record = mark_standing(record, stood);
                    let by = build_provenance(reader.opening(), release.triton, true);
                    self.put(&result.label, release, record, by);
                }
                Ok(Ok(None)) => self.refuse("it has no outcome", &result.label.case),
                Ok(Err(failure)) => self.refuse(&failure.to_string(), &result.label.case),
                Err(panic) => self.refuse(&panic, &result.label.case),
            }
        }
        for note in reader.take_notes() {
            // Notes come from a sweep, and are rejected.
            self.resolve_case(&note.label, entries);
        }
        for decided in reader.take_decided() {
            if let Some((case, release)) = self.resolve_case(&decided.label, entries) {
                // A record has a name of its own, by which it would be put down, wherever that leads.
                if decided.record.case != case.id || decided.record.find_mismatch(&case).is_some() {
                    self.refuse("its record does not belong to its label", &case.id);
                    continue;
                }
                let by = build_provenance(reader.opening(), release.triton, false);
                let outcome = decided.record.to_outcome(&case).ok();
                let stood = outcome.and_then(|outcome| judge_outcome(&case, &decided.label.engine, &outcome));
                self.put(&decided.label, release, mark_standing(decided.record, stood), by);
            }
        }
        Ok(())
    }

    /// The case that an entry is about, if it is of this corpus as it is now.
    fn resolve_case(&mut self, label: &Label, entries: &HashMap<String, Entry>) -> Option<(Case, Release)> {
        if label.variant.is_some() {
            let why = "it belongs to a sweep, whose variants are not recorded; `cerith sweep --results` \
                judges it";
            self.refuse(why, &label.case);
            return None;
        }
        let EngineId::Cuda { toolchain, target } = &label.engine else {
            self.refuse(
                &format!("outcomes of {} are not recorded", label.engine),
                &label.case,
            );
            return None;
        };
        if toolchain.build().is_some() {
            let why = format!("{} is a build, and only releases are recorded", label.engine);
            self.refuse(&why, &label.case);
            return None;
        }
        let Some(entry) = entries.get(&label.case) else {
            self.refuse("there is no such case in the corpus", &label.case);
            return None;
        };
        let Ok(Ok(case)) = catch_panic(|| entry.resolve()) else {
            self.refuse("its case file is wrong", &label.case);
            return None;
        };
        if label.source != case.source_hash().to_string() {
            self.refuse("the kernel has changed since it was bundled", &label.case);
            return None;
        }
        if label.layout != case.layout_hash().to_string() {
            self.refuse("the layout has changed since it was bundled", &label.case);
            return None;
        }
        let release = Release::new(toolchain.triton(), *target, label.target);
        Some((case, release))
    }

    fn put(&mut self, label: &Label, release: Release, record: Record, by: Provenance) {
        let file = find_case_file(&label.case).to_owned();
        self.files.insert(file.clone());
        self.records
            .entry((release, label.target, file))
            .or_default()
            .push((record, by));
    }

    fn refuse(&mut self, why: &str, case: &str) {
        let refused = self.refused.entry(why.to_owned()).or_default();
        // The variants of a case come one after the other, and are refused together.
        if refused.last().is_none_or(|last| last != case) {
            refused.push(case.to_owned());
        }
    }
}

fn mark_standing(record: Record, stood: Option<Remembered>) -> Record {
    match stood {
        Some(stood) => record.with_agreement(stood),
        None => record,
    }
}

/// Whether the reference agrees with an outcome, for the record to remember; nothing if Cerith fails.
fn judge_outcome(case: &Case, id: &EngineId, outcome: &Outcome) -> Option<Remembered> {
    let given = FixedEngine {
        id: id.clone(),
        capabilities: Capabilities {
            dtypes: Vec::new(),
            features: Vec::new(),
            needs: Needs::default(),
        },
        outcome: outcome.clone(),
    };
    let panel = Panel::new(Some(Arc::new(Reference::default())), vec![Arc::new(given)]);
    let trial = catch_panic(|| try_case(case, &panel)).ok()?.ok()?;
    trial.failed.is_empty().then(|| {
        let finished = trial
            .references
            .iter()
            .all(|record| record.outcome.finished().is_some());
        match trial.verdict.find_standing(id) {
            // Nothing agrees with nothing.
            Some(Standing::Agrees) if !trial.verdict.vacuous => Remembered::Agreed,
            // Both left something, and nothing of it certainly differs.
            Some(Standing::Silent) if finished && outcome.finished().is_some() => Remembered::Undecided,
            _ => Remembered::Differed,
        }
    })
}

/// An engine that answers with the outcome that it holds.
struct FixedEngine {
    id: EngineId,
    capabilities: Capabilities,
    outcome: Outcome,
}

impl Engine for FixedEngine {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn prepare(&self, _case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        Ok(Preparation::Ended(self.outcome.clone()))
    }
}

fn build_provenance(opening: &Opening, version: Version, executed: bool) -> Provenance {
    let gpu = opening
        .provenance
        .as_ref()
        .filter(|_| executed)
        .map(|provenance| &provenance.gpu);
    Provenance {
        gpu: gpu.map_or_else(
            || "none: it ended when it was compiled".to_owned(),
            |gpu| gpu.name.clone(),
        ),
        driver: gpu.map_or_else(String::new, |gpu| {
            let cuda = format!("CUDA {}.{}", gpu.cuda / 1000, gpu.cuda % 1000 / 10);
            if gpu.driver.is_empty() {
                cuda
            } else {
                format!("{}, {cuda}", gpu.driver)
            }
        }),
        triton: version.to_string(),
        date: format_date(opening.seconds),
        cerith: opening.cerith.clone(),
    }
}

/// The day of a time in seconds since 1970, UTC: `2026-11-20`. Howard Hinnant's `civil_from_days`.
fn format_date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::format_date;

    #[test]
    fn days_are_those_of_the_calendar() {
        let check = |seconds, expected: &str| assert_eq!(format_date(seconds), expected);
        check(0, "1970-01-01");
        check(86_399, "1970-01-01");
        check(951_782_400, "2000-02-29");
        check(1_795_132_800, "2026-11-20");
        check(4_107_542_400, "2100-03-01");
    }
}
