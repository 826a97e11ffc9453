//! `cerith explain --stages` and `--pass`: what each stage of Triton's compiler leaves, and after which pass it is wrong.

use std::fmt::Write as _;

use cerith_report::{Palette, Tone};
use cerith_verdict::Standing;
use similar::TextDiff;

use super::render_heading;
use crate::stages::{Answer, Passes, Stages};

/// Lines of IR around those that differ.
const CONTEXT_LINES: usize = 2;

/// Renders the results of the stages, and the wrong stage.
pub fn render_stages(stages: &Stages, answer: &Answer, palette: Palette) -> String {
    let mut text = render_heading(palette, &format!("stages of {}", stages.describe()));
    let width = answer
        .results
        .iter()
        .map(|said| said.engine.len())
        .max()
        .unwrap_or(0);
    for said in &answer.results {
        let (word, tone) = match said.standing {
            Standing::Agrees => ("right", Tone::Good),
            Standing::Differs => ("wrong", Tone::Bad),
            Standing::Nondeterministic => ("not the same each time", Tone::Warn),
            Standing::Undefined => ("has no defined answer", Tone::Dim),
            Standing::Silent => ("no outcome", Tone::Dim),
        };
        let _ = writeln!(
            text,
            "    {:8}  {:width$}  {}  {}",
            said.stage,
            said.engine,
            palette.paint(tone, &format!("{word:12}")),
            said.words
        );
    }
    let _ = match answer.blamed {
        Some(blamed) => writeln!(
            text,
            "    wrong: {}",
            palette.paint(Tone::Bad, &blamed.to_string())
        ),
        None => writeln!(text, "    no stage is known to be wrong"),
    };
    text
}

/// The pass, and the IR before and after it where that differs.
pub fn render_passes(passes: &Passes, palette: Palette) -> String {
    let mut text = render_heading(palette, "passes");
    match passes {
        Passes::Culprit(culprit) => {
            let (nth, count) = culprit.place;
            let names = culprit.names.join(", ");
            let named = palette.paint(Tone::Bad, &names);
            let _ = match culprit.names.len() {
                1 => writeln!(
                    text,
                    "    right before {named}, wrong after it (pass {nth} of {count} up to TTGIR)"
                ),
                several => writeln!(
                    text,
                    "    right before and wrong after {several} passes, from pass {nth} of {count} up to TTGIR: {named}"
                ),
            };
            let (before, after) = &culprit.ir;
            let diff = TextDiff::from_lines(before, after);
            for line in diff
                .unified_diff()
                .context_radius(CONTEXT_LINES)
                .header("before", "after")
                .to_string()
                .lines()
            {
                let tone = match line.as_bytes().first() {
                    Some(b'+') => Some(Tone::Good),
                    Some(b'-') => Some(Tone::Bad),
                    _ => None,
                };
                let painted = tone.map_or_else(|| line.to_owned(), |tone| palette.paint(tone, line));
                let _ = writeln!(text, "    {painted}");
            }
        }
        Passes::Failed(failed) => {
            let named = palette.paint(Tone::Bad, &failed.name);
            let _ = writeln!(
                text,
                "    {named} fails (pass {}): {}\n    the IR before it:",
                failed.place, failed.message
            );
            for line in failed.before.lines().filter(|line| !line.is_empty()) {
                let _ = writeln!(text, "    {line}");
            }
        }
        Passes::None(count) => {
            let _ = writeln!(
                text,
                "    none of the {count} passes up to TTGIR makes it wrong; Triton prints none of those below as IR that can be \
                 executed"
            );
        }
        Passes::Before => {
            let _ = writeln!(
                text,
                "    it is wrong before the first pass: the frontend's IR is"
            );
        }
        Passes::Unasked(why) => {
            let _ = writeln!(text, "    not run: {why}");
        }
    }
    text
}
