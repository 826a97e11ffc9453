//! `conch fuzz`: generated cases through engines. What known bugs explain is counted, what they do not is kept, once for each
//! signature. Left out: engines that need a GPU to be asked again, making findings smaller.

mod campaign;
mod finding;
mod keep;
mod made;
mod page;
mod promote;
mod range;
mod repro;
mod signature;
mod trophies;

pub use self::keep::keep;
pub use self::promote::promote;
pub use self::range::range;
pub use self::trophies::trophies;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use conch_engine::{EngineId, Reference, guarded};
use conch_gen::case::Detail;
use conch_tile::rules::Version;
use conch_toolchain::ToolchainId;
use conch_verdict::{Panel, Trial, try_case};

use crate::args::FuzzArgs;
use crate::corpus::Selected;
use crate::engines::{Setup, set_up};
use crate::interrupt;
use crate::pipeline;
use crate::terminal::Terminal;

use self::campaign::Campaign;
use self::finding::Finding;
use self::made::{Recipe, make};

/// How often a campaign is saved and says how far it is.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// What came of one case.
enum Tried {
    /// It was judged.
    Judged {
        verdict: String,
        explained: Vec<String>,
        finding: Option<Box<Finding>>,
    },
    /// Conch itself failed at it.
    Failed(String),
}

/// Fuzzes, and answers with the exit code.
pub fn fuzz(args: &FuzzArgs, stop: &'static AtomicBool) -> u8 {
    let terminal = Terminal::new();
    let named = if args.engines.engines.is_empty() {
        Vec::new()
    } else {
        shown(&with_reference(&args.engines.engines))
    };
    let resumed = args
        .resume
        .then(|| Campaign::resume(&args.out, args.seed, &named))
        .transpose();
    let resumed = match resumed {
        Ok(resumed) => resumed,
        Err(error) => {
            terminal.note(&format!("error: {error}"));
            return 2;
        }
    };
    let wanted = match &resumed {
        Some(campaign) => campaign.engines.iter().filter_map(|id| id.parse().ok()).collect(),
        None => with_reference(&args.engines.engines),
    };
    let findings = args.out.join("findings");
    let campaign = match resumed {
        Some(campaign) => campaign,
        None => match Campaign::begin(&args.out, args.seed.unwrap_or(0), shown(&wanted)) {
            Ok(campaign) => campaign,
            Err(error) => {
                terminal.note(&format!("error: {error}"));
                return 2;
            }
        },
    };
    let selected = fs::create_dir_all(&findings)
        .map_err(|error| format!("error: {}: {error}", findings.display()))
        .and_then(|()| Selected::open(Some(&findings), &[]));
    let selected = match selected {
        Ok(selected) => selected,
        Err(message) => {
            terminal.note(&message);
            return 2;
        }
    };
    let jobs = pipeline::jobs(args.jobs);
    let Setup {
        mut panel,
        left_out,
        failed,
        ..
    } = set_up(
        Reference::default(),
        &wanted,
        args.engines.offline,
        jobs,
        &selected,
        stop,
    );
    for silent in left_out.iter().chain(&failed) {
        terminal.note(&format!("error: {} is left out: {}", silent.engine, silent.why));
    }
    for (engine, why) in guarded(|| conch_verdict::canaries(&mut panel)).unwrap_or_default() {
        terminal.note(&format!(
            "error: {engine} is left out: what it gives is known beforehand and comes out otherwise: {why}"
        ));
    }
    if panel.others.is_empty() || !failed.is_empty() {
        terminal.note(
            "error: there is no engine to hold the reference to\n  = help: `--engine interpret@3.9.0` names one",
        );
        // What was made for a campaign that does not begin goes again, if nothing is in it.
        let _ = fs::remove_dir(&findings).and_then(|()| fs::remove_dir(&args.out));
        return 3;
    }
    if let Some(mistrial) = guarded(conch_verdict::selfcheck)
        .unwrap_or_else(|panic| vec![panic])
        .first()
    {
        terminal.note(&format!(
            "internal error: Conch is wrong about a trial whose end is known: {mistrial}"
        ));
        return 1;
    }
    if let Err(error) = campaign.save(&args.out) {
        terminal.note(&format!("error: {}: {error}", args.out.display()));
        return 2;
    }
    let panel = Arc::new(panel);
    interrupt::on_interrupt(&panel);
    let hunt = Hunt {
        began: Instant::now(),
        first: campaign.done,
        out: args.out.clone(),
        findings,
        terminal,
        campaign,
        saved: Instant::now(),
        unwritten: None,
    };
    hunt.run(args, &panel, jobs, stop)
}

/// The engines asked for and the reference, without which nothing is explained; or it and the newest interpreter.
fn with_reference(asked: &[EngineId]) -> Vec<EngineId> {
    let newest = EngineId::Interpret {
        toolchain: ToolchainId::of(Version::NEWEST),
        host: false,
        torch: false,
    };
    let others = if asked.is_empty() {
        std::slice::from_ref(&newest)
    } else {
        asked
    };
    let others = others.iter().filter(|id| **id != EngineId::Reference);
    std::iter::once(&EngineId::Reference)
        .chain(others)
        .cloned()
        .collect()
}

fn shown(engines: &[EngineId]) -> Vec<String> {
    engines.iter().map(ToString::to_string).collect()
}

/// A campaign under way.
struct Hunt {
    began: Instant,
    /// The first case of this run.
    first: u64,
    out: PathBuf,
    findings: PathBuf,
    terminal: Terminal,
    campaign: Campaign,
    saved: Instant,
    /// Why something could not be kept.
    unwritten: Option<std::io::Error>,
}

impl Hunt {
    fn run(mut self, args: &FuzzArgs, panel: &Panel, jobs: usize, stop: &AtomicBool) -> u8 {
        let end = args
            .count
            .map_or(u64::MAX, |count| self.first.saturating_add(count));
        let (began, time) = (self.began, args.time);
        let recipe = Recipe::new(self.campaign.seed, &panel.order);
        let numbers = (self.first..end)
            .take_while(|_| !stop.load(Ordering::Relaxed) && time.is_none_or(|time| began.elapsed() < time));
        let folder = self.findings.clone();
        let full = AtomicBool::new(false);
        pipeline::in_order(
            numbers,
            jobs,
            |number| {
                if full.load(Ordering::Relaxed) {
                    return None;
                }
                attempt(&recipe, number, panel, &folder).map(|tried| (number, tried))
            },
            |(number, tried)| {
                self.note(number, tried);
                if self.unwritten.is_some() {
                    full.store(true, Ordering::Relaxed);
                }
            },
        );
        self.finish(stop.load(Ordering::Relaxed))
    }

    /// Counts what came of a case, and keeps what is news.
    fn note(&mut self, number: u64, tried: Tried) {
        if self.unwritten.is_some() {
            return;
        }
        match tried {
            Tried::Failed(message) => {
                self.campaign.failed += 1;
                self.terminal.note(&format!(
                    "internal error: case {number} of seed {}: {message}",
                    self.campaign.seed
                ));
            }
            Tried::Judged {
                verdict,
                explained,
                finding,
            } => {
                *self.campaign.verdicts.entry(verdict).or_default() += 1;
                for bug in explained {
                    *self.campaign.explained.entry(bug).or_default() += 1;
                }
                if let Some(finding) = finding {
                    self.keep(number, &finding);
                }
            }
        }
        self.campaign.done = number + 1;
        if self.saved.elapsed() >= HEARTBEAT {
            self.saved = Instant::now();
            self.save();
            self.terminal.note(&self.line());
        }
    }

    fn keep(&mut self, number: u64, finding: &Finding) {
        let seen = self.campaign.findings.entry(finding.name()).or_default();
        *seen += 1;
        if *seen > 1 {
            return;
        }
        self.terminal
            .note(&format!("new: {} (case {number})", finding.name()));
        if let Err(error) = finding.keep(&self.findings) {
            self.unwritten = Some(error);
        }
    }

    fn save(&mut self) {
        if let Err(error) = self.campaign.save(&self.out) {
            self.unwritten = Some(error);
        }
    }

    /// How far the campaign is.
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

    fn finish(mut self, interrupted: bool) -> u8 {
        self.save();
        if let Some(error) = &self.unwritten {
            self.terminal.note(&format!(
                "error: {}: {error}\n  = help: what was kept before is there; `--resume` goes on from case {}",
                self.out.display(),
                self.campaign.done
            ));
            return 2;
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
        self.terminal.print(&lines.join("\n"));
        if interrupted {
            130
        } else {
            u8::from(!self.campaign.findings.is_empty() || self.campaign.failed > 0)
        }
    }
}

/// Makes a case and judges it; nothing where the run was stopped.
fn attempt(recipe: &Recipe, number: u64, panel: &Panel, folder: &Path) -> Option<Tried> {
    let judged = guarded(|| {
        let made = match make(recipe, number, Detail::Chosen, folder) {
            Ok(made) => made,
            Err(message) => return Some(Tried::Failed(message)),
        };
        let trial = try_case(&made.case, panel).ok()?;
        if let Some(failed) = trial.failed.first() {
            return Some(Tried::Failed(format!("{}: {}", failed.engine, failed.message)));
        }
        if finding::news(&trial).is_some() && !finding::repeats(&made, &trial, panel) {
            // A worker that died for want of memory, say: nothing that could be shown to anybody.
            return Some(Tried::Judged {
                verdict: "unrepeated".to_owned(),
                explained: explained(&trial),
                finding: None,
            });
        }
        Some(Tried::Judged {
            verdict: trial.verdict.kind.to_string(),
            explained: explained(&trial),
            finding: finding::find(&made, &trial, panel, recipe, number, folder).map(Box::new),
        })
    });
    judged.unwrap_or_else(|panic| Some(Tried::Failed(panic)))
}

/// The known bugs in a trial.
fn explained(trial: &Trial) -> Vec<String> {
    let differences = trial.verdict.differences.iter();
    differences
        .flat_map(|one| {
            let told = one.told.map(|told| told.name.to_owned());
            one.explained.iter().map(|quirk| quirk.to_string()).chain(told)
        })
        .collect()
}
