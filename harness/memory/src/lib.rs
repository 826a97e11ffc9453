//! Storages, tensors and torch's view operations over them, and the address space that a launch runs in.
//!
//! - [`Storage`] owns bytes, [`Tensor`] is a view of one; [`Storages`] is the set that a case is built in. View
//!   operations are methods of [`Tensor`] (module [`view`]), operations that may copy are methods of [`Storages`]
//!   (module `copy`); both have torch's meaning and torch's errors ([`TorchError`]).
//! - [`element_text`] names elements in words, for messages.
//! - [`overlap`] computes exactly which bytes two tensors share.
//! - A storage of any size can be *sparse*: its content is a [`Rule`], and a launch computes only the pages that it touches.
//! - [`Memory`] lays storages out in a virtual address space with guard zones between them, and maps an address back to a
//!   place, the unit of the reference interpreter and of every engine's outcome.
//!
//! ```
//! use cerith_memory::{Index, Memory, NamedTensor, Storages, overlap};
//! use cerith_tile::DType;
//!
//! let mut storages = Storages::new();
//! let x = storages.allocate("x", DType::F32, &[4, 6]).unwrap();
//! let halves = x.split(3, 1).unwrap();
//! assert_eq!((halves[1].strides.as_slice(), halves[1].offset), ([6, 1].as_slice(), 3));
//! assert_eq!(overlap::overlaps(&halves[0], &halves[1]), Some(false));
//! assert_eq!(x.view(&[5, 5]).unwrap_err().to_string(), "shape '[5, 5]' is invalid for input of size 24");
//!
//! // The addresses of a launch.
//! let row = x.index(&[Index::At(2)]).unwrap();
//! let memory = Memory::new(&storages, vec![NamedTensor { name: "row".into(), tensor: row.clone() }]);
//! let place = memory.find(memory.address_of(&row) + 4).unwrap();
//! assert_eq!(place.offset, 2 * 6 * 4 + 4);
//! let (named, at) = memory.tensors_at(place).next().unwrap();
//! assert_eq!((named.name.as_str(), at.as_slice()), ("row", [1].as_slice()));
//! ```
//!
//! See `cerith-case` for expressions over tensors, `cerith-interp` for execution, and `cerith-engine` for devices.
//!
//! Invariants: no IO; no panic on any input, of any size or sign; a [`Tensor`] from these operations never reaches
//! outside its storage; copies are new storages, and a storage's bytes never move or shrink.
#![warn(missing_docs)]

mod copy;
pub mod element_text;
mod error;
mod guard;
mod memory;
mod memory_format;
pub mod overlap;
mod sparse;
mod storage;
mod tensor;
pub mod view;

pub use error::TorchError;
pub use guard::{GUARD, GUARD_BYTE};
pub use memory::{Fault, Memory, NamedTensor, Part, PartMut, StorageByte, TooManyPages};
pub use sparse::{Content, MAX_RESIDENT_BYTES, MAX_SPARSE_BYTES, PAGE, Rule};
pub use storage::{
    ALIGNMENT, ByteState, MAX_BYTES, ORIGIN, Pointer, ReadBytes, Storage, StorageId, Storages, TooLarge,
    UNINIT_BYTE,
};
pub use tensor::{Dims, Tensor};
pub use view::Index;
