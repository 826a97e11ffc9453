//! Chains of torch's operations to the memory model.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| conch_fuzz::hold(conch_gen::view::check(data)));
