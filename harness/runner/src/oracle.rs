//! Executes the launches of a program that is compared with a reference function (`cerith oracle`): one after the other, as the
//! program makes them. Then it compares outputs. `cerith_triton.check` is the other side.
//!
//! A request is a line of JSON; so is an answer, which may name bytes that follow it. See `session` for the state.

mod answers;
mod cases;
pub mod message;
pub mod session;
mod text;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;

use cerith_engine::catch_panic;
use cerith_oracle::{Contract, Tolerance};
use cerith_tile::DType;
use cerith_toolchain::{BadId, Home, HomeError, Toolchain, ToolchainId};

pub use self::answers::OracleAnswers;
pub use self::cases::{CaseOracle, without_oracle};
pub use self::message::find_dtype;
use self::message::{
    Compare, CompareAnswer, Failed, LaunchAnswer, MAX_OUTPUTS, Request, RequestError, Verdict,
};
use self::session::{Session, Values, read_file};
use crate::exit::Exit;

/// The longest request.
const MAX_REQUEST: u64 = 16 << 20;

/// Answers the requests of a check about the launches of a part file.
pub fn answer_requests(part: &Path, mut requests: impl BufRead, mut answers: impl Write) -> Exit {
    let mut session = Session::new(part);
    loop {
        let mut line = Vec::new();
        let read = std::io::Read::take(&mut requests, MAX_REQUEST).read_until(b'\n', &mut line);
        if !read.is_ok_and(|bytes| bytes > 0) {
            return Exit::AsExpected;
        }
        let (answer, payload) = answer_request(&mut session, &line, &|path| read_file(path).map(Cow::Owned));
        let written = writeln!(answers, "{answer}")
            .and_then(|()| payload.iter().try_for_each(|bytes| answers.write_all(bytes)))
            .and_then(|()| answers.flush());
        if written.is_err() {
            return Exit::AsExpected;
        }
    }
}

/// Returns the contents of a file that a request names.
type ReadValues<'a> = dyn Fn(&Path) -> Result<Cow<'a, [u8]>, RequestError> + 'a;

/// The answer's line, and the bytes that follow it.
fn answer_request(session: &mut Session, line: &[u8], read: &ReadValues<'_>) -> (String, Vec<Vec<u8>>) {
    let answered = catch_panic(|| match serde_json::from_slice(line)? {
        Request::Arguments { values, data } => {
            session.use_contract(Contract::default().with_data(find_floats(&data)));
            for file in &values {
                session.add_exact(&read(file)?);
            }
            Ok((serde_json::json!({}).to_string(), Vec::new()))
        }
        Request::Launch => {
            let (answer, payload) = session.launch();
            Ok((serde_json::to_string(&answer)?, payload))
        }
        Request::Compare(request) => {
            let answer = compare(session, &request, read)?;
            Ok((serde_json::to_string(&answer)?, Vec::new()))
        }
    });
    let failed = |text: String| {
        let answer = LaunchAnswer::Failed(Failed::from_text(text));
        (serde_json::to_string(&answer).unwrap_or_default(), Vec::new())
    };
    match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            let error: RequestError = error;
            failed(error.to_string())
        }
        Err(panic) => failed(format!("internal error: {panic}")),
    }
}

/// The dtypes of these names. Names of other dtypes, such as torch's complex numbers, are left out.
fn find_floats(names: &[String]) -> impl Iterator<Item = DType> {
    names.iter().filter_map(|name| find_dtype(name).ok())
}

fn compare(
    session: &mut Session,
    request: &Compare,
    read: &ReadValues<'_>,
) -> Result<CompareAnswer, RequestError> {
    if request.outputs.len() > MAX_OUTPUTS {
        return Err(RequestError::TooMany);
    }
    let accumulate = find_dtype(&request.accumulate)?;
    let contract = Contract {
        accumulate,
        tf32: request.tf32,
        ..Contract::default()
    }
    .with_data(find_floats(&request.data));
    let tolerance = (request.rtol.is_some() || request.atol.is_some()).then(|| Tolerance {
        relative: request.rtol.unwrap_or(0.0),
        absolute: request.atol.unwrap_or(0.0),
    });
    session.use_contract(contract);
    let mut outputs = Vec::with_capacity(request.outputs.len());
    let mut operations = BTreeMap::new();
    for output in &request.outputs {
        let bytes = read(&output.expected)?;
        let values = Values::Numbers(&bytes);
        let answer = session.compare_output(output, values, tolerance)?;
        if answer.verdict == Verdict::Inaccurate
            && let Some(operation) = session.find_lossy(output, values)?
        {
            operations.insert(output.name.clone(), operation);
        }
        outputs.push(answer);
    }
    let verdict = outputs
        .iter()
        .map(|output| output.verdict)
        .max()
        .unwrap_or(Verdict::Agree);
    let operation = outputs
        .iter()
        .filter(|output| output.verdict == verdict)
        .find_map(|output| operations.get(&output.name))
        .cloned();
    let text = text::describe(&outputs, operation.as_ref(), contract, tolerance);
    Ok(CompareAnswer {
        verdict,
        outputs,
        operation,
        text,
    })
}

/// No toolchain for a reference function.
#[derive(Debug, thiserror::Error)]
pub enum NoToolchain {
    /// The folder of toolchains is not known, or not readable.
    #[error("failed to {0}")]
    Home(#[from] HomeError),
    /// It is not a toolchain's name.
    #[error(transparent)]
    BadName(#[from] BadId),
    /// There is none of this name.
    #[error("Triton {0} is not installed\n  = help: `cerith toolchain add {0}` installs it")]
    NotInstalled(ToolchainId),
    /// There is none.
    #[error(
        "no toolchain is installed\n  = help: adopt an environment with Triton and torch, `cerith toolchain adopt .venv`, or \
         install one without torch, `cerith toolchain add 3.9.0`"
    )]
    None,
}

/// The toolchain of this name for reference functions and launchers; without a name, the newest one with torch, or else the newest.
///
/// # Errors
/// It is not installed.
pub fn find_toolchain(name: &str) -> Result<Toolchain, NoToolchain> {
    let home = Home::discover()?;
    if !name.is_empty() {
        let id: ToolchainId = name.parse()?;
        let found = home.find(&id).or_else(|| home.resolve(&id));
        return found.ok_or(NoToolchain::NotInstalled(id));
    }
    let all = home.list()?;
    let with_torch = all.iter().find(|one| one.contents.torch.is_some());
    with_torch
        .or_else(|| all.first())
        .cloned()
        .ok_or(NoToolchain::None)
}
