//! Runs generated cases that break a rule on purpose in the reference, which must detect it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::broken::check(data)));
