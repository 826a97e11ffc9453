//! Why the differing bits of an engine are undecided or refused (or else accepted): what conforming implementations may give there, and the
//! operation that leaves them the most room.

use std::fmt::Write as _;

use cerith_accept::Accepted;
use cerith_case::Case;
use cerith_engine::{Conforming, Explanation, Outcome, Reference, Widest, catch_panic};
use cerith_memory::{Memory, StorageId};
use cerith_report::{Palette, Tone};
use cerith_tile::ir::Rounding;
use cerith_tile::numeric;
use cerith_verdict::{BitForBit, Element, EngineRun, Tolerance, Trial, compare};

use super::render_heading;

/// Accepts the elements that are surely conforming. So the first element that differs is one that decided the verdict: it is
/// outside of its bounds, or has none.
struct Admitted<'a>(&'a Conforming);

impl Tolerance for Admitted<'_> {
    fn find_accepted(&self, storage: StorageId, byte: usize) -> (usize, Accepted) {
        match self.0 {
            Conforming::Anything(_) => (byte, Accepted::Exact),
            Conforming::Known(map) => match map.accepted_at(storage, byte) {
                (first, Accepted::Unknown) => (first, Accepted::Exact),
                bounded => bounded,
            },
        }
    }
}

/// A paragraph for every engine whose bits differ from the reference with the same rules; empty if there is none.
pub fn render_room(case: &Case, trial: &Trial, reference: &Reference, palette: Palette) -> String {
    let mut text = String::new();
    for other in &trial.other_records {
        let same_rules = trial
            .references
            .iter()
            .find(|record| record.rules.version == other.rules.version);
        let Some(own) = same_rules.or_else(|| trial.references.first()) else {
            continue;
        };
        let (Some(left), Some(right)) = (get_memory(own), get_memory(other)) else {
            continue;
        };
        let conforming = catch_panic(|| reference.find_conforming(case, own.rules));
        let open = match &conforming {
            Ok(Ok(conforming)) => compare(left, right, Some(left), &Admitted(conforming)).first,
            _ => Vec::new(),
        };
        let bits = compare(left, right, Some(left), &BitForBit).first;
        let Some(first) = open.first().or(bits.first()) else {
            continue;
        };
        if text.is_empty() {
            text += &render_heading(palette, "what conforming implementations may give");
        }
        let explained = catch_panic(|| reference.explain(case, own.rules, first.id, first.byte));
        let told = match explained {
            Ok(Ok(explanation)) => describe_explanation(first, &explanation),
            Ok(Err(failure)) => format!("      failed to {failure}\n"),
            Err(panic) => format!("      internal error: {panic}\n"),
        };
        let _ = write!(
            text,
            "    {}: {}: {} here, {} by the reference\n{told}",
            palette.paint(Tone::Strong, &other.id.to_string()),
            place(first),
            first.values[1],
            first.values[0],
        );
    }
    text
}

fn get_memory(record: &EngineRun) -> Option<&Memory> {
    match &record.outcome {
        Outcome::Finished(finished) => Some(&finished.memory),
        _ => None,
    }
}

fn place(element: &Element) -> String {
    match &element.tensor {
        Some((name, index)) => {
            let index: Vec<String> = index.iter().map(ToString::to_string).collect();
            format!("{name}[{}]", index.join(", "))
        }
        None => format!("byte {} of {}", element.byte, element.storage),
    }
}

fn describe_explanation(element: &Element, explanation: &Explanation) -> String {
    let (accepted, widest) = match explanation {
        Explanation::Accepted(accepted, widest) => (*accepted, widest.as_ref()),
        Explanation::Anything(why) => {
            return format!("      conforming implementations may give anything: {why}\n");
        }
    };
    let mut text = match accepted {
        Accepted::Exact => {
            "      every conforming implementation gives the reference's value: no operation that leads to \
             it leaves room\n"
                .to_owned()
        }
        Accepted::Unknown => describe_undecided(widest.is_some()).to_owned(),
        Accepted::Within {
            dtype,
            low,
            high,
            infinities,
            nan,
        } => {
            let shown =
                |value: f64| numeric::format(dtype, numeric::encode(dtype, value, Rounding::NearestEven));
            let [below, above] = infinities.map(|infinite| infinite.then_some(f64::INFINITY));
            let values = (low <= high).then(|| format!("{} to {}", shown(low), shown(high)));
            let apart = [
                below.map(|value| shown(-value)),
                above.map(shown),
                nan.then(|| "a NaN".to_owned()),
            ];
            let all: Vec<String> = values.into_iter().chain(apart.into_iter().flatten()).collect();
            format!(
                "      conforming implementations give {}: it is {}\n",
                all.join(", or "),
                if accepted.check_bits(element.bits[1]) == Some(true) {
                    "accepted"
                } else {
                    "outside that"
                }
            )
        }
    };
    if let Some(widest) = widest {
        text += &describe_widest(widest);
    }
    text
}

/// The reason why an element is undecided: its interval holds every number, or there is none.
const fn describe_undecided(interval: bool) -> &'static str {
    if interval {
        "      undecided: the value has no bound\n"
    } else {
        "      undecided: it depends on what a conforming implementation may decide either way (a comparison, a cast to \
         integers, an order of programs), or on an operation that has no bound\n"
    }
}

fn describe_widest(widest: &Widest) -> String {
    let growth = if widest.growth.is_finite() {
        format!("by {:.1e} of its magnitude", widest.growth)
    } else {
        "without bound".to_owned()
    };
    let mut text = format!(
        "      the operation that widens it most is `{}`, {growth}, in launch {}",
        widest.operation,
        widest.launch + 1
    );
    if let Some(position) = &widest.position {
        let _ = write!(
            text,
            ", at {}:{}:{}:\n          {}",
            position.file,
            position.line,
            position.column,
            position.text.trim()
        );
    }
    text.push('\n');
    text
}
