//! A difference that no known bug explains, and its folder. See `signature` for its name, `repro` for the script, `page` for
//! the report, and `hunt::smaller` for the reduction.
//!
//! | file | holds |
//! |---|---|
//! | `case.yaml`, `kernel.py` | the case, as `cerith explain` and `cerith run` read it |
//! | `repro.py` | a script that needs only torch and triton |
//! | `report.md` | a draft of an issue, in the form of Triton's template |
//! | `finding.json` | the facts about the finding, for Cerith |

use std::io;
use std::path::{Path, PathBuf};

use cerith_engine::EngineId;
use cerith_files::MAX_FILE;
use cerith_report::event::{Event, Stage};
use cerith_report::{Human, Palette, describe};
use cerith_verdict::{Difference, Panel, Trial, try_case};

use super::{page, repro};
use crate::case_source::{CASE, CaseSource, KERNEL};
use crate::facts::{Facts, REPRO};
use crate::recipe::Recipe;
use crate::signature::Signature;

/// The file of the report.
pub const PAGE: &str = "report.md";

/// The file of the facts about a finding.
const FACTS: &str = "finding.json";

/// The version of that file's format.
const FORMAT: u32 = 1;

/// A finding with its texts.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The facts about it.
    pub facts: Facts,
    kernel: String,
    yaml: String,
    /// The script, if the case can be written as one.
    repro: Option<String>,
}

/// The reason that a folder is not a finding.
#[derive(Debug, thiserror::Error)]
pub enum NoFinding {
    /// A file is missing or cannot be read.
    #[error("failed to read {}: {source}\n  = help: name a folder in DIR/findings, which `cerith fuzz` wrote", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The facts are not in the format of this version.
    #[error("{} is not a finding of this version of Cerith: {why}", path.display())]
    Strange {
        /// The file.
        path: PathBuf,
        /// The error in it.
        why: String,
    },
}

/// The first difference of a trial that nothing explains.
pub fn find_unexplained(trial: &Trial) -> Option<&Difference> {
    let mut differences = trial.verdict.differences.iter();
    differences.find(|one| one.explained.is_empty() && one.known_bug.is_none())
}

/// Whether a difference occurs again when the case is tried again. True if the second trial fails.
pub fn is_repeatable(made: &CaseSource, trial: &Trial, panel: &Panel) -> bool {
    let again = try_case(&made.case, panel).ok();
    find_unexplained(trial).is_some_and(|first| {
        let same = |one: &Difference| one.engine == first.engine && one.kind == first.kind;
        again.is_none_or(|again| again.verdict.differences.iter().any(same))
    })
}

/// The finding in the trial of a generated case. `None` if known bugs explain every difference.
pub fn find(
    made: &CaseSource,
    trial: &Trial,
    panel: &Panel,
    recipe: &Recipe,
    number: u64,
    folder: &Path,
) -> Option<Finding> {
    let news = find_unexplained(trial)?;
    let signature = Signature::of_generated(trial, news, panel, (recipe, number), folder);
    let candidate = match recipe.choose(number / recipe.cases_per_kernel) {
        None | Some(0) => String::new(),
        Some(candidate) => format!(", candidate {candidate}"),
    };
    let origin = format!("case {number} of seed {}{candidate}", recipe.seed);
    Some(Finding::new(made, trial, news, panel, signature, origin))
}

impl Finding {
    /// A finding of a case and its trial.
    pub fn new(
        made: &CaseSource,
        trial: &Trial,
        news: &Difference,
        panel: &Panel,
        signature: Signature,
        origin: String,
    ) -> Self {
        let (expected, got) = page::describe_contrast(trial, news);
        let title = page::build_title(&signature, &expected);
        Self {
            repro: repro::build_script(&title, &made.case, trial, news),
            facts: Facts {
                format: FORMAT,
                signature,
                verdict: trial.verdict.kind.to_string(),
                blame: trial.verdict.blame.iter().map(ToString::to_string).collect(),
                origin,
                lines: page::count_lines(&made.kernel),
                stages: None,
                expected,
                got,
                observed: render_trial(made, trial, panel),
                environment: page::describe_environment(&news.engine),
                range: Vec::new(),
            },
            kernel: made.kernel.clone(),
            yaml: made.yaml.clone(),
        }
    }

    /// A finding in a case that breaks a rule on purpose, with the expected answer and the actual one. There is no
    /// script, because the results do not differ.
    pub fn of_breach(
        made: &CaseSource,
        trial: &Trial,
        panel: &Panel,
        engine: &EngineId,
        signature: Signature,
        (expected, got, origin): (String, String, String),
    ) -> Self {
        Self {
            repro: None,
            facts: Facts {
                format: FORMAT,
                signature,
                verdict: trial.verdict.kind.to_string(),
                blame: vec![engine.to_string()],
                origin,
                lines: page::count_lines(&made.kernel),
                stages: None,
                expected,
                got,
                observed: render_trial(made, trial, panel),
                environment: page::describe_environment(engine),
                range: Vec::new(),
            },
            kernel: made.kernel.clone(),
            yaml: made.yaml.clone(),
        }
    }

    /// Notes which stage of the compiler is wrong.
    pub fn found_in(&mut self, stages: Vec<Stage>) {
        self.facts.signature.stage = stages.first().map(Stage::place);
        self.facts.stages = Some(stages);
    }

    /// The kernel's file.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The case's file.
    pub fn yaml(&self) -> &str {
        &self.yaml
    }

    /// Its name, which is the name of its folder.
    pub fn name(&self) -> String {
        self.facts.signature.name()
    }

    /// Writes it to a folder in `findings` that has its name.
    pub fn keep(&self, findings: &Path) -> io::Result<()> {
        self.write(&findings.join(self.name()))
    }

    /// Writes its files.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        cerith_files::create_folders(folder)?;
        cerith_files::write(folder.join(KERNEL), &self.kernel)?;
        cerith_files::write(folder.join(CASE), &self.yaml)?;
        if let Some(repro) = &self.repro {
            cerith_files::write(folder.join(REPRO), repro)?;
        }
        cerith_files::write(
            folder.join(PAGE),
            page::render_page(&self.facts, &self.kernel, &self.yaml, self.repro.as_deref()),
        )?;
        let text = serde_json::to_string_pretty(&self.facts).map_err(io::Error::other)?;
        cerith_files::write(folder.join(FACTS), text + "\n")
    }

    /// Reads the finding of a folder.
    pub fn read(folder: &Path) -> Result<Self, NoFinding> {
        let text = |name: &str| {
            let path = folder.join(name);
            cerith_files::read_text(&path, MAX_FILE).map_err(|source| NoFinding::Unreadable { path, source })
        };
        let strange = |why: String| NoFinding::Strange {
            path: folder.join(FACTS),
            why,
        };
        let facts: Facts = serde_json::from_str(&text(FACTS)?).map_err(|error| strange(error.to_string()))?;
        if facts.format != FORMAT {
            return Err(strange(format!("its format is {}, not {FORMAT}", facts.format)));
        }
        Ok(Self {
            facts,
            kernel: text(KERNEL)?,
            yaml: text(CASE)?,
            repro: text(REPRO).ok(),
        })
    }
}

/// Renders a trial as `cerith explain` shows it.
fn render_trial(made: &CaseSource, trial: &Trial, panel: &Panel) -> String {
    let event = describe::to_verdict(&made.case, trial, panel, made.corpus.sources());
    let mut human = Human::new(Palette { colour: false });
    human.verbose = true;
    human
        .render_event(&Event::Verdict(Box::new(event)))
        .trim_end()
        .to_owned()
}
