//! Whether a finding is the kernel's mistake, or may come from an inferred argument.

use cerith_report::event::OutcomeKind;
use cerith_survey::{Change, Survey, is_of_callers};

use super::finding::Finding;
use super::report::KernelFinding;
use super::subject::{INDUCTOR, format_case_id};

/// Findings that a tensor of another size does not avoid.
pub(crate) const SIZELESS: [(OutcomeKind, &str); 5] = [
    (OutcomeKind::Trapped, "race"),
    (OutcomeKind::Trapped, "conflicting-lanes"),
    (OutcomeKind::Trapped, "unordered-read"),
    (OutcomeKind::Trapped, "unordered-write"),
    (OutcomeKind::Finished, "undefined-value"),
];

/// Warnings that are mistakes if the kernel's own launcher passes the arguments.
pub(crate) const BROKEN_BY_HOSTS: [(OutcomeKind, &str); 4] = [
    (OutcomeKind::Finished, "false-promise"),
    (OutcomeKind::Finished, "never-written"),
    (OutcomeKind::Finished, "outside-tensor"),
    (OutcomeKind::Finished, "uncovered-size"),
];

/// Rejections that do not depend on arguments.
pub(crate) const DEFINITE: [(OutcomeKind, &str); 2] = [
    (OutcomeKind::Rejected, "unknown-attribute"),
    (OutcomeKind::Rejected, "undefined-name"),
];

/// The code of a rejection of a global variable. Its module may not be installed.
pub(crate) const UNREADABLE_GLOBAL: &str = "non-constexpr-global";

/// Whether an assumed input may be the reason for a finding: the plain launch does not show it, and most others don't either.
pub(crate) fn is_of_assumption(finding: &Finding, survey: &Survey) -> bool {
    let shows = |nth: usize| finding.is_of(&format_case_id(survey, nth));
    let count = (0..survey.attempts.len()).filter(|nth| shows(*nth)).count();
    !survey.assumed.is_empty() && !shows(0) && count * 4 < survey.attempts.len()
}

/// The launches of a kernel without a finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherLaunches {
    /// How many showed nothing at all.
    pub passed: usize,
    /// How many finished without this finding.
    pub finished: usize,
}

/// Whether a finding is the kernel's mistake. If only empty tensors show a
/// finding, it is not a mistake, because kernels are not launched on them. A kernel may support only some flags and sizes, so a
/// compile error with others is not a mistake. A kernel that compiles with none of the tried arguments is a mistake.
pub(crate) fn is_wrong(finding: &Finding, survey: &Survey, launches: &[&str], others: OtherLaunches) -> bool {
    let OtherLaunches { passed, finished } = others;
    if finding.is_of_launcher() {
        return finding.is_independent;
    }
    let is_all = |change: Change| list_changes(finding, survey).all(|one| one == change);
    // Callers may pass distinct indices only.
    if is_all(Change::EmptySize) || is_all(Change::EqualIndices) {
        return false;
    }
    if survey.host.is_some() && list_changes(finding, survey).all(Change::is_of_layout) {
        return false;
    }
    // Other inputs may have to have as many dimensions.
    if !survey.assumed.is_empty() && is_all(Change::InputRank) {
        return false;
    }
    let is_measured = survey.is_of_measured(&finding.key.code, &finding.summary.storages);
    let is_known = survey.assumed.iter().all(|one| is_of_callers(one));
    let is_assumed = !survey.assumed.is_empty()
        && (is_all(Change::InputSize) || !is_known && list_changes(finding, survey).all(Change::is_of_shape));
    // Callers may have to pass equal sizes or layouts for two inputs, even if the launcher does not relate them.
    let mut changes = list_changes(finding, survey);
    let is_of_inputs =
        changes.all(|change| change.is_of_layout() || matches!(change, Change::InputSize | Change::Flag));
    let is_rare = survey.host.is_some() && launches.len() * 4 < launches.len() + finished && is_of_inputs;
    if !is_measured && (is_assumed || is_rare || is_of_assumption(finding, survey)) {
        return false;
    }
    match finding.outcome {
        Some(OutcomeKind::Trapped) => {
            is_certain(finding, survey)
                && finding.key.code != "descriptor-demand"
                // The divisor may be the quotient of two sizes, and each size is chosen alone.
                && finding.key.code != "division-by-zero"
                // The autotuner's hook may write the tensor first, and the launches have no hook.
                && (survey.omitted.is_empty() || finding.key.code != "uninitialised-read")
                // A combine function may need what the other kernel guarantees, such as counts that are not negative.
                && (!survey.is_after_others || finding.key.code != "combine-order")
        }
        Some(OutcomeKind::Rejected) => {
            // Flags may exclude each other, and the text does not show which flag belongs to which dtype.
            let flags = survey
                .attempts
                .iter()
                .filter(|tried| tried.change == Change::Flag);
            if launches.len() == survey.attempts.len() {
                let is_searched = survey.is_searched && is_free_of_guesses(finding, survey);
                return is_searched || is_definite(finding, survey);
            }
            // Other rejections may come from a dtype that the name of an input suggests.
            let is_of_types = finding.key.code.ends_with("type-mismatch");
            if survey.host.is_some() && is_of_types && is_rejected_by_host(survey, launches, passed) {
                return true;
            }
            // A launcher that could not be evaluated may decide the dtypes.
            passed > 0
                && (survey.host.is_some() || !survey.is_launched)
                && survey.changed.is_empty()
                && flags.count() < 2
                && is_of_types
                && !is_in_standin(finding)
                && is_all(Change::Dtype)
        }
        Some(_) => false,
        None => passed > 0 && !finding.key.engine.is_empty(),
    }
}

/// Whether a rejection depends on no argument. A name that is bound under a condition may be defined with other numbers.
fn is_definite(finding: &Finding, survey: &Survey) -> bool {
    let is_bound = || {
        let name = finding.summary.misspelling.as_ref().map(|one| &one.name);
        name.is_some_and(|name| survey.bound.contains(name))
    };
    finding.key.is_one_of(&DEFINITE) && (is_free_of_guesses(finding, survey) || !is_bound())
}

/// Whether a compiler rejects a kernel with the arguments that its launcher passes, for every float dtype of the inputs. A few
/// launches may compile or fail differently, because blocks of some sizes broadcast.
fn is_rejected_by_host(survey: &Survey, launches: &[&str], passed: usize) -> bool {
    let mut other_floats = survey
        .attempts
        .iter()
        .filter(|tried| matches!(tried.variant.as_str(), "float16" | "bfloat16"));
    passed * 4 <= survey.attempts.len()
        && launches.len() * 2 > survey.attempts.len()
        && launches.contains(&"")
        && other_floats.all(|tried| launches.contains(&tried.variant.as_str()))
}

/// Whether a failure is in a helper that replaces one of `TorchInductor`. Kernels of `TorchInductor` state their dtypes elsewhere.
fn is_in_standin(finding: &Finding) -> bool {
    let position = finding.summary.position.as_ref();
    position.is_some_and(|position| is_in_inductor(&position.file))
}

/// Whether a file replaces one of `TorchInductor`.
pub(crate) fn is_in_inductor(file: &str) -> bool {
    INDUCTOR.iter().any(|path| file.ends_with(path))
}

/// Whether a failure depends on arguments that are guessed, or on the size or layout of a tensor that the text does not show.
pub(crate) fn is_conditional(one: &KernelFinding<'_>, survey: &Survey) -> bool {
    let code = one.finding.key.code.as_str();
    let is_excused = |change: Change| matches!(change, Change::EmptySize | Change::Flag);
    !one.wrong
        && one.finding.outcome == Some(OutcomeKind::Trapped)
        && code != "descriptor-demand"
        && code != "division-by-zero"
        && !list_changes(one.finding, survey).all(is_excused)
}

/// Whether a launcher's only tensor has sizes that the kernel does not take: nothing is assumed, and no relation of two inputs can be
/// missing.
pub(crate) fn is_of_sizes(finding: &Finding, survey: &Survey) -> bool {
    survey.is_of_one_tensor
        && survey.assumed.is_empty()
        && is_certain(finding, survey)
        && list_changes(finding, survey).all(|change| matches!(change, Change::InputSize | Change::EmptySize))
}

/// The guess that a failure depends on.
pub(crate) fn describe_guess(finding: &Finding, survey: &Survey) -> String {
    if list_changes(finding, survey).all(|change| change == Change::EqualIndices) {
        return match list_placing(finding, survey).as_slice() {
            [] => "the indices that it loads are distinct".to_owned(),
            names => format!("the indices in `{}` are distinct", names.join("`, `")),
        };
    }
    if !survey.guessed.is_empty() {
        let names = survey.guessed.join("`, `");
        let verb = if survey.guessed.len() == 1 {
            "has another value"
        } else {
            "have other values"
        };
        return format!("`{names}` {verb}");
    }
    let is_open = |storage: &&String| !survey.certain.contains(*storage);
    match finding.summary.storages.iter().find(is_open) {
        Some(storage) if finding.key.code == "out-of-bounds" => describe_elements(storage, survey),
        Some(storage) => format!("`{storage}` has another layout"),
        None => "other arguments are passed".to_owned(),
    }
}

/// The condition that a storage has the elements that a kernel accesses. Values in other tensors may place an access after its end.
pub(crate) fn describe_elements(storage: &str, survey: &Survey) -> String {
    let more = format!("`{storage}` has more elements than its other accesses tell");
    let placing = survey.placed_by.get(storage).into_iter().flatten();
    let placing: Vec<&str> = placing.map(String::as_str).collect();
    if placing.is_empty() {
        more
    } else {
        format!(
            "{more}, or the values in `{}` are indices of it",
            placing.join("`, `")
        )
    }
}

/// The tensors whose values place the accesses that a finding is about.
fn list_placing<'s>(finding: &Finding, survey: &'s Survey) -> Vec<&'s str> {
    let storages = finding.summary.storages.iter();
    let placing = storages.filter_map(|storage| survey.placed_by.get(storage));
    let mut names: Vec<&str> = placing.flatten().map(String::as_str).collect();
    names.dedup();
    names
}

/// Whether no guess can be the reason for a finding. A guessed number, or a flag that promises something, may not fit the sizes.
pub(crate) fn is_certain(finding: &Finding, survey: &Survey) -> bool {
    let known = if finding.key.is_one_of(&SIZELESS) {
        &survey.distinct
    } else {
        &survey.certain
    };
    let certain = |storage: &String| known.contains(storage);
    is_free_of_guesses(finding, survey)
        && finding.summary.storages.iter().all(certain)
        && !list_changes(finding, survey).all(|change| change == Change::Flag)
}

/// Whether no guessed argument can be the reason for a finding.
pub(crate) fn is_free_of_guesses(finding: &Finding, survey: &Survey) -> bool {
    finding.is_independent || survey.guessed.is_empty() && survey.changed.is_empty()
}

/// The changes of the launches that show a finding.
pub(crate) fn list_changes(finding: &Finding, survey: &Survey) -> impl Iterator<Item = Change> {
    let attempts = survey.attempts.iter().enumerate();
    let shown = attempts.filter(|&(nth, _)| finding.is_of(&format_case_id(survey, nth)));
    shown.map(|(_, attempt)| attempt.change)
}
