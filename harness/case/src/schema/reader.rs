//! Reads nodes of a case file as the values of keys, and reports values of another kind. See the sibling modules for
//! the keys.

use std::time::Duration;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use crate::template::{Template, ValueTemplate};
use crate::yaml::{Key, Node, Yaml};

/// Longest `timeout`, in seconds.
pub(crate) const MAX_TIMEOUT: f64 = 600.0;

/// The pairs of a mapping whose keys are known.
pub(super) struct Fields<'n> {
    pairs: &'n [(Key, Node)],
}

impl<'n> Fields<'n> {
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        self.pairs
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node)
    }
}

/// State of reading: the file's text, and its problems so far.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) problems: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    pub(super) fn wrong_type(&mut self, node: &Node, what: &str, wanted: &str) {
        self.problems.push(
            Diagnostic::error(
                "wrong-type",
                node.span,
                format!("`{what}` is {}", node.value.kind()),
            )
            .help(format!("write {wanted}")),
        );
    }

    pub(super) fn parse_fields<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[&str],
    ) -> Option<Fields<'n>> {
        let Yaml::Map(pairs) = &node.value else {
            self.problems.push(
                Diagnostic::error(
                    "wrong-type",
                    node.span,
                    format!("{what} is {}", node.value.kind()),
                )
                .help(format!(
                    "write a mapping with the keys {}",
                    cerith_python::nearest::list(known)
                )),
            );
            return None;
        };
        for (key, _) in pairs
            .iter()
            .filter(|(key, _)| !known.contains(&key.name.as_str()))
        {
            self.problems.push(key.reject_unknown(what, known));
        }
        Some(Fields { pairs })
    }

    pub(super) fn require_field<'n>(
        &mut self,
        fields: &Fields<'n>,
        key: &str,
        what: &str,
        span: Span,
        help: &str,
    ) -> Option<&'n Node> {
        let found = fields.get(key);
        if found.is_none() {
            self.problems
                .push(Diagnostic::error("missing-key", span, format!("{what} without `{key}`")).help(help));
        }
        found
    }

    /// Reads text that is not an expression. A number is taken as it is written.
    pub(super) fn parse_text(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.value {
            Yaml::Str(text) if !text.trim().is_empty() => Some(text.clone()),
            Yaml::Int(_) | Yaml::Float(_) => self
                .text
                .get(node.span.start as usize..node.span.end as usize)
                .map(|text| text.trim().to_owned()),
            Yaml::Str(_) => {
                self.problems.push(Diagnostic::error(
                    "wrong-type",
                    node.span,
                    format!("`{what}` is empty"),
                ));
                None
            }
            _ => {
                self.wrong_type(node, what, "text");
                None
            }
        }
    }

    pub(super) fn parse_flag(&mut self, node: Option<&Node>, what: &str, default: bool) -> bool {
        match node.map(|node| (node, &node.value)) {
            None => default,
            Some((_, Yaml::Bool(value))) => *value,
            Some((node, _)) => {
                self.wrong_type(node, what, "`true` or `false`");
                default
            }
        }
    }

    pub(super) fn parse_seconds(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let seconds = match node.value {
            Yaml::Int(whole) => whole as f64,
            Yaml::Float(seconds) => seconds,
            _ => f64::NAN,
        };
        if !(seconds > 0.0 && seconds <= MAX_TIMEOUT) {
            self.problems.push(
                Diagnostic::error("wrong-type", node.span, format!("`{what}` is not a timeout"))
                    .help(format!("write seconds, more than 0 and up to {MAX_TIMEOUT}")),
            );
            return None;
        }
        Some(Duration::from_secs_f64(seconds))
    }

    pub(super) fn parse_template(&mut self, node: &Node, what: &str) -> Option<Template> {
        let Yaml::Str(text) = &node.value else {
            self.wrong_type(node, what, "text");
            return None;
        };
        Template::parse(text, node.span, node.text_at)
            .map_err(|problem| self.problems.push(problem))
            .ok()
    }

    pub(super) fn parse_value(&mut self, node: &Node) -> Option<ValueTemplate> {
        ValueTemplate::parse(node, self.problems)
    }

    pub(super) fn parse_pairs<'n>(
        &mut self,
        node: Option<&'n Node>,
        what: &str,
        wanted: &str,
    ) -> &'n [(Key, Node)] {
        match node.map(|node| (node, &node.value)) {
            None => &[],
            Some((_, Yaml::Map(pairs))) => pairs,
            Some((node, _)) => {
                self.wrong_type(node, what, wanted);
                &[]
            }
        }
    }

    pub(super) fn parse_list<'n>(&mut self, node: Option<&'n Node>, what: &str) -> &'n [Node] {
        match node.map(|node| (node, &node.value)) {
            None => &[],
            Some((_, Yaml::Seq(items))) => items,
            Some((node, _)) => {
                self.wrong_type(node, what, "a list");
                &[]
            }
        }
    }
}
