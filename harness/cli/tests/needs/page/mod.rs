//! Splits a page of Markdown into commands, their output, and other text.
#![allow(unreachable_pub, reason = "a module of a test")]

pub mod commands;

/// A part of a page.
#[derive(Debug, PartialEq)]
pub enum Part<'a> {
    /// Text between commands.
    Text(&'a str),
    /// A command and what it prints.
    Command {
        /// The line, or lines if the command goes on, with the prompt.
        line: &'a str,
        /// Without the prompt.
        command: &'a str,
        /// All up to the next command or the block's end.
        output: &'a str,
    },
}

impl<'a> Part<'a> {
    /// The part's text on the page.
    pub fn text(&self) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Command { .. } => "",
        }
    }
}

/// The parts of a page, in order.
pub fn parse_parts(page: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut at, mut begin) = (0, 0);
    let mut is_console = false;
    let mut open: Option<(usize, usize)> = None;
    for line in page.split_inclusive('\n') {
        let end = at + line.len();
        let is_fence = line.starts_with("```");
        let is_prompt = is_console && line.starts_with("$ ");
        if is_fence || is_prompt {
            match open.take() {
                Some((from, to)) => parts.push(Part::Command {
                    line: &page[from..to],
                    command: page[from + 2..to].trim_end(),
                    output: &page[to..at],
                }),
                None => parts.push(Part::Text(&page[begin..at])),
            }
            begin = at;
        }
        if is_fence {
            is_console = !is_console && line.trim_end() == "```console";
        }
        if is_prompt {
            open = Some((at, end));
        }
        at = end;
    }
    parts.push(Part::Text(&page[begin..]));
    parts
}

/// Whether what was printed is what the page says.
pub fn fits(expected: &str, printed: &str) -> bool {
    let expected: Vec<&str> = expected.lines().map(str::trim_end).collect();
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    lines_fit(&expected, &printed)
}

fn lines_fit(expected: &[&str], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => (0..=printed.len()).any(|skipped| lines_fit(rest, &printed[skipped..])),
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, others)| line_fits(line, first) && lines_fit(rest, others)),
    }
}

fn line_fits(expected: &str, printed: &str) -> bool {
    let mut pieces = expected.split("[..]");
    let Some(mut rest) = pieces.next().and_then(|first| printed.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for piece in pieces {
        if let Some(before) = last.replace(piece) {
            let Some((_, after)) = rest.split_once(before) else {
                return false;
            };
            rest = after;
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

/// Output without seconds, which are never the same, and without lines that say how far a run is, or where time went.
pub fn strip_volatile(printed: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_progress = |line: &str| {
        let numbers = line.strip_suffix(" cases").and_then(|line| line.split_once('/'));
        numbers.is_some_and(|(done, total)| is_number(done) && is_number(total))
    };
    let mut text = String::new();
    let is_volatile = |line: &str| is_progress(line) || line.starts_with("  judging took ");
    for line in printed.lines().filter(|line| !is_volatile(line)) {
        let words: Vec<&str> = line.split(' ').collect();
        let timeless = words.iter().enumerate().map(|(nth, &word)| {
            let is_time = words
                .get(nth + 1)
                .is_some_and(|next| matches!(next.trim_end_matches([',', '.', ';']), "s"))
                && word.contains('.')
                && word.parse::<f64>().is_ok();
            if is_time { "[..]" } else { word }
        });
        text.push_str(timeless.collect::<Vec<_>>().join(" ").trim_end());
        text.push('\n');
    }
    text
}
