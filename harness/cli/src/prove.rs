//! `cerith prove`: proves for all sizes that the kernels of files stay inside of their tensors.

use cerith_check::config::Config;
use cerith_check::proof::prove_kernel;
use cerith_check::subject::{FilesRead, Subject};
use cerith_check::target::find_targets;
use cerith_runner::{Exit, Host};

use crate::args::{ProveArgs, ProveFormat};
use crate::help::wrap_text;
use crate::terminal::Terminal;

/// Proves, and returns the exit code.
pub fn prove(args: &ProveArgs, terminal: &Terminal, host: Host<'_>) -> Exit {
    let targets = match find_targets(&args.kernels) {
        Ok(targets) => targets,
        Err(error) => {
            terminal.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let config = match Config::find() {
        Ok(config) => config,
        Err(error) => {
            terminal.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let (mut looked_at, mut open, mut wrong) = (0usize, 0usize, false);
    for target in &targets {
        if host.is_stopped() {
            return Exit::Interrupted;
        }
        let mut subject = match Subject::open(target, &config, None, &FilesRead::default()) {
            Ok(Some(subject)) => subject,
            Ok(None) => continue,
            Err(error) => {
                terminal.note(&error.to_string());
                wrong = true;
                continue;
            }
        };
        for nth in 0..subject.count_kernels() {
            if host.is_stopped() {
                return Exit::Interrupted;
            }
            if let Err(error) = subject.draft_kernel(nth) {
                terminal.note(&error.to_string());
                wrong = true;
                break;
            }
            let Some(survey) = subject.surveys.get(nth) else {
                break;
            };
            let proof = prove_kernel(&subject, survey);
            looked_at += usize::from(proof.not_proved.is_none());
            open += usize::from(!proof.is_whole() && proof.not_proved.is_none());
            let name = subject.display_name.as_str();
            match args.format {
                ProveFormat::Human => terminal.print(&fold_lines(&proof.render(name, args.verbose))),
                ProveFormat::Jsonl => terminal.print(&(proof.to_json(name) + "\n")),
            }
        }
    }
    match (wrong, open, looked_at) {
        (true, ..) => Exit::Wrong,
        (_, _, 0) => Exit::Nothing,
        (_, 0, _) => Exit::AsExpected,
        _ => Exit::Unexpected,
    }
}

/// Columns of a line.
const COLUMNS: usize = 80;

/// Folds lines between words; what follows is indented further.
fn fold_lines(text: &str) -> String {
    let mut folded = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        for (nth, part) in wrap_text(line, COLUMNS - indent - 4).iter().enumerate() {
            let indent = if nth == 0 { indent } else { indent + 4 };
            folded.extend(std::iter::repeat_n(' ', indent));
            folded.push_str(part);
            folded.push('\n');
        }
    }
    folded
}
