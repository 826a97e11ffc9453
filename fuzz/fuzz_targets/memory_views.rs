//! Fuzzes the memory model with chains of torch's operations.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_gen::view::check(data)));
