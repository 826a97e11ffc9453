//! The options of a launch. See [`crate::Program::launch`] for the launch itself.

use cerith_memory::{Memory, StorageId, Tensor};

use crate::order::Order;
use crate::watch::Watch;

/// The checks of a launch. Accesses stay inside storages with any of them. Without a check, undefined behaviour has a result
/// that other engines may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Checks {
    /// Everything: also races between programs, conflicting lanes of one store, and false promises.
    #[default]
    Full,
    /// Checks that cost almost nothing: bounds, alignment, uninitialised and poison use, division.
    Fast,
}

/// In which order elements are combined by a function that is not well known. The language leaves it open: a reduction may
/// combine any elements first, in either position; a scan keeps the elements' order, and leaves the brackets open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Combining {
    /// The interpreter's own.
    #[default]
    Own,
    /// The first half with the second, repeatedly, as threads do that exchange their values. Scans as threads do: with the
    /// elements at distance 1, 2, 4, … before.
    Halves,
    /// Halves from the other thread's side: the second half with the first.
    Turned,
    /// Neighbours, again and again.
    Neighbours,
    /// From the first to the last. Scans are those of [`Combining::Halves`].
    Forwards,
    /// From the last to the first. Scans likewise.
    Backwards,
    /// A tree that this number names, over the elements in any order; of a scan, brackets that it names.
    Random(u32),
    /// Levels that this number names: halves or neighbours, so that the first element stays on the left of all others and the last on
    /// the right. Scans are those of [`Combining::Random`].
    RandomLevels(u32),
    /// From the first to the last, but in a row whose elements a function chooses among by a key
    /// ([`cerith_tile::ir::Choice`]), those whose key is NaN come first. That row is in reverse.
    NanFirst,
    /// Like [`Combining::NanFirst`], with NaN keys last and without the reversal. The two choose different elements in a
    /// row with a NaN.
    NanLast,
}

/// The implementation that adds floats along an axis and computes functions of them, if the language leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Numerics {
    /// The interpreter itself.
    #[default]
    Own,
    /// NumPy, as in Triton's interpreter, as far as a conforming implementation may do the same
    /// ([`cerith_tile::numeric::numpy`]).
    Numpy,
}

/// The reaction to an access inside of the storage, but outside of the tensor that the pointer was passed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Leaving {
    /// Nothing, which costs nothing.
    #[default]
    Silent,
    /// A remark, once for each operation.
    Remarked,
}

/// The reaction to a load or a store outside of the storage that its pointer may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OutOfBounds {
    /// The launch ends.
    #[default]
    Trapped,
    /// A remark, once for each operation, and the launch goes on as if these lanes were masked off. So one launch shows the faults
    /// that the first one hides.
    Skipped,
}

/// Options and limits of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Config<'w> {
    /// The checks to run.
    pub checks: Checks,
    /// In which order programs run.
    pub order: Order,
    /// The number of the only program to run; all run if it is `None`. The program has the same effect as in the whole
    /// launch if it reads nothing that others write; the caller must know that.
    pub only_program: Option<u64>,
    /// In which order elements are combined.
    pub combining: Combining,
    /// The implementation that adds floats and computes functions of them.
    pub numerics: Numerics,
    /// Whether lanes that a load masks off are zero without an `other`, as in code compiled for NVIDIA. Otherwise they are
    /// undefined, as in the language.
    pub masked_zero: bool,
    /// The reaction to accesses inside of the storage, but outside of the tensor that the pointer was passed as.
    pub leaving: Leaving,
    /// The reaction to loads and stores outside of storages. Atomics always end the launch.
    pub out_of_bounds: OutOfBounds,
    /// Whether accesses need not be aligned, as on a CPU.
    pub unaligned: bool,
    /// Whether `tl.device_assert` is active. Compiled kernels have it only with `debug=True` or `TRITON_DEBUG=1`.
    pub device_asserts: bool,
    /// The maximum work of a launch: one unit for each operation and lane, and a constant for each program.
    pub fuel: u64,
    /// The maximum work of one program. It ends an endless loop, for any grid.
    pub program_fuel: u64,
    /// The maximum number of bytes of values that may live at a time.
    pub memory_limit: usize,
    /// The maximum number of bytes that `tl.device_print` may write.
    pub print_limit: usize,
    /// The number of threads for programs that share no byte. It affects only the time.
    pub threads: u32,
    /// The least work, in units of fuel, of a launch that is shared out among threads: threads take time to start, and
    /// each has its own copy of the memory. With 0, every launch is that can be.
    pub share_work: u64,
    /// The external limits: a stop flag or a clock.
    pub watch: Watch<'w>,
}

impl Config<'_> {
    /// The places, in the order of programs, of those that run, of so many.
    pub fn program_range(&self, programs: u64) -> std::ops::Range<u64> {
        match self.only_program {
            Some(only) => only.min(programs)..only.saturating_add(1).min(programs),
            None => 0..programs,
        }
    }
}

impl Default for Config<'_> {
    fn default() -> Self {
        Self {
            checks: Checks::Full,
            order: Order::Ascending,
            only_program: None,
            combining: Combining::Own,
            numerics: Numerics::Own,
            masked_zero: false,
            leaving: Leaving::Silent,
            out_of_bounds: OutOfBounds::Trapped,
            unaligned: false,
            device_asserts: false,
            fuel: 1 << 33,
            program_fuel: u64::MAX,
            memory_limit: 1 << 30,
            print_limit: 16 << 20,
            threads: 1,
            share_work: 1 << 23,
            watch: Watch::default(),
        }
    }
}

/// The value of one kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamValue {
    /// The bits of a number, in the parameter's own dtype.
    Number(u64),
    /// An address. Accesses through it must stay inside of `storage`, where that is given.
    Pointer {
        /// The address, as [`Memory::address_of`] gives it.
        address: u64,
        /// The storage that the pointer was made from. `None` for null and wild pointers: whatever storage such a
        /// pointer hits may be accessed through it.
        storage: Option<StorageId>,
        /// The tensor's name, for messages.
        name: Option<String>,
        /// The tensor that it is the address of, if the caller knows it.
        tensor: Option<Tensor>,
    },
}

impl ParamValue {
    /// A tensor: the address of its first element.
    pub fn tensor(memory: &Memory, tensor: &Tensor, name: impl Into<String>) -> Self {
        Self::Pointer {
            address: memory.address_of(tensor),
            storage: Some(tensor.storage),
            name: Some(name.into()),
            tensor: Some(tensor.clone()),
        }
    }
}
