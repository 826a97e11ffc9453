//! Typed IR to the interpreter.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| conch_fuzz::hold(conch_gen::program::check(data)));
