//! Fuzzes the interpreter with typed IR.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_gen::program::check(data)));
