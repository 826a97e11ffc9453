//! Case files: from text to cases that an engine can run.
#![warn(missing_docs)]

mod bind;
pub mod canonical;
pub mod case;
pub mod corpus;
pub mod expectation;
pub mod expr;
mod fill;
pub mod filter;
pub mod kernel;
mod matrix;
mod module;
mod nearest;
mod read;
mod resolve;
mod schema;
mod template;
pub mod versions;
mod yaml;

pub use canonical::{Canonical, CanonicalLaunch, CanonicalStorage, ContentHash};
pub use case::{Arg, ArgValue, Case, Declared, Launch};
pub use corpus::{CaseFile, Corpus, Entry, Input, Missing, Problems};
pub use expectation::{EnginePattern, Expectation, OutcomeKind, VerdictKind};
pub use filter::{BadPattern, BadShard, Filter, Shard};
pub use kernel::{Function, Kernel, Module, Parameter, ParameterKind};
pub use read::ReadError;
pub use versions::{RELEASED, VersionRange};
