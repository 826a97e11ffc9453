//! Campaigns against a compiler without a GPU: bundles of generated cases, and their results from another machine. See
//! `cerith exec` for executing a bundle.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cerith_case::Case;
use cerith_cuda::build_outcome;
use cerith_cuda::bundle::{self, Reader, Writer};
use cerith_cuda::record::Record;
use cerith_engine::job::Ran;
use cerith_engine::{Capabilities, Engine, EngineId, Failure, Needs, Outcome, Preparation};
use cerith_gen::case::Detail;
use cerith_tile::rules::Rules;
use cerith_toolchain::compiled::Target;

use cerith_runner::OpenError;
use cerith_runner::bundle::{CompileResult, compile_case};
use cerith_runner::engines;
use cerith_runner::part::{Part, PartError};
use cerith_runner::pipeline;
use cerith_runner::worker_files::Readable;

use crate::recipe::{Recipe, make};
use cerith_runner::host::Host;

/// Cases of a bundle where neither a count nor a time is given.
pub const MAX_CASES: u64 = 10_000;

/// The reason why there is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file or folder cannot be written.
    #[error("{}: {error}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The file of the bundle cannot be written.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The bundle cannot be written.
    #[error("{}: {error}", path.display())]
    Bundle {
        /// Its file.
        path: PathBuf,
        /// The cause.
        error: bundle::BundleError,
    },
    /// A compiler cannot run.
    #[error("failed to compile with {engine}: {error}")]
    Compiler {
        /// The engine.
        engine: EngineId,
        /// Why.
        error: Box<OpenError>,
    },
}

/// The reason why the results of a bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// They cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: bundle::BundleError,
    },
    /// The compiler has no result.
    #[error("the results have nothing of {0}")]
    Nothing(EngineId),
}

/// The contents of a bundle.
pub struct Order<'a> {
    /// The compilers.
    pub engines: &'a [EngineId],
    /// The selected cases.
    pub recipe: Recipe,
    /// The first case, and the one after the last.
    pub numbers: std::ops::Range<u64>,
    /// Whether toolchains must be there.
    pub offline: bool,
    /// How many are compiled at once.
    pub jobs: usize,
}

/// Compiles cases into a bundle in the campaign's folder. Answers with the bundle, and the number after its last case, which
/// comes early where `until` says so.
///
/// # Errors
/// A compiler cannot run, or the bundle cannot be written.
pub fn write_bundle(
    order: &Order<'_>,
    out: &Path,
    findings: &Path,
    host: Host<'_>,
    until: impl Fn() -> bool + Sync,
) -> Result<(PathBuf, u64), BundleError> {
    let folder = out.join("bundles");
    cerith_files::create_folders(&folder).map_err(|error| BundleError::Write {
        path: folder.clone(),
        error,
    })?;
    let first = order.numbers.start;
    let path = folder.join(format!("from-{first:07}.cerith"));
    let shown = |error| BundleError::Bundle {
        path: path.clone(),
        error,
    };
    let part = Part::create(&path)?;
    let mut writer = Writer::begin_cases(BufWriter::new(part.file())).map_err(shown)?;
    let mut compilers = Vec::new();
    let readable = Readable::new_generated(findings);
    for id in order.engines {
        if !matches!(id, EngineId::Cuda { .. }) {
            continue;
        }
        let compiler = engines::open_compiler(id, Target::HOPPER, order.offline, order.jobs, &readable, host)
            .map_err(|error| BundleError::Compiler {
                engine: id.clone(),
                error: Box::new(error),
            })?;
        compilers.push((id, compiler));
    }
    let console = host.console;
    let full = AtomicBool::new(false);
    let (mut end, mut compiled, mut decided, mut unwritten) = (first, 0_u64, 0_u64, None);
    pipeline::in_order(
        order
            .numbers
            .clone()
            .take_while(|_| !host.is_stopped() && !full.load(Ordering::Relaxed) && !until()),
        order.jobs,
        |number| {
            let made = make(&order.recipe, number, Detail::Chosen, findings);
            let all = made.map(|made| {
                let compile = |(id, compiler): &(&EngineId, _)| compile_case(&made.case, compiler, id);
                compilers.iter().map(compile).collect::<Vec<_>>()
            });
            Some((number, all))
        },
        |(number, all)| {
            let together = order.recipe.cases_per_kernel;
            if let Some(steer) = order
                .recipe
                .steer
                .as_ref()
                .filter(|_| number.is_multiple_of(together))
            {
                steer.note(number / together);
            }
            end = number + 1;
            let all = all.unwrap_or_else(|error| vec![CompileResult::Failed(error.to_string())]);
            for done in all {
                let written = match done {
                    CompileResult::Ready(entry) => {
                        compiled += 1;
                        writer.add_case(&entry)
                    }
                    CompileResult::Decided(one, _) => {
                        decided += 1;
                        writer.add_decided(&one)
                    }
                    CompileResult::Failed(why) => {
                        console.note(&format!("error: {why}"));
                        Ok(())
                    }
                    // Generated cases have valid files and are not swept, so these results do not occur.
                    CompileResult::Note(_) | CompileResult::Unswept | CompileResult::Wrong(..) => Ok(()),
                };
                if let Err(error) = written {
                    unwritten.get_or_insert(error);
                    full.store(true, Ordering::Relaxed);
                }
            }
        },
    );
    for (_, compiler) in &compilers {
        compiler.stop();
    }
    if let Some(error) = unwritten {
        return Err(shown(error));
    }
    drop(writer.finish().map_err(shown)?);
    part.keep()?;
    console.print(&format!(
        "{}: cases {first} to {}, {compiled} compiled, {decided} ended when they were compiled\n",
        path.display(),
        end.saturating_sub(1)
    ));
    Ok((path, end))
}

/// The result of a case on another machine.
enum RemoteResult {
    Ran(Ran),
    Decided(Box<Record>),
}

/// A compiler and the GPU of another machine: it answers with the bundles' results.
pub struct Executed {
    id: EngineId,
    capabilities: Capabilities,
    results: HashMap<String, RemoteResult>,
}

impl Executed {
    /// Those of a compiler, out of files of results.
    ///
    /// # Errors
    /// They cannot be read, or have no result of it.
    pub fn read(id: &EngineId, files: &[PathBuf]) -> Result<Self, ResultsError> {
        let mut found = HashMap::new();
        for path in files {
            read_file(id, path, &mut found).map_err(|error| ResultsError::Read {
                path: path.clone(),
                error,
            })?;
        }
        if found.is_empty() {
            return Err(ResultsError::Nothing(id.clone()));
        }
        let capabilities = Capabilities {
            dtypes: Vec::new(),
            features: Vec::new(),
            needs: Needs::default(),
        };
        Ok(Self {
            id: id.clone(),
            capabilities,
            results: found,
        })
    }

    /// The number after the last case that has a result.
    pub fn end(&self, recipe: &Recipe) -> u64 {
        let numbers = self.results.keys().filter_map(|case| recipe.parse_number(case));
        numbers.max().map_or(0, |last| last + 1)
    }
}

fn read_file(
    id: &EngineId,
    path: &Path,
    found: &mut HashMap<String, RemoteResult>,
) -> Result<(), bundle::BundleError> {
    let file = File::open(path).map_err(bundle::BundleError::Read)?;
    let mut reader = Reader::begin_results(BufReader::new(file))?;
    while let Some(result) = reader.next_result()? {
        if result.label.engine == *id {
            found.insert(result.label.case, RemoteResult::Ran(result.ran));
        }
    }
    for decided in reader.take_decided() {
        if decided.label.engine == *id {
            found.insert(
                decided.label.case,
                RemoteResult::Decided(Box::new(decided.record)),
            );
        }
    }
    Ok(())
}

impl Engine for Executed {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        let outcome = match self.results.get(&case.id) {
            Some(RemoteResult::Ran(ran)) => build_outcome(case, ran)?,
            Some(RemoteResult::Decided(record)) => record
                .to_outcome(case)
                .unwrap_or_else(|error| build_unavailable(error.to_string())),
            None => build_unavailable("the results do not have it".to_owned()),
        };
        Ok(Preparation::Ended(outcome))
    }
}

fn build_unavailable(why: String) -> Outcome {
    Outcome::Unavailable(Box::new(cerith_engine::Complaint::new("unavailable", why)))
}
