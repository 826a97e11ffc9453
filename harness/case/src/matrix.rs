//! The matrix of a case file: variables, their values, and the resulting points. See `resolve` for the case of a
//! point.

mod value;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use cerith_memory::Storages;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

pub use self::value::is_name;
use self::value::{Setting, is_same, label, named_values, parse_literal, reject_label};
pub(crate) use self::value::{check_identifier, is_python_name};
use crate::template::ValueTemplate;
use crate::yaml::{Key, Node, Yaml};
use cerith_expression::{Names, Value};
use cerith_python::nearest::suggest_spelling;

/// More points than this in one file are refused: it is a slip, or a fuzzer's work.
pub(crate) const MAX_POINTS: u64 = 1_000_000;

/// The matrix of one file. Without variables it has one point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrix {
    variables: Vec<Variable>,
    include: Vec<Vec<Setting>>,
    exclude: Vec<Exclusion>,
    /// Points before `include` and `exclude`.
    product: u64,
    /// The first key.
    span: Option<Span>,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    span: Span,
    values: Vec<Setting>,
}

#[derive(Clone, Debug)]
enum Exclusion {
    /// Points that have these values.
    Point(Vec<(String, Value)>),
    /// Points at which this is true.
    When(ValueTemplate),
}

/// One point of a matrix.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Variables and how ids write their values.
    pub labels: Vec<(String, String)>,
    /// The values of the variables in expressions.
    pub names: Names,
}

impl Matrix {
    /// The matrix of a file that has none: one point, no variables.
    pub fn without_variables() -> Self {
        Self {
            product: 1,
            ..Self::default()
        }
    }

    /// Reads `matrix:`.
    pub fn parse(node: &Node, problems: &mut Vec<Diagnostic>) -> Self {
        let Yaml::Map(pairs) = &node.value else {
            problems.push(
                Diagnostic::error(
                    "wrong-type",
                    node.span,
                    format!("`matrix` is {}", node.value.kind()),
                )
                .help("write a mapping of variables to lists of values: `matrix: { dtype: [f32, f16] }`"),
            );
            return Self::without_variables();
        };
        let before = problems.len();
        let mut matrix = Self {
            span: pairs.first().map(|(key, _)| key.span),
            ..Self::without_variables()
        };
        let special = |name: &str| matches!(name, "include" | "exclude");
        for (key, value) in pairs.iter().filter(|(key, _)| !special(&key.name)) {
            matrix.parse_variable(key, value, problems);
        }
        for (key, value) in pairs.iter().filter(|(key, _)| key.name == "include") {
            matrix.parse_includes(key, value, problems);
        }
        for (_, value) in pairs.iter().filter(|(key, _)| key.name == "exclude") {
            matrix.parse_excludes(value, problems);
        }
        let points = matrix.variables.iter().try_fold(1u64, |product, variable| {
            product
                .checked_mul(variable.values.len().max(1) as u64)
                .filter(|&product| product <= MAX_POINTS)
        });
        let Some(product) = points else {
            problems.push(
                Diagnostic::error(
                    "matrix-too-large",
                    matrix.span.unwrap_or(node.span),
                    format!("a matrix of more than {MAX_POINTS} points"),
                )
                .help("split the file, or list the points that matter under `include`"),
            );
            return Self::without_variables();
        };
        // Variables that only `include` gives have no points of their own.
        let own = pairs.iter().any(|(key, _)| !special(&key.name));
        matrix.product = if own { product } else { 0 };
        if matrix.variables.is_empty() && matrix.include.is_empty() && problems.len() == before {
            problems.push(
                Diagnostic::error("empty-matrix", node.span, "a matrix without variables")
                    .help("name a variable and its values, or leave `matrix` out"),
            );
            return Self::without_variables();
        }
        matrix.check_duplicates(problems);
        matrix
    }

    /// Points that would have the same id.
    fn check_duplicates(&self, problems: &mut Vec<Diagnostic>) {
        let mut twice = |span: Span, first: Span, what: String| {
            problems.push(
                Diagnostic::error(
                    "duplicate-id",
                    span,
                    format!("two cases of this file would have the id part `{what}`"),
                )
                .label(first, "here first")
                .help("remove one, or give the values names: `variable: { some_name: …, other_name: … }`"),
            );
        };
        for variable in &self.variables {
            let mut seen: HashMap<&str, Span> = HashMap::new();
            for setting in &variable.values {
                match seen.entry(&setting.label) {
                    Entry::Occupied(first) => {
                        twice(
                            setting.span,
                            *first.get(),
                            format!("{}={}", variable.name, setting.label),
                        );
                    }
                    Entry::Vacant(slot) => {
                        slot.insert(setting.span);
                    }
                }
            }
        }
        let mut seen: HashMap<Vec<&str>, Span> = HashMap::new();
        for point in &self.include {
            let Some(span) = point.first().map(|setting| setting.span) else {
                continue;
            };
            let labels: Vec<&str> = point.iter().map(|setting| setting.label.as_str()).collect();
            let parts = self
                .variables
                .iter()
                .zip(&labels)
                .map(|(variable, label)| format!("{}={label}", variable.name));
            let what = parts.collect::<Vec<_>>().join(",");
            let mut number = Some(0u64);
            let mut among = None;
            for (variable, label) in self.variables.iter().zip(&labels) {
                let found = variable
                    .values
                    .iter()
                    .position(|setting| setting.label == **label);
                among = found
                    .and_then(|at| variable.values.get(at))
                    .map(|setting| setting.span);
                let count = variable.values.len() as u64;
                number = number.zip(found).map(|(number, at)| number * count + at as u64);
            }
            if let (Some(number), Some(first)) = (number, among)
                && matches!(self.build_point(number), Ok(Some(_)))
            {
                twice(span, first, what.clone());
            }
            match seen.entry(labels) {
                Entry::Occupied(first) => twice(span, *first.get(), what),
                Entry::Vacant(slot) => {
                    slot.insert(span);
                }
            }
        }
    }

    fn parse_variable(&mut self, key: &Key, node: &Node, problems: &mut Vec<Diagnostic>) {
        if let Err(problem) = check_identifier(key, "matrix variable") {
            problems.push(problem);
            return;
        }
        let before = problems.len();
        let values = match &node.value {
            Yaml::Seq(items) => items
                .iter()
                .filter_map(|item| {
                    let value = parse_literal(item, problems)?;
                    let Some(label) = label(&value) else {
                        problems.push(reject_label(&key.name, &value, item.span));
                        return None;
                    };
                    Some(Setting {
                        label,
                        value,
                        fields: Vec::new(),
                        span: item.span,
                    })
                })
                .collect(),
            Yaml::Map(pairs) => named_values(pairs, problems),
            other => {
                problems.push(
                    Diagnostic::error(
                        "wrong-type",
                        node.span,
                        format!("values of `{}` are {}", key.name, other.kind()),
                    )
                    .help("write a list of values, or a mapping of names to values"),
                );
                return;
            }
        };
        if values.is_empty() && problems.len() == before {
            problems.push(
                Diagnostic::error(
                    "empty-matrix",
                    node.span,
                    format!("matrix variable `{}` without values", key.name),
                )
                .help("give it at least one value, or leave it out"),
            );
        }
        let mut bound: Vec<&str> = self.variables.iter().flat_map(Variable::bound).collect();
        bound.push(&key.name);
        if let Some(name) = values.first().and_then(|first: &Setting| {
            first
                .fields
                .iter()
                .map(|(name, _)| name)
                .find(|name| bound.contains(&name.as_str()))
        }) {
            problems.push(Diagnostic::error(
                "duplicate-name",
                node.span,
                format!("matrix variable `{name}` is bound twice"),
            ));
            return;
        }
        if problems.len() == before || !values.is_empty() {
            self.variables.push(Variable {
                name: key.name.clone(),
                span: key.span,
                values,
            });
        }
    }

    fn parse_includes(&mut self, key: &Key, node: &Node, problems: &mut Vec<Diagnostic>) {
        let Yaml::Seq(items) = &node.value else {
            problems.push(
                Diagnostic::error(
                    "wrong-type",
                    node.span,
                    format!("`include` is {}", node.value.kind()),
                )
                .help("write a list of points: `include: [{ dtype: f64, n: 3 }]`"),
            );
            return;
        };
        for item in items {
            let Yaml::Map(pairs) = &item.value else {
                problems.push(
                    Diagnostic::error(
                        "wrong-type",
                        item.span,
                        format!("a point of `include` is {}", item.value.kind()),
                    )
                    .help("write a mapping with a value for every variable"),
                );
                continue;
            };
            if self.variables.is_empty() {
                for (name, _) in pairs {
                    match check_identifier(name, "matrix variable") {
                        Ok(()) => self.variables.push(Variable {
                            name: name.name.clone(),
                            span: name.span,
                            values: Vec::new(),
                        }),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
            for (name, _) in pairs {
                if !self.variables.iter().any(|variable| variable.name == name.name) {
                    problems.push(self.reject_unknown(name));
                }
            }
            let mut point = Vec::with_capacity(self.variables.len());
            for variable in &self.variables {
                let Some((_, value)) = pairs.iter().find(|(name, _)| name.name == variable.name) else {
                    problems.push(
                        Diagnostic::error(
                            "missing-key",
                            item.span,
                            format!("`include` without a value for `{}`", variable.name),
                        )
                        .label(variable.span, "the variable")
                        .help("a point of `include` has a value for every variable"),
                    );
                    continue;
                };
                if let Some(setting) = variable.parse_setting(value, problems) {
                    point.push(setting);
                }
            }
            if point.len() == self.variables.len() {
                self.include.push(point);
            }
        }
        if items.is_empty() {
            problems.push(
                Diagnostic::error("empty-matrix", key.span, "`include` without points").help("leave it out"),
            );
        }
    }

    fn parse_excludes(&mut self, node: &Node, problems: &mut Vec<Diagnostic>) {
        let Yaml::Seq(items) = &node.value else {
            problems.push(
                Diagnostic::error(
                    "wrong-type",
                    node.span,
                    format!("`exclude` is {}", node.value.kind()),
                )
                .help("write a list of points or conditions: `exclude: [{ dtype: f16 }, \"n > 16\"]`"),
            );
            return;
        };
        for item in items {
            match &item.value {
                Yaml::Map(pairs) => {
                    let mut point = Vec::new();
                    for (name, value) in pairs {
                        let Some(variable) =
                            self.variables.iter().find(|variable| variable.name == name.name)
                        else {
                            problems.push(self.reject_unknown(name));
                            continue;
                        };
                        if let Some(setting) = variable.parse_setting(value, problems) {
                            if !variable
                                .values
                                .iter()
                                .any(|other| is_same(&other.value, &setting.value))
                            {
                                problems.push(
                                    Diagnostic::error(
                                        "unknown-value",
                                        value.span,
                                        format!("`{}` is never {}", name.name, setting.value),
                                    )
                                    .help("exclude a value that the variable has"),
                                );
                            }
                            point.push((name.name.clone(), setting.value));
                        }
                    }
                    if !point.is_empty() {
                        self.exclude.push(Exclusion::Point(point));
                    }
                }
                Yaml::Str(text) => match ValueTemplate::parse_text(text, item.span, item.text_at) {
                    Ok(when) => self.exclude.push(Exclusion::When(when)),
                    Err(problem) => problems.push(problem),
                },
                other => problems.push(
                    Diagnostic::error(
                        "wrong-type",
                        item.span,
                        format!("an item of `exclude` is {}", other.kind()),
                    )
                    .help("write a mapping of variables to values, or a condition such as `n > 16`"),
                ),
            }
        }
    }

    fn reject_unknown(&self, name: &Key) -> Diagnostic {
        let mut problem = Diagnostic::error(
            "unknown-name",
            name.span,
            format!("unknown matrix variable `{}`", name.name),
        );
        problem.help = suggest_spelling(
            &name.name,
            self.variables.iter().map(|variable| variable.name.as_str()),
        );
        problem
    }

    /// Every name that the matrix binds, with its place.
    pub fn bound(&self) -> impl Iterator<Item = (&str, Span)> {
        self.variables
            .iter()
            .flat_map(|variable| variable.bound().map(move |name| (name, variable.span)))
    }

    /// Its location.
    pub fn span(&self) -> Option<Span> {
        self.span
    }

    /// Whether some points may be left out.
    pub fn has_exclusions(&self) -> bool {
        !self.exclude.is_empty()
    }

    /// How many points there are before `exclude`.
    pub fn len(&self) -> u64 {
        self.product + self.include.len() as u64
    }

    /// The point of a number below [`Self::len`]; the last variable changes fastest. `None` for an excluded point, an
    /// error if a condition of `exclude` can't be evaluated.
    pub fn build_point(&self, number: u64) -> Result<Option<Point>, Diagnostic> {
        let mut settings: Vec<&Setting> = Vec::with_capacity(self.variables.len());
        if number < self.product {
            let mut rest = number;
            for variable in self.variables.iter().rev() {
                let count = variable.values.len().max(1) as u64;
                if let Some(setting) = variable.values.get((rest % count) as usize) {
                    settings.push(setting);
                }
                rest /= count;
            }
            settings.reverse();
        } else if let Some(point) = self.include.get((number - self.product) as usize) {
            settings.extend(point);
        } else {
            return Ok(None);
        }
        let mut point = Point {
            labels: Vec::with_capacity(settings.len()),
            names: Names::default(),
        };
        for (variable, setting) in self.variables.iter().zip(settings) {
            point.labels.push((variable.name.clone(), setting.label.clone()));
            point.names.insert(variable.name.clone(), setting.value.clone());
            for (name, value) in &setting.fields {
                point.names.insert(name.clone(), value.clone());
            }
        }
        // `exclude` does not apply to points that `include` adds: they are there on purpose.
        if number < self.product {
            for exclusion in &self.exclude {
                let excluded = match exclusion {
                    Exclusion::Point(values) => values.iter().all(|(name, value)| {
                        point.names.get(name).is_some_and(|other| is_same(other, value))
                    }),
                    Exclusion::When(condition) => evaluate_condition(condition, &point.names)?,
                };
                if excluded {
                    return Ok(None);
                }
            }
        }
        Ok(Some(point))
    }
}

impl Variable {
    fn bound(&self) -> impl Iterator<Item = &str> {
        let fields = self.values.first().map_or(&[][..], |setting| &setting.fields);
        std::iter::once(self.name.as_str()).chain(fields.iter().map(|(name, _)| name.as_str()))
    }

    /// The setting that a node of `include` or `exclude` means: one of the variable's names, or a value.
    fn parse_setting(&self, node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Setting> {
        if let Yaml::Str(text) = &node.value
            && let Some(named) = self.values.iter().find(|setting| setting.label == *text)
        {
            return Some(Setting {
                span: node.span,
                ..named.clone()
            });
        }
        let value = parse_literal(node, problems)?;
        if self.values.iter().any(|setting| !setting.fields.is_empty()) {
            problems.push(
                Diagnostic::error(
                    "unknown-value",
                    node.span,
                    format!("`{}` is never {value}", self.name),
                )
                .help("use one of the names that the variable's values have"),
            );
            return None;
        }
        let Some(label) = label(&value) else {
            problems.push(reject_label(&self.name, &value, node.span));
            return None;
        };
        Some(Setting {
            label,
            value,
            fields: Vec::new(),
            span: node.span,
        })
    }
}

/// Whether a condition over matrix variables holds.
pub(crate) fn evaluate_condition(condition: &ValueTemplate, names: &Names) -> Result<bool, Diagnostic> {
    match condition.evaluate(names, &mut Storages::new())? {
        Value::Bool(value) => Ok(value),
        other => Err(Diagnostic::error(
            "wrong-type",
            condition.span(),
            format!("a condition that is {other}, of type {}", other.kind()),
        )
        .help("compare something: `dtype == 'bf16'`, `n > 16`, `dtype in ('f16', 'bf16')`")),
    }
}
