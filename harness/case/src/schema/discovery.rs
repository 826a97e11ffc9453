//! Reads `found:`. See [`crate::discovery`] for its purpose.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use super::reader::Reader;
use crate::discovery::{Discovery, Finder, FoundState};
use crate::yaml::{Node, Yaml};
use cerith_python::nearest::list;

pub(crate) const FOUND_KEYS: [&str; 4] = ["by", "engine", "upstream", "state"];

/// The value of `upstream` for an unreported bug.
pub(crate) const NEW: &str = "new";

impl Reader<'_> {
    pub(super) fn parse_discovery(&mut self, node: &Node) -> Option<Discovery> {
        let what = "`found`";
        let fields = self.parse_fields(node, what, &FOUND_KEYS)?;
        let start = Span {
            end: node.span.start,
            ..node.span
        };
        let finders: Vec<&str> = Finder::ALL.iter().map(|finder| finder.name()).collect();
        let states: Vec<&str> = FoundState::ALL.iter().map(|state| state.name()).collect();
        let by = self
            .require_field(&fields, "by", what, start, "say who found it: `by: fuzz`")
            .and_then(|node| self.parse_word(node, "by", &finders, Finder::from_name));
        let engines = fields
            .get("engine")
            .map_or_else(Vec::new, |node| match &node.value {
                Yaml::Seq(items) => items.iter().filter_map(|item| self.parse_engine(item)).collect(),
                _ => self.parse_engine(node).into_iter().collect(),
            });
        let upstream = self
            .require_field(
                &fields,
                "upstream",
                what,
                start,
                "give a link to where upstream has it, or `upstream: new`",
            )
            .and_then(|node| self.parse_text(node, "upstream"));
        let state = self
            .require_field(
                &fields,
                "state",
                what,
                start,
                "add its state: `state: unreported`",
            )
            .and_then(|node| self.parse_word(node, "state", &states, FoundState::from_name));
        Some(Discovery {
            finder: by?,
            engines,
            upstream: upstream.map(|text| (text != NEW).then_some(text))?,
            state: state?,
        })
    }

    fn parse_word<T>(
        &mut self,
        node: &Node,
        key: &str,
        known: &[&str],
        read: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.parse_text(node, key)?;
        let word = read(&text);
        if word.is_none() {
            self.problems.push(
                Diagnostic::error("unknown-word", node.span, format!("`{key}` is `{text}`"))
                    .help(format!("write one of {}", list(known))),
            );
        }
        word
    }
}
