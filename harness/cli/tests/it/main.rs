//! The integration tests of this crate, as one binary: a module for each topic.

#[path = "../command_output/mod.rs"]
mod command_output;

mod accept;
mod baseline;
mod bump;
mod check;
mod check_config;
mod cli;
mod exec;
mod expect;
mod explain;
mod files;
mod first;
mod gate;
mod help;
mod interrupted;
mod known_bugs;
mod links;
#[cfg(feature = "mcp")]
mod mcp;
mod merge;
mod name;
mod names;
mod next;
mod overflow;
mod place;
mod prove;
mod reach;
mod recorded;
mod slips;
mod streams;
mod views;
mod watch;
