//! The corpus that a command works on: found, read and narrowed to what was asked for.

use std::path::{Path, PathBuf};

use conch_case::{Corpus, Entry, Filter, Shard};
use conch_report::describe;
use conch_report::event::Problem;

/// A corpus and which of its cases are meant.
pub struct Selected {
    /// The corpus.
    pub corpus: Corpus,
    root: PathBuf,
    filter: Filter,
    patterns: Vec<String>,
}

impl Selected {
    /// Reads the corpus in `folder`, or the nearest one, and the patterns. Fails with what to tell the user.
    pub fn open(folder: Option<&Path>, patterns: &[String]) -> Result<Self, String> {
        let root = match folder {
            Some(folder) => folder.to_owned(),
            None => find().ok_or_else(|| {
                "error: there is no corpus here: neither this folder nor one above it has a folder `cases`\n  = help: \
                 go to a checkout of Conch, or name a corpus with `--cases DIR`"
                    .to_owned()
            })?,
        };
        let filter = Filter::parse(patterns, &root.to_string_lossy()).map_err(|error| {
            format!(
                "error: {error}\n  = help: a filter is an area (`alias`), a file (`alias/same_twice`), an id, or a \
                 pattern (`'alias/*:dtype=bf16'`)"
            )
        })?;
        let corpus = Corpus::read(&root).map_err(|error| {
            format!("error: failed to {error}\n  = help: `--cases DIR` names a folder of case files")
        })?;
        Ok(Self {
            corpus,
            root,
            filter,
            patterns: patterns.to_vec(),
        })
    }

    /// The cases that are meant, in the order of the corpus.
    pub fn entries(&self, shard: Shard) -> impl Iterator<Item = Entry> + '_ {
        self.corpus.select(&self.filter, shard)
    }

    /// Everything that is wrong with the files, whatever the case.
    pub fn problems(&self) -> Vec<Problem> {
        let sources = self.corpus.sources();
        self.corpus
            .problems()
            .iter()
            .map(|problem| describe::problem(problem, sources))
            .collect()
    }

    /// What to say about each pattern that means no case at all.
    pub fn unmatched(&self) -> Vec<String> {
        let root = self.root.to_string_lossy();
        self.patterns
            .iter()
            .filter(|pattern| {
                Filter::parse(&[pattern], &root)
                    .is_ok_and(|filter| self.corpus.select(&filter, Shard::ALL).next().is_none())
            })
            .map(|pattern| {
                let help = self
                    .corpus
                    .suggest(pattern)
                    .map_or(String::new(), |help| format!("\n  = help: {help}"));
                format!("no case matches `{pattern}`{help}")
            })
            .collect()
    }

    /// Where the reports of a command go when nobody says where.
    pub fn report_folder(&self, command: &str) -> PathBuf {
        self.beside().join("reports").join(command)
    }

    /// Where outcomes of GPUs are on record.
    pub fn shelf(&self) -> PathBuf {
        self.beside().join("snapshots").join("cuda")
    }

    fn beside(&self) -> &Path {
        self.root.parent().unwrap_or(Path::new(""))
    }
}

/// `cases`, in this folder or the nearest one above that has it, as a path from here.
fn find() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let mut path = PathBuf::new();
    for folder in here.ancestors() {
        if folder.join("cases").is_dir() {
            return Some(path.join("cases"));
        }
        path.push("..");
    }
    None
}
