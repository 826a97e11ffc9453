//! Bundles to their reader; what it takes, to the writer and back.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::bundle::check(data)));
