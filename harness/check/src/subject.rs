//! A file whose kernels are checked: the kernels are extracted from their package, with the launches to try.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use cerith_case::{
    Case, Corpus, Ignore, Input, MAX_TEXT, PythonFiles, Requirement, RequirementError, read_declarations,
};
use cerith_engine::{Complaint, Outcome, Reference, SourceLines, catch_panic};
use cerith_interp::Config as Limits;
use cerith_module::excerpt::{Part, Read, extract_functions, join_modules, rename_jit};
use cerith_python::nearest::suggest_spelling;
use cerith_report::describe;
use cerith_runner::corpus::is_python;
use cerith_survey::{Draft, NotTried, Survey, build_drafts, list_kernels};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::rules::Version;
use cerith_tile::source::{SourceFile, Sources};

use super::code;
use super::config::Config;
use super::covered::Uncovered;
use super::error::SubjectError;
use super::fitting::{self, Unwritten};
use super::target::{CheckTarget, display_path, home_by_imports};
use super::text::{Cells, CheckedText, STDIN, is_notebook};

/// A storage of more bytes is sparse in launches that touch little.
pub(crate) const MAX_DENSE: u64 = 1 << 16;

/// The most files of a folder that are read for launches of a kernel.
const MAX_FOLDER: usize = 256;

/// The most files that are evaluated for launches of a kernel.
const MAX_CALLERS: usize = 4;

/// The helpers of `TorchInductor`'s kernels, whose modules need torch.
const INDUCTOR_HELPERS: &str = include_str!("inductor/triton_helpers.py");

/// The modules that have been the helpers' home.
pub(crate) const INDUCTOR: [&str; 2] = [
    "torch/_inductor/runtime/triton_helpers.py",
    "torch/_inductor/triton_helpers.py",
];

/// The files that decide the result of a check: those that were read, and those that were looked for.
#[derive(Debug, Default)]
pub struct FilesRead(RefCell<BTreeSet<PathBuf>>);

impl FilesRead {
    /// Adds a file.
    pub fn add(&self, file: &Path) {
        self.0.borrow_mut().insert(file.to_owned());
    }

    /// The files, in the order of their paths.
    pub fn into_list(self) -> Vec<PathBuf> {
        self.0.into_inner().into_iter().collect()
    }
}

/// A case file's text, the version of the language and the fuel, with the case and its outcome.
type LastRun = ((String, Version, u64), Rc<(Case, Outcome)>);

/// A file with kernels.
pub struct Subject {
    /// The file as the user names it.
    pub display_name: String,
    /// The cells of a notebook.
    pub cells: Cells,
    root: PathBuf,
    parts: Vec<Part>,
    /// The parts as files of a corpus.
    python: PythonFiles,
    /// References by the fuel of a launch.
    references: RefCell<BTreeMap<u64, Rc<Reference>>>,
    /// The last run of a case file, by its text, the version of the language, and the fuel.
    pub(crate) last_run: RefCell<Option<LastRun>>,
    drafts: Vec<Draft>,
    /// The kernels that were drafted so far, in the order of the file.
    pub surveys: Vec<Survey>,
    /// The file's path from the folder that imports start from.
    module_path: String,
    /// The file's path from the configuration's folder, if it is inside.
    pub relative: Option<String>,
    /// Case files of launches in which an integer wraps, by their ids.
    pub(crate) overflows: Vec<(String, String)>,
    /// Comments that hide findings, with the files that they are in.
    pub comments: Vec<(String, Ignore)>,
    /// When the current kernel has no time left.
    pub deadline: Option<Instant>,
    /// Declared preconditions of kernels.
    requirements: Vec<(String, Requirement)>,
    /// Why a declared precondition has no value for a launch.
    unanswered: RefCell<Option<RequirementError>>,
    /// Whole texts of its files, by the names that reports show.
    texts: Vec<(String, String)>,
}

impl Subject {
    /// Reads a file; `None` if it was found in a folder and has no kernels. `edited` replaces the text of the file. The files
    /// that are read are added to `files`.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong.
    pub fn open(
        asked: &CheckTarget,
        config: &Config,
        edited: Option<&str>,
        files: &FilesRead,
    ) -> Result<Option<Self>, SubjectError> {
        let is_stdin = asked.file == Path::new(STDIN);
        let name = if is_stdin {
            "<stdin>".to_owned()
        } else {
            asked.file.display().to_string()
        };
        let read = edited.map_or_else(
            || CheckedText::read(&asked.file),
            |text| Ok(CheckedText::from_module(text.to_owned())),
        );
        let CheckedText {
            text: original,
            cells,
        } = match read {
            Ok(read) => read,
            // Most files of a package have nothing to do with Triton, whatever their encoding and length.
            Err(_) if !asked.explicit && !mentions_jit(&asked.file) => return Ok(None),
            Err(error) => {
                return Err(SubjectError::Read {
                    path: asked.file.clone(),
                    error,
                });
            }
        };
        if !is_stdin && !is_python(&asked.file) && !is_notebook(&asked.file) {
            return Err(SubjectError::NotPython(name));
        }
        let text = rename_jit(&original).into_owned();
        if !asked.explicit && !text.contains("jit") {
            return Ok(None);
        }
        let file = if is_stdin {
            Path::new("stdin.py")
        } else {
            &asked.file
        };
        let (root, path) = home_by_imports(file, &text).ok_or_else(|| SubjectError::NotUtf8(name.clone()))?;
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new(name.as_str(), text.as_str()));
        let rendered = |problems: Vec<_>| {
            let shown = problems
                .iter()
                .map(|problem| describe::to_problem(problem, &sources).rendered);
            let shown = shown.collect::<Vec<_>>().join("\n");
            SubjectError::Broken(cells.relocate_text(&name, &shown))
        };
        let all = list_kernels(source, &text).map_err(rendered)?;
        if all.is_empty() && !asked.explicit {
            return Ok(None);
        }
        if all.is_empty() {
            return Err(SubjectError::NoKernel(name));
        }
        if let Some(missing) = asked.kernels.iter().find(|one| !all.contains(one)) {
            return Err(SubjectError::UnknownKernel {
                kernel: missing.clone(),
                file: name,
            });
        }
        let wanted: Vec<&str> = all
            .iter()
            .filter(|one| asked.kernels.is_empty() || asked.kernels.contains(one))
            .map(String::as_str)
            .collect();
        let read = |other: &str| {
            if other == path {
                return Some(text.clone());
            }
            let path = root.join(other);
            files.add(&path);
            let file = cerith_files::read_text(path, MAX_TEXT as u64).ok();
            file.or_else(|| INDUCTOR.contains(&other).then(|| INDUCTOR_HELPERS.to_owned()))
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let parts = extract_functions(&path, &stem, &wanted, &read).map_err(|(path, problems)| {
            let at = root.join(&path);
            let mut sources = Sources::default();
            let text = cerith_files::read_text(&at, MAX_TEXT as u64).unwrap_or_default();
            sources.add(SourceFile::new(display_path(&root, &path), text));
            let shown = problems
                .iter()
                .map(|problem| describe::to_problem(problem, &sources).rendered);
            SubjectError::Broken(shown.collect::<Vec<_>>().join("\n"))
        })?;
        let only: Vec<&str> = asked.kernels.iter().map(String::as_str).collect();
        // The text was read before.
        let mut drafts = build_drafts(source, &parts, &text, &only).unwrap_or_default();
        find_hosts(&mut drafts, &root, &path, &text, &read);
        let modules = parts.iter().enumerate().map(|(nth, part)| Input {
            path: part.path.clone(),
            name: if nth == 0 {
                name.clone()
            } else {
                display_path(&root, &part.origin)
            },
            content: Ok(part.text.as_bytes().to_vec()),
        });
        let python = PythonFiles::parse(modules);
        let mut subject = Self {
            display_name: name.clone(),
            cells: cells.clone(),
            drafts,
            parts,
            python,
            references: RefCell::default(),
            last_run: RefCell::default(),
            surveys: Vec::new(),
            overflows: Vec::new(),
            module_path: path,
            relative: config.find_relative(&asked.file),
            comments: Vec::new(),
            deadline: None,
            requirements: Vec::new(),
            unanswered: RefCell::new(None),
            texts: Vec::new(),
            root,
        };
        subject.read_comments(&original)?;
        subject.add_configured(config, &all)?;
        Ok(Some(subject))
    }

    /// Reads the comments for Cerith in the kernels' file and in the files that it needs.
    fn read_comments(&mut self, text: &str) -> Result<(), SubjectError> {
        let others = self.parts.iter().skip(1).filter_map(|part| {
            let text = cerith_files::read_text(self.root.join(&part.origin), MAX_TEXT as u64).ok()?;
            Some((display_path(&self.root, &part.origin), text))
        });
        let first = std::iter::once((self.display_name.clone(), text.to_owned()));
        self.texts = first.chain(others).collect();
        let mut sources = Sources::default();
        let mut problems = Vec::new();
        for (nth, (name, text)) in self.texts.iter().enumerate() {
            let source = sources.add(SourceFile::new(name.as_str(), text.as_str()));
            let declared = match read_declarations(source, text) {
                Ok(declared) => declared,
                Err(wrong) => {
                    problems.extend(wrong);
                    continue;
                }
            };
            for ignore in declared.ignores {
                for code in ignore.codes.iter().filter(|code| !code::is_known(code)) {
                    let message = format!("no finding has the code `{code}`");
                    let problem = Diagnostic::error("bad-declaration", ignore.span, message);
                    problems.push(match code::suggest(code) {
                        Some(help) => problem.help(help),
                        None => problem,
                    });
                }
                self.comments.push((name.clone(), ignore));
            }
            if nth == 0 {
                self.requirements = declared.requirements;
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        let shown = problems
            .iter()
            .map(|problem| describe::to_problem(problem, &sources).rendered);
        Err(SubjectError::Broken(shown.collect::<Vec<_>>().join("\n")))
    }

    /// Adds the preconditions of the configuration. `all` are the kernels of the file.
    fn add_configured(&mut self, config: &Config, all: &[String]) -> Result<(), SubjectError> {
        let Some(relative) = &self.relative else {
            return Ok(());
        };
        for entry in config.kernels.iter().filter(|entry| entry.file == *relative) {
            let place = &entry.place;
            if !all.contains(&entry.kernel) {
                return Err(SubjectError::UnknownConfigured {
                    file: relative.clone(),
                    kernel: entry.kernel.clone(),
                    place: place.clone(),
                    help: suggest_spelling(&entry.kernel, all.iter().map(String::as_str)),
                });
            }
            let Some(draft) = self.drafts.iter().find(|draft| draft.kernel() == entry.kernel) else {
                continue;
            };
            for text in &entry.requires {
                let parsed = Requirement::parse(text, draft.parameters()).map_err(|error| {
                    SubjectError::Requirement {
                        place: place.clone(),
                        error: Box::new(error),
                    }
                })?;
                self.requirements.push((entry.kernel.clone(), parsed));
            }
        }
        Ok(())
    }

    /// The path that ids of findings are made from.
    pub fn stable_path(&self) -> &str {
        self.relative.as_deref().unwrap_or(&self.module_path)
    }

    /// How many kernels it has.
    pub fn count_kernels(&self) -> usize {
        self.drafts.len()
    }

    /// Drafts the launches of a kernel. Kernels are drafted in their order.
    ///
    /// # Errors
    /// A declared precondition has no value for any launch.
    pub fn draft_kernel(&mut self, nth: usize) -> Result<(), SubjectError> {
        let Some(draft) = self.drafts.get(nth) else {
            return Ok(());
        };
        self.unanswered.take();
        let mut survey = fitting::find_honest(self, draft);
        let count = survey.attempts.len();
        if self.list_requirements(&survey.kernel).next().is_some() {
            let corpus = self.build_launch_corpus(std::iter::once(&survey));
            let ids = (0..count).map(|nth| format_case_id(&survey, nth));
            let keeps: Vec<bool> = ids
                .map(|id| self.keeps_declared(&survey.kernel, &corpus, &id))
                .collect();
            let mut keeps = keeps.into_iter();
            survey.attempts.retain(|_| keeps.next().unwrap_or(true));
        }
        if count > 0 && survey.attempts.is_empty() {
            if let Some(reason) = self.unanswered.take() {
                return Err(SubjectError::NoValue {
                    kernel: survey.kernel,
                    reason: Box::new(reason),
                });
            }
            survey.not_tried = Some(NotTried::Declared);
        }
        self.surveys.push(survey);
        Ok(())
    }

    /// The declared preconditions of a kernel.
    pub fn list_requirements(&self, kernel: &str) -> impl Iterator<Item = &Requirement> {
        let own = self.requirements.iter().filter(move |(of, _)| of == kernel);
        own.map(|(_, requirement)| requirement)
    }

    fn keeps_declared(&self, kernel: &str, corpus: &Corpus, id: &str) -> bool {
        let entry = corpus.entries().find(|entry| entry.id == id);
        // The errors of a case file are reported when it is judged.
        let case = entry.and_then(|entry| catch_panic(|| entry.resolve()).ok()?.ok());
        case.is_none_or(|case| self.count_kept(kernel, &case) == self.list_requirements(kernel).count())
    }

    /// How many declared preconditions the launches of a case keep.
    pub fn count_kept(&self, kernel: &str, case: &Case) -> usize {
        let keeps = |requirement: &&Requirement| {
            let mut own = case.launches.iter().filter(|launch| launch.kernel.name == kernel);
            own.all(|launch| {
                requirement.holds(launch, &case.storages).unwrap_or_else(|why| {
                    self.unanswered.borrow_mut().get_or_insert(why);
                    false
                })
            })
        };
        self.list_requirements(kernel).filter(keeps).count()
    }

    /// Compiles a kernel with its plain launch. Fails with the error, if there is one and a launch.
    ///
    /// # Errors
    /// The kernel does not compile, or has no launch.
    pub fn compile(&self, kernel: &str) -> Result<(), Option<Box<Complaint>>> {
        fitting::compile(self, self.find_draft(kernel).ok_or(None)?)
    }

    /// Whether the current kernel has no time left.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The text of a line, from 1, of a file as reports name it.
    pub fn find_line(&self, file: &str, line: u32) -> Option<&str> {
        let (_, text) = self.texts.iter().find(|(name, _)| name == file)?;
        text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)
    }

    /// The whole text of a file as reports name it.
    pub fn find_text(&self, file: &str) -> Option<&str> {
        let (_, text) = self.texts.iter().find(|(name, _)| name == file)?;
        Some(text)
    }

    /// The draft of a kernel.
    pub(crate) fn find_draft(&self, kernel: &str) -> Option<&Draft> {
        self.drafts.iter().find(|draft| draft.kernel() == kernel)
    }

    /// Launches with which a kernel finishes, other than its honest ones; `None` if none were found.
    pub fn find_passing(&self, survey: &Survey) -> Option<Survey> {
        let draft = self.find_draft(&survey.kernel)?;
        fitting::find_passing(self, draft, survey)
    }

    /// The elements of outputs that the plain launch of a kernel does not write.
    pub fn find_unwritten(&self, survey: &Survey) -> Vec<Unwritten> {
        let draft = self.find_draft(&survey.kernel);
        draft.map_or_else(Vec::new, |draft| fitting::find_unwritten(self, draft, survey))
    }

    /// The first launch of a kernel's launcher with too few programs.
    pub fn find_uncovered(&self, survey: &Survey) -> Option<Uncovered> {
        fitting::find_uncovered(self, self.find_draft(&survey.kernel)?, survey)
    }

    /// The last line of a kernel that a failure is about; 0 if it is about none. Its primary span may be in a function that the kernel
    /// calls.
    pub fn last_line(&self, kernel: &str, lines: &[SourceLines]) -> u32 {
        let first = self.find_kernel_line(kernel).unwrap_or(0);
        let own = lines.iter().filter(|lines| lines.file == self.display_name);
        let last = own.map(|lines| lines.last).filter(|last| *last >= first);
        last.max().unwrap_or(0)
    }

    /// The line of a kernel's `def`.
    pub fn find_kernel_line(&self, kernel: &str) -> Option<u32> {
        let text = self.parts.first().map_or("", |part| part.text.as_str());
        let name = kernel.rsplit('.').next().unwrap_or_default();
        let starts = |line: &str| line.trim_start().starts_with(&format!("def {name}("));
        text.lines().position(starts).map(|at| at as u32 + 1)
    }

    /// The excerpt, and case files by their ids.
    pub fn build_corpus(&self, files: impl Iterator<Item = (String, String)>) -> Corpus {
        let cases = files.map(|(id, text)| Input {
            path: format!("{id}.yaml"),
            name: format!("{id}.yaml"),
            content: Ok(text.into_bytes()),
        });
        Corpus::load_beside(&self.python, cases)
    }

    /// The excerpt and every launch of some kernels.
    pub fn build_launch_corpus<'s>(&self, surveys: impl Iterator<Item = &'s Survey>) -> Corpus {
        let files = surveys.flat_map(|survey| {
            let tried = survey.attempts.iter().enumerate();
            tried.map(|(nth, tried)| (format_case_id(survey, nth), tried.text.clone()))
        });
        self.build_corpus(files)
    }

    /// The launches of a kernel that only show relations of sizes, as cases. There are none if preconditions are declared, which they may break.
    pub fn list_sized_cases(&self, survey: &Survey) -> Vec<Case> {
        if self.list_requirements(&survey.kernel).next().is_some() {
            return Vec::new();
        }
        let name = |nth: usize| format!("sized-{nth:02}");
        let files = survey.sized.iter().enumerate();
        resolve_cases(&self.build_corpus(files.map(|(nth, sized)| (name(nth), sized.text.clone()))))
    }

    /// The reference with so much fuel for a launch. It keeps the kernels that it traced.
    pub(crate) fn find_reference(&self, fuel: u64) -> Rc<Reference> {
        let mut references = self.references.borrow_mut();
        let reference = references.entry(fuel).or_insert_with(|| {
            Rc::new(Reference::new(Limits {
                fuel,
                program_fuel: fuel,
                ..Limits::default()
            }))
        });
        Rc::clone(reference)
    }

    /// The folder that the module's imports start from.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Keeps the excerpt and the case files in a folder. A file that is there with other content is an error.
    pub fn keep(&self, folder: &Path) -> io::Result<()> {
        cerith_files::create_folders(folder)?;
        for part in &self.parts {
            cerith_files::write_new(folder.join(&part.path), &part.text)?;
        }
        for survey in &self.surveys {
            for (nth, tried) in survey.attempts.iter().enumerate() {
                cerith_files::write_new(
                    folder.join(format!("{}.yaml", format_case_id(survey, nth))),
                    &tried.text,
                )?;
            }
        }
        for (id, text) in &self.overflows {
            cerith_files::write_new(folder.join(format!("{id}.yaml")), text)?;
        }
        Ok(())
    }
}

/// Looks for launches of kernels that no function of their file makes alone: together with what the file imports, and in the files
/// of its folder.
fn find_hosts(drafts: &mut [Draft], root: &Path, path: &str, text: &str, read: &Read<'_>) {
    if drafts.iter().all(Draft::has_host) {
        return;
    }
    let joined = join_modules(path, None, read);
    let mut others: Option<Vec<(String, String)>> = None;
    for draft in drafts.iter_mut().filter(|draft| !draft.has_host()) {
        if let Some(joined) = &joined {
            draft.add_hosts(joined, None);
        }
        if draft.has_host() {
            continue;
        }
        let others = others.get_or_insert_with(|| read_folder(root, path, read));
        let name = draft.kernel().to_owned();
        // A file that defines a kernel of this name launches its own.
        let launches =
            |text: &str| text.contains(&format!("{name}[")) && !text.contains(&format!("def {name}("));
        let mut callers = others.iter().filter(|(_, text)| launches(text)).take(MAX_CALLERS);
        let _ = callers.any(|(other, _)| {
            if let Some(joined) = join_modules(other, Some((path, text)), read) {
                let file = other.rsplit('/').next();
                draft.add_hosts(&joined, file);
            }
            draft.has_host()
        });
    }
}

/// The other Python files of a file's folder, by their paths from the root.
fn read_folder(root: &Path, path: &str, read: &Read<'_>) -> Vec<(String, String)> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        return Vec::new();
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_python(Path::new(name))).collect();
    names.sort();
    let paths = names.into_iter().take(MAX_FOLDER).map(|name| match folder {
        "" => name,
        _ => format!("{folder}/{name}"),
    });
    let others = paths.filter(|other| other != path);
    others
        .filter_map(|other| read(&other).map(|text| (other, text)))
        .collect()
}

/// Whether the beginning of a file, in whatever encoding, has the word that every kernel needs. Yes if it cannot be read.
fn mentions_jit(file: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(1 << 24).read_to_end(&mut bytes));
    read.is_err() || bytes.windows(3).any(|window| window == b"jit")
}

/// The id of the case of a launch, which is its file's name too.
pub fn format_case_id(survey: &Survey, nth: usize) -> String {
    format!("{}-{nth:02}", survey.kernel.replace('.', "_"))
}

/// The cases of a corpus that can be resolved.
pub(super) fn resolve_cases(corpus: &Corpus) -> Vec<Case> {
    let entries = corpus.entries();
    entries
        .filter_map(|entry| catch_panic(|| entry.resolve()).ok()?.ok())
        .collect()
}
