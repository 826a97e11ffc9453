//! Arithmetic of values that are known while tracing, with Python's meaning. Left out: tensors (`semantic`).

/// Python's binary operators, `@` left out: Triton has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PyBinary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`
    Pow,
    /// `<<`
    LShift,
    /// `>>`
    RShift,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
}
