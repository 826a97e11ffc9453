//! The launches of a kernel in words: what each passes, and what all of them cover.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use cerith_case::{ArgValue, Case};
use cerith_survey::Survey;

use super::contract::Relations;
use super::proof::KernelProof;

/// The most bytes of a launch in words.
const MAX_TEXT: usize = 600;

/// Columns of a line.
const COLUMNS: usize = 80;

/// The most names in a list.
const MAX_NAMES: usize = 12;

/// A tensor that is passed.
#[derive(Clone, Debug)]
struct TensorFacts {
    storage: String,
    dtype: String,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
    is_dense: bool,
}

/// The arguments of a launch.
#[derive(Clone, Debug, Default)]
pub struct LaunchFacts {
    grid: Vec<u32>,
    tensors: Vec<(String, TensorFacts)>,
    /// Other arguments: their text, and their value if it is an integer.
    values: Vec<(String, String, Option<i128>)>,
    options: Vec<(String, String)>,
}

impl LaunchFacts {
    /// The arguments of a case's last launch. `None` if it has no launch.
    pub fn from_case(case: &Case) -> Option<Self> {
        let launch = case.launches.last()?;
        let dims = usize::from(launch.grid_dims);
        let mut facts = Self {
            grid: launch.grid.iter().copied().take(dims).collect(),
            ..Self::default()
        };
        for (name, argument) in launch.arguments() {
            let name = name.unwrap_or("?").to_owned();
            let ArgValue::Tensor { tensor, .. } = &argument.value else {
                let text = render_value(&argument.value);
                facts.values.push((name, text, argument.value.as_integer()));
                continue;
            };
            let storage = case.storages.get(tensor.storage);
            let tensor = TensorFacts {
                storage: storage.map_or_else(String::new, |storage| storage.name().to_owned()),
                dtype: tensor.dtype.to_string(),
                shape: tensor.shape.to_vec(),
                strides: tensor.strides.to_vec(),
                offset: tensor.offset,
                is_dense: tensor.is_contiguous(),
            };
            facts.tensors.push((name, tensor));
        }
        let options = launch.options.iter();
        facts.options = options
            .map(|(name, value)| (name.clone(), render_value(value)))
            .collect();
        Some(facts)
    }

    /// The launch on lines of 80 columns.
    pub fn render(&self, head: &str) -> Vec<String> {
        wrap(head, self.list_words().into_iter())
    }

    /// The arguments, the options and the grid.
    pub fn list_words(&self) -> Vec<String> {
        let tensors = self.tensors.iter().map(|(name, tensor)| {
            let (dtype, shape) = (&tensor.dtype, &tensor.shape);
            let mut text = format!("{name}: {dtype}{shape:?}");
            // Writing to a string does not fail.
            if !tensor.is_dense {
                let _ = write!(text, " strides {:?}", tensor.strides);
            }
            if tensor.offset != 0 {
                let _ = write!(text, " offset {}", tensor.offset);
            }
            if *name != tensor.storage && self.is_shared(tensor) {
                let _ = write!(text, " of `{}`", tensor.storage);
            }
            text
        });
        let values = self.values.iter().map(|(name, text, _)| format!("{name}={text}"));
        let options = self.options.iter().map(|(name, text)| format!("{name}={text}"));
        let grid = std::iter::once(format!("grid {:?}", self.grid));
        let mut length = 0;
        let mut words: Vec<String> = Vec::new();
        for word in tensors.chain(values).chain(options) {
            length += word.len();
            if length > MAX_TEXT {
                words.push("…".to_owned());
                break;
            }
            words.push(word);
        }
        words.extend(grid);
        words
    }

    fn is_shared(&self, tensor: &TensorFacts) -> bool {
        let same = self
            .tensors
            .iter()
            .filter(|(_, other)| other.storage == tensor.storage);
        same.count() > 1
    }

    fn programs(&self) -> u64 {
        self.grid.iter().map(|&count| u64::from(count)).product()
    }

    fn layouts(&self) -> impl Iterator<Item = &'static str> {
        let of_tensor = |tensor: &TensorFacts| {
            let dims: Vec<(i64, i64)> = (tensor.shape.iter().copied())
                .zip(tensor.strides.iter().copied())
                .filter(|(extent, _)| *extent > 1)
                .collect();
            if dims.iter().any(|(_, stride)| *stride == 0) {
                "broadcast"
            } else if tensor.is_dense {
                "dense"
            } else if dims.is_sorted_by_key(|(_, stride)| -stride) {
                "padded"
            } else {
                "transposed"
            }
        };
        let tensors = || self.tensors.iter().map(|(_, tensor)| tensor);
        let offset = tensors().any(|tensor| tensor.offset > 0).then_some("offset");
        let alias = tensors()
            .any(|tensor| self.is_shared(tensor))
            .then_some("aliased");
        let all: BTreeSet<&'static str> = tensors().map(of_tensor).chain(offset).chain(alias).collect();
        all.into_iter()
    }
}

fn render_value(value: &ArgValue) -> String {
    match value {
        ArgValue::None => "None".to_owned(),
        ArgValue::Bool(true) => "True".to_owned(),
        ArgValue::Bool(false) => "False".to_owned(),
        ArgValue::Int(value) => value.to_string(),
        ArgValue::Float(value) => value.to_string(),
        ArgValue::Str(text) => format!("{text:?}"),
        ArgValue::DType(dtype) => dtype.to_string(),
        ArgValue::Tensor { name, .. } | ArgValue::Address { name, .. } | ArgValue::Global(name) => {
            name.clone()
        }
        ArgValue::Descriptor(_) => "a descriptor".to_owned(),
        ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
            let items: Vec<String> = items.iter().map(render_value).collect();
            format!("({})", items.join(", "))
        }
        ArgValue::Constexpr(inner) => render_value(inner),
    }
}

/// The launches that were judged, and who judged them.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// The launches, the plain one first.
    pub launches: Vec<Option<LaunchFacts>>,
    /// The engines that finished, and in how many launches.
    pub engines: BTreeMap<String, usize>,
    /// How many launches on the same data were compared with the plain one.
    pub related: usize,
    /// Proofs for all sizes.
    pub proof: Option<KernelProof>,
    /// The relations between the arguments of launches.
    pub relations: Relations,
    /// The first launch that was judged.
    pub plain: Option<Case>,
}

impl Coverage {
    /// Describes the coverage of launches without a finding, as lines of 80 columns.
    pub fn render(&self, survey: &Survey) -> Vec<String> {
        let known = || self.launches.iter().flatten();
        let mut lines = Vec::new();
        let mut sizes: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
        let mut varied: BTreeSet<&str> = BTreeSet::new();
        for (name, _, number) in known().flat_map(|facts| &facts.values) {
            let Some(number) = *number else { continue };
            let range = sizes.entry(name).or_insert((number, number));
            if *range != (number, number) {
                varied.insert(name);
            }
            *range = (range.0.min(number), range.1.max(number));
        }
        let is_size = |name: &&str| varied.contains(*name) && !name.to_lowercase().contains("stride");
        let ranges: Vec<String> = (sizes.iter())
            .filter(|(name, _)| is_size(name))
            .map(|(name, (least, most))| format!("{name} {least} to {most}"))
            .collect();
        let mut dtypes: Vec<&str> = Vec::new();
        for (_, tensor) in known().flat_map(|facts| &facts.tensors) {
            if !dtypes.contains(&tensor.dtype.as_str()) {
                dtypes.push(&tensor.dtype);
            }
        }
        let programs = || known().map(LaunchFacts::programs);
        let grid = match (programs().min(), programs().max()) {
            (Some(least), Some(most)) if least < most => Some(format!("grids of {least} to {most} programs")),
            (Some(1), _) => Some("a grid of 1 program".to_owned()),
            (Some(count), _) => Some(format!("a grid of {count} programs")),
            _ => None,
        };
        let layouts: BTreeSet<&str> = known().flat_map(LaunchFacts::layouts).collect();
        let groups = vec![
            limit_names(ranges),
            dtypes.into_iter().map(str::to_owned).collect(),
            layouts.into_iter().map(str::to_owned).collect(),
            grid.into_iter().collect(),
        ];
        lines.extend(wrap_groups("  = covered: ", groups));
        let is_decided = |name: &str| self.proof.as_ref().is_some_and(|proof| proof.decides(name));
        if let Some(proved) = self.proof.as_ref().and_then(|proof| proof.count().describe()) {
            lines.extend(wrap("  = proved: ", proved.split(", ").map(str::to_owned)));
        }
        let unknown = known()
            .flat_map(|facts| &facts.tensors)
            .filter(|(name, tensor)| !survey.certain.contains(&tensor.storage) && !is_decided(name))
            .map(|(name, _)| format!("`{name}`"));
        let unknown: BTreeSet<String> = unknown.collect();
        if !unknown.is_empty() {
            let mut names = limit_names(unknown.into_iter().collect());
            if let Some(last) = names.last_mut() {
                last.push_str(" (unknown size)");
            }
            lines.extend(wrap("  = not covered: out of bounds in ", names.into_iter()));
        }
        if !survey.guessed.is_empty() {
            let names = survey.guessed.iter().map(|name| format!("`{name}`")).collect();
            lines.extend(wrap("  = guessed: ", limit_names(names).into_iter()));
        }
        let others = self.engines.iter().filter(|(engine, _)| *engine != "reference");
        let others: Vec<String> = others
            .map(|(engine, count)| format!("{engine} ({count} of {})", self.launches.len()))
            .collect();
        let related = (self.related > 0).then(|| {
            let noun = if self.related == 1 { "launch" } else { "launches" };
            format!("the plain launch with {} {noun} on the same data", self.related)
        });
        let others = others
            .into_iter()
            .map(|other| format!("the reference with {other}"));
        let compared: Vec<String> = others.chain(related).collect();
        if compared.is_empty() {
            lines.push("  = compared: nothing, because only the reference ran".to_owned());
        } else {
            lines.extend(wrap("  = compared: ", compared.into_iter()));
        }
        lines
    }
}

/// The first names, and how many others there are.
fn limit_names(mut names: Vec<String>) -> Vec<String> {
    let others = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    if others > 0 {
        names.push(format!("{others} more"));
    }
    names
}

/// Words with commas between them, on lines of 80 columns.
pub fn wrap(head: &str, words: impl Iterator<Item = String>) -> Vec<String> {
    wrap_groups(head, vec![words.collect()])
}

/// As [`wrap`], with semicolons between groups of words.
fn wrap_groups(head: &str, groups: Vec<Vec<String>>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = head.to_owned();
    let mut is_empty = true;
    let words = groups.into_iter().flat_map(|group| {
        let words = group.into_iter().enumerate();
        words.map(|(nth, word)| (if nth == 0 { ';' } else { ',' }, word))
    });
    for (separator, word) in words {
        if !is_empty {
            line.push(separator);
            if line.chars().count() + 2 + word.chars().count() > COLUMNS {
                lines.push(std::mem::replace(&mut line, "      ".to_owned()));
            } else {
                line.push(' ');
            }
        }
        line.push_str(&word);
        is_empty = false;
    }
    if !is_empty {
        lines.push(line);
    }
    lines
}

/// The special property of a launch, in words.
pub fn describe_variant(variant: &str) -> &str {
    if variant.is_empty() {
        "the plain launch"
    } else {
        variant
    }
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lists_have_lines_of_80_columns() {
        let words = || (0..40).map(|n| format!("word{n}"));
        let lines = wrap("  = covered: ", words());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        let joined = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        let expected: Vec<String> = words().collect();
        assert_eq!(joined, format!("= covered: {}", expected.join(", ")));
        assert!(wrap("  = covered: ", std::iter::empty()).is_empty());
    }
}
