//! `cerith bisect`: finds the first version that gets a case wrong, or right, by halving the range. See `cerith matrix` for
//! several cases at once, and `cerith bump` for other changes between versions.

mod commits;

use std::fmt;
use std::path::PathBuf;

use cerith_case::{Case, Shard};
use cerith_engine::{EngineId, Reference, catch_panic};
use cerith_report::correctness::Correctness;
use cerith_report::describe;
use cerith_report::event::Problem;
use cerith_tile::releases::triton_since;
use cerith_tile::rules::Version;
use cerith_toolchain::{BadId, ToolchainId};
use cerith_verdict::{Stopped, try_case};

use self::commits::{CommitError, Commits};
use crate::corpus::{CorpusError, Selected};
use crate::engines::set_up;
use crate::exit::Exit;
use crate::host::Host;
use crate::options::TritonPart;

/// Options of a bisection.
#[derive(Clone, Debug)]
pub struct BisectOptions {
    /// The case's id, or a filter that selects one case.
    pub case: String,
    /// The first version to try; with --git, the first commit.
    pub from: Option<String>,
    /// The last version to try; with --git, the last commit.
    pub to: Option<String>,
    /// The part of Triton to test.
    pub engine: TritonPart,
    /// Search the releases of NumPy, with this Triton.
    pub numpy: Option<ToolchainId>,
    /// A checkout of Triton's source, whose commits are built.
    pub git: Option<PathBuf>,
    /// The shell command that builds and installs the checked-out commit; it runs in that folder.
    pub build: Option<String>,
    /// The Python into which the command installs Triton.
    pub python: Option<PathBuf>,
    /// The folder of case files, as in `cerith run`.
    pub cases: Option<PathBuf>,
    /// Do not install toolchains; leave out the releases that are not installed.
    pub offline: bool,
}

/// The reason why there is nothing to search.
#[derive(Debug, thiserror::Error)]
enum BisectError {
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error(transparent)]
    Commits(#[from] CommitError),
    #[error("error: there is no such case")]
    NoCase,
    #[error("{}", .0.rendered)]
    Unmatched(Box<Problem>),
    #[error(
        "error: `{filter}` selects several cases\n  = help: name one: `{first}`; `cerith list '{filter}'` shows all"
    )]
    SeveralCases { filter: String, first: String },
    #[error("error: the case file of `{0}` has errors; `cerith run` shows them")]
    BrokenCase(String),
    #[error("error: {}", .0.problem)]
    Version(#[from] BadId),
    #[error(
        "error: there are fewer than two releases from {from} to {to}\n  = help: name the older one first: `cerith bisect CASE \
         3.2.0 {newest}`",
        newest = Version::NEWEST
    )]
    FewReleases { from: Version, to: Version },
    #[error("internal error: {0}")]
    Internal(String),
    #[error("interrupted")]
    Interrupted,
}

/// Releases of NumPy that Triton's interpreter was run with: the last patch of each minor. Source: `pip index versions numpy`.
const NUMPYS: [&str; 6] = ["1.26.4", "2.0.2", "2.1.3", "2.2.6", "2.3.5", "2.4.4"];

/// Searches, and returns the exit code.
pub fn bisect(options: &BisectOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    match run_bisection(options, host) {
        Ok(exit) => exit,
        Err(error) => {
            console.note(&error.to_string());
            if host.is_stopped() {
                Exit::Interrupted
            } else {
                Exit::Wrong
            }
        }
    }
}

fn run_bisection(options: &BisectOptions, host: Host<'_>) -> Result<Exit, BisectError> {
    let selected = Selected::open(options.cases.as_deref(), std::slice::from_ref(&options.case))?;
    let mut entries = selected.entries(Shard::ALL);
    let entry = match (entries.next(), entries.next()) {
        (Some(entry), None) => entry,
        (None, _) => {
            let unmatched = selected.unmatched().into_iter().next();
            return Err(unmatched.map_or(BisectError::NoCase, |problem| {
                BisectError::Unmatched(Box::new(problem))
            }));
        }
        (Some(first), Some(_)) => {
            return Err(BisectError::SeveralCases {
                filter: options.case.clone(),
                first: first.id,
            });
        }
    };
    let case = entry
        .resolve()
        .map_err(|_| BisectError::BrokenCase(entry.id.clone()))?;
    drop(entries);
    let asked = BisectQuery {
        case: &case,
        selected: &selected,
        offline: options.offline,
        host,
    };
    let engine = |toolchain: ToolchainId| options.engine.to_engine_id(&toolchain);
    if let (Some(folder), Some(build), Some(python), Some(from), Some(to)) = (
        &options.git,
        &options.build,
        &options.python,
        &options.from,
        &options.to,
    ) {
        let commits = Commits::from_range(folder, from, to, build, python)?;
        let names = commits.names();
        let found = search(&names, host, |place| {
            let toolchain = match commits.build_commit(place, host) {
                Ok(toolchain) => toolchain,
                // One that does not build is passed over.
                Err(error) => return Ok(Stand::Silent(error.to_string())),
            };
            let stand = asked.judge_engine(&engine(toolchain.clone()));
            commits::forget(&toolchain);
            stand
        });
        commits.restore(host);
        return Ok(print_result(found?, &names, &case.id, host));
    }
    let toolchains: Vec<ToolchainId> = match &options.numpy {
        Some(triton) => NUMPYS
            .iter()
            .filter_map(|numpy| format!("{}+numpy{numpy}", triton.triton()).parse().ok())
            .collect(),
        None => select_releases(options)?
            .into_iter()
            .map(ToolchainId::from_triton)
            .collect(),
    };
    let names: Vec<String> = toolchains
        .iter()
        .map(|id| engine(id.clone()).to_string())
        .collect();
    let found = search(&names, host, |place| {
        toolchains.get(place).map_or_else(
            || Ok(Stand::Silent(String::new())),
            |id| asked.judge_engine(&engine(id.clone())),
        )
    })?;
    Ok(print_result(found, &names, &case.id, host))
}

/// The releases that the options select.
fn select_releases(options: &BisectOptions) -> Result<Vec<Version>, BisectError> {
    let read = |text: &Option<String>, otherwise: Version| match text {
        None => Ok(otherwise),
        Some(text) => text.parse::<ToolchainId>().map(|id| id.triton()),
    };
    let (from, to) = (
        read(&options.from, Version::new(3, 0, 0))?,
        read(&options.to, Version::NEWEST)?,
    );
    let between: Vec<Version> = triton_since(from.max(Version::new(3, 0, 0)))
        .iter()
        .copied()
        .filter(|&version| version <= to)
        .collect();
    if between.len() < 2 {
        return Err(BisectError::FewReleases { from, to });
    }
    Ok(between)
}

/// The result of a version for the case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Right.
    Right,
    /// Wrong, with the difference in words.
    Wrong(String),
    /// It has no outcome, for this reason.
    Silent(String),
}

impl Stand {
    const fn is_wrong(&self) -> bool {
        matches!(self, Self::Wrong(_))
    }
}

impl fmt::Display for Stand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::Wrong(how) => write!(f, "wrong: {how}"),
            Self::Silent(why) => write!(f, "no outcome: {why}"),
        }
    }
}

/// The query to run with every version.
struct BisectQuery<'a> {
    case: &'a Case,
    selected: &'a Selected,
    offline: bool,
    host: Host<'a>,
}

impl BisectQuery<'_> {
    /// Judges the case with an engine.
    fn judge_engine(&self, engine: &EngineId) -> Result<Stand, BisectError> {
        let wanted = [EngineId::Reference, engine.clone()];
        let setup = set_up(
            Reference::default(),
            &wanted,
            self.offline,
            1,
            self.selected,
            self.host,
        );
        if let Some(failed) = setup.failed.first() {
            return Ok(Stand::Silent(failed.why.clone()));
        }
        let trial = catch_panic(|| try_case(self.case, &setup.panel))
            .map_err(BisectError::Internal)?
            .map_err(|Stopped| BisectError::Interrupted)?;
        let verdict = describe::to_verdict(self.case, &trial, &setup.panel, self.selected.corpus.sources());
        Ok(match Correctness::from_verdict(&verdict, &engine.to_string()) {
            Some(Correctness::Right { .. }) => Stand::Right,
            Some(Correctness::Wrong(wrong)) if !wrong.known_bugs.is_empty() => {
                Stand::Wrong(wrong.known_bugs.join(", "))
            }
            Some(Correctness::Wrong(wrong)) if !wrong.message.is_empty() => Stand::Wrong(wrong.message),
            Some(Correctness::Wrong(wrong)) => {
                Stand::Wrong(format!("{} ({} elements)", wrong.kind, wrong.elements))
            }
            Some(Correctness::Undefined) => Stand::Silent("the program has no defined answer".to_owned()),
            Some(Correctness::Silent { reason: why, .. }) => Stand::Silent(why),
            None => Stand::Silent("it was not run".to_owned()),
        })
    }
}

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub enum BisectResult {
    /// The first version whose result differs from all before it, with both results. Versions between it and the last tested
    /// version before it have no outcome.
    First {
        /// The index of the last version before it.
        before: usize,
        /// Its index.
        index: usize,
        /// The result of the versions before it.
        old: Stand,
        /// Its result.
        new: Stand,
    },
    /// Both ends have the same result.
    Alike(Stand),
    /// An end has no outcome.
    Silent(usize, String),
}

/// Finds the first version whose result differs. Tests both ends, and then the middle of the remaining range. A version without
/// an outcome is replaced by its neighbours.
fn search(
    names: &[String],
    host: Host<'_>,
    mut ask: impl FnMut(usize) -> Result<Stand, BisectError>,
) -> Result<BisectResult, BisectError> {
    let mut tried = |place: usize| -> Result<Stand, BisectError> {
        if host.is_stopped() {
            return Err(BisectError::Interrupted);
        }
        let stand = ask(place)?;
        let name = names.get(place).map_or("", String::as_str);
        host.console.print(&format!("  {name}  {stand}\n"));
        Ok(stand)
    };
    let last = names.len().saturating_sub(1);
    let (mut low, mut high) = (0, last);
    let (old, mut new) = (tried(0)?, tried(last)?);
    for (place, end) in [(0, &old), (last, &new)] {
        if let Stand::Silent(why) = end {
            return Ok(BisectResult::Silent(place, why.clone()));
        }
    }
    if old.is_wrong() == new.is_wrong() {
        return Ok(BisectResult::Alike(old));
    }
    let mut open: Vec<usize> = (1..last).collect();
    while let Some(&place) = open
        .iter()
        .min_by_key(|place| place.abs_diff(low + (high - low) / 2))
    {
        open.retain(|&other| other != place);
        let stand = tried(place)?;
        if matches!(stand, Stand::Silent(_)) {
            continue;
        }
        if stand.is_wrong() == new.is_wrong() {
            (high, new) = (place, stand);
        } else {
            low = place;
        }
        open.retain(|other| (low + 1..high).contains(other));
    }
    Ok(BisectResult::First {
        before: low,
        index: high,
        old,
        new,
    })
}

fn print_result(found: BisectResult, names: &[String], case: &str, host: Host<'_>) -> Exit {
    let name = |place: usize| names.get(place).map_or("", String::as_str);
    let (text, exit) = match found {
        BisectResult::First {
            before,
            index: at,
            old,
            new,
        } => {
            let what = match (&new, &old) {
                (Stand::Wrong(how), _) => format!("the first that gets {case} wrong: {how}"),
                (_, Stand::Wrong(how)) => {
                    format!("the first that gets {case} right; up to {}: {how}", name(before))
                }
                _ => String::new(),
            };
            let between = match at - before {
                0 | 1 => String::new(),
                steps => format!("; {} between it and {} have no outcome", steps - 1, name(before)),
            };
            (format!("{} is {what}{between}\n", name(at)), Exit::AsExpected)
        }
        BisectResult::Alike(stand) => (
            format!(
                "{} and {} produce the same result in {case}: {stand}; there is nothing to find between them\n",
                name(0),
                name(names.len().saturating_sub(1))
            ),
            Exit::Unexpected,
        ),
        BisectResult::Silent(place, why) => (
            format!("{} has no outcome for {case}: {why}\n", name(place)),
            Exit::Nothing,
        ),
    };
    host.console.print(&text);
    if host.is_stopped() {
        Exit::Interrupted
    } else {
        exit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interrupt, SilentConsole};

    /// `.` is right, `X` wrong, `?` has no outcome. Checks the result, and the number of versions tested.
    fn check(versions: &str, expected: &str, most: usize) {
        let names: Vec<String> = (0..versions.len()).map(|n| n.to_string()).collect();
        let mut asked = 0;
        let host = Host {
            console: &SilentConsole,
            interrupt: &Interrupt::new(),
        };
        let found = search(&names, host, |place| {
            asked += 1;
            Ok(match versions.as_bytes()[place] {
                b'.' => Stand::Right,
                b'X' => Stand::Wrong("x".to_owned()),
                _ => Stand::Silent("?".to_owned()),
            })
        });
        let shown = match found.expect("not interrupted") {
            BisectResult::First {
                before, index: at, ..
            } => format!("{before}..{at}"),
            BisectResult::Alike(stand) => format!("alike {stand}"),
            BisectResult::Silent(place, _) => format!("silent {place}"),
        };
        assert_eq!(shown, expected, "{versions}");
        assert!(asked <= most, "{versions}: {asked} asked");
    }

    #[test]
    fn the_first_that_stands_otherwise_is_found_in_log_steps() {
        check("XX.", "1..2", 3);
        check("..........X", "9..10", 6);
        check(".XXXXXXXXXX", "0..1", 6);
        check("XXXXXXX....", "6..7", 6);
        check("..", "alike right", 2);
        check("XXXX", "alike wrong: x", 2);
    }

    #[test]
    fn one_that_says_nothing_is_passed_over() {
        check("..?XX", "1..3", 5);
        check("?.X", "silent 0", 2);
        check(".???X", "0..4", 5);
        check(".?X?X", "0..2", 5);
    }
}
