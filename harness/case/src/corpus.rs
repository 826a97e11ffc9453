//! A corpus: case files with the kernels they name, and the cases that they expand to, one at a time.
//!
//! This crate does IO in two places: [`Corpus::read`] reads case files and kernels, and [`Entry::resolve`] reads the bytes
//! that a case names in a data archive, if it names any. Everything that can be known without expanding a file is
//! checked when it is read, and a file with a problem is left out: the others still run. What depends on the matrix
//! point comes out of [`Entry::resolve`]. Of an expanded case nothing stays behind but the index of the archive that it
//! needed, so a corpus of any size takes the memory of its text, whatever its archives hold.

mod loader;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{Sources, Span};

use self::loader::Loader;
pub(crate) use self::loader::join;
use crate::archive::{Archive, Archives, Place};
use crate::case::Case;
use crate::expectation::EnginePattern;
use crate::expr::Names;
use crate::fill::Beside;
use crate::filter::{Filter, Shard};
use crate::found::Found;
use crate::kernel::{Kernel, Module};
use crate::matrix::Point;
use crate::resolve;
use crate::schema::{LaunchSchema, Program, Schema};
use crate::template::Template;
use crate::variant::{Axis, Layout};
use crate::versions::VersionRange;
use cerith_python::nearest::{list, suggestion};

/// Bytes of the longest case file or kernel that is read. Spans are of 32 bits.
pub(crate) const MAX_TEXT: usize = 16 << 20;

/// One file given to [`Corpus::load`].
#[derive(Clone, Debug)]
pub struct Input {
    /// The path from the corpus root, with `/` between folders.
    pub path: String,
    /// The path as a user would write it, for messages.
    pub name: String,
    /// The content, or why there is none.
    pub content: Result<Vec<u8>, Missing>,
}

impl Input {
    /// A file whose text is at hand; messages call it by its path.
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        let path = path.into();
        Self {
            name: path.clone(),
            path,
            content: Ok(text.into().into_bytes()),
        }
    }
}

/// Why a file that is there has no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// It is a link that leads out of the corpus.
    Outside,
}

/// All case files under one folder.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    sources: Sources,
    files: Vec<Arc<CaseFile>>,
    problems: Vec<Diagnostic>,
    hash: String,
}

impl Corpus {
    /// Reads case files and the kernels they name. Files that end in none of `.yaml`, `.yml`, `.py` and `.zip` are ignored.
    pub fn load(inputs: impl IntoIterator<Item = Input>) -> Self {
        Self::with_archives(inputs, Archives::default())
    }

    /// The same with data archives that are not in memory.
    pub(crate) fn with_archives(inputs: impl IntoIterator<Item = Input>, mut archives: Archives) -> Self {
        let mut loader = Loader::default();
        let mut cases = BTreeMap::new();
        let mut hashes: BTreeMap<String, Option<blake3::Hash>> =
            archives.paths().map(|path| (path, None)).collect();
        for input in inputs {
            // Of an archive, which may be large, there is only the path.
            let is_archive = matches!(input.path.rsplit_once('.'), Some((_, "zip")));
            let text = input.content.as_ref().ok().filter(|_| !is_archive);
            hashes.insert(input.path.clone(), text.map(|bytes| blake3::hash(bytes)));
            match input.path.rsplit_once('.') {
                Some((stem, "yaml" | "yml")) => {
                    let stem = stem.to_owned();
                    cases.insert(input.path.clone(), (stem, input));
                }
                Some((_, "py")) => {
                    loader.kernels.insert(input.path.clone(), input);
                }
                Some((_, "zip")) => {
                    let bytes = input.content.map(|bytes| Place::Memory(bytes.into()));
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

    /// What tells this corpus from others: a hash of the paths of all its files from its folder on, and of the texts of case files
    /// and kernels. Of data archives, which may be large, there is only the path.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Every file that spans point into: case files and kernels.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// What is wrong with case files and kernels whatever the matrix point, in the order of paths.
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// The case files without problems, in the order of paths.
    pub fn files(&self) -> &[Arc<CaseFile>] {
        &self.files
    }

    /// Every case in a fixed order: by path, then by the order of the matrix. Nothing is resolved yet.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.files.iter().flat_map(CaseFile::entries)
    }

    /// The cases that a filter and a shard leave, in the order of [`Self::entries`].
    pub fn select<'a>(&'a self, filter: &'a Filter, shard: Shard) -> impl Iterator<Item = Entry> + 'a {
        self.files
            .iter()
            .filter(|file| filter.may_match_file(&file.id))
            .flat_map(CaseFile::entries)
            .filter(|entry| filter.matches(&entry.id))
            .enumerate()
            .filter_map(move |(number, entry)| shard.holds(number).then_some(entry))
    }

    /// What may have been meant by a filter's pattern that matches nothing. `root` is the corpus as for [`Filter::parse`].
    pub fn suggest(&self, pattern: &str, root: &str) -> Option<String> {
        let (path, conditions) = pattern.split_once(':').unwrap_or((pattern, ""));
        if let Ok(files) = Filter::parse(&[path], root) {
            let entries: Vec<Entry> = self.select(&files, Shard::ALL).collect();
            if !entries.is_empty() {
                return suggest_condition(conditions, &entries);
            }
        }
        let path = crate::filter::within(path, root).trim_end_matches('/');
        let mut known: BTreeSet<&str> = self.files.iter().map(|file| file.id.as_str()).collect();
        known.extend(
            self.files
                .iter()
                .filter_map(|file| file.id.rsplit_once('/'))
                .map(|(folder, _)| folder),
        );
        suggestion(path, known)
    }
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

/// What may have been meant by conditions that these cases do not meet.
fn suggest_condition(conditions: &str, entries: &[Entry]) -> Option<String> {
    let labels: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry.id.split_once(':'))
        .flat_map(|(_, labels)| labels.split(','))
        .collect();
    if labels.is_empty() {
        return Some("there are no variables, so nothing stands behind a `:`".to_owned());
    }
    crate::filter::unmet(conditions, &labels).map_or_else(
        || Some("each condition is met by a case, and no case meets all".to_owned()),
        |condition| suggestion(condition, labels.iter().copied()),
    )
}

/// What a case file says of one engine.
#[derive(Clone, Copy, Debug)]
pub struct Exception<'a> {
    /// Whom it speaks of.
    pub engine: &'a EnginePattern,
    /// Which of its versions.
    pub versions: &'a VersionRange,
    /// The axes of a sweep, where it is about one.
    pub axes: &'a [Axis],
    /// The reason, in words.
    pub why: &'a str,
}

/// A case file whose kernels were found.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// The path from the corpus root.
    pub path: String,
    /// The path without its extension: what ids of its cases begin with.
    pub id: String,
    pub(crate) schema: Schema,
    archives: Arc<Archives>,
    /// By `file.py:function`, as the file has it.
    kernels: HashMap<String, Kernel>,
    /// Host functions, by `file.py:function` as the file has it.
    hosts: HashMap<String, Kernel>,
    /// By `file.py`, as the file has it.
    modules: HashMap<String, Arc<Module>>,
}

impl CaseFile {
    /// What its cases show.
    pub fn about(&self) -> &str {
        &self.schema.about
    }

    /// Who found what its cases show, where Cerith did.
    pub fn found(&self) -> Option<&Found> {
        self.schema.found.as_ref()
    }

    /// The file of its kernel, by its path from the corpus root; nothing where it depends on the point of the matrix.
    pub fn kernel_path(&self) -> Option<&str> {
        let mut paths = self.kernels.values().map(|kernel| kernel.module.path.as_str());
        let first = paths.next()?;
        paths.all(|path| path == first).then_some(first)
    }

    /// What it says of engines whose bug it shows: all but the reference, or those that `found` names.
    pub fn exceptions(&self) -> impl Iterator<Item = Exception<'_>> {
        let named = self.found().map_or(&[][..], |found| &found.engines[..]);
        self.schema.expect.iter().flat_map(move |expect| {
            let meant = move |engine: &&EnginePattern| {
                if named.is_empty() {
                    engine.to_string() != "reference"
                } else {
                    named.contains(engine)
                }
            };
            expect.engines.iter().filter(meant).map(|engine| Exception {
                engine,
                versions: &expect.versions,
                axes: &expect.axes,
                why: &expect.why,
            })
        })
    }

    /// Every case of the file.
    fn entries(self: &Arc<Self>) -> impl Iterator<Item = Entry> + use<> {
        let file = Arc::clone(self);
        (0..file.schema.matrix.len()).filter_map(move |number| {
            // Conditions were tried at every point when the file was read.
            let point = file.schema.matrix.point(number).ok()??;
            let mut id = file.id.clone();
            for (nth, (name, label)) in point.labels.iter().enumerate() {
                id.push(if nth == 0 { ':' } else { ',' });
                id.push_str(name);
                id.push('=');
                id.push_str(label);
            }
            Some(Entry {
                id,
                file: Arc::clone(&file),
                point,
            })
        })
    }

    /// Where recorded bytes are found.
    pub(crate) fn beside(&self) -> Beside<'_> {
        Beside {
            archives: &self.archives,
            from: &self.path,
        }
    }

    /// The kernel of a launch at a point.
    pub(crate) fn kernel(&self, launch: &LaunchSchema, names: &Names) -> Result<Kernel, Diagnostic> {
        let text = self.schema.kernel_text(launch, names)?;
        let span = launch
            .kernel
            .as_ref()
            .map_or(launch.span, |template| template.span);
        self.kernels
            .get(&text)
            .cloned()
            .ok_or_else(|| Diagnostic::error("unknown-kernel", span, format!("unknown kernel `{text}`")))
    }

    /// The host function of a launch at a point, if it has one.
    pub(crate) fn host(&self, launch: &LaunchSchema, names: &Names) -> Result<Option<Kernel>, Diagnostic> {
        let (Some(text), Some(template)) = (self.schema.host_text(launch, names)?, &launch.host) else {
            return Ok(None);
        };
        self.hosts.get(&text).cloned().map(Some).ok_or_else(|| {
            Diagnostic::error(
                "unknown-host",
                template.span,
                format!("unknown host function `{text}`"),
            )
        })
    }

    /// The module of the file's kernel, or the one that it imports, at a point.
    pub(crate) fn module(&self, names: &Names) -> Result<Arc<Module>, Diagnostic> {
        let template = self.schema.program.template();
        let text = template.render(names)?;
        let found = match &self.schema.program {
            Program::Kernel(_) => self.kernels.get(&*text).map(|kernel| Arc::clone(&kernel.module)),
            Program::Import(_) => self.modules.get(&*text).map(Arc::clone),
        };
        found.ok_or_else(|| {
            Diagnostic::error(
                "unknown-kernel",
                template.span,
                format!("unknown kernel file `{text}`"),
            )
        })
    }
}

impl Program {
    fn template(&self) -> &Template {
        match self {
            Self::Kernel(template) | Self::Import(template) => template,
        }
    }
}

impl Schema {
    /// `file.py:function` of a launch at a point.
    fn kernel_text(&self, launch: &LaunchSchema, names: &Names) -> Result<String, Diagnostic> {
        let program = self.program.template().render(names)?;
        let Some(own) = &launch.kernel else {
            return Ok(program.into_owned());
        };
        self.function_text(own, names)
    }

    /// `file.py:function` of a launch's host function at a point.
    fn host_text(&self, launch: &LaunchSchema, names: &Names) -> Result<Option<String>, Diagnostic> {
        let host = launch.host.as_ref();
        host.map(|template| self.function_text(template, names))
            .transpose()
    }

    /// `file.py:function` of a launch's `kernel` or `host`, which may leave out the file.
    fn function_text(&self, template: &Template, names: &Names) -> Result<String, Diagnostic> {
        let own = template.render(names)?;
        if own.contains(':') {
            return Ok(own.into_owned());
        }
        let program = self.program.template().render(names)?;
        let file = program.rsplit_once(':').map_or(&*program, |(file, _)| file);
        Ok(format!("{file}:{own}"))
    }
}

/// A case that is not resolved yet: its id, and the way to the rest.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The case's id.
    pub id: String,
    file: Arc<CaseFile>,
    point: Point,
}

impl Entry {
    /// The case file.
    pub fn file(&self) -> &CaseFile {
        &self.file
    }

    /// Makes the case: evaluates its expressions and fills its storages. All problems come together.
    pub fn resolve(&self) -> Result<Case, Vec<Diagnostic>> {
        self.resolve_as(None)
    }

    /// The same with the tensors of storages in another layout.
    pub(crate) fn resolve_as(&self, layout: Option<Layout>) -> Result<Case, Vec<Diagnostic>> {
        resolve::resolve(&self.file, &self.id, self.point.clone(), layout)
    }
}

/// Problems of many cases: the same problem of one place is kept once.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    found: Vec<(Diagnostic, String, usize)>,
    places: HashMap<(&'static str, Option<Span>), usize>,
}

impl Problems {
    /// Adds what [`Entry::resolve`] gave for the case of an id.
    pub fn add(&mut self, id: &str, problems: Vec<Diagnostic>) {
        for problem in problems {
            let at = *self
                .places
                .entry((problem.code, problem.span()))
                .or_insert(self.found.len());
            if let Some((_, _, more)) = self.found.get_mut(at) {
                *more += 1;
            } else {
                self.found.push((problem, id.to_owned(), 0));
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The problems in the order in which they were found, each with the cases that it is about.
    pub fn finish(self) -> Vec<Diagnostic> {
        self.found
            .into_iter()
            .map(|(problem, id, more)| match more {
                0 => problem.note(format!("in case `{id}`")),
                1 => problem.note(format!("in case `{id}` and in one more")),
                _ => problem.note(format!("in case `{id}` and in {more} more")),
            })
            .collect()
    }
}
