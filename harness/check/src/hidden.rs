//! Findings that comments, the configuration or the baseline hide. Each is counted.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use cerith_case::Ignore;

use super::baseline::Baseline;
use super::config::Config;

/// Who hides a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HiddenBy {
    /// A comment in the kernel's file.
    Comment,
    /// The configuration.
    Config,
    /// The baseline.
    Baseline,
}

impl HiddenBy {
    /// Each of them, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Comment, Self::Config, Self::Baseline];
}

impl fmt::Display for HiddenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Comment => "comments",
            Self::Config => "the configuration",
            Self::Baseline => "the baseline",
        })
    }
}

/// A finding that is not reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// Who hides it.
    pub by: HiddenBy,
    /// Its code.
    pub code: String,
    /// Its line: `softmax.py:26`.
    pub place: String,
    /// Why it is hidden.
    pub reason: String,
}

/// A finding, as far as it matters for hiding it.
pub struct Subject<'a> {
    /// The file as reports name it.
    pub file: &'a str,
    /// The file from the configuration's folder, if it is inside.
    pub relative: Option<&'a str>,
    /// The kernel.
    pub kernel: &'a str,
    /// The code of the finding.
    pub code: &'a str,
    /// Its file as reports name it and its line, if known.
    pub line: Option<(&'a str, u32)>,
    /// Its stable id.
    pub id: &'a str,
}

/// Everything that may hide a finding.
#[derive(Default)]
pub struct Filter {
    /// Comments, with the files that they are in.
    comments: Vec<(String, Ignore)>,
    /// The comments that hid something.
    used: RefCell<BTreeSet<usize>>,
}

impl Filter {
    /// The comments of the files of a kernel.
    pub fn new(comments: Vec<(String, Ignore)>) -> Self {
        Self {
            comments,
            used: RefCell::default(),
        }
    }

    /// Who hides a finding, and why. `None` if it is reported.
    pub fn find(&self, subject: &Subject<'_>, config: &Config, baseline: &Baseline) -> Option<Hidden> {
        let (by, reason) = self
            .find_comment(subject)
            .map(|reason| (HiddenBy::Comment, reason))
            .or_else(|| Some((HiddenBy::Config, find_entry(subject, config)?)))
            .or_else(|| Some((HiddenBy::Baseline, baseline.find(subject.id)?)))?;
        let place = subject.line.map_or_else(
            || subject.file.to_owned(),
            |(file, line)| format!("{file}:{line}"),
        );
        Some(Hidden {
            by,
            code: subject.code.to_owned(),
            place,
            reason: reason.to_owned(),
        })
    }

    fn find_comment(&self, subject: &Subject<'_>) -> Option<&str> {
        let (file, line) = subject.line?;
        let hides = |ignore: &Ignore| {
            ignore.lines.contains(&line) && ignore.codes.iter().any(|code| code == subject.code)
        };
        let at = (self.comments.iter()).position(|(of, ignore)| of == file && hides(ignore))?;
        self.used.borrow_mut().insert(at);
        self.comments.get(at).map(|(_, ignore)| ignore.reason.as_str())
    }

    /// The comments that hid nothing, with their files.
    pub fn list_unused(&self) -> Vec<(&str, &Ignore)> {
        let used = self.used.borrow();
        let unused = self
            .comments
            .iter()
            .enumerate()
            .filter(|(at, _)| !used.contains(at));
        unused
            .map(|(_, (file, ignore))| (file.as_str(), ignore))
            .collect()
    }
}

fn find_entry<'c>(subject: &Subject<'_>, config: &'c Config) -> Option<&'c str> {
    let relative = subject.relative?;
    let hides = |kernel: Option<&str>| kernel.is_none_or(|kernel| kernel == subject.kernel);
    let entry = config.ignores.iter().find(|entry| {
        entry.code == subject.code && hides(entry.kernel.as_deref()) && entry.files.is_match(relative)
    })?;
    Some(&entry.reason)
}
