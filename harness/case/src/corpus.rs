//! A corpus: case files with the kernels they name, and the cases that they expand to, one at a time.
//!
//! This crate does IO in two places: [`Corpus::read`] reads case files and kernels, and [`Entry::resolve`] reads the
//! bytes that a case names in a data archive, if it names any. Reading a file checks everything that does not need an
//! expanded case. A file with a problem is skipped, and the others still run. [`Entry::resolve`] reports problems
//! that depend on the matrix point. The only thing that stays in memory after expanding a case is the index of the
//! archive that it needed. So a corpus takes the memory of its text, whatever the size of its archives.

mod loader;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::printable;
use cerith_tile::source::{Sources, Span};

use self::loader::Loader;
use crate::archive::{Archive, ArchiveSource, Archives};
use crate::case_file::CaseFile;
use crate::entry::Entry;
use crate::filter::Filter;
use crate::input::Input;
use crate::shard::Shard;
use cerith_python::nearest::{list, suggest_spelling};

/// All case files under one folder.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    sources: Sources,
    files: Vec<Arc<CaseFile>>,
    problems: Vec<Diagnostic>,
    hash: String,
}

/// Python files that were parsed once, for several corpora with the same ones.
#[derive(Clone, Debug)]
pub struct PythonFiles {
    loader: Loader,
    hashes: BTreeMap<String, Option<blake3::Hash>>,
}

impl PythonFiles {
    /// Parses Python files. Their problems are reported by the corpora that need them.
    pub fn parse(inputs: impl IntoIterator<Item = Input>) -> Self {
        let (mut loader, mut hashes) = (Loader::default(), BTreeMap::new());
        for input in inputs {
            hashes.insert(input.path.clone(), hash_content(&input));
            loader.kernels.insert(input.path.clone(), Arc::new(input));
        }
        loader.parse_all();
        Self { loader, hashes }
    }
}

impl Corpus {
    /// Reads case files and the kernels they name. Files that end in none of `.yaml`, `.yml`, `.py` and `.zip` are ignored.
    pub fn load(inputs: impl IntoIterator<Item = Input>) -> Self {
        Self::with_archives(inputs, Archives::default())
    }

    /// Like [`Self::load`], with Python files that are parsed. Modules are the same objects in all corpora with these files.
    pub fn load_beside(python: &PythonFiles, inputs: impl IntoIterator<Item = Input>) -> Self {
        Self::load_with(
            python.loader.clone(),
            python.hashes.clone(),
            inputs,
            Archives::default(),
        )
    }

    /// Like [`Self::load`], with data archives that are not in memory.
    pub(crate) fn with_archives(inputs: impl IntoIterator<Item = Input>, archives: Archives) -> Self {
        let hashes = archives.paths().map(|path| (path, None)).collect();
        Self::load_with(Loader::default(), hashes, inputs, archives)
    }

    fn load_with(
        mut loader: Loader,
        mut hashes: BTreeMap<String, Option<blake3::Hash>>,
        inputs: impl IntoIterator<Item = Input>,
        mut archives: Archives,
    ) -> Self {
        let mut cases = BTreeMap::new();
        for input in inputs {
            hashes.insert(input.path.clone(), hash_content(&input));
            match input.path.rsplit_once('.') {
                Some((stem, "yaml" | "yml")) => {
                    // In ids and filters, a colon separates the matrix variables from the path.
                    let stem = printable::escape_line(stem).replace(':', "\\u{3a}");
                    cases.insert(input.path.clone(), (stem, input));
                }
                Some((_, "py")) => {
                    loader.kernels.insert(input.path.clone(), Arc::new(input));
                }
                Some((_, "zip")) => {
                    let bytes = input.content.map(|bytes| ArchiveSource::Memory(bytes.into()));
                    archives.insert(input.path, Archive::new(input.name, bytes));
                }
                _ => {}
            }
        }
        loader.archives = Arc::new(archives);
        let mut ids: HashMap<String, Span> = HashMap::new();
        for (path, (id, input)) in cases {
            let Some((source, file)) = loader.open(&input) else {
                continue;
            };
            let start = Span::new(source, 0, 0);
            if let Some(&first) = ids.get(&id) {
                loader.problems.push(
                    Diagnostic::error(
                        "duplicate-id",
                        start,
                        format!("a second case file with the id `{id}`"),
                    )
                    .label(first, "the first")
                    .help("rename one of the two files"),
                );
                continue;
            }
            ids.insert(id.clone(), start);
            loader.case_file(path, id, source, &file);
        }
        for (at, named_by) in loader.broken.into_values() {
            let shown: Vec<&String> = named_by.iter().take(3).collect();
            let more = named_by.len() - shown.len();
            let rest = if more > 0 {
                format!(", and {more} more")
            } else {
                String::new()
            };
            if let Some(problem) = loader.problems.get_mut(at) {
                problem
                    .notes
                    .push(format!("left out for it: {}{rest}", list(&shown)));
            }
        }
        Self {
            sources: loader.sources,
            files: loader.files,
            problems: loader.problems,
            hash: hash_of(&hashes),
        }
    }

    /// Identifies the corpus: a hash of the paths of all its files, relative to its folder, and of the texts of case
    /// files and kernels. Data archives may be large, so only their paths are hashed.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Every file that spans point into: case files and kernels.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Problems of case files and kernels that don't depend on the matrix point, ordered by path.
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// The case files without problems, in the order of paths.
    pub fn files(&self) -> &[Arc<CaseFile>] {
        &self.files
    }

    /// Every case in a fixed order: by path, then by the order of the matrix. Nothing is resolved yet.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.files.iter().flat_map(Entry::all_of)
    }

    /// The cases that a filter and a shard leave, in the order of [`Self::entries`].
    pub fn select<'a>(&'a self, filter: &'a Filter, shard: Shard) -> impl Iterator<Item = Entry> + 'a {
        self.files
            .iter()
            .filter(|file| filter.may_match_file(&file.id))
            .flat_map(Entry::all_of)
            .filter(|entry| filter.matches(&entry.id))
            .enumerate()
            .filter_map(move |(number, entry)| shard.holds(number).then_some(entry))
    }

    /// Suggests a correction for a filter's pattern that matches nothing. `root` is the corpus as for
    /// [`Filter::parse`].
    pub fn suggest(&self, pattern: &str, root: &str) -> Option<String> {
        let (path, conditions) = pattern.split_once(':').unwrap_or((pattern, ""));
        if let Ok(files) = Filter::parse(&[path], root) {
            let entries: Vec<Entry> = self.select(&files, Shard::ALL).collect();
            if !entries.is_empty() {
                return suggest_condition(conditions, &entries);
            }
        }
        let path = crate::filter::strip_root(path, root).trim_end_matches('/');
        let mut known: BTreeSet<&str> = self.files.iter().map(|file| file.id.as_str()).collect();
        known.extend(
            self.files
                .iter()
                .filter_map(|file| file.id.rsplit_once('/'))
                .map(|(folder, _)| folder),
        );
        suggest_spelling(path, known)
    }
}

/// The hash of a file's text. An archive may be large, so only its path is hashed.
fn hash_content(input: &Input) -> Option<blake3::Hash> {
    let is_archive = matches!(input.path.rsplit_once('.'), Some((_, "zip")));
    let text = input.content.as_ref().ok().filter(|_| !is_archive)?;
    Some(blake3::hash(text))
}

fn hash_of(files: &BTreeMap<String, Option<blake3::Hash>>) -> String {
    let mut all = blake3::Hasher::new();
    for (path, hash) in files {
        all.update(&(path.len() as u64).to_le_bytes());
        all.update(path.as_bytes());
        all.update(hash.as_ref().map_or(&[], |hash| &hash.as_bytes()[..]));
    }
    all.finalize().to_hex().as_str()[..32].to_owned()
}

/// Suggests a correction for conditions that none of these cases meets.
fn suggest_condition(conditions: &str, entries: &[Entry]) -> Option<String> {
    let labels: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry.id.split_once(':'))
        .flat_map(|(_, labels)| labels.split(','))
        .collect();
    if labels.is_empty() {
        return Some("there are no variables, so nothing can follow a `:`".to_owned());
    }
    crate::filter::find_unmet(conditions, &labels).map_or_else(
        || Some("each condition is met by a case, and no case meets all".to_owned()),
        |condition| suggest_spelling(condition, labels.iter().copied()),
    )
}
