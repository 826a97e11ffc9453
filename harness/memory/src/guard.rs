//! Guard zones: bytes around each storage, in which an access out of bounds shows. [`crate::Memory`] lays them out.

/// Bytes of guard zone before a storage, and at least as many after it.
pub const GUARD: usize = 512;

/// The content of guard zones.
pub const GUARD_BYTE: u8 = 0xC7;
