//! Fuzzes the reader of bundles; accepted bundles are written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::bundle::check(data)));
