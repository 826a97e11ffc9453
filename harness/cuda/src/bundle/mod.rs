//! Cases on their way to a GPU's host, and results on their way back: two kinds of file, one container.
//!
//! # The container, version 2
//!
//! All numbers are little endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `89 'C' 'E' 'R' 'I' 'T' 0D 0A`: a bundle, and not mangled as text |
//! | u32 | the format's version, 2 |
//! | u32 | what is in it: 1 cases, 2 results |
//! | … | sections, to the end of the file |
//!
//! A section is
//!
//! | bytes | what |
//! |---|---|
//! | u32 | bytes stored |
//! | u32 | bytes when unpacked |
//! | 32 | BLAKE3 of the section's number (u64, from 0) and the stored bytes |
//! | … | a zlib stream of a frame: u32 length of the header, u64 length of the blobs, header, blobs |
//!
//! The header is JSON, an object with one key that says what the section is:
//!
//! - `opening`, always the first: what made the file and when; in results also on which GPU ([`Provenance`]),
//!   if there are `results` sections;
//! - `kernels`: metadata of kernels, numbered through the whole file, in the order of the blobs, their cubins. A kernel
//!   is stored once, before the first case that launches it, however many do. Assembly and IR stay at home;
//! - `cases`: for every case its names, digests and [`cerith_engine::job::Job`]; the blobs are the arenas;
//! - `results`: for every case its names, digests and [`cerith_engine::job::Ran`]; the blobs are the arenas, each followed
//!   by its other one if repetitions differed;
//! - `decided`: cases that ended when they were compiled, with their records. They go into a bundle of cases and come back in the
//!   bundle of results;
//! - `notes`: variants of cases that need not be executed, and why ([`Note`]); they travel as `decided` does. From version
//!   2 on, as are the variants in names;
//! - `end`, always the last: how many entries there are. A file without it is cut short.
//!
//! Version 1 has no variants, and is read. So are files that begin with the project's old name.
//!
//! A reader rejects unknown content, a section of more than [`MAX_SECTION`] bytes, a wrong checksum, inconsistent numbers, and
//! data after the end. It never allocates memory for a claimed length before the bytes are there.
//!
//! See `cerith-cli` for which cases go in, and `cerith-verdict` for how results are judged.

mod format;
mod read;
mod write;

pub use self::format::{
    BundleError, CaseEntry, Decided, Kind, Label, MAX_SECTION, Note, Opening, Provenance, ResultEntry,
    Unexecuted, VERSION,
};
pub use self::read::Reader;
pub use self::write::Writer;

#[cfg(test)]
mod tests;
