//! Compares generated kernels with their twins, with the reference alone. A difference is a bug in Cerith. If there are other
//! engines, twins are ordinary cases instead.

use std::io;
use std::path::Path;

use cerith_engine::{Failure, Reference};
use cerith_gen::case::Twist;
use cerith_tile::rules::Rules;
use cerith_verdict::{Twins, compare_twins};

use crate::case_source::{CASE, CaseSource, KERNEL};
use crate::recipe::{MakeError, Recipe, make_family};

/// A kernel and a twin of it that stores something else.
pub struct Unlike {
    twist: Twist,
    plain: CaseSource,
    twin: CaseSource,
    difference: String,
}

/// The result of a kernel and its twins.
pub struct Compared {
    /// How many twins there were to compare.
    pub twins: u64,
    /// Whether the kernel has no comparable result: it does not finish, or depends on an order.
    pub silent: bool,
    /// The first twin that stores something else.
    pub unlike: Option<Unlike>,
}

/// The reason why twins cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum TwinError {
    /// They cannot be made.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// Cerith fails.
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// Compares a kernel with its twins.
///
/// # Errors
/// Cerith's own failure, in words.
pub fn compare(
    reference: &Reference,
    recipe: &Recipe,
    kernel: u64,
    folder: &Path,
) -> Result<Compared, TwinError> {
    let (plain, all) = make_family(recipe, kernel, folder)?;
    let mut compared = Compared {
        twins: 0,
        silent: false,
        unlike: None,
    };
    for (twist, twin) in all {
        let told = compare_twins(reference, &plain.case, &twin.case, Rules::default());
        match told? {
            Twins::Same => compared.twins += 1,
            Twins::Silent(_) => compared.silent = true,
            Twins::Differ(how) => {
                compared.twins += 1;
                compared.unlike = Some(Unlike {
                    twist,
                    plain,
                    twin,
                    difference: how,
                });
                break;
            }
        }
    }
    Ok(compared)
}

impl Unlike {
    /// Its name.
    pub fn name(&self) -> String {
        format!("reference-twin-{}", self.twist.name())
    }

    /// Keeps it: both kernels, both case files, and what differs.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn keep(&self, findings: &Path) -> io::Result<()> {
        let folder = findings.join(self.name());
        for (made, folder) in [(&self.plain, folder.clone()), (&self.twin, folder.join("twin"))] {
            cerith_files::create_folders(&folder)?;
            cerith_files::write(folder.join(KERNEL), &made.kernel)?;
            cerith_files::write(folder.join(CASE), &made.yaml)?;
        }
        let page = format!(
            "# The reference disagrees with itself\n\nThe kernel and its twin (`twin/`, twisted: {}) must \
             store the same. {}\n",
            self.twist.name(),
            self.difference
        );
        cerith_files::write(folder.join("report.md"), page)
    }
}
