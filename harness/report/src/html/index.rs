//! All cases in columns: what filters look at, in as few numbers as possible. Words that many cases share are in tables, and
//! the columns hold indices into them. `templates/data.js` reads it.

use std::hash::Hash;

use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::cause::Cause;
use crate::event::{Kind, KnownBug, OutcomeKind, Text, Verdict, VerdictKind};

/// The index. Rows are cases in the order of the stream.
#[derive(Debug, Default, Serialize)]
pub(super) struct Index {
    engines: IndexSet<String>,
    causes: IndexSet<Cause>,
    known: IndexMap<String, KnownBug>,
    texts: Vec<Text>,
    /// Files whose text differs between streams; the first text is kept.
    ambiguous: IndexSet<String>,
    abouts: IndexSet<String>,
    files: IndexSet<String>,
    dtypes: IndexSet<String>,
    uses: IndexSet<String>,
    use_sets: IndexSet<Vec<usize>>,
    dtype_sets: IndexSet<Vec<usize>>,
    cause_sets: IndexSet<Vec<(usize, usize)>>,
    cell_sets: IndexSet<String>,
    blames: IndexSet<Vec<usize>>,

    cases: Vec<String>,
    verdicts: String,
    flags: Vec<u8>,
    /// The line in the case file, and the places of everything else in its table.
    lines: Vec<u32>,
    about: Vec<usize>,
    file: Vec<usize>,
    dtype: Vec<usize>,
    used: Vec<usize>,
    cause: Vec<usize>,
    cells: Vec<usize>,
    blame: Vec<usize>,
    bytes: Vec<u64>,
}

/// Facts of a case that a filter may ask for, a bit each.
mod flag {
    pub(super) const FAILED: u8 = 1;
    pub(super) const STALE: u8 = 2;
    pub(super) const VACUOUS: u8 = 4;
    pub(super) const UNCONFIRMED: u8 = 8;
    pub(super) const SILENT: u8 = 16;
    pub(super) const SWEEP: u8 = 32;
    pub(super) const UNEXPECTED: u8 = 64;
}

fn place<T: Hash + Eq>(table: &mut IndexSet<T>, value: T) -> usize {
    table.insert_full(value).0
}

fn sort_unique<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort();
    all.dedup();
    all
}

impl Index {
    pub(super) fn add(&mut self, verdict: &Verdict) {
        self.cases.push(verdict.case.clone());
        self.verdicts.push(match verdict.verdict {
            VerdictKind::Agree => 'a',
            VerdictKind::Differ => 'd',
            VerdictKind::Nondeterministic => 'n',
            VerdictKind::Undefined => 'u',
            VerdictKind::Inconclusive => 'i',
        });
        self.flags.push(encode_flags(verdict));
        let exhibit = verdict.exhibit.as_deref();
        let about = exhibit.map_or(&verdict.about, |exhibit| &exhibit.about);
        self.about.push(place(&mut self.abouts, about.clone()));
        let (file, line) = match (exhibit, &verdict.position) {
            (Some(exhibit), _) if !exhibit.file.is_empty() => (exhibit.file.clone(), exhibit.line),
            (_, Some(at)) => (at.file.clone(), at.line),
            _ => (String::new(), 0),
        };
        self.file.push(place(&mut self.files, file));
        self.lines.push(line);
        self.bytes.push(verdict.bytes.compared);
        let dtypes = self.dtypes_of(verdict);
        self.dtype.push(place(&mut self.dtype_sets, dtypes));
        let uses = exhibit.map_or_else(Vec::new, |exhibit| {
            let uses = exhibit.uses.iter();
            uses.map(|one| place(&mut self.uses, one.clone())).collect()
        });
        self.used.push(place(&mut self.use_sets, sort_unique(uses)));
        self.engines_of(verdict);
        if let Some(exhibit) = exhibit {
            for text in &exhibit.texts {
                match self.texts.iter().find(|known| known.file == text.file) {
                    None => self.texts.push(text.clone()),
                    Some(known) if known.text != text.text => {
                        self.ambiguous.insert(text.file.clone());
                    }
                    Some(_) => {}
                }
            }
            for bug in &exhibit.known {
                self.known.entry(bug.name.clone()).or_insert_with(|| bug.clone());
            }
        }
    }

    /// The dtypes of a case: those of its storages and views, or else that of its name.
    fn dtypes_of(&mut self, verdict: &Verdict) -> Vec<usize> {
        let mut dtypes: Vec<&str> = Vec::new();
        if let Some(exhibit) = &verdict.exhibit {
            dtypes.extend(exhibit.storages.iter().map(|storage| storage.dtype.as_str()));
            dtypes.extend(exhibit.views.iter().map(|view| view.dtype.as_str()));
        }
        let point = verdict.case.split_once(':').map_or("", |(_, point)| point);
        let named = point.split(',').filter_map(|part| part.strip_prefix("dtype="));
        dtypes.extend(named);
        let dtypes = dtypes.into_iter().filter(|dtype| !dtype.is_empty());
        sort_unique(
            dtypes
                .map(|dtype| place(&mut self.dtypes, dtype.to_owned()))
                .collect(),
        )
    }

    /// The result of each engine, and its cause.
    fn engines_of(&mut self, verdict: &Verdict) {
        let places: Vec<usize> = verdict
            .engines
            .iter()
            .map(|engine| place(&mut self.engines, engine.clone()))
            .collect();
        let mut causes: Vec<(usize, usize)> = Vec::new();
        let mut cells: Vec<char> = vec!['.'; places.iter().max().map_or(0, |last| last + 1)];
        for (engine, &at) in verdict.engines.iter().zip(&places) {
            if let Some(cell) = cells.get_mut(at) {
                *cell = cell_of(verdict, engine);
            }
            let mut own: Vec<Cause> = verdict
                .differences
                .iter()
                .filter(|one| one.engine == *engine)
                .flat_map(|one| Cause::of_difference(verdict, one))
                .collect();
            if own.is_empty()
                && let Some(outcome) = verdict.outcomes.get(engine)
            {
                own.extend(Cause::of_outcome(verdict, outcome));
            }
            for cause in own {
                causes.push((at, place(&mut self.causes, cause)));
            }
        }
        if causes.is_empty()
            && let Some(cause) = Cause::of_verdict(verdict)
        {
            let cause = place(&mut self.causes, cause);
            causes.extend(places.first().map(|&first| (first, cause)));
        }
        self.cause.push(place(&mut self.cause_sets, sort_unique(causes)));
        self.cells
            .push(place(&mut self.cell_sets, cells.into_iter().collect()));
        let odd = verdict.sweep.as_ref().map_or(&[][..], |sweep| &sweep.odd);
        let blame = verdict.blame.iter().chain(odd);
        let blame = blame
            .map(|engine| place(&mut self.engines, engine.clone()))
            .collect();
        self.blame.push(place(&mut self.blames, blame));
    }
}

fn encode_flags(verdict: &Verdict) -> u8 {
    let mut flags = 0;
    for (is, bit) in [
        (!verdict.passes(), flag::FAILED),
        (verdict.has_stale(), flag::STALE),
        (verdict.vacuous, flag::VACUOUS),
        (verdict.unconfirmed, flag::UNCONFIRMED),
        (!verdict.silent.is_empty(), flag::SILENT),
        (verdict.sweep.is_some(), flag::SWEEP),
        (!verdict.unexpected.is_empty(), flag::UNEXPECTED),
    ] {
        if is {
            flags |= bit;
        }
    }
    flags
}

/// The result of an engine, as a letter: `=` as it should, `x` other bytes, `g` bytes outside, `r` refused or ran what should be
/// refused, `t` raised, `c` crashed, `n` nondeterministic, `u` no defined answer, `-` no outcome. Capitals mean that no known bug
/// explains it, and `!` replaces `=` for an engine that agrees with all others although the case file expects otherwise.
fn cell_of(verdict: &Verdict, engine: &str) -> char {
    let mut own = verdict
        .differences
        .iter()
        .filter(|one| one.engine == engine)
        .peekable();
    if let Some(first) = own.peek() {
        let cell = match first.kind {
            Kind::Guard | Kind::Padding => 'g',
            Kind::Acceptance => 'r',
            Kind::Trap => 't',
            Kind::Crash | Kind::Time => 'c',
            Kind::Nondeterminism => 'n',
            _ => 'x',
        };
        let known = own.all(|one| !one.explained.is_empty());
        return if known { cell } else { cell.to_ascii_uppercase() };
    }
    let unexpected = verdict.unexpected.iter().any(|one| one == engine);
    let outcome = verdict
        .outcomes
        .get(engine)
        .map_or(OutcomeKind::Finished, |outcome| outcome.outcome);
    match outcome {
        OutcomeKind::Unavailable | OutcomeKind::Unsupported | OutcomeKind::Exhausted => '-',
        _ if verdict.blame.iter().any(|one| one == engine) => 'X',
        _ if verdict.verdict == VerdictKind::Undefined => 'u',
        _ if unexpected => '!',
        _ => '=',
    }
}
