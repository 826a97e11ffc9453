//! The launches of all part files, without duplicates, in the order in which they were made. See [`super::write_case`] for
//! writing them.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cerith_memory::{MAX_BYTES, MAX_SPARSE_BYTES};
use cerith_tile::source::MARKER;
use cerith_toolchain::ToolchainId;
use cerith_toolchain::request::Value;
use serde_json::Value as Json;

use super::error::{KernelError, StorageError, UnknownValue};
use super::{CollectError, Collected, FORMAT, Options, Reasons, skip};
use crate::archive::{Archive, Content, Contents};
use crate::case_text::{self, FillText, HowEnded, RecordedOutcome, StorageText, Text};
use crate::part::{self, EndedFrame, Frame, KernelFrame, LaunchFrame, Part, Process, Skipped};

/// A kernel's text, from any number of processes.
#[derive(Debug)]
pub struct Kernel {
    /// The folder of its cases.
    pub folder: String,
    /// The function.
    pub function: String,
    /// Names and texts of its files, its own first.
    pub files: Vec<(String, String)>,
    inspectable: bool,
    origin: String,
}

/// A launch that is to become a case.
#[derive(Debug)]
pub struct RecordedLaunch {
    /// The index in [`Gathered::kernels`].
    pub kernel: usize,
    /// Its number among the launches of its kernel, from 1.
    pub number: u64,
    /// The launch's frame.
    pub frame: Box<LaunchFrame>,
    /// The end of the launch; `None` if the process ended before.
    pub ended: Option<EndedFrame>,
    /// The process that launched it.
    pub pid: u64,
    args: Vec<(String, Value)>,
    options: Vec<(String, Value)>,
    /// Process and engine, in words.
    origin: String,
    /// The engine's id, if its version is one that Cerith knows.
    engine: Option<String>,
}

/// The contents of all part files.
#[derive(Debug)]
pub struct Gathered {
    /// The locations of bytes.
    pub contents: Contents,
    /// Distinct kernels.
    pub kernels: Vec<Kernel>,
    /// Launches, in order.
    pub launches: Vec<RecordedLaunch>,
    /// Launches that are not cases.
    pub skipped: Reasons,
    /// Figures so far.
    pub collected: Collected,
}

impl Gathered {
    /// Reads part files.
    pub fn read(options: &Options) -> Result<Self, CollectError> {
        let mut reader = Reader::new(options);
        for path in list_parts(&options.parts)? {
            let mut process = Reading::new(&mut reader, &path);
            reader.read_frames(&mut process)?;
            reader.end_process(&process);
        }
        Ok(reader.gathered)
    }

    fn new(command: Option<Vec<String>>) -> Self {
        Self {
            contents: Contents::default(),
            kernels: Vec::new(),
            launches: Vec::new(),
            skipped: Reasons::new(),
            collected: Collected {
                format: FORMAT,
                command,
                ..Collected::default()
            },
        }
    }
}

/// Part files in the order in which their processes began.
fn list_parts(folder: &Path) -> Result<Vec<PathBuf>, CollectError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(CollectError::io_error_at(folder))? {
        let path = entry.map_err(CollectError::io_error_at(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "part") {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let began: u64 = stem
                .rsplit('-')
                .next()
                .and_then(|nanoseconds| nanoseconds.parse().ok())
                .unwrap_or_default();
            found.push((began, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Takes part files in.
#[derive(Debug)]
pub struct Reader {
    sample: String,
    private: bool,
    /// The results so far.
    pub gathered: Gathered,
    by_text: HashMap<[u8; 32], usize>,
    /// How many kernels have a name.
    counts: HashMap<String, u64>,
    /// How many launches of a kernel there are.
    numbers: HashMap<usize, u64>,
    /// The launches so far, by the hash that the sampling rule uses.
    sampled_keys: HashSet<[u8; 32]>,
}

/// How far the part file of a process is read.
#[derive(Debug)]
pub struct Reading {
    path: PathBuf,
    name: String,
    /// The offset of the next frame.
    next_offset: u64,
    file: usize,
    kernels: HashMap<u64, usize>,
    process: Option<Process>,
    ended: bool,
    launches: u64,
    /// The positions of this process's launches among all.
    places: HashMap<u64, usize>,
}

impl Reading {
    /// A part file before its first frame is read.
    pub fn new(reader: &mut Reader, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            name: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            next_offset: 0,
            file: reader.gathered.contents.add_file(path),
            kernels: HashMap::new(),
            process: None,
            ended: false,
            launches: 0,
            places: HashMap::new(),
        }
    }
}

impl Reader {
    /// A reader that has read nothing.
    pub fn new(options: &Options) -> Self {
        Self {
            sample: options.sample.clone(),
            private: options.private,
            gathered: Gathered::new(options.command.clone()),
            by_text: HashMap::new(),
            counts: HashMap::new(),
            numbers: HashMap::new(),
            sampled_keys: HashSet::new(),
        }
    }

    /// Reads the frames that a part file has by now.
    pub fn read_frames(&mut self, reading: &mut Reading) -> Result<(), CollectError> {
        let mut file = File::open(&reading.path).map_err(CollectError::io_error_at(&reading.path))?;
        file.seek(SeekFrom::Start(reading.next_offset))
            .map_err(CollectError::io_error_at(&reading.path))?;
        let mut part = Part::resume_at(BufReader::new(file), reading.next_offset);
        for frame in part.by_ref() {
            match frame {
                Ok(frame) => self.handle_frame(reading, frame),
                Err(error) => {
                    let note = format!("{}: {error}; the rest of the file is lost", reading.name);
                    self.gathered.collected.notes.push(note);
                }
            }
        }
        reading.next_offset = part.whole_frames_end();
        Ok(())
    }

    fn handle_frame(&mut self, reading: &mut Reading, frame: Frame) {
        let collected = &mut self.gathered.collected;
        match frame {
            Frame::Process(mut process) => {
                if collected.command.is_none() {
                    process.argv.clear();
                }
                if process.format == part::FORMAT {
                    collected.processes.push(process.clone());
                    reading.process = Some(process);
                } else {
                    collected.notes.push(format!(
                        "{}: a part file of format {}, where {} is known: left out",
                        reading.name,
                        process.format,
                        part::FORMAT
                    ));
                }
            }
            Frame::Kernel(kernel) => {
                let number = kernel.kernel;
                match self.intern_kernel(kernel) {
                    Ok(index) => {
                        reading.kernels.insert(number, index);
                    }
                    Err(error) => {
                        let note = format!("{}: {error}", reading.name);
                        self.gathered.collected.notes.push(note);
                    }
                }
            }
            Frame::Bytes(bytes, payload) => {
                if bytes.hash.len() == 32 && bytes.hash.bytes().all(|c| c.is_ascii_hexdigit()) {
                    let contents = &mut self.gathered.contents;
                    contents.add(bytes.hash, reading.file, payload, bytes.size);
                }
            }
            Frame::Launch(launch) => {
                reading.launches += 1;
                let kernel = reading.kernels.get(&launch.kernel).copied();
                if let (Some(process), Some(kernel)) = (&reading.process, kernel) {
                    let number = launch.launch;
                    if let Some(place) = self.launch(launch, kernel, process) {
                        reading.places.insert(number, place);
                    }
                }
            }
            Frame::Ended(ended) => {
                let place = reading.places.get(&ended.launch);
                if let Some(found) = place.and_then(|&place| self.gathered.launches.get_mut(place)) {
                    found.ended = Some(ended);
                }
            }
            Frame::Python(python) => match python.triton {
                None => collected.pythons += 1,
                Some(triton) if !collected.imported.contains(&triton) => collected.imported.push(triton),
                Some(_) => {}
            },
            Frame::Skipped(Skipped { kernel, why, count }) => {
                skip(&mut self.gathered.skipped, &kernel, why, count);
            }
            Frame::End(end) if reading.process.is_some() => {
                reading.ended = true;
                collected.launches += end.launches;
                collected.repeated += end.repeated;
                collected.filtered += end.filtered;
                collected.judged += end.judged;
                for kernel in end.filtered_kernels {
                    if !collected.filtered_kernels.contains(&kernel) {
                        collected.filtered_kernels.push(kernel);
                    }
                }
            }
            Frame::End(_) | Frame::Other => {}
        }
    }

    /// Ends a process: no more frames come from it.
    fn end_process(&mut self, reading: &Reading) {
        let collected = &mut self.gathered.collected;
        if !reading.ended && reading.process.is_some() {
            collected.launches += reading.launches;
            collected.notes.push(format!(
                "{}: the process did not finish: its launches count, its figures are unknown",
                reading.name
            ));
        }
    }

    /// The index of a kernel.
    fn intern_kernel(&mut self, frame: KernelFrame) -> Result<usize, KernelError> {
        let KernelFrame {
            function,
            mut files,
            inspectable,
            origin,
            ..
        } = frame;
        if self.private {
            for file in &mut files {
                file.text = without_folders(&file.text);
            }
        }
        let mut hasher = blake3::Hasher::new();
        let texts = files
            .iter()
            .flat_map(|file| [file.name.as_str(), file.text.as_str()]);
        for text in texts.chain([function.as_str(), if inspectable { "" } else { "exec" }]) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        if files.is_empty() {
            return Err(KernelError::NoFile(function));
        }
        if let Some(file) = files.iter().find(|file| !is_module(&file.name)) {
            let file = file.name.clone();
            return Err(KernelError::FileName { function, file });
        }
        let hash = *hasher.finalize().as_bytes();
        if let Some(&index) = self.by_text.get(&hash) {
            return Ok(index);
        }
        let index = self.gathered.kernels.len();
        let plain: String = function
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let folder = self.name_folder(plain);
        self.gathered.kernels.push(Kernel {
            folder,
            function,
            files: files.into_iter().map(|file| (file.name, file.text)).collect(),
            inspectable,
            origin,
        });
        self.by_text.insert(hash, index);
        Ok(index)
    }

    /// A folder of this name, with a number if others have the name.
    fn name_folder(&mut self, name: String) -> String {
        let nth = self.counts.entry(name.clone()).or_default();
        *nth += 1;
        match nth {
            1 => name,
            nth => format!("{name}-{nth}"),
        }
    }

    /// Takes a launch in; its place among those that were found, if it is to become a case.
    fn launch(&mut self, frame: Box<LaunchFrame>, kernel: usize, process: &Process) -> Option<usize> {
        let function = self
            .gathered
            .kernels
            .get(kernel)
            .map_or_else(String::new, |kernel| kernel.function.clone());
        let read = |pairs: &[(String, Json)]| {
            pairs
                .iter()
                .map(|(name, json)| {
                    Value::from_json(json)
                        .map(|value| (name.clone(), value))
                        .ok_or_else(|| UnknownValue(name.clone()))
                })
                .collect::<Result<Vec<_>, UnknownValue>>()
        };
        let (args, options) = match (read(&frame.args), read(&frame.options)) {
            (Ok(args), Ok(options)) => (args, options),
            (Err(error), _) | (_, Err(error)) => {
                skip(&mut self.gathered.skipped, &function, error.to_string(), 1);
                return None;
            }
        };
        let most = self.sample.parse().unwrap_or(u64::MAX);
        let enough = self.numbers.get(&kernel).is_some_and(|&number| number >= most);
        if enough || self.sample != "every" && !self.sampled_keys.insert(self.sampling_key(&frame, kernel)) {
            self.gathered.collected.repeated += 1;
            return None;
        }
        if let Some(why) = find_excess(&frame.storages) {
            skip(&mut self.gathered.skipped, &function, why, 1);
            return None;
        }
        let number = self.numbers.entry(kernel).or_default();
        *number += 1;
        let number = *number;
        if number == 1
            && let Some(area) = frame.test.as_deref().and_then(area_of)
        {
            let folder = self.name_folder(area);
            if let Some(kernel) = self.gathered.kernels.get_mut(kernel) {
                kernel.folder = folder;
            }
        }
        let triton = process.triton.split('+').next().unwrap_or_default();
        let (kind, host) = match frame.engine.split_once('+') {
            Some((kind, rest)) => (kind, format!("+{rest}")),
            None => (frame.engine.as_str(), String::new()),
        };
        let engine = triton
            .parse::<ToolchainId>()
            .ok()
            // Inductor can run code on a CPU without Triton's interpreter; Cerith has no engine for that.
            .filter(|_| kind != "inductor")
            .map(|id| format!("{kind}@{}{host}", id.triton()));
        let torch = process
            .torch
            .as_ref()
            .map_or_else(String::new, |torch| format!(", torch {torch}"));
        self.gathered.launches.push(RecordedLaunch {
            kernel,
            number,
            origin: format!("recorded: {}, Triton {}{torch}", frame.engine, process.triton),
            frame,
            ended: None,
            pid: process.pid,
            args,
            options,
            engine,
        });
        Some(self.gathered.launches.len() - 1)
    }

    /// The key of equal launches, one of which is enough: kernel, layout and, on request, bytes.
    fn sampling_key(&self, frame: &LaunchFrame, kernel: usize) -> [u8; 32] {
        let data = self.sample == "data";
        let mut hasher = blake3::Hasher::new();
        let mut text = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        text(&kernel.to_string());
        text(&frame.engine);
        text(&format!("{:?} {:?}", frame.grid, frame.target));
        for (name, value) in frame.args.iter().chain(&frame.options) {
            text(name);
            text(&if data {
                value.to_string()
            } else {
                strip_floats(value).to_string()
            });
        }
        for storage in &frame.storages {
            text(&storage.size.to_string());
            // A launch of a CUDA graph has no bytes, and one outside of it has.
            text(if storage.before.is_some() {
                "known"
            } else {
                "unknown"
            });
            if data {
                text(storage.before.as_deref().unwrap_or_default());
            }
        }
        *hasher.finalize().as_bytes()
    }
}

/// The area for the launches of a test: `test_core/test_dot` for `unit/test_core.py::TestDot::test_dot[f16]`.
fn area_of(test: &str) -> Option<String> {
    let (file, function) = test.split_once("::")?;
    let function = function.split('[').next()?.rsplit("::").next()?;
    let file = file.rsplit('/').next()?;
    let file = file.strip_suffix(".py").unwrap_or(file);
    let is_plain =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_plain(file) && is_plain(function)).then(|| format!("{file}/{function}"))
}

/// A value without floats, which are data.
fn strip_floats(value: &Json) -> Json {
    match value {
        Json::Array(items) if items.first().and_then(Json::as_str) == Some("f") => Json::from("f"),
        Json::Array(items) => Json::Array(items.iter().map(strip_floats).collect()),
        other => other.clone(),
    }
}

/// A kernel's text whose lines come from files, without the folders of these.
fn without_folders(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let place = line
            .strip_prefix(MARKER)
            .and_then(|rest| rest.split_once(" lines are "));
        match place {
            Some((count, place)) => {
                let file = place.rsplit('/').next().unwrap_or(place);
                format!("{MARKER}{count} lines are {file}")
            }
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// Whether a name is that of a module in a folder, and of nothing else.
fn is_module(name: &str) -> bool {
    name.strip_suffix(".py").is_some_and(|stem| {
        stem.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Why a case cannot have these storages, if so. Bytes are held in memory, in the order of the storages; one that has no room there
/// is sparse, and can't have recorded content.
fn find_excess(storages: &[part::StorageFrame]) -> Option<String> {
    let (mut held, mut sparse) = (0_u64, 0_u64);
    let mut is_lost = false;
    for storage in storages {
        if held.saturating_add(storage.size) <= MAX_BYTES {
            held += storage.size;
        } else {
            sparse = sparse.saturating_add(storage.size);
            is_lost |= storage.before.is_some() || !storage.addresses.is_empty();
        }
    }
    let total = held.saturating_add(sparse);
    let limit = if is_lost { MAX_BYTES } else { MAX_SPARSE_BYTES };
    let is_excess = is_lost || sparse > MAX_SPARSE_BYTES;
    is_excess.then(|| format!("its storages have {total} bytes, more than the {limit} of a case"))
}

impl RecordedLaunch {
    /// The storages of a case file, or the reason why it cannot have them.
    pub fn declare_storages(
        &self,
        kernel: &Kernel,
        archive: &mut Archive<'_>,
    ) -> io::Result<Result<Vec<StorageText>, StorageError>> {
        let mut storages: Vec<StorageText> = Vec::with_capacity(self.frame.storages.len());
        for (index, frame) in self.frame.storages.iter().enumerate() {
            let (dtype, shape) = if frame.addresses.is_empty() {
                case_text::infer_declaration(&self.args, index, frame.size)
            } else if frame.size.is_multiple_of(8)
                && frame.addresses.iter().all(|(at, ..)| at.is_multiple_of(8))
            {
                case_text::declared_for_addresses(frame.size)
            } else {
                return Ok(Err(StorageError::OddAddresses(frame.name.clone())));
            };
            let lost = |error| {
                Ok(Err(StorageError::Content {
                    storage: frame.name.clone(),
                    error,
                }))
            };
            let after = self.hash_after(index);
            if [frame.before.as_ref(), after]
                .into_iter()
                .flatten()
                .any(|hash| archive.size(hash) != Some(frame.size))
            {
                return Ok(Err(StorageError::Length(frame.name.clone())));
            }
            let fill = match &frame.before {
                _ if frame.size == 0 => FillText::Zeros,
                None if frame.is_uninitialised() => FillText::Uninitialised,
                None => FillText::Seeded(derive_seed(&kernel.function, self.number, index)),
                Some(hash) => match archive.put(hash, frame.addresses.is_empty())? {
                    Content::Zeros => FillText::Zeros,
                    Content::Entry(entry) => {
                        let words = frame
                            .addresses
                            .iter()
                            .map(|&(at, to, offset)| (at / 8, to, offset));
                        FillText::Bytes(entry, words.collect())
                    }
                    Content::Lost(error) => return lost(error),
                },
            };
            let after = match after {
                Some(hash) if self.is_on_record() && Some(hash) != frame.before.as_ref() => {
                    match archive.put(hash, false)? {
                        Content::Entry(entry) => Some(entry),
                        Content::Zeros => None,
                        Content::Lost(error) => return lost(error),
                    }
                }
                _ => None,
            };
            storages.push(StorageText {
                name: case_text::choose_name(&frame.name, &storages),
                dtype,
                shape,
                bytes: frame.size as usize,
                fill,
                after,
            });
        }
        Ok(Ok(storages))
    }

    /// The hash of a storage's contents after the launch.
    fn hash_after(&self, storage: usize) -> Option<&String> {
        self.ended.as_ref()?.after.get(storage)?.as_ref()
    }

    /// The exception that it ended with.
    fn raised(&self) -> Option<&part::Raised> {
        self.ended.as_ref()?.raised.as_ref()
    }

    /// The reason why it did not run, if it was judged before.
    pub fn refused(&self) -> Option<&str> {
        self.ended.as_ref()?.refused.as_deref()
    }

    /// Whether the result of the launch is known. It is not if contents were made up, or if the launch did not
    /// finish.
    fn is_on_record(&self) -> bool {
        let known = |(nth, storage): (usize, &part::StorageFrame)| {
            storage.size == 0
                || storage.before.is_some() && (self.hash_after(nth).is_some() || self.raised().is_some())
        };
        let ended = self.ended.is_some() && self.refused().is_none();
        ended && self.engine.is_some() && self.frame.storages.iter().enumerate().all(known)
    }

    /// The note in the case's text about a launch without a result.
    fn end(&self) -> &'static str {
        match (&self.ended, self.refused()) {
            (None, _) => " It was running when its process died.",
            (_, Some(_)) => " It was judged before it ran, and did not run.",
            _ => "",
        }
    }

    /// The content of the case file.
    pub fn to_case_text(&self, kernel: &Kernel, options: &Options, storages: Vec<StorageText>) -> Text<'_> {
        // The command of a test suite says nothing about one launch of it.
        let command = options.command.as_ref().map(|command| command.join(" "));
        let within = self.frame.test.clone().or(command);
        let within = within.map_or_else(String::new, |within| format!(" in `{within}`"));
        let file = kernel.files.first().map_or("", |(name, _)| name.as_str());
        Text {
            about: format!(
                "Launch {} of {}{within}.{}",
                self.number,
                kernel.function,
                self.end()
            ),
            origin: format!("{}, {}", self.origin, kernel.origin),
            kernel: format!("{file}:{}", kernel.function),
            inspectable: kernel.inspectable,
            storages,
            grid: &self.frame.grid,
            args: &self.args,
            options: &self.options,
            unchecked: false,
            // Without a result it still says whose language the kernel is written in.
            recorded: self.engine.as_ref().map(|engine| RecordedOutcome {
                engine: engine.clone(),
                ended: match (self.is_on_record(), self.raised()) {
                    (false, _) => HowEnded::Unknown,
                    (true, Some(raised)) => HowEnded::Raised(raised),
                    (true, None) => HowEnded::Finished,
                },
            }),
        }
    }
}

/// A number that is the same for the same storage.
fn derive_seed(function: &str, number: u64, storage: usize) -> u32 {
    let hash = blake3::hash(format!("{function} {number} {storage}").as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    // Small enough to be typed.
    u32::from_le_bytes([a, b, c, d]) % 1_000_000
}
