//! The frontend must handle any file: it either rejects the file with a message that has a location in it, always the same
//! one, or makes IR that verifies and runs twice with the same result.

use cerith_frontend::{Part, Refusal, Refused, Request, RequestArg, Traced, trace};
use cerith_interp::{Config, LaunchOutcome, Program};
use cerith_memory::{Memory, NamedTensor, Storages, Tensor};
use cerith_tile::ir::{Elem, Rounding};
use cerith_tile::source::{Sources, Span};
use cerith_tile::{DType, numeric};

use super::request;
use crate::{Ended, Fault, TrialResult, ensure};

/// Elements of each tensor that a kernel is given.
const ELEMENTS: usize = 256;

/// Checks the laws of the frontend on these bytes as a text.
pub fn check(bytes: &[u8]) -> TrialResult {
    check_request(&request(&String::from_utf8_lossy(bytes)))
}

/// Checks the laws of the frontend on a request, and those of the interpreter on the IR that it makes.
pub fn check_request(request: &Request) -> TrialResult {
    let traced = match trace(request) {
        Ok(traced) => traced,
        Err(refused) => {
            check_refusal(&refused)?;
            // Another time, when it costs next to nothing.
            if request.file.text.len().is_multiple_of(8) {
                let again = trace(request).err();
                let same = again
                    .is_some_and(|again| format!("{:?}", again.refusal) == format!("{:?}", refused.refusal));
                ensure(same, || "a second trace is refused for another reason".to_owned())?;
            }
            return Ok(Ended::Refused);
        }
    };
    let function = &traced.function;
    function
        .verify()
        .map_err(|error| Fault(format!("the IR does not verify: {error}\n{function}")))?;
    for loc in &function.locs {
        check_span(&function.sources, loc.span)?;
    }
    ensure(!function.to_string().is_empty(), || {
        "it prints as nothing".to_owned()
    })?;
    let again = trace(request).map_err(|_| Fault("a second trace is refused".to_owned()))?;
    ensure(again.function == *function, || {
        "a second trace makes other IR".to_owned()
    })?;
    check_launch(&traced)
}

fn check_refusal(refused: &Refused) -> Result<(), Fault> {
    let (Refusal::Rejected(diagnostic) | Refusal::Unsupported(diagnostic) | Refusal::Exhausted(diagnostic)) =
        &refused.refusal;
    let shown = diagnostic.render(&refused.sources, false);
    ensure(diagnostic.code != "internal", || {
        format!("a bug of ours: {shown}")
    })?;
    ensure(!diagnostic.message.is_empty(), || format!("no message: {shown}"))?;
    ensure(diagnostic.span().is_some(), || format!("no place: {shown}"))?;
    for label in &diagnostic.labels {
        check_span(&refused.sources, label.span).map_err(|fault| Fault(format!("{fault}: {shown}")))?;
    }
    ensure(shown.contains("k.py:"), || format!("no line is shown: {shown}"))
}

/// Whether a place is in its file.
fn check_span(sources: &Sources, span: Span) -> Result<(), Fault> {
    let text = sources.get(span.source).map(|file| &file.text);
    let (start, end) = (span.start as usize, span.end as usize);
    let inside = text.is_some_and(|text| start <= end && text.get(start..end).is_some());
    ensure(inside, || format!("{span:?} is not a location in its file"))
}

/// Runs what was traced, twice.
fn check_launch(traced: &Traced) -> TrialResult {
    let function = &traced.function;
    let program = Program::prepare(function.clone())
        .map_err(|error| Fault(format!("failed to {error}\n{function}")))?;
    let limits = Config {
        fuel: 1 << 17,
        memory_limit: 1 << 21,
        print_limit: 1 << 12,
        device_asserts: true,
        ..Config::default()
    };
    let (memory, args) = build_world(traced);
    let run = || -> Result<(LaunchOutcome, Memory), Fault> {
        let mut memory = memory.clone();
        let outcome = program
            .launch([2, 1, 1], &args, &mut memory, &limits)
            .map_err(|error| Fault(format!("failed to {error}\n{function}")))?;
        Ok((outcome, memory))
    };
    let (outcome, after) = run()?;
    ensure(run()? == (outcome.clone(), after), || {
        format!("a second run differs\n{function}")
    })?;
    match outcome {
        LaunchOutcome::Finished(_) => return Ok(Ended::Finished),
        LaunchOutcome::Trapped(trap) => {
            for label in &trap.diagnostic.labels {
                check_span(&function.sources, label.span)?;
            }
            let shown = trap.diagnostic.render(&function.sources, false);
            ensure(!shown.is_empty(), || "a trap shows nothing".to_owned())?;
        }
        LaunchOutcome::Unsupported(unsupported) => check_span(&function.sources, unsupported.span)?,
        LaunchOutcome::Exhausted(exhausted) => {
            if let Some(span) = exhausted.span {
                check_span(&function.sources, span)?;
            }
        }
    }
    Ok(Ended::Stopped)
}

/// A storage for every pointer, and the numbers that the launch passes.
fn build_world(traced: &Traced) -> (Memory, Vec<cerith_interp::ParamValue>) {
    let Traced {
        function, bindings, ..
    } = traced;
    let mut storages = Storages::new();
    let mut tensors = Vec::new();
    for param in &function.params {
        if let Elem::Ptr { pointee, depth: 1 } = function.ty(param.value).elem
            && let Ok(id) = storages.add(param.name.clone(), (ELEMENTS * pointee.size()) as u64)
        {
            let element = |n: usize| numeric::encode_int(DType::I64, (n % 16) as i128).to_le_bytes();
            let bytes: Vec<u8> = (0..ELEMENTS)
                .flat_map(|n| element(n)[..pointee.size()].to_vec())
                .collect();
            storages.write(id, 0, &bytes);
            tensors.push(NamedTensor {
                name: param.name.clone(),
                tensor: Tensor::new_contiguous(id, pointee, &[ELEMENTS as i64]),
            });
        }
    }
    let memory = Memory::new(&storages, tensors.clone());
    let mut tensors = tensors.iter();
    let args =
        function
            .params
            .iter()
            .zip(bindings)
            .map(|(param, binding)| match function.ty(param.value).elem {
                Elem::Ptr { depth: 1, .. } => tensors.next().map_or(NULL, |named| {
                    cerith_interp::ParamValue::tensor(&memory, &named.tensor, named.name.clone())
                }),
                Elem::Ptr { .. } => NULL,
                Elem::Num(dtype) => {
                    let given = traced.arguments.iter().find(|(name, _)| *name == binding.name);
                    let given = given.and_then(|(_, arg)| arg.get_nested(&binding.path));
                    cerith_interp::ParamValue::Number(encode_argument(given, binding.part, dtype))
                }
            });
    let args = args.collect();
    (memory, args)
}

/// A pointer to nothing.
const NULL: cerith_interp::ParamValue = cerith_interp::ParamValue::Pointer {
    address: 0,
    storage: None,
    name: None,
    tensor: None,
};

/// The bits of a number that a launch passes; of a descriptor, 16 rows of 16 elements.
fn encode_argument(given: Option<&RequestArg>, part: Part, dtype: DType) -> u64 {
    let float = |number: f64| numeric::encode(dtype, number, Rounding::NearestEven);
    let int = |number: i128| {
        if dtype.is_float() {
            float(number as f64)
        } else {
            numeric::encode_int(dtype, number)
        }
    };
    match (given, part) {
        (_, Part::Extent(_) | Part::Stride(0)) => int(16),
        (_, Part::Stride(_)) => int(1),
        (Some(RequestArg::Int(number)), _) => int(*number),
        (Some(RequestArg::Bool(flag)), _) => int(i128::from(*flag)),
        (Some(RequestArg::Float(number)), _) if dtype.is_float() => float(*number),
        _ => int(5),
    }
}
