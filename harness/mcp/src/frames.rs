//! The messages of the protocol, a line each. Every line that is not a message of a client is answered with an error.

use std::collections::HashSet;
use std::io::{self, BufReader, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::Instant;

use crate::message_line::{Line, MAX_MESSAGE, read_line};

/// How many messages wait while one is handled.
const MAX_WAITING: usize = 64;

/// The interval between two checks for running requests after the end of the input.
const PATIENCE: Duration = Duration::from_millis(20);

/// JSON-RPC's code for text that is not JSON.
const PARSE_ERROR: i32 = -32700;

/// JSON-RPC's code for JSON that is not a request.
const INVALID_REQUEST: i32 = -32600;

type Pending = Arc<Mutex<HashSet<RequestId>>>;

/// Standard input and standard output.
pub struct Frames {
    messages: Receiver<RxJsonRpcMessage<RoleServer>>,
    /// Requests without a response.
    pending: Pending,
    /// How long requests may take after the end of the input.
    timeout: Duration,
}

impl Frames {
    /// Starts to read. A thread waits for input, which no timer can end.
    pub fn start(timeout: Duration) -> io::Result<Self> {
        let (sender, messages) = mpsc::channel(MAX_WAITING);
        let pending = Pending::default();
        let known = Arc::clone(&pending);
        thread::Builder::new()
            .name("cerith-mcp-input".to_owned())
            .spawn(move || {
                let mut input = BufReader::new(io::stdin());
                while let Ok(Some(line)) = read_line(&mut input) {
                    match parse_message(line) {
                        Ok(Some(message)) => {
                            note_request(&known, &message);
                            if sender.blocking_send(message).is_err() {
                                return;
                            }
                        }
                        Ok(None) => {}
                        // If the client reads no more, it also closes the input.
                        Err(answer) => drop(write_line(answer.to_string().as_bytes())),
                    }
                }
            })?;
        Ok(Self {
            messages,
            pending,
            timeout,
        })
    }
}

/// Notes a request that needs a response, and a cancelled one, which gets none.
fn note_request(pending: &Pending, message: &RxJsonRpcMessage<RoleServer>) {
    let mut pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
    match message {
        JsonRpcMessage::Request(request) => {
            pending.insert(request.id.clone());
        }
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                pending.remove(id);
            }
        }
        _ => {}
    }
}

/// The message of a line; `None` for an empty line and for a notification that is not known. Fails with the answer.
fn parse_message(line: Line) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Value> {
    let line = match line {
        Line::Whole(line) => line,
        Line::TooLong(id) => {
            let message =
                format!("the message has more than {MAX_MESSAGE} bytes: name a file in place of its text");
            return Err(build_error(id, INVALID_REQUEST, &message));
        }
    };
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(&line)
        .map_err(|error| build_error(None, PARSE_ERROR, &format!("the line is not JSON: {error}")))?;
    let id = value.get("id").cloned();
    let is_notification = id.is_none() && value.get("method").is_some();
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        Err(_) if is_notification => Ok(None),
        Err(_) => {
            let message = "the line is not a request of the Model Context Protocol";
            Err(build_error(id, INVALID_REQUEST, message))
        }
    }
}

fn build_error(id: Option<Value>, code: i32, message: &str) -> Value {
    // Only text and numbers are ids.
    let id = id.filter(|id| id.is_string() || id.is_number());
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Writes a line as a whole.
fn write_line(line: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line)?;
    out.write_all(b"\n")?;
    out.flush()
}

impl Transport<RoleServer> for Frames {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let pending = Arc::clone(&self.pending);
        async move {
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let written = serde_json::to_vec(&message)
                .map_err(io::Error::other)
                .and_then(|line| write_line(&line));
            if let Some(id) = id {
                let mut pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
                pending.remove(&id);
            }
            written
        }
    }

    /// At the end of the input, waits for the responses to earlier requests.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if let Some(message) = self.messages.recv().await {
            return Some(message);
        }
        let until = Instant::now() + self.timeout;
        let is_waiting = || {
            let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            !pending.is_empty()
        };
        while is_waiting() && Instant::now() < until {
            tokio::time::sleep(PATIENCE).await;
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &Result<bool, (Value, i32)>) {
        let parsed = parse_message(Line::Whole(line.as_bytes().to_vec()));
        let parsed = parsed.map(|message| message.is_some());
        let parsed = parsed.map_err(|answer| {
            let code = answer["error"]["code"].as_i64().expect("a code");
            (answer["id"].clone(), i32::try_from(code).expect("a small number"))
        });
        assert_eq!(parsed, *expected, "{line}");
    }

    #[test]
    fn every_line_is_a_message_or_has_an_answer() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, &Ok(true));
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            &Ok(true),
        );
        check("", &Ok(false));
        check("  \r", &Ok(false));
        check("{", &Err((Value::Null, PARSE_ERROR)));
        check("\u{7}", &Err((Value::Null, PARSE_ERROR)));
        check("[]", &Err((Value::Null, INVALID_REQUEST)));
        check(r#"{"id":4}"#, &Err((json!(4), INVALID_REQUEST)));
        check(
            r#"{"id":{"a":1},"jsonrpc":"2.0"}"#,
            &Err((Value::Null, INVALID_REQUEST)),
        );
        check(&"[".repeat(100_000), &Err((Value::Null, PARSE_ERROR)));
    }
}
