//! Describes a trial: the verdict, the result of each engine, and the differences between engines.

use std::fmt::Write as _;

use cerith_case::{Case, VerdictKind};
use cerith_report::describe::to_instructions;
use cerith_report::event::{Difference, Event, Verdict};
use cerith_report::{
    Cell, Human, Palette, Tile, Tone, build_tiles, describe_rules, in_words, left_out, render_elements,
};
use cerith_tile::quirk::{Quirk, signature};
use cerith_verdict::{EngineRun, Trial};

use super::render_heading;
use crate::judge;

/// The case's name and its verdict.
pub fn render_headline(case: &Case, event: &Verdict, palette: Palette) -> String {
    let mut text = format!("{}\n  {}\n", palette.paint(Tone::Name, &case.id), case.summary);
    if let Some(origin) = &case.origin {
        let _ = writeln!(text, "  from {origin}");
    }
    text.push_str(&render_heading(palette, "verdict"));
    let tone = match (event.passes(), event.verdict) {
        (false, _) => Tone::Bad,
        (true, VerdictKind::Agree) => Tone::Good,
        (true, _) => Tone::Warn,
    };
    let blame = if event.blame.is_empty() {
        String::new()
    } else {
        format!(": {} wrong", event.blame.join(", "))
    };
    let mut marks = Vec::new();
    if event.unconfirmed {
        marks.push("unconfirmed");
    }
    if event.vacuous {
        marks.push("vacuous");
    }
    marks.push(if event.passes() {
        "as expected"
    } else {
        "not as expected"
    });
    let word = palette.paint(tone, &event.verdict.to_string());
    let _ = writeln!(text, "    {word}{blame} ({})", marks.join(", "));
    if let Some(reason) = &event.reason {
        let _ = writeln!(text, "    {reason}");
    }
    let _ = writeln!(text, "    {}", in_words(event.bytes));
    for line in left_out(&event.left_out) {
        let _ = writeln!(text, "    {line}");
    }
    for said in event.suspected.iter().chain(&event.notes) {
        let _ = writeln!(text, "    {said}");
    }
    for line in describe_rules(&event.rules) {
        let _ = writeln!(text, "    {line}");
    }
    for expectation in &event.expectations {
        let _ = writeln!(
            text,
            "    expectation {}: {} {}: {}",
            expectation.state,
            expectation.engines.join(", "),
            expectation.versions,
            expectation.why
        );
    }
    text
}

/// Renders the outcome of each engine.
pub fn render_outcomes(case: &Case, trial: &Trial, palette: Palette) -> String {
    let mut text = render_heading(palette, "outcomes");
    for record in trial.references.iter().chain(&trial.other_records) {
        text.push_str(&record_text(record, trial.references.len() > 1, palette));
    }
    for internal in judge::collect_internal_errors(case, trial) {
        let event = Event::Internal(internal);
        text.push_str(&Human::new(palette).render_event(&event));
    }
    text
}

/// Renders the differences between engines: pictures of tensors, and the first elements.
pub fn render_differences(event: &Verdict, palette: Palette) -> String {
    let mut text = String::new();
    for difference in &event.differences {
        let Difference {
            baseline,
            engine,
            kind,
            elements,
            ..
        } = difference;
        text.push_str(&render_heading(
            palette,
            &format!("{engine} against {baseline}, {kind}: {elements} elements"),
        ));
        for name in &difference.explained {
            let _ = writeln!(text, "    explained by {name}: {}", describe_bug(name));
        }
        text.push_str(&render_elements(baseline, engine, &difference.first));
        let exhibit = event.exhibit.as_deref();
        for tile in exhibit
            .iter()
            .flat_map(|exhibit| build_tiles(exhibit, baseline, engine))
        {
            text.push('\n');
            text.push_str(&draw_tile(&tile, palette));
        }
    }
    text
}

/// A picture in characters.
fn draw_tile(tile: &Tile, palette: Palette) -> String {
    let mut text = format!("    {}\n", tile.heading());
    for (nth, row) in tile.rows.iter().enumerate() {
        let _ = write!(text, "    {:>6}  ", nth * tile.step);
        // Cells of one kind are painted together.
        for run in row.chunk_by(|one, other| one == other) {
            let letters: String = run.iter().map(|cell| cell.letter()).collect();
            text.push_str(&match run.first() {
                Some(Cell::All) => palette.paint(Tone::Bad, &letters),
                Some(Cell::Some) => palette.paint(Tone::Warn, &letters),
                _ => palette.paint(Tone::Dim, &letters),
            });
        }
        text.push('\n');
    }
    let _ = writeln!(text, "            {}", tile.legend());
    text
}

/// Describes the effect of a known bug.
fn describe_bug(name: &str) -> &'static str {
    let of_model = Quirk::from_name(name).map(|quirk| quirk.summary().trim());
    let told = || {
        signature::ALL
            .iter()
            .find(|told| told.name == name)
            .map(|told| told.summary)
    };
    of_model.or_else(told).unwrap_or_default()
}

fn record_text(record: &EngineRun, by_rules: bool, palette: Palette) -> String {
    let rules = if record.origin != record.id {
        format!(", of {}", record.origin)
    } else if by_rules && record.id.version().is_none() {
        format!(" by the rules of Triton {}", record.rules.version)
    } else {
        String::new()
    };
    let mut text = format!(
        "    {}{rules}: {} in {:.6} s\n",
        palette.paint(Tone::Strong, &record.id.to_string()),
        record.outcome.kind(),
        record.seconds
    );
    if let Some(instructions) = to_instructions(&record.outcome) {
        let _ = writeln!(text, "      instructions: {instructions}");
    }
    for line in record
        .outcome
        .finished()
        .into_iter()
        .flat_map(|finished| &finished.printed)
    {
        let _ = writeln!(text, "      printed: {line}");
    }
    if let Some(complaint) = record.outcome.complaint() {
        let _ = writeln!(text, "      {}: {}", complaint.kind, complaint.message);
        match (&complaint.detail, &complaint.position) {
            (Some(detail), _) => {
                for line in detail.trim_end().lines() {
                    let _ = writeln!(text, "      {line}");
                }
            }
            (None, Some(place)) => {
                let _ = writeln!(
                    text,
                    "      at {}:{}: {}",
                    place.file,
                    place.line,
                    place.text.trim()
                );
            }
            (None, None) => {}
        }
    }
    text
}
