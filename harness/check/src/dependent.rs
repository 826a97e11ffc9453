//! Compares the plain launch of a kernel with others on the same data: other layouts, strides and blocks must not change what it leaves.

use cerith_case::{ArgValue, Case};
use cerith_engine::Outcome;
use cerith_memory::Memory;
use cerith_survey::{Attempt, Change, Survey, THE_GRID};

use super::fitting::{Fitter, has_unknown_elements};
use super::relations::{Difference, MAX_RELATED, Related, Relation, build_related, scale_blocks};
use super::strides::list_strided;
use super::subject::Subject;

/// A value that depends on the layout of tensors or on the blocks of a launch.
pub struct Dependent {
    /// The change that must not matter.
    pub relation: Relation,
    /// The difference.
    pub difference: Difference,
    /// The launch, if it is one of the kernel's.
    pub launch: usize,
}

/// Comparisons of the plain launch with others on the same data.
#[derive(Default)]
pub struct Comparison {
    /// How many launches were compared.
    pub launches: usize,
    /// The first difference of each kind.
    pub differences: Vec<Dependent>,
}

/// Compares the plain launch with other clean ones on the same data.
pub fn find_dependent(subject: &Subject, survey: &Survey, is_clean: impl Fn(usize) -> bool) -> Comparison {
    let mut found = Comparison::default();
    let Some(draft) = subject.find_draft(&survey.kernel) else {
        return found;
    };
    let fitter = Fitter::new(subject, draft, survey.version);
    let Some(first) = survey.attempts.first() else {
        return found;
    };
    let Some(run) = fitter.run_text(&first.text) else {
        return found;
    };
    let (plain, Outcome::Finished(finished)) = &*run else {
        return found;
    };
    if finished.tracked.is_some_and(|tracked| tracked.order_dependent) {
        return found;
    }
    // Kernels that take the last stride for 1 are many, and their launchers' callers know it.
    let is_usual = |attempt: &Attempt| survey.host.is_none() || attempt.change != Change::TransposedInput;
    let attempts = survey.attempts.iter().enumerate().skip(1);
    let attempts = attempts.filter(|(nth, attempt)| is_usual(attempt) && is_clean(*nth));
    let layouts = attempts.filter_map(|(nth, attempt)| {
        let case = fitter.resolve(&attempt.text)?;
        Some((
            nth,
            find_relation(&attempt.variant),
            attempt.variant.clone(),
            case,
        ))
    });
    // A number that is guessed may have to follow the blocks.
    let is_guessed = !survey.guessed.is_empty() || !survey.changed.is_empty();
    let rewritten = if survey.host.is_some() || is_guessed {
        Vec::new()
    } else {
        draft.list_block_attempts(&survey.reading)
    };
    let rewritten = rewritten.into_iter().filter_map(|attempt| {
        let case = fitter.resolve(&attempt.text)?;
        Some((0, Relation::Blocks, attempt.variant, case))
    });
    let has_assumed_grid = survey.assumed.iter().any(|one| one == THE_GRID);
    let scaled = match (&survey.host, plain.launches.as_slice()) {
        // A guessed number of programs does not follow the blocks.
        (Some(_), [launch]) if !has_unknown_elements(survey) && !has_assumed_grid => {
            scale_blocks(draft, launch, survey.is_after_others)
        }
        _ => Vec::new(),
    };
    let scaled = scaled.into_iter().map(|(variant, launch)| {
        let launches = vec![launch];
        let case = Case {
            launches,
            ..plain.clone()
        };
        (0, Relation::Blocks, variant, case)
    });
    let comparer = Comparer {
        fitter: &fitter,
        plain: (plain, &finished.memory),
    };
    for (launch, relation, variant, other) in scaled.chain(rewritten).chain(layouts) {
        let is_found = found.differences.iter().any(|known| known.relation == relation);
        if found.launches == MAX_RELATED || is_found {
            continue;
        }
        let Some(related) = build_related(plain, other, relation) else {
            continue;
        };
        match comparer.compare(&related, &variant) {
            Effect::Unknown => continue,
            Effect::Same => {}
            // Programs may leave parts of a result in a buffer, which the launcher sums up.
            Effect::Different(difference)
                if relation == Relation::Blocks && is_buffer(survey, plain, &difference.parameter) => {}
            Effect::Different(difference) => found.differences.push(Dependent {
                relation,
                difference,
                launch,
            }),
        }
        found.launches += 1;
    }
    if survey.host.is_some() && !is_guessed {
        let strided = list_strided(plain, |name| draft.is_unused(name)).into_iter();
        let mut strided = strided.map(|(variant, cases)| comparer.compare_all(plain, cases, &variant));
        let difference = strided.find_map(|(launches, difference)| {
            found.launches += launches;
            difference
        });
        found.differences.extend(difference.map(|difference| Dependent {
            relation: Relation::Strides,
            difference,
            launch: 0,
        }));
    }
    found
}

/// The effect of a change on what a launch leaves.
enum Effect {
    Same,
    Different(Difference),
    /// The launch can't be compared.
    Unknown,
}

/// Compares launches with the plain one.
struct Comparer<'a> {
    fitter: &'a Fitter<'a>,
    plain: (&'a Case, &'a Memory),
}

impl Comparer<'_> {
    fn compare(&self, related: &Related, variant: &str) -> Effect {
        let difference = match self.fitter.run(&related.case) {
            Some(Outcome::Finished(other)) => {
                if other.tracked.is_some_and(|tracked| tracked.order_dependent) {
                    return Effect::Unknown;
                }
                let names = ("the plain launch", variant);
                let launches = (self.plain, &other.memory);
                related.compare(launches, names, &self.fitter.reference, self.fitter.rules)
            }
            // A kernel that uses a stride wrongly leaves its tensor.
            Some(Outcome::Trapped(_, complaint)) if related.relation == Relation::Strides => {
                related.describe_trap(variant, &complaint)
            }
            _ => return Effect::Unknown,
        };
        difference.map_or(Effect::Same, Effect::Different)
    }

    /// The difference that each of some launches makes, with how many were compared. There is none if one launch makes none.
    fn compare_all(&self, plain: &Case, cases: Vec<Case>, variant: &str) -> (usize, Option<Difference>) {
        let count = cases.len();
        let mut first = None;
        for case in cases {
            let related = build_related(plain, case, Relation::Strides);
            let effect = related.map_or(Effect::Unknown, |related| self.compare(&related, variant));
            let Effect::Different(difference) = effect else {
                return (count, None);
            };
            first.get_or_insert(difference);
        }
        (count, first)
    }
}

/// Whether the launcher makes the tensor of a parameter and does not return it.
fn is_buffer(survey: &Survey, case: &Case, parameter: &str) -> bool {
    let arguments = case.launches.iter().flat_map(cerith_case::Launch::arguments);
    let mut storages = arguments.filter_map(|(name, argument)| match &argument.value {
        ArgValue::Tensor { tensor, .. } if name == Some(parameter) => case.storages.get(tensor.storage),
        _ => None,
    });
    storages.any(|storage| survey.buffers.contains(storage.name()))
}

/// The relation of a launch with this difference to the plain one.
fn find_relation(variant: &str) -> Relation {
    if variant.ends_with(" programs") || variant.starts_with("configuration ") {
        Relation::Blocks
    } else {
        Relation::Layout
    }
}
