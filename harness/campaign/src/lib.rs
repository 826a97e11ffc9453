//! Campaigns of generated cases: each is tried with engines, and a difference that no known bug explains is kept as a finding.
//!
//! See `cerith-gen` for the generators and for smaller candidates, and `cerith-runner` for engines and the corpus.

mod broken;
mod campaign;
mod compiled;
pub mod covered;
mod facts;
mod finding;
pub mod hunt;
pub mod keep;
mod made;
mod page;
pub mod promote;
pub mod range;
mod recipe;
pub mod reduce;
mod repro;
mod signature;
mod steer;
mod tried;
pub mod trophies;
mod twins;
