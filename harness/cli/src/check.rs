//! `cerith check`: tries the kernels of a file, and says each thing that is found once.

mod finding;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cerith_case::{Corpus, Input, Missing, Shard, Survey, surveys};
use cerith_engine::{Reference, guarded};
use cerith_report::describe;
use cerith_report::event::Event;
use cerith_tile::source::{SourceFile, Sources};

use self::finding::Findings;
use crate::args::CheckArgs;
use crate::corpus::{Selected, folder_of, is_python, modules_in};
use crate::engines::{Setup, set_up};
use crate::exit::Exit;
use crate::interrupt;
use crate::judge;
use crate::mistyped::unread;
use crate::pipeline;
use crate::terminal::Terminal;

/// A file, and which of its kernels are meant; none: all of them.
struct Asked {
    file: PathBuf,
    kernels: Vec<String>,
}

/// Checks, and answers with the exit code.
pub fn check(args: &CheckArgs, stop: &'static AtomicBool) -> Exit {
    let mut terminal = Terminal::new();
    let mut exit = Exit::Nothing;
    for asked in asked(&args.kernels) {
        let done = match file(&asked, args, stop, &mut terminal) {
            Ok(done) => done,
            Err(message) => {
                terminal.note(&message);
                Exit::Wrong
            }
        };
        exit = worse(exit, done);
        if stop.load(Ordering::Relaxed) {
            return Exit::Interrupted;
        }
    }
    if terminal.failed() { Exit::Wrong } else { exit }
}

/// What several files come to: bad input before findings, findings before none, anything before nothing at all.
fn worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Nothing => 0,
        Exit::AsExpected => 1,
        Exit::Unexpected => 2,
        Exit::Wrong => 3,
        Exit::Interrupted | Exit::Program(_) => 4,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// The files that are named, each once, in the order in which they are.
fn asked(names: &[String]) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    for name in names {
        let (file, kernel) = match name.rsplit_once(':') {
            Some((file, kernel)) if !kernel.is_empty() && !kernel.contains(['/', '\\']) => {
                (file, Some(kernel))
            }
            _ => (name.as_str(), None),
        };
        let file = PathBuf::from(file);
        let known = all.iter_mut().find(|asked| asked.file == file);
        match (known, kernel) {
            (Some(asked), Some(kernel)) if !asked.kernels.is_empty() => asked.kernels.push(kernel.to_owned()),
            (Some(asked), _) => asked.kernels.clear(),
            (None, kernel) => all.push(Asked {
                file,
                kernels: kernel.map(str::to_owned).into_iter().collect(),
            }),
        }
    }
    all
}

fn file(
    asked: &Asked,
    args: &CheckArgs,
    stop: &'static AtomicBool,
    terminal: &mut Terminal,
) -> Result<Exit, String> {
    let shown = asked.file.display();
    let text = fs::read_to_string(&asked.file).map_err(|error| {
        let help = "name a file with kernels: `cerith check softmax.py`";
        format!("error: {}", unread(&asked.file, &error, help))
    })?;
    let path = asked
        .file
        .file_name()
        .and_then(|name| name.to_str())
        .filter(|name| is_python(Path::new(name)))
        .ok_or_else(|| {
            format!("error: {shown} is no Python file\n  = help: name a file that ends in `.py`")
        })?;
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(shown.to_string(), text.as_str()));
    let only: Vec<&str> = asked.kernels.iter().map(String::as_str).collect();
    let surveys = surveys(source, &text, path, &only).map_err(|problems| {
        let shown = problems
            .iter()
            .map(|problem| describe::problem(problem, &sources).rendered);
        shown.collect::<Vec<_>>().join("\n")
    })?;
    if let Some(missing) = only
        .iter()
        .find(|name| surveys.iter().all(|survey| survey.kernel != **name))
    {
        return Err(format!(
            "error: no kernel `{missing}` in {shown}\n  = help: a kernel is a function with `@triton.jit`; `cerith check {shown}` \
             checks them all"
        ));
    }
    if surveys.is_empty() {
        return Err(format!(
            "error: there is no kernel in {shown}\n  = help: a kernel is a function with `@triton.jit`"
        ));
    }
    if let Some(folder) = &args.keep {
        keep(folder, path, &text, &surveys)
            .map_err(|error| format!("error: failed to write {}: {error}", folder.display()))?;
    }
    let selected = Selected::of(corpus(asked, path, &text, &surveys), &folder_of(&asked.file));
    Ok(tried(asked, &surveys, &selected, args, stop, terminal))
}

/// The case files and the module, beside the modules that it may import.
fn corpus(asked: &Asked, path: &str, text: &str, surveys: &[Survey]) -> Corpus {
    let module = Input {
        path: path.to_owned(),
        name: asked.file.display().to_string(),
        content: Ok(text.as_bytes().to_vec()),
    };
    let beside = modules_in(&folder_of(&asked.file)).filter_map(|other| {
        let name = other.file_name()?.to_str()?;
        (name != path).then(|| Input {
            path: name.to_owned(),
            name: other.display().to_string(),
            content: fs::read(&other).map_err(|error| Missing::Unreadable(error.to_string())),
        })
    });
    let cases = surveys.iter().flat_map(|survey| {
        survey.tried.iter().enumerate().map(|(nth, tried)| Input {
            path: format!("{}.yaml", id(survey, nth)),
            name: format!("{}.yaml", id(survey, nth)),
            content: Ok(tried.text.as_bytes().to_vec()),
        })
    });
    Corpus::load(std::iter::once(module).chain(beside).chain(cases))
}

/// The id of the case of a launch, which is its file's name too.
fn id(survey: &Survey, nth: usize) -> String {
    format!("{}-{nth:02}", survey.kernel.replace('.', "_"))
}

fn keep(folder: &Path, path: &str, text: &str, surveys: &[Survey]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(path), text)?;
    for survey in surveys {
        for (nth, tried) in survey.tried.iter().enumerate() {
            fs::write(folder.join(format!("{}.yaml", id(survey, nth))), &tried.text)?;
        }
    }
    Ok(())
}

fn tried(
    asked: &Asked,
    surveys: &[Survey],
    selected: &Selected,
    args: &CheckArgs,
    stop: &'static AtomicBool,
    terminal: &mut Terminal,
) -> Exit {
    let total = selected.entries(Shard::ALL).count() as u64;
    let jobs = pipeline::jobs(args.jobs);
    let setup = if total == 0 {
        Setup::nothing()
    } else {
        let reference = Reference::default().with_threads(pipeline::threads(jobs, total));
        let engines = &args.engines;
        set_up(reference, &engines.engines, engines.offline, jobs, selected, stop)
    };
    for silent in setup.left_out.iter().chain(&setup.failed) {
        terminal.note(&format!("left out {}: {}", silent.engine, silent.why));
    }
    if !setup.failed.is_empty() {
        return Exit::Nothing;
    }
    let panel = Arc::new(setup.panel);
    interrupt::on_interrupt(&panel);
    let sources = selected.corpus.sources();
    let mut findings = Findings::default();
    terminal.begin(total);
    pipeline::in_order(
        selected.entries(Shard::ALL),
        jobs,
        |entry| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let id = entry.id.clone();
            let began = Instant::now();
            match guarded(|| entry.resolve()) {
                Ok(Ok(case)) => judge::events(&case, began.elapsed(), &panel, sources)
                    .ok()
                    .map(|events| (id, events)),
                Ok(Err(problems)) => {
                    let problems = problems
                        .iter()
                        .map(|problem| Event::Problem(describe::problem(problem, sources)));
                    Some((id, problems.collect()))
                }
                Err(panic) => Some((id, vec![finding::internal(panic)])),
            }
        },
        |(id, events)| {
            for event in &events {
                findings.add(&id, event);
            }
            terminal.advance(findings.len() as u64);
        },
    );
    terminal.end();
    let file = asked.file.display().to_string();
    let (mut count, mut judged) = (0, 0);
    for survey in surveys {
        let variants: Vec<(String, &str)> = survey
            .tried
            .iter()
            .enumerate()
            .map(|(nth, tried)| (id(survey, nth), tried.variant.as_str()))
            .collect();
        terminal.print(&findings.told(&file, survey, &variants, terminal.palette));
        count += findings.of(&variants);
        judged += usize::from(!variants.is_empty() && !findings.is_all(&variants));
    }
    match (judged, count) {
        (0, _) => Exit::Nothing,
        (_, 0) => Exit::AsExpected,
        _ => Exit::Unexpected,
    }
}
