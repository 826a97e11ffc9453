//! Reports: one stream of [`Event`]s, and printers of it.
//!
//! A run makes events ([`describe`] turns verdicts into them) and writes them with a [`Writer`]; the terminal
//! ([`Human`]), [`Junit`], [`Html`], [`Remarks`] and [`render_markdown`] are printers of the same stream, so a stored stream ([`read`])
//! can be printed again tomorrow, in another format.
//!
//! ```
//! use cerith_report::{Event, Human, read};
//!
//! let stream = r#"{"event":"verdict","case":"alias/twice","engines":["reference","interpret@3.1.0"],"verdict":"differ","blame":["interpret@3.1.0"],"expected":false,"seconds":{}}
//! {"event":"summary","cases":1,"agree":0,"differ":1,"undefined":0,"inconclusive":0,"unexpected":1,"seconds":0.1,"exit":1}
//! "#;
//! let (mut printer, mut text, mut code) = (Human::default(), String::new(), 0);
//! let end = read(stream.as_bytes(), |event| {
//!     text.push_str(&printer.render_event(&event));
//!     if let Event::Summary(summary) = event {
//!         code = summary.exit_code();
//!     }
//! })
//! .unwrap();
//! assert!(!end.cut, "its last line is whole");
//! assert!(text.contains("alias/twice") && text.contains("interpret@3.1.0"));
//! assert_eq!(code, 1);
//! ```
//!
//! A program that brings its own cases and wants verdicts begins with the crate `cerith-embed`, whose example is on one page
//! (`cargo run -p cerith-embed --example embed`).
//!
//! The `cerith` command handles standard output, files and the progress bar.
//!
//! Invariants: a printer sees events and nothing else; text from kernels and case files is escaped in HTML and XML.
#![warn(missing_docs)]

pub mod baseline;
pub mod bump;
mod bytes;
mod completeness;
pub mod correctness;
pub mod describe;
pub mod digest;
pub mod event;
mod html;
mod human;
mod joined;
mod junit;
mod markdown;
pub mod matrix;
mod merge;
mod page;
mod remarks;
pub mod safe;
mod silence;
mod stream;
mod style;
mod tile;

pub use baseline::{Baseline, BaselineError};
pub use bytes::{in_words, left_out};
pub use completeness::StreamEnd;
pub use digest::Digest;
pub use event::{Event, FORMAT, SWEEPS, Summary};
pub use html::{Html, HtmlError};
pub use human::{Human, KnownDetail, describe_rules, quote_for_shell, render_elements};
pub use joined::{Ended, Joined};
pub use junit::{Junit, JunitError};
pub use markdown::render_markdown;
pub use merge::{Merge, Merged, NothingToMerge};
pub use page::{PageCase, PageError, render_page};
pub use remarks::Remarks;
pub use stream::{ReadError, Writer, read, read_event};
pub use style::{Palette, Tone};
pub use tile::{Cell, Tile, build_tiles};
