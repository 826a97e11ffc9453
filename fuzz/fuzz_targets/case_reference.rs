//! Runs generated cases in the reference, each with its twins.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::case::check(data)));
