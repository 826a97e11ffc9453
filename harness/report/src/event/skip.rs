//! Which fields hold nothing and are left out of the stream.

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) const fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) const fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) const fn is_zero_u64(value: &u64) -> bool {
    *value == 0
}
