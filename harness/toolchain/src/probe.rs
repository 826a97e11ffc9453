//! Whether workers of a toolchain run a kernel at all. The kernel's result does not matter: some pairs of Triton and NumPy
//! are installed because they get it wrong.

use std::io;

use cerith_tile::DType;

use crate::pool::Limits;
use crate::request::{Grid, Launch, Module, Storage, Tensor, Value};
use crate::response::Raised;
use crate::{Pool, Request, WorkerFailure};

/// A kernel that every interpreter runs, for a last look at a new toolchain.
const PROBE: &str = "import triton
import triton.language as tl


@triton.jit
def add_one(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) + 1)
";

/// A toolchain in which no worker runs a kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    /// No place for workers can be made.
    #[error(transparent)]
    Pool(#[from] io::Error),
    /// A worker fails.
    #[error(transparent)]
    Worker(WorkerFailure),
    /// The kernel raises.
    #[error("{}", .0.traceback)]
    Raised(Box<Raised>),
}

/// Has a worker run a kernel.
pub(crate) fn probe(pool: &Pool) -> Result<(), ProbeError> {
    let module = Module {
        // The file does not exist, and is not opened.
        path: pool.toolchain().root().join("probe.py"),
        text: PROBE.into(),
    };
    let mut request = Request::import(module);
    request.device = pool.torch().unwrap_or_default();
    request.storages.push(Storage {
        bytes: [0; 16].into(),
        ..Storage::default()
    });
    let x = Tensor {
        storage: 0,
        dtype: DType::I32,
        shape: vec![4],
        strides: vec![1],
        offset: 0,
    };
    request.launches.push(Launch {
        kernel: "add_one".to_owned(),
        grid: Grid::Fixed(vec![1]),
        args: vec![Value::Tensor(x), Value::Int(4)],
        kwargs: Vec::new(),
        options: Vec::new(),
        host: None,
    });
    let response = pool
        .request(&request, Limits::PROBE)
        .map_err(ProbeError::Worker)?;
    response.result.map_err(ProbeError::Raised)
}
