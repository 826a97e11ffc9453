//! Splits the output of MLIR's pass manager when it prints the IR before each pass: the passes in order, each with the
//! IR before and after it. The passes' own output is ignored.

/// One pass of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass<'a> {
    /// MLIR's name of it: `TritonGPUCoalesce`.
    pub name: &'a str,
    /// The module before it.
    pub before: &'a str,
    /// The module after it.
    pub after: &'a str,
}

/// A pass that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedPass<'a> {
    /// MLIR's name of it.
    pub name: &'a str,
    /// The module before it.
    pub before: &'a str,
    /// Its message in one line, or Triton's if the pass printed none.
    pub message: &'a str,
}

/// The start of the line that ends a part.
const MARK: &str = "// -----// ";
/// The start of the line before the IR of a pass.
const BEFORE: &str = "// -----// IR Dump Before ";

/// The line before the message of a failed pass.
const FAILED: &str = "// -----// The pass failed //----- //\n";

/// The text before MLIR's message in an error line.
const ERROR: &str = "error: ";

/// Parts of lines that a compiler prints before it aborts.
const DYING: [&str; 4] = [
    "LLVM ERROR: ",
    "Assertion `",
    "UNREACHABLE executed",
    "terminate called",
];

/// Splits a text with the IR before each pass. The final IR must follow the last pass, as if before another pass. A
/// failed pass is omitted.
pub fn split_passes(text: &str) -> Vec<Pass<'_>> {
    split_announced(text)
        .windows(2)
        .filter_map(|pair| match pair {
            &[(name, before), (_, after)] => Some(Pass { name, before, after }),
            _ => None,
        })
        .collect()
}

/// Finds the failed pass that ended the run.
pub fn find_failed_pass(text: &str) -> Option<FailedPass<'_>> {
    let said_of = text.get(next(text, FAILED)? + FAILED.len()..)?;
    let &(name, body) = split_announced(text).last()?;
    // MLIR prints a pass's errors after the IR.
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

/// Splits the text into the announced passes, each with the IR before it.
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

/// Finds the next line with this prefix.
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
