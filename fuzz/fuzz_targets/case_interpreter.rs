//! Compares Triton's interpreter with the reference on generated cases: a difference that no known bug explains is a
//! crash.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: cerith_fuzz::interpreter::start_engines(), |data: &[u8]| cerith_fuzz::interpreter::hold(data));
