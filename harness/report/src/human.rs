//! Events for a reader at a terminal or in a log: what needs a look in full, the rest in numbers. The command line owns the
//! progress bar and the destination of the text.

mod duplicates;
mod elements;
mod expected_causes;
mod next;
mod summary;

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::bytes::{in_words, left_out};
use crate::event::{
    Difference, EngineOutcome, Event, Expectation, Internal, Kind, LikeVerdict, OutcomeKind, Position, Rule,
    Start, State, Sweep, Verdict, VerdictKind,
};
use crate::safe;
use crate::silence::Silence;
use crate::style::{Palette, Tone};

pub use elements::render_elements;
pub use expected_causes::KnownDetail;
pub use next::quote_for_shell;

/// Turns events into text, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Human {
    palette: Palette,
    /// Whether every verdict gets a line.
    pub verbose: bool,
    /// How much to print about differences that are as expected.
    pub known_detail: KnownDetail,
    /// Whether what is printed is the end of a run whose reports are kept, so that `cerith expect` finds them: in this folder, or where
    /// it looks if that is empty.
    pub reports_folder: Option<String>,
    reference_blamed: Vec<String>,
    silence: Silence,
    causes: expected_causes::Causes,
    printed: duplicates::Printed,
    next: next::Next,
    /// Kinds and lines of warnings that were printed.
    warned: HashSet<String>,
}

impl Human {
    /// A printer with these colours.
    pub fn new(palette: Palette) -> Self {
        Self {
            palette,
            ..Self::default()
        }
    }

    /// The text of an event, with its line breaks; empty for an event that needs no words.
    pub fn render_event(&mut self, event: &Event) -> String {
        // Before anything is put around the words, colours too.
        match &*safe::escape_event(event) {
            Event::Start(start) => {
                self.next.start(start);
                self.render_start(start)
            }
            Event::Problem(problem) => format!("{}{}\n", self.named_under(), problem.rendered.trim_end()),
            Event::Verdict(verdict) | Event::Sweep(verdict) => {
                let warning = self.render_warning(verdict);
                self.render_verdict(verdict) + &self.render_like(verdict) + &warning
            }
            Event::Internal(internal) => self.render_internal(internal),
            Event::Summary(summary) => format!("{}{}", self.named_last(), self.render_summary(summary)),
        }
    }

    fn render_internal(&mut self, internal: &Internal) -> String {
        let place = internal.case.as_deref().unwrap_or("the run");
        let key = duplicates::internal_key(internal);
        if self.printed.note_repeat(Some(&key), place) {
            return String::new();
        }
        let named = self.named_under();
        self.printed.begin(Some(key), place);
        let engine = internal
            .engine
            .as_ref()
            .map_or(String::new(), |engine| format!(", engine {engine}"));
        format!(
            "{named}{} {}{engine}\n  {}\n  This is a bug in Cerith, not a verdict about any engine.\n",
            self.paint(Tone::Bad, "INTERNAL ERROR"),
            self.paint(Tone::Name, place),
            internal.message.replace('\n', "\n  "),
        )
    }

    fn paint(&self, tone: Tone, words: &str) -> String {
        self.palette.paint(tone, words)
    }

    fn render_start(&self, start: &Start) -> String {
        let mut text = String::new();
        let shard = start
            .shard
            .as_ref()
            .map_or(String::new(), |shard| format!(" (shard {shard})"));
        let engines: Vec<String> = start
            .engines
            .iter()
            .map(|id| self.paint(Tone::Name, id))
            .collect();
        let over = if start.axes.is_empty() {
            String::new()
        } else {
            format!(", over {}", start.axes.join(" "))
        };
        let through = if engines.is_empty() {
            String::new()
        } else {
            format!(" through {}", engines.join(", "))
        };
        let _ = writeln!(
            text,
            "{} {}{shard}{through}{over}",
            start.cases,
            pluralize(start.cases, "case")
        );
        if !start.recorded.is_empty() {
            let _ = writeln!(
                text,
                "{} {} from records: no GPU is used",
                self.paint(Tone::Dim, "replayed"),
                start.recorded.join(", ")
            );
        }
        if let Some(checks) = &start.checks {
            let _ = writeln!(
                text,
                "{} {checks}: races, conflicting lanes and false promises are not looked for",
                self.paint(Tone::Warn, "checks"),
            );
        }
        if let Some(masked) = &start.masked {
            let _ = writeln!(
                text,
                "{} {masked}: lanes that a load masks off without `other` hold that; the language leaves \
                 them undefined",
                self.paint(Tone::Warn, "masked"),
            );
        }
        if start.schedules > 0 {
            let _ = writeln!(
                text,
                "{} {}: the reference and `ptx` launch each case that many more times, in other orders",
                self.paint(Tone::Dim, "schedules"),
                start.schedules
            );
        }
        for left_out in &start.left_out {
            let _ = writeln!(
                text,
                "{} {}: {}",
                self.paint(Tone::Warn, "left out"),
                self.paint(Tone::Name, &left_out.engine),
                left_out.why
            );
        }
        text
    }

    fn render_verdict(&mut self, verdict: &Verdict) -> String {
        if verdict.blame.iter().any(|id| id == "reference") {
            self.reference_blamed.push(verdict.case.clone());
        }
        if let Some(against) = verdict.against.as_deref().filter(|_| verdict.is_in_baseline()) {
            if !self.verbose {
                return String::new();
            }
            let name = self.paint(Tone::Name, &verdict.case);
            let known = self.paint(Tone::Dim, "known  ");
            return format!(
                "{known} {name}  as in the baseline: {}\n",
                against.same.join("; ")
            );
        }
        if verdict.passes() {
            self.causes.count(verdict);
            return self.render_expected(verdict);
        }
        self.next.add_failure(verdict);
        let shown = self.silence.count(verdict) || self.verbose;
        if verdict.is_only_unlike() {
            return String::new();
        }
        if verdict.is_only_silent() {
            return if shown {
                format!("{}{}", self.named_under(), self.render_silent(verdict))
            } else {
                String::new()
            };
        }
        let key = duplicates::build_key(verdict);
        if self.printed.note_repeat(key.as_deref(), &verdict.case) {
            return String::new();
        }
        let mut text = self.named_under();
        self.printed.begin(key, &verdict.case);
        text.push_str(&self.render_headline(verdict));
        if !verdict.about.is_empty() {
            let _ = writeln!(text, "  {}", self.paint(Tone::Dim, &verdict.about));
        }
        if verdict.vacuous {
            text.push_str(
                "  Nothing that the program computed was compared: every byte it wrote has an undefined value, or \
                 there is no byte at all.\n",
            );
        }
        for said in verdict.suspected.iter().chain(&verdict.notes) {
            let _ = writeln!(text, "  {said}");
        }
        if verdict.verdict == VerdictKind::Undefined {
            if let Some(outcome) = verdict.outcomes.get("reference") {
                text.push_str(&self.render_outcome("reference", outcome));
            }
            text.push_str(
                "  No engine is blamed, because the program has no defined answer. If this is intended, add to the case \
                 file: expect: [{engine: reference, verdict: undefined, why: …}]\n",
            );
        }
        if verdict.verdict != VerdictKind::Undefined {
            for (engine, outcome) in &verdict.outcomes {
                text.push_str(&self.render_outcome(engine, outcome));
            }
        }
        if let Some(engine) = verdict.stopped.first() {
            let outcome = stopping_outcome(verdict, engine);
            let versions = match &verdict.stoppage {
                Some(stoppage) if engine == "reference" && !stoppage.versions.is_empty() => {
                    format!(", versions: \"{}\"", stoppage.versions)
                }
                _ => String::new(),
            };
            let _ = writeln!(
                text,
                "  If this is intended, add to the case file: expect: [{{engine: {engine}{versions}, outcome: {outcome}, \
                 why: …}}]"
            );
        }
        if let Some(sweep) = &verdict.sweep {
            text.push_str(&render_camps(sweep));
        }
        for difference in &verdict.differences {
            text.push_str(&self.render_difference(difference));
        }
        for line in describe_rules(&verdict.rules) {
            let _ = writeln!(text, "  {line}");
        }
        for expectation in verdict
            .expectations
            .iter()
            .filter(|expectation| expectation.state == State::Stale)
        {
            text.push_str(&self.render_stale(expectation));
        }
        text
    }

    /// The reference's warnings, once for each line of a kernel.
    fn render_warning(&mut self, verdict: &Verdict) -> String {
        let Some(warning) = &verdict.warning else {
            return String::new();
        };
        let line = warning.position.as_ref().map(|at| (&at.file, at.line));
        if !self.warned.insert(format!("{} {line:?}", warning.error)) {
            return String::new();
        }
        let (word, name) = (
            self.paint(Tone::Warn, "WARNING"),
            self.paint(Tone::Name, &verdict.case),
        );
        format!("{word} {name}\n{}", self.render_outcome("reference", warning))
    }

    /// How a case compares with its reference function, unless it agrees.
    fn render_like(&self, verdict: &Verdict) -> String {
        let Some(like) = &verdict.like else {
            return String::new();
        };
        let tone = match like.verdict {
            LikeVerdict::Agree if !self.verbose => return String::new(),
            LikeVerdict::Agree => Tone::Good,
            LikeVerdict::NotCompared | LikeVerdict::Undecided => Tone::Warn,
            LikeVerdict::Inaccurate | LikeVerdict::Wrong | LikeVerdict::Failed => Tone::Bad,
        };
        let name = self.paint(Tone::Name, &verdict.case);
        let text = like.text.trim_end().replace('\n', "\n  ");
        format!("{} {name}  {text}\n", self.paint(tone, "LIKE   "))
    }

    fn render_expected(&self, verdict: &Verdict) -> String {
        let why = verdict
            .expectations
            .iter()
            .find(|expectation| expectation.state == State::Met)
            .map_or(String::new(), |expectation| {
                let link = expectation
                    .link
                    .as_ref()
                    .map_or(String::new(), |link| format!(" ({link})"));
                format!(": {}{link}", expectation.why)
            });
        let name = self.paint(Tone::Name, &verdict.case);
        match verdict.verdict {
            VerdictKind::Differ if self.verbose => format!(
                "{} {name}  {}, as expected{why}{}\n{}",
                self.paint(Tone::Dim, "differ "),
                self.describe_blame(verdict),
                known_by(verdict),
                self.render_complaints(verdict)
            ),
            VerdictKind::Nondeterministic if self.verbose => format!(
                "{} {name}  {}, as expected{why}\n",
                self.paint(Tone::Dim, "unsteady"),
                self.describe_blame(verdict)
            ),
            VerdictKind::Undefined if self.verbose => {
                format!("{} {name}  as expected{why}\n", self.paint(Tone::Dim, "undef  "))
            }
            VerdictKind::Inconclusive if self.verbose => format!(
                "{} {name}  {}\n",
                self.paint(Tone::Dim, "unknown"),
                verdict.reason.as_deref().unwrap_or_default()
            ),
            VerdictKind::Agree if self.verbose => {
                let bytes = verdict.bytes;
                let counted = if bytes.any_looked_at() || bytes.undefined > 0 {
                    format!("  {}", in_words(bytes))
                } else {
                    String::new()
                };
                let mut text = format!("{} {name}{counted}\n", self.paint(Tone::Good, "agree  "));
                for line in left_out(&verdict.left_out) {
                    let _ = writeln!(text, "    {line}");
                }
                text
            }
            _ => String::new(),
        }
    }

    /// The messages of the engines to blame, for users who read about every case.
    fn render_complaints(&self, verdict: &Verdict) -> String {
        let blamed = verdict
            .outcomes
            .iter()
            .filter(|(engine, _)| self.verbose && verdict.blame.contains(engine));
        blamed
            .map(|(engine, outcome)| self.render_outcome(engine, outcome))
            .collect()
    }

    fn describe_blame(&self, verdict: &Verdict) -> String {
        if let Some(sweep) = &verdict.sweep {
            return self.describe_odd_variants(verdict, sweep);
        }
        if verdict.blame.is_empty() {
            let parties: Vec<String> = verdict
                .differences
                .iter()
                .map(|difference| format!("{} and {}", difference.baseline, difference.engine))
                .collect();
            return format!(
                "{} disagree, and it is not known who is wrong",
                parties.join(", ")
            );
        }
        let names: Vec<String> = verdict
            .blame
            .iter()
            .map(|id| self.paint(Tone::Strong, id))
            .collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let by = if verdict.unconfirmed {
            " (the reference's word, unconfirmed)"
        } else {
            ""
        };
        format!("{} {verb} wrong{by}", names.join(", "))
    }

    /// Who is the odd one out of a sweep, and along which axes.
    fn describe_odd_variants(&self, verdict: &Verdict, sweep: &Sweep) -> String {
        let engine = &sweep.engine;
        let unsteady: Vec<&str> = verdict
            .differences
            .iter()
            .filter(|difference| difference.kind == Kind::Nondeterminism)
            .map(|difference| difference.engine.as_str())
            .collect();
        if sweep.odd.is_empty() {
            return match unsteady.as_slice() {
                [] => format!("the variants of {engine} agree"),
                _ => format!(
                    "{} of {engine} does not produce the same result twice",
                    unsteady.join(", ")
                ),
            };
        }
        let (is, one) = if sweep.odd.len() == 1 {
            ("is", "one")
        } else {
            ("are", "ones")
        };
        let along: Vec<&str> = sweep
            .axes
            .iter()
            .filter(|(_, word)| matches!(word.as_str(), "differ" | "nondeterministic"))
            .map(|(axis, _)| axis.as_str())
            .collect();
        format!(
            "{} {is} the odd {one} out of {engine}, along {}",
            self.paint(Tone::Strong, &shorten_names(&sweep.odd)),
            along.join(", ")
        )
    }

    fn render_headline(&self, verdict: &Verdict) -> String {
        let name = self.paint(Tone::Name, &verdict.case);
        let place = verdict
            .position
            .as_ref()
            .map_or(String::new(), |at| format!("  {}:{}", at.file, at.line));
        let place = self.paint(Tone::Dim, &place);
        if verdict.vacuous {
            return format!("{} {name}{place}\n", self.paint(Tone::Bad, "VACUOUS"));
        }
        if verdict.is_only_silent() {
            return self.says_nothing(&verdict.silent, verdict, &place);
        }
        if let Some(first) = verdict.stopped.first()
            && verdict.stopped == verdict.unexpected
        {
            let outcome = stopping_outcome(verdict, first).name();
            return format!(
                "{} {name}  its launches do not finish, and its file does not foresee that{place}\n",
                self.paint(Tone::Bad, &outcome.to_uppercase())
            );
        }
        match verdict.verdict {
            VerdictKind::Differ | VerdictKind::Nondeterministic if verdict.unexpected.is_empty() => {
                format!(
                    "{} {name}  {}{place}\n",
                    self.paint(Tone::Warn, "STALE"),
                    self.describe_blame(verdict)
                )
            }
            _ if verdict.suspected.is_some() => format!(
                "{} {name}  this may be a bug in Cerith, and convicts no other engine{place}\n",
                self.paint(Tone::Bad, "REFERENCE IS SUSPECTED")
            ),
            VerdictKind::Differ if verdict.blame.iter().any(|id| id == "reference") => format!(
                "{} {name}  two independent engines agree against it: this is a bug in Cerith{place}\n",
                self.paint(Tone::Bad, "REFERENCE IS WRONG")
            ),
            VerdictKind::Nondeterministic if verdict.sweep.is_some() => format!(
                "{} {name}  {}{place}\n",
                self.paint(Tone::Bad, "NONDETERMINISTIC"),
                self.describe_blame(verdict)
            ),
            VerdictKind::Nondeterministic => format!(
                "{} {name}  the same launch of {} does not produce the same result twice{place}\n",
                self.paint(Tone::Bad, "NONDETERMINISTIC"),
                verdict.blame.join(", ")
            ),
            VerdictKind::Differ => format!(
                "{} {name}  {}{place}\n",
                self.paint(Tone::Bad, "DIFFER"),
                self.describe_blame(verdict)
            ),
            VerdictKind::Inconclusive if !verdict.unexpected.is_empty() && verdict.bytes.undecided > 0 => {
                self.render_undecided(verdict, &place)
            }
            VerdictKind::Agree | VerdictKind::Inconclusive if !verdict.unexpected.is_empty() => {
                self.says_nothing(&verdict.unexpected, verdict, &place)
            }
            VerdictKind::Undefined if !verdict.unexpected.is_empty() => {
                format!("{} {name}{place}\n", self.paint(Tone::Bad, "UNDEFINED"))
            }
            _ => format!("{} {name}{place}\n", self.paint(Tone::Warn, "STALE")),
        }
    }

    /// A case with a result whose bytes are all undecided.
    fn render_undecided(&self, verdict: &Verdict, place: &str) -> String {
        let engines = verdict.unexpected.join(", ");
        let reason = verdict.reason.as_deref().unwrap_or("nothing bounds it");
        format!(
            "{} {}  nothing of a result of {engines} can be decided{place}\n  {reason}\n  If this is intended, add to the case \
             file: expect: [{{engine: {engines}, verdict: inconclusive, why: …}}]\n",
            self.paint(Tone::Bad, "UNDECIDED"),
            self.paint(Tone::Name, &verdict.case),
        )
    }

    fn says_nothing(&self, engines: &[String], verdict: &Verdict, place: &str) -> String {
        let verb = if engines.len() == 1 { "has" } else { "have" };
        format!(
            "{} {}  {} {verb} no outcome{place}\n",
            self.paint(Tone::Bad, "SILENT"),
            self.paint(Tone::Name, &verdict.case),
            engines.join(", ")
        )
    }

    /// A case that fails only because an engine has no outcome.
    fn render_silent(&self, verdict: &Verdict) -> String {
        let mut text = self.render_headline(verdict);
        for (engine, outcome) in &verdict.outcomes {
            if verdict.silent.contains(engine) {
                text.push_str(&self.render_outcome(engine, outcome));
            }
        }
        text
    }

    fn render_stale(&self, expectation: &Expectation) -> String {
        let what = match (expectation.verdict, expectation.outcome) {
            (Some(verdict), Some(outcome)) => format!("{verdict}, {outcome}"),
            (Some(verdict), None) => verdict.to_string(),
            (None, Some(outcome)) => outcome.to_string(),
            (None, None) => "anything".to_owned(),
        };
        let over = if expectation.axes.is_empty() {
            String::new()
        } else {
            format!(" over {}", expectation.axes.join(", "))
        };
        let mut text = format!(
            "  {} {} {}{over}: {what} ({})\n",
            self.paint(Tone::Warn, "an expectation that no longer happens:"),
            expectation.engines.join(", "),
            expectation.versions,
            expectation.why,
        );
        if let Some(position) = &expectation.position {
            text.push_str(&source_line(position));
        }
        text
    }

    fn render_outcome(&self, engine: &str, outcome: &EngineOutcome) -> String {
        let mut text = format!("  {} {}", self.paint(Tone::Strong, engine), outcome.outcome);
        if let Some(launch) = outcome.launch.filter(|&launch| launch > 0) {
            let _ = write!(text, " in launch {}", launch + 1);
        }
        // A diagnostic's code may be no more than the outcome's own word.
        let error = if outcome.error == outcome.outcome.name() {
            ""
        } else {
            outcome.error.as_str()
        };
        for part in [error, outcome.message.as_str()] {
            if !part.is_empty() {
                let _ = write!(text, ": {}", part.replace('\n', "\n    "));
            }
        }
        text.push('\n');
        if let Some(position) = &outcome.position {
            text.push_str(&source_line(position));
        }
        for line in &outcome.printed {
            let _ = writeln!(text, "    printed: {line}");
        }
        text
    }

    fn render_difference(&self, difference: &Difference) -> String {
        let Difference {
            baseline,
            engine,
            kind,
            elements,
            first,
            explained,
        } = difference;
        let what = match kind {
            Kind::Memory => format!("{elements} {} of memory differ", pluralize(*elements, "element")),
            Kind::Guard => format!(
                "{elements} {} outside of every storage were written",
                pluralize(*elements, "word")
            ),
            Kind::Acceptance => "one rejects what the other runs".to_owned(),
            Kind::Nondeterminism => format!(
                "{elements} {} of memory differ from one launch to the other",
                pluralize(*elements, "element")
            ),
            Kind::Trap => "one stopped where the other did not, or for another reason".to_owned(),
            Kind::Padding => "bytes between the elements of a tensor were written".to_owned(),
            Kind::Time => "one did not end in time".to_owned(),
            Kind::Given if first.is_empty() => "it has no answer where the case file gives one".to_owned(),
            Kind::Given => format!(
                "{elements} {} of memory are not what the case file gives",
                pluralize(*elements, "element")
            ),
            Kind::Crash => "its process died".to_owned(),
        };
        let mut text = if matches!(kind, Kind::Nondeterminism | Kind::Given) {
            format!("  {}: {what}\n", self.paint(Tone::Strong, engine))
        } else {
            format!(
                "  {} against {baseline}: {what}\n",
                self.paint(Tone::Strong, engine)
            )
        };
        if !explained.is_empty() {
            let _ = writeln!(text, "    explained by known bugs: {}", explained.join(", "));
        }
        text.push_str(&match kind {
            Kind::Nondeterminism => render_elements("once", "and once", first),
            Kind::Given => render_elements("given", engine, first),
            _ => render_elements(baseline, engine, first),
        });
        if *elements > first.len() as u64 && !first.is_empty() {
            let _ = writeln!(text, "    … and {} more", elements - first.len() as u64);
        }
        text
    }
}

/// The camps of a sweep, a line each.
fn render_camps(sweep: &Sweep) -> String {
    let mut text = String::new();
    for camp in &sweep.camps {
        let reference = match camp.reference {
            Some(true) => "  (as the reference)",
            _ => "",
        };
        let _ = writeln!(text, "    {}{reference}", camp.variants.join(", "));
    }
    text
}

fn pluralize(count: u64, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}

fn shorten_names(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
    let rest = names.len().saturating_sub(shown.len());
    if rest == 0 {
        shown.join(", ")
    } else {
        format!("{} and {rest} more", shown.join(", "))
    }
}

fn source_line(position: &Position) -> String {
    let column = if position.column > 0 {
        format!(":{}", position.column)
    } else {
        String::new()
    };
    let mut text = format!("    at {}:{}{column}\n", position.file, position.line);
    if !position.text.trim().is_empty() {
        let _ = writeln!(text, "      {} | {}", position.line, position.text.trim_end());
    }
    text
}

/// The outcome of an engine whose launches stop.
fn stopping_outcome(verdict: &Verdict, engine: &str) -> OutcomeKind {
    let stoppage = verdict.stoppage.as_ref().filter(|_| engine == "reference");
    let outcome = verdict.outcomes.get(engine).map(|one| one.outcome);
    stoppage
        .map(|stoppage| stoppage.outcome)
        .or(outcome)
        .unwrap_or(OutcomeKind::Finished)
}

/// In which versions the meaning of a case changed, a line each, with the rules that may have done it.
pub fn describe_rules(rules: &[Rule]) -> Vec<String> {
    let mut versions: Vec<(&str, Vec<&str>)> = Vec::new();
    for rule in rules {
        let about = rule.about.trim_end_matches('.');
        match versions.iter_mut().find(|(since, _)| *since == rule.since) {
            Some((_, abouts)) => abouts.push(about),
            None => versions.push((&rule.since, vec![about])),
        }
    }
    versions
        .into_iter()
        .map(|(since, abouts)| {
            let one = if abouts.len() == 1 {
                ""
            } else {
                "one of these: "
            };
            format!(
                "the language changed in {since}: {one}{}; each engine is judged by the rules of its own version",
                abouts.join("; ")
            )
        })
        .collect()
}

/// The explanations of a verdict's differences, in brackets.
fn known_by(verdict: &Verdict) -> String {
    let mut names: Vec<&str> = verdict
        .differences
        .iter()
        .flat_map(|difference| &difference.explained)
        .map(String::as_str)
        .collect();
    names.dedup();
    if names.is_empty() {
        String::new()
    } else {
        format!(" [{}]", names.join(", "))
    }
}
