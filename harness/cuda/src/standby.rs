//! An engine that stands in for records: it runs only cases without a record.
//!
//! Without a GPU, `cuda@V` returns recorded outcomes. A case of your own has no record. For such a case, `ptx@V`, which executes
//! the same compiler's code here, is the witness of the compiled side. See `cerith-cli` for when a run has one.

use std::sync::Arc;

use cerith_case::Case;
use cerith_tile::rules::{Rules, Version};
use cerith_toolchain::compiled::Target;

use crate::record::RecordStore;
use cerith_engine::EngineId;
use cerith_engine::stats::CompileStats;
use cerith_engine::{Capabilities, Engine, Failure, Preparation, Remembered};

/// An engine that runs a case only if there is no record of it for a release of Triton on a kind of GPU. A stale record fails a
/// run, and nothing stands in for it.
pub struct Standby {
    engine: Arc<dyn Engine>,
    release: Version,
    gpu: Target,
    store: Arc<RecordStore>,
}

impl Standby {
    /// Has `engine` stand in for the records of a release.
    pub fn new(engine: Arc<dyn Engine>, release: Version, gpu: Target, store: Arc<RecordStore>) -> Self {
        Self {
            engine,
            release,
            gpu,
            store,
        }
    }
}

impl Engine for Standby {
    fn id(&self) -> &EngineId {
        self.engine.id()
    }

    fn capabilities(&self) -> &Capabilities {
        self.engine.capabilities()
    }

    fn origin(&self, case: &Case) -> EngineId {
        self.engine.origin(case)
    }

    fn recall_agreement(&self, case: &Case) -> Option<Remembered> {
        self.engine.recall_agreement(case)
    }

    fn runs_case(&self, case: &Case) -> bool {
        !self.store.has(self.release, self.gpu, &case.id)
    }

    fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure> {
        self.engine.prepare(case, rules)
    }

    fn collect_stats(&self, case: &Case) -> Result<Option<CompileStats>, Failure> {
        self.engine.collect_stats(case)
    }

    fn confirm(&self, case: &Case) -> Result<bool, Failure> {
        self.engine.confirm(case)
    }

    fn rules_matter(&self) -> bool {
        self.engine.rules_matter()
    }

    fn stop(&self) {
        self.engine.stop();
    }
}
