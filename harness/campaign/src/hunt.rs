//! `cerith fuzz`: runs generated cases through engines. Differences that known bugs explain are counted; any other is kept, once
//! for each signature, and reduced. Without another engine, the reference is compared with itself; without a GPU, a compiler's
//! cases go into bundles. See `cerith reduce` for the reduction.

mod smaller;
mod stage;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cerith_cuda::{Executor, Options};
use cerith_engine::{Engine, EngineId, Reference, catch_panic};
use cerith_gen::case::Detail;
use cerith_verdict::{Panel, Trial, try_case};

use cerith_runner::corpus::{CorpusError, Selected};
use cerith_runner::engines::{Setup, set_up};
use cerith_runner::exit::Exit;
use cerith_runner::pipeline;
use cerith_runner::stages::Means;
use cerith_runner::worker_files::Readable;

use crate::campaign::{BadFolder, Campaign, with_reference};
use crate::compiled::{self, BundleError, Executed};
use crate::fuzz_result::{FuzzResult, KeptResult};
use crate::recipe::{Recipe, make};
use crate::steer::Steer;
use crate::{broken, finding, twins};
use cerith_runner::host::Host;
use cerith_runner::options::EngineChoice;

/// Options of a campaign.
#[derive(Clone, Debug)]
pub struct FuzzOptions {
    /// The engines to compare.
    pub engines: EngineChoice,
    /// How many cases to try.
    pub count: Option<u64>,
    /// How long the campaign runs.
    pub time: Option<Duration>,
    /// The seed from which the cases are made.
    pub seed: Option<u64>,
    /// Try cases that break one rule on purpose: undefined and illegal programs.
    pub broken: bool,
    /// The number of cases to try at once.
    pub jobs: Option<u16>,
    /// The campaign's folder.
    pub out: PathBuf,
    /// Continue the campaign in this folder, or in `out`; `--resume DIR` is short for `--resume --out DIR`.
    pub resume: Option<Option<PathBuf>>,
    /// Results that `cerith exec` wrote for the campaign's bundles.
    pub results: Vec<PathBuf>,
    /// Keep findings as they were found.
    pub no_reduce: bool,
    /// Do not choose kernels by the coverage so far.
    pub unsteered: bool,
}

/// The time after which a campaign is saved again and prints its progress.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How many cases run at once for each job, if cases wait for a GPU.
const WAITING: usize = 8;

/// The verdict of a case whose difference a second run did not reproduce.
const UNREPEATED: &str = "unrepeated";

/// The reason that a campaign cannot begin.
#[derive(Debug, thiserror::Error)]
enum HuntError {
    #[error("error: {0}")]
    Folder(#[from] BadFolder),
    #[error("error: {}: {error}", path.display())]
    Create { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Corpus(#[from] CorpusError),
}

/// Runs a campaign, and returns the exit code.
pub fn run_campaign(options: &FuzzOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    let out = options
        .resume
        .clone()
        .flatten()
        .unwrap_or_else(|| options.out.clone());
    let findings = out.join("findings");
    let opened = open_campaign(options, &out)
        .map_err(HuntError::from)
        .and_then(|(wanted, campaign)| {
            cerith_files::create_folders(&findings).map_err(|error| HuntError::Create {
                path: findings.clone(),
                error,
            })?;
            let selected = Selected::open(Some(&findings), &[])?.with_generated_cases();
            Ok((wanted, campaign, selected))
        });
    let (wanted, campaign, selected) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let jobs = pipeline::count_jobs(options.jobs);
    if !options.results.is_empty() {
        return judge_results(options, out, &selected, &wanted, campaign, host);
    }
    let compilers: Vec<EngineId> = wanted.iter().filter(|id| is_compiler(id)).cloned().collect();
    // If cases break a rule, the compiler's outcome is enough, and no GPU is needed.
    if !compilers.is_empty() && !campaign.broken && !has_gpu() {
        if compilers.len() + 1 < wanted.len() {
            console.note(
                "error: without a GPU, compilers need a campaign of their own\n  = help: name the other \
                 engines in another campaign",
            );
            return Exit::Wrong;
        }
        return send_bundle(options, &out, &findings, &compilers, campaign, host);
    }
    let Setup {
        mut panel,
        left_out,
        failed,
        ..
    } = set_up(
        Reference::default(),
        &wanted,
        options.engines.offline,
        jobs,
        &selected,
        host,
    );
    for silent in left_out.iter().chain(&failed) {
        console.note(&format!("error: {} is left out: {}", silent.engine, silent.why));
    }
    for (engine, why) in catch_panic(|| cerith_verdict::run_canaries(&mut panel)).unwrap_or_default() {
        console.note(&format!(
            "error: {engine} is left out: it is wrong about cases with known results: {why}"
        ));
    }
    let alone = wanted == [EngineId::Reference];
    if panel.other_engines().is_empty() && !alone || !failed.is_empty() {
        console.note(
            "error: there is no engine to compare the reference with\n  = help: `--engine interpret@3.9.0` \
             names one, and `--engine reference` compares kernels with their twins alone",
        );
        // Remove the folders of a campaign that does not begin, if they are empty.
        let _ = cerith_files::remove_folder(&findings).and_then(|()| cerith_files::remove_folder(&out));
        return Exit::Nothing;
    }
    if let Some(mistrial) = catch_panic(cerith_verdict::run_selfcheck)
        .unwrap_or_else(|panic| vec![panic])
        .first()
    {
        console.note(&format!(
            "internal error: Cerith is wrong about a trial with a known verdict: {mistrial}"
        ));
        return Exit::Unexpected;
    }
    if let Err(error) = campaign.save(&out) {
        console.note(&format!("error: {}: {error}", out.display()));
        return Exit::Wrong;
    }
    let panel = Arc::new(panel);
    host.stop_on_interrupt(&panel);
    let end = options
        .count
        .map_or(u64::MAX, |count| campaign.done.saturating_add(count));
    Hunt::new(out, findings, campaign, host).run(options, end, &panel, jobs)
}

/// Resumes or begins a campaign. Returns its engines and the campaign.
fn open_campaign(options: &FuzzOptions, out: &Path) -> Result<(Vec<EngineId>, Campaign), BadFolder> {
    if options.resume.is_some() {
        let named = if options.engines.engines.is_empty() {
            Vec::new()
        } else {
            format_engines(&with_reference(&options.engines.engines))
        };
        let campaign = Campaign::resume(out, options.seed, &named)?;
        let wanted = campaign.engines.iter().filter_map(|id| id.parse().ok()).collect();
        return Ok((wanted, campaign));
    }
    let wanted = with_reference(&options.engines.engines);
    let campaign = Campaign::begin(out, options.seed.unwrap_or(0), format_engines(&wanted))?;
    Ok((
        wanted,
        campaign
            .with_broken_cases(options.broken)
            .with_steering(!options.unsteered),
    ))
}

fn is_compiler(id: &EngineId) -> bool {
    matches!(id, EngineId::Cuda { .. })
}

fn has_gpu() -> bool {
    Executor::start(Options::default()).is_ok_and(|executor| !executor.gpus().is_empty())
}

/// Compiles cases for a machine with a GPU.
fn send_bundle(
    options: &FuzzOptions,
    out: &Path,
    findings: &Path,
    compilers: &[EngineId],
    mut campaign: Campaign,
    host: Host<'_>,
) -> Exit {
    let console = host.console;
    let first = campaign.bundled;
    let most = if options.time.is_some() {
        u64::MAX
    } else {
        compiled::MAX_CASES
    };
    let steer = campaign.sent.take().map(|sent| Arc::new(Steer::new(sent)));
    let order = compiled::Order {
        engines: compilers,
        recipe: Recipe {
            steer: steer.clone(),
            ..Recipe::new(campaign.seed, compilers)
        },
        numbers: first..first.saturating_add(options.count.unwrap_or(most)),
        offline: options.engines.offline,
        jobs: pipeline::count_jobs(options.jobs),
    };
    let began = Instant::now();
    let over = || options.time.is_some_and(|time| began.elapsed() >= time);
    let written = compiled::write_bundle(&order, out, findings, host, over).and_then(|(bundle, end)| {
        campaign.bundled = end;
        campaign.sent = steer.map(|steer| steer.history());
        campaign.save(out).map_err(|error| BundleError::Write {
            path: out.to_owned(),
            error,
        })?;
        Ok(bundle)
    });
    match written {
        Ok(bundle) => {
            console.print(&format!(
                "no GPU is here; on a machine with one: cerith exec {} -o results.cerith\nthen, here: cerith fuzz --resume {} \
                 --results results.cerith\n",
                bundle.display(),
                out.display()
            ));
            if host.is_stopped() {
                Exit::Interrupted
            } else {
                Exit::AsExpected
            }
        }
        Err(error) => {
            console.note(&format!("error: {error}"));
            Exit::Wrong
        }
    }
}

/// Judges the results of bundles that were executed on another machine.
fn judge_results(
    options: &FuzzOptions,
    out: PathBuf,
    selected: &Selected,
    wanted: &[EngineId],
    campaign: Campaign,
    host: Host<'_>,
) -> Exit {
    let mut others: Vec<Arc<dyn Engine>> = Vec::new();
    let mut end = 0;
    let recipe = Recipe::new(campaign.seed, wanted);
    for id in wanted.iter().filter(|id| is_compiler(id)) {
        match Executed::read(id, &options.results) {
            Ok(executed) => {
                end = end.max(executed.end(&recipe));
                others.push(Arc::new(executed));
            }
            Err(error) => {
                host.console.note(&format!("error: {error}"));
                return Exit::Wrong;
            }
        }
    }
    if others.is_empty() {
        host.console.note(
            "error: this campaign has no compiler, so it has no results to judge\n  = help: leave `--results` out",
        );
        return Exit::Wrong;
    }
    let panel = Arc::new(Panel::new(Some(Arc::new(Reference::default())), others));
    host.stop_on_interrupt(&panel);
    let jobs = pipeline::count_jobs(options.jobs);
    let findings = out.join("findings");
    let mut hunt = Hunt::new(out, findings, campaign, host);
    if !options.no_reduce {
        // Results apply to the cases in the bundle, not to reduced cases. The outcome of a compiler needs no GPU.
        let offline = options.engines.offline;
        let asked = set_up(Reference::default(), wanted, offline, jobs, selected, host);
        for silent in asked.left_out.iter().chain(&asked.failed) {
            host.console.note(&format!(
                "{} cannot help to reduce: {}",
                silent.engine, silent.why
            ));
        }
        hunt.smaller = Some(asked.panel);
    }
    hunt.run(options, end, &panel, jobs)
}

fn format_engines(engines: &[EngineId]) -> Vec<String> {
    engines.iter().map(ToString::to_string).collect()
}

/// A running campaign.
struct Hunt<'a> {
    began: Instant,
    /// The first case of this run.
    first: u64,
    out: PathBuf,
    findings: PathBuf,
    host: Host<'a>,
    campaign: Campaign,
    saved: Instant,
    /// The error if a file could not be written.
    unwritten: Option<io::Error>,
    /// Chooses among kernels.
    steer: Option<Arc<Steer>>,
    /// How many case numbers share one kernel.
    cases_per_kernel: u64,
    /// The panel that judges smaller cases, if it differs from the campaign's.
    smaller: Option<Panel>,
}

impl<'a> Hunt<'a> {
    fn new(out: PathBuf, findings: PathBuf, campaign: Campaign, host: Host<'a>) -> Self {
        let seen = campaign.seen.clone();
        Self {
            began: Instant::now(),
            first: campaign.done,
            steer: seen.map(|seen| Arc::new(Steer::new(seen))),
            cases_per_kernel: 1,
            smaller: None,
            out,
            findings,
            host,
            campaign,
            saved: Instant::now(),
            unwritten: None,
        }
    }

    fn run(mut self, options: &FuzzOptions, end: u64, panel: &Panel, jobs: usize) -> Exit {
        let (began, time, host) = (self.began, options.time, self.host);
        let alone = panel
            .reference()
            .cloned()
            .filter(|_| panel.other_engines().is_empty());
        let (steer, breaks) = (self.steer.clone(), self.campaign.broken);
        let recipe = Recipe {
            steer: steer.clone(),
            breaks,
            ..Recipe::new(self.campaign.seed, panel.order())
        };
        // Without another engine, each number is a kernel with all its twins. If cases break a rule, each number is a kernel of
        // its own.
        self.cases_per_kernel = if alone.is_some() || breaks {
            1
        } else {
            recipe.cases_per_kernel
        };
        let together = self.cases_per_kernel;
        // Threads that wait for a GPU leave the cores to the others, and fill its batches.
        let at_once = if recipe.varies { jobs * WAITING } else { jobs };
        // No further results come, so that no job may wait for them.
        let end_steering = || steer.iter().for_each(|steer| steer.end());
        let numbers = (self.first..end)
            .take_while(|_| !host.is_stopped() && time.is_none_or(|time| began.elapsed() < time));
        let folder = self.findings.clone();
        let full = AtomicBool::new(false);
        pipeline::in_order(
            numbers,
            at_once,
            |number| {
                if full.load(Ordering::Relaxed) {
                    return None;
                }
                let tried = recipe.choose(number / together).and_then(|_| match &alone {
                    _ if breaks => broken::attempt(&recipe, number, panel, &folder),
                    Some(reference) => Some(compare_with_twins(reference, &recipe, number, &folder)),
                    None => try_number(&recipe, number, panel, &folder),
                });
                if tried.is_none() {
                    end_steering();
                }
                tried.map(|tried| (number, tried))
            },
            |(number, tried)| {
                self.note(number, tried);
                if self.unwritten.is_some() {
                    full.store(true, Ordering::Relaxed);
                    end_steering();
                }
            },
        );
        let asked = self.smaller.take();
        let without_gpu = asked.is_some();
        let asked = asked.as_ref().unwrap_or(panel);
        // Without another engine, findings come from twins, and are neither reduced nor run through stages.
        let asks = !asked.other_engines().is_empty();
        if asks && !breaks && !options.no_reduce && self.unwritten.is_none() {
            self.shrink(asked, without_gpu, jobs);
        }
        if let Some(reference) = asked.reference().filter(|_| asks && !breaks)
            && self.unwritten.is_none()
        {
            let readable = Readable::new_generated(&self.findings);
            let means = Means {
                reference,
                offline: true,
                jobs,
                corpus: &readable,
                host,
            };
            self.locate(asked, means);
            self.merge();
        }
        self.finish(host.is_stopped())
    }

    /// Counts the result of a case, and keeps a new difference.
    fn note(&mut self, number: u64, tried: FuzzResult) {
        if self.unwritten.is_some() {
            return;
        }
        if let Some(steer) = self
            .steer
            .as_ref()
            .filter(|_| number.is_multiple_of(self.cases_per_kernel))
        {
            steer.note(number / self.cases_per_kernel);
        }
        match tried {
            FuzzResult::Failed(message) => {
                self.campaign.failed += 1;
                self.host.console.note(&format!(
                    "internal error: case {number} of seed {}: {message}",
                    self.campaign.seed
                ));
            }
            FuzzResult::Judged {
                verdict,
                explained,
                kept_result,
            } => {
                if verdict == UNREPEATED {
                    self.host.console.note(&format!(
                        "not reproduced: case {number} of seed {} differed once, and did not differ when it \
                         was tried again",
                        self.campaign.seed
                    ));
                }
                *self.campaign.verdicts.entry(verdict).or_default() += 1;
                for bug in explained {
                    *self.campaign.explained.entry(bug).or_default() += 1;
                }
                if let Some(kept_result) = kept_result {
                    self.keep(number, &kept_result);
                }
            }
        }
        self.campaign.done = number + 1;
        if self.saved.elapsed() >= HEARTBEAT {
            self.saved = Instant::now();
            self.save();
            self.host.console.note(&self.line());
        }
    }

    fn keep(&mut self, number: u64, finding: &KeptResult) {
        let name = self.campaign.counted_as(finding.name());
        let seen = self.campaign.findings.entry(name).or_default();
        *seen += 1;
        if *seen > 1 {
            return;
        }
        self.host
            .console
            .note(&format!("new: {} (case {number})", finding.name()));
        if let Err(error) = finding.keep(&self.findings) {
            self.unwritten = Some(error);
        }
    }

    fn save(&mut self) {
        if let Some(steer) = &self.steer {
            self.campaign.seen = Some(steer.history());
        }
        if let Err(error) = self.campaign.save(&self.out) {
            self.unwritten = Some(error);
        }
    }

    /// The progress of the campaign, in one line.
    fn line(&self) -> String {
        let here = self.campaign.done - self.first;
        let seconds = self.began.elapsed().as_secs_f64().max(0.001);
        let verdicts: Vec<String> = self
            .campaign
            .verdicts
            .iter()
            .map(|(verdict, count)| format!("{count} {verdict}"))
            .collect();
        let explained: u64 = self.campaign.explained.values().sum();
        format!(
            "{} cases, {:.0} a second: {}; known bugs seen {explained} times, {} findings",
            self.campaign.done,
            here as f64 / seconds,
            verdicts.join(", "),
            self.campaign.distinct()
        )
    }

    fn finish(mut self, interrupted: bool) -> Exit {
        self.save();
        if let Some(error) = &self.unwritten {
            self.host.console.note(&format!(
                "error: {}: {error}\n  = help: what was kept before is still there; `--resume` goes on from \
                 case {}",
                self.out.display(),
                self.campaign.done
            ));
            return Exit::Wrong;
        }
        let mut lines = vec![self.line()];
        let mut known: Vec<(&String, &u64)> = self.campaign.explained.iter().collect();
        known.sort_by_key(|&(name, count)| (std::cmp::Reverse(*count), name));
        lines.extend(known.iter().map(|(name, count)| format!("  {count:>7}  {name}")));
        if !self.campaign.findings.is_empty() {
            lines.push(format!("findings, in {}", self.findings.display()));
            let findings = self.campaign.findings.iter();
            lines.extend(findings.map(|(signature, count)| format!("  {count:>7}  {signature}")));
        }
        lines.push(String::new());
        self.host.console.print(&lines.join("\n"));
        if interrupted {
            Exit::Interrupted
        } else {
            Exit::unexpected_if(!self.campaign.findings.is_empty() || self.campaign.failed > 0)
        }
    }
}

/// Makes a case and judges it; `None` if the run was stopped.
fn try_number(recipe: &Recipe, number: u64, panel: &Panel, folder: &Path) -> Option<FuzzResult> {
    let judged = catch_panic(|| {
        let made = match make(recipe, number, Detail::Chosen, folder) {
            Ok(made) => made,
            Err(error) => return Some(FuzzResult::Failed(error.to_string())),
        };
        let trial = try_case(&made.case, panel).ok()?;
        if let Some(failed) = trial.failed.first() {
            return Some(FuzzResult::Failed(format!(
                "{}: {}",
                failed.engine, failed.message
            )));
        }
        if finding::find_unexplained(&trial).is_some() && !finding::is_repeatable(&made, &trial, panel) {
            // For example, a worker crashed because memory ran out: the difference cannot be reproduced.
            return Some(FuzzResult::Judged {
                verdict: UNREPEATED.to_owned(),
                explained: collect_known_bugs(&trial),
                kept_result: None,
            });
        }
        Some(FuzzResult::Judged {
            verdict: trial.verdict.kind.to_string(),
            explained: collect_known_bugs(&trial),
            kept_result: finding::find(&made, &trial, panel, recipe, number, folder)
                .map(|finding| KeptResult::Finding(Box::new(finding))),
        })
    });
    judged.unwrap_or_else(|panic| Some(FuzzResult::Failed(panic)))
}

/// Compares the reference with itself: a kernel and its twins.
fn compare_with_twins(reference: &Reference, recipe: &Recipe, number: u64, folder: &Path) -> FuzzResult {
    match catch_panic(|| twins::compare(reference, recipe, number, folder)) {
        Ok(Ok(compared)) => FuzzResult::Judged {
            verdict: match (&compared.unlike, compared.silent) {
                (Some(_), _) => "differ",
                (None, true) => "inconclusive",
                (None, false) => "agree",
            }
            .to_owned(),
            explained: Vec::new(),
            kept_result: compared.unlike.map(|unlike| KeptResult::Unlike(Box::new(unlike))),
        },
        Ok(Err(error)) => FuzzResult::Failed(error.to_string()),
        Err(panic) => FuzzResult::Failed(panic),
    }
}

/// The known bugs in a trial.
fn collect_known_bugs(trial: &Trial) -> Vec<String> {
    let differences = trial.verdict.differences.iter();
    differences
        .flat_map(|one| {
            let told = one.known_bug.map(|told| told.name.to_owned());
            one.explained.iter().map(|quirk| quirk.to_string()).chain(told)
        })
        .collect()
}
