//! Part files and data archives to their readers; what is taken, to the collector.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::recording::check(data)));
