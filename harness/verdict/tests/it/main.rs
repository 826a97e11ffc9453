//! The integration tests of this crate, as one binary: a module for each topic.

mod difference;
mod explained;
mod spoiled;
mod sweep;
mod verdict;
