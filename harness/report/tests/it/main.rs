//! The integration tests of this crate, as one binary: a module for each topic.

mod completeness;
mod html;
mod page;
mod printers;
mod remarks;
mod schema;
