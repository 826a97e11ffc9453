//! What MLIR's pass manager prints when it is told to print the IR before each pass: the passes in their order, each with the IR
//! before and after it. Left out: what passes print of their own.

/// One pass, as it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass<'a> {
    /// What MLIR calls it: `TritonGPUCoalesce`.
    pub name: &'a str,
    /// The module before it.
    pub before: &'a str,
    /// The module after it.
    pub after: &'a str,
}

/// What a line begins with before which a part ends.
const MARK: &str = "// -----// ";
/// What a line begins with before the IR of a pass.
const BEFORE: &str = "// -----// IR Dump Before ";

/// The passes of a text that has the IR before each, and after the last one the IR that it leaves, as if that were before a pass
/// more.
pub fn passes(text: &str) -> Vec<Pass<'_>> {
    let mut parts: Vec<(&str, &str)> = Vec::new();
    let mut rest = text;
    while let Some(at) = next(rest, BEFORE) {
        let part = rest.get(at + BEFORE.len()..).unwrap_or_default();
        let (heading, body) = part.split_once('\n').unwrap_or((part, ""));
        let name = heading.split([' ', ':']).next().unwrap_or_default();
        let end = next(body, MARK).unwrap_or(body.len());
        parts.push((name, body.get(..end).unwrap_or_default()));
        rest = body;
    }
    parts
        .windows(2)
        .filter_map(|pair| match pair {
            &[(name, before), (_, after)] => Some(Pass { name, before, after }),
            _ => None,
        })
        .collect()
}

/// Where the next line begins that begins with a text.
fn next(text: &str, with: &str) -> Option<usize> {
    text.match_indices(with).map(|(at, _)| at).find(|&at| {
        text.get(..at)
            .is_some_and(|before| before.is_empty() || before.ends_with('\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::passes;

    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let found: Vec<(&str, &str, &str)> = passes(text)
            .iter()
            .map(|pass| (pass.name, pass.before.trim(), pass.after.trim()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn passes_have_the_ir_before_and_after_them() {
        check("", &[]);
        check("no dump", &[]);
        check(
            "a warning\n\
             // -----// IR Dump Before Inliner (inline) ('builtin.module' operation) //----- //\none\n\
             // -----// IR Dump Before CSEPass: cse{a=b} ('tt.func' operation: @k) //----- //\ntwo\n\
             // -----// SoftwarePipeliner internal IR Dump After: LowerLoops\nother\n\
             // -----// IR Dump Before end () ('builtin.module' operation) //----- //\nthree",
            &[("Inliner", "one", "two"), ("CSEPass", "two", "three")],
        );
    }
}
