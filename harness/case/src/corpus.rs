//! A corpus: case files with the kernels they name, and the cases that they expand to, one at a time.
//!
//! [`Corpus::read`] is the only place of this crate that does IO. Everything that can be known without expanding a
//! file is checked there, and a file with a problem is left out: the others still run. What depends on the matrix
//! point comes out of [`Entry::resolve`]. Nothing of an expanded case stays behind, so a corpus of any size takes the
//! memory of its text.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use conch_tile::diagnostic::Diagnostic;
use conch_tile::source::{SourceFile, SourceId, Sources, Span};

use crate::bind;
use crate::case::Case;
use crate::expr::Names;
use crate::filter::{Filter, Shard};
use crate::kernel::{Kernel, Module};
use crate::matrix::{Point, truth};
use crate::module;
use crate::nearest::{list, suggestion};
use crate::resolve;
use crate::schema::{LaunchSchema, Program, Schema};
use crate::template::Template;

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
}

impl Corpus {
    /// Reads case files and the kernels they name. Files that end neither in `.yaml`, `.yml` nor `.py` are ignored.
    pub fn load(inputs: impl IntoIterator<Item = Input>) -> Self {
        let mut loader = Loader::default();
        let mut cases = BTreeMap::new();
        for input in inputs {
            match input.path.rsplit_once('.') {
                Some((stem, "yaml" | "yml")) => {
                    let stem = stem.to_owned();
                    cases.insert(input.path.clone(), (stem, input));
                }
                Some((_, "py")) => {
                    loader.kernels.insert(input.path.clone(), input);
                }
                _ => {}
            }
        }
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
        }
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

    /// What may have been meant by a filter's pattern that matches nothing.
    pub fn suggest(&self, pattern: &str) -> Option<String> {
        let path = pattern
            .split(':')
            .next()
            .unwrap_or_default()
            .trim_end_matches('/');
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

/// A case file whose kernels were found.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// The path from the corpus root.
    pub path: String,
    /// The path without its extension: what ids of its cases begin with.
    pub id: String,
    pub(crate) schema: Schema,
    /// By `file.py:function`, as the file has it.
    kernels: HashMap<String, Kernel>,
    /// By `file.py`, as the file has it.
    modules: HashMap<String, Arc<Module>>,
}

impl CaseFile {
    /// What its cases show.
    pub fn about(&self) -> &str {
        &self.schema.about
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
        let own = own.render(names)?;
        if own.contains(':') {
            return Ok(own.into_owned());
        }
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
        resolve::resolve(&self.file, &self.id, self.point.clone())
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

#[derive(Default)]
struct Loader {
    sources: Sources,
    kernels: HashMap<String, Input>,
    /// By path; `None` for a module with problems, which were reported.
    modules: HashMap<String, Option<Arc<Module>>>,
    /// By the path of a module with problems: the first of them, and the case files that cannot run for it.
    broken: HashMap<String, (usize, BTreeSet<String>)>,
    files: Vec<Arc<CaseFile>>,
    problems: Vec<Diagnostic>,
}

impl Loader {
    /// Adds a file to the sources.
    fn open(&mut self, input: &Input) -> Option<(SourceId, Arc<SourceFile>)> {
        let mut problem = None;
        let text = match &input.content {
            Ok(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(error) => {
                    let at = error.valid_up_to();
                    problem = Some((
                        at,
                        "not-utf8",
                        format!("byte {:#04x} is not UTF-8", bytes.get(at).unwrap_or(&0)),
                    ));
                    String::from_utf8_lossy(bytes).into_owned()
                }
            },
            Err(missing) => {
                problem = Some(match missing {
                    Missing::Unreadable(why) => (0, "unreadable", format!("the file cannot be read: {why}")),
                    Missing::Outside => (
                        0,
                        "path-outside",
                        "the file is a link that leads out of the corpus".to_owned(),
                    ),
                });
                String::new()
            }
        };
        // Spans are of 32 bits.
        if text.len() > 16 << 20 {
            problem = Some((0, "unreadable", format!("the file has {} bytes", text.len())));
        }
        let file = Arc::new(SourceFile::new(input.name.clone(), text));
        let source = self.sources.add(Arc::clone(&file));
        match problem {
            None => Some((source, file)),
            Some((at, code, message)) => {
                let at = u32::try_from(at).unwrap_or(0);
                self.problems.push(
                    Diagnostic::error(code, Span::new(source, at, at), message)
                        .help("mend the file, or take it out of the corpus"),
                );
                None
            }
        }
    }

    fn case_file(&mut self, path: String, id: String, source: SourceId, text: &SourceFile) {
        let before = self.problems.len();
        let Some(schema) = Schema::parse(source, text, &mut self.problems) else {
            return;
        };
        if self.problems.len() > before {
            return;
        }
        let points = self.points(&schema);
        let mut file = CaseFile {
            path,
            id,
            schema,
            kernels: HashMap::new(),
            modules: HashMap::new(),
        };
        if self.problems.len() == before {
            self.kernels_of(&mut file, &points);
        }
        if self.problems.len() == before {
            self.files.push(Arc::new(file));
        }
    }

    /// Tries every condition at every point. Gives the points when some name of a kernel depends on them, else one.
    fn points(&mut self, schema: &Schema) -> Vec<Names> {
        let templates = schema.launches.iter().filter_map(|launch| launch.kernel.as_ref());
        let mut templates = templates.chain([schema.program.template()]);
        let all = templates.any(|template| template.constant().is_none());
        let mut waiting: Vec<usize> = schema
            .expect
            .iter()
            .enumerate()
            .filter(|(_, expect)| expect.when.is_some())
            .map(|(at, _)| at)
            .collect();
        let must_walk = all || !waiting.is_empty() || schema.matrix.has_exclusions();
        let mut points = Vec::new();
        let mut found = false;
        for number in 0..schema.matrix.len() {
            let point = match schema.matrix.point(number) {
                Ok(Some(point)) => point,
                Ok(None) => continue,
                Err(problem) => {
                    self.problems.push(problem);
                    return points;
                }
            };
            found = true;
            for at in std::mem::take(&mut waiting) {
                let Some(when) = schema.expect.get(at).and_then(|expect| expect.when.as_ref()) else {
                    continue;
                };
                match truth(when, &point.names) {
                    Ok(true) => {}
                    Ok(false) => waiting.push(at),
                    Err(problem) => self.problems.push(problem),
                }
            }
            if all || points.is_empty() {
                points.push(point.names);
            }
            if !must_walk {
                break;
            }
        }
        if !found {
            let span = schema.matrix.span().unwrap_or(schema.span);
            self.problems.push(
                Diagnostic::error(
                    "empty-matrix",
                    span,
                    "a matrix of which `exclude` leaves no point",
                )
                .help("exclude less"),
            );
            return points;
        }
        for at in waiting {
            if let Some(when) = schema.expect.get(at).and_then(|expect| expect.when.as_ref()) {
                self.problems.push(
                    Diagnostic::error(
                        "never",
                        when.span(),
                        "a condition that holds at no point of the matrix",
                    )
                    .help("compare with a value that the variable has"),
                );
            }
        }
        points
    }

    /// Finds every kernel and module that the file names, and holds the launches against the signatures.
    fn kernels_of(&mut self, file: &mut CaseFile, points: &[Names]) {
        let mut checked: BTreeSet<(usize, String)> = BTreeSet::new();
        let mut failed: BTreeSet<String> = BTreeSet::new();
        for names in points {
            let program = match file.schema.program.template().render(names) {
                Ok(text) => text.into_owned(),
                Err(problem) => return self.problems.push(problem),
            };
            let span = file.schema.program.template().span;
            match &file.schema.program {
                Program::Import(_) if !file.modules.contains_key(&program) && !failed.contains(&program) => {
                    match self.module(&file.path, &program, span) {
                        Some(module) => drop(file.modules.insert(program.clone(), module)),
                        None => drop(failed.insert(program.clone())),
                    }
                }
                Program::Kernel(_) if !file.kernels.contains_key(&program) && !failed.contains(&program) => {
                    match self.kernel(&file.path, &program, span) {
                        Some(kernel) => drop(file.kernels.insert(program.clone(), kernel)),
                        None => drop(failed.insert(program.clone())),
                    }
                }
                _ => {}
            }
            for (nth, launch) in file.schema.launches.iter().enumerate() {
                let text = match file.schema.kernel_text(launch, names) {
                    Ok(text) => text,
                    Err(problem) => return self.problems.push(problem),
                };
                let span = launch.kernel.as_ref().map_or(span, |template| template.span);
                if !file.kernels.contains_key(&text) && !failed.contains(&text) {
                    match self.kernel(&file.path, &text, span) {
                        Some(kernel) => drop(file.kernels.insert(text.clone(), kernel)),
                        None => drop(failed.insert(text.clone())),
                    }
                }
                if let Some(kernel) = file.kernels.get(&text)
                    && checked.insert((nth, text))
                    && !launch.unchecked
                {
                    bind::check(kernel, launch, &mut self.problems);
                }
            }
        }
    }

    /// `file.py:function`, named by the case file at `from`.
    fn kernel(&mut self, from: &str, text: &str, span: Span) -> Option<Kernel> {
        let Some((file, name)) = text
            .rsplit_once(':')
            .filter(|(file, name)| !file.is_empty() && !name.is_empty())
        else {
            self.problems.push(
                Diagnostic::error("unknown-kernel", span, format!("`{text}` names no function"))
                    .help("name the file and the function: `add_one.py:add_one_kernel`"),
            );
            return None;
        };
        let module = self.module(from, file, span)?;
        let kernel = Kernel::find(&module, name);
        if kernel.is_none() {
            let mut problem = Diagnostic::error(
                "unknown-kernel",
                span,
                format!("`{name}` is not a function of {}", module.file.name),
            );
            problem.help = suggestion(
                name,
                module.functions.iter().map(|function| function.name.as_str()),
            )
            .or_else(|| Some("there are no functions in it".to_owned()));
            self.problems.push(problem);
        }
        kernel
    }

    /// A module by its path from the case file at `from`.
    fn module(&mut self, from: &str, relative: &str, span: Span) -> Option<Arc<Module>> {
        let Some(path) = join(from, relative) else {
            self.problems.push(
                Diagnostic::error(
                    "path-outside",
                    span,
                    format!("`{relative}` leads out of the corpus"),
                )
                .help("keep kernels beside the case files that run them, and name them by relative paths"),
            );
            return None;
        };
        if let Some(module) = self.modules.get(&path) {
            if let Some((_, named_by)) = self.broken.get_mut(&path) {
                named_by.insert(from.to_owned());
            }
            return module.clone();
        }
        let Some(input) = self.kernels.get(&path).cloned() else {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let beside = self.kernels.keys().filter_map(|other| {
                let (other_folder, file) = other.rsplit_once('/').unwrap_or(("", other));
                (other_folder == folder).then_some(file)
            });
            let mut beside: Vec<&str> = beside.collect();
            beside.sort_unstable();
            let mut problem = Diagnostic::error(
                "unknown-kernel",
                span,
                format!("kernel file `{relative}` is not there"),
            );
            let file = path.rsplit_once('/').map_or(path.as_str(), |(_, file)| file);
            problem.help =
                suggestion(file, beside).or_else(|| Some(format!("add the file `{path}` to the corpus")));
            self.problems.push(problem);
            return None;
        };
        let first = self.problems.len();
        let module = self.parse_module(&path, &input);
        if module.is_none() {
            self.broken
                .insert(path.clone(), (first, BTreeSet::from([from.to_owned()])));
        }
        self.modules.insert(path, module.clone());
        module
    }

    fn parse_module(&mut self, path: &str, input: &Input) -> Option<Arc<Module>> {
        let (source, file) = self.open(input)?;
        let contents = match module::parse(source, &file.text) {
            Ok(contents) => contents,
            Err(problems) => {
                self.problems.extend(problems);
                return None;
            }
        };
        let mut imports = BTreeMap::new();
        let mut waiting = contents.imports.clone();
        while let Some(name) = waiting.pop() {
            let Some(other) = join(path, &format!("{}.py", name.replace('.', "/"))) else {
                continue;
            };
            if other == path || imports.contains_key(&name) {
                continue;
            }
            let Some(input) = self.kernels.get(&other).cloned() else {
                continue;
            };
            let (source, file) = self.open(&input)?;
            match module::parse(source, &file.text) {
                Ok(contents) => waiting.extend(contents.imports),
                Err(problems) => {
                    self.problems.extend(problems);
                    return None;
                }
            }
            imports.insert(name, file);
        }
        Some(Arc::new(Module {
            path: path.to_owned(),
            file,
            source,
            functions: contents.functions,
            imports: imports.into_iter().collect(),
        }))
    }
}

/// `relative` from the folder of `from`, without `.` and `..`; `None` when it leaves the root.
fn join(from: &str, relative: &str) -> Option<String> {
    if relative.starts_with('/') || relative.contains(['\\', '\0']) {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_under_the_root() {
        assert_eq!(join("layout/a.yaml", "k.py").as_deref(), Some("layout/k.py"));
        assert_eq!(
            join("layout/a.yaml", "../alias/./k.py").as_deref(),
            Some("alias/k.py")
        );
        assert_eq!(join("a.yaml", "../k.py"), None);
        assert_eq!(join("layout/a.yaml", "../../layout/k.py"), None);
        assert_eq!(join("a.yaml", "/etc/k.py"), None);
        assert_eq!(join("a.yaml", "..\\k.py"), None);
    }
}
