//! What `cerith prove` does with a file: for each kernel, the contract of its launches, and the obligations of each specialisation
//! that they have.

use std::collections::{BTreeMap, BTreeSet};

use cerith_case::{Case, Launch};
use cerith_engine::Reference;
use cerith_prove::{
    AccessKind, Answer, Assumption, KERNEL_BUDGET, ObligationKind, Reason, Sizes, Source, prove_within,
};
use cerith_survey::Survey;
use cerith_tile::ir::{Function, LocId};
use cerith_tile::rules::{Rules, Version};

use serde::Serialize;

use super::contract::Relations;
use super::overflow_launch::{Overflow, OverflowRecord, Specialisation, find_line};
use super::subject::{Subject, resolve_cases};

/// The work for one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Linear programs of the proofs of each specialisation.
    pub programs: usize,
    /// The most specialisations.
    pub specialisations: usize,
}

impl Effort {
    /// The work of `cerith prove`.
    pub const FULL: Self = Self {
        programs: KERNEL_BUDGET,
        specialisations: 3,
    };

    /// The work of `cerith check`, beside its launches.
    pub const SMALL: Self = Self {
        programs: 24,
        specialisations: 1,
    };
}

/// The answer for one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineAnswer {
    /// The file, as reports show it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What has to hold: `load from x_ptr in bounds`.
    pub subject: String,
    /// The tensor of an access.
    pub tensor: Option<String>,
    /// The kind of obligation.
    pub kind: ObligationKind,
    /// For which sizes it is proved; `None` if it isn't.
    pub proved: Option<Sizes>,
    /// Why it is not proved, or not for all sizes.
    pub reason: Option<String>,
    /// A launch in which it doesn't hold.
    pub refuted: Option<Overflow>,
}

/// The answers for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelProof {
    /// The kernel.
    pub kernel: String,
    /// Obligations in the order of the lines.
    pub lines: Vec<LineAnswer>,
    /// The contract in words.
    pub assumptions: Vec<Assumption>,
    /// The specialisations: values that the kernel was compiled for.
    pub specialisations: Vec<String>,
    /// The number of launches that the contract was read from.
    pub launches: usize,
    /// Why nothing was looked at.
    pub not_proved: Option<String>,
    /// Whether a limit ended the search early.
    pub is_cut: bool,
    /// Launches in which an integer wraps, with larger sizes than the contract allows.
    pub beyond: Vec<Overflow>,
    /// Integers for which no launch was looked for, because a limit ended the search.
    pub missed: usize,
}

/// A line of `cerith prove --format jsonl`.
#[derive(Debug, Serialize)]
struct ProofRecord<'a> {
    file: &'a str,
    kernel: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_proved: Option<&'a str>,
    launches: usize,
    specialisations: &'a [String],
    accesses: usize,
    proved_all_sizes: usize,
    proved_below_2_31: usize,
    is_cut: bool,
    assumptions: Vec<AssumptionRecord<'a>>,
    obligations: Vec<ObligationRecord<'a>>,
    /// Integers that wrap with larger sizes than assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beyond: Vec<OverflowRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct AssumptionRecord<'a> {
    source: &'static str,
    text: &'a str,
}

#[derive(Debug, Serialize)]
struct ObligationRecord<'a> {
    file: &'a str,
    line: u32,
    kind: &'static str,
    subject: &'a str,
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<OverflowRecord<'a>>,
}

/// How many accesses are proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProofCount {
    /// Accesses.
    pub accesses: usize,
    /// Those in bounds for all sizes.
    #[serde(rename = "proved_all_sizes")]
    pub all: usize,
    /// Those in bounds if tensors have fewer than 2^31 elements.
    #[serde(rename = "proved_below_2_31")]
    pub below: usize,
}

impl ProofCount {
    /// Adds the accesses of another kernel.
    pub fn add(&mut self, other: Self) {
        self.accesses += other.accesses;
        self.all += other.all;
        self.below += other.below;
    }

    /// The number in words, if there are accesses.
    pub fn describe(self) -> Option<String> {
        let Self { accesses, all, below } = self;
        let small = "tensors of fewer than 2^31 elements";
        Some(match self {
            Self { accesses: 0, .. } => return None,
            _ if all == accesses => format!("{accesses} of {accesses} accesses in bounds for all sizes"),
            _ if below == 0 => format!("0 of {accesses} accesses in bounds"),
            _ if all == 0 => format!("{below} of {accesses} accesses in bounds for {small}"),
            _ if all == below => format!("{all} of {accesses} accesses in bounds for all sizes"),
            _ => format!(
                "{all} of {accesses} accesses in bounds for all sizes, {} more for {small}",
                below - all
            ),
        })
    }
}

impl KernelProof {
    /// Counts accesses. None is proved for all sizes if an integer wraps beyond those of the contract.
    pub fn count(&self) -> ProofCount {
        let mut count = ProofCount::default();
        for one in &self.lines {
            if matches!(one.kind, ObligationKind::InBounds(_)) {
                count.accesses += 1;
                let is_all = one.proved == Some(Sizes::All) && self.beyond.is_empty();
                count.all += usize::from(is_all);
                count.below += usize::from(one.proved.is_some());
            }
        }
        count
    }

    /// All launches in which an integer wraps.
    pub fn list_overflows(&self) -> impl Iterator<Item = &Overflow> {
        let refuted = self.lines.iter().filter_map(|one| one.refuted.as_ref());
        refuted.chain(&self.beyond)
    }

    /// Whether the launcher's contract decides all accesses of a tensor: they are in bounds.
    pub fn decides(&self, tensor: &str) -> bool {
        let is_assumed = |one: &Assumption| one.source == Source::Text;
        let mut accesses = self
            .lines
            .iter()
            .filter(|one| one.tensor.as_deref() == Some(tensor))
            .peekable();
        !self.is_cut
            && !self.assumptions.iter().any(is_assumed)
            && accesses.peek().is_some()
            && accesses.all(|one| one.proved.is_some())
    }

    /// The answers as a line of JSON.
    pub fn to_json(&self, file: &str) -> String {
        let count = self.count();
        let record = ProofRecord {
            file,
            kernel: &self.kernel,
            not_proved: self.not_proved.as_deref(),
            launches: self.launches,
            specialisations: &self.specialisations,
            accesses: count.accesses,
            proved_all_sizes: count.all,
            proved_below_2_31: count.below,
            is_cut: self.is_cut,
            assumptions: self
                .assumptions
                .iter()
                .map(|one| AssumptionRecord {
                    source: name_source(one.source),
                    text: &one.text,
                })
                .collect(),
            obligations: self.lines.iter().map(LineAnswer::to_record).collect(),
            beyond: self.beyond.iter().map(Overflow::to_record).collect(),
        };
        serde_json::to_string(&record).unwrap_or_default()
    }

    /// The answers for a reader, on lines that begin with the file.
    pub fn render(&self, file: &str, is_verbose: bool) -> String {
        let mut lines = Vec::new();
        let name = format!("{file}:{}", self.kernel);
        if let Some(why) = &self.not_proved {
            return format!("{name}: nothing proved: {why}\n");
        }
        let count = self.count();
        let how = match count {
            ProofCount { accesses: 0, .. } => "no accesses".to_owned(),
            ProofCount { accesses, all, below } if all == below => {
                format!("{all} of {accesses} accesses proved")
            }
            ProofCount {
                accesses,
                all: 0,
                below,
            } => format!("{below} of {accesses} accesses proved, for tensors of fewer than 2^31 elements"),
            ProofCount { accesses, all, below } => format!(
                "{below} of {accesses} accesses proved, {} of them for tensors of fewer than 2^31 elements",
                below - all
            ),
        };
        lines.push(format!("{name}: {how}"));
        for one in &self.lines {
            if let Some(refuted) = &one.refuted {
                let place = format!("  {}:{}: {}", one.file, one.line, one.subject);
                lines.push(format!("{place}: refuted: {}", refuted.message));
                lines.extend(refuted.render_launch());
                continue;
            }
            if one.proved.is_some() && !is_verbose {
                continue;
            }
            let answer = match (one.proved, &one.reason) {
                (Some(Sizes::All), _) => "proved".to_owned(),
                (Some(Sizes::Below2Pow31), _) => "proved for tensors of fewer than 2^31 elements".to_owned(),
                (None, reason) => format!("not proved: {}", reason.as_deref().unwrap_or("unknown")),
            };
            lines.push(format!("  {}:{}: {}: {answer}", one.file, one.line, one.subject));
        }
        for one in &self.beyond {
            let place = format!("  {}:{}", one.file, one.line);
            lines.push(format!("{place}: beyond these sizes: {}", one.message));
            lines.extend(one.render_launch());
        }
        if self.missed > 0 && is_verbose {
            lines.push(format!(
                "  no launch was looked for that wraps {} of the integers",
                self.missed
            ));
        }
        if self.is_cut {
            lines.push("  the kernel is too large: some accesses were not looked at".to_owned());
        }
        let sources: BTreeSet<Source> = self.assumptions.iter().map(|one| one.source).collect();
        for source in sources {
            let texts = self.assumptions.iter().filter(|one| one.source == source);
            let launches = match self.launches {
                1 => "1 launch".to_owned(),
                launches => format!("{launches} launches"),
            };
            let head = match source {
                Source::Declared => "declared".to_owned(),
                Source::Launcher => format!("assumed, as its launcher passes in {launches}"),
                Source::Text => format!("assumed from the kernel's text, in {launches}"),
            };
            lines.push(format!("  {head}:"));
            lines.extend(texts.map(|one| format!("    {}", one.text)));
        }
        for one in self.specialisations.iter().filter(|one| !one.is_empty()) {
            lines.push(format!("  compiled for {one}"));
        }
        lines.join("\n") + "\n"
    }

    /// Whether everything is proved for tensors of fewer than 2^31 elements, and nothing is missing.
    pub fn is_whole(&self) -> bool {
        let holds = |one: &LineAnswer| one.proved.is_some() && one.refuted.is_none();
        self.not_proved.is_none() && !self.is_cut && self.lines.iter().all(holds)
    }
}

impl LineAnswer {
    fn to_record(&self) -> ObligationRecord<'_> {
        ObligationRecord {
            file: &self.file,
            line: self.line,
            kind: match self.kind {
                ObligationKind::InBounds(AccessKind::Load) => "load",
                ObligationKind::InBounds(AccessKind::Store) => "store",
                ObligationKind::InBounds(AccessKind::Atomic) => "atomic",
                ObligationKind::NoWrap => "no-wrap",
                ObligationKind::Divisor => "divisor",
                ObligationKind::Step => "step",
            },
            subject: &self.subject,
            answer: match (&self.refuted, self.proved) {
                (Some(_), _) => "refuted",
                (None, Some(Sizes::All)) => "proved",
                (None, Some(Sizes::Below2Pow31)) => "proved below 2^31 elements",
                (None, None) => "unknown",
            },
            reason: self.reason.as_deref(),
            launch: self.refuted.as_ref().map(Overflow::to_record),
        }
    }
}

const fn name_source(source: Source) -> &'static str {
    match source {
        Source::Declared => "declared",
        Source::Launcher => "launcher",
        Source::Text => "text",
    }
}

/// The source of relations between the arguments of a kernel's launches.
pub fn find_source(survey: &Survey) -> Source {
    if survey.host.is_some() {
        Source::Launcher
    } else {
        Source::Text
    }
}

/// Proves what can be proved of a drafted kernel.
pub fn prove_kernel(subject: &Subject, survey: &Survey) -> KernelProof {
    let cases = resolve_cases(&subject.build_launch_corpus(std::iter::once(survey)));
    let mut relations = Relations::new(find_source(survey));
    for case in cases.iter().chain(&subject.list_sized_cases(survey)) {
        relations.add(&survey.kernel, case);
    }
    prove_launches(subject, survey, &relations, &cases, Effort::FULL)
}

/// Proves what can be proved of a kernel for the values that some of its launches compile it for.
pub fn prove_launches(
    subject: &Subject,
    survey: &Survey,
    relations: &Relations,
    cases: &[Case],
    effort: Effort,
) -> KernelProof {
    let mut proof = KernelProof {
        kernel: survey.kernel.clone(),
        lines: Vec::new(),
        assumptions: Vec::new(),
        specialisations: Vec::new(),
        launches: relations.len(),
        not_proved: None,
        is_cut: false,
        beyond: Vec::new(),
        missed: 0,
    };
    if let Some(why) = &survey.not_tried {
        proof.not_proved = Some(why.to_string());
        return proof;
    }
    let reference = Reference::default();
    let version = survey.version.unwrap_or(Version::NEWEST);
    let mut seen: Vec<String> = Vec::new();
    let mut answers: BTreeMap<(String, u32, String), LineAnswer> = BTreeMap::new();
    let launches = cases
        .iter()
        .flat_map(|case| case.launches.iter().map(move |launch| (case, launch)));
    for (case, launch) in launches {
        if launch.kernel.name != survey.kernel || seen.len() >= effort.specialisations || subject.is_late() {
            continue;
        }
        let Ok(Ok(kernel)) = reference.trace_kernel(launch, Rules::from_version(version)) else {
            continue;
        };
        let function = &kernel.traced.function;
        let specialisation = describe_specialisation(launch, function);
        if seen.contains(&specialisation) {
            continue;
        }
        let Some((contract, layouts)) = relations.build_contract(function, launch) else {
            continue;
        };
        seen.push(specialisation);
        let one = Specialisation {
            subject,
            case,
            function,
            relations,
            contract: &contract,
            layouts: &layouts,
            rules: Rules::from_version(version),
        };
        add_answers(&mut proof, &mut answers, &one, effort);
    }
    if seen.is_empty() {
        proof.not_proved = Some("no launch of it compiles".to_owned());
    }
    proof.specialisations = seen;
    proof.lines = answers.into_values().collect();
    proof
}

/// The integers that the kernel was compiled for, in words.
fn describe_specialisation(launch: &Launch, function: &Function) -> String {
    let is_passed = |name: &str| {
        let inside = format!("{name}.");
        function
            .params
            .iter()
            .any(|parameter| parameter.name == name || parameter.name.starts_with(&inside))
    };
    let known = launch.arguments().filter_map(|(name, argument)| {
        let name = name.filter(|name| !is_passed(name))?;
        let mut value = &argument.value;
        while let cerith_case::ArgValue::Constexpr(inner) = value {
            value = inner;
        }
        match value {
            cerith_case::ArgValue::Int(number) => Some(format!("{name}={number}")),
            cerith_case::ArgValue::Bool(flag) => Some(format!("{name}={flag}")),
            cerith_case::ArgValue::None => Some(format!("{name}=None")),
            cerith_case::ArgValue::Str(text) => Some(format!("{name}={text}")),
            _ => None,
        }
    });
    known.collect::<Vec<_>>().join(" ")
}

/// Adds the answers of one specialisation. The weakest answer for a line counts.
fn add_answers(
    proof: &mut KernelProof,
    answers: &mut BTreeMap<(String, u32, String), LineAnswer>,
    one: &Specialisation<'_>,
    effort: Effort,
) {
    let function = one.function;
    let result = prove_within(function, one.contract, effort.programs);
    proof.is_cut |= result.is_cut;
    for assumption in &one.contract.assumptions {
        if !proof.assumptions.contains(assumption) {
            proof.assumptions.push(assumption.clone());
        }
    }
    // A line with a launch needs no other.
    let is_open = |loc: LocId| {
        let (file, line) = find_line(function, loc);
        let is_refuted = |one: &LineAnswer| one.refuted.is_some() && one.file == file && one.line == line;
        let is_known = |one: &Overflow| one.file == file && one.line == line;
        !answers.values().any(is_refuted) && !proof.beyond.iter().any(is_known)
    };
    let (overflows, missed) = one.find_overflows(&is_open);
    proof.missed += missed;
    let (beyond, overflows): (Vec<Overflow>, Vec<Overflow>) =
        overflows.into_iter().partition(|overflow| overflow.is_beyond);
    proof.beyond.extend(beyond);
    for one in &result.obligations {
        let (file, line) = find_line(function, one.loc);
        let subject = describe_subject(one.kind, one.tensor.as_deref());
        let proved = one.proved();
        let reason = match &one.answer {
            Answer::Unknown(reason) => Some(describe_reason(function, reason)),
            Answer::Proved(_) if proved.is_none() => {
                Some("an integer of its address or mask may wrap".to_owned())
            }
            Answer::Proved(_) => None,
        };
        let is_of =
            |overflow: &&Overflow| overflow.key.0 == one.loc && one.value.as_ref() == Some(&overflow.key.1);
        let refuted = overflows.iter().find(is_of).cloned();
        let key = (file.clone(), line, subject.clone());
        let answer = LineAnswer {
            file,
            line,
            subject,
            tensor: one.tensor.clone(),
            kind: one.kind,
            proved,
            reason,
            refuted,
        };
        let rank = |one: &LineAnswer| match (&one.refuted, one.proved) {
            (Some(_), _) => 3,
            (None, None) => 2,
            (None, Some(sizes)) => u8::from(sizes != Sizes::All),
        };
        match answers.get_mut(&key) {
            Some(known) if rank(known) >= rank(&answer) => {}
            Some(known) => *known = answer,
            None => {
                answers.insert(key, answer);
            }
        }
    }
}

fn describe_subject(kind: ObligationKind, tensor: Option<&str>) -> String {
    let tensor = tensor.map_or_else(|| "an unknown address".to_owned(), |tensor| format!("`{tensor}`"));
    match kind {
        ObligationKind::InBounds(AccessKind::Load) => format!("load from {tensor}"),
        ObligationKind::InBounds(AccessKind::Store) => format!("store to {tensor}"),
        ObligationKind::InBounds(AccessKind::Atomic) => format!("atomic on {tensor}"),
        ObligationKind::NoWrap => "integer".to_owned(),
        ObligationKind::Divisor => "divisor".to_owned(),
        ObligationKind::Step => "step of the loop".to_owned(),
    }
}

fn describe_reason(function: &Function, reason: &Reason) -> String {
    let line = |loc: LocId| find_line(function, loc).1;
    match reason {
        Reason::Address => "its address is not a parameter's plus an integer".to_owned(),
        Reason::Elements(tensor) => format!("the number of elements of `{tensor}` is unknown"),
        Reason::Loaded(loc) => format!("it depends on a value that line {} loads", line(*loc)),
        Reason::Carried(loc) => format!(
            "it depends on a value that the loop in line {} changes",
            line(*loc)
        ),
        Reason::Computed(loc) => format!(
            "it depends on an operation in line {} that has no model",
            line(*loc)
        ),
        Reason::Negative(offset) => format!("the index may be negative: {offset}"),
        Reason::Past { offset, elements } => format!("the index {offset} may reach {elements}"),
        Reason::Wraps { value, dtype } => format!("`{value}` may not fit {dtype}"),
        Reason::NotPositive(value) => format!("`{value}` may be 0 or negative"),
    }
}
