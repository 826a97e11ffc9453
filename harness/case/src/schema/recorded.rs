//! Reads `recorded`, the recorded outcome of a case. See `resolve` for the bytes.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use super::reader::Reader;
use crate::fill::RecordedBytes;
use crate::yaml::{Key, Node, Yaml};

/// The key `recorded` of a file.
#[derive(Clone, Debug)]
pub(crate) struct RecordedSchema {
    pub engine: String,
    pub after: Option<Vec<(Key, RecordedBytes)>>,
    pub raised: Option<RaisedSchema>,
}

/// The key `raised` of a file.
#[derive(Clone, Debug)]
pub(crate) struct RaisedSchema {
    pub kind: String,
    pub message: String,
    pub compiling: bool,
}

pub(crate) const RECORDED_KEYS: [&str; 3] = ["engine", "after", "raised"];
pub(crate) const RAISED_KEYS: [&str; 3] = ["kind", "message", "compiling"];

impl Reader<'_> {
    pub(super) fn parse_recorded(&mut self, node: &Node) -> Option<RecordedSchema> {
        let fields = self.parse_fields(node, "`recorded`", &RECORDED_KEYS)?;
        let start = Span {
            end: node.span.start,
            ..node.span
        };
        let help = "name the engine that executed it: `engine: interpret@3.6.0+host`";
        let engine = self
            .require_field(&fields, "engine", "`recorded`", start, help)
            .and_then(|node| self.parse_executing_engine(node));
        let after = fields.get("after").map(|node| {
            let wanted = "a mapping of storages to their bytes, such as `{ out: data.zip/3fa9c2… }`";
            let read = self.parse_pairs(Some(node), "after", wanted).iter();
            read.filter_map(|(key, node)| Some((key.clone(), RecordedBytes::parse(node, self.problems)?)))
                .collect()
        });
        let raised = fields.get("raised").and_then(|node| self.parse_raised(node));
        if let (Some(after), Some(raised)) = (fields.get("after"), fields.get("raised")) {
            self.problems.push(
                Diagnostic::error(
                    "conflicting-keys",
                    raised.span,
                    "`after` and `raised` in one record",
                )
                .label(after.span, "what was left")
                .help("keep `raised` if the launch raised, and `after` if it finished"),
            );
        }
        Some(RecordedSchema {
            engine: engine?,
            after,
            raised,
        })
    }

    /// The engine that executed a recorded launch: one, with its version.
    fn parse_executing_engine(&mut self, node: &Node) -> Option<String> {
        let pattern = self.parse_engine(node)?;
        if pattern.name == RECORDED || pattern.version.is_none() && pattern.name != "reference" {
            let message = format!("`{pattern}` is not an engine that executed something");
            self.problems.push(
                Diagnostic::error("unknown-engine", node.span, message)
                    .help("write its id with its version: `interpret@3.6.0+host`, `jit@3.6.0`"),
            );
            return None;
        }
        Some(pattern.to_string())
    }

    fn parse_raised(&mut self, node: &Node) -> Option<RaisedSchema> {
        let fields = self.parse_fields(node, "`raised`", &RAISED_KEYS)?;
        let help = "name the exception's type: `kind: ValueError`";
        let kind = self
            .require_field(&fields, "kind", "`raised`", node.span, help)
            .and_then(|node| self.parse_text(node, "kind"));
        let message = match fields.get("message").map(|node| (node, &node.value)) {
            None | Some((_, Yaml::Null)) => String::new(),
            // An exception may have an empty message.
            Some((_, Yaml::Str(text))) => text.clone(),
            Some((node, _)) => self.parse_text(node, "message").unwrap_or_default(),
        };
        let compiling = self.parse_flag(fields.get("compiling"), "compiling", false);
        Some(RaisedSchema {
            kind: kind?,
            message,
            compiling,
        })
    }
}

/// The engine that replays the recorded outcome.
const RECORDED: &str = "recorded";
