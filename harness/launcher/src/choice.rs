//! Which inputs a launcher is evaluated with, if neither it nor its kernel decides them.

/// The inputs of launchers that nothing decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct InputChoice {
    /// Whether sizes are small, for launches that take too long otherwise.
    pub is_small: bool,
    /// Whether small sizes fit in one block, for launches that still take too long.
    pub is_tiny: bool,
    /// Whether tensors of three or more dimensions have the same leading sizes, as callers often pass them, and tensors whose names
    /// belong together (`x` and `target_x`) have the same shape and dtype.
    pub is_uniform: bool,
    /// Whether integers of a tensor are distinct indices of the leading dimensions, as those of scattered rows are. Otherwise they are
    /// indices of every dimension.
    pub is_scattered: bool,
    /// Whether floats are `float16`.
    pub is_half: bool,
    /// Whether tensors are passed that the kernel accesses, although the launcher's default is `None`.
    pub is_complete: bool,
}
