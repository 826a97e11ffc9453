//! The commands that run, judge, compare and record cases, without arguments and a terminal.
//!
//! A command is a function of its options and of a [`Host`], which prints its text and knows whether the user wants to stop. It
//! returns an [`Exit`]. See `cerith-campaign` for generated cases, and `cerith-embed` for a small interface.

pub mod accept;
pub mod bisect;
pub mod bump;
pub mod bundle;
pub mod compare;
pub mod corpus;
pub mod coverage;
pub mod engines;
pub mod exec;
pub mod exit;
pub mod expect;
pub mod explain;
pub mod gate;
pub mod host;
pub mod import;
mod inductor;
pub mod interrupt;
pub mod judge;
mod judged;
pub mod kernels;
pub mod matrix;
pub mod merge;
pub mod mistyped;
pub mod open_error;
pub mod options;
pub mod oracle;
mod output;
pub mod part;
mod picture;
pub mod pipeline;
pub mod preflight;
pub mod record;
mod report_folder;
pub mod run;
pub mod side;
pub mod stages;
pub mod sweep;
pub mod worker_files;

pub use self::exit::Exit;
pub use self::host::{Console, Host, SilentConsole};
pub use self::interrupt::Interrupt;
pub use self::open_error::OpenError;
