//! Reads `expect:`. See [`super::Schema`] for the other keys of a file.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Version;
use cerith_tile::source::Span;

use super::reader::Reader;
use crate::expectation::{EnginePattern, OutcomeKind, VerdictKind};
use crate::template::ValueTemplate;
use crate::variant::Axis;
use crate::versions::{RELEASED, TORCH_RELEASED, VersionRange};
use crate::yaml::{Node, Yaml};
use cerith_python::nearest::{find_nearest, suggest_spelling};

/// An expectation.
#[derive(Clone, Debug)]
pub(crate) struct ExpectSchema {
    pub span: Span,
    pub engines: Vec<EnginePattern>,
    pub versions: VersionRange,
    pub axes: Vec<Axis>,
    pub verdict: Option<VerdictKind>,
    pub outcome: Option<OutcomeKind>,
    pub message: Option<String>,
    pub condition: Option<ValueTemplate>,
    pub quirks: Quirks,
    pub reason: String,
    pub link: Option<String>,
}

pub(crate) const EXPECT_KEYS: [&str; 10] = [
    "engine", "versions", "when", "axis", "verdict", "outcome", "message", "quirk", "why", "link",
];

impl Reader<'_> {
    pub(super) fn parse_expectation(&mut self, node: &Node) -> Option<ExpectSchema> {
        let fields = self.parse_fields(node, "an expectation", &EXPECT_KEYS)?;
        let start = Span {
            end: node.span.start,
            ..node.span
        };
        let what = "an expectation";
        let engine = self.require_field(
            &fields,
            "engine",
            what,
            start,
            "name the engine: `engine: interpret`",
        );
        let engines = engine.map_or_else(Vec::new, |node| {
            let items = self.list_items(node, "engine");
            items.iter().filter_map(|item| self.parse_engine(item)).collect()
        });
        let versions = fields
            .get("versions")
            .and_then(|node| self.parse_versions(node, &engines))
            .unwrap_or_default();
        let axes = fields.get("axis").map_or_else(Vec::new, |node| {
            let items = self.list_items(node, "axis");
            items.iter().filter_map(|item| self.parse_axis(item)).collect()
        });
        let has_quirk = fields.get("quirk").is_some();
        let verdict = match fields.get("verdict") {
            Some(node) => self.parse_verdict(node),
            // A bug explains a difference, so `differ` is the default with one.
            None => has_quirk.then_some(VerdictKind::Differ),
        };
        let outcome = fields.get("outcome").and_then(|node| self.parse_outcome(node));
        if !has_quirk && fields.get("verdict").is_none() && fields.get("outcome").is_none() {
            self.problems.push(
                Diagnostic::error(
                    "missing-key",
                    start,
                    "an expectation without `verdict` or `outcome`",
                )
                .help("add the expected result: `verdict: differ`, or `outcome: rejected`"),
            );
        }
        let message = fields
            .get("message")
            .and_then(|node| self.parse_text(node, "message"));
        let when = fields.get("when").and_then(|node| {
            if matches!(node.value, Yaml::Str(_)) {
                return self.parse_value(node);
            }
            self.wrong_type(
                node,
                "when",
                "a condition over matrix variables, such as `dtype == 'bf16'`",
            );
            None
        });
        let quirks: Quirks = fields.get("quirk").map_or_else(Quirks::default, |node| {
            let items = self.list_items(node, "quirk");
            let quirks = items.iter().filter_map(|item| self.parse_quirk(item, &versions));
            quirks.collect()
        });
        let why = match (fields.get("why"), quirks.iter().next()) {
            // A known bug has a summary, which is the default.
            (None, Some(quirk)) => Some(quirk.summary().trim().to_owned()),
            _ => self
                .require_field(&fields, "why", what, start, "give the reason in words: `why: …`")
                .and_then(|node| self.parse_text(node, "why")),
        };
        let link = fields.get("link").and_then(|node| self.parse_text(node, "link"));
        if engines.is_empty() {
            return None;
        }
        Some(ExpectSchema {
            span: node.span,
            engines,
            versions,
            axes,
            verdict,
            outcome,
            message,
            condition: when,
            quirks,
            reason: why?,
            link,
        })
    }

    /// The items of a list, or the node itself. An empty list is a problem: anything would match it.
    fn list_items<'n>(&mut self, node: &'n Node, key: &str) -> &'n [Node] {
        match &node.value {
            Yaml::Seq(items) => {
                if items.is_empty() {
                    let problem =
                        Diagnostic::error("empty-list", node.span, format!("`{key}` is an empty list"));
                    self.problems
                        .push(problem.help("name at least one, or omit the key"));
                }
                items
            }
            _ => std::slice::from_ref(node),
        }
    }

    fn parse_quirk(&mut self, node: &Node, versions: &VersionRange) -> Option<Quirk> {
        let text = self.parse_text(node, "quirk")?;
        let Some(quirk) = Quirk::from_name(&text) else {
            let mut problem = Diagnostic::error(
                "unknown-quirk",
                node.span,
                format!("`{text}` is not a known bug with a model"),
            );
            problem.help = suggest_spelling(&text, Quirk::ALL.iter().map(|quirk| quirk.name()));
            self.problems.push(problem);
            return None;
        };
        let has =
            |&&version: &&Version| versions.contains(version) && quirk.applies_to(quirk.family(), version);
        if !RELEASED.iter().any(|version| has(&version)) {
            let (from, mended) = quirk.versions();
            let until = mended.map_or_else(String::new, |mended| format!(", and is fixed in {mended}"));
            self.problems.push(
                Diagnostic::error(
                    "no-version",
                    node.span,
                    format!("no version in `{versions}` has `{quirk}`"),
                )
                .help(format!("it is in Triton from {from} on{until}")),
            );
        }
        Some(quirk)
    }

    fn parse_axis(&mut self, node: &Node) -> Option<Axis> {
        let text = self.parse_text(node, "axis")?;
        let found = Axis::from_name(&text);
        if found.is_none() {
            let mut problem = Diagnostic::error(
                "unknown-axis",
                node.span,
                format!("`{text}` is not an axis of a sweep"),
            );
            problem.help = Axis::suggest(&text);
            self.problems.push(problem);
        }
        found
    }

    pub(super) fn parse_engine(&mut self, node: &Node) -> Option<EnginePattern> {
        let text = self.parse_text(node, "engine")?;
        let Some(pattern) = EnginePattern::parse(&text) else {
            self.problems.push(
                Diagnostic::error("unknown-engine", node.span, format!("`{text}` is not an engine")).help(
                    "write `reference`, `interpret`, `interpret+host`, `interpret@3.2.0`, `cuda`, `jit`, …",
                ),
            );
            return None;
        };
        if !EnginePattern::NAMES.contains(&pattern.name.as_str()) {
            let mut problem = Diagnostic::error(
                "unknown-engine",
                node.span,
                format!("unknown engine `{}`", pattern.name),
            );
            problem.help = suggest_spelling(&pattern.name, EnginePattern::NAMES.iter().copied());
            self.problems.push(problem);
            return None;
        }
        Some(pattern)
    }

    fn parse_versions(&mut self, node: &Node, engines: &[EnginePattern]) -> Option<VersionRange> {
        let text = match &node.value {
            Yaml::Seq(items) => {
                let parts: Vec<_> = items
                    .iter()
                    .filter_map(|item| self.parse_text(item, "versions"))
                    .collect();
                parts.join(" or ")
            }
            _ => self.parse_text(node, "versions")?,
        };
        match text.parse::<VersionRange>() {
            Err(error) => {
                self.problems.push(
                    Diagnostic::error("bad-versions", node.span, error.to_string())
                        .help("write `<3.3`, `>=3.2,<3.6`, `3.0 - 3.4`, `3.1`, or several joined by ` or `"),
                );
                None
            }
            Ok(range) => {
                // If no engine could be parsed, the range is not at fault.
                let of_torch = |engine: &EnginePattern| engine.name == "inductor";
                let (torch, triton) = (engines.iter().any(of_torch), !engines.iter().all(of_torch));
                if engines.is_empty()
                    || torch && range.matches_any(TORCH_RELEASED)
                    || triton && range.matches_any(RELEASED)
                {
                    return Some(range);
                }
                let (what, releases) = if triton {
                    ("Triton", RELEASED)
                } else {
                    ("torch", TORCH_RELEASED)
                };
                let mut problem = Diagnostic::error(
                    "no-version",
                    node.span,
                    format!("no release of {what} is in `{text}`"),
                );
                if let (Some(first), Some(last)) = (releases.first(), releases.last()) {
                    problem = problem.help(format!("known releases: {first} to {last}"));
                }
                self.problems.push(problem);
                None
            }
        }
    }

    fn parse_verdict(&mut self, node: &Node) -> Option<VerdictKind> {
        let text = self.parse_text(node, "verdict")?;
        let found = VerdictKind::from_name(&text);
        if found.is_none() {
            let mut problem =
                Diagnostic::error("unknown-verdict", node.span, format!("`{text}` is not a verdict"));
            problem.help = match OutcomeKind::from_name(&text) {
                Some(outcome) => Some(format!("it is an outcome: write `outcome: {outcome}`")),
                None => suggest_spelling(&text, VerdictKind::ALL.iter().map(|kind| kind.name())),
            };
            self.problems.push(problem);
        }
        found
    }

    fn parse_outcome(&mut self, node: &Node) -> Option<OutcomeKind> {
        let text = self.parse_text(node, "outcome")?;
        let found = OutcomeKind::from_name(&text);
        if found.is_none() {
            let mut problem = Diagnostic::error(
                "unknown-outcome",
                node.span,
                format!("`{text}` is not an outcome"),
            );
            problem.help = match find_nearest(&text, VerdictKind::ALL.iter().map(|kind| kind.name())) {
                Some(verdict) => Some(format!("did you mean `verdict: {verdict}`?")),
                None => suggest_spelling(&text, OutcomeKind::ALL.iter().map(|kind| kind.name())),
            };
            self.problems.push(problem);
        }
        found
    }
}
