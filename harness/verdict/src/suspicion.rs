//! When it is the reference that is to be looked at: who overrules it, who would if they were two witnesses, and what makes
//! its own word doubtful.
//!
//! Left out: the rest of a trial (see [`crate::trial`]).

use conch_case::VerdictKind;
use conch_engine::{EngineId, Families, Outcome};
use conch_tile::fault::{Fault, is_planted};

use crate::difference::Comparison;
use crate::trial::{Difference, Kind, Rest, Standing, Trial};
use crate::witness::{Witness, independent, names};

impl Trial<'_, '_> {
    /// Why the reference is to be looked at first, if it is.
    pub(crate) fn suspicion(
        &self,
        rest: &Rest<'_>,
        offenders: &[&Witness<'_>],
        confirmed: bool,
    ) -> Option<String> {
        let known = &self.bench.known;
        let rest = || rest.iter().map(|(witness, ..)| witness.id);
        let changed: Vec<&EngineId> = rest()
            .filter(|id| known.agreed.contains(id) && !known.offenders.contains(id))
            .collect();
        if !changed.is_empty() {
            return Some(format!(
                "what {} gave is on record, and agreed with the reference when it was accepted; a record does not change, \
                 so the reference has, or the trial",
                names(changed)
            ));
        }
        let surprising = rest().any(|id| !known.foreseen.contains(id));
        if confirmed || offenders.is_empty() || !surprising {
            return None;
        }
        Some(format!(
            "nobody confirms it but {}, written down as differing here: that it agrees now speaks against the reference",
            names(
                offenders
                    .iter()
                    .map(|witness| witness.id)
                    .filter(|id| known.offenders.contains(id))
            )
        ))
    }

    /// The reference is blamed, and nobody else of whom nobody foresaw it.
    pub(crate) fn suspect(
        &mut self,
        reference: Witness<'_>,
        camp: &[Witness<'_>],
        rest: Vec<(Witness<'_>, Kind, Option<Comparison>)>,
        why: String,
    ) -> VerdictKind {
        let known = &self.bench.known;
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
        self.stand(standing);
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
            });
        }
        VerdictKind::Differ
    }

    /// Camps of those who differ from the reference and of whom nobody foresaw it, as far as they can speak against it.
    fn against<'w>(&mut self, rest: &Rest<'w>) -> Vec<Vec<Witness<'w>>> {
        let foreseen = &self.bench.known.foreseen;
        let others = rest
            .iter()
            .map(|(witness, ..)| *witness)
            .filter(|witness| !foreseen.contains(witness.id));
        self.camps(others)
    }

    /// Among those who differ from a lone reference, a camp of two that are independent of it and of each other.
    pub(crate) fn overruling(&mut self, rest: &Rest<'_>) -> Vec<EngineId> {
        self.against(rest)
            .iter()
            .filter(|_| !is_planted(Fault::ReferenceNeverConvicted))
            .find(|camp| independent(camp.iter().filter(|witness| witness.is_apart())) > 1)
            .map_or_else(Vec::new, |camp| {
                camp.iter().map(|witness| witness.id.clone()).collect()
            })
    }

    /// Says why a camp of several engines does not overrule the reference, where other code executed but the outcome came
    /// out of what they share.
    pub(crate) fn note_one_witness(&mut self, rest: &Rest<'_>) {
        for camp in self.against(rest) {
            let apart: Vec<&Witness<'_>> = camp.iter().filter(|witness| witness.is_apart()).collect();
            let executed: Vec<Witness<'_>> = apart
                .iter()
                .map(|witness| Witness {
                    families: Families::of(witness.origin),
                    ..**witness
                })
                .collect();
            if independent(&executed) > 1 {
                let through = match (apart[0].outcome, self.bench.known.through.as_slice()) {
                    (Outcome::Finished(_), through) if !through.is_empty() => {
                        format!(" (`{}`)", through.join("`, `"))
                    }
                    _ => String::new(),
                };
                self.verdict.notes.push(format!(
                    "{} say the same, out of Python of Triton's that they share{through}: they are one witness",
                    names(apart.iter().map(|witness| witness.id))
                ));
            }
        }
    }
}
