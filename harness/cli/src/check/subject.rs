//! A file whose kernels are checked: taken out of their package, with the launches to try.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cerith_case::{Corpus, Input, MAX_TEXT};
use cerith_engine::SourceLines;
use cerith_module::excerpt::{Part, Read, extract_functions, join_modules, rename_jit};
use cerith_report::describe;
use cerith_runner::corpus::is_python;
use cerith_runner::mistyped::describe_read_error;
use cerith_survey::{Draft, Survey, build_drafts, list_kernels};
use cerith_tile::source::{SourceFile, Sources};

use super::fitting::{self, Unwritten};
use super::target::{CheckTarget, display_path, home_by_imports};
use super::text::{Cells, CheckedText, STDIN, is_notebook};

/// The most files of a folder that are read for launches of a kernel.
const MAX_FOLDER: usize = 256;

/// The most files that are evaluated for launches of a kernel.
const MAX_CALLERS: usize = 4;

/// A file with kernels.
pub struct Subject {
    /// The file as the user names it.
    pub display_name: String,
    /// The cells of a notebook.
    pub cells: Cells,
    root: PathBuf,
    parts: Vec<Part>,
    drafts: Vec<Draft>,
    /// Its kernels, in the order of the file.
    pub surveys: Vec<Survey>,
}

impl Subject {
    /// Reads a file; none if it was found in a folder and has no kernels. Fails with what to tell the user.
    pub fn open(asked: &CheckTarget) -> Result<Option<Self>, String> {
        let is_stdin = asked.file == Path::new(STDIN);
        let name = if is_stdin {
            "<stdin>".to_owned()
        } else {
            asked.file.display().to_string()
        };
        let CheckedText { text, cells } = match CheckedText::read(&asked.file) {
            Ok(read) => read,
            // Most files of a package have nothing to do with Triton, whatever their encoding and length.
            Err(_) if !asked.explicit && !mentions_jit(&asked.file) => return Ok(None),
            Err(error) => {
                let help = "name a file with kernels: `cerith check softmax.py`";
                return Err(format!(
                    "error: {}",
                    describe_read_error(&asked.file, &error, help)
                ));
            }
        };
        if !is_stdin && !is_python(&asked.file) && !is_notebook(&asked.file) {
            return Err(format!(
                "error: {name} is not a Python file\n  = help: name a file that ends in `.py` or `.ipynb`, or `-` for standard input"
            ));
        }
        let text = rename_jit(&text).into_owned();
        if !asked.explicit && !text.contains("jit") {
            return Ok(None);
        }
        let file = if is_stdin {
            Path::new("stdin.py")
        } else {
            &asked.file
        };
        let (root, path) =
            home_by_imports(file, &text).ok_or_else(|| format!("error: the path {name} is not UTF-8"))?;
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new(name.as_str(), text.as_str()));
        let rendered = |problems: Vec<_>| {
            let shown = problems
                .iter()
                .map(|problem| describe::to_problem(problem, &sources).rendered);
            cells.relocate_text(&name, &shown.collect::<Vec<_>>().join("\n"))
        };
        let all = list_kernels(source, &text).map_err(rendered)?;
        if all.is_empty() && !asked.explicit {
            return Ok(None);
        }
        if all.is_empty() {
            return Err(format!(
                "error: there is no kernel in {name}\n  = help: a kernel is a function with `@triton.jit`"
            ));
        }
        if let Some(missing) = asked.kernels.iter().find(|one| !all.contains(one)) {
            return Err(format!(
                "error: no kernel `{missing}` in {name}\n  = help: a kernel is a function with `@triton.jit`; `cerith check \
                 {name}` checks them all"
            ));
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
            cerith_files::read_text(root.join(other), MAX_TEXT as u64).ok()
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
            shown.collect::<Vec<_>>().join("\n")
        })?;
        let asked: Vec<&str> = asked.kernels.iter().map(String::as_str).collect();
        // The text was read before.
        let mut drafts = build_drafts(source, &parts, &text, &asked).unwrap_or_default();
        find_hosts(&mut drafts, &root, &path, &text, &read);
        let mut subject = Self {
            display_name: name,
            cells: cells.clone(),
            root,
            drafts,
            parts,
            surveys: Vec::new(),
        };
        let drafts = subject.drafts.iter();
        subject.surveys = drafts
            .map(|draft| fitting::find_honest(&subject, draft))
            .collect();
        Ok(Some(subject))
    }

    /// Launches with which a kernel finishes, other than its honest ones; none if none were found.
    pub fn find_passing(&self, survey: &Survey) -> Option<Survey> {
        let draft = self.drafts.iter().find(|draft| draft.kernel() == survey.kernel)?;
        fitting::find_passing(self, draft, survey)
    }

    /// The elements of outputs that the plain launch of a kernel does not write.
    pub fn find_unwritten(&self, survey: &Survey) -> Vec<Unwritten> {
        let draft = self.drafts.iter().find(|draft| draft.kernel() == survey.kernel);
        draft.map_or_else(Vec::new, |draft| fitting::find_unwritten(self, draft, survey))
    }

    /// The last line of a kernel that a failure is about; 0 if it is about none. Its primary span may be in a function that the kernel
    /// calls.
    pub fn last_line(&self, kernel: &str, lines: &[SourceLines]) -> u32 {
        let text = self.parts.first().map_or("", |part| part.text.as_str());
        let name = kernel.rsplit('.').next().unwrap_or_default();
        let starts = |line: &str| line.trim_start().starts_with(&format!("def {name}("));
        let first = text.lines().position(starts).map_or(0, |at| at as u32 + 1);
        let own = lines.iter().filter(|lines| lines.file == self.display_name);
        let last = own.map(|lines| lines.last).filter(|last| *last >= first);
        last.max().unwrap_or(0)
    }

    /// The excerpt, and case files by their ids.
    pub fn build_corpus(&self, files: impl Iterator<Item = (String, String)>) -> Corpus {
        let modules = self.parts.iter().enumerate().map(|(nth, part)| Input {
            path: part.path.clone(),
            name: if nth == 0 {
                self.display_name.clone()
            } else {
                display_path(&self.root, &part.origin)
            },
            content: Ok(part.text.as_bytes().to_vec()),
        });
        let cases = files.map(|(id, text)| Input {
            path: format!("{id}.yaml"),
            name: format!("{id}.yaml"),
            content: Ok(text.into_bytes()),
        });
        Corpus::load(modules.chain(cases))
    }

    /// The excerpt and every launch of some kernels.
    pub fn build_launch_corpus<'s>(&self, surveys: impl Iterator<Item = &'s Survey>) -> Corpus {
        let files = surveys.flat_map(|survey| {
            let tried = survey.attempts.iter().enumerate();
            tried.map(|(nth, tried)| (format_case_id(survey, nth), tried.text.clone()))
        });
        self.build_corpus(files)
    }

    /// Where the module is that imports start from.
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
        let launches = |text: &str| text.contains(&format!("{name}["));
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
