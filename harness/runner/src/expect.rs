//! `cerith expect`: reviews the unexpected differences of the last run, writes them into case files, and removes expectations
//! that no longer happen. See `expect::proposal` for the possible expectations, and `cerith_case::edit` for editing the text of a
//! file.

mod proposal;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cerith_case::{CaseFile, MAX_TEXT, NewExpectation, Shard};
use cerith_report::event::{Event, Problem, Start, Verdict};
use cerith_report::{Human, ReadError, Tone, quote_for_shell, read, safe};

use self::proposal::{Change, FileProposals, Proposal};
use crate::corpus::{CorpusError, Selected};
use crate::exit::Exit;
use crate::host::Console;
use crate::options::Selection;
use crate::output::find_latest_stream;
use crate::part::{Part, PartError};

/// Options for reviewing expectations.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Clone, Debug)]
pub struct ExpectOptions {
    /// The cases to review.
    pub selection: Selection,
    /// The folder with the reports of the run.
    pub out: Option<PathBuf>,
    /// Write every expectation that can be written.
    pub accept: bool,
    /// Remove every expectation that no longer happens and can be removed.
    pub prune: bool,
    /// List the proposals, and change nothing.
    pub list: bool,
    /// Like `--list`, and exit with 1 if there is a proposal.
    pub check: bool,
    /// Review even if standard input is not a terminal. Each line of the input is the letter for one proposal.
    pub review: bool,
    /// The reason that new expectations get.
    pub why: Option<String>,
}

/// The reason why there is nothing to review.
#[derive(Debug, thiserror::Error)]
enum ExpectError {
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error("{}", .0.rendered)]
    Unmatched(Box<Problem>),
    #[error("error: there is no run in {}: {error}\n{HELP}", path.display())]
    NoRun { path: PathBuf, error: io::Error },
    #[error("error: {}: failed to {error}\n{HELP}", path.display())]
    Read { path: PathBuf, error: ReadError },
    #[error("error: {} has no end: its run was killed or is still running\n{HELP}", .0.display())]
    NoEnd(PathBuf),
    #[error("error: {} {fault}\n{HELP}", path.display())]
    Fault { path: PathBuf, fault: String },
    #[error(
        "error: the corpus is not that of the run in {}: case files or kernels have changed since\n  = help: run again (`cerith \
         run`), and then review what that run found",
        .0.display()
    )]
    OtherCorpus(PathBuf),
    #[error(
        "error: the run in {} was made with `--checks fast` or `--masked zero`, and expectations need a run without them\n  = help: \
         run again without these options",
        .0.display()
    )]
    OtherOptions(PathBuf),
}

/// Help if the stream of a run cannot be used.
const HELP: &str = "  = help: `cerith run` writes it; `--out DIR` names the folder of another run's reports";

/// Lines of a file that are shown above a change.
const CONTEXT: usize = 1;

/// Runs the review, and returns the exit code.
pub fn expect(options: &ExpectOptions, console: &dyn Console) -> Exit {
    match review_expectations(options, console) {
        Ok(exit) => exit,
        Err(error) => {
            console.note(&error.to_string());
            Exit::Wrong
        }
    }
}

/// How proposals are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Show,
    Accept { add: bool, remove: bool },
    Ask,
}

/// The numbers of written, removed and refused expectations.
#[derive(Debug, Default)]
struct Count {
    written: usize,
    removed: usize,
    rejected: usize,
    skipped: usize,
    refused: usize,
    failed: bool,
    quit: bool,
}

fn review_expectations(options: &ExpectOptions, console: &dyn Console) -> Result<Exit, ExpectError> {
    let mode = match (options.accept, options.prune) {
        (add, remove) if add || remove => Mode::Accept { add, remove },
        _ if options.list || options.check => Mode::Show,
        _ if options.review || console.is_interactive() => Mode::Ask,
        _ => {
            console.note(
                "a review needs a terminal: nothing is written\n  = help: `--accept` writes what is listed, `--prune` removes \
                 what no longer happens, `--check` is for CI",
            );
            Mode::Show
        }
    };
    let selected = Selected::open(options.selection.cases.as_deref(), &options.selection.filters)?;
    if let Some(unmatched) = selected.unmatched().first() {
        return Err(ExpectError::Unmatched(Box::new(unmatched.clone())));
    }
    let folder = selected.report_folder("run");
    let stream = find_latest_stream(options.out.as_deref().unwrap_or(&folder.path));
    let run = Run::read(&stream, &selected)?;
    let mut meant: BTreeMap<String, Arc<CaseFile>> = BTreeMap::new();
    let ids: HashSet<String> = selected.entries(Shard::ALL).map(|entry| entry.id).collect();
    for file in selected.corpus.files() {
        meant.insert(file.id.clone(), Arc::clone(file));
    }
    let mut by_file: HashMap<&str, Vec<Verdict>> = HashMap::new();
    for verdict in run.verdicts.iter().filter(|verdict| ids.contains(&verdict.case)) {
        let file = verdict.case.split(':').next().unwrap_or_default();
        by_file.entry(file).or_default().push(verdict.clone());
    }
    let mut count = Count::default();
    let mut pending = 0;
    for (id, file) in &meant {
        let Some(verdicts) = by_file.get(id.as_str()) else {
            continue;
        };
        let found = proposal::of_file(file, verdicts, &run.failed, options.why.as_deref());
        pending += found.proposals.len();
        let mut one = OneFile {
            file,
            path: selected.root().join(&file.path),
            console,
            count: &mut count,
        };
        one.go_through(found, mode);
        if count.quit {
            break;
        }
    }
    for case in run
        .failed
        .iter()
        .filter(|case| ids.contains(*case) && !run.has_verdict(case))
    {
        count.refused += 1;
        console.print(&format!(
            "refused {}: Cerith itself failed here; report the internal error\n",
            safe::escape_line(case)
        ));
    }
    console.print(&describe_count(&count, pending, mode, &selected.named_folder()));
    Ok(match mode {
        _ if count.failed => Exit::Wrong,
        Mode::Show if options.check && pending > 0 => Exit::Unexpected,
        Mode::Accept { add: true, .. } if count.refused > 0 => Exit::Unexpected,
        _ => Exit::AsExpected,
    })
}

fn describe_count(count: &Count, pending: usize, mode: Mode, corpus: &str) -> String {
    let mut parts = vec![match mode {
        Mode::Show => format!("{pending} to review"),
        _ => format!("{} written, {} removed", count.written, count.removed),
    }];
    for (number, word) in [
        (count.rejected, "rejected"),
        (count.skipped, "skipped"),
        (count.refused, "refused"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    let next = if count.written + count.removed > 0 {
        let corpus = match corpus {
            "" => String::new(),
            corpus => format!(" --cases {}", quote_for_shell(corpus)),
        };
        format!(
            "\nnext: replace each `seen` with the reason, and check that all is as expected: cerith run{corpus}"
        )
    } else {
        String::new()
    };
    format!("{}{next}\n", parts.join(", "))
}

/// The run under review.
struct Run {
    verdicts: Vec<Verdict>,
    failed: HashSet<String>,
}

impl Run {
    fn read(path: &Path, selected: &Selected) -> Result<Self, ExpectError> {
        let file = cerith_files::open(path).map_err(|error| ExpectError::NoRun {
            path: path.to_owned(),
            error,
        })?;
        let mut run = Self {
            verdicts: Vec::new(),
            failed: HashSet::new(),
        };
        let mut start: Option<Start> = None;
        let end = read(BufReader::new(file), |event| match event {
            Event::Start(one) => start = Some(one),
            Event::Verdict(mut verdict) => {
                verdict.exhibit = None;
                run.verdicts.push(*verdict);
            }
            Event::Internal(internal) => run.failed.extend(internal.case),
            _ => {}
        })
        .map_err(|error| ExpectError::Read {
            path: path.to_owned(),
            error,
        })?;
        if end.open || end.cut {
            return Err(ExpectError::NoEnd(path.to_owned()));
        }
        if let Some(fault) = end.fault() {
            return Err(ExpectError::Fault {
                path: path.to_owned(),
                fault,
            });
        }
        let start = start.unwrap_or_default();
        if start.corpus_hash != selected.corpus.hash() {
            return Err(ExpectError::OtherCorpus(path.to_owned()));
        }
        if start.checks.is_some() || start.masked.is_some() {
            return Err(ExpectError::OtherOptions(path.to_owned()));
        }
        Ok(run)
    }

    fn has_verdict(&self, case: &str) -> bool {
        self.verdicts.iter().any(|verdict| verdict.case == case)
    }
}

/// A case file under review.
struct OneFile<'a> {
    file: &'a CaseFile,
    path: PathBuf,
    console: &'a dyn Console,
    count: &'a mut Count,
}

impl OneFile<'_> {
    fn go_through(&mut self, found: FileProposals, mode: Mode) {
        if found.proposals.is_empty() && found.refused.is_empty() {
            return;
        }
        let text = match cerith_files::read_text(&self.path, MAX_TEXT as u64) {
            Ok(text) => text,
            Err(error) => return self.fail(&format!("read {}: {error}", self.path.display())),
        };
        let mut new: Vec<NewExpectation> = Vec::new();
        let mut gone: Vec<u32> = Vec::new();
        for (what, why) in &found.refused {
            self.refuse(what, why);
        }
        let all = found.proposals.len();
        for (nth, proposal) in found.proposals.into_iter().enumerate() {
            let wanted = match (mode, &proposal.change) {
                (Mode::Accept { add, .. }, Change::Add(_)) => add,
                (Mode::Accept { remove, .. }, Change::Remove(_)) => remove,
                _ => true,
            };
            if !wanted {
                continue;
            }
            let (one_new, one_gone) = match &proposal.change {
                Change::Add(one) => (std::slice::from_ref(one), None),
                Change::Remove(line) => (&[][..], Some(*line)),
            };
            // Each proposal is tried alone first, so that one that cannot be written does not prevent the others.
            let edited = match self.file.edit_expectations(&text, one_new, one_gone.as_slice()) {
                Ok(edited) => edited,
                Err(error) => {
                    self.refuse(&proposal.example.case, &error.to_string());
                    continue;
                }
            };
            self.show(&proposal, &text, &edited);
            let accepted = match mode {
                Mode::Show => false,
                Mode::Accept { .. } => true,
                Mode::Ask => self.ask(nth + 1, all),
            };
            if accepted {
                new.extend(one_new.iter().cloned());
                gone.extend(one_gone);
            }
            if self.count.quit {
                break;
            }
        }
        if !new.is_empty() || !gone.is_empty() {
            self.write(&text, &new, &gone);
        }
    }

    /// Shows the case, what happened, and what changes in the file.
    fn show(&mut self, proposal: &Proposal, text: &str, edited: &str) {
        let event = Event::Verdict(Box::new(proposal.example.clone()));
        let palette = self.console.palette();
        let said = Human::new(palette).render_event(&event);
        self.console.print(&safe::escape_lines(&said));
        if proposal.cases > 1 {
            let more = match proposal.cases - 1 {
                1 => "1 more case".to_owned(),
                count => format!("{count} more cases"),
            };
            self.console.print(&format!("  and {more} of the file\n"));
        }
        if proposal.example.unconfirmed {
            self.console
                .print("  only the reference disagrees: find out which engine is wrong\n");
        }
        let mut shown = format!(
            "{}\n",
            palette.paint(Tone::Name, &self.path.display().to_string())
        );
        for (mark, number, line) in diff_lines(text, edited) {
            let tone = match mark {
                '+' => Tone::Good,
                '-' => Tone::Bad,
                _ => Tone::Dim,
            };
            let line = format!("{mark} {number:>4} {}", safe::escape_line(line));
            shown.push_str(&palette.paint(tone, &line));
            shown.push('\n');
        }
        self.console.print(&shown);
    }

    /// Asks whether to accept a proposal. The end of the input counts as `q`.
    fn ask(&mut self, nth: usize, all: usize) -> bool {
        loop {
            self.console.print(&format!(
                "{nth} of {all} here: (a)ccept, (r)eject, (s)kip, (q)uit? "
            ));
            match self.console.read_line().as_deref().map(str::trim) {
                None | Some("q") => {
                    self.count.quit = true;
                    return false;
                }
                Some("a") => return true,
                Some("r") => {
                    self.count.rejected += 1;
                    return false;
                }
                Some("s") => {
                    self.count.skipped += 1;
                    return false;
                }
                Some(_) => self
                    .console
                    .print("a: write it; r: it is a bug and stays a failure; s: later; q: end here\n"),
            }
        }
    }

    /// Writes the file atomically.
    fn write(&mut self, before: &str, new: &[NewExpectation], gone: &[u32]) {
        let edited = match self.file.edit_expectations(before, new, gone) {
            Ok(edited) => edited,
            Err(error) => return self.fail(&format!("edit {}: {error}", self.path.display())),
        };
        match cerith_files::read_text(&self.path, MAX_TEXT as u64) {
            Ok(now) if now == before => {}
            _ => {
                return self.fail(&format!(
                    "write {}: it has changed meanwhile",
                    self.path.display()
                ));
            }
        }
        let written = Part::create(&self.path).and_then(|part| {
            part.file()
                .write_all(edited.as_bytes())
                .and_then(|()| part.file().sync_all())
                .map_err(PartError::write(&self.path))?;
            part.keep()
        });
        match written {
            Ok(()) => {
                self.count.written += new.len();
                self.count.removed += gone.len();
            }
            Err(error) => self.fail(&error.to_string()),
        }
    }

    fn refuse(&mut self, what: &str, why: &str) {
        self.count.refused += 1;
        self.console.print(&format!(
            "refused {}: {}\n",
            safe::escape_line(what),
            safe::escape_line(why)
        ));
    }

    fn fail(&mut self, error: &str) {
        self.count.failed = true;
        self.console.note(&format!(
            "error: failed to {error}\n  = help: the file is unchanged"
        ));
    }
}

/// The lines that are only in one of the texts, with the lines above them as context: a mark, the line's number, the line.
fn diff_lines<'a>(before: &'a str, after: &'a str) -> Vec<(char, usize, &'a str)> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = before
        .iter()
        .zip(&after)
        .take_while(|(one, other)| one == other)
        .count();
    let most = before.len().min(after.len()) - same;
    let tail = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(most)
        .take_while(|(one, other)| one == other)
        .count();
    let lines = |mark: char, text: &[&'a str], from: usize, to: usize| -> Vec<(char, usize, &'a str)> {
        let shown = text.get(from..to).unwrap_or_default();
        shown
            .iter()
            .enumerate()
            .map(|(nth, line)| (mark, from + nth + 1, *line))
            .collect()
    };
    let mut out = lines(' ', &before, same.saturating_sub(CONTEXT), same);
    out.extend(lines('-', &before, same, before.len() - tail));
    out.extend(lines('+', &after, same, after.len() - tail));
    out
}
