//! The checks of the reference, a module for each: the state it needs, and its messages. The operations decide when to run
//! a check ([`crate::machine`]).
//!
//! Limits: of conflicting values, one that equals the old value may be missed. `order` and `unordered` have limits of their own.

pub(crate) mod alignment;
pub(crate) mod bounds;
pub(crate) mod conflicting_lanes;
pub(crate) mod division;
pub(crate) mod divisions;
pub(crate) mod happens_before;
pub(crate) mod init;
pub(crate) mod mask;
pub(crate) mod masked_loads;
pub(crate) mod poison;
pub(crate) mod promise;
pub(crate) mod race;
pub(crate) mod unordered;
pub(crate) mod view;
pub(crate) mod wait;

use cerith_memory::element_text::describe_element;
use cerith_memory::{Memory, StorageByte, Tensor};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{Function, LocId};

use crate::outcome::{Stop, Trap, TrapKind};

/// The location of execution, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    pub function: &'a Function,
    pub loc: LocId,
    pub program: [u32; 3],
    /// Whether the operation is on scalars, so that there is no lane to name.
    pub scalar: bool,
}

impl Site<'_> {
    /// Stops the program.
    pub(crate) fn trap(self, kind: TrapKind, lane: Option<usize>, diagnostic: Diagnostic) -> Stop {
        let lane = lane.filter(|_| !self.scalar);
        Stop::Trap(Box::new(Trap {
            kind,
            program: self.program,
            lane,
            diagnostic,
        }))
    }

    /// A message about the operation, with the calls it was inlined at.
    pub(crate) fn build_diagnostic(
        self,
        kind: TrapKind,
        lane: Option<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        let stack = self.function.call_stack(self.loc);
        let span = self.function.call_stack(self.loc).next().unwrap_or_default();
        let place = match lane.filter(|_| !self.scalar) {
            Some(lane) => format!("in program {}, lane {lane}", program_id(self.program)),
            None => format!("in program {}", program_id(self.program)),
        };
        let mut diagnostic = Diagnostic::error(kind.code(), span, message).label_primary(place);
        for call in stack.skip(1) {
            diagnostic = diagnostic.label(call, "called here");
        }
        diagnostic
    }

    /// A message about a program with a defined result.
    pub(crate) fn build_warning(
        self,
        kind: TrapKind,
        lane: Option<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.build_diagnostic(kind, lane, message).into_warning()
    }
}

/// A program id as Triton prints it.
pub(crate) fn program_id([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// The kind of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store,
    Atomic,
}

impl Access {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
        }
    }
}

/// The storage that a pointer was made from, as a range of distances from [`cerith_memory::ORIGIN`], and the tensor it came as. These are
/// arena indices unless the storage is sparse.
#[derive(Clone, Debug)]
pub struct Home {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The end in the arena; 0 if the storage is sparse.
    pub(crate) arena_end: usize,
    /// Whether the storage is sparse.
    pub(crate) sparse: bool,
    /// The storage.
    pub storage: cerith_memory::StorageId,
    /// The tensor's name.
    pub(crate) name: Option<String>,
    pub(crate) tensor: Option<Tensor>,
}

impl Home {
    /// Its name in messages.
    fn describe(&self, memory: &Memory) -> String {
        let storage = memory.name(self.storage);
        let bytes = describe_bytes((self.end - self.start) as u64);
        match &self.name {
            Some(tensor) if tensor != storage => {
                format!("the pointer was made from tensor `{tensor}` in storage `{storage}` of {bytes}")
            }
            _ => format!("the pointer was made from storage `{storage}` of {bytes}"),
        }
    }

    /// The tensor with its name, if both are known.
    pub(crate) fn named_tensor(&self) -> Option<(&str, &Tensor)> {
        self.name.as_deref().zip(self.tensor.as_ref())
    }
}

/// A number of bytes in words.
pub(crate) fn describe_bytes(count: u64) -> String {
    if count == 1 {
        "1 byte".to_owned()
    } else {
        format!("{count} bytes")
    }
}

/// The maximum number of tensors that are named for one byte.
const MAX_NAMED: usize = 3;

/// The place of an address in words: `byte 12 of storage x, in x[3]`, with the elements of the case's tensors that have it.
fn place(memory: &Memory, address: u64) -> Option<String> {
    let place = memory.find(address)?;
    let StorageByte { storage, offset } = place;
    let byte = format!("byte {offset} of storage `{}`", memory.name(storage));
    let mut tensors = memory
        .tensors_at(place)
        .map(|(named, index)| format!("`{}`", describe_element(&named.name, &index)));
    let named: Vec<String> = tensors.by_ref().take(MAX_NAMED).collect();
    let more = tensors.count();
    Some(match (named.as_slice(), more) {
        ([], _) => byte,
        ([one], _) => format!("{byte}, in {one}"),
        ([others @ .., last], 0) => format!("{byte}, in {} and {last}", others.join(", ")),
        (named, 1) => format!("{byte}, in {} and 1 more tensor", named.join(", ")),
        (named, more) => format!("{byte}, in {} and {more} more tensors", named.join(", ")),
    })
}

/// The storage that has an address, by name.
pub(crate) fn storage_at(memory: &Memory, address: u64) -> Option<&str> {
    memory.find(address).map(|place| memory.name(place.storage))
}

/// The storage that has an arena index, by name.
pub(crate) fn storage_at_index(memory: &Memory, index: usize) -> Option<&str> {
    storage_at(memory, memory.address_at(index))
}

/// The place of an arena index in words.
pub(crate) fn place_at(memory: &Memory, index: usize) -> String {
    place_at_address(memory, memory.address_at(index))
}

/// The place of an address in words. It may be outside of all storages.
pub(crate) fn place_at_address(memory: &Memory, address: u64) -> String {
    place(memory, address).unwrap_or_else(|| "no storage".to_owned())
}
