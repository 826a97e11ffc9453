//! Generates a campaign's cases, each from its number.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use arbitrary::Unstructured;
use cerith_engine::{EngineId, catch_panic};
use cerith_gen::case::breach::Broken;
use cerith_gen::case::{Detail, Form, Generated, Layout, Limits, Twist};
use cerith_gen::seeded;
use cerith_toolchain::compiled::Target;

use crate::case_source::{CaseSource, KERNEL, SourceError};
use crate::steer::Steer;

/// How many cases have one kernel: itself, itself with other data, then also in another layout and with a program more, and a twin of it.
const CASES_PER_KERNEL: u64 = 4;

/// How many of those there are for a compiler: each time with other warps and stages, and with as many data, for which nothing
/// is compiled again.
const VARIED: u64 = 4 * CASES_PER_KERNEL;

/// The kinds of cases that a campaign generates.
#[derive(Clone)]
pub struct Recipe {
    /// The seed of the cases.
    pub seed: u64,
    /// The limits of the engines.
    pub limits: Limits,
    /// Chooses among kernels; if it is missing, the first ones are taken.
    pub steer: Option<Arc<Steer>>,
    /// How many cases have one kernel.
    pub cases_per_kernel: u64,
    /// Whether cases are tried with other options too: all engines but the reference compile.
    pub varies: bool,
    /// Whether cases break a rule on purpose.
    pub breaks: bool,
}

impl Recipe {
    /// Creates the recipe of a campaign with these engines.
    pub fn new(seed: u64, engines: &[EngineId]) -> Self {
        // Without another engine, only the reference runs, by the newest version's rules.
        let limits = engines
            .iter()
            .filter_map(|engine| match (engine, engine.version()) {
                (EngineId::Interpret { .. }, Some(version)) => Some(Limits::from_interpreter(version)),
                (
                    EngineId::Ptx {
                        target: Target::AMPERE,
                        ..
                    },
                    Some(version),
                ) => Some(Limits::compiled_for_ampere(version)),
                (_, Some(version)) => Some(Limits::from_compiler(version)),
                (_, None) => None,
            })
            .reduce(Limits::intersect)
            .unwrap_or_default();
        let varies = can_vary(engines);
        Self {
            seed,
            limits,
            steer: None,
            cases_per_kernel: if varies { VARIED } else { CASES_PER_KERNEL },
            varies,
            breaks: false,
        }
    }

    /// Which of the candidates is the kernel of this number; `None` if the campaign ended before the choice.
    pub fn choose(&self, kernel: u64) -> Option<u64> {
        let form = Form {
            limits: self.limits,
            ..Form::default()
        };
        let candidate = |candidate| {
            let generated = catch_panic(|| {
                if self.breaks {
                    self.generate_broken(kernel, candidate).map(|broken| broken.case)
                } else {
                    self.generate(kernel, candidate, form)
                }
            });
            generated.ok().and_then(Result::ok)
        };
        match &self.steer {
            Some(steer) => steer.choose(kernel, candidate),
            None => Some(0),
        }
    }

    fn generate(&self, kernel: u64, candidate: u64, form: Form) -> arbitrary::Result<Generated> {
        let bytes = seeded::generate_candidate(self.seed, kernel, candidate);
        Generated::new(&format!("k{kernel}"), form, &mut Unstructured::new(&bytes))
    }

    /// Generates one of the candidate kernels for a number, with a rule that it breaks.
    ///
    /// # Errors
    /// No known errors.
    pub fn generate_broken(&self, number: u64, candidate: u64) -> arbitrary::Result<Broken> {
        let bytes = seeded::generate_candidate(self.seed, number, candidate);
        let form = Form {
            limits: self.limits,
            ..Form::default()
        };
        Broken::new(&format!("k{number}"), form, &mut Unstructured::new(&bytes))
    }

    /// Chooses the form of the case with this number.
    fn choose_form(&self, number: u64, detail: Detail) -> Form {
        let kernel = number / self.cases_per_kernel;
        let limits = self.limits;
        let plain = Form {
            detail,
            limits,
            ..Form::default()
        };
        match number % self.cases_per_kernel {
            0 => plain,
            3 => Form {
                twist: Twist::ALL
                    .get((kernel % Twist::ALL.len() as u64) as usize)
                    .copied(),
                ..plain
            },
            // Those after them are in groups, each with options of its own.
            one => {
                let data = one % CASES_PER_KERNEL;
                Form {
                    data: data as u16,
                    layout: if data > 1 { Layout::Inside } else { Layout::Tight },
                    programs: (data == 2).into(),
                    options: (one / CASES_PER_KERNEL) as u8,
                    ..plain
                }
            }
        }
    }
}

/// A bug of the generator: what it made is not a case.
#[derive(Debug, thiserror::Error)]
#[error("kernel {kernel} of seed {seed}, case {case} of it: {reason}")]
pub struct MakeError {
    kernel: u64,
    seed: u64,
    case: u64,
    reason: MakeReason,
}

#[derive(Debug, thiserror::Error)]
enum MakeReason {
    #[error(transparent)]
    Generator(#[from] arbitrary::Error),
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// The case of a number, as it would be read from a folder. Several consecutive numbers share a kernel, so that an engine with a
/// cache compiles it once.
///
/// # Errors
/// The generated files are wrong: a bug of the generator.
pub fn make(recipe: &Recipe, number: u64, detail: Detail, folder: &Path) -> Result<CaseSource, MakeError> {
    let (kernel, one) = (number / recipe.cases_per_kernel, number % recipe.cases_per_kernel);
    make_case(recipe, kernel, recipe.choose_form(number, detail), one, folder)
}

/// A kernel and all its twins that differ from it, each with the twist that was applied.
///
/// # Errors
/// As [`make`].
pub fn make_family(
    recipe: &Recipe,
    kernel: u64,
    folder: &Path,
) -> Result<(CaseSource, Vec<(Twist, CaseSource)>), MakeError> {
    let form = |twist| Form {
        twist,
        limits: recipe.limits,
        ..Form::default()
    };
    let plain = make_case(recipe, kernel, form(None), 0, folder)?;
    let mut twins = Vec::new();
    for (one, twist) in (1..).zip(Twist::ALL) {
        let twin = make_case(recipe, kernel, form(Some(twist)), one, folder)?;
        if (&twin.kernel, &twin.yaml) != (&plain.kernel, &plain.yaml) {
            twins.push((twist, twin));
        }
    }
    Ok((plain, twins))
}

fn make_case(
    recipe: &Recipe,
    kernel: u64,
    form: Form,
    one: u64,
    folder: &Path,
) -> Result<CaseSource, MakeError> {
    let name = format!("k{kernel}");
    let wrong = |reason| MakeError {
        kernel,
        seed: recipe.seed,
        case: one,
        reason,
    };
    let candidate = recipe.choose(kernel).unwrap_or_default();
    let generated = |form| {
        let generated = recipe.generate(kernel, candidate, form);
        generated.map_err(|error| wrong(error.into()))
    };
    let mut made = generated(form)?;
    if form.programs > 0 {
        let own = generated(Form { programs: 0, ..form })?;
        if !made.is_compiled_as(&own) {
            made = own;
        }
    }
    let generated = made;
    let (module, yaml) = (generated.module(), generated.case_file(KERNEL));
    let mut file = format!("case{one}");
    if form.options > 0 {
        // A reader of a report sees what is other about it.
        for (option, value) in generated
            .options()
            .iter()
            .filter(|(option, _)| VARYING.contains(option))
        {
            let _ = write!(file, "-{option}={value}");
        }
    }
    CaseSource::read_named(&name, &format!("{file}.yaml"), &module, &yaml, folder)
        .map_err(|error| wrong(error.into()))
}

/// Options that variants have otherwise.
const VARYING: [&str; 2] = ["num_warps", "num_stages"];

/// Whether cases are tried with other options too: where all engines but the reference compile.
fn can_vary(engines: &[EngineId]) -> bool {
    let mut others = engines.iter().filter(|id| **id != EngineId::Reference).peekable();
    others.peek().is_some()
        && others.all(|id| {
            matches!(
                id,
                EngineId::Cuda { .. } | EngineId::Ptx { .. } | EngineId::Jit { .. }
            )
        })
}

impl Recipe {
    /// The number of a made case, by its id.
    pub fn parse_number(&self, id: &str) -> Option<u64> {
        let (kernel, one) = id.strip_prefix('k')?.split_once("/case")?;
        let one = one.split('-').next()?;
        Some(kernel.parse::<u64>().ok()? * self.cases_per_kernel + one.parse::<u64>().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use cerith_case::ArgValue;

    use super::*;

    #[test]
    fn an_id_tells_the_number() {
        for engines in [&[][..], &[cuda_engine()][..]] {
            let recipe = Recipe::new(1, engines);
            for at in [0, 3, 4, 4711] {
                let made = make(&recipe, at, Detail::Chosen, Path::new("somewhere")).expect("a case");
                assert_eq!(recipe.parse_number(&made.case.id), Some(at));
            }
            assert_eq!(recipe.parse_number("alias/same_twice"), None);
        }
    }

    fn cuda_engine() -> EngineId {
        "cuda@3.9.0".parse().expect("an engine")
    }

    fn options_of(made: &CaseSource) -> Vec<Vec<(String, ArgValue)>> {
        let launches = made.case.launches.iter();
        launches.map(|launch| launch.options.clone()).collect()
    }

    #[test]
    fn a_compiler_gets_each_kernel_with_other_options_and_data() {
        let recipe = Recipe::new(1, &[EngineId::Reference, cuda_engine()]);
        let made =
            |one| make(&recipe, 5 * VARIED + one, Detail::Chosen, Path::new("somewhere")).expect("a case");
        let plain = made(0);
        let mut options = Vec::new();
        for group in 1..VARIED / CASES_PER_KERNEL {
            let first = made(group * CASES_PER_KERNEL);
            assert_eq!(first.kernel, plain.kernel);
            assert_eq!(first.case.storages, plain.case.storages, "the same data");
            assert!(first.case.id.contains("-num_warps="), "{}", first.case.id);
            options.push(options_of(&first));
            let other = made(group * CASES_PER_KERNEL + 1);
            assert_eq!(other.kernel, plain.kernel);
            assert_eq!(
                options_of(&other),
                options_of(&first),
                "nothing is compiled again"
            );
            assert_eq!(other.case.tensors, first.case.tensors);
            let elsewhere = made(group * CASES_PER_KERNEL + 2);
            assert_eq!(elsewhere.kernel, plain.kernel);
            assert_ne!(elsewhere.case.tensors, first.case.tensors, "another layout");
        }
        options.push(options_of(&plain));
        let distinct = (0..options.len()).all(|at| !options[..at].contains(&options[at]));
        assert!(distinct, "{options:?}");
    }

    #[test]
    fn what_is_compiled_for_ampere_has_no_floats_that_it_lacks() {
        let ptx: EngineId = "ptx@3.9.0".parse().expect("an engine");
        let kernels = |engines: &[EngineId]| -> usize {
            let recipe = Recipe::new(3, engines);
            let made = (0..200).map(|kernel| {
                let number = kernel * recipe.cases_per_kernel;
                make(&recipe, number, Detail::Chosen, Path::new("somewhere")).expect("a case")
            });
            made.filter(|made| made.kernel.contains("float8e4nv") || made.yaml.contains("fp8e4nv"))
                .count()
        };
        assert_eq!(kernels(&[EngineId::Reference, ptx]), 0);
        assert!(kernels(&[EngineId::Reference, cuda_engine()]) > 0);
    }

    #[test]
    fn an_interpreter_gets_no_other_options() {
        let interpreter: EngineId = "interpret@3.9.0".parse().expect("an engine");
        assert_eq!(
            Recipe::new(1, &[EngineId::Reference]).cases_per_kernel,
            CASES_PER_KERNEL
        );
        assert_eq!(
            Recipe::new(1, &[cuda_engine(), interpreter]).cases_per_kernel,
            CASES_PER_KERNEL
        );
    }
}
