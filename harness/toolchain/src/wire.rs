//! Frames on the pipe to a worker, and their JSON headers. The Python side is `cerith_worker/wire.py` and `serve.py`. See
//! [`crate::worker`] for moving bytes.

mod error;
pub(crate) mod inductor;
pub(crate) mod program;
pub(crate) mod value;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

pub(crate) use self::error::{BadAnswer, BadRequest};
use self::value::{Wired, check_value};
use crate::compilation::{Compilation, CompileRequest};
use crate::compiled::{Compiled, Invocation, Kernel, Metadata, Param, Scratch, Stage, Target};
use crate::conversation::frame::{self, NoFrame};
use crate::dependencies::Dependencies;
use crate::pool::Limits;
use crate::request::{Device, Driver, Grid, Launch, Module, Relocation, Request, Storage};
use crate::response::{Frame, Location, Memory, Phase, PythonError, Raised, Response};

/// A worker's first words.
#[derive(Debug, Deserialize)]
pub(crate) struct Hello {
    pub protocol: u32,
    pub triton: String,
    pub numpy: String,
    pub python: String,
}

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the frame")]
struct Header<'a> {
    path: String,
    text: &'a str,
    /// None: to interpret.
    target: Option<Target>,
    /// For what GPU the assembly is turned into machine code, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    assembled: Option<Target>,
    /// After what stage the compiler ends; none: after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<Stage>,
    /// Whether what is compiled says which lines it comes from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lines: bool,
    /// Whether a kernel's IR is that before each pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    passes: bool,
    /// Whether to specialise, and the only configuration; none: to interpret.
    tuning: Option<(bool, Option<usize>)>,
    device: &'static str,
    driver: bool,
    inspectable: bool,
    /// The requests that may be done in the same process, where a worker has a process for each group; None: all that the worker gets
    /// before a request turns it to other files.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// Whether no other request may be.
    #[serde(rename = "alone", skip_serializing_if = "std::ops::Not::not")]
    is_alone: bool,
    time: f64,
    storages: Storages<'a>,
    launches: Vec<LaunchHeader<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inductor: Option<inductor::InductorHeader<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Storages<'a> {
    Whole(Vec<StorageHeader<'a>>),
    Sizes(&'a [usize]),
}

/// Size with guard zones, front, back, relocations, whether to look for addresses.
#[derive(Serialize)]
struct StorageHeader<'a>(usize, usize, usize, Relocations<'a>, bool);

struct Relocations<'a>(&'a [Relocation]);

impl Serialize for Relocations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|r| (r.offset, r.storage, r.addend)))
    }
}

#[derive(Serialize)]
struct LaunchHeader<'a> {
    kernel: &'a str,
    grid: GridHeader<'a>,
    args: Vec<Wired<'a>>,
    kwargs: Vec<(&'a str, Wired<'a>)>,
    host: Option<HostHeader<'a>>,
}

#[derive(Serialize)]
struct HostHeader<'a> {
    path: String,
    text: &'a str,
    function: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum GridHeader<'a> {
    Fixed(&'a [i64]),
    Global(&'a str),
}

/// The rule for requests that may share a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Requests with the same files share a process, unless one requires its own.
    File,
    /// All requests share a process, because Cerith generated the files.
    Generated,
}

/// The files that a request executes.
fn source_of(request: &Request) -> blake3::Hash {
    let hosts = request.launches.iter().filter_map(|launch| launch.host.as_ref());
    let modules = std::iter::once(&request.module).chain(hosts.map(|host| &host.module));
    let mut hasher = blake3::Hasher::new();
    for module in modules {
        for part in [module.path.as_os_str().as_encoded_bytes(), module.text.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher.finalize()
}

/// The frame that asks for a request, or what is wrong with the request.
pub(crate) fn encode_request(request: &Request, group: Group, limits: Limits) -> Result<Vec<u8>, BadRequest> {
    check(request)?;
    let mut header = header_of(request, limits)?;
    header.group = Some(match group {
        Group::Generated => "generated".to_owned(),
        Group::File => source_of(request).to_hex().to_string(),
    });
    header.is_alone = request.isolated && group == Group::File;
    Ok(frame::encode_frame(
        &header,
        request.storages.iter().map(|storage| &*storage.bytes),
    )?)
}

/// The header of a request to interpret.
fn header_of(request: &Request, limits: Limits) -> Result<Header<'_>, BadRequest> {
    Ok(Header {
        path: check_absolute(&request.module.path)?,
        text: &request.module.text,
        target: None,
        assembled: None,
        stage: None,
        lines: false,
        passes: false,
        tuning: None,
        device: match request.device {
            Device::Cuda => "cuda",
            Device::Host => "cpu",
        },
        driver: request.driver == Driver::Fake,
        inspectable: request.inspectable,
        group: None,
        is_alone: false,
        time: limits.time.as_secs_f64(),
        storages: Storages::Whole(request.storages.iter().map(storage_header).collect()),
        launches: launch_headers(&request.launches, check_absolute)?,
        inductor: None,
    })
}

/// The frame of a compilation, or the problem of the request.
pub(crate) fn compile_frame(request: &CompileRequest, limits: Limits) -> Result<Vec<u8>, BadRequest> {
    check_launches(&request.launches, &request.storages)?;
    Ok(frame::encode_frame(
        &compile_header(request, limits, check_absolute)?,
        [],
    )?)
}

/// How paths are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paths {
    /// As the request has them.
    Given,
    /// From the root.
    Absolute,
}

/// The part of a request that decides the answer to a compilation, except for the toolchain and other files: the same bytes
/// for the same request.
pub(crate) fn compile_words(request: &CompileRequest, paths: Paths) -> Result<Vec<u8>, BadRequest> {
    let limits = Limits {
        time: Duration::ZERO,
        memory: 0,
    };
    let named = |path: &Path| match paths {
        Paths::Given => Ok(path.to_string_lossy().into_owned()),
        Paths::Absolute => check_absolute(path),
    };
    let header = compile_header(request, limits, named)?;
    serde_json::to_vec(&header).map_err(|error| NoFrame::Json(error).into())
}

fn compile_header(
    request: &CompileRequest,
    limits: Limits,
    named: impl Fn(&Path) -> Result<String, BadRequest>,
) -> Result<Header<'_>, BadRequest> {
    Ok(Header {
        path: named(&request.module.path)?,
        text: &request.module.text,
        target: Some(request.target),
        assembled: request.assembled,
        stage: request.stage,
        lines: request.lines,
        passes: request.passes,
        tuning: Some((request.tuning.specialize, request.tuning.config)),
        device: "cuda",
        driver: true,
        inspectable: true,
        group: None,
        is_alone: false,
        time: limits.time.as_secs_f64(),
        storages: Storages::Sizes(&request.storages),
        launches: launch_headers(&request.launches, named)?,
        inductor: None,
    })
}

fn storage_header(storage: &Storage) -> StorageHeader<'_> {
    let look = storage.holds_addresses || !storage.relocations.is_empty();
    StorageHeader(
        storage.bytes.len(),
        storage.front,
        storage.back,
        Relocations(&storage.relocations),
        look,
    )
}

fn check_absolute(path: &Path) -> Result<String, BadRequest> {
    std::path::absolute(path)
        .map(|path| path.to_string_lossy().into_owned())
        .map_err(|error| BadRequest::Path {
            path: path.to_owned(),
            error,
        })
}

/// The launches, with the paths of host functions' files named by `named`.
fn launch_headers(
    launches: &[Launch],
    named: impl Fn(&Path) -> Result<String, BadRequest>,
) -> Result<Vec<LaunchHeader<'_>>, BadRequest> {
    launches
        .iter()
        .map(|launch| launch_header(launch, &named))
        .collect()
}

fn launch_header<'a>(
    launch: &'a Launch,
    named: &impl Fn(&Path) -> Result<String, BadRequest>,
) -> Result<LaunchHeader<'a>, BadRequest> {
    let host = launch.host.as_ref().map(|host| {
        Ok::<_, BadRequest>(HostHeader {
            path: named(&host.module.path)?,
            text: &host.module.text,
            function: &host.function,
        })
    });
    Ok(LaunchHeader {
        kernel: &launch.kernel,
        grid: match &launch.grid {
            Grid::Fixed(sizes) => GridHeader::Fixed(sizes),
            Grid::Global(name) => GridHeader::Global(name),
        },
        args: launch.args.iter().map(Wired).collect(),
        kwargs: launch
            .kwargs
            .iter()
            .chain(&launch.options)
            .map(|(name, value)| (name.as_str(), Wired(value)))
            .collect(),
        host: host.transpose()?,
    })
}

/// Whether the indices in a request hold, so that a mistake of the caller's is not taken for one of the kernel's.
fn check(request: &Request) -> Result<(), BadRequest> {
    for (index, storage) in request.storages.iter().enumerate() {
        if storage
            .front
            .checked_add(storage.back)
            .is_none_or(|guards| guards > storage.bytes.len())
        {
            return Err(BadRequest::Small(index));
        }
        for relocation in &storage.relocations {
            let inside = relocation
                .offset
                .checked_add(8)
                .is_some_and(|end| end <= storage.len());
            if !inside || relocation.offset % 8 != 0 || relocation.storage >= request.storages.len() {
                return Err(BadRequest::Relocation {
                    storage: index,
                    relocation: *relocation,
                });
            }
        }
    }
    let sizes: Vec<usize> = request.storages.iter().map(Storage::len).collect();
    check_launches(&request.launches, &sizes)
}

/// `sizes` are those of the storages.
fn check_launches(launches: &[Launch], sizes: &[usize]) -> Result<(), BadRequest> {
    for launch in launches {
        if launch.host.is_some() && !launch.args.is_empty() {
            return Err(BadRequest::Positional);
        }
        let named = launch
            .kwargs
            .iter()
            .chain(&launch.options)
            .map(|(_, value)| value);
        launch
            .args
            .iter()
            .chain(named)
            .try_for_each(|value| check_value(value, sizes))?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct LaunchAnswer {
    raised: Option<RaisedHeader>,
    memory: Vec<MemoryHeader>,
    seconds: f64,
    stdout: String,
    stdout_cut: bool,
    worn: bool,
}

/// Bytes sent for a storage (none: it is as it was), and the addresses in it.
#[derive(Deserialize)]
struct MemoryHeader(Option<usize>, Vec<(usize, usize, i64)>);

#[derive(Deserialize)]
struct RaisedHeader {
    phase: String,
    launch: usize,
    chain: Vec<Link>,
    location: Option<(String, u32, String)>,
    compiling: bool,
    #[serde(default)]
    frame: Option<Frame>,
    #[serde(default)]
    origin: Option<String>,
    traceback: String,
}

#[derive(Deserialize)]
struct Link {
    kind: String,
    message: String,
}

/// Reads an answer; with it, whether the worker asks to be replaced.
pub(crate) fn decode_response(
    header: &[u8],
    blobs: &[u8],
    stderr: &str,
    request: &Request,
) -> Result<(Response, bool), BadAnswer> {
    let answer: LaunchAnswer = serde_json::from_slice(header).map_err(BadAnswer::Header)?;
    let mut rest = blobs;
    let storages = split_memories(answer.memory, &mut rest, request)?;
    let result = match answer.raised {
        None => Ok(()),
        Some(raised) => Err(Box::new(raised_by(raised, &request.module, &request.launches)?)),
    };
    let response = Response {
        result,
        storages,
        stdout: answer.stdout,
        stderr: stderr.to_owned(),
        stdout_cut: answer.stdout_cut,
        seconds: Duration::try_from_secs_f64(answer.seconds).unwrap_or_default(),
    };
    Ok((response, answer.worn))
}

/// The storages of an answer, their bytes taken from the front of `rest`.
fn split_memories(
    memory: Vec<MemoryHeader>,
    rest: &mut &[u8],
    request: &Request,
) -> Result<Vec<Memory>, BadAnswer> {
    if memory.len() != request.storages.len() {
        return Err(BadAnswer::Storages {
            received: memory.len(),
            sent: request.storages.len(),
        });
    }
    let mut storages = Vec::with_capacity(memory.len());
    for (MemoryHeader(size, found), sent) in memory.into_iter().zip(&request.storages) {
        let bytes = match size {
            None => Arc::clone(&sent.bytes),
            Some(size) if size == sent.bytes.len() => {
                let (these, others) = rest.split_at_checked(size).ok_or(BadAnswer::Short)?;
                *rest = others;
                Arc::from(these)
            }
            Some(size) => {
                return Err(BadAnswer::Size {
                    received: size,
                    sent: sent.bytes.len(),
                });
            }
        };
        let relocations = found
            .into_iter()
            .map(|(at, storage, addend)| Relocation {
                offset: at,
                storage,
                addend,
            })
            .collect();
        storages.push(Memory { bytes, relocations });
    }
    Ok(storages)
}

/// The path of the host function's file that the worker named, if it is one.
fn host_of<'a>(file: &str, launches: &'a [Launch]) -> Option<&'a Path> {
    let hosts = launches.iter().filter_map(|launch| launch.host.as_ref());
    let mut paths = hosts.map(|host| host.module.path.as_path());
    paths.find(|path| std::path::absolute(path).is_ok_and(|path| path == Path::new(file)))
}

fn raised_by(raised: RaisedHeader, module: &Module, launches: &[Launch]) -> Result<Raised, BadAnswer> {
    Ok(Raised {
        phase: match raised.phase.as_str() {
            "import" => Phase::Import,
            "arguments" => Phase::Arguments(raised.launch),
            "launch" => Phase::Launch(raised.launch),
            other => return Err(BadAnswer::Phase(other.to_owned())),
        },
        chain: raised
            .chain
            .into_iter()
            .map(|link| PythonError {
                kind: link.kind,
                message: link.message,
            })
            .collect(),
        location: raised.location.map(|(file, line, function)| Location {
            file: restore_path(&file, host_of(&file, launches).unwrap_or(&module.path)),
            line,
            function,
        }),
        frame: raised.frame,
        compiling: raised.compiling,
        origin: raised.origin,
        traceback: raised.traceback,
    })
}

#[derive(Deserialize)]
struct CompileAnswer {
    raised: Option<RaisedHeader>,
    kernels: Vec<KernelHeader>,
    invocations: Vec<Invocation>,
    configs: usize,
    seconds: f64,
    stdout: String,
    worn: bool,
}

#[derive(Deserialize)]
struct KernelHeader {
    name: String,
    num_warps: u32,
    num_ctas: u32,
    cluster_dims: Option<[u32; 3]>,
    shared: u32,
    global_scratch: Option<(u64, u64)>,
    profile_scratch: Option<(u64, u64)>,
    cooperative: bool,
    pdl: bool,
    /// Sizes of cubin, PTX and TTIR.
    sizes: [usize; 3],
}

/// Reads the answer to a compilation, with the files that it depends on; with it, whether the worker asks to be replaced.
pub(crate) fn decode_compilation(
    header: &[u8],
    blobs: &[u8],
    stderr: &str,
    request: &CompileRequest,
) -> Result<((Compilation, Dependencies), bool), BadAnswer> {
    let (blobs, dependencies) = Dependencies::split(blobs)?;
    let answer: CompileAnswer = serde_json::from_slice(header).map_err(BadAnswer::Header)?;
    let result = match answer.raised {
        Some(raised) => Err(Box::new(raised_by(raised, &request.module, &request.launches)?)),
        None => Ok(Compiled {
            kernels: split_kernels(answer.kernels, blobs)?,
            invocations: answer.invocations,
        }),
    };
    if let Ok(compiled) = &result {
        check_invocations(compiled, request)?;
    }
    let compilation = Compilation {
        result,
        configs: answer.configs,
        stdout: answer.stdout,
        stderr: stderr.to_owned(),
        seconds: Duration::try_from_secs_f64(answer.seconds).unwrap_or_default(),
    };
    Ok(((compilation, dependencies), answer.worn))
}

fn split_kernels(headers: Vec<KernelHeader>, blobs: &[u8]) -> Result<Vec<Arc<Kernel>>, BadAnswer> {
    let mut rest = blobs;
    headers
        .into_iter()
        .map(|header| {
            let mut next = |size| -> Result<&[u8], BadAnswer> {
                let (these, others) = rest.split_at_checked(size).ok_or(BadAnswer::Short)?;
                rest = others;
                Ok(these)
            };
            let [cubin, ptx, ttir] = header.sizes;
            let (cubin, ptx, ttir) = (next(cubin)?, next(ptx)?, next(ttir)?);
            let scratch = |given: Option<(u64, u64)>| given.map(|(size, align)| Scratch { size, align });
            Ok(Arc::new(Kernel {
                cubin: cubin.into(),
                ptx: String::from_utf8_lossy(ptx).into_owned(),
                ttir: String::from_utf8_lossy(ttir).into_owned(),
                metadata: Metadata {
                    name: header.name,
                    num_warps: header.num_warps,
                    num_ctas: header.num_ctas,
                    cluster_dims: header.cluster_dims,
                    shared: header.shared,
                    global_scratch: scratch(header.global_scratch),
                    profile_scratch: scratch(header.profile_scratch),
                    cooperative: header.cooperative,
                    pdl: header.pdl,
                },
            }))
        })
        .collect()
}

/// Checks the indices in a compilation.
pub(crate) fn check_invocations(compiled: &Compiled, request: &CompileRequest) -> Result<(), BadAnswer> {
    for invocation in &compiled.invocations {
        let storages = invocation.params.iter().filter_map(|param| match param {
            Param::Address { storage, .. } => Some(*storage),
            Param::TensorMap(map) => Some(map.storage),
            Param::Bytes(_) => None,
        });
        let storages = storages.chain(invocation.clears.iter().map(|cleared| cleared.storage));
        if invocation.kernel >= compiled.kernels.len()
            || invocation.launch >= request.launches.len()
            || storages
                .into_iter()
                .any(|storage| storage >= request.storages.len())
        {
            return Err(BadAnswer::Invocation(Box::new(invocation.clone())));
        }
    }
    Ok(())
}

/// `k.py` of `<k.py>`, the name of code in a file whose text is hidden (`cerith_worker/modules.py`).
fn seen_as(file: &Path) -> PathBuf {
    let name = file.file_name().and_then(|name| name.to_str());
    let inside = name.and_then(|name| name.strip_prefix('<')?.strip_suffix('>'));
    inside.map_or_else(|| file.to_owned(), |name| file.with_file_name(name))
}

/// A file the worker named, by the path the caller knows it by.
pub(crate) fn restore_path(file: &str, asked: &Path) -> PathBuf {
    let file = seen_as(Path::new(file));
    let file = file.as_path();
    let Ok(absolute) = std::path::absolute(asked) else {
        return file.to_owned();
    };
    if file == absolute {
        return asked.to_owned();
    }
    let beside = absolute
        .parent()
        .and_then(|folder| file.strip_prefix(folder).ok());
    match (beside, asked.parent()) {
        (Some(beside), Some(folder)) => folder.join(beside),
        _ => file.to_owned(),
    }
}
