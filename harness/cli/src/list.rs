//! `cerith list`: the cases that filters match.

use cerith_case::Shard;
use cerith_report::{Tone, safe};
use cerith_runner::Exit;
use cerith_runner::corpus::Selected;

use crate::args::ListArgs;
use crate::terminal::Terminal;

/// Lists, and returns the exit code.
pub fn list(args: &ListArgs) -> Exit {
    let terminal = Terminal::new();
    let selected = match Selected::open(args.selection.cases.as_deref(), &args.selection.filters) {
        Ok(selected) => selected,
        Err(error) => {
            terminal.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let (mut cases, mut last) = (0u64, String::new());
    let palette = terminal.palette;
    for entry in selected.entries(Shard::ALL) {
        let mut text = String::new();
        if entry.file().id != last {
            last.clone_from(&entry.file().id);
            let about = format!("# {}", safe::escape_line(entry.file().summary()));
            text = format!("{}\n", palette.paint(Tone::Dim, &about));
        }
        text.push_str(&entry.id);
        text.push('\n');
        terminal.print(&text);
        if terminal.is_gone() {
            return Exit::AsExpected;
        }
        cases += 1;
    }
    let problems: Vec<_> = selected
        .problems()
        .into_iter()
        .chain(selected.unmatched())
        .collect();
    for problem in &problems {
        terminal.note(&problem.rendered);
    }
    let files = selected.corpus.files().len();
    let case = if cases == 1 { "case" } else { "cases" };
    let file = if files == 1 { "file" } else { "files" };
    terminal.note(&format!("{cases} {case}; the corpus has {files} case {file}"));
    match (problems.is_empty(), cases) {
        (false, _) => Exit::Wrong,
        (true, 0) => Exit::Nothing,
        (true, _) => Exit::AsExpected,
    }
}
