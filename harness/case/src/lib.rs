//! Case files: from text to cases that an engine can run.
#![warn(missing_docs)]

pub mod case;
pub mod expectation;
pub mod kernel;
pub mod versions;

pub use case::{Arg, ArgValue, Case, Declared, Launch};
pub use expectation::{EnginePattern, Expectation, OutcomeKind, VerdictKind};
pub use kernel::{Function, Kernel, Module, Parameter, ParameterKind};
pub use versions::{RELEASED, VersionRange};
