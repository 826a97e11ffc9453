//! Finds smaller cases that still show what a case shows. It works on the syntax tree of the kernel's file and on the case's
//! storages, arguments and launches, so that it takes generated, hand-written and recorded cases alike.
//!
//! The caller brings an [`Oracle`], which gets several smaller candidates at a time and names the first that still shows it. So a
//! cheap filter, and a slow engine after it, may look at many at once. Each step begins with the smallest candidate so far;
//! passes are repeated until none finds anything.
//!
//! | module | makes smaller |
//! |---|---|
//! | `statements` | statements, loops, branches |
//! | `functions` | calls of functions, parameters, names that nothing reads, decorators |
//! | `expressions` | expressions, call arguments, variables that are used once |
//! | `numbers` | literals, dimensions |
//! | `data` | launches, grids, options, layouts, storages, dtypes, fills |
//! | `tidy` | parentheses, comments and blank lines |
//!
//! The oracle runs engines, and decides which parts of an outcome must stay. Names stay unchanged.

mod candidate;
mod data;
mod expressions;
mod functions;
mod numbers;
mod statements;
mod tidy;
mod tree;

use std::collections::HashSet;

use self::candidate::Change;
pub use self::candidate::{Candidate, ReadBackError, Size};
use self::tree::Tree;

/// The number of candidates in one query of an oracle.
const BATCH: usize = 64;

/// Passes are repeated this often at most: each makes something smaller, and few rounds leave anything to do.
const ROUNDS: usize = 8;

/// The search was ended from outside: by its time, or by its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

/// Decides which candidates still show what the case shows.
pub trait Oracle {
    /// The first candidate that still shows it, by its place in the batch; `None` if there is none.
    ///
    /// # Errors
    /// The end of the search.
    fn find_first(&mut self, candidates: &[Candidate]) -> Result<Option<usize>, Ended>;
}

/// The smallest candidate that was found.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The case.
    pub candidate: Candidate,
    /// How many steps led to it.
    pub steps: usize,
    /// The number of candidates that the oracle tested.
    pub queries: usize,
    /// Whether the search ended by itself.
    pub complete: bool,
}

/// Changes that make a candidate smaller, each by itself, the boldest first.
type Pass = fn(&Candidate, &Tree<'_>) -> Vec<Change>;

/// The passes of a round, in order: what takes most away comes first.
const PASSES: [(&str, Pass); 29] = [
    ("launches", data::remove_launches),
    ("slices", statements::slice_statements),
    ("statements", statements::remove_runs),
    ("unused", functions::remove_unused),
    ("options", data::remove_options),
    ("decorators", functions::remove_decorators),
    ("flow", statements::flatten_flow),
    ("calls", functions::inline_calls),
    ("statements", statements::remove_runs),
    ("unused", functions::remove_unused),
    ("grids", data::shrink_grids),
    ("parameters", functions::inline_arguments),
    ("operands", expressions::replace_by_operands),
    ("call arguments", expressions::call_arguments),
    ("unused", functions::remove_unused),
    ("numbers", numbers::shrink_literals),
    ("axes", numbers::remove_axes),
    ("operands", expressions::replace_by_operands),
    ("loads", expressions::replace_loads),
    ("unused", functions::remove_unused),
    ("layouts", data::simplify_layouts),
    ("descriptors", data::simplify_descriptors),
    ("sizes", data::shrink_storages),
    ("fills", data::simplify_fills),
    ("dtypes", data::simplify_dtypes),
    ("scalars", data::simplify_scalars),
    ("variables", expressions::inline_variables),
    ("pointers", functions::merge_pointers),
    ("tidy", tidy::tidy_file),
];

/// Makes a case smaller for as long as the oracle allows.
pub fn reduce(start: Candidate, oracle: &mut dyn Oracle) -> Reduced {
    let mut search = Search {
        current: start,
        visited_keys: HashSet::new(),
        steps: 0,
        queries: 0,
        oracle,
    };
    let complete = search.run().is_ok();
    Reduced {
        candidate: search.current,
        steps: search.steps,
        queries: search.queries,
        complete,
    }
}

struct Search<'o> {
    current: Candidate,
    /// Candidates that were tested already.
    visited_keys: HashSet<u64>,
    steps: usize,
    queries: usize,
    oracle: &'o mut dyn Oracle,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Ended> {
        for _ in 0..ROUNDS {
            let before = self.steps;
            for (_, pass) in PASSES {
                self.pass(pass)?;
            }
            if self.steps == before {
                break;
            }
        }
        Ok(())
    }

    /// Goes through a pass's changes. After a step the changes are those of the smaller candidate, from the same place on.
    fn pass(&mut self, pass: Pass) -> Result<(), Ended> {
        let mut at = 0;
        loop {
            let Some(tree) = Tree::parse(&self.current.text) else {
                return Ok(());
            };
            let changes = pass(&self.current, &tree);
            let mut step = None;
            while step.is_none() && at < changes.len() {
                let mut batch = Vec::with_capacity(BATCH);
                let mut places = Vec::with_capacity(BATCH);
                while batch.len() < BATCH
                    && let Some(change) = changes.get(at)
                {
                    if let Some(candidate) = self.current.apply_change(change)
                        && self.visited_keys.insert(candidate.key())
                    {
                        batch.push(candidate);
                        places.push(at);
                    }
                    at += 1;
                }
                if batch.is_empty() {
                    continue;
                }
                self.queries += batch.len();
                if let Some(first) = self.oracle.find_first(&batch)?
                    && first < batch.len()
                {
                    step = Some((places.get(first).copied().unwrap_or(0), batch.swap_remove(first)));
                }
            }
            let Some((place, smaller)) = step else {
                return Ok(());
            };
            self.current = smaller;
            self.steps += 1;
            at = place;
        }
    }
}
