//! Guesses from the names of parameters, if the launcher's text determines nothing: whether a tensor holds integers, and a value for a
//! number.

use super::plan::Scalar;

/// Words of names of integer tensors.
const INTEGER_NAMES: [&str; 17] = [
    "ids",
    "idx",
    "index",
    "indices",
    "indexes",
    "labels",
    "label",
    "target",
    "targets",
    "lengths",
    "seqlens",
    "seqlen",
    "offsets",
    "lens",
    "positions",
    "table",
    "tables",
];

/// Whether a tensor of this name holds integers.
pub(super) fn names_integers(name: &str) -> bool {
    name.split(['_', '.']).any(|word| INTEGER_NAMES.contains(&word))
}

/// A value for a parameter that is a number, by its name.
pub(super) fn guess_number(name: &str) -> Scalar {
    let lower = name.to_lowercase();
    let word = |wanted: &[&str]| lower.split(['_', '.']).any(|word| wanted.contains(&word));
    if word(&["eps", "epsilon"]) {
        Scalar::Float(1e-5)
    } else if word(&[
        "scale",
        "alpha",
        "beta",
        "gamma",
        "p",
        "prob",
        "lr",
        "momentum",
        "slope",
        "smoothing",
        "softcap",
        "temperature",
        "decay",
        "theta",
        "dropout",
    ]) {
        Scalar::Float(0.5)
    } else if word(&["block", "size", "chunk", "bt", "bs"]) {
        Scalar::Int(16)
    } else if word(&["bits", "nbits"]) {
        Scalar::Int(4)
    } else if word(&["seqlen", "len", "length"]) {
        // At least as long as the sizes that tensors are tried with: a loop up to it reaches all of their elements.
        Scalar::Int(64)
    } else if word(&["seed"]) {
        Scalar::Int(7)
    } else if word(&["dim", "axis"]) {
        Scalar::Int(-1)
    } else {
        Scalar::Int(4)
    }
}
