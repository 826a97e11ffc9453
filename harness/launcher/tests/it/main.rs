//! The integration tests of this crate, as one binary: a module for each topic.

mod calls;
mod choice;
mod launcher;
mod objects;
mod reach;
mod varied;
