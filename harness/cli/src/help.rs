//! `cerith help`: the help of a command, and the case format in the terminal. See [`crate::manual`] for manual pages.

use std::fmt::Write as _;

use cerith_case::format;
use cerith_python::nearest::find_nearest;
use cerith_report::{Palette, Tone};
use cerith_runner::Exit;
use clap::{Command, CommandFactory as _};

use crate::args::{Cli, HelpArgs};
use crate::terminal::Terminal;

/// The topic that is not a command.
const CASES: &str = "cases";

/// The widest line of a paragraph, in characters.
const WIDTH: usize = 100;

/// Prints, and returns the exit code.
pub fn help(args: &HelpArgs) -> Exit {
    let terminal = Terminal::new();
    let mut root = Cli::command();
    root.build();
    if let [topic] = &args.topic[..]
        && topic == CASES
    {
        let palette = terminal.palette;
        terminal.print(&render_page(format::TEXT, palette));
    } else if let Some(command) = command_of(&root, &args.topic) {
        let text = command.clone().render_long_help();
        let text = if terminal.palette.colour {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        terminal.print(&text);
    } else {
        terminal.note(&describe_unknown(&root, &args.topic));
        return Exit::Wrong;
    }
    Exit::AsExpected
}

/// The command that these words name.
pub fn command_of<'a>(root: &'a Command, words: &[String]) -> Option<&'a Command> {
    words
        .iter()
        .try_fold(root, |command, word| command.find_subcommand(word))
}

/// The words name no command.
pub fn describe_unknown(root: &Command, words: &[String]) -> String {
    let known = root
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(Command::get_name)
        .chain([CASES]);
    let help = words
        .first()
        .and_then(|word| find_nearest(word, known))
        .map_or_else(
            || "`cerith help` lists the commands".to_owned(),
            |name| format!("did you mean `cerith help {name}`?"),
        );
    format!(
        "error: there is no help about `{}`\n  = help: {help}",
        words.join(" ")
    )
}

/// Markdown as a page of a terminal: tables become lists, and lines are wrapped.
fn render_page(markdown: &str, palette: Palette) -> String {
    let mut text = String::new();
    let mut paragraph = String::new();
    let mut is_code = false;
    for line in markdown.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence || is_code || line.is_empty() || line.starts_with(['#', '|', '-']) {
            flush(&mut text, &mut paragraph, palette);
        }
        if is_fence {
            is_code = !is_code;
        } else if is_code {
            let _ = writeln!(text, "    {line}");
        } else if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim().replace('`', "");
            let _ = writeln!(text, "{}", palette.paint(Tone::Strong, &heading));
        } else if line.starts_with('|') {
            table_row(&mut text, line, palette);
        } else if line.is_empty() {
            text.push('\n');
        } else {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line.trim());
        }
    }
    flush(&mut text, &mut paragraph, palette);
    text
}

/// A row of a table: the first cell, and the others below it. The row of headings and the line below it are omitted.
fn table_row(text: &mut String, line: &str, palette: Palette) {
    let inner = line.trim_start_matches("| ").trim_end_matches(" |");
    let Some((key, about)) = inner.split_once(" | ") else {
        return;
    };
    if !key.contains('`') {
        return;
    }
    let _ = writeln!(text, "  {}", render_line(key, palette));
    for line in wrap_text(about, WIDTH - 6) {
        let _ = writeln!(text, "      {}", render_line(&line, palette));
    }
}

fn flush(text: &mut String, paragraph: &mut String, palette: Palette) {
    for line in wrap_text(paragraph, WIDTH) {
        let _ = writeln!(text, "{}", render_line(&line, palette));
    }
    paragraph.clear();
}

/// Renders a line without marks for bold text. Code keeps its backticks, unless it is coloured.
fn render_line(line: &str, palette: Palette) -> String {
    let mut painted = String::new();
    for (nth, part) in line.split('`').enumerate() {
        match (nth % 2, palette.colour) {
            (0, _) => painted.push_str(&part.replace("**", "")),
            (_, true) => painted.push_str(&palette.paint(Tone::Name, part)),
            (_, false) => {
                let _ = write!(painted, "`{part}`");
            }
        }
    }
    painted
}

/// Lines of at most `width` characters; a longer word, or code with spaces, has a line of its own.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in split_words(text) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + piece.chars().count() <= width => {
                line.push(' ');
                line.push_str(&piece);
            }
            _ => lines.push(piece),
        }
    }
    lines
}

/// Splits a text into words, with code between backticks in one piece.
fn split_words(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match pieces.last_mut() {
            Some(piece) if is_open => {
                piece.push(' ');
                piece.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
        is_open ^= word.matches('`').count() % 2 == 1;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str, expected: &str) {
        assert_eq!(render_page(markdown, Palette::default()), expected);
    }

    #[test]
    fn headings_paragraphs_tables_and_code_are_lines() {
        check(
            "## `fill`\n\nOne **word**\nand more.\n",
            "fill\n\nOne word and more.\n",
        );
        check(
            "| key | holds |\n|---|---|\n| `about` | what it shows |\n",
            "  `about`\n      what it shows\n",
        );
        check("```yaml\na: 1  # x\n```\n", "    a: 1  # x\n");
    }

    #[test]
    fn long_lines_are_wrapped_between_words_and_never_in_code() {
        let lines = wrap_text("aaaa `b b b b` cc", 8);
        assert_eq!(lines, ["aaaa", "`b b b b`", "cc"]);
    }

    #[test]
    fn every_line_of_the_format_fits_or_is_code() {
        let text = render_page(format::TEXT, Palette::default());
        let long = text.lines().filter(|line| line.chars().count() > 130);
        assert_eq!(long.collect::<Vec<_>>(), [""; 0]);
        assert!(text.contains("`kernel[grid](**args, **options)`") && !text.contains("```"));
    }
}
