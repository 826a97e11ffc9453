//! A case made out of texts: those of a generated one, made out of its number, or those of a finding. Left out: what is done with it.

use std::path::Path;
use std::sync::Arc;

use arbitrary::Unstructured;
use conch_case::{Case, Corpus, Input};
use conch_engine::{EngineId, guarded};
use conch_gen::case::{Detail, Form, Generated, Limits, Twist};
use conch_gen::seeded;

use super::steer::Steer;

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
        Self::named(name, CASE, kernel, yaml, folder)
    }

    /// The same, of a case file with another name.
    fn named(name: &str, case: &str, kernel: &str, yaml: &str, folder: &Path) -> Result<Self, String> {
        let input = |file: &str, text: &str| Input {
            name: folder.join(name).join(file).display().to_string(),
            ..Input::text(format!("{name}/{file}"), text)
        };
        let corpus = Corpus::load([input(case, yaml), input(KERNEL, kernel)]);
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
pub const TOGETHER: u64 = 4;

/// Which cases a campaign makes.
#[derive(Clone)]
pub struct Recipe {
    /// What they are made of.
    pub seed: u64,
    /// What the engines can do.
    pub limits: Limits,
    /// What chooses among kernels; without it the first ones are taken.
    pub steer: Option<Arc<Steer>>,
}

impl Recipe {
    /// That of a campaign with these engines.
    pub fn new(seed: u64, engines: &[EngineId]) -> Self {
        // Without another engine the reference is asked, by the newest version's rules.
        let limits = engines
            .iter()
            .filter_map(|engine| match (engine, engine.version()) {
                (EngineId::Interpret { .. }, Some(version)) => Some(Limits::interpreted(version)),
                (_, Some(version)) => Some(Limits::compiled(version)),
                (_, None) => None,
            })
            .reduce(Limits::both)
            .unwrap_or_default();
        Self {
            seed,
            limits,
            steer: None,
        }
    }

    /// Which of the kernels that there are to choose from is the one of this number; nothing where the campaign ended before it was
    /// known.
    pub fn choose(&self, kernel: u64) -> Option<u64> {
        let form = Form {
            limits: self.limits,
            ..Form::default()
        };
        let candidate = |candidate| {
            let generated = guarded(|| self.generated(kernel, candidate, form));
            generated.ok().and_then(Result::ok)
        };
        match &self.steer {
            Some(steer) => steer.choose(kernel, candidate),
            None => Some(0),
        }
    }

    fn generated(&self, kernel: u64, candidate: u64, form: Form) -> arbitrary::Result<Generated> {
        let bytes = seeded::candidate(self.seed, kernel, candidate);
        Generated::new(&format!("k{kernel}"), form, &mut Unstructured::new(&bytes))
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
    let (kernel, one) = (number / TOGETHER, number % TOGETHER);
    made(recipe, kernel, recipe.form(number, detail), one, folder)
}

/// A kernel and all its twins that are not just itself, each with what was twisted.
///
/// # Errors
/// As [`make`].
pub fn family(recipe: &Recipe, kernel: u64, folder: &Path) -> Result<(Made, Vec<(Twist, Made)>), String> {
    let form = |twist| Form {
        twist,
        limits: recipe.limits,
        ..Form::default()
    };
    let plain = made(recipe, kernel, form(None), 0, folder)?;
    let mut twins = Vec::new();
    for (one, twist) in (1..).zip(Twist::ALL) {
        let twin = made(recipe, kernel, form(Some(twist)), one, folder)?;
        if (&twin.kernel, &twin.yaml) != (&plain.kernel, &plain.yaml) {
            twins.push((twist, twin));
        }
    }
    Ok((plain, twins))
}

fn made(recipe: &Recipe, kernel: u64, form: Form, one: u64, folder: &Path) -> Result<Made, String> {
    let (seed, name) = (recipe.seed, format!("k{kernel}"));
    let wrong = |why: String| format!("kernel {kernel} of seed {seed}, case {one} of it: {why}");
    let candidate = recipe.choose(kernel).unwrap_or_default();
    let generated = recipe
        .generated(kernel, candidate, form)
        .map_err(|error| wrong(error.to_string()))?;
    let (module, yaml) = (generated.module(), generated.case_file(KERNEL));
    Made::named(&name, &format!("case{one}.yaml"), &module, &yaml, folder).map_err(wrong)
}

/// The number of a made case, by its id.
pub fn number(id: &str) -> Option<u64> {
    let (kernel, one) = id.strip_prefix('k')?.split_once("/case")?;
    Some(kernel.parse::<u64>().ok()? * TOGETHER + one.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_the_number() {
        let recipe = Recipe::new(1, &[]);
        for at in [0, 3, 4, 4711] {
            let made = make(&recipe, at, Detail::Chosen, Path::new("somewhere")).expect("a case");
            assert_eq!(number(&made.case.id), Some(at));
        }
        assert_eq!(number("alias/same_twice"), None);
    }
}
