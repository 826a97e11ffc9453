//! `cerith import`: a first case file for a kernel that has none.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cerith_case::{Corpus, Input, skeleton};
use cerith_engine::{Engine, Outcome, Reference, guarded};
use cerith_report::describe;
use cerith_tile::rules::Rules;
use cerith_tile::source::{SourceFile, Sources};

use crate::args::ImportArgs;
use crate::corpus::{folder_of, is_python, modules_in};
use crate::exit::Exit;
use crate::kernels::{is_case_file, launched, only};
use crate::mistyped::unread;
use crate::terminal::Terminal;

/// Imports, and answers with the exit code.
pub fn import(args: &ImportArgs) -> Exit {
    let mut terminal = Terminal::new();
    match write(args) {
        Ok(written) => {
            terminal.print(&format!("{}\n", written.display()));
            terminal.note(&tried(&written, args));
            if terminal.failed() {
                Exit::Wrong
            } else {
                Exit::AsExpected
            }
        }
        Err(message) => {
            terminal.note(&message);
            Exit::Wrong
        }
    }
}

/// Writes the case file, or says why not.
fn write(args: &ImportArgs) -> Result<PathBuf, String> {
    let (file, kernel) = named(args)?;
    let kernel = kernel.as_str();
    let text = read(&file)?;
    let out = args.out.clone().unwrap_or_else(|| {
        let name = format!("{}.yaml", kernel.replace('.', "_"));
        file.parent().unwrap_or(Path::new("")).join(name)
    });
    if !matches!(out.extension().and_then(|e| e.to_str()), Some("yaml" | "yml")) {
        return Err(format!(
            "error: {} is not the name of a case file\n  = help: it ends in `.yaml`",
            out.display()
        ));
    }
    let path = below(&folder_of(&out), &file).ok_or_else(|| {
        format!(
            "error: {} is neither in the folder of {} nor below it\n  = help: a case file names its kernel \
             by a path that does \
             not leave the corpus: copy the kernel's file there",
            file.display(),
            out.display()
        )
    })?;
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(file.display().to_string(), text.as_str()));
    let yaml = skeleton(source, &text, &path, kernel).map_err(|problems| {
        problems
            .iter()
            .map(|problem| describe::problem(problem, &sources).rendered)
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    // Never over a file that is there.
    let created = File::options().write(true).create_new(true).open(&out);
    created
        .and_then(|mut file| {
            file.write_all(yaml.as_bytes()).inspect_err(|_| {
                // Half a case file is in the way of the next try.
                let _ = fs::remove_file(&out);
            })
        })
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => format!(
                "error: {} already exists\n  = help: name another file with `-o`",
                out.display()
            ),
            _ => format!("error: failed to write {}: {error}", out.display()),
        })?;
    Ok(out)
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| {
        let help = "name a kernel and its file: `cerith import softmax.py:softmax_kernel`";
        format!("error: {}", unread(file, &error, help))
    })
}

/// The kernel that is meant, with its file: as it is named, the only one of a Python file, or that of a case file.
fn named(args: &ImportArgs) -> Result<(PathBuf, String), String> {
    if let Some((file, kernel)) = args.kernel.rsplit_once(':')
        && !file.is_empty()
        && !kernel.is_empty()
    {
        return Ok((PathBuf::from(file), kernel.to_owned()));
    }
    let path = Path::new(&args.kernel);
    if is_case_file(path) && path.is_file() {
        let mut kernels = launched(path)?;
        if kernels.len() > 1 {
            let names: Vec<String> = kernels
                .iter()
                .map(|(file, kernel)| format!("`{}:{kernel}`", file.display()))
                .collect();
            return Err(format!(
                "error: {} launches {} kernels\n  = help: name one: {}",
                args.kernel,
                names.len(),
                names.join(", ")
            ));
        }
        return Ok(kernels.swap_remove(0));
    }
    if is_python(path) {
        let kernel = only(path, &read(path)?)?;
        return Ok((path.to_owned(), kernel));
    }
    Err(format!(
        "error: `{}` names no kernel\n  = help: write `file.py:function`, a Python file with one kernel, or a case file",
        args.kernel
    ))
}

/// The path of a file from a folder that it is in, with `/` between folders.
fn below(folder: &Path, file: &Path) -> Option<String> {
    let (folder, file) = (folder.canonicalize().ok()?, file.canonicalize().ok()?);
    let parts: Option<Vec<&str>> = file
        .strip_prefix(folder)
        .ok()?
        .iter()
        .map(|part| part.to_str())
        .collect();
    Some(parts?.join("/"))
}

/// How far the guess goes, in the words of the reference.
fn tried(yaml: &Path, args: &ImportArgs) -> String {
    let next = format!(
        "edit it, and run it: cerith run --cases {} {}",
        folder_of(yaml).display(),
        yaml.file_stem().unwrap_or_default().to_string_lossy()
    );
    let said = match guarded(|| outcome(yaml, args)) {
        Ok(Some(said)) => said,
        Ok(None) => "the reference was not asked".to_owned(),
        Err(panic) => format!("internal error: {panic}"),
    };
    format!("{said}\n{next}")
}

fn outcome(yaml: &Path, args: &ImportArgs) -> Option<String> {
    let root = folder_of(yaml);
    let (kernel, _) = named(args).ok()?;
    let mut paths = vec![yaml.to_owned()];
    // What the kernel's file imports lies beside it.
    paths.extend(modules_in(&folder_of(&kernel)));
    let inputs = paths.iter().filter_map(|path| {
        Some(Input {
            path: below(&root, path)?,
            name: path.display().to_string(),
            content: fs::read(path).map_err(|error| cerith_case::Missing::Unreadable(error.to_string())),
        })
    });
    let corpus = Corpus::load(inputs);
    let rendered = |problems: &[cerith_tile::diagnostic::Diagnostic]| {
        problems
            .iter()
            .map(|problem| describe::problem(problem, corpus.sources()).rendered)
            .collect::<Vec<_>>()
            .join("\n")
    };
    if !corpus.problems().is_empty() {
        return Some(rendered(corpus.problems()));
    }
    let case = match corpus.entries().next()?.resolve() {
        Ok(case) => case,
        Err(problems) => return Some(rendered(&problems)),
    };
    let ran = Reference::default().run(&case, Rules::default());
    Some(match ran.map(|run| run.outcome) {
        Ok(Outcome::Finished(_)) => "the reference runs it to its end".to_owned(),
        Ok(outcome) => {
            let why = outcome.complaint().map_or_else(String::new, |complaint| {
                let at = complaint.position.as_ref().map_or_else(String::new, |position| {
                    format!("\n  --> {}:{}", position.file, position.line)
                });
                format!(": {}{at}", complaint.message)
            });
            format!("the reference says {}{why}", outcome.kind())
        }
        Err(failure) => format!("the reference failed to {failure}"),
    })
}
