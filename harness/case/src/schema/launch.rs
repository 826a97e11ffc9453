//! Reads `launches:`. See `argument` for single arguments, and `resolve` for their values at a point of the matrix.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use super::argument::ArgumentSchema;
use super::reader::Reader;
use crate::template::{Template, ValueTemplate};
use crate::yaml::{Key, Node, Yaml};
use cerith_python::nearest::suggest_spelling;

/// A launch.
#[derive(Clone, Debug)]
pub(crate) struct LaunchSchema {
    pub span: Span,
    /// Another kernel than the file's.
    pub kernel: Option<Template>,
    pub grid: ValueTemplate,
    pub positional: Vec<ArgumentSchema>,
    pub keyword: Vec<(Key, ArgumentSchema)>,
    pub options: Vec<(Key, ValueTemplate)>,
    /// The Python function that makes the launch.
    pub host: Option<Template>,
    pub unchecked: bool,
}

pub(crate) const LAUNCH_KEYS: [&str; 6] = ["kernel", "grid", "args", "options", "host", "unchecked"];

/// The launch options of any Triton version (`CUDAOptions` of 3.0.0 to 3.9.0).
pub(crate) const OPTIONS: [&str; 24] = [
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "debug",
    "enable_fp_fusion",
    "enable_reflect_ftz",
    "launch_cooperative_grid",
    "launch_pdl",
    "cluster_dims",
    "sanitize_overflow",
    "default_dot_input_precision",
    "allowed_dot_input_precisions",
    "max_num_imprecise_acc_default",
    "allow_fp8e4nv",
    "allow_fp8e4b15",
    "supported_fp8_dtypes",
    "instrumentation_mode",
    "fpsan_homomorphic_casts",
    "extern_libs",
    "ptx_version",
    "ptx_options",
    "ir_override",
    "num_consumer_groups",
];

impl Reader<'_> {
    pub(super) fn parse_launches(&mut self, node: &Node, import: bool) -> Vec<LaunchSchema> {
        let items = self.parse_list(Some(node), "launches");
        if items.is_empty() && matches!(node.value, Yaml::Seq(_)) && !import {
            self.problems.push(
                Diagnostic::error("missing-key", node.span, "a kernel that is never launched")
                    .help("add a launch, or `import` the module instead of naming a kernel"),
            );
        }
        items
            .iter()
            .filter_map(|node| self.parse_launch(node, import))
            .collect()
    }

    fn parse_launch(&mut self, node: &Node, import: bool) -> Option<LaunchSchema> {
        let fields = self.parse_fields(node, "a launch", &LAUNCH_KEYS)?;
        let start = Span {
            end: node.span.start,
            ..node.span
        };
        let grid = self.require_field(
            &fields,
            "grid",
            "a launch",
            start,
            "give the number of programs: `grid: [1]`",
        );
        let grid = grid.and_then(|node| self.parse_value(node));
        let kernel = fields
            .get("kernel")
            .map(|node| self.parse_template(node, "kernel"));
        let host = fields
            .get("host")
            .and_then(|node| self.parse_template(node, "host"));
        if import && kernel.is_none() {
            self.problems.push(
                Diagnostic::error(
                    "missing-key",
                    start,
                    "a launch without `kernel` in a case file that imports a module",
                )
                .help("name the function to launch: `kernel: name`"),
            );
        }
        let (mut positional, mut keyword) = (Vec::new(), Vec::new());
        match fields.get("args").map(|node| (node, &node.value)) {
            None | Some((_, Yaml::Null)) => {}
            Some((_, Yaml::Map(pairs))) => self.parse_keywords(pairs, &mut keyword),
            Some((_, Yaml::Seq(items))) => {
                for item in items {
                    match &item.value {
                        // A descriptor by position; `{ descriptor: x }` alone is an argument by name.
                        Yaml::Map(pairs) if is_argument(pairs) => {
                            positional.extend(self.parse_argument(item));
                        }
                        Yaml::Map(pairs) => self.parse_keywords(pairs, &mut keyword),
                        _ if !keyword.is_empty() => self.problems.push(
                            Diagnostic::error(
                                "wrong-type",
                                item.span,
                                "a positional argument after keyword arguments",
                            )
                            .help("move it before them"),
                        ),
                        _ => positional.extend(self.parse_argument(item)),
                    }
                }
            }
            Some((node, _)) => {
                self.wrong_type(
                    node,
                    "args",
                    "a mapping of parameters to values, or a list of values",
                );
            }
        }
        if let (Some(host), Some(first)) = (&host, positional.first()) {
            self.problems.push(
                Diagnostic::error(
                    "conflicting-keys",
                    first.span(),
                    "an argument by position in a launch that a host function makes",
                )
                .label(host.span, "the host function")
                .help("give every argument by name: `args: { x: x, out: out }`"),
            );
        }
        let unchecked = self.parse_flag(fields.get("unchecked"), "unchecked", false);
        let mut options = Vec::new();
        for (key, node) in self.parse_pairs(
            fields.get("options"),
            "options",
            "a mapping such as `{ num_warps: 4 }`",
        ) {
            if !unchecked && !OPTIONS.contains(&key.name.as_str()) {
                let mut problem = Diagnostic::error(
                    "unknown-option",
                    key.span,
                    format!("unknown launch option `{}`", key.name),
                )
                .note("`unchecked: true` on the launch passes it anyway");
                problem.help = suggest_spelling(&key.name, OPTIONS);
                self.problems.push(problem);
            }
            options.extend(self.parse_value(node).map(|value| (key.clone(), value)));
        }
        Some(LaunchSchema {
            span: node.span,
            kernel: kernel.flatten(),
            grid: grid?,
            positional,
            keyword,
            options,
            host,
            unchecked,
        })
    }

    fn parse_keywords(&mut self, pairs: &[(Key, Node)], keyword: &mut Vec<(Key, ArgumentSchema)>) {
        for (key, node) in pairs {
            keyword.extend(self.parse_argument(node).map(|value| (key.clone(), value)));
        }
    }
}

/// Whether a mapping in a list of arguments is an argument itself, not arguments by name. Parameters called
/// `global`, `constexpr` and `namedtuple` are passed in a mapping of all arguments.
fn is_argument(pairs: &[(Key, Node)]) -> bool {
    let has = |name: &str| pairs.iter().any(|(key, _)| key.name == name);
    has("descriptor") && has("block_shape")
        || pairs.len() == 1 && ["global", "constexpr", "namedtuple"].into_iter().any(has)
}
