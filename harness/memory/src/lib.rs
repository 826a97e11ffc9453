//! Storages, tensors and torch's view operations over them, and the address space that a launch runs in.
//!
//! - [`Storage`] owns bytes, [`Tensor`] is a view of one; [`Storages`] is the set that a case is built in. View
//!   operations are methods of [`Tensor`] (module [`view`]), operations that may copy are methods of [`Storages`]
//!   (module `copy`); both have torch's meaning and torch's errors ([`TorchError`]).
//! - [`overlap`] says exactly which bytes two tensors share.
//! - [`Memory`] lays storages out in a virtual address space with guard zones between them and maps an address back
//!   to a place, which is what the reference interpreter and every engine's outcome speak in.
//!
//! Left out: expressions over tensors (`conch-case`), execution (`conch-interp`), devices (`conch-engine`).
//!
//! Invariants: no IO; no panic on any input, whatever its size or sign; a [`Tensor`] that these operations made never
//! reaches outside of its storage; copies are new storages, and a storage's bytes never move or shrink.
#![warn(missing_docs)]

mod copy;
mod error;
mod format;
mod memory;
pub mod overlap;
mod storage;
mod tensor;
pub mod view;

pub use error::TorchError;
pub use memory::{Fault, GUARD, GUARD_BYTE, Memory, NamedTensor, ORIGIN, Place};
pub use storage::{
    ALIGNMENT, ByteState, MAX_BYTES, Pointer, Storage, StorageId, Storages, TooLarge, UNINIT_BYTE,
};
pub use tensor::{Dims, Tensor};
pub use view::Index;
