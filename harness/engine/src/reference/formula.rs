//! The formulas of a case's kernels, executed with bounds of their rounding. See `cerith-oracle` for formulas.

use std::sync::Arc;

use cerith_accept::AcceptanceMap;
use cerith_case::Case;
use cerith_interp::Config;
use cerith_memory::{Memory, StorageId};
use cerith_oracle::Contract;
use cerith_tile::rules::Rules;

use super::intervals::{Conforming, run_intervals_from};
use super::kernel::Kernel;
use super::{Reference, Widest, describe_widening};
use crate::engine::Failure;

/// The memory of a formula: values, and the ranges of those that are not exact.
#[derive(Clone, Debug)]
pub struct FormulaMemory {
    /// The values, rounded to the dtypes of the stores.
    pub memory: Memory,
    /// The ranges.
    pub ranges: AcceptanceMap,
}

/// The result of executing formulas.
#[derive(Clone, Debug)]
pub enum FormulaRun {
    /// The memory after the last launch.
    Finished(Box<FormulaMemory>),
    /// The formula's values have no bounds, for this reason.
    Unbounded(String),
}

impl Reference {
    /// Executes the formulas of a case's kernels, from this memory on. It is of interest only if [`crate::Engine::run`] finishes.
    pub fn run_formulas(
        &self,
        case: &Case,
        rules: Rules,
        contract: Contract,
        start: FormulaMemory,
    ) -> Result<FormulaRun, Failure> {
        let Some(formulas) = self.prepare_formulas(case, rules, contract)? else {
            return Ok(FormulaRun::Unbounded("a kernel is rejected".to_owned()));
        };
        let config = Config {
            device_asserts: false,
            ..self.config(case)
        };
        let FormulaMemory { mut memory, ranges } = start;
        Ok(
            match run_intervals_from(case, &formulas, ranges, &mut memory, &config)? {
                Conforming::Known(ranges) => FormulaRun::Finished(Box::new(FormulaMemory { memory, ranges })),
                Conforming::Anything(reason) => FormulaRun::Unbounded(reason),
            },
        )
    }

    /// The operation that leaves the most room on the way to an element of a formula's memory, whose ranges were computed with a
    /// book ([`AcceptanceMap::with_book`]).
    pub fn find_formula_widening(
        &self,
        case: &Case,
        rules: Rules,
        contract: Contract,
        formula: &FormulaMemory,
        storage: StorageId,
        byte: usize,
    ) -> Result<Option<Widest>, Failure> {
        let Some(widening) = formula.ranges.find_widening(storage, byte) else {
            return Ok(None);
        };
        let Some(formulas) = self.prepare_formulas(case, rules, contract)? else {
            return Ok(None);
        };
        Ok(formulas
            .get(widening.launch)
            .and_then(|kernel| describe_widening(kernel, &widening)))
    }

    /// The formulas of a case's launches; `None` if a kernel is rejected.
    fn prepare_formulas(
        &self,
        case: &Case,
        rules: Rules,
        contract: Contract,
    ) -> Result<Option<Vec<Arc<Kernel>>>, Failure> {
        let Some(kernels) = self.trace_kernels(case, rules)? else {
            return Ok(None);
        };
        let formulas = kernels.iter().map(|kernel| {
            let formula = cerith_oracle::rewrite(&kernel.traced.function, contract);
            kernel.with_function(formula).map(Arc::new)
        });
        formulas.collect::<Result<Vec<_>, _>>().map(Some)
    }
}
