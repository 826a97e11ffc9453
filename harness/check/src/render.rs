//! The text of a report about a kernel, for a terminal of 80 columns.

use std::fmt::Write as _;

use cerith_report::{Palette, Tone};

use super::launch::describe_variant;
use super::report::{KernelFinding, KernelReport, Standing};

/// The most bytes of a finding's text.
const MAX_TEXT: usize = 1400;

impl KernelReport<'_> {
    /// The text for the terminal.
    pub fn render(&self, palette: Palette) -> String {
        self.render_parts(palette).concat()
    }

    /// The text in parts: the headline, each finding, warning and precondition, and the notes about all launches.
    pub fn render_parts(&self, palette: Palette) -> Vec<String> {
        let (file, kernel) = (self.file, self.kernel);
        let name = palette.paint(Tone::Name, &format!("{file}:{kernel}"));
        let launches = format!("{} launches", self.launches);
        let mut text = String::new();
        let result = match self.standing() {
            Standing::NotTried(why) => {
                let mut text = format!("{name}  not tried: {why}\n");
                add_lines(&mut text, &self.listed);
                return vec![text];
            }
            Standing::NotJudged => palette.paint(Tone::Warn, "not judged"),
            Standing::Clean if self.hidden.is_empty() => palette.paint(Tone::Good, "nothing found"),
            Standing::Clean => palette.paint(Tone::Good, "nothing new found"),
            Standing::Found(1) => palette.paint(Tone::Bad, "1 thing found"),
            Standing::Found(found) => palette.paint(Tone::Bad, &format!("{found} things found")),
        };
        // Writing to a string does not fail.
        let warned = match self.warned.len() {
            0 => String::new(),
            1 => format!(", {}", palette.paint(Tone::Warn, "1 warning")),
            count => format!(", {}", palette.paint(Tone::Warn, &format!("{count} warnings"))),
        };
        let hidden = match self.hidden.len() {
            0 => String::new(),
            count => format!(", {count} hidden"),
        };
        let _ = writeln!(text, "{name}  {launches}: {result}{warned}{hidden}");
        let mut parts = vec![text];
        for shown in self.findings.iter().filter(|one| one.wrong).chain(&self.warned) {
            let mut text = String::new();
            // Most kernels of one element for each lane have such a warning: its message and place are enough.
            if !shown.wrong && !shown.has_cases() && !self.is_verbose {
                for line in shown.text().lines().take(2) {
                    let _ = writeln!(text, "  {line}");
                }
                parts.push(text);
                continue;
            }
            add_text(&mut text, &shown.text());
            let launched = describe_launches(&shown.launches);
            if shown.has_cases() {
                let _ = writeln!(text, "  = in {} of {launches}: {launched}", shown.launches.len());
            }
            add_lines(&mut text, &shown.launch);
            for other in &shown.same_line {
                let message = other.text();
                let first = message.lines().next().unwrap_or_default();
                let launched = describe_launches(&other.launches);
                let count = other.launches.len();
                let _ = writeln!(
                    text,
                    "  = also here: {first}\n    in {count} of {launches}: {launched}"
                );
            }
            parts.push(text);
        }
        for one in &self.preconditions {
            let mut text = String::new();
            add_text(&mut text, &one.text());
            let unless = one.precondition.unless.join(", ");
            let _ = writeln!(text, "  = precondition: unless {unless}");
            add_lines(&mut text, &one.precondition.launch);
            parts.push(text);
        }
        parts.push(self.render_notes());
        parts
    }

    /// The launches that were not made or not judged, and what was covered.
    fn render_notes(&self) -> String {
        let launches = format!("{} launches", self.launches);
        let (file, kernel) = (self.file, self.kernel);
        let mut text = String::new();
        if !self.untried.is_empty() {
            let names: Vec<&str> = self.untried.iter().map(String::as_str).collect();
            let _ = writeln!(
                text,
                "  = not tried, because no time was left: {} launches: {}",
                names.len(),
                describe_launches(&names)
            );
        }
        // If nothing compiles, nothing is covered.
        if self.standing() == Standing::Clean && self.passed > 0 {
            add_lines(&mut text, &self.covered);
        }
        add_lines(&mut text, &self.listed);
        if self.missed > 0 {
            let _ = writeln!(
                text,
                "  = not covered: sizes with which {} of the integers wrap",
                self.missed
            );
        }
        if let Some(host) = self.host {
            let assumed = match self.assumed {
                [] => String::new(),
                names => format!(", with assumed values of `{}`", names.join("`, `")),
            };
            let _ = writeln!(text, "  = note: launched as `{host}` launches it{assumed}");
        }
        if !self.changed.is_empty() && self.preconditions.is_empty() {
            let _ = writeln!(
                text,
                "  = note: {}: the kernel does not compile, or does not finish, with other arguments",
                self.changed.join(", ")
            );
        }
        if let Some(version) = self.version {
            let _ = writeln!(
                text,
                "  = note: judged by the language of Triton {version}: newer versions reject the kernel"
            );
        }
        if !self.omitted.is_empty() {
            let _ = writeln!(
                text,
                "  = note: the launches omit `{}` of the autotuner: write a case to test it",
                self.omitted.join("`, `")
            );
        }
        let doubtful: Vec<&KernelFinding<'_>> = self.findings.iter().filter(|one| !one.wrong).collect();
        let Some(first) = doubtful.first() else {
            return text;
        };
        if self.standing() == Standing::NotJudged {
            for line in first.finding.text.trim_end().lines() {
                let _ = writeln!(text, "  {line}");
            }
            if first.finding.is_of_launcher() {
                add_lines(&mut text, &first.launch);
                let _ = writeln!(
                    text,
                    "  = note: other inputs may avoid this: `cerith import {file}:{kernel}` writes a case to edit"
                );
                return text;
            }
            let guessed = match self.guessed {
                [] => "arguments are".to_owned(),
                names => format!(
                    "`{}` {}",
                    names.join("`, `"),
                    if names.len() == 1 { "is" } else { "are" }
                ),
            };
            let _ = writeln!(
                text,
                "  = note: {guessed} guessed, and the guess may not fit: `cerith import {file}:{kernel}` writes a case to edit"
            );
        } else {
            for shown in doubtful {
                let count = shown.launches.len();
                let why = shown.finding.text.lines().next().unwrap_or_default();
                // The launcher that is not used has its line already.
                if shown.finding.is_of_launcher() {
                    continue;
                }
                let launched = describe_launches(&shown.launches);
                let _ = writeln!(text, "  = not judged: {count} of {launches}, {launched}: {why}");
            }
        }
        text
    }
}

/// The launches that show something, in words.
fn describe_launches(shown: &[&str]) -> String {
    const MAX_LAUNCHES: usize = 4;
    let named = shown
        .iter()
        .take(MAX_LAUNCHES)
        .map(|variant| describe_variant(variant));
    let mut words: Vec<&str> = named.collect();
    if shown.len() > MAX_LAUNCHES {
        words.push("…");
    }
    words.join(", ")
}

fn add_lines(text: &mut String, lines: &[String]) {
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

/// Adds a diagnostic, which is cut if it is too long.
fn add_text(text: &mut String, diagnostic: &str) {
    let mut length = 0;
    for line in diagnostic.trim_end().lines() {
        length += line.len() + 3;
        if length > MAX_TEXT {
            let end = line
                .char_indices()
                .map(|(at, _)| at)
                .take_while(|at| *at <= 160)
                .last();
            let start = line.get(..end.unwrap_or_default()).unwrap_or_default();
            let _ = writeln!(text, "  {start}…");
            return;
        }
        let _ = writeln!(text, "  {line}");
    }
}
