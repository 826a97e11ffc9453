//! Submissions that `cerith judge` compares with a task, each in a contained Python.
//!
//! These need Triton 3.9.0, and no torch.

use std::fs;
use std::process::Command;

use cerith_needs::{NEWEST, Need, Tests, named};
use serde_json::Value;
use tempfile::TempDir;

const TASK: &str = "\
import numpy as np


def reference(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


entry = 'softmax'
shapes = [(5, 29), (3, 64)]
";

const KERNEL: &str = "\
import numpy as np
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float('inf'))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n_cols + cols, e / tl.sum(e, axis=0), mask=cols < n_cols)


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def launch(x):
    x = x.contiguous()
    y = np.empty_like(x)
    rows, cols = x.shape
    softmax_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
    return y


def compute(x):
    e = x.numpy()
    e = np.exp(e - e.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(np.float32)


def softmax(x):
";

/// A submission: the body of its function, and its verdict.
struct Case {
    name: &'static str,
    body: &'static str,
    verdict: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "honest",
        body: "return launch(x)",
        verdict: "accepted",
    },
    Case {
        name: "copies",
        body: "y = x.clone()\n    copy_kernel[(triton.cdiv(x.numel(), 64),)](x.contiguous(), y, x.numel(), BLOCK=64)\n    return y",
        verdict: "wrong",
    },
    Case {
        name: "half",
        body: "y = np.empty_like(x)\n    softmax_kernel[(x.shape[0] // 2,)](x.contiguous(), y, x.shape[1], BLOCK=128)\n    return y",
        verdict: "unwritten-output",
    },
    Case {
        name: "numpy_only",
        body: "return compute(x)",
        verdict: "not-a-kernel",
    },
    Case {
        name: "numpy_then_copy",
        body: "e = compute(x)\n    y = np.empty_like(x)\n    copy_kernel[(triton.cdiv(e.size, 64),)](e, y, e.size, BLOCK=64)\n    return y",
        verdict: "library-call",
    },
    Case {
        name: "numpy_after_launch",
        body: "launch(x)\n    return compute(x)",
        verdict: "library-call",
    },
    Case {
        name: "cached",
        body: "kept = softmax.__dict__\n    if 'y' not in kept:\n        kept['y'] = launch(x)\n    return kept['y']",
        verdict: "stale-result",
    },
    Case {
        name: "in_place",
        body: "softmax_kernel[(x.shape[0],)](x, x, x.shape[1], BLOCK=128)\n    return x",
        verdict: "input-changed",
    },
    Case {
        name: "counting",
        body: "kept = softmax.__dict__\n    kept['n'] = kept.get('n', 0) + 1\n    y = launch(x)\n    if kept['n'] > 1:\n        \
               copy_kernel[(1,)](x.contiguous(), y, 16, BLOCK=16)\n    return y",
        verdict: "nondeterministic",
    },
    Case {
        name: "past_end",
        body: "y = np.empty_like(x)\n    copy_kernel[(x.numel(),)](x.contiguous(), y, 64 * x.numel(), BLOCK=64)\n    return y",
        verdict: "undefined",
    },
    Case {
        name: "replaces",
        body: "np.allclose = lambda *_: True\n    return launch(x)",
        verdict: "tampering",
    },
    Case {
        name: "frames",
        body: "import sys\n    return sys._getframe(2).f_locals.get('expected')",
        verdict: "reference-read",
    },
    Case {
        name: "raises",
        body: "raise ValueError(x.shape)",
        verdict: "crashed",
    },
    Case {
        name: "exits",
        body: "import os\n    os._exit(0)",
        verdict: "crashed",
    },
];

/// The judgements of all cases, in order.
fn judge(seed: &str) -> Vec<Value> {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("task.py"), TASK).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cerith"));
    command
        .current_dir(folder.path())
        .args(["judge", "task.py", "--seed", seed, "--toolchain", NEWEST]);
    for case in CASES {
        let name = format!("{}.py", case.name);
        fs::write(folder.path().join(&name), format!("{KERNEL}    {}\n", case.body)).expect("written");
        command.arg(name);
    }
    let output = command.output().expect("cerith starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = text.lines().map(|line| {
        assert!(line.len() <= 2048, "{line}");
        serde_json::from_str(line).expect("JSON")
    });
    lines.collect()
}

fn submissions_are_judged() {
    let judgements = judge("1");
    assert_eq!(judgements.len(), CASES.len());
    for (case, judgement) in CASES.iter().zip(&judgements) {
        assert_eq!(judgement["verdict"], case.verdict, "{}: {judgement}", case.name);
        let findings = judgement["findings"].as_array().expect("findings");
        assert_eq!(findings.is_empty(), case.verdict == "accepted", "{judgement}");
    }
    // Other data has the same findings.
    let ids = |judgements: &[Value]| -> Vec<Value> {
        judgements
            .iter()
            .map(|judgement| judgement["findings"][0]["id"].clone())
            .collect()
    };
    assert_eq!(ids(&judge("2")), ids(&judgements));
}

fn a_submission_has_no_task() {
    let folder = TempDir::new().expect("a folder");
    let task = folder.path().join("task.py");
    fs::write(&task, TASK).expect("written");
    let body = format!(
        "open({:?}).read()\n    return launch(x)\n",
        task.display().to_string()
    );
    fs::write(folder.path().join("reads.py"), format!("{KERNEL}    {body}")).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .current_dir(folder.path())
        .args(["judge", "task.py", "reads.py", "--toolchain", NEWEST])
        .output()
        .expect("cerith starts");
    let judgement: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(judgement["verdict"], "reference-read", "{judgement}");
    let text = judgement["findings"][0]["text"].as_str().expect("a text");
    assert!(text.contains("task.py"), "{judgement}");
    assert_eq!(judgement["trials"], 0, "{judgement}");
}

pub fn tests() -> Tests {
    Tests::new()
        .with_toolchain(NEWEST, &named![submissions_are_judged])
        .with_needs(
            &[Need::Toolchain(NEWEST), Need::Containment],
            &named![a_submission_has_no_task],
        )
}
