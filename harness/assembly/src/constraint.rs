//! Parses the constraints of assembly (`"=r,=h,r,n"`): the kind of register of each operand. Only LLVM's constraints in
//! kernels for NVIDIA GPUs are supported.

/// The constraints of a snippet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Constraints {
    /// The constraints of the results.
    pub outputs: Vec<OperandKind>,
    /// The constraints of the operands.
    pub inputs: Vec<OperandKind>,
}

/// The kind of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandKind {
    /// A register with this many bits; a predicate has 1.
    Register(u32),
    /// An immediate: a constant in the text.
    Number,
    /// The same register as a result.
    Tied(usize),
}

/// An unsupported constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the constraint `{0}`")]
pub(crate) struct UnknownConstraint(String);

/// Parses constraints. The error is the first unsupported one.
pub(crate) fn parse(text: &str) -> Result<Constraints, UnknownConstraint> {
    let mut constraints = Constraints::default();
    for constraint in text
        .split(',')
        .map(str::trim)
        .filter(|constraint| !constraint.is_empty())
    {
        if constraint.starts_with("~{") {
            continue;
        }
        let unknown = || UnknownConstraint(constraint.to_owned());
        match constraint.strip_prefix('=') {
            Some(output) => {
                let place = place(output.trim_start_matches('&')).ok_or_else(unknown)?;
                let OperandKind::Register(_) = place else {
                    return Err(unknown());
                };
                constraints.outputs.push(place);
            }
            None => constraints.inputs.push(place(constraint).ok_or_else(unknown)?),
        }
    }
    Ok(constraints)
}

fn place(constraint: &str) -> Option<OperandKind> {
    Some(match constraint {
        "b" => OperandKind::Register(1),
        "h" => OperandKind::Register(16),
        "r" | "f" => OperandKind::Register(32),
        "l" | "d" => OperandKind::Register(64),
        "n" | "i" => OperandKind::Number,
        digits => OperandKind::Tied(digits.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_read() {
        let read = parse("=r,=&h, r,l,n,0,~{memory}").expect("known ones");
        assert_eq!(
            read.outputs,
            [OperandKind::Register(32), OperandKind::Register(16)]
        );
        let inputs = [
            OperandKind::Register(32),
            OperandKind::Register(64),
            OperandKind::Number,
            OperandKind::Tied(0),
        ];
        assert_eq!(read.inputs, inputs);
        assert_eq!(parse("=v,v"), Err(UnknownConstraint("=v".to_owned())));
    }
}
