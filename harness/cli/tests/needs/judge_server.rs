//! The tool `judge` of `cerith mcp --judge`, which runs a task and submissions in contained Pythons.
//!
//! These need Triton 3.9.0, and no torch.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cerith_needs::{NEWEST, Tests, named};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::judge::{KERNEL, TASK};

/// A client in a folder with a task and submissions.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _folder: TempDir,
}

impl Client {
    fn open(args: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("task.py"), TASK).expect("written");
        for (name, body) in [
            ("honest.py", "return launch(x)"),
            ("endless.py", "while True: pass"),
        ] {
            fs::write(folder.path().join(name), format!("{KERNEL}    {body}\n")).expect("written");
        }
        let mut child = Command::new(env!("CARGO_BIN_EXE_cerith"))
            .args(["mcp", "--judge"])
            .args(args)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut client = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            _folder: folder,
        };
        let initialize = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "a test", "version": "1"},
        });
        client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize}));
        client.receive();
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open pipe");
        writeln!(input, "{message}").expect("it reads");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a message");
        serde_json::from_str(&line).expect("JSON")
    }

    fn begin(&mut self, id: i64, arguments: &Value) {
        let params = json!({"name": "judge", "arguments": arguments, "_meta": {"progressToken": "a"}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    /// The progress and the result of a call.
    fn finish(&mut self, id: i64) -> (Vec<f64>, Value) {
        let mut progress = Vec::new();
        loop {
            let message = self.receive();
            if message["method"] == "notifications/progress" {
                progress.push(message["params"]["progress"].as_f64().expect("a number"));
            } else {
                assert_eq!(message["id"], id, "{message}");
                return (progress, message["result"].clone());
            }
        }
    }

    fn judge(&mut self, id: i64, arguments: &Value) -> (Vec<f64>, Value) {
        self.begin(id, arguments);
        self.finish(id)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn submissions_are_judged_by_the_server() {
    let mut client = Client::open(&[]);
    let honest = json!({"task": "task.py", "path": "honest.py", "seed": 7});
    let (progress, result) = client.judge(1, &honest);
    assert_eq!(result["isError"], false, "{result}");
    let judgement = &result["structuredContent"];
    assert_eq!(judgement["verdict"], "accepted", "{judgement}");
    assert_eq!(judgement["kernel"], "honest.py", "{judgement}");
    assert_eq!(judgement["seed"], 7, "{judgement}");
    assert!(
        progress.len() > 1 && progress.is_sorted_by(|one, next| one < next),
        "{progress:?}"
    );
    // The next submission finds the worker, and nothing of the last one.
    let text = format!("{KERNEL}    return compute(x)\n");
    let (_, result) = client.judge(2, &json!({"task": "task.py", "text": text}));
    assert_eq!(result["structuredContent"]["verdict"], "not-a-kernel", "{result}");
    let shown = result["content"][0]["text"].as_str().expect("text");
    assert!(shown.starts_with("submission.py: not-a-kernel\n"), "{shown}");
    assert!(result.to_string().len() <= 4096, "{result}");
    let (_, result) = client.judge(3, &json!({"task": "honest.py", "path": "honest.py"}));
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.to_string().contains("honest.py is not a task"), "{result}");
    let (_, result) = client.judge(4, &json!({"task": "task.py", "text": KERNEL}));
    assert_eq!(result["structuredContent"]["verdict"], "crashed", "{result}");
}

fn a_cancelled_call_stops_its_submission() {
    let mut client = Client::open(&[]);
    client.begin(1, &json!({"task": "task.py", "path": "endless.py"}));
    let cancel = json!({"requestId": 1, "reason": "a test"});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}));
    // A cancelled call has no answer.
    let (_, result) = client.judge(2, &json!({"task": "task.py", "path": "honest.py"}));
    assert_eq!(result["structuredContent"]["verdict"], "accepted", "{result}");
}

fn a_call_ends_at_the_limit_of_time() {
    let mut client = Client::open(&["--timeout", "8"]);
    let (_, result) = client.judge(1, &json!({"task": "task.py", "path": "endless.py"}));
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.to_string().contains("--timeout"), "{result}");
}

pub fn tests() -> Tests {
    Tests::new().with_toolchain(
        NEWEST,
        &named![
            submissions_are_judged_by_the_server,
            a_cancelled_call_stops_its_submission,
            a_call_ends_at_the_limit_of_time
        ],
    )
}
