//! The process that opens a GPU: this binary again, told to be a child. Batches come on its standard input, answers go to its
//! standard output; a launch that faults or hangs ends this process and harms nothing else.
//!
//! It ends when its standard input does, so it never outlives its parent, even with a hung kernel. Output that a kernel prints is
//! dropped; CUDA's message about a failed assertion goes to standard error.
//!
//! See `super::executor` for starting the process, and for the meaning of its exit.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use cerith_toolchain::compiled::Kernel;
use cerith_toolchain::conversation::frame::{self, BadFrame, NoFrame};
use rustix::io::Errno;

use super::batch::{Code, Device, Work};
use super::driver::{self, Error, Gpu, OpenError};
use super::wire::{self, Answer, Batch, GpuHeader, RanHeader};
use cerith_engine::job::{BadJob, Ran};

/// The argument that makes this binary a child; the index of a GPU follows.
pub const ARGUMENT: &str = "__cuda-child";

/// Batches that are read ahead while the GPU is busy.
const AHEAD: usize = 2;

/// A batch with its bytes.
struct Order {
    header: Batch,
    kernels: Vec<Arc<Kernel>>,
    works: Vec<Work>,
}

/// The reason why a child cannot serve. Fits after "failed to ".
#[derive(Debug, thiserror::Error)]
enum ChildError {
    #[error("set up its pipes: {0}")]
    Pipes(io::Error),
    #[error("read an order: {0}")]
    Order(io::Error),
    #[error("read an order: {0}")]
    Frame(#[from] BadFrame),
    #[error("understand an order: {0}")]
    Header(serde_json::Error),
    #[error("read an order, which is cut short")]
    Short,
    #[error("understand a job: {0}")]
    Job(#[from] BadJob),
    #[error("answer: {0}")]
    Answer(io::Error),
    #[error("answer: {0}")]
    NoFrame(#[from] NoFrame),
}

/// Serves until standard input ends.
pub fn serve(gpu: usize) -> ExitCode {
    // The child executes untrusted machine code, so it closes the files that it inherited from its parent.
    driver::close_inherited();
    match redirect_stdout().and_then(|mut out| serve_orders(gpu, &mut out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "cerith: the child of a GPU failed to {error}");
            ExitCode::FAILURE
        }
    }
}

/// Standard output for answers alone: what kernels print goes nowhere.
fn redirect_stdout() -> Result<std::fs::File, ChildError> {
    let failed = |error: Errno| ChildError::Pipes(error.into());
    let kept: OwnedFd = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3).map_err(failed)?;
    let nowhere = std::fs::File::options()
        .write(true)
        .open("/dev/null")
        .map_err(ChildError::Pipes)?;
    rustix::stdio::dup2_stdout(&nowhere).map_err(failed)?;
    Ok(kept.into())
}

fn serve_orders(index: usize, out: &mut std::fs::File) -> Result<(), ChildError> {
    let opened = Gpu::open(index).and_then(|gpu| {
        let description = gpu.description.clone();
        let device = Device::new(gpu).map_err(OpenError::Device)?;
        Ok((device, description))
    });
    let (mut device, description) = match opened {
        Ok(opened) => opened,
        Err(error) => return answer(out, &Answer::Unavailable(error.to_string()), &[]),
    };
    let hello = GpuHeader {
        name: description.name,
        driver: driver_version(),
        cuda: description.cuda,
        capability: description.capability,
        count: description.count,
    };
    answer(out, &Answer::Hello(hello), &[])?;
    let (sender, receiver) = sync_channel(AHEAD);
    std::thread::spawn(move || listen(&sender));
    execute_orders(&mut device, &receiver, out)
}

fn execute_orders(
    device: &mut Device,
    orders: &Receiver<Result<Order, ChildError>>,
    out: &mut std::fs::File,
) -> Result<(), ChildError> {
    while let Ok(order) = orders.recv() {
        let order = order?;
        if order.header.forget {
            device.forget();
        }
        for kernel in &order.kernels {
            device.learn(Code::new(kernel));
        }
        match execute_order(device, &order) {
            Ok((ran, touched)) => {
                let mut blobs = Vec::new();
                let ran = ran
                    .iter()
                    .map(|ran| RanHeader::from_ran(ran, &mut blobs))
                    .collect();
                answer(out, &Answer::Done { ran, touched }, &[&blobs])?;
            }
            Err(Error { name, message, .. }) => {
                let job = device.suspect();
                answer(out, &Answer::Fault { name, message, job }, &[])?;
                // The context is lost, and leaving in order could wait for it.
                end();
            }
        }
    }
    Ok(())
}

fn execute_order(device: &mut Device, order: &Order) -> Result<(Vec<Ran>, bool), Error> {
    let repetitions = order.header.repetitions;
    if !order.header.is_isolated {
        return device.run_batch(&order.works, repetitions);
    }
    let ran = order.works.iter().map(|work| device.run_alone(work, repetitions));
    Ok((ran.collect::<Result<_, _>>()?, false))
}

/// Reads orders until there are no more; then the process ends, whatever the GPU is at.
fn listen(orders: &SyncSender<Result<Order, ChildError>>) {
    let mut known: Vec<Arc<Kernel>> = Vec::new();
    let mut input = io::stdin().lock();
    while let Some(order) = read(&mut input, &mut known).transpose() {
        let failed = order.is_err();
        if orders.send(order).is_err() || failed {
            return;
        }
    }
    end();
}

/// Ends the process without running what CUDA wants to do at the end.
fn end() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

fn read(input: &mut impl Read, known: &mut Vec<Arc<Kernel>>) -> Result<Option<Order>, ChildError> {
    let mut lengths = [0; frame::LENGTHS];
    if let Err(error) = input.read_exact(&mut lengths) {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(None),
            _ => Err(ChildError::Order(error)),
        };
    }
    let (head, blobs) = frame::read_lengths(&lengths, wire::MAX_FRAME)?.unwrap_or_default();
    let mut bytes = vec![0; head + blobs];
    input.read_exact(&mut bytes).map_err(ChildError::Order)?;
    let (head, mut blobs) = bytes.split_at(head);
    let mut header: Batch = serde_json::from_slice(head).map_err(ChildError::Header)?;
    if header.forget {
        known.clear();
    }
    let mut kernels = Vec::with_capacity(header.kernels.len());
    for kernel in header.kernels.drain(..) {
        kernels.push(Arc::new(Kernel {
            cubin: wire::take(&mut blobs, kernel.cubin)
                .ok_or(ChildError::Short)?
                .into(),
            ptx: String::new(),
            ttir: String::new(),
            metadata: kernel.metadata,
        }));
    }
    known.extend(kernels.iter().cloned());
    let mut works = Vec::with_capacity(header.jobs.len());
    for job in header.jobs.drain(..) {
        let arena = wire::take(&mut blobs, job.arena)
            .ok_or(ChildError::Short)?
            .to_vec();
        let numbers = job.kernels.clone();
        works.push(Work {
            job: job.into_job(arena, known)?,
            kernels: numbers,
        });
    }
    Ok(Some(Order {
        header,
        kernels,
        works,
    }))
}

fn answer(out: &mut std::fs::File, answer: &Answer, blobs: &[&[u8]]) -> Result<(), ChildError> {
    let frame = frame::encode_frame(answer, blobs.iter().copied())?;
    out.write_all(&frame).map_err(ChildError::Answer)
}

/// The version of the driver, as the driver reports it.
fn driver_version() -> String {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    text.split_whitespace()
        .find(|word| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok()))
        .unwrap_or_default()
        .to_owned()
}
