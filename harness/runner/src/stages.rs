//! Runs the stages of Triton's compiler on a case, in order, and finds the first stage with a wrong result, and the pass. See
//! `explain::stages` and the printers of events for printing the result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cerith_case::{Case, OutcomeKind};
use cerith_engine::{
    CompilerStage, Engine, EngineId, FailedPass, Failure, INVALID_IR, Outcome, Ptx, Reference, Ttir,
};
use cerith_report::event;
use cerith_tile::rules::Version;
use cerith_toolchain::ToolchainId;
use cerith_toolchain::compiled::{Stage as Ended, Target};
use cerith_verdict::stage::{Blamed, find_blamed};
use cerith_verdict::{Panel, Standing, Stopped, Trial, try_case};

use crate::engines;
use crate::host::Host;
use crate::open_error::OpenError;
use crate::worker_files::Readable;

/// The requirements for opening stages.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The reference that every stage is compared with.
    pub reference: &'a Arc<Reference>,
    /// Whether toolchains are only used, and not installed.
    pub offline: bool,
    /// How many cases are compiled at once.
    pub jobs: usize,
    /// The files of the cases' folder that workers may read.
    pub corpus: &'a Readable,
    /// Set once a toolchain is not to be installed any more.
    pub host: Host<'a>,
}

/// The stages of a compiler, or the error from opening them.
type OpenedStages = Result<Arc<Stages>, Arc<OpenError>>;

/// Asks the stages of each compiler that a trial blames.
pub struct Blaming<'a> {
    means: Means<'a>,
    opened: Mutex<HashMap<Compiles, OpenedStages>>,
}

impl<'a> Blaming<'a> {
    /// With nothing opened.
    pub fn new(means: Means<'a>) -> Self {
        Self {
            means,
            opened: Mutex::default(),
        }
    }

    fn open_stages(&self, of: &Compiles) -> OpenedStages {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened
            .entry(of.clone())
            .or_insert_with(|| {
                Stages::open(of.clone(), &self.means)
                    .map(Arc::new)
                    .map_err(Arc::new)
            })
            .clone()
    }

    /// Notes in an event which stage is wrong of each compiled engine that the trial blames.
    ///
    /// # Errors
    /// Cerith was told to stop.
    pub fn add(&self, case: &Case, trial: &Trial, verdict: &mut event::Verdict) -> Result<(), Stopped> {
        let told = self.blame_stages(case, trial, &trial.verdict.blame)?;
        verdict.notes.extend(told.notes);
        verdict.notes.extend(told.stages.iter().map(ToString::to_string));
        verdict.stages = told.stages;
        Ok(())
    }

    /// Finds the wrong stage of each compiled engine among these.
    ///
    /// # Errors
    /// Cerith was told to stop.
    pub fn blame_stages(
        &self,
        case: &Case,
        trial: &Trial,
        engines: &[EngineId],
    ) -> Result<StageBlame, Stopped> {
        let mut known: HashMap<Compiles, usize> = HashMap::new();
        let mut told = StageBlame::default();
        for id in engines {
            let Some(of) = find_compiler(id) else {
                continue;
            };
            if let Some(&at) = known.get(&of) {
                // `ptx@V` and `cuda@V:sm_80` have the same stages.
                if let Some(stage) = told.stages.get_mut(at) {
                    stage.engines.push(id.to_string());
                }
                continue;
            }
            let stages = match self.open_stages(&of) {
                Ok(stages) => stages,
                Err(why) => {
                    told.notes.push(format!("the stages of {id} were not run: {why}"));
                    continue;
                }
            };
            let Some(blamed) = stages.ask(case, trial)?.blamed else {
                told.notes.push(format!("no stage of {id} is known to be wrong"));
                continue;
            };
            let mut passes = Vec::new();
            let in_passes = blamed.first <= CompilerStage::Ttgir && blamed.last >= CompilerStage::Ttir;
            if in_passes {
                passes = match stages.search_passes(case)? {
                    Ok(Passes::Culprit(culprit)) => culprit.names,
                    Ok(Passes::Failed(failed)) => vec![failed.name],
                    _ => Vec::new(),
                };
            }
            known.insert(of, told.stages.len());
            told.stages.push(event::Stage {
                engines: vec![id.to_string()],
                first: blamed.first,
                last: blamed.last,
                passes,
            });
        }
        Ok(told)
    }
}

/// The stages that are wrong for the compiled engines of a trial.
#[derive(Default)]
pub struct StageBlame {
    /// The stages that are wrong.
    pub stages: Vec<event::Stage>,
    /// The engines with no known wrong stage, each with the reason.
    pub notes: Vec<String>,
}

/// The engines of one Triton's stages, for one GPU.
pub struct Stages {
    toolchain: ToolchainId,
    target: Target,
    reference: Arc<Reference>,
    /// Executes the IR after the frontend, the TTIR passes and the TTGIR passes.
    ir: [(CompilerStage, Arc<Ttir>); 3],
    /// Executes the PTX.
    ptx: Arc<Ptx>,
}

/// The result of one stage.
pub struct StageResult {
    /// The stage.
    pub stage: CompilerStage,
    /// The engine that ran, or that would have run.
    pub engine: String,
    /// How its result compares with the reference.
    pub standing: Standing,
    /// Its outcome; `None` if it was not run.
    pub end: Option<OutcomeKind>,
    /// Its result in a few words.
    pub words: String,
}

/// The results of all stages.
pub struct Answer {
    /// One for each stage.
    pub results: Vec<StageResult>,
    /// The one that is wrong.
    pub blamed: Option<Blamed>,
}

/// A pass after which the IR produces wrong results.
pub struct Culprit {
    /// MLIR's names of the passes that may be wrong. There are several if the IR between them has no outcome.
    pub names: Vec<String>,
    /// Its place among the passes, from 1, and how many there are.
    pub place: (usize, usize),
    /// The IR of the kernels before and after it.
    pub ir: (String, String),
}

/// The result of a search through the passes.
pub enum Passes {
    /// This one.
    Culprit(Box<Culprit>),
    /// No pass before this one produces wrong results, and this pass fails.
    Failed(Box<FailedPass>),
    /// No pass up to TTGIR is wrong: how many were tested.
    None(usize),
    /// The frontend's output is already wrong.
    Before,
    /// The passes cannot be tested, for this reason.
    Unasked(String),
}

/// A Triton, and the GPU that it compiles for.
type Compiles = (ToolchainId, Target);

/// The Triton and the GPU of a compiled engine's code.
fn find_compiler(id: &EngineId) -> Option<Compiles> {
    match id {
        EngineId::Ptx { toolchain, target } => Some((toolchain.clone(), *target)),
        EngineId::Cuda { toolchain, target } => Some((toolchain.clone(), target.unwrap_or(Target::HOPPER))),
        _ => None,
    }
}

/// The compiled engine of a trial whose stages are of interest: one that is to blame, else any; and the GPU that its code is for.
pub fn choose_compiler(trial: &Trial) -> Compiles {
    let of = |id: &EngineId| match id {
        EngineId::Ttir { toolchain, .. } => Some((toolchain.clone(), Target::HOPPER)),
        id => find_compiler(id),
    };
    let all = trial.other_records.iter().map(|record| &record.id);
    trial
        .verdict
        .blame
        .iter()
        .chain(all)
        .find_map(of)
        .unwrap_or_else(|| (ToolchainId::from_triton(Version::NEWEST), Ptx::TARGET))
}

impl Stages {
    /// Opens the stages of a toolchain, for a GPU.
    ///
    /// # Errors
    /// No such Triton is installed, or processes cannot be started.
    pub fn open((toolchain, target): Compiles, means: &Means<'_>) -> Result<Self, OpenError> {
        let Means {
            reference,
            offline,
            jobs,
            corpus,
            host,
        } = *means;
        let compiles = if [Ptx::TARGET, Target::HOPPER].contains(&target) {
            EngineId::Ptx {
                toolchain: toolchain.clone(),
                target,
            }
        } else {
            EngineId::compiler(&toolchain)
        };
        // The assembler is not reached, or is told to make what `cuda@…:sm_80` keeps.
        let compiler = || engines::open_compiler(&compiles, Target::HOPPER, offline, jobs, corpus, host);
        let ir = |stage, ended| Ok::<_, OpenError>((stage, Arc::new(Ttir::new(compiler()?, ended))));
        Ok(Self {
            ir: [
                ir(CompilerStage::Frontend, Ended::Source)?,
                ir(CompilerStage::Ttir, Ended::Ttir)?,
                ir(CompilerStage::Ttgir, Ended::Ttgir)?,
            ],
            ptx: Arc::new(Ptx::new(compiler()?)),
            toolchain,
            target,
            reference: Arc::clone(reference),
        })
    }

    /// The Triton and its target: `Triton 3.6.0 for sm_80`.
    pub fn describe(&self) -> String {
        format!("Triton {} for {}", self.toolchain, self.target)
    }

    /// Runs each stage on a case that a trial has judged.
    pub fn ask(&self, case: &Case, trial: &Trial) -> Result<Answer, Stopped> {
        let mut said = Vec::with_capacity(CompilerStage::ALL.len());
        for (stage, engine) in &self.ir {
            said.push(self.run_stage(*stage, case, Arc::clone(engine) as Arc<dyn Engine>)?);
        }
        said.push(self.run_stage(
            CompilerStage::Llvm,
            case,
            Arc::clone(&self.ptx) as Arc<dyn Engine>,
        )?);
        said.push(self.find_execution(trial));
        clear_those_before_a_crash(&mut said);
        let standings: Vec<(CompilerStage, Standing)> =
            said.iter().map(|said| (said.stage, said.standing)).collect();
        Ok(Answer {
            blamed: find_blamed(&standings),
            results: said,
        })
    }

    /// The result of the machine code, if the trial ran it.
    fn find_execution(&self, trial: &Trial) -> StageResult {
        let found = trial.other_records.iter().find(|record| match &record.id {
            EngineId::Cuda { toolchain, target } => {
                *toolchain == self.toolchain && target.unwrap_or(Target::HOPPER) == self.target
            }
            _ => false,
        });
        if let Some(record) = found {
            return StageResult {
                stage: CompilerStage::Ptxas,
                engine: record.id.to_string(),
                standing: trial
                    .verdict
                    .find_standing(&record.id)
                    .unwrap_or(Standing::Silent),
                end: Some(record.outcome.kind()),
                words: describe_result(trial, &record.id),
            };
        }
        let target = if self.target == Target::HOPPER {
            String::new()
        } else {
            format!(":{}", self.target)
        };
        let engine = format!("cuda@{}{target}", self.toolchain);
        StageResult {
            stage: CompilerStage::Ptxas,
            words: format!("not run; `--engine {engine}` runs it"),
            engine,
            standing: Standing::Silent,
            end: None,
        }
    }

    /// Runs one stage. Each stage is compared with the reference alone. Stages share the passes before them, so they cannot
    /// confirm each other.
    fn run_stage(
        &self,
        stage: CompilerStage,
        case: &Case,
        engine: Arc<dyn Engine>,
    ) -> Result<StageResult, Stopped> {
        let id = engine.id().clone();
        let panel = Panel::new(Some(Arc::clone(&self.reference)), vec![engine]);
        let trial = try_case(case, &panel)?;
        let outcome = trial.other_records.first().map(|record| &record.outcome);
        let invalid = matches!(outcome, Some(Outcome::Rejected(why)) if why.kind == INVALID_IR);
        Ok(StageResult {
            stage,
            standing: if invalid {
                // To reject a program is to say so, and not to make of it what the next one cannot read.
                Standing::Differs
            } else {
                trial.verdict.find_standing(&id).unwrap_or(Standing::Silent)
            },
            end: outcome.map(Outcome::kind),
            words: describe_result(&trial, &id),
            engine: id.to_string(),
        })
    }

    /// Finds the pass after which the IR of a case produces wrong results.
    ///
    /// # Errors
    /// Cerith was told to stop, or failed.
    pub fn search_passes(&self, case: &Case) -> Result<Result<Passes, Failure>, Stopped> {
        let (_, engine) = &self.ir[2];
        let passes = match engine.compile_passes(case) {
            Ok(Ok(passes)) => passes,
            Ok(Err(outcome)) => {
                return Ok(Ok(Passes::Unasked(format!(
                    "the compiler does not finish its passes: {}",
                    describe_outcome(&outcome)
                ))));
            }
            Err(failure) => return Ok(Err(failure)),
        };
        let count = passes.names().len();
        let mut known: HashMap<Vec<String>, Standing> = HashMap::new();
        let mut standings = Vec::with_capacity(count + 1);
        for nth in 0..=count {
            let ir: Vec<String> = passes.ir_before(nth).map(without_places).collect();
            let standing = if let Some(&standing) = known.get(&ir) {
                standing
            } else {
                let engine = Arc::new(engine.with_compiled(passes.compiled_before(nth)));
                let standing = self.run_stage(CompilerStage::Ttgir, case, engine)?.standing;
                known.insert(ir, standing);
                standing
            };
            standings.push(standing);
        }
        let right = standings
            .iter()
            .rposition(|&standing| standing == Standing::Agrees);
        let after = right.map_or(0, |right| right + 1);
        let wrong = standings
            .get(after..)
            .and_then(|rest| rest.iter().position(|&standing| standing == Standing::Differs));
        Ok(Ok(match (right, wrong) {
            (_, None) => match passes.failed() {
                Some(failed) => Passes::Failed(Box::new(FailedPass {
                    before: without_places(&failed.before),
                    ..failed.clone()
                })),
                None => Passes::None(count),
            },
            (None, Some(0)) => Passes::Before,
            (right, Some(wrong)) => {
                let (from, to) = (right.unwrap_or(0), after + wrong);
                let ir = |nth| {
                    let texts: Vec<String> = passes.ir_before(nth).map(without_places).collect();
                    texts.join("\n")
                };
                Passes::Culprit(Box::new(Culprit {
                    names: passes.names().get(from..to).unwrap_or_default().to_vec(),
                    place: (from + 1, count),
                    ir: (ir(from), ir(to)),
                }))
            }
        }))
    }
}

/// Clears stages that finish before a stage whose compiler crashes, for a program that the reference rejects. Their results
/// cannot be judged, and they did not crash.
fn clear_those_before_a_crash(said: &mut [StageResult]) {
    let crashes =
        |one: &StageResult| one.end == Some(OutcomeKind::Crashed) && one.standing == Standing::Differs;
    let Some(first) = said.iter().position(crashes) else {
        return;
    };
    for one in said.iter_mut().take(first) {
        if one.standing == Standing::Silent && one.end == Some(OutcomeKind::Finished) {
            one.standing = Standing::Agrees;
        }
    }
}

/// Describes an engine's result in a few words: how it differs, or why it has no outcome.
fn describe_result(trial: &Trial, id: &EngineId) -> String {
    let record = trial.other_records.iter().find(|record| record.id == *id);
    let outcome = record.map(|record| &record.outcome);
    let found = trial.verdict.differences.iter().find(|one| one.engine == *id);
    match (found, outcome) {
        (Some(difference), Some(Outcome::Finished(_))) => match &difference.comparison {
            Some(comparison) => match comparison.differing {
                1 => "1 element differs".to_owned(),
                count => format!("{count} elements differ"),
            },
            None => format!("differs: {}", difference.kind),
        },
        (_, Some(outcome)) => describe_outcome(outcome),
        (_, None) => "could not be run".to_owned(),
    }
}

/// An outcome; if not all launches finished, with the first line of the reason.
fn describe_outcome(outcome: &Outcome) -> String {
    let why = outcome
        .complaint()
        .and_then(|complaint| complaint.message.lines().next());
    match why {
        Some(why) => format!("{}: {why}", outcome.kind()),
        None => outcome.kind().to_string(),
    }
}

/// IR without the places that it says it comes from.
fn without_places(ir: &str) -> String {
    let mut text = String::with_capacity(ir.len());
    for line in ir.lines() {
        if line.starts_with("#loc") || line.starts_with("// -----//") {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find(" loc(") {
            text.push_str(&rest[..at]);
            let mut depth = 0_usize;
            let end = rest[at..].find(|letter| {
                match letter {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                letter == ')' && depth == 0
            });
            rest = end.map_or("", |end| &rest[at + end + 1..]);
        }
        text.push_str(rest);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_places;

    #[test]
    fn ir_is_shown_without_its_places() {
        let check = |ir: &str, expected: &str| assert_eq!(without_places(ir), expected);
        check("#loc = loc(\"a.py\":1:2)\nmodule {\n}", "module {\n}\n");
        check(
            "tt.func @k(%x: i32 loc(\"x\"(#loc)), %y: i32 loc(#loc2)) {",
            "tt.func @k(%x: i32, %y: i32) {\n",
        );
        check(
            "%0 = tt.load %x : i32 loc(callsite(#loc1 at #loc2))",
            "%0 = tt.load %x : i32\n",
        );
        check(
            "// -----// SoftwarePipeliner internal IR Dump After: LowerLoops",
            "",
        );
    }
}
