//! The engines of the target `case_interpreter`: the reference, and Triton's interpreter in a worker that lives as long
//! as the target.

use std::process;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arbitrary::Unstructured;
use cerith_engine::{Interpret, Reference};
use cerith_gen::case::{Form, Generated, Limits};
use cerith_laws::case::read;
use cerith_tile::rules::Version;
use cerith_toolchain::{Home, Pool};
use cerith_verdict::{Panel, try_case};

/// The environment variable that names the version.
const VARIABLE: &str = "CERITH_FUZZ_TRITON";

static PANEL: OnceLock<(Panel, Limits)> = OnceLock::new();

/// Starts the engines. Without a toolchain the process exits here, before libFuzzer would report an exit as a crash.
pub fn start_engines() {
    PANEL.get_or_init(open_panel);
}

/// Compares the interpreter with the reference on the case that the bytes encode.
pub fn hold(bytes: &[u8]) {
    let (panel, limits) = PANEL.get_or_init(open_panel);
    let form = Form {
        limits: *limits,
        ..Form::default()
    };
    let generated =
        Generated::new("kernel", form, &mut Unstructured::new(bytes)).expect("any bytes are a case");
    let case = read(&generated).unwrap_or_else(|fault| panic!("{fault}"));
    let trial = try_case(&case, panel).expect("the case is not cancelled");
    if let Some(failed) = trial.failed.first() {
        panic!("{}: {}", failed.engine, failed.message);
    }
    let differences = trial.verdict.differences.iter();
    let news: Vec<String> = differences
        .filter(|one| one.explained.is_empty() && one.known_bug.is_none())
        .map(|one| {
            format!(
                "{} differs from {}: {:?}, {:?}",
                one.engine, one.baseline, one.kind, one.comparison
            )
        })
        .collect();
    assert!(
        news.is_empty(),
        "{}\n{}\n{}",
        news.join("\n"),
        generated.module(),
        generated.case_file("kernel.py")
    );
}

/// Starts the engines. Without a toolchain the process exits with a message, without a crash.
fn open_panel() -> (Panel, Limits) {
    match build_panel() {
        Ok(panel) => panel,
        Err(why) => {
            eprintln!("case_interpreter has nothing to do: {why}");
            process::exit(0);
        }
    }
}

fn build_panel() -> Result<(Panel, Limits), String> {
    let home = Home::discover().map_err(|error| error.to_string())?;
    let help = "`cerith toolchain add 3.9.0` installs one";
    let toolchain = match std::env::var(VARIABLE) {
        Ok(named) => {
            let id = named
                .parse()
                .map_err(|error| format!("{VARIABLE} is `{named}`: {error}"))?;
            home.resolve(&id).ok_or_else(|| {
                format!("Triton {named} is not installed; `cerith toolchain add {named}` does")
            })?
        }
        Err(_) => {
            let all = home.list().map_err(|error| error.to_string())?;
            let newest = all.into_iter().max_by_key(|one| one.id.triton());
            newest.ok_or_else(|| format!("no Triton is installed; {help}"))?
        }
    };
    let version: Version = toolchain.id.triton();
    // The worker reads only the contents of requests.
    let pool = Pool::new(toolchain, 1).map_err(|error| format!("a worker does not start: {error}"))?;
    let limits = cerith_toolchain::Limits {
        time: Duration::from_secs(20),
        ..cerith_toolchain::Limits::default()
    };
    let interpreter = Interpret::new(pool, false, limits);
    let panel = Panel::new(Some(Arc::new(Reference::default())), vec![Arc::new(interpreter)]);
    Ok((panel, Limits::from_interpreter(version)))
}
