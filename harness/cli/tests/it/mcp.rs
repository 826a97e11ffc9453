//! `cerith mcp`, as a client sees it: a session over pipes, each tool, and everything that a client must not be able to do.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::Place;

/// No answer takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

const GOOD: &str = "\
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, x * 2, mask=offs < n)
";

/// A misspelt name, which has a certain edit.
const MISSPELT: &str = "\
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arrange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, x * 2, mask=offs < n)
";

fn read_wrong() -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "check", "wrong.py"]
        .iter()
        .collect();
    fs::read_to_string(path).expect("a kernel file")
}

/// A folder with one kernel that is right and a file of kernels that are wrong.
fn create_folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("good.py"), GOOD).expect("written");
    fs::write(folder.path().join("wrong.py"), read_wrong()).expect("written");
    folder
}

/// Writes a folder with so many kernels that a check takes minutes.
fn write_many_kernels(folder: &TempDir) {
    fs::create_dir(folder.path().join("long")).expect("a folder");
    for nth in 0..200 {
        let text = GOOD.replace("double", &format!("double_{nth}"));
        fs::write(folder.path().join(format!("long/k{nth}.py")), text).expect("written");
    }
}

/// A client of a server.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: i64,
}

impl Client {
    /// Starts a server in a folder. Every line that it prints must be a message.
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cerith"))
            .arg("mcp")
            .args(args)
            .current_dir(folder)
            .env("CERITH_HOME", folder.join("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| json!({"not-json": line, "error": error.to_string()}));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            messages,
            next: 0,
        }
    }

    /// Starts a server and a session.
    fn open(folder: &Path, args: &[&str]) -> Self {
        let mut client = Self::start(folder, args);
        let answer = client.request("initialize", &build_initialize());
        assert_eq!(answer["result"]["serverInfo"]["name"], "cerith", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an open pipe");
        input.write_all(line.as_bytes()).expect("it reads");
        input.write_all(b"\n").expect("it reads");
        input.flush().expect("it reads");
    }

    /// Sends a request, and returns its id.
    fn begin(&mut self, method: &str, params: &Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    #[track_caller]
    fn receive(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("a message")
    }

    #[track_caller]
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a tool.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The text and the data of a tool that succeeds.
    #[track_caller]
    fn call_well(&mut self, tool: &str, arguments: &Value) -> (String, Value) {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        (join_text(&result), result["structuredContent"].clone())
    }

    /// Calls a tool that must fail with a message.
    #[track_caller]
    fn fail(&mut self, tool: &str, arguments: &Value, message: &str) -> String {
        let result = self.call(tool, arguments);
        let text = join_text(&result);
        assert_eq!(result["isError"], true, "{text}");
        assert!(text.contains(message), "no {message:?} in\n{text}");
        text
    }

    /// Closes the input, and returns the exit code.
    fn close(mut self) -> Option<i32> {
        drop(self.input.take());
        self.wait()
    }

    fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("a process") {
                return status.code();
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn build_initialize() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    })
}

fn join_text(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("blocks");
    blocks
        .iter()
        .map(|block| block["text"].as_str().expect("text"))
        .collect()
}

/// The lines of `cerith check --format jsonl`.
fn run_check(folder: &Path, args: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .arg("check")
        .args(args)
        .args(["--engine", "reference", "--format", "jsonl"])
        .current_dir(folder)
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn a_session_has_five_tools() {
    let folder = create_folder();
    let mut client = Client::start(folder.path(), &[]);
    let answer = client.request("initialize", &build_initialize());
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    let answer = client.request("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["check", "explain", "reduce", "list", "judge"]);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    assert!(client.request("ping", &json!({}))["result"].is_object());
    assert_eq!(client.close(), Some(0));
}

#[test]
fn check_returns_what_the_command_prints() {
    let folder = create_folder();
    let mut client = Client::open(folder.path(), &[]);
    let (text, data) = client.call_well("check", &json!({"path": "wrong.py"}));
    assert_eq!(
        data["kernels"],
        Value::from(run_check(folder.path(), &["wrong.py"]))
    );
    assert_eq!(data["complete"], true);
    assert_eq!(data["counts"]["found"], 6, "{data}");
    for part in [
        "wrong.py:off_by_one  ",
        "error[out-of-bounds]: load",
        "--> wrong.py:",
        "= launch: ",
        "lane ",
        "`explain` with the code `out-of-bounds`",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let (text, data) = client.call_well("check", &json!({"path": "wrong.py", "kernel": "race"}));
    assert_eq!(data["kernels"].as_array().expect("kernels").len(), 1);
    assert!(text.contains("error[race]"), "{text}");
    // A folder, by any path.
    let absolute = folder.path().to_str().expect("UTF-8");
    for path in [".", "", "./.", absolute] {
        let (_, data) = client.call_well("check", &json!({"path": path, "timeout": 60}));
        assert_eq!(
            data["kernels"],
            Value::from(run_check(folder.path(), &["good.py", "wrong.py"])),
            "{path}"
        );
    }
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_finding_has_two_kilobytes_at_most_with_its_edit() {
    let folder = create_folder();
    let mut client = Client::open(folder.path(), &[]);
    let (text, data) = client.call_well("check", &json!({"text": MISSPELT}));
    let kernel = &data["kernels"][0];
    assert_eq!(kernel["file"], "<stdin>");
    let edits = kernel["edits"].as_str().expect("a diff");
    assert!(
        edits.contains("+    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"),
        "{edits}"
    );
    assert!(text.contains(edits), "{text}");
    assert!(text.len() < 2048 + 200, "{text}");
    // Long names make long messages.
    let long = "a_rather_long_name_".repeat(20);
    let text = read_wrong()
        .replace("x_ptr", &long)
        .replace("BLOCK", "A_SIZE_OF_BLOCKS");
    let (text, data) = client.call_well("check", &json!({"text": text}));
    let found = data["counts"]["found"].as_u64().expect("a number");
    assert!(found >= 4, "{data}");
    let kernels = data["kernels"].as_array().expect("kernels");
    let findings: usize = kernels
        .iter()
        .flat_map(|kernel| [&kernel["findings"], &kernel["warnings"], &kernel["preconditions"]])
        .filter_map(|list| Some(list.as_array()?.len()))
        .sum();
    // The headline and the notes of a kernel are not findings.
    assert!(
        text.len() <= 2048 * (findings + 2 * kernels.len()),
        "{} bytes for {findings} findings:\n{text}",
        text.len()
    );
}

#[test]
fn explain_shows_codes_and_cases() {
    let place = Place::new_failing();
    let mut client = Client::open(&place.join("."), &[]);
    let (text, data) = client.call_well("explain", &json!({"code": "out-of-bounds"}));
    assert!(text.starts_with("out-of-bounds\n\n"), "{text}");
    assert_eq!(data["code"], "out-of-bounds");
    client.fail(
        "explain",
        &json!({"code": "out-of-bound"}),
        "did you mean `out-of-bounds`?",
    );
    client.fail("explain", &json!({}), "name either `code` or `case`");
    let (text, data) = client.call_well("explain", &json!({"case": "area/bad:n=5"}));
    assert!(text.contains("A store past the end."), "{text}");
    assert!(text.contains("reference: trapped"), "{text}");
    assert_eq!(data["cases"][0]["case"], "area/bad:n=5", "{data}");
    assert_eq!(
        data["cases"][0]["outcomes"]["reference"]["error"], "out-of-bounds",
        "{data}"
    );
    client.fail(
        "explain",
        &json!({"case": "area/none"}),
        "no case matches `area/none`",
    );
    client.fail(
        "explain",
        &json!({"case": "area", "cases": "nowhere"}),
        "failed to read `nowhere`",
    );
}

#[test]
fn reduce_returns_a_smaller_kernel_with_the_same_finding() {
    let place = Place::new_failing();
    place.write("wrong.py", &read_wrong());
    let mut client = Client::open(&place.join("."), &[]);
    let arguments =
        json!({"path": "wrong.py", "kernel": "off_by_one", "finding": "out-of-bounds", "seconds": 30});
    let (text, data) = client.call_well("reduce", &arguments);
    let kernel = data["kernel"].as_str().expect("a kernel");
    assert!(
        kernel.contains("x = tl.load(x_ptr + offs, mask=mask, other=0.0)"),
        "{kernel}"
    );
    assert!(!kernel.contains("tl.store"), "{kernel}");
    assert!(
        text.contains("kept reference: out-of-bounds at `x = tl.load("),
        "{text}"
    );
    let lines = data["lines"].as_array().expect("two numbers");
    assert!(lines[1].as_u64() < lines[0].as_u64(), "{data}");
    // Tensors stay: a smaller one would be another mistake.
    assert_eq!(data["elements"][0], data["elements"][1], "{data}");
    // The smaller case shows the same.
    place.write("cases/smaller/kernel.py", kernel);
    place.write("cases/smaller/case.yaml", data["case"].as_str().expect("a case"));
    let (text, _) = client.call_well("explain", &json!({"case": "smaller/case"}));
    assert!(text.contains("error[out-of-bounds]"), "{text}");
    let (_, data) = client.call_well("reduce", &json!({"case": "area/bad:n=5"}));
    assert_eq!(
        data["kept"],
        json!(["reference: out-of-bounds at `tl.store(x + offsets, offsets)`"])
    );
    client.fail(
        "reduce",
        &json!({"case": "area/good:dtype=f32,n=10"}),
        "the reference reports nothing for it",
    );
    client.fail(
        "reduce",
        &json!({"case": "area/bad"}),
        "selects more than one case",
    );
    client.fail("reduce", &json!({"text": GOOD}), "finds nothing to reduce");
    client.fail(
        "reduce",
        &json!({"text": read_wrong(), "finding": "deadlock"}),
        "no finding `deadlock`",
    );
    client.fail(
        "reduce",
        &json!({"case": "area/bad:n=5", "path": "wrong.py"}),
        "either a finding or `case`",
    );
}

#[test]
fn list_shows_kernels_and_cases() {
    let place = Place::new_failing();
    place.write("good.py", GOOD);
    let mut client = Client::open(&place.join("."), &[]);
    let (text, data) = client.call_well("list", &json!({"path": "good.py"}));
    assert_eq!(text, "good.py:double\n");
    assert_eq!(data, json!({"kernels": ["good.py:double"], "complete": true}));
    let (_, data) = client.call_well("list", &json!({"path": "."}));
    let all = json!([
        "cases/area/k.py:add_one",
        "cases/area/k.py:past_the_end",
        "good.py:double"
    ]);
    assert_eq!(data["kernels"], all);
    let (_, data) = client.call_well("list", &json!({"cases": "cases", "filter": "area/bad"}));
    assert_eq!(
        data["cases"],
        json!(["area/bad:n=3", "area/bad:n=5", "area/bad:n=7"])
    );
    client.fail("list", &json!({}), "name either `path` or `cases`");
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let outside = TempDir::new().expect("a folder");
    let secret = format!("{GOOD}\nA_SECRET = 'the user's'\n");
    fs::write(outside.path().join("secret.py"), &secret).expect("written");
    fs::create_dir(outside.path().join("cases")).expect("a folder");
    fs::write(outside.path().join("cases/k.py"), GOOD).expect("written");
    let inside = outside.path().join("inside");
    fs::create_dir(&inside).expect("a folder");
    symlink("../secret.py", inside.join("link.py")).expect("a link");
    symlink("..", inside.join("out")).expect("a link");
    let importing = "from secret import A_SECRET\n";
    fs::write(inside.join("secret_user.py"), format!("{importing}{GOOD}")).expect("written");
    symlink("../secret.py", inside.join("secret.py")).expect("a link");
    let relative = "from ..secret import double as other\n";
    fs::write(inside.join("relative.py"), format!("{relative}{GOOD}")).expect("written");
    fs::create_dir(inside.join("cases")).expect("a folder");
    symlink("../../secret.py", inside.join("cases/k.py")).expect("a link");
    let case = "about: A link.\nkernel: k.py:double\nstorages:\n  x: { dtype: f32, shape: [16], fill: zeros }\nlaunches:\n  \
                - grid: [1]\n    args: { x_ptr: x, out_ptr: x, n: 16, BLOCK: 16 }\n";
    fs::write(inside.join("cases/c.yaml"), case).expect("written");
    let list = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    let before = (list(outside.path()), list(&inside), list(&inside.join("cases")));
    let mut client = Client::open(&inside, &[]);
    let absolute = outside.path().join("secret.py").display().to_string();
    for path in [
        "../secret.py",
        "..",
        "out/../../secret.py",
        &absolute,
        "/etc/passwd",
        "../missing.py",
    ] {
        let text = client.fail("check", &json!({"path": path}), "is outside of the folder");
        assert!(!text.contains("SECRET"), "{text}");
        client.fail("list", &json!({"path": path}), "is outside of the folder");
        client.fail("list", &json!({"cases": path}), "is outside of the folder");
        client.fail(
            "explain",
            &json!({"case": "k", "cases": path}),
            "is outside of the folder",
        );
        client.fail("reduce", &json!({"path": path}), "is outside of the folder");
        client.fail(
            "check",
            &json!({"path": "relative.py", "baseline": path}),
            "is outside of the folder",
        );
    }
    for path in ["link.py", "out", "out/secret.py"] {
        client.fail("check", &json!({"path": path}), "is a link out of the folder");
        client.fail("list", &json!({"path": path}), "is a link out of the folder");
        client.fail(
            "explain",
            &json!({"case": "k", "cases": path}),
            "is a link out of the folder",
        );
    }
    // What an import or a case names is not read either.
    for (tool, arguments) in [
        ("check", json!({"path": "secret_user.py"})),
        ("check", json!({"path": "relative.py"})),
        ("check", json!({"text": format!("{relative}{GOOD}")})),
        ("check", json!({"path": "cases/c.yaml"})),
        ("check", json!({"path": "."})),
        ("list", json!({"path": "."})),
        ("explain", json!({"case": "c"})),
        ("reduce", json!({"case": "c"})),
    ] {
        let result = client.call(tool, &arguments);
        assert!(!result.to_string().contains("the user's"), "{result}");
        assert!(!result.to_string().contains("A_SECRET = "), "{result}");
    }
    assert_eq!(client.close(), Some(0));
    let after = (list(outside.path()), list(&inside), list(&inside.join("cases")));
    assert_eq!(before, after, "nothing is written");
}

/// The description of `judge`.
fn describe_judge(client: &mut Client) -> String {
    let answer = client.request("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let judge = tools.iter().find(|tool| tool["name"] == "judge").expect("a tool");
    judge["description"].as_str().expect("a description").to_owned()
}

#[test]
fn judge_is_off_unless_the_server_is_started_with_it() {
    let folder = create_folder();
    let mut client = Client::open(folder.path(), &[]);
    let description = describe_judge(&mut client);
    assert!(description.contains("`cerith mcp --judge`"), "{description}");
    let both = json!({"task": "good.py", "path": "wrong.py"});
    client.fail("judge", &both, "start the server with `cerith mcp --judge`");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn judge_reads_files_of_the_folder_only() {
    let outside = TempDir::new().expect("a folder");
    fs::write(outside.path().join("secret.py"), "A_SECRET = 1\n").expect("written");
    let folder = outside.path().join("inside");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("good.py"), GOOD).expect("written");
    symlink("../secret.py", folder.join("link.py")).expect("a link");
    let mut client = Client::open(&folder, &["--judge"]);
    assert!(!describe_judge(&mut client).contains("--judge"));
    for (path, message) in [
        ("../secret.py", "is outside of the folder"),
        ("/etc/passwd", "is outside of the folder"),
        ("link.py", "is a link out of the folder"),
        ("missing.py", "failed to read"),
    ] {
        let text = client.fail("judge", &json!({"task": path, "path": "good.py"}), message);
        assert!(!text.contains("A_SECRET"), "{text}");
        client.fail("judge", &json!({"task": "good.py", "path": path}), message);
    }
    for arguments in [
        json!({"task": "good.py"}),
        json!({"task": "good.py", "path": "good.py", "text": GOOD}),
    ] {
        client.fail("judge", &arguments, "either `path` or `text`");
    }
    let arguments = json!({"task": "good.py", "path": "good.py", "kernel": "double"});
    client.fail("judge", &arguments, "unknown field `kernel`");
    // The home of this test has no toolchain.
    client.fail(
        "judge",
        &json!({"task": "good.py", "path": "good.py"}),
        "no toolchain",
    );
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_bad_request_is_answered() {
    let folder = create_folder();
    let mut client = Client::open(folder.path(), &[]);
    for (line, id, code) in [
        ("{", Value::Null, -32700),
        ("not JSON at all", Value::Null, -32700),
        ("[1, 2]", Value::Null, -32600),
        (r#"{"id": 900}"#, json!(900), -32600),
        (
            r#"{"jsonrpc": "2.0", "id": 901, "method": 5}"#,
            json!(901),
            -32600,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 902, "method": "no/such/method"}"#,
            json!(902),
            -32601,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 903, "method": "tools/call", "params": {"name": "fuzz"}}"#,
            json!(903),
            -32602,
        ),
    ] {
        client.send(line);
        let answer = client.receive();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{line}: {answer}"
        );
    }
    // Neither a notification that is not known nor an empty line has an answer.
    client.send(r#"{"jsonrpc": "2.0", "method": "notifications/unknown"}"#);
    client.send("");
    client.fail("check", &json!({}), "either `path` or `text`");
    client.fail(
        "check",
        &json!({"path": "good.py", "text": GOOD}),
        "either `path` or `text`",
    );
    client.fail("check", &json!({"path": 3}), "bad arguments");
    client.fail(
        "check",
        &json!({"path": "good.py", "engine": "cuda"}),
        "unknown field `engine`",
    );
    client.fail(
        "check",
        &json!({"path": "good.py", "timeout": -1}),
        "bad arguments",
    );
    client.fail(
        "check",
        &json!({"path": "missing.py"}),
        "failed to read `missing.py`",
    );
    client.fail(
        "check",
        &json!({"path": "good.py", "kernel": "none"}),
        "no kernel `none`",
    );
    client.fail("check", &json!({"path": ".", "kernel": "double"}), "is a folder");
    client.fail("check", &json!({"text": "def"}), "error");
    client.fail("check", &json!({"text": "x = 1\n"}), "there is no kernel");
    client.fail(
        "check",
        &json!({"text": "x".repeat(2 << 20)}),
        "more than 1048576 bytes",
    );
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_huge_request_is_answered() {
    let folder = create_folder();
    let mut client = Client::open(folder.path(), &[]);
    let huge = "x".repeat(6 << 20);
    client.send(&json!({"method": "tools/call", "params": {"name": "check", "arguments": {"text": huge}}, "jsonrpc": "2.0", "id": 77}).to_string());
    let answer = client.receive();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(77), &json!(-32600)),
        "{answer}"
    );
    client.send(&huge);
    assert_eq!(client.receive()["id"], Value::Null);
    let (text, _) = client.call_well("check", &json!({"path": "good.py"}));
    assert!(text.contains("nothing found"), "{text}");
}

#[test]
fn a_cancelled_call_ends_and_has_no_answer() {
    let folder = create_folder();
    write_many_kernels(&folder);
    let mut client = Client::open(folder.path(), &[]);
    let call = json!({"name": "check", "arguments": {"path": "long"}});
    // As many as run at once, and one that waits.
    let ids = [0; 3].map(|_| client.begin("tools/call", &call));
    for id in ids {
        let params = json!({"requestId": id, "reason": "the user changed their mind"});
        client.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string(),
        );
    }
    // Runs only once the others have ended.
    let began = Instant::now();
    let (text, _) = client.call_well("check", &json!({"path": "good.py"}));
    assert!(text.contains("nothing found"), "{text}");
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_long_call_returns_what_it_has() {
    let folder = create_folder();
    write_many_kernels(&folder);
    let mut client = Client::open(folder.path(), &["--timeout", "2"]);
    let (text, data) = client.call_well("check", &json!({"path": "long"}));
    assert_eq!(data["complete"], false, "{text}");
    assert!(text.contains("stopped before all kernels were checked"), "{text}");
}

#[test]
fn requests_before_the_end_of_the_input_are_answered() {
    let folder = create_folder();
    let mut client = Client::open(folder.path(), &[]);
    let ids = ["good.py", "wrong.py", "good.py"].map(|path| {
        client.begin(
            "tools/call",
            &json!({"name": "check", "arguments": {"path": path}}),
        )
    });
    drop(client.input.take());
    let mut answered: Vec<i64> = ids
        .iter()
        .map(|_| client.receive()["id"].as_i64().expect("an id"))
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, ids);
    assert_eq!(client.wait(), Some(0));
}

#[test]
fn ctrl_c_ends_the_server() {
    let folder = create_folder();
    write_many_kernels(&folder);
    let mut client = Client::open(folder.path(), &[]);
    client.begin(
        "tools/call",
        &json!({"name": "check", "arguments": {"path": "long"}}),
    );
    let pid = Pid::from_child(&client.child);
    kill_process(pid, Signal::INT).expect("a process");
    assert_eq!(client.wait(), Some(130));
}
