//! Handles requests: each call of a tool runs in a thread of its own, with a limit of time, until its client cancels it.

use std::cell::Cell;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use cerith_engine::catch_panic;
use cerith_runner::{Host, Interrupt};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::ServeOptions;
use crate::tool::{Answer, Request, TOOLS, ToolEntry, ToolError};
use crate::transcript::Transcript;

/// How many calls run at once: a second one is answered while a long one runs.
const MAX_RUNNING: usize = 2;

/// How many threads there are at once, with those of calls that were cancelled and have not ended yet.
const MAX_THREADS: usize = 6;

/// How many calls wait for others.
const MAX_QUEUED: usize = 32;

/// The time that a call gets after its limit, to return its results.
const GRACE: Duration = Duration::from_secs(5);

/// Bytes of stack of a call: kernels are nested text, and walking them is recursive.
const STACK: usize = 64 << 20;

/// Tells clients how to use the tools.
const INSTRUCTIONS: &str = "Cerith checks Triton kernels without a GPU. Call `check` with the path of a Python file after each edit of \
    a kernel. A finding is an error of the kernel for arguments that its source allows, a precondition is a \
    condition that callers must keep, and \"nothing found\" proves nothing, least of all about formulas. `explain` with a finding's code \
    explains it, `reduce` makes the kernel of a finding small, `list` lists kernels. `judge`, if it is on, compares a \
    submission with a task. Paths start from the server's folder.";

/// A call that runs: the request to stop it, and its result.
type Started = (Arc<Interrupt>, oneshot::Receiver<Result<Answer, ToolError>>);

/// The server.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    options: ServeOptions,
    permits: Arc<Semaphore>,
    /// Calls that run or wait.
    calls: AtomicUsize,
    /// Threads of calls.
    threads: Arc<AtomicUsize>,
    /// The running calls.
    running: Mutex<Vec<Weak<Interrupt>>>,
}

impl Server {
    /// A server for a folder, by its real path.
    pub fn new(root: PathBuf, options: ServeOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                root,
                options,
                permits: Arc::new(Semaphore::new(MAX_RUNNING)),
                calls: AtomicUsize::new(0),
                threads: Arc::default(),
                running: Mutex::default(),
            }),
        }
    }

    /// Stops all calls.
    pub fn stop(&self) {
        let running = self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
        for interrupt in running.iter().filter_map(Weak::upgrade) {
            interrupt.request();
        }
    }

    /// Runs a tool.
    async fn run(
        &self,
        tool: &'static ToolEntry,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, ToolError> {
        let shared = &self.shared;
        let _call = Counted::new(&shared.calls, MAX_RUNNING + MAX_QUEUED)
            .ok_or(ToolError::Queue(MAX_RUNNING + MAX_QUEUED))?;
        let _permit = tokio::select! {
            permit = Arc::clone(&shared.permits).acquire_owned() => permit?,
            () = context.ct.cancelled() => return Err(ToolError::Cancelled),
        };
        let limit = shared.options.timeout;
        let (sender, mut reports) = mpsc::unbounded_channel();
        let (interrupt, result) = self.start(tool, arguments, sender)?;
        tokio::pin!(result);
        let late = tokio::time::sleep(limit);
        tokio::pin!(late);
        let token = context.meta.get_progress_token();
        loop {
            tokio::select! {
                biased;
                done = &mut result => return done.unwrap_or(Err(ToolError::NoResult)),
                () = context.ct.cancelled() => {
                    interrupt.request();
                    return Err(ToolError::Cancelled);
                }
                () = &mut late => {
                    interrupt.request();
                    break;
                }
                Some((done, total)) = reports.recv() => {
                    if let Some(token) = token.clone() {
                        let progress = ProgressNotificationParam::new(token, done as f64).with_total(total as f64);
                        // A client that is gone hears nothing.
                        let _ = context.peer.notify_progress(progress).await;
                    }
                }
            }
        }
        match tokio::time::timeout(GRACE, &mut result).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) | Err(_) => Err(ToolError::Late {
                tool: tool.name,
                seconds: limit.as_secs(),
            }),
        }
    }

    /// Starts a tool in a thread.
    fn start(
        &self,
        tool: &'static ToolEntry,
        arguments: JsonObject,
        reports: mpsc::UnboundedSender<(usize, usize)>,
    ) -> Result<Started, ToolError> {
        let interrupt = Arc::new(Interrupt::new());
        {
            let mut running = self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.retain(|other| other.strong_count() > 0);
            running.push(Arc::downgrade(&interrupt));
        }
        let threads = Arc::clone(&self.shared.threads);
        let counted = Counted::new(threads, MAX_THREADS).ok_or(ToolError::Queue(MAX_THREADS))?;
        let (sender, receiver) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        let own = Arc::clone(&interrupt);
        let deadline = Instant::now() + shared.options.timeout;
        thread::Builder::new()
            .name(format!("cerith-mcp-{}", tool.name))
            .stack_size(STACK)
            .spawn(move || {
                let transcript = Transcript::default();
                let reported = Cell::new((0, 0));
                let progress = |done, total| {
                    // Each report must say more than the one before.
                    if reported.replace((done, total)) != (done, total) && done > 0 {
                        let _ = reports.send((done, total));
                    }
                };
                let request = Request {
                    root: &shared.root,
                    host: Host {
                        console: &transcript,
                        interrupt: &own,
                    },
                    deadline,
                    jobs: shared.options.jobs,
                    judge: shared.options.judge.as_deref(),
                    progress: &progress,
                };
                let done = catch_panic(|| (tool.run)(&request, arguments));
                let mut done = done.unwrap_or_else(|panic| Err(ToolError::Panic(panic)));
                let notes = transcript.take_notes();
                if let Ok(answer) = &mut done
                    && !notes.is_empty()
                {
                    answer.blocks.push(notes);
                }
                drop(counted);
                // The client may have cancelled the call.
                let _ = sender.send(done);
            })
            .map_err(ToolError::Thread)?;
        Ok((interrupt, receiver))
    }
}

/// A call or a thread that is counted until it is dropped.
struct Counted<C: Deref<Target = AtomicUsize>>(C);

impl<C: Deref<Target = AtomicUsize>> Counted<C> {
    /// `None` if there are as many already as the limit.
    fn new(counter: C, limit: usize) -> Option<Self> {
        let counted = Self(counter);
        (counted.0.fetch_add(1, Ordering::Relaxed) < limit).then_some(counted)
    }
}

impl<C: Deref<Target = AtomicUsize>> Drop for Counted<C> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("cerith", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            TOOLS
                .iter()
                .map(|tool| describe_tool(tool, self.shared.options.judge.is_some()))
                .collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let message = format!("no tool `{}`: the tools are {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let result = match self.run(tool, arguments, &context).await {
            Ok(answer) => {
                let blocks = answer.blocks.into_iter().map(ContentBlock::text);
                let mut result = CallToolResult::success(blocks.collect());
                result.structured_content = Some(answer.data);
                result
            }
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        };
        Ok(result.into())
    }
}

fn describe_tool(tool: &ToolEntry, has_judge: bool) -> Tool {
    let schema = match (tool.build_schema)() {
        serde_json::Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    let description = tool.when_off.filter(|_| !has_judge).unwrap_or(tool.description);
    let mut described = Tool::new(tool.name, description, schema);
    described.title = Some(tool.title.to_owned());
    described.annotations = Some(annotations);
    described
}
