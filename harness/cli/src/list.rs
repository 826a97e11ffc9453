//! `cerith list`: which cases filters mean.

use cerith_case::Shard;
use cerith_report::Tone;

use crate::args::ListArgs;
use crate::corpus::Selected;
use crate::terminal::Terminal;

/// Lists, and answers with the exit code.
pub fn list(args: &ListArgs) -> u8 {
    let mut terminal = Terminal::new();
    let selected = match Selected::open(args.selection.cases.as_deref(), &args.selection.filters) {
        Ok(selected) => selected,
        Err(message) => {
            terminal.note(&message);
            return 2;
        }
    };
    let (mut cases, mut last) = (0u64, String::new());
    let palette = terminal.palette;
    for entry in selected.entries(Shard::ALL) {
        let mut text = String::new();
        if entry.file().id != last {
            last.clone_from(&entry.file().id);
            let about = format!("# {}", entry.file().about());
            text = format!("{}\n", palette.paint(Tone::Dim, &about));
        }
        text.push_str(&entry.id);
        text.push('\n');
        terminal.print(&text);
        if terminal.is_gone() {
            return 0;
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
    terminal.note(&format!("{cases} cases; the corpus has {files} case files"));
    match (problems.is_empty(), cases) {
        (false, _) => 2,
        (true, 0) => 3,
        (true, _) => 0,
    }
}
