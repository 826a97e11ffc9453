//! Generated cases to Triton's interpreter, beside the reference: a difference that no known bug explains is a crash.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: conch_fuzz::interpreter::ready(), |data: &[u8]| conch_fuzz::interpreter::hold(data));
