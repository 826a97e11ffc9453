//! Jobs on a GPU, inside the child process: where their memory is, what is launched with which parameters, and the results.
//!
//! Batches make jobs fast: every repetition of every job gets a copy of its arena in one buffer, between gaps of known content.
//! The buffer is uploaded once and downloaded once. A job that writes out of bounds may then reach its neighbours. Two signs show
//! it: changed gaps, or a neighbour whose repetitions differ in the batch and not alone, because the order of the jobs differs
//! from repetition to repetition. Then all jobs of the batch run again, each alone ([`Device::alone`]). A write far away from all
//! arenas that hits nothing is not detected.
//!
//! See `super::driver` for CUDA's calls, `super::child` for the process around it, and `super::executor` for the handling of
//! faults.

use cerith_memory::ORIGIN;
use cerith_toolchain::compiled::{Invocation, Kernel, Metadata, Param, Scratch};

use super::driver::{Buffer, Counter, Error, Function, Gpu, HostBuffer, Shape, Slot};
use cerith_engine::job::{Job, Ran};

/// Alignment of arenas, and thus of storages: that of `cuMemAlloc` and of the layouts of `cerith_memory`.
const ALIGNMENT: usize = 512;

/// Bytes between two arenas of a batch.
const GAP: usize = 4096;

/// Bytes before and after the arena of a job that runs alone.
const GAP_ALONE: usize = 1 << 20;

/// Every byte of gaps and scratch memory before a launch.
const GAP_BYTE: u8 = 0xA9;

/// The factor of repetitions for a job that runs alone because its repetitions differed in a batch.
const RETRY_FACTOR: u32 = 4;

/// Dynamic shared memory that needs no permission.
const SHARED_FREE: u32 = 48 << 10;

/// The maximum size of machine code that stays loaded, in bytes.
const MAX_LOADED: usize = 256 << 20;

/// A kernel that the child knows.
#[derive(Debug)]
pub(super) struct Code {
    pub metadata: Metadata,
    pub cubin: std::sync::Arc<[u8]>,
    loaded: Option<Result<Function, Error>>,
    used: u64,
}

impl Code {
    pub(super) fn new(kernel: &Kernel) -> Self {
        Self {
            metadata: kernel.metadata.clone(),
            cubin: kernel.cubin.clone(),
            loaded: None,
            used: 0,
        }
    }
}

/// A job whose kernels are known to the device by their numbers.
#[derive(Debug)]
pub(super) struct Work {
    pub job: Job,
    /// For every kernel of the job, its number.
    pub kernels: Vec<usize>,
}

/// A GPU, and what is kept on it between batches.
#[derive(Debug)]
pub(super) struct Device {
    gpu: Gpu,
    most_shared: u32,
    kernels: Vec<Code>,
    /// Bytes of machine code that are loaded.
    loaded: usize,
    batches: u64,
    memory: Option<Buffer>,
    scratch: Option<Buffer>,
    staging: Option<HostBuffer>,
    /// The number of finished places of the batch.
    finished_count: Counter,
    /// The job of every place of the batch that is in the stream, in order.
    order: Vec<usize>,
}

/// The location of one repetition of a job.
struct RepetitionSlot {
    job: usize,
    /// First byte in the buffer.
    start: usize,
}

impl Device {
    pub(super) fn new(gpu: Gpu) -> Result<Self, Error> {
        Ok(Self {
            most_shared: gpu.most_shared()?,
            finished_count: gpu.counter()?,
            order: Vec::new(),
            gpu,
            kernels: Vec::new(),
            loaded: 0,
            batches: 0,
            memory: None,
            scratch: None,
            staging: None,
        })
    }

    /// Forgets every kernel.
    pub(super) fn forget(&mut self) {
        self.kernels.clear();
        self.loaded = 0;
    }

    /// Knows one kernel more.
    pub(super) fn learn(&mut self, code: Code) {
        self.kernels.push(code);
    }

    /// Runs a batch. Answers with each job's result, and whether a job wrote into another's memory or between them, so that no
    /// result can be trusted. An error means a lost context.
    pub(super) fn run_batch(&mut self, batch: &[Work], repetitions: u32) -> Result<(Vec<Ran>, bool), Error> {
        self.begin();
        let mut refused: Vec<Option<Error>> = Vec::with_capacity(batch.len());
        for work in batch {
            refused.push(self.prepare_job(work).or_else(recover_nonfatal)?);
        }
        let (places, end) = plan_places(batch, &refused, repetitions);
        let scratch: usize = batch.iter().map(|work| self.scratch_size(work)).sum();
        if let Some(error) = self.make_room(end, scratch.saturating_mul(repetitions as usize))? {
            let ran = refused_all(batch.len(), &error);
            return Ok((ran, false));
        }
        let (Some(memory), Some(staging)) = (&mut self.memory, &mut self.staging) else {
            return Ok((Vec::new(), false));
        };
        let bytes = staging.bytes_mut();
        bytes.get_mut(..end).unwrap_or_default().fill(GAP_BYTE);
        for place in &places {
            let job = &batch[place.job].job;
            if let Some(to) = bytes.get_mut(place.start..place.start + job.arena.len()) {
                moved_there(job, to, memory.address() + place.start as u64);
            }
        }
        self.gpu.upload(memory, staging, end)?;
        let mut scratch = 0;
        if let Some(buffer) = &mut self.scratch {
            let len = buffer.len();
            self.gpu.fill(buffer, GAP_BYTE, len)?;
            scratch = buffer.address();
        }
        let base = memory.address();
        self.finished_count.reset();
        self.order = places.iter().map(|place| place.job).collect();
        for (number, place) in (1..).zip(&places) {
            let work = &batch[place.job];
            let known = refused[place.job].is_some();
            for invocation in work.job.compiled.invocations.iter().filter(|_| !known) {
                let launched = self.launch(work, invocation, base + place.start as u64, &mut scratch);
                if let Some(error) = launched.map(|()| None).or_else(recover_nonfatal)? {
                    refused[place.job] = Some(error);
                    break;
                }
            }
            self.gpu.count(&self.finished_count, number)?;
        }
        let (Some(memory), Some(staging)) = (&mut self.memory, &mut self.staging) else {
            return Ok((Vec::new(), false));
        };
        self.gpu.download(staging, memory, end)?;
        self.gpu.synchronize()?;
        self.order.clear();
        let bytes = staging.bytes_mut();
        let mut ran: Vec<Option<Ran>> = batch.iter().map(|_| None).collect();
        let mut behind = 0;
        let mut touched = false;
        for place in &places {
            let job = &batch[place.job].job;
            let (front, rest) = bytes.split_at_mut(place.start);
            touched |= !is_gap(&front[behind..]);
            let Some(arena) = rest.get_mut(..job.arena.len()) else {
                continue;
            };
            moved_back(job, arena, base + place.start as u64);
            merge(&mut ran[place.job], arena);
            behind = place.start + job.arena.len();
        }
        touched |= !is_gap(bytes.get(behind..end).unwrap_or_default());
        let mut ran: Vec<Ran> = ran
            .into_iter()
            .zip(refused)
            .map(|(ran, error)| match (ran, error) {
                (_, Some(error)) => refuse_job(&error),
                (Some(ran), None) => ran,
                // A batch of no repetitions.
                (None, None) => Ran::Refused {
                    name: "no-repetitions".to_owned(),
                    message: "a job was to be done zero times".to_owned(),
                },
            })
            .collect();
        for (ran, work) in ran.iter_mut().zip(batch) {
            if touched {
                break;
            }
            if matches!(
                ran,
                Ran::Finished {
                    different_arena: Some(_),
                    ..
                }
            ) {
                *ran = self.run_alone(work, repetitions.saturating_mul(RETRY_FACTOR))?;
                // Then it was not its own doing.
                touched = matches!(
                    ran,
                    Ran::Finished {
                        different_arena: None,
                        ..
                    }
                );
            }
        }
        Ok((ran, touched))
    }

    /// After a fault in a batch: the job whose launch it was. Launches of a stream are done one after the other, so it is
    /// the first that did not end.
    pub(super) fn suspect(&self) -> Option<usize> {
        self.order.get(self.finished_count.value() as usize).copied()
    }

    /// Does one job in memory of its own, and waits after every launch. An error is of a lost context.
    pub(super) fn run_alone(&mut self, work: &Work, repetitions: u32) -> Result<Ran, Error> {
        self.begin();
        (self.memory, self.scratch) = (None, None);
        if let Some(error) = self.prepare_job(work).or_else(recover_nonfatal)? {
            return Ok(refuse_job(&error));
        }
        let job = &work.job;
        let end = 2 * GAP_ALONE + job.arena.len().next_multiple_of(ALIGNMENT);
        if let Some(error) = self.make_room(end, self.scratch_size(work))? {
            return Ok(refuse_job(&error));
        }
        let mut ran = None;
        for _ in 0..repetitions.max(1) {
            let (Some(memory), Some(staging)) = (&mut self.memory, &mut self.staging) else {
                continue;
            };
            let base = memory.address() + GAP_ALONE as u64;
            let bytes = staging.bytes_mut().get_mut(..end).unwrap_or_default();
            bytes.fill(GAP_BYTE);
            if let Some(to) = bytes.get_mut(GAP_ALONE..GAP_ALONE + job.arena.len()) {
                moved_there(job, to, base);
            }
            self.gpu.upload(memory, staging, end)?;
            let mut scratch = 0;
            if let Some(buffer) = &mut self.scratch {
                let len = buffer.len();
                self.gpu.fill(buffer, GAP_BYTE, len)?;
                scratch = buffer.address();
            }
            for invocation in &job.compiled.invocations {
                let launched = self.launch(work, invocation, base, &mut scratch);
                if let Some(error) = launched.map(|()| None).or_else(recover_nonfatal)? {
                    self.gpu.synchronize()?;
                    return Ok(refuse_job(&error));
                }
                self.gpu.synchronize()?;
            }
            let (Some(memory), Some(staging)) = (&mut self.memory, &mut self.staging) else {
                continue;
            };
            self.gpu.download(staging, memory, end)?;
            self.gpu.synchronize()?;
            let bytes = staging.bytes_mut().get_mut(..end).unwrap_or_default();
            let (front, rest) = bytes.split_at_mut(GAP_ALONE);
            let (arena, back) = rest.split_at_mut(job.arena.len());
            if let Some(ran) = find_stray_write(front, back) {
                return Ok(ran);
            }
            moved_back(job, arena, base);
            merge(&mut ran, arena);
        }
        // Nothing lies beside the next one either.
        (self.memory, self.scratch) = (None, None);
        ran.ok_or_else(|| Error {
            name: "no-memory".to_owned(),
            message: "the job's buffers are gone".to_owned(),
            fatal: true,
        })
    }

    /// A new batch begins: room for its kernels.
    fn begin(&mut self) {
        self.batches += 1;
        if self.loaded <= MAX_LOADED {
            return;
        }
        // Kernels of the last batch are likely to be used again.
        let last = self.batches - 1;
        for code in &mut self.kernels {
            if code.used < last && code.loaded.take().is_some() {
                self.loaded -= code.cubin.len();
            }
        }
    }

    /// Checks a job, and loads its kernels.
    fn prepare_job(&mut self, work: &Work) -> Result<Option<Error>, Error> {
        if let Err(message) = work.job.check() {
            return Err(Error {
                name: "bad-job".to_owned(),
                message: message.to_string(),
                fatal: false,
            });
        }
        for &number in &work.kernels {
            self.load(number)?;
        }
        Ok(None)
    }

    fn load(&mut self, number: usize) -> Result<(), Error> {
        let Some(code) = self.kernels.get_mut(number) else {
            return Err(Error {
                name: "bad-job".to_owned(),
                message: format!("kernel {number} is not defined"),
                fatal: false,
            });
        };
        code.used = self.batches;
        let loaded = code.loaded.get_or_insert_with(|| {
            self.loaded += code.cubin.len();
            load(&self.gpu, self.most_shared, &code.cubin, &code.metadata)
        });
        loaded.as_ref().map(|_| ()).map_err(Error::clone)
    }

    /// Buffers that are large enough; with the error of a GPU that has not so much memory.
    fn make_room(&mut self, memory: usize, scratch: usize) -> Result<Option<Error>, Error> {
        let room = |len: usize| len.next_multiple_of(2 << 20);
        let mut make = || {
            if self.memory.as_ref().is_none_or(|buffer| buffer.len() < memory) {
                self.memory = None;
                self.memory = Some(self.gpu.allocate(room(memory))?);
            }
            if self
                .staging
                .as_ref()
                .is_none_or(|buffer| buffer.bytes().len() < memory)
            {
                self.staging = None;
                self.staging = Some(self.gpu.allocate_host(room(memory))?);
            }
            if scratch > 0 && self.scratch.as_ref().is_none_or(|buffer| buffer.len() < scratch) {
                self.scratch = None;
                self.scratch = Some(self.gpu.allocate(room(scratch))?);
            }
            Ok(None)
        };
        make().or_else(recover_nonfatal)
    }

    /// Bytes of scratch memory that one repetition of a job takes.
    fn scratch_size(&self, work: &Work) -> usize {
        let mut size = 0usize;
        for invocation in &work.job.compiled.invocations {
            let number = work.kernels.get(invocation.kernel);
            let Some(code) = number.and_then(|&number| self.kernels.get(number)) else {
                continue;
            };
            for scratch in list_scratches(&code.metadata) {
                let bytes = scratch_bytes(scratch, invocation.grid, code.metadata.num_ctas);
                let padding = scratch.align.max(ALIGNMENT as u64);
                size =
                    size.saturating_add(usize::try_from(bytes.saturating_add(padding)).unwrap_or(usize::MAX));
            }
        }
        size
    }

    fn launch(
        &self,
        work: &Work,
        invocation: &Invocation,
        base: u64,
        scratch: &mut u64,
    ) -> Result<(), Error> {
        let number = work.kernels.get(invocation.kernel);
        let code = number.and_then(|&number| self.kernels.get(number));
        let Some(Code {
            metadata,
            loaded: Some(Ok(function)),
            ..
        }) = code
        else {
            return Err(Error {
                name: "bad-job".to_owned(),
                message: format!("an invocation's kernel {} is not there", invocation.kernel),
                fatal: false,
            });
        };
        let address = |storage: usize, offset: i64| {
            let start = work.job.storages.get(storage).map_or(0, |&(start, _)| start);
            base.wrapping_add(start as u64).wrapping_add_signed(offset)
        };
        let mut slots = Vec::with_capacity(invocation.params.len() + 2);
        for param in &invocation.params {
            slots.push(match param {
                Param::Address { storage, offset } => Slot::new(&address(*storage, *offset).to_le_bytes()),
                Param::Bytes(bytes) => Slot::new(bytes),
                Param::TensorMap(map) => Slot::tensor_map(map, address(map.storage, map.offset))?,
            });
        }
        for wanted in list_scratches(metadata) {
            let bytes = scratch_bytes(wanted, invocation.grid, metadata.num_ctas);
            let at = if bytes == 0 {
                0
            } else {
                let at = scratch.next_multiple_of(wanted.align.max(ALIGNMENT as u64));
                *scratch = at.saturating_add(bytes);
                at
            };
            slots.push(Slot::new(&at.to_le_bytes()));
        }
        function.check_params(&slots)?;
        let cluster = match (metadata.num_ctas, metadata.cluster_dims) {
            (1, _) => [1; 3],
            (_, Some(dims)) => dims,
            (ctas, None) => [ctas, 1, 1],
        };
        let [x, y, z] = invocation.grid;
        let [along_x, along_y, along_z] = cluster;
        let shape = Shape {
            grid: [
                x.saturating_mul(along_x),
                y.saturating_mul(along_y),
                z.saturating_mul(along_z),
            ],
            threads: metadata.num_warps.saturating_mul(32),
            shared: metadata.shared,
            cluster,
            cooperative: metadata.cooperative,
            overlaps: metadata.pdl,
        };
        self.gpu.launch(function, &shape, &slots)
    }
}

/// The scratch parameters that a kernel has, in order.
fn list_scratches(metadata: &Metadata) -> impl Iterator<Item = Scratch> {
    [metadata.global_scratch, metadata.profile_scratch]
        .into_iter()
        .flatten()
}

fn scratch_bytes(scratch: Scratch, grid: [u32; 3], num_ctas: u32) -> u64 {
    grid.into_iter()
        .chain([num_ctas])
        .fold(scratch.size, |bytes, count| bytes.saturating_mul(count.into()))
}

fn load(gpu: &Gpu, most_shared: u32, cubin: &[u8], metadata: &Metadata) -> Result<Function, Error> {
    if metadata.shared > most_shared {
        return Err(Error {
            name: "out-of-shared-memory".to_owned(),
            message: format!(
                "the kernel needs {} bytes of shared memory, and this GPU has {most_shared}",
                metadata.shared
            ),
            fatal: false,
        });
    }
    let function = gpu.load(cubin, &metadata.name)?;
    if metadata.shared > SHARED_FREE {
        function.allow_shared(metadata.shared)?;
    }
    if metadata.num_ctas > 8 {
        function.allow_large_clusters()?;
    }
    Ok(function)
}

/// Plans the location of every repetition of every job, in order, and the end of the last gap. From one repetition to the next,
/// the jobs change their order, so that no two of them are neighbours in the same way.
fn plan_places(batch: &[Work], refused: &[Option<Error>], repetitions: u32) -> (Vec<RepetitionSlot>, usize) {
    let good: Vec<usize> = (0..batch.len())
        .filter(|&job| refused.get(job).is_some_and(Option::is_none))
        .collect();
    let mut places = Vec::with_capacity(good.len() * repetitions as usize);
    let mut end = GAP;
    for repetition in 0..repetitions as usize {
        let mut order = good.clone();
        if !order.is_empty() {
            let middle = repetition * (order.len() / 3 + 1) % order.len();
            order.rotate_left(middle);
        }
        if repetition % 2 == 1 {
            order.reverse();
        }
        for job in order {
            places.push(RepetitionSlot { job, start: end });
            let len = batch.get(job).map_or(0, |work| work.job.arena.len());
            end += len.next_multiple_of(ALIGNMENT) + GAP;
        }
    }
    (places, end)
}

/// An error that costs a job and not the context becomes a value.
fn recover_nonfatal(error: Error) -> Result<Option<Error>, Error> {
    if error.fatal { Err(error) } else { Ok(Some(error)) }
}

fn refuse_job(error: &Error) -> Ran {
    Ran::Refused {
        name: error.name.clone(),
        message: error.message.clone(),
    }
}

fn refused_all(count: usize, error: &Error) -> Vec<Ran> {
    (0..count).map(|_| refuse_job(error)).collect()
}

fn is_gap(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == GAP_BYTE)
}

/// Finds a write outside of a job's arena, in the gaps around the arena.
fn find_stray_write(front: &[u8], back: &[u8]) -> Option<Ran> {
    let written = |byte: &u8| *byte != GAP_BYTE;
    let before = front.iter().rev().position(written).map(|at| at + 1);
    let behind = back.iter().position(written);
    let place = match (before, behind) {
        (Some(distance), _) => format!("{distance} bytes before the first guard zone"),
        (None, Some(distance)) => format!("{distance} bytes after the last guard zone"),
        (None, None) => return None,
    };
    Some(Ran::Faulted {
        name: "WROTE_OUTSIDE".to_owned(),
        message: format!("the kernel wrote outside of all memory that it was given, {place}"),
    })
}

/// Another repetition's arena.
fn merge(ran: &mut Option<Ran>, bytes: &[u8]) {
    match ran {
        Some(Ran::Finished {
            arena,
            different_arena: other,
            repetitions,
        }) => {
            *repetitions += 1;
            if other.is_none() && arena != bytes {
                *other = Some(bytes.to_vec());
            }
        }
        _ => {
            *ran = Some(Ran::Finished {
                arena: bytes.to_vec(),
                different_arena: None,
                repetitions: 1,
            });
        }
    }
}

/// Writes a job's first memory, for an arena that begins at `base`.
fn moved_there(job: &Job, to: &mut [u8], base: u64) {
    to.copy_from_slice(&job.arena);
    for &at in &job.addresses {
        if let Some(word) = to.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<8>()) {
            let address = u64::from_le_bytes(*word);
            *word = address.wrapping_sub(ORIGIN).wrapping_add(base).to_le_bytes();
        }
    }
}

/// Moves the addresses of an arena that began at `base` back to where the layout has them.
fn moved_back(job: &Job, arena: &mut [u8], base: u64) {
    let end = base + arena.len() as u64;
    for &storage in &job.may_hold_addresses {
        let Some(&(start, len)) = job.storages.get(storage) else {
            continue;
        };
        let Some(bytes) = arena.get_mut(start..start + len) else {
            continue;
        };
        for word in bytes.as_chunks_mut::<8>().0 {
            let address = u64::from_le_bytes(*word);
            if (base..=end).contains(&address) {
                *word = (address - base + ORIGIN).to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cerith_toolchain::compiled::Compiled;

    use super::*;

    fn build_job() -> Job {
        Job {
            arena: [
                vec![0xC7; 512],
                (ORIGIN + 520).to_le_bytes().to_vec(),
                vec![1; 504],
            ]
            .concat(),
            storages: vec![(512, 512)],
            addresses: vec![512],
            may_hold_addresses: vec![0],
            compiled: Compiled {
                kernels: Vec::new(),
                invocations: Vec::new(),
            },
        }
    }

    #[test]
    fn addresses_move_to_the_gpu_and_back() {
        let job = build_job();
        let mut arena = vec![0; job.arena.len()];
        moved_there(&job, &mut arena, 0x7000_0000);
        assert_eq!(arena[512..520], (0x7000_0000u64 + 520).to_le_bytes());
        moved_back(&job, &mut arena, 0x7000_0000);
        assert_eq!(arena, job.arena);
        // An address elsewhere is a number like any other.
        arena[520..528].copy_from_slice(&0x6fff_ffffu64.to_le_bytes());
        let before = arena.clone();
        moved_back(&job, &mut arena, 0x7000_0000);
        assert_eq!(arena[520..528], before[520..528]);
    }

    #[test]
    fn no_two_jobs_are_neighbours_in_every_repetition() {
        let batch: Vec<Work> = (0..5)
            .map(|_| Work {
                job: build_job(),
                kernels: Vec::new(),
            })
            .collect();
        let refused: Vec<Option<Error>> = batch.iter().map(|_| None).collect();
        let (places, end) = plan_places(&batch, &refused, 3);
        assert_eq!(places.len(), 15);
        assert_eq!(end, GAP + 15 * (1024 + GAP));
        let neighbour = |repetition: usize, job: usize| {
            let round = &places[repetition * 5..repetition * 5 + 5];
            let at = round
                .iter()
                .position(|place| place.job == job)
                .expect("it is there");
            round.get(at + 1).map(|place| place.job)
        };
        for job in 0..5 {
            let next: Vec<_> = (0..3).map(|repetition| neighbour(repetition, job)).collect();
            assert!(next[0] != next[1], "{job}: {next:?}");
        }
    }

    #[test]
    fn a_repetition_that_differs_is_kept() {
        let mut ran = None;
        for bytes in [[1, 2], [1, 2], [1, 3], [9, 9]] {
            merge(&mut ran, &bytes);
        }
        assert_eq!(
            ran,
            Some(Ran::Finished {
                arena: vec![1, 2],
                different_arena: Some(vec![1, 3]),
                repetitions: 4
            })
        );
    }

    #[test]
    fn writing_outside_is_told_by_its_distance() {
        let gap = vec![GAP_BYTE; 100];
        assert_eq!(find_stray_write(&gap, &gap), None);
        let mut behind = gap.clone();
        behind[3] = 0;
        assert!(
            matches!(find_stray_write(&gap, &behind), Some(Ran::Faulted { message, .. }) if message.contains(" 3 bytes after"))
        );
        let mut before = gap.clone();
        before[98] = 0;
        assert!(
            matches!(find_stray_write(&before, &gap), Some(Ran::Faulted { message, .. }) if message.contains(" 2 bytes before"))
        );
    }
}
