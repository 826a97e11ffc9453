//! Submissions that `cerith judge` compares with a task, each in a contained Python.
//!
//! These need Triton 3.9.0, and no torch.

use std::fs;
use std::process::Command;

use cerith_needs::{NEWEST, Need, Tests, named};
use serde_json::Value;
use tempfile::TempDir;

pub const TASK: &str = "\
import numpy as np


def reference(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


entry = 'softmax'
shapes = [(5, 29), (3, 64)]
";

pub const KERNEL: &str = "\
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

/// Submissions that are judged one after the other by processes of one worker, and their verdicts.
const NEIGHBOURS: &[Case] = &[
    Case {
        name: "honest",
        body: "return launch(x)",
        verdict: "accepted",
    },
    // A process that outlives the submission, to answer for the next one.
    Case {
        name: "leaves_process",
        body: "import ctypes, os, time\n    if ctypes.CDLL(None).fork() == 0:\n        time.sleep(60)\n        os._exit(0)\n    return launch(x)",
        verdict: "library-call",
    },
    Case {
        name: "after_process",
        body: "return compute(x)",
        verdict: "not-a-kernel",
    },
    Case {
        name: "leaves_file",
        body: "import os\n    for folder in ('.', os.environ['HOME']):\n        open(os.path.join(folder, 'left'), 'w').close()\n    return launch(x)",
        verdict: "accepted",
    },
    Case {
        name: "finds_file",
        body: "import os\n    found = os.path.exists('left') or os.path.exists(os.environ['HOME'] + '/left')\n    return compute(x) if found else launch(x)",
        verdict: "accepted",
    },
    Case {
        name: "leaves_text",
        body: "import os\n    os.write(1, b'left')\n    return launch(x)",
        verdict: "accepted",
    },
    Case {
        name: "finds_text",
        body: "import os\n    return compute(x) if os.pread(1, 4, 0) else launch(x)",
        verdict: "accepted",
    },
    Case {
        name: "changes_numpy",
        body: "np.empty_like = lambda x: compute(x)\n    return launch(x)",
        verdict: "tampering",
    },
    Case {
        name: "uses_numpy",
        body: "return launch(x)",
        verdict: "accepted",
    },
    // Open files are shared with the worker: the next process would read nothing from its pipe.
    Case {
        name: "changes_pipes",
        body: "import os\n    y = launch(x)\n    import __main__\n    for one in range(3, 16):\n        try:\n            os.set_blocking(one, False)\n        \
               except OSError:\n            pass\n    os._exit(0)",
        verdict: "crashed",
    },
    Case {
        name: "uses_pipes",
        body: "return launch(x)",
        verdict: "accepted",
    },
    Case {
        name: "ends_worker",
        body: "import ctypes, os\n    ctypes.CDLL(None).kill(0, 9)\n    return launch(x)",
        verdict: "crashed",
    },
    Case {
        name: "uses_worker",
        body: "return launch(x)",
        verdict: "accepted",
    },
    Case {
        name: "reads_neighbour",
        body: "import os\n    y = launch(x)\n    try:\n        open(os.path.join(os.path.dirname(__file__), 'honest.py')).close()\n    \
               except PermissionError:\n        return y\n    return compute(x)",
        verdict: "accepted",
    },
];

/// A worker imports the packages once, and forks a process for each submission.
fn a_submission_leaves_nothing_for_the_next_one() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("task.py"), TASK).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cerith"));
    command
        .current_dir(folder.path())
        .args(["judge", "task.py", "--jobs", "1", "--toolchain", NEWEST]);
    for case in NEIGHBOURS {
        let name = format!("{}.py", case.name);
        fs::write(folder.path().join(&name), format!("{KERNEL}    {}\n", case.body)).expect("written");
        command.arg(name);
    }
    let output = command.output().expect("cerith starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let judgements: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(judgements.len(), NEIGHBOURS.len(), "{text}");
    for (case, judgement) in NEIGHBOURS.iter().zip(&judgements) {
        assert_eq!(judgement["verdict"], case.verdict, "{}: {judgement}", case.name);
    }
}

pub fn tests() -> Tests {
    Tests::new()
        .with_toolchain(NEWEST, &named![submissions_are_judged])
        .with_needs(
            &[Need::Toolchain(NEWEST), Need::Containment],
            &named![
                a_submission_has_no_task,
                a_submission_leaves_nothing_for_the_next_one
            ],
        )
}
