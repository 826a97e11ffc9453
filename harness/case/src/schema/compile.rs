//! Reads `compile`: how a case is compiled under `torch.compile`. See `resolve` for its value at a point of the
//! matrix.

use cerith_tile::source::Span;

use super::reader::Reader;
use crate::template::ValueTemplate;
use crate::yaml::{Key, Node, Yaml};

/// The key `compile` of a file.
#[derive(Clone, Debug)]
pub(crate) struct CompileSchema {
    pub span: Span,
    pub dynamic: Option<ValueTemplate>,
    pub mark_dynamic: Vec<(Key, ValueTemplate)>,
    pub maybe_mark_dynamic: Vec<(Key, ValueTemplate)>,
    pub before: Vec<Vec<(Key, ValueTemplate)>>,
}

pub(crate) const COMPILE_KEYS: [&str; 4] = ["dynamic", "mark_dynamic", "maybe_mark_dynamic", "before"];

impl Reader<'_> {
    pub(super) fn parse_compile(&mut self, node: &Node) -> Option<CompileSchema> {
        let fields = self.parse_fields(node, "`compile`", &COMPILE_KEYS)?;
        let dynamic = fields.get("dynamic").map(|node| self.parse_value(node));
        let mut marks = |key| {
            let wanted = "a mapping of arguments to dimensions, such as `{ q: 1, k: [0, 1] }`";
            self.named_values(fields.get(key), key, wanted)
        };
        let (mark_dynamic, maybe_mark_dynamic) = (marks("mark_dynamic"), marks("maybe_mark_dynamic"));
        let mut before = Vec::new();
        let calls = match fields.get("before").map(|node| (node, &node.value)) {
            None => &[][..],
            Some((_, Yaml::Seq(calls))) => calls,
            Some((node, _)) => {
                self.wrong_type(node, "before", "a list of calls, such as `[{ n: 5 }]`");
                &[]
            }
        };
        for call in calls {
            let wanted = "a mapping of arguments to their values in that call, such as `{ n: 5 }`";
            if !matches!(call.value, Yaml::Map(_)) {
                self.wrong_type(call, "before", wanted);
                continue;
            }
            before.push(self.named_values(Some(call), "before", wanted));
        }
        Some(CompileSchema {
            span: node.span,
            dynamic: dynamic.flatten(),
            mark_dynamic,
            maybe_mark_dynamic,
            before,
        })
    }

    fn named_values(&mut self, node: Option<&Node>, what: &str, wanted: &str) -> Vec<(Key, ValueTemplate)> {
        let pairs = self.parse_pairs(node, what, wanted);
        pairs
            .iter()
            .filter_map(|(key, node)| Some((key.clone(), self.parse_value(node)?)))
            .collect()
    }
}
