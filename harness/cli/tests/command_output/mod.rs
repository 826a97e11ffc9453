//! How a command ended, and what it printed.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::process::Output;

pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl CommandOutput {
    /// The output and the exit code of a process.
    pub fn from_output(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Checks the exit code, and the text that standard output and standard error must contain.
    #[track_caller]
    pub fn assert_ends(self, code: i32, out: &[&str], err: &[&str]) -> Self {
        let shown = format!("--- out\n{}\n--- err\n{}", self.out, self.err);
        assert_eq!(self.code, Some(code), "{shown}");
        for part in out {
            assert!(self.out.contains(part), "no {part:?} in\n{shown}");
        }
        for part in err {
            assert!(self.err.contains(part), "no {part:?} in\n{shown}");
        }
        self
    }
}
