//! Frames on the pipe to a worker, and their JSON headers. The Python side is `cerith_worker/wire.py` and `serve.py`. Left out:
//! moving bytes ([`crate::worker`]).

pub(crate) mod inductor;
pub(crate) mod value;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use self::value::{Wired, check_value};
use crate::compilation::{Compilation, CompileRequest};
use crate::compiled::{Compiled, Invocation, Kernel, Metadata, Param, Scratch, Target};
use crate::pool::Limits;
use crate::request::{Device, Driver, Grid, Launch, Module, Relocation, Request, Storage};
use crate::response::{Location, Memory, Phase, PythonError, Raised, Response};

/// Bytes before a frame's header: the header's length (u32) and that of the blobs (u64), little endian.
pub(crate) const LENGTHS: usize = 12;

/// More than any answer has; a longer header means that something else writes to the pipe.
const HEADER_MOST: usize = 64 << 20;

/// A worker's first words.
#[derive(Debug, Deserialize)]
pub(crate) struct Hello {
    pub protocol: u32,
    pub triton: String,
    pub numpy: String,
    pub python: String,
}

#[derive(Serialize)]
struct Header<'a> {
    path: String,
    text: &'a str,
    /// None: to interpret.
    target: Option<Target>,
    /// For what GPU the assembly is turned into machine code, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    assembled: Option<Target>,
    /// Whether to specialise, and the only configuration; none: to interpret.
    tuning: Option<(bool, Option<usize>)>,
    device: &'static str,
    driver: bool,
    inspectable: bool,
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
        serializer.collect_seq(self.0.iter().map(|r| (r.at, r.storage, r.addend)))
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

/// The frame that asks for a request, or what is wrong with the request.
pub(crate) fn frame(request: &Request, limits: Limits) -> Result<Vec<u8>, String> {
    check(request)?;
    let header = header_of(request, limits)?;
    framed(&header, request.storages.iter().map(|storage| &*storage.bytes))
}

/// What a request's header says where nothing else is asked than to interpret.
fn header_of(request: &Request, limits: Limits) -> Result<Header<'_>, String> {
    Ok(Header {
        path: absolute(&request.module.path)?,
        text: &request.module.text,
        target: None,
        assembled: None,
        tuning: None,
        device: match request.device {
            Device::Cuda => "cuda",
            Device::Host => "cpu",
        },
        driver: request.driver == Driver::Fake,
        inspectable: request.inspectable,
        time: limits.time.as_secs_f64(),
        storages: Storages::Whole(request.storages.iter().map(storage_header).collect()),
        launches: launch_headers(&request.launches, absolute)?,
        inductor: None,
    })
}

/// The frame that asks for a compilation, or what is wrong with what is asked.
pub(crate) fn compile_frame(request: &CompileRequest, limits: Limits) -> Result<Vec<u8>, String> {
    check_launches(&request.launches, &request.storages)?;
    framed(&compile_header(request, limits, absolute)?, [])
}

/// What decides the answer to a compilation, but for the toolchain and sibling modules: the same bytes for the same
/// request.
pub(crate) fn compile_words(request: &CompileRequest) -> Result<Vec<u8>, String> {
    let limits = Limits {
        time: Duration::ZERO,
        memory: 0,
    };
    let header = compile_header(request, limits, |path| Ok(path.to_string_lossy().into_owned()))?;
    serde_json::to_vec(&header).map_err(|error| error.to_string())
}

fn compile_header(
    request: &CompileRequest,
    limits: Limits,
    named: impl Fn(&Path) -> Result<String, String>,
) -> Result<Header<'_>, String> {
    Ok(Header {
        path: named(&request.module.path)?,
        text: &request.module.text,
        target: Some(request.target),
        assembled: request.assembled,
        tuning: Some((request.tuning.specialize, request.tuning.config)),
        device: "cuda",
        driver: true,
        inspectable: true,
        time: limits.time.as_secs_f64(),
        storages: Storages::Sizes(&request.storages),
        launches: launch_headers(&request.launches, named)?,
        inductor: None,
    })
}

fn framed<'a>(
    header: &impl Serialize,
    blobs: impl IntoIterator<Item = &'a [u8], IntoIter: Clone>,
) -> Result<Vec<u8>, String> {
    let blobs = blobs.into_iter();
    let size: usize = blobs.clone().map(<[u8]>::len).sum();
    let mut frame = Vec::with_capacity(LENGTHS + 4096 + size);
    frame.resize(LENGTHS, 0);
    serde_json::to_writer(&mut frame, header).map_err(|error| error.to_string())?;
    let length = u32::try_from(frame.len() - LENGTHS).map_err(|_| "a header of 4 GiB".to_owned())?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame[4..LENGTHS].copy_from_slice(&(size as u64).to_le_bytes());
    for blob in blobs {
        frame.extend_from_slice(blob);
    }
    Ok(frame)
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

fn absolute(path: &Path) -> Result<String, String> {
    std::path::absolute(path)
        .map(|path| path.to_string_lossy().into_owned())
        .map_err(|error| format!("the module's path {}: {error}", path.display()))
}

/// The launches, with the paths of host functions' files as `named` has them.
fn launch_headers(
    launches: &[Launch],
    named: impl Fn(&Path) -> Result<String, String>,
) -> Result<Vec<LaunchHeader<'_>>, String> {
    launches
        .iter()
        .map(|launch| launch_header(launch, &named))
        .collect()
}

fn launch_header<'a>(
    launch: &'a Launch,
    named: &impl Fn(&Path) -> Result<String, String>,
) -> Result<LaunchHeader<'a>, String> {
    let host = launch.host.as_ref().map(|host| {
        Ok::<_, String>(HostHeader {
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
fn check(request: &Request) -> Result<(), String> {
    for (index, storage) in request.storages.iter().enumerate() {
        if storage
            .front
            .checked_add(storage.back)
            .is_none_or(|guards| guards > storage.bytes.len())
        {
            return Err(format!("storage {index} is smaller than its guard zones"));
        }
        for relocation in &storage.relocations {
            let inside = relocation
                .at
                .checked_add(8)
                .is_some_and(|end| end <= storage.len());
            if !inside || relocation.at % 8 != 0 || relocation.storage >= request.storages.len() {
                return Err(format!("storage {index} has an impossible {relocation:?}"));
            }
        }
    }
    let sizes: Vec<usize> = request.storages.iter().map(Storage::len).collect();
    check_launches(&request.launches, &sizes)
}

/// `sizes` are those of the storages.
fn check_launches(launches: &[Launch], sizes: &[usize]) -> Result<(), String> {
    for launch in launches {
        if launch.host.is_some() && !launch.args.is_empty() {
            return Err("positional arguments for a host function".to_owned());
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

/// Lengths of a frame's header and blobs from its first bytes, once they are there.
pub(crate) fn lengths(frame: &[u8]) -> Result<Option<(usize, usize)>, String> {
    let Some((head, blobs)) = frame
        .first_chunk::<4>()
        .zip(frame.get(4..).and_then(|rest| rest.first_chunk::<8>()))
    else {
        return Ok(None);
    };
    let head = u32::from_le_bytes(*head) as usize;
    let blobs = u64::from_le_bytes(*blobs);
    match usize::try_from(blobs) {
        Ok(blobs) if head <= HEADER_MOST && blobs < 1 << 46 => Ok(Some((head, blobs))),
        _ => Err(format!(
            "a frame with a header of {head} bytes and {blobs} bytes more"
        )),
    }
}

#[derive(Deserialize)]
struct Answer {
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
    origin: Option<String>,
    traceback: String,
}

#[derive(Deserialize)]
struct Link {
    kind: String,
    message: String,
}

/// Reads an answer; with it, whether the worker asks to be replaced.
pub(crate) fn response(
    header: &[u8],
    blobs: &[u8],
    stderr: &str,
    request: &Request,
) -> Result<(Response, bool), String> {
    let answer: Answer = serde_json::from_slice(header).map_err(|error| format!("its answer: {error}"))?;
    let mut rest = blobs;
    let storages = memories(answer.memory, &mut rest, request)?;
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
fn memories(memory: Vec<MemoryHeader>, rest: &mut &[u8], request: &Request) -> Result<Vec<Memory>, String> {
    if memory.len() != request.storages.len() {
        return Err(format!(
            "{} storages for {}",
            memory.len(),
            request.storages.len()
        ));
    }
    let mut storages = Vec::with_capacity(memory.len());
    for (MemoryHeader(size, found), sent) in memory.into_iter().zip(&request.storages) {
        let bytes = match size {
            None => Arc::clone(&sent.bytes),
            Some(size) if size == sent.bytes.len() => {
                let (these, others) = rest.split_at_checked(size).ok_or("an answer cut short")?;
                *rest = others;
                Arc::from(these)
            }
            Some(size) => {
                return Err(format!(
                    "a storage of {size} bytes for one of {}",
                    sent.bytes.len()
                ));
            }
        };
        let relocations = found
            .into_iter()
            .map(|(at, storage, addend)| Relocation { at, storage, addend })
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

fn raised_by(raised: RaisedHeader, module: &Module, launches: &[Launch]) -> Result<Raised, String> {
    Ok(Raised {
        phase: match raised.phase.as_str() {
            "import" => Phase::Import,
            "arguments" => Phase::Arguments(raised.launch),
            "launch" => Phase::Launch(raised.launch),
            other => return Err(format!("a phase `{other}`")),
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
            file: asked_path(&file, host_of(&file, launches).unwrap_or(&module.path)),
            line,
            function,
        }),
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
    /// Of cubin, PTX and TTIR.
    sizes: [usize; 3],
}

/// Reads the answer to a compilation; with it, whether the worker asks to be replaced.
pub(crate) fn compilation(
    header: &[u8],
    blobs: &[u8],
    stderr: &str,
    request: &CompileRequest,
) -> Result<(Compilation, bool), String> {
    let answer: CompileAnswer =
        serde_json::from_slice(header).map_err(|error| format!("its answer: {error}"))?;
    let result = match answer.raised {
        Some(raised) => Err(Box::new(raised_by(raised, &request.module, &request.launches)?)),
        None => Ok(Compiled {
            kernels: kernels(answer.kernels, blobs)?,
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
    Ok((compilation, answer.worn))
}

fn kernels(headers: Vec<KernelHeader>, blobs: &[u8]) -> Result<Vec<Arc<Kernel>>, String> {
    let mut rest = blobs;
    headers
        .into_iter()
        .map(|header| {
            let mut next = |size| -> Result<&[u8], String> {
                let (these, others) = rest.split_at_checked(size).ok_or("an answer cut short")?;
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

/// Whether the indices in what was compiled hold.
pub(crate) fn check_invocations(compiled: &Compiled, request: &CompileRequest) -> Result<(), String> {
    for invocation in &compiled.invocations {
        let storages = invocation.params.iter().filter_map(|param| match param {
            Param::Address { storage, .. } => Some(*storage),
            Param::TensorMap(map) => Some(map.storage),
            Param::Bytes(_) => None,
        });
        if invocation.kernel >= compiled.kernels.len()
            || invocation.launch >= request.launches.len()
            || storages
                .into_iter()
                .any(|storage| storage >= request.storages.len())
        {
            return Err(format!("an impossible {invocation:?}"));
        }
    }
    Ok(())
}

/// `k.py` of `<k.py>`, which is how a file's code is called whose text nobody is to see (`cerith_worker/modules.py`).
fn seen_as(file: &Path) -> PathBuf {
    let name = file.file_name().and_then(|name| name.to_str());
    let inside = name.and_then(|name| name.strip_prefix('<')?.strip_suffix('>'));
    inside.map_or_else(|| file.to_owned(), |name| file.with_file_name(name))
}

/// A file the worker named, by the path the caller knows it by.
pub(crate) fn asked_path(file: &str, asked: &Path) -> PathBuf {
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
