//! Cases that break one rule on purpose: the reference must report the breach, and no engine may crash. See
//! `cerith_gen::case::breach` for the rules, and `cerith_laws::broken` for the check of the reference's report.
//!
//! An interpreter that crashes on a program without a defined answer is not a finding, because that program may reach any memory.
//! An interpreter that crashes on an illegal program is a finding. So is a compiler that crashes on either, or accepts an illegal
//! one.

use std::path::Path;

use cerith_engine::{EngineId, Outcome, catch_panic};
use cerith_gen::case::breach::{Broken, Foretold};
use cerith_laws::broken::{check_foretold, is_whole};
use cerith_laws::case::run;
use cerith_tile::rules::{Rules, Version};
use cerith_verdict::{EngineRun, Panel, try_case};

use crate::case_source::{CaseSource, KERNEL};
use crate::finding::Finding;
use crate::fuzz_result::{FuzzResult, KeptResult};
use crate::recipe::Recipe;
use crate::signature::Signature;

/// Makes a case that breaks a rule and holds every engine to it; nothing where the run was stopped.
pub fn attempt(recipe: &Recipe, number: u64, panel: &Panel, folder: &Path) -> Option<FuzzResult> {
    let tried = catch_panic(|| match recipe.generate_broken(number, recipe.choose(number)?) {
        Ok(broken) => judge_broken(&broken, (recipe.seed, number), panel, folder),
        Err(error) => Some(FuzzResult::Failed(format!("generate case {number}: {error}"))),
    });
    tried.unwrap_or_else(|panic| Some(FuzzResult::Failed(panic)))
}

fn judge_broken(
    broken: &Broken,
    (seed, number): (u64, u64),
    panel: &Panel,
    folder: &Path,
) -> Option<FuzzResult> {
    let (kernel, yaml) = (broken.case.module(), broken.case.case_file(KERNEL));
    let made = match CaseSource::read(&format!("k{number}"), &kernel, &yaml, folder) {
        Ok(made) => made,
        Err(why) => {
            return Some(FuzzResult::Failed(format!(
                "case {number} of seed {seed} cannot be read: {why}"
            )));
        }
    };
    let reference = panel.reference().map(AsRef::as_ref)?;
    let rules = Rules::from_version(Version::NEWEST);
    let name = broken.breach.name;
    let missed = match run(reference, &made.case, rules) {
        Err(fault) => return Some(FuzzResult::Failed(fault.to_string())),
        Ok(outcome) => check_foretold(broken.breach.foretold, &outcome).err(),
    };
    let verdict = match (&missed, broken.breach.foretold) {
        (None, Foretold::Rejected) => "rejected as foretold",
        (None, _) => "undefined as foretold",
        (Some(_), _) if is_whole(broken, reference, rules) == Ok(false) => "not whole without it",
        (Some(_), _) => "not noticed",
    };
    let trial = try_case(&made.case, panel).ok()?;
    if let Some(failed) = trial.failed.first() {
        return Some(FuzzResult::Failed(format!(
            "{}: {}",
            failed.engine, failed.message
        )));
    }
    let is_foretold_illegal = broken.breach.foretold == Foretold::Rejected && missed.is_none();
    // An older version may accept a program that the newest rejects, so the reference uses that version's rules.
    let is_illegal = |record: &EngineRun| {
        let references = || trial.references.iter();
        let same = references().find(|one| one.rules == record.rules);
        let by_its_rules = same.or(references().next());
        is_foretold_illegal && by_its_rules.is_some_and(|one| matches!(one.outcome, Outcome::Rejected(_)))
    };
    let unnoticed = verdict == "not noticed";
    let died = trial
        .other_records
        .iter()
        .find_map(|record| Some((record, classify_fault(record, is_illegal(record))?)));
    let finding = match died {
        Some((record, kind)) => Some((&record.id, kind, record.outcome.complaint())),
        None if unnoticed => {
            let first = trial.references.first();
            let said = first.and_then(|record| record.outcome.complaint());
            Some((&EngineId::Reference, "unnoticed", said))
        }
        None => None,
    };
    let kept_result = finding.map(|(engine, kind, said)| {
        let expected = format!("{:?}, because of {name}", broken.breach.foretold);
        let said = said.map_or_else(String::new, |complaint| {
            complaint
                .detail
                .clone()
                .unwrap_or_else(|| complaint.message.clone())
        });
        let got = missed
            .as_ref()
            .map_or_else(String::new, |fault| format!("{fault}\n"))
            + &said;
        let signature = Signature::of_breach(engine.to_string(), kind, name);
        let origin = format!("case {number} of seed {seed}, broken");
        let said = (expected, got, origin);
        let finding = Finding::of_breach(&made, &trial, panel, engine, signature, said);
        KeptResult::Finding(Box::new(finding))
    });
    Some(FuzzResult::Judged {
        verdict: verdict.to_owned(),
        explained: Vec::new(),
        kept_result,
    })
}

/// Classifies forbidden behaviour of an engine with a case that breaks a rule.
fn classify_fault(record: &EngineRun, is_illegal: bool) -> Option<&'static str> {
    let compiles = matches!(
        record.id,
        EngineId::Cuda { .. } | EngineId::Ptx { .. } | EngineId::Jit { .. }
    );
    match &record.outcome {
        Outcome::Crashed(_) if compiles || is_illegal => Some("crash"),
        Outcome::Finished(_) if compiles && is_illegal => Some("taken"),
        // Without a GPU, the engine reports that compiled code was not executed.
        Outcome::Unavailable(complaint) if is_illegal && complaint.is_compiled => Some("taken"),
        _ => None,
    }
}
