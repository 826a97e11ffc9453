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

/// A pass that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedPass<'a> {
    /// What MLIR calls it.
    pub name: &'a str,
    /// The module before it.
    pub before: &'a str,
    /// What it says, in one line; or else what Triton says of it.
    pub message: &'a str,
}

/// What a line begins with before which a part ends.
const MARK: &str = "// -----// ";
/// What a line begins with before the IR of a pass.
const BEFORE: &str = "// -----// IR Dump Before ";

/// What the line is that is before the message of a pass that failed.
const FAILED: &str = "// -----// The pass failed //----- //\n";

/// What is before MLIR's message in the line of an error.
const ERROR: &str = "error: ";

/// What is in a line that a compiler says before it aborts.
const DYING: [&str; 4] = [
    "LLVM ERROR: ",
    "Assertion `",
    "UNREACHABLE executed",
    "terminate called",
];

/// The passes of a text that has the IR before each, and after the last one the IR that it leaves, as if that were before a pass
/// more. A pass that failed is not among them.
pub fn split_passes(text: &str) -> Vec<Pass<'_>> {
    split_announced(text)
        .windows(2)
        .filter_map(|pair| match pair {
            &[(name, before), (_, after)] => Some(Pass { name, before, after }),
            _ => None,
        })
        .collect()
}

/// The pass with which a text ends because it failed.
pub fn find_failed_pass(text: &str) -> Option<FailedPass<'_>> {
    let said_of = text.get(next(text, FAILED)? + FAILED.len()..)?;
    let &(name, body) = split_announced(text).last()?;
    // MLIR prints what a pass complains of after the IR.
    let complaint = body
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        })
        .find(|(_, line)| line.contains(ERROR) || DYING.iter().any(|word| line.contains(word)));
    let (before, message) = match complaint {
        Some((at, line)) => {
            let message = line.split_once(ERROR).or(line.split_once("LLVM ERROR: "));
            (
                body.get(..at).unwrap_or(body),
                message.map_or(line, |(_, message)| message),
            )
        }
        None => (body, said_of.lines().next().unwrap_or_default()),
    };
    Some(FailedPass {
        name,
        before,
        message: message.trim_end(),
    })
}

/// The passes that are announced, each with the IR before it.
fn split_announced(text: &str) -> Vec<(&str, &str)> {
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
    use super::{FailedPass, find_failed_pass, split_passes};

    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let found: Vec<(&str, &str, &str)> = split_passes(text)
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

    #[test]
    fn a_pass_that_failed_has_the_ir_before_it() {
        let text = "// -----// IR Dump Before Inliner (inline) ('builtin.module' operation) //----- //\none\n\
             // -----// IR Dump Before CSEPass: cse{a=b} ('tt.func' operation: @k) //----- //\ntwo\n\
             // -----// The pass failed //----- //\nPassManager::run failed";
        check(text, &[("Inliner", "one", "two")]);
        assert_eq!(
            find_failed_pass(text),
            Some(FailedPass {
                name: "CSEPass",
                before: "two\n",
                message: "PassManager::run failed",
            })
        );
        let complaining = text.replace("two\n", "two\nk.py:3:4: error: no layout\nnote: here\n");
        assert_eq!(
            find_failed_pass(&complaining).map(|pass| (pass.before, pass.message)),
            Some(("two\n", "no layout"))
        );
        let dying = text.replace("two\n", "two\nLLVM ERROR: unsupported cast\n");
        assert_eq!(
            find_failed_pass(&dying).map(|pass| (pass.before, pass.message)),
            Some(("two\n", "unsupported cast"))
        );
        assert_eq!(find_failed_pass("// -----// IR Dump Before Inliner\none"), None);
        assert_eq!(
            find_failed_pass("// -----// The pass failed //----- //\nbefore the first"),
            None
        );
    }
}
