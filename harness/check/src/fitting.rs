//! Finds a launch to judge a kernel by.
//!
//! The honest launch passes the arguments that the kernel's text implies. If the kernel does not compile with it, or does not
//! finish, the search tries other dtypes, flags and numbers: these are guesses, and the kernel's own mistakes do not depend on
//! them. A launch with which a kernel traps is still honest. Only then does [`find_passing`] look for arguments with which it
//! passes, and their common properties are a precondition of the kernel, not an excuse.
//!
//! The search changes one thing at a time, and keeps a change if the kernel gets further with it. See [`cerith_survey::Draft`] for the
//! changes that there are.

use std::collections::BTreeSet;
use std::rc::Rc;

use cerith_case::{Case, Corpus};
use cerith_engine::{Complaint, Engine, Outcome, Reference, Trap, catch_panic};
use cerith_memory::ByteState;
use cerith_python::NONE_TYPE;
use cerith_survey::{
    Attempt, Change, Draft, ELEMENTS_OF, InputChoice, Reading, RejectedLaunches, Survey, is_of_callers,
};
use cerith_tile::rules::{Rules, Version};

use super::covered::{self, Uncovered};
use super::declared;
use super::subject::{MAX_DENSE, Subject};

/// Steps of a launch that is only to see how far it gets.
const FUEL: u64 = 1 << 23;

/// The name of a case file that is alone.
const PLAIN: &str = "plain";

/// Steps of a launch that is used, or is as small as it gets. Sizes are those of few blocks: a launch that takes longer waits for something
/// that never comes.
pub(crate) const FUEL_OF_USED: u64 = 1 << 25;

/// The most launches of a search.
const MAX_TRIALS: usize = 400;

/// Launches that are read at once.
const CHUNK: usize = 12;

/// The versions to read a kernel by, if the newest rejects it: the last releases that accept what later ones removed.
const OLDER: [Version; 4] = [
    Version::new(3, 8, 0),
    Version::new(3, 6, 0),
    Version::new(3, 3, 1),
    Version::new(3, 1, 0),
];

/// How well a kernel takes what is passed to it, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// It does not compile.
    Rejected,
    /// It takes too long, or an engine cannot run it.
    Unfinished,
    /// It does what is not defined.
    Trapped,
    /// It finishes, and stores nothing.
    Idle,
    /// It finishes.
    Finished,
}

/// How far a launch gets.
#[derive(Clone, Debug)]
struct Fit {
    stage: Stage,
    /// The last line of the kernel that the failure is about.
    line: u32,
    /// The names that the failure is about: those in the lines that it shows, and storages.
    names: BTreeSet<String>,
    /// Whether the language lacks something that the kernel names.
    is_missing: bool,
    /// Whether programs store different values to the same bytes.
    is_race: bool,
    /// The message and the location of the failure.
    failure: String,
}

impl Fit {
    const fn order(&self) -> (Stage, u32) {
        (self.stage, self.line)
    }

    fn new_failed() -> Self {
        Self {
            stage: Stage::Rejected,
            line: 0,
            names: BTreeSet::new(),
            is_missing: false,
            is_race: false,
            failure: "it is not a valid case".to_owned(),
        }
    }

    /// Whether the kernel may be judged by such a launch.
    const fn is_honest(&self) -> bool {
        matches!(self.stage, Stage::Trapped | Stage::Finished)
    }
}

/// Tries launches of one kernel.
pub(super) struct Fitter<'a> {
    subject: &'a Subject,
    draft: &'a Draft,
    pub(super) reference: Rc<Reference>,
    fuel: u64,
    pub(super) rules: Rules,
    trials: usize,
}

/// The honest launches of a kernel.
pub fn find_honest(subject: &Subject, draft: &Draft) -> Survey {
    match find_launched(subject, draft) {
        Ok(survey) => survey,
        Err(unused) => {
            let mut survey = find_without_launcher(subject, draft);
            if survey.host.is_none() {
                survey.unused_launchers = draft.list_unused_launchers(&unused.to_string());
                if matches!(unused, UnusedLaunches::Rejected(_)) {
                    survey.rejected = list_rejected(draft);
                }
            }
            survey
        }
    }
}

/// The launches by functions of the kernel's file, with other inputs if the kernel fails with the usual ones. Fails with the reason
/// against the usual ones.
fn find_launched(subject: &Subject, draft: &Draft) -> Result<Survey, UnusedLaunches> {
    let first = match find_hosted(subject, draft, FUEL) {
        Ok(survey) => return Ok(drop_broken_sequences(subject, draft, survey)),
        Err(why) => why,
    };
    let mut choice = InputChoice::default();
    let mut next = first.choose_inputs(choice);
    while next != choice && !subject.is_late() {
        choice = next;
        let fuel = if choice.is_small { FUEL_OF_USED } else { FUEL };
        match find_hosted(subject, &draft.choose_inputs(choice), fuel) {
            Ok(survey) => return Ok(drop_broken_sequences(subject, draft, survey)),
            Err(why) => next = why.choose_inputs(choice),
        }
    }
    Err(first)
}

/// Drops the launches after others if these fail: they are judged with their own kernels.
fn drop_broken_sequences(subject: &Subject, draft: &Draft, mut survey: Survey) -> Survey {
    let fitter = Fitter::new(subject, draft, survey.version);
    survey
        .attempts
        .retain(|attempt| attempt.change != Change::Sequence || fitter.is_sequence(&attempt.text));
    survey
}

/// Why the launches of a kernel's launcher are not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum UnusedLaunches {
    #[error("no launch was evaluated")]
    NotEvaluated,
    #[error("the plain launch is not finished: {0}")]
    Unfinished(String),
    #[error("the kernel does not compile with its launches: {0}")]
    Rejected(String),
    #[error("the kernel fails with assumed values of {}: {failure}", .assumed.join(", "))]
    Unfit {
        assumed: Vec<String>,
        stage: Stage,
        is_race: bool,
        failure: String,
    },
    #[error("with assumed values of {}, parts of an output are not written", .0.join(", "))]
    Unwritten(Vec<String>),
}

impl UnusedLaunches {
    /// Inputs with which the launches may be usable.
    fn choose_inputs(&self, choice: InputChoice) -> InputChoice {
        match self {
            Self::NotEvaluated => choice,
            // An optional input that is missing: the error names the type of `None`.
            Self::Rejected(failure) | Self::Unfit { failure, .. } if failure.contains(NONE_TYPE) => {
                InputChoice {
                    is_complete: true,
                    ..choice
                }
            }
            Self::Unfinished(_) => InputChoice {
                is_small: true,
                is_tiny: choice.is_small,
                ..choice
            },
            Self::Rejected(_)
            | Self::Unfit {
                stage: Stage::Rejected,
                ..
            } => InputChoice {
                is_half: true,
                ..choice
            },
            Self::Unfit { is_race: true, .. } if choice.is_uniform => InputChoice {
                is_scattered: true,
                ..choice
            },
            Self::Unfit { .. } | Self::Unwritten(_) => InputChoice {
                is_uniform: true,
                ..choice
            },
        }
    }
}

/// The known launches of a kernel's launcher, all of which are rejected.
fn list_rejected(draft: &Draft) -> Option<RejectedLaunches> {
    let hosted = draft.host_survey()?;
    Some(RejectedLaunches {
        host: hosted.host?,
        attempts: hosted.attempts,
    })
}

fn find_without_launcher(subject: &Subject, draft: &Draft) -> Survey {
    let base = declared::find_reading(subject, draft);
    let mut survey = find_drafted(subject, draft, &base);
    declared::forget_choices(subject, &base, &mut survey);
    let fitter = Fitter::with_fuel(subject, draft, survey.version, FUEL);
    let rate = |tried: &Attempt| fitter.rate(fitter.try_text(&tried.text));
    if !survey
        .attempts
        .first()
        .is_some_and(|plain| rate(plain).is_honest())
        && let Some(hosted) = draft.host_survey()
        && hosted
            .attempts
            .iter()
            .all(|tried| rate(tried).stage == Stage::Rejected)
    {
        // No arguments compile, and those of the launcher are not guessed.
        return Survey {
            is_searched: true,
            version: survey.version,
            ..hosted
        };
    }
    survey
}

/// Compiles a kernel with its plain launch. Fails with the error, if there is a launch.
pub fn compile(subject: &Subject, draft: &Draft) -> Result<(), Option<Box<Complaint>>> {
    let survey = find_honest(subject, draft);
    let fitter = Fitter::new(subject, draft, survey.version);
    let plain = survey.attempts.first().ok_or(None)?;
    match fitter.try_text(&plain.text) {
        Some((_, Outcome::Rejected(complaint))) => Err(Some(complaint)),
        Some(_) => Ok(()),
        None => Err(None),
    }
}

/// The honest launches of a kernel that no function of its file launches. `base` keeps its declared preconditions.
fn find_drafted(subject: &Subject, draft: &Draft, base: &Reading) -> Survey {
    let plain = draft.survey(base);
    if plain.attempts.is_empty() {
        return plain;
    }
    let mut fitter = Fitter::with_fuel(subject, draft, None, FUEL);
    let (mut fit, mut reading) = fitter.choose(base);
    if fit.is_honest() {
        return draft.survey(&reading);
    }
    let mut version = None;
    if fit.stage == Stage::Rejected {
        for older in OLDER {
            let mut by_older = Fitter::with_fuel(subject, draft, Some(older), FUEL);
            let (one, chosen) = by_older.choose(base);
            if one.is_honest() {
                return Survey {
                    version: Some(older),
                    ..draft.survey(&chosen)
                };
            }
            // A version that rejects a later line accepts more of the language, unless it lacks a later function.
            if one.order() > fit.order() && !one.is_missing {
                (fit, reading, version, fitter) = (one, chosen, Some(older), by_older);
            }
        }
    }
    let (found, other) = fitter.search(fit.clone(), reading.clone(), Fit::is_honest);
    let stage = found.stage;
    let mut survey = draft.survey(if stage > fit.stage { &other } else { &reading });
    survey.is_searched = stage == Stage::Rejected;
    survey.version = version;
    survey
}

/// The launches by functions of the kernel's file, if the kernel compiles with one of them.
fn find_hosted(subject: &Subject, draft: &Draft, fuel: u64) -> Result<Survey, UnusedLaunches> {
    let Some(survey) = draft.host_survey() else {
        return find_assumed(subject, draft, fuel);
    };
    find_version(|version| {
        let fitter = Fitter::with_fuel(subject, draft, version, fuel);
        let rate = |tried: &Attempt| fitter.rate(fitter.try_text(&tried.text));
        let (plain, others) = survey
            .attempts
            .split_first()
            .ok_or(Unfound::Final(UnusedLaunches::NotEvaluated))?;
        let plain = rate(plain);
        // A launch that is too large shows nothing, and neither do its variants.
        if plain.stage == Stage::Unfinished {
            return Err(Unfound::Final(UnusedLaunches::Unfinished(plain.failure)));
        }
        let hosted = Survey {
            version,
            ..survey.clone()
        };
        if plain.is_honest()
            || others.iter().any(|other| rate(other).is_honest())
            || is_shortage(subject, draft, (&plain, &hosted))
        {
            return Ok(hosted);
        }
        Err(Unfound::InVersion(
            plain.order(),
            UnusedLaunches::Rejected(plain.failure),
        ))
    })
}

/// Finds the first launch of a kernel's launcher with too few programs.
pub fn find_uncovered(subject: &Subject, draft: &Draft, survey: &Survey) -> Option<Uncovered> {
    let fitter = Fitter::new(subject, draft, survey.version);
    covered::find_uncovered(draft, survey, (&fitter.reference, fitter.rules), |text| {
        fitter.resolve(text)
    })
}

/// Whether a launch stores nothing because its grid is too small: that is the launcher's mistake.
fn is_shortage(subject: &Subject, draft: &Draft, (plain, survey): (&Fit, &Survey)) -> bool {
    plain.stage == Stage::Idle && find_uncovered(subject, draft, survey).is_some()
}

/// Why a version of the language has no launches.
enum Unfound {
    /// Another version may have some. How far the kernel got in this one, and why no further.
    InVersion((Stage, u32), UnusedLaunches),
    /// No other version has any.
    Final(UnusedLaunches),
}

/// The launches by the first version of the language that has some, the newest first. Fails with the reason of the version in which the
/// kernel got the furthest.
fn find_version(
    mut find: impl FnMut(Option<Version>) -> Result<Survey, Unfound>,
) -> Result<Survey, UnusedLaunches> {
    let mut furthest: Option<((Stage, u32), UnusedLaunches)> = None;
    for version in std::iter::once(None).chain(OLDER.into_iter().map(Some)) {
        match find(version) {
            Ok(found) => return Ok(found),
            Err(Unfound::Final(why)) => return Err(why),
            Err(Unfound::InVersion(order, why)) => {
                if furthest.as_ref().is_none_or(|(known, _)| order > *known) {
                    furthest = Some((order, why));
                }
            }
        }
    }
    Err(furthest.map_or(UnusedLaunches::NotEvaluated, |(_, why)| why))
}

/// The launches by functions of the kernel's file with inputs that nothing decides, if the kernel finishes with the plain one and with
/// most others: then these inputs fit.
fn find_assumed(subject: &Subject, draft: &Draft, fuel: u64) -> Result<Survey, UnusedLaunches> {
    let all = draft.assumed_survey().ok_or(UnusedLaunches::NotEvaluated)?;
    find_version(|version| {
        let fitter = Fitter::with_fuel(subject, draft, version, fuel);
        let rate = |tried: &Attempt| fitter.rate(fitter.try_text(&tried.text));
        let is_finished = |tried: &Attempt| rate(tried).stage == Stage::Finished;
        let alone = all
            .attempts
            .iter()
            .filter(|tried| tried.change != Change::Sequence);
        let alone: Vec<Attempt> = alone.cloned().collect();
        let survey = Survey {
            attempts: drop_unfit(&alone, is_finished),
            ..all.clone()
        };
        let (first, others) = survey
            .attempts
            .split_first()
            .ok_or(Unfound::Final(UnusedLaunches::NotEvaluated))?;
        let run = fitter.try_text(&first.text);
        let is_at_fault = matches!(
            &run,
            Some((_, Outcome::Trapped(_, complaint)))
                if survey.is_of_measured(&complaint.kind, &complaint.storages)
                    || survey.is_of_segments(&complaint.kind, &complaint.storages)
        );
        let plain = fitter.rate(run);
        if plain.stage == Stage::Unfinished {
            return Err(Unfound::Final(UnusedLaunches::Unfinished(plain.failure)));
        }
        let order = plain.order();
        let is_race = plain.is_race;
        let unfit = |failure: String| {
            let why = UnusedLaunches::Unfit {
                assumed: survey.assumed.clone(),
                stage: order.0,
                is_race,
                failure,
            };
            Err(Unfound::InVersion(order, why))
        };
        let hosted = Survey {
            version,
            ..survey.clone()
        };
        if is_at_fault || is_shortage(subject, draft, (&plain, &hosted)) {
            return Ok(hosted);
        }
        if plain.stage != Stage::Finished {
            return unfit(plain.failure);
        }
        if others.iter().filter(|tried| is_finished(tried)).count() * 2 < others.len() {
            return unfit("more than half of the variants of the plain launch fail".to_owned());
        }
        // Sizes that a caller makes equal leave a part of an output out if they are not.
        let plain = || Survey {
            version,
            attempts: vec![first.clone()],
            ..survey.clone()
        };
        if !survey.assumed.iter().all(|one| is_of_callers(one))
            && !find_unwritten(subject, draft, &plain()).is_empty()
        {
            return Err(Unfound::InVersion(
                order,
                UnusedLaunches::Unwritten(survey.assumed.clone()),
            ));
        }
        let mut attempts = survey.attempts.clone();
        if has_unknown_elements(&survey) {
            // Other values might pass.
            attempts.retain(is_finished);
        }
        Ok(Survey {
            version,
            attempts,
            ..survey.clone()
        })
    })
}

/// Drops the launches of each launcher but the first whose plain launch does not finish: its assumed inputs do not fit.
fn drop_unfit(attempts: &[Attempt], is_finished: impl Fn(&Attempt) -> bool) -> Vec<Attempt> {
    let mut fits = true;
    let kept = attempts.iter().enumerate().filter(|(nth, tried)| {
        if *nth > 0 && tried.variant.is_empty() {
            fits = is_finished(tried);
        }
        fits
    });
    kept.map(|(_, tried)| tried.clone()).collect()
}

/// Whether the values of a tensor matter, and nothing knows them.
pub(crate) fn has_unknown_elements(survey: &Survey) -> bool {
    survey.assumed.iter().any(|one| one.starts_with(ELEMENTS_OF))
}

/// The launches around a plain one with which a kernel finishes; `None` if none was found. `survey` has its honest launches.
pub fn find_passing(subject: &Subject, draft: &Draft, survey: &Survey) -> Option<Survey> {
    if survey.host.is_some() {
        return None;
    }
    let mut fitter = Fitter::with_fuel(subject, draft, survey.version, FUEL);
    let fit = fitter.fit(std::slice::from_ref(&survey.reading)).pop()?;
    let is_finished = |fit: &Fit| fit.stage == Stage::Finished;
    let (found, reading) = fitter.search(fit, survey.reading.clone(), is_finished);
    is_finished(&found).then(|| Survey {
        version: survey.version,
        ..draft.survey(&reading)
    })
}

/// A part of an output that no program writes.
pub struct Unwritten {
    /// The storage.
    pub storage: String,
    /// How many elements are not written, and how many there are.
    pub elements: (usize, usize),
    /// The first that is not.
    pub first: usize,
    /// The launch.
    pub launch: usize,
}

/// Finds the elements of outputs that a launch does not write, if it finishes: the plain one, and those with other sizes of the kernel's
/// launcher.
pub fn find_unwritten(subject: &Subject, draft: &Draft, survey: &Survey) -> Vec<Unwritten> {
    let fitter = Fitter::new(subject, draft, survey.version);
    let is_hosted = survey.host.is_some();
    let mut found: Vec<Unwritten> = Vec::new();
    for (nth, attempt) in survey.attempts.iter().enumerate() {
        let is_all_known = survey
            .outputs
            .iter()
            .all(|one| found.iter().any(|known| known.storage == *one));
        if is_all_known || nth > 0 && !(is_hosted && attempt.change == Change::InputSize) {
            continue;
        }
        let Some(run) = fitter.run_text(&attempt.text) else {
            continue;
        };
        let (case, Outcome::Finished(finished)) = &*run else {
            continue;
        };
        // A launcher that launches no program leaves everything as it was.
        let is_idle = is_hosted && case.launches.iter().any(|launch| launch.grid.contains(&0));
        let memory = &finished.memory;
        let outputs = case.declared.iter().zip(memory.ids());
        for (declared, id) in outputs {
            let storage = memory.name(id);
            if !survey.outputs.contains(storage) || found.iter().any(|known| known.storage == storage) {
                continue;
            }
            // Most of a sparse storage is never touched.
            if memory.is_sparse(id) {
                continue;
            }
            let elements = memory.states(id).chunks(declared.dtype.size().max(1));
            let is_missing = |element: &[ByteState]| element.contains(&ByteState::Uninit);
            let Some(first) = elements.clone().position(is_missing) else {
                continue;
            };
            let all = elements.len();
            let missing = elements.filter(|element| is_missing(element)).count();
            // A branch that this launch does not take may write it.
            if missing < all || is_idle {
                found.push(Unwritten {
                    storage: storage.to_owned(),
                    elements: (missing, all),
                    first,
                    launch: nth,
                });
            }
        }
    }
    found
}

impl<'a> Fitter<'a> {
    /// Launches by the language of a version; of the newest if there is none.
    pub(super) fn new(subject: &'a Subject, draft: &'a Draft, version: Option<Version>) -> Self {
        Self::with_fuel(subject, draft, version, FUEL_OF_USED)
    }

    fn with_fuel(subject: &'a Subject, draft: &'a Draft, version: Option<Version>, fuel: u64) -> Self {
        Self {
            subject,
            draft,
            reference: subject.find_reference(fuel),
            fuel,
            rules: version.map_or_else(Rules::default, Rules::from_version),
            trials: 0,
        }
    }

    /// Chooses among the readings that are worth a try for any kernel: the first dtype that compiles, with the flags that get the
    /// furthest.
    fn choose(&mut self, base: &Reading) -> (Fit, Reading) {
        let mut best: Option<(Fit, Reading)> = None;
        let all = Reading::ALL.map(|usual| Reading {
            dtype: usual.dtype,
            flags: usual.flags,
            ..base.clone()
        });
        for readings in all.chunks(2) {
            for (fit, reading) in self.fit(readings).into_iter().zip(readings) {
                if best.as_ref().is_none_or(|(known, _)| fit.stage > known.stage) {
                    best = Some((fit, reading.clone()));
                }
            }
            if best.as_ref().is_some_and(|(fit, _)| fit.stage > Stage::Rejected) {
                break;
            }
        }
        best.unwrap_or_else(|| (Fit::new_failed(), base.clone()))
    }

    /// Goes from a reading to better ones until one is good enough, or nothing is left to try.
    fn search(
        &mut self,
        mut fit: Fit,
        mut reading: Reading,
        is_enough: impl Fn(&Fit) -> bool,
    ) -> (Fit, Reading) {
        while !is_enough(&fit) && self.trials < MAX_TRIALS && !self.subject.is_late() {
            let is_rejected = fit.stage == Stage::Rejected;
            let changes = self.draft.list_changes(&reading, &fit.names, is_rejected);
            let mut further = None;
            for some in changes.chunks(CHUNK) {
                let better =
                    (self.fit(some).into_iter().zip(some)).filter(|(one, _)| one.order() > fit.order());
                // The first of the best.
                further = better.reduce(|known, one| {
                    if one.0.order() > known.0.order() {
                        one
                    } else {
                        known
                    }
                });
                if further.is_some() || self.trials >= MAX_TRIALS || self.subject.is_late() {
                    break;
                }
            }
            let Some((one, changed)) = further else { break };
            (fit, reading) = (one, changed.clone());
        }
        (fit, reading)
    }

    /// How far the kernel gets with each of some readings.
    fn fit(&mut self, readings: &[Reading]) -> Vec<Fit> {
        self.trials += readings.len();
        let id = |nth: usize| format!("reading-{nth:02}");
        let attempts = readings.iter().enumerate().map(|(nth, reading)| {
            let attempt = self.draft.attempt(reading);
            (id(nth), attempt.map_or_else(String::new, |attempt| attempt.text))
        });
        let corpus = self.subject.build_corpus(attempts);
        (0..readings.len())
            .map(|nth| self.rate(self.run_case(&corpus, &id(nth))))
            .collect()
    }

    /// Runs a case file. `None` if it has no good case. The last run is kept: several checks begin with the plain launch.
    pub(super) fn run_text(&self, text: &str) -> Option<Rc<(Case, Outcome)>> {
        let key = (text.to_owned(), self.rules.version, self.fuel);
        let mut last_run = self.subject.last_run.borrow_mut();
        if let Some((known, run)) = &*last_run
            && *known == key
        {
            return Some(Rc::clone(run));
        }
        let case = self.resolve(text)?;
        let outcome = self.run(&case)?;
        let run = Rc::new((case, outcome));
        *last_run = Some((key, Rc::clone(&run)));
        Some(run)
    }

    /// Runs a case file of a search, whose memory is not looked at.
    pub(super) fn try_text(&self, text: &str) -> Option<(Case, Outcome)> {
        let case = resolve_sparse(&self.build_corpus(text), PLAIN)?;
        let outcome = self.run(&case)?;
        Some((case, outcome))
    }

    /// Whether the launches of a case file before its last one finish without a remark, and it is the last one that fails, if one does.
    fn is_sequence(&self, text: &str) -> bool {
        let Some(case) = self.resolve(text) else {
            return false;
        };
        let last = case.launches.len().saturating_sub(1);
        let is_judged = match self.run(&case) {
            // Nothing to remark on in any launch.
            Some(Outcome::Finished(finished)) if finished.remark.is_none() => return true,
            Some(Outcome::Finished(_)) => true,
            Some(Outcome::Trapped(_, complaint)) => complaint.launch == Some(last),
            _ => false,
        };
        if !is_judged {
            return false;
        }
        let mut before = case;
        before.launches.truncate(last);
        let is_clean = |outcome| matches!(outcome, Outcome::Finished(finished) if finished.remark.is_none());
        self.run(&before).is_some_and(is_clean)
    }

    /// The case of a case file.
    pub(super) fn resolve(&self, text: &str) -> Option<Case> {
        resolve_case(&self.build_corpus(text), PLAIN)
    }

    fn build_corpus(&self, text: &str) -> Corpus {
        let file = (PLAIN.to_owned(), text.to_owned());
        self.subject.build_corpus(std::iter::once(file))
    }

    pub(super) fn run(&self, case: &Case) -> Option<Outcome> {
        let run = catch_panic(|| self.reference.run(case, self.rules)).ok()?.ok()?;
        Some(run.outcome)
    }

    /// The accesses out of bounds of a case file's launch, as if each ended it.
    pub(super) fn list_out_of_bounds(&self, text: &str) -> Vec<Outcome> {
        let found = self.resolve(text).and_then(|case| {
            let found = catch_panic(|| self.reference.find_out_of_bounds(&case, self.rules));
            found.ok()?.ok()
        });
        let found = found.unwrap_or_default().into_iter();
        found
            .map(|complaint| Outcome::Trapped(Trap::Undefined, Box::new(complaint)))
            .collect()
    }

    fn run_case(&self, corpus: &Corpus, id: &str) -> Option<(Case, Outcome)> {
        let case = resolve_sparse(corpus, id)?;
        let kernel = self.draft.kernel();
        if self.subject.count_kept(kernel, &case) < self.subject.list_requirements(kernel).count() {
            return None;
        }
        let outcome = self.run(&case)?;
        Some((case, outcome))
    }

    /// How far a run gets; nowhere without an outcome.
    fn rate(&self, run: Option<(Case, Outcome)>) -> Fit {
        let failed = |stage, complaint: &Complaint| Fit {
            stage,
            line: self.subject.last_line(self.draft.kernel(), &complaint.lines),
            names: collect_names(complaint),
            is_missing: complaint.kind == "unknown-attribute",
            is_race: complaint.kind == "race",
            failure: describe_failure(complaint),
        };
        let Some((_, outcome)) = run else {
            return Fit::new_failed();
        };
        match outcome {
            Outcome::Finished(finished) => {
                let stores = finished.tracked.is_none_or(|tracked| tracked.stored > 0);
                Fit {
                    stage: if stores { Stage::Finished } else { Stage::Idle },
                    failure: "it stores nothing".to_owned(),
                    ..Fit::new_failed()
                }
            }
            Outcome::Rejected(complaint) => failed(Stage::Rejected, &complaint),
            Outcome::Unsupported(complaint)
            | Outcome::Exhausted(complaint)
            | Outcome::Crashed(complaint)
            | Outcome::Unavailable(complaint) => failed(Stage::Unfinished, &complaint),
            Outcome::Trapped(_, complaint) => failed(Stage::Trapped, &complaint),
        }
    }
}

/// Like [`resolve_case`], with sparse storages if their fills are computed: most launches of a search end early and touch little.
fn resolve_sparse(corpus: &Corpus, id: &str) -> Option<Case> {
    let entry = corpus.entries().find(|entry| entry.id == id)?;
    let sparse = catch_panic(|| entry.resolve_sparse(MAX_DENSE)).ok()?.ok();
    sparse.or_else(|| resolve_case(corpus, id))
}

fn resolve_case(corpus: &Corpus, id: &str) -> Option<Case> {
    let entry = corpus.entries().find(|entry| entry.id == id)?;
    catch_panic(|| entry.resolve()).ok()?.ok()
}

fn describe_failure(complaint: &Complaint) -> String {
    match &complaint.position {
        Some(at) => format!("{} in {}:{}", complaint.message, at.file, at.line),
        None => complaint.message.clone(),
    }
}

/// The names that a failure is about. A storage is named after its parameter.
fn collect_names(complaint: &Complaint) -> BTreeSet<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let lines = complaint.lines.iter();
    let in_lines = lines.flat_map(|lines| lines.text.split(move |c| !is_name(c)));
    let storages = complaint.storages.iter().map(String::as_str);
    let names = in_lines.chain(storages).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}
