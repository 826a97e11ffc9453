//! Random case files, and what the case format must do with any file: say what is wrong, and where, or make cases that can be
//! printed and read back.
//!
//! An input is the text of a case file. The kernel's file and the data archive that it may name are always the same.
//!
//! See `mutation` and [`mutate`] for changing such texts.

mod mutation;

use cerith_case::{Corpus, Input, Problems};

pub use self::mutation::{choose_fragment, mutate};
use crate::{Ended, Fault, TrialResult, ensure};

/// Valid case files, to begin with.
pub const SEEDS: [&str; 2] = [
    include_str!("case_file/whole.yaml"),
    include_str!("case_file/views.yaml"),
];
/// `k.py`, beside the case file.
pub const KERNEL: &str = include_str!("case_file/k.py");
/// `data.zip`, beside the case file: entries `kept` and `other` of 16 bytes each.
pub const ARCHIVE: &[u8] = include_bytes!("case_file/data.zip");

/// Cases of a file that are resolved.
const CASES: usize = 64;

/// The result of reading a case file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Its cases without a problem, of the first 64.
    pub good: usize,
    /// The problems as a user sees them, each once.
    pub problems: Vec<String>,
}

/// Checks the laws of the case format on these bytes as a case file.
pub fn check(bytes: &[u8]) -> TrialResult {
    let read = read(bytes, KERNEL.as_bytes(), ARCHIVE)?;
    Ok(match read.good {
        _ if read.problems.is_empty() => Ended::Finished,
        0 => Ended::Refused,
        _ => Ended::Stopped,
    })
}

/// Reads a case file `a/c.yaml` beside `a/k.py` and `a/data.zip`, resolves its cases, prints each and reads it again,
/// and renders every problem.
pub fn read(case: &[u8], kernel: &[u8], archive: &[u8]) -> Result<Read, Fault> {
    let file = |path: &str, content: &[u8]| Input {
        path: path.to_owned(),
        name: path.to_owned(),
        content: Ok(content.to_vec()),
    };
    let beside = || [file("a/k.py", kernel), file("a/data.zip", archive)];
    let corpus = Corpus::load(beside().into_iter().chain([file("a/c.yaml", case)]));
    let mut problems = Problems::default();
    let mut good = 0;
    for entry in corpus.entries().take(CASES) {
        let case = match entry.resolve() {
            Ok(case) => case,
            Err(found) => {
                ensure(!found.is_empty(), || {
                    format!("{} fails without a reason", entry.id)
                })?;
                problems.add(&entry.id, found);
                continue;
            }
        };
        good += 1;
        ensure(!case.canonical().hash.is_empty(), || {
            format!("{} has no hash", entry.id)
        })?;
        ensure(case.memory().len() == case.storages.len(), || {
            format!("{} has other storages in memory", entry.id)
        })?;
        let text = case
            .to_case_file()
            .ok_or_else(|| Fault(format!("{} is not printed", entry.id)))?;
        let printed = file("a/printed.yaml", text.as_bytes());
        let again = Corpus::load(beside().into_iter().chain([printed]));
        let hash = again
            .entries()
            .next()
            .and_then(|entry| entry.resolve().ok())
            .map(|case| case.content_hash());
        ensure(hash == Some(case.content_hash()), || {
            format!("{} is printed as another case:\n{text}", entry.id)
        })?;
    }
    let problems: Vec<_> = corpus
        .problems()
        .iter()
        .cloned()
        .chain(problems.finish())
        .collect();
    let problems = problems.iter().map(|problem| {
        let shown = problem.render(corpus.sources(), false);
        ensure(shown.contains("-->"), || {
            format!("a problem without a place: {shown}")
        })?;
        for label in &problem.labels {
            let text = corpus.sources().get(label.span.source).map(|file| &file.text);
            let (start, end) = (label.span.start as usize, label.span.end as usize);
            let inside = text.is_some_and(|text| start <= end && text.get(start..end).is_some());
            ensure(inside, || {
                format!("{:?} is not a location in its file: {shown}", label.span)
            })?;
        }
        Ok(shown)
    });
    Ok(Read {
        good,
        problems: problems.collect::<Result<_, Fault>>()?,
    })
}
