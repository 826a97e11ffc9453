//! The integration tests of this crate, as one binary: a module for each topic.

mod torch_views;
