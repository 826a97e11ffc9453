//! Finds and reads the corpus of a command, and selects the cases.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cerith_case::{BadPattern, Corpus, Entry, Filter, ReadError, Shard};
use cerith_report::describe;
use cerith_report::event::{Problem, Severity};

use crate::mistyped::find_similar;
use crate::worker_files::Readable;

/// The reason why there is no corpus to work on.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A filter cannot be read.
    #[error(
        "error: {0}\n  = help: a filter is an area (`alias`), a file (`alias/same_twice`), an id, or a pattern \
         (`'alias/*:dtype=bf16'`)"
    )]
    Filter(#[from] BadPattern),
    /// The folder cannot be read.
    #[error("error: failed to {0}\n  = help: `--cases DIR` names a folder of case files")]
    Read(#[from] ReadError),
    /// The folder has no case file.
    #[error(
        "error: there is no case file in {}\n  = help: name a folder of case files (`.yaml`), or record one: \
         `cerith record --out DIR -- python script.py`",
        .0.display()
    )]
    Empty(PathBuf),
    /// No case runs a kernel of the file.
    #[error(
        "error: no case beside {0} runs a kernel of it\n  = help: `cerith check {0}` tries its kernels without case files, and \
         `cerith import {0}:KERNEL` writes a first one"
    )]
    NoCaseOfFile(String),
    /// There is no corpus.
    #[error(
        "error: there is no corpus here: neither this folder nor one above it has a folder `cases`\n  = help: {}",
        describe_next(similar.as_deref())
    )]
    Missing {
        /// A path that the first filter may mean.
        similar: Option<String>,
    },
    /// A corpus is a folder, and this is a file.
    #[error(
        "error: {file} is a file, and a corpus is a folder\n  = help: name the folder: `{}`",
        folder_of(Path::new(file)).display()
    )]
    File {
        /// The file.
        file: String,
    },
    /// The folder is a link out of the checkout.
    #[error(
        "error: {} is a link to {real}, outside of the checkout\n  = help: name the folder if you trust it: `--cases {real}`",
        path.display(),
        real = real.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
        /// Its target.
        real: PathBuf,
    },
}

/// A corpus, and which of its cases are selected.
pub struct Selected {
    /// The corpus.
    pub corpus: Corpus,
    root: PathBuf,
    filter: Filter,
    patterns: Vec<String>,
    /// Whether the corpus was named as the first filter.
    named_by_filter: bool,
    /// Whether it was named at all.
    is_named: bool,
    /// The files that workers may read, once an engine has workers.
    readable: OnceLock<Readable>,
    /// The selected cases, if they are fewer than those that match the patterns.
    subset: Option<HashSet<String>>,
}

/// The default location of a command's reports.
pub struct ReportFolder {
    /// The folder.
    pub path: PathBuf,
    /// A folder around it that Cerith makes in the user's place, and that should not be under version control.
    pub cerith_folder: Option<PathBuf>,
}

impl Selected {
    /// Reads the corpus in `folder`, the one that the first pattern names, or the nearest one; and the patterns.
    ///
    /// # Errors
    /// There is no such corpus.
    pub fn open(folder: Option<&Path>, patterns: &[String]) -> Result<Self, CorpusError> {
        if folder.is_none()
            && let Some(selected) = Self::open_file(patterns)?
        {
            return Ok(selected);
        }
        let found = if folder.is_none() {
            find_nearest_corpus()
        } else {
            Ok(None)
        };
        let nearest = found.as_ref().map_or(None, Clone::clone);
        // The nearest corpus in front of filters is not one of them: it would select all cases.
        let patterns = match (patterns.split_first(), &nearest) {
            (Some((first, rest)), Some(root)) if folder.is_none() && is_corpus(first, root) => rest,
            _ => patterns,
        };
        let named = match patterns.split_first() {
            Some((first, rest)) if folder.is_none() && names_corpus(first, nearest.as_deref())? => {
                Some((PathBuf::from(first), rest))
            }
            _ => None,
        };
        let (root, patterns) = match (folder, &named, nearest) {
            (Some(folder), ..) => (folder.to_owned(), patterns),
            (None, Some((root, rest)), _) => (root.clone(), *rest),
            (None, None, Some(nearest)) => (nearest, patterns),
            (None, None, None) => return Err(found.err().unwrap_or_else(|| build_missing_error(patterns))),
        };
        let filter = Filter::parse(patterns, &root.to_string_lossy())?;
        forbid_links(&root);
        let corpus = Corpus::read(&root)?;
        let empty = corpus.files().is_empty() && corpus.problems().is_empty();
        if named.is_some() && empty {
            return Err(CorpusError::Empty(root));
        }
        Ok(Self {
            corpus,
            root,
            filter,
            patterns: patterns.to_vec(),
            is_named: folder.is_some() || named.is_some(),
            named_by_filter: named.is_some(),
            readable: OnceLock::new(),
            subset: None,
        })
    }

    /// The cases of a file whose path is the first pattern: a case file, or the kernels that case files next to it name. `None`
    /// if it is not such a file, or belongs to the nearest corpus.
    fn open_file(patterns: &[String]) -> Result<Option<Self>, CorpusError> {
        let Some((first, rest)) = patterns.split_first() else {
            return Ok(None);
        };
        let path = Path::new(first);
        let is_case = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"));
        if !path.is_file() || !is_case && !is_python(path) {
            return Ok(None);
        }
        let nearest = find_nearest_corpus().ok().flatten();
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let around = nearest.filter(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root)));
        let root = around.unwrap_or_else(|| folder_of(path));
        let within = root.canonicalize().ok();
        let within = within.and_then(|root| real.strip_prefix(root).ok().map(Path::to_owned));
        let within = within
            .and_then(|path| path.to_str().map(str::to_owned))
            .unwrap_or_default();
        let stem = within.rsplit_once('.').map_or(within.as_str(), |(stem, _)| stem);
        let mut patterns = rest.to_vec();
        if is_case {
            patterns.insert(0, stem.to_owned());
        }
        let mut selected = Self::open(Some(&root), &patterns)?;
        if !is_case {
            let of_file = selected.entries(Shard::ALL).filter(|entry| {
                let kernel = entry.resolve().ok();
                kernel.is_some_and(|case| {
                    let mut launches = case.launches.iter();
                    launches.any(|launch| launch.kernel.module.path == within)
                })
            });
            let of_file: HashSet<String> = of_file.map(|entry| entry.id.clone()).collect();
            if of_file.is_empty() {
                return Err(CorpusError::NoCaseOfFile(first.clone()));
            }
            selected.keep_only(of_file);
        }
        Ok(Some(selected))
    }

    /// All cases of a corpus that is in no folder. What its modules import is in `root`.
    pub fn from_corpus(corpus: Corpus, root: &Path) -> Self {
        Self {
            corpus,
            root: root.to_owned(),
            filter: Filter::default(),
            patterns: Vec::new(),
            is_named: true,
            named_by_filter: true,
            readable: OnceLock::new(),
            subset: None,
        }
    }

    /// Whether `cerith record` wrote the corpus.
    pub fn is_recording(&self) -> bool {
        self.root.join("recording.json").is_file()
    }

    /// The corpus's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files of the corpus that workers may read.
    pub fn readable(&self) -> &Readable {
        self.readable
            .get_or_init(|| Readable::new(&self.corpus, &self.root))
    }

    /// Takes what is executed to be generated by Cerith, as the cases of a campaign are.
    #[must_use]
    pub fn with_generated_cases(mut self) -> Self {
        self.readable = OnceLock::from(Readable::new_generated(&self.root));
        self
    }

    /// The corpus's folder, if the user named it.
    pub fn named_folder(&self) -> String {
        if self.is_named {
            self.root.display().to_string()
        } else {
            String::new()
        }
    }

    /// The selected cases, in the order of the corpus.
    pub fn entries(&self, shard: Shard) -> impl Iterator<Item = Entry> + '_ {
        let only = self.subset.as_ref();
        let meant = move |entry: &Entry| only.is_none_or(|only| only.contains(&entry.id));
        self.corpus.select(&self.filter, shard).filter(meant)
    }

    /// Whether the filters exclude cases of the corpus.
    pub fn is_partial(&self) -> bool {
        let selects = !self.patterns.is_empty() || self.subset.is_some();
        selects && self.entries(Shard::ALL).count() < self.corpus.entries().count()
    }

    /// Leaves out all cases but these.
    pub fn keep_only(&mut self, cases: HashSet<String>) {
        self.subset = Some(cases);
    }

    /// Everything that is wrong with the files, whatever the case.
    pub fn problems(&self) -> Vec<Problem> {
        let sources = self.corpus.sources();
        self.corpus
            .problems()
            .iter()
            .map(|problem| describe::to_problem(problem, sources))
            .collect()
    }

    /// The patterns that match no case, each an error with a suggestion. Without the error, a gate with such a pattern would let
    /// everything pass.
    pub fn unmatched(&self) -> Vec<Problem> {
        let root = self.root.to_string_lossy();
        self.patterns
            .iter()
            .filter(|pattern| {
                Filter::parse(&[pattern], &root)
                    .is_ok_and(|filter| self.corpus.select(&filter, Shard::ALL).next().is_none())
            })
            .map(|pattern| {
                let nearest = self.corpus.suggest(pattern, &root);
                let help = nearest.as_deref().unwrap_or("`cerith list` shows all cases");
                Problem::new(
                    Severity::Error,
                    "filter",
                    format!("no case matches `{pattern}`"),
                    help,
                )
            })
            .collect()
    }

    /// The default location of a command's reports: next to the corpus, and never inside it. If the corpus was named as a filter,
    /// a folder of Cerith's own.
    pub fn report_folder(&self, command: &str) -> ReportFolder {
        if !self.named_by_filter {
            return ReportFolder {
                path: self.parent_folder().join("reports").join(command),
                cerith_folder: None,
            };
        }
        // `.` and `..` have no name, and nothing beside them that a path without it could lead to.
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let beside = match self.root.file_name() {
            Some(_) => self.parent_folder(),
            None => root.parent().unwrap_or(Path::new("")),
        };
        let own = beside.join("cerith-reports");
        ReportFolder {
            path: own.join(root.file_name().unwrap_or_default()).join(command),
            cerith_folder: Some(own),
        }
    }

    /// The folder of recorded outcomes of GPUs.
    pub fn records_folder(&self) -> PathBuf {
        self.parent_folder().join("snapshots").join("cuda")
    }

    fn parent_folder(&self) -> &Path {
        self.root.parent().unwrap_or(Path::new(""))
    }
}

/// Prevents output from following links in a corpus or in the folder around it, because their files may be untrusted.
fn forbid_links(root: &Path) {
    cerith_files::distrust(root);
    cerith_files::distrust(root.parent().unwrap_or(Path::new("")));
    if let Some(around) = root.canonicalize().ok().as_deref().and_then(Path::parent) {
        cerith_files::distrust(around);
    }
}

/// There is neither a corpus here nor one among the filters.
fn build_missing_error(patterns: &[String]) -> CorpusError {
    let similar = patterns.first().and_then(|first| find_similar(Path::new(first)));
    CorpusError::Missing { similar }
}

/// Help for a user without a corpus.
fn describe_next(similar: Option<&str>) -> String {
    similar.map_or_else(
        || {
            "`cerith check FILE.py` tries the kernels of a file without any case file; `cerith record -- python script.py` makes \
             a corpus of the launches of a program; `cerith run DIR` and `--cases DIR` name a corpus"
                .to_owned()
        },
        |similar| format!("did you mean `{similar}`?"),
    )
}

/// Whether a filter is the folder of a corpus, and not an area in it.
fn is_corpus(filter: &str, root: &Path) -> bool {
    let same = || Some(Path::new(filter).canonicalize().ok()? == root.canonicalize().ok()?);
    !root.join(filter).exists() && same() == Some(true)
}

/// Whether a filter is a folder that is a corpus of its own: it exists, and is not a part of the nearest corpus.
fn names_corpus(filter: &str, nearest: Option<&Path>) -> Result<bool, CorpusError> {
    let path = Path::new(filter);
    let Ok(real) = path.canonicalize() else {
        return Ok(false);
    };
    let of_nearest = nearest.is_some_and(|root| {
        let inside = root.canonicalize().is_ok_and(|root| real.starts_with(root));
        let stem = filter.trim_end_matches('/');
        // An absolute path is not an area: joined to the corpus's folder, it stays the same path.
        let named = || root.join(stem).exists() || root.join(format!("{stem}.yaml")).exists();
        inside || path.is_relative() && named()
    });
    if of_nearest || real.is_dir() {
        return Ok(!of_nearest);
    }
    Err(CorpusError::File {
        file: filter.to_owned(),
    })
}

/// The folder that a file is in.
pub fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Whether a file is a module of Python's, by its name.
pub fn is_python(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "py")
}

/// The modules in a folder, which those beside them may import.
pub fn modules_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| is_python(path))
}

/// `cases`, in this folder or the nearest one above that has it, as a path from here. Fails if it is a link out of the checkout:
/// its author would decide which folders workers read.
fn find_nearest_corpus() -> Result<Option<PathBuf>, CorpusError> {
    let Ok(here) = std::env::current_dir() else {
        return Ok(None);
    };
    let mut path = PathBuf::new();
    for folder in here.ancestors() {
        let cases = folder.join("cases");
        if cases.is_dir() {
            path.push("cases");
            return match find_outside_folder(&cases, folder) {
                Some(real) => Err(CorpusError::Link { path, real }),
                None => Ok(Some(path)),
            };
        }
        path.push("..");
    }
    Ok(None)
}

/// The real path of a folder, if it is outside the checkout that contains `around`, or outside `around` if there is no checkout.
fn find_outside_folder(folder: &Path, around: &Path) -> Option<PathBuf> {
    let real = folder.canonicalize().ok()?;
    let around = around.canonicalize().ok()?;
    let checkout = around.ancestors().find(|folder| folder.join(".git").exists());
    (!real.starts_with(checkout.unwrap_or(&around))).then_some(real)
}
