//! Operations that `triton/language/semantic.py` expands to several others. The interpreter and the compiler both run that file,
//! so its expansions have one witness. `docs/internals/expansions.md` lists them by version, as a script reads them from the
//! wheels. Conversions of operands are not included, because nearly every operation has them; nor are offsets that are subtracted
//! from pointers.

use cerith_tile::DType;
use cerith_tile::rules::Version;

/// The operands that an expansion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    All,
    Floats,
    Integers,
}

const FIRST: Version = Version::new(3, 0, 0);
const NEVER: Option<Version> = None;

/// Names as a kernel uses them, the operands, and the versions: from the first, to before the second.
const EXPANDED: [(&str, Operands, Version, Option<Version>); 14] = [
    ("tl.atomic_max", Operands::Floats, FIRST, NEVER),
    ("tensor.atomic_max", Operands::Floats, FIRST, NEVER),
    ("tl.atomic_min", Operands::Floats, FIRST, NEVER),
    ("tensor.atomic_min", Operands::Floats, FIRST, NEVER),
    ("tl.clamp", Operands::All, Version::new(3, 9, 0), NEVER),
    ("tl.device_assert", Operands::All, Version::new(3, 5, 0), NEVER),
    ("tensor.__invert__", Operands::All, FIRST, NEVER),
    ("tensor.__not__", Operands::All, FIRST, NEVER),
    ("tensor.logical_and", Operands::All, FIRST, NEVER),
    ("tensor.logical_or", Operands::All, FIRST, NEVER),
    (
        "tensor.__neg__",
        Operands::All,
        FIRST,
        Some(Version::new(3, 8, 0)),
    ),
    // A float has a negation of its own since then.
    ("tensor.__neg__", Operands::Integers, Version::new(3, 8, 0), NEVER),
    (
        "tensor.__mod__",
        Operands::Floats,
        FIRST,
        Some(Version::new(3, 3, 0)),
    ),
    (
        "tensor.__rmod__",
        Operands::Floats,
        FIRST,
        Some(Version::new(3, 3, 0)),
    ),
];

/// Whether `semantic.py` of a version makes this operation, on operands of this dtype, of others.
pub(super) fn is_expanded(name: &str, dtype: Option<DType>, version: Version) -> bool {
    EXPANDED.iter().any(|&(known, operands, from, to)| {
        known == name
            && match operands {
                Operands::All => true,
                Operands::Floats => dtype.is_none_or(DType::is_float),
                Operands::Integers => !dtype.is_some_and(DType::is_float),
            }
            && from <= version
            && to.is_none_or(|to| version < to)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_atomics_are_expanded_and_integer_ones_are_not() {
        let check = |name: &str, dtype: DType, version: Version, expected: bool| {
            assert_eq!(
                is_expanded(name, Some(dtype), version),
                expected,
                "{name} {dtype} {version}"
            );
        };
        let newest = Version::new(3, 9, 0);
        check("tl.atomic_max", DType::F32, newest, true);
        check("tl.atomic_max", DType::I32, newest, false);
        check("tl.atomic_add", DType::F32, newest, false);
        check("tensor.__neg__", DType::I32, newest, true);
        check("tensor.__neg__", DType::F32, newest, false);
        check("tensor.__neg__", DType::F32, Version::new(3, 6, 0), true);
        check("tl.clamp", DType::F32, newest, true);
        check("tl.clamp", DType::F32, Version::new(3, 8, 0), false);
        check("tensor.__mod__", DType::F32, Version::new(3, 2, 0), true);
        check("tensor.__mod__", DType::F32, Version::new(3, 3, 1), false);
    }
}
