//! Decides the results of `cerith check`: which launches of a kernel are honest, their findings, and the findings that a
//! configuration or a baseline accepts. Reads files, and writes baselines; see `cerith-survey` for drafts of launches, and
//! `cerith` for the command.

pub mod baseline;
pub mod checker;
pub mod code;
pub mod config;
pub mod conformance;
mod contract;
mod covered;
mod declared;
pub mod dependent;
mod doubt;
pub mod edit;
pub mod error;
pub mod finding;
pub mod finding_id;
mod fitting;
mod freedom;
pub mod hidden;
pub mod independent;
pub mod launch;
pub mod line;
mod masked;
pub mod overflow_launch;
pub mod proof;
mod rejected;
mod relations;
mod render;
pub mod report;
mod strides;
pub mod subject;
pub mod target;
pub mod text;
