//! Loads the files of a corpus as case files whose kernels were found. See [`super::Corpus`] for expanding them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceFile, SourceId, Sources, Span};

use crate::archive::Archives;
use crate::bind;
use crate::case_file::CaseFile;
use crate::input::{Input, MAX_TEXT, Missing, join};
use crate::like::{CaseLike, LikeSource};
use crate::matrix::evaluate_condition;
use crate::schema::{Program, Schema};
use cerith_expression::Names;
use cerith_module::kernel::{Kernel, Module};
use cerith_module::module::{self, Contents};
use cerith_python::nearest::suggest_spelling;

/// A Python file and what is in it.
#[derive(Debug)]
struct Python {
    source: SourceId,
    file: Arc<SourceFile>,
    contents: Contents,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Loader {
    pub(super) sources: Sources,
    pub(super) kernels: HashMap<String, Arc<Input>>,
    pub(super) archives: Arc<Archives>,
    /// By path: each Python file, or what is wrong with it.
    parsed: HashMap<String, Result<Arc<Python>, Vec<Diagnostic>>>,
    /// By path; `None` for a module with problems, which were reported.
    modules: HashMap<String, Option<Arc<Module>>>,
    /// By the path of a module with problems: the first of them, and the case files that cannot run for it.
    pub(super) broken: HashMap<String, (usize, BTreeSet<String>)>,
    pub(super) files: Vec<Arc<CaseFile>>,
    pub(super) problems: Vec<Diagnostic>,
}

impl Loader {
    /// Parses all Python files. Problems are reported by the case files that need them.
    pub(super) fn parse_all(&mut self) {
        let mut paths: Vec<String> = self.kernels.keys().cloned().collect();
        paths.sort_unstable();
        for path in paths {
            let Some(input) = self.kernels.get(&path).cloned() else {
                continue;
            };
            if let Some(module) = self.parse_module(&path, &input) {
                self.modules.insert(path, Some(module));
            }
        }
        self.problems.clear();
    }

    /// Adds a file to the sources.
    pub(super) fn open(&mut self, input: &Input) -> Option<(SourceId, Arc<SourceFile>)> {
        let mut problem = None;
        let text = match &input.content {
            Ok(bytes) if bytes.len() > MAX_TEXT => {
                let message = format!("the file has more than the {MAX_TEXT} bytes that are read");
                problem = Some((0, "unreadable", message));
                String::new()
            }
            Ok(bytes) => match std::str::from_utf8(bytes) {
                // Editors of Windows begin files with a mark of their byte order.
                Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(),
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
                    Missing::Skipped(why) => (0, "skipped-file", why.clone()),
                });
                String::new()
            }
        };
        let file = Arc::new(SourceFile::new(input.name.clone(), text));
        let source = self.sources.add(Arc::clone(&file));
        match problem {
            None => Some((source, file)),
            Some((at, code, message)) => {
                let at = u32::try_from(at).unwrap_or(0);
                let help = match input.content {
                    Err(Missing::Skipped(_)) => "rename it, or remove it from the corpus",
                    _ => "fix the file, or remove it from the corpus",
                };
                self.problems
                    .push(Diagnostic::error(code, Span::new(source, at, at), message).help(help));
                None
            }
        }
    }

    pub(super) fn case_file(&mut self, path: String, id: String, source: SourceId, text: &SourceFile) {
        let before = self.problems.len();
        let Some(schema) = Schema::parse(source, text, &mut self.problems) else {
            return;
        };
        if self.problems.len() > before {
            return;
        }
        let points = self.collect_points(&schema);
        let mut file = CaseFile {
            path,
            id,
            schema,
            archives: Arc::clone(&self.archives),
            kernels: HashMap::new(),
            hosts: HashMap::new(),
            modules: HashMap::new(),
            like: None,
        };
        if self.problems.len() == before {
            self.kernels_of(&mut file, &points);
            file.like = self.load_like(&file);
        }
        let recorded = file.schema.recorded_bytes();
        self.problems
            .extend(recorded.filter_map(|bytes| bytes.check(file.archive_lookup()).err()));
        if self.problems.len() == before {
            self.files.push(Arc::new(file));
        }
    }

    /// Tries every condition at every point. Gives a point for every set of kernels that the launches name.
    fn collect_points(&mut self, schema: &Schema) -> Vec<Names> {
        let templates = (schema.launches.iter())
            .flat_map(|launch| [&launch.kernel, &launch.host])
            .flatten();
        let mut templates = templates.chain([schema.program.template()]);
        let all = templates.any(|template| template.constant().is_none());
        let mut waiting: Vec<usize> = schema
            .expect
            .iter()
            .enumerate()
            .filter(|(_, expect)| expect.condition.is_some())
            .map(|(at, _)| at)
            .collect();
        let mut seen: HashSet<Vec<String>> = HashSet::new();
        let mut points = Vec::new();
        let mut found = false;
        for number in 0..schema.matrix.len() {
            let point = match schema.matrix.build_point(number) {
                Ok(Some(point)) => point,
                Ok(None) => continue,
                Err(problem) => {
                    self.problems.push(problem);
                    return points;
                }
            };
            found = true;
            for at in std::mem::take(&mut waiting) {
                let Some(when) = schema.expect.get(at).and_then(|expect| expect.condition.as_ref()) else {
                    continue;
                };
                match evaluate_condition(when, &point.names) {
                    Ok(true) => {}
                    Ok(false) => waiting.push(at),
                    Err(problem) => self.problems.push(problem),
                }
            }
            // One point for every set of kernels: a large matrix must not be kept whole.
            let hosts = schema
                .launches
                .iter()
                .map(|launch| Ok(schema.host_text(launch, &point.names)?.unwrap_or_default()));
            let kernels = schema
                .launches
                .iter()
                .map(|launch| schema.kernel_text(launch, &point.names));
            let program = schema
                .program
                .template()
                .render(&point.names)
                .map(Cow::into_owned);
            match kernels
                .chain(hosts)
                .chain([program])
                .collect::<Result<Vec<_>, _>>()
            {
                Ok(kernels) => {
                    if seen.insert(kernels) {
                        points.push(point.names);
                    }
                }
                Err(problem) => {
                    self.problems.push(problem);
                    return points;
                }
            }
            if !all && waiting.is_empty() && !schema.matrix.has_exclusions() {
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
            if let Some(when) = schema.expect.get(at).and_then(|expect| expect.condition.as_ref()) {
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

    /// Finds every kernel and module that the file names, and checks the launches against the signatures.
    fn kernels_of(&mut self, file: &mut CaseFile, points: &[Names]) {
        let mut checked: BTreeSet<(usize, String)> = BTreeSet::new();
        let mut failed: BTreeSet<String> = BTreeSet::new();
        let mut hosts_failed: BTreeSet<String> = BTreeSet::new();
        for names in points {
            let program = match file.schema.program.template().render(names) {
                Ok(text) => text.into_owned(),
                Err(problem) => return self.problems.push(problem),
            };
            let span = file.schema.program.template().span;
            match &file.schema.program {
                Program::Import(_) if !file.modules.contains_key(&program) && !failed.contains(&program) => {
                    match self.load_module(&file.path, &program, span) {
                        Some(module) => drop(file.modules.insert(program.clone(), module)),
                        None => drop(failed.insert(program.clone())),
                    }
                }
                Program::Kernel(_) if !file.kernels.contains_key(&program) && !failed.contains(&program) => {
                    match self.load_kernel(&file.path, &program, span) {
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
                    match self.load_kernel(&file.path, &text, span) {
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
                let Some(template) = &launch.host else { continue };
                let text = match file.schema.host_text(launch, names) {
                    Ok(text) => text.unwrap_or_default(),
                    Err(problem) => return self.problems.push(problem),
                };
                if !file.hosts.contains_key(&text) && hosts_failed.insert(text.clone()) {
                    let host = self.load_host(&file.path, &text, template.span);
                    file.hosts.extend(host.map(|host| (text, host)));
                }
            }
        }
    }

    /// The reference function of a case file.
    fn load_like(&mut self, file: &CaseFile) -> Option<CaseLike> {
        let (written, span) = file.schema.like.clone()?;
        let module = match &written.source {
            LikeSource::Module(_) => None,
            LikeSource::File(path) => {
                let module = self.load_module(&file.path, &path.to_string_lossy(), span)?;
                if Kernel::find(&module, &written.function).is_none() {
                    let message = format!("`{}` is not a function of {}", written.function, module.file.name);
                    let mut problem = Diagnostic::error("bad-like", span, message);
                    let names = module.functions.iter().map(|function| function.name.as_str());
                    problem.help = suggest_spelling(&written.function, names);
                    self.problems.push(problem);
                    return None;
                }
                Some(module)
            }
        };
        Some(CaseLike { written, module })
    }

    /// `file.py:function` of a host function, named by the case file at `from`.
    fn load_host(&mut self, from: &str, text: &str, span: Span) -> Option<Kernel> {
        let Some((file, name)) = text
            .rsplit_once(':')
            .filter(|(file, name)| !file.is_empty() && !name.is_empty())
        else {
            self.problems.push(
                Diagnostic::error("unknown-host", span, format!("`{text}` names no function"))
                    .help("name the file and the function: `hosts.py:list_grid`"),
            );
            return None;
        };
        let module = self.load_module(from, file, span)?;
        let found = Kernel::find(&module, name);
        let problem = if let Some(function) = found.as_ref().and_then(Kernel::function) {
            match bind::check_host(function, span) {
                None => return found,
                Some(problem) => problem,
            }
        } else {
            let mut problem = Diagnostic::error(
                "unknown-host",
                span,
                format!("`{name}` is not a function of {}", module.file.name),
            );
            let fitting = module
                .functions
                .iter()
                .filter(|function| bind::check_host(function, span).is_none());
            problem.help = suggest_spelling(name, fitting.map(|function| function.name.as_str()))
                .or_else(|| Some("write one: `def launch(kernel, grid, args): …`".to_owned()));
            problem
        };
        self.problems.push(problem);
        None
    }

    /// `file.py:function`, named by the case file at `from`.
    fn load_kernel(&mut self, from: &str, text: &str, span: Span) -> Option<Kernel> {
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
        let module = self.load_module(from, file, span)?;
        let kernel = Kernel::find(&module, name);
        if kernel.is_none() {
            let mut problem = Diagnostic::error(
                "unknown-kernel",
                span,
                format!("`{name}` is not a function of {}", module.file.name),
            );
            problem.help = suggest_spelling(
                name,
                module.functions.iter().map(|function| function.name.as_str()),
            )
            .or_else(|| Some("there are no functions in it".to_owned()));
            self.problems.push(problem);
        }
        kernel
    }

    /// A module by its path from the case file at `from`.
    fn load_module(&mut self, from: &str, relative: &str, span: Span) -> Option<Arc<Module>> {
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
                format!("Python file `{relative}` is not there"),
            );
            let file = path.rsplit_once('/').map_or(path.as_str(), |(_, file)| file);
            problem.help = suggest_spelling(file, beside)
                .or_else(|| Some(format!("add the file `{path}` to the corpus")));
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
        let python = self.parse_python(path, input)?;
        let mut imports = BTreeMap::new();
        let mut waiting = python.contents.imports.clone();
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
            let imported = self.parse_python(&other, &input)?;
            waiting.extend(imported.contents.imports.iter().cloned());
            imports.insert(name, Arc::clone(&imported.file));
        }
        Some(Arc::new(Module {
            path: path.to_owned(),
            file: Arc::clone(&python.file),
            source: python.source,
            functions: python.contents.functions.clone(),
            pieces: python.contents.pieces.clone(),
            imports: imports.into_iter().collect(),
        }))
    }

    /// Returns a Python file, parsed on first use. Its problems are reported for every module that needs it.
    fn parse_python(&mut self, path: &str, input: &Input) -> Option<Arc<Python>> {
        if let Some(known) = self.parsed.get(path) {
            return match known {
                Ok(python) => Some(Arc::clone(python)),
                Err(problems) => {
                    self.problems.extend(problems.iter().cloned());
                    None
                }
            };
        }
        let before = self.problems.len();
        let python = self.open(input).and_then(|(source, file)| {
            let contents = module::parse(source, &file.text)
                .map_err(|problems| self.problems.extend(problems))
                .ok()?;
            Some(Arc::new(Python {
                source,
                file,
                contents,
            }))
        });
        let found = match &python {
            Some(python) => Ok(Arc::clone(python)),
            None => Err(self.problems.get(before..).unwrap_or_default().to_vec()),
        };
        self.parsed.insert(path.to_owned(), found);
        python
    }
}
