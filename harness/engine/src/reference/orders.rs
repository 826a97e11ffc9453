//! Launches in every order that Triton leaves open: of programs, of lanes, and of combined elements. See `schedules`,
//! `lane_orders` and `combine_orders` for the orders.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cerith_accept::AcceptanceMap;
use cerith_case::Case;
use cerith_interp::{Checks, Combining, Config, OutOfBounds, TrapKind};
use cerith_memory::{Memory, TooManyPages};
use cerith_tile::diagnostic::{Diagnostic, Severity};
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::LaneOrder;

use super::arguments::build_arguments;
use super::complaint::{build_complaint, in_an_order, place, to_failure};
use super::intervals::{Conforming, run_intervals};
use super::kernel::{Kernel, prepare};
use super::watch::add_watch;
use crate::clears::clear_before;
use crate::combine_orders::Choices;
use crate::engine::{Failure, Prepared, finish_import};
use crate::executed::Executed;
use crate::lane_orders::{self, Dependent};
use crate::{Complaint, Finished, Outcome, Trap, combine_orders, schedules};

/// The result of trying other orders.
enum OrderResult {
    /// No difference, except for rounding.
    Same,
    /// Some bytes depend on the order.
    Dependent(Dependent),
    /// The launches did not finish in another order.
    Ended(Outcome),
}

pub(super) struct Ready {
    pub kernels: Vec<Arc<Kernel>>,
    pub config: Config<'static>,
    pub schedules: u32,
    pub stopped: Arc<AtomicBool>,
}

impl Prepared for Ready {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        if case.is_import_only() {
            return Ok(finish_import(case.memory()));
        }
        let outcome = self.run_launches(case, &self.config(case), None)?;
        self.reorder(case, &outcome)?;
        match outcome {
            Outcome::Finished(finished) => match self.in_lane_orders(case, finished)? {
                Outcome::Finished(finished) => self.in_combine_orders(case, finished),
                outcome => Ok(outcome),
            },
            Outcome::Trapped(Trap::Assert, complaint) => self.assert_in_lane_orders(case, complaint),
            outcome => Ok(outcome),
        }
    }
}

impl Ready {
    /// Makes the launches only in its own order.
    pub(super) fn launch_once(&self, case: &Case) -> Result<Outcome, Failure> {
        self.run_launches(case, &self.config(case), None)
    }

    fn config(&self, case: &Case) -> Config<'_> {
        add_watch(self.config, case, &self.stopped)
    }

    /// Makes the launches again in other orders of programs; none may change the result.
    fn reorder(&self, case: &Case, outcome: &Outcome) -> Result<(), Failure> {
        let Outcome::Finished(first) = outcome else {
            return Ok(());
        };
        let alone = case
            .launches
            .iter()
            .all(|launch| launch.grid.iter().all(|&n| n <= 1));
        if alone || first.tracked.is_some_and(|tracked| tracked.order_dependent) {
            return Ok(());
        }
        for schedule in 1..=self.schedules {
            let config = Config {
                order: schedules::order(&case.id, schedule),
                ..self.config(case)
            };
            let reason = match self.run_launches(case, &config, None)? {
                Outcome::Finished(other) => schedules::find_difference(&first.memory, &other.memory),
                other => Some(other.complaint().map_or_else(
                    || other.kind().to_string(),
                    |complaint| format!("{} at {}: {}", other.kind(), place(complaint), complaint.message),
                )),
            };
            if let Some(reason) = reason {
                let name = schedules::describe_schedule(schedule, self.schedules);
                let doing = format!("produce the same result in every order of programs: {name}");
                return Err(Failure::internal(doing, reason));
            }
        }
        Ok(())
    }

    /// Whether an assert does not hold in any order of lanes; if it holds in one, the program has no answer.
    fn assert_in_lane_orders(&self, case: &Case, complaint: Box<Complaint>) -> Result<Outcome, Failure> {
        if self.kernels.iter().any(|kernel| kernel.lanes_open) {
            for order in LaneOrder::BASIC {
                if let Outcome::Finished(_) = self.run_launches(case, &self.config(case), Some(order))? {
                    return Ok(in_an_order(complaint));
                }
            }
        }
        Ok(Outcome::Trapped(Trap::Assert, complaint))
    }

    /// Makes the launches again in other orders of lanes, where Triton leaves them open, and poison of what depends on it.
    fn in_lane_orders(&self, case: &Case, finished: Box<Finished>) -> Result<Outcome, Failure> {
        let Some(nth) = self.kernels.iter().position(|kernel| kernel.lanes_open) else {
            return Ok(Outcome::Finished(finished));
        };
        let others = [LaneOrder::BASIC.as_slice(), LaneOrder::EXTRA.as_slice()];
        let config = self.config(case);
        let tried = self.try_orders(case, &finished, &config, others, in_an_order, |order| {
            self.run_launches(case, &config, Some(order))
        })?;
        let dependent = match tried {
            OrderResult::Dependent(dependent) => dependent,
            OrderResult::Same => return Ok(Outcome::Finished(finished)),
            OrderResult::Ended(outcome) => return Ok(outcome),
        };
        let function = &self.kernels[nth].traced.function;
        let diagnostic = lane_orders::build_diagnostic(function, &dependent, &finished.memory);
        Ok(self.poison_dependent(case, finished, &dependent, diagnostic, nth, false))
    }

    /// Makes the launches again with elements combined in other orders, where a function combines them that is not well
    /// known, and poison of what depends on it.
    fn in_combine_orders(&self, case: &Case, finished: Box<Finished>) -> Result<Outcome, Failure> {
        let Some(nth) = self.kernels.iter().position(|kernel| !kernel.combines.is_empty()) else {
            return Ok(Outcome::Finished(finished));
        };
        let with = |combining| Config {
            combining,
            ..self.config(case)
        };
        let functions = self.kernels.iter().filter(|kernel| !kernel.combines.is_empty());
        let functions = functions.map(|kernel| &kernel.traced.function);
        let [few, more] = combine_orders::orders_of_all(functions.clone());
        // Intervals that do not make room for other orders themselves.
        let rounding = with(Combining::Halves);
        let tried = self.try_orders(
            case,
            &finished,
            &rounding,
            [few.as_slice(), more.as_slice()],
            combine_orders::in_an_order,
            |combining| self.run_launches(case, &with(combining), None),
        )?;
        let dependent = match tried {
            OrderResult::Dependent(dependent) => dependent,
            OrderResult::Same => return Ok(Outcome::Finished(finished)),
            OrderResult::Ended(outcome) => return Ok(outcome),
        };
        let kernel = &self.kernels[nth];
        let diagnostic = combine_orders::build_diagnostic(
            &kernel.traced.function,
            &kernel.combines,
            &dependent,
            &finished.memory,
        );
        // One of several elements is an answer, though it is not known which. An engine that has none differs.
        let answers = functions
            .clone()
            .all(|function| combine_orders::find_choices(function) != Choices::Others);
        Ok(self.poison_dependent(case, finished, &dependent, diagnostic, nth, answers))
    }

    /// Finds bytes that depend on the order, except for rounding. The second orders are tried only if the first show a
    /// difference.
    fn try_orders<T: Copy>(
        &self,
        case: &Case,
        finished: &Finished,
        intervals_with: &Config<'_>,
        orders: [&[T]; 2],
        stopped: fn(Box<Complaint>) -> Outcome,
        launch: impl Fn(T) -> Result<Outcome, Failure>,
    ) -> Result<OrderResult, Failure> {
        let (mut conforming, mut ended) = (None, None);
        let mut dependent = Dependent::default();
        let [few, more] = orders;
        for (tried, &order) in few.iter().chain(more).enumerate() {
            if tried == few.len() && dependent.count() == 0 {
                break;
            }
            let other = match launch(order)? {
                Outcome::Finished(other) => other.memory,
                // A program that stops in one order and not in another has no answer.
                Outcome::Trapped(_, complaint) => return Ok(OrderResult::Ended(stopped(complaint))),
                other => {
                    ended.get_or_insert(other);
                    continue;
                }
            };
            if schedules::find_difference(&finished.memory, &other).is_none() {
                continue;
            }
            let map = match &mut conforming {
                Some(map) => map,
                none => {
                    let map = AcceptanceMap::default();
                    match run_intervals(case, &self.kernels, map, intervals_with)? {
                        Conforming::Known(map) => none.insert(map),
                        // There are no intervals: every difference counts, and fewer bytes are compared.
                        Conforming::Anything(_) if finished.memory.has_sparse() => {
                            none.insert(AcceptanceMap::default())
                        }
                        // Rounding alone may explain the difference, which cannot be checked here.
                        Conforming::Anything(_) => return Ok(OrderResult::Same),
                    }
                }
            };
            dependent.add(&finished.memory, &other, map);
        }
        Ok(if dependent.count() > 0 {
            OrderResult::Dependent(dependent)
        } else {
            ended.map_or(OrderResult::Same, OrderResult::Ended)
        })
    }

    /// The outcome with poison in all bytes that depend on an order, and a remark. It is undefined if no other byte has a value,
    /// unless the program still `answers`.
    fn poison_dependent(
        &self,
        case: &Case,
        mut finished: Box<Finished>,
        dependent: &Dependent,
        mut diagnostic: Diagnostic,
        nth: usize,
        answers: bool,
    ) -> Outcome {
        let Ok(poisoned) = dependent.poison_bytes(&mut finished.memory) else {
            let complaint = Complaint::new("limit", TooManyPages.to_string());
            return Outcome::Exhausted(Box::new(complaint));
        };
        let tracked = finished.tracked.get_or_insert_default();
        tracked.poisoned += poisoned;
        // A program without any defined value has no answer.
        let empty =
            tracked.poisoned >= tracked.stored && !lane_orders::has_changes(&case.memory(), &finished.memory);
        tracked.vacuous |= empty;
        let nothing = empty && !answers;
        if nothing {
            diagnostic.severity = Severity::Error;
        }
        let sources = &self.kernels[nth].traced.function.sources;
        let said = Box::new(build_complaint(&diagnostic, sources, nth));
        if nothing {
            return Outcome::Trapped(Trap::Undefined, said);
        }
        finished.remark.get_or_insert(said);
        Outcome::Finished(finished)
    }

    /// Makes the launches, from the case's first memory; in another order of lanes, if one is given.
    fn run_launches(
        &self,
        case: &Case,
        config: &Config<'_>,
        lane_order: Option<LaneOrder>,
    ) -> Result<Outcome, Failure> {
        let mut memory = case.memory();
        let mut executed = Executed::default();
        Ok(
            match self.execute(case, config, lane_order, &mut memory, &mut executed)? {
                Some(ended) => ended,
                None => executed.finish(case, memory),
            },
        )
    }

    /// The accesses outside of storages of all launches, each once. Launches after one that ends early are not made.
    pub(super) fn find_out_of_bounds(&self, case: &Case) -> Result<Vec<Complaint>, Failure> {
        let config = Config {
            checks: Checks::Fast,
            out_of_bounds: OutOfBounds::Skipped,
            masked_zero: true,
            ..self.config(case)
        };
        let mut executed = Executed::default();
        self.execute(case, &config, None, &mut case.memory(), &mut executed)?;
        let mut found = executed.into_remarks();
        found.retain(|remark| remark.kind == TrapKind::OutOfBounds.code());
        Ok(found)
    }

    /// Makes the launches. Returns what the first ended in that did not finish.
    fn execute(
        &self,
        case: &Case,
        config: &Config<'_>,
        lane_order: Option<LaneOrder>,
        memory: &mut Memory,
        executed: &mut Executed,
    ) -> Result<Option<Outcome>, Failure> {
        for (nth, (launch, kernel)) in case.launches.iter().zip(&self.kernels).enumerate() {
            if nth > 0 && is_planted(Fault::LaterLaunchesSkipped) {
                break;
            }
            clear_before(case, nth, &kernel.traced.clears, memory);
            let args = build_arguments(launch, kernel, memory)?;
            let other = match lane_order {
                Some(order) if kernel.lanes_open => {
                    Some(prepare(kernel.traced.function.in_lane_order(order))?)
                }
                _ => None,
            };
            let outcome = other
                .as_ref()
                .unwrap_or(&kernel.program)
                .launch(launch.grid, &args, memory, config)
                .map_err(|error| to_failure(format!("run `{}`", launch.kernel.name), error))?;
            let sources = &kernel.traced.function.sources;
            if let Some(ended) = executed.add(outcome, sources, nth) {
                return Ok(Some(ended));
            }
        }
        Ok(None)
    }
}
