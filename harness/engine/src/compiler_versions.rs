//! Rules by version for the IR that Triton's compiler writes: columns, names of dtypes, parameters of descriptors. Rules of the language
//! are in [`cerith_tile::rules`].

use cerith_tile::rules::Version;

/// The number of a line's first column: 1 in 3.9.0, 0 in 3.6.0.
pub(crate) fn first_column(version: Version) -> u32 {
    u32::from(version >= Version::new(3, 7, 0))
}

/// Whether `fp8e4nv` is MLIR's `f8E4M3FN`. Before, it had the name that is now only of AMD's dtype.
pub(crate) fn has_own_fp8_name(version: Version) -> bool {
    version >= Version::new(3, 2, 0)
}

/// How many flags a tensor descriptor has as a parameter of a kernel: whether elements outside of its tensor are NaN, then whether
/// it rounds to tf32.
pub(crate) fn count_descriptor_flags(version: Version) -> usize {
    let since = [Version::new(3, 5, 0), Version::new(3, 7, 0)];
    since.into_iter().filter(|since| version >= *since).count()
}
