//! Converts a launch of Inductor's code to a case of its own for another engine.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use cerith_case::{Arg, ArgValue, Case, Declared, Launch};
use cerith_memory::{Dims, Memory, NamedTensor, ORIGIN, StorageId, Storages, Tensor};
use cerith_module::{Kernel, Module};
use cerith_tile::DType;
use cerith_tile::rules::Rules;
use cerith_tile::source::{SourceId, Span};
use cerith_toolchain::inductor::Emitted;
use cerith_toolchain::request::Value;

use crate::engine::{Engine, Failure};
use crate::{Complaint, Finished, Outcome};

/// The maximum number of kept modules, so that a kernel that is launched again is not traced again.
const MAX_MODULES: usize = 128;

/// The latest modules, by their text.
#[derive(Debug, Default)]
pub(super) struct Modules {
    latest: Mutex<VecDeque<Arc<Module>>>,
}

impl Modules {
    fn get(&self, kernel: &str, text: &str) -> Result<Arc<Module>, Box<Complaint>> {
        let name = format!("emitted/{kernel}.py");
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let known = latest
            .iter()
            .find(|module| *module.file.text == *text && module.file.name == name);
        if let Some(module) = known {
            return Ok(Arc::clone(module));
        }
        let module = Module::from_text(name, text).map_err(|problems| {
            let first = problems.into_iter().next().map(|problem| problem.message);
            stop("kernel-syntax", first.unwrap_or_default())
        })?;
        let module = Arc::new(module);
        if latest.len() >= MAX_MODULES {
            latest.pop_front();
        }
        latest.push_back(Arc::clone(&module));
        Ok(module)
    }
}

/// The result of a launch.
#[derive(Debug, PartialEq)]
pub(super) struct LaunchResult {
    /// The bytes of each storage.
    pub storages: Vec<Vec<u8>>,
    pub printed: Vec<String>,
}

/// Executes a launch with an engine. If the launch does not finish, returns its outcome.
///
/// # Errors
/// Cerith failed.
pub(super) fn execute(
    engine: &dyn Engine,
    rules: Rules,
    emitted: &Emitted,
    modules: &Modules,
) -> Result<Result<LaunchResult, Outcome>, Failure> {
    let case = match derive_case(emitted, modules) {
        Ok(case) => case,
        Err(complaint) => return Ok(Err(Outcome::Unsupported(complaint))),
    };
    let finished = match engine.run(&case, rules)?.outcome {
        Outcome::Finished(finished) => *finished,
        other => return Ok(Err(other)),
    };
    if let Some(complaint) = find_stray_effect(&case, &finished.memory) {
        return Ok(Err(Outcome::Unsupported(Box::new(complaint))));
    }
    let Finished { memory, printed, .. } = finished;
    Ok(Ok(LaunchResult {
        storages: memory.ids().map(|id| memory.bytes(id).to_vec()).collect(),
        printed,
    }))
}

/// The launch as a case.
pub(super) fn derive_case(emitted: &Emitted, modules: &Modules) -> Result<Case, Box<Complaint>> {
    let span = Span::new(SourceId(0), 0, 0);
    let module = modules.get(&emitted.kernel, &emitted.source)?;
    let kernel = Kernel::find(&module, &emitted.kernel).ok_or_else(|| {
        stop(
            "launch",
            format!(
                "no function `{}` in the module that was generated for it",
                emitted.kernel
            ),
        )
    })?;
    let mut storages = Storages::new();
    for (nth, bytes) in emitted.storages.iter().enumerate() {
        let id = storages
            .add(storage_name(emitted, nth), bytes.len() as u64)
            .map_err(|error| stop("memory", error.to_string()))?;
        storages.write(id, 0, bytes);
    }
    let keyword: Vec<(String, Arg)> = emitted
        .args
        .iter()
        .map(|(name, value)| {
            let value = convert_argument(name, value)?;
            Ok((name.clone(), Arg { value, span }))
        })
        .collect::<Result<_, Box<Complaint>>>()?;
    let options = emitted
        .options
        .iter()
        .map(|(name, value)| Ok((name.clone(), convert_argument(name, value)?)))
        .collect::<Result<_, Box<Complaint>>>()?;
    let mut grid = [1; 3];
    for (slot, &size) in grid.iter_mut().zip(&emitted.grid) {
        *slot = u32::try_from(size)
            .map_err(|_| stop("launch", format!("a grid of {size} programs along an axis")))?;
    }
    let tensors: Vec<NamedTensor> = keyword
        .iter()
        .filter_map(|(name, arg)| match &arg.value {
            ArgValue::Tensor { tensor, .. } => Some(NamedTensor {
                name: name.clone(),
                tensor: tensor.clone(),
            }),
            _ => None,
        })
        .collect();
    let declared = (storages.iter().zip(&emitted.storages))
        .map(|((id, _), bytes)| {
            let dtype = dtype_of(&tensors, id);
            Declared {
                dtype,
                shape: vec![(bytes.len() / dtype.size()) as i64],
                fill: String::new(),
                recorded: None,
                span,
            }
        })
        .collect();
    let named_storages = storages.len();
    let launch = Launch {
        kernel,
        grid,
        grid_dims: 3,
        positional: Vec::new(),
        keyword,
        options,
        host: None,
        unchecked: true,
        span,
    };
    Ok(Case {
        id: format!("emitted/{}", emitted.kernel),
        summary: String::new(),
        origin: None,
        discovery: None,
        point: Vec::new(),
        module,
        storages,
        named_storages,
        declared,
        tensors,
        launches: vec![launch],
        compile: None,
        timeout: None,
        inspectable: true,
        recorded: None,
        expected_contents: Vec::new(),
        like: None,
        expectations: Vec::new(),
        span,
    })
}

/// The reason why a launch cannot be made.
fn stop(kind: &str, message: impl Into<String>) -> Box<Complaint> {
    Box::new(Complaint::new(kind, message))
}

/// A storage by the first argument that shows it.
fn storage_name(emitted: &Emitted, nth: usize) -> String {
    let shows = |value: &Value| matches!(value, Value::Tensor(tensor) if tensor.storage == nth);
    let first = emitted.args.iter().find(|(_, value)| shows(value));
    first.map_or_else(|| format!("storage {nth}"), |(name, _)| name.clone())
}

/// The element type that decides whether a storage may hold addresses: one of 64 bits, if a tensor of it is shown.
fn dtype_of(tensors: &[NamedTensor], id: StorageId) -> DType {
    let mut shown = tensors
        .iter()
        .filter(|named| named.tensor.storage == id)
        .map(|named| named.tensor.dtype);
    let first = shown.clone().next().unwrap_or(DType::U8);
    shown.find(|dtype| holds_addresses(*dtype)).unwrap_or(first)
}

fn holds_addresses(dtype: DType) -> bool {
    matches!(dtype, DType::I64 | DType::U64)
}

fn convert_argument(name: &str, value: &Value) -> Result<ArgValue, Box<Complaint>> {
    Ok(match value {
        Value::None => ArgValue::None,
        Value::Bool(flag) => ArgValue::Bool(*flag),
        Value::Int(number) => ArgValue::Int(*number),
        Value::Float(number) => ArgValue::Float(*number),
        Value::Str(text) => ArgValue::Str(text.clone()),
        Value::DType(dtype) => ArgValue::DType(*dtype),
        Value::Constexpr(inner) => convert_argument(name, inner)?,
        Value::Tuple(items) => ArgValue::Tuple(
            items
                .iter()
                .map(|item| convert_argument(name, item))
                .collect::<Result<_, _>>()?,
        ),
        Value::Tensor(tensor) => ArgValue::Tensor {
            name: name.to_owned(),
            tensor: Tensor {
                storage: StorageId(tensor.storage as u32),
                dtype: tensor.dtype,
                shape: tensor.shape.iter().copied().collect::<Dims>(),
                strides: tensor.strides.iter().copied().collect::<Dims>(),
                offset: tensor.offset,
            },
        },
        Value::Global(_) | Value::Descriptor(_) | Value::Address { .. } | Value::NamedTuple { .. } => {
            return Err(stop(
                "launch",
                format!("argument `{name}` of a generated launch is {value:?}"),
            ));
        }
    })
}

/// Finds an effect of a finished launch that cannot be carried back: a write outside of every storage, or an address left in
/// memory, which is different in every engine.
fn find_stray_effect(case: &Case, after: &Memory) -> Option<Complaint> {
    let before = case.memory();
    let mut ids = before.ids();
    if let Some(id) = ids.find(|&id| before.guards(id) != after.guards(id)) {
        return Some(Complaint::new(
            "guard",
            format!("it wrote outside of the storage of `{}`", before.name(id)),
        ));
    }
    let arena = before.arena().0.len() as u64;
    let is_address = |word: &[u8]| {
        <[u8; 8]>::try_from(word)
            .map(u64::from_le_bytes)
            .is_ok_and(|word| (ORIGIN..ORIGIN.saturating_add(arena)).contains(&word))
    };
    before
        .ids()
        .filter(|id| {
            case.declared
                .get(id.0 as usize)
                .is_some_and(|declared| holds_addresses(declared.dtype))
        })
        .find(|&id| {
            let words = |memory| Memory::bytes(memory, id).chunks_exact(8);
            words(after)
                .zip(words(&before))
                .any(|(new, old)| new != old && is_address(new))
        })
        .map(|id| {
            Complaint::new(
                "address",
                format!("it left an address in the storage of `{}`", before.name(id)),
            )
        })
}
