//! `cerith fuzz promote`: turns a finding into a case of the corpus, with expectations for every installed version. A model of
//! the bug must be written by hand.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cerith_case::FoundState;
use cerith_case::print::quote_yaml;
use cerith_engine::EngineId;
use cerith_verdict::{Stopped, try_case};

use super::{page, trophies};
use crate::case_source::KERNEL;
use crate::facts::VersionResult;
use crate::finding::Finding;
use crate::finding_error::FindingError;
use crate::range;
use cerith_runner::corpus::Selected;
use cerith_runner::exit::Exit;
use cerith_runner::host::Host;

/// Options for promoting a finding.
#[derive(Clone, Debug)]
pub struct PromoteOptions {
    /// The finding's folder: `DIR/findings/NAME`.
    pub finding: PathBuf,
    /// The corpus.
    pub cases: Option<PathBuf>,
    /// The case's id.
    pub name: Option<String>,
    /// A sentence about the case.
    pub about: Option<String>,
    /// The reason why the engine is wrong.
    pub why: Option<String>,
    /// The link of the bug at Triton's.
    pub upstream: Option<String>,
    /// The state of the bug at Triton's: `unreported`, `reported` or `fixed`.
    pub state: FoundState,
}

/// The default area of promoted cases.
const AREA: &str = "fuzz";

/// The maximum length of a generated name.
const MAX_LENGTH: usize = 48;

/// Promotes a finding, and returns the exit code.
pub fn promote(options: &PromoteOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    match promote_finding(options, host) {
        Ok(text) => {
            console.print(&text);
            Exit::AsExpected
        }
        Err(error) => {
            console.note(&error.to_string());
            Exit::Wrong
        }
    }
}

fn promote_finding(options: &PromoteOptions, host: Host<'_>) -> Result<String, FindingError> {
    let folder = &options.finding;
    let mut finding = Finding::read(folder)?;
    if finding.facts.range.is_empty() {
        finding = range::update_range(finding, folder, host)?;
    }
    if !finding.facts.range.iter().any(|asked| asked.same) {
        return Err(FindingError::Unseen {
            name: finding.name(),
            folder: folder.clone(),
        });
    }
    let root = Selected::open(options.cases.as_deref(), &[])?.root().to_owned();
    let id = match &options.name {
        Some(name) => name.clone(),
        None => format!("{AREA}/{}", build_name(&finding)),
    };
    let name = check_id(&id)?;
    let files = [root.join(format!("{id}.yaml")), root.join(format!("{id}.py"))];
    if let Some(taken) = files.iter().find(|file| file.exists()) {
        return Err(FindingError::Taken(taken.clone()));
    }
    let yaml = build_case_file(&finding, name, options)?;
    let written = write_files(&files, &[&yaml, finding.kernel()])
        .and_then(|()| check_expected(&root, &id, &finding, host));
    if let Err(error) = written {
        // A case that does not behave as expected is not added.
        for file in &files {
            let _ = cerith_files::remove_file(file);
        }
        return Err(error);
    }
    let page = trophies::write_table(&Selected::open(Some(&root), &[])?)?;
    Ok(format!(
        "{}\n{}\n  as expected with every installed version; {} has its row\n  next: find out who is wrong, \
         write `why`, \
         and review the snapshots (`cargo insta review`)\n",
        files[0].display(),
        files[1].display(),
        page.display()
    ))
}

/// The last part of an id, if it is one that a case can have.
fn check_id(id: &str) -> Result<&str, FindingError> {
    let plain = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    match id.rsplit_once('/') {
        Some((area, name)) if area.split('/').all(plain) && plain(name) => Ok(name),
        _ => Err(FindingError::BadName(id.to_owned())),
    }
}

/// The name of a finding as a case, without its engine, because a case may concern several engines.
fn build_name(finding: &Finding) -> String {
    let (name, engine) = (finding.name(), finding.facts.signature.engine.replace('@', "-"));
    let name = name.strip_prefix(&engine).unwrap_or(&name);
    let mut short = String::new();
    for word in name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        if short.len() + word.len() > MAX_LENGTH {
            break;
        }
        if !short.is_empty() {
            short.push('_');
        }
        short.push_str(word);
    }
    short
}

fn write_files(files: &[PathBuf], texts: &[&str]) -> Result<(), FindingError> {
    for (file, text) in files.iter().zip(texts) {
        file.parent()
            .map_or(Ok(()), cerith_files::create_folders)
            .and_then(|()| cerith_files::write(file, text))
            .map_err(FindingError::write(file))?;
    }
    Ok(())
}

/// The case file: the finding's, with the facts about it.
fn build_case_file(finding: &Finding, name: &str, options: &PromoteOptions) -> Result<String, FindingError> {
    let facts = &finding.facts;
    let about = match &options.about {
        Some(about) => about.clone(),
        None => format!("{}.", page::build_title(&facts.signature, &facts.expected)),
    };
    let upstream = options.upstream.as_deref().unwrap_or("new");
    let mut text = String::new();
    for line in finding.yaml().lines() {
        if line.starts_with("about:") {
            let _ = writeln!(
                text,
                "about: {}\norigin: {}\nfound: {{ by: fuzz, upstream: {}, state: {} }}",
                quote_yaml(&about),
                quote_yaml(&format!("cerith fuzz, {}", facts.origin)),
                quote_yaml(upstream),
                options.state.name()
            );
        } else if line.starts_with("kernel:") {
            let _ = writeln!(text, "{}", line.replacen(KERNEL, &format!("{name}.py"), 1));
        } else if !line.starts_with("origin:") && !line.starts_with("found:") {
            let _ = writeln!(text, "{line}");
        }
    }
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let seen = || {
        let (got, expected) = (first(&facts.got), first(&facts.expected));
        format!("{}: {got}; expected: {expected}", facts.signature.first)
    };
    let why = options.why.clone().unwrap_or_else(seen);
    text.push_str("expect:\n");
    for line in build_expectations(&facts.range, &why)? {
        let _ = writeln!(text, "  - {line}");
    }
    Ok(text)
}

/// The expectations: a line for each distinct result of the versions.
fn build_expectations(range: &[VersionResult], why: &str) -> Result<Vec<String>, FindingError> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut versions = Vec::new();
    for (at, asked) in range.iter().enumerate() {
        let engine: EngineId = asked.engine.parse()?;
        let host = matches!(engine, EngineId::Interpret { host: true, .. });
        let family = if host { "interpret+host" } else { engine.kind() };
        let version = engine.version();
        let version = version.ok_or_else(|| FindingError::NoVersion(engine.clone()))?;
        versions.push(version.to_string());
        let said = asked
            .message
            .as_deref()
            .and_then(|message| message.lines().next())
            .unwrap_or_default();
        let line = match asked.verdict.as_str() {
            "differ" | "nondeterministic" => {
                let outcome = match asked.outcome.as_str() {
                    "finished" => String::new(),
                    other => format!(", outcome: {other}"),
                };
                let why = if asked.same { why } else { said };
                let why = if why.is_empty() {
                    "seen, and not looked into"
                } else {
                    why
                };
                format!(
                    "engine: {family}, versions: VERSIONS, verdict: {}{outcome}, why: {}",
                    asked.verdict,
                    quote_yaml(why)
                )
            }
            "undefined" => format!(
                "engine: reference, versions: VERSIONS, verdict: undefined, outcome: {}, why: by the rules of these versions it has no defined answer",
                asked.reference
            ),
            "agree" if asked.reference != "finished" => format!(
                "engine: reference, versions: VERSIONS, outcome: {}, why: the language of these versions does not have it",
                asked.reference
            ),
            _ => continue,
        };
        match groups.iter_mut().find(|(known, _)| *known == line) {
            Some((_, members)) => members.push(at),
            None => groups.push((line, vec![at])),
        }
    }
    Ok(groups
        .into_iter()
        .map(|(line, members)| {
            format!(
                "{{ {} }}",
                line.replacen("VERSIONS", &quote_yaml(&format_ranges(&members, &versions)), 1)
            )
        })
        .collect())
}

/// The versions at these places as a range: open where it ends with the oldest or newest of all.
fn format_ranges(members: &[usize], versions: &[String]) -> String {
    let version = |at: usize| versions.get(at).map_or("", String::as_str);
    if members.len() == versions.len() && versions.len() > 1 {
        return "*".to_owned();
    }
    let mut parts = Vec::new();
    let mut rest = members;
    while let Some((&from, _)) = rest.split_first() {
        let length = rest
            .iter()
            .enumerate()
            .take_while(|&(nth, &at)| at == from + nth)
            .count();
        let to = from + length - 1;
        parts.push(if versions.len() > 1 && from == 0 {
            format!("<{}", version(to + 1))
        } else if versions.len() > 1 && to + 1 == versions.len() {
            format!(">={}", version(from))
        } else if from == to {
            version(from).to_owned()
        } else {
            format!("{} - {}", version(from), version(to))
        });
        rest = rest.get(length..).unwrap_or_default();
    }
    parts.join(" or ")
}

/// Checks that all engines that were run behave as the case expects.
fn check_expected(root: &Path, id: &str, finding: &Finding, host: Host<'_>) -> Result<(), FindingError> {
    let selected = Selected::open(Some(root), &[id.to_owned()])?;
    let own = |path: &str| path.strip_suffix(".yaml") == Some(id);
    if let Some(problem) = selected.problems().into_iter().find(|problem| {
        problem
            .position
            .as_ref()
            .is_some_and(|position| is_own_file(&position.file, root, own))
    }) {
        return Err(FindingError::Problem(Box::new(problem)));
    }
    let case = range::find_only_case(&selected)?;
    for asked in &finding.facts.range {
        let engine: EngineId = asked.engine.parse()?;
        let panel = range::open_panel(&engine, &selected, host);
        let trial = try_case(&case, &panel).map_err(|Stopped| FindingError::Interrupted)?;
        if !trial.assessment.expected {
            return Err(FindingError::OtherRange {
                engine,
                name: finding.name(),
            });
        }
    }
    Ok(())
}

fn is_own_file(file: &str, root: &Path, own: impl Fn(&str) -> bool) -> bool {
    Path::new(file)
        .strip_prefix(root)
        .is_ok_and(|path| own(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_open_where_they_reach_an_end() {
        let versions: Vec<String> = ["3.0.0", "3.1.0", "3.2.0", "3.3.1"].map(str::to_owned).into();
        let check =
            |members: &[usize], expected: &str| assert_eq!(format_ranges(members, &versions), expected);
        check(&[0, 1, 2, 3], "*");
        check(&[2, 3], ">=3.2.0");
        check(&[0], "<3.1.0");
        check(&[1, 2], "3.1.0 - 3.2.0");
        check(&[0, 2, 3], "<3.1.0 or >=3.2.0");
        check(&[1], "3.1.0");
        assert_eq!(format_ranges(&[0], &versions[3..]), "3.3.1");
    }

    #[test]
    fn versions_that_do_the_same_share_an_expectation() {
        let asked = |engine: &str, same, verdict: &str, outcome: &str, reference: &str| VersionResult {
            engine: engine.to_owned(),
            same,
            verdict: verdict.to_owned(),
            outcome: outcome.to_owned(),
            reference: reference.to_owned(),
            message: None,
        };
        let range = [
            asked("interpret@3.0.0", false, "agree", "rejected", "rejected"),
            asked("interpret@3.1.0", false, "agree", "finished", "finished"),
            asked("interpret@3.8.0", true, "differ", "finished", "finished"),
            asked("interpret@3.9.0", true, "differ", "finished", "finished"),
        ];
        assert_eq!(
            build_expectations(&range, "lost").expect("engines"),
            [
                "{ engine: reference, versions: \"<3.1.0\", outcome: rejected, why: the language of these versions does not have it }",
                "{ engine: interpret, versions: \">=3.8.0\", verdict: differ, why: lost }",
            ]
        );
    }

    #[test]
    fn an_id_is_an_area_and_a_name() {
        assert_eq!(check_id("fuzz/sum_i8").ok(), Some("sum_i8"));
        for bad in ["sum", "../x/y", "a//b", "a/b.py", "/a/b"] {
            assert!(check_id(bad).is_err(), "{bad}");
        }
    }
}
