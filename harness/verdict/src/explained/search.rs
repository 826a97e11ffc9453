//! The search for the quirks that explain what an engine left. Executing a launch is cheap, and bounding what it may leave is not:
//! sets of quirks are told apart by the bytes that they leave, and bounds are asked for of few. Left out: which quirks may be the
//! reason.

use std::rc::Rc;

use cerith_case::Case;
use cerith_engine::{Finished, Followed, Following, Reference, guarded};
use cerith_interp::{Accepted, Numerics};
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Rules;

use super::runs::Runs;
use super::sample::{self, Sample};
use crate::difference::{Tolerance, compare};

/// What is to be explained.
pub(super) struct Asked<'a> {
    pub(super) case: &'a Case,
    pub(super) reference: &'a Reference,
    pub(super) rules: Rules,
    /// How the engine computes.
    pub(super) numerics: Numerics,
    /// What the engine left.
    pub(super) left: &'a Finished,
    /// What was executed so far.
    pub(super) runs: Runs<'a>,
}

impl<'a> Asked<'a> {
    /// What the reference leaves where it follows quirks, of all programs or of only one, if it finishes.
    pub(super) fn followed(&self, quirks: Quirks, only: Option<u64>) -> Option<Rc<Followed<'a>>> {
        self.runs.get(self.following(quirks)?, only, self.numerics)
    }

    fn following(&self, quirks: Quirks) -> Option<Following<'a>> {
        let rules = self.rules.following(quirks);
        guarded(|| self.reference.following(self.case, rules))
            .ok()?
            .ok()?
    }

    /// A set without those that change nothing about the case beside the others.
    fn effective(&self, quirks: Quirks) -> Quirks {
        quirks.iter().fold(quirks, |quirks, quirk| {
            let fewer = quirks.without(quirk);
            if self.following(fewer) == self.following(quirks) {
                fewer
            } else {
                quirks
            }
        })
    }
}

/// What comes of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// These quirks leave what the engine left, and none of them is known to be needless.
    Set(Quirks),
    None,
    /// Nothing contradicts, but bounds of rounding are too wide to tell.
    Open,
}

/// Whether the reference leaves an engine's bytes where it follows quirks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reproduced {
    Yes,
    No,
    Open,
}

/// What an implementation that follows quirks may leave.
struct ByQuirks<'a>(&'a Followed<'a>);

impl Tolerance for ByQuirks<'_> {
    fn accepted(&self, storage: StorageId, byte: usize) -> (usize, Accepted) {
        self.0.accepted(storage, byte)
    }
}

/// A search among quirks that may change something.
pub(super) struct Search<'a> {
    quirks: Quirks,
    whole: Scope<'a>,
    /// Most sets of quirks are wrong, which one program of a launch shows.
    sample: Option<Scope<'a>>,
}

impl<'a> Search<'a> {
    /// A search among these quirks; `known` says which bytes have no defined value.
    pub(super) fn of(asked: &'a Asked<'a>, quirks: Quirks, known: &Memory) -> Self {
        let sample = guarded(|| Sample::take(asked, quirks, known)).unwrap_or_default();
        let scope = |only, known| Scope { asked, only, known };
        Self {
            quirks,
            whole: scope(None, known.clone()),
            sample: sample.map(|sample| scope(Some(sample.program), sample.known)),
        }
    }

    /// All of them at once, or those of them that matter.
    pub(super) fn all(&mut self) -> Found {
        let Some(sample) = &self.sample else {
            return self.whole.fewest(self.quirks);
        };
        let found = sample.fewest(self.quirks);
        match found {
            Found::Set(quirks) if self.whole.reproduces(quirks) == Reproduced::Yes => return found,
            _ if !sample.stands(self.quirks) => self.sample = None,
            // What one program does without, the others may not.
            Found::Set(_) => {}
            Found::None | Found::Open => return found,
        }
        self.whole.fewest(self.quirks)
    }

    /// Each of these by itself, all but one, should one be mended in the engine, and any two.
    pub(super) fn some(&self, all: Quirks) -> Option<Quirks> {
        let alone = all.iter().map(|quirk| Quirks::NONE.with(quirk));
        let but_one = all.iter().map(|quirk| all.without(quirk));
        let pairs = all.iter().flat_map(|one| {
            let others = all.iter().filter(move |&other| other > one);
            others.map(move |other| Quirks::NONE.with(one).with(other))
        });
        let mut sets = alone.chain(but_one).chain(pairs);
        let enough = sets.find(|&quirks| !quirks.is_empty() && self.explain(quirks))?;
        Some(match self.whole.fewest(enough) {
            Found::Set(quirks) => quirks,
            Found::None | Found::Open => enough,
        })
    }

    fn explain(&self, quirks: Quirks) -> bool {
        let mut scopes = self.sample.iter().chain([&self.whole]);
        scopes.all(|scope| scope.reproduces(quirks) == Reproduced::Yes)
    }
}

/// The programs that are executed, and the bytes that are compared.
struct Scope<'a> {
    asked: &'a Asked<'a>,
    /// The only program, if not all are executed.
    only: Option<u64>,
    /// Says of every byte whether it is compared.
    known: Memory,
}

impl<'a> Scope<'a> {
    /// Those of a set of quirks that are needed to leave what the engine left, if the set does.
    fn fewest(&self, enough: Quirks) -> Found {
        let mut enough = enough;
        loop {
            let Some((active, followed)) = self.active(enough) else {
                return Found::None;
            };
            match self.judge_followed(&followed) {
                Reproduced::Yes => {}
                // Those that change no byte may still leave rounding more room.
                Reproduced::No if active != enough && self.reproduces(enough) == Reproduced::Yes => {
                    return self.found(enough);
                }
                Reproduced::No => return Found::None,
                // Rounding leaves open what these quirks give together, and fewer of them would prove nothing.
                Reproduced::Open => return Found::Open,
            }
            // One may be there in place of a later one that was left out.
            let mut others = active.iter().map(|quirk| {
                let stays = |&other: &Quirk| other != quirk && (active.has(other) || other > quirk);
                enough.iter().filter(stays).collect::<Quirks>()
            });
            match others.find(|&others| self.suffice(others, &followed)) {
                Some(others) => enough = others,
                None => return self.found(active),
            }
        }
    }

    /// A set that was found. One that changes nothing is none.
    fn found(&self, quirks: Quirks) -> Found {
        let effective = self.asked.effective(quirks);
        if effective.is_empty() {
            Found::None
        } else {
            Found::Set(effective)
        }
    }

    /// Whether quirks explain what the engine left, as others do that leave `followed`.
    fn suffice(&self, quirks: Quirks, followed: &Followed<'_>) -> bool {
        if quirks.is_empty() {
            return false;
        }
        // Where what was left out makes more of a difference than rounding may, it is needed, and no bounds need to be known.
        self.followed(quirks).is_some_and(|without| {
            self.compared(followed, &without.memory) != Reproduced::No
                && self.judge_followed(&without) == Reproduced::Yes
        })
    }

    /// Those of a set of quirks that leave the same bytes without the others. None where the launch does not finish with all.
    fn active(&self, all: Quirks) -> Option<(Quirks, Rc<Followed<'a>>)> {
        let mut active = all;
        let mut followed = self.followed(all)?;
        let same = |quirks: Quirks, as_these: &Rc<Followed<'a>>| {
            let found = (!quirks.is_empty()).then(|| self.followed(quirks))??;
            (Rc::ptr_eq(&found, as_these) || found.memory == as_these.memory).then_some(found)
        };
        // Most times one is enough, and some are there in every kernel and change nothing. So the first is left out, then all
        // others at once, and then halves of them. Of two that do the same, the later one stays.
        let all: Vec<Quirk> = all.iter().collect();
        let (first, others) = all.split_at(all.len().min(1));
        let mut groups = vec![others, first];
        while let Some(group) = groups.pop() {
            let fewer = group.iter().fold(active, |active, &quirk| active.without(quirk));
            if fewer == active {
                continue;
            }
            if let Some(found) = same(fewer, &followed) {
                (active, followed) = (fewer, found);
            } else if group.len() > 1 {
                let (front, back) = group.split_at(group.len() / 2);
                groups.extend([back, front]);
            }
        }
        Some((active, followed))
    }

    /// What the reference leaves where it follows quirks, if it finishes.
    fn followed(&self, quirks: Quirks) -> Option<Rc<Followed<'a>>> {
        self.asked.followed(quirks, self.only)
    }

    /// Whether a program leaves by itself what it leaves among the others.
    fn stands(&self, quirks: Quirks) -> bool {
        let both = self.followed(quirks).zip(self.asked.followed(quirks, None));
        both.is_some_and(|(alone, whole)| {
            sample::stands(&self.asked.case.memory(), &alone.memory, &whole.memory)
        })
    }

    fn reproduces(&self, quirks: Quirks) -> Reproduced {
        self.followed(quirks)
            .map_or(Reproduced::No, |followed| self.judge_followed(&followed))
    }

    /// Whether quirks that leave this explain what the engine left.
    fn judge_followed(&self, followed: &Followed<'_>) -> Reproduced {
        match self.compared(followed, self.left()) {
            Reproduced::Yes if !self.is_moved(followed) => Reproduced::No,
            reproduced => reproduced,
        }
    }

    /// Whether the engine left more of the bytes that quirks change as they change them than as they would be without quirks. Bounds may
    /// be so wide that they hold both, and then the bytes that an engine leaves unchanged are evidence against the quirks.
    fn is_moved(&self, followed: &Followed<'_>) -> bool {
        let Some(plain) = self.followed(Quirks::NONE) else {
            return true;
        };
        let (mut moved, mut unmoved) = (0_u64, 0_u64);
        for id in self.known.ids() {
            let sides = self.left().bytes(id).iter().zip(followed.memory.bytes(id));
            let plain = plain.memory.bytes(id).iter().zip(self.known.states(id));
            for ((left, followed), (plain, state)) in sides.zip(plain) {
                if followed == plain || *state == ByteState::Poison {
                    continue;
                }
                if left == plain {
                    unmoved += 1;
                } else {
                    moved += 1;
                }
            }
        }
        unmoved <= moved
    }

    /// What the engine left.
    fn left(&self) -> &Memory {
        &self.asked.left.memory
    }

    /// Whether an implementation that follows the same quirks may leave this.
    fn compared(&self, followed: &Followed<'_>, left: &Memory) -> Reproduced {
        let compared = guarded(|| {
            let defined = defined(&followed.memory, &self.known);
            compare(&followed.memory, left, Some(&defined), &ByQuirks(followed))
        });
        match compared {
            Ok(comparison) if !comparison.same() => Reproduced::No,
            Ok(comparison) if comparison.bytes.undecided == 0 => Reproduced::Yes,
            Ok(_) => Reproduced::Open,
            Err(_) => Reproduced::No,
        }
    }
}

/// A memory that says which bytes are compared: those that were written, and that the reference does not leave undefined.
pub(super) fn defined(followed: &Memory, known: &Memory) -> Memory {
    let mut defined = followed.clone();
    for id in defined.ids() {
        let known = known.states(id);
        let (_, states) = defined.parts_mut(id);
        for (nth, state) in states.iter_mut().enumerate() {
            *state = match (known.get(nth), *state) {
                (Some(ByteState::Poison), _) => ByteState::Poison,
                (_, ByteState::Uninit) => ByteState::Uninit,
                _ => ByteState::Init,
            };
        }
    }
    defined
}
