//! The launches of a check that were executed, with their memory: as the kernel leaves it, and as its formula does.
//!
//! A program makes launches one by one, each recorded as a case of its own. A storage that a launch reads may have been written by an
//! earlier one, or be a copy of such a storage. It is recognised by its bytes, and the ranges of its elements go on into the next
//! formula. A value that the program itself computed between launches has an unknown error: findings that depend on it are undecided.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use cerith_accept::{AcceptanceMap, Accepted};
use cerith_case::{Case, Corpus};
use cerith_engine::{
    Engine as _, Failure, Finished, FormulaMemory, FormulaRun, Outcome, Reference, Trap, infer_rules,
    reject_sparse,
};
use cerith_interp::value::read;
use cerith_memory::{ByteState, Memory, StorageId, Tensor};
use cerith_oracle::{Comparison, Contract, Element, Terms, Tolerance};
use cerith_recording::Follower;
use cerith_tile::DType;
use cerith_tile::numeric::decode;

use super::message::{
    Changed, Example, Failed, LaunchAnswer, Operation, Output, OutputAnswer, RequestError, Verdict,
    find_dtype,
};
use super::text;
use crate::preflight::{describe_undefined, find_kernel_name};

/// Numbers of at most this many significant bits are constants that a program may write itself: `0`, `1`, `-inf`, `0.125`.
const CONSTANT_BITS: u32 = 12;

/// The most bytes of storages that the launches of a session have together: each is kept until the end.
const MAX_RETAINED: usize = 4 << 30;

/// The most elements of an output.
const MAX_ELEMENTS: usize = 1 << 26;

/// A launch that was executed.
#[derive(Debug)]
pub struct Executed {
    pub case: Case,
    /// The bytes that each storage had before, by origin.
    sources: Vec<Source>,
    /// The memory as the kernel left it.
    pub kernel: Memory,
    /// The memory as its formula left it.
    formula: Result<Box<FormulaMemory>, FormulaError>,
    /// A storage with floats that the program computed itself, which some output may depend on.
    computed: Option<String>,
}

/// Why the formula of a launch has no bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum FormulaError {
    /// The kernel has an operation without bounds, as the reference describes it.
    #[error("{0}")]
    Unbounded(String),
    /// The reference failed.
    #[error("failed to {0}")]
    Reference(Failure),
}

/// The origin of a storage's contents.
#[derive(Clone, Debug)]
enum Source {
    /// Arguments, constants and uninitialised memory.
    Exact,
    /// A storage of an earlier launch.
    Launch(u64, StorageId),
    /// The program computed it.
    Computed,
}

/// The state of a check.
pub struct Session {
    reference: Arc<Reference>,
    /// Bytes of the storages of all launches, which are kept.
    retained: usize,
    follower: Follower,
    contract: Contract,
    launches: Vec<(u64, Rc<Executed>)>,
    /// Storages by a hash of the bytes that a launch left in them.
    left: HashMap<u64, (u64, StorageId)>,
    /// The values of the check's arguments. `None` if these are not known: then all contents count as exact.
    exact: Option<HashSet<u64>>,
    /// The largest finite one of these values.
    largest_input: f64,
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The largest magnitude of a value and finite values with these bits.
fn find_largest(known: f64, bits: impl Iterator<Item = u64>) -> f64 {
    let values = bits.map(|bits| f64::from_bits(bits).abs());
    values.filter(|value| value.is_finite()).fold(known, f64::max)
}

impl Session {
    pub fn new(part: &Path) -> Self {
        Self::with_reference(part, Arc::default())
    }

    /// A session whose launches this reference executes, which may be told to stop.
    pub(super) fn with_reference(part: &Path, reference: Arc<Reference>) -> Self {
        Self {
            reference,
            retained: 0,
            follower: Follower::new(part),
            contract: Contract::default(),
            launches: Vec::new(),
            left: HashMap::new(),
            exact: None,
            largest_input: 0.0,
        }
    }

    /// A session with the launches of a case as its only one, number 0. Fails if these do not finish.
    pub(super) fn of_case(case: &Case, reference: Arc<Reference>) -> Result<Self, Box<LaunchAnswer>> {
        let mut session = Self::with_reference(Path::new(""), reference);
        let finished = session.run_case(case)?;
        let sources = vec![Source::Exact; case.storages.len()];
        let executed = Executed {
            formula: session.run_formula(case, &sources),
            kernel: finished.memory,
            case: case.clone(),
            sources,
            computed: None,
        };
        session.launches.push((0, Rc::new(executed)));
        Ok(session)
    }

    /// The end of a case's launches. Fails if they do not finish.
    fn run_case(&self, case: &Case) -> Result<Box<Finished>, Box<LaunchAnswer>> {
        if let Some(complaint) = reject_sparse(case) {
            return Err(Box::new(describe_outcome(case, &Outcome::Unsupported(complaint))));
        }
        let run = self.reference.run(case, infer_rules(case)).map_err(|failure| {
            Box::new(LaunchAnswer::Failed(Failed::from_text(format!(
                "failed to {failure}"
            ))))
        })?;
        match run.outcome {
            Outcome::Finished(finished) => Ok(finished),
            outcome => Err(Box::new(describe_outcome(case, &outcome))),
        }
    }

    /// The memory that a launch left.
    pub(super) fn memory_after(&self, number: u64) -> Option<&Memory> {
        Some(&self.find_executed(number)?.kernel)
    }

    /// Adds values of arguments, as `f64`.
    pub fn add_exact(&mut self, values: &[u8]) {
        let words = values.as_chunks::<8>().0.iter();
        let words = words.map(|word| u64::from_le_bytes(*word));
        self.largest_input = find_largest(self.largest_input, words.clone());
        self.exact.get_or_insert_default().extend(words);
    }

    /// Begins a call with these exact values: what earlier calls left is not its own.
    pub fn begin_call(&mut self, exact: HashSet<u64>) {
        self.largest_input = find_largest(0.0, exact.iter().copied());
        self.exact = Some(exact);
        self.left.clear();
    }

    /// The number of the launch that finished last.
    pub fn latest_number(&self) -> Option<u64> {
        self.launches.last().map(|(number, _)| *number)
    }

    /// Executes the launch that was written last. Returns the answer and the bytes of the changed storages.
    pub fn launch(&mut self) -> (LaunchAnswer, Vec<Vec<u8>>) {
        match self.execute() {
            Ok(answer) => answer,
            Err(answer) => (*answer, Vec::new()),
        }
    }

    fn execute(&mut self) -> Result<(LaunchAnswer, Vec<Vec<u8>>), Box<LaunchAnswer>> {
        let unsupported = |text: String| Box::new(LaunchAnswer::Unsupported(Failed::from_text(text)));
        let folder = self
            .follower
            .latest()
            .map_err(|error| unsupported(format!("the launch cannot be read: {error}")))?
            .ok_or_else(|| unsupported("the launch cannot be recorded as a case".to_owned()))?;
        let frame = self.follower.latest_frame();
        let (number, storages) = frame.map_or((0, 0), |frame| (frame.launch, frame.storages.len()));
        let corpus = Corpus::read(&folder)
            .map_err(|error| unsupported(format!("the launch cannot be read: {error}")))?;
        let case = corpus.entries().next().and_then(|entry| entry.resolve().ok());
        let case = case.ok_or_else(|| unsupported("the launch is not a case".to_owned()))?;
        let before = case.memory();
        let storages = (0..storages as u32).map(StorageId);
        self.retained += storages
            .clone()
            .map(|storage| before.bytes(storage).len())
            .sum::<usize>();
        if self.retained > MAX_RETAINED {
            let text =
                format!("the launches of a run have more than {MAX_RETAINED} bytes of storages together");
            return Err(Box::new(LaunchAnswer::Exhausted(Failed::from_text(text))));
        }
        let finished = self.run_case(&case)?;
        let mut changed = Vec::new();
        let mut payload = Vec::new();
        for storage in storages.clone() {
            let bytes = finished.memory.bytes(storage);
            if bytes != before.bytes(storage) || finished.memory.states(storage) != before.states(storage) {
                changed.push(Changed {
                    storage: storage.0,
                    bytes: bytes.len(),
                });
                payload.push(bytes.to_vec());
            }
        }
        let warnings = finished
            .remark
            .iter()
            .map(|remark| describe_undefined(&find_kernel_name(&case), remark))
            .collect();
        let sources: Vec<Source> = storages
            .clone()
            .map(|storage| self.find_source(&case, &before, storage))
            .collect();
        let computed = self.find_computed(&case, &sources);
        let executed = Executed {
            formula: self.run_formula(&case, &sources),
            kernel: finished.memory,
            case,
            sources,
            computed,
        };
        for storage in storages {
            let hash = hash_bytes(executed.kernel.bytes(storage));
            self.left.insert(hash, (number, storage));
        }
        self.launches.push((number, Rc::new(executed)));
        Ok((LaunchAnswer::Finished { changed, warnings }, payload))
    }

    /// A launch by its number.
    pub fn find_executed(&self, number: u64) -> Option<&Rc<Executed>> {
        let found = self.launches.iter().find(|(own, _)| *own == number);
        found.map(|(_, executed)| executed)
    }

    fn find_source(&self, case: &Case, memory: &Memory, storage: StorageId) -> Source {
        let bytes = memory.bytes(storage);
        if memory
            .states(storage)
            .iter()
            .all(|state| *state == ByteState::Uninit)
        {
            return Source::Exact;
        }
        let dtype_in = |case: &Case, storage: StorageId| {
            let declared = case.declared.get(storage.0 as usize);
            declared.map(|declared| declared.dtype)
        };
        let dtype = dtype_in(case, storage);
        // Zeros of another dtype are not a copy.
        if let Some(&(number, earlier)) = self.left.get(&hash_bytes(bytes))
            && let Some(executed) = self.find_executed(number)
            && executed.kernel.bytes(earlier) == bytes
            && dtype_in(&executed.case, earlier) == dtype
        {
            return Source::Launch(number, earlier);
        }
        let Some((exact, dtype)) = self.exact.as_ref().zip(dtype.filter(|dtype| dtype.is_float())) else {
            return Source::Exact;
        };
        // Every number of a narrow dtype has few bits.
        let limit = dtype
            .float_format()
            .map_or(CONSTANT_BITS, |(fraction, _)| CONSTANT_BITS.min(fraction / 2));
        let is_exact = |bytes: &[u8]| {
            let value = decode(dtype, read_element(bytes, 0, dtype));
            let bits = u64::BITS - 12 - value.to_bits().trailing_zeros().min(52);
            value == 0.0 || !value.is_finite() || bits < limit || exact.contains(&value.to_bits())
        };
        if bytes.chunks_exact(dtype.size()).all(is_exact) {
            Source::Exact
        } else {
            Source::Computed
        }
    }

    /// The name of a storage that the program computed, of this launch or of one that it follows from.
    fn find_computed(&self, case: &Case, sources: &[Source]) -> Option<String> {
        sources.iter().enumerate().find_map(|(nth, source)| match source {
            Source::Exact => None,
            Source::Launch(number, _) => self.find_executed(*number)?.computed.clone(),
            Source::Computed => {
                let named = case.tensors.get(nth);
                Some(named.map_or_else(|| format!("storage {nth}"), |named| named.name.clone()))
            }
        })
    }

    /// The formula of a launch, in which decisions that are not known have no bounds, in earlier launches too. `None` if nothing bounds
    /// one of these.
    fn run_separately(&self, number: u64) -> Option<Box<FormulaMemory>> {
        let mut needed = BTreeSet::from([number]);
        let mut open = vec![number];
        while let Some(executed) = open.pop().and_then(|number| self.find_executed(number)) {
            for source in &executed.sources {
                if let Source::Launch(earlier, _) = source
                    && self.find_executed(*earlier).is_some()
                    && needed.insert(*earlier)
                {
                    open.push(*earlier);
                }
            }
        }
        let mut formulas = HashMap::new();
        for number in needed {
            let Executed { case, sources, .. } = &**self.find_executed(number)?;
            let ranges = AcceptanceMap::with_separate_sides();
            let formula = self.run_formula_with(case, sources, ranges, self.contract, &formulas);
            formulas.insert(number, formula.ok()?);
        }
        formulas.remove(&number)
    }

    fn run_formula(&self, case: &Case, sources: &[Source]) -> Result<Box<FormulaMemory>, FormulaError> {
        let (ranges, none) = (AcceptanceMap::default(), HashMap::new());
        self.run_formula_with(case, sources, ranges, self.contract, &none)
    }

    /// `earlier` are formulas in place of those that earlier launches have.
    fn run_formula_with(
        &self,
        case: &Case,
        sources: &[Source],
        ranges: AcceptanceMap,
        contract: Contract,
        earlier: &HashMap<u64, Box<FormulaMemory>>,
    ) -> Result<Box<FormulaMemory>, FormulaError> {
        let mut start = FormulaMemory {
            memory: case.memory(),
            ranges,
        };
        for (storage, source) in (0_u32..).map(StorageId).zip(sources) {
            let Source::Launch(number, left) = source else {
                continue;
            };
            let formula = match (earlier.get(number), self.find_executed(*number)) {
                (Some(formula), _) => formula,
                (None, Some(executed)) => executed.formula.as_ref().map_err(Clone::clone)?,
                (None, None) => continue,
            };
            start
                .memory
                .parts_mut(storage)
                .0
                .copy_from_slice(formula.memory.bytes(*left));
            start.ranges.copy_storage(storage, &formula.ranges, *left);
        }
        match self
            .reference
            .run_formulas(case, infer_rules(case), contract, start)
        {
            Ok(FormulaRun::Finished(formula)) => Ok(formula),
            Ok(FormulaRun::Unbounded(reason)) => Err(FormulaError::Unbounded(reason)),
            Err(failure) => Err(FormulaError::Reference(failure)),
        }
    }

    /// Computes the formulas of all launches again if the contract is another one.
    pub fn use_contract(&mut self, contract: Contract) {
        if contract == self.contract {
            return;
        }
        self.contract = contract;
        for nth in 0..self.launches.len() {
            let Some((number, executed)) = self.launches.get(nth).cloned() else {
                continue;
            };
            let again = Executed {
                formula: self.run_formula(&executed.case, &executed.sources),
                case: executed.case.clone(),
                sources: executed.sources.clone(),
                kernel: executed.kernel.clone(),
                computed: executed.computed.clone(),
            };
            self.launches[nth] = (number, Rc::new(again));
        }
    }

    /// Compares an output with the values of the reference function.
    pub fn compare_output(
        &self,
        output: &Output,
        values: Values<'_>,
        tolerance: Option<Tolerance>,
    ) -> Result<OutputAnswer, RequestError> {
        let (executed, tensor) = self.find_output(output)?;
        let (dtype, storage) = (tensor.dtype, tensor.storage);
        let bytes = executed.kernel.bytes(storage);
        let places =
            list_places(&tensor, bytes.len()).ok_or_else(|| RequestError::Outside(output.name.clone()))?;
        let formula = executed.formula.as_ref().ok();
        let find_bounds = |place: usize| {
            formula.map_or(Accepted::Unknown, |formula| {
                formula.ranges.accepted_at(storage, place).1
            })
        };
        let formula_bits = |place: usize| {
            formula.map_or(0, |formula| {
                read_element(formula.memory.bytes(storage), place, dtype)
            })
        };
        let find_range = |place: usize| to_range(find_bounds(place), decode(dtype, formula_bits(place)));
        let expected = read_expected(output, values, dtype, &places, find_range)?;
        let states = executed.kernel.states(storage);
        let count_state = |wanted: ByteState| {
            let has_state = |place: usize| {
                let states = states.get(place..place + dtype.size()).unwrap_or(&[]);
                states.contains(&wanted)
            };
            places.iter().filter(|&&place| has_state(place)).count()
        };
        let unwritten = count_state(ByteState::Uninit);
        let undefined = count_state(ByteState::Poison);
        let elements = places.iter().zip(&expected).map(|(&place, expected)| Element {
            bounds: find_bounds(place),
            formula: formula_bits(place),
            kernel: read_element(bytes, place, dtype),
            expected: expected.value,
            integer: expected.integer,
        });
        let mut elements: Vec<Element> = elements.collect();
        let terms = Terms {
            contract: self.contract,
            tolerance,
            inputs: self.largest_input,
        };
        let mut comparison = cerith_oracle::compare(dtype, elements.iter().copied(), terms);
        let mut reason = executed.formula.as_ref().err().map(ToString::to_string);
        if !comparison.excused.is_empty() {
            let separate = self.run_separately(output.launch);
            let is_decided = |place: usize| {
                let known = |formula: &FormulaMemory| formula.ranges.accepted_at(storage, place).1;
                separate
                    .as_deref()
                    .is_some_and(|formula| known(formula) != Accepted::Unknown)
            };
            for &nth in &comparison.excused {
                if let (Some(element), Some(&place)) = (elements.get_mut(nth), places.get(nth))
                    && !is_decided(place)
                {
                    element.bounds = Accepted::Unknown;
                }
            }
            let before = comparison.undecided;
            comparison = cerith_oracle::compare(dtype, elements, terms);
            let unknown = comparison.undecided - before;
            if unknown > 0 {
                reason = Some(format!(
                    "{unknown} of {} elements depend on a decision that rounding may change",
                    comparison.elements
                ));
            }
        }
        let Comparison {
            elements,
            wrong,
            inaccurate,
            undecided,
            distant,
            worst_ulps,
            allowed_ulps,
            worst,
            ..
        } = comparison;
        let mut verdict = Verdict::from(worst.map(|worst| worst.finding));
        if verdict > Verdict::Undecided
            && tolerance.is_none()
            && let Some(computed) = &executed.computed
        {
            verdict = Verdict::Undecided;
            reason = Some(format!(
                "`{computed}` holds values that the launcher computed, whose error is unknown"
            ));
        }
        if unwritten > 0 {
            verdict = Verdict::Wrong;
        } else if undefined > 0 {
            verdict = Verdict::Wrong;
            reason = Some(format!(
                "{undefined} of {elements} elements have no defined value"
            ));
        }
        let example = worst.filter(|_| undefined == 0).map(|worst| Example {
            index: unravel(worst.index, &output.shape),
            kernel: text::render(worst.kernel, dtype),
            expected: text::render(worst.expected, dtype),
            low: worst.bounds.map(|bounds| text::render(bounds[0], dtype)),
            high: worst.bounds.map(|bounds| text::render(bounds[1], dtype)),
        });
        Ok(OutputAnswer {
            name: output.name.clone(),
            verdict,
            elements,
            wrong: wrong.max(undefined),
            inaccurate,
            undecided,
            distant,
            unwritten,
            worst_ulps,
            allowed_ulps,
            example,
            reason,
        })
    }

    /// The values of an output by its kernel's formula, for a reference that is itself a kernel. `None` if an element has no bounds.
    pub fn read_formula(&self, output: &Output) -> Result<Option<ExpectedValues>, RequestError> {
        let (executed, tensor) = self.find_output(output)?;
        let bytes = executed.kernel.bytes(tensor.storage);
        let places =
            list_places(&tensor, bytes.len()).ok_or_else(|| RequestError::Outside(output.name.clone()))?;
        let dtype = tensor.dtype;
        if !dtype.is_float() {
            let integer = |&place: &usize| {
                (cerith_tile::numeric::decode_int(dtype, read_element(bytes, place, dtype)) as i64)
                    .to_le_bytes()
            };
            return Ok(Some(ExpectedValues::Numbers(
                places.iter().flat_map(integer).collect(),
            )));
        }
        let Ok(formula) = &executed.formula else {
            return Ok(None);
        };
        let range = |&place: &usize| {
            let value = decode(
                dtype,
                read_element(formula.memory.bytes(tensor.storage), place, dtype),
            );
            to_range(formula.ranges.accepted_at(tensor.storage, place).1, value)
        };
        let ranges: Option<Vec<[f64; 2]>> = places.iter().map(range).collect();
        Ok(ranges.map(ExpectedValues::Ranges))
    }

    /// The operation of the kernel that loses most of an inaccurate output's precision.
    pub fn find_lossy(&self, output: &Output, values: Values<'_>) -> Result<Option<Operation>, RequestError> {
        let (executed, tensor) = self.find_output(output)?;
        // With the roundings of the kernel's own dtypes.
        let own = Contract {
            accumulate: DType::F8E5,
            tf32: true,
            narrowest: Some(DType::F8E5),
        };
        let (ranges, none) = (AcceptanceMap::with_book(), HashMap::new());
        let Ok(formula) = self.run_formula_with(&executed.case, &executed.sources, ranges, own, &none) else {
            return Ok(None);
        };
        let bytes = executed.kernel.bytes(tensor.storage);
        let places =
            list_places(&tensor, bytes.len()).ok_or_else(|| RequestError::Outside(output.name.clone()))?;
        let find_range = |place: usize| {
            let bits = read_element(formula.memory.bytes(tensor.storage), place, tensor.dtype);
            to_range(
                formula.ranges.accepted_at(tensor.storage, place).1,
                decode(tensor.dtype, bits),
            )
        };
        let expected = read_expected(output, values, tensor.dtype, &places, find_range)?;
        let distance = |(&place, expected): (&usize, &Expected)| {
            (decode(tensor.dtype, read_element(bytes, place, tensor.dtype)) - expected.value).abs()
        };
        let worst = places
            .iter()
            .zip(&expected)
            .map(|pair| (*pair.0, distance(pair)))
            .filter(|(_, distance)| !distance.is_nan())
            .max_by(|one, other| one.1.total_cmp(&other.1));
        let Some((place, _)) = worst else {
            return Ok(None);
        };
        let found = self
            .reference
            .find_formula_widening(
                &executed.case,
                infer_rules(&executed.case),
                own,
                &formula,
                tensor.storage,
                place,
            )
            .map_err(|failure| RequestError::Engine(format!("failed to {failure}")))?;
        Ok(found.map(|widest| Operation {
            name: widest.operation.to_owned(),
            file: widest.position.as_ref().map(|at| at.file.clone()),
            line: widest.position.as_ref().map(|at| at.line),
        }))
    }

    fn find_output(&self, output: &Output) -> Result<(Rc<Executed>, Tensor), RequestError> {
        let missing = || RequestError::NoStorage(output.name.clone(), output.launch);
        let executed = self.find_executed(output.launch).ok_or_else(missing)?;
        let storage = StorageId(output.storage);
        if output.storage as usize >= executed.kernel.len() {
            return Err(missing());
        }
        let tensor = Tensor {
            storage,
            dtype: find_dtype(&output.dtype)?,
            shape: output.shape.as_slice().into(),
            strides: output.strides.as_slice().into(),
            offset: output.offset,
        };
        if tensor.is_proper() {
            Ok((Rc::clone(executed), tensor))
        } else {
            Err(RequestError::Outside(output.name.clone()))
        }
    }
}

fn describe_outcome(case: &Case, outcome: &Outcome) -> LaunchAnswer {
    let kernel = find_kernel_name(case);
    let failed = |complaint: &_, word: &str| {
        let text = describe_undefined(&kernel, complaint).replacen(" is undefined", word, 1);
        Failed::from_complaint(text, complaint)
    };
    match outcome {
        Outcome::Trapped(Trap::Undefined, complaint) => {
            LaunchAnswer::Undefined(failed(complaint, " is undefined"))
        }
        Outcome::Trapped(_, complaint) => LaunchAnswer::Undefined(failed(complaint, " traps")),
        Outcome::Rejected(complaint) => LaunchAnswer::Rejected(failed(complaint, " is rejected")),
        Outcome::Exhausted(complaint) => LaunchAnswer::Exhausted(failed(complaint, " does not finish")),
        other => LaunchAnswer::Unsupported(other.complaint().map_or_else(
            || Failed::from_text(other.kind().to_string()),
            |complaint| failed(complaint, " is not supported"),
        )),
    }
}

pub fn read_file(path: &Path) -> Result<Vec<u8>, RequestError> {
    std::fs::read(path).map_err(|source| RequestError::Unreadable {
        path: path.display().to_string(),
        source,
    })
}

/// The values of a reference function.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// `f64` for floats, and `i64` for integers, little-endian.
    Numbers(&'a [u8]),
    /// The least and the greatest value of each float, if the reference is a kernel.
    Ranges(&'a [[f64; 2]]),
}

/// The values of a reference function, owned.
#[derive(Clone, Debug)]
pub enum ExpectedValues {
    /// `f64`, or `i64` for integers.
    Numbers(Vec<u8>),
    /// The range of each element, if the reference is a kernel.
    Ranges(Vec<[f64; 2]>),
}

impl ExpectedValues {
    /// The values for a comparison.
    pub fn as_values(&self) -> Values<'_> {
        match self {
            Self::Numbers(bytes) => Values::Numbers(bytes),
            Self::Ranges(ranges) => Values::Ranges(ranges),
        }
    }
}

/// The values that a formula may have. `None` if nothing bounds them.
fn to_range(bounds: Accepted, value: f64) -> Option<[f64; 2]> {
    match bounds {
        Accepted::Exact => Some([value, value]),
        Accepted::Within { low, high, .. } => Some([low, high]),
        Accepted::Unknown => None,
    }
}

/// The expected value of each element. If a range is expected, this is its value nearest to the range of the formula, or its middle.
fn read_expected(
    output: &Output,
    values: Values<'_>,
    dtype: DType,
    places: &[usize],
    find_range: impl Fn(usize) -> Option<[f64; 2]>,
) -> Result<Vec<Expected>, RequestError> {
    let check_count = |expected: usize| {
        (expected == places.len())
            .then_some(())
            .ok_or_else(|| RequestError::Count {
                name: output.name.clone(),
                elements: places.len() as i64,
                expected,
            })
    };
    let bytes = match values {
        Values::Numbers(bytes) => bytes,
        Values::Ranges(ranges) => {
            check_count(ranges.len())?;
            let choose = |(&place, &[low, high]): (&usize, &[f64; 2])| {
                let middle = low / 2.0 + high / 2.0;
                let nearest = find_range(place).map_or(middle, |[from, to]| middle.max(from).min(to));
                Expected {
                    value: nearest.max(low).min(high),
                    integer: None,
                }
            };
            return Ok(places.iter().zip(ranges).map(choose).collect());
        }
    };
    let words = bytes.as_chunks::<8>().0;
    check_count(words.len())?;
    let value = |word: &[u8; 8]| {
        if dtype.is_float() {
            return Expected {
                value: f64::from_le_bytes(*word),
                integer: None,
            };
        }
        let integer = i64::from_le_bytes(*word);
        Expected {
            value: if dtype == DType::U64 {
                integer as u64 as f64
            } else {
                integer as f64
            },
            integer: Some(integer),
        }
    };
    Ok(words.iter().map(value).collect())
}

/// A value of the reference function.
#[derive(Clone, Copy, Debug)]
struct Expected {
    value: f64,
    /// The value of an integer. An unsigned one beyond the signed range wraps.
    integer: Option<i64>,
}

pub fn read_element(bytes: &[u8], place: usize, dtype: DType) -> u64 {
    read(bytes.get(place..).unwrap_or(&[]), 0, dtype.size())
}

/// The first byte of each element of a view, in row-major order. `None` if one is outside of so many bytes.
pub fn list_places(tensor: &Tensor, bytes: usize) -> Option<Vec<usize>> {
    let few = usize::try_from(tensor.numel()).is_ok_and(|count| count <= MAX_ELEMENTS);
    (few && lies_inside(tensor, bytes)).then(|| tensor.element_starts().collect())
}

/// Whether all elements of a view are in so many bytes.
pub fn lies_inside(tensor: &Tensor, bytes: usize) -> bool {
    tensor
        .byte_range()
        .is_none_or(|(first, end)| first >= 0 && usize::try_from(end).is_ok_and(|end| end <= bytes))
}

/// The index of an element, counted in row-major order.
fn unravel(nth: usize, shape: &[i64]) -> Vec<i64> {
    let mut rest = nth as i64;
    let mut index: Vec<i64> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let at = rest % extent.max(1);
            rest /= extent.max(1);
            at
        })
        .collect();
    index.reverse();
    index
}
