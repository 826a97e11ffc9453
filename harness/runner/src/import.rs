//! `cerith import`: a first case file for a kernel that has none.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cerith_case::{Corpus, Input, MAX_TEXT};
use cerith_engine::{Engine, Failure, Outcome, Reference, catch_panic};
use cerith_launcher::skeleton::write_skeleton;
use cerith_module::excerpt::Part;
use cerith_report::{describe, quote_for_shell};
use cerith_survey::{Reading, build_drafts};
use cerith_tile::rules::Rules;
use cerith_tile::source::{SourceFile, Sources};

use crate::corpus::{folder_of, is_python, modules_in};
use crate::exit::Exit;
use crate::host::Console;
use crate::kernels::{KernelError, find_launched_kernels, find_only_kernel, is_case_file};
use crate::mistyped::describe_read_error;

/// Options for importing a kernel.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The kernel: `file.py:function`.
    pub kernel: String,
    /// The case file to write.
    pub out: Option<PathBuf>,
}

/// The reason why no case file is written.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(
        "error: {}",
        describe_read_error(
            path,
            error,
            "name a kernel and its file: `cerith import softmax.py:softmax_kernel`"
        )
    )]
    Read { path: PathBuf, error: io::Error },
    #[error("error: {file} launches {} kernels\n  = help: name one: {}", kernels.len(), kernels.join(", "))]
    SeveralKernels { file: String, kernels: Vec<String> },
    #[error(
        "error: `{0}` names no kernel\n  = help: write `file.py:function`, a Python file with one kernel, or a case file"
    )]
    NoKernel(String),
    #[error("error: {} is not the name of a case file\n  = help: it ends in `.yaml`", .0.display())]
    NotCaseFile(PathBuf),
    #[error("error: {} is hidden, and no hidden file is read as a case\n  = help: name it without the dot", .0.display())]
    Hidden(PathBuf),
    #[error(
        "error: {} is neither in the folder of {} nor below it\n  = help: a case file names its kernel by a path that does not leave \
         the corpus: copy the kernel's file there",
        file.display(),
        out.display()
    )]
    Outside { file: PathBuf, out: PathBuf },
    #[error("error: {} already exists\n  = help: name another file with `-o`", .0.display())]
    Exists(PathBuf),
    #[error("error: failed to write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    /// The file that was written cannot be read.
    #[error("{0}")]
    ReadBack(io::Error),
    /// The kernel's file or the case file is wrong: messages about it.
    #[error("{0}")]
    Broken(String),
}

/// Imports, and returns the exit code.
pub fn import(options: &ImportOptions, console: &dyn Console) -> Exit {
    match write_case_file(options) {
        Ok(written) => {
            console.print(&format!("{}\n", written.display()));
            console.note(&describe_trial(&written, options));
            Exit::AsExpected
        }
        Err(error) => {
            console.note(&error.to_string());
            Exit::Wrong
        }
    }
}

/// Writes the case file, or says why not.
fn write_case_file(options: &ImportOptions) -> Result<PathBuf, ImportError> {
    let (file, kernel) = find_kernel(options)?;
    let kernel = kernel.as_str();
    let text = read_kernel_file(&file)?;
    let out = options.out.clone().unwrap_or_else(|| {
        let name = format!("{}.yaml", kernel.replace('.', "_"));
        file.parent().unwrap_or(Path::new("")).join(name)
    });
    if !matches!(out.extension().and_then(|e| e.to_str()), Some("yaml" | "yml")) {
        return Err(ImportError::NotCaseFile(out));
    }
    if out
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    {
        return Err(ImportError::Hidden(out));
    }
    let path = find_relative_path(&folder_of(&out), &file).ok_or_else(|| ImportError::Outside {
        file: file.clone(),
        out: out.clone(),
    })?;
    let yaml = build_case_file(&file, &text, &path, kernel, &out)?;
    // Never over a file that is there.
    let created = cerith_files::create_new(&out);
    created
        .and_then(|mut file| {
            file.write_all(yaml.as_bytes()).inspect_err(|_| {
                // Half a case file is in the way of the next try.
                let _ = cerith_files::remove_file(&out);
            })
        })
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ImportError::Exists(out.clone()),
            _ => ImportError::Write {
                path: out.clone(),
                error,
            },
        })?;
    Ok(out)
}

/// The text of the case file: with the matrix of the first reading with which the kernel compiles, or with guesses alone.
fn build_case_file(
    file: &Path,
    text: &str,
    path: &str,
    kernel: &str,
    out: &Path,
) -> Result<String, ImportError> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(file.display().to_string(), text));
    let rendered = |problems: Vec<_>| {
        let shown = problems
            .iter()
            .map(|problem| describe::to_problem(problem, &sources).rendered);
        ImportError::Broken(shown.collect::<Vec<_>>().join("\n"))
    };
    let plain = write_skeleton(source, text, path, kernel).map_err(rendered)?;
    let part = Part {
        path: path.to_owned(),
        origin: path.to_owned(),
        text: text.to_owned(),
    };
    let drafts = build_drafts(source, &[part], text, &[kernel]).map_err(rendered)?;
    let Some(draft) = drafts.first() else {
        return Ok(plain);
    };
    let runs = |yaml: &String| {
        let tried = catch_panic(|| ImportTrial::run_cases(yaml, out, file));
        tried.is_ok_and(|tried| tried.is_ok_and(|tried| tried.compiled > 0))
    };
    let varied = Reading::ALL
        .iter()
        .filter_map(|reading| draft.case_file(reading))
        .find(runs);
    Ok(varied.unwrap_or(plain))
}

fn read_kernel_file(file: &Path) -> Result<String, ImportError> {
    cerith_files::read_text(file, MAX_TEXT as u64).map_err(|error| ImportError::Read {
        path: file.to_owned(),
        error,
    })
}

/// The kernel that is meant, with its file: as it is named, the only one of a Python file, or that of a case file.
fn find_kernel(options: &ImportOptions) -> Result<(PathBuf, String), ImportError> {
    if let Some((file, kernel)) = options.kernel.rsplit_once(':')
        && !file.is_empty()
        && !kernel.is_empty()
    {
        return Ok((PathBuf::from(file), kernel.to_owned()));
    }
    let path = Path::new(&options.kernel);
    if is_case_file(path) && path.is_file() {
        let mut kernels = find_launched_kernels(path)?;
        if kernels.len() > 1 {
            let names: Vec<String> = kernels
                .iter()
                .map(|(file, kernel)| format!("`{}:{kernel}`", file.display()))
                .collect();
            return Err(ImportError::SeveralKernels {
                file: options.kernel.clone(),
                kernels: names,
            });
        }
        return Ok(kernels.swap_remove(0));
    }
    if is_python(path) {
        let kernel = find_only_kernel(path, &read_kernel_file(path)?)?;
        return Ok((path.to_owned(), kernel));
    }
    Err(ImportError::NoKernel(options.kernel.clone()))
}

/// The path of a file from a folder that it is in, with `/` between folders.
fn find_relative_path(folder: &Path, file: &Path) -> Option<String> {
    let (folder, file) = (folder.canonicalize().ok()?, file.canonicalize().ok()?);
    let parts: Option<Vec<&str>> = file
        .strip_prefix(folder)
        .ok()?
        .iter()
        .map(|part| part.to_str())
        .collect();
    Some(parts?.join("/"))
}

/// Describes how far the reference gets with the guess.
fn describe_trial(yaml: &Path, options: &ImportOptions) -> String {
    let next = format!(
        "edit it, and run it: cerith run --cases {} {}",
        quote_for_shell(&folder_of(yaml).to_string_lossy()),
        quote_for_shell(&yaml.file_stem().unwrap_or_default().to_string_lossy())
    );
    let asked = || {
        let (kernel, _) = find_kernel(options)?;
        let text = fs::read_to_string(yaml).map_err(ImportError::ReadBack)?;
        ImportTrial::run_cases(&text, yaml, &kernel)
    };
    let said = match catch_panic(asked) {
        Ok(Ok(tried)) => tried.describe(),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("internal error: {panic}"),
    };
    format!("{said}\n{next}")
}

/// The reference's results for the cases of a case file.
#[derive(Default)]
struct ImportTrial {
    cases: usize,
    /// Cases whose kernel compiles.
    compiled: usize,
    /// Cases that it finishes.
    finished: usize,
    /// How others end, each once: the first case that ends so, the words, how many.
    endings: Vec<(String, String, usize)>,
}

impl ImportTrial {
    /// Runs the cases of a text that will be the case file `out`. Fails with a message about the error in it.
    fn run_cases(yaml: &str, out: &Path, kernel: &Path) -> Result<Self, ImportError> {
        let root = folder_of(out);
        // Modules that the kernel's file imports are next to it.
        let modules = modules_in(&folder_of(kernel)).filter_map(|path| {
            Some(Input {
                path: find_relative_path(&root, &path)?,
                name: path.display().to_string(),
                content: fs::read(&path).map_err(|error| cerith_case::Missing::Unreadable(error.to_string())),
            })
        });
        let file = Input {
            path: out.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            name: out.display().to_string(),
            content: Ok(yaml.as_bytes().to_vec()),
        };
        let corpus = Corpus::load(modules.chain([file]));
        let rendered = |problems: &[cerith_tile::diagnostic::Diagnostic]| {
            let messages = problems
                .iter()
                .map(|problem| describe::to_problem(problem, corpus.sources()).rendered)
                .collect::<Vec<_>>()
                .join("\n");
            ImportError::Broken(messages)
        };
        if !corpus.problems().is_empty() {
            return Err(rendered(corpus.problems()));
        }
        let mut tried = Self::default();
        let reference = Reference::default();
        for entry in corpus.entries() {
            let case = entry.resolve().map_err(|problems| rendered(&problems))?;
            tried.add(
                &entry.id,
                reference.run(&case, Rules::default()).map(|run| run.outcome),
            );
        }
        Ok(tried)
    }

    fn add(&mut self, id: &str, ran: Result<Outcome, Failure>) {
        self.cases += 1;
        let is_compiled = |outcome: &Outcome| matches!(outcome, Outcome::Finished(_) | Outcome::Trapped(..));
        self.compiled += usize::from(ran.as_ref().is_ok_and(is_compiled));
        let words = match ran {
            Ok(Outcome::Finished(_)) => {
                self.finished += 1;
                return;
            }
            Ok(outcome) => {
                let why = outcome.complaint().map_or_else(String::new, |complaint| {
                    let at = complaint.position.as_ref().map_or_else(String::new, |position| {
                        format!("\n  --> {}:{}", position.file, position.line)
                    });
                    format!(": {}{at}", complaint.message)
                });
                format!("outcome of the reference: {}{why}", outcome.kind())
            }
            Err(failure) => format!("the reference failed to {failure}"),
        };
        match self.endings.iter_mut().find(|(_, known, _)| *known == words) {
            Some((_, _, count)) => *count += 1,
            None => self.endings.push((id.to_owned(), words, 1)),
        }
    }

    fn describe(&self) -> String {
        let mut said = match (self.cases, self.finished) {
            (0, _) => "there is no case in it".to_owned(),
            (1, 1) => "the reference finishes it".to_owned(),
            (1, _) => String::new(),
            (cases, finished) => format!("the reference finishes {finished} of its {cases} cases"),
        };
        for (id, words, count) in &self.endings {
            let more = if *count > 1 {
                format!(" ({count} cases)")
            } else {
                String::new()
            };
            let line = if self.cases > 1 {
                format!("{id}: {words}{more}")
            } else {
                words.clone()
            };
            if !said.is_empty() {
                said.push('\n');
            }
            said += &line;
        }
        said
    }
}
