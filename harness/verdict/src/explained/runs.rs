//! Executions that explain a difference. Equivalent sets of quirks are executed once, with their bounds. See [`super::search`]
//! for the choice of sets.

use std::cell::RefCell;
use std::rc::Rc;

use cerith_engine::{Followed, Following, catch_panic};
use cerith_interp::Numerics;

/// How many executions are kept, and how many bytes they may take. The first ones go.
const MAX_RUNS: usize = 16;
const MAX_BYTES: usize = 256 << 20;

/// Bytes for each of a storage: itself, its state and its copy's, and what bounds there may be.
const COST_PER_BYTE: usize = 8;

/// One execution, of all programs or of only one; it may not have finished.
struct Run<'a> {
    following: Following<'a>,
    program: Option<u64>,
    followed: Option<Rc<Followed<'a>>>,
}

impl Run<'_> {
    fn bytes(&self) -> usize {
        let memory = self.followed.as_ref().map(|followed| &followed.memory);
        memory.map_or(0, |memory| {
            memory.ids().map(|id| memory.size(id) * COST_PER_BYTE).sum()
        })
    }
}

/// The executions of one case with the same numerics.
#[derive(Default)]
pub(super) struct Runs<'a> {
    executions: RefCell<Vec<Run<'a>>>,
}

impl<'a> Runs<'a> {
    /// The memory after such an execution, if it finished.
    pub(super) fn get(
        &self,
        following: Following<'a>,
        only: Option<u64>,
        numerics: Numerics,
    ) -> Option<Rc<Followed<'a>>> {
        let same = |run: &&Run<'a>| run.program == only && run.following == following;
        if let Some(run) = self.executions.borrow().iter().find(same) {
            return run.followed.clone();
        }
        let followed = catch_panic(|| following.clone().execute(only, numerics));
        let followed = followed.ok().and_then(Result::ok).flatten().map(Rc::new);
        let mut done = self.executions.borrow_mut();
        done.push(Run {
            following,
            program: only,
            followed: followed.clone(),
        });
        let mut bytes: usize = done.iter().map(Run::bytes).sum();
        while (bytes > MAX_BYTES || done.len() > MAX_RUNS) && !done.is_empty() {
            bytes -= done.remove(0).bytes();
        }
        followed
    }
}
