//! What was found in the launches of a kernel: each thing once, with the launches that show it.

use std::fmt::Write as _;

use cerith_case::Survey;
use cerith_report::event::{Difference, EngineOutcome, Event, Internal, OutcomeKind, Verdict};
use cerith_report::{Palette, Tone};

/// What two launches have in common if they show the same thing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    engine: String,
    /// The kind of outcome and of error, or in what way engines differ.
    what: String,
    /// The file and the line, where they are known.
    place: String,
}

struct Finding {
    key: Key,
    /// The words for it, of the first launch that shows it.
    text: String,
    /// Whether the kernel is wrong, rather than not judged.
    counts: bool,
    /// Whether the kernel did not compile.
    rejected: bool,
    cases: Vec<String>,
}

impl Finding {
    /// Whether the kernel is wrong, shown by so many of all its launches. What no launch compiles is more likely a wrong guess.
    const fn is_wrong(&self, shown: usize, all: usize) -> bool {
        self.counts && shown > 0 && !(self.rejected && shown == all)
    }

    /// What is special about the launches that show it.
    fn shown<'v>(&self, variants: &[(String, &'v str)]) -> Vec<&'v str> {
        variants
            .iter()
            .filter(|(id, _)| self.cases.contains(id))
            .map(|&(_, variant)| variant)
            .collect()
    }
}

/// All findings, in the order in which they came.
#[derive(Default)]
pub struct Findings(Vec<Finding>);

/// What Cerith itself failed at.
pub fn internal(message: String) -> Event {
    Event::Internal(Internal {
        case: None,
        engine: None,
        message,
    })
}

impl Findings {
    /// How many there are so far.
    pub fn len(&self) -> usize {
        self.0.iter().filter(|finding| finding.counts).count()
    }

    /// How many these launches show.
    pub fn of(&self, variants: &[(String, &str)]) -> usize {
        let is_wrong = |finding: &&Finding| finding.is_wrong(finding.shown(variants).len(), variants.len());
        self.0.iter().filter(is_wrong).count()
    }

    /// Whether none of these launches was judged.
    pub fn is_all(&self, variants: &[(String, &str)]) -> bool {
        let of_all = |finding: &Finding| finding.shown(variants).len() == variants.len();
        self.0
            .iter()
            .any(|finding| of_all(finding) && !finding.is_wrong(variants.len(), variants.len()))
    }

    /// Notes what an event of a launch shows.
    pub fn add(&mut self, case: &str, event: &Event) {
        let (what, text) = match event {
            Event::Verdict(verdict) => return self.add_verdict(case, verdict),
            Event::Problem(problem) => (problem.code.clone(), problem.rendered.clone()),
            Event::Internal(internal) => (
                "internal".to_owned(),
                format!("internal error: {}\n", internal.message),
            ),
            _ => return,
        };
        let key = Key {
            engine: String::new(),
            what,
            place: String::new(),
        };
        self.note(case, key, true, false, text);
    }

    fn add_verdict(&mut self, case: &str, verdict: &Verdict) {
        let reference = verdict.outcomes.get("reference");
        if let Some(outcome) = reference {
            let counts = !matches!(
                outcome.outcome,
                OutcomeKind::Unsupported | OutcomeKind::Unavailable | OutcomeKind::Exhausted
            );
            let rejected = outcome.outcome == OutcomeKind::Rejected;
            self.note(case, key("reference", outcome), counts, rejected, told(outcome));
            return;
        }
        for difference in verdict.differences.iter().filter(|one| one.explained.is_empty()) {
            if let Some(outcome) = verdict.outcomes.get(&difference.engine) {
                let text = format!("{}: {}", difference.engine, told(outcome));
                self.note(case, key(&difference.engine, outcome), true, false, text);
            } else {
                let key = Key {
                    engine: difference.engine.clone(),
                    what: difference.kind.to_string(),
                    place: String::new(),
                };
                self.note(case, key, true, false, differing(difference));
            }
        }
    }

    fn note(&mut self, case: &str, key: Key, counts: bool, rejected: bool, text: String) {
        match self.0.iter_mut().find(|finding| finding.key == key) {
            Some(finding) => finding.cases.push(case.to_owned()),
            None => self.0.push(Finding {
                key,
                text,
                counts,
                rejected,
                cases: vec![case.to_owned()],
            }),
        }
    }

    /// What is to be said about a kernel. `variants` are its launches, with what is special about each.
    pub fn told(&self, file: &str, survey: &Survey, variants: &[(String, &str)], palette: Palette) -> String {
        let name = palette.paint(Tone::Name, &format!("{file}:{}", survey.kernel));
        if let Some(why) = &survey.not_tried {
            return format!("{name}  not tried: {why}\n");
        }
        let mut text = String::new();
        let of_kernel: Vec<(&Finding, Vec<&str>)> = self
            .0
            .iter()
            .map(|finding| (finding, finding.shown(variants)))
            .filter(|(_, shown)| !shown.is_empty())
            .collect();
        let found = self.of(variants);
        let launches = format!("{} launches", variants.len());
        let result = match found {
            0 if self.is_all(variants) => palette.paint(Tone::Warn, "not judged"),
            0 => palette.paint(Tone::Good, "nothing found"),
            1 => palette.paint(Tone::Bad, "1 thing found"),
            _ => palette.paint(Tone::Bad, &format!("{found} things found")),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}  {launches}: {result}");
        for (finding, shown) in of_kernel {
            for line in finding.text.trim_end().lines() {
                let _ = writeln!(text, "  {line}");
            }
            let launched = listed(&shown, variants.len());
            let _ = writeln!(text, "  = in {} of {launches}: {launched}", shown.len());
            if finding.rejected && shown.len() == variants.len() {
                let _ = writeln!(
                    text,
                    "  = note: arguments are guessed, and the guess may not fit: `cerith import {file}:{}` writes a case to edit",
                    survey.kernel
                );
            }
        }
        text
    }
}

/// The launches that show something, in words.
fn listed(shown: &[&str], all: usize) -> String {
    const MOST: usize = 4;
    if shown.len() == all {
        return "whatever is passed".to_owned();
    }
    let named = |variant: &&str| {
        if variant.is_empty() {
            "sizes that are no multiple of a block".to_owned()
        } else {
            (*variant).to_owned()
        }
    };
    let mut words: Vec<String> = shown.iter().take(MOST).map(named).collect();
    if shown.len() > MOST {
        words.push("…".to_owned());
    }
    words.join(", ")
}

fn key(engine: &str, outcome: &EngineOutcome) -> Key {
    Key {
        engine: engine.to_owned(),
        what: format!("{} {}", outcome.outcome, outcome.error),
        place: outcome.position.as_ref().map_or_else(String::new, |position| {
            format!("{}:{}", position.file, position.line)
        }),
    }
}

fn told(outcome: &EngineOutcome) -> String {
    outcome
        .detail
        .clone()
        .unwrap_or_else(|| format!("{}: {}", outcome.outcome, outcome.message))
}

fn differing(difference: &Difference) -> String {
    let first = difference.first.first().map_or_else(String::new, |element| {
        format!("; the first is in `{}` at byte {}", element.storage, element.byte)
    });
    format!(
        "{} differs from {} in {} elements{first}\n",
        difference.engine, difference.baseline, difference.elements
    )
}
