//! A finding's signature: findings with the same signature count as one. See `finding` for the contents of a finding.
//!
//! The signature of a generated case has the first operation that two engines disagree about: the same bytes make the same kernel
//! with every value stored, and the first storage that differs identifies the operation. The signature of a reduced case has all
//! operations that remain, because a reduced kernel has few.

use std::collections::BTreeSet;
use std::path::Path;

use cerith_case::Case;
use cerith_engine::catch_panic;
use cerith_gen::case::{Detail, OPERATORS};
use cerith_tile::DType;
use cerith_tile::rules::Rules;
use cerith_verdict::{Difference, Kind, Panel, Trial, try_case};
use serde::{Deserialize, Serialize};

use crate::case_source::CaseSource;
use crate::recipe::{Recipe, make};

/// The maximum length of a folder's name.
const MAX_LENGTH: usize = 96;

/// Operations in every kernel, which do not identify a finding.
const PLUMBING: [&str; 6] = ["load", "store", "arange", "program_id", "num_programs", "getitem"];

/// Operations on addresses in every kernel, and on the indices in them. They count only if there are no other operations.
const ADDRESSES: [&str; 2] = ["add", "radd"];
const INDICES: [&str; 2] = ["mul", "rmul"];

/// Functions whose last argument is an axis if no keyword names one.
const AXIS_LAST: [&str; 4] = ["expand_dims", "flip", "gather", "cumsum"];

/// The properties that distinguish findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The engine that differs.
    pub engine: String,
    /// The kind of difference.
    pub kind: String,
    /// The first operation that differs, with its dtypes; or the error's message, if nothing was computed.
    pub first: String,
    /// For a reduced case: the operations that remain, with their dtypes.
    pub remaining: Vec<String>,
    /// The axis of that operation, if it names one. For a reduced case: the axis that all remaining operations name.
    pub axis: Option<String>,
    /// The stage of the compiler that is wrong, and its pass, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

impl Signature {
    /// The signature of a difference in a generated case.
    pub fn of_generated(
        trial: &Trial,
        news: &Difference,
        panel: &Panel,
        (recipe, number): (&Recipe, u64),
        folder: &Path,
    ) -> Self {
        let (first, axis) = match news.kind {
            Kind::Memory | Kind::Guard | Kind::Nondeterminism => {
                first_operation(recipe, number, panel, folder)
            }
            _ => describe_error(trial, &news.engine.to_string()),
        };
        Self {
            axis,
            ..Self::new(news, first)
        }
    }

    /// The signature of a difference in any case, from the operations that remain.
    pub fn of_reduced(case: &Case, trial: &Trial, news: &Difference, panel: &Panel) -> Self {
        let remaining = collect_operations(
            case,
            panel,
            trial
                .references
                .first()
                .map_or_else(Rules::default, |one| one.rules),
        );
        let first = match news.kind {
            Kind::Memory | Kind::Guard | Kind::Nondeterminism => remaining.join(" "),
            _ => describe_error(trial, &news.engine.to_string()).0,
        };
        Self {
            remaining,
            axis: only_axis(&case.module.file.text),
            ..Self::new(news, first)
        }
    }

    /// The signature of an engine's result for a rule that is broken on purpose.
    pub fn of_breach(engine: String, kind: &str, rule: &str) -> Self {
        Self {
            engine,
            kind: kind.to_owned(),
            first: rule.to_owned(),
            remaining: Vec::new(),
            axis: None,
            stage: None,
        }
    }

    fn new(news: &Difference, first: String) -> Self {
        Self {
            engine: news.engine.to_string(),
            kind: news.kind.name().to_owned(),
            first,
            remaining: Vec::new(),
            axis: None,
            stage: None,
        }
    }

    /// Whether two reduced findings are equal: they have the same remaining operations, the same wrong stage of the compiler, and
    /// the same message, if any.
    pub fn is_same(&self, other: &Self) -> bool {
        let words = |one: &Self| (one.kind != "memory" && one.kind != "guard").then(|| one.first.clone());
        let kind = |one: &Self| {
            (
                one.engine.clone(),
                one.kind.clone(),
                one.axis.clone(),
                one.stage.clone(),
                words(one),
            )
        };
        !self.remaining.is_empty() && self.remaining == other.remaining && kind(self) == kind(other)
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        let axis = self.axis.as_ref();
        let axis = axis.map_or_else(String::new, |axis| format!("axis{}", axis.replace('-', "minus")));
        let full = build_slug(&format!("{} {} {axis} {}", self.engine, self.kind, self.first));
        if full.len() <= MAX_LENGTH {
            return full;
        }
        // The hash keeps signatures distinct if only the removed part differs.
        let hash = full.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let kept: String = full.chars().take(MAX_LENGTH - 9).collect();
        format!("{}-{:08x}", kept.trim_end_matches('-'), hash >> 32)
    }
}

/// The operations in a case's kernels except loads and stores, with dtypes.
fn collect_operations(case: &Case, panel: &Panel, rules: Rules) -> Vec<String> {
    let Some(reference) = panel.reference() else {
        return Vec::new();
    };
    let mut uses = BTreeSet::new();
    for launch in &case.launches {
        if let Ok(Ok(kernel)) = reference.trace_kernel(launch, rules) {
            uses.extend(kernel.traced.uses.iter().filter_map(|found| {
                let name = match found.name.strip_prefix("tensor.") {
                    // A method is a use of its function too.
                    Some(method) => method.strip_prefix("__")?.strip_suffix("__")?,
                    None => found.name.rsplit('.').next().unwrap_or(&found.name),
                };
                let dtype = found.dtype.map(DType::name);
                let is_dtype = name.parse::<DType>().is_ok();
                (!is_dtype && !PLUMBING.contains(&name)).then(|| (name.to_owned(), dtype))
            }));
        }
    }
    let shows = |(name, dtype): &(String, Option<&str>)| {
        let index = INDICES.contains(&name.as_str()) && *dtype == Some(DType::I32.name());
        !index && !ADDRESSES.contains(&name.as_str())
    };
    if uses.iter().any(shows) {
        uses.retain(shows);
    }
    uses.into_iter()
        .map(|(name, dtype)| dtype.map_or_else(|| name.clone(), |dtype| format!("{name} {dtype}")))
        .collect()
}

/// The operation of the first value that differs, with its operands' dtypes and its axis.
fn first_operation(recipe: &Recipe, number: u64, panel: &Panel, folder: &Path) -> (String, Option<String>) {
    let every = || {
        let made = make(recipe, number, Detail::Every, folder).ok()?;
        let trial = try_case(&made.case, panel).ok()?;
        let differing = |name: &str| {
            trial.verdict.differences.iter().any(|one| {
                one.explained.is_empty()
                    && one
                        .comparison
                        .iter()
                        .flat_map(|comparison| &comparison.first)
                        .any(|element| element.storage == name)
            })
        };
        let lines: Vec<&str> = made.kernel.lines().collect();
        let place = lines
            .iter()
            .position(|line| stored_to(line).is_some_and(&differing))?;
        let name = stored_value(lines.get(place)?)?;
        let expression = lines
            .iter()
            .take(place)
            .rev()
            .find_map(|line| parse_assignment(line, name))?;
        let axis = find_axis(expression).map(str::to_owned);
        Some((describe_operation(expression, |name| dtype_of(&made, name)), axis))
    };
    catch_panic(every)
        .ok()
        .flatten()
        .unwrap_or_else(|| ("somewhere".to_owned(), None))
}

/// The first axis that an expression names.
fn find_axis(expression: &str) -> Option<&str> {
    find_axes(expression).next()
}

/// The axis that all of a text's operations name, if there is exactly one.
fn only_axis(text: &str) -> Option<String> {
    let mut named = find_axes(text);
    let first = named.next()?;
    named.all(|axis| axis == first).then(|| first.to_owned())
}

/// The axes that a text names, by keyword or as the last argument of what takes its operand and an axis.
fn find_axes(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| !(c.is_ascii_digit() || c == '-');
    text.split("tl.").skip(1).filter_map(move |call| {
        let (name, arguments) = call.split_once('(')?;
        let named = ["axis=", "dim="]
            .iter()
            .find_map(|keyword| Some(call.split_once(keyword)?.1));
        let text = match named {
            Some(text) => text,
            None if AXIS_LAST.contains(&name) => arguments.split_once(')')?.0.rsplit_once(", ")?.1,
            None => return None,
        };
        let number = text.get(..text.find(is_end).unwrap_or(text.len()))?;
        (!number.is_empty()).then_some(number)
    })
}

/// The expression that a line assigns to a name, alone or among others.
fn parse_assignment<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (targets, expression) = line.trim().split_once(" = ")?;
    targets
        .split(", ")
        .any(|target| target == name)
        .then_some(expression)
}

/// The dtype of a value that is stored somewhere: that of the storage.
fn dtype_of(made: &CaseSource, name: &str) -> Option<&'static str> {
    let storage = made
        .kernel
        .lines()
        .filter(|line| stored_value(line) == Some(name))
        .find_map(stored_to)?;
    let storages = made.case.storages.iter().map(|(_, storage)| storage.name());
    let at = storages.into_iter().position(|known| known == storage)?;
    made.case.declared.get(at).map(|declared| declared.dtype.name())
}

/// The storage that a line stores to.
fn stored_to(line: &str) -> Option<&str> {
    line.trim().strip_prefix("tl.store(")?.split([' ', ',']).next()
}

/// The name of the value that a line stores.
fn stored_value(line: &str) -> Option<&str> {
    let line = line.trim();
    line.starts_with("tl.store(")
        .then(|| line.strip_suffix(')')?.rsplit(", ").next())?
}

/// Describes an expression: the outermost function of the language in it, or its operators; and the dtypes of the values in it.
fn describe_operation(expression: &str, dtype: impl Fn(&str) -> Option<&'static str>) -> String {
    let function = expression.split("tl.").skip(1).find_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
        rest.get(end..)?.starts_with('(').then(|| rest.get(..end))?
    });
    let mut words = vec![function.map_or_else(|| describe_operators(expression), str::to_owned)];
    let names = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let dtypes: BTreeSet<&str> = names.filter_map(dtype).collect();
    words.extend(dtypes.into_iter().map(str::to_owned));
    words.join(" ")
}

/// The operators of an expression, in words.
fn describe_operators(expression: &str) -> String {
    let found: Vec<&str> = OPERATORS
        .iter()
        .chain(&[(".to(", "to")])
        .filter(|(operator, _)| expression.contains(operator))
        .map(|&(_, word)| word)
        .collect();
    if found.is_empty() {
        "expression".to_owned()
    } else {
        found.join(" ")
    }
}

/// The message of an engine without the parts that depend on the case, and the operation on the line of the message; and its
/// axis.
fn describe_error(trial: &Trial, engine: &str) -> (String, Option<String>) {
    let record = trial
        .other_records
        .iter()
        .find(|record| record.id.to_string() == engine);
    let complaint = record.and_then(|record| record.outcome.complaint());
    let judge = trial
        .references
        .first()
        .and_then(|record| record.outcome.complaint());
    let Some(complaint) = complaint.or(judge) else {
        return ("without words".to_owned(), None);
    };
    let line = complaint.position.as_ref().map(|position| position.text.trim());
    let line = line.filter(|line| line.contains("tl."));
    let axis = line.and_then(find_axis).map(str::to_owned);
    let at = line.map_or_else(String::new, |line| {
        let expression = line.split_once(" = ").map_or(line, |(_, expression)| expression);
        format!(" at {}", describe_operation(expression, |_| None))
    });
    (
        format!("{} {}{at}", complaint.kind, without_paths(&complaint.message)),
        axis,
    )
}

/// The first line of a message, which says what; those below say where. Paths in it are of one run.
fn without_paths(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split(' ').filter(|word| !word.starts_with('/')).collect();
    words.join(" ")
}

/// A name for a folder: lower case, words with dashes between, no numbers of one kernel.
fn build_slug(text: &str) -> String {
    let mut name = String::new();
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '@' || c == '_')) {
        let numbered = word.len() > 1
            && word.ends_with(|c: char| c.is_ascii_digit())
            && !word.contains(['.', '@'])
            && word.parse::<DType>().is_err();
        let of_kernel =
            numbered && (word.contains('_') || word.trim_end_matches(|c: char| c.is_ascii_digit()).len() < 2);
        if word.is_empty() || of_kernel || word.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase().replace('@', "-"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_run_are_no_words() {
        let check = |text: &str, expected: &str| assert_eq!(without_paths(text), expected);
        check(
            "ptxas /tmp/w-1/tmpa1b.ptx, line 3; error\nbelow",
            "ptxas line 3; error",
        );
        check("a / b of one", "a b of one");
        check("", "");
    }

    #[test]
    fn an_operation_is_the_outermost_function_with_the_dtypes_of_its_operands() {
        let dtype = |name: &str| match name {
            "v1" => Some("f16"),
            "v2" => Some("i8"),
            _ => None,
        };
        let check = |text: &str, expected: &str| assert_eq!(describe_operation(text, dtype), expected);
        check("tl.dot(v1.to(tl.float16), v2)", "dot f16 i8");
        check("(v1 + v2)", "add f16 i8");
        check("tl.sum(v7, axis=0).to(tl.int64)", "sum");
        check("(v1 * tl.exp(v1))", "exp f16");
        check("v9", "expression");
    }

    #[test]
    fn an_axis_is_that_of_the_first_operation_that_names_one() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(find_axis(text), expected, "{text}");
        check("tl.sum(v7, axis=1).to(tl.int64)", Some("1"));
        check("tl.reduce(v7, axis=-1, combine_fn=f)", Some("-1"));
        check("tl.sum(v7, axis=None)", None);
        check("tl.gather(v1, v2, 0)", Some("0"));
        check("tl.dot(v1, v2)", None);
        check("(v1 + 1)", None);
        assert_eq!(
            only_axis("tl.sum(a, axis=1)\ntl.sort(b, dim=1)"),
            Some("1".to_owned())
        );
        assert_eq!(only_axis("tl.sum(a, axis=1)\ntl.sort(b, dim=0)"), None);
    }

    #[test]
    fn findings_along_other_axes_have_other_names() {
        let named = |axis: Option<&str>| Signature {
            engine: "interpret@3.9.0".to_owned(),
            kind: "memory".to_owned(),
            first: "sum f32".to_owned(),
            remaining: Vec::new(),
            axis: axis.map(str::to_owned),
            stage: None,
        };
        assert_eq!(named(None).name(), "interpret-3.9.0-memory-sum-f32");
        assert_eq!(named(Some("1")).name(), "interpret-3.9.0-memory-axis1-sum-f32");
        assert_eq!(
            named(Some("-1")).name(),
            "interpret-3.9.0-memory-axisminus1-sum-f32"
        );
    }

    #[test]
    fn values_are_found_where_several_are_assigned() {
        assert_eq!(
            parse_assignment("    v1, v2 = tl.split(v0)", "v2"),
            Some("tl.split(v0)")
        );
        assert_eq!(parse_assignment("    v12 = tl.exp(v0)", "v1"), None);
        assert_eq!(stored_to("    tl.store(o1 + pid, v2)"), Some("o1"));
        assert_eq!(stored_value("    tl.store(o1 + pid, v2)"), Some("v2"));
        assert_eq!(stored_value("    v3 = f(v1, v2)"), None);
    }

    #[test]
    fn a_signature_has_nothing_of_one_kernel() {
        assert_eq!(
            build_slug("interpret@3.9.0 trap TypeError 'k700_f12' has 5 of v19 int32"),
            "interpret-3.9.0-trap-typeerror-has-of-int32"
        );
        assert_eq!(build_slug("a  b"), "a-b");
    }

    #[test]
    fn long_names_differ_where_what_is_cut_off_does() {
        let named = |end: &str| {
            let signature = Signature {
                engine: "interpret@3.9.0".to_owned(),
                kind: "trap".to_owned(),
                first: format!("{} {end}", "word ".repeat(30)),
                remaining: Vec::new(),
                axis: None,
                stage: None,
            };
            signature.name()
        };
        assert!(named("one").len() <= MAX_LENGTH);
        assert_ne!(named("one"), named("other"));
    }
}
