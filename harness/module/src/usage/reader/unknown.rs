//! Values that are not sums of products: each is one unknown, identified by its text. See [`super`] for where they
//! come from.

use ruff_python_ast::Operator;

use super::super::polynomial::{Atom, Polynomial};

/// A value that is not a sum of products: known again by its text.
pub(super) fn build_unknown(text: String, of: &[Polynomial]) -> Polynomial {
    let programs = of.iter().flat_map(Polynomial::programs).collect();
    let loaded = of.iter().flat_map(Polynomial::atoms).find_map(|atom| match atom {
        Atom::Other { loaded, .. } => loaded.clone(),
        _ => None,
    });
    Polynomial::from_atom(Atom::Other {
        text: shorten(text),
        programs,
        below: None,
        part: None,
        loaded,
    })
}

/// The axis whose program id a value is, or is a part of.
fn program_of(value: &Polynomial) -> Option<u8> {
    match value.as_atom()? {
        Atom::Program(axis) => Some(*axis),
        Atom::Other { part, .. } => *part,
        Atom::Param(_) | Atom::Lane(_) | Atom::Turn(_) => None,
    }
}

/// The result of an operator on two values.
pub(super) fn apply_operator(op: Operator, a: &Polynomial, b: &Polynomial) -> Polynomial {
    let sum = match op {
        Operator::Add => a.plus(b),
        Operator::Sub => a.minus(b),
        Operator::Mult => a.times(b),
        Operator::Mod => {
            let mut programs = a.programs();
            programs.extend(b.programs());
            return Polynomial::from_atom(Atom::Other {
                text: shorten(format!("{a:?} % {b:?}")),
                programs,
                below: Some(Box::new(b.clone())),
                part: program_of(a),
                loaded: None,
            });
        }
        Operator::FloorDiv if program_of(a).is_some() && b.as_number() != Some(1) => {
            return Polynomial::from_atom(Atom::Other {
                text: shorten(format!("{a:?} // {b:?}")),
                programs: a.programs(),
                below: None,
                part: program_of(a),
                loaded: None,
            });
        }
        _ => None,
    };
    sum.unwrap_or_else(|| build_unknown(format!("{a:?} {op:?} {b:?}"), &[a.clone(), b.clone()]))
}

/// A text, or its hash where it is long: the text of a value is made of those of others, and would double with every line.
pub(super) fn shorten(text: String) -> String {
    const MAX_LENGTH: usize = 64;
    if text.len() <= MAX_LENGTH {
        return text;
    }
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
