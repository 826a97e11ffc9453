//! Which fields hold nothing and are left out of the stream.

/// Whether a field has the value that a reader takes for a field that is left out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
