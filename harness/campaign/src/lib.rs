//! Campaigns of generated cases: each is tried with engines, and a difference that no known bug explains is kept as a finding.
//!
//! See `cerith-gen` for the generators and for smaller candidates, and `cerith-runner` for engines and the corpus.

mod broken;
mod campaign;
mod case_source;
mod compiled;
pub mod covered;
mod facts;
mod finding;
pub mod finding_error;
mod fuzz_result;
pub mod hunt;
pub mod keep;
mod page;
pub mod promote;
pub mod range;
mod recipe;
pub mod reduce;
mod repro;
mod signature;
mod steer;
pub mod trophies;
mod twins;
