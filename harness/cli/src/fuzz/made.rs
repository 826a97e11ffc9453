//! A case made out of texts: those of a generated one, made out of its number, or those of a finding. Left out: what is done with it.

use std::path::Path;

use arbitrary::Unstructured;
use conch_case::{Case, Corpus, Input};
use conch_engine::EngineId;
use conch_gen::case::{Detail, Form, Generated, Limits, Twist};
use conch_gen::seeded;

/// The name of a kernel's file.
pub const KERNEL: &str = "kernel.py";

/// The name of a case's file.
pub const CASE: &str = "case.yaml";

/// A case with its texts.
pub struct Made {
    /// The kernel's file.
    pub kernel: String,
    /// The case's file.
    pub yaml: String,
    /// What both say.
    pub case: Case,
    /// What its places are places in.
    pub corpus: Corpus,
}

impl Made {
    /// The case of two texts, as it would be read from the folder `name` in `folder`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(name: &str, kernel: &str, yaml: &str, folder: &Path) -> Result<Self, String> {
        let input = |file: &str, text: &str| Input {
            name: folder.join(name).join(file).display().to_string(),
            ..Input::text(format!("{name}/{file}"), text)
        };
        let corpus = Corpus::load([input(CASE, yaml), input(KERNEL, kernel)]);
        if let Some(problem) = corpus.problems().first() {
            return Err(problem.message.clone());
        }
        let entry = corpus.entries().next().ok_or("there is no case in it")?;
        let case = entry.resolve().map_err(|problems| {
            let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
            messages.join("; ")
        })?;
        Ok(Self {
            kernel: kernel.to_owned(),
            yaml: yaml.to_owned(),
            case,
            corpus,
        })
    }
}

/// How many cases have one kernel: itself, itself with other data, and a twin of it.
const TOGETHER: u64 = 4;

/// Which cases a campaign makes.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// What they are made of.
    pub seed: u64,
    /// What the engines can do.
    pub limits: Limits,
}

impl Recipe {
    /// That of a campaign with these engines.
    pub fn new(seed: u64, engines: &[EngineId]) -> Self {
        let limits = engines.iter().fold(Limits::default(), |limits, engine| {
            match (engine, engine.version()) {
                (EngineId::Interpret { .. }, Some(version)) => limits.both(Limits::interpreted(version)),
                (_, Some(version)) => limits.both(Limits::compiled(version)),
                (_, None) => limits,
            }
        });
        Self { seed, limits }
    }

    /// What the case of a number is made for.
    fn form(&self, number: u64, detail: Detail) -> Form {
        let kernel = number / TOGETHER;
        let limits = self.limits;
        let plain = Form {
            detail,
            limits,
            ..Form::default()
        };
        match number % TOGETHER {
            0 => plain,
            3 => Form {
                twist: Twist::ALL
                    .get((kernel % Twist::ALL.len() as u64) as usize)
                    .copied(),
                ..plain
            },
            data => Form {
                data: data as u16,
                ..plain
            },
        }
    }
}

/// The case of a number, as it would be read from a folder. Some numbers together have one kernel, so that an engine that keeps
/// what it compiled compiles once.
///
/// # Errors
/// What is wrong with what was made: a bug of the generator.
pub fn make(recipe: &Recipe, number: u64, detail: Detail, folder: &Path) -> Result<Made, String> {
    let seed = recipe.seed;
    let bytes = seeded::bytes(seed, number / TOGETHER);
    let name = format!("k{}", number / TOGETHER);
    let form = recipe.form(number, detail);
    let generated = Generated::new(&name, form, &mut Unstructured::new(&bytes))
        .map_err(|error| format!("generate case {number}: {error}"))?;
    Made::read(&name, &generated.module(), &generated.case_file(KERNEL), folder)
        .map_err(|why| format!("case {number} of seed {seed} cannot be read: {why}"))
}
