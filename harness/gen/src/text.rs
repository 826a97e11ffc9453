//! Random Python files with a kernel in them, and what the frontend must do with any file.
//!
//! An input is the file itself, so that what was found can be read, and kept, as it is. What a launch passes to the
//! kernel is said in its first line, or else goes by the names of the parameters ([`request`]).
//!
//! Left out: making such texts (module `grammar`, [`generate`]) and changing them (module `mutation`, [`mutate`]).

mod grammar;
mod launch;
mod law;
mod mutation;

pub use self::grammar::generate;
pub use self::launch::request;
pub use self::law::{check, check_request};
pub use self::mutation::mutate;
