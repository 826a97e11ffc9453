//! A difference that no known bug explains: what it is called, so that it is kept once, and the folder that it is kept in. Left out:
//! making it smaller.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use conch_engine::guarded;
use conch_gen::case::Detail;
use conch_report::event::Event;
use conch_report::{Human, Palette, describe};
use conch_verdict::{Kind, Panel, Trial, try_case};

use super::made::{CASE, KERNEL, Made, Recipe, make};

/// What is known of a finding.
pub struct Finding {
    /// What it is called: findings of one name are taken for one.
    pub signature: String,
    kernel: String,
    yaml: String,
    shown: String,
}

/// The finding in a trial, if something in it is news.
pub fn find(
    made: &Made,
    trial: &Trial,
    panel: &Panel,
    recipe: &Recipe,
    number: u64,
    folder: &Path,
) -> Option<Finding> {
    let news = trial
        .verdict
        .differences
        .iter()
        .find(|one| one.explained.is_empty() && one.told.is_none())?;
    let kind = format!("{:?}", news.kind);
    let what = match news.kind {
        Kind::Memory | Kind::Guard => first_operation(recipe, number, panel, folder),
        _ => words(trial, &news.engine.to_string()),
    };
    let event = describe::trial(&made.case, trial, panel, made.corpus.sources());
    let mut human = Human::new(Palette { colour: false });
    human.verbose = true;
    Some(Finding {
        signature: slug(&format!("{} {kind} {what}", news.engine)),
        kernel: made.kernel.clone(),
        yaml: made.yaml.clone(),
        shown: human.event(&Event::Verdict(Box::new(event))),
    })
}

/// The operation that makes the first value to differ, and the value's dtype: the same kernel is run with every value stored.
fn first_operation(recipe: &Recipe, number: u64, panel: &Panel, folder: &Path) -> String {
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
        let (place, _) = lines
            .iter()
            .enumerate()
            .find(|(_, line)| stored_to(line).is_some_and(&differing))?;
        let name = stored_value(lines.get(place)?)?;
        let made_by = lines
            .iter()
            .take(place)
            .rev()
            .find_map(|line| line.trim().strip_prefix(&format!("{name} = ")))?;
        Some(operation(made_by))
    };
    guarded(every)
        .ok()
        .flatten()
        .unwrap_or_else(|| "somewhere".to_owned())
}

/// The storage that a line stores to.
fn stored_to(line: &str) -> Option<&str> {
    line.trim().strip_prefix("tl.store(")?.split([' ', ',']).next()
}

/// The name of the value that a line stores.
fn stored_value(line: &str) -> Option<&str> {
    line.trim().strip_suffix(')')?.rsplit(", ").next()
}

/// What an expression does: the outermost function of the language in it, or its first one.
fn operation(expression: &str) -> String {
    let function = expression.split("tl.").skip(1).find_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
        rest.get(end..)?.starts_with('(').then(|| rest.get(..end))?
    });
    let dtype = expression
        .rsplit(".to(tl.")
        .next()
        .filter(|_| expression.contains(".to(tl."))
        .and_then(|rest| rest.split(')').next());
    let name = function.unwrap_or("arithmetic");
    dtype.map_or_else(|| name.to_owned(), |dtype| format!("{name} {dtype}"))
}

/// What an engine said, without what differs from case to case.
fn words(trial: &Trial, engine: &str) -> String {
    let record = trial.others.iter().find(|record| record.id.to_string() == engine);
    let complaint = record.and_then(|record| record.outcome.complaint());
    let judge = trial
        .references
        .first()
        .and_then(|record| record.outcome.complaint());
    let Some(complaint) = complaint.or(judge) else {
        return "without words".to_owned();
    };
    format!("{} {}", complaint.kind, complaint.message)
}

/// A name for a folder: lower case, words with dashes between, no numbers of one kernel.
fn slug(text: &str) -> String {
    let mut name = String::new();
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '@')) {
        let own =
            word.len() > 1 && word.ends_with(|c: char| c.is_ascii_digit()) && !word.contains(['.', '@']);
        let is_dtype = ["int", "float", "fp", "bf"]
            .iter()
            .any(|known| word.starts_with(known));
        if word.is_empty() || own && !is_dtype || word.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase().replace('@', "-"));
        if name.len() > 90 {
            break;
        }
    }
    name
}

impl Finding {
    /// Keeps it in a folder of its own: the case, its kernel, and a page that says what was seen.
    pub fn keep(&self, findings: &Path, seed: u64, number: u64) -> io::Result<()> {
        let folder = findings.join(&self.signature);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(KERNEL), &self.kernel)?;
        fs::write(folder.join(CASE), &self.yaml)?;
        fs::write(folder.join("report.md"), self.page(findings, seed, number))
    }

    fn page(&self, findings: &Path, seed: u64, number: u64) -> String {
        let mut page = format!("# {}\n\nCase {number} of seed {seed}.\n\n", self.signature);
        let _ = writeln!(page, "## What differs\n\n```\n{}\n```\n", self.shown.trim_end());
        let _ = writeln!(
            page,
            "## The kernel\n\n```python\n{}\n```\n",
            self.kernel.trim_end()
        );
        let _ = writeln!(page, "## The launch\n\n```yaml\n{}\n```\n", self.yaml.trim_end());
        let _ = writeln!(
            page,
            "## Again\n\n    conch explain --cases {} {}/case",
            findings.display(),
            self.signature
        );
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_the_outermost_function_and_the_last_dtype() {
        let check = |text: &str, expected: &str| assert_eq!(operation(text), expected);
        check("tl.dot(v1.to(tl.float16), v2)", "dot float16");
        check("(v1 + v2)", "arithmetic");
        check("tl.sum(v7, axis=0).to(tl.int64)", "sum int64");
        check("(v1 * tl.exp(v2))", "exp");
        check("(v1.to(tl.bfloat16) - v2)", "arithmetic bfloat16");
    }

    #[test]
    fn a_signature_has_nothing_of_one_kernel() {
        assert_eq!(
            slug("interpret@3.9.0 trap TypeError 'k700_f12' has 5 of v19 int32"),
            "interpret-3.9.0-trap-typeerror-has-of-int32"
        );
        assert_eq!(slug("a  b"), "a-b");
    }
}
