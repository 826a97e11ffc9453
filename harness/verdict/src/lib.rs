//! Comparing outcomes: who agrees, who is to blame, and whether that was expected.
//!
//! - [`compare`] compares two memories byte for byte, guard zones included, except for NaNs, undefined bytes and accepted
//!   rounding.
//! - [`judge`] makes one [`Verdict`] of the outcomes of all engines.
//! - [`try_case`] runs a case through a [`Panel`] of engines, and judges it.
//! - [`try_sweep`] judges the variants of a case that one engine ran.
//! - [`stage`] works out which stage of Triton's compiler is wrong.
//! - [`assess`] compares the verdict with the case's expectations.
//! - [`run_selfcheck`] judges trials with known ends and does arithmetic with known results, before any that count; [`run_canaries`] are
//!   launches with known results.
//!
//! ```
//! use std::sync::Arc;
//!
//! use cerith_case::{Case, Corpus, Input, VerdictKind};
//! use cerith_engine::{Capabilities, Engine, EngineId, Failure, Outcome, Preparation, Prepared, Reference};
//! use cerith_tile::rules::Rules;
//! use cerith_verdict::{Panel, try_case};
//!
//! // An engine under test: the reference with a mistake. Its name decides whose rules it is judged by.
//! struct Slipping(EngineId, Arc<Reference>);
//!
//! impl Engine for Slipping {
//!     fn id(&self) -> &EngineId {
//!         &self.0
//!     }
//!     fn capabilities(&self) -> &Capabilities {
//!         self.1.capabilities()
//!     }
//!     fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure> {
//!         Ok(match self.1.prepare(case, rules)? {
//!             Preparation::Ready(ready) => Preparation::Ready(Box::new(Slip(ready))),
//!             ended => ended,
//!         })
//!     }
//! }
//!
//! struct Slip(Box<dyn Prepared>);
//!
//! impl Prepared for Slip {
//!     fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
//!         let mut outcome = self.0.launch(case)?;
//!         if let Outcome::Finished(finished) = &mut outcome {
//!             let out = finished.memory.ids().last().unwrap();
//!             finished.memory.parts_mut(out).0[8] ^= 1;
//!         }
//!         Ok(outcome)
//!     }
//! }
//!
//! let case_file = "
//! about: Four numbers are copied.
//! kernel: copy.py:copy
//! storages:
//!   x: { dtype: f32, shape: [4], fill: arange }
//!   out: { dtype: f32, shape: [4], fill: uninit }
//! launches:
//!   - { grid: [1], args: { x: x, out: out } }
//! ";
//! let kernel = "
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def copy(x, out):
//!     i = tl.arange(0, 4)
//!     tl.store(out + i, tl.load(x + i))
//! ";
//! let corpus = Corpus::load([Input::from_text("copy.yaml", case_file), Input::from_text("copy.py", kernel)]);
//! let case = corpus.entries().next().unwrap().resolve().unwrap();
//!
//! let reference = Arc::new(Reference::default());
//! let slipping = Slipping("interpret@3.6.0".parse().unwrap(), Arc::clone(&reference));
//! let panel = Panel::new(Some(reference), vec![Arc::new(slipping)]);
//! let trial = try_case(&case, &panel).unwrap();
//!
//! assert_eq!(trial.verdict.kind, VerdictKind::Differ);
//! assert_eq!(trial.verdict.blame, [panel.order()[1].clone()]);
//! assert!(trial.verdict.unconfirmed, "nobody but the reference says so");
//! let element = &trial.verdict.differences[0].comparison.as_ref().unwrap().first[0];
//! assert_eq!((element.storage.as_str(), element.byte), ("out", 8));
//! assert_eq!(element.values, ["2.0", "2.0000002"]);
//! ```
//!
//! See `cerith-engine` for running a case, and `cerith-report` for reports. There is no tolerance anywhere: a float is right
//! when its bits are, or when the reference's own [`Accepted`](cerith_accept::Accepted) allows a conforming implementation
//! to return it.
//!
//! Invariants: knows no fuzzing engine and does no IO; a verdict is a function of outcomes, never of time or order.
#![warn(missing_docs)]

mod arithmetic;
mod canary;
mod conforming;
mod cover;
mod demands;
mod difference;
mod expectation;
mod explained;
mod failure;
mod given_contents;
mod interval;
mod language;
mod left_out;
mod overruled_reference;
mod panel;
mod selfcheck;
pub mod stage;
mod sweep;
mod trial;
mod twins;
mod unsteady;
mod verdict;
mod witness;

pub use canary::run_canaries;
pub use demands::Demands;
pub use difference::{
    BitForBit, Bytes, Comparison, Element, MAX_KEPT_ELEMENTS, MAX_SPANS, Spans, Tolerance, Zone, compare,
};
pub use expectation::{Assessment, Met, Testimony, assess};
pub use language::Stoppage;
pub use left_out::LeftOut;
pub use panel::{EngineRun, Failed, Panel, Spent, Stopped, Trial, try_case};
pub use selfcheck::run_selfcheck;
pub use sweep::{
    Camp, Sample, Samples, SweepAssessment, SweepTrial, SweepVerdict, Unequal, assess_sweep, judge_sweep,
    try_sweep,
};
pub use trial::{Bench, Facts, judge};
pub use twins::{Twins, compare_twins};
pub use verdict::{Difference, Kind, Standing, Verdict};
pub use witness::{EngineFacts, Undefined, Witness};
