//! Launches in which an integer of 32 bits wraps, executed: the reference fails or stores elsewhere, and doesn't with exact integers.

use std::collections::BTreeMap;
use std::rc::Rc;

use cerith_case::print::is_computed_fill;
use cerith_case::{ArgValue, Case, Launch};
use cerith_engine::{Complaint, Outcome, Reference, Trap, catch_panic};
use cerith_memory::{Dims, Memory, Tensor};
use cerith_prove::Contract;
use cerith_prove::exact::widen_integers;
use cerith_prove::overflow::{Freedom, Trial, Wrap, find_wraps};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{Function, LocId};
use cerith_tile::rules::Rules;
use serde::Serialize;

use super::contract::{Layouts, Relations};
use super::freedom::Extents;
use super::launch::LaunchFacts;
use super::subject::{MAX_DENSE, Subject};

/// The code of a finding.
pub const OVERFLOW: &str = "overflow";

/// Operations and lanes of a program. A loop may be long before an integer in it wraps.
const FUEL: u64 = 1 << 22;

/// Launches that are executed for one kernel.
const MAX_REPLAYS: usize = 24;

/// An integer that wraps, and the launch that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The operation that must not wrap, and its value, as in the obligation.
    pub key: (LocId, String),
    /// The file of the expression that wraps, as reports show it.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// The message.
    pub message: String,
    /// The message with the line of the kernel.
    pub text: String,
    /// The reference's complaint about the launch; `None` if it stores elsewhere.
    pub failure: Option<String>,
    /// The sizes and strides that are large.
    pub large: Vec<(String, i64)>,
    /// The program that fails.
    pub program: [i64; 3],
    /// The launch, an argument each, and the grid.
    pub launch: Vec<String>,
    /// Its case file.
    pub case: String,
    /// Programs of the grid.
    pub programs: u64,
    /// Whether a size is larger than the contract allows.
    pub is_beyond: bool,
}

/// An overflow in a line of JSON.
#[derive(Debug, Serialize)]
pub struct OverflowRecord<'a> {
    file: &'a str,
    line: u32,
    message: &'a str,
    /// The names that are large, with their values.
    large: BTreeMap<&'a str, i64>,
    program: [i64; 3],
    /// The reference's complaint; missing if it stores elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    launch: String,
    case: &'a str,
}

impl Overflow {
    /// The overflow in JSON.
    pub fn to_record(&self) -> OverflowRecord<'_> {
        OverflowRecord {
            file: &self.file,
            line: self.line,
            message: &self.message,
            large: self
                .large
                .iter()
                .map(|(name, value)| (name.as_str(), *value))
                .collect(),
            program: self.program,
            failure: self.failure.as_deref(),
            launch: self.launch.join(", "),
            case: &self.case,
        }
    }

    /// The launch and its result, on indented lines.
    pub fn render_launch(&self) -> Vec<String> {
        let failure = self.failure.as_deref();
        let result = failure.unwrap_or("other elements are written than with 64 bits");
        vec![
            format!("    launch: {}", self.launch.join(", ")),
            format!("    result: {result}"),
        ]
    }
}

/// A launch of a kernel with its contract.
pub struct Specialisation<'a> {
    /// The kernel's file.
    pub subject: &'a Subject,
    /// The case of the launch, which has no other.
    pub case: &'a Case,
    /// The traced kernel.
    pub function: &'a Function,
    /// All launches.
    pub relations: &'a Relations,
    /// The contract of this one.
    pub contract: &'a Contract,
    /// The layouts of tensors.
    pub layouts: &'a Layouts,
    /// The language.
    pub rules: Rules,
}

impl Specialisation<'_> {
    /// Looks for integers that wrap, and returns the launches that show it, with the number of integers that were not looked at.
    /// `is_wanted` decides by the operation; a line that already has a finding is skipped.
    pub fn find_overflows(&self, is_wanted: &dyn Fn(LocId) -> bool) -> (Vec<Overflow>, usize) {
        let [launch] = self.case.launches.as_slice() else {
            return (Vec::new(), 0);
        };
        let freedom = self
            .relations
            .build_freedom(self.function, launch, self.contract, self.layouts);
        let Some(freedom) = freedom.filter(|_| can_change(self.case, launch)) else {
            return (Vec::new(), 0);
        };
        let mut replays = Replays {
            specialisation: self,
            freedom: &freedom,
            is_wanted,
            reference: self.subject.find_reference(FUEL),
            patient: self.subject.find_reference(FUEL * 4),
            overflows: Vec::new(),
            count: 0,
        };
        let missed = find_wraps(self.function, self.contract, &freedom, &mut replays);
        (replays.overflows, missed)
    }
}

/// Whether a launch with other sizes can be made from a case: each tensor has a storage of its own, and nothing is nested.
fn can_change(case: &Case, launch: &Launch) -> bool {
    let mut used = Vec::new();
    for (_, argument) in launch.arguments() {
        match &argument.value {
            ArgValue::Tensor { tensor, .. } => {
                if used.contains(&tensor.storage) || tensor.offset != 0 {
                    return false;
                }
                used.push(tensor.storage);
            }
            ArgValue::Address { .. }
            | ArgValue::Descriptor(_)
            | ArgValue::Tuple(_)
            | ArgValue::NamedTuple { .. } => {
                return false;
            }
            _ => {}
        }
    }
    case.compile.is_none() && case.recorded.is_none()
}

struct Replays<'a> {
    specialisation: &'a Specialisation<'a>,
    freedom: &'a Freedom,
    is_wanted: &'a dyn Fn(LocId) -> bool,
    reference: Rc<Reference>,
    /// The reference for exact integers, with more fuel.
    patient: Rc<Reference>,
    overflows: Vec<Overflow>,
    count: usize,
}

impl Trial for Replays<'_> {
    fn is_wanted(&self, loc: LocId) -> bool {
        let is_same =
            |one: &Overflow| find_line(self.specialisation.function, loc) == (one.file.clone(), one.line);
        self.count < MAX_REPLAYS && (self.is_wanted)(loc) && !self.overflows.iter().any(is_same)
    }

    fn accepts(&self, sizes: &BTreeMap<String, i64>) -> bool {
        Extents::from_sizes(
            self.specialisation.contract,
            self.specialisation.layouts,
            self.freedom,
            sizes,
        )
        .is_some()
    }

    fn replay(&mut self, wrap: &Wrap) -> bool {
        if self.count >= MAX_REPLAYS {
            return false;
        }
        self.count += 1;
        let overflow = self.execute(wrap);
        let is_shown = overflow.is_some();
        self.overflows.extend(overflow);
        is_shown
    }
}

impl Replays<'_> {
    /// Makes the launch. `None` if it doesn't show that the integer wraps.
    fn execute(&self, wrap: &Wrap) -> Option<Overflow> {
        let extents = Extents::from_sizes(
            self.specialisation.contract,
            self.specialisation.layouts,
            self.freedom,
            &wrap.sizes,
        )?;
        let written = self.build_case(wrap, &extents)?.to_declared_file()?;
        let subject = self.specialisation.subject;
        let corpus = subject.build_corpus(std::iter::once(("overflow".to_owned(), written.clone())));
        let entry = corpus.entries().next()?;
        let case = catch_panic(|| entry.resolve_sparse(MAX_DENSE)).ok()?.ok()?;
        let kernel = case.launches.first()?.kernel.name.clone();
        if subject.count_kept(&kernel, &case) < subject.list_requirements(&kernel).count() {
            return None;
        }
        let [x, y, z] = wrap.program.map(|id| u64::try_from(id).unwrap_or_default());
        let [columns, rows, _] = extents.grid.map(u64::from);
        let programs = [x + columns * (y + rows * z)];
        let run = |reference: &Reference, rewrite: Option<&dyn Fn(&Function) -> Function>| {
            let run = || reference.run_programs(&case, self.specialisation.rules, &programs, rewrite);
            catch_panic(run).ok()?.ok()?
        };
        let wrapped = run(&self.reference, None)?;
        if !matches!(
            wrapped,
            Outcome::Trapped(Trap::Undefined, _) | Outcome::Finished(_)
        ) {
            return None;
        }
        let exact = run(&self.patient, Some(&|function| widen_integers(function, None)))?;
        differs(&wrapped, &exact)?;
        // The failure may be that of another integer.
        let alone = |function: &Function| widen_integers(function, Some(wrap.first));
        let failure = differs(&run(&self.reference, Some(&alone))?, &exact)?;
        Some(self.describe(wrap, &case, failure.0, written))
    }

    /// The case with other sizes.
    fn build_case(&self, wrap: &Wrap, extents: &Extents) -> Option<Case> {
        let mut case = self.specialisation.case.clone();
        "an integer of 32 bits wraps".clone_into(&mut case.summary);
        case.expectations.clear();
        case.expected_contents.clear();
        case.like = None;
        case.point.clear();
        let launch = case.launches.first_mut()?;
        launch.grid = extents.grid;
        let needed = extents
            .grid
            .iter()
            .rposition(|&count| count != 1)
            .map_or(1, |at| at + 1);
        launch.grid_dims = launch.grid_dims.max(u8::try_from(needed).ok()?);
        let names: Vec<String> = launch
            .arguments()
            .map(|(name, _)| name.unwrap_or_default().to_owned())
            .collect();
        let arguments = launch
            .positional
            .iter_mut()
            .chain(launch.keyword.iter_mut().map(|(_, argument)| argument));
        for (name, argument) in names.iter().zip(arguments) {
            match &mut argument.value {
                ArgValue::Int(number) => {
                    if let Some(&value) = wrap.sizes.get(name) {
                        *number = i128::from(value);
                    }
                }
                ArgValue::Tensor { tensor, .. } => {
                    let Some((shape, strides)) = extents.tensors.get(name) else {
                        continue;
                    };
                    let declared = case.declared.get_mut(tensor.storage.0 as usize)?;
                    *tensor = Tensor {
                        shape: Dims::from_slice(shape),
                        strides: Dims::from_slice(strides),
                        ..tensor.clone()
                    };
                    let dense = Tensor::new_contiguous(tensor.storage, tensor.dtype, shape);
                    declared.shape = if *tensor == dense && tensor.dtype == declared.dtype {
                        shape.clone()
                    } else {
                        let (_, end) = tensor.byte_range()?;
                        let size = declared.dtype.size() as i64;
                        vec![end.checked_add(size - 1)? / size]
                    };
                    if !is_computed_fill(&declared.fill) {
                        "zeros".clone_into(&mut declared.fill);
                    }
                }
                _ => {}
            }
        }
        Some(case)
    }

    fn describe(&self, wrap: &Wrap, case: &Case, failure: Option<String>, written: String) -> Overflow {
        let function = self.specialisation.function;
        let expression = find_text(function, wrap.first);
        let large: Vec<(String, i64)> = wrap
            .large
            .iter()
            .filter_map(|name| Some((name.clone(), *wrap.sizes.get(name)?)))
            .collect();
        let sizes: Vec<String> = large
            .iter()
            .map(|(name, value)| format!("`{name}={value}`"))
            .collect();
        let grid = case.launches.first().map_or([1; 3], |launch| launch.grid);
        let dims = case
            .launches
            .first()
            .map_or(1, |launch| usize::from(launch.grid_dims));
        let id = wrap.program.get(..dims.clamp(1, 3)).unwrap_or(&wrap.program);
        let id: Vec<String> = id.iter().map(i64::to_string).collect();
        let id = if let [one] = id.as_slice() {
            one.clone()
        } else {
            format!("({})", id.join(", "))
        };
        let bits = wrap.dtype.bits() - u32::from(wrap.dtype.is_signed_int());
        let limit = if wrap.exact < 0 {
            format!(
                "falls below {}",
                if wrap.dtype.is_signed_int() {
                    format!("-2^{bits}")
                } else {
                    "0".to_owned()
                }
            )
        } else {
            format!("reaches 2^{bits}")
        };
        let operand = wrap.operand.and_then(|id| find_name(function, id));
        let operand = operand.map_or_else(|| "an operand".to_owned(), |name| format!("`{name}`"));
        let message = format!(
            "`{expression}` wraps ({}) when it {limit}, as with {} in program {id}: cast {operand} to int64",
            wrap.dtype.triton_name(),
            sizes.join(" and ")
        );
        let (file, line) = find_line(function, wrap.first);
        let mut diagnostic = Diagnostic::warning(OVERFLOW, function.span(wrap.first), message.clone())
            .label_primary(format!("{} here", wrap.exact));
        if function.span(wrap.access) != function.span(wrap.first) {
            diagnostic = diagnostic.label(function.span(wrap.access), "decides this access");
        }
        diagnostic = diagnostic.note(match &failure {
            Some(message) => format!("then {message}"),
            None => "then other elements are written than with 64 bits".to_owned(),
        });
        let facts = LaunchFacts::from_case(case);
        let is_beyond = |(name, value): (&String, &i64)| {
            let range = self.specialisation.contract.ranges.get(name);
            range.is_some_and(|(_, most)| value > most)
        };
        Overflow {
            key: (wrap.loc, wrap.value.clone()),
            file,
            line,
            message,
            text: diagnostic.render(&function.sources, false),
            failure,
            large,
            program: wrap.program,
            launch: facts.map_or_else(Vec::new, |facts| facts.list_words()),
            case: written,
            programs: grid.iter().map(|&count| u64::from(count)).product(),
            is_beyond: wrap.sizes.iter().any(is_beyond),
        }
    }
}

/// The failure of an execution that doesn't happen with exact integers; an empty one if it writes other elements or values. `None` if
/// there is no difference.
fn differs(wrapped: &Outcome, exact: &Outcome) -> Option<Failure> {
    match (wrapped, exact) {
        (Outcome::Trapped(Trap::Undefined, complaint), _) => {
            is_other(complaint, exact).then(|| Failure(Some(complaint.message.clone())))
        }
        (Outcome::Finished(wrapped), Outcome::Finished(exact)) => {
            stores_elsewhere(&wrapped.memory, &exact.memory).then_some(Failure(None))
        }
        _ => None,
    }
}

/// The reference's complaint, if it has one.
struct Failure(Option<String>);

/// Whether an execution with exact integers doesn't fail in the same way.
fn is_other(complaint: &Complaint, exact: &Outcome) -> bool {
    match exact {
        // It has more fuel, and so it is past the access.
        Outcome::Finished(_) | Outcome::Exhausted(_) => true,
        Outcome::Trapped(_, other) => {
            complaint.kind == "out-of-bounds" && other.position != complaint.position
        }
        _ => false,
    }
}

/// Whether two executions left different elements or values.
fn stores_elsewhere(wrapped: &Memory, exact: &Memory) -> bool {
    wrapped.ids().any(|id| !wrapped.has_same(exact, id))
}

/// The text of an operation on one line.
fn find_text(function: &Function, loc: LocId) -> String {
    let span = function.span(loc);
    let text = function
        .sources
        .get(span.source)
        .and_then(|file| file.text.get(span.start as usize..span.end as usize));
    let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    words.join(" ")
}

/// The variable that a value was bound to, or its text.
fn find_name(function: &Function, id: cerith_tile::ir::ValueId) -> Option<String> {
    let named = function.values.get(id.0 as usize)?.name.clone();
    named.or_else(|| {
        let mut loc = None;
        function.body.visit_operations(&mut |op| {
            if op.results.contains(&id) {
                loc = Some(op.loc);
            }
        });
        Some(find_text(function, loc?)).filter(|text| !text.is_empty())
    })
}

/// The line of an operation, in the file that a user can open.
pub fn find_line(function: &Function, loc: LocId) -> (String, u32) {
    let span = function.span(loc);
    let file = function.sources.get(span.source);
    file.map_or_else(
        || (String::new(), 0),
        |file| {
            let place = file.place(span.start);
            (place.file.to_string(), place.line)
        },
    )
}
