//! Generated cases that break a rule on purpose to the reference, which must notice.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::broken::check(data)));
