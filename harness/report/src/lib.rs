//! Reports: one stream of [`Event`]s, and printers of it.
//!
//! A run makes events ([`describe`] turns verdicts into them) and writes them with a [`Writer`]; the terminal
//! ([`Human`]), [`Junit`], [`html`] and [`markdown`] are printers of the same stream, so a stored stream ([`read`])
//! can be printed again tomorrow, in another format.
//!
//! Left out: standard output, files and the progress bar (`conch-cli`).
//!
//! Invariants: a printer sees events and nothing else; text from kernels and case files is escaped in HTML and XML.
#![warn(missing_docs)]

pub mod describe;
pub mod digest;
pub mod event;
mod html;
mod human;
mod junit;
mod markdown;
mod stream;
mod style;

pub use digest::Digest;
pub use event::{Event, FORMAT, SWEEPS, Summary};
pub use html::{HtmlError, html};
pub use human::{Human, rules, table};
pub use junit::{Junit, JunitError};
pub use markdown::markdown;
pub use stream::{ReadError, Writer, read};
pub use style::{Palette, Tone};
