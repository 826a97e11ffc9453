//! Decides whether to suspect the reference: engines may overrule it, or its own answer may contradict the case file or a record.
//! If engines fail to overrule it only because they share code, the verdict gets a note that names them.
//!
//! See [`crate::trial`] for the rest of a trial.

use cerith_case::VerdictKind;
use cerith_engine::{Complaint, EngineId, Families, Outcome, Trap};
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::quirk::Quirks;

use crate::difference::Comparison;
use crate::failure;
use crate::trial::{Dissenters, Hearing};
use crate::verdict::{Difference, Kind, Standing};
use crate::witness::{Undefined, Witness, count_independent, join_names};

/// The reason to suspect the reference, and the witnesses that differ from it.
type Suspicion<'w> = (String, Vec<(Witness<'w>, Kind, Option<Comparison>)>);

impl<'a> Hearing<'a, '_> {
    /// Finds a reason to suspect the reference, from which the witnesses `rest` differ: a record that used to agree differs now, or
    /// only engines that should differ agree.
    pub(crate) fn find_suspicion(
        &self,
        rest: &Dissenters<'_>,
        offenders: &[&Witness<'_>],
        confirmed: bool,
    ) -> Option<String> {
        let known = &self.bench.engine_facts;
        let rest = || rest.iter().map(|(witness, ..)| witness.id);
        for (then, said) in [
            (&known.agreed, "agreed with"),
            (&known.undecided, "did not differ from"),
        ] {
            let changed: Vec<&EngineId> = rest()
                .filter(|id| then.contains(id) && !known.offenders.contains(id))
                .collect();
            if !changed.is_empty() {
                return Some(format!(
                    "the recorded outcome of {} {said} the reference when it was accepted, but differs now; records do not \
                     change, so the reference or the trial has changed",
                    join_names(changed)
                ));
            }
        }
        let surprising = rest().any(|id| !known.foreseen.contains(id));
        if confirmed || offenders.is_empty() || !surprising {
            return None;
        }
        Some(format!(
            "it is confirmed only by {}, which should differ here: this is evidence against the reference",
            join_names(
                offenders
                    .iter()
                    .map(|witness| witness.id)
                    .filter(|id| known.offenders.contains(id))
            )
        ))
    }

    /// Finds a reason to suspect a reference without a result. The witnesses against it are records that agreed with an earlier
    /// result. If the case file lists engines that differ from the reference, then the reference had a result. If the file expects
    /// exactly this `undefined`, a user has confirmed it, so there is no suspicion.
    pub(crate) fn find_lost_answer(&self, reference: Witness<'_>) -> Option<Suspicion<'a>> {
        let bench = self.bench;
        let known = &bench.engine_facts;
        let says = match reference.outcome {
            Outcome::Trapped(Trap::Undefined, complaint)
            | Outcome::Unsupported(complaint)
            | Outcome::Exhausted(complaint) => complaint.message.as_str(),
            _ => return None,
        };
        if known.undefined == Undefined::Otherwise && matches!(reference.outcome, Outcome::Trapped(..)) {
            let why = format!("it has no result, but the case file expects a message other than \"{says}\"");
            return Some((why, Vec::new()));
        }
        if known.undefined != Undefined::Unforeseen {
            return None;
        }
        let others = bench.other_witnesses.iter();
        let against: Vec<_> = others
            .filter(|witness| known.agreed.contains(witness.id) && !known.offenders.contains(witness.id))
            .map(|witness| (*witness, Kind::Trap, None))
            .collect();
        if against.is_empty() {
            // An engine can only differ from a result.
            return (!known.offenders.is_empty()).then(|| {
                let why = format!(
                    "it has no result now (\"{says}\"), but the case file says that {} differs from its result",
                    join_names(&known.offenders)
                );
                (why, against)
            });
        }
        let why = format!(
            "the record of {} agreed with its result, but it has none now (\"{says}\"); records do not change, so the reference or \
             the trial has changed",
            join_names(against.iter().map(|(witness, ..)| witness.id))
        );
        Some((why, against))
    }

    /// Finds a reason to suspect a reference without any defined value: records in `camp` that agreed with defined values of an
    /// earlier result.
    pub(crate) fn find_empty_answer(&self, camp: &[Witness<'_>]) -> Option<String> {
        let known = &self.bench.engine_facts;
        let agreed = camp.iter().map(|witness| witness.id);
        let agreed: Vec<&EngineId> = agreed.filter(|id| known.agreed.contains(id)).collect();
        (known.undefined == Undefined::Unforeseen && !agreed.is_empty()).then(|| {
            format!(
                "it has no defined values now, but the record of {} agreed with defined values of an earlier result",
                join_names(agreed)
            )
        })
    }

    /// Finds a reason to suspect a reference with a result: the case file expects none. With such an expectation, no engine is
    /// blamed for its results. If all engines agree and there is no record, the program may have changed instead: then only the
    /// expectation is stale.
    pub(crate) fn find_unexpected_answer(&self, reference: Witness<'_>, all_agree: bool) -> Option<String> {
        let doubts = reference.outcome.complaint().is_some_and(Complaint::doubts);
        let foreseen = matches!(
            self.bench.engine_facts.undefined,
            Undefined::Foreseen | Undefined::Otherwise
        );
        let known = &self.bench.engine_facts;
        (foreseen && !doubts && (known.on_record || !all_agree)).then(|| {
            "the case file says that the program has no result, but the reference has one now: the reference is wrong, or \
             the file is out of date"
                .to_owned()
        })
    }

    /// Blames the reference, and the other engines only if they were expected to differ.
    pub(crate) fn suspect_reference(
        &mut self,
        reference: Witness<'_>,
        camp: &[Witness<'_>],
        rest: Vec<(Witness<'_>, Kind, Option<Comparison>)>,
        why: String,
    ) -> VerdictKind {
        let known = &self.bench.engine_facts;
        let foreseen = |id: &EngineId| known.foreseen.contains(id);
        let standing = |id: &EngineId| {
            if id == reference.id || (foreseen(id) && rest.iter().any(|(witness, ..)| witness.id == id)) {
                Standing::Differs
            } else if known.agreed.contains(id) || camp.iter().any(|witness| witness.id == id) {
                Standing::Agrees
            } else {
                Standing::Silent
            }
        };
        self.set_standings(standing);
        let foreseen = rest
            .iter()
            .map(|(witness, ..)| witness.id)
            .filter(|id| foreseen(id));
        self.verdict.blame.push(reference.id.clone());
        self.verdict.blame.extend(foreseen.cloned());
        self.verdict.suspected.get_or_insert(why);
        for (witness, kind, comparison) in rest {
            let baseline = match kind {
                Kind::Nondeterminism => witness.id,
                _ => reference.id,
            };
            self.verdict.differences.push(Difference {
                baseline: baseline.clone(),
                engine: witness.id.clone(),
                kind,
                comparison,
                explained: Quirks::NONE,
                known_bug: None,
            });
        }
        VerdictKind::Differ
    }

    /// The camps of engines that differ from the reference unexpectedly, if they are evidence against it.
    fn find_opposing<'w>(&mut self, rest: &Dissenters<'w>) -> Vec<Vec<Witness<'w>>> {
        let known = &self.bench.engine_facts;
        let others = rest
            .iter()
            .map(|(witness, ..)| *witness)
            .filter(|witness| !known.foreseen.contains(witness.id) && !known.explained.contains(witness.id))
            .filter(|witness| failure::speaks_against(witness.outcome));
        self.group_witnesses(others)
    }

    /// Finds a camp that overrules a lone reference: at least two engines that agree with each other and share no code, neither
    /// with the reference nor with each other.
    pub(crate) fn find_overruling(&mut self, rest: &Dissenters<'_>) -> Vec<EngineId> {
        self.find_opposing(rest)
            .iter()
            .filter(|_| !is_planted(Fault::ReferenceNeverConvicted))
            .find(|camp| count_independent(camp.iter().filter(|witness| witness.is_apart())) > 1)
            .map_or_else(Vec::new, |camp| {
                camp.iter().map(|witness| witness.id.clone()).collect()
            })
    }

    /// Notes why a camp of several engines does not overrule the reference: different code executed the kernel, but its outcome
    /// came from Python code that the engines share.
    pub(crate) fn note_one_witness(&mut self, rest: &Dissenters<'_>) {
        for camp in self.find_opposing(rest) {
            let apart: Vec<&Witness<'_>> = camp.iter().filter(|witness| witness.is_apart()).collect();
            let executed: Vec<Witness<'_>> = apart
                .iter()
                .map(|witness| Witness {
                    families: Families::from_engine(witness.origin),
                    ..**witness
                })
                .collect();
            if count_independent(&executed) > 1 {
                let through = match (apart[0].outcome, self.bench.engine_facts.through.as_slice()) {
                    (Outcome::Finished(_), through) if !through.is_empty() => {
                        format!(" (`{}`)", through.join("`, `"))
                    }
                    _ => String::new(),
                };
                self.verdict.notes.push(format!(
                    "{} agree, but through Python code that they share{through}, so they count as one witness",
                    join_names(apart.iter().map(|witness| witness.id))
                ));
            }
        }
    }
}
