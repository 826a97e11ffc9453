//! The engines of `cerith check`, opened for the first kernel that has launches.

use std::sync::Arc;

use cerith_case::Shard;
use cerith_check::checker::build_reference;
use cerith_engine::EngineId;
use cerith_runner::Host;
use cerith_runner::corpus::Selected;
use cerith_runner::engines::{Setup, set_up};
use cerith_runner::pipeline;
use cerith_verdict::Panel;

/// The engines, once the first kernel needs them.
pub struct Engines<'a> {
    /// The requested engines.
    pub requested: &'a [EngineId],
    /// Whether no toolchain is installed for them.
    pub is_offline: bool,
    /// How many launches run at once.
    pub jobs: Option<u16>,
    /// How many more times each launch is made, in other orders.
    pub schedules: u32,
    /// The program around the command.
    pub host: Host<'a>,
    /// The opened engines.
    pub panel: Option<Arc<Panel>>,
}

impl Engines<'_> {
    /// The engines; `None` if a requested engine is not available.
    pub fn open(&mut self, selected: &Selected) -> Option<Arc<Panel>> {
        if let Some(panel) = &self.panel {
            return Some(Arc::clone(panel));
        }
        let total = selected.entries(Shard::ALL).count() as u64;
        let jobs = pipeline::count_jobs(self.jobs);
        let setup = if total == 0 {
            Setup::without_engines()
        } else {
            let reference = build_reference()
                .with_schedules(self.schedules)
                .with_threads(pipeline::count_threads(jobs, total));
            let wanted = add_reference(self.requested);
            set_up(reference, &wanted, self.is_offline, jobs, selected, self.host)
        };
        for silent in setup.left_out.iter().chain(&setup.failed) {
            let line = format!("left out {}: {}", silent.engine, silent.why);
            self.host.console.note(&line);
        }
        if !setup.failed.is_empty() {
            return None;
        }
        let panel = Arc::new(setup.panel);
        if total > 0 {
            self.host.stop_on_interrupt(&panel);
            self.panel = Some(Arc::clone(&panel));
        }
        Some(panel)
    }
}

/// The engines to ask: those that were named, and the reference. It alone knows what has no defined answer, and without it one engine
/// alone is compared with nothing.
fn add_reference(named: &[EngineId]) -> Vec<EngineId> {
    let reference = (!named.is_empty()).then_some(EngineId::Reference);
    reference.into_iter().chain(named.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(named: &[&str], expected: &[&str]) {
        let engines: Vec<EngineId> = named
            .iter()
            .map(|name| name.parse().expect("an engine"))
            .collect();
        let asked: Vec<String> = add_reference(&engines).iter().map(ToString::to_string).collect();
        assert_eq!(asked, expected);
    }

    #[test]
    fn the_reference_is_always_asked() {
        // Nothing named: the default engines, the reference among them.
        check(&[], &[]);
        check(&["interpret@3.9.0"], &["reference", "interpret@3.9.0"]);
        check(
            &["ptx@3.9.0", "cuda@3.9.0"],
            &["reference", "ptx@3.9.0", "cuda@3.9.0"],
        );
    }
}
