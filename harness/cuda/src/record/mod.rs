//! Recorded outcomes of real GPUs, for machines without a GPU.
//!
//! A [`RecordStore`] is a folder (`snapshots/cuda`) with a file for each kind of GPU and each case file:
//! `sm_90/alias/same_twice.snap`, in the form of an insta snapshot, so that `cargo insta review` shows pending changes. Its body
//! is one JSON object per line: first who ran it ([`Provenance`]), then each case's outcome, with the versions of Triton that
//! have it (`"of":[["3.9.0","30dd6a663ab8356f",0]]`: the version, the beginning of the hash of its machine code, and who ran it).
//! `3.9.0:sm_80` compiled for a GPU other than the one that executed ([`Release`]). A version with a different outcome has a line
//! of its own, beside it.
//!
//! Before all releases shared a file, each release had a folder (`3.9.0-sm_90/alias/same_twice.snap`), and each record named its
//! machine code and who ran it (`"cubin":"30dd6a663ab8356f","by":0`). Such files can still be read. Accepted records are written
//! to the shared file, which takes precedence.
//!
//! A record holds for the kernel source and the layout whose hashes it carries. With other hashes it is stale, and is not used.
//! It keeps only the runs of bytes that the launches changed.
//!
//! A record remembers whether it agreed with the reference when it was accepted. In a file with a line `{"agreed":true}`, records
//! that do not say agreed; the others say `"agreed":"no"`, `"undecided"` (nothing differed, but some bytes could not be decided),
//! or `"unknown"`.
//!
//! See `cerith-verdict` for whether a record is right: it judges records like any other outcome.

mod book;
mod change;
mod entry;
mod release;
mod selfcheck;
mod store;

pub use self::change::ChangeError;
pub use self::entry::{Provenance, Record, normalize_message};
pub use self::release::{BadRelease, Release};
pub use self::selfcheck::{RecordsError, check_records};
pub use self::store::{Filed, Missing, RecordStore, StoreError};

#[cfg(test)]
mod tests;
