//! The integration tests of this crate, as one binary: a module for each topic.

mod fma;
mod h200;
mod h200_more;
mod libdevice;
mod numpy;
