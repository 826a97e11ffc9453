//! The judgement of a submission: a verdict, and findings with stable ids and hints.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// The most characters of a text.
const MAX_TEXT: usize = 300;

/// A verdict about a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Its kernels compute the task's function.
    Accepted,
    /// Its results are wrong.
    Wrong,
    /// Its results are less accurate than the contract.
    Inaccurate,
    /// Some elements were never written.
    UnwrittenOutput,
    /// It changes its inputs.
    InputChanged,
    /// It returns a result of an earlier call.
    StaleResult,
    /// The same call has different results.
    Nondeterministic,
    /// The host computes in place of its kernels.
    LibraryCall,
    /// It launches no kernel.
    NotAKernel,
    /// It attacks its judge.
    Tampering,
    /// It searches for the reference.
    ReferenceRead,
    /// A launch has undefined behaviour.
    Undefined,
    /// It raises an exception, or its process ends.
    Crashed,
    /// It does not finish.
    Timeout,
    /// It could not be judged.
    NotJudged,
}

impl Verdict {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Wrong => "wrong",
            Self::Inaccurate => "inaccurate",
            Self::UnwrittenOutput => "unwritten-output",
            Self::InputChanged => "input-changed",
            Self::StaleResult => "stale-result",
            Self::Nondeterministic => "nondeterministic",
            Self::LibraryCall => "library-call",
            Self::NotAKernel => "not-a-kernel",
            Self::Tampering => "tampering",
            Self::ReferenceRead => "reference-read",
            Self::Undefined => "undefined",
            Self::Crashed => "crashed",
            Self::Timeout => "timeout",
            Self::NotJudged => "not-judged",
        }
    }

    /// The suggested repair.
    const fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::Accepted | Self::NotJudged => return None,
            Self::Wrong => {
                "compare the kernel's formula, masks and indices with the reference at this element"
            }
            Self::Inaccurate => {
                "keep sums and intermediate values in the contract's dtype until the last store"
            }
            Self::UnwrittenOutput => "cover every element of the output with the grid and the store's mask",
            Self::InputChanged => "store into a tensor of its own, such as `torch.empty_like(x)`",
            Self::StaleResult => "compute the result in every call: remove the cache",
            Self::Nondeterministic => "use no random numbers, clocks, counters or races",
            Self::LibraryCall => {
                "compute it in a Triton kernel; a call may only copy, permute and cast its inputs"
            }
            Self::NotAKernel => "launch a Triton kernel that computes the result",
            Self::Tampering => "leave the functions and settings of other modules as they are",
            Self::ReferenceRead => "use only the arguments of the call",
            Self::Undefined => "mask the access, or correct its index",
            Self::Crashed => "fix the exception",
            Self::Timeout => "bound the loops",
        })
    }
}

/// A problem of a submission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// A hash of code, file, line and name, so that a problem keeps its id from run to run.
    pub id: String,
    /// The verdict, or the code of undefined behaviour.
    pub code: String,
    /// The problem.
    pub text: String,
    /// The file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The kind of data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
    /// The element that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// The suggested repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A verdict with its reason, before it is about data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The verdict.
    pub verdict: Verdict,
    /// The finding.
    pub finding: Box<Finding>,
}

impl Failure {
    /// A verdict for this reason.
    pub fn new(verdict: Verdict, text: impl AsRef<str>) -> Self {
        let finding = Finding {
            code: verdict.name().to_owned(),
            text: shorten(text.as_ref()),
            hint: verdict.hint().map(str::to_owned),
            ..Finding::default()
        };
        Self {
            verdict,
            finding: Box::new(finding),
        }
    }

    /// Adds the location.
    #[must_use]
    pub fn with_place(mut self, file: Option<&str>, line: Option<u32>) -> Self {
        self.finding.file = file.map(shorten);
        self.finding.line = line;
        self
    }

    /// Completes the finding of a submission: its name, which is stable, takes the place of its path.
    pub fn into_finding(self, kernel: &str, path: &str) -> Finding {
        let mut finding = *self.finding;
        finding.text = finding.text.replace(path, kernel);
        finding.file = finding.file.map(|file| file.replace(path, kernel));
        let file = finding.file.clone().unwrap_or_default();
        let line = finding.line.unwrap_or_default();
        let key = format!("{kernel}\0{}\0{file}\0{line}", finding.code);
        blake3::hash(key.as_bytes()).to_hex()[..12].clone_into(&mut finding.id);
        finding
    }
}

/// A text of at most 300 characters, without control characters except line ends.
pub(super) fn shorten(text: &str) -> String {
    let plain = text
        .chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c });
    let mut short: String = plain.clone().take(MAX_TEXT).collect();
    if plain.count() > MAX_TEXT {
        short.push('…');
    }
    short
}

/// The result for a submission, of at most 2 KB as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The task's file.
    pub task: String,
    /// The submission's file.
    pub kernel: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The seed of the data.
    pub seed: u64,
    /// The reasons.
    pub findings: Vec<Finding>,
    /// Calls that were compared.
    pub trials: usize,
    /// Launches that were executed.
    pub launches: u64,
    /// The time.
    pub seconds: f64,
}

impl Judgement {
    /// The judgement as text, at most 80 columns wide except for names.
    pub fn write_text(&self) -> String {
        let Self {
            kernel,
            verdict,
            trials,
            launches,
            seconds,
            seed,
            ..
        } = self;
        let mut text = format!("{kernel}: {}\n", verdict.name());
        for finding in &self.findings {
            let file = finding.file.as_deref().unwrap_or(kernel);
            if let Some(line) = finding.line {
                let _ = writeln!(text, "  {file}:{line}");
            }
            text.push_str(&wrap(&finding.text, "  "));
            if let Some(element) = &finding.element {
                text.push_str(&wrap(element, "  at "));
            }
            let data = [
                finding.data.as_ref().map(|data| format!("data `{data}`")),
                finding.sizes.clone().filter(|sizes| !sizes.is_empty()),
            ];
            let data: Vec<String> = data.into_iter().flatten().collect();
            if !data.is_empty() {
                text.push_str(&wrap(&data.join(", "), "  with "));
            }
            if let Some(hint) = &finding.hint {
                text.push_str(&wrap(hint, "  = help: "));
            }
        }
        let _ = writeln!(
            text,
            "  {trials} calls, {launches} launches, {seconds:.1} s, seed {seed}"
        );
        text
    }
}

/// A text in lines of at most 80 columns, the first one after a word and the others indented.
fn wrap(text: &str, first: &str) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > 80 {
            lines.push_str(&line);
            lines.push('\n');
            "    ".clone_into(&mut line);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

/// The result of judging.
#[derive(Debug)]
pub(super) struct Summary {
    /// The reason not to accept it.
    pub failure: Option<Failure>,
    /// Calls that were compared.
    pub trials: usize,
    /// Launches that were executed.
    pub launches: u64,
}

impl From<Failure> for Summary {
    fn from(failure: Failure) -> Self {
        Self {
            failure: Some(failure),
            trials: 0,
            launches: 0,
        }
    }
}
