//! Random Python files with a kernel in them, and what the frontend must do with any file.
//!
//! An input is the file itself, so that a finding can be read, and kept, as it is. Its first line says what a launch passes to
//! the kernel; without that, the names of the parameters decide ([`request`]).
//!
//! See `grammar` and [`generate`] for making such texts, and `mutation` and [`mutate`] for changing them.

mod grammar;
mod launch;
mod law;
mod mutation;

pub use self::grammar::generate;
pub use self::launch::request;
pub use self::law::{check, check_request};
pub use self::mutation::mutate;
