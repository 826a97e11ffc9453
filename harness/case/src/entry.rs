//! A case that is not resolved yet, and how to resolve it: unchanged, or with one thing changed. See [`Variant`] for
//! the changes, and `resolve` for the evaluation.

use std::sync::Arc;

use cerith_memory::Storages;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::printable;

use crate::argument::ArgValue;
use crate::case::{Case, Launch};
use crate::case_file::CaseFile;
use crate::matrix::Point;
use crate::resolve;
use crate::variant::{Axis, Layout, Variant};

/// The reason why a variant does not apply to a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// A storage is too large for another layout.
    #[error("storage `{name}` of {bytes} bytes cannot be laid out otherwise")]
    Sparse {
        /// The storage.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// A storage has recorded bytes.
    #[error("storage `{0}` holds recorded bytes, which lie as they were recorded")]
    Recorded(String),
    /// The case is wrong in the layout: the first message about it.
    #[error("{0}")]
    Broken(String),
    /// The layout changes nothing.
    #[error("no storage has a shape that it changes")]
    SameLayout,
    /// An expression copies a tensor in one of the layouts only.
    #[error("a tensor of the case is a copy in one of the layouts only")]
    OtherCopies,
    /// There are no configurations.
    #[error("no kernel is autotuned")]
    NotAutotuned,
    /// The option is a parameter of the kernel.
    #[error("`{0}` is a parameter of the kernel")]
    Parameter(&'static str),
    /// The kernel's decorators set the option.
    #[error("`{0}` is given by the kernel's decorators")]
    Decorators(&'static str),
    /// The case has no launch.
    #[error("nothing is launched")]
    NoLaunch,
}

/// A case that is not resolved yet: its id, its file and its point of the matrix.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The case's id. Control characters of file names are in it as numbers: `\u{a}`.
    pub id: String,
    file: Arc<CaseFile>,
    point: Point,
}

impl Entry {
    /// Every case of a file, in the order of its matrix. Nothing is resolved yet.
    pub(crate) fn all_of(file: &Arc<CaseFile>) -> impl Iterator<Item = Self> + use<> {
        let file = Arc::clone(file);
        (0..file.schema.matrix.len()).filter_map(move |number| {
            // Conditions were tried at every point when the file was read.
            let point = file.schema.matrix.build_point(number).ok()??;
            let mut id = file.id.clone();
            for (nth, (name, label)) in point.labels.iter().enumerate() {
                id.push(if nth == 0 { ':' } else { ',' });
                id.push_str(name);
                id.push('=');
                id.push_str(label);
            }
            Some(Self {
                id: printable::escape_line(&id).into_owned(),
                file: Arc::clone(&file),
                point,
            })
        })
    }

    /// The case file.
    pub fn file(&self) -> &CaseFile {
        &self.file
    }

    /// Makes the case: evaluates its expressions and fills its storages. All problems come together.
    pub fn resolve(&self) -> Result<Case, Vec<Diagnostic>> {
        self.resolve_as(None)
    }

    /// Like [`Self::resolve`], with the tensors of storages in another layout.
    pub(crate) fn resolve_as(&self, layout: Option<Layout>) -> Result<Case, Vec<Diagnostic>> {
        resolve::resolve(&self.file, &self.id, self.point.clone(), layout, Storages::new())
    }

    /// Like [`Self::resolve`], with sparse storages if they have more than so many bytes: a launch that touches few of their elements
    /// takes little time.
    pub fn resolve_sparse(&self, limit: u64) -> Result<Case, Vec<Diagnostic>> {
        let storages = Storages::with_dense_limit(limit);
        resolve::resolve(&self.file, &self.id, self.point.clone(), None, storages)
    }

    /// The case of a variant. `as_is` is the unchanged case.
    ///
    /// # Errors
    /// The variant does not apply to this case.
    pub fn vary(&self, as_is: &Case, variant: Variant) -> Result<Case, NotApplicable> {
        match variant {
            Variant::Layout(layout) => {
                if let Some(storage) = as_is.storages.first_sparse() {
                    return Err(NotApplicable::Sparse {
                        name: storage.name().to_owned(),
                        bytes: storage.size(),
                    });
                }
                // Views of a recording are written in bytes of its storages (`as_strided`), and so are its strides among
                // the arguments. Moving the bytes would move neither.
                let recorded = as_is.declared.iter().zip(as_is.storages.iter());
                if let Some((_, (_, storage))) = recorded.into_iter().find(|(one, _)| one.recorded.is_some())
                {
                    return Err(NotApplicable::Recorded(storage.name().to_owned()));
                }
                let case = self.resolve_as(Some(layout)).map_err(|problems| {
                    let first = problems.into_iter().next();
                    NotApplicable::Broken(first.map_or_else(String::new, |problem| problem.message))
                })?;
                if case.tensors == as_is.tensors {
                    return Err(NotApplicable::SameLayout);
                }
                // If an expression copies a tensor in only one of the layouts, the variant is a different program.
                if case.storages.len() != as_is.storages.len() {
                    return Err(NotApplicable::OtherCopies);
                }
                Ok(case)
            }
            Variant::Config(_) => {
                let tuned = as_is.launches.iter().any(is_autotuned);
                tuned.then(|| as_is.clone()).ok_or(NotApplicable::NotAutotuned)
            }
            Variant::AsIs | Variant::Unspecialized => Ok(as_is.clone()),
            _ => with_option(as_is, variant),
        }
    }
}

/// The launch option that a variant changes, with its value.
const fn find_option(variant: Variant) -> Option<(&'static str, ArgValue)> {
    Some(match variant {
        Variant::NumWarps(value) => (Axis::NumWarps.name(), ArgValue::Int(value as i128)),
        Variant::NumStages(value) => (Axis::NumStages.name(), ArgValue::Int(value as i128)),
        Variant::NumCtas(value) => (Axis::NumCtas.name(), ArgValue::Int(value as i128)),
        Variant::FpFusion(value) => (Axis::FpFusion.name(), ArgValue::Bool(value)),
        _ => return None,
    })
}

fn is_autotuned(launch: &Launch) -> bool {
    launch.kernel.function().is_some_and(|function| function.autotune)
}

/// The case with an option of its launches changed, in those that can have it.
fn with_option(as_is: &Case, variant: Variant) -> Result<Case, NotApplicable> {
    let Some((name, value)) = find_option(variant) else {
        return Ok(as_is.clone());
    };
    let mut case = as_is.clone();
    let mut refused = None;
    let mut changed = false;
    for launch in &mut case.launches {
        if let Some(why) = find_conflict(launch, name) {
            refused.get_or_insert(why);
            continue;
        }
        changed = true;
        match launch.options.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value.clone(),
            None => launch.options.push((name.to_owned(), value.clone())),
        }
    }
    match refused {
        Some(why) if !changed => Err(why),
        _ if !changed => Err(NotApplicable::NoLaunch),
        _ => Ok(case),
    }
}

/// The reason why a launch cannot be given an option, if it cannot.
fn find_conflict(launch: &Launch, name: &'static str) -> Option<NotApplicable> {
    let function = launch.kernel.function()?;
    let own = function.parameters.iter().any(|parameter| parameter.name == name);
    // Every configuration of an autotuner has a value for these (`triton.Config`).
    let tuned = function.autotune && name != Axis::FpFusion.name();
    if own {
        Some(NotApplicable::Parameter(name))
    } else if tuned || function.given_by_decorators.iter().any(|given| given == name) {
        Some(NotApplicable::Decorators(name))
    } else {
        None
    }
}
