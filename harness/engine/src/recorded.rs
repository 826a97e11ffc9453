//! `recorded`: the outcome of the run that a case was recorded from. Nothing is executed.
//!
//! It counts as the engine that executed the run, with that engine's code and language: an interpreter's record is not a second
//! witness beside that interpreter. See `cerith-case` for reading records.

use cerith_case::{Case, Ending};
use cerith_memory::ORIGIN;
use cerith_tile::rules::Rules;
use cerith_toolchain::response::{Phase, PythonError, Raised};

use crate::engine::{Capabilities, Engine, Failure, Needs, Preparation, Prepared};
use crate::sparse::reject_sparse;
use crate::{Complaint, EngineId, Finished, Outcome, worker_outcome};

/// The language of a case if no engine decides it: that of the Triton that made the recording, or else the newest.
pub fn infer_rules(case: &Case) -> Rules {
    case.recorded
        .as_ref()
        .and_then(|recorded| recorded.engine.parse::<EngineId>().ok()?.version())
        .map_or_else(Rules::default, Rules::from_version)
}

/// The engine `recorded`.
#[derive(Debug)]
pub struct Recorded {
    id: EngineId,
    capabilities: Capabilities,
}

impl Default for Recorded {
    fn default() -> Self {
        Self {
            id: EngineId::Recorded,
            // Without a record there is no outcome, so a generator can request nothing.
            capabilities: Capabilities {
                dtypes: Vec::new(),
                features: Vec::new(),
                needs: Needs::default(),
            },
        }
    }
}

impl Engine for Recorded {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn origin(&self, case: &Case) -> EngineId {
        let recorded = case.recorded.as_ref();
        recorded
            .and_then(|recorded| recorded.engine.parse().ok())
            .unwrap_or(EngineId::Recorded)
    }

    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        if let Some(complaint) = reject_sparse(case) {
            return Ok(Preparation::Ended(Outcome::Unsupported(complaint)));
        }
        let why = match &case.recorded {
            None => "there is no recorded outcome".to_owned(),
            Some(recorded) if recorded.engine.parse::<EngineId>().is_err() => {
                format!(
                    "the recorded outcome is of `{}`, an unknown engine",
                    recorded.engine
                )
            }
            Some(recorded) if recorded.ending == Ending::Unknown => {
                "there is no recorded outcome: the results of the run were not kept".to_owned()
            }
            Some(_) => return Ok(Preparation::Ready(Box::new(OnRecord))),
        };
        let complaint = Complaint::new("record", why);
        Ok(Preparation::Ended(Outcome::Unavailable(Box::new(complaint))))
    }
}

struct OnRecord;

impl Prepared for OnRecord {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let Some(recorded) = &case.recorded else {
            return Err(Failure::internal("read a record", "the case has none"));
        };
        let left = match &recorded.ending {
            Ending::Unknown => return Err(Failure::internal("read a record", "nothing was kept")),
            Ending::Raised {
                kind,
                message,
                compiling,
            } => {
                let raised = Raised {
                    // A record of several launches does not say which one raised.
                    phase: if case.launches.len() == 1 {
                        Phase::Launch(0)
                    } else {
                        Phase::Import
                    },
                    chain: vec![PythonError {
                        kind: kind.clone(),
                        message: message.clone(),
                    }],
                    location: None,
                    frame: None,
                    compiling: *compiling,
                    origin: None,
                    traceback: String::new(),
                };
                return Ok(worker_outcome::translate_exception(case, &raised, ""));
            }
            Ending::Finished(left) => left,
        };
        let mut memory = case.memory();
        for after in left {
            let start = (memory.address(after.storage) - ORIGIN) as usize;
            if after.bytes.len() != memory.size(after.storage) {
                return Err(Failure::internal("read a record", "it is of another size"));
            }
            let addresses: Vec<(usize, u64)> = (after.pointers.iter())
                .map(|pointer| {
                    let base = memory.address(pointer.target);
                    (
                        start + pointer.offset,
                        base.wrapping_add_signed(pointer.target_offset),
                    )
                })
                .collect();
            let (arena, _) = memory.arena_mut();
            if let Some(to) = arena.get_mut(start..start + after.bytes.len()) {
                to.copy_from_slice(&after.bytes);
            }
            for (at, address) in addresses {
                if let Some(to) = arena.get_mut(at..at + 8) {
                    to.copy_from_slice(&address.to_le_bytes());
                }
            }
        }
        Ok(Outcome::Finished(Box::new(Finished {
            memory,
            tracked: None,
            unsteady: None,
            execution: None,
            printed: Vec::new(),
            remark: None,
        })))
    }
}

#[cfg(test)]
mod tests;
