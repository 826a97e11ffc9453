//! The features of a generated kernel: each operation with its dtype and shape, where it stands, what made its operand, and
//! what the case's memory is like. See [`super::Coverage`] for features that no kernel has.
//!
//! Features are read from the kernel's lines, with the maker's types of values. That is rough (two operations of one expression
//! count as on the same operand), but cheap: a campaign does it for several kernels for each that it runs.

use std::collections::{BTreeMap, BTreeSet};

use super::generated::Generated;

/// Operators in the text of a kernel, and their names in features and signatures.
pub const OPERATORS: [(&str, &str); 15] = [
    (" // ", "floordiv"),
    (" << ", "lshift"),
    (" >> ", "rshift"),
    (" == ", "eq"),
    (" != ", "ne"),
    (" <= ", "le"),
    (" >= ", "ge"),
    (" + ", "add"),
    (" - ", "sub"),
    (" * ", "mul"),
    (" / ", "truediv"),
    (" % ", "mod"),
    (" & ", "and"),
    (" | ", "or"),
    (" ^ ", "xor"),
];

/// Blocks of so many elements are large.
const LARGE: usize = 1024;

/// The context of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Top,
    Loop,
    Branch,
    Helper,
}

impl Context {
    const fn name(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Loop => "loop",
            Self::Branch => "branch",
            Self::Helper => "helper",
        }
    }
}

/// A feature in a number, where many kernels are compared.
pub(super) fn hash_parts(parts: &[&str]) -> u64 {
    parts.iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        step(part.bytes().fold(hash, step), b' ')
    })
}

impl Generated {
    /// Its features, each once: `op sum i8 2d loop`, `after sum trans`, `layout strided sum`.
    pub fn features(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.visit_features(&mut |parts| {
            found.insert(parts.join(" "));
        });
        found
    }

    /// Its features as numbers, which take less time to compute.
    pub fn feature_keys(&self) -> Vec<u64> {
        let mut found = Vec::new();
        self.visit_features(&mut |parts| found.push(hash_parts(parts)));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Reports each feature, once for each occurrence.
    fn visit_features(&self, found: &mut dyn FnMut(&[&str])) {
        let mut operations = BTreeSet::new();
        // The operations that made each value.
        let mut makers: BTreeMap<&str, &str> = BTreeMap::new();
        let mut blocks: Vec<(usize, Context)> = Vec::new();
        let mut helper = false;
        for line in self.functions.lines() {
            let text = line.trim_start();
            if let Some(rest) = text.strip_prefix("def ") {
                helper = rest.split('(').next() != Some(&self.name);
                blocks.clear();
                continue;
            }
            let indent = line.len() - text.len();
            blocks.retain(|&(outer, _)| outer < indent);
            let context = if helper {
                Context::Helper
            } else if blocks.iter().any(|&(_, block)| block == Context::Loop) {
                Context::Loop
            } else {
                blocks.last().map_or(Context::Top, |&(_, block)| block)
            };
            if text.ends_with(':') {
                let is_loop = text.starts_with("for ") || text.starts_with("while ");
                blocks.push((indent, if is_loop { Context::Loop } else { Context::Branch }));
            }
            let (targets, expression) = text.split_once(" = ").unwrap_or(("", text));
            let operands = split_names(expression).filter(|word| self.value_types.contains_key(*word));
            let operands: Vec<&str> = operands.collect();
            let target = targets
                .split(", ")
                .find_map(|target| self.value_types.get(target));
            let of = operands
                .first()
                .and_then(|name| self.value_types.get(*name))
                .or(target);
            let mut outermost = None;
            for operation in operations_of(expression) {
                outermost = outermost.or(Some(operation));
                operations.insert(operation);
                let (dtype, shape) = of.map_or(("none", "0d"), |known| {
                    (known.dtype.name(), shape_class(&known.shape))
                });
                found(&["op", operation, dtype, shape, context.name()]);
                for made_by in operands.iter().filter_map(|name| makers.get(name)) {
                    found(&["after", operation, made_by]);
                }
            }
            if let Some(operation) = outermost {
                for target in targets.split(", ") {
                    makers.insert(target, operation);
                }
            }
        }
        for idiom in &self.idioms {
            found(&["idiom", idiom]);
        }
        for layout in self.layouts() {
            for operation in &operations {
                found(&["layout", &layout, operation]);
            }
        }
    }

    /// Properties of the case's memory and launch.
    fn layouts(&self) -> BTreeSet<String> {
        let views = self.tensors.iter().map(|(_, view)| {
            let class = if view.contains(".permute(") {
                "transposed"
            } else if view.contains(".expand(") {
                "expanded"
            } else if view.contains("[:-1]") {
                "aliased"
            } else if view.contains(".view(") {
                "unaligned"
            } else {
                "strided"
            };
            class.to_owned()
        });
        let warps = self.options.iter().filter(|(name, _)| *name == "num_warps");
        let mut all: BTreeSet<String> = views.collect();
        all.extend(warps.map(|(_, count)| format!("warps-{count}")));
        if all.is_empty() {
            all.insert("plain".to_owned());
        }
        all
    }
}

/// The names in a text.
fn split_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// The operations of an expression: the functions of the language in it, its methods and operators. Operations on the address of
/// a load or a store are left out.
fn operations_of(expression: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in expression.match_indices('(') {
        let before = expression.get(..at).unwrap_or_default();
        let start = before
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .map_or(0, |start| start + 1);
        let name = before.get(start..).unwrap_or_default();
        let is_member = before.get(..start).is_some_and(|head| head.ends_with('.'));
        if is_member && !name.is_empty() && name != "arange" && name != "program_id" && !found.contains(&name)
        {
            found.push(name);
        }
    }
    if matches!(found.first(), Some(&("load" | "store"))) {
        found.truncate(1);
        return found;
    }
    let operators = OPERATORS
        .iter()
        .filter(|(operator, _)| expression.contains(operator));
    found.extend(operators.map(|&(_, name)| name));
    found
}

fn shape_class(shape: &[usize]) -> &'static str {
    let count: usize = shape.iter().product();
    let classes = match shape.len() {
        0 => return "0d",
        1 => ["1d", "1d-one", "1d-large"],
        2 => ["2d", "2d-one", "2d-large"],
        3 => ["3d", "3d-one", "3d-large"],
        _ => ["4d", "4d-one", "4d-large"],
    };
    let [plain, one, large] = classes;
    if count >= LARGE {
        large
    } else if shape.contains(&1) {
        one
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_functions_methods_and_operators() {
        let check = |text: &str, expected: &[&str]| assert_eq!(operations_of(text), expected);
        check("tl.sum(v1, axis=0).to(tl.int64)", &["sum", "to"]);
        check("(v1 + tl.exp(v2))", &["exp", "add"]);
        check("tl.load(x1 + tl.arange(0, 4) * 2)", &["load"]);
        check("k_f1(v1, v2)", &[]);
    }

    #[test]
    fn shapes_are_classes_of_rank_and_size() {
        let classes = [&[][..], &[4], &[2, 1], &[32, 32], &[2, 2, 2, 2, 2]].map(shape_class);
        assert_eq!(classes, ["0d", "1d", "2d-one", "2d-large", "4d"]);
    }
}
