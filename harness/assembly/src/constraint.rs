//! The constraints of assembly (`"=r,=h,r,n"`): which kind of register each operand is in. Left out: what LLVM offers beyond what
//! kernels for NVIDIA's GPUs use.

/// The constraints of a snippet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Constraints {
    /// Of the results.
    pub outputs: Vec<Place>,
    /// Of the operands.
    pub inputs: Vec<Place>,
}

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a register of so many bits; a predicate has 1.
    Register(u32),
    /// In the text itself: a number that is known.
    Number,
    /// In the register of a result.
    Tied(usize),
}

/// Reads constraints. The error is the one that was not understood.
pub(crate) fn parse(text: &str) -> Result<Constraints, String> {
    let mut constraints = Constraints::default();
    for constraint in text
        .split(',')
        .map(str::trim)
        .filter(|constraint| !constraint.is_empty())
    {
        if constraint.starts_with("~{") {
            continue;
        }
        let unknown = || format!("the constraint `{constraint}`");
        match constraint.strip_prefix('=') {
            Some(output) => {
                let place = place(output.trim_start_matches('&')).ok_or_else(unknown)?;
                let Place::Register(_) = place else {
                    return Err(unknown());
                };
                constraints.outputs.push(place);
            }
            None => constraints.inputs.push(place(constraint).ok_or_else(unknown)?),
        }
    }
    Ok(constraints)
}

fn place(constraint: &str) -> Option<Place> {
    Some(match constraint {
        "b" => Place::Register(1),
        "h" => Place::Register(16),
        "r" | "f" => Place::Register(32),
        "l" | "d" => Place::Register(64),
        "n" | "i" => Place::Number,
        digits => Place::Tied(digits.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_read() {
        let read = parse("=r,=&h, r,l,n,0,~{memory}").expect("known ones");
        assert_eq!(read.outputs, [Place::Register(32), Place::Register(16)]);
        let inputs = [
            Place::Register(32),
            Place::Register(64),
            Place::Number,
            Place::Tied(0),
        ];
        assert_eq!(read.inputs, inputs);
        assert_eq!(parse("=v,v"), Err("the constraint `=v`".to_owned()));
    }
}
