//! Findings made smaller when a campaign is over, each in its folder, which keeps its name. Left out: how (`crate::reduce`).

use std::io;
use std::path::Path;

use conch_verdict::{Panel, try_case};

use super::finding::{Finding, news};
use super::made::Made;
use super::signature::Signature;
use crate::reduce::{Bounds, Unreduced, smaller};

/// What came of a finding.
pub enum Done {
    /// It is smaller now: lines of the kernel before and after, and seconds.
    Smaller(usize, usize, f64),
    /// It was made smaller before.
    Before,
    /// It stays as it is, for this reason.
    Kept(String),
    /// The run was stopped.
    Stopped,
}

/// Makes the finding of a folder smaller. Its name stays: that is what the campaign counts it by.
///
/// # Errors
/// What cannot be written.
pub fn shrink(folder: &Path, panel: &Panel, bounds: Bounds<'_>) -> io::Result<Done> {
    let finding = match Finding::read(folder) {
        Ok(finding) if finding.facts.signature.remaining.is_empty() => finding,
        Ok(_) => return Ok(Done::Before),
        Err(why) => return Ok(Done::Kept(why.to_string())),
    };
    let name = finding.name();
    let around = folder.parent().unwrap_or(folder);
    let made = match Made::read(&name, finding.kernel(), finding.yaml(), around) {
        Ok(made) => made,
        Err(why) => return Ok(Done::Kept(why)),
    };
    // An operation is known to go wrong: a smaller kernel shows another bug if it has lost it.
    let first = finding.facts.signature.first.clone();
    let bounds = Bounds {
        keeps: first.split(' ').next(),
        ..bounds
    };
    let small = match smaller(&made.case, panel, bounds) {
        Ok(small) => small,
        Err(Unreduced::Stopped) => return Ok(Done::Stopped),
        Err(why) => return Ok(Done::Kept(why.to_string())),
    };
    let candidate = small
        .reduced
        .candidate
        .clone()
        .about(made.case.about.clone(), made.case.origin.clone());
    let Some(yaml) = candidate.case_file() else {
        return Ok(Done::Kept("there is no way to write the smaller case".to_owned()));
    };
    let made = match Made::read(&name, candidate.kernel(), &yaml, around) {
        Ok(made) => made,
        Err(why) => return Ok(Done::Kept(why)),
    };
    let Ok(trial) = try_case(&made.case, panel) else {
        return Ok(Done::Stopped);
    };
    let Some(difference) = news(&trial) else {
        return Ok(Done::Kept(
            "the smaller case does not differ once it is read back".to_owned(),
        ));
    };
    let signature = Signature {
        remaining: Signature::of_reduced(&made.case, &trial, difference, panel).remaining,
        ..finding.facts.signature.clone()
    };
    let mut less = Finding::new(
        &made,
        &trial,
        difference,
        panel,
        signature,
        finding.facts.origin.clone(),
    );
    less.facts.lines = finding.facts.lines;
    less.write(folder)?;
    let after = small.reduced.candidate.size();
    Ok(Done::Smaller(
        small.before.lines,
        after.lines,
        small.took.as_secs_f64(),
    ))
}
