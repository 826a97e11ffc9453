//! A generated case, made out of its number. Left out: what is done with it.

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

/// A generated case with its texts.
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
    let (kernel, yaml) = (generated.module(), generated.case_file(KERNEL));
    let input = |file: &str, text: &str| Input {
        name: folder.join(&name).join(file).display().to_string(),
        ..Input::text(format!("{name}/{file}"), text)
    };
    let corpus = Corpus::load([input(CASE, &yaml), input(KERNEL, &kernel)]);
    let wrong = |message: String| format!("case {number} of seed {seed} cannot be read: {message}");
    if let Some(problem) = corpus.problems().first() {
        return Err(wrong(problem.message.clone()));
    }
    let entry = corpus
        .entries()
        .next()
        .ok_or_else(|| wrong("there is none".to_owned()))?;
    let case = entry
        .resolve()
        .map_err(|problems| wrong(format!("{problems:?}")))?;
    Ok(Made {
        kernel,
        yaml,
        case,
        corpus,
    })
}
