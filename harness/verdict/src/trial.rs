//! The trial: outcomes in, one verdict out.
//!
//! Engines whose outcomes agree form a camp. The camp of the reference and any second, independent engine blames the rest; the
//! reference alone against a camp of two independent others is blamed itself; otherwise the reference is followed, unconfirmed.
//! (An engine whose difference is expected blames no other.) Outcomes that came from shared code are one witness
//! ([`crate::Witness`]), and one that runs the reference's code is not evidence for or against it. The reference itself is
//! suspected ([`Verdict::suspected`]) if a record agreed with it and no longer does, or if only an engine that is known to
//! differ confirms it. It is also suspected if it loses an answer that a record agreed with, or has one where the case file says
//! that there is none. Engines that cannot run the program, or exceed a limit, are in no camp. A program without a defined
//! answer blames no engine.
//!
//! The language changes between versions. A trial takes one bench per set of language rules: the reference's outcome
//! by those rules and the engines that they hold for. The verdict of the case joins its benches.
//!
//! See [`crate::expectation`] for expectations.

use cerith_case::VerdictKind;
use cerith_engine::{EngineId, Families, Family, Finished, GLOBAL_RACE, Outcome, Trap};
use cerith_interp::{StorageSet, TrapKind};
use cerith_memory::Memory;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::quirk::Quirks;

use crate::difference::{Bytes, Comparison, Spans, Tolerance, compare};
use crate::failure;
use crate::verdict::{Difference, Kind, Standing, Verdict};
use crate::witness::{EngineFacts, Witness, count_independent};

/// Witnesses under one set of language rules.
pub struct Bench<'a> {
    /// The reference under these rules, if it ran.
    pub reference: Option<Witness<'a>>,
    /// The other engines of these rules.
    pub other_witnesses: Vec<Witness<'a>>,
    /// The results that the reference accepts from a conforming implementation.
    pub tolerance: &'a dyn Tolerance,
    /// The facts about its engines that are known before the trial.
    pub engine_facts: EngineFacts,
}

/// Facts that all benches of a trial share.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whether anything is launched. A case that only imports a module has no memory to compare.
    pub has_launches: bool,
}

/// Judges a case.
pub fn judge(benches: &[Bench<'_>], facts: Facts) -> Verdict {
    let mut verdict = Verdict {
        kind: VerdictKind::Agree,
        blame: Vec::new(),
        unconfirmed: false,
        suspected: None,
        notes: Vec::new(),
        standings: Vec::new(),
        differences: Vec::new(),
        reason: None,
        vacuous: false,
        bytes: Bytes::default(),
        undecided: Vec::new(),
    };
    let mut words = Vec::with_capacity(benches.len());
    let mut by_word = Vec::new();
    for bench in benches {
        let mut trial = Hearing {
            bench,
            facts,
            verdict: &mut verdict,
            by_word: &mut by_word,
            counting: true,
        };
        words.push(trial.run());
        trial.note_schedules();
    }
    // A suspected reference blames no engine, under any rules.
    if verdict.suspected.is_some() {
        verdict.blame.retain(|id| !by_word.contains(id));
        for (id, standing) in &mut verdict.standings {
            if by_word.contains(id) {
                *standing = Standing::Silent;
            }
        }
    }
    let mut seen = Vec::new();
    verdict.blame.retain(|id| {
        let first = !seen.contains(id);
        seen.push(id.clone());
        first
    });
    // A difference under any rules is a difference. A program that is undefined under any rules cannot be judged.
    verdict.kind = [
        VerdictKind::Differ,
        VerdictKind::Nondeterministic,
        VerdictKind::Undefined,
        VerdictKind::Agree,
    ]
    .into_iter()
    .find(|word| words.contains(word))
    .unwrap_or(VerdictKind::Inconclusive);
    // An engine that may be wrong does not agree, even if all others do.
    if verdict.kind == VerdictKind::Agree && !verdict.undecided.is_empty() {
        verdict.kind = VerdictKind::Inconclusive;
    }
    if verdict.kind == VerdictKind::Inconclusive && verdict.reason.is_none() {
        verdict.reason = Some("no engine has an outcome".to_owned());
    }
    verdict.vacuous &= matches!(verdict.kind, VerdictKind::Agree) && !is_planted(Fault::VacuousUnreported);
    verdict
}

/// A trial in progress: the witnesses, and the verdict so far.
pub(crate) struct Hearing<'a, 'b> {
    pub(crate) bench: &'a Bench<'a>,
    facts: Facts,
    pub(crate) verdict: &'b mut Verdict,
    /// Engines that differ unexpectedly, and that only the reference blames.
    by_word: &'b mut Vec<EngineId>,
    /// Whether compared bytes are counted; false if a pair is compared again.
    pub(crate) counting: bool,
}

/// The witnesses that differ from the reference.
pub(crate) type Dissenters<'w> = [(Witness<'w>, Kind, Option<Comparison>)];

/// The result of comparing two outcomes.
pub(crate) enum Pair {
    Same,
    /// No byte certainly differs, but some may: the reason, and the bytes.
    Unknown(String, Spans),
    Different(Kind, Option<Comparison>),
}

impl Pair {
    /// The result of comparing the memories of two outcomes.
    pub(crate) fn from_comparison(comparison: Comparison, tolerance: &dyn Tolerance) -> Self {
        if !comparison.is_same() {
            let kind = if comparison.only_guards() {
                Kind::Guard
            } else {
                Kind::Memory
            };
            return Self::Different(kind, Some(comparison));
        }
        if comparison.bytes.undecided > 0 {
            return Self::Unknown(describe_undecided(tolerance), comparison.undecided);
        }
        Self::Same
    }

    /// Compares an engine's own launches: those of `finished` that left other bytes, with the first of them. They may
    /// differ as far as conforming implementations may. `known` is the memory of the reference.
    pub(crate) fn of_launches(
        finished: &Finished,
        known: Option<&Memory>,
        tolerance: &dyn Tolerance,
    ) -> Self {
        let Some(other) = &finished.unsteady else {
            return Self::Same;
        };
        let comparison = compare(&finished.memory, other, known, tolerance);
        if is_planted(Fault::UnsteadyAgrees) {
            Self::Same
        } else if !comparison.is_same() {
            Self::Different(Kind::Nondeterminism, Some(comparison))
        } else if comparison.bytes.undecided > 0 {
            Self::Unknown(describe_undecided(tolerance), comparison.undecided)
        } else {
            Self::Same
        }
    }
}

/// Whether an engine differs only in storages that a hazard can reach.
fn only_endangered(reference: &Outcome, comparison: Option<&Comparison>) -> bool {
    let tracked = reference.finished().and_then(|finished| finished.tracked);
    let endangered = tracked.map_or_else(StorageSet::default, |tracked| tracked.endangered);
    comparison.is_some_and(|comparison| {
        comparison.differing > 0
            && comparison.guards == 0
            && comparison.mismatched.is_none()
            && if comparison.more_spans {
                endangered == StorageSet::ALL
            } else {
                comparison
                    .spans
                    .iter()
                    .all(|(storage, _)| endangered.contains(*storage))
            }
    })
}

/// Whether an engine stopped at a race in a program that, according to the reference, relies on a barrier.
fn lacks_barrier(reference: &Outcome, other: &Outcome) -> bool {
    let tracked = reference.finished().and_then(|finished| finished.tracked);
    tracked.is_some_and(|tracked| !tracked.endangered.is_empty())
        && matches!(other, Outcome::Trapped(Trap::Raised, complaint) if complaint.kind == GLOBAL_RACE)
}

/// Whether an engine stopped with an assertion in a program in which, according to the reference, an overflow check may or may
/// not fail.
fn may_overflow(reference: &Outcome, other: &Outcome) -> bool {
    let remark = reference.finished().and_then(|finished| finished.remark.as_ref());
    remark.is_some_and(|remark| remark.kind == TrapKind::OverflowCheck.code())
        && matches!(other, Outcome::Trapped(Trap::Assert, _))
}

/// The reason why different elements cannot be decided.
fn describe_undecided(tolerance: &dyn Tolerance) -> String {
    tolerance.unknown_reason().unwrap_or_else(|| {
        "the difference depends on a comparison or an order of programs that a conforming implementation may decide either way, \
         or on a value without known bounds"
            .to_owned()
    })
}

/// The reason why two engines that reject a program do not agree.
fn two_refusals(left: Witness<'_>, right: Witness<'_>) -> String {
    let message = |witness: Witness<'_>| {
        let complaint = witness.outcome.complaint();
        let line = complaint.and_then(|complaint| complaint.message.lines().next());
        line.unwrap_or_default().to_owned()
    };
    format!(
        "{} and {} refuse the program for different reasons: \"{}\" and \"{}\"",
        left.id,
        right.id,
        message(left),
        message(right)
    )
}

impl Hearing<'_, '_> {
    fn run(&mut self) -> VerdictKind {
        let reference = self.bench.reference;
        if let Some(Witness {
            outcome: Outcome::Trapped(Trap::Undefined, complaint),
            ..
        }) = reference
        {
            if let Some(reference) = reference
                && let Some((why, rest)) = self.find_lost_answer(reference)
            {
                return self.suspect_reference(reference, &[], rest, why);
            }
            self.verdict
                .reason
                .get_or_insert_with(|| complaint.message.clone());
            self.set_all_standings(Standing::Undefined);
            return VerdictKind::Undefined;
        }
        match reference {
            Some(reference) if reference.outcome.speaks() => self.by_reference(reference),
            Some(reference) => match self.find_lost_answer(reference) {
                Some((why, rest)) => self.suspect_reference(reference, &[], rest, why),
                None => self.by_majority(),
            },
            None => self.by_majority(),
        }
    }

    fn by_reference(&mut self, reference: Witness<'_>) -> VerdictKind {
        let (mut camp, mut rest, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        let vacuous = std::mem::take(&mut self.verdict.vacuous);
        for &other in &self.bench.other_witnesses {
            if !other.outcome.speaks() {
                continue;
            }
            match self.compare_witnesses(reference, other) {
                Pair::Same => camp.push(other),
                Pair::Unknown(why, bytes) => {
                    if !bytes.is_empty() {
                        self.verdict.undecided.push((other.id.clone(), bytes));
                    }
                    unknown.push(why);
                }
                Pair::Different(Kind::Trap, _) if may_overflow(reference.outcome, other.outcome) => {
                    unknown.push("it is not defined whether an overflow check stops the program".to_owned());
                }
                Pair::Different(kind, comparison) => {
                    if let Some(split) = comparison
                        .as_ref()
                        .and_then(|comparison| comparison.split.as_ref())
                    {
                        self.verdict.notes.push(format!("{}: {split}", other.id));
                    }
                    rest.push((other, kind, comparison));
                }
            }
        }
        let empty = std::mem::replace(&mut self.verdict.vacuous, vacuous);
        self.verdict.vacuous |= empty;
        if let Some(why) = self
            .find_unexpected_answer(reference, rest.is_empty())
            .or_else(|| self.find_empty_answer(&camp).filter(|_| empty && rest.is_empty()))
        {
            return self.suspect_reference(reference, &camp, rest, why);
        }
        // The lanes of a block in Triton's interpreter load before they store.
        let (endangered, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(witness, _, comparison)| {
            witness.families.has(Family::Compiler)
                && (only_endangered(reference.outcome, comparison.as_ref())
                    || lacks_barrier(reference.outcome, witness.outcome))
        });
        if rest.is_empty() && !endangered.is_empty() {
            let hazard = reference.outcome.complaint().map(|remark| remark.message.clone());
            self.verdict.reason.get_or_insert(hazard.unwrap_or_default());
            self.set_all_standings(Standing::Undefined);
            return VerdictKind::Undefined;
        }
        if rest.is_empty() {
            self.set_standings(|id| {
                let speaks = *id == *reference.id || camp.iter().any(|witness| witness.id == id);
                if speaks {
                    Standing::Agrees
                } else {
                    Standing::Silent
                }
            });
            if camp.is_empty() || !self.verdict.undecided.is_empty() {
                let reason = unknown.into_iter().next().unwrap_or_else(|| self.nobody_else());
                self.verdict.reason.get_or_insert(reason);
            }
            if camp.is_empty() {
                return VerdictKind::Inconclusive;
            }
            return VerdictKind::Agree;
        }
        // A result that the reference itself doubts blames no engine.
        if let Some(doubt) = reference.outcome.complaint().filter(|remark| remark.doubts()) {
            self.verdict.reason.get_or_insert_with(|| doubt.message.clone());
            self.set_all_standings(Standing::Undefined);
            return VerdictKind::Undefined;
        }
        // An engine that shares code with an engine with a known bug is as doubtful.
        let known = &self.bench.engine_facts.offenders;
        let doubtful: Vec<Families> = camp
            .iter()
            .filter(|witness| known.contains(witness.id))
            .map(|witness| witness.families)
            .collect();
        let offends = |witness: &&Witness<'_>| {
            let families = witness.families;
            doubtful.iter().any(|other| !families.is_independent_of(*other))
        };
        let (offenders, honest): (Vec<&Witness<'_>>, _) = camp
            .iter()
            .filter(|witness| witness.is_apart())
            .partition(offends);
        let confirmed = !honest.is_empty();
        self.counting = false;
        let overruling = if confirmed {
            Vec::new()
        } else {
            self.find_overruling(&rest)
        };
        if overruling.is_empty()
            && let Some(why) = self.find_suspicion(&rest, &offenders, confirmed)
        {
            return self.suspect_reference(reference, &camp, rest, why);
        }
        self.verdict.unconfirmed |= !confirmed && overruling.is_empty();
        if !confirmed && overruling.is_empty() {
            self.note_one_witness(&rest);
            let foreseen = &self.bench.engine_facts.foreseen;
            let rest = rest.iter().map(|(witness, ..)| witness.id);
            self.by_word
                .extend(rest.filter(|id| !foreseen.contains(id)).cloned());
        }
        self.convict(reference, &camp, rest, &overruling)
    }

    /// Blames the other engines, after the winner is known: the reference with its camp, or the camp that overrules it.
    fn convict(
        &mut self,
        reference: Witness<'_>,
        camp: &[Witness<'_>],
        rest: Vec<(Witness<'_>, Kind, Option<Comparison>)>,
        overruling: &[EngineId],
    ) -> VerdictKind {
        // Engines that agree with an overruled reference share its code, so the reference is blamed.
        let right = |id: &EngineId| {
            if overruling.is_empty() {
                *id == *reference.id || camp.iter().any(|witness| witness.id == id)
            } else {
                overruling.contains(id)
            }
        };
        let wrong = |id: &EngineId| {
            !right(id) && (*id == *reference.id || rest.iter().any(|(witness, ..)| witness.id == id))
        };
        let unsteady = |id: &EngineId| {
            rest.iter()
                .any(|(witness, kind, _)| witness.id == id && *kind == Kind::Nondeterminism)
        };
        self.set_standings(|id| match (right(id), wrong(id)) {
            (true, _) => Standing::Agrees,
            (_, true) if unsteady(id) => Standing::Nondeterministic,
            (_, true) => Standing::Differs,
            _ => Standing::Silent,
        });
        let word = if rest.iter().all(|(_, kind, _)| *kind == Kind::Nondeterminism) {
            VerdictKind::Nondeterministic
        } else {
            VerdictKind::Differ
        };
        let parties = std::iter::once(reference.id).chain(rest.iter().map(|(witness, ..)| witness.id));
        self.verdict.blame.extend(parties.filter(|id| wrong(id)).cloned());
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
        word
    }

    /// Groups the witnesses that agree with each other.
    pub(crate) fn group_witnesses<'w>(
        &mut self,
        witnesses: impl Iterator<Item = Witness<'w>>,
    ) -> Vec<Vec<Witness<'w>>> {
        let mut camps: Vec<Vec<Witness<'w>>> = Vec::new();
        for witness in witnesses {
            let home = camps.iter().position(|camp| {
                camp.first()
                    .is_some_and(|first| matches!(self.compare_witnesses(*first, witness), Pair::Same))
            });
            match home.and_then(|at| camps.get_mut(at)) {
                Some(camp) => camp.push(witness),
                None => camps.push(vec![witness]),
            }
        }
        camps
    }

    /// The trial without the reference: the camp with the most independent families is judged right.
    fn by_majority(&mut self) -> VerdictKind {
        let others = &self.bench.other_witnesses;
        let camps = self.group_witnesses(others.iter().filter(|other| other.outcome.speaks()).copied());
        let why = match self.bench.reference {
            Some(reference) => format!(
                "the reference is silent ({})",
                reference.outcome.complaint().map_or_else(
                    || reference.outcome.kind().to_string(),
                    |complaint| format!("{}: {}", reference.outcome.kind(), complaint.message)
                )
            ),
            None => "the reference did not run".to_owned(),
        };
        let witnesses = |camp: &[Witness<'_>]| count_independent(camp);
        match camps.as_slice() {
            [] => {
                self.verdict
                    .reason
                    .get_or_insert(format!("{why} and no other engine has an outcome"));
                self.set_standings(|_| Standing::Silent);
                VerdictKind::Inconclusive
            }
            [camp] => {
                if let [only] = camp.as_slice()
                    && let Some(word) = self.judge_alone(*only)
                {
                    return word;
                }
                let word = if witnesses(camp) > 1 {
                    VerdictKind::Agree
                } else {
                    let who = if camp.len() == 1 {
                        "there is one other engine"
                    } else {
                        "the others share their code"
                    };
                    self.verdict.reason.get_or_insert(format!("{why} and {who}"));
                    VerdictKind::Inconclusive
                };
                self.set_standings(|id| {
                    if camp.iter().any(|witness| witness.id == id) && word == VerdictKind::Agree {
                        Standing::Agrees
                    } else {
                        Standing::Silent
                    }
                });
                word
            }
            _ => {
                let best = camps.iter().map(|camp| witnesses(camp)).max().unwrap_or(0);
                let mut winners = camps.iter().filter(|camp| witnesses(camp) == best);
                let winner = winners.next();
                let convicted = best > 1 && winners.next().is_none();
                let baseline = winner.and_then(|camp| camp.first()).copied();
                let wins = |id: &EngineId| {
                    convicted && winner.is_some_and(|camp| camp.iter().any(|witness| witness.id == id))
                };
                let before = self.verdict.differences.len();
                if !convicted {
                    self.verdict
                        .reason
                        .get_or_insert(format!("{why}, so it is unknown which is wrong"));
                }
                for camp in camps
                    .iter()
                    .filter(|camp| winner.is_none_or(|winner| !std::ptr::eq(*camp, winner)))
                {
                    for witness in camp {
                        if convicted {
                            self.verdict.blame.push(witness.id.clone());
                        }
                        if let Some(baseline) = baseline
                            && let Pair::Different(kind, comparison) =
                                self.compare_witnesses(baseline, *witness)
                        {
                            self.verdict.differences.push(Difference {
                                baseline: baseline.id.clone(),
                                engine: witness.id.clone(),
                                kind,
                                comparison,
                                explained: Quirks::NONE,
                                known_bug: None,
                            });
                        }
                    }
                }
                if !convicted && self.verdict.differences.len() == before {
                    // They refuse the program for different reasons.
                    self.set_standings(|_| Standing::Silent);
                    return VerdictKind::Inconclusive;
                }
                self.verdict.unconfirmed |= !convicted;
                self.set_standings(|id| {
                    if !camps.iter().flatten().any(|witness| witness.id == id) {
                        Standing::Silent
                    } else if wins(id) {
                        Standing::Agrees
                    } else {
                        Standing::Differs
                    }
                });
                VerdictKind::Differ
            }
        }
    }

    fn nobody_else(&self) -> String {
        let mut silent = self.bench.other_witnesses.iter().filter_map(|witness| {
            Some(format!(
                "{} is {}: {}",
                witness.id,
                witness.outcome.kind(),
                witness.outcome.complaint()?.message
            ))
        });
        match silent.next() {
            None => "the reference ran alone".to_owned(),
            Some(first) => silent.fold(first, |all, next| all + "; " + &next),
        }
    }

    fn set_all_standings(&mut self, standing: Standing) {
        self.set_standings(|_| standing);
    }

    /// Notes each engine's standing. An engine that already has one (the reference, from an earlier bench) keeps the worse.
    pub(crate) fn set_standings(&mut self, standing: impl Fn(&EngineId) -> Standing) {
        let severity = |standing: Standing| match standing {
            Standing::Silent => 0,
            Standing::Agrees => 1,
            Standing::Undefined => 2,
            Standing::Differs => 4,
            Standing::Nondeterministic => 3,
        };
        for witness in self.bench.reference.iter().chain(&self.bench.other_witnesses) {
            let new = standing(witness.id);
            match self.verdict.standings.iter_mut().find(|(id, _)| id == witness.id) {
                Some((_, old)) if severity(*old) >= severity(new) => {}
                Some((_, old)) => *old = new,
                None => self.verdict.standings.push((witness.id.clone(), new)),
            }
        }
    }

    fn compare_witnesses(&mut self, left: Witness<'_>, right: Witness<'_>) -> Pair {
        use Outcome::{Crashed, Finished, Rejected, Trapped};
        match (left.outcome, right.outcome) {
            (Finished(left), Finished(right)) => self.compare_memories(left, right),
            (Trapped(Trap::Assert, _), Trapped(Trap::Assert, _)) => Pair::Same,
            (Trapped(Trap::Assert, _), Trapped(Trap::Raised, raised))
            | (Trapped(Trap::Raised, raised), Trapped(Trap::Assert, _)) => {
                if failure::is_kernels_assertion(raised) {
                    Pair::Same
                } else {
                    Pair::Different(Kind::Trap, None)
                }
            }
            // Processes of the same code that crash in the same manner.
            (Crashed(one), Crashed(other)) => {
                if one.message == other.message && !left.families.is_independent_of(right.families) {
                    Pair::Same
                } else {
                    Pair::Different(Kind::Crash, None)
                }
            }
            (Trapped(Trap::Raised, one), Trapped(Trap::Raised, other)) => {
                if is_planted(Fault::ExceptionsAreAlike)
                    || one.kind == other.kind && self.is_same(left, right)
                {
                    Pair::Same
                } else {
                    Pair::Different(Kind::Trap, None)
                }
            }
            // A compiler rejects a program before it runs; an interpreter raises when it reaches the line.
            (Rejected(_), Rejected(_) | Trapped(Trap::Raised, _))
            | (Trapped(Trap::Raised, _), Rejected(_)) => {
                if self.is_same(left, right) {
                    Pair::Same
                } else {
                    Pair::Unknown(two_refusals(left, right), Spans::new())
                }
            }
            (Crashed(_), _) | (_, Crashed(_)) => Pair::Different(Kind::Crash, None),
            (Rejected(_), _) | (_, Rejected(_)) if is_planted(Fault::RejectionAgrees) => Pair::Same,
            (Rejected(_), _) | (_, Rejected(_)) => Pair::Different(Kind::Acceptance, None),
            _ => Pair::Different(Kind::Trap, None),
        }
    }

    /// Whether two engines that do not finish fail for the same reason.
    fn is_same(&self, left: Witness<'_>, right: Witness<'_>) -> bool {
        let explained = |witness: Witness<'_>| self.bench.engine_facts.explained.contains(witness.id);
        match (left.outcome.complaint(), right.outcome.complaint()) {
            (Some(one), Some(other)) => {
                failure::is_same_refusal(one, other, explained(left) || explained(right))
            }
            _ => false,
        }
    }

    fn compare_memories(&mut self, left: &Finished, right: &Finished) -> Pair {
        let reference = self
            .bench
            .reference
            .and_then(|witness| witness.outcome.finished());
        let known = reference.and_then(|finished| Some((finished.tracked?, &finished.memory)));
        let mut doubt = None;
        for side in [left, right] {
            match Pair::of_launches(side, known.map(|(_, memory)| memory), self.bench.tolerance) {
                Pair::Same => {}
                Pair::Unknown(why, bytes) => doubt = Some((why, bytes)),
                unsteady @ Pair::Different(..) => return unsteady,
            }
        }
        let known_memory = known.map(|(_, memory)| memory);
        let comparison = compare(&left.memory, &right.memory, known_memory, self.bench.tolerance);
        let Bytes {
            compared,
            accepted,
            undecided,
            ..
        } = comparison.bytes;
        if self.counting {
            self.verdict.bytes += comparison.bytes;
        }
        let nothing = self.facts.has_launches && compared + accepted + undecided == 0;
        let poisoned = known.is_some_and(|(tracked, _)| tracked.vacuous);
        self.verdict.vacuous |= nothing || poisoned;
        // The reference's contents are within its own bounds.
        let comparison = if reference.is_some_and(|reference| std::ptr::eq(reference, left)) {
            comparison
        } else {
            comparison.both_ways(&left.memory, &right.memory, known_memory, self.bench.tolerance)
        };
        match (Pair::from_comparison(comparison, self.bench.tolerance), doubt) {
            (Pair::Same, Some((why, bytes))) => Pair::Unknown(why, bytes),
            (pair, _) => pair,
        }
    }
}
