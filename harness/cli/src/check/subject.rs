//! A file whose kernels are checked: taken out of their package, with the launches to try.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cerith_case::excerpt::{Part, excerpt};
use cerith_case::{Corpus, Input, Reading, Survey, kernels, surveys};
use cerith_engine::{Engine, Outcome, Reference, guarded};
use cerith_report::describe;
use cerith_tile::rules::Rules;
use cerith_tile::source::{SourceFile, SourceId, Sources};

use super::target::{Asked, home_of, shown};
use crate::corpus::is_python;
use crate::mistyped::unread;

/// A file with kernels.
pub struct Subject {
    /// The file as the user names it.
    pub shown: String,
    root: PathBuf,
    parts: Vec<Part>,
    /// Its kernels, in the order of the file.
    pub surveys: Vec<Survey>,
}

impl Subject {
    /// Reads a file; none if it was found in a folder and has no kernels. Fails with what to tell the user.
    pub fn open(asked: &Asked) -> Result<Option<Self>, String> {
        let name = asked.file.display().to_string();
        let text = fs::read_to_string(&asked.file).map_err(|error| {
            let help = "name a file with kernels: `cerith check softmax.py`";
            format!("error: {}", unread(&asked.file, &error, help))
        })?;
        if !is_python(&asked.file) {
            return Err(format!(
                "error: {name} is no Python file\n  = help: name a file that ends in `.py`"
            ));
        }
        // Most files of a package have nothing to do with Triton, and may be long.
        if !asked.named && !text.contains("jit") {
            return Ok(None);
        }
        let (root, path) =
            home_of(&asked.file).ok_or_else(|| format!("error: the path {name} is not UTF-8"))?;
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new(name.as_str(), text.as_str()));
        let rendered = |problems: Vec<_>| {
            let shown = problems
                .iter()
                .map(|problem| describe::problem(problem, &sources).rendered);
            shown.collect::<Vec<_>>().join("\n")
        };
        let all = kernels(source, &text).map_err(rendered)?;
        if all.is_empty() && !asked.named {
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
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        let stem = asked.file.file_stem().unwrap_or_default().to_string_lossy();
        let parts = excerpt(&path, &stem, &wanted, &read).map_err(|(path, problems)| {
            let at = root.join(&path);
            let mut sources = Sources::default();
            let text = fs::read_to_string(&at).unwrap_or_default();
            sources.add(SourceFile::new(shown(&root, &path), text));
            let shown = problems
                .iter()
                .map(|problem| describe::problem(problem, &sources).rendered);
            shown.collect::<Vec<_>>().join("\n")
        })?;
        let mut subject = Self {
            shown: name,
            root,
            parts,
            surveys: Vec::new(),
        };
        subject.surveys = subject.read(source, &text, &asked.kernels);
        Ok(Some(subject))
    }

    /// The launches of each kernel, with tensors and flags as its plain launch likes them.
    fn read(&self, source: SourceId, text: &str, only: &[String]) -> Vec<Survey> {
        let mut settled: Vec<Survey> = Vec::new();
        let mut best: Vec<(Fit, Survey)> = Vec::new();
        let mut waiting: BTreeSet<String> = only.iter().cloned().collect();
        for (nth, reading) in Reading::ALL.into_iter().enumerate() {
            if nth > 0 && waiting.is_empty() {
                break;
            }
            let names: Vec<&str> = waiting.iter().map(String::as_str).collect();
            // The text was read before.
            let found = surveys(source, &self.parts, text, &names, reading).unwrap_or_default();
            let corpus = self.corpus(found.iter().map(|survey| (survey, 1)));
            for survey in found {
                if only.is_empty() && nth > 0 && !waiting.contains(&survey.kernel) {
                    continue;
                }
                let fit = if survey.tried.is_empty() {
                    Fit::Good
                } else {
                    fit_of(&corpus, &id(&survey, 0))
                };
                if fit == Fit::Good {
                    waiting.remove(&survey.kernel);
                    best.retain(|(_, other)| other.kernel != survey.kernel);
                    settled.push(survey);
                    continue;
                }
                waiting.insert(survey.kernel.clone());
                match best.iter_mut().find(|(_, other)| other.kernel == survey.kernel) {
                    Some(known) if fit > known.0 => *known = (fit, survey),
                    Some(_) => {}
                    None => best.push((fit, survey)),
                }
            }
        }
        settled.extend(best.into_iter().map(|(_, survey)| survey));
        let order = |survey: &Survey| {
            let text = self.parts.first().map_or("", |part| &part.text);
            let name = survey.kernel.rsplit('.').next().unwrap_or_default();
            text.find(&format!("def {name}("))
        };
        settled.sort_by_key(order);
        settled
    }

    /// The excerpt, and the first launches of some kernels.
    fn corpus<'s>(&self, surveys: impl Iterator<Item = (&'s Survey, usize)>) -> Corpus {
        let modules = self.parts.iter().enumerate().map(|(nth, part)| Input {
            path: part.path.clone(),
            name: if nth == 0 {
                self.shown.clone()
            } else {
                shown(&self.root, &part.origin)
            },
            content: Ok(part.text.as_bytes().to_vec()),
        });
        let cases = surveys.flat_map(|(survey, most)| {
            let tried = survey.tried.iter().take(most).enumerate();
            tried.map(|(nth, tried)| Input {
                path: format!("{}.yaml", id(survey, nth)),
                name: format!("{}.yaml", id(survey, nth)),
                content: Ok(tried.text.as_bytes().to_vec()),
            })
        });
        Corpus::load(modules.chain(cases))
    }

    /// The excerpt and every launch.
    pub fn whole(&self) -> Corpus {
        self.corpus(self.surveys.iter().map(|survey| (survey, usize::MAX)))
    }

    /// Where the module is that imports start from.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Keeps the excerpt and the case files in a folder.
    pub fn keep(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for part in &self.parts {
            fs::write(folder.join(&part.path), &part.text)?;
        }
        for survey in &self.surveys {
            for (nth, tried) in survey.tried.iter().enumerate() {
                fs::write(folder.join(format!("{}.yaml", id(survey, nth))), &tried.text)?;
            }
        }
        Ok(())
    }
}

/// The id of the case of a launch, which is its file's name too.
pub fn id(survey: &Survey, nth: usize) -> String {
    format!("{}-{nth:02}", survey.kernel.replace('.', "_"))
}

/// How well a kernel takes what is guessed for it, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It does not compile.
    Rejected,
    /// It compiles, and does what is not defined, or what the reference does not know.
    Stopped,
    /// It runs to its end.
    Good,
}

fn fit_of(corpus: &Corpus, id: &str) -> Fit {
    let entry = corpus.entries().find(|entry| entry.id == id);
    let Some(Ok(Ok(case))) = entry.map(|entry| guarded(|| entry.resolve())) else {
        return Fit::Rejected;
    };
    let ran = guarded(|| Reference::default().run(&case, Rules::default()));
    match ran {
        Ok(Ok(run)) => match run.outcome {
            Outcome::Finished(_) => Fit::Good,
            Outcome::Rejected(_) => Fit::Rejected,
            _ => Fit::Stopped,
        },
        _ => Fit::Rejected,
    }
}
