//! Tensor maps, and the bytes that bulk copies move. [`crate::machine`] decides when they move, and checks their addresses.
//!
//! - `map`: a tensor map, which a host encodes or a kernel builds with `tensormap.replace`.
//! - `copy`: the pieces of a copy.
//! - `device`: the instructions that build a tensor map.
//! - `reduction`: how a reduction combines two elements.

pub(crate) mod copy;
mod device;
pub(crate) mod map;
pub(crate) mod reduction;
