//! Modules of Triton's IR, as [`cerith_ttir`] reads them. An input is the text.

use cerith_gen::{Ended, TrialResult};
use cerith_interp::{Config, LaunchOutcome, ParamValue, Program};
use cerith_memory::{Memory, Storages};
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_ttir::{Origin, lower, parse};

use crate::{check_message, ensure};

/// The maximum size of a text that is checked.
const MAX_TEXT_BYTES: usize = 1 << 16;

/// Bytes of the storage that every pointer points to.
const BYTES: usize = 1 << 12;

/// Checks that a text is refused with a message and a place, or becomes IR that verifies and runs without a fault of ours.
pub fn check(bytes: &[u8]) -> TrialResult {
    let Ok(text) = std::str::from_utf8(bytes.get(..MAX_TEXT_BYTES).unwrap_or(bytes)) else {
        return Ok(Ended::Refused);
    };
    let origin = Origin {
        descriptor_flags: 2,
        ..Origin::from_text(text)
    };
    let module = match parse(text) {
        Ok(module) => module,
        Err(error) => {
            check_message(&error)?;
            ensure(error.offset <= text.len(), || {
                format!("a place outside of the text: {}", error.offset)
            })?;
            return Ok(Ended::Refused);
        }
    };
    let function = match lower(&module, &origin) {
        Ok(function) => function,
        Err(refused) => {
            check_message(&refused)?;
            return Ok(Ended::Refused);
        }
    };
    let program = match Program::prepare(function) {
        Ok(program) => program,
        Err(error) => {
            return ensure(false, || format!("IR that cannot be prepared: {error}")).map(|()| Ended::Refused);
        }
    };
    let mut storages = Storages::new();
    let Ok(tensor) = storages.allocate("memory", DType::U8, &[BYTES as i64]) else {
        return Ok(Ended::Stopped);
    };
    let mut memory = Memory::new(&storages, Vec::new());
    let function = program.function();
    let args: Vec<ParamValue> = function
        .params
        .iter()
        .map(|param| match function.ty(param.value).elem {
            Elem::Ptr { .. } => ParamValue::tensor(&memory, &tensor, param.name.clone()),
            Elem::Num(_) => ParamValue::Number(1),
        })
        .collect();
    let config = Config {
        fuel: 1 << 20,
        program_fuel: 1 << 18,
        memory_limit: 64 << 20,
        ..Config::default()
    };
    match program.launch([2, 1, 1], &args, &mut memory, &config) {
        Ok(LaunchOutcome::Finished(_)) => Ok(Ended::Finished),
        Ok(_) => Ok(Ended::Stopped),
        Err(error) => ensure(false, || format!("a launch that fails: {error}")).map(|()| Ended::Stopped),
    }
}
