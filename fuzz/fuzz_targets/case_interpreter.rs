//! Generated cases to Triton's interpreter, beside the reference: a difference that no known bug explains is a crash.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: cerith_fuzz::interpreter::ready(), |data: &[u8]| cerith_fuzz::interpreter::hold(data));
