//! `cerith fuzz keep`: makes a finding of any case, reduced or written by hand. Left out: cases without news, unless the user
//! asks for known bugs.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cerith_case::{Case, Shard};
use cerith_engine::Reference;
use cerith_verdict::{Panel, try_case};

use super::campaign::with_reference;
use super::finding::{Finding, find_unexplained};
use super::made::{CaseSource, KERNEL};
use super::range::only_case;
use super::signature::Signature;
use crate::args::KeepArgs;
use crate::corpus::Selected;
use crate::engines::set_up;
use crate::exit::Exit;
use crate::stages::{Blaming, Means};
use crate::terminal::Terminal;

/// Keeps a case as a finding, and answers with the exit code.
pub fn keep(args: &KeepArgs, stop: &'static AtomicBool) -> Exit {
    let mut terminal = Terminal::new();
    match keep_case(args, stop) {
        Ok(Some(text)) => {
            terminal.print(&text);
            Exit::Unexpected
        }
        Ok(None) => {
            terminal.print("nothing new was found\n");
            Exit::AsExpected
        }
        Err(message) => {
            terminal.note(&message);
            Exit::Wrong
        }
    }
}

fn keep_case(args: &KeepArgs, stop: &'static AtomicBool) -> Result<Option<String>, String> {
    let mut filters: Vec<String> = args.filter.iter().cloned().collect();
    let selected = if args.cases.is_file() {
        filters.insert(0, args.cases.to_string_lossy().into_owned());
        Selected::open(None, &filters)?
    } else {
        Selected::open(Some(&args.cases), &filters)?
    };
    let case = only_case(&selected)?;
    let made = as_made(&case, &selected)?;
    let setup = set_up(
        Reference::default(),
        &with_reference(&args.engines.engines),
        args.engines.offline,
        1,
        &selected,
        stop,
    );
    if let Some(silent) = setup.failed.first().or(setup.left_out.first()) {
        return Err(format!(
            "error: engine {} cannot run: {}",
            silent.engine, silent.why
        ));
    }
    let panel: Panel = setup.panel;
    let trial = try_case(&case, &panel).map_err(|_| "error: interrupted".to_owned())?;
    let known = trial.verdict.differences.first().filter(|_| args.known);
    let Some(difference) = find_unexplained(&trial).or(known) else {
        return Ok(None);
    };
    let signature = Signature::of_reduced(&case, &trial, difference, &panel);
    let origin = case
        .origin
        .clone()
        .unwrap_or_else(|| format!("{} of {}", case.id, args.cases.display()));
    let mut finding = Finding::new(&made, &trial, difference, &panel, signature, origin);
    if let Some(reference) = panel.reference() {
        let blaming = Blaming::new(Means {
            reference,
            offline: true,
            jobs: 1,
            corpus: selected.readable(),
            stop,
        });
        let told = blaming
            .blame_stages(&case, &trial, std::slice::from_ref(&difference.engine))
            .map_err(|_| "error: interrupted".to_owned())?;
        if !(told.stages.is_empty() && told.notes.is_empty()) {
            finding.found_in(told.stages);
        }
    }
    finding
        .keep(&args.out)
        .map_err(|error| format!("error: {}: {error}", args.out.display()))?;
    Ok(Some(format!("{}\n", args.out.join(finding.name()).display())))
}

/// A case as the two files of a finding: its own text where that has no matrix, so that its fills stay as they are.
fn as_made(case: &Case, selected: &Selected) -> Result<CaseSource, String> {
    let alone = case
        .launches
        .iter()
        .all(|launch| launch.kernel.module.path == case.module.path);
    if !alone || !case.module.imports.is_empty() {
        return Err("error: its kernels are in several files, and a finding has only one".to_owned());
    }
    let entry = selected.entries(Shard::ALL).next();
    let own_text = entry
        .filter(|_| case.point.is_empty())
        .and_then(|entry| fs::read_to_string(selected.root().join(&entry.file().path)).ok());
    let text = own_text
        .or_else(|| case.to_case_file())
        .ok_or("error: the case cannot be written as a file of its own")?;
    let own = case.module.path.rsplit('/').next().unwrap_or_default();
    let yaml = text.lines().fold(String::new(), |mut yaml, line| {
        yaml += &match line.strip_prefix("kernel:") {
            Some(_) => line.replacen(own, KERNEL, 1),
            None => line.to_owned(),
        };
        yaml + "\n"
    });
    CaseSource::read("finding", &case.module.file.text, &yaml, Path::new(""))
        .map_err(|why| format!("error: the case does not read back: {why}"))
}
