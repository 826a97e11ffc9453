//! Launches with several other sizes at once. They show which numbers of a launch follow from which sizes, and are not executed.

use super::host::{Change, HostLaunch};
use super::machine::Machine;
use super::solve::Solver;

/// Number of launches with other sizes.
const LAUNCHES: u64 = 6;

/// Evaluations for one of them.
const MAX_EVALUATIONS: usize = 8;

/// Maximum number of elements of all inputs.
const MAX_ELEMENTS: i64 = 1 << 18;

/// The largest size that is not cut into blocks.
const MAX_SIZE: u64 = 40;

/// Blocks that a size is cut into, at most.
const MAX_BLOCKS: u64 = 4;

impl<'a> Solver<'a> {
    /// Finds launches in which every size that the kernel does not decide has another value.
    pub fn find_sized_launches(&self, base: &Machine<'a>) -> Vec<HostLaunch> {
        let mut found = Vec::new();
        for nth in 0..LAUNCHES {
            let mut plan = base.plan.clone();
            for size in plan.used_sizes() {
                let block = base
                    .blocks
                    .get(&size)
                    .and_then(|cut| u64::try_from(cut.block).ok());
                let most = block.map_or(MAX_SIZE, |block| block.saturating_mul(MAX_BLOCKS).max(MAX_SIZE));
                let value = i64::try_from(2 + mix(nth, size as u64) % most).unwrap_or(2);
                let value = plan.round_up(size, value);
                if let Some(size) = plan
                    .sizes
                    .get_mut(size)
                    .filter(|one| !one.is_pinned && !one.is_fitted)
                {
                    size.value = value;
                    // The launcher's conditions decide it again.
                    size.is_fixed = false;
                }
            }
            // Persistent programs: the grid and the rows of partial results.
            plan.multiprocessors = 2 + i64::try_from(nth % 4).unwrap_or(0);
            if plan == base.plan || plan.elements() > MAX_ELEMENTS {
                continue;
            }
            let mut budget = MAX_EVALUATIONS;
            if let Ok(machine) = self.solve(plan.clone(), &mut budget)
                && machine.plan.has_same_ranks(&plan)
            {
                self.collect(&machine, ("other sizes", Change::AllSizes), 1, &mut found);
            }
        }
        found
    }
}

/// A number that two small ones mix to, by `SplitMix64`.
const fn mix(nth: u64, size: u64) -> u64 {
    let mut mixed = (nth.wrapping_mul(64).wrapping_add(size)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
