//! The search for the quirks that explain what an engine left. Executing a launch is cheap, and bounding what it may leave
//! is not: sets of quirks are told apart by the bytes that they leave, and bounds are computed for few. The caller chooses
//! the quirks.

use std::rc::Rc;

use cerith_accept::Accepted;
use cerith_case::Case;
use cerith_engine::{Finished, Followed, Following, Reference, catch_panic};
use cerith_interp::Numerics;
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Rules;

use super::runs::Runs;
use super::sample::{self, Sample};
use crate::difference::{Tolerance, compare};

/// A difference to explain.
pub(super) struct ExplainQuery<'a> {
    pub(super) case: &'a Case,
    pub(super) reference: &'a Reference,
    pub(super) rules: Rules,
    /// How the engine computes.
    pub(super) numerics: Numerics,
    /// The engine's contents.
    pub(super) left: &'a Finished,
    /// The executions so far.
    pub(super) runs: Runs<'a>,
}

impl<'a> ExplainQuery<'a> {
    /// The reference's memory if it follows quirks, of all programs or of only one, if it finishes.
    pub(super) fn follow_quirks(&self, quirks: Quirks, only: Option<u64>) -> Option<Rc<Followed<'a>>> {
        self.runs.get(self.build_following(quirks)?, only, self.numerics)
    }

    fn build_following(&self, quirks: Quirks) -> Option<Following<'a>> {
        let rules = self.rules.with_quirks(quirks);
        catch_panic(|| self.reference.prepare_following(self.case, rules))
            .ok()?
            .ok()?
    }

    /// A set without those that change nothing about the case beside the others.
    fn remove_ineffective(&self, quirks: Quirks) -> Quirks {
        quirks.iter().fold(quirks, |quirks, quirk| {
            let fewer = quirks.without_quirk(quirk);
            if self.build_following(fewer) == self.build_following(quirks) {
                fewer
            } else {
                quirks
            }
        })
    }
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchResult {
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

/// The tolerance of an implementation with quirks.
struct ByQuirks<'a>(&'a Followed<'a>);

impl Tolerance for ByQuirks<'_> {
    fn find_accepted(&self, storage: StorageId, byte: usize) -> (usize, Accepted) {
        self.0.find_accepted(storage, byte)
    }
}

/// A search among quirks that may change something.
pub(super) struct Search<'a> {
    quirks: Quirks,
    launch_scope: Scope<'a>,
    /// Most sets of quirks are wrong, which one program of a launch shows.
    sample: Option<Scope<'a>>,
}

impl<'a> Search<'a> {
    /// A search among these quirks; `known` says which bytes have no defined value.
    pub(super) fn new(asked: &'a ExplainQuery<'a>, quirks: Quirks, known: &Memory) -> Self {
        let sample = catch_panic(|| Sample::take(asked, quirks, known)).unwrap_or_default();
        let scope = |only, known| Scope {
            query: asked,
            program: only,
            compare_mask: known,
        };
        Self {
            quirks,
            launch_scope: scope(None, known.clone()),
            sample: sample.map(|sample| scope(Some(sample.program), sample.compare_mask)),
        }
    }

    /// All of them at once, or those of them that matter.
    pub(super) fn try_all(&mut self) -> SearchResult {
        let Some(sample) = &self.sample else {
            return self.launch_scope.find_fewest(self.quirks);
        };
        let found = sample.find_fewest(self.quirks);
        match found {
            SearchResult::Set(quirks) if self.launch_scope.judge_quirks(quirks) == Reproduced::Yes => {
                return found;
            }
            _ if !sample.is_independent(self.quirks) => self.sample = None,
            // A quirk that one program does not need may be needed by others.
            SearchResult::Set(_) => {}
            SearchResult::None | SearchResult::Open => return found,
        }
        self.launch_scope.find_fewest(self.quirks)
    }

    /// Each of these by itself, all but one, in case one is fixed in the engine, and any two.
    pub(super) fn try_subsets(&self, all: Quirks) -> Option<Quirks> {
        let alone = all.iter().map(|quirk| Quirks::NONE.with_quirk(quirk));
        let but_one = all.iter().map(|quirk| all.without_quirk(quirk));
        let pairs = all.iter().flat_map(|one| {
            let others = all.iter().filter(move |&other| other > one);
            others.map(move |other| Quirks::NONE.with_quirk(one).with_quirk(other))
        });
        let mut sets = alone.chain(but_one).chain(pairs);
        let enough = sets.find(|&quirks| !quirks.is_empty() && self.explain(quirks))?;
        Some(match self.launch_scope.find_fewest(enough) {
            SearchResult::Set(quirks) => quirks,
            SearchResult::None | SearchResult::Open => enough,
        })
    }

    fn explain(&self, quirks: Quirks) -> bool {
        let mut scopes = self.sample.iter().chain([&self.launch_scope]);
        scopes.all(|scope| scope.judge_quirks(quirks) == Reproduced::Yes)
    }
}

/// The programs that are executed, and the bytes that are compared.
struct Scope<'a> {
    query: &'a ExplainQuery<'a>,
    /// The only program, if not all are executed.
    program: Option<u64>,
    /// Says of every byte whether it is compared.
    compare_mask: Memory,
}

impl<'a> Scope<'a> {
    /// Those of a set of quirks that are needed to leave what the engine left, if the set does.
    fn find_fewest(&self, enough: Quirks) -> SearchResult {
        let mut enough = enough;
        loop {
            let Some((active, followed)) = self.find_active(enough) else {
                return SearchResult::None;
            };
            match self.judge_followed(&followed) {
                Reproduced::Yes => {}
                // Those that change no byte may still leave rounding more room.
                Reproduced::No if active != enough && self.judge_quirks(enough) == Reproduced::Yes => {
                    return self.build_result(enough);
                }
                Reproduced::No => return SearchResult::None,
                // Rounding leaves open what these quirks give together, and fewer of them would prove nothing.
                Reproduced::Open => return SearchResult::Open,
            }
            // One may be there in place of a later one that was left out.
            let mut others = active.iter().map(|quirk| {
                let stays = |&other: &Quirk| other != quirk && (active.has(other) || other > quirk);
                enough.iter().filter(stays).collect::<Quirks>()
            });
            match others.find(|&others| self.is_sufficient(others, &followed)) {
                Some(others) => enough = others,
                None => return self.build_result(active),
            }
        }
    }

    /// A set that was found. One that changes nothing is none.
    fn build_result(&self, quirks: Quirks) -> SearchResult {
        let effective = self.query.remove_ineffective(quirks);
        if effective.is_empty() {
            SearchResult::None
        } else {
            SearchResult::Set(effective)
        }
    }

    /// Whether quirks explain what the engine left, as others do that leave `followed`.
    fn is_sufficient(&self, quirks: Quirks, followed: &Followed<'_>) -> bool {
        if quirks.is_empty() {
            return false;
        }
        // If omitted quirks change a value by more than rounding may, they are needed, and no bounds are computed.
        self.follow_quirks(quirks).is_some_and(|without| {
            self.judge_memory(followed, &without.memory) != Reproduced::No
                && self.judge_followed(&without) == Reproduced::Yes
        })
    }

    /// The quirks of a set that produce the same bytes without the others. `None` if the launch does not finish with all.
    fn find_active(&self, all: Quirks) -> Option<(Quirks, Rc<Followed<'a>>)> {
        let mut active = all;
        let mut followed = self.follow_quirks(all)?;
        let same = |quirks: Quirks, as_these: &Rc<Followed<'a>>| {
            let found = (!quirks.is_empty()).then(|| self.follow_quirks(quirks))??;
            (Rc::ptr_eq(&found, as_these) || found.memory == as_these.memory).then_some(found)
        };
        // Usually one is enough, and some apply to every kernel and change nothing. So the search omits the first, then all
        // others at once, and then halves of them. If two have the same effect, the later one stays.
        let all: Vec<Quirk> = all.iter().collect();
        let (first, others) = all.split_at(all.len().min(1));
        let mut groups = vec![others, first];
        while let Some(group) = groups.pop() {
            let fewer = group
                .iter()
                .fold(active, |active, &quirk| active.without_quirk(quirk));
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

    /// The reference's memory if it follows quirks, if it finishes.
    fn follow_quirks(&self, quirks: Quirks) -> Option<Rc<Followed<'a>>> {
        self.query.follow_quirks(quirks, self.program)
    }

    /// Whether a program leaves by itself what it leaves among the others.
    fn is_independent(&self, quirks: Quirks) -> bool {
        let both = self
            .follow_quirks(quirks)
            .zip(self.query.follow_quirks(quirks, None));
        both.is_some_and(|(alone, whole)| {
            sample::is_independent(&self.query.case.memory(), &alone.memory, &whole.memory)
        })
    }

    fn judge_quirks(&self, quirks: Quirks) -> Reproduced {
        self.follow_quirks(quirks)
            .map_or(Reproduced::No, |followed| self.judge_followed(&followed))
    }

    /// Whether quirks that leave this explain what the engine left.
    fn judge_followed(&self, followed: &Followed<'_>) -> Reproduced {
        match self.judge_memory(followed, self.left()) {
            Reproduced::Yes if !self.is_moved(followed) => Reproduced::No,
            reproduced => reproduced,
        }
    }

    /// Whether the engine left more of the bytes that quirks change as they change them than as they would be without quirks. Bounds may
    /// be so wide that they hold both, and then the bytes that an engine leaves unchanged are evidence against the quirks.
    fn is_moved(&self, followed: &Followed<'_>) -> bool {
        let Some(plain) = self.follow_quirks(Quirks::NONE) else {
            return true;
        };
        let (mut moved, mut unmoved) = (0_u64, 0_u64);
        for id in self.compare_mask.ids() {
            let sides = self.left().bytes(id).iter().zip(followed.memory.bytes(id));
            let plain = plain.memory.bytes(id).iter().zip(self.compare_mask.states(id));
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

    /// The engine's contents.
    fn left(&self) -> &Memory {
        &self.query.left.memory
    }

    /// Whether an implementation that follows the same quirks may leave this.
    fn judge_memory(&self, followed: &Followed<'_>, left: &Memory) -> Reproduced {
        let compared = catch_panic(|| {
            let defined = build_compare_mask(&followed.memory, &self.compare_mask);
            compare(&followed.memory, left, Some(&defined), &ByQuirks(followed))
        });
        match compared {
            Ok(comparison) if !comparison.is_same() => Reproduced::No,
            Ok(comparison) if comparison.bytes.undecided == 0 => Reproduced::Yes,
            Ok(_) => Reproduced::Open,
            Err(_) => Reproduced::No,
        }
    }
}

/// A memory that says which bytes are compared: those that were written, and that the reference does not leave undefined.
pub(super) fn build_compare_mask(followed: &Memory, known: &Memory) -> Memory {
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
