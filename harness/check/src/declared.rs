//! Chooses the arguments of launches so that they keep a kernel's declared preconditions.

use std::collections::BTreeSet;

use cerith_case::Requirement;
use cerith_engine::catch_panic;
use cerith_survey::{Draft, Reading, Survey};

use super::subject::Subject;

/// Sizes to try in a precondition.
const SIZES: [i64; 9] = [64, 128, 16, 32, 256, 1, 2, 4, 8];

/// The most preconditions that are met one after the other.
const MAX_ROUNDS: usize = 8;

/// The most times that a tensor's dimensions are doubled.
const MAX_DOUBLINGS: u32 = 6;

/// Finds what a plain launch passes to keep as many declared preconditions as possible. Without any, it is the usual reading.
pub fn find_reading(subject: &Subject, draft: &Draft) -> Reading {
    let mut reading = Reading::ALL[0].clone();
    let all: Vec<&Requirement> = subject.list_requirements(draft.kernel()).collect();
    if all.is_empty() {
        return reading;
    }
    let mut kept = count(subject, draft, std::slice::from_ref(&reading))
        .pop()
        .unwrap_or_default();
    for _ in 0..MAX_ROUNDS {
        if kept == all.len() || subject.is_late() {
            break;
        }
        let candidates = list_candidates(&all, &reading);
        let counts = count(subject, draft, &candidates);
        // The first of the best.
        let best = counts.iter().copied().max().unwrap_or_default();
        let better = counts.iter().position(|&count| count == best && count > kept);
        let Some(candidate) = better.and_then(|nth| candidates.get(nth)) else {
            break;
        };
        reading = candidate.clone();
        kept = best;
    }
    reading
}

/// Readings that differ from this one in a parameter of a precondition.
fn list_candidates(all: &[&Requirement], reading: &Reading) -> Vec<Reading> {
    let mut candidates = vec![Reading {
        even: true,
        ..reading.clone()
    }];
    for requirement in all {
        let numbers = requirement.numbers();
        let near = numbers.iter().flat_map(|&number| {
            [
                number,
                number.saturating_mul(2),
                number.saturating_add(1),
                number.saturating_sub(1),
            ]
        });
        let mut values: Vec<String> = Vec::new();
        for number in near.filter(|number| *number >= 0).chain(SIZES) {
            let text = number.to_string();
            if !values.contains(&text) {
                values.push(text);
            }
        }
        values.extend(["true", "false", "null"].map(str::to_owned));
        for name in requirement.parameters() {
            // Strides follow from the layouts of tensors.
            if !name.contains("stride") {
                candidates.extend(values.iter().map(|value| {
                    let mut one = reading.clone();
                    one.values.insert(name.clone(), value.clone());
                    one
                }));
            }
            candidates.extend((1..=MAX_DOUBLINGS).map(|doublings| {
                let mut one = reading.clone();
                one.rooms.insert(name.clone(), doublings);
                one
            }));
        }
    }
    candidates
}

/// How many preconditions the plain launch of each reading keeps.
fn count(subject: &Subject, draft: &Draft, readings: &[Reading]) -> Vec<usize> {
    let id = |nth: usize| format!("declared-{nth:03}");
    let attempts = readings.iter().enumerate().map(|(nth, reading)| {
        let attempt = draft.attempt(reading);
        (id(nth), attempt.map_or_else(String::new, |attempt| attempt.text))
    });
    let corpus = subject.build_corpus(attempts);
    let kept = |nth: usize| {
        let entry = corpus.entries().find(|entry| entry.id == id(nth))?;
        let case = catch_panic(|| entry.resolve()).ok()?.ok()?;
        Some(subject.count_kept(draft.kernel(), &case))
    };
    (0..readings.len())
        .map(|nth| kept(nth).unwrap_or_default())
        .collect()
}

/// Removes choices from a survey's guesses that follow from declared preconditions.
pub fn forget_choices(subject: &Subject, base: &Reading, survey: &mut Survey) {
    let names: BTreeSet<String> = subject
        .list_requirements(&survey.kernel)
        .flat_map(Requirement::parameters)
        .collect();
    survey.guessed.retain(|name| !names.contains(name));
    let words = base.words();
    survey.changed.retain(|word| !words.contains(word));
    let declared = |block: &str| {
        let mut all = subject.list_requirements(&survey.kernel);
        all.any(|requirement| requirement.is_divisible_by(block))
    };
    if survey
        .unmasked
        .as_ref()
        .is_some_and(|unmasked| declared(&unmasked.block))
    {
        survey.unmasked = None;
    }
}
