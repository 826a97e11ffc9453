//! The part of a compiler's output that names the cause of a failure: its pipeline, the failed pass, the assertion, and
//! LLVM's message. Records keep it, because signatures of known bugs match it (`cerith_tile::quirk::signature`).

/// The maximum number of lines of a cause.
const MAX_LINES: usize = 8;

/// The maximum number of bytes of a line. An assertion in a template of C++ names its types.
const MAX_BYTES: usize = 1000;

/// The lines of a traceback and of messages on stderr that name the cause, without repetitions. `None` if no line does.
pub fn extract_compiler_cause(detail: &str) -> Option<String> {
    let mut lines: Vec<&str> = Vec::new();
    for line in detail.lines().filter_map(find_cause) {
        if lines.len() < MAX_LINES && !lines.contains(&line) {
            lines.push(line);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The part of a line that names a cause.
fn find_cause(line: &str) -> Option<&str> {
    let line = line.trim();
    let from = |start: &str| line.find(start).and_then(|at| line.get(at..));
    let cause = if let Some(pass) = from("Pipeline failed while executing [") {
        // A path of a reproducer follows.
        pass.split_inclusive(']').next()?
    } else if line.contains(": Assertion `") {
        // The name of the program comes first.
        line.split_once(": /")
            .map_or(line, |(program, _)| line.get(program.len() + 2..).unwrap_or(line))
    } else if let Some(message) = from("LLVM ERROR:").or_else(|| from("UNREACHABLE executed at")) {
        message
    } else {
        let (frame, function) = line.rsplit_once(" in ")?;
        let is_pipeline = function.starts_with("make_") && frame.starts_with("File \"");
        return is_pipeline.then_some(function);
    };
    let end = (0..=cause.len().min(MAX_BYTES))
        .rev()
        .find(|&end| cause.is_char_boundary(end))?;
    cause.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(detail: &str, expected: Option<&str>) {
        assert_eq!(extract_compiler_cause(detail).as_deref(), expected, "{detail}");
    }

    #[test]
    fn the_cause_is_a_pass_an_assertion_or_a_message_of_llvm() {
        check(
            "python: /root/llvm/include/mlir/IR/Operation.h:1006: OpResultImpl* getOpResultImpl(unsigned int): Assertion \
             `resultNumber < getNumResults()' failed.\nFatal Python error: Aborted\n\nCurrent thread 0x00007f05 (most recent \
             call first):\n  File \"/t/triton/backends/nvidia/compiler.py\", line 149 in make_ttir\n  File \
             \"/t/triton/compiler/compiler.py\", line 282 in compile\n",
            Some(
                "/root/llvm/include/mlir/IR/Operation.h:1006: OpResultImpl* getOpResultImpl(unsigned int): Assertion \
                 `resultNumber < getNumResults()' failed.\nmake_ttir",
            ),
        );
        let failed = "k.py:9:4: note: Pipeline failed while executing [`TritonGPUFuseNestedLoops` on 'builtin.module' \
                      operation]: reproducer generated at `std::errs`\n";
        check(
            &format!(
                "Traceback:\n  File \"c.py\", line 3, in make_ttgir\nRuntimeError: no\n{failed}{failed}"
            ),
            Some(
                "make_ttgir\nPipeline failed while executing [`TritonGPUFuseNestedLoops` on 'builtin.module' operation]",
            ),
        );
        check(
            "  LLVM ERROR: Unsupported bitwidth\n",
            Some("LLVM ERROR: Unsupported bitwidth"),
        );
        check(
            "UNREACHABLE executed at /p/RewriteTensorPointer.cpp:520!",
            Some("UNREACHABLE executed at /p/RewriteTensorPointer.cpp:520!"),
        );
    }

    #[test]
    fn other_output_is_not_a_cause() {
        check("", None);
        check(
            "TypeError: cannot find `x` in make_ttir\n  File \"k.py\", line 3, in kernel\n",
            None,
        );
    }

    #[test]
    fn a_cause_is_bounded() {
        let line = format!("a.cpp:1: Assertion `{}' failed.\n", "é".repeat(2000));
        let cause = extract_compiler_cause(&line).expect("an assertion");
        assert!(cause.len() <= MAX_BYTES, "{}", cause.len());
        let many: Vec<String> = (0..50).map(|at| format!("LLVM ERROR: {at}")).collect();
        assert_eq!(
            extract_compiler_cause(&many.join("\n"))
                .expect("errors")
                .lines()
                .count(),
            MAX_LINES
        );
    }
}
