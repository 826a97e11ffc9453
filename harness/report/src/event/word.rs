//! Words that only events have: the severity of a problem, and the state of an expectation. Each is written in a stream as
//! its name. `cerith-case` has verdicts and outcomes, which expectations name too, and `cerith-verdict` the kinds of
//! differences.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$meaning])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// The word in streams and in what people read.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

words! {
    /// How bad a problem with the input is.
    Severity {
        /// The input cannot be used.
        #[default]
        Error = "error",
        /// The input can be used, but something in it may be a mistake.
        Warning = "warning",
    }
}

words! {
    /// Whether an expectation happened.
    State {
        /// It happened.
        #[default]
        Met = "met",
        /// It no longer happens.
        Stale = "stale",
    }
}
